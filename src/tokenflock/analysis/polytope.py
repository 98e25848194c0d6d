"""Convex hulls of tokens, and where rescaled tokens end: polytopes (Theorem 3.1, B.3), hyperplanes (4.2, B.4).

    hull, vertices    the extreme tokens, in any dimension, of flat sets and single points too
    inside            whether points lie in a hull: Cx{z_i(t)} shrinks in time
    residual          | |Az|^2 - max_j <Az, A v_j> |: 0 on the finite set SS of limit points
    levels            the values phi_1*(z_i) and the parallel hyperplanes they gather on

How a hull is made: the tokens are brought to the axes of their affine hull, in which Qhull takes up to 8 dimensions;
above, or with too many tokens for its facets, linear programs (HiGHS) say which tokens others can be separated from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.analysis import tokens, triple
from tokenflock.arguments import named, numbers, real, scalar
from tokenflock.errors import bad
from tokenflock.geometry import LARGEST, Array
from tokenflock.options import matrix

Mask = NDArray[np.bool_]
METHODS = ("auto", "qhull", "lp")
#: The most tokens for Qhull by dimension: its facets, some n^(d/2), then take a second and 100 MB or so.
QHULL = {2: 10**6, 3: 10**6, 4: 10**4, 5: 2000, 6: 500, 7: 120, 8: 60}
#: The largest dimension for linear programs: one of them takes a second there.
LARGEST_DIM = 512
BLOCK = 1000  # points or facets taken together
#: In units of the largest distance from the mean: closer tokens are one, and nearer to the hull of others is no vertex.
TOLERANCE = 1e-9
#: Values of phi_1* closer than this times the largest one count as one level: tokens of a run are not at their limit.
LEVEL = 1e-3


@dataclass(frozen=True, eq=False)
class Hull:
    """The convex hull of some tokens: its vertices, and what `inside` needs."""

    vertices: Array  # (m, d)
    indices: np.ndarray  # (m,) the tokens that are the vertices, in increasing order
    dim: int  # of the affine hull: 0 for one point, d unless the tokens are flat
    size: float  # the largest distance of a token from the mean
    tolerance: float  # relative to the size
    mean: Array  # (d,)
    axes: Array  # (d, dim), orthonormal: u = (z - mean) @ axes
    facets: Array | None  # (f, dim + 1), |normal| = 1: inside is normal @ u + offset <= 0; None: linear programs


@dataclass(frozen=True)
class Levels:
    """phi_1* of tokens, gathered on parallel hyperplanes {phi_1* = c} (Theorem 4.2)."""

    values: Array  # (n,) phi_1*(z_i)
    a: float  # the least value
    b: float  # the largest
    at: tuple[float, ...]  # the level of each hyperplane, increasing
    label: np.ndarray  # (n,) the hyperplane of each token
    kind: str  # "generic": all at a < 0 or b > 0; "exceptional": some at 0; "unsettled": some elsewhere
    fails: tuple[str, ...]  # hypotheses of the theorem that (Q, K, V) does not satisfy

    @property
    def count(self) -> int:
        """The number of hyperplanes: at most 3 in the limit."""
        return len(self.at)


def hull(z: Any, tolerance: float = TOLERANCE, method: str = "auto") -> Hull:
    """The convex hull of tokens z (n, d). A larger tolerance takes tokens that have all but met as one vertex.

    method: "qhull" (up to 8 dimensions), "lp", or "auto", which chooses.
    """
    x = _frame("z", z)
    rel = scalar("tolerance", tolerance, "above 0, below 1", lambda t: (t > 0) & (t < 1))
    named("method", method, METHODS)
    mean = x.mean(axis=0)
    size = float(np.linalg.norm(x - mean, axis=1).max())
    # Rounding of the coordinates themselves: a cloud that is small against its place cannot be seen more sharply.
    scale = max(rel * size, 8 * np.finfo(float).eps * float(np.abs(x).max()))
    _, _, rows = np.linalg.svd(x - mean, full_matrices=False)
    u = (x - mean) @ rows.T
    # The distance of the farthest token from the span of the first k axes, k = 0, 1, ...
    beyond = np.sqrt(np.cumsum(u[:, ::-1] ** 2, axis=1)).max(axis=0)[::-1]
    dim = int((beyond > scale).sum())
    axes, u = rows[:dim].T, u[:, :dim]
    facets: Array | None
    if dim == 0:
        indices, facets = np.zeros(1, int), np.empty((0, 1))
    elif dim == 1:
        indices = np.array([u[:, 0].argmin(), u[:, 0].argmax()])
        facets = np.array([[-1.0, u.min()], [1.0, -u.max()]])
    else:
        indices, facets = _extreme(u, scale, _chosen(method, *u.shape))
    indices = np.sort(indices)
    return Hull(x[indices], indices, dim, size, rel, mean, axes, facets)


def vertices(z: Any, tolerance: float = TOLERANCE) -> Array:
    """The vertices (m, d) of the convex hull of tokens z (n, d), in the order of the tokens."""
    return hull(z, tolerance).vertices


def inside(points: Any, hull: Hull, tolerance: float | None = None) -> np.ndarray:
    """Whether each of the points (..., d) is in the hull or out of it by at most tolerance times its size; (...) bool.

    Left out, the tolerance is twice that of the hull, so that its own tokens that were taken as one are inside.
    """
    if not isinstance(hull, Hull):
        raise bad("hull", type(hull).__name__, "a Hull", "Make one: polytope.hull(z).")
    y = real("points", points, "finite numbers (..., d)")
    d = len(hull.mean)
    if y.ndim < 1 or y.shape[-1] != d:
        raise bad("points.shape", y.shape, f"(..., {d}), as the tokens of the hull")
    rel = 2 * hull.tolerance if tolerance is None else scalar("tolerance", tolerance, ">= 0", lambda t: t >= 0)
    slack = rel * hull.size + 8 * np.finfo(float).eps * float(np.abs(hull.vertices).max())
    offset = y - hull.mean
    u = offset @ hull.axes
    held: Mask = np.linalg.norm(offset - u @ hull.axes.T, axis=-1) <= slack  # in the affine hull
    if hull.facets is None:
        corners = (hull.vertices - hull.mean) @ hull.axes
        found = [_separation(point, corners)[0] <= slack for point in u.reshape(-1, hull.dim)]
        held = held & np.array(found, bool).reshape(held.shape)
    elif hull.dim:  # facets times points may be many: in blocks of points
        normals, offsets = hull.facets[:, :-1].T, hull.facets[:, -1]
        row = u.reshape(-1, hull.dim)
        out = [(row[i : i + BLOCK] @ normals + offsets).max(axis=1) for i in range(0, len(row), BLOCK)]
        held = held & (np.concatenate([np.empty(0), *out]).reshape(held.shape) <= slack)
    return held


def residual(z: Any, A: Any, vertices: Any) -> Array:
    """| |Az|^2 - max_j <Az, A v_j> | of each token z (..., n, d), (..., n): 0 exactly on SS (B.3).

    A: (Q'K)^(1/2), or None for the identity; `triple.good_with_multiplicity(query, key, value).A` gives it.
    """
    x = tokens(z, sphere=False)
    d = x.shape[-1]
    corners = _frame("vertices", vertices)
    if corners.shape[1] != d:
        raise bad("vertices.shape", corners.shape, f"(m, {d}), as the tokens")
    if A is not None:
        root = real("A", A, "finite numbers")
        if root.ndim != 2 or root.shape[1] != d:
            raise bad("A.shape", root.shape, f"(k, {d})", "A is the square root of Q'K; one head at a time.")
        with np.errstate(over="ignore", invalid="ignore"):
            x, corners = x @ root.T, corners @ root.T
        if not max(np.abs(x).max(), np.abs(corners).max()) <= LARGEST:
            raise bad(
                "A", f"numbers up to {np.abs(root).max():.1e}", f"A z and A v up to {LARGEST:g}, whose squares exist"
            )
    # <Az, A(v - z)> before the maximum: at a vertex it is 0 without cancellation.
    best: Array = np.full(x.shape[:-1], -np.inf)
    for corner in corners:
        best = np.maximum(best, np.sum(x * (corner - x), axis=-1))
    np.abs(best, out=best)
    return best


def levels(z: Any, value: Any, query: Any = None, key: Any = None, tolerance: float = LEVEL) -> Levels:
    """phi_1*(z_i) of rescaled tokens z (n, d), and the parallel hyperplanes on which they lie to the tolerance.

    Values closer than tolerance max |phi_1*| are one level. Needs a real, simple lambda_1; what else of Definition 4.1
    does not hold is in `fails`.
    """
    x = _frame("z", z)
    rel = scalar("tolerance", tolerance, "above 0, below 1", lambda t: (t > 0) & (t < 1))
    judged = triple.good(query, key, value)
    if judged.phi_1_star is None:
        advice = f"phi_1* needs a real, simple eigenvalue of largest modulus. {judged.fails[0]}"
        raise bad("value", "a matrix without phi_1*", "the value matrix of a good triple", advice)
    if x.shape[1] != len(judged.phi_1_star):
        raise bad("z.shape", x.shape, f"(n, {len(judged.phi_1_star)}), as value")
    values = x @ judged.phi_1_star
    scale = rel * float(np.abs(values).max())
    order = np.argsort(values, kind="stable")
    label = np.empty(len(values), int)
    label[order] = np.concatenate([[0], np.cumsum(np.diff(values[order]) > scale)])
    at = tuple(float(values[label == k].mean()) for k in range(label.max() + 1))
    return Levels(values, float(values.min()), float(values.max()), at, label, _kind(at, scale), judged.fails)


def _kind(at: Sequence[float], scale: float) -> str:
    """What the levels are: those above 0 should be one, those below 0 one, and 0 is the exception (B.4)."""
    if sum(c > scale for c in at) > 1 or sum(c < -scale for c in at) > 1:
        return "unsettled"
    return "exceptional" if any(abs(c) <= scale for c in at) else "generic"


def _frame(name: str, z: Any) -> Array:
    """Tokens (n, d) of one frame: at least one, finite."""
    shape = numbers(z).shape
    if hasattr(z, "data_vars") or len(shape) > 2:
        raise bad(f"{name}.shape", shape, "(n, d)", "One frame at a time: run.x[-1] is the last.")
    if len(shape) == 2 and not math.prod(shape):
        raise bad(f"{name}.shape", shape, "(n, d) with at least one token", "An empty set has no hull.")
    x = np.array(matrix(name, z, (None, None)))
    largest = float(np.abs(x).max())
    if largest and not 1e-150 < largest < 1e150:
        advice = "Multiply all tokens by one factor: the hull only changes its size."
        raise bad(name, f"numbers up to {largest:.1e}", "numbers up to 1e-150 to 1e150, whose squares exist", advice)
    return x


def _chosen(method: str, n: int, dim: int) -> str:
    """Qhull or linear programs, for n tokens whose affine hull has this dimension."""
    if method == "qhull" and dim not in QHULL:
        raise bad("method", method, f"'lp' in {dim} dimensions", f"Qhull takes up to {max(QHULL)}: its facets explode.")
    chosen = ("qhull" if n <= QHULL.get(dim, 0) else "lp") if method == "auto" else method
    if chosen == "lp" and dim > LARGEST_DIM and n > dim + 1:
        advice = "Project the tokens first, for example on their leading principal axes."
        raise bad("z", f"{n} tokens that span {dim} dimensions", f"at most {LARGEST_DIM} dimensions", advice)
    return chosen


def _extreme(u: Array, scale: float, method: str) -> tuple[np.ndarray, Array | None]:
    """Which of the points u (n, dim >= 2), that span their space, are vertices, and the facets if Qhull found them."""
    apart = _apart(u, scale)
    points = u[apart]
    found = _facets(points) if method == "qhull" else None
    if len(points) <= u.shape[1] + 1:  # a simplex: all are vertices
        return apart, None if found is None else found[1]
    # Where Qhull gives up (all but flat after the nearest tokens are taken as one) the programs still answer.
    if found is None:
        candidates = _outermost(points, scale)
        return apart[candidates[_needed(points[candidates], _outwards(points[candidates], scale), scale)]], None
    candidates, facets, directions = found
    return apart[candidates[_needed(points[candidates], directions, scale)]], facets


def _apart(u: Array, scale: float) -> np.ndarray:
    """Tokens of which no two are closer than scale; every other is that close to one of them. The first stays."""
    from scipy.spatial import cKDTree

    tree = cKDTree(u)
    left = np.ones(len(u), bool)
    for i in np.flatnonzero(tree.query(u, k=2)[0][:, 1] <= scale):
        if left[i]:
            left[tree.query_ball_point(u[i], scale)] = False
            left[i] = True
    return np.flatnonzero(left)


def _facets(points: Array) -> tuple[np.ndarray, Array, Array] | None:
    """Vertices, facets, and the mean normal at each vertex, by Qhull; None where it gives up."""
    from scipy.spatial import ConvexHull, QhullError

    # In axes of unit width Qhull is as sure of a set that is a million times thinner one way.
    widths = np.abs(points).max(axis=0)
    try:
        found = ConvexHull(points / widths)
    except (QhullError, ValueError):
        return None
    normals = found.equations[:, :-1] / widths
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    # Qhull gives the offsets to its own rounding: from the points no vertex is beyond its facets.
    corners = points[found.vertices].T
    offsets = [-(normals[i : i + BLOCK] @ corners).max(axis=1) for i in range(0, len(normals), BLOCK)]
    facets = np.column_stack([normals, np.concatenate(offsets)])
    directions = np.zeros_like(points)
    np.add.at(directions, found.simplices, normals[:, None, :])
    return found.vertices, facets, directions[found.vertices]


def _separation(point: Array, others: Array) -> tuple[float, Array]:
    """How far a plane can keep the point from the others: max over unit w of <w, point> - max_j <w, other_j>, and w.

    A linear program, with w in a cube: the distance that it finds is a lower bound, within a factor sqrt(dim).
    """
    from scipy.optimize import linprog

    rows = others - point
    size = float(np.abs(rows).max())
    if not size:
        return 0.0, np.zeros_like(point)
    m, dim = rows.shape
    # Maximise s subject to <w, other - point> + s <= 0: in units of the largest difference.
    done = linprog(
        np.append(np.zeros(dim), -1.0), A_ub=np.column_stack([rows / size, np.ones(m)]), b_ub=np.zeros(m),
        bounds=[(-1.0, 1.0)] * dim + [(0.0, None)], method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    w = np.zeros(dim) if done.x is None else done.x[:-1]
    length = float(np.linalg.norm(w))
    # HiGHS is right to 1e-10 only; what its direction separates is exact.
    return (float(-(rows @ (w / length)).max()), w / length) if length else (0.0, w)


def _outwards(points: Array, scale: float) -> Array:
    """At each point the normal that an ellipsoid would have there: a vertex of a round hull is seen from it."""
    normals: Array = (points - points.mean(axis=0)) / np.maximum(points.std(axis=0), scale) ** 2
    return normals


def _seen(points: Array, directions: Array, scale: float) -> np.ndarray:
    """Whether each point is more than scale beyond all others in its direction: if so it is a vertex."""
    length = np.linalg.norm(directions, axis=1, keepdims=True)
    rays = directions / np.where(length > 0, length, 1.0)
    beyond = np.empty(len(points))
    for begin in range(0, len(points), BLOCK):
        block = slice(begin, begin + BLOCK)
        heights = rays[block] @ points.T
        own = np.arange(len(heights)), np.arange(len(points))[block]
        top = heights[own]
        heights[own] = -np.inf
        beyond[block] = top - heights.max(axis=1)
    return beyond > scale


def _needed(points: Array, directions: Array, scale: float) -> np.ndarray:
    """Which of the points are out of the hull of the other ones kept by more than scale."""
    kept = np.ones(len(points), bool)
    # Most vertices are seen at once; a linear program decides the others.
    for i in np.flatnonzero(~_seen(points, directions, scale)):
        kept[i] = False
        kept[i] = _separation(points[i], points[kept])[0] > scale
    return np.flatnonzero(kept)


def _outermost(points: Array, scale: float) -> np.ndarray:
    """The vertices by linear programs, each over the vertices found so far only (Clarkson's way)."""
    seen = np.flatnonzero(_seen(points, _outwards(points, scale), scale))
    found = {int(i) for i in np.concatenate([seen, points.argmax(axis=0)])}
    for i in range(len(points)):
        while i not in found:
            known = sorted(found)
            gap, w = _separation(points[i], points[known])
            if gap <= scale:
                break
            heights = points @ w
            # Of several farthest ones, the one farthest from the mean is a vertex.
            top = np.flatnonzero(heights >= heights.max() - scale * math.sqrt(np.finfo(float).eps))
            found.add(int(top[np.linalg.norm(points[top], axis=1).argmax()]))
    return np.array(sorted(found))
