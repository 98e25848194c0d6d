"""Items made by several processes, each told as soon as it is there."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from tokenflock.errors import EngineError

T = TypeVar("T")


def finished(one: Callable[..., T], jobs: Sequence[tuple[Any, ...]], workers: int) -> Iterator[tuple[int, T]]:
    """(k, one(*jobs[k])) of every job, by so many processes, in the order in which they end.

    On Ctrl-C, or if a process is killed, all of them end at once. They are started anew and not forked: a process that
    has threads of compiled code cannot be forked.
    """
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin)
    numbers = {pool.submit(one, *job): k for k, job in enumerate(jobs)}
    try:
        for future in as_completed(numbers):
            yield numbers[future], future.result()
    except BrokenProcessPool:
        raise EngineError(
            "a process that made the report was killed, as happens where memory is short. Run it again: what is "
            "finished is kept, and with --workers 0 (workers=0 in Python) one process makes one item at a time."
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()


def _begin() -> None:
    """Of every process: it draws into files alone, and Ctrl-C is for the one that started it."""
    import matplotlib

    matplotlib.use("Agg")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
