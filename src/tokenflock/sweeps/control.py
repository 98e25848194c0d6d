"""Carrying out a plan: open the store or make one, give out what is not done, and say how far it is."""

from __future__ import annotations

import random
import tempfile
import threading
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokenflock.arguments import scalar, whole
from tokenflock.engine.machine import threads
from tokenflock.errors import bad, clash
from tokenflock.sweeps import depot as depots
from tokenflock.sweeps.counting import Count, Progress
from tokenflock.sweeps.depot import Depot
from tokenflock.sweeps.local import Crew, Stopped, in_this_process, until
from tokenflock.sweeps.pilot import estimate
from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.shards import cut

if TYPE_CHECKING:
    import xarray as xr

WORTH_S = 6.0  # core seconds from which worker processes, which take two to start, are worth it


@dataclass(frozen=True)
class Means:
    """How to carry out a plan: nothing here changes a bit of the result, but for runs that a timeout cuts."""

    workers: int | None = None  # 0: in this process; None: as many as pay
    cluster: str | None = None
    timeout: float | None = None  # seconds a run
    hours: float | None = None  # of all
    retry: bool = False  # runs that failed
    runs_a_shard: int | None = None
    part: tuple[int, int] | None = None  # (i, n): every n-th shard from the i-th on
    lasting: bool = True  # what is done survives a power failure

    def __post_init__(self) -> None:
        if self.workers is not None:
            whole("workers", self.workers, 0, "0 computes in this process.")
        if self.runs_a_shard is not None:
            whole("runs_a_shard", self.runs_a_shard, 1)
        for name in ("timeout", "hours"):
            if getattr(self, name) is not None:
                scalar(name, getattr(self, name), "a finite number > 0", lambda v: v > 0)
        if self.cluster is not None and not isinstance(self.cluster, str):
            raise bad("cluster", self.cluster, "'local', 'slurm' or the address of a Dask scheduler")
        if self.part is not None and not 0 <= self.part[0] < self.part[1]:
            raise bad("shard", self.part, "i/n with i from 0 to n - 1", "For a job array of 8: 0/8 to 7/8.")


def carry_out(plan: Plan, store: Path | None, means: Means, progress: Progress = None) -> xr.Dataset:
    """Everything that is not done yet, and the Dataset: in memory if there is no store."""
    if store is not None:
        work(plan, store, means, progress)
        return Depot(store).load()
    if means.part is not None:
        raise clash("a part of a sweep", "no store", "The parts meet in one store: give it.")
    with tempfile.TemporaryDirectory(prefix="tokenflock-sweep-") as folder:
        place = Path(folder, "sweep.zarr")
        try:
            work(plan, place, replace(means, lasting=False), progress)
        except KeyboardInterrupt:
            if not place.exists():
                raise
            left = len(Depot(place).pending())
            warnings.warn(f"Interrupted: {left} shards were not computed, their runs have outcome -1.", stacklevel=3)
        return Depot(place).load().load()


def work(plan: Plan, store: Path, means: Means, progress: Progress = None) -> Depot:
    """Compute what is not done; the store."""
    deadline = None if means.hours is None else time.monotonic() + 3600 * means.hours
    if means.cluster is not None:
        from tokenflock.sweeps import cluster

        cluster.check(means.cluster)
    depot, core_s = opened(plan, store, means)
    shards = mend(depot, means)
    if not shards:
        return depot
    depots.check_place(store)
    depot.tidy()
    depot.lasting = means.lasting
    random.shuffle(shards)  # two processes on one store do not follow each other from shard to shard
    count = Count(depot.grid, shards, progress)
    tell = until(deadline, count)
    crew = means.workers
    if crew is None:
        few = core_s is not None and core_s * len(shards) / len(depot.grid) < WORTH_S
        crew = 0 if few or len(shards) == 1 else threads()
    if means.timeout is not None and not _alarms_ring():
        crew = max(crew, 1)
    try:
        if means.cluster is not None:
            cluster.on_cluster(plan, depot, shards, means.cluster, crew or threads(), means.timeout, tell)
        elif crew == 0:
            in_this_process(plan, depot, shards, means.timeout, tell)
        else:
            Crew(plan, depot, min(crew, len(shards)), means.timeout).work(shards, tell)
    except Stopped:
        pass
    finally:
        count.end()
    return depot


def _alarms_ring() -> bool:
    """Only the main thread of a process can be woken from a run that takes too long."""
    return threading.current_thread() is threading.main_thread()


def mend(depot: Depot, means: Means) -> list[int]:
    """The shards to compute: those that are not done, those that are damaged, and if asked those with failed runs."""
    if damaged := depot.verify():
        names = ", ".join(str(shard) for shard in damaged[:5]) + (", ..." if len(damaged) > 5 else "")
        told = f"{len(damaged)} of {len(depot.grid)} shards of {depot.path} are damaged ({names})"
        warnings.warn(f"{told}: they are computed again.", stacklevel=4)
        depot.forget(damaged)
    if means.retry:
        depot.forget(list(depot.failed()))
    return [shard for shard in depot.pending() if means.part is None or shard % means.part[1] == means.part[0]]


def opened(plan: Plan, store: Path, means: Means) -> tuple[Depot, float | None]:
    """The store, made if it is not there; then also the seconds that all runs take on one core."""
    found = depots.open_for(store, plan)
    if found is not None:
        return found, None
    depots.check_place(store)
    if means.runs_a_shard is not None:
        return depots.create(store, plan, cut(plan.shape, means.runs_a_shard)), None
    aside = bool(means.workers) or means.cluster is not None or not _alarms_ring()
    told = estimate(plan, aside=aside, timeout=means.timeout)
    return depots.create(store, plan, cut(plan.shape, told.runs_a_shard)), told.core_s
