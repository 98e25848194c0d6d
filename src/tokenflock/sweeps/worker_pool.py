"""A pool of worker processes for threads of this process: each thread has a process of its own, and waits for it.

The threads are those of local.py, or Dask workers. A process that is killed is replaced and its shard computed again.
A run in which processes keep dying, or that hangs where no alarm is heard, is recorded as lost, and the rest goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tokenflock.errors import EngineError
from tokenflock.sweeps.worker_deaths import WorkerDeaths
from tokenflock.sweeps.worker_process import WorkerProcess

TICK_S = 0.5  # between two looks at a process that may hang


class WorkerPool:
    """Worker processes, started when a thread first needs one."""

    def __init__(self, read_job: Callable[[], bytes], timeout: float | None, cannot_start: str) -> None:
        """read_job: gives what worker.pack made. cannot_start: see WorkerDeaths."""
        self._read_job, self._timeout, self._cannot_start = read_job, timeout, cannot_start
        self._processes: dict[int, WorkerProcess] = {}  # by thread
        self._stopped = False
        self._lock = threading.Lock()

    def compute(self, shard: int) -> int:
        """Have the process of this thread compute a shard and write it; the number of the shard."""
        deaths = WorkerDeaths(shard, self._timeout, self._cannot_start)
        while True:
            process = self._mine()
            process.assign(shard, deaths.lost, deaths.any)
            if _finished(process, deaths):
                return shard
            self.drop()

    def _mine(self) -> WorkerProcess:
        """The process of this thread."""
        process = self._processes.get(threading.get_ident())
        if process is not None and not process.poll().dead:
            return process
        self.drop()
        with self._lock:
            if self._stopped:
                raise EngineError("the sweep is over.")
            process = self._processes[threading.get_ident()] = WorkerProcess(self._read_job(), self._timeout)
        return process

    def drop(self) -> None:
        """End the process of this thread."""
        if process := self._processes.pop(threading.get_ident(), None):
            process.close()

    def stop(self) -> None:
        """The sweep is over: all processes are killed, and their threads see them die and start no others."""
        with self._lock:
            self._stopped = True
            for process in [*self._processes.values()]:
                process.kill()

    def close(self) -> None:
        """The threads have ended: end the processes that they left."""
        while self._processes:
            self._processes.popitem()[1].close()


def _finished(process: WorkerProcess, deaths: WorkerDeaths) -> bool:
    """Wait for the end of a shard, or of the process that computes it; whether the shard is done."""
    while True:
        report = process.poll(TICK_S)
        if report.error:
            raise report.error
        if report.done:
            return True
        if report.dead:
            deaths.died(process, report)
            return False
        if (run := process.overdue()) is not None:
            deaths.hung(run)
            return False
