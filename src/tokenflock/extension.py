"""More tokens at the end of a finished causal run: the old ones do not see them, so their paths stand as they are.

To the new tokens the old ones move as they please, and only the rows of the new ones are computed.
Between kept frames the old tokens are found again from positions and velocities, by the polynomial of degree 7 through
four frames. A frame left out and found from its neighbours tells how wrong that is; where it is wrong by more than the
tolerance of the run, the run has too few frames, and is refused. A velocity of a new token costs one pass over the old.
The velocities at the frames are computed once for the old tokens and kept, so the next extension finds them.
"""

from __future__ import annotations

import json
import math
import time as clock
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.engine.contract import Outcome
from tokenflock.engine.traits import traits
from tokenflock.errors import EngineError, SpecError, bad
from tokenflock.geometry import Array
from tokenflock.graphs import Graph
from tokenflock.interaction import divided, fault, weights
from tokenflock.masks import sees
from tokenflock.model import Model, biases, feedforward
from tokenflock.request import Request, check_start
from tokenflock.schemes import hermite
from tokenflock.simulation import versions
from tokenflock.sphere import retract, tangent
from tokenflock.stepping import Pace
from tokenflock.trajectories import AXIS, RUN, TIME, TOKEN, describe, model_of, moved_by_model

if TYPE_CHECKING:
    import xarray as xr

NODES = 4  # frames that a polynomial goes through, with their velocities: an error of order 2 NODES
FEWEST = NODES + 1
MOST_FRAMES = 1e8  # more than any memory holds: such a run has no useful advice
ADAPTIVE = ("tsit5", "rosenbrock", "auto")


def extend(run: xr.Dataset, more_tokens: Any, *, mask: Any = None, bias: Any = None) -> xr.Dataset:
    """The trajectory of all tokens when `more_tokens` (m, dim), or (runs, m, dim), join a causal run as its last.

    The old tokens keep their bits; the new ones have the tolerance of the run, at its times. A new token costs a pass
    over the old ones at every stage; once, the velocities of the old ones at the frames are made, n^2 a frame, and kept
    as `velocity`. `run.attrs["extended"]` is the number of old tokens; `flock.again` refuses such a run.

    mask, bias: for all tokens, where they were arrays or functions of i and j; what the old ones see must stay.
    """
    model = _checked(run)
    new = check_start(model.with_options(mask="causal", bias=None), more_tokens)
    whole = _of_all(model, run.sizes[TOKEN], new.shape[-2], mask, bias)
    ensemble = RUN in run["x"].dims
    if new.ndim == 3 and (not ensemble or len(new) != run.sizes[RUN]):
        allowed = f"(m, {model.dim})" + (f" or ({run.sizes[RUN]}, m, {model.dim})" if ensemble else "")
        raise bad("more_tokens.shape", new.shape, allowed, "The runs of the ensemble, in their order.")
    began = clock.perf_counter()
    rtol, atol = float(run.attrs["rtol"]), float(run.attrs["atol"])
    made, moving, counts = [], [], []
    for r in range(run.sizes[RUN] if ensemble else 1):
        one = run.isel({RUN: r}) if ensemble else run
        path = Path(model, *_frames(one), one["velocity"].values if "extended" in run.attrs else None, rtol, atol)
        follower = Follower(whole, path, new[r] if new.ndim == 3 else new, rtol, atol)
        x, v = (array[len(path.times) - one.sizes[TIME] :] for array in follower.follow())
        made.append(x)
        moving.append(np.concatenate([path.v[len(path.v) - len(v) :], v], axis=1))
        counts.append((follower.steps, follower.rejected, follower.evaluations))
    wall = clock.perf_counter() - began
    starts = np.broadcast_to(new, (len(made), *new.shape[-2:]))
    return _joined(_with_model(run, whole), np.stack(made), np.stack(moving), starts, np.array(counts), wall)


def _checked(run: xr.Dataset) -> Model:
    """The model of a run that can be extended."""
    model = model_of(moved_by_model(run, "extend"))
    scheme = run.attrs["scheme"]
    reasons = (
        (scheme not in ADAPTIVE, f"scheme={scheme!r}: its steps are part of its result"),
        (model.space == "rescaled" or model.norm.kind != "post", "space='rescaled' or a layer norm other than 'post'"),
        (bool(model.varying), "weights that change with time"),
        (model.noisy or math.isinf(model.beta), "noise or beta=inf: their velocities are not smooth"),
        (run.attrs["dtype"] != "float64", f"dtype={run.attrs['dtype']!r}"),
        (model.masses is not None, "masses: they are those of the old tokens only"),
        (model.placed, "position or groups: they are those of the old tokens only"),
        (model.drift is not None, "a drift of one's own: it may look at all tokens"),
        (model.divisor.kind == "sinkhorn", "normaliser='sinkhorn': each of its rows hangs on all the others"),
    )
    for wrong, why in reasons:
        if wrong:
            raise SpecError(f"flock.extend cannot be used with {why}. Run all tokens with flock.simulate.")
    if not traits(model).causal:
        raise bad("mask", model.mask, "a causal mask", "In full attention new tokens move the old ones: run them all.")
    if "x" not in run or not np.isfinite(run["x"].values).all() or not run.sizes[TIME]:
        raise bad("run", "a run without all its positions", "a finished run", "Simulate with positions=True, to t_end.")
    return model


def _of_all(model: Model, old: int, more: int, mask: Any, bias: Any) -> Model:
    """The model of all tokens: its mask and bias go on by themselves, or are given for all of them."""
    options: dict[str, Any] = {}
    for name, given in (("mask", mask), ("bias", bias)):
        known = getattr(model, name)
        written = isinstance(known, Graph | np.ndarray)
        if isinstance(known, Graph) and known.source is not None:
            given = known.source if given is None else given
        elif given is None and written:
            advice = f"Give {name}= for all {old + more} tokens, whose first {old} see what they saw."
            raise bad(name, f"an array for {old} tokens", "one that goes on to more tokens", advice)
        if given is not None:
            options[name] = given
    if not options:
        return model
    whole = model.with_options(**options).written(old + more)
    if not traits(whole).causal:
        raise bad("mask", whole.mask, "a causal mask", "In full attention new tokens move the old ones: run them all.")
    if not np.array_equal(_logits_of_places(whole, old + more, old), _logits_of_places(model, old, old)):
        advice = "More tokens join a run only if the old ones do not notice."
        raise bad("mask, bias", f"others for the first {old} tokens than those of the run", "the same for them", advice)
    return whole


def _logits_of_places(model: Model, n: int, old: int) -> Array:
    """(H, old, old) What logits of the first tokens among n owe to their places: the bias, -inf out of sight."""
    table = np.where(sees(model.mask, n, 0, old), biases(model, n, 0, old), -np.inf)[..., :old]
    return np.broadcast_to(table, (model.n_heads, old, old))


def _with_model(run: xr.Dataset, model: Model) -> xr.Dataset:
    """The run, with another model to tell of."""
    text, variables = describe(model)
    others = [name for name in run.data_vars if str(name).startswith("model_")]
    return run.drop_vars(others).assign(variables).assign_attrs(model=text)


def _frames(run: xr.Dataset) -> tuple[Array, Array]:
    """Times and positions from time 0 on."""
    times, x = run[TIME].values, run["x"].values
    if times[0] > 0:
        times, x = np.concatenate([[0.0], times]), np.concatenate([run["start"].values[None], x])
    return times, x


class Path:
    """The old tokens at any time, from frames (time, n, d)."""

    def __init__(self, model: Model, times: Array, x: Array, v: Array | None, rtol: float, atol: float) -> None:
        if len(times) < FEWEST:
            given = f"a run with {len(times)} frames, time 0 among them"
            raise bad("run", given, f"at least {FEWEST}", "Repeat it with more: flock.again(run, times=...).")
        self.times, self.x = times, x
        # The interpolant multiplies up to eight times: in this unit none of them is beyond float64, or below it.
        self._unit = math.ldexp(0.5, math.frexp(float(times[-1]))[1])
        engine = Request(model, float(times[-1]), scheme="tsit5", rtol=rtol, atol=atol).engine_for(x.shape[1])
        known = 0 if v is None else len(v)  # an extended run has them, but for a frame put before its first
        made = [engine.velocity(model, frame) for frame in x[: len(x) - known]]
        self.v = np.concatenate([*(frame[None] for frame in made), *([] if v is None else [v])])
        self._check(rtol, atol)

    def __call__(self, t: float) -> Array:
        """The tokens (n, d) at time t."""
        near = self._near(int(np.searchsorted(self.times, t, side="right")) - 1)
        return self._through(slice(near, near + NODES), t)

    def _near(self, k: int) -> int:
        """The first of the nodes for interval k: one before it, where there is one."""
        return min(max(k - 1, 0), len(self.times) - NODES)

    def _through(self, nodes: Any, t: float) -> Array:
        # Off the sphere by no more than the error: to put them back would take longer than to see them.
        times = (self.times[nodes] / self._unit).tolist()
        return hermite(t / self._unit, times, self.x[nodes], self.v[nodes] * self._unit)

    def _check(self, rtol: float, atol: float) -> None:
        """Refuse frames that are too far apart, and say how many it takes."""
        t, half = self.times / self._unit, NODES // 2
        inner = range(half, len(t) - half) if len(t) > FEWEST else [half]
        # The error is a derivative times the product of (t - node)^2: the first is read off at the frames.
        derivative = []
        for k in inner:
            nodes = np.array([k - 2, k - 1, k + 1, k + 2])
            with np.errstate(over="ignore", invalid="ignore"):  # what is off by so much is refused below
                miss = np.linalg.norm(self._through(nodes, self.times[k]) - self.x[k], axis=-1)
            allowed = atol + rtol * np.linalg.norm(self.x[k], axis=-1)
            derivative.append(float((miss / allowed).max()) / float(np.prod(t[k] - t[nodes]) ** 2))
        errors = np.empty(len(t) - 1)
        for k in range(len(t) - 1):
            nodes = t[self._near(k) : self._near(k) + NODES]
            inside = np.linspace(t[k], t[k + 1], 9)[1:-1]
            bump = float(((inside[:, None] - nodes) ** 2).prod(axis=1).max())
            around = derivative[max(0, k - half - 1) : max(1, k - half + 3)] or derivative[-1:]
            errors[k] = max(around) * bump
        worst = int(errors.argmax())
        if not errors[worst] <= 1.0:
            self._refuse(errors, worst)

    def _refuse(self, errors: Array, worst: int) -> None:
        t = self.times
        # What would do; sparse frames gain less than the order 2 NODES promises, so two orders less are counted on.
        widths = np.diff(t) * np.maximum(errors, 1e-300) ** (-1.0 / (2 * NODES - 2))
        steps, shortest = 1.2 * float(t[-1]), float(widths.min())
        if not steps < MOST_FRAMES * shortest:
            raise SpecError(
                f"the frames of this run are too far apart to extend it: between t = {t[worst]:.4g} and "
                f"{t[worst + 1]:.4g} its tokens cannot be found to its tolerance, and more than {MOST_FRAMES:,.0f} "
                "equal steps would be needed. Run all tokens with flock.simulate."
            )
        needed = math.ceil(steps / shortest) + 1
        raise SpecError(
            f"the frames of this run are too far apart to extend it: between t = {t[worst]:.4g} and {t[worst + 1]:.4g} "
            f"its tokens cannot be found to its tolerance (off by {errors[worst]:.1e} times that). About {needed:,} "
            f"equal steps would do: flock.again(run, times=numpy.linspace(0, {t[-1]:g}, {needed})), "
            "or more times where tokens are fast."
        )


class Follower:
    """The new tokens, by steps of order 5 that end at every frame, where the old path has its knots."""

    def __init__(self, model: Model, path: Path, x: Array, rtol: float, atol: float) -> None:
        self._model, self._path, self._x, self._rtol, self._atol = model, path, x, rtol, atol
        self._rows = Rows(model, path.x.shape[1], len(x))
        self._pace = Pace(self._size, self._settled, _combined)
        self.steps = self.evaluations = 0

    @property
    def rejected(self) -> int:
        """Steps tried and not taken."""
        return self._pace.rejected

    def follow(self) -> tuple[Array, Array]:
        """The new tokens and their velocities at the frames of the path, (time, m, d) each."""
        x, slope = self._x, self.velocity(self._x, 0.0)
        kept = [(x, slope)]
        try:
            for begin, end in pairwise(self._path.times.tolist()):
                for step in self._pace.march(self.velocity, x, begin, end, slope):
                    x, slope = step.y, step.slope
                    self.steps += 1
                kept.append((x, slope))
        except EngineError as error:
            raise self._rows.fault or error from None
        frames, velocities = zip(*kept, strict=True)
        return np.stack(frames), np.stack(velocities)

    def velocity(self, x: Array, t: float) -> Array:
        """Of the new tokens at x (m, d), among the old ones at time t."""
        self.evaluations += 1
        return self._rows.velocity(self._path(t), self._settled(x), t)

    def _settled(self, x: Array) -> Array:
        return retract(x) if self._model.space == "sphere" else x

    def _size(self, e: Array, x: Array) -> float:
        """The largest error of a token, in units of the tolerance."""
        return float((np.linalg.norm(e, axis=-1) / (self._atol + self._rtol * np.linalg.norm(x, axis=-1))).max())


def _combined(x: Array, stages: Sequence[Array], weights: Array) -> Array:
    """x + sum_k w_k stage_k."""
    return np.asarray(x + np.tensordot(weights[: len(stages)], np.stack(stages), 1), dtype=np.float64)


class Rows:
    """(E1)-(E7), (E9), (E15), (E16) for the last m of n + m tokens only: what they see is laid out once."""

    def __init__(self, model: Model, n: int, m: int) -> None:
        self._model, self._n, d = model, n, model.dim
        self.fault: SpecError | None = None  # what was wrong with the weights of the last good tokens
        self._form = model.beta * model.form
        self._values = np.swapaxes(model.values, -1, -2)
        self._less = self._values - self._values[:, :1, :1] * np.eye(d)  # see model.drive: a lone token does not drift
        bias = np.where(sees(model.mask, n + m, n), biases(model, n + m, n), -np.inf)
        self._frozen = np.zeros((0, d)) if model.frozen is None else model.frozen.tokens
        weights = np.zeros(0) if model.frozen is None else model.frozen.weights
        self._bias = np.concatenate([bias, np.zeros((*bias.shape[:2], len(weights)))], axis=-1)
        self._weights = np.concatenate([np.ones(n + m), weights])
        self._count = (self._weights * np.isfinite(self._bias)).sum(axis=-1, keepdims=True)
        self._shift = model.beta if model.normaliser == "scaled-count" else 0.0

    def velocity(self, old: Array, new: Array, t: float = 0.0) -> Array:
        """(m, d), from the old tokens (n, d) and the new ones (m, d) at time t, which errors name."""
        model, seen = self._model, np.concatenate([old, new, self._frozen])
        s = new @ self._form @ seen.T + self._bias
        if not model.usual:
            w, top = weights(model.own_kernel, s, new, seen)
            a = divided(model.divisor, w, top, self._weights * np.isfinite(s), self._bias, model.beta, self._n)
            if np.isfinite(new).all():  # tokens that a bad weight has spoiled say nothing of it
                wrong = not np.isfinite(a).all()
                self.fault = fault(model.own_kernel, model.divisor, w, t, self._n) if wrong else None
        elif model.normaliser == "softmax":
            a = self._weights * np.exp(s - s.max(axis=-1, keepdims=True))
            a /= a.sum(axis=-1, keepdims=True)
        else:
            a = self._weights * np.exp(s - self._shift) / self._count
        p = np.swapaxes(np.swapaxes(a, 0, 1) @ (seen - new[:, None]), 0, 1)
        drive = (p @ self._values).sum(axis=0)
        mass = a.sum(axis=-1, keepdims=True)
        extra = feedforward(model, new)
        if model.space == "euclidean":
            return np.asarray(drive + (mass * new @ self._values).sum(axis=0) + extra, dtype=np.float64)
        return tangent(new, drive + (mass * new @ self._less).sum(axis=0) + extra)


def _joined(run: xr.Dataset, made: Array, moving: Array, starts: Array, counts: Array, wall: float) -> xr.Dataset:
    """The old run and the new tokens in one trajectory, with the attributes of the run."""
    ensemble = RUN in run["x"].dims
    lead: tuple[str, ...] = (RUN,) if ensemble else ()
    made, moving, starts = (made, moving, starts) if ensemble else (made[0], moving[0], starts[0])
    x = np.concatenate([run["x"].values, made], axis=-2)
    data: dict[str, Any] = {"x": ((*lead, TIME, TOKEN, AXIS), x)}
    data["velocity"] = ((*lead, TIME, TOKEN, AXIS), moving)
    data["start"] = ((*lead, TOKEN, AXIS), np.concatenate([run["start"].values, starts], axis=-2))
    kept = json.loads(run.attrs["reduce"])  # of the old tokens only: they would not be true of all
    rest = run.drop_vars(["x", "start", *kept]).drop_vars("velocity", errors="ignore")
    names = ("steps", "rejected", "evaluations")
    attrs = dict(run.attrs) | {"extended": int(run.sizes[TOKEN]), "outcome": Outcome.DONE.value, "reduce": "[]"}
    attrs |= {"wall_s": wall, "versions": json.dumps(versions())} | dict(
        zip(names, counts.sum(axis=0).tolist(), strict=True)
    )
    if ensemble:
        data |= {name: (RUN, counts[:, k]) for k, name in enumerate(names)}
        code = np.full(len(counts), list(Outcome).index(Outcome.DONE), dtype=np.int8)
        data["outcome"] = (RUN, code, run["outcome"].attrs)
    return rest.drop_vars([name for name in data if name in rest]).assign(data).assign_attrs(attrs)
