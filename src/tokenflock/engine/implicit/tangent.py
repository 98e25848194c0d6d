"""Tangent planes of the sphere: a vector of R^d at token i, and its d - 1 coordinates in the plane.

E_i is the Householder reflection I - v_i v_i' that takes x_i to +- the first axis, without its first column.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline


@inline
def reflect(x, n, v):
    """v[i]: H = I - v v' takes x_i to an axis; |v|^2 = 2."""
    d = x.shape[0]
    for i in range(n):
        sign = 1.0 if x[0, i] >= 0.0 else -1.0
        length = np.sqrt(1.0 + sign * x[0, i])  # |x + sign e_1|^2 = 2 (1 + sign x_1)
        for a in range(d):
            v[i, a] = (x[a, i] + (sign if a == 0 else 0.0)) / length


@inline
def down(v, i, y, out):
    """out = E_i' y, (d) -> (d - 1)."""
    d = v.shape[1]
    along = 0.0
    for a in range(d):
        along += v[i, a] * y[a]
    for a in range(1, d):
        out[a - 1] = y[a] - along * v[i, a]


@inline
def up(v, i, w, out):
    """out = E_i w, (d - 1) -> (d)."""
    d = v.shape[1]
    along = 0.0
    for a in range(1, d):
        along += v[i, a] * w[a - 1]
    out[0] = -along * v[i, 0]
    for a in range(1, d):
        out[a] = w[a - 1] - along * v[i, a]
