"""The end of a run whose end of time is not known: t_end = inf, until all tokens have met or nothing moves any more.

A first pass takes implicit steps to t = 1e300, the end of what a float64 can tell, and keeps a frame a decade. The last
decade in which a token moved says how long the run is; the second pass follows it with frames where things happen.
A run that keeps moving (a rotation, a cloud around a repelling set) is given up after far more steps than merges take.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine.contract import Engine, Outcome, Task
from tokenflock.errors import EngineError, SpecError, clash
from tokenflock.geometry import Array
from tokenflock.runner import Progress, Record, Runner

LAST = 1e300
DECADES = 10.0 ** np.arange(-2, 301)
SOONEST = 100.0  # the earliest end: within this time tokens that are together to the tolerance have met to rounding
MOVED = 10.0  # tolerances: a token farther than this from its last place has not come to rest
STEPS, STEPS_A_TOKEN = 5_000, 200  # a merge takes about 60 steps: whoever needs more than this does not come to rest


def check(times: Any, scheme: str, dt: float | None, why: str | None) -> None:
    """Whether a run may have t_end = inf. why: why the model has no implicit scheme, or None."""
    if times is not None and not callable(times):
        advice = "Leave times out for 101 over the decades it needs, or give a function of t_end that makes them."
        raise clash("t_end=inf", "times", advice)
    if scheme not in ("auto", "rosenbrock") or dt is not None:
        other = f"scheme={scheme!r}" if scheme not in ("auto", "rosenbrock") else "dt"
        raise clash("t_end=inf", other, "Only implicit steps come to the end: scheme='auto', or give t_end.")
    if why is not None:
        raise SpecError(f"t_end=inf cannot be used with {why}. It needs implicit steps: give a finite t_end.")


def to_rest(
    engine: Engine,
    task: Task,
    starts: Array,
    run: Callable[[Task, Array, Any], tuple[list[Record], Array | None]],
    spread: Callable[[float], Array],
    progress: Any,
) -> tuple[Array, Task, list[Record], Array | None]:
    """Find the end of all runs, then run(task, times, progress) with the times spread(end).

    Returns the times, the task, the records and the frames: those of the search if a run failed or was interrupted.
    """
    search = Runner(Patient(engine, starts.shape[1]), task, DECADES, {}, True, progress)
    search.progress = Progress(_part(progress, 0.0), _longest(task))
    records, frames = search.run(starts)
    assert frames is not None
    if any(r.outcome.failed for r in records):
        restless = [r for r in records if r.outcome is Outcome.INTERRUPTED and budget(starts.shape[1]) < r.steps]
        if restless and not search.stop[0]:
            raise never(min(r.t for r in restless), restless[0].steps)
        return DECADES, task, records, frames
    end = float(DECADES[_rest(frames[..., : task.model.dim], MOVED * (task.atol + task.rtol))])
    times = spread(max(SOONEST, min(10.0 * end, LAST)))
    task = dataclasses.replace(task, t_end=float(times[-1]))  # nothing after the last time: so it is for `again`
    return times, task, *run(task, times, _part(progress, 0.5))


def never(t: float, steps: int) -> EngineError:
    """What to say of a run that is given up."""
    return EngineError(
        f"t_end=inf: a run still moved at t = {t:.3g}, after {steps} implicit steps. Tokens that rotate or repel each "
        "other may never come to rest: give a finite t_end."
    )


def _rest(frames: Array, tolerance: float) -> int:
    """The first frame (runs, times, n, d) from which on nothing moves by more than the tolerance."""
    moved = (np.abs(frames - frames[:, -1:]) > tolerance).any(axis=(0, 2, 3))
    return int(np.flatnonzero(moved)[-1]) + 1 if moved.any() else 0


def _longest(task: Task) -> float:
    """About the longest time that two clusters can wait: e^(2 beta) for Q = K = I. Only for the progress bar."""
    reach = 2.0 * task.model.beta * float(np.linalg.norm(task.model.form, ord=2, axis=(1, 2)).max())
    return math.exp(min(max(reach, math.log(SOONEST)), math.log(LAST)))


def _part(progress: Any, done: float) -> Any:
    """Each of the two passes is half of the work."""
    return (lambda fraction: progress(done + 0.5 * fraction)) if callable(progress) else progress


def budget(n_tokens: int) -> int:
    """Steps after which a run is taken for one that never comes to rest."""
    return STEPS + STEPS_A_TOKEN * n_tokens


class Patient:
    """An engine whose runs are given up when they take too many steps."""

    def __init__(self, engine: Engine, n_tokens: int) -> None:
        self.name, self.pair_s, self._engine, self._most = engine.name, engine.pair_s, engine, budget(n_tokens)
        self.supports, self.velocity = engine.supports, engine.velocity

    def begin(
        self, task: Task, x: Array, run: int = 0, wide: bool = False, stop: NDArray[np.uint8] | None = None
    ) -> Any:
        """A run of the engine, counted."""
        return _Counted(self._engine.begin(task, x, run, wide, stop), self._most)


class _Counted:
    def __init__(self, run: Any, most: int) -> None:
        self._run, self._most = run, most

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)

    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """See contract.Stepper."""
        new = self._run.advance(times, frames, patience)
        if self._run.outcome is None and self._run.steps > self._most:
            self._run.outcome = Outcome.INTERRUPTED
        return new
