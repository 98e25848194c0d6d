"""Figures 2 and 4 of paper A (arXiv:2411.04990): tokens on the circle, and the function by which they attract."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import plot, theory
from tokenflock.analysis import clusters, renyi
from tokenflock.geometry import distance
from tokenflock.model import Model
from tokenflock.simulation import simulate
from tokenflock.start import uniform

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARAMETERS: dict[str, dict[str, Any]] = {
    "causal/2": {
        "n_tokens": 200,
        "beta": 64.0,
        "c": 4.0,  # delta = c beta^(-1/2)
        "snapshots": (0.0, 5.0, 75.0, 150.0),
        "frames": 601,
        "rtol": 1e-8,
        "seed": 30,  # one Renyi center merges between t = 75 and t = 150, as in the paper
    },
    "causal/4": {"beta": 10.0, "points": 1001},
}
QUICK: dict[str, dict[str, Any]] = {"causal/2": {"frames": 61, "rtol": 1e-6}, "causal/4": {"points": 201}}
# Centers this close (radians) stand at one place; mergers end far below it.
SAME_PLACE = 0.05
MOVIE_DPI = 150


def figure_2(
    n_tokens: int, beta: float, c: float, snapshots: tuple[float, ...], frames: int, rtol: float, seed: int
) -> Figure:
    """Tokens, Renyi centers and strong Renyi centers on the circle at a few times, and all angles against time."""
    from matplotlib.figure import Figure

    delta = c / np.sqrt(beta)
    start = uniform(n_tokens, dim=2, seed=seed)
    ordinary, strong = renyi.centers(start, delta), renyi.strong_centers(start, delta)
    t_end = snapshots[-1]
    # Even on the axis of the lower panel, which is the square root of time: most happens early.
    times = np.union1d(t_end * np.linspace(0, 1, frames) ** 2, snapshots)
    run = simulate(Model(dim=2, beta=beta), start, t_end, times=times, rtol=rtol)
    x = run["x"].values
    shown = x[np.searchsorted(times, snapshots)]
    places = clusters.count(shown[:, ordinary], SAME_PLACE)
    largest = max(np.bincount(clusters.label(now, SAME_PLACE)).max() for now in shown[1:])

    with plot.style():
        figure: Any = Figure(figsize=(plot.PAGE, 4.7), dpi=plot.DPI)
        for k, (t, now) in enumerate(zip(snapshots, shown, strict=True)):
            ax = figure.add_axes((0.005 + 0.2475 * k, 0.55, 0.2475, 0.39))
            plot.circle_snapshot(ax, now, strong, ordinary, title=f"$t$ = {t:g}", spacing=0.85 / largest)
            ax.text(0, -1.27, f"Rényi centers at {places[k]} places", ha="center", va="top", fontsize=7.5)
        lower = figure.add_axes((0.075, 0.095, 0.825, 0.335))
        plot.angle_paths(lower, times, x, strong, ordinary)
        lower.set_xscale("function", functions=(np.sqrt, np.square))
        ticks = np.union1d(snapshots, [1, 20, 40, 100])
        lower.set_xticks(ticks, [f"{t:g}" for t in ticks])
        lower.set(xlabel="time $t$ (square-root scale)", ylabel="angle (rad)")
        for t in snapshots[1:-1]:
            lower.axvline(t, color=plot.COLOURS["grey"], lw=0.7, ls=(0, (4, 3)), zorder=1)
        bar = figure.add_axes((0.925, 0.095, 0.013, 0.335))
        plot.index_bar(bar, n_tokens)
        plot.center_legend(figure, (0.49, 0.5))
        plot.letters(figure, {"a": (0.012, 0.965), "b": (0.012, 0.465)})
    drift = float(distance(shown[-1][strong], start[strong]).max())
    groups = clusters.label(shown[-2], SAME_PLACE)
    led = {kind: len(np.unique(groups[index])) for kind, index in (("all", ordinary), ("strong", strong))}
    before, last = f"t = {snapshots[-2]:g}", f"t = {snapshots[-1]:g}"
    figure.caption = (
        f"Figure 2 of arXiv:2411.04990. Causal self-attention on the circle, Q = K = V = I, n = {n_tokens}, "
        f"beta = {beta:g}, delta = {c:g} beta^(-1/2) = {delta:g}. (a) Tokens, coloured by index. "
        f"Of the {len(ordinary)} Renyi centers (black and red) {len(strong)} are strong (red). "
        f"Strong centers stand still (at the end none is more than {drift:.0e} rad from its start) "
        f"but lead only {led['strong']} of the {groups.max() + 1} clusters at {before}. "
        f"All Renyi centers together lead {led['all']}; they move and merge, "
        f"and stand at {places[-2]} places at {before} and at {places[-1]} at {last}. "
        f"(b) The angle of every token against time; broken lines mark the snapshots. "
        f"Ours, not the paper's: the snapshots at t = 0 and 5, seed {seed} (for which one center vanishes between the "
        "last two snapshots), panel (b), the colours of the tokens, and the stacks: tokens at nearly the same angle "
        "are drawn inwards along the radius, the first outermost, and merged centers outwards. Only the angle is data."
    )
    return figure


def figure_4(beta: float, points: int) -> Figure:
    """The interaction function h, its peak with both candidates for its place, and its derivative g."""
    from matplotlib.figure import Figure

    tau, simple = float(theory.tau_star(beta)), beta**-0.5
    peak, beside = (float(theory.h(x, beta)) for x in (tau, simple))
    far, near = np.linspace(0, np.pi, points), np.linspace(0.84 * tau, 1.16 * tau, points)
    panels = (
        (far, theory.h, "$h(x)$", "the whole half turn"),
        (near, theory.h, "$h(x)$", "around the peak"),
        (far, theory.g, "$g(x) = dh/dx$", "the derivative"),
    )
    with plot.style():
        figure: Any = Figure(figsize=(plot.PAGE, 2.35), dpi=plot.DPI)
        for k, (x, function, label, title) in enumerate(panels):
            ax = figure.add_axes((0.072 + 0.335 * k, 0.19, 0.235, 0.58))
            y = function(x, beta)
            ax.plot(x, y, color=plot.COLOURS["blue"], lw=1.6 if k < 2 else 0.9)
            ax.axvline(simple, color=plot.COLOURS["red"], lw=1.0)
            ax.axvline(tau, color="black", lw=1.0, ls=(0, (3, 2)))
            ax.set(xlim=(x[0], x[-1]), xlabel="angle $x$ (rad)", title=title)
            ax.set_ylabel(label, labelpad=2)
            if k != 1:
                ax.set_xticks(np.pi * np.array([0, 0.25, 0.5, 0.75, 1]), ["0", "π/4", "π/2", "3π/4", "π"])
            else:
                ax.set_xticks(np.round(tau * np.array([0.9, 1.0, 1.1]), 2))
        figure.axes[0].set_ylim(0, 1.1 * peak)
        middle = figure.axes[1]
        middle.set_ylim(top=peak + 0.12 * np.ptp(theory.h(near, beta)))
        middle.plot([tau, simple], [peak, beside], "o", color="white", mec="black", ms=3.5, mew=0.8)
        for ax in figure.axes[:2]:
            low, high = ax.get_ylim()
            ax.set_yticks([t for t in ax.get_yticks() if low <= t <= high])
        figure.axes[2].set_ylim(-0.6, 1.05)
        figure.axes[2].set_yticks([-0.5, 0, 0.5, 1])
        figure.axes[2].axhline(0, color=plot.COLOURS["grey"], lw=0.6)
        _lines_4(figure, beta, tau, simple)
        plot.letters(figure, {letter: (0.008 + 0.335 * k, 0.83) for k, letter in enumerate("abc")})
    figure.caption = (
        f"Figure 4 of arXiv:2411.04990. The interaction function h(x) = exp(beta (cos x - 1)) sin x, with which two "
        f"tokens at an angle x attract each other on the circle, at beta = {beta:g}. (a) Red: x = beta^(-1/2) = "
        f"{simple:.4f}, as in the paper. Black: tau* = {tau:.4f}, where h is largest, h(tau*) = {peak:.5f}. "
        f"(b) The same around the peak: at the red line h is {beside:.5f}, lower by a part {1 - beside / peak:.1e}. "
        "For beta >= 1 tau* lies between (beta + 1/2)^(-1/2) = "
        f"{(beta + 0.5) ** -0.5:.4f} and beta^(-1/2). (c) The derivative g = h': beyond tau* it is negative, and the "
        "attraction fades. Ours, not the paper's: tau*, and panels (b) and (c)."
    )
    return figure


def _lines_4(figure: Any, beta: float, tau: float, simple: float) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=plot.COLOURS["blue"], lw=1.6, label=rf"$\beta$ = {beta:g}"),
        Line2D([], [], color=plot.COLOURS["red"], lw=1.0, label=rf"$x = \beta^{{-1/2}}$ = {simple:.4f}"),
        Line2D([], [], color="black", lw=1.0, ls=(0, (3, 2)), label=rf"$x = \tau^*$ = {tau:.4f}, the peak"),
    ]
    figure.legend(handles=handles, loc="center", bbox_to_anchor=(0.53, 0.945), ncols=3, handletextpad=0.6)


def movie_2(
    n_tokens: int, beta: float, c: float, snapshots: tuple[float, ...], frames: int, rtol: float, seed: int
) -> tuple[Figure, Callable[[int], None], int]:
    """The circle in motion, and the angles up to now: a Figure, what draws frame k on it, the number of frames."""
    from matplotlib.figure import Figure

    delta = c / np.sqrt(beta)
    start = uniform(n_tokens, dim=2, seed=seed)
    ordinary, strong = renyi.centers(start, delta), renyi.strong_centers(start, delta)
    times = snapshots[-1] * np.linspace(0, 1, frames) ** 2
    x = simulate(Model(dim=2, beta=beta), start, times[-1], times=times, rtol=rtol)["x"].values
    largest = np.bincount(clusters.label(x[-1], SAME_PLACE)).max()
    figure = Figure(figsize=(plot.PAGE, 3.2), dpi=MOVIE_DPI)
    left = figure.add_axes((0.025, 0.09, 0.40, 0.9))
    right = figure.add_axes((0.50, 0.17, 0.48, 0.75))
    plot.angle_paths(right, times, x, strong, ordinary)
    right.set_xscale("function", functions=(np.sqrt, np.square))
    ticks = [t for t in (0, 1, 5, 20, 40, 75, 100, 150) if t <= times[-1]]
    right.set_xticks(ticks, [f"{t:g}" for t in ticks])
    right.set(xlabel="time $t$ (square-root scale)", ylabel="angle (rad)")
    cover = right.axvspan(0, times[-1], color="white", lw=0, zorder=8)  # what has not happened yet
    plot.center_legend(figure, (0.225, 0.055))

    def draw(k: int) -> None:
        left.clear()
        plot.circle_snapshot(left, x[k], strong, ordinary, size=5, spacing=0.85 / largest)
        left.text(0, 0, f"$t$ = {times[k]:.1f}", ha="center", va="center", fontsize=9)
        cover.set_x(times[k])
        cover.set_width(times[-1] - times[k])

    return figure, draw, len(times)
