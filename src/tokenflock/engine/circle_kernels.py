"""The linear algebra of an implicit step on the circle: one number a token, so J is kept whole, row by row.

The same Jacobian as in implicit_kernels.py, whose words it shares; e_i is the tangent of token i.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiling import kernel, piece
from tokenflock.engine.implicit_kernels import LOG2E, attend, reflections
from tokenflock.engine.simd import absolute, fma, indices, load, splat, store, total, width, within


@piece
def tangents(x, n, v, e):
    """e (2, columns): the tangent of every token, in the frame of `reflections`."""
    reflections(x, n, v)
    for i in range(n):
        e[0, i] = -v[i, 0] * v[i, 1]
        e[1, i] = 1.0 - v[i, 1] * v[i, 1]
    for a in range(2):
        for i in range(n, e.shape[1]):
            e[a, i] = 0.0


@piece
def _moments(x, e, vx, i, first, last, row, fixed, frozen_v):
    """sum_j a_ij <e_i, V x_j - V x_i>, sum_{j != i} a_ij <x_i, V x_j> and sum_j a_ij |V x_j - V x_i|_1.

    Frozen tokens are among the j.
    """
    m = width(x)
    e0, e1, x0, x1 = splat(e[0, i]), splat(e[1, i]), splat(x[0, i]), splat(x[1, i])
    own0, own1, here, none = splat(vx[0, i]), splat(vx[1, i]), splat(float(i)), splat(0.0)
    pulls, sides, sizes = none, none, none
    for j in range(first // m * m, last, m):
        w, there0, there1, k = load(row, 0, j), load(vx, 0, j), load(vx, 1, j), indices(float(j))
        pulls = fma(w, fma(e0, there0 - own0, e1 * (there1 - own1)), pulls)
        sizes = fma(w, absolute(there0 - own0) + absolute(there1 - own1), sizes)
        # Lane i is left out rather than taken off: 1 - 1 would not leave what is far below rounding.
        away = within(none, w, here, k, k + splat(1.0))
        sides = fma(away, fma(x0, there0, x1 * there1), sides)
    pull, side, size = total(pulls), total(sides), total(sizes)
    for k in range(fixed.size):
        size += fixed[k] * (abs(frozen_v[0, k] - vx[0, i]) + abs(frozen_v[1, k] - vx[1, i]))
        pull += fixed[k] * (e[0, i] * (frozen_v[0, k] - vx[0, i]) + e[1, i] * (frozen_v[1, k] - vx[1, i]))
        side += fixed[k] * (x[0, i] * frozen_v[0, k] + x[1, i] * frozen_v[1, k])
    return pull, side, size


@piece
def _fill(e, vx, ve, u, r, i, first, last, row, pull, jacobian):
    """Row i of J += a_ij (<e_i, V e_j> + b_j <u_i, e_j>), b_j = <e_i, V x_j - V x_i> - pull.

    Returns sum_j a_ij b_j <e_i, r_j>.
    """
    m = width(e)
    e0, e1, own0, own1 = splat(e[0, i]), splat(e[1, i]), splat(vx[0, i]), splat(vx[1, i])
    u0, u1, f = splat(u[0, i] / LOG2E), splat(u[1, i] / LOG2E), splat(pull)
    sums = splat(0.0)
    for j in range(first // m * m, last, m):
        w = load(row, 0, j)
        left = w * (fma(e0, load(vx, 0, j) - own0, e1 * (load(vx, 1, j) - own1)) - f)
        turn = fma(u0, load(e, 0, j), u1 * load(e, 1, j))
        along = fma(e0, load(ve, 0, j), e1 * load(ve, 1, j))
        store(jacobian, i, j, load(jacobian, i, j) + fma(left, turn, w * along))
        sums = fma(left, fma(e0, load(r, 0, j), e1 * load(r, 1, j)), sums)
    return total(sums)


@kernel
def linearise(x, heads, rows, frozen, scalar, n, frame, jacobian, kept, line):
    """J below the diagonal, and its diagonal in the frame. heads and frame as in implicit_kernels.linearise."""
    values, vx, u, r, frozen_v = heads
    v, pulls, homes, diagonal, _, sizes = frame
    row, fixed, _ = line
    m = width(x)
    e, ve = np.zeros((2, x.shape[1])), np.zeros((values.shape[0], 2, x.shape[1]))
    tangents(x, n, v, e)
    for h in range(values.shape[0]):
        for i in range(n):
            for a in range(2):
                ve[h, a, i] = values[h, a, 0] * e[0, i] + values[h, a, 1] * e[1, i]
    for i in range(n):
        first, last = int(rows[0, i]), int(rows[1, i])
        for j in range(first // m * m, last, m):
            store(jacobian, i, j, splat(0.0))
        d = sizes[i] = 0.0
        for h in range(u.shape[0]):
            attend(x, u, h, i, first, last, frozen, row, fixed)
            pull, side, size = _moments(x, e, vx[h], i, first, last, row, fixed, frozen_v[h])
            d += _fill(e, vx[h], ve[h], u[h], r[h], i, first, last, row, pull, jacobian) - side
            for k in range(fixed.size):
                gap = e[0, i] * (frozen_v[h, 0, k] - vx[h, 0, i]) + e[1, i] * (frozen_v[h, 1, k] - vx[h, 1, i])
                d += fixed[k] * (gap - pull) * (e[0, i] * frozen_v[h, 2, k] + e[1, i] * frozen_v[h, 3, k])
            own = row[0, i]
            d -= own * pull * (u[h, 0, i] * e[0, i] + u[h, 1, i] * e[1, i]) / LOG2E
            pulls[h, i, 0], homes[h, i, 0] = pull, 0.0
            sizes[i] += size
            if not scalar:
                homes[h, i, 0] = e[0, i] * vx[h, 0, i] + e[1, i] * vx[h, 1, i]
                sizes[i] += abs(vx[h, 0, i]) + abs(vx[h, 1, i])
                inner = x[0, i] * vx[h, 0, i] + x[1, i] * vx[h, 1, i]
                d += own * (e[0, i] * ve[h, 0, i] + e[1, i] * ve[h, 1, i] - inner)
        diagonal[i, 0, 0] = d


@kernel
def solve(x, heads, rows, frozen, scalar, n, frame, jacobian, kept, line, c, fresh, b, w, flat, flat_v):
    """w = (c - J)^-1 b by forward substitution; b and w are (n, 1), flat scratch. The arguments of implicit_kernels."""
    m, diagonal = width(flat), frame[3]
    for j in range(flat.shape[1]):
        flat[0, j] = 0.0
    for i in range(n):
        s = splat(0.0)
        for j in range(int(rows[0, i]) // m * m, i, m):
            s = fma(load(jacobian, i, j), load(flat, 0, j), s)  # flat is still 0 from i on
        flat[0, i] = w[i, 0] = (b[i, 0] + total(s)) / (c - diagonal[i, 0, 0])
