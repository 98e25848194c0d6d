"""Compiled functions as values: one pointer type names every function of one signature.

numba optimises a callee again inside each caller; through a pointer a function is compiled once, and only if used.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from numba.core import cgutils, types
from numba.experimental.function_type import FunctionModel
from numba.extending import NativeValue, register_model, typeof_impl, unbox


class PointerType(types.FunctionType):
    """The type of a pointer. numba's own runs Python for every argument of this type, in every call.

    That takes longer than a short run, and a Ctrl-C that arrives there comes out as a TypeError.
    """


class Pointer:
    """A dispatcher for one signature; numba passes it by address. It is compiled when it is called for."""

    def __init__(self, dispatcher: Any, signature: Any) -> None:
        self.dispatcher, self.signature = dispatcher, signature
        self.type = PointerType(signature)

    @cached_property
    def compiled(self) -> Any:
        """The code, from disk if it is there. Whoever holds the pointer holds it."""
        self.dispatcher.compile(self.signature.args)
        return self.dispatcher.overloads[self.signature.args]

    @cached_property
    def address(self) -> int:
        """Where the code is."""
        return int(self.compiled.library.get_pointer_to_function(self.compiled.fndesc.llvm_cfunc_wrapper_name))

    def __call__(self, *arguments: Any) -> Any:
        """From Python: the types of the arguments, which take numba longer than a small kernel, are not looked at."""
        return self.compiled.entry_point(*arguments)


register_model(PointerType)(FunctionModel)


@typeof_impl.register(Pointer)
def _type_of(pointer: Pointer, _context: Any) -> Any:
    """The type as it was made: making it again would take longer than a short run, whose arguments have many types."""
    return pointer.type


@unbox(PointerType)
def _enter(kind: Any, pointer: Any, c: Any) -> Any:
    """Take the address from the pointer; compiling it for the first time may fail, or be interrupted."""
    function = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    address = c.pyapi.object_getattr_string(pointer, "address")
    failed = cgutils.is_null(c.builder, address)
    with c.builder.if_then(c.builder.not_(failed)):
        function.c_addr = c.pyapi.long_as_voidptr(address)
        c.pyapi.decref(address)
    return NativeValue(function._getvalue(), is_error=failed)


POINTERS: dict[tuple[Any, Any], Pointer] = {}


def pointer_to(function: Any, signature: Any) -> Pointer:
    """The pointer to a compiled function for one signature, always the same object.

    Signatures of many arrays are slow to compare: a caller that asks often keeps what it was given.
    """
    key = (function, signature)
    if key not in POINTERS:
        POINTERS[key] = Pointer(function, signature)
    return POINTERS[key]
