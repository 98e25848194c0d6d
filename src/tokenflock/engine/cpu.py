"""The CPU engine: explicit runs by pairs, implicit steps over long times, and the change from one to the other."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine.contract import Ensemble, EnsembleEngine, Stepper, Task
from tokenflock.engine.explicit.ensemble import CpuEnsemble, parts_of
from tokenflock.engine.explicit.stepper import CpuStepper, by_pairs, state_of, why_not_compiled
from tokenflock.engine.implicit.coalescing import CoalescingStepper, SkeletonStepper
from tokenflock.engine.implicit.stepper import ImplicitStepper
from tokenflock.engine.implicit.switching import SwitchingStepper
from tokenflock.engine.implicit.turning import TurnedStepper, turned
from tokenflock.engine.traits import INTERACTIONS, OPTIONS, traits
from tokenflock.errors import bad
from tokenflock.geometry import Array
from tokenflock.masks import has_table, is_interval, sees
from tokenflock.model import Model, kind_at, masses
from tokenflock.schemes import EXPLICIT, SKELETON, TSIT5, Rosenbrock

MOST_DENSE = 4096  # tokens of a graph up to which implicit steps hold all pairs


class CpuEngine(EnsembleEngine):
    """numba on the cores of this machine."""

    name = "cpu"
    schemes = (*EXPLICIT, "rosenbrock", "skeleton")
    pair_s = 1.5e-9
    options = OPTIONS | INTERACTIONS | {"varying", "position", "groups", "common_noise"}

    def objection(self, model: Model, dtype: str) -> str | None:
        """Positions and groups with graphs or own kernels; weights that change all the time."""
        if model.placed and (math.isinf(model.beta) and model.groups is not None):
            return "It does not know groups at beta=inf. Take engine='reference'."
        if model.placed and (not model.usual or not is_interval(model.mask) or has_table(model.bias)):
            other = "a graph or a table of biases" if model.usual else "a kernel or normaliser of its own"
            return f"It does not know positions or groups together with {other}. Take engine='reference'."
        smooth = [name for name, one in (model.varying or {}).items() if one.smooth]
        if smooth:
            advice = "Give values that are constant between knots, or take engine='reference'."
            return f"{smooth[0]} changes all the time, and it knows weights that change at some times. {advice}"
        if model.varying and (not model.usual or model.placed):
            other = "a kernel or normaliser of its own" if not model.usual else "positions or groups"
            return f"It does not know weights that change together with {other}. Take engine='reference'."
        if not model.usual and (not is_interval(model.mask) or has_table(model.bias)):
            return "It knows kernels and normalisers for masks that are intervals, and ALiBi. Use engine='reference'."
        if model.divisor.kind == "sinkhorn":
            return "It does not know normaliser='sinkhorn'. Use engine='reference'."
        return None if model.usual else why_not_compiled(model, dtype) or None

    def velocity(
        self, model: Model, x: Array, t: float = 0.0, radius: Array | None = None, *, dtype: str = "float64"
    ) -> Array:
        """(E6), (E7) or (E8) by the kernels that a run would use."""
        n, d = x.shape
        y = state_of(model, x, dtype, radius)
        out = np.zeros_like(y)
        by_pairs(model.at(t), n, dtype).velocity(y, t, kind_at(model.norm, t), out)
        return out[:d, :n].T.astype(np.float64)

    def parts(self, task: Task, runs: int, n_tokens: int, held: int = 0) -> list[tuple[int, int]]:
        """Explicit steps of a known kind go together; other runs change their steps on the way."""
        return parts_of(task, runs, n_tokens, held)

    def begin_all(
        self, task: Task, starts: Array, first_run: int = 0, stop: NDArray[np.uint8] | None = None
    ) -> Ensemble:
        """Runs that go together."""
        n, layer_step = starts.shape[1], (task.dt or 0.0) if task.layers else None
        return CpuEnsemble(
            task, starts, lambda: by_pairs(task.model, n, task.dtype, layer_step=layer_step), first_run, stop
        )

    def begin(
        self, task: Task, x: Array, run: int = 0, wide: bool = False, stop: NDArray[np.uint8] | None = None
    ) -> Stepper:
        """A run from x (n, d)."""

        def explicit(task: Task, x: Array) -> CpuStepper:
            layer_step = (task.dt or 0.0) if task.layers else None
            return CpuStepper(task, x, by_pairs(task.model, len(x), task.dtype, wide, layer_step), run, stop)

        def implicit(task: Task, scheme: Rosenbrock, x: Array) -> Stepper:
            if not is_interval(task.model.mask):
                task = dataclasses.replace(task, model=_in_masses(task.model, len(x)))
            if to := turned(task.model):
                return TurnedStepper(implicit, task, scheme, x, to)
            kind = ImplicitStepper if traits(task.model).no_bodies else CoalescingStepper
            kind = SkeletonStepper if task.scheme is SKELETON else kind
            return kind(task, scheme, x, wide, stop)

        def by_waves(task: Task, x: Array) -> CpuStepper:
            from tokenflock.engine.harmonic.cost import FEW, waves_pay
            from tokenflock.engine.harmonic.engine import HarmonicEngine  # kernels that no other run needs

            task = dataclasses.replace(task, scheme=TSIT5)
            waves = HarmonicEngine()
            if len(x) > FEW and waves.supports(task.model, task.dtype) is None and waves_pay(task, len(x)):
                begun = waves.begin(task, x, run, wide, stop)
                assert isinstance(begun, CpuStepper)
                return begun
            return explicit(task, x)

        if task.scheme is SKELETON:
            return SwitchingStepper(by_waves, implicit, task, x, always=True)

        if isinstance(task.scheme, Rosenbrock):
            return implicit(task, task.scheme, x)
        if task.auto and (is_interval(task.model.mask) or len(x) <= MOST_DENSE):
            return SwitchingStepper(explicit, implicit, task, x)
        return explicit(task, x)


def _in_masses(model: Model, n: int) -> Model:
    """The same model for implicit steps, which know graphs by masses as seen from each row: 0 is out of sight."""
    if n > MOST_DENSE:
        advice = "Take an explicit scheme: its steps take the time of the entries."
        raise bad(
            "start", f"{n} tokens with a mask that is a graph", f"at most {MOST_DENSE} for implicit steps", advice
        )
    seen = sees(model.mask, n) * masses(model, n)
    return model.with_options(mask="causal" if traits(model).causal else "full", masses=seen)
