"""Steps with noise that is common to all tokens (E21), beside noise of each token's own (E11), in compiled code."""

from __future__ import annotations

import math

import numpy as np

from tokenflock.engine.compiled.declare import inline, kernel
from tokenflock.engine.explicit.fixed import aim, emit_exact, finish, normals, stopped
from tokenflock.engine.explicit.steps import NOW, NOW_F, TRIAL, combine
from tokenflock.engine.explicit.work import SPHERE
from tokenflock.engine.randomness import COMMON
from tokenflock.engine.status import FULL, NOT_FINITE, ON

SHIFT, ROTATION, MATRIX, FIELD, OWN = 1, 2, 3, 4, 5  # Terms.numbers.shake


@inline
def _weights(terms, key, step, h, drawn, weights):
    """common_noise.weights_of times sqrt(h), from normal numbers that stand in columns."""
    numbers, d = terms.numbers, terms.numbers.d
    c = numbers.strength * math.sqrt(h)
    normals(key ^ np.uint64(COMMON), step, drawn.shape[1], drawn.shape[0], drawn)
    if numbers.shake == FIELD:
        c *= math.sqrt(2.0 / drawn.shape[1])
    for k in range(weights.shape[0]):
        for a in range(d):
            if numbers.shake == ROTATION:
                weights[k, a] = c * (drawn[a, k] - drawn[k, a]) / math.sqrt(2.0)
            elif numbers.shake == OWN:
                weights[k, a] = 0.0
                for m in range(drawn.shape[1]):
                    weights[k, a] += c * drawn[0, m] * terms.shaking[m * d + a, k]
            else:
                weights[k, a] = c * drawn[a, k]


@inline
def _feature(terms, y, size, k, i):
    """common_noise.features: number k of token i, whose length is size."""
    numbers = terms.numbers
    if numbers.shake == SHIFT:
        return 1.0
    if numbers.shake != FIELD:
        return y[k, i] / size
    phase = terms.shaking[k, numbers.d]
    for a in range(numbers.d):
        phase += terms.shaking[k, a] * y[a, i] / size
    return math.cos(phase)


@inline
def _push(terms, y, own, h, weights, line, target):
    """target = P_y (noise sqrt(h) own + features . weights): how chance moves every token in a step."""
    numbers = terms.numbers
    c, d = numbers.noise * math.sqrt(h), numbers.d
    for i in range(numbers.n):
        size = 1.0
        if numbers.space == SPHERE:
            size = 0.0
            for a in range(d):
                size += np.float64(y[a, i]) ** 2
            size = math.sqrt(size)
        for a in range(d):
            line[a] = c * own[a, i] if numbers.noise > 0.0 else 0.0
        for k in range(weights.shape[0]):
            f = _feature(terms, y, size, k, i)
            for a in range(d):
                line[a] += f * weights[k, a]
        along = 0.0
        if numbers.space == SPHERE:
            for a in range(d):
                along += line[a] * y[a, i] / size
        for a in range(d):
            target[a, i] = line[a] - along * y[a, i] / size


@kernel(allocates=True)
def shaken(velocity, sums, part, field, state, goal, output):
    """fixed.fixed with common noise: pushes join the stages, so that Heun's are in the sense of Stratonovich."""
    pages, stages, clock, terms = state.pages, state.stages, state.clock, field.terms
    numbers, table, count, line = terms.numbers, goal.table, stages.shape[0], field.work.pairs.z
    n, d = numbers.n, numbers.d
    budget = clock.evaluations + goal.patience
    rows = 1 if numbers.shake == SHIFT else d
    if numbers.shake == FIELD:
        rows = terms.shaking.shape[0]
    # `own` matrices have one number each, whatever d: it stands in the first line
    drawn = np.empty((1, terms.shaking.shape[0] // d) if numbers.shake == OWN else (d, rows))
    weights, one = np.empty((rows, d)), np.empty(d)
    emit_exact(state, output, n)
    while clock.frame < output.times.size:
        status = stopped(clock, goal, budget)
        if status != ON:
            return status
        target = aim(clock, output.times, goal.t_stop, goal.dt)
        h = clock.h
        if numbers.noise > 0.0:
            normals(goal.key, clock.steps, n, d, pages[NOW_F])
        _weights(terms, goal.key, clock.steps, h, drawn, weights)
        for s in range(count):
            combine(pages[NOW], h, table[s], stages, s, pages[TRIAL])
            velocity(sums, part, field, pages[TRIAL], clock.t + h * table[s].sum(), goal.kind, stages[s])
            _push(terms, pages[TRIAL], pages[NOW_F], h, weights, one, pages[NOW + 1])
            for a in range(d):
                for i in range(n):
                    stages[s, a, i] += pages[NOW + 1, a, i] / h
        clock.evaluations += count
        combine(pages[NOW], h, table[count], stages, count, pages[TRIAL])
        if not finish(state, numbers, target, line):
            return NOT_FINITE
        emit_exact(state, output, n)
    return FULL
