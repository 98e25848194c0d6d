"""A worker: a process that computes shards, and writes them, one after the other as its parent process says.

    python -m tokenflock.sweeps.worker HEARTBEAT

The parent writes into a pipe: first the pickled job, then a line of JSON for every shard. The worker answers in lines:
`ready`, `took` with seconds, `done`, `unwritable` or `error` with the words. Before a run begins its number is written
to the heartbeat, a file. When the pipe ends, because the parent is gone, the worker ends at once.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from queue import Empty, Queue
from types import FrameType
from typing import TYPE_CHECKING, Any

from tokenflock.errors import missing
from tokenflock.sweeps.heartbeat import Heartbeat

if TYPE_CHECKING:
    from tokenflock.sweeps.plan import Plan
    from tokenflock.sweeps.sweep_store import SweepStore

HEADER = struct.Struct("<QQ")  # the lengths of the search path and of the job
IDLE_S = 120.0  # a worker that gets no order for so long ends: on a cluster nobody else would end it

Answer = Callable[[str], None]


@dataclass(frozen=True)
class WorkerJob:
    """What a worker works on."""

    plan: Plan
    path: str  # of the store
    timeout: float | None
    durable: bool = True


def pack(job: WorkerJob) -> bytes:
    """A job as a worker reads it. Functions of a script or a notebook travel by value, which cloudpickle can do."""
    pickler: Any = pickle
    try:
        pickler = importlib.import_module("cloudpickle")
    except ImportError:
        own = [job.plan.make, job.plan.starter, *(r.function for r in job.plan.record.values())]
        if any(getattr(function, "__module__", "") == "__main__" for function in own):
            raise missing("cloudpickle", "sweep", "Sending functions of a script to workers") from None
    path, body = json.dumps(sys.path).encode(), pickler.dumps(job)
    return HEADER.pack(len(path), len(body)) + path + bytes(body)


def alarms_ring() -> bool:
    """Whether a run that takes too long can be woken: in the main thread, and not on Windows, which has no alarms.

    Where none rings, the parent process kills the worker.
    """
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@contextmanager
def alarm(seconds: float | None, put_off: Callable[[], None] | None = None) -> Iterator[None]:
    """Raise Overtime in the main thread after so many seconds.

    Compiling and importing do not count: cut short they would begin again in the next run, for ever. put_off: called
    when the alarm is put off for that.
    """
    from tokenflock.sweeps.shards import Overtime

    if seconds is None or not alarms_ring():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        if not _preparing(frame):
            raise Overtime
        signal.setitimer(signal.ITIMER_REAL, seconds)
        if put_off is not None:
            put_off()

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _preparing(frame: FrameType | None) -> bool:
    """Whether a library is being imported, or a kernel compiled."""
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(("importlib", "numba.core")):
            return True
        frame = frame.f_back
    return False


def _read(source: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(source, min(size, 1 << 20))
        if not part:
            os._exit(0)  # the parent process is gone
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _read_orders(source: int, orders: Queue[dict[str, Any]]) -> None:
    """Lines of JSON into the queue; the end of the pipe is the end of the worker, whatever it is doing."""
    buffer = b""
    while part := os.read(source, 1 << 16):
        *lines, buffer = (buffer + part).split(b"\n")
        for line in lines:
            orders.put(json.loads(line))
    os._exit(0)


def main() -> None:
    """Work until the pipe ends."""
    # The pipes are kept for ourselves: what a run prints goes to stderr and cannot be taken for an answer.
    source, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    heartbeat = Heartbeat(Path(sys.argv[1]))
    heartbeat.take_name()  # whoever is killed from here on leaves nothing
    path_size, body_size = HEADER.unpack(_read(source, HEADER.size))
    sys.path[:] = json.loads(_read(source, path_size))
    body = _read(source, body_size)
    orders: Queue[dict[str, Any]] = Queue()
    threading.Thread(target=_read_orders, args=(source, orders), daemon=True).start()

    def answer(line: str) -> None:
        try:
            os.write(answers, (line.replace("\n", " ") + "\n").encode())
        except OSError:
            os._exit(0)

    try:
        from tokenflock.sweeps.shards import words_of  # what takes long, before we say that we are ready
        from tokenflock.sweeps.sweep_store import UnwritableStore

        job: WorkerJob = pickle.loads(body)
    except Exception as error:
        answer(f"error {type(error).__name__}: {error}")
        return
    answer("ready")
    while True:
        try:
            order = orders.get(timeout=IDLE_S)
        except Empty:
            return
        try:
            if "time" in order:
                _time(job, order["time"], heartbeat, answer)
            else:
                _compute(job, order, heartbeat)
        except UnwritableStore as error:
            answer(f"unwritable {error}")
        except Exception as error:
            answer(f"error {words_of(error)}")
        else:
            heartbeat.clear()
            answer("done")


def _compute(job: WorkerJob, order: dict[str, Any], heartbeat: Heartbeat) -> None:
    """Compute a shard and write it into the store."""
    from tokenflock.sweeps.shards import compute

    store, shard = _opened(job.path), order["shard"]
    store.durable = job.durable
    lost = {int(run): (outcome, why) for run, (outcome, why) in order["lost"].items()}
    limit = partial(alarm, put_off=heartbeat.restart_clock)
    made = compute(
        job.plan,
        store.grid,
        shard,
        lost=lost,
        timeout=job.timeout,
        limit=limit,
        beat=heartbeat.begin,
        alone=order["alone"],
    )
    heartbeat.clear()
    store.write(shard, made)


@lru_cache(1)
def _opened(path: str) -> SweepStore:
    from tokenflock.sweeps.sweep_store import SweepStore

    return SweepStore(Path(path))


def _time(job: WorkerJob, runs: list[int], heartbeat: Heartbeat, answer: Answer) -> None:
    """Say how long each of these runs takes."""
    from tokenflock.sweeps.shards import time_runs

    limit = partial(alarm, put_off=heartbeat.restart_clock)
    for seconds in time_runs(job.plan, runs, timeout=job.timeout, limit=limit, beat=heartbeat.begin):
        answer(f"took {seconds}")


if __name__ == "__main__":
    main()
