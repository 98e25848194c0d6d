"""A saved run as the page shows it, without a server: what is told of it, and its frames in a few bytes a token."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.arguments import is_whole, whole
from tokenflock.errors import bad
from tokenflock.explorer import frames, projection, recipe
from tokenflock.explorer.began import began
from tokenflock.explorer.measures import FEW, NAMES, Ruler
from tokenflock.explorer.prediction import Prediction
from tokenflock.geometry import Array
from tokenflock.graphs import Graph
from tokenflock.masks import WORDS
from tokenflock.model import Model
from tokenflock.options import Window
from tokenflock.trajectories import NETWORK, PARTS, describe, has_model, model_of, validate

if TYPE_CHECKING:
    import xarray as xr

FRAMES = 500  # a longer run is thinned
ENERGIES = 60  # frames of a large run of which all pairs of tokens are looked at
WRITTEN = 6_000  # numbers of a start that are written out in its run.toml
KEPT = {  # what is told of tokens that were given, in place of how to repeat them
    "toml": "# No run.toml has moved these tokens: they were given.\n",
    "python": 'import tokenflock as flock\n\nrun = flock.load("run.zarr")  # once flock.save has written it\n',
}
LONG = 30.0  # times from the first kept one to the last: beyond this factor the page opens on a logarithmic clock


def record(run: xr.Dataset, which: int | None = None, most: int = FRAMES) -> dict[str, Any]:
    """All that the page needs: the message `began`, `head` and `data` of the frames, and how the run ended."""
    most = whole("frames", most, 1, "A longer run is thinned to so many.")
    model, times, x, start = _one(run, which)
    keep = np.unique(np.round(np.linspace(0, len(times) - 1, min(most, len(times)))).astype(int))
    times, x = times[keep], x[keep]
    seen = projection.choose(model)
    ruler = Ruler(model, start)
    if not has_model(run):
        network = run.attrs["scheme"] == NETWORK
        why = "the layers of this network have weights of their own" if network else "no flock.Model moved these tokens"
        ruler.prediction, ruler.has_energy = Prediction(None, np.zeros(0), {}, (why,)), False
    labels = np.stack([ruler.labels(frame) for frame in x])
    every = 1 if x.shape[1] <= FEW else max(1, len(x) // ENERGIES)
    numbers = np.stack([ruler.measure(x[k], labels[k], with_pairs=k % every == 0) for k in range(len(x))])
    shown = seen(x)
    data, scales = frames.record(shown, labels, numbers)
    spec = _spec(run, model, start)
    shortened = {**spec, "start": {"n_tokens": len(start)}}
    told = began(model, shortened, len(start), times, seen, ruler)
    modelled = has_model(run)
    told |= {"forms": _forms(model) if modelled else None, "recipe": _recipe(spec, start) if modelled else KEPT}
    positive = times[times > 0]
    log = len(positive) > 2 and positive[-1] / positive[1] > LONG * len(positive) / 10
    head = {"frames": len(x), "n": len(start), "axes": shown.shape[-1], "measures": len(NAMES), "scales": scales}
    view = {"clock": "log" if log else "linear", "hull": model.space != "sphere" and model.dim <= 3}
    return {"began": told, "head": head, "data": data, "ended": str(run.attrs["outcome"]), "view": view}


def _one(run: xr.Dataset, which: int | None) -> tuple[Model, Array, Array, Array]:
    """Model, times, positions (time, n, d) and start of one run; frames that are missing are left out."""
    validate(run)
    if "x" not in run:
        raise bad("run", "a run without positions", "one that kept them", "Simulate with positions=True.")
    if "run" in run["x"].dims:
        count = run.sizes["run"]
        whole("which run", which, 0, "This is an ensemble: say which to show.", most=count - 1)
        run = run.isel(run=which)
    elif which is not None and not (is_whole(which) and which == 0):
        raise bad("which run", which, "None, as this is a single run")
    x = run["x"].values.astype(np.float64)
    there = np.isfinite(x).all(axis=(1, 2))
    if not there.any():
        raise bad("run", "a run without a single frame", "one with frames")
    start = run["start"].values.astype(np.float64)
    return model_of(run), run["time"].values[there].astype(np.float64), x[there], start


def _forms(model: Model) -> list[list[list[float]]] | None:
    """B of every head's logits, where the positions of the page are enough to compute attention there."""
    known = isinstance(model.mask, str | Window) and not model.placed
    plain = known and model.normaliser == "softmax" and all(o is None for o in (model.bias, model.frozen, model.masses))
    shown = model.space != "rescaled" and 2 <= model.dim <= projection.SHOWN
    return model.form.tolist() if plain and shown else None


def _spec(run: xr.Dataset, model: Model, start: Array) -> dict[str, Any]:
    """The run as in a run.toml, from its own attributes."""
    attrs = run.attrs
    simulate = {"t_end": float(attrs["t_end"]), "scheme": attrs["scheme"], "seed": int(attrs["seed"])}
    simulate |= {name: float(attrs[name]) for name in ("rtol", "atol")}
    if not math.isnan(float(attrs["dt"])):
        simulate["dt"] = float(attrs["dt"])
    return {"model": _table(model), "start": {"array": start.tolist()}, "simulate": simulate}


def _table(model: Model) -> dict[str, Any]:
    """The section [model]: what differs from a model of this dimension that says nothing else."""
    (told, arrays), (usual, _) = describe(model), describe(Model(dim=model.dim))
    plain, default = json.loads(told), json.loads(usual)
    table = {name: value for name, value in plain.items() if name in ("dim", "beta") or value != default.get(name)}
    for name, (_, array) in arrays.items():
        field = name.removeprefix("model_")
        part = next((part for part in PARTS if field.startswith(f"{part}_")), None)
        home, key = (table, field) if part is None else (table[part], field.removeprefix(f"{part}_"))
        home[key] = array.tolist()
    for name, given in (("mask", model.mask), ("bias", model.bias)):
        if isinstance(given, Graph):  # as rows: the page has no word for them
            small = given.heads * given.n_tokens**2 <= WRITTEN
            rows = given.dense() + 0 if small else np.zeros((1, 0))
            table[name] = (rows if given.heads > 1 else rows[0]).tolist()
        elif type(given) in WORDS.values():
            word = next(word for word, kind in WORDS.items() if type(given) is kind)
            fields = list(table[name].values())
            table[name] = dict(zip([word, *list(table[name])[1:]], fields, strict=True))
            table[name].pop("kind", None)
    return table


def _recipe(spec: dict[str, Any], start: Array) -> dict[str, str]:
    model = spec["model"]
    written = sum(np.size(model[name]) for name in ("masses", "mask", "bias") if isinstance(model.get(name), list))
    whole = all(np.size(model[name]) for name in ("mask", "bias") if isinstance(model.get(name), list))
    if whole and start.size + written <= WRITTEN:
        return recipe.of(spec)
    words = f"# The start of {len(start)} tokens is too long to be written out here.\n"
    return {
        "toml": words + "# Ask for the saved run, and repeat it with: tokenflock simulate --again run.zarr\n",
        "python": words + 'import tokenflock as flock\n\nrun = flock.again(flock.load("run.zarr"))\n',
    }
