"""How tokens weigh each other: kernels (E15), what a row is divided by (E16), Sinkhorn (E17). Plain numpy.

A named kernel is a line of NAMED: an expression of the logit s_ij, the overlap <x_i, x_j> and the distance |x_i - x_j|,
with its numbers. A function of the user's is the same thing without a name: every engine treats the two alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenflock.arguments import named, scalar
from tokenflock.errors import SpecError, bad, unknown
from tokenflock.functions import Function, own
from tokenflock.geometry import Array
from tokenflock.options import Frozen

if TYPE_CHECKING:
    from tokenflock.model import Model

#: what a kernel may be an expression of
SEEN = ("logit", "overlap", "distance")


class Named(NamedTuple):
    """A kernel with a name."""

    expression: str
    numbers: dict[str, float]
    signed: bool = False  # its weights may be negative


NAMED = {
    "exp": Named("exp(logit)", {}),
    "sigmoid": Named("1 / (1 + exp(-(logit + bias)))", {"bias": 0.0}),
    "relu": Named("maximum(logit, 0)", {}),
    "power": Named("maximum(logit, 0) ** power", {"power": 2.0}),
    "softplus": Named("maximum(logit, 0) + log1p(exp(-abs(logit)))", {}),
    "gaussian": Named("exp(-0.5 * (distance / width) ** 2)", {"width": 1.0}),
    "bounded": Named("where(distance <= radius, 1.0, 0.0)", {"radius": 0.5}),
    "linear": Named("logit", {}, signed=True),
    "cosine": Named("overlap", {}, signed=True),
}
POSITIVE = ("power", "width", "radius")  # numbers of kernels that are > 0

USUAL = ("softmax", "count", "scaled-count")  # (E2), (E3)
NORMALISERS = (*USUAL, "none", "l2", "sink", "positions", "sinkhorn")
SUMS = ("softmax", "sink", "sinkhorn")  # that divide by a sum of weights, none of which may be negative
ROUNDS, DEFECT = 10_000, 1e-14  # of Sinkhorn: rounds at most, and how far from 1 the sums of the columns may be


class Kernel:
    """How a logit becomes a weight (E15): a named kernel with its numbers, or a function of one's own.

    Kernel("sigmoid", bias=-3.0); Kernel(lambda distance: np.exp(-distance**2)); Kernel("exp(-distance**2)").
    """

    def __init__(self, function: Any, **numbers: float) -> None:
        self.name = function if isinstance(function, str) and function in NAMED else ""
        if self.name:
            kind = NAMED[self.name]
            for name in numbers:
                if name not in kind.numbers:
                    raise unknown(f"number of the kernel {self.name!r}", name, kind.numbers or ["none"])
            self.numbers = {name: _number(name, value) for name, value in (kind.numbers | numbers).items()}
            made = own("kernel", kind.expression, (*SEEN, *kind.numbers), elementwise=True, by_name=True)
            takes = tuple(name for name in made.parameters if name in SEEN)
            source = f"lambda {', '.join(takes)}: {kind.expression}"
            self.function = Function(source, {**made.names, **self.numbers}, takes, elementwise=True)
            return
        if numbers:
            advice = "A function of your own has its numbers inside: lambda s: np.exp(2.0 * s)."
            raise bad("kernel", f"numbers {', '.join(numbers)}", "numbers of a named kernel", advice)
        self.numbers = {}
        if isinstance(function, str) and function.isidentifier() and function not in SEEN:
            raise unknown("kernel", function, [*NAMED, "an expression of logit, overlap and distance"])
        self.function = own("kernel", function, SEEN, elementwise=True, by_name=True)

    @property
    def signed(self) -> bool:
        """Whether it is known to give negative weights."""
        return bool(self.name) and NAMED[self.name].signed

    @cached_property
    def takes(self) -> tuple[str, ...]:
        """What its function takes, in the order of its arguments: of SEEN."""
        names = self.function.parameters
        return ("logit",) if len(names) == 1 and names[0] not in SEEN else names

    def told(self) -> dict[str, Any]:
        """What a file keeps of it: what `Kernel(**told)` takes."""
        return {"function": self.name or self.function.told(), **self.numbers}

    def __call__(self, logit: Array, overlap: Callable[[], Array], distance: Callable[[], Array]) -> Array:
        """The weights; what it does not take is not computed."""
        given: dict[str, Callable[[], Array]] = {"logit": lambda: logit, "overlap": overlap, "distance": distance}
        weights: Array = np.asarray(self.function(*[given[name]() for name in self.takes]), dtype=np.float64)
        return np.broadcast_to(weights, logit.shape)

    def __eq__(self, other: object) -> bool:
        """Whether both say the same, so that a model read from a file is that of the run. Equal sources are no proof
        where a function cannot be kept: what it takes from around it is not known."""
        if not isinstance(other, Kernel):
            return NotImplemented
        lost = self.function.lost or other.function.lost
        return self is other or (not lost and self.told() == other.told())

    def __hash__(self) -> int:
        return hash((self.name, *self.numbers.values(), self.function.source))

    def __repr__(self) -> str:
        numbers = "".join(f", {name}={value:g}" for name, value in self.numbers.items())
        return (
            f"Kernel({self.name!r}{numbers})" if self.name else f"Kernel({self.function.source or 'source unknown'!r})"
        )


def _number(name: str, value: Any) -> float:
    if name in POSITIVE:
        return scalar(f"Kernel.{name}", value, "a finite number > 0", lambda v: v > 0)
    return scalar(f"Kernel.{name}", value, "a finite number")


class Normaliser:
    """What a row of weights is divided by (E16). own=False: what the token itself adds is left out of it.

    kind: softmax (the sum of the weights), count (the number of tokens seen), none (1), l2 (the root of the sum of
    their squares), sink (e^logit and the sum), positions (the sum of e^bias, the weights that positions alone would
    give), sinkhorn (rows and columns that add up to 1), scaled-count (e^beta times the count; exp only).
    """

    def __init__(self, kind: str = "softmax", own: bool = True, logit: float = 0.0) -> None:
        self.kind = named("normaliser", kind, NORMALISERS)
        if not isinstance(own, bool | np.bool_):
            raise bad("Normaliser.own", own, "True or False")
        self.own = bool(own)
        self.logit = scalar("Normaliser.logit", logit, "a finite number")
        if self.logit and kind != "sink":
            raise bad("Normaliser.logit", logit, "a number for 'sink' only", "Normaliser('sink', logit=1.0).")
        if not self.own and kind in ("none", "sinkhorn", "scaled-count"):
            raise bad("Normaliser.own", False, f"True for {kind!r}", "It has no sum that could leave the token out.")

    @property
    def usual(self) -> bool:
        """Whether it is (E2) or (E3) as they stand."""
        return self.own and self.kind in USUAL

    def told(self) -> dict[str, Any]:
        """What a file keeps of it."""
        return {"kind": self.kind, "own": self.own, "logit": self.logit}

    def __eq__(self, other: object) -> bool:
        return self.told() == other.told() if isinstance(other, Normaliser) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.kind, self.own, self.logit))

    def __repr__(self) -> str:
        more = ("" if self.own else ", own=False") + (f", logit={self.logit:g}" if self.kind == "sink" else "")
        return f"Normaliser({self.kind!r}{more})"


def weights(kernel: Kernel | None, s: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """(E15) w_hij from logits s (H, n, m) of tokens x (n, d) and y (m, d), and the logarithm `top` taken out of a row.

    Only exp (None) knows what to take out: of any other kernel nothing is. Where s = -inf nothing is seen.
    """
    seen = np.isfinite(s)
    if kernel is None:
        top = s.max(axis=-1, keepdims=True)
        top[np.isneginf(top)] = 0.0  # a token that rests, since its group sees nobody (E20)
        with np.errstate(invalid="ignore"):
            return np.where(seen, np.exp(s - top), 0.0), top
    found = kernel(np.where(seen, s, 0.0), lambda: x @ y.T, lambda: np.stack([_distances(one, y) for one in x]))
    return np.where(seen, found, 0.0), np.zeros((*s.shape[:-1], 1))


def _distances(one: Array, y: Array) -> Array:
    """|x_i - y_j| of one row, from differences: tokens that have almost met are that far apart."""
    distances: Array = np.sqrt(((y - one) ** 2).sum(axis=-1))
    return distances


def divided(norm: Normaliser, w: Array, top: Array, a: Array, bias: Array, beta: float, first: int = 0) -> Array:
    """(E16), (E17) A_hij from weights w (H, n, m) less e^top, masses a (H, n, m), 0 where not seen, and the bias.

    first: the token of the first row, where the rows are those of the last tokens only; not for Sinkhorn.
    A row with nothing to divide by has no weights; a negative weight in a sum makes its row nan.
    """
    if norm.kind == "sinkhorn":
        return sinkhorn(w, a)
    counted = a
    if not norm.own:
        own = np.arange(a.shape[1])
        counted = a.copy()
        counted[:, own, first + own] = 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scale = np.exp(-top)[..., 0]
        sums: dict[str, Callable[[], Array]] = {
            "softmax": lambda: (counted * w).sum(axis=-1),
            "sink": lambda: (counted * w).sum(axis=-1) + np.exp(norm.logit - top[..., 0]),
            "count": lambda: counted.sum(axis=-1) * scale,
            "scaled-count": lambda: counted.sum(axis=-1) * np.exp(beta - top[..., 0]),
            "none": lambda: scale,
            "l2": lambda: np.sqrt((counted * w * w).sum(axis=-1)),
            "positions": lambda: (counted * np.exp(bias)).sum(axis=-1) * scale,
        }
        total = sums[norm.kind]()
        shares: Array = a * w / np.where(total == 0, np.inf, total)[..., None]
    if norm.kind in SUMS:
        shares[(w < 0).any(axis=-1)] = np.nan
    return shares


def sinkhorn(w: Array, a: Array) -> Array:
    """(E17) A_ij = a_j w_ij u_i v_j with rows that add up to 1 and sum_i a_i A_ij = a_j.

    Logarithms throughout: weights of any size. Where w is symmetric so is a_i A_ij, and the sums of the rows are exact.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        s = np.where(w < 0, np.nan, np.log(w) + np.log(a))
    f: Array = np.zeros(s.shape[:-1])
    g: Array = np.zeros(s.shape[:-1])
    mass = a.max(axis=(0, 1))  # every token sees itself, the whole of it
    for _ in range(ROUNDS):
        f = -_log_sum(s + g[:, None, :])
        plan = s + f[..., None] + g[:, None, :]
        back = _log_sum(np.swapaxes(plan, 1, 2) + (np.log(mass)[None, None] - np.log(mass)[:, None]))
        if not np.abs(back).max() > DEFECT:  # nan too
            break
        g = g - back
    f = -_log_sum(s + g[:, None, :])
    shares: Array = np.exp(s + f[..., None] + g[:, None, :])
    return shares


def _log_sum(s: Array) -> Array:
    """log sum_j e^s_ij."""
    top = s.max(axis=-1, keepdims=True)
    total: Array = top + np.log(np.exp(s - top).sum(axis=-1, keepdims=True))
    return total[..., 0]


def fault(kernel: Kernel | None, norm: Normaliser, w: Array, t: float, first: int = 0) -> SpecError | None:
    """What is wrong with weights (H, n, m) at time t, in a sentence that names the first token.

    first: the token of the first row, where the rows are those of the last tokens only.
    """
    wrong = ~np.isfinite(w)
    what, allowed = "is not a finite number", "a finite weight of every pair"
    advice = "Look for a division by zero, a root or a logarithm of a negative number in the kernel."
    if not wrong.any():
        wrong = w < 0 if norm.kind in SUMS else wrong
        what, allowed = "is negative", f"weights >= 0 under normaliser={norm.kind!r}, which divides by their sum"
        advice = "Take a kernel such as 'relu' or 'exp', or normaliser='count', 'none' or 'l2'."
    if not wrong.any():
        return None
    h, i, j = (int(k) for k in np.argwhere(wrong)[0])
    head = f" in head {h}" if len(w) > 1 else ""
    n = first + w.shape[1]
    whom = f"token {j}" if j < n else f"frozen token {j - n}"
    told = f"the weight {w[h, i, j]:.6g} that token {first + i} gives {whom}{head} at t = {t:g} {what}"
    return SpecError(f"{kernel or 'kernel=exp'}: {told}. Allowed: {allowed}. {advice}")


def with_frozen(weight: Array, frozen: Frozen | None) -> Array:
    """a_ij of tokens and frozen tokens, (1 or n, n + m)."""
    if frozen is None:
        return weight
    return np.concatenate([weight, np.broadcast_to(frozen.weights, (len(weight), len(frozen.weights)))], axis=1)


def _weights_of(model: Model, s: Array, x: Array) -> tuple[Array, Array]:
    return weights(model.own_kernel, s, x, x if model.frozen is None else np.concatenate([x, model.frozen.tokens]))


def shares(model: Model, s: Array, x: Array, bias: Array, a: Array) -> Array:
    """The weights A_hij (H, n, n + m) from logits s of tokens x, what positions add to these (H, n, n), and masses."""
    w, top = _weights_of(model, s, x)
    bias = np.pad(bias, ((0, 0), (0, 0), (0, s.shape[-1] - len(x))))
    return divided(model.divisor, w, top, a * np.isfinite(s), bias, model.beta)


def weight_fault(model: Model, s: Array, x: Array, t: float) -> SpecError | None:
    """What is wrong with the weights of tokens x at time t, in a sentence, or None."""
    return fault(model.own_kernel, model.divisor, _weights_of(model, s, x)[0], t)


def kernel_of(given: Any) -> str | Kernel:
    """What Model(kernel=...) was given: "exp", or a Kernel."""
    made = given if isinstance(given, Kernel) else Kernel(**given) if isinstance(given, Mapping) else Kernel(given)
    return "exp" if made.name == "exp" else made


def normaliser_of(given: Any) -> str | Normaliser:
    """What Model(normaliser=...) was given: a name of (E2) and (E3), or a Normaliser."""
    if isinstance(given, Mapping):
        made = Normaliser(**given)
    elif isinstance(given, Normaliser):
        made = given
    else:
        made = Normaliser(named("normaliser", given, NORMALISERS))
    return made.kind if made.usual else made
