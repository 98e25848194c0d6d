"""What we say when something is wrong: what, what was given, what is allowed, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from contextvars import ContextVar

#: Whether half a run is of no use, as to a claim: Ctrl-C then ends `simulate` instead of giving what there is.
WHOLE_RUNS: ContextVar[bool] = ContextVar("WHOLE_RUNS", default=False)
MOST_NAMED = 20  # names that an error lists beside the one it takes to be meant: more are a wall of words


class TokenflockError(Exception):
    """Anything this package refuses to do."""


class SpecError(TokenflockError, ValueError):
    """An argument, an option or a line of a specification that cannot be used."""


class EngineError(TokenflockError, RuntimeError):
    """An engine that cannot run a model, or a run that failed with throw=True."""


class FileError(TokenflockError, OSError):
    """A file that cannot be read or written."""


class MissingExtra(TokenflockError, ImportError):
    """An optional package that is not installed."""


def bad(argument: str, given: object, allowed: str, advice: str = "") -> SpecError:
    """One sentence a part: the argument, its value, what is allowed and what to do."""
    message = f"{argument} = {given!r} cannot be used. Allowed: {allowed}."
    return SpecError(f"{message} {advice}".rstrip())


def unknown(kind: str, given: object, known: Iterable[str]) -> SpecError:
    """A name that is not in a list: suggest the nearest."""
    names = list(known)
    near = difflib.get_close_matches(str(given), names, n=1, cutoff=0.5)
    if near and len(names) > MOST_NAMED:
        return SpecError(f"unknown {kind} {given!r}. Did you mean {near[0]!r}? It is one of {len(names)}.")
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return SpecError(f"unknown {kind} {given!r}.{hint} Known: {', '.join(names)}.")


def clash(first: str, second: str, advice: str) -> SpecError:
    """Two options that exclude each other."""
    return SpecError(f"{first} and {second} cannot be combined. {advice}")


def missing(package: str, extra: str, purpose: str) -> MissingExtra:
    """Name the one command that installs an optional package."""
    return MissingExtra(f"{purpose} needs {package}. Install it with: pip install 'tokenflock[{extra}]'")
