"""Numbers with their intervals: means, shares, quantiles and fitted laws. Every interval is a 95 % one.

interval      of a mean, Student's t
wilson        of a share: never empty, never beyond 0 and 1 (Wilson 1927)
bootstrap     of any statistic, by drawing the trials again
fit, slope    least squares, errors that allow residuals of unequal size (HC3)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tokenflock.arguments import count, function, numbers, real, scalar, whole
from tokenflock.errors import bad
from tokenflock.geometry import Array

SHOWN = 1.959964  # standard errors of a 95 % interval
RESAMPLES = 2000
MOST_TRIALS = 2**53  # whole numbers that a float64 tells apart
LARGEST = 1e75  # of what is fitted: squares of its squares exist
DRAWS = 4096  # draws of rows beside which one number is kept: what takes days is refused as what takes all memory


class Estimate(NamedTuple):
    """A number and its 95 % interval."""

    value: float
    low: float
    high: float

    def holds(self, other: float) -> bool:
        """Whether the interval holds another number."""
        return self.low <= scalar("other", other, "a finite number") <= self.high

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


class Fit(NamedTuple):
    """Coefficients of least squares, their covariance, and the share of the variance that they explain."""

    coefficients: Array
    covariance: Array
    explained: float

    def estimate(self, k: int) -> Estimate:
        """Coefficient k with its interval."""
        k = whole("k", k, 0, "Coefficients count from 0.", most=len(self.coefficients) - 1)
        half = SHOWN * math.sqrt(max(self.covariance[k, k], 0.0))
        value = float(self.coefficients[k])
        return Estimate(value, value - half, value + half)


def interval(values: ArrayLike) -> Estimate:
    """The mean of independent values that are not nan; one value alone has an interval without ends."""
    from scipy.stats import t

    mean, error = mean_and_error(values)
    n = int(np.isfinite(_values(values)).sum())
    half = float(t.isf(0.025, n - 1)) * error if n > 1 else math.inf
    return Estimate(mean, mean - half, mean + half)


def wilson(hits: int, trials: int) -> Estimate:
    """The share hits / trials; nan from 0 to 1 without trials."""
    hits, trials = _hits(hits, trials)
    if not trials:
        return Estimate(math.nan, 0.0, 1.0)
    share, z2 = hits / trials, SHOWN**2
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = SHOWN / (1 + z2 / trials) * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    # At 0 and 1 the ends are exact; rounding must not put the share outside.
    return Estimate(share, min(max(middle - half, 0.0), share), max(min(middle + half, 1.0), share))


def bootstrap(
    rows: ArrayLike, statistic: Callable[[Any], float], seed: int = 0, resamples: int = RESAMPLES
) -> Estimate:
    """statistic(rows) and the 2.5 % and 97.5 % quantiles of it over rows drawn again with replacement."""
    if not numbers(rows).size:
        return Estimate(math.nan, math.nan, math.nan)
    table = real("rows", rows, f"numbers up to {LARGEST:g} (m, ...)", lambda v: np.abs(v) <= LARGEST)
    if not table.ndim:
        raise bad("rows.shape", (), "(m, ...)")
    function("statistic", statistic, "a function of the rows", "For example numpy.mean.")
    generator = np.random.default_rng(whole("seed", seed, 0))
    resamples = count("resamples", resamples, each=DRAWS * len(table))
    value = scalar("statistic(rows)", statistic(table), "a finite number")
    drawn = [statistic(table[generator.integers(len(table), size=len(table))]) for _ in range(resamples)]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return Estimate(value, float(low), float(high))


def fit(columns: ArrayLike, y: ArrayLike) -> Fit:
    """Least squares of y (m,) on columns (m, k), a column of ones included by the caller."""
    allowed = f"numbers up to {LARGEST:g}"
    a = real("columns", columns, allowed, lambda v: np.abs(v) <= LARGEST)
    target = real("y", y, allowed, lambda v: np.abs(v) <= LARGEST)
    if a.ndim != 2 or target.shape != a.shape[:1] or np.linalg.matrix_rank(a) < a.shape[1]:
        advice = "Take more points, or leave out columns that say the same."
        raise bad("columns", f"shape {a.shape} for {target.shape}", "(m, k) of rank k for y (m,)", advice)
    sizes = np.abs(a).max(axis=0)
    a = a / sizes  # in columns of size 1, whose products neither overflow nor vanish
    inverse = np.linalg.inv(a.T @ a)
    found = inverse @ a.T @ target
    # HC3: a residual is divided by the part of it that the fit could not absorb, which keeps few points honest.
    leverage = np.einsum("ij,jk,ik->i", a, inverse, a)
    residual = target - a @ found
    scaled = residual / np.maximum(1 - leverage, 1e-12)
    with np.errstate(over="ignore"):  # the square of a coefficient may have no float64
        cover = inverse @ (a.T * scaled**2) @ a @ inverse / sizes / sizes[:, None]
    total = float(np.sum((target - target.mean()) ** 2))
    return Fit(found / sizes, cover, 1 - float(residual @ residual) / total if total else math.nan)


def slope(x: ArrayLike, y: ArrayLike) -> tuple[float, float, float]:
    """(slope, its standard error, intercept) of the least-squares line, as `fit` finds them."""
    at = real("x", x, f"numbers up to {LARGEST:g}", lambda v: np.abs(v) <= LARGEST)
    if at.ndim != 1:
        raise bad("x.shape", at.shape, "(m,)")
    line = fit(np.column_stack([np.ones(at.size), at]), y)
    return float(line.coefficients[1]), math.sqrt(max(line.covariance[1, 1], 0.0)), float(line.coefficients[0])


def mean_and_error(values: ArrayLike) -> tuple[float, float]:
    """Mean and standard error of the values that are not nan."""
    v = _values(values)
    v = v[np.isfinite(v)]
    if v.size < 2:
        return (float(v[0]) if v.size else math.nan), math.inf
    return float(v.mean()), float(v.std(ddof=1) / math.sqrt(v.size))


def _values(given: ArrayLike) -> Array:
    """Numbers (m,), nan among them."""
    v = numbers(given)
    if v.ndim != 1 or np.isinf(v).any() or (np.abs(v) > LARGEST).any():
        raise bad("values", given, f"numbers up to {LARGEST:g} (m,), of which nan are left out")
    return v


def _hits(hits: int, trials: int) -> tuple[int, int]:
    """Whole numbers with 0 <= hits <= trials."""
    n = whole("trials", trials, 0, most=MOST_TRIALS)
    return whole("hits", hits, 0, most=n), n
