"""The stages of an implicit step on the sphere: tangent vectors become tokens, and velocities tangent vectors again.

A step is taken in the tangent planes of the tokens at its start: x + E w, put back on the sphere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tokenflock.engine.compiled.declare import inline, kernel
from tokenflock.engine.implicit.tangent import down, up
from tokenflock.geometry import Array

# A velocity below this times the sum of the pulls that make it up is rounding, and counts as 0: else tokens that are
# held in balance would drift at 1e-17, which is far at t = 1e20.
ROUNDING = 8 * 2.220446049250313e-16


class RosenbrockTable(NamedTuple):
    """The numbers of a Rosenbrock scheme, see schemes.Rosenbrock."""

    a: Array
    c: Array
    b: Array
    dense: Array
    gamma: float


class Stages(NamedTuple):
    """The stages of a step, and what one stage is worked out in."""

    solved: Array  # (stages, n, d - 1): U_k
    shift: Array  # (n, d - 1): the tangent vectors at which the velocity is wanted
    right: Array  # (n, d - 1): what the stage is solved for
    y: Array  # (d, columns): the tokens there
    f: Array  # (d, columns): their velocities


@kernel(allocates=True)
def retract(x, reflections, shift, y):
    """y = the tokens x moved by the tangent vectors `shift` (n, d - 1): (x + E w) / |x + E w|."""
    n, d = reflections.shape
    step = np.empty(d)
    for i in range(n):
        up(reflections, i, shift[i], step)
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


@inline(allocates=True)
def _pull_back(x, reflections, shift, f, out):
    """out = the velocity f of the tokens x moved by `shift`, as the velocity of the tangent vectors.

    With s = |x + E w| it is E' s (f - <f, x> (x + E w)).
    """
    n, d = reflections.shape
    step, turned = np.empty(d), np.empty(d)
    for i in range(n):
        up(reflections, i, shift[i], step)
        square, along = 1.0, 0.0
        for a in range(d):
            square += step[a] * step[a]
            along += f[a, i] * x[a, i]
        scale = np.sqrt(square)
        for a in range(d):
            turned[a] = scale * (f[a, i] - along * (x[a, i] + step[a]))
        down(reflections, i, turned, out[i])


@inline
def copy(source, out):
    """out = source; numba would compile an assignment of arrays for seconds."""
    for i in range(out.shape[0]):
        for a in range(out.shape[1]):
            out[i, a] = source[i, a]


@inline
def add_stages(weights, solved, used, scale, out):
    """out += scale sum_j weights[j] solved[j] over the first `used` stages."""
    for j in range(used):
        w = scale * weights[j]
        if w != 0.0:
            for i in range(out.shape[0]):
                for a in range(out.shape[1]):
                    out[i, a] += w * solved[j, i, a]


@inline
def combine(weights, solved, used, out):
    """out = sum_j weights[j] solved[j] over the first `used` stages."""
    for i in range(out.shape[0]):
        for a in range(out.shape[1]):
            out[i, a] = 0.0
    add_stages(weights, solved, used, 1.0, out)


@kernel
def shift_tokens(x, reflections, table, stages, k):
    """The tokens at which stage k wants the velocity: x moved by the a-weighted stages before it."""
    combine(table.a[k], stages.solved, k, stages.shift)
    retract(x, reflections, stages.shift, stages.y)


@kernel
def right_side(x, tangent, table, stages, h, k):
    """What stage k of a step of size h is solved for: the velocity at its tokens, plus the c-weighted stages before."""
    out, sizes = stages.right, tangent.sizes
    _pull_back(x, tangent.reflections, stages.shift, stages.f, out)
    for i in range(out.shape[0]):
        size = 0.0
        for p in range(out.shape[1]):
            size += abs(out[i, p])
        if size <= ROUNDING * sizes[i]:
            for p in range(out.shape[1]):
                out[i, p] = 0.0
    add_stages(table.c[k], stages.solved, k, 1.0 / h, out)


@kernel
def at_rest(stages):
    """Whether no token has a velocity above its rounding: then nothing ever moves, and all stages are 0."""
    right, solved = stages.right, stages.solved
    for i in range(right.shape[0]):
        for a in range(right.shape[1]):
            if right[i, a] != 0.0:
                return False
    for k in range(solved.shape[0]):
        copy(right, solved[k])
    return True


@inline
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
