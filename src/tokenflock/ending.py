"""The end of a run whose end of time is not known: t_end = inf, until all tokens have met or nothing moves any more.

A first pass takes implicit steps to t = 1e300, the end of what a float64 can tell, and keeps a frame a decade. The last
decade in which a token moved says how long the run is; the second pass follows it with frames where things happen.
A run that keeps moving (a rotation, a cloud around a repelling set) is given up after far more steps than merges take.
"""

from __future__ import annotations

import math

import numpy as np

from tokenflock.engine.contract import Engine, Outcome, Task
from tokenflock.engine.traits import steepest
from tokenflock.errors import EngineError
from tokenflock.geometry import Array
from tokenflock.runner import Finished, Progress, Runner, Telling

LAST = 1e300
DECADES = 10.0 ** np.arange(-2, 301)
SOONEST = 100.0  # the earliest end: within this time tokens that are together to the tolerance have met to rounding
MOVED = 10.0  # tolerances: a token farther than this from its last place has not come to rest
STEPS, STEPS_A_TOKEN = 5_000, 200  # a merge takes about 60 steps: whoever needs more than this does not come to rest


def search(engine: Engine, task: Task, starts: Array, progress: Telling) -> Finished:
    """The first pass: all runs from starts (runs, n, d) to the last time that there is, a frame a decade."""
    search = Runner(engine, task, DECADES, {}, True, progress, most_steps=budget(starts.shape[1]))
    if search.progress:
        search.progress = Progress(_half(progress, 0.0), _longest(task))
    found = search.run(starts)
    restless = [r for r in found.records if r.outcome is Outcome.INTERRUPTED and search.most_steps < r.steps]
    if restless and not search.stop[0]:
        raise never(min(r.t for r in restless), restless[0].steps)
    return found


def end_of(found: Finished) -> float | None:
    """When the runs of a search have come to rest; None if one of them failed or was interrupted."""
    assert found.frames is not None
    if any(r.outcome.failed for r in found.records):
        return None
    task = found.task
    rest = _rest(found.frames[..., : task.model.dim], MOVED * (task.atol + task.rtol))
    return max(SOONEST, min(10.0 * float(DECADES[rest]), LAST))


def note_what_is_left(done: Finished, found: Finished) -> None:
    """What a run says whose tokens have not all met: that they rest, or when the next ones are due."""
    for record, searched in zip(done.records, found.records, strict=True):
        bodies = searched.bodies
        if record.outcome is not Outcome.DONE or searched.outcome is not Outcome.DONE or bodies is None:
            continue
        if bodies.due > math.log10(LAST):
            when = f"the next two are due at about t = 10^{bodies.due:.0f}, after the last time that there is"
            record.note = f"{bodies.left} clusters are left at t = {LAST:g}: {when}."
        else:
            record.note = "Nothing moves any more, but not all tokens have met."


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
    return math.exp(min(max(2.0 * steepest(task.model), math.log(SOONEST)), math.log(LAST)))


def second_half(progress: Telling) -> Telling:
    """The progress of the second pass."""
    return _half(progress, 0.5)


def _half(progress: Telling, done: float) -> Telling:
    """Each of the two passes is half of the work."""
    return (lambda fraction: progress(done + 0.5 * fraction)) if callable(progress) else progress


def budget(n_tokens: int) -> int:
    """Steps after which a run is taken for one that never comes to rest."""
    return STEPS + STEPS_A_TOKEN * n_tokens
