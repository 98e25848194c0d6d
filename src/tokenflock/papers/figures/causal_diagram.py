"""Where Q'K = diag(p, w) overcomes V = diag(1, r): basin shares beside the boundary that balls prove.

The scalar condition, its proof and the boxes are in `papers/claims/causal/rests.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.errors import MissingExtra
from tokenflock.geometry import Array, distance
from tokenflock.model import Model
from tokenflock.papers import layout
from tokenflock.papers.claims.causal import rests
from tokenflock.simulation import simulate
from tokenflock.start import uniform

OFF = 0.02  # radians: a token farther from both poles at the end counts as elsewhere
POLE = np.array([1.0, 0.0])


@dataclass(frozen=True)
class Diagram:
    """What decides how the diagram looks."""

    ratios: tuple[float, ...] = (0.2, 0.5, 0.8)
    first: tuple[float, float] = (-1.5, 2.5)
    own: tuple[float, float] = (-1.0, 10.0)
    points: tuple[int, int] = (12, 14)
    n_tokens: int = 8
    starts: int = 32
    t_end: float = 300.0
    depth: int = 9
    seed: int = 0


PARAMETERS = {"causal/diagram": Diagram()}
QUICK: dict[str, dict[str, Any]] = {
    "causal/diagram": {"ratios": (0.5,), "points": (6, 7), "n_tokens": 4, "starts": 8, "depth": 6, "t_end": 100.0}
}


def share(p: float, w: float, ratio: float, d: Diagram) -> float:
    """The share of uniform starts of which a token ends off both poles."""
    model = Model(dim=2, key=np.diag([p, w]), value=np.diag([1.0, ratio]))
    starts = uniform(n_tokens=d.n_tokens, dim=2, seed=d.seed, runs=d.starts)
    x = simulate(model, starts, d.t_end, times=[d.t_end], progress=False)["x"].values[:, -1]
    off = np.minimum(distance(x, POLE), distance(x, -POLE))
    return float((off > OFF).any(axis=-1).mean())


def figure_diagram(d: Diagram) -> plot.Figure:
    """A panel for every r: measured shares, the boundary of two tokens, and that of several at xi."""
    p, w = (np.linspace(*ends, k) for ends, k in zip((d.first, d.own), d.points, strict=True))
    figure, axes = layout.row(len(d.ratios), 2.9, sharey=True)
    areas = []
    for ax, ratio in zip(axes, d.ratios, strict=True):
        shares = np.array([[share(a, b, ratio, d) for a in p] for b in w])
        mesh = ax.pcolormesh(p, w, shares, cmap="Reds", vmin=0, vmax=1, shading="nearest")
        _safe(ax, d)
        areas.append(_proved(ax, ratio, d))
        fine = np.linspace(*d.first, 161), np.linspace(*d.own, 161)
        inside = _any_number(fine[0], fine[1], ratio, d.n_tokens - 1)
        ax.contour(*fine, inside, levels=[0.5], colors=[plot.COLOURS["black"]], linewidths=0.9, linestyles="--")
        ax.set_xticks(np.arange(np.ceil(d.first[0]), d.first[1] + 1e-9))
        ax.set(xlim=d.first, ylim=d.own, xlabel="$p$", title=f"$V$ = diag(1, {ratio:g})")
    axes[0].set_ylabel("$w$ in $Q^TK$ = diag($p$, $w$)")
    figure.colorbar(mesh, ax=axes[-1], label="share of starts that end off $\\pm\\xi$")
    return plot.captioned(figure, _caption(d, areas))


def _safe(ax: plot.Axes, d: Diagram) -> None:
    """w <= max(p, 0), hatched: there the theorem says that nothing rests elsewhere."""
    right, bottom = d.first[1], d.own[0]
    look: dict[str, Any] = {"facecolor": "none", "edgecolor": plot.COLOURS["green"], "hatch": "////", "lw": 0.0}
    ax.fill([d.first[0], 0, right, right, d.first[0]], [0, 0, right, bottom, bottom], **look)


def _proved(ax: plot.Axes, ratio: float, d: Diagram) -> float | None:
    """The boxes that balls leave open, in blue; gives their share of the area. Without balls, the line alone."""
    try:
        boxes = list(rests.boundary(ratio, d.first, d.own, d.depth))
    except MissingExtra:
        p, w = np.linspace(*d.first, 161), np.linspace(*d.own, 161)
        ax.contour(p, w, _any_number(p, w, ratio, 1), levels=[0.5], colors=[plot.COLOURS["blue"]])
        return None
    open_ = [box for box in boxes if box[4] is None]
    for left, right, low, high, _ in open_:
        ax.fill([left, right, right, left], [low, low, high, high], color=plot.COLOURS["blue"], lw=0.6)
    area = (d.first[1] - d.first[0]) * (d.own[1] - d.own[0])
    return sum((right - left) * (high - low) for left, right, low, high, _ in open_) / area


def _any_number(p: Array, w: Array, ratio: float, most: int) -> Array:
    """Whether a stable place exists behind 1, 2, ... or so many tokens at xi."""
    return np.array([[any(rests.tells(a, b, ratio, m) for m in range(1, most + 1)) for a in p] for b in w], dtype=float)


def _caption(d: Diagram, areas: list[float | None]) -> str:
    strip = (
        f"decided by ball arithmetic but for a strip of {max(a for a in areas if a is not None):.1%} of the area"
        if None not in areas
        else "in floating point, without python-flint"
    )
    return (
        f"Where Q and K overcome V (Conjecture 1 of arXiv:2411.04990). Colour: the share of {d.starts} starts of "
        f"{d.n_tokens} uniform tokens, d = 2, seed {d.seed}, of which one is {OFF:g} rad or more off both poles at t = "
        f"{d.t_end:g} (slow ones near the line count too). Blue: on its upper left the second of two has a stable "
        f"rest off both poles, elsewhere it has none; {strip}. Broken: the same behind 1 to {d.n_tokens - 1} tokens at "
        "xi. Hatched: Conjecture 1 is proved for any number of tokens. Ours, not the paper's: all of it; the paper has "
        "no such figure."
    )
