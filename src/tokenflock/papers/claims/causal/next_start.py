"""What the start changes: never the limit of V = I, but the time it takes and the clusters seen on the way."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from tokenflock import plot
from tokenflock.analysis import clusters, renyi
from tokenflock.errors import unknown
from tokenflock.geometry import Array, distance, retract, to_sphere
from tokenflock.model import Model, velocity
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.papers.layout import panels, points
from tokenflock.papers.merge_time import arrival, merge_time
from tokenflock.simulation import simulate
from tokenflock.start import planted, uniform, von_mises_fisher

THERE, NEAR = 1e-3, 0.1  # radians: at x_1(0); arrived
SPREAD = 0.05  # radius of the two caps of the antipodal start
FRAMES = 241
VALUES = {"identity": (1.0, 1.0, 1.0), "two-points": (1.0, 0.5, 0.2), "one-point": (1.0, 1.0, -0.5)}


def _antipodal(n_tokens: int, dim: int, seed: int) -> Array:
    """Tokens around a random point and its antipode, in turn: the first two are in different caps."""
    rng = np.random.default_rng(seed)
    pole = to_sphere(rng, (dim,))
    side = np.where(np.arange(n_tokens) % 2, -1.0, 1.0)[:, None]
    return retract(side * pole + SPREAD * rng.standard_normal((n_tokens, dim)) / math.sqrt(dim))


STARTS: dict[str, Callable[[int, int, int], Array]] = {
    "uniform": lambda n, d, seed: uniform(n, d, seed=seed),
    "vMF 1": lambda n, d, seed: von_mises_fisher(n, d, 1.0, seed=seed),
    "vMF 10": lambda n, d, seed: von_mises_fisher(n, d, 10.0, seed=seed),
    "vMF 100": lambda n, d, seed: von_mises_fisher(n, d, 100.0, seed=seed),
    "planted 3": lambda n, d, seed: planted(n, d, 3, 0.1, seed=seed),
    "planted 8": lambda n, d, seed: planted(n, d, 8, 0.1, seed=seed),
    "antipodal": _antipodal,
}


def _limit(rng: np.random.Generator, law: str, n: int, beta: float, t_end: float, value: str) -> Trial:
    """How far the farthest token is from x_1(0) in the end, and when all had come near it."""
    model = Model(dim=3, beta=beta, value=np.diag(VALUES[value]))
    start = STARTS[law](n, 3, int(rng.integers(2**31)))
    times = np.concatenate([[0.0], np.geomspace(0.05, t_end, FRAMES)])
    x = simulate(model, start, t_end, times=times, progress=False)["x"].values
    gap = distance(x, start[0])
    off = float(gap[-1].max())
    # The slowest token of a metastable state still has a speed of e^{-2 beta} times the sine of an angle.
    speed = float(np.linalg.norm(velocity(model, x[-1]), axis=1).max())
    rests = speed < 1e-6 * math.exp(-2 * beta)
    ok = True if off < THERE else False if rests else None
    return Trial(ok, off, data=(arrival(times, gap.max(axis=1), NEAR), start))


def _clusters(rng: np.random.Generator, law: str, n: int, beta: float, time: float, c: float) -> Trial:
    """Clusters at a time long after tokens have gathered and long before clusters merge, and centers of the start."""
    start = STARTS[law](n, 3, int(rng.integers(2**31)))
    x = simulate(Model(dim=3, beta=beta), start, time, times=[time], progress=False)["x"].values[0]
    found = int(clusters.count(x, 0.5 / math.sqrt(beta)))
    return Trial(True, found, data=(found, len(renyi.centers(start, c / math.sqrt(beta)))))


def _slowest(start: Array, beta: float) -> float:
    """The merge time of two clusters: the first token of the other cap, m = 1 token at x_1 before it."""
    gap = distance(start, start[0])
    k = int(np.argmax(gap > np.pi / 2))
    return merge_time(float(gap[k]), NEAR, beta, k)


@claim(
    "causal/next-start",
    kind="estimate",
    statement="V = I: every token tends to x_1(0) whatever the law of the start. Two clusters at nearly opposite "
    "points take the time of the exact merge (next-time), and show 2 clusters on the way; for other laws the time and "
    "the number of metastable clusters are measured, the latter beside the Renyi centers of the start.",
    hypotheses=("V = Q = K = I", "causal mask", "the start has a density"),
    trial="d = 3, tokens from: uniform; von Mises-Fisher with kappa = 1, 10, 100; 3 or 8 planted caps; two caps at "
    "opposite points",
    measured="largest distance from x_1(0) in the end; time until all are within 0.1; clusters at a fixed time, large "
    "beta",
    rule="farther than 1e-3 and slower than 1e-6 e^{-2 beta}: wrong limit; farther and moving: undecided; antipodal: "
    "log of time over quadrature 0 and 2 clusters, within 4 errors (slack 0.1: caps have a width)",
    sizes={"trials": 100},
    quick={"trials": 16},
)
def next_start(
    check: Check,
    laws: tuple[str, ...] = tuple(STARTS),
    n_tokens: int = 32,
    beta: float = 3.0,
    t_end: float = 2e5,
    value: str = "identity",
    beta_clusters: float = 25.0,
    t_clusters: float = 50.0,
    c: float = 4.0,  # the separation of the figures of paper A, in units of beta^(-1/2)
) -> None:
    """The limit and the time of every law, then its clusters at a larger beta."""
    for word, kind, known in [(law, "law of the start", STARTS) for law in laws] + [(value, "value", VALUES)]:
        if word not in known:
            raise unknown(kind, word, known)
    times, counts = {}, {}
    for law in laws:
        limit = partial(_limit, law=law, n=n_tokens, beta=beta, t_end=t_end, value=value)
        gathered = partial(_clusters, law=law, n=n_tokens, beta=beta_clusters, time=t_clusters, c=c)
        runs, groups = check.each(f"limit, {law}", limit, THERE), check.each(f"clusters, {law}", gathered)
        if check.only is not None:
            continue
        done = [t for t in runs if math.isfinite(t.data[0])]
        times[law] = np.log([max(t.data[0], 1e-3) for t in done])
        counts[law] = np.array([t.data for t in groups], dtype=float)
        check.estimate(f"mean clusters, {law}", counts[law][:, 0], 2.0 if law == "antipodal" else None)
        check.estimate(f"clusters over Renyi centers, {law}", counts[law][:, 0] / counts[law][:, 1], None)
        if len(done) < 2:
            continue
        check.estimate(f"mean log time, {law}", times[law], None)
        if law == "antipodal":
            ratio = [t.data[0] / _slowest(t.data[1], beta) for t in done]
            check.estimate("log time over quadrature, antipodal", np.log(ratio), 0.0, slack=0.1)
    if check.only is None:
        check.draw = lambda: _draw(times, counts, beta, beta_clusters, t_clusters)


def _draw(
    times: dict[str, Array], counts: dict[str, Array], beta: float, beta_clusters: float, at: float
) -> plot.Figure:
    """(a) time until all tokens are near x_1(0), (b) clusters and Renyi centers, law by law."""
    laws = list(times)
    place = np.arange(len(laws))
    blue, red, grey = plot.COLOURS["blue"], plot.COLOURS["red"], plot.COLOURS["grey"]
    names = [law.replace("vMF ", "vMF\nκ = ").replace("planted ", "planted\n") for law in laws]
    figure, axes = panels(2)
    for k, law in enumerate(laws):
        jitter = np.linspace(-0.2, 0.2, len(times[law])) if len(times[law]) else np.zeros(0)
        axes[0].plot(k + jitter, np.exp(times[law]), ".", ms=2, color=grey, zorder=1)
    points(axes[0], place, list(times.values()), log=True, color=blue, zorder=3)
    axes[0].set(yscale="log", ylabel=f"time to $x_1(0)$, $\\beta$ = {beta:g}")
    axes[0].axhline(math.exp(2 * beta), color=red, lw=0.8)
    axes[0].annotate(r"$e^{2\beta}$", (len(laws) - 0.5, math.exp(2 * beta)), color=red, va="bottom", ha="right")
    points(axes[1], place - 0.12, [v[:, 0] for v in counts.values()], color=blue, label=f"clusters at $t$ = {at:g}")
    points(axes[1], place + 0.12, [v[:, 1] for v in counts.values()], color=red, label="Rényi centers of the start")
    axes[1].set(ylabel=f"number, $\\beta$ = {beta_clusters:g}")
    axes[1].set_ylim(bottom=0)
    axes[1].legend(loc="upper right")
    for ax in axes:
        ax.set_xticks(place, names, fontsize=6.5)
        ax.set_xlim(-0.6, len(laws) - 0.4)
    return figure
