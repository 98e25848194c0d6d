"""Atomic loads, stores and additions on int64 arrays: what threads need to share work inside compiled code."""

from __future__ import annotations

import os
import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_X86 = platform.machine() in ("x86_64", "AMD64")


def _item(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    view = context.make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, view, [index], wraparound=False)


@intrinsic
def read(typingctx, array, index):
    """array[index], and with it all that its writer wrote before."""

    def codegen(context, builder, sig, args):
        return builder.load_atomic(_item(context, builder, sig.args[0], *args), "acquire", 8)

    return types.int64(array, types.intp), codegen


@intrinsic
def publish(typingctx, array, index, value):
    """array[index] = value, after all that this thread wrote before."""

    def codegen(context, builder, sig, args):
        target = _item(context, builder, sig.args[0], *args[:2])
        builder.store_atomic(args[2], target, "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), codegen


@intrinsic
def take(typingctx, array, index):
    """array[index] += 1; returns the number before. No two threads get the same."""

    def codegen(context, builder, sig, args):
        target = _item(context, builder, sig.args[0], *args)
        return builder.atomic_rmw("add", target, ir.Constant(ir.IntType(64), 1), "acq_rel")

    return types.int64(array, types.intp), codegen


@intrinsic
def pause(typingctx):
    """Tell the core that this loop only waits."""

    def codegen(context, builder, sig, args):
        if _X86:  # elsewhere the loop just turns faster
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def step_aside(typingctx):
    """Let another thread have this core, if one waits for it."""

    def codegen(context, builder, sig, args):
        if os.name == "posix":
            kind = ir.FunctionType(ir.IntType(32), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), codegen
