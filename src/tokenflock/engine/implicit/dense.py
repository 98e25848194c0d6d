"""The linear algebra of an implicit step for a few tokens that see later ones: J as one matrix, in compiled code.

The Jacobian is that of jacobian.py. Beyond FEW unknowns the libraries of full.py are faster.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline, kernel
from tokenflock.engine.implicit import jacobian
from tokenflock.engine.implicit.attention import LOG2E
from tokenflock.engine.implicit.tangent import up

FEW = 128  # unknowns


@inline(allocates=True)
def _bases(system, bases, turned):
    """bases[i] = E_i, (d, d - 1), and turned[h, i] = V_h E_i."""
    value, reflections = system.heads.value, system.tangent.reflections
    n, d = reflections.shape
    axis, column = np.zeros(d - 1), np.empty(d)
    for i in range(n):
        for q in range(d - 1):
            axis[q] = 1.0
            up(reflections, i, axis, column)
            axis[q] = 0.0
            for a in range(d):
                bases[i, a, q] = column[a]
            for h in range(value.shape[0]):
                for a in range(d):
                    s = 0.0
                    for b in range(d):
                        s += value[h, a, b] * column[b]
                    turned[h, i, a, q] = s


@inline
def _add_pair(system, h, i, j, bases, turned, block, first, second):
    """The block J_ij of head h is added to the rows and columns of `block` from `first` and `second` on."""
    heads, n = system.heads, system.tokens.n
    weight, d = system.attention.matrix[h * n + i, j], bases.shape[1]
    for p in range(d - 1):
        gap = system.tangent.centers[h, i, p]
        for a in range(d):
            gap += bases[i, a, p] * (heads.values[h, a, j] - heads.values[h, a, i])
        for q in range(d - 1):
            turn, along = 0.0, 0.0
            for a in range(d):
                turn += bases[j, a, q] * heads.queries[h, a, i]
                along += bases[i, a, p] * turned[h, j, a, q]
            block[first + p, second + q] += weight * (along + gap * turn / LOG2E)


@kernel(allocates=True)
def linearise(system):
    """Fills a system from its tokens, and J into the upper half of system.dense."""
    jacobian.linearise(system)
    n, d = system.tangent.reflections.shape
    k, n_heads = d - 1, system.heads.value.shape[0]
    whole = system.dense[0]
    bases, turned = np.empty((n, d, k)), np.empty((n_heads, n, d, k))
    _bases(system, bases, turned)
    for i in range(n):
        for j in range(n):
            for p in range(k):
                for q in range(k):
                    whole[i * k + p, j * k + q] = system.tangent.diagonal[i, p, q] if i == j else 0.0
            if i != j:
                for h in range(n_heads):
                    _add_pair(system, h, i, j, bases, turned, whole, i * k, j * k)


@inline
def _factorise(factors, rows):
    """L and U in the place of a matrix, with row pivots; rows[p]: the row that was taken as row p."""
    size = factors.shape[0]
    for p in range(size):
        best = p
        for a in range(p + 1, size):
            if abs(factors[a, p]) > abs(factors[best, p]):
                best = a
        rows[p] = best
        if best != p:
            for b in range(size):
                factors[p, b], factors[best, b] = factors[best, b], factors[p, b]
        pivot = 1.0 / factors[p, p]
        for a in range(p + 1, size):
            factor = factors[a, p] * pivot
            if factor != 0.0:
                for b in range(p + 1, size):
                    factors[a, b] -= factor * factors[p, b]
            factors[a, p] = factor


@kernel
def solve(system, c, fresh, b, w):
    """w = (c - J)^-1 b; b and w are (n, d - 1). fresh: c or J is another than in the last call."""
    whole, factors, rows = system.dense[0], system.dense[1], system.pivots
    size, k = whole.shape[0], b.shape[1]
    if fresh:
        for p in range(size):
            for q in range(size):
                factors[p, q] = (c if p == q else 0.0) - whole[p, q]
        _factorise(factors, rows)
    for i in range(b.shape[0]):
        for p in range(k):
            w[i, p] = b[i, p]
    for p in range(size):
        best = rows[p]
        held = w[best // k, best % k]
        w[best // k, best % k] = w[p // k, p % k]
        w[p // k, p % k] = held
    for p in range(size):  # only now: the rows of L have changed places with those of U
        for a in range(p + 1, size):
            w[a // k, a % k] -= factors[a, p] * w[p // k, p % k]
    for p in range(size - 1, -1, -1):
        s = w[p // k, p % k]
        for q in range(p + 1, size):
            s -= factors[p, q] * w[q // k, q % k]
        w[p // k, p % k] = s / factors[p, p]
