"""How far a sweep is: a line on a terminal with the rate and the time left, a function of the fraction, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tokenflock.sweeps.shards import Grid

if TYPE_CHECKING:
    from rich.progress import Progress

ProgressOption = bool | Callable[[float], None] | None  # True, False, a function of the fraction; None: on a terminal


class SweepProgress:
    """The runs that are done, of those to do."""

    def __init__(self, grid: Grid, shards: list[int], wanted: ProgressOption) -> None:
        self._grid, self._done = grid, 0
        self._total = sum(grid.size(shard) for shard in shards)
        self._began = time.monotonic()
        self._tell = wanted if callable(wanted) else None
        self._bar: Progress | None = None
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
            self._bar.update(self._bar.task_ids[0], completed=self._done, rate=f"{self.rate:.3g} runs/s")

    def _draw(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("sweep"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._bar.add_task("sweep", total=self._total, rate="")

    def end(self) -> None:
        """Remove the line from the terminal."""
        if self._bar is not None:
            self._bar.stop()
