"""The harmonic engine: its speed beside a C program on one core, how well auto chooses. (Its cost: cost.py.)

    python benchmarks/harmonic.py            one velocity, beside limits/harmonic.c compiled and run in between
    python benchmarks/harmonic.py --fit      the constants of engine/harmonic_cost.py
    python benchmarks/harmonic.py --grid     the cost model against the clock, over a grid
    python benchmarks/harmonic.py --run      a million tokens to t = 20, with its peak memory

Times are the best of several, warm. The load is printed, and CPU seconds beside wall seconds: on a busy machine only
CPU seconds and ratios say much. What runs on one core is fitted and compared in CPU seconds.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tokenflock as flock
from tokenflock.engine.contract import Task
from tokenflock.engine.explicit.stepper import by_pairs, state_of
from tokenflock.engine.harmonic.cost import MOST_TOKENS, few_registers, pairs_s, registers_for, waves_s
from tokenflock.engine.harmonic.engine import HarmonicStepper
from tokenflock.engine.harmonic.few import by_few_waves
from tokenflock.engine.machine import threads
from tokenflock.masks import visible
from tokenflock.model import Model
from tokenflock.schemes import TSIT5

HERE = Path(__file__).parent
TOLERANCES = 1e-6  # rtol and atol of a run of few tokens: what its waves must keep


def best_of(call: Callable[[], object], repeats: int = 7) -> tuple[float, float]:
    """Wall and CPU seconds of the fastest call, each by itself, after one to warm up."""
    call()
    seconds = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        seconds.append((time.perf_counter() - wall, time.process_time() - cpu))
    return min(wall for wall, _ in seconds), min(cpu for _, cpu in seconds)


def core_s(call: Callable[[], object], repeats: int = 5) -> float:
    """CPU seconds of a call that keeps to one core."""
    return best_of(call, repeats)[1]


def waves(model: Model, n: int, wide: bool, tolerance: float = 1e-13) -> tuple[Callable[[], None], np.ndarray]:
    """A call that evaluates one velocity by waves, and the array it fills, (d, columns)."""
    x = flock.uniform(n, model.dim, seed=0)
    work = Task(model, 1.0, TSIT5, None, 1.0, 1.0, "float64", 0)
    stepper = HarmonicStepper(work, x, 0, wide, None, tolerance, lambda error: None)
    y = state_of(model, x, "float64")
    out = np.zeros_like(y)
    return lambda: stepper.velocity(y, 0.0, out), out


def pairs(model: Model, n: int) -> Callable[[], None]:
    """A call that evaluates one velocity by pairs, on one core."""
    x = flock.uniform(n, model.dim, seed=0)
    y, right_side = state_of(model, x, "float64"), by_pairs(model, n, "float64")
    out = np.zeros_like(y)
    return lambda: right_side.velocity(y, 0.0, "post", out)


def few(model: Model, n: int) -> Callable[[], None]:
    """A call that evaluates one velocity by the waves of few tokens, on one core."""
    x = flock.uniform(n, model.dim, seed=0)
    work = Task(model, 1.0, TSIT5, None, TOLERANCES, 0.0, "float64", 0)
    y, right_side = state_of(model, x, "float64"), by_few_waves(work, n, wide=False)
    out = np.zeros_like(y)
    return lambda: right_side.velocity(y, 0.0, "post", out)


def limit() -> Callable[[], float] | None:
    """A call that runs the C program and returns its seconds; None without a compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    program = Path(tempfile.mkdtemp()) / "harmonic"
    flags = ["-O3", "-march=native", "-o", str(program), str(HERE / "limits" / "harmonic.c"), "-lm"]
    if subprocess.run([compiler, *flags], check=False, capture_output=True).returncode:
        return None

    def run() -> float:
        text = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
        found = re.search(r"one core: ([0-9.]+) s", text)
        assert found is not None, text
        return float(found[1])

    return run


def error_of(model: Model, n: int, out: np.ndarray, rows: int = 20) -> float:
    """The largest error of some rows of a velocity of V = I, by pairs in numpy."""
    x = flock.uniform(n, model.dim, seed=0)
    lo, hi = visible(model.mask, n)
    worst = 0.0
    for i in np.random.default_rng(1).integers(n, size=rows):
        seen = x[lo[i] : hi[i]]
        w = np.exp(model.beta * (seen @ x[i] - 1.0))
        pull = w @ (seen - x[i]) / w.sum()
        worst = max(worst, float(np.abs(pull - (pull @ x[i]) * x[i] - out[: model.dim, i]).max()))
    return worst


def speed() -> None:
    """The rows that are promised."""
    c = limit()
    rows = [
        (flock.Model(dim=2, beta=64.0), 10**6, 1e-13, 0.12),
        (flock.Model(dim=2, beta=64.0, mask="full"), 10**6, 1e-13, 0.12),
        (flock.Model(dim=2, beta=64.0, mask=flock.Window(1000)), 10**6, 1e-13, None),
        (flock.Model(dim=2, beta=64.0), 10**7, 1e-13, 1.2),
        (flock.Model(dim=3, beta=16.0), 10**5, 1e-10, 1.0),
    ]
    for model, n, tolerance, promised in rows:
        mask = model.mask if isinstance(model.mask, str) else f"window {model.mask.width}"
        for wide in (False, True):
            call, out = waves(model, n, wide, tolerance)
            before = c() if c else float("nan")
            seconds, cpu = best_of(call)
            beside = min(before, c()) if c else float("nan")
            cores = threads() if wide else 1
            told = "" if promised is None or not wide else f"  promised {promised:g}"
            ratio = f"  C on one core {beside:.4f} s, speed over it {beside * (n / 1e6) / seconds:.2f}"
            print(
                f"d={model.dim} n={n:.0e} beta={model.beta:g} {mask:12s} {cores} core(s) {seconds:.4f} s{told} "
                f"(CPU {cpu:.4f} s)  error {error_of(model, n, out):.1e}{ratio if model.dim == 2 else ''}",
                flush=True,
            )


MASKS = ("causal", "full", flock.Window(500), flock.Window(500, causal=False))


def fit() -> None:
    """Seconds a pair; seconds a token and a token and register, from a straight line over the registers."""
    for dim, mask in itertools.product((2, 3), MASKS):
        n = 12_000
        lo, hi = visible(mask, n)
        pair = core_s(pairs(flock.Model(dim=dim, beta=9.0, mask=mask), n)) / float((hi - lo).sum())
        points = []
        for b in (1.0, 4.0, 16.0, 64.0) + ((1024.0,) if dim == 2 else ()):
            call, _ = waves(flock.Model(dim=dim, beta=b, mask=mask), n, False)
            points.append((registers_for(flock.Model(dim=dim, beta=b, mask=mask), n), core_s(call) / n))
        slope, base = np.polyfit(*np.array(points).T, 1)
        print(f"d={dim} {mask}: pair {pair:.2e} s, token {base:.1e} s, token and register {slope:.1e} s", flush=True)
    for dim, mask in itertools.product((2, 3), MASKS[:2]):
        n, points = MOST_TOKENS, []  # the call from Python, some 40 microseconds, is no part of it
        for b in (1.0, 9.0, 30.0) + ((300.0,) if dim == 2 else ()):
            model = flock.Model(dim=dim, beta=b, mask=mask)
            points.append((few_registers(model, n, TOLERANCES), core_s(few(model, n), 50) / n))
        slope, base = np.polyfit(*np.array(points).T, 1)
        print(f"few tokens, d={dim} {mask}: token {base:.1e} s, token and register {slope:.1e} s", flush=True)


def grid() -> None:
    """How often the cost model picks the faster engine; ties within 10 % count as right."""
    right = total = 0
    for dim, mask in itertools.product((2, 3), (*MASKS[:2], flock.Window(100), flock.Window(2000))):
        for n, b in itertools.product(
            (2_500, 8_000, 25_000), (4.0, 100.0, 20_000.0) if dim == 2 else (1.0, 10.0, 60.0)
        ):
            model = flock.Model(dim=dim, beta=b, mask=mask)
            by_pairs, by_waves = core_s(pairs(model, n), 3), core_s(waves(model, n, False)[0], 3)
            faster, picked = by_waves < by_pairs, waves_s(model, n) < pairs_s(model, n)
            good = faster == picked or max(by_pairs, by_waves) < 1.1 * min(by_pairs, by_waves)
            right, total = right + good, total + 1
            if not good:
                print(f"  wrong: d={dim} n={n} beta={b:g} {mask}: pairs {by_pairs:.4f} s, waves {by_waves:.4f} s")
    print(f"the cost model picks the faster engine in {right} of {total} cases", flush=True)


def whole_run() -> None:
    """A million tokens to t = 20 at rtol 1e-5, 21 frames: promised in 60 s and 1 GB."""
    x = flock.uniform(10**6, 2, seed=0)
    began, cpu = time.perf_counter(), time.process_time()
    run = flock.simulate(
        flock.Model(dim=2, beta=64.0), x, 20.0, times=np.linspace(0.0, 20.0, 21), rtol=1e-5, progress=False
    )
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(
        f"n=1e6 to t=20: {seconds:.1f} s (CPU {cpu:.1f} s), {run.attrs['evaluations']} evaluations, "
        f"peak {peak:.2f} GB, engine {run.attrs['engine']}, velocity error {run.attrs['velocity_error']:.1e}"
    )


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    jobs = {"fit": fit, "grid": grid, "run": whole_run}
    for name in jobs:
        parser.add_argument(f"--{name}", action="store_true")
    wanted = [name for name, asked in vars(parser.parse_args()).items() if asked]
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    for job in [jobs[name] for name in wanted] or [speed]:
        job()
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
