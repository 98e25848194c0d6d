"""The parts a Model is made of: masks, bias, feed-forward, frozen tokens, layer norms. Data only, checked when made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock.arguments import flag, is_complex, is_number, named, numbers, scalar, whole
from tokenflock.errors import bad
from tokenflock.geometry import Array
from tokenflock.varying import as_varying, opening

ACTIVATIONS = ("relu", "tanh", "linear")
LAYER_NORMS = ("post", "pre", "mix", "peri", "ngpt", "sqrt")
MOST_WIDTH = 2**62  # indices of tokens have 64 bits
WITH_RADIUS = ("pre", "mix", "peri")  # the schemes of paper F whose magnitudes r_j move


def matrix(name: str, values: Any, shape: tuple[int | None, ...]) -> Array:
    """A finite float64 array of the wanted shape; None is any size of at least 1."""
    wanted = "(" + ", ".join("any" if s is None else str(s) for s in shape) + ")"
    array = numbers(values)
    array = np.array(array)  # a copy: what is kept cannot be changed from outside
    fits = array.ndim == len(shape) and all(s is None or s == got for s, got in zip(shape, array.shape, strict=True))
    if is_complex(values):
        advice = "A complex spectrum has a real matrix: flock.weights.spectrum."
        raise bad(name, "complex numbers", f"real numbers of shape {wanted}", advice)
    if not array.ndim and np.isnan(array) and not is_number(values):
        advice = "Give a numpy array or nested lists."
        if callable(values):
            advice = "Weights that change with time: query, key, value, beta, and w, a, b of a feed-forward."
        raise bad(name, values, f"numbers of shape {wanted}", advice)
    if not fits or array.size == 0:
        raise bad(f"{name}.shape", array.shape, wanted, "Check the axes, or transpose.")
    if not np.isfinite(array).all():
        raise bad(name, "an array with nan or inf", "finite numbers", "Look for a division by zero where it is made.")
    array.setflags(write=False)
    return array


@dataclass(frozen=True)
class Window:
    """Token i sees `width` tokens, i - width + 1 .. i, itself included; causal=False: also the width - 1 after it."""

    width: int
    causal: bool = True

    def __post_init__(self) -> None:
        advice = "width=1 sees only the token itself."
        object.__setattr__(self, "width", whole("Window.width", self.width, 1, advice, most=MOST_WIDTH))
        object.__setattr__(self, "causal", flag("Window.causal", self.causal))


@dataclass(frozen=True)
class Alibi:
    """Logits minus slope * |i - j|; one slope, or one for each head."""

    slope: float | tuple[float, ...]

    def __post_init__(self) -> None:
        slopes = np.atleast_1d(numbers(self.slope))
        if slopes.ndim != 1 or not slopes.size or not np.isfinite(slopes).all():
            raise bad("Alibi.slope", self.slope, "a finite number, or one for each head")
        value = tuple(slopes.tolist()) if isinstance(self.slope, Sequence | np.ndarray) else float(slopes[0])
        object.__setattr__(self, "slope", value)


@dataclass(frozen=True, eq=False)
class FeedForward:
    """w sigma(a x + b): w (d, k), a (k, d) or None for the identity, b (k,) or None for zero."""

    w: Any
    a: Any = None
    b: Any = None
    activation: str = "relu"
    varying: Any = None  # which of w, a and b change with time, as in a Model

    def __post_init__(self) -> None:
        named("activation", self.activation, ACTIVATIONS)
        self._hold()
        w = matrix("FeedForward.w", self.w, (None, None))
        a = np.eye(*w.shape[::-1]) if self.a is None else matrix("FeedForward.a", self.a, w.shape[::-1])
        b = np.zeros(w.shape[1]) if self.b is None else matrix("FeedForward.b", self.b, (w.shape[1],))
        if self.a is None and w.shape[0] != w.shape[1]:
            raise bad("FeedForward.a", None, f"a matrix of shape {w.shape[::-1]}", "Only a square w may leave a out.")
        for name, value in (("w", w), ("a", a), ("b", b)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    def _hold(self) -> None:
        """Put the parts that change aside, and their values at t = 0 in their places."""
        if not isinstance(self.varying, Mapping | None):
            raise bad("FeedForward.varying", self.varying, "None, or {name: what changes} of w, a and b")
        found = dict(self.varying or {})
        for name in ("w", "a", "b"):
            if (one := as_varying(name, getattr(self, name))) is not None:
                found[name] = one
                object.__setattr__(self, name, opening(name, one))
        object.__setattr__(self, "varying", found or None)


@dataclass(frozen=True, eq=False)
class Frozen:
    """Tokens that attract and never move (Theorem 5.2 of A): positions (m, d) and weights (m,), all 1 if left out."""

    tokens: Any
    weights: Any = None

    def __post_init__(self) -> None:
        tokens = matrix("Frozen.tokens", self.tokens, (None, None))
        weights = np.ones(len(tokens)) if self.weights is None else self.weights
        weights = matrix("Frozen.weights", weights, (len(tokens),))
        if (weights <= 0).any():
            raise bad("Frozen.weights", weights.tolist(), "positive numbers (the theorem asks for >= 1)")
        object.__setattr__(self, "tokens", tokens)
        object.__setattr__(self, "weights", weights)


@dataclass(frozen=True)
class LayerNorm:
    """A layer-norm scheme of paper F: its kind, and the numbers that some kinds need.

    switch: time at which `mix` changes from post to pre. alpha, decay: the `ngpt` step alpha_t = alpha (1 + t)^-decay.
    radius: the magnitude r_j(0) with which `pre`, `mix` and `peri` start.
    """

    kind: str = "post"
    switch: float = 1.0
    alpha: float = 1.0
    decay: float = 0.0
    radius: float = 1.0

    def __post_init__(self) -> None:
        named("layer_norm", self.kind, LAYER_NORMS)
        for name, low in (("switch", 0.0), ("alpha", 0.0), ("decay", -math.inf), ("radius", 0.0)):
            value = getattr(self, name)
            found = scalar(f"LayerNorm.{name}", value, f"a finite number > {low}", lambda v, low=low: v > low)  # type: ignore[misc]
            object.__setattr__(self, name, found)

    @property
    def has_radius(self) -> bool:
        """Whether the magnitudes r_j move."""
        return self.kind in WITH_RADIUS
