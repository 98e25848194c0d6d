"""What a sweep keeps of a run, by name: a number, or an array with named axes.

A reducer is a function of a `Run` and its own options. It is called for runs that came to their end; a run that failed
has the missing value instead (nan, or -1 for whole numbers).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from tokenflock import spec
from tokenflock.analysis import attention, clusters, energy, metastability, renyi
from tokenflock.engine.contract import Outcome
from tokenflock.errors import SpecError, bad, unknown
from tokenflock.geometry import Array
from tokenflock.merging import default_radius
from tokenflock.model import Model
from tokenflock.sweeps.axes import RESERVED
from tokenflock.trajectories import boolean_from

RADIUS = 0.05  # of clusters where beta = inf leaves no length


@dataclass(frozen=True, eq=False)
class Run:
    """A run at its end, as a reducer sees it."""

    model: Model
    start: Array  # (n, d)
    times: Array  # (time,)
    x: Array  # (time, n, d); only the last time unless some reducer looks at all
    outcome: Outcome
    steps: int
    evaluations: int
    dt: float | None = None  # of layers
    point: Mapping[str, Any] = field(default_factory=dict)  # {axis: label} and the replicate

    @property
    def final(self) -> Array:
        """The tokens at the end, (n, d)."""
        last: Array = self.x[-1]
        return last

    @property
    def space(self) -> str:
        """Which distances count."""
        return "sphere" if self.model.space == "sphere" else "euclidean"


def _radius(run: Run, radius: float | None) -> float:
    if radius is None:
        return RADIUS if math.isinf(run.model.beta) else default_radius(run.model)
    return radius


def count(run: Run, radius: float | None = None) -> int:
    """The number of clusters at the end."""
    return int(clusters.count(run.final, _radius(run, radius), run.space))


def counts(run: Run, radius: float | None = None) -> Any:
    """The number of clusters at every kept time."""
    return clusters.count(run.x, _radius(run, radius), run.space)


def sizes(run: Run, radius: float | None = None) -> Any:
    """The sizes of the clusters at the end, the largest first."""
    return np.sort(clusters.sizes(run.final, _radius(run, radius), space=run.space))[::-1]


def largest(run: Run, radius: float | None = None) -> float:
    """The share of the tokens that is in the largest cluster at the end."""
    return float(clusters.sizes(run.final, _radius(run, radius), space=run.space).max() / len(run.final))


def collapse_time(run: Run, radius: float | None = None) -> float:
    """The first kept time from which on all tokens are one cluster; nan if they are not at the end."""
    many = np.flatnonzero(counts(run, radius) > 1)
    first = int(many[-1]) + 1 if len(many) else 0
    return float(run.times[first]) if first < len(run.times) else math.nan


def merge_times(run: Run, radius: float | None = None) -> Any:
    """When clusters merged, in order: half way in log time between two kept times."""
    labels = clusters.label(run.x, _radius(run, radius), run.space)
    return metastability.merge_times(run.times, labels)


def _longest(run: Run, radius: float | None, ratio: float) -> metastability.Plateau | None:
    found = metastability.plateaus(run.times, counts(run, radius), ratio=ratio)
    several = [plateau for plateau in found if plateau.count > 1]
    return max(several, key=lambda p: p.end / p.begin, default=None)


def plateau(run: Run, radius: float | None = None, ratio: float = metastability.RATIO) -> int:
    """The number of clusters on the longest plateau of log time with more than one; -1 if there is none."""
    found = _longest(run, radius, ratio)
    return -1 if found is None else found.count


def plateau_ends(run: Run, radius: float | None = None, ratio: float = metastability.RATIO) -> Any:
    """When that plateau begins and ends."""
    found = _longest(run, radius, ratio)
    return np.full(2, math.nan) if found is None else np.array([found.begin, found.end])


def _delta(run: Run, delta: float | None) -> float:
    return 4.0 / math.sqrt(max(run.model.beta, 1.0)) if delta is None else delta


def centers(run: Run, delta: float | None = None) -> int:
    """The number of Renyi centers of the start; delta is 4 / sqrt(beta) if not given."""
    return len(renyi.centers(run.start, _delta(run, delta)))


def strong_centers(run: Run, delta: float | None = None) -> int:
    """The number of strong Renyi centers of the start."""
    return len(renyi.strong_centers(run.start, _delta(run, delta)))


def consumed(run: Run, delta: float | None = None, radius: float | None = None) -> float:
    """The share of the tokens within radius of a Renyi center of the start, where these are at the end."""
    found = renyi.centers(run.start, _delta(run, delta))
    return float(renyi.consumed(run.final, found, _radius(run, radius)).mean())


def scaled_energy(run: Run) -> float:
    """The energy of paper D at the end, from 1/n to 1."""
    return float(energy.scaled_energy(run.final, run.model.beta, run.model.masses))


def energies(run: Run) -> Any:
    """The energy of paper D at every kept time."""
    return energy.scaled_energy(run.x, run.model.beta, run.model.masses)


def overlap(run: Run) -> float:
    """The smallest overlap <x_i, x_j> of two tokens at the end."""
    return float((run.final @ run.final.T).min())


def diameter(run: Run) -> float:
    """The largest straight distance of two tokens at the end."""
    from scipy.spatial.distance import pdist

    return float(pdist(run.final).max()) if len(run.final) > 1 else 0.0


def boolean(run: Run) -> float:
    """The share of the rows of attention at the end in which one weight is 1, to 1e-9."""
    weights = attention.matrix(run.model, run.final, t=float(run.times[-1]))
    return float((np.asarray(weights).max(axis=-1) > 1 - 1e-9).mean())


def boolean_time(run: Run) -> float:
    """In rescaled space, the first kept time from which attention is Boolean to rounding; nan if it is not."""
    if run.model.space != "rescaled":
        return math.nan
    return boolean_from(run.model, run.times, run.x, run.dt)


def positions(run: Run) -> Any:
    """The tokens at the end."""
    return run.final


def trajectory(run: Run) -> Any:
    """The tokens at every kept time."""
    return run.x


def steps(run: Run) -> int:
    """The accepted steps of the scheme."""
    return run.steps


def evaluations(run: Run) -> int:
    """The evaluations of the velocity."""
    return run.evaluations


@dataclass(frozen=True, eq=False)
class Reducer:
    """A function of a run, and the array that a sweep makes of it."""

    name: str
    function: Callable[..., Any]
    dims: tuple[str, ...] = ()
    dtype: str = "float64"
    history: bool = False  # looks at all kept times, not only at the last
    options: Mapping[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] | None = None  # of a user's own function; others follow from their dims
    own: bool = False  # a user's own function: what it gives is seen when it is first called

    @property
    def missing(self) -> Any:
        """What stands where there is nothing."""
        return math.nan if self.dtype.startswith("float") else -1

    def value(self, run: Run, shape: tuple[int, ...]) -> np.ndarray:
        """What it says of a run, padded to the shape."""
        found = np.asarray(self.function(run, **self.options))
        if found.dtype.kind not in "biuf":
            raise bad(f"record {self.name}", f"{found.dtype} of shape {found.shape}", "real numbers")
        if found.shape == shape:
            return found.astype(self.dtype, copy=False)
        if found.ndim != len(shape) or any(a > b for a, b in zip(found.shape, shape, strict=True)):
            raise bad(f"record {self.name}", f"an array of shape {found.shape}", f"shapes up to {shape} in this sweep")
        padded = np.full(shape, self.missing, dtype=self.dtype)
        padded[tuple(slice(size) for size in found.shape)] = found
        return padded


def _table() -> dict[str, Reducer]:
    whole, look = partial(Reducer, dtype="int32"), partial(Reducer, history=True)
    made = (
        whole("clusters", count),
        whole("counts", counts, ("time",), history=True),
        whole("sizes", sizes, ("cluster",)),
        Reducer("largest", largest),
        look("collapse_time", collapse_time),
        look("merge_times", merge_times, ("merge",)),
        whole("plateau", plateau, history=True),
        look("plateau_ends", plateau_ends, ("end",)),
        whole("centers", centers),
        whole("strong_centers", strong_centers),
        Reducer("consumed", consumed),
        Reducer("energy", scaled_energy),
        look("energies", energies, ("time",)),
        Reducer("overlap", overlap),
        Reducer("diameter", diameter),
        Reducer("boolean", boolean),
        look("boolean_time", boolean_time),
        Reducer("positions", positions, ("token", "axis")),
        look("trajectory", trajectory, ("time", "token", "axis")),
        whole("steps", steps, dtype="int64"),
        whole("evaluations", evaluations, dtype="int64"),
    )
    return {reducer.name: reducer for reducer in made}


REDUCERS = _table()
NAMES = {reducer.function: name for name, reducer in REDUCERS.items()}


def read_record(given: Any) -> dict[str, Reducer]:
    """["clusters", "sizes:radius=0.1"], {"late": {"reducer": "counts", "radius": 0.1}}, or functions by name."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        pairs = [_named(str(name), what) for name, what in given.items()]
    elif isinstance(given, list | tuple) and all(isinstance(text, str) for text in given):
        pairs = [_named(text.partition(":")[0], text) for text in given]
    else:
        raise bad("record", given, "a list of reducers, or a table of them by name", f"Known: {', '.join(REDUCERS)}.")
    if not pairs:
        raise bad("record", given, "at least one reducer", f"Known: {', '.join(REDUCERS)}.")
    made = dict(pairs)
    if len(made) < len(pairs):
        raise bad("record", given, "names that differ", "Name them: {fine = {reducer = 'clusters', radius = 0.01}}.")
    return made


def _named(name: str, given: Any) -> tuple[str, Reducer]:
    made = Reducer(name, given, history=True, own=True) if callable(given) else _reducer(name, given)
    if not name.isidentifier() or name in RESERVED:
        allowed = "names that are identifiers and not those of a sweep"
        raise bad("record", name, allowed, f"Taken: {', '.join(RESERVED)}.")
    return name, made


def _reducer(name: str, given: Any) -> Reducer:
    if isinstance(given, str):
        kind, colon, words = given.partition(":")
        options = spec.split(words, _first_option(kind)) if colon else {}
    elif isinstance(given, Mapping):
        options = dict(given)
        kind = options.pop("reducer", name)
    else:
        raise bad(f"record {name}", given, "the name of a reducer, a table of its options, or a function of a run")
    reducer = _known(kind)
    takes = list(inspect.signature(reducer.function).parameters)[1:]
    if options and not takes:
        raise SpecError(f"the reducer {kind!r} takes no options, but was given {', '.join(options)}. Leave them out.")
    spec.known(f"option of the reducer {kind!r}", options, takes)
    return replace(reducer, name=name, options=options)


def _known(kind: Any) -> Reducer:
    if kind not in REDUCERS:
        raise unknown("reducer", kind, REDUCERS)
    return REDUCERS[kind]


def _first_option(kind: str) -> str:
    takes = list(inspect.signature(_known(kind).function).parameters)[1:]
    return takes[0] if takes else "option"
