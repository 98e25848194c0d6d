"""Renyi and strong Renyi centers (A.5.1): who leads the clusters of a causal run, read off the start.

In the order of the tokens, with geodesic distances: token k becomes a Renyi center if it is farther than delta from
every Renyi center before it, and a strong one if it is farther than delta from every token before it. The first token
is always both, strong centers are Renyi centers, and every token is within delta of a Renyi center.

A token is compared only with the centers in its neighbourhood (renyi_kernels.py), so the work grows like the number of
tokens, whatever delta; what is too close to delta to call is decided by geometry.distance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.analysis import axes_kept, positive, tokens
from tokenflock.arguments import whole_numbers
from tokenflock.errors import bad
from tokenflock.geometry import Array, distance

if TYPE_CHECKING:
    from tokenflock.analysis.renyi_kernels import Bounds, CellGrid

Indices = NDArray[np.intp]
# Cells no smaller than this, or their numbers outgrow an integer; they need not be smaller, only wider than delta.
SMALLEST_CELL = 1e-9
EPS = float(np.finfo(np.float64).eps)
GRID_AXES = 3  # 27 cells around a token; a fourth axis would make them 81
# Tokens are unit vectors to analysis.OFF_SPHERE: their chords are those of the sphere to this factor.
CHORD_SLACK = 1e-4


@axes_kept()
def centers(x: Any, delta: float) -> Any:
    """Indices of the Renyi centers, in order; for x (..., n, d) an object array (...) of such index arrays."""
    return _each(tokens(x), positive("delta", delta), strong=False)


@axes_kept()
def strong_centers(x: Any, delta: float) -> Any:
    """Indices of the strong Renyi centers, in order; shapes as for `centers`."""
    return _each(tokens(x), positive("delta", delta), strong=True)


@axes_kept("token")
def consumed(x: Any, centers: Any, radius: float) -> NDArray[np.bool_]:
    """Whether each token is within radius of one of the centers where they are in x itself, (..., n, d) -> (..., n).

    centers: indices that hold for all of x, for example the centers of the start for x(time, token, axis); or an
    object array of indices, as `centers` returns it, whose axes are the first axes of x: one set for each run.
    """
    y, r = tokens(x), positive("radius", radius)
    lead = y.shape[:-2]
    given = centers.values if hasattr(centers, "dims") else centers  # those of a run have its axes
    sets = given if isinstance(given, np.ndarray) and given.dtype == object else None
    if sets is not None and sets.shape != lead[: sets.ndim]:
        raise bad("centers.shape", sets.shape, f"the first axes of x, {lead}", "Or give one list of indices for all.")
    if sets is None:
        return _covered(y, _indices(given, y.shape[-2]), r)
    result = np.zeros(y.shape[:-1], dtype=bool)
    for place in np.ndindex(sets.shape):
        result[place] = _covered(y[place], _indices(sets[place], y.shape[-2]), r)
    return result


def _bounds(dim: int, delta: float) -> Bounds:
    from tokenflock.analysis.renyi_kernels import Bounds

    # Two sums of d squares, two roots, an arctangent: the rounding of a distance, with room to spare.
    slack = 8 * (dim + 8) * EPS * delta
    chord = 2 * math.sin(min(delta, math.pi) / 2)
    return Bounds(delta, slack, (chord * (1 - CHORD_SLACK)) ** 2, (chord * (1 + CHORD_SLACK)) ** 2)


def _grid(y: Array, delta: float, most: int) -> CellGrid:
    """An empty grid for up to `most` centers among tokens y (..., n, d)."""
    from tokenflock.analysis.renyi_kernels import NONE, CellGrid, moves

    n, dim = y.shape[-2:]
    axes = np.arange(dim)
    if dim > GRID_AXES:  # where the tokens differ most, the cells tell most
        flat = y.reshape(-1, dim)
        sample = flat[:: max(1, len(flat) // 1000)]
        axes = np.sort(np.argsort(-sample.var(axis=0), kind="stable")[:GRID_AXES])
    bounds = _bounds(dim, delta)
    side = max(math.sqrt(bounds.surely_far), SMALLEST_CELL)
    head = np.full(1 << max(1, 2 * most - 1).bit_length(), NONE, dtype=np.int32)
    link, cells, unsure = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.intp)
    return CellGrid(axes, moves(len(axes)), side, bounds, head, link, cells, unsure)


def _centers(y: Array, delta: float, strong: bool) -> Indices:
    from tokenflock.analysis import renyi_kernels as kernels

    grid, n = _grid(y, delta, most=len(y)), len(y)
    center = np.zeros(n, dtype=bool)
    token, verdict = 0, kernels.UNSURE
    while True:
        token, doubts = kernels.pick(y, token, verdict, grid, center)
        if token == n:
            break
        near = (distance(y[grid.unsure[:doubts]], y[token]) <= delta).any()
        verdict = kernels.NEAR if near else kernels.FAR
    token = 0 if strong else n
    while token < n:
        token, doubts = kernels.spoil(y, token, grid, center)
        if token < n:
            rivals = grid.unsure[:doubts]
            center[rivals[distance(y[rivals], y[token]) <= delta]] = False
            token += 1
    return np.flatnonzero(center)


def _covered(y: Array, index: Indices, radius: float) -> NDArray[np.bool_]:
    """`consumed` for one set of centers."""
    from tokenflock.analysis import renyi_kernels as kernels

    frames = _compact(y.reshape(-1, *y.shape[-2:]))
    verdicts = np.empty(frames.shape[:2], dtype=np.int8)
    if len(index) <= kernels.FEW:
        kernels.cover_few(frames, index, _bounds(y.shape[-1], radius), verdicts)
    else:
        once = np.unique(index)  # a center twice in a chain would be its own successor
        kernels.cover(frames, once, _grid(frames, radius, most=len(once)), verdicts)
    result: NDArray[np.bool_] = verdicts == kernels.NEAR
    for f in np.flatnonzero((verdicts == kernels.UNSURE).any(axis=1)):
        doubt = np.flatnonzero(verdicts[f] == kernels.UNSURE)
        for k in index:  # nothing larger than n is ever held
            result[f, doubt] |= distance(frames[f, doubt], frames[f, k]) <= radius
    return result.reshape(y.shape[:-1])


def _compact(y: Array) -> Array:
    """The same numbers as the kernels were compiled for: contiguous, and not read-only."""
    return np.require(y, requirements=("C", "W"))


def _each(y: Array, delta: float, strong: bool) -> Any:
    y = _compact(y)
    if y.ndim == 2:
        return _centers(y, delta, strong)
    result = np.empty(y.shape[:-2], dtype=object)
    for place in np.ndindex(result.shape):
        result[place] = _centers(y[place], delta, strong)
    return result


def _indices(given: Any, n: int) -> Indices:
    advice = "Take them from renyi.centers or renyi.strong_centers."
    empty = isinstance(given, list | tuple | np.ndarray) and not len(given)  # numpy takes [] for floats
    index = whole_numbers("centers", np.empty(0, dtype=int) if empty else given, "a list of token indices", advice)
    if index.ndim != 1:
        raise bad("centers", given, "a list of token indices", advice)
    if index.size and not (0 <= index.min() and index.max() < n):
        raise bad("centers", [int(index.min()), int(index.max())], f"indices from 0 to {n - 1}")
    return index.astype(np.intp)
