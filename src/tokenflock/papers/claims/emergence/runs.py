"""What the claims of paper B share: rescaled runs (E8), the coordinates of V, and where a run ends for good."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tokenflock.analysis import attention, clusters, polytope
from tokenflock.analysis.triple import Triple
from tokenflock.engine.boolean import Settled, settle
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.simulation import simulate

FOR_GOOD = 1e3  # attention that stays Boolean up to here has ended
SAME = 1e-2  # tokens of a run closer than this times its size are at one place
STILL = 1e-2  # and at rest if no one has moved farther in the last third of the run


def rescaled(dim: int, **options: Any) -> Model:
    """Paper B's dynamics of z = exp(-tV) x."""
    return Model(dim=dim, space="rescaled", **{"mask": "full", **options})


def follow(model: Model, start: Array, times: Any, **options: Any) -> Array | None:
    """Tokens at the times, (times, n, d), or None if the run did not get there."""
    kept = np.atleast_1d(np.asarray(times, dtype=float))
    run = simulate(model, start, float(kept[-1]), times=kept, progress=False, throw=False, **options)
    x = run["x"].values
    return x if len(x) == len(kept) and np.isfinite(x).all() else None


def off_rows(P: Array) -> Array:
    """1 - max_j P_ij as the sum of the other weights, (..., n): 1e-200 keeps its digits."""
    return np.asarray(np.sort(P, axis=-1)[..., :-1].sum(axis=-1))


def off_along(model: Model, z: Array, times: Array) -> Array:
    """The largest of them at every time."""
    return np.array([off_rows(attention.matrix(model, x, t)).max() for x, t in zip(z, times, strict=True)])


def coordinates(judged: Triple) -> tuple[Array, Array]:
    """The basis [F, G] as columns, and its inverse. In it the F part of a token is apart from its G part.

    In the given basis it is not: where G has an eigenvalue -l, z grows there like exp(lt), and its rounding would soon
    cover the F part.
    """
    assert judged.F is not None
    assert judged.G is not None
    first = judged.F if judged.phi_1 is None else judged.phi_1[:, None]
    S = np.hstack([first, judged.G])
    return S, np.linalg.inv(S)


def in_coordinates(query: Array | None, key: Array | None, value: Array, judged: Triple, **options: Any) -> Model:
    """The same dynamics for the coordinates S^-1 z: V becomes S^-1 V S, Q and K become QS and KS."""
    S, inverse = coordinates(judged)
    m, d = (1 if judged.phi_1 is not None else judged.F.shape[1]) if judged.F is not None else 0, len(value)
    V = inverse @ value @ S
    V[:m, m:] = V[m:, :m] = 0.0  # they are, but for rounding
    Q, K = (S if w is None else w @ S for w in (query, key))
    return rescaled(d, query=Q, key=K, value=V, **options)


def shrinks(z: Array) -> float:
    """How far tokens ever leave the hull of the kept time before, over the size of the first: 0 if hulls shrink.

    z (times, n, d). Not over its own size: where all tokens meet, that is rounding.
    """
    worst, size = 0.0, polytope.hull(z[0]).size or 1.0
    for before, after in pairwise(z):
        hull = polytope.hull(before)
        if hull.facets is None or not hull.dim:
            continue
        beyond = (after - hull.mean) @ hull.axes @ hull.facets[:, :-1].T + hull.facets[:, -1]
        worst = max(worst, float(beyond.max()) / size)
    return worst


class End(NamedTuple):
    """Where a run ends."""

    settled: bool  # attention is Boolean for good: what follows is exact
    places: int  # at which tokens end, or are at the end of the run
    leaders: int  # tokens that lead themselves, if settled


def ending(model: Model, z: Array, t: float, axes: int | None = None) -> End:
    """How many places the tokens z at time t end at, seen in the first `axes` coordinates.

    If attention is Boolean and stays so, each token ends at its leader, and leaders rest.
    """
    rest: Settled | None = settle(model, z, t, FOR_GOOD)
    seen = z[:, :axes]
    size = float(np.abs(seen).max()) or 1.0
    if rest is None:
        return End(False, int(clusters.count(seen, SAME * size, "euclidean")), 0)
    led = np.unique(rest.leader)
    return End(True, int(clusters.count(seen[led], 1e-6 * size, "euclidean")), len(led))


def gathered(model: Model, before: Array, after: Array, t: float, axes: int | None = None) -> int | None:
    """At how many places the tokens `after` at time t end, or None if that is not decided. before: at 2/3 of t.

    Decided are runs whose attention is Boolean for good, runs at rest, and runs in which every two tokens still move
    apart: V = I and any attention let the hull of the z shrink, so that a run which gathers has no such stretch.
    """
    end = ending(model, after, t, axes)
    if end.settled:
        return end.places
    old, new = before[:, :axes], after[:, :axes]
    size = float(np.abs(new).max()) or 1.0
    still = float(np.abs(new - old).max()) < STILL * size
    wide = [np.linalg.norm(x[:, None] - x, axis=-1)[np.triu_indices(len(x), 1)] for x in (old, new)]
    return end.places if still or (wide[1] > wide[0]).all() else None
