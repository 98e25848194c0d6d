"""The trajectory: an xarray.Dataset with named axes that says how to repeat it. Not a subclass, not a wrapper.

    x(time, token, axis) or x(run, time, token, axis)    positions
    radius(.., time, token)                              magnitudes r_j, where a layer norm moves them
    start(.., token, axis)                               the tokens at time 0
    steps, rejected, evaluations, outcome(run)           how each run went
    model_*                                              the matrices of the model
    group(token)                                         the group of each token, where a model has groups
    left(run), merger_*(merger)                          of implicit steps: how many bodies are left (an attribute of a
                                                         single run), and when two of them became one: t, first tokens
    any name(.., time, ...)                              what `reduce` kept
    boolean_from(run), an attribute of a single run      in rescaled space: the kept time from which every row of the
                                                         attention matrix has one weight 1 to rounding; nan if never,
                                                         or if positions were not kept

For boolean_from, tokens that have met in exp(tV) z to rounding count as one: z no longer says which of them leads.

xarray is imported when a function is called, so that `import tokenflock` stays light.
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import masks as all_masks
from tokenflock.accessor import register
from tokenflock.arguments import (
    dataset,
    flag,
    instance,
    is_number,
    is_whole,
    numbers,
    positive,
    real,
    scalar,
)
from tokenflock.arguments import path as a_path
from tokenflock.common_noise import CommonNoise
from tokenflock.errors import SpecError, bad
from tokenflock.functions import Function
from tokenflock.geometry import Array
from tokenflock.graphs import Graph
from tokenflock.groups import Groups
from tokenflock.masks import sees
from tokenflock.model import Model, Rescaling, attention, biases, flow_at, masses, queries
from tokenflock.options import Alibi, FeedForward, Frozen, LayerNorm, matrix
from tokenflock.positions import Absolute, Rope
from tokenflock.rescaling import flow_at_layer
from tokenflock.varying import heard, told
from tokenflock.weights import FAMILIES

if TYPE_CHECKING:
    import xarray as xr

RUN, TIME, TOKEN, AXIS, MERGER, GROUP = "run", "time", "token", "axis", "merger", "group"
SCHEMA = 1
#: In place of a scheme, where no flock.Model moved the tokens: the layers of a network, or whoever gave them.
NETWORK, GIVEN = "network", "given"
TEXTS = ("model", "scheme", "engine", "dtype", "outcome", "versions", "times", "reduce")  # attributes that are texts
SHAPES = {"start": (TOKEN, AXIS), "x": (TIME, TOKEN, AXIS), "radius": (TIME, TOKEN), TIME: (TIME,)}
ATTRIBUTES = ("schema", "model", "scheme", "engine", "dtype", "seed", "rtol", "atol", "t_end", "outcome", "versions")
MET = 1e-6  # tokens this close in exp(tV) z, relative to the largest, have met
BLOCK = 1 << 20  # numbers held at a time while looking at attention
# The options of a model that are records of their own, of one kind or of several that differ in their fields.
PARTS: dict[str, tuple[Any, ...]] = {
    "mask": (*all_masks.FAMILIES, Graph),
    "layer_norm": (LayerNorm,),
    "bias": (Alibi, Graph),
    "feedforward": (FeedForward,),
    "frozen": (Frozen,),
    "position": (Rope, Absolute),
    "groups": (Groups,),
    "common_noise": (CommonNoise,),
}


def _is_seed(given: Any) -> bool:
    """A whole number; one of more than 64 bits is written in digits."""
    return is_whole(given) or (isinstance(given, str) and given.isascii() and given.isdigit())


#: attributes that are numbers; not every file has dt
NUMBERS = {"schema": is_whole, "seed": _is_seed} | dict.fromkeys(("rtol", "atol", "t_end", "dt"), is_number)


def describe(model: Model) -> tuple[str, dict[str, tuple[tuple[str, ...], np.ndarray]]]:
    """A model as one line of JSON, and its arrays as variables of a Dataset: every field that it has."""
    instance("model", model, Model, "a flock.Model", "For example flock.Model(dim=2, beta=64.0).")
    plain: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for field in dataclasses.fields(model):
        name, value = field.name, model.norm if field.name == "layer_norm" else getattr(model, field.name)
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif hasattr(value, "told"):
            plain[name] = value.told()
        elif dataclasses.is_dataclass(value):
            parts = {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
            parts.pop("varying", None)  # it stands with the model
            arrays |= {f"{name}_{key}": part for key, part in parts.items() if isinstance(part, np.ndarray)}
            rest = {key: part for key, part in parts.items() if not isinstance(part, np.ndarray)}
            plain[name] = {key: part.told() if isinstance(part, Function) else part for key, part in rest.items()}
        elif name == "varying":
            if value:
                plain[name], inner = told(value)
                arrays |= {f"{name}_{key}": array for key, array in inner.items()}
        elif value is not None:
            plain[name] = "inf" if value == math.inf else value
    variables = {
        f"model_{name}": (tuple(f"model_{name}_{k}" for k in range(array.ndim)), np.array(array))
        for name, array in arrays.items()
    }
    return json.dumps(plain), variables


def model_of(run: xr.Dataset) -> Model:
    """The model that a trajectory was made with."""
    dataset("run", run, "a trajectory (an xarray.Dataset)", "Make one with flock.simulate, or flock.load a file.")
    if "model" not in run.attrs:
        raise bad("run", "a Dataset without a model among its attributes", "a trajectory", "Make one with simulate.")
    try:
        plain = {name: value for name, value in json.loads(run.attrs["model"]).items() if value is not None}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        advice = "Load a file that flock.save wrote."
        raise bad("model", run.attrs["model"], "a model as JSON, in the attributes of a run", advice) from error
    if unknown := sorted(plain.keys() - Model.__dataclass_fields__.keys()):
        advice = "It was made with an option that this tokenflock does not have: use the one that made it."
        raise bad("model", f"a model with {', '.join(unknown)}", "options of flock.Model", advice)
    try:
        plain["beta"] = float(plain["beta"])
    except (KeyError, TypeError, ValueError) as error:
        raise bad("model", run.attrs["model"], "a model with a beta", "Load a file that flock.save wrote.") from error
    arrays = {str(name)[6:]: run[name].values for name in run.data_vars if str(name).startswith("model_")}
    if "varying" in plain:
        inner = {name: arrays.pop(name) for name in list(arrays) if name.startswith("varying_")}
        plain["varying"] = heard(plain["varying"], {k.partition("_")[2]: a for k, a in inner.items()}, FAMILIES)
    for part, kinds in PARTS.items():
        fields = {name: arrays.pop(name) for name in list(arrays) if name.startswith(part + "_")}
        if isinstance(plain.get(part), dict) and not (part in ("mask", "bias") and "names" in plain[part]):
            plain[part] = _part(kinds, plain[part], {name[len(part) + 1 :]: array for name, array in fields.items()})
    plain |= arrays
    if wrong := sorted(plain.keys() - Model.__dataclass_fields__.keys()) or "dim" not in plain:
        raise bad(
            "model", f"variables model_* of {wrong}", "those of a flock.Model", "Load a file that flock.save wrote."
        )
    return Model(**plain)


def _part(kinds: tuple[Any, ...], plain: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """A part of a model from what a file says of it: of the first kind that has such fields."""
    given = plain.keys() | arrays.keys()
    cls = next((kind for kind in kinds if given <= kind.__dataclass_fields__.keys()), kinds[0])
    if unknown := sorted(given - cls.__dataclass_fields__.keys()):
        raise bad("model", f"a {cls.__name__} with {', '.join(unknown)}", "its fields", "Load what flock.save wrote.")
    try:
        return cls(**plain, **arrays)
    except TypeError as error:  # a field that is missing, or there twice
        raise bad("model", plain, f"the fields of {cls.__name__}", "Load what flock.save wrote.") from error


def validate(run: xr.Dataset) -> xr.Dataset:
    """The Dataset itself, if it is a trajectory; otherwise a SpecError that says what is missing or wrong."""
    dataset("run", run, "a trajectory (an xarray.Dataset)", "Make one with flock.simulate, or flock.load a file.")
    absent = [name for name in ATTRIBUTES if name not in run.attrs]
    if absent:
        raise SpecError(
            f"this Dataset is not a trajectory of tokenflock: its attributes lack {', '.join(absent)}. "
            "Make one with flock.simulate, or load a file that flock.save wrote."
        )
    for name, fits in NUMBERS.items():
        if not fits(run.attrs.get(name, 0)):
            raise bad(name, run.attrs[name], "the number that flock.save wrote", "The file was changed: make it again.")
    for name in TEXTS:
        if not isinstance(run.attrs.get(name, ""), str):
            raise bad(name, run.attrs[name], "the text that flock.save wrote", "The file was changed: make it again.")
    if run.attrs["schema"] > SCHEMA:
        raise bad("schema", run.attrs["schema"], f"<= {SCHEMA}", "The file is from a newer tokenflock: upgrade.")
    if "start" not in run or TIME not in run.coords:
        raise SpecError(
            "this trajectory lacks its start or its times: it cannot be used or repeated. Make it anew: flock.simulate."
        )
    for name, axes in (
        ("start", (TOKEN, AXIS)),
        ("x", (TIME, TOKEN, AXIS)),
        ("radius", (TIME, TOKEN)),
        (TIME, (TIME,)),
    ):
        _check_axes(run, name, axes)
    times = run[TIME].values
    if times.size and (not np.isfinite(times).all() or (np.diff(times) <= 0).any()):
        raise bad("time", "a coordinate that does not increase", "finite, increasing times")
    return run


def has_model(run: xr.Dataset) -> bool:
    """Whether a flock.Model moved these tokens; hidden states, and arrays of one's own, have none."""
    return run.attrs.get("scheme") not in (NETWORK, GIVEN)


def moved_by_model(run: xr.Dataset, what: str) -> xr.Dataset:
    """The trajectory, if a flock.Model moved its tokens; what: that which cannot be done otherwise."""
    if not has_model(validate(run)):
        whose = "the layers of a network" if run.attrs["scheme"] == NETWORK else "whoever made the arrays"
        advice = "Give a run that flock.simulate made."
        raise SpecError(f"{what} needs a flock.Model, and these tokens were moved by {whose}. {advice}")
    return run


def _check_axes(run: xr.Dataset, name: str, axes: tuple[str, ...]) -> None:
    """Whether a variable, if it is there, has real numbers along these axes, or along RUN and these."""
    if name not in run:
        return
    lead = (RUN,) if RUN in run[name].dims else ()
    if run[name].dims != (*lead, *axes):
        raise bad(f"{name}.dims", run[name].dims, str((*lead, *axes)), f"Use {name}.transpose(...).")
    if run[name].dtype.kind not in "iuf":
        raise bad(f"{name}.dtype", run[name].dtype, "real numbers", "Load a file that flock.save wrote.")
    if 0 in [run.sizes[axis] for axis in (*lead, *axes) if axis != TIME]:
        raise bad(f"{name}.shape", run[name].shape, "at least one run, token and coordinate", "Nothing is left of it.")


def _flow(model: Model, t: float, dt: float | None) -> Rescaling:
    return flow_at(model, t) if dt is None else flow_at_layer(model, round(t / dt), dt)


def is_boolean(model: Model, x: Any, t: float, dt: float | None = None) -> bool:
    """Whether at tokens x (n, d), in rescaled space, every row of attention has one weight 1 to the rounding of x.

    dt: of layers. Tokens that have met count as one (see the head of this file).
    """
    _check_rescaled(model)
    when = scalar("t", t, "a time >= 0", lambda v: v >= 0)
    step = None if dt is None else positive("dt", dt)
    eps = float(np.finfo(np.float32 if getattr(x, "dtype", None) == np.float32 else np.float64).eps)
    return _is_boolean(model, matrix("x", x, (None, model.dim)), when, step, eps)


def _check_rescaled(model: Model) -> None:
    """Whether this is a model, and in rescaled space."""
    instance("model", model, Model, "a flock.Model", "For example flock.Model(dim=2, space='rescaled').")
    if model.space != "rescaled":
        raise bad("space", model.space, "'rescaled'", "Elsewhere attention is Boolean at beta = inf only.")


def _is_boolean(model: Model, x: Array, t: float, dt: float | None, eps: float) -> bool:
    flow = _flow(model, t, dt)
    if model.normaliser != "softmax":
        return False
    if math.isinf(model.beta):
        return bool((attention(model, x, t, flow).max(axis=-1) > 1 - 4 * eps).all())
    ahead, n = x @ flow.matrix.T, len(x)
    weight = np.broadcast_to(masses(model, n), (n, n))
    for h, u in enumerate(queries(model, x, flow)):
        first, rows = 0, 8  # few rows first: most states that are not Boolean show it at once
        while first < n:
            part = slice(first, first + rows)
            stop = min(part.stop, n)
            sight, bias = sees(model.mask, n, first, stop), biases(model, n, first, stop)
            seen = (sight if sight.ndim == 2 else sight[h]) & (weight[part] > 0)
            less = -bias[h % len(bias)] - np.log(np.where(seen, weight[part], 1.0))
            if not _one_leader(x, ahead, u[part], less, seen, eps):
                return False
            first, rows = first + rows, min(4 * rows, max(8, BLOCK // x.size))
    return True


def _one_leader(x: Array, ahead: Array, u: Array, far: Array, seen: np.ndarray, eps: float) -> bool:
    """Whether rows with queries u have one leader each. far: what logits lose by the bias, and by a small mass."""
    s = np.where(seen, u @ x.T - far, -np.inf)
    leader = s.argmax(axis=1)
    low = -math.log(eps)  # of this drop of a logit is weight eps
    blur = eps * (math.sqrt(x.shape[1]) + 4) * (np.abs(u) @ np.abs(x).max(axis=0))  # rounding of a logit
    i, j = np.nonzero(s >= (s.max(axis=1) - low - 2 * blur)[:, None])
    m = leader[i]
    drop = np.sum(u[i] * (x[m] - x[j]), axis=1) + far[i, j] - far[i, m]
    met = np.abs(ahead[j] - ahead[m]).max(axis=1) <= MET * np.abs(ahead).max()
    return bool(((drop > low) | (x[j] == x[m]).all(axis=1) | (met & (blur[i] > low))).all())


def boolean_from(model: Model, times: Array, frames: Array, dt: float | None = None) -> float:
    """The first of the times from which frames (times, n, d) of a rescaled run have Boolean attention, nan if none.

    Found by halving: a run that became Boolean is taken to stay so.
    """
    _check_rescaled(model)
    step, at = None if dt is None else positive("dt", dt), real("times", times, "finite times >= 0", lambda v: v >= 0)
    if step is not None and at.size and at.max() > step * 2.0**53:
        raise bad("times", f"times up to {at.max():g}", "at most 2^53 layers of dt")
    eps = float(np.finfo(np.float32 if getattr(frames, "dtype", None) == np.float32 else np.float64).eps)
    x = numbers(frames)
    if at.ndim != 1 or x.ndim != 3 or x.shape != (len(at), x.shape[1], model.dim) or not x.shape[1]:
        raise bad("times.shape, frames.shape", (at.shape, x.shape), f"(times,) and (times, n, {model.dim})")
    there = int(np.isfinite(x).all(axis=(1, 2)).sum())
    if not there or not _is_boolean(model, x[there - 1], float(at[there - 1]), step, eps):
        return math.nan
    no, yes = -1, there - 1
    while yes - no > 1:
        middle = (no + yes) // 2
        if _is_boolean(model, x[middle], float(at[middle]), step, eps):
            yes = middle
        else:
            no = middle
    return float(at[yes])


@np.errstate(over="ignore", invalid="ignore", under="ignore")
def _ahead(model: Model, z: Array, t: float, dt: float | None) -> Array:
    """exp(tV) z in two halves: the whole of it may leave the range of float64 where the product does not."""
    if dt is None:
        halves = [flow_at(model, t / 2)] * 2
    else:
        k = round(t / dt)
        halves = [flow_at_layer(model, half, dt) for half in (k // 2, k - k // 2)]
    for flow in halves:
        z = np.exp(0.5 * flow.log) * (np.exp(0.5 * flow.log) * (z @ flow.matrix.T))
    return z


def unrescale(run: xr.Dataset) -> xr.Dataset:
    """The run in R^d whose rescaled form this is: x = exp(tV) z, or R^k z for layers, with the model of that space."""
    model = model_of(validate(run))
    if model.space != "rescaled" or "x" not in run:
        given = f"a run in space={model.space!r}" if model.space != "rescaled" else "a run without positions"
        raise bad("run", given, "a run in space='rescaled' that kept its positions")
    if model.feedforward is not None:
        advice = "Its feed-forward acts on z (E8): no model in R^d has these trajectories."
        raise bad("run", "a run with feed-forward blocks", "a rescaled run without", advice)
    dt = float(run.attrs["dt"]) if run.attrs["scheme"] == "layers" else None
    z = run["x"].transpose(TIME, ...)
    x = np.empty(z.shape)
    for k, t in enumerate(run[TIME].values):
        x[k] = _ahead(model, z[k].values.astype(np.float64), float(t), dt)
        if (np.isfinite(z[k].values) & ~np.isfinite(x[k])).any():
            advice = f"Keep the times before: flock.unrescale(run.sel(time=run.time < {t:g})); or stay with z."
            raise bad("run", f"exp(tV) z beyond the range of float64 from t = {t:g} on", "finite numbers", advice)
    text, _ = describe(model.with_options(space="euclidean"))
    moved = run["x"].copy(data=np.moveaxis(x, 0, run["x"].dims.index(TIME)))
    return run.assign(x=moved).assign_attrs(model=text)


def save(run: xr.Dataset, path: str | Path, overwrite: bool = False) -> Path:
    """Write a trajectory: a Zarr folder, or netCDF if the name ends in .nc. Whole or not at all."""
    from tokenflock.store import write

    return write(validate(run), a_path("path", path), flag("overwrite", overwrite))


def load(path: str | Path) -> xr.Dataset:
    """Read a trajectory that `save` wrote."""
    from tokenflock.store import read

    register()
    return validate(read(a_path("path", path)))
