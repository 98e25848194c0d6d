"""Experiment: the sums of engine/gpu_pairs.py for d = 2 to 4 with exponents and differences from the tensor cores.

    python benchmarks/gpu_tensor.py              times, errors and bits of every variant, on a CUDA device

For each pair the scalar kernel issues d differences, d products for the exponent and d for the sums. Here every token
is a row of 16 float16 numbers, its coordinates cut into exact parts, and d + 1 products of such rows with K = 16 give

    s_ij = b (<x_i, x_j> - <x_i, x_i>) / log 2     and     x_j - x_i, axis by axis,

in float32. What is left for a pair is one exponential, one addition and d multiply-adds. A difference is a sum of parts
that cancel exactly, so tokens that have met still do not pull each other. benchmarks/gpu_slots.py counts instructions.

No engine uses it: it has run in Triton's interpreter and through the compiler, and not yet on a device.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from gpu_limits import limits, polynomial, seconds
from tokenflock.engine.gpu_pairs import Reach, _seen, _splits, _stretches

LOG2E = 1.0 / math.log(2.0)
SCALE = 16.0  # of the coordinates: a power of 2 that keeps their last bits within float16
SPAN = 4096  # columns between two reductions: 512 terms a sum
# Parts of a coordinate of x_j, in the order of K. Small letters are high, middle and low part, met by the high part of
# b x_i (and by 1 in a difference); capital ones are repeated for its low part. 16 numbers have room for no more.
PARTS = {2: "hmlHM", 3: "hmlH", 4: "hmH"}
MOST_BETA = 4e4  # b / log 2 must be a float16
TILE = {"BM": 64, "BN": 64, "POLY": 0, "STAGES": 3, "num_warps": 4}


@triton.jit
def _power(s, NATIVE: tl.constexpr):
    """2^s by the special-function unit."""
    if NATIVE:
        return tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [s], tl.float32, is_pure=True, pack=1)
    else:
        return tl.exp2(s)


@triton.jit
def _halves(t, BM: tl.constexpr, N: tl.constexpr):
    """Left and right columns."""
    return tl.split(tl.permute(tl.reshape(t, (BM, 2, N // 2)), (0, 2, 1)))


@triton.jit
def _eighths(t, BM: tl.constexpr, BN: tl.constexpr):
    """Eight parts of the columns. Each lies in registers of its own, so that this is no instruction at all."""
    a, b = tl.split(tl.reshape(t, (BM, BN // 2, 2)))
    a, c = _halves(a, BM, BN // 2)
    b, d = _halves(b, BM, BN // 2)
    a0, a1 = _halves(a, BM, BN // 4)
    b0, b1 = _halves(b, BM, BN // 4)
    c0, c1 = _halves(c, BM, BN // 4)
    d0, d1 = _halves(d, BM, BN // 4)
    return (a0, a1, b0, b1, c0, c1, d0, d1)


@triton.jit
def _sweep(
    cols, rows, i, first, last, n, back, ahead, totals,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, SPAN: tl.constexpr, MASKED: tl.constexpr,
    NATIVE: tl.constexpr, POLY: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Add the columns first .. last - 1 to the totals (z, p_1 .. p_d), each (rows,)."""
    none = tl.zeros((BM, BN // 8), tl.float32)
    lane, k = tl.arange(0, BN), tl.arange(0, 16)
    for begin in range(first, last, SPAN):
        sums = (none,)
        for _ in tl.static_range(D):
            sums = sums + (none,)  # noqa: RUF005
        for column in tl.range(begin, tl.minimum(begin + SPAN, last), BN, num_stages=STAGES):
            j = column + lane
            others = tl.load(cols + j[None, :] * 16 + k[:, None])
            s = tl.dot(rows[0], others, out_dtype=tl.float32)
            if MASKED:
                s = tl.where(_seen(i, j, n, back, ahead), s, -1000.0)
            exponents, weights, z = _eighths(s, BM, BN), (), sums[0]
            for part in tl.static_range(8):
                if part < POLY:
                    w = polynomial(exponents[part])
                else:
                    w = _power(exponents[part], NATIVE)
                weights = weights + (w,)  # noqa: RUF005
                z += w
            more = (z,)
            for a in tl.static_range(D):
                gaps = _eighths(tl.dot(rows[a + 1], others, out_dtype=tl.float32), BM, BN)
                p = sums[a + 1]
                for part in tl.static_range(8):
                    p = tl.fma(weights[part], gaps[part], p)
                more = more + (p,)  # noqa: RUF005
            sums = more
        added = ()
        for a in tl.static_range(D + 1):
            added = added + (totals[a] + tl.sum(sums[a], 1),)  # noqa: RUF005
        totals = added
    return totals


@triton.jit
def _sums(
    cols, tokens, out, n, stride, back, ahead, width,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, SPAN: tl.constexpr,
    NATIVE: tl.constexpr, POLY: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """One block of rows against one split of the columns, long rows first. POLY of 8 exponentials by polynomial."""
    block, run = tl.num_programs(0) - 1 - tl.program_id(0), tl.program_id(2).to(tl.int64)
    first = block * BM
    i, k = first + tl.arange(0, BM), tl.arange(0, 16)
    cols, tokens = cols + run * stride * 16, tokens + run * stride * (D + 1) * 16
    rows, totals = (), ()
    for a in tl.static_range(D + 1):
        rows = rows + (tl.load(tokens + (i[:, None] * (D + 1) + a) * 16 + k[None, :]),)  # noqa: RUF005
        totals = totals + (tl.zeros((BM,), tl.float32),)  # noqa: RUF005
    start, free, held, stop = _stretches(first, n, back, ahead, width, BM, BN)
    # Masked weights must be exactly 0: no polynomial there.
    totals = _sweep(cols, rows, i, start, free, n, back, ahead, totals, D, BM, BN, SPAN, True, NATIVE, 0, 1)
    totals = _sweep(cols, rows, i, free, held, n, back, ahead, totals, D, BM, BN, SPAN, False, NATIVE, POLY, STAGES)
    totals = _sweep(cols, rows, i, held, stop, n, back, ahead, totals, D, BM, BN, SPAN, True, NATIVE, 0, 1)
    out += (tl.program_id(1).to(tl.int64) * tl.num_programs(2) + run) * (D + 1) * stride
    for a in tl.static_range(D + 1):
        tl.store(out + a * stride + i, totals[a], mask=i < n)


def parts_of(v: Tensor, count: int) -> list[Tensor]:
    """v as a sum of float16 numbers, each the nearest to what is left. The last may be rounded."""
    found = []
    for _ in range(count):
        found.append(v.half())
        v = v - found[-1].to(v.dtype)
    return found


def table_of(d: int) -> tuple[list[int], list[int]]:
    """Which of the numbers of a token (see laid_out) stand where: 16 for a column, (d + 1) * 16 for the rows."""
    letters = PARTS[d]
    high, middle, low, u, bound, one, none, minus = 0, d, 2 * d, 3 * d, 5 * d, 5 * d + 3, 5 * d + 4, 5 * d + 5
    place = {"h": high, "m": middle, "l": low, "H": high, "M": middle}
    column, rows = [none] * 16, [[none] * 16 for _ in range(d + 1)]
    end = d * len(letters)
    for a in range(d):
        for at, letter in enumerate(letters, start=a * len(letters)):
            column[at] = place[letter] + a
            rows[0][at] = u + (d if letter.isupper() else 0) + a
            rows[a + 1][at] = none if letter.isupper() else one
        for part in range(3 if "l" in letters else 2):
            rows[a + 1][end + part] = minus + part * d + a
    for part in range(3):
        column[end + part], rows[0][end + part] = one, bound + part
    return column, [index for row in rows for index in row]


def laid_out(x: Tensor, b: float) -> tuple[Tensor, Tensor]:
    """Tokens x (runs, n, d) as columns (runs, stride, 16) and rows (runs, stride, d + 1, 16), stride 128 k >= n."""
    runs, n, d = x.shape
    wide = torch.zeros((runs, -(-n // 128) * 128, d), dtype=torch.float64, device=x.device)
    wide[:, :n] = x
    parts = parts_of(wide * SCALE, 3)
    query = parts_of(wide * (b * LOG2E / SCALE), 2)
    bound = parts_of((wide * wide).sum(dim=-1, keepdim=True) * (-b * LOG2E), 3)
    one = torch.ones_like(bound[0])
    numbers = torch.cat([*parts, *query, *bound, one, 0 * one, *(-p for p in parts)], dim=-1)
    column, rows = (torch.tensor(t, device=x.device) for t in table_of(d))
    return numbers[..., column].contiguous(), numbers[..., rows].unflatten(-1, (d + 1, 16)).contiguous()


def tensor_sums(x: Tensor, b: float, reach: Reach, **tile: int) -> tuple[Tensor, Tensor]:
    """z (runs, n) and p (runs, d, n) of float32 tokens x (runs, n, d) on the sphere, w_ij = exp(b <x_i, x_j - x_i>)."""
    runs, n, d = x.shape
    if b * LOG2E > MOST_BETA:
        raise ValueError(f"b = {b:g} is too large for float16. Allowed: up to {MOST_BETA / LOG2E:.0f}.")
    tile = TILE | tile
    cols, rows = laid_out(x, b)
    stride, blocks = cols.shape[1], -(-n // tile["BM"])
    width = -(-n // (_splits(blocks, runs, n, reach) * tile["BN"])) * tile["BN"]
    grid = (blocks, -(-n // width), runs)
    out = torch.empty((grid[1], runs, d + 1, stride), dtype=torch.float32, device=x.device)
    _sums[grid](cols, rows, out, n, stride, min(reach.back, n), min(reach.ahead, n), width,
                D=d, SPAN=SPAN, NATIVE=x.is_cuda, **tile)  # fmt: skip
    whole = out[0] if grid[1] == 1 else out.sum(dim=0)
    return whole[:, 0, :n], whole[:, 1:, :n] / SCALE


VARIANTS = {
    2: ({}, {"maxnreg": 128}, {"POLY": 1}, {"maxnreg": 128, "POLY": 1}, {"BN": 128}, {"BN": 128, "POLY": 1}),
    3: ({}, {"maxnreg": 168}, {"POLY": 1}),
    4: ({}, {"maxnreg": 168}),
}
DEPTHS = ({"STAGES": 2}, {"STAGES": 4})  # of the copies to shared memory: the same loop


def main() -> None:
    """Every variant: pairs a second, error of the pull, and whether two calls give the same bits."""
    from gpu import BETA, definition, tokens

    print(f"exponentials float32 {limits()['exponentials float32']:.3e} /s", flush=True)
    for d, n in ((2, 2**19), (3, 2**18), (4, 2**18)):
        x, rows = tokens(n, d, torch.float32), [1, n // 3, n - 1]
        expected, reach = definition(x, BETA, rows), Reach(n, 0)
        for tile in (*VARIANTS[d], *DEPTHS):
            try:
                z, p = tensor_sums(x, BETA, reach, **tile)
                same = torch.equal(p, tensor_sums(x, BETA, reach, **tile)[1])
                taken = seconds(lambda x=x, r=reach, t=tile: tensor_sums(x, BETA, r, **t), repeats=3)
            except Exception as reason:  # a variant that does not fit is a row that says so
                print(f"d={d} {tile} failed: {str(reason).splitlines()[0][:100]}", flush=True)
                continue
            error = ((p / z[:, None])[0].T[rows] - expected).abs().max() / expected.abs().max()
            rate = n * (n + 1) / 2 / taken
            print(f"d={d} n={n} {tile} {rate:.3e} pairs/s  error {error:.1e}  same bits {same}", flush=True)


if __name__ == "__main__":
    main()
