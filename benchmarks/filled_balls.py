"""How many metastable clusters at beta to 1e4, every ball filled: counts for docs/studies.md, effective-dimension.

    python benchmarks/filled_balls.py OUT --seconds 500     # a GPU; 300 to 4,400,000 tokens a run, 100 runs a cell
    python benchmarks/filled_balls.py OUT --most 400        # cells of up to 400 tokens, on any machine
    python benchmarks/filled_balls.py OUT --only "4 of 5, gap 1, beta 10000"

Causal attention, Q = K = I, V = diag(1 (d_1 times), 1 - gap, ...), uniform starts, sums over near tokens alone
(`near_tokens`). A ball of radius 4 beta^(-1/2) of the sphere of L, without a gap of the whole sphere, holds 60 tokens.
Clusters at t = 15 and 60: chains of steps of beta^(-1/2) / 4, of all tokens and of the first half of them.

OUT/filled-balls.jsonl gets a line for every batch of runs as soon as it is done, and the same command goes on where the
file ends: copy it into the new OUT where a machine is given back. A run depends on its cell and its number only.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import torch

from near_tokens import crowd, follow
from tokenflock.papers.studies.effective_dimension import REACH, tokens_a_ball

FILL = 60.0  # tokens a ball
TIMES = (15.0, 60.0)
STEP = 0.25
RUNS = 100
AT_ONCE = 4_000_000  # tokens stepped side by side


class Cell(NamedTuple):
    """Runs of one kind."""

    leading: int
    dim: int
    gap: float
    beta: float

    @property
    def name(self) -> str:
        """As in the study."""
        return f"{self.leading} of {self.dim}, gap {self.gap:g}, beta {self.beta:g}"

    @property
    def tokens(self) -> int:
        """As many as fill a ball of L, or without a gap of the sphere."""
        return math.ceil(FILL / tokens_a_ball(1, self.beta, self.leading if self.gap else self.dim))


def plan() -> list[tuple[Cell, int]]:
    """Cells, and to how many runs, in the order in which they are wanted."""
    three = [Cell(3, dim, 1.0, beta) for dim in (4, 6) for beta in (100.0, 400.0, 1600.0, 1e4)]
    four = {dim: [Cell(4, dim, 1.0, beta) for beta in (40.0, 160.0, 640.0, 2500.0, 1e4)] for dim in (5, 7)}
    null = {4: (40.0, 160.0, 640.0, 2500.0, 1e4), 5: (20.0, 60.0, 200.0, 640.0)}
    nulls = {dim: [Cell(dim - 1, dim, 0.0, beta) for beta in betas] for dim, betas in null.items()}
    found = [(cell, RUNS) for cell in (*three, *four[5][:3], *nulls[4][:3], *nulls[5][:3], *four[7][:3])]
    found += [(four[5][3], RUNS), (four[5][4], RUNS), (four[7][3], 20), (nulls[5][3], 20), (nulls[4][3], 20)]
    return [*found, (four[7][4], 10), *((cell, RUNS) for cell in (four[7][3], nulls[5][3], nulls[4][3], four[7][4]))]


def starts(cell: Cell, first: int, runs: int, device: str) -> torch.Tensor:
    """Uniform tokens (runs, n, d): each run from a seed of its own."""
    found = []
    for run in range(first, first + runs):
        generator = torch.Generator(device).manual_seed(zlib.crc32(f"{cell.name}, run {run}".encode()))
        x = torch.randn((cell.tokens, cell.dim), generator=generator, device=device, dtype=torch.float32)
        found.append(x / x.norm(dim=1, keepdim=True))
    return torch.stack(found)


def batch(cell: Cell, first: int, runs: int, device: str, **how: Any) -> dict[str, Any]:
    """Clusters of some runs. how: another step or reach, which must not matter."""
    step, began = how.pop("step", STEP), time.perf_counter()
    value = [1.0] * cell.leading + [1 - cell.gap] * (cell.dim - cell.leading)
    these = crowd(
        starts(cell, first, runs, device), cell.beta, value,
        cell.leading if cell.gap else cell.dim, kernels=device == "cuda", **how,
    )  # fmt: skip
    errors: list[float] = []
    found = follow(
        these, TIMES, step, REACH / math.sqrt(cell.beta),
        (lambda _, now: errors.append(now.left_out(200))) if first == 0 else None,
    )  # fmt: skip
    line = {"cell": list(cell), "n": cell.tokens, "first": first, "times": TIMES, "step": step, "reach": these.reach}
    return {**line, **found, "left_out": errors, "lists": these.built, "wall": time.perf_counter() - began}


def kept(path: Path) -> list[dict[str, Any]]:
    """The lines that are there; one that was cut off counts as none."""
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            lines.append(json.loads(text))
        except ValueError:
            continue
    return lines


def main() -> None:
    """Make what is missing, for as long as it may take."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin nothing that would end later")
    parser.add_argument("--most", type=int, default=10**9, help="tokens of a run: leave larger cells out")
    parser.add_argument("--only", help="one cell, by its name")
    asked = parser.parse_args()
    began, device = time.perf_counter(), "cuda" if torch.cuda.is_available() else "cpu"
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / "filled-balls.jsonl"
    there = kept(path)
    path.write_text("".join(json.dumps(line) + "\n" for line in there), encoding="utf-8")  # without a line cut off
    usual = [line for line in there if line["step"] == STEP and "check" not in line]
    done = {Cell(*line["cell"]): line["first"] + len(line["all"]) for line in usual}
    pace: dict[Cell, float] = {}

    def say(cell: Cell, line: dict[str, Any], **more: Any) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**line, **more}) + "\n")
        mean = [sum(column) / len(column) for column in zip(*line["all"], strict=True)]
        runs = f"runs {line['first']} to {line['first'] + len(line['all']) - 1}"
        told = f"{time.perf_counter() - began:7.1f} s  {cell.name}: n = {line['n']}, {runs}, clusters {mean}, "
        print(f"{told}{line['wall']:.2f} s, left out {line['left_out']} {more or ''}", flush=True)

    for cell, runs in plan():
        if cell.tokens > asked.most or (asked.only and cell.name != asked.only):
            continue
        while (first := done.get(cell, 0)) < runs:
            if time.perf_counter() - began + pace.get(cell, 0.0) > asked.seconds:
                print(f"{cell.name}: {first} of {runs} runs; time is over")
                break
            some = min(runs - first, max(1, AT_ONCE // cell.tokens))
            line = batch(cell, first, some, device)
            pace[cell] = line["wall"]
            say(cell, line)
            done[cell] = first + some
            if first == 0 and 20_000 < cell.tokens < 1_000_000:  # what must not matter
                say(cell, batch(cell, 0, 1, device, step=STEP / 2), check="half the step")
                say(cell, batch(cell, 0, 1, device, reach=8.0), check="reach 8")
    print(f"{time.perf_counter() - began:.1f} s on {device}")


if __name__ == "__main__":
    main()
