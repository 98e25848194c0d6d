"""How fast a distance goes to 0: the rates of Lemma 3.1 (A.2), fitted with an interval.

    exponential   distance(t) ~ C e^(-rate t)      log distance is straight in t
    power         distance(t) ~ C t^(-rate)        log distance is straight in log t

The window. It ends before the first distance at or below `floor`, where rounding is all there is to see. To
leave the transient out, it begins after 0, 1, ... or 12 sixteenths of the points: the first of these with which the
slopes of its two halves agree to 1 %, or to two standard errors of their noise; or else where they disagree least.

The interval. Residuals of such fits are correlated (a trajectory is smooth) or not random at all (a curve that is not
quite straight yet), so the usual formula is far too sure. The window is cut into eight blocks and each is left out in
turn: the spread of the eight slopes (block jackknife, with Student's t for 95 %) is the statistical part. It holds for
noise correlated over less than a block. Where the halves still disagree by more than their noise, the curve is on its
way to its law, not there yet: the interval is widened to hold the slope of the last third of the window and, from
there, twice the way to the limit of the slopes of the three thirds if they went on as a geometric sequence, but no more
than four times the way they have gone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock.arguments import Reals, named, real, scalar
from tokenflock.errors import bad

KINDS = ("auto", "exponential", "power")
# Distances of unit vectors in float64 are right to some 1e-16, those of two long computations to a thousand times that.
FLOOR = 1e-13
LARGEST = 1e75  # of a time: squares of its squares exist
CLOSEST = 1e-75  # of two times, for the same reason
FEWEST = 16  # points of a window
BEGINS = (16, 12)  # the window may begin at 0/16, 1/16, ..., 12/16 of the points
BLOCKS, STUDENT = 8, 2.3646  # 97.5 % of Student's t with 7 degrees of freedom
STRAIGHT, SIGNIFICANT = 0.01, 2.0
BEYOND, FARTHEST = 2.0, 4.0


@dataclass(frozen=True)
class Rate:
    """distance ~ constant e^(-rate t) or constant t^(-rate), as `kind` says; the rate is in [low, high] with 95 %.

    used: the window, so that t[slice(*used)] are the times that were fitted. A negative rate is a distance that grows.
    """

    kind: str
    rate: float
    low: float
    high: float
    constant: float
    used: tuple[int, int]


def rate(t: Any, distance: Any, kind: str = "auto", floor: float = FLOOR) -> Rate:
    """Fit distance ~ C e^(-rate t) or C t^(-rate); the window and the interval are those of this module's first lines.

    t, distance: (time,), at least 16 of them above the floor. kind: "exponential", "power", or "auto", which takes the
    one with the smaller residuals over the longer of the two windows. A power is fitted to times > 0 only.
    """
    named("kind", kind, KINDS)
    times, values = _checked(t, distance)
    least = scalar("floor", floor, "a finite number >= 0", lambda v: v >= 0)
    low = np.flatnonzero(values <= least)
    end = int(low[0]) if low.size else len(times)
    begin = 0 if kind == "exponential" else int(np.searchsorted(times, 0.0, side="right"))
    if end - begin < FEWEST:
        what = f"{max(end - begin, 0)} of {len(times)} points above {least:g}"
        what += "" if kind == "exponential" else ", at times > 0"
        raise bad("distance", what, f"at least {FEWEST}", "Keep more times before it gets there, or lower the floor.")
    log = np.log(values[:end])
    windows = {name: _window(_axis(name, times[:end]), log, begin) for name in KINDS[1:] if kind in ("auto", name)}
    longest = min(windows.values())

    def residual(name: str) -> float:
        return _line(_axis(name, times[longest:end]), log[longest:])[2]

    best = min(windows, key=residual)
    return _fitted(best, _axis(best, times[windows[best] : end]), log[windows[best] :], windows[best])


def _checked(t: Any, distance: Any) -> tuple[Reals, Reals]:
    times = real(
        "t",
        t,
        f"numbers up to {LARGEST:g}",
        lambda v: np.abs(v) <= LARGEST,
        "A run that failed has no later frames: drop them.",
    )
    values = real("distance", distance, "finite numbers >= 0", lambda v: v >= 0, "Take norms or geometry.distance.")
    if times.ndim != 1 or values.shape != times.shape:
        given = f"shapes {times.shape} and {values.shape}"
        raise bad("t, distance", given, "two arrays of one shape (time,)", "Fit an ensemble run by run.")
    if (np.diff(times) < CLOSEST).any():
        given = f"times that do not increase by {CLOSEST:g}"
        raise bad("t", given, "strictly increasing times", "Sort them, and drop repeated ones.")
    return times, values


def _axis(kind: str, times: Reals) -> Reals:
    """What log distance is straight in. Times <= 0 have no logarithm and are never used: any number will do."""
    return times if kind == "exponential" else np.log(np.where(times > 0, times, 1.0))


def _line(u: Reals, v: Reals) -> tuple[float, float, float]:
    """Slope, value at u = 0 and sum of squared residuals of the least-squares line."""
    du, dv = u - u.mean(), v - v.mean()
    slope = float(du @ dv / (du @ du))
    return slope, float(v.mean() - slope * u.mean()), float(np.sum((dv - slope * du) ** 2))


def _halves(u: Reals, v: Reals) -> tuple[float, float, float]:
    """Slopes of the early and of the late half, and the standard error that noise gives their difference.

    Noise is what jumps from one point to the next: v less the mean of its neighbours, so that bends do not count.
    """
    middle = len(u) // 2
    share = (u[1:-1] - u[:-2]) / (u[2:] - u[:-2])
    jump = v[1:-1] - (1 - share) * v[:-2] - share * v[2:]
    variance = float(np.mean(jump**2 / (1 + share**2 + (1 - share) ** 2)))
    spread = sum(variance / float(np.sum((part - part.mean()) ** 2)) for part in (u[:middle], u[middle:]))
    return _line(u[:middle], v[:middle])[0], _line(u[middle:], v[middle:])[0], math.sqrt(spread)


def _window(u: Reals, v: Reals, begin: int) -> int:
    """Where the window begins: the rule of this module's first lines."""
    parts, last = BEGINS
    most = len(u) - FEWEST
    starts = sorted({min(begin + k * (len(u) - begin) // parts, most) for k in range(last + 1)})
    disagreement = []
    for start in starts:
        early, late, noise = _halves(u[start:], v[start:])
        scale = max(abs(early + late) / 2, np.finfo(float).tiny)
        if abs(late - early) <= max(STRAIGHT * scale, SIGNIFICANT * noise):
            return start
        disagreement.append(abs(late - early) / scale)
    return starts[int(np.argmin(disagreement))]


def _fitted(kind: str, u: Reals, v: Reals, begin: int) -> Rate:
    slope, height, _ = _line(u, v)
    without = [np.delete(np.arange(len(u)), block) for block in np.array_split(np.arange(len(u)), BLOCKS)]
    slopes = np.array([_line(u[rest], v[rest])[0] for rest in without])
    error = math.sqrt((BLOCKS - 1) / BLOCKS * float(np.sum((slopes - slopes.mean()) ** 2)))
    reached = [slope - STUDENT * error, slope + STUDENT * error]
    early, late, noise = _halves(u, v)
    if abs(late - early) > SIGNIFICANT * noise:
        reached += _ahead(u, v)
    return Rate(kind, -slope, -max(reached), -min(reached), math.exp(height), (begin, begin + len(u)))


def _ahead(u: Reals, v: Reals) -> list[float]:
    """The slope of the last third, and how far it may go from there."""
    cuts = np.searchsorted(u, u[0] + (u[-1] - u[0]) * np.array([1, 2]) / 3)
    if np.diff([0, *cuts, len(u)]).min() < 3:  # times so uneven that a third of them says nothing
        cuts = len(u) * np.array([1, 2]) // 3
    first, second, third = (_line(a, b)[0] for a, b in zip(np.split(u, cuts), np.split(v, cuts), strict=True))
    before, after = second - first, third - second
    farthest = FARTHEST * abs(third - first)
    if before * after <= 0:  # to and fro: no way to go on
        return [first, second, third]
    way = BEYOND * after * after / (before - after) if abs(after) < abs(before) else math.copysign(farthest, after)
    return [third, third + float(np.clip(way, -farthest, farthest))]
