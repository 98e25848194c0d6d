"""The space the tokens live in: the unit sphere S^(d-1), its tangent planes and distances.

Arrays are (..., n, d): tokens on the last axis but one, coordinates on the last. What is nan stays nan: frames that a
run did not reach are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tokenflock import sphere
from tokenflock.arguments import generator as a_generator
from tokenflock.arguments import real, room
from tokenflock.errors import bad
from tokenflock.sphere import Array as Array

LARGEST = 1e150  # of a coordinate: its square still exists


def tangent(x: Array, w: Array) -> Array:
    """P_x w = w - <x, w> x: the part of w that keeps a unit vector x on the sphere."""
    a, b = _vectors("x", x), _vectors("w", w)
    _together(a, b)
    return sphere.tangent(a, b)


def retract(x: Array) -> Array:
    """Back to the sphere: x / |x|."""
    y = _vectors("x", x)
    largest = np.abs(y).max(axis=-1, keepdims=True, initial=0.0)
    if not largest.all():
        raise bad("x", "a vector of length 0", "vectors other than 0", "It has no direction.")
    tiny = largest < 1.0 / LARGEST  # the squares of its coordinates underflow
    return sphere.retract(np.where(tiny, y / largest, y) if tiny.any() else y)


def distance(x: Array, y: Array) -> Array:
    """Geodesic distance of unit vectors, accurate for near and for opposite points.

    arccos<x, y> loses half of the digits near 0 and pi; 2 atan2(|x - y|, |x + y|) loses none.
    """
    a, b = _vectors("x", x), _vectors("y", y)
    _together(a, b)
    angles: Array = 2.0 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))
    return angles


def angle(x: Array) -> Array:
    """Angle of points on the circle, (..., 2) -> (...), in (-pi, pi]."""
    y = _vectors("x", x)
    if y.shape[-1] != 2:
        raise bad("x.shape", y.shape, "(..., 2)", "Angles are for points of the plane.")
    return np.arctan2(y[..., 1], y[..., 0])


def circle(angles: Array) -> Array:
    """Points of the circle from their angles, (...) -> (..., 2)."""
    a = real("angles", angles, "finite numbers, radians")
    return np.stack([np.cos(a), np.sin(a)], axis=-1)


def to_sphere(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Uniform unit vectors of the given shape (..., d)."""
    sizes = real("shape", shape, "whole numbers (..., d), d >= 1", lambda v: (v >= 0) & (v == np.floor(v)))
    if sizes.ndim != 1 or not sizes.size or sizes[-1] < 1:
        raise bad("shape", shape, "whole numbers (..., d), d >= 1")
    whole = [int(size) for size in sizes]
    room("the product of shape", math.prod(whole))
    return sphere.retract(a_generator(generator).standard_normal(whole))


def _vectors(argument: str, given: Any) -> Array:
    """An array (..., d) of real numbers, which may be nan, in C order; of float32 it stays one."""
    allowed = f"real numbers up to {LARGEST:g}, (..., d)"
    held = hasattr(given, "dims") and not hasattr(given, "data_vars")  # the x of a run
    if not (held or isinstance(given, np.ndarray | list | tuple) or np.isscalar(given)):
        raise bad(argument, given, allowed)
    try:
        y = np.asarray(given)
    except ValueError:  # ragged
        raise bad(argument, given, allowed) from None
    if y.dtype.kind not in "biuf" or np.ma.is_masked(given):
        raise bad(argument, given, allowed)
    if y.ndim == 0 or y.shape[-1] == 0:
        raise bad(f"{argument}.shape", y.shape, "(..., d), d >= 1", "One vector is an array of shape (d,).")
    if y.dtype != np.float32:
        y = np.asarray(y, dtype=np.float64)
    if np.abs(y).max(initial=0.0) > LARGEST:
        raise bad(argument, f"numbers up to {np.abs(y).max():.1e}", allowed)
    return np.ascontiguousarray(y)


def _together(x: Array, y: Array) -> None:
    """Whether two arrays of vectors go together."""
    try:
        fits = np.broadcast_shapes(x.shape, y.shape)[-1] == x.shape[-1] == y.shape[-1]
    except ValueError:
        fits = False
    if not fits:
        raise bad("the shapes", (x.shape, y.shape), "two arrays (..., d) that numpy broadcasts")
