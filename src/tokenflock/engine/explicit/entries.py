"""The graph of a model laid out for graph_pairs.py: its entries, and what a bias and masses add to their logits."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenflock.geometry import Array
from tokenflock.graphs import Graph, at_entries
from tokenflock.masks import graph, has_table
from tokenflock.model import Model, masses

LOG2E = 1.0 / math.log(2.0)
# log2 of a mass 0: no logit makes up for it, and sums with it stay finite.
UNSEEN = -1e9


class Entries(NamedTuple):
    """Every row with the tokens that it sees; the frozen ones, n, n + 1, .., come last."""

    starts: NDArray[np.int64]  # (rows + 1,), rows n or n H
    entries: NDArray[np.int32]
    extra: Array  # (1 or H, entries) in units of log 2, hardmax: masses as they are; (0, 0) if nothing is added


NO_GRAPH = Entries(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros((0, 0)))


def laid_out(model: Model, n: int) -> Entries:
    """The entries of a model of n tokens."""
    seen, extra = graph(model.mask, n), _extra(model, n)
    if model.frozen is None:
        seen.check_rows()
        return Entries(np.array(seen.starts), np.array(seen.columns), extra)
    weights = model.frozen.weights
    m, rows = len(weights), len(seen.starts) - 1
    ends = np.repeat(seen.starts[1:], m)
    fixed = np.tile(np.arange(n, n + m), rows)
    entries = np.insert(seen.columns, ends, fixed).astype(np.int32)
    shares = np.tile(weights if math.isinf(model.beta) else np.log2(weights), rows)
    lines = extra if extra.size else np.full((1, len(seen.columns)), 1.0 if math.isinf(model.beta) else 0.0)
    more = np.stack([np.insert(line, ends, shares) for line in lines])
    return Entries(seen.starts + m * np.arange(rows + 1), entries, more)


def _extra(model: Model, n: int) -> Array:
    """What bias and masses add to the logits of the entries, without frozen tokens."""
    if model.bias is None and model.masses is None:
        return np.zeros((0, 0))
    seen = graph(model.mask, n)
    if math.isinf(model.beta):
        return mass_of(model, seen)[None]
    lines = [_bias(model, seen, head) for head in range(model.n_heads)]
    added = np.concatenate(lines)[None] if seen.heads > 1 else np.stack(lines)
    if (added == added[:1]).all():
        added = added[:1]
    if model.masses is not None:
        mass = mass_of(model, seen)
        added = added + np.where(mass > 0, np.log2(np.where(mass > 0, mass, 1.0)), UNSEEN)
    return np.asarray(added)


def mass_of(model: Model, seen: Graph) -> Array:
    """a_ij of every entry."""
    a = masses(model, seen.n_tokens)
    found: Array = a[seen.rows % seen.n_tokens if len(a) > 1 else 0, seen.columns]
    return found


def _bias(model: Model, seen: Graph, head: int) -> Array:
    """The bias of one head at its entries."""
    if has_table(model.bias):
        return LOG2E * at_entries(model.bias, seen, head)
    n, line = seen.n_tokens, head if seen.heads > 1 else 0
    part = slice(seen.starts[line * n], seen.starts[(line + 1) * n])
    far: Array = np.abs(seen.rows[part] - line * n - seen.columns[part])
    slope = LOG2E * float(model.slopes[head])
    return np.asarray(-slope * far)
