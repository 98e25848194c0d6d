"""The numbers that symptoms are read from: positions, speeds, clusters and rates of one run, each computed once."""

from __future__ import annotations

import json
import math
import threading
import time as clock
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenflock.analysis import clusters, spectrum
from tokenflock.diagnosis.shape import Shape, shape
from tokenflock.engine.choose import choose
from tokenflock.engine.contract import Outcome
from tokenflock.engine.traits import no_implicit, traits
from tokenflock.errors import EngineError, TokenflockError
from tokenflock.geometry import Array, distance, retract, tangent
from tokenflock.request import AUTO, IMPLICIT, LONG, Request
from tokenflock.runner import Progress, Runner, Telling, is_told
from tokenflock.simulation import simulate
from tokenflock.trajectories import RUN, TIME, model_of

if TYPE_CHECKING:
    import xarray as xr

#: Pairs of tokens that a diagnosis may evaluate for one question: a few seconds.
WORK = 2e9
DISTURBED = 1e-6  # how far the disturbed starts are off: well above the error of the repeated run, well below 1
FINE = {"rtol": 1e-10, "atol": 1e-12}
#: Of implicit steps, which have order 4: 1e-10 would take ten times the steps of 1e-6, this takes three times as many,
#: and its error is still far below DISTURBED and below what is seen.
FINE_IMPLICIT = {"rtol": 1e-8, "atol": 1e-11}
#: tsit5 needs about 6 times the steps at rtol 1e-10 that it needs at 1e-6, and three runs are repeated.
REPEATED = 18


class Again(NamedTuple):
    """A finer repetition: how far the run's last frame is from it, and how disturbances of the start have grown."""

    gap: float
    growth: float  # the largest, of all kept times
    when: float


class Evidence:
    """One run of a trajectory. seconds: how long looking at it may take, from now on; progress: who hears of it."""

    def __init__(
        self, data: xr.Dataset, index: int | None, seconds: float = math.inf, progress: Telling = False
    ) -> None:
        self.seconds, self._until, self._progress = seconds, clock.monotonic() + seconds, progress
        self.model = model_of(data)
        one = data if index is None or RUN not in data.dims else data.isel({RUN: index})
        self.attrs, self.scheme, self.dtype = data.attrs, str(data.attrs["scheme"]), str(data.attrs["dtype"])
        self.start = np.asarray(one["start"].values, dtype=float)
        self.n, self.dim = self.start.shape
        self.outcome = _outcome(one, data.attrs)
        self.evaluations = int(one["evaluations"]) if "evaluations" in one else int(data.attrs.get("evaluations", 0))
        times, x = np.asarray(one[TIME].values, dtype=float), self.start[None]
        self.has_positions = "x" in one
        radius = None
        if self.has_positions:
            frames = np.asarray(one["x"].values, dtype=float)
            whole = np.isfinite(frames).all(axis=(1, 2))
            times, frames = times[whole], frames[whole]
            radius = np.asarray(one["radius"].values, dtype=float)[whole] if "radius" in one else None
            early = bool(len(times) and times[0] == 0)
            x = frames if early else np.concatenate([x, frames])
            times = times if early else np.concatenate([[0.0], times])
        else:
            times = np.zeros(1)
        self.x, self.times = x, times
        self.last, self.t = x[-1], float(times[-1])
        self.radius = None if radius is None or not len(radius) else radius[-1]
        dt = float(data.attrs.get("dt", math.nan))
        self.dt = None if math.isnan(dt) else dt
        if self.dt is not None and self.scheme != "layers":  # a step ends at every kept time
            kept = np.array(json.loads(data.attrs["times"])) if "times" in data.attrs else times
            self.dt = min(self.dt, float(np.diff(kept, prepend=0.0).max(initial=0.0)) or self.dt)

    @property
    def moved(self) -> bool:
        """Whether there is a frame after the start."""
        return self.t > 0

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return clock.monotonic() >= self._until

    @property
    def on_sphere(self) -> bool:
        """Whether the tokens live on the sphere."""
        return self.model.space == "sphere"

    def velocity(self, x: Array, t: float | None = None) -> Array:
        """The right-hand side, by the fast engine."""
        at = self.t if t is None else t
        return choose("auto", self.model, "float64").velocity(self.model, x, at, self.radius)

    def affordable(self, evaluations: float) -> bool:
        """Whether so many velocities can be had in a few seconds."""
        return bool(evaluations * self.n**2 * self.model.n_heads * (1 + self.dim / 8) <= WORK)

    @cached_property
    def speed(self) -> float:
        """The speed of the fastest token at the last frame."""
        return float(np.linalg.norm(self.velocity(self.last), axis=-1).max())

    @cached_property
    def scale(self) -> float:
        """The speed that this model can reach: |V|, times the mass of the weights where it is not 1."""
        model = self.model
        size = float(np.linalg.norm(model.values, 2, axis=(1, 2)).sum()) or 1.0
        mass = math.exp(min(abs(model.beta), 300.0)) if model.normaliser == "count" else 1.0
        slowed = 1.0 if self.radius is None else float(self.radius.mean())  # pre and peri divide by r, sqrt by its root
        return size * mass / (math.sqrt(self.t + 1) if model.norm.kind == "sqrt" else slowed)

    @property
    def slow(self) -> bool:
        """Whether nothing moves at more than a hundredth of what this model can do."""
        return self.speed < 1e-2 * self.scale

    @cached_property
    def rate(self) -> float | None:
        """The largest rate |eigenvalue| of the linearised flow at the start and at the end; None: too many tokens."""
        if not self.affordable(80):
            return None
        return max(self._rate(self.x[0], 0.0), self._rate(self.last, self.t))

    def _rate(self, x: Array, t: float) -> float:
        """By power iteration on differences of velocities; the mean over the last ten smooths complex pairs."""
        v: Array = np.random.default_rng(0).standard_normal(x.shape)
        step = 1e-6 * max(1.0, float(np.abs(x).max()))
        grown = []
        for _ in range(20):
            v = tangent(x, v) if self.on_sphere else v
            size = float(np.linalg.norm(v))
            if not (size > 0 and math.isfinite(size)):
                return 0.0
            v = v / size
            ends = np.stack([x + step * v, x - step * v])
            ends = retract(ends) if self.on_sphere else ends
            v = (self.velocity(ends[0], t) - self.velocity(ends[1], t)) / (2 * step)
            grown.append(max(float(np.linalg.norm(tangent(x, v) if self.on_sphere else v)), 1e-300))
        return float(np.exp(np.mean(np.log(grown[10:]))))

    @cached_property
    def radius_of_clusters(self) -> float:
        """Tokens are together if a chain of steps this long joins them: 0.05 at beta = 64, as in the report."""
        return 0.02 if math.isinf(self.model.beta) else max(0.02, 0.4 / math.sqrt(1 + abs(self.model.beta)))

    @cached_property
    def labels(self) -> np.ndarray:
        """The cluster of every token at the last frame, (n,)."""
        return clusters.label(retract(self.last), self.radius_of_clusters)

    @cached_property
    def leaders(self) -> np.ndarray:
        """The first token of every cluster."""
        return np.unique(self.labels, return_index=True)[1]

    @property
    def n_clusters(self) -> int:
        """How many clusters the last frame has."""
        return len(self.leaders)

    @property
    def many(self) -> str:
        """The number of clusters in words."""
        return "1 cluster" if self.n_clusters == 1 else f"{self.n_clusters} clusters"

    @cached_property
    def width(self) -> float:
        """The largest distance of a token from the first one of its cluster."""
        return float(distance(self.last, self.last[self.leaders[self.labels]]).max())

    @property
    def compact(self) -> bool:
        """Whether the clusters are points rather than chains of tokens around the sphere."""
        return self.width <= 2 * self.radius_of_clusters

    @cached_property
    def value(self) -> tuple[Array | None, str]:
        """The V that the atlas is asked about, or why there is none."""
        model = self.model
        if model.n_heads == 1:
            return model.values[0], ""
        if np.allclose(model.form, model.form[:1]) and (model.slopes == model.slopes[0]).all():
            return model.values.sum(axis=0), ""  # one attention matrix: the heads are one head with the sum as its V
        return None, f"the atlas of paper A is about one head, and the {model.n_heads} heads here attend differently"

    @cached_property
    def regime(self) -> spectrum.Regime | None:
        """The row of the atlas for V."""
        value, _ = self.value
        return None if value is None or not np.any(value) else spectrum.classify(value)

    @cached_property
    def shape(self) -> Shape | str:
        """Where the rescaled tokens of a run in R^d are, or why that is not told."""
        return shape(self)

    @cached_property
    def again(self) -> Again | str:
        """The run once more, finer, and with two disturbed starts; or why not."""
        if self.model.noisy:
            return "noise: a finer or disturbed run has another path"
        if not self.moved:
            return "no frame after the start"
        if not self.affordable(REPEATED * max(self.evaluations, 1)):
            return "it takes more than a few seconds to repeat"
        try:
            return self._again()
        except TokenflockError as error:
            return str(error)

    def _again(self) -> Again:
        rng = np.random.default_rng([2411, 4990])  # not a seed that a start is likely to be made with
        size = max(1.0, float(np.abs(self.start).max()))
        off: Array = rng.standard_normal((2, self.n, self.dim))
        off = tangent(self.start, off) if self.on_sphere else off
        off *= DISTURBED * size / np.maximum(np.linalg.norm(off, axis=(1, 2), keepdims=True), 1e-300)
        starts = np.concatenate([self.start[None], self.start + off])
        starts = retract(starts) if self.on_sphere else starts
        kept = self.times[self.times > 0]
        kept = kept[np.unique(np.linspace(0, len(kept) - 1, min(len(kept), 40)).astype(int))]
        truth = self._frames(starts, kept, self.finer)
        apart = truth
        if self.scheme == "layers":  # disturbed layers are compared with layers, the run with the flow
            apart = self._frames(starts, kept, {"scheme": "layers", "dt": self.dt})
        grown = np.linalg.norm(apart[1:] - apart[:1], axis=(2, 3)).max(axis=0) / (DISTURBED * size)
        if not self.on_sphere:  # a flow that only stretches keeps shapes: disturbances are held against |x|
            largest = np.linalg.norm(apart[0], axis=-1).max(axis=-1)
            grown = grown / np.maximum(largest / max(float(np.linalg.norm(self.start, axis=-1).max()), 1e-300), 1.0)
        gap = np.linalg.norm(truth[0, -1] - self.last, axis=-1) / max(1.0, float(np.abs(self.last).max()))
        k = int(np.argmax(grown))
        return Again(float(gap.max()), float(grown[k]), float(kept[k]))

    @cached_property
    def rest_speed(self) -> float:
        """The speed of the fastest token as far as steps of the run's tolerance let one see.

        Where the last speed is within the error that such steps leave, the last frame is followed finer, for as long as
        the run took or LONG: tokens at rest come closer to it, and others go on. Explicit steps leave the least error.
        """
        tolerance = float(self.attrs.get("rtol", math.nan)) + float(self.attrs.get("atol", math.nan))
        model, smooth = self.model, self.dt is None and math.isfinite(self.model.beta)
        free = smooth and model.autonomous and not model.has_radius and not model.noisy
        by_error = self.on_sphere and free and 0 < self.speed < tolerance * self.scale
        if not by_error or not self.affordable(REPEATED / 3 * max(self.evaluations, 1)):
            return self.speed
        try:
            later = self._frames(retract(self.last)[None], np.array([min(self.t, LONG)]), FINE)[0, -1]
        except TokenflockError:
            return self.speed
        stayed = float(distance(later, self.last).max()) < self.radius_of_clusters
        speed = float(np.linalg.norm(self.velocity(later), axis=-1).max())
        return min(speed, self.speed) if stayed else self.speed

    @cached_property
    def finer(self) -> dict[str, Any]:
        """How the run is repeated, as keywords of simulate."""
        if math.isinf(self.model.beta):  # not smooth: only smaller steps are finer
            return {"scheme": "euler", "dt": (self.dt or 0.01) / 4}
        if self.t <= LONG or no_implicit(self.model, "float64") is not None:
            return dict(FINE)
        # Explicit steps would never come to the end of a long run. auto changes to implicit ones in causal models only.
        return {"scheme": AUTO if traits(self.model).causal else IMPLICIT, **FINE_IMPLICIT}

    def _frames(self, starts: Array, times: Array, how: dict[str, Any]) -> Array:
        """The positions of runs at the times, if they can be had before the time of this diagnosis is over."""
        job = Request(self.model, float(times[-1]), times, **how).starting(starts)
        runs = Runner(job.engine, job.request.task, job.request.kept, {}, positions=True, progress=False)
        if is_told(self._progress):
            words = f"repeating the run, finer, for {self.seconds:g} s at most"
            runs.progress = Progress(self._progress, job.request.task.t_end, words)
        left = self._until - clock.monotonic()
        # A flag that loops of steps look at: a call of an implicit one can take seconds before it comes back.
        timer = threading.Timer(max(0.0, left), runs.stop.fill, (1,)) if math.isfinite(left) else None
        if timer is not None:
            timer.start()
        try:
            done = runs.run(starts)
        finally:
            if timer is not None:
                timer.cancel()
        failed = next((record.outcome for record in done.records if record.outcome.failed), None)
        if failed is Outcome.INTERRUPTED and not self.late:
            raise KeyboardInterrupt  # which a runner takes for its end
        if failed is Outcome.INTERRUPTED:
            raise EngineError(f"repeating the run was not done in the {self.seconds:g} s that a diagnosis may take")
        if failed is not None:
            raise EngineError(f"a finer run failed: {failed.value}")
        assert done.frames is not None
        return np.asarray(done.frames[..., : self.dim], dtype=float)

    def steps_from_here(self, count: int) -> Array | None:
        """So many steps of the run's own scheme from its last frame; None where they cannot be made."""
        if self.dt is None or not self.model.autonomous or self.model.has_radius or self.model.noisy:
            return None
        start = retract(self.last) if self.on_sphere else self.last
        times = self.dt * np.arange(1, count + 1)
        how: dict[str, Any] = {"scheme": self.scheme, "dt": self.dt, "progress": False, "throw": False}
        found = np.asarray(simulate(self.model, start, float(times[-1]), times=times, **how)["x"].values)
        return found if len(found) == count and np.isfinite(found).all() else None


def _outcome(one: xr.Dataset, attrs: dict[str, Any]) -> Outcome | None:
    """How the run ended; None if the file says something else."""
    if "outcome" in one:
        code = int(one["outcome"])
        return list(Outcome)[code] if 0 <= code < len(Outcome) else None
    return next((outcome for outcome in Outcome if outcome.value == attrs["outcome"]), None)
