"""The attention of single tokens, row by row, and the products of the heads with the tokens that it is made of."""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline
from tokenflock.engine.compiled.lanes import exp2, fma, indices, larger, load, peak, splat, store, total, width, within
from tokenflock.engine.explicit.work import COUNTS

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
def attend(tokens, queries, row):
    """Attention of a token in one head over the tokens that it sees and the frozen ones, into its row.

    Returns the mass of the row: 1 for a softmax (E2), any number for weights by count (E3). queries are in units of
    log 2, as are the masses, the shift, and the weights in the last line of `frozen`.
    """
    x, frozen, masses = tokens.x, tokens.frozen, tokens.masses
    i, first, last, weights, fixed = row
    own = min(i, masses.shape[0] - 1)  # one line of masses is for all rows
    m, d = width(x), x.shape[0]
    start = first // m * m
    lo, hi = splat(float(first)), splat(float(last))
    low = splat(-np.inf)
    best = low
    for j in range(start, last, m):
        s = splat(queries[0, i]) * load(x, 0, j)
        for a in range(1, d):
            s = fma(splat(queries[a, i]), load(x, a, j), s)
        s = s + load(masses, own, j)
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
    factor = 2.0 ** (top - tokens.shift) / tokens.rows[COUNTS, i] if tokens.by_count else 1.0 / z
    scale = splat(factor)
    for j in range(start, last, m):
        store(weights, 0, j, load(weights, 0, j) * scale)
    for k in range(frozen.shape[1]):
        fixed[k] *= factor
    return z * factor if tokens.by_count else 1.0


@inline
def place(drive, center, by_count, mass):
    """The drive f_i and the center c_i of a token in one head, in the places of its pull f_i - m E_i' V x_i and of
    E_i' V x_i; m is the mass of its row.

    J multiplies the change of a weight by E_i' V x_j less what the row loses elsewhere. A softmax, whose rows sum to 1,
    loses the mean f_i; weights by count lose nothing, each changes with its own logit alone. J takes
    E_i' (V x_j - V x_i) + c_i for it.
    """
    for a in range(drive.size):
        pull, own = drive[a], center[a]
        drive[a] = pull + mass * own
        center[a] = own if by_count else -pull
