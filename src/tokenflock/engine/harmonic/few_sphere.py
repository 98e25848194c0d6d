"""Velocities of some hundred tokens on S^2 by spherical harmonics: see few_circle.py.

With x = (x_1, x_2, z) and orders m in the lanes, eight at a time, the functions of degree l that go with
(x_1 + i x_2)^m come upwards in l from

    q_l = a_l z q_{l-1} - q_{l-2},      q_l' = a_l (q_{l-1} + z q'_{l-1}) - q'_{l-2},

scaled so that no factor stands before the last term (few.py has the table). Then the mass of a token is
F = sum_lm w_lm q_l(z) Re((x_1 - i x_2)^m sum_j q_l(z_j) (x_j1 + i x_j2)^m), and its velocity the tangent part of
grad F / (b F).
"""

from __future__ import annotations

from tokenflock.engine.compiled.declare import inline, kernel, pointed
from tokenflock.engine.compiled.lanes import fma, indices, load, noinline, root, shifted, splat, store, within
from tokenflock.engine.explicit.team import run_parts
from tokenflock.engine.explicit.work import HI
from tokenflock.engine.harmonic.few_circle import first_waves, store_powers, totals_of
from tokenflock.engine.harmonic.series import BACK, DEGREE, MASS, NUMBERS, SEED, SHARPNESS, STEP, VALUE, WIDTH
from tokenflock.engine.harmonic.velocity import SUMS, TOTALS

# Pages of PairWork.partial: the moments of all tokens, then those of each part.
MOMENTS, PARTS = 0, 1
MOST_PARTS = 24
N_PAGES = PARTS + MOST_PARTS
HEIGHT = 8  # the row of rays that holds z; those before it hold powers of x_1 + i x_2, here of any length
COSINES, SINES, MASSES, EAST, NORTH, UP = range(6)  # rows of the tile: moments, then F and grad F of eight tokens


@inline
def _set_rays(y, n, rays):
    """Unit tokens: powers 1, 2, 4 and 8 of x_1 + i x_2, and z."""
    one = splat(1.0)
    for i in range(0, n, WIDTH):
        c, s, z = load(y, 0, i), load(y, 1, i), load(y, 2, i)
        inverse = one / root(fma(c, c, fma(s, s, z * z)))
        c, s = c * inverse, s * inverse
        store(rays, HEIGHT, i, z * inverse)
        store_powers(rays, i, c, s)


@inline
def _see_two(tile, tables, degree, rays, i, weight):
    """Tokens i and i + 1 are added to the moments, the second with a weight."""
    c, s = first_waves(rays, i)
    d, t = first_waves(rays, i + 1)
    f = splat(weight)
    d, t = d * f, t * f
    over_c, over_s = splat(rays[6, i]), splat(rays[7, i])
    beyond_c, beyond_s = splat(rays[6, i + 1]), splat(rays[7, i + 1])
    z, y = splat(rays[HEIGHT, i]), splat(rays[HEIGHT, i + 1])
    at = 0
    for order in range(0, degree + 1, WIDTH):
        p1 = q1 = load(tables, SEED, 0)
        p2 = q2 = load(tables, BACK, 0)
        for _ in range(order, degree + 1):
            a = load(tables, STEP, at)
            p1, p2 = fma(a * z, p1, -p2), p1
            q1, q2 = fma(a * y, q1, -q2), q1
            store(tile, COSINES, at, fma(p1, c, fma(q1, d, load(tile, COSINES, at))))
            store(tile, SINES, at, fma(p1, s, fma(q1, t, load(tile, SINES, at))))
            at += WIDTH
        c, s = fma(c, over_c, -(s * over_s)), fma(s, over_c, c * over_s)
        d, t = fma(d, beyond_c, -(t * beyond_s)), fma(t, beyond_c, d * beyond_s)


@inline
def _next_degree(a, z, p, p2, g, g2):
    """q_l, q_{l-1} and their slopes from those one degree below."""
    step = a * z
    return fma(step, p, -p2), p, fma(step, g, fma(a, p, -g2)), g


@inline
def _meet(moments, tables, degree, z, order, at):
    """A token at height z meets all in sight, in the orders from `order` on: for each the sums over l of q_l and of
    its slope times the weighed moments."""
    p, p2 = load(tables, SEED, 0), load(tables, BACK, 0)
    g = g2 = even = odd = rise = fall = z - z
    for _ in range(order, degree + 1):
        p, p2, g, g2 = _next_degree(load(tables, STEP, at), z, p, p2, g, g2)
        cosines, sines = load(moments, COSINES, at), load(moments, SINES, at)
        even, odd = fma(p, cosines, even), fma(p, sines, odd)
        rise, fall = fma(g, cosines, rise), fma(g, sines, fall)
        at += WIDTH
    return even, odd, rise, fall


@inline
def _join(tile, tables, degree, z, c, s, order, at):
    """`_meet`, after the token has come into sight itself."""
    p, p2 = load(tables, SEED, 0), load(tables, BACK, 0)
    g = g2 = even = odd = rise = fall = z - z
    for _ in range(order, degree + 1):
        p, p2, g, g2 = _next_degree(load(tables, STEP, at), z, p, p2, g, g2)
        own = load(tables, MASS, at) * p
        cosines, sines = fma(own, c, load(tile, COSINES, at)), fma(own, s, load(tile, SINES, at))
        store(tile, COSINES, at, cosines)
        store(tile, SINES, at, sines)
        even, odd = fma(p, cosines, even), fma(p, sines, odd)
        rise, fall = fma(g, cosines, rise), fma(g, sines, fall)
        at += WIDTH
    return even, odd, rise, fall


@inline
def _leave_row(tile, moments, tables, degree, rays, i, k, causal):
    """Register k of the rows MASSES .. UP: F and its partial derivatives at token i, order by order."""
    c, s = first_waves(rays, i)
    turn_c, turn_s, z = splat(rays[6, i]), splat(rays[7, i]), splat(rays[HEIGHT, i])
    mass = east = north = up = past_c = past_s = z - z
    at = 0
    for order in range(0, degree + 1, WIDTH):
        if causal:
            even, odd, rise, fall = _join(tile, tables, degree, z, c, s, order, at)
        else:
            even, odd, rise, fall = _meet(moments, tables, degree, z, order, at)
        mass, up = fma(even, c, fma(odd, s, mass)), fma(rise, c, fma(fall, s, up))
        # d (x_1 + i x_2)^m = m (x_1 + i x_2)^(m-1) (d x_1 + i d x_2)
        m = indices(float(order))
        lower_c, lower_s = m * shifted(past_c, c), m * shifted(past_s, s)
        east, north = fma(even, lower_c, fma(odd, lower_s, east)), fma(odd, lower_c, fma(-even, lower_s, north))
        past_c, past_s = c, s
        c, s = fma(c, turn_c, -(s * turn_s)), fma(s, turn_c, c * turn_s)
        at += WIDTH * (degree + 1 - order)
    store(tile, MASSES, WIDTH * k, mass)
    store(tile, EAST, WIDTH * k, east)
    store(tile, NORTH, WIDTH * k, north)
    store(tile, UP, WIDTH * k, up)


@inline
def _leave_rows(tile, moments, tables, rays, first, stop, last, causal, out):
    """The velocities of tokens first .. stop - 1; the padding after the last rests."""
    noinline()
    degree, nothing, n = int(tables[NUMBERS, DEGREE]), splat(0.0), splat(float(last))
    scale = splat(tables[NUMBERS, VALUE] / tables[NUMBERS, SHARPNESS])
    for i in range(first, stop, WIDTH):
        for k in range(WIDTH):
            _leave_row(tile, moments, tables, degree, rays, i + k, k, causal)
        weight = within(scale / totals_of(tile, MASSES), nothing, indices(float(i)), nothing, n)
        a, b, c = load(rays, 0, i), load(rays, 1, i), load(rays, HEIGHT, i)
        east, north, up = totals_of(tile, EAST), totals_of(tile, NORTH), totals_of(tile, UP)
        along = fma(east, a, fma(north, b, up * c))
        store(out, 0, i, weight * fma(-along, a, east))
        store(out, 1, i, weight * fma(-along, b, north))
        store(out, 2, i, weight * fma(-along, c, up))


@inline
def _clear(tile):
    for m in range(tile.shape[1]):
        tile[COSINES, m] = tile[SINES, m] = 0.0


@inline
def _n_parts(last):
    """How many parts full attention is cut into: two registers each, at most MOST_PARTS."""
    return min(MOST_PARTS, (last + 2 * WIDTH - 1) // (2 * WIDTH))


@inline
def _begins(last, parts, k):
    """The first token of part k, at the beginning of a register."""
    return min(last, (last + WIDTH - 1) // WIDTH * k // parts * WIDTH)


@pointed
def sphere_part(pairs, k):
    """Full attention, part k: its moments, on a page of their own, or in the stage SUMS its velocities, in p. Cut in
    the same way whoever takes it: the bits do not depend on the team."""
    noinline()
    tables, rays, tile, partial, last = pairs.tables, pairs.per_token, pairs.tile, pairs.partial, pairs.numbers.n
    parts = _n_parts(last)
    first, stop, degree = _begins(last, parts, k), _begins(last, parts, k + 1), int(tables[NUMBERS, DEGREE])
    if pairs.call.stage == SUMS:
        _leave_rows(tile, partial[MOMENTS], tables, rays, first, stop, last, False, pairs.p)
        return
    _clear(tile)
    for j in range(first, stop, 2):
        _see_two(tile, tables, degree, rays, j, 1.0 if j + 1 < stop else 0.0)
    for m in range(0, tile.shape[1], WIDTH):
        store(partial[PARTS + k], COSINES, m, load(tile, COSINES, m))
        store(partial[PARTS + k], SINES, m, load(tile, SINES, m))


@inline
def _gather(pairs, parts):
    """The weighed moments of all parts."""
    partial, tables = pairs.partial, pairs.tables
    moments = partial[MOMENTS]
    for m in range(0, pairs.tile.shape[1], WIDTH):
        cosines = sines = load(partial[PARTS], COSINES, m) * splat(0.0)
        for k in range(parts):
            cosines = cosines + load(partial[PARTS + k], COSINES, m)
            sines = sines + load(partial[PARTS + k], SINES, m)
        w = load(tables, MASS, m)
        store(moments, COSINES, m, w * cosines)
        store(moments, SINES, m, w * sines)


@pointed
def sum_moments(part, pairs):
    """Both stages of `sphere_part`."""
    parts = _n_parts(pairs.numbers.n)
    run_parts(part, pairs, TOTALS, parts)
    _gather(pairs, parts)
    run_parts(part, pairs, SUMS, parts)


@kernel
def few_sphere_velocity(sums, part, field, y, t, kind, out):
    """(E6) on S^2 for V = c I, B = c' I, softmax, post norm. The padding of y, a token at rest, stays there.

    A causal mask is one pass on this core; full attention is two stages of `sums`.
    """
    pairs, n = field.work.pairs, field.terms.numbers.n
    _set_rays(y, n, pairs.per_token)
    if n == 1 or field.terms.rows[HI, 0] == 1:
        _clear(pairs.tile)
        _leave_rows(pairs.tile, pairs.tile, pairs.tables, pairs.per_token, 0, n, n, True, out)
        return
    sums(part, pairs)
    for a in range(3):
        for i in range(n):
            out[a, i] = pairs.p[a, i]
