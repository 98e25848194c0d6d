"""Several heads: what do they do to the limit, and to the time?

A lone token obeys x' = P_x (sum_h V_h) x: it cannot tell heads apart. So if the atlas of paper A is right for one head,
the natural guess for many is the row of the sum of the V_h, whatever the Q_h and K_h. With V_h = I/H it is nearly
a theorem: the mean of the heads' attention is a matrix of positive weights, and Theorem 4.1 uses no more than that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import spectrum
from tokenflock.analysis.statistics import Estimate, bootstrap, wilson
from tokenflock.geometry import Array, distance, to_sphere
from tokenflock.model import Model, velocity
from tokenflock.papers.layout import panels
from tokenflock.papers.merge_time import arrival
from tokenflock.papers.studies.ledger import Answer, Inquiry, Sizes, Table, spread, study
from tokenflock.simulation import simulate

FAMILIES = ("shared", "copies", "symmetric", "ginibre")
NEAR = 0.05  # radians: a token this close to a place is there
STILL = 1e-6  # a slower token rests, or waits for ever
FRAMES = 161


def heads(family: str, count: int, d: int, beta: float, rng: np.random.Generator) -> Model:
    """A model with so many heads; the sum of the V_h has the same law, or is the same, whatever their number.

    shared: V_h = I/H, Gaussian Q_h and K_h. copies: the same with H equal heads. symmetric, ginibre: Gaussian V_h.
    """
    form = rng.standard_normal((count, d, d)) / math.sqrt(d)
    if family == "copies":
        form = np.repeat(form[:1], count, axis=0)
    G = rng.standard_normal((count, d, d)) / math.sqrt(count * d)
    if family in ("shared", "copies"):
        V = np.repeat(np.eye(d)[None] / count, count, axis=0)
    else:
        V = (G + np.swapaxes(G, 1, 2)) / math.sqrt(2) if family == "symmetric" else G
    return Model(dim=d, beta=beta, query=np.repeat(np.eye(d)[None], count, axis=0), key=form, value=V)


def places(V: Array, first: Array) -> Array | None:
    """The points that the atlas allows for V, (k, d); None where it predicts none (rotation, clouds)."""
    regime = spectrum.classify(V)
    if regime.row == "two-points":
        return np.stack([regime.L[:, 0], -regime.L[:, 0]])
    if regime.row in ("first-token", "one-point"):
        inside = regime.L @ (regime.L.T @ first)
        return (inside / np.linalg.norm(inside))[None]
    return None


def _one(rng: np.random.Generator, family: str, count: int, s: Sizes) -> dict[str, Any]:
    """One model and start: the row of the sum, the share of tokens where it predicts them, the time, and controls."""
    d = s["dim"]
    start = to_sphere(rng, (s["n_tokens"], d))  # before the heads: the same start whatever their number
    model = heads(family, count, d, s["beta"], rng)
    times = np.concatenate([[0.0], np.geomspace(0.05, s["t_end"], FRAMES)])
    x = simulate(model, start, s["t_end"], times=times, progress=False)["x"].values
    whole = model.values.sum(axis=0)
    allowed, single = places(whole, start[0]), places(model.values[0] * count, start[0])
    speed = float(np.linalg.norm(velocity(model, x[-1]), axis=1).max())
    to_first = np.minimum(distance(x, x[:, :1]), distance(x, -x[:, :1]))  # up to sign, in any frame
    end = {"row": spectrum.classify(whole).row, "rests": speed < STILL}
    end["turning"] = float(np.mean(to_first[-1] < NEAR))
    for name, points in (("there", allowed), ("single", single)):
        gap = None if points is None else np.min([distance(x, p) for p in points], axis=0)
        end[name] = math.nan if gap is None else float(np.mean(gap[-1] < NEAR))
        end[f"{name}_time"] = math.nan if gap is None else arrival(times, gap.max(axis=1), NEAR)
    return end


def _cell(_: np.random.Generator, family: str, count: int, seed: int, s: Sizes) -> list[dict[str, Any]]:
    """All trials. Trial k has the same start, and the same first head, in every cell."""
    return spread(lambda rng: _one(rng, family, count, s), np.random.default_rng(seed), s["trials"])


def _draw(answer: Answer) -> plot.Figure:
    ends, times = answer.table("limits"), answer.table("times")
    looks = (
        (0, "shared", "there", "blue", "$V_h = I/H$: at $x_1(0)$"),
        (0, "symmetric", "there", "red", r"symmetric $V_h$: at $\pm\xi$ of $\sum V_h$"),
        (0, "symmetric", "single", "grey", r"symmetric: at $\pm\xi$ of $V_1$"),
        (1, "ginibre", "turning", "purple", "together up to sign"),
        (1, "ginibre", "rotating", "grey", "leading pair complex"),
    )
    figure, axes = panels(3)
    for k, family, what, colour, label in looks:
        rows = ends.where(family=family, what=what)
        rows.points(axes[k], "heads", "share", label=label, color=plot.COLOURS[colour], lw=0.8)
    axes[0].set(ylabel="share of runs with every token there", ylim=(-0.04, 1.5))
    axes[1].set(ylabel="share of runs, Gaussian $V_h$", ylim=(-0.04, 1.2))
    for family, colour in (("shared", "blue"), ("copies", "grey"), ("symmetric", "red")):
        rows = times.where(family=family)
        rows.points(axes[2], "heads", "time", label=family, color=plot.COLOURS[colour], lw=0.8)
    axes[2].set(yscale="log", ylabel="median time until all are there")
    low, high = axes[2].get_ylim()
    shown = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500) if low <= t <= high]
    axes[2].set_yticks(shown, [f"{t}" for t in shown])
    axes[2].set_ylim(top=2.5 * high)  # room for the legend
    for ax in axes[:2]:
        ax.set_yticks(np.linspace(0, 1, 6))
    for ax in axes:
        ax.set(xscale="log", xlabel="heads $H$")
        ax.set_xticks(sorted(set(ends["heads"])), [f"{h}" for h in sorted(set(ends["heads"]))])
        ax.minorticks_off()
        ax.legend(fontsize=6, loc="upper right")
    return figure


@study(
    "multihead",
    source="B, outlook (several heads); A, limitations; C (2.7)",
    question="One to sixteen heads, with random or shared V: what is the final configuration, and how long does it "
    "take?",
    method="Causal attention on the sphere with H heads, Gaussian Q_h'K_h times beta. V_h = I/H (shared), H copies "
    "of one head (a null: nothing may change), symmetric Gaussian and plain Gaussian V_h, scaled so that the law of "
    "their sum does not depend on H. Where the atlas gives places for the sum of the V_h: the share of runs in which "
    "every token is within 0.05 rad of one of them at the end (Wilson), and the median time until then. The same for "
    "the places of V_1 alone is the control that must fail. Gaussian V_h mostly turn: there tokens are compared with "
    "the first one, up to sign.",
    sizes={
        "heads": (1, 2, 4, 8, 16),
        "dim": 4,
        "n_tokens": 12,
        "beta": 4.0,
        "t_end": 300.0,
        "trials": 40,
        "families": FAMILIES,
    },
    quick={"heads": (1, 4), "n_tokens": 6, "t_end": 200.0, "trials": 16},
    draw=_draw,
)
def multihead(work: Inquiry, **s: Any) -> None:
    """Limits and times over the number of heads."""
    cases = {f"{family}, {h} heads": (family, h, work.seed, s) for family in s["families"] for h in s["heads"]}
    found = work.each(cases, _cell)
    ends, times = [], []
    for name, (family, h, *_) in cases.items():
        runs = found[name]
        for what in ("there", "single"):
            told = [run[what] for run in runs if not math.isnan(run[what])]
            ends.append([family, h, what, *wilson(sum(v == 1 for v in told), len(told)), len(told)])
        ends.append([family, h, "turning", *wilson(sum(r["turning"] == 1 for r in runs), len(runs)), len(runs)])
        turn = sum(r["row"] == "rotating" for r in runs)
        ends.append([family, h, "rotating", *wilson(turn, len(runs)), len(runs)])
        astray = sum(r["rests"] and r["there"] < 1 for r in runs)
        ends.append([family, h, "elsewhere", *wilson(astray, len(runs)), len(runs)])
        # A run that has not arrived took longer than all: a median can say that, a mean cannot.
        never = 10 * s["t_end"]
        took = [never if math.isnan(r["there_time"]) else r["there_time"] for r in runs if not math.isnan(r["there"])]
        median = bootstrap(took, lambda v: float(np.median(v)), resamples=500)
        times.append([family, h, *median, len(took), took.count(never)])
    limits = work.table("limits", ("family", "heads", "what", "share", "low", "high", "runs"), ends)
    note = f"medians; 10 t_end = {10 * s['t_end']:g} stands for more than half not there by t_end"
    clock = work.table("times", ("family", "heads", "time", "low", "high", "runs", "not_yet"), times, note)
    _say(work, limits, clock, s)


def _say(work: Inquiry, limits: Table, clock: Table, s: Sizes) -> None:
    few, many = min(s["heads"]), max(s["heads"])

    def share(family: str, h: int, what: str) -> Estimate:
        return Estimate(*limits.where(family=family, heads=h, what=what).rows[0][3:6])

    def time(family: str, h: int) -> Estimate:
        return Estimate(*clock.where(family=family, heads=h).rows[0][2:5])

    for h in s["heads"]:
        trials = limits.where(family="symmetric", heads=h, what="there").rows[0][6]
        work.number(f"at x_1(0), V_h = I/H, {h} heads", share("shared", h, "there"), s["trials"], 1.0)
        work.number(f"at +-xi of the sum, symmetric V_h, {h} heads", share("symmetric", h, "there"), trials, 1.0)
        work.number(f"median time, V_h = I/H, {h} heads", time("shared", h), s["trials"])
        work.number(f"together up to sign, Gaussian V_h, {h} heads", share("ginibre", h, "turning"), s["trials"])
    right, wrong = share("symmetric", many, "there"), share("symmetric", many, "single")
    work.control("the row of V_1 alone does not predict it", wrong.high < right.low, f"{wrong} against {right}")
    a, b = time("copies", few).value, time("copies", many).value
    words = f"median time {a:.6g} with {few}, {b:.6g} with {many} heads"
    work.control("copies of one head change nothing", abs(a - b) < 1e-3 * a, words)
    one, all_of_them = time("shared", few), time("shared", many)
    work.surprise(
        "Heads with different Q_h, K_h and one V are faster than one head: their mean attention is flatter. The "
        f"median time to one point goes from {one} ({few} head) to {all_of_them} ({many} heads)."
    )
    turn, lost = share("ginibre", many, "rotating"), share("symmetric", many, "elsewhere")
    work.number(f"rest elsewhere, symmetric V_h, {many} heads", lost, s["trials"], 0.0)
    work.answer(
        "The sum of the V_h decides, as far as one V does. V_h = I/H: every token reaches x_1(0) in "
        f"{share('shared', many, 'there')} of runs with {many} heads, {share('shared', few, 'there')} with {few}. "
        f"Symmetric V_h: every token is at +-xi of the sum in {right} of runs with {many} heads, "
        f"{share('symmetric', few, 'there')} with {few}; the eigenvector of a single head predicts {wrong}. Gaussian "
        f"V_h: the sum has a complex leading pair in {turn} of runs, and all tokens end together up to sign in "
        f"{share('ginibre', many, 'turning')} of them with {many} heads, {share('ginibre', few, 'turning')} with "
        f"{few}.",
        f"Heads whose V_h are tied to their Q_h, K_h (as training may do), or larger beta: at beta = {s['beta']:g} "
        f"and {many} heads {lost} of the runs with symmetric V_h rest for good elsewhere, as Conjecture 1 fails for "
        "general Q and K already with one head.",
    )
