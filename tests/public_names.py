"""Every public name with its signature, a line each: what users' scripts rely on.

    python tests/public_names.py > tests/public_names.txt

Do that when a change is meant, and say it in CHANGELOG.md; test_release.py compares.
"""

import dataclasses
import functools
import inspect
import re
import types
from enum import Enum

import tokenflock


def signature(thing):
    """As written; defaults that print an address are shown by their type."""
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return ""
    text = re.sub(r"<([\w.]+)( object)? at 0x[0-9a-f]+>", r"<\1>", text)
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations are strings


def members(prefix, cls):
    """Fields, methods and properties that a class itself declares."""
    if issubclass(cls, Enum):
        yield from (f"{prefix}.{member.name}" for member in cls)
        return
    fields = [field.name for field in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else []
    yield from (f"{prefix}.{name}" for name in fields)
    for name, thing in vars(cls).items():
        if name.startswith("_") or name in fields:
            continue
        if isinstance(thing, property | functools.cached_property):
            yield f"{prefix}.{name}"
        elif isinstance(thing, classmethod | staticmethod):
            yield f"{prefix}.{name}{signature(thing.__func__)}"
        elif inspect.isfunction(thing):
            yield f"{prefix}.{name}{signature(thing)}"


def inside(module):
    """What a module offers: as it says itself, else the functions and classes that it defines."""
    if "__all__" in vars(module) or "__dir__" in vars(module):
        return (
            [name for name in dir(module) if not name.startswith("_")] if "__dir__" in vars(module) else module.__all__
        )
    own = {name: value for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    return [
        n for n, value in own.items() if not n.startswith("_") and (inspect.isfunction(value) or inspect.isclass(value))
    ]


def described(prefix, thing):
    """A name and what is inside it."""
    if isinstance(thing, types.ModuleType):
        yield prefix
        for name in inside(thing):
            yield from described(f"{prefix}.{name}", getattr(thing, name))
    elif inspect.isclass(thing):
        yield f"{prefix}{signature(thing)}"
        yield from members(prefix, thing)
    elif callable(thing):
        yield f"{prefix}{signature(thing)}"
    else:
        yield prefix


def names():
    """All lines, in order."""
    return sorted(
        {line for name in tokenflock.__all__ for line in described(f"flock.{name}", getattr(tokenflock, name))}
    )


if __name__ == "__main__":
    print("\n".join(names()))
