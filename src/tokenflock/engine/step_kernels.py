"""Time stepping in compiled code: the adaptive loop, the fixed-step loop, the noisy one and the layers.

A loop runs until the frames are full, the stretch of time ends, or its patience (a number of evaluations) is used up;
everything it needs to go on is in `pages`, `stages` and `clock`, so a run can pause at any step and resume with the
same bits. Tables and step control are those of engine/reference.py.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiling import kernel, piece, target
from tokenflock.engine.cpu_kernels import retract
from tokenflock.engine.cpu_terms import SPREAD
from tokenflock.schemes import GROW, INTEGRAL, LEVEL, NOISE, PROPORTIONAL, SAFETY, SHRINK, STABLE

ON, FULL, ENDED, SMALL, NOT_FINITE, STOPPED, COLLAPSED, SHARP = range(8)
# The last four accepted states (the newest first), their velocities, and a trial state.
NODES = 4
NOW, NOW_F, TRIAL, N_PAGES = 0, NODES, 2 * NODES, 2 * NODES + 1

CLOCK = np.dtype(
    [(name, np.float64) for name in ("t", "t1", "t2", "t3", "h", "error")]
    + [(name, np.int64) for name in ("nodes", "left", "steps", "rejected", "evaluations", "frame")],
    align=True,
)


@piece
def _copy(source, target):
    for a in range(source.shape[0]):
        for i in range(source.shape[1]):
            target[a, i] = source[a, i]


@piece
def _combine(y, h, weights, stages, used, target):
    """target = y + h sum_s weights[s] stages[s]."""
    for a in range(y.shape[0]):
        for i in range(y.shape[1]):
            target[a, i] = y[a, i]
        for s in range(used):
            c = y.dtype.type(h * weights[s])
            if c != 0.0:
                for i in range(y.shape[1]):
                    target[a, i] += c * stages[s, a, i]


@piece
def _node(table, s):
    """c_s of a scheme."""
    node = 0.0
    for k in range(s):
        node += table[s, k]
    return node


@piece
def _record(y, frame, n):
    for i in range(n):
        for a in range(y.shape[0]):
            frame[i, a] = y[a, i]


@piece
def _hermite(t, nodes, count, k):
    """Weights of the value and of the slope at node k, in the polynomial through the values and slopes of all nodes."""
    p, slope = 1.0, 0.0
    for j in range(count):
        if j != k:
            p *= (t - nodes[j]) / (nodes[k] - nodes[j])
            slope += 1.0 / (nodes[k] - nodes[j])
    return p * p * (1.0 - 2.0 * (t - nodes[k]) * slope), p * p * (t - nodes[k])


@piece
def _interpolate(pages, clock, t, on_sphere, d, frame, n):
    """The state between accepted ones: of order 8 with four nodes, and free of evaluations."""
    nodes = (clock.t, clock.t1, clock.t2, clock.t3)
    for i in range(n):
        for a in range(pages.shape[1]):
            frame[i, a] = 0.0
    for k in range(clock.nodes):
        value, slope = _hermite(t, nodes, clock.nodes, k)
        v, s = frame.dtype.type(value), frame.dtype.type(slope)
        for i in range(n):
            for a in range(pages.shape[1]):
                frame[i, a] += v * pages[NOW + k, a, i] + s * pages[NOW_F + k, a, i]
    if on_sphere:
        for i in range(n):
            length = 0.0
            for a in range(d):
                length += np.float64(frame[i, a]) ** 2
            length = np.sqrt(length)
            for a in range(d):
                frame[i, a] /= length


@target
def emit(pages, clock, times, frames, on_sphere, d, n, final):
    """Record the wanted times that have been passed, one step late, so that nodes stand on both sides of them.

    Otherwise the error between steps exceeds that at the steps several times. final: no later step will come.
    """
    while clock.frame < times.size and times[clock.frame] <= clock.t:
        t = times[clock.frame]
        if t == clock.t:
            _record(pages[NOW], frames[clock.frame], n)
        elif final or (clock.nodes == NODES and t <= clock.t1):
            _interpolate(pages, clock, t, on_sphere, d, frames[clock.frame], n)
        else:
            return
        clock.frame += 1


@piece
def _size(v, y, n, d, rtol, atol):
    """Largest over the tokens of |v_i| / (atol + rtol |x_i|); a magnitude r counts as one more token."""
    largest = 0.0
    for i in range(n):
        length, reach = 0.0, 0.0
        for a in range(d):
            length += np.float64(v[a, i]) ** 2
            reach += np.float64(y[a, i]) ** 2
        largest = max(largest, np.sqrt(length) / (atol + rtol * np.sqrt(reach)))
        for a in range(d, v.shape[0]):
            largest = max(largest, abs(v[a, i]) / (atol + rtol * abs(y[a, i])))
        if not np.isfinite(length):
            return np.inf
    return largest


@target
def first_step(velocity, sums, part, terms, work, pages, clock, kind, t_stop, d, n, order, rtol, atol):
    """A first step from the size of the velocity and of its change (Hairer, Norsett & Wanner II.4)."""
    clock.h = 0.5 * (t_stop - clock.t)
    speed = _size(pages[NOW_F], pages[NOW], n, d, rtol, atol)
    if not speed > 0.0:
        return
    small = min(0.01 / (speed * (atol + rtol)), clock.h)
    trial = pages[TRIAL]
    for a in range(trial.shape[0]):
        for i in range(trial.shape[1]):
            trial[a, i] = pages[NOW, a, i] + trial.dtype.type(small) * pages[NOW_F, a, i]
    velocity(sums, part, terms, work, trial, clock.t + small, kind, pages[NOW_F + 1])
    clock.evaluations += 1
    for a in range(trial.shape[0]):
        for i in range(trial.shape[1]):
            trial[a, i] = (pages[NOW_F + 1, a, i] - pages[NOW_F, a, i]) / trial.dtype.type(small)
    change = max(speed, _size(trial, pages[NOW], n, d, rtol, atol))
    clock.h = min(100.0 * small, (0.01 / change) ** (1.0 / order), clock.h)


@kernel
def spread(y, d, n):
    """Largest squared distance of a token from the first."""
    largest = 0.0
    for i in range(n):
        square = 0.0
        for a in range(d):
            square += np.float64(y[a, i] - y[a, 0]) ** 2
        largest = max(largest, square)
    return largest


@piece
def _accept(pages, clock, t, velocity_there):
    """The trial becomes the present, and the other nodes age by one."""
    for k in range(NODES - 1, 0, -1):
        _copy(pages[NOW + k - 1], pages[NOW + k])
        _copy(pages[NOW_F + k - 1], pages[NOW_F + k])
    _copy(pages[TRIAL], pages[NOW])
    _copy(velocity_there, pages[NOW_F])
    clock.t3, clock.t2, clock.t1, clock.t = clock.t2, clock.t1, clock.t, t
    clock.nodes = min(NODES, clock.nodes + 1)
    clock.steps += 1


@piece
def _next_step(clock, t_stop):
    """The step to try: t_stop is hit, in two equal steps, so that times just before it have nodes close by."""
    left = t_stop - clock.t
    if clock.left == 0 and 2.0 * clock.h >= left:
        clock.left = 2
    if clock.left == 2 and clock.h >= 0.5 * left:
        return 0.5 * left
    if clock.left == 1 and clock.h >= left:
        return left
    clock.left = 0
    return clock.h


@piece
def _estimate(pages, stages, weights, h, n, d, rtol, atol, line):
    """Size of the local error of a step, in units of the tolerance: its largest token's. inf if not finite."""
    error, reach, largest = line[0, 0], line[1, 0], 0.0
    for i in range(n):
        error[i] = reach[i] = 0.0
    for a in range(stages.shape[1]):
        for i in range(n):
            e = weights[0] * stages[0, a, i]
            for s in range(1, stages.shape[0]):
                e += weights[s] * stages[s, a, i]
            if a < d:
                error[i] += e * e
                reach[i] += pages[NOW, a, i] * pages[NOW, a, i]
            else:
                largest = max(largest, (h * e / (atol + rtol * pages[NOW, a, i])) ** 2)
    total = 0.0
    for i in range(n):
        ratio = h * h * error[i] / (atol + rtol * np.sqrt(reach[i])) ** 2
        total += ratio
        largest = max(largest, ratio)
    return np.sqrt(largest) if np.isfinite(total) else np.inf


@piece
def _stiffness(y, stages, last, before, h, n):
    """How fast the velocity changes between the last two stages, which stand at the same time: 0 if they coincide to
    rounding, as for tokens at rest."""
    change, gap, reach, count = 0.0, 0.0, 0.0, stages.shape[0]
    for a in range(stages.shape[1]):
        for i in range(n):
            g = (last[0] - before[0]) * stages[0, a, i]
            for s in range(1, count - 1):
                g += (last[s] - before[s]) * stages[s, a, i]
            c = stages[count - 1, a, i] - stages[count - 2, a, i]
            gap += g * g
            change += c * c
            reach += y[a, i] * y[a, i]
    floor = NOISE * (1.1920929e-07 if y.itemsize == 4 else 2.220446049250313e-16)
    return np.sqrt(change / gap) / h if h * h * gap > floor * floor * reach else 0.0


@kernel
def adaptive(
    velocity, sums, part, terms, work, table, order, pages, stages, clock, times, frames, kind, on_sphere, d, goal,
    opening, emit,
):  # fmt: skip
    """Explicit steps of the size that the tolerances allow, up to goal.t_stop.

    SHARP: from step goal.watch on, the rows of the last evaluation had weights 0 and 1 only (rescaled space).
    opening and emit are first_step and emit: by pointers they can be compiled elsewhere (ahead.py).
    table is (stages + 2, stages): a, b and the error weights; the last stage is the velocity at the new state (FSAL).
    """
    n, count = terms.numbers.n, stages.shape[0]
    rtol, atol = goal.rtol, goal.atol
    budget = clock.evaluations + goal.patience
    if clock.nodes == 0:
        velocity(sums, part, terms, work, pages[NOW], clock.t, kind, pages[NOW_F])
        clock.evaluations += 1
        clock.nodes, clock.error = 1, 1.0
        opening(velocity, sums, part, terms, work, pages, clock, kind, goal.t_stop, d, n, order, rtol, atol)
    emit(pages, clock, times, frames, on_sphere, d, n, False)
    while clock.frame < times.size:
        status = ENDED if clock.t >= goal.t_stop else STOPPED if goal.stop[0] else ON
        if status == ON and goal.collapse > 0.0 and spread(pages[NOW], d, n) <= goal.collapse**2:
            status = COLLAPSED
        if status == STOPPED:
            return status  # without the frames that wait for one more step: what is kept has the bits of a whole run
        if status != ON:
            emit(pages, clock, times, frames, on_sphere, d, n, True)
            return status
        if clock.evaluations >= budget:
            return ON
        h = _next_step(clock, goal.t_stop)
        if clock.t + h <= clock.t:
            return SMALL if _size(pages[NOW_F], pages[NOW], n, d, rtol, atol) < np.inf else NOT_FINITE
        _copy(pages[NOW_F], stages[0])
        for s in range(1, count):
            _combine(pages[NOW], h, table[s], stages, s, pages[TRIAL])
            velocity(sums, part, terms, work, pages[TRIAL], clock.t + h * _node(table, s), kind, stages[s])
        clock.evaluations += count - 1
        error = _estimate(pages, stages, table[count + 1], h, n, d, rtol, atol, work.line)
        if not error <= 1.0:
            clock.rejected += 1
            clock.left = 0
            clock.h = h * max(SHRINK, SAFETY * error ** (-1.0 / order))
            if error == np.inf and (clock.t + clock.h <= clock.t or clock.h < 1e-30):
                return NOT_FINITE
            continue
        safe = max(error, 1e-10)
        factor = SAFETY * safe ** (-PROPORTIONAL / order) * clock.error ** (INTEGRAL / order)
        last = h == goal.t_stop - clock.t
        if on_sphere:
            retract(pages[TRIAL], d, n, work.line[0])
        _accept(pages, clock, goal.t_stop if last else clock.t + h, stages[count - 1])
        clock.error = safe
        clock.left = max(0, clock.left - 1)
        if clock.left == 0:
            clock.h = h * min(GROW, max(SHRINK, factor))
            rate = _stiffness(pages[NOW], stages, table[count - 1], table[count - 2], h, n)
            if clock.h * rate > STABLE:
                clock.h = STABLE / rate
        emit(pages, clock, times, frames, on_sphere, d, n, False)
        if clock.steps >= goal.watch and work.late[SPREAD] <= LEVEL:
            return SHARP
    return FULL
