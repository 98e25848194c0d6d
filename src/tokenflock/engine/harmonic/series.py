"""The series behind the harmonic engine: coefficients, how many are needed, and a bound of what is left out.

With b >= 0 and a the angle between two tokens the weight w = exp(b (cos a - 1)) is a sum of waves,

    circle   w = sum_m c_m cos(m a),     c_m = (2 - [m = 0]) exp(-b) I_m(b)
    sphere   w = sum_l w_l P_l(cos a),   w_l = (2 l + 1) exp(-b) i_l(b)

with I_m the modified Bessel functions and i_l the spherical ones. Their ratios I_{m+1} / I_m fall with m (Turan), so a
geometric series bounds every tail.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine.harmonic.bessel import circular, spherical
from tokenflock.engine.traits import traits
from tokenflock.model import Model

WIDTH = 8  # modes in a register of 64 bytes
BLOCKS = 48  # the parts of a sum: more would cost more adding up, fewer longer running sums
FLAT = 8.0  # roundings of a sum of waves, whatever its length
LOST = 1e-4  # a row whose mass is less than this share of its tokens is summed by pairs
# b = 0 is taken as this: then every coefficient over b has its limit, and nothing underflows.
SMALLEST = 1e-30
MOST_MODES = 20_000  # on the circle: b of about 5 million
SHARE = 1e-3  # of a run's tolerance that may go into what the series leaves out
EPS = float(np.finfo(np.float64).eps)
MOST_DEGREE = 160  # on S^2: b of about 300, where (degree + 1)^2 sums a token are no longer cheap

# Rows of a table. On the circle they hold a number for each mode; on the sphere those for each degree come first, and
# the recurrence has rows of its own. NUMBERS: c of V = c I where the kernel is to give velocities and not pulls, scale,
# b, degree or number of modes, then what `judge` of velocity.py notes.
# WAVES weighs the sums for the estimate of their rounding. Below these rows every block has one for its own notes.
MASS, TURN, REACH, NUMBERS, STEP, BACK, SEED, WAVES = range(8)
VALUE, SCALE, SHARPNESS, DEGREE, LOSS, GROSS, RESCUED, LOST_BITS = range(8)
N_ROWS = 8


class Series(NamedTuple):
    """The table of one series and the bound of its tail."""

    rows: NDArray[Any]  # (N_ROWS, length), length a multiple of WIDTH
    tail: float  # what a pair of tokens misses at most, in w, w sin a and w (1 - cos a) together


def sharpness(model: Model) -> float:
    """b: the largest exponent less its bound is b (cos a - 1)."""
    if traits(model).near:
        return float(model.beta * model.form[0, 0, 0])
    return abs(model.beta) * float(np.linalg.norm(model.form, ord=2, axis=(-2, -1)).max())


def tail_after(terms: NDArray[Any]) -> NDArray[Any]:
    """Bounds of sum_{k >= m} terms[k] for every m, for positive terms whose ratios fall; the last two have none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = terms[1:] / terms[:-1]
        bound = np.where(ratio < 1, terms[:-1] / (1 - ratio), np.inf)
    return np.where(terms[:-1] == 0, 0.0, bound)


def _first_within(tails: NDArray[Any], tolerance: float) -> int | None:
    """The first m with a tail within the tolerance."""
    good = np.flatnonzero(tails <= tolerance)
    return int(good[0]) if good.size else None


def _reach_of(b: float, tolerance: float) -> int:
    """More modes than will be needed: the coefficients fall like exp(-m^2 / (2 b)), and then faster."""
    decades = 4.0 + math.log(1.0 / tolerance)
    return int(1.5 * math.sqrt(2.0 * b * decades) + 2.0 * decades) + 2 * WIDTH


@lru_cache(maxsize=256)
def circle_modes(b: float, tolerance: float) -> tuple[int, float]:
    """How many modes keep the error of every pair within the tolerance, and the bound of it."""
    b = max(b, SMALLEST)
    m = np.arange(_reach_of(b, tolerance))
    e = 2.0 * circular(len(m), b)
    # |d I_m / db| = I_{m+1} + m I_m / b: w takes e, w sin a takes m e / b, and w (cos a - 1) no more than both and e.
    tails = 3.0 * tail_after(e) + 2.0 * tail_after(m[1:] * e[1:] / b)[np.r_[0, : len(e) - 2]]
    count = _first_within(tails, tolerance)
    assert count is not None, "_reach_of is too short"
    return count, float(tails[count])


def circle_series(b: float, tolerance: float) -> Series:
    """The table for the circle: w, w sin a and w (cos a - 1) as sums over m of cos, sin and cos."""
    count, _ = circle_modes(b, tolerance)
    length = -(-max(count, 1) // WIDTH) * WIDTH
    b = max(b, SMALLEST)
    m = np.arange(length)
    twice = np.where(m == 0, 1.0, 2.0)
    e, above = circular(length + 1, b)[[m, m + 1]]
    rows = np.zeros((N_ROWS, length))
    rows[MASS] = twice * e
    rows[TURN] = 2.0 * m * e / b
    rows[REACH] = twice * (above + m * e / b - e)
    rows[WAVES] = rows[MASS] + rows[TURN]
    return Series(rows, circle_tail(b, length))


def circle_tail(b: float, length: int) -> float:
    """The bound of what `length` modes leave out of a pair."""
    b = max(b, SMALLEST)
    m = np.arange(max(length, 1), length + 3)
    e = 2.0 * circular(length + 3, b)[m]
    return float(3.0 * tail_after(e)[0] + 2.0 * tail_after(m * e / b)[0])


@lru_cache(maxsize=256)
def sphere_degree(b: float, tolerance: float) -> tuple[int, float]:
    """The degree that keeps the error of every pair within the tolerance, and the bound of it."""
    b = max(b, SMALLEST)
    l = np.arange(1, _reach_of(b, tolerance))
    w = (2 * l + 1) * spherical(len(l) + 1, b)[1:]
    # |P_l| <= 1 and |d P_l(cos a) / da| <= l (l + 1) / 2; the rest as on the circle.
    tails = 3.0 * tail_after(w) + tail_after(w * l / b) + 0.5 * tail_after(w * l * (l + 1) / b)
    k = _first_within(tails, tolerance)
    assert k is not None, "_reach_of is too short"
    return int(l[k]) - 1, float(tails[k])


def steps_of(degree: int) -> int:
    """Registers of the recurrence: orders m fill the lanes, WIDTH at a time, and for each the degree runs from m."""
    return sum(degree + 1 - m for m in range(0, degree + 1, WIDTH))


def registers(dim: int, b: float, tolerance: float) -> int:
    """Registers of waves for every token, for errors of a pair within the tolerance."""
    if dim == 2:
        return -(-max(circle_modes(b, tolerance)[0], 1) // WIDTH)
    return steps_of(sphere_degree(b, tolerance)[0])


def sphere_series(b: float, tolerance: float) -> Series:
    """The table for S^2: weights of each degree, and the recurrence of the Legendre functions.

    p_l = STEP z p_{l-1} - BACK p_{l-2} + SEED gives the functions P_l^m / sin^m with the factor that makes
    P_l(<x, y>) = sum_m p_lm(x_3) p_lm(y_3) Re((x_1 + i x_2) (y_1 - i y_2))^m. Upwards in l it is stable.
    """
    degree, tail = sphere_degree(b, tolerance)
    b = max(b, SMALLEST)
    rows = np.zeros((N_ROWS, WIDTH * max(steps_of(degree), 2)))
    l = np.arange(degree + 1)
    i, above = spherical(degree + 2, b)[[l, l + 1]]
    rows[MASS, l] = (2 * l + 1) * i
    rows[REACH, l] = (2 * l + 1) * (above + l * i / b - i)
    rows[NUMBERS, DEGREE] = degree
    seeds = np.ones(degree + 2 * WIDTH)
    for m in range(2, len(seeds)):
        seeds[m] = seeds[m - 1] * math.sqrt((2 * m - 1) / (2 * m))
    at = 0
    for first in range(0, degree + 1, WIDTH):
        order = first + np.arange(WIDTH)
        for k in range(first, degree + 1):
            inside = order < k
            with np.errstate(divide="ignore", invalid="ignore"):
                root = np.sqrt(1.0 * k * k - order * order)
                rows[STEP, at : at + WIDTH] = np.where(inside, (2 * k - 1) / root, 0.0)
                back = np.sqrt(np.maximum((k - 1.0) ** 2 - order * order, 0.0)) / root
            rows[BACK, at : at + WIDTH] = np.where(inside, back, 0.0)
            rows[SEED, at : at + WIDTH] = np.where(order == k, seeds[order], 0.0)
            rows[WAVES, at : at + WIDTH] = rows[MASS, k] * (1.0 + k / b)
            at += WIDTH
    return Series(rows, tail)


def worst_error(n: int) -> float:
    """About the error of a velocity in the worst case: a token that sees n others, all in one place far away."""
    return 2.0 * EPS * n * (FLAT + math.sqrt(n / BLOCKS))


def tail_allowed(model: Model, n: int, tolerance: float) -> float:
    """What a pair may miss so that a velocity keeps the tolerance.

    The mass of a row is at least 1, its own token's, against n tokens in sight; for a general form `circle_any` sees to
    it that it is at least LOST n.
    """
    if model.normaliser != "softmax":
        return 0.5 * tolerance
    return 0.5 * tolerance * (1.0 / n if traits(model).near else LOST)
