"""What tokens do from layer to layer: overlaps, clusters, ranks, attention, and their part in a subspace.

    measure          all of it, one Dataset over time
    survey           what interpretability measures: sinks, ranks, dimension, neighbours, energy
    overlaps         <x_i, x_j> of all pairs i < j
    histogram        of these, layer by layer: Figure 1 of paper C
    effective_rank   in how many directions the tokens lie

Everything is of directions x = h / |h|: a layer norm leaves nothing else.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.analysis import attention, axes_kept, energy, persistence, states, tokens
from tokenflock.analysis.spectrum import one_thread
from tokenflock.arguments import scalar, some, whole
from tokenflock.errors import SpecError, bad
from tokenflock.geometry import Array
from tokenflock.trajectories import TIME, validate

if TYPE_CHECKING:
    import xarray as xr

#: Tokens with an overlap above this are together; paper C counts them by 0.999 in its phase diagrams.
TOGETHER = 0.99
BINS = 80
MOST_BINS = 10**6  # an interval of [-1, 1] finer than any picture
#: Singular values of attention below this times the largest do not count for its rank.
SMALL = 1e-2
FEWEST = 10  # tokens from which their intrinsic dimension is told
MOST_DIM = 2**50  # whole numbers that a float64 tells apart, with room for their sums


@axes_kept("pair")
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
    edges = _edges(bins)
    return _histogram(overlaps(tokens(x)), edges), edges


def _edges(bins: int) -> Array:
    return np.linspace(-1.0, 1.0, whole("bins", bins, 1, most=MOST_BINS) + 1)


def _histogram(found: Array, edges: Array) -> Array:
    rows = found.reshape(-1, found.shape[-1])
    density = np.stack([np.histogram(row, edges, density=True)[0] for row in rows])
    return density.reshape(*found.shape[:-1], len(edges) - 1)


@axes_kept()
def effective_rank(x: Any) -> Array:
    """exp of the entropy of the shares s_k^2 / sum s^2 of the singular values: 1 to min(n, d), (..., n, d) -> (...)."""
    return np.asarray(np.exp(states.matrix_entropy(tokens(x, sphere=False))))


@axes_kept("token")
def inside(x: Any, basis: Any) -> Array:
    """|P_L x_i| of every token, (..., n, d) -> (..., n), L spanned by the orthonormal columns of basis (d, m)."""
    y, L = tokens(x), some("basis", basis, "orthonormal columns (d, m)", lambda v: np.abs(v) < 2)
    if L.ndim != 2 or len(L) != y.shape[-1] or not L.size:
        raise bad("basis.shape", L.shape, f"({y.shape[-1]}, m)", "The columns span the subspace.")
    if np.abs(L.T @ L - np.eye(L.shape[1])).max() > 1e-8:
        raise bad("basis", "columns that are not orthonormal", "orthonormal columns", "Give numpy.linalg.qr(basis)[0].")
    return np.asarray(np.linalg.norm(y @ L, axis=-1))


def inside_by_chance(dim: int, dimension: int) -> float:
    """The mean of |P_L x| for a uniform x of the sphere in R^dim and an L of this dimension."""
    dim, dimension = whole("dim", dim, 1, most=MOST_DIM), whole("dimension", dimension, 1, most=MOST_DIM)
    # |P_L x|^2 is Beta(m/2, (d - m)/2): its half moment.
    lg, m, d = math.lgamma, dimension / 2, dim / 2
    return 1.0 if dimension >= dim else math.exp(lg(m + 0.5) - lg(m) + lg(d) - lg(d + 0.5))


@axes_kept()
def together(x: Any, least: float) -> Any:
    """The number of clusters of tokens linked by overlaps >= least, (..., n, d) -> (...): `clusters.count` by pairs.

    In hundreds of dimensions a tree of space saves nothing: all overlaps at once are much faster.
    """
    from scipy.sparse.csgraph import connected_components

    y, least = tokens(x), scalar("least", least, "a finite number")
    linked = y @ np.swapaxes(y, -1, -2) >= least
    found = np.empty(y.shape[:-2], dtype=np.intp)
    for place in np.ndindex(found.shape):
        found[place] = connected_components(linked[place], directed=False)[0]
    return found


def measure(run: xr.Dataset, overlap: float = TOGETHER, subspace: Any = None, bins: int = BINS) -> xr.Dataset:
    """How the tokens of a run behave, over its times; of its attention, where it holds one, over layers and heads.

    Of an ensemble: for every run of it. overlap: that from which two tokens count as one cluster; subspace:
    orthonormal columns (d, m), or one such array for every time.
    """
    import xarray as xr

    with one_thread():
        least = scalar("overlap", overlap, "between -1 and 1", lambda v: (v > -1) & (v <= 1))
        x = tokens(validate(run))
        if x.ndim < 3:
            raise bad("x.shape", x.shape, "(..., time, n, d)", "Give a run with its times.")
        pairs = overlaps(x)
        edges = _edges(bins)
        lead = run["x"].dims[:-2]
        data: dict[str, Any] = {
            "overlap": (lead, pairs.mean(axis=-1), {"long_name": "mean overlap of pairs"}),
            "overlap_low": (lead, np.quantile(pairs, 0.05, axis=-1)),
            "overlap_high": (lead, np.quantile(pairs, 0.95, axis=-1)),
            "histogram": ((*lead, "bin"), _histogram(pairs, edges)),
            "clusters": (lead, together(x, least), {"long_name": f"clusters at overlap {least:g}"}),
            "effective_rank": (lead, effective_rank(x)),
        }
        if "radius" in run:
            data["length"] = (lead, run["radius"].values.mean(axis=-1), {"long_name": "mean |h|"})
        if subspace is not None:
            several, times = isinstance(subspace, list | tuple), np.moveaxis(x, -3, 0)
            bases = list(subspace) if several else [subspace] * len(times)
            if len(bases) != len(times):
                raise bad("subspace", f"{len(bases)} subspaces", f"one, or {len(times)}: one for each time")
            found = [inside(frame, L).mean(axis=-1) for frame, L in zip(times, bases, strict=True)]
            data["inside"] = (lead, np.stack(found, axis=-1))
        if "attention" in run:
            data |= _attention(run["attention"].values)
    middles = (edges[1:] + edges[:-1]) / 2
    return xr.Dataset(data, coords={TIME: run[TIME].values, "bin": middles}, attrs={"overlap": least})


#: what the variables of `survey` are, in words
FIELD = {
    "sink_rate": "share of heads whose first token gets more than 0.3 of the attention",
    "sink_mass": "attention that the first token gets, mean over heads",
    "attention_entropy": "entropy of a row of attention, of log(tokens seen)",
    "first_length": "length of the first token, of the median of the others",
    "rank_raw": "effective rank of the states (exp of their matrix entropy)",
    "rank_normed": "effective rank of the directions",
    "rank_rest": "effective rank of the states without tokens 10 times as long as the median",
    "stable_raw": "stable rank of the states",
    "stable_normed": "stable rank of the directions",
    "stable_rest": "stable rank of the states without tokens 10 times as long as the median",
    "dimension": "intrinsic dimension of the directions, two-NN; nan for fewer than 10 tokens",
    "neighbours": "share of the nearest tokens, 10 or a quarter of all, that the next layer keeps",
    "overlap": "mean overlap of pairs: anisotropy",
    "overlap_centred": "mean overlap after the mean state is taken off",
    "energy": "n^-2 sum exp(beta (<x_i, x_j> - 1))",
    "clusters": "number of clusters that lasts longest over all radii",
}


def survey(run: xr.Dataset, beta: float = 1.0) -> xr.Dataset:
    """The measures of interpretability of one text, layer by layer; `FIELD` says what each is.

    beta: that of the energy. Of attention, where the run holds it, a value a layer: that which makes the next state.
    """
    import xarray as xr

    scalar("beta", beta, "a finite number >= 0", lambda b: b >= 0)
    x = tokens(validate(run))
    if x.ndim != 3 or x.shape[1] < 3:
        raise bad("x.shape", x.shape, "(time, n, d) with n >= 3", "Give one text: run.isel(run=0).")
    h = x if "radius" not in run else x * np.asarray(run["radius"].values)[..., None]
    out = states.outliers(h)
    far = dict(zip(("rank_raw", "rank_normed"), (states.matrix_entropy(h), states.matrix_entropy(x)), strict=True))
    data: dict[str, Any] = {name: np.exp(value) for name, value in far.items()}
    data["rank_rest"] = np.exp(states.each(h, states.matrix_entropy, without=out))
    data |= {"stable_raw": states.stable_rank(h), "stable_normed": states.stable_rank(x)}
    data["stable_rest"] = states.each(h, states.stable_rank, without=out)
    data["first_length"] = states.first_length(h)
    data["dimension"] = np.array([_dimension(frame) for frame in x])
    nearest = max(1, min(states.NEAREST, (x.shape[1] - 1) // 4))
    near = [states.neighbourhood_overlap(a, b, nearest) for a, b in itertools.pairwise(x)]
    data["neighbours"] = np.array([*near, math.nan])
    data |= {"overlap": states.anisotropy(x), "overlap_centred": states.anisotropy(h, centred=True)}
    data["energy"] = energy.scaled_energy(x, beta)
    data["clusters"] = np.array([persistence.lasting(frame).count for frame in x], dtype=float)
    if "attention" in run and run.sizes["layer"] == len(x) - 1:
        data |= _field_of_attention(np.asarray(run["attention"].values, dtype=np.float64))
    found = {name: ((TIME,), values, {"description": FIELD[name]}) for name, values in data.items()}
    return xr.Dataset(found, coords={TIME: run[TIME]}, attrs={"beta": beta})


def _dimension(frame: Array) -> float:
    try:
        return states.intrinsic_dimension(frame).value if len(frame) >= FEWEST else math.nan
    except SpecError:  # tokens that have met leave too few
        return math.nan


def _field_of_attention(P: Array) -> dict[str, Array]:
    """Sinks and entropy of every layer's attention (layer, head, n, n); nan after the last."""
    sums = P.sum(axis=-1, keepdims=True)
    P = P / np.where(sums > 0, sums, 1.0)
    seen = np.log(np.maximum((P > 0).sum(axis=-1), 1))
    spread = -np.sum(P * np.log(np.where(P > 0, P, 1.0)), axis=-1)
    told = {"sink_rate": attention.sink_rate(P), "sink_mass": attention.received(P).mean(axis=-1)}
    told["attention_entropy"] = (spread.sum(axis=-1) / np.maximum(seen.sum(axis=-1), 1e-300)).mean(axis=-1)
    return {name: np.append(values, math.nan) for name, values in told.items()}


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
