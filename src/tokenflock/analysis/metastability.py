"""Long waits between mergers (A.5): the stretches of log time in which the number of clusters stays.

Clusters at angle theta merge on a time scale of order e^(beta (1 - cos theta)), so the waits differ by factors and are
measured as such: a plateau is a maximal stretch with one number of clusters and end/begin >= ratio.

Between two kept times a < b nothing is known: what changed there is said to have changed at sqrt(a b), half way in log
time. A frame at time 0 has no log time: plateaus leave it out, and a merger between 0 and b is said to be at b/2.
Flicker is what is undone while t grows by less than the factor `flicker` (by default the ratio, 2), and is left out:
the count leaves and returns, in no longer than it stayed before and stays after; a merger is followed by the split that
undoes it, or a split by the merger that does. Where two clusters meet, their last tokens trail behind for a moment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.analysis import axes_of, clusters
from tokenflock.analysis.clusters import Labels
from tokenflock.arguments import Reals, numbers, real, scalar, some
from tokenflock.errors import bad

if TYPE_CHECKING:
    import xarray as xr

RATIO = 2.0
SAME = 1e-12  # lengths in log time that differ by rounding only


@dataclass(frozen=True)
class Plateau:
    """`count` clusters from time `begin` to time `end`."""

    count: int
    begin: float
    end: float


def plateaus(
    t: Any, count: Any = None, radius: float | None = None, ratio: float = RATIO, flicker: float | None = None
) -> list[Plateau]:
    """The plateaus in the order of time: count is constant, flicker apart, while t grows by the factor ratio or more.

    t, count: times (time,) with the numbers of clusters (time,), or with tokens (time, n, d) and the radius of
    clusters.count; or one trajectory, x(time, token, axis), and a radius: plateaus(run, radius=0.05).
    """
    long = scalar("ratio", ratio, "a finite number > 1", lambda v: v > 1)
    short = _flicker(long if flicker is None else flicker)
    times, given = _frames(t, count, "count", (1, 3))
    counts = given if given.ndim == 1 else clusters.count(given, _radius(radius))
    times, counts = times[times > 0], counts[times > 0]
    if not len(times):
        raise bad("t", "no time > 0", "times > 0", "Keep more than the start.")
    change = np.flatnonzero(np.diff(counts)) + 1
    edges = np.log([times[0], *(np.sqrt(times[change - 1]) * np.sqrt(times[change])), times[-1]])
    steps = [(int(c), float(a), float(b)) for c, a, b in zip(counts[[0, *change]], edges[:-1], edges[1:], strict=True)]
    while (excursion := _shortest_excursion(steps, math.log(short))) is not None:
        first, last = excursion
        steps[first : last + 1] = [(steps[first][0], steps[first][1], steps[last][2])]
    return [Plateau(c, math.exp(a), math.exp(b)) for c, a, b in steps if b - a >= math.log(long) - SAME]


def merge_times(t: Any, labels: Any = None, radius: float | None = None, flicker: float = RATIO) -> Reals:
    """The times at which clusters merged, in order, once for each cluster that was lost (clusters.track says which).

    t, labels: times (time,) with labels (time, n), from clusters.label or clusters.track, or with tokens (time, n, d)
    and a radius; or one trajectory and a radius: merge_times(run, radius=0.05). Where nothing splits, their number is
    the number of clusters at first less that at last; flicker=1 counts every merger, those that are undone too.
    """
    return np.array([m.merge_time for m in _mergers(*_tracked(t, labels, radius), _flicker(flicker))])


def tree(t: Any, labels: Any = None, radius: float | None = None, flicker: float = RATIO) -> xr.Dataset:
    """The tree of merges, a row for each of the `merge_times`: who was lost, into whom, when; arguments as there.

    A cluster is named by its first token when it was first seen, a lost one that comes back at once by its old name.

        merged, into (merge)             the clusters that met; the one with the earlier first token goes on
        merge_time, born (merge)         when, and since when `merged` was there (the first time, if from the start)
        size_merged, size_into (merge)   their tokens in the last frame before
        left (merge)                     clusters left after it, if none splits off later
        root (tree)                      the clusters at the end: each is the root of a tree
    """
    import xarray as xr

    times, numbers = _tracked(t, labels, radius)
    names: dict[int, int] = {}
    rows = _mergers(times, numbers, _flicker(flicker), names)
    roots = sorted(names[int(number)] for number in np.unique(numbers[-1]))
    kinds = {"merged": np.intp, "into": np.intp, "merge_time": np.float64, "born": np.float64}
    kinds |= {"size_merged": np.intp, "size_into": np.intp}
    data = {name: ("merge", np.array([getattr(row, name) for row in rows], dtype=kind)) for name, kind in kinds.items()}
    left = ("merge", len(roots) + np.arange(len(rows))[::-1])
    return xr.Dataset(data | {"left": left, "root": ("tree", np.array(roots))})


@dataclass
class _Merger:
    """One row of the tree; token: the first of the lost cluster when it was lost; heir: the number it went into."""

    merged: int
    into: int
    merge_time: float
    born: float
    size_merged: int
    size_into: int
    token: int
    heir: int


def _tracked(t: Any, labels: Any, radius: float | None) -> tuple[Reals, Labels]:
    times, given = _frames(t, labels, "labels", (2, 3))
    return times, clusters.follow(given) if given.ndim == 2 else clusters.track(given, _radius(radius))


def _mergers(times: Reals, numbers: Labels, short: float, names: dict[int, int] | None = None) -> list[_Merger]:
    """The mergers of tracked clusters (time, n), flicker left out; names is filled: number -> name."""
    name = {} if names is None else names
    _name(numbers[0], name)
    born: dict[int, float] = {}  # when a number split off, unless that undid a merger
    merged: list[_Merger] = []
    used = int(numbers[0].max())
    for now in range(1, len(times)):
        at = math.sqrt(times[now - 1]) * math.sqrt(times[now]) or times[now] / 2
        before, after = numbers[now - 1], numbers[now]
        if (before == after).all():
            continue
        _name(after, name)
        for number in range(used + 1, int(after.max()) + 1):
            undone = [k for k, m in enumerate(merged) if after[m.token] == number and at < short * m.merge_time]
            if undone:
                again = merged.pop(undone[-1])
                name[number] = again.merged
                born[number] = again.born if again.born > times[0] else 0.0
            else:
                born[number] = at
        used = max(used, int(after.max()))
        found, leaders = np.unique(before, return_index=True)
        for k in np.flatnonzero(~np.isin(found, after)):
            number, token = int(found[k]), int(leaders[k])
            heir = int(after[token])
            since = born.get(number, 0.0)
            if at >= short * since:
                sizes = int((before == number).sum()), int((before == heir).sum())
                row = (name[number], name[heir], at, max(since, float(times[0])), *sizes, token, heir)
                merged.append(_Merger(*row))
            else:  # it was never there for long: whoever merged into it has merged into what it came to
                for other in (m for m in merged if m.heir == number):
                    other.heir, other.into = heir, name[heir]
    return merged


def _name(numbers: Labels, name: dict[int, int]) -> None:
    """Every new number is named by its first token."""
    for number, token in zip(*np.unique(numbers, return_index=True), strict=True):
        name.setdefault(int(number), int(token))


def quantiles(trees: xr.Dataset, q: Any = (0.1, 0.5, 0.9)) -> xr.Dataset:
    """What the merge trees of an ensemble (flock.merge_tree) say of a typical run.

    merge_time (quantile, last)   of the last merge, of the one before it, ...: quantiles of its logarithm
    runs (last)                   how many runs had so many merges; the others do not count
    count (quantile, time)        the number of clusters
    """
    import xarray as xr

    levels = np.atleast_1d(some("q", q, "numbers from 0 to 1", lambda v: (v >= 0) & (v <= 1)))
    if levels.ndim > 1:
        raise bad("q.shape", levels.shape, "a number, or a list of them")
    if not hasattr(trees, "data_vars") or "merge_time" not in trees or "run" not in trees.dims:
        advice = "Give flock.merge_tree a start (runs, n, dim)."
        raise bad("trees", type(trees).__name__, "the merge trees of an ensemble", advice)
    logs = np.log(trees["merge_time"].transpose("run", "merge").values[:, ::-1])
    runs = np.isfinite(logs).sum(axis=0)
    at = np.array([np.nanquantile(column, levels) for column in logs.T]).reshape(-1, len(levels)).T
    counts = np.quantile(trees["count"].transpose("run", "time").values, levels, axis=0)
    data = {"merge_time": (("quantile", "last"), np.exp(at)), "runs": ("last", runs)}
    coords = {"quantile": levels, "last": np.arange(1, len(runs) + 1), "time": trees["time"].values}
    return xr.Dataset(data | {"count": (("quantile", "time"), counts)}, coords=coords)


def _flicker(given: float) -> float:
    return scalar("flicker", given, "a finite number >= 1", lambda v: v >= 1)


def _shortest_excursion(steps: list[tuple[int, float, float]], most: float) -> tuple[int, int] | None:
    """Two steps of equal count with less than `most` between them, and no more than either: the nearest two, if any."""
    last: dict[int, int] = {}
    best, found = most, None
    for k, (count, begin, end) in enumerate(steps):
        if count in last:
            left, right = steps[last[count]][1:]
            away = begin - right
            if away < best and away <= min(right - left, end - begin) + SAME:
                best, found = away, (last[count], k)
        last[count] = k
    return found


def _radius(radius: float | None) -> float:
    if radius is None:
        raise bad("radius", None, "a number > 0, with tokens", "It says which tokens are together, for example 0.05.")
    return radius


def _frames(t: Any, given: Any, name: str, axes: tuple[int, int]) -> tuple[Reals, Labels]:
    """The times and what goes with them: an array with one of two numbers of axes, the first of them time."""
    if hasattr(t, "data_vars"):
        if given is not None:
            raise bad(name, type(given).__name__, "nothing beside a Dataset", "Or give its times: run['time'].")
        if "time" not in t.coords:
            raise bad("t", "a Dataset without times", "a trajectory with time", "Or give the times themselves.")
        given, t = t, t["time"]
    if hasattr(given, "data_vars"):
        if "x" not in given:
            advice = f"Simulate with positions=True, or give the times and the {name}."
            raise bad("x", "a Dataset without positions", "a trajectory with x", advice)
        given = axes_of(given)
    times = real("t", t, "finite times >= 0", lambda v: v >= 0)
    array: Any = np.asarray(given) if isinstance(given, np.ndarray) or hasattr(given, "dims") else numbers(given)
    if not array.ndim:
        advice = "Take them from clusters.count or clusters.track; tokens are (time, n, d)."
        raise bad(name, given, "whole numbers >= 0, or tokens", advice)
    words = {1: "(time,)", 2: "(time, n)", 3: "(time, n, d)"}
    if array.ndim not in axes or times.ndim != 1 or array.shape[0] != len(times) or not len(times):
        shapes = f"shapes {times.shape} and {array.shape}"
        allowed = f"t (time,) with {name} {words[axes[0]]} or tokens (time, n, d)"
        raise bad(f"t, {name}", shapes, allowed, "Take one run of an ensemble: run.isel(run=0).")
    if (np.diff(times) <= 0).any():
        raise bad("t", "times that do not increase", "strictly increasing times", "Sort them, and drop repeated ones.")
    if array.ndim < 3:
        small = array.dtype.kind in "iuf" and bool((np.abs(array) < 2**62).all())
        whole = array.astype(np.intp) if small else None
        if whole is None or (whole != array).any() or whole.min() < 0:
            advice = "Take them from clusters.count or clusters.track; tokens are (time, n, d)."
            raise bad(name, f"{array.dtype} that are not", "whole numbers >= 0", advice)
        array = whole
    return times, array
