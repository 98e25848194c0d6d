"""Sums over pairs of tokens for dim beyond products.MOST: two matrix products by cuBLAS, and the weights between.

A block of rows of logits is held at a time, never n x n. Numbers are split into float16 parts as in products.py,
with the same accuracy, and the token itself is left out of the product likewise.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from tokenflock.engine.triton.exponential import half_to
from tokenflock.engine.triton.pairs import VisibleRange
from tokenflock.engine.triton.products import WEIGHT_BITS, scaled, split

PAIRS = 2**27  # logits held at a time: 512 MB
CHUNK, AXES = 4096, 256  # columns and axes of one product: its sums are rounded towards zero, and added in float32


# 17 arguments: Triton makes a version of a kernel for the kind of each pointer and number at its launch.
@triton.jit
def _weights(
    logits, weights, lines, sizes, slope, first, start, n, back, ahead, columns, rows,
    BN: tl.constexpr, PARTS: tl.constexpr, BITS: tl.constexpr, BIASED: tl.constexpr, NATIVE: tl.constexpr,
):  # fmt: skip
    """One row: weights 2^(s - top + BITS) without the token itself, in parts; lines: top, their sum, its own logit."""
    row = tl.program_id(0)
    i, lane = first + row, tl.arange(0, BN)
    logits += row.to(tl.int64) * columns
    size = tl.load(sizes + i)
    best = tl.full((BN,), float("-inf"), tl.float32)
    for column in range(0, columns, BN):
        j = start + column + lane
        s = tl.load(logits + column + lane, mask=column + lane < columns, other=0.0) * size
        if BIASED:
            s -= slope * tl.abs(i - j).to(tl.float32)
        seen = (j >= i - back) & (j <= i + ahead) & (j < n) & (column + lane < columns) & (i != j)
        best = tl.maximum(best, tl.where(seen, s, float("-inf")))
    top = tl.max(best, 0)
    level = tl.where(top == float("-inf"), 0.0, top)  # a row that sees nothing but itself
    total, itself = tl.zeros((BN,), tl.float32), tl.zeros((BN,), tl.float32)
    weights += row.to(tl.int64) * columns * PARTS
    for column in range(0, columns, BN):
        j = start + column + lane
        s = tl.load(logits + column + lane, mask=column + lane < columns, other=0.0) * size
        if BIASED:
            s -= slope * tl.abs(i - j).to(tl.float32)
        seen = (j >= i - back) & (j <= i + ahead) & (j < n)
        itself += tl.where(i == j, s, 0.0)
        w = tl.where(seen & (i != j), half_to(level - s - BITS, NATIVE), 0.0)
        total += tl.where(column + lane < columns, w, 0.0)
        heavy = w.to(weights.dtype.element_ty)
        tl.store(weights + column + lane, heavy, mask=column + lane < columns)
        if PARTS == 2:
            light = (w - heavy.to(tl.float32)).to(weights.dtype.element_ty)
            tl.store(weights + columns + column + lane, light, mask=column + lane < columns)
    tl.store(lines + row, top)
    tl.store(lines + rows + row, tl.sum(total, 0))
    tl.store(lines + 2 * rows + row, tl.sum(itself, 0))


def _product(a: Tensor, b: Tensor) -> Tensor:
    """a b with a float32 result."""
    return torch.mm(a, b, out_dtype=torch.float32) if a.is_cuda else a.float() @ b.float()


def wide_sums(
    x: Tensor, u: Tensor, reach: VisibleRange, slope: float = 0.0, precision: str = "float32", pairs: int = PAIRS
) -> tuple[Tensor, Tensor, Tensor]:
    """p (runs, H, n, d), z and top (runs, H, n): as products.product_sums."""
    runs, heads, n, d = u.shape
    dtype, parts = (torch.bfloat16, 1) if precision == "bfloat16" else (torch.float16, 2)
    width = -(-d // 16) * 16
    tokens, token_unit = scaled(x, (1, 2))
    asked, query_unit = scaled(u, (-1,))
    keys, queries = split(tokens, n, width, dtype, parts), split(asked, n, width, dtype, parts)
    sizes = (query_unit[..., 0] * token_unit[:, None, :1, 0]).contiguous()
    p, lines = torch.empty_like(u), torch.empty((3, runs, heads, n), dtype=x.dtype, device=x.device)
    tall = max(1, pairs // n)
    for r, h in ((r, h) for r in range(runs) for h in range(heads)):
        for i in range(0, n, tall):
            part = slice(i, min(i + tall, n))
            p[r, h, part], lines[:, r, h, part] = _block(keys[r], queries[r, h], sizes[r, h], slope, part, reach, d)
    tops, z, itself = lines
    top = torch.maximum(tops, itself)
    fade = torch.exp2(tops - top - WEIGHT_BITS)
    z = z * fade
    p = p * (fade[..., None] * token_unit[:, None])
    return p - z[..., None] * x[:, None], z + torch.exp2(itself - top), top


def _block(
    keys: Tensor, queries: Tensor, sizes: Tensor, slope: float, part: slice, reach: VisibleRange, d: int
) -> tuple[Tensor, Tensor]:
    """Rows `part` of one head: the sums (rows, d) in the units of the parts, and the lines (3, rows)."""
    n, parts, width = keys.shape
    start, stop = max(0, part.start - reach.back), min(n, part.stop + reach.ahead)
    rows, seen = part.stop - part.start, keys[start:stop]
    logits = None
    for a in range(0, width, AXES):
        left, right = queries[part, :, a : a + AXES], seen[:, :, a : a + AXES]
        if parts == 2:  # lo hi + hi lo + hi hi as one product: the small ones first
            left = torch.cat([left[:, 1], left[:, 0], left[:, 0]], dim=1)
            right = torch.cat([right[:, 0], right[:, 1], right[:, 0]], dim=1)
        part_of_it = _product(left.flatten(1), right.flatten(1).T)
        logits = part_of_it if logits is None else logits.add_(part_of_it)
    weights = torch.empty((rows, parts, stop - start), dtype=keys.dtype, device=keys.device)
    lines = torch.empty((3, rows), dtype=sizes.dtype, device=keys.device)
    _weights[(rows,)](
        logits, weights, lines, sizes, slope, part.start, start, n, min(reach.back, n), min(reach.ahead, n),
        stop - start, rows, BN=1024, PARTS=parts, BITS=WEIGHT_BITS, BIASED=slope != 0.0, NATIVE=keys.is_cuda,
    )  # fmt: skip
    p = torch.zeros((rows, width), dtype=torch.float32, device=keys.device)
    for j in range(0, stop - start, CHUNK):
        near, columns = seen[j : j + CHUNK], slice(j, j + CHUNK)
        if parts == 2:
            p += _product(weights[:, 1, columns], near[:, 0])
            both = _product(weights[:, 0, columns], near.reshape(len(near), 2 * width))
            p += both[:, width:] + both[:, :width]
        else:
            p += _product(weights[:, 0, columns], near[:, 0])
    return p[:, :d], lines
