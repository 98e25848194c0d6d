"""Paper B's open questions: Q'K of any kind, feed-forward layers, several heads. How often the pictures stay (B.9)."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from tokenflock import plot, weights
from tokenflock.analysis import attention, triple
from tokenflock.errors import unknown
from tokenflock.geometry import Array
from tokenflock.options import FeedForward
from tokenflock.papers import layout
from tokenflock.papers.claims.emergence.hyperplanes import LEVEL, from_levels
from tokenflock.papers.claims.emergence.runs import coordinates, follow, gathered, off_rows, rescaled
from tokenflock.papers.claims.finding import Finding
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.papers.token_layers import tokens_through

FORMS = ("tokens", "rescaled")
HEADS = (1, 2, 4, 8)
ROWS = ("ReLU, W = I", "tanh, W = I", "ReLU, W random")


def _fractions(
    check: Check,
    cases: Mapping[str, float | None],
    one: Callable[[np.random.Generator], tuple[bool | None, ...]],
) -> None:
    """For each case how often the answer is True, against what is predicted; None: not decided."""
    key = zlib.crc32(next(iter(cases)).encode())
    ran = {k: one(np.random.default_rng([check.seed, key, k])) for k in check.which(cases)}
    for column, (case, predicted) in enumerate(cases.items()):
        check.share(case, {k: answers[column] for k, answers in ran.items()}, predicted)


@claim(
    "emergence/generic-qk",
    kind="conjecture",
    statement="Theorems 3.1 and 5.2 ask for Q'K > 0. With uniform entries of Q'K on [-1, 1] the pictures are said to "
    "be the same: tokens end at a few places. Measured: how often they end at fewer places than half of the tokens, "
    "where the symmetric part of Q'K has a positive eigenvalue, and how often at one, where it is negative definite. "
    "Predicted: always.",
    hypotheses=("V = I, or V = 1 on F and smaller on G",),
    trial="V = I in d = 2 and 3, and V = diag(1, 1, -1/2); 16 uniform tokens in [-5, 5]^d; Q'K with uniform entries, "
    "sorted by its symmetric part; to t = 14, and to t = 1000 by the exact solution where attention has become "
    "Boolean.",
    measured="the fraction of starts that end at fewer places than half of the tokens, or at one",
    rule="one start that ends otherwise refutes it. Decided are runs with attention that is Boolean for good, runs at "
    "rest (no token moves by 1e-2 of the size in the last third), and runs in which every two tokens still move "
    "apart; all others are undecided, wherever their tokens are",
    sizes={"trials": 60},
    quick={"trials": 10},
)
def generic_qk(check: Check, t_end: float = 14.0, n_tokens: int = 16, value: float = 1.0) -> None:
    """value: a factor of V; at -1 nothing gathers."""

    def one(generator: np.random.Generator, V: Array, negative: bool, seen: int) -> tuple[bool | None]:
        d = len(V)
        form = generator.uniform(-1, 1, (d, d))
        top = np.linalg.eigvalsh((form + form.T) / 2)[-1]
        if negative:
            form -= max(0.0, top + 0.2) * np.eye(d)
        elif top < 0:
            form = -form
        model = rescaled(d, key=form, value=value * V)
        z = follow(model, generator.uniform(-5, 5, (n_tokens, d)), [2 * t_end / 3, t_end])
        places = None if z is None else gathered(model, z[0], z[1], t_end, seen)
        return (None if places is None else places == 1 if negative else places < n_tokens / 2,)

    values = {"V = I, d = 2": np.eye(2), "V = I, d = 3": np.eye(3), "V = diag(1, 1, -1/2)": np.diag([1.0, 1.0, -0.5])}
    for words, V in values.items():
        seen = int((np.diag(V) == 1).sum())
        for kind, negative in (("any Q'K", False), ("negative", True)):
            _fractions(check, {f"{words}, {kind}": 1.0}, partial(one, V=V, negative=negative, seen=seen))
    found = list(check.findings)
    check.draw = lambda: _draw_fractions(found)


def _draw_fractions(found: list[Finding]) -> plot.Figure:
    """A row a case: the fraction of decided starts and its interval."""
    figure, (ax,) = layout.row(1, 0.8 + 0.27 * len(found), plot.PAGE * 0.75)
    for k, f in enumerate(found):
        colour = plot.COLOURS["red" if f.failed else "blue"]
        ax.plot(np.array([f.low, f.high]), [-k, -k], lw=3, alpha=0.4, color=colour)
        ax.plot(f.measured, -k, "o", ms=3.5, color=colour)
    ax.set_yticks(-np.arange(len(found)), [f"{f.case} ({f.trials - f.undecided})" for f in found])
    ax.set(xlim=(-0.02, 1.02), xlabel="fraction of starts that end at a few places, or at one")
    return figure


@claim(
    "emergence/feedforward",
    kind="conjecture",
    statement="The last figure of the paper, in three rows. V entrywise positive. ReLU, W = I: phi_1*(z_i) ends on at "
    "most three levels, those of the positive orthant, and 0 for tokens that stand still; tanh, W = I: all z_i "
    "collapse to 0; ReLU, W random: to 0 wherever W sigma(V x) grows more slowly than e^{tV}.",
    hypotheses=("V has positive entries", "the feed-forward acts on x: x_i' = W sigma(V sum_j P_ij x_j)"),
    trial="d = 2, V with uniform entries on [0, 1] and lambda_1 = 1, 10 uniform tokens in [-5, 5]^2, to t = 14.",
    measured="the distance of phi_1*(z_i) from {0, a, b}, or the largest |phi_1*(z_i)|, over that of the start",
    rule="below 1e-2; the third row is a fraction, held against nothing",
    erratum="The printed equation has the feed-forward act on rescaled tokens, z_i' = W sigma(V sum_j P_ij (z_j - "
    "z_i)). That system does not show the figure: with tanh and W = I leaders rest where they are, away from 0, and "
    "with ReLU a token below its leader in no coordinate rests at any level. check(..., form='rescaled') runs it.",
    sizes={"trials": 30},
    quick={"trials": 5, "t_end": 12.0},
)
def feedforward(check: Check, t_end: float = 14.0, form: str = "tokens") -> None:
    """form="rescaled": the equation as printed (E8)."""
    if form not in FORMS:
        raise unknown("form", form, FORMS)

    def end(generator: np.random.Generator, row: str) -> tuple[Array, float] | None:
        V = weights.uniform_entries(2, int(generator.integers(2**31)), low=0.0)
        V = V / np.abs(np.linalg.eigvals(V)).max()
        W = generator.uniform(-1, 1, (2, 2)) if row == ROWS[2] else np.eye(2)
        sigma = "tanh" if row == ROWS[1] else "relu"
        start = generator.uniform(-5, 5, (10, 2))
        if form == "tokens":
            path = tokens_through(V, W, sigma, start, np.array([t_end]))
            z = None if path is None else path[-1]
        else:  # kinks at an attention of e^{2t} cost steps: not as far
            model = rescaled(2, value=V, feedforward=FeedForward(w=W, activation=sigma))
            done = follow(model, start, [min(t_end, 6.0)], rtol=1e-4)
            z = None if done is None else done[-1]
        if z is None:
            return None
        to_levels = coordinates(triple.good(None, None, V))[1][0]
        return z @ to_levels, float(np.abs(start @ to_levels).max())

    def one(generator: np.random.Generator, row: str) -> Trial:
        found = end(generator, row)
        if found is None:
            return Trial(None, np.inf)
        level, size = found
        off = from_levels(level, size) if row == ROWS[0] else float(np.abs(level).max()) / size
        return Trial(off < 10 * LEVEL, off)

    def to_zero(generator: np.random.Generator) -> tuple[bool | None]:
        return (one(generator, ROWS[2]).ok,)

    for row in ROWS[:2]:
        check.each(row, partial(one, row=row), 10 * LEVEL)
    _fractions(check, {f"{ROWS[2]}, to 0": None}, to_zero)


@claim(
    "emergence/multihead",
    kind="conjecture",
    statement="Several heads, x_i' = sum_h sum_j P^h_ij V_h x_j: an open question. Measured: how often every P^h "
    "becomes Boolean and the z_i gather, for 1 to 8 heads. In d = 1 with every Q_h'K_h > 0 the z_i are predicted to "
    "gather always: with one head that is Theorem 2.1.",
    hypotheses=("V_h = I / (number of heads), so that e^{-tV} commutes with every head", "Q_h'K_h > 0"),
    trial="1, 2, 4 and 8 heads in d = 1 and 2, 10 uniform tokens in [-3, 3]^d, Q_h'K_h = GG' with G uniform on [-1, "
    "1] (at least 0.05 I), and without a sign; to t = 14.",
    measured="the fraction of starts with z at fewer places than half of the tokens, or with every P^h Boolean at t",
    rule="z, d = 1, Q_h'K_h > 0: one start that ends otherwise refutes it; decided as in emergence/generic-qk. The "
    "others are held against nothing",
    sizes={"trials": 24},
    quick={"trials": 5, "t_end": 12.0},
)
def multihead(check: Check, t_end: float = 14.0, value: float = 1.0, heads: tuple[int, ...] = HEADS) -> None:
    """value: a factor of V; at -1 nothing gathers. heads: how many there are."""
    n = 10

    def one(generator: np.random.Generator, d: int, count: int, definite: bool) -> tuple[bool | None, ...]:
        G = generator.uniform(-1, 1, (count, d, d))
        form = G @ np.swapaxes(G, 1, 2) + 0.05 * np.eye(d) if definite else G
        V = np.repeat(value * np.eye(d)[None] / count, count, axis=0)
        model = rescaled(d, query=np.repeat(np.eye(d)[None], count, axis=0), key=form, value=V)
        z = follow(model, generator.uniform(-3, 3, (n, d)), [2 * t_end / 3, t_end])
        if z is None:
            return None, None
        places = gathered(model, z[0], z[1], t_end)
        boolean = bool(off_rows(attention.matrix(model, z[1], t_end)).max() < 1e-2)
        return None if places is None else places < n / 2, boolean

    for d in (1, 2):
        for definite, sign in ((True, "Q_h'K_h > 0"), (False, "any sign")):
            for count in heads:
                case = f"d = {d}, {sign}, {count} heads"
                cases = {f"z, {case}": 1.0 if definite and d == 1 else None, f"P, {case}": None}
                _fractions(check, cases, partial(one, d=d, count=count, definite=definite))
    found = {f.case: f for f in check.findings}
    check.draw = lambda: _draw_heads(found, heads)


def _draw_heads(found: dict[str, Finding], heads: tuple[int, ...]) -> plot.Figure:
    figure, axes = layout.row(2, 2.5, sharey=True)
    for ax, d in zip(axes, (1, 2), strict=True):
        for what, dash in (("z", "-"), ("P", ":")):
            for k, (sign, colour) in enumerate((("Q_h'K_h > 0", "blue"), ("any sign", "red"))):
                rows = [found.get(f"{what}, d = {d}, {sign}, {count} heads") for count in heads]
                kept = [(c, f) for c, f in zip(heads, rows, strict=True) if f is not None]
                at = np.array([c * (1.03 if k else 0.97) for c, _ in kept])
                mean = np.array([f.measured for _, f in kept])
                bars = [mean - [f.low for _, f in kept], [f.high for _, f in kept] - mean]
                words = f"{'$z$ gathers' if what == 'z' else 'all $P^h$ Boolean'}, {sign}"
                ax.errorbar(at, mean, bars, ls=dash, marker="o", ms=3, color=plot.COLOURS[colour], label=words)
        ax.set(xscale="log", xlabel="heads", ylim=(-0.05, 1.1), title=f"$d = {d}$")
        ax.set_xticks(heads, [str(c) for c in heads])
        ax.minorticks_off()
    axes[0].set_ylabel("fraction of starts")
    axes[0].legend()
    return figure
