"""A worker: a process that computes shards, and writes them, one after the other as it is told.

    python -m tokenflock.sweeps.worker SLATE

It is fed through a pipe: first the pickled job, then a line of JSON for every shard. It answers in lines: `ready`,
`took` with seconds, `done`, or `error` with the words. Each run is written on the slate, the number of an open file,
before it begins. When the pipe ends, because whoever fed it is gone, it ends at once.
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
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from queue import Empty, Queue
from types import FrameType
from typing import Any

from tokenflock.errors import FileError, missing
from tokenflock.sweeps.slate import Slate

HEADER = struct.Struct("<QQ")  # the lengths of the search path and of the job
IDLE_S = 120.0  # a worker that is told nothing for so long ends: on a cluster nobody else would end it


Answer = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """What a worker works on."""

    plan: Any
    path: str
    timeout: float | None
    lasting: bool = True


def pack(job: Job) -> bytes:
    """A job as a worker reads it. Functions of a script or a notebook travel by value, which cloudpickle can do."""
    pickler: Any = pickle
    try:
        pickler = importlib.import_module("cloudpickle")
    except ImportError:
        own = [job.plan.make, job.plan.starter, *(r.function for r in job.plan.record.values())]
        if any(getattr(function, "__module__", "") == "__main__" for function in own):
            raise missing("cloudpickle", "sweep", "Sending functions of a script to workers") from None
    path, body = json.dumps(sys.path).encode(), pickler.dumps(job)
    return HEADER.pack(len(path), len(body)) + path + body


@contextmanager
def alarm(seconds: float | None, still: Callable[[], None] | None = None) -> Iterator[None]:
    """Raise Overtime in the main thread after so many seconds.

    Compiling and importing do not count: cut short they would begin again in the next run, for ever. still: called
    when the alarm is put off for that.
    """
    from tokenflock.sweeps.shards import Overtime

    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        if not _preparing(frame):
            raise Overtime
        signal.setitimer(signal.ITIMER_REAL, seconds)
        if still is not None:
            still()

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
            os._exit(0)  # whoever started us is gone
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _listen(source: int, orders: Queue[dict[str, Any]]) -> None:
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever feeds us
    slate = Slate(int(sys.argv[1]))
    path_size, body_size = HEADER.unpack(_read(source, HEADER.size))
    sys.path[:] = json.loads(_read(source, path_size))
    body = _read(source, body_size)
    orders: Queue[dict[str, Any]] = Queue()
    threading.Thread(target=_listen, args=(source, orders), daemon=True).start()

    def answer(line: str) -> None:
        try:
            os.write(answers, (line.replace("\n", " ") + "\n").encode())
        except OSError:
            os._exit(0)

    try:
        importlib.import_module("tokenflock.sweeps.shards")  # what takes long, before we say that we are ready
        job: Job = pickle.loads(body)
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
                _time(job, order["time"], slate, answer)
            else:
                _compute(job, order, slate)
        except FileError as error:
            answer(f"error {error}")
        except Exception as error:
            answer(f"error {type(error).__name__}: {error}")
        else:
            slate.clear()
            answer("done")


def _compute(job: Job, order: dict[str, Any], slate: Slate) -> None:
    """A shard, into the store."""
    from tokenflock.sweeps.shards import compute

    depot, shard = _opened(job.path), order["shard"]
    depot.lasting = job.lasting
    lost = {int(run): (outcome, why) for run, (outcome, why) in order["lost"].items()}
    watched: dict[str, Any] = {"limit": partial(alarm, still=slate.still), "beat": slate.begin}
    made = compute(job.plan, depot.grid, shard, lost=lost, timeout=job.timeout, **watched)
    slate.clear()
    depot.write(shard, made)


@lru_cache(1)
def _opened(path: str) -> Any:
    from tokenflock.sweeps.depot import Depot

    return Depot(Path(path))


def _time(job: Job, runs: list[int], slate: Slate, answer: Answer) -> None:
    """Runs of which nothing is kept but their seconds."""
    from tokenflock.sweeps.shards import compute, cut

    grid = cut(job.plan.shape, 1)
    watched: dict[str, Any] = {"limit": partial(alarm, still=slate.still), "beat": slate.begin}
    for run in runs:
        began = time.perf_counter()
        compute(job.plan, grid, run, timeout=job.timeout, **watched)
        answer(f"took {time.perf_counter() - began}")


if __name__ == "__main__":
    main()
