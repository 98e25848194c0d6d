"""What `diagnose` says of files that are no run of a flock.Model: hidden states of a network, and tables of sweeps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.analysis import persistence
from tokenflock.diagnosis.symptom import Diagnosis, Symptom
from tokenflock.errors import bad
from tokenflock.sweeps.shards import FAILED, OUTCOMES
from tokenflock.trajectories import TIME, validate
from tokenflock.transformer import behaviour, record

if TYPE_CHECKING:
    import xarray as xr

GATHERED = 0.1  # a mean overlap that changes by less than this over all layers has not been changed by them
SWEEP = "tokenflock sweep"
REASONS = 3  # the most frequent ones are told


def is_states(data: Any) -> bool:
    """Whether a Dataset holds hidden states of a network."""
    return bool(data.attrs.get("scheme") == record.SCHEME)


def is_sweep(data: Any) -> bool:
    """Whether a Dataset is the table of a sweep."""
    return bool(data.attrs.get("kind") == SWEEP)


def states(data: xr.Dataset) -> Diagnosis:
    """Hidden states of a network, layer by layer."""
    validate(data)
    n, dim, layers = data.sizes["token"], data.sizes["axis"], data.sizes[TIME] - 1
    try:
        name = str(json.loads(data.attrs.get("network", "{}")).get("name", ""))
    except (ValueError, AttributeError):
        name = ""
    words = f"{n} token{'s' if n != 1 else ''} in dimension {dim} through {layers} layers"
    return Diagnosis(list(_of_states(data, layers)), f"Hidden states of {name or 'a network'}: {words}")


def _of_states(data: xr.Dataset, layers: int) -> Iterator[Symptom]:
    if data.sizes["token"] > 1 and layers > 0:
        first, last = (float(behaviour.overlaps(data["x"].values[k]).mean()) for k in (0, -1))
        change = last - first
        how = "gathered" if change > GATHERED else "spread" if change < -GATHERED else "neither gathered nor spread"
        text = f"The layers have {how} the tokens: the mean overlap of pairs went from {first:.2g} to {last:.2g}."
        yield Symptom("gathering", text, change)
        ranks = [float(behaviour.effective_rank(data["x"].values[k])) for k in (0, -1)]
        text = f"The effective rank of the directions went from {ranks[0]:.3g} to {ranks[1]:.3g}."
        yield Symptom("rank", text, ranks[1])
        found = persistence.lasting(data["x"].values[-1])
        advice = "flock.plot.persistence(run.isel(time=-1)) draws it."
        yield Symptom("clusters", f"After the last layer: {found}.", float(found.count), advice)
    if "radius" in data:
        length = data["radius"].values.mean(axis=-1)
        grown = float(length[-1] / length[0])
        yield Symptom("length", f"The mean length |h| grew {grown:.3g} times, to {length[-1]:.3g}.", grown)
    text = "Steps, accuracy and the atlas were not looked at: the layers have weights of their own, and no flock.Model."
    yield Symptom("not-measured", text, advice="tokenflock network MODEL says what the theory has to say of its heads.")


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
