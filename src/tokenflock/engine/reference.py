"""The reference engine: plain numpy, the specification of every other. No tuning in this file.

Step control: a step is accepted if the embedded error of every token, |e_i| / (atol + rtol |x_i|), is at most 1; the
next step follows from this error and the one before (a PI controller). Wanted times between steps are read off the
polynomial through the values and velocities of the four accepted states around them: order 8, no evaluations. The last
two stages stand at the same time, so their difference shows the fastest rate; steps stay where that rate is stable.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tokenflock.common_noise import drawn, features, weights_of
from tokenflock.engine.boolean import Settled, settle
from tokenflock.engine.contract import Engine, Outcome, Task
from tokenflock.engine.randomness import COMMON, key_of, normals
from tokenflock.geometry import Array
from tokenflock.layers import layer
from tokenflock.model import Model, drops, flow_at, rates
from tokenflock.model import velocity as model_velocity
from tokenflock.rescaling import flow_at_layer
from tokenflock.schemes import LEVEL, NOISE, STABLE, first_step, growth, hermite, shrinkage
from tokenflock.sphere import retract, tangent
from tokenflock.stretches import stretches

NODES = 4


class ReferenceEngine(Engine):
    """model.py, stepped in Python."""

    name = "reference"
    pair_s = 3e-7

    def supports(self, model: Model, dtype: str) -> str | None:
        """Every option, whatever options there are: it runs model.py itself."""
        return self.objection(model, dtype)

    def objection(self, model: Model, dtype: str) -> str | None:
        """Only float64."""
        return None if dtype == "float64" else "The reference engine is float64 only; use engine='cpu' for float32."

    def velocity(
        self, model: Model, x: Array, t: float = 0.0, radius: Array | None = None, *, dtype: str = "float64"
    ) -> Array:
        """The right-hand side of model.py."""
        return model_velocity(model, x, t, radius)

    def begin(
        self, task: Task, x: Array, run: int = 0, wide: bool = False, stop: NDArray[np.uint8] | None = None
    ) -> ReferenceStepper:
        """A run from x (n, d)."""
        return ReferenceStepper(task, x, run, stop)


def _ratio(change: Array, gap: Array) -> float:
    """How fast the velocity changes along a gap, both (n, m): 0 where there is no gap."""
    size = float(np.linalg.norm(gap))
    return float(np.linalg.norm(change)) / size if size > 0 else 0.0


class ReferenceStepper:
    """One run; the state is y (n, m), tokens with a last column of magnitudes where these move."""

    switched = math.nan
    bodies = None

    def __init__(self, task: Task, x: Array, run: int, stop: NDArray[np.uint8] | None) -> None:
        model = task.model
        self.task, self.model, self.d = task, model, model.dim
        self.y: Array = np.array(x, dtype=np.float64)
        if model.has_radius:
            self.y = np.column_stack([self.y, np.full(len(x), model.norm.radius)])
        self.t, self.steps, self.rejected, self.evaluations = 0.0, 0, 0, 0
        self.outcome: Outcome | None = None
        self._stop = np.zeros(1, dtype=np.uint8) if stop is None else stop
        self._key = key_of(task.seed, run)
        self._stretches = stretches(model, task.t_end, task.dt if task.layers else None)
        self._stretch, self._run = next(self._stretches), run
        self._times: list[float] = []  # of the accepted states, newest first
        self._states: list[Array] = []
        self._slopes: list[Array] = []
        self._h, self._error, self._left = 0.0, 1.0, 0
        self._settled: Settled | None = None
        self._watch, self._waited = 0, 8

    def _rates(self, y: Array, t: float) -> Array:
        """(x', r') at a state, with the field extended off the sphere as f(x / |x|)."""
        self.evaluations += 1
        x = y[:, : self.d]
        if self.model.space == "sphere":
            x = retract(x)
        stretch, radius = self._stretch, y[:, self.d] if self.model.has_radius else None
        v, r_rate = rates(self.model.at(t, stretch.middle, self._run), x, t, radius, stretch.kind)
        return np.column_stack([v, r_rate]) if self.model.has_radius else v

    def _retract(self, y: Array) -> Array:
        if self.model.space != "sphere":
            return y
        return np.column_stack([retract(y[:, : self.d]), y[:, self.d :]])

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # the outcome says it
    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """See contract.Stepper."""
        filled, budget = 0, self.evaluations + patience
        while self.outcome is None:
            self._restart()
            ended = self.t >= self._stretch.end
            collapsed = not ended and self._collapsed()
            last = ended or bool(self._stop[0]) or collapsed
            filled = self._emit(times, frames, filled, final=ended or collapsed)
            if ended and self.t < self.task.t_end and not self._settled and filled < len(times):
                self._stretch = next(self._stretches)
                self._times, self._states, self._slopes, self._left = [], [], [], 0
            elif ended and self._settled:
                filled = self._finish(self._settled, times, frames, filled)
                break
            elif ended and filled == len(times) and times[-1] < self.task.t_end:
                break  # more kept times may be asked for
            elif last:
                self.outcome = Outcome.DONE if ended else Outcome.INTERRUPTED if self._stop[0] else Outcome.COLLAPSED
                if self.outcome is Outcome.COLLAPSED:
                    frames[filled:], filled = self.y, len(times)
            elif filled == len(times) or self.evaluations >= budget:
                break
            else:
                self._step(times[filled])
        return filled

    def _restart(self) -> None:
        """Begin a stretch of smooth time: the first node and the first step."""
        scheme = self.task.scheme
        if scheme is not None and scheme.adaptive and not self._times:
            self._times, self._states, self._slopes = [self.t], [self.y], [self._rates(self.y, self.t)]
            self._error, self._h = 1.0, self._first_step(self._stretch.end - self.t, scheme.order)

    def _step(self, target: float) -> None:
        if self.task.scheme is None:
            self._layer()
        elif self.task.scheme.adaptive:
            self._adaptive_step(self._stretch.end)
        else:
            self._fixed_step(min(target, self._stretch.end))
        if not np.isfinite(self.y).all():
            self.outcome = Outcome.NOT_FINITE

    def _collapsed(self) -> bool:
        adaptive = self.task.scheme is not None and self.task.scheme.adaptive
        if not (adaptive and self.task.collapse):
            return False
        return bool(np.linalg.norm(self.y - self.y[0], axis=1).max() <= self.task.collapse)

    def _emit(self, times: Array, frames: Array, filled: int, final: bool) -> int:
        while filled < len(times) and times[filled] <= self.t:
            t = float(times[filled])
            if t == self.t:
                frames[filled] = self.y
            elif final or (len(self._times) == NODES and t <= self._times[1]):
                frames[filled] = self._retract(hermite(t, self._times, self._states, self._slopes))
            else:
                break
            filled += 1
        return filled

    def _settle(self) -> None:
        """In rescaled space: is attention Boolean for good? If not, look again after twice as many steps."""
        if self.model.space != "rescaled" or self.steps < self._watch or self._settled:
            return
        dt = self.task.dt if self.task.layers else None
        flow = flow_at(self.model, self.t) if dt is None else flow_at_layer(self.model, self.steps, dt)
        whole = np.exp(drops(self.model, self.y, flow)[0]).sum(axis=-1)
        if np.abs(whole - np.round(whole)).max() > LEVEL:
            return
        self._settled = settle(self.model, self.y, self.t, self.task.t_end, dt)
        self._watch, self._waited = self.steps + self._waited, 2 * self._waited
        if self._settled:
            self._stretch = self._stretch._replace(end=self.t)

    def _finish(self, rest: Settled, times: Array, frames: Array, filled: int) -> int:
        """The frames of a settled run."""
        for k in range(filled, len(times)):
            y = rest.at(float(times[k]))
            if not np.isfinite(y).all():
                self.outcome = Outcome.NOT_FINITE
                return k
            frames[k], self.t = y, float(times[k])
        self.outcome = Outcome.DONE if times[-1] >= self.task.t_end else None
        return len(times)

    def _layer(self) -> None:
        model, dt = self.model, self.task.dt
        assert dt is not None
        radius = self.y[:, self.d] if model.has_radius else np.ones(len(self.y))
        x, radius = layer(model, self.y[:, : self.d], radius, self.steps, dt, self._run)
        self.y = np.column_stack([x, radius]) if model.has_radius else x
        self.steps += 1
        self.evaluations += 1
        self.t = self.steps * dt
        self._settle()

    def _fixed_step(self, target: float) -> None:
        """A Runge-Kutta step of at most dt on the way to target; noise joins the stages as a velocity push / h."""
        scheme, dt, noise = self.task.scheme, self.task.dt, self.model.noise
        assert scheme is not None
        assert dt is not None
        if self._left == 0:
            self._left = max(1, math.ceil((target - self.t) / dt * (1.0 - 1e-12)))
            self._h = (target - self.t) / self._left
        h = self._h
        stages: list[Array] = []
        push = noise * math.sqrt(h) * normals(self._key, self.steps, len(self.y), self.d) if noise else None
        common = self.model.common_noise
        if common is not None:
            shape = drawn(common, self.d)
            weights = math.sqrt(h) * weights_of(common, normals(self._key ^ COMMON, self.steps, *shape))
        for a, c in zip(scheme.a, scheme.c, strict=True):
            y = self.y + h * sum((w * k for w, k in zip(a, stages, strict=False)), np.zeros_like(self.y))
            stage = self._rates(y, self.t + c * h)
            if self.model.noisy:
                at = retract(y) if self.model.space == "sphere" else y
                moved = np.zeros_like(at) if push is None else push
                if common is not None:
                    moved = moved + features(common, at) @ weights
                stage = stage + (tangent(at, moved) if self.model.space == "sphere" else moved) / h
            stages.append(stage)
        self.y = self._retract(self.y + h * sum(w * k for w, k in zip(scheme.b, stages, strict=True)))
        self._left -= 1
        self.t = target if self._left == 0 else self.t + h
        self.steps += 1

    def _size(self, e: Array, y: Array) -> float:
        """The largest error of a token, in units of the tolerance."""
        rtol, atol, d = self.task.rtol, self.task.atol, self.d
        sizes = np.linalg.norm(e[:, :d], axis=1) / (atol + rtol * np.linalg.norm(y[:, :d], axis=1))
        extra = np.abs(e[:, d:]) / (atol + rtol * np.abs(y[:, d:]))
        return float(max(sizes.max(), extra.max(initial=0.0)))

    def _first_step(self, left: float, order: int) -> float:
        """The first step, from the velocity and from how it changes in a small step."""
        f, tol = self._slopes[0], self.task.atol + self.task.rtol
        speed = self._size(f, self.y)
        if not speed > 0:
            return 0.5 * left
        small = min(0.01 / (speed * tol), 0.5 * left)
        change = (self._rates(self.y + small * f, self.t + small) - f) / small
        return first_step(small, speed, self._size(change, self.y), order, 0.5 * left)

    def _next_step(self, left: float) -> float:
        """The step to try: the end is hit, in two equal steps, so that times just before it have nodes close by."""
        if self._left == 0 and 2 * self._h >= left:
            self._left = 2
        if self._left == 2 and self._h >= 0.5 * left:
            return 0.5 * left
        if self._left == 1 and 2 * self._h >= left:  # it was half of what is left, up to rounding
            return left
        self._left = 0
        return self._h

    def _adaptive_step(self, t_stop: float) -> None:
        scheme = self.task.scheme
        assert scheme is not None
        assert scheme.error is not None
        h = self._next_step(t_stop - self.t)
        if self.t + h <= self.t:
            self.outcome = Outcome.SMALL
            return
        stages = [self._slopes[0]]
        for a, c in zip(scheme.a[1:], scheme.c[1:], strict=True):
            y = self.y + h * sum(w * k for w, k in zip(a, stages, strict=False))
            stages.append(self._rates(y, self.t + c * h))
        error = self._size(h * sum(w * k for w, k in zip(scheme.error, stages, strict=True)), self.y)
        gap = h * sum((b - a) * k for b, a, k in zip(scheme.a[-1], scheme.a[-2], stages, strict=True))
        still = np.linalg.norm(gap) <= NOISE * np.finfo(float).eps * np.linalg.norm(self.y)
        stiffness = 0.0 if still else _ratio(stages[-1] - stages[-2], gap)
        if not error <= 1.0:
            self.rejected += 1
            self._left = 0
            self._h = h * shrinkage(error, scheme.order)
            if not math.isfinite(error) and (self.t + self._h <= self.t or self._h < 1e-30):
                self.outcome = Outcome.NOT_FINITE
            return
        factor = growth(error, self._error, scheme.order)
        self.y, self._error = self._retract(y), error
        self.t = t_stop if h == t_stop - self.t else self.t + h
        self.steps += 1
        self._left = max(0, self._left - 1)
        if self._left == 0:
            self._h = min(h * factor, STABLE / stiffness if stiffness else math.inf)
        self._times = [self.t, *self._times][:NODES]
        self._states = [self.y, *self._states][:NODES]
        self._slopes = [stages[-1], *self._slopes][:NODES]
        self._settle()
