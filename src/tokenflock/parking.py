"""Renyi's parking (A.5.5): unit cars that try one after the other to park on a street, each where it falls.

Renyi centers on the circle are such cars: a token is a center if no center before it is within delta.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tokenflock.arguments import Reals, real

#: Renyi's parking constant: the mean share of a long street that randomly parked unit cars fill (A.5.5).
PARKING = 0.7475979202534114


def parking_density(tau: ArrayLike) -> Reals:
    """Share of a long street that unit cars fill when tau of them a unit have tried to park; PARKING as tau -> inf.

    int_0^tau exp(-2 int_0^u (1 - e^{-v})/v dv) du (Renyi 1958), whose rest beyond tau is about e^{-2 gamma} / tau.
    """
    from scipy.special import exp1

    given = real("tau", tau, "numbers >= 0", lambda s: s >= 0)
    # In s = log(1 + u) the integrand is smooth on both ends; Gauss-Legendre with 200 points is exact to rounding.
    nodes, weights = np.polynomial.legendre.leggauss(200)
    top = np.log1p(given)[..., None]
    u = np.maximum(np.expm1(top * (nodes + 1) / 2), 1e-300)
    inner = np.euler_gamma + np.log(u) + exp1(u)  # int_0^u (1 - e^{-v})/v dv
    inner = np.where(u < 1e-8, u, inner)
    filled: Reals = np.sum(weights * np.exp(-2 * inner) * (1 + u), axis=-1) * top[..., 0] / 2
    return filled


def car_count(street: Reals, n: int) -> Reals:
    r"""How many of n cars are parked in the mean, on a street of so many cars' lengths L whose ends meet.

    Of a Poisson number of cars with mean n the (k + 1)-th parks with probability g(tau) = e^{-2 Ein(tau)} =
    sum_j a_j tau^j, tau = n/L. For n cars and no more the law is sum_{j<n} a_j j! C(n, j+1) / L^j,
    which is exact for n <= 2 on a circle too. Where that sum cancels too much its expansion to order 1/L is as good:

        L parking_density(tau) + e^{-2 Ein(tau)} (1 - e^{-tau}) + (tau D^2 g/3 + tau^2 D^3 g/8) / L.
    """
    exact, worst = summed(street, n)
    fits = (worst < 1e6) & ((street > 6) | (n < 3))  # ten digits are left, and no row of cars meets its own end
    return np.where(fits, exact, expanded(street, n))


def summed(street: Reals, n: int) -> tuple[Reals, Reals]:
    """sum_j a_j j! C(n, j+1) / L^j, and its largest term, or inf where it is cut off too early."""
    a = [1.0]  # of e^{-2 Ein}: j a_j = -2 sum_m (-1)^{m+1} a_{j-m} / m!
    for j in range(1, min(n, 80)):
        a.append(-2 / j * sum((-1) ** (m + 1) / math.factorial(m) * a[j - m] for m in range(1, j + 1)))
    total, worst, falling = np.zeros_like(street), np.zeros_like(street), np.full_like(street, float(n))
    with np.errstate(over="ignore", invalid="ignore"):  # of many tries a unit: the sum is not taken then
        for j, one in enumerate(a):
            term = one * falling / (j + 1)
            total, worst = total + term, np.maximum(worst, np.abs(term))
            falling = falling * (n - 1 - j) / street
    return total, np.where(np.abs(term) < 1e-12, worst, np.inf) if n > len(a) else worst


def expanded(street: Reals, n: int) -> Reals:
    """The expansion of the same in 1/L, from the law of a Poisson number of tokens (Poisson-Charlier)."""
    from scipy.special import exp1

    tau = n / street
    g = np.exp(-2 * (np.euler_gamma + np.log(tau) + exp1(tau)))
    h = -np.expm1(-tau) / tau  # g' = -2 h g
    h1 = (np.exp(-tau) - h) / tau
    h2 = (-np.exp(-tau) - 2 * h1) / tau
    second, third = (4 * h * h - 2 * h1) * g, (12 * h * h1 - 2 * h2 - 8 * h**3) * g
    law: Reals = street * parking_density(tau) + tau * h * g + (tau * second / 3 + tau * tau * third / 8) / street
    return law
