"""Weights that change with time (E18): given at knots, by a function of t, or drawn anew in every interval.

    flock.Model(dim=3, beta=flock.Schedule([0.0, 5.0, 10.0], [1.0, 4.0, 9.0], "linear"))
    flock.Model(dim=3, value=lambda t: np.diag([1.0, np.cos(t), 0.5]))
    flock.Model(dim=3, value=flock.redrawn(flock.weights.ginibre, every=1.0, seed=0))

Each says where it jumps or bends (`changes`), so that no step crosses such a time, and what it is at a time (`at`).
"""

from __future__ import annotations

import inspect
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, Protocol

import numpy as np

from tokenflock.arguments import flag, instance, named, positive, real, scalar, whole
from tokenflock.errors import bad
from tokenflock.functions import Function, own
from tokenflock.geometry import Array
from tokenflock.of_runs import OfRuns, of_runs

#: the weights that may change; of a feed-forward its parts. Their places tell the draws of one seed apart.
WEIGHTS = ("query", "key", "value", "beta", "w", "a", "b")
OF_MODEL = WEIGHTS[:4]
KINDS = ("constant", "linear")
FAMILIES = ".weights"  # ends the name of the module whose functions a file names
SLIGHTLY = 1e-9  # of a layer: its time may be rounded to just before a jump at which it begins
ALL_BITS = 2**64 - 1
MOST_CHANGES = 10**7  # of a run: each begins its steps anew


def mixed(*key: int) -> int:
    """A seed of 64 bits for a key of whole numbers (splitmix64): numpy's SeedSequence takes as long as a small draw."""
    z = 0
    for part in key:
        z = (z ^ part) + 0x9E3779B97F4A7C15 & ALL_BITS
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & ALL_BITS
        z = (z ^ z >> 27) * 0x94D049BB133111EB & ALL_BITS
        z ^= z >> 31
    return z


class Varying(Protocol):
    """A weight that changes."""

    @property
    def smooth(self) -> bool:
        """Whether it changes between its jumps too."""

    def at(self, name: str, dim: int, t: float, middle: float, run: int) -> Any:
        """Its value at time t. middle: a time inside the stretch, which says on which side of a jump t is."""

    def changes(self, t_end: float) -> Iterator[float]:
        """The times in (0, t_end) at which it jumps or bends, increasing."""

    def check(self, name: str, t_end: float) -> None:
        """Refuse a run to a time for which it says nothing."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """A weight that changes with time: a value for each knot, (knots, ...).

    kind "constant": values[k] from knots[k] on, the last for ever; with one knot more than values they end there.
    "linear": straight lines between the knots, until the last. No step crosses a knot.
    """

    knots: Any
    values: Any
    kind: str = "constant"

    def __post_init__(self) -> None:
        knots = real("knots", self.knots, "finite times")
        if knots.ndim != 1 or knots.size == 0 or (np.diff(knots) <= 0).any():
            raise bad("knots", self.knots, "one axis of strictly increasing times", "Sort them: numpy.unique(knots).")
        named("kind of schedule", self.kind, KINDS)
        given = self.values.detach().cpu().numpy() if hasattr(self.values, "detach") else self.values
        values = real("values", given, "finite numbers")
        allowed = (len(knots),) if self.kind == "linear" else (len(knots), len(knots) - 1)
        if values.ndim == 0 or len(values) not in allowed or not len(values):
            shape = f"({len(knots)}, ...)"
            raise bad("values.shape", values.shape, shape, "One value for each knot, on the first axis.")
        values = np.array(values)
        values.setflags(write=False)
        object.__setattr__(self, "knots", tuple(knots.tolist()))
        object.__setattr__(self, "values", values)

    @property
    def smooth(self) -> bool:
        """Whether it changes between its knots."""
        return self.kind == "linear"

    @property
    def end(self) -> float:
        """Until when it says anything."""
        return math.inf if not self.smooth and len(self.values) == len(self.knots) else self.knots[-1]

    def __call__(self, t: float) -> Array:
        """The value at time t."""
        when = scalar("t", t, "a finite time", lambda v: (v >= self.knots[0]) & (v <= self.end))
        return self.at("", 0, when, when, 0)

    def at(self, name: str, dim: int, t: float, middle: float, run: int) -> Array:
        """See Varying."""
        k = min(max(bisect_right(self.knots, middle) - 1, 0), len(self.values) - 1)
        if not self.smooth or k == len(self.knots) - 1:
            return self.values[k]  # type: ignore[no-any-return]
        share = (t - self.knots[k]) / (self.knots[k + 1] - self.knots[k])
        found: Array = (1.0 - share) * self.values[k] + share * self.values[k + 1]
        return found

    def changes(self, t_end: float) -> Iterator[float]:
        """See Varying."""
        return (knot for knot in self.knots if 0.0 < knot < t_end)

    def check(self, name: str, t_end: float) -> None:
        """See Varying."""
        first = self.knots[0]
        if first > 0.0 or self.end < t_end:
            advice = f"Give a knot at t = 0 and one at t = {t_end:g}, or lower t_end."
            given = f"a schedule from t = {first:g} to {self.end:g}"
            raise bad(name, given, f"values for all times from 0 to t_end = {t_end:g}", advice)


@dataclass(frozen=True, eq=False)
class Redrawn:
    """A weight that is drawn anew in every interval of time; made by `redrawn`."""

    family: Any  # a function of flock.weights, or a Function
    every: float
    seed: int = 0
    heads: int | None = None
    each_run: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    smooth = False

    def at(self, name: str, dim: int, t: float, middle: float, run: int) -> Array:
        """See Varying: the draw of the interval, in which all of it is one."""
        k = max(math.floor(middle / self.every), 0)
        own_key = (self.seed, WEIGHTS.index(name), k, run if self.each_run else 0)
        drawn = [self._one(dim, mixed(*own_key, head)) for head in range(self.heads or 1)]
        return np.asarray(drawn[0] if self.heads is None else np.stack(drawn), dtype=float)

    def _one(self, dim: int, seed: int) -> Any:
        both = {"dim": self.options.get("dim", dim), "seed": seed}
        if isinstance(self.family, Function):
            return self.family(*(both[name] for name in self.family.parameters))
        return self.family(**({**self.options} | {name: both[name] for name in both if name in self.takes}))

    @cached_property
    def takes(self) -> tuple[str, ...]:
        """What the family takes."""
        return _takes(self.family)

    def changes(self, t_end: float) -> Iterator[float]:
        """See Varying."""
        for k in count(1):
            if k * self.every >= t_end:
                return
            yield k * self.every

    def check(self, name: str, t_end: float) -> None:
        """See Varying."""
        if t_end > MOST_CHANGES * self.every:
            given = f"weights drawn anew {t_end / self.every:.1e} times"
            advice = "Lower t_end, or raise every."
            raise bad(name, given, f"at most {MOST_CHANGES:.0e} draws in a run", advice)

    def schedule(self, name: str, dim: int, t_end: float) -> Schedule:
        """All its draws until t_end as a Schedule: what `flock.Flow` takes, and what can be looked at."""
        knots = [0.0, *self.changes(positive("t_end", t_end))]
        named("weight", name, WEIGHTS)
        return Schedule(knots, [self.at(name, dim, t, t + 0.5 * self.every, 0) for t in knots])


def redrawn(
    family: Any,
    every: float = 1.0,
    *,
    seed: int = 0,
    heads: int | None = None,
    each_run: bool = False,
    **options: Any,
) -> Redrawn:
    """A weight that is drawn anew in every interval of time: redrawn(flock.weights.ginibre, every=1.0, scale=0.5).

    **Main arguments**

    - `family`: of `flock.weights`, or a function of `dim` and `seed` that returns a matrix (of `beta`: a number).
    - `every`: the length of an interval; with scheme="layers" the step `dt`, for one draw a layer.

    **Other arguments**

    - `seed`: the same gives the same draws. Query, key and value have draws of their own for one seed.
    - `heads`: how many heads, each with a draw of its own.
    - `each_run`: whether every run of an ensemble has draws of its own; else all have the same.
    - everything else goes to the family.
    """
    if not callable(family):
        advice = "For example flock.weights.ginibre."
        raise bad("family", family, "a function of dim and seed that returns a matrix", advice)
    takes = _takes(family)
    if not getattr(family, "__module__", "").endswith(FAMILIES):
        family = own("family", family, ("dim", "seed"), by_name=True)
    elif not {"dim", "seed"} & set(takes):
        raise bad("family", f"a function of ({', '.join(takes)})", "a function of dim and seed")
    for name in options:
        if name not in takes or name == "seed" or (name != "dim" and isinstance(family, Function)):
            advice = "Write it into the function." if isinstance(family, Function) else ""
            raise bad(f"{name} of redrawn", options[name], f"options of the family: {', '.join(takes)}", advice)
    return Redrawn(
        family,
        positive("every", every),
        whole("seed", seed, 0),
        None if heads is None else whole("heads", heads, 1),
        flag("each_run", each_run),
        dict(options),
    )


def _takes(family: Any) -> tuple[str, ...]:
    return family.parameters if isinstance(family, Function) else tuple(inspect.signature(family).parameters)


@dataclass(frozen=True, eq=False)
class OfTime:
    """A weight as a function of t, which the user gave."""

    function: Function
    smooth = True

    def at(self, name: str, dim: int, t: float, middle: float, run: int) -> Any:
        """See Varying."""
        return self.function(t)

    def changes(self, t_end: float) -> Iterator[float]:
        """None that is known: steps see that it is smooth, or become small where it is not."""
        return iter(())

    def check(self, name: str, t_end: float) -> None:
        """Its last value is found before the run, not at its end."""
        checked(name, self.function(t_end), t_end, None)


CHANGING = (Schedule, Redrawn, OfTime, OfRuns)


def as_varying(name: str, given: Any) -> Varying | None:
    """A weight that changes, if this is one; None for numbers."""
    if isinstance(given, CHANGING):
        return given
    return OfTime(own(name, given, ("t",))) if callable(given) else of_runs(name, given)


def opening(name: str, varying: Varying, dim: int = 0) -> Array:
    """The value at t = 0."""
    if isinstance(varying, Redrawn) and not dim and "dim" not in varying.options:
        raise bad(name, "redrawn(...) without dim", "redrawn(family, dim=...) in a feed-forward", "Give its size.")
    return checked(name, varying.at(name, dim, 0.0, 0.0, 0), 0.0, None)


def gathered(model: Any) -> dict[str, Varying]:
    """The weights of a model that change: those listed as `varying`, those given in the place of numbers."""
    listed = instance("varying", model.varying or {}, Mapping, "{name: flock.Schedule(...)}")  # type: ignore[type-abstract]
    found: dict[str, Varying] = dict(getattr(model.feedforward, "varying", None) or {})
    for name, value in listed.items():
        if (one := as_varying(named("varying weight", name, WEIGHTS), value)) is None:
            allowed = "a flock.Schedule, flock.redrawn(...), or a function of t"
            raise bad(f"varying[{name!r}]", value, allowed)
        found[name] = one
    given = {name: as_varying(name, getattr(model, name)) for name in OF_MODEL}
    return found | {name: one for name, one in given.items() if one is not None}


def left_by(options: Mapping[str, Any], varying: Mapping[str, Varying] | None) -> dict[str, Varying]:
    """The weights that go on changing where others are given anew."""
    given = {*options, *WEIGHTS[4:]} if "feedforward" in options else options
    return {name: one for name, one in (varying or {}).items() if name not in given}


def held(model: Any, t: float, middle: float, run: int) -> Any:
    """The model with the weights of a time, which change no more. It is not checked again: its weights are."""
    given: tuple[Any, ...] = (t, middle)  # floats, but for who calls it by hand
    t, middle = (v if isinstance(v, float) and math.isfinite(v) else scalar("t", v, "a finite time") for v in given)
    run = whole("run", run, 0, most=None if model.n_runs is None else model.n_runs - 1)
    fields = {name: model.__dict__[name] for name in model.__dataclass_fields__}
    inner: dict[str, Array] = {}
    for name, varying in model.varying.items():
        own_value: Any = fields[name] if name in OF_MODEL else getattr(model.feedforward, name)
        value = checked(name, varying.at(name, model.dim, t, middle, run), t, np.shape(own_value))
        if name in OF_MODEL:
            fields[name] = value if value.ndim else float(value)
        else:
            inner[name] = value
    if fields["beta"] < 0 and model.space != "sphere":
        raise bad(f"beta at t = {t:g}", fields["beta"], f">= 0 in space={model.space!r}")
    made = object.__new__(type(model))
    made.__dict__.update(fields, varying=None)
    if inner:
        made.__dict__["feedforward"] = part = copy(model.feedforward)
        part.__dict__.update(inner, varying=None)
    return made


def checked(name: str, given: Any, t: float, shape: tuple[int, ...] | None) -> Array:
    """The value of a weight at a time, if it is finite and has the shape that it had at first."""
    try:
        value = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise bad(f"{name} at t = {t:g}", type(given).__name__, "an array of numbers") from None
    if not np.isfinite(value).all():
        given = f"an array with nan or inf at t = {t:g}" if value.ndim else f"{value} at t = {t:g}"
        raise bad(name, given, "finite numbers at all times", "Does it end too early? Lower t_end, or go on with it.")
    if shape is not None and value.shape != shape:
        raise bad(f"{name}.shape at t = {t:g}", value.shape, f"{shape}, as at t = 0")
    value = np.array(value, order="C")
    value.setflags(write=False)
    return value


def told(varying: Mapping[str, Varying]) -> tuple[dict[str, Any], dict[str, Array]]:
    """What a file keeps of weights that change: JSON, and arrays by name."""
    plain: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    for name, one in varying.items():
        if isinstance(one, Schedule):
            plain[name] = {"schedule": one.kind}
            arrays |= {f"{name}_knots": np.array(one.knots), f"{name}_values": np.array(one.values)}
        elif isinstance(one, Redrawn):
            family = one.family.told() if isinstance(one.family, Function) else one.family.__name__
            given = {key: getattr(one, key) for key in ("every", "seed", "heads", "each_run")}
            numbers = {key: value for key, value in given.items() if value is not None}
            options = {key: np.asarray(value).tolist() for key, value in one.options.items()}
            plain[name] = {"redrawn": family, **numbers, "options": options}
        elif isinstance(one, OfRuns):
            plain[name], arrays[f"{name}_runs"] = {"runs": len(one.values)}, np.array(one.values)
        elif isinstance(one, OfTime):
            plain[name] = {"function": one.function.told()}
    return plain, arrays


def heard(
    plain: Mapping[str, Any], arrays: Mapping[str, Array], families: Mapping[str, Callable[..., Any]]
) -> dict[str, Varying]:
    """What `told` wrote. families: the functions of `flock.weights` by name."""
    found: dict[str, Varying] = {}
    try:
        for name, one in plain.items():
            if "schedule" in one:
                found[name] = Schedule(arrays[f"{name}_knots"], arrays[f"{name}_values"], one["schedule"])
            elif "runs" in one:
                found[name] = OfRuns(arrays[f"{name}_runs"])
            elif "redrawn" in one:
                family = one["redrawn"]
                made = families[family] if isinstance(family, str) else own(name, family, ("dim", "seed"), by_name=True)
                numbers = {key: one[key] for key in ("every", "seed", "heads", "each_run") if key in one}
                found[name] = redrawn(made, **numbers, **one["options"])
            else:
                found[name] = OfTime(own(name, one["function"], ("t",)))
    except (KeyError, TypeError, AttributeError) as error:
        advice = "Load a file that flock.save wrote."
        raise bad("model", f"weights that change without {error}", "what flock.save wrote", advice) from error
    return found


CHANGES = (("knots", "values", "kind"), ("redrawn", "every", "seed", "heads", "each_run"), ("of_t",))


def is_table(given: Any) -> bool:
    """Whether a table of a run.toml is that of a weight that changes."""
    return isinstance(given, Mapping) and any(keys[0] in given for keys in CHANGES)


def of_table(name: str, table: Mapping[str, Any], family: Callable[[str], tuple[Any, dict[str, Any]]]) -> Varying:
    """{knots, values, kind}, {redrawn = "ginibre:scale=0.5", every, seed, heads}, {of_t = "1 + sin(t)"}.

    family: a function of `flock.weights` and its keywords from such a text.
    """
    keys = next(keys for keys in CHANGES if keys[0] in table)
    if wrong := sorted(set(table) - set(keys)):
        raise bad(f"{name}.{wrong[0]}", table[wrong[0]], f"a table of {', '.join(keys)}")
    if keys[0] == "knots":
        if "values" not in table:
            raise bad(name, dict(table), "a table of knots and values", "Give a value for each knot.")
        return Schedule(table["knots"], table["values"], table.get("kind", "constant"))
    if keys[0] == "of_t":
        return OfTime(own(name, instance(f"{name}.of_t", table["of_t"], str, "an expression of t in quotes"), ("t",)))
    made, options = family(instance(f"{name}.redrawn", table["redrawn"], str, "the name of a family in quotes"))
    return redrawn(made, **{key: value for key, value in table.items() if key != "redrawn"}, **options)
