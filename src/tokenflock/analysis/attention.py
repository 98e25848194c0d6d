"""The self-attention matrix P and how near it is to the Boolean matrices of Theorem 2.1 (B.1, B.2).

    matrix            P of a model at some tokens, or at every kept time of a run
    along             a measure of P at every kept time, one matrix in memory at a time
    rank              numerical rank, with the gap that decides it
    boolean_distance  distance to PP: each row e_a or e_b, but for one free row
    leaders           the tokens that receive attention, and whose
    entropy           of each row
    received          how much of the others' attention a token gets: alpha of a sink
    sink_rate         the share of heads in which the first token is a sink

The weights are those of `model.attention` (E1)-(E3): this file writes no equation again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tokenflock import model as equations
from tokenflock.analysis import axes_kept, axes_of, tokens, with_axes
from tokenflock.arguments import dataset, flag, function, numbers, real, scalar, whole
from tokenflock.errors import SpecError, bad
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.rescaling import flow_at_layer

if TYPE_CHECKING:
    import xarray as xr

#: Rows may sum to 1 with this error: float32 runs of 1e5 tokens stay within it.
OFF_ROW = 1e-5
#: and those of networks that compute in bfloat16 this one.
OFF_LOW = 2e-2
#: A head whose first token gets more than this of the attention has a sink there.
SINK = 0.3
#: Matrices kept at once, in bytes; more is refused before it is computed.
LARGEST = 1 << 30
#: A weight above this is attention: the threshold of the figure of leaders of paper B (B.9).
ATTENDED = 1e-4


@dataclass(frozen=True)
class Rank:
    """Numerical rank. gap = above / below: how clear the cut is (near 1: it is the tolerance that decides)."""

    rank: int
    gap: float  # inf if below is 0
    above: float  # the smallest singular value that counts
    below: float  # the largest that does not; of a matrix of full rank, the tolerance
    tolerance: float  # singular values above it count


@dataclass(frozen=True)
class Boolean:
    """The nearest matrix of PP (Frobenius norm): row i is e_a or e_b, row free_row is that of P."""

    distance: float
    a: int
    b: int  # = a if no row needs a second column
    free_row: int
    free_distance: float  # of the free row to the nearer of e_a and e_b: 0 in the generic limit
    rank_if_boolean: int  # of the nearest matrix, with what the free row has outside e_a and e_b cut at the tolerance


@dataclass(frozen=True)
class Leaders:
    """Columns that some row attends to, and who leads whom."""

    columns: tuple[int, ...]
    share: Array  # of each of them: the part of all attention that it receives
    followers: dict[int, tuple[int, ...]]  # leader: the tokens that give it more than the threshold
    leader: np.ndarray  # (n,) the column that each token attends to most
    threshold: float


@axes_kept("head", "token", "seen", place=1)
def matrix(model: Model | None, x: Any, t: Any = 0.0) -> Array:
    """P (n, n) at tokens x (n, d), or (H, n, n) with H > 1 heads; in rescaled space x is z at time t.

    x (..., n, d) gives (..., n, n), with one t or one for each; a Dataset gives P at every kept time, with its own
    times, and with its own model if model is None. Frozen tokens are columns n, n + 1, ... Rows sum to 1 with the
    softmax; with normaliser "count" these are the weights of (E3), whose rows do not.
    """
    if hasattr(x, "data_vars"):
        owner, positions, times, layer = _run(model, x)
    else:
        owner, positions, times, layer = _given(model, x, t)
    lead = positions.shape[:-2]
    n = positions.shape[-2]
    columns = n if owner.frozen is None else n + len(owner.frozen.tokens)
    heads = (owner.n_heads,) if owner.n_heads > 1 else ()
    size = 8 * math.prod((*lead, owner.n_heads, n, columns))
    if size > LARGEST:
        advice = "attention.along(model, run, measure) holds one matrix at a time; or keep fewer times or tokens."
        allowed = f"at most {LARGEST / 2**30:g} GiB of matrices at once"
        raise bad("x.shape", positions.shape, allowed, f"This is {size / 2**30:.3g} GiB: {advice}")
    result = np.empty((*lead, *heads, n, columns))
    for place in np.ndindex(lead):
        result[place] = _weights(owner, positions[place], float(times[place]), layer)
    return result


def along(model: Model | None, run: xr.Dataset, measure: Callable[[Array], Any]) -> Array:
    """measure(P) at every kept time of a run, (time, ...) or (run, time, ...), one matrix in memory at a time.

    measure takes P as `matrix` gives it and returns numbers: `lambda P: attention.rank(P).rank`, `attention.entropy`.
    """
    dataset("run", run, "a trajectory (an xarray.Dataset)", "Of an array take attention.matrix.")
    function("measure", measure, "a function of P", "For example attention.entropy.")
    owner, positions, times, layer = _run(model, run)
    lead = positions.shape[:-2]
    found = [np.asarray(measure(_weights(owner, positions[p], float(times[p]), layer))) for p in np.ndindex(lead)]
    if any(value.dtype == object or value.shape != found[0].shape for value in found):
        advice = "Take one of its numbers: lambda P: attention.rank(P).rank"
        raise bad(
            "measure", "a function that returns no numbers, or not always as many", "numbers of one shape", advice
        )
    more = tuple(f"measure_{k}" for k in range(found[0].ndim))
    measured = with_axes(np.stack(found).reshape(*lead, *found[0].shape), axes_of(run), more, "along")
    return cast("Array", measured)


def rank(P: Any, tolerance: float | None = None) -> Rank:
    """How many singular values of P (n, m) are above the tolerance, max(n, m) eps s_1 if left out, and by what gap."""
    p = _one(_stochastic(P))
    s = np.linalg.svd(p, compute_uv=False)
    cut = max(p.shape) * float(np.finfo(np.float64).eps * s[0])
    if tolerance is not None:
        cut = scalar("tolerance", tolerance, "a number >= 0", lambda v: v >= 0)
    count = int((s > cut).sum())
    if not count:
        advice = "Singular values above it count: take a smaller one."
        raise bad("tolerance", tolerance, f"below the largest singular value, {s[0]:.6g}", advice)
    above = float(s[count - 1])
    below = float(s[count]) if count < len(s) else cut
    return Rank(count, above / below if below else math.inf, above, below, cut)


def boolean_distance(P: Any, tolerance: float = 1e-6) -> Boolean:
    """The Frobenius distance of P (n, n) to the set PP of Theorem 2.1, and the columns and the row that give it.

    Exact: all pairs of columns are tried, n^3 / 2 steps (3 s at n = 1000). A distance of 1e-15 keeps its digits.
    """
    p = _one(_stochastic(P))
    n = len(p)
    if p.shape != (n, n):
        raise bad("P.shape", p.shape, "(n, n)", "The set PP is of square matrices: leave frozen tokens out.")
    cut = scalar("tolerance", tolerance, "a number >= 0", lambda v: v >= 0)
    squares = _squared_distances(p)
    best, a, b = math.inf, 0, 0
    for first in range(n):
        nearer = np.minimum(squares[:, first, None], squares[:, first:])
        free = nearer.argmax(axis=0)
        # Not sum less maximum: with a free row at distance 1 that would lose all of a rest of 1e-20.
        nearer[free, np.arange(n - first)] = 0.0
        total = nearer.sum(axis=0)
        second = int(total.argmin())
        if total[second] < best:
            best, a, b = float(total[second]), first, first + second
    nearer = np.minimum(squares[:, a], squares[:, b])
    choice = np.where(squares[:, b] < squares[:, a], b, a)
    free_row = int(nearer.argmax())
    used = {int(column) for column in np.delete(choice, free_row)}
    # A column that no row is near to is there only because pairs were tried.
    near = used | ({int(choice[free_row])} if math.sqrt(nearer[free_row]) <= cut else set()) or {a}
    a, b = min(near), max(near)
    free_distance = math.sqrt(squares[free_row, [a, b]].min())
    outside = float(np.delete(p[free_row], sorted(used)).sum())
    return Boolean(math.sqrt(best), a, b, free_row, free_distance, len(used) + int(outside > cut))


def leaders(P: Any, threshold: float = ATTENDED) -> Leaders:
    """The columns of P (n, m) with an entry above the threshold: in the limit, those that get all attention."""
    p = _one(_stochastic(P))
    least = scalar("threshold", threshold, "above 0, below 1", lambda v: (v > 0) & (v < 1))
    attended = p > least
    columns = tuple(int(j) for j in np.flatnonzero(attended.any(axis=0)))
    followers = {j: tuple(int(i) for i in np.flatnonzero(attended[:, j])) for j in columns}
    return Leaders(columns, p[:, list(columns)].mean(axis=0), followers, p.argmax(axis=1), least)


def entropy(P: Any) -> Array:
    """- sum_j P_ij log P_ij of each row, (..., n, m) -> (..., n): 0 for a Boolean row, log m for equal weights."""
    p = _stochastic(P)
    rows: Array = -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=-1)
    return rows


def received(P: Any, token: int = 0, own: bool = False) -> Any:
    """alpha = the mean of P_i,token over the tokens i that come after it, (..., n, n) -> (...).

    own=True counts the token's own row too, as published sink rates do: in a causal model, where the first token sees
    itself alone, that adds up to 1/n. Where attention is not causal, which is seen from P, all other rows count.
    """
    p = _rows(P)
    n = p.shape[-1]
    k = whole("token", token, 0, "Tokens count from 0.", most=n - 1)
    causal = not np.triu(p, 1).any()
    rows = np.arange(n) >= k if causal else np.ones(n, dtype=bool)
    rows[k] = flag("own", own)
    if not rows.any():
        raise bad(
            "P.shape", p.shape, "a token after this one", "The last token of a causal model is seen by itself alone."
        )
    return p[..., rows, k].mean(axis=-1)


def sink_rate(P: Any, least: float = SINK, own: bool = False) -> Any:
    """The share of heads whose first token gets alpha > least of the attention, (..., heads, n, n) -> (...)."""
    above = scalar("least", least, "between 0 and 1", lambda v: (v >= 0) & (v < 1))
    alpha = np.asarray(received(P, 0, own))
    if not alpha.ndim:
        raise bad("P.shape", np.shape(P), "(..., heads, n, n)", "Of one head P[None] will do.")
    return (alpha > above).mean(axis=-1)


def _rows(P: Any) -> Array:
    """Matrices whose rows sum to 1, over any leading axes."""
    p = real("P", P, "finite numbers >= 0 (..., n, n)", lambda v: v >= 0)
    if p.ndim < 2 or p.shape[-1] != p.shape[-2] or not p.size:
        raise bad("P.shape", p.shape, "(..., n, n)")
    off = float(np.abs(p.sum(axis=-1) - 1).max())
    if off > OFF_LOW:
        raise bad("P", f"rows that sum to 1 within {off:.1e}", f"rows that sum to 1 within {OFF_LOW:g}")
    return p


def _squared_distances(p: Array) -> Array:
    """|p_i - e_a|^2 for every row i and column a.

    1 - p_ia is the sum of the other weights, and all terms are summed from either end without a's own: nothing
    cancels, where |p|^2 - 2 p_a + 1 would be off by 1e-16, and the distance by 1e-8.
    """

    def others(w: Array) -> Array:
        zero = np.zeros((len(w), 1))
        before: Array = np.concatenate([zero, np.cumsum(w, axis=1)[:, :-1]], axis=1)
        after: Array = np.concatenate([zero, np.cumsum(w[:, ::-1], axis=1)[:, :-1]], axis=1)[:, ::-1]
        return before + after

    return others(p) ** 2 + others(p**2)


def _stochastic(P: Any) -> Array:
    """P as float64 (..., n, m), if its rows are probability vectors to rounding."""
    p = numbers(P)
    if not np.isfinite(p).all():
        advice = "attention.matrix(model, x) gives one."
        raise bad("P", f"{type(P).__name__} that is not all finite numbers", "finite numbers (n, n)", advice)
    if p.ndim < 2 or not p.size:
        raise bad("P.shape", p.shape, "(n, n)", "attention.matrix(model, x) gives one.")
    if (p < 0).any():
        raise bad("P", f"a matrix with an entry {p.min():.6g}", "entries >= 0", "Give weights, not logits.")
    with np.errstate(over="ignore"):
        off = float(np.abs(p.sum(axis=-1) - 1).max())
    if off > OFF_ROW:
        advice = "Divide each row by its sum; with normaliser='count' the weights are not those of a softmax."
        raise bad(
            "P", f"a matrix with a row whose sum is off 1 by {off:.3g}", f"rows that sum to 1 to {OFF_ROW:g}", advice
        )
    return p


def _one(p: Array) -> Array:
    if p.ndim != 2:
        raise bad(
            "P.shape", p.shape, "one matrix (n, n)", "Take heads and times one at a time: P[h], or attention.along."
        )
    return p


def _model(model: Any) -> Model:
    if not isinstance(model, Model):
        raise bad("model", model, "a flock.Model", "None is allowed with a run only, which knows its own.")
    return model


def _fits(model: Model, positions: Array) -> Array:
    if positions.shape[-1] != model.dim:
        raise bad("x.shape", positions.shape, f"(..., n, {model.dim}), as the model has dim={model.dim}")
    return positions


def _given(model: Any, x: Any, t: Any) -> tuple[Model, Array, Array, float | None]:
    positions = _fits(_model(model), tokens(x, sphere=False))
    times = real("t", t, "finite numbers")
    try:
        return model, positions, np.broadcast_to(times, positions.shape[:-2]), None
    except ValueError as error:
        lead = positions.shape[:-2]
        raise bad("t.shape", times.shape, f"one time, or one for each set of tokens: {lead}") from error


def _run(model: Any, run: xr.Dataset) -> tuple[Model, Array, Array, float | None]:
    """The model, the positions, their times, and the step of a run in layers."""
    from tokenflock.trajectories import has_model, model_of, validate

    if model is None and not has_model(validate(run)):
        advice = "A head as a model: tokenflock.transformer.prediction.theory."
        raise SpecError(f"these tokens were moved by no flock.Model: take run['attention'], if it is there. {advice}")
    validate(run)
    owner = model_of(run) if model is None else _model(model)
    positions = _fits(owner, tokens(run, sphere=False))
    layer = float(run.attrs["dt"]) if run.attrs["scheme"] == "layers" else None
    return owner, positions, np.broadcast_to(run["time"].values, positions.shape[:-2]), layer


def _weights(model: Model, x: Array, t: float, layer: float | None) -> Array:
    """P of one frame: (n, n + m), or (H, n, n + m) with several heads."""
    flow = None if layer is None else flow_at_layer(model, round(t / layer), layer)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        p = equations.attention(model, x, t, flow)
    if not np.isfinite(p).all():
        advice = "Lower beta, or take smaller tokens or an earlier time."
        raise bad("x", "tokens whose attention is beyond the range of float64", "tokens with finite weights", advice)
    return p if model.n_heads > 1 else p[0]
