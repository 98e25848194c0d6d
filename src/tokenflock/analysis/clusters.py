"""Which tokens are together: chains of tokens in which each step is at most `radius` long (single linkage)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.analysis import positive, tokens
from tokenflock.errors import unknown
from tokenflock.geometry import Array, angle

SPACES = ("sphere", "euclidean")
# Links held at a time: more than this (tokens in a few dense clusters) and they are searched cell by cell instead.
MANY_LINKS, LINKS_A_TOKEN = 5_000_000, 64


def label(x: Any, radius: float, space: str = "sphere") -> NDArray[np.intp]:
    """The cluster of every token, (..., n, d) -> (..., n), numbered from 0 in the order of their first tokens.

    Distances are geodesic, or straight with space="euclidean". On the circle the clusters lie between gaps wider than
    radius; above, they are the connected components of the tokens at most radius apart.
    """
    y, r = _checked(x, radius, space)
    if space == "sphere" and y.shape[-1] == 2:
        return _numbered(_between_gaps(y, r))
    reach = 2.0 * math.sin(min(r, math.pi) / 2) if space == "sphere" else r  # the chord of an arc
    groups = np.empty(y.shape[:-1], dtype=np.intp)
    for place in np.ndindex(y.shape[:-2]):
        groups[place] = _components(y[place], reach)
    return _numbered(groups)


def count(x: Any, radius: float, space: str = "sphere") -> Any:
    """The number of clusters: an int, or an array (...) for x (..., n, d)."""
    y, r = _checked(x, radius, space)
    if space == "sphere" and y.shape[-1] == 2:
        _, wide = _gaps(y, r)
        found = np.maximum(wide.sum(axis=-1), 1)
    else:
        found = label(y, r, space).max(axis=-1) + 1
    return int(found) if found.ndim == 0 else found


def _checked(x: Any, radius: float, space: str) -> tuple[Array, float]:
    if space not in SPACES:
        raise unknown("space", space, SPACES)
    return tokens(x, sphere=space == "sphere"), positive("radius", radius)


def _gaps(y: Array, radius: float) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The order of the tokens around the circle, and whether the gap after each one is wider than radius."""
    angles = angle(y)
    order = np.argsort(angles, axis=-1, kind="stable")
    around = np.take_along_axis(angles, order, axis=-1)
    around = np.concatenate([around, around[..., :1] + 2 * np.pi], axis=-1)
    return order, np.diff(around, axis=-1) > radius


def _between_gaps(y: Array, radius: float) -> NDArray[np.intp]:
    order, wide = _gaps(y, radius)
    before: NDArray[np.intp] = np.cumsum(wide, axis=-1) - wide
    # The tokens after the last wide gap and before the first one are one cluster: number k is number 0 again.
    group = before % np.maximum(wide.sum(axis=-1, keepdims=True), 1)
    result = np.empty_like(group)
    np.put_along_axis(result, order, group, axis=-1)
    return result


def _components(y: Array, reach: float) -> NDArray[np.intp]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    tree = cKDTree(y)
    if tree.count_neighbors(tree, reach) <= max(MANY_LINKS, LINKS_A_TOKEN * len(y)):
        size, cell, links = len(y), np.arange(len(y)), tree.query_pairs(reach, output_type="ndarray")
    else:
        size, cell, links = _cells(y, reach)
    graph = coo_array((np.ones(len(links), dtype=bool), (links[:, 0], links[:, 1])), shape=(size, size))
    return connected_components(graph, directed=False)[1][cell]


def _cells(y: Array, reach: float) -> tuple[int, NDArray[np.intp], NDArray[np.intp]]:
    """Boxes whose diagonal is reach: tokens in one box are linked, and boxes are if two of their tokens are."""
    from scipy.spatial import cKDTree

    side = reach / math.sqrt(y.shape[1])
    boxes, cell = np.unique(np.floor(y / side), axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    inside = np.split(np.argsort(cell, kind="stable"), np.cumsum(np.bincount(cell))[:-1])
    near = cKDTree(boxes * side).query_pairs(2 * reach * (1 + 1e-9), output_type="ndarray")
    trees = [cKDTree(y[members]) for members in inside]
    limit = np.nextafter(reach, np.inf)  # the bound of a query is exclusive
    found = [np.isfinite(trees[a].query(y[inside[b]], distance_upper_bound=limit)[0]).any() for a, b in near]
    return len(boxes), cell, near[np.array(found, dtype=bool)]


def _numbered(group: NDArray[np.intp]) -> NDArray[np.intp]:
    """The same groups, numbered in the order of their first tokens."""
    n = group.shape[-1]
    flat = group.reshape(-1, n)
    rows = np.arange(len(flat))[:, None]
    first = np.full(flat.shape, n)
    np.minimum.at(first, (rows, flat), np.arange(n)[None, :])
    leader = first[rows, flat]
    rank = np.cumsum(leader == np.arange(n), axis=-1) - 1
    return np.take_along_axis(rank, leader, axis=-1).reshape(group.shape)
