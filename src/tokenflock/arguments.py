"""Arguments checked in one line: whole numbers, real arrays, names; what does not fit is refused with the reason."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.errors import bad, unknown

Reals = NDArray[np.float64]
Inside = Callable[[Reals], Any]


def home(kind: str, given: str, known: Mapping[str, str]) -> tuple[Any, str]:
    """Where a name lives: the module, imported now, and the attribute of known[given] = "module:attribute"."""
    if given not in known:
        raise unknown(kind, given, known)
    module, attribute = known[given].split(":")
    return importlib.import_module(module), attribute


def changed(owner: str, sizes: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes with a caller's changes, each of which must be one of them."""
    for name in changes:
        if name not in sizes:
            raise unknown(f"parameter of {owner}", name, sizes)
    return {**sizes, **changes}


def whole(argument: str, given: Any, least: int, advice: str = "") -> int:
    """The argument as an int, if it is a whole number >= least."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise bad(argument, given, f"an integer >= {least}", advice)
    return int(given)


def numbers(given: Any) -> Reals:
    """What was given as float64; one nan where it is complex, ragged or no number at all."""
    try:
        return np.asarray(np.nan if np.iscomplexobj(given) else given, dtype=np.float64)
    except (TypeError, ValueError):
        return np.asarray(np.nan)


def real(argument: str, given: Any, allowed: str, inside: Inside = np.isfinite, advice: str = "") -> Reals:
    """The argument as float64, if every number in it is real, finite and inside."""
    value = numbers(given)
    if not np.all(np.isfinite(value) & inside(value)):
        raise bad(argument, given, allowed, advice)
    return value


def scalar(argument: str, given: Any, allowed: str, inside: Inside = np.isfinite, advice: str = "") -> float:
    """As `real`, for one number."""
    if np.ndim(given):
        raise bad(argument, given, f"one number, {allowed}", advice)
    return float(real(argument, given, allowed, inside, advice))


def is_whole(value: object) -> bool:
    """Whether a value that a user gave is a whole number, whatever its type was said to be."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
