"""Polytopes of paper B (arXiv:2305.05465, Theorem 3.1): V = I in two and three dimensions, still and in motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import polytope
from tokenflock.figures import emergence_draw as draw
from tokenflock.geometry import Array
from tokenflock.start import cube

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BOTH: dict[str, Any] = {
    "n_tokens": 40,
    "half_width": 5.0,
    "t_end": 10.0,
    "t_limit": 40.0,  # where e^-t has become rounding: what is called the limit
    "frames": 201,
}
PARAMETERS: dict[str, dict[str, Any]] = {
    "emergence/polytope-2d": {**_BOTH, "snapshots": (0.0, 0.5, 1.0, 5.0), "seed": 1},
    "emergence/polytope-3d": {**_BOTH, "snapshots": (0.0, 0.5, 5.0), "eye": (22.0, 35.0), "seed": 0},
}
QUICK: dict[str, dict[str, Any]] = {
    "emergence/polytope-2d": {"n_tokens": 20, "frames": 81},
    "emergence/polytope-3d": {"n_tokens": 24, "frames": 81},
}
MOVIE_DPI = 150
HULL, LIMIT = plot.COLOURS["grey"], "#e9ecf2"


class Shrinking:
    """A run with V = I and what Theorem 3.1 speaks of: the limits, the polytope, and how far all is from them."""

    def __init__(
        self, dim: int, n_tokens: int, half_width: float, t_end: float, t_limit: float, frames: int, seed: int,
        more: tuple[float, ...] = (),
    ) -> None:  # fmt: skip
        times = draw.moments(t_end, frames, *more)
        start = cube(n_tokens, dim, half_width, seed=seed)
        z = draw.rescaled(np.eye(dim), start, np.append(times, t_limit))
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


def figure_2d(
    n_tokens: int,
    half_width: float,
    t_end: float,
    t_limit: float,
    frames: int,
    snapshots: tuple[float, ...],
    seed: int,
) -> Figure:
    """Tokens in the plane at a few times inside their shrinking hull, and how fast they come to its corners."""
    from matplotlib.figure import Figure

    run = Shrinking(2, n_tokens, half_width, t_end, t_limit, frames, seed, snapshots)
    height = 3.95
    with plot.style():
        figure: Any = Figure(figsize=(plot.PAGE, height), dpi=plot.DPI)
        width = 0.205
        for k, t in enumerate(snapshots):
            ax = figure.add_axes((0.055 + 0.2405 * k, 0.525, width, width * plot.PAGE / height))
            _plane(ax, run, draw.at(run.times, t), half_width)
            ax.set_title(f"$t$ = {t:g}", pad=3)
            if k:
                ax.set(ylabel="", yticklabels=[])
        _rates(figure, run, "area of the hull", (0.09, 0.36))
        _legend(figure, (0.5, 0.035))
        plot.letters(figure, {"a": (0.008, 0.965), "b": (0.008, 0.42), "c": (0.5, 0.42)})
    figure.caption = _caption(run, 2, n_tokens, half_width, seed, snapshots)
    return figure


def figure_3d(
    n_tokens: int,
    half_width: float,
    t_end: float,
    t_limit: float,
    frames: int,
    snapshots: tuple[float, ...],
    eye: tuple[float, float],
    seed: int,
) -> Figure:
    """The same in space: the hull at three times, edges at its back broken."""
    from matplotlib.figure import Figure

    run = Shrinking(3, n_tokens, half_width, t_end, t_limit, frames, seed, snapshots)
    look, height = plot.view(*eye), 4.55
    with plot.style():
        figure: Any = Figure(figsize=(plot.PAGE, height), dpi=plot.DPI)
        width = 0.325
        for k, t in enumerate(snapshots):
            ax = figure.add_axes((0.006 + 0.332 * k, 0.415, width, width * plot.PAGE / height))
            _space(ax, run, draw.at(run.times, t), half_width, look)
            ax.set_title(f"$t$ = {t:g}", pad=-4)
        _rates(figure, run, "volume of the hull", (0.09, 0.32))
        _legend(figure, (0.5, 0.03))
        plot.letters(figure, {"a": (0.008, 0.968), "b": (0.008, 0.375), "c": (0.5, 0.375)})
    figure.caption = _caption(run, 3, n_tokens, half_width, seed, snapshots)
    return figure


def _plane(ax: Any, run: Shrinking, k: int, half_width: float) -> list[Any]:
    """Frame k: the hull now, the polytope of the limit, paths from the start, and tokens coloured by where they end."""
    draw.numbered(ax, 1.1 * half_width, half_width)
    draw.outline(ax, run.limit, "none", fill=LIMIT, zorder=0)
    moving = [draw.outline(ax, run.z[k], HULL, lw=1.0)]
    moving.append(draw.tracks(ax, run.z[: k + 1], run.shade))
    ax.plot(0, 0, "+", color="black", ms=4, mew=0.7, zorder=2)
    return [*moving, draw.discs(ax, run.z[k], run.shade, 11)]


def _space(ax: Any, run: Shrinking, k: int, half_width: float, look: Array) -> list[Any]:
    draw.square(ax, 1.72 * half_width)
    draw.box(ax, half_width, look)
    moving = draw.solid(ax, run.z[k], look, HULL)
    moving.append(draw.tracks(ax, run.z[: k + 1] @ look[:2].T, run.shade, width=0.8))
    # What is nearer to the reader is larger.
    depth = run.z[k] @ look[2] / half_width
    return [*moving, draw.discs(ax, run.z[k] @ look[:2].T, run.shade, 11 + 5 * depth)]


def _rates(figure: Any, run: Shrinking, measure: str, where: tuple[float, float]) -> None:
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


def _legend(figure: Any, where: tuple[float, float]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], marker="o", color=draw.CYCLE[0], ms=4, lw=0.8, label="token and its path: a colour a limit"),
        Line2D([], [], color=HULL, lw=1.2, label="hull at time $t$"),
    ]
    if len(figure.axes) > 5:
        handles.append(Patch(facecolor=LIMIT, label="polytope of the limit"))
        handles.append(Line2D([], [], marker="+", color="black", ls="", ms=5, label="0"))
    figure.legend(handles=handles, loc="center", bbox_to_anchor=where, ncols=4, handletextpad=0.5)


def _caption(
    run: Shrinking, dim: int, n_tokens: int, half_width: float, seed: int, snapshots: tuple[float, ...]
) -> str:
    sizes = np.bincount(run.label)
    volume = run.volume
    shape = {2: "polygon", 3: "polyhedron"}[dim]
    inside = [bool(polytope.inside(b, polytope.hull(a)).all()) for a, b in zip(run.z, run.z[1:], strict=False)]
    where = "all at its vertices" if not run.elsewhere else f"{run.elsewhere} of them at no vertex of it"
    dots = " Larger discs are nearer, edges at the back are broken; the box is the start's cube." if dim == 3 else ""
    return (
        f"Theorem 3.1 of {draw.PAPER} with V = I, Q = K = I in dimension {dim}: n = {n_tokens} tokens, uniform on "
        f"[-{half_width:g}, {half_width:g}]^{dim}, rescaled as z_i = e^(-t) x_i. (a) The tokens at t = "
        f"{draw.listed(snapshots)}, their paths and their convex hull (grey); a token has the colour of the point it "
        f"tends to{' (there are seven colours)' * (len(sizes) > 7)}.{dots} (b) The distance of every token from its "
        f"limit: in the end it falls like e^(-t). (c) The {'area' if dim == 2 else 'volume'} of the hull, from "
        f"{volume[0]:.4g} to {volume[-1]:.4g}: the hull shrinks, "
        f"{'each kept one' if all(inside) else 'but not each kept one'} lies inside the one before. The limit is a "
        f"{shape} with {len(run.hull.vertices)} vertices; the tokens end at {len(sizes)} points, {where} "
        f"({sizes.min()} to {sizes.max()} tokens a point). The residual | |z|^2 - max_j <z, v_j> |, which is 0 on the "
        f"finite set of the theorem, is at most {run.residual[-1].max():.1e} at t = {run.times[-1]:g}. The authors': "
        f"V, Q, K, the cube, T = 5 and (probably) n = 40; their published code has n = 20 and is forward Euler with dt "
        f"= 0.1. Ours, not the paper's: the start (seed {seed}), adaptive steps, times after 5, panels (b) and (c), "
        f"and colours."
    )


def movie_2d(
    n_tokens: int, half_width: float, t_limit: float, frames: int, snapshots: tuple[float, ...], seed: int, **_: Any
) -> tuple[Figure, Callable[[int], None], int]:
    """The plane in motion up to the last snapshot: a Figure, what draws frame k on it, and the number of frames."""
    from matplotlib.figure import Figure

    run = Shrinking(2, n_tokens, half_width, max(snapshots), t_limit, frames, seed)
    figure = Figure(figsize=(3.6, 3.7), dpi=MOVIE_DPI)
    ax = figure.add_axes((0.115, 0.1, 0.845, 0.82))
    return figure, _motion(ax, run, lambda k: _plane(ax, run, k, half_width)), len(run.times)


def movie_3d(
    n_tokens: int,
    half_width: float,
    t_limit: float,
    frames: int,
    snapshots: tuple[float, ...],
    eye: tuple[float, float],
    seed: int,
    **_: Any,
) -> tuple[Figure, Callable[[int], None], int]:
    """Space in motion; the eye goes a quarter of the way round."""
    from matplotlib.figure import Figure

    run = Shrinking(3, n_tokens, half_width, max(snapshots), t_limit, frames, seed)
    figure = Figure(figsize=(4.0, 4.0), dpi=MOVIE_DPI)
    ax = figure.add_axes((0.0, 0.0, 1.0, 0.95))

    def frame(k: int) -> None:
        turned = eye[1] + 90.0 * k / max(1, len(run.times) - 1)
        _space(ax, run, k, half_width, plot.view(eye[0], turned))

    return figure, _motion(ax, run, frame), len(run.times)


def _motion(ax: Any, run: Shrinking, frame: Callable[[int], Any]) -> Callable[[int], None]:
    def drawn(k: int) -> None:
        ax.clear()
        frame(k)
        ax.set_title(f"$t$ = {run.times[k]:.2f}", pad=2)

    return drawn
