"""What a run suffers from: flock.diagnose(run) reads it off the run's own numbers, in sentences.

    interrupted, step-too-small, not-finite                    how it ended
    off-sphere, step-too-large, oscillating,                   the computation
    tolerance-too-loose, inaccurate, sensitive
    identical                                                  the start
    diverging, rotating, noise, no-clustering, not-covered     what the model lets one expect
    finished, unfinished, metastable, rests-elsewhere,         where it stands
    atlas, ensemble
    not-measured                                               what is missing, and why

Tokens that no flock.Model moved (hidden states, arrays of one's own) and tables of sweeps are told by tables.py.

(The folder is not called diagnose: importing it would put it in the place of the function `flock.diagnose`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.analysis import clusters
from tokenflock.arguments import dataset, flag, whole
from tokenflock.diagnosis import tables
from tokenflock.diagnosis.atlas import atlas, diverging, no_clustering, rotating
from tokenflock.diagnosis.clustering import clusters as standing
from tokenflock.diagnosis.clustering import noise
from tokenflock.diagnosis.evidence import Evidence
from tokenflock.diagnosis.growing import gathering, identical, turning, uncovered
from tokenflock.diagnosis.stepping import ending, fixed_steps, off_sphere, repeated
from tokenflock.diagnosis.symptom import Diagnosis, Symptom
from tokenflock.engine.contract import Outcome
from tokenflock.runner import Telling
from tokenflock.simulation import check_progress
from tokenflock.trajectories import RUN, TIME, has_model, validate

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Diagnosis", "Symptom", "diagnose"]
BUDGET_S = 8.0  # who asks what is wrong waits ten seconds: what is under way when these are over still has to stop
Kind = Callable[[Evidence], Iterable[Symptom]]
#: What is looked at, in words, in the order in which it is told.
KINDS: dict[str, Kind] = {
    "how the run ended": ending,
    "the distance from the sphere": off_sphere,
    "the size of the steps": fixed_steps,
    "accuracy and sensitivity": repeated,
    "equal tokens": identical,
    "divergence": diverging,
    "rotation": rotating,
    "rotation in R^d": turning,
    "noise": noise,
    "what clustering is to be expected": no_clustering,
    "the hypotheses of paper B": uncovered,
    "where the clusters stand": standing,
    "where the rescaled tokens stand": gathering,
    "the atlas": atlas,
}


def diagnose(run: xr.Dataset, which: int | None = None, *, again: bool = True, progress: Telling = None) -> Diagnosis:
    """What this trajectory suffers from: a `Diagnosis`; print it. What would take more than seconds is left out, named.

    **Main arguments**

    - `run`: a trajectory from `simulate` or `load`; hidden states, or arrays of one's own; the table of a sweep.
    - `which`: a run of an ensemble, from 0. Left out: the first that failed, or the one farthest from one cluster.

    **Other arguments**

    - `again`: repeat the run, finer and from disturbed starts, if that takes seconds: without it neither its accuracy
      nor its dependence on the start can be told. That may take longer than the run did, up to some 8 s.
    - `progress`: how far that is: True, False, or a function of the fraction; left out: a bar, on a terminal.
    """
    dataset("run", run, "a trajectory (an xarray.Dataset)", "Make one with flock.simulate, or flock.load a file.")
    if tables.is_sweep(run):
        return tables.sweep(run, which)
    if not has_model(run):
        return tables.states(run, which)
    validate(run)
    flag("again", again)
    check_progress(progress)
    runs = run.sizes.get(RUN, 1) if RUN in run["start"].dims else 1
    index = _which(run, which, runs)
    evidence = Evidence(run, index, BUDGET_S, progress)
    kinds: dict[str, Kind] = {"the runs of the ensemble": lambda e: _ensemble(run, runs)} if runs > 1 else {}
    kinds |= {words: kind for words, kind in KINDS.items() if again or kind is not repeated}
    findings = [*_seen(evidence, kinds), *_missing(evidence)]
    return Diagnosis(findings, _about(evidence, index, runs, which), index, runs)


def _seen(e: Evidence, kinds: dict[str, Kind]) -> list[Symptom]:
    """What the kinds of symptoms find in the time that there is, and the names of those that came too late."""
    found: dict[str, list[Symptom]] = {}
    for words in sorted(kinds, key=lambda words: kinds[words] is repeated):  # last, because it can take all the time
        if not e.late:
            found[words] = list(kinds[words](e))
    told = [symptom for words in kinds for symptom in found.get(words, [])]
    left = [words for words in kinds if words not in found]
    if left:
        text = f"Left out: {', '.join(left)}, because a diagnosis takes at most about {e.seconds:g} s."
        advice = "Diagnose a smaller run, or one of fewer frames, tokens or runs; again=False repeats nothing."
        told.append(Symptom("not-measured", text, advice=advice))
    return told


def _which(run: xr.Dataset, which: Any, runs: int) -> int | None:
    """The run to look at."""
    if which is not None:
        whole("which", which, 0, "Runs count from 0.", most=runs - 1)
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
        text = "The atlas was not looked at: it is about the sphere, and this run has space="
        return [Symptom("not-measured", f"{text}{e.model.space!r}.")]
    return []


def _about(e: Evidence, index: int | None, runs: int, which: int | None) -> str:
    text = f"{e.n} token{'s' if e.n > 1 else ''} in dimension {e.dim}, from t = 0 to {e.t:g}"
    if index is None:
        return text
    chosen = "" if which is not None else "; which=K chooses another"
    return f"Run {index} of {runs} (counted from 0{chosen}): {text}"
