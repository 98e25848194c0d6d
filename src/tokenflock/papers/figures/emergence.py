"""Polytopes of paper B (arXiv:2305.05465, Theorem 3.1): V = I in two and three dimensions, still and in motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import polytope
from tokenflock.geometry import Array
from tokenflock.papers.figures import emergence_draw as draw
from tokenflock.start import cube


@dataclass(frozen=True)
class PlaneFigure(draw.Cube):
    """What decides how the figure in two dimensions looks."""

    t_limit: float = 40.0  # where e^-t has become rounding: what is called the limit
    snapshots: tuple[float, ...] = (0.0, 0.5, 1.0, 5.0)


@dataclass(frozen=True)
class SpaceFigure(PlaneFigure):
    """The same in three dimensions."""

    eye: tuple[float, float] = (22.0, 35.0)


PARAMETERS = {
    "emergence/polytope-2d": PlaneFigure(n_tokens=40, t_end=10.0, seed=1),
    "emergence/polytope-3d": SpaceFigure(n_tokens=40, t_end=10.0, snapshots=(0.0, 0.5, 5.0)),
}
QUICK: dict[str, dict[str, Any]] = {
    "emergence/polytope-2d": {"n_tokens": 20, "frames": 81},
    "emergence/polytope-3d": {"n_tokens": 24, "frames": 81},
}
HULL, LIMIT = plot.COLOURS["grey"], "#e9ecf2"


class Shrinking:
    """A run with V = I and what Theorem 3.1 speaks of: the limits, the polytope, and how far all is from them."""

    def __init__(self, p: PlaneFigure, times: Array) -> None:
        self.dim = 3 if isinstance(p, SpaceFigure) else 2
        start = cube(p.n_tokens, self.dim, p.half_width, seed=p.seed)
        z = draw.rescaled(np.eye(self.dim), start, np.append(times, p.t_limit))
        self.times, self.z, self.limit = times, z[:-1], z[-1]
        self.label = draw.places(self.limit)
        self.hull = polytope.hull(self.limit, draw.SAME_PLACE)
        self.shade = draw.colours(self.label)
        self.distance = np.linalg.norm(self.z - self.limit, axis=2)
        self.residual = polytope.residual(self.z, None, self.hull.vertices)

    @property
    def volume(self) -> Array:
        """The area, or volume, of the hull at every time."""
        from scipy.spatial import ConvexHull

        return np.array([ConvexHull(frame).volume for frame in self.z])

    @property
    def elsewhere(self) -> int:
        """How many tokens end at no vertex: at 0 or inside a face."""
        apart = np.linalg.norm(self.limit[:, None] - self.hull.vertices, axis=2).min(axis=1)
        return int((apart > draw.SAME_PLACE * np.abs(self.limit).max()).sum())


def figure_2d(p: PlaneFigure) -> plot.Figure:
    """Tokens in the plane at a few times inside their shrinking hull, and how fast they come to its corners."""
    run = Shrinking(p, draw.moments(p.t_end, p.frames, *p.snapshots))
    figure = plot.page(3.95)
    for t, ax in draw.snapshots(figure, p.snapshots, (0.055, 0.525, 0.205), 0.2405):
        _plane(ax, run, draw.at(run.times, t), p.half_width)
    _rates(figure, run, "area of the hull", (0.09, 0.36))
    _legend(figure, (0.5, 0.035))
    plot.letters(figure, {"a": (0.008, 0.965), "b": (0.008, 0.42), "c": (0.5, 0.42)})
    return plot.captioned(figure, _caption(run, p))


def figure_3d(p: SpaceFigure) -> plot.Figure:
    """The same in space: the hull at three times, edges at its back broken."""
    run = Shrinking(p, draw.moments(p.t_end, p.frames, *p.snapshots))
    look, figure = plot.view(*p.eye), plot.page(4.55)
    for t, ax in draw.snapshots(figure, p.snapshots, (0.006, 0.415, 0.325), 0.332, pad=-4):
        _space(ax, run, draw.at(run.times, t), p.half_width, look)
    _rates(figure, run, "volume of the hull", (0.09, 0.32))
    _legend(figure, (0.5, 0.03))
    plot.letters(figure, {"a": (0.008, 0.968), "b": (0.008, 0.375), "c": (0.5, 0.375)})
    return plot.captioned(figure, _caption(run, p))


def _plane(ax: plot.Axes, run: Shrinking, k: int, half_width: float) -> list[Any]:
    """Frame k: the hull now, the polytope of the limit, paths from the start, and tokens coloured by where they end."""
    draw.numbered(ax, 1.1 * half_width, half_width)
    draw.outline(ax, run.limit, "none", fill=LIMIT, zorder=0)
    moving = [draw.outline(ax, run.z[k], HULL, lw=1.0)]
    moving.append(draw.tracks(ax, run.z[: k + 1], run.shade))
    ax.plot(0, 0, "+", color="black", ms=4, mew=0.7, zorder=2)
    return [*moving, draw.discs(ax, run.z[k], run.shade, 11)]


def _space(ax: plot.Axes, run: Shrinking, k: int, half_width: float, look: Array) -> list[Any]:
    draw.square(ax, 1.72 * half_width)
    draw.box(ax, half_width, look)
    moving = draw.solid(ax, run.z[k], look, HULL)
    moving.append(draw.tracks(ax, run.z[: k + 1] @ look[:2].T, run.shade, width=0.8))
    # What is nearer to the reader is larger.
    depth = run.z[k] @ look[2] / half_width
    return [*moving, draw.discs(ax, run.z[k] @ look[:2].T, run.shade, 11 + 5 * depth)]


def _rates(figure: plot.Figure, run: Shrinking, measure: str, where: tuple[float, float]) -> None:
    """Distances from the limit, and the size of the hull, against time."""
    bottom, top = where[0] + 0.075, where[1] + 0.03
    left = figure.add_axes((0.085, bottom, 0.375, top - bottom))
    right = figure.add_axes((0.58, bottom, 0.4, top - bottom))
    for k, shade in enumerate(run.shade):
        left.plot(run.times, run.distance[:, k], color=shade, lw=0.7, alpha=0.8)
    late = run.times > 0.45 * run.times[-1]
    guide = 4 * run.distance.max(axis=1)[late][0] * np.exp(run.times[late][0] - run.times[late])
    left.plot(run.times[late], guide, color="black", lw=1.0, ls=(0, (4, 2)))
    left.text(run.times[late][-1], guide[-1] * 3, r"$\propto e^{-t}$", ha="right", va="bottom")
    draw.decades(left, int(np.floor(np.log10(run.distance[-1].max()) - 1)), 1, 2)
    left.set(xlim=(0, run.times[-1]), xlabel="time $t$", ylabel=r"$|z_i(t) - z_i(\infty)|$")
    volume = run.volume
    right.plot(run.times, volume, color=HULL, lw=1.4)
    right.axhline(volume[-1], color="black", lw=0.6, ls=(0, (1, 2)))
    right.set(xlim=(0, run.times[-1]), ylim=(0, 1.08 * volume[0]), xlabel="time $t$", ylabel=measure)


def _legend(figure: plot.Figure, where: tuple[float, float]) -> None:
    from matplotlib.patches import Patch

    words = "token and its path: a colour a limit"
    entries: list[plot.Entry] = [
        {"marker": "o", "color": draw.CYCLE[0], "ms": 4, "lw": 0.8, "label": words},
        {"color": HULL, "lw": 1.2, "label": "hull at time $t$"},
    ]
    if len(figure.axes) > 5:
        entries.append(Patch(facecolor=LIMIT, label="polytope of the limit"))
        entries.append({"marker": "+", "color": "black", "ls": "", "ms": 5, "label": "0"})
    plot.key(figure, where, entries, ncols=4, handletextpad=0.5)


def _caption(run: Shrinking, p: PlaneFigure) -> str:
    sizes = np.bincount(run.label)
    volume = run.volume
    shape = {2: "polygon", 3: "polyhedron"}[run.dim]
    inside = [bool(polytope.inside(b, polytope.hull(a)).all()) for a, b in zip(run.z, run.z[1:], strict=False)]
    where = "all at its vertices" if not run.elsewhere else f"{run.elsewhere} of them at no vertex of it"
    dots = (
        " Larger discs are nearer, edges at the back are broken; the box is the start's cube." if run.dim == 3 else ""
    )
    return (
        f"Theorem 3.1 of {draw.PAPER} with V = I, Q = K = I in dimension {run.dim}: n = {p.n_tokens} tokens, uniform "
        f"on [-{p.half_width:g}, {p.half_width:g}]^{run.dim}, rescaled as z_i = e^(-t) x_i. (a) The tokens at t = "
        f"{draw.listed(p.snapshots)}, their paths and their convex hull (grey); a token has the colour of the point it "
        f"tends to{' (there are seven colours)' * (len(sizes) > 7)}.{dots} (b) The distance of every token from its "
        f"limit: in the end it falls like e^(-t). (c) The {'area' if run.dim == 2 else 'volume'} of the hull, from "
        f"{volume[0]:.4g} to {volume[-1]:.4g}: the hull shrinks, "
        f"{'each kept one' if all(inside) else 'but not each kept one'} lies inside the one before. The limit is a "
        f"{shape} with {len(run.hull.vertices)} vertices; the tokens end at {len(sizes)} points, {where} "
        f"({sizes.min()} to {sizes.max()} tokens a point). The residual | |z|^2 - max_j <z, v_j> |, which is 0 on the "
        f"finite set of the theorem, is at most {run.residual[-1].max():.1e} at t = {run.times[-1]:g}. The authors': "
        "V, Q, K, the cube, T = 5 and (probably) n = 40; their published code has n = 20 and is forward Euler with dt "
        f"= 0.1. Ours, not the paper's: the start (seed {p.seed}), adaptive steps, times after 5, panels (b) and (c), "
        "and colours."
    )


def movie_2d(p: PlaneFigure) -> plot.Movie:
    """The plane in motion up to the last snapshot: a Figure, what draws frame k on it, and the number of frames."""
    run = Shrinking(p, draw.moments(max(p.snapshots), p.frames))
    figure = plot.page(3.7, 3.6, dpi=plot.MOVIE_DPI)
    ax = figure.add_axes((0.115, 0.1, 0.845, 0.82))
    return draw.motion(ax, run.times, lambda k: _plane(ax, run, k, p.half_width))


def movie_3d(p: SpaceFigure) -> plot.Movie:
    """SpaceFigure in motion; the eye goes a quarter of the way round."""
    run = Shrinking(p, draw.moments(max(p.snapshots), p.frames))
    figure = plot.page(4.0, 4.0, dpi=plot.MOVIE_DPI)
    ax = figure.add_axes((0.0, 0.0, 1.0, 0.95))

    def frame(k: int) -> None:
        turned = p.eye[1] + 90.0 * k / max(1, len(run.times) - 1)
        _space(ax, run, k, p.half_width, plot.view(p.eye[0], turned))

    return draw.motion(ax, run.times, frame)
