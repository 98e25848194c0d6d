"""Velocities of some hundred tokens on the circle by waves, in one pass on one core.

The papers' main case: V = c I, Q'K = c' I with c' >= 0, softmax, causal or full. For a million tokens see
circle.py; here nothing is shared out among cores, no sums are set up, and the waves of a token cost half as
much: eight modes a register come from three squarings, and the next eight from the two before (Chebyshev),

    cos((m + 8) a) = 2 cos(8 a) cos(m a) - cos((m - 8) a).

Rounding grows like the square of the number of registers, so that few.py takes it for few of them.
"""

from __future__ import annotations

from tokenflock.engine.compiled.declare import inline, kernel, pointed
from tokenflock.engine.compiled.lanes import (
    chosen_1,
    chosen_2,
    chosen_4,
    fma,
    indices,
    load,
    root,
    splat,
    store,
    totals,
    within,
)
from tokenflock.engine.explicit.work import HI
from tokenflock.engine.harmonic.series import DEGREE, MASS, NUMBERS, TURN, VALUE, WIDTH

COSINES, SINES, MASSES, TURNS = range(4)  # rows of the tile: sums of the waves in sight, and those of eight tokens


@inline
def store_powers(rays, i, c, s):
    """Rows of `rays`: the powers 1, 2, 4 and 8 of c + i s, eight tokens at a time."""
    for r in range(0, 8, 2):
        store(rays, r, i, c)
        store(rays, r + 1, i, s)
        c, s = fma(c, c, -(s * s)), (s + s) * c


@inline
def _set_rays(y, n, rays):
    """Rows of `rays`: (cos, sin) of a, 2a, 4a and 8a, a the angle of a token, which may have any length."""
    one = splat(1.0)
    for i in range(0, n, WIDTH):
        c, s = load(y, 0, i), load(y, 1, i)
        inverse = one / root(fma(c, c, s * s))
        c, s = c * inverse, s * inverse
        store_powers(rays, i, c, s)


@inline
def first_waves(rays, i):
    """cos(m a) and sin(m a) of token i for m = 0 .. 7: factors for the bits of m."""
    one = splat(1.0)
    zero = one - one
    c, s = chosen_1(splat(rays[0, i]), one), chosen_1(splat(rays[1, i]), zero)
    e, f = chosen_2(splat(rays[2, i]), one), chosen_2(splat(rays[3, i]), zero)
    c, s = fma(c, e, -(s * f)), fma(s, e, c * f)
    e, f = chosen_4(splat(rays[4, i]), one), chosen_4(splat(rays[5, i]), zero)
    return fma(c, e, -(s * f)), fma(s, e, c * f)


@inline
def _next_waves(rays, i, c, s):
    """The waves for m = 8 .. 15, and 2 cos(8 a)."""
    e, f = splat(rays[6, i]), splat(rays[7, i])
    return fma(c, e, -(s * f)), fma(s, e, c * f), e + e


@inline
def _see_two(tile, modes, rays, i, weight):
    """Tokens i and i + 1 come into sight, the second with a weight."""
    c, s = first_waves(rays, i)
    d, t = first_waves(rays, i + 1)
    c1, s1, over = _next_waves(rays, i, c, s)
    d1, t1, beyond = _next_waves(rays, i + 1, d, t)
    f = splat(weight)
    for m in range(0, modes, WIDTH):
        store(tile, COSINES, m, load(tile, COSINES, m) + fma(f, d, c))
        store(tile, SINES, m, load(tile, SINES, m) + fma(f, t, s))
        c, s, c1, s1 = c1, s1, fma(over, c1, -c), fma(over, s1, -s)
        d, t, d1, t1 = d1, t1, fma(beyond, d1, -d), fma(beyond, t1, -t)


@inline
def _meet_two(tile, tables, modes, rays, i, k, fresh):
    """Tokens i and i + 1 meet all in sight, each after it came into sight itself if fresh = 1.

    Registers k and k + 1 of the rows MASSES and TURNS: their sums over j of w and w sin a, a the angle to j.
    """
    c, s = first_waves(rays, i)
    d, t = first_waves(rays, i + 1)
    c1, s1, over = _next_waves(rays, i, c, s)
    d1, t1, beyond = _next_waves(rays, i + 1, d, t)
    f = splat(fresh)
    mass1 = turn1 = mass2 = turn2 = f - f
    for m in range(0, modes, WIDTH):
        p, q = fma(f, c, load(tile, COSINES, m)), fma(f, s, load(tile, SINES, m))
        u, v = fma(f, d, p), fma(f, t, q)
        store(tile, COSINES, m, u)
        store(tile, SINES, m, v)
        w, g = load(tables, MASS, m), load(tables, TURN, m)
        mass1, turn1 = fma(w, fma(c, p, s * q), mass1), fma(g, fma(c, q, -(s * p)), turn1)
        mass2, turn2 = fma(w, fma(d, u, t * v), mass2), fma(g, fma(d, v, -(t * u)), turn2)
        c, s, c1, s1 = c1, s1, fma(over, c1, -c), fma(over, s1, -s)
        d, t, d1, t1 = d1, t1, fma(beyond, d1, -d), fma(beyond, t1, -t)
    store(tile, MASSES, WIDTH * k, mass1)
    store(tile, TURNS, WIDTH * k, turn1)
    store(tile, MASSES, WIDTH * (k + 1), mass2)
    store(tile, TURNS, WIDTH * (k + 1), turn2)


@inline
def totals_of(tile, row):
    """The sums of the eight registers of a row."""
    return totals(
        load(tile, row, 0),
        load(tile, row, WIDTH),
        load(tile, row, 2 * WIDTH),
        load(tile, row, 3 * WIDTH),
        load(tile, row, 4 * WIDTH),
        load(tile, row, 5 * WIDTH),
        load(tile, row, 6 * WIDTH),
        load(tile, row, 7 * WIDTH),
    )


@kernel
def few_circle_velocity(sums, part, field, y, t, kind, out):
    """(E6) on the circle for V = c I, B = c' I, softmax, post norm. The padding of y, a token at rest, stays there."""
    pairs, rows, n = field.work.pairs, field.terms.rows, field.terms.numbers.n
    tile, tables, rays = pairs.tile, pairs.tables, pairs.per_token
    modes = int(tables[NUMBERS, DEGREE])
    _set_rays(y, n, rays)
    for m in range(modes):
        tile[COSINES, m] = tile[SINES, m] = 0.0
    causal = n == 1 or rows[HI, 0] == 1
    if not causal:
        for j in range(0, n, 2):
            _see_two(tile, modes, rays, j, 1.0 if j + 1 < n else 0.0)
    value, first, last = splat(tables[NUMBERS, VALUE]), splat(0.0), splat(float(n))
    for i in range(0, n, WIDTH):
        for k in range(0, WIDTH, 2):
            _meet_two(tile, tables, modes, rays, i + k, k, 1.0 if causal else 0.0)
        speed = value * totals_of(tile, TURNS) / totals_of(tile, MASSES)
        speed = within(speed, first, indices(float(i)), first, last)
        store(out, 0, i, -(speed * load(rays, 1, i)))
        store(out, 1, i, speed * load(rays, 0, i))


@pointed
def no_part(pairs, k):
    """In the place of a pair kernel, which is never called."""


@pointed
def no_sums(part, pairs):
    """In the place of what runs the parts of one."""
