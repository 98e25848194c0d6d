"""Positions, groups and common noise laid out for the compiled kernels."""

from __future__ import annotations

import math

import numpy as np

from tokenflock.common_noise import field_waves
from tokenflock.geometry import Array
from tokenflock.looking import betas, width_of
from tokenflock.model import Model
from tokenflock.positions import Absolute, Rope, angles

LOG2E = 1.0 / math.log(2.0)
SHAKES = ("none", "shift", "rotation", "matrix", "field", "own")


def _padded(lines: Array, columns: int) -> Array:
    """Lines (m, n) with the last column repeated."""
    return np.concatenate([lines, np.repeat(lines[:, -1:], columns - lines.shape[1], axis=1)], axis=1)


def laid_form(model: Model) -> Array:
    """The form, with a page for every V: of groups with their own no kernel reads it."""
    return np.broadcast_to(model.form[:1], model.values.shape) if len(model.values) > model.n_heads else model.form


def sides(model: Model) -> Array:
    """Terms.sides."""
    if not model.placed:
        return np.zeros((0, 0, 0, 0))
    kinds = 1 if model.groups is None else len(model.groups.names)
    shape, found = (kinds, model.n_heads, width_of(model), model.dim), []
    for name in ("query", "key"):
        own = None if model.groups is None else model.groups.matrices(name)
        shared = getattr(model, name)
        shared = np.eye(model.dim) if shared is None else shared
        found.append(np.broadcast_to(shared if own is None else own, shape))
    own_beta = None if model.groups is None else model.groups.beta
    beta = betas(model) if own_beta is None else own_beta
    unit = 1.0 if math.isinf(model.beta) else LOG2E
    return np.concatenate([unit * beta[:, None, None, None] * found[0], found[1]])


def turns(model: Model, n: int, columns: int) -> Array:
    """Terms.turns."""
    if not isinstance(model.position, Rope):
        return np.zeros((0, 0))
    by = angles(model.position, width_of(model), n).T
    return _padded(np.concatenate([np.cos(by), np.sin(by)]), columns)


def offsets(model: Model, n: int, columns: int) -> Array:
    """Terms.offsets."""
    return _padded(model.position.vectors.T, columns) if isinstance(model.position, Absolute) else np.zeros((0, 0))


def group_lines(model: Model, n: int, columns: int) -> Array:
    """The last lines of Terms.rows: the group of every token, and whether its row sees each group."""
    if model.groups is None:
        return np.zeros((0, columns))
    labels = model.groups.labels
    return _padded(np.concatenate([labels[None], model.groups.sees[labels].T]).astype(float), columns)


def shaking(model: Model) -> tuple[int, float, Array]:
    """The kind and the strength of common noise, and Terms.shaking."""
    noise = model.common_noise
    if noise is None:
        return 0, 0.0, np.zeros((0, 0))
    table: Array = np.zeros((0, 0))
    if noise.kind == "field":
        table = field_waves(noise, model.dim)
    elif noise.kind == "own":
        table = noise.matrices.reshape(-1, model.dim)
    return SHAKES.index(noise.kind), noise.strength, np.array(table)
