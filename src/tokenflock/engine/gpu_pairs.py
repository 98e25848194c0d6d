"""Sums over pairs of tokens for small dim, as Triton kernels: (E4) of model.py, without 1/Z.

For each row i of its block a program fills

    z_i = sum_j w_ij,   p_i = sum_j w_ij (x_j - x_i),   w_ij = 2^(s_ij - s_ii - top_i),

where s is (E1) in units of log 2 and j runs over max(0, i - back) <= j <= min(n - 1, i + ahead): every mask of a model.
Tokens are columns, (runs, d, columns). Rows stand in registers and tokens j in the lanes of a warp, so the sums are
2-D and reduced only once in CHUNK columns: seven times faster than reducing in the loop, and more accurate than one
long float32 sum. Differences come first, so a token's pull on itself is exactly 0 and float32 runs do not drift.
No atomics: the same input gives the same bits.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from tokenflock.engine.gpu_exponential import half_to

CHUNK = 32_768  # columns between two reductions
PROGRAMS = 2112  # to keep 132 multiprocessors busy to the end, 16 for each
LEAST = 512  # columns that are worth a program of their own


class Reach(NamedTuple):
    """A mask: row i sees i - back .. i + ahead."""

    back: int
    ahead: int


@triton.jit
def _parts(t, BN: tl.constexpr, WIDE: tl.constexpr):
    """Every WIDE-th of BN WIDE numbers, WIDE times: what one load gave a lane lies in registers of its own."""
    if WIDE == 1:
        return (t,)
    else:
        even, odd = tl.split(tl.reshape(t, (BN * WIDE // 2, 2)))
        if WIDE == 2:
            return (even, odd)
        else:
            first, third = tl.split(tl.reshape(even, (BN, 2)))
            second, fourth = tl.split(tl.reshape(odd, (BN, 2)))
            return (first, second, third, fourth)


@triton.jit
def _others(x, stride, column, n, D: tl.constexpr, BN: tl.constexpr, WIDE: tl.constexpr, MASKED: tl.constexpr):
    """The tokens column .. column + BN WIDE - 1: for each axis the parts of one wide load."""
    j = column + tl.arange(0, BN * WIDE)
    others = ()
    for a in tl.static_range(D):
        if MASKED:
            other = tl.load(x + a * stride + j, mask=j < n, other=0.0)
        else:
            other = tl.load(x + a * stride + j)
        others = others + (_parts(other, BN, WIDE),)  # noqa: RUF005
    return others


@triton.jit
def _gaps(others, part, own, D: tl.constexpr):
    """x_j - x_i, one (rows, lanes) block for each axis."""
    gaps = ()
    for a in tl.static_range(D):
        gaps = gaps + (others[a][part][None, :] - own[a],)  # noqa: RUF005
    return gaps


@triton.jit
def _rise(gaps, query, floor, slope, i, j, D: tl.constexpr, NEAR: tl.constexpr, BIASED: tl.constexpr):
    """s_ii - s_ij + floor_i: |x_j - x_i|^2 for scaled tokens on the sphere, else <-u_i, x_j - x_i>, plus the bias."""
    if NEAR:
        q = gaps[0] * gaps[0]
        for a in tl.static_range(1, D):
            q = tl.fma(gaps[a], gaps[a], q)
    else:
        q = tl.fma(query[0], gaps[0], floor)
        for a in tl.static_range(1, D):
            q = tl.fma(query[a], gaps[a], q)
    if BIASED:
        q += slope * tl.abs(i[:, None] - j[None, :]).to(q.dtype)
    return q


@triton.jit
def _seen(i, j, n, back, ahead):
    column = j[None, :]
    return (column >= i[:, None] - back) & (column <= i[:, None] + ahead) & (column < n)


@triton.jit
def _rows(x, stride, i, n, D: tl.constexpr):
    """The tokens of a block, as (rows, 1) for each axis."""
    rows = ()
    for a in tl.static_range(D):
        rows = rows + (tl.load(x + a * stride + i, mask=i < n, other=0.0)[:, None],)  # noqa: RUF005
    return rows


@triton.jit
def _stretches(first, n, back, ahead, width, BM: tl.constexpr, BN: tl.constexpr):
    """Where a block of rows looks: [start, free) some rows, [free, held) all of them, [held, stop) some.

    All within the columns [split * width, (split + 1) * width) of this program; multiples of BN but for stop.
    """
    low = tl.program_id(1) * width
    high = tl.minimum(low + width, n)
    start = tl.maximum(first - back, 0) // BN * BN
    stop = tl.minimum(first + BM + ahead, n)
    free = tl.maximum((tl.maximum(first + BM - 1 - back, 0) + BN - 1) // BN * BN, start)
    held = tl.maximum(tl.minimum(first + ahead + 1, n) // BN * BN, free)
    start, stop = tl.minimum(tl.maximum(start, low), high), tl.minimum(tl.maximum(stop, low), high)
    free, held = tl.minimum(tl.maximum(free, start), stop), tl.minimum(tl.maximum(held, start), stop)
    return start, free, held, stop


@triton.jit
def _sweep(
    x, stride, own, query, slope, top, i, first, last, n, back, ahead, totals,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, WIDE: tl.constexpr, SPAN: tl.constexpr,
    NEAR: tl.constexpr, BIASED: tl.constexpr, MASKED: tl.constexpr, NATIVE: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """Add the columns first .. last - 1 to the totals (z, p_1 .. p_d), each (rows,)."""
    none = tl.zeros((BM, BN), x.dtype.element_ty)
    lane = tl.arange(0, BN) * WIDE
    for begin in range(first, last, SPAN):
        sums = (none,)
        for _ in tl.static_range(D):
            sums = sums + (none,)  # noqa: RUF005
        for column in tl.range(begin, tl.minimum(begin + SPAN, last), BN * WIDE, loop_unroll_factor=UNROLL):
            others = _others(x, stride, column, n, D, BN, WIDE, MASKED)
            for part in tl.static_range(WIDE):
                j = column + lane + part
                gaps = _gaps(others, part, own, D)
                w = half_to(_rise(gaps, query, top, slope, i, j, D, NEAR, BIASED), NATIVE)
                if MASKED:
                    w = tl.where(_seen(i, j, n, back, ahead), w, 0.0)
                more = (sums[0] + w,)
                for a in tl.static_range(D):
                    more = more + (tl.fma(w, gaps[a], sums[a + 1]),)  # noqa: RUF005
                sums = more
        added = ()
        for a in tl.static_range(D + 1):
            added = added + (totals[a] + tl.sum(sums[a], 1),)  # noqa: RUF005
        totals = added
    return totals


@triton.jit
def _sums(
    x, u, tops, slope, out, n, stride, back, ahead, width,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, WIDE: tl.constexpr, SPAN: tl.constexpr,
    NEAR: tl.constexpr, BIASED: tl.constexpr, NATIVE: tl.constexpr, UNROLL: tl.constexpr, EDGES: tl.constexpr,
):  # fmt: skip
    """One block of rows against one split of the columns. Long rows first: what is left at the end is short.

    Columns that only some rows see, the EDGES, are a kernel apart: with both loops in one, the compiler takes tokens i
    out of the uniform registers.
    """
    block, run = tl.num_programs(0) - 1 - tl.program_id(0), tl.program_id(2).to(tl.int64)
    first = block * BM
    i = first + tl.arange(0, BM)
    x, u, tops = x + run * D * stride, u + run * D * stride, tops + run * stride
    own, slope = _rows(x, stride, i, n, D), tl.load(slope)
    query, top = own, own[0]
    if not NEAR:
        query = _rows(u, stride, i, n, D)
        top = tl.load(tops + i, mask=i < n, other=0.0)[:, None]
    start, free, held, stop = _stretches(first, n, back, ahead, width, BM, BN * WIDE)
    totals = (tl.zeros((BM,), x.dtype.element_ty),)
    for _ in tl.static_range(D):
        totals = totals + (tl.zeros((BM,), x.dtype.element_ty),)  # noqa: RUF005
    if EDGES:
        totals = _sweep(x, stride, own, query, slope, top, i, start, free, n, back, ahead, totals,
                        D, BM, BN, WIDE, SPAN, NEAR, BIASED, True, NATIVE, 1)  # fmt: skip
        totals = _sweep(x, stride, own, query, slope, top, i, held, stop, n, back, ahead, totals,
                        D, BM, BN, WIDE, SPAN, NEAR, BIASED, True, NATIVE, 1)  # fmt: skip
    else:
        totals = _sweep(x, stride, own, query, slope, top, i, free, held, n, back, ahead, totals,
                        D, BM, BN, WIDE, SPAN, NEAR, BIASED, False, NATIVE, UNROLL)  # fmt: skip
    out += (tl.program_id(1).to(tl.int64) * tl.num_programs(2) + run) * (D + 1) * stride
    for a in tl.static_range(D + 1):
        tl.store(out + a * stride + i, totals[a], mask=i < n)


@triton.jit
def _lower(x, stride, own, query, slope, i, column, n, back, ahead, least,
           D: tl.constexpr, BN: tl.constexpr, WIDE: tl.constexpr, BIASED: tl.constexpr,
           MASKED: tl.constexpr):  # fmt: skip
    """The least rise so far, for every row and lane."""
    others = _others(x, stride, column, n, D, BN, WIDE, MASKED)
    for part in tl.static_range(WIDE):
        j = column + tl.arange(0, BN) * WIDE + part
        q = _rise(_gaps(others, part, own, D), query, 0.0, slope, i, j, D, False, BIASED)
        if MASKED:
            q = tl.where(_seen(i, j, n, back, ahead), q, 0.0)
        least = tl.minimum(least, q)
    return least


@triton.jit
def _tops(
    x, u, slope, out, n, stride, back, ahead, width,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, WIDE: tl.constexpr, BIASED: tl.constexpr,
):  # fmt: skip
    """top_i: the largest s_ij - s_ii that row i sees, never below that of the token itself, 0."""
    block, run = tl.num_programs(0) - 1 - tl.program_id(0), tl.program_id(2).to(tl.int64)
    first = block * BM
    i = first + tl.arange(0, BM)
    x, u = x + run * D * stride, u + run * D * stride
    own, query, slope = _rows(x, stride, i, n, D), _rows(u, stride, i, n, D), tl.load(slope)
    start, free, held, stop = _stretches(first, n, back, ahead, width, BM, BN * WIDE)
    least = tl.zeros((BM, BN), x.dtype.element_ty)
    for column in range(start, free, BN * WIDE):
        least = _lower(x, stride, own, query, slope, i, column, n, back, ahead, least, D, BN, WIDE, BIASED, True)
    for column in range(free, held, BN * WIDE):
        least = _lower(x, stride, own, query, slope, i, column, n, back, ahead, least, D, BN, WIDE, BIASED, False)
    for column in range(held, stop, BN * WIDE):
        least = _lower(x, stride, own, query, slope, i, column, n, back, ahead, least, D, BN, WIDE, BIASED, True)
    out += (tl.program_id(1).to(tl.int64) * tl.num_programs(2) + run) * stride
    tl.store(out + i, -tl.min(least, 1), mask=i < n)


def tile_for(dim: int, double: bool, near: bool) -> dict[str, int]:
    """Rows, lanes and columns a lane of a block, blocks at a time, warps, registers: the fastest on an H200 of many.

    One warp a program: its rows are the same for all lanes, so they stand in uniform registers. What limits the loop is
    the number of registers that it reads (see benchmarks/gpu_slots.py), not the exponentials.
    """
    if double:
        rows, wide, unroll, registers = (8, 2, 1, 168) if near and dim <= 2 else (4, 2, 2, 128)
        if dim > 4:  # or registers would not do
            wide, unroll, registers = 1, 2, 255
    elif near and dim <= 3:
        rows, wide, unroll, registers = 16, 4, 1, 96 if dim <= 2 else 128
    else:
        rows, wide, unroll, registers = (8, 4, 1, 128) if dim <= 5 else (8, 2, 1, 168)
    return {"BM": rows, "BN": 32, "WIDE": wide, "UNROLL": unroll, "num_warps": 1, "maxnreg": registers}


def columns_of(x: Tensor, scale: float | Tensor = 1.0) -> Tensor:
    """x (runs, n, d) as scaled columns (runs, d, columns), columns a multiple of 128 so that loads are wide."""
    runs, n, d = x.shape
    out = torch.zeros((runs, d, -(-n // 128) * 128), dtype=x.dtype, device=x.device)
    torch.mul(x.transpose(1, 2), scale, out=out[..., :n])
    return out


def _splits(blocks: int, runs: int, n: int, reach: Reach) -> int:
    """Into how many parts the columns are cut, so that few long rows keep the whole device busy too."""
    seen = min(n, reach.back + reach.ahead + 1)
    return max(1, min(-(-PROGRAMS // (blocks * runs)), -(-seen // LEAST), 64))


def sums_of_columns(
    x: Tensor, n: int, reach: Reach, u: Tensor | None = None, slope: float = 0.0, **tile: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    """z (runs, n), p (runs, d, n) and top (runs, n) of tokens x as columns (runs, d, columns): see columns_of.

    Without u tokens are scaled so that s_ij - s_ii = -|x_i - x_j|^2, and top is None: it is 0. u are queries in units
    of log 2 with their sign turned, laid out like x; then the largest logit of each row is found first.
    """
    runs, d, stride = x.shape
    tile = {**tile_for(d, x.dtype == torch.float64, u is None), **tile}
    unroll, columns = tile.pop("UNROLL"), tile["BN"] * tile["WIDE"]
    blocks = -(-n // tile["BM"])
    width = -(-n // (_splits(blocks, runs, n, reach) * columns)) * columns
    splits, ahead, back = -(-n // width), min(reach.ahead, n), min(reach.back, n)
    grid, biased = (blocks, splits, runs), slope != 0.0
    tilt, tops = torch.full((), slope, dtype=x.dtype, device=x.device), None
    if u is not None:
        best = torch.empty((splits, runs, stride), dtype=x.dtype, device=x.device)
        _tops[grid](x, u, tilt, best, n, stride, back, ahead, width, D=d, BIASED=biased, **tile)
        tops = best.amax(dim=0)
    out = torch.empty((splits + 1, runs, d + 1, stride), dtype=x.dtype, device=x.device)
    given = (x, x if u is None else u, x if tops is None else tops, tilt)
    kind = {"D": d, "SPAN": CHUNK, "NEAR": u is None, "BIASED": biased, "NATIVE": x.is_cuda, "UNROLL": unroll, **tile}
    _sums[grid](*given, out[:splits], n, stride, back, ahead, width, EDGES=False, **kind)
    _sums[blocks, 1, runs](*given, out[splits:], n, stride, back, ahead, n, EDGES=True, **kind)
    whole = out.sum(dim=0)
    return whole[:, 0, :n], whole[:, 1:, :n], None if tops is None else tops[:, :n]
