"""The study effective-dimension with every ball filled, on a GPU: one command, which goes on where it was stopped.

    python benchmarks/filled_balls.py OUT              # sizes LARGE: a GPU, a few minutes
    python benchmarks/filled_balls.py OUT --cpu        # sizes FILLED: what two cores do in some minutes

OUT keeps every finished cell (effective-dimension.cells.jsonl), then the answer and its tables as .csv. On a machine
that is given back, copy OUT's .jsonl into the new OUT before the next call: cells that are there are not made again.
What is to stay belongs into benchmarks/results/studies/, and docs/studies.md quotes nothing else.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import tokenflock as flock
from tokenflock.papers.studies.effective_dimension import FILLED, LARGE


def main() -> None:
    """Run it and write its tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cpu", action="store_true", help="the smaller sizes, by engine auto")
    asked = parser.parse_args()
    began, name = time.perf_counter(), "filled" if asked.cpu else "large"

    def tell(what: str, fraction: float) -> None:
        print(f"{time.perf_counter() - began:7.1f} s  {fraction:4.0%}  {what}", flush=True)

    answer = flock.study("effective-dimension", out=asked.out, progress=tell, **(FILLED if asked.cpu else LARGE))
    for table in answer.tables:
        (asked.out / f"effective-dimension-{name}-{table.name}.csv").write_text(table.csv(), encoding="utf-8")
    print(f"{time.perf_counter() - began:.1f} s in this call, {answer.wall_s:.1f} s in the call that finished it")
    print(answer.sentence, *(f"{c.name}: {'ok' if c.ok else 'FAILS'}: {c.found}" for c in answer.controls), sep="\n")


if __name__ == "__main__":
    main()
