"""What one velocity costs against n and beta: the harmonic engine, the pair engine, and the peers beside them.

    python benchmarks/cost.py --out benchmarks/results/2026-11-15-cost     writes .json, .txt and .png

Everything runs on one core, and its CPU seconds are taken, the best of several, warm: those of a busy machine still say
something. Peers hold an n x n matrix, so they end at a few thousand tokens; --peers none leaves them out.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Before any library counts the cores.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np

import tokenflock as flock
from harmonic import core_s, pairs, waves
from peers import jax_field, numpy_field, torch_field
from run import machine
from tokenflock.model import Model

Call = Callable[[], object]
OURS = "tokenflock"
MOST_S = 3.0  # what one evaluation may take
LARGEST_MATRIX = 10_000  # tokens: 0.8 GB for one n x n array of float64


def by_numpy(model: Model, n: int) -> Call:
    """Softmax attention as scripts write it."""
    x, field = flock.uniform(n, model.dim, seed=0), numpy_field(n, model.beta, "causal")
    return lambda: field(x)


def by_jax(model: Model, n: int) -> Call:
    """The same, compiled."""
    import jax
    import jax.numpy as jnp

    field = jax.jit(jax_field(n, model.beta, "causal"))
    x = jnp.asarray(flock.uniform(n, model.dim, seed=0))
    return lambda: field(x).block_until_ready()


def by_torch(model: Model, n: int) -> Call:
    """The same, eager."""
    import torch

    torch.set_num_threads(1)
    x, field = torch.as_tensor(flock.uniform(n, model.dim, seed=0)), torch_field(n, model.beta, "causal")
    return lambda: field(x)


WAYS: dict[str, tuple[Callable[[Model, int], Call], float]] = {
    "tokenflock, harmonic": (lambda model, n: waves(model, n, False, 1e-13 if model.dim == 2 else 1e-10)[0], 1e7),
    "tokenflock, pairs": (pairs, 1e7),
    "jax, compiled": (by_jax, LARGEST_MATRIX),
    "torch, eager": (by_torch, LARGEST_MATRIX),
    "numpy": (by_numpy, LARGEST_MATRIX),
}
#: a panel: (title, what is on the axis, its values, model and n of a value)
PANELS: dict[str, tuple[str, list[float], Callable[[float], tuple[Model, int]]]] = {
    "circle, beta = 64": (
        "n",
        [3e2, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6],
        lambda n: (flock.Model(dim=2, beta=64.0), int(n)),
    ),
    "circle, n = 8,000": (
        "beta",
        [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0],
        lambda beta: (flock.Model(dim=2, beta=beta), 8000),
    ),
    "sphere S², beta = 16": (
        "n",
        [3e2, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5],
        lambda n: (flock.Model(dim=3, beta=16.0), int(n)),
    ),
}


def measure(peers: bool) -> list[dict[str, Any]]:
    """Every way over every panel, as long as an evaluation stays within MOST_S."""
    rows = []
    for panel, (axis, values, case) in PANELS.items():
        for way, (prepare, most) in WAYS.items():
            if not peers and not way.startswith(OURS):
                continue
            seconds: list[float] = []
            for value in values:
                model, n = case(value)
                if n > most or (axis == "n" and seconds and seconds[-1] > MOST_S / 4):
                    break
                seconds.append(core_s(prepare(model, n), 5 if n < LARGEST_MATRIX / 2 or way.startswith(OURS) else 2))
            law = slice(-3, None)  # where the law has set in
            fit = np.polyfit(np.log(values[: len(seconds)][law]), np.log(seconds[law]), 1)[0]
            rows.append({"panel": panel, "axis": axis, "way": way, "values": values[: len(seconds)]})
            rows[-1] |= {"seconds": [float(f"{s:.3g}") for s in seconds], "exponent": round(float(fit), 2)}
            print(line(rows[-1]), flush=True)
    return rows


def line(row: dict[str, Any]) -> str:
    """A row as text."""
    points = "  ".join(f"{v:g}: {s:.2e}" for v, s in zip(row["values"], row["seconds"], strict=True))
    return f"{row['panel']:22s} {row['way']:22s} like {row['axis']}^{row['exponent']:.2f}   {points}"


def draw(rows: list[dict[str, Any]], where: Path, title: str) -> None:
    """Three panels on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from tokenflock import plot

    looks = dict(zip(WAYS, (("C0", "o"), ("C1", "s"), ("C2", "^"), ("C3", "v"), ("C4", "D")), strict=True))
    with plot.style():
        figure, axes = pyplot.subplots(1, len(PANELS), figsize=(13.5, 5.0), sharey=True, layout="constrained")
        for ax, (panel, (axis, _, _)) in zip(axes, PANELS.items(), strict=True):
            for row in (row for row in rows if row["panel"] == panel):
                colour, marker = looks[row["way"]]
                told = f"{row['way']}  ({axis}$^{{{row['exponent']:.2f}}}$)"
                ax.loglog(row["values"], row["seconds"], color=colour, marker=marker, ms=4, label=told)
            ax.set(xlabel="tokens n" if axis == "n" else "beta", title=panel)
            ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
            ax.grid(alpha=0.3)
        axes[0].set_ylabel("CPU seconds for one causal velocity, one core")
        figure.suptitle(title, fontsize=10)
        figure.savefig(where, dpi=110)


def main() -> None:
    """Measure, write, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="path without its ending")
    parser.add_argument("--peers", choices=("all", "none"), default="all")
    options = parser.parse_args()
    about = machine() | {"load": round(os.getloadavg()[0], 1)}
    rows = measure(options.peers == "all")
    command = f"python benchmarks/cost.py --out {options.out.name} --peers {options.peers}"
    options.out.with_suffix(".json").write_text(json.dumps({"command": command, "machine": about, "rows": rows}) + "\n")
    text = "\n".join([f"$ {command}", json.dumps(about), *map(line, rows)])
    options.out.with_suffix(".txt").write_text(text + "\n")
    draw(
        rows, options.out.with_suffix(".png"), f"{about['cpu']}, one core, float64; exponents of the last three points"
    )
    print(f"wrote {options.out}.json, .txt and .png")


if __name__ == "__main__":
    main()
