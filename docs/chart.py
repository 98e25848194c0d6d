"""One picture of the benchmarks: every row that has a peer or a limit, with what it aims at."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import measured


def draw(target):
    """Bars from 1 for peers, from 0 for limits; a line where a row aims; orange where it falls short."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    rows = list(measured.ratios())
    panels = {name: [row for row in rows if row.panel == name] for name in (measured.PEER, measured.SHARE)}
    sizes = [len(found) for found in panels.values()]
    figure, axes = pyplot.subplots(
        len(panels), 1, figsize=(10, 0.27 * sum(sizes) + 2.2), height_ratios=sizes, layout="constrained"
    )
    for ax, (name, found) in zip(axes, panels.items(), strict=True):
        begin = 1.0 if name == measured.PEER else 0.0
        for y, row in enumerate(found):
            reached = row.ratio >= (row.target if row.target is not None else begin)
            ax.barh(y, row.ratio - begin, left=begin, color="#0072B2" if reached else "#E69F00", height=0.62)
            if row.target is not None:
                ax.plot([row.target] * 2, [y - 0.45, y + 0.45], color="black", lw=2)
            at = max(row.ratio, row.target or 0.0, begin)
            ax.annotate(
                measured.two(row.ratio), (at, y), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8
            )
        ax.set_yticks(range(len(found)), [row.label for row in found], fontsize=8)
        ax.set_ylim(len(found) - 0.4, -0.6)
        ax.set_xlabel(name)
        ax.grid(axis="x", alpha=0.3)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.set_axisbelow(True)
        if name == measured.PEER:
            ax.set_xscale("log")
            ax.set_xlim(0.5, 2 * max(max(row.ratio, row.target or 0) for row in found))
            ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            ax.axvline(1.0, color="grey", lw=0.8)
        else:
            ax.set_xlim(0.0, 1.12)
            ax.axvline(1.0, color="grey", lw=0.8)
    shown = [
        Patch(color="#0072B2", label="as aimed; where nothing was aimed at, ahead"),
        Patch(color="#E69F00", label="short of it"),
    ]
    figure.legend(
        handles=[*shown, Line2D([], [], color="black", lw=2, label="what the row aims at")],
        loc="outside upper center",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
    figure.savefig(target, dpi=130)
    pyplot.close(figure)
