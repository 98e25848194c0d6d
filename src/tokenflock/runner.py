"""Running many runs: spread over the cores, with progress, and with nothing lost when someone presses Ctrl-C."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine.contract import Engine, Ensemble, EnsembleEngine, Outcome, Stepper, Task, n_pairs
from tokenflock.engine.machine import threads
from tokenflock.errors import WHOLE_RUNS
from tokenflock.geometry import Array
from tokenflock.model import Model

PATIENCE_S = 0.1  # about how long a compiled call runs before Python may look at the clock and the keyboard
WIDE_FROM = 8_000  # pairs an evaluation from which one run is worth sharing among the cores
HANDOVER_S = 1e-4  # how long one thread of Python keeps the others waiting while runs go side by side
CHUNK_BYTES = 32 * 2**20  # of frames held at a time when only reduced values are kept
TELL_S = 0.1  # progress is told at most ten times a second
BAR_AFTER_S = 2.0
LONG = 1e4  # progress is told in log time from this t_end on

T = TypeVar("T")
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


class Finished(NamedTuple):
    """What all runs of a call left behind."""

    task: Task
    times: Array
    records: list[Record]
    frames: Array | None  # (runs, times, n, m), if positions are kept


def patience(engine: Engine, model: Model, n_tokens: int, seconds: float, runs: int = 1) -> int:
    """How many evaluations of the velocity of so many runs fit into about so many seconds."""
    return max(1, int(seconds / engine.evaluation_s(model, n_tokens, runs)))


class QuickTurns:
    """A run of a few milliseconds that comes out of its compiled call should not wait 5 more for its turn in Python.

    The interval is one for the whole process, and calls overlap: the last one out puts it back.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._usual = threading.Lock(), 0, 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(HANDOVER_S)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                sys.setswitchinterval(self._usual)


QUICK_TURNS = QuickTurns()


def side_by_side(one: Callable[[int], T], runs: int, stop: NDArray[np.uint8]) -> list[T]:
    """one(r) of every run r, a run a core. If one raises, or on Ctrl-C, `stop` is set: those under way end soon."""
    with QUICK_TURNS:
        pool = ThreadPoolExecutor(min(threads(), runs))
        futures = [pool.submit(one, r) for r in range(runs)]
        try:
            left = set(futures)
            while left:
                # Not FIRST_COMPLETED: waking up for each of thousands of runs costs more than the runs.
                done, left = wait(left, timeout=0.2, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
            return [future.result() for future in futures]
        except BaseException:
            stop[0] = 1
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def in_order(one: Callable[[int], T], numbers: Sequence[int], told: Callable[[int], None] | None = None) -> list[T]:
    """one(k) of every number k, over the cores. told: called with how many are done, in their order."""
    from threadpoolctl import threadpool_limits

    # They share the cores: matrix products that take all of them would only wait for each other.
    with QUICK_TURNS, threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(threads()) as pool:
        results: list[T] = []
        try:
            for result in pool.map(one, numbers):
                results.append(result)
                if told is not None:
                    told(len(results))
            return results
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


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
    ) -> None:
        self.engine, self.task, self.times, self.most_steps = engine, task, times, most_steps
        self.reducers, self.positions = reducers, positions
        self.progress = Progress(progress, task.t_end)
        self.stop = np.zeros(1, dtype=np.uint8)

    def run(self, starts: Array) -> Finished:
        """All runs from starts (runs, n, d), in order."""
        runs, n, d = starts.shape
        columns = d + self.task.model.has_radius
        space = None
        if self.positions:
            space = np.empty((runs, len(self.times), n, columns), dtype=self.task.dtype)
        records = [Record(None if space is None else space[r]) for r in range(runs)]
        self.progress.begin(runs)
        cores = threads()
        # Runs go side by side, one a core; if there are fewer than cores, one after the other over all cores.
        beside = cores if runs >= cores else 1
        wide = beside == 1 and cores > 1 and n_pairs(self.task.model, n) >= WIDE_FROM
        try:
            if isinstance(self.engine, EnsembleEngine):
                self._together(self.engine, records, starts, space)
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
            self.progress.end()
        if self.reducers:
            self._complete(records)
        return Finished(self.task, self.times, records, space)

    def _one(self, record: Record, start: Array, r: int, wide: bool) -> None:
        """Advance one run to its end, filling its record as it goes: an interruption leaves what is there."""
        if self.stop[0]:
            self._fill_missing(record)
            return
        stepper = self.engine.begin(self.task, start, run=r, wide=wide, stop=self.stop)
        try:
            self._advance(record, stepper, start, patience(self.engine, self.task.model, len(start), PATIENCE_S), r)
        except KeyboardInterrupt:
            self.stop[0] = 1  # at once, for the runs beside this one
            record.outcome = Outcome.INTERRUPTED
            raise
        finally:
            record.t, record.steps = stepper.t, stepper.steps
            record.rejected, record.evaluations = stepper.rejected, stepper.evaluations
            record.switched = stepper.switched
            if record.filled < len(self.times):
                self._fill_missing(record)
            if not self.stop[0]:
                self.progress.finish(r)

    def _advance(self, record: Record, stepper: Stepper, start: Array, evaluations: int, r: int) -> None:
        total, columns = len(self.times), start.shape[1] + self.task.model.has_radius
        frame_bytes = len(start) * columns * np.dtype(self.task.dtype).itemsize
        chunk = total if self.positions else max(1, min(total, CHUNK_BYTES // frame_bytes))
        buffer = None if self.positions else np.empty((chunk, len(start), columns), dtype=self.task.dtype)
        while record.filled < total:
            first = record.filled
            size = min(chunk, total - first)
            frames = record.frames[first : first + size] if record.frames is not None else buffer
            assert frames is not None
            got = 0
            while got < size and stepper.outcome is None and stepper.steps <= self.most_steps:
                new = stepper.advance(self.times[first + got : first + size], frames[got:size], evaluations)
                if self.reducers:
                    self._reduce(record, frames[got : got + new], first + got)
                got += new
                record.filled = first + got
                self.progress.show(r, stepper.t)
            if got < size:
                record.outcome = stepper.outcome or Outcome.INTERRUPTED
                return
            if stepper.outcome is Outcome.COLLAPSED:
                self._repeat(record, frames[size - 1 : size])
        record.outcome = Outcome.COLLAPSED if stepper.outcome is Outcome.COLLAPSED else Outcome.DONE

    def _together(self, engine: EnsembleEngine, records: list[Record], starts: Array, space: Array | None) -> None:
        """All runs at once, on an engine that takes ensembles, in parts that fit into its memory."""
        for first, last in engine.parts(self.task, *starts.shape[:2]):
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
                for r, record in enumerate(ours):
                    record.t, record.steps = float(batch.t[r]), int(batch.steps[r])
                    record.rejected, record.evaluations = int(batch.rejected[r]), int(batch.evaluations[r])
                    whole = Outcome.DONE if record.filled == len(self.times) else Outcome.INTERRUPTED
                    record.outcome = batch.outcomes[r] or whole
                    self._fill_missing(record)
                    if not self.stop[0]:
                        self.progress.finish(first + r)

    def _follow(self, batch: Ensemble, records: list[Record], starts: Array, space: Array | None, first: int) -> None:
        """Advance a batch to the end of all its runs, filling their records on the way."""
        runs, n, d = starts.shape
        total, columns = len(self.times), d + self.task.model.has_radius
        frames_bytes = runs * n * columns * np.dtype(self.task.dtype).itemsize
        chunk = total if space is not None else max(1, min(total, CHUNK_BYTES // frames_bytes))
        buffer = np.empty((runs, chunk, n, columns), dtype=self.task.dtype) if space is None else space
        evaluations = patience(self.engine, self.task.model, n, PATIENCE_S, runs)
        for begin in range(0, total, chunk):
            times = self.times[begin : begin + chunk]
            frames, filled = buffer[:, : len(times)], np.zeros(runs, dtype=np.int64)
            while any(o is None and f < len(times) for o, f in zip(batch.outcomes, filled, strict=True)):
                before = filled.copy()
                try:
                    batch.advance(times, frames, filled, evaluations)
                finally:  # what is there is kept, whoever ends it
                    for r in map(int, np.flatnonzero(filled > before)):
                        self._reduce(records[r], frames[r, before[r] : filled[r]], begin + int(before[r]))
                        records[r].filled = begin + int(filled[r])
                for r, t in enumerate(batch.t):
                    self.progress.show(first + r, float(t))
            for r, record in enumerate(records):
                if batch.outcomes[r] is Outcome.COLLAPSED and record.filled == begin + len(times):
                    self._repeat(record, frames[r, len(times) - 1 :])

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


class Progress:
    """How far the runs are: a bar on a terminal, a function of the fraction, or nothing."""

    def __init__(self, wanted: Telling, t_end: float) -> None:
        self._t_end, self._lock = t_end, threading.Lock()
        self._tell = wanted if callable(wanted) else None
        self._bar_wanted = sys.stderr.isatty() if wanted is None else bool(wanted) and self._tell is None
        self._bar: Any = None
        self._task: Any = None
        self._done = np.zeros(0)
        self._began = self._shown = 0.0

    def begin(self, runs: int) -> None:
        """Start the clock."""
        self._done = np.zeros(runs)
        self._began = time.monotonic()

    def finish(self, r: int) -> None:
        """Run r has ended."""
        self.show(r, self._t_end)

    def show(self, r: int, t: float) -> None:
        """Run r has reached t."""
        # Over many decades of time the work is even in its logarithm.
        share = math.log1p(t) / math.log1p(self._t_end) if self._t_end > LONG else t / self._t_end
        self._done[r] = max(self._done[r], min(1.0, share))
        now = time.monotonic()
        if now - self._shown < TELL_S or not (self._tell or self._bar_wanted):
            return
        with self._lock:
            self._shown = now
            fraction = float(self._done.mean())
            if self._tell:
                self._tell(fraction)
            elif self._bar or now - self._began > BAR_AFTER_S:
                self._draw(fraction)

    def _draw(self, fraction: float) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("simulate"),
                BarColumn(),
                TextColumn("{task.percentage:3.0f}%"),
                TimeRemainingColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("simulate", total=1.0)
        self._bar.update(self._task, completed=fraction)

    def end(self) -> None:
        """Take the bar away; tell a function that all is done."""
        if self._bar is not None:
            self._bar.stop()
        if self._tell:
            self._tell(float(self._done.mean()) if self._done.size else 1.0)
