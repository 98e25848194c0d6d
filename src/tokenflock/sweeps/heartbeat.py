"""The heartbeat of a worker process: sixteen bytes of shared memory with the run under way and the time it began.

Runs take milliseconds. If the worker told each of them through its pipe, each would wake the parent process, which
takes the time of the workers; the heartbeat is read only when a worker dies or is late.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
import time
from contextlib import suppress
from pathlib import Path

BEGAN, RUN = slice(0, 8), slice(8, 16)
TIME, NUMBER = struct.Struct("<d"), struct.Struct("<q")
NO_RUN = -1


class Heartbeat:
    """The worker writes, its parent reads. Times are of the monotonic clock, the same in all processes of a machine."""

    def __init__(self, path: Path) -> None:
        """Map the bytes of a file that `empty_file` made."""
        self._path = path
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), RUN.stop)

    def take_name(self) -> None:
        """Remove the file, whose bytes stay until both have closed them. Windows lets none but the last one do it."""
        with suppress(OSError):
            self._path.unlink()

    def begin(self, run: int) -> None:
        """A run begins. The time is written first: a reader in between sees an old run that is young, and waits."""
        self.restart_clock()
        self._memory[RUN] = NUMBER.pack(run)

    def restart_clock(self) -> None:
        """The time limit of the run under way counts from now on."""
        self._memory[BEGAN] = TIME.pack(time.monotonic())

    def clear(self) -> None:
        """No run is under way."""
        self._memory[RUN] = NUMBER.pack(NO_RUN)

    def read(self) -> tuple[int | None, float]:
        """The run under way, None if there is none, and the time it began."""
        (run,) = NUMBER.unpack(self._memory[RUN])
        (began,) = TIME.unpack(self._memory[BEGAN])
        return (None if run == NO_RUN else run), began

    def close(self) -> None:
        """Release the memory."""
        self._memory.close()
        self.take_name()


def empty_file() -> Path:
    """A file that holds a heartbeat with no run under way."""
    handle, name = tempfile.mkstemp(prefix="tokenflock-heartbeat-")
    with os.fdopen(handle, "wb") as file:
        file.write(TIME.pack(0.0) + NUMBER.pack(NO_RUN))
    return Path(name)
