"""A worker process as its parent sees it: started, given shards, watched, and ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

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
        with empty_file() as file:
            self._heartbeat, handle = Heartbeat(file.fileno()), file.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tokenflock.sweeps.worker", str(handle)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | dict.fromkeys(ONE_THREAD, "1"),
                bufsize=0,
                start_new_session=True,
                pass_fds=(handle,),
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        os.set_blocking(self._out.fileno(), False)
        self._timeout, self._buffer = timeout, b""
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

    def fileno(self) -> int:
        """The file of its answers, for select."""
        return self._out.fileno()

    def _send(self, message: bytes) -> None:
        with suppress(OSError):  # the process died: `poll` tells it
            view = memoryview(message)
            while view:
                view = view[self._in.write(view) or 0 :]

    def _order(self, order: Mapping[str, Any]) -> None:
        self._send(json.dumps(order).encode() + b"\n")

    def assign(self, shard: int, lost: Mapping[int, tuple[str, str]]) -> None:
        """Have it compute a shard and write it. lost: runs that are known to fail, {run: (outcome, reason)}."""
        self._order({"shard": shard, "lost": {str(k): v for k, v in lost.items()}})

    def time_runs(self, runs: list[int]) -> None:
        """Have it say how long these runs take, and keep nothing."""
        self._order({"time": runs})

    def poll(self) -> WorkerReport:
        """Everything it said by now, without waiting."""
        report, ended = WorkerReport(), False
        while True:
            try:
                part = os.read(self._out.fileno(), 1 << 16)
            except BlockingIOError:
                break
            if not part:
                ended = True
                break
            self._buffer += part
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").partition(" ")
            if word == "ready":
                report.ready = self.ready = True
            elif word == "done":
                report.done = True
            elif word == "took":
                report.seconds.append(float(rest))
            else:
                report.error = UnwritableStore(rest) if word == "unwritable" else EngineError(rest)
        if ended:
            report.exit_code = self._process.wait()
        return report

    def overdue(self) -> int | None:
        """The run under way, if it is so long over its time that it must be hanging where no alarm is heard."""
        run, began = self._heartbeat.read()
        late = self._timeout is not None and time.monotonic() - began > self._timeout + GRACE_S
        return run if late else None

    def kill(self) -> None:
        """Kill it, whatever it does: what it has not finished is computed again."""
        self._process.kill()

    def close(self) -> None:
        """Kill it and release its pipes and its memory."""
        self.kill()
        self._process.wait()
        for pipe in (self._in, self._out):
            with suppress(OSError):
                pipe.close()
        self._heartbeat.close()
