"""Sums over pairs for rescaled space (E8): logits as differences to the leader m of each row, its largest logit.

w_ij = 2^<u_i, x_j - x_m>, with the difference of tokens taken first: at late times the logits themselves are so large
that their rounding would pick the leader. What rounding put above the leader is level with it, as in model.drops.
Results are those of pairs.py; `per_token` holds x_m and log2 of its mass for every row, (d + 1, columns).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tokenflock.engine.compiled.declare import inline, pointed
from tokenflock.engine.compiled.lanes import (
    absolute,
    exp2,
    fma,
    indices,
    larger,
    load,
    noinline,
    peak,
    splat,
    store,
    width,
    within,
)
from tokenflock.engine.explicit.pairs import add, biased, clear, cut, interval, logit, mass, mass_of
from tokenflock.engine.explicit.registers import COORDINATES
from tokenflock.engine.explicit.work import HI, LO

SHARPEN, SHARPEN_32 = 1e9, 1e3  # logits from which their rounding is too large to choose a leader by


@inline
def _logit_of(pairs, j, i, d, bias):
    """(E1). bias: an empty tuple for none."""
    if len(bias) > 0:
        return biased(pairs, j, i, d)
    return logit(pairs.x, j, pairs.u, i, d)


@inline
def _sharpen(pairs, i, d, bias, leader):
    """Meet every token once more, and take the better one by the difference of the two."""
    x, u, lead = pairs.x, pairs.u, pairs.per_token
    start, _, _, stop = interval(pairs.rows, i, width(x))
    lo, hi, none = load(pairs.rows, LO, i), load(pairs.rows, HI, i), splat(x.dtype.type(0.0))
    for j in range(start, stop):
        here = splat(x.dtype.type(j))
        s = none
        for a in range(d):
            s = fma(load(u, a, i), splat(x[a, j]) - load(lead, a, i), s)
        if len(bias) > 0:
            row = indices(x.dtype.type(i))
            s = s - splat(x.dtype.type(pairs.call.slope)) * (absolute(row - here) - absolute(row - leader))
            if pairs.masses.shape[0] > 0:
                s = s + mass(pairs, j, i) - load(lead, d, i)
        s = within(s, none, here, lo, hi)
        if peak(s) > 0.0:
            leader = within(here, leader, none, none, s)  # where 0 < s
            for a in range(d):
                store(lead, a, i, within(splat(x[a, j]), load(lead, a, i), none, none, s))
            if pairs.masses.shape[0] > 0:
                store(lead, d, i, within(mass(pairs, j, i), load(lead, d, i), none, none, s))
    return leader


@inline
def _lead(pairs, i, d, bias):
    """per_token[:, i ..] = x_m for the rows of one register, and top their largest logits; returns m."""
    x, u, rows, top, lead = pairs.x, pairs.u, pairs.rows, pairs.top, pairs.per_token
    m = width(x)
    start, all_from, all_to, stop = interval(rows, i, m)
    lo, hi = load(rows, LO, i), load(rows, HI, i)
    none, most = splat(x.dtype.type(-np.inf)), splat(x.dtype.type(np.inf))
    best, leader = none, lo
    for j in range(start, all_from):
        s = within(_logit_of(pairs, j, i, d, bias), none, splat(x.dtype.type(j)), lo, hi)
        leader, best = within(splat(x.dtype.type(j)), leader, s, best, most), larger(s, best)
    for j in range(all_from, all_to):
        s = _logit_of(pairs, j, i, d, bias)
        leader, best = within(splat(x.dtype.type(j)), leader, s, best, most), larger(s, best)
    for j in range(all_to, stop):
        s = within(_logit_of(pairs, j, i, d, bias), none, splat(x.dtype.type(j)), lo, hi)
        leader, best = within(splat(x.dtype.type(j)), leader, s, best, most), larger(s, best)
    store(top, 0, i, leader)  # from where the numbers of the leaders are read one by one
    size = best - best
    for a in range(d):
        for k in range(i, i + m):
            lead[a, k] = x[a, int(top[0, k])]
        size = size + absolute(load(u, a, i) * load(lead, a, i))
    if pairs.masses.shape[0] > 0:
        for k in range(i, i + m):
            lead[d, k] = mass_of(pairs, int(top[0, k]), k)
    if peak(size) > (SHARPEN if x.itemsize == 8 else SHARPEN_32):
        leader = _sharpen(pairs, i, d, bias, leader)
    store(top, 0, i, best)
    return leader


def _by_leader(d: int) -> Any:
    """The rows of a part without bias, d coordinates in registers."""
    take, gaps_to, dot, none, pull, keep = COORDINATES[d]

    @inline
    def weight(query, gaps, nothing):
        """A gap to the leader that rounding put above it counts as 0."""
        return exp2(-larger(-dot(query, gaps), nothing))

    @inline
    def rows_of(pairs, k):
        x, rows, n = pairs.x, pairs.rows, pairs.numbers.n
        m, nothing = width(x), splat(x.dtype.type(0.0))
        for i in range(cut(x, n, k + 1), cut(x, n, k), m):
            _lead(pairs, i, d, ())
            leader, query, at = take(pairs.per_token, i), take(pairs.u, i), take(x, i)
            lo, hi = load(rows, LO, i), load(rows, HI, i)
            sums = none(at)
            start, all_from, all_to, stop = interval(rows, i, m)
            for first, end in ((start, all_from), (all_to, stop)):
                for j in range(first, end):
                    w = within(weight(query, gaps_to(x, j, leader), nothing), nothing, splat(x.dtype.type(j)), lo, hi)
                    sums = pull(sums, w, gaps_to(x, j, at))
            for j in range(all_from, all_to):
                sums = pull(sums, weight(query, gaps_to(x, j, leader), nothing), gaps_to(x, j, at))
            keep(sums, pairs, i)

    return rows_of


_by_leader1, _by_leader2, _by_leader3, _by_leader4, _by_leader5 = (_by_leader(d) for d in range(1, 6))
_by_leader6, _by_leader7, _by_leader8, _by_leader9, _by_leader10 = (_by_leader(d) for d in range(6, 11))
_by_leader11, _by_leader12, _by_leader13, _by_leader14, _by_leader15 = (_by_leader(d) for d in range(11, 16))


@pointed
def leader1(pairs, k):
    """d = 1, no bias."""
    noinline()
    _by_leader1(pairs, k)


@pointed
def leader2(pairs, k):
    """d = 2, no bias."""
    noinline()
    _by_leader2(pairs, k)


@pointed
def leader3(pairs, k):
    """d = 3, no bias."""
    noinline()
    _by_leader3(pairs, k)


@pointed
def leader4(pairs, k):
    """d = 4, no bias."""
    noinline()
    _by_leader4(pairs, k)


@pointed
def leader5(pairs, k):
    """d = 5, no bias."""
    noinline()
    _by_leader5(pairs, k)


@pointed
def leader6(pairs, k):
    """d = 6, no bias."""
    noinline()
    _by_leader6(pairs, k)


@pointed
def leader7(pairs, k):
    """d = 7, no bias."""
    noinline()
    _by_leader7(pairs, k)


@pointed
def leader8(pairs, k):
    """d = 8, no bias."""
    noinline()
    _by_leader8(pairs, k)


@pointed
def leader9(pairs, k):
    """d = 9, no bias."""
    noinline()
    _by_leader9(pairs, k)


@pointed
def leader10(pairs, k):
    """d = 10, no bias."""
    noinline()
    _by_leader10(pairs, k)


@pointed
def leader11(pairs, k):
    """d = 11, no bias."""
    noinline()
    _by_leader11(pairs, k)


@pointed
def leader12(pairs, k):
    """d = 12, no bias."""
    noinline()
    _by_leader12(pairs, k)


@pointed
def leader13(pairs, k):
    """d = 13, no bias."""
    noinline()
    _by_leader13(pairs, k)


@pointed
def leader14(pairs, k):
    """d = 14, no bias."""
    noinline()
    _by_leader14(pairs, k)


@pointed
def leader15(pairs, k):
    """d = 15, no bias."""
    noinline()
    _by_leader15(pairs, k)


@inline
def _weight(pairs, j, i, d, far, bias):
    """w_ij for the rows of one register; far: |i - m|, for the bias. Masses count in the choice of the leader too."""
    x, u, lead = pairs.x, pairs.u, pairs.per_token
    s = load(u, 0, i) * (load(lead, 0, i) - splat(x[0, j]))
    for a in range(1, d):
        s = fma(load(u, a, i), load(lead, a, i) - splat(x[a, j]), s)
    if len(bias) > 0:
        more = absolute(indices(x.dtype.type(i)) - splat(x.dtype.type(j))) - far
        s = fma(splat(x.dtype.type(pairs.call.slope)), more, s)
        if pairs.masses.shape[0] > 0:
            s = s + load(lead, d, i) - mass(pairs, j, i)
    return exp2(-larger(s, splat(x.dtype.type(0.0))))


@inline
def _leader(pairs, k, bias):
    """The rows of a part for any d, two registers at a time."""
    x, rows, p, z, n = pairs.x, pairs.rows, pairs.p, pairs.z, pairs.numbers.n
    m, d = width(x), x.shape[0]
    none = splat(x.dtype.type(0.0))
    for i in range(cut(x, n, k + 1), cut(x, n, k), 2 * m):
        h = i + m
        leader0 = _lead(pairs, i, d, bias)
        leader1 = _lead(pairs, h, d, bias)
        clear(i, d, p, z)
        clear(h, d, p, z)
        far0, far1 = absolute(indices(x.dtype.type(i)) - leader0), absolute(indices(x.dtype.type(h)) - leader1)
        lo0, hi0, lo1, hi1 = load(rows, LO, i), load(rows, HI, i), load(rows, LO, h), load(rows, HI, h)
        start, all_from, all_to, stop = interval(rows, i, 2 * m)
        for begin, end in ((start, all_from), (all_to, stop)):
            for j in range(begin, end):
                here = splat(x.dtype.type(j))
                add(x, x, j, i, d, within(_weight(pairs, j, i, d, far0, bias), none, here, lo0, hi0), p, z)
                add(x, x, j, h, d, within(_weight(pairs, j, h, d, far1, bias), none, here, lo1, hi1), p, z)
        for j in range(all_from, all_to):
            add(x, x, j, i, d, _weight(pairs, j, i, d, far0, bias), p, z)
            add(x, x, j, h, d, _weight(pairs, j, h, d, far1, bias), p, z)


@pointed
def leader_biased(pairs, k):
    """Any d, with ALiBi or masses."""
    noinline()
    _leader(pairs, k, (0,))
