"""Steps of a given size in compiled code: fixed Runge-Kutta steps, steps with noise (E11), and layers (E12), (E13)."""

from __future__ import annotations

import math

import numpy as np

from tokenflock.engine.compiling import kernel, piece
from tokenflock.engine.cpu_kernels import retract
from tokenflock.engine.cpu_terms import SPREAD
from tokenflock.engine.randomness import _FIRST, _GOLDEN, _OTHER, _SECOND
from tokenflock.engine.step_kernels import (
    ENDED,
    FULL,
    LEVEL,
    NOT_FINITE,
    NOW,
    NOW_F,
    ON,
    SHARP,
    STOPPED,
    TRIAL,
    _combine,
    _copy,
    _record,
)


@piece
def _mix(z):
    """randomness.mix."""
    z = z + np.uint64(_GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_SECOND)
    return z ^ (z >> np.uint64(31))


@piece
def _normals(key, step, n, d, target):
    """randomness.normals, with tokens as columns."""
    base = _mix(key ^ np.uint64(step))
    for i in range(n):
        for a in range(d):
            first = _mix(base + np.uint64(i * d + a))
            second = _mix(first ^ np.uint64(_OTHER))
            u = (np.float64(first >> np.uint64(11)) + 0.5) * 2.0**-53
            v = np.float64(second >> np.uint64(11)) * 2.0**-53
            target[a, i] = math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


@piece
def _aim(clock, times, t_stop, dt):
    """Cut the way to the next wanted time into equal steps no longer than dt: the times are hit, the order is kept."""
    target = min(times[clock.frame], t_stop)
    if clock.left == 0:
        clock.left = max(1, math.ceil((target - clock.t) / dt * (1.0 - 1e-12)))
        clock.h = (target - clock.t) / clock.left
    return target


@piece
def _pause(clock, goal, budget):
    """Why a loop must stop before its next step: the end of the stretch, a flag, its patience; FULL if nothing does."""
    if clock.t >= goal.t_stop:
        return ENDED
    if goal.stop[0]:
        return STOPPED
    return ON if clock.evaluations >= budget else FULL


@piece
def _finite(y, n):
    """Whether every number of a state is finite."""
    total = 0.0
    for a in range(y.shape[0]):
        for i in range(n):
            total += abs(y[a, i])
    return np.isfinite(total)


@piece
def _finish(pages, clock, h, target, on_sphere, d, n, line):
    """The trial becomes the present, on the sphere; False if it is not finite."""
    finite = _finite(pages[TRIAL], n)
    _copy(pages[TRIAL], pages[NOW])
    if on_sphere:
        retract(pages[NOW], d, n, line)
    clock.left -= 1
    clock.t = target if clock.left == 0 else clock.t + h
    clock.steps += 1
    return finite


@piece
def _emit_exact(pages, clock, times, frames, n):
    while clock.frame < times.size and times[clock.frame] <= clock.t:
        _record(pages[NOW], frames[clock.frame], n)
        clock.frame += 1


@piece
def _push(y, noise, normals, h, on_sphere, d, n, target):
    """target = noise sqrt(h) P_y normals: the tangent part of the random push (E11)."""
    c = noise * math.sqrt(h)
    for i in range(n):
        along = 0.0
        square = 1.0
        if on_sphere:
            square = 0.0
            for a in range(d):
                along += y[a, i] * normals[a, i]
                square += y[a, i] * y[a, i]
        for a in range(d):
            target[a, i] = c * (normals[a, i] - along * y[a, i] / square)


@kernel
def fixed(velocity, sums, part, terms, work, table, pages, stages, clock, times, frames, kind, on_sphere, d, goal):
    """Runge-Kutta steps of size at most goal.dt, with noise added in the sense of Stratonovich where there is some.

    Noise: one stage is Euler-Maruyama and two are Heun; the push is projected at the stages, then averaged with b.
    """
    n, count = terms.numbers.n, stages.shape[0]
    noise, line = terms.numbers.noise, work.line[0]
    budget = clock.evaluations + goal.patience
    _emit_exact(pages, clock, times, frames, n)
    while clock.frame < times.size:
        pause = _pause(clock, goal, budget)
        if pause != FULL:
            return pause
        target = _aim(clock, times, goal.t_stop, goal.dt)
        h = clock.h
        if noise > 0.0:
            _normals(goal.key, clock.steps, n, d, pages[NOW_F])
        for s in range(count):
            _combine(pages[NOW], h, table[s], stages, s, pages[TRIAL])
            velocity(sums, part, terms, work, pages[TRIAL], clock.t + h * table[s].sum(), kind, stages[s])
            if noise > 0.0:
                # The push joins the stage as a velocity push / h, so that the table weighs both alike.
                _push(pages[TRIAL], noise, pages[NOW_F], h, on_sphere, d, n, pages[NOW + 1])
                for a in range(d):
                    for i in range(n):
                        stages[s, a, i] += pages[NOW + 1, a, i] / h
        clock.evaluations += count
        _combine(pages[NOW], h, table[count], stages, count, pages[TRIAL])
        if not _finish(pages, clock, h, target, on_sphere, d, n, line):
            return NOT_FINITE
        _emit_exact(pages, clock, times, frames, n)
    return FULL


@kernel
def layers(layer, sums, part, terms, work, pages, clock, times, frames, kind, d, goal):
    """The discrete-time transformer: layer k takes the state from k dt to (k + 1) dt. SHARP: see `adaptive`."""
    n = terms.numbers.n
    budget = clock.evaluations + goal.patience
    _emit_exact(pages, clock, times, frames, n)
    while clock.frame < times.size:
        pause = _pause(clock, goal, budget)
        if pause != FULL:
            return pause
        layer(sums, part, terms, work, pages[NOW], clock.t, goal.dt, kind)
        clock.evaluations += 1
        clock.steps += 1
        clock.t = clock.steps * goal.dt
        if not _finite(pages[NOW], n):
            return NOT_FINITE
        _emit_exact(pages, clock, times, frames, n)
        if clock.steps >= goal.watch and work.late[SPREAD] <= LEVEL:
            return SHARP
    return FULL
