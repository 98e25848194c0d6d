"""Renyi and strong Renyi centers (A.5.1): who leads the clusters of a causal run, read off the start.

In the order of the tokens, with geodesic distances: token k becomes a Renyi center if it is farther than delta from
every Renyi center before it, and a strong one if it is farther than delta from every token before it. The first token
is always both, strong centers are Renyi centers, and every token is within delta of a Renyi center.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.analysis import positive, tokens
from tokenflock.errors import bad
from tokenflock.geometry import Array, distance

Indices = NDArray[np.intp]


def centers(x: Any, delta: float) -> Any:
    """Indices of the Renyi centers, in order; for x (..., n, d) an object array (...) of such index arrays."""
    d = positive("delta", delta)
    return _each(tokens(x), lambda y: _centers(y, d))


def strong_centers(x: Any, delta: float) -> Any:
    """Indices of the strong Renyi centers, in order; shapes as for `centers`."""
    d = positive("delta", delta)
    return _each(tokens(x), lambda y: _strong(y, d))


def consumed(x: Any, centers: Any, radius: float) -> NDArray[np.bool_]:
    """Whether each token is within radius of one of the centers where they are in x itself, (..., n, d) -> (..., n).

    centers: indices that hold for all of x, for example the centers of the start for x(time, token, axis); or an
    object array of indices, as `centers` returns it, whose axes are the first axes of x: one set for each run.
    """
    y, r = tokens(x), positive("radius", radius)
    lead = y.shape[:-2]
    ragged = np.asarray(centers).dtype == object
    sets = np.asarray(centers, dtype=object) if ragged else None
    if sets is not None and sets.shape != lead[: sets.ndim]:
        raise bad("centers.shape", sets.shape, f"the first axes of x, {lead}", "Or give one list of indices for all.")
    result = np.zeros(y.shape[:-1], dtype=bool)
    for place in np.ndindex(sets.shape) if sets is not None else [()]:
        part = y[place]
        for k in _indices(centers if sets is None else sets[place], y.shape[-2]):
            result[place] |= distance(part, part[..., k : k + 1, :]) <= r
    return result


def _centers(y: Array, delta: float) -> Indices:
    found, free = [], np.ones(len(y), dtype=bool)
    k = 0
    while True:  # one round a center: nothing larger than n is ever held
        found.append(k)
        free[k:] &= distance(y[k:], y[k]) > delta
        k += int(np.argmax(free[k:]))
        if not free[k]:
            return np.array(found, dtype=np.intp)


def _strong(y: Array, delta: float) -> Indices:
    keep = [k for k in _centers(y, delta) if (distance(y[:k], y[k]) > delta).all()]
    return np.array(keep, dtype=np.intp)


def _each(y: Array, function: Callable[[Array], Indices]) -> Any:
    if y.ndim == 2:
        return function(y)
    result = np.empty(y.shape[:-2], dtype=object)
    for place in np.ndindex(result.shape):
        result[place] = function(y[place])
    return result


def _indices(given: Any, n: int) -> Indices:
    index = np.asarray(given)
    if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
        raise bad("centers", given, "a list of token indices", "Take them from renyi.centers or renyi.strong_centers.")
    if index.size and not (0 <= index.min() and index.max() < n):
        raise bad("centers", [int(index.min()), int(index.max())], f"indices from 0 to {n - 1}")
    return index.astype(np.intp)
