"""Paper D (arXiv:2410.06833): clusters that last (the main theorem: T_1, T_2) and the staircase of their mergers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tokenflock import theory
from tokenflock.geometry import Array, retract, to_sphere
from tokenflock.model import Model
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.simulation import simulate

#: D.6: the start of the published staircase, and the sizes of the clusters on its steps.
ANGLES = 0.5 * np.array([0, 0.5, 2, 4, 7]) * math.log(2000) / math.sqrt(2000)
STEPS = ((1, 1, 1, 1, 1), (2, 1, 1, 1), (3, 1, 1), (3, 2), (5,))
DYNAMICS = {"SA": "softmax", "USA": "scaled-count"}


@claim(
    "metastability/main-theorem",
    kind="theorem",
    statement="Q = K = V = I, full attention, softmax or 1/n, beta > 1, eps < 1/16, every token within S_q(eps) = "
    "{<x, w_q> >= 1 - eps} of one of a few centers, gamma(beta) > 0. Then every token stays in S_q(2 eps) up to T_2 "
    ">= (eps/n) e^{(1-alpha) beta}, and from T_1 <= 2n e^{8 eps beta} + e n lambda beta^2/(beta-1) on tokens of one "
    "cap have |x_i - x_j|^2 <= 2 e^{-lambda beta}.",
    hypotheses=(
        "gamma(beta) = 1 - alpha - 8 eps - log(2n^2/eps)/beta > 0, alpha the largest overlap of two caps S_q(2 eps)",
        "lambda below the two bounds of the theorem",
    ),
    trial="2 to 4 centers in d of 2 to 4, 4 to 10 tokens uniform in their caps, eps of 0.002 to 0.01, beta such that "
    "T_2 is 1e3 to 1e5, lambda 0.95 of the largest one allowed; followed to T_2",
    measured="the largest (1 - <x_i, w_q>) / (2 eps), and from T_1 on the largest |x_i - x_j|^2 e^{lambda beta} / 2",
    rule="holds if both are at most 1",
    erratum="One bound on lambda is printed with the wrong sign in front of log(...)/beta; the form that the proof "
    "needs is used.",
    sizes={"trials": 60},
    quick={"trials": 8, "t_most": 1e4},
)
def main_theorem(check: Check, t_most: float = 1e5, sharpness: float = 1.0) -> None:
    """sharpness: the run has sharpness * beta, the promise beta; below 1 tokens see what they should not."""

    def one(generator: np.random.Generator, normaliser: str, part: str) -> Trial:
        w, owner, x, eps, beta, promise = separated(generator, t_most)
        late = promise.collapse + (promise.escape - promise.collapse) * np.linspace(0, 1, 60) ** 2
        times = np.union1d(np.geomspace(1e-2, promise.escape, 200), late)
        model = Model(dim=x.shape[1], beta=sharpness * beta, mask="full", normaliser=normaliser)
        run = simulate(model, x, times[-1], times=times, rtol=1e-9, atol=1e-13, progress=False)["x"].values
        if part == "caps":
            # |x - w|^2 / 2 = 1 - <x, w>, without its cancellation
            off = float((np.sum((run - w[owner]) ** 2, axis=-1) / 2).max() / (2 * eps))
        else:
            late_run = run[times >= promise.collapse]
            apart = np.sum((late_run[:, :, None] - late_run[:, None]) ** 2, axis=-1)
            off = float(apart[:, owner[:, None] == owner].max() * math.exp(promise.rate * beta) / 2)
        return Trial(bool(off <= 1), off)

    for name, normaliser in DYNAMICS.items():
        check.each(f"{name}, caps up to T_2", partial(one, normaliser=normaliser, part="caps"), 1.0, "<=")
        check.each(f"{name}, collapsed from T_1 on", partial(one, normaliser=normaliser, part="collapse"), 1.0, "<=")


def separated(
    generator: np.random.Generator, t_most: float
) -> tuple[Array, NDArray[np.intp], Array, float, float, theory.Metastability]:
    """Centers (k, d), the center of every token, tokens (n, d), eps, beta, and what the theorem promises them."""
    while True:
        d, n = int(generator.integers(2, 5)), int(generator.integers(4, 11))
        k, eps = int(generator.integers(2, min(4, d + 1) + 1)), float(generator.choice([0.002, 0.005, 0.01]))
        w = to_sphere(generator, (k, d))
        nearest = math.acos(max((w @ w.T)[np.triu_indices(k, 1)].max(), -1.0))
        alpha = theory.cap_overlap(nearest, eps)
        if alpha > 0.5:
            continue
        escape = math.exp(generator.uniform(math.log(1e3), math.log(t_most)))
        beta = math.log(escape * n / eps) / (1 - alpha)
        if 8 * eps + math.log(2 * n * n / eps) / beta < 1 - alpha:
            break
    owner = np.arange(n) % k
    side = to_sphere(generator, (n, d))
    side = retract(side - np.sum(side * w[owner], axis=1, keepdims=True) * w[owner])
    away = math.acos(1 - eps) * generator.random((n, 1)) ** (1 / (d - 1))
    x = np.cos(away) * w[owner] + np.sin(away) * side
    half = theory.metastability_times(n, beta, eps, alpha)
    return w, owner, x, eps, beta, theory.metastability_times(n, beta, eps, alpha, 1.9 * half.rate)


@claim(
    "metastability/collapse-time",
    kind="theorem",
    statement="u' = u (1 - u) e^{beta (u - 1)}, 0 < u(0) < 1, beta > 1, c > 0: the first time with 1 - u <= e^{-c "
    "beta} is at most e^{beta (1 - u(0))} / u(0) + e c beta^2 / (beta - 1). This is where T_1 comes from.",
    hypotheses=("beta > 1",),
    trial="beta of 1.05 to 60, u(0) of 0.02 to 0.98, c of 0.05 to 5; the time by quadrature",
    measured="the time over its bound",
    rule="holds if at most 1",
    sizes={"trials": 5000},
    quick={"trials": 400},
)
def collapse_time(check: Check, pace: float = 1.0) -> None:
    """pace: multiplies the right-hand side."""

    def one(generator: np.random.Generator) -> Trial:
        beta, c = math.exp(generator.uniform(math.log(1.05), math.log(60))), generator.uniform(0.05, 5)
        u = generator.uniform(0.02, 0.98)
        bound = math.exp(beta * (1 - u)) / u + math.e * c * beta**2 / (beta - 1)
        ratio = time_to_collapse(u, beta, c) / pace / bound
        return Trial(bool(ratio <= 1), ratio, "" if ratio <= 1 else f"beta = {beta:.3g}, u(0) = {u:.3g}, c = {c:.3g}.")

    check.each("time over its bound", one, 1.0, "<=")


def time_to_collapse(u0: float, beta: float, c: float) -> float:
    """int dq e^{beta q} / (q (1 - q)) from e^{-c beta} to 1 - u0, in log q, where 1/q is smooth."""
    low, high = -c * beta, math.log1p(-u0)
    edges = np.unique(np.clip([low, -math.log(beta), high], low, max(low, high)))  # e^{beta q} turns steep at 1/beta
    nodes, weights = _gauss()
    total = 0.0
    for a, b in pairwise(edges):
        q = np.exp(a + (b - a) * (nodes + 1) / 2)
        total += float(np.sum(weights * np.exp(beta * q) / (1 - q)) * (b - a) / 2)
    return total


@lru_cache
def _gauss() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(100)


@claim(
    "metastability/hitting-time",
    kind="theorem",
    statement="u' = -c log(beta) sin u, 0 < u(0) < pi: as beta grows, u falls to sqrt(log(beta) / beta) at a time "
    "that tends to 1 / (2c). This is how long a merger lasts on the clock of the staircase.",
    hypotheses=("c and u(0) fixed while beta grows",),
    trial="c of 0.2 to 5, u(0) of 0.05 to 3; beta to 1e300 by an integrator, to e^(10^6) in closed form",
    measured="the relative difference of integrator and closed form; and |2 c time - 1| at beta = e^(10^6)",
    rule="holds if the first is below 1e-7 and the second below 1e-4",
    erratum="The lemma prints 2/c.",
    sizes={"trials": 60},
    quick={"trials": 10},
)
def hitting_time(check: Check, printed: bool = False) -> None:
    """printed=True: the limit 2/c."""

    def drawn(generator: np.random.Generator) -> tuple[float, float, float]:
        return float(generator.uniform(0.05, 3)), float(generator.uniform(0.2, 5)), float(generator.uniform(7, 690))

    def integrated(generator: np.random.Generator) -> Trial:
        from scipy.integrate import solve_ivp

        u, c, log_beta = drawn(generator)
        end = merger_time(u, c, log_beta)
        found = solve_ivp(lambda _, y: -c * log_beta * np.sin(y), (0, end), [u], "DOP853", rtol=1e-12, atol=1e-300)
        off = abs(float(np.log(found.y[0, -1])) / ((math.log(log_beta) - log_beta) / 2) - 1)
        return Trial(bool(off < 1e-7), off)

    def limit(generator: np.random.Generator) -> Trial:
        u, c, _ = drawn(generator)
        off = abs(merger_time(u, c, 1e6) * (c / 2 if printed else 2 * c) - 1)
        return Trial(bool(off < 1e-4), off)

    check.each("integrator against closed form", integrated, 1e-7)
    check.each("limit", limit, 1e-4)


def merger_time(u0: float, c: float, log_beta: float) -> float:
    """log(tan(u0/2) / tan(u1/2)) / (c log beta), u1 = sqrt(log beta / beta), without ever forming beta."""
    log_u1 = (math.log(log_beta) - log_beta) / 2
    log_tan = math.log(math.tan(math.exp(log_u1) / 2)) if log_u1 > -300 else log_u1 - math.log(2)
    return (math.log(math.tan(u0 / 2)) - log_tan) / (c * log_beta)


@dataclass(frozen=True)
class Stretch:
    """The flow between two mergers: cluster sizes, path length, log of time, angles (frame, cluster), energy."""

    masses: Array  # of the clusters in the order of their angles
    path: Array
    log_time: Array
    angles: Array
    energy: Array
    log_speed: Array

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the clusters, largest first."""
        return tuple(int(m) for m in np.sort(self.masses)[::-1])

    @property
    def plateau(self) -> float:
        """The energy where the clusters are slowest."""
        return float(self.energy[np.argmin(self.log_speed)])


def stretches(angles: Array, beta: float, merge: float, longest: float = 2e-3) -> list[Stretch]:
    r"""Tokens on the circle until one cluster is left; those closer than `merge` become one of their total size.

    theta_i' = (1/n) sum_j m_j e^{beta (cos(theta_j - theta_i) - 1)} sin(theta_j - theta_i),
    followed in the length s of the path instead of time: speeds differ by e^{beta (1 - cos)}, more than any time step
    or number can follow, but ds/ds = 1. Time comes back as the integral of ds / speed, in logarithms.
    """
    from scipy.integrate import solve_ivp

    theta: Array = np.sort(np.asarray(angles, dtype=float))
    mass: Array = np.ones(len(angles))
    path, log_time, n, out = 0.0, -np.inf, len(angles), []
    while len(theta) > 1:

        def close(_: float, y: Array) -> float:
            return float(np.diff(y).min() - merge)

        def move(_: float, y: Array, mass: Array = mass) -> Array:
            v = scaled_velocity(y, mass, beta)[0]
            return v / math.sqrt(mass @ v**2)

        close.terminal = True  # type: ignore[attr-defined]
        if close(0.0, theta) > 0:
            # The longest step is not for this equation, but for the sum that gives time, and for smooth curves.
            found = solve_ivp(
                move, (0, 2 * np.pi * n), theta, "RK45", events=close, rtol=1e-9, atol=1e-12, max_step=longest
            )
            s, y = found.t, found.y.T
        else:
            s, y = np.zeros(1), theta[None]
        parts = [scaled_velocity(now, mass, beta) for now in y]
        log_speed = np.array([shift + 0.5 * math.log(mass @ v**2) for v, shift in parts]) - math.log(n)
        clock = _log_integral(s, -log_speed, log_time)
        energy = np.array([scaled_energy(now, mass, beta) for now in y])
        out.append(Stretch(mass, path + s, clock, y, energy, log_speed))
        path, log_time, theta, mass = path + s[-1], clock[-1], *_merged(y[-1], mass)
    last = out[-1]
    end = last.path[-1:], last.log_time[-1:], theta[None], np.ones(1), np.full(1, -np.inf)
    return [*out, Stretch(mass, *end)]


def scaled_velocity(theta: Array, mass: Array, beta: float) -> tuple[Array, float]:
    """n theta' over its largest weight, and the logarithm of that weight: finite at any beta."""
    apart = theta[None] - theta[:, None]
    weight = -2 * beta * np.sin(apart / 2) ** 2 + np.log(mass)
    np.fill_diagonal(weight, -np.inf)
    top = float(weight.max())
    return np.sum(np.exp(weight - top) * np.sin(apart), axis=1), top


def scaled_energy(theta: Array, mass: Array, beta: float) -> float:
    """n^-2 sum_ij m_i m_j e^{beta (cos(theta_i - theta_j) - 1)} (D.1)."""
    return float(mass @ np.exp(-2 * beta * np.sin((theta[None] - theta[:, None]) / 2) ** 2) @ mass / mass.sum() ** 2)


def _merged(theta: Array, mass: Array) -> tuple[Array, Array]:
    """The two nearest clusters as one, at their common mean."""
    k = int(np.argmin(np.diff(theta)))
    both = mass[k : k + 2].sum()
    mean = mass[k : k + 2] @ theta[k : k + 2] / both
    return np.concatenate([theta[:k], [mean], theta[k + 2 :]]), np.concatenate([mass[:k], [both], mass[k + 2 :]])


def _log_integral(s: Array, log_f: Array, before: float) -> Array:
    """log of (e^before + int_0^s f) at every s, by trapezoids of log f, without ever leaving logarithms."""
    a, b = log_f[:-1], log_f[1:]
    gap = np.maximum(np.abs(b - a), 1e-12)
    # int of e^{linear} = (e^b - e^a) / (b - a) ds; a straight line in log f is what fast growth looks like.
    with np.errstate(divide="ignore"):
        parts = np.maximum(a, b) + np.log(-np.expm1(-gap) / gap) + np.log(np.diff(s))
    return np.logaddexp.accumulate(np.concatenate([[before], parts]))


@claim(
    "metastability/staircase",
    kind="theorem",
    statement="Tokens on the circle, weights 1/n, tokens closer than (beta log beta)^(-1/2) merged: as beta grows, "
    "the energy n^-2 sum_ij e^{beta (<x_i, x_j> - 1)} becomes a staircase whose steps are sum_q (n_q/n)^2. From the "
    "published start they are 0.2, 0.28, 0.44, 0.52, 1; from a well-prepared one, in which each token is nearer to "
    "the first than to any later one, the tokens join the first one after the other.",
    hypotheses=("beta is large", "for the order of mergers: a well-prepared start"),
    trial="the published start; 4 to 6 well-prepared tokens within [0, pi]; beta from 4,000 to 64,000",
    measured="the largest |energy - step| where the clusters are slowest",
    rule="holds if the sizes come in the predicted order and the difference is below 0.01",
    erratum="The published start is not well-prepared in this sense: tokens 4 and 5 are nearer to each other.",
    sizes={"trials": 24},
    quick={"trials": 4, "betas": (4000.0, 16000.0)},
)
def staircase(
    check: Check,
    betas: tuple[float, ...] = (4000.0, 8000.0, 16000.0, 64000.0),
    prepared: bool = True,
    scale: float = 1.0,
) -> None:
    """prepared=False: any angles; scale: multiplies the published ones, which are then too near to be apart."""

    def judged(angles: Array, beta: float, steps: tuple[tuple[int, ...], ...]) -> Trial:
        found = stretches(angles, beta, 1 / math.sqrt(beta * math.log(beta)), longest=2e-2)
        sizes = tuple(stretch.sizes for stretch in found)
        if sizes != steps:
            return Trial(False, 1.0, f"sizes {sizes}.")
        off = max(abs(f.plateau - level(f.sizes)) for f in found)
        return Trial(bool(off < 0.01), off)

    def random_start(generator: np.random.Generator, beta: float) -> Trial:
        n = int(generator.integers(4, 7))  # more, and the first gap on [0, pi] is too small for beta = 4000
        gaps = np.ones(n)
        gaps[0] = 0.0
        for k in range(2, n):
            gaps[k] = gaps[k - 1] * generator.uniform(2.15, 2.4)  # farther from token k than that is from the first
        angles = gaps * np.pi / gaps[-1] if prepared else np.sort(generator.uniform(0, np.pi, n))
        alone = tuple((k, *[1] * (n - k)) for k in range(1, n + 1))
        return judged(angles, beta, alone)

    def published(_: np.random.Generator, beta: float) -> Trial:
        return judged(scale * ANGLES, beta, STEPS)

    for beta in betas:
        check.each(f"published start, beta = {beta:g}", partial(published, beta=beta), 0.01, trials=1)
    for beta in betas:
        check.each(f"well-prepared, beta = {beta:g}", partial(random_start, beta=beta), 0.01)


def level(sizes: tuple[int, ...]) -> float:
    """sum_q (n_q/n)^2: the energy of clusters that are far apart."""
    return sum(m * m for m in sizes) / sum(sizes) ** 2
