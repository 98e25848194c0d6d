"""What `diagnose` says of files that are no run of a flock.Model: tokens that were given, and tables of sweeps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.analysis import persistence
from tokenflock.arguments import whole
from tokenflock.diagnosis.symptom import Diagnosis, Symptom
from tokenflock.errors import bad
from tokenflock.sweeps.shards import FAILED, OUTCOMES
from tokenflock.trajectories import NETWORK, RUN, TIME, model_of, validate
from tokenflock.transformer import behaviour

if TYPE_CHECKING:
    import xarray as xr

LONG = 10.0  # times the median length: a token that massive activations have made long
GATHERED = 0.1  # a mean overlap that changes by less than this over all layers has not been changed by them
SWEEP = "tokenflock sweep"
REASONS = 3  # the most frequent ones are told


def is_sweep(data: Any) -> bool:
    """Whether a Dataset is the table of a sweep."""
    return bool(data.attrs.get("kind") == SWEEP)


def states(data: xr.Dataset, which: int | None = None) -> Diagnosis:
    """Tokens that no flock.Model moved: hidden states of a network, or arrays of one's own, layer by layer."""
    validate(data)
    runs = data.sizes[RUN] if RUN in data["x"].dims else 1
    if which is not None:
        whole("which", which, 0, "Runs count from 0.", most=runs - 1)
    index = int(which or 0) if RUN in data["x"].dims else None
    one = data if index is None else data.isel({RUN: index})
    n, dim, layers = one.sizes["token"], one.sizes["axis"], one.sizes[TIME] - 1
    network = data.attrs["scheme"] == NETWORK
    try:
        name = json.loads(data.attrs.get("network", "{}")).get("name", "") if network else data.attrs.get("name", "")
    except (ValueError, AttributeError):
        name = ""
    words = f"{n} token{'s' if n != 1 else ''} in dimension {dim} through {layers} layer{'s' if layers != 1 else ''}"
    of = f"Hidden states of {name or 'a network'}" if network else str(name) or "Tokens as they were given"
    about = f"{of}: {words}"
    if index is not None:
        chosen = "" if which is not None else "; which=K chooses another"
        about = f"Text {index} of {runs} (counted from 0{chosen}): {about}"
    return Diagnosis(list(_of_states(one, layers)), about, index, runs)


def _of_states(data: xr.Dataset, layers: int) -> Iterator[Symptom]:
    x = np.asarray(data["x"].values, dtype=float)
    on_sphere = model_of(data).space == "sphere"
    if len(x[0]) > 1 and layers > 0:
        if on_sphere:
            first, last = (float(behaviour.overlaps(x[k]).mean()) for k in (0, -1))
            change = last - first
            how = "gathered" if change > GATHERED else "spread" if change < -GATHERED else "neither gathered nor spread"
            text = f"The layers have {how} the tokens: the mean overlap of pairs went from {first:.2g} to {last:.2g}."
            yield Symptom("gathering", text, change)
        if np.abs(x[0]).max() > 0 and np.abs(x[-1]).max() > 0:
            ranks = [float(behaviour.effective_rank(x[k])) for k in (0, -1)]
            what = "directions" if on_sphere else "positions"
            text = f"The effective rank of the {what} went from {ranks[0]:.3g} to {ranks[1]:.3g}."
            yield Symptom("rank", text, ranks[1])
        found = persistence.lasting(x[-1], "sphere" if on_sphere else "euclidean")
        advice = "flock.plot.persistence(run.isel(time=-1)) draws it."
        yield Symptom("clusters", f"After the last layer: {found}.", float(found.count), advice)
    elif layers > 0:
        yield Symptom("not-measured", "There is one token: how tokens gather was not looked at.")
    else:
        yield Symptom("not-measured", "There is one layer: nothing has moved, and only lengths were looked at.")
    yield from _of_lengths(
        data if "radius" in data or on_sphere else data.assign(radius=np.sqrt((data["x"] ** 2).sum("axis")))
    )
    text = "Steps, accuracy and the atlas were not looked at: no flock.Model moved these tokens."
    advice = "tokenflock network MODEL says what the theory has to say of a network's heads."
    yield Symptom("not-measured", text, advice=advice)


def _of_lengths(data: xr.Dataset) -> Iterator[Symptom]:
    """How long the tokens are, if that is known."""
    if "radius" not in data:
        return
    lengths = np.asarray(data["radius"].values, dtype=float)
    length = lengths.mean(axis=-1)
    if length[0] > 0:
        grown = float(length[-1] / length[0])
        yield Symptom("length", f"The mean length |h| grew {grown:.3g} times, to {length[-1]:.3g}.", grown)
    usual = np.median(lengths, axis=-1)
    ratio = lengths.max(axis=-1) / np.where(usual > 0, usual, np.inf)
    layer = int(np.argmax(ratio))
    if ratio[layer] > LONG:
        token = int(np.argmax(lengths[layer]))
        called = f" ({data['word'].values[token]!s})" if "word" in data.coords else ""
        text = f"Token {token}{called} is {ratio[layer]:.3g} times as long as the median token at layer {layer}."
        advice = "Such tokens carry ranks and means of raw states: look at directions, or leave them out."
        yield Symptom("long-token", text, float(ratio[layer]), advice)


def sweep(table: xr.Dataset, which: int | None) -> Diagnosis:
    """The table of a sweep: how far it is, which runs failed and why."""
    if which is not None:
        raise bad("which", which, "nothing, for the table of a sweep", "Its runs are not kept: repeat one by its seed.")
    codes = table["outcome"].values
    axes = ", ".join(f"{dim} ({table.sizes[dim]})" for dim in table["outcome"].dims)
    return Diagnosis(list(_of_sweep(table, codes)), f"A sweep of {codes.size} runs over {axes}", None, int(codes.size))


def _of_sweep(table: xr.Dataset, codes: Any) -> Iterator[Symptom]:
    left = int((codes < 0).sum())
    if left:
        advice = "Give the command that made the store again: it goes on."
        yield Symptom("unfinished", f"{left} of {codes.size} runs are not done.", float(left), advice)
    failed = np.isin(codes, FAILED)
    if failed.any():
        kinds, counts = np.unique(codes[failed], return_counts=True)
        told = ", ".join(f"{c} {OUTCOMES[k].replace('_', ' ')}" for k, c in zip(kinds, counts, strict=True))
        reasons, often = np.unique(table["reason"].values.astype(object)[failed].astype(str), return_counts=True)
        why = "; ".join(f"{reasons[k]} ({often[k]})" for k in np.argsort(-often)[:REASONS] if reasons[k])
        text = f"{int(failed.sum())} runs failed: {told}." + (f" Why: {why}." if why else "")
        yield Symptom("failed", text, float(failed.sum()), "sweep(..., retry=True) or --retry-failed tries them again.")
    if not left and not failed.any():
        yield Symptom("finished", f"All {codes.size} runs came to their end.", 0.0)
