"""Full attention with Q'K = c I for large dim: weights are mutual, so that half of them serve all pairs.

A strip of rows meets itself, then the tokens after it, panel by panel: E = 2^(X_i X_j' - level) gives the pull E X_j on
the strip and E' X_i on the panel. Strips belong to chunks, whatever the threads: every chunk has sums of its own, and
they are added up in one order. The diagonal is left out, as in products.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tokenflock.engine.compiled.declare import inline, kernel, pointed
from tokenflock.engine.compiled.lanes import exp2, load, splat, store, total, width
from tokenflock.engine.explicit.products import NEVER, TRANSPOSE, tile_rows, transpose

MEET, ADD = 1, 2  # the stages after TRANSPOSE: chunks of strips meet the tokens after them, then chunks are added
FEWEST, MOST = 4, 16  # chunks, which may be computed at a time
TALL, PANEL = 128, 1024  # rows of a strip, columns of a panel


def n_chunks(n: int) -> int:
    """Chunks of n tokens: each has a long strip and a short one at least, and costs sums of its own for all tokens."""
    return min(MOST, max(FEWEST, -(-n // (2 * TALL))))


def tile_size(d: int) -> int:
    """Numbers of a tile: a block of weights, and its pulls on both sides."""
    return TALL * PANEL + (TALL + PANEL) * d


@inline
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


@inline
def _add(source, target, first):
    for i in range(source.shape[0]):
        for a in range(source.shape[1]):
            target[first + i, a] += source[i, a]


class _Chunk(NamedTuple):
    """What the strips of one chunk read and add to."""

    tokens: Any  # (n, d)
    level: Any
    tile: Any  # (1, tile_size(d))
    pulls: Any  # (n, d)
    mass: Any  # (1, n)


@inline(allocates=True)
def _meet_itself(chunk, i, tall, fresh):
    """The strip of `tall` rows from i on. fresh: nothing was added to the pulls of these and later rows yet."""
    d, pulls = chunk.tokens.shape[1], chunk.pulls
    strip = chunk.tokens[i : i + tall]
    block = chunk.tile[0, : tall * tall].reshape((tall, tall))
    sums = chunk.tile[0, TALL * PANEL : TALL * PANEL + tall * d].reshape((tall, d))
    np.dot(strip, strip.T, block)
    for r in range(tall):
        block[r, r] = NEVER
        _weights(block, r, chunk.level, chunk.mass, i)
    if fresh:
        np.dot(block, strip, pulls[i : i + tall])
    else:
        np.dot(block, strip, sums)
        _add(sums, pulls, i)


@inline(allocates=True)
def _meet_panel(chunk, i, tall, j, fresh):
    """The strip from i on and the PANEL tokens from j on, or as many as there are, pull at each other."""
    (n, d), pulls, mass = chunk.tokens.shape, chunk.pulls, chunk.mass
    wide = min(PANEL, n - j)
    strip, panel = chunk.tokens[i : i + tall], chunk.tokens[j : j + wide]
    block = chunk.tile[0, : tall * wide].reshape((tall, wide))
    sums = chunk.tile[0, TALL * PANEL : TALL * PANEL + tall * d].reshape((tall, d))
    back = chunk.tile[0, TALL * (PANEL + d) : TALL * (PANEL + d) + wide * d].reshape((wide, d))
    np.dot(strip, panel.T, block)
    for r in range(tall):
        mass[0, i + r] += _weights(block, r, chunk.level, mass, j)
    np.dot(block, panel, sums)
    _add(sums, pulls, i)
    if fresh:
        np.dot(block.T, strip, pulls[j : j + wide])
    else:
        np.dot(block.T, strip, back)
        _add(back, pulls, j)


@kernel
def chunk_of(s, chunks):
    """The chunk that strip s belongs to: long and short strips in turn."""
    turn = s % (2 * chunks)
    return min(turn, 2 * chunks - 1 - turn)


@inline
def _gather(pairs, first, last):
    """Add the chunks of these rows, always in the same order; a token's own weight is 1."""
    tokens, pulls, mass, p, z = pairs.by_rows[0], pairs.partial, pairs.per_token, pairs.p, pairs.z
    d = tokens.shape[1]
    for i in range(first, last):
        others = mass[0, i]
        for k in range(1, len(pulls)):
            others += mass[k, i]
        z[0, i] = others
        for k in range(1, len(pulls)):
            for a in range(d):
                pulls[0, i, a] += pulls[k, i, a]
    for i0 in range(first, last, 16):
        for a0 in range(0, d, 16):
            for a in range(a0, min(a0 + 16, d)):
                for i in range(i0, min(i0 + 16, last)):
                    p[a, i] = pulls[0, i, a] - z[0, i] * tokens[i, a]
    for i in range(first, last):
        z[0, i] += 1.0


@inline
def _meet(pairs, k):
    """Chunk k: its strips, and the tokens after each of them."""
    tokens, pulls, mass = pairs.by_rows[0], pairs.partial[k], pairs.per_token[k : k + 1]
    chunk = _Chunk(tokens, tokens.dtype.type(pairs.call.level), pairs.tile, pulls, mass)
    n, fresh = len(tokens), True
    for i in range(n):
        mass[0, i] = 0.0
    for s in range((n + TALL - 1) // TALL):
        if chunk_of(s, len(pairs.partial)) != k:
            continue
        i, tall = s * TALL, min(TALL, n - s * TALL)
        if fresh:  # the first strip writes the pulls of all rows but those before it: memory is what this waits for
            pulls[:i] = 0.0
        _meet_itself(chunk, i, tall, fresh)
        for j in range(i + tall, n, PANEL):
            _meet_panel(chunk, i, tall, j, fresh)
        fresh = False
    if fresh:  # there are fewer strips than chunks
        pulls[:] = 0.0


@pointed
def mutual_products(pairs, k):
    """Part k of a stage: a tile of rows, a chunk, a tile again. call.level: the largest logit, that of a token with
    itself. partial[k] has the pulls (n, d) of chunk k, per_token[k] its masses."""
    n = pairs.numbers.n
    if pairs.call.stage == MEET:
        _meet(pairs, k)
        return
    first, stop = tile_rows(k, n)
    if pairs.call.stage == TRANSPOSE:
        transpose(pairs.x, first, stop, pairs.by_rows[0])
    else:
        _gather(pairs, first, stop)
