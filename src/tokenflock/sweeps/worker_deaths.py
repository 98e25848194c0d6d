"""Worker processes that died while they computed a shard, counted until a run or the machine is to blame."""

from __future__ import annotations

from collections import Counter

from tokenflock.errors import EngineError
from tokenflock.sweeps.worker_process import WorkerProcess, WorkerReport

DEATHS = 5  # of workers in one run, before the run is taken for the reason
FAILED_STARTS = 3  # workers that end before they are ready ...
KILLED_STARTS = 30  # ... and that are killed: somebody else may be doing that


class WorkerDeaths:
    """Says which runs of a shard are lost by the deaths of workers, and raises where no run is to blame."""

    def __init__(self, shard: int, timeout: float | None, cannot_start: str) -> None:
        """cannot_start: the sentence for workers that die before they are ready, with {} for how they died."""
        self._shard, self._timeout, self._cannot_start = shard, timeout, cannot_start
        self._deaths: Counter[int | None] = Counter()  # by run; None: between the runs
        self._starts = 0.0  # what failed starts come to: 1 is too much
        self.lost: dict[int, tuple[str, str]] = {}  # {run: (outcome, reason)}: what the next worker leaves out

    @property
    def any(self) -> bool:
        """Whether a worker died while it computed this shard."""
        return bool(self._deaths)

    def hung(self, run: int) -> None:
        """A run did not hear its alarm."""
        self.lost[run] = ("overtime", f"It hung beyond the timeout of {self._timeout:g} s.")

    def died(self, worker: WorkerProcess, report: WorkerReport) -> None:
        """A worker died by itself or was killed: by the run under way, perhaps."""
        run = worker.run
        if not worker.ready:
            self._starts += 1 / (KILLED_STARTS if report.killed else FAILED_STARTS) + 1e-9
            if self._starts >= 1:
                raise EngineError(self._cannot_start.format(report.death))
            return
        self._deaths[run] += 1
        if self._deaths[run] < DEATHS:
            return
        if run is None:
            where = f"in shard {self._shard} outside of its runs ({report.death})"
            advice = "Look at the memory and the disk; workers=0 computes in this process, and shows more."
            raise EngineError(f"{DEATHS} workers died {where}: while they set up a point, or wrote. {advice}")
        self.lost[run] = ("lost", f"{DEATHS} workers died in it ({report.death}).")
