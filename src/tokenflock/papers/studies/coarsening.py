"""How clusters grow: their number N(t) to t = 1e300, by the law in log t / beta, and when centers hold the tokens.

Clusters at an angle a meet after about e^{beta (1 - cos a)}. So N(t) should depend on tau = log t / beta alone, and
for large beta be what `papers.closest_first` leaves of the start when all pairs closer than theta have met, where
1 - cos theta = tau. Beside it stand Renyi's count, which asks for the same separation but lets nobody move, and a
mean-field argument.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import clusters, renyi
from tokenflock.analysis.clusters import Labels
from tokenflock.analysis.statistics import Estimate, bootstrap, interval
from tokenflock.geometry import Array, retract, to_sphere
from tokenflock.model import Model
from tokenflock.papers import closest_first
from tokenflock.papers.layout import panels
from tokenflock.papers.studies.ledger import Answer, Inquiry, Sizes, Table, spread, study
from tokenflock.simulation import simulate

MASKS = ("causal", "full")
TAUS = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2)
EARLY = (0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0)
GATHERED = EARLY[-1]  # from here on tokens of a cluster are one body: those that fall are e^-30 from their leader
AGAIN = 1.15  # log t at which bodies are gathered again, over that of the time before
SETTLED = 5.0  # log t from which on clusters stand at any beta, and the law is read
UNFELT, TOO_CLOSE = 16.0, 9.0  # see in_parts
EXPLICIT = 9.0  # log t up to which explicit steps are cheaper: clusters still meet all the time
LATEST = 690.0  # log t: 1e300 is the last time
LAW = (0.04, 0.65)  # the tau between which the constant of the law is read: later fewer than three clusters are left
HELD = (0.5, 0.9, 0.99)
MOST = {"causal": 100_000, "full": 2000}  # tokens for which closest-first meetings are made: n log n, and n^3
NAMES = {2: "the circle", 3: "S^2"}
CELLS = (
    *((mask, 2, 1000, beta) for mask in MASKS for beta in (16.0, 64.0, 256.0, 1024.0, 4096.0)),
    *((mask, 3, 1000, beta) for mask in MASKS for beta in (16.0, 64.0, 256.0)),
    ("causal", 3, 1000, 1024.0),
    *((mask, 2, 10_000, 64.0) for mask in MASKS),
    ("full", 2, 100_000, 64.0),
    ("causal", 2, 1_000_000, 64.0),
    ("causal", 2, 10_000, 1024.0),
    ("causal", 3, 10_000, 64.0),
)


def bodies(x: Array, masses: Array | None, radius: float, mask: str) -> tuple[Array, Array, Labels]:
    """Tokens in chains of steps below radius as one body each: (places, masses, the body of every token).

    Causal: a body sits at its first token, whose row of masses (n, n) says how much it sees of every body. Full: masses
    (n,), and a body sits at the center of mass. Without masses every token counts once.
    """
    label = clusters.label(x, radius)
    count = int(label.max()) + 1
    if mask == "full":
        mass = np.ones(len(x)) if masses is None else masses
        summed = [np.bincount(label, weights=mass * column, minlength=count) for column in x.T]
        total = np.bincount(label, weights=mass, minlength=count).astype(np.float64)
        return retract(np.stack(summed, axis=1)), total, label
    first = np.unique(label, return_index=True)[1]
    rows = [None if masses is None else masses[i, : i + 1] for i in first]
    seen = [np.bincount(label[: i + 1], row, count).astype(np.float64) for i, row in zip(first, rows, strict=True)]
    return x[first], np.array(seen), label


def late(beta: float) -> Array:
    """log t at which clusters are counted."""
    log_t = beta * np.array(TAUS)
    kept: Array = log_t[(log_t >= SETTLED) & (log_t <= LATEST)]
    return kept


def stops(beta: float) -> Array:
    """log t at which bodies are gathered again, the late times among them."""
    now, log_t = math.log(GATHERED), late(beta)
    between = now * AGAIN ** np.arange(1, math.log(log_t[-1] / now) / math.log(AGAIN))
    found: Array = np.union1d(log_t, between)
    return found


def follow(x: Array, beta: float, mask: str, engine: str = "auto") -> dict[str, Any]:
    """One run from tokens x (n, d): clusters at the late times beside theory, and what centers hold at all times."""
    model, radius, log_t = Model(dim=x.shape[1], beta=beta, mask=mask), 0.25 / math.sqrt(beta), late(beta)
    early = simulate(model, x, GATHERED, times=list(EARLY), engine=engine, progress=False)["x"].values
    later = list(_later(early[-1], model, radius, stops(beta)))
    counted = np.flatnonzero(np.isin(stops(beta), log_t))
    found: dict[str, Any] = {"clusters": [clusters.count(later[k][0], radius) for k in counted]}
    theta = [closest_first.waiting_angle(beta, w) for w in log_t]
    if len(x) <= MOST[mask]:
        angles = closest_first.meetings(x, mask)
        found["closest"] = [closest_first.left(angles, a) for a in theta]
    found["renyi"] = [len(renyi.centers(x, a)) for a in theta]
    if mask == "causal":
        for name, centers in (("held", renyi.centers), ("held_strong", renyi.strong_centers)):
            index = centers(x, 4 / math.sqrt(beta))
            found[name] = [renyi.consumed(frame, index, radius).mean() for frame in early]
            for places, body in later:
                found[name].append(renyi.consumed(places, np.unique(body[index]), radius)[body].mean())
    return {name: np.asarray(values).tolist() for name, values in found.items()}


def _later(x: Array, model: Model, radius: float, log_t: Array) -> Iterator[tuple[Array, Labels]]:
    """(places of bodies, the body of every token) at these times, from the tokens at t = 30.

    Bodies that have met are gathered again and again, so that few are left to follow.
    """
    masses: Array | None = None
    label: Labels = np.arange(len(x))
    now = math.log(GATHERED)
    for stop in log_t:
        x, masses, body = bodies(x, masses, radius, str(model.mask))
        label = body[label]
        x = in_parts(x, masses, model, math.exp(stop) - math.exp(now), stop)
        yield x, label
        now = stop


def in_parts(x: Array, masses: Array, model: Model, span: float, log_t: float) -> Array:
    """Bodies x after a time span, which ends at log_t: those that do not feel each other in that time, apart.

    Two bodies at an angle a move each other by about e^{log_t - beta (1 - cos a)} times the larger over the smaller
    mass. Bodies in a chain of pairs for which that is above e^-UNFELT are one part. Parts that have come as close as
    e^-TOO_CLOSE on their way are made once more, together.
    """
    heavier = math.log(masses.max() / masses[masses > 0].min())

    def angle(margin: float) -> float:
        return closest_first.waiting_angle(model.beta, log_t + heavier + margin) * (1 + 1e-9)

    part, out, whole = clusters.label(x, angle(UNFELT)), np.array(x), []
    how: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-8, "progress": False, "engine": "cpu"}
    while True:
        for tokens in (np.flatnonzero(part == k) for k in range(part.max() + 1)):
            if len(tokens) > 1 and tokens.tolist() not in whole:
                own = masses[tokens] if masses.ndim == 1 else masses[np.ix_(tokens, tokens)]
                scheme = "tsit5" if log_t < EXPLICIT else "rosenbrock"
                run = simulate(model.with_options(masses=own), x[tokens], span, times=[span], scheme=scheme, **how)
                out[tokens] = run["x"].values[-1]
                whole.append(tokens.tolist())
        joined = _joined(part, clusters.label(out, angle(TOO_CLOSE)))
        if joined.max() == part.max():
            return out
        part = joined


def _joined(one: Labels, other: Labels) -> Labels:
    """The parts of which two have a token of one label in both."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    shared = coo_array((np.ones(len(one)), (one, other)), shape=(one.max() + 1, other.max() + 1)).tocsr()
    found: Labels = connected_components(shared @ shared.T, directed=False)[1][one].astype(np.int64)
    return found


def directly(x: Array, beta: float, mask: str) -> Array:
    """The clusters of `follow` by runs of all tokens, which decide on bodies themselves."""
    model, log_t = Model(dim=x.shape[1], beta=beta, mask=mask), late(beta)
    scheme = "skeleton" if mask == "causal" else "auto"
    end = float(np.exp(log_t[-1]))
    run = simulate(model, x, end, times=np.exp(log_t), scheme=scheme, progress=False)
    found: Array = clusters.count(run["x"].values, 0.25 / math.sqrt(beta))
    return found


def _cell(generator: np.random.Generator, mask: str, d: int, n: int, beta: float, s: Sizes) -> dict[str, Any]:
    """All runs of a point: {what: (run, time)}."""
    one = lambda g: follow(to_sphere(g, (n, d)), beta, mask, s["engine"])  # noqa: E731
    runs = spread(one, generator, s["runs"])
    return {what: [run[what] for run in runs] for what in runs[0]}


def _same(generator: np.random.Generator, mask: str, d: int, beta: float, s: Sizes) -> list[float]:
    """Of each of a few runs: the share of times at which both ways count the same clusters."""

    def one(g: np.random.Generator) -> float:
        x = to_sphere(g, (s["direct_tokens"], d))
        return float(np.mean(np.array(follow(x, beta, mask)["clusters"]) == directly(x, beta, mask)))

    return spread(one, generator, s["direct_runs"])


def scaled(counts: Any, beta: float, d: int) -> Array:
    """N theta / 2 pi on the circle, N tau on S^2: constants if the law holds. counts: (..., late times)."""
    tau = late(beta) / beta
    by = np.arccos(np.maximum(1 - tau, -1)) / (2 * math.pi) if d == 2 else tau
    found: Array = np.asarray(counts, dtype=np.float64) * by
    return found


def _constant(counts: Any, beta: float, d: int) -> Array:
    """The constant of the law, of every run: its mean over the tau of LAW."""
    tau = late(beta) / beta
    found: Array = scaled(counts, beta, d)[:, (tau > LAW[0]) & (tau < LAW[1])].mean(axis=1)
    return found


def _times(shares: Any, beta: float, share: float) -> Array:
    """log10 of the time from which on centers hold this share, of every run; 300 if they never do."""
    log_t = np.append(np.log10(EARLY), stops(beta) / math.log(10))
    below = np.asarray(shares) < share
    last = np.where(below.any(axis=1), below.shape[1] - 1 - below[:, ::-1].argmax(axis=1), -1)
    found: Array = np.append(log_t, 300.0)[last + 1]
    return found


def _draw(answer: Answer) -> plot.Figure:
    figure, axes = panels(3, 3.1)
    counts, held = answer.table("counts"), answer.table("held")
    for ax, d in zip(axes, (2, 3), strict=False):
        mine = counts.where(d=d)
        for mask, colour, mark in (("causal", "blue", "o"), ("full", "red", "s")):
            betas = sorted(set(mine.where(mask=mask, n=answer.parameters["draw_tokens"])["beta"]))
            for beta in betas:
                part = mine.where(mask=mask, beta=beta, n=answer.parameters["draw_tokens"])
                shade = 0.25 + 0.75 * (betas.index(beta) + 1) / len(betas)
                look = {"fmt": mark, "ms": 2.5, "capsize": 0, "alpha": shade, "color": plot.COLOURS[colour]}
                if part.rows:
                    part.points(ax, "tau", "clusters", label=mask if beta == betas[-1] else None, **look)
        tau = np.geomspace(0.02, 2.0, 200)
        unit = 2 * math.pi / np.arccos(1 - tau) if d == 2 else 1 / tau
        for mask, colour in (("causal", "blue"), ("full", "red")):
            found = answer[f"constant, {mask}, {NAMES[d]}"].value
            ax.plot(tau, np.maximum(found * unit, 1), lw=0.9, color=plot.COLOURS[colour])
        ax.plot(tau, closest_first.mean_field("causal", d) * unit, lw=0.8, ls=":", color=plot.COLOURS["grey"])
        ax.set(xscale="log", yscale="log", ylim=(0.8, None), xlabel=r"$\tau = \log t\,/\,\beta$")
        ax.set_title(f"clusters on {'the circle' if d == 2 else '$S^2$'}", loc="right", fontsize=8)
        ax.legend(fontsize=7, loc="lower left", title="darker: larger beta", title_fontsize=6)
    for n, colour in zip(sorted(set(held["n"])), ("blue", "orange", "green", "red"), strict=False):
        part = held.where(d=2, n=n, centers="Renyi", share=HELD[0])
        if part.rows:
            part.points(axes[2], "beta", "log10_t", fmt="o", color=plot.COLOURS[colour], label=f"n = {n:,}")
    axes[2].set(xscale="log", xlabel=r"$\beta$", ylabel=r"$\log_{10} t$")
    axes[2].set_title(f"centers hold {HELD[0]:.0%} (circle)", loc="right", fontsize=8)
    axes[2].legend(fontsize=7)
    return figure


@study(
    "coarsening",
    source="A, section 5 (how long metastable clusters last, and when centers hold the tokens, is left open); D, "
    "section 4 (the staircase)",
    question="How does the number of clusters fall with time, and when do Renyi centers hold most of the tokens?",
    method="V = I, Q = K = I, uniform tokens. All tokens to t = 30; then every cluster is one body with the mass of "
    "its tokens (causal: as seen from each first token), followed by implicit steps to the end or to t = 1e300. N(t) "
    "is compared with tau = log t / beta, run by run with closest-first meetings of the same start and with its "
    "Renyi centers at the separation theta, 1 - cos theta = tau, and with a mean-field argument. Control: runs of "
    "all tokens, which find their bodies themselves, count the same. Centers: at 4 beta^(-1/2); a token is held "
    "within beta^(-1/2) / 4 of one.",
    sizes={
        "cells": CELLS,
        "runs": 100,
        "engine": "auto",
        "draw_tokens": 1000,
        "direct_tokens": 200,
        "direct_runs": 20,
    },
    quick={
        "cells": tuple((mask, d, 150, beta) for mask in MASKS for d, beta in ((2, 64.0), (2, 256.0), (3, 32.0))),
        "runs": 6,
        "draw_tokens": 150,
        "direct_tokens": 40,
        "direct_runs": 3,
    },
    draw=_draw,
)
def coarsening(work: Inquiry, **s: Any) -> None:
    """Counts over mask, d, n and beta; the constants; the shares that centers hold."""
    cells = [tuple(cell) for cell in s["cells"]]
    found = work.each({_name(*cell): (*cell, s) for cell in cells}, _cell)
    same = work.each({f"both ways, {mask}, d = {d}": (mask, d, 64.0, s) for mask in MASKS for d in (2, 3)}, _same)
    rows, law, held = [], [], []
    for mask, d, n, beta in cells:
        cell, at = found[_name(mask, d, n, beta)], (mask, d, n, beta)
        means = {what: np.mean(cell[what], axis=0) for what in ("closest", "renyi") if what in cell}
        for k, log_t in enumerate(late(beta)):
            beside = [float(means[what][k]) if what in means else math.nan for what in ("closest", "renyi")]
            count = interval([run[k] for run in cell["clusters"]])
            rows.append([*at, log_t / beta, log_t / math.log(10), *count, *beside])
        constant = _constant(cell["clusters"], beta, d)
        ratios = [Estimate(math.nan, math.nan, math.nan)] * 2
        for k, what in enumerate(("closest", "renyi")):
            if what in cell:
                ratios[k] = interval(constant / _constant(cell[what], beta, d))
        law.append([*at, *interval(constant), *ratios[0], *ratios[1], len(constant)])
        for kind, name in (("held", "Renyi"), ("held_strong", "strong")) if mask == "causal" else ():
            for share in HELD:
                log_t = _times(cell[kind], beta, share)
                middle = bootstrap(log_t, np.median, work.seed)
                held.append([d, n, beta, name, share, *middle, float((log_t < 300).mean())])
    work.table("counts", "mask d n beta tau log10_t clusters low high closest renyi".split(), rows)
    parts = [f"{name}{end}" for name in ("by_closest", "by_renyi") for end in ("", "_low", "_high")]
    note = "constant: N theta / 2 pi on the circle, N log t / beta on S^2, mean over tau from "
    note += f"{LAW[0]} to {LAW[1]}; by_: that of the runs over that of closest-first meetings, and of Renyi centers, "
    note += "of the same starts"
    table = work.table("law", ["mask", "d", "n", "beta", "constant", "low", "high", *parts, "runs"], law, note)
    note = "log10 of the kept time from which on centers hold the share: median over the runs (between t = 30 and "
    note += "log t = 0.02 beta nothing is kept: a time there is too late); reached: share of runs that do"
    times = work.table("held", "d n beta centers share log10_t low high reached".split(), held, note)
    _say(work, table, times, same, s)


def _name(mask: str, d: int, n: int, beta: float) -> str:
    return f"{mask}, d = {d}, n = {n}, beta = {beta:g}"


def _say(work: Inquiry, law: Table, held: Table, same: dict[str, list[float]], s: Sizes) -> None:
    shares = {name: float(np.mean(found)) for name, found in same.items()}
    words = "; ".join(f"{name[11:]}: {share:.0%} of the times" for name, share in shares.items())
    work.control("runs of all tokens count the same clusters", min(shares.values()) > 0.9, words)
    told, apart = [], []
    for mask, d in ((mask, d) for d in (2, 3) for mask in MASKS):
        row = max(law.where(mask=mask, d=d, n=s["draw_tokens"]).rows, key=lambda row: row[3])
        where = f"{mask}, {NAMES[d]}"
        guess, size = closest_first.mean_field(mask, d), f"beta = {row[3]:g}; predicted: the mean-field argument"
        constant, close = Estimate(*row[4:7]), Estimate(*row[7:10])
        work.number(f"constant, {where}", constant, row[13], guess, size)
        work.number(f"over closest-first, {where}", close, row[13], 1.0, f"beta = {row[3]:g}")
        told.append(f"{where}: {constant}, mean field {guess:.3g}, {close} of closest-first")
        if mask == "causal":
            work.number(f"over Renyi, {where}", Estimate(*row[10:13]), row[13], None, f"beta = {row[3]:g}")
            apart.append((where, Estimate(*row[10:13])))
    work.control(
        "Renyi's count, where nobody moves, is told apart",
        all(ratio.high < 1 for _, ratio in apart),
        "; ".join(f"{where}: {ratio}" for where, ratio in apart),
    )
    fewer = "; ".join(f"{ratio} of it, {where}" for where, ratio in apart)
    work.answer(
        "N(t) depends on tau = log t / beta alone once clusters stand (log t > 5) and beta is large: N = c 2 pi / "
        f"arccos(1 - tau) on the circle and N = c beta / log t on S^2. At the largest beta c is, {'; '.join(told)}; it "
        "grows with beta towards closest-first meetings (table law). Renyi's count at the "
        f"same separation is too large: the runs have {fewer}. {_holding(held)}",
        "Starts that are not uniform, V or Q'K other than multiples of I (the order of meetings is then not that of "
        "distances), or a dimension above 3.",
    )
    wide = law.where(mask="causal", d=2, beta=64.0)
    if len(wide.rows) > 1:
        shown = ", ".join(f"{row[2]:,}: {Estimate(*row[4:7])}" for row in wide.rows)
        work.surprise(f"The number of tokens does not matter: c on the causal circle at beta = 64 is, for n = {shown}.")


def _holding(held: Table) -> str:
    """When centers hold half of the tokens on the circle, for every number of tokens."""
    part = held.where(d=2, centers="Renyi", share=HELD[0], beta=64.0)
    each = "; ".join(f"n = {row[1]:,}: t = {10 ** row[5]:.3g}" for row in part.rows)
    return f"Renyi centers hold half of the tokens on the circle at beta = 64 from about {each} on (median)."
