"""Compiled functions as values: one pointer type names every pair kernel, another every velocity.

numba optimises a callee again inside each caller; through a pointer a function is compiled once, and only if used.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba.experimental.function_type  # noqa: F401  (tells numba the type of a pointer before anything is compiled)
from numba import types
from numba.core.types import WrapperAddressProtocol


class Pointer(WrapperAddressProtocol):
    """A dispatcher for one signature; numba passes it by address. It is compiled when it is called for."""

    def __init__(self, dispatcher: Any, signature: Any) -> None:
        self.dispatcher, self._signature = dispatcher, signature
        self._compiled: Any = None  # whoever holds the pointer holds the code

    def __wrapper_address__(self) -> int:
        if self._compiled is None:
            self.dispatcher.compile(self._signature.args)
            self._compiled = self.dispatcher.overloads[self._signature.args]
        return int(self._compiled.library.get_pointer_to_function(self._compiled.fndesc.llvm_cfunc_wrapper_name))

    def signature(self) -> Any:
        """The numba signature."""
        return self._signature


@lru_cache
def part_signature(dtype: str) -> Any:
    """(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile) of a pair kernel."""
    number = getattr(types, dtype)
    table, pages, whole = types.Array(number, 2, "C"), types.Array(number, 3, "C"), types.int64
    inputs = (table, table, table, table, types.float64, types.boolean)
    return types.void(*inputs, whole, whole, table, table, table, pages, table)


@lru_cache
def sums_signature(dtype: str) -> Any:
    """(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk) of a function that runs all parts."""
    part = part_signature(dtype)
    arguments = (*part.args[:6], *part.args[7:], types.Array(types.int64, 1, "C"))
    return types.void(types.FunctionType(part), *arguments)
