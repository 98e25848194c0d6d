r"""What is known in closed form: the laws that runs, tests and figures are held against.

(L1)  h(a) = e^{beta (cos a - 1)} sin a,  g = h',  h rises up to tau*                h, g, tau_star
(L2)  x' = P_x(V x)  gives  x(t) = e^{tV} x(0) / |e^{tV} x(0)|                        single_token
(L3)  equal overlaps r stay equal: r' = 2 a (1 - r)((n-1) r + 1),
      a = e^{beta r} / (e^beta + (n-1) e^{beta r})  or  e^{beta r} / n                equiangular, two_token_overlap
(L4)  E[number of strong centers] = 1 / sigma(B_delta)                               cap_measure, strong_center_count,
      E[number of centers] = c_R 2 pi / delta on the circle                          parking_density, renyi_center_count
(L5)  P(n uniform tokens share a hemisphere) = 2^{-(n-1)} sum_{k<d} C(n-1, k)         hemisphere_probability
(L6)  two clusters at angle a merge after about e^{beta (1 - cos a)}                  merge_time_scale
(L7)  strong centers stand still up to T_j, caps keep their tokens up to T_2         lemma_5_1_time, metastability_times
(L8)  Q'K = (b/beta) I, V symmetric, earlier tokens y_j at rest, V y_j = lambda_1 y_j:
      Z x' = P_x grad E,  E = <x, V x>/2 + (lambda_1/b) sum_j (e^{b(<x, y_j> - 1)} - 1)  token_energy
(L9)  the same where V and Q'K commute and y_j = +-xi, on the arc from xi to another
      eigenvector of V, with u = <x, xi>:  u' = (1 - u^2) F(u) / Z                   arc_speed

A.6, E.4, ... are sections of the mathematical specification; where it corrects a paper, the correction is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tokenflock.arguments import Reals, flag, named, real, scalar, whole
from tokenflock.errors import bad
from tokenflock.parking import PARKING as PARKING
from tokenflock.parking import car_count, parking_density

__all__ = [
    "Metastability",
    "arc_speed",
    "cap_measure",
    "cap_overlap",
    "equiangular",
    "equiangular_rate",
    "g",
    "h",
    "hemisphere_probability",
    "lemma_5_1_time",
    "merge_time_scale",
    "metastability_times",
    "negative_identity_radius",
    "normalisation_slope",
    "parking_density",
    "renyi_center_count",
    "single_token",
    "strong_center_count",
    "tau_star",
    "token_energy",
    "two_token_overlap",
]

NORMALISERS = ("softmax", "count")
LEAST_SHARE = 1e-290  # of the sphere: its reciprocal still exists
MOST_BETA = 1e150  # its square still exists
MOST_TOKENS = 2**50  # whole numbers that a float64 tells apart, with room for their sums
#: F.5 for equal overlaps r near 1: the slope of log(1 - r) against a clock, in words because alpha is the user's.
TERMINAL = {
    "post": (-2.0, "t"),
    "pre": (-2.0, "log t"),
    "mix": (-2.0, "log t"),
    "peri": (-2.0, "log t"),
    "ngpt": (-2.0, "integral of alpha"),
    "sqrt": (-4.0, "sqrt t"),
}


def _beta(given: ArrayLike) -> Reals:
    return real("beta", given, f"numbers from 0 to {MOST_BETA:g}", lambda b: (b >= 0) & (b <= MOST_BETA))


def _whole(argument: str, given: int, least: int) -> int:
    return whole(argument, given, least, most=MOST_TOKENS)


def _one_beta(given: float) -> float:
    return scalar("beta", given, f"a number from 0 to {MOST_BETA:g}", lambda b: (b >= 0) & (b <= MOST_BETA))


def _angle(given: ArrayLike) -> Reals:
    return real("angle", given, "radians, up to 1e9", lambda a: np.abs(a) <= 1e9)


def _together(**given: Reals) -> None:
    """Whether numpy broadcasts these arrays."""
    try:
        np.broadcast_shapes(*(array.shape for array in given.values()))
    except ValueError as error:
        shapes = tuple(array.shape for array in given.values())
        raise bad(f"the shapes of {', '.join(given)}", shapes, "one number, or arrays of one shape") from error


def h(angle: ArrayLike, beta: ArrayLike) -> Reals:
    """h(a) = e^{beta (cos a - 1)} sin a: the pull of a token at angle a on the circle (A.6)."""
    a, b = _angle(angle), _beta(beta)
    _together(angle=a, beta=b)
    # 1 - cos a = 2 sin^2(a/2) keeps its digits for small a.
    pull: Reals = np.exp(-2.0 * b * np.sin(a / 2) ** 2) * np.sin(a)
    return pull


def g(angle: ArrayLike, beta: ArrayLike) -> Reals:
    """g = h' = e^{beta (cos a - 1)} (cos a - beta sin^2 a) (A.6)."""
    a, b = _angle(angle), _beta(beta)
    _together(angle=a, beta=b)
    slope: Reals = np.exp(-2.0 * b * np.sin(a / 2) ** 2) * (np.cos(a) - b * np.sin(a) ** 2)
    return slope


def tau_star(beta: ArrayLike, dim: int = 2) -> Reals:
    """The range of the attraction: the root in (0, pi/2] of beta sin^2 tau = (d-1) cos tau (A.6, C.2)."""
    b, k = _beta(beta), _whole("dim", dim, 2) - 1
    # cos tau = 2 beta / D and sin^2 tau = 2 k / D; arccos alone would lose digits at large beta.
    D = k + np.hypot(k, 2.0 * b)
    tau: Reals = np.arctan2(np.sqrt(2.0 * k / D), 2.0 * b / D)
    return tau


def single_token(value: ArrayLike, x0: ArrayLike, t: ArrayLike) -> Reals:
    """x(t) = e^{tV} x0 / |e^{tV} x0| for any real V; t: (...) -> (..., d) (A.2)."""
    from scipy.linalg import expm

    V, x = real("value", value, "a finite (d, d) array"), real("x0", x0, "a finite (d,) array")
    times = real("t", t, "finite times")
    if V.ndim != 2 or V.shape[0] != V.shape[1]:
        raise bad("value", V.shape, "a (d, d) array", "Give one square value matrix.")
    if x.shape != V.shape[:1] or not x.any():
        raise bad("x0", x0, f"a non-zero array of shape ({V.shape[0]},)", "Give one token of the dimension of value.")
    # Taking a multiple of I off V does not change the direction; the spectral abscissa keeps exp() finite.
    real_parts = np.linalg.eigvals(V).real
    shift = np.where(times >= 0, real_parts.max(), real_parts.min())
    with np.errstate(over="ignore", invalid="ignore"):  # what has no float64 is refused below
        y = expm(times[..., None, None] * (V - shift[..., None, None] * np.eye(len(x)))) @ x
    size = np.max(np.abs(y), axis=-1, keepdims=True)
    if not np.all(np.isfinite(size) & (size > 0)):
        advice = "x0 misses the leading eigenspace, so e^{tV} x0 underflows: start again from an earlier x(t)."
        raise bad("t", t, "times at which e^{tV} x0 is a floating-point number", advice)
    y = y / size  # before the norm, whose squares would underflow first
    unit: Reals = y / np.linalg.norm(y, axis=-1, keepdims=True)
    return unit


def equiangular_rate(rho: ArrayLike, n_tokens: int, beta: float, normaliser: str = "softmax") -> Reals:
    """r' of n tokens whose overlaps all equal r = rho, Q = K = V = I, full attention (E.4)."""
    r, n, b = real("rho", rho, "finite numbers"), _whole("n_tokens", n_tokens, 2), _beta(beta)
    if named("normaliser", normaliser, NORMALISERS) == "count":
        weight = np.exp(b * r) / n
    else:
        weight = 1.0 / (n - 1 + np.exp(np.minimum(b * (1 - r), 709.0)))  # exp(709) is the last finite one
    return 2.0 * weight * (1 - r) * ((n - 1) * r + 1)


def equiangular(t: ArrayLike, n_tokens: int, beta: float, rho0: float = 0.0, normaliser: str = "softmax") -> Reals:
    r"""The common overlap r(t) of n tokens that start with equal overlaps rho0 (E.4; C Theorem 6.8).

    With w = log(((n-1) r + 1) / (1 - r)) and q = 1 - r = n / (e^w + n - 1) the rate L3 becomes
        w' = 2n / (e^{beta q} + n - 1)  (softmax),     w' = 2 e^{beta (1 - q)}  (count),
    and since  int e^{beta q} dw = -F(q),  F(q) = Ei(beta q) + e^{beta n/(n-1)} E_1(beta (n/(n-1) - q)),
        2n t = (n-1)(w - w0) + F(q0) - F(q)  (softmax),     2 e^beta t = F(q0) - F(q)  (count),
    which rises with w and is solved for w by bisection: exact for a time within a few roundings of t.
    At beta = 0 both are w = w0 + 2t.
    """
    from scipy.special import exp1, expi

    times = real("t", t, "times >= 0", lambda s: s >= 0)
    n, b = _whole("n_tokens", n_tokens, 2), _one_beta(beta)
    softmax = named("normaliser", normaliser, NORMALISERS) == "softmax"
    slack = 4 * np.finfo(float).eps  # (n-1) * (1/(n-1)) need not be 1 in floating point
    allowed = f"from -1/(n_tokens - 1) = {-1 / (n - 1):.4g} to 1"
    r0 = scalar("rho0", rho0, allowed, lambda r: (1 + (n - 1) * r > -slack) & (r <= 1))
    if r0 == 1 or 1 + (n - 1) * r0 < slack:
        return np.full(times.shape, r0)  # the two resting points: one token, and the simplex
    q0, w0 = 1 - r0, np.asarray(math.log1p((n - 1) * r0) - math.log1p(-r0))

    def F(w: Reals) -> Reals:  # e^{-beta q0} F: the factor keeps it finite at any beta
        q: Reals = n / (np.exp(w) + n - 1)
        y = b * q * np.exp(w) / (n - 1)  # beta (n/(n-1) - q)
        value: Reals = np.exp(b * (q - q0)) * (_scaled(expi, b * q, 1.0) + _scaled(exp1, y, -1.0))
        return value

    # From w = 700 on r is 1 in floating point for any n a machine can hold, and e^w is still finite.
    low, high = np.broadcast_to(w0, times.shape), np.full(times.shape, 700.0)
    if b < 1e-17:  # e^{beta q} is 1 in floating point
        return _overlap(np.minimum(w0 + 2 * times, high), n)
    own = (n - 1) * math.exp(-b * q0) if softmax else 0.0
    pace = 2 * n * math.exp(-b * q0) if softmax else 2 * math.exp(min(b * r0, 700.0))
    with np.errstate(over="ignore"):  # an infinite goal is met by r = 1
        F0, goal = F(w0), pace * times
    for _ in range(80):  # 700 / 2^80 is far below the rounding of F
        middle = (low + high) / 2
        late = own * (middle - w0) + F0 - F(middle) > goal
        low, high = np.where(late, low, middle), np.where(late, middle, high)
    return _overlap(low, n)


def _overlap(w: Reals, n: int) -> Reals:
    """r = (e^w - 1) / (e^w + n - 1) without overflow or cancellation."""
    up, down = np.maximum(w, 0.0), np.minimum(w, 0.0)
    r: Reals = np.where(w > 0, -np.expm1(-up) / (1 + (n - 1) * np.exp(-up)), np.expm1(down) / (np.exp(down) + n - 1))
    return r


def _scaled(integral: Callable[[Reals], Reals], x: Reals, sign: float) -> Reals:
    """e^{-x} Ei(x) (sign 1) or e^x E_1(x) (sign -1), which stay finite where Ei and e^x do not."""
    near, far = np.minimum(x, 50.0), np.maximum(x, 50.0)
    series = np.ones_like(far)
    for k in range(25, 0, -1):  # sum_k k! (sign/x)^k / x: from x = 50 on, what is left out is below 5e-18
        series = 1 + sign * k * series / far
    return np.where(x < 50, np.exp(-sign * near) * integral(near), series / far)


def two_token_overlap(
    t: ArrayLike, overlap0: float, beta: float, mask: str = "full", normaliser: str = "softmax"
) -> Reals:
    r"""r(t) = <x_1, x_2> of two tokens, Q = K = V = I.

    <P_{x_i} x_j, x_j> = 1 - r^2, so r' = (a_12 + a_21)(1 - r^2) with the attention weights
        a = 1 / (1 + e^{beta (1 - r)})  (softmax),     a = e^{beta r} / 2  (count; 1/2: two tokens are visible).
    Full: a_12 = a_21 = a, which is L3 at n = 2, and tanh(t + artanh r0) at beta = 0. Causal: a_12 = 0, half the speed.
    """
    pace = 1.0 if named("mask", mask, ("full", "causal")) == "full" else 0.5
    r0 = scalar("overlap0", overlap0, "from -1 to 1", lambda r: abs(r) <= 1)
    return equiangular(pace * real("t", t, "times >= 0", lambda s: s >= 0), 2, beta, r0, normaliser)


def cap_measure(delta: ArrayLike, dim: int) -> Reals:
    """sigma(B_delta), the share of S^{d-1} within distance delta: delta/pi (d=2), sin^2(delta/2) (d=3) (A.5.5)."""
    from scipy.special import betainc

    a, radius = (
        (_whole("dim", dim, 2) - 1) / 2,
        real("delta", delta, "from 0 to pi", lambda s: (s >= 0) & (s <= np.pi)),
    )
    share: Reals = betainc(a, a, np.sin(radius / 2) ** 2)  # (1 - cos)/2 of a uniform token is Beta(a, a)
    return share


def strong_center_count(delta: ArrayLike, dim: int, n_tokens: int | None = None) -> Reals:
    """E[strong centers] = (1 - (1 - sigma)^n) / sigma of n uniform tokens, 1 / sigma of infinitely many (A.5.5)."""
    sigma = cap_measure(real("delta", delta, "above 0, up to pi", lambda s: s > 0), dim)
    if (sigma < LEAST_SHARE).any():
        raise bad("delta", delta, f"caps that hold more than {LEAST_SHARE:g} of the sphere", "Raise it.")
    if n_tokens is None:
        return 1.0 / sigma
    missed = np.log1p(-np.minimum(sigma, np.nextafter(1.0, 0.0)))
    expected: Reals = -np.expm1(_whole("n_tokens", n_tokens, 1) * missed) / sigma
    return expected


def renyi_center_count(delta: ArrayLike, n_tokens: int | None = None) -> Reals:
    r"""E[Renyi centers] on the circle: c_R 2 pi / delta for infinitely many tokens, less for n_tokens (A.5.5).

    A token that is no center fell onto one before it, as a car that finds no room: parking.car_count is the law.
    Exact for a long street; on the circle the difference falls faster than exponentially as delta -> 0. Strong centers
    are centers, so there are never fewer.
    """
    d = real("delta", delta, "from 1e-300 to pi", lambda s: (s >= 1e-300) & (s <= np.pi))
    street = 2 * np.pi / d
    if n_tokens is None:
        return street * PARKING
    n = _whole("n_tokens", n_tokens, 1)
    law: Reals = np.maximum(car_count(street, n), strong_center_count(d, 2, n))
    return law


def token_energy(x: ArrayLike, earlier: ArrayLike, value: ArrayLike, strength: float) -> Reals:
    """E(x) of one token given the earlier ones (m, d), all in one eigenspace of a symmetric V; x: (..., d) -> (...).

    strength is b = beta s, where Q'K = s I, of either sign; at b = 0 the sum is that of lambda_1 (<x, y_j> - 1). With
    Z = 1 + sum_j e^{b(<x, y_j> - 1)} the velocity of x is P_x grad E / Z (L8): E rises as long as x moves.
    """
    V, y = real("value", value, "a finite (d, d) array"), real("earlier", earlier, "a finite (m, d) array")
    places, b = real("x", x, "finite tokens, (..., d)"), scalar("strength", strength, "a finite number")
    if V.ndim != 2 or not V.size or not np.array_equal(V, V.T):
        raise bad("value", V.shape, "a symmetric (d, d) array", "Other values have no such energy: see (L8).")
    if y.ndim != 2 or y.shape[1] != len(V) or places.shape[-1:] != (len(V),):
        raise bad("earlier", y.shape, f"(m, {len(V)})", "Give tokens of the dimension of value.")
    with np.errstate(over="ignore", invalid="ignore"):
        top = float(np.mean(np.sum(y @ V * y, axis=1))) if len(y) else 0.0
        if not np.abs(y @ V - top * y).max(initial=0.0) <= 1e-6 * np.abs(V).max():
            advice = "Earlier tokens must rest: eigenvectors of value with one eigenvalue."
            raise bad("earlier", f"{len(y)} tokens", "eigenvectors of value", advice)
        short = places @ y.T - 1.0
        pull = np.expm1(b * short) / b if b else short
        energy: Reals = np.sum((places @ V) * places, axis=-1) / 2 + top * pull.sum(axis=-1)
    if not np.isfinite(energy).all():
        raise bad("x", x, "unit tokens whose energy is within float64")
    return energy


def arc_speed(
    u: ArrayLike, eigenvalues: tuple[float, float], forms: tuple[float, float], ahead: int, behind: int
) -> Reals:
    r"""u' = (1 - u^2) F(u) / Z of a token on the arc u = cos(angle) from xi to an eigenvector y of V (L9).

    `eigenvalues`: lambda_1 and that of y; `forms`: beta <xi, Q'K xi> and beta <y, Q'K y>; m = ahead earlier tokens rest
    at xi, l = behind at -xi. With q = b_1 u^2 + b_i (1 - u^2) and Z = e^q + m e^{b_1 u} + l e^{-b_1 u},
    F = e^q (lambda_1 - lambda_i) u + lambda_1 (m e^{b_1 u} - l e^{-b_1 u}).
    """
    place = real("u", u, "numbers from -1 to 1", lambda c: np.abs(c) <= 1)
    m, l = (_whole(name, k, 0) for name, k in (("ahead", ahead), ("behind", behind)))
    pairs = [
        real(name, pair, "two numbers", lambda v: np.abs(v) <= MOST_BETA)
        for name, pair in (("eigenvalues", eigenvalues), ("forms", forms))
    ]
    if any(pair.shape != (2,) for pair in pairs):
        raise bad("eigenvalues, forms", [pair.shape for pair in pairs], "two numbers each")
    (top, low), (first, own) = pairs
    logits = np.stack([first * place**2 + own * (1 - place**2), first * place, -first * place])
    share = np.exp(logits - logits.max(axis=0)) * np.array([1.0, m, l]).reshape(3, *[1] * place.ndim)
    share /= share.sum(axis=0)
    speed: Reals = (1 - place**2) * (share[0] * (top - low) * place + top * (share[1] - share[2]))
    return speed


def hemisphere_probability(n_tokens: int, dim: int) -> float:
    """P(n uniform tokens of S^{d-1} lie in one hemisphere) = 2^{-(n-1)} sum_{k<d} C(n-1, k) (Wendel; C Theorem 6.7)."""
    n, d = _whole("n_tokens", n_tokens, 1), _whole("dim", dim, 1)
    from scipy.special import betainc

    return 1.0 if d >= n else float(betainc(n - d, d, 0.5))  # the same sum, as a binomial distribution has it


def merge_time_scale(angle: ArrayLike, beta: ArrayLike, log10: bool = False) -> Reals:
    """e^{beta (1 - cos angle)}: the time two clusters at this angle need to merge (A.3); log10=True cannot overflow."""
    a, b = _angle(angle), _beta(beta)
    _together(angle=a, beta=b)
    flag("log10", log10)
    exponent: Reals = 2.0 * b * np.sin(a / 2) ** 2
    with np.errstate(over="ignore"):  # inf is the honest answer
        return exponent / math.log(10) if log10 else np.exp(exponent)


def lemma_5_1_time(index: int, c: float, eps: float, beta: float) -> float:
    """T_j = eps x / (s_j h(x)), x = c beta^{-1/2}: center s_j (1-based) moves less than eps x before T_j (A.5.2)."""
    s = whole("index", index, 1, "Tokens count from 1 here.", most=MOST_TOKENS)
    b = scalar("beta", beta, f"above 0, up to {MOST_BETA:g}", lambda b: (b > 0) & (b <= MOST_BETA))
    e = scalar("eps", eps, "a number > 0, up to 1000", lambda e: (e > 0) & (e <= 1000))
    low, high = math.sqrt(b) * float(tau_star(b)), math.sqrt(b) * math.pi
    advice = "The lemma needs separations beyond tau*, where the attraction falls."
    x = scalar("c", c, f"above {low:.6g}, below {high:.6g}", lambda c: (c > low) & (c < high), advice) / math.sqrt(b)
    return e * x / (s * math.sin(x)) * float(merge_time_scale(x, b))


def cap_overlap(angle: float, eps: float) -> float:
    """alpha of D.1: the largest overlap between two caps {<x, w> >= 1 - 2 eps} whose centers are this angle apart."""
    a = scalar("angle", angle, "from 0 to pi", lambda a: (a >= 0) & (a <= np.pi))
    e = scalar("eps", eps, "above 0, up to 1", lambda e: (e > 0) & (e <= 1))
    return math.cos(max(a - 2 * math.acos(1 - 2 * e), 0.0))


class Metastability(NamedTuple):
    """What D.2 promises: caps kept for t <= escape, |x_i - x_j|^2 <= 2 e^{-rate beta} inside from collapse on."""

    collapse: float
    escape: float
    rate: float
    gamma: float


def metastability_times(
    n_tokens: int, beta: float, eps: float, alpha: float, rate: float | None = None
) -> Metastability:
    """T_1 <= 2n e^{8 eps beta} + e n lambda beta^2/(beta-1), T_2 >= (eps/n) e^{(1-alpha) beta} (D.2, corrected).

    rate is lambda; without it, half of the largest one the theorem allows. alpha as in `cap_overlap`.
    """
    n = _whole("n_tokens", n_tokens, 2)
    b = scalar("beta", beta, f"above 1, up to {MOST_BETA:g}", lambda b: (b > 1) & (b <= MOST_BETA))
    e = scalar("eps", eps, "above 0, below 1/16", lambda e: (e > 0) & (e < 1 / 16))
    a = scalar("alpha", alpha, "from -1 to 1", lambda a: abs(a) <= 1)
    gamma = 1 - a - 8 * e - math.log(2 * n * n / e) / b
    if gamma <= 0:
        raise bad("gamma(beta)", gamma, "a number > 0", "The start is not separated: raise beta or lower alpha.")
    # gamma > 0 says 2n e^{8 eps beta} < T_2, and the first bound on lambda that the rest fits too: T_1 < T_2.
    first = (1 - a) * b + math.log((b - 1) * e / (b * b * n * n * math.e)) + math.log(-math.expm1(-gamma * b))
    second = 1 - a - math.log(2 * n * n / (1 - 8 * e)) / b - 8 * e
    largest = min(math.exp(min(first, 700.0)), second)
    given = largest / 2 if rate is None else rate
    lam = scalar("rate", given, f"above 0, below {largest:.6g}", lambda r: (r > 0) & (r < largest))
    with np.errstate(over="ignore"):
        collapse = 2 * n * np.exp(8 * e * b) + math.e * n * lam * b * b / (b - 1)
        escape = e / n * np.exp((1 - a) * b)
    return Metastability(float(collapse), float(escape), lam, gamma)


def normalisation_slope(layer_norm: str) -> tuple[float, str]:
    """(slope, clock) of log(1 - r) near r = 1 for equal overlaps r under paper F's schemes (F.5, corrected)."""
    return TERMINAL[named("layer_norm", layer_norm, TERMINAL)]


def negative_identity_radius(t: ArrayLike, dim: int) -> Reals:
    """Root mean square |x_i(t)| ~ sqrt(d / 2t) for V = -I in R^d with n > d tokens, as t -> infinity (B.7)."""
    times = real("t", t, "times from 1e-290 to 1e290", lambda s: (s >= 1e-290) & (s <= 1e290))
    return np.sqrt(_whole("dim", dim, 1) / (2.0 * times))
