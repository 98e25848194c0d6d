"""The pair sums of one large run on all cores. Rows are cut the same way whatever the threads: same bits."""

from __future__ import annotations

from numba import njit, prange

from tokenflock.engine import pair_kernels
from tokenflock.engine.pair_kernels import CHUNKS, gather, mutual_chunk
from tokenflock.engine.simd import PAD

parallel = njit(nogil=True, cache=True, parallel=True)


def widen(pairs):
    """The kernel with its rows spread over the cores: rows k and last - k together, so that causal work is even."""

    @parallel
    def wide(x, u, rows, frozen, slope, hard, first, last, p, z, top, share):
        blocks = (last + PAD - 1) // PAD
        for k in prange((blocks + 1) // 2):
            other = blocks - 1 - k
            pairs(x, u, rows, frozen, slope, hard, k * PAD, (k + 1) * PAD, p, z, top, share)
            if other != k:
                pairs(x, u, rows, frozen, slope, hard, other * PAD, (other + 1) * PAD, p, z, top, share)

    return wide


@parallel
def wide_mutual(x, u, rows, frozen, slope, hard, first, last, p, z, top, share):
    """pair_kernels.mutual, its chunks spread over the cores."""
    for c in prange(CHUNKS):
        mutual_chunk(x, last, c, share)
    gather(share, p, z)


WIDE = {
    name: widen(getattr(pair_kernels, name)) for name in ("near2", "near3", "general2", "general3", "general", "rare")
}
WIDE["mutual"] = wide_mutual
