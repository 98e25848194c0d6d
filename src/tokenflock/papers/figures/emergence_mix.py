"""Codimension and mix of paper B (arXiv:2305.05465): several eigenvalues that gather, and one that does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import polytope, triple
from tokenflock.geometry import Array
from tokenflock.papers.figures import emergence_draw as draw
from tokenflock.start import cube
from tokenflock.weights import PAPER_B


@dataclass(frozen=True)
class Mix(draw.Cube):
    """What decides how the figure of Theorem 5.2 looks."""

    elevation: float = 22.0
    azimuth: float = 40.0


@dataclass(frozen=True)
class Codimension(Mix):
    """What decides how the figure of the conjecture looks."""

    shown: float = 5.0


PARAMETERS = {
    "emergence/codimension": Codimension(t_end=20.0, elevation=20.0, azimuth=100.0),
    "emergence/mix": Mix(n_tokens=40),
}
QUICK: dict[str, dict[str, Any]] = {
    "emergence/codimension": {"frames": 61},
    "emergence/mix": {"n_tokens": 20, "frames": 61},
}
GREY = plot.COLOURS["grey"]


def left_vectors(value: Array) -> tuple[Array, Array]:
    """The real eigenvalues of a matrix, largest first, and its left eigenvectors as rows, phi_k*(phi_k) = 1."""
    lam, right = np.linalg.eig(value)
    order = np.argsort(-lam.real)
    return lam.real[order], np.linalg.inv(right.real[:, order])


def figure_codimension(p: Codimension) -> plot.Figure:
    """Two positive eigenvalues in three dimensions: tokens go to lines."""
    value = PAPER_B["codimension"]
    times = draw.moments(p.t_end, p.frames, p.shown)
    z = draw.rescaled(value, cube(p.n_tokens, 3, p.half_width, seed=p.seed), np.append(times, 3 * p.t_end))
    lam, star = left_vectors(value)
    phi = z @ star.T
    label = draw.places(phi[-1, :, :2], 0.01)
    gaps = np.linalg.norm(phi[:-1, :, :2] - phi[-1, :, :2], axis=2)  # the last frame stands for the limit
    z, phi = z[:-1], phi[:-1]
    height = 2.75
    figure = plot.page(height)
    ax = figure.add_axes((0.0, 0.1, 0.365, 0.365 * plot.PAGE / height * 0.87))
    _lines(
        ax, z, phi, label, draw.at(times, p.shown), plot.view(p.elevation, p.azimuth), np.linalg.inv(star), p.half_width
    )
    ax.set_title(f"$t$ = {p.shown:g}", pad=1)
    side = 0.235
    along = plot.square(figure, 0.43, 0.23, side)
    half = 1.08 * float(np.abs(phi[:, :, :2]).max())
    draw.numbered(along, half, 5.0, (r"$\varphi_1^*(z)$", r"$\varphi_2^*(z)$"))
    draw.tracks(along, phi[:, :, :2], draw.colours(label))
    draw.discs(along, phi[-1, :, :2], draw.colours(label), 14)
    along.set_title(f"seen along the lines, to $t$ = {p.t_end:g}", pad=3)
    right = figure.add_axes((0.765, 0.23, 0.215, side * plot.PAGE / height))
    for k, shade in enumerate(draw.colours(label)):
        right.plot(times, gaps[:, k], color=shade, lw=0.7, alpha=0.8)
    guide = 6 * gaps[0].max() * np.exp(-lam[1] * times)
    right.plot(times, guide, color="black", lw=1, ls=(0, (4, 2)))
    right.text(p.t_end, 3 * guide[-1], r"$\propto e^{-\lambda_2 t}$", ha="right", va="bottom")
    draw.decades(right, -3, 2)
    right.set(xlim=(0, p.t_end), xlabel="time $t$")
    right.set_title("distance from its line", pad=3)
    _tokens_legend(figure, f"token: a colour a line ({label.max() + 1} found)")
    plot.letters(figure, {"a": (0.008, 0.95), "b": (0.385, 0.95), "c": (0.7, 0.95)})
    return plot.captioned(figure, _caption_codimension(p, lam, phi, label, gaps))


def _lines(
    ax: plot.Axes, z: Array, phi: Array, label: draw.Labels, k: int, eye: Array, right: Array, half: float
) -> None:
    shade = draw.colours(label)
    size = 1.1 * float(np.abs(z[: k + 1] @ eye[:2].T).max())
    draw.box(ax, half, eye)
    for line in range(label.max() + 1):
        mine = label == line
        center = phi[-1][mine][:, :2].mean(axis=0) @ right[:, :2].T
        third = phi[k][mine][:, 2]
        reach = np.array([third.min() - 2.5, third.max() + 2.5])
        ends = center + reach[:, None] * right[:, 2]
        ax.plot(*(ends @ eye[:2].T).T, color=draw.CYCLE[line % len(draw.CYCLE)], lw=1.4, alpha=0.5, zorder=2)
        size = max(size, 1.02 * float(np.abs(ends @ eye[:2].T).max()))
    draw.tracks(ax, z[: k + 1] @ eye[:2].T, shade)
    draw.discs(ax, z[k] @ eye[:2].T, shade, 10 + 4 * np.clip(z[k] @ eye[2] / half, -1.5, 1.5))
    draw.square(ax, size)


def figure_mix(p: Mix) -> plot.Figure:
    """diag(1, 1, -1/2): a polygon in the plane F, and no bound along G."""
    value = PAPER_B["mix"]
    times = draw.moments(p.t_end, p.frames)
    z = draw.rescaled(value, cube(p.n_tokens, 3, p.half_width, seed=p.seed), np.append(times, 4 * p.t_end))
    z, limit = z[:-1], z[-1][:, :2]
    label = draw.places(limit)
    shade = draw.colours(label)
    height, side = 2.9, 0.25
    figure = plot.page(height)
    ax = figure.add_axes((0.0, 0.12, 0.33, 0.8))
    _prism(ax, z, limit, shade, p.half_width, plot.view(p.elevation, p.azimuth))
    ax.set_title(f"$t$ = {p.t_end:g}", pad=1)
    top = plot.square(figure, 0.395, 0.225, side)
    draw.numbered(top, 1.1 * p.half_width, p.half_width)
    draw.outline(top, limit, GREY, fill="#e9ecf2")
    draw.tracks(top, z[:, :, :2], shade)
    draw.discs(top, z[-1, :, :2], shade, 11)
    top.set_title("seen from above: the plane $F$", pad=3)
    right = figure.add_axes((0.75, 0.225, 0.235, side * plot.PAGE / height))
    for k in range(p.n_tokens):
        right.plot(times, z[:, k, 2], color=shade[k], lw=0.7, alpha=0.8)
    right.set(xlim=(0, p.t_end), xlabel="time $t$", xticks=[0, p.t_end / 2, p.t_end])
    right.set_ylabel("$z_3$", labelpad=0)
    right.set_title("the direction $G$", pad=3)
    _tokens_legend(figure, "token: a colour a vertex of the polygon")
    plot.letters(figure, {"a": (0.008, 0.95), "b": (0.36, 0.95), "c": (0.69, 0.95)})
    return plot.captioned(figure, _caption_mix(p, z, limit, label))


def _prism(ax: plot.Axes, z: Array, limit: Array, shade: list[str], half_width: float, eye: Array) -> None:
    """Tokens and the edges of polygon x G; the third axis is pressed together to the height of the box."""
    press = np.array([1.0, 1.0, 1.35 * half_width / np.abs(z[:, :, 2]).max()])
    corners = draw.around(limit)
    for level in (-1.35 * half_width, 1.35 * half_width):
        ring = np.column_stack([corners, np.full(len(corners), level)])
        draw.outline(ax, ring @ eye[:2].T, GREY, lw=0.7, zorder=1)
    for corner in corners:
        edge = np.array([[*corner, -1.35 * half_width], [*corner, 1.35 * half_width]])
        ax.plot(*(edge @ eye[:2].T).T, color=GREY, lw=0.6, ls=(0, (3, 2)), zorder=1)
    page = (z * press) @ eye[:2].T
    draw.tracks(ax, page, shade)
    draw.discs(ax, page[-1], shade, 11 + 4 * (z[-1] * press) @ eye[2] / (1.5 * half_width))
    draw.square(ax, 2.0 * half_width)
    zero = np.array([0.0, 0.0, -1.35 * half_width])
    for axis, name in ((np.array([1, 0, 0]), "$z_1$"), (np.array([0, 1, 0]), "$z_2$")):
        right, up = (zero + 1.55 * half_width * axis) @ eye[:2].T
        ax.text(right, up, name, ha="center", va="center", fontsize=7, color="#5b6470")
    ax.text(-1.75 * half_width, 0, f"$z_3$, pressed by {1 / press[2]:.2g}", rotation=90, ha="center", va="center",
            fontsize=7, color="#5b6470")  # fmt: skip


def _tokens_legend(figure: plot.Figure, words: str) -> None:
    entry = {"marker": "o", "color": draw.CYCLE[0], "ms": 4, "lw": 0.8, "label": words}
    plot.key(figure, (0.5, 0.045), [entry])


def _caption_codimension(p: Codimension, lam: Array, phi: Array, label: draw.Labels, gaps: Array) -> str:
    number, positive = int(label.max()) + 1, int((lam > 0).sum())
    sizes = np.bincount(label)
    verdict = "as the conjecture says" if number <= 3 else "more than the three of the conjecture"
    return (
        f"The codimension conjecture of {draw.PAPER}: with k eigenvalues of positive real part, rescaled tokens go to "
        "at most three parallel subspaces of codimension k. V is the matrix of the published code, eigenvalues "
        f"{draw.listed(lam, '.5f')}: k = {positive}, and the subspaces are lines. (a) Tokens at t = {p.shown:g}, their "
        "paths, and the lines, whose direction is the eigenvector of the negative eigenvalue; the box is the start's "
        "cube. (b) The same along the lines, in the coordinates of the two positive eigenvalues: tokens come to "
        f"{number} points, {verdict}, with {' and '.join(map(str, sizes))} tokens. (c) The distance from them in these "
        f"coordinates: at t = {max(p.t_end, p.shown):g} at most {gaps[-1].max():.1e}; the second eigenvalue is the "
        f"slow one. Along the lines tokens spread, to |phi_3*| = {np.abs(phi[-1, :, 2]).max():.3g} from "
        f"{np.abs(phi[0, :, 2]).max():.3g}. The authors': V, Q = K = I, n = {p.n_tokens}, tokens uniform on "
        f"[-{p.half_width:g}, {p.half_width:g}]^3, T = 5 (their code is forward Euler with dt = 0.1). Ours, not the "
        f"paper's: the start (seed {p.seed}), adaptive steps, times after 5, panels (b) and (c), and colours."
    )


def _caption_mix(p: Mix, z: Array, limit: Array, label: draw.Labels) -> str:
    judged = triple.good_with_multiplicity(None, None, PAPER_B["mix"])
    corners = polytope.hull(limit, draw.SAME_PLACE).vertices
    off = polytope.residual(z[-1, :, :2], None, corners).max()
    return (
        f"Theorem 5.2 of {draw.PAPER}: V = {draw.plain(draw.value_name(PAPER_B['mix']))}, Q = K = I, a good triple "
        f"with multiplicity{'' if judged.holds else ' - NOT'}: F is the plane of z_1, z_2 and G the axis of z_3. "
        f"Rescaled tokens come near the boundary of a polygon of F, times G. (a) Tokens at t = {p.t_end:g} and their "
        "paths, with the prism over the polygon; z_3 is pressed together. (b) From above: the polygon has "
        f"{len(corners)} vertices, and the tokens end at {label.max() + 1} points of it; the residual of Theorem 3.1 "
        f"in F is at most {off:.1e}. (c) Along G tokens diverge, up to |z_3| = {np.abs(z[-1, :, 2]).max():.3g}: "
        "rescaling by e^(-tV) stretches what decays. The authors': V, Q, K, T = 5 and tokens uniform on "
        f"[-{p.half_width:g}, {p.half_width:g}]^3; their code is forward Euler with dt = 0.1. Ours, not the paper's: n "
        f"= {p.n_tokens} (their code has 20), the start (seed {p.seed}), adaptive steps, panels (b) and (c), and "
        "colours."
    )
