"""One run of one tab: built from what the page asks, computed in short slices by the real engines, steered on its way.

A session knows no network and starts no thread. Whoever holds it calls `work` again and again, from a worker; between
two slices anything may be asked of it. All frames are held in arrays of a size that is known, and refused, beforehand.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine.contract import Outcome, Stepper, n_pairs
from tokenflock.errors import SpecError, TokenflockError, bad
from tokenflock.explorer import frames, projection, recipe, schedule, weights
from tokenflock.explorer.began import began
from tokenflock.explorer.limits import Limits
from tokenflock.explorer.measures import FEW, Ruler
from tokenflock.explorer.messages import MOST_TEXT
from tokenflock.geometry import Array
from tokenflock.request import Job
from tokenflock.runner import sound

SLICE_S = 0.03  # about how long one slice computes before anything else may be asked
WIDE_FROM = 2_000_000  # pairs from which one run is shared among the cores
ENERGY_SHARE = 0.25  # of the time of a large run that its energies may take


class Session:
    """See the head of this file. `alone` says whether no other session computes now: then a run may use all cores."""

    def __init__(self, limits: Limits | None = None, alone: Callable[[], bool] = lambda: True) -> None:
        self.limits, self._alone = limits or Limits(), alone
        self.run = 0  # every begin and steer is a new run: packets of an old one can be told
        self.measured = 0  # frames that are there and measured: what may be sent
        self.total = 0
        self.ended = ""  # the sentence that says how it ended
        self.failed = False
        self._stop = np.zeros(1, dtype=np.uint8)
        self._stages: list[schedule.Stage] = []
        self._rulers: list[Ruler] = []  # one for each of them
        self._filled = 0
        self._frames: NDArray[np.float64] = np.zeros((0, 0, 0))
        self._labels: NDArray[np.uint16] = np.zeros((0, 0), dtype=np.uint16)
        self._measures: NDArray[np.float64] = np.zeros((0, 0))
        self._stepper: Stepper | None = None
        self._current = 0
        self._spent = self._energy_s = 0.0

    @property
    def finished(self) -> bool:
        """Whether every frame that will ever be there is there."""
        return bool(self.ended) and self.measured == self._filled

    # Asked for by the page -------------------------------------------------------------------------------------------

    def begin(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """A new run; the page learns all about it."""
        found = schedule.stages(spec, self.limits)
        self._take(found, dict(spec), kept=0)
        return self._told(kept=0, note="")

    def steer(self, spec: Mapping[str, Any], frame: int) -> dict[str, Any]:
        """Go on from a frame with the model and the [simulate] of spec; from the start where that cannot be."""
        if not self._stages:
            return self.begin(spec)
        at = max(0, min(frame, self.measured - 1))
        change = {"at": at, "model": spec.get("model"), "simulate": _another_seed(spec.get("simulate"), at)}
        changes = [c for c in self._spec.get("then") or [] if c["at"] < at]
        try:
            if dict(spec.get("start") or {}) != dict(self._spec["start"]):
                raise SpecError("the start changed")
            if len(changes) >= self.limits.changes:
                return self._anew(spec, at)
            found = schedule.extended(self._stages, change, self.limits)
        except SpecError as error:
            told = self.begin({key: value for key, value in spec.items() if key != "then"})
            return told | {"note": f"Restarted: {error}"}
        self._take(found, {**self._spec, "then": [*changes, change]}, kept=at + 1)
        return self._told(kept=at + 1, note="")

    def _anew(self, spec: Mapping[str, Any], at: int) -> dict[str, Any]:
        """After many changes the tokens as they are now become a start: what came before is let go."""
        tokens = self._frames[at, :, : self._model.dim].tolist()
        told = self.begin({"model": spec["model"], "start": {"array": tokens}, "simulate": spec["simulate"]})
        return told | {"note": "After many changes the run was started anew from its present state."}

    def look(self, how: str, frame: int) -> dict[str, Any]:
        """Another projection; all frames have to be sent again."""
        self._running()
        x = self._frames[min(frame, self.measured - 1), :, : self._model.dim]
        self._projection = projection.choose(self._model, how, x)
        return {"type": "projected", "run": self.run, "projection": self._projection.described()}

    def row(self, frame: int, token: int, head: weights.Head) -> dict[str, Any]:
        """Whom a token attends to in a frame."""
        x, t, model = self._at(frame)
        if token >= len(x):
            raise bad("token", token, f"0 to {len(x) - 1}")
        return {"type": "row", "run": self.run, "frame": frame, **weights.row(model, x, t, token, head)}

    def matrix(self, frame: int, head: weights.Head) -> bytes:
        """The attention matrix of a frame as a picture."""
        x, t, model = self._at(frame)
        return frames.matrix(self.run, frame, t, weights.picture(model, x, t, head), head)

    def packet(self, frame: int) -> bytes:
        """One frame, as it is sent."""
        x = self._projection(self._frames[frame, :, : self._model.dim])
        return frames.packet(self.run, frame, float(self.times[frame]), x, self._labels[frame], self._measures[frame])

    def interrupt(self) -> None:
        """End a slice that is under way at its next step. May be called from anywhere."""
        self._stop[0] = 1

    def close(self) -> None:
        """Release the frames of the run."""
        self.interrupt()
        self._stages, self._stepper, self.measured, self.total = [], None, 0, 0
        self._frames, self._measures = np.zeros((0, 0, 0)), np.zeros((0, 0))
        self._labels = np.zeros((0, 0), dtype=np.uint16)

    # Computing --------------------------------------------------------------------------------------------------------

    def work(self) -> bool:
        """One slice; False when there is nothing left to do. A run that fails says so in `ended`."""
        if not self._stages or self.finished:
            return False
        began = clock.perf_counter()
        try:
            if self.measured < self._filled:
                self._measure(began + SLICE_S)
            else:
                self._advance()
        except TokenflockError as error:
            self._filled = self.measured  # what could not be measured will not be shown
            self._end(str(error), failed=True)
        except Exception as error:  # whatever an engine does, the page hears it and the server goes on
            self._filled = self.measured
            self._end(f"The engine failed: {type(error).__name__}: {str(error)[:MOST_TEXT]}", failed=True)
        self._spent += clock.perf_counter() - began
        if self._spent > self.limits.wall_s and not self.ended:
            reached = self.times[max(self._filled - 1, 0)]
            self._end(f"Stopped after {self.limits.wall_s:g} s of computing, at t = {reached:.4g}.", failed=True)
        return True

    def _advance(self) -> None:
        here = self._stages[self._current]
        model, n = here.plan.model, self._frames.shape[1]
        if self._stepper is None:
            x = self._x if here.first < 0 else self._frames[here.first, :, : model.dim]
            wide = n_pairs(model, n) >= WIDE_FROM and self._alone()
            job = self._choose(here, x)
            self._stepper, self._patience = job.begin(wide, self._stop), job.patience(SLICE_S)
        done = self._filled - here.first - 1
        space = self._frames[self._filled : here.last + 1]
        new = self._stepper.advance(here.times[done:], space, self._patience)
        good = sound(here.request.task, space[:new])
        self._filled += good
        if good < new:  # whatever the engine says of it
            return self._end(Outcome.NOT_FINITE.value, failed=True)
        outcome = self._stepper.outcome
        if self._filled > here.last or outcome is Outcome.COLLAPSED:
            if outcome is Outcome.COLLAPSED:  # later frames repeat the last one
                self._frames[self._filled : here.last + 1] = self._frames[self._filled - 1]
                self._filled = here.last + 1
            self._next(outcome)
        elif outcome is not None:
            self._end(outcome.value, failed=outcome.failed)
        return None

    def _choose(self, here: schedule.Stage, x: Array) -> Job:
        return here.request.starting(x)

    def _next(self, outcome: Outcome | None) -> None:
        self._stepper = None
        self._current += 1
        if self._current == len(self._stages):
            self._end((outcome or Outcome.DONE).value, failed=False)

    def _measure(self, until: float) -> None:
        """Clusters and numbers of the frames that are there, for a while."""
        d = self._model.dim
        while self.measured < self._filled:
            k = self.measured
            ruler = self._rulers[int(np.searchsorted([s.first for s in self._stages], k)) - 1]
            x = self._frames[k, :, :d]
            if not np.isfinite(x).all():
                self._filled = k
                return self._end(Outcome.NOT_FINITE.value, failed=True)
            began = clock.perf_counter()
            cheap = len(x) <= FEW or k in (0, self.total - 1) or self._energy_s <= ENERGY_SHARE * self._spent
            labels = ruler.labels(x)
            self._labels[k] = np.minimum(labels, frames.MOST_LABELS)
            self._measures[k] = ruler.measure(x, labels, with_pairs=cheap)
            self.measured += 1
            now = clock.perf_counter()
            self._energy_s += (now - began) if cheap else 0.0
            if now > until:
                return None
        return None

    def _end(self, sentence: str, failed: bool) -> None:
        self.ended, self.failed, self._stepper = sentence, failed, None

    # State -----------------------------------------------------------------------------------------------------------

    def _take(self, found: list[schedule.Stage], spec: dict[str, Any], kept: int) -> None:
        """Make these stages the run, with the first frames of the old one if they are kept."""
        models = [s.plan.model for s in found]
        old = len(found) - 1 if kept else 0  # rulers of the run before go on
        rulers = [*self._rulers[:old], *(Ruler(m, found[0].plan.start) for m in models[old:])]
        n, columns = len(found[0].plan.start), models[0].dim + max(m.has_radius for m in models)
        times = schedule.all_times(found)
        held, labels = np.empty((len(times), n, columns)), np.zeros((len(times), n), dtype=np.uint16)
        numbers = np.full((len(times), len(rulers[-1].described()["measures"])), np.nan)
        if kept:
            held[:kept], labels[:kept] = self._frames[:kept], self._labels[:kept]
            numbers[:kept] = self._measures[:kept]
        self._stop[0] = 1
        self._stop, self._stepper = np.zeros(1, dtype=np.uint8), None
        self._stages, self._spec, self.times, self.total = found, spec, times, len(times)
        self._frames, self._labels, self._measures = held, labels, numbers
        self._rulers, self._model = rulers, models[-1]
        self._x = found[0].plan.start
        self.run, self.ended, self.failed = self.run + 1, "", False
        self._filled = self.measured = kept
        self._current = len(found) - 1 if kept else 0
        self._spent = self._energy_s = 0.0
        if not kept:
            self._projection = projection.choose(self._model)

    def _running(self) -> None:
        if not self._stages or not self.measured:
            raise SpecError("there is no run yet. Start one first.")

    def _at(self, frame: int) -> tuple[Array, float, Any]:
        self._running()
        if frame >= self.measured:
            raise bad("frame", frame, f"0 to {self.measured - 1}, those computed so far")
        place = max(int(np.searchsorted([s.first for s in self._stages], frame)) - 1, 0)
        here = self._stages[place]
        return self._frames[frame, :, : self._model.dim], float(self.times[frame]) - here.begin, here.plan.model

    def _told(self, kept: int, note: str) -> dict[str, Any]:
        """What the page must know of the run before its first frame."""
        n = int(self._frames.shape[1])
        told = began(self._model, self._spec, n, self.times, self._projection, self._rulers[-1])
        return told | {"run": self.run, "kept": kept, "note": note, "recipe": recipe.of(self._spec)}


def _another_seed(simulate: Any, at: int) -> Any:
    """Noise that was there before must not come again after a change."""
    if not isinstance(simulate, Mapping) or not isinstance(simulate.get("seed", 0), int):
        return simulate
    return {**simulate, "seed": simulate.get("seed", 0) + at}
