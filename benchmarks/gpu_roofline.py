"""The picture of benchmarks/gpu.py: pairs a second against dim, beside the limits of the device."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

#: name of a row -> (label, colour, marker)
DRAWN = {
    "tokenflock near causal float32": ("tokenflock float32", "#1f5fbf", "o"),
    "tokenflock products float32": ("", "#1f5fbf", "o"),
    "tokenflock near causal float64": ("tokenflock float64", "#111111", "s"),
    "tokenflock products bfloat16": ("tokenflock bfloat16, by request", "#7aa9e6", "o"),
    "SDPA float32": ("SDPA float32", "#c8381e", "v"),
    "SDPA bfloat16": ("SDPA bfloat16 (flash)", "#e9a08f", "v"),
    "FlexAttention float32": ("FlexAttention float32", "#8a6d1d", "D"),
    "torch.compile float32": ("torch.compile float32", "#4d8a3a", "^"),
    "torch eager float32": ("torch eager float32", "#8d949e", "^"),
}


def ceilings(limits: dict[str, float]) -> list[tuple[str, np.ndarray, np.ndarray, str]]:
    """(name, dims, pairs a second, colour): what one pair needs, over what the device does."""
    few, many, all_dims = np.arange(1.0, 9.0), np.geomspace(16.0, 2048.0, 30), np.geomspace(1.0, 2048.0, 30)
    # Differences: d subtractions, d squares, one exponential and its sum, d products. float64: 13 more for 2^s.
    return [
        ("one exponential a pair", all_dims, np.full(30, limits["exponentials float32"]), "#1f5fbf"),
        ("3d + 2 instructions", few, limits["multiply-adds float32"] / (3 * few + 2), "#1f5fbf"),
        ("3d + 14 in float64", few, limits["multiply-adds float64"] / (3 * few + 14), "#111111"),
        ("3 float16 products", many, limits["float16 products (flop)"] / (12 * many), "#1f5fbf"),
        ("float32 products", many, limits["float32 products (flop)"] / (4 * many), "#c8381e"),
    ]


def draw(target: Path) -> None:
    """target.json -> target.png."""
    from matplotlib.figure import Figure

    report = json.loads(target.with_suffix(".json").read_text())
    rows = report["rows"]
    figure = Figure(figsize=(8.2, 5.0), dpi=150)
    ax = figure.add_axes((0.085, 0.105, 0.615, 0.815))
    limits = {row["name"]: row["per_s"] for row in rows if "per_s" in row}
    for name, dims, rate, colour in ceilings(limits) if limits else []:
        ax.plot(dims, rate, color=colour, lw=1.0, ls=(0, (5, 2)), alpha=0.65)
        at = {"3 float16 products": 10, "float32 products": 3, "one exponential a pair": 18}.get(name, 0)
        above = name in ("one exponential a pair", "3 float16 products", "3d + 14 in float64", "3d + 2 instructions")
        ax.annotate(
            name,
            (dims[at], rate[at]),
            xytext=(4, 3 if above else -3),
            textcoords="offset points",
            fontsize=6.5,
            color=colour,
            va="bottom" if above else "top",
        )
    for name, (label, colour, marker) in DRAWN.items():
        found = sorted((r["dim"], r["pairs_per_s"]) for r in rows if r["name"] == name and "pairs_per_s" in r)
        if found:
            dims, rate = zip(*found, strict=True)
            ax.plot(dims, rate, marker=marker, color=colour, ms=4.5, lw=1.3, label=label or None)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks([2**k for k in range(12)], [str(2**k) for k in range(12)])
    ax.set(xlabel="dim d", ylabel="pairs of tokens a second", xlim=(0.85, 2600), ylim=(2e9, 1.2e13))
    ax.grid(color="#e4e6ea", lw=0.5)
    ax.set_axisbelow(True)
    ax.set_title(
        f"Causal attention on one {report['machine']['gpu']}: measured (marks) and limits (dashed)", fontsize=9
    )
    ax.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    figure.savefig(target.with_suffix(".png"))
