"""Sums over pairs of tokens for large dim, by tensor-core products in tiles: (E4) of model.py in float32, never n x n.

A float32 number is split into two float16 numbers, hi + lo, which keep 22 of its 24 bits; three products,
hi hi + hi lo + lo hi, then give a float32 product at a third of the float16 rate, several times what float32 itself
reaches. Both sides are scaled by powers of two first, so that no part leaves the range of float16. The tensor cores
round sums towards zero, so each tile is summed by itself and added in float32. precision="bfloat16" takes one product
of bfloat16 instead: three digits, and never chosen but by name.

The token itself is left out of the product, and the largest of the other logits is subtracted: its own pull is
exactly 0, and pulls from far tokens keep their digits. Tokens closer than about 1e-7 keep an absolute accuracy of
rounding only, as in the CPU engine.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from tokenflock.engine.triton.exponential import half_to
from tokenflock.engine.triton.pairs import VisibleRange

MOST = 128  # dim up to which a block of sums stays in registers
TOKEN_BITS, WEIGHT_BITS = 10, 15  # tokens are scaled to 2^10, weights to 2^15: float16 ends at 2^16
PROGRAMS = 528


class ProductTile(NamedTuple):
    """Constants of the kernel: axes, rows and columns of a block, parts of a number, bits of a weight."""

    K: int
    BM: int
    BN: int
    PARTS: int
    BITS: int
    BIASED: bool
    NATIVE: bool


# Any: a field is a tensor of Triton's while it compiles.
class QueryBlock(NamedTuple):
    """The rows of a block: their numbers, both parts of their queries, the units of their logits, the bias."""

    i: Any
    hi: Any
    lo: Any
    size: Any
    slope: Any


@triton.jit
def _overlaps(hi, lo, other, low, PARTS: tl.constexpr):
    """<u_i, x_j> in the units of the parts: the small products first, where rounding towards zero costs least."""
    if PARTS == 1:
        return tl.dot(hi, tl.trans(other))
    else:
        s = tl.dot(hi, tl.trans(low))
        s = tl.dot(lo, tl.trans(other), s)
        return tl.dot(hi, tl.trans(other), s)


@triton.jit
def _sweep(x, rows, first, last, n, sight, totals, TILE: tl.constexpr, MASKED: tl.constexpr):
    """Add the columns first .. last - 1 to the totals (top, z, itself, p), with a running maximum; itself: the logit of
    the token itself, once met."""
    i, hi, lo, size, slope = rows
    top, z, itself, p = totals
    K: tl.constexpr = TILE.K
    BN: tl.constexpr = TILE.BN
    PARTS: tl.constexpr = TILE.PARTS
    lane, axis = tl.arange(0, BN), tl.arange(0, K)
    for column in range(first, last, BN):
        j = column + lane
        at = (j[:, None] * PARTS) * K + axis[None, :]
        other = tl.load(x + at)
        low = other
        if PARTS == 2:
            low = tl.load(x + at + K)
        s = _overlaps(hi, lo, other, low, PARTS)
        if TILE.BIASED:
            s -= (slope / size)[:, None] * tl.abs(i[:, None] - j[None, :]).to(tl.float32)
        if MASKED:
            own = i[:, None] == j[None, :]
            seen = (j[None, :] >= i[:, None] - sight.back) & (j[None, :] <= i[:, None] + sight.ahead) & (j[None, :] < n)
            itself += tl.sum(tl.where(own, s, 0.0), 1) * size
            s = tl.where(seen & (i[:, None] != j[None, :]), s, float("-inf"))
        higher = tl.maximum(top, tl.max(s, 1) * size)
        # A row that has seen nothing yet has top -inf: 0 stands for it, since -inf - -inf is no number.
        level = tl.where(higher == float("-inf"), 0.0, higher)
        fade = half_to(level - top, TILE.NATIVE)
        w = half_to(tl.fma(s, -size[:, None], (level - TILE.BITS)[:, None]), TILE.NATIVE)
        z = tl.fma(z, fade, tl.sum(w, 1))
        heavy = w.to(x.dtype.element_ty)
        if PARTS == 1:
            part = tl.dot(heavy, other)
        else:
            part = tl.dot((w - heavy.to(tl.float32)).to(x.dtype.element_ty), other)
            part = tl.dot(heavy, low, part)
            part = tl.dot(heavy, other, part)
        p = tl.fma(p, fade[:, None], part)
        top = higher
    return top, z, itself, p


# 13 arguments: Triton makes a version of a kernel for the kind of each pointer and number at its launch.
@triton.jit
def _products(x, u, sizes, slope, sums, lines, n, rows, back, ahead, width, heads, TILE: tl.constexpr):
    """One block of rows of one head against one split of the columns. lines: top, z, the logit of the token itself."""
    block, one = tl.num_programs(0) - 1 - tl.program_id(0), tl.program_id(2).to(tl.int64)
    K: tl.constexpr = TILE.K
    BM: tl.constexpr = TILE.BM
    BN: tl.constexpr = TILE.BN
    PARTS: tl.constexpr = TILE.PARTS
    first = block * BM
    i, axis = first + tl.arange(0, BM), tl.arange(0, K)
    x, u, sizes = x + (one // heads) * rows * PARTS * K, u + one * rows * PARTS * K, sizes + one * rows
    at = (i[:, None] * PARTS) * K + axis[None, :]
    hi = tl.load(u + at)
    lo = hi
    if PARTS == 2:
        lo = tl.load(u + at + K)
    size = tl.load(sizes + i)
    low = tl.program_id(1) * width
    high = tl.minimum(low + width, n)
    start = tl.minimum(tl.maximum(tl.maximum(first - back, 0) // BN * BN, low), high)
    stop = tl.minimum(tl.maximum(tl.minimum(first + BM + ahead, n), low), high)
    free = tl.minimum(tl.maximum((tl.maximum(first + BM - 1 - back, 0) + BN - 1) // BN * BN, start), stop)
    held = tl.minimum(tl.maximum(first // BN * BN, free), stop)  # from the token itself on all columns are masked
    top = tl.full((BM,), float("-inf"), tl.float32)
    z, itself, p = tl.zeros((BM,), tl.float32), tl.zeros((BM,), tl.float32), tl.zeros((BM, K), tl.float32)
    queries, sight, totals = QueryBlock(i, hi, lo, size, slope), VisibleRange(back, ahead), (top, z, itself, p)
    totals = _sweep(x, queries, start, free, n, sight, totals, TILE, True)
    totals = _sweep(x, queries, free, held, n, sight, totals, TILE, False)
    top, z, itself, p = _sweep(x, queries, held, stop, n, sight, totals, TILE, True)
    part = tl.program_id(1).to(tl.int64) * tl.num_programs(2) + one
    tl.store(sums + part * rows * K + i[:, None] * K + axis[None, :], p)
    lines += part * 3 * rows + i
    tl.store(lines, top)
    tl.store(lines + rows, z)
    tl.store(lines + 2 * rows, itself)


def split(x: Tensor, rows: int, width: int, dtype: torch.dtype, parts: int) -> Tensor:
    """x (..., n, d) as (..., rows, parts, width): hi and lo side by side, padded with zeros."""
    out = torch.zeros((*x.shape[:-2], rows, parts, width), dtype=dtype, device=x.device)
    hi = x.to(dtype)
    out[..., : x.shape[-2], 0, : x.shape[-1]] = hi
    if parts == 2:
        out[..., : x.shape[-2], 1, : x.shape[-1]] = (x - hi.to(x.dtype)).to(dtype)
    return out


def scaled(x: Tensor, over: int | tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """x times a power of two that brings its largest entry to 2^TOKEN_BITS, and the inverse of that power."""
    _, exponent = torch.frexp(x.abs().amax(dim=over, keepdim=True))
    return torch.ldexp(x, TOKEN_BITS - exponent), torch.ldexp(torch.ones_like(x[..., :1]), exponent - TOKEN_BITS)


def shape_for(width: int, parts: int = 2) -> dict[str, int]:
    """Rows, columns and warps of a block, as measured on an H200."""
    return {"BM": 64, "BN": 64, "num_warps": 4, "num_stages": 3 if width <= 64 or parts == 1 else 2}


def product_sums(
    x: Tensor, u: Tensor, reach: VisibleRange, slope: float = 0.0, precision: str = "float32", **shape: int
) -> tuple[Tensor, Tensor, Tensor]:
    """p (runs, H, n, d) = sum_j w (x_j - x_i), z (runs, H, n) = sum_j w, w = 2^(s_ij - top_i), and top (runs, H, n).

    x is (runs, n, d) and u (runs, H, n, d), the queries in units of log 2, both float32.
    """
    runs, heads, n, d = u.shape
    dtype, parts = (torch.bfloat16, 1) if precision == "bfloat16" else (torch.float16, 2)
    width = max(16, triton.next_power_of_2(d))
    options = {**shape_for(width, parts), **shape}
    tile = ProductTile(
        width, options.pop("BM"), options.pop("BN"), parts, WEIGHT_BITS, BIASED=slope != 0.0, NATIVE=x.is_cuda
    )
    rows = -(-n // 128) * 128
    tokens, token_unit = scaled(x, (1, 2))
    asked, query_unit = scaled(u, (-1,))
    keys, queries = split(tokens, rows, width, dtype, parts), split(asked, rows, width, dtype, parts)
    sizes = torch.ones((runs, heads, rows), dtype=x.dtype, device=x.device)
    sizes[..., :n] = query_unit[..., 0] * token_unit[:, None, :1, 0]
    blocks, columns = rows // tile.BM, tile.BN
    splits = max(1, min(-(-PROGRAMS // (blocks * runs * heads)), -(-n // 512), 16))
    share = -(-n // (splits * columns)) * columns
    splits = -(-n // share)
    sums = torch.empty((splits, runs, heads, rows, width), dtype=x.dtype, device=x.device)
    lines = torch.empty((splits, runs, heads, 3, rows), dtype=x.dtype, device=x.device)
    _products[(blocks, splits, runs * heads)](
        keys, queries, sizes, slope, sums, lines, n, rows, min(reach.back, n), min(reach.ahead, n), share, heads,
        TILE=tile, **options,
    )  # fmt: skip
    return _joined(x, sums[..., :n, :d], lines[..., :n], token_unit)


def _joined(x: Tensor, sums: Tensor, lines: Tensor, token_unit: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The parts of the columns brought to one maximum and added, and the token itself counted in z."""
    tops, z, itself = lines.unbind(dim=-2)
    itself = itself.sum(dim=0)  # a token meets itself in one part of the columns; the others hold 0 there
    top = torch.maximum(tops.amax(dim=0), itself)
    fade = torch.exp2(tops - top - WEIGHT_BITS)
    z = (z * fade).sum(dim=0)
    p = (sums * fade[..., None]).sum(dim=0) * token_unit[:, None]
    return p - z[..., None] * x[:, None], z + torch.exp2(itself - top), top
