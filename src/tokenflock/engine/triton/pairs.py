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

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from tokenflock.engine.triton.exponential import half_to

CHUNK = 32_768  # columns between two reductions
PROGRAMS = 2112  # to keep 132 multiprocessors busy to the end, 16 for each
LEAST = 512  # columns that are worth a program of their own


class VisibleRange(NamedTuple):
    """A mask: row i sees i - back .. i + ahead."""

    back: int
    ahead: int


# Records for functions inside kernels. Any: a field is a tensor of Triton's while it compiles.
class TokenColumns(NamedTuple):
    """n tokens as columns: axis a of token j stands at x + a * stride + j."""

    x: Any
    stride: Any
    n: Any


class RowBlock(NamedTuple):
    """The rows of a block: their numbers, their tokens and queries as one (rows, 1) for each axis, what is added to
    every rise of a row, and the slope of the bias."""

    i: Any
    own: Any
    query: Any
    floor: Any
    slope: Any


class PairTile(NamedTuple):
    """Constants of a kernel: dim, the block, what is special about the logits, and whether a device runs it."""

    D: int
    BM: int  # rows of a block
    BN: int  # lanes
    WIDE: int  # columns a lane
    UNROLL: int  # blocks of columns at a time
    SPAN: int  # columns between two reductions
    NEAR: bool
    BIASED: bool
    NATIVE: bool


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
def _others(columns, column, TILE: tl.constexpr, MASKED: tl.constexpr):
    """The tokens column .. column + BN WIDE - 1: for each axis the parts of one wide load."""
    D: tl.constexpr = TILE.D
    BN: tl.constexpr = TILE.BN
    WIDE: tl.constexpr = TILE.WIDE
    j = column + tl.arange(0, BN * WIDE)
    others = ()
    for a in tl.static_range(D):
        if MASKED:
            other = tl.load(columns.x + a * columns.stride + j, mask=j < columns.n, other=0.0)
        else:
            other = tl.load(columns.x + a * columns.stride + j)
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
def _rise(gaps, rows, j, TILE: tl.constexpr):
    """s_ii - s_ij + floor_i: |x_j - x_i|^2 for scaled tokens on the sphere, else <-u_i, x_j - x_i>, plus the bias."""
    D: tl.constexpr = TILE.D
    if TILE.NEAR:
        q = gaps[0] * gaps[0]
        for a in tl.static_range(1, D):
            q = tl.fma(gaps[a], gaps[a], q)
    else:
        q = tl.fma(rows.query[0], gaps[0], rows.floor)
        for a in tl.static_range(1, D):
            q = tl.fma(rows.query[a], gaps[a], q)
    if TILE.BIASED:
        q += rows.slope * tl.abs(rows.i[:, None] - j[None, :]).to(q.dtype)
    return q


@triton.jit
def _seen(i, j, n, sight):
    column = j[None, :]
    return (column >= i[:, None] - sight.back) & (column <= i[:, None] + sight.ahead) & (column < n)


@triton.jit
def tokens_of(columns, i, D: tl.constexpr):
    """The tokens i of a block, as (rows, 1) for each axis."""
    rows = ()
    for a in tl.static_range(D):
        rows = rows + (tl.load(columns.x + a * columns.stride + i, mask=i < columns.n, other=0.0)[:, None],)  # noqa: RUF005
    return rows


@triton.jit
def _stretches(first, n, sight, width, TILE: tl.constexpr):
    """Where a block of rows looks: [start, free) some rows, [free, held) all of them, [held, stop) some.

    All within the columns [split * width, (split + 1) * width) of this program; multiples of BN WIDE but for stop.
    """
    back, ahead = sight
    BM: tl.constexpr = TILE.BM
    BN: tl.constexpr = TILE.BN * TILE.WIDE
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
def sweep(columns, rows, sight, first, last, totals, TILE: tl.constexpr, MASKED: tl.constexpr):
    """Add the columns first .. last - 1 to the totals (z, p_1 .. p_d), each (rows,). MASKED: some rows do not see them
    all."""
    D: tl.constexpr = TILE.D
    BM: tl.constexpr = TILE.BM
    BN: tl.constexpr = TILE.BN
    WIDE: tl.constexpr = TILE.WIDE
    none = tl.zeros((BM, BN), columns.x.dtype.element_ty)
    lane = tl.arange(0, BN) * WIDE
    for begin in range(first, last, TILE.SPAN):
        sums = (none,)
        for _ in tl.static_range(D):
            sums = sums + (none,)  # noqa: RUF005
        for column in tl.range(begin, tl.minimum(begin + TILE.SPAN, last), BN * WIDE,
                               loop_unroll_factor=1 if MASKED else TILE.UNROLL):  # fmt: skip
            others = _others(columns, column, TILE, MASKED)
            for part in tl.static_range(WIDE):
                j = column + lane + part
                gaps = _gaps(others, part, rows.own, D)
                w = half_to(_rise(gaps, rows, j, TILE), TILE.NATIVE)
                if MASKED:
                    w = tl.where(_seen(rows.i, j, columns.n, sight), w, 0.0)
                more = (sums[0] + w,)
                for a in tl.static_range(D):
                    more = more + (tl.fma(w, gaps[a], sums[a + 1]),)  # noqa: RUF005
                sums = more
        added = ()
        for a in tl.static_range(D + 1):
            added = added + (totals[a] + tl.sum(sums[a], 1),)  # noqa: RUF005
        totals = added
    return totals


# 12 arguments: Triton makes a version of a kernel for the kind of each pointer and number at its launch.
@triton.jit
def _sums(x, u, tops, slope, out, n, stride, back, ahead, width, TILE: tl.constexpr, EDGES: tl.constexpr):
    """One block of rows against one split of the columns. Long rows first: what is left at the end is short.

    Columns that only some rows see, the EDGES, are a kernel apart: with both loops in one, the compiler takes tokens i
    out of the uniform registers.
    """
    block, run = tl.num_programs(0) - 1 - tl.program_id(0), tl.program_id(2).to(tl.int64)
    D: tl.constexpr = TILE.D
    BM: tl.constexpr = TILE.BM
    first = block * BM
    i = first + tl.arange(0, BM)
    x, u, tops = x + run * D * stride, u + run * D * stride, tops + run * stride
    columns, sight = TokenColumns(x, stride, n), VisibleRange(back, ahead)
    own, slope = tokens_of(columns, i, D), tl.load(slope)
    query, top = own, own[0]
    if not TILE.NEAR:
        query = tokens_of(TokenColumns(u, stride, n), i, D)
        top = tl.load(tops + i, mask=i < n, other=0.0)[:, None]
    rows = RowBlock(i, own, query, top, slope)
    start, free, held, stop = _stretches(first, n, sight, width, TILE)
    totals = (tl.zeros((BM,), x.dtype.element_ty),)
    for _ in tl.static_range(D):
        totals = totals + (tl.zeros((BM,), x.dtype.element_ty),)  # noqa: RUF005
    if EDGES:
        totals = sweep(columns, rows, sight, start, free, totals, TILE, True)
        totals = sweep(columns, rows, sight, held, stop, totals, TILE, True)
    else:
        totals = sweep(columns, rows, sight, free, held, totals, TILE, False)
    out += (tl.program_id(1).to(tl.int64) * tl.num_programs(2) + run) * (D + 1) * stride
    for a in tl.static_range(D + 1):
        tl.store(out + a * stride + i, totals[a], mask=i < n)


@triton.jit
def least_rise(columns, rows, sight, column, least, TILE: tl.constexpr, MASKED: tl.constexpr):
    """The least rise so far, for every row and lane."""
    D: tl.constexpr = TILE.D
    BN: tl.constexpr = TILE.BN
    WIDE: tl.constexpr = TILE.WIDE
    others = _others(columns, column, TILE, MASKED)
    for part in tl.static_range(WIDE):
        j = column + tl.arange(0, BN) * WIDE + part
        q = _rise(_gaps(others, part, rows.own, D), rows, j, TILE)
        if MASKED:
            q = tl.where(_seen(rows.i, j, columns.n, sight), q, 0.0)
        least = tl.minimum(least, q)
    return least


# 10 arguments: as for _sums.
@triton.jit
def _tops(x, u, slope, out, n, stride, back, ahead, width, TILE: tl.constexpr):
    """top_i: the largest s_ij - s_ii that row i sees, never below that of the token itself, 0."""
    block, run = tl.num_programs(0) - 1 - tl.program_id(0), tl.program_id(2).to(tl.int64)
    D: tl.constexpr = TILE.D
    BM: tl.constexpr = TILE.BM
    BN: tl.constexpr = TILE.BN
    first = block * BM
    i = first + tl.arange(0, BM)
    x, u = x + run * D * stride, u + run * D * stride
    columns, sight = TokenColumns(x, stride, n), VisibleRange(back, ahead)
    own, query, slope = tokens_of(columns, i, D), tokens_of(TokenColumns(u, stride, n), i, D), tl.load(slope)
    rows = RowBlock(i, own, query, 0.0, slope)
    start, free, held, stop = _stretches(first, n, sight, width, TILE)
    least = tl.zeros((BM, BN), x.dtype.element_ty)
    for column in range(start, free, BN * TILE.WIDE):
        least = least_rise(columns, rows, sight, column, least, TILE, True)
    for column in range(free, held, BN * TILE.WIDE):
        least = least_rise(columns, rows, sight, column, least, TILE, False)
    for column in range(held, stop, BN * TILE.WIDE):
        least = least_rise(columns, rows, sight, column, least, TILE, True)
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


def _splits(blocks: int, runs: int, n: int, reach: VisibleRange) -> int:
    """Into how many parts the columns are cut, so that few long rows keep the whole device busy too."""
    seen = min(n, reach.back + reach.ahead + 1)
    return max(1, min(-(-PROGRAMS // (blocks * runs)), -(-seen // LEAST), 64))


def sums_of_columns(
    x: Tensor, n: int, reach: VisibleRange, u: Tensor | None = None, slope: float = 0.0, **tile: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    """z (runs, n), p (runs, d, n) and top (runs, n) of tokens x as columns (runs, d, columns): see columns_of.

    Without u tokens are scaled so that s_ij - s_ii = -|x_i - x_j|^2, and top is None: it is 0. u are queries in units
    of log 2 with their sign turned, laid out like x; then the largest logit of each row is found first.
    """
    runs, d, stride = x.shape
    options = {**tile_for(d, x.dtype == torch.float64, u is None), **tile}
    block = {name: options.pop(name) for name in ("BM", "BN", "WIDE", "UNROLL")}
    constants = PairTile(D=d, SPAN=CHUNK, NEAR=u is None, BIASED=slope != 0.0, NATIVE=x.is_cuda, **block)
    blocks, columns = -(-n // block["BM"]), block["BN"] * block["WIDE"]
    width = -(-n // (_splits(blocks, runs, n, reach) * columns)) * columns
    splits, sight = -(-n // width), (min(reach.back, n), min(reach.ahead, n))
    tilt, tops = torch.full((), slope, dtype=x.dtype, device=x.device), None
    if u is not None:
        best = torch.empty((splits, runs, stride), dtype=x.dtype, device=x.device)
        _tops[(blocks, splits, runs)](x, u, tilt, best, n, stride, *sight, width, TILE=constants, **options)
        tops = best.amax(dim=0)
    out = torch.empty((splits + 1, runs, d + 1, stride), dtype=x.dtype, device=x.device)
    given = (x, x if u is None else u, x if tops is None else tops, tilt)
    _sums[(blocks, splits, runs)](
        *given, out[:splits], n, stride, *sight, width, TILE=constants, EDGES=False, **options
    )
    _sums[(blocks, 1, runs)](*given, out[splits:], n, stride, *sight, n, TILE=constants, EDGES=True, **options)
    whole = out.sum(dim=0)
    return whole[:, 0, :n], whole[:, 1:, :n], None if tops is None else tops[:, :n]
