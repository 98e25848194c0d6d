"""The harmonic engine: velocities in time linear in n, on the circle and on S^2.

Sums over pairs become sums over waves (series.py), with prefix sums for causal masks and windows. All else is
the CPU engine: its velocities, schemes, layers and layer norms.

What it costs: the sums have ABSOLUTE errors, about 1e-16 of the mass of all tokens in sight, where pairs have relative
ones. A pull of 1e-20 on a token that has settled is lost in them. That is no matter over moderate times, and ruins
metastable ones: engine="auto" never takes it for t_end > 1e4, and implicit schemes are not for it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.arguments import warn
from tokenflock.engine.compiled.pointers import Pointer, pointer_to
from tokenflock.engine.contract import Ensemble, EnsembleEngine, Outcome, Stepper, Task
from tokenflock.engine.explicit.ensemble import CpuEnsemble, parts_of
from tokenflock.engine.explicit.stepper import CpuStepper, RightSide, by_pairs, state_of, velocity_kernel
from tokenflock.engine.explicit.steps import N_PAGES
from tokenflock.engine.explicit.terms import is_plain
from tokenflock.engine.explicit.work import part_signature, sums_signature
from tokenflock.engine.harmonic.circle import circle, circle_any
from tokenflock.engine.harmonic.cost import TOLERANCE, waves_s
from tokenflock.engine.harmonic.few import by_few_waves, few_waves
from tokenflock.engine.harmonic.series import (
    BLOCKS,
    EPS,
    GROSS,
    LOSS,
    LOST,
    LOST_BITS,
    MOST_DEGREE,
    MOST_MODES,
    N_ROWS,
    NUMBERS,
    RESCUED,
    SCALE,
    SHARE,
    SHARPNESS,
    SMALLEST,
    VALUE,
    Series,
    circle_modes,
    circle_series,
    sharpness,
    sphere_degree,
    sphere_series,
    tail_allowed,
)
from tokenflock.engine.harmonic.sphere import sphere
from tokenflock.engine.harmonic.velocity import sum_waves, waves_velocity
from tokenflock.engine.machine import threads
from tokenflock.engine.traits import traits
from tokenflock.errors import EngineError, bad
from tokenflock.geometry import Array
from tokenflock.memory import machine_bytes
from tokenflock.model import Model, kind_at
from tokenflock.options import Window
from tokenflock.schemes import TSIT5

WIDE_FROM = 4_000  # tokens from which a velocity is worth sharing among the cores
MOST_RESCUED = 0.5  # of all pairs: beyond it the engine would be a slow way to sum pairs


def series_for(model: Model, n: int, tolerance: float) -> Series:
    """The table for n tokens."""
    b, tail = sharpness(model), tail_allowed(model, n, tolerance)
    series = circle_series(b, tail) if model.dim == 2 else sphere_series(b, tail)
    scale = max(math.sqrt(0.5 * b / math.log(2.0)), 1e-10)  # that of explicit/terms.py
    series.rows[NUMBERS, [SCALE, SHARPNESS]] = scale, max(b, SMALLEST)
    return series


def _part_of(model: Model) -> Any:
    if model.dim == 3:
        return sphere
    return circle if traits(model).near else circle_any


@lru_cache
def _pointers(part: Any) -> tuple[Pointer, Pointer]:
    sums = pointer_to(sum_waves, sums_signature("float64"))
    return sums, pointer_to(part, part_signature("float64"))


def by_waves(task: Task, n: int, wide: bool, series: Series) -> RightSide:
    """The right-hand side of a task by sums over waves."""
    model = task.model
    given = by_pairs(model, n, "float64", wide, (task.dt or 0.0) if task.layers else None)
    length = series.rows.shape[1]
    tables = np.zeros((N_ROWS + BLOCKS, length))
    tables[:N_ROWS] = series.rows
    kernel = given.kernel
    if not task.layers and is_plain(model) and model.normaliser == "softmax" and model.values[0, 0, 0]:
        kernel = waves_velocity
        tables[NUMBERS, VALUE] = model.values[0, 0, 0]
    pairs = given.field.work.pairs._replace(
        tables=tables, partial=np.zeros((2, BLOCKS, length)), tile=np.zeros((4, length))
    )
    return RightSide(
        kernel,
        *_pointers(_part_of(model)),
        given.field._replace(work=given.field.work._replace(pairs=pairs)),
        wide,
    )


class HarmonicStepper(CpuStepper):
    """A run of the CPU engine whose sums over pairs are sums over waves."""

    def __init__(
        self,
        task: Task,
        x: Array,
        run: int,
        wide: bool,
        stop: NDArray[np.uint8] | None,
        tolerance: float,
        tell: Callable[[float], None],
    ) -> None:
        self._series = series_for(task.model, len(x), tolerance)
        super().__init__(task, x, by_waves(task, len(x), wide, self._series), run, stop)
        self.tables = self._right_side.field.work.pairs.tables
        self._tell = tell
        self._warned = False

    def velocity(self, y: NDArray[Any], t: float, out: NDArray[Any]) -> None:
        """One velocity of a state, as columns."""
        right = self._right_side
        if self._task.layers:
            right = dataclasses.replace(right, kernel=velocity_kernel(self._task.model))
        right.velocity(y, t, kind_at(self._task.model.norm, t), out)

    @property
    def error(self) -> float:
        """About the largest error of the attention part of a velocity so far: what the series leaves out, and the
        rounding of its sums, over the mass of a row."""
        model, n = self._task.model, int(self._right_side.field.terms.numbers["n"])
        loss, gross = (float(self.tables[NUMBERS, k]) for k in (LOSS, GROSS))
        if not traits(model).near:
            loss = min(loss, 1.0 / LOST)  # the others were summed by pairs
        size = float(np.linalg.norm(model.values, ord=2, axis=(-2, -1)).sum())
        if model.normaliser == "softmax":
            return size * ((self._series.tail + 4.0 * EPS) * loss + EPS * gross)
        b = sharpness(model)
        grown = math.exp(min(b - (model.beta if model.normaliser == "scaled-count" else 0.0), 700.0))
        return size * (self._series.tail + (12.0 + b + math.sqrt(n / BLOCKS)) * EPS) * grown

    @property
    def rescued(self) -> float:
        """The share of all pairs that had to be summed one by one."""
        rows = self._right_side.field.terms.rows[:, : int(self._right_side.field.terms.numbers["n"])]
        return float(self.tables[NUMBERS, RESCUED]) / float((rows[1] - rows[0]).sum())

    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """See contract.Stepper."""
        done = super().advance(times, frames, patience)
        self._tell(self.error)
        allowed = self._task.rtol + self._task.atol
        if self.error > allowed and not self._warned and self.outcome is not Outcome.COLLAPSED:
            self._warned = True
            told = f"velocities of this run have errors of about {self.error:.1e} since t = {self.t:.3g}"
            warn(f"engine='harmonic': {told}. For more digits use engine='cpu'.")
        return done


class HarmonicEngine(EnsembleEngine):
    """Waves instead of pairs, on the circle and on S^2. It remembers the worst error of the runs it began."""

    name = "harmonic"

    def __init__(self) -> None:
        self._worst = 0.0

    def for_call(self, model: Model, n_tokens: int) -> HarmonicEngine:
        """A fresh one, which remembers the errors of the runs of this call."""
        return HarmonicEngine()

    def evaluation_s(self, model: Model, n_tokens: int, runs: int = 1) -> float:
        """By the constants that were measured."""
        return runs * waves_s(model, n_tokens)

    def objection(self, model: Model, dtype: str) -> str | None:
        """The circle with any Q and K, S^2 with Q'K = c I, c >= 0; float64. Errors are absolute: see the module."""
        scalar = traits(model).scalar_form
        reasons = (
            (dtype != "float64", f"Its errors are absolute: it needs dtype='float64', not {dtype!r}."),
            (model.space != "sphere", f"It works on the circle and on S^2, not in space={model.space!r}."),
            (model.dim not in (2, 3), f"It works on the circle and on S^2, not in dim={model.dim}."),
            (math.isinf(model.beta), "beta=inf has no series of waves."),
            (model.bias is not None, "A bias is no function of the angle between tokens."),
            (not isinstance(model.mask, str | Window), "Of masks it knows 'causal', 'full' and flock.Window."),
            (model.frozen is not None, "It has no frozen tokens."),
            (model.masses is not None, "It counts every token once: it has no masses."),
            (model.dim == 3 and not scalar, "On S^2 it needs Q'K = c I."),
            (model.dim == 3 and model.n_heads > 1, "On S^2 it has one head."),
            (model.dim == 3 and scalar and not traits(model).near, "On S^2 it needs beta Q'K = c I with c >= 0."),
        )
        if why := next((why for wrong, why in reasons if wrong), None):
            return why
        b = sharpness(model)
        if b > 5e6 or (model.dim == 2 and circle_modes(b, 1e-16)[0] > MOST_MODES):
            return f"beta |Q'K| = {b:.3g} needs more than {MOST_MODES:,} waves. Use engine='cpu'."
        if model.dim == 3 and (b > 1e3 or sphere_degree(b, 1e-16)[0] > MOST_DEGREE):
            return f"beta |Q'K| = {b:.3g} needs waves of degree over {MOST_DEGREE}. Use engine='cpu'."
        return None

    def velocity(
        self,
        model: Model,
        x: Array,
        t: float = 0.0,
        radius: Array | None = None,
        *,
        dtype: str = "float64",
        tolerance: float = TOLERANCE,
    ) -> Array:
        """(E6) by waves, as many as the tolerance of the velocity needs."""
        if not tolerance >= EPS:
            raise bad("tolerance", tolerance, f">= {EPS:.1e}, the rounding of float64", "Raise it, or leave it out.")
        n, d = x.shape
        task = Task(model, 1.0, TSIT5, None, 1.0, 1.0, "float64", 0)
        stepper = HarmonicStepper(task, x, 0, n >= WIDE_FROM and threads() > 1, None, tolerance, self._note)
        y = state_of(model, x, "float64", radius)
        out = np.zeros_like(y)
        stepper.velocity(y, t, out)
        self._note(stepper.error)
        _refuse_if_rescued(stepper)
        return out[:d, :n].T.copy()

    def begin(
        self, task: Task, x: Array, run: int = 0, wide: bool = False, stop: NDArray[np.uint8] | None = None
    ) -> Stepper:
        """A run from x (n, d), if the first velocity is as good as the tolerances ask."""
        allowed = task.rtol + task.atol
        few = None if task.scheme is None else few_waves(task.model, len(x), allowed)
        if few is not None:
            self._worst = max(self._worst, few.error)
            return CpuStepper(task, x, by_few_waves(task, len(x), wide), run, stop)
        check_memory(task, *x.shape)
        stepper = HarmonicStepper(task, x, run, wide, stop, max(SHARE * allowed, EPS), self._note)
        y = state_of(task.model, x, task.dtype)
        stepper.velocity(y, 0.0, np.zeros_like(y))
        _refuse_if_rescued(stepper)
        if stepper.error > allowed:
            raise EngineError(
                f"engine='harmonic' would make errors of about {stepper.error:.1e} in the first velocity, more than "
                f"rtol + atol = {allowed:.1e}: the mass of some token is too small a part of what it sees. "
                "Raise rtol, or use engine='cpu', whose errors are relative."
            )
        return stepper

    def parts(self, task: Task, runs: int, n_tokens: int, held: int = 0) -> list[tuple[int, int]]:
        """Runs by few waves go together; the others are long, and watch their errors."""
        few = None if task.scheme is None else few_waves(task.model, n_tokens, task.rtol + task.atol)
        return [] if few is None else parts_of(task, runs, n_tokens, held)

    def begin_all(
        self, task: Task, starts: Array, first_run: int = 0, stop: NDArray[np.uint8] | None = None
    ) -> Ensemble:
        """Runs by few waves."""
        n = starts.shape[1]
        few = few_waves(task.model, n, task.rtol + task.atol)
        assert few is not None, "other runs go run by run"
        self._worst = max(self._worst, few.error)
        return CpuEnsemble(task, starts, lambda: by_few_waves(task, n, wide=False), first_run, stop)

    def _note(self, error: float) -> None:
        self._worst = max(self._worst, error)

    @property
    def velocity_error(self) -> float:
        """About the largest error of a velocity in all runs so far, a posteriori."""
        return self._worst

    def told(self) -> dict[str, Any]:
        """The largest error of a velocity."""
        return {"velocity_error": self._worst}


def _refuse_if_rescued(stepper: HarmonicStepper) -> None:
    """The Jacobi-Anger series of a general form fails where most rows look at places without tokens."""
    if stepper.rescued > MOST_RESCUED:
        lost = EPS * 2.0 ** min(float(stepper.tables[NUMBERS, LOST_BITS]), 52.0)
        raise EngineError(
            f"engine='harmonic' cannot run this model from these tokens: {stepper.rescued:.0%} of the pairs belong to "
            f"rows whose normaliser would lose its digits (relative error up to {lost:.0e}). "
            "Use engine='cpu', or a smaller beta."
        )


def check_memory(task: Task, n: int, d: int) -> None:
    """Refuse what the machine cannot hold, before any of it is made."""
    stages = 0 if task.scheme is None else len(task.scheme.b)
    state = d + task.model.has_radius
    needed = 8.0 * n * (state * (N_PAGES + stages) + 5 * d + 8)
    machine = machine_bytes()
    if needed > 0.8 * machine:
        given = f"{n:,} tokens, {needed / 2**30:.1f} GiB"
        advice = "Take fewer tokens, or scheme='rk4' with dt, which needs fewer stages."
        raise bad("start", given, f"what fits in the {machine / 2**30:.1f} GiB of this machine", advice)
