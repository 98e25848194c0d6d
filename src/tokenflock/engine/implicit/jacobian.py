"""The linear algebra of an implicit step on the sphere: the Jacobian of (E6), applied, and solved where it is causal.

Tangent vectors w_i have d - 1 coordinates in the plane of token i, whose basis E_i is that of tangent.py. With
u_i = beta B' x_i, r_j = beta B x_j, a_ij the attention of one head and f_i = sum_j a_ij E_i' V x_j its tangent drive,
the Jacobian is

    J_ij = a_ij (E_i' V E_j + b_ij (E_j' u_i)'),   b_ij = E_i' V x_j - f_i (softmax) or E_i' V x_j (count)   j != i
    J_ii = the same with j = i, plus sum_j a_ij b_ij (E_i' r_j)' - <x_i, sum_j a_ij V x_j>

summed over heads. b_ij = E_i' (V x_j - V x_i) + c_i with the center c_i of attention.place. What a token does to
itself, E_i' V x_i and a_ii (E_i' V E_i - <x_i, V x_i>), is made of V - c I (model.less), so that what cancels is never
summed: a token that feels only pulls of 1e-300 has a Jacobian of that size, with all its digits.

If nobody sees later tokens, J is block lower triangular and (c - J) w = b is solved token by token (`solve`), for
about the price of one velocity. The attention is kept, n^2 numbers a head, or made again row by row.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline, kernel
from tokenflock.engine.compiled.lanes import absolute, fma, load, splat, store, total, width
from tokenflock.engine.implicit.attention import LOG2E, attend, multiply, place
from tokenflock.engine.implicit.system import KEY, MOMENTS, OTHER, SUM, TANGENT, VECTOR, HeadArrays, Kept, Row
from tokenflock.engine.implicit.tangent import down, reflect, up


@inline
def _pull(x, head, row, v, scratch, out):
    """out = E_i' sum_j a_ij (V x_j - V x_i); returns sum_{j != i} a_ij <x_i, V x_j> and sum_j a_ij |V x_j - V x_i|_1.

    Frozen tokens are among the j.
    """
    i, first, last, weights, fixed = row
    values, frozen = head.values, head.frozen
    m, d = width(x), x.shape[0]
    along, size, kept = 0.0, 0.0, weights[0, i]
    weights[0, i] = 0.0  # token i is left out rather than taken off: 1 - 1 would not leave what is far below rounding
    for a in range(d):
        gaps, sides, sizes, own = splat(0.0), splat(0.0), splat(0.0), splat(values[a, i])
        for j in range(first // m * m, last, m):
            w, there = load(weights, 0, j), load(values, a, j)
            gaps = fma(w, there - own, gaps)
            sizes = fma(w, absolute(there - own), sizes)
            sides = fma(w, there, sides)
        gap, side = total(gaps), total(sides)
        size += total(sizes)
        for k in range(fixed.size):
            gap += fixed[k] * (frozen[a, k] - values[a, i])
            size += fixed[k] * abs(frozen[a, k] - values[a, i])
            side += fixed[k] * frozen[a, k]
        scratch[VECTOR, a] = gap
        along += x[a, i] * side
    weights[0, i] = kept
    down(v, i, scratch[VECTOR], out)
    return along, size


@inline
def _add_own_value(x, head, row, v, block, scratch):
    """block += a_ii (E_i' V E_i - <x_i, V x_i>), which is 0 for V = v I."""
    i, own = row.i, row.weights[0, row.i]
    d, inner = x.shape[0], 0.0
    for a in range(d):
        for b in range(d):
            inner += x[a, i] * head.less[a, b] * x[b, i]
    for b in range(d - 1):
        for a in range(d - 1):
            scratch[TANGENT, a] = 1.0 if a == b else 0.0
        up(v, i, scratch[TANGENT], scratch[VECTOR])
        for a in range(d):
            scratch[KEY, a] = 0.0
            for c in range(d):
                scratch[KEY, a] += head.less[a, c] * scratch[VECTOR, c]
        down(v, i, scratch[KEY], scratch[OTHER])
        for a in range(d - 1):
            block[a, b] += own * scratch[OTHER, a]
        block[b, b] -= own * inner


@inline
def _add_turns(x, head, row, v, center, block, scratch):
    """block += what the logits of a head do in J_ii: sum_j a_ij b_ij (E_i' r_j)' + a_ii b_ii (E_i' u_i)'.

    That is E_i' M E_i, M = sum_j a_ij (V x_j - V x_i) r_j', and center times the sum of the keys in the plane.
    """
    values, queries, keys, frozen = head.values, head.queries, head.keys, head.frozen
    i, first, last, weights, fixed = row
    m, d = width(x), x.shape[0]
    for b in range(d):
        turns = splat(0.0)
        for j in range(first // m * m, last, m):
            turns = fma(load(weights, 0, j), load(keys, b, j), turns)
        turn = total(turns) + weights[0, i] * queries[b, i] / LOG2E
        for k in range(fixed.size):
            turn += fixed[k] * frozen[d + b, k]
        for a in range(d):
            sums, own = splat(0.0), splat(values[a, i])
            for j in range(first // m * m, last, m):
                sums = fma(load(weights, 0, j) * (load(values, a, j) - own), load(keys, b, j), sums)
            scratch[VECTOR, a] = total(sums)
            for k in range(fixed.size):
                scratch[VECTOR, a] += fixed[k] * (frozen[a, k] - values[a, i]) * frozen[d + b, k]
        down(v, i, scratch[VECTOR], scratch[TANGENT])
        for p in range(d - 1):
            scratch[MOMENTS + p, b] = scratch[TANGENT, p] + center[p] * turn
    for p in range(d - 1):
        down(v, i, scratch[MOMENTS + p], scratch[TANGENT])
        for q in range(d - 1):
            block[p, q] += scratch[TANGENT, q]


@inline
def _add_head(system, h, head, row, mass):
    """Add head h to the block J_ii, and note its drive, center and size; mass is that of the row."""
    tangent, scratch, scalar_value = system.tangent, system.scratch, system.heads.scalar_value
    i, x, v = row.i, system.tokens.x, tangent.reflections
    drive, center, block = tangent.drives[h, i], tangent.centers[h, i], tangent.diagonal[i]
    along, size = _pull(x, head, row, v, scratch, drive)
    for a in range(x.shape[0]):
        scratch[VECTOR, a] = 0.0
        if not scalar_value:
            for b in range(x.shape[0]):
                part = head.less[a, b] * x[b, i]
                scratch[VECTOR, a] += part
                size += mass * abs(part)
    tangent.sizes[i] += size
    down(v, i, scratch[VECTOR], center)
    place(drive, center, system.tokens.by_count, mass)
    _add_turns(x, head, row, v, center, block, scratch)
    for a in range(block.shape[0]):
        block[a, a] -= along
    if not scalar_value:
        _add_own_value(x, head, row, v, block, scratch)


@kernel
def linearise(system):
    """Fills the records of a system from its tokens: products of the heads, tangent planes, attention, blocks J_ii."""
    tokens, heads, tangent, attention = system.tokens, system.heads, system.tangent, system.attention
    n = tokens.n
    multiply(tokens.x, heads)
    reflect(tokens.x, n, tangent.reflections)
    for i in range(n):
        row = Row(i, int(tokens.rows[0, i]), int(tokens.rows[1, i]), attention.row, attention.frozen)
        block = tangent.diagonal[i]
        tangent.sizes[i] = 0.0
        for a in range(block.shape[0]):
            for b in range(block.shape[0]):
                block[a, b] = 0.0
        for h in range(heads.value.shape[0]):
            head = HeadArrays(heads.less[h], heads.values[h], heads.queries[h], heads.keys[h], heads.frozen[h])
            mass = attend(tokens, head.queries, row)
            if attention.kept:
                m = width(tokens.x)
                for j in range(row.first // m * m, row.last, m):
                    store(attention.matrix, h * n + i, j, load(row.weights, 0, j))
            _add_head(system, h, head, row, mass)


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
def _gather(head, row, center, v, lifted, lifted_values, turns, scratch):
    """sum += sum_j a_ij (E_i' V y_j + b_ij <u_i, y_j>) over the j of a row, whose weights are 0 outside of it.

    y_j are the lifted tangent vectors; turns is room for a row, and the sum is a row of scratch.
    """
    values, queries = head.values, head.queries
    i, first, last, weights, line = row
    m, d, whole = width(values), values.shape[0], splat(0.0)
    for j in range(first // m * m, last, m):
        turn = splat(queries[0, i] / LOG2E) * load(lifted, 0, j)
        for a in range(1, d):
            turn = fma(splat(queries[a, i] / LOG2E), load(lifted, a, j), turn)
        turn = turn * load(weights, line, j)
        whole = whole + turn
        store(turns, 0, j, turn)
    for a in range(d):
        sums, own = splat(0.0), splat(values[a, i])
        for j in range(first // m * m, last, m):
            pull = load(weights, line, j) * load(lifted_values, a, j)
            sums = sums + fma(load(turns, 0, j), load(values, a, j) - own, pull)
        scratch[VECTOR, a] = total(sums)
    down(v, i, scratch[VECTOR], scratch[TANGENT])
    turned = total(whole)
    for a in range(d - 1):
        scratch[SUM, a] += scratch[TANGENT, a] + center[a] * turned


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


@inline
def _add_others(system, h, i, last):
    """sum += what the tokens up to `last` but i itself do to token i in head h, see _gather."""
    tokens, heads, attention = system.tokens, system.heads, system.attention
    head = HeadArrays(heads.less[h], heads.values[h], heads.queries[h], heads.keys[h], heads.frozen[h])
    row = Row(i, int(tokens.rows[0, i]), int(tokens.rows[1, i]), attention.row, attention.frozen)
    if not attention.kept:
        attend(tokens, head.queries, row)
    weights = attention.matrix if attention.kept else attention.row
    kept = Kept(i, row.first, last, weights, h * tokens.n + i if attention.kept else 0)
    own = weights[kept.line, i]
    weights[kept.line, i] = 0.0
    center, v = system.tangent.centers[h, i], system.tangent.reflections
    _gather(head, kept, center, v, system.lifted, system.lifted_values[h], system.turns, system.scratch)
    weights[kept.line, i] = own


@kernel
def solve(system, c, fresh, b, w):
    """w = (c - J)^-1 b for the part of J at and below the diagonal; b and w are (n, d - 1).

    fresh: c or J is another than in the last call.
    """
    value, tangent, scratch = system.heads.value, system.tangent, system.scratch
    lifted, lifted_values = system.lifted, system.lifted_values
    v, inverses, k = tangent.reflections, tangent.inverses, w.shape[1]
    if fresh:
        factorise(tangent, c)
    for a in range(lifted.shape[0]):  # a register reaches beyond token i, where nothing is solved yet
        for j in range(lifted.shape[1]):
            lifted[a, j] = 0.0
    for h in range(value.shape[0]):
        for a in range(lifted.shape[0]):
            for j in range(lifted.shape[1]):
                lifted_values[h, a, j] = 0.0
    for i in range(system.tokens.n):
        for a in range(k):
            scratch[SUM, a] = b[i, a]
        for h in range(value.shape[0]):
            _add_others(system, h, i, i)
        for a in range(k):
            s = 0.0
            for p in range(k):
                s += inverses[i, a, p] * scratch[SUM, p]
            w[i, a] = s
        _lift(value, v, i, w[i], lifted, lifted_values, scratch)


@kernel
def apply(system, c, w, out):
    """out = (c - J) w with all of J."""
    value, tangent, scratch = system.heads.value, system.tangent, system.scratch
    lifted, lifted_values = system.lifted, system.lifted_values
    v, diagonal, k = tangent.reflections, tangent.diagonal, w.shape[1]
    for i in range(system.tokens.n):
        _lift(value, v, i, w[i], lifted, lifted_values, scratch)
    for i in range(system.tokens.n):
        for a in range(k):
            scratch[SUM, a] = 0.0
        for h in range(value.shape[0]):
            _add_others(system, h, i, int(system.tokens.rows[1, i]))
        for a in range(k):
            s = c * w[i, a] - scratch[SUM, a]
            for p in range(k):
                s -= diagonal[i, a, p] * w[i, p]
            out[i, a] = s
