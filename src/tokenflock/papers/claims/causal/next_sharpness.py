"""From uniform to sharp: entropy of attention and the number of metastable clusters as beta goes from 0 to infinity.

The entropy of row i over log i is 1 for uniform and 0 for one-hot attention (row 1 has one entry, and is left out). At
fixed tokens it cannot grow with beta: d/dbeta H_i = -beta Var_i(<x_i, x_j>), the variance under the row itself.
On the circle the picture at scale beta^{-1/2} is the same for every large beta if the number of tokens at that scale
is: with n ~ sqrt(beta) the number of clusters at a fixed time is ~ sqrt(beta) exactly, not to a logarithm.
"""

from __future__ import annotations

import math

import numpy as np

from tokenflock import plot
from tokenflock.analysis import attention, clusters, renyi
from tokenflock.analysis.statistics import mean_and_error, slope
from tokenflock.errors import unknown
from tokenflock.geometry import Array, to_sphere
from tokenflock.model import Model
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.papers.layout import panels, points
from tokenflock.simulation import simulate

FORMS = ("identity", "zero")
ROUNDING = 1e-9  # of a mean of n entropies; 1e4 roundings
INFINITY = 1e6  # where beta = inf is drawn


def entropy_ratio(model: Model, x: Array) -> float:
    """Mean over tokens 2..n of the entropy of their attention over the logarithm of its length."""
    h = attention.entropy(attention.matrix(model, x))[1:]
    return float(np.mean(h / np.log(np.arange(2, len(x) + 1))))


def _model(dim: int, beta: float, form: str) -> Model:
    return Model(dim=dim, beta=beta, query=np.zeros((dim, dim)) if form == "zero" else None)


def _radius(beta: float) -> float:
    """Tokens this close are in one cluster: a quarter of the range of the attraction, which is at most 0.2 rad here."""
    return 0.25 * min(0.2, beta**-0.5 if beta else 0.2) if math.isfinite(beta) else 1e-6


def _sweep(rng: np.random.Generator, betas: tuple[float, ...], n: int, dim: int, time: float, form: str) -> Trial:
    """One start at every beta: entropies at the start and at `time`, and the clusters at `time`."""
    start = to_sphere(rng, (n, dim))
    before, after, count = np.empty(len(betas)), np.empty(len(betas)), np.empty(len(betas))
    for k, beta in enumerate(betas):
        model = _model(dim, beta, form)
        x = simulate(model, start, time, times=[time], progress=False)["x"].values[0]
        before[k], after[k] = entropy_ratio(model, start), entropy_ratio(model, x)
        count[k] = clusters.count(x, _radius(beta))
    rise = float(np.diff(before).max())  # in the order of beta
    return Trial(rise < ROUNDING, rise, data=(before, after, count))


def _scaled(rng: np.random.Generator, betas: tuple[float, ...], density: float, dim: int, time: float) -> Trial:
    """Clusters and Renyi centers where n = density sqrt(beta), with a beta drawn from the range."""
    beta = math.exp(rng.uniform(math.log(min(betas)), math.log(max(betas))))
    n = round(density * math.sqrt(beta))
    start = to_sphere(rng, (n, dim))
    x = simulate(Model(dim=dim, beta=beta), start, time, times=[time], progress=False)["x"].values[0]
    found = int(clusters.count(x, _radius(beta)))
    # n is rounded: the law is for a real one.
    exact = n / (density * math.sqrt(beta))
    return Trial(True, found, data=(beta, found / exact, len(renyi.centers(start, 4 / math.sqrt(beta)))))


@claim(
    "causal/next-sharpness",
    kind="estimate",
    statement="Q = K = I, V = I. The entropy of attention over the log of the row length is 1 at beta = 0, never "
    "grows with beta at fixed separate tokens, and is 0 at beta = inf. On the circle, with n ~ sqrt(beta) tokens, the "
    "number of clusters at a fixed time grows like sqrt(beta), as the Renyi centers at separation 4 beta^(-1/2) do.",
    hypotheses=("V = Q = K = I", "causal mask", "separate tokens", "d = 2 for the exponent 1/2"),
    trial="Uniform tokens on the circle, every beta from 0 to inf on the same start; random beta in a range with n = "
    "12 sqrt(beta)",
    measured="entropy ratio at the start and at a fixed time, clusters at that time (a quarter of beta^(-1/2) apart); "
    "slope of log clusters in log beta",
    rule="entropy at the start falls with beta to 1e-9; 1 and 0 at the ends to 1e-9, at both times; slope within 4 "
    "errors of 1/2 (slack 0.02: curvature of the circle at the smallest beta)",
    sizes={"trials": 30},
    quick={
        "trials": 6,
        "betas": (0.0, 1e-2, 1.0, 10.0, 100.0, 1e3, 1e4, math.inf),
        "n_tokens": 100,
        "fit": (25.0, 900.0),
    },
)
def next_sharpness(
    check: Check,
    betas: tuple[float, ...] = (0.0, 1e-2, 1e-1, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, math.inf),
    n_tokens: int = 200,
    dim: int = 2,
    time: float = 50.0,
    form: str = "identity",
    fit: tuple[float, float] = (25.0, 1600.0),
    density: float = 12.0,
) -> None:
    """The sweep with its two ends, then the exponent."""
    if form not in FORMS:
        raise unknown("form", form, FORMS)
    betas = tuple(sorted(betas))
    runs = check.each("entropy falls with beta", lambda rng: _sweep(rng, betas, n_tokens, dim, time, form), ROUNDING)
    many = check.each(
        "clusters, n ~ sqrt(beta)", lambda rng: _scaled(rng, fit, density, dim, time), trials=10 * check.trials
    )
    if check.only is not None:
        return
    before, after, count = (np.array([t.data[k] for t in runs]) for k in range(3))
    for beta, predicted in ((0.0, 1.0), (math.inf, 0.0)):
        if beta in betas:
            k = betas.index(beta)
            for when, values in (("start", before[:, k]), (f"t = {time:g}", after[:, k])):
                check.estimate(f"entropy at beta = {beta:g}, {when}", values, predicted, slack=ROUNDING)
    for k, beta in enumerate(betas):
        check.estimate(f"clusters at beta = {beta:g}", count[:, k], None)
    beta, found, centers = np.array([t.data for t in many]).T
    tilt, error, at = slope(np.log(beta), np.log(found))
    check.interval("exponent of clusters in beta", tilt, error, 0.5, len(beta), slack=0.02)
    other, error, _ = slope(np.log(beta), np.log(centers))
    check.interval("exponent of Renyi centers in beta", other, error, 0.5, len(beta), slack=0.02)
    check.estimate("clusters over Renyi centers", found / centers, None)
    inside = [k for k, b in enumerate(betas) if fit[0] <= b <= fit[1]]
    if len(inside) > 1:
        x, y = np.tile(np.log([betas[k] for k in inside]), len(count)), np.log(count[:, inside]).ravel()
        tilt_fixed, error, _ = slope(x, y)
        check.interval("exponent at fixed n", tilt_fixed, error, None, len(x))
    check.draw = lambda: _draw(betas, before, after, count, (beta, found, tilt, at), n_tokens, time)


def _draw(
    betas: tuple[float, ...],
    before: Array,
    after: Array,
    count: Array,
    scaled: tuple[Array, Array, float, float],
    n: int,
    time: float,
) -> plot.Figure:
    """(a) entropies, (b) clusters at fixed n, (c) clusters where n ~ sqrt(beta), with the fit."""
    blue, red, grey = plot.COLOURS["blue"], plot.COLOURS["red"], plot.COLOURS["grey"]
    shown = np.array([INFINITY if math.isinf(b) else 1e-3 if b == 0 else b for b in betas])
    figure, axes = panels(3)
    points(axes[0], shown, list(before.T), color=grey, mfc="white", fmt="o-", label="start")
    points(axes[0], shown, list(after.T), color=blue, fmt="o-", label=f"$t$ = {time:g}")
    axes[0].set(ylabel=r"entropy of attention / log $i$", ylim=(-0.03, 1.05))
    axes[0].legend(loc="lower left")
    points(axes[1], shown, [np.log(c) for c in count.T], log=True, color=blue, label=f"clusters at $t$ = {time:g}")
    beta, found, tilt, at = scaled
    span = np.array([1.0, (n / np.exp(at)) ** 2])
    axes[1].plot(span, np.exp(at) * np.sqrt(span), color=red, label=r"$\propto\sqrt{\beta}$, from c")
    axes[1].axhline(n, color=grey, lw=0.8, ls=(0, (4, 3)))
    axes[1].annotate(f"$n$ = {n}", (shown[0], n), va="bottom", fontsize=7)
    axes[1].set(yscale="log", ylabel="clusters", ylim=(0.8, 2 * n))
    axes[1].legend(loc="upper left", bbox_to_anchor=(0, 0.85))
    for ax in axes[:2]:
        ax.set(xscale="log", xlabel=r"$\beta$")
        ticks = [1e-3, 1e-2, 1, 1e2, 1e4, INFINITY]
        ax.set_xticks(ticks, ["0", r"$10^{-2}$", "1", r"$10^2$", r"$10^4$", r"$\infty$"])
        ax.minorticks_off()
    axes[2].plot(beta, found, ".", ms=3, color=blue, alpha=0.5, label=r"clusters, $n\propto\sqrt{\beta}$")
    line = np.array([beta.min(), beta.max()])
    middle = mean_and_error(np.log(found) - 0.5 * np.log(beta))[0]
    axes[2].plot(line, np.exp(middle) * np.sqrt(line), color=red, label="slope 1/2")
    axes[2].set(xscale="log", yscale="log", xlabel=r"$\beta$", ylabel="clusters")
    ticks = [t for t in (5, 10, 20, 40, 80) if t <= 1.2 * found.max()]
    axes[2].set_yticks(ticks, [f"{t}" for t in ticks])
    axes[2].minorticks_off()
    axes[2].set_title(f"fitted exponent {tilt:.3f}")
    axes[2].legend(loc="upper left")
    return figure
