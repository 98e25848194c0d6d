"""What happens when a module has been imported: xarray learns `.flock`; ours show their reference and know their names.

`import tokenflock` puts one finder in front of Python's own. It finds nothing by itself; it runs a function after the
module that the others found: so `run.flock` is there whoever imports xarray and whenever, and so nothing is imported
before it is wanted. The words and examples of docs/reference (which the site shows, and a test runs) are written once
and are part of every docstring here. A public name that is called with an argument it has not says which one is meant.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial, wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

#: A line of its own between a docstring and what docs/reference says; the site, which shows that itself, cuts here.
MARK = "In words, with an example (flock is tokenflock, np is numpy):"


class AfterImport(MetaPathFinder):
    """Runs what `after` gives for a module's name as soon as that module has been imported."""

    def __init__(self, after: Callable[[str], Callable[[ModuleType], None] | None]) -> None:
        self._after = after

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders have, its loader followed by what comes after; None for other modules."""
        then = self._after(fullname)
        if then is None:
            return None
        others = (finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def both(module: ModuleType) -> None:
                execute(module)
                then(module)

            spec.loader.exec_module = both  # type: ignore[method-assign]
        return spec


def open_door(homes: Mapping[str, str], modules: Mapping[str, str]) -> None:
    """Called once, by `import tokenflock`, with the homes of its names and of its modules."""
    from tokenflock.accessor import register

    def after(name: str) -> Callable[[ModuleType], None] | None:
        if name == "xarray":
            return lambda module: register()
        return partial(document, homes=homes, modules=modules) if name.startswith("tokenflock.") else None

    if not any(type(finder).__name__ == AfterImport.__name__ for finder in sys.meta_path):  # as after a reload
        sys.meta_path.insert(0, AfterImport(after))
    if hasattr(sys.modules.get("xarray"), "register_dataset_accessor"):
        register()


@lru_cache
def entries() -> dict[str, str]:
    """{public name: its words and its example}, from docs/reference; empty where docstrings are stripped (-OO)."""
    here = Path(__file__).parent
    folder = next((f for f in (here / "reference", here.parents[1] / "docs" / "reference") if f.is_dir()), None)
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.txt")) if folder is not None and sys.flags.optimize < 2 else ():
        name = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(" "):
                found[name].append(line[4:])
            else:
                found[name := line.strip()] = []
    return {name: "\n".join(lines) for name, lines in found.items()}


@lru_cache
def _by_last_part() -> dict[str, list[tuple[str, ...]]]:
    """The names of `entries`, without flock, by their last part."""
    table: dict[str, list[tuple[str, ...]]] = {}
    for name in entries():
        parts = tuple(name.split(".")[1:])
        table.setdefault(parts[-1], []).append(parts)
    return table


def document(module: ModuleType, homes: Mapping[str, str], modules: Mapping[str, str]) -> None:
    """Put what docs/reference says of the functions and classes of a module under their docstrings."""
    offered = vars(module).get("__all__", ())  # what a module hands on from another is its own to those who ask here
    for name, thing in list(vars(module).items()):
        own = getattr(thing, "__module__", None) == module.__name__ or name in offered
        if name.startswith("_") or not own or not callable(thing):
            continue
        public, told = _entry(module.__name__, (name,), homes, modules)
        _put(thing, told)
        if isinstance(thing, FunctionType) and (public or thing in _SAID):
            setattr(module, name, said_by_name(thing, public))
        elif public and isinstance(thing, type) and isinstance(begin := vars(thing).get("__init__"), FunctionType):
            thing.__init__ = said_by_name(begin, public)  # type: ignore[misc]
        for inner, member in list(vars(thing).items()) if isinstance(thing, type) else ():
            if not inner.startswith("_") and callable(member):
                _put(member, _entry(module.__name__, (name, inner), homes, modules)[1])


def _entry(home: str, path: tuple[str, ...], homes: Mapping[str, str], modules: Mapping[str, str]) -> tuple[str, str]:
    """The public name of a thing and what docs/reference says of it; two empty texts where it is not public.

    It stands there under its own name at the door, or under those of modules on its way.
    """
    for parts in _by_last_part().get(path[-1], ()):
        if parts[-len(path) :] != path:
            continue
        outer = parts[: -len(path)]
        if homes.get(path[0]) == home if not outer else _leads(outer, home, modules):
            public = ".".join(("flock", *parts))
            return public, entries()[public]
    return "", ""


def _leads(outer: tuple[str, ...], home: str, modules: Mapping[str, str]) -> bool:
    """Whether a public name behind these modules may live in `home`: flock.claims. is tokenflock.papers.claims."""
    if outer[0] not in modules:
        return False
    path = ".".join((modules[outer[0]], *outer[1:]))
    return home == path or home.startswith(f"{path}.")


def _put(thing: Any, told: str) -> None:
    import inspect

    own = getattr(thing, "__doc__", None)
    if not told or MARK in (own or ""):
        return
    text = f"{MARK}\n\n{told}"
    try:  # without its margin, which what follows has not
        thing.__doc__ = f"{inspect.cleandoc(own)}\n\n{text}" if own else text
    except (AttributeError, TypeError):  # a thing whose docstring is fixed
        return


_SAID: dict[FunctionType, FunctionType] = {}  # two names of one function stay two names of one


def said_by_name(function: FunctionType, public: str) -> FunctionType:
    """The function, which says what it takes when it is called with other arguments than those that it has."""
    if getattr(function, "__wrapped__", None) in _SAID:
        return function

    @wraps(function)
    def called(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except TypeError:
            import inspect  # takes milliseconds, which `import tokenflock` does not have

            try:
                inspect.signature(function).bind(*arguments, **keywords)
            except TypeError:
                raise misnamed(public, function, arguments, keywords) from None
            raise

    return _SAID.setdefault(function, called)  # type: ignore[arg-type]


def misnamed(
    name: str, function: Callable[..., object], given: Sequence[object], named: Mapping[str, object]
) -> TypeError:
    """A call whose arguments are not those of the function: which one is meant, or missing, or one too many."""
    import inspect

    from tokenflock.errors import ArgumentError, unknown

    kinds = inspect.Parameter
    takes = {key: p for key, p in inspect.signature(function).parameters.items() if key != "self"}
    plain = [key for key, p in takes.items() if p.kind not in (kinds.VAR_KEYWORD, kinds.VAR_POSITIONAL)]
    ahead = [key for key in plain if takes[key].kind is not kinds.KEYWORD_ONLY]
    own = len(given) - ("self" in inspect.signature(function).parameters)
    filled = {*ahead[:own], *named}
    help_ = f"`help({name})` shows an example."
    if strange := [key for key in named if key not in plain]:
        words = str(unknown(f"argument of {name}", strange[0], plain))
    elif own > len(ahead):
        first = f"the others by name: {', '.join(plain[len(ahead) :])}" if len(plain) > len(ahead) else "no more"
        words = f"{own} arguments of {name} stand without a name. Allowed: {', '.join(ahead) or 'none'}; {first}."
    elif twice := [key for key in ahead[:own] if key in named]:
        words = f"{twice[0]} of {name} is given twice: in its place, and by its name. Leave one out."
    else:
        lacking = [key for key in plain if key not in filled and takes[key].default is kinds.empty]
        words = f"{name} lacks {' and '.join(lacking)}. It takes: {', '.join(plain)}."
    return ArgumentError(f"{words} {help_}")


def stand_in(home: str, name: str, error: ImportError) -> Any:
    """What stands for a name whose module needs an extra that is not installed: `help` shows it, its use says why.

    Its words are read from the source, which needs nothing.
    """
    import ast
    from importlib.util import find_spec

    spec = find_spec(home)
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8")) if spec and spec.origin else ast.Module([], [])
    found = (n for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == name)
    node = next(found, None)
    words = (ast.get_docstring(node) or "") if node is not None else ""
    begin = next((n for n in ast.walk(node) if isinstance(n, ast.FunctionDef)), None) if node is not None else None
    call = f"{name}({ast.unparse(begin.args).removeprefix('self, ')})" if begin is not None else name
    why = str(error)

    def refuse(cls: type, *_: Any, **__: Any) -> Any:
        raise type(error)(why)

    told = entries().get(f"flock.{name}", "")
    doc = "\n\n".join(part for part in (call, words, f"{MARK}\n\n{told}" if told else "", why) if part)
    return type(name, (), {"__doc__": doc, "__new__": refuse, "__module__": home})
