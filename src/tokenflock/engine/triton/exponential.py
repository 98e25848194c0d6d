"""2^s on a GPU, for s <= 0: the special-function unit for float32, a polynomial on the FMA units for float64."""

from __future__ import annotations

import triton
import triton.language as tl

# The coefficients and the trick of engine/compiled/lanes.py: adding 1.5 * 2^52 leaves the nearest integer in the low
# bits, and shifting these into the exponent field multiplies by that power of two.
RAISE = tl.constexpr(6755399441055744.0)
HIGH_OF_MOST = tl.constexpr(1083174912)  # the upper half of the bits of 1022.0, as an integer


@triton.jit
def half_to(q, NATIVE: tl.constexpr):
    """2^-q for q >= 0, exactly 0 below the smallest normal number. NATIVE: on a device, not in the interpreter."""
    if q.dtype == tl.float64:
        return _double(q)
    elif NATIVE:
        # The sign is part of the instruction, and flushing what is no normal number saves the scaling around it.
        return tl.inline_asm_elementwise(
            "{ .reg .f32 s; neg.f32 s, $1; ex2.approx.ftz.f32 $0, s; }", "=f,f", [q], tl.float32, is_pure=True, pack=1
        )
    else:
        return tl.exp2(-q)


@triton.jit
def _double(q):
    raised = RAISE - q
    r = (RAISE - raised) - q
    # Not tl.fma: it takes its constants as float32. These products and sums are fused by the compiler.
    p = r * 7.072585949269223e-09 + 1.0208690299958306e-07
    p = p * r + 1.321544258792169e-06
    p = p * r + 1.5252657260200837e-05
    p = p * r + 0.0001540353044173605
    p = p * r + 0.0013333558230164974
    p = p * r + 0.009618129107606888
    p = p * r + 0.05550410866444772
    p = p * r + 0.24022650695910097
    p = p * r + 0.69314718055995
    p = p * r + 1.0
    power = raised.to(tl.int64, bitcast=True) << 52
    w = (p.to(tl.int64, bitcast=True) + power).to(tl.float64, bitcast=True)
    # Integers compare on units that float64 leaves idle.
    high = (q.to(tl.int64, bitcast=True) >> 32).to(tl.int32)
    return tl.where(high > HIGH_OF_MOST, 0.0, w)
