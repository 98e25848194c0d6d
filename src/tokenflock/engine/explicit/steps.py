"""Time stepping in compiled code: the adaptive loop, and what it shares with steps of a given size (fixed.py).

A loop runs until the frames are full, the stretch of time ends, or its patience (a number of evaluations) is used up;
everything that it needs to go on is in a RunState, so a run can pause at any step and resume with the same bits.
Tables and step control are those of engine/reference.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype, typeof, types
from numpy.typing import NDArray

from tokenflock.engine.compiled.declare import inline, kernel, pointed
from tokenflock.engine.compiled.pointers import Pointer, PointerType, pointer_to
from tokenflock.engine.explicit.velocity import retract
from tokenflock.engine.explicit.work import NUMBERS, SPHERE, Numbers, velocity_signature
from tokenflock.engine.status import BOOLEAN, COLLAPSED, ENDED, FULL, NOT_FINITE, ON, PAUSED, SMALL, STOPPED
from tokenflock.geometry import Array
from tokenflock.schemes import GROW, INTEGRAL, LEVEL, NOISE, PROPORTIONAL, SAFETY, SHRINK, STABLE

# The last four accepted states (the newest first), their velocities, and a trial state.
NODES = 4
NOW, NOW_F, TRIAL, N_PAGES = 0, NODES, 2 * NODES, 2 * NODES + 1

CLOCK = np.dtype(
    [(name, np.float64) for name in ("t", "t1", "t2", "t3", "h", "error")]
    + [(name, np.int64) for name in ("nodes", "left", "steps", "rejected", "evaluations", "frame")],
    align=True,
)


class RunState(NamedTuple):
    """Where a run is."""

    pages: Numbers  # (N_PAGES, rows, columns): states as columns
    stages: Numbers  # (stages, rows, columns) of a scheme
    clock: Any  # a record, see CLOCK


class Goal(NamedTuple):
    """What a stepping loop is asked for."""

    t_stop: float
    kind: int  # of layer norm, until t_stop
    order: int  # of the scheme
    table: NDArray[np.float64]  # (stages + 2, stages): a, b and the error weights of the scheme
    rtol: float
    atol: float
    dt: float
    collapse: float
    patience: int
    watch: int  # the step from which Boolean attention is reported
    key: np.uint64  # of the noise of this run
    stop: NDArray[np.uint8]


class Output(NamedTuple):
    """Wanted times, and the frames (len(times), n, rows) that are to be filled."""

    times: Array
    frames: Numbers


def record_types(dtype: str, kept: np.dtype[Any]) -> tuple[Any, Any, Any]:
    """The types of RunState, Goal and Output of a run in a dtype whose frames are kept in another."""
    pages, table = np.zeros((0, 0, 0), dtype=dtype), np.zeros((0, 0))
    state = RunState(pages, pages, np.zeros((), dtype=CLOCK)[()])
    goal = Goal(0.0, 0, 0, table, 0.0, 0.0, 0.0, 0.0, 0, 0, np.uint64(0), np.zeros(0, dtype=np.uint8))
    return typeof(state), typeof(goal), typeof(Output(np.zeros(0), np.zeros((0, 0, 0), dtype=kept)))


def around_steps(dtype: str, kept: np.dtype[Any]) -> tuple[Pointer, Pointer]:
    """Pointers to what adaptive steps begin with, and to what keeps the wanted times."""
    velocity, (state, goal, output) = velocity_signature(dtype), record_types(dtype, kept)
    opening = types.void(PointerType(velocity), *velocity.args[:3], state, goal)
    keeping = types.void(state, output, from_dtype(NUMBERS), types.boolean)
    return pointer_to(first_step, opening), pointer_to(emit, keeping)


@inline
def copy_state(source, target):
    """target = source."""
    for a in range(source.shape[0]):
        for i in range(source.shape[1]):
            target[a, i] = source[a, i]


@inline
def combine(y, h, weights, stages, used, target):
    """target = y + h sum_s weights[s] stages[s]."""
    for a in range(y.shape[0]):
        for i in range(y.shape[1]):
            target[a, i] = y[a, i]
        for s in range(used):
            c = y.dtype.type(h * weights[s])
            if c != 0.0:
                for i in range(y.shape[1]):
                    target[a, i] += c * stages[s, a, i]


@inline
def _node(table, s):
    """c_s of a scheme."""
    node = 0.0
    for k in range(s):
        node += table[s, k]
    return node


@inline
def record(y, frame, n):
    """A state becomes a frame."""
    for i in range(n):
        for a in range(y.shape[0]):
            frame[i, a] = y[a, i]


@inline
def _hermite(t, nodes, count, k):
    """Weights of the value and of the slope at node k, in the polynomial through the values and slopes of all nodes."""
    p, slope = 1.0, 0.0
    for j in range(count):
        if j != k:
            p *= (t - nodes[j]) / (nodes[k] - nodes[j])
            slope += 1.0 / (nodes[k] - nodes[j])
    return p * p * (1.0 - 2.0 * (t - nodes[k]) * slope), p * p * (t - nodes[k])


@inline
def _interpolate(state, numbers, t, frame):
    """The state between accepted ones: of order 8 with four nodes, and free of evaluations."""
    pages, clock, n, d = state.pages, state.clock, numbers.n, numbers.d
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
    if numbers.space == SPHERE:
        for i in range(n):
            length = 0.0
            for a in range(d):
                length += np.float64(frame[i, a]) ** 2
            length = np.sqrt(length)
            for a in range(d):
                frame[i, a] /= length


@pointed
def emit(state, output, numbers, final):
    """Record the wanted times that have been passed, one step late, so that nodes stand on both sides of them.

    Otherwise the error between steps exceeds that at the steps several times. final: no later step will come.
    """
    clock, times, frames = state.clock, output.times, output.frames
    while clock.frame < times.size and times[clock.frame] <= clock.t:
        t = times[clock.frame]
        if t == clock.t:
            record(state.pages[NOW], frames[clock.frame], numbers.n)
        elif final or (clock.nodes == NODES and t <= clock.t1):
            _interpolate(state, numbers, t, frames[clock.frame])
        else:
            return
        clock.frame += 1


@inline
def _size(v, y, numbers, goal):
    """Largest over the tokens of |v_i| / (atol + rtol |x_i|); a magnitude r counts as one more token."""
    largest, rtol, atol = 0.0, goal.rtol, goal.atol
    for i in range(numbers.n):
        length, reach = 0.0, 0.0
        for a in range(numbers.d):
            length += np.float64(v[a, i]) ** 2
            reach += np.float64(y[a, i]) ** 2
        largest = max(largest, np.sqrt(length) / (atol + rtol * np.sqrt(reach)))
        for a in range(numbers.d, v.shape[0]):
            largest = max(largest, abs(v[a, i]) / (atol + rtol * abs(y[a, i])))
        if not np.isfinite(length):
            return np.inf
    return largest


@pointed
def first_step(velocity, sums, part, field, state, goal):
    """A first step from the size of the velocity and of its change (Hairer, Norsett & Wanner II.4)."""
    pages, clock, numbers = state.pages, state.clock, field.terms.numbers
    clock.h = 0.5 * (goal.t_stop - clock.t)
    speed = _size(pages[NOW_F], pages[NOW], numbers, goal)
    if not speed > 0.0:
        return
    small = min(0.01 / (speed * (goal.atol + goal.rtol)), clock.h)
    trial = pages[TRIAL]
    for a in range(trial.shape[0]):
        for i in range(trial.shape[1]):
            trial[a, i] = pages[NOW, a, i] + trial.dtype.type(small) * pages[NOW_F, a, i]
    velocity(sums, part, field, trial, clock.t + small, goal.kind, pages[NOW_F + 1])
    clock.evaluations += 1
    for a in range(trial.shape[0]):
        for i in range(trial.shape[1]):
            trial[a, i] = (pages[NOW_F + 1, a, i] - pages[NOW_F, a, i]) / trial.dtype.type(small)
    change = max(speed, _size(trial, pages[NOW], numbers, goal))
    clock.h = min(100.0 * small, (0.01 / change) ** (1.0 / goal.order), clock.h)


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


@inline
def _accept(state, t):
    """The trial becomes the present, with the velocity of the last stage, and the other nodes age by one."""
    pages, clock = state.pages, state.clock
    for k in range(NODES - 1, 0, -1):
        copy_state(pages[NOW + k - 1], pages[NOW + k])
        copy_state(pages[NOW_F + k - 1], pages[NOW_F + k])
    copy_state(pages[TRIAL], pages[NOW])
    copy_state(state.stages[state.stages.shape[0] - 1], pages[NOW_F])
    clock.t3, clock.t2, clock.t1, clock.t = clock.t2, clock.t1, clock.t, t
    clock.nodes = min(NODES, clock.nodes + 1)
    clock.steps += 1


@inline
def _next_step(clock, t_stop):
    """The step to try: t_stop is hit, in two equal steps, so that times just before it have nodes close by."""
    left = t_stop - clock.t
    if clock.left == 0 and 2.0 * clock.h >= left:
        clock.left = 2
    if clock.left == 2 and clock.h >= 0.5 * left:
        return 0.5 * left
    if clock.left == 1 and 2.0 * clock.h >= left:  # it was half of what is left, up to rounding
        return left
    clock.left = 0
    return clock.h


@inline
def _estimate(state, weights, h, goal, pairs):
    """Size of the local error of a step, in units of the tolerance: its largest token's. inf if not finite."""
    pages, stages, n, d, rtol, atol = state.pages, state.stages, pairs.numbers.n, pairs.numbers.d, goal.rtol, goal.atol
    error, reach, largest = pairs.z[0], pairs.top[0], 0.0  # lines of scratch
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


@inline
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


@inline
def _attempt(velocity, sums, part, field, state, h, goal):
    """The stages of a step of size h, and the trial; returns the size of its error."""
    pages, stages, clock, table = state.pages, state.stages, state.clock, goal.table
    count = stages.shape[0]
    copy_state(pages[NOW_F], stages[0])
    for s in range(1, count):
        combine(pages[NOW], h, table[s], stages, s, pages[TRIAL])
        velocity(sums, part, field, pages[TRIAL], clock.t + h * _node(table, s), goal.kind, stages[s])
    clock.evaluations += count - 1
    return _estimate(state, table[count + 1], h, goal, field.work.pairs)


@inline
def _stopped(state, numbers, goal):
    """Why a loop must stop before its next step, ON if nothing stops it but its patience."""
    if state.clock.t >= goal.t_stop:
        return ENDED
    if goal.stop[0]:
        return STOPPED
    together = goal.collapse > 0.0 and spread(state.pages[NOW], numbers.d, numbers.n) <= goal.collapse**2
    return COLLAPSED if together else ON


@kernel
def adaptive(velocity, sums, part, field, state, goal, output, opening, emit):
    """Explicit steps of the size that the tolerances allow, up to goal.t_stop.

    BOOLEAN: from step goal.watch on, the rows of the last evaluation had weights 0 and 1 only (rescaled space).
    opening and emit are first_step and emit: by pointers they can be compiled by another process (first_compile.py).
    The last stage of a scheme is the velocity at the new state (FSAL).
    """
    pages, stages, clock, pairs = state.pages, state.stages, state.clock, field.work.pairs
    numbers, order, table, count = field.terms.numbers, goal.order, goal.table, stages.shape[0]
    budget = clock.evaluations + goal.patience
    if clock.nodes == 0:
        velocity(sums, part, field, pages[NOW], clock.t, goal.kind, pages[NOW_F])
        clock.evaluations += 1
        clock.nodes, clock.error = 1, 1.0
        opening(velocity, sums, part, field, state, goal)
    emit(state, output, numbers, False)
    while clock.frame < output.times.size:
        status = _stopped(state, numbers, goal)
        if status == STOPPED:
            return status  # without the frames that wait for one more step: what is kept has the bits of a whole run
        if status != ON:
            emit(state, output, numbers, True)
            return status
        if clock.evaluations >= budget:
            return PAUSED
        h = _next_step(clock, goal.t_stop)
        if clock.t + h <= clock.t:
            return SMALL if _size(pages[NOW_F], pages[NOW], numbers, goal) < np.inf else NOT_FINITE
        error = _attempt(velocity, sums, part, field, state, h, goal)
        if not error <= 1.0:
            clock.rejected += 1
            clock.left = 0
            clock.h = h * max(SHRINK, SAFETY * error ** (-1.0 / order))
            if error == np.inf and (clock.t + clock.h <= clock.t or clock.h < 1e-30):
                return NOT_FINITE
            continue
        safe = max(error, 1e-10)
        factor = SAFETY * safe ** (-PROPORTIONAL / order) * clock.error ** (INTEGRAL / order)
        if numbers.space == SPHERE:
            retract(pages[TRIAL], numbers.d, numbers.n, pairs.z)
        _accept(state, goal.t_stop if h == goal.t_stop - clock.t else clock.t + h)
        clock.error = safe
        clock.left = max(0, clock.left - 1)
        if clock.left == 0:
            clock.h = h * min(GROW, max(SHRINK, factor))
            rate = _stiffness(pages[NOW], stages, table[count - 1], table[count - 2], h, numbers.n)
            if clock.h * rate > STABLE:
                clock.h = STABLE / rate
        emit(state, output, numbers, False)
        if clock.steps >= goal.watch and pairs.call.undecided <= LEVEL:
            return BOOLEAN
    return FULL
