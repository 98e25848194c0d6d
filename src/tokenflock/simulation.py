"""The one verb, simulate: a request, its run, and the Dataset that tells of it. `again` repeats it."""

from __future__ import annotations

import inspect
import json
import math
import platform
import time as clock
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.accessor import register
from tokenflock.engine.contract import Outcome
from tokenflock.errors import EngineError, SpecError, bad, clash
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.request import ATOL, AUTO, DTYPE, RTOL, SEED, Job, Request
from tokenflock.runner import Finished, Record, Reducer, Telling
from tokenflock.trajectory import AXIS, RUN, SCHEMA, TIME, TOKEN, boolean_from, describe, model_of

if TYPE_CHECKING:
    import xarray as xr

TAKEN = {"x", "radius", "start", "time", "run", "token", "axis", "steps", "rejected", "evaluations", "outcome"}
TAKEN |= {"boolean_from"}  # names that a trajectory has: no reducer may have them


def simulate(
    model: Model,
    start: Any,
    t_end: float,
    *,
    times: Any = None,
    scheme: str = AUTO,
    rtol: float = RTOL,
    atol: float = ATOL,
    dt: float | None = None,
    engine: str = AUTO,
    dtype: str = DTYPE,
    reduce: Mapping[str, Reducer] | None = None,
    positions: bool = True,
    seed: int = SEED,
    progress: Telling = None,
    throw: bool = True,
) -> xr.Dataset:
    """Follow tokens from `start` to `t_end`: an xarray.Dataset x(time, token, axis), or x(run, time, token, axis).

    **Main arguments**

    - `model`: a `flock.Model`.
    - `start`: tokens (n, dim), or an ensemble (runs, n, dim) in which every run has its own step size.
    - `t_end`: the end of time. A run may end earlier, and says so in `run.attrs["outcome"]`. `numpy.inf`: until all
      tokens have met, or nothing moves any more; then it is found, and `times` may be a function of it.
    - `times`: what to keep, any increasing array in [0, t_end]; 101 equal steps if left out. The error at every kept
      time is held to the tolerance (but a ReLU feed-forward has kinks, and near them it can be 80 times that), and
      nothing after the last one is computed.
    """
    job = Request(model, t_end, times, scheme, rtol, atol, dt, engine, dtype, seed).starting(start)
    reducers = dict(reduce or {})
    _check_kept(reducers, positions)
    began = clock.perf_counter()
    found = job.run(reducers, positions, progress)
    data = _dataset(job, found, clock.perf_counter() - began)
    if throw:
        _raise_if_failed(found)
    return data


# The other half of help(simulate) stands here, so that the function stays short.
OTHER_ARGUMENTS = """
**Other arguments**

- `scheme`: "auto", "tsit5" (adaptive), "euler", "heun", "rk4" (fixed step `dt`), or "layers", the discrete-time
  transformer with one block a step of `dt`; "rosenbrock" takes implicit steps on the sphere, which grow while
  nothing happens: t_end = 1e30 is no longer than 1e3 (its default times are spread over the decades). auto: tsit5,
  and from t = 100 on rosenbrock where that takes far fewer steps (`run.attrs["switched"]` says so); heun with
  noise and euler at beta = inf, with dt = 0.01.
- `rtol`, `atol`: the local error allowed for every token, atol + rtol |x_i|.
- `reduce`: {"name": fn} keeps fn(x) of every kept frame x (n, dim) beside the positions, or instead of them with
  `positions=False`.
- `engine`: "auto", "cpu", "reference", or "harmonic": time linear in n on the circle and on S^2, with absolute
  errors (`run.attrs["velocity_error"]`). auto takes it where it is faster and its errors are far below the
  tolerances: for V = c I, Q'K = c' I from some 70 tokens on if t_end <= 300, from 2,000 on if t_end <= 1e4.
  "gpu": an ensemble as one batch on a CUDA device, or with torch on the CPU (`run.attrs["device"]`).
- `dtype`: "float64" or "float32".
- `seed`: of the noise. The same seed gives the same bits on any number of threads (TOKENFLOCK_THREADS).
- `progress`: True, False, or a function of the fraction done; on a terminal a bar appears after 2 seconds.
- `throw`: raise if a run fails, or return what was computed.
"""
simulate.__doc__ = f"{inspect.cleandoc(simulate.__doc__ or '')}\n{OTHER_ARGUMENTS}"


def again(run: xr.Dataset, **changes: Any) -> xr.Dataset:
    """Repeat a trajectory from its own attributes, bit for bit; keywords of `simulate` change what is asked."""
    if "extended" in run.attrs:
        raise SpecError(
            f"this run was extended from {run.attrs['extended']} tokens: its tokens were computed in two parts, and "
            "`again` cannot repeat that. Run them all at once: flock.simulate(model, run['start'].values, t_end)."
        )
    reducers = json.loads(run.attrs["reduce"])
    if reducers and "reduce" not in changes:
        raise SpecError(f"this run kept {', '.join(reducers)}: functions are not stored, pass reduce={{...}} again.")
    dt = run.attrs["dt"]
    options: dict[str, Any] = {
        "times": json.loads(run.attrs["times"]),
        "scheme": run.attrs["scheme"],
        "rtol": float(run.attrs["rtol"]),
        "atol": float(run.attrs["atol"]),
        "dt": None if math.isnan(dt) else float(dt),
        "engine": run.attrs["engine"],
        "dtype": run.attrs["dtype"],
        "seed": int(run.attrs["seed"]),
        "positions": "x" in run,
        "throw": False,
    }
    return simulate(model_of(run), run["start"].values, float(run.attrs["t_end"]), **(options | changes))


def _check_kept(reducers: Mapping[str, Reducer], positions: bool) -> None:
    if not isinstance(positions, bool | np.bool_):
        raise bad("positions", positions, "True or False")
    for name, function in reducers.items():
        if not name.isidentifier() or name in TAKEN or name.startswith("model_"):
            raise bad("reduce", name, "names that are identifiers and not those of a trajectory")
        if not callable(function):
            raise bad(f"reduce[{name!r}]", function, "a function of the tokens x (n, dim)")
    if not positions and not reducers:
        raise clash("positions=False", "no reduce", "Nothing would be kept: give reduce={'name': function}.")


def _raise_if_failed(found: Finished) -> None:
    failed = [r.outcome for r in found.records if r.outcome.failed and r.outcome is not Outcome.INTERRUPTED]
    if failed:
        reached = min(r.t for r in found.records if r.outcome is failed[0])
        where = f"(Reached t = {reached:.6g} of {found.task.t_end:g}; throw=False returns what there is.)"
        raise EngineError(f"{failed[0].value} {where}")


@lru_cache
def versions() -> dict[str, str]:
    """What was used, for the record."""
    names = ("tokenflock", "numpy", "numba", "scipy", "xarray")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _dataset(job: Job, found: Finished, wall: float) -> xr.Dataset:
    """The trajectory of one run, or of an ensemble."""
    import xarray as xr

    register()
    start, records, frames = job.start, found.records, found.frames
    single = start.ndim == 2
    lead: tuple[str, ...] = () if single else (RUN,)
    kept = records[0].filled if single else len(found.times)
    model, d = found.task.model, found.task.model.dim
    text, variables = describe(model)
    data: dict[str, Any] = {"start": ((*lead, TOKEN, AXIS), start)}
    if frames is not None:
        whole = frames[0, :kept] if single else frames
        data["x"] = ((*lead, TIME, TOKEN, AXIS), whole[..., :d])
        if model.has_radius:
            data["radius"] = ((*lead, TIME, TOKEN), whole[..., d])
    for name in records[0].reduced:
        values = records[0].reduced[name][:kept] if single else np.stack([r.reduced[name] for r in records])
        extra = tuple(f"{name}_{k}" for k in range(values.ndim - len(lead) - 1))
        data[name] = ((*lead, TIME, *extra), values)
    attrs = {"schema": SCHEMA, "model": text, **_attributes(job, found), "wall_s": wall}
    attrs["versions"] = json.dumps(versions())
    for name in ("steps", "rejected", "evaluations"):
        counts = np.array([getattr(r, name) for r in records])
        attrs[name] = int(counts.sum())
        if not single:
            data[name] = (RUN, counts)
    if model.space == "rescaled":
        boolean = _boolean_from(found)
        if single:
            attrs["boolean_from"] = float(boolean[0])
        else:
            data["boolean_from"] = (RUN, boolean)
    if not single:
        data["outcome"] = _outcomes(records)
    # xarray would ask Dask about the arrays first, where it is installed, and import all of it for that.
    made = {
        name: xr.Variable(axes, array, notes[0] if notes else None, fastpath=True)
        for name, (axes, array, *notes) in (data | variables).items()
    }
    times = xr.Variable(TIME, found.times[:kept], fastpath=True)
    return xr.Dataset(made, coords={TIME: times}, attrs=attrs | job.engine.told())


def _attributes(job: Job, found: Finished) -> dict[str, Any]:
    """All that `again` needs beside the model and the start, and how the runs ended."""
    task, records = found.task, found.records
    switched = [r.switched for r in records if not math.isnan(r.switched)]
    return {
        "outcome": _summary(records),
        # "auto" where the scheme changed on the way, so that `again` does the same
        "scheme": AUTO if switched else task.scheme_name,
        "switched": min(switched, default=math.nan),
        "engine": job.engine.name,
        "dtype": task.dtype,
        "seed": task.seed if abs(task.seed) < 2**63 else str(task.seed),  # files hold 64 bits
        "rtol": task.rtol,
        "atol": task.atol,
        "dt": math.nan if task.dt is None else task.dt,
        "t_end": task.t_end,
        "times": json.dumps(found.times.tolist()),
        "reduce": json.dumps(sorted(records[0].reduced)),
    }


def _boolean_from(found: Finished) -> Array:
    """From when on attention is Boolean in every run, (runs,)."""
    if found.frames is None:
        return np.full(len(found.records), math.nan)
    dt = found.task.dt if found.task.layers else None
    return np.array([boolean_from(found.task.model, found.times, frames, dt) for frames in found.frames])


def _outcomes(records: list[Record]) -> tuple[str, Any, dict[str, Any]]:
    """How every run of an ensemble ended, as numbers with their meanings."""
    names = list(Outcome)
    codes = np.array([names.index(r.outcome) for r in records], dtype=np.int8)
    meanings = " ".join(name.name.lower() for name in names)
    return RUN, codes, {"flag_values": list(range(len(names))), "flag_meanings": meanings}


def _summary(records: list[Record]) -> str:
    """One sentence for all runs."""
    outcomes = [r.outcome for r in records]
    if len(set(outcomes)) == 1:
        return outcomes[0].value
    return " ".join(f"{outcomes.count(o)} of {len(outcomes)} runs: {o.value}" for o in Outcome if o in outcomes)
