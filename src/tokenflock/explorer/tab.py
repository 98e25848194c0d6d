"""One browser tab: reads what it asks, computes in the workers, and sends frames as fast as the tab takes them.

Every frame that a tab has drawn is acknowledged. At most WINDOW frames are under way; who is slow gets fewer of them,
so that what is there is shown within CATCH_UP_S, and nothing ever queues up here.
"""

from __future__ import annotations

import asyncio
import json
import math
import time as clock
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from tokenflock.errors import TokenflockError
from tokenflock.explorer.limits import Limits
from tokenflock.explorer.messages import parse
from tokenflock.explorer.presets import PAPERS
from tokenflock.explorer.session import Session

WINDOW = 16  # frames sent and not yet drawn
WINDOW_BYTES = 4 * 2**20
CATCH_UP_S = 2.0
UNHURRIED_S = 0.05  # a tab that takes no longer for a frame gets those that were left out, when there is nothing else
QUIET_S = 30.0  # a tab in the background draws nothing: after this long the window opens for one frame


class Tab:
    """A connection and its session. `send` takes text or bytes; `receive` gives text or bytes, None at the end."""

    def __init__(self, send: Any, receive: Any, pool: Executor, limits: Limits, alone: Callable[[], bool]) -> None:
        self._send, self._receive, self._pool = send, receive, pool
        self.session = Session(limits, alone)
        self._turn = asyncio.Lock()  # the session is asked one thing at a time
        self._speaking = asyncio.Lock()
        self._wake, self._news = asyncio.Event(), asyncio.Event()
        self._under_way: deque[tuple[int, int, float]] = deque()  # frame, bytes, when
        self._sent, self._told_end = -1, True
        self._skipped: list[int] = []
        self._paces: deque[float] = deque(maxlen=5)  # seconds a frame, of the last acknowledgements
        self._heard = 0.0
        self.paused = False

    @property
    def computing(self) -> bool:
        """Whether there is work."""
        return self._wake.is_set() and not self.paused

    async def serve(self) -> None:
        """Until the tab is closed; then its run is let go."""
        parts = [asyncio.create_task(part()) for part in (self._read, self._compute, self._show)]
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for part in done:
                part.result()
        finally:
            self.session.interrupt()
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
            self.session.close()

    async def _in_worker(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    async def _say(self, message: dict[str, Any] | bytes) -> None:
        async with self._speaking:
            await self._send(message if isinstance(message, bytes) else json.dumps(message, allow_nan=False))

    # Reading ----------------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        while (text := await self._receive()) is not None:
            about = ""
            try:
                message = parse(text)
                about = message["type"]
                await self._answer(message)
            except TokenflockError as error:
                await self._say({"type": "error", "about": about, "sentence": str(error)})
            except (MemoryError, ArithmeticError, ValueError, TypeError, LookupError) as error:
                # Not foreseen by any check: the tab hears it, and the server goes on.
                sentence = f"This cannot be done: {type(error).__name__}: {str(error)[:200]}"
                await self._say({"type": "error", "about": about, "sentence": sentence})

    async def _answer(self, message: dict[str, Any]) -> None:
        kind, session = message["type"], self.session
        if kind == "seen":
            return self._seen(message["run"], message["frame"])
        if kind == "pause":
            self.paused = message["on"]
            return self._news.set() if self.paused else self._go_on()
        if kind in ("start", "steer"):
            arguments = (message["spec"], message["frame"]) if kind == "steer" else (message["spec"],)
            async with self._turn:
                told = await self._in_worker(session.begin if kind == "start" else session.steer, *arguments)
                self._rewind(told["kept"] - 1)
                await self._say(told)
            return self._go_on()
        if kind == "look":
            async with self._turn:
                told = await self._in_worker(session.look, message["how"], message["frame"])
                self._rewind(-1)
                await self._say(told)
            return self._news.set()
        requests: dict[str, Callable[[], Any]] = {
            "row": lambda: session.row(message["frame"], message["token"], message["head"]),
            "matrix": lambda: session.matrix(message["frame"], message["head"]),
            "statement": lambda: statement(message["name"]),
        }
        async with self._turn:
            answer = await self._in_worker(requests[kind])
        await self._say(answer)

    def _rewind(self, sent: int) -> None:
        """Another run, or all frames again: those up to `sent` are there."""
        self._sent, self._told_end = sent, False
        self._skipped.clear()
        self._under_way.clear()

    def _go_on(self) -> None:
        self._wake.set()
        self._news.set()

    def _seen(self, run: int, frame: int) -> None:
        if run != self.session.run:
            return
        now, drawn, sent = clock.monotonic(), 0, 0.0
        while self._under_way and self._under_way[0][0] <= frame:
            sent = self._under_way.popleft()[2]
            drawn += 1
        if drawn:
            self._paces.append((now - max(self._heard, sent)) / drawn)
            self._heard = now
        self._news.set()

    # Computing and showing --------------------------------------------------------------------------------------------

    async def _compute(self) -> None:
        while True:
            await self._wake.wait()
            if self.paused:
                self._wake.clear()
                continue
            async with self._turn:
                more = await self._in_worker(self.session.work)
            if not more:
                self._wake.clear()
            self._news.set()
            await asyncio.sleep(0)

    @property
    def _pace(self) -> float:
        """Seconds that the tab takes for a frame. One slow picture is none: the fastest of the last few counts."""
        return min(self._paces) if len(self._paces) > 2 else 0.0

    def _next(self) -> int | None:
        """The frame to send now, or None: the next one; for a slow tab one further on; at last those left out."""
        last = self.session.measured - 1
        waiting = sum(size for _, size, _ in self._under_way)
        if len(self._under_way) >= WINDOW or waiting >= WINDOW_BYTES:
            return None
        if self._sent >= last:
            idle = self._skipped and not self._under_way and self._pace < UNHURRIED_S
            return self._skipped.pop(0) if idle else None
        stride = max(1, math.ceil((last - self._sent) * self._pace / CATCH_UP_S))
        frame = min(self._sent + stride, last)
        self._skipped += range(self._sent + 1, frame)
        self._sent = frame
        return frame

    async def _show(self) -> None:
        while True:
            try:
                async with asyncio.timeout(QUIET_S):  # wait_for of Python 3.11 may swallow the end of this task
                    await self._news.wait()
            except TimeoutError:
                self._under_way.clear()
            self._news.clear()
            while (frame := self._next()) is not None:
                packet = self.session.packet(frame)
                self._under_way.append((frame, len(packet), clock.monotonic()))
                await self._say(packet)
            done = self.session.finished and self._sent >= self.session.measured - 1
            if done and not self._told_end:
                self._told_end = True
                told = {"run": self.session.run, "sentence": self.session.ended, "failed": self.session.failed}
                await self._say({"type": "ended", "frames": self.session.measured, **told})


def statement(name: str) -> dict[str, Any]:
    """A claim of the ledger in words; a figure in its caption's words is no claim and has none."""
    from tokenflock.papers import citations, claims

    claim = claims.find(name)
    found = citations.REFERENCES[PAPERS[name.partition("/")[0]][0]]
    return {
        "type": "statement",
        "name": name,
        "kind": claim.kind,
        "statement": claim.statement,
        "hypotheses": list(claim.hypotheses),
        "known": claim.known,
        "erratum": claim.erratum,
        "title": found.fields["title"].replace("{", "").replace("}", ""),
        "url": found.fields["url"],
    }
