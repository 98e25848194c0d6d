"""Attention matrices of paper B (arXiv:2305.05465): heat maps that become Boolean (Theorem 2.1), and leaders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import attention
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.papers.figures import emergence_draw as draw
from tokenflock.start import cube


@dataclass(frozen=True)
class BooleanFigure:
    """What decides how the heat maps look."""

    n_tokens: int = 40
    times: tuple[float, ...] = (0.0, 2.0, 4.0, 5.0, 6.0, 8.0)
    dim: int = 80  # of the second row, as in the published code
    times_large: tuple[float, ...] = (0.0, 0.03, 0.05, 0.1, 0.2, 0.5)
    seed: int = 0


@dataclass(frozen=True)
class LeadersFigure:
    """What decides how the figure of leaders looks."""

    n_tokens: int = 20
    times: tuple[float, ...] = (0.0, 2.0, 4.0, 10.0)
    threshold: float = attention.ATTENDED
    seed: int = 11


PARAMETERS = {"emergence/boolean": BooleanFigure(), "emergence/leaders": LeadersFigure()}
QUICK: dict[str, dict[str, Any]] = {
    "emergence/boolean": {"n_tokens": 20, "dim": 40, "times_large": (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)},
    "emergence/leaders": {"n_tokens": 12},
}
SHOWN = 1e-4  # the darkest end of the colours of a heat map


def gram(dim: int, generator: np.random.Generator) -> Array:
    """G G' with entries of G uniform on [-1, 1]: the random matrices of these two figures."""
    G = generator.uniform(-1.0, 1.0, (dim, dim))
    return G @ G.T


def on_the_line(n_tokens: int, times: tuple[float, ...], seed: int) -> Array:
    """P (time, n, n) of Theorem 2.1, Q = K = V = 1, for tokens of [-1, 1] in increasing order."""
    model = Model(dim=1, value=np.eye(1), space="rescaled", mask="full")
    z = draw.rescaled(np.eye(1), np.sort(cube(n_tokens, 1, 1.0, seed=seed), axis=0), np.asarray(times), rtol=1e-10)
    return attention.matrix(model, z, np.asarray(times))


def without_attention(n_tokens: int, dim: int, times: tuple[float, ...], seed: int) -> tuple[Array, Array]:
    """P (time, n, n) of tokens e^(tV) x_i(0), in the order of the leading coordinate, and the eigenvalues of V."""
    value = gram(dim, np.random.default_rng([seed, 1]))
    lam, vectors = np.linalg.eigh(value)
    start = cube(n_tokens, dim, 1.0, seed=seed)
    start = start[np.argsort(start @ vectors[:, -1])]
    model = Model(dim=dim, value=value, space="rescaled", mask="full")
    still = np.broadcast_to(start, (len(times), *start.shape))  # x' = V x leaves z where it is
    return attention.matrix(model, still, np.asarray(times)), lam


def figure_boolean(p: BooleanFigure) -> plot.Figure:
    """Two rows of heat maps of P(t), with the rank above each."""
    line = on_the_line(p.n_tokens, p.times, p.seed)
    large, lam = without_attention(p.n_tokens, p.dim, p.times_large, p.seed)
    height, side = 3.3, 0.136
    figure = plot.page(height)
    rows = ((line, p.times, 0.545), (large, p.times_large, 0.075))
    for matrices, moments, bottom in rows:
        for k, (P, t) in enumerate(zip(matrices, moments, strict=True)):
            ax = plot.square(figure, 0.05 + 0.1465 * k, bottom, side)
            image = _heat(ax, P)
            ax.set_title(f"$t$ = {t:g}\nrank {attention.rank(P).rank}", pad=3)
            if k == 0:
                ax.set_ylabel("row: token $i$", labelpad=3)
    figure.text(0.05, 0.035, "column: token $j$", va="center", fontsize=7.5)
    bar = figure.colorbar(image, cax=figure.add_axes((0.935, 0.075, 0.012, 0.765)), ticks=[1, 1e-2, SHOWN])
    bar.ax.minorticks_off()
    bar.ax.set_yticklabels(["1", "0.01", f"≤ {SHOWN:g}"], rotation=90, va="center")
    bar.ax.get_yticklabels()[0].set(va="top")
    bar.ax.get_yticklabels()[2].set(va="bottom")
    bar.set_label("attention $P_{ij}$", labelpad=1)
    bar.outline.set_linewidth(0.4)
    plot.letters(figure, {"a": (0.008, 0.955), "b": (0.008, 0.475)})
    return plot.captioned(figure, _caption_boolean(p, line, large, lam))


def _heat(ax: plot.Axes, P: Array) -> Any:
    from matplotlib.colors import LogNorm

    look: Any = {"cmap": "viridis", "norm": LogNorm(SHOWN, 1.0), "interpolation": "nearest", "rasterized": True}
    image = ax.imshow(np.maximum(P, SHOWN), **look)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(True)
    return image


def figure_leaders(p: LeadersFigure) -> plot.Figure:
    """The clouds {A x_i} and {x_j} at a few times, with a segment where P_ij is above the threshold."""
    value, form = _pair(p.seed)
    start = cube(p.n_tokens, 2, 1.0, seed=p.seed)
    z = draw.rescaled(value, start, np.asarray(p.times), query=form)
    model = Model(dim=2, value=value, query=form, space="rescaled", mask="full")
    matrices = attention.matrix(model, z, np.asarray(p.times))
    lead = [attention.leaders(P, p.threshold) for P in matrices]
    clouds = [_seen(z[k], value, form, t) for k, t in enumerate(p.times)]
    reach = max(float(np.abs(cloud[:, 1]).max()) for pair in clouds for cloud in pair)
    # As high as the clouds need: 4.9 units of theirs are 0.235 pages wide.
    body = 0.235 * plot.PAGE / 4.9 * (2 * reach + 0.55)
    height = body + 0.75
    figure = plot.page(height)
    for k, (t, P) in enumerate(zip(p.times, matrices, strict=True)):
        ax = figure.add_axes((0.012 + 0.247 * k, 0.33 / height, 0.235, body / height))
        _clouds(ax, *clouds[k], P, p.threshold, reach)
        count = len(lead[k].columns)
        words = f"{int((P > p.threshold).sum())} segments, {count} leader{'s' * (count > 1)}"
        ax.set_title(f"$t$ = {t:g}\n{words}", pad=3)
    disc = {"marker": "o", "ls": "", "mec": "white", "mew": 0.3}
    entries = [
        {"color": plot.COLOURS["blue"], "ms": 4, "label": "token as it asks, $A x_i$", **disc},
        {"color": plot.COLOURS["sky"], "ms": 4, "label": "token as it is seen, $x_j$", **disc},
        {"color": plot.STRONG, "ms": 5, "label": "leader: some token attends to it", **disc},
        {"color": "#6b7684", "lw": 0.7, "label": rf"$P_{{ij}}$ > {p.threshold:g}"},
    ]
    plot.key(figure, (0.5, 0.13 / height), entries, ncols=4, handletextpad=0.3)
    return plot.captioned(figure, _caption_leaders(p, value, form, lead, matrices))


def _pair(seed: int) -> tuple[Array, Array]:
    generator = np.random.default_rng([seed, 2])
    return gram(2, generator), gram(2, generator)


def _seen(z: Array, value: Array, form: Array, t: float) -> tuple[Array, Array]:
    """{A x_i} and {x_j}, each divided by its largest length."""
    from scipy.linalg import expm

    x = z @ expm(t * (value - np.linalg.eigvalsh(value)[-1] * np.eye(2))).T
    ask = x @ form.T
    return ask / np.linalg.norm(ask, axis=1).max(), x / np.linalg.norm(x, axis=1).max()


def _clouds(ax: plot.Axes, ask: Array, x: Array, P: Array, threshold: float, reach: float) -> None:
    from matplotlib.collections import LineCollection

    left, right = ask - np.array([1.35, 0.0]), x + np.array([1.35, 0.0])
    rows, columns = np.nonzero(P > threshold)
    # Stronger attention, stronger line: down to a hair at the threshold.
    strength = 1 + np.log10(P[rows, columns]) / -np.log10(threshold)
    segments = np.stack([left[rows], right[columns]], axis=1)
    ax.add_collection(LineCollection(list(segments), linewidths=0.15 + 0.55 * strength, colors="#6b7684", alpha=0.35))
    leads = np.zeros(len(x), bool)
    leads[columns] = True
    for center, name in ((-1.35, "$A x_i$"), (1.35, "$x_j$")):
        ax.plot(center, 0, "+", color="black", ms=4, mew=0.6, zorder=2)
        ax.text(center, -reach - 0.25, name, ha="center", va="center")
    draw.discs(ax, left, [plot.COLOURS["blue"]] * len(x), 11)
    draw.discs(ax, right, [plot.STRONG if lead else plot.COLOURS["sky"] for lead in leads], 9 + 12.0 * leads)
    ax.set(xlim=(-2.45, 2.45), ylim=(-reach - 0.4, reach + 0.15), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def _caption_boolean(p: BooleanFigure, line: Array, large: Array, lam: Array) -> str:
    far = [attention.boolean_distance(P) for P in line]
    below = int((line[-1].argmax(axis=1) == far[-1].a).sum())
    distances = draw.listed([b.distance for b in far], ".2g")
    ranks = [draw.listed([attention.rank(P).rank for P in rows], "g") for rows in (line, large)]
    return (
        f"Self-attention matrices P(t) of {draw.PAPER}, with their numerical rank (singular values above n eps times "
        f"the largest). (a) Theorem 2.1: d = 1, Q = K = V = 1, n = {p.n_tokens} tokens uniform on [-1, 1], numbered in "
        f"increasing order, at t = {draw.listed(p.times, 'g')}: rank {ranks[0]}. The Frobenius distance from the "
        f"Boolean matrices of the theorem falls doubly exponentially: {distances}. In the end the first {below} rows "
        f"are e_1 and the other {p.n_tokens - below} are e_{p.n_tokens}: the two extreme tokens lead. (b) As in the "
        f"published code: d = {p.dim}, V = G G' with entries of G uniform on [-1, 1] (largest eigenvalue "
        f"{lam[-1]:.4g}), tokens that follow x' = V x without attention, ordered by their leading coordinate, at t = "
        f"{draw.listed(p.times_large, 'g')}: rank {ranks[1]}. The authors': n = 40 in both, (a) Q = K = V = 1, (b) d = "
        f"80, V and the cube. Ours, not the paper's: the start (seed {p.seed}), the times (with so large a V all is "
        "over long before their T = 11), the order of the tokens, the logarithmic colours, and the distances."
    )


def _caption_leaders(
    p: LeadersFigure, value: Array, form: Array, lead: list[attention.Leaders], matrices: Array
) -> str:
    segments = draw.listed([int((P > p.threshold).sum()) for P in matrices], "g")
    counts = draw.listed([len(one.columns) for one in lead], "g")
    shares = sorted(zip(lead[-1].share, lead[-1].columns, strict=True), reverse=True)[:3]
    last = " and ".join(f"token {j} gets {100 * s:.0f} %" for s, j in shares)
    return (
        f"Leaders, {draw.PAPER}: d = 2, n = {p.n_tokens} tokens uniform on [-1, 1]^2, V = G G' and Q'K = A = H H' with "
        f"entries of G and H uniform on [-1, 1]; here the eigenvalues are {draw.listed(np.linalg.eigvalsh(value))} of "
        f"V and {draw.listed(np.linalg.eigvalsh(form))} of A. Left in each panel the cloud A x_i, right the cloud x_j, "
        f"each to its own scale, and a segment from A x_i to x_j where P_ij > {p.threshold:g}. At t = "
        f"{draw.listed(p.times, 'g')}: {segments} segments, to {counts} tokens. In the end {last} of all attention. "
        "The authors': n = 20, T = 10, the laws of G, H and the tokens, and the threshold (forward Euler with dt = "
        f"0.1). Ours, not the paper's: the seeds (seed {p.seed}), adaptive steps, the clouds side by side, and the "
        "width of the segments, which grows with the logarithm of P_ij."
    )
