"""The trajectory: an xarray.Dataset with named axes that says how to repeat it. Not a subclass, not a wrapper.

    x(time, token, axis) or x(run, time, token, axis)    positions
    radius(.., time, token)                              magnitudes r_j, where a layer norm moves them
    start(.., token, axis)                               the tokens at time 0
    steps, rejected, evaluations, outcome(run)           how each run went
    model_*                                              the matrices of the model
    any name(.., time, ...)                              what `reduce` kept

xarray is imported when a function is called, so that `import tokenflock` stays light.
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.errors import SpecError, bad
from tokenflock.model import Model
from tokenflock.options import Alibi, FeedForward, Frozen, LayerNorm, Window

if TYPE_CHECKING:
    import xarray as xr

RUN, TIME, TOKEN, AXIS = "run", "time", "token", "axis"
SCHEMA = 1
ATTRIBUTES = ("schema", "model", "scheme", "engine", "dtype", "seed", "rtol", "atol", "t_end", "outcome", "versions")
_MATRICES = ("query", "key", "value")
_PARTS = {"bias": Alibi, "feedforward": FeedForward, "frozen": Frozen}


def describe(model: Model) -> tuple[str, dict[str, tuple[tuple[str, ...], np.ndarray]]]:
    """A model as one line of JSON, and its matrices as variables of a Dataset."""
    norm = dataclasses.asdict(model.norm)
    mask = model.mask if isinstance(model.mask, str) else {"width": model.mask.width, "causal": model.mask.causal}
    plain: dict[str, Any] = {
        "dim": model.dim,
        "beta": "inf" if math.isinf(model.beta) else model.beta,
        "mask": mask,
        "normaliser": model.normaliser,
        "space": model.space,
        "layer_norm": norm,
        "noise": model.noise,
        "bias": None if model.bias is None else {"slope": model.bias.slope},
        "feedforward": None if model.feedforward is None else {"activation": model.feedforward.activation},
        "frozen": None if model.frozen is None else {},
    }
    arrays = {name: getattr(model, name) for name in _MATRICES}
    for part, fields in (("feedforward", ("w", "a", "b")), ("frozen", ("tokens", "weights"))):
        if getattr(model, part) is not None:
            arrays |= {f"{part}_{name}": getattr(getattr(model, part), name) for name in fields}
    variables = {}
    for name, array in arrays.items():
        if array is not None:
            variables[f"model_{name}"] = (tuple(f"model_{name}_{k}" for k in range(array.ndim)), np.array(array))
    return json.dumps(plain), variables


def model_of(run: xr.Dataset) -> Model:
    """The model that a trajectory was made with."""
    plain = json.loads(run.attrs["model"])
    plain["beta"] = float(plain["beta"])
    if isinstance(plain["mask"], dict):
        plain["mask"] = Window(**plain["mask"])
    plain["layer_norm"] = LayerNorm(**plain["layer_norm"])
    arrays = {str(name)[6:]: run[name].values for name in run.data_vars if str(name).startswith("model_")}
    for part, cls in _PARTS.items():
        fields = {name[len(part) + 1 :]: array for name, array in arrays.items() if name.startswith(part + "_")}
        if plain[part] is not None:
            plain[part] = cls(**plain[part], **fields)
    plain |= {name: arrays[name] for name in _MATRICES if name in arrays}
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


def save(run: xr.Dataset, path: str | Path, overwrite: bool = False) -> Path:
    """Write a trajectory: a Zarr folder, or netCDF if the name ends in .nc. Whole or not at all."""
    from tokenflock.store import write

    return write(validate(run), Path(path), overwrite)


def load(path: str | Path) -> xr.Dataset:
    """Read a trajectory that `save` wrote."""
    from tokenflock.store import read

    return validate(read(Path(path)))
