"""Functions of the user's in compiled code."""

from __future__ import annotations

from typing import Any

from numba.core.errors import NumbaError

from tokenflock.engine.compiled.declare import njit
from tokenflock.errors import EngineError
from tokenflock.expressions import numpy_table
from tokenflock.functions import Function


def of_arrays(function: Function, *types: Any) -> Any:
    """The function compiled for arguments of these types of numba, for kernels and for Python to call.

    For functions of whole arrays, such as a force f(x, t). What cannot be compiled is an EngineError with one sentence.
    """
    if function.given is not None:
        raise EngineError(f"This function cannot be compiled: {function.lost}. Use engine='reference'.")
    made = function.bound(numpy_table(), finish=njit(nogil=True, error_model="numpy"))
    try:
        made.compile(types)  # type: ignore[attr-defined]
    except NumbaError as error:
        raise EngineError(f"{function!r} cannot be compiled: {reason(error)}. Use engine='reference'.") from error
    return made


def reason(error: Exception) -> str:
    """What numba says of a function that it does not compile, in a line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    skipped = ("Failed in", "No implementation", "- of", "- Resolution", "File ", "During:", "This error may")
    told = next((line for line in lines if not line.startswith(skipped)), type(error).__name__)
    return told.rstrip(".:")[:200]
