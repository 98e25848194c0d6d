"""Implicit runs in the coordinates of V: its eigenvectors are the axes, the leading one first.

Tokens on the leading eigenspace of V feel each other alone, and that may be as little as 1e-56, while what each does
to itself is of order 1 and cancels there. It cancels to the last bit where V is diagonal (model.less), and tangent
planes do not mix in what is off that space where the first axis lies in it (tangent.py). So a symmetric V is turned
until it is so. Eigenvalues of a V that has to be turned are equal if they differ by no more than rounding.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tokenflock.engine.contract import Bodies, Outcome, Stepper, Task
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.options import Frozen
from tokenflock.preparation import prepared
from tokenflock.schemes import Rosenbrock
from tokenflock.sphere import is_scalar

EPS = float(np.finfo(np.float64).eps)


class Turned(NamedTuple):
    """A model in other coordinates."""

    model: Model
    axes: Array  # (d, d): its axes in the old coordinates, as columns; tokens x become x @ axes


@prepared
def turned(model: Model) -> Turned | None:
    """The model in the coordinates of V; None if it is there already, or V has no such coordinates."""
    values = model.values
    if is_scalar(values) or not (found := _eigenvectors(values)):
        return None
    axes, eigenvalues = found
    form = model.form if is_scalar(model.form) else axes.T @ model.form @ axes
    frozen = model.frozen and Frozen(model.frozen.tokens @ axes, model.frozen.weights)
    value = eigenvalues[:, None, :] * np.eye(model.dim)
    return Turned(model.with_options(query=None, key=form, value=value, frozen=frozen), axes)


def _eigenvectors(values: Array) -> tuple[Array, Array] | None:
    """Axes (d, d) and eigenvalues (H, d) of matrices that are diagonal, or of one that is symmetric."""
    n_heads, d, _ = values.shape
    diagonal = np.diagonal(values, axis1=1, axis2=2)
    if (values == diagonal[:, None, :] * np.eye(d)).all():
        first = int(diagonal.sum(axis=0).argmax())
        order = np.array([first, *np.delete(np.arange(d), first)])
        return None if first == 0 else (np.eye(d)[:, order], diagonal[:, order])
    rounding = max(16, d) * EPS * float(np.abs(values).max())
    if n_heads > 1 or np.abs(values[0] - values[0].T).max() > rounding:
        return None
    found, axes = np.linalg.eigh(values[0] / 2 + values[0].T / 2)  # 1e308 twice is beyond float64
    group = np.cumsum([0, *(np.diff(found) > rounding)])
    means = np.bincount(group, weights=found) / np.bincount(group)
    return np.ascontiguousarray(axes[:, ::-1]), means[group][None, ::-1]


class TurnedStepper:
    """A run in other coordinates; see contract.Stepper."""

    def __init__(
        self, begin: Callable[[Task, Rosenbrock, Array], Stepper], task: Task, scheme: Rosenbrock, x: Array, to: Turned
    ) -> None:
        self._axes = to.axes
        self._run = begin(dataclasses.replace(task, model=to.model), scheme, x @ to.axes)

    @property
    def t(self) -> float:
        """The time it has reached."""
        return self._run.t

    @property
    def steps(self) -> int:
        """Steps taken."""
        return self._run.steps

    @property
    def rejected(self) -> int:
        """Steps tried and not taken."""
        return self._run.rejected

    @property
    def evaluations(self) -> int:
        """Evaluations of the velocity."""
        return self._run.evaluations

    @property
    def outcome(self) -> Outcome | None:
        """How it ended."""
        return self._run.outcome

    @property
    def switched(self) -> float:
        """See contract.Stepper."""
        return self._run.switched

    @property
    def bodies(self) -> Bodies | None:
        """Its bodies."""
        return self._run.bodies

    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """See contract.Stepper."""
        done = self._run.advance(times, frames, patience)
        frames[:done] = frames[:done] @ self._axes.T
        return done
