"""How many metastable clusters: does the dimension of the leading eigenspace count, or that of the sphere?

Paper A counts centers at the separation c beta^(-1/2): beta^((d-1)/2) of them fit on the sphere. For V with d_1 leading
directions it expects beta^((d_1-1)/2): tokens come to the leading eigenspace L at the rate of the gap, and only there
do they wait. So the exponent should cross over from (d-1)/2 to (d_1-1)/2 when gap times time passes a few units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tokenflock import plot
from tokenflock.analysis import clusters
from tokenflock.analysis.statistics import Estimate, fit, interval
from tokenflock.model import Model
from tokenflock.papers.layout import panels
from tokenflock.papers.studies.ledger import Answer, Inquiry, Sizes, Table, study
from tokenflock.simulation import simulate
from tokenflock.start import uniform

REACH = 0.25  # tokens closer than this times beta^(-1/2) are together


def _counts(
    generator: np.random.Generator, leading: int, dim: int, gap: float, beta: float, n: int, s: Sizes
) -> dict[str, Any]:
    """Clusters of every run at every time, of all tokens and of the first half of them (the prefix is a run too)."""
    value = np.diag([1.0] * leading + [1.0 - gap] * (dim - leading))
    start = uniform(n, dim, seed=int(generator.integers(2**31)), runs=s["runs"])
    times = list(s["times"])
    x = simulate(Model(dim=dim, beta=beta, value=value), start, times[-1], times=times, progress=False)["x"].values
    radius = REACH / math.sqrt(beta)
    return {"all": clusters.count(x, radius), "half": clusters.count(x[:, :, : n // 2], radius)}


def exponent(betas: Sequence[float], counts: ArrayLike) -> Estimate:
    """The slope of log count in log beta over all runs, counts (beta, run), with its interval (HC3)."""
    x = np.repeat(np.log(np.asarray(betas, dtype=float)), np.shape(counts)[1])
    return fit(np.column_stack([np.ones(len(x)), x]), np.log(np.ravel(counts))).estimate(1)


def _draw(answer: Answer) -> plot.Figure:
    fits, counts = answer.table("exponents"), answer.table("counts")
    dims = sorted(set(fits["d_1"]))
    colours = dict(zip(dims, ("blue", "green", "purple"), strict=False))
    figure, axes = panels(2, 3.0)
    late = max(counts["time"])
    for d in dims:
        for gap, fill in ((max(counts["gap"]), "full"), (0.0, "none")):
            rows = counts.where(d_1=d, d=d + 1, gap=gap, time=late)
            colour = plot.COLOURS[colours[d]]
            label = f"$d_1$ = {d}, gap {gap:g}" if fill == "full" else f"$d$ = {d + 1}, gap 0"
            rows.points(axes[0], "beta", "clusters", fmt="o", label=label, ms=4, fillstyle=fill, color=colour)
            power = (d - 1) / 2 if gap else d / 2
            middle = np.exp(np.mean(np.log(rows["clusters"]) - power * np.log(rows["beta"])))
            dash = "-" if gap else ":"
            axes[0].plot(rows["beta"], middle * rows["beta"] ** power, dash, lw=0.8, color=colour)
    axes[0].set(xscale="log", yscale="log", xlabel=r"$\beta$", ylabel=f"clusters at $t$ = {late:g}")
    axes[0].legend(fontsize=6, ncols=2)
    ticks = [t for t in (12, 25, 50, 100, 200, 400) if counts["beta"].min() <= t <= counts["beta"].max()]
    axes[0].set_xticks(ticks, [f"{t}" for t in ticks])
    axes[0].minorticks_off()
    for d in dims:
        for time, mark in zip(sorted(set(fits["time"])), "s^o"[-len(set(fits["time"])) :], strict=True):
            rows = fits.where(d_1=d, d=d + 1, time=time)
            at = np.maximum(rows["gap"] * time, 0.1)
            label = f"$d_1$ = {d}, $t$ = {time:g}"
            rows.points(axes[1], at, "exponent", label=label, fmt=mark, ms=3.5, color=plot.COLOURS[colours[d]])
        for power, dash in (((d - 1) / 2, "-"), (d / 2, ":")):
            axes[1].axhline(power, lw=0.7, ls=dash, color=plot.COLOURS[colours[d]], zorder=1)
    axes[1].set(xscale="log", xlabel="gap times $t$ (0 drawn at 0.1)", ylabel=r"exponent of $\beta$")
    axes[1].set_ylim(top=1.35 * axes[1].get_ylim()[1])
    axes[1].legend(fontsize=6, ncols=3, loc="upper right")
    return figure


@study(
    "effective-dimension",
    source="A, section 5 (the count of centers for general V)",
    question="Does the number of metastable clusters grow like beta^((d_1-1)/2), d_1 the number of leading "
    "directions of V, whatever the dimension d > d_1 of the tokens?",
    method="Causal attention, Q = K = I, V = diag(1 (d_1 times), 1 - gap, ...), uniform tokens on the sphere of d_1 "
    "+ 1 dimensions (and of d_1 + 3 at the largest gap). Clusters at fixed times: chains of steps of beta^(-1/2) / "
    "4. The exponent is the slope of log count in log beta over all runs, with a 95 % interval that allows unequal "
    "scatter (HC3). Null: gap 0, where the exponent must be (d-1)/2. Whether there are enough tokens is read from "
    "the first half of them, which is a run of its own.",
    sizes={
        "dims": (2, 3, 4),
        "gaps": (0.0, 0.03, 0.1, 0.3, 1.0),
        "betas": {"2": (25.0, 64.0, 160.0, 400.0), "3": (12.0, 18.0, 26.0, 38.0), "4": (12.0, 17.0, 24.0, 34.0)},
        "n_tokens": {"2": 240, "3": 240, "4": 320},
        "times": (15.0, 60.0),
        "runs": 6,
    },
    quick={
        "dims": (2, 3),
        "gaps": (0.0, 1.0),
        "betas": {"2": (25.0, 100.0), "3": (12.0, 36.0)},
        "n_tokens": {"2": 80, "3": 100},
        "times": (10.0, 30.0),
        "runs": 5,
    },
    draw=_draw,
)
def effective_dimension(work: Inquiry, **s: Any) -> None:
    """Counts over d_1, gap and beta; exponents; the null and the number of tokens."""
    grids = [(d, d + 1, g) for d in s["dims"] for g in s["gaps"]] + [(d, d + 3, max(s["gaps"])) for d in s["dims"]]
    cases = {}
    for d, dim, gap in grids:
        for beta in s["betas"][str(d)]:
            cases[f"{d} of {dim}, gap {gap:g}, beta {beta:g}"] = (d, dim, gap, beta, s["n_tokens"][str(d)], s)
    found = work.each(cases, _counts)
    rows, fits = [], []
    for d, dim, gap in grids:
        cells = [found[f"{d} of {dim}, gap {gap:g}, beta {b:g}"] for b in s["betas"][str(d)]]
        every, half = (np.array([cell[part] for cell in cells]) for part in ("all", "half"))
        for k, time in enumerate(s["times"]):
            for b, row in zip(s["betas"][str(d)], every[:, :, k], strict=True):
                rows.append([d, dim, gap, time, b, *interval(row)])
            mine, fewer = (exponent(s["betas"][str(d)], part[:, :, k]) for part in (every, half))
            lost = 1 - float(half[-1, :, k].mean() / every[-1, :, k].mean())
            fits.append([d, dim, gap, time, *mine, (d - 1) / 2, (dim - 1) / 2, fewer.value, lost, every[..., k].size])
    work.table("counts", ("d_1", "d", "gap", "time", "beta", "clusters", "low", "high"), rows)
    columns = "d_1 d gap time exponent low high predicted full half_n half_n_lost runs".split()
    note = "half_n: exponent of the first half of the tokens; half_n_lost: share of clusters they miss at the last beta"
    _say(work, work.table("exponents", columns, fits, note), s)


def _say(work: Inquiry, fits: Table, s: Sizes) -> None:
    late, wide, told, nulls = max(s["times"]), max(s["gaps"]), [], []
    for d in s["dims"]:
        for dim in (d + 1, d + 3):
            row = fits.where(d_1=d, d=dim, gap=wide, time=late).rows[0]
            name = f"exponent, d_1 = {d} of {dim}, gap {wide:g}"
            work.number(name, Estimate(*row[4:7]), row[11], row[7])
            told.append((d, dim, row))
        row = fits.where(d_1=d, d=d + 1, gap=0.0, time=late).rows[0]
        work.number(f"exponent, d = {d + 1}, gap 0", Estimate(*row[4:7]), row[11], row[8], "the null: (d-1)/2")
        nulls.append((d, row))
    # The null must be told apart from the reduced exponent; how near it is to (d-1)/2 is a number, not a control.
    apart = [row[5] > row[7] for _, row in nulls]
    words = "; ".join(f"d = {d + 1}: {Estimate(*row[4:7])}" for d, row in nulls)
    work.control("gap 0 grows faster than (d_1-1)/2", all(apart), words)
    lost = max(row[10] for _, _, row in told)
    work.control("enough tokens", lost < 0.2, f"half of them miss {lost:.0%} of the clusters at the largest beta")
    short = max(row[10] for _, row in nulls)
    fine = [abs(row[4] - row[7]) < abs(row[4] - row[8]) for _, _, row in told]
    held = sum(row[5] <= row[7] <= row[6] for _, _, row in told)
    each = "; ".join(f"d_1 = {d} of {dim}: {Estimate(*row[4:7])} against {row[7]:g}" for d, dim, row in told)
    verdict = "Yes as far as seen" if all(fine) else "Not in every case"
    worst = max(abs(row[4] - row[7]) for _, _, row in told)
    work.answer(
        f"{verdict}: with a gap of {wide:g} the exponents are {each}; {held} of {len(told)} intervals hold "
        f"(d_1-1)/2, and the farthest is {worst:.2f} off. Without a gap they are {words} against (d-1)/2 (too few "
        f"tokens pull that down: there half of them miss up to {short:.0%} of the clusters). {_crossover(fits)}",
        "A range of beta of more than a factor of 16: at the betas reached, the curvature of the sphere (small beta) "
        "and slow mergers (finite time) bend the curves by more than the intervals show.",
    )


def _crossover(fits: Table) -> str:
    """From which gap times time on every exponent is nearer to that of L than to that of the sphere."""
    rows = [row for row in fits.rows if row[1] == row[0] + 1 and row[2] > 0]
    depths = sorted({row[2] * row[3] for row in rows})
    reduced = [all(abs(r[4] - r[7]) < abs(r[4] - r[8]) for r in rows if r[2] * r[3] >= depth) for depth in depths]
    if len(depths) < 3 or not any(reduced):
        return "The gaps in between were not resolved."
    return (
        f"In between, gap times time decides: from {depths[reduced.index(True)]:g} on every exponent is nearer to "
        "that of the leading eigenspace."
    )
