"""Sums over pairs by matrix products, for large dim: (E4) of model.py in tiles of rows, never n x n.

The diagonal is left out of the product, so that the pull of a token on itself is exactly 0 and a pull of 1e-25 from
far tokens keeps its digits; tokens closer than about 1e-8 keep an absolute accuracy of rounding only.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.pair_kernels import HI, LO, kernel
from tokenflock.engine.simd import PAD, exp2, load, store, width

TILE = 128  # rows of attention weights held at a time


@kernel
def _transposed(x, n):
    result = np.empty((n, x.shape[0]), x.dtype)
    for i in range(n):
        for a in range(x.shape[0]):
            result[i, a] = x[a, i]
    return result


@kernel
def _below_top(block, rows, i, start, top):
    """Rows of logits less their largest visible one; far below zero where a token is not visible."""
    for r in range(block.shape[0]):
        row = block[r]
        first, last = int(rows[LO, i + r]) - start, int(rows[HI, i + r]) - start
        best = row[first]
        for j in range(first, last):
            best = max(best, row[j])
        top[0, i + r] = best
        for j in range(first):
            row[j] = -1e30
        for j in range(first, last):
            row[j] -= best
        for j in range(last, row.size):
            row[j] = -1e30


@kernel
def products(x, u, rows, frozen, slope, hard, first, last, p, z, top, share):
    """The signature of the pair kernels; all rows at once, no frozen tokens, no slope, not hard."""
    n, d = last, x.shape[0]
    tokens, query = _transposed(x, n), _transposed(u, n)
    tile = np.empty((1, TILE * n + PAD), x.dtype)
    others, sums = np.empty(TILE, x.dtype), np.empty((TILE, d), x.dtype)
    for i in range(0, n, TILE):
        tall = min(TILE, n - i)
        start, stop = int(rows[LO, i]), int(rows[HI, i + tall - 1])
        block = tile[0, : tall * (stop - start)].reshape((tall, stop - start))
        np.dot(query[i : i + tall], tokens[start:stop].T, block)
        _below_top(block, rows, i, start, top)
        for j in range(0, block.size, width(tile)):
            store(tile, 0, j, exp2(load(tile, 0, j)))
        for r in range(tall):
            own = block[r, i + r - start]
            block[r, i + r - start] = 0.0
            others[r] = block[r].sum()
            z[0, i + r] = others[r] + own
        np.dot(block, tokens[start:stop], sums[:tall])
        for r in range(tall):
            for a in range(d):
                p[a, i + r] = sums[r, a] - others[r] * tokens[i + r, a]
