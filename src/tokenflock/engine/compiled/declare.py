"""How kernels are declared: compiled on first use, then kept on disk in a folder that belongs to exactly these sources.

numba compiles a function again when its own file has changed, not when a function that it calls or a constant that it
takes from another file has: after `git pull` old code could live on inside new kernels. So the folder is named after
the contents of every file that a kernel can be made from. And two processes that compile at a time could give one name
to two kernels: here they wait for each other while they write.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, wraps
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core.registry import CPUDispatcher

from tokenflock.engine.machine import find_cache

config: Any = numba.config
njit: Any = numba.njit  # it takes more than its types say
# contract lets a*b+c become one instruction; nothing is reordered. Without _nrt numba counts no references to arrays:
# the caller holds them all, and for records of twenty arrays counting took a fifth of the time of a short run.
HOW: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy", "_nrt": False}
PREFIX = "kernels-"
OLD_S = 30 * 86_400.0  # what other sources left is removed when nobody has touched it for so long


PACKAGE = Path(__file__).parents[2]


def sources(home: Path) -> list[Path]:
    """Every file that a kernel declared in the folder `home` can be made from.

    Those are the files beside it, all of the engine, and what the engine may import: the files at the top of the
    package, which hold the equations and the tables of the schemes (a test of imports keeps it so).
    """
    return sorted({*home.glob("*.py"), *PACKAGE.glob("*.py"), *PACKAGE.glob("engine/**/*.py")})


@lru_cache
def folder(home: Path = PACKAGE / "engine") -> Path:
    """Where the kernels that are declared in the folder `home` are kept."""
    digest = blake2b(digest_size=8)
    for file in sources(home):
        digest.update(file.name.encode() + file.read_bytes())
    ours = find_cache() / f"{PREFIX}{digest.hexdigest()}"
    if not ours.exists():
        for other in ours.parent.glob(f"{PREFIX}*"):
            with suppress(OSError):
                if time.time() - other.stat().st_mtime > OLD_S:
                    shutil.rmtree(other)
    return ours


def _declares(declare: Callable[..., Any]) -> Any:
    """A decorator, with or without `allocates`.

    allocates: the function makes arrays or multiplies matrices; numba refuses to compile one that does so and does not
    say it. In all others references to arrays are not counted. That is safe because no function returns an array, which
    a caller who counts would free, and one who does not would keep for ever: `_Kernel` sees to it.
    """

    @wraps(declare)
    def decorator(function: Callable[..., Any] | None = None, *, allocates: bool = False) -> Any:
        how = HOW | {"_nrt": allocates}
        return declare(function, how) if function else lambda function: declare(function, how)

    return decorator


@_declares
def kernel(function: Callable[..., Any], how: dict[str, Any]) -> Any:
    """A compiled function that needs no interpreter and keeps the bits of its code."""
    made = _compiled(function, how)
    made.__class__ = _Kernel
    return made


def _holds_arrays(kind: Any) -> bool:
    inner = getattr(kind, "types", ())  # of a tuple or a record
    return isinstance(kind, types.Array) or any(_holds_arrays(one) for one in inner)


class _Kernel(CPUDispatcher):
    """A compiled function that returns no array, alone or in a record."""

    def compile(self, sig: Any) -> Any:
        """As numba does, and refuse a function that returns arrays."""
        made = super().compile(sig)
        compiled: Any = self.overloads.values()
        if any(_holds_arrays(one.signature.return_type) for one in compiled):
            raise TypeError(f"{self.py_func.__name__} returns an array: give it the array to fill as an argument.")
        return made


class _Inside(_Kernel):
    """A compiled function without a way in from Python: numba itself would crash."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is for kernels to call; what Python calls is declared by @kernel.")


@_declares
def pointed(function: Callable[..., Any], how: dict[str, Any]) -> Any:
    """A kernel that is reached by a pointer (see pointers.py) or by kernels, and has no way in from Python."""
    made = _compiled(function, how | {"no_cpython_wrapper": True})
    made.__class__ = _Inside
    return made


@_declares
def inline(function: Callable[..., Any], how: dict[str, Any]) -> Any:
    """A function for kernels to call. It is compiled into them, so that nothing of its own is kept.

    A way in from Python and a file of its own took a fifth of the time before a first run.
    """
    made = njit(**how, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    made.__class__ = _Inside
    return made


def is_kept(kernel: Any) -> bool:
    """Whether a kernel is on disk, for some types of its arguments."""
    return Path(kernel._cache._cache_file._index_path).exists()


def _compiled(function: Callable[..., Any], how: dict[str, Any]) -> Any:
    usual = config.CACHE_DIR
    beside = Path(function.__code__.co_filename).parent
    home = folder() if beside.is_relative_to(PACKAGE / "engine") else folder(beside)  # one digest for all rooms
    config.CACHE_DIR = str(home)  # numba looks at it now; the functions of others go where they would
    try:
        made = njit(**how, cache=True)(function)
    finally:
        config.CACHE_DIR = usual
    file = made._cache._cache_file
    save = file.save
    file.save = lambda key, data: _alone(home, save, key, data)
    return made


def _alone(home: Path, save: Callable[..., None], key: Any, data: Any) -> None:
    with _lock(home):
        save(key, data)


@contextmanager
def _lock(home: Path) -> Iterator[None]:
    """One process at a time, where the system has such locks and the folder can be written."""
    try:
        import fcntl

        home.mkdir(parents=True, exist_ok=True)
        file = (home / "lock").open("a")
    except (ImportError, OSError):
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
