"""scheme="auto" over long times: explicit steps first, and implicit ones from where these would take far fewer."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from tokenflock.engine.contract import Outcome, Task
from tokenflock.geometry import Array
from tokenflock.schemes import RODAS

LOOK_AT = 100.0  # by this time of order 1 clusters have formed, and steps are held by stability if ever
EXPLICIT_STEPS = 5_000  # an implicit run takes one or two thousand steps, at about twice the price each


class SwitchingStepper:
    """One run in two parts; see contract.Stepper. `switched` is the time of the change, nan if there was none."""

    def __init__(self, begin: Any, task: Task, x: Array) -> None:
        self._begin, self._task = begin, task
        self._part = begin(dataclasses.replace(task, auto=False, t_end=LOOK_AT), x)
        self._past: dict[str, int] = dict.fromkeys(("steps", "rejected", "evaluations"), 0)
        self._offset = 0.0
        self._there = np.empty((1, *x.shape))
        self._waiting = True  # for the state at LOOK_AT
        self.switched = math.nan
        self.outcome: Outcome | None = None

    def __getattr__(self, name: str) -> Any:
        if name == "t":
            return self._offset + self._part.t
        if name in ("steps", "rejected", "evaluations"):
            return self._past[name] + getattr(self._part, name)
        raise AttributeError(name)

    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """See contract.Stepper."""
        done, budget = 0, self.evaluations + patience
        if self._waiting:
            early = times[times < LOOK_AT]
            if len(early):
                done = self._part.advance(early, frames[: len(early)], patience)
            if self._over() or done < len(early) or done == len(times):
                return self._filled(frames, done, frames[done - 1])
            if not self._part.advance(np.array([LOOK_AT]), self._there, max(budget - self.evaluations, 1)):
                self._over()
                return done
            if self._over():
                return self._filled(frames, done, self._there[0])
            self._go_on()
        new = self._part.advance(times[done:] - self._offset, frames[done:], max(budget - self.evaluations, 1))
        self.outcome = self._part.outcome
        return done + new

    def _over(self) -> bool:
        """Whether the first part has ended for good; reaching its own end is no end."""
        self.outcome = None if self._part.outcome is Outcome.DONE else self._part.outcome
        return self.outcome is not None

    def _filled(self, frames: Array, done: int, last: Array) -> int:
        """Frames that are there: all of them once nothing can change any more."""
        if self.outcome is not Outcome.COLLAPSED:
            return done
        frames[done:] = last
        return len(frames)

    def _go_on(self) -> None:
        """The second part, from the state at LOOK_AT."""
        for name in self._past:
            self._past[name] += getattr(self._part, name)
        step = float(self._part.h)
        left = self._task.t_end - LOOK_AT
        rest = dataclasses.replace(self._task, auto=False, t_end=left)
        if left / step > EXPLICIT_STEPS:
            rest = dataclasses.replace(rest, scheme=RODAS)
            self.switched = LOOK_AT
        self._part = self._begin(rest, self._there[0])
        self._offset, self._waiting = LOOK_AT, False
