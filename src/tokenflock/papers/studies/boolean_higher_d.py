"""Does attention become Boolean in higher dimension, and how many leaders are left?

Theorem 2.1 of paper B (d = 1): every row of P tends to e_a or e_b, a and b the extreme tokens, but for one free row. In
more dimensions nothing is proved. A row is Boolean in the limit if one column wins; the winners are the leaders. With
V = I and Q'K = I a token that leads itself at the start, |x_i|^2 >= <x_i, x_j> for all j, is hard to beat: in high
dimension that is nearly every token, and P should tend to the identity, not to a matrix of two columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import attention
from tokenflock.analysis.statistics import Estimate, interval, wilson
from tokenflock.engine.boolean import settle
from tokenflock.geometry import Array
from tokenflock.papers.claims.emergence.runs import FOR_GOOD, follow, off_rows, rescaled
from tokenflock.papers.layout import panels
from tokenflock.papers.studies.ledger import Answer, Inquiry, Sizes, Table, spread, study

FAMILIES = ("identity", "definite", "indefinite")
FAR = 1e-6  # a row this near to a basis row is Boolean for now; `settle` says whether for good
FRAMES = 33


def drawn(family: str, d: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """V and Q'K. identity: both I. definite: V = GG', Q'K = HH', lambda_1 = 1. indefinite: Q'K Gaussian, no sign."""
    G, H = rng.uniform(-1, 1, (2, d, d))
    if family == "identity":
        return np.eye(d), np.eye(d)
    # Sizes do not matter but for time: the largest eigenvalue of V, and the norm of Q'K, are 1.
    V, H = G @ G.T / np.linalg.norm(G, 2) ** 2, H / np.linalg.norm(H, 2)
    return V, H @ H.T if family == "definite" else H


Cell = list[list[float] | None]


def _one(rng: np.random.Generator, family: str, d: int, n: int, distinct: bool, t_end: float) -> list[float] | None:
    """[leaders when first Boolean, or 0; for good; leaders; share that led themselves at first]; None: not followed."""
    V, form = drawn(family, d, rng)
    x = rng.uniform(-1, 1, (n, d))
    if not distinct:
        x[n // 2 :] = x[: n - n // 2]
    model, times = rescaled(d, key=form, value=V), np.linspace(0, t_end, FRAMES)
    z = follow(model, x, times)
    if z is None:
        return None
    own = float(np.mean(np.argmax(x @ form @ x.T, axis=1) == np.arange(n)))
    # The first time is asked for: much later roundings tell tokens apart that have met.
    early = 0
    for frame, t in zip(z, times, strict=True):
        P = attention.matrix(model, frame, t)
        if off_rows(P).max() < FAR:
            early = early or len(attention.leaders(P).columns)
            if (rest := settle(model, frame, t, FOR_GOOD)) is not None:
                return [float(early), 1.0, float(len(np.unique(rest.leader))), own]
    return [float(early), 0.0, float(len(attention.leaders(P).columns)), own]


def _cell(generator: np.random.Generator, family: str, d: int, n: int, distinct: bool, s: Sizes) -> Cell:
    return spread(lambda rng: _one(rng, family, d, n, distinct, s["t_end"]), generator, s["starts"])


def _draw(answer: Answer) -> plot.Figure:
    table = answer.table("limits")
    most = max(table["n"])
    figure, axes = panels(3)
    for family, colour in zip(FAMILIES, ("blue", "green", "red"), strict=True):
        rows = table.where(family=family, n=most)
        for ax, what in zip(axes, ("boolean", "two", "leaders"), strict=True):
            rows.points(ax, "d", what, label=family, lw=0.8, color=plot.COLOURS[colour])
    rows = table.where(family="identity", n=most)
    label = "identity: lead themselves at $t$ = 0"
    axes[2].plot(rows["d"], rows["own"], ":", color=plot.COLOURS["blue"], label=label)
    words = ("share of starts, all rows Boolean", "share with two leaders at most", "leaders, share of tokens")
    for ax, text in zip(axes, words, strict=True):
        ax.set(xscale="log", xlabel="dimension $d$", ylabel=text, ylim=(-0.04, 1.08))
        ax.set_xticks(sorted(set(table["d"])), [f"{d}" for d in sorted(set(table["d"]))])
        ax.minorticks_off()
    axes[2].legend(fontsize=6)
    axes[0].legend(loc="lower left")
    return figure


@study(
    "boolean-higher-d",
    source="B, section 2 (Theorem 2.1 is for d = 1) and outlook",
    question="For which fraction of starts does the attention matrix have a Boolean limit, in d = 1 to 16 dimensions?",
    method="Paper B's dynamics of z = e^{-tV} x, full attention, uniform tokens in [-1, 1]^d. V = Q'K = I; V = GG' "
    "and Q'K = HH'; V = GG' and Q'K uniform without a sign. A start counts as Boolean if at some time every row of P "
    "is within 1e-6 of a basis row and stays so up to t = 1000, which is decided by the exact solution from there "
    "on. Shares with Wilson intervals; the number of leaders. Control: with every token there twice two columns are "
    "equal, and no limit is Boolean. d = 1 with Q'K > 0 is a theorem and must give all.",
    sizes={
        "dims": (1, 2, 3, 4, 8, 16),
        "n_tokens": (8, 24),
        "starts": 40,
        # Roundings of z are e^{2t} times as large in the logits: a few 1e-2 here; from t = 16 on they choose leaders.
        "t_end": 14.0,
        "families": FAMILIES,
    },
    quick={"dims": (1, 2, 8), "n_tokens": (8,), "starts": 8, "t_end": 10.0},
    draw=_draw,
)
def boolean_higher_d(work: Inquiry, **s: Any) -> None:
    """Fractions and leaders over d; the theorem and the null."""
    cases = {
        f"{f}, d = {d}, n = {n}": (f, d, n, True, s) for f in s["families"] for d in s["dims"] for n in s["n_tokens"]
    }
    twice = {f"twice, d = {d}": ("identity", d, min(s["n_tokens"]), False, s) for d in (1, max(s["dims"]))}
    found = work.each({**cases, **twice}, _cell)
    rows = []
    for name, (family, d, n, *_) in cases.items():
        told = np.array([row for row in found[name] if row is not None])
        early, done, led, own = told[:, 0], told[:, 1] == 1, told[:, 2], told[:, 3]
        shares = [wilson(int(some.sum()), len(told)) for some in (done, done & (led <= 2))]
        numbers = [
            float(own.mean()),
            (float(early[done].mean()) if done.any() else math.nan) / n,
            len(found[name]) - len(told),
        ]
        rows.append([family, d, n, *shares[0], *shares[1], *interval(led / n), *numbers])
    parts = [f"{name}{end}" for name in ("boolean", "two", "leaders") for end in ("", "_low", "_high")]
    note = "early: leaders when first Boolean, of starts that settle; lost: runs not followed"
    table = work.table("limits", ("family", "d", "n", *parts, "own", "early", "lost"), rows, note)
    doubled = [row for name in twice for row in found[name] if row is not None]
    none = wilson(int(sum(row[1] for row in doubled)), len(doubled))
    work.control("tokens that are there twice have no Boolean limit", none.value == 0, str(none))
    _say(work, table, s)


def _say(work: Inquiry, table: Table, s: Sizes) -> None:
    most, high = max(s["n_tokens"]), max(s["dims"])
    first = [Estimate(*row[3:6]) for row in table.rows if row[1] == 1 and row[0] != "indefinite"]
    work.control("d = 1 is the theorem", all(e.value == 1 for e in first), "; ".join(map(str, first)))
    for family in s["families"]:
        for d in s["dims"]:
            row = table.where(family=family, d=d, n=most).rows[0]
            predicted = 1.0 if family != "indefinite" else None
            work.number(f"Boolean, {family}, d = {d}", Estimate(*row[3:6]), s["starts"], predicted)
            work.number(f"leaders, {family}, d = {d}", Estimate(*row[9:12]), s["starts"], note="share of the tokens")
    plain = table.where(family="identity", d=high, n=most).rows[0]
    work.surprise(
        f"With V = Q'K = I the leaders are {Estimate(*plain[9:12])} of all tokens in d = {high} ({plain[12]:.2f} of "
        "the tokens led themselves at the start already): P tends to nearly the identity, the opposite of a low-rank "
        "limit."
    )
    parts = []
    for family, words in zip(FAMILIES, ("V = Q'K = I", "V = GG', Q'K = HH'", "Q'K any sign"), strict=True):
        rows = table.where(family=family, n=most)
        of_those = [row[6] / row[3] if row[3] else np.nan for row in rows.rows if row[1] >= 2]
        parts.append(
            f"{words}: Boolean for good in {_range(rows['boolean'])} of all starts, of those with d >= 2 "
            f"{_range(of_those)} with two leaders at most"
        )
    work.answer(
        f"Every start that was decided has one; decided by t = {s['t_end']:g} are all with V = Q'K = I and most with "
        f"other weights, for d = 1 to {high} (n = {most}, {s['starts']} starts each). "
        + "; ".join(parts)
        + ". So the limit of Theorem 2.1 seems to need a simple leading eigenvalue, not d = 1: V = I, where all "
        "directions grow alike, is the exception.",
        f"A run that has not settled by t = {s['t_end']:g} is undecided and may settle later: the shares are lower "
        "bounds, and nothing is said of the rest. V with a "
        "complex leading pair has no limit of this kind, and was not tried.",
    )


def _range(values: Iterable[float]) -> str:
    """The least and the largest, or the one number that they all are."""
    found = list(values)
    low, high = f"{min(found):.2f}", f"{max(found):.2f}"
    return low if low == high else f"{low} to {high}"
