"""Shards: boxes of the grid, the unit of work and of resume. `compute` is a pure function of the plan and the box."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tokenflock.engine.choose import choose
from tokenflock.engine.contract import Outcome
from tokenflock.errors import TokenflockError
from tokenflock.geometry import Array
from tokenflock.runner import Record, Runner
from tokenflock.simulation import check_start, simulate
from tokenflock.sweeps.plan import Plan, Setting
from tokenflock.sweeps.reducers import Run

OUTCOMES = (*(outcome.name.lower() for outcome in Outcome), "raised", "overtime", "lost")
NOT_YET = -1
FAILED = tuple(k for k, name in enumerate(OUTCOMES) if name not in ("done", "collapsed"))


@dataclass(frozen=True)
class Grid:
    """A grid of runs cut into boxes of one shape."""

    shape: tuple[int, ...]
    box: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of boxes along each axis."""
        return tuple(-(-size // step) for size, step in zip(self.shape, self.box, strict=True))

    def __len__(self) -> int:
        return math.prod(self.counts)

    def corner(self, shard: int) -> tuple[int, ...]:
        """The place of a shard among the boxes."""
        place = []
        for count in reversed(self.counts):
            shard, k = divmod(shard, count)
            place.append(k)
        return tuple(reversed(place))

    def slices(self, shard: int) -> tuple[slice, ...]:
        """The runs of a shard, in the grid."""
        along = zip(self.corner(shard), self.box, self.shape, strict=True)
        return tuple(slice(k * step, min((k + 1) * step, size)) for k, step, size in along)

    def size(self, shard: int) -> int:
        """How many runs a shard has."""
        return math.prod(s.stop - s.start for s in self.slices(shard))

    def runs(self, shard: int) -> list[int]:
        """The numbers of its runs, in the order of the box."""
        ranges = [range(s.start, s.stop) for s in self.slices(shard)]
        strides = [math.prod(self.shape[k + 1 :]) for k in range(len(self.shape))]
        return [sum(k * stride for k, stride in zip(p, strides, strict=True)) for p in itertools.product(*ranges)]


def cut(shape: tuple[int, ...], runs: int) -> Grid:
    """Boxes of about so many runs: whole last axes, an even part of one axis, single points of those before it."""
    box, left = [1] * len(shape), max(1, runs)
    for k in reversed(range(len(shape))):
        parts = -(-shape[k] // left) if left < shape[k] else 1
        box[k] = -(-shape[k] // parts)
        left //= shape[k]
        if left < 1 or parts > 1:
            break
    return Grid(shape, tuple(box))


class Overtime(Exception):
    """A run took longer than it may."""


def follow(setting: Setting, x: Array, seed: int) -> Run:
    """One run, as flock.simulate would do it, without a Dataset around it."""
    if setting.endless:
        return _to_rest(setting, x, seed)
    task = dataclasses.replace(setting.task, seed=seed) if setting.model.noise else setting.task
    start = check_start(setting.model, x)
    engine = choose(setting.engine, setting.model, task.dtype, len(start), task)
    records, frames = Runner(engine, task, setting.times, {}, True, False).run(start[None])
    assert frames is not None
    return _run(setting, start, setting.times, frames[0, ..., : setting.model.dim], records[0])


def _run(setting: Setting, start: Array, times: Array, x: Array, record: Record) -> Run:
    dt = setting.task.dt if setting.task.layers else None
    return Run(setting.model, start, times, x, record.outcome, record.steps, record.evaluations, dt, setting.point)


def _to_rest(setting: Setting, x: Array, seed: int) -> Run:
    """t_end = inf: the end is found in a first pass, which simulate knows how to do."""
    data = simulate(setting.model, x, **setting.keywords, seed=seed, progress=False, throw=False)
    outcome = Outcome(data.attrs["outcome"])
    counts = data.attrs["steps"], data.attrs["evaluations"]
    return Run(setting.model, x, data["time"].values, data["x"].values, outcome, *counts, None, setting.point)


class Blank:
    """The arrays of a shard, filled run by run."""

    def __init__(self, plan: Plan, box: tuple[int, ...]) -> None:
        self._plan, self._box = plan, box
        self.arrays: dict[str, np.ndarray] = {
            "seed": np.zeros(box, dtype="int64"),
            "outcome": np.full(box, NOT_YET, dtype="int8"),
            "reason": np.full(box, "", dtype=object),
        }
        for name, reducer in plan.record.items():
            self.arrays[name] = np.full((*box, *plan.shape_of(reducer)), reducer.missing, dtype=reducer.dtype)

    def put(self, number: int, seed: int, outcome: str, reason: str, values: Mapping[str, np.ndarray]) -> None:
        """Run `number` of the box."""
        place = np.unravel_index(number, self._box)
        self.arrays["seed"][place] = seed
        self.arrays["outcome"][place] = OUTCOMES.index(outcome)
        self.arrays["reason"][place] = reason
        for name, value in values.items():
            self.arrays[name][place] = value


Beat = Callable[[int], None]
Limit = Callable[[float | None], Any]


@contextmanager
def unlimited(seconds: float | None) -> Iterator[None]:
    """No limit at all."""
    yield


def compute(
    plan: Plan,
    grid: Grid,
    shard: int,
    *,
    lost: Mapping[int, tuple[str, str]] | None = None,
    timeout: float | None = None,
    limit: Limit = unlimited,
    beat: Beat | None = None,
) -> dict[str, np.ndarray]:
    """The arrays of a shard. lost: runs known to fail, {run: (outcome, reason)}. beat: called before every run.

    limit(timeout): a context that raises Overtime in a run that takes longer.
    """
    blank = Blank(plan, tuple(s.stop - s.start for s in grid.slices(shard)))
    runs = list(enumerate(grid.runs(shard)))
    for at, group in itertools.groupby(runs, lambda pair: plan.place(pair[1])[:-1]):
        try:
            setting: Setting | None = plan.setting(at)  # serves all replicates of a point
            why = ""
        except Exception as error:  # this point cannot be: the others can
            setting, why = None, _told(error)
        here = list(group)
        made = _together(plan, setting, [run for _, run in here]) if setting and not (lost or timeout) else {}
        for number, run in here:
            seed = plan.seed_of(run)
            if beat is not None:
                beat(run)
            if lost and run in lost:
                blank.put(number, seed, *lost[run], {})
            elif setting is None:
                blank.put(number, seed, "raised", why, {})
            else:
                go = made.get(run) or partial(_begun, setting, seed, plan.place(run)[-1])
                blank.put(number, seed, *_outcome(plan, go, timeout, limit))
    return blank.arrays


def _begun(setting: Setting, seed: int, replicate: int) -> Run:
    return follow(setting, setting.start(seed, replicate), seed)


def _together(plan: Plan, setting: Setting, runs: list[int]) -> dict[int, Callable[[], Run]]:
    """The runs of a point on an engine that takes ensembles, a GPU; nothing if there is none, or if that fails.

    Noise is seeded run by run, and so are its runs computed. What fails here is tried again run by run, which says
    which of them it was.
    """
    if setting.engine != "gpu" or setting.endless or setting.model.noise:
        return {}
    try:
        starts = [setting.start(plan.seed_of(run), plan.place(run)[-1]) for run in runs]
        x = check_start(setting.model, np.stack(starts))
        engine = choose(setting.engine, setting.model, setting.task.dtype, x.shape[1], setting.task)
        records, frames = Runner(engine, setting.task, setting.times, {}, True, False).run(x)
    except Exception:
        return {}
    assert frames is not None
    kept = frames[..., : setting.model.dim]
    made = [_run(setting, x[k], setting.times, kept[k], record) for k, record in enumerate(records)]
    return {run: partial(_itself, one) for run, one in zip(runs, made, strict=True)}


def _itself(run: Run) -> Run:
    return run


def _outcome(
    plan: Plan, go: Callable[[], Run], timeout: float | None, limit: Limit
) -> tuple[str, str, dict[str, np.ndarray]]:
    """How a run ended, why, and what is kept of it; whatever it raises is an answer, not an end."""
    try:
        with limit(timeout):
            run = go()
            if run.outcome is Outcome.INTERRUPTED:
                raise KeyboardInterrupt  # the runner keeps it to itself
            if run.outcome.failed:
                return run.outcome.name.lower(), run.outcome.value, {}
            values = {name: r.value(run, plan.shape_of(r)) for name, r in plan.record.items()}
        return run.outcome.name.lower(), "", values
    except Overtime:
        return "overtime", f"It took longer than the timeout of {timeout:g} s.", {}
    except MemoryError as error:
        return "raised", f"Out of memory: {error}".rstrip(": "), {}
    except Exception as error:
        return "raised", _told(error), {}


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, TokenflockError) else f"{type(error).__name__}: {error}"
