"""The language of functions that a user gives: names they take, what a file may bring, how they are rewritten.

A function is *plain* if nothing in it but arithmetic, comparisons, choices and the functions below can run: it reaches
no file and no other program. So a file, a run.toml or the command line may bring its source, whoever wrote them.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from threading import RLock
from typing import Any

import numpy as np

from tokenflock.errors import SpecError

#: functions of numpy that every way to run a function has, in numpy and in torch
ELEMENTWISE = (
    *("exp", "exp2", "expm1", "log", "log1p", "log2", "sqrt", "abs", "sign", "floor", "tanh", "sinh", "cosh", "sin"),
    *("cos", "tan", "arctan", "arcsin", "arccos", "square", "maximum", "minimum", "where", "power", "arctan2", "clip"),
    *("logical_and", "logical_or", "logical_not", "isfinite"),
)
#: those that see all tokens at once: for forces and velocities, not for the weight of one pair
WHOLE = ("sum", "mean", "max", "min", "stack", "concatenate", "zeros_like", "ones_like", "cross", "roll", "array")
FUNCTIONS = frozenset({*ELEMENTWISE, *WHOLE})
#: other names of the same functions, those of module math among them
SAME = {"fabs": "abs", "absolute": "abs", "pow": "power", "atan": "arctan", "asin": "arcsin", "acos": "arccos"}
SAME |= {"atan2": "arctan2", "amax": "max", "amin": "min"}
CONSTANTS = {name: float(getattr(math, name)) for name in ("pi", "e", "inf", "nan")}
MODULES = ("numpy", "math")
#: what Python has of its own
BUILTINS = ("abs", "max", "min", "pow", "len", "range", "float", "int", "round")
METHODS = ("sum", "mean", "max", "min", "dot", "copy", "reshape", "clip")
ATTRIBUTES = ("T", "mT", "shape", "size", "ndim")
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Mod, ast.FloorDiv, ast.MatMult)
HARMLESS = (
    *(ast.Lambda, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign, ast.Expr, ast.Name),
    *(ast.Load, ast.Store, ast.Constant, ast.BinOp, ast.UnaryOp, ast.USub, ast.UAdd, ast.Not, ast.Invert, ast.BoolOp),
    *(ast.And, ast.Or, ast.BitAnd, ast.BitOr, ast.Compare, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
    *(
        ast.IfExp,
        ast.Call,
        ast.keyword,
        ast.Attribute,
        ast.Subscript,
        ast.Slice,
        ast.Tuple,
        ast.List,
        ast.Is,
        ast.IsNot,
    ),
    *ARITHMETIC,
)
MOST_WHOLE = 10**6  # whole numbers as large as a text may have them: powers of larger ones fill a machine's memory
MOST_LETTERS = 4000  # of a source from a file: deeper nesting breaks Python's own parser

PARSER = RLock()  # Python 3.11 keeps the depth of its parser for all threads, and fails where two parse at once

Node = ast.Lambda | ast.FunctionDef


def tree_of(source: str, mode: str = "exec") -> Any:
    """What Python reads in a source; threads take turns."""
    with PARSER:
        return ast.parse(source, mode=mode)


def parsed(source: str) -> Node:
    """The function that a source holds: one `def`, one `lambda`."""
    body = tree_of(source).body
    if len(body) == 1 and isinstance(body[0], ast.FunctionDef):
        return body[0]
    if len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Lambda):
        return body[0].value
    raise SyntaxError("neither a lambda nor a def")


def parameters(node: Node) -> tuple[str, ...]:
    """The names of its arguments."""
    return tuple(arg.arg for arg in (*node.args.posonlyargs, *node.args.args))


def free_names(node: Node) -> list[str]:
    """The names that it takes from around it, in the order of its text; Python's own are left out where it has them."""
    own = {arg.arg for arg in ast.walk(node) if isinstance(arg, ast.arg)}
    own |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
    inside = [*node.body] if isinstance(node, ast.FunctionDef) else [node.body]
    taken = [name.id for part in inside for name in ast.walk(part) if isinstance(name, ast.Name)]
    return [name for name in dict.fromkeys(taken) if name not in own]


def is_builtin(name: str) -> bool:
    """Whether Python has a name of its own, which a function may use."""
    return hasattr(builtins, name)


def why_not_plain(node: Node, names: Mapping[str, Any]) -> str:
    """What in a function is not plain, in a few words, or nothing. names: what it takes from around it."""
    return next(_objections(node, names), "")


def _objections(node: Node, names: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef) and node.decorator_list:
        yield "a decorator"
    arguments = node.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        yield "arguments with defaults or stars"
    own = {arg.arg for arg in ast.walk(node) if isinstance(arg, ast.arg)}
    own |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
    inside = [*node.body] if isinstance(node, ast.FunctionDef) else [node.body]
    for part in (one for whole in inside for one in ast.walk(whole)):
        if not isinstance(part, HARMLESS):
            yield _spoken(part)
        elif isinstance(part, ast.Name) and part.id not in own and part.id not in names and part.id not in BUILTINS:
            yield f"the name {part.id}"
        elif isinstance(part, ast.Attribute):
            yield from _attribute(part, names)
        elif isinstance(part, ast.Constant):
            yield from _constant(part)
        elif isinstance(part, ast.Call) and not isinstance(part.func, ast.Name | ast.Attribute):
            yield "a call of what is no name"
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.Pow) and _whole(part.left) and _whole(part.right):
            yield "a power of whole numbers"


def _whole(node: ast.AST) -> bool:
    """Whether an expression has no names and no fractions in it: it may grow without end."""
    return not any(
        isinstance(one, ast.Name) or (isinstance(one, ast.Constant) and isinstance(one.value, float))
        for one in ast.walk(node)
    )


def _spoken(node: ast.AST) -> str:
    words = {ast.For: "a loop", ast.While: "a loop", ast.If: "an if", ast.Import: "an import", ast.Lambda: "a lambda"}
    return words.get(type(node), type(node).__name__.lower())


def _attribute(node: ast.Attribute, names: Mapping[str, Any]) -> Iterator[str]:
    module = names.get(node.value.id) if isinstance(node.value, ast.Name) else None
    if isinstance(module, str):
        if canonical(node.attr) is None and node.attr not in CONSTANTS:
            yield f"{ast.unparse(node)}"
    elif node.attr not in METHODS and node.attr not in ATTRIBUTES:
        yield f".{node.attr}"


def _constant(node: ast.Constant) -> Iterator[str]:
    if isinstance(node.value, str) or not isinstance(node.value, bool | int | float | None):
        yield "a text"
    elif isinstance(node.value, int) and abs(node.value) > MOST_WHOLE:
        yield f"a whole number above {MOST_WHOLE}"


def canonical(name: str) -> str | None:
    """The name of FUNCTIONS for a function of numpy or math, or None."""
    name = SAME.get(name, name)
    return name if name in FUNCTIONS else None


def without_words(node: Node) -> Node:
    """The function less its docstring."""
    body = node.body
    if isinstance(node, ast.FunctionDef) and isinstance(body, list) and len(body) > 1:
        first = body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            node.body = body[1:]
    return node


class Rewriter(ast.NodeTransformer):
    """Every function of numpy or math as a name `np_...`, which each way to run it binds to a function of its own.

    elementwise: choices and conditions hold for every pair of tokens, so `a if c else b` becomes where(c, a, b).
    """

    def __init__(self, names: Mapping[str, Any], elementwise: bool) -> None:
        self._names, self._elementwise = names, elementwise
        self.others: list[str] = []  # functions of numpy that are not of FUNCTIONS

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """np.exp, math.pi."""
        module = self._names.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if module not in MODULES:
            return self.generic_visit(node)
        if node.attr in CONSTANTS:
            return ast.copy_location(ast.Constant(CONSTANTS[node.attr]), node)
        if (name := canonical(node.attr)) is not None:
            return ast.copy_location(ast.Name(f"np_{name}", ast.Load()), node)
        self.others.append(ast.unparse(node))
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """exp of `from math import exp`, and abs."""
        given = self._names.get(node.id)
        if isinstance(given, str) and given not in MODULES and isinstance(node.ctx, ast.Load):
            found = given.rpartition(".")[2]
            if found in CONSTANTS:
                return ast.copy_location(ast.Constant(CONSTANTS[found]), node)
            return ast.copy_location(ast.Name(f"np_{found}", ast.Load()), node)
        if self._elementwise and node.id == "abs" and node.id not in self._names:
            return ast.copy_location(ast.Name("np_abs", ast.Load()), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """max(a, b) and min(a, b) of Python, pair by pair."""
        name = node.func.id if isinstance(node.func, ast.Name) and node.func.id not in self._names else ""
        self.generic_visit(node)
        if self._elementwise and name in ("max", "min", "pow") and len(node.args) > 1:
            joined: ast.expr = node.args[0]
            function = {"max": "np_maximum", "min": "np_minimum", "pow": "np_power"}[name]
            for other in node.args[1:]:
                joined = ast.Call(ast.Name(function, ast.Load()), [joined, other], [])
            return ast.copy_location(joined, node)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """A choice."""
        self.generic_visit(node)
        if not self._elementwise:
            return node
        return ast.copy_location(_call("np_where", node.test, node.body, node.orelse), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """and, or."""
        self.generic_visit(node)
        if not self._elementwise:
            return node
        name, joined = "np_logical_and" if isinstance(node.op, ast.And) else "np_logical_or", node.values[0]
        for other in node.values[1:]:
            joined = _call(name, joined, other)
        return ast.copy_location(joined, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """not."""
        self.generic_visit(node)
        if not self._elementwise or not isinstance(node.op, ast.Not):
            return node
        return ast.copy_location(_call("np_logical_not", node.operand), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """0 < s < 1."""
        self.generic_visit(node)
        if not self._elementwise or len(node.ops) == 1:
            return node
        sides = [node.left, *node.comparators]
        parts = [ast.Compare(sides[k], [op], [sides[k + 1]]) for k, op in enumerate(node.ops)]
        joined: ast.expr = parts[0]
        for other in parts[1:]:
            joined = _call("np_logical_and", joined, other)
        return ast.copy_location(joined, node)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def check_size(source: str, what: str) -> None:
    """Whether a source from a file is short enough to be read."""
    if len(source) > MOST_LETTERS:
        raise SpecError(f"{what} = a text of {len(source)} letters cannot be used. Allowed: {MOST_LETTERS} letters.")


@lru_cache
def numpy_table() -> dict[str, Any]:
    return {f"np_{name}": getattr(np, name) for name in FUNCTIONS}


def torch_table(like: Any) -> dict[str, Any]:
    """Functions of torch by the names of numpy, for tensors like one: numbers among their arguments become tensors."""
    import torch

    other = {"concatenate": "cat", "arctan2": "atan2", "power": "pow", "max": "amax", "min": "amin"}
    as_given = frozenset({"power", *WHOLE})

    def tensor(value: Any) -> Any:
        return like.new_tensor(value) if isinstance(value, int | float) and not isinstance(value, bool) else value

    def table(name: str) -> Callable[..., Any]:
        function = getattr(torch, other.get(name, name), None)

        def called(*arguments: Any, **options: Any) -> Any:
            held = [one for one in arguments if isinstance(one, torch.Tensor | list | tuple)]
            if not held and name not in ("array", "where"):
                return getattr(np, name)(*arguments, **options)
            if "axis" in options:
                options["dim"] = options.pop("axis")
            if "keepdims" in options:
                options["keepdim"] = options.pop("keepdims")
            given = arguments if name in as_given else [tensor(one) for one in arguments]
            return function(*given, **options) if function else None

        return called

    def array(values: Any) -> Any:
        parts = [array(one) if isinstance(one, list | tuple) else tensor(one) for one in values]
        return torch.stack(parts)

    def clip(x: Any, low: Any = None, high: Any = None) -> Any:
        x = x if low is None else torch.maximum(x, tensor(low))
        return x if high is None else torch.minimum(x, tensor(high))

    made = {f"np_{name}": table(name) for name in FUNCTIONS}
    return made | {"np_array": array, "np_clip": clip}
