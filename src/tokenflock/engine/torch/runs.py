"""Many runs on one device, what adaptive and fixed steps share: states stay there, the books are kept on the host."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tokenflock.engine.boolean import Settled, settle
from tokenflock.engine.contract import Outcome, Task
from tokenflock.engine.torch.terms import TorchTerms
from tokenflock.engine.torch.velocity import rates, retract
from tokenflock.geometry import Array
from tokenflock.stretches import stretches

NEVER = 1 << 62  # a step that does not come


class Runs:
    """Runs from starts (runs, n, d). t, steps, rejected, evaluations (runs,) and outcomes say how far each one is."""

    outcomes: list[Outcome | None]

    def __init__(self, terms: TorchTerms, task: Task, starts: Array, stop: NDArray[np.uint8] | None) -> None:
        model = task.model
        self.terms, self.task, self.d = terms, task, model.dim
        self.on_sphere, self.has_radius = model.space == "sphere", model.has_radius
        y = torch.as_tensor(starts, dtype=terms.dtype, device=terms.device)
        if self.has_radius:
            y = torch.cat([y, torch.full_like(y[..., :1], model.norm.radius)], dim=-1)
        self.y = y.clone()
        count = len(starts)
        self.index = np.arange(count)  # which run a row of y is: rows of runs that have ended are dropped
        self.t, self.outcomes = np.zeros(count), [None] * count
        self.steps, self.rejected, self.evaluations = (np.zeros(count, dtype=np.int64) for _ in range(3))
        self.stop = np.zeros(1, dtype=np.uint8) if stop is None else stop
        self.phases = list(stretches(model, task.t_end))
        self.settled: dict[int, Settled] = {}
        self.watch = np.full(count, 0 if model.space == "rescaled" else NEVER, dtype=np.int64)
        self.waited = np.full(count, 8, dtype=np.int64)

    def give_up(self, run: int) -> None:
        """See contract.Ensemble."""
        self.outcomes[run] = Outcome.SMALL

    def rates(self, y: Tensor, t: Tensor, late: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """(x', r') of states (runs, n, m), with the field extended off the sphere as f(x / |x|), and the spread."""
        x = retract(y[..., : self.d]) if self.on_sphere else y
        found = rates(self.terms, x, t, y[..., self.d] if self.has_radius else None, late)
        if not self.has_radius:
            return found.x, found.spread
        return torch.cat([found.x, found.radius[..., None]], dim=-1), found.spread

    def retract(self, y: Tensor) -> Tensor:
        """States back on the sphere."""
        if not self.on_sphere:
            return y
        x = retract(y[..., : self.d])
        return torch.cat([x, y[..., self.d :]], dim=-1) if self.has_radius else x

    def try_to_settle(self, run: int, x: Tensor) -> bool:
        """In rescaled space: is attention Boolean for good? If not, look again after twice as many steps."""
        task, t = self.task, float(self.t[run])
        found = settle(task.model, x.to(torch.float64).cpu().numpy(), t, task.t_end, task.dt if task.layers else None)
        self.watch[run], self.waited[run] = self.steps[run] + self.waited[run], 2 * self.waited[run]
        if found is not None:
            self.settled[run], self.watch[run] = found, NEVER
        return found is not None

    def finish_settled(self, times: Array, frames: Array, filled: NDArray[np.int64]) -> None:
        """The frames of runs that have settled."""
        for run, rest in self.settled.items():
            if self.outcomes[run] is not None:
                continue
            for k in range(int(filled[run]), len(times)):
                y = rest.at(float(times[k]))
                if not np.isfinite(y).all():
                    self.outcomes[run] = Outcome.NOT_FINITE
                    break
                frames[run, k], self.t[run], filled[run] = y, times[k], k + 1
            if self.outcomes[run] is None and times[-1] >= self.task.t_end:
                self.outcomes[run] = Outcome.DONE

    def left(self, times: Array, filled: NDArray[np.int64]) -> bool:
        """Whether a run has frames to fill."""
        return any(o is None and f < len(times) for o, f in zip(self.outcomes, filled, strict=True))
