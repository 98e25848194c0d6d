"""The energies that full attention climbs (papers C and D). Causal attention climbs none of them.

    energy         E = 1/(2 beta n^2) sum_ij exp(beta <x_i, x_j>)                (C.1)
    scaled_energy  n^-2 sum_ij exp(beta (<x_i, x_j> - 1)),  from 1/n to 1        (D.1)

Clusters of shares p_q that are far apart have scaled energy sum_q p_q^2: a run of mergers is a staircase.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tokenflock.analysis import positive, tokens
from tokenflock.arguments import scalar
from tokenflock.geometry import Array

BLOCK = 500_000  # pairs held at a time


def scaled_energy(x: Any, beta: float) -> Any:
    """n^-2 sum_ij exp(beta (<x_i, x_j> - 1)) of D.1: a float, or an array (...) for x (..., n, d). Cannot overflow."""
    return _each(tokens(x), scalar("beta", beta, "a finite number >= 0", lambda b: b >= 0))


def energy(x: Any, beta: float, log: bool = False) -> Any:
    """1/(2 beta n^2) sum_ij exp(beta <x_i, x_j>) of C.1; shapes as for `scaled_energy`.

    It is e^beta/(2 beta) times the scaled energy, inf where that is more than a float64 holds (beta above about 709);
    log=True gives its logarithm, which is always finite.
    """
    b = positive("beta", beta)
    value = np.log(_each(tokens(x), b)) + b - math.log(2 * b)
    if not log:
        with np.errstate(over="ignore"):  # inf is the honest answer
            value = np.exp(value)
    return float(value) if np.ndim(value) == 0 else value


def _each(y: Array, beta: float) -> Any:
    result = np.empty(y.shape[:-2])
    for place in np.ndindex(result.shape):
        result[place] = _mean(y[place], beta)
    return float(result) if result.ndim == 0 else result


def _mean(y: Array, beta: float) -> float:
    """The mean of exp(-beta |x_i - x_j|^2 / 2): for unit vectors 1 - <x_i, x_j>, without its cancellation."""
    from scipy.spatial.distance import cdist

    n = len(y)
    rows = max(1, BLOCK // n)
    total = math.fsum(
        float(np.exp(-0.5 * beta * cdist(y[i : i + rows], y, "sqeuclidean")).sum()) for i in range(0, n, rows)
    )
    return total / n**2
