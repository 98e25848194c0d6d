"""A lock between processes: who has taken a file keeps it until the file is closed, or its process dies."""

from __future__ import annotations

import importlib
import time
from typing import IO, Any

FAR = 1 << 30  # Windows locks bytes, and nobody else may read them: one that no file of ours has
PAUSE_S = 0.05


def take(file: IO[Any], wait: bool = True) -> bool:
    """Whether this process has the file now. wait: until nobody else has it. False also where there are no locks."""
    try:
        fcntl: Any = importlib.import_module("fcntl")
    except ImportError:
        return _take_on_windows(file, wait)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # somebody has it, or the file system knows no locks
        return False
    return True


def _take_on_windows(file: IO[Any], wait: bool) -> bool:
    try:
        msvcrt: Any = importlib.import_module("msvcrt")
    except ImportError:
        return False
    file.seek(FAR)
    while True:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:  # somebody has it
            if not wait:
                return False
            time.sleep(PAUSE_S)
        except OSError:
            return False
        else:
            return True
