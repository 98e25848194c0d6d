"""The plan of a sweep: a base run, axes, replicates and what to record. Every run is a function of it and a number.

Run number k is point k of the grid (axis, axis, ..., replicate) in C order. Its seed is `counter(seed, 0, k)`, whatever
process computes it and when; with paired=True replicate r has the same seed at every point of the grid.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tokenflock import spec
from tokenflock.arguments import whole
from tokenflock.engine.contract import Outcome
from tokenflock.errors import SpecError, bad, clash
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.request import Request, check_start
from tokenflock.sweeps.axes import MOST_RUNS, Settings, changed, counter, read_axis
from tokenflock.sweeps.reducers import NAMES, Reducer, Run, read_record

FEW = 64  # tokens are enough to try a reducer on
PROBED = 200  # values of an axis that are tried before anything starts
RECORD = ("clusters",)
Place = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Setting:
    """One point of the grid, ready to run: everything but the seed."""

    request: Request
    start: Callable[[int, int], Array]  # of a seed and a replicate
    point: dict[str, Any]

    @property
    def model(self) -> Model:
        """The model of the run."""
        return self.request.model


class Plan:
    """A sweep before it runs."""

    def __init__(
        self,
        model: Model | Mapping[str, Any] | Callable[..., Model],
        axes: Mapping[str, Any],
        *,
        start: Any = None,
        simulate: Mapping[str, Any],
        record: Any = RECORD,
        replicates: int = 1,
        seed: int = 0,
        paired: bool = False,
    ) -> None:
        """Everything is checked here that can be before a run; see `tokenflock.sweeps.sweep`."""
        self.replicates, self.seed = whole("replicates", replicates, 1), whole("seed", seed, 0)
        if not isinstance(paired, bool):
            raise bad("paired", paired, "True or False")
        self.paired = paired
        self.make = model if callable(model) and not isinstance(model, Mapping | Model) else None
        self.base: dict[str, dict[str, Any]] = {"model": _fields(model), "simulate": _plain(simulate)}
        self.starter, self.base["start"] = _start(start)
        for key in ("seed", "runs"):
            if key in self.base["start"] or key in self.base["simulate"]:
                raise SpecError(f"{key} is set by counter in a sweep: leave it out, and give its seed and replicates.")
        settings = Settings(self.make, self.starter)
        if not isinstance(axes, Mapping):
            raise bad("axes", axes, "a table {name: values}", "For example {'beta': [1.0, 4.0, 16.0]}.")
        self.axes = [read_axis(str(name), given, settings, self.seed) for name, given in axes.items()]
        self.record = read_record(record)
        self._check_names()
        if self.n_runs > MOST_RUNS:
            sizes = " x ".join(str(size) for size in self.shape)
            advice = "Take fewer points, or split it into sweeps with stores of their own."
            raise bad("axes", f"{sizes} = {self.n_runs:.3g} runs", f"at most {MOST_RUNS:,} runs", advice)
        if not self.axes and self.replicates == 1:
            raise SpecError("a sweep of one run has nothing to sweep: give axes or replicates, or use flock.simulate.")
        self.sizes, self.times = self._probe()

    def _check_names(self) -> None:
        names = [axis.name for axis in self.axes]
        for k, name in enumerate(names):
            if name in names[:k]:
                raise clash(f"axis {name}", f"axis {name}", "Two axes of one name: leave one out.")
            if name in self.record:
                raise clash(f"axis {name}", f"record {name}", "Name what is recorded: {other = {reducer = ...}}.")

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the axes, and `replicate`."""
        return (*(axis.name for axis in self.axes), "replicate")

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of the grid."""
        return (*(len(axis) for axis in self.axes), self.replicates)

    @property
    def n_runs(self) -> int:
        """How many runs there are."""
        return math.prod(self.shape)

    def place(self, run: int) -> Place:
        """Where a run stands in the grid."""
        return tuple(int(k) for k in np.unravel_index(run, self.shape))

    def seed_of(self, run: int) -> int:
        """The seed of a run: of its start and of its noise."""
        return counter(self.seed, 0, run % self.replicates if self.paired else run)

    def point(self, place: Place) -> dict[str, Any]:
        """What the axes are called at a point, {name: label}."""
        return {axis.name: axis.labels[k] for axis, k in zip(self.axes, place, strict=False)}

    def setting(self, place: Place) -> Setting:
        """The run of a point: what is asked of it, and its start."""
        changes = [item for axis, k in zip(self.axes, place, strict=False) for item in axis.changes[k].items()]
        raw = changed(self.base, changes)
        if self.make is not None:
            spec.check(raw | {"model": {}})
            model = spec.call("the model", self.make, raw["model"])
            if not isinstance(model, Model):
                raise bad("model", type(model).__name__, "a function that returns a flock.Model")
        else:
            spec.check(raw)
            model = spec.model_of(raw["model"])
        keywords = spec.keywords_of(raw["simulate"])
        start = _drawn(raw["start"], model, self.starter)
        if keywords.get("times") is None and not self.history and keywords["t_end"] != math.inf:
            keywords["times"] = [keywords["t_end"]]
        return Setting(Request(model, **keywords), start, self.point(place))

    @cached_property
    def history(self) -> bool:
        """Whether some reducer looks at all kept times."""
        return any(reducer.history for reducer in self.record.values())

    def _probe(self) -> tuple[dict[str, int], Array | None]:
        """Values of every axis once: what cannot be is refused now; the sizes of arrays; the times if common."""
        first = (0,) * len(self.axes)
        places = [first]
        for k, axis in enumerate(self.axes):
            tried = np.unique(np.linspace(0, len(axis) - 1, min(len(axis), PROBED)).astype(int))
            places += [(*first[:k], int(j), *first[k + 1 :]) for j in tried if j]
        sizes, times, seen = {"token": 1, "axis": 1, "end": 2}, None, []
        for place in places:
            setting = self.setting(place)
            x = check_start(setting.model, setting.start(self.seed_of(0), 0))
            sizes["token"], sizes["axis"] = max(sizes["token"], len(x)), max(sizes["axis"], x.shape[1])
            seen.append((setting, x))
        first_times = seen[0][0].request.kept
        common = all(_same(s.request.kept, first_times) and not s.request.endless for s, _ in seen)
        times = first_times if common else None
        sizes |= {"cluster": sizes["token"], "merge": max(1, sizes["token"] - 1)}
        seen[0][0].start(self.seed_of(0), self.replicates - 1)  # an array may hold fewer runs
        for name, reducer in list(self.record.items()):
            if "time" in reducer.dims and times is None:
                advice = "Give times as a list within the shortest t_end, or record something without a time axis."
                raise clash(f"record {name}", "kept times that differ from run to run", advice)
            if reducer.own:
                self.record[name] = _seen(reducer, *seen[0])
            else:
                for setting, x in seen:  # options are checked where they are used
                    some = x[:FEW] if setting.model.n_tokens is None else x
                    reducer.function(_still(setting, some, setting.request.kept[-1:]), **reducer.options)
        return sizes | ({} if times is None else {"time": len(times)}), times

    def shape_of(self, reducer: Reducer) -> tuple[int, ...]:
        """The shape of what a reducer keeps of one run."""
        return reducer.shape if reducer.shape is not None else tuple(self.sizes[dim] for dim in reducer.dims)

    def describe(self) -> dict[str, Any]:
        """The plan as plain JSON: two plans with equal descriptions make equal bits."""
        own = {"model": self.make, "start": self.starter}
        sections = {
            name: table | ({"function": own[name]} if own.get(name) else {}) for name, table in self.base.items()
        }
        axes = {axis.name: axis.describe() for axis in self.axes}
        record = {
            name: {"reducer": reducer.function if reducer.own else NAMES[reducer.function], **reducer.options}
            for name, reducer in self.record.items()
        }
        sweep = {"replicates": self.replicates, "seed": self.seed, "paired": self.paired}
        tables = {**sections, "axes": axes, "record": record, "sweep": sweep}
        return {name: jsonable(table) for name, table in tables.items()}


def _fields(model: Any) -> dict[str, Any]:
    if isinstance(model, Mapping):
        return dict(model)
    if isinstance(model, Model):
        values = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
        return {name: value for name, value in values.items() if value is not None}
    if not callable(model):
        raise bad("model", model, "a flock.Model, a table of its fields, or a function that makes one")
    return {}


def _plain(simulate: Mapping[str, Any]) -> dict[str, Any]:
    table = {key: value for key, value in simulate.items() if value is not None}
    if isinstance(table.get("times"), np.ndarray | tuple):
        table["times"] = np.asarray(table["times"]).tolist()
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in table.items()}


def _start(given: Any) -> tuple[Callable[..., Any] | None, dict[str, Any]]:
    """A function of the user's, and the table of the start."""
    if isinstance(given, Mapping):
        return None, dict(given)
    if isinstance(given, str):
        return None, {"kind": given}
    if callable(given):
        return given, {}
    return None, {} if given is None else {"array": np.asarray(given)}


def _drawn(table: dict[str, Any], model: Model, own: Callable[..., Any] | None) -> Callable[[int, int], Array]:
    """The start of a point, as a function of the seed and the replicate."""
    if own is not None:
        takes = inspect.signature(own).parameters
        given = table | ({"dim": model.dim} if "dim" in takes and "dim" not in table else {})
        seeded = "seed" in takes
        return lambda seed, replicate: spec.call("the start", own, given | ({"seed": seed} if seeded else {}))
    if "array" not in table:
        draw = spec.starter(table, model.dim)
        return lambda seed, replicate: draw(seed=seed)
    x = spec.start_of(table, model.dim)
    if x.ndim < 3:
        return lambda seed, replicate: x

    def one(seed: int, replicate: int) -> Array:
        if replicate >= len(x):
            raise bad("replicates", f"more than {len(x)}", f"1 to {len(x)}", "The start holds so many runs.")
        found: Array = x[replicate]
        return found

    return one


def _same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and bool((a == b).all())


def _still(setting: Setting, x: Array, times: Array) -> Run:
    """A run in which nothing moved, to try reducers on."""
    frames = np.broadcast_to(x, (len(times), *x.shape)).copy()
    return Run(setting.model, x, times, frames, Outcome.DONE, 0, 0, setting.request.task.dt, setting.point)


def _seen(reducer: Reducer, setting: Setting, x: Array) -> Reducer:
    """A user's own reducer with the shape and the dtype of what it gives."""
    try:
        found = np.asarray(reducer.function(_still(setting, x, setting.request.kept)))
    except SpecError:
        raise
    except Exception as error:
        what = f"a function that raised {type(error).__name__}: {error}"
        advice = "It is called with a Run: run.final (n, dim), run.x (time, n, dim), run.times, run.model, run.start."
        raise bad(f"record {reducer.name}", what, "a function of a run", advice) from error
    if found.dtype.kind not in "biuf":
        raise bad(f"record {reducer.name}", f"a function that gives {found.dtype}", "one that gives real numbers")
    dims = tuple(f"{reducer.name}_{k}" for k in range(found.ndim))
    dtype = "int64" if found.dtype.kind in "biu" else "float64"
    return dataclasses.replace(reducer, dims=dims, dtype=dtype, shape=found.shape)


def jsonable(value: Any) -> Any:
    """A value as JSON holds it: arrays by content, functions by their source."""
    if isinstance(value, Mapping):
        return {str(key): jsonable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        if value.size <= 64:
            return jsonable(value.tolist())
        return {"shape": list(value.shape), "sha256": hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {type(value).__name__: jsonable(fields)}
    if callable(value):
        return _function(value)
    raise bad("a setting", value, "numbers, texts, arrays, functions and parts of a model")


def _function(function: Callable[..., Any]) -> dict[str, str]:
    """A function by its name and its source: a change of either is a change of the plan."""
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__name__)}"
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        source = ""
    return {"function": name, "sha256": hashlib.sha256(source.encode()).hexdigest()}


def differences(old: Any, new: Any, name: str = "") -> Iterator[str]:
    """Where two descriptions of plans differ, in words."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{name}.{key}" if name else str(key)
            if key not in new:
                yield f"{inner} is in the store only"
            elif key not in old:
                yield f"{inner} is new"
            else:
                yield from differences(old[key], new[key], inner)
    elif old != new and name.endswith(".sha256"):
        yield f"{name.removesuffix('.sha256')} has another content now"
    elif old != new:
        yield f"{name} is {_brief(old)} in the store and {_brief(new)} now"


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
