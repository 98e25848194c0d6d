"""Sums over pairs of tokens on the circle: waves cos(m t), sin(m t), eight modes a register, rotated by 8 t.

See velocity.py. A token is its own cosine and sine: no trigonometry.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline, pointed
from tokenflock.engine.compiled.lanes import fma, load, noinline, splat, store, total
from tokenflock.engine.explicit.work import HI, LO
from tokenflock.engine.harmonic.series import (
    LOST,
    MASS,
    N_ROWS,
    NUMBERS,
    REACH,
    SCALE,
    SMALLEST,
    TURN,
    VALUE,
    WIDTH,
)
from tokenflock.engine.harmonic.velocity import (
    BITS,
    LOSSES,
    PAIRS,
    THIN,
    TOTALS,
    block_start,
    clear,
    gather_blocks,
    leave_totals,
    normalise,
    note_rows,
    powers,
    ragged,
    whole_blocks,
)

LOG_2 = np.log(2.0)


@inline
def add_circle(tile, x, j, sign):
    """Token j comes into sight, sign = 1, or leaves it, -1."""
    c, s, turn_c, turn_s = powers(x[0, j], x[1, j])
    f = splat(sign)
    for m in range(0, tile.shape[1], WIDTH):
        store(tile, 0, m, fma(f, c, load(tile, 0, m)))
        store(tile, 1, m, fma(f, s, load(tile, 1, m)))
        c, s = fma(c, turn_c, -(s * turn_s)), fma(s, turn_c, c * turn_s)


@inline
def _add_four(tile, x, j):
    """Tokens j .. j + 3 come into sight: four chains of rotations side by side, and a quarter of the stores."""
    c0, s0, turn_c0, turn_s0 = powers(x[0, j], x[1, j])
    c1, s1, turn_c1, turn_s1 = powers(x[0, j + 1], x[1, j + 1])
    c2, s2, turn_c2, turn_s2 = powers(x[0, j + 2], x[1, j + 2])
    c3, s3, turn_c3, turn_s3 = powers(x[0, j + 3], x[1, j + 3])
    for m in range(0, tile.shape[1], WIDTH):
        store(tile, 0, m, load(tile, 0, m) + ((c0 + c1) + (c2 + c3)))
        store(tile, 1, m, load(tile, 1, m) + ((s0 + s1) + (s2 + s3)))
        c0, s0 = fma(c0, turn_c0, -(s0 * turn_s0)), fma(s0, turn_c0, c0 * turn_s0)
        c1, s1 = fma(c1, turn_c1, -(s1 * turn_s1)), fma(s1, turn_c1, c1 * turn_s1)
        c2, s2 = fma(c2, turn_c2, -(s2 * turn_s2)), fma(s2, turn_c2, c2 * turn_s2)
        c3, s3 = fma(c3, turn_c3, -(s3 * turn_s3)), fma(s3, turn_c3, c3 * turn_s3)


@inline
def add_all(tile, x, first, stop):
    """Tokens [first, stop) come into sight."""
    many = first + (stop - first) // 4 * 4
    for j in range(first, many, 4):
        _add_four(tile, x, j)
    for j in range(many, stop):
        add_circle(tile, x, j, 1.0)


@inline
def _meet_two(tile, tables, a1, b1, a2, b2, fresh):
    """`_meet_circle` for the token (a1, b1) and then for (a2, b2), side by side."""
    c, s, turn_c, turn_s = powers(a1, b1)
    d, t, over_c, over_s = powers(a2, b2)
    mass1 = turn1 = reach1 = mass2 = turn2 = reach2 = c - c
    f = splat(fresh)
    for m in range(0, tile.shape[1], WIDTH):
        p, q = fma(f, c, load(tile, 0, m)), fma(f, s, load(tile, 1, m))
        u, v = fma(f, d, p), fma(f, t, q)
        store(tile, 0, m, u)
        store(tile, 1, m, v)
        w, g, r = load(tables, MASS, m), load(tables, TURN, m), load(tables, REACH, m)
        even, odd = fma(c, p, s * q), fma(c, q, -(s * p))
        mass1, turn1, reach1 = fma(w, even, mass1), fma(g, odd, turn1), fma(r, even, reach1)
        even, odd = fma(d, u, t * v), fma(d, v, -(t * u))
        mass2, turn2, reach2 = fma(w, even, mass2), fma(g, odd, turn2), fma(r, even, reach2)
        c, s = fma(c, turn_c, -(s * turn_s)), fma(s, turn_c, c * turn_s)
        d, t = fma(d, over_c, -(t * over_s)), fma(t, over_c, d * over_s)
    return total(mass1), total(turn1), total(reach1), total(mass2), total(turn2), total(reach2)


@inline
def _meet_circle(tile, tables, c1, s1, fresh):
    """The token at (c1, s1) meets all in sight, after it came into sight itself if fresh = 1.

    Returns the sums over j of w, w sin a and w (cos a - 1), a the angle from the token to j.
    """
    c, s, turn_c, turn_s = powers(c1, s1)
    mass = turn = reach = c - c
    f = splat(fresh)
    for m in range(0, tile.shape[1], WIDTH):
        p, q = fma(f, c, load(tile, 0, m)), fma(f, s, load(tile, 1, m))
        store(tile, 0, m, p)
        store(tile, 1, m, q)
        even, odd = fma(c, p, s * q), fma(c, q, -(s * p))
        mass = fma(load(tables, MASS, m), even, mass)
        turn = fma(load(tables, TURN, m), odd, turn)
        reach = fma(load(tables, REACH, m), even, reach)
        c, s = fma(c, turn_c, -(s * turn_s)), fma(s, turn_c, c * turn_s)
    return total(mass), total(turn), total(reach)


@inline
def _gather_circle(tile, x, partial, lo, hi, last):
    """The tokens [lo, hi) in sight: whole blocks from their totals, the ragged ends one by one."""
    first, stop = whole_blocks(lo, hi, last)
    gather_blocks(tile, partial, first, stop)
    left, right = ragged(lo, hi, last, first, stop)
    add_all(tile, x, lo, left)
    add_all(tile, x, right, hi)


@inline
def _leave_row(x, i, mass, turn, reach, value, scale, p, z):
    """What a row came to: its velocity if V = value I and nothing else is asked for, else its mass and pull."""
    c, s = x[0, i], x[1, i]
    z[0, i] = mass
    if value != 0.0:
        p[0, i], p[1, i] = -(value * turn / mass) * s, value * turn / mass * c
    else:
        p[0, i], p[1, i] = scale * (reach * c - turn * s), scale * (reach * s + turn * c)


@inline
def two_alike(rows, i, stop, lo, hi):
    """Whether rows i and i + 1 need nothing brought into sight, or each its own token only; and which of these."""
    if i + 1 >= stop or int(rows[LO, i + 1]) != lo:
        return False, 0.0
    own = hi == i and int(rows[HI, i]) == i + 1 and int(rows[HI, i + 1]) == i + 2
    return own or hi == int(rows[HI, i + 1]), 1.0 if own else 0.0


@pointed
def circle(pairs, k):
    """d = 2, B = c I, c >= 0. x may be any multiple of the tokens; it is left with unit ones."""
    noinline()
    x, rows, p, z, tile, tables, partial = (
        pairs.x, pairs.rows, pairs.p, pairs.z, pairs.tile, pairs.tables, pairs.partial
    )  # fmt: skip
    last, stage = pairs.numbers.n, pairs.call.stage
    value, scale = tables[NUMBERS, VALUE], tables[NUMBERS, SCALE]
    first, stop = block_start(last, k), block_start(last, k + 1)
    if stage == TOTALS:
        normalise(x, 2, first, stop)
        clear(tile)
        add_all(tile, x, first, stop)
        leave_totals(tile, partial, k)
        return
    if first == stop:
        tables[N_ROWS + k, THIN] = tables[N_ROWS + k, LOSSES] = 0.0
        return
    lo, hi = int(rows[LO, first]), int(rows[HI, first])
    hi -= hi == first + 1  # it comes with its own row
    _gather_circle(tile, x, partial, lo, hi, last)
    i = first
    while i < stop:
        alike, fresh = two_alike(rows, i, stop, lo, hi)
        if alike:
            one = _meet_two(tile, tables, x[0, i], x[1, i], x[0, i + 1], x[1, i + 1], fresh)
            _leave_row(x, i, one[0], one[1], one[2], value, scale, p, z)
            _leave_row(x, i + 1, one[3], one[4], one[5], value, scale, p, z)
            hi += 2 if fresh > 0.0 else 0
            i += 2
            continue
        to = int(rows[HI, i])
        while hi < to and not (hi == i and to == i + 1):
            add_circle(tile, x, hi, 1.0)
            hi += 1
        while lo < int(rows[LO, i]):
            add_circle(tile, x, lo, -1.0)
            lo += 1
        mass, turn, reach = _meet_circle(tile, tables, x[0, i], x[1, i], 1.0 if hi < to else 0.0)
        _leave_row(x, i, mass, turn, reach, value, scale, p, z)
        hi = to
        i += 1
    note_rows(rows, z, first, stop, tables[N_ROWS + k])


@inline
def _meet_any(tile, b, c1, s1):
    """The sums over j in sight of w, w sin a and w (cos a - 1) for w = exp(b (cos a - 1)), a from (c1, s1) to j.

    The Jacobi-Anger series with an argument of this token's own: ratios of its Bessel functions downwards, which is
    stable, then up through the modes. Row 2 of the tile keeps the ratios.
    """
    modes = tile.shape[1]
    ratio, rest = 0.0, 0.0
    for m in range(modes - 1, 0, -1):
        ratio = b / (2.0 * m + b * ratio)
        tile[2, m] = ratio
        rest = ratio * (1.0 + rest)
    e = 1.0 / (1.0 + 2.0 * rest)
    c, s = 1.0, 0.0
    mass = e * tile[0, 0]
    reach = e * (tile[2, 1] - 1.0) * tile[0, 0]
    turn = 0.0
    for m in range(1, modes):
        e *= tile[2, m]
        c, s = c * c1 - s * s1, s * c1 + c * s1
        even, odd = c * tile[0, m] + s * tile[1, m], c * tile[1, m] - s * tile[0, m]
        above = tile[2, m + 1] if m + 1 < modes else 0.0
        mass += 2.0 * e * even
        turn += 2.0 * e * (m / b) * odd
        reach += 2.0 * e * (above + m / b - 1.0) * even
    return mass, turn, reach


@inline
def _by_pairs(x, u, i, lo, hi, p, z, top):
    """Row i by pairs, with its largest logit taken out; how many bits its waves would have lost."""
    best = -np.inf
    for j in range(lo, hi):
        best = max(best, u[0, i] * x[0, j] + u[1, i] * x[1, j])
    mass = right = up = 0.0
    for j in range(lo, hi):
        w = np.exp(LOG_2 * (u[0, i] * x[0, j] + u[1, i] * x[1, j] - best))
        mass += w
        right += w * (x[0, j] - x[0, i])
        up += w * (x[1, j] - x[1, i])
    z[0, i], p[0, i], p[1, i], top[0, i] = mass, right, up, best
    return np.sqrt(u[0, i] * u[0, i] + u[1, i] * u[1, i]) - best + np.log2((hi - lo) / mass)


@pointed
def circle_any(pairs, k):
    """d = 2, any form: s_ij = |u_i| cos(t_j - f_i), f_i the direction of u_i. Rows that look where hardly a token
    stands lose their digits: these are summed by pairs, and counted."""
    noinline()
    x, u, rows, p, z, top, tile, partial = (
        pairs.x, pairs.u, pairs.rows, pairs.p, pairs.z, pairs.top, pairs.tile, pairs.partial
    )  # fmt: skip
    last, stage = pairs.numbers.n, pairs.call.stage
    first, stop = block_start(last, k), block_start(last, k + 1)
    notes = pairs.tables[N_ROWS + k]
    if stage == TOTALS:
        clear(tile)
        add_all(tile, x, first, stop)
        leave_totals(tile, partial, k)
        return
    notes[PAIRS] = notes[BITS] = notes[THIN] = notes[LOSSES] = 0.0
    if first == stop:
        return
    lo, hi = int(rows[LO, first]), int(rows[HI, first])
    _gather_circle(tile, x, partial, lo, hi, last)
    for i in range(first, stop):
        while hi < int(rows[HI, i]):
            add_circle(tile, x, hi, 1.0)
            hi += 1
        while lo < int(rows[LO, i]):
            add_circle(tile, x, lo, -1.0)
            lo += 1
        size = np.sqrt(u[0, i] * u[0, i] + u[1, i] * u[1, i])
        c, s = (u[0, i] / size, u[1, i] / size) if size > 0.0 else (1.0, 0.0)
        mass, turn, reach = _meet_any(tile, max(size * LOG_2, SMALLEST), c, s)
        if not mass >= LOST * (hi - lo):
            notes[BITS] = max(notes[BITS], _by_pairs(x, u, i, lo, hi, p, z, top))
            notes[PAIRS] += hi - lo
            continue
        notes[THIN], notes[LOSSES] = max(notes[THIN], 1.0 / mass), max(notes[LOSSES], (hi - lo) / mass)
        z[0, i], top[0, i] = mass, size
        p[0, i] = (reach + mass) * c - turn * s - mass * x[0, i]
        p[1, i] = (reach + mass) * s + turn * c - mass * x[1, i]
