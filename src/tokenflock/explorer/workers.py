"""The threads that compute for the tabs, in fair turns: of those that wait the tab that had least of them goes first.

In one queue a tab that asks for little would wait for all that others ask for. And unlike those of ThreadPoolExecutor
nobody waits for these threads at the very end: what they are in may be the compilation of a kernel, which nothing can
interrupt, and Ctrl-C has to end the server.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any

PATIENCE_S = 2.0  # with what a thread does when the server ends

Task = tuple["Share", Future[Any], Callable[[], Any]]


def give_back() -> None:
    """Hand memory that is free back to the system: the allocator of Linux keeps it, for each thread its own."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim:
        trim(0)


class Share(Executor):
    """What one tab has of the workers, and the seconds that it has taken."""

    def __init__(self, workers: Workers) -> None:
        self._workers, self.spent = workers, 0.0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function called when it is this tab's turn."""
        return self._workers.put(self, partial(fn, *args, **kwargs))


class Workers(Executor):
    """So many threads, and the shares of those that they work for."""

    def __init__(self, count: int) -> None:
        self._news = threading.Condition()
        self._waiting: list[Task] = []  # by the time at which they were asked for
        self._floor = 0.0  # the seconds that the last in turn had taken: no new share has less
        self._ended = False
        self._threads = [threading.Thread(target=self._work, daemon=True, name="explorer") for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def share(self) -> Share:
        """A share for one more tab."""
        return Share(self)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function called that belongs to no tab."""
        return self.share().submit(fn, *args, **kwargs)

    def put(self, share: Share, called: Callable[[], Any]) -> Future[Any]:
        """Have a function called in the turn of a share. What it did not use while it slept it has not saved."""
        future: Future[Any] = Future()
        with self._news:
            share.spent = max(share.spent, self._floor)
            self._waiting.append((share, future, called))
            self._news.notify()
        return future

    def _next(self) -> Task | None:
        with self._news:
            while not self._waiting and not self._ended:
                self._news.wait()
            if not self._waiting:
                return None
            task = min(self._waiting, key=lambda waiting: waiting[0].spent)  # of equals the first
            self._waiting.remove(task)
            self._floor = task[0].spent
            return task

    def _work(self) -> None:
        while (task := self._next()) is not None:
            share, future, called = task
            if not future.set_running_or_notify_cancel():
                continue
            began = time.perf_counter()
            try:
                answer = called()
            except BaseException as error:  # whoever asked hears it, and the thread goes on
                share.spent += time.perf_counter() - began
                future.set_exception(error)
            else:
                share.spent += time.perf_counter() - began
                future.set_result(answer)
                del answer
            del share, future, called, task  # or the last answer would be held until the next question

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads; they are waited for, but not for longer than PATIENCE_S."""
        with self._news:
            self._ended = True
            while cancel_futures and self._waiting:
                self._waiting.pop()[1].cancel()
            self._news.notify_all()
        until = time.monotonic() + PATIENCE_S
        for thread in self._threads if wait else ():
            thread.join(max(0.0, until - time.monotonic()))
