"""The heartbeat of a worker process: sixteen bytes of shared memory with the run under way and the time it began.

Runs take milliseconds. If the worker told each of them through its pipe, each would wake the parent process, which
takes the time of the workers; the heartbeat is read only when a worker dies or is late.
"""

from __future__ import annotations

import mmap
import struct
import tempfile
import time
from typing import IO

BEGAN, RUN = slice(0, 8), slice(8, 16)
TIME, NUMBER = struct.Struct("<d"), struct.Struct("<q")
NO_RUN = -1


class Heartbeat:
    """The worker writes, its parent reads. Times are of the monotonic clock, the same in all processes of a machine."""

    def __init__(self, handle: int) -> None:
        """Map the bytes of an open file, which `empty_file` made."""
        self._memory = mmap.mmap(handle, RUN.stop)

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


def empty_file() -> IO[bytes]:
    """A file without a name that holds a heartbeat with no run under way."""
    file = tempfile.TemporaryFile()
    file.write(TIME.pack(0.0) + NUMBER.pack(NO_RUN))
    file.flush()
    return file
