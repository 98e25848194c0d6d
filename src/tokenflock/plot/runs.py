"""A run as a figure, and as a film: where its tokens are, how they came there, and how many clusters they make."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import clusters, persistence
from tokenflock.errors import bad
from tokenflock.geometry import Array
from tokenflock.plot import films
from tokenflock.plot.tables import KIND, law
from tokenflock.trajectories import AXIS, GROUP, RUN, TIME, TOKEN

if TYPE_CHECKING:
    import xarray as xr

EYE = (24.0, -60.0)  # degrees: from where a sphere is seen
DECADES = 3.0  # kept times that span more than so many powers of ten are drawn on a logarithmic axis


def draw(data: xr.Dataset, which: int | None = None, *, of: str | None = None, along: str | None = None) -> plot.Figure:
    """A run as a figure: its tokens at the end, their paths, the number of clusters; or the law in a sweep's table.

    data: a trajectory, or what flock.sweep gives. which: a run of an ensemble, from 0; the first if left out.
    of, along: of a table, the quantity and the axis, as for `law`.
    """
    if getattr(data, "attrs", {}).get("kind") == KIND:
        if which is not None:
            raise bad("which", which, "nothing, for the table of a sweep", "It draws all runs: give of= and along=.")
        return law(data, of, along)
    if of is not None or along is not None:
        name, given = ("of", of) if of is not None else ("along", along)
        raise bad(name, given, "nothing, for a run", "of= and along= are for the table of a sweep.")
    times, x, spherical, number = _one(data, which)
    names, group = _groups(data)
    with plot.style():
        figure = plot.page(2.7)
        place, middle, right = figure.subplots(1, 3, width_ratios=(1, 1.25, 1.25))
        _tokens(place, x, spherical, group)(len(times) - 1)
        layered = data[TIME].attrs.get("long_name") == "layer"
        place.set_title(f"tokens at {'layer' if layered else '$t$ ='} {times[-1]:.6g}", pad=4)
        _paths(middle, times, x, spherical, group)
        if group is not None:
            _name_groups(figure, middle, names, group, paired=not (spherical and x.shape[-1] == 2))
        words = _counted(right, times, x, spherical)
        for ax in (middle, right):
            _time_axis(ax, times, "layer" if layered else "time $t$")
        figure.subplots_adjust(left=0.02, right=0.985, bottom=0.19, top=0.88, wspace=0.34)
    who = "" if number is None else f"Run {number} of the ensemble. "
    n, dim = x.shape[1:]
    end = f"through {times[-1]:.6g} layers" if layered else f"to t = {times[-1]:.6g}"
    return plot.captioned(figure, f"{who}{n} tokens in dimension {dim}, {end}. {words}")


def animate(run: xr.Dataset, out: str | Path, which: int | None = None) -> Path:
    """Write a run as a film, .gif or .mp4, whole or not at all: some ten seconds, every kept time or 200 of them.

    run: a trajectory with positions. out: the name of the file. which: a run of an ensemble, from 0; the first if
    left out. An .mp4 needs ffmpeg, or the extra `animate`.
    """
    path = films.check_target(out)
    times, x, spherical, _ = _one(run, which)
    with plot.style():
        figure = plot.page(4.4, 4.0, dpi=plot.MOVIE_DPI)
        ax = figure.add_axes((0.03, 0.02, 0.94, 0.86))
        show = _tokens(ax, x, spherical, _groups(run)[1])
        title = figure.text(0.5, 0.94, "", ha="center", va="center", fontsize=10)

        def frame(k: int) -> None:
            show(k)
            title.set_text(f"$t$ = {times[k]:.4g}")

        return films.write(path, (figure, frame, len(times)))


def _one(run: Any, which: int | None) -> tuple[Array, Array, bool, int | None]:
    """Times, tokens (time, n, d) while they are finite, whether they are on a sphere, the run of an ensemble."""
    if not hasattr(run, "data_vars"):
        raise bad("run", type(run).__name__, "a trajectory", "Make one with flock.simulate, or flock.load a file.")
    if "x" not in run or not {TIME, TOKEN, AXIS} <= set(run["x"].dims) or not run.sizes[TIME]:
        advice = "Simulate with positions=True, and keep a time."
        raise bad("run", "a Dataset without positions in time", "a trajectory with x(time, token, axis)", advice)
    x, number = run["x"], None
    if x.dtype.kind not in "iuf":
        raise bad("run", f"positions of type {x.dtype}", "a trajectory with real positions")
    if RUN in x.dims:
        whole = isinstance(which, int | np.integer) and not isinstance(which, bool)
        if which is not None and not (whole and 0 <= which < x.sizes[RUN]):
            raise bad("which", which, f"a whole number from 0 to {x.sizes[RUN] - 1}", "Runs count from 0.")
        number = int(which or 0)
        x = x.isel({RUN: number})
    elif which is not None:
        raise bad("which", which, "nothing, for a single run", "Only an ensemble has several.")
    frames = np.asarray(x.transpose(TIME, TOKEN, AXIS).values, dtype=float)
    whole_frames = np.isfinite(frames).all(axis=(1, 2))
    last = int(np.argmin(whole_frames)) if not whole_frames.all() else len(frames)
    if not last or not frames.size:
        raise bad("run", "a run without one finite frame of tokens", "a trajectory with finite positions")
    frames = frames[:last]
    spherical = bool(np.abs(np.linalg.norm(frames, axis=-1) - 1).max() < 1e-4)
    return np.asarray(run[TIME].values, dtype=float)[:last], frames, spherical, number


def _groups(run: Any) -> tuple[list[str], Array | None]:
    """The names of the groups of a run, and the number of the group of every token; none where it has no groups."""
    if GROUP not in run.coords:
        return [], None
    labels = [str(label) for label in run[GROUP].values]
    names = list(dict.fromkeys(labels))
    return names, np.array([float(names.index(label)) for label in labels])


def _name_groups(figure: plot.Figure, ax: plot.Axes, names: list[str], group: Array, paired: bool) -> None:
    """What the colours of tokens stand for, above them. paired: lines stand for pairs of groups, and have names."""
    shade = plot.shades(np.arange(len(names), dtype=float))
    entries = [
        {"marker": "o", "ls": "none", "ms": 4, "color": shade[k], "label": f"{name} ({int((group == k).sum())})"}
        for k, name in enumerate(names)
    ]
    plot.key(figure, (0.13, 0.06), entries, ncols=len(names), handletextpad=0.2, columnspacing=0.8)
    if paired and ax.lines:
        for line, (a, b) in zip(ax.lines, _pairs(len(names)), strict=False):
            line.set_label(names[a] if a == b else f"{names[a]}, {names[b]}")
        ax.legend(loc="best", fontsize=6)


def _pairs(groups: int) -> list[tuple[int, int]]:
    """Every group with itself and with those after it."""
    return [(a, b) for a in range(groups) for b in range(a, groups)]


def _tokens(ax: plot.Axes, x: Array, spherical: bool, group: Array | None = None) -> Callable[[int], None]:
    """Axes for the tokens, and what draws frame k on them: the circle, the sphere, or the two main directions."""
    n, dim = x.shape[1:]
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    if spherical and dim == 2:

        def circle(k: int) -> None:
            ax.clear()
            plot.circle_snapshot(ax, x[k], size=6, spacing=min(0.034, 0.9 / n * 2), colours=group)

        return circle
    flat: Array
    if spherical and dim == 3:
        eye = plot.view(*EYE)
        plot.sphere(ax, eye)
        flat, near = x @ eye[:2].T, x @ eye[2] >= 0
    else:
        flat, near = _flat(x), np.ones(x.shape[:2], dtype=bool)
        reach = 1.08 if spherical else float(np.abs(flat).max()) * 1.08 or 1.0
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="the two main directions")
        if spherical:
            turn = np.linspace(0, 2 * np.pi, 181)
            ax.plot(np.cos(turn), np.sin(turn), color=plot.COLOURS["grey"], lw=0.6)
    shade = plot.shades(n if group is None else group)
    far_shade = np.array([plot.pale(colour) for colour in shade])
    dots = ax.scatter(flat[0, :, 0], flat[0, :, 1], s=9, c=shade, lw=0, zorder=5)

    def show(k: int) -> None:
        dots.set_offsets(flat[k])
        dots.set_facecolor([shade[j] if near[k, j] else (*far_shade[j], 1.0) for j in range(n)])

    return show


def _flat(x: Array) -> Array:
    """The tokens (time, n, d) along the two directions in which they differ most over all times, (time, n, 2)."""
    points = x.reshape(-1, x.shape[-1])
    directions = np.linalg.eigh(points.T @ points)[1][:, ::-1][:, :2]
    flat: Array = x @ (directions if directions.shape[1] == 2 else np.hstack([directions, 0 * directions]))
    return flat


def _paths(ax: plot.Axes, times: Array, x: Array, spherical: bool, group: Array | None = None) -> None:
    """Angles of the circle, else the overlaps of pairs on a sphere, else the lengths of tokens."""
    if spherical and x.shape[-1] == 2:
        plot.angle_paths(ax, times, x, colours=group)
        ax.set_title("angles", pad=4)
        return
    if group is not None:
        means = np.stack([x[:, group == k].mean(axis=1) for k in range(int(group.max()) + 1)], axis=1)
        for a, b in _pairs(means.shape[1]):  # the mean of <x_i, x_j> over i and j
            ax.plot(times, np.sum(means[:, a] * means[:, b], axis=-1), ls="-" if a == b else "--")
        ax.set_title("mean overlap within and between groups", pad=4)
        return
    if spherical and x.shape[1] > 1:
        few = x[:, :: max(1, x.shape[1] // 300)]  # of more tokens than this, some: n^2 overlaps a frame
        i, j = np.triu_indices(few.shape[1], 1)
        shown = [np.quantile((frame @ frame.T)[i, j], (0.05, 0.5, 0.95)) for frame in few]
        title = "overlaps of pairs: median, 5 to 95 %"
    else:
        shown = [np.quantile(np.linalg.norm(frame, axis=-1), (0.05, 0.5, 0.95)) for frame in x]
        title = "lengths of tokens: median, 5 to 95 %"
    low, mid, high = np.array(shown).T
    ax.fill_between(times, low, high, color=plot.COLOURS["sky"], alpha=0.4, lw=0)
    ax.plot(times, mid, color=plot.COLOURS["blue"])
    ax.set_title(title, pad=4)


def _counted(ax: plot.Axes, times: Array, x: Array, spherical: bool) -> str:
    """The number of clusters against time, at the radius that lasts longest at the end; the sentence that says so."""
    space = "sphere" if spherical else "euclidean"
    points = x / np.linalg.norm(x, axis=-1, keepdims=True) if spherical else x
    found = persistence.lasting(points[-1], space)
    counts = np.array([clusters.count(frame, found.radius, space) for frame in points])
    ax.step(times, counts, where="mid", color=plot.COLOURS["red"])
    ax.set_ylim(bottom=0)
    ax.set_title(f"clusters, linked within {found.radius:.2g}", pad=4)
    return f"At the end: {found}; clusters are counted at the middle of these radii."


def _time_axis(ax: plot.Axes, times: Array, name: str) -> None:
    after = times[times > 0]
    if len(after) > 2 and np.log10(after[-1] / after[0]) > DECADES:
        ax.set_xscale("log")
        ax.set_xlim(after[0], after[-1])
    elif times[-1] > times[0]:
        ax.set_xlim(times[0], times[-1])
    ax.set_xlabel(name)
