"""The unit sphere in R^3, drawn flat: what lies behind is thin and pale."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tokenflock.arguments import positive, real
from tokenflock.errors import bad
from tokenflock.geometry import Array
from tokenflock.plot import doors
from tokenflock.plot.colours import COLOURS, STRONG, pale, shades

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


def view(elevation: float, azimuth: float) -> Array:
    """The directions right, up and towards the reader, as rows, for an eye at these angles (degrees)."""
    e, a = np.radians(elevation), np.radians(azimuth)
    towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    return np.stack([right, np.cross(towards, right), towards])


def sphere(ax: Axes, eye: Array, subspace: ArrayLike | None = None) -> None:
    """The unit sphere seen from `eye` (see `view`), and on it the subspace spanned by the columns of an array (3, k).

    A plane is drawn as its great circle and a line as its axis; what lies behind is thin and broken.
    """
    from matplotlib.patches import Circle
    from matplotlib.patheffects import withStroke

    ax.add_patch(Circle((0, 0), 1, facecolor="#f3f4f6", edgecolor=COLOURS["grey"], lw=0.7, zorder=0))
    turn = np.linspace(0, 2 * np.pi, 181)
    around = np.stack([np.cos(turn), np.sin(turn)])
    axes = np.eye(3)
    for tilt in np.radians([0, 60, 120]):  # a few great circles, so that the disc reads as a ball
        across = np.cos(tilt) * axes[0] + np.sin(tilt) * axes[1]
        _on_sphere(
            ax, np.outer(around[0], across) + np.outer(around[1], axes[2]), eye, ("#d3d7dc", "#e4e6ea"), 0.4, 0.2
        )
    _on_sphere(ax, np.outer(around[0], axes[0]) + np.outer(around[1], axes[1]), eye, ("#d3d7dc", "#e4e6ea"), 0.4, 0.2)
    if subspace is not None:
        basis = np.linalg.qr(np.asarray(subspace, dtype=float))[0]
        green = COLOURS["green"]
        if basis.shape[1] == 2:
            _on_sphere(ax, (basis @ around).T, eye, (green, green), 1.6, 1.2, broken=True)
        else:
            end = eye @ basis[:, 0] * (1 if eye[2] @ basis[:, 0] >= 0 else -1)  # of the axis, the one in front
            ax.plot(*np.outer(end[:2], [-1, 1]), color=green, lw=1.0, ls=(0, (1, 1.6)), zorder=1)
            ax.plot(*np.outer(end[:2], [1, 1.25]), color=green, lw=1.6, zorder=5)
            for sign, name in ((1, r"$\xi$"), (-1, r"$-\xi$")):
                right, up = sign * 1.36 * end[:2]
                text = ax.text(right, up, name, color=green, fontsize=8, ha="center", va="center")
                text.set(zorder=7, path_effects=[withStroke(linewidth=2, foreground="white")])
    ax.set(xlim=(-1.06, 1.06), ylim=(-1.06, 1.06), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def sphere_paths(
    ax: Axes, x: ArrayLike, eye: Array, *, colours: ArrayLike | None = None, dots: float = 16.0
) -> list[Artist]:
    """Paths of tokens x (time, n, 3), coloured by index, with red discs where they end; pale and thin at the back."""
    from matplotlib.collections import LineCollection

    doors.axes(ax)
    advice = "These pictures are of the sphere: dim = 3."
    path = real("x", x, "(time, n, 3) finite numbers", advice=advice)
    if path.ndim != 3 or path.shape[-1] != 3 or not path.size:
        raise bad("x.shape", path.shape, "(time, n, 3), at least one token", advice)
    shade, dots = shades(doors.numbers("colours", colours, path.shape[1])), positive("dots", dots)
    eye = doors.eye(eye)
    right, up, depth = eye @ path[-1].T
    drawn: list[Artist] = []
    for front in (False, True):
        pieces, tint = [], []
        for k in range(path.shape[1]):
            mine = _pieces(path[:, k], eye, front)
            pieces += mine
            tint += [shade[k] if front else pale(shade[k])] * len(mine)
        lines = LineCollection(pieces, colors=tint, linewidths=0.75 if front else 0.4, zorder=4 if front else 1)
        lines.set_capstyle("round")
        chosen = (depth >= 0) == front
        # A rim, so that discs on each other can be counted.
        look: dict[str, Any] = {"c": [STRONG if front else pale(STRONG)], "edgecolors": "white", "linewidths": 0.4}
        discs = ax.scatter(right[chosen], up[chosen], s=dots, zorder=6 if front else 2, **look)
        drawn += [ax.add_collection(lines, autolim=False), discs]
    return drawn


def _on_sphere(
    ax: Axes, points: Array, eye: Array, colours: tuple[Any, Any], front: float, back: float, broken: bool = False
) -> None:
    """A curve on the sphere; its part behind may be broken."""
    for ahead in (False, True):
        look: dict[str, Any] = {"color": colours[0 if ahead else 1], "lw": front if ahead else back}
        if broken and not ahead:
            look["ls"] = (0, (3, 2))
        for piece in _pieces(points, eye, ahead):
            ax.plot(*piece.T, zorder=4 if ahead else 1, **look)


def _pieces(points: Array, eye: Array, front: bool) -> list[Array]:
    """What of a curve (m, 3) lies in front, or behind, as curves (k, 2) of the page that leave no gap at the rim."""
    seen = points @ eye.T
    before = seen[:, 2] >= 0
    cuts = np.flatnonzero(before[1:] != before[:-1]) + 1
    edges = [0, *cuts.tolist(), len(points)]
    return [seen[begin : end + 1, :2] for begin, end in pairwise(edges) if before[begin] == front]
