"""The discrete-time transformer, layer by layer (E12), (E13): the equations of model.py in steps."""

from __future__ import annotations

import math

import numpy as np

from tokenflock.geometry import Array
from tokenflock.model import Model, drive, feedforward, kind_at, pulls, size_of
from tokenflock.rescaling import flow_at_layer
from tokenflock.sphere import retract
from tokenflock.varying import SLIGHTLY


def layer(model: Model, x: Array, radius: Array, k: int, dt: float, run: int = 0) -> tuple[Array, Array]:
    """(E12), (E13) Layer k of the discrete-time transformer: one attention block of step dt, then the feed-forward."""
    flow, t = flow_at_layer(model, k, dt), k * dt
    model = model.at(t, (k + SLIGHTLY) * dt, run)
    if model.space == "rescaled":
        total = model.values.sum(axis=0)
        p, _ = pulls(model, x, flow)
        u = (p @ np.swapaxes(model.values, -1, -2)).sum(axis=0)
        u = np.linalg.solve(np.eye(model.dim) + dt * total, u.T).T
        return x + dt * (u if model.feedforward is None else feedforward(model, u)), radius
    pushed = drive(model, x, flow)[0]
    if model.drift is not None:  # (E22)
        pushed = pushed + model.drift.at(x, t, model.space == "sphere")
    x, radius = sublayer(model, x, radius, pushed, t, dt)
    if model.feedforward is not None:
        x, radius = sublayer(model, x, radius, feedforward(model, x), t, dt)
    return x, radius


def sublayer(model: Model, x: Array, radius: Array, d: Array, t: float, dt: float) -> tuple[Array, Array]:
    """The residual step of (E12) with update d, in the way of each layer norm."""
    if model.space == "euclidean":
        return x + dt * d, radius
    norm, size = model.norm, size_of(d)[:, None]
    kind = kind_at(norm, t)
    if kind in ("pre", "peri"):
        y = radius[:, None] * x + dt * (d if kind == "pre" else d / size)
        radius = np.linalg.norm(y, axis=-1)
        return y / radius[:, None], radius
    alpha = norm.alpha * (1 + t) ** -norm.decay
    step = {"post": d, "ngpt": alpha * d / size, "sqrt": d / math.sqrt(t + 1)}[kind]
    return retract(x + dt * step), radius
