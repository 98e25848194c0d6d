"""Kernels (E15), what a row is divided by (E16) and Sinkhorn (E17) in plain torch, with gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tokenflock.engine.torch.terms import TorchTerms
from tokenflock.interaction import DEFECT, ROUNDS, SUMS, Kernel

if TYPE_CHECKING:
    from tokenflock.engine.torch.velocity import Block

DEFECT_32 = 1e-6  # interaction.DEFECT for float32
WATCHED = 16  # rounds of Sinkhorn between two looks at how far it is: a look waits for the device


def distances(x: Tensor, keys: Tensor) -> Tensor:
    """|x_i - y_j| (runs, rows, columns) from differences; where it is 0 its gradient is 0 too."""
    square = torch.zeros((), dtype=x.dtype, device=x.device)
    for k in range(x.shape[-1]):
        gap = keys[:, None, :, k] - x[..., None, k]
        square = torch.addcmul(square, gap, gap)
    apart = square > 0
    return torch.where(apart, torch.where(apart, square, 1.0).sqrt(), 0.0)


def weights(kernel: Kernel | None, s: Tensor, x: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """(E15) from logits s (runs, rows, columns), -inf out of sight, and the logarithm taken out of each row."""
    seen = torch.isfinite(s)
    if kernel is None:
        top = s.detach().amax(dim=-1, keepdim=True)
        return (s - top).exp(), top
    logit = s.masked_fill(~seen, 0.0)
    given = {"logit": lambda: logit, "overlap": lambda: x @ keys.mT, "distance": lambda: distances(x, keys)}
    found = kernel.function.with_torch(*[given[name]() for name in kernel.takes])
    found = torch.as_tensor(found, dtype=s.dtype, device=s.device).expand(s.shape)
    return torch.where(seen, found, 0.0), torch.zeros_like(s[..., :1])


def masses_of(terms: TorchTerms, block: Block, columns: int) -> Tensor:
    """a_ij of the tokens and frozen tokens that a block of rows sees, (1 or rows, columns)."""
    m = len(terms.frozen)
    mass = block.mass
    if mass is None:
        mass = torch.ones((1, columns - m), dtype=terms.dtype, device=terms.device)
    return torch.cat([mass, terms.weights.expand(len(mass), -1)], dim=1) if m else mass


def shares(terms: TorchTerms, s: Tensor, x: Tensor, keys: Tensor, block: Block, h: int) -> tuple[Tensor, Tensor]:
    """(E16) From logits s (runs, rows, columns) of tokens x: a_ij w_ij without 1 / Z_i, and 1 / Z_i (runs, rows, 1)."""
    norm = terms.model.divisor
    w, top = weights(terms.model.own_kernel, s, x, keys)
    a = masses_of(terms, block, s.shape[-1])
    counted = a * torch.isfinite(s[0]).to(s.dtype)
    if not norm.own:
        itself = torch.nn.functional.pad(block.row == block.column, (0, len(terms.frozen)))
        counted = counted.masked_fill(itself, 0.0)
    if norm.kind in ("softmax", "sink"):
        total = (counted * w).sum(dim=-1, keepdim=True)
        total = total + (norm.logit - top).exp() if norm.kind == "sink" else total
    elif norm.kind == "l2":
        square = (counted * w * w).sum(dim=-1, keepdim=True)
        total = torch.where(square > 0, torch.where(square > 0, square, 1.0).sqrt(), square)
    elif norm.kind == "positions":
        far = torch.nn.functional.pad((block.row - block.column).abs(), (0, len(terms.frozen))).to(s.dtype)
        total = (counted * (-terms.slopes[h] * far).exp()).sum(dim=-1, keepdim=True) * (-top).exp()
    else:
        total = (1.0 if norm.kind == "none" else counted.sum(dim=-1, keepdim=True)) * (-top).exp()
    nothing = total == 0
    factor = torch.where(nothing, 0.0, 1.0 / torch.where(nothing, 1.0, total))
    if norm.kind in SUMS:
        factor = factor.masked_fill((w < 0).any(dim=-1, keepdim=True), math.nan)
    return a * w, factor


def sinkhorn(w: Tensor, a: Tensor) -> Tensor:
    """(E17) A_ij from weights w (runs, n, n) and masses a (1, n), by logarithms."""
    s = torch.where(w > 0, torch.where(w > 0, w, 1.0).log(), -math.inf) + a.log()
    s = torch.where(w >= 0, s, math.nan)
    small = DEFECT if s.dtype == torch.float64 else DEFECT_32
    g, level = torch.zeros_like(s[:, 0]), a.log()
    for k in range(ROUNDS):
        f = -torch.logsumexp(s + g[:, None], dim=-1)
        plan = s + f[..., None] + g[:, None]
        back = torch.logsumexp(plan.mT + level[:, None], dim=-1) - level
        if k % WATCHED == 0 and not bool((back.detach().abs() > small).any()):
            break
        g = g - back
    f = -torch.logsumexp(s + g[:, None], dim=-1)
    return (s + f[..., None] + g[:, None]).exp()
