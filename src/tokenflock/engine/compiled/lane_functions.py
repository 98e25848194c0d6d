"""What a user's function may do with registers: arithmetic with numbers, comparisons, choices, functions of numpy.

A comparison gives a register of truths, which counts as 1 and 0 in arithmetic. exp and what is made of it are computed
in registers; other functions are those of libm, lane by lane. The names are those of `Function.rewritten`.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, overload, register_model

from tokenflock.engine.compiled.lanes import Lanes, absolute, broadcast, constant, exp2, root, vector_of

LOG2E = math.log2(math.e)
ARITHMETIC = {operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul", operator.truediv: "fdiv"}
COMPARED = {
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}
JOINED = {operator.and_: "and_", operator.or_: "or_"}


class Truths(types.Type):
    """The numba type of a register of truths beside registers of an element."""

    def __init__(self, element: Any) -> None:
        self.element, self.count = element, Lanes(element).count
        super().__init__(name=f"Truths({element})")


@register_model(Truths)
class _TruthsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, truths: Truths) -> None:
        super().__init__(manager, truths, ir.VectorType(ir.IntType(1), truths.count))


def lanes_among(*kinds: Any) -> Any:
    """The type of register that an operation with these arguments has, or None if none of them is one."""
    wide = [kind for kind in kinds if isinstance(kind, Lanes | Truths)]
    fits = all(isinstance(kind, Lanes | Truths | types.Number | types.Boolean) for kind in kinds)
    return Lanes(wide[0].element) if wide and fits and len({kind.element for kind in wide}) == 1 else None


def _as_lanes(context: Any, builder: Any, lanes: Lanes, kind: Any, value: Any) -> Any:
    """Any argument as a register."""
    if isinstance(kind, Lanes):
        return value
    if isinstance(kind, Truths):
        return builder.select(value, constant(lanes, 1.0), constant(lanes, 0.0))
    return broadcast(builder, vector_of(lanes), context.cast(builder, value, kind, lanes.element))


KINDS = (Lanes, Truths, types.Number, types.Boolean)
PAIRS = [(a, b) for a in KINDS for b in KINDS if Lanes in (a, b) or Truths in (a, b)]


def _operator(symbol: Any, result: Any, build: Any) -> None:
    """Declare an operator of two registers, or of one and a number."""

    @infer_global(symbol)
    class _Operator(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) != 2 or (isinstance(args[0], Lanes) and args[0] == args[1] and symbol in ARITHMETIC):
                return None  # lanes.py has it
            lanes = lanes_among(*args)
            return None if lanes is None else signature(result(lanes), *args)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = lanes_among(*sig.args)
        return build(builder, *(_as_lanes(context, builder, lanes, k, v) for k, v in zip(sig.args, args, strict=True)))

    for pair in PAIRS:
        if not (pair == (Lanes, Lanes) and symbol in ARITHMETIC):
            lower_builtin(symbol, *pair)(lower)


for _symbol, _name in ARITHMETIC.items():
    _operator(_symbol, lambda lanes: lanes, lambda builder, a, b, name=_name: getattr(builder, name)(a, b))
for _symbol, _name in COMPARED.items():
    # != holds where one of the two is no number, as in Python; the others do not
    _operator(
        _symbol,
        lambda lanes: Truths(lanes.element),
        lambda builder, a, b, name=_name: (
            builder.fcmp_unordered(name, a, b) if name == "!=" else builder.fcmp_ordered(name, a, b)
        ),
    )


def _logical(symbol: Any, instruction: str) -> None:
    @infer_global(symbol)
    class _Logical(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) == 2 and isinstance(args[0], Truths) and args[0] == args[1]:
                return signature(args[0], *args)
            return None

    @lower_builtin(symbol, Truths, Truths)
    def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)


for _symbol, _name in JOINED.items():
    _logical(_symbol, _name)


@infer_global(operator.invert)
class _Inverse(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(args[0], *args) if isinstance(args[0], Truths) else None


@lower_builtin(operator.invert, Truths)
def _invert(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.not_(args[0])


@infer_global(operator.pos)
class _Positive(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(args[0], *args) if isinstance(args[0], Lanes) else None


@lower_builtin(operator.pos, Lanes)
def _keep(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return args[0]


@intrinsic
def chosen(typingctx, test, a, b):
    """a where the test holds, b elsewhere."""
    lanes = lanes_among(test, a, b)
    if not isinstance(test, Truths) or lanes is None:
        return None

    def codegen(context, builder, sig, args):
        first, second = (_as_lanes(context, builder, lanes, k, v) for k, v in zip(sig.args[1:], args[1:], strict=True))
        return builder.select(args[0], first, second)

    return lanes(test, a, b), codegen


def _extreme(symbol: str) -> Any:
    """An intrinsic: the larger or the smaller of two; what is no number stays none."""

    @intrinsic
    def extreme(typingctx, a, b):
        lanes = lanes_among(a, b)

        def codegen(context, builder, sig, args):
            x, y = (_as_lanes(context, builder, lanes, k, v) for k, v in zip(sig.args, args, strict=True))
            first = builder.or_(builder.fcmp_ordered(symbol, x, y), builder.fcmp_unordered("uno", x, x))
            return builder.select(first, x, y)

        return lanes(a, b), codegen

    return extreme


most, least = _extreme(">"), _extreme("<")


def _each(function: Any, arguments: int) -> Any:
    """An intrinsic: a function of numbers, lane by lane."""

    def typed(args):
        lanes = lanes_among(*args)
        if lanes is None:
            return None

        def codegen(context, builder, sig, given):
            element = lanes.element
            registers = [_as_lanes(context, builder, lanes, k, v) for k, v in zip(sig.args, given, strict=True)]
            made = ir.Constant(vector_of(lanes), ir.Undefined)
            kind = element(*[element] * len(registers))
            for k in range(lanes.count):
                at = ir.Constant(ir.IntType(32), k)
                numbers = [builder.extract_element(register, at) for register in registers]
                made = builder.insert_element(made, context.compile_internal(builder, function, kind, numbers), at)
            return made

        return lanes(*args), codegen

    if arguments == 1:
        return intrinsic(lambda typingctx, a: typed((a,)))
    return intrinsic(lambda typingctx, a, b: typed((a, b)))


def _functions() -> dict[str, Any]:
    """`np_...` for registers: stubs that numba finds overloads for, of registers and of plain numbers."""
    made: dict[str, Any] = {}
    for name in ONE:
        made[f"np_{name}"] = _of_one(name)
    for name in ("power", "arctan2"):
        made[f"np_{name}"] = _of_two(name)
    return made


def _stub(name: str) -> Any:
    def stub(*args: Any) -> Any:
        raise NotImplementedError(name)

    stub.__name__ = f"np_{name}"
    return stub


ONE = (
    "expm1",
    "log",
    "log1p",
    "log2",
    "floor",
    "tanh",
    "sinh",
    "cosh",
    "sin",
    "cos",
    "tan",
    "arctan",
    "arcsin",
    "arccos",
)
LIBM = {"arctan": math.atan, "arcsin": math.asin, "arccos": math.acos, "arctan2": math.atan2, "log2": np.log2}
LIBM |= {"floor": np.floor, "log": np.log, "log1p": np.log1p, "arcsin": np.arcsin, "arccos": np.arccos}


def _of_one(name: str) -> Any:
    function, stub = LIBM.get(name) or getattr(math, name), _stub(name)
    scalar: Any = lambda x: function(x)
    each = _each(scalar, 1)

    @overload(stub, strict=False)
    def _one(x):
        if isinstance(x, Lanes | Truths):
            return lambda x: each(x)
        return (lambda x: function(x)) if isinstance(x, types.Number) else None

    return stub


def _of_two(name: str) -> Any:
    function, stub = LIBM.get(name) or math.pow, _stub(name)
    scalar: Any = lambda x, y: function(x, y)
    each = _each(scalar, 2)

    @overload(stub, strict=False)
    def _two(x, y):
        if lanes_among(x, y) is not None:
            return lambda x, y: each(x, y)
        return lambda x, y: function(x, y)

    return stub


np_exp, np_exp2, np_abs, np_sqrt, np_square = (_stub(name) for name in ("exp", "exp2", "abs", "sqrt", "square"))
np_sign, np_isfinite, np_logical_not = (_stub(name) for name in ("sign", "isfinite", "logical_not"))
np_maximum, np_minimum = _stub("maximum"), _stub("minimum")
np_logical_and, np_logical_or, np_where, np_clip = (_stub(n) for n in ("logical_and", "logical_or", "where", "clip"))


def _power(factor: float) -> Any:
    """2^(factor x): inf where that is too large, and what is no number stays none. exp2 of lanes.py takes neither."""
    half = 0.5 * factor

    def power(x):
        most = 1000.0 if x.element.bitwidth == 64 else 120.0

        def found(x):
            r = exp2(least(x * half, most))  # the square of 2^1000 is inf
            return chosen(x != x, x, r * r)

        return found

    return power


_power_of_2, _power_of_e = _power(1.0), _power(LOG2E)


@overload(np_exp2, strict=False)
def _exp2(x):
    return _power_of_2(x) if isinstance(x, Lanes) else (lambda x: 2.0**x)


@overload(np_exp, strict=False)
def _exp(x):
    if isinstance(x, Truths):
        return lambda x: chosen(x, math.e, 1.0)
    return _power_of_e(x) if isinstance(x, Lanes) else (lambda x: math.exp(x))


@overload(np_abs, strict=False)
def _abs(x):
    return (lambda x: absolute(x)) if isinstance(x, Lanes) else (lambda x: abs(x))


@overload(np_sqrt, strict=False)
def _sqrt(x):
    return (lambda x: root(x)) if isinstance(x, Lanes) else (lambda x: math.sqrt(x))


@overload(np_square, strict=False)
def _square(x):
    return lambda x: x * x


@overload(np_sign, strict=False)
def _sign(x):
    return lambda x: np_where(x > 0, 1.0, np_where(x < 0, -1.0, x))


@overload(np_isfinite, strict=False)
def _isfinite(x):
    return (lambda x: absolute(x) < math.inf) if isinstance(x, Lanes) else (lambda x: math.isfinite(x))


@overload(np_maximum, strict=False)
def _maximum(x, y):
    if lanes_among(x, y) is None:
        return lambda x, y: max(x, y)
    return lambda x, y: most(x, y)


@overload(np_minimum, strict=False)
def _minimum(x, y):
    if lanes_among(x, y) is None:
        return lambda x, y: min(x, y)
    return lambda x, y: least(x, y)


@overload(np_clip, strict=False)
def _clip(x, low, high):
    return lambda x, low, high: np_minimum(np_maximum(x, low), high)


@overload(np_where, strict=False)
def _where(test, a, b):
    if isinstance(test, Truths):
        return lambda test, a, b: chosen(test, a, b)
    if lanes_among(test, a, b) is not None and isinstance(test, Lanes):
        return lambda test, a, b: chosen(test != 0.0, a, b)
    return lambda test, a, b: a if test else b


@overload(np_logical_and, strict=False)
def _and(x, y):
    return (lambda x, y: x & y) if isinstance(x, Truths) and x == y else (lambda x, y: (x != 0) & (y != 0))


@overload(np_logical_or, strict=False)
def _or(x, y):
    return (lambda x, y: x | y) if isinstance(x, Truths) and x == y else (lambda x, y: (x != 0) | (y != 0))


@overload(np_logical_not, strict=False)
def _not(x):
    if isinstance(x, Truths):
        return lambda x: ~x
    return (lambda x: x == 0.0) if isinstance(x, Lanes) else (lambda x: not x)


#: what functions of the user's find in compiled code
TABLE: dict[str, Any] = {
    f"np_{name}": globals()[f"np_{name}"]
    for name in (
        *("exp", "exp2", "abs", "sqrt", "square", "sign", "isfinite", "maximum", "minimum", "clip", "where"),
        *("logical_and", "logical_or", "logical_not"),
    )
} | _functions()
