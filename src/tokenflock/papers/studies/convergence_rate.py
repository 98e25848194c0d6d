"""How long until one cluster is left, against n, d and beta?

Causal attention, V = Q = K = I. At large beta a token is drawn to the nearest earlier one alone, on the time scale
e^{beta (1 - cos)}. So the merges of a start can be listed without running it: of all tokens the one that is nearest to
an earlier one goes first, and is gone; then the next. The largest of the gaps 1 - cos on that list, b, is the barrier
of the start: log T / beta -> b. Its law depends on n and d only, and no start has less than the gap of token 2, which
sees nobody but token 1. Paper A says no more than that T is at least exponential in sqrt(beta).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis.statistics import Estimate, bootstrap, fit, interval
from tokenflock.geometry import Array, distance
from tokenflock.model import Model
from tokenflock.papers.layout import panels
from tokenflock.papers.merge_time import arrival, merge_time
from tokenflock.papers.studies.complex_top import gathered
from tokenflock.papers.studies.ledger import Answer, Inquiry, Sizes, Table, study
from tokenflock.simulation import simulate
from tokenflock.start import uniform

Runs = list[list[list[float]]]  # of every start and prefix: a time and a barrier
NEAR = 0.1  # radians: a token this close to x_1 has arrived
FRAMES = 2000  # so many that the last merge is read to 3 % over 30 decades
STEEP = 4.0  # below this beta rates of order 1 set the time, not barriers
POWERS = np.linspace(0.2, 2.0, 181)


def barrier(start: Array) -> float:
    """b of a start (n, d): the largest gap 1 - cos on the list of merges."""
    overlap = start @ start.T
    overlap[np.triu_indices(len(start))] = -np.inf  # only earlier tokens are seen
    highest, alive = 0.0, np.ones(len(start), dtype=bool)
    for _ in range(len(start) - 1):
        nearest = np.where(alive, np.where(alive[None, :], overlap, -np.inf).max(axis=1), -np.inf)
        k = int(nearest.argmax())
        highest = max(highest, 1 - float(nearest[k]))
        alive[k] = False
    return highest


def _times(generator: np.random.Generator, n: int, d: int, beta: float, prefixes: Sequence[int], s: Sizes) -> Runs:
    """For every start and prefix: the time until all of it is within NEAR of x_1, and its barrier.

    The first k tokens of a causal run are a run of k tokens: one run gives the times of every n.
    """
    start = uniform(n, d, seed=int(generator.integers(2**31)), runs=s["runs"])
    spread = lambda end: np.concatenate([[0.0], np.geomspace(0.01, end, FRAMES)])  # noqa: E731
    run = simulate(Model(dim=d, beta=beta), start, math.inf, times=spread, progress=False)
    times, gap = run["time"].values, distance(run["x"].values, start[:, None, :1])
    return [
        [[arrival(times, g[:, :k].max(axis=1), NEAR), barrier(x[:k])] for k in prefixes]
        for g, x in zip(gap, start, strict=True)
    ]


def _full(generator: np.random.Generator, n: int, d: int, beta: float, s: Sizes) -> Array:
    """The time to one cluster of every start with full attention, by explicit steps."""
    start = uniform(n, d, seed=int(generator.integers(2**31)), runs=s["runs"])
    return gathered(Model(dim=d, beta=beta, mask="full"), start, s["ends"])


def power_of(betas: Array, logs: Array) -> float:
    """p of the law log T = a + c beta^p with the least squares, on a grid."""

    def left(p: float) -> float:
        columns = np.column_stack([np.ones(len(betas)), betas**p])
        return float(np.sum((logs - columns @ np.linalg.lstsq(columns, logs, rcond=None)[0]) ** 2))

    return float(POWERS[int(np.argmin([left(p) for p in POWERS]))])


def _draw(answer: Answer) -> plot.Figure:
    runs, law = answer.table("runs"), answer.table("barriers")
    blue, red, grey = plot.COLOURS["blue"], plot.COLOURS["red"], plot.COLOURS["grey"]
    figure, axes = panels(3)
    betas = np.unique(runs["beta"])
    for k, beta in enumerate(betas):
        rows = runs.where(beta=beta, n=max(runs["n"]))
        colour = plot.shades(len(betas) + 1)[k]
        axes[0].plot(beta * rows["barrier"], np.log(rows["time"]), "o", ms=2.5, color=colour, label=f"{beta:g}")
    span = np.array([0, float((runs["beta"] * runs["barrier"]).max())])
    axes[0].plot(span, span, color=red, lw=0.8)
    axes[0].set(xlabel=r"$\beta\,b$, from the start alone", ylabel=r"$\log T$, measured")
    axes[0].legend(title=r"$\beta$", ncols=2, fontsize=6)
    along = answer.table("along beta")
    along.points(axes[1], "beta", "log_T", fmt="o", ms=3.5, color=blue, label="causal")
    answer.table("full").points(axes[1], "beta", "log_T", fmt="s", color=grey, label="full")
    for p, dash in ((1.0, "-"), (0.5, ":")):
        line = np.polyfit(along["beta"] ** p, along["log_T"], 1)
        fine = np.linspace(along["beta"].min(), along["beta"].max(), 50)
        axes[1].plot(fine, np.polyval(line, fine**p), dash, color=red, lw=0.8, label=rf"$a + c\beta^{{{p:g}}}$")
    axes[1].set(xlabel=r"$\beta$", ylabel=r"mean $\log T$")
    axes[1].legend()
    for k, d in enumerate(sorted(set(law["d"]))):
        rows = law.where(d=d)
        colour = plot.shades(len(set(law["d"])) + 1)[k]
        axes[2].plot(rows["n"], rows["barrier"], "-", lw=0.9, color=colour, label=f"$d$ = {d}")
    answer.table("measured").points(axes[2], "n", "slope", fmt="o", capsize=None, color=blue)
    axes[2].set(xscale="log", xlabel="tokens $n$", ylabel=r"mean barrier $b$; points: slope of $\log T$ in $\beta$")
    axes[2].legend(fontsize=6, ncols=2, loc="lower right")
    return figure


@study(
    "convergence-rate",
    source="A, Theorem 4.1 (no rate) and section 5 (exp(Omega(sqrt(beta)))); C, Theorem 6.3",
    question="How does the time to one cluster depend on n, d and beta?",
    method="Causal attention, V = Q = K = I, uniform starts, implicit steps to the last merge (t_end = inf): T is "
    "the time until every token is within 0.1 rad of x_1(0). Prefixes of a run give every smaller n. Laws log T = a "
    "+ c beta^p are fitted over p, with a bootstrap over runs. The barrier b of a start is found from the start "
    "alone, by listing merges of nearest tokens; log T is regressed on beta b (slope 1 predicted, HC3). The null "
    "shuffles the barriers among the starts. The mean of b over n and d is the law. Full attention at small beta "
    "beside it.",
    sizes={
        "betas": (2.0, 4.0, 8.0, 16.0, 32.0),
        "n_tokens": 12,
        "prefixes": (2, 4, 8, 12),
        "dim": 3,
        "dims": (2, 8),
        "beta": 8.0,
        "runs": 16,
        "law_n": (2, 4, 8, 16, 32, 64, 128),
        "law_d": (2, 3, 4, 8, 16, 64),
        "law_starts": 200,
        "betas_full": (1.0, 2.0, 3.0, 4.0),
        "ends": (300.0, 3e3, 3e4),
    },
    quick={
        "betas": (2.0, 6.0, 12.0),
        "n_tokens": 6,
        "prefixes": (2, 6),
        "dims": (2,),
        "runs": 8,
        "law_n": (2, 8),
        "law_d": (2, 8),
        "law_starts": 20,
        "betas_full": (1.0,),
        "ends": (300.0,),
    },
    draw=_draw,
)
def convergence_rate(work: Inquiry, **s: Any) -> None:
    """Times along beta and d, barriers, laws."""
    cases = {f"d = {s['dim']}, beta = {b:g}": (s["n_tokens"], s["dim"], b, s["prefixes"], s) for b in s["betas"]}
    cases |= {
        f"d = {d}, beta = {s['beta']:g}, dims": (s["n_tokens"], d, s["beta"], s["prefixes"], s) for d in s["dims"]
    }
    found = work.each(cases, _times)
    rows = []
    for name, (_, d, beta, *_) in cases.items():
        for start in found[name]:
            rows += [[d, beta, n, max(took, 1e-2), high] for n, (took, high) in zip(s["prefixes"], start, strict=True)]
    every = work.table("runs", ("d", "beta", "n", "time", "barrier"), rows)
    most, mine = max(s["prefixes"]), every.where(d=s["dim"])
    last = mine.where(n=most)
    rows = [[b, *interval(np.log(last.where(beta=b)["time"])), s["runs"]] for b in s["betas"]]
    work.table("along beta", ("beta", "log_T", "low", "high", "runs"), rows, f"d = {s['dim']}, n = {most}")
    rows = []
    for n in s["prefixes"]:
        part = mine.where(n=n)
        high = [row for row in part.rows if row[1] >= STEEP]
        column = np.array([[1.0, row[1]] for row in high])
        rows.append([n, *fit(column, np.log([row[3] for row in high])).estimate(1), len(high)])
    work.table("measured", ("n", "slope", "low", "high", "runs"), rows, f"slope of log T in beta, d = {s['dim']}")
    full = work.each({f"full, beta = {b:g}": (s["n_tokens"], s["dim"], b, s) for b in s["betas_full"]}, _full)
    rows = []
    for b in s["betas_full"]:
        took = np.array(full[f"full, beta = {b:g}"], dtype=float)
        rows.append([b, *interval(np.log(took)), int(np.isnan(took).sum())])
    work.table("full", ("beta", "log_T", "low", "high", "not_done"), rows)
    rng = np.random.default_rng([work.seed, 1])
    rows = []
    for d in s["law_d"]:
        for n in s["law_n"]:
            drawn = uniform(n, d, seed=int(rng.integers(2**31)), runs=s["law_starts"])
            rows.append([d, n, *interval([barrier(x) for x in drawn]), s["law_starts"]])
    law = work.table("barriers", ("d", "n", "barrier", "low", "high", "starts"), rows, "mean of b over uniform starts")
    _say(work, every, last, law, s)


def _say(work: Inquiry, every: Table, last: Table, law: Table, s: Sizes) -> None:
    # The prefactor 1/beta of a merge is known (next-time): it is put back before slopes are taken.
    used = [row for row in last.rows if row[1] >= STEEP]
    betas, high = np.array([row[1] for row in used]), np.array([row[4] for row in used])
    logs = np.log([row[3] * row[1] for row in used])
    p = bootstrap(np.column_stack([betas, logs]), lambda t: power_of(t[:, 0], t[:, 1]), resamples=200)
    work.number("power p of log(beta T) ~ beta^p", p, len(logs), 1.0, "paper A: at least 1/2")
    slope = fit(np.column_stack([np.ones(len(logs)), betas * high]), logs)
    work.number("slope of log(beta T) in beta b", slope.estimate(1), len(logs), 1.0, f"R^2 {slope.explained:.3f}")
    rng = np.random.default_rng(0)
    shuffled = np.concatenate([rng.permutation(high[betas == b]) for b in np.unique(betas)])
    order = np.concatenate([np.flatnonzero(betas == b) for b in np.unique(betas)])
    mixed = np.empty(len(high))
    mixed[order] = shuffled
    null = fit(np.column_stack([np.ones(len(logs)), betas * mixed]), logs)
    words = f"R^2 {slope.explained:.3f}, with shuffled barriers {null.explained:.3f}"
    work.control("the barrier of a start is its own", slope.explained > null.explained + 0.05, words)
    pairs = [row for row in every.rows if row[2] == 2 and row[4] > 0.1]
    off = [abs(math.log(row[3] / merge_time(math.acos(1 - row[4]), NEAR, row[1], 1))) for row in pairs]
    words = f"largest log ratio {np.max(off):.1e}, {len(off)} starts"
    work.control("two tokens take their exact time", np.max(off) < 0.05, words)
    few, many = min(s["law_n"]), max(s["law_n"])
    for d in s["law_d"]:
        for n in (few, many):
            row = law.where(d=d, n=n).rows[0]
            work.number(f"mean barrier, n = {n}, d = {d}", Estimate(*row[2:5]), row[5], 1.0 if n == 2 else None)
    low, top = (law.where(d=d, n=many).rows[0] for d in (min(s["law_d"]), max(s["law_d"])))
    one, alone = slope.estimate(1), law.where(d=s["dim"] if s["dim"] in s["law_d"] else s["law_d"][0], n=2).rows[0]
    work.surprise(
        f"More tokens make it longer, not shorter: the mean barrier is {alone[2]:.2f} for two tokens, and "
        f"{low[2]:.2f} (d = {min(s['law_d'])}) or {top[2]:.2f} (d = {max(s['law_d'])}) for {many}. Tokens between two "
        "clusters are gone long before the clusters feel each other."
    )
    work.answer(
        "T = e^(b beta) to leading order, with a barrier b between 0 and 2 that can be read off the start: the slope "
        f"of log(beta T) in beta b is {one} (1 predicted, R^2 = {slope.explained:.3f}). The fitted power of beta in "
        f"log T is {p}: exponential in beta, not in its square root. n and d enter through the mean barrier only: n "
        f"= {many} gives {low[2]:.2f} [{low[3]:.2f}, {low[4]:.2f}] in d = {min(s['law_d'])} and {top[2]:.2f} "
        f"[{top[3]:.2f}, {top[4]:.2f}] in d = {max(s['law_d'])}, n = 2 gives 1.",
        "Starts that are not uniform (a cap has small barriers), V other than I, or n that grows with beta: then "
        "clusters form before barriers count.",
    )
