"""How kernels are declared: compiled on first use, then kept on disk in a folder that belongs to exactly these sources.

numba compiles a function again when its own file has changed, not when a function that it calls or a constant that it
takes from another file has: after `git pull` old code could live on inside new kernels. So the folder is named after
the contents of every file that a kernel can be made from; if these change while a process runs, it keeps nothing. Two
processes that compile at a time could give one name to two kernels: here they wait for each other while they write. A
file ends with a checksum, without which a damaged one would be executed: it is removed, and compiled again.

A file also holds what the kernel calls, under names that end with a number, and code of one name is loaded once. numba
counts from 1 in every process: two functions that differ in their closures alone (`_near` in explicit/pairs.py) got one
name from two processes, and in a third one of them ran in the place of the other, without a word. So here every process
counts from a random number.
"""

from __future__ import annotations

import io
import itertools
import os
import secrets
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
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import IndexDataCacheFile
from numba.core.registry import CPUDispatcher

from tokenflock.engine.machine import find_cache
from tokenflock.errors import EngineError
from tokenflock.lock import take

config: Any = numba.config
njit: Any = numba.njit  # it takes more than its types say
# contract lets a*b+c become one instruction; nothing is reordered. Without _nrt numba counts no references to arrays:
# the caller holds them all, and for records of twenty arrays counting took a fifth of the time of a short run.
HOW: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy", "_nrt": False}
if config.DISABLE_JIT:
    raise EngineError("NUMBA_DISABLE_JIT is set: no kernel can be compiled. Unset it, or use engine='reference'.")
PREFIX = "kernels-"
CHECKSUM_BYTES = 16
OLD_S = 30 * 86_400.0  # what other sources left is removed when nobody has touched it for so long


PACKAGE = Path(__file__).parents[2]


def sources(home: Path) -> list[Path]:
    """Every file that a kernel declared in the folder `home` can be made from.

    Those are the files beside it, all of the engine, and what the engine may import: the files at the top of the
    package, which hold the equations and the tables of the schemes (a test of imports keeps it so).
    """
    return sorted({*home.glob("*.py"), *PACKAGE.glob("*.py"), *PACKAGE.glob("engine/**/*.py")})


def _count_from_anywhere() -> None:
    """The next function that numba compiles has a number that no other process gives."""
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(60))


_count_from_anywhere()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_from_anywhere)


def _name(home: Path) -> str:
    """What the folder of the kernels that are declared in `home` is called, as its sources are now."""
    digest = blake2b(digest_size=8)
    for file in sources(home):
        digest.update(file.name.encode() + file.read_bytes())
    return f"{PREFIX}{digest.hexdigest()}"


@lru_cache
def folder(home: Path = PACKAGE / "engine") -> Path:
    """Where the kernels that are declared in the folder `home` are kept."""
    ours = find_cache() / _name(home)
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
    ours = beside.is_relative_to(PACKAGE / "engine") or beside.parent == folder()  # one digest for all rooms
    home = PACKAGE / "engine" if ours else beside
    config.CACHE_DIR = str(folder(home))  # numba looks at it now; the functions of others go where they would
    try:
        made = njit(**how, cache=True)(function)
    finally:
        config.CACHE_DIR = usual
    file = made._cache._cache_file
    file.__class__, file.home = _KernelFile, home
    return made


def _checksum(content: bytes) -> bytes:
    return blake2b(content, digest_size=CHECKSUM_BYTES).digest()


def _is_whole(path: str) -> bool:
    """Whether a file of the cache is there and has its checksum; one that has not is removed."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return False
    whole = _checksum(content[:-CHECKSUM_BYTES]) == content[-CHECKSUM_BYTES:]
    if not whole:
        with suppress(OSError):
            Path(path).unlink()
    return whole


class _KernelFile(IndexDataCacheFile):
    """The files in which numba keeps a kernel, an index and code for types of arguments, each with a checksum."""

    home: Path  # the folder that the kernel is declared in

    def save(self, key: Any, data: Any) -> None:
        """Keep code for types of arguments, one process at a time, and only if its sources are those of the folder.

        Code has a new name and is there before the index says so. numba counts the files and writes the index first: a
        process that came between found the code of an older index under the name.
        """
        if _name(self.home) != folder(self.home).name:
            return
        numbas: Any = super()
        with _lock(Path(self._cache_path)):
            name = numbas._data_name(secrets.randbits(60))
            numbas._save_data(name, data)
            numbas._save_index(self._load_index() | {key: name})

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        """The checksum comes last: what numba reads ends before."""
        made = io.BytesIO()
        numbas: Any = super()
        yield made
        with numbas._open_for_write(filepath) as file:
            file.write(made.getvalue() + _checksum(made.getvalue()))

    def _load_index(self) -> Any:
        numbas: Any = super()
        return numbas._load_index() if _is_whole(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        numbas: Any = super()
        if not _is_whole(numbas._data_path(name)):
            raise FileNotFoundError(name)  # numba then compiles
        return numbas._load_data(name)


@contextmanager
def _lock(home: Path) -> Iterator[None]:
    """One process at a time, where the system has such locks and the folder can be written."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        file = (home / "lock").open("a")
    except OSError:
        yield
        return
    with file:
        take(file)
        yield
