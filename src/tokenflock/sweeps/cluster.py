"""Many runs on a cluster, through Dask distributed: local, at the address of a scheduler, or jobs of Slurm.

A task is a shard. The worker that gets it computes it in a process of its own (hand.py), so that a run that hangs or
crashes is recorded as it is on one machine, and writes it into the store, which every worker must see under its path.
Nothing but the number of the shard travels back.
"""

from __future__ import annotations

import importlib
import secrets
import selectors
import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokenflock.errors import EngineError, FileError, TokenflockError, missing
from tokenflock.sweeps.depot import Depot
from tokenflock.sweeps.hand import Hand
from tokenflock.sweeps.local import DEATHS, TICK_S, Tell, stillborn
from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.worker import Job, pack

ANSWER_S = 10  # how long a scheduler may take to answer
AHEAD = 2_000  # tasks the scheduler holds at a time: enough for adaptive scaling, and light for any number of shards
KILLS = 20  # of Dask workers in one shard
JOB = ".job-"  # the file beside the store from which workers read what they work on


def _module(name: str, extra: str, purpose: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise missing(name.replace("_", "-"), extra, purpose) from error


def check(where: str) -> None:
    """Say before any work whether there is such a cluster."""
    _module("distributed", "sweep", f"cluster={where!r}")
    if where == "slurm":
        _module("dask_jobqueue", "slurm", "cluster='slurm'")
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
        cluster = _slurm(workers)
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
    """Workers on this machine. adapt: a worker whose nanny is lost with it comes back too."""
    try:
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=0
        )
    except (OSError, RuntimeError) as error:
        raise EngineError(f"no local cluster can be made: {error} Try again, or leave the cluster out.") from error
    cluster.adapt(minimum=workers, maximum=workers)
    return cluster


def _slurm(workers: int) -> Any:
    """Jobs of one core. adapt, not scale: it brings back jobs that the queue lost."""
    jobqueue = _module("dask_jobqueue", "slurm", "cluster='slurm'")
    config = importlib.import_module("dask").config
    asked = {"cores": 1, "processes": 1, "memory": "2GB"}
    own = {key: value for key, value in asked.items() if config.get(f"jobqueue.slurm.{key}", None) is None}
    try:
        cluster = jobqueue.SLURMCluster(**own)
    except (OSError, ValueError, RuntimeError) as error:
        raise EngineError(f"no Slurm cluster can be made: {error}. Look at jobqueue.yaml, and at sbatch.") from error
    cluster.adapt(minimum_jobs=1, maximum_jobs=workers)
    return cluster


def on_cluster(
    plan: Plan, depot: Depot, shards: list[int], where: str, workers: int, timeout: float | None, tell: Tell
) -> None:
    """Compute the shards; what a worker finishes is in the store before it is told."""
    job = pack(Job(plan, str(depot.path.resolve()), timeout))
    file = depot.path.resolve().parent / f".{depot.path.name}{JOB}{secrets.token_hex(8)}"
    with _client(where, workers) as client:
        file.write_bytes(job)
        try:
            _Tasks(client, depot, file, timeout, where).work(shards, tell)
        finally:
            file.unlink(missing_ok=True)


class _Tasks:
    """The shards under way on a cluster."""

    def __init__(self, client: Any, depot: Depot, file: Path, timeout: float | None, where: str) -> None:
        self._client, self._depot, self._where = client, depot, where
        self._file, self._timeout = file, timeout
        self._kills: Counter[int] = Counter()
        self._tries = 0
        self._distributed = importlib.import_module("distributed")

    def _submit(self, shard: int) -> Any:
        self._tries += 1  # a new key every time: Dask would hand back the old answer
        key = f"{self._file.name}-{shard}-{self._tries}"
        return self._client.submit(compute_shard, str(self._file), shard, self._timeout, key=key, pure=False)

    def work(self, shards: list[int], tell: Tell) -> None:
        """All of them, some at a time."""
        waiting = deque(shards)
        under_way: dict[Any, int] = {}
        done = self._distributed.as_completed(loop=self._client.loop)
        while waiting or under_way:
            while waiting and len(under_way) < AHEAD:
                shard = waiting.popleft()
                if self._depot.is_done(shard):
                    tell(shard)
                    continue
                future = self._submit(shard)
                under_way[future.key] = shard
                done.add(future)
            if under_way:
                future = next(done)
                shard = under_way.pop(future.key)
                if self._ended(future, shard):
                    tell(shard)
                else:
                    waiting.appendleft(shard)

    def _ended(self, future: Any, shard: int) -> bool:
        """Whether a shard is done; its worker may have been killed, and then it is given out again."""
        if future.status == "finished":
            return True
        error = future.exception() if future.status == "error" else None
        if isinstance(error, self._distributed.scheduler.KilledWorker):
            self._kills[shard] += 1
            if self._kills[shard] < KILLS:
                return False
        if isinstance(error, TokenflockError):
            raise error
        if error is not None:
            raise EngineError(f"shard {shard} failed on the cluster: {type(error).__name__}: {error}") from error
        left = len(self._depot.pending())
        raise EngineError(
            f"the Dask scheduler at {self._where!r} is gone. Everything that was reported done is in the store, "
            f"{left} of {len(self._depot.grid)} shards are left: start a scheduler and give the same command again."
        )


_hands = threading.local()


def compute_shard(file: str, shard: int, timeout: float | None) -> int:
    """What a Dask worker does: have its own process compute a shard and write it."""
    deaths: Counter[int] = Counter()
    lost: dict[int, tuple[str, str]] = {}
    unborn = 0.0
    while True:
        hand = _hand(file, timeout)
        hand.give(shard, lost)
        how = _followed(hand)
        if not how:
            return shard
        _hands.hand = None
        run = hand.run
        hand.end()
        if not hand.ready:
            unborn += stillborn(how)
            if unborn >= 1:
                raise EngineError(f"processes die before they begin on this worker ({how}).")
        elif how == "overtime":
            assert run is not None
            lost[run] = ("overtime", f"It hung beyond the timeout of {timeout:g} s.")
        elif run is not None:
            deaths[run] += 1
            if deaths[run] >= DEATHS:
                lost[run] = ("lost", f"{DEATHS} workers died in it ({how}).")


def _hand(file: str, timeout: float | None) -> Hand:
    """The process of this thread of the worker, started when it is first needed."""
    hand = getattr(_hands, "hand", None)
    if hand is not None and (_hands.file != file or hand.hear().dead):
        hand.end()
        hand = None
    if hand is None:
        try:
            job = Path(file).read_bytes()
        except OSError as error:
            raise FileError(
                f"a worker cannot read {file!r}: {error.strerror}. The store must be on a disk that all workers share."
            ) from error
        hand = Hand(job, timeout)
        _hands.hand, _hands.file = hand, file
    return hand


def _followed(hand: Hand) -> str:
    """Wait for the end of a shard: "" if it is done, or how the process died."""
    with selectors.DefaultSelector() as select:
        select.register(hand, selectors.EVENT_READ)
        while True:
            select.select(TICK_S)
            news = hand.hear()
            if news.error:
                raise FileError(news.error) if "cannot be written" in news.error else EngineError(news.error)
            if news.done:
                return ""
            if news.dead:
                return news.dead
            if hand.overdue:
                return "overtime"
