"""A slate: sixteen bytes that a worker and whoever feeds it share, the run under way and since when.

Runs take milliseconds. Told through a pipe, each would wake the reader, which then takes the time of the workers; from
a slate it is read only when a worker dies or is late.
"""

from __future__ import annotations

import mmap
import struct
import tempfile
import time

SINCE, RUN = slice(0, 8), slice(8, 16)
WHEN, NUMBER = struct.Struct("<d"), struct.Struct("<q")
NOBODY = -1


class Slate:
    """Shared memory. The clock is that of the machine, the same in all processes."""

    def __init__(self, handle: int) -> None:
        """The slate in an open file."""
        self._memory = mmap.mmap(handle, RUN.stop)

    def begin(self, run: int) -> None:
        """A run begins. The time first: whoever looks in between sees an old run that is young, and waits."""
        self.still()
        self._memory[RUN] = NUMBER.pack(run)

    def still(self) -> None:
        """Its time counts from now on."""
        self._memory[SINCE] = WHEN.pack(time.monotonic())

    def clear(self) -> None:
        """No run is under way."""
        self._memory[RUN] = NUMBER.pack(NOBODY)

    def read(self) -> tuple[int | None, float]:
        """The run under way, if there is one, and since when."""
        (run,) = NUMBER.unpack(self._memory[RUN])
        (since,) = WHEN.unpack(self._memory[SINCE])
        return (None if run == NOBODY else run), since

    def close(self) -> None:
        """Let go of it."""
        self._memory.close()


def blank() -> tempfile._TemporaryFileWrapper[bytes]:
    """A file without a name that holds an empty slate."""
    file = tempfile.TemporaryFile()
    file.write(WHEN.pack(0.0) + NUMBER.pack(NOBODY))
    file.flush()
    return file  # type: ignore[return-value]
