"""Many runs: what a run costs in a sweep, on one worker, on more, on Dask, and what a finished store costs to resume.

The work is n = 32, d = 3, beta = 9, t = 50, the number of clusters recorded. Rows:

    bare        flock.simulate on one ensemble with one thread, and clusters.count: no sweep at all
    N workers   flock.sweep with N processes, and its store
    limit       two sweeps of one process each, at the same time, half of the runs each: what two processes can do here
    N on dask   cluster="local" with N workers
    resume      the same call on the finished store

start_s is the time up to the first shard that is done, steady_ms a run the rest of them. busy is the share of the
workers' time in which they computed: what two workers lack of two times one although they are busy is the machine's
(shared cores, caches). feeder is the processor time of the process that gives out shards, as a share of all.

Options: --runs N (20,000), --workers 1,2, --mask full, --no-dask, --out FILE.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from run import machine

ROWS: list[dict[str, Any]] = []
WHOLE = 100_000  # the size of the target
ALONE = "import sys, sweeps; sweeps.swept(int(sys.argv[1]), sys.argv[2], sys.argv[3], workers=1)"


def swept(runs: int, mask: str, store: str | Path, **means: Any) -> Any:
    """The sweep."""
    import tokenflock as flock
    from tokenflock.sweeps import sweep

    model = flock.Model(dim=3, beta=9.0, mask=mask)
    return sweep(model, n_tokens=32, t_end=50.0, replicates=runs, store=store, runs_a_shard=200, **means)


def row(name: str, runs: int, seconds: float, **more: Any) -> float:
    """Keep and print."""
    ROWS.append({"name": name, "runs": runs, "seconds": round(seconds, 2), "ms_a_run": round(1e3 * seconds / runs, 3)})
    ROWS[-1] |= {"seconds_for_100000": round(seconds / runs * WHOLE, 1), **more, "load": round(os.getloadavg()[0], 1)}
    print(json.dumps(ROWS[-1]), flush=True)
    return seconds


def bare(runs: int, mask: str) -> float:
    """The runs without a sweep, on one thread."""
    os.environ["TOKENFLOCK_THREADS"] = "1"
    import tokenflock as flock
    from tokenflock.analysis import clusters

    model, start = flock.Model(dim=3, beta=9.0, mask=mask), flock.uniform(32, 3, runs=runs)
    flock.simulate(model, start[:2], 50.0, times=[50.0])
    began = time.perf_counter()
    ends = flock.simulate(model, start, 50.0, times=[50.0], progress=False)["x"].values[:, -1]
    for x in ends:
        clusters.count(x, 0.05)
    del os.environ["TOKENFLOCK_THREADS"]
    return row("bare", runs, time.perf_counter() - began)


def processor(who: int) -> float:
    """Seconds of processor time, of this process or of those that it started."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def timed(name: str, runs: int, mask: str, store: Path, workers: int, **means: Any) -> dict[str, Any]:
    """A sweep with its row: the start of its workers counts, and is told apart."""
    marks: list[tuple[float, float]] = []

    def mark(fraction: float) -> None:
        marks.append((time.perf_counter(), fraction))

    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    began, before = time.perf_counter(), [processor(w) for w in who]
    swept(runs, mask, store, workers=workers, progress=mark, **means)
    seconds = time.perf_counter() - began
    feeder, worked = (processor(w) - b for w, b in zip(who, before, strict=True))
    (first, share), (last, _) = marks[0], marks[-1]
    told = {
        "start_s": round(first - began, 2),
        "steady_ms": round(1e3 * (last - first) / ((1 - share) * runs), 3),
        "cpu_ms": round(1e3 * (feeder + worked) / runs, 3),
        "busy": round(worked / (workers * seconds), 3),
        "feeder": round(feeder / (feeder + worked), 4),
    }
    row(name, runs, seconds, **told)
    return ROWS[-1]


def together(runs: int, mask: str, folder: Path) -> float:
    """Two sweeps at the same time."""
    began = time.perf_counter()
    words = [[sys.executable, "-c", ALONE, str(runs // 2), mask, str(folder / f"half{k}.zarr")] for k in range(2)]
    both = [subprocess.Popen(command, cwd=Path(__file__).parent) for command in words]
    assert not any(process.wait() for process in both)
    return time.perf_counter() - began


def main() -> None:
    """All rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--mask", default="causal")
    parser.add_argument("--no-dask", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    crews = [int(count) for count in given.workers.split(",")]
    folder = Path(tempfile.mkdtemp(prefix="tokenflock-bench-"))
    work = (given.runs, given.mask)
    try:
        bare(min(given.runs, 2_000), given.mask)
        swept(
            min(given.runs, 400), given.mask, folder / "warm.zarr", workers=1
        )  # files are read from memory from now on
        for count in crews:
            one = timed(f"{count} workers", *work, folder / f"{count}.zarr", count)
            one["faster_than_one"] = round(ROWS[1]["steady_ms"] / one["steady_ms"], 2)
            if not given.no_dask:
                dask = timed(f"{count} on dask", *work, folder / f"dask{count}.zarr", count, cluster="local")
                kinds = {"seconds": "overhead", "steady_ms": "overhead_steady", "cpu_ms": "overhead_cpu"}
                dask |= {name: round(dask[key] / one[key] - 1, 3) for key, name in kinds.items()}
                print({name: dask[name] for name in kinds.values()}, flush=True)
        row("limit", given.runs, together(*work, folder))
        began = time.perf_counter()
        swept(*work, folder / f"{crews[-1]}.zarr")
        row("resume", given.runs, time.perf_counter() - began)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.out:
        given.out.write_text(json.dumps({"machine": machine(), "mask": given.mask, "rows": ROWS}, indent=1) + "\n")


if __name__ == "__main__":
    main()
