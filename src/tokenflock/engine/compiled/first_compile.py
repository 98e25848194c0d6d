"""The first run after an install: two processes compile what it needs, a kernel and the functions it calls by pointer.

This process compiles the kernel; the other one begins with the pointers, and each takes the next pointer that nobody
has begun. What the other process has compiled is found on disk; if it fails, for whatever reason, this process compiles
it. On two cores the first call of a fresh install takes 5.3 s, with one process 8.0 s.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from tokenflock.engine.compiled.declare import is_kept
from tokenflock.engine.compiled.pointers import Pointer
from tokenflock.engine.machine import threads


def compile_by_two(kernel: Pointer, pointers: Iterable[Pointer]) -> None:
    """Before a first call: compile a kernel and the pointers among its arguments by two, if they are not on disk.

    pointers: those that take longest come first.
    """
    missing = [pointer for pointer in pointers if not is_kept(pointer.dispatcher) and _is_found(pointer)]
    # A process that is itself one of several, in a pool, starts none: the others keep the cores busy.
    alone = threads() < 2 or multiprocessing.parent_process() is not None or not sys.executable
    if is_kept(kernel.dispatcher) or not missing or alone:
        return
    wanted = [(p.dispatcher.py_func.__module__, p.dispatcher.py_func.__name__, p.signature.args) for p in missing]
    quiet = subprocess.DEVNULL
    with tempfile.TemporaryDirectory() as claims:
        command = [sys.executable, "-m", __name__, claims]
        try:
            other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
        except OSError:
            return
        with other:  # until it has ended, also if this process is interrupted
            _send(other, pickle.dumps(wanted))
            kernel.compiled  # noqa: B018  (compiles it)
            for k in reversed(range(len(missing))):
                if _claim(claims, k):
                    missing[k].address  # noqa: B018  (compiles it)


def _is_found(pointer: Pointer) -> bool:
    """Whether another process finds the function by its name: not if it was made from one of the user's."""
    return str(pointer.dispatcher.py_func.__module__).startswith("tokenflock.")


def _send(other: subprocess.Popen[bytes], wanted: bytes) -> None:
    """Tell the other process what is to be compiled; it may have ended already."""
    assert other.stdin
    with suppress(OSError):
        other.stdin.write(wanted)
    with suppress(OSError):
        other.stdin.close()


def _claim(folder: str, k: int) -> bool:
    """Whether no process has begun the kth pointer; then this process is the one that does."""
    try:
        os.close(os.open(Path(folder, str(k)), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


if __name__ == "__main__":
    for at, (module, name, types) in enumerate(pickle.load(sys.stdin.buffer)):
        if _claim(sys.argv[1], at):
            getattr(import_module(module), name).compile(types)
