"""Drawing tokens on matplotlib Axes that the caller made. No run is started here, and matplotlib is imported late.

with plot.style(): around the making AND the saving of a figure; `save` does the second by itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tokenflock.errors import bad, unknown
from tokenflock.geometry import Array, angle

if TYPE_CHECKING:  # as plot.Axes and plot.Figure also the types of everything that draws
    from matplotlib.artist import Artist as Artist
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

    #: an entry of a legend: an Artist, or what a Line2D is made with
    Entry = dict[str, Any] | Artist
    #: a figure, what draws frame k on it, and the number of frames
    Movie = tuple[Figure, Callable[[int], None], int]

#: Okabe and Ito's colours, told apart by colour-blind readers and in print.
COLOURS = {
    "black": "#000000",
    "orange": "#e69f00",
    "sky": "#56b4e9",
    "green": "#009e73",
    "yellow": "#f0e442",
    "blue": "#0072b2",
    "red": "#d55e00",
    "purple": "#cc79a7",
    "grey": "#8c8c8c",
}
STRONG, ORDINARY = COLOURS["red"], COLOURS["black"]
INDEX_COLOURS = "viridis"  # even steps of lightness, safe for colour-blind readers
COLUMN, PAGE = 3.5, 7.2  # inches: one and two columns of a journal
FORMATS = ("pdf", "svg", "png")
DPI, MOVIE_DPI = 200, 150  # dots an inch

_SETTINGS: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["Liberation Sans", "Arial", "Helvetica", "DejaVu Sans"],
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "mathtext.fontset": "dejavusans",
    "lines.linewidth": 1.0,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "pdf.fonttype": 42,  # letters stay letters: editable and searchable
    "svg.fonttype": "path",  # a report must look the same where the font is missing
    "svg.hashsalt": "tokenflock",  # the same figure is the same file
}


@contextmanager
def style(**settings: Any) -> Iterator[None]:
    """The look of a journal's figure while the block lasts; settings are further rcParams."""
    import matplotlib as mpl
    from cycler import cycler

    order = ("blue", "red", "green", "orange", "purple", "sky", "black")
    look: Any = {**_SETTINGS, "axes.prop_cycle": cycler(color=[COLOURS[name] for name in order]), **settings}
    with mpl.rc_context(look):
        yield


def page(height: float, width: float = PAGE, **options: Any) -> Figure:
    """An empty Figure of this size, in inches; options: those of matplotlib's Figure."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), **{"dpi": DPI, **options})


def captioned(figure: Figure, words: str) -> Figure:
    """The figure with its caption, which every figure of a paper and of a claim carries."""
    figure.caption = words  # type: ignore[attr-defined]
    return figure


def square(figure: Figure, left: float, bottom: float, width: float) -> Axes:
    """Axes as high as they are wide, with their left lower corner and their width as parts of the figure's."""
    across, up = figure.get_size_inches()
    return figure.add_axes((left, bottom, width, width * across / up))


def key(figure: Figure, where: tuple[float, float], entries: Iterable[Entry], **look: Any) -> None:
    """One legend for the whole figure, around a point of it."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **entry) if isinstance(entry, dict) else entry for entry in entries]
    figure.legend(handles=handles, loc="center", bbox_to_anchor=where, **look)


def save(figure: Figure, folder: str | Path, stem: str, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write the figure in every format; without dates, so that the same figure gives the same bytes."""
    for name in formats:
        if name not in FORMATS:
            raise unknown("format", name, FORMATS)
    paths = [Path(folder) / f"{stem}.{name}" for name in formats]
    undated = {"pdf": {"CreationDate": None, "ModDate": None}, "svg": {"Date": None}, "png": {}}
    logging.getLogger("fontTools").setLevel(logging.ERROR)  # the dates inside a font are none of the user's business
    with style():
        for path, name in zip(paths, formats, strict=True):
            figure.savefig(path, dpi=DPI, metadata=undated[name])
    return paths


def circle_snapshot(
    ax: Axes,
    x: ArrayLike,
    strong: Iterable[int] = (),
    ordinary: Iterable[int] = (),
    *,
    title: str | None = None,
    colours: ArrayLike | None = None,
    size: float = 3.2,
    spacing: float = 0.034,
) -> None:
    """Tokens x (n, 2) on the unit circle, with strong centers in red and Renyi centers in black.

    Tokens that would cover each other are stacked towards the middle, at their true angles and in their order: the
    length of a stack is the size of a cluster, `spacing` a token. Centers stand on the circle and are stacked
    outwards: two on each other have merged. colours: a number for every token, its index if left out.
    """
    angles = angle(_plane(x))
    strong, ordinary = [int(k) for k in strong], [int(k) for k in ordinary]
    turn = np.linspace(0, 2 * np.pi, 361)
    ax.plot(np.cos(turn), np.sin(turn), color=COLOURS["grey"], lw=0.6, zorder=1)
    shade = np.arange(len(angles)) if colours is None else np.asarray(colours)
    level = _stacked(angles, 0.04)
    depth = 0.94 - level * min(spacing, 0.9 / max(1, level.max()))  # the longest stack still ends before the middle
    ax.scatter(depth * np.cos(angles), depth * np.sin(angles), c=shade, cmap=INDEX_COLOURS, s=size, lw=0, zorder=2)
    chosen = np.array([*strong, *(k for k in ordinary if k not in set(strong))], dtype=int)  # strong ones lowest
    height = 1 + 0.125 * _stacked(angles[chosen], 0.1)
    for k, token in enumerate(chosen):
        where = height[k] * np.cos(angles[token]), height[k] * np.sin(angles[token])
        ax.scatter(*where, **center_marker(token in set(strong), 8 * size), zorder=3 + k)
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    if title is not None:
        ax.set_title(title, pad=2)


def center_marker(strong: bool, size: float) -> dict[str, Any]:
    """How a center is drawn, for `scatter` and for legends: a red disc with a black rim, or a black disc."""
    return {
        "s": size,
        "color": STRONG if strong else ORDINARY,
        "edgecolors": ORDINARY,
        "linewidths": 0.7,
        "marker": "o",
    }


def center_legend(figure: Figure, where: tuple[float, float], columns: int = 3) -> None:
    """What the discs mean, in one line around the point `where` of the figure."""
    rows = (
        ("token", 2.6, shades(3)[1], "none"),
        ("Rényi center", 5.2, ORDINARY, ORDINARY),
        ("strong Rényi center", 5.2, STRONG, ORDINARY),
    )
    look = {"marker": "o", "ls": "", "mew": 0.7}
    discs = [{"label": word, "ms": size, "mfc": face, "mec": rim, **look} for word, size, face, rim in rows]
    key(figure, where, discs, ncols=columns, handletextpad=0.2)


def root_time(ax: Axes, ticks: Iterable[float]) -> None:
    """Time on the scale of its square root, with these numbers: most happens early."""
    ax.set_xscale("function", functions=(np.sqrt, np.square))
    ax.set_xticks(list(ticks), [f"{t:g}" for t in ticks])
    ax.set_xlabel("time $t$ (square-root scale)")


def index_bar(ax: Axes, n_tokens: int) -> None:
    """The colours of the tokens, first to last, as a bar that fills the Axes."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    bar = ax.figure.colorbar(ScalarMappable(Normalize(1, n_tokens), INDEX_COLOURS), cax=ax, ticks=[1, n_tokens])
    bar.set_label("token index", labelpad=-6)
    bar.outline.set_linewidth(0.4)


def letters(figure: Figure, where: dict[str, tuple[float, float]]) -> None:
    """Bold letters that name the panels, at points of the figure."""
    for letter, (left, top) in where.items():
        figure.text(left, top, letter, fontweight="bold", fontsize=10, va="center")


def angle_paths(
    ax: Axes,
    times: ArrayLike,
    x: ArrayLike,
    strong: Iterable[int] = (),
    ordinary: Iterable[int] = (),
    *,
    colours: ArrayLike | None = None,
    width: float = 0.4,
) -> None:
    """The angle of every token of x (time, n, 2) against time, unwrapped: a token that passes +-pi goes on beyond.

    The strip from -pi to pi is shown, and what leaves it on one side comes in on the other.
    """
    t, path = np.asarray(times, dtype=float), np.unwrap(angle(_plane(x, frames=True)), axis=0)
    if t.shape != path.shape[:1]:
        raise bad("times.shape", t.shape, f"({len(path)},), one time for every frame of x")
    strong, ordinary = {int(k) for k in strong}, {int(k) for k in ordinary}
    shade = shades(len(path.T) if colours is None else np.asarray(colours))
    centers = sorted(strong | ordinary)
    plain = [k for k in range(path.shape[1]) if k not in strong | ordinary]
    for k in [*plain, *centers]:
        look: dict[str, Any] = {"color": shade[k], "lw": width, "alpha": 0.7, "zorder": 2}
        if k in strong or k in ordinary:
            look = {"color": STRONG if k in strong else ORDINARY, "lw": 1.4, "zorder": 4 if k in strong else 3}
        for turns in _turns(path[:, k]):
            ax.plot(t, path[:, k] + 2 * np.pi * turns, solid_capstyle="round", **look)
    ax.set(xlim=(t[0], t[-1]), ylim=(-np.pi, np.pi))
    ax.set_yticks(np.pi * np.array([-1, -0.5, 0, 0.5, 1]), [r"$-\pi$", r"$-\pi/2$", "0", r"$\pi/2$", r"$\pi$"])


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

    path = np.asarray(x, dtype=float)
    if path.ndim != 3 or path.shape[-1] != 3 or not np.isfinite(path).all():
        raise bad("x.shape", path.shape, "(time, n, 3), finite", "These pictures are of the sphere: dim = 3.")
    shade = shades(path.shape[1] if colours is None else np.asarray(colours))
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


def eigenvalue_plane(
    ax: Axes, eigenvalues: ArrayLike, *, colour: str, size: float = 5.0, top: bool = True, disc: float | None = None
) -> None:
    """Eigenvalues in the complex plane, with the imaginary axis; the ones with the largest real part ringed."""
    lam = np.asarray(eigenvalues, dtype=complex).ravel()
    ax.axvline(0, color=COLOURS["black"], lw=0.7, zorder=1)
    ax.axhline(0, color="#d3d7dc", lw=0.5, zorder=0)
    ax.scatter(lam.real, lam.imag, s=size, color=colour, lw=0, zorder=2)
    if top:
        lead = lam[lam.real >= lam.real.max() - 1e-9 * np.abs(lam).max()]
        ax.scatter(lead.real, lead.imag, s=size * 5, facecolors=colour, edgecolors="black", linewidths=0.8, zorder=3)
    if disc is not None:
        turn = np.linspace(0, 2 * np.pi, 361)
        ax.plot(disc * np.cos(turn), disc * np.sin(turn), color=COLOURS["black"], lw=0.8, ls=(0, (4, 2)), zorder=4)
    ax.set_aspect("equal")


def shades(of: int | Array) -> Array:
    """Colours (n, 4) of n tokens by index, or of numbers by size."""
    from matplotlib import colormaps

    values = np.arange(of) if isinstance(of, int) else of
    span = np.ptp(values) or 1
    return np.asarray(colormaps[INDEX_COLOURS]((values - values.min()) / span))


def pale(colour: Any) -> Any:
    """The same colour far away: two thirds of the way to the paper."""
    from matplotlib.colors import to_rgb

    return tuple(0.35 * v + 0.65 * 0.96 for v in to_rgb(colour))


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


def _turns(path: Array) -> list[int]:
    """Whole turns to add so that every part of the path shows in [-pi, pi]."""
    low, high = (round(float(v) / (2 * np.pi)) for v in (path.min(), path.max()))
    return [-k for k in range(low, high + 1)]


def _stacked(angles: Array, width: float) -> Array:
    """The level of every token, in their order: the lowest on which nothing within width of its angle stands yet."""
    level = np.zeros(len(angles), dtype=int)
    for k in range(1, len(angles)):
        apart = np.abs((angles[:k] - angles[k] + np.pi) % (2 * np.pi) - np.pi)
        taken = np.unique(level[:k][apart < width])
        level[k] = np.argmin(np.append(taken == np.arange(len(taken)), False))
    return level


def _plane(x: ArrayLike, frames: bool = False) -> Array:
    array = np.asarray(x, dtype=float)
    if array.ndim != 2 + frames or array.shape[-1] != 2 or not np.isfinite(array).all():
        wanted = "(time, n, 2)" if frames else "(n, 2)"
        raise bad("x.shape", array.shape, f"{wanted}, finite", "These pictures are of the circle: dim = 2.")
    return array
