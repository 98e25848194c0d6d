"""Paper A, how many centers there are: strong ones (Lemma C.1), and ordinary ones (Renyi's parking, A.5.5)."""

from __future__ import annotations

import math

import numpy as np

from tokenflock import plot, start, theory
from tokenflock.analysis import renyi
from tokenflock.errors import unknown
from tokenflock.geometry import Array, distance
from tokenflock.papers import layout
from tokenflock.papers.claims.ledger import Check, claim

FORMULAS = ("corrected", "printed")


@claim(
    "causal/lemma-c.1",
    kind="estimate",
    statement="Tokens drawn independently from a law mu on S^{d-1}, m(x) = mu(B_delta(x)): E[number of strong "
    "centers] = int mu(dx) / m, 1 / sigma(B_delta) for the uniform law; among n tokens int mu(dx) (1 - (1 - m)^n) / m.",
    hypotheses=("the tokens are independent with one law",),
    trial="n tokens: uniform in d of 2 to 5, von Mises-Fisher in d of 2, 3, 4; the number of strong centers",
    measured="the mean number of strong centers, with a 95 % interval",
    rule="agrees if the formula is within 4 standard errors",
    erratum="For d = 3 the paper prints 1 / (3 sin^2(delta/2)); the 3 does not belong there: sigma = sin^2(delta/2).",
    sizes={"trials": 4000},
    quick={"trials": 600},
)
def lemma_c_1(check: Check, n_tokens: int = 200, formula: str = "corrected") -> None:
    """formula="printed": the paper's constant for d = 3."""
    if formula not in FORMULAS:
        raise unknown("formula", formula, FORMULAS)
    for dim, delta in ((2, 0.5), (2, 0.1), (3, 0.8), (3, 0.3), (4, 0.8), (5, 1.0)):
        case = f"uniform, d = {dim}, delta = {delta:g}"
        if check.wants(case):
            x = start.uniform(n_tokens, dim, seed=check.seed, runs=check.trials)
            predicted = float(theory.strong_center_count(delta, dim, n_tokens))
            predicted /= 3.0 if formula == "printed" and dim == 3 else 1.0
            check.estimate(case, _sizes(renyi.strong_centers(x, delta)), predicted)
    for dim, kappa, delta in ((2, 4.0, 0.3), (3, 3.0, 0.6), (4, 5.0, 0.8)):
        case = f"von Mises-Fisher, kappa = {kappa:g}, d = {dim}, delta = {delta:g}"
        if check.wants(case):
            x = start.von_mises_fisher(n_tokens, dim, kappa=kappa, seed=check.seed, runs=check.trials)
            check.estimate(case, _sizes(renyi.strong_centers(x, delta)), concentrated(kappa, dim, delta, n_tokens))


def _sizes(found: Array) -> Array:
    return np.array([len(centers) for centers in found], dtype=float)


def concentrated(kappa: float, dim: int, delta: float, n_tokens: int) -> float:
    """int mu(dx) (1 - (1 - m)^n) / m for the law ~ e^{kappa <x, w>}, by quadrature in angles around w and x."""
    nodes, weights = np.polynomial.legendre.leggauss(120)

    def on(top: float) -> tuple[Array, Array]:
        return top * (nodes + 1) / 2, top * weights / 2

    t, wt = on(np.pi)  # angle of x to w
    rho, wr = on(delta)  # angle to x
    psi, wp = (np.array([0.0, np.pi]), np.ones(2)) if dim == 2 else on(np.pi)  # around x; d = 2 has two sides
    wp = wp * np.sin(psi) ** (dim - 3) if dim > 2 else wp
    law = wt * np.exp(kappa * (np.cos(t) - 1)) * np.sin(t) ** (dim - 2)
    law /= law.sum()
    cosine = np.cos(rho)[:, None] * np.cos(t)[:, None, None] + np.sin(rho)[:, None] * np.sin(t)[:, None, None] * np.cos(
        psi
    )
    inside = np.einsum("trp,r,p->t", np.exp(kappa * (cosine - 1)), wr * np.sin(rho) ** (dim - 2), wp)
    total = np.sum(wt * np.exp(kappa * (np.cos(t) - 1)) * np.sin(t) ** (dim - 2)) * wp.sum()
    m = inside / total
    return float(np.sum(law * -np.expm1(n_tokens * np.log1p(-m)) / m))


@claim(
    "causal/renyi-count",
    kind="estimate",
    statement="On the circle the mean number of Renyi centers is c_R 2 pi / delta, c_R = 0.7475979202..., as delta -> "
    "0. On S^{d-1}, delta = c beta^(-1/2), both kinds of centers number Theta(beta^((d-1)/2)).",
    hypotheses=("uniform tokens, many more than centers",),
    trial="c_R: streets of 20,000 cars, each parked to the end. Exponents: delta = 4 beta^(-1/2), beta from 16 to "
    "1e5, 60 tokens for every ball of radius delta, on the sphere or, where it holds too many, on a cap of radius 5 "
    "delta of which the inner 2 delta are counted",
    measured="the parking constant, the mean number at delta = 0.5, and the slope of log(number) against log(beta)",
    rule="agrees if the predicted value is within 4 standard errors, and what curvature adds to a slope at small beta",
    sizes={"trials": 100},
    quick={"trials": 8, "tokens_a_ball": 30.0, "most_tokens": 12_000},
)
def renyi_count(
    check: Check,
    cars: int = 20_000,
    tokens_a_ball: float = 60.0,
    most_tokens: int = 50_000,
    constant: float = theory.PARKING,
) -> None:
    """constant: what c_R is held against."""
    case = "parking constant c_R"
    if check.wants(case):
        generator = np.random.default_rng([check.seed, 1])
        filled = [park(generator, float(cars)) / cars for _ in range(check.trials)]
        check.estimate(case, filled, constant, note="streets parked to the end.")
    case = "centers at delta = 0.5, n = 200"
    if check.wants(case):
        x = start.uniform(200, 2, seed=check.seed, runs=40 * check.trials)
        low, high = np.quantile(count := _sizes(renyi.centers(x, 0.5)), [0.1, 0.9])
        law = constant / theory.PARKING * float(theory.renyi_center_count(0.5, 200))
        check.estimate(case, count, law, f"10 % to 90 %: {low:.0f} to {high:.0f}; {law * 1.0272:.2f} if n is infinite.")
    betas = np.geomspace(16, 1e5, 8)
    counts: dict[tuple[int, str], Array] = {}
    for dim in (2, 3, 4, 5):
        cases = {kind: f"{kind} centers, d = {dim}" for kind in ("Renyi", "strong")}
        if not any(check.wants(case) for case in cases.values()):
            continue
        runs = [_counts(check, dim, betas, k, tokens_a_ball, most_tokens) for k in range(max(6, check.trials // 4))]
        for row, (kind, case) in enumerate(cases.items()):
            found = np.array([run[row] for run in runs])
            counts[dim, kind] = found
            slopes = [np.polyfit(np.log(betas), np.log(one), 1)[0] for one in found]
            exact = np.polyfit(np.log(betas), -np.log(theory.cap_measure(4 / np.sqrt(betas), dim)), 1)[0]
            ratio = found.mean(axis=0) * theory.cap_measure(4 / np.sqrt(betas), dim)
            note = f"number times sigma(B_delta) from {ratio.min():.2f} to {ratio.max():.2f}."
            check.estimate(case, slopes, (dim - 1) / 2, note, slack=2 * abs(exact - (dim - 1) / 2) + 0.01)
    check.draw = lambda: _draw_counts(betas, counts)


def park(generator: np.random.Generator, length: float) -> int:
    """Unit cars parked at random on a round street until none fits: a car splits a gap into two independent ones."""
    parked, gaps = 1, np.array([length - 1.0])  # free length between the first car and itself
    while len(gaps):
        gaps = gaps[gaps >= 1.0]
        parked += len(gaps)
        left = generator.random(len(gaps)) * (gaps - 1.0)
        gaps = np.concatenate([left, gaps - 1.0 - left])
    return parked


def _counts(check: Check, dim: int, betas: Array, k: int, tokens_a_ball: float, most: int) -> tuple[Array, Array]:
    """Renyi and strong centers of the whole sphere at every beta, from one sample each."""
    both = np.empty((2, len(betas)))
    for column, beta in enumerate(betas):
        delta = 4 / math.sqrt(beta)
        ball = float(theory.cap_measure(delta, dim))
        seed = [check.seed, dim, k, column]
        key = int(np.random.SeedSequence(seed).generate_state(1)[0])
        n, outer = tokens_a_ball / ball, 5 * delta
        if n <= most or outer > np.pi:
            x, share, inner = start.uniform(int(min(n, 40 * most)), dim, seed=key), 1.0, np.inf
        else:
            n = n * float(theory.cap_measure(outer, dim))
            x, inner = start.cap(int(n), dim, angle=outer, seed=key), 2 * delta
            share = float(theory.cap_measure(inner, dim))
        near = distance(x, np.eye(1, dim)) <= inner
        for row, centers in enumerate((renyi.centers, renyi.strong_centers)):
            both[row, column] = max(near[centers(x, delta)].sum(), 0.5) / share
        check.tell(f"d = {dim}, beta = {beta:.0f}", (column + 1) / len(betas))
    return both[0], both[1]


def _draw_counts(betas: Array, counts: dict[tuple[int, str], Array]) -> plot.Figure:
    figure, both = layout.row(2, 2.9, sharex=True, sharey=True)
    axes = dict(zip(("Renyi", "strong"), both, strict=True))
    for (dim, kind), found in counts.items():
        colour = plot.COLOURS[("blue", "red", "green", "orange")[dim - 2]]
        mean, low, high = found.mean(axis=0), *np.quantile(found, [0.1, 0.9], axis=0)
        axes[kind].plot(betas, mean, "o", ms=3, color=colour, label=f"$d$ = {dim}")
        axes[kind].vlines(betas, low, high, color=colour, lw=0.8)
        law = mean[-1] * (betas / betas[-1]) ** ((dim - 1) / 2)
        axes[kind].plot(betas, law, lw=0.8, color=colour)
    for kind, ax in axes.items():
        ax.set(xscale="log", yscale="log", xlabel=r"$\beta$", title=f"{kind.replace('Renyi', 'Rényi')} centers")
    axes["Renyi"].set(ylabel="number of centers on the sphere")
    axes["strong"].legend(title=r"lines: $\beta^{(d-1)/2}$")
    return figure
