"""Sums over pairs for rescaled space (E8): logits as differences to the leader m of each row, its largest logit.

w_ij = 2^<u_i, x_j - x_m>, with the difference of tokens taken first: at late times the logits themselves are so large
that their rounding would pick the leader. What rounding put above the leader is level with it, as in model.drops.
Arguments and results are those of pair_kernels.py; share[0] holds the leader of every row, (d, columns).
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiling import piece, target
from tokenflock.engine.pair_kernels import HI, LO, _add, _clear, _cut, _general, _interval, _logit
from tokenflock.engine.simd import absolute, apart, exp2, fma, indices, larger, load, peak, splat, store, width, within

SHARPEN, SHARPEN_32 = 1e9, 1e3  # logits from which their rounding is too large to choose a leader by
SMALL, SMALL_32 = 1e4, 1e2  # logits that may be subtracted, which is quicker: their rounding does not show


@piece
def _logit_of(x, j, u, i, d, slope, biased):
    """(E1); biased: an empty tuple for no bias."""
    s = _logit(x, j, u, i, d)
    if len(biased) > 0:
        s = s - splat(x.dtype.type(slope)) * absolute(indices(x.dtype.type(i)) - splat(x.dtype.type(j)))
    return s


@piece
def _sharpen(x, u, i, d, slope, biased, start, stop, lo, hi, leader, lead):
    """Meet every token once more, and take the better one by the difference of the two."""
    none = splat(x.dtype.type(0.0))
    for j in range(start, stop):
        here = splat(x.dtype.type(j))
        s = none
        for a in range(d):
            s = fma(load(u, a, i), splat(x[a, j]) - load(lead, a, i), s)
        if len(biased) > 0:
            row = indices(x.dtype.type(i))
            s = s - splat(x.dtype.type(slope)) * (absolute(row - here) - absolute(row - leader))
        s = within(s, none, here, lo, hi)
        if peak(s) > 0.0:
            leader = within(here, leader, none, none, s)  # where 0 < s
            for a in range(d):
                store(lead, a, i, within(splat(x[a, j]), load(lead, a, i), none, none, s))
    return leader


@piece
def _lead(x, u, rows, i, d, slope, biased, top, lead):
    """lead[:, i ..] = x_m for the rows of one register, and top[0, i ..] = m."""
    m = width(x)
    start, all_from, all_to, stop = _interval(rows, i, m)
    lo, hi = load(rows, LO, i), load(rows, HI, i)
    none, most = splat(x.dtype.type(-np.inf)), splat(x.dtype.type(np.inf))
    best, leader = none, lo
    for j in range(start, all_from):
        s = within(_logit_of(x, j, u, i, d, slope, biased), none, splat(x.dtype.type(j)), lo, hi)
        leader, best = within(splat(x.dtype.type(j)), leader, s, best, most), larger(s, best)
    for j in range(all_from, all_to):
        s = _logit_of(x, j, u, i, d, slope, biased)
        leader, best = within(splat(x.dtype.type(j)), leader, s, best, most), larger(s, best)
    for j in range(all_to, stop):
        s = within(_logit_of(x, j, u, i, d, slope, biased), none, splat(x.dtype.type(j)), lo, hi)
        leader, best = within(splat(x.dtype.type(j)), leader, s, best, most), larger(s, best)
    store(top, 0, i, leader)
    size = best - best
    for a in range(d):
        for k in range(i, i + m):
            lead[a, k] = x[a, int(top[0, k])]
        size = size + absolute(load(u, a, i) * load(lead, a, i))
    if peak(size) > (SHARPEN if x.itemsize == 8 else SHARPEN_32):
        leader = _sharpen(x, u, i, d, slope, biased, start, stop, lo, hi, leader, lead)
    return leader, best


@piece
def _weight2(x, j, a, b, v, w, none):
    return exp2(-larger(fma(v, a - splat(x[0, j]), w * (b - splat(x[1, j]))), none))


@target
def leader2(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile):
    """d = 2, no bias."""
    apart()
    m, lead = width(x), share[0]
    none = splat(x.dtype.type(0.0))
    for i in range(_cut(x, last, k), _cut(x, last, k + 1), m):
        best = _lead(x, u, rows, i, 2, slope, (), top, lead)[1]
        store(top, 0, i, best)
        a, b, v, w = load(lead, 0, i), load(lead, 1, i), load(u, 0, i), load(u, 1, i)
        x0, y0 = load(x, 0, i), load(x, 1, i)
        lo, hi = load(rows, LO, i), load(rows, HI, i)
        z0 = p0 = q0 = none
        start, all_from, all_to, stop = _interval(rows, i, m)
        for first, end in ((start, all_from), (all_to, stop)):
            for j in range(first, end):
                e = _weight2(x, j, a, b, v, w, none)
                e = within(e, none, splat(x.dtype.type(j)), lo, hi)
                z0, p0, q0 = z0 + e, fma(e, splat(x[0, j]) - x0, p0), fma(e, splat(x[1, j]) - y0, q0)
        for j in range(all_from, all_to):
            e = _weight2(x, j, a, b, v, w, none)
            z0, p0, q0 = z0 + e, fma(e, splat(x[0, j]) - x0, p0), fma(e, splat(x[1, j]) - y0, q0)
        store(z, 0, i, z0)
        store(p, 0, i, p0)
        store(p, 1, i, q0)


@piece
def _weight3(x, j, a, b, c, f, g, h, none):
    dx, dy, dz = a - splat(x[0, j]), b - splat(x[1, j]), c - splat(x[2, j])
    return exp2(-larger(fma(f, dx, fma(g, dy, h * dz)), none))


@piece
def _add3(x, j, x0, y0, w0, e, z, p, q, r):
    dx, dy, dz = splat(x[0, j]) - x0, splat(x[1, j]) - y0, splat(x[2, j]) - w0
    return z + e, fma(e, dx, p), fma(e, dy, q), fma(e, dz, r)


@target
def leader3(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile):
    """d = 3, no bias."""
    apart()
    m, lead = width(x), share[0]
    none = splat(x.dtype.type(0.0))
    for i in range(_cut(x, last, k), _cut(x, last, k + 1), m):
        best = _lead(x, u, rows, i, 3, slope, (), top, lead)[1]
        store(top, 0, i, best)
        a, b, c = load(lead, 0, i), load(lead, 1, i), load(lead, 2, i)
        f, g, h = load(u, 0, i), load(u, 1, i), load(u, 2, i)
        x0, y0, w0 = load(x, 0, i), load(x, 1, i), load(x, 2, i)
        lo, hi = load(rows, LO, i), load(rows, HI, i)
        z0 = p0 = q0 = r0 = none
        start, all_from, all_to, stop = _interval(rows, i, m)
        for first, end in ((start, all_from), (all_to, stop)):
            for j in range(first, end):
                e = _weight3(x, j, a, b, c, f, g, h, none)
                e = within(e, none, splat(x.dtype.type(j)), lo, hi)
                z0, p0, q0, r0 = _add3(x, j, x0, y0, w0, e, z0, p0, q0, r0)
        for j in range(all_from, all_to):
            e = _weight3(x, j, a, b, c, f, g, h, none)
            z0, p0, q0, r0 = _add3(x, j, x0, y0, w0, e, z0, p0, q0, r0)
        store(z, 0, i, z0)
        store(p, 0, i, p0)
        store(p, 1, i, q0)
        store(p, 2, i, r0)


@target
def leader1(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile):
    """d = 1, no bias."""
    apart()
    m, lead = width(x), share[0]
    none = splat(x.dtype.type(0.0))
    for i in range(_cut(x, last, k), _cut(x, last, k + 1), m):
        best = _lead(x, u, rows, i, 1, slope, (), top, lead)[1]
        store(top, 0, i, best)
        a, v, lo, hi = load(lead, 0, i), load(u, 0, i), load(rows, LO, i), load(rows, HI, i)
        own = load(x, 0, i)
        z0 = p0 = none
        start, all_from, all_to, stop = _interval(rows, i, m)
        for first, end in ((start, all_from), (all_to, stop)):
            for j in range(first, end):
                y = splat(x[0, j])
                e = within(exp2(-larger(v * (a - y), none)), none, splat(x.dtype.type(j)), lo, hi)
                z0, p0 = z0 + e, fma(e, y - own, p0)
        for j in range(all_from, all_to):
            y = splat(x[0, j])
            e = exp2(-larger(v * (a - y), none))
            z0, p0 = z0 + e, fma(e, y - own, p0)
        store(z, 0, i, z0)
        store(p, 0, i, p0)


@piece
def _weight(x, j, u, i, d, lead, slope, far, biased):
    """w_ij for the rows of one register; far: |i - m|, for the bias."""
    s = load(u, 0, i) * (load(lead, 0, i) - splat(x[0, j]))
    for a in range(1, d):
        s = fma(load(u, a, i), load(lead, a, i) - splat(x[a, j]), s)
    if len(biased) > 0:
        more = absolute(indices(x.dtype.type(i)) - splat(x.dtype.type(j))) - far
        s = fma(splat(x.dtype.type(slope)), more, s)
    return exp2(-larger(s, splat(x.dtype.type(0.0))))


@piece
def _leader(x, u, rows, slope, first, last, p, z, top, lead, biased):
    m, d = width(x), x.shape[0]
    none = splat(x.dtype.type(0.0))
    for i in range(first, last, 2 * m):
        k = i + m
        leader0, best0 = _lead(x, u, rows, i, d, slope, biased, top, lead)
        leader1, best1 = _lead(x, u, rows, k, d, slope, biased, top, lead)
        store(top, 0, i, best0)
        store(top, 0, k, best1)
        _clear(i, d, p, z)
        _clear(k, d, p, z)
        far0, far1 = absolute(indices(x.dtype.type(i)) - leader0), absolute(indices(x.dtype.type(k)) - leader1)
        lo0, hi0, lo1, hi1 = load(rows, LO, i), load(rows, HI, i), load(rows, LO, k), load(rows, HI, k)
        start, all_from, all_to, stop = _interval(rows, i, 2 * m)
        for begin, end in ((start, all_from), (all_to, stop)):
            for j in range(begin, end):
                here = splat(x.dtype.type(j))
                e0 = within(_weight(x, j, u, i, d, lead, slope, far0, biased), none, here, lo0, hi0)
                e1 = within(_weight(x, j, u, k, d, lead, slope, far1, biased), none, here, lo1, hi1)
                _add(x, x, j, i, d, e0, p, z)
                _add(x, x, j, k, d, e1, p, z)
        for j in range(all_from, all_to):
            e0 = _weight(x, j, u, i, d, lead, slope, far0, biased)
            e1 = _weight(x, j, u, k, d, lead, slope, far1, biased)
            _add(x, x, j, i, d, e0, p, z)
            _add(x, x, j, k, d, e1, p, z)


@piece
def _reach(x, u):
    """A bound of all logits."""
    bound = 0.0
    for a in range(x.shape[0]):
        far = most = splat(x.dtype.type(0.0))
        for i in range(0, x.shape[1], width(x)):
            far, most = larger(absolute(load(x, a, i)), far), larger(absolute(load(u, a, i)), most)
        bound += np.float64(peak(far)) * np.float64(peak(most))
    return bound


@target
def leader(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile):
    """Any d, no bias."""
    apart()
    if _reach(x, u) < (SMALL if x.itemsize == 8 else SMALL_32):
        _general(x, u, rows, frozen, _cut(x, last, k), _cut(x, last, k + 1), p, z, top, ())
        return
    _leader(x, u, rows, slope, _cut(x, last, k), _cut(x, last, k + 1), p, z, top, share[0], ())


@target
def leader_biased(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile):
    """Any d, with ALiBi."""
    apart()
    _leader(x, u, rows, slope, _cut(x, last, k), _cut(x, last, k + 1), p, z, top, share[0], (0,))
