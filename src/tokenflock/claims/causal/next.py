"""What the sceptic's checks of paper A share: the exact merge time, arrivals, and panels.

    next_time, next_weights, next_discrete, next_start, next_sharpness    one claim a file

Two clusters, V = I, Q = K = I: the leader of the later one sees m tokens at x_1 and itself, so that its angle a to x_1
obeys a' = -m w sin a / (1 + m w) with w = e^{beta (cos a - 1)}. With u = log tan(a/2), da / sin a = du and
1 - cos a = 1 + tanh u, the time from angle a_0 to angle a_1 is a smooth integral,

    T = int_{u_1}^{u_0} (1 + e^{beta (1 + tanh u)} / m) du  ~  e^{beta (1 - cos a_0)} / (m beta sin^2 a_0).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tokenflock import plot
from tokenflock.analysis.statistics import mean_and_error
from tokenflock.geometry import Array, retract, tangent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Panels of a check's figure are this high, in inches.
HEIGHT = 2.6


def merge_time(angle: float, near: float, beta: float, m: int) -> float:
    """T above: from `angle` to `near`, both in (0, pi), with m tokens at x_1."""
    from scipy.integrate import quad

    high, low = (math.log(math.tan(a / 2)) for a in (angle, near))
    return quad(lambda u: 1 + math.exp(beta * (1 + math.tanh(u))) / m, low, high, epsrel=1e-11, limit=400)[0]


def merge_law(angle: ArrayLike, beta: ArrayLike, m: ArrayLike) -> Any:
    """What T tends to for large beta: e^{beta (1 - cos angle)} / (m beta sin^2 angle)."""
    a, b = np.asarray(angle), np.asarray(beta)
    return np.exp(2 * b * np.sin(a / 2) ** 2) / (np.asarray(m) * b * np.sin(a) ** 2)


def at_angle(x: Array, angle: float, rng: np.random.Generator) -> Array:
    """A unit vector at this angle from x, in a uniform direction."""
    side = retract(tangent(x, rng.standard_normal(x.shape)))
    return retract(math.cos(angle) * x + math.sin(angle) * side)


def arrival(times: Array, gap: Array, near: float) -> float:
    """When gap (time,) comes below `near` for good, on a straight line of log gap; nan if it does not."""
    late = np.flatnonzero(gap > near)
    if not late.size:
        return float(times[0])
    k = int(late[-1])
    if k + 1 == len(gap):
        return math.nan
    before, after = np.log(gap[k]), np.log(max(gap[k + 1], 1e-300))
    return float(times[k] + (times[k + 1] - times[k]) * (before - math.log(near)) / (before - after))


def panels(columns: int, height: float = HEIGHT, **grid: Any) -> tuple[Figure, list[Axes]]:
    """A page-wide figure with lettered panels side by side; call it inside plot.style()."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plot.PAGE, height), dpi=plot.DPI, layout="constrained")
    axes = list(figure.subplots(1, columns, **grid)) if columns > 1 else [figure.subplots()]
    for ax, letter in zip(axes, "abcdef", strict=False):
        ax.set_title(letter, loc="left", fontweight="bold", fontsize=10)
    return figure, axes


def points(ax: Axes, x: ArrayLike, samples: list[Any], log: bool = False, **look: Any) -> None:
    """The mean of every sample with its 95 % interval; log: the samples are logarithms, drawn as what they are of."""
    pairs = np.array([mean_and_error(s) for s in samples])
    mean, half = pairs[:, 0], 1.96 * np.where(np.isfinite(pairs[:, 1]), pairs[:, 1], 0.0)
    low, high = mean - half, mean + half
    if log:
        mean, low, high = np.exp(mean), np.exp(low), np.exp(high)
    options: dict[str, Any] = {"fmt": "o", "ms": 3.5, "capsize": 2, "elinewidth": 0.8, **look}
    ax.errorbar(np.asarray(x), mean, yerr=[mean - low, high - mean], **options)
