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


def is_scalar(matrices: Array) -> bool:
    """Whether each of the matrices (H, d, d) is a multiple of I."""
    return bool((matrices == matrices[:, :1, :1] * np.eye(matrices.shape[-1])).all())


def less(matrices: Array) -> Array:
    """V - c I of each of the matrices (H, d, d), c its largest diagonal entry: P_x(V x) = P_x((V - c I) x).

    It is exactly 0 for V = c I, so that a lone token does not drift; and if V is diagonal, all terms of (V - c I) x
    vanish as x comes to the leading eigenvectors, where those of V x cancel but for rounding, and drown pulls of 1e-56.
    """
    most = np.diagonal(matrices, axis1=-2, axis2=-1).max(axis=-1)
    return np.asarray(matrices - most[..., None, None] * np.eye(matrices.shape[-1]))
