"""The energies that full attention climbs (papers C and D). Causal attention climbs none of them.

    energy         E = 1/(2 beta n^2) sum_ij exp(beta <x_i, x_j>)                (C.1)
    scaled_energy  n^-2 sum_ij exp(beta (<x_i, x_j> - 1)),  from 1/n to 1        (D.1)
    violations     the steps at which it falls, as in trained networks it does

With masses a_j token j counts a_j times: n^-2 sum_ij becomes sum_ij p_i p_j with p_j = a_j / sum_k a_k.
Clusters of shares p_q that are far apart have scaled energy sum_q p_q^2: a run of mergers is a staircase.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tokenflock.analysis import axes_kept, positive, tokens
from tokenflock.arguments import flag, real, scalar
from tokenflock.errors import bad
from tokenflock.geometry import Array

BLOCK = 500_000  # pairs held at a time


@axes_kept()
def scaled_energy(x: Any, beta: float, masses: Any = None) -> Any:
    """n^-2 sum_ij exp(beta (<x_i, x_j> - 1)) of D.1: a float, or an array (...) for x (..., n, d). Cannot overflow.

    masses (n,): how often each token counts, see the top of this file.
    """
    y = tokens(x)
    return _each(y, scalar("beta", beta, "a finite number >= 0", lambda b: b >= 0), _shares(masses, y.shape[-2]))


@axes_kept()
def energy(x: Any, beta: float, log: bool = False, masses: Any = None) -> Any:
    """1/(2 beta n^2) sum_ij exp(beta <x_i, x_j>) of C.1; shapes and masses as for `scaled_energy`.

    It is e^beta/(2 beta) times the scaled energy, inf where that is more than a float64 holds (beta above about 709);
    log=True gives its logarithm, which is always finite.
    """
    b, y, log = positive("beta", beta), tokens(x), flag("log", log)
    value = np.log(_each(y, b, _shares(masses, y.shape[-2]))) + b - math.log(2 * b)
    if not log:
        with np.errstate(over="ignore"):  # inf is the honest answer
            value = np.exp(value)
    return float(value) if np.ndim(value) == 0 else value


class Violations(NamedTuple):
    """Steps at which an energy that should not fall does."""

    share: float  #: of all steps
    largest: float  #: the largest fall, in the range that the energy passes through
    where: tuple[int, ...]  #: the steps, counted from 0


def violations(energies: Any, slack: float = 1e-9) -> Violations:
    """The steps of E_0, E_1, ... with E_(k+1) < E_k - slack max|E|. The flow of full attention with V = I has none."""
    values = real("energies", energies, "finite numbers (times,), at least two")
    if values.ndim != 1 or len(values) < 2:
        raise bad(
            "energies.shape", values.shape, "(times,), at least two", "Give the energy at every layer of one text."
        )
    least = scalar("slack", slack, "a number >= 0", lambda v: v >= 0) * float(np.abs(values).max())
    falls = values[:-1] - values[1:]
    where = np.flatnonzero(falls > least)
    spread = float(values.max() - values.min())
    return Violations(
        len(where) / len(falls), float(falls[where].max()) / spread if len(where) else 0.0, tuple(where.tolist())
    )


def _shares(masses: Any, n: int) -> Array | None:
    """p_j = a_j / sum_k a_k; None where every token counts once."""
    if masses is None:
        return None
    a = real("masses", masses, f"({n},) positive numbers")
    if a.shape != (n,) or (a <= 0).any():
        given = "a number <= 0" if a.shape == (n,) else f"shape {a.shape}"
        advice = "Tokens that count otherwise in every row climb no energy: (n, n) masses have none."
        raise bad("masses", given, f"({n},) positive numbers, one for each token", advice)
    shares: Array = a / a.sum()
    return shares


def _each(y: Array, beta: float, shares: Array | None) -> Any:
    result = np.empty(y.shape[:-2])
    for place in np.ndindex(result.shape):
        result[place] = _mean(y[place], beta, shares)
    return float(result) if result.ndim == 0 else result


def _mean(y: Array, beta: float, shares: Array | None) -> float:
    """The mean of exp(-beta |x_i - x_j|^2 / 2): for unit vectors 1 - <x_i, x_j>, without its cancellation.

    shares: of the tokens, p (n,); None for equal ones.
    """
    from scipy.spatial.distance import cdist

    n = len(y)
    rows = max(1, BLOCK // n)
    blocks = ((i, np.exp(-0.5 * beta * cdist(y[i : i + rows], y, "sqeuclidean"))) for i in range(0, n, rows))
    if shares is None:
        return math.fsum(float(block.sum()) for _, block in blocks) / n**2
    return math.fsum(float(shares[i : i + rows] @ block @ shares) for i, block in blocks)
