"""Steps of a given size in compiled code: fixed Runge-Kutta steps, steps with noise (E11), and layers (E12), (E13)."""

from __future__ import annotations

import math

import numpy as np

from tokenflock.engine.compiled.declare import inline, kernel
from tokenflock.engine.explicit.steps import NOW, NOW_F, TRIAL, combine, copy_state, record
from tokenflock.engine.explicit.velocity import retract
from tokenflock.engine.explicit.work import SPHERE
from tokenflock.engine.randomness import FACTOR_1, FACTOR_2, INCREMENT, PARTNER
from tokenflock.engine.status import BOOLEAN, ENDED, FULL, NOT_FINITE, ON, PAUSED, STOPPED
from tokenflock.schemes import LEVEL


@inline
def _mix(z):
    """randomness.mix."""
    z = z + np.uint64(INCREMENT)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(FACTOR_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(FACTOR_2)
    return z ^ (z >> np.uint64(31))


@inline
def normals(key, step, n, d, target):
    """randomness.normals, with tokens as columns."""
    base = _mix(key ^ np.uint64(step))
    for i in range(n):
        for a in range(d):
            first = _mix(base + np.uint64(i * d + a))
            second = _mix(first ^ np.uint64(PARTNER))
            u = (np.float64(first >> np.uint64(11)) + 0.5) * 2.0**-53
            v = np.float64(second >> np.uint64(11)) * 2.0**-53
            target[a, i] = math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


@inline
def aim(clock, times, t_stop, dt):
    """Cut the way to the next wanted time into equal steps no longer than dt: the times are hit, the order is kept."""
    target = min(times[clock.frame], t_stop)
    if clock.left == 0:
        clock.left = max(1, math.ceil((target - clock.t) / dt * (1.0 - 1e-12)))
        clock.h = (target - clock.t) / clock.left
    return target


@inline
def stopped(clock, goal, budget):
    """Why a loop must stop before its next step: the end of the stretch, a flag, its patience; ON if nothing does."""
    if clock.t >= goal.t_stop:
        return ENDED
    if goal.stop[0]:
        return STOPPED
    return PAUSED if clock.evaluations >= budget else ON


@inline
def _finite(y, n):
    """Whether every number of a state is finite."""
    total = 0.0
    for a in range(y.shape[0]):
        for i in range(n):
            total += abs(y[a, i])
    return np.isfinite(total)


@inline
def finish(state, numbers, target, line):
    """The trial becomes the present, on the sphere; False if it is not finite."""
    pages, clock = state.pages, state.clock
    finite = _finite(pages[TRIAL], numbers.n)
    copy_state(pages[TRIAL], pages[NOW])
    if numbers.space == SPHERE:
        retract(pages[NOW], numbers.d, numbers.n, line)
    clock.left -= 1
    clock.t = target if clock.left == 0 else clock.t + clock.h
    clock.steps += 1
    return finite


@inline
def emit_exact(state, output, n):
    """Record the wanted times that have been reached: steps of a given size hit them."""
    clock, times = state.clock, output.times
    while clock.frame < times.size and times[clock.frame] <= clock.t:
        record(state.pages[NOW], output.frames[clock.frame], n)
        clock.frame += 1


@inline
def _push(y, numbers, normals, h, target):
    """target = noise sqrt(h) P_y normals: the tangent part of the random push (E11)."""
    c, d = numbers.noise * math.sqrt(h), numbers.d
    for i in range(numbers.n):
        along = 0.0
        square = 1.0
        if numbers.space == SPHERE:
            square = 0.0
            for a in range(d):
                along += y[a, i] * normals[a, i]
                square += y[a, i] * y[a, i]
        for a in range(d):
            target[a, i] = c * (normals[a, i] - along * y[a, i] / square)


@kernel
def fixed(velocity, sums, part, field, state, goal, output):
    """Runge-Kutta steps of size at most goal.dt, with noise added in the sense of Stratonovich where there is some.

    Noise: one stage is Euler-Maruyama and two are Heun; the push is projected at the stages, then averaged with b.
    """
    pages, stages, clock, numbers = state.pages, state.stages, state.clock, field.terms.numbers
    n, d, table, count, line = numbers.n, numbers.d, goal.table, stages.shape[0], field.work.pairs.z
    budget = clock.evaluations + goal.patience
    emit_exact(state, output, n)
    while clock.frame < output.times.size:
        status = stopped(clock, goal, budget)
        if status != ON:
            return status
        target = aim(clock, output.times, goal.t_stop, goal.dt)
        h = clock.h
        if numbers.noise > 0.0:
            normals(goal.key, clock.steps, n, d, pages[NOW_F])
        for s in range(count):
            combine(pages[NOW], h, table[s], stages, s, pages[TRIAL])
            velocity(sums, part, field, pages[TRIAL], clock.t + h * table[s].sum(), goal.kind, stages[s])
            if numbers.noise > 0.0:
                # The push joins the stage as a velocity push / h, so that the table weighs both alike.
                _push(pages[TRIAL], numbers, pages[NOW_F], h, pages[NOW + 1])
                for a in range(d):
                    for i in range(n):
                        stages[s, a, i] += pages[NOW + 1, a, i] / h
        clock.evaluations += count
        combine(pages[NOW], h, table[count], stages, count, pages[TRIAL])
        if not finish(state, numbers, target, line):
            return NOT_FINITE
        emit_exact(state, output, n)
    return FULL


@kernel
def layers(layer, sums, part, field, state, goal, output):
    """The discrete-time transformer: layer k takes the state from k dt to (k + 1) dt. BOOLEAN: see `adaptive`."""
    pages, clock, n = state.pages, state.clock, field.terms.numbers.n
    budget = clock.evaluations + goal.patience
    emit_exact(state, output, n)
    while clock.frame < output.times.size:
        status = stopped(clock, goal, budget)
        if status != ON:
            return status
        layer(sums, part, field, pages[NOW], clock.t, goal.dt, goal.kind)
        clock.evaluations += 1
        clock.steps += 1
        clock.t = clock.steps * goal.dt
        if not _finite(pages[NOW], n):
            return NOT_FINITE
        emit_exact(state, output, n)
        if clock.steps >= goal.watch and field.work.pairs.call.undecided <= LEVEL:
            return BOOLEAN
    return FULL
