"""How the pictures of claims and studies are laid out: panels side by side, and means with their intervals.

Call these inside `plot.style()`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tokenflock import plot
from tokenflock.analysis.statistics import mean_and_error

#: Panels of a check's picture are this high, in inches.
HEIGHT = 2.6


def row(
    columns: int = 1, height: float = HEIGHT, width: float = plot.PAGE, **grid: Any
) -> tuple[plot.Figure, list[plot.Axes]]:
    """A figure of this size, in inches, with panels side by side; grid: further options of matplotlib's subplots."""
    figure = plot.page(height, width, layout="constrained")
    return figure, list(figure.subplots(1, columns, squeeze=False, **grid)[0])


def panels(columns: int, height: float = HEIGHT, **grid: Any) -> tuple[plot.Figure, list[plot.Axes]]:
    """A page-wide `row` of lettered panels."""
    figure, axes = row(columns, height, **grid)
    for ax, letter in zip(axes, "abcdef", strict=False):
        ax.set_title(letter, loc="left", fontweight="bold", fontsize=10)
    return figure, axes


def points(ax: plot.Axes, x: ArrayLike, samples: Sequence[ArrayLike], log: bool = False, **look: Any) -> None:
    """The mean of every sample with its 95 % interval; log: the samples are logarithms, drawn as what they are of."""
    pairs = np.array([mean_and_error(s) for s in samples])
    mean, half = pairs[:, 0], 1.96 * np.where(np.isfinite(pairs[:, 1]), pairs[:, 1], 0.0)
    low, high = mean - half, mean + half
    if log:
        mean, low, high = np.exp(mean), np.exp(low), np.exp(high)
    options: dict[str, Any] = {"fmt": "o", "ms": 3.5, "capsize": 2, "elinewidth": 0.8, **look}
    ax.errorbar(np.asarray(x), mean, yerr=[mean - low, high - mean], **options)
