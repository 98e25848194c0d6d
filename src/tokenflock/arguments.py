"""Arguments checked in one line: numbers, arrays, names, runs, paths; what does not fit is refused with the reason.

Arrays come out as float64 in C order: results have the same bits for any layout in memory of the same numbers.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tokenflock.errors import FileError, bad, unknown
from tokenflock.memory import machine_bytes

if TYPE_CHECKING:
    import xarray as xr

Reals = NDArray[np.float64]
Inside = Callable[[Reals], Any]
PACKAGE = Path(__file__).parent
FAMILIAR = 10**5  # a bound above this is told to those only who passed it
T = TypeVar("T")
LONGEST_NAME, LONGEST_PATH = 255, 4000  # bytes that a name in a folder, and a path, may have


def home(kind: str, given: str, known: Mapping[str, str]) -> tuple[Any, str]:
    """Where a name lives: the module, imported now, and the attribute of known[given] = "module:attribute"."""
    module, attribute = known[named(kind, given, known)].split(":")
    return importlib.import_module(module), attribute


def changed(owner: str, sizes: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes with a caller's changes, each of which must be one of them, and a number where that is one."""
    for name, given in changes.items():
        if name not in sizes:
            raise unknown(f"parameter of {owner}", name, sizes)
        if is_number(sizes[name]) and not is_number(given):
            raise bad(f"{name} of {owner}", given, "a number", f"It is {sizes[name]} if left out.")
    return {**sizes, **changes}


def named(kind: str, given: Any, known: Iterable[str]) -> str:
    """The argument, if it is one of these names."""
    names = list(known)
    if not isinstance(given, str) or given not in names:
        raise unknown(kind, given, names)
    return given


def instance(argument: str, given: Any, kind: type[T], allowed: str, advice: str = "") -> T:
    """The argument, if it is of this class."""
    if not isinstance(given, kind):
        raise bad(argument, given, allowed, advice)
    return given


def flag(argument: str, given: Any) -> bool:
    """The argument, if it is True or False."""
    if not isinstance(given, bool | np.bool_):
        raise bad(argument, given, "True or False")
    return bool(given)


def function(argument: str, given: Any, allowed: str, advice: str = "", takes: int = 1) -> Callable[..., Any]:
    """The argument, if it can be called with so many arguments."""
    if not callable(given):
        raise bad(argument, given, allowed, advice)
    import inspect  # takes milliseconds, which most calls do not need

    try:
        inspect.signature(given).bind(*range(takes))
    except TypeError as error:
        raise bad(argument, f"a function that does not take {takes} ({error})", allowed, advice) from None
    except ValueError:  # functions of C do not say what they take
        pass
    return given  # type: ignore[no-any-return]


def generator(given: Any) -> np.random.Generator:
    """The argument, if it is a generator of numpy."""
    return instance("generator", given, np.random.Generator, "a numpy Generator", "numpy.random.default_rng(0) is one.")


def dataset(argument: str, given: Any, allowed: str, advice: str = "") -> xr.Dataset:
    """The argument, if it is a Dataset."""
    if not hasattr(given, "data_vars"):
        raise bad(argument, given, allowed, advice)
    return given  # type: ignore[no-any-return]


def path(argument: str, given: Any) -> Path:
    """The argument as a Path, if it is a name that a file can have."""
    if not isinstance(given, str | os.PathLike) or not isinstance(text := os.fspath(given), str):
        raise bad(argument, given, "a path: a text or a pathlib.Path")
    parts = [len(part.encode("utf-8", "replace")) for part in Path(text).parts]
    if not text or "\0" in text or max(parts, default=0) > LONGEST_NAME or sum(parts) > LONGEST_PATH:
        raise FileError(f"{argument} = {text[:60]!r} is no name that a file can have. Give another.")
    return Path(text)


def whole(argument: str, given: Any, least: int, advice: str = "", most: int | None = None) -> int:
    """The argument as an int, if it is a whole number >= least, and <= most."""
    too_large = is_whole(given) and most is not None and given > most
    if not is_whole(given) or given < least or too_large:
        told = most is not None and (most <= FAMILIAR or too_large)
        allowed = f"an integer from {least} to {most}" if told else f"an integer >= {least}"
        raise bad(argument, given, allowed, advice)
    return int(given)


def count(argument: str, given: Any, least: int = 1, advice: str = "", each: int = 8) -> int:
    """As `whole`, for a number of things of so many bytes each: the memory of this machine holds them."""
    return room(argument, whole(argument, given, least, advice), each)


def room(argument: str, number: int, each: int = 8) -> int:
    """The number, if the memory of this machine holds so many things of so many bytes each."""
    if number * each > machine_bytes():
        most = f"at most {machine_bytes() // each}"
        raise bad(argument, number, most, f"More do not fit in the {machine_bytes() / 2**30:.1f} GiB of this machine.")
    return number


def numbers(given: Any) -> Reals:
    """What was given as float64; one nan where it is complex, ragged, words or no number at all."""
    try:
        found = np.ma.filled(given, np.nan) if np.ma.is_masked(given) else np.asarray(given)
        if found.dtype.kind not in "biufO" or hasattr(given, "data_vars"):
            return np.asarray(np.nan)
        if found.dtype == object and any(isinstance(one, str | bytes | complex) for one in found.flat):
            return np.asarray(np.nan)
        with np.errstate(over="ignore"):  # of more than 64 bits: inf, which is refused
            return np.asarray(found, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        return np.asarray(np.nan)


def real(argument: str, given: Any, allowed: str, inside: Inside = np.isfinite, advice: str = "") -> Reals:
    """The argument as float64, if every number in it is real, finite and inside."""
    value = numbers(given)
    with np.errstate(invalid="ignore", over="ignore"):
        if not np.all(np.isfinite(value) & inside(value)):
            raise bad(argument, given, allowed, advice)
    return value


def whole_numbers(argument: str, given: Any, allowed: str, advice: str = "") -> NDArray[np.int64]:
    """The argument as whole numbers of 64 bits, in C order."""
    try:
        found = np.asarray(given)
        fits = found.dtype.kind in "iu" and not np.ma.is_masked(given)
    except (TypeError, ValueError):
        fits = False
    if not fits or (found.dtype.kind == "u" and found.size and found.max() >= 2**63):
        raise bad(argument, given, allowed, advice)
    return np.asarray(found, dtype=np.int64, order="C")


def some(argument: str, given: Any, allowed: str, inside: Inside = np.isfinite, advice: str = "") -> Reals:
    """As `real`, and at least one number."""
    value = real(argument, given, allowed, inside, advice)
    if not value.size:
        raise bad(f"{argument}.shape", value.shape, f"{allowed}, at least one")
    return value


def scalar(argument: str, given: Any, allowed: str, inside: Inside = np.isfinite, advice: str = "") -> float:
    """As `real`, for one number."""
    value = real(argument, given, allowed, inside, advice)
    if value.ndim:
        raise bad(argument, given, f"one number, {allowed}", advice)
    return float(value)


def positive(argument: str, given: Any, advice: str = "") -> float:
    """A finite number above 0."""
    return scalar(argument, given, "a finite number > 0", lambda v: v > 0, advice)


def is_number(value: object) -> bool:
    """Whether a value that a user gave is one real number, nan and inf among them."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def is_complex(value: Any) -> bool:
    """Whether a value that a user gave is an array or a list of complex numbers."""
    try:
        return not hasattr(value, "data_vars") and bool(np.iscomplexobj(value))
    except (TypeError, ValueError):  # ragged lists
        return False


def digits(given: str) -> int | None:
    """A text of plain digits as an int; None for any other: isdigit() takes "²", which int() does not."""
    return int(given) if given.isascii() and given.isdigit() and len(given) < 19 else None


def is_whole(value: object) -> bool:
    """Whether a value that a user gave is a whole number, whatever its type was said to be."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def warn(message: str) -> None:
    """A warning at the line that led to it: the innermost one outside of this package."""
    frame: FrameType | None = sys._getframe(1)
    level = 2  # 1 is the line below
    while frame is not None and Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)
