"""Where a token stands in its text, and what queries and keys learn of it: Rope, Absolute, and their arithmetic.

Rotary positions turn pairs of numbers of a query or key, number m with number m + r/2, by the angle position times
frequency m; the first r of the k numbers turn. Networks that were trained with them turn by the same functions
(networks/rotary.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.arguments import positive, real, room, scalar, whole
from tokenflock.errors import bad, clash
from tokenflock.geometry import Array
from tokenflock.options import matrix

BASE = 10_000.0


def frequencies(width: int, base: float) -> NDArray[np.float64]:
    """(r/2,) angles a position: base^(-2m/r). The first is 1 whatever the base; the others vanish as base grows."""
    return np.asarray(base ** (-np.arange(0, width, 2) / width), dtype=np.float64)


def turn(x: NDArray[Any], by: NDArray[Any]) -> NDArray[Any]:
    """Queries or keys (..., n, k), their first r numbers turned in pairs by angles (..., n, r/2)."""
    half = by.shape[-1]
    cos, sin = np.cos(by).astype(x.dtype), np.sin(by).astype(x.dtype)
    a, b = x[..., :half], x[..., half : 2 * half]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin, x[..., 2 * half :]], axis=-1)


@dataclass(frozen=True, eq=False)
class Rope:
    """Rotary positions: logits depend on p_i - p_j, by turning queries and keys before they meet.

    base: frequencies are base^(-2m/r). fraction: the share of the k numbers of a query that turn, r of them, in pairs.
    positions: p_i, one number for every token; 0, 1, 2, ... if left out. frequencies: in place of the base's, one for
    every pair; they say r too.
    """

    base: float = BASE
    fraction: float = 1.0
    positions: Any = None
    frequencies: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", positive("Rope.base", self.base))
        share = scalar("Rope.fraction", self.fraction, "a number in (0, 1]", lambda v: (v > 0) & (v <= 1))
        object.__setattr__(self, "fraction", share)
        for name in ("positions", "frequencies"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, matrix(f"Rope.{name}", getattr(self, name), (None,)))
        if self.frequencies is not None and (self.base, self.fraction) != (BASE, 1.0):
            raise clash("Rope.frequencies", "base or fraction", "Frequencies say how fast each pair turns: leave them.")


@dataclass(frozen=True, eq=False)
class Absolute:
    """A vector e_i added to token i where queries and keys look at it, and not to what moves: vectors (n, d)."""

    vectors: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", matrix("Absolute.vectors", self.vectors, (None, None)))


def check_position(position: Any, width: int, dim: int) -> None:
    """Whether tokens of so many coordinates, with queries of so many numbers, can have these positions."""
    if isinstance(position, Rope):
        given = None if position.frequencies is None else len(position.frequencies)
        if given is not None and 2 * given > width:
            raise bad("Rope.frequencies", given, f"at most {width // 2} for queries of {width} numbers")
        if not turning(position, width):
            advice = "Raise the fraction, or give Q and K more rows."
            raise bad("Rope.fraction", position.fraction, f"a share of {width} numbers that holds a pair", advice)
    elif isinstance(position, Absolute):
        if position.vectors.shape[1] != dim:
            advice = "One vector a token, as long as it."
            raise bad("Absolute.vectors.shape", position.vectors.shape, f"(n, {dim})", advice)
    elif position is not None:
        raise bad("position", position, "None, flock.Rope(...) or flock.Absolute(vectors)")


def turning(rope: Rope, width: int) -> int:
    """r: how many of the k numbers of a query turn."""
    if rope.frequencies is not None:
        return 2 * len(rope.frequencies)
    return 2 * int(rope.fraction * width / 2 * (1 + 1e-12))


def angles(rope: Rope, width: int, n: int) -> Array:
    """(n, r/2) p_i times the frequencies."""
    each = rope.frequencies if rope.frequencies is not None else frequencies(turning(rope, width), rope.base)
    places = np.arange(n, dtype=float) if rope.positions is None else rope.positions
    return np.asarray(places[:, None] * each)


def sinusoids(n_tokens: int, dim: int, base: float = BASE, scale: float = 1.0) -> Array:
    """Vectors (n, d) for `Absolute`: (i, 2m) sin and (i, 2m + 1) cos of the angle i base^(-2m/d), times scale."""
    n, d = whole("n_tokens", n_tokens, 1), whole("dim", dim, 1)
    room("n_tokens times dim", n * d, 32)
    angles = np.arange(n)[:, None] * frequencies(d + d % 2, positive("base", base))
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(n, -1)[:, :d]
    return np.asarray(scalar("scale", scale, "a finite number") * waves)


def turned(x: Any, positions: Any, angles_a_position: Array, width: int) -> NDArray[Any]:
    """`turn` for arrays of a user's: x (..., n, k) finite, each turned by its position (n,)."""
    y = real("x", x, "finite numbers (..., n, k)")
    y = y.astype(np.float32) if getattr(x, "dtype", None) == np.float32 else y
    places = real("positions", positions, "finite numbers (n,)")
    if y.ndim < 2 or places.shape != y.shape[-2:-1] or y.shape[-1] < width:
        allowed = f"(..., n, k) with k >= {width}, and (n,)"
        raise bad("x.shape, positions.shape", (y.shape, places.shape), allowed)
    return turn(y, places[:, None] * angles_a_position)


def n_given(position: Rope | Absolute | None) -> int | None:
    """For how many tokens positions are given; None: for any number."""
    given = position.vectors if isinstance(position, Absolute) else getattr(position, "positions", None)
    return None if given is None else len(given)
