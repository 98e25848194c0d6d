"""The pilot of a sweep: a few runs, timed, from which the size of a shard, the time and the disk follow."""

from __future__ import annotations

import json
import random
import selectors
import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tokenflock.sweeps.hand import Hand
from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.shards import Blank, compute, cut
from tokenflock.sweeps.worker import Job, alarm, pack

SHARD_S = 1.0  # about how long a shard takes: a task of a cluster costs some 10 ms, and what is lost to a crash is this
LOOK_S = 1.0  # spent on the pilot, or one run if that takes longer
LONGEST_S = 20.0  # of one run of the pilot
RUNS = 64
SHARD_BYTES = 64 * 2**20
SHARDS = 100_000  # files a variable


@dataclass(frozen=True)
class Estimate:
    """What a sweep will take."""

    runs: int
    shards: int
    runs_a_shard: int
    run_s: float  # the mean of the pilot
    slowest_s: float
    core_s: float  # of all runs, on one core
    disk_bytes: int
    timed: int  # runs of the pilot

    def told(self, workers: int) -> dict[str, Any]:
        """As a table."""
        return asdict(self) | {"wall_s": self.core_s / workers, "workers": workers}


def run_bytes(plan: Plan) -> int:
    """On disk, of one run: its variables as they are."""
    arrays = Blank(plan, (1,)).arrays
    return sum(8 if array.dtype == object else array.nbytes for array in arrays.values())


def shard_runs(plan: Plan, run_s: float) -> int:
    """Runs for about SHARD_S, within what memory and the number of files allow."""
    wanted = max(1, int(SHARD_S / max(run_s, 1e-6)))
    most = max(1, SHARD_BYTES // run_bytes(plan))
    return max(min(wanted, most), -(-plan.n_runs // SHARDS))


def measure(plan: Plan, aside: bool, timeout: float | None = None) -> list[float]:
    """Seconds of some runs, spread over the grid; the first is computed once before, because it compiles.

    aside: in a process of its own, which a run may take with it.
    """
    longest = LONGEST_S if timeout is None else min(LONGEST_S, timeout)
    chosen = random.Random(0).sample(range(plan.n_runs), min(RUNS, plan.n_runs))
    seconds = (_in_a_worker if aside else _in_this_process)(plan, [chosen[0], *chosen], longest)
    with closing(seconds):
        first, times = next(seconds, longest), []
        for taken in seconds if first < longest else ():
            times.append(taken)
            if sum(times) > LOOK_S:
                break
    return times or [first]


def _in_this_process(plan: Plan, runs: list[int], longest: float) -> Generator[float]:
    grid = cut(plan.shape, 1)
    for run in runs:
        began = time.perf_counter()
        compute(plan, grid, run, timeout=longest, limit=alarm)
        yield time.perf_counter() - began


def _in_a_worker(plan: Plan, runs: list[int], longest: float) -> Generator[float]:
    hand = Hand(pack(Job(plan, "", longest)), longest)
    try:
        hand.time(runs)
        with selectors.DefaultSelector() as select:
            select.register(hand, selectors.EVENT_READ)
            while hand.overdue() is None:
                select.select(0.5)
                news = hand.hear()
                yield from news.took
                if news.done or news.dead or news.error:
                    return
    finally:
        hand.end()


def estimate(
    plan: Plan, runs_a_shard: int | None = None, aside: bool = False, timeout: float | None = None
) -> Estimate:
    """Run the pilot."""
    times = measure(plan, aside, timeout)
    run_s = float(np.mean(times))
    grid = cut(plan.shape, runs_a_shard or shard_runs(plan, run_s))
    files = 4096 * len(grid) * (len(plan.record) + 3)  # a file takes a block of the disk at least
    disk = max(plan.n_runs * run_bytes(plan), files) + len(json.dumps(plan.describe()))
    per = int(np.prod(grid.box))
    return Estimate(plan.n_runs, len(grid), per, run_s, max(times), run_s * plan.n_runs, disk, len(times))
