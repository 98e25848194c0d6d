"""`Flow`: a model as a torch module, through which gradients pass; `gradient`: the same for those who have only numpy.

    flow = flock.Flow(model, trainable=("value",))
    x = flow(start, t_end=5.0)
    ((x - target) ** 2).sum().backward()        # flow.value.grad, start.grad

Two ways back. "checkpoint" goes in reverse through the steps that were taken: the exact gradient of the numbers that
came out, which is what an optimiser wants. "adjoint" solves the adjoint equation with a tolerance of its own: the
gradient of the flow itself, whatever steps were taken. The two differ by the error of the steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tokenflock.arguments import flag, function, instance, named, positive, real, scalar, whole
from tokenflock.engine.traits import OPTIONS, unknown_options
from tokenflock.errors import SpecError, bad, clash, missing, unknown
from tokenflock.model import Model
from tokenflock.of_runs import check_single
from tokenflock.request import ATOL, RTOL, SEED, check_model, check_tokens, fixed_step, increasing_times, tolerances
from tokenflock.schemes import Rosenbrock, scheme_named
from tokenflock.stepping import MOST_STEPS
from tokenflock.varying import Schedule

try:
    import torch
except ImportError as error:
    raise missing("torch", "gpu", "flock.Flow and flock.gradient") from error
from torch import Tensor, nn

from tokenflock.adjoint import Adjoint
from tokenflock.dynamics import NAMES as DTYPES
from tokenflock.dynamics import Course, Dynamics, Weights, adaptive_plan, fixed_plan, walk

SCHEMES = ("tsit5", "rk4", "heun", "euler", "layers")
WAYS = ("checkpoint", "adjoint")
FEEDFORWARD = ("w", "a", "b")
TRAINABLE = ("beta", "query", "key", "value", "feedforward")
GIVEN = "{name: flock.Schedule(...)}"
OFF_SPHERE = 1e-4  # starts this far off are put on the sphere; farther is an error


class Weight(nn.Module):
    """A weight of a Flow that varies as a `flock.Schedule` says: its values at the knots are a parameter.

    Of a query, key or value a shape (knots, runs, heads, ...) gives every run of an ensemble its own.
    """

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self.course = Course(schedule.knots, schedule.smooth)
        self.begin, self.end, self.schedule_kind = schedule.knots[0], schedule.end, schedule.kind
        self.values = nn.Parameter(torch.as_tensor(schedule.values.copy()))

    def extra_repr(self) -> str:
        knots = self.course.knots
        return f"{len(knots)} knots in [{knots[0]:g}, {knots[-1]:g}], {self.schedule_kind}"


class Flow(nn.Module):
    """The motion of tokens from a start to a later time, as a torch module.

    **Main arguments**

    - `model`: a `flock.Model`. beta = inf is refused: hardmax has no derivative.
    - `scheme`: "tsit5", adaptive with `rtol` and `atol`, or fixed if `dt` is given; "rk4", "heun", "euler" with `dt`;
      "layers", the discrete-time transformer with one block a step of `dt`.
    - `trainable`: the weights that are parameters of the module, of "beta", "query", "key", "value", "feedforward"
      (which are `flow.w`, `flow.a`, `flow.b`). All that the model has if left out; () for none. The others stay as
      they are in the model.
    - `varying`: {"value": flock.Schedule(...)}, weights that vary with time, in place of the model's own. Those of a
      model with a Schedule are there already; `redrawn(...).schedule("value", dim, t_end)` makes one of draws.

    **Other arguments**

    - `gradient`: "checkpoint" or "adjoint", see the top of this file. With adaptive steps "checkpoint" takes the step
      sizes as given: other ones would change the tokens by no more than the tolerance.
    - `adjoint_rtol`: of the costate, relative to its largest entry; `rtol` if left out.
    - `seed`: of the noise. Noise is frozen: the same numbers at every call, so a gradient is that of one path, and
      `flock.simulate` with the same seed and `dt` gives the same tokens.

    A ReLU has no derivative at its kink; there the slope 0 is taken, as everywhere in torch. Paths that cross a kink
    have the right gradient for almost every start.
    """

    def __init__(
        self,
        model: Model,
        *,
        scheme: str = "tsit5",
        dt: float | None = None,
        rtol: float = RTOL,
        atol: float = ATOL,
        gradient: str = "checkpoint",
        adjoint_rtol: float | None = None,
        trainable: Sequence[str] | None = None,
        varying: Mapping[str, Schedule] | None = None,
        seed: int = SEED,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__()
        _check_model(model)
        if all(dtype is not known for known in DTYPES):
            raise unknown("dtype", dtype, [str(d) for d in DTYPES])
        named("scheme", scheme, SCHEMES)
        named("gradient", gradient, WAYS)
        self.model, self.seed = model, whole("seed", seed, -(2**127), most=2**127)
        self.scheme, self.gradient = scheme, gradient
        self.rtol, self.atol = tolerances(rtol, atol, DTYPES[dtype])
        self.dt = fixed_step(model, scheme, dt, adaptive=scheme == "tsit5" and dt is None)
        self.adjoint_rtol = self.rtol if adjoint_rtol is None else positive("adjoint_rtol", adjoint_rtol)
        if gradient == "adjoint" and self.dt is not None:
            advice = "It is for adaptive steps (scheme='tsit5' without dt); fixed ones have gradient='checkpoint'."
            raise clash("gradient='adjoint'", f"dt={self.dt:g}", advice)
        schedules = {**(model.varying or {}), **instance("varying", varying or {}, Mapping, GIVEN)}  # type: ignore[type-abstract]
        model = self.model = model.at(0.0)
        self.varying = nn.ModuleDict({k: Weight(s) for k, s in _checked_schedules(model, schedules).items()})
        for name, value in _parameters(model, trainable, set(self.varying)).items():
            self.register_parameter(name, nn.Parameter(torch.as_tensor(value.copy(), dtype=dtype)))
        self.varying.to(dtype)

    @property
    def weights(self) -> Weights:
        """Everything a gradient can be taken of, by name: parameters, and the values of schedules."""
        return {**dict(self.named_parameters(recurse=False)), **{k: s.values for k, s in self._schedules()}}

    def _schedules(self) -> list[tuple[str, Weight]]:
        return [(name, module) for name, module in self.varying.items() if isinstance(module, Weight)]

    @property
    def dynamics(self) -> Dynamics:
        """The velocity and the step, as functions of the weights."""
        table = None if self.scheme == "layers" else scheme_named(self.scheme)
        assert not isinstance(table, Rosenbrock)
        return Dynamics(self.model, table, {k: s.course for k, s in self._schedules()}, self.seed)

    def forward(
        self,
        start: Tensor,
        t_end: float | None = None,
        *,
        times: Any = None,
        t_start: float = 0.0,
        radius: Tensor | None = None,
        with_radius: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Tokens (..., n, dim) at `t_end`, or (..., times, n, dim) at `times`, from `start` (..., n, dim) at `t_start`.

        On the sphere the start is divided by its length first, so its gradient is tangent. radius: the magnitudes
        (..., n) to start from, where the layer norm has them; with_radius: return them too, as (tokens, magnitudes).
        """
        with_radius = flag("with_radius", with_radius)
        begin, wanted = self._when(t_end, times, t_start)
        y = self._state(start, radius)
        frames = self._run(y, begin, wanted)
        frames = frames[0] if times is None else frames.movedim(0, 1)  # (runs, times, n, m)
        frames = frames if start.ndim == 3 else frames[0]
        d = self.model.dim
        if not with_radius:
            return frames[..., :d]
        return frames[..., :d], frames[..., d] if self.model.has_radius else torch.ones_like(frames[..., 0])

    def _run(self, y: Tensor, begin: float, wanted: list[float]) -> Tensor:
        dynamics, weights = self.dynamics, self.weights
        if self.dt is not None:
            return walk(dynamics, weights, y, fixed_plan(dynamics, begin, wanted, self.dt))
        if self.gradient == "adjoint":
            tolerance = (self.rtol, self.atol, self.adjoint_rtol)
            given = (y, dynamics, begin, wanted, tolerance, tuple(weights))
            frames: Tensor = Adjoint.apply(*given, *weights.values())  # type: ignore[no-untyped-call]
            return frames
        plan, states = adaptive_plan(dynamics, weights, y, begin, wanted, self.rtol, self.atol)
        recording = torch.is_grad_enabled() and any(t.requires_grad for t in (y, *weights.values()))
        return walk(dynamics, weights, y, plan) if recording else torch.stack([states[k] for k in plan.marks])

    def _when(self, t_end: Any, times: Any, t_start: Any) -> tuple[float, list[float]]:
        """The first time, and the wanted ones."""
        begin = scalar("t_start", t_start, "a time >= 0", lambda t: t >= 0)
        if (t_end is None) == (times is None):
            advice = "Give one of them: flow(start, 5.0) or flow(start, times=[1.0, 5.0])."
            raise SpecError(f"flow lacks t_end and times, or has both. {advice}")
        wanted = np.array([scalar("t_end", t_end, "a finite time")]) if times is None else increasing_times(times)
        for name, weight in self._schedules():
            if weight.begin > begin or weight.end < wanted[-1]:
                given, advice = f"a schedule from t = {weight.begin:g} to {weight.end:g}", "Give it more knots."
                raise bad(f"varying[{name!r}]", given, f"values for {begin:g} <= t <= {wanted[-1]:g}", advice)
        if wanted[0] < begin:
            raise bad("times", f"{wanted[0]:g} .. {wanted[-1]:g}", f"times from t_start = {begin:g} on")
        if self.dt is not None and (float(wanted[-1]) - begin) / self.dt > MOST_STEPS:
            allowed = f"a time at most {MOST_STEPS:,} steps of dt = {self.dt:g} after t_start"
            raise bad("t_end" if times is None else "times", float(wanted[-1]), allowed, "Raise dt, or lower t_end.")
        if self.scheme == "layers":
            assert self.dt is not None
            off = np.abs(np.append(wanted, begin) / self.dt - np.round(np.append(wanted, begin) / self.dt)).max()
            if off > 1e-6:
                raise bad("times", wanted.tolist(), f"multiples of dt = {self.dt:g}", "Layers have no time between.")
        return begin, [float(t) for t in wanted]

    def _state(self, start: object, radius: Tensor | None) -> Tensor:
        """The first state (runs, n, m)."""
        model = self.model
        if not isinstance(start, Tensor):
            advice = "torch.as_tensor(start), or flock.gradient for numpy arrays."
            raise bad("start", type(start).__name__, "a torch tensor", advice)
        if start.ndim not in (2, 3) or start.shape[-1] != model.dim or start.numel() == 0:
            raise bad("start.shape", tuple(start.shape), f"(n, {model.dim}) or (runs, n, {model.dim})")
        check_tokens(model, start.shape[-2])
        if start.dtype not in DTYPES:
            raise bad("start.dtype", start.dtype, " or ".join(map(str, DTYPES)), "Give start.double().")
        for name, weight in self.weights.items():
            if weight.dtype != start.dtype or weight.device != start.device:
                given = f"{start.dtype} on {start.device}"
                allowed = f"{weight.dtype} on {weight.device}, as {name} is"
                raise bad("start", given, allowed, "Bring them together with flow.to(start) or start.to(...).")
        if not bool(torch.isfinite(start.detach()).all()):
            raise bad("start", "a tensor with nan or inf", "finite numbers")
        y = start if start.ndim == 3 else start[None]
        if model.space == "sphere":
            length = torch.linalg.vector_norm(y, dim=-1, keepdim=True)
            off = float((length.detach() - 1).abs().max())
            if off > OFF_SPHERE:
                given = f"tokens up to {off:.1e} off the sphere"
                advice = "Divide by their length: torch.nn.functional.normalize(start, dim=-1)."
                raise bad("start", given, f"unit vectors to {OFF_SPHERE:g}", advice)
            y = y / length
        if not model.has_radius:
            return y
        r = torch.full_like(y[..., 0], model.norm.radius) if radius is None else radius.expand(y.shape[:-1])
        return torch.cat([y, r[..., None]], dim=-1)

    def extra_repr(self) -> str:
        steps = f"dt={self.dt:g}" if self.dt is not None else f"rtol={self.rtol:g}"
        return f"dim={self.model.dim}, scheme={self.scheme!r}, {steps}, gradient={self.gradient!r}"


def gradient(
    model: Model,
    start: Any,
    t_end: float | None,
    loss: Callable[[Tensor], Tensor],
    *,
    wrt: Sequence[str] | None = None,
    times: Any = None,
    **options: Any,
) -> tuple[float, dict[str, np.ndarray]]:
    """The value of loss(tokens at t_end) and its gradients, by name: numpy in, numpy out.

    **Main arguments**

    - `model`, `start`, `t_end`: as in `flock.simulate`; `times`, with `t_end=None`: the loss is then given
      (times, n, dim).
    - `loss`: a function of a torch tensor x (n, dim), or (runs, n, dim), that returns one number. What is written with
      `*`, `@`, `.sum()`, `.mean()`, `abs` works on tensors as it does on arrays.

    **Other arguments**

    - `wrt`: of what gradients are wanted: "start", "beta", "query", "key", "value", "feedforward"; all that the model
      has if left out. Those of a feed-forward are called "w", "a", "b". On the sphere that of start is tangent.
    - everything else as in `flock.Flow`: `scheme`, `dt`, `rtol`, `gradient="adjoint"`, `varying`, ...
    """
    function("loss", loss, "a function of the tokens as a tensor", "For example lambda x: x.sum().")
    if wrt is not None and not (isinstance(wrt, list | tuple) and all(isinstance(name, str) for name in wrt)):
        raise bad("wrt", wrt, "a list of names", "For example wrt=['beta'].")
    asked = ("start", *TRAINABLE) if wrt is None else tuple(wrt)
    for name in asked:
        if name not in ("start", *TRAINABLE, *(options.get("varying") or {})):
            raise unknown("name in wrt", name, ("start", *TRAINABLE))
    trainable = None if wrt is None else [name for name in asked if name != "start"]
    flow = Flow(model, trainable=trainable, **options)
    x = torch.as_tensor(real("start", start, "finite numbers")).to(options.get("dtype", torch.float64))
    x.requires_grad_("start" in asked)
    found: object = loss(flow(x, t_end, times=times))
    if not isinstance(found, Tensor) or found.numel() != 1:
        given = type(found).__name__ if not isinstance(found, Tensor) else f"a tensor of shape {tuple(found.shape)}"
        raise bad("loss", given, "a function that returns one number as a tensor", "For example lambda x: x.sum().")
    wanted = {**({"start": x} if "start" in asked else {}), **flow.weights}
    if not wanted:
        return float(found.detach()), {}
    if not found.requires_grad:
        raise bad("loss", "a function that does not depend on the tokens", "torch operations on its argument")
    slopes: tuple[Tensor | None, ...] = torch.autograd.grad(found, list(wanted.values()), allow_unused=True)
    pairs = zip(wanted.items(), slopes, strict=True)
    return float(found.detach()), {k: np.zeros(w.shape) if g is None else np.asarray(g) for (k, w), g in pairs}


def _check_model(model: Any) -> None:
    check_model(model)
    check_single(model)
    if unknown := unknown_options(model, OPTIONS | {"varying"}):
        raise clash(unknown[0], "Flow", "Leave it out, or use flock.simulate, which has no gradients.")
    if math.isinf(model.beta):
        advice = "Hardmax jumps from one leader to the next: it has no derivative. Take a large finite beta."
        raise bad("beta", model.beta, "a finite number where gradients are wanted", advice)


def _own(model: Model, name: str) -> np.ndarray:
    """A weight of the model as an array; identities are written out."""
    if name == "beta":
        return np.asarray(model.beta)
    if name in FEEDFORWARD:
        return np.asarray(getattr(model.feedforward, name))
    own = getattr(model, name)
    return np.eye(model.dim) if own is None else own


def _parameters(model: Model, trainable: Sequence[str] | None, varying: set[str]) -> dict[str, np.ndarray]:
    """The weights that are parameters, with their first values."""
    listed = trainable is None or (isinstance(trainable, list | tuple) and all(isinstance(n, str) for n in trainable))
    if not listed:
        raise bad("trainable", trainable, "a list of names", "For example trainable=('value',).")
    names = [n for n in TRAINABLE if n not in varying] if trainable is None else list(trainable)
    for name in names:
        if name not in TRAINABLE:
            raise unknown("trainable weight", name, TRAINABLE)
        if name in varying:
            raise clash(f"trainable={name!r}", f"varying={name!r}", "The values of a schedule are parameters already.")
        if name == "feedforward" and model.feedforward is None and trainable is not None:
            raise bad("trainable", name, "weights that the model has", "This model has no feed-forward part.")
    parts = FEEDFORWARD if model.feedforward is not None else ()
    flat = [part for name in names for part in (parts if name == "feedforward" else (name,)) if part not in varying]
    return {name: _own(model, name) for name in flat}


def _checked_schedules(model: Model, varying: Mapping[str, Any]) -> dict[str, Schedule]:
    if not all(isinstance(name, str) for name in varying):
        raise bad("varying", varying, GIVEN)
    known = ("beta", "query", "key", "value", *(FEEDFORWARD if model.feedforward is not None else ()))
    for name, schedule in varying.items():
        if name not in known:
            raise unknown("varying weight", name, known)
        if not isinstance(schedule, Schedule):
            advice = "redrawn(...).schedule(name, dim, t_end) makes one of draws; give a function of t at knots."
            raise bad(f"varying[{name!r}]", type(schedule).__name__, "a flock.Schedule(knots, values)", advice)
        wanted, given = _own(model, name).shape, tuple(schedule.values.shape[1:])
        a_run_each = name in ("query", "key", "value") and len(given) == 4 and given[2:] == wanted[-2:]
        if given != wanted and not (a_run_each and given[1] in (1, model.n_heads)):
            advice = "A schedule has the shape of the model's own weight at every knot."
            raise bad(f"varying[{name!r}].values.shape", (len(schedule.knots), *given), f"(knots, *{wanted})", advice)
        if name == "value" and model.space == "rescaled":
            raise clash("a varying value", "space='rescaled'", "exp(-tV) needs one V: use space='euclidean'.")
    return dict(varying)
