"""Sparse masks: one velocity of tokens on a random graph, beside numpy doing the same, in the same run.

    python benchmarks/graphs.py [--tokens 100000] [--neighbours 50] [--dim 3] [--out graphs.json]

Rows: compiled on one core and on all (TOKENFLOCK_THREADS), torch on its device, numpy with gathers and sums of
segments. `per_entry_ns` is the time of an entry; `of_a_dense_pair` that to a pair of the dense kernel for any Q, K.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tokenflock as flock
from tokenflock.engine.explicit.stepper import by_pairs, state_of
from tokenflock.engine.machine import threads
from tokenflock.masks import graph

DENSE = 4000  # tokens of the dense kernel beside


def best(call: Callable[[], object], seconds: float = 2.0) -> float:
    """The shortest of some calls."""
    call()
    found, began = float("inf"), time.perf_counter()
    while time.perf_counter() - began < seconds:
        first = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - first)
    return found


def compiled(model: flock.Model, x: np.ndarray, wide: bool) -> float:
    """Seconds of one velocity by the kernels of the CPU engine."""
    side, y = by_pairs(model, len(x), "float64", wide), state_of(model, x, "float64")
    out = np.zeros_like(y)
    with side.ready():
        return best(lambda: side.kernel(side.sums, side.part, side.field, y, 0.0, 0, out))


def by_numpy(model: flock.Model, x: np.ndarray) -> np.ndarray:
    """The velocity of Q = K = V = I on a graph in which every token sees itself: what one would write."""
    seen = graph(model.mask, len(x))
    rows, columns, first = seen.rows, seen.columns, seen.starts[:-1]
    w = np.exp(model.beta * (np.einsum("ea,ea->e", x[rows], x[columns]) - 1.0))
    gaps = w[:, None] * (x[columns] - x[rows])
    pull = np.add.reduceat(gaps, first) / np.add.reduceat(w, first)[:, None]
    return pull - np.sum(pull * x, axis=1, keepdims=True) * x


def by_torch(model: flock.Model, x: np.ndarray) -> tuple[str, float]:
    """The device, and seconds of one velocity there."""
    import torch

    from tokenflock.engine.gpu import device_named, exact, lay_out_on
    from tokenflock.engine.torch.velocity import velocity

    device = device_named()
    terms, tokens = lay_out_on(model, "float64", device), torch.as_tensor(x, device=device)[None]

    def call() -> None:
        velocity(terms, tokens)
        if device.type == "cuda":
            torch.cuda.synchronize()

    with exact(device):
        return str(device), best(call)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, usual in (("tokens", 100_000), ("neighbours", 50), ("dim", 3)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    n, d = given.tokens, given.dim
    model = flock.Model(dim=d, beta=9.0, mask=flock.RandomGraph((given.neighbours - 1) / n, seed=1))
    x, entries = flock.uniform(n, d, seed=0), len(graph(model.mask, n).columns)
    ours = flock.Model(dim=d, beta=9.0, value=np.eye(d) + 0.1, mask="full")
    dense = compiled(ours, flock.uniform(min(n, DENSE), d, seed=0), wide=False) / min(n, DENSE) ** 2
    found = {"1 core": compiled(model, x, wide=False), f"{threads()} cores": compiled(model, x, wide=True)}
    found["numpy"] = best(lambda: by_numpy(model, x))
    if importlib.util.find_spec("torch"):
        device, seconds = by_torch(model, x)
        found[f"torch, {device}"] = seconds
    rows = {
        name: {"ms": 1e3 * s, "per_entry_ns": 1e9 * s / entries, "of_a_dense_pair": s / entries / dense}
        for name, s in found.items()
    }
    print(f"{n} tokens, {entries} entries, d = {d}; a pair of the dense kernel takes {1e9 * dense:.2f} ns on one core")
    for name, row in rows.items():
        print(f"{name:>16}  {row['ms']:9.2f} ms  {row['per_entry_ns']:7.2f} ns an entry  {row['of_a_dense_pair']:6.2f}")
    if given.out:
        given.out.write_text(json.dumps({"tokens": n, "entries": entries, "dim": d, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
