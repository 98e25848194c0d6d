"""Which Triton kernel serves a model, and its sums as pull and mass: what engine/gpu.py puts into TorchTerms.sums."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tokenflock.engine.torch.terms import Sums, TorchTerms
from tokenflock.engine.triton.pairs import VisibleRange, columns_of, sums_of_columns
from tokenflock.engine.triton.products import MOST, product_sums
from tokenflock.engine.triton.wide import wide_sums
from tokenflock.options import Alibi, Window

FEW = 8  # dim up to which every axis has its own sum
LOG2E = 1.0 / math.log(2.0)


def reach_of(mask: str | Window, n: int) -> VisibleRange:
    """Row i sees i - back .. i + ahead: every mask is such an interval."""
    if isinstance(mask, Window):
        return VisibleRange(mask.width - 1, 0 if mask.causal else mask.width - 1)
    return VisibleRange(n, n if mask == "full" else 0)


def counts(n: int, reach: VisibleRange, device: torch.device) -> Tensor:
    """How many tokens each of n sees, (n,)."""
    i = torch.arange(n, device=device)
    return torch.clamp(i + reach.ahead + 1, max=n) - torch.clamp(i - reach.back, min=0)


def supports(terms: TorchTerms) -> bool:
    """Whether a kernel serves this model; plain torch does the rest."""
    if not isinstance(terms.model.mask, str | Window) or not isinstance(terms.model.bias, Alibi | None):
        return False
    if not terms.model.usual or terms.model.space == "rescaled":
        return False
    if terms.hard or len(terms.frozen) or terms.masses is not None:
        return False
    return terms.model.dim <= FEW or terms.dtype == torch.float32


def pair_sums(terms: TorchTerms, x: Tensor, precision: str = "float32") -> Sums:
    """(E4) with the model's normaliser, for a model that `supports` says yes to.

    precision="bfloat16" is for large dim, with three digits.
    """
    n, reach = x.shape[1], reach_of(terms.model.mask, x.shape[1])
    if x.shape[-1] > FEW:
        p, z, top = _products(terms, x, reach, precision)
    elif terms.near:
        p, z, top = _near(terms, x, reach)
    else:
        p, z, top = _far(terms, x, reach)
    if terms.model.normaliser == "softmax":
        return Sums(p / z[..., None], torch.ones_like(z)[..., None])
    shift = terms.beta * LOG2E if terms.model.normaliser == "scaled-count" else 0.0
    factor = (torch.exp2(top - shift) / counts(n, reach, x.device))[..., None]
    return Sums(factor * p, factor * z[..., None])


def _near(terms: TorchTerms, x: Tensor, reach: VisibleRange) -> tuple[Tensor, Tensor, Tensor]:
    """Where s_ii is the largest logit of every row: p, z and top."""
    # Tokens times this have s_ij - s_ii = -|x_i - x_j|^2. At beta = 0 any tiny scale gives equal weights.
    scale = (terms.forms[0, 0, 0] * (0.5 * LOG2E)).sqrt().clamp(min=1e-10)
    z, p, _ = sums_of_columns(columns_of(x, scale), x.shape[1], reach)
    return (p.mT / scale)[:, None], z[:, None], terms.forms[0, 0, 0] * LOG2E * (x * x).sum(dim=-1)[:, None]


def _far(terms: TorchTerms, x: Tensor, reach: VisibleRange) -> tuple[Tensor, Tensor, Tensor]:
    """Any form, with or without a bias, head by head."""
    u = (x[:, None] @ terms.forms) * LOG2E
    columns, parts = columns_of(x), []
    for h, slope in enumerate(terms.slopes):
        z, p, top = sums_of_columns(columns, x.shape[1], reach, columns_of(u[:, h], -1.0), slope * LOG2E)
        assert top is not None
        parts.append((p.mT, z, top + (u[:, h] * x).sum(dim=-1)))
    p, z, top = (torch.stack(part, dim=1) for part in zip(*parts, strict=True))
    return p, z, top


def _products(terms: TorchTerms, x: Tensor, reach: VisibleRange, precision: str) -> tuple[Tensor, Tensor, Tensor]:
    """Large dim: heads of one bias in one launch."""
    u = (x[:, None] @ terms.forms) * LOG2E
    sums = product_sums if x.shape[-1] <= MOST else wide_sums
    if len(set(terms.slopes)) == 1:
        return sums(x, u, reach, terms.slopes[0] * LOG2E, precision)
    parts = [sums(x, u[:, h : h + 1], reach, s * LOG2E, precision) for h, s in enumerate(terms.slopes)]
    p, z, top = (torch.cat(part, dim=1) for part in zip(*parts, strict=True))
    return p, z, top
