"""Which tokens are together: chains of tokens in which each step is at most `radius` long (single linkage).

`label`, `count` and `sizes` look at one moment; `track` keeps the number of a cluster through time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock import arguments
from tokenflock.analysis import axes_kept, positive, tokens
from tokenflock.arguments import real, whole_numbers
from tokenflock.errors import bad
from tokenflock.geometry import Array, angle, distance

Labels = NDArray[np.intp]
SPACES = ("sphere", "euclidean")
FEW = 4_000  # tokens up to which comparing neighbours along one axis beats a tree, however they lie
# Links held at a time: more than this (tokens in a few dense clusters) and they are searched cell by cell instead.
MANY_LINKS, LINKS_A_TOKEN = 5_000_000, 64
# An angle is right to an ulp of pi: gaps this close to the radius are measured once more, with geometry.distance.
ANGLE_SLACK = 32 * float(np.finfo(np.float64).eps)


@axes_kept("token")
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


@axes_kept()
def count(x: Any, radius: float, space: str = "sphere") -> Any:
    """The number of clusters: an int, or an array (...) for x (..., n, d)."""
    y, r = _checked(x, radius, space)
    if space == "sphere" and y.shape[-1] == 2:
        _, wide = _gaps(y, r)
        found = np.maximum(wide.sum(axis=-1), 1)
    else:
        found = label(y, r, space).max(axis=-1) + 1
    return int(found) if found.ndim == 0 else found


@axes_kept()
def sizes(x: Any, radius: float, weights: Any = None, space: str = "sphere") -> Any:
    """The number of tokens in each cluster, or the sum of their weights (n,), in the order of `label`.

    An array with one size a cluster; for x (..., n, d) an object array (...) of such arrays.
    """
    y, r = _checked(x, radius, space)
    groups = label(y, r, space)
    share = None
    if weights is not None:
        share = real("weights", weights, "finite numbers >= 0", lambda w: w >= 0, "One for each token.")
        if share.shape != groups.shape[-1:]:
            raise bad("weights.shape", share.shape, f"{groups.shape[-1:]}", "One weight for each token.")
    if groups.ndim == 1:
        return np.bincount(groups, weights=share)
    result = np.empty(groups.shape[:-1], dtype=object)
    for place in np.ndindex(result.shape):
        result[place] = np.bincount(groups[place], weights=share)
    return result


@axes_kept("token")
def track(x: Any, radius: float, space: str = "sphere") -> NDArray[np.intp]:
    """`label` with a memory: x (..., time, n, d) -> (..., time, n), where a cluster keeps its number through time.

    A cluster is known by its first token, the leader of a causal run. Among the clusters whose first tokens meet in one
    cluster, the one with the earliest first token gives it its number; the others have merged into it, and their
    numbers are gone for good. What breaks away without its cluster's first token gets a number never used before.
    """
    y, r = _checked(x, radius, space)
    if y.ndim < 3:
        raise bad("x.shape", y.shape, "(..., time, n, d)", "The clusters of one moment are clusters.label(x, radius).")
    return follow(label(y, r, space))


def follow(labels: Any) -> NDArray[np.intp]:
    """`track` for clusters already found: labels (..., time, n), numbered anew at every time, or tracked."""
    groups = whole_numbers("labels", labels, "whole numbers of shape (..., time, n)", "Take them from clusters.label.")
    if groups.ndim < 2 or not groups.size:
        raise bad("labels.shape", groups.shape, "(..., time, n)", "Take them from clusters.label.")
    result = np.empty(groups.shape, dtype=np.intp)
    for place in np.ndindex(groups.shape[:-2]):
        before, used = None, 0
        for now, group in enumerate(groups[place]):
            before, used = _inherited(group, before, used)
            result[(*place, now)] = before
    return result


def _inherited(group: Labels, before: Labels | None, used: int) -> tuple[Labels, int]:
    """The clusters of one moment with the numbers of the moment before, and how many numbers are used by now."""
    first, inside = np.unique(group, return_index=True, return_inverse=True)[1:]
    number = np.full(len(first), -1)
    if before is not None:
        leaders = np.sort(np.unique(before, return_index=True)[1])
        heir, earliest = np.unique(inside[leaders], return_index=True)
        number[heir] = before[leaders[earliest]]
    fresh = np.flatnonzero(number < 0)
    number[fresh[np.argsort(first[fresh])]] = used + np.arange(len(fresh))
    return number[inside], used + len(fresh)


def _checked(x: Any, radius: float, space: str) -> tuple[Array, float]:
    return tokens(x, sphere=arguments.named("space", space, SPACES) == "sphere"), positive("radius", radius)


def _gaps(y: Array, radius: float) -> tuple[Labels, NDArray[np.bool_]]:
    """The order of the tokens around the circle, and whether the gap after each one is wider than radius."""
    angles = angle(y)
    order = np.argsort(angles, axis=-1, kind="stable")
    around = np.take_along_axis(angles, order, axis=-1)
    around = np.concatenate([around, around[..., :1] + 2 * np.pi], axis=-1)
    gap = np.diff(around, axis=-1)
    wide = gap > radius
    close = np.nonzero(np.abs(gap - radius) <= ANGLE_SLACK)
    if close[0].size:
        *run, place = close
        here, there = order[close], order[(*run, (place + 1) % order.shape[-1])]
        wide[close] = distance(y[(*run, here)], y[(*run, there)]) > radius
        for *r, k in zip(*(side[wide[close]] for side in close), strict=True):
            # Tokens at the same place to rounding: the nearest pair across the gap need not be the neighbours.
            wide[(*r, k)] = _shortest(y[tuple(r)][order[tuple(r)]], int(k)) > radius
    return order, wide


def _shortest(around: Array, k: int) -> float:
    """The least distance over the gap after token k of those in order around the circle, and of those beside it."""

    def beside(first: int, step: int) -> Array:
        last = first
        while abs(last - first) < len(around) - 1:
            following = around[(last + step) % len(around)]
            if distance(following, around[first % len(around)]) > ANGLE_SLACK:
                break
            last += step
        return np.unique(around[np.arange(first, last + step, step) % len(around)], axis=0)

    return float(distance(beside(k, -1)[:, None], beside(k + 1, 1)[None]).min())


def _between_gaps(y: Array, radius: float) -> Labels:
    order, wide = _gaps(y, radius)
    before: Labels = np.cumsum(wide, axis=-1) - wide
    # The tokens after the last wide gap and before the first one are one cluster: number k is number 0 again.
    group: Labels = before % np.maximum(wide.sum(axis=-1, keepdims=True), 1)
    result = np.empty_like(group)
    np.put_along_axis(result, order, group, axis=-1)
    return result


def _components(y: Array, reach: float) -> Labels:
    if len(y) <= FEW:
        from tokenflock.analysis.linking_kernels import link

        axis = int(np.argmax(np.ptp(y, axis=0)))
        groups: Labels = link(np.ascontiguousarray(y), np.argsort(y[:, axis]), axis, reach)
        return groups
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    tree = cKDTree(y)
    if tree.count_neighbors(tree, reach) <= max(MANY_LINKS, LINKS_A_TOKEN * len(y)):
        size, cell, links = len(y), np.arange(len(y)), tree.query_pairs(reach, output_type="ndarray")
    else:
        size, cell, links = _cells(y, reach)
    graph = coo_array((np.ones(len(links), dtype=bool), (links[:, 0], links[:, 1])), shape=(size, size))
    chained: Labels = connected_components(graph, directed=False)[1][cell]
    return chained


def _cells(y: Array, reach: float) -> tuple[int, Labels, Labels]:
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


def _numbered(group: Labels) -> Labels:
    """The same groups, numbered in the order of their first tokens."""
    n = group.shape[-1]
    flat = group.reshape(-1, n)
    rows = np.arange(len(flat))[:, None]
    first = np.full(flat.shape, n)
    np.minimum.at(first, (rows, flat), np.arange(n)[None, :])
    leader = first[rows, flat]
    rank = np.cumsum(leader == np.arange(n), axis=-1) - 1
    return np.take_along_axis(rank, leader, axis=-1).reshape(group.shape)
