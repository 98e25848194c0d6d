"""Pair kernels made for a model's own kernel and normaliser: a file of source for each, compiled once and kept."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import tempfile
from functools import lru_cache
from hashlib import blake2b
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

import numpy as np

from tokenflock.engine.compiled.declare import folder
from tokenflock.engine.explicit.own_pairs import COUNT, DIVISORS, LoopShape
from tokenflock.engine.explicit.registers import COORDINATES
from tokenflock.expressions import tree_of
from tokenflock.functions import Function
from tokenflock.interaction import SUMS, Kernel
from tokenflock.model import Model
from tokenflock.preparation import prepared

NAME = "own:"  # how pair kernels of this kind are called, with their digest
HEAD = '''"""A pair kernel that was made for a function of the user's."""

import numpy as np

from tokenflock.engine.compiled.declare import inline, pointed
from tokenflock.engine.compiled.lane_functions import TABLE
from tokenflock.engine.compiled.lanes import noinline, root
from tokenflock.engine.explicit.own_pairs import LoopShape, rows_of
'''
TAIL = '''

_rows = rows_of(weight, {shape})


@pointed
def part(pairs, k):
    """The rows of a part."""
    noinline()
    _rows(pairs, k)
'''
TAKEN = {"logit": "logit", "overlap": "overlap", "distance": "root(square)"}
EXP = "lambda logit: exp(logit)"


class _Powers(ast.NodeTransformer):
    """Whole powers as products: libm's power takes twenty times as long."""

    def __init__(self, numbers: dict[str, float]) -> None:
        self._numbers = numbers
        self.powers: set[int] = set()

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """a ** 3."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        exponent = node.right
        value = exponent.value if isinstance(exponent, ast.Constant) else None
        if isinstance(exponent, ast.Name):
            value = self._numbers.get(exponent.id)
        if isinstance(value, int | float) and value == int(value) and 0 < value <= 16:
            self.powers.add(int(value))
            return ast.Call(ast.Name(f"power{int(value)}", ast.Load()), [node.left], [])
        return ast.Call(ast.Name("np_power", ast.Load()), [node.left, node.right], [])


def _defined(function: Function, name: str) -> list[str]:
    """Lines that define a function and what it takes from around it."""
    lines: list[str] = []
    numbers: dict[str, float] = {}
    for other, value in function.names.items():
        if isinstance(value, Function):
            lines += _defined(value, other)
        elif isinstance(value, np.ndarray):
            raise TypeError(f"it takes an array, {other}, and sees one pair of tokens at a time")
        elif not isinstance(value, str):
            numbers[other] = value
            lines.append(f"{other} = {value!r}".replace("= inf", "= np.inf").replace("= nan", "= np.nan"))
    rewriter = _Powers(numbers)
    text = ast.unparse(ast.fix_missing_locations(rewriter.visit(tree_of(function.rewritten(name)))))
    for power in sorted(rewriter.powers):
        lines += ["", "", "@inline", f"def power{power}(x):", f"    return {' * '.join('x' * power)}"]
    if function.others:
        raise TypeError(f"it uses {function.others[0]}")
    return [*lines, "", "", "@inline", text]


def source_of(kernel: Kernel | None, shape: LoopShape) -> str:
    """The file of a kernel (None: exp) and a shape."""
    function = kernel.function if kernel else Kernel(EXP).function
    takes = kernel.takes if kernel else ("logit",)
    if function.given is not None:
        raise TypeError(function.lost)
    lines = [HEAD, "globals().update(TABLE)", *_defined(function, "own")]
    given = ", ".join(TAKEN[name] for name in takes)
    lines += ["", "", "@inline", "def weight(logit, overlap, square):", f"    return own({given})"]
    return "\n".join(lines) + TAIL.format(shape=repr(shape))


def shape_of(model: Model) -> LoopShape:
    """What a model's loop is made for."""
    norm, kernel = model.divisor, model.own_kernel
    checked = norm.kind in SUMS and kernel is not None and (not kernel.name or kernel.signed)
    return LoopShape(
        d=model.dim if model.dim in COORDINATES else 0,
        shifted=kernel is None,
        tilted=model.bias is not None,
        weighed=model.masses is not None,
        divisor=DIVISORS.get(norm.kind, COUNT),
        others=not norm.own and norm.kind in DIVISORS,
        checked=checked,
        takes=kernel.takes if kernel else ("logit",),
    )


@lru_cache
def _module(source: str) -> ModuleType:
    """The module of a source, which stands in a file beside the kernels that are kept."""
    digest = blake2b(source.encode(), digest_size=12).hexdigest()
    path = folder() / "own" / f"k{digest}.kernel"  # no .py: what is kept is named after those
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".part", delete=False) as file:
            file.write(source)
        os.replace(file.name, path)  # whole or not at all: another process may be looking
    name = f"tokenflock_own_{digest}"
    loader = SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made  # kept code finds its names by that of its module
    loader.exec_module(made)
    return made


_made: dict[str, ModuleType] = {}  # by the name of the pair kernel


@prepared
def name_of(model: Model) -> str:
    """The name of the pair kernel of a model's own kernel and normaliser; a TypeError says why there is none."""
    module = _module(source_of(model.own_kernel, shape_of(model)))
    name = f"{NAME}{module.__name__}"
    _made[name] = module
    return name


def part_of(name: str) -> Any:
    """The kernel of a part, by its name."""
    return _made[name].part
