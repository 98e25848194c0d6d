"""How long causal attention with V = I takes: the exact time of a merge, and what n, d and beta do to it."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis.statistics import mean_and_error, slope
from tokenflock.geometry import Array, distance, retract, tangent, to_sphere
from tokenflock.model import Model
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.papers.layout import panels, points
from tokenflock.papers.merge_time import arrival, merge_law, merge_time
from tokenflock.simulation import simulate

NEAR = 0.1  # radians: a token this close to x_1 has arrived
# Radians that a run may be off the quadrature: a local error of 1e-12 at the start, where the leader is e^13 times
# slower than at the end of its way, is 5e-7 there, and there are many of them.
CLOSE = 1e-5
FRAMES = 241


def at_angle(x: Array, angle: float, rng: np.random.Generator) -> Array:
    """A unit vector at this angle from x, in a uniform direction."""
    side = retract(tangent(x, rng.standard_normal(x.shape)))
    return retract(math.cos(angle) * x + math.sin(angle) * side)


def _two_clusters(rng: np.random.Generator, exponents: tuple[float, float], mask: str) -> Trial:
    """m tokens at x_1, then q at an angle: the leader of the q against the quadrature, at five angles of its way."""
    m, q, d = int(rng.integers(1, 9)), int(rng.integers(1, 5)), int(rng.choice([2, 3, 8]))
    theta, exponent = rng.uniform(np.pi / 3, 0.8 * np.pi), rng.uniform(*exponents)
    beta = exponent / (1 - math.cos(theta))
    first = to_sphere(rng, (d,))
    start = np.concatenate([np.tile(first, (m, 1)), np.tile(at_angle(first, theta, rng), (q, 1))])
    angles = np.array([f * theta for f in (0.98, 0.9, 0.7, 0.4)] + [NEAR])
    times = np.array([merge_time(theta, a, beta, m) for a in angles])
    model = Model(dim=d, beta=beta, mask=mask)
    run = simulate(model, start, times[-1], times=times, rtol=1e-9, atol=1e-12, progress=False)
    off = distance(run["x"].values[:, m], run["x"].values[:, 0]) - angles
    # At NEAR the leader moves at a known speed: the angle that is left over is a time.
    w = m * math.exp(beta * (math.cos(NEAR) - 1))
    late = off[-1] * (1 + w) / (w * math.sin(NEAR))
    took = max(times[-1] + late, 1e-300)
    worst = float(np.abs(off).max())
    return Trial(worst < CLOSE, worst, data=(exponent, math.log(took), math.log(merge_law(theta, beta, m)), theta))


def _random_start(rng: np.random.Generator, n: int, d: int, beta: float, t_end: float, mask: str) -> Trial:
    """When the last token arrives, against token 2, whose way is exact, and the last merge against its quadrature."""
    start = to_sphere(rng, (n, d))
    theta = float(distance(start[1], start[0]))
    second = merge_time(theta, NEAR, beta, 1) if theta > NEAR else 0.0
    # The time of token 2 is one of the frames: whether it is late then is not a matter of reading between frames.
    times = np.union1d(np.concatenate([[0.0], np.geomspace(0.05, t_end, FRAMES)]), [min(second, t_end)])
    run = simulate(Model(dim=d, beta=beta, mask=mask), start, t_end, times=times, progress=False)
    gap = distance(run["x"].values, start[0])
    took = arrival(times, gap.max(axis=1), NEAR)
    if math.isnan(took):
        return Trial(None, math.nan, "did not end by t_end.")
    ratio = took / second if second else math.inf
    return Trial(ratio > 1 - 1e-4, ratio, data=(took, second, _last_merge(times, gap, beta)))


def _last_merge(times: Array, gap: Array, beta: float) -> tuple[float, float]:
    """(measured, quadrature): the time that the leader of the last cluster takes once all before it are at x_1."""
    late = np.flatnonzero(gap.max(axis=1) > 5 * NEAR)
    if not late.size:
        return math.nan, math.nan
    k = int(np.flatnonzero(gap[late[-1]] > 5 * NEAR)[0])
    ready = np.flatnonzero(gap[:, :k].max(axis=1) < 1e-3)
    left = np.flatnonzero(gap[:, k] > NEAR)
    if not ready.size or ready[0] >= left[-1]:
        return math.nan, math.nan
    a, b = int(ready[0]), int(left[-1])
    return float(times[b] - times[a]), merge_time(float(gap[a, k]), float(gap[b, k]), beta, k)


@claim(
    "causal/next-time",
    kind="estimate",
    statement="V = Q = K = I. A later cluster at angle theta from m tokens at x_1 comes to them along the geodesic, "
    "in the time T = int (1 + m w)/(m w sin a) da, w = e^{beta (cos a - 1)}: log(m beta sin^2 theta T) grows with "
    "slope 1 in beta (1 - cos theta). The last merge of a uniform start takes that time, and no start is done before "
    "token 2.",
    hypotheses=("V = Q = K = I", "causal mask", "the tokens of the first cluster are together"),
    trial="Two clusters of 1-8 and 1-4 tokens at a random angle in d = 2, 3 or 8; uniform starts of every n, d, beta.",
    measured="the leader's angle at five times of the quadrature; slopes of logarithms of times, with errors",
    rule="leader within 1e-5 rad of the quadrature; slopes within 4 standard errors of 1 (slack: the law's next order)",
    sizes={"trials": 100, "n": 32, "dim": 3, "beta": 4.0},
    quick={
        "trials": 24,
        "exponents": (6.0, 11.0),
        "n_tokens": (8, 32, 64),
        "dims": (2, 4, 16),
        "betas": (1.0, 2.5, 4.0),
    },
)
def next_time(
    check: Check,
    exponents: tuple[float, float] = (6.0, 13.0),
    n_tokens: tuple[int, ...] = (8, 16, 32, 64, 128),
    dims: tuple[int, ...] = (2, 3, 4, 8, 16),
    betas: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0),
    t_end: float = 1e6,
    mask: str = "causal",
    **fixed: float,
) -> None:
    """The quadrature, the law, and times of uniform starts along n, d and beta; fixed: the two that do not vary."""
    pairs = check.each("two clusters", lambda rng: _two_clusters(rng, exponents, mask), CLOSE, trials=2 * check.trials)
    data = np.array([t.data for t in pairs])
    if check.only is None:
        tilt, error, _ = slope(data[:, 0], data[:, 1] + data[:, 0] - data[:, 2])
        # The next order of the law is 1 + 2 cos(theta) / (beta sin^2 theta): up to a tenth over this range.
        check.interval("slope of log(m beta sin^2 T)", tilt, error, 1.0, len(data), slack=0.05)
        raw, error, _ = slope(data[:, 0], data[:, 1])
        check.interval("slope of log T, no prefactor", raw, error, None, len(data))

    def along(word: str, values: tuple[Any, ...]) -> list[list[Trial]]:
        sizes = {"n": fixed["n"], "d": fixed["dim"], "beta": fixed["beta"]}
        cases = [(f"uniform, {word} = {v:g}", {**sizes, word: v}) for v in values]
        one = partial(_random_start, t_end=t_end, mask=mask)
        return [check.each(case, partial(one, **s), 1 - 1e-4, ">") for case, s in cases]

    sweeps = {word: along(word, values) for word, values in (("n", n_tokens), ("d", dims), ("beta", betas))}
    if check.only is not None:
        return
    lasts = np.array([t.data[2] for runs in sweeps["beta"] for t in runs if t.data]).reshape(-1, 2)
    lasts = lasts[np.isfinite(lasts).all(axis=1)]
    if len(lasts) > 1:
        mean, error = mean_and_error(np.log(lasts[:, 0] / lasts[:, 1]))
        check.interval("log of last merge over quadrature", mean, error, 0.0, len(lasts), slack=0.01)
    grids = {"n": np.log(n_tokens), "d": np.log(dims), "beta": np.array(betas)}
    for word, runs in sweeps.items():
        x, y = _pooled(grids[word], runs)
        if len(set(x)) < 2:
            return  # nothing came to an end, so there is nothing to fit or to draw
        tilt, error, _ = slope(x, y)
        name = "beta" if word == "beta" else f"log {word}"
        check.interval(f"slope of log T in {name}", tilt, error, None, len(x))
    check.draw = lambda: _draw(data, sweeps, {"n": n_tokens, "d": dims, "beta": betas}, **fixed)


def _pooled(x: Array, runs: list[list[Trial]]) -> tuple[Array, Array]:
    pairs = [(a, math.log(t.data[0])) for a, trials in zip(x, runs, strict=True) for t in trials if t.data]
    table = np.array(pairs).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _draw(
    data: Array,
    sweeps: dict[str, list[list[Trial]]],
    grids: dict[str, tuple[Any, ...]],
    n: float,
    dim: float,
    beta: float,
) -> plot.Figure:
    """(a) the law; (b)-(d) the time of uniform starts along n, d and beta, with the exact time of token 2."""
    blue, red, grey = plot.COLOURS["blue"], plot.COLOURS["red"], plot.COLOURS["grey"]
    figure, axes = panels(4)
    low, high = data[:, 0].min(), data[:, 0].max()
    scaled = data[:, 1] + data[:, 0] - data[:, 2]
    axes[0].plot(data[:, 0], np.exp(scaled), "o", ms=2, color=blue, alpha=0.6, label="two clusters")
    axes[0].plot([low, high], np.exp([low, high]), color=red, label=r"$e^{\beta(1-\cos\theta)}$")
    axes[0].set(yscale="log", xlabel=r"$\beta(1-\cos\theta)$", ylabel=r"$m\,\beta\,\sin^2\theta\;T$")
    axes[0].legend(loc="upper left")
    labels = {"n": "tokens $n$", "d": "dimension $d$", "beta": r"$\beta$"}
    for ax, (word, runs) in zip(axes[1:], sweeps.items(), strict=True):
        times = [[math.log(t.data[0]) for t in trials if t.data] for trials in runs]
        second = [[math.log(max(t.data[1], 1e-2)) for t in trials if t.data] for trials in runs]
        points(ax, grids[word], times, log=True, color=blue, label="all tokens")
        points(ax, grids[word], second, log=True, color=grey, mfc="white", label="token 2, exact")
        ax.set(yscale="log", xlabel=labels[word], ylabel="geometric mean time" if word == "n" else "")
        if word != "beta":
            ax.set_xscale("log", base=2)
            ax.set_xticks(grids[word], [f"{v:g}" for v in grids[word]])
    both = {"n": f"$d$ = {dim}, $\\beta$ = {beta:g}", "d": f"$n$ = {n}, $\\beta$ = {beta:g}"}
    for ax, text in zip(axes[1:], [*both.values(), f"$n$ = {n}, $d$ = {dim}"], strict=True):
        ax.set_title(text)
    axes[3].legend(loc="upper left")
    top = max(ax.get_ylim()[1] for ax in axes[1:])
    for ax in axes[1:]:
        ax.set_ylim(3, top)
    return figure
