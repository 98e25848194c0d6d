"""What reading a file of somebody else may take: bytes, entries, depth and seconds. All bounds stand here.

A file says how much it holds, and may lie. So what comes out of it is counted while it is read, and a reader stops with
a sentence where a real model would have ended long before.
"""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

from tokenflock.errors import FileError

CONFIG_BYTES = 4 << 20  # of a config.json: those with 20,000 labels have one
TABLE_BYTES = 16 << 20  # of a header, an index or a pickle: 100,000 tensors
DEPTH = 50  # of lists inside of lists
ENTRIES = 20_000  # files in an archive
AXES = 32  # of a tensor
SECONDS = 20.0  # for the tables of one file, without the numbers of its tensors
#: An archive may unpack to this many times its own size, and a little more: numbers hardly deflate, words do by 5.
RATIO, SLACK_BYTES = 20, 64 << 20


class OverBudget(FileError):
    """A file that takes more than any model would. Who knows its name puts it before."""


class Budget:
    """How many bytes may still come out of a file, and until when."""

    def __init__(self, n_bytes: int, seconds: float = SECONDS) -> None:
        self.left, self._until = n_bytes, time.monotonic() + seconds

    @classmethod
    def of_archive(cls, path: Path) -> Budget:
        """For all that is unpacked of a file."""
        size = path.stat().st_size
        return cls(SLACK_BYTES + RATIO * size, SECONDS + size / 5e6)

    def spend(self, n_bytes: int) -> None:
        """Count bytes before they are taken out."""
        self.left -= n_bytes
        if self.left < 0:
            raise OverBudget("it unpacks to far more than a model of its size would. Do not trust it.")
        if time.monotonic() > self._until:
            raise OverBudget("it takes longer to read than any model of its size would. Do not trust it.")


class BudgetStream(io.BytesIO):
    """Bytes in memory that are handed out within a budget of seconds; the clock is looked at now and then."""

    def __init__(self, data: bytes, budget: Budget) -> None:
        super().__init__(data)
        self._budget, self._reads = budget, 0

    def read(self, size: int | None = -1, /) -> bytes:
        """As of any stream."""
        self._reads += 1
        if not self._reads % 4096:
            self._budget.spend(0)
        return super().read(size)


def read_json(data: bytes, most: int) -> Any:
    """The JSON in at most so many bytes, nested DEPTH deep at most; a ValueError otherwise."""
    if len(data) > most:
        raise ValueError(f"it has more than {most >> 20} MB, which no model needs")
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError(f"it is nested deeper than {DEPTH} levels") from None
    level = [value]
    for _ in range(DEPTH):
        lists = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)]
        if not lists:
            return value
        level = [inner for one in lists for inner in one]
    raise ValueError(f"it is nested deeper than {DEPTH} levels")


def read_start(path: Path, most: int) -> bytes:
    """The first bytes of a file: one more than are allowed, so that it is seen that there are more."""
    with open(path, "rb") as stream:
        return stream.read(most + 1)
