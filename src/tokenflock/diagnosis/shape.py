"""The numbers about a run in R^d (paper B): its rescaled tokens z = exp(-tV) x along what V makes grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokenflock.analysis import clusters
from tokenflock.engine.boolean import settle
from tokenflock.geometry import Array

if TYPE_CHECKING:
    from tokenflock.diagnosis.evidence import Evidence

SAME = 1e-2  # tokens closer than this times the largest |z| are at one place, as in the claims of paper B
FOR_GOOD = 1e3  # attention that stays Boolean up to here is taken to stay so
ROUNDING = 1e-9  # times |V|: real parts up to this are 0


class Shape(NamedTuple):
    """Where the rescaled tokens are, in coordinates along the eigenvalues of V with positive real part."""

    leading: complex  # the eigenvalue of largest real part, with Im >= 0
    n_growing: int  # how many directions grow
    places: int  # at which the tokens are, or end if they are settled
    moved: float  # the way of the farthest token in the second half of the run, over the largest |z|
    settled: bool  # attention is Boolean for good: each token ends at its leader
    turning: float | None  # the angular speed of the tokens x along a complex leading eigenvalue, in the second half


def shape(e: Evidence) -> Shape | str:
    """The shape of a run in R^d, or why it has none."""
    if reason := _none(e):
        return reason
    V = e.model.values.sum(axis=0)
    basis, block = _growing(V)
    if not basis.shape[1]:
        return "no eigenvalue of V has a positive real part, so no direction grows"
    half = int(np.searchsorted(e.times, e.t / 2, side="right")) - 1
    before, after = (_rescaled(e, k, basis, block) for k in (half, -1))
    size = float(np.abs(after).max()) or 1.0
    leader = _leaders(e)
    seen = after if leader is None else after[np.unique(leader)]
    places = int(clusters.count(seen, SAME * size, "euclidean"))
    lam, left = np.linalg.eig(V.T)
    leading = lam[np.argmax(lam.real + 1e-12 * lam.imag)]
    star = left[:, np.argmin(np.abs(lam - leading))]
    turning = None
    if leading.imag > ROUNDING * np.linalg.norm(V, 2) and half < len(e.times) - 1:
        z = np.stack([e.x[half], e.x[-1]]) @ star  # <w, z> or <w, x>, which turns by Im lambda more
        turns = np.angle(z[1] / np.where(np.abs(z[0]) > 0, z[0], 1.0))
        lag = e.t - float(e.times[half])
        own = 0.0 if e.model.space == "euclidean" else float(leading.imag)
        # In R^d frames may be too far apart to count turns: those next to the predicted speed are taken.
        whole = 0.0 if own else 2 * np.pi * np.round((leading.imag * lag - turns) / (2 * np.pi))
        turning = own + float(np.median(turns + whole)) / lag
    moved = float(np.linalg.norm(after - before, axis=-1).max()) / size
    return Shape(complex(leading), basis.shape[1], places, moved, leader is not None, turning)


def _none(e: Evidence) -> str:
    """What keeps z = exp(-tV) x from having a meaning, or from being looked at; empty if nothing does."""
    model = e.model
    total = model.values.sum(axis=0)
    mixing = model.n_heads > 1 and not np.allclose(model.values @ total, total @ model.values, rtol=0, atol=1e-10)
    reasons = {
        "noise moves every token": model.noisy,
        "the feed-forward moves every token by itself": model.feedforward is not None,
        "the drift moves every token by itself": model.drift is not None,
        "frozen tokens do not grow": model.frozen is not None,
        "the weights change with time": bool(model.varying),
        "every group has values of its own": model.groups is not None and model.groups.value is not None,
        "the values of the heads do not commute with their sum": mixing,
        f"{e.n} tokens are too many for this": not e.affordable(60),
    }
    return next((words for words, true in reasons.items() if true), "")


def _growing(V: Array) -> tuple[Array, Array]:
    """Columns W (d, k) and T with V'W = W T: <W, x> are the coordinates of x along what grows, whatever else x does."""
    from scipy.linalg import schur

    least = ROUNDING * float(np.linalg.norm(V, 2))
    T, W, k = schur(V.T, output="real", sort=lambda real, _: real > least)
    return W[:, :k], T[:k, :k]


def _rescaled(e: Evidence, k: int, basis: Array, block: Array) -> Array:
    """The coordinates of frame k of z."""
    from scipy.linalg import expm

    found = e.x[k] @ basis
    if e.model.space == "rescaled":
        return np.asarray(found)
    if e.scheme == "layers" and e.dt is not None:
        back = np.linalg.inv(np.eye(len(block)) + e.dt * block)
        return np.asarray(found @ np.linalg.matrix_power(back, round(float(e.times[k]) / e.dt)))
    return np.asarray(found @ expm(-float(e.times[k]) * block))


def _leaders(e: Evidence) -> np.ndarray | None:
    """The leader of every token where attention is Boolean for good, else None."""
    from scipy.linalg import expm

    model, z, dt = e.model, e.last, e.dt if e.scheme == "layers" else None
    if model.space == "euclidean":
        if dt is not None or not model.usual or model.placed:  # rules.py: such weights have no equations in z
            return None
        model, z = model.with_options(space="rescaled"), z @ expm(-e.t * model.values.sum(axis=0)).T
    rest = settle(model, z, e.t, max(FOR_GOOD, 2 * e.t), dt) if np.isfinite(z).all() else None
    return None if rest is None else rest.leader
