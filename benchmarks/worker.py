"""One measurement in a process of its own: worker.py '{"what": ..., "cores": ...}' prints one line of JSON.

A process of its own, because the number of threads of jax, torch and BLAS is fixed when they are imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path

ORDER = json.loads(sys.argv[1])
CORES = int(ORDER["cores"])
TEAM = contextlib.ExitStack()  # the helpers of a wide evaluation, until the measurement ends
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "TOKENFLOCK_THREADS"):
    os.environ[name] = str(CORES)
if CORES == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import numpy as np  # noqa: E402

from peers import PEERS, jax_field  # noqa: E402
from work import WORKS, Work  # noqa: E402


def timed(call, repeats: int) -> tuple[float, float]:
    """First call, and the best of the following."""
    began = time.perf_counter()
    call()
    first = time.perf_counter() - began
    best = first
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
    return first, best


def solve(order: dict) -> dict:
    """A whole run or ensemble; the largest error over all recorded times if a reference file is named."""
    work = WORKS[order["work"]]
    work = Work(**{**work.__dict__, "rtol": order.get("rtol", work.rtol), "runs": order.get("runs", work.runs)})
    starts = work.starts
    run = PEERS[order["peer"]](work)
    first, best = timed(lambda: run(starts), order["repeats"])
    row = {"first_s": first, "best_s": best}
    if order.get("reference"):
        error = np.linalg.norm(run(starts) - np.load(order["reference"]), axis=-1).max(axis=(1, 2))
        row |= {"worst_error": float(error.max()), "median_error": float(np.median(error))}
    return row


def reference(order: dict) -> dict:
    """The same work at rtol 1e-12, saved."""
    work = WORKS[order["work"]]
    tight = Work(**{**work.__dict__, "rtol": 1e-12, "atol": 1e-13, "runs": order.get("runs", work.runs)})
    np.save(order["file"], PEERS["tokenflock"](tight)(tight.starts))
    return {}


def evaluation(model, x, wide: bool):
    """A function of nothing that evaluates the velocity once, with the kernels of a run and all arrays in place."""
    from tokenflock.engine.explicit import stepper as cpu

    right, y = cpu.by_pairs(model, len(x), "float64", wide), cpu.state_of(model, x, "float64")
    out = np.zeros_like(y)
    TEAM.enter_context(right.ready())
    return lambda: right.kernel(right.sums, right.part, right.field, y, 0.0, 0, out)


def velocity(order: dict) -> dict:
    """One evaluation in high dimension, against jitted jax."""
    import tokenflock as flock

    n, d, mask = order["n"], order["d"], order["mask"]
    x = flock.uniform(n_tokens=n, dim=d, seed=0)
    if order["peer"] == "tokenflock":
        call = evaluation(flock.Model(dim=d, beta=1.0, mask=mask), x, wide=CORES > 1)
    else:
        import jax
        import jax.numpy as jnp

        field = jax.jit(jax_field(n, 1.0, mask))
        on_device = jnp.asarray(x)
        call = lambda: field(on_device).block_until_ready()  # noqa: E731
    first, best = timed(call, order["repeats"])
    return {"first_s": first, "best_s": best}


def pairs(order: dict) -> dict:
    """Exact pairs a second on one core."""
    import tokenflock as flock

    n, causal = order["n"], order["mask"] == "causal"
    x = flock.uniform(n_tokens=n, dim=order["d"], seed=0)
    call = evaluation(flock.Model(dim=order["d"], beta=64.0, mask=order["mask"]), x, wide=False)
    first, best = timed(call, order["repeats"])
    return {"first_s": first, "best_s": best, "pairs_per_s": (n * (n + 1) / 2 if causal else n * n) / best}


def first_call(order: dict) -> dict:
    """Import and first simulate in a fresh process, with the kernels' cache empty or filled."""
    began = time.perf_counter()
    import tokenflock as flock

    model = flock.Model(**order["model"])
    flock.simulate(model, flock.uniform(n_tokens=50, dim=model.dim, seed=0), 1.0, progress=False)
    return {"best_s": time.perf_counter() - began}


def figure(order: dict) -> dict:
    """causal/3 drawn and saved; first with a few runs, which is when kernels are compiled."""
    from tokenflock import plot
    from tokenflock.papers import figures

    def draw(runs: int) -> float:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            plot.save(figures.figure("causal/3", runs=runs), folder, "figure")
        return time.perf_counter() - began

    return {"first_s": draw(8), "best_s": draw(order["runs"])}


def reproduce(order: dict) -> dict:
    """Everything about paper A into an empty folder; first once in quick sizes, which is when kernels are compiled."""
    from tokenflock.papers import claims, figures, report

    for names in (claims.NAMES, figures.NAMES):
        for name in [name for name in names if not name.startswith(order.get("only", "causal/"))]:
            del names[name]

    def everything(quick: bool) -> tuple[float, list[str]]:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            made = report.reproduce(folder, quick)
            seconds = time.perf_counter() - began
            if made.failed:
                raise RuntimeError(f"failed: {', '.join(made.failed)}")
            there = {path.stem for path in Path(folder).glob("[cf]*/*.json")}
        wanted = [name.replace("/", "-") for names in (claims.NAMES, figures.NAMES) for name in names]
        return seconds, sorted(set(wanted) - there)

    first, _ = everything(quick=True)
    best, missing = everything(order["quick"])
    return {"first_s": first, "best_s": best, "without": missing}  # what needs weights or a package that is not here


WHATS = {
    "solve": solve,
    "reference": reference,
    "velocity": velocity,
    "pairs": pairs,
    "first": first_call,
    "figure": figure,
    "reproduce": reproduce,
}

if __name__ == "__main__":
    with TEAM:
        print(json.dumps(WHATS[ORDER["what"]](ORDER)))
