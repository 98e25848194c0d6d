"""What a GPU can do at most: exponentials, multiply-adds, products and copies a second, each by a kernel of its own.

`overlap_sums` is an experiment beside them: the sums of engine/gpu_pairs.py without differences, with part of the
exponentials by a polynomial on the FMA units. It tells what differences cost; no engine uses it, since float32 runs
would drift.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl

THREADS, ROUNDS, DEEP = 1024, 256, 16


def seconds(call: Callable[[], object], repeats: int = 5) -> float:
    """The median of several calls by the clock of the device, after one to warm up."""
    call()
    torch.cuda.synchronize()
    taken = []
    for _ in range(repeats):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        call()
        last.record()
        torch.cuda.synchronize()
        taken.append(first.elapsed_time(last) * 1e-3)
    return sorted(taken)[len(taken) // 2]


@triton.jit
def _exp2(s):
    return tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [s], tl.float32, is_pure=True, pack=1)


@triton.jit
def _exponentials(out, rounds, DEEP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = i.to(tl.float32) * -1e-9
    for _ in range(rounds):
        for _ in tl.static_range(DEEP):
            v = _exp2(v)
    tl.store(out + i, v)


@triton.jit
def _multiply_adds(out, rounds, DEEP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = i.to(out.dtype.element_ty) * 1e-9
    for _ in range(rounds):
        for _ in tl.static_range(DEEP):
            v = v * v + 0.25
    tl.store(out + i, v)


def limits() -> dict[str, float]:
    """Operations a second of this device."""
    programs = 64 * torch.cuda.get_device_properties(0).multi_processor_count
    found = {}
    for name, kernel, dtype in (
        ("exponentials float32", _exponentials, torch.float32),
        ("multiply-adds float32", _multiply_adds, torch.float32),
        ("multiply-adds float64", _multiply_adds, torch.float64),
    ):
        out = torch.empty(programs * THREADS, dtype=dtype, device="cuda")
        taken = seconds(lambda k=kernel, o=out: k[(programs,)](o, ROUNDS, DEEP=DEEP, BLOCK=THREADS, num_warps=4))
        found[name] = programs * THREADS * ROUNDS * DEEP / taken
    a, b = torch.randn((2, 8192, 8192), device="cuda", dtype=torch.float16)
    found["float16 products (flop)"] = 2 * 8192**3 / seconds(lambda: a @ b)
    c, d = torch.randn((2, 8192, 8192), device="cuda")
    found["float32 products (flop)"] = 2 * 8192**3 / seconds(lambda: c @ d)
    source = torch.randn(2**29, device="cuda")
    target = torch.empty_like(source)
    found["bytes copied, read and written"] = 2 * source.numel() * 4 / seconds(lambda: target.copy_(source))
    return found


@triton.jit
def _polynomial(s):
    """2^s by the FMA units, 2^-126 below that."""
    s = tl.maximum(s, -126.0)
    raised = s + 12582912.0
    r = s - (raised - 12582912.0)
    p = tl.fma(r, 0.0013400428177615838, 0.009618056678524637)
    p = tl.fma(p, r, 0.05550327226670302)
    p = tl.fma(p, r, 0.24022650922288757)
    p = tl.fma(p, r, 0.6931472067028326)
    p = tl.fma(p, r, 1.0)
    return (p.to(tl.int32, bitcast=True) + (raised.to(tl.int32, bitcast=True) << 23)).to(tl.float32, bitcast=True)


@triton.jit
def overlap_sums(
    x, out, scale, n, stride,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, UNROLL: tl.constexpr, BY_POLYNOMIAL: tl.constexpr,
):  # fmt: skip
    """sum_j w_ij and sum_j w_ij x_j over j <= i, w = 2^(scale (<x_i, x_j> - 1)), for n a multiple of BM and BN UNROLL.

    BY_POLYNOMIAL of every UNROLL tiles have their exponentials from the FMA units. Tiles on the diagonal are left out:
    they change nothing in the speed.
    """
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    i, lane = block * BM + tl.arange(0, BM), tl.arange(0, BN)
    scale = tl.load(scale)
    query, sums = (), (tl.zeros((BM, BN), tl.float32),)
    for a in tl.static_range(D):
        query = query + (tl.load(x + a * stride + i)[:, None] * scale,)  # noqa: RUF005
        sums = sums + (tl.zeros((BM, BN), tl.float32),)  # noqa: RUF005
    for column in range(0, block * BM // (BN * UNROLL) * (BN * UNROLL), BN * UNROLL):
        for k in tl.static_range(UNROLL):
            others, s = (), tl.zeros((BM, BN), tl.float32) - scale
            for a in tl.static_range(D):
                other = tl.load(x + a * stride + column + k * BN + lane)[None, :]
                others = others + (other,)  # noqa: RUF005
                s = tl.fma(query[a], other, s)
            if k < BY_POLYNOMIAL:
                w = _polynomial(s)
            else:
                w = _exp2(s)
            more = (sums[0] + w,)
            for a in tl.static_range(D):
                more = more + (tl.fma(w, others[a], sums[a + 1]),)  # noqa: RUF005
            sums = more
    for a in tl.static_range(D + 1):
        tl.store(out + a * stride + i, tl.sum(sums[a], 1))
