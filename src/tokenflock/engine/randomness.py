"""Gaussian numbers by counter: number (seed, run, step, token, axis) is always the same, in every engine and thread."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

INCREMENT = 0x9E3779B97F4A7C15  # of splitmix64, and its two factors
FACTOR_1 = 0xBF58476D1CE4E5B9
FACTOR_2 = 0x94D049BB133111EB
PARTNER = 0xD1B54A32D192ED03  # turns the bits of the first uniform number of a pair into those of the second
COMMON = 0xA24BAED4963EE407  # turns the key of a run into that of the noise common to its tokens

MASK = 0xFFFFFFFFFFFFFFFF


def mix(z: Any) -> Any:
    """splitmix64's finaliser: 64 bits in, 64 well-mixed bits out. Of a number, or of each number of an array."""
    z = (z + INCREMENT) & MASK
    z = ((z ^ (z >> 30)) * FACTOR_1) & MASK
    z = ((z ^ (z >> 27)) * FACTOR_2) & MASK
    return z ^ (z >> 31)


def key_of(seed: int, run: int) -> int:
    """The 64-bit key of one run of one seed."""
    return int(mix(mix(seed & MASK) + run))


def normals(key: int, step: int, n: int, d: int) -> NDArray[np.float64]:
    """Standard normal numbers (n, d) for one step of one run, by Box and Muller."""
    index = np.arange(n * d, dtype=np.uint64)
    first = mix(mix(np.array([key], dtype=np.uint64) ^ np.uint64(step)) + index)
    second = mix(first ^ np.uint64(PARTNER))
    # 53 bits each; the first is never 0, where the logarithm would be infinite.
    u = ((first >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    v = (second >> np.uint64(11)).astype(np.float64) * 2.0**-53
    numbers: NDArray[np.float64] = np.sqrt(-2.0 * np.log(u)) * np.cos(2.0 * math.pi * v)
    return numbers.reshape(n, d)
