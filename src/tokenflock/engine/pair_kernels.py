"""Sums over pairs of tokens: (E4) of model.py, without 1/Z. The hot loops of the CPU engine.

Tokens are columns: x is (d, columns), padded to simd.PAD. Tokens i fill the lanes of a register while j runs, so the
sums need no reduction at the end. For the rows i of its part k every kernel fills

    p[a, i] = sum_j w_ij (x_aj - x_ai),   z[0, i] = sum_j w_ij,   w_ij = 2^(s_ij - top_i),

where s is (E1) in units of log 2. All kernels take the same arguments, so that one pointer can name any of them:
u = B'x; rows[0], rows[1] the visible interval of each token, never falling with i; frozen (d + 1, m) tokens that all
see, with log2 of their weights in the last row; slope and hard for `rare`; share and tile, scratch. last is n:
sums_kernels.py cuts the rows into parts and runs them, on one core or on several.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiling import piece, target
from tokenflock.engine.simd import (
    absolute,
    apart,
    at_least,
    exp2,
    fma,
    indices,
    larger,
    load,
    splat,
    store,
    total,
    width,
    within,
)

HARD_TIE, HARD_TIE_32 = 1e-12, 2e-6  # model.TIE, and the same for the rounding of float32
LO, HI, COUNTS = 0, 1, 2  # the lines of `rows`
CHUNKS = 8  # parts of `mutual`, whatever the threads: same bits
MOST_PARTS = 24


@piece
def n_parts(x, last):
    """How many parts the rows are cut into: blocks of two registers, at most MOST_PARTS."""
    return min(MOST_PARTS, (last + 2 * width(x) - 1) // (2 * width(x)))


@piece
def _cut(x, last, k):
    """First row of part k, a multiple of two registers. Later rows of a causal mask are longer, so later parts have
    fewer; for other masks that does no harm."""
    parts, step = n_parts(x, last), 2 * width(x)
    if parts < MOST_PARTS or k == parts:
        return last if k == parts else k * step
    return int(last * np.sqrt(k / parts)) // step * step


@piece
def _interval(rows, i, m):
    """Where tokens i .. i + m - 1 look: [start, all_from) some of them, [all_from, all_to) all, [all_to, stop) some."""
    start, stop = int(rows[LO, i]), int(rows[HI, i + m - 1])
    all_from = min(int(rows[LO, i + m - 1]), stop)
    return start, all_from, max(all_from, int(rows[HI, i])), stop


@piece
def _term2(x, j, a, b, z, p, q):
    dx, dy = splat(x[0, j]) - a, splat(x[1, j]) - b
    w = exp2(-fma(dx, dx, dy * dy))
    return z + w, fma(w, dx, p), fma(w, dy, q)


@piece
def _masked2(x, j, a, b, z, p, q, lo, hi):
    dx, dy = splat(x[0, j]) - a, splat(x[1, j]) - b
    w = exp2(-fma(dx, dx, dy * dy))
    w = within(w, w - w, splat(x.dtype.type(j)), lo, hi)
    return z + w, fma(w, dx, p), fma(w, dy, q)


@target
def near2(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile):
    """d = 2, B = c I on the circle. x is scaled so that s_ij - s_ii = -|x_i - x_j|^2: top_i = s_ii, no search."""
    apart()
    m = width(x)
    for i in range(_cut(x, last, k), _cut(x, last, k + 1), m):
        a, b, lo, hi = load(x, 0, i), load(x, 1, i), load(rows, LO, i), load(rows, HI, i)
        z0 = p0 = q0 = a - a
        start, all_from, all_to, stop = _interval(rows, i, m)
        for j in range(start, all_from):
            z0, p0, q0 = _masked2(x, j, a, b, z0, p0, q0, lo, hi)
        for j in range(all_from, all_to):
            z0, p0, q0 = _term2(x, j, a, b, z0, p0, q0)
        for j in range(all_to, stop):
            z0, p0, q0 = _masked2(x, j, a, b, z0, p0, q0, lo, hi)
        store(z, 0, i, z0)
        store(p, 0, i, p0)
        store(p, 1, i, q0)


@piece
def _weight3(x, j, a, b, c):
    dx, dy, dz = splat(x[0, j]) - a, splat(x[1, j]) - b, splat(x[2, j]) - c
    return exp2(-fma(dx, dx, fma(dy, dy, dz * dz))), dx, dy, dz


@piece
def _term3(x, j, a, b, c, z, p, q, r):
    w, dx, dy, dz = _weight3(x, j, a, b, c)
    return z + w, fma(w, dx, p), fma(w, dy, q), fma(w, dz, r)


@piece
def _masked3(x, j, a, b, c, z, p, q, r, lo, hi):
    w, dx, dy, dz = _weight3(x, j, a, b, c)
    w = within(w, w - w, splat(x.dtype.type(j)), lo, hi)
    return z + w, fma(w, dx, p), fma(w, dy, q), fma(w, dz, r)


@target
def near3(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile):
    """near2 for d = 3."""
    apart()
    m = width(x)
    for i in range(_cut(x, last, k), _cut(x, last, k + 1), m):
        a, b, c, lo0, hi0 = load(x, 0, i), load(x, 1, i), load(x, 2, i), load(rows, LO, i), load(rows, HI, i)
        z0 = p0 = q0 = r0 = a - a
        start, all_from, all_to, stop = _interval(rows, i, m)
        for j in range(start, all_from):
            z0, p0, q0, r0 = _masked3(x, j, a, b, c, z0, p0, q0, r0, lo0, hi0)
        for j in range(all_from, all_to):
            z0, p0, q0, r0 = _term3(x, j, a, b, c, z0, p0, q0, r0)
        for j in range(all_to, stop):
            z0, p0, q0, r0 = _masked3(x, j, a, b, c, z0, p0, q0, r0, lo0, hi0)
        store(z, 0, i, z0)
        store(p, 0, i, p0)
        store(p, 1, i, q0)
        store(p, 2, i, r0)


@piece
def _mutual_rows(x, first, last, share):
    """Full attention, B = c I, d <= 3 (x has 3 rows, the unused zero): w_ij = w_ji, each exponential serves two.

    share is (4, columns), this chunk's sums p and z for all tokens. Rows [first, last), two at a time, meet every
    register of columns from their own on, and give the tokens of later registers their part with the opposite sign.
    Padding must stand far away, where weights are exactly 0.
    """
    apart()
    m, columns = width(x), x.shape[1]
    for i in range(first, last, 2):
        own = i - i % m
        a0, b0, c0 = splat(x[0, i]), splat(x[1, i]), splat(x[2, i])
        a1, b1, c1 = splat(x[0, i + 1]), splat(x[1, i + 1]), splat(x[2, i + 1])
        a, b, c = load(x, 0, own), load(x, 1, own), load(x, 2, own)
        dx, dy, dz = a - a0, b - b0, c - c0
        z0 = exp2(-fma(dx, dx, fma(dy, dy, dz * dz)))
        p0, q0, r0 = z0 * dx, z0 * dy, z0 * dz
        dx, dy, dz = a - a1, b - b1, c - c1
        z1 = exp2(-fma(dx, dx, fma(dy, dy, dz * dz)))
        p1, q1, r1 = z1 * dx, z1 * dy, z1 * dz
        for j in range(own + m, columns, m):
            a, b, c = load(x, 0, j), load(x, 1, j), load(x, 2, j)
            dx, dy, dz = a - a0, b - b0, c - c0
            ex, ey, ez = a - a1, b - b1, c - c1
            v = exp2(-fma(dx, dx, fma(dy, dy, dz * dz)))
            w = exp2(-fma(ex, ex, fma(ey, ey, ez * ez)))
            z0, p0, q0, r0 = z0 + v, fma(v, dx, p0), fma(v, dy, q0), fma(v, dz, r0)
            z1, p1, q1, r1 = z1 + w, fma(w, ex, p1), fma(w, ey, q1), fma(w, ez, r1)
            store(share, 0, j, load(share, 0, j) - fma(v, dx, w * ex))
            store(share, 1, j, load(share, 1, j) - fma(v, dy, w * ey))
            store(share, 2, j, load(share, 2, j) - fma(v, dz, w * ez))
            store(share, 3, j, load(share, 3, j) + (v + w))
        for k, p, q, r, z in ((i, p0, q0, r0, z0), (i + 1, p1, q1, r1, z1)):
            share[0, k] += total(p)
            share[1, k] += total(q)
            share[2, k] += total(r)
            share[3, k] += total(z)


@piece
def chunk(n, c):
    """First row of chunk c of `mutual`, even, with about equal parts of the triangle above the diagonal."""
    return n if c == CHUNKS else int(n * (1.0 - np.sqrt(1.0 - c / CHUNKS))) // 2 * 2


@target
def mutual(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile):
    """near2 and near3 for full attention. Leaves its sums in share[k]; `gather` adds them up."""
    mine = share[k]
    for a in range(4):
        for i in range(x.shape[1]):
            mine[a, i] = 0.0
    _mutual_rows(x, chunk(last, k), chunk(last, k + 1), mine)


@piece
def gather(share, p, z):
    """Add the parts of `mutual`, always in the same order."""
    for a in range(p.shape[0] + 1):
        line, target = (a, p[a]) if a < p.shape[0] else (3, z[0])
        for i in range(z.shape[1]):
            target[i] = share[0, line, i]
        for c in range(1, CHUNKS):
            for i in range(z.shape[1]):
                target[i] += share[c, line, i]


@piece
def _logit(x, j, u, i, d):
    """(E1) for the tokens i .. in the lanes and the token j."""
    s = load(u, 0, i) * splat(x[0, j])
    for a in range(1, d):
        s = fma(load(u, a, i), splat(x[a, j]), s)
    return s


@piece
def _add(x, y, j, i, d, w, p, z):
    """Add the pull of y_j with weights w to the rows i."""
    store(z, 0, i, load(z, 0, i) + w)
    for a in range(d):
        store(p, a, i, fma(w, splat(y[a, j]) - load(x, a, i), load(p, a, i)))


@piece
def _clear(i, d, p, z):
    none = load(z, 0, i) * splat(z.dtype.type(0.0))
    store(z, 0, i, none)
    for a in range(d):
        store(p, a, i, none)


@piece
def _largest(x, u, rows, frozen, i, m, d):
    """top_i: the largest logit that each row of one register sees."""
    start, all_from, all_to, stop = _interval(rows, i, m)
    lo0, hi0 = load(rows, LO, i), load(rows, HI, i)
    top = splat(x.dtype.type(-np.inf))
    for j in range(start, all_from):
        top = larger(within(_logit(x, j, u, i, d), top, splat(x.dtype.type(j)), lo0, hi0), top)
    for j in range(all_from, all_to):
        top = larger(_logit(x, j, u, i, d), top)
    for j in range(all_to, stop):
        top = larger(within(_logit(x, j, u, i, d), top, splat(x.dtype.type(j)), lo0, hi0), top)
    for j in range(frozen.shape[1]):
        top = larger(_logit(frozen, j, u, i, d) + splat(frozen[d, j]), top)
    return top


@piece
def _masked(x, j, u, i, d, top, lo, hi, p, z):
    w = exp2(_logit(x, j, u, i, d) - top)
    _add(x, x, j, i, d, within(w, splat(x.dtype.type(0.0)), splat(x.dtype.type(j)), lo, hi), p, z)


@piece
def _general(x, u, rows, frozen, first, last, p, z, top, dims):
    """Any form. dims: a tuple of d zeros lets the compiler unroll the loops over coordinates; an empty one any d."""
    m, d = width(x), len(dims) if len(dims) > 0 else x.shape[0]
    for i in range(first, last, 2 * m):
        best0 = _largest(x, u, rows, frozen, i, m, d)
        best1 = _largest(x, u, rows, frozen, i + m, m, d)
        lo0, hi0, lo1, hi1 = load(rows, LO, i), load(rows, HI, i), load(rows, LO, i + m), load(rows, HI, i + m)
        store(top, 0, i, best0)
        store(top, 0, i + m, best1)
        _clear(i, d, p, z)
        _clear(i + m, d, p, z)
        start, all_from, all_to, stop = _interval(rows, i, 2 * m)
        for j in range(start, all_from):
            _masked(x, j, u, i, d, best0, lo0, hi0, p, z)
            _masked(x, j, u, i + m, d, best1, lo1, hi1, p, z)
        for j in range(all_from, all_to):
            _add(x, x, j, i, d, exp2(_logit(x, j, u, i, d) - best0), p, z)
            _add(x, x, j, i + m, d, exp2(_logit(x, j, u, i + m, d) - best1), p, z)
        for j in range(all_to, stop):
            _masked(x, j, u, i, d, best0, lo0, hi0, p, z)
            _masked(x, j, u, i + m, d, best1, lo1, hi1, p, z)
        for j in range(frozen.shape[1]):
            weight = splat(frozen[d, j])
            _add(x, frozen, j, i, d, exp2(_logit(frozen, j, u, i, d) + weight - best0), p, z)
            _add(x, frozen, j, i + m, d, exp2(_logit(frozen, j, u, i + m, d) + weight - best1), p, z)


@target
def general2(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile):
    """d = 2, any form."""
    apart()
    _general(x, u, rows, frozen, _cut(x, last, k), _cut(x, last, k + 1), p, z, top, (0, 0))


@target
def general3(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile):
    """d = 3, any form."""
    apart()
    _general(x, u, rows, frozen, _cut(x, last, k), _cut(x, last, k + 1), p, z, top, (0, 0, 0))


@target
def general(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile):
    """Any d, any form."""
    apart()
    _general(x, u, rows, frozen, _cut(x, last, k), _cut(x, last, k + 1), p, z, top, ())


@piece
def _biased(x, j, u, i, d, slope):
    """(E1) with its bias."""
    apart_in_sequence = absolute(indices(x.dtype.type(i)) - splat(x.dtype.type(j)))
    return _logit(x, j, u, i, d) - splat(x.dtype.type(slope)) * apart_in_sequence


@target
def rare(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile):
    """The rare options, ALiBi and hardmax, at half the speed. hard: equal shares of the largest logits (E2); there u is
    in its own units and frozen holds plain weights."""
    apart()
    m, d = width(x), x.shape[0]
    for i in range(_cut(x, last, k), _cut(x, last, k + 1), m):
        lo0, hi0 = load(rows, LO, i), load(rows, HI, i)
        start, stop = int(rows[LO, i]), int(rows[HI, i + m - 1])
        best = splat(x.dtype.type(-np.inf))
        for j in range(start, stop):
            best = larger(within(_biased(x, j, u, i, d, slope), best, splat(x.dtype.type(j)), lo0, hi0), best)
        for j in range(frozen.shape[1]):
            best = larger(_logit(frozen, j, u, i, d) + splat(frozen[d, j] * x.dtype.type(not hard)), best)
        tie = splat(x.dtype.type(HARD_TIE if x.itemsize == 8 else HARD_TIE_32))
        level = best - tie * (splat(x.dtype.type(1.0)) + absolute(best))
        store(top, 0, i, best)
        _clear(i, d, p, z)
        for j in range(start, stop):
            s = _biased(x, j, u, i, d, slope)
            w = at_least(s, level) if hard else exp2(s - best)
            _add(x, x, j, i, d, within(w, splat(x.dtype.type(0.0)), splat(x.dtype.type(j)), lo0, hi0), p, z)
        for j in range(frozen.shape[1]):
            s = _logit(frozen, j, u, i, d)
            w = at_least(s, level) * splat(frozen[d, j]) if hard else exp2(s + splat(frozen[d, j]) - best)
            _add(x, frozen, j, i, d, w, p, z)
