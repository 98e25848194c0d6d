"""Sums over pairs of tokens on S^2 by spherical harmonics: velocity.py with a degree for a mode.

The sums over the tokens in sight are those of p_lm(x_3) (x_1 + i x_2)^m, see `sphere_series`; the gradient of
their polynomial in x is b times the pull, and polynomials have no poles. Orders m fill the lanes.
"""

from __future__ import annotations

from tokenflock.engine.compiled.declare import inline, pointed
from tokenflock.engine.compiled.lanes import fma, indices, load, noinline, splat, store, total
from tokenflock.engine.explicit.work import HI, LO
from tokenflock.engine.harmonic.series import (
    BACK,
    DEGREE,
    MASS,
    N_ROWS,
    NUMBERS,
    REACH,
    SCALE,
    SEED,
    SHARPNESS,
    STEP,
    VALUE,
    WIDTH,
)
from tokenflock.engine.harmonic.velocity import (
    LOSSES,
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

LOWER = 2  # tile rows LOWER, LOWER + 1: the powers, one column late, so that those of m - 1 can be read


@inline
def add_sphere(tile, tables, x, j, sign):
    """Token j comes into sight, sign = 1, or leaves it, -1."""
    degree, at = int(tables[NUMBERS, DEGREE]), 0
    c, s, turn_c, turn_s = powers(x[0, j], x[1, j])
    f, height = splat(sign), splat(x[2, j])
    for first in range(0, degree + 1, WIDTH):
        fc, fs = f * c, f * s
        p = before = c - c
        for _ in range(first, degree + 1):
            new = fma(load(tables, STEP, at) * height, p, load(tables, SEED, at)) - load(tables, BACK, at) * before
            before, p = p, new
            store(tile, 0, at, fma(p, fc, load(tile, 0, at)))
            store(tile, 1, at, fma(p, fs, load(tile, 1, at)))
            at += WIDTH
        c, s = fma(c, turn_c, -(s * turn_s)), fma(s, turn_c, c * turn_s)


@inline
def _meet_sphere(tile, tables, x1, x2, x3, fresh):
    """The token (x1, x2, x3) meets all in sight, after it came into sight itself if fresh = 1.

    Returns the sums over j of w, w (cos a - 1), and the gradient of the first in x.
    """
    degree, at = int(tables[NUMBERS, DEGREE]), 0
    c, s, turn_c, turn_s = powers(x1, x2)
    f, height = splat(fresh), splat(x3)
    none = c - c
    mass = reach = right = up = above = none
    for first in range(0, degree + 1, WIDTH):
        store(tile, LOWER, first + 1, c)
        store(tile, LOWER + 1, first + 1, s)
        fc, fs = f * c, f * s
        p = before = slope = slope_before = none
        mass_c = mass_s = reach_c = reach_s = slope_c = slope_s = none
        for l in range(first, degree + 1):
            step, back = load(tables, STEP, at), load(tables, BACK, at)
            new = fma(step * height, p, load(tables, SEED, at)) - back * before
            rise = fma(height, slope, p) * step - back * slope_before
            before, p, slope_before, slope = p, new, slope, rise
            even, odd = fma(p, fc, load(tile, 0, at)), fma(p, fs, load(tile, 1, at))
            store(tile, 0, at, even)
            store(tile, 1, at, odd)
            w, r = splat(tables[MASS, l]), splat(tables[REACH, l])
            wp, rp, ws = w * p, r * p, w * slope
            mass_c, mass_s = fma(wp, even, mass_c), fma(wp, odd, mass_s)
            reach_c, reach_s = fma(rp, even, reach_c), fma(rp, odd, reach_s)
            slope_c, slope_s = fma(ws, even, slope_c), fma(ws, odd, slope_s)
            at += WIDTH
        mass = fma(c, mass_c, fma(s, mass_s, mass))
        reach = fma(c, reach_c, fma(s, reach_s, reach))
        above = fma(c, slope_c, fma(s, slope_s, above))
        m = indices(1.0 * first)
        lower_c, lower_s = m * load(tile, LOWER, first), m * load(tile, LOWER + 1, first)
        right = fma(lower_c, mass_c, fma(lower_s, mass_s, right))
        up = fma(lower_c, mass_s, up) - lower_s * mass_c
        c, s = fma(c, turn_c, -(s * turn_s)), fma(s, turn_c, c * turn_s)
    return total(mass), total(reach), total(right), total(up), total(above)


@inline
def _add_all(tile, tables, x, first, stop):
    for j in range(first, stop):
        add_sphere(tile, tables, x, j, 1.0)


@inline
def _gather_sphere(tile, tables, x, partial, lo, hi, last):
    """The tokens [lo, hi) in sight: whole blocks from their totals, the ragged ends one by one."""
    first, stop = whole_blocks(lo, hi, last)
    gather_blocks(tile, partial, first, stop)
    left, right = ragged(lo, hi, last, first, stop)
    _add_all(tile, tables, x, lo, left)
    _add_all(tile, tables, x, right, hi)


@inline
def _leave_row(x, i, sums, value, scale, b, p, z):
    """What a row came to: its velocity if V = value I and nothing else is asked for, else its mass and pull."""
    mass, reach, right, up, above = sums
    along = right * x[0, i] + up * x[1, i] + above * x[2, i]
    z[0, i] = mass
    outer, inner = (value / (mass * b), 0.0) if value != 0.0 else (scale / b, scale * reach)
    p[0, i] = outer * (right - along * x[0, i]) + inner * x[0, i]
    p[1, i] = outer * (up - along * x[1, i]) + inner * x[1, i]
    p[2, i] = outer * (above - along * x[2, i]) + inner * x[2, i]


@pointed
def sphere(pairs, k):
    """d = 3, B = c I, c >= 0. x may be any multiple of the tokens; it is left with unit ones."""
    noinline()
    x, rows, p, z, tile, tables, partial = (
        pairs.x, pairs.rows, pairs.p, pairs.z, pairs.tile, pairs.tables, pairs.partial
    )  # fmt: skip
    last, stage = pairs.numbers.n, pairs.call.stage
    value, scale, b = tables[NUMBERS, VALUE], tables[NUMBERS, SCALE], tables[NUMBERS, SHARPNESS]
    tile[LOWER, 0] = tile[LOWER + 1, 0] = 0.0
    first, stop = block_start(last, k), block_start(last, k + 1)
    if stage == TOTALS:
        normalise(x, 3, first, stop)
        clear(tile)
        _add_all(tile, tables, x, first, stop)
        leave_totals(tile, partial, k)
        return
    if first == stop:
        tables[N_ROWS + k, THIN] = tables[N_ROWS + k, LOSSES] = 0.0
        return
    lo, hi = int(rows[LO, first]), int(rows[HI, first])
    hi -= hi == first + 1  # it comes with its own row
    _gather_sphere(tile, tables, x, partial, lo, hi, last)
    for i in range(first, stop):
        to = int(rows[HI, i])
        while hi < to and not (hi == i and to == i + 1):
            add_sphere(tile, tables, x, hi, 1.0)
            hi += 1
        while lo < int(rows[LO, i]):
            add_sphere(tile, tables, x, lo, -1.0)
            lo += 1
        sums = _meet_sphere(tile, tables, x[0, i], x[1, i], x[2, i], 1.0 if hi < to else 0.0)
        _leave_row(x, i, sums, value, scale, b, p, z)
        hi = to
    note_rows(rows, z, first, stop, tables[N_ROWS + k])
