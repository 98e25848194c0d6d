"""The best controls of a `problem`: a search from many random starts, with steps that `flock.simulate` confirms.

First Levenberg and Marquardt's method (J is a sum of squares), then Newton's with the whole Hessian. L-BFGS was tried
from the same starts and left far behind: Q'K and V multiply each other, and the valleys are narrow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from tokenflock.geometry import Array
from tokenflock.papers.studies.problem import Controls, Problem
from tokenflock.papers.studies.searches import Objective, objective

BELIEVED = 1e-4  # the relative error of J by the steps of the search, against `flock.simulate`


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


def solve(
    problem: Problem,
    *,
    starts: int = 12,
    seed: int = 0,
    rough: int = 100,
    sharp: int = 50,
    first: Array | None = None,
) -> Solution:
    """The best of many searches from random controls; the steps are made finer until `flock.simulate` agrees.

    rough: iterations of Levenberg and Marquardt's method for all starts; sharp: of Newton's for the best quarter.
    first: controls z (size,) to search from besides.
    """
    generator = np.random.default_rng(seed)
    scale = 0.5 * np.linspace(0.2, 2.0, starts)[:, None]
    z: Array = scale * generator.standard_normal((starts, problem.size))
    z = z if first is None else np.vstack([z, first])
    z, values = _descend(objective(problem, 2), z, rough, newton=False)
    z = z[np.argsort(values)][: max(1, starts // 4)]
    for steps in (2, 4, 8, 16):
        z, found = _descend(objective(problem, steps), z, sharp, newton=True)
        best = z[found.argmin()]
        u = problem.controls_of(best)
        measured = problem.measured(u)
        if abs(measured - found.min()) <= BELIEVED * measured:
            break
        # The search had found controls that fool its steps, not controls that steer: go on with finer ones.
        z = best[None]
    _, slope, hessian = objective(problem, steps).curved(best[None])
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


def _descend(search: Objective, z: Array, count: int, newton: bool) -> tuple[Array, Array]:
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
        return np.asarray(-basis @ (along / (np.maximum(eigenvalues, 0.0) + 1.0 / reach)))
    # Directions in which J does not change (Q -> O Q, K -> O K with O orthogonal) are left alone.
    flat = np.abs(eigenvalues) < 1e-10 * np.abs(eigenvalues).max()
    along, eigenvalues = np.where(flat, 0.0, along), np.where(flat, 1.0, eigenvalues)

    def size(mu: float) -> float:
        return float(np.linalg.norm(along / (eigenvalues + mu)))

    low = max(0.0, -float(eigenvalues.min()) * (1 + 1e-9))
    if eigenvalues.min() > 0 and size(0.0) <= reach:
        return np.asarray(-basis @ (along / eigenvalues))
    high = low + float(np.linalg.norm(along)) / reach + 1e-12
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if size(middle) > reach else (low, middle)
    return np.asarray(-basis @ (along / (eigenvalues + high)))
