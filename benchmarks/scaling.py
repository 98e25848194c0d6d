"""The same work on 1, 2, 4, 8 and 16 cores: ensembles of short runs, and single large ones.

    python benchmarks/scaling.py --cores 1,2,4,8,16 --out FILE.json --plot FILE.png

Rows: 512 runs of the main case of paper A (causal, n = 200, d = 2, beta = 64, t = 150); 512 of full attention (n = 64,
d = 3, V = diag(1, .5, -.3), beta = 4, t = 20); 5,000 runs of 32 tokens (d = 3, beta = 4, t = 50); one run of n = 4,000,
d = 8, beta = 4, full, to t = 5; one of n = 2,000, d = 64 with general Q, K, V to t = 1. Every count of cores has a
process of its own, held to so many cores, warm before the clock starts; the counts go in turns, and the best of the
turns counts. processor_ms is the processor time a run.

at_most is what the machine gives: as many processes, each alone with the same work on a core of its own, at one time
against one of them alone. They share nothing but the machine: its memory, its clock, and cores that are two halves of
one. --limits names the rows that it is measured for.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from run import machine

ROWS = ("flagship", "full", "small", "wide", "general")
TITLES = {
    "flagship": "512 runs, causal, n = 200",
    "full": "512 runs, full, n = 64",
    "small": "5,000 runs, n = 32",
    "wide": "one run, n = 4,000, d = 8",
    "general": "one run, n = 2,000, d = 64, general",
}


def work(row: str) -> tuple[Any, Any, float]:
    """The model, the start and the end of a row."""
    import numpy as np

    import tokenflock as flock

    if row == "flagship":
        return flock.Model(dim=2, beta=64.0), flock.uniform(200, 2, seed=0, runs=512), 150.0
    if row == "full":
        model = flock.Model(dim=3, beta=4.0, mask="full", value=np.diag([1.0, 0.5, -0.3]))
        return model, flock.uniform(64, 3, seed=0, runs=512), 20.0
    if row == "small":
        return flock.Model(dim=3, beta=4.0), flock.uniform(32, 3, seed=0, runs=5000), 50.0
    if row == "wide":
        return flock.Model(dim=8, beta=4.0, mask="full"), flock.uniform(4000, 8, seed=0), 5.0
    draw = np.random.default_rng(0)
    query, key, value = (draw.standard_normal((64, 64)) / 8.0 for _ in range(3))
    return flock.Model(dim=64, mask="full", query=query, key=key, value=value), flock.uniform(2000, 64, seed=0), 1.0


def serve(row: str) -> None:
    """In a process of its own: warm up, then time one call for each line that comes in."""
    import tokenflock as flock

    model, start, t_end = work(row)
    runs = len(start) if start.ndim == 3 else 1
    flock.simulate(
        model, start[:64] if runs > 1 else start, t_end if runs > 1 else t_end / 20, times=[0.0], progress=False
    )
    few = start[: max(2, len(os.sched_getaffinity(0)))] if runs > 1 else start
    flock.simulate(model, few, t_end, times=[t_end], engine="cpu", progress=False)
    print("ready", flush=True)
    for _ in sys.stdin:
        began, used = time.perf_counter(), time.process_time()
        flock.simulate(model, start, t_end, times=[t_end], engine="cpu", progress=False)
        seconds, used = time.perf_counter() - began, time.process_time() - used
        print(json.dumps({"seconds": seconds, "processor_ms": 1e3 * used / runs}), flush=True)


Crew = subprocess.Popen[str]


def started(row: str, cores: str, threads: int) -> Crew:
    """A process that serves a row on some cores; it says when it is ready."""
    return subprocess.Popen(
        ["taskset", "-c", cores, sys.executable, __file__, "--serve", row],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TOKENFLOCK_THREADS": str(threads)},
    )


def hear(crew: Crew) -> str:
    """A line that a process says."""
    assert crew.stdout is not None
    return crew.stdout.readline()


def say(crew: Crew) -> None:
    """Tell a process to do its work once."""
    assert crew.stdin is not None
    crew.stdin.write("go\n")
    crew.stdin.flush()


def measured(row: str, counts: list[int], turns: int) -> dict[int, dict[str, float]]:
    """The best of the turns, for each count of cores."""
    found: dict[int, dict[str, float]] = {}
    crews = {}
    for cores in counts:
        crews[cores] = started(row, f"0-{cores - 1}", cores)
        hear(crews[cores])
    for _ in range(turns):
        for cores, crew in crews.items():
            say(crew)
            told = json.loads(hear(crew))
            if cores not in found or told["seconds"] < found[cores]["seconds"]:
                found[cores] = told
    for crew in crews.values():
        crew.communicate()
    return found


def at_most(row: str, counts: list[int], turns: int) -> dict[int, float]:
    """How many times as much work as one process does, so many processes do together."""
    crews = [started(row, f"{core}", 1) for core in range(max(counts))]
    for crew in crews:
        hear(crew)
    best: dict[int, float] = {}
    for _ in range(turns):
        for count in counts:
            for crew in crews[:count]:
                say(crew)
            took = max(json.loads(hear(crew))["seconds"] for crew in crews[:count])
            best[count] = min(took, best.get(count, took))
    for crew in crews:
        crew.communicate()
    return {count: count * best[counts[0]] / (best[count] * counts[0]) for count in counts}


def draw(rows: dict[str, dict[int, dict[str, float]]], file: Path) -> None:
    """Speed-up against cores."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4.5), layout="constrained")
    axes = figure.subplots()
    for row, found in rows.items():
        cores = sorted(found)
        axes.plot(cores, [found[cores[0]]["seconds"] / found[c]["seconds"] for c in cores], "o-", label=TITLES[row])
        if "at_most" in found[cores[0]]:
            axes.plot(cores, [found[c]["at_most"] for c in cores], "--", color=axes.lines[-1].get_color(), linewidth=1)
    top = max(c for found in rows.values() for c in found)
    axes.plot([1, top], [1, top], "k:", label="as many times as cores")
    axes.set(xscale="log", yscale="log", xlabel="cores", ylabel="times as fast as on one core")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(
            [2**k for k in range(top.bit_length())], [str(2**k) for k in range(top.bit_length())], minor=False
        )
    axes.legend()
    figure.savefig(file, dpi=150)


def main() -> None:
    """All rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", default="1,2")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--limits", default="", help="rows, such as wide,general")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", type=Path, help="a JSON file of the rows")
    parser.add_argument("--plot", type=Path, help="a picture of the speed-ups")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve)
        return
    there = len(os.sched_getaffinity(0))
    counts = [int(count) for count in given.cores.split(",")]
    if max(counts) > there:
        parser.error(f"--cores {given.cores}: this machine has {there}. Give counts from 1 to {there}.")
    rows = {}
    for row in given.rows.split(","):
        rows[row] = measured(row, counts, given.turns)
        first = rows[row][counts[0]]["seconds"]
        for cores, most in at_most(row, counts, 2).items() if row in given.limits.split(",") else ():
            rows[row][cores]["at_most"] = most
        for cores, told in rows[row].items():
            print(
                f"{TITLES[row]:38s} {cores:3d} cores {told['seconds']:8.3f} s  {first / told['seconds']:6.2f} times  "
                f"{told['processor_ms']:8.2f} ms of processor time a run"
                + (f"  at most {told['at_most']:6.2f} times" if "at_most" in told else ""),
                flush=True,
            )
        if given.out:  # after every row: what is done is kept
            given.out.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1))
    if given.plot:
        draw(rows, given.plot)


if __name__ == "__main__":
    main()
