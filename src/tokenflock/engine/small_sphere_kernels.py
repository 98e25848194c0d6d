"""Velocities of some hundred tokens on S^2 by spherical harmonics: see small_circle_kernels.py.

With x = (x_1, x_2, z) and orders m in the lanes, eight at a time, the functions of degree l that go with
(x_1 + i x_2)^m come upwards in l from

    q_l = a_l z q_{l-1} - q_{l-2},      q_l' = a_l (q_{l-1} + z q'_{l-1}) - q'_{l-2},

scaled so that no factor stands before the last term (small_waves.py has the table). Then the mass of a token is
F = sum_lm w_lm q_l(z) Re((x_1 - i x_2)^m sum_j q_l(z_j) (x_j1 + i x_j2)^m), and its velocity the tangent part of
grad F / (b F).
"""

from __future__ import annotations

from tokenflock.engine.compiling import kernel, piece, target
from tokenflock.engine.cpu_terms import TOP, P, Z
from tokenflock.engine.harmonic_kernels import SUMS, TOTALS
from tokenflock.engine.harmonic_tables import BACK, DEGREE, MASS, NUMBERS, SEED, SHARPNESS, STEP, VALUE, WIDTH
from tokenflock.engine.pair_kernels import HI, MOST_PARTS, n_parts
from tokenflock.engine.simd import apart, fma, indices, load, root, shifted, splat, store, within
from tokenflock.engine.small_circle_kernels import RAYS, TABLES, first_waves, store_powers, totals_of

# Pages of `share` after TABLES and RAYS: the moments of every token, then those of each part.
MOMENTS, PARTS = 2, 3
N_PAGES = PARTS + MOST_PARTS
HEIGHT = 8  # the row of rays that holds z; those before it hold powers of x_1 + i x_2, here of any length
COSINES, SINES, MASSES, EAST, NORTH, UP = range(6)  # rows of the tile: moments, then F and grad F of eight tokens


@piece
def _set_rays(y, n, rays):
    """Unit tokens: powers 1, 2, 4 and 8 of x_1 + i x_2, and z."""
    one = splat(1.0)
    for i in range(0, n, WIDTH):
        c, s, z = load(y, 0, i), load(y, 1, i), load(y, 2, i)
        inverse = one / root(fma(c, c, fma(s, s, z * z)))
        c, s = c * inverse, s * inverse
        store(rays, HEIGHT, i, z * inverse)
        store_powers(rays, i, c, s)


@piece
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


@piece
def _next_degree(a, z, p, p2, g, g2):
    """q_l, q_{l-1} and their slopes from those one degree below."""
    step = a * z
    return fma(step, p, -p2), p, fma(step, g, fma(a, p, -g2)), g


@piece
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


@piece
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


@piece
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


@piece
def _leave_rows(tile, moments, tables, rays, first, stop, last, causal, out):
    """The velocities of tokens first .. stop - 1; the padding after the last rests."""
    apart()
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


@piece
def _clear(tile):
    for m in range(tile.shape[1]):
        tile[COSINES, m] = tile[SINES, m] = 0.0


@piece
def _begins(last, parts, k):
    """The first token of part k, at the beginning of a register."""
    return min(last, (last + WIDTH - 1) // WIDTH * k // parts * WIDTH)


@target
def sphere_part(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile):
    """Full attention, part k, with the signature of the pair kernels: its moments, on a page of their own, or in the
    pass SUMS its velocities, in p. Cut in the same way whoever takes it: the bits do not depend on the team."""
    apart()
    tables, rays, parts = share[TABLES], share[RAYS], n_parts(x, last)
    first, stop, degree = _begins(last, parts, k), _begins(last, parts, k + 1), int(tables[NUMBERS, DEGREE])
    if slope == SUMS:
        _leave_rows(tile, share[MOMENTS], tables, rays, first, stop, last, False, p)
        return
    _clear(tile)
    for j in range(first, stop, 2):
        _see_two(tile, tables, degree, rays, j, 1.0 if j + 1 < stop else 0.0)
    for m in range(0, tile.shape[1], WIDTH):
        store(share[PARTS + k], COSINES, m, load(tile, COSINES, m))
        store(share[PARTS + k], SINES, m, load(tile, SINES, m))


@piece
def _gather(share, parts, length):
    """The weighed moments of all parts."""
    moments = share[MOMENTS]
    for m in range(0, length, WIDTH):
        cosines = sines = load(share[PARTS], COSINES, m) * splat(0.0)
        for k in range(parts):
            cosines, sines = cosines + load(share[PARTS + k], COSINES, m), sines + load(share[PARTS + k], SINES, m)
        w = load(share[TABLES], MASS, m)
        store(moments, COSINES, m, w * cosines)
        store(moments, SINES, m, w * sines)


@kernel
def small_sphere_velocity(sums, part, terms, work, y, t, kind, out):
    """(E6) on S^2 for V = c I, B = c' I, softmax, post norm. The padding of y, a token at rest, stays there.

    A causal mask is one pass on this core; full attention is two of `sums`.
    """
    n, tile, share, near, p = terms.numbers.n, work.tile, work.share, work.near, work.tokens[P]
    tables, rays, z, top = share[TABLES], share[RAYS], work.line[Z], work.line[TOP]
    _set_rays(y, n, rays)
    if n == 1 or terms.rows[HI, 0] == 1:
        _clear(tile)
        _leave_rows(tile, tile, tables, rays, 0, n, n, True, out)
        return
    rows, frozen, desk = terms.rows, terms.frozen, work.desk
    sums(part, near, near, rows, frozen, TOTALS, False, n, p, z, top, share, tile, desk)
    _gather(share, n_parts(near, n), tile.shape[1])
    sums(part, near, near, rows, frozen, SUMS, False, n, p, z, top, share, tile, desk)
    for a in range(3):
        for i in range(n):
            out[a, i] = p[a, i]
