"""Many runs on a cluster, through Dask distributed: local, at the address of a scheduler, or jobs of Slurm.

A task is a shard. The Dask worker that gets it has a worker process of its own compute the shard, so that a run that
hangs or crashes is recorded as it is on one machine, and write it into the store, which every worker must see under its
path. Nothing but the number of the shard travels back. The Dask workers of a local cluster are threads of this process:
they only wait.
"""

from __future__ import annotations

import glob
import importlib
import logging
import secrets
import shutil
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from tokenflock.errors import EngineError, FileError, TokenflockError, missing
from tokenflock.lock import take
from tokenflock.sweeps.local import Tell
from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.sweep_store import OLD_S, SweepStore, age
from tokenflock.sweeps.worker import WorkerJob, pack
from tokenflock.sweeps.worker_pool import WorkerPool

ANSWER_S = 10  # how long a scheduler may take to answer
MOST_TASKS = (
    2_000  # tasks the scheduler holds at a time: enough for adaptive scaling, and light for any number of shards
)
QUIET = {  # what a local cluster watches of itself, fifty times a second, takes 3 % of a core
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.active-memory-manager.start": False,
}
ANY_PORT = {"dashboard_address": "127.0.0.1:0"}  # a scheduler takes 8787 else, and warns if another has it
PAUSE_S = 0.1  # between two looks at jobs of Slurm
KILLS = 20  # of Dask workers in one shard
JOB = ".job-"  # the file beside the store from which workers read what they work on
CANNOT_START = "processes die before they begin on this worker ({})."


def _module(name: str, extra: str, purpose: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise missing(name.replace("_", "-"), extra, purpose) from error


def _slurm() -> Any:
    """The module slurm.py. Its dask-jobqueue 0.9.0 takes Ctrl-C for itself (its issue 696): it is given back."""
    ours = signal.getsignal(signal.SIGINT)
    try:
        _module("dask_jobqueue", "slurm", "cluster='slurm'")
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, ours)
    return importlib.import_module("tokenflock.sweeps.slurm")


def check(where: str) -> None:
    """Say before any work whether there is such a cluster."""
    _module("distributed", "sweep", f"cluster={where!r}")
    if where == "slurm":
        _slurm()
        if shutil.which("sbatch") is None:
            advice = "Give this command where jobs are submitted from. Nothing was begun."
            raise EngineError(f"cluster='slurm' needs the command sbatch, and there is none on the PATH. {advice}")
    elif where != "local":
        with _client(where, 0):
            pass


@contextmanager
def _client(where: str, workers: int) -> Iterator[Any]:
    """A client of the scheduler; a cluster that we made ends with it."""
    distributed = _module("distributed", "sweep", f"cluster={where!r}")
    cluster = None
    if where == "local":
        cluster = _local(distributed, workers)
    elif where == "slurm":
        cluster = _slurm().slurm_cluster(workers, ANY_PORT)
    try:
        client = distributed.Client(where if cluster is None else cluster, timeout=ANSWER_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        if cluster is not None:
            cluster.close()
        advice = "Start one with `dask scheduler`, or use 'local'. Nothing was begun."
        raise EngineError(
            f"no Dask scheduler answers at {where!r} after {ANSWER_S} s ({type(error).__name__}). {advice}"
        ) from error
    try:
        yield client
    finally:
        client.close(timeout=2)
        if cluster is not None:
            cluster.close()


def _local(distributed: Any, workers: int) -> Any:
    """Dask workers as threads of this process: their worker processes compute, and no other process is started."""
    config = importlib.import_module("dask").config
    try:
        with config.set(QUIET):
            return distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=False,
                scheduler_kwargs={"dashboard": False, **ANY_PORT},
                memory_limit=0,
                silence_logs=logging.ERROR,  # it warns of every task that Ctrl-C ends
            )
    except (OSError, RuntimeError) as error:
        raise EngineError(f"no local cluster can be made: {error} Try again, or leave the cluster out.") from error


def on_cluster(
    plan: Plan, store: SweepStore, shards: list[int], where: str, workers: int, timeout: float | None, tell: Tell
) -> None:
    """Compute the shards; what a worker finishes is in the store before it is told."""
    path = store.path.resolve()
    job = pack(WorkerJob(plan, str(path), timeout, store.durable))
    _remove_left_over(path)
    file = path.parent / f".{store.path.name}{JOB}{secrets.token_hex(8)}"
    try:
        with _client(where, workers) as client, file.open("wb") as held:
            held.write(job)
            held.flush()
            take(held, wait=False)
            try:
                _Tasks(client, store, file, timeout, where).work(shards, tell)
            finally:
                held.close()
                file.unlink(missing_ok=True)
                if pool := _pools.get(str(file)):
                    pool.stop()
    finally:
        if pool := _pools.pop(str(file), None):
            pool.close()


def _remove_left_over(store: Path) -> None:
    """Remove the jobs of commands that were killed: nobody holds their files. A young one may not be taken yet."""
    for file in store.parent.glob(f".{glob.escape(store.name)}{JOB}*"):
        with suppress(OSError):
            with file.open("r+b") as held:
                unused = age(file) > OLD_S and take(held, wait=False)
            if unused:
                file.unlink()


class _Tasks:
    """The shards under way on a cluster."""

    def __init__(self, client: Any, store: SweepStore, file: Path, timeout: float | None, where: str) -> None:
        self._client, self._store, self._where = client, store, where
        self._file, self._timeout = file, timeout
        self._kills: Counter[int] = Counter()
        self._tries = 0
        self._distributed = importlib.import_module("distributed")
        self._look = client.cluster.look if where == "slurm" else None

    def _submit(self, shard: int) -> Any:
        self._tries += 1  # a new key every time: Dask would hand back the old answer
        key = f"{self._file.name}-{shard}-{self._tries}"
        return self._client.submit(compute_shard, str(self._file), shard, self._timeout, key=key, pure=False)

    def work(self, shards: list[int], tell: Tell) -> None:
        """Compute all the shards, some at a time."""
        queue = deque(shards)
        under_way: dict[Any, int] = {}
        done = self._distributed.as_completed(loop=self._client.loop)
        while queue or under_way:
            while queue and len(under_way) < MOST_TASKS:
                shard = queue.popleft()
                if self._store.is_done(shard):
                    tell(shard)
                    continue
                future = self._submit(shard)
                under_way[future.key] = shard
                done.add(future)
            if under_way:
                future = self._next(done)
                shard = under_way.pop(future.key)
                if self._ended(future, shard):
                    tell(shard)
                else:
                    queue.appendleft(shard)

    def _next(self, done: Any) -> Any:
        """The next task that ends. Jobs of Slurm are watched meanwhile."""
        while self._look is not None and not done.has_ready():
            self._look()
            time.sleep(PAUSE_S)
        return next(done)

    def _ended(self, future: Any, shard: int) -> bool:
        """Whether a shard is done; if its Dask worker was killed, the shard is given out again."""
        if (status := future.status) not in ("error", "cancelled"):
            return True  # it is in the store, even if the answer was lost with its worker by now
        error = future.exception() if status == "error" else None
        if isinstance(error, self._distributed.scheduler.KilledWorker):
            self._kills[shard] += 1
            if self._kills[shard] < KILLS:
                return False
        if isinstance(error, TokenflockError):
            raise error
        if error is not None:
            why = f"{type(error).__name__}: {error}"
            advice = f"Compute it here to see more: --shard {shard}/{len(self._store.grid)}, without the cluster."
            raise EngineError(f"shard {shard} failed on the cluster ({why}). {advice}") from error
        left = len(self._store.pending())
        raise EngineError(
            f"the Dask scheduler at {self._where!r} is gone. Everything that was reported done is in the store, "
            f"{left} of {len(self._store.grid)} shards are left: start a scheduler and give the same command again."
        )


_pools: dict[str, WorkerPool] = {}  # of this process, by the file of their job
_lock = threading.Lock()


def compute_shard(file: str, shard: int, timeout: float | None) -> int:
    """What a Dask worker does: have its own process compute a shard and write it."""
    with _lock:
        pool = _pools.setdefault(file, WorkerPool(partial(_read_job, file), timeout, CANNOT_START))
    for other in [*_pools.values()]:
        if other is not pool:
            other.drop()
    return pool.compute(shard)


def _read_job(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise FileError(
            f"a worker cannot read {file!r}: {error.strerror}. The store must be on a disk that all workers share."
        ) from error
