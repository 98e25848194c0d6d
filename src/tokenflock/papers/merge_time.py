"""When clusters of tokens meet: the exact time of a merge, its law for large beta, and arrivals read off a run.

Two clusters, V = I, Q = K = I: the leader of the later one sees m tokens at x_1 and itself, so that its angle a to x_1
obeys a' = -m w sin a / (1 + m w) with w = e^{beta (cos a - 1)}. With u = log tan(a/2), da / sin a = du and
1 - cos a = 1 + tanh u, the time from angle a_0 to angle a_1 is a smooth integral,

    T = int_{u_1}^{u_0} (1 + e^{beta (1 + tanh u)} / m) du  ~  e^{beta (1 - cos a_0)} / (m beta sin^2 a_0).
"""

from __future__ import annotations

import math

import numpy as np

from tokenflock.geometry import Array


def merge_time(angle: float, near: float, beta: float, m: int) -> float:
    """T above: from `angle` to `near`, both in (0, pi), with m tokens at x_1."""
    from scipy.integrate import quad

    high, low = (math.log(math.tan(a / 2)) for a in (angle, near))
    return float(quad(lambda u: 1 + math.exp(beta * (1 + math.tanh(u))) / m, low, high, epsrel=1e-11, limit=400)[0])


def merge_law(angle: float, beta: float, m: int) -> float:
    """What T tends to for large beta: e^{beta (1 - cos angle)} / (m beta sin^2 angle)."""
    return float(np.exp(2 * beta * np.sin(angle / 2) ** 2) / (m * beta * np.sin(angle) ** 2))


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
