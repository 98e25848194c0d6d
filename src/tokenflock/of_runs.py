"""Weights of each run of an ensemble: arrays with an axis more in front, one entry a run, that change with no time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tokenflock.arguments import numbers, whole
from tokenflock.errors import bad, clash
from tokenflock.geometry import Array

#: axes of an array that has one for the runs: (runs, H, k, d), and (runs,) of beta
AXES = {"query": 4, "key": 4, "value": 4, "beta": 1}


@dataclass(frozen=True, eq=False)
class OfRuns:
    """A weight of each run: values[r] is that of run r, at all times."""

    values: Array
    smooth = False

    def at(self, name: str, dim: int, t: float, middle: float, run: int) -> Any:
        """See varying.Varying."""
        return self.values[run]

    def changes(self, t_end: float) -> Iterator[float]:
        """None: runs differ, times do not."""
        return iter(())

    def check(self, name: str, t_end: float) -> None:
        """It says what it says for all times."""


def of_runs(name: str, given: Any) -> OfRuns | None:
    """The weights of all runs, if this is an array with an axis for them."""
    if given is None or numbers(given).ndim != AXES.get(name):
        return None
    values = np.array(numbers(given))
    if not values.size or not np.isfinite(values).all():
        what = "an empty array" if not values.size else "an array with nan or inf"
        raise bad(name, what, "finite numbers, one entry for each run", "beta = inf is for all runs or for none.")
    values.setflags(write=False)
    return OfRuns(values)


def n_runs(varying: Mapping[str, Any] | None) -> int | None:
    """For how many runs there are weights; None where all runs have the same."""
    counts = {name: len(one.values) for name, one in (varying or {}).items() if isinstance(one, OfRuns)}
    if len(set(counts.values())) > 1:
        advice = "The first axis counts the runs of an ensemble: (runs, H, k, d), and (runs,) of beta."
        raise bad("runs", counts, "the same number of runs everywhere", advice)
    return next(iter(counts.values()), None)


def weights_of(varying: Mapping[str, Any] | None, run: int) -> dict[str, Any]:
    """The weights that one run has of its own, by name."""
    n = n_runs(varying)
    run = whole("run", run, 0, "Runs are counted from 0.", most=None if n is None else n - 1)
    return {name: one.values[run] for name, one in (varying or {}).items() if isinstance(one, OfRuns)}


def check_single(model: Any) -> None:
    """Whether a model is that of a single run."""
    if model.n_runs:
        advice = "Take model.of_run(0), for example."
        raise bad("model", f"a model of {model.n_runs} runs", "one of a single run", advice)


def starts_of(request: Any, x: Array) -> Array:
    """Tokens for as many runs as there are weights: one start serves all."""
    runs = request.model.n_runs
    if request.endless:
        raise clash("t_end=inf", "weights of each run", "Their ends differ: give a finite t_end.")
    if x.ndim == 3 and len(x) != runs:
        raise bad("start.shape", x.shape, f"(n, dim), or ({runs}, n, dim) for weights of {runs} runs")
    return x if x.ndim == 3 else np.repeat(x[None], runs, axis=0)


def of_first(request: Any) -> Any:
    """The request of the first run alone."""
    return replace(request, model=request.model.of_run(0))


def each_run(request: Any, engine: str, n_tokens: int) -> list[tuple[Any, Any]]:
    """(engine, task) of each run, as a single run with its weights has them."""
    own = (replace(request, model=request.model.of_run(r), engine=engine) for r in range(request.model.n_runs))
    return [(one.engine_for(n_tokens), one.task) for one in own]
