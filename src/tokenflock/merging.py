"""The merge tree of a run: which clusters merge, when and into whom, from the start to the final state.

One pass of implicit steps looks at the tokens `per_decade` times a decade and keeps their clusters, never the tokens. A
second pass, the same steps once more, looks where clusters were lost, and finds when to the `precision`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokenflock import ending
from tokenflock.analysis import clusters, metastability, positive
from tokenflock.analysis.energy import scaled_energy
from tokenflock.arguments import flag, scalar, whole
from tokenflock.cores import side_by_side
from tokenflock.engine.contract import Engine, Outcome, Stepper, Task
from tokenflock.errors import EngineError, bad
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.request import ATOL, DTYPE, RTOL, Request, check_implicit, check_model
from tokenflock.runner import Progress, Telling, sound
from tokenflock.simulation import check_progress, versions
from tokenflock.trajectories import AXIS, RUN, TIME, TOKEN, describe

if TYPE_CHECKING:
    import xarray as xr

PER_DECADE = 20
MOST_LOOKS = 10**6  # a decade
FIRST = 1e-2  # the first time after 0
PRECISION = 1e-3
FINEST = 1e-5  # a second pass for it looks some 50,000 times at an interval in which clusters were lost
PATIENCE = 2_000  # evaluations between two looks at the keyboard


def merge_tree(
    model: Model,
    start: Any,
    *,
    radius: float | None = None,
    per_decade: int = PER_DECADE,
    precision: float | None = None,
    energy: bool = True,
    rtol: float = RTOL,
    atol: float = ATOL,
    progress: Telling = None,
) -> xr.Dataset:
    """The tree of merges to the final state of a run from `start` (n, dim), or of every run of (runs, n, dim).

    The rows of `analysis.metastability.tree`, and along `time`

        count (time)     the number of clusters
        energy (time)    the scaled energy of paper D, a staircase (left out with energy=False; it costs n^2 a look)

    For an ensemble every variable has a first axis `run`. The last merges of all runs stand in one column: runs with
    fewer merges have nan and -1 in front. `analysis.metastability.quantiles` makes statistics of it,
    `dendrogram.draw` a picture, `to_dataframe` a table.

    precision: of the merge times, relative; it takes a second pass. If left out it is 1e-3 for one run; in an ensemble
    they are then half way between two looks.
    radius: tokens in a chain of steps this long are one cluster; 0.05, less from beta = 64 on: 0.4 / sqrt(beta).
    """
    check_model(model)
    check_implicit("flock.merge_tree", model, DTYPE, "It needs implicit steps.")
    request = Request(model, ending.LAST, scheme="rosenbrock", rtol=rtol, atol=atol, engine="cpu")
    job = request.starting(start)
    if energy and model.beta < 0:
        raise bad("energy", energy, "False where beta < 0", "The energy of paper D is for beta >= 0.")
    if energy and np.ndim(model.masses) == 2:
        raise bad("energy", energy, "False with (n, n) masses", "Rows that differ in what they count climb no energy.")
    flag("energy", energy)
    check_progress(progress)
    reach = default_radius(model) if radius is None else positive("radius", radius)
    looks = whole("per_decade", per_decade, 2, most=MOST_LOOKS)
    fine = (
        None if precision is None else scalar("precision", precision, f"a number >= {FINEST:g}", lambda v: v >= FINEST)
    )
    one = job.start.ndim == 2
    fine = PRECISION if fine is None and one else fine
    survey = Survey(job.engine, request.task, reach, looks, fine, energy)
    found = _all(survey, job.start[None] if one else job.start, Progress(progress, 1.0))
    text, variables = describe(model)
    attrs = {"model": text, "radius": reach, "rtol": request.task.rtol, "atol": request.task.atol, "per_decade": looks}
    attrs |= {"precision": math.nan if fine is None else fine, "versions": json.dumps(versions())}
    data = found[0] if one else _stacked(found)
    start_of_runs = ((TOKEN, AXIS) if one else (RUN, TOKEN, AXIS), job.start)
    return data.assign({"start": start_of_runs, **variables}).assign_attrs(attrs)


def default_radius(model: Model) -> float:
    """0.05, and less than the distance of clusters at large beta, which is of order 1/sqrt(beta)."""
    return min(0.05, 0.4 / math.sqrt(max(model.beta, 1.0)))


@dataclass(frozen=True)
class Survey:
    """How a run is looked at."""

    engine: Engine
    task: Task
    radius: float
    per_decade: int
    precision: float | None
    energy: bool
    stop: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(1, dtype=np.uint8))  # set to end every run

    def __call__(self, x: Array) -> xr.Dataset:
        """The merge tree of one run."""
        times, labels, energies = self._look(x)
        tree = metastability.tree(times, labels)
        if self.precision is not None:
            tree = self._refined(x, self.precision, tree, times, labels)
        data = {"count": (TIME, labels.max(axis=1) + 1)} | ({"energy": (TIME, energies)} if self.energy else {})
        return tree.assign(data).assign_coords({TIME: times})

    def _look(self, x: Array) -> tuple[Array, NDArray[np.int32], Array]:
        """Times, labels and energies to the end: a decade after all have met, or after the last thing moved."""
        run, decades = self._begin(x), 300 - round(math.log10(FIRST))
        grid = 10.0 ** (np.arange(1, self.per_decade * decades + 1) / self.per_decade + math.log10(FIRST))
        grid[-1] = ending.LAST
        times = np.concatenate([[0.0, FIRST], grid])
        labels: list[NDArray[np.int32]] = []
        energies: list[float] = []
        rest, size, last, model = 0, self.per_decade, x, self.task.model
        for frame in self._frames(run, x, times):
            labels.append(self._label(frame))
            energies.append(scaled_energy(frame, model.beta, model.masses) if self.energy else math.nan)
            if len(labels) % size == 0:
                if np.abs(frame - last).max() > ending.MOVED * (self.task.atol + self.task.rtol):
                    rest = len(labels)
                last = frame.copy()
                if run.outcome is Outcome.COLLAPSED and len(labels) >= rest + size:
                    break
        kept = min(max(rest + size, 2 * size), len(labels))
        return times[:kept], np.stack(labels[:kept]), np.array(energies[:kept])

    def _begin(self, x: Array) -> Stepper:
        return self.engine.begin(self.task, x, stop=self.stop)

    def _label(self, x: Array) -> NDArray[np.int32]:
        return clusters.label(x, self.radius).astype(np.int32)

    def _frames(self, run: Stepper, x: Array, times: Array) -> Iterator[Array]:
        """The tokens at the times, a few frames at a time."""
        most, last = ending.budget(len(x)), x
        for begin in range(0, len(times), self.per_decade):
            wanted = times[begin : begin + self.per_decade]
            frames, done = np.empty((len(wanted), *x.shape)), 0
            while done < len(wanted) and run.outcome in (None, Outcome.COLLAPSED):
                if run.outcome is Outcome.COLLAPSED:
                    frames[done:] = last
                    break
                made = run.advance(wanted[done:], frames[done:], PATIENCE)
                if sound(self.task, frames[done : done + made]) < made:
                    raise EngineError(f"{Outcome.NOT_FINITE.value} (Reached t = {run.t:.6g}.)")
                done += made
                if run.steps > most:
                    raise ending.never(run.t, run.steps)
            if run.outcome is not None and run.outcome.failed:
                raise EngineError(f"{run.outcome.value} (Reached t = {run.t:.6g}.)")
            last = frames[-1]
            yield from frames

    def _refined(
        self, x: Array, precision: float, tree: xr.Dataset, times: Array, labels: NDArray[np.int32]
    ) -> xr.Dataset:
        """The same tree with merge times to the precision: when the two came together for good in their interval."""
        at = tree["merge_time"].values.copy()
        place = np.searchsorted(times, at) - 1
        inside = max(1, math.ceil(math.log(10) / self.per_decade / math.log1p(precision)) - 1)
        looked = [int(k) for k in np.unique(place) if k >= 1]  # before the first time after 0 there is no log time
        if not looked:
            return tree
        fine = {k: np.geomspace(times[k], times[k + 1], inside + 2) for k in looked}
        run = self._begin(x)
        wanted = np.concatenate([fine[k][1:-1] for k in looked])
        seen = [self._label(frame) for frame in self._frames(run, x, wanted)]
        for row, k in enumerate(place):
            a, b = int(tree["merged"][row]), int(tree["into"][row])
            if k not in fine:
                continue
            begin = looked.index(int(k)) * inside
            frames = [labels[k], *seen[begin : begin + inside], labels[k + 1]]
            together = np.array([frame[a] == frame[b] for frame in frames])
            if together[0] or not together[-1]:  # a cluster that had lost the token it is named by
                continue
            last = int(np.flatnonzero(~together)[-1])
            at[row] = math.sqrt(fine[int(k)][last]) * math.sqrt(fine[int(k)][last + 1])
        order = np.argsort(at, kind="stable")
        left = tree["left"].values
        tree = tree.assign(merge_time=("merge", at)).isel(merge=order)
        return tree.assign(left=("merge", left))


def _all(survey: Survey, runs: Array, progress: Progress) -> list[xr.Dataset]:
    """Every run, a run a core."""
    progress.begin(len(runs))

    def one(r: int) -> xr.Dataset:
        made = survey(runs[r])
        progress.finish(r)
        return made

    try:
        return side_by_side(one, len(runs), survey.stop)
    finally:
        progress.end()


def _stacked(found: list[xr.Dataset]) -> xr.Dataset:
    """The runs in one Dataset: merges stand at the end of theirs, and what was last goes on to the longest time."""
    import xarray as xr

    sizes = {name: max(one.sizes[name] for one in found) for name in ("merge", "tree", TIME)}
    data = {}
    for name, first in found[0].data_vars.items():
        dim, columns = str(first.dims[0]), []
        for one in found:
            values = one[name].values
            short = sizes[dim] - len(values)
            if dim == TIME:
                columns.append(np.pad(values, (0, short), mode="edge"))
            else:
                blank = math.nan if values.dtype.kind == "f" else -1
                columns.append(np.pad(values, (short, 0) if dim == "merge" else (0, short), constant_values=blank))
        data[name] = ((RUN, dim), np.stack(columns))
    times = max((one[TIME].values for one in found), key=len)
    return xr.Dataset(data, coords={TIME: times})
