"""A run as a function that autograd can pass: the steps of a model whose weights are handed in at every call.

Dynamics        the velocity and the step
Course          how a weight varies with time
fixed_plan      equal steps
adaptive_plan   the steps that the error control accepts
walk            the run through the steps of a plan, recorded whole or a step at a time
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from tokenflock.engine.contract import Outcome
from tokenflock.engine.randomness import key_of, normals
from tokenflock.engine.torch import velocity as torch_velocity
from tokenflock.engine.torch.terms import TorchTerms, lay_out
from tokenflock.errors import EngineError
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.schemes import Scheme
from tokenflock.stepping import Pace

HELD = 2**28  # bytes: a recorded run smaller than this is held whole; of a larger one, a step at a time
NAMES = {torch.float64: "float64", torch.float32: "float32"}

Weights = dict[str, Tensor]
Field = Callable[[Tensor, float], Tensor]
Size = Callable[[Tensor, Tensor], float]


class Step(NamedTuple):
    """One step. middle: a time inside, which says which side of a jump of the weights its ends are on."""

    t: float
    h: float
    number: int
    middle: float


class StepPlan(NamedTuple):
    """The steps of a run, and after how many of them each wanted time is reached."""

    steps: list[Step]
    marks: list[int]


class Course(NamedTuple):
    """How a weight varies: a row of values for every knot, constant from it on or linear between."""

    knots: tuple[float, ...]
    linear: bool

    def at(self, values: Tensor, t: float, middle: float) -> Tensor:
        """The weight at time t of a step with this middle."""
        k = bisect_right(self.knots, middle) - 1
        if not self.linear or k < 0 or k == len(self.knots) - 1:
            return values[max(k, 0)]
        share = (t - self.knots[k]) / (self.knots[k + 1] - self.knots[k])
        return torch.lerp(values[k], values[k + 1], share)


@dataclass(frozen=True)
class Dynamics:
    """The velocity and the step of a model for states y (runs, n, m): tokens, with magnitudes where these move."""

    model: Model
    scheme: Scheme | None  # None: layers
    courses: dict[str, Course] = field(default_factory=dict)
    seed: int = 0

    def laid_out(self, weights: Weights, y: Tensor, t: float, middle: float) -> TorchTerms:
        """The model with these weights at time t."""
        now = {k: self.courses[k].at(w, t, middle) if k in self.courses else w for k, w in weights.items()}
        return lay_out(self.model, NAMES[y.dtype], y.device, now)

    @property
    def drifting(self) -> bool:
        """Whether weights change inside a step."""
        return any(course.linear for course in self.courses.values())

    def rates(self, terms: TorchTerms, y: Tensor, t: float, middle: float) -> Tensor:
        """y', with the velocity extended off the sphere as f(x / |x|)."""
        d, model = self.model.dim, self.model
        x = torch_velocity.retract(y[..., :d]) if model.space == "sphere" else y[..., :d]
        late = torch.full((len(y),), middle >= model.norm.switch, device=y.device)
        found = torch_velocity.rates(terms, x, t, y[..., d] if model.has_radius else None, late)
        return torch.cat([found.x, found.radius[..., None]], dim=-1) if model.has_radius else found.x

    def field(self, weights: Weights, like: Tensor, middle: float) -> Field:
        """y' as a function of y and t in a stretch of time without jumps."""
        if self.drifting:
            return lambda y, t: self.rates(self.laid_out(weights, y, t, middle), y, t, middle)
        terms = self.laid_out(weights, like, middle, middle)
        return lambda y, t: self.rates(terms, y, t, middle)

    def retract(self, y: Tensor) -> Tensor:
        """Tokens back on the sphere."""
        if self.model.space != "sphere":
            return y
        d = self.model.dim
        x = torch_velocity.retract(y[..., :d])
        return torch.cat([x, y[..., d:]], dim=-1) if self.model.has_radius else x

    def tangent(self, y: Tensor, p: Tensor) -> Tensor:
        """The part of a costate p that a motion on the sphere can feel."""
        if self.model.space != "sphere":
            return p
        d = self.model.dim
        along = torch_velocity.tangent(y[..., :d], p[..., :d])
        return torch.cat([along, p[..., d:]], dim=-1)

    def step(self, weights: Weights, y: Tensor, step: Step) -> Tensor:
        """y at the end of a step. Autograd can pass."""
        if self.scheme is None:
            return self._layer(weights, y, step)
        velocity = self.field(weights, y, step.middle)
        push = self._push(y, step) if self.model.noise else None
        stages: list[Tensor] = []
        last = int(np.flatnonzero(self.scheme.b)[-1]) + 1  # later stages only estimate the error
        for a, c in zip(self.scheme.a[:last], self.scheme.c, strict=False):
            x = combined(y, stages, step.h * a)
            k = velocity(x, step.t + c * step.h)
            if push is not None:
                on_sphere = self.model.space == "sphere"
                k = k + (torch_velocity.tangent(torch_velocity.retract(x), push) if on_sphere else push) / step.h
            stages.append(k)
        return self.retract(combined(y, stages, step.h * self.scheme.b))

    def _push(self, y: Tensor, step: Step) -> Tensor:
        """(E11) The noise of a step: numbers that depend on nothing but the seed, so they have no derivative."""
        runs, n, d = y.shape
        drawn = np.stack([normals(key_of(self.seed, run), step.number, n, d) for run in range(runs)])
        return torch.as_tensor(self.model.noise * math.sqrt(step.h) * drawn, dtype=y.dtype, device=y.device)

    def _layer(self, weights: Weights, y: Tensor, step: Step) -> Tensor:
        d, terms = self.model.dim, self.laid_out(weights, y, step.t, step.middle)
        radius = y[..., d] if self.model.has_radius else torch.ones_like(y[..., 0])
        x, radius, _ = torch_velocity.layer(terms, y[..., :d], radius, step.number, step.h)
        return torch.cat([x, radius[..., None]], dim=-1) if self.model.has_radius else x


def combined(y: Tensor, stages: Sequence[Tensor], weights: Array) -> Tensor:
    """y + sum_k w_k stage_k."""
    for w, k in zip(weights, stages, strict=False):
        if w:
            y = torch.add(y, k, alpha=float(w))
    return y


def error_of_tokens(d: int, rtol: float, atol: float) -> Size:
    """The largest error of a token (or of a magnitude) in units of atol + rtol |y_i|."""

    def size(e: Tensor, y: Tensor) -> float:
        norm = torch.linalg.vector_norm
        worst = (norm(e[..., :d], dim=-1) / (atol + rtol * norm(y[..., :d], dim=-1))).max()
        extra = e[..., d:].abs() / (atol + rtol * y[..., d:].abs())
        return float(torch.maximum(worst, extra.max()) if extra.numel() else worst)

    return size


def stops(dynamics: Dynamics, begin: float, times: Sequence[float]) -> list[float]:
    """Where a step has to end: wanted times, jumps and kinks of the weights, the switch of `mix`."""
    end, norm = times[-1], dynamics.model.norm
    breaks = [knot for course in dynamics.courses.values() for knot in course.knots]
    breaks += [norm.switch] if norm.kind == "mix" else []
    return sorted({begin, *times, *(b for b in breaks if begin < b < end)})


def fixed_plan(dynamics: Dynamics, begin: float, times: Sequence[float], dt: float) -> StepPlan:
    """Equal steps of at most dt between stops; layers of exactly dt."""
    if dynamics.scheme is None:
        first, last = round(begin / dt), round(times[-1] / dt)
        steps = [Step(k * dt, dt, k, (k + 0.5) * dt) for k in range(first, last)]
        return StepPlan(steps, [round(t / dt) - first for t in times])
    steps, reached = [], {begin: 0}
    where = stops(dynamics, begin, times)
    for a, b in pairwise(where):
        count = max(1, math.ceil((b - a) / dt * (1 - 1e-12)))
        h = (b - a) / count
        steps += [Step(a + k * h, h, len(steps) + k, 0.5 * (a + b)) for k in range(count)]
        reached[b] = len(steps)
    return StepPlan(steps, [reached[t] for t in times])


@torch.no_grad()
def adaptive_plan(
    dynamics: Dynamics, weights: Weights, y: Tensor, begin: float, times: Sequence[float], rtol: float, atol: float
) -> tuple[StepPlan, list[Tensor]]:
    """The steps that the error control accepts, and the states before, between and after them.

    One step size serves all runs of an ensemble: every token of every run meets the tolerance.
    """
    pace = Pace(error_of_tokens(dynamics.model.dim, rtol, atol), dynamics.retract, combined)
    steps: list[Step] = []
    reached, states = {begin: 0}, [y]
    where = stops(dynamics, begin, times)
    for a, b in pairwise(where):
        middle = 0.5 * (a + b)
        for step in pace.march(dynamics.field(weights, y, middle), states[-1], a, b):
            steps.append(Step(step.t, step.h, len(steps), middle))
            states.append(step.y)
        reached[b] = len(steps)
    return StepPlan(steps, [reached[t] for t in times]), states


def walk(dynamics: Dynamics, weights: Weights, y: Tensor, plan: StepPlan) -> Tensor:
    """The states at the wanted times, (times, runs, n, m), through the steps of a plan.

    Autograd passes, and its gradient is that of the steps: exact to rounding, whatever the error of the steps. Unless
    the record is small, only the states between steps are held, and a step is made again when its turn comes.
    """
    again = torch.is_grad_enabled() and recorded_bytes(dynamics, y, len(plan.steps)) > HELD
    wanted = set(plan.marks)
    kept = {0: y}
    for k, step in enumerate(plan.steps, start=1):
        if again:
            y = checkpoint(dynamics.step, weights, y, step, use_reentrant=False, preserve_rng_state=False)
        else:
            y = dynamics.step(weights, y, step)
        if k in wanted:
            kept[k] = y
    frames = torch.stack([kept[k] for k in plan.marks])
    if not bool(torch.isfinite(frames.detach()).all()):
        raise EngineError(Outcome.NOT_FINITE.value)
    return frames


def recorded_bytes(dynamics: Dynamics, y: Tensor, steps: int) -> int:
    """About what autograd holds for the pairs of tokens of this many steps."""
    stages = 1 if dynamics.scheme is None else len(dynamics.scheme.b)
    arrays = (8 + 3 * dynamics.model.dim) * dynamics.model.n_heads
    return steps * stages * arrays * len(y) * y.shape[1] ** 2 * y.element_size()
