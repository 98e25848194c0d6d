"""Figures 2 and 4 of paper A (arXiv:2411.04990): tokens on the circle, and the function by which they attract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock import plot, theory
from tokenflock.analysis import clusters, positive, renyi
from tokenflock.geometry import distance
from tokenflock.model import Model
from tokenflock.simulation import simulate
from tokenflock.start import uniform


@dataclass(frozen=True)
class Circle:
    """What decides how Figure 2 looks."""

    n_tokens: int = 200
    beta: float = 64.0
    c: float = 4.0  # delta = c beta^(-1/2)
    snapshots: tuple[float, ...] = (0.0, 5.0, 75.0, 150.0)
    frames: int = 601
    rtol: float = 1e-8
    seed: int = 30  # one Renyi center merges between t = 75 and t = 150, as in the paper

    def __post_init__(self) -> None:
        for name in ("beta", "c"):  # delta is no number without them
            positive(name, getattr(self, name))


@dataclass(frozen=True)
class Interaction:
    """What decides how Figure 4 looks."""

    beta: float = 10.0
    points: int = 1001


PARAMETERS = {"causal/2": Circle(), "causal/4": Interaction()}
QUICK: dict[str, dict[str, Any]] = {"causal/2": {"frames": 61, "rtol": 1e-6}, "causal/4": {"points": 201}}
# Centers this close (radians) stand at one place; mergers end far below it.
SAME_PLACE = 0.05


def figure_2(p: Circle) -> plot.Figure:
    """Tokens, Renyi centers and strong Renyi centers on the circle at a few times, and all angles against time."""
    delta = p.c / np.sqrt(p.beta)
    start = uniform(p.n_tokens, dim=2, seed=p.seed)
    ordinary, strong = renyi.centers(start, delta), renyi.strong_centers(start, delta)
    t_end = p.snapshots[-1]
    # Even on the axis of the lower panel, which is the square root of time: most happens early.
    times = np.union1d(t_end * np.linspace(0, 1, p.frames) ** 2, p.snapshots)
    run = simulate(Model(dim=2, beta=p.beta), start, t_end, times=times, rtol=p.rtol)
    x = run["x"].values
    shown = x[np.searchsorted(times, p.snapshots)]
    places = clusters.count(shown[:, ordinary], SAME_PLACE)
    largest = max(np.bincount(clusters.label(now, SAME_PLACE)).max() for now in shown[1:])
    figure = plot.page(4.7)
    for k, (t, now) in enumerate(zip(p.snapshots, shown, strict=True)):
        ax = figure.add_axes((0.005 + 0.2475 * k, 0.55, 0.2475, 0.39))
        plot.circle_snapshot(ax, now, strong, ordinary, title=f"$t$ = {t:g}", spacing=0.85 / largest)
        ax.text(0, -1.27, f"Rényi centers at {places[k]} places", ha="center", va="top", fontsize=7.5)
    lower = figure.add_axes((0.075, 0.095, 0.825, 0.335))
    plot.angle_paths(lower, times, x, strong, ordinary)
    plot.root_time(lower, np.union1d(p.snapshots, [1, 20, 40, 100]))
    lower.set_ylabel("angle (rad)")
    for t in p.snapshots[1:-1]:
        lower.axvline(t, color=plot.COLOURS["grey"], lw=0.7, ls=(0, (4, 3)), zorder=1)
    bar = figure.add_axes((0.925, 0.095, 0.013, 0.335))
    plot.index_bar(bar, p.n_tokens)
    plot.center_legend(figure, (0.49, 0.5))
    plot.letters(figure, {"a": (0.012, 0.965), "b": (0.012, 0.465)})
    drift = float(distance(shown[-1][strong], start[strong]).max())
    groups = clusters.label(shown[-2], SAME_PLACE)
    led = {kind: len(np.unique(groups[index])) for kind, index in (("all", ordinary), ("strong", strong))}
    before, last = f"t = {p.snapshots[-2]:g}", f"t = {p.snapshots[-1]:g}"
    return plot.captioned(
        figure,
        f"Figure 2 of arXiv:2411.04990. Causal self-attention on the circle, Q = K = V = I, n = {p.n_tokens}, beta = "
        f"{p.beta:g}, delta = {p.c:g} beta^(-1/2) = {delta:g}. (a) Tokens, coloured by index. Of the {len(ordinary)} "
        f"Renyi centers (black and red) {len(strong)} are strong (red). Strong centers stand still (at the end none "
        f"is more than {drift:.0e} rad from its start) but lead only {led['strong']} of the {groups.max() + 1} "
        f"clusters at {before}. All Renyi centers together lead {led['all']}; they move and merge, and stand at "
        f"{places[-2]} places at {before} and at {places[-1]} at {last}. (b) The angle of every token against time; "
        f"broken lines mark the snapshots. Ours, not the paper's: the snapshots at t = 0 and 5, seed {p.seed} (for "
        "which one center vanishes between the last two snapshots), panel (b), the colours of the tokens, and the "
        "stacks: tokens at nearly the same angle are drawn inwards along the radius, the first outermost, and merged "
        "centers outwards. Only the angle is data.",
    )


def figure_4(p: Interaction) -> plot.Figure:
    """The interaction function h, its peak with both candidates for its place, and its derivative g."""
    tau, simple = float(theory.tau_star(p.beta)), p.beta**-0.5
    peak, beside = (float(theory.h(x, p.beta)) for x in (tau, simple))
    far, near = np.linspace(0, np.pi, p.points), np.linspace(0.84 * tau, 1.16 * tau, p.points)
    panels = (
        (far, theory.h, "$h(x)$", "the whole half turn"),
        (near, theory.h, "$h(x)$", "around the peak"),
        (far, theory.g, "$g(x) = dh/dx$", "the derivative"),
    )
    figure = plot.page(2.35)
    for k, (x, function, label, title) in enumerate(panels):
        ax = figure.add_axes((0.072 + 0.335 * k, 0.19, 0.235, 0.58))
        y = function(x, p.beta)
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
    middle.set_ylim(top=peak + 0.12 * np.ptp(theory.h(near, p.beta)))
    middle.plot([tau, simple], [peak, beside], "o", color="white", mec="black", ms=3.5, mew=0.8)
    for ax in figure.axes[:2]:
        low, high = ax.get_ylim()
        ax.set_yticks([t for t in ax.get_yticks() if low <= t <= high])
    figure.axes[2].set_ylim(-0.6, 1.05)
    figure.axes[2].set_yticks([-0.5, 0, 0.5, 1])
    figure.axes[2].axhline(0, color=plot.COLOURS["grey"], lw=0.6)
    lines = (
        {"color": plot.COLOURS["blue"], "lw": 1.6, "label": rf"$\beta$ = {p.beta:g}"},
        {"color": plot.COLOURS["red"], "label": rf"$x = \beta^{{-1/2}}$ = {simple:.4f}"},
        {"color": "black", "ls": (0, (3, 2)), "label": rf"$x = \tau^*$ = {tau:.4f}, the peak"},
    )
    plot.key(figure, (0.53, 0.945), lines, ncols=3, handletextpad=0.6)
    plot.letters(figure, {letter: (0.008 + 0.335 * k, 0.83) for k, letter in enumerate("abc")})
    return plot.captioned(
        figure,
        "Figure 4 of arXiv:2411.04990. The interaction function h(x) = exp(beta (cos x - 1)) sin x, with which two "
        f"tokens at an angle x attract each other on the circle, at beta = {p.beta:g}. (a) Red: x = beta^(-1/2) = "
        f"{simple:.4f}, as in the paper. Black: tau* = {tau:.4f}, where h is largest, h(tau*) = {peak:.5f}. (b) The "
        f"same around the peak: at the red line h is {beside:.5f}, lower by a part {1 - beside / peak:.1e}. For beta "
        f">= 1 tau* lies between (beta + 1/2)^(-1/2) = {(p.beta + 0.5) ** -0.5:.4f} and beta^(-1/2). (c) The "
        "derivative g = h': beyond tau* it is negative, and the attraction fades. Ours, not the paper's: tau*, and "
        "panels (b) and (c).",
    )


def movie_2(p: Circle) -> plot.Movie:
    """The circle in motion, and the angles up to now: a Figure, what draws frame k on it, the number of frames."""
    delta = p.c / np.sqrt(p.beta)
    start = uniform(p.n_tokens, dim=2, seed=p.seed)
    ordinary, strong = renyi.centers(start, delta), renyi.strong_centers(start, delta)
    times = p.snapshots[-1] * np.linspace(0, 1, p.frames) ** 2
    x = simulate(Model(dim=2, beta=p.beta), start, times[-1], times=times, rtol=p.rtol)["x"].values
    largest = np.bincount(clusters.label(x[-1], SAME_PLACE)).max()
    figure = plot.page(3.2, dpi=plot.MOVIE_DPI)
    left = figure.add_axes((0.025, 0.09, 0.40, 0.9))
    right = figure.add_axes((0.50, 0.17, 0.48, 0.75))
    plot.angle_paths(right, times, x, strong, ordinary)
    plot.root_time(right, [t for t in (0, 1, 5, 20, 40, 75, 100, 150) if t <= times[-1]])
    right.set_ylabel("angle (rad)")
    cover = right.axvspan(0, times[-1], color="white", lw=0, zorder=8)  # what has not happened yet
    plot.center_legend(figure, (0.225, 0.055))

    def draw(k: int) -> None:
        left.clear()
        plot.circle_snapshot(left, x[k], strong, ordinary, size=5, spacing=0.85 / largest)
        left.text(0, 0, f"$t$ = {times[k]:.1f}", ha="center", va="center", fontsize=9)
        cover.set_x(times[k])
        cover.set_width(times[-1] - times[k])

    return figure, draw, len(times)
