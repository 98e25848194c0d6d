"""What tokens do from layer to layer: overlaps, clusters, ranks, attention, and their part in a subspace.

    measure          all of it, one Dataset over time
    overlaps         <x_i, x_j> of all pairs i < j
    histogram        of these, layer by layer: Figure 1 of paper C
    effective_rank   in how many directions the tokens lie

Everything is of directions x = h / |h|: a layer norm leaves nothing else.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.analysis import attention, tokens
from tokenflock.arguments import scalar, whole
from tokenflock.errors import bad
from tokenflock.geometry import Array
from tokenflock.networks.spectra import one_thread
from tokenflock.trajectory import TIME, validate

if TYPE_CHECKING:
    import xarray as xr

#: Tokens with an overlap above this are together; paper C counts them by 0.999 in its phase diagrams.
TOGETHER = 0.99
BINS = 80
#: Singular values of attention below this times the largest do not count for its rank.
SMALL = 1e-2


def overlaps(x: Any) -> Array:
    """<x_i, x_j> of all pairs i < j, (..., n, d) -> (..., n (n - 1) / 2)."""
    y = tokens(x)
    if y.shape[-2] < 2:
        raise bad("x.shape", y.shape, "at least two tokens", "One token has no pairs.")
    i, j = np.triu_indices(y.shape[-2], 1)
    gram = y @ np.swapaxes(y, -1, -2)
    return np.clip(gram[..., i, j], -1.0, 1.0)


def histogram(x: Any, bins: int = BINS) -> tuple[Array, Array]:
    """Density of the overlaps in equal bins of [-1, 1], (time, n, d) -> (time, bins), and their edges (bins + 1,).

    Paper C counts the pairs i = j too, which puts a share 1/n of all into the last bin at any time; here they are
    left out.
    """
    number = whole("bins", bins, 1)
    edges = np.linspace(-1.0, 1.0, number + 1)
    return _histogram(overlaps(x), edges), edges


def _histogram(found: Array, edges: Array) -> Array:
    rows = found.reshape(-1, found.shape[-1])
    density = np.stack([np.histogram(row, edges, density=True)[0] for row in rows])
    return density.reshape(*found.shape[:-1], len(edges) - 1)


def effective_rank(x: Any) -> Array:
    """exp of the entropy of the shares s_k^2 / sum s^2 of the singular values: 1 to min(n, d), (..., n, d) -> (...)."""
    y = tokens(x, sphere=False)
    small = y @ np.swapaxes(y, -1, -2) if y.shape[-2] <= y.shape[-1] else np.swapaxes(y, -1, -2) @ y
    s = np.maximum(np.linalg.eigvalsh(small), 0.0)
    share = s / s.sum(axis=-1, keepdims=True)
    return np.asarray(np.exp(-np.sum(share * np.log(np.where(share > 0, share, 1.0)), axis=-1)))


def inside(x: Any, basis: Any) -> Array:
    """|P_L x_i| of every token, (..., n, d) -> (..., n), L spanned by the orthonormal columns of basis (d, m)."""
    y, L = tokens(x), np.asarray(basis, dtype=np.float64)
    if L.ndim != 2 or len(L) != y.shape[-1] or not L.size:
        raise bad("basis.shape", L.shape, f"({y.shape[-1]}, m)", "The columns span the subspace.")
    if np.abs(L.T @ L - np.eye(L.shape[1])).max() > 1e-8:
        raise bad("basis", "columns that are not orthonormal", "orthonormal columns", "numpy.linalg.qr(basis)[0]")
    return np.asarray(np.linalg.norm(y @ L, axis=-1))


def inside_by_chance(dim: int, dimension: int) -> float:
    """The mean of |P_L x| for a uniform x of the sphere in R^dim and an L of this dimension."""
    # |P_L x|^2 is Beta(m/2, (d - m)/2): its half moment.
    lg, m, d = math.lgamma, dimension / 2, dim / 2
    return 1.0 if dimension >= dim else math.exp(lg(m + 0.5) - lg(m) + lg(d) - lg(d + 0.5))


def together(x: Any, least: float) -> Any:
    """The number of clusters of tokens linked by overlaps >= least, (..., n, d) -> (...): `clusters.count` by pairs.

    In hundreds of dimensions a tree of space saves nothing: all overlaps at once are much faster.
    """
    from scipy.sparse.csgraph import connected_components

    y = tokens(x)
    linked = y @ np.swapaxes(y, -1, -2) >= least
    found = np.empty(y.shape[:-2], dtype=np.intp)
    for place in np.ndindex(found.shape):
        found[place] = connected_components(linked[place], directed=False)[0]
    return found


def measure(run: xr.Dataset, overlap: float = TOGETHER, subspace: Any = None, bins: int = BINS) -> xr.Dataset:
    """How the tokens of a run behave, over its times; of its attention, where it holds one, over layers and heads.

    overlap: that from which two tokens count as one cluster; subspace: orthonormal columns (d, m), or one such
    array for every time.
    """
    import xarray as xr

    with one_thread():
        least = scalar("overlap", overlap, "between -1 and 1", lambda v: (v > -1) & (v <= 1))
        x = tokens(validate(run))
        pairs = overlaps(x)
        edges = np.linspace(-1.0, 1.0, whole("bins", bins, 1) + 1)
        data: dict[str, Any] = {
            "overlap": (TIME, pairs.mean(axis=-1), {"long_name": "mean overlap of pairs"}),
            "overlap_low": (TIME, np.quantile(pairs, 0.05, axis=-1)),
            "overlap_high": (TIME, np.quantile(pairs, 0.95, axis=-1)),
            "histogram": ((TIME, "bin"), _histogram(pairs, edges)),
            "clusters": (TIME, together(x, least), {"long_name": f"clusters at overlap {least:g}"}),
            "effective_rank": (TIME, effective_rank(x)),
        }
        if "radius" in run:
            data["length"] = (TIME, run["radius"].values.mean(axis=-1), {"long_name": "mean |h|"})
        if subspace is not None:
            several = isinstance(subspace, list | tuple)
            bases = list(subspace) if several else [subspace] * len(x)
            if len(bases) != len(x):
                raise bad("subspace", f"{len(bases)} subspaces", f"one, or {len(x)}: one for each time")
            data["inside"] = (TIME, np.array([inside(frame, L).mean() for frame, L in zip(x, bases, strict=True)]))
        if "attention" in run:
            data |= _attention(run["attention"].values)
    middles = (edges[1:] + edges[:-1]) / 2
    return xr.Dataset(data, coords={TIME: run[TIME].values, "bin": middles}, attrs={"overlap": least})


def _attention(weights: Array) -> dict[str, Any]:
    """Entropy and numerical rank of every attention matrix (layer, head, n, n), and how many tokens lead."""
    lead = weights.shape[:2]
    found = {name: np.empty(lead) for name in ("attention_entropy", "attention_rank", "leaders")}
    for place in np.ndindex(lead):
        P = np.asarray(weights[place], dtype=np.float64)
        P = P / P.sum(axis=-1, keepdims=True)  # float32 rows sum to 1 to 1e-7
        top = float(np.linalg.norm(P, 2))
        found["attention_entropy"][place] = attention.entropy(P).mean()
        found["attention_rank"][place] = attention.rank(P, SMALL * top).rank
        found["leaders"][place] = len(np.unique(attention.leaders(P).leader))
    return {name: (("layer", "head"), values) for name, values in found.items()}
