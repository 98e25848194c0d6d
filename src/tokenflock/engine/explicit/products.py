"""Sums over pairs by matrix products, for large dim: (E4) of model.py in tiles of rows, never n x n.

The diagonal is left out of the product, so that the pull of a token on itself is exactly 0 and a pull of 1e-25 from
far tokens keeps its digits; tokens closer than about 1e-8 keep an absolute accuracy of rounding only.
BLAS itself must run on one thread (stepper.py sees to it): the tiles are what is shared among the cores.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline, pointed
from tokenflock.engine.compiled.lanes import absolute, exp2, larger, load, peak, splat, store, total, width
from tokenflock.engine.explicit.work import HI, LO

TRANSPOSE, WEIGH = 0, 1  # the stages: x' and u' are written down, then every tile of rows is summed
TILE = 128  # rows of attention weights held at a time
# Rounding of a logit (in units of log 2) from which differences are taken first, and a drop that leaves no weight.
BLUR, BLUR_32, NO_WEIGHT = 1e-11, 1e-3, 2000.0
NEVER = np.float32(-1e30)  # a logit whose weight is exactly 0


@inline
def n_tiles(n):
    """Tiles of n rows."""
    return (n + TILE - 1) // TILE


@inline
def tile_rows(k, n):
    """The first row of tile k, and the one after its last."""
    return k * TILE, min((k + 1) * TILE, n)


@inline
def transpose(x, first, last, result):
    """Rows first .. last - 1 of result (n, d) from x (d, columns), in squares that fit the cache."""
    d = x.shape[0]
    for i0 in range(first, last, 16):
        for a0 in range(0, d, 16):
            for i in range(i0, min(i0 + 16, last)):
                for a in range(a0, min(a0 + 16, d)):
                    result[i, a] = x[a, i]


@inline
def _largest(block, r, first, last):
    """The largest of a stretch of a row."""
    m, j = width(block), first
    best = block[r, first]
    if last - first >= m:
        top = load(block, r, first)
        for j in range(first, last - m + 1, m):
            top = larger(load(block, r, j), top)
        best, j = peak(top), j + m
    for k in range(j, last):
        best = max(best, block[r, k])
    return best


@inline
def _exponentials(block, r, first, last, best):
    """A stretch of a row becomes 2^(s - best); returns its sum."""
    m, j = width(block), first
    level = splat(best)
    sums = level - level
    for j in range(first, last - m + 1, m):
        w = exp2(load(block, r, j) - level)
        store(block, r, j, w)
        sums = sums + w
    result = total(sums)
    for k in range(j + m if last - first >= m else first, last):
        w = block.dtype.type(2.0 ** (block[r, k] - best))
        block[r, k] = w
        result += w
    return result


@inline
def _along(u, tokens, j, m):
    """<u, x_j - x_m>."""
    s = 0.0
    for a in range(tokens.shape[1]):
        s += np.float64(u[a]) * (tokens[j, a] - tokens[m, a])
    return s


@inline
def _refine(tokens, query, block, r, start, first, last, reach):
    """Logits of row r as differences to its leader, where they are too large to be subtracted; True if it was done.

    Only those that can have a weight are taken again, from differences of tokens; what rounding put above the leader
    is level with it, and the rest is too low for any weight.
    """
    d, size = tokens.shape[1], 0.0
    for a in range(d):
        size += abs(np.float64(query[a]))
    blur = (np.sqrt(d) + 4.0) * (2.0**-52 if block.itemsize == 8 else 2.0**-23) * size * reach
    if blur < (BLUR if block.itemsize == 8 else BLUR_32):
        return False
    leader = first
    for j in range(first, last):
        if block[r, j] > block[r, leader]:
            leader = j
    level = block[r, leader] - block.dtype.type(2.0 * blur + NO_WEIGHT)
    for _ in range(2):  # the second time from the right leader, if rounding chose the first
        above, best = 0.0, leader
        for j in range(first, last):
            if not block[r, j] < level:
                s = _along(query, tokens, start + j, start + leader)
                if s > above:
                    above, best = s, j
        leader = best
    for j in range(first, last):
        s = -NO_WEIGHT if block[r, j] < level else _along(query, tokens, start + j, start + leader)
        block[r, j] = max(min(s, 0.0), -NO_WEIGHT)
    return True


@inline
def _reach(x):
    """The largest coordinate of x (d, columns)."""
    most = splat(x.dtype.type(0.0))
    for a in range(x.shape[0]):
        for i in range(0, x.shape[1], width(x)):
            most = larger(absolute(load(x, a, i)), most)
    return np.float64(peak(most))


@inline(allocates=True)
def _rows_of_tile(pairs, i):
    """Rows i .. i + TILE - 1."""
    tokens, query, rows, tile = pairs.by_rows[0], pairs.by_rows[1], pairs.rows, pairs.tile
    (n, d), known, differences = tokens.shape, tokens.dtype.type(pairs.call.level), pairs.numbers.by_differences != 0
    reach = _reach(pairs.x) if differences else 0.0
    tall = min(TILE, n - i)
    start, stop = int(rows[LO, i]), int(rows[HI, i + tall - 1])
    block = tile[0, : tall * (stop - start)].reshape((tall, stop - start))
    sums = tile[0, TILE * n : TILE * n + tall * d].reshape((tall, d))
    np.dot(query[i : i + tall], tokens[start:stop].T, block)
    others = np.empty(tall, block.dtype)
    for r in range(tall):
        first, last, own = int(rows[LO, i + r]) - start, int(rows[HI, i + r]) - start, i + r - start
        best = known if known > 0.0 else _largest(block, r, first, last)
        pairs.top[0, i + r] = best
        if differences and _refine(tokens, query[i + r], block, r, start, first, last, reach):
            best = block.dtype.type(0.0)
        itself = block.dtype.type(2.0 ** (block[r, own] - best))
        block[r, own] = NEVER
        others[r] = _exponentials(block, r, first, last, best)
        pairs.z[0, i + r] = others[r] + itself
        for j in range(first):
            block[r, j] = 0.0
        for j in range(last, stop - start):
            block[r, j] = 0.0
    np.dot(block, tokens[start:stop], sums)
    for a0 in range(0, d, 16):
        for r in range(tall):
            for a in range(a0, min(a0 + 16, d)):
                sums[r, a] -= others[r] * tokens[i + r, a]
        for a in range(a0, min(a0 + 16, d)):
            for r in range(tall):
                pairs.p[a, i + r] = sums[r, a]


@pointed
def products(pairs, k):
    """Tile k of either stage; no frozen tokens, no bias, not hard. The tile of a thread has room for a tile of weights
    and its sums (memory that comes and goes costs page faults).

    call.level: the largest logit of every row if it is known, 0 to search for it; numbers.by_differences: search for it
    and take differences of tokens first where logits are large (E8).
    """
    n = pairs.numbers.n
    if pairs.call.stage == TRANSPOSE:
        first, stop = tile_rows(k, n)
        transpose(pairs.x, first, stop, pairs.by_rows[0])
        transpose(pairs.u, first, stop, pairs.by_rows[1])
        return
    # The long rows of causal attention first: the thread that comes last to the others waits for a short one.
    first, _ = tile_rows(n_tiles(n) - 1 - k, n)
    _rows_of_tile(pairs, first)
