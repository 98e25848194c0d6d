"""A worker process as its parent sees it: started, given shards, watched, and ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import IO, Any

from tokenflock.errors import EngineError, TokenflockError
from tokenflock.sweeps.heartbeat import Heartbeat, empty_file
from tokenflock.sweeps.sweep_store import UnwritableStore

ONE_THREAD = ("TOKENFLOCK_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
GRACE_S = 5.0  # a run that is over its time by so much does not hear its own alarm: its worker is killed


@dataclass
class WorkerReport:
    """What a worker said since it was last asked."""

    ready: bool = False
    done: bool = False
    error: TokenflockError | None = None
    exit_code: int | None = None  # of a worker that died; minus the signal that killed it
    seconds: list[float] = field(default_factory=list)  # of the runs that it was to time

    @property
    def dead(self) -> bool:
        """Whether the process has ended."""
        return self.exit_code is not None

    @property
    def killed(self) -> bool:
        """Whether a signal ended the process."""
        return self.exit_code is not None and self.exit_code < 0

    @property
    def death(self) -> str:
        """How the process ended, in words."""
        assert self.exit_code is not None
        return f"signal {signal.Signals(-self.exit_code).name}" if self.killed else f"exit code {self.exit_code}"


class WorkerProcess:
    """One worker process."""

    def __init__(self, job: bytes, timeout: float | None) -> None:
        """Start it. job: what worker.pack made. It has a session of its own: Ctrl-C on a terminal does not reach it."""
        beats = empty_file()
        self._heartbeat = Heartbeat(beats)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tokenflock.sweeps.worker", str(beats)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | dict.fromkeys(ONE_THREAD, "1"),
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in = self._process.stdin
        self._said: SimpleQueue[bytes] = SimpleQueue()  # lines, and b"" when it has ended
        threading.Thread(target=_listen, args=(self._process.stdout, self._said), daemon=True).start()
        self._timeout = timeout
        self.ready = False
        self._send(job)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def run(self) -> int | None:
        """The run under way, or in which it died."""
        return self._heartbeat.read()[0]

    def _send(self, message: bytes) -> None:
        with suppress(OSError):  # the process died: `poll` tells it
            view = memoryview(message)
            while view:
                view = view[self._in.write(view) or 0 :]

    def _order(self, order: Mapping[str, Any]) -> None:
        self._send(json.dumps(order).encode() + b"\n")

    def assign(self, shard: int, lost: Mapping[int, tuple[str, str]], alone: bool) -> None:
        """Have it compute a shard and write it. lost: runs that are known to fail, {run: (outcome, reason)}.

        alone: no run beside another, after a worker died in this shard: it is to be seen in which.
        """
        self._order({"shard": shard, "lost": {str(k): v for k, v in lost.items()}, "alone": alone})

    def time_runs(self, runs: list[int]) -> None:
        """Have it say how long these runs take, and keep nothing."""
        self._order({"time": runs})

    def poll(self, seconds: float = 0.0) -> WorkerReport:
        """Everything it said by now; if that is nothing, wait for so many seconds at most."""
        report = WorkerReport()
        with suppress(Empty):
            self._hear(report, self._said.get(block=seconds > 0, timeout=seconds or None))
            while not report.dead:
                self._hear(report, self._said.get(block=False))
        return report

    def _hear(self, report: WorkerReport, line: bytes) -> None:
        word, _, rest = line.decode(errors="replace").partition(" ")
        if not line:
            report.exit_code = self._process.wait()
            self._said.put(line)  # who asks again is told again
        elif word == "ready":
            report.ready = self.ready = True
        elif word == "done":
            report.done = True
        elif word == "took":
            report.seconds.append(float(rest))
        else:
            report.error = UnwritableStore(rest) if word == "unwritable" else EngineError(rest)

    def overdue(self) -> int | None:
        """The run under way, if it is so long over its time that it must be hanging where no alarm is heard."""
        run, began = self._heartbeat.read()
        late = self._timeout is not None and time.monotonic() - began > self._timeout + GRACE_S
        return run if late else None

    def kill(self) -> None:
        """Kill it, whatever it does: what it has not finished is computed again."""
        self._process.kill()

    def close(self) -> None:
        """Kill it and release its pipe and its memory."""
        self.kill()
        self._process.wait()
        with suppress(OSError):
            self._in.close()
        self._heartbeat.close()


def _listen(pipe: IO[bytes], said: SimpleQueue[bytes]) -> None:
    """What a worker says, line by line, until it has ended. A thread waits for it: Windows cannot wait for pipes."""
    buffer = b""
    with pipe, suppress(OSError):
        while part := os.read(pipe.fileno(), 1 << 16):
            *lines, buffer = (buffer + part).split(b"\n")
            for line in lines:
                said.put(line)
    said.put(b"")
