"""Running many runs: spread over the cores, with progress, and with nothing lost when someone presses Ctrl-C."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenflock.cores import side_by_side
from tokenflock.engine.contract import (
    HELD_BYTES,
    WIDE_FROM,
    Bodies,
    Engine,
    Ensemble,
    EnsembleEngine,
    Outcome,
    Stepper,
    Task,
    n_pairs,
)
from tokenflock.engine.machine import threads
from tokenflock.errors import WHOLE_RUNS
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.schemes import Rosenbrock

PATIENCE_S = 0.1  # about how long a compiled call runs before Python may look at the clock and the keyboard
LATE = "They are below that of t_end: lower t_end, or take implicit steps where they can be had."
TELL_S = 0.1  # progress is told at most ten times a second
BAR_AFTER_S = 2.0
OFF_SPHERE = {"float64": 1e-9, "float32": 1e-3}  # of |x|^2: farther off the sphere a token is no result of rounding
BELOW = float(np.finfo(np.float64).eps)  # of t_end: with steps of this size no run comes to its end
ENOUGH_STEPS = 100_000  # after which the size of steps is judged
LONG = 1e4  # progress is told, and default times are made, in log time from this t_end on

Reducer = Callable[[Array], Any]
Telling = bool | Callable[[float], None] | None  # True: a bar, None: a bar on a terminal, or a function of the fraction


@dataclass
class Record:
    """What one run left behind."""

    frames: np.ndarray | None
    reduced: dict[str, np.ndarray] = field(default_factory=dict)
    filled: int = 0
    t: float = 0.0
    steps: int = 0
    rejected: int = 0
    evaluations: int = 0
    outcome: Outcome = Outcome.INTERRUPTED
    switched: float = math.nan  # when the scheme became implicit
    bodies: Bodies | None = None  # of a run by implicit steps
    note: str = ""  # what is to be said beside its outcome
    broken: bool = False  # its engine went on with tokens that are none


class Finished(NamedTuple):
    """What all runs of a call left behind."""

    task: Task
    times: Array
    records: list[Record]
    frames: Array | None  # (runs, times, n, m), if positions are kept


def patience(engine: Engine, model: Model, n_tokens: int, seconds: float, runs: int = 1) -> int:
    """How many evaluations of the velocity of so many runs fit into about so many seconds."""
    return max(1, int(seconds / engine.evaluation_s(model, n_tokens, runs)))


def sound(task: Task, frames: np.ndarray) -> int:
    """How many of the first frames (times, n, m) hold tokens: finite, and on the sphere where the model lives there.

    No outcome says more than this: engines look for what overflows where it is cheap, and not everywhere.
    """
    d = task.model.dim
    good = np.isfinite(frames).all(axis=(1, 2))
    if task.model.space == "sphere":
        square = np.einsum("tia,tia->ti", frames[..., :d], frames[..., :d])
        good &= (np.abs(square - 1.0) <= OFF_SPHERE[task.dtype]).all(axis=1)
    return len(frames) if good.all() else int(np.argmin(good))


def endless(task: Task, t: float, steps: int, switched: float) -> bool:
    """Whether the explicit steps of a run have been below the rounding of t_end: it takes 5e15 of them."""
    explicit = not isinstance(task.scheme, Rosenbrock) and math.isnan(switched)
    return explicit and steps >= ENOUGH_STEPS and t < steps * BELOW * task.t_end


class Runner:
    """One call of simulate under way."""

    def __init__(
        self,
        engine: Engine,
        task: Task,
        times: Array,
        reducers: Mapping[str, Reducer],
        positions: bool,
        progress: Telling,
        most_steps: float = math.inf,  # a run that takes more is given up
        each: Sequence[tuple[Engine, Task]] | None = None,  # of each run, where runs have weights of their own
    ) -> None:
        self.engine, self.task, self.times, self.most_steps, self.each = engine, task, times, most_steps, each
        self.reducers, self.positions = reducers, positions
        self.progress = Progress(progress, task.t_end) if is_told(progress) else None
        self.stop = np.zeros(1, dtype=np.uint8)

    def run(self, starts: Array) -> Finished:
        """All runs from starts (runs, n, d), in order."""
        runs, n, d = starts.shape
        columns = d + self.task.model.has_radius
        space = None
        if self.positions:
            space = np.empty((runs, len(self.times), n, columns), dtype=self.task.dtype)
        records = [Record(None if space is None else space[r]) for r in range(runs)]
        if self.progress:
            self.progress.begin(runs)
        cores = threads()
        # Runs go side by side, one a core; if there are fewer than cores, one after the other over all cores.
        beside = cores if runs >= cores else 1
        wide = beside == 1 and cores > 1 and n_pairs(self.task.model, n) >= WIDE_FROM
        held = 0 if self.positions else len(self.times) * n * columns * np.dtype(self.task.dtype).itemsize
        try:
            engine, alike = self.engine, runs > 1 and not self.each
            if alike and isinstance(engine, EnsembleEngine) and (parts := engine.parts(self.task, runs, n, held)):
                self._together(engine, parts, records, starts, space)
            elif beside == 1:
                for r in range(runs):
                    self._one(records[r], starts[r], r, wide)
            else:
                side_by_side(lambda r: self._one(records[r], starts[r], r, False), runs, self.stop)
        except KeyboardInterrupt:
            self.stop[0] = 1
            if WHOLE_RUNS.get():
                raise
            for record in records:
                self._fill_missing(record)
        finally:
            if self.progress:
                self.progress.end()
        if self.reducers:
            self._complete(records)
        return Finished(self.task, self.times, records, space)

    def _one(self, record: Record, start: Array, r: int, wide: bool) -> None:
        """Advance one run to its end, filling its record as it goes: an interruption leaves what is there."""
        if self.stop[0]:
            self._fill_missing(record)
            return
        engine, task = self.each[r] if self.each else (self.engine, self.task)
        stepper = engine.begin(task, start, run=r, wide=wide, stop=self.stop)
        try:
            self._advance(record, stepper, start, patience(self.engine, self.task.model, len(start), PATIENCE_S), r)
        except KeyboardInterrupt:
            self.stop[0] = 1  # at once, for the runs beside this one
            record.outcome = Outcome.INTERRUPTED
            raise
        finally:
            record.t, record.steps = stepper.t, stepper.steps
            record.rejected, record.evaluations = stepper.rejected, stepper.evaluations
            record.switched, record.bodies = stepper.switched, stepper.bodies
            if record.filled < len(self.times):
                self._fill_missing(record)
            if self.progress and not self.stop[0]:
                self.progress.finish(r)

    def _advance(self, record: Record, stepper: Stepper, start: Array, evaluations: int, r: int) -> None:
        total, columns = len(self.times), start.shape[1] + self.task.model.has_radius
        frame_bytes = len(start) * columns * np.dtype(self.task.dtype).itemsize
        chunk = total if self.positions else max(1, min(total, HELD_BYTES // frame_bytes))
        buffer = None if self.positions else np.empty((chunk, len(start), columns), dtype=self.task.dtype)
        while record.filled < total:
            first = record.filled
            size = min(chunk, total - first)
            frames = record.frames[first : first + size] if record.frames is not None else buffer
            assert frames is not None
            got = 0
            while got < size and stepper.outcome is None and stepper.steps <= self.most_steps:
                made = stepper.advance(self.times[first + got : first + size], frames[got:size], evaluations)
                new = sound(self.task, frames[got : got + made])
                if self.reducers:
                    self._reduce(record, frames[got : got + new], first + got)
                got += new
                record.filled = first + got
                if new < made:  # whatever the engine says of it
                    record.outcome = Outcome.NOT_FINITE
                    return
                if self.progress:
                    self.progress.show(r, stepper.t)
                if endless(self.task, stepper.t, stepper.steps, stepper.switched):
                    record.outcome, record.note = Outcome.SMALL, LATE
                    return
            if got < size:
                record.outcome = stepper.outcome or Outcome.INTERRUPTED
                return
            if stepper.outcome is Outcome.COLLAPSED:
                self._repeat(record, frames[size - 1 : size])
        record.outcome = Outcome.COLLAPSED if stepper.outcome is Outcome.COLLAPSED else Outcome.DONE

    def _together(
        self,
        engine: EnsembleEngine,
        parts: list[tuple[int, int]],
        records: list[Record],
        starts: Array,
        space: Array | None,
    ) -> None:
        """All runs at once, on an engine that takes ensembles, in parts that fit into its memory."""
        for first, last in parts:
            if self.stop[0]:
                for record in records[first:last]:
                    self._fill_missing(record)
                continue
            part, ours = slice(first, last), records[first:last]
            batch = engine.begin_all(self.task, starts[part], first, self.stop)
            try:
                self._follow(batch, ours, starts[part], None if space is None else space[part], first)
            except KeyboardInterrupt:
                self.stop[0] = 1
                raise
            finally:
                told = zip(batch.t, batch.steps, batch.rejected, batch.evaluations, batch.outcomes, strict=True)
                for record, (t, steps, rejected, evaluations, outcome) in zip(ours, told, strict=True):
                    record.t, record.steps = float(t), int(steps)
                    record.rejected, record.evaluations = int(rejected), int(evaluations)
                    ended = Outcome.NOT_FINITE if record.broken else outcome or Outcome.DONE
                    whole = ended.failed or record.filled == len(self.times)
                    record.outcome = ended if whole else Outcome.INTERRUPTED
                    if record.filled < len(self.times):
                        self._fill_missing(record)
                if self.progress and not self.stop[0]:
                    self.progress.show_all(first, np.full(last - first, self.task.t_end))

    def _follow(self, batch: Ensemble, records: list[Record], starts: Array, space: Array | None, first: int) -> None:
        """Advance a batch to the end of all its runs, filling their records on the way."""
        runs, n, d = starts.shape
        total, columns = len(self.times), d + self.task.model.has_radius
        frames_bytes = runs * n * columns * np.dtype(self.task.dtype).itemsize
        chunk = total if space is not None else max(1, min(total, HELD_BYTES // frames_bytes))
        buffer = np.empty((runs, chunk, n, columns), dtype=self.task.dtype) if space is None else space
        evaluations = patience(self.engine, self.task.model, n, PATIENCE_S, runs)
        for begin in range(0, total, chunk):
            times = self.times[begin : begin + chunk]
            frames, filled = buffer[:, : len(times)], np.zeros(runs, dtype=np.int64)
            while any(o is None and f < len(times) for o, f in zip(batch.outcomes, filled.tolist(), strict=True)):
                before = filled.copy()
                try:
                    batch.advance(times, frames, filled, evaluations)
                finally:  # what is there is kept, whoever ends it
                    self._keep(records, frames, before, filled, begin)
                if self.progress:
                    self.progress.show_all(first, batch.t)
                if batch.steps.max() >= ENOUGH_STEPS:
                    for r, (t, steps, o) in enumerate(zip(batch.t, batch.steps, batch.outcomes, strict=True)):
                        if o is None and endless(self.task, float(t), int(steps), math.nan):
                            batch.give_up(r)
                            records[r].note = LATE
            for r, outcome in enumerate(batch.outcomes):
                if outcome is Outcome.COLLAPSED and records[r].filled == begin + len(times) < total:
                    self._repeat(records[r], frames[r, len(times) - 1 :])

    def _keep(
        self, records: list[Record], frames: Array, before: NDArray[np.int64], filled: NDArray[np.int64], begin: int
    ) -> None:
        """Note the new frames of a batch, [before, filled) of every run, that hold tokens; begin: the first ever."""
        for r, b, f in zip(
            *(a.tolist() for a in (np.flatnonzero(filled > before), *(x[filled > before] for x in (before, filled)))),
            strict=True,
        ):
            record = records[r]
            if record.broken:
                continue
            new = sound(self.task, frames[r, b:f])
            record.broken = new < f - b
            if self.reducers:
                self._reduce(record, frames[r, b : b + new], begin + b)
            record.filled = begin + b + new

    def _repeat(self, record: Record, frame: Array) -> None:
        """The last frame (1, n, m) of a run that has collapsed, for every later time."""
        for k in range(record.filled, len(self.times)):
            if record.frames is not None:
                record.frames[k] = frame[0]
            self._reduce(record, frame, k)
        record.filled = len(self.times)

    def _reduce(self, record: Record, frames: Array, first: int) -> None:
        d = self.task.model.dim
        for name, function in self.reducers.items():
            for k, frame in enumerate(frames, start=first):
                value = np.asarray(function(frame[:, :d].copy()))  # a function may write to what it is given
                if name not in record.reduced:
                    record.reduced[name] = np.full((len(self.times), *value.shape), np.nan)
                record.reduced[name][k] = value

    def _fill_missing(self, record: Record) -> None:
        if record.frames is not None:
            record.frames[record.filled :] = np.nan

    def _complete(self, records: list[Record]) -> None:
        """A run that kept nothing has missing values of the shape that the other runs have."""
        for name in self.reducers:
            shapes = [r.reduced[name].shape for r in records if name in r.reduced]
            for record in records:
                record.reduced.setdefault(name, np.full(shapes[0] if shapes else len(self.times), np.nan))


def is_told(wanted: Telling) -> bool:
    """Whether anybody hears how far the runs are."""
    return sys.stderr.isatty() if wanted is None else callable(wanted) or bool(wanted)


class Progress:
    """How far the runs are: a bar on a terminal, a function of the fraction, or nothing."""

    def __init__(self, wanted: Telling, t_end: float, words: str = "simulate") -> None:
        self._words, self._t_end, self._long, self._lock = words, t_end, t_end >= LONG, threading.Lock()
        self._tell = wanted if callable(wanted) else None
        self._bar_wanted = is_told(wanted) and self._tell is None
        self._bar: Any = None
        self._task: Any = None
        self._reached = np.zeros(0)  # by every run, in log(1 + t) if the run is long
        self._began = self._shown = 0.0

    def begin(self, runs: int) -> None:
        """Start the clock."""
        self._reached = np.zeros(runs)
        self._began = time.monotonic()

    def finish(self, r: int) -> None:
        """Run r has ended."""
        self.show(r, self._t_end)

    def show(self, r: int, t: float) -> None:
        """Run r has reached t."""
        self._reached[r] = max(self._reached[r], self._clock(t))
        self._tell_now()

    def show_all(self, first: int, t: Array) -> None:
        """Runs from `first` on have reached the times t."""
        reached = self._reached[first : first + len(t)]
        np.maximum(reached, np.log1p(t) if self._long else t, out=reached)
        self._tell_now()

    def _tell_now(self) -> None:
        now = time.monotonic()
        if now - self._shown < TELL_S or not (self._tell or self._bar_wanted):
            return
        with self._lock:
            self._shown = now
            if self._tell:
                self._tell(self._fraction())
            elif self._bar or now - self._began > BAR_AFTER_S:
                self._draw(self._fraction(), self._pace(now) if self._long else "")

    def _clock(self, t: float) -> float:
        """Over many decades of time the work is even in its logarithm."""
        return math.log1p(t) if self._long else t

    def _fraction(self) -> float:
        return float(np.minimum(self._reached / self._clock(self._t_end), 1.0).mean())

    def _pace(self, now: float) -> str:
        """The present time of a long run, of several the middle one in log time, and decades a second so far."""
        reached = float(self._reached.mean())
        return f"t = {math.expm1(reached):.1e}, {reached / math.log(10) / max(now - self._began, TELL_S):.2g} decades/s"

    def _draw(self, fraction: float, pace: str) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:3.0f}%"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[pace]}"),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._words, total=1.0, pace="")
        self._bar.update(self._task, completed=fraction, pace=pace)

    def end(self) -> None:
        """Take the bar away; tell a function that all is done."""
        if self._bar is not None:
            self._bar.stop()
        if self._tell:
            self._tell(self._fraction() if self._reached.size else 1.0)
