"""Vector registers in numba: a Lanes value is 64 bytes of numbers, 8 float64 or 16 float32, kept in one register.

Why by hand: LLVM's own vectoriser uses half-width registers on some CPUs, leaves ragged row ends scalar, and calls a
scalar exp. With explicit lanes the kernels reach the speed of hand-written AVX-512 C, and the bits of a sum
depend on the code alone, not on how a loop happened to be unrolled. On CPUs with shorter registers LLVM splits them.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

BYTES = 64
PAD = 32  # token arrays are padded to this many columns: two registers of float32

# 2^r on [-1/2, 1/2]: the polynomial through the Chebyshev points, relative error 2e-16 and 1e-8, below rounding.
_EXP2_64 = (
    1.0,
    0.69314718055995,
    0.24022650695910097,
    0.05550410866444772,
    0.009618129107606888,
    0.0013333558230164974,
    0.0001540353044173605,
    1.5252657260200837e-05,
    1.321544258792169e-06,
    1.0208690299958306e-07,
    7.072585949269223e-09,
)
_EXP2_32 = (
    1.0,
    0.6931472067028326,
    0.24022650922288757,
    0.05550327226670302,
    0.009618056678524637,
    0.0013400428177615838,
    0.0001546144469856913,
)


class Lanes(types.Type):
    """The numba type of a register of float64 or float32."""

    def __init__(self, element: Any) -> None:
        self.element = element
        self.count = BYTES * 8 // element.bitwidth
        super().__init__(name=f"Lanes({element})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        super().__init__(manager, lanes, vector_of(lanes))


def vector_of(lanes: Lanes) -> ir.VectorType:
    return ir.VectorType(ir.DoubleType() if lanes.element.bitwidth == 64 else ir.FloatType(), lanes.count)


def constant(lanes: Lanes, value: float) -> ir.Constant:
    return ir.Constant(vector_of(lanes), [value] * lanes.count)


def broadcast(builder: Any, vector: ir.VectorType, scalar: Any) -> Any:
    index = ir.IntType(32)
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, scalar, ir.Constant(index, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(index, vector.count), [0] * vector.count))


def _call(builder: Any, name: str, vector: ir.VectorType, *arguments: Any) -> Any:
    suffix = f"v{vector.count}f{64 if isinstance(vector.element, ir.DoubleType) else 32}"
    kind = ir.FunctionType(vector, [vector] * len(arguments))
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.{suffix}"), arguments)


def _operator(symbol: Any, instruction: str) -> None:
    @infer_global(symbol)
    class _Template(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) == 2 and isinstance(args[0], Lanes) and args[0] == args[1]:
                return signature(args[0], *args)
            return None

    @lower_builtin(symbol, Lanes, Lanes)
    def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


@infer_global(operator.neg)
class _Negative(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(args[0], *args) if isinstance(args[0], Lanes) else None


@lower_builtin(operator.neg, Lanes)
def _negate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fneg(args[0])


def _pointer(context: Any, builder: Any, kind: Any, array: Any, row: Any, column: Any) -> Any:
    view = context.make_array(kind)(context, builder, array)
    item = cgutils.get_item_pointer(context, builder, kind, view, [row, column], wraparound=False)
    return builder.bitcast(item, vector_of(Lanes(kind.dtype)).as_pointer())


@intrinsic
def width(typingctx, array):
    """Number of lanes for an array's dtype, a constant."""
    count = Lanes(array.dtype).count

    def codegen(context, builder, sig, args):
        return ir.Constant(ir.IntType(64), count)

    return types.intp(array), codegen


@intrinsic
def splat(typingctx, x):
    """The same number in every lane."""
    lanes = Lanes(x)

    def codegen(context, builder, sig, args):
        return broadcast(builder, vector_of(lanes), args[0])

    return lanes(x), codegen


@intrinsic
def load(typingctx, array, row, column):
    """array[row, column : column + width]; rows must be contiguous."""
    lanes = Lanes(array.dtype)

    def codegen(context, builder, sig, args):
        return builder.load(_pointer(context, builder, sig.args[0], *args), align=array.dtype.bitwidth // 8)

    return lanes(array, types.intp, types.intp), codegen


@intrinsic
def store(typingctx, array, row, column, lanes):
    """array[row, column : column + width] = lanes."""

    def codegen(context, builder, sig, args):
        target = _pointer(context, builder, sig.args[0], *args[:3])
        builder.store(args[3], target, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, lanes), codegen


@intrinsic
def fma(typingctx, a, b, c):
    """a b + c, fused where the CPU can."""

    def codegen(context, builder, sig, args):
        return _call(builder, "fmuladd", vector_of(a), *args)

    return a(a, a, a), codegen


@intrinsic
def root(typingctx, a):
    """The square root, lane by lane."""

    def codegen(context, builder, sig, args):
        return _call(builder, "sqrt", vector_of(a), *args)

    return a(a), codegen


@intrinsic
def larger(typingctx, a, b):
    """The larger of two, lane by lane."""

    def codegen(context, builder, sig, args):
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return a(a, a), codegen


@intrinsic
def absolute(typingctx, a):
    """|a|, lane by lane."""

    def codegen(context, builder, sig, args):
        return _call(builder, "fabs", vector_of(a), *args)

    return a(a), codegen


@intrinsic
def indices(typingctx, first):
    """first, first + 1, ... as numbers of the dtype of `first`."""
    lanes = Lanes(first)

    def codegen(context, builder, sig, args):
        steps = ir.Constant(vector_of(lanes), [float(k) for k in range(lanes.count)])
        return builder.fadd(broadcast(builder, vector_of(lanes), args[0]), steps)

    return lanes(first), codegen


@intrinsic
def within(typingctx, w, other, j, lo, hi):
    """w in the lanes with lo <= j < hi, `other` in the rest."""

    def codegen(context, builder, sig, args):
        w_, other_, j_, lo_, hi_ = args
        inside = builder.and_(builder.fcmp_ordered(">=", j_, lo_), builder.fcmp_ordered("<", j_, hi_))
        return builder.select(inside, w_, other_)

    return w(w, w, w, w, w), codegen


@intrinsic
def at_least(typingctx, a, level):
    """1 in the lanes with a >= level, 0 in the rest."""

    def codegen(context, builder, sig, args):
        return builder.select(builder.fcmp_ordered(">=", *args), constant(a, 1.0), constant(a, 0.0))

    return a(a, a), codegen


def _shuffled(builder, a, b, order):
    """Lanes of two registers, those of b counted on from those of a."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(order)), order))


def _chosen(bit):
    """An intrinsic (a, b): a in the lanes whose number has this bit, b in the rest."""

    @intrinsic
    def chosen(typingctx, a, b):
        def codegen(context, builder, sig, args):
            return _shuffled(builder, *args, [k if k & bit else a.count + k for k in range(a.count)])

        return a(a, b), codegen

    return chosen


chosen_1, chosen_2, chosen_4 = _chosen(1), _chosen(2), _chosen(4)


@intrinsic
def shifted(typingctx, a, b):
    """The last lane of a, then the lanes of b but its last."""

    def codegen(context, builder, sig, args):
        return _shuffled(builder, *args, [a.count - 1 + k for k in range(a.count)])

    return a(a, b), codegen


@intrinsic
def totals(typingctx, a, b, c, d, e, f, g, h):
    """Lane k: the sum of the lanes of the k-th of eight registers of float64."""

    def joined(builder, p, q, step):
        # Lanes of p and q in turn, step at a time: each with its neighbour added.
        low = [k + 8 - step if k & step else k for k in range(8)]
        return builder.fadd(_shuffled(builder, p, q, low), _shuffled(builder, p, q, [k + step for k in low]))

    def codegen(context, builder, sig, args):
        parts, step = list(args), 1
        while len(parts) > 1:
            parts = [joined(builder, parts[k], parts[k + 1], step) for k in range(0, len(parts), 2)]
            step *= 2
        return parts[0]

    return a(a, b, c, d, e, f, g, h), codegen


def _reduced(builder, lanes, register, join):
    """The lanes of a register joined two by two, always in the same tree order."""
    parts = [builder.extract_element(register, ir.Constant(ir.IntType(32), k)) for k in range(lanes.count)]
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [join(parts[k], parts[k + half]) for k in range(half)]
    return parts[0]


@intrinsic
def total(typingctx, a):
    """Sum of the lanes."""

    def codegen(context, builder, sig, args):
        return _reduced(builder, a, args[0], builder.fadd)

    return a.element(a), codegen


@intrinsic
def peak(typingctx, a):
    """Largest of the lanes."""

    def codegen(context, builder, sig, args):
        return _reduced(builder, a, args[0], lambda p, q: builder.select(builder.fcmp_ordered(">", p, q), p, q))

    return a.element(a), codegen


@intrinsic
def exp2(typingctx, a):
    """2^a for a <= 1000; exactly 0 below the smallest normal number."""

    def codegen(context, builder, sig, args):
        vector, x = vector_of(a), args[0]
        if a.element.bitwidth == 64:
            magic, poly, shift, lowest, integer = 1.5 * 2.0**52, _EXP2_64, 52, -1022.0, ir.IntType(64)
        else:
            magic, poly, shift, lowest, integer = 1.5 * 2.0**23, _EXP2_32, 23, -126.0, ir.IntType(32)
        integers = ir.VectorType(integer, a.count)
        # Adding 1.5 * 2^52 leaves the nearest integer k in the low bits: r = x - k is in [-1/2, 1/2], and shifting
        # the low bits into the exponent field of 2^r multiplies it by 2^k.
        raised = builder.fadd(x, constant(a, magic))
        r = builder.fsub(x, builder.fsub(raised, constant(a, magic)))
        p = constant(a, poly[-1])
        for c in poly[-2::-1]:
            p = _call(builder, "fmuladd", vector, p, r, constant(a, c))
        k = builder.shl(builder.bitcast(raised, integers), ir.Constant(integers, [shift] * a.count))
        power = builder.bitcast(builder.add(builder.bitcast(p, integers), k), vector)
        normal = builder.fcmp_ordered(">=", x, constant(a, lowest))
        return builder.select(normal, power, constant(a, 0.0))

    return a(a), codegen


@intrinsic
def lanes_of(typingctx, a, b, c, d, e, f, g, h):
    """Eight numbers in one register."""
    lanes = Lanes(a)

    def codegen(context, builder, sig, args):
        register = ir.Constant(vector_of(lanes), ir.Undefined)
        for k, value in enumerate(args):
            register = builder.insert_element(register, value, ir.Constant(ir.IntType(32), k))
        return register

    return lanes(a, b, c, d, e, f, g, h), codegen


@intrinsic
def noinline(typingctx):
    """Keep this kernel a function of its own: inlined twice, its bits could differ between callers."""

    def codegen(context, builder, sig, args):
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen
