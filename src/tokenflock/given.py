"""Tokens of one's own as a trajectory: hidden states of any network, or the arrays of a simulation elsewhere.

    flock.trajectory(h)                          h (layers, tokens, dim): directions h / |h| on the sphere, |h| beside
    flock.trajectory(x, times, space="euclidean")      positions in R^d as they are
    flock.trajectory(cache)                      what other libraries keep, and files: see caches.py

The Dataset passes `validate`, so everything takes it: save, view, animate, the analysis, diagnose, plots, the explorer
and the report of `tokenflock network`. What needs a model (again, extend) refuses it with a sentence.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.analysis import OFF_SPHERE
from tokenflock.arguments import instance, named, real
from tokenflock.caches import WANTED, collect
from tokenflock.errors import SpecError, bad
from tokenflock.geometry import LARGEST, Array
from tokenflock.model import Model
from tokenflock.request import ATOL, RTOL
from tokenflock.simulation import versions
from tokenflock.trajectories import AXIS, GIVEN, RUN, SCHEMA, TIME, TOKEN, describe

if TYPE_CHECKING:
    import xarray as xr

LAYER, HEAD, SEEN = "layer", "head", "seen"
SPACES = ("sphere", "euclidean")
OUTCOME = "These tokens were given; no model moved them here."


def trajectory(
    x: Any,
    times: Any = None,
    *,
    space: str = "sphere",
    words: Any = None,
    layers: Any = None,
    attention: Any = None,
    part: str = "",
    name: str = "",
) -> xr.Dataset:
    """Tokens of one's own as a trajectory: x (layers, tokens, dim), or (texts, layers, tokens, dim).

    **Main arguments**

    - `x`: hidden states or positions, raw or normed: an array of numpy or torch, a list of layers, a cache of
      TransformerLens or nnsight, an output of transformers, or the path of a .npy, .npz, .safetensors or .pt file.
    - `times`: of the first axis, increasing; 0, 1, 2, ... if left out.

    **Other arguments**

    - `space`: "sphere" keeps directions x / |x|, and the lengths as `radius` unless all are 1; "euclidean" keeps x.
    - `words`, `layers`: what the tokens and the layers are called, texts; of several texts (texts, tokens).
    - `attention`: weights (layers, heads, tokens, tokens), if the analysis is to have them.
    - `part`: which entries of a cache are the layers, with {} for their number: "blocks.{}.hook_resid_mid".
    - `name`: of what these tokens are from, for the words of a diagnosis and a report.
    """
    named("space", space, SPACES)
    instance("name", name, str, "a text")
    instance("part", part, str, "a text with {} for the number of the layer", "For example 'blocks.{}.hook_out'.")
    found = collect(x, part)
    names = found.layers if layers is None else layers
    given = found.attention if attention is None else attention
    h = _states(found.x, names)
    stamps = _times(found.times if times is None else times, h.shape[-3])
    data, coords = _placed(h, space, names)
    coords[TIME] = ((TIME,), stamps, {} if times is not None or found.times is not None else {"long_name": "layer"})
    if given is not None and h.ndim == 3:
        data["attention"] = ((LAYER, HEAD, TOKEN, SEEN), _weights(given, h.shape[1]))
    called = found.words if words is None else words
    if called is not None:
        coords["word"] = _named("words", called, (h.shape[0], h.shape[-2]) if h.ndim == 4 else (h.shape[-2],))
    if names is not None:
        coords["layer_name"] = ((TIME,), _named("layers", names, (h.shape[-3],))[1])
    model = Model(dim=h.shape[-1], mask="full", space=space)
    return assemble(data, coords, model, {"name": name} if name else {})


def assemble(data: dict[str, Any], coords: dict[str, Any], model: Model, attrs: dict[str, Any]) -> xr.Dataset:
    """The Dataset of tokens that no model of ours moved; model: their space and dimension, no more."""
    import xarray as xr

    times = coords[TIME][1]
    x = data["x"][1]
    lead: tuple[str, ...] = (RUN,) if x.ndim == 4 else ()
    data = {**data, "start": ((*lead, TOKEN, AXIS), x[..., 0, :, :])}
    text, _ = describe(model)
    usual: dict[str, Any] = {
        "schema": SCHEMA,
        "model": text,
        "outcome": OUTCOME,
        "scheme": GIVEN,
        "engine": GIVEN,
        "dtype": "float64",
        "seed": 0,
        "rtol": RTOL,  # what was given has steps and errors that nobody told
        "atol": ATOL,
        "dt": 1.0,
        "t_end": float(times[-1]),
        "times": json.dumps(times.tolist()),
        "reduce": "[]",
        "switched": math.nan,
        "steps": len(times) - 1,
        "rejected": 0,
        "evaluations": len(times) - 1,
        "wall_s": 0.0,
        "versions": json.dumps(versions()),
    }
    return xr.Dataset(data, coords=coords, attrs=usual | attrs)


def _states(given: Any, layers: Any) -> Array:
    """Positions as float64, every number of which is finite; the first that is not is named by layer and token."""
    if given.dtype.kind not in "iuf" or given.ndim not in (3, 4) or not given.size:
        advice = "Of one layer give x[None]." if given.ndim == 2 else ""
        raise bad("x.shape", f"{given.shape} of {given.dtype}", f"numbers {WANTED}, at least one of each", advice)
    h = np.asarray(given, dtype=np.float64, order="C")
    wrong = ~(np.abs(h) <= LARGEST).all(axis=-1)
    if wrong.any():
        raise SpecError(
            f"{_where(wrong, layers)} holds nan, inf or a number above {LARGEST:g}. Wanted: finite numbers."
        )
    return h


def _where(wrong: Any, layers: Any) -> str:
    """The first entry that is wrong, in words."""
    place = [int(k) for k in np.argwhere(wrong)[0]]
    text = f" of text {place[0]}" if len(place) == 3 else ""
    called = f" ({layers[place[-2]]})" if layers is not None and len(layers) > place[-2] else ""
    return f"token {place[-1]} of layer {place[-2]}{called}{text}, counted from 0,"


def _placed(h: Array, space: str, layers: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The positions as variables: directions and lengths on the sphere, or as they are."""
    lead: tuple[str, ...] = (RUN,) if h.ndim == 4 else ()
    if space == "euclidean":
        return {"x": ((*lead, TIME, TOKEN, AXIS), h)}, {}
    radius = np.linalg.norm(h, axis=-1)
    if not radius.all():
        advice = "Leave padding out, or keep positions of R^d: space='euclidean'."
        raise SpecError(f"{_where(radius == 0, layers)} has length 0, which is no direction. {advice}")
    if np.abs(radius - 1).max() <= OFF_SPHERE:
        return {"x": ((*lead, TIME, TOKEN, AXIS), h / radius[..., None])}, {}
    data = {
        "x": ((*lead, TIME, TOKEN, AXIS), h / radius[..., None]),
        "radius": ((*lead, TIME, TOKEN), radius),
    }
    return data, {}


def _times(given: Any, count: int) -> Array:
    """The times of the layers."""
    if given is None:
        return np.arange(count, dtype=np.float64)
    times = real("times", given, f"({count},) finite, increasing numbers")
    if times.shape != (count,) or (np.diff(times) <= 0).any():
        what = f"shape {times.shape}" if times.shape != (count,) else "times that do not increase"
        raise bad("times", what, f"({count},) finite, increasing numbers, one for each layer of x")
    return times


def _weights(given: Any, n: int) -> Array:
    """Weights of attention."""
    weights = real("attention", given, "finite numbers (layers, heads, tokens, tokens)")
    if weights.ndim != 4 or weights.shape[2:] != (n, n):
        raise bad("attention.shape", weights.shape, f"(layers, heads, {n}, {n})")
    return weights


def _named(what: str, given: Any, shape: tuple[int, ...]) -> tuple[tuple[str, ...], Any]:
    """Texts for the tokens or the layers, as objects: files keep these with their length."""
    try:
        found = np.array(
            [[str(w) for w in row] for row in given] if len(shape) == 2 else [str(w) for w in given], object
        )
    except (TypeError, ValueError):
        found = np.empty(0, dtype=object)
    if isinstance(given, str) or found.shape != shape:
        count = "a text for each" if len(shape) == 1 else "a row of texts for each text"
        raise bad(f"{what}.shape", found.shape, f"{shape}, {count}")
    return ((RUN, TOKEN) if len(shape) == 2 else (TOKEN,)), found
