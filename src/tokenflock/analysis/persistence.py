"""Clusters without a threshold: how their number depends on the radius, and the radius at which it depends least.

Single linkage (clusters.label) joins two groups at the radius that their nearest tokens are apart. From 0 on there are
n tokens; at every radius of the barcode two groups become one; so

    count(r) = n - (number of bars that end at or before r)

and the bars are the edges of the shortest tree that spans the tokens. Where clusters are apart, count(r) stays long:
the stretch [low, high) of radius that lasts longest is the one with the greatest

    log(high / low) (n - count) / (n - 1)

the second factor being the share of tokens that it has joined: two tokens of a cloud that are close by chance are no
structure, and count = n is what every set says of small radii. Below FLOOR tokens have met, and beyond the diameter of
the set nothing is left to join: no stretch reaches further, but that of tokens all of which have met. A stretch of less
than a factor CLEAR says that there is no one number of clusters, and is told with that doubt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import arguments
from tokenflock.analysis import axes_kept, axes_of, clusters, positive, tokens, with_axes
from tokenflock.arguments import real
from tokenflock.errors import bad
from tokenflock.geometry import Array

if TYPE_CHECKING:
    import xarray as xr

#: Tokens as near as the square root of the rounding of float64 have met: their distance is what rounding left of it.
FLOOR = float(np.sqrt(np.finfo(np.float64).eps))
CLEAR = 2.0  # as the plateaus in time: what stays while the scale doubles stays


@dataclass(frozen=True)
class Lasting:
    """`count` clusters for every radius of [low, high); `radius` is the middle of it in ratios."""

    count: int
    low: float
    high: float

    @property
    def radius(self) -> float:
        """sqrt(low high)."""
        return math.sqrt(self.low) * math.sqrt(self.high)

    @property
    def ratio(self) -> float:
        """high / low: how long it lasts."""
        return self.high / self.low

    @property
    def clear(self) -> bool:
        """Whether it lasts a factor CLEAR = 2; if not, no number of clusters stands out."""
        return self.ratio >= CLEAR

    def __str__(self) -> str:
        range_ = f"for radii from {self.low:.3g} to {self.high:.3g}, a factor {self.ratio:.3g}"
        words = f"{self.count} cluster{'s' if self.count != 1 else ''} {range_}"
        return words if self.clear else f"{words}: no number of clusters stands out"


@axes_kept("bar")
def barcode(x: Any, space: str = "sphere") -> Array:
    """The radii at which groups of tokens become one, in order: x (..., n, d) -> (..., n - 1).

    Distances are geodesic, or straight with space="euclidean"; every bar begins at 0, when its token stands alone.
    """
    y = _checked(x, space)
    ends = np.empty((*y.shape[:-2], y.shape[-2] - 1))
    for place in np.ndindex(y.shape[:-2]):
        ends[place] = np.sort(_edges(y[place]))
    return _arcs(ends) if space == "sphere" else ends


def counts(x: Any, radii: Any, space: str = "sphere") -> Any:
    """The number of clusters at every radius: x (..., n, d) and radii (m,) -> (..., m), as by clusters.count."""
    at = np.atleast_1d(real("radii", radii, "numbers >= 0", lambda r: r >= 0))
    y = _checked(x, space)
    found = y.shape[-2] - (barcode(y, space)[..., None, :] <= at[:, None]).sum(axis=-1)
    axes = axes_of(x) if hasattr(x, "dims") else None
    return found if axes is None else with_axes(found, axes, ("radius",), "counts").assign_coords(radius=at)


def lasting(x: Any, space: str = "sphere") -> Lasting:
    """The number of clusters of one set of tokens x (n, d) that lasts longest as the radius grows."""
    y = _checked(x, space)
    if y.ndim != 2:
        raise bad("x.shape", y.shape, "(n, d), one moment", "Of a run take one: run.isel(time=-1).")
    scale = 1.0 if space == "sphere" else float(np.linalg.norm(y, axis=-1).max()) or 1.0
    ends = np.maximum(barcode(y, space), FLOOR * scale)
    if len(y) == 1 or ends[-1] <= FLOOR * scale:  # all have met, and are one at every radius
        return Lasting(1, FLOOR * scale, math.pi * scale)
    edges = np.append(ends, max(_diameter(y, space), ends[-1]))
    score = np.log(edges[1:] / edges[:-1]) * np.arange(1, len(edges))
    k = len(score) - 1 - int(np.argmax(score[::-1]))  # where all distances are equal they are one cluster, if any
    return Lasting(len(y) - 1 - k, float(edges[k]), float(edges[k + 1]))


def survey(run: xr.Dataset, radius: float | None = None) -> xr.Dataset:
    """The clusters of a run at all its times: label(.., time, token), which keep their numbers, and count(.., time).

    radius: that within which tokens are linked. Left out: the one that lasts longest at the last time (`lasting`). The
    attributes tell: `radius`, and `lasts`, the factor of the radius in which the count stays; of an ensemble, the
    middle one of its runs.
    """
    import xarray as xr

    axes = axes_of(run) if hasattr(run, "data_vars") else None
    if axes is None or "time" not in axes.dims:
        given = type(run).__name__ if axes is None else str(axes.dims)
        raise bad("run", given, "a trajectory with x(.., time, token, axis)", "Of an array take clusters.track.")
    space = "sphere" if '"space": "sphere"' in str(run.attrs.get("model", '"space": "sphere"')) else "euclidean"
    told: dict[str, Any] = {"space": space}
    if radius is None:
        last = axes.isel(time=-1).values
        found = [lasting(last[place], space) for place in np.ndindex(last.shape[:-2])]
        chosen = sorted(found, key=lambda one: one.radius)[len(found) // 2]
        radius, told["lasts"] = chosen.radius, chosen.ratio
    told["radius"] = positive("radius", radius)
    label = clusters.track(axes, radius, space)
    count = clusters.count(axes, radius, space)
    return xr.Dataset({"label": label, "count": count}, attrs=told)


def _checked(x: Any, space: str) -> Array:
    return tokens(x, sphere=arguments.named("space", space, clusters.SPACES) == "sphere")


def _arcs(chords: Array) -> Array:
    """Geodesic distances of unit vectors whose straight ones are given."""
    return np.asarray(2.0 * np.arcsin(np.minimum(chords / 2.0, 1.0)))


def _edges(y: Array) -> Array:
    """The edges of the shortest spanning tree, (n - 1,), in any order."""
    if 1 < len(y) <= clusters.FEW:
        from scipy.cluster.hierarchy import linkage

        return np.asarray(linkage(y, "single")[:, 2])
    return _one_by_one(y)


def _one_by_one(y: Array) -> Array:
    """The same without an (n, n) array: Prim's way, a token at a time."""
    n = len(y)
    edges, near, here = np.empty(max(0, n - 1)), np.full(n, np.inf), 0
    for k in range(n - 1):
        near = np.minimum(near, np.einsum("ij,ij->i", y - y[here], y - y[here]))
        near[here] = np.inf  # in the tree: it is never the nearest outside of it again
        y, near = (np.delete(a, here, axis=0) for a in (y, near))
        here = int(np.argmin(near))
        edges[k] = math.sqrt(near[here])
    return edges


def _diameter(y: Array, space: str) -> float:
    """The largest distance of two tokens; of a set too large for all pairs, that of a part of it."""
    from scipy.spatial.distance import pdist

    if len(y) < 2:
        return 0.0
    few = y if len(y) <= clusters.FEW else y[:: len(y) // clusters.FEW]
    chord = float(pdist(few).max())
    return float(_arcs(np.array(chord))) if space == "sphere" else chord
