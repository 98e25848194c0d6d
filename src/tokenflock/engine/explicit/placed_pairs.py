"""Sums over pairs where queries and keys are more than B and the tokens: positions (E14) and groups (E20).

As in pairs.py, with logits <u_i, w_j> of k numbers (w stands in per_token), and tokens that only some groups see. Where
groups have their own V, a sum goes over the tokens of one group at a time (call.group).
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline, pointed
from tokenflock.engine.compiled.lanes import (
    absolute,
    at_least,
    exp2,
    indices,
    larger,
    load,
    noinline,
    splat,
    store,
    width,
    within,
)
from tokenflock.engine.explicit.pairs import HARD_TIE, HARD_TIE_32, add, clear, cut, logit, mass
from tokenflock.engine.explicit.work import HI, LO, OF_GROUP, SEES


@inline
def _logit(pairs, j, i):
    """(E1) with its bias, and log2 of the mass where there are masses."""
    x = pairs.x
    distance = absolute(indices(x.dtype.type(i)) - splat(x.dtype.type(j)))
    s = logit(pairs.per_token, j, pairs.u, i, pairs.u.shape[0])
    s = s - splat(x.dtype.type(pairs.call.slope)) * distance
    if pairs.masses.shape[0] > 0:
        a = mass(pairs, j, i)
        least, most = splat(x.dtype.type(1e-37)), splat(x.dtype.type(np.inf))
        s = s + a if pairs.numbers.hard == 0 else within(s, -most, a, least, most)
    return s


@inline
def _last(pairs, j, i, hi):
    """Where the rows i stop to see, 0 for those whose group does not see the group of token j."""
    return hi * load(pairs.rows, SEES + int(pairs.rows[OF_GROUP, j]), i) if pairs.numbers.grouped else hi


@pointed
def placed(pairs, k):
    """The sums of the rows of part k. A row that sees nobody has z = 0."""
    noinline()
    x, rows, p, z = pairs.x, pairs.rows, pairs.p, pairs.z
    m, d, n = width(x), x.shape[0], pairs.numbers.n
    hard, weighed, group = pairs.numbers.hard != 0, pairs.masses.shape[0] > 0, pairs.call.group
    for i in range(cut(x, n, k + 1), cut(x, n, k), m):
        lo, hi = load(rows, LO, i), load(rows, HI, i)
        start, stop = int(rows[LO, i]), int(rows[HI, i + m - 1])
        best = splat(x.dtype.type(-np.inf))
        for j in range(start, stop):
            if group < 0 or int(rows[OF_GROUP, j]) == group:
                s = within(_logit(pairs, j, i), best, splat(x.dtype.type(j)), lo, _last(pairs, j, i, hi))
                best = larger(s, best)
        tie = splat(x.dtype.type(HARD_TIE if x.itemsize == 8 else HARD_TIE_32))
        level = best - tie * (splat(x.dtype.type(1.0)) + absolute(best))
        store(pairs.top, 0, i, best)
        clear(i, d, p, z)
        for j in range(start, stop):
            if group < 0 or int(rows[OF_GROUP, j]) == group:
                s = _logit(pairs, j, i)
                w = at_least(s, level) if hard else exp2(s - best)
                if hard and weighed:
                    w = w * mass(pairs, j, i)
                w = within(w, splat(x.dtype.type(0.0)), splat(x.dtype.type(j)), lo, _last(pairs, j, i, hi))
                add(x, x, j, i, d, w, p, z)
