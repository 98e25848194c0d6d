"""Running the parts of a pair kernel: alone, or as a team of threads that share them out inside compiled code.

The leader (the thread that steps the run) puts the parts of an evaluation on the desk; it and its helpers take one
after the other until none is left. A helper that the machine holds up delays nothing but the part in its hands, and
with no helper at all the leader does everything. Each part is computed in one way whoever takes it: the bits do not
depend on the team. Handing over costs less than a microsecond, so runs of a hundred tokens already gain.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.atomics import pause, publish, read, step_aside, take
from tokenflock.engine.blas_kernels import TILE, transpose
from tokenflock.engine.compiling import kernel, piece, target
from tokenflock.engine.mutual_products import STRIPS, gather_products
from tokenflock.engine.pair_kernels import CHUNKS, gather, n_parts

# Places on the desk, one to a cache line: parts handed out so far, parts in all, parts done, closing time, and the
# slope of the present call (as a float64).
NEXT, PARTS, DONE, CLOSED, SLOPE = 0, 8, 16, 24, 32
DESK_SIZE = 40
# Turns of a waiting loop. After SPIN of them, some 20 microseconds, the other side may have been put to sleep: whoever
# waits lets it have the core. After PATIENCE, some 20 milliseconds, the leader sends its helpers home for the rest of a
# call: the machine is busy with something else, and a helper put to sleep with a part in its hands holds up everyone.
SPIN, PATIENCE = 300, 40_000


def new_desk() -> np.ndarray:
    """An empty desk: all parts handed out, or an early helper would take one before it is there."""
    desk = np.zeros(DESK_SIZE, dtype=np.int64)
    desk[NEXT] = 1 << 40
    return desk


@piece
def _wait(waited):
    """One more turn of a waiting loop; returns how many there were."""
    if waited < SPIN:
        pause()
    else:
        step_aside()
    return waited + 1


@piece
def _all(parts, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """All parts on this core."""
    for k in range(parts):
        part(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile)


@piece
def _shared(parts, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """All parts, with the helpers that are there."""
    desk.view(np.float64)[SLOPE] = slope
    publish(desk, DONE, 0)
    publish(desk, PARTS, parts)
    publish(desk, NEXT, 0)  # from here on helpers may take: everything they read was written before
    k = take(desk, NEXT)
    while k < parts:
        part(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile)
        take(desk, DONE)
        k = take(desk, NEXT)
    waited = 0
    while read(desk, DONE) < parts:
        waited = _wait(waited)
        if waited == PATIENCE:
            publish(desk, CLOSED, 1)


# What is done before and after the parts belongs to the pair kernel. Functions of their own: who sums over rows shall
# not wait until those for products are compiled.
@target
def rows_alone(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """For kernels whose parts are rows."""
    _all(n_parts(x, last), part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)


@target
def rows_led(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """The same with a team."""
    _shared(n_parts(x, last), part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)


@target
def mutual_alone(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """For `mutual`."""
    _all(CHUNKS, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)
    gather(share, p, z)


@target
def mutual_led(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """The same with a team."""
    _shared(CHUNKS, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)
    gather(share, p, z)


@piece
def _lay_down(x, u, last, share):
    """Tokens and queries as rows; returns how many parts there are."""
    transpose(x, last, share[0])
    transpose(u, last, share[1])
    return (last + TILE - 1) // TILE


@target
def products_alone(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """For `products`."""
    _all(_lay_down(x, u, last, share), part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)


@target
def products_led(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """The same with a team."""
    _shared(_lay_down(x, u, last, share), part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)


@target
def mutual_products_alone(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """For `mutual_products`."""
    transpose(x, last, share[0])
    _all(STRIPS, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)
    gather_products(share, p, z)


@target
def mutual_products_led(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """The same with a team."""
    transpose(x, last, share[0])
    _shared(STRIPS, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)
    gather_products(share, p, z)


@kernel
def help_out(part, x, u, rows, frozen, hard, last, p, z, top, share, tile, desk):
    """Take parts until closing time, with a tile of one's own."""
    tile, waited = np.empty_like(tile), 0
    while read(desk, CLOSED) == 0:
        if read(desk, NEXT) < read(desk, PARTS):
            k = take(desk, NEXT)
            if k < read(desk, PARTS):
                slope = desk.view(np.float64)[SLOPE]
                part(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile)
                take(desk, DONE)
            waited = 0
        else:
            waited = _wait(waited)


@kernel
def close(desk):
    """Closing time: the helpers go home."""
    publish(desk, CLOSED, 1)
