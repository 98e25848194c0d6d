"""Full attention with Q'K = c I for large dim: weights are mutual, so that half of them serve all pairs.

A strip of rows meets itself, then the tokens after it, panel by panel: E = 2^(X_i X_j' - level) gives the pull E X_j on
the strip and E' X_i on the panel. Strips belong to chunks, whatever the threads: every chunk has sums of its own, and
they are added up in one order. The diagonal is left out, as in blas_kernels.py.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.blas_kernels import NEVER, tile_rows, transpose
from tokenflock.engine.compiling import kernel, piece, target
from tokenflock.engine.simd import exp2, load, splat, store, total, width

STRIPS = 4  # chunks that may be computed at a time
TALL, PANEL = 128, 1024  # rows of a strip, columns of a panel


def tile_size(d: int) -> int:
    """Numbers of a tile: a block of weights, and its pulls on both sides."""
    return TALL * PANEL + (TALL + PANEL) * d


@piece
def _weights(block, r, level, columns, first):
    """A row of logits becomes weights; they are added to the columns from `first` on. Returns their sum."""
    wide, m = block.shape[1], width(block)
    peak, stop = splat(level), wide // m * m
    sums = peak - peak
    for j in range(0, stop, m):
        w = exp2(load(block, r, j) - peak)
        store(block, r, j, w)
        store(columns, 0, first + j, load(columns, 0, first + j) + w)
        sums = sums + w
    result = total(sums)
    for j in range(stop, wide):
        w = block.dtype.type(2.0 ** (block[r, j] - level))
        block[r, j] = w
        columns[0, first + j] += w
        result += w
    return result


@piece
def _add(source, target, first):
    for i in range(source.shape[0]):
        for a in range(source.shape[1]):
            target[first + i, a] += source[i, a]


@piece
def _meet_itself(tokens, i, tall, level, tile, pulls, mass, fresh):
    """The strip of `tall` rows from i on. fresh: nothing was added to the pulls of these and later rows yet."""
    d = tokens.shape[1]
    strip = tokens[i : i + tall]
    block = tile[0, : tall * tall].reshape((tall, tall))
    sums = tile[0, TALL * PANEL : TALL * PANEL + tall * d].reshape((tall, d))
    np.dot(strip, strip.T, block)
    for r in range(tall):
        block[r, r] = NEVER
        _weights(block, r, level, mass, i)
    if fresh:
        np.dot(block, strip, pulls[i : i + tall])
    else:
        np.dot(block, strip, sums)
        _add(sums, pulls, i)


@piece
def _meet_panel(tokens, i, tall, j, wide, level, tile, pulls, mass, fresh):
    """The strip from i on and the tokens j .. j + wide - 1 pull at each other."""
    d = tokens.shape[1]
    strip, panel = tokens[i : i + tall], tokens[j : j + wide]
    block = tile[0, : tall * wide].reshape((tall, wide))
    sums = tile[0, TALL * PANEL : TALL * PANEL + tall * d].reshape((tall, d))
    back = tile[0, TALL * (PANEL + d) : TALL * (PANEL + d) + wide * d].reshape((wide, d))
    np.dot(strip, panel.T, block)
    for r in range(tall):
        mass[0, i + r] += _weights(block, r, level, mass, j)
    np.dot(block, panel, sums)
    _add(sums, pulls, i)
    if fresh:
        np.dot(block.T, strip, pulls[j : j + wide])
    else:
        np.dot(block.T, strip, back)
        _add(back, pulls, j)


@kernel
def chunk_of(s):
    """The chunk that strip s belongs to: long and short strips in turn."""
    turn = s % (2 * STRIPS)
    return min(turn, 2 * STRIPS - 1 - turn)


@piece
def mass_of(share, k):
    """The mass of every token in chunk k, (1, n): the chunks share a page, for d > STRIPS."""
    return share[1 + STRIPS].reshape((share.shape[2], share.shape[1]))[k : k + 1]


@piece
def _gather(share, first, last, p, z):
    """Add the chunks of these rows, always in the same order; a token's own weight is 1."""
    d = share.shape[2]
    for i in range(first, last):
        others = mass_of(share, 0)[0, i]
        for k in range(1, STRIPS):
            others += mass_of(share, k)[0, i]
        z[0, i] = others
        for k in range(1, STRIPS):
            for a in range(d):
                share[1, i, a] += share[1 + k, i, a]
    for i0 in range(first, last, 16):
        for a0 in range(0, d, 16):
            for a in range(a0, min(a0 + 16, d)):
                for i in range(i0, min(i0 + 16, last)):
                    p[a, i] = share[1, i, a] - z[0, i] * share[0, i, a]
    for i in range(first, last):
        z[0, i] += 1.0


@target
def mutual_products(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile):
    """Chunk k, with the signature of the pair kernels. slope: the largest logit, that of a token with itself.

    share: x' (n, d), the pulls (n, d) of every chunk, and a page for their masses. For k < 0 the rows of a tile are
    laid down in x'; from STRIPS on the sums of a tile are gathered.
    """
    if k < 0:
        first, stop = tile_rows(-1 - k, last)
        transpose(x, first, stop, share[0])
        return
    if k >= STRIPS:
        first, stop = tile_rows(k - STRIPS, last)
        _gather(share, first, stop, p, z)
        return
    tokens, pulls, level = share[0], share[1 + k], x.dtype.type(slope)
    n, mass = len(tokens), mass_of(share, k)
    for i in range(n):
        mass[0, i] = 0.0
    fresh = True
    for s in range((n + TALL - 1) // TALL):
        if chunk_of(s) != k:
            continue
        i, tall = s * TALL, min(TALL, n - s * TALL)
        if fresh:  # the first strip writes the pulls of all rows but those before it: memory is what this waits for
            pulls[:i] = 0.0
        _meet_itself(tokens, i, tall, level, tile, pulls, mass, fresh)
        for j in range(i + tall, n, PANEL):
            _meet_panel(tokens, i, tall, j, min(PANEL, n - j), level, tile, pulls, mass, fresh)
        fresh = False
    if fresh:  # there are fewer strips than chunks
        pulls[:] = 0.0
