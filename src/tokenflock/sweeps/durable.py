"""Durable writing: files and their names are forced to the disk, so that they survive a power failure.

A file that was written and renamed is in the memory of the machine; the disk has it some half a minute later. A process
that is killed loses nothing by that, a power failure does.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

AT_ONCE = 8  # disks write what is asked for at the same time in one go


def fsync_files(files: Iterable[str | Path], root: Path) -> None:
    """Wait until these files are on the disk, and their names in every folder up to root. Missing ones are left out."""
    there = [path for path in map(Path, files) if path.exists()]
    folders = {folder for path in there for folder in path.parents if folder.is_relative_to(root)}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(_fsync, there))
        list(pool.map(_fsync, folders))


def _fsync(path: Path) -> None:
    windows = os.name == "nt"  # it flushes what is open for writing, and no folders
    if windows and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if windows else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system without such promises
            raise
    finally:
        os.close(handle)
