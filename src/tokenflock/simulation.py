"""The one verb, simulate: a request, its run, and the Dataset that tells of it. `again` repeats it."""

from __future__ import annotations

import inspect
import json
import math
import platform
import time as clock
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenflock.accessor import register
from tokenflock.arguments import flag, warn
from tokenflock.drift import Drift
from tokenflock.engine.contract import Merger, Outcome, Task
from tokenflock.errors import EngineError, SpecError, bad, clash
from tokenflock.faults import fault_after
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.preparation import prepared
from tokenflock.request import ATOL, AUTO, DTYPE, RTOL, SEED, Job, Request
from tokenflock.runner import Finished, Record, Reducer, Telling
from tokenflock.trajectories import (
    AXIS,
    GROUP,
    MERGER,
    RUN,
    SCHEMA,
    TIME,
    TOKEN,
    boolean_from,
    describe,
    model_of,
    moved_by_model,
)

if TYPE_CHECKING:
    import xarray as xr

# Names that a trajectory has: no reducer may have them.
TAKEN = {"x", "radius", "start", "time", "run", "token", "axis", "steps", "rejected", "evaluations", "outcome"}
TAKEN |= {"event", "boolean_from", "left", "group", *(f"merger_{name}" for name in Merger._fields)}
MOST_LISTED = 5  # failed runs of an ensemble that a warning names
BLANKS = 8  # trajectories without numbers that are kept for a request
MERGER_TYPES = (np.float64, np.int64, np.int64, np.int64, np.int64)


def simulate(
    model: Model | Callable[..., Any],
    start: Any,
    t_end: float,
    *,
    space: str | None = None,
    until: Callable[..., float] | None = None,
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

    - `model`: a `flock.Model`; or a velocity f(x, t) of your own, of all tokens x (n, dim) at once, in
      `space` "sphere" (where it has to be tangent) or "euclidean".
    - `start`: tokens (n, dim), or an ensemble (runs, n, dim) in which every run has its own step size.
    - `t_end`: the end of time. A run may end earlier, and says so in `run.attrs["outcome"]`. `numpy.inf`: until all
      tokens have met, or nothing moves any more; then it is found, and `times` may be a function of it.
    - `times`: what to keep, any increasing array in [0, t_end]. Left out: 101 in equal steps, or for t_end >= 1e4 0
      and 100 in equal ratios from 0.01 (every layer with scheme="layers"). The error at every kept time is held to
      the tolerance (but a ReLU feed-forward has kinks, and near them it can be 80 times that), and nothing after the
      last one is computed.
    """
    known = model if isinstance(model, Model) and space is None else _model_for(model, start, space)
    job = Request(known, t_end, times, scheme, rtol, atol, dt, engine, dtype, seed).starting(start)
    reducers = _checked_reducers(reduce, positions)
    if not isinstance(progress, bool):
        check_progress(progress)
    flag("throw", throw)
    began, events = clock.perf_counter(), None
    if until is not None:
        from tokenflock.events import shortened

        job, events = shortened(job, until)
    found = job.run(reducers, positions, progress)
    if not known.usual:
        _blame(job, found)
    data = _dataset(job, found, clock.perf_counter() - began)
    if events is not None:
        data["event"] = ((RUN,), events) if job.start.ndim == 3 else ((), events[0])
    if throw:
        _tell_failures(found)
    return data


def _model_for(given: Model | Callable[..., Any], start: Any, space: str | None) -> Model:
    """The model that is given, or one whose velocity is."""
    if isinstance(given, Model) or not callable(given):
        if space is not None:
            raise clash(
                "space", "a model", "The model says where its tokens live; space is for a velocity of your own."
            )
        return given  # what is no model is refused by the request
    shape = np.shape(start)
    if len(shape) not in (2, 3):
        raise bad("start.shape", shape, "(n, dim) or (runs, n, dim)")
    return Model(dim=shape[-1], mask="full", space="sphere" if space is None else space, drift=Drift(given, whole=True))


# The other half of help(simulate) stands here, so that the function stays short.
OTHER_ARGUMENTS = """
**Other arguments**

- `scheme`: "auto", "tsit5" (adaptive), "euler", "heun", "rk4" (fixed step `dt`), or "layers", the discrete-time
  transformer with one block a step of `dt`; "rosenbrock" takes implicit steps on the sphere, which grow while
  nothing happens: t_end = 1e30 is no longer than 1e3 (and `times` are in equal ratios for t_end > 1); "skeleton"
  follows the leaders of a causal run alone from t = 100 on (V = c I, Q'K = c' I).
  auto: tsit5, and from t = 100 on rosenbrock where that takes far fewer steps (`run.attrs["switched"]` says so); heun
  with noise and euler at beta = inf, with dt = 0.01.
- `until`: a function g(x, t), a number: the run ends when it changes its sign, and `run["event"]` is the time; of an
  ensemble each run has its own, and the last ends it. With a fixed step it is the first kept time after the change.
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
- `throw`: raise if a run fails, or return what was computed. An ensemble of which only some runs fail is returned in
  either case, with a warning that names them.
"""
simulate.__doc__ = f"{inspect.cleandoc(simulate.__doc__ or '')}\n{OTHER_ARGUMENTS}"


def again(run: xr.Dataset, **changes: Any) -> xr.Dataset:
    """Repeat a trajectory from its own attributes, bit for bit; keywords of `simulate` change what is asked."""
    moved_by_model(run, "again")
    if "extended" in run.attrs:
        raise SpecError(
            f"this run was extended from {run.attrs['extended']} tokens: its tokens were computed in two parts, and "
            "`again` cannot repeat that. Run them all at once: flock.simulate(model, run['start'].values, t_end)."
        )
    reducers, times = (_listed(run, name) for name in ("reduce", "times"))
    if reducers and "reduce" not in changes:
        raise SpecError(f"this run kept {', '.join(reducers)}: functions are not stored. Pass reduce={{...}} again.")
    dt = run.attrs.get("dt", math.nan)
    options: dict[str, Any] = {
        "times": times,
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


def _listed(run: xr.Dataset, name: str) -> list[Any]:
    """A list that a trajectory keeps as JSON among its attributes."""
    try:
        found = json.loads(run.attrs[name])
    except (KeyError, ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        given = run.attrs.get(name)
        raise bad(f"run.attrs[{name!r}]", given, "the list that flock.simulate wrote", "Repeat it with flock.simulate.")
    return found


def check_progress(progress: Telling) -> None:
    """Whether this is a way to be told how far a run is."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise bad("progress", progress, "True, False, or a function of the fraction done")


def _checked_reducers(reduce: Mapping[str, Reducer] | None, positions: bool) -> dict[str, Reducer]:
    flag("positions", positions)
    example = "For example reduce={'last': lambda x: x[-1]}."
    if not isinstance(reduce, Mapping | None):
        raise bad("reduce", reduce, "{name: function}", example)
    reducers: dict[Any, Any] = {} if reduce is None else dict(reduce)
    for name, function in reducers.items():
        if not isinstance(name, str) or not name.isidentifier() or name in TAKEN or name.startswith("model_"):
            raise bad("reduce", name, "names that are identifiers and not those of a trajectory")
        if not callable(function):
            raise bad(f"reduce[{name!r}]", function, "a function of the tokens x (n, dim)")
    if not positions and not reducers:
        raise clash("positions=False", "no reduce", "Nothing would be kept: give reduce={'name': function}.")
    return reducers


def _blame(job: Job, found: Finished) -> None:
    """Note what a kernel of the user's did wrong in the first run that failed."""
    for r, record in enumerate(found.records):
        if record.outcome in (Outcome.NOT_FINITE, Outcome.SMALL) and not record.note:
            k = record.filled if record.frames is not None else 0
            start = job.start if job.start.ndim == 2 else job.start[r]
            x = start if not k or record.frames is None else record.frames[k - 1, :, : start.shape[1]]
            record.note = fault_after(
                found.task, np.array(x, dtype=np.float64), float(found.times[k - 1]) if k else 0.0
            )
            return


def _tell_failures(found: Finished) -> None:
    """Raise if every run failed; if some of an ensemble did, the others are an answer: say which failed, and why."""
    failed = {
        r: record
        for r, record in enumerate(found.records)
        if record.outcome.failed and record.outcome is not Outcome.INTERRUPTED
    }
    if not failed:
        return
    why, blame = next((r.outcome, r.note) for r in failed.values())
    told = " ".join(part for part in (blame, why.value) if part)
    if len(failed) == len(found.records):
        reached = min(record.t for record in failed.values() if record.outcome is why)
        where = f"(Reached t = {reached:.6g} of {found.task.t_end:g}; throw=False returns what there is.)"
        raise EngineError(f"{told} {where}")
    listed = [f"run {r} at t = {record.t:.4g}" for r, record in failed.items()]
    more = f" and {len(listed) - MOST_LISTED} more" if len(listed) > MOST_LISTED else ""
    which = f"{len(failed)} of {len(found.records)} runs failed, {', '.join(listed[:MOST_LISTED])}{more}"
    warn(f"{which}: their later frames are nan, see run.outcome. {told}")


@lru_cache
def versions() -> dict[str, str]:
    """What was used, for the record."""
    names = ("tokenflock", "numpy", "numba", "scipy", "xarray")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _dataset(job: Job, found: Finished, wall: float) -> xr.Dataset:
    """The trajectory of one run, or of an ensemble."""
    start, records, frames = job.start, found.records, found.frames
    alike = outline_of(found.task, found.times) if job.request.endless else outline(job.request)
    single = start.ndim == 2
    lead: tuple[str, ...] = () if single else (RUN,)
    kept = records[0].filled if single else len(found.times)
    model, d = found.task.model, found.task.model.dim
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
    attrs = alike.attributes | _ending(found) | {"engine": job.engine.name, "wall_s": wall}
    attrs["reduce"] = json.dumps(sorted(records[0].reduced))
    for name in ("steps", "rejected", "evaluations"):
        counts = [getattr(r, name) for r in records]
        attrs[name] = sum(counts)
        if not single:
            data[name] = (RUN, np.array(counts))
    if all(record.bodies is not None for record in records):
        _tell_bodies(data, attrs, records, single)
    if model.space == "rescaled":
        boolean = _boolean_from(found)
        if single:
            attrs["boolean_from"] = float(boolean[0])
        else:
            data["boolean_from"] = (RUN, boolean)
    if not single:
        data["outcome"] = _outcomes(records)
    data |= {name: (axes, array.copy()) for name, axes, array in alike.variables}
    if kept < len(found.times):
        alike = alike._replace(times=found.times[:kept], blanks={})
    made: xr.Dataset = alike.blank(data).copy(data={name: array for name, (_, array, *_) in data.items()})
    made.attrs = attrs | job.engine.told()
    if model.groups is not None:
        made = made.assign_coords({GROUP: (TOKEN, np.array(model.groups.names, dtype=object)[model.groups.labels])})
    return made


class Outline(NamedTuple):
    """What all trajectories of a request have alike."""

    attributes: dict[str, Any]  # all that `again` needs beside the start
    variables: tuple[tuple[str, tuple[str, ...], Array], ...]  # the arrays of the model
    times: Array
    blanks: dict[Any, xr.Dataset]

    def blank(self, data: Mapping[str, Any]) -> xr.Dataset:
        """A trajectory without numbers. xarray copies one, its axis of time too, in a fifth of the time to make it."""
        shapes = tuple([(name, array.shape, array.dtype) for name, (_, array, *_) in data.items()])
        made = self.blanks.get(shapes)
        if made is None:
            import xarray as xr

            register()
            # xarray would ask Dask about arrays first, where it is installed, and import all of it for that.
            variables = {}
            for name, (axes, array, *notes) in data.items():
                nothing = np.broadcast_to(np.zeros((), array.dtype), array.shape)
                variables[name] = xr.Variable(axes, nothing, notes[0] if notes else None, fastpath=True)
            times = self.times.copy()
            times.setflags(write=False)  # all copies share them
            made = xr.Dataset(variables, coords={TIME: xr.Variable(TIME, times, fastpath=True)})
            if len(self.blanks) < BLANKS:
                self.blanks[shapes] = made
        return made


@prepared
def outline(request: Request) -> Outline:
    """The outline of a request that has an end."""
    return outline_of(request.task, request.kept)


def outline_of(task: Task, times: Array) -> Outline:
    """The outline of runs of a task."""
    text, variables = describe(task.model)
    attributes = {
        "schema": SCHEMA,
        "model": text,
        "dtype": task.dtype,
        "seed": task.seed if abs(task.seed) < 2**63 else str(task.seed),  # files hold 64 bits
        "rtol": task.rtol,
        "atol": task.atol,
        "dt": math.nan if task.dt is None else task.dt,
        "t_end": task.t_end,
        "times": json.dumps(times.tolist()),
        "versions": json.dumps(versions()),
    }
    return Outline(attributes, tuple((name, *given) for name, given in variables.items()), times, {})


def _ending(found: Finished) -> dict[str, Any]:
    """How the runs ended."""
    switched = [r.switched for r in found.records if not math.isnan(r.switched)]
    return {
        "outcome": _summary(found.records),
        # "auto" where the scheme changed on the way, so that `again` does the same
        "scheme": AUTO if switched and found.task.auto else found.task.scheme_name,
        "switched": min(switched, default=math.nan),
    }


def _tell_bodies(data: dict[str, Any], attrs: dict[str, Any], records: list[Record], single: bool) -> None:
    """What runs by implicit steps tell of their bodies: how many are left, and in a single run each merger."""
    told = [r.bodies for r in records if r.bodies is not None]
    attrs["bodies"] = f"never formed: {told[0].never}" if told[0].never else "formed"
    attrs["opened"], attrs["slack"] = sum(b.opened for b in told), max(b.slack for b in told)
    if not single:
        data["left"] = (RUN, np.array([b.left for b in told]))
        return
    attrs["left"] = told[0].left
    for k, name in enumerate(Merger._fields):
        data[f"merger_{name}"] = (MERGER, np.array([merger[k] for merger in told[0].mergers], dtype=MERGER_TYPES[k]))


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
    outcomes, notes = [r.outcome for r in records], [r.note for r in records]
    if len(set(outcomes)) == 1:
        return " ".join([outcomes[0].value, *dict.fromkeys(note for note in notes if note)])
    return " ".join(f"{outcomes.count(o)} of {len(outcomes)} runs: {o.value}" for o in Outcome if o in outcomes)
