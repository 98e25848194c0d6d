"""How far a sweep is: a line on a terminal with the rate and the time left, a function of the fraction, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from tokenflock.sweeps.shards import Grid

Progress = bool | Callable[[float], None] | None


class Count:
    """Runs done, of those to do."""

    def __init__(self, grid: Grid, shards: list[int], wanted: Progress) -> None:
        self._grid, self._done = grid, 0
        self._total = sum(grid.size(shard) for shard in shards)
        self._began = time.monotonic()
        self._tell = wanted if callable(wanted) else None
        self._bar: Any = None
        self._task: Any = None
        if self._tell is None and (sys.stderr.isatty() if wanted is None else wanted):
            self._draw()

    @property
    def rate(self) -> float:
        """Runs a second, so far."""
        return self._done / max(time.monotonic() - self._began, 1e-9)

    def __call__(self, shard: int) -> None:
        """A shard is done."""
        self._done += self._grid.size(shard)
        if self._tell:
            self._tell(self._done / self._total)
        elif self._bar is not None:
            self._bar.update(self._task, completed=self._done, rate=f"{self.rate:.3g} runs/s")

    def _draw(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("sweep"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task("sweep", total=self._total, rate="")

    def end(self) -> None:
        """Take the line away."""
        if self._bar is not None:
            self._bar.stop()
