"""Drawing tokens on matplotlib Axes that the caller made. No run is started here, and matplotlib is imported late.

with plot.style(): around the making AND the saving of a figure; `save` does the second by itself.

Whole figures: runs.py draws a trajectory and films it, tables.py the law in the table of a sweep, barcodes.py how the
number of clusters depends on the radius; films.py writes .gif and .mp4.
"""

from __future__ import annotations

import importlib
import io
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tokenflock.arguments import instance, named, path, positive, real
from tokenflock.errors import FileError, bad
from tokenflock.geometry import Array, angle
from tokenflock.plot import doors
from tokenflock.plot.colours import COLOURS as COLOURS
from tokenflock.plot.colours import INDEX_COLOURS as INDEX_COLOURS
from tokenflock.plot.colours import ORDINARY as ORDINARY
from tokenflock.plot.colours import STRONG as STRONG
from tokenflock.plot.colours import pale as pale
from tokenflock.plot.colours import shades as shades
from tokenflock.plot.spheres import sphere as sphere
from tokenflock.plot.spheres import sphere_paths as sphere_paths
from tokenflock.plot.spheres import view as view
from tokenflock.store import write_files

if TYPE_CHECKING:  # as plot.Axes and plot.Figure also the types of everything that draws
    from matplotlib.artist import Artist as Artist
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

    #: an entry of a legend: an Artist, or what a Line2D is made with
    Entry = dict[str, Any] | Artist
    #: a figure, what draws frame k on it, and the number of frames
    Movie = tuple[Figure, Callable[[int], None], int]

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


#: whole figures -> the file here that draws them
_LATE = {"animate": "runs", "draw": "runs", "law": "tables", "persistence": "barcodes"}
__all__ = ["angle_paths", "animate", "circle_snapshot", "draw", "law", "persistence", "save", "sphere_paths", "style"]


def __getattr__(name: str) -> Any:
    if name in _LATE:  # they draw with what stands here
        return getattr(importlib.import_module(f"tokenflock.plot.{_LATE[name]}"), name)
    raise AttributeError(f"module 'tokenflock.plot' has no attribute {name!r}")


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
    """Write the figure in every format, or in none; without dates, so that the same figure gives the same bytes."""
    from matplotlib.figure import Figure

    instance("figure", figure, Figure, "a matplotlib Figure", "flock.plot.draw(run) makes one.")
    where = path("folder", folder)
    path("stem", stem)
    for name in instance("formats", formats, Sequence, f"a list of {', '.join(FORMATS)}"):  # type: ignore[type-abstract]
        named("format", name, FORMATS)
    if not where.is_dir():
        raise FileError(f"the folder {str(where)!r} does not exist. Make it first, or choose another place.")
    made: dict[str, bytes] = {}
    undated = {"pdf": {"CreationDate": None, "ModDate": None}, "svg": {"Date": None}, "png": {}}
    logging.getLogger("fontTools").setLevel(logging.ERROR)  # the dates inside a font are none of the user's business
    with style():
        for name in formats:
            drawn = io.BytesIO()  # matplotlib's PDF writer cannot be told that a disk is full
            figure.savefig(drawn, format=name, dpi=DPI, metadata=undated[name])
            made[f"{stem}.{name}"] = drawn.getvalue()
    write_files(where, made)
    return [where / name for name in made]


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
    doors.axes(ax)
    angles = angle(_plane(x))
    strong, ordinary = (doors.indices(*given, len(angles)) for given in (("strong", strong), ("ordinary", ordinary)))
    size, spacing = positive("size", size), positive("spacing", spacing)
    shade = doors.numbers("colours", colours, len(angles))
    if title is not None:
        instance("title", title, str, "a text, or None")
    turn = np.linspace(0, 2 * np.pi, 361)
    ax.plot(np.cos(turn), np.sin(turn), color=COLOURS["grey"], lw=0.6, zorder=1)
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
    doors.axes(ax)
    angles = np.unwrap(angle(_plane(x, frames=True)), axis=0)
    n, wanted = angles.shape[1], f"({len(angles)},) finite numbers, one time for every frame of x"
    t = real("times", times, wanted)
    if t.shape != angles.shape[:1]:
        raise bad("times.shape", t.shape, wanted)
    strong, ordinary = (set(doors.indices(*given, n)) for given in (("strong", strong), ("ordinary", ordinary)))
    shade, thin = shades(doors.numbers("colours", colours, n)), positive("width", width)
    centers = sorted(strong | ordinary)
    plain = [k for k in range(n) if k not in strong | ordinary]
    for k in [*plain, *centers]:
        look: dict[str, Any] = {"color": shade[k], "lw": thin, "alpha": 0.7, "zorder": 2}
        if k in strong or k in ordinary:
            look = {"color": STRONG if k in strong else ORDINARY, "lw": 1.4, "zorder": 4 if k in strong else 3}
        for turns in _turns(angles[:, k]):
            ax.plot(t, angles[:, k] + 2 * np.pi * turns, solid_capstyle="round", **look)
    ax.set(xlim=(t[0], t[-1]), ylim=(-np.pi, np.pi))
    ax.set_yticks(np.pi * np.array([-1, -0.5, 0, 0.5, 1]), [r"$-\pi$", r"$-\pi/2$", "0", r"$\pi/2$", r"$\pi$"])


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
    wanted, advice = "(time, n, 2)" if frames else "(n, 2)", "These pictures are of the circle: dim = 2."
    array = real("x", x, f"{wanted} finite numbers", advice=advice)
    if array.ndim != 2 + frames or array.shape[-1] != 2 or not array.size:
        raise bad("x.shape", array.shape, f"{wanted}, at least one token", advice)
    return array
