"""Layers of step h against the flow: how large may h be before the limit is another one?

A transformer takes steps of h = 1 where the papers have a flow. Three things can go wrong, and each has its own scale:

    V = I             no step changes the limit x_1(0) (seen up to h = 10): nothing can go wrong in the end
    on the way        tokens near a watershed go to another metastable cluster: the watershed moves by O(h)
    negative spectrum 1 + h lambda_min beats 1 + h lambda_max beyond h = 2 / (|lambda_min| - lambda_max): the leading
                      direction of the layers is no longer that of the flow
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
from tokenflock.papers.studies.ledger import Answer, Inquiry, Sizes, Table, study
from tokenflock.simulation import simulate
from tokenflock.start import uniform

ALLOWED = 0.05  # share of tokens in another place that still counts as the same limit
TURNED = 0.9  # |<x, e>| beyond which a token is at +-e
LAYERS = 3000  # steps after which the first token is at its limit


def _end(model: Model, start: Array, t: float, h: float | None) -> Array:
    """Tokens (runs, n, d) at time t, by layers of step h or by the flow."""
    how: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-12} if h is None else {"scheme": "layers", "dt": h}
    return simulate(model, start, t, times=[t], progress=False, throw=False, **how)["x"].values[:, 0]


def _astray(generator: np.random.Generator, beta: float, s: Sizes) -> Array:
    """(runs, steps + 1): share of tokens in another place than the flow's. The last column is the flow, less exact."""
    start = uniform(s["n_tokens"], 2, seed=int(generator.integers(2**31)), runs=s["runs"])
    model = Model(dim=2, beta=beta)
    ends = [h * max(round(s["t_late"] / h), 1) for h in s["steps"]] + [s["t_late"]]
    times = np.unique(ends)
    flow = simulate(model, start, times[-1], times=times, rtol=1e-9, atol=1e-12, progress=False)["x"].values
    usual = simulate(model, start, s["t_late"], times=[s["t_late"]], progress=False)["x"].values[:, 0]
    found = [*(_end(model, start, t, h) for t, h in zip(ends, s["steps"], strict=False)), usual]
    # Clusters are farther apart than the range of the attraction, beta^(-1/2).
    off = [distance(x, flow[:, np.searchsorted(times, t)]) for x, t in zip(found, ends, strict=True)]
    return np.transpose([np.mean(gap > beta**-0.5, axis=1) for gap in off])


def _signs(generator: np.random.Generator, beta: float, s: Sizes) -> Array:
    """(runs, steps): share of tokens at the other one of +-xi, V = diag(1, 1/2, 1/5)."""
    start = uniform(s["n_tokens"] // 2, 3, seed=int(generator.integers(2**31)), runs=s["runs"])
    model = Model(dim=3, beta=beta, value=np.diag([1.0, 0.5, 0.2]))
    truth = np.sign(_end(model, start, s["t_limit"], None)[..., 0])
    found = [_end(model, start, h * max(round(s["t_limit"] / h), 60), h)[..., 0] for h in s["steps"]]
    return np.transpose([np.mean(np.sign(x) != truth, axis=1) for x in found])


def _turn(generator: np.random.Generator, least: float, s: Sizes) -> list[float]:
    """The step at which the limit leaves xi, V = diag(1, 1/5, least), by halving, over the predicted one; V = I too."""
    start = uniform(6, 3, seed=int(generator.integers(2**31)), runs=2)
    model, predicted = Model(dim=3, beta=1.0, value=np.diag([1.0, 0.2, least])), 2 / (-least - 1)
    low, high = math.log(predicted / 5), math.log(predicted * 5)
    for _ in range(s["halvings"]):
        h = math.exp((low + high) / 2)
        held = np.abs(_end(model, start, h * LAYERS, h)[:, 0, 0]).min() > TURNED
        low, high = ((low + high) / 2, high) if held else (low, (low + high) / 2)
    h = max(s["steps"])
    plain = _end(Model(dim=3, beta=1.0), start, h * LAYERS, h)
    return [predicted, math.exp((low + high) / 2), float(distance(plain, start[:, :1]).max())]


def largest(steps: Sequence[float], astray: Array) -> float:
    """The step at which the mean share astray (runs, steps) passes ALLOWED, by a straight line in log h."""
    share = np.maximum.accumulate(np.mean(astray, axis=0))
    over = np.flatnonzero(share > ALLOWED)
    if not over.size:
        return float(steps[-1])
    k = int(over[0])
    if k == 0:
        return float(steps[0])
    part = (ALLOWED - share[k - 1]) / (share[k] - share[k - 1])
    return float(np.exp(np.log(steps[k - 1]) + part * np.log(steps[k] / steps[k - 1])))


def _draw(answer: Answer) -> plot.Figure:
    astray, turn = answer.table("astray"), answer.table("turning")
    figure, axes = panels(3)
    for ax, kind in zip(axes[:2], ("clusters", "limit"), strict=True):
        rows = astray.where(kind=kind)
        for k, beta in enumerate(sorted(set(rows["beta"]))):
            mine = rows.where(beta=beta)
            colour = plot.shades(len(set(rows["beta"])) + 1)[k]
            mine.points(ax, "step", "share", label=rf"$\beta$ = {beta:g}", lw=0.8, color=colour)
        ax.axhline(ALLOWED, color=plot.COLOURS["red"], lw=0.7)
        ax.axvline(1, color=plot.COLOURS["grey"], lw=0.7, ls=":")
        ax.set(xscale="log", xlabel="step $h$")
        ax.set_ylim(bottom=0)
        ax.set_ylim(top=1.3 * ax.get_ylim()[1])  # room for the legend
        ax.legend(loc="upper left")
    axes[0].set_ylabel("share of tokens in another cluster")
    axes[1].set_ylabel(r"share of tokens at the other of $\pm\xi$")
    span = np.array([turn["predicted"].min(), turn["predicted"].max()])
    axes[2].plot(turn["predicted"], turn["step"], "o", ms=4, color=plot.COLOURS["blue"], label="measured")
    axes[2].plot(span, span, color=plot.COLOURS["red"], label=r"$2/(|\lambda_{min}| - \lambda_{max})$")
    axes[2].set(xscale="log", yscale="log", xlabel="predicted step", ylabel="step at which the limit leaves $\\xi$")
    axes[2].legend()
    return figure


@study(
    "discretisation",
    source="B, section 2 (discrete time); A, introduction (layers as time)",
    question="Layers of step h against the flow: what is the largest step with the same limit?",
    method="x <- N(x + h attention) against the flow (rtol 1e-9) from the same start, causal, Q = K = I. (a) V = I "
    "on the circle: the share of tokens that are more than beta^(-1/2), a cluster's reach, from the flow's place at "
    "a fixed late time; (b) V = diag(1, 1/2, 1/5): the share at the other one of +-xi; (c) V with a negative "
    "eigenvalue: the step at which the limit leaves xi, by halving. The largest step is where the mean share passes "
    "5 % (bootstrap over runs). Null: the flow at the default tolerance, which must not go astray.",
    sizes={
        "steps": (0.03, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
        "betas": (4.0, 16.0, 64.0, 256.0),
        "betas_limit": (1.0, 4.0, 16.0),
        "n_tokens": 64,
        "runs": 80,
        "t_late": 40.0,
        "t_limit": 60.0,
        "least": (-1.2, -1.5, -2.0, -3.0, -5.0),
        "halvings": 12,
    },
    quick={
        "steps": (0.1, 1.0, 5.0),
        "betas": (9.0, 64.0),
        "betas_limit": (4.0,),
        "n_tokens": 32,
        "runs": 12,
        "least": (-1.5, -3.0),
        "halvings": 10,
    },
    draw=_draw,
)
def discretisation(work: Inquiry, **s: Any) -> None:
    """Shares astray, the largest steps, and the turning of a negative spectrum."""
    cells = work.each({f"clusters, beta = {b:g}": (b, s) for b in s["betas"]}, _astray)
    limits = work.each({f"limit, beta = {b:g}": (b, s) for b in s["betas_limit"]}, _signs)
    rows, best, nulls = [], [], []
    for kind, betas, found in (("clusters", s["betas"], cells), ("limit", s["betas_limit"], limits)):
        for beta in betas:
            table = np.array(found[f"{kind}, beta = {beta:g}"])
            nulls += [float(table[:, -1].mean())] if kind == "clusters" else []
            table = table[:, : len(s["steps"])]
            shares = [interval(column) for column in table.T]
            rows += [
                [kind, beta, h, v, max(a, 0.0), min(b, 1.0)] for h, (v, a, b) in zip(s["steps"], shares, strict=True)
            ]
            step = bootstrap(table, lambda t: largest(s["steps"], t), resamples=400)
            best.append([kind, beta, *step, len(table)])
    work.table("astray", ("kind", "beta", "step", "share", "low", "high"), rows)
    steps = work.table(
        "largest", ("kind", "beta", "step", "low", "high", "runs"), best, f"where {ALLOWED:.0%} are astray"
    )
    turns = work.each({f"turning, {least:g}": (least, s) for least in s["least"]}, _turn)
    rows = [[least, *turns[f"turning, {least:g}"]] for least in s["least"]]
    turning = work.table("turning", ("lambda_min", "predicted", "step", "identity_off"), rows)
    work.control(
        "the flow itself does not go astray", max(nulls) < 0.01, f"share at default tolerance {max(nulls):.1e}"
    )
    ratio = turning["step"] / turning["predicted"]
    words = f"measured over predicted {ratio.min():.3f} to {ratio.max():.3f}"
    work.control("the negative spectrum turns where it must", np.abs(ratio - 1).max() < 0.03, words)
    off = turning["identity_off"].max()
    work.control("V = I keeps its limit at the largest step", off < 1e-3, f"{off:.1e} rad from x_1(0)")
    _say(work, steps, s)


def _say(work: Inquiry, steps: Table, s: Sizes) -> None:
    mine = steps.where(kind="clusters")
    for row in steps.rows:
        work.number(f"largest step, {row[0]}, beta = {row[1]:g}", Estimate(*row[2:5]), row[5])
    law = ""
    if len(mine.rows) > 2:
        trend = fit(np.column_stack([np.ones(len(mine.rows)), np.log(mine["beta"])]), np.log(mine["step"])).estimate(1)
        work.number("power of beta in the largest step", trend, len(mine.rows))
        law = f" (it changes with beta to the power {trend})"
    whole = work.tables[0].where(step=1.0)
    at_one = {(row[0], row[1]): Estimate(*row[3:6]) for row in whole.rows}
    told = "; ".join(f"{share} at beta = {beta:g}" for (kind, beta), share in at_one.items() if kind == "clusters")
    ends = "; ".join(f"{share} at beta = {beta:g}" for (kind, beta), share in at_one.items() if kind == "limit")
    each = ", ".join(f"{row[2]:.2g} [{row[3]:.2g}, {row[4]:.2g}] at beta = {row[1]:g}" for row in mine.rows)
    first, final = mine.rows[0], mine.rows[-1]
    if final[1] > first[1]:
        work.surprise(
            f"Sharper attention does not need smaller steps: {first[2]:.2g} [{first[3]:.2g}, {first[4]:.2g}] at beta "
            f"= {first[1]:g}, {final[2]:.2g} [{final[3]:.2g}, {final[4]:.2g}] at beta = {final[1]:g}."
        )
    work.answer(
        f"For the final limit of V = I any step (up to {max(s['steps']):g} seen); with a negative eigenvalue exactly "
        "2/(|lambda_min| - lambda_max). For the metastable clusters on the way the largest step with 95 % of tokens "
        f"in the flow's cluster is {each}{law}. A transformer's step h = 1 puts {told} of tokens into another "
        f"cluster, and {ends} at the other one of +-xi when V = diag(1, 1/2, 1/5).",
        "A stricter or looser share than 5 % moves the step in proportion; steps that are trained, or a learned "
        "scale of the residual branch (h < 1), would change what h stands for.",
    )
