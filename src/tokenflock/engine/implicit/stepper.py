"""Implicit steps on the sphere: the scheme that goes through metastable states to the end of time.

Followers relax at rate 1 while clusters move at e^{-beta (1 - cos angle)}: an explicit step is of order 1 for ever, an
implicit one grows with the time that nothing happens. In a causal model a step is a forward substitution; for full
attention see full.py.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from tokenflock.engine.compiled.pointers import Pointer
from tokenflock.engine.contract import Bodies, Outcome, Task
from tokenflock.engine.explicit.stepper import blas
from tokenflock.engine.implicit import circle, dense, jacobian
from tokenflock.engine.implicit.full import FullAlgebra
from tokenflock.engine.implicit.stages import RosenbrockTable, Stages, retract
from tokenflock.engine.implicit.steps import CLOCK, ImplicitGoal, ImplicitRun, LastStep, integrate
from tokenflock.engine.implicit.system import System, system_of
from tokenflock.engine.implicit.velocity import pointer_to, team_of, velocity_of
from tokenflock.engine.implicit.watch import Watch, nobody
from tokenflock.engine.status import COLLAPSED, FAILED, PAUSED
from tokenflock.engine.traits import traits
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.schemes import Rosenbrock

WIDE_FROM = 1000  # tokens: below, velocities are so short that a team waits more than it helps
KEPT_BYTES = 2**29  # of attention that is kept for a step; beyond, it is made again row by row


class CompiledAlgebra(NamedTuple):
    """The algebra of steps.integrate in compiled code: pointers, so that only those in use are compiled."""

    linearise: Pointer
    solve: Pointer


def compiled_algebra(system: System, home: ModuleType) -> CompiledAlgebra:
    """That of circle.py or jacobian.py, forward substitution in a causal model, or of dense.py."""
    page = system.tangent.drives[0]
    solve = pointer_to(home.solve, system, types.float64, types.boolean, page, page)
    return CompiledAlgebra(pointer_to(home.linearise, system), solve)


def new_run(model: Model, scheme: Rosenbrock, x: Array, wide: bool) -> ImplicitRun:
    """The records of a run from x (n, d)."""
    n, d = x.shape
    velocity, tokens = velocity_of(model, x, wide)
    kept = 8 * model.n_heads * n * tokens.x.shape[1] <= KEPT_BYTES
    a, c, b, between = (np.array(table, order="C") for table in (scheme.a, scheme.c, scheme.b, scheme.dense))

    def tangents() -> Array:
        return np.zeros((n, d - 1))

    def columns() -> Array:
        return np.zeros(tokens.x.shape)

    return ImplicitRun(
        velocity,
        system_of(model, tokens, kept, dense=not traits(model).causal and n * (d - 1) <= dense.FEW),
        RosenbrockTable(a, c, b, between, scheme.gamma),
        Stages(np.zeros((len(b), n, d - 1)), tangents(), tangents(), columns(), columns()),
        LastStep(columns(), np.zeros((n, d)), tangents(), tangents(), tangents()),
    )


class ImplicitStepper:
    """One run; see contract.Stepper."""

    switched = math.nan

    def __init__(
        self,
        task: Task,
        scheme: Rosenbrock,
        x: Array,
        wide: bool = False,
        stop: NDArray[np.uint8] | None = None,
        model: Model | None = None,
    ) -> None:
        """model: that of what is at x, where it is not the model of the task."""
        self._task, self._scheme, self._spread = task, scheme, wide
        self._stop = np.zeros(1, dtype=np.uint8) if stop is None else stop
        self._watch: Watch = nobody()
        self.clock: np.record = np.zeros(1, dtype=CLOCK)[0]
        self.outcome: Outcome | None = None
        self._lay_out(model or task.model, x)

    def _lay_out(self, model: Model, x: Array) -> None:
        """Set the records of the run for a model and tokens x (n, d)."""
        self.model, self._wide = model, self._spread and len(x) >= WIDE_FROM
        self.run = new_run(model, self._scheme, x, self._wide)
        self.on_circle = model.dim == 2 and traits(model).causal and self.run.system.attention.kept
        self.algebra: CompiledAlgebra | FullAlgebra = FullAlgebra()
        if traits(model).causal:
            self.algebra = compiled_algebra(self.run.system, circle if self.on_circle else jacobian)
        elif len(self.run.system.pivots):
            self.algebra = compiled_algebra(self.run.system, dense)

    @property
    def t(self) -> float:
        """The time it has reached."""
        return float(self.clock.t)

    @property
    def steps(self) -> int:
        """Steps taken."""
        return int(self.clock.steps)

    @property
    def rejected(self) -> int:
        """Steps tried and not taken."""
        return int(self.clock.rejected)

    @property
    def evaluations(self) -> int:
        """Evaluations of the velocity; one for every Jacobian too."""
        return int(self.clock.evaluations)

    @property
    def bodies(self) -> Bodies:
        """Every token is on its own."""
        return Bodies(self.run.system.tokens.n, math.nan, never=traits(self._task.model).no_bodies or "")

    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """See contract.Stepper."""
        # Libraries factorise full matrices: on a busy machine two threads of theirs take 50 times as long as one.
        with nullcontext() if traits(self._task.model).causal else blas().limit(limits=1):
            return self._advance(times, frames, patience)

    def _advance(self, times: Array, frames: Array, patience: int) -> int:
        done, budget = 0, self.evaluations + max(patience, 1)
        while self.outcome is None:
            while done < len(times) and times[done] <= self.t:
                frames[done] = self._at(times[done])
                done += 1
            if done == len(times):
                self.outcome = Outcome.DONE if times[-1] >= self._task.t_end else None
                break
            status = self._integrate(times[done], budget - self.evaluations)
            if status == COLLAPSED:
                frames[done:] = self._tokens(self.run.system.tokens.x)
                self.outcome, done = Outcome.COLLAPSED, len(times)
            elif status in FAILED:
                self.outcome = FAILED[status]
            elif status == PAUSED:
                break
        return done

    def _integrate(self, t_next: float, patience: int) -> int:
        """Steps until t_next lies behind; many tokens of full attention take the same loop in Python."""
        task = self._task
        goal = ImplicitGoal(
            float(t_next), float(task.t_end), task.atol + task.rtol, task.collapse, patience, self._stop, self._watch
        )
        loop = integrate if isinstance(self.algebra, CompiledAlgebra) else integrate.py_func
        with team_of(self.run.velocity, self._wide):
            return int(loop(self.run, self.algebra, self.clock, goal))

    def _tokens(self, columns: Array) -> Array:
        return columns.T[: self.run.system.tokens.n]

    def _at(self, t: float) -> Array:
        """The tokens (n, d) at a time inside the last step, by the dense output of the table."""
        last, clock = self.run.last, self.clock
        s = (t - clock.before) / clock.width if clock.width else 1.0
        if t >= clock.t or s >= 1:
            return self._tokens(self.run.system.tokens.x)
        y = self.run.stages.y
        retract(last.x, last.reflections, s * (last.end + (1 - s) * (last.first + s * last.second)), y)
        return self._tokens(y)
