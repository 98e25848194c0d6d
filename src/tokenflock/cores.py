"""Functions of many numbers, spread over the cores by threads: compiled code holds no lock of Python's."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine.machine import threads

HANDOVER_S = 1e-4  # how long one thread of Python keeps the others waiting while runs go side by side

T = TypeVar("T")


class QuickTurns:
    """A run of a few milliseconds that comes out of its compiled call should not wait 5 more for its turn in Python.

    The interval is one for the whole process, and calls overlap: the last one out puts it back.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._usual = threading.Lock(), 0, 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(HANDOVER_S)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                sys.setswitchinterval(self._usual)


QUICK_TURNS = QuickTurns()


def side_by_side(one: Callable[[int], T], runs: int, stop: NDArray[np.uint8]) -> list[T]:
    """one(r) of every run r, a run a core. If one raises, or on Ctrl-C, `stop` is set: those under way end soon."""
    with QUICK_TURNS:
        pool = ThreadPoolExecutor(min(threads(), runs))
        futures = [pool.submit(one, r) for r in range(runs)]
        try:
            left = set(futures)
            while left:
                # Not FIRST_COMPLETED: waking up for each of thousands of runs costs more than the runs.
                done, left = wait(left, timeout=0.2, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
            return [future.result() for future in futures]
        except BaseException:
            stop[0] = 1
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def in_order(one: Callable[[int], T], numbers: Sequence[int], told: Callable[[int], None] | None = None) -> list[T]:
    """one(k) of every number k, over the cores. told: called with how many are done, in their order."""
    from threadpoolctl import threadpool_limits

    # They share the cores: matrix products that take all of them would only wait for each other.
    with QUICK_TURNS, threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(threads()) as pool:
        results: list[T] = []
        try:
            for result in pool.map(one, numbers):
                results.append(result)
                if told is not None:
                    told(len(results))
            return results
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
