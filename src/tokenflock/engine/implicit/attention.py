"""The attention of single tokens, row by row, and the products of the heads with the tokens that it is made of."""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline
from tokenflock.engine.compiled.lanes import exp2, fma, indices, larger, load, peak, splat, store, total, width, within

LOG2E = 1.4426950408889634


@inline
def multiply(x, heads):
    """V x, beta B' x in units of log 2 and beta B x of every head."""
    values, queries, keys = heads.values, heads.queries, heads.keys
    d = x.shape[0]
    for h in range(values.shape[0]):
        for a in range(d):
            for i in range(x.shape[1]):
                values[h, a, i] = queries[h, a, i] = keys[h, a, i] = 0.0
            for b in range(d):
                for i in range(x.shape[1]):
                    values[h, a, i] += heads.value[h, a, b] * x[b, i]
                    queries[h, a, i] += LOG2E * heads.form[h, b, a] * x[b, i]
                    keys[h, a, i] += heads.form[h, a, b] * x[b, i]


@inline
def attend(x, frozen, queries, row):
    """Attention of a token in one head over the tokens that it sees and the frozen ones, into its row.

    queries are in units of log 2, as are the weights in the last line of `frozen`.
    """
    i, first, last, weights, fixed = row
    m, d = width(x), x.shape[0]
    start = first // m * m
    lo, hi = splat(float(first)), splat(float(last))
    low = splat(-np.inf)
    best = low
    for j in range(start, last, m):
        s = splat(queries[0, i]) * load(x, 0, j)
        for a in range(1, d):
            s = fma(splat(queries[a, i]), load(x, a, j), s)
        store(weights, 0, j, s)
        best = larger(best, within(s, low, indices(float(j)), lo, hi))
    top = peak(best)
    for k in range(frozen.shape[1]):
        s = frozen[d, k]
        for a in range(d):
            s += queries[a, i] * frozen[a, k]
        fixed[k] = s
        top = max(top, s)
    mass = splat(0.0)
    for j in range(start, last, m):
        w = exp2(load(weights, 0, j) - splat(top))
        w = within(w, splat(0.0), indices(float(j)), lo, hi)
        store(weights, 0, j, w)
        mass = mass + w
    z = total(mass)
    for k in range(frozen.shape[1]):
        fixed[k] = 2.0 ** (fixed[k] - top)
        z += fixed[k]
    scale = splat(1.0 / z)
    for j in range(start, last, m):
        store(weights, 0, j, load(weights, 0, j) * scale)
    for k in range(frozen.shape[1]):
        fixed[k] /= z
