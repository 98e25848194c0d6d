"""The linear algebra of an implicit step on the circle: one number a token, so J is kept whole, row by row.

The Jacobian is that of jacobian.py; e_i is the tangent of token i. J stands in the place of the attention.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline, kernel
from tokenflock.engine.compiled.lanes import absolute, fma, load, splat, store, total, width
from tokenflock.engine.implicit.attention import LOG2E, attend, multiply, place
from tokenflock.engine.implicit.system import HeadArrays, Row
from tokenflock.engine.implicit.tangent import reflect


@inline
def _tangents(x, n, v, e):
    """e (2, columns): the tangent of every token, in the plane of its reflection v."""
    reflect(x, n, v)
    for i in range(n):
        e[0, i] = -v[i, 0] * v[i, 1]
        e[1, i] = 1.0 - v[i, 1] * v[i, 1]
    for a in range(2):
        for i in range(n, e.shape[1]):
            e[a, i] = 0.0


@inline
def _moments(x, e, head, row):
    """sum_j a_ij <e_i, V x_j - V x_i>, sum_{j != i} a_ij <x_i, V x_j> and sum_j a_ij |V x_j - V x_i|_1.

    Frozen tokens are among the j.
    """
    vx, frozen = head.values, head.frozen
    i, first, last, weights, fixed = row
    m = width(x)
    e0, e1, x0, x1 = splat(e[0, i]), splat(e[1, i]), splat(x[0, i]), splat(x[1, i])
    own0, own1, none, kept = splat(vx[0, i]), splat(vx[1, i]), splat(0.0), weights[0, i]
    pulls, sides, sizes = none, none, none
    weights[0, i] = 0.0  # token i is left out rather than taken off: 1 - 1 would not leave what is far below rounding
    for j in range(first // m * m, last, m):
        w, there0, there1 = load(weights, 0, j), load(vx, 0, j), load(vx, 1, j)
        pulls = fma(w, fma(e0, there0 - own0, e1 * (there1 - own1)), pulls)
        sizes = fma(w, absolute(there0 - own0) + absolute(there1 - own1), sizes)
        sides = fma(w, fma(x0, there0, x1 * there1), sides)
    weights[0, i] = kept
    pull, side, size = total(pulls), total(sides), total(sizes)
    for k in range(fixed.size):
        size += fixed[k] * (abs(frozen[0, k] - vx[0, i]) + abs(frozen[1, k] - vx[1, i]))
        pull += fixed[k] * (e[0, i] * (frozen[0, k] - vx[0, i]) + e[1, i] * (frozen[1, k] - vx[1, i]))
        side += fixed[k] * (x[0, i] * frozen[0, k] + x[1, i] * frozen[1, k])
    return pull, side, size


@inline
def _fill(e, ve, head, row, center, jacobian, add):
    """Row i of J = or, if `add`, += a_ij (<e_i, V e_j> + b_j <u_i, e_j>), b_j = <e_i, V x_j - V x_i> + center.

    Returns sum_j a_ij b_j <e_i, r_j>.
    """
    vx, u, r = head.values, head.queries, head.keys
    i, first, last, weights, _ = row
    m = width(e)
    e0, e1, own0, own1 = splat(e[0, i]), splat(e[1, i]), splat(vx[0, i]), splat(vx[1, i])
    u0, u1, c = splat(u[0, i] / LOG2E), splat(u[1, i] / LOG2E), splat(center)
    sums = splat(0.0)
    for j in range(first // m * m, last, m):
        w = load(weights, 0, j)
        left = w * (fma(e0, load(vx, 0, j) - own0, e1 * (load(vx, 1, j) - own1)) + c)
        turn = fma(u0, load(e, 0, j), u1 * load(e, 1, j))
        along = fma(e0, load(ve, 0, j), e1 * load(ve, 1, j))
        entry = fma(left, turn, w * along)
        store(jacobian, i, j, load(jacobian, i, j) + entry if add else entry)
        sums = fma(left, fma(e0, load(r, 0, j), e1 * load(r, 1, j)), sums)
    return total(sums)


@inline
def _form(matrix, y, x, i):
    """<y_i, M x_i>."""
    s = 0.0
    for a in range(2):
        for b in range(2):
            s += y[a, i] * matrix[a, b] * x[b, i]
    return s


@kernel(allocates=True)
def linearise(system):
    """J below the diagonal in the place of the attention, and its diagonal; see jacobian.linearise."""
    tokens, heads, tangent, jacobian = system.tokens, system.heads, system.tangent, system.attention.matrix
    x, n, value = tokens.x, tokens.n, heads.value
    e, ve = np.zeros((2, x.shape[1])), np.zeros((value.shape[0], 2, x.shape[1]))
    multiply(x, heads)
    _tangents(x, n, tangent.reflections, e)
    for h in range(value.shape[0]):
        for i in range(n):
            for a in range(2):
                ve[h, a, i] = value[h, a, 0] * e[0, i] + value[h, a, 1] * e[1, i]
    for i in range(n):
        attention = system.attention
        row = Row(i, int(tokens.rows[0, i]), int(tokens.rows[1, i]), attention.row, attention.frozen)
        d = tangent.sizes[i] = 0.0
        for h in range(value.shape[0]):
            head = HeadArrays(heads.less[h], heads.values[h], heads.queries[h], heads.keys[h], heads.frozen[h])
            vx, u, fixed = head.values, head.queries, row.frozen
            mass = attend(tokens, u, row)
            pull, side, size = _moments(x, e, head, row)
            tangent.drives[h, i, 0], tangent.centers[h, i, 0] = pull, 0.0
            if not heads.scalar_value:
                tangent.centers[h, i, 0] = _form(head.less, e, x, i)
            place(tangent.drives[h, i], tangent.centers[h, i], tokens.by_count, mass)
            center = tangent.centers[h, i, 0]
            d += _fill(e, ve[h], head, row, center, jacobian, h > 0) - side
            for k in range(fixed.size):
                gap = e[0, i] * (head.frozen[0, k] - vx[0, i]) + e[1, i] * (head.frozen[1, k] - vx[1, i])
                d += fixed[k] * (gap + center) * (e[0, i] * head.frozen[2, k] + e[1, i] * head.frozen[3, k])
            own = row.weights[0, i]
            d += own * center * (u[0, i] * e[0, i] + u[1, i] * e[1, i]) / LOG2E
            tangent.sizes[i] += size
            if not heads.scalar_value:
                for a in range(2):
                    tangent.sizes[i] += mass * (abs(head.less[a, 0] * x[0, i]) + abs(head.less[a, 1] * x[1, i]))
                d += own * (_form(head.less, e, e, i) - _form(head.less, x, x, i))
        tangent.diagonal[i, 0, 0] = d


@kernel
def solve(system, c, fresh, b, w):
    """w = (c - J)^-1 b by forward substitution; b and w are (n, 1). Nothing is kept from call to call: see `fresh`
    of jacobian.solve."""
    jacobian, diagonal, solved = system.attention.matrix, system.tangent.diagonal, system.lifted
    m = width(solved)
    for j in range(solved.shape[1]):
        solved[0, j] = 0.0
    for i in range(system.tokens.n):
        s = splat(0.0)
        for j in range(int(system.tokens.rows[0, i]) // m * m, i, m):
            s = fma(load(jacobian, i, j), load(solved, 0, j), s)  # `solved` is still 0 from i on
        solved[0, i] = w[i, 0] = (b[i, 0] + total(s)) / (c - diagonal[i, 0, 0])
