"""Compiled functions as values: one pointer type names every function of one signature.

numba optimises a callee again inside each caller; through a pointer a function is compiled once, and only if used.
"""

from __future__ import annotations

from typing import Any

import numba.experimental.function_type  # noqa: F401  (tells numba the type of a pointer before anything is compiled)
from numba.core.types import FunctionType, WrapperAddressProtocol
from numba.extending import typeof_impl


class Pointer(WrapperAddressProtocol):
    """A dispatcher for one signature; numba passes it by address. It is compiled when it is called for."""

    def __init__(self, dispatcher: Any, signature: Any) -> None:
        self.dispatcher, self._signature = dispatcher, signature
        self.type = FunctionType(signature)
        self._compiled: Any = None  # whoever holds the pointer holds the code

    def _ready(self) -> Any:
        if self._compiled is None:
            self.dispatcher.compile(self._signature.args)
            self._compiled = self.dispatcher.overloads[self._signature.args]
        return self._compiled

    def __call__(self, *arguments: Any) -> Any:
        """From Python: the types of the arguments, which take numba longer than a small kernel, are not looked at."""
        return self._ready().entry_point(*arguments)

    def __wrapper_address__(self) -> int:
        compiled = self._ready()
        return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))

    def signature(self) -> Any:
        """The numba signature."""
        return self._signature


@typeof_impl.register(Pointer)
def _type_of(pointer: Pointer, _context: Any) -> Any:
    """The type as it was made: making it again would take longer than a short run, whose arguments have many types."""
    return pointer.type


POINTERS: dict[tuple[Any, Any], Pointer] = {}


def pointer_to(function: Any, signature: Any) -> Pointer:
    """The pointer to a compiled function for one signature, always the same object.

    Signatures of many arrays are slow to compare: a caller that asks often keeps what it was given.
    """
    key = (function, signature)
    if key not in POINTERS:
        POINTERS[key] = Pointer(function, signature)
    return POINTERS[key]
