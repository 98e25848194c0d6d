"""scheme="auto" over long times: explicit steps first, and implicit ones from where these would take far fewer."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from tokenflock.engine.contract import Bodies, Outcome, Stepper, Task
from tokenflock.engine.explicit.stepper import CpuStepper
from tokenflock.engine.traits import pace
from tokenflock.geometry import Array
from tokenflock.schemes import RODAS, Rosenbrock

# By this time, with weights of order 1, clusters have formed, and steps are held by stability if ever.
LOOK_AT = 100.0
EXPLICIT_STEPS = 5_000  # an implicit run takes one or two thousand steps, at about twice the price each


class SwitchingStepper:
    """One run in two parts; see contract.Stepper. explicit and implicit begin a part of the run from its state."""

    def __init__(
        self,
        explicit: Callable[[Task, Array], CpuStepper],
        implicit: Callable[[Task, Rosenbrock, Array], Stepper],
        task: Task,
        x: Array,
        always: bool = False,  # whether the second part is implicit in any case
    ) -> None:
        self._always = always
        self._explicit, self._implicit, self._task = explicit, implicit, task
        self._look_at = LOOK_AT / pace(task.model)
        self._first = explicit(dataclasses.replace(task, auto=False, t_end=self._look_at), x)
        self._second: Stepper | None = None
        self._there = np.empty((1, *x.shape))
        self.switched = math.nan
        self.outcome: Outcome | None = None

    @property
    def _parts(self) -> tuple[Stepper, ...]:
        return (self._first,) if self._second is None else (self._first, self._second)

    @property
    def t(self) -> float:
        """The time it has reached."""
        return float(self._first.t) if self._second is None else self._look_at + self._second.t

    @property
    def steps(self) -> int:
        """Steps taken."""
        return sum(part.steps for part in self._parts)

    @property
    def rejected(self) -> int:
        """Steps tried and not taken."""
        return sum(part.rejected for part in self._parts)

    @property
    def evaluations(self) -> int:
        """Evaluations of the velocity."""
        return sum(part.evaluations for part in self._parts)

    @property
    def bodies(self) -> Bodies | None:
        """Those of the second part, at the times of the whole run."""
        told = None if self._second is None else self._second.bodies
        if told is None:
            return None
        return told._replace(mergers=tuple(m._replace(t=self._look_at + m.t) for m in told.mergers))

    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """See contract.Stepper."""
        done, budget = 0, self.evaluations + patience
        if self._second is None:
            early = times[times < self._look_at]
            if len(early):
                done = self._first.advance(early, frames[: len(early)], patience)
            if self._over() or done < len(early) or done == len(times):
                return self._filled(frames, done, frames[done - 1])
            if not self._first.advance(np.array([self._look_at]), self._there, max(budget - self.evaluations, 1)):
                self._over()
                return done
            if self._over():
                return self._filled(frames, done, self._there[0])
            if self._task.t_end <= self._look_at:  # no time is left for a second part
                frames[done:], self.outcome = self._there[0], Outcome.DONE
                return len(times)
            self._second = self._rest()
        new = self._second.advance(times[done:] - self._look_at, frames[done:], max(budget - self.evaluations, 1))
        self.outcome = self._second.outcome
        return done + new

    def _over(self) -> bool:
        """Whether the first part has ended for good; that it reached that time is no end."""
        self.outcome = None if self._first.outcome is Outcome.DONE else self._first.outcome
        return self.outcome is not None

    def _filled(self, frames: Array, done: int, last: Array) -> int:
        """How many frames are there: all of them, equal to the last one, once nothing can change any more."""
        if self.outcome is not Outcome.COLLAPSED:
            return done
        frames[done:] = last
        return len(frames)

    def _rest(self) -> Stepper:
        """The second part, from the state at that time."""
        left = self._task.t_end - self._look_at
        task = dataclasses.replace(self._task, auto=False, t_end=left)
        if self._always or left / float(self._first.h) > EXPLICIT_STEPS:
            self.switched = self._look_at
            return self._implicit(task, RODAS, self._there[0])
        return self._explicit(task, self._there[0])
