"""The one verb: simulate."""

from __future__ import annotations

import json
import math
import os
import platform
import time as clock
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import ending
from tokenflock.engine.choose import choose
from tokenflock.engine.contract import Outcome, Task, no_implicit, sees_no_later
from tokenflock.errors import EngineError, SpecError, bad, clash, unknown
from tokenflock.geometry import Array, retract
from tokenflock.model import Model
from tokenflock.runner import Record, Runner
from tokenflock.schemes import NAMES, Rosenbrock, scheme_named
from tokenflock.trajectory import AXIS, RUN, SCHEMA, TIME, TOKEN, attach, boolean_from, describe, model_of

if TYPE_CHECKING:
    import xarray as xr

DTYPES = ("float64", "float32")
OFF_SPHERE = 1e-6  # tokens this far off are put back with a warning; farther is an error
SILENT = 1e-12  # below this it is rounding
FRAMES = 101  # kept times when none are given
LONG = 300.0  # from this t_end on, scheme="auto" looks whether implicit steps are cheaper
FIXED_STEP = 0.01  # of noisy and hardmax runs when no dt is given

Reducer = Callable[[Array], Any]


def simulate(
    model: Model,
    start: Any,
    t_end: float,
    *,
    times: Any = None,
    scheme: str = "auto",
    rtol: float = 1e-6,
    atol: float = 1e-9,
    dt: float | None = None,
    engine: str = "auto",
    dtype: str = "float64",
    reduce: Mapping[str, Reducer] | None = None,
    positions: bool = True,
    seed: int = 0,
    progress: bool | Callable[[float], None] | None = None,
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
    if not isinstance(model, Model):
        raise bad("model", model, "a flock.Model", "For example flock.Model(dim=2, beta=64.0).")
    x = check_start(model, start)
    endless = isinstance(t_end, float | np.floating) and t_end == math.inf
    if endless:
        ending.check(times, scheme, dt, no_implicit(model, dtype))
        t_end, scheme = ending.LAST, "rosenbrock"
    wanted, task = task_of(model, t_end, None if endless else times, scheme, rtol, atol, dt, dtype, seed)
    if not isinstance(positions, bool | np.bool_):
        raise bad("positions", positions, "True or False")
    reducers = dict(reduce or {})
    _check_reducers(reducers, positions)
    chosen = choose(engine, model, dtype, x.shape[-2], task)
    if isinstance(task.scheme, Rosenbrock) and chosen.name != "cpu":
        raise EngineError(f"engine={engine!r} has explicit schemes only. Use engine='cpu' for scheme='rosenbrock'.")
    runs = x if x.ndim == 3 else x[None]
    frames_held = len(ending.DECADES) if endless else len(wanted)
    _check_memory(len(runs), frames_held, runs.shape[1], task, positions or endless)
    began = clock.perf_counter()
    run = lambda task, kept, progress: Runner(chosen, task, kept, reducers, positions, progress).run(runs)  # noqa: E731
    if endless:
        spread = lambda end: _times(times(end) if callable(times) else None, end, None, long=True)  # noqa: E731
        wanted, task, records, frames = ending.to_rest(chosen, task, runs, run, spread, progress)
    else:
        records, frames = run(task, wanted, progress)
    wall = clock.perf_counter() - began
    data = _dataset(task, wanted, records, frames, x, wall, chosen.name)
    data.attrs.update(_told_by(chosen))
    if throw:
        _raise_if_failed(records, task)
    return data


def _told_by(engine: Any) -> dict[str, Any]:
    """What an engine says of its runs: where they ran, and how large its errors are where they are absolute."""
    errors = {"velocity_error": engine.velocity_error} if hasattr(engine, "velocity_error") else {}
    return errors | getattr(engine, "details", {})


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


def _raise_if_failed(records: list[Record], task: Task) -> None:
    failed = [r.outcome for r in records if r.outcome.failed and r.outcome is not Outcome.INTERRUPTED]
    if failed:
        reached = min(r.t for r in records if r.outcome is failed[0])
        where = f"(Reached t = {reached:.6g} of {task.t_end:g}; throw=False returns what there is.)"
        raise EngineError(f"{failed[0].value} {where}")


def check_start(model: Model, start: Any) -> Array:
    """Tokens (n, dim) or (runs, n, dim), finite, and on the sphere where the model lives there."""
    try:
        x = np.array(start if not np.iscomplexobj(start) else "complex numbers", dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise bad("start", type(start).__name__, "an array of numbers (n, dim) or (runs, n, dim)") from error
    if x.ndim not in (2, 3) or x.shape[-1] != model.dim:
        allowed = f"(n, {model.dim}) or (runs, n, {model.dim})"
        raise bad("start.shape", x.shape, allowed, "The last axis must be the model's dim.")
    if x.size == 0:
        what = "an empty ensemble" if x.ndim == 3 and len(x) == 0 else "no tokens"
        raise bad("start.shape", x.shape, "at least one run and one token", f"This is {what}.")
    if not np.isfinite(x).all():
        raise bad(
            "start", "an array with nan or inf", "finite numbers", "Look for a division by zero where it is made."
        )
    if model.space != "sphere":
        return x
    off = float(np.abs(np.linalg.norm(x, axis=-1) - 1).max())
    if off > OFF_SPHERE:
        advice = "Divide every token by its length (flock.geometry.retract), or use space='euclidean'."
        raise bad("start", f"tokens up to {off:.1e} off the sphere", f"unit vectors to {OFF_SPHERE:g}", advice)
    if off > SILENT:
        warnings.warn(
            f"start is up to {off:.1e} off the sphere: its tokens were divided by their length.", stacklevel=3
        )
    return retract(x) if off > SILENT else x  # dividing again would change the last bit: `again` must not


def _positive(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise bad(name, value, "a positive number") from error
    if not (math.isfinite(number) and number > 0):
        raise bad(name, value, "a finite number > 0")
    return number


def task_of(
    model: Model, t_end: Any, times: Any, name: str, rtol: Any, atol: Any, dt: Any, dtype: str, seed: Any
) -> tuple[Array, Task]:
    """Everything that can be checked before any work."""
    t_end, rtol, atol = _positive("t_end", t_end), _positive("rtol", rtol), _positive("atol", atol)
    if dtype not in DTYPES:
        raise unknown("dtype", dtype, DTYPES)
    if name not in NAMES:
        raise unknown("scheme", name, NAMES)
    if rtol < 8 * np.finfo(dtype).eps:
        raise bad("rtol", rtol, f">= {8 * np.finfo(dtype).eps:.1e} in {dtype}", "Rounding is as large: raise rtol.")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise bad("seed", seed, "an integer")
    why = no_implicit(model, dtype)
    auto = name == "auto" and why is None and sees_no_later(model)
    if name == "rosenbrock" and why is not None:
        raise SpecError(f"scheme='rosenbrock' cannot be used with {why}. Take scheme='auto' or an explicit one.")
    if name == "auto":
        name = "heun" if model.noise else "euler" if math.isinf(model.beta) else "tsit5"
        dt = FIXED_STEP if dt is None and name != "tsit5" else dt
    scheme = None if name == "layers" else scheme_named(name)
    adaptive = scheme is not None and scheme.adaptive
    if adaptive and dt is not None:
        raise clash(f"scheme={name!r}", "dt", "An adaptive scheme chooses its steps: leave dt out, or take 'rk4'.")
    if not adaptive and dt is None:
        raise bad("dt", None, f"a step size > 0 for scheme={name!r}", "Give dt, for example dt=0.1.")
    if model.noise and name not in ("euler", "heun"):
        raise clash("noise", f"scheme={name!r}", "Noise needs scheme='euler' or 'heun' with dt.")
    step = None if dt is None else _positive("dt", dt)
    if scheme is None and model.space == "rescaled":
        _check_invertible(model, step or 0.0)
    wanted = _times(times, t_end, step if scheme is None else None, isinstance(scheme, Rosenbrock))
    end = float(wanted[-1]) or t_end
    return wanted, Task(model, end, scheme, step, rtol, atol, dtype, int(seed), auto and end > LONG)


def _check_invertible(model: Model, dt: float) -> None:
    """(E13) divides by R = I + dt V."""
    step = np.eye(model.dim) + dt * model.values.sum(axis=0)
    if np.linalg.cond(step) > 1e12:
        raise bad("dt", dt, "a step for which I + dt V is invertible", "Change dt a little, or use space='euclidean'.")


def _times(times: Any, t_end: float, layer: float | None, long: bool = False) -> Array:
    if times is None:
        if long and t_end > 1:  # what happens is spread over the decades
            return np.concatenate([[0.0], np.geomspace(min(1e-2, t_end / 10), t_end, FRAMES - 1)])
        if layer is None:
            return np.linspace(0.0, t_end, FRAMES)
        return layer * np.arange(math.floor(t_end / layer * (1 + 1e-12)) + 1)
    try:
        wanted = np.array(times, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise bad("times", times, "one axis of finite times") from error
    if wanted.ndim != 1 or wanted.size == 0 or not np.isfinite(wanted).all():
        raise bad("times", f"an array of shape {wanted.shape}", "one axis of finite times")
    if (np.diff(wanted) <= 0).any():
        k = int(np.argmax(np.diff(wanted) <= 0))
        given = f"{wanted[k]:g} then {wanted[k + 1]:g} at position {k}"
        raise bad("times", given, "strictly increasing times", "Sort them and drop repeats: numpy.unique(times).")
    if wanted[0] < 0 or wanted[-1] > t_end:
        raise bad("times", f"{wanted[0]:g} .. {wanted[-1]:g}", f"times in [0, {t_end:g}]", "Raise t_end, or drop them.")
    if layer is not None:
        index = np.round(wanted / layer)
        if np.abs(wanted - index * layer).max() > 1e-9 * t_end:
            raise bad(
                "times", times, f"multiples of dt = {layer:g} for scheme='layers'", "Layers have no time between."
            )
        return index * layer
    return wanted


def _check_reducers(reducers: dict[str, Reducer], positions: bool) -> None:
    taken = {"x", "radius", "start", "time", "run", "token", "axis", "steps", "rejected", "evaluations", "outcome"}
    taken.add("boolean_from")
    for name, function in reducers.items():
        if not name.isidentifier() or name in taken or name.startswith("model_"):
            raise bad("reduce", name, "names that are identifiers and not those of a trajectory")
        if not callable(function):
            raise bad(f"reduce[{name!r}]", function, "a function of the tokens x (n, dim)")
    if not positions and not reducers:
        raise clash("positions=False", "no reduce", "Nothing would be kept: give reduce={'name': function}.")


def _check_memory(runs: int, frames: int, n: int, task: Task, positions: bool) -> None:
    if not positions:
        return
    needed = runs * frames * n * (task.model.dim + task.model.has_radius) * np.dtype(task.dtype).itemsize
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > 0.8 * machine:
        given = f"{frames} frames of {runs} runs: {needed / 2**30:.1f} GiB"
        advice = "Keep fewer times, or use reduce={...} with positions=False."
        raise bad("times", given, f"what fits in the {machine / 2**30:.1f} GiB of this machine", advice)


@lru_cache
def versions() -> dict[str, str]:
    """What was used, for the record."""
    names = ("tokenflock", "numpy", "numba", "scipy", "xarray")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _dataset(
    task: Task, times: Array, records: list[Record], frames: Array | None, start: Array, wall: float, engine: str
) -> xr.Dataset:
    import xarray as xr

    attach()
    single = start.ndim == 2
    lead: tuple[str, ...] = () if single else (RUN,)
    kept = records[0].filled if single else len(times)

    model, d = task.model, task.model.dim
    changed = any(r.switched == r.switched for r in records)
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
    attrs: dict[str, Any] = {
        "schema": SCHEMA,
        "model": text,
        "outcome": _summary(records),
        # "auto" where the scheme changed on the way, so that `again` does the same
        "scheme": "layers" if task.scheme is None else "auto" if changed else task.scheme.name,
        "switched": min((r.switched for r in records if r.switched == r.switched), default=math.nan),
        "engine": engine,
        "dtype": task.dtype,
        "seed": task.seed if abs(task.seed) < 2**63 else str(task.seed),  # files hold 64 bits
        "rtol": task.rtol,
        "atol": task.atol,
        "dt": math.nan if task.dt is None else task.dt,
        "t_end": task.t_end,
        "times": json.dumps(times.tolist()),
        "reduce": json.dumps(sorted(records[0].reduced)),
        "wall_s": wall,
        "versions": json.dumps(versions()),
    }
    for name in ("steps", "rejected", "evaluations"):
        counts = np.array([getattr(r, name) for r in records])
        attrs[name] = int(counts.sum())
        if not single:
            data[name] = (RUN, counts)
    if model.space == "rescaled":
        _add_boolean_from(task, times, frames, data, attrs, single)
    if not single:
        names = list(Outcome)
        data["outcome"] = (RUN, np.array([names.index(r.outcome) for r in records], dtype=np.int8))
        meanings = {"flag_values": list(range(len(names))), "flag_meanings": " ".join(n.name.lower() for n in names)}
        data["outcome"] = (*data["outcome"], meanings)

    def plain(axes: Any, array: Array, notes: dict[str, Any] | None = None) -> xr.Variable:
        # xarray would ask Dask about the array first, where it is installed, and import all of it for that.
        return xr.Variable(axes, array, notes, fastpath=True)

    made = {name: plain(*parts) for name, parts in (data | variables).items()}
    return xr.Dataset(made, coords={TIME: plain(TIME, times[:kept])}, attrs=attrs)


def _add_boolean_from(
    task: Task, times: Array, frames: Array | None, data: dict[str, Any], attrs: dict[str, Any], single: bool
) -> None:
    """From when on attention is Boolean: an attribute of one run, a variable of an ensemble."""
    if frames is None:
        found = np.full(len(data["start"][1]) if not single else 1, math.nan)
    else:
        found = np.array([boolean_from(task.model, times, f, task.dt if task.layers else None) for f in frames])
    if single:
        attrs["boolean_from"] = float(found[0])
    else:
        data["boolean_from"] = (RUN, found)


def _summary(records: list[Record]) -> str:
    """One sentence for all runs."""
    outcomes = [r.outcome for r in records]
    if len(set(outcomes)) == 1:
        return outcomes[0].value
    return " ".join(f"{outcomes.count(o)} of {len(outcomes)} runs: {o.value}" for o in Outcome if o in outcomes)
