"""The harmonic engine: velocities in time linear in n, on the circle and on S^2.

Sums over pairs become sums over waves (harmonic_tables.py), with prefix sums for causal masks and windows. All else is
the CPU engine: its velocities, schemes, layers and layer norms.

What it costs: the sums have ABSOLUTE errors, about 1e-16 of the mass of all tokens in sight, where pairs have relative
ones. A pull of 1e-20 on a token that has settled is lost in them. That is no matter over moderate times, and ruins
metastable ones: engine="auto" never takes it for t_end > 1e4, and implicit schemes are not for it.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine import circle_harmonics, harmonic_kernels, sphere_harmonics
from tokenflock.engine.circle_harmonics import LOST
from tokenflock.engine.contract import Outcome, Task, is_near
from tokenflock.engine.cpu import CpuStepper, state_of, team, velocity_kernel
from tokenflock.engine.cpu_terms import KINDS, Work, is_plain
from tokenflock.engine.harmonic_kernels import BLOCKS, FLAT, TABLES
from tokenflock.engine.harmonic_tables import (
    EPS,
    GROSS,
    LOSS,
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
    registers,
    sharpness,
    sphere_degree,
    sphere_series,
)
from tokenflock.engine.machine import threads
from tokenflock.engine.pointers import Pointer, part_signature, sums_signature
from tokenflock.engine.small_waves import SmallWavesStepper, is_small
from tokenflock.engine.step_kernels import N_PAGES
from tokenflock.engine.sums_kernels import new_desk
from tokenflock.errors import EngineError, bad
from tokenflock.geometry import Array
from tokenflock.model import Model, is_scalar, kind_at
from tokenflock.schemes import TSIT5, Rosenbrock

TOLERANCE = 1e-13  # of a velocity, when none is given
WIDE_FROM = 4_000  # tokens from which a velocity is worth sharing among the cores
MOST_RESCUED = 0.5  # of all pairs: beyond it the engine would be a slow way to sum pairs


def worst_error(n: int) -> float:
    """About the error of a velocity in the worst case: a token that sees n others, all in one place far away."""
    return 2.0 * EPS * n * (FLAT + math.sqrt(n / BLOCKS))


def _tail(model: Model, n: int, tolerance: float) -> float:
    """What a pair may miss so that a velocity keeps the tolerance.

    The mass of a row is at least 1, its own token's, against n tokens in sight; for a general form `circle_any` sees to
    it that it is at least LOST n.
    """
    if model.normaliser != "softmax":
        return 0.5 * tolerance
    return 0.5 * tolerance * (1.0 / n if is_near(model) else LOST)


def series_for(model: Model, n: int, tolerance: float) -> Series:
    """The table for n tokens."""
    b, tail = sharpness(model), _tail(model, n, tolerance)
    series = circle_series(b, tail) if model.dim == 2 else sphere_series(b, tail)
    scale = max(math.sqrt(0.5 * b / math.log(2.0)), 1e-10)  # that of cpu_terms
    series.rows[NUMBERS, [SCALE, SHARPNESS]] = scale, max(b, SMALLEST)
    return series


def registers_for(model: Model, n: int, tolerance: float = TOLERANCE) -> int:
    """Registers of waves for every token: what a velocity costs, over n."""
    return registers(model.dim, sharpness(model), _tail(model, n, tolerance))


def _part_of(model: Model) -> Any:
    if model.dim == 3:
        return sphere_harmonics.sphere
    return circle_harmonics.circle if is_near(model) else circle_harmonics.circle_any


@lru_cache
def _pointer(function: Any, signature: Any) -> Pointer:
    return Pointer(function, signature)


def _harmonic_work(work: Work, series: Series) -> Work:
    """Scratch space with the table and room for the sums of every block."""
    length = series.rows.shape[1]
    share = np.zeros((3, N_ROWS + BLOCKS, length))
    share[TABLES, :N_ROWS] = series.rows
    return work._replace(share=share, tile=np.zeros((4, length)), desk=new_desk())


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
        super().__init__(task, x, run, wide, stop)
        self._tell = tell
        model = task.model
        self._series = series_for(model, len(x), tolerance)
        self._work = _harmonic_work(self._work, self._series)
        if self._kernel is harmonic_kernels.waves_velocity:
            self._work.share[TABLES, NUMBERS, VALUE] = model.values[0, 0, 0]
        self._warned = False

    def _kernels(self, wide: bool) -> tuple[tuple[Pointer, Pointer], Any]:
        model = self._task.model
        sums = harmonic_kernels.lead_harmonic if wide else harmonic_kernels.alone_harmonic
        whole = is_plain(model) and model.normaliser == "softmax" and model.values[0, 0, 0]
        waves = whole and self._task.scheme is not None
        self._kernel = harmonic_kernels.waves_velocity if waves else velocity_kernel(model)
        pairs = _pointer(sums, sums_signature("float64")), _pointer(_part_of(model), part_signature("float64"))
        return pairs, self._kernel

    def velocity(self, y: NDArray[Any], t: float, out: NDArray[Any]) -> None:
        """One velocity of a state, as columns."""
        kind = KINDS[kind_at(self._task.model.norm, t)]
        with team(is_plain(self._task.model), self._terms, self._work, self._pairs[1]) if self._wide else nullcontext():
            self._kernel(*self._pairs, self._terms, self._work, y, t, kind, out)

    @property
    def error(self) -> float:
        """About the largest error of the attention part of a velocity so far: what the series leaves out, and the
        rounding of its sums, over the mass of a row."""
        model, n = self._task.model, int(self._terms.numbers["n"])
        loss, gross = (float(self._work.share[TABLES, NUMBERS, k]) for k in (LOSS, GROSS))
        if not is_near(model):
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
        rows = self._terms.rows[:, : int(self._terms.numbers["n"])]
        return float(self._work.share[TABLES, NUMBERS, RESCUED]) / float((rows[1] - rows[0]).sum())

    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """See contract.Stepper."""
        done = super().advance(times, frames, patience)
        self._tell(self.error)
        allowed = self._task.rtol + self._task.atol
        if self.error > allowed and not self._warned and self.outcome is not Outcome.COLLAPSED:
            self._warned = True
            told = f"velocities of this run have errors of about {self.error:.1e} since t = {self.t:.3g}"
            warnings.warn(f"engine='harmonic': {told}. For more digits use engine='cpu'.", stacklevel=2)
        return done


class HarmonicEngine:
    """Waves instead of pairs, on the circle and on S^2. It remembers the worst error of the runs it began."""

    name = "harmonic"

    pair_s = 1e-11

    def __init__(self) -> None:
        self._worst = 0.0

    def for_tokens(self, pairs: float, seconds: float) -> HarmonicEngine:
        """A fresh one that says what a pair costs when so many of them take so long: the runner asks in pairs."""
        engine = HarmonicEngine()
        engine.pair_s = seconds / pairs
        return engine

    def supports(self, model: Model, dtype: str) -> str | None:
        """The circle with any Q and K, S^2 with Q'K = c I, c >= 0; float64. Errors are absolute: see the module."""
        scalar = is_scalar(model.form)
        reasons = (
            (dtype != "float64", f"Its errors are absolute: it needs dtype='float64', not {dtype!r}."),
            (model.space != "sphere", f"It works on the circle and on S^2, not in space={model.space!r}."),
            (model.dim not in (2, 3), f"It works on the circle and on S^2, not in dim={model.dim}."),
            (math.isinf(model.beta), "beta=inf has no series of waves."),
            (model.bias is not None, "An ALiBi bias is no function of the angle between tokens."),
            (model.frozen is not None, "It has no frozen tokens."),
            (model.dim == 3 and not scalar, "On S^2 it needs Q'K = c I."),
            (model.dim == 3 and model.n_heads > 1, "On S^2 it has one head."),
            (model.dim == 3 and scalar and not is_near(model), "On S^2 it needs beta Q'K = c I with c >= 0."),
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
        self, model: Model, x: Array, t: float = 0.0, radius: Array | None = None, tolerance: float = TOLERANCE
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
    ) -> CpuStepper:
        """A run from x (n, d), if the first velocity is as good as the tolerances ask."""
        if isinstance(task.scheme, Rosenbrock):
            raise EngineError("engine='harmonic' has explicit schemes only. Use engine='cpu' for scheme='rosenbrock'.")
        check_memory(task, *x.shape)
        allowed = task.rtol + task.atol
        if is_small(task, len(x)):
            small = SmallWavesStepper(task, x, run, wide, stop)
            self._note(small.error)
            return small
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

    def _note(self, error: float) -> None:
        self._worst = max(self._worst, error)

    @property
    def velocity_error(self) -> float:
        """About the largest error of a velocity in all runs so far, a posteriori."""
        return self._worst


def _refuse_if_rescued(stepper: HarmonicStepper) -> None:
    """The Jacobi-Anger series of a general form fails where most rows look at places without tokens."""
    if stepper.rescued > MOST_RESCUED:
        lost = EPS * 2.0 ** min(float(stepper._work.share[TABLES, NUMBERS, LOST_BITS]), 52.0)
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
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > 0.8 * machine:
        given = f"{n:,} tokens, {needed / 2**30:.1f} GiB"
        advice = "Take fewer tokens, or scheme='rk4' with dt, which needs fewer stages."
        raise bad("start", given, f"what fits in the {machine / 2**30:.1f} GiB of this machine", advice)
