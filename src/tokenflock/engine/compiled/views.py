"""Arrays by their address: how one thread tells others, in a record, what they are to read and to fill."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array


@intrinsic
def address_of(typingctx, array):
    """Where the numbers of an array are. (`array.ctypes.data` would keep numba from putting the kernel on disk.)"""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.ptrtoint(context.make_array(sig.args[0])(context, builder, args[0]).data, ir.IntType(64))

    return types.int64(array), codegen


@intrinsic
def table_at(typingctx, where, rows, columns, like):
    """The array (rows, columns) at an address, of the dtype of another one with two axes."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = sig.args[3]
        size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        made = context.make_array(kind)(context, builder)
        populate_array(
            made,
            data=builder.inttoptr(args[0], made.data.type),
            shape=cgutils.pack_array(builder, [args[1], args[2]]),
            strides=cgutils.pack_array(builder, [builder.mul(args[2], size), size]),
            itemsize=size,
            meminfo=None,
        )
        return made._getvalue()

    return like(types.int64, types.int64, types.int64, like), codegen
