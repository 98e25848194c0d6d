"""The adjoint equation: p' = -(df/dy)^T p backwards in time, and g' = -(df/dw)^T p beside it for every weight w.

It needs the state y(t) on its way back. That is not integrated backwards: attention contracts, so backwards it expands,
and rounding would grow by the factor by which the tokens have come closer (like e^t near a cluster). The states after
every accepted step are kept instead, and y between two of them is found by stepping forwards from the earlier one.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import torch
from torch import Tensor

from tokenflock.dynamics import Dynamics, Step, Weights, adaptive_plan, combined, stops
from tokenflock.errors import EngineError
from tokenflock.schemes import hermite
from tokenflock.stepping import Pace


class Recall:
    """The state at any time of a run whose states after each step were kept.

    In a step asked for, two states are added at its thirds; the polynomial through the values and velocities of these
    four has order 8, and no error next to that of the step.
    """

    def __init__(self, dynamics: Dynamics, weights: Weights, steps: list[Step], states: list[Tensor]) -> None:
        self.dynamics, self.weights, self.steps, self.states = dynamics, weights, steps, states
        self.begins = [step.t for step in steps]
        self.known: tuple[int, list[float], list[Tensor], list[Tensor]] | None = None  # of the step asked for last

    def at(self, t: float, middle: float) -> Tensor:
        """The state at time t, in the stretch of time with this middle."""
        k = min(max(bisect_right(self.begins, t) - 1, 0), len(self.steps) - 1)
        while k and self.steps[k].middle > middle:  # t is the end of the stretch
            k -= 1
        if self.known is None or self.known[0] != k:
            self.known = (k, *self._refined(k))
        _, nodes, states, slopes = self.known
        return self.dynamics.retract(hermite(t, nodes, states, slopes))

    def _refined(self, k: int) -> tuple[list[float], list[Tensor], list[Tensor]]:
        """Nodes in step k, the states and the velocities there."""
        step, h = self.steps[k], self.steps[k].h / 3
        field = self.dynamics.field(self.weights, self.states[k], step.middle)
        nodes = [step.t, step.t + h, step.t + 2 * h, step.t + step.h]
        states = [self.states[k]]
        for t in nodes[:2]:
            states.append(self.dynamics.step(self.weights, states[-1], Step(t, h, step.number, step.middle)))
        states.append(self.states[k + 1])
        slopes = [field(y, t) for y, t in zip(states, nodes, strict=True)]
        return nodes, states, slopes


class Adjoint(torch.autograd.Function):
    """States at the wanted times; backwards by the adjoint equation, with its own error control."""

    @staticmethod
    def forward(
        ctx: Any,
        y: Tensor,
        dynamics: Dynamics,
        begin: float,
        times: list[float],
        tolerance: tuple[float, float, float],
        names: tuple[str, ...],
        *values: Tensor,
    ) -> Tensor:
        weights = dict(zip(names, values, strict=True))
        plan, states = adaptive_plan(dynamics, weights, y, begin, times, *tolerance[:2])
        ctx.dynamics, ctx.plan, ctx.names, ctx.rtol = dynamics, plan, names, tolerance[2]
        ctx.stops = stops(dynamics, begin, times)
        ctx.begin, ctx.times = begin, times
        ctx.save_for_backward(*values, *states)
        return torch.stack([states[k] for k in plan.marks])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # create_graph=True: what comes next would be silently incomplete
            raise EngineError(
                "gradient='adjoint' has first derivatives only. Use gradient='checkpoint' for second ones."
            )
        count = len(ctx.names)
        values, states = ctx.saved_tensors[:count], list(ctx.saved_tensors[count:])
        weights = dict(zip(ctx.names, values, strict=True))
        recall = Recall(ctx.dynamics, weights, ctx.plan.steps, states)
        backwards = Backwards(ctx.dynamics, weights, recall, states[0], ctx.rtol)
        jumps = dict(zip(ctx.times, grad, strict=True))
        for a, b in zip(reversed(ctx.stops[:-1]), reversed(ctx.stops[1:]), strict=True):
            if b in jumps:
                backwards.add(jumps[b])
            backwards.go(b, a)
        if ctx.begin in jumps:
            backwards.add(jumps[ctx.begin])
        p, *g = backwards.parts(backwards.z)
        return (p, None, None, None, None, None, *g)


class Backwards:
    """The costate p and the gradients g of all weights on their way back, as one vector z."""

    def __init__(self, dynamics: Dynamics, weights: Weights, recall: Recall, like: Tensor, rtol: float) -> None:
        self.dynamics, self.recall, self.rtol = dynamics, recall, rtol
        self.weights = {k: w.detach().requires_grad_() for k, w in weights.items()}
        self.shapes = [like.shape, *(w.shape for w in weights.values())]
        self.z = torch.zeros(sum(s.numel() for s in self.shapes), dtype=like.dtype, device=like.device)
        self.pace = Pace(self.size, lambda z: z, combined)

    def parts(self, z: Tensor) -> list[Tensor]:
        """The costate and the gradient of every weight, in their shapes."""
        pieces = torch.split(z, [s.numel() for s in self.shapes])
        return [piece.reshape(s) for piece, s in zip(pieces, self.shapes, strict=True)]

    def add(self, jump: Tensor) -> None:
        """p jumps where the loss looks at the tokens."""
        p, *g = self.parts(self.z)
        self.z = torch.cat([(p + jump).flatten(), *(one.flatten() for one in g)])

    def size(self, e: Tensor, z: Tensor) -> float:
        """The largest error of a part, in units of rtol times its largest entry."""
        scale = [one.abs().max() for one in self.parts(z)]
        least = max(float(scale[0]), 1e-300)  # a gradient that is still 0 is measured by the costate
        sizes = [
            float(one.abs().max()) / (self.rtol * max(float(s), least))
            for one, s in zip(self.parts(e), scale, strict=True)
        ]
        return max(sizes)

    def go(self, begin: float, end: float) -> None:
        """From time begin back to end. The clock of `march` runs forwards, at -t."""
        middle = 0.5 * (begin + end)

        def velocity(z: Tensor, minus_t: float) -> Tensor:
            p, *_ = self.parts(z)
            y = self.recall.at(-minus_t, middle)
            with torch.enable_grad():
                y.requires_grad_()
                f = self.dynamics.field(self.weights, y, middle)(y, -minus_t)
                found: tuple[Tensor | None, ...] = torch.autograd.grad(
                    f, [y, *self.weights.values()], p, allow_unused=True
                )
            filled = [
                torch.zeros(s, dtype=z.dtype, device=z.device) if g is None else g
                for g, s in zip(found, self.shapes, strict=True)
            ]
            return torch.cat([g.flatten() for g in filled])

        if not bool(self.z.any()):
            return  # nothing to carry yet
        for step in self.pace.march(velocity, self.z, -begin, -end):
            self.z = step.y
