"""How the number of clusters depends on the radius, as a curve and as a barcode."""

from __future__ import annotations

from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import persistence as analysis

BARS = 400  # more cannot be told apart in a figure: the longest are drawn


def persistence(x: Any, space: str = "sphere") -> plot.Figure:
    """Count against radius, and the barcode of one set of tokens (n, d); the radii that last longest are shaded.

    x: tokens of one moment, or run.isel(time=-1). space: "sphere" or "euclidean". The caption says what lasts.
    """
    found = analysis.lasting(x, space)
    ends = np.maximum(np.asarray(analysis.barcode(x, space)), analysis.FLOOR)
    with plot.style():
        figure = plot.page(3.2, 4.4)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(1.2, 1))
        curve(upper, ends, found)
        shown = np.sort(ends)[::-1][:BARS]
        left = ends.min() / 3 if len(ends) else analysis.FLOOR
        lower.hlines(
            np.arange(len(shown)), left, shown, color=plot.COLOURS["blue"], lw=max(0.3, 60 / max(60, len(shown)))
        )
        lower.set(xlabel="radius", ylabel="bars, longest below", yticks=[])
        lower.axvspan(found.low, found.high, color=plot.COLOURS["green"], alpha=0.15, lw=0)
        figure.subplots_adjust(left=0.13, right=0.97, bottom=0.15, top=0.93, hspace=0.12)
    return plot.captioned(figure, f"{found}. Shaded: the radii in which this number of clusters stays.")


def curve(ax: plot.Axes, ends: Any, found: analysis.Lasting | None = None) -> None:
    """Count against radius on given Axes, from the ends of the bars; found: the stretch to shade."""
    at = np.sort(np.asarray(ends))
    steps = len(at) + 1 - np.arange(len(at) + 1)
    begin = at[0] / 3 if len(at) else analysis.FLOOR
    last = max(found.high if found else 0.0, at[-1] * 1.5 if len(at) else 1.0)
    ax.step([begin, *at, last], [*steps, steps[-1]], where="post", color=plot.COLOURS["blue"])
    if found is not None:
        ax.axvspan(found.low, found.high, color=plot.COLOURS["green"], alpha=0.15, lw=0)
        ax.set_title(f"{found.count} cluster{'s' if found.count != 1 else ''} last longest: a factor {found.ratio:.3g}")
    ax.set(xscale="log", yscale="log", ylabel="clusters")
