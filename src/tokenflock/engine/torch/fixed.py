"""Steps of a given size of many runs at once, in torch: fixed Runge-Kutta steps, steps with noise (E11), and layers.

All runs have the same clock, so it stands on the host; a run whose tokens are no longer finite stops its own.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tokenflock.engine.contract import Outcome, Task
from tokenflock.engine.randomness import key_of
from tokenflock.engine.torch.noise import keys_of, normals
from tokenflock.engine.torch.runs import Runs
from tokenflock.engine.torch.terms import TorchTerms
from tokenflock.engine.torch.velocity import layer, retract, tangent
from tokenflock.geometry import Array
from tokenflock.schemes import LEVEL, Scheme

LOOK = 32  # steps after which the host asks whether a run is left


class FixedRuns(Runs):
    """Runs with steps of size at most dt that hit every wanted time, or with layers."""

    def __init__(
        self,
        terms: TorchTerms,
        task: Task,
        starts: Array,
        stop: NDArray[np.uint8] | None = None,
        first_run: int = 0,
    ) -> None:
        super().__init__(terms, task, starts, stop)
        assert task.dt is not None
        self._dt = task.dt
        self._keys = keys_of([key_of(task.seed, first_run + r) for r in range(len(starts))], terms.device)
        self._clock, self._h, self._to_target, self._step = 0.0, 0.0, 0, 0
        count = len(starts)
        self._finite = torch.ones(count, dtype=torch.bool, device=terms.device)
        self._last_step = torch.zeros(count, dtype=torch.int64, device=terms.device)  # of a run that ended before
        self._last_t = torch.zeros(count, dtype=torch.float64, device=terms.device)
        self._spread: Tensor | None = None

    def advance(self, times: Array, frames: Array, filled: NDArray[np.int64], patience: int) -> None:
        """See contract.Ensemble."""
        a_step = 1 if self.task.scheme is None else len(self.task.scheme.b)
        budget = self._step + -(-patience // a_step)
        self.finish_settled(times, frames, filled)
        looked, going = self._step, self._going()
        while going and (k := int(filled[going].min())) < len(times):
            if times[k] <= self._clock:
                self._keep(k, times, frames, filled)
                going = self._going()
            elif self._clock >= self.phases[0][0]:
                if len(self.phases) == 1:
                    break
                self.phases.pop(0)
                self._to_target = 0
            elif self.stop[0]:
                self._look(times, frames, filled)
                for run in self._going():
                    self.outcomes[run] = Outcome.INTERRUPTED
                break
            elif self._step >= budget:
                break
            else:
                self._one_step(min(float(times[k]), self.phases[0][0]))
                if self._spread is not None or self._step - looked >= LOOK:
                    looked = self._step
                    self._look(times, frames, filled)
                    going = self._going()
        self._look(times, frames, filled)
        if times[-1] >= self.task.t_end:
            for run in self._going():
                if filled[run] == len(times):
                    self.outcomes[run] = Outcome.DONE

    def _going(self) -> list[int]:
        return [r for r, outcome in enumerate(self.outcomes) if outcome is None and r not in self.settled]

    def _look(self, times: Array, frames: Array, filled: NDArray[np.int64]) -> None:
        """Read which runs are still finite, and where the others ended."""
        finite = self._finite.cpu().numpy()
        steps, t = self._last_step.cpu().numpy(), self._last_t.cpu().numpy()
        a_step = 1 if self.task.scheme is None else len(self.task.scheme.b)
        for run in self._going():
            self.steps[run], self.t[run] = (self._step, self._clock) if finite[run] else (steps[run], t[run])
            self.evaluations[run] = a_step * self.steps[run]
            if not finite[run]:
                self.outcomes[run] = Outcome.NOT_FINITE
        if self._spread is None:
            return
        sharp = (self._spread <= LEVEL).cpu().numpy()
        for run in self._going():
            # A layer's weights are those before it, as in the other engines: the run settles from the state after.
            if sharp[run] and self.steps[run] >= self.watch[run]:
                self.try_to_settle(run, self.y[run, :, : self.d])
        self.finish_settled(times, frames, filled)

    def _keep(self, k: int, times: Array, frames: Array, filled: NDArray[np.int64]) -> None:
        """The present state is the frame of a wanted time."""
        self._look(times, frames, filled)
        going = [run for run in self._going() if filled[run] == k]
        if len(going) == len(frames):
            frames[:, k] = self.y.cpu().numpy()
        elif going:
            frames[going, k] = self.y[torch.as_tensor(going, device=self.y.device)].cpu().numpy()
        filled[going] = k + 1

    def _one_step(self, target: float) -> None:
        if self.task.scheme is None:
            self._layer()
        else:
            self._runge_kutta(target)
        self._step += 1
        finite = self.y.isfinite().all(dim=2).all(dim=1)
        self._last_step = torch.where(self._finite, self._step, self._last_step)
        self._last_t = torch.where(self._finite, self._clock, self._last_t)
        self._finite = self._finite & finite

    def _layer(self) -> None:
        radius = self.y[..., self.d] if self.has_radius else torch.ones_like(self.y[..., 0])
        x, radius, self._spread = layer(self.terms, self.y[..., : self.d], radius, self._step, self._dt)
        self.y = torch.cat([x, radius[..., None]], dim=-1) if self.has_radius else x
        self._clock = (self._step + 1) * self._dt

    def _runge_kutta(self, target: float) -> None:
        """A step of at most dt on the way to target; noise joins the stages as a velocity push / h."""
        scheme, noise = self.task.scheme, self.task.model.noise
        assert isinstance(scheme, Scheme)
        if self._to_target == 0:
            self._to_target = max(1, math.ceil((target - self._clock) / self._dt * (1.0 - 1e-12)))
            self._h = (target - self._clock) / self._to_target
        h, n = self._h, self.y.shape[1]
        push = None
        if noise:
            push = (noise * math.sqrt(h) * normals(self._keys, self._step, n, self.d)).to(self.y.dtype)
        late = None
        if self.task.model.norm.kind == "mix" and self.on_sphere:
            late = torch.full((len(self.y),), self.phases[0][1] == "pre", device=self.y.device)
        stages: list[Tensor] = []
        for a, c in zip(scheme.a, scheme.c, strict=True):
            y = self.y
            for w, k in zip(a, stages, strict=False):
                y = y + (h * float(w)) * k if w else y
            t = torch.full((len(y),), self._clock + float(c) * h, dtype=torch.float64, device=y.device)
            stage, _ = self.rates(y, t, late)
            if push is not None:
                stage = stage + (tangent(retract(y), push) if self.on_sphere else push) / h
            stages.append(stage)
        y = self.y
        for w, k in zip(scheme.b, stages, strict=True):
            y = y + (h * float(w)) * k
        self.y = self.retract(y)
        self._to_target -= 1
        self._clock = target if self._to_target == 0 else self._clock + h
