"""Explicit runs of an ensemble in one compiled call, which the threads of this machine share.

Each thread takes the next run that nobody has begun and follows it to its end, by the loop that steps a single run: a
run has the same bits alone, in an ensemble, and for any number of threads. Python wakes for progress, Ctrl-C and
reducers only: then every thread pauses where it is. What a run needs while it goes on belongs to its thread; of all
other runs there are starts, clocks and frames alone.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import wait

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine.boolean import Settled, settle
from tokenflock.engine.contract import HELD_BYTES, WIDE_FROM, Outcome, Task, n_pairs
from tokenflock.engine.explicit.following import NOBODY, Place, Shared, follower
from tokenflock.engine.explicit.stepper import FIRST_WAIT, LOOPS, NEVER, RightSide, goal_of, loop_of, step_pointer
from tokenflock.engine.explicit.steps import CLOCK, N_PAGES, NOW
from tokenflock.engine.explicit.team import pool
from tokenflock.engine.explicit.terms import KINDS, columns_for
from tokenflock.engine.machine import threads
from tokenflock.engine.randomness import key_of
from tokenflock.engine.status import BOOLEAN, COLLAPSED, ENDED, FAILED, FULL, NOT_FINITE, ON, SMALL
from tokenflock.geometry import Array
from tokenflock.schemes import Rosenbrock
from tokenflock.stretches import stretches

TURNS = 4  # runs for each thread, at least, in a part of an ensemble: threads wait for the last run of a part
#: what the end of a run means; FULL and ENDED leave it to the wanted times whether it is done
OUTCOMES = {**FAILED, COLLAPSED: Outcome.COLLAPSED, FULL: Outcome.DONE, ENDED: Outcome.DONE}


class CpuEnsemble:
    """Runs from starts (runs, n, d) by a right-hand side, of which every thread has its own."""

    def __init__(
        self,
        task: Task,
        starts: Array,
        right_side: Callable[[], RightSide],
        first_run: int = 0,
        stop: NDArray[np.uint8] | None = None,
    ) -> None:
        runs, n, d = starts.shape
        model = task.model
        self._task, self._stop = task, np.zeros(1, dtype=np.uint8) if stop is None else stop
        self._starts = np.ascontiguousarray(starts, dtype=np.float64)
        self._clocks, self._status = np.zeros(runs, dtype=CLOCK), np.full(runs, ON)
        self._queue, parts = np.zeros(1, dtype=np.int64), list(stretches(model, task.t_end))
        self._first_stretch = parts[0]
        self._ends, self._kinds = np.array([s.end for s in parts]), np.array([KINDS[s.kind] for s in parts])
        seeds = range(first_run, first_run + runs)
        self._keys = np.array([key_of(task.seed, r) if model.noisy else 0 for r in seeds], dtype=np.uint64)
        state, scheme = (d + model.has_radius, columns_for(n)), task.scheme
        assert not isinstance(scheme, Rosenbrock), "implicit steps go run by run"
        assert not model.varying, "a run puts its own weights in their places: runs go one by one"
        stages = 0 if scheme is None else len(scheme.b)
        self._loop = LOOPS[None if scheme is None else scheme.adaptive, model.common_noise is not None]
        self._rights = [right_side() for _ in range(min(threads(), runs))]
        self._places = [
            Place(
                pages=np.zeros((N_PAGES, *state), task.dtype),
                stages=np.zeros((stages, *state), task.dtype),
                run=np.array([NOBODY]),
                watch=np.zeros(1, dtype=np.int64),
                end=np.zeros(1),
            )
            for _ in self._rights
        ]
        self._settled: dict[int, Settled] = {}  # by run: attention that stays Boolean
        self._waited: dict[int, int] = {}  # by run: steps until it was looked at again

    t = property(lambda self: self._clocks["t"])
    steps = property(lambda self: self._clocks["steps"])
    rejected = property(lambda self: self._clocks["rejected"])
    evaluations = property(lambda self: self._clocks["evaluations"])

    @property
    def outcomes(self) -> list[Outcome | None]:
        """How each run ended, None while it goes on."""
        return [OUTCOMES.get(status) for status in self._status.tolist()]

    def give_up(self, run: int) -> None:
        """See contract.Ensemble. Every thread pauses when this is called: the run may stand at one of them."""
        self._status[run] = SMALL
        for place in self._places:
            if place.run[0] == run:
                place.run[0] = NOBODY

    def advance(self, times: Array, frames: Array, filled: NDArray[np.int64], patience: int) -> None:
        """See contract.Ensemble. A run that has its last frame ends: all times are wanted at once."""
        times = np.ascontiguousarray(times, dtype=np.float64)
        if not frames.flags.c_contiguous:
            raise ValueError("frames must lie in memory run by run: compiled code fills them")
        right = self._rights[0]
        step = step_pointer(right.kernel, self._task.dtype, self._task.layers)
        loop = loop_of(self._loop, step, right.sums, right.part, self._task.dtype, frames.dtype)
        enter = follower(loop.pointer, loop.around, frames.dtype).compiled.entry_point
        shared = Shared(
            starts=self._starts,
            radius=float(self._task.model.norm.radius),
            keys=self._keys,
            clocks=self._clocks,
            status=self._status,
            filled=filled,
            queue=self._queue,
            ends=self._ends,
            kinds=self._kinds,
            times=times,
            frames=frames,
        )
        each = patience * len(filled)  # evaluations that a thread makes at most: they take as long as it alone would
        watch = 0 if self._task.model.space == "rescaled" else NEVER
        goal = goal_of(self._task, self._first_stretch, each, watch, self._keys[0], self._stop)

        def follow(k: int) -> None:
            right, place = self._rights[k], self._places[k]
            while True:
                status = enter(
                    loop.pointer, step, right.sums, right.part, right.field, place, goal, shared, *loop.around
                )
                if status == BOOLEAN:
                    self._settle(place)
                elif status == ENDED:
                    self._finish(place, shared)
                else:
                    return

        self._on_all_cores(follow)

    def _settle(self, place: Place) -> None:
        """See whether attention is Boolean for good; if not, look again after twice as many steps."""
        r, task = int(place.run[0]), self._task
        x, clock = place.pages[NOW].T[: self._starts.shape[1]].astype(np.float64), self._clocks[r]
        rest = settle(task.model, x, float(clock["t"]), task.t_end, task.dt if task.layers else None)
        waited = self._waited[r] = 2 * self._waited.get(r, FIRST_WAIT // 2)
        place.watch[0] = clock["steps"] + waited
        if rest:
            self._settled[r] = rest
            place.watch[0], place.end[0] = NEVER, rest.since

    def _finish(self, place: Place, shared: Shared) -> None:
        """The frames of a settled run."""
        r, clock = int(place.run[0]), self._clocks[place.run[0]]
        done = self._settled.pop(r).fill(shared.times, shared.frames[r], int(clock["frame"]))
        if done > clock["frame"]:
            clock["frame"], clock["t"] = done, shared.times[done - 1]
        shared.filled[r], shared.status[r] = done, FULL if done == len(shared.times) else NOT_FINITE
        place.run[0] = NOBODY

    def _on_all_cores(self, follow: Callable[[int], None]) -> None:
        """follow(k) for every thread k, this one and helpers; all have come back when it returns, or raises."""
        with self._rights[0].ready():
            helpers = [pool().submit(follow, k) for k in range(1, len(self._places))]
            try:
                follow(0)
                wait(helpers)
            except BaseException:
                self._stop[0] = 1
                raise
            finally:
                for helper in helpers:
                    if not helper.cancel():
                        helper.result()


def parts_of(task: Task, runs: int, n_tokens: int, held: int) -> list[tuple[int, int]]:
    """How an ensemble is cut so that frames which are not kept, `held` bytes a run, fit in HELD_BYTES.

    Nothing if its weights change, its steps are or may become implicit, or its runs so few that one is better shared
    by all cores.
    """
    implicit = isinstance(task.scheme, Rosenbrock) or task.auto
    few = runs < 2 or (runs < threads() and n_pairs(task.model, n_tokens) >= WIDE_FROM)
    together = min(runs, HELD_BYTES // held) if held else runs
    if implicit or few or task.model.varying or together < min(runs, TURNS * threads()):
        return []
    return [(first, min(first + together, runs)) for first in range(0, runs, together)]
