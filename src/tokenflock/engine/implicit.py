"""Implicit steps on the sphere: the scheme that walks through metastable states to the end of time.

Followers relax at rate 1 while clusters move at e^{-beta (1 - cos angle)}: an explicit step is of order 1 for ever, an
implicit one grows with the time that nothing happens. In a causal model a step is a forward substitution; in full
attention see implicit_full.py.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from tokenflock.engine import circle_kernels, cpu, implicit_full, implicit_kernels, stage_kernels
from tokenflock.engine.contract import Outcome, Task, sees_no_later
from tokenflock.engine.cpu_terms import is_plain, lay_out, scratch
from tokenflock.engine.step_kernels import COLLAPSED, ON, SMALL, STOPPED
from tokenflock.engine.walk_kernels import CLOCK, walk
from tokenflock.geometry import Array
from tokenflock.model import Model, is_scalar
from tokenflock.schemes import Rosenbrock

WIDE_FROM = 1000  # tokens: below, velocities are so short that a team waits more than it helps
KEPT_BYTES = 2**29  # of attention that is kept for a step; beyond, it is made again row by row


class ImplicitStepper:
    """One run; see contract.Stepper."""

    def __init__(self, task: Task, x: Array, wide: bool, stop: NDArray[np.uint8] | None) -> None:
        scheme = task.scheme
        assert isinstance(scheme, Rosenbrock)
        self._task, self._n, self._d = task, *x.shape
        self._wide = wide and self._n >= WIDE_FROM
        self._weights = (scheme.b.copy(), np.ascontiguousarray(scheme.dense))
        self._table = (np.ascontiguousarray(scheme.a), np.ascontiguousarray(scheme.c))
        self._gamma = scheme.gamma
        self._lay_out(task.model, x)
        self._make_room(len(scheme.b))
        self._point()
        self._matrix: Array | None = None
        self._clock = np.zeros((), dtype=CLOCK)
        self._stop = np.zeros(1, dtype=np.uint8) if stop is None else stop
        self.outcome: Outcome | None = None

    def _lay_out(self, model: Model, x: Array) -> None:
        """The model for the kernels: the velocity's own layout, and the matrices of the Jacobian."""
        n, d = x.shape
        terms = lay_out(model, n, "float64")
        work = scratch(model, terms, "float64")
        self._x = cpu.state_of(model, x, "float64")
        pairs = cpu.pair_pointers(model, self._wide, "float64")
        arguments = (*pairs, terms, work, self._x, types.float64, types.int64, self._x)
        self._field = (cpu.pointer_to(cpu.velocity_kernel(model), "float64", *arguments), *pairs, terms, work)
        self._form = np.ascontiguousarray(model.form * model.beta, dtype=np.float64)
        self._values = np.array(model.values, dtype=np.float64, order="C")
        self._scalar, self._rows, self._frozen = is_scalar(self._values), terms.rows, terms.frozen
        tokens = self._frozen[:d]
        self._frozen_v = np.ascontiguousarray(np.concatenate([self._values @ tokens, self._form @ tokens], axis=1))
        self._causal = sees_no_later(model)

    def _make_room(self, n_stages: int) -> None:
        """Scratch space: O(n d^2), and the attention where it fits."""
        n, d, k, heads, columns = self._n, self._d, self._d - 1, len(self._values), self._x.shape[1]
        zeros = np.zeros
        page = lambda: zeros((heads, d, columns))  # noqa: E731
        self._heads = (self._values, page(), page(), page(), self._frozen_v)
        blocks = zeros((n, k, k)), zeros((n, k, k))
        self._frame = (zeros((n, d)), zeros((heads, n, k)), zeros((heads, n, k)), *blocks, zeros(n))
        self._line = (zeros((1, columns)), zeros(self._frozen.shape[1]), zeros((7, max(8 * d, 16))))
        self._kept = 8 * heads * n * columns <= KEPT_BYTES
        self._flat = d == 2 and self._causal and self._kept  # then J itself is kept in the place of the attention
        self._attention = zeros((heads * n, columns) if self._kept else (1, 1))
        self._stages = zeros((n_stages, n, k))
        self._pages = (zeros((d, columns)), zeros((d, columns)), zeros((d, columns)), page())
        self._spare = (zeros((n, k)), zeros((n, k)))
        self._last = (zeros((d, columns)), zeros((n, d)), zeros((n, k)), zeros((n, k)), zeros((n, k)))

    def __getattr__(self, name: str) -> Any:
        if name in ("t", "steps", "rejected", "evaluations"):
            return self._clock[name].item()
        raise AttributeError(name)

    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """See contract.Stepper."""
        done, budget = 0, self.evaluations + max(patience, 1)
        while self.outcome is None:
            while done < len(times) and times[done] <= self.t:
                self._emit(times[done], frames[done])
                done += 1
            if done == len(times):
                self.outcome = Outcome.DONE if times[-1] >= self._task.t_end else None
                break
            status = self._walk(times[done], budget - self.evaluations)
            if status == COLLAPSED:
                frames[done:] = self._x.T[: self._n]
                self.outcome, done = Outcome.COLLAPSED, len(times)
            elif status in (SMALL, STOPPED):
                self.outcome = {SMALL: Outcome.SMALL, STOPPED: Outcome.INTERRUPTED}[status]
            elif status == ON:
                break
        return done

    def _walk(self, t_next: float, patience: int) -> int:
        task = self._task
        goal = (float(t_next), float(task.t_end), task.atol + task.rtol, task.collapse, patience, self._stop)
        _, _, part, terms, work = self._field
        with cpu.team(is_plain(task.model), terms, work, part) if self._wide else nullcontext():
            return self._walk_on(goal)

    def _walk_on(self, goal: tuple[Any, ...]) -> int:
        if not self._causal:
            return implicit_full.walk(self, goal)
        scheme = (self._table, self._weights, self._gamma)
        room = (self._stages, self._pages, self._spare, self._last)
        clock = self._clock[()]
        return walk(*self._field, *self._algebra, self._form, self._sight, self._memory, scheme, room, clock, goal)

    def _point(self) -> None:
        """Pointers to the two functions of the Jacobian, so that only those in use are compiled."""
        home: Any = circle_kernels if self._flat else implicit_kernels
        self._sight = (self._x, self._heads, self._rows, self._frozen, self._scalar, self._n)
        self._memory = (self._frame, self._attention, self._kept, self._line)
        given = (*self._sight[:4], types.boolean, types.int64, *self._memory[:2], types.boolean, self._line)
        page = self._spare[0]
        more = (types.float64, types.boolean, page, page, self._pages[2], self._pages[3])
        self._algebra = (
            cpu.pointer_to(home.linearise, "float64", *given),
            cpu.pointer_to(home.solve, "float64", *given, *more),
        )

    def _emit(self, t: float, frame: Array) -> None:
        """The tokens at a time inside the last step, by the dense output of the table."""
        x, v, end, first, second = self._last
        width = self._clock["width"]
        s = (t - self._clock["before"]) / width if width else 1.0
        if t >= self.t or s >= 1:
            frame[:] = self._x.T[: self._n]
            return
        page = self._pages[0]
        stage_kernels.place(x, v, self._n, s * (end + (1 - s) * (first + s * second)), page)
        frame[:] = page.T[: self._n]
