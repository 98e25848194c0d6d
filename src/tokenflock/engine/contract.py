"""What every engine promises: a velocity, and a run that can be advanced, paused and resumed.

simulation.py is built on these; so are live views that advance a run a little at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tokenflock.geometry import Array
from tokenflock.model import Model, is_scalar
from tokenflock.options import Window
from tokenflock.schemes import Rosenbrock, Scheme


class Outcome(Enum):
    """How a run ended; the value is the sentence shown."""

    DONE = "Reached t_end."
    COLLAPSED = "All tokens met before t_end; later frames repeat the last one."
    INTERRUPTED = "Interrupted: this is what was computed so far."
    SMALL = "The step size fell below rounding. Raise rtol, or take a fixed step: scheme='rk4' with dt."
    NOT_FINITE = (
        "The tokens are no longer finite. Lower beta, t_end or dt; for large beta use normaliser='scaled-count', "
        "for tokens that escape in R^d space='rescaled'. (There they still grow along eigenvectors of V with a "
        "negative real part, and so do the weights of normaliser='count': lower t_end, or use 'softmax'.)"
    )

    @property
    def failed(self) -> bool:
        """Whether the frames after the end are missing."""
        return self not in (Outcome.DONE, Outcome.COLLAPSED)


@dataclass(frozen=True)
class Task:
    """How to run a model: all that an engine needs beside the start."""

    model: Model
    t_end: float
    scheme: Scheme | Rosenbrock | None  # None: layers
    dt: float | None  # of a fixed scheme or a layer
    rtol: float
    atol: float
    dtype: str
    seed: int
    auto: bool = False  # the engine may change to an implicit scheme when that takes fewer evaluations

    @property
    def layers(self) -> bool:
        """Whether time is discrete."""
        return self.scheme is None

    @property
    def collapse(self) -> float:
        """Spread below which nothing can change any more, 0 if that is never sure.

        With V = c I, c > 0 and softmax weights on the sphere a tiny cluster can only shrink onto a point that rests.
        """
        model = self.model
        scalar = is_scalar(model.values) and bool((model.values[:, 0, 0] > 0).all())
        extras = model.feedforward or model.frozen or model.noise or model.normaliser != "softmax"
        if model.space != "sphere" or not scalar or extras or model.norm.kind != "post":
            return 0.0
        return max(self.atol, 4.0 * float(np.finfo(self.dtype).eps))


def sees_no_later(model: Model) -> bool:
    """Whether no token sees a later one: then implicit steps are forward substitutions."""
    return model.mask == "causal" or (isinstance(model.mask, Window) and model.mask.causal)


def is_near(model: Model) -> bool:
    """Whether s_ii is the largest logit of every row: B = c I, c >= 0, on the sphere, and nothing but tokens to see."""
    alone = model.n_heads == 1 and model.frozen is None and model.bias is None and not math.isinf(model.beta)
    return model.space == "sphere" and alone and is_scalar(model.form) and model.beta * model.form[0, 0, 0] >= 0


def no_implicit(model: Model, dtype: str) -> str | None:
    """Why a model has no implicit scheme, or None."""
    reasons = (
        (model.space != "sphere", f"space={model.space!r}: it works on the sphere"),
        (model.normaliser != "softmax", f"normaliser={model.normaliser!r}: it needs softmax weights"),
        (model.norm.kind != "post", f"layer_norm={model.norm.kind!r}: it knows the post norm only"),
        (model.feedforward is not None, "a feed-forward part"),
        (model.bias is not None, "an ALiBi bias"),
        (bool(model.noise), "noise"),
        (math.isinf(model.beta), "beta=inf: it needs a smooth velocity"),
        (dtype != "float64", f"dtype={dtype!r}: long times need float64"),
        (model.dim < 2, "dim=1: nothing moves on two points"),
    )
    return next((why for wrong, why in reasons if wrong), None)


class Stepper(Protocol):
    """One run under way."""

    t: float
    steps: int
    rejected: int
    evaluations: int
    outcome: Outcome | None

    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """Fill frames (len(times), n, m) in order; return how many. Fewer than all: out of patience, or ended.

        m is d, or d + 1 where a magnitude r_j moves. Call again with the times that are left.
        """
        ...


class Batch(Protocol):
    """Many runs under way at once, on a device. An engine that has `parts` and `begin_all` is given whole ensembles.

    parts(task, runs, n) says which runs [(first, last + 1)] fit together; begin_all(task, starts, first_run, stop)
    begins them.
    """

    t: NDArray[np.float64]  # (runs,), and so the other numbers
    steps: NDArray[np.int64]
    rejected: NDArray[np.int64]
    evaluations: NDArray[np.int64]
    outcomes: list[Outcome | None]

    def advance(self, times: Array, frames: Array, filled: NDArray[np.int64], patience: int) -> None:
        """Fill frames (runs, len(times), n, m) of every run r from filled[r] on, and raise filled[r] by how many.

        Fewer than all: out of patience (evaluations of each run), or ended. Call again with the same arrays.
        """
        ...


class Engine(Protocol):
    """Turns (model, start, times) into positions."""

    name: str
    pair_s: float  # about what one pair of tokens costs, in seconds

    def supports(self, model: Model, dtype: str) -> str | None:
        """None if it can run this; otherwise one sentence saying why not."""
        ...

    def velocity(self, model: Model, x: Array, t: float = 0.0, radius: Array | None = None) -> Array:
        """The right-hand side, (n, d) -> (n, d)."""
        ...

    def begin(
        self, task: Task, x: Array, run: int = 0, wide: bool = False, stop: NDArray[np.uint8] | None = None
    ) -> Stepper:
        """A run from x (n, d). run: its number in an ensemble (for noise). wide: spread one run over the cores.

        stop: a shared flag; when it is set the run ends at its next step.
        """
        ...
