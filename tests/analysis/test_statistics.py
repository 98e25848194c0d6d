"""Intervals and fits against other ways to compute them, and against what they promise."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, t

from tokenflock.analysis import statistics
from tokenflock.errors import SpecError


@pytest.mark.parametrize(("hits", "trials"), [(0, 5), (5, 5), (3, 10), (1, 200), (99, 100)])
def test_wilson_is_that_of_scipy(hits, trials):
    mine, theirs = statistics.wilson(hits, trials), binomtest(hits, trials).proportion_ci(method="wilson")
    assert mine.value == hits / trials
    assert mine.low == pytest.approx(theirs.low, abs=1e-6)
    assert mine.high == pytest.approx(theirs.high, abs=1e-6)
    assert mine.low <= mine.value <= mine.high


def test_wilson_without_trials_knows_nothing():
    empty = statistics.wilson(0, 0)
    assert math.isnan(empty.value)
    assert empty[1:] == (0.0, 1.0)
    with pytest.raises(SpecError, match="hits"):
        statistics.wilson(3, 2)


def test_interval_is_students():
    values = np.array([1.0, 2.0, 4.0, math.nan])
    mean, low, high = statistics.interval(values)
    half = t.isf(0.025, 2) * np.std(values[:3], ddof=1) / math.sqrt(3)
    assert (mean, low, high) == pytest.approx((7 / 3, 7 / 3 - half, 7 / 3 + half))
    assert statistics.interval([2.0]) == (2.0, -math.inf, math.inf)


def slow_hc3(a, y):
    """HC3 by leaving every point out in its own formula, one at a time."""
    inverse = np.linalg.inv(a.T @ a)
    b = inverse @ a.T @ y
    middle = np.zeros((a.shape[1],) * 2)
    for row, value in zip(a, y, strict=True):
        leverage = row @ inverse @ row
        middle += np.outer(row, row) * ((value - row @ b) / (1 - leverage)) ** 2
    return b, inverse @ middle @ inverse


def test_fit_against_the_definition():
    rng = np.random.default_rng(0)
    a = np.column_stack([np.ones(30), rng.random((30, 2))])
    y = a @ [1.0, 2.0, -3.0] + 0.1 * rng.standard_normal(30)
    found, (b, cover) = statistics.fit(a, y), slow_hc3(a, y)
    assert found.coefficients == pytest.approx(b)
    assert found.covariance == pytest.approx(cover)
    residual = y - a @ b
    assert found.explained == pytest.approx(1 - residual.var() / y.var())
    tilt, error, at = statistics.slope(a[:, 1], y)
    line = statistics.fit(a[:, :2], y)
    assert (at, tilt) == pytest.approx(tuple(line.coefficients))
    assert error == pytest.approx(math.sqrt(line.covariance[1, 1]))


def test_columns_that_say_the_same_are_refused():
    with pytest.raises(SpecError, match="rank"):
        statistics.fit(np.ones((5, 2)), np.arange(5.0))


def test_intervals_cover():
    """About 95 of 100 intervals hold the truth, for a mean, a share, a slope and a bootstrapped mean."""
    rng, held = np.random.default_rng(1), np.zeros(4)
    x = np.column_stack([np.ones(40), np.linspace(0, 1, 40)])
    for k in range(200):
        v = rng.standard_normal(40)
        held[0] += statistics.interval(v).holds(0.0)
        held[1] += statistics.wilson(int((v > 0).sum()), 40).holds(0.5)
        held[2] += statistics.fit(x, v * (0.5 + x[:, 1])).estimate(1).holds(0.0)
        held[3] += statistics.bootstrap(v, lambda d: float(d.mean()), seed=k, resamples=300).holds(0.0)
    # 4 standard errors of 200 trials at 95 % are 6 %.
    assert (held / 200 > 0.89).all()
    assert (held / 200 < 1.0).all()


def test_words():
    assert str(statistics.Estimate(0.12345, 0.1, 0.2)) == "0.123 [0.1, 0.2]"
    assert math.isnan(statistics.bootstrap([], np.mean).value)
