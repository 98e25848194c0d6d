"""Adaptive explicit steps in Python, of numpy arrays and torch tensors alike: `extend` and gradients take these.

The steps are those of Tsit5, and their sizes follow the controller of schemes.py, as in every engine. What differs
from caller to caller is given: the size of an error, what is done to an accepted state, and how stages are summed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from tokenflock.engine.contract import Outcome
from tokenflock.errors import EngineError
from tokenflock.geometry import Array
from tokenflock.schemes import TSIT5, first_step, growth, shrinkage

if TYPE_CHECKING:
    from torch import Tensor

# In Python a million steps take hours, and a gradient keeps a state for each. Now and then it is looked whether the end
# is more steps like these away than could ever be taken.
MOST_STEPS, LOOK, SIGHT = 1_000_000, 300, 1e9

Y = TypeVar("Y", Array, "Tensor")
Velocity = Callable[[Y, float], Y]


class Accepted(NamedTuple, Generic[Y]):
    """An accepted step from t to t + h: the state and the velocity at its end."""

    t: float
    h: float
    y: Y
    slope: Y


class Pace(Generic[Y]):
    """The step size of a run, which outlives a stop.

    size(e, y): the size of an error e of the state y, in units of the tolerance. settle(y): an accepted state, put back
    on the sphere say. combine(y, stages, weights): y + sum_k w_k stage_k.
    """

    def __init__(
        self,
        size: Callable[[Y, Y], float],
        settle: Callable[[Y], Y],
        combine: Callable[[Y, Sequence[Y], Array], Y],
    ) -> None:
        self.size: Callable[[Y, Y], float] = size
        self.settle: Callable[[Y], Y] = settle
        self.combine: Callable[[Y, Sequence[Y], Array], Y] = combine
        self.h, self.error, self.steps, self.rejected = 0.0, 1.0, 0, 0

    def march(
        self, velocity: Velocity[Y], y: Y, begin: float, end: float, slope: Y | None = None
    ) -> Iterator[Accepted[Y]]:
        """Every accepted step from y at begin to the end. `velocity` may not jump in between.

        slope: the velocity at the beginning, if it is known.
        """
        assert TSIT5.error is not None
        t, taken, slope = begin, 0, velocity(y, begin) if slope is None else slope
        self.h = self.h or self._first(velocity, y, slope, t, end)
        while t < end:
            left = end - t
            h = left if self.h >= left else min(self.h, 0.5 * left)  # the end is hit, and not by a sliver of a step
            if t + h <= t:
                raise EngineError(f"{Outcome.SMALL.value} (Reached t = {abs(t):.6g}.)")
            stages = [slope]
            for a, c in zip(TSIT5.a[1:], TSIT5.c[1:], strict=True):
                new = self.combine(y, stages, h * a)
                stages.append(velocity(new, t + c * h))
            error = self.size(self.combine(0.0 * y, stages, h * TSIT5.error), y)
            if not error <= 1.0:
                if not math.isfinite(error) and h < 1e-12 * max(1.0, abs(t)):
                    raise EngineError(f"{Outcome.NOT_FINITE.value} (Reached t = {abs(t):.6g}.)")
                self.h = h * shrinkage(error, TSIT5.order)
                self.rejected += 1
                continue
            grown = h * growth(error, self.error, TSIT5.order)
            # A step cut short by a stop says nothing against the step that was wanted.
            self.h, self.error = max(self.h, grown) if h < self.h else grown, error
            y, slope = self.settle(new), stages[-1]
            self.steps, taken = self.steps + 1, taken + 1
            if self.steps > MOST_STEPS or (taken % LOOK == 0 and (t + h - begin) * SIGHT < left * taken):
                raise EngineError(f"{self.steps:,} explicit steps reached t = {t:.6g} only. Take a shorter run.")
            yield Accepted(t, h, y, slope)
            t = end if h == left else t + h

    def _first(self, velocity: Velocity[Y], y: Y, slope: Y, t: float, end: float) -> float:
        """The first step, from the velocity and from how it changes in a small step."""
        left, speed, size = end - t, self.size(slope, y), self.size(y, y)
        if not speed > 0:
            return left
        small = min(0.01 * size / speed, left) if size > 0 else 1e-6 * left
        change = self.size((velocity(y + small * slope, t + small) - slope) / small, y)
        return first_step(small, speed, change, TSIT5.order, left)
