"""Sums over pairs of tokens by waves, in time linear in n: what the circle and S^2 have in common.

What a pair kernel gives (see explicit/pairs.py), these give too, so that every velocity and every stepping loop of the
CPU engine takes them as they are: `sum_waves` in the place of `sums`, a kernel of circle.py or sphere.py in that of
`part`. Two stages: TOTALS leaves the sums of the waves of every block of tokens in partial[COSINES] and partial[SINES];
SUMS adds up the blocks that its first row sees and goes on token by token. The array `tables` holds the series of
series.py, then the notes of every block. The tile holds the sums of the tokens in sight, row 0 cosines, row 1 sines.

Everything is added in one order whoever takes a part: the bits do not depend on the team.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline, kernel, pointed
from tokenflock.engine.compiled.lanes import lanes_of, load, splat, store
from tokenflock.engine.explicit.team import run_parts
from tokenflock.engine.explicit.work import HI, LO
from tokenflock.engine.harmonic.series import (
    BLOCKS,
    FLAT,
    GROSS,
    LOSS,
    LOST_BITS,
    N_ROWS,
    NUMBERS,
    RESCUED,
    WAVES,
    WIDTH,
)

COSINES, SINES = 0, 1  # the pages of PairWork.partial
TOTALS, SUMS = 0, 1  # the stages
# The notes of a block: pairs summed one by one and the bits that waves would have lost there, the sum of waves up to
# its end, the largest 1 / mass and count / mass.
PAIRS, BITS, SIZE, THIN, LOSSES = range(5)


@kernel
def powers(c1, s1):
    """(c1 + i s1)^m for m = 0 .. 7 in two registers, and the eighth power in all lanes of two more."""
    c2, s2 = c1 * c1 - s1 * s1, 2.0 * s1 * c1
    c3, s3 = c2 * c1 - s2 * s1, s2 * c1 + c2 * s1
    c4, s4 = c2 * c2 - s2 * s2, 2.0 * s2 * c2
    c5, s5 = c4 * c1 - s4 * s1, s4 * c1 + c4 * s1
    c6, s6 = c4 * c2 - s4 * s2, s4 * c2 + c4 * s2
    c7, s7 = c4 * c3 - s4 * s3, s4 * c3 + c4 * s3
    c8, s8 = c4 * c4 - s4 * s4, 2.0 * s4 * c4
    cosines, sines = lanes_of(1.0, c1, c2, c3, c4, c5, c6, c7), lanes_of(0.0, s1, s2, s3, s4, s5, s6, s7)
    return cosines, sines, splat(c8), splat(s8)


@inline
def block_start(last, b):
    """First token of block b."""
    return last * b // BLOCKS


@inline
def clear(tile):
    """Nothing in sight."""
    for m in range(tile.shape[1]):
        tile[0, m] = tile[1, m] = 0.0


@inline
def normalise(x, d, first, stop):
    """Tokens of any length become unit ones, in place: each by the part that it belongs to."""
    for i in range(first, stop):
        square = x[0, i] * x[0, i]
        for a in range(1, d):
            square += x[a, i] * x[a, i]
        inverse = 1.0 / np.sqrt(square)
        for a in range(d):
            x[a, i] *= inverse


@inline
def leave_totals(tile, partial, b):
    """The sums in the tile become those of block b."""
    for m in range(0, tile.shape[1], WIDTH):
        store(partial[COSINES], b, m, load(tile, 0, m))
        store(partial[SINES], b, m, load(tile, 1, m))


@inline
def whole_blocks(lo, hi, last):
    """The blocks [first, stop) that lie inside [lo, hi); none: (0, 0)."""
    first = lo * BLOCKS // last
    while first < BLOCKS and block_start(last, first) < lo:
        first += 1
    stop = first
    while stop < BLOCKS and block_start(last, stop + 1) <= hi:
        stop += 1
    return (first, stop) if stop > first else (0, 0)


@inline
def gather_blocks(tile, partial, first, stop):
    """The sums of some blocks, in their order."""
    clear(tile)
    for b in range(first, stop):
        for m in range(0, tile.shape[1], WIDTH):
            store(tile, 0, m, load(tile, 0, m) + load(partial[COSINES], b, m))
            store(tile, 1, m, load(tile, 1, m) + load(partial[SINES], b, m))


@kernel
def ragged(lo, hi, last, first, stop):
    """Where the whole blocks [first, stop) inside [lo, hi) begin and end; both hi if there are none."""
    return (block_start(last, first), block_start(last, stop)) if stop > first else (hi, hi)


@inline
def note_rows(rows, z, first, stop, notes):
    """The largest 1 / mass and count / mass of some rows."""
    thin = loss = 0.0
    for i in range(first, stop):
        inverse = 1.0 / max(z[0, i], 1e-300)
        thin, loss = max(thin, inverse), max(loss, (rows[HI, i] - rows[LO, i]) * inverse)
    notes[THIN], notes[LOSSES] = thin, loss


@inline
def judge(pairs):
    """What the a posteriori error needs, the worst so far: the largest count / mass of a row, the largest sum of
    waves / mass in roundings (m = 0 counts tokens, without any), and the most pairs that were summed one by one."""
    rows, z, last, tables, partial, tile = pairs.rows, pairs.z, pairs.numbers.n, pairs.tables, pairs.partial, pairs.tile
    clear(tile)
    size = rescued = bits = gross = each = 0.0
    loss = 1.0
    for m in range(1, tile.shape[1]):
        each += tables[WAVES, m]
    for b in range(BLOCKS):
        now = 0.0
        for m in range(1, tile.shape[1]):
            tile[0, m] += partial[COSINES, b, m]
            tile[1, m] += partial[SINES, b, m]
            now += tables[WAVES, m] * np.sqrt(tile[0, m] * tile[0, m] + tile[1, m] * tile[1, m])
        size = max(size, now)
        tables[N_ROWS + b, SIZE] = size
        rescued, bits = rescued + tables[N_ROWS + b, PAIRS], max(bits, tables[N_ROWS + b, BITS])
        loss = max(loss, tables[N_ROWS + b, LOSSES])
    # Running sums of k terms walk off by about sqrt(k) roundings. Rows that see the first block only see few tokens,
    # each of which adds at most 1 to every wave.
    ahead, walk = 0, FLAT + np.sqrt(last / BLOCKS)
    for i in range(block_start(last, 1)):
        if rows[HI, i] <= block_start(last, 1):
            few = min(tables[N_ROWS, SIZE], rows[HI, i] * each)
            gross = max(gross, few * (FLAT + np.sqrt(rows[HI, i])) / max(z[0, i], 1e-300))
        else:
            gross = max(gross, size * walk / max(z[0, i], 1e-300))
    for b in range(1, BLOCKS):
        hi = int(rows[HI, max(block_start(last, b + 1) - 1, 0)])
        while ahead < BLOCKS - 1 and block_start(last, ahead + 1) < hi:
            ahead += 1
        gross = max(gross, tables[N_ROWS + ahead, SIZE] * tables[N_ROWS + b, THIN] * walk)
    tables[NUMBERS, LOSS] = max(tables[NUMBERS, LOSS], loss)
    tables[NUMBERS, GROSS] = max(tables[NUMBERS, GROSS], gross)
    tables[NUMBERS, RESCUED] = max(tables[NUMBERS, RESCUED], rescued)
    tables[NUMBERS, LOST_BITS] = max(tables[NUMBERS, LOST_BITS], bits)


@pointed
def sum_waves(part, pairs):
    """Both stages, and what they tell of their error."""
    run_parts(part, pairs, TOTALS, BLOCKS)
    run_parts(part, pairs, SUMS, BLOCKS)
    judge(pairs)


@kernel
def waves_velocity(sums, part, field, y, t, kind, out):
    """(E6) for V = c I, B = c' I, softmax, post norm, by a part that gives velocities: no passes but two copies."""
    pairs, n = field.work.pairs, field.terms.numbers.n
    x, p = pairs.x, pairs.p
    for a in range(p.shape[0]):
        for i in range(n):
            x[a, i] = y[a, i]
    sums(part, pairs)
    for a in range(p.shape[0]):
        for i in range(n):
            out[a, i] = p[a, i]
