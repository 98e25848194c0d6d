"""Figure 3 of paper C (arXiv:2312.10794): the share of pairs of tokens that have met, over time and beta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.papers.claims.perspective_overlaps import overlaps, to_span, together
from tokenflock.simulation import simulate
from tokenflock.start import uniform


@dataclass(frozen=True)
class Phases:
    """What decides how the figure looks."""

    n_tokens: int = 32
    dims: tuple[int, ...] = (2, 8, 32, 128, 512, 1024)
    near: float = 1e-3  # delta: a pair with an overlap of 1 - delta or more has met
    beta_end: float = 9.0
    betas: int = 46
    t_end: float = 30.0
    frames: int = 121
    starts: int = 64
    rtol: float = 1e-4  # at 1e-7, d = 2, 8, 128 and 32 starts, no share differs by more than 0.0003
    seed: int = 0


PARAMETERS = {"perspective/3": Phases()}
QUICK: dict[str, dict[str, Any]] = {"perspective/3": {"betas": 11, "frames": 61, "starts": 6}}
SHARES = "cividis"  # even steps of lightness; blue to yellow, which colour-blind readers see alike
LEAST_BETA = 0.1
CURVE = plot.COLOURS["red"]
TOP, ROW = 0.4, 2.0  # inches: beyond the rows, and of each


def figure_3(p: Phases) -> plot.Figure:
    """One panel a dimension: the share of pairs that have met, and the curve of orthogonal tokens over it."""
    rows, times = np.linspace(LEAST_BETA, p.beta_end, p.betas), np.linspace(0, p.t_end, p.frames)
    share = met(p, rows, times)
    fine = np.linspace(LEAST_BETA, p.beta_end, 200)
    curve = np.array([together(p.n_tokens, float(beta), p.near) for beta in fine])
    across = 3
    down = -(-len(p.dims) // across)
    height = TOP + ROW * down
    figure = plot.page(height)
    for k, d in enumerate(p.dims):
        row, column = divmod(k, across)
        where = (0.065 + 0.285 * column, (0.5 + ROW * (down - 1 - row)) / height, 0.245, 1.55 / height)
        ax = figure.add_axes(where)
        shown = _panel(ax, times, rows, share[k], fine, curve)
        ax.set_title(f"$d$ = {d}", pad=3)
        ax.set(xlabel="time $t$" if row == down - 1 else "", ylabel=r"$\beta$" if column == 0 else "")
    bar = figure.add_axes((0.915, 0.5 / height, 0.016, (ROW * down - 0.45) / height))
    scale = figure.colorbar(shown, cax=bar, ticks=[0, 0.5, 1])
    scale.set_label(rf"share of pairs with $\langle x_i, x_j\rangle \geq$ {1 - p.near:g}", labelpad=2)
    scale.outline.set_linewidth(0.4)
    words = r"orthogonal tokens: $\gamma_\beta(t) = 1 - \delta$, the limit $d \to \infty$"
    entry = {"color": CURVE, "lw": 1.5, "label": words}
    plot.key(figure, (0.475, 1 - 0.11 / height), [entry], handletextpad=0.6)
    return plot.captioned(figure, _caption(p, times, rows, share))


def met(p: Phases, betas: Array, times: Array) -> Array:
    """The share of pairs with overlap >= 1 - near, over pairs and starts: (dimension, beta, time).

    More dimensions than tokens are never needed: see `to_span`. All betas have the same starts.
    """
    share = np.empty((len(p.dims), len(betas), len(times)))
    for k, d in enumerate(p.dims):
        x = to_span(uniform(p.n_tokens, d, seed=p.seed, runs=p.starts))
        for row, beta in enumerate(betas):
            model = Model(dim=x.shape[-1], beta=float(beta), mask="full")
            run = simulate(model, x, times[-1], times=times, rtol=p.rtol, atol=p.rtol * 0.1, progress=False)["x"].values
            share[k, row] = np.mean([(overlaps(one) >= 1 - p.near).mean(axis=-1) for one in run], axis=0)
    return share


def _panel(ax: plot.Axes, times: Array, betas: Array, share: Array, fine: Array, curve: Array) -> Any:
    from matplotlib.patheffects import withStroke

    look: Any = {"cmap": SHARES, "vmin": 0, "vmax": 1, "shading": "nearest", "rasterized": True}
    shown = ax.pcolormesh(times, betas, share, **look)
    line = ax.plot(curve, fine, color=CURVE, lw=1.5)[0]
    line.set_path_effects([withStroke(linewidth=2.8, foreground="white")])
    ax.set(xlim=(times[0], times[-1]), ylim=(betas[0], betas[-1]))
    ax.set_xticks(np.linspace(times[0], times[-1], 4))
    ax.set_yticks([b for b in (1, 3, 5, 7, 9) if b <= betas[-1]])
    return shown


def _caption(p: Phases, times: Array, betas: Array, share: Array) -> str:
    jumps = []
    row = int(np.argmin(np.abs(betas - 4)))
    due = together(p.n_tokens, float(betas[row]), p.near)
    for d, one in zip(p.dims, share[:, row], strict=True):
        half = np.interp(0.5, np.maximum.accumulate(one), times, right=np.nan)
        jumps.append(f"{half:.2f} (d = {d})" if np.isfinite(half) else f"later than {times[-1]:g} (d = {d})")
    vacuous = 1 - 2 * p.n_tokens**2 * max(p.dims) ** (-1 / 64)
    return (
        f"Figure 3 of arXiv:2312.10794. Full self-attention, Q = K = V = I, {p.n_tokens} uniform tokens: the share of "
        f"pairs with an overlap of at least 1 - delta = {1 - p.near:g} against time and beta, over {p.starts} starts. "
        "Red: the curve on which n orthogonal tokens have that overlap, gamma_beta(t) = 1 - delta, from the closed "
        "form. In large d uniform tokens are nearly orthogonal, and the share jumps from 0 to 1 across the curve; in "
        f"small d large beta keeps several clusters apart for as long as is shown. At beta = {betas[row]:.2f} the "
        f"curve is at t = {due:.2f}, and half of the pairs have met at t = {', '.join(jumps)}. The paper's own "
        f"boundary, at the probability 1 - 2 n^2 d^(-1/64), does not exist at these sizes: that is {vacuous:.0f} for d "
        f"= {max(p.dims)}. Dimensions above {p.n_tokens} are computed in the span of the tokens, which is exact. Ours, "
        f"not the paper's: {p.starts} starts instead of 1024, the same for all beta (seed {p.seed}), {len(betas)} "
        "values of beta instead of 90, steps held to a tolerance instead of Euler's 0.1, and the colours."
    )
