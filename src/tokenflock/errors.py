"""What we say when something is wrong: what, what was given, what is allowed, what to do."""

from __future__ import annotations

import difflib
import json
import re
import shlex
from collections.abc import Iterable
from contextvars import ContextVar
from pathlib import Path

#: Whether half a run is of no use, as to a claim: Ctrl-C then ends `simulate` instead of giving what there is.
WHOLE_RUNS: ContextVar[bool] = ContextVar("WHOLE_RUNS", default=False)
MOST_SHOWN = 300  # characters of what was given: a list of numbers may have any length
MOST_NUMBERS = 12  # of an array that is shown with its numbers
MOST_BITS = 300  # of a whole number that is shown with its digits
NEAR = 0.6  # likeness from which a name is taken for another one: "cuda" is not "cpu"
#: what a thing is called elsewhere -> our word for it, which no likeness of letters would find
ELSEWHERE = {"cuda": "gpu", "triton": "gpu", "torch": "gpu", "numba": "cpu", "numpy": "reference"}
ELSEWHERE |= {"rk45": "tsit5", "dopri5": "tsit5", "implicit": "rosenbrock", "bidirectional": "full", "none": "full"}
ELSEWHERE |= {"float": "float64", "double": "float64", "single": "float32", "fp32": "float32", "fp64": "float64"}
#: and what arguments are called
ELSEWHERE |= {"n": "n_tokens", "tokens": "n_tokens", "d": "dim", "t": "t_end", "tmax": "t_end", "t_max": "t_end"}
ELSEWHERE |= {"q": "query", "k": "key", "v": "value", "temperature": "beta", "device": "engine", "precision": "dtype"}
ELSEWHERE |= {"h": "dt", "step": "dt", "solver": "scheme", "method": "scheme", "tol": "rtol", "n_runs": "runs"}
ELSEWHERE |= dict.fromkeys(("eps", "threshold", "cutoff", "tolerance"), "radius")
PLACES = {
    "circle": "The circle is space='sphere' with dim=2.",
    "rd": "R^d is space='euclidean'.",
    "r^d": "R^d is space='euclidean'.",
}
MOST_NAMED = 20  # names that an error lists beside the one it takes to be meant: more are a wall of words


class TokenflockError(Exception):
    """Anything this package refuses to do."""


class SpecError(TokenflockError, ValueError):
    """An argument, an option or a line of a specification that cannot be used."""


class ArgumentError(SpecError, TypeError):
    """An argument by a name that a function has not, one that is missing, or one too many."""


class EngineError(TokenflockError, RuntimeError):
    """An engine that cannot run a model, or a run that failed with throw=True."""


class FileError(TokenflockError, OSError):
    """A file that cannot be read or written."""


class UnwritableFile(FileError):
    """A file that the disk does not take, after all that could be checked before was right."""


class MissingExtra(TokenflockError, ImportError):
    """An optional package that is not installed."""


def bad(argument: str, given: object, allowed: str, advice: str = "") -> SpecError:
    """One sentence a part: the argument, its value, what is allowed and what to do."""
    message = f"{argument} = {_shown(given)} cannot be used. Allowed: {allowed}."
    return SpecError(f"{message} {advice}".rstrip())


def _shown(given: object) -> str:
    """What was given, in a line: large things by their kind, others as Python writes them."""
    if hasattr(given, "data_vars"):
        return "an xarray.Dataset"
    if getattr(given, "size", 0) > MOST_NUMBERS and hasattr(given, "dtype") and hasattr(given, "shape"):
        return f"an array of shape {given.shape} of {given.dtype}"
    if isinstance(given, int) and given.bit_length() > MOST_BITS:
        return f"a whole number of {given.bit_length()} bits"
    try:
        text = re.sub(r" at 0x[0-9A-Fa-f]+", "", " ".join(repr(given).split()))
    except Exception:  # of a class that cannot show itself, or of a number with too many digits inside
        text = f"a {type(given).__name__}"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def unknown(kind: str, given: object, known: Iterable[str]) -> SpecError:
    """A name that is not in a list: suggest the nearest."""
    try:
        names = [str(name) for name in known]
    except TypeError:  # no list at all
        names = [_shown(known)]
    word = given.lower() if isinstance(given, str) else ""
    if kind == "space" and word in PLACES:
        return SpecError(f"unknown {kind} {given!r}. {PLACES[word]} Known: {', '.join(names)}.")
    shown = _shown(given)
    near = [other for other in (ELSEWHERE.get(word, ""),) if other in names]
    near = near or (difflib.get_close_matches(str(given), names, n=1, cutoff=NEAR) if word else [])
    if near and len(names) > MOST_NAMED:
        return SpecError(f"unknown {kind} {shown}. Did you mean {near[0]!r}? It is one of {len(names)}.")
    hint = f" Did you mean {near[0]!r}?" if near else ""
    more = f", ... ({len(names)} in all)" if len(names) > MOST_NAMED else ""
    return SpecError(f"unknown {kind} {shown}.{hint} Known: {', '.join(names[:MOST_NAMED])}{more}.")


def clash(first: str, second: str, advice: str) -> SpecError:
    """Two options that exclude each other."""
    return SpecError(f"{first} and {second} cannot be combined. {advice}")


def install_command(extra: str) -> str:
    """The command that installs an optional package beside this installation: by name, or from the clone it runs in."""
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        told = json.loads(distribution("tokenflock").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        told = {}
    url = str(told.get("url", ""))
    folder = url2pathname(urlsplit(url).path) if url.startswith("file://") else ""
    editable = bool(told.get("dir_info", {}).get("editable"))
    if editable or (folder and Path(folder, "pyproject.toml").is_file()):
        return f"pip install {'-e ' * editable}{shlex.quote(f'{folder}[{extra}]')}"
    return f"pip install 'tokenflock[{extra}]'"


def missing(package: str, extra: str, purpose: str) -> MissingExtra:
    """Name the one command that installs an optional package."""
    return MissingExtra(f"{purpose} needs {package}. Install it with: {install_command(extra)}")
