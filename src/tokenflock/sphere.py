"""The arithmetic of the unit sphere, unchecked: what engines call, step after step. `geometry` is its door."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def tangent(x: Array, w: Array) -> Array:
    """P_x w = w - <x, w> x: the part of w that keeps a unit vector x on the sphere."""
    inside: Array = w - np.sum(x * w, axis=-1, keepdims=True) * x
    return inside


def retract(x: Array) -> Array:
    """Back to the sphere: x / |x|."""
    size = np.linalg.norm(x, axis=-1, keepdims=True)
    if np.isinf(size).any():  # of a finite x too: divided by it, it would be 0
        size = np.where(np.isinf(size), np.nan, size)
    unit: Array = x / size
    return unit
