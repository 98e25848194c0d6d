"""Sums over pairs of tokens: (E4) of model.py, without 1/Z. The hot loops of the CPU engine.

Tokens are columns: x is (d, columns), padded to lanes.PAD. Tokens i fill the lanes of a register while j runs, so the
sums need no reduction at the end. A kernel `part(pairs, k)` takes a PairWork (work.py) and the number of a part; for
the rows i of its part it fills

    p[a, i] = sum_j w_ij (x_aj - x_ai),   z[0, i] = sum_j w_ij,   w_ij = 2^(s_ij - top_i),

where s is (E1) in units of log 2. rows[LO], rows[HI] are the visible interval of each token, never falling with i;
frozen tokens are seen by all. team.py runs the parts, on one core or on several.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline, pointed
from tokenflock.engine.compiled.lanes import (
    absolute,
    at_least,
    exp2,
    fma,
    indices,
    larger,
    load,
    noinline,
    splat,
    store,
    total,
    width,
    within,
)
from tokenflock.engine.explicit.work import HI, LO

HARD_TIE, HARD_TIE_32 = 1e-12, 2e-6  # model.TIE, and the same for the rounding of float32
MEET, ADD = 0, 1  # the stages of `mutual`
LEAST_CHUNKS, MOST_CHUNKS = 8, 32  # of `mutual`
MOST_PARTS = 96  # enough to keep 16 cores busy to the end, whatever their speed


@inline
def n_parts(x, last):
    """How many parts the rows are cut into: blocks of two registers, at most MOST_PARTS."""
    return min(MOST_PARTS, (last + 2 * width(x) - 1) // (2 * width(x)))


@inline
def cut(x, last, k):
    """First row of the part after k others, a multiple of two registers. The last rows come first: those of a causal
    mask are the longest, and whoever takes a part when others are ready should have a short one."""
    parts, step = n_parts(x, last), 2 * width(x)
    blocks = (last + step - 1) // step
    return min(last, blocks * (parts - k) // parts * step)


@inline
def interval(rows, i, m):
    """Where tokens i .. i + m - 1 look: [start, all_from) some of them, [all_from, all_to) all, [all_to, stop) some."""
    start, stop = int(rows[LO, i]), int(rows[HI, i + m - 1])
    all_from = min(int(rows[LO, i + m - 1]), stop)
    return start, all_from, max(all_from, int(rows[HI, i])), stop


@inline
def mass(pairs, j, i):
    """log2 a_ij (hardmax, weighed: a_ij) of token j as seen from the rows i."""
    if pairs.masses.shape[1] == 1:
        return splat(pairs.masses[j, 0])
    m = width(pairs.x)
    return load(pairs.masses, i // m, j * m)


@inline
def mass_of(pairs, j, i):
    """The same for one row i."""
    m = width(pairs.x)
    return pairs.masses[j, 0] if pairs.masses.shape[1] == 1 else pairs.masses[i // m, j * m + i % m]


@inline
def _mutual_rows(x, first, last, sums):
    """Full attention, B = c I, d <= 3 (x has 3 rows, the unused zero): w_ij = w_ji, each exponential serves two.

    sums is (4, columns), this chunk's sums p and z for all tokens. Rows [first, last), two at a time, meet every
    register of columns from their own on, and give the tokens of later registers their part with the opposite sign.
    Padding must stand far away, where weights are exactly 0.
    """
    noinline()
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
            store(sums, 0, j, load(sums, 0, j) - fma(v, dx, w * ex))
            store(sums, 1, j, load(sums, 1, j) - fma(v, dy, w * ey))
            store(sums, 2, j, load(sums, 2, j) - fma(v, dz, w * ez))
            store(sums, 3, j, load(sums, 3, j) + (v + w))
        for row, p, q, r, z in ((i, p0, q0, r0, z0), (i + 1, p1, q1, r1, z1)):
            sums[0, row] += total(p)
            sums[1, row] += total(q)
            sums[2, row] += total(r)
            sums[3, row] += total(z)


@inline
def chunk(n, c, chunks):
    """First row of chunk c of `mutual`, even, with about equal parts of the triangle above the diagonal."""
    return n if c == chunks else int(n * (1.0 - np.sqrt(1.0 - c / chunks))) // 2 * 2


@inline
def n_adding(n):
    """Parts of the stage ADD: few tokens are added up faster than a second thread takes some of them."""
    return 1 + n // 1024


@pointed
def mutual(pairs, k):
    """near2 and near3 for full attention, in two stages: chunk k leaves its sums in partial[k], then they are added up,
    always in the same order. There are as many chunks whatever the threads: same bits."""
    x, p, z, partial = pairs.x, pairs.p, pairs.z, pairs.partial
    n, columns, chunks, parts = pairs.numbers.n, x.shape[1], len(partial), n_adding(pairs.numbers.n)
    if pairs.call.stage == MEET:
        mine = partial[k]
        for a in range(4):
            for i in range(columns):
                mine[a, i] = 0.0
        _mutual_rows(x, chunk(n, k, chunks), chunk(n, k + 1, chunks), mine)
        return
    m = width(x)
    for i in range(columns * k // parts // m * m, columns * (k + 1) // parts // m * m, m):
        for a in range(p.shape[0] + 1):
            line = a if a < p.shape[0] else 3
            sums = load(partial[0], line, i)
            for c in range(1, chunks):
                sums = sums + load(partial[c], line, i)
            store(p if line < 3 else z, a if line < 3 else 0, i, sums)


@inline
def logit(x, j, u, i, d):
    """(E1) for the tokens i .. in the lanes and the token j."""
    s = load(u, 0, i) * splat(x[0, j])
    for a in range(1, d):
        s = fma(load(u, a, i), splat(x[a, j]), s)
    return s


@inline
def add(x, y, j, i, d, w, p, z):
    """Add the pull of y_j with weights w to the rows i."""
    store(z, 0, i, load(z, 0, i) + w)
    for a in range(d):
        store(p, a, i, fma(w, splat(y[a, j]) - load(x, a, i), load(p, a, i)))


@inline
def clear(i, d, p, z):
    none = splat(z.dtype.type(0.0))  # not a multiple of what stands there: a step that was rejected may leave nan
    store(z, 0, i, none)
    for a in range(d):
        store(p, a, i, none)


@inline
def largest(x, u, rows, frozen, i, m, d):
    """top_i: the largest logit that each row of one register sees."""
    start, all_from, all_to, stop = interval(rows, i, m)
    lo0, hi0 = load(rows, LO, i), load(rows, HI, i)
    top = splat(x.dtype.type(-np.inf))
    for j in range(start, all_from):
        top = larger(within(logit(x, j, u, i, d), top, splat(x.dtype.type(j)), lo0, hi0), top)
    for j in range(all_from, all_to):
        top = larger(logit(x, j, u, i, d), top)
    for j in range(all_to, stop):
        top = larger(within(logit(x, j, u, i, d), top, splat(x.dtype.type(j)), lo0, hi0), top)
    for j in range(frozen.shape[1]):
        top = larger(logit(frozen, j, u, i, d) + splat(frozen[d, j]), top)
    return top


@inline
def _masked(pairs, j, i, d, top, lo, hi):
    """Add token j to those of the rows i that see it."""
    x = pairs.x
    w = exp2(logit(x, j, pairs.u, i, d) - top)
    w = within(w, splat(x.dtype.type(0.0)), splat(x.dtype.type(j)), lo, hi)
    add(x, x, j, i, d, w, pairs.p, pairs.z)


@pointed
def general(pairs, k):
    """Any d, any form, two registers at a time."""
    noinline()
    x, u, rows, frozen, p, z, top = pairs.x, pairs.u, pairs.rows, pairs.frozen, pairs.p, pairs.z, pairs.top
    m, d, n = width(x), x.shape[0], pairs.numbers.n
    for i in range(cut(x, n, k + 1), cut(x, n, k), 2 * m):
        best0 = largest(x, u, rows, frozen, i, m, d)
        best1 = largest(x, u, rows, frozen, i + m, m, d)
        lo0, hi0, lo1, hi1 = load(rows, LO, i), load(rows, HI, i), load(rows, LO, i + m), load(rows, HI, i + m)
        store(top, 0, i, best0)
        store(top, 0, i + m, best1)
        clear(i, d, p, z)
        clear(i + m, d, p, z)
        start, all_from, all_to, stop = interval(rows, i, 2 * m)
        for j in range(start, all_from):
            _masked(pairs, j, i, d, best0, lo0, hi0)
            _masked(pairs, j, i + m, d, best1, lo1, hi1)
        for j in range(all_from, all_to):
            add(x, x, j, i, d, exp2(logit(x, j, u, i, d) - best0), p, z)
            add(x, x, j, i + m, d, exp2(logit(x, j, u, i + m, d) - best1), p, z)
        for j in range(all_to, stop):
            _masked(pairs, j, i, d, best0, lo0, hi0)
            _masked(pairs, j, i + m, d, best1, lo1, hi1)
        for j in range(frozen.shape[1]):
            weight = splat(frozen[d, j])
            add(x, frozen, j, i, d, exp2(logit(frozen, j, u, i, d) + weight - best0), p, z)
            add(x, frozen, j, i + m, d, exp2(logit(frozen, j, u, i + m, d) + weight - best1), p, z)


@inline
def biased(pairs, j, i, d):
    """(E1) with its bias, and log2 of the mass where there are masses."""
    x = pairs.x
    distance = absolute(indices(x.dtype.type(i)) - splat(x.dtype.type(j)))
    s = logit(x, j, pairs.u, i, d) - splat(x.dtype.type(pairs.call.slope)) * distance
    if pairs.masses.shape[0] > 0:
        a = mass(pairs, j, i)
        least, most = splat(x.dtype.type(1e-37)), splat(x.dtype.type(np.inf))
        s = s + a if pairs.numbers.hard == 0 else within(s, -most, a, least, most)
    return s


@pointed
def rare(pairs, k):
    """The rare options, ALiBi, masses and hardmax, at half the speed. hard: equal shares of the largest logits (E2);
    there u is in its own units, and frozen and masses hold plain weights."""
    noinline()
    x, u, rows, frozen, p, z = pairs.x, pairs.u, pairs.rows, pairs.frozen, pairs.p, pairs.z
    m, d, n = width(x), x.shape[0], pairs.numbers.n
    hard, weighed = pairs.numbers.hard != 0, pairs.masses.shape[0] > 0
    for i in range(cut(x, n, k + 1), cut(x, n, k), m):
        lo0, hi0 = load(rows, LO, i), load(rows, HI, i)
        start, stop = int(rows[LO, i]), int(rows[HI, i + m - 1])
        best = splat(x.dtype.type(-np.inf))
        for j in range(start, stop):
            best = larger(within(biased(pairs, j, i, d), best, splat(x.dtype.type(j)), lo0, hi0), best)
        for j in range(frozen.shape[1]):
            best = larger(logit(frozen, j, u, i, d) + splat(frozen[d, j] * x.dtype.type(not hard)), best)
        tie = splat(x.dtype.type(HARD_TIE if x.itemsize == 8 else HARD_TIE_32))
        level = best - tie * (splat(x.dtype.type(1.0)) + absolute(best))
        store(pairs.top, 0, i, best)
        clear(i, d, p, z)
        for j in range(start, stop):
            s = biased(pairs, j, i, d)
            w = at_least(s, level) if hard else exp2(s - best)
            if hard and weighed:
                w = w * mass(pairs, j, i)
            add(x, x, j, i, d, within(w, splat(x.dtype.type(0.0)), splat(x.dtype.type(j)), lo0, hi0), p, z)
        for j in range(frozen.shape[1]):
            s = logit(frozen, j, u, i, d)
            w = at_least(s, level) * splat(frozen[d, j]) if hard else exp2(s + splat(frozen[d, j]) - best)
            add(x, frozen, j, i, d, w, p, z)
