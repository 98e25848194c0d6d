"""J of a `problem` and its derivatives, for the search of `steering`: compiled, or by `flock.Flow`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from tokenflock.geometry import Array
from tokenflock.masks import visible
from tokenflock.papers.studies import steering_kernels as kernels
from tokenflock.papers.studies.problem import CONTROLS, Controls, Problem
from tokenflock.schemes import TSIT5

COPIES = 2**13  # pairs of tokens of copies that run at once
BUMP = 1e-5  # for differences of the exact gradient


class Objective(Protocol):
    """J and its derivatives for many starts z (starts, size) at once."""

    def value(self, z: Array) -> Array:
        """J of every start, (starts,)."""
        ...

    def linear(self, z: Array) -> tuple[Array, Array, Array]:
        """J, its gradient (starts, size), and its Hessian (starts, size, size) without the curvature of the flow."""
        ...

    def curved(self, z: Array) -> tuple[Array, Array, Array]:
        """J, its gradient, and its whole Hessian."""
        ...


def objective(problem: Problem, steps: int) -> Objective:
    """J and its derivatives, with `steps` steps of order 5 an interval."""
    return ByKernel(problem, steps) if problem.plain else ByFlow(problem, steps)


class ByKernel:
    """By the compiled steps and their reverse; the Hessian by differences of the gradient."""

    def __init__(self, problem: Problem, steps: int) -> None:
        self.problem, self.steps = problem, steps
        last = int(np.flatnonzero(TSIT5.b)[-1]) + 1
        self.table = np.ascontiguousarray(TSIT5.a[:last, :last]), np.ascontiguousarray(TSIT5.b[:last])
        self.interval = visible(problem.model.mask, len(problem.start))
        eye = np.eye(problem.model.dim)
        own = {name: getattr(problem.model, name) for name in CONTROLS}
        self.own = {name: eye if m is None else m.reshape(-1, problem.model.dim) for name, m in own.items()}

    def _parts(self, z: Array) -> tuple[Array, Array, Controls]:
        """u - rest (size,), d(u - rest)/dz (size,), and Q, K, V (intervals, ., d)."""
        bound, p = self.problem.bound, self.problem
        dev = z if bound is None else bound * np.tanh(z / bound)
        slope = np.ones_like(z) if bound is None else 1 - (dev / bound) ** 2
        u = {name: np.repeat(m[None], p.intervals, axis=0) for name, m in self.own.items()}
        first = 0
        for name, rest in p.resting.items():
            u[name] = rest[:, 0] + dev[first : first + rest.size].reshape(rest[:, 0].shape)
            first += rest.size
        return dev, slope, u

    def _forward(self, u: Controls) -> tuple[Array, kernels.Motion]:
        """The states after every step, and the motion that they come from."""
        B = self.problem.model.beta * np.swapaxes(u["query"], 1, 2) @ u["key"]
        V = np.ascontiguousarray(u["value"])
        motion = kernels.Motion(B, V, *self.interval, self.problem.length / self.steps, self.steps, *self.table)
        states = np.empty((self.problem.intervals * self.steps + 1, *self.problem.start.shape))
        kernels.forward(motion, self.problem.start, states)
        return states, motion

    def _backward(self, u: Controls, states: Array, motion: kernels.Motion, p: Array) -> Array:
        """The derivative (size,) of what has the derivative p at x(T)."""
        gB, gV = np.zeros_like(motion.B), np.zeros_like(motion.V)
        kernels.backward(motion, states, p.copy(), gB, gV)
        beta = self.problem.model.beta
        found = {"query": beta * u["key"] @ np.swapaxes(gB, 1, 2), "key": beta * u["query"] @ gB, "value": gV}
        return np.concatenate([found[name].ravel() for name in self.problem.controls])

    def _gradient(self, z: Array) -> tuple[float, Array]:
        p = self.problem
        dev, slope, u = self._parts(z)
        states, motion = self._forward(u)
        e, down = p.goal.slopes(states[-1])
        pulled = self._backward(u, states, motion, p.weight * np.tensordot(e, down, axes=1))
        return 0.5 * (p.length * float(dev @ dev) + p.weight * float(e @ e)), slope * (p.length * dev + pulled)

    def value(self, z: Array) -> Array:
        """J of every start, (starts,)."""
        found = []
        for one in z:
            dev, _, u = self._parts(one)
            e, _ = self.problem.goal.slopes(self._forward(u)[0][-1])
            found.append(0.5 * (self.problem.length * float(dev @ dev) + self.problem.weight * float(e @ e)))
        return np.array(found)

    def linear(self, z: Array) -> tuple[Array, Array, Array]:
        """See `Objective`."""
        p, hessians = self.problem, []
        for one in z:
            _, slope, u = self._parts(one)
            states, motion = self._forward(u)
            rows = [slope * self._backward(u, states, motion, down) for down in p.goal.slopes(states[-1])[1]]
            hessians.append(p.weight * np.array(rows).T @ np.array(rows) + np.diag(p.length * slope**2))
        both = [self._gradient(one) for one in z]
        return np.array([j for j, _ in both]), np.stack([g for _, g in both]), np.stack(hessians)

    def curved(self, z: Array) -> tuple[Array, Array, Array]:
        """See `Objective`."""
        both = [self._gradient(one) for one in z]
        hessian = np.stack([self._differences(one) for one in z])
        return np.array([j for j, _ in both]), np.stack([g for _, g in both]), hessian

    def _differences(self, z: Array) -> Array:
        bumps = BUMP * np.eye(self.problem.size)
        rows = np.stack([self._gradient(z + d)[1] - self._gradient(z - d)[1] for d in bumps]) / (2 * BUMP)
        return 0.5 * (rows + rows.T)


class ByFlow:
    """By `flock.Flow`: every model, exact second derivatives, all starts as one ensemble with weights of their own."""

    def __init__(self, problem: Problem, steps: int) -> None:
        self.problem, self.flow = problem, problem.flow(steps)

    def value(self, z: Array) -> Array:
        """J of every start, (starts,)."""
        with torch.no_grad():
            return self.problem.value(torch.as_tensor(z), self.flow).numpy()

    def linear(self, z: Array) -> tuple[Array, Array, Array]:
        """See `Objective`."""
        p, flow = self.problem, self.flow
        with torch.no_grad():
            deviation = p.deviation(torch.as_tensor(z))
            miss, dev = p.goal.misses(p.end(deviation, flow)).numpy(), deviation.numpy()

        def row(copies: Tensor, unit: Tensor) -> Tensor:
            return (p.goal.misses(p.end(p.deviation(copies), flow)) * unit).sum()

        jac = row_by_row(p, z, miss.shape[-1], row)
        slope = np.ones_like(dev) if p.bound is None else 1 - (dev / p.bound) ** 2
        value = 0.5 * (p.length * (dev**2).sum(axis=-1) + p.weight * (miss**2).sum(axis=-1))
        gradient = p.length * slope * dev + p.weight * np.einsum("smk,sm->sk", jac, miss)
        hessian = p.weight * np.swapaxes(jac, 1, 2) @ jac
        hessian[:, np.arange(p.size), np.arange(p.size)] += p.length * slope**2
        return value, gradient, hessian

    def curved(self, z: Array) -> tuple[Array, Array, Array]:
        """See `Objective`."""
        p, flow = self.problem, self.flow
        free = torch.tensor(z, requires_grad=True)
        value = p.value(free, flow)
        (gradient,) = torch.autograd.grad(value.sum(), free)

        def row(copies: Tensor, unit: Tensor) -> Tensor:
            (slope,) = torch.autograd.grad(p.value(copies, flow).sum(), copies, create_graph=True)
            return (slope * unit).sum()

        h = row_by_row(p, z, p.size, row)
        return value.detach().numpy(), gradient.numpy(), 0.5 * (h + np.swapaxes(h, 1, 2))


def row_by_row(problem: Problem, z: Array, count: int, row: Callable[[Tensor, Tensor], Tensor]) -> Array:
    """A Jacobian (starts, count, size): each row from a copy of its start, all copies as runs of one ensemble."""
    copies = torch.as_tensor(z).repeat_interleave(count, dim=0)
    units = torch.eye(count, dtype=torch.float64).repeat(len(z), 1)
    at_once = max(1, COPIES // problem.start.shape[0] ** 2)
    rows = []
    for some, unit in zip(torch.split(copies, at_once), torch.split(units, at_once), strict=True):
        free = some.clone().requires_grad_()
        rows.append(torch.autograd.grad(row(free, unit), free)[0])
    return torch.cat(rows).reshape(len(z), count, problem.size).numpy()
