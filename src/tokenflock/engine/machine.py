"""What the machine gives: cores, and a place for compiled kernels."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from functools import lru_cache
from pathlib import Path

from tokenflock.arguments import digits
from tokenflock.errors import bad

DEVICE = "TOKENFLOCK_DEVICE"


def threads() -> int:
    """Cores to use: TOKENFLOCK_THREADS, or all that this process may run on."""
    given = os.environ.get("TOKENFLOCK_THREADS")
    if given is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not (number := digits(given)):
        raise bad("TOKENFLOCK_THREADS", given, "an integer >= 1", "Unset it to use all cores.")
    return number


def environment() -> tuple[int, str | None]:
    """What the user says by the environment, and may change between two calls: cores to use, and a device."""
    return threads(), os.environ.get(DEVICE)


def _writable(folder: Path) -> bool:
    """Whether files can be made in a folder, or in the folder that it would be made in."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK)


def _is_ours(folder: Path, others: int) -> bool:
    """Whether a folder, or the one that it would be made in, belongs to this user and is closed to `others` (a mode).

    Kernels are code: one that somebody else put there would be executed. Windows gives every user such folders.
    """
    if not hasattr(os, "getuid"):
        return True
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & others


@lru_cache
def _for_this_process() -> Path:
    """A folder that is removed when the process ends."""
    made = tempfile.mkdtemp(prefix="tokenflock-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def find_cache() -> Path:
    """Where compiled kernels can be kept: NUMBA_CACHE_DIR, the package's folder, the user's cache, or where none can be
    written (a container with a read-only image and no home) the temporary folder. None but our own is used there: if
    somebody else was first, kernels are kept for this process alone."""
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(given)
    beside = Path(__file__).parent / "__pycache__"
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "numba"
    if _writable(beside):
        return beside
    if _writable(home) and _is_ours(home, stat.S_IWOTH):
        return home
    place = Path(tempfile.gettempdir()) / f"tokenflock-{os.getuid() if hasattr(os, 'getuid') else 'kernels'}"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
    except OSError:  # a file, or a link to nowhere
        return _for_this_process()
    return place if _is_ours(place, stat.S_IRWXG | stat.S_IRWXO) else _for_this_process()
