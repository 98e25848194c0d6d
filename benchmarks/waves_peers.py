"""One velocity of full attention by waves beside the transforms that the field would take: in turns, warm.

    python benchmarks/waves_peers.py [--tokens 1000000] [--cores 1,2] [--out FILE.json]

On the circle the peer is FINUFFT (one transform of type 1, and one of type 2 for mass and pull together), on S^2 ducc0
(an adjoint synthesis, one synthesis for the mass, one of derivatives for the pull), each at its eps = 1e-12. Errors are
the largest of some tokens against sums over all pairs, as parts of the largest velocity. Seconds are the best of five
turns; for several cores every side gets as many threads.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ive

EPS, TURNS, CHECKED = 1e-12, 5, 24
CASES = ((2, 64.0), (2, 4096.0), (3, 16.0), (3, 64.0))


def start(n: int, dim: int) -> np.ndarray:
    """Tokens, uniform on the sphere."""
    import tokenflock as flock

    return flock.uniform(n, dim, seed=0)


def ours(n: int, dim: int, beta: float, threads: int) -> Callable[[], np.ndarray]:
    """A velocity by the harmonic engine, (n, d)."""
    import tokenflock as flock
    from harmonic import waves

    call, out = waves(flock.Model(dim=dim, beta=beta, mask="full"), n, threads > 1)

    def velocity() -> np.ndarray:
        call()
        return out[:, :n].T

    return velocity


def finufft(n: int, beta: float, threads: int) -> Callable[[], np.ndarray]:
    """theta_i' = sum_j w(theta_i - theta_j) sin(theta_j - theta_i) / sum_j w, w = exp(beta (cos - 1))."""
    import finufft

    x = start(n, 2)
    theta = np.arctan2(x[:, 1], x[:, 0])
    most = 8
    while ive(most, beta) > 1e-14 * ive(0, beta):
        most += 8
    k = np.arange(-most, most + 1)
    mass = ive(np.abs(k), beta)
    # exp(beta cos) sin is -1 / beta times the derivative of exp(beta cos), and the pull has the opposite sign.
    pull = 1j * k * mass / beta
    one = finufft.Plan(1, (len(k),), eps=EPS, isign=-1, nthreads=threads)
    two = finufft.Plan(2, (len(k),), eps=EPS, isign=1, nthreads=threads)
    ones = np.ones(n, dtype=complex)

    def velocity() -> np.ndarray:
        one.setpts(theta)
        two.setpts(theta)
        found = two.execute((mass + 1j * pull) * one.execute(ones))  # mass and pull are real: one complex transform
        return (found.imag / found.real)[:, None] * np.stack([-np.sin(theta), np.cos(theta)], axis=1)

    return velocity


def ducc(n: int, beta: float, threads: int) -> Callable[[], np.ndarray]:
    """The gradient of log sum_j exp(beta <x, x_j>) over beta, in the tangent space of x."""
    import ducc0

    x = start(n, 3)
    theta, phi = np.arccos(np.clip(x[:, 2], -1, 1)), np.mod(np.arctan2(x[:, 1], x[:, 0]), 2 * math.pi)
    loc = np.stack([theta, phi], axis=1)
    lmax = 8
    while ive(lmax + 0.5, beta) * (2 * lmax + 1) > 1e-14 * ive(0.5, beta):
        lmax += 8
    factor = 4 * math.pi * math.sqrt(math.pi / (2 * beta)) * ive(np.arange(lmax + 1) + 0.5, beta)  # Funk and Hecke
    weight = np.concatenate([factor[m:] for m in range(lmax + 1)])
    how = {"loc": loc, "lmax": lmax, "epsilon": EPS, "nthreads": threads}
    ones = np.ones((1, n))

    def velocity() -> np.ndarray:
        alm = ducc0.sht.adjoint_synthesis_general(map=ones, spin=0, **how) * weight
        mass = ducc0.sht.synthesis_general(alm=alm, spin=0, **how)[0]
        south, east = ducc0.sht.synthesis_general(alm=alm, spin=1, mode="DERIV1", **how) / (beta * mass)
        st, ct, sp, cp = np.sin(theta), np.cos(theta), np.sin(phi), np.cos(phi)
        return south[:, None] * np.stack([ct * cp, ct * sp, -st], 1) + east[:, None] * np.stack([-sp, cp, 0 * sp], 1)

    return velocity


def error(velocity: np.ndarray, dim: int, beta: float) -> float:
    """The largest error of some tokens, as a part of the largest velocity."""
    n = len(velocity)
    x, some = start(n, dim), np.linspace(0, n - 1, CHECKED).astype(int)
    logits = beta * (x[some] @ x.T - 1.0)
    weights = np.exp(logits)
    pull = weights @ x / weights.sum(axis=1, keepdims=True)
    exact = pull - (pull * x[some]).sum(axis=1, keepdims=True) * x[some]
    return float(np.abs(velocity[some] - exact).max() / np.abs(exact).max())


def serve(side: str, n: int, dim: int, beta: float, threads: int) -> None:
    """In a process of its own: the error, then the seconds of a call for each line that comes in."""
    call = ours(n, dim, beta, threads) if side == "tokenflock" else (finufft if dim == 2 else ducc)(n, beta, threads)
    print(json.dumps(error(call(), dim, beta)), flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        call()
        print(json.dumps(time.perf_counter() - began), flush=True)


def beside(n: int, dim: int, beta: float, threads: int) -> dict[str, Any]:
    """Both sides, in turns."""
    names = ("tokenflock", "finufft" if dim == 2 else "ducc0")
    sides = {}
    for name in names:
        words = [sys.executable, __file__, "--serve", name, str(n), str(dim), str(beta), str(threads)]
        pinned = ["taskset", "-c", f"0-{threads - 1}"]
        environment = os.environ | {"TOKENFLOCK_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
        sides[name] = subprocess.Popen([*pinned, *words], **pipes)  # type: ignore[call-overload]
    told: dict[str, Any] = {"tokens": n, "dim": dim, "beta": beta, "cores": threads}
    errors = {name: json.loads(side.stdout.readline()) for name, side in sides.items()}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(TURNS):
        for name, side in sides.items():
            side.stdin.write("go\n")
            side.stdin.flush()
            seconds[name].append(json.loads(side.stdout.readline()))
    for side in sides.values():
        side.communicate()
    for name in names:
        told |= {f"{name}_s": min(seconds[name]), f"{name}_error": errors[name]}
    return told | {"ratio": min(seconds[names[1]]) / min(seconds[names[0]])}


def main() -> None:
    """All rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=10**6)
    parser.add_argument("--cores", default="1,2")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--serve", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        side, n, dim, beta, threads = given.serve
        serve(side, int(n), int(dim), float(beta), int(threads))
        return
    rows = []
    for threads in map(int, given.cores.split(",")):
        for dim, beta in CASES:
            rows.append(beside(given.tokens, dim, beta, threads))
            print(json.dumps(rows[-1]), flush=True)
    if given.out:
        from run import machine

        given.out.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
