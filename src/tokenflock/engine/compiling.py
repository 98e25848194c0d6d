"""How kernels are declared: compiled on first use, then kept on disk in a folder that belongs to exactly these sources.

numba compiles a function again when its own file has changed, not when one that it calls has: after `git pull` old code
could live on inside new kernels. So the folder is named after the contents of all files of the engine. And two
processes that compile at a time could give one name to two kernels: here they wait for each other while they write.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numba
from numba.core.registry import CPUDispatcher

from tokenflock.engine.machine import find_cache

config: Any = numba.config
njit: Any = numba.njit  # it takes more than its types say
HOW: dict[str, Any] = {  # contract lets a*b+c become one instruction; nothing is reordered
    "nogil": True,
    "fastmath": {"contract"},
    "error_model": "numpy",
}
PREFIX = "kernels-"
OLD_S = 30 * 86_400.0  # what other sources left is removed when nobody has touched it for so long


@lru_cache
def folder() -> Path:
    """Where the kernels of these sources are kept."""
    digest = blake2b(digest_size=8)
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + file.read_bytes())
    ours = find_cache() / f"{PREFIX}{digest.hexdigest()}"
    if not ours.exists():
        for other in ours.parent.glob(f"{PREFIX}*"):
            with suppress(OSError):
                if time.time() - other.stat().st_mtime > OLD_S:
                    shutil.rmtree(other)
    return ours


def kernel(function: Callable[..., Any]) -> Any:
    """A compiled function that needs no interpreter and keeps the bits of its code."""
    return _compiled(function)


class _Inside(CPUDispatcher):
    """A compiled function without a way in from Python: numba itself would crash."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is for kernels to call; what Python calls is declared by @kernel.")


def target(function: Callable[..., Any]) -> Any:
    """A kernel that is reached by a pointer (see pointers.py) or by kernels, and has no way in from Python."""
    made = _compiled(function, no_cpython_wrapper=True)
    made.__class__ = _Inside
    return made


def piece(function: Callable[..., Any]) -> Any:
    """A function for kernels to call. It is compiled into them, so that nothing of its own is kept.

    A way in from Python and a file of its own took a fifth of the time before a first run.
    """
    made = njit(**HOW, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    made.__class__ = _Inside
    return made


def is_kept(kernel: Any) -> bool:
    """Whether a kernel is on disk, for some types of its arguments."""
    return Path(kernel._cache._cache_file._index_path).exists()


def _compiled(function: Callable[..., Any], **more: bool) -> Any:
    usual = config.CACHE_DIR
    config.CACHE_DIR = str(folder())  # numba looks at it now; the functions of others go where they would
    try:
        made = njit(**HOW, **more, cache=True)(function)
    finally:
        config.CACHE_DIR = usual
    file = made._cache._cache_file
    save = file.save
    file.save = lambda key, data: _alone(save, key, data)
    return made


def _alone(save: Callable[..., None], key: Any, data: Any) -> None:
    with _lock():
        save(key, data)


@contextmanager
def _lock() -> Iterator[None]:
    """One process at a time, where the system has such locks and the folder can be written."""
    try:
        import fcntl

        folder().mkdir(parents=True, exist_ok=True)
        file = (folder() / "lock").open("a")
    except (ImportError, OSError):
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
