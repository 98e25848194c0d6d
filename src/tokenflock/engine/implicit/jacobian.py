"""The linear algebra of an implicit step on the sphere: the Jacobian of (E6), applied, and solved where it is causal.

Tangent vectors w_i have d - 1 coordinates in the plane of token i, whose basis E_i is that of tangent.py. With
u_i = beta B' x_i, r_j = beta B x_j, a_ij the attention of one head and f_i = sum_j a_ij E_i' V x_j its tangent pull,
the Jacobian is

    J_ij = a_ij (E_i' V E_j + (E_i' V x_j - f_i) (E_j' u_i)')                                           j != i
    J_ii = the same with j = i, plus sum_j a_ij (E_i' V x_j - f_i) (E_i' r_j)' - <x_i, sum_j a_ij V x_j>

summed over heads. E_i' V x_j is taken from V x_j - V x_i, and for V = v I the two terms v a_ii of J_ii that cancel are
left out: so a token that feels only pulls of 1e-300 has a Jacobian of that size, with all its digits.

If nobody sees later tokens, J is block lower triangular and (c - J) w = b is solved token by token (`solve`), for
about the price of one velocity. The attention is kept, n^2 numbers a head, or made again row by row.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline, kernel
from tokenflock.engine.compiled.lanes import absolute, fma, indices, load, splat, store, total, width, within
from tokenflock.engine.implicit.attention import LOG2E, attend, multiply
from tokenflock.engine.implicit.system import GAP, KEY, LANES, OTHER, SUM, TANGENT, VECTOR, HeadArrays, Row
from tokenflock.engine.implicit.tangent import down, reflect, up


@inline
def _pull(x, head, row, v, scratch, out):
    """out = E_i' sum_j a_ij (V x_j - V x_i); returns sum_{j != i} a_ij <x_i, V x_j> and sum_j a_ij |V x_j - V x_i|_1.

    Frozen tokens are among the j.
    """
    i, first, last, weights, fixed = row
    values, frozen = head.values, head.frozen
    m, d = width(x), x.shape[0]
    along, size = 0.0, 0.0
    for a in range(d):
        gaps, sides, sizes, own = splat(0.0), splat(0.0), splat(0.0), splat(values[a, i])
        for j in range(first // m * m, last, m):
            w, there = load(weights, 0, j), load(values, a, j)
            gaps = fma(w, there - own, gaps)
            sizes = fma(w, absolute(there - own), sizes)
            # Lane i is left out here rather than taken off: 1 - 1 would not leave what is far below rounding.
            away = within(splat(0.0), w, splat(float(i)), indices(float(j)), indices(float(j + 1)))
            sides = fma(away, there, sides)
        gap, side = total(gaps), total(sides)
        size += total(sizes)
        for k in range(fixed.size):
            gap += fixed[k] * (frozen[a, k] - values[a, i])
            size += fixed[k] * abs(frozen[a, k] - values[a, i])
            side += fixed[k] * frozen[a, k]
        scratch[VECTOR, a] = gap
        along += x[a, i] * side
    down(v, i, scratch[VECTOR], out)
    return along, size


@inline
def _add_outer(i, weight, v, block, scratch):
    """block += weight (E_i' gap + sum) (E_i' key)', the three vectors being rows of scratch."""
    k = block.shape[0]
    down(v, i, scratch[KEY], scratch[TANGENT])
    down(v, i, scratch[GAP], scratch[OTHER])
    for a in range(k):
        left = weight * (scratch[OTHER, a] + scratch[SUM, a])
        for b in range(k):
            block[a, b] += left * scratch[TANGENT, b]


@inline
def _add_own_value(x, head, row, v, block, scratch):
    """block += a_ii (E_i' V E_i - <x_i, V x_i>), which is 0 for V = v I."""
    i, own = row.i, row.weights[0, row.i]
    d, inner = x.shape[0], 0.0
    for a in range(d):
        inner += x[a, i] * head.values[a, i]
    for b in range(d - 1):
        for a in range(d - 1):
            scratch[TANGENT, a] = 1.0 if a == b else 0.0
        up(v, i, scratch[TANGENT], scratch[VECTOR])
        for a in range(d):
            scratch[KEY, a] = 0.0
            for c in range(d):
                scratch[KEY, a] += head.value[a, c] * scratch[VECTOR, c]
        down(v, i, scratch[KEY], scratch[OTHER])
        for a in range(d - 1):
            block[a, b] += own * scratch[OTHER, a]
        block[b, b] -= own * inner


@inline
def _add_head(x, head, row, v, pull, block, scratch):
    """Add a head to the block J_ii, and note its pull; returns what `_pull` does."""
    values, queries, keys, frozen = head.values, head.queries, head.keys, head.frozen
    i, first, last, weights, fixed = row
    d = x.shape[0]
    along, size = _pull(x, head, row, v, scratch, pull)
    for a in range(d - 1):
        scratch[SUM, a] = -pull[a]  # E_i' V x_i - f_i, since the rows of attention sum to 1
    for j in range(first, last):
        for a in range(d):
            scratch[KEY, a], scratch[GAP, a] = keys[a, j], values[a, j] - values[a, i]
        _add_outer(i, weights[0, j], v, block, scratch)
    for k in range(fixed.size):
        for a in range(d):
            scratch[KEY, a], scratch[GAP, a] = frozen[d + a, k], frozen[a, k] - values[a, i]
        _add_outer(i, fixed[k], v, block, scratch)
    for a in range(d):
        scratch[KEY, a], scratch[GAP, a] = queries[a, i] / LOG2E, 0.0
    _add_outer(i, weights[0, i], v, block, scratch)
    for a in range(d - 1):
        block[a, a] -= along
    return size


@kernel
def linearise(system):
    """Fills the records of a system from its tokens: products of the heads, tangent planes, attention, blocks J_ii."""
    tokens, heads, tangent, attention = system.tokens, system.heads, system.tangent, system.attention
    x, n, v, scratch = tokens.x, tokens.n, tangent.reflections, system.scratch
    multiply(x, heads)
    reflect(x, n, v)
    for i in range(n):
        row = Row(i, int(tokens.rows[0, i]), int(tokens.rows[1, i]), attention.row, attention.frozen)
        block = tangent.diagonal[i]
        tangent.sizes[i] = 0.0
        for a in range(block.shape[0]):
            for b in range(block.shape[0]):
                block[a, b] = 0.0
        for h in range(heads.value.shape[0]):
            head = HeadArrays(heads.value[h], heads.values[h], heads.queries[h], heads.keys[h], heads.frozen[h])
            attend(x, tokens.frozen, head.queries, row)
            if attention.kept:
                for j in range(row.first, row.last):
                    attention.matrix[h * n + i, j] = row.weights[0, j]
            size = _add_head(x, head, row, v, tangent.pulls[h, i], block, scratch)
            for a in range(x.shape[0]):
                scratch[VECTOR, a] = 0.0 if heads.scalar_value else head.values[a, i]
                size += abs(scratch[VECTOR, a])
            down(v, i, scratch[VECTOR], tangent.own_values[h, i])
            if not heads.scalar_value:
                _add_own_value(x, head, row, v, block, scratch)
            tangent.sizes[i] += size


@kernel(allocates=True)
def factorise(tangent, c):
    """The inverses (c - J_ii)^-1, by Gauss and Jordan with row pivots; not finite if a block is singular."""
    diagonal, inverses = tangent.diagonal, tangent.inverses
    k = diagonal.shape[1]
    work = np.empty((k, 2 * k))
    for i in range(diagonal.shape[0]):
        for a in range(k):
            for b in range(k):
                work[a, b] = (c if a == b else 0.0) - diagonal[i, a, b]
                work[a, k + b] = 1.0 if a == b else 0.0
        for p in range(k):
            best = p
            for a in range(p + 1, k):
                if abs(work[a, p]) > abs(work[best, p]):
                    best = a
            for b in range(2 * k):
                work[p, b], work[best, b] = work[best, b], work[p, b]
            pivot = 1.0 / work[p, p]
            for b in range(2 * k):
                work[p, b] *= pivot
            for a in range(k):
                if a != p and work[a, p] != 0.0:
                    factor = work[a, p]
                    for b in range(2 * k):
                        work[a, b] -= factor * work[p, b]
        for a in range(k):
            for b in range(k):
                inverses[i, a, b] = work[a, k + b]


@inline
def _recall(tokens, attention, queries, h, row, last):
    """The attention of a row in head h up to token `last`: copied where it is kept, else made again."""
    if attention.kept:
        for j in range(row.first // 8 * 8, last):
            row.weights[0, j] = attention.matrix[h * tokens.n + row.i, j]
    else:
        attend(tokens.x, tokens.frozen, queries, row)


@inline
def _gather(head, row, pull, v, lifted, lifted_values, skip, scratch):
    """sum += E_i' sum_j a_ij (V y_j + (V x_j - g_i) <u_i, y_j>) over the j != skip of a row.

    y_j are the lifted tangent vectors, g_i = sum_j a_ij V x_j; the sum is a row of scratch.
    """
    values, queries = head.values, head.queries
    i, first, last, weights, _ = row
    m, d = width(values), values.shape[0]
    lo, hi, none = splat(float(first)), splat(float(last)), splat(0.0)
    turns = none
    for a in range(d):
        store(scratch, LANES, a * m, none)
    for j in range(first // m * m, last, m):
        w = within(load(weights, 0, j), none, indices(float(j)), lo, hi)
        w = within(none, w, splat(float(skip)), indices(float(j)), indices(float(j + 1)))
        turn = splat(queries[0, i]) * load(lifted, 0, j)
        for a in range(1, d):
            turn = fma(splat(queries[a, i]), load(lifted, a, j), turn)
        turn = turn * w * splat(1.0 / LOG2E)
        turns = turns + turn
        for a in range(d):
            acc = fma(w, load(lifted_values, a, j), load(scratch, LANES, a * m))
            store(scratch, LANES, a * m, fma(turn, load(values, a, j) - splat(values[a, i]), acc))
    for a in range(d):
        scratch[VECTOR, a] = total(load(scratch, LANES, a * m))
    down(v, i, scratch[VECTOR], scratch[TANGENT])
    whole = total(turns)
    for a in range(d - 1):
        scratch[SUM, a] += scratch[TANGENT, a] - pull[a] * whole


@inline
def _lift(value, v, i, w, lifted, lifted_values, scratch):
    """Column i of the lifted tangent vectors, y = E_i w, and of V y of every head."""
    d = v.shape[1]
    up(v, i, w, scratch[VECTOR])
    for a in range(d):
        lifted[a, i] = scratch[VECTOR, a]
    for h in range(value.shape[0]):
        for a in range(d):
            s = 0.0
            for b in range(d):
                s += value[h, a, b] * scratch[VECTOR, b]
            lifted_values[h, a, i] = s


@kernel
def solve(system, c, fresh, b, w):
    """w = (c - J)^-1 b for the part of J at and below the diagonal; b and w are (n, d - 1).

    fresh: c or J is another than in the last call.
    """
    tokens, heads, tangent, attention, lifted, lifted_values, scratch = system
    v, inverses, k = tangent.reflections, tangent.inverses, w.shape[1]
    if fresh:
        factorise(tangent, c)
    for i in range(tokens.n):
        row = Row(i, int(tokens.rows[0, i]), int(tokens.rows[1, i]), attention.row, attention.frozen)
        before = Row(i, row.first, i, row.weights, row.frozen)
        for a in range(k):
            scratch[SUM, a] = b[i, a]
        for h in range(heads.value.shape[0]):
            head = HeadArrays(heads.value[h], heads.values[h], heads.queries[h], heads.keys[h], heads.frozen[h])
            _recall(tokens, attention, head.queries, h, row, i)
            _gather(head, before, tangent.pulls[h, i], v, lifted, lifted_values[h], -1, scratch)
        for a in range(k):
            s = 0.0
            for p in range(k):
                s += inverses[i, a, p] * scratch[SUM, p]
            w[i, a] = s
        _lift(heads.value, v, i, w[i], lifted, lifted_values, scratch)


@kernel
def apply(system, c, w, out):
    """out = (c - J) w with all of J."""
    tokens, heads, tangent, attention, lifted, lifted_values, scratch = system
    v, diagonal, k = tangent.reflections, tangent.diagonal, w.shape[1]
    for i in range(tokens.n):
        _lift(heads.value, v, i, w[i], lifted, lifted_values, scratch)
    for i in range(tokens.n):
        row = Row(i, int(tokens.rows[0, i]), int(tokens.rows[1, i]), attention.row, attention.frozen)
        for a in range(k):
            scratch[SUM, a] = 0.0
        for h in range(heads.value.shape[0]):
            head = HeadArrays(heads.value[h], heads.values[h], heads.queries[h], heads.keys[h], heads.frozen[h])
            _recall(tokens, attention, head.queries, h, row, row.last)
            _gather(head, row, tangent.pulls[h, i], v, lifted, lifted_values[h], i, scratch)
        for a in range(k):
            s = c * w[i, a] - scratch[SUM, a]
            for p in range(k):
                s -= diagonal[i, a, p] * w[i, p]
            out[i, a] = s
