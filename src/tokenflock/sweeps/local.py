"""Many runs on this machine: in this process, or in worker processes that may die at any moment.

A worker that is killed is replaced and its shard given out again. A run in which workers keep dying, or that hangs
where no alarm is heard, is recorded as lost, and the rest goes on.
"""

from __future__ import annotations

import selectors
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable

from tokenflock.errors import EngineError, FileError
from tokenflock.sweeps.depot import Depot
from tokenflock.sweeps.hand import Hand, News
from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.shards import compute
from tokenflock.sweeps.worker import Job, alarm, pack

DEATHS = 5  # of workers in one run, before the run is taken for the reason
STILLBORN = 3  # workers that end before they are ready, one after the other ...
KILLED = 30  # ... and that are killed: somebody else may be doing that
TICK_S = 0.5

Tell = Callable[[int], None]  # a shard is done


class Stopped(Exception):
    """The time that the sweep may take is over."""


def in_this_process(plan: Plan, depot: Depot, shards: Iterable[int], timeout: float | None, tell: Tell) -> None:
    """One shard after the other."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):  # the bits of a worker
        for shard in shards:
            if not depot.is_done(shard):
                depot.write(shard, compute(plan, depot.grid, shard, timeout=timeout, limit=alarm))
            tell(shard)


class Crew:
    """Worker processes on this machine."""

    def __init__(self, plan: Plan, depot: Depot, workers: int, timeout: float | None) -> None:
        self._job = pack(Job(plan, str(depot.path.resolve()), timeout, depot.lasting))
        self._depot, self._timeout, self._size = depot, timeout, workers
        self._select = selectors.DefaultSelector()
        self._hands: list[Hand] = []
        self._deaths: Counter[int] = Counter()  # in a run
        self._idle_deaths: Counter[int] = Counter()  # in a shard, before or after its runs
        self._lost: dict[int, dict[int, tuple[str, str]]] = {}
        self._stillborn = 0.0

    def work(self, shards: Iterable[int], tell: Tell) -> None:
        """Compute all the shards; what another process finishes meanwhile is left out."""
        waiting = deque(shards)
        try:
            while True:
                self._hand_out(waiting, tell)
                if not any(hand.shard is not None for hand in self._hands):
                    return
                for key, _ in self._select.select(TICK_S):
                    self._listen(key.fileobj, waiting, tell)  # type: ignore[arg-type]
                for hand in [*self._hands]:
                    if (run := hand.overdue()) is not None:
                        self._bury(
                            hand, run, "overtime", f"It hung beyond the timeout of {self._timeout:g} s.", waiting
                        )
        finally:
            self.end()

    def _hand_out(self, waiting: deque[int], tell: Tell) -> None:
        for hand in [*self._hands]:
            if hand.shard is None and (shard := self._next(waiting, tell)) is not None:
                hand.give(shard, self._lost.get(shard, {}))
        while len(self._hands) < self._size and (shard := self._next(waiting, tell)) is not None:
            hand = Hand(self._job, self._timeout)
            self._hands.append(hand)
            self._select.register(hand, selectors.EVENT_READ)
            hand.give(shard, self._lost.get(shard, {}))

    def _next(self, waiting: deque[int], tell: Tell) -> int | None:
        while waiting:
            shard = waiting.popleft()
            if not self._depot.is_done(shard):
                return shard
            tell(shard)
        return None

    def _listen(self, hand: Hand, waiting: deque[int], tell: Tell) -> None:
        news = hand.hear()
        if news.error:
            raise FileError(news.error) if "cannot be written" in news.error else EngineError(news.error)
        if news.ready:
            self._stillborn = 0.0
        if news.done:
            assert hand.shard is not None
            shard, hand.shard = hand.shard, None
            tell(shard)
        if news.dead:
            self._mourn(hand, news, waiting)

    def _mourn(self, hand: Hand, news: News, waiting: deque[int]) -> None:
        """A worker died by itself or was killed: by the run under way, perhaps."""
        run = hand.run
        if not hand.ready:
            self._stillborn += stillborn(news.dead)
            if self._stillborn >= 1:
                raise EngineError(
                    f"workers die before they begin ({news.dead}); what they said is above. Try workers=0: no workers."
                )
        if run is not None:
            self._deaths[run] += 1
            if self._deaths[run] >= DEATHS:
                self._bury(hand, run, "lost", f"{DEATHS} workers died in it ({news.dead}).", waiting)
                return
        elif hand.ready and hand.shard is not None:
            self._idle_deaths[hand.shard] += 1
            if self._idle_deaths[hand.shard] >= DEATHS:
                raise EngineError(dying(hand.shard, news.dead))
        self._remove(hand, waiting)

    def _bury(self, hand: Hand, run: int, outcome: str, why: str, waiting: deque[int]) -> None:
        """A run is lost; the others of its shard are computed again."""
        assert hand.shard is not None
        self._lost.setdefault(hand.shard, {})[run] = (outcome, why)
        self._remove(hand, waiting)

    def _remove(self, hand: Hand, waiting: deque[int]) -> None:
        self._select.unregister(hand)
        self._hands.remove(hand)
        hand.end()
        if hand.shard is not None:
            waiting.appendleft(hand.shard)

    def end(self) -> None:
        """No worker is left behind."""
        for hand in self._hands:
            hand.end()
        self._hands.clear()
        self._select.close()


def stillborn(how: str) -> float:
    """What a worker that died before it began counts: 1 in all is enough to give up."""
    return 1 / (KILLED if how.startswith("signal") else STILLBORN) + 1e-9


def dying(shard: int, how: str) -> str:
    """What to say when no run is to blame."""
    return f"{DEATHS} workers died in shard {shard} outside of its runs ({how}): while they set up a point, or wrote."


def until(deadline: float | None, tell: Tell) -> Tell:
    """tell, and Stopped after the deadline."""

    def told(shard: int) -> None:
        tell(shard)
        if deadline is not None and time.monotonic() > deadline:
            raise Stopped

    return told
