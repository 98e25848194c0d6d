"""What interpretability measures of hidden states h (n, d), layer by layer: of raw ones, or of their directions.

    matrix_entropy         -sum_k p_k log p_k, p_k = s_k^2 / sum_j s_j^2, s the singular values of h
    stable_rank            sum_k s_k^2 / max_k s_k^2
    anisotropy             the mean of <h_i, h_j> / |h_i| |h_j| over pairs i < j; centred: of h_i - mean(h)
    first_length           |h_1| / median_(j > 1) |h_j|
    outliers               tokens with |h_i| > factor median_j |h_j|
    intrinsic_dimension    two-NN: d with P(r_2 / r_1 > m) = m^-d, r_1 and r_2 the distances to the two nearest tokens
    neighbourhood_overlap  of two layers: the mean of |N_k(i) and N'_k(i)| / k, N_k(i) the k nearest tokens of i

`exp` of the matrix entropy is the effective rank. The raw states of a run are transformer.record.hidden(run).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tokenflock.analysis import axes_kept, axes_of, tokens
from tokenflock.analysis.statistics import Estimate
from tokenflock.arguments import flag, function, scalar, whole
from tokenflock.errors import bad
from tokenflock.geometry import LARGEST, Array

FACTOR = 10.0  # times the median length: tokens that massive activations have made long are hundreds of times as long
DISCARD = 0.1  # of the largest ratios r_2 / r_1: the authors of two-NN leave out as many
NEAREST = 10  # neighbours that are compared
SAME = 1e-12  # tokens nearer than this times the largest distance are one


@axes_kept()
def matrix_entropy(x: Any) -> Any:
    """-sum p_k log p_k of the shares p_k = s_k^2 / sum s^2 of the singular values: 0 to log min(n, d)."""
    s = _squares(tokens(x, sphere=False))
    share = s / s.sum(axis=-1, keepdims=True)
    return _scalar(-np.sum(share * np.log(np.where(share > 0, share, 1.0)), axis=-1))


@axes_kept()
def stable_rank(x: Any) -> Any:
    """sum s_k^2 / max s_k^2 of the singular values: 1 to min(n, d), (..., n, d) -> (...)."""
    s = _squares(tokens(x, sphere=False))
    return _scalar(s.sum(axis=-1) / s.max(axis=-1))


@axes_kept()
def anisotropy(x: Any, centred: bool = False) -> Any:
    """The mean overlap of the directions of pairs, -1/(n - 1) to 1; centred: after the mean of the tokens is taken off.

    sum_(i < j) <u_i, u_j> = (|sum u_i|^2 - n) / 2: no matrix of pairs is formed. A token at the mean has no direction
    and counts 0 with every other.
    """
    y = _pairs(tokens(x, sphere=False))
    n = y.shape[-2]
    if flag("centred", centred):
        size = np.linalg.norm(y, axis=-1).max(axis=-1)
        y = y - y.mean(axis=-2, keepdims=True)
        small = 1e-12 * size[..., None]
    else:
        small = np.zeros((*y.shape[:-2], 1))
    length = np.linalg.norm(y, axis=-1)
    there = length > small
    if not centred and not there.all():
        raise bad("x", "a token of length 0", "tokens other than 0", "It has no direction.")
    u = np.where(there[..., None], y / np.where(there, length, 1.0)[..., None], 0.0)
    total = np.sum(u.sum(axis=-2) ** 2, axis=-1) - there.sum(axis=-1)
    return _scalar(total / (n * (n - 1)))


@axes_kept()
def first_length(x: Any) -> Any:
    """|h_1| / median_(j > 1) |h_j|: how much longer the first token is than the others, (..., n, d) -> (...)."""
    length = np.linalg.norm(_pairs(tokens(x, sphere=False)), axis=-1)
    usual = np.median(length[..., 1:], axis=-1)
    if not np.all(usual > 0):
        raise bad("x", "tokens of length 0", "tokens other than 0", "There is no length to compare with.")
    return _scalar(length[..., 0] / usual)


@axes_kept("token")
def outliers(x: Any, factor: float = FACTOR) -> Any:
    """Which tokens have |h_i| > factor median_j |h_j|, (..., n, d) -> (..., n) of True and False."""
    above = scalar("factor", factor, "a number >= 1", lambda v: v >= 1)
    length = np.linalg.norm(tokens(x, sphere=False), axis=-1)
    return np.asarray(length > above * np.median(length, axis=-1, keepdims=True))


def intrinsic_dimension(x: Any, discard: float = DISCARD) -> Estimate:
    """The dimension d by two-NN with its 95 % interval, of tokens (n, d): of raw states or of directions.

    The ratios m = r_2 / r_1 of a locally uniform sample have P(m > t) = t^-d, so log m is exponential with mean 1/d.
    The largest share `discard` of them counts only as larger (the maximum of that likelihood), and 2 k d / estimate is
    chi-square of 2 k degrees if the k ratios were independent: neighbours share some, so it is a little short.
    Tokens that are equal count once.
    """
    from scipy.stats import chi2

    left = scalar("discard", discard, "0 to 0.9", lambda v: (v >= 0) & (v <= 0.9))
    y = tokens(x, sphere=False)
    if y.ndim != 2:
        raise bad("x.shape", y.shape, "(n, d), the tokens of one layer", "Go through the layers of a run.")
    far = np.sort(_distances(y), axis=1)  # the first is the token itself
    distinct = far[:, 1] > SAME * far.max()
    if not distinct.all():
        seen: list[int] = []
        for i, row in enumerate(_distances(y)):
            if not seen or row[seen].min() > SAME * far.max():
                seen.append(i)
        y = y[seen]
        far = np.sort(_distances(y), axis=1) if len(y) > 2 else far[: len(y)]
    if len(y) < 5:
        raise bad("x", f"{len(y)} different tokens", "at least 5", "Two neighbours of each are compared.")
    logs = np.sort(np.log(far[:, 2] / far[:, 1]))
    kept = max(2, math.ceil((1 - left) * len(logs)))
    total = float(logs[:kept].sum() + (len(logs) - kept) * logs[kept - 1])
    if total <= 0:
        raise bad("x", "tokens whose two nearest are equally far", "tokens in general position", "Add a little noise.")
    d = kept / total
    low, high = chi2.ppf((0.025, 0.975), 2 * kept) / (2 * kept)
    return Estimate(d, d * float(low), d * float(high))


def neighbourhood_overlap(x: Any, y: Any, nearest: int = NEAREST) -> float:
    """The share of the `nearest` tokens of each that it has in both layers x (n, d) and y (n, e): 0 to 1.

    By chance nearest / (n - 1). Fewer than `nearest` others: all of them but one.
    """
    a, b = tokens(x, sphere=False), tokens(y, sphere=False)
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b) or len(a) < 3:
        raise bad(
            "x.shape, y.shape", (a.shape, b.shape), "(n, d) and (n, e), at least 3 tokens", "The same tokens twice."
        )
    k = min(whole("nearest", nearest, 1), len(a) - 2)
    near = []
    for one in (a, b):
        far = _distances(one)
        np.fill_diagonal(far, np.inf)
        near.append(np.argsort(far, axis=1, kind="stable")[:, :k])
    shared = [len(np.intersect1d(p, q, assume_unique=True)) for p, q in zip(*near, strict=True)]
    return float(np.mean(shared)) / k


def each(x: Any, measure: Callable[[Array], Any], *, without: Any = None) -> Array:
    """A measure of tokens (n, d) for every layer of x (..., n, d); without: tokens (..., n) to leave out of each."""
    function("measure", measure, "a function of tokens (n, d)")
    axes = axes_of(x)
    y = tokens(x if axes is None else axes.values, sphere=False)
    out = np.zeros(y.shape[:-1], dtype=bool) if without is None else np.asarray(without)
    if out.dtype != bool or out.shape != y.shape[:-1]:
        raise bad("without", f"{out.dtype} of shape {out.shape}", f"True and False of shape {y.shape[:-1]}")
    found = np.empty(y.shape[:-2])
    for place in np.ndindex(found.shape):
        found[place] = float(np.asarray(measure(y[place][~out[place]])).ravel()[0])
    return found


def _squares(y: Array) -> Array:
    """The squares of the singular values, in units of the largest number."""
    largest = np.abs(y).max(axis=(-2, -1), keepdims=True)
    if not largest.all():
        raise bad("x", "tokens that are all 0", "at least one token other than 0", "They lie in no direction.")
    tiny = largest < 1.0 / LARGEST  # their squares underflow
    y = np.where(tiny, y / largest, y) if tiny.any() else y
    turned = np.swapaxes(y, -1, -2)
    small = y @ turned if y.shape[-2] <= y.shape[-1] else turned @ y
    return np.asarray(np.maximum(np.linalg.eigvalsh(small), 0.0))


def _pairs(y: Array) -> Array:
    if y.shape[-2] < 2:
        raise bad("x.shape", y.shape, "at least two tokens", "Of one there is nothing to compare.")
    return y


def _distances(y: Array) -> Array:
    from scipy.spatial.distance import cdist

    found: Array = cdist(y, y)
    return found


def _scalar(found: Any) -> Any:
    return float(found) if np.ndim(found) == 0 else np.asarray(found)
