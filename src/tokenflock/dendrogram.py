"""Pictures of a merge tree (flock.merge_tree) on log time: the tree, the number of clusters, the energy staircase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import plot
from tokenflock.arguments import dataset, flag, scalar
from tokenflock.errors import bad
from tokenflock.plot import doors

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


#: what every merge tree has
TREE = {"merged", "into", "merge_time", "born", "size_merged", "left", "root"}


def order(tree: xr.Dataset) -> list[int]:
    """The clusters from top to bottom: a cluster, then what it takes, in time.

    No branch crosses another, unless a cluster broke away again and merged twice, as some do before they are tight.
    """
    tree = _one(tree)
    taken: dict[int, list[int]] = {}
    for merged, into in zip(tree["merged"].values.tolist(), tree["into"].values.tolist(), strict=True):
        taken.setdefault(into, []).append(merged)
    rows: dict[int, None] = {}  # an ordered set: a name that broke away and merged again has one row
    waiting = tree["root"].values.tolist()[::-1]
    while waiting:
        name = waiting.pop()
        if name not in rows:
            rows[name] = None
            waiting += taken.get(name, [])[::-1]
    return list(rows)


def draw(ax: Axes, tree: xr.Dataset, *, since: float | None = None, names: bool | None = None) -> None:
    """The dendrogram of one run: a line for every cluster, to where it joins the line of the one it merged into.

    since: leave out what merged before this time; the tree is that of the clusters there were then. names: write the
    first token of every cluster, counted from 1; by default up to 40 of them.
    """
    doors.axes(ax)
    tree = _one(tree)
    if names is not None:
        flag("names", names)
    if since is not None:
        scalar("since", since, "a time > 0", lambda v: v > 0)
    first = float(np.nanmin(tree["merge_time"].values, initial=1.0)) / 2 if since is None else float(since)
    tree = tree.isel(merge=np.flatnonzero(tree["merge_time"].values >= first))
    rows = {name: row for row, name in enumerate(order(tree))}
    names = len(rows) <= 40 if names is None else names
    times = tree["merge_time"].values
    end = 10.0 * float(times.max(initial=first))
    shade = plot.shades(max(rows, default=0) + 1)
    columns = (tree[name].values.tolist() for name in ("merged", "into", "merge_time", "born", "size_merged"))
    for merged, into, time, born, size in zip(*columns, strict=True):
        width = 0.5 + 0.35 * np.log2(size)
        look: dict[str, Any] = {"color": shade[merged], "lw": width, "solid_capstyle": "butt"}
        ax.plot([max(first, born), time], [rows[merged]] * 2, **look)
        ax.plot([time] * 2, [rows[merged], rows[into]], color=shade[merged], lw=0.6)
    for root in tree["root"].values.tolist():
        ax.plot([first, end], [rows[root]] * 2, color=plot.STRONG, lw=1.6)
    ax.set(xscale="log", xlim=(first, end), ylim=(len(rows) - 0.5, -0.5), xlabel="time")
    ax.set_yticks(range(len(rows)) if names else [], [f"{name + 1}" for name in rows] if names else [])
    ax.set_ylabel("first token of the cluster")


def counts(ax: Axes, tree: xr.Dataset) -> None:
    """The number of clusters against log time: of one run, or of `metastability.quantiles`, with its outer band."""
    doors.axes(ax)
    dataset("tree", tree, "what flock.merge_tree made")
    if "count" not in tree or "run" in tree["count"].dims:
        raise bad("tree", "an ensemble", "one run, or metastability.quantiles(trees)", "Say what is typical first.")
    late = tree["time"].values > 0
    t, values = tree["time"].values[late], tree["count"].values[..., late]
    if values.ndim == 1:
        ax.step(t, values, where="post")
    else:
        ax.fill_between(t, values[0], values[-1], step="post", alpha=0.25, lw=0)
        ax.step(t, values[len(values) // 2], where="post")
    ax.set(xscale="log", yscale="log", xlabel="time", ylabel="clusters", xlim=(t[0], t[-1]))


def staircase(ax: Axes, tree: xr.Dataset) -> None:
    """The scaled energy of one run against log time, and thin lines where clusters merged."""
    doors.axes(ax)
    tree = _one(tree)
    if "energy" not in tree:
        raise bad("tree", "one without energy", "one with it", "Make it with flock.merge_tree(..., energy=True).")
    late = tree["time"].values > 0
    for time in tree["merge_time"].values[tree["left"].values < 10]:
        ax.axvline(time, color="#d3d7dc", lw=0.5, zorder=0)
    ax.plot(tree["time"].values[late], tree["energy"].values[late])
    ax.set(xscale="log", xlabel="time", ylabel="scaled energy", ylim=(0, 1.05))


def _one(tree: xr.Dataset) -> xr.Dataset:
    """The merge tree of one run; of a run of an ensemble, without the blanks."""
    made = "what flock.merge_tree or metastability.tree made"
    if not TREE <= set(dataset("tree", tree, made).data_vars):
        raise bad("tree", "a Dataset that is no merge tree", made)
    if "run" in tree.dims:
        raise bad("tree", "an ensemble", "the merge tree of one run", "Take one of its runs: tree.isel(run=0).")
    whole = tree.isel(merge=np.flatnonzero(tree["merged"].values >= 0))
    return whole.isel(tree=np.flatnonzero(whole["root"].values >= 0))
