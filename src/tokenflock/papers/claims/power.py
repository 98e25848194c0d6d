"""How small a violation a check sees: the smallest one that each rule refutes with a probability of 95 %.

always    N decided trials, one failure refutes        a share 1 - 0.05^(1/N) of trials that fail
mean      off by more than 4 errors and the slack      slack + k errors; k by `errors_seen`
share     a number of hits that is too improbable      a shift of the share; by `share_seen`
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

#: A mean disagrees when it is this many standard errors off: by chance once in 16,000 cases.
SURE = 4.0
POWER = 0.95


def failures_seen(trials: int) -> float:
    """The share of failing trials of which `trials` independent ones show at least one, with 95 %; 1 without trials."""
    return 1 - (1 - POWER) ** (1 / trials) if trials else 1.0


@lru_cache
def factor(values: int | None, errors: float = SURE) -> float:
    """Student's factor for the mean of so many values that excludes as surely as `errors` normal errors do.

    None: the error is known, and nothing has to be added. Few values know their own spread badly.
    """
    from scipy.stats import norm, t

    return errors if values is None else float(t.isf(norm.sf(errors), max(values - 1, 1)))


@lru_cache
def errors_seen(values: int | None) -> float:
    """The shift of a mean, in true standard errors, that is refuted with 95 %; the slack comes on top of it."""
    from scipy.optimize import brentq
    from scipy.stats import chi2, norm

    least = factor(values)
    if values is None or values < 2:
        return least + float(norm.ppf(POWER)) if values is None else math.inf
    # The mean is off by Z + shift, its error is S: P(Z + shift > least S) = E Phi(shift - least S), S^2 ~ chi^2 / df.
    middles = (np.arange(4000) + 0.5) / 4000
    spread = least * np.sqrt(chi2.ppf(middles, values - 1) / (values - 1))
    return float(brentq(lambda s: norm.cdf(s - spread).mean() - POWER, 0.0, spread[-1] + 10))


@lru_cache
def share_limits(predicted: float, trials: int) -> tuple[int, int]:
    """The least and the largest number of hits that agree: beyond each end, as improbable as 4 normal errors."""
    from scipy.stats import binom, norm

    alpha = float(norm.sf(SURE))
    low, high = int(binom.ppf(alpha, trials, predicted)), int(binom.isf(alpha, trials, predicted))
    return low, high


@lru_cache
def share_seen(predicted: float, trials: int) -> float:
    """Every share that is at least this far from the predicted one is refuted with 95 %; nan if none is sure to be."""
    from scipy.optimize import brentq
    from scipy.stats import binom

    low, high = share_limits(predicted, trials)
    below = above = math.nan
    if low > 0:
        below = predicted - float(brentq(lambda p: binom.cdf(low - 1, trials, p) - POWER, 0.0, predicted))
    if high < trials:
        above = float(brentq(lambda p: binom.sf(high, trials, p) - POWER, predicted, 1.0)) - predicted
    # Where one side is never seen, shares of the other one are told from it by their distance alone.
    sides = [below, above]
    if math.isnan(below):
        sides[0] = predicted if above > predicted else math.nan
    if math.isnan(above):
        sides[1] = 1 - predicted if below > 1 - predicted else math.nan
    return max(sides) if not any(map(math.isnan, sides)) else math.nan
