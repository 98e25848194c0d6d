"""What queries and keys make of tokens that stand somewhere in a text (E14), or belong to a group (E20)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tokenflock.geometry import Array
from tokenflock.positions import Absolute, Rope, angles, turn
from tokenflock.rules import check_counts

if TYPE_CHECKING:
    from tokenflock.model import Model


def looked(model: Model, x: Array, side: str) -> Array:
    """(E14), (E20) R_i M_h y_i, (H, n, k), with Q or K for M: what queries and keys make of tokens with positions."""
    check_counts(model, len(x))
    y = x + model.position.vectors if isinstance(model.position, Absolute) else x
    own = None if model.groups is None else model.groups.matrices(side)
    if model.groups is not None and own is not None:
        y = np.einsum("nhkd,nd->hnk", own[model.groups.labels], y)
    elif (shared := getattr(model, side)) is not None:
        y = y @ np.swapaxes(shared, -1, -2)
    y = np.broadcast_to(y, (model.n_heads, len(x), model.width))
    return turn(y, angles(model.position, model.width, len(x))) if isinstance(model.position, Rope) else y


def betas(model: Model) -> Array:
    """beta of every row, (n,) or (1,); infinity counts as 1."""
    if model.groups is None or model.groups.beta is None:
        return np.array([1.0 if math.isinf(model.beta) else model.beta])
    beta: Array = model.groups.beta[model.groups.labels]
    return beta
