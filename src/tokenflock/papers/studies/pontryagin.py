"""What Pontryagin's principle says of controls that were found: the costate, dH/du, H, and all of it by differences.

See `problem` for the problem and the words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from tokenflock.engine.torch.terms import lay_out
from tokenflock.engine.torch.velocity import rates
from tokenflock.geometry import Array, retract, tangent
from tokenflock.papers.studies.problem import Controls, Problem
from tokenflock.papers.studies.searches import row_by_row

FINE = 4  # points of an interval


@dataclass(frozen=True, eq=False)
class Extremal:
    """A path with its costate. Points of an interval and its ends stand on the axes (intervals, FINE + 1)."""

    problem: Problem
    controls: Controls
    times: Array  # (points,)
    path: Array  # (points, n, d)
    costate: Array  # (points, n, d): dJ/dx(t), tangent
    hamiltonian: Array  # (intervals, FINE + 1)
    slope: Controls  # dH/du, (intervals, FINE + 1, ...)

    @property
    def pointwise(self) -> float:
        """|dH/du| / |u - rest|, both in L^2 over time: what piecewise constant controls leave."""
        simpson = np.array([1, 4, 2, 4, 1]) * self.problem.length / 12
        squares = sum((g**2).reshape(*g.shape[:2], -1).sum(axis=-1) for g in self.slope.values())
        return float(np.sqrt((squares * simpson).sum() / (2 * self.problem.cost(self.controls))))

    @property
    def variation(self) -> float:
        """How much H differs between intervals, relative to the cost a unit of time; 0 for an optimal control.

        (Not relative to H, which is -dJ/dT and may be small.)
        """
        spent = self.problem.cost(self.controls) / self.problem.t_end
        return float(np.ptp(self.hamiltonian.mean(axis=1)) / spent)

    def mean_slope(self) -> Controls:
        """The integral of dH/du over each interval, (intervals, ...): dJ/du by the costate (Simpson's rule)."""
        simpson = np.array([1, 4, 2, 4, 1]) * self.problem.length / 12
        return {name: np.einsum("f,if...->i...", simpson, g) for name, g in self.slope.items()}


def extremal(problem: Problem, u: Controls, steps: int = 2) -> Extremal:
    """The path of the controls and the costate along it, by reverse through the steps."""
    times = problem.length / FINE * np.arange(FINE * problem.intervals + 1)
    flow = problem.flow(FINE * steps)
    values = {f"varying.{name}.values": torch.as_tensor(m)[:, None] for name, m in u.items()}
    x = [torch.as_tensor(problem.start)[None].clone().requires_grad_()]
    for a, b in pairwise(times):
        x.append(torch.func.functional_call(flow, values, (x[-1], float(b)), {"t_start": float(a)}))
    aim = 0.5 * problem.weight * (problem.goal.misses(x[-1]) ** 2).sum()
    path = np.stack([one.detach().numpy()[0] for one in x])
    costate = tangent(path, np.stack([p.numpy()[0] for p in torch.autograd.grad(aim, x)]))
    inside = FINE * np.arange(problem.intervals)[:, None] + np.arange(FINE + 1)
    energy, slope = _hamiltonian(problem, u, path[inside], costate[inside])
    return Extremal(problem, u, times, path, costate, energy, slope)


def _hamiltonian(problem: Problem, u: Controls, x: Array, p: Array) -> tuple[Array, Controls]:
    """H and dH/du at tokens x with costate p, (intervals, points, n, d): every point as a run with its own weights."""
    shape = x.shape[:2]

    def runs(array: Array) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(array).reshape(-1, *array.shape[2:]))

    leaves: dict[str, Tensor] = {}
    spent = torch.zeros(int(np.prod(shape)), dtype=torch.float64)
    for name, m in u.items():
        leaves[name] = runs(np.repeat(m[:, None], shape[1], axis=1)).requires_grad_()
        rest = runs(np.repeat(problem.resting[name][:, None], shape[1], axis=1))
        spent = spent + 0.5 * ((leaves[name] - rest) ** 2).flatten(1).sum(dim=1)
    velocity = rates(lay_out(problem.model, "float64", "cpu", leaves), runs(x)).x
    energy = (runs(p) * velocity).sum(dim=(1, 2)) + spent
    slopes = torch.autograd.grad(energy.sum(), list(leaves.values()))
    found = {k: g.numpy().reshape(*shape, *g.shape[1:]) for k, g in zip(leaves, slopes, strict=True)}
    return energy.detach().numpy().reshape(shape), found


@dataclass(frozen=True)
class Differences:
    """Relative errors, all against central differences of `flock.simulate` but for the last."""

    gradient: float  # of dJ/du by reverse through the steps
    costate: float  # of p in the middle of the time
    principle: float  # of the integral of dH/du over an interval, against dJ/du by reverse


def differences(problem: Problem, z: Array, *, steps: int = 2, seed: int = 0, count: int = 3) -> Differences:
    """Check everything at 0.8 z, where the gradient is not zero, along random directions."""
    generator, z, h = np.random.default_rng(seed), 0.8 * z, 1e-4
    flow, free = problem.flow(2 * steps), torch.tensor(z[None], requires_grad=True)
    (slope,) = torch.autograd.grad(problem.value(free, flow).sum(), free)
    u = problem.controls_of(z)
    worst = [0.0, 0.0]
    for _ in range(count):
        d = generator.standard_normal(len(z)) / np.sqrt(len(z))
        ahead, behind = (problem.measured(problem.controls_of(z + e * d)) for e in (h, -h))
        worst[0] = max(worst[0], abs(float(slope[0].numpy() @ d) - (ahead - behind) / (2 * h)))
    found, middle = extremal(problem, u, steps), problem.intervals // 2
    x, p = found.path[FINE * middle], found.costate[FINE * middle]
    for _ in range(count):
        d = tangent(x, generator.standard_normal(x.shape))
        ahead, behind = (problem.aim(problem.simulated(u, retract(x + e * d), middle)) for e in (h, -h))
        worst[1] = max(worst[1], abs(float((p * d).sum()) - (ahead - behind) / (2 * h)))
    # dJ/du itself: with a bound z is not u.
    plain = replace(problem, bound=None)
    dev = np.concatenate([(u[k] - problem.resting[k]).ravel() for k in u])
    free = torch.tensor(dev[None], requires_grad=True)
    (direct,) = torch.autograd.grad(plain.value(free, flow).sum(), free)
    told = np.concatenate([g.ravel() for g in found.mean_slope().values()])
    size = float(np.linalg.norm(direct.numpy()))
    return Differences(
        gradient=worst[0] / float(np.linalg.norm(slope.numpy()) / np.sqrt(len(z))),
        costate=worst[1] / float(np.linalg.norm(p)),
        principle=float(np.linalg.norm(told - direct[0].numpy())) / size,
    )


def reachable(problem: Problem, z: Array, steps: int = 16) -> tuple[int, int, Array]:
    """In how many of the n (d - 1) directions small changes of the controls move x(T): rank, n (d - 1), and the
    singular values of dx(T)/du. Fewer than all: near this path some targets cannot be reached.

    The steps are fine, so that a direction which only the error of the scheme opens is not counted.
    """
    flow = problem.flow(steps)

    def row(copies: Tensor, unit: Tensor) -> Tensor:
        return (problem.end(problem.deviation(copies), flow).flatten(1) * unit).sum()

    jacobian = row_by_row(problem, z[None], problem.start.size, row)[0]
    values = np.linalg.svd(jacobian, compute_uv=False)
    n, d = problem.start.shape
    return int((values > 1e-5 * values[0]).sum()), n * (d - 1), values
