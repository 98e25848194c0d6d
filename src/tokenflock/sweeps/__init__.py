"""Many runs: a plan, a store that survives anything, and workers here or on a cluster.

plan: what to run; axes and reducers its parts.  shards: the runs of a box of the grid, a pure function of the plan.
sweep_store: the Zarr store.  execution: what is not done is computed, by worker processes of this machine (local) or of
a cluster.  cost_estimate: how long it takes.  toml: the strict sweep.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenflock.arguments import flag, whole
from tokenflock.arguments import path as a_path
from tokenflock.errors import bad

if TYPE_CHECKING:
    import xarray as xr

    from tokenflock.model import Model
    from tokenflock.sweeps.plan import Plan
    from tokenflock.sweeps.sweep_store import SweepStore

__all__ = ["open_store", "sweep"]
#: arguments of `sweep` itself, which may be meant when it is given one that simulate has not
OWN = (
    "axes",
    "start",
    "n_tokens",
    "record",
    "replicates",
    "store",
    "workers",
    "cluster",
    "timeout",
    "hours",
    "progress",
)


def sweep(
    model: Model | Callable[..., Model] | Plan | str | Path,
    axes: Mapping[str, Any] | None = None,
    *,
    start: Any = None,
    n_tokens: int | None = None,
    t_end: float | None = None,
    record: Any = ("clusters",),
    replicates: int = 1,
    seed: int = 0,
    paired: bool = False,
    store: str | Path | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    timeout: float | None = None,
    hours: float | None = None,
    retry: bool = False,
    runs_a_shard: int | None = None,
    progress: bool | Callable[[float], None] | None = None,
    **simulate: Any,
) -> xr.Dataset:
    """Run a model over a grid of settings and seeds: an xarray.Dataset with the axes and `replicate` as dimensions.

        table = flock.sweep(flock.Model(dim=3), {"beta": [1, 4, 16]}, n_tokens=32, t_end=50, replicates=100)
        table["clusters"].mean("replicate")

    **What to run**

    - `model`: a `flock.Model`; a function that makes one, whose parameters can then be axes; a
      `tokenflock.sweeps.plan.Plan`, or the name of a sweep.toml, which then say all of this paragraph.
    - `axes`: {setting: values}. A setting is a field of the model ("beta", "value.angle"), a keyword of the start
      ("n_tokens", "kind") or of `flock.simulate` ("t_end"), or a parameter of your own function. Values: a list;
      {"linear": [0, 9], "points": 10}; {"log": [1, 256], "points": 9}; draws, {"family": "ginibre", "draws": 20}; by
      label, {"real": V, "turning": R}. Any other name makes an axis of cases, {"small": {"dim": 2}, "large": {...}}.
    - `start`: as in a run.toml, "uniform", {"kind": "cap", "angle": 0.3}; an array (n, dim), or (replicates, n, dim);
      or a function with a parameter seed. `t_end`, `times`, `scheme`, ... are keywords of `flock.simulate`.
    - `record`: what to keep of each run, by name: ["clusters", "merge_times:radius=0.1"]; with options and names of
      your own, {"fine": {"reducer": "clusters", "radius": 0.01}}; or functions of a run, {"mine": f}: f(run) is a
      number or an array of one shape, and run has final (n, dim), x (time, n, dim), times, model, start, outcome,
      point ({axis: label}). What looks at times sees `times`, 101 if not given. `sweeps.reducers.REDUCERS` has names.
    - `replicates`: runs at every point, with seeds of their own. Run k has the seed counter(seed, 0, k), which is kept:
      flock.uniform(n, dim, seed=int(table.seed[...])) is its start. `paired`: the same seeds at every point.

    **How to run it** (the bits of the result do not depend on it)

    - `store`: a folder to keep it in, or None. The same call goes on where it stopped, after Ctrl-C or a full disk.
    - `workers`: processes on this machine; 0: in this one. None: one a core, or none if it takes a few seconds.
      `cluster`: "local", "slurm", or the address of a Dask scheduler (extra `sweep` or `slurm`).
    - `timeout`: seconds a run may take. A run that takes longer, raises, or kills its worker is recorded as failed:
      `outcome` says how (as its flag_meanings name it), `reason` in words; the rest goes on. `retry`: try those again.
    - `hours`: stop cleanly after so long; what is not done has outcome -1. `progress`: True, False, or a function.
    """
    from tokenflock.sweeps.execution import ExecutionOptions, run_sweep

    simulate = ({} if t_end is None else {"t_end": t_end}) | simulate
    more = {"record": record, "replicates": replicates, "seed": seed, "paired": paired}
    plan, told = _planned(model, axes, _start(start, n_tokens), simulate, more)
    given = {"timeout": timeout, "hours": hours, "runs_a_shard": runs_a_shard}
    options = ExecutionOptions.of(told, given, workers=workers, cluster=cluster, retry=retry)
    return run_sweep(plan, _checked_store(store, retry, progress), options, progress)


def _checked_store(store: Any, retry: Any, progress: Any) -> Path | None:
    """The folder of the store; with it what a plan does not look at is checked."""
    flag("retry", retry)
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise bad("progress", progress, "True, False, or a function of the fraction done")
    return None if store is None else a_path("store", store)


def _planned(
    model: Any, axes: Mapping[str, Any] | None, start: Any, simulate: dict[str, Any], more: dict[str, Any]
) -> tuple[Plan, dict[str, Any]]:
    """The plan, and the options of its execution that its file has."""
    from tokenflock import spec
    from tokenflock.sweeps import toml
    from tokenflock.sweeps.plan import Plan

    spec.known("argument of flock.sweep", simulate, dict.fromkeys((*OWN, *spec.SIMULATE)))
    if not isinstance(model, str | Path | Plan):
        return Plan(model, {} if axes is None else axes, start=start, simulate=simulate, **more), {}
    if axes is not None or start is not None or simulate:
        raise bad("axes, start, t_end", "values", "nothing beside a plan", "The plan says what to run.")
    return (model, {}) if isinstance(model, Plan) else toml.read(a_path("model", model))


def _start(start: Any, n_tokens: int | None) -> Any:
    """n_tokens belongs to the start."""
    if n_tokens is None:
        return start
    whole("n_tokens", n_tokens, 1)
    if start is None or isinstance(start, str):
        return {"kind": start or "uniform", "n_tokens": n_tokens}
    if isinstance(start, Mapping):
        return {**start, "n_tokens": n_tokens}
    raise bad(
        "n_tokens", n_tokens, "nothing beside an array or a function", "The start says how many tokens there are."
    )


def open_store(path: str | Path) -> SweepStore:
    """A store on disk: .load() is its Dataset, .pending() the shards to do, .verify() what is damaged."""
    from tokenflock.sweeps.sweep_store import SweepStore

    return SweepStore(a_path("path", path))
