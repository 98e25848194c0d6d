"""Steering tokens: weights u(t) = (Q, K, V)(t) of least cost, the costate, and how far they are from optimal.

    J(u) = 1/2 int_0^T |u - rest|^2 dt + weight * goal(x(T)),      x' = f(x, u),   x(0) given

u is constant on equal intervals. With H(x, p, u) = <p, f(x, u)> + 1/2 |u - rest|^2 Pontryagin's conditions are

    p' = -dH/dx,   p(T) = weight * dgoal/dx,   dH/du = 0

and H is constant along an optimal path, since nothing else depends on t. For u constant on an interval I, dJ/du_I is
the integral of dH/du over I: what the optimiser makes zero is the mean over an interval, and what is left of dH/du
inside is the price of piecewise constant controls.

The search: from many random starts first Levenberg and Marquardt's method (J is a sum of squares), then Newton's with
the whole Hessian. L-BFGS was tried from the same starts and left far behind: Q'K and V multiply each other, and the
valleys are narrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from tokenflock.errors import bad, unknown
from tokenflock.flow import Flow, Schedule
from tokenflock.geometry import Array, retract
from tokenflock.model import Model
from tokenflock.simulation import check_start, simulate

CONTROLS = ("query", "key", "value")
BELIEVED = 1e-4  # the relative error of J by the steps of the search, against `flock.simulate`

Controls = dict[str, np.ndarray]


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
        return n**0.5 * (mean - self.overlap).clamp(min=0.0)[..., None]

    def slopes(self, x: Array) -> tuple[Array, Array]:
        """e (1,) and de/dx (1, n, d) at tokens (n, d)."""
        n, e = len(x), self.misses(torch.as_tensor(x)).numpy()
        slope = (e > 0) * 2.0 / (n**0.5 * (n - 1)) * np.broadcast_to(x.sum(axis=0), x.shape)
        return e, slope[None]

    def error(self, x: Array) -> float:
        """How much the mean overlap is too large."""
        return float(self.misses(torch.as_tensor(x))) / len(x) ** 0.5


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
        if self.model.space != "sphere" or self.model.norm.kind != "post" or self.model.noise:
            advice = "Use space='sphere', layer_norm='post' and no noise."
            raise bad("model", self.model.space, "unit tokens that move by attention alone", advice)
        object.__setattr__(self, "start", check_start(self.model, self.start))
        if self.start.ndim != 2:
            raise bad("start.shape", self.start.shape, f"(n, {self.model.dim})", "One run at a time.")
        if isinstance(self.goal, Reach) and np.shape(self.goal.targets) != self.start.shape:
            raise bad("targets.shape", np.shape(self.goal.targets), str(self.start.shape), "One target for each token.")

    @property
    def length(self) -> float:
        """Of an interval."""
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
        shaped = {k: part.unflatten(-1, m.shape) for (k, m), part in zip(self.resting.items(), parts, strict=True)}
        return {k: torch.as_tensor(self.resting[k])[:, None] + u.movedim(0, 1) for k, u in shaped.items()}

    def end(self, deviation: Tensor, flow: Flow) -> Tensor:
        """x(T) of every start of the search, (starts, n, d)."""
        x = torch.as_tensor(self.start).expand(len(deviation), -1, -1)
        values = {f"varying.{name}.values": u for name, u in self.weights(deviation).items()}
        return torch.func.functional_call(flow, values, (x, self.t_end))

    def value(self, z: Tensor, flow: Flow) -> Tensor:
        """J (starts,), through which autograd passes."""
        deviation = self.deviation(z)
        e = self.goal.misses(self.end(deviation, flow))
        return 0.5 * self.length * (deviation**2).sum(dim=-1) + 0.5 * self.weight * (e**2).sum(dim=-1)

    def controls_of(self, z: Array) -> Controls:
        """u by name, (intervals, heads, ., d) each, for one z (size,)."""
        found = self.weights(self.deviation(torch.as_tensor(z)[None]))
        return {name: u[:, 0].numpy() for name, u in found.items()}

    def cost(self, u: Mapping[str, np.ndarray]) -> float:
        """1/2 int |u - rest|^2 dt."""
        return 0.5 * self.length * sum(float(((u[k] - self.resting[k]) ** 2).sum()) for k in self.controls)

    def simulated(self, u: Mapping[str, np.ndarray], start: Array | None = None, first: int = 0) -> Array:
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

    def measured(self, u: Mapping[str, np.ndarray]) -> float:
        """J by `flock.simulate`."""
        return self.cost(u) + self.aim(self.simulated(u))

    @property
    def plain(self) -> bool:
        """Whether the compiled search knows the model: one head, softmax, attention alone."""
        model = self.model
        extras = model.bias or model.feedforward or model.frozen or model.n_heads > 1
        return not extras and model.normaliser == "softmax"

    def search(self, steps: int) -> Search:
        """J and its derivatives, with `steps` steps of order 5 an interval."""
        from tokenflock.studies.searches import ByFlow, ByKernel

        return ByKernel(self, steps) if self.plain else ByFlow(self, steps)


class Search(Protocol):
    """J and its derivatives for many starts z (starts, size) at once."""

    def value(self, z: Array) -> Array:
        """J (starts,)."""
        ...

    def linear(self, z: Array) -> tuple[Array, Array, Array]:
        """J, its gradient (starts, size), and its Hessian (starts, size, size) without the curvature of the flow."""
        ...

    def curved(self, z: Array) -> tuple[Array, Array, Array]:
        """The same with the whole Hessian."""
        ...


@dataclass(frozen=True, eq=False)
class Solution:
    """The best controls of a search."""

    problem: Problem
    z: Array
    controls: Controls
    value: float  # J by the steps of the search
    measured: float  # J by flock.simulate
    cost: float
    error: float  # of the goal, by flock.simulate
    residual: float  # |mean of dH/du| / |u - rest|, both in L^2 over time
    curvature: float  # the smallest eigenvalue of the Hessian of J, over the largest
    values: Array  # J of every start after the rough search, smallest first
    steps: int

    @property
    def improvement(self) -> float:
        """J of doing nothing over J."""
        return self.problem.measured(self.problem.resting) / self.measured


def solve(problem: Problem, *, starts: int = 12, seed: int = 0, rough: int = 100, sharp: int = 50) -> Solution:
    """The best of many searches from random controls; the steps are made finer until `flock.simulate` agrees.

    rough: iterations of Levenberg and Marquardt's method for all starts; sharp: of Newton's for the best quarter.
    """
    generator = np.random.default_rng(seed)
    scale = 0.5 * np.linspace(0.2, 2.0, starts)[:, None]
    z: Array = scale * generator.standard_normal((starts, problem.size))
    z, values = _descend(problem.search(2), z, rough, newton=False)
    z = z[np.argsort(values)][: max(1, starts // 4)]
    for steps in (2, 4, 8, 16):
        z, found = _descend(problem.search(steps), z, sharp, newton=True)
        best = z[found.argmin()]
        u = problem.controls_of(best)
        measured = problem.measured(u)
        if abs(measured - found.min()) <= BELIEVED * measured:
            break
        # The search had found controls that fool its steps, not controls that steer: go on with finer ones.
        z = best[None]
    _, slope, hessian = problem.search(steps).curved(best[None])
    spectrum = np.linalg.eigvalsh(hessian[0])
    size = problem.length * float(np.linalg.norm(problem.deviation(torch.as_tensor(best)).numpy()))
    return Solution(
        problem=problem,
        z=best,
        controls=u,
        value=float(found.min()),
        measured=measured,
        cost=problem.cost(u),
        error=problem.goal.error(problem.simulated(u)),
        residual=float(np.linalg.norm(slope[0]) / max(size, 1e-300)),
        curvature=float(spectrum[0] / spectrum[-1]),
        values=np.sort(values),
        steps=steps,
    )


def _descend(search: Search, z: Array, count: int, newton: bool) -> tuple[Array, Array]:
    """Steps d that minimise <g, d> + <d, H d> / 2, each start with a reach of its own for its steps.

    Newton: H is the whole Hessian, and |d| <= reach, so that negative curvature does no harm. Otherwise H is positive
    semidefinite and is damped by I / reach. The reach grows where steps do what they foretold.
    """
    expand, least = (search.curved, 1e-16) if newton else (search.linear, 1e-3)
    z = z.copy()
    j, g, h = expand(z)
    reach, going = np.ones(len(z)), np.arange(len(z))
    for _ in range(count):
        d = np.stack([_step(g[k], h[k], float(reach[k]), newton) for k in going])
        foretold = -(np.einsum("sk,sk->s", g[going], d) + 0.5 * np.einsum("sk,skl,sl->s", d, h[going], d))
        keep = (foretold > least * np.abs(j[going])) & (reach[going] > 1e-10)
        going, d, foretold = going[keep], d[keep], foretold[keep]
        if not going.size:
            break
        new = search.value(z[going] + d)
        gain = np.where(np.isfinite(new), j[going] - new, -np.inf) / foretold
        grow = np.where(gain > 0.6, 2.5, np.where(gain < 0.25, 0.25, 1.0))
        reach[going] = np.minimum(grow * reach[going], 1e8)
        better = going[gain > 1e-3]
        if better.size:
            z[better] += d[gain > 1e-3]
            j[better], g[better], h[better] = expand(z[better])
    return z, j


def _step(g: Array, h: Array, reach: float, newton: bool) -> Array:
    """The step of one start: (H + mu I) d = -g, with mu = 1 / reach, or so large that |d| <= reach."""
    eigenvalues, basis = np.linalg.eigh(h)
    along = basis.T @ g
    if not newton:
        return -basis @ (along / (np.maximum(eigenvalues, 0.0) + 1.0 / reach))
    # Directions in which J does not change (Q -> O Q, K -> O K with O orthogonal) are left alone.
    flat = np.abs(eigenvalues) < 1e-10 * np.abs(eigenvalues).max()
    along, eigenvalues = np.where(flat, 0.0, along), np.where(flat, 1.0, eigenvalues)
    size = lambda mu: np.linalg.norm(along / (eigenvalues + mu))  # noqa: E731
    low = max(0.0, -float(eigenvalues.min()) * (1 + 1e-9))
    if eigenvalues.min() > 0 and size(0.0) <= reach:
        return -basis @ (along / eigenvalues)
    high = low + float(np.linalg.norm(along)) / reach + 1e-12
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if size(middle) > reach else (low, middle)
    return -basis @ (along / (eigenvalues + high))
