"""Hyperplanes of paper B (arXiv:2305.05465, Theorem 4.2), with the authors' own value matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import polytope, triple
from tokenflock.geometry import Array
from tokenflock.papers.figures import emergence_draw as draw
from tokenflock.start import cube
from tokenflock.weights import PAPER_B


@dataclass(frozen=True)
class PlaneLevels(draw.Cube):
    """What decides how the figure of two dimensions looks."""

    snapshots: tuple[float, ...] = (0.0, 1.0, 5.0)


@dataclass(frozen=True)
class SpaceLevels(draw.Cube):
    """What decides how the figure of three dimensions looks."""

    shown: float = 5.0
    elevation: float = 14.0
    lean: float = 0.3


PARAMETERS = {
    "emergence/hyperplanes-2d": PlaneLevels(frames=241),
    "emergence/hyperplanes-3d": SpaceLevels(t_end=12.0, frames=241),
}
QUICK: dict[str, dict[str, Any]] = {
    "emergence/hyperplanes-2d": {"frames": 61},
    "emergence/hyperplanes-3d": {"frames": 81},
}
BELOW, ABOVE, ZERO = plot.COLOURS["blue"], plot.COLOURS["red"], plot.COLOURS["green"]
MATRICES = {"a": PAPER_B["hyperplanes-3d-a"], "b": PAPER_B["hyperplanes-3d-b"]}


class LevelsOfRun:
    """A run and its levels phi_1*(z_i): what they are, and where the hyperplanes of the end stand."""

    def __init__(self, value: Array, p: draw.Cube, times: Array) -> None:
        self.value, self.times = value, times
        self.judged = triple.good(None, None, value)
        self.z = draw.rescaled(value, cube(p.n_tokens, len(value), p.half_width, seed=p.seed), times)
        assert self.judged.phi_1_star is not None, "the authors' matrices are good"
        self.star = self.judged.phi_1_star
        self.phi = self.z @ self.star
        self.last = polytope.levels(self.z[-1], value, tolerance=1e-2)
        self.shade = [ABOVE if v > 0 else BELOW for v in self.phi[-1]]

    @property
    def monotone(self) -> bool:
        """Whether the largest level never rose and the least never fell."""
        slack = 1e-7 * np.abs(self.phi).max()
        rising, falling = np.diff(self.phi.max(axis=1)).max(), np.diff(self.phi.min(axis=1)).min()
        return bool(rising <= slack and falling >= -slack)

    @property
    def spread(self) -> float:
        """The largest distance of a token of the end from its level, in phi_1*."""
        at = np.array(self.last.at)[self.last.label]
        return float(np.abs(self.last.values - at).max())


def figure_2d(p: PlaneLevels) -> plot.Figure:
    """Tokens of the plane going to two parallel lines, and the levels against time."""
    run = LevelsOfRun(PAPER_B["hyperplanes-2d"], p, draw.moments(p.t_end, p.frames, *p.snapshots))
    half = 1.05 * float(np.abs(run.z).max())
    figure = plot.page(2.5)
    for t, ax in draw.snapshots(figure, p.snapshots, (0.052, 0.235, 0.205), 0.232):
        _plane(ax, run, draw.at(run.times, t), half)
    right = figure.add_axes((0.79, 0.235, 0.195, 0.205 * plot.PAGE / 2.5))
    _against_time(right, run)
    _legend(figure, (0.5, 0.042), "lines")
    plot.letters(figure, {"a": (0.008, 0.945), "b": (0.735, 0.945)})
    return plot.captioned(figure, _caption_2d(run, p))


def figure_3d(p: SpaceLevels) -> plot.Figure:
    """The two matrices of three dimensions: planes in space, and the levels against time."""
    height = 4.75
    times = draw.moments(p.t_end, p.frames, p.shown)
    runs = {name: LevelsOfRun(value, p, times) for name, value in MATRICES.items()}
    figure = plot.page(height)
    for k, (name, run) in enumerate(runs.items()):
        width = 0.46
        ax = figure.add_axes((0.02 + 0.5 * k, 0.335, width, 0.4 * plot.PAGE / height))
        _space(ax, run, draw.at(times, p.shown), draw.beside(run.star, p.elevation, p.lean), p.half_width)
        ax.set_title(f"matrix ({name}), $t$ = {p.shown:g}\neigenvalues {draw.spectrum(run.value)}", pad=0)
        lower = figure.add_axes((0.075 + 0.5 * k, 0.155, 0.39, 0.17))
        _against_time(lower, run)
    _legend(figure, (0.5, 0.03), "planes")
    plot.letters(figure, {"a": (0.008, 0.965), "b": (0.508, 0.965)})
    return plot.captioned(figure, _caption_3d(runs, p))


def _plane(ax: plot.Axes, run: LevelsOfRun, k: int, half: float) -> None:
    """Frame k in the plane, with the lines phi_1* = a, 0, b of the end."""
    draw.numbered(ax, half, float(np.floor(half / 5) * 5))
    normal = run.star / (run.star @ run.star)
    along = 4 * half * np.array([-run.star[1], run.star[0]]) / np.linalg.norm(run.star)
    for level, colour, dashes in ((run.last.a, BELOW, "-"), (run.last.b, ABOVE, "-"), (0.0, ZERO, (0, (3, 2)))):
        ends = np.stack([level * normal - along, level * normal + along])
        ax.plot(*ends.T, color=colour, lw=1.0, ls=dashes, alpha=0.6, zorder=1)
    draw.tracks(ax, run.z[: k + 1], run.shade)
    draw.discs(ax, run.z[k], run.shade, 11)


def _space(ax: plot.Axes, run: LevelsOfRun, k: int, eye: Array, half_width: float) -> None:
    """Frame k in space, with the planes phi_1* = a and b of the end."""
    size = 1.1 * float(np.abs(run.z[k] @ eye[:2].T).max())
    draw.box(ax, half_width, eye)
    for level, colour in ((run.last.a, BELOW), (run.last.b, ABOVE)):
        mine = run.z[k][np.sign(run.phi[-1]) == np.sign(level)]
        corners = draw.rectangle(mine, run.star, level, 0.3 * half_width)
        size = max(size, 1.04 * float(np.abs(corners @ eye[:2].T).max()))
        draw.sheet(ax, corners, eye, colour)
    draw.tracks(ax, run.z[: k + 1] @ eye[:2].T, run.shade)
    draw.discs(ax, run.z[k] @ eye[:2].T, run.shade, 11 + 4 * np.clip(run.z[k] @ eye[2] / half_width, -2, 2))
    draw.square(ax, size)


def _against_time(ax: plot.Axes, run: LevelsOfRun) -> None:
    for k, shade in enumerate(run.shade):
        ax.plot(run.times, run.phi[:, k], color=shade, lw=0.7, alpha=0.8)
    ax.axhline(0, color=ZERO, lw=0.9, ls=(0, (3, 2)))
    top = 1.1 * float(np.abs(run.phi).max())
    ax.set(xlim=(0, run.times[-1]), ylim=(-top, top), xlabel="time $t$")
    ax.set_ylabel(r"$\varphi_1^*(z_i)$", labelpad=0)
    ax.set_yticks([-5, 0, 5])
    ax.set_xticks(np.arange(0, run.times[-1] + 0.1, 1 if run.times[-1] <= 5 else 2))
    ax.xaxis.labelpad = 1


def _legend(figure: plot.Figure, where: tuple[float, float], what: str) -> None:
    rows = ((ABOVE, "above 0: goes to $b$"), (BELOW, "below 0: goes to $a$"))
    look = {"marker": "o", "ms": 4, "lw": 0.9}
    entries = [{"color": c, "label": rf"token that ends with $\varphi_1^*$ {w}", **look} for c, w in rows]
    if what == "lines":
        entries.append({"color": ZERO, "lw": 1, "ls": (0, (3, 2)), "label": r"$\varphi_1^* = 0$"})
    plot.key(figure, where, entries, ncols=3, handletextpad=0.5)


def _found(run: LevelsOfRun) -> str:
    above = int((run.phi[-1] > 0).sum())
    moved = int((np.sign(run.phi[-1]) != np.sign(run.phi[0])).sum())
    number = {1: "one level", 2: "two levels", 3: "three levels"}.get(run.last.count, f"{run.last.count} levels")
    return (
        f"at t = {run.times[-1]:g} {number}, {draw.listed(run.last.at, '.4f')}, to within {run.spread:.1e}, with "
        f"{len(run.z[-1]) - above} and {above} tokens; {moved} changed the sign of phi_1*; the largest level never "
        f"rises and the least never falls: {'yes' if run.monotone else 'NO'}"
    )


def _authors(p: draw.Cube) -> str:
    return (
        f"The authors': the value matrix, Q = K = I, n = {p.n_tokens} and tokens uniform on [-{p.half_width:g}, "
        f"{p.half_width:g}]^d, T = 5 (all from their published code, which is forward Euler with dt = 0.1). Ours, not "
        f"the paper's: the start (seed {p.seed}), adaptive steps, the levels against time, "
    )


def _caption_2d(run: LevelsOfRun, p: PlaneLevels) -> str:
    return (
        f"Theorem 4.2 of {draw.PAPER} in dimension 2: rescaled tokens z_i = e^(-tV) x_i gather on at most three "
        "parallel lines phi_1* = a, 0, b, where phi_1* is the left eigenvector of the leading eigenvalue. The "
        f"eigenvalues of V are {draw.plain(draw.spectrum(run.value))}; (Q, K, V) is a good triple with <Q phi_1, K "
        f"phi_1> = {run.judged.overlap:.3f}. (a) Tokens at t = {draw.listed(p.snapshots)} with their paths, and the "
        f"lines of the end. (b) phi_1* of every token: {_found(run)}. Along the lines nothing gathers. "
        + _authors(p)
        + "and colours."
    )


def _caption_3d(runs: dict[str, LevelsOfRun], p: SpaceLevels) -> str:
    words = "; ".join(
        f"matrix ({name}), eigenvalues {draw.plain(draw.spectrum(run.value))}, <Q phi_1, K phi_1> = "
        f"{run.judged.overlap:.3f}: {_found(run)}"
        for name, run in runs.items()
    )
    return (
        f"Theorem 4.2 of {draw.PAPER} in dimension 3, for the two value matrices of the published code. Above: "
        f"rescaled tokens at t = {p.shown:g} with their paths from the start, and the planes phi_1* = a (blue) and "
        f"phi_1* = b (red) of the end; the box is the start's cube, nearer tokens are larger. Below: phi_1* of every "
        f"token. "
        f"Found: {words}. " + _authors(p) + "the time after 5, and colours."
    )


def movie_2d(p: PlaneLevels) -> plot.Movie:
    """The plane in motion: a Figure, what draws frame k on it, and the number of frames."""
    run = LevelsOfRun(PAPER_B["hyperplanes-2d"], p, draw.moments(p.t_end, p.frames))
    half = 1.05 * float(np.abs(run.z).max())
    figure = plot.page(3.7, 3.6, dpi=plot.MOVIE_DPI)
    ax = figure.add_axes((0.115, 0.1, 0.845, 0.82))
    return draw.motion(ax, run.times, lambda k: _plane(ax, run, k, half))
