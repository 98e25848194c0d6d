"""After an install: two processes compile what a run needs, a kernel and what it calls by pointers.

This one compiles the kernel, the other one begins with the pointers, and whoever is ready first takes what nobody has
begun. What the other one has compiled is found on disk; if it fails, for whatever reason, this one compiles it.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from tokenflock.engine.compiling import is_kept
from tokenflock.engine.machine import threads
from tokenflock.engine.pointers import Pointer

_called: set[Any] = set()


def share(kernel: Any, arguments: tuple[Any, ...]) -> None:
    """Before a call of a kernel with these arguments: compile it and its pointers by two, if they are not on disk."""
    if kernel in _called:
        return
    _called.add(kernel)
    # In the order of the arguments: velocities take longest, and come first.
    missing = [a for a in arguments if isinstance(a, Pointer) and not is_kept(a.dispatcher)]
    # Workers of a pool would each bring another one.
    if is_kept(kernel) or not missing or threads() < 2 or multiprocessing.parent_process() or not sys.executable:
        return
    wanted = [(p.dispatcher.py_func.__module__, p.dispatcher.py_func.__name__, p.signature().args) for p in missing]
    quiet = subprocess.DEVNULL
    with tempfile.TemporaryDirectory() as claims:
        command = [sys.executable, "-m", __name__, claims]
        try:
            other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
        except OSError:
            return
        with other:  # until it has ended, also if this one is interrupted
            _tell(other, pickle.dumps(wanted))
            kernel.compile(tuple(kernel.typeof_pyval(a) for a in arguments))
            for k in reversed(range(len(missing))):
                if _claim(claims, k):
                    missing[k].__wrapper_address__()


def _tell(other: subprocess.Popen[bytes], wanted: bytes) -> None:
    """What is to be compiled; it may have ended already."""
    assert other.stdin
    with suppress(OSError):
        other.stdin.write(wanted)
    with suppress(OSError):
        other.stdin.close()


def _claim(folder: str, k: int) -> bool:
    """Whether the kth pointer is nobody's yet; then it is one's own."""
    try:
        os.close(os.open(Path(folder, str(k)), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


if __name__ == "__main__":
    for at, (module, name, types) in enumerate(pickle.load(sys.stdin.buffer)):
        if _claim(sys.argv[1], at):
            getattr(import_module(module), name).compile(types)
