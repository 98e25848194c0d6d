"""The staircase of paper D (arXiv:2410.06833): the energy of tokens on the circle while their clusters merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.papers.claims.metastability import ANGLES, Stretch, level, stretches


@dataclass(frozen=True)
class Staircase:
    """What decides how the figure looks."""

    betas: tuple[float, ...] = (500.0, 1000.0, 1500.0, 2000.0, 3000.0, 4000.0)
    angles: tuple[float, ...] = tuple(float(a) for a in ANGLES)
    merge: float = 1e-3  # clusters this near (rad) become one


PARAMETERS = {"metastability/staircase": Staircase()}
WAITS = r"$1 - \cos a$"
QUICK: dict[str, dict[str, Any]] = {"metastability/staircase": {"betas": (500.0, 1000.0, 2000.0, 4000.0)}}


def figure_staircase(p: Staircase) -> plot.Figure:
    """The energy against the length of the path and against time, and the clusters at the largest beta."""
    runs = {beta: stretches(np.array(p.angles), beta, p.merge) for beta in p.betas}
    shade = dict(zip(p.betas, plot.shades(len(p.betas) + 1)[:-1], strict=True))  # the last one is too light for a line
    figure = plot.page(2.75)
    left, middle, right = (
        figure.add_axes((x, 0.155, w, 0.66)) for x, w in ((0.065, 0.3), (0.425, 0.3), (0.795, 0.195))
    )
    for beta, run in runs.items():
        path, log_time, energy = (
            np.concatenate([getattr(stretch, part) for stretch in run]) for part in ("path", "log_time", "energy")
        )
        left.plot(path, energy, color=shade[beta], lw=1.2, label=rf"$\beta$ = {beta:g}")
        first = log_time > -np.inf
        middle.plot(log_time[first] / beta, energy[first], color=shade[beta], lw=1.2)
    for ax in (left, middle):
        _levels(ax, runs[p.betas[-1]])
    left.set_xlabel("length of the path (rad)")
    left.set_ylabel(r"energy $2\beta E_\beta$", labelpad=2)
    middle.set_xlabel(r"$\beta^{-1}$ log(time)")
    marks = waits(runs[p.betas[-1]])
    middle.plot(marks, [level((1,) * len(p.angles)) - 0.05] * len(marks), "^", color=plot.STRONG, ms=4, label=WAITS)
    middle.set_xlim(-0.005, 1.06 * max(marks))
    _paths(right, runs[p.betas[-1]])
    for ax in (left, middle, right):
        _within(ax)
    right.set_title(rf"$\beta$ = {p.betas[-1]:g}", pad=3)
    figure.legend(loc="center", bbox_to_anchor=(0.5, 0.95), ncols=len(p.betas) + 1, columnspacing=1.0, handlelength=1.2)
    plot.letters(figure, {"a": (0.008, 0.87), "b": (0.372, 0.87), "c": (0.742, 0.87)})
    return plot.captioned(figure, _caption(runs, p))


def _levels(ax: plot.Axes, run: list[Stretch]) -> None:
    """The steps that the sizes of the clusters predict."""
    levels = [level(stretch.sizes) for stretch in run]
    for value in levels:
        ax.axhline(value, color=plot.COLOURS["grey"], lw=0.6, ls=(0, (3, 2)), zorder=0)
    ax.set(yticks=levels, ylim=(min(levels) - 0.07, 1.04))
    ax.set_yticklabels([f"{v:g}" for v in levels])


def waits(run: list[Stretch]) -> list[float]:
    """1 - cos a of the nearest two clusters when each stretch begins: where log(time) / beta of its end tends to."""
    return [float(2 * np.sin(np.diff(stretch.angles[0]).min() / 2) ** 2) for stretch in run[:-1]]


def _within(ax: plot.Axes) -> None:
    """Ticks inside the limits only: matplotlib keeps one beyond each end, unseen."""
    for low, high, ticks, put in (
        (*ax.get_xlim(), ax.get_xticks(), ax.set_xticks),
        (*ax.get_ylim(), ax.get_yticks(), ax.set_yticks),
    ):
        put([t for t in ticks if low <= t <= high])


def _paths(ax: plot.Axes, run: list[Stretch]) -> None:
    """Angles against the path; a line is as wide as its cluster is large."""
    for stretch in run[:-1]:
        for mass, angle in zip(stretch.masses, stretch.angles.T, strict=True):
            ax.plot(stretch.path, angle, color=plot.COLOURS["blue"], lw=0.7 * mass, solid_capstyle="butt")
    ax.set(xlabel="length of the path (rad)", ylabel="angle (rad)", ylim=(-0.04, None))
    ax.yaxis.labelpad = 2


def _caption(runs: dict[float, list[Stretch]], p: Staircase) -> str:
    beta, last = list(runs.items())[-1]
    seen = "; ".join(f"{'+'.join(map(str, s.sizes))}: {level(s.sizes):.4g}" for s in last)
    late = last[-1].log_time[0] / np.log(10)
    start = ", ".join(f"{s[0].energy[0]:.3f} at beta = {b:g}" for b, s in runs.items())
    return (
        f"The staircase of arXiv:2410.06833. {len(p.angles)} tokens on the circle with weights e^(beta (<x_i, x_j> - "
        f"1)) / n, from the angles {', '.join(f'{a:.4f}' for a in p.angles)}; clusters nearer than {p.merge:g} rad "
        "become one. The energy is n^-2 sum_ij e^(beta (<x_i, x_j> - 1)), which for clusters of sizes n_q that are far "
        f"apart is sum_q (n_q/n)^2 (broken lines): {seen}. (a) Against the length of the path of all tokens: mergers "
        "happen at the same lengths for every beta, and the steps between them become flat and sharp as beta grows. "
        f"The first one needs the largest beta: the energy starts at {start}. (b) Against the logarithm of time over "
        "beta: two clusters at an angle a meet after about e^(beta (1 - cos a)), so that mergers tend to fixed places, "
        f"1 - cos a (triangles); at beta = {beta:g} the last one comes at t = 10^{late:.0f}. (c) The clusters at beta "
        f"= {beta:g}; the width is their size. Ours, not the paper's: the axis of (a) instead of the number of steps "
        "of the gradient, panels (b) and (c), the integrator, and merging at that distance whatever the gradient is."
    )
