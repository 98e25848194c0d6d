"""Many runs on a cluster, through Dask distributed: local, at the address of a scheduler, or jobs of Slurm.

A task is a shard. The Dask worker that gets it has a process of its own (hand.py) compute it, so that a run that hangs
or crashes is recorded as it is on one machine, and write it into the store, which every worker must see under its path.
Nothing but the number of the shard travels back. Those of a local cluster are threads of this process: they only wait.
"""

from __future__ import annotations

import importlib
import logging
import secrets
import selectors
import shutil
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokenflock.errors import EngineError, FileError, TokenflockError, missing
from tokenflock.sweeps.depot import Depot
from tokenflock.sweeps.hand import Hand
from tokenflock.sweeps.local import DEATHS, TICK_S, Tell, dying, stillborn
from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.worker import Job, pack

ANSWER_S = 10  # how long a scheduler may take to answer
AHEAD = 2_000  # tasks the scheduler holds at a time: enough for adaptive scaling, and light for any number of shards
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


def _module(name: str, extra: str, purpose: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise missing(name.replace("_", "-"), extra, purpose) from error


def _slurm() -> Any:
    """slurm.py. What it imports takes Ctrl-C for itself (dask-jobqueue 0.9.0, its issue 696): it is given back."""
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
        cluster = _slurm().jobs(workers, ANY_PORT)
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
    """Dask workers as threads of this process: what computes are their hands, and no other process is to be started."""
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
    plan: Plan, depot: Depot, shards: list[int], where: str, workers: int, timeout: float | None, tell: Tell
) -> None:
    """Compute the shards; what a worker finishes is in the store before it is told."""
    job = pack(Job(plan, str(depot.path.resolve()), timeout, depot.lasting))
    file = depot.path.resolve().parent / f".{depot.path.name}{JOB}{secrets.token_hex(8)}"
    try:
        with _client(where, workers) as client:
            file.write_bytes(job)
            try:
                _Tasks(client, depot, file, timeout, where).work(shards, tell)
            finally:
                file.unlink(missing_ok=True)
                _hands.stop(str(file))
    finally:
        _hands.forget(str(file))


class _Tasks:
    """The shards under way on a cluster."""

    def __init__(self, client: Any, depot: Depot, file: Path, timeout: float | None, where: str) -> None:
        self._client, self._depot, self._where = client, depot, where
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
                future = self._next(done)
                shard = under_way.pop(future.key)
                if self._ended(future, shard):
                    tell(shard)
                else:
                    waiting.appendleft(shard)

    def _next(self, done: Any) -> Any:
        """The next that ends. Who waits for jobs of Slurm looks after them."""
        while self._look is not None and not done.has_ready():
            self._look()
            time.sleep(PAUSE_S)
        return next(done)

    def _ended(self, future: Any, shard: int) -> bool:
        """Whether a shard is done; its worker may have been killed, and then it is given out again."""
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
            raise EngineError(f"shard {shard} failed on the cluster: {type(error).__name__}: {error}") from error
        left = len(self._depot.pending())
        raise EngineError(
            f"the Dask scheduler at {self._where!r} is gone. Everything that was reported done is in the store, "
            f"{left} of {len(self._depot.grid)} shards are left: start a scheduler and give the same command again."
        )


class _Hands:
    """The processes of the worker threads of this process, one each, started when it is first needed."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[str, Hand]] = {}  # {thread: (the file of its job, its process)}
        self._over: set[str] = set()
        self._lock = threading.Lock()

    def mine(self, file: str, timeout: float | None) -> Hand:
        """That of this thread."""
        known, hand = self._kept.get(threading.get_ident(), ("", None))
        if hand is not None and known == file and not hand.hear().dead:
            return hand
        self.drop()
        with self._lock:
            if file in self._over:
                raise EngineError("the sweep is over.")
            try:
                hand = Hand(Path(file).read_bytes(), timeout)
            except OSError as error:
                raise FileError(
                    f"a worker cannot read {file!r}: {error.strerror}. The store must be on a disk that all workers "
                    "share."
                ) from error
            self._kept[threading.get_ident()] = file, hand
        return hand

    def drop(self) -> None:
        """End that of this thread."""
        if kept := self._kept.pop(threading.get_ident(), None):
            kept[1].end()

    def stop(self, file: str) -> None:
        """A job is over: its processes are killed, and their threads see them die and start no others."""
        with self._lock:
            self._over.add(file)
            for known, hand in [*self._kept.values()]:
                if known == file:
                    hand.kill()

    def forget(self, file: str) -> None:
        """Its threads have ended: so do what they left."""
        for thread, (known, hand) in [*self._kept.items()]:
            if known == file:
                del self._kept[thread]
                hand.end()


_hands = _Hands()


def compute_shard(file: str, shard: int, timeout: float | None) -> int:
    """What a Dask worker does: have its own process compute a shard and write it."""
    deaths: Counter[int | None] = Counter()
    lost: dict[int, tuple[str, str]] = {}
    unborn = 0.0
    while True:
        hand = _hands.mine(file, timeout)
        hand.give(shard, lost)
        how, run = _followed(hand)
        if not how:
            return shard
        _hands.drop()
        if not hand.ready:
            unborn += stillborn(how)
            if unborn >= 1:
                raise EngineError(f"processes die before they begin on this worker ({how}).")
        elif how == "overtime":
            assert run is not None
            lost[run] = ("overtime", f"It hung beyond the timeout of {timeout:g} s.")
        else:
            deaths[run] += 1
            if deaths[run] >= DEATHS and run is None:
                raise EngineError(dying(shard, how))
            if deaths[run] >= DEATHS and run is not None:
                lost[run] = ("lost", f"{DEATHS} workers died in it ({how}).")


def _followed(hand: Hand) -> tuple[str, int | None]:
    """Wait for the end of a shard: "" if it is done, or how the process died, and in which run."""
    with selectors.DefaultSelector() as select:
        select.register(hand, selectors.EVENT_READ)
        while True:
            select.select(TICK_S)
            news = hand.hear()
            if news.error:
                raise FileError(news.error) if "cannot be written" in news.error else EngineError(news.error)
            if news.done:
                return "", None
            if news.dead:
                return news.dead, hand.run
            if (run := hand.overdue()) is not None:
                return "overtime", run
