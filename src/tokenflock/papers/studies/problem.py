"""What it means to steer tokens: weights u(t) = (Q, K, V)(t) of least cost that bring the tokens to a goal.

    J(u) = 1/2 int_0^T |u - rest|^2 dt + weight * goal(x(T)),      x' = f(x, u),   x(0) given

u is constant on equal intervals. With H(x, p, u) = <p, f(x, u)> + 1/2 |u - rest|^2 Pontryagin's conditions are

    p' = -dH/dx,   p(T) = weight * dgoal/dx,   dH/du = 0

and H is constant along an optimal path, since nothing else depends on t. For u constant on an interval I, dJ/du_I is
the integral of dH/du over I: what the optimiser makes zero is the mean over an interval, and what is left of dH/du
inside is the price of piecewise constant controls.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from tokenflock.errors import bad, unknown
from tokenflock.flow import Flow
from tokenflock.geometry import Array, retract
from tokenflock.model import Model
from tokenflock.request import check_start
from tokenflock.simulation import simulate
from tokenflock.varying import Schedule

CONTROLS = ("query", "key", "value")

Controls = dict[str, Array]


@dataclass(frozen=True, eq=False)
class Reach:
    """Every token at its own place: 1/2 sum_i |x_i - y_i|^2."""

    targets: Array

    def misses(self, x: Tensor) -> Tensor:
        """e (..., m) with goal = |e|^2 / 2."""
        return (x - torch.as_tensor(self.targets)).flatten(-2)

    def slopes(self, x: Array) -> tuple[Array, Array]:
        """e (m,) and de/dx (m, n, d) at tokens (n, d)."""
        return (x - self.targets).ravel(), np.eye(x.size).reshape(x.size, *x.shape)

    def error(self, x: Array) -> float:
        """The largest distance of a token from its place."""
        return float(np.linalg.norm(x - self.targets, axis=-1).max())


@dataclass(frozen=True, eq=False)
class Apart:
    """A mean overlap of pairs of tokens of at most `overlap`: n/2 times the square of what is above it."""

    overlap: float

    def misses(self, x: Tensor) -> Tensor:
        """e (..., 1) with goal = |e|^2 / 2."""
        n = x.shape[-2]
        mean = ((x.sum(dim=-2) ** 2).sum(dim=-1) - n) / (n * (n - 1))
        above: Tensor = n**0.5 * (mean - self.overlap).clamp(min=0.0)
        return above[..., None]

    def slopes(self, x: Array) -> tuple[Array, Array]:
        """e (1,) and de/dx (1, n, d) at tokens (n, d)."""
        n, e = len(x), self.misses(torch.as_tensor(x)).numpy()
        slope = (e > 0) * 2.0 / (n**0.5 * (n - 1)) * np.broadcast_to(x.sum(axis=0), x.shape)
        return e, slope[None]

    def error(self, x: Array) -> float:
        """How much the mean overlap is too large."""
        return float(self.misses(torch.as_tensor(x))) / math.sqrt(len(x))


@dataclass(frozen=True, eq=False)
class Problem:
    """What is steered, where to, until when, and what it costs.

    controls: which of query, key and value may be chosen; the others stay as in the model. rest: the weights that cost
    nothing, "zero" (then nothing moves) or "model" (the model's own). bound: the largest entry of u - rest.
    A vector z (starts, size) stands for controls; without a bound it is u - rest, with one u - rest = b tanh(z / b).
    """

    model: Model
    start: Array
    goal: Reach | Apart
    t_end: float = 2.0
    controls: tuple[str, ...] = CONTROLS
    rest: str = "zero"
    intervals: int = 8
    weight: float = 100.0
    bound: float | None = None

    def __post_init__(self) -> None:
        for name in self.controls:
            if name not in CONTROLS:
                raise unknown("control", name, CONTROLS)
        if self.rest not in ("zero", "model"):
            raise unknown("rest", self.rest, ("zero", "model"))
        if self.model.space != "sphere" or self.model.norm.kind != "post" or self.model.noisy:
            advice = "Use space='sphere', layer_norm='post' and no noise."
            raise bad("model", self.model.space, "unit tokens that move by attention alone", advice)
        object.__setattr__(self, "start", check_start(self.model, self.start))
        if self.start.ndim != 2:
            raise bad("start.shape", self.start.shape, f"(n, {self.model.dim})", "One run at a time.")
        if isinstance(self.goal, Reach) and np.shape(self.goal.targets) != self.start.shape:
            raise bad("targets.shape", np.shape(self.goal.targets), str(self.start.shape), "One target for each token.")

    @property
    def length(self) -> float:
        """The length of an interval."""
        return self.t_end / self.intervals

    @cached_property
    def resting(self) -> Controls:
        """The controls that cost nothing, (intervals, heads or 1, ., d) each."""
        factor = 1.0 if self.rest == "model" else 0.0
        own = {name: getattr(self.model, name) for name in self.controls}
        full = {name: np.eye(self.model.dim) if m is None else np.asarray(m) for name, m in own.items()}
        shaped = {name: m.reshape(-1, *m.shape[-2:]) for name, m in full.items()}
        return {name: np.repeat(factor * m[None], self.intervals, axis=0) for name, m in shaped.items()}

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return sum(m.size for m in self.resting.values())

    def flow(self, steps: int) -> Flow:
        """The tokens' motion, with `steps` steps of order 5 an interval."""
        knots = self.length * np.arange(self.intervals)
        varying = {name: Schedule(knots, m[:, None]) for name, m in self.resting.items()}
        return Flow(self.model, varying=varying, trainable=(), dt=self.length / steps)

    def deviation(self, z: Tensor) -> Tensor:
        """u - rest (starts, size)."""
        return z if self.bound is None else self.bound * torch.tanh(z / self.bound)

    def weights(self, deviation: Tensor) -> dict[str, Tensor]:
        """u by name, (intervals, starts, heads, ., d) each."""
        parts = torch.split(deviation, [m.size for m in self.resting.values()], dim=-1)
        both = zip(self.resting.items(), parts, strict=True)
        shaped = {k: part.reshape(*part.shape[:-1], *m.shape) for (k, m), part in both}
        return {k: torch.as_tensor(self.resting[k])[:, None] + u.movedim(0, 1) for k, u in shaped.items()}

    def end(self, deviation: Tensor, flow: Flow) -> Tensor:
        """x(T) of every start of the search, (starts, n, d)."""
        x = torch.as_tensor(self.start).expand(len(deviation), -1, -1)
        values = {f"varying.{name}.values": u for name, u in self.weights(deviation).items()}
        end: Tensor = torch.func.functional_call(flow, values, (x, self.t_end))
        return end

    def value(self, z: Tensor, flow: Flow) -> Tensor:
        """J (starts,), through which autograd passes."""
        deviation = self.deviation(z)
        e = self.goal.misses(self.end(deviation, flow))
        return 0.5 * self.length * (deviation**2).sum(dim=-1) + 0.5 * self.weight * (e**2).sum(dim=-1)

    def controls_of(self, z: Array) -> Controls:
        """u by name, (intervals, heads, ., d) each, for one z (size,)."""
        found = self.weights(self.deviation(torch.as_tensor(z)[None]))
        return {name: u[:, 0].numpy() for name, u in found.items()}

    def cost(self, u: Mapping[str, Array]) -> float:
        """1/2 int |u - rest|^2 dt."""
        return 0.5 * self.length * sum(float(((u[k] - self.resting[k]) ** 2).sum()) for k in self.controls)

    def simulated(self, u: Mapping[str, Array], start: Array | None = None, first: int = 0) -> Array:
        """x(T) by `flock.simulate`, interval after interval from number `first`: no torch, and tight."""
        x, end = self.start if start is None else start, self.length
        for k in range(first, self.intervals):
            own = {name: u[name][k] if u[name].shape[1] > 1 else u[name][k, 0] for name in self.controls}
            model = self.model.with_options(**own)
            run = simulate(model, x, end, times=[end], rtol=1e-10, atol=1e-12, progress=False)
            x = retract(run["x"].values[-1])
        return x

    def aim(self, x: Array) -> float:
        """weight * goal at tokens x."""
        return 0.5 * self.weight * float((self.goal.misses(torch.as_tensor(x)) ** 2).sum())

    def measured(self, u: Mapping[str, Array]) -> float:
        """J by `flock.simulate`."""
        return self.cost(u) + self.aim(self.simulated(u))

    @property
    def plain(self) -> bool:
        """Whether the compiled search knows the model: one head, softmax, attention alone."""
        model = self.model
        extras = (model.bias, model.feedforward, model.frozen, model.masses)
        return all(extra is None for extra in extras) and model.n_heads == 1 and model.normaliser == "softmax"
