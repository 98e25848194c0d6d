"""What the machine gives: cores, memory, and a place for compiled kernels."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tokenflock.errors import bad


def threads() -> int:
    """Cores to use: TOKENFLOCK_THREADS, or all that this process may run on."""
    given = os.environ.get("TOKENFLOCK_THREADS")
    if given is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not given.isdigit() or int(given) < 1:
        raise bad("TOKENFLOCK_THREADS", given, "an integer >= 1", "Unset it to use all cores.")
    return int(given)


def machine_bytes() -> int:
    """The memory of this machine; a number above any, where the system does not say."""
    names = ("SC_PAGE_SIZE", "SC_PHYS_PAGES")
    known = hasattr(os, "sysconf") and all(name in os.sysconf_names for name in names)
    return os.sysconf(names[0]) * os.sysconf(names[1]) if known else 1 << 62


def _writable(folder: Path) -> bool:
    """Whether files can be made in a folder, or in the folder that it would be made in."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK)


def find_cache() -> Path:
    """Where compiled kernels can be kept: NUMBA_CACHE_DIR, the package's folder, the user's cache, or where none can be
    written (a container with a read-only image and no home) the temporary folder."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return Path(os.environ["NUMBA_CACHE_DIR"])
    beside = Path(__file__).parent / "__pycache__"
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    for place in (beside, home / "numba"):
        if _writable(place):
            return place
    return Path(tempfile.gettempdir()) / f"tokenflock-{os.getuid() if hasattr(os, 'getuid') else 'kernels'}"
