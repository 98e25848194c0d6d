"""Kernels of one's own beside the built-in pairs: velocities in turns in one process, a ratio for each.

    python benchmarks/kernels.py [--out FILE]

The ratio is of built-in pairs to pairs of the other kernel in the same time: 0.3 and more is wanted for one exp.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tokenflock as flock
from tokenflock.engine.explicit.stepper import by_pairs, state_of

SIZES = ((200, 2, "causal"), (1000, 3, "full"), (1000, 3, "causal"), (1000, 8, "full"))
PAIRS, TURNS = 1_000_000, 40
KERNELS = {
    "built-in exp": "exp",
    "own exp(s)": "exp(logit)",
    "own exp(-distance)": lambda distance: np.exp(-distance),
    "sigmoid": "sigmoid",
    "relu": "relu",
    "power 3": flock.Kernel("power", power=3.0),
    "own tanh (libm)": lambda s: 1.5 + np.tanh(s),
}


def velocity_of(model: flock.Model, x: np.ndarray) -> Callable[[], None]:
    """A function that computes one velocity, by one thread."""
    right, y = by_pairs(model, len(x), "float64"), state_of(model, x, "float64")
    out = np.zeros_like(y)
    return lambda: right.velocity(y, 0.0, "post", out)


def main() -> None:
    """All kernels and sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="also write the table there")
    lines = ["n      d  mask    kernel               seconds    of built-in pairs a second"]
    out = parser.parse_args().out
    for n, d, mask in SIZES:
        x = flock.uniform(n_tokens=n, dim=d, seed=1)
        sides = {k: velocity_of(flock.Model(dim=d, beta=4.0, mask=mask, kernel=f), x) for k, f in KERNELS.items()}
        best, repeats = dict.fromkeys(sides, np.inf), max(1, PAIRS // n**2)
        for name, side in list(sides.items()) * TURNS:
            began = time.perf_counter()
            for _ in range(repeats):
                side()
            best[name] = min(best[name], (time.perf_counter() - began) / repeats)
        for name, seconds in best.items():
            ratio = best["built-in exp"] / seconds
            lines.append(f"{n:<6} {d:<2} {mask:<7} {name:<20} {seconds:.3e}  {ratio:.2f}")
            print(lines[-1], flush=True)
    if out:
        out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
