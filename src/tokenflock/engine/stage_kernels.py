"""The stages of an implicit step on the sphere: tangent vectors become tokens, and velocities tangent vectors again.

A step is taken in the tangent planes of the tokens at its start: x + E w, put back on the sphere.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiling import kernel, piece
from tokenflock.engine.implicit_kernels import down, up

# A velocity below this times the sum of the pulls that make it up is rounding, and counts as 0: else tokens that are
# held in balance would drift at 1e-17, which is far at t = 1e20.
ROUNDING = 8 * 2.220446049250313e-16


@kernel
def place(x, v, n, shift, y):
    """y = the tokens x moved by the tangent vectors `shift` (n, d - 1): (x + E w) / |x + E w|."""
    d = x.shape[0]
    step = np.empty(d)
    for i in range(n):
        up(v, i, shift[i], step)
        square = 0.0
        for a in range(d):
            step[a] += x[a, i]
            square += step[a] * step[a]
        scale = 1.0 / np.sqrt(square)
        for a in range(d):
            y[a, i] = step[a] * scale
    for a in range(d):
        for i in range(n, x.shape[1]):
            y[a, i] = y[a, 0]


@kernel
def slope(x, v, n, shift, f, out):
    """out = the velocity f at place(x, shift), as that of the tangent vectors.

    With s = |x + E w| it is E' s (f - <f, x> (x + E w)).
    """
    d = x.shape[0]
    step, turned = np.empty(d), np.empty(d)
    for i in range(n):
        up(v, i, shift[i], step)
        square, along = 1.0, 0.0
        for a in range(d):
            square += step[a] * step[a]
            along += f[a, i] * x[a, i]
        scale = np.sqrt(square)
        for a in range(d):
            turned[a] = scale * (f[a, i] - along * (x[a, i] + step[a]))
        down(v, i, turned, out[i])


@piece
def mixture(weights, stages, used, scale, out):
    """out += scale sum_j weights[j] stages[j]."""
    for j in range(used):
        w = scale * weights[j]
        if w != 0.0:
            for i in range(out.shape[0]):
                for a in range(out.shape[1]):
                    out[i, a] += w * stages[j, i, a]


@kernel
def right_side(velocity, sums, part, terms, work, x, frame, n, table, h, k, stages, shift, y, f, out):
    """What stage k is solved for: f at its place, plus the c-weighted stages before it. table is (a, c)."""
    a, c = table
    v, sizes = frame[0], frame[5]
    for i in range(n):
        for p in range(shift.shape[1]):
            shift[i, p] = 0.0
    mixture(a[k], stages, k, 1.0, shift)
    place(x, v, n, shift, y)
    velocity(sums, part, terms, work, y, 0.0, 0, f)
    slope(x, v, n, shift, f, out)
    for i in range(n):
        size = 0.0
        for p in range(out.shape[1]):
            size += abs(out[i, p])
        if size <= ROUNDING * sizes[i]:
            for p in range(out.shape[1]):
                out[i, p] = 0.0
    mixture(c[k], stages, k, 1.0 / h, out)


@kernel
def largest(w):
    """The length of the longest row; inf if one is not finite."""
    most = 0.0
    for i in range(w.shape[0]):
        square = 0.0
        for a in range(w.shape[1]):
            square += w[i, a] * w[i, a]
        if not np.isfinite(square):
            return np.inf
        most = max(most, square)
    return np.sqrt(most)
