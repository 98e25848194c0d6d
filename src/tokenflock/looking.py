"""What queries and keys make of tokens that stand somewhere in a text (E14), or belong to a group (E20)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tokenflock.errors import bad
from tokenflock.geometry import Array
from tokenflock.masks import n_fixed
from tokenflock.positions import Absolute, Rope, angles, n_given, turn

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
    y = np.broadcast_to(y, (model.n_heads, len(x), width_of(model)))
    return turn(y, angles(model.position, width_of(model), len(x))) if isinstance(model.position, Rope) else y


def betas(model: Model) -> Array:
    """beta of every row, (n,) or (1,); infinity counts as 1."""
    if model.groups is None or model.groups.beta is None:
        return np.array([1.0 if math.isinf(model.beta) else model.beta])
    beta: Array = model.groups.beta[model.groups.labels]
    return beta


def tokens_of(model: Model) -> int | None:
    """For how many tokens a model says something of every single one; None: for any number."""
    own = (n_fixed(part) for part in (model.masses, model.mask, model.bias))
    counts = (n_given(model.position), getattr(model.groups, "n_tokens", None), *own)
    return next((n for n in counts if n is not None), None)


def width_of(model: Model) -> int:
    """k: how many numbers a query has."""
    sides = [model.query, model.key, *(getattr(model.groups, name, None) for name in ("query", "key"))]
    return max([m.shape[-2] for m in sides if m is not None], default=model.dim)


def check_counts(model: Model, n: int) -> None:
    """Whether what a model says of every token is said of n tokens."""
    if model.masses is not None and model.masses.shape[-1] != n:
        advice = "Give one mass for every token of the start."
        raise bad("masses.shape", model.masses.shape, f"({n},) or ({n}, {n}) for {n} tokens", advice)
    given = n_given(model.position)
    if given is not None and given != n:
        advice = "Give one for every token of the start."
        raise bad("position", f"positions of {given} tokens", f"those of the {n} tokens there are", advice)
    if model.groups is not None and model.groups.n_tokens != n:
        parts = " + ".join(f"{count} of {name}" for name, count in model.groups.counts.items())
        advice = "Give one label for every token of the start."
        raise bad("groups", f"{parts} = {model.groups.n_tokens} tokens", f"labels of the {n} tokens there are", advice)
