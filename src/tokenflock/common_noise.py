"""Noise that all tokens share: one Brownian motion of the space that they live in, not one of each (E21)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock.arguments import named, positive, whole
from tokenflock.errors import bad, clash
from tokenflock.geometry import Array
from tokenflock.options import matrix

KINDS = ("shift", "rotation", "matrix", "field", "own")


@dataclass(frozen=True, eq=False)
class CommonNoise:
    """Noise common to all tokens, in the sense of Stratonovich: what moves token i is a function of x_i and of time.

    strength: beside it stands 1 for one Brownian motion a unit of time. kind: "shift", one vector of Brownian motions;
    "rotation", an antisymmetric matrix of them, a random rotation of all; "matrix", a whole matrix; "field", a smooth
    random field, tokens farther apart than `length` hardly moved alike; "own", the matrices `matrices` (m, d, d), each
    with a Brownian motion. waves, seed: how many waves the field is made of, and which.
    """

    strength: float = 1.0
    kind: str = "shift"
    length: float = 0.5
    waves: int = 128
    seed: int = 0
    matrices: Any = None

    def __post_init__(self) -> None:
        kind = "own" if self.matrices is not None and self.kind == "shift" else self.kind
        object.__setattr__(self, "kind", named("kind of CommonNoise", kind, KINDS))
        object.__setattr__(self, "strength", positive("CommonNoise.strength", self.strength))
        object.__setattr__(self, "length", positive("CommonNoise.length", self.length))
        object.__setattr__(self, "waves", whole("CommonNoise.waves", self.waves, 1, most=2**20))
        object.__setattr__(self, "seed", whole("CommonNoise.seed", self.seed, 0))
        if self.matrices is not None:
            object.__setattr__(self, "matrices", matrix("CommonNoise.matrices", self.matrices, (None, None, None)))
        if (self.kind == "own") != (self.matrices is not None):
            if self.kind == "own":
                raise bad("CommonNoise.matrices", None, "(m, d, d) for kind='own'", "Each has a Brownian motion.")
            raise clash("CommonNoise.matrices", f"kind={self.kind!r}", "Matrices of your own have kind='own'.")


def check_common(noise: Any, dim: int) -> None:
    """Whether tokens of so many coordinates can have this noise."""
    if not isinstance(noise, CommonNoise):
        raise bad("common_noise", noise, "None or flock.CommonNoise(strength, kind)")
    if noise.matrices is not None and noise.matrices.shape[1:] != (dim, dim):
        raise bad("CommonNoise.matrices.shape", noise.matrices.shape, f"(m, {dim}, {dim})")
    if noise.kind == "rotation" and dim < 2:
        raise bad("CommonNoise.kind", "rotation", "one of the others for dim=1", "Nothing turns on a line.")


def drawn(noise: CommonNoise, dim: int) -> tuple[int, int]:
    """The shape of the normal numbers that one step needs."""
    if noise.kind == "own":
        return len(noise.matrices), 1
    return {"shift": 1, "field": noise.waves}.get(noise.kind, dim), dim


def field_waves(noise: CommonNoise, dim: int) -> Array:
    """(waves, d + 1): wave vectors of a field, and their phases."""
    generator = np.random.default_rng(noise.seed)
    vectors = generator.standard_normal((noise.waves, dim)) / noise.length
    return np.column_stack([vectors, generator.uniform(0.0, 2.0 * math.pi, noise.waves)])


def weights_of(noise: CommonNoise, normal: Array) -> Array:
    """(m, d) what the features of a token are multiplied by, from the normal numbers of a step."""
    if noise.kind == "rotation":
        normal = (normal - normal.T) / math.sqrt(2.0)
    elif noise.kind == "own":
        normal = np.tensordot(normal[:, 0], noise.matrices, axes=1).T
    scale = math.sqrt(2.0 / noise.waves) if noise.kind == "field" else 1.0
    return np.asarray(noise.strength * scale * normal)


def features(noise: CommonNoise, x: Array) -> Array:
    """(n, m) of tokens x: 1 for a shift, waves for a field, the tokens themselves for a matrix of Brownian motions."""
    if noise.kind == "shift":
        return np.ones((len(x), 1))
    if noise.kind != "field":
        return x
    waves = field_waves(noise, x.shape[1])
    return np.asarray(np.cos(x @ waves[:, :-1].T + waves[:, -1]))
