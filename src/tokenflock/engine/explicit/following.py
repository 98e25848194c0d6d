"""Following the runs of an ensemble one after the other in compiled code: what each of its threads does."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from tokenflock.engine.compiled.atomics import take
from tokenflock.engine.compiled.declare import inline, kernel
from tokenflock.engine.compiled.pointers import Pointer, PointerType, pointer_to
from tokenflock.engine.explicit.steps import CLOCK, NOW, Goal, Output, RunState, record
from tokenflock.engine.explicit.work import Numbers
from tokenflock.engine.status import BOOLEAN, COLLAPSED, ENDED, ON, PAUSED
from tokenflock.geometry import Array

NOBODY = -1


class Shared(NamedTuple):
    """What all threads share: where the runs begin, what they fill, and how far they are."""

    starts: Array  # (runs, n, d)
    radius: float  # of every token at t = 0, where it moves
    keys: NDArray[np.uint64]  # of the noise of every run
    clocks: Any  # (runs,) records, see steps.CLOCK
    status: NDArray[np.int64]  # (runs,) why a run has ended, ON before
    filled: NDArray[np.int64]  # (runs,) its frames that are there
    queue: NDArray[np.int64]  # (1,) the next run that nobody has begun
    ends: NDArray[np.float64]  # of the stretches of smooth time
    kinds: NDArray[np.int64]  # of layer norm in each of them
    times: Array
    frames: Numbers  # (runs, times, n, rows)


class Place(NamedTuple):
    """Where one thread steps a run."""

    pages: Numbers
    stages: Numbers
    run: NDArray[np.int64]  # (1,) the run that stands here, or NOBODY
    watch: NDArray[np.int64]  # (1,) the step from which Boolean attention is reported
    end: NDArray[np.float64]  # (1,) where the steps of this run end, if that is before t_end


@inline
def _lay_down(start, radius, d, y):
    """A start becomes a state: see stepper.state_of."""
    n = start.shape[0]
    for a in range(y.shape[0]):
        for i in range(y.shape[1]):
            y[a, i] = radius if a >= d else start[i if i < n else 0, a]


@inline
def _present(place, shared, goal):
    """The run of this thread: the one that paused here, or the next that nobody has begun; NOBODY if all are."""
    if place.run[0] == NOBODY:
        r = take(shared.queue, 0)
        if r >= shared.status.size:
            return NOBODY
        _lay_down(shared.starts[r], shared.radius, shared.starts.shape[2], place.pages[NOW])
        place.run[0], place.watch[0], place.end[0] = r, goal.watch, np.inf
    return place.run[0]


@inline
def _stretch(shared, r):
    """The stretch of smooth time that run r is in."""
    k = 0
    while k + 1 < shared.ends.size and shared.clocks[r].t >= shared.ends[k]:
        k += 1
    return k


@inline
def _note(place, shared, r, status):
    """What the end of a call of a loop means for run r; ON, or a code that Python has to look at."""
    clock, frames = shared.clocks[r], shared.frames[r]
    if status == COLLAPSED:
        while clock.frame < shared.times.size:
            record(place.pages[NOW], frames[clock.frame], frames.shape[1])
            clock.frame += 1
    shared.filled[r] = clock.frame
    if status == PAUSED:
        return ON
    if status == BOOLEAN or (status == ENDED and clock.t >= place.end[0]):
        return status
    if status == ENDED and clock.t < shared.ends[shared.ends.size - 1] and clock.frame < shared.times.size:
        clock.nodes = clock.left = 0  # the next stretch begins anew
        return ON
    shared.status[r] = status
    place.run[0] = NOBODY
    return ON


@kernel
def follow_adaptive(loop, step, sums, part, field, place, goal, shared, opening, emit):
    """Runs one after the other by steps.adaptive, until all are begun or goal.patience evaluations are used up.

    BOOLEAN, and ENDED before the end of time: Python looks at the run that stands here, and calls again.
    """
    left = goal.patience
    while left > 0 and goal.stop[0] == 0:
        r = _present(place, shared, goal)
        if r == NOBODY:
            break
        state, output = RunState(place.pages, place.stages, shared.clocks[r]), Output(shared.times, shared.frames[r])
        before = shared.clocks[r].evaluations
        g, k = goal, _stretch(shared, r)  # a Goal is made here: kernels return no arrays
        own = Goal(
            min(shared.ends[k], place.end[0]),
            shared.kinds[k],
            g.order,
            g.table,
            g.rtol,
            g.atol,
            g.dt,
            g.collapse,
            left,
            place.watch[0],
            shared.keys[r],
            g.stop,
        )
        status = _note(place, shared, r, loop(step, sums, part, field, state, own, output, opening, emit))
        if status != ON:
            return status
        left -= shared.clocks[r].evaluations - before
    return ON


@kernel
def follow_fixed(loop, step, sums, part, field, place, goal, shared):
    """The same by fixed.fixed or fixed.layers."""
    left = goal.patience
    while left > 0 and goal.stop[0] == 0:
        r = _present(place, shared, goal)
        if r == NOBODY:
            break
        state, output = RunState(place.pages, place.stages, shared.clocks[r]), Output(shared.times, shared.frames[r])
        before = shared.clocks[r].evaluations
        g, k = goal, _stretch(shared, r)  # a Goal is made here: kernels return no arrays
        own = Goal(
            min(shared.ends[k], place.end[0]),
            shared.kinds[k],
            g.order,
            g.table,
            g.rtol,
            g.atol,
            g.dt,
            g.collapse,
            left,
            place.watch[0],
            shared.keys[r],
            g.stop,
        )
        status = _note(place, shared, r, loop(step, sums, part, field, state, own, output))
        if status != ON:
            return status
        left -= shared.clocks[r].evaluations - before
    return ON


@lru_cache
def follower(loop: Pointer, around: tuple[Pointer, ...], kept: np.dtype[Any]) -> Pointer:
    """What follows runs by a loop, with its last arguments, whose frames are kept in a dtype."""
    step, sums, part, field, state, goal = loop.signature.args[:6]
    pages, one = np.zeros((0, 0, 0)), np.zeros(1, dtype=np.int64)
    place = types.NamedTuple((*state.types[:2], typeof(one), typeof(one), typeof(np.zeros(1))), Place)
    shared = Shared(
        starts=pages,
        radius=0.0,
        keys=np.zeros(1, dtype=np.uint64),
        clocks=np.zeros(1, dtype=CLOCK),
        status=one,
        filled=one,
        queue=one,
        ends=np.zeros(1),
        kinds=one,
        times=np.zeros(1),
        frames=np.zeros((0, 0, 0, 0), dtype=kept),
    )
    arguments = (loop.type, step, sums, part, field, place, goal, typeof(shared))
    kernel = follow_adaptive if around else follow_fixed
    return pointer_to(kernel, types.int64(*arguments, *(PointerType(p.signature) for p in around)))
