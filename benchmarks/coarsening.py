"""The cells of the study coarsening on all cores, and on a GPU the first phase of those with many tokens.

    python benchmarks/coarsening.py run OUT --seconds 480      # keeps every run as it ends; goes on where it stopped
    python benchmarks/coarsening.py answer OUT                 # the study from the runs that are there, and its tables

`run` writes OUT/coarsening-K.jsonl, a file a call, and makes no run that is in one of them: on a machine that is given
back, copy these files into the new OUT before the next call. A run has the start that the study gives it, so `answer`
is what `tokenflock study coarsening` would say of the cells of which enough runs are there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENFLOCK_THREADS", "1")  # a run a process

import numpy as np

import tokenflock as flock
from tokenflock.geometry import to_sphere
from tokenflock.papers.studies import coarsening, ledger

Cell = tuple[str, int, int, float]
RUNS = 100
BETAS = (16.0, 64.0, 256.0, 1024.0, 4096.0)
ON_GPU = 4  # processes whose first phases share the GPU


def grid(d: int, n: int, betas: Iterable[float]) -> list[Cell]:
    """These cells for both masks."""
    return [(mask, d, n, beta) for beta in betas for mask in coarsening.MASKS]


# In the order of their worth: what ends first is kept.
CORES = [*grid(2, 1000, BETAS), *grid(3, 1000, BETAS[:3]), *grid(2, 10_000, (64.0, 4096.0))]
CORES += [*grid(3, 1000, BETAS[3:]), *grid(2, 10_000, (16.0, 256.0, 1024.0))]
CORES += grid(2, 100_000, (64.0, 4096.0, 16.0, 256.0, 1024.0))
GPU = [
    *grid(2, 1_000_000, (64.0,)),
    *grid(3, 10_000, (64.0,)),
    *grid(2, 1_000_000, (4096.0,)),
    *grid(3, 10_000, (256.0, 16.0)),
    *grid(2, 1_000_000, (16.0, 256.0, 1024.0)),
    *grid(3, 10_000, (1024.0,)),
    *grid(3, 100_000, (64.0, 16.0, 256.0)),
]


def one(cell: Cell, k: int, engine: str) -> dict[str, Any]:
    """Run k of a cell, as the study makes it."""
    mask, d, n, beta = cell
    of_cell = np.random.default_rng([0, zlib.crc32(coarsening._name(*cell).encode())])
    start = to_sphere(np.random.default_rng([int(of_cell.integers(2**31)), k]), (n, d))
    return coarsening.follow(start, beta, mask, engine)


def there(out: Path) -> dict[str, dict[int, Any]]:
    """{cell: {run: what it found}} of all files; a line that was cut off counts as none."""
    found: dict[str, dict[int, Any]] = {}
    for path in sorted(out.glob("coarsening-*.jsonl")):
        for line in path.read_text().splitlines():
            try:
                row = json.loads(line)
                found.setdefault(row["cell"], {})[row["run"]] = row["found"]
            except (ValueError, KeyError):
                continue
    return found


def work(tasks: Any, done: Any, engine: str, until: float) -> None:
    """A process: the next run, until none is left or the time is over."""
    while time.time() < until and (task := tasks.get()) is not None:
        cell, k = task
        began = time.perf_counter()
        try:
            found: Any = one(cell, k, engine)
        except Exception as error:  # of one run: the others go on
            found = {"error": repr(error)}
        done.put((cell, k, engine, time.perf_counter() - began, found))
    done.put(None)


def compile_one(mask: str, d: int, n: int, beta: float) -> None:
    """The kernels of a cell, kept on disk."""
    coarsening.follow(to_sphere(np.random.default_rng(0), (n, d)), beta, mask)


def compile_all() -> None:
    """What all processes that are forked share: compiled side by side, then read from disk."""
    cases = ((2, 200, 64.0), (3, 200, 64.0), (3, 1000, 16.0), (3, 1000, 1024.0), (2, 40_000, 64.0))
    cells = [(mask, *case) for mask in coarsening.MASKS for case in cases]
    workers = [multiprocessing.get_context("spawn").Process(target=compile_one, args=cell) for cell in cells]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for cell in cells:
        compile_one(*cell)


def run(out: Path, seconds: float, runs: int, cores: int, gpu: bool, only: str) -> None:
    """Runs in the order of CORES and GPU until the time is over."""
    out.mkdir(parents=True, exist_ok=True)
    began, kept = time.time(), there(out)
    own, compiled = (multiprocessing.get_context(how) for how in ("spawn", "fork"))
    done, processes, waiting = own.Queue(), [], []  # a queue must live until its processes have it
    lists = [(own, "gpu", GPU, ON_GPU)] if gpu else []  # CUDA wants a process of its own from the beginning
    lists += [(compiled, "auto", CORES if gpu else CORES + GPU, max(1, cores - ON_GPU) if gpu else cores)]
    for context, engine, cells, count in lists:
        waiting.append(tasks := own.Queue())
        if context is compiled:
            compile_all()
            print(f"{time.time() - began:.1f} s: compiled", flush=True)
        for cell in cells:
            name = coarsening._name(*cell)
            for k in range(runs if only in name else 0):
                if k not in kept.get(name, {}):
                    tasks.put((cell, k))
        for _ in range(count):
            tasks.put(None)
            processes.append(context.Process(target=work, args=(tasks, done, engine, began + seconds), daemon=True))
            processes[-1].start()
    path = out / f"coarsening-{len(list(out.glob('coarsening-*.jsonl')))}.jsonl"
    tell(done, len(processes), path, began, seconds)
    for process in processes:
        if process.is_alive():
            process.terminate()


def tell(done: Any, working: int, path: Path, began: float, seconds: float) -> None:
    """Keep what the processes find, and say which cell has how many runs and what they took."""
    spent: dict[str, list[float]] = {}
    with path.open("a") as file:
        while working and (left := began + seconds + 5 - time.time()) > 0:
            try:
                told = done.get(timeout=left)
            except Exception:  # queue.Empty: the time is over
                break
            if told is None:
                working -= 1
                continue
            cell, k, engine, wall, found = told
            name = coarsening._name(*cell)
            if "error" in found:
                print(f"{name}, run {k}: {found['error']}", flush=True)
                continue
            file.write(json.dumps({"cell": name, "run": k, "found": found}) + "\n")
            file.flush()
            times = spent.setdefault(name, [])
            times.append(wall)
            if len(times) % 50 == 0:
                told = f"{len(times)} runs ({engine}), {np.mean(times):.2f} s each"
                print(f"{time.time() - began:.0f} s: {name}: {told}", flush=True)
    for name, times in spent.items():
        print(f"{name}: {len(times)} runs, {np.mean(times):.2f} s each, {np.max(times):.2f} s at most")


def answer(out: Path, runs: int) -> None:
    """The study of the cells of which all runs are there: its journal is written, then it is asked."""
    kept, cells, lines = there(out), [], []
    for cell in sorted({*CORES, *GPU}, key=lambda c: (c[1], c[2], c[0], c[3])):
        name = coarsening._name(*cell)
        found = [kept.get(name, {}).get(k) for k in range(runs)]
        if all(one is not None for one in found):
            cells.append(cell)
            result = {what: [one[what] for one in found] for what in found[0]}
            lines.append(json.dumps({"cell": name, "result": result}))
    print(f"{len(cells)} cells of {len({*CORES, *GPU})} with {runs} runs each", *cells, sep="\n")
    sizes = {"cells": tuple(cells), "runs": runs}
    study = coarsening.coarsening
    key = ledger._key(study, study.parameters(False, sizes), 0, False)
    (out / "coarsening.cells.jsonl").write_text("\n".join([json.dumps({"key": key}), *lines]) + "\n")
    made = flock.study("coarsening", out=out, **sizes)
    for table in made.tables:
        (out / f"coarsening-{table.name}.csv").write_text(table.csv(), encoding="utf-8")
    rows = [["name", "value", "low", "high", "trials", "predicted"]]
    rows += [[n.name, n.value, n.low, n.high, n.trials, n.predicted] for n in made.numbers]
    numbers = ledger.Table("numbers", tuple(rows[0]), tuple(map(tuple, rows[1:])))
    (out / "coarsening-numbers.csv").write_text(numbers.csv(), encoding="utf-8")
    made.figure.savefig(out / "coarsening.png", dpi=150)
    print(made.sentence, *made.surprises, *(f"{c.name}: {c.ok}: {c.found}" for c in made.controls), sep="\n")


def main() -> None:
    """Run cells, or say what they come to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "answer"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=480.0)
    parser.add_argument("--runs", type=int, default=RUNS, help="of every cell")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--gpu", action="store_true", help="first phases of many tokens there")
    parser.add_argument("--only", default="", help="cells whose name has this in it")
    asked = parser.parse_args()
    if asked.what == "run":
        run(asked.out, asked.seconds, asked.runs, asked.cores, asked.gpu, asked.only)
    else:
        answer(asked.out, asked.runs)


if __name__ == "__main__":
    main()
