"""Coarsening at infinite beta: clusters meet in the order of their distances, the closest two first.

Two clusters at an angle a meet after about e^{beta (1 - cos a)} (merge_time.py). For large beta these times are so far
apart that at time t all pairs closer than theta have met and no others,

    log t = beta (1 - cos theta),

and what is left follows from the start alone. In causal attention the later token of a pair moves to the earlier one,
which stays; in full attention both move to their center of mass.

What that leaves per unit of 1 / theta on the circle has a value by a mean-field argument: take the gaps between
clusters to be independent. Causal: a gap of length theta closes and its length goes to one of its neighbours. The
Laplace transform f(s) of the gaps obeys f' = r e^{-s theta} (f - 1) with r = 1 / theta in the scaling state, so that
1 - f = exp(-E_1(s theta)), and the mean gap is e^gamma theta. Full: each neighbour takes half of it,
f' = r ((2 e^{-s theta / 2} - 1) f - e^{-s theta}), and p = s theta gives

    f = e^{-2 E_1(p/2)} / p  int_p^inf g(u) du,   g = e^{-u + 2 E_1(u/2)} ~ A / u^2,   A = 4 e^{-2 gamma},
    mean gap / theta = -f'(0) = 2 - int_0^1 (g / A - u^-2) du - int_1^inf g / A du = 1.5730.

On S^2 the argument is cruder: take what is left to be scattered evenly. Then dN = -N^2 sin(theta) / 4 d theta, and
N = 4 / (1 - cos theta) = 4 beta / log t.
"""

from __future__ import annotations

import math

import numpy as np

from tokenflock.errors import unknown
from tokenflock.geometry import Array, retract

WIDER = 1.25  # from one ring of distances to the next: pairs are found ring by ring among what is left


def mean_field(mask: str, dim: int) -> float:
    """What the argument above gives for N theta / 2 pi on the circle, and for N (1 - cos theta) on S^2."""
    if dim == 3:
        return 4.0
    if mask == "causal":
        return math.exp(-np.euler_gamma)
    from scipy.integrate import quad
    from scipy.special import exp1

    def scaled(u: float) -> float:
        return math.exp(-u + 2 * (float(exp1(u / 2)) + np.euler_gamma)) / 4

    near = quad(lambda u: scaled(u) - u**-2, 1e-3, 1)[0] - 1e-3 / 8  # the integrand is -1/8 at 0
    return float(1 / (2 - near - quad(scaled, 1, 60)[0]))


def waiting_angle(beta: float, log_t: float) -> float:
    """theta: the angle of two clusters that meet about now, log t = beta (1 - cos theta); pi if all have met."""
    return math.acos(max(1 - log_t / beta, -1.0))


def meetings(x: Array, mask: str) -> Array:
    """The angle theta at which each of the n - 1 meetings of tokens x (n, d) takes place, in increasing order."""
    if mask not in ("causal", "full"):
        raise unknown("mask", mask, ("causal", "full"))
    return _onto_the_earlier(x) if mask == "causal" else _to_the_middle(x)


def left(angles: Array, theta: float) -> int:
    """How many clusters are left when all pairs closer than theta have met."""
    return 1 + int((angles > theta).sum())


def _onto_the_earlier(x: Array) -> Array:
    from scipy.spatial import cKDTree

    index, met = np.arange(len(x)), []
    reach = 2.0 / len(x) ** (1 / (x.shape[1] - 1))
    while len(index) > 1:
        pairs = cKDTree(x[index]).query_pairs(min(reach, 2.1), output_type="ndarray")
        chord = np.linalg.norm(x[index[pairs[:, 0]]] - x[index[pairs[:, 1]]], axis=1)
        stays = np.ones(len(index), dtype=bool)
        for k in np.argsort(chord, kind="stable").tolist():
            i, j = pairs[k]
            if stays[i] and stays[j]:
                stays[max(i, j)] = False
                met.append(chord[k])
        index, reach = index[stays], WIDER * reach
    return 2 * np.arcsin(np.minimum(np.array(met) / 2, 1.0))


def _to_the_middle(x: Array) -> Array:
    places, mass, met = np.array(x), np.ones(len(x)), []
    overlap = places @ places.T
    np.fill_diagonal(overlap, -np.inf)
    for _ in range(len(x) - 1):
        i, j = divmod(int(overlap.argmax()), len(x))
        met.append(float(np.linalg.norm(places[i] - places[j])))
        places[i] = retract(mass[i] * places[i] + mass[j] * places[j])
        mass[i], mass[j] = mass[i] + mass[j], 0.0
        overlap[j], overlap[:, j] = -np.inf, -np.inf
        row = np.where(mass > 0, places @ places[i], -np.inf)
        row[i] = -np.inf
        overlap[i], overlap[:, i] = row, row
    chord = np.maximum.accumulate(np.array(met))  # two that the last meeting brought together meet at once
    return 2 * np.arcsin(np.minimum(chord / 2, 1.0))
