"""The trajectory: an xarray.Dataset with named axes that says how to repeat it. Not a subclass, not a wrapper.

    x(time, token, axis) or x(run, time, token, axis)    positions
    radius(.., time, token)                              magnitudes r_j, where a layer norm moves them
    start(.., token, axis)                               the tokens at time 0
    steps, rejected, evaluations, outcome(run)           how each run went
    model_*                                              the matrices of the model
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

from tokenflock.accessor import register
from tokenflock.errors import SpecError, bad
from tokenflock.geometry import Array
from tokenflock.model import Model, Rescaling, attention, flow_at, flow_at_layer, queries, visible
from tokenflock.options import Alibi, FeedForward, Frozen, LayerNorm, Window

if TYPE_CHECKING:
    import xarray as xr

RUN, TIME, TOKEN, AXIS = "run", "time", "token", "axis"
SCHEMA = 1
ATTRIBUTES = ("schema", "model", "scheme", "engine", "dtype", "seed", "rtol", "atol", "t_end", "outcome", "versions")
MET = 1e-6  # tokens this close in exp(tV) z, relative to the largest, have met
BLOCK = 1 << 20  # numbers held at a time while looking at attention
# The options of a model that are records of their own.
PARTS = {"mask": Window, "layer_norm": LayerNorm, "bias": Alibi, "feedforward": FeedForward, "frozen": Frozen}


def describe(model: Model) -> tuple[str, dict[str, tuple[tuple[str, ...], np.ndarray]]]:
    """A model as one line of JSON, and its arrays as variables of a Dataset: every field that it has."""
    plain: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for field in dataclasses.fields(model):
        name, value = field.name, model.norm if field.name == "layer_norm" else getattr(model, field.name)
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif dataclasses.is_dataclass(value):
            parts = {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
            arrays |= {f"{name}_{key}": part for key, part in parts.items() if isinstance(part, np.ndarray)}
            plain[name] = {key: part for key, part in parts.items() if not isinstance(part, np.ndarray)}
        elif value is not None:
            plain[name] = "inf" if value == math.inf else value
    variables = {
        f"model_{name}": (tuple(f"model_{name}_{k}" for k in range(array.ndim)), np.array(array))
        for name, array in arrays.items()
    }
    return json.dumps(plain), variables


def model_of(run: xr.Dataset) -> Model:
    """The model that a trajectory was made with."""
    plain = {name: value for name, value in json.loads(run.attrs["model"]).items() if value is not None}
    if unknown := sorted(plain.keys() - Model.__dataclass_fields__.keys()):
        advice = "It was made with an option that this tokenflock does not have: use the one that made it."
        raise bad("model", f"a model with {', '.join(unknown)}", "options of flock.Model", advice)
    plain["beta"] = float(plain["beta"])
    arrays = {str(name)[6:]: run[name].values for name in run.data_vars if str(name).startswith("model_")}
    for part, cls in PARTS.items():
        fields = {name: arrays.pop(name) for name in list(arrays) if name.startswith(part + "_")}
        if isinstance(plain.get(part), dict):
            plain[part] = cls(**plain[part], **{name[len(part) + 1 :]: array for name, array in fields.items()})
    plain |= arrays
    return Model(**plain)


def validate(run: xr.Dataset) -> xr.Dataset:
    """The Dataset itself, if it is a trajectory; otherwise a SpecError that says what is missing or wrong."""
    absent = [name for name in ATTRIBUTES if name not in run.attrs]
    if absent:
        raise SpecError(
            f"this Dataset is not a trajectory of tokenflock: its attributes lack {', '.join(absent)}. "
            "Make one with flock.simulate, or load a file that flock.save wrote."
        )
    if int(run.attrs["schema"]) > SCHEMA:
        raise bad("schema", run.attrs["schema"], f"<= {SCHEMA}", "The file is from a newer tokenflock: upgrade.")
    if "start" not in run or TIME not in run.coords:
        raise SpecError("this trajectory lacks its start or its times: it cannot be used or repeated.")
    times = run[TIME].values
    if times.size and (not np.isfinite(times).all() or (np.diff(times) <= 0).any()):
        raise bad("time", "a coordinate that does not increase", "finite, increasing times")
    if "x" in run:
        lead = (RUN,) if RUN in run["x"].dims else ()
        wanted = (*lead, TIME, TOKEN, AXIS)
        if run["x"].dims != wanted:
            raise bad("x.dims", run["x"].dims, str(wanted), "Use x.transpose(...).")
    return run


def _flow(model: Model, t: float, dt: float | None) -> Rescaling:
    return flow_at(model, t) if dt is None else flow_at_layer(model, round(t / dt), dt)


def is_boolean(model: Model, x: Any, t: float, dt: float | None = None) -> bool:
    """Whether at tokens x (n, d), in rescaled space, every row of attention has one weight 1 to the rounding of x.

    dt: of layers. Tokens that have met count as one (see the head of this file).
    """
    eps = float(np.finfo(np.asarray(x).dtype).eps)
    x, flow = np.asarray(x, dtype=np.float64), _flow(model, t, dt)
    if model.normaliser != "softmax":
        return False
    if math.isinf(model.beta):
        return bool((attention(model, x, t, flow).max(axis=-1) > 1 - 4 * eps).all())
    ahead, (lo, hi), j = x @ flow.matrix.T, visible(model.mask, len(x)), np.arange(len(x))
    for u, slope in zip(queries(model, x, flow), model.slopes, strict=True):
        first, rows = 0, 8  # few rows first: most states that are not Boolean show it at once
        while first < len(x):
            part = slice(first, first + rows)
            seen = (j >= lo[part, None]) & (j < hi[part, None])
            if not _one_leader(x, ahead, u[part], slope, seen, first, eps):
                return False
            first, rows = first + rows, min(4 * rows, max(8, BLOCK // x.size))
    return True


def _one_leader(x: Array, ahead: Array, u: Array, slope: float, seen: np.ndarray, first: int, eps: float) -> bool:
    """Whether the rows first, first + 1, ... with queries u have one leader each."""
    far = slope * np.abs(first + np.arange(len(u))[:, None] - np.arange(len(x)))
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
    there = int(np.isfinite(frames).all(axis=(1, 2)).sum())
    if not there or not is_boolean(model, frames[there - 1], float(times[there - 1]), dt):
        return math.nan
    no, yes = -1, there - 1
    while yes - no > 1:
        middle = (no + yes) // 2
        if is_boolean(model, frames[middle], float(times[middle]), dt):
            yes = middle
        else:
            no = middle
    return float(times[yes])


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

    return write(validate(run), Path(path), overwrite)


def load(path: str | Path) -> xr.Dataset:
    """Read a trajectory that `save` wrote."""
    from tokenflock.store import read

    register()
    return validate(read(Path(path)))
