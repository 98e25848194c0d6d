"""Shards: boxes of the grid, the unit of work and of resume. `compute` is a pure function of the plan and the box."""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine.contract import HELD_BYTES, Outcome
from tokenflock.errors import TokenflockError
from tokenflock.geometry import Array
from tokenflock.runner import Finished
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
        return tuple(int(k) for k in np.unravel_index(shard, self.counts))

    def slices(self, shard: int) -> tuple[slice, ...]:
        """The runs of a shard, in the grid."""
        along = zip(self.corner(shard), self.box, self.shape, strict=True)
        return tuple(slice(k * step, min((k + 1) * step, size)) for k, step, size in along)

    def size(self, shard: int) -> int:
        """How many runs a shard has."""
        return math.prod(s.stop - s.start for s in self.slices(shard))

    def runs(self, shard: int) -> list[int]:
        """The numbers of its runs, in the order of the box."""
        places = np.ix_(*(np.arange(s.start, s.stop) for s in self.slices(shard)))
        return [int(run) for run in np.ravel_multi_index(places, self.shape).ravel()]


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
    request = dataclasses.replace(setting.request, seed=seed) if setting.model.noisy else setting.request
    job = request.starting(x)
    return _run(setting, job.start, job.run(), 0)


def _run(setting: Setting, start: Array, found: Finished, number: int) -> Run:
    """Run `number` of those that were made together. What was not computed of it is left out."""
    assert found.frames is not None
    record, model = found.records[number], setting.model
    times, x = found.times[: record.filled], found.frames[number, : record.filled, ..., : model.dim]
    dt = found.task.dt if found.task.layers else None
    return Run(model, start, times, x, record.outcome, record.steps, record.evaluations, dt, setting.point)


@dataclass(frozen=True)
class Variable:
    """One array of a sweep: what it holds of every run."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    missing: float | str  # the value of a run that is not done, or failed


def variables(plan: Plan) -> dict[str, Variable]:
    """The arrays of a sweep by name: what is told of every run, and what its reducers keep."""
    told = {
        "seed": Variable((), (), "int64", 0),
        "outcome": Variable((), (), "int8", NOT_YET),
        "reason": Variable((), (), "str", ""),
    }
    return told | {
        name: Variable(reducer.dims, plan.shape_of(reducer), reducer.dtype, reducer.missing)
        for name, reducer in plan.record.items()
    }


Arrays = dict[str, NDArray[Any]]


class ShardArrays:
    """The arrays of a shard, filled run by run."""

    def __init__(self, plan: Plan, box: tuple[int, ...]) -> None:
        self._box = box
        self.arrays: Arrays = {
            name: np.full((*box, *v.shape), v.missing, dtype=object if v.dtype == "str" else v.dtype)
            for name, v in variables(plan).items()
        }

    def put(self, number: int, seed: int, outcome: str, reason: str, values: Arrays) -> None:
        """Fill in run `number` of the box."""
        place = np.unravel_index(number, self._box)
        told = {"seed": seed, "outcome": OUTCOMES.index(outcome), "reason": reason}
        for name, value in (told | values).items():
            self.arrays[name][place] = value


Beat = Callable[[int], None]
Limit = Callable[[float | None], AbstractContextManager[None]]


def compute(
    plan: Plan,
    grid: Grid,
    shard: int,
    *,
    lost: Mapping[int, tuple[str, str]] | None = None,
    timeout: float | None = None,
    limit: Limit = lambda seconds: nullcontext(),
    beat: Beat | None = None,
    alone: bool = False,
) -> Arrays:
    """The arrays of a shard. lost: runs known to fail, {run: (outcome, reason)}. beat: called before every run.

    limit(timeout): a context that raises Overtime in a run that takes longer. alone: no run beside another, so that
    what a run does to its process is known to be its doing.
    """
    made = ShardArrays(plan, tuple(s.stop - s.start for s in grid.slices(shard)))
    runs = list(enumerate(grid.runs(shard)))
    for at, group in itertools.groupby(runs, lambda pair: plan.place(pair[1])[:-1]):
        try:
            setting: Setting | None = plan.setting(at)  # serves all replicates of a point
            why = ""
        except Exception as error:  # this point cannot be: the others can
            setting, why = None, words_of(error)
        here = list(group)
        seeds = {run: plan.seed_of(run) for _, run in here}
        ways = _ways(plan, setting, seeds, bool(alone or lost or timeout)) if setting else None
        for number, run in here:
            seed = seeds[run]
            if beat is not None:
                beat(run)
            if ways is None:
                made.put(number, seed, "raised", why, {})
                continue
            way = next(ways)
            if lost and run in lost:
                made.put(number, seed, *lost[run], {})
            else:
                made.put(number, seed, *_outcome(plan, way, timeout, limit))
    return made.arrays


Way = Callable[[], Run]
Draw = Callable[[], Array]


def _ways(plan: Plan, setting: Setting, seeds: Mapping[int, int], alone: bool) -> Iterator[Way]:
    """The way to each run of a point, in order: by itself, or out of an ensemble, made when its first run is wanted."""
    # The start of a run is drawn when it is wanted: what it raises is this run's answer.
    drawn = {run: partial(setting.start, seed, plan.place(run)[-1]) for run, seed in seeds.items()}
    at_once = 1 if alone else _at_once(setting, list(drawn.values()))
    runs = list(drawn)
    for first in range(0, len(runs), at_once):
        batch = runs[first : first + at_once]
        made = _together(setting, [drawn[run] for run in batch]) if len(batch) > 1 else None
        for k, run in enumerate(batch):
            yield partial(made, k) if made else partial(_begun, setting, drawn[run], seeds[run])


def _at_once(setting: Setting, drawn: list[Draw]) -> int:
    """How many runs of a point go together. Noise is seeded run by run, and so are its runs computed."""
    if setting.model.noisy or len(drawn) < 2:
        return 1
    try:
        return setting.request.starting(drawn[0]()).at_once(len(drawn), HELD_BYTES)
    except Exception:  # it comes again when the first run is made, which says it
        return 1


def _begun(setting: Setting, draw: Draw, seed: int) -> Run:
    return follow(setting, draw(), seed)


def _together(setting: Setting, drawn: Sequence[Draw]) -> Callable[[int], Run] | None:
    """Runs of a point as an ensemble, by their place in it. None: it failed, and run by run it will be seen why."""
    try:
        job = setting.request.starting(np.stack([draw() for draw in drawn]))
        found = job.run()
    except Exception:
        return None
    return lambda k: _run(setting, job.start[k], found, k)


def _outcome(plan: Plan, go: Callable[[], Run], timeout: float | None, limit: Limit) -> tuple[str, str, Arrays]:
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
        return "raised", words_of(error), {}


def words_of(error: Exception) -> str:
    """An error in words: those of this package are sentences, others are told with their type."""
    return str(error) if isinstance(error, TokenflockError) else f"{type(error).__name__}: {error}"


def time_runs(
    plan: Plan, runs: list[int], *, timeout: float | None, limit: Limit, beat: Beat | None = None
) -> Generator[float]:
    """The seconds that each of these runs takes, one by one; nothing else is kept of them."""
    grid = cut(plan.shape, 1)
    for run in runs:
        began = time.perf_counter()
        compute(plan, grid, run, timeout=timeout, limit=limit, beat=beat)
        yield time.perf_counter() - began
