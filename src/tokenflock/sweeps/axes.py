"""The axes of a sweep: what each of them changes, and what its points are called.

    beta = [1.0, 4.0, 16.0]                            values
    beta = {linear = [0.0, 9.0], points = 10}          from the first to the last in equal steps
    beta = {log = [1.0, 256.0], points = 9}            in equal ratios
    value = {family = "ginibre", draws = 20}           random draws of a family, seeded by counter
    value = {real = "diag:1,0.5", turning = "plane_rotation:0.3"}      values with a name each
    "value.angle" = [0.1, 0.2]                         a key inside a table of the model
    case = {small = {dim = 2, n_tokens = 16}, large = {dim = 3, n_tokens = 64}}      several settings at once

An axis is named after what it changes: a field of flock.Model, a keyword of the start, or one of flock.simulate. Any
other name makes an axis of cases, each of which says what it sets.
"""

from __future__ import annotations

import dataclasses
import inspect
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock import spec
from tokenflock.arguments import whole
from tokenflock.engine.randomness import key_of
from tokenflock.errors import SpecError, bad, clash, unknown
from tokenflock.model import Model
from tokenflock.start import STARTS

FIELDS = tuple(field.name for field in dataclasses.fields(Model))
KEYWORDS = tuple(name for name in spec.SIMULATE if name != "seed")
DRAWN = ("seed", "runs")  # by counter, never by hand
MOST_RUNS = 10_000_000
RANGES: dict[str, Any] = {"linear": np.linspace, "log": np.geomspace}
RESERVED = ("replicate", "time", "token", "axis", "cluster", "merge", "shard", "seed", "outcome", "reason", "checksum")

Path = tuple[str, ...]


def counter(seed: int, stream: int, number: int) -> int:
    """A seed that depends on these three numbers and nothing else: not on workers, order or retries."""
    return key_of(key_of(seed, stream), number) >> 1  # 63 bits: files hold signed numbers


@dataclass(frozen=True, eq=False)
class Axis:
    """One dimension of the grid."""

    name: str
    labels: list[Any]  # numbers, or texts
    changes: list[dict[Path, Any]]  # what each point sets: {("model", "beta"): 2.0}

    def __len__(self) -> int:
        return len(self.labels)

    def describe(self) -> dict[str, Any]:
        """The axis as plain JSON, to be compared: short where its labels are the values of one setting."""
        paths = {path for change in self.changes for path in change}
        values = [value for change in self.changes for value in change.values()]
        if len(paths) == 1 and all(isinstance(v, int | float | str) for v in values) and values == self.labels:
            return {"sets": ".".join(*paths), "values": values}
        return {"labels": self.labels, "sets": [{".".join(p): v for p, v in c.items()} for c in self.changes]}


class Settings:
    """What an axis can change: by name, where it stands."""

    def __init__(self, model: Callable[..., Any] | None = None, start: Callable[..., Any] | None = None) -> None:
        """model, start: functions that make them, whose parameters take the place of the keywords."""
        self.homes: dict[str, Path] = {name: ("simulate", name) for name in KEYWORDS}
        starts = [start] if start is not None else STARTS.values()
        names = {name for function in starts for name in _parameters(function) if name not in (*DRAWN, "dim")}
        self.homes |= {name: ("start", name) for name in sorted(names)}
        self.homes |= {"kind": ("start", "kind")} if start is None else {}
        self.homes |= {name: ("model", name) for name in (FIELDS if model is None else _parameters(model))}

    def find(self, name: str) -> Path | None:
        """The sections and keys of a setting, or None for a name that is none."""
        first, *rest = name.split(".")
        if first in spec.SECTIONS and rest:
            home = self.homes.get(rest[0])
            return None if home is None or home[0] != first else (*home, *rest[1:])
        return (*self.homes[first], *rest) if first in self.homes else None


def _parameters(function: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [name for name, p in inspect.signature(function).parameters.items() if p.kind in kinds]


def read_axis(name: str, given: Any, settings: Settings, seed: int) -> Axis:
    """An axis as the head of this file shows them."""
    path = settings.find(name)
    if path is not None and path[1] in DRAWN:
        raise bad("axes", name, "settings of the model, the start or simulate", "For more runs give replicates.")
    dim = name.split(".", 1)[1] if name.split(".")[0] in spec.SECTIONS and "." in name else name
    dim = dim.replace(".", "_")
    if not dim.isidentifier() or dim in RESERVED:
        raise bad("axes", name, "names of settings, or new ones for cases", f"Taken: {', '.join(RESERVED)}.")
    if isinstance(given, Mapping):
        labels, values = _table(name, given, path, seed)
    elif isinstance(given, Iterable) and not isinstance(given, str):
        labels, values = _listed(given)
    else:
        raise bad(
            f"axis {name}", given, "a list of values, a range or a table", "`tokenflock sweep --help` shows them."
        )
    if not labels:
        raise bad(f"axis {name}", given, "at least one value", "An empty axis makes an empty sweep: leave it out.")
    if len(set(labels)) < len(labels):
        twice = next(label for k, label in enumerate(labels) if label in labels[:k])
        raise bad(f"axis {name}", f"{twice!r} twice", "values that differ", "For more runs of one give replicates.")
    if path is not None:
        return Axis(dim, labels, [{path: value} for value in values])
    return Axis(dim, labels, [_case(name, value, settings) for value in values])


def _listed(given: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """Values are their own labels where a file can hold them; others are numbered."""
    values = [v.item() if isinstance(v, np.generic) else v for v in given]
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    if numbers and any(isinstance(v, float) for v in values):
        return [float(v) for v in values], values
    if numbers or all(isinstance(v, str) for v in values):
        return values, values
    if all(isinstance(v, bool | int | float | str) for v in values):
        return [str(v).lower() if isinstance(v, bool) else str(v) for v in values], values
    return list(range(len(values))), values


def _table(name: str, given: Mapping[str, Any], path: Path | None, seed: int) -> tuple[list[Any], list[Any]]:
    """A range, draws of a family, or values by label."""
    if "draws" in given:
        return _draws(name, given, path, seed)
    if "points" in given or given.keys() & RANGES.keys():
        return _range(name, given)
    if not all(isinstance(label, str) for label in given):
        raise bad(f"axis {name}", list(given), "labels in quotes")
    return list(given), list(given.values())


def _range(name: str, given: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    spec.known(f"key of axis {name}", given, (*RANGES, "points"))
    kinds = [kind for kind in RANGES if kind in given]
    if len(kinds) != 1 or "points" not in given:
        raise bad(f"axis {name}", dict(given), "one of linear or log, and points", "{log = [1.0, 64.0], points = 7}")
    kind = kinds[0]
    try:
        first, last = (float(end) for end in given[kind])
    except (TypeError, ValueError) as error:
        raise bad(f"axis {name} {kind}", given[kind], "two numbers: the first and the last") from error
    if not np.isfinite([first, last]).all() or (kind == "log" and not (first > 0 and last > 0)):
        raise bad(f"axis {name} {kind}", given[kind], "two finite numbers" + (" > 0" if kind == "log" else ""))
    points = _points(f"axis {name} points", given["points"])
    values = [float(v) for v in RANGES[kind](first, last, points)]
    return values, values


def _points(what: str, given: Any) -> int:
    points = whole(what, given, 1)
    if points > MOST_RUNS:
        raise bad(what, given, f"at most {MOST_RUNS:,}", "So many runs are a life's work: take fewer.")
    return points


def _draws(name: str, given: Mapping[str, Any], path: Path | None, seed: int) -> tuple[list[Any], list[Any]]:
    """Draw k of an axis is the same whatever the other axes are."""
    draws = _points(f"axis {name} draws", given["draws"])
    rest = {key: value for key, value in given.items() if key != "draws"}
    if path is None or "family" not in rest:
        raise bad(f"axis {name}", dict(given), "a matrix of the model and its family", "{family = 'goe', draws = 9}")
    family = str(rest["family"]).partition(":")[0]
    if family not in spec.MATRICES:
        raise unknown("family", family, spec.MATRICES)
    if "seed" in rest or "seed" not in _parameters(spec.MATRICES[family]):
        other = "seed" if "seed" in rest else f"family {family!r}, which has no seed"
        raise clash(f"axis {name} draws", other, "Draws are seeded by counter, from the seed of the sweep.")
    stream = 1 + zlib.crc32(name.encode())
    return list(range(draws)), [rest | {"seed": counter(seed, stream, k)} for k in range(draws)]


def _case(name: str, given: Any, settings: Settings) -> dict[Path, Any]:
    if not isinstance(given, Mapping) or not given:
        names = list(settings.homes)
        error = unknown("axis", name, names)
        raise SpecError(f"{error} Any other name needs cases: tables of what each sets.")
    found = {}
    for key, value in given.items():
        path = settings.find(str(key))
        if path is None or path[1] in DRAWN:
            raise unknown(f"setting in axis {name}", key, settings.homes)
        found[path] = value.item() if isinstance(value, np.generic) else value
    return found


def changed(base: Mapping[str, Any], changes: Iterable[tuple[Path, Any]]) -> dict[str, Any]:
    """The sections with the changes of all axes."""
    raw = {section: dict(table) for section, table in base.items()}
    for path, value in changes:
        section, key, *inside = path
        raw[section][key] = _inside(key, raw[section].get(key), inside, value) if inside else value
    return raw


def _inside(name: str, table: Any, keys: Sequence[str], value: Any) -> Any:
    """A copy of a table, or of a part of a model, with one thing in it changed."""
    if not keys:
        return value
    if dataclasses.is_dataclass(table) and not isinstance(table, type):
        return dataclasses.replace(table, **{keys[0]: value})
    if table is not None and not isinstance(table, Mapping):
        advice = f"Write it as a table: {name} = {{family = ..., {keys[0]} = ...}}."
        raise bad(f"axis {name}.{'.'.join(keys)}", f"{name} = {table!r}", "a key inside a table", advice)
    inner = dict(table or {})
    return inner | {keys[0]: _inside(f"{name}.{keys[0]}", inner.get(keys[0]), keys[1:], value)}
