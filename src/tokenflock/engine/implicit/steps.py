"""The adaptive loop of implicit steps: compiled for causal models, and as it stands for full attention (full.py).

The loop runs until the next wanted time lies behind it, the run ends, or its patience is used up. All that it needs to
go on is in the clock and in the records of the run, so a run can pause at any step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine.compiled.declare import inline, kernel
from tokenflock.engine.explicit.steps import spread
from tokenflock.engine.implicit import stages as stage
from tokenflock.engine.implicit.stages import RosenbrockTable, Stages, combine, largest
from tokenflock.engine.implicit.system import System
from tokenflock.engine.implicit.velocity import VelocityCall
from tokenflock.engine.implicit.watch import Watch, watch_says
from tokenflock.engine.status import COLLAPSED, FULL, NOT_FINITE, ON, PAUSED, REGROUP, SMALL, STOPPED
from tokenflock.geometry import Array
from tokenflock.schemes import IMPLICIT_GROW, IMPLICIT_SHRINK, SAFETY

FAR = 1.0  # a step that moves a token by more than this (tangent of the angle) is not trusted
TINY = 1e-30  # a step below this is no step

# Time is t + carry; h is the next step to try. before and width: the begin and the size of the last step taken. ready:
# whether the system is linearised at the present tokens.
CLOCK = np.dtype(
    (
        np.record,
        [(name, np.float64) for name in ("t", "carry", "h", "last_h", "last_error", "before", "width")]
        + [(name, np.int64) for name in ("ready", "steps", "rejected", "evaluations")],
    ),
    align=True,
)


class LastStep(NamedTuple):
    """The last step taken, for its dense output."""

    x: Array  # (d, columns): the tokens at its beginning
    reflections: Array  # (n, d): their tangent planes
    end: Array  # (n, d - 1): the tangent vectors of its end
    first: Array  # (n, d - 1): the two terms of the dense output
    second: Array


class ImplicitRun(NamedTuple):
    """All records of one run."""

    velocity: VelocityCall
    system: System
    table: RosenbrockTable
    stages: Stages
    last: LastStep


class ImplicitGoal(NamedTuple):
    """What a loop of steps is asked for."""

    t_next: float  # the next wanted time
    t_end: float
    tolerance: float
    collapse: float  # the spread of the tokens at which the run has collapsed, 0: never
    patience: int  # evaluations
    stop: NDArray[np.uint8]  # a flag that others set
    watch: Watch  # over the bodies


@kernel
def halt(tokens, clock, goal, budget):
    """Whether anything speaks against another step: a code of engine/status.py."""
    if goal.stop[0]:
        return STOPPED
    if goal.collapse > 0.0 and spread(tokens.x, tokens.x.shape[0], tokens.n) <= goal.collapse * goal.collapse:
        return COLLAPSED
    if clock.evaluations >= budget:
        return PAUSED
    return REGROUP if watch_says(tokens.x, tokens.n, goal.watch, clock.steps) else ON


@kernel
def first_step(tangent, t_end):
    """A hundredth of the time in which the fastest token would turn by one radian; at most 1. 0 if one is too fast."""
    drives, most = tangent.drives, 1e-300
    for i in range(drives.shape[1]):
        square = 0.0
        for a in range(drives.shape[2]):
            speed = 0.0
            for h in range(drives.shape[0]):
                speed += drives[h, i, a]
            square += speed * speed
        if not np.isfinite(square):
            return 0.0
        most = max(most, np.sqrt(square))
    return min(0.01 / most, 1.0, t_end)


@inline
def _control(clock, h, error):
    """The next step after one of size h that was taken, from its error and from the one before (Gustafsson)."""
    error = max(error, 1e-6)
    factor = SAFETY * error**-0.25
    if clock.last_h > 0.0:
        factor = min(factor, SAFETY * h / clock.last_h * (clock.last_error / (error * error)) ** 0.25)
    clock.last_h, clock.last_error = h, error
    clock.h = h * min(IMPLICIT_GROW, max(IMPLICIT_SHRINK, factor))


@inline
def _refuse(clock, h, error):
    """The next step after one that was not taken."""
    clock.rejected += 1
    clock.h = h * (max(IMPLICIT_SHRINK, SAFETY * error**-0.25) if np.isfinite(error) else IMPLICIT_SHRINK)


@inline
def _take(x, reflections, solved, table, last, clock, h):
    """Move the tokens by the b-weighted stages, and keep what the dense output needs."""
    used = solved.shape[0]
    stage.copy(reflections, last.reflections)
    stage.copy(x, last.x)
    combine(table.b, solved, used, last.end)
    combine(table.dense[0], solved, used, last.first)
    combine(table.dense[1], solved, used, last.second)
    stage.retract(last.x, reflections, last.end, x)
    clock.before, clock.width = clock.t, h
    # A step may be far below the last digit of t, so what is rounded off is carried along.
    whole = h + clock.carry
    now = clock.t + whole
    clock.carry = whole - (now - clock.t)
    clock.t = now
    clock.steps += 1
    clock.ready = 0


@kernel
def finish(x, reflections, table, stages, last, clock, goal, h):
    """Take a step of size h whose stages are solved, or refuse it; SMALL if the next one would be too small.

    The last stage is the error estimate. Stages that could not be solved are not finite.
    """
    solved, left = stages.solved, goal.t_end - clock.t
    error = largest(solved[-1]) / goal.tolerance
    if error <= 1.0:
        combine(table.b, solved, solved.shape[0], stages.shift)
        if largest(stages.shift) > FAR:
            error = np.inf
    if error <= 1.0:
        _take(x, reflections, solved, table, last, clock, h)
        _control(clock, h, error)
        if h == left:
            clock.t = goal.t_end
        return ON
    _refuse(clock, h, error)
    return SMALL if clock.h < TINY else ON


@kernel
def integrate(run, algebra, clock, goal):
    """Steps up to goal.t_next; returns a code of engine/status.py.

    algebra: has linearise(system), which fills a system from its tokens, and solve(system, c, fresh, b, w), which
    solves (c - J) w = b; fresh is False while c and the system stay the same.
    """
    velocity, system, table, stages, last = run
    x, tangent = system.tokens.x, system.tangent
    n_stages = stages.solved.shape[0]
    budget = clock.evaluations + goal.patience
    while clock.t < goal.t_next:
        status = halt(system.tokens, clock, goal, budget)
        if status != ON:
            return status
        if clock.ready == 0:
            algebra.linearise(system)
            clock.ready = 1
            clock.evaluations += 1
            if clock.h == 0.0:
                clock.h = first_step(tangent, goal.t_end)
                if clock.h == 0.0:
                    return NOT_FINITE
        h = min(clock.h, goal.t_end - clock.t)
        for k in range(n_stages):
            stage.shift_tokens(x, tangent.reflections, table, stages, k)
            velocity.function(velocity.sums, velocity.part, velocity.field, stages.y, 0.0, 0, stages.f)
            stage.right_side(x, tangent, table, stages, h, k)
            if k == 0 and stage.at_rest(stages):
                h = goal.t_end - clock.t
                break
            algebra.solve(system, 1.0 / (h * table.gamma), k == 0, stages.right, stages.solved[k])
        clock.evaluations += n_stages
        status = finish(x, tangent.reflections, table, stages, last, clock, goal, h)
        if status != ON:
            return status
    return FULL
