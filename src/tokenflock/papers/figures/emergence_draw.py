"""What the figures of paper B share: rescaled runs, and drawing tokens, hulls and planes in two and three axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tokenflock import plot
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.options import FeedForward
from tokenflock.simulation import simulate

#: Colour-blind readers tell them apart; yellow is left out, too light for thin lines.
CYCLE = tuple(plot.COLOURS[name] for name in ("blue", "red", "green", "orange", "purple", "sky", "black"))
MINUS, TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"
PAPER = "arXiv:2305.05465"
Labels = NDArray[np.intp]  # the place of every token
#: Rescaled tokens nearer than this, in units of the largest one, stand at one place.
SAME_PLACE = 1e-3


@dataclass(frozen=True)
class Cube:
    """What decides how a figure looks: tokens uniform on [-half_width, half_width]^d, followed to t_end."""

    n_tokens: int = 20
    half_width: float = 5.0
    t_end: float = 5.0
    frames: int = 201
    seed: int = 0


def rescaled(
    value: Any,
    start: Array,
    times: Array,
    *,
    query: Any = None,
    feedforward: FeedForward | None = None,
    rtol: float = 1e-8,
) -> Array:
    """The tokens z (time, n, d) of the rescaled system (E8) with full attention, at these times."""
    dim = start.shape[1]
    model = Model(dim=dim, value=value, query=query, feedforward=feedforward, space="rescaled", mask="full")
    return simulate(model, start, float(times[-1]), times=times, rtol=rtol, atol=rtol * 1e-2)["x"].values


def moments(t_end: float, frames: int, *more: float) -> Array:
    """Equal steps from 0 to t_end, with a few more times in their places."""
    return np.unique(np.concatenate([np.linspace(0.0, t_end, frames), np.asarray(more, dtype=float)]))


def at(times: Array, t: float) -> int:
    """The frame of time t."""
    return int(np.abs(times - t).argmin())


def places(z: Array, tolerance: float = SAME_PLACE) -> Labels:
    """The place (n,) of each token of z (n, d), in the order of the first token there."""
    near = tolerance * max(float(np.abs(z).max()), 1e-300)
    label = np.full(len(z), -1)
    for i in range(len(z)):
        if label[i] < 0:
            same = (np.linalg.norm(z - z[i], axis=1) <= near) & (label < 0)
            label[same] = label.max() + 1
    return label


def colours(label: Labels) -> list[str]:
    """A colour for each token by its place."""
    return [CYCLE[k % len(CYCLE)] for k in label]


def tracks(ax: plot.Axes, path: Array, shade: Sequence[Any], *, width: float = 0.7, alpha: float = 0.55) -> Any:
    """Paths (time, n, 2) of tokens on the page."""
    from matplotlib.collections import LineCollection

    lines = LineCollection(list(path.transpose(1, 0, 2)), colors=list(shade), linewidths=width, alpha=alpha, zorder=3)
    lines.set_capstyle("round")
    return ax.add_collection(lines, autolim=False)


def discs(ax: plot.Axes, points: Array, shade: Sequence[Any], size: Any = 9.0, **look: Any) -> Any:
    """Tokens (n, 2) on the page, with a rim, so that discs on each other can be told apart."""
    rim: Any = {"edgecolors": "white", "linewidths": 0.3, "zorder": 5} | look
    return ax.scatter(points[:, 0], points[:, 1], s=size, c=list(shade), **rim)


def around(points: Array) -> Array:
    """The corners of the convex hull of points (n, 2), in turn; all points if they are on a line."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):
        return points


def outline(ax: plot.Axes, points: Array, colour: str, fill: str | None = None, **look: Any) -> Any:
    """The convex hull of points (n, 2)."""
    from matplotlib.patches import Polygon

    kind: Any = {"lw": 1.0, "zorder": 2} | look
    face = "none" if fill is None else fill
    return ax.add_patch(Polygon(around(points), closed=True, facecolor=face, edgecolor=colour, **kind))


def square(ax: plot.Axes, half: float, center: tuple[float, float] = (0.0, 0.0)) -> None:
    """Equal axes around a center, without a frame and without numbers."""
    ax.set(xlim=(center[0] - half, center[0] + half), ylim=(center[1] - half, center[1] + half), aspect="equal")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def numbered(ax: plot.Axes, half: float, tick: float, names: tuple[str, str] = ("$z_1$", "$z_2$")) -> None:
    """Equal axes with the numbers -tick and tick."""
    ax.set(xlim=(-half, half), ylim=(-half, half), aspect="equal")
    ax.set(xticks=[-tick, tick], yticks=[-tick, tick], xlabel=names[0], ylabel=names[1])
    ax.xaxis.labelpad, ax.yaxis.labelpad = -6, -8  # between the two numbers


def snapshots(
    figure: plot.Figure, times: Iterable[float], where: tuple[float, float, float], step: float, pad: float = 3
) -> Iterator[tuple[float, plot.Axes]]:
    """Square panels side by side, each with its time as title; only the first keeps its numbers of the y-axis.

    where: left, bottom and width of the first panel; step: from one panel to the next.
    """
    left, bottom, width = where
    for k, t in enumerate(times):
        ax = plot.square(figure, left + step * k, bottom, width)
        yield t, ax
        ax.set_title(f"$t$ = {t:g}", pad=pad)
        if k:
            ax.set(ylabel="", yticklabels=[])


def motion(ax: plot.Axes, times: Array, frame: Callable[[int], object]) -> plot.Movie:
    """A movie on the only Axes of a figure: frame k is drawn anew, under its time."""

    def drawn(k: int) -> None:
        ax.clear()
        frame(k)
        ax.set_title(f"$t$ = {times[k]:.2f}", pad=2)

    return cast("plot.Figure", ax.figure), drawn, len(times)


def decades(ax: plot.Axes, low: int, high: int, step: int = 1) -> None:
    """A logarithmic y-axis from 10^low to 10^high, with numbers inside it only."""
    ax.set(yscale="log", ylim=(10.0**low, 10.0**high))
    ax.set_yticks(10.0 ** np.arange(low, high + 1, step))
    ax.minorticks_off()


def box(ax: plot.Axes, half: float | Array, eye: Array) -> None:
    """The cube of the start, seen from `eye` (see plot.view): edges in front stronger, and names on its three axes."""
    corner = np.broadcast_to(np.asarray(half, dtype=float), (3,))
    for axis in range(3):
        for one in (-1, 1):
            for other in (-1, 1):
                others = [k for k in range(3) if k != axis]
                ends = np.empty((2, 3))
                ends[:, axis] = (-1, 1)
                ends[:, others] = (one, other)
                hidden = bool((eye[2, others] * (one, other) < 0).all())
                look: Any = {"ls": (0, (2, 2)), "lw": 0.4} if hidden else {"lw": 0.5}
                ax.plot(*(ends * corner @ eye[:2].T).T, color="#b9bec6", zorder=1, **look)
    # Names beside the three edges at the lower front, where nothing else stands.
    front, low = np.sign(eye[2]), np.array([0, 0, -1.0])
    spots = (
        (np.array([0.0, front[1], 0.0]) + low, "$z_1$"),
        (np.array([front[0], 0.0, 0.0]) + low, "$z_2$"),
        (np.array([-front[0], front[1], 0.0]), "$z_3$"),
    )
    for spot, name in spots:
        right, up = 1.13 * (spot * corner) @ eye[:2].T
        ax.text(right, up, name, ha="center", va="center", fontsize=7, color="#5b6470")


def solid(ax: plot.Axes, points: Array, eye: Array, colour: str, *, fill: bool = True) -> list[Any]:
    """The convex hull of points (n, 3): its faces shaded, edges at the back thin and broken."""
    from matplotlib.patches import Polygon
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    ahead = hull.equations[:, :3] @ eye[2] > 0
    page = points @ eye[:2].T
    drawn: list[Any] = []
    edges: dict[tuple[int, int], list[int]] = {}
    for face, corners in enumerate(hull.simplices):
        for i, j in ((0, 1), (1, 2), (0, 2)):
            edges.setdefault((min(corners[i], corners[j]), max(corners[i], corners[j])), []).append(face)
        if fill and ahead[face]:
            # Light from the upper left: faces that look there are paler.
            light = 0.5 + 0.5 * float(hull.equations[face, :3] @ (eye[2] + 0.7 * eye[1] - 0.5 * eye[0])) / 1.32
            look: Any = {"facecolor": colour, "alpha": 0.30 - 0.22 * light, "lw": 0, "zorder": 2}
            drawn.append(ax.add_patch(Polygon(page[corners], closed=True, **look)))
    for (i, j), faces in edges.items():
        flat = abs(hull.equations[faces[0], :3] @ hull.equations[faces[-1], :3]) > 1 - 1e-9
        if flat and len(faces) == 2:
            continue
        seen = bool(ahead[faces].any())
        style: Any = {"lw": 0.9, "alpha": 1.0} if seen else {"lw": 0.5, "alpha": 0.7, "ls": (0, (2, 1.5))}
        drawn += ax.plot(*page[[i, j]].T, color=colour, zorder=4 if seen else 1.5, solid_capstyle="round", **style)
    return drawn


def beside(normal: Array, elevation: float, lean: float) -> Array:
    """The eye at this elevation that sees planes with this normal at a slant: <eye, normal> nearest to lean."""
    unit = normal / np.linalg.norm(normal)
    eyes = [plot.view(elevation, azimuth) for azimuth in range(360)]
    return min(eyes, key=lambda eye: abs(float(eye[2] @ unit) - lean))


def rectangle(points: Array, normal: Array, level: float, margin: float) -> Array:
    """Corners (4, 3) of a piece of the plane <normal, z> = level that holds the feet of points (n, 3)."""
    unit = normal / np.linalg.norm(normal)
    first = np.eye(3)[2] - unit[2] * unit  # as upright as the plane allows
    first /= np.linalg.norm(first)
    axes = np.stack([first, np.cross(unit, first)])
    low, high = (points @ axes.T).min(axis=0) - margin, (points @ axes.T).max(axis=0) + margin
    flat = np.array([(low[0], low[1]), (low[0], high[1]), (high[0], high[1]), (high[0], low[1])])
    return np.asarray(flat @ axes + level * normal / (normal @ normal))


def sheet(ax: plot.Axes, corners: Array, eye: Array, colour: str) -> None:
    """A piece of a plane, by its corners (k, 3) in turn."""
    from matplotlib.patches import Polygon

    look: Any = {"facecolor": colour, "alpha": 0.13, "lw": 0, "zorder": 1.5}
    ax.add_patch(Polygon(corners @ eye[:2].T, closed=True, **look))
    ax.add_patch(Polygon(corners @ eye[:2].T, closed=True, facecolor="none", edgecolor=colour, lw=0.7, zorder=1.6))


def value_name(value: Any) -> str:
    """diag(1, 1, -0.5) of a diagonal matrix; otherwise its eigenvalues, in words."""
    v = np.asarray(value, dtype=float)
    if np.array_equal(v, np.diag(np.diag(v))):
        return ("diag(" + ", ".join(f"{a:g}" for a in np.diag(v)) + ")").replace("-", MINUS)
    return "eigenvalues " + spectrum(v)


def spectrum(value: Any) -> str:
    """The eigenvalues of a matrix by falling modulus, a complex pair once."""
    lam = np.linalg.eigvals(np.asarray(value, dtype=float)).astype(complex)
    lam = lam[np.lexsort((-lam.imag, -np.round(np.abs(lam), 12)))]
    words = [f"{z.real:.3f} ± {z.imag:.3f}i" if z.imag > 1e-12 else f"{z.real:.3f}" for z in lam if z.imag > -1e-12]
    return ", ".join(words).replace("-", MINUS)


def plain(text: str) -> str:
    """The same for a caption, which is read as text."""
    return text.replace(MINUS, "-").replace("±", "+-")


def listed(numbers: Iterable[Any], digits: str = ".3g") -> str:
    """Numbers with commas."""
    return ", ".join(format(float(v), digits) for v in numbers)
