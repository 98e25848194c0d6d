"""A worker process as the one who feeds it sees it: started, given shards, watched, and ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from tokenflock.sweeps.slate import Slate, blank

ONE_THREAD = ("TOKENFLOCK_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
GRACE_S = 5.0  # a run that is over its time by so much does not hear its own alarm: its worker is killed


@dataclass
class News:
    """What a worker said since it was last asked."""

    ready: bool = False
    done: bool = False
    error: str = ""
    dead: str = ""  # how it died
    took: list[float] = field(default_factory=list)  # seconds of the runs that it was to time


class Hand:
    """One worker process."""

    def __init__(self, job: bytes, timeout: float | None) -> None:
        """Start it. job: what worker.pack made. It has a session of its own: Ctrl-C on a terminal does not reach it."""
        environment = os.environ | dict.fromkeys(ONE_THREAD, "1")
        with blank() as file:
            self._slate, handle = Slate(file.fileno()), file.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tokenflock.sweeps.worker", str(handle)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                bufsize=0,
                start_new_session=True,
                pass_fds=(handle,),
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        os.set_blocking(self._out.fileno(), False)
        self._timeout, self._buffer = timeout, b""
        self.shard: int | None = None
        self.ready = False
        self._send(job)

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._process.pid

    @property
    def run(self) -> int | None:
        """The run under way, or in which it died."""
        return self._slate.read()[0]

    def fileno(self) -> int:
        """Of its answers, for select."""
        return self._out.fileno()

    def _send(self, message: bytes) -> None:
        try:
            view = memoryview(message)
            while view:
                view = view[self._in.write(view) or 0 :]
        except OSError:
            pass  # it died: its end is read from the other pipe

    def give(self, shard: int, lost: Mapping[int, tuple[str, str]]) -> None:
        """The next shard. lost: runs in it that are known to fail."""
        self.shard = shard
        self._send(json.dumps({"shard": shard, "lost": {str(k): v for k, v in lost.items()}}).encode() + b"\n")

    def time(self, runs: list[int]) -> None:
        """Have it say how long these take, and keep nothing."""
        self._send(json.dumps({"time": runs}).encode() + b"\n")

    def hear(self) -> News:
        """Everything it said by now."""
        news, ended = News(), False
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
                news.ready = self.ready = True
            elif word == "done":
                news.done = True
            elif word == "took":
                news.took.append(float(rest))
            else:
                news.error = rest
        if ended:
            code = self._process.wait()
            news.dead = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return news

    def overdue(self) -> int | None:
        """The run under way, if it is so long over its time that it must be hanging where no alarm is heard."""
        run, since = self._slate.read()
        late = self._timeout is not None and time.monotonic() - since > self._timeout + GRACE_S
        return run if late else None

    def kill(self) -> None:
        """Kill it, whatever it does: what it has not finished is computed again."""
        self._process.kill()

    def end(self) -> None:
        """Kill it and let go of it."""
        self.kill()
        self._process.wait()
        for pipe in (self._in, self._out):
            try:
                pipe.close()
            except OSError:
                pass
        self._slate.close()
