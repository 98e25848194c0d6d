"""After an install: a second process compiles what a kernel calls by pointers while this one compiles the kernel.

What it has compiled is found on disk. If it fails, for whatever reason, this process compiles all of it.
"""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
from importlib import import_module
from typing import Any

from tokenflock.engine.compiling import is_kept
from tokenflock.engine.machine import threads
from tokenflock.engine.pointers import Pointer

_called: set[Any] = set()


def share(kernel: Any, pointers: tuple[Pointer, ...]) -> None:
    """Before a call of a kernel with these pointers: have them compiled elsewhere if neither they nor it is on disk."""
    if kernel in _called:
        return
    _called.add(kernel)
    missing = [pointer for pointer in pointers if not is_kept(pointer.dispatcher)]
    # Workers of a pool would each bring another one.
    if is_kept(kernel) or not missing or threads() < 2 or multiprocessing.parent_process() or not sys.executable:
        return
    wanted = [(p.dispatcher.py_func.__module__, p.dispatcher.py_func.__name__, p.signature().args) for p in missing]
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-m", __name__]
    try:
        other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
        other.stdin.write(pickle.dumps(wanted))  # type: ignore[union-attr]
        other.stdin.close()  # type: ignore[union-attr]
    except OSError:
        return
    for pointer in missing:
        pointer.waits = other.wait


if __name__ == "__main__":
    for module, name, arguments in pickle.load(sys.stdin.buffer):
        getattr(import_module(module), name).compile(arguments)
