"""The figure of the study of optimal control, drawn from its tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.geometry import Array
from tokenflock.papers.studies.ledger import Answer
from tokenflock.papers.studies.targets import MIDDLE, wanted_angles


def draw(answer: Answer) -> plot.Figure:
    """Paths, eigenvalues, costate, cost against time and intervals, and paths on the sphere."""
    figure = plot.page(4.6, layout="constrained")
    axes = figure.subplots(2, 3)
    for ax, letter in zip(axes.flat, "abcdef", strict=True):
        ax.set_title(letter, loc="left", fontweight="bold", fontsize=10)
    _draw_path(axes[0, 0], answer)
    _draw_eigenvalues(axes[0, 1], answer)
    _draw_costate(axes[0, 2], answer)
    _draw_costs(axes[1, 0], axes[1, 1], answer)
    _draw_sphere(axes[1, 2], answer)
    return figure


def _frames(answer: Answer, name: str, dim: int) -> tuple[Array, Array]:
    """Times, and tokens (time, n, dim) of a table."""
    table = answer.table(name)
    n = int(table["token"].max()) + 1
    columns = np.stack([table[axis] for axis in ("x", "y", "z")[:dim]], axis=-1)
    return table["t"][::n], columns.reshape(-1, n, dim)


def _draw_path(ax: plot.Axes, answer: Answer) -> None:
    times, path = _frames(answer, "path", 2)
    n = path.shape[1]
    which = wanted_angles(n, "halves") > MIDDLE
    colours = [plot.COLOURS["red" if c else "blue"] for c in which]
    angles = np.unwrap(np.arctan2(path[..., 1], path[..., 0]), axis=0)
    for k in range(n):
        aim = wanted_angles(n, "halves")[k]
        turn = 2 * np.pi * np.round((angles[-1, k] - aim) / (2 * np.pi))
        ax.plot(times, angles[:, k], color=colours[k], lw=1.1)
        ax.plot(times[0], angles[0, k], "o", ms=3, color=colours[k])
        ax.plot(times[-1], aim + turn, "o", ms=5, mfc="none", color=colours[k], clip_on=False, zorder=5)
    ax.set(xlabel="$t$", ylabel="angle of the token", xlim=(0, times[-1]))
    ax.set_title("rings: targets", fontsize=7, loc="right")


def _draw_eigenvalues(ax: plot.Axes, answer: Answer) -> None:
    table = answer.table("eigenvalues")
    for which, colour, label in (("form", "orange", "$Q^TK$"), ("value", "green", "$V$")):
        rows = table.where(matrix=which)
        knots = np.append(np.unique(rows["begin"]), rows["end"].max())
        for k in sorted(set(rows["index"])):
            mine = rows.where(index=k)
            look: Any = {"color": plot.COLOURS[colour], "baseline": None}
            ax.stairs(mine["re"], knots, lw=1.3, label=label if k == 0 else None, **look)
            if np.abs(mine["im"]).max() > 1e-9:
                ax.stairs(mine["im"], knots, ls=(0, (2, 1.5)), lw=0.8, **look)
    ax.axhline(0, color=plot.COLOURS["grey"], lw=0.6)
    ax.set(xlabel="$t$", ylabel="eigenvalues of the controls", xlim=(0, table["end"].max()))
    ax.legend(ncols=2, fontsize=7)
    ax.set_title("dashed: imaginary parts", fontsize=7, loc="right")


def _draw_costate(ax: plot.Axes, answer: Answer) -> None:
    table = answer.table("costate")
    n = int(table["token"].max()) + 1
    which = wanted_angles(n, "halves") > MIDDLE
    for k in range(n):
        mine = table.where(token=k)
        ax.plot(mine["t"], mine["norm"], color=plot.COLOURS["red" if which[k] else "blue"], lw=1.1)
    ax.set(xlabel="$t$", ylabel="costate $|p_i(t)|$", xlim=(0, table["t"].max()), ylim=(0, None))


def _draw_costs(first: plot.Axes, second: plot.Axes, answer: Answer) -> None:
    rows = {row[0]: row for row in answer.table("cases").rows}
    blue, red = plot.COLOURS["blue"], plot.COLOURS["red"]
    ends = [row for name, row in rows.items() if name.startswith("T = ")]
    first.plot([r[1] for r in ends], [r[3] for r in ends], "o-", ms=3.5, color=blue, label="$Q, K, V$")
    alone = [row for name, row in rows.items() if name.startswith("V alone")]
    first.plot([r[1] for r in alone], [r[3] for r in alone], "s-", ms=3.5, color=red, label="$V$ alone, weight $w/T$")
    first.set(xscale="log", ylim=(0, None), xlabel="time $T$", ylabel="$J$ of the best controls")
    first.minorticks_off()
    first.set_xticks([r[1] for r in ends], [f"{r[1]:g}" for r in ends])
    first.legend(fontsize=6.5)
    finer = [row for name, row in rows.items() if name.endswith("intervals") and not name.startswith("one")]
    counts = [r[2] for r in finer]
    second.plot(counts, [r[3] / finer[-1][3] for r in finer], "o-", ms=3.5, color=blue, label="$J$ / finest")
    second.plot(counts, [r[8] for r in finer], "s-", ms=3.5, color=red, label=r"$\|\partial H/\partial u\| / \|u\|$")
    spread = [(r[2], r[9]) for r in finer if r[9] > 0]
    second.plot(*np.array(spread).T, "^-", ms=3.5, color=plot.COLOURS["green"], label="spread of $H$")
    second.set(xscale="log", yscale="log", xlabel="intervals")
    second.minorticks_off()
    second.set_xticks(counts, [str(c) for c in counts])
    second.legend(fontsize=6.5)


def _draw_sphere(ax: plot.Axes, answer: Answer) -> None:
    _, path = _frames(answer, "path on the sphere", 3)
    eye = plot.view(35.0, -30.0)
    plot.sphere(ax, eye)
    for k in range(path.shape[1]):
        right, up, depth = eye @ path[:, k].T
        colour = plot.COLOURS["red" if k % 2 else "blue"]
        for front, tint, order in ((False, plot.pale(colour), 1), (True, colour, 4)):
            ax.plot(*np.where((depth >= 0) == front, [right, up], np.nan), color=tint, lw=1.1, zorder=order)
        for at in (0, -1):
            front = depth[at] >= 0
            tint = colour if front else plot.pale(colour)
            look: Any = {"mfc": tint if at else "white", "mec": tint, "zorder": 6 if front else 2}
            ax.plot(right[at], up[at], "o", ms=3.5, **look)
    ax.set_title("clusters taken in turns, $d = 3$", fontsize=7, loc="right")
