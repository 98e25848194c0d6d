"""Two versions of tokenflock beside each other on this machine: has a change made anything slower?

    git worktree add build/before COMMIT && python benchmarks/beside.py build/before/src

Every row is measured in turns, one fresh process for each version and turn, warm, and the best of all turns counts. A
ratio above 1 says that this tree is slower than the other. Options: --turns N, --threads 1,2, --only TEXT.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROWS = {
    "causal n=200 d=2 t=150": ("dict(dim=2, beta=64.0)", 200, 150.0, {}),
    "causal n=200 d=2 t=150, pairs": ("dict(dim=2, beta=64.0)", 200, 150.0, {"engine": "cpu"}),
    "causal n=1000 d=2 t=150": ("dict(dim=2, beta=64.0)", 1000, 150.0, {}),
    "causal n=32 d=3 t=50": ("dict(dim=3, beta=4.0)", 32, 50.0, {}),
    "full n=1000 d=3 t=10": ("dict(dim=3, beta=9.0, mask='full')", 1000, 10.0, {}),
    "full n=64 d=3, general V": ("dict(dim=3, beta=4.0, mask='full', value=np.diag([1, 0.5, -0.3]))", 64, 20.0, {}),
    "full n=500 d=64": ("dict(dim=64, beta=4.0, mask='full')", 500, 2.0, {}),
    "general n=300 d=64": ("dict(dim=64, value=flock.weights.ginibre(64, 1))", 300, 2.0, {}),
    "layers n=100 d=3": ("dict(dim=3, beta=4.0)", 100, 20.0, {"scheme": "layers", "dt": 0.1}),
    "rescaled n=50 d=3": ("dict(dim=3, space='rescaled', mask='full')", 50, 10.0, {}),
    "implicit n=200 d=2 t=1e30": ("dict(dim=2, beta=64.0)", 200, 1e30, {"scheme": "rosenbrock"}),
    "implicit n=60 d=5 t=1e6": ("dict(dim=5, beta=4.0)", 60, 1e6, {"scheme": "rosenbrock"}),
    "implicit full n=20 d=2": ("dict(dim=2, beta=16.0, mask='full')", 20, 1e3, {"scheme": "rosenbrock"}),
    "harmonic n=100,000 d=2": ("dict(dim=2, beta=64.0)", 100_000, 0.5, {"engine": "harmonic"}),
    "64 runs, causal n=200": ("dict(dim=2, beta=64.0)", (64, 200), 150.0, {}),
}
MEASURE = """
import sys, time, json, numpy as np, tokenflock as flock
options, n, t_end, how = json.loads(sys.argv[1])
model = flock.Model(**eval(options))
runs, n = n if isinstance(n, list) else (None, n)
make = flock.cube if model.space == "rescaled" else flock.uniform
x = make(n, model.dim, seed=0, runs=runs)
follow = lambda: flock.simulate(model, x, t_end, times=[t_end] if runs else None, progress=False, **how)
follow()
best, began = float("inf"), time.perf_counter()
while time.perf_counter() - began < 1.5:
    first = time.perf_counter()
    follow()
    best = min(best, time.perf_counter() - first)
print(best)
"""


def seconds(source: Path, row: tuple[object, ...], threads: str) -> float:
    """The best of one process."""
    env = os.environ | {"TOKENFLOCK_THREADS": threads}
    env["PYTHONPATH"] = os.pathsep.join([str(source.resolve()), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", MEASURE, json.dumps(row)]
    return float(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the folder src of the other version")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    print(f"{'row':34s} {'threads':>7s} {'other ms':>10s} {'this ms':>10s} {'ratio':>6s}")
    for name, row in ROWS.items():
        for threads in asked.threads.split(",") if asked.only in name else ():
            best = {"other": float("inf"), "this": float("inf")}
            for _ in range(asked.turns):
                for which, source in (("other", asked.other), ("this", HERE.parent / "src")):
                    best[which] = min(best[which], seconds(source, row, threads))
            ratio = best["this"] / best["other"]
            told = f"{1e3 * best['other']:10.2f} {1e3 * best['this']:10.2f} {ratio:6.2f}"
            print(f"{name:34s} {threads:>7s} {told}", flush=True)


if __name__ == "__main__":
    main()
