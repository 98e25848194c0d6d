"""What a sweep will cost: a few of its runs are timed; the size of a shard, the time and the disk follow from them."""

from __future__ import annotations

import json
import random
from collections.abc import Generator
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.shards import ShardArrays, cut, time_runs
from tokenflock.sweeps.worker import WorkerJob, alarm, pack
from tokenflock.sweeps.worker_process import WorkerProcess

SHARD_S = 1.0  # about how long a shard takes: a task of a cluster costs some 10 ms, and what is lost to a crash is this
SAMPLE_S = 1.0  # spent on timed runs, or one run if that takes longer
LONGEST_S = 20.0  # of one timed run
SAMPLE_RUNS = 64
SHARD_BYTES = 64 * 2**20
MOST_SHARDS = 100_000  # files a variable


@dataclass(frozen=True)
class CostEstimate:
    """What a sweep will take."""

    runs: int
    shards: int
    runs_a_shard: int
    run_s: float  # the mean of the timed runs
    slowest_s: float
    core_s: float  # of all runs, on one core
    disk_bytes: int
    timed: int  # runs

    def table(self, workers: int) -> dict[str, Any]:
        """The estimate as a table, with the time that so many workers take."""
        return asdict(self) | {"wall_s": self.core_s / workers, "workers": workers}


def run_bytes(plan: Plan) -> int:
    """The bytes on disk of one run: its variables are not compressed."""
    arrays = ShardArrays(plan, (1,)).arrays
    return sum(8 if array.dtype == object else array.nbytes for array in arrays.values())


def shard_runs(plan: Plan, run_s: float) -> int:
    """Runs for about SHARD_S, within what memory and the number of files allow."""
    wanted = max(1, int(SHARD_S / max(run_s, 1e-6)))
    most = max(1, SHARD_BYTES // run_bytes(plan))
    return max(min(wanted, most), -(-plan.n_runs // MOST_SHARDS))


def sample_seconds(plan: Plan, in_worker: bool, timeout: float | None = None) -> list[float]:
    """Seconds of some runs, spread over the grid; the first is computed once before, because it compiles.

    in_worker: in a process of its own, which a run may take with it.
    """
    longest = LONGEST_S if timeout is None else min(LONGEST_S, timeout)
    chosen = random.Random(0).sample(range(plan.n_runs), min(SAMPLE_RUNS, plan.n_runs))
    runs = [chosen[0], *chosen]
    seconds = _in_a_worker(plan, runs, longest) if in_worker else time_runs(plan, runs, timeout=longest, limit=alarm)
    with closing(seconds):
        first, times = next(seconds, longest), []
        for taken in seconds if first < longest else ():
            times.append(taken)
            if sum(times) > SAMPLE_S:
                break
    return times or [first]


def _in_a_worker(plan: Plan, runs: list[int], longest: float) -> Generator[float]:
    worker = WorkerProcess(pack(WorkerJob(plan, "", longest)), longest)
    try:
        worker.time_runs(runs)
        while worker.overdue() is None:
            report = worker.poll(0.5)
            yield from report.seconds
            if report.done or report.dead or report.error:
                return
    finally:
        worker.close()


def estimate_cost(
    plan: Plan, runs_a_shard: int | None = None, in_worker: bool = False, timeout: float | None = None
) -> CostEstimate:
    """Time some runs, and say what all of them will take."""
    times = sample_seconds(plan, in_worker, timeout)
    run_s = float(np.mean(times))
    grid = cut(plan.shape, runs_a_shard or shard_runs(plan, run_s))
    files = 4096 * len(grid) * (len(plan.record) + 3)  # a file takes a block of the disk at least
    disk = max(plan.n_runs * run_bytes(plan), files) + len(json.dumps(plan.describe()))
    per = int(np.prod(grid.box))
    return CostEstimate(plan.n_runs, len(grid), per, run_s, max(times), run_s * plan.n_runs, disk, len(times))
