"""Runs to the end of time: implicit steps against the explicit ones that they stand for, merge trees, extended runs.

No explicit scheme can come to t = 1e30, so what it would need is its evaluations a unit of time, over a stretch
in which nothing happens, times 1e30. Options: --quick (smaller), --runs N (of the ensemble), --out FILE.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tokenflock as flock
from run import machine
from tokenflock.analysis import metastability

STRETCH = 400.0  # of explicit steps, from the state at t = 1e3 on
ROWS: list[dict[str, Any]] = []


def timed(job: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The best of several, warm; once only if repeats is 0, for what takes minutes and shares its kernels."""
    if repeats:
        job()
    best, made = float("inf"), None
    for _ in range(max(repeats, 1)):
        began = time.perf_counter()
        made = job()
        best = min(best, time.perf_counter() - began)
    return best, made


def row(name: str, **numbers: Any) -> None:
    """Keep and print."""
    ROWS.append({"name": name, **numbers})
    print(json.dumps(ROWS[-1]), flush=True)


def to_the_end(n_tokens: int, beta: float, t_end: float, repeats: int) -> None:
    """One run to t_end: seconds, evaluations, and what explicit steps would need."""
    model, start = flock.Model(dim=2, beta=beta), flock.uniform(n_tokens, 2, seed=0)
    go = lambda: flock.simulate(model, start, t_end, times=[1e3, t_end], scheme="rosenbrock")  # noqa: E731
    seconds, run = timed(go, repeats)
    quiet = run["x"].values[0]
    explicit = flock.simulate(model, quiet, STRETCH, times=[STRETCH], scheme="tsit5")
    needed = explicit.attrs["evaluations"] / STRETCH * t_end
    row(
        f"n={n_tokens:,}, beta={beta:g}, to t={t_end:g}",
        seconds=round(seconds, 3),
        evaluations=run.attrs["evaluations"],
        explicit_evaluations=float(f"{needed:.3g}"),
        ratio=float(f"{needed / run.attrs['evaluations']:.3g}"),
        outcome=run.attrs["outcome"],
    )


def merge_trees(runs: int, n_tokens: int, beta: float) -> None:
    """Merge times of an ensemble."""
    starts = flock.uniform(n_tokens, 2, seed=1, runs=runs)
    flock.merge_tree(flock.Model(dim=2, beta=beta), starts[0, :5])
    began = time.perf_counter()
    made = flock.merge_tree(flock.Model(dim=2, beta=beta), starts, energy=False)
    seconds = time.perf_counter() - began
    found = metastability.quantiles(made)
    row(
        f"merge trees of {runs} runs, n={n_tokens}, beta={beta:g}, to collapse",
        seconds=round(seconds, 2),
        seconds_a_run=round(seconds / runs, 3),
        collapsed=int((made["count"].values[:, -1] == 1).sum()),
        last_merges_log10={
            str(q): np.log10(found["merge_time"].sel(quantile=q).values[:6]).round(2).tolist() for q in (0.1, 0.5, 0.9)
        },
    )


def extended(n_old: int, n_new: int, repeats: int) -> None:
    """Tokens added to a finished run, against the run of all of them."""
    model, x = flock.Model(dim=8, beta=4.0), flock.uniform(n_old + n_new, 8, seed=2)  # no engine linear in n here
    times = np.linspace(0, 30, 301)
    run = flock.simulate(model, x[:n_old], 30.0, times=times)
    whole, _ = timed(lambda: flock.simulate(model, x, 30.0, times=times), repeats)
    first, longer = timed(lambda: flock.extend(run, x[n_old:-1]), repeats)
    later, longest = timed(lambda: flock.extend(longer, x[-1:]), repeats)
    best = flock.simulate(model, x, 30.0, times=times, rtol=1e-10, atol=1e-12)["x"].values
    row(
        f"{n_new} tokens added to {n_old:,}, d=8, t=30",
        all_at_once_s=round(whole, 3),
        extend_s=round(first, 3),
        one_more_s=round(later, 3),
        ratio=round(whole / later, 2),
        error=float(f"{np.abs(longest['x'].values - best).max():.2g}"),
    )


def main() -> None:
    """All rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int, default=None)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    repeats = 1 if options.quick else 3
    about = machine()
    print(json.dumps(about), flush=True)
    to_the_end(200, 64.0, 1e30, repeats)
    to_the_end(500 if options.quick else 2000, 64.0, 1e30, 0)
    merge_trees(options.runs or (8 if options.quick else 100), 200, 64.0)
    extended(500 if options.quick else 2000, 8, 1)
    if options.out is not None:
        command = "python benchmarks/long_times.py" + "".join(f" {a}" for a in sys.argv[1:])
        options.out.write_text(json.dumps({"command": command, "machine": about, "rows": ROWS}, indent=1) + "\n")
        print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
