"""Sums over the entries of a graph (E19) in torch, in the time of its entries; safe for autograd like velocity.py.

Rows with about equally many entries go together, filled up to the same number: a gather, and sums along one axis,
always in the same order. Logits are differences to the token itself; in rescaled space to the leader of the row.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tokenflock.engine.explicit.entries import laid_out, mass_of
from tokenflock.engine.torch.terms import Sums, TorchTerms
from tokenflock.errors import EngineError
from tokenflock.masks import graph
from tokenflock.model import TIE, Model

TIE_32 = 2e-6  # model.TIE for the rounding of float32
GROWTH = 1.25  # from one length of rows to the next: what is filled up takes at most so much more


class LongRows(NamedTuple):
    """Rows of a head with up to the same number of entries."""

    row: Tensor  # (rows,)
    column: Tensor  # (rows, length): tokens, and frozen ones after them
    extra: Tensor  # (rows, length): what is added to logits (hardmax: masses), -inf (0) where a row has no more entries
    counted: Tensor  # (rows, 1): the masses that it sees (E3)


class HeadGraph(NamedTuple):
    """All rows of a head, and their places when those of all lengths stand one after the other."""

    parts: list[LongRows]
    place: Tensor  # (n,)


@lru_cache(maxsize=4)
def head_graph(model: Model, n: int, head: int, dtype: torch.dtype, device: torch.device) -> HeadGraph:
    """The rows of one head."""
    found, seen, hard = laid_out(model, n), graph(model.mask, n), math.isinf(model.beta)
    base = head * n if seen.heads > 1 else 0
    starts, sizes = found.starts[base : base + n], np.diff(found.starts)[base : base + n]
    line = (
        found.extra[head if len(found.extra) > 1 else 0]
        if len(found.extra)
        else np.full(len(found.entries), 1.0 * hard)
    )
    added = line if hard else line * math.log(2.0)
    counts = np.bincount(seen.rows, mass_of(model, seen), seen.heads * n)[base : base + n]
    counted = counts + (0.0 if model.frozen is None else float(model.frozen.weights.sum()))
    kinds = np.ceil(np.log(np.maximum(sizes, 1)) / math.log(GROWTH)).astype(int)
    parts, order = [], []

    def put(array: np.ndarray) -> Tensor:
        return torch.as_tensor(array, dtype=dtype, device=device)

    for kind in np.unique(kinds):
        row = np.flatnonzero(kinds == kind)
        place = np.arange(sizes[row].max(initial=0))
        there = place < sizes[row, None]
        at = np.where(there, starts[row, None] + place, 0)
        extra = np.where(there, added[at], 0.0 if hard else -np.inf)
        column = torch.as_tensor(np.where(there, found.entries[at], row[:, None]).astype(np.int64), device=device)
        parts.append(LongRows(torch.as_tensor(row, device=device), column, put(extra), put(counted[row, None])))
        order.append(row)
    return HeadGraph(parts, torch.as_tensor(np.argsort(np.concatenate(order)), device=device))


def graph_sums(terms: TorchTerms, x: Tensor, u: Tensor, rescaled: bool) -> Sums:
    """(E4) of all heads, for x (runs, n, d) and queries u (runs, H, n, d)."""
    runs, n, _ = x.shape
    if not terms.model.usual:
        told = f"mask={terms.model.mask} with kernel={terms.model.kernel}, normaliser={terms.model.normaliser}"
        raise EngineError(f"torch cannot run {told}. Use engine='reference', or a mask that has a name.")
    keys = torch.cat([x, terms.frozen.expand(runs, -1, -1)], dim=1) if len(terms.frozen) else x
    pulls, masses, spreads = [], [], []
    for h in range(u.shape[1]):
        found = head_graph(terms.model, n, h, terms.dtype, terms.device)
        done = [
            _rows(terms, x, keys, u[:, h], LongRows(*(one[k : k + step] for one in rows)), rescaled)
            for rows in found.parts
            for step in (max(1, terms.pairs // max(1, runs * rows.column.shape[1])),)
            for k in range(0, len(rows.row), step)
        ]
        pulls.append(torch.cat([one[0] for one in done], dim=1)[:, found.place])
        masses.append(torch.cat([one[1] for one in done], dim=1)[:, found.place])
        spreads += [one[2] for one in done]
    spread = torch.stack(spreads).amax(dim=0) if rescaled else None
    return Sums(torch.stack(pulls, dim=1), torch.stack(masses, dim=1), spread)


def _rows(
    terms: TorchTerms, x: Tensor, keys: Tensor, u: Tensor, rows: LongRows, rescaled: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Pull, mass and spread of some rows."""
    own, query, seen = x[:, rows.row, None], u[:, rows.row, None], keys[:, rows.column]
    gaps = seen - own
    added = 0.0 if terms.hard else rows.extra
    if not rescaled:
        s = (query * gaps).sum(dim=-1) + added
        level = (query * own).sum(dim=-1)
    elif terms.hard:
        s, level = (query * seen).sum(dim=-1), torch.zeros_like(own[..., 0])
    else:
        s, level = _by_leader(query, seen, rows.extra)
    if terms.hard:
        s = torch.where(rows.extra > 0, s, -math.inf)
    top = s.detach().amax(dim=-1, keepdim=True)
    if terms.hard:
        tie = TIE if s.dtype == torch.float64 else TIE_32
        a = (s >= top - tie * (1 + (top + level).abs())).to(s.dtype) * rows.extra
    else:
        a = (s - top).exp()
    whole = a.sum(dim=-1, keepdim=True)
    if terms.model.normaliser == "softmax":
        factor = 1.0 / whole
    else:
        shift = terms.beta if terms.model.normaliser == "scaled-count" else 0.0
        factor = (top + level - shift).exp() / rows.counted
    sharp = whole.detach()
    spread = (sharp - sharp.round()).abs().amax(dim=(1, 2))
    return factor * (a[..., None] * gaps).sum(dim=-2), factor * whole, spread


def _by_leader(query: Tensor, seen: Tensor, extra: Tensor) -> tuple[Tensor, Tensor]:
    """(E8) Logits as differences to the leader of each row, of tokens first, and that of the leader."""
    s = (query * seen).sum(dim=-1) + extra
    leader = s.detach().argmax(dim=-1, keepdim=True)
    for _ in range(2):  # the second time from the right leader, if rounding chose the first
        level = s.gather(-1, leader)
        lead = seen.gather(2, leader[..., None].expand(-1, -1, -1, seen.shape[-1]))
        drops = (query * (seen - lead)).sum(dim=-1) + (extra - extra.expand_as(s).gather(-1, leader))
        best = drops.detach()
        leader = torch.where(best.amax(dim=-1, keepdim=True) > 0, best.argmax(dim=-1, keepdim=True), leader)
    return drops.clamp(max=0.0), level
