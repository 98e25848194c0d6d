"""Attention as the page shows it: the row of one token, and the whole matrix as a small picture."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from tokenflock import model as equations
from tokenflock.errors import bad
from tokenflock.geometry import Array
from tokenflock.masks import is_interval, visible
from tokenflock.model import Model
from tokenflock.options import Frozen

MOST = 2_000  # tokens of a whole matrix of one head: beyond, it would take seconds and gigabytes
SIDE = 256  # rows of a picture
STRONGEST = 8  # of a row

Head = int | Literal["mean"]  # whose attention: one head's, or the mean of all


def row(model: Model, x: Array, t: float, token: int, head: Head) -> dict[str, Any]:
    """Whom a token attends to: its leader, the largest weights, and the row in at most SIDE parts (each its sum)."""
    _check_head(model, head)
    p = _row(model, x, t, token, head)
    order = np.argsort(-p, kind="stable")[:STRONGEST]
    edges = np.linspace(0, len(p), min(SIDE, len(p)) + 1).astype(int)
    parts = np.add.reduceat(p, edges[:-1])
    return {
        "token": token,
        "head": head,
        "leader": int(order[0]),
        "strongest": [[int(j), float(p[j])] for j in order if p[j] > 0],
        "parts": parts.tolist(),
        "n_tokens": len(x),
    }


def _row(model: Model, x: Array, t: float, token: int, head: Head) -> Array:
    """One row of the attention matrix.

    Where rows do not depend on places in the sequence, the token alone among the others, frozen, has the same row: n
    weights instead of n^2, by the same equations.
    """
    placed = model.bias is not None or model.masses is not None or not is_interval(model.mask) or model.placed
    if placed or model.space == "rescaled" or model.normaliser != "softmax":
        _check_size(model, x)
        whole: Array = _of(equations.attention(model, x, t), head)[token]
        return whole
    lo, hi = visible(model.mask, len(x))
    seen = np.arange(lo[token], hi[token])
    others = seen[seen != token]
    fixed = x[others]
    if model.frozen is not None:
        fixed = np.concatenate([fixed, model.frozen.tokens])
    p = np.zeros(len(x))
    if not len(fixed):
        p[token] = 1.0
        return p
    strength = np.ones(len(fixed))
    if model.frozen is not None:
        strength[len(others) :] = model.frozen.weights
    alone = model.with_options(mask="full", frozen=Frozen(fixed, strength))
    found = _of(equations.attention(alone, x[token : token + 1], t), head)[0]
    p[token], p[others] = found[0], found[1 : 1 + len(others)]
    return np.concatenate([p, found[1 + len(others) :]])


def picture(model: Model, x: Array, t: float, head: Head) -> Array:
    """The attention matrix, its largest weight in each of at most SIDE x SIDE fields."""
    _check_head(model, head)
    _check_size(model, x)
    P = _of(equations.attention(model, x, t), head)[:, : len(x)]
    edges = np.linspace(0, len(x), min(SIDE, len(x)) + 1).astype(int)[:-1]
    return np.maximum.reduceat(np.maximum.reduceat(P, edges, axis=0), edges, axis=1)


def _of(P: Array, head: Head) -> Array:
    """The attention (heads, n, m) of one head, or the mean."""
    one: Array = P.mean(axis=0) if head == "mean" else P[head]
    return one


def _check_head(model: Model, head: Head) -> None:
    if head != "mean" and head >= model.n_heads:
        raise bad("head", head, f"0 to {model.n_heads - 1}, or 'mean'")


def _check_size(model: Model, x: Array) -> None:
    """Every head has n (n + m) weights, with m frozen tokens: MOST^2 in all."""
    m = 0 if model.frozen is None else len(model.frozen.tokens)
    most = int((math.sqrt(m * m + 4 * MOST * MOST / model.n_heads) - m) / 2)
    if len(x) > most:
        raise bad("n_tokens", len(x), f"at most {most} for an attention matrix", "Take fewer tokens to see it.")
