"""What every engine promises: a velocity, runs that can be advanced, paused and resumed, and what it tells of them.

Everything that callers ask of an engine stands here; how runs are asked for is in request.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine.traits import OPTIONS, traits, unknown_options
from tokenflock.geometry import Array
from tokenflock.masks import n_entries
from tokenflock.model import Model
from tokenflock.options import Window
from tokenflock.schemes import EXPLICIT, Rosenbrock, Scheme

PRODUCTS = 60  # of matrices (d, d), that exp(tV) takes when t is large
PRODUCT = 100.0  # what a small one costs, in pairs of tokens
WIDE_FROM = 8_000  # pairs an evaluation from which one run is worth sharing among the cores
HELD_BYTES = 32 * 2**20  # of frames held at a time when only reduced values are kept


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
    def scheme_name(self) -> str:
        """The name of its scheme; time that goes in layers is a scheme too."""
        return "layers" if self.scheme is None else self.scheme.name

    @property
    def collapse(self) -> float:
        """Spread of all tokens below which nothing can change any more, 0 if that is never sure."""
        return max(self.atol, 4.0 * float(np.finfo(self.dtype).eps)) if traits(self.model).collapses else 0.0


def n_pairs(model: Model, n_tokens: int) -> float:
    """About how many pairs of tokens an evaluation goes through."""
    moving = (0.5 if model.mask == "causal" else 1.0) * n_tokens
    if not isinstance(model.mask, str | Window):
        moving = n_entries(model.mask, n_tokens) / n_tokens
    return (moving + (0 if model.frozen is None else len(model.frozen.tokens))) * n_tokens * model.n_heads


class Merger(NamedTuple):
    """Two bodies that became one: their first tokens, and how many tokens they had."""

    t: float
    into: int
    merged: int
    size_into: int
    size_merged: int


class Bodies(NamedTuple):
    """What a run by implicit steps tells of its bodies: tokens that sit together and move as one."""

    left: int  # how many there are
    due: float  # log10 of about when the next two meet, nan where that is not known
    mergers: tuple[Merger, ...] = ()
    opened: int = 0  # how often a body was opened again
    slack: float = 0.0  # how far a token may have sat off the place of its body
    never: str = ""  # why no bodies are formed


class Stepper(Protocol):
    """One run under way."""

    @property
    def t(self) -> float:
        """The time it has reached."""

    @property
    def steps(self) -> int:
        """Steps taken."""

    @property
    def rejected(self) -> int:
        """Steps tried and not taken."""

    @property
    def evaluations(self) -> int:
        """Evaluations of the velocity."""

    @property
    def outcome(self) -> Outcome | None:
        """How it ended, None while it goes on."""

    @property
    def switched(self) -> float:
        """The time at which its steps became implicit, nan if they did not."""

    @property
    def bodies(self) -> Bodies | None:
        """Its bodies, None of a run by explicit steps."""

    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """Fill frames (len(times), n, m) in order; return how many. Fewer than all: out of patience, or ended.

        m is d, or d + 1 where a magnitude r_j moves. Call again with the times that are left.
        """
        ...


class Ensemble(Protocol):
    """Many runs under way at once, on a device."""

    @property
    def t(self) -> NDArray[np.float64]:
        """(runs,), and so the other numbers: the time that each has reached."""

    @property
    def steps(self) -> NDArray[np.int64]:
        """Steps taken."""

    @property
    def rejected(self) -> NDArray[np.int64]:
        """Steps tried and not taken."""

    @property
    def evaluations(self) -> NDArray[np.int64]:
        """Evaluations of the velocity."""

    @property
    def outcomes(self) -> list[Outcome | None]:
        """How each ended, None while it goes on."""

    def give_up(self, run: int) -> None:
        """End a run that its steps could never bring to t_end: Outcome.SMALL."""

    def advance(self, times: Array, frames: Array, filled: NDArray[np.int64], patience: int) -> None:
        """Fill frames (runs, len(times), n, m) of every run r from filled[r] on, and raise filled[r] by how many.

        Fewer than all: out of patience (evaluations of each run), or ended. Call again with the same arrays.
        """
        ...


class Engine(ABC):
    """Turns (model, start, times) into positions."""

    name: ClassVar[str]
    schemes: ClassVar[tuple[str, ...]] = EXPLICIT  # names of the time schemes it has
    options: ClassVar[frozenset[str]] = OPTIONS  # fields of a Model that it knows
    pair_s: float  # about what one pair of tokens costs, in seconds

    def supports(self, model: Model, dtype: str) -> str | None:
        """None if it can run this; otherwise one sentence saying why not."""
        if unknown := unknown_options(model, self.options):
            return f"It does not know the option {unknown[0]}. engine='reference' knows every option."
        return self.objection(model, dtype)

    @abstractmethod
    def objection(self, model: Model, dtype: str) -> str | None:
        """What speaks against a model whose options it knows, in one sentence, or None."""

    @abstractmethod
    def velocity(
        self, model: Model, x: Array, t: float = 0.0, radius: Array | None = None, *, dtype: str = "float64"
    ) -> Array:
        """The right-hand side, (n, d) -> (n, d), computed in a dtype that it supports."""

    @abstractmethod
    def begin(
        self, task: Task, x: Array, run: int = 0, wide: bool = False, stop: NDArray[np.uint8] | None = None
    ) -> Stepper:
        """A run from x (n, d). run: its number in an ensemble (for noise). wide: spread one run over the cores.

        stop: a shared flag; when it is set the run ends at its next step.
        """

    def for_call(self, model: Model, n_tokens: int) -> Engine:
        """The engine for one call of a verb: a fresh one, if it remembers anything of the runs that it begins."""
        return self

    def evaluation_s(self, model: Model, n_tokens: int, runs: int = 1) -> float:
        """About what one evaluation of the velocity of so many runs costs, in seconds."""
        pairs = (n_pairs(model, n_tokens) + 100) * (1 + model.dim / 8)
        products = PRODUCTS * (PRODUCT + model.dim**3 / 8) if model.space == "rescaled" else 0.0  # for exp(tV)
        return runs * self.pair_s * (pairs + products)

    def told(self) -> dict[str, Any]:
        """What it tells of the runs that it began: attributes of their trajectory."""
        return {}


class EnsembleEngine(Engine):
    """An engine that is given whole ensembles."""

    @abstractmethod
    def parts(self, task: Task, runs: int, n_tokens: int, held: int = 0) -> list[tuple[int, int]]:
        """Which runs go together, (first, last + 1), so that each part fits into its memory; none: they go run by run.

        held: bytes of the frames of a run which the caller holds only while it reduces them.
        """

    @abstractmethod
    def begin_all(
        self, task: Task, starts: Array, first_run: int = 0, stop: NDArray[np.uint8] | None = None
    ) -> Ensemble:
        """All runs from starts (runs, n, d); first_run: the number of the first one in its ensemble."""
