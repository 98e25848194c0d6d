"""What a run suffers from: flock.diagnose(run) reads it off the run's own numbers, in sentences.

    interrupted, step-too-small, not-finite                    how it ended
    off-sphere, step-too-large, oscillating,                   the computation
    tolerance-too-loose, inaccurate, sensitive
    diverging, rotating, noise, no-clustering, not-covered     what the model lets one expect
    finished, unfinished, metastable, rests-elsewhere,         where it stands
    atlas, ensemble
    not-measured                                               what is missing, and why

(The folder is not called diagnose: importing it would put it in the place of the function `flock.diagnose`.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.analysis import clusters
from tokenflock.diagnosis.atlas import atlas, diverging, no_clustering, rotating
from tokenflock.diagnosis.clustering import clusters as standing
from tokenflock.diagnosis.clustering import noise
from tokenflock.diagnosis.evidence import Evidence
from tokenflock.diagnosis.stepping import ending, fixed_steps, off_sphere, repeated
from tokenflock.diagnosis.symptom import Diagnosis, Symptom
from tokenflock.engine.contract import Outcome
from tokenflock.errors import bad
from tokenflock.trajectory import RUN, TIME, validate

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Diagnosis", "Symptom", "diagnose"]
KINDS = (ending, off_sphere, fixed_steps, repeated, diverging, rotating, noise, no_clustering, standing, atlas)


def diagnose(run: xr.Dataset, which: int | None = None, *, again: bool = True) -> Diagnosis:
    """What this trajectory suffers from: a `Diagnosis`; print it.

    **Main arguments**

    - `run`: a trajectory from `simulate` or `load`.
    - `which`: a run of an ensemble, from 0. Left out: the first that failed, or the one farthest from one cluster.

    **Other arguments**

    - `again`: repeat the run, finer and from disturbed starts, if that takes seconds: without it neither its accuracy
      nor its dependence on the start can be told.
    """
    if not hasattr(run, "data_vars"):
        raise bad("run", type(run).__name__, "a trajectory", "Make one with flock.simulate, or flock.load a file.")
    validate(run)
    runs = run.sizes.get(RUN, 1) if RUN in run["start"].dims else 1
    index = _which(run, which, runs)
    evidence = Evidence(run, index)
    kinds = [kind for kind in KINDS if again or kind is not repeated]
    findings = [*_ensemble(run, runs), *(symptom for kind in kinds for symptom in kind(evidence))]
    findings += _missing(evidence)
    return Diagnosis(findings, _about(evidence, index, runs, which), index, runs)


def _which(run: xr.Dataset, which: Any, runs: int) -> int | None:
    """The run to look at."""
    whole = isinstance(which, int | np.integer) and not isinstance(which, bool)
    if which is not None and not (whole and 0 <= which < runs):
        raise bad("which", which, f"a whole number from 0 to {runs - 1}", "Runs count from 0.")
    if RUN not in run["start"].dims:
        return None
    if which is not None:
        return int(which)
    codes: list[int] = run["outcome"].values.tolist() if "outcome" in run else []
    failed = [k for k, code in enumerate(codes) if list(Outcome)[code].failed]
    if failed or "x" not in run or not run.sizes[TIME]:
        return failed[0] if failed else 0
    last = run["x"].isel({TIME: -1}).values
    return int(np.argmin(np.linalg.norm(last.mean(axis=1), axis=-1) / np.linalg.norm(last, axis=-1).mean(axis=-1)))


def _ensemble(run: xr.Dataset, runs: int) -> list[Symptom]:
    """All runs of an ensemble in one sentence."""
    if runs == 1:
        return []
    text, mean = f"{runs} runs. {run.attrs['outcome']}", None
    first = Evidence(run, 0)
    if "x" in run and run.sizes[TIME] and first.on_sphere:
        last = np.asarray(run["x"].isel({TIME: -1}).values, dtype=float)
        last = last[np.isfinite(last).all(axis=(1, 2))]
        if len(last):
            count = clusters.count(last / np.linalg.norm(last, axis=-1, keepdims=True), first.radius_of_clusters)
            mean = float(count.mean())
            text += f" Clusters at the end: {count.min()} to {count.max()}, {mean:.3g} on average."
    return [Symptom("ensemble", text, mean)]


def _missing(e: Evidence) -> list[Symptom]:
    """What could not be looked at, and what would be needed."""
    if not e.has_positions:
        text = "The run kept no positions: only its model and its end were looked at."
        return [Symptom("not-measured", text, advice="Simulate with positions=True.")]
    if not e.moved:
        text = "There is no frame after the start: nothing was looked at but the model."
        return [Symptom("not-measured", text, advice="Keep later times.")]
    if not e.on_sphere:
        text = "Clusters and the atlas were not looked at: they are about the sphere, and this run has space="
        return [Symptom("not-measured", f"{text}{e.model.space!r}.")]
    return []


def _about(e: Evidence, index: int | None, runs: int, which: int | None) -> str:
    text = f"{e.n} token{'s' if e.n > 1 else ''} in dimension {e.dim}, from t = 0 to {e.t:g}"
    if index is None:
        return text
    chosen = "" if which is not None else "; which=K chooses another"
    return f"Run {index} of {runs} (counted from 0{chosen}): {text}"
