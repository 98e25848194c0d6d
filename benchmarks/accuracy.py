"""How far the defaults are from the truth: paper A's setting at three tolerances, at every kept time.

    python benchmarks/accuracy.py      writes benchmarks/results/claims/accuracy.json, which README and docs quote

Causal attention on the circle, n = 200, beta = 64, to t = 150. The truth is tsit5 at rtol = 1e-11. No clock is read.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import tokenflock as flock
from run import machine
from tokenflock.geometry import distance

TARGET = Path(__file__).parent / "results" / "claims" / "accuracy.json"
RUNS, TIMES = 64, np.linspace(0.0, 150.0, 151)
TOLERANCES = ((1e-4, 1e-7), (1e-6, 1e-9), (1e-8, 1e-11))


def main() -> None:
    """Every tolerance against the truth."""
    model, start = flock.Model(dim=2, beta=64.0), flock.uniform(n_tokens=200, dim=2, seed=0, runs=RUNS)
    truth = flock.simulate(model, start, 150.0, times=TIMES, rtol=1e-11, atol=1e-14, progress=False)["x"].values
    rows = []
    for rtol, atol in TOLERANCES:
        run = flock.simulate(model, start, 150.0, times=TIMES, rtol=rtol, atol=atol, progress=False)
        x = run["x"].values
        worst = distance(x, truth).max(axis=(1, 2))  # of every run
        off = float(abs(np.linalg.norm(x, axis=-1) - 1.0).max())
        velocities = run.attrs["evaluations"] / RUNS
        found = {"worst_rad": float(worst.max()), "median_rad": float(np.median(worst)), "off_sphere": off}
        rows.append({"rtol": rtol, "atol": atol, "velocities": velocities, **found})
        print(rows[-1], flush=True)
    told = {"command": "python benchmarks/accuracy.py", "machine": machine(), "runs": RUNS, "times": len(TIMES)}
    TARGET.write_text(json.dumps(told | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
