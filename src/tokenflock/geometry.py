"""The space the tokens live in: the unit sphere S^(d-1), its tangent planes and distances.

Arrays are (..., n, d): tokens on the last axis but one, coordinates on the last.
"""

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
    unit: Array = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return unit


def distance(x: Array, y: Array) -> Array:
    """Geodesic distance of unit vectors, accurate for near and for opposite points.

    arccos<x, y> loses half of the digits near 0 and pi; 2 atan2(|x - y|, |x + y|) loses none.
    """
    angles: Array = 2.0 * np.arctan2(np.linalg.norm(x - y, axis=-1), np.linalg.norm(x + y, axis=-1))
    return angles


def angle(x: Array) -> Array:
    """Angle of points on the circle, (..., 2) -> (...), in (-pi, pi]."""
    return np.arctan2(x[..., 1], x[..., 0])


def circle(angles: Array) -> Array:
    """Points of the circle from their angles, (...) -> (..., 2)."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def to_sphere(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Uniform unit vectors of the given shape (..., d)."""
    return retract(generator.standard_normal(shape))
