"""Functions that a user gives: kept as source, so that files and `again` repeat them, and run in more than one way.

`own("drift", f, ("x", "t"))` makes a Function of a callable, of a text such as "exp(-distance**2)", or of what a file
kept (`told`). It is called with numpy arrays, and `with_torch` runs it on tensors, with gradients. Engines compile what
`rewritten` and `bound` give (engine/compiled/own.py).

A file brings a function only if it is plain (expressions.py), or if this process was given the same one by its user.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tokenflock.errors import SpecError, bad
from tokenflock.expressions import (
    BUILTINS,
    CONSTANTS,
    ELEMENTWISE,
    FUNCTIONS,
    MODULES,
    Node,
    Rewriter,
    canonical,
    check_size,
    free_names,
    is_builtin,
    numpy_table,
    parameters,
    parsed,
    torch_table,
    tree_of,
    why_not_plain,
    without_words,
)

TEXT_NAMES = {"np": "numpy", "numpy": "numpy", "math": "math"}  # what a text may say without saying where from
TEXT_NAMES |= {name: f"numpy.{name}" for name in (*FUNCTIONS - set(BUILTINS), *CONSTANTS)}
KNOWN = (*FUNCTIONS, *CONSTANTS)
MOST_NUMBERS = 10**5  # of an array that a function takes from around it: it is kept as text
#: what this process was given by its user, which files may bring though it is not plain
_given: set[str] = set()


@dataclasses.dataclass(frozen=True, eq=False)
class Function:
    """One function of the user's. `lost` says why a file cannot repeat it; empty if it can."""

    source: str  # a lambda or a def; "" if it could not be had
    names: Mapping[str, Any]  # what it takes from around it: numbers, arrays, modules and functions by name, Functions
    parameters: tuple[str, ...]
    elementwise: bool  # a number of numbers, so that it may be called with arrays of any shape
    lost: str = ""
    given: Callable[..., Any] | None = None  # as the user gave it, where its source is not enough

    def __call__(self, *arguments: Any) -> Any:
        """Its value for numpy arrays. Of a choice both sides are computed, so one of them may be no number."""
        with np.errstate(all="ignore"):
            return self._by_numpy(*arguments)

    @cached_property
    def _by_numpy(self) -> Callable[..., Any]:
        return self.given or self.bound(numpy_table())

    def with_torch(self, *arguments: Any) -> Any:
        """Its value for tensors, through which gradients pass; numbers may stand among them."""
        import torch

        first = next(one for one in arguments if isinstance(one, torch.Tensor))
        key = (first.dtype, first.device)
        if key not in self._by_torch:
            self._by_torch[key] = self._for_tensors(first)
        return self._by_torch[key](*arguments)

    @cached_property
    def _by_torch(self) -> dict[Any, Callable[..., Any]]:
        return {}

    def _for_tensors(self, like: Any) -> Callable[..., Any]:
        if self.not_for_torch:
            raise SpecError(
                f"this function cannot run in torch: {self.not_for_torch}. Allowed: arithmetic, functions of numpy "
                f"such as {', '.join(ELEMENTWISE[:6])}. Write it with these, or use engine='reference'."
            )
        return self.bound(torch_table(like), like.new_tensor)

    @property
    def not_for_torch(self) -> str:
        """Why it cannot run on tensors, or nothing."""
        inner = (one.not_for_torch for one in self.names.values() if isinstance(one, Function))
        own = f"it uses {self.others[0]}" if self.others else self.lost
        return own or next((why for why in inner if why), "")

    @cached_property
    def node(self) -> Node:
        """Its source as Python reads it."""
        return parsed(self.source)

    @cached_property
    def _rewritten(self) -> tuple[Node, tuple[str, ...]]:
        rewriter = Rewriter(self.names, self.elementwise)
        node = without_words(rewriter.visit(parsed(self.source)))
        return ast.fix_missing_locations(node), tuple(rewriter.others)

    @property
    def others(self) -> tuple[str, ...]:
        """Functions of numpy that it uses and that torch would not know."""
        return self._rewritten[1] if self.source else ()

    @property
    def not_plain(self) -> str:
        """What in it is not plain, or nothing."""
        if not self.source:
            return "it has no source"
        inner = (one.not_plain for one in self.names.values() if isinstance(one, Function))
        return self.lost or why_not_plain(self.node, self.names) or next((why for why in inner if why), "")

    def rewritten(self, name: str) -> str:
        """Its source as a def of this name, with functions of numpy as names `np_...`: for compilers."""
        node = self._rewritten[0]
        if isinstance(node, ast.FunctionDef):
            body = node.body
        else:
            body = [ast.Return(node.body)]
        made = tree_of(f"def {name}({', '.join(self.parameters)}): pass").body[0]
        assert isinstance(made, ast.FunctionDef)
        made.body = body
        return ast.unparse(ast.fix_missing_locations(made))

    def bound(
        self,
        table: Mapping[str, Any],
        put: Callable[[Any], Any] = lambda array: array,
        finish: Callable[..., Any] = lambda made: made,
    ) -> Callable[..., Any]:
        """The function with functions of numpy from a table {"np_exp": ...}.

        put: brings arrays to where they are used; finish: is given every function that was made, such as a compiler.
        """
        around: dict[str, Any] = {**table}
        for name, value in self.names.items():
            if isinstance(value, Function):
                around[name] = value.bound(table, put, finish)
            elif isinstance(value, np.ndarray):
                around[name] = put(value)
            elif isinstance(value, str):
                around[name] = np if value in MODULES else None
            else:
                around[name] = value
        exec(compile(self.rewritten("own"), "<function of the user>", "exec"), around)
        made: Callable[..., Any] = finish(around["own"])
        return made

    def told(self) -> dict[str, Any]:
        """What a file keeps of it, for JSON."""
        if self.lost:
            return {"source": self.source, "names": {}, "lost": self.lost}
        names: dict[str, Any] = {}
        for name, value in self.names.items():
            names[name] = value.told() if isinstance(value, Function) else value
            if isinstance(value, np.ndarray):
                names[name] = value.tolist()
        return {"source": self.source, "names": names}

    def __reduce__(self) -> tuple[Any, ...]:
        """For other processes, which trust this one."""
        if self.lost:
            raise SpecError(
                f"this function cannot be sent to another process: {self.lost}. Write it with a def in a file."
            )
        return _received, (self.told(), self.parameters, self.elementwise)

    def __repr__(self) -> str:
        return f"Function({' '.join(self.source.split())!r})" if self.source else "Function(source unknown)"


def own(what: str, given: Any, takes: tuple[str, ...], *, elementwise: bool = False, by_name: bool = False) -> Function:
    """A Function of what a user, a text or a file gave. what: how errors call it; takes: the names of its arguments.

    by_name: it may take any of these, by their names; a single argument of another name is the first of them.
    """
    if isinstance(given, Function):
        made = given
    elif isinstance(given, str):
        made = _of_text(what, given, takes, elementwise)
    elif isinstance(given, Mapping):
        made = _of_file(what, given, elementwise)
    elif callable(given):
        made = _of_callable(what, given, elementwise)
    else:
        raise bad(what, given, f"a function of {', '.join(takes)}, or a text of one")
    _check(what, made, takes, by_name)
    return made


def _check(what: str, made: Function, takes: tuple[str, ...], by_name: bool) -> None:
    """Whether it takes the right arguments, and can be called with arrays where it must be."""
    found, wanted = made.parameters, ", ".join(takes)
    fits = (bool(found) and set(found) <= set(takes)) or len(found) == 1 if by_name else len(found) == len(takes)
    if not fits:
        allowed = f"any of the arguments {wanted}, by these names" if by_name else f"the arguments ({wanted})"
        raise bad(what, f"a function of ({', '.join(found)})", f"a function with {allowed}")
    if made.elementwise and made.source:
        for part in ast.walk(made.node):
            if isinstance(part, ast.If | ast.While):
                raise bad(
                    what,
                    f"a function with {'an if' if isinstance(part, ast.If) else 'a while'}",
                    "an expression, which holds for many pairs at once",
                    "Write `a if condition else b`, or np.where(condition, a, b).",
                )


def _of_text(what: str, text: str, takes: tuple[str, ...], elementwise: bool) -> Function:
    """An expression of the arguments, or a lambda."""
    check_size(text, what)
    try:
        node = parsed(text)
        source = text.strip()
    except SyntaxError:
        try:
            body = tree_of(text.strip(), "eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            example = f"an expression of {', '.join(takes)}, such as 'exp({takes[0]})'"
            raise bad(what, text, example, f"Python says: {error}.") from None
        used = [name.id for name in ast.walk(body) if isinstance(name, ast.Name)]
        source = f"lambda {', '.join([one for one in takes if one in used] or takes[:1])}: {text.strip()}"
        node = parsed(source)
    except (ValueError, RecursionError, MemoryError) as error:
        raise bad(what, "a text that is no function", "a lambda or a def", f"Python says: {error}.") from None
    names = {name: TEXT_NAMES[name] for name in free_names(node) if name in TEXT_NAMES}
    if why := why_not_plain(node, names):
        allowed = "arithmetic, comparisons, choices, and functions of numpy"
        raise bad(what, f"a text with {why}", f"{allowed}: {', '.join(ELEMENTWISE[:8])}, ...")
    return Function(source, names, parameters(node), elementwise)


def _of_file(what: str, kept: Mapping[str, Any], elementwise: bool) -> Function:
    """What `told` wrote, possibly long ago and by somebody else."""
    if kept.get("lost"):
        raise SpecError(
            f"{what} was a function that the file could not keep: {kept['lost']}. Make the model again with it."
        )
    source, kept_names = kept.get("source"), kept.get("names", {})
    if not isinstance(source, str) or not isinstance(kept_names, Mapping):
        raise bad(what, dict(kept), "a function as flock.save wrote it", "Load a file that flock.save wrote.")
    check_size(source, what)
    names: dict[str, Any] = {}
    for name, value in kept_names.items():
        if isinstance(value, Mapping):
            names[name] = _of_file(f"{name} in {what}", value, elementwise)
        elif isinstance(value, list):
            names[name] = _array(value)
        elif (
            isinstance(value, str) and value not in MODULES and value.rpartition(".")[2] not in (*FUNCTIONS, *CONSTANTS)
        ):
            raise bad(what, f"a function with {name} = {value!r}", "a function as flock.save wrote it")
        else:
            names[name] = value
    try:
        node = parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise bad(what, source, "the source of a function", f"Python says: {error}.") from None
    made = Function(source, names, parameters(node), elementwise)
    if (why := made.not_plain) and _digest(made) not in _given:
        raise SpecError(
            f"{what} is a function that a file may not bring: it has {why}, and could do anything. "
            "Look at its source in the file; give this process the same function once, and the file is taken."
        )
    return made


def _received(told: Mapping[str, Any], names: tuple[str, ...], elementwise: bool) -> Function:
    """A Function from another process."""
    _given.add(json.dumps(told, sort_keys=True))
    made = _of_file("a function", told, elementwise)
    return dataclasses.replace(made, parameters=names)


def _digest(made: Function) -> str:
    return json.dumps(made.told(), sort_keys=True)


def _array(given: Any) -> np.ndarray:
    array = np.array(given, dtype=np.float64)
    array.setflags(write=False)
    return array


def _of_callable(what: str, given: Callable[..., Any], elementwise: bool) -> Function:
    """A function of Python. What its source cannot say of it, such as a method's object, stays in this process."""
    if not isinstance(given, FunctionType):
        if isinstance(given, np.ufunc) and (name := canonical(given.__name__)) and given.nin == 1:
            return Function(f"lambda s: np.{name}(s)", {"np": "numpy"}, ("s",), elementwise)
        return _kept(what, given, f"{_called(given)} is no function of Python with a source of its own", elementwise)
    node = _node_of(given)
    if node is None:
        return _kept(what, given, "its source cannot be had (Python keeps none of what is typed in)", elementwise)
    names: dict[str, Any] = {}
    around = inspect.getclosurevars(given)
    for name in free_names(node):
        value = around.nonlocals.get(name, around.globals.get(name, given.__globals__.get(name, node)))
        if value is node:
            if is_builtin(name):
                continue
            return _kept(what, given, f"it uses {name}, which is not there", elementwise)
        found = _name(what, value, elementwise)
        if found is None:
            return _kept(what, given, f"it uses {name}, a {type(value).__name__}", elementwise)
        names[name] = found
    arguments = node.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        return _kept(what, given, "it has arguments with defaults or stars", elementwise)
    if isinstance(node, ast.FunctionDef) and node.decorator_list:
        return _kept(what, given, "it has a decorator", elementwise)
    made = Function(ast.unparse(without_words(node)), names, parameters(node), elementwise)
    _given.add(_digest(made))
    return made


def _called(given: Any) -> str:
    return getattr(given, "__name__", None) or f"a {type(given).__name__}"


def _kept(what: str, given: Callable[..., Any], lost: str, elementwise: bool) -> Function:
    """A function that runs as it was given and cannot be repeated from a file, compiled, or run in torch."""
    try:
        names = tuple(inspect.signature(given).parameters)
    except (TypeError, ValueError):
        raise bad(what, given, "a function that says which arguments it takes", "Write a lambda around it.") from None
    return Function("", {}, names, elementwise, lost, given)


def _name(what: str, value: Any, elementwise: bool) -> Any:
    """What is kept of something that a function takes from around it, or None."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, np.integer | np.floating):
        return value.item()
    if isinstance(value, ModuleType):
        return value.__name__ if value.__name__ in MODULES else None
    name = canonical(getattr(value, "__name__", ""))
    if name and (isinstance(value, np.ufunc) or getattr(value, "__module__", "") in MODULES):
        return f"numpy.{name}"
    if isinstance(value, FunctionType):
        inner = _of_callable(what, value, elementwise)
        return None if inner.lost else inner
    if isinstance(value, np.ndarray | list | tuple):
        array = np.asarray(value)
        return _array(array) if array.dtype.kind in "biuf" and 0 < array.size <= MOST_NUMBERS else None
    return None


def _node_of(given: FunctionType) -> Node | None:
    """The source of a function as Python reads it; of several lambdas in a line the one that has this code."""
    code = given.__code__
    try:
        lines, _ = inspect.findsource(given)
        tree = tree_of("".join(lines))
    except (OSError, SyntaxError, TypeError, IndexError):
        return None
    kind = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
    here = [
        node
        for node in ast.walk(tree)
        if isinstance(node, kind)
        and code.co_firstlineno in (node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ())))
    ]
    places = [place for place in code.co_positions() if None not in place and place[2:] != (0, 0)]
    inside = [node for node in here if isinstance(node, ast.FunctionDef) or _covers(node.body, places)]
    return min(inside, key=lambda node: len(ast.unparse(node)), default=None)


def _covers(node: ast.expr, places: list[Any]) -> bool:
    """Whether instructions stand within an expression."""
    first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return all(first <= (line, column) and (end, stop) <= last for line, end, column, stop in places)
