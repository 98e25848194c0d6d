"""Causal softmax attention as others do it on a GPU, on the same tokens: each is a call that returns (1, n, d)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

Call = Callable[[], Tensor]


def by_sdpa(x: Tensor, beta: float, dtype: torch.dtype) -> Call:
    """torch's own, with d padded to a multiple of 8 as its kernels ask."""
    d = x.shape[-1]
    q = pad(x, (0, -d % 8)).to(dtype)[:, None]
    return lambda: scaled_dot_product_attention(q, q, q, is_causal=True, scale=beta)[:, 0, :, :d]


def by_flex(x: Tensor, beta: float, dtype: torch.dtype) -> Call:
    """FlexAttention, compiled, with a causal block mask and d padded to 16."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    n, d = x.shape[1:]
    q = pad(x, (0, max(0, 16 - d))).to(dtype)[:, None]
    blocks = create_block_mask(lambda b, h, i, j: i >= j, None, None, n, n, device="cuda")
    attend = torch.compile(flex_attention, dynamic=False)
    return lambda: attend(q, q, q, block_mask=blocks, scale=beta)[:, 0, :, :d]


def _eager(x: Tensor, hidden: Tensor, beta: float) -> Tensor:
    return (beta * x @ x.mT).masked_fill(hidden, -math.inf).softmax(dim=-1) @ x


def by_torch(x: Tensor, beta: float, compiled: bool) -> Call:
    """The formula as scripts write it, with its n x n matrix."""
    hidden = torch.ones((x.shape[1], x.shape[1]), dtype=torch.bool, device="cuda").triu(1)
    attend = torch.compile(_eager, dynamic=False) if compiled else _eager
    return lambda: attend(x, hidden, beta)
