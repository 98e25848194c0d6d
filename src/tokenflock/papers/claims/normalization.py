"""Paper F (arXiv:2510.22026): how fast tokens cluster under each layer norm, at the start and at the end."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from tokenflock import plot, start, theory
from tokenflock.errors import unknown
from tokenflock.geometry import Array, retract, to_sphere
from tokenflock.model import Model, attention, velocity
from tokenflock.options import LAYER_NORMS, LayerNorm
from tokenflock.papers import layout
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.papers.claims.perspective import STANDING, width
from tokenflock.simulation import simulate

LAWS = ("uniform", "cap")


@claim(
    "normalization/initial-rate",
    kind="theorem",
    statement="Q = K = V = I, full attention, n orthogonal directions, all of magnitude r_0: every overlap starts "
    "with speed 2 / (s (e^beta + n - 1)), s = 1 (post, mix, sqrt) or r_0 (pre); 2 / (r_0 sqrt(e^(2 beta) + n - 1)) "
    "(peri); 2 alpha_0 / sqrt(e^(2 beta) + n - 1) (ngpt).",
    hypotheses=("<x_i(0), x_j(0)> = 0",),
    trial="2 to 24 orthogonal tokens, beta of 0 to 4, r_0 and alpha_0 of 0.3 to 3",
    measured="the largest relative difference of <x_i', x_j> + <x_i, x_j'> from the formula",
    rule="holds if below 1e-12",
    sizes={"trials": 100},
    quick={"trials": 20},
)
def initial_rate(check: Check, overlap: float = 0.0) -> None:
    """overlap: of the start; the formula is for 0."""

    def one(generator: np.random.Generator, kind: str) -> Trial:
        n, beta = int(generator.integers(2, 25)), float(generator.uniform(0, 4))
        radius, alpha = (float(v) for v in generator.uniform(0.3, 3, 2))
        x = start.equiangular(n, n, overlap, seed=int(generator.integers(2**31)))
        norm = LayerNorm(kind, radius=radius, alpha=alpha)
        v = velocity(Model(dim=n, beta=beta, mask="full", layer_norm=norm), x)
        i, j = np.triu_indices(n, 1)
        off = float(np.abs((v @ x.T + x @ v.T)[i, j] / initial_speed(norm, n, beta) - 1).max())
        return Trial(bool(off < 1e-12), off)

    for kind in LAYER_NORMS:
        check.each(kind, partial(one, kind=kind), 1e-12)


def initial_speed(norm: LayerNorm, n_tokens: int, beta: float) -> float:
    """gamma'(0) of orthogonal tokens (F.3)."""
    plain, whole = math.exp(beta) + n_tokens - 1, math.sqrt(math.exp(2 * beta) + n_tokens - 1)
    return {
        "post": 2 / plain,
        "mix": 2 / plain,
        "sqrt": 2 / plain,
        "pre": 2 / plain / norm.radius,
        "peri": 2 / whole / norm.radius,
        "ngpt": 2 * norm.alpha / whole,
    }[norm.kind]


@claim(
    "normalization/terminal-rate",
    kind="theorem",
    statement="V = I, |Q'K| <= 1, start in a narrow cone: the variance of the directions falls like e^{-2t} (post), "
    "t^-2 (pre, peri, mix), e^{-4 sqrt t} (sqrt), e^{-2 int alpha} (ngpt); for pre and peri r_j(t) >= (1 - delta) t.",
    hypotheses=("all overlaps >= 1 - delta, delta < 1 / (100 n^2 max(1, beta^2))", "V = I"),
    trial="3 to 12 tokens in such a cone, d of 2 to 8, beta of 0 to 3, Q and K with |Q'K| <= 1, ngpt with alpha_t = "
    "alpha (1+t)^-1/2; for pre and peri r_0 = 1, to t = 1e4",
    measured="|slope of log(variance) against the clock / predicted - 1|; and r_j(t) / ((1 - delta) t)",
    rule="holds if the slope is within 2 % and the magnitudes are above their bound",
    erratum="For ngpt the rate is printed as Var / alpha_t; it is alpha_t Var. delta must also be below 1/(100 n^2).",
    sizes={"trials": 20},
    quick={"trials": 4},
)
def terminal_rate(check: Check, printed: bool = False, value: float = 1.0) -> None:
    """printed=True: the clock of ngpt as printed, int 1/alpha; value: V = value I."""
    curves: dict[str, tuple[Array, Array]] = {}

    def run(generator: np.random.Generator, kind: str) -> tuple[Any, Array, float]:
        n, d = int(generator.integers(3, 13)), int(generator.integers(2, 9))
        beta = float(generator.uniform(0, 3))
        delta = 0.99 / (100 * n * n * max(1.0, beta * beta))
        middle = to_sphere(generator, (1, d))
        x = retract(middle + 0.5 * math.sqrt(delta) * to_sphere(generator, (n, d)))
        query, key = (g / np.linalg.norm(g, 2) for g in generator.standard_normal((2, d, d)))
        norm = LayerNorm(kind, alpha=float(generator.uniform(0.5, 2)), decay=0.5 if kind == "ngpt" else 0.0, switch=2.0)
        model = Model(dim=d, beta=beta, query=query, key=key, value=value * np.eye(d), mask="full", layer_norm=norm)
        times = moments(kind)
        kept = simulate(model, x, times[-1], times=times, rtol=1e-11, atol=1e-15, progress=False)
        return kept, clock(norm, times, printed), delta

    def slope(generator: np.random.Generator, kind: str) -> Trial:
        kept, ticks, _ = run(generator, kind)
        spread = variance(kept["x"].values)
        curves[kind] = (ticks, spread / spread[0])
        used = spread > 1e-22  # the square of what rounding leaves
        fitted = np.polyfit(ticks[used], np.log(spread[used]), 1)[0]
        off = float(abs(fitted / theory.normalisation_slope(kind)[0] - 1))
        return Trial(bool(off < 0.02), off)

    def magnitude(generator: np.random.Generator, kind: str) -> Trial:
        kept, _, delta = run(generator, kind)
        times = kept["time"].values[:, None]
        least = float((kept["radius"].values / ((1 - delta) * times)).min())
        return Trial(bool(least >= 1), least)

    for kind in LAYER_NORMS:
        check.each(f"{kind}, slope", partial(slope, kind=kind), 0.02)
    for kind in ("pre", "peri"):
        check.each(f"{kind}, magnitudes", partial(magnitude, kind=kind), 1.0, ">=")
    check.draw = partial(_draw, curves)


def moments(kind: str) -> Array:
    """Times over which a slope is measured: late for algebraic decay, where r_j = t + O(1) has become t."""
    if theory.normalisation_slope(kind)[1] == "log t":
        return np.geomspace(300, 1e4, 61)
    return np.linspace(0.5, 8.0, 61) if kind != "sqrt" else np.linspace(0.5, 20.0, 61)


def clock(norm: LayerNorm, t: Array, printed: bool = False) -> Array:
    """The clock of F.5 for each layer norm; for ngpt int alpha (1+t)^-decay, or of its inverse as printed."""
    if norm.kind == "ngpt":
        p = (1 if printed else -1) * norm.decay
        return norm.alpha ** (-1 if printed else 1) * ((1 + t) ** (1 + p) - 1) / (1 + p)
    return {"t": t, "log t": np.log(t), "sqrt t": np.sqrt(t + 1)}[theory.normalisation_slope(norm.kind)[1]]


def variance(x: Array) -> Array:
    """(1/n) sum_k |x_k - mean|^2 of tokens (..., n, d)."""
    return np.asarray(np.sum((x - x.mean(axis=-2, keepdims=True)) ** 2, axis=(-2, -1)) / x.shape[-2])


@claim(
    "normalization/clustering",
    kind="theorem",
    statement="Q = K = V = I, full attention, d >= 2: from almost every start the directions meet in one point under "
    "post, ngpt and sqrt, and under pre and peri if n <= e^beta.",
    hypotheses=("d >= 2", "V = I", "n <= e^beta for pre and peri"),
    trial="3 to 8 uniform directions in d of 2 to 6, beta of log n to 2.5, magnitudes 1",
    measured="the largest distance of a direction from the first at the end (rad)",
    rule="holds if below 1e-6; violated if the directions rest or a magnitude falls to 0; else undecided",
    erratum="d = 1 must be left out.",
    sizes={"trials": 20},
    quick={"trials": 4, "t_end": 1e40},
)
def clustering(check: Check, t_end: float = 1e80, value: float = 1.0) -> None:
    """value: V = value I; -1 makes tokens repel each other."""

    def one(generator: np.random.Generator, kind: str) -> Trial:
        n, d = int(generator.integers(3, 9)), int(generator.integers(2, 7))
        beta = float(generator.uniform(math.log(n), 2.5))
        model = Model(dim=d, beta=beta, value=value * np.eye(d), mask="full", layer_norm=kind)
        x = to_sphere(generator, (n, d))
        # Under pre and peri the magnitudes grow like t, and directions age by log t: the end must be far away.
        slow = kind in ("pre", "peri")
        t = t_end if slow else 1e4
        kept = simulate(model, x, t, times=[t], progress=False, throw=False)["x"].values
        if not len(kept) or not np.isfinite(kept).all():
            return Trial(False, math.pi, "A magnitude fell to 0.")
        off = float(width(kept[-1]))
        if off < 1e-6:
            return Trial(True, off)
        still = np.abs(velocity(model.with_options(layer_norm="post"), kept[-1])).max() < STANDING
        return Trial(False if still else None, off, f"{n} tokens, d = {d}, beta = {beta:.2f}.")

    for kind in ("post", "ngpt", "sqrt", "pre", "peri"):
        check.each(kind, partial(one, kind=kind), 1e-6)


@claim(
    "normalization/initial-drive",
    kind="theorem",
    statement="beta = 1, |Q'K| <= 1, |V| <= 1, n uniform tokens, e^{sqrt d} >= n log n >= d: with probability 1 - "
    "n^-c every |A_j| = |sum_k softmax_k V x_k| is at most C (sqrt(log n / n) + log n / d) at the start.",
    hypotheses=("uniform start", "beta = 1 and weights of norm at most 1"),
    trial="Q, K, V orthogonal, n of 64 to 1024 and d of 16 to 256",
    measured="the largest |A_j| over sqrt(log n / n) + log n / d",
    rule="holds if at most 1: one C for all sizes, which the paper does not give",
    sizes={"trials": 6},
    quick={"trials": 3, "sizes": ((64, 16), (64, 64), (256, 64), (512, 128))},
)
def initial_drive(
    check: Check,
    sizes: tuple[tuple[int, int], ...] = ((64, 16), (64, 64), (256, 64), (1024, 64), (1024, 256)),
    law: str = "uniform",
) -> None:
    """law="cap": tokens of one half of the sphere, whose mean does not vanish."""
    if law not in LAWS:
        raise unknown("law", law, LAWS)

    def one(generator: np.random.Generator, n: int, d: int) -> Trial:
        x = to_sphere(generator, (n, d))
        if law == "cap":
            x[:, 0] += 1
            x = retract(x)
        Q, K, V = (np.linalg.qr(g)[0] for g in generator.standard_normal((3, d, d)))
        a = attention(Model(dim=d, beta=1.0, query=Q, key=K, value=V, mask="full"), x)[0]
        size = float(np.linalg.norm(a @ x @ V.T, axis=1).max())
        ratio = size / (math.sqrt(math.log(n) / n) + math.log(n) / d)
        return Trial(bool(ratio <= 1), ratio)

    for n, d in sizes:
        check.each(f"n = {n}, d = {d}", partial(one, n=n, d=d), 1.0, "<=")


def _draw(curves: dict[str, tuple[Array, Array]]) -> plot.Figure:
    figure, four = layout.row(4, 2.5)
    panels = {"t": "$t$", "integral of alpha": r"$\int\alpha$", "sqrt t": r"$\sqrt{t+1}$", "log t": r"$\log\, t$"}
    axes = dict(zip(panels, four, strict=True))
    for k, (kind, (ticks, spread)) in enumerate(curves.items()):
        slope, word = theory.normalisation_slope(kind)
        colour = plot.COLOURS[("blue", "red", "green", "orange", "purple", "sky")[k]]
        axes[word].plot(ticks[::4], spread[::4] / spread[0], "o", ms=3, color=colour, label=kind)
        axes[word].plot(ticks, np.exp(slope * (ticks - ticks[0])), color="black", lw=0.8, zorder=0)
    for word, ax in axes.items():
        slope = next(s for s, w in theory.TERMINAL.values() if w == word)
        ax.set(yscale="log", xlabel=panels[word], title=f"line: slope {slope:g}")
        ax.legend()
    axes["t"].set_ylabel("variance of the directions")
    return figure
