"""Executing a plan: open the store or make one, compute the shards that are not done, and say how far it is."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenflock.arguments import scalar, warn, whole
from tokenflock.engine.machine import threads
from tokenflock.errors import bad, clash
from tokenflock.sweeps import sweep_store
from tokenflock.sweeps.cost_estimate import estimate_cost
from tokenflock.sweeps.local import in_this_process, in_workers
from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.progress import ProgressOption, SweepProgress
from tokenflock.sweeps.shards import cut
from tokenflock.sweeps.sweep_store import SweepStore
from tokenflock.sweeps.worker import alarms_ring

if TYPE_CHECKING:
    import xarray as xr

WORTH_S = 6.0  # core seconds from which worker processes, which take two to start, are worth it


@dataclass(frozen=True)
class ExecutionOptions:
    """How to execute a plan: nothing here changes a bit of the result, but for runs that a timeout cuts."""

    workers: int | None = None  # 0: in this process; None: as many as pay
    cluster: str | None = None
    timeout: float | None = None  # seconds a run
    hours: float | None = None  # of the whole sweep
    retry: bool = False  # compute runs that failed again
    runs_a_shard: int | None = None
    part: tuple[int, int] | None = None  # (i, n): every n-th shard from the i-th on
    durable: bool = True  # what is done survives a power failure

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

    @classmethod
    def of(cls, told: Mapping[str, Any], given: Mapping[str, Any], **more: Any) -> ExecutionOptions:
        """What the caller gave (None: nothing), else what the file of the sweep says."""
        return cls(**dict(told) | {name: value for name, value in given.items() if value is not None}, **more)


class _TimeIsOver(Exception):
    """The hours that the sweep may take have passed."""


def run_sweep(plan: Plan, path: Path | None, options: ExecutionOptions, progress: ProgressOption = None) -> xr.Dataset:
    """Compute everything that is not done yet; the Dataset, in memory if there is no path of a store."""
    if path is not None:
        return run_pending(plan, path, options, progress).load()
    if options.part is not None:
        raise clash("a part of a sweep", "no store", "The parts meet in one store: give it.")
    with tempfile.TemporaryDirectory(prefix="tokenflock-sweep-") as folder:
        scratch = Path(folder, "sweep.zarr")
        try:
            run_pending(plan, scratch, replace(options, durable=False), progress)
        except KeyboardInterrupt:
            if not scratch.exists():
                raise
            left = len(SweepStore(scratch).pending())
            warn(f"Interrupted: {left} shards were not computed, their runs have outcome -1.")
        return SweepStore(scratch).load().load()


def run_pending(plan: Plan, path: Path, options: ExecutionOptions, progress: ProgressOption = None) -> SweepStore:
    """Compute the shards of a store that are not done; the store, made if it is not there."""
    deadline = None if options.hours is None else time.monotonic() + 3600 * options.hours
    if options.cluster is not None:
        from tokenflock.sweeps import cluster

        cluster.check(options.cluster)
    store, core_s = _open_or_create(plan, path, options)
    shards = _shards_to_compute(store, options)
    if not shards:
        return store
    sweep_store.check_place(path)
    store.remove_partial_files()
    store.durable = options.durable
    random.shuffle(shards)  # two processes on one store do not follow each other from shard to shard
    shown = SweepProgress(store.grid, shards, progress)

    def tell(shard: int) -> None:
        shown(shard)
        if deadline is not None and time.monotonic() > deadline:
            raise _TimeIsOver

    workers = options.workers
    if workers is None:
        few = core_s is not None and core_s * len(shards) / len(store.grid) < WORTH_S
        workers = 0 if few or len(shards) == 1 else threads()
    if options.timeout is not None and not alarms_ring():
        workers = max(workers, 1)
    try:
        if options.cluster is not None:
            cluster.on_cluster(plan, store, shards, options.cluster, workers or threads(), options.timeout, tell)
        elif workers == 0:
            in_this_process(plan, store, shards, options.timeout, tell)
        else:
            in_workers(plan, store, shards, min(workers, len(shards)), options.timeout, tell)
    except _TimeIsOver:
        pass
    finally:
        shown.end()
    return store


def _shards_to_compute(store: SweepStore, options: ExecutionOptions) -> list[int]:
    """The shards that are not done, those that are damaged, and if asked those with failed runs."""
    if damaged := store.verify():
        names = ", ".join(str(shard) for shard in damaged[:5]) + (", ..." if len(damaged) > 5 else "")
        told = f"{len(damaged)} of {len(store.grid)} shards of {store.path} are damaged ({names})"
        warn(f"{told}: they are computed again.")
        store.forget(damaged)
    if options.retry:
        store.forget(list(store.failed()))
    part, parts = options.part or (0, 1)
    return [shard for shard in store.pending() if shard % parts == part]


def _open_or_create(plan: Plan, path: Path, options: ExecutionOptions) -> tuple[SweepStore, float | None]:
    """The store; for a new one whose runs were timed also the seconds that all runs take on one core."""
    found = sweep_store.open_for(path, plan)
    if found is not None:
        return found, None
    sweep_store.check_place(path)
    if options.runs_a_shard is not None:
        return sweep_store.create(path, plan, cut(plan.shape, options.runs_a_shard)), None
    in_worker = bool(options.workers) or options.cluster is not None or not alarms_ring()
    cost = estimate_cost(plan, in_worker=in_worker, timeout=options.timeout)
    return sweep_store.create(path, plan, cut(plan.shape, cost.runs_a_shard)), cost.core_s
