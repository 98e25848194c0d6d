"""Many runs: what a run costs in a sweep, on one worker, on two, on Dask, and what a finished store costs to resume.

The work is n = 32, d = 3, beta = 9, t = 50, the number of clusters recorded. Rows:

    bare        flock.simulate on one ensemble with one thread, and clusters.count: no sweep at all
    1 worker    flock.sweep with one process, and its store
    2 workers   the same with two
    limit       two sweeps of one process each, at the same time, half of the runs each: what two processes can do here
    dask        cluster="local" with two workers
    resume      the same call on the finished store

Options: --runs N (20,000), --mask full, --no-dask, --out FILE.json.
"""

from __future__ import annotations

import argparse
import json
import os
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
    ROWS[-1] |= {"seconds_for_100000": round(seconds / runs * WHOLE, 1), **more}
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


def timed(runs: int, mask: str, store: Path, **means: Any) -> float:
    """Seconds of a sweep; the start of its workers counts."""
    began = time.perf_counter()
    swept(runs, mask, store, **means)
    return time.perf_counter() - began


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
    parser.add_argument("--mask", default="causal")
    parser.add_argument("--no-dask", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tokenflock-bench-"))
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)
    try:
        bare(min(given.runs, 2_000), given.mask)
        one = row("1 worker", given.runs, timed(given.runs, given.mask, folder / "one.zarr", workers=1))
        two = timed(given.runs, given.mask, folder / "two.zarr", workers=2)
        row("2 workers", given.runs, two, faster_than_one=round(one / two, 2))
        limit = together(given.runs, given.mask, folder)
        row("limit", given.runs, limit, faster_than_one=round(one / limit, 2))
        if not given.no_dask:
            dask = timed(given.runs, given.mask, folder / "dask.zarr", workers=2, cluster="local")
            row("dask", given.runs, dask, overhead=round(dask / two - 1, 3))
        resumed = timed(given.runs, given.mask, folder / "two.zarr")
        row("resume", given.runs, resumed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.out:
        given.out.write_text(json.dumps({"machine": machine(), "mask": given.mask, "rows": ROWS}, indent=1) + "\n")


if __name__ == "__main__":
    main()
