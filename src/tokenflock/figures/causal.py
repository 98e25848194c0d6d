"""Figures of paper A, Clustering in Causal Attention Masking (arXiv:2411.04990)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import plot
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
}
QUICK: dict[str, dict[str, Any]] = {"causal/2": {"frames": 61, "rtol": 1e-6}}
# Centers this close (radians) stand at one place; mergers end far below it.
SAME_PLACE = 0.05


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
