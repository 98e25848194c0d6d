"""The table of a sweep as a law: a quantity against an axis, on logarithmic scales, with intervals and a slope."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import statistics
from tokenflock.arguments import named
from tokenflock.errors import bad

if TYPE_CHECKING:
    import xarray as xr

KIND = "tokenflock sweep"  # in the attributes of what flock.sweep gives
REPLICATE = "replicate"
#: variables of a table that say how runs went
ABOUT = ("seed", "outcome", "reason", "wall_s")


def law(table: xr.Dataset, of: str | None = None, along: str | None = None) -> plot.Figure:
    """A quantity of a sweep against one of its axes: means over replicates with 95 % intervals, and the fitted power.

    table: what flock.sweep gives. of: a variable with one number a run; the first if left out. along: an axis of
    numbers; the longest if left out. A second axis becomes a line for each of its values. Both scales are logarithmic
    where everything is positive; then of ~ along^slope, least squares through the logarithms of the means, with its own
    95 % interval (statistics.fit). Runs that failed do not count.
    """
    name, axis = _chosen(table, of, along)
    values = table[name].astype(float).where(table["outcome"] >= 0) if "outcome" in table else table[name].astype(float)
    others = [str(dim) for dim in values.dims if dim not in (axis, REPLICATE)]
    if len(others) > 1:
        advice = f"Choose values of the others: table.isel({', '.join(f'{dim}=0' for dim in others[1:])})."
        raise bad("table", f"a table with the axes {', '.join([axis, *others])}", "one axis or two", advice)
    at = np.asarray(table[axis].values, dtype=float)
    order = np.argsort(at)
    said = []
    with plot.style():
        figure = plot.page(3.0, 4.4)
        ax = figure.add_axes((0.15, 0.16, 0.82, 0.76))
        lines = [(None, values)] if not others else [(v, values.sel({others[0]: v})) for v in table[others[0]].values]
        positive = bool((at > 0).all())
        for label, line in lines:
            rows = line.transpose(axis, ...).values.reshape(len(at), -1)[order]
            means = [statistics.interval(row[np.isfinite(row)]) if np.isfinite(row).any() else None for row in rows]
            positive = positive and all(m is None or m.value > 0 for m in means)
            said.append(_line(ax, at[order], means, "" if label is None else f"{others[0]} = {_short(label)}"))
        if positive:
            ax.set(xscale="log", yscale="log")
        ax.set(xlabel=axis, ylabel=f"{name}, mean and 95 % interval")
        if any(said):
            ax.legend()
        number = values.sizes.get(REPLICATE, 1)
    words = f"{name} against {axis}: means of {number} replicate{'s' if number != 1 else ''} with 95 % intervals."
    return plot.captioned(figure, " ".join([words, *(f"{line}." for line in said if line)]))


def _chosen(table: Any, of: str | None, along: str | None) -> tuple[str, str]:
    """The variable and the axis, as asked for or the first that will do."""
    if getattr(table, "attrs", {}).get("kind") != KIND:
        raise bad("table", type(table).__name__, "the table of a sweep", "Make one with flock.sweep, or open a store.")
    axes = {str(d): int(table.sizes[d]) for d in table["seed"].dims if d != REPLICATE}
    numeric = [d for d in axes if np.issubdtype(table[d].dtype, np.number)]
    fit = [str(n) for n in table.data_vars if n not in ABOUT and set(table[n].dims) == {*table["seed"].dims}]
    plain = [n for n in fit if np.issubdtype(table[n].dtype, np.number) or table[n].dtype == bool]
    if of is not None:
        named("quantity of the table", of, plain)
    if along is not None:
        named("axis of numbers", along, numeric)
    if not plain or not numeric:
        given = f"quantities {plain or 'none'}, axes of numbers {numeric or 'none'}"
        raise bad("table", given, "one number a run, along an axis of numbers")
    return of or plain[0], along or max(numeric, key=lambda dim: axes[dim])


def _line(ax: plot.Axes, at: Any, means: list[statistics.Estimate | None], label: str) -> str:
    """One line with its bars, and the power that it follows, in words; "" where none can be fitted."""
    kept = [(a, m) for a, m in zip(at, means, strict=True) if m is not None]
    a, middle = np.array([p[0] for p in kept]), np.array([m.value for _, m in kept])
    # one replicate has an interval without ends: no bar
    ends = [(m.low, m.high) if math.isfinite(m.high) else (m.value, m.value) for _, m in kept]
    bars = np.abs(np.array(ends).T - middle)
    told = ""
    if len(a) >= 3 and (a > 0).all() and (middle > 0).all() and np.ptp(middle) > 0:
        found = statistics.fit(np.column_stack([np.ones(len(a)), np.log(a)]), np.log(middle)).estimate(1)
        told = f"slope {found}"
    shown = ax.errorbar(a, middle, bars, fmt="o", ms=3, capsize=2, lw=0.9)
    words = ", ".join(part for part in (label, told) if part)
    if told:
        height = float(np.mean(np.log(middle) - found.value * np.log(a)))
        ax.plot(a, np.exp(height + found.value * np.log(a)), color=shown[0].get_color(), lw=0.8, label=words)
    elif label:
        shown.set_label(label)
    return words


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
