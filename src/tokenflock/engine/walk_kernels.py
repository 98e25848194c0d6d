"""The adaptive loop of implicit steps in compiled code, for models in which nobody sees later tokens.

It walks until the next wanted time lies behind it, the run ends, or its patience is used up; all it needs to go on is
in `clock` and in the arrays, so a run can pause at any step. The last step is kept (`last`) for its dense output.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiling import kernel
from tokenflock.engine.implicit_kernels import LOG2E
from tokenflock.engine.stage_kernels import largest, mixture, place, right_side
from tokenflock.engine.step_kernels import COLLAPSED, FULL, ON, SMALL, STOPPED, spread

SAFETY, SHRINK, GROW = 0.9, 0.15, 8.0
FAR = 1.0  # a step that moves a token by more than this (tangent of the angle) is not trusted
TINY = 1e-30  # a step below this is no step

CLOCK = np.dtype(
    [(name, np.float64) for name in ("t", "carry", "h", "last_h", "last_error", "before", "width")]
    + [(name, np.int64) for name in ("ready", "steps", "rejected", "evaluations")],
    align=True,
)


@kernel
def prepare(x, form, heads):
    """V x, beta B' x in units of log 2 and beta B x of every head."""
    values, vx, u, r, _ = heads
    d = x.shape[0]
    for h in range(values.shape[0]):
        for a in range(d):
            for i in range(x.shape[1]):
                vx[h, a, i] = u[h, a, i] = r[h, a, i] = 0.0
            for b in range(d):
                for i in range(x.shape[1]):
                    vx[h, a, i] += values[h, a, b] * x[b, i]
                    u[h, a, i] += LOG2E * form[h, b, a] * x[b, i]
                    r[h, a, i] += form[h, a, b] * x[b, i]


@kernel
def first_step(pulls, homes, t_end):
    """A hundredth of the time in which the fastest token would turn by one radian; at most 1."""
    most = 1e-300
    for i in range(pulls.shape[1]):
        square = 0.0
        for a in range(pulls.shape[2]):
            speed = 0.0
            for h in range(pulls.shape[0]):
                speed += pulls[h, i, a] + homes[h, i, a]
            square += speed * speed
        most = max(most, np.sqrt(square))
    return min(0.01 / most, 1.0, t_end)


@kernel
def control(clock, h, error):
    """The next step after one of size h that was taken, from its error and from the one before (Gustafsson)."""
    error = max(error, 1e-6)
    factor = SAFETY * error**-0.25
    if clock.last_h > 0.0:
        factor = min(factor, SAFETY * h / clock.last_h * (clock.last_error / (error * error)) ** 0.25)
    clock.last_h, clock.last_error = h, error
    clock.h = h * min(GROW, max(SHRINK, factor))


@kernel
def refuse(clock, h, error):
    """The next step after one that was not taken."""
    clock.rejected += 1
    clock.h = h * (max(SHRINK, SAFETY * error**-0.25) if np.isfinite(error) else SHRINK)


@kernel
def take(clock, x, v, n, h, stages, b, dense, last):
    """Move the tokens by b-weighted stages, and keep what the dense output needs: (x, v, end, first, second)."""
    old_x, old_v, end, first, second = last
    for i in range(n):
        for a in range(end.shape[1]):
            end[i, a] = first[i, a] = second[i, a] = 0.0
        for a in range(v.shape[1]):
            old_v[i, a] = v[i, a]
    for a in range(x.shape[0]):
        for i in range(x.shape[1]):
            old_x[a, i] = x[a, i]
    mixture(b, stages, stages.shape[0], 1.0, end)
    mixture(dense[0], stages, stages.shape[0], 1.0, first)
    mixture(dense[1], stages, stages.shape[0], 1.0, second)
    place(old_x, v, n, end, x)
    clock.before, clock.width = clock.t, h
    # A step may be far below the last digit of t, so what is rounded off is carried along.
    whole = h + clock.carry
    now = clock.t + whole
    clock.carry = whole - (now - clock.t)
    clock.t = now
    clock.steps += 1
    clock.ready = 0


@kernel
def reach(stages, b, shift):
    """How far the step would move a token."""
    for i in range(shift.shape[0]):
        for a in range(shift.shape[1]):
            shift[i, a] = 0.0
    mixture(b, stages, stages.shape[0], 1.0, shift)
    return largest(shift)


@kernel
def walk(velocity, sums, part, terms, work, linearise, solve, form, sight, memory, scheme, room, clock, goal):
    """Steps up to goal.t_next. goal: (t_next, t_end, tolerance, collapse, patience, stop).

    linearise and solve are those of circle_kernels or of implicit_kernels, and so are their arguments: sight is (x,
    heads, rows, frozen, scalar, n), memory (frame, attention, kept, line). A block that is singular leaves nan.
    scheme: ((a, c), (b, dense), gamma); room: (stages, pages, spare, last).
    """
    x, heads, rows, frozen, scalar, n = sight
    frame, attention, kept, line = memory
    table, weights, gamma = scheme
    stages, pages, spare, last = room
    t_next, t_end, tolerance, collapse, patience, stop = goal
    b, dense = weights
    shift, right = spare
    y, f, lifted, lifted_v = pages
    budget = clock.evaluations + patience
    while clock.t < t_next:
        if stop[0]:
            return STOPPED
        if collapse > 0.0 and spread(x, x.shape[0], n) <= collapse * collapse:
            return COLLAPSED
        if clock.evaluations >= budget:
            return ON
        if clock.ready == 0:
            prepare(x, form, heads)
            linearise(x, heads, rows, frozen, scalar, n, frame, attention, kept, line)
            clock.ready = 1
            clock.evaluations += 1
            if clock.h == 0.0:
                clock.h = first_step(frame[1], frame[2], t_end)
        left = t_end - clock.t
        h = min(clock.h, left)
        for k in range(stages.shape[0]):
            right_side(velocity, sums, part, terms, work, x, frame, n, table, h, k, stages, shift, y, f, right)
            c = 1.0 / (h * gamma)
            solve(
                x,
                heads,
                rows,
                frozen,
                scalar,
                n,
                frame,
                attention,
                kept,
                line,
                c,
                k == 0,
                right,
                stages[k],
                lifted,
                lifted_v,
            )
        clock.evaluations += stages.shape[0]
        error = largest(stages[stages.shape[0] - 1]) / tolerance
        if error <= 1.0 and reach(stages, b, spare[0]) > FAR:
            error = np.inf
        if error <= 1.0:
            take(clock, x, frame[0], n, h, stages, b, dense, last)
            control(clock, h, error)
            if h == left:
                clock.t = t_end
        else:
            refuse(clock, h, error)
            if clock.h < TINY:
                return SMALL
    return FULL
