"""Many dimensions, paper B (arXiv:2305.05465): n = 128 tokens of R^128 in the eigenbasis of a symmetric V."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock import plot
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.papers.figures import emergence_draw as draw
from tokenflock.simulation import simulate
from tokenflock.start import cube


@dataclass(frozen=True)
class ManyDimensions:
    """What decides how the figure looks."""

    dim: int = 128
    n_tokens: int = 128
    half_width: float = 0.5
    density: float = 0.1
    radius: float = 2.15  # the largest |eigenvalue| before the small ones are replaced
    t_end: float = 15.0
    dt: float = 0.1
    frames: int = 61
    seed: int = 0


PARAMETERS = {"emergence/high-dimension": ManyDimensions()}
QUICK: dict[str, dict[str, Any]] = {"emergence/high-dimension": {"dim": 32, "n_tokens": 32}}
SAME_LEVEL = 1e-2  # tokens closer than this times the largest coordinate are at one level
LOWER, UPPER = plot.COLOURS["blue"], plot.COLOURS["red"]


def sparse_symmetric(dim: int, density: float, radius: float, seed: int) -> tuple[Array, Array, int]:
    """Eigenvalues (falling), eigenvectors as columns, and how many eigenvalues of modulus <= 1 became sign U(1, 2)."""
    generator = np.random.default_rng([seed, 3])
    entries = np.where(generator.random((dim, dim)) < density, generator.uniform(-1.0, 1.0, (dim, dim)), 0.0)
    lam, vectors = np.linalg.eigh(np.triu(entries) + np.triu(entries, 1).T)
    lam *= radius / np.abs(lam).max()
    small = np.abs(lam) <= 1
    lam = np.where(small, np.where(lam < 0, -1.0, 1.0) * generator.uniform(1.0, 2.0, dim), lam)
    order = np.argsort(-lam)
    return lam[order], vectors[:, order], int(small.sum())


def in_eigenbasis(lam: Array, start: Array, times: Array, dt: float) -> Array:
    """The tokens (time, n, d) in the eigenbasis, from a start in it.

    V is symmetric and Q = K = I, so that the system is the same there with a diagonal V. It must be run there: in the
    basis of V a coordinate of 1e10 would leave no digits to the small ones that decide who leads. And with a fixed
    step: an error allowed relative to the length of a token is no bound on its small coordinates.
    """
    model = Model(dim=len(lam), value=np.diag(lam), space="rescaled", mask="full")
    return simulate(model, start, float(times[-1]), times=times, scheme="rk4", dt=dt)["x"].values


def figure_high_dimension(p: ManyDimensions) -> plot.Figure:
    """Coordinates against time, the growth of those with negative eigenvalues, and the spread of all at the end."""
    lam, vectors, replaced = sparse_symmetric(p.dim, p.density, p.radius, p.seed)
    times = np.linspace(0.0, p.t_end, p.frames)
    y = in_eigenbasis(lam, cube(p.n_tokens, p.dim, p.half_width, seed=p.seed) @ vectors, times, p.dt)
    side = y[-1, :, 0] > 0
    positive = int((lam > 0).sum())
    figure = plot.page(4.3)
    for k, which in enumerate((0, positive // 2, positive - 1)):
        ax = figure.add_axes((0.07 + 0.32 * k, 0.62, 0.265, 0.29))
        for i in range(p.n_tokens):
            ax.plot(times, y[:, i, which], color=UPPER if side[i] else LOWER, lw=0.5, alpha=0.6)
        ax.set(xlim=(0, p.t_end), xlabel="time $t$", xticks=np.arange(0, p.t_end + 1, 5))
        ax.set_title(rf"coordinate {which + 1}: $\lambda$ = {lam[which]:.3f}", pad=3)
        ax.xaxis.labelpad = 1
        reach = 1.08 * float(np.abs(y[:, :, which]).max())
        ax.set(ylim=(-reach, reach), yticks=[-0.5, 0, 0.5])
        if k == 0:
            ax.set_ylabel(r"$\langle z_i, u_k \rangle$", labelpad=0)
    _growth(figure.add_axes((0.07, 0.18, 0.38, 0.285)), times, y, lam)
    _spread(figure.add_axes((0.575, 0.18, 0.4, 0.285)), y, lam, side)
    entries = [
        {"color": UPPER, "marker": "^", "ms": 3.5, "lw": 0.9, "label": "token that ends above 0 in coordinate 1"},
        {"color": LOWER, "marker": "v", "ms": 3.5, "lw": 0.9, "label": "below 0"},
        {"color": plot.COLOURS["green"], "lw": 1.2, "label": r"$\lambda_k > 0$"},
        {"color": plot.COLOURS["orange"], "lw": 1.2, "label": r"$\lambda_k < 0$"},
    ]
    plot.key(figure, (0.5, 0.035), entries, ncols=4, handletextpad=0.5)
    plot.letters(figure, {"a": (0.008, 0.965), "b": (0.008, 0.51), "c": (0.505, 0.51)})
    return plot.captioned(figure, _caption(p, y, lam, side, replaced))


def deviations(y: Array, side: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Median distance (d,) of the tokens y (n, d) from the median of their side, for the lower and the upper one."""
    found = []
    for mine in (~side, side):
        few = y[mine] if mine.any() else y[:1]
        found.append(np.median(np.abs(few - np.median(few, axis=0)), axis=0))
    return found[0], found[1]


def _growth(ax: plot.Axes, times: Array, y: Array, lam: Array) -> None:
    """The largest coordinate over all tokens, for every eigenvalue."""
    from matplotlib.collections import LineCollection

    top = np.abs(y).max(axis=1)
    for chosen, colour in ((lam < 0, plot.COLOURS["orange"]), (lam > 0, plot.COLOURS["green"])):
        lines = [np.column_stack([times, top[:, k]]) for k in np.flatnonzero(chosen)]
        ax.add_collection(LineCollection(lines, colors=colour, linewidths=0.5, alpha=0.7))
    high = int(np.ceil(np.log10(top.max())))
    draw.decades(ax, -2, high + (2 - high) % 4, 4)
    ax.set(xlim=(0, times[-1]), xlabel="time $t$", xticks=np.arange(0, times[-1] + 1, 5))
    ax.set_ylabel("largest coordinate", labelpad=1)


def _spread(ax: plot.Axes, y: Array, lam: Array, side: NDArray[np.bool_]) -> None:
    for values, colour, mark in zip(deviations(y[-1], side), (LOWER, UPPER), ("v", "^"), strict=True):
        ax.plot(lam, np.maximum(values, 1e-8), mark, color=colour, ms=2.6, mew=0, alpha=0.8)
    high = int(np.ceil(np.log10(np.abs(y[-1]).max())))
    draw.decades(ax, -8, high + -high % 4, 4)
    ax.axvline(0, color="black", lw=0.6)
    reach = 1.06 * float(np.abs(lam).max())
    ax.set(xlim=(-reach, reach), xticks=[-2, -1, 0, 1, 2], xlabel=r"eigenvalue $\lambda_k$")
    ax.set_ylabel("spread of a cluster", labelpad=1)


def _levels(one: Array, side: NDArray[np.bool_]) -> str:
    """Where the tokens of each side are in one coordinate: a median, and how many levels are still apart."""
    told = []
    for mine, words in ((~side, "below"), (side, "above")):
        values = np.sort(one[mine])
        if len(values):
            levels = 1 + int((np.diff(values) > SAME_LEVEL * np.abs(one).max()).sum())
            seen = (
                "at one level" if levels == 1 else f"still at {levels} levels from {values[0]:.3f} to {values[-1]:.3f}"
            )
            told.append(f"{seen}, median {np.median(values):.3f} ({len(values)} tokens {words} 0)")
    return " and ".join(told)


def _caption(p: ManyDimensions, y: Array, lam: Array, side: NDArray[np.bool_], replaced: int) -> str:
    gathered, loose = lam > 0, lam < 0
    low, high = deviations(y[-1], side)
    spread = np.maximum(low, high)
    one = y[-1, :, 0]
    return (
        f"High dimension, {draw.PAPER}: d = {len(lam)}, n = {p.n_tokens} tokens uniform on [-{p.half_width:g}, "
        f"{p.half_width:g}]^d, Q = K = I, rescaled, in the eigenbasis u_1, u_2, ... of V. V is a random symmetric "
        f"matrix of density {p.density:g} whose eigenvalues of modulus at most 1 ({replaced} of {len(lam)}) are "
        f"replaced by sign U(1, 2); {int(gathered.sum())} are positive, the largest is {lam[0]:.3f} and the least "
        f"{lam[-1]:.3f}. (a) Three coordinates of positive eigenvalues: tokens gather in steps, as leaders follow each "
        f"other. At t = {p.t_end:g} they are in the first {_levels(one, side)}. (b) The largest coordinate of a token, "
        f"one line an eigenvalue: at most {np.abs(y[-1][:, gathered]).max():.2f} at t = {p.t_end:g} for positive ones, "
        f"up to {np.abs(y[-1][:, loose]).max():.1e} for negative ones. (c) The spread of each side, the median "
        f"distance from its median: at most {spread[gathered].max():.1e} for positive eigenvalues, "
        f"{np.median(spread[gathered]):.1e} for the middle one of them, and at least {spread[loose].min():.1e} for "
        "negative ones. The authors': d = n = "
        "128, T = 15, dt = 0.1, the cube, the density and the replaced eigenvalues. Ours, not the paper's: the law of "
        f"the entries (uniform on [-1, 1], scaled to the spectral radius {p.radius:g}), the seeds (seed {p.seed}), "
        f"fourth-order Runge-Kutta with dt = {p.dt:g} (theirs is forward Euler), and panels (b) and (c)."
    )
