"""Runs that end at an event: when a function g(x, t) changes its sign, found to rounding of the tolerances.

A run is looked at on a grid of times, and between two of them again on a finer one, until what is left is a straight
line. Every look is a run from the start, as ordinary as the last, so `again` repeats what comes out.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from tokenflock.errors import bad, clash
from tokenflock.functions import Function, own
from tokenflock.geometry import Array
from tokenflock.request import Job, default_times
from tokenflock.schemes import Scheme

LOOKS = 257  # times at which a run is looked at first
FINER = 33  # and between two of them, so often that 1e-9 of their distance is left
ROUNDS = 3


def shortened(job: Job, until: Any) -> tuple[Job, Array]:
    """The job with an end of time at the last event of its runs, and the time of each, nan where there is none."""
    if job.request.endless:
        raise clash("until", "t_end=inf", "Give a finite t_end, after which the event is no longer waited for.")
    event = own("until", until, ("x", "t"))
    task, kept = job.request.task, job.request.kept
    free = isinstance(task.scheme, Scheme) and task.scheme.adaptive
    grid = np.union1d(kept, default_times(task.t_end, LOOKS)) if free else kept
    starts = job.start if job.start.ndim == 3 else job.start[None]
    found = [_first(job, event, grid, free, r, start) for r, start in enumerate(_frames(job, starts, grid))]
    if not any(map(math.isfinite, found)):
        return job, np.array(found)
    end = max(found) if all(map(math.isfinite, found)) else float(grid[-1])
    times = np.append(kept[kept < end * (1.0 - 1e-12)], end)
    request = dataclasses.replace(job.request, t_end=end, times=times)
    return request.starting(job.start), np.array(found)


def _frames(job: Job, starts: Array, times: Array) -> Array:
    """Tokens (runs, times, n, d) of the job's runs at other times."""
    request = dataclasses.replace(job.request, t_end=float(times[-1]), times=times)
    frames = request.starting(starts).run().frames
    assert frames is not None
    return frames[..., : job.request.model.dim]


def _first(job: Job, event: Function, times: Array, free: bool, run: int, frames: Array) -> float:
    """The time at which the function changes its sign in a run, nan if it does not."""
    values = _values(event, times, frames)
    k = _change(values)
    if k < 0:
        return math.nan
    start = job.start[run] if job.start.ndim == 3 else job.start
    own_draws = job.start.ndim == 3 and (
        job.request.model.noise
        or any(getattr(one, "each_run", False) for one in (job.request.model.varying or {}).values())
    )
    if not free or own_draws:  # a step must not be cut, nor another path be taken
        return float(times[k])
    for _ in range(ROUNDS):
        sign = values[:k][np.flatnonzero(values[:k])[0]]
        finer = np.linspace(times[k - 1], times[k], FINER)
        finer_values = _values(event, finer, _frames(job, start[None], finer)[0])
        changed = np.flatnonzero(finer_values * sign <= 0.0)
        if not len(changed) or changed[0] == 0:
            return float(finer[0] if len(changed) else finer[-1])
        times, values, k = finer, np.append(sign, finer_values[1:]), int(changed[0])
        values[0] = finer_values[0] or sign
    before, after = values[k - 1], values[k]
    share = before / (before - after) if before != after else 1.0
    return float(times[k - 1] + share * (times[k] - times[k - 1]))


def _change(values: Array) -> int:
    """The first place at which the sign is no longer that of the first number that is not 0, -1 without one."""
    known = np.flatnonzero(values)
    if not len(known):
        return -1
    changed = np.flatnonzero(values[known[0] :] * values[known[0]] <= 0.0)
    return int(known[0] + changed[0]) if len(changed) else -1


def _values(event: Function, times: Array, frames: Array) -> Array:
    """g(x, t) at every frame, a number; what a run did not reach is left out."""
    found = np.zeros(len(times))
    for k, (t, x) in enumerate(zip(times.tolist(), frames, strict=True)):
        if not np.isfinite(x).all():
            return found
        value = np.asarray(event(x.astype(np.float64), t), dtype=np.float64)
        if value.ndim or not np.isfinite(value):
            given = f"an array of shape {value.shape}" if value.ndim else float(value)
            raise bad(f"until at t = {t:g}", given, "one finite number, which changes its sign at the event")
        found[k] = value
    return found
