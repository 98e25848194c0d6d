"""What the counts of filled_balls.py come to: clusters a ball, exponents between neighbouring betas, and the nulls.

    python benchmarks/filled_counts.py benchmarks/results/studies

reads filled-balls.jsonl there and writes filled-balls-counts.csv and filled-balls-exponents.csv beside it.

The exponent from one beta to the next is held against the slope of 1 over the measure of a cap of radius 4 beta^(-1/2)
over the same two betas, on the sphere of L (`inside`) and on the sphere of all tokens (`whole`). The rule: it is nearer
to the one that is foretold, by more than 4 errors of its own: `inside` with a gap, and `whole` without one. Whether the
95 % interval holds the slope of caps is a column of its own: it need not, since caps of one radius are a model of
what clusters are, and at a fixed time clusters are younger where tokens take longer to come to L.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tokenflock.analysis.statistics import SHOWN, mean_and_error
from tokenflock.papers.studies.effective_dimension import slope_of_caps, tokens_a_ball

Row = dict[str, Any]


def counts(lines: list[Row]) -> list[Row]:
    """One row for every cell and time: the mean count, its error, and what the first half of the tokens has."""
    cells: dict[tuple[Any, ...], list[Row]] = {}
    for line in lines:
        if "check" not in line:
            cells.setdefault((*line["cell"], line["n"]), []).append(line)
    rows = []
    for (leading, dim, gap, beta, n), some in sorted(cells.items()):
        for k, time in enumerate(some[0]["times"]):
            every, half = ([run[k] for line in some for run in line[part]] for part in ("all", "half"))
            mean, error = mean_and_error(every)
            ball = tokens_a_ball(n, beta, leading if gap else dim)
            rows.append(
                {"d_1": leading, "d": dim, "gap": gap, "beta": beta, "time": time, "n": n, "runs": len(every),
                 "tokens_a_ball": ball, "clusters": mean, "error": error, "clusters_a_ball": mean * ball / n,
                 "half_misses": 1 - float(np.mean(half)) / mean}
            )  # fmt: skip
    return rows


def exponents(rows: list[Row]) -> list[Row]:
    """From each beta to the next: the exponent, its 95 % interval, the slopes of caps, and what follows."""
    found = []
    kinds = sorted({(row["d_1"], row["d"], row["gap"], row["time"]) for row in rows})
    for kind in kinds:
        mine = [row for row in rows if (row["d_1"], row["d"], row["gap"], row["time"]) == kind]
        for low, high in pairwise(sorted(mine, key=lambda row: float(row["beta"]))):
            run = math.log(high["beta"] / low["beta"])
            value = math.log(high["clusters"] / low["clusters"]) / run
            error = math.hypot(low["error"] / low["clusters"], high["error"] / high["clusters"]) / run
            betas = (low["beta"], high["beta"])
            inside, whole = slope_of_caps(betas, kind[0]), slope_of_caps(betas, kind[1])
            right, wrong = (inside, whole) if kind[2] else (whole, inside)
            found.append(
                {"d_1": kind[0], "d": kind[1], "gap": kind[2], "time": kind[3], "from": betas[0], "to": betas[1],
                 "exponent": value, "low": value - SHOWN * error, "high": value + SHOWN * error, "inside": inside,
                 "whole": whole, "runs": min(low["runs"], high["runs"]), "off": value - right,
                 "holds_caps": abs(value - right) <= SHOWN * error,
                 "nearer": abs(value - wrong) - abs(value - right) > 4 * error}
            )  # fmt: skip
    return found


def page(slopes: list[Row]) -> str:
    """The table of docs/studies.md: the largest two betas of every kind, at the last time."""
    late = max(row["time"] for row in slopes)
    last: dict[tuple[Any, ...], Row] = {}
    for row in slopes:
        if row["time"] == late:
            last[(not row["gap"], row["d_1"], row["d"])] = row
    lines = ["| d_1 of d | beta | exponent | slope of caps | in the end | runs |", "|---|---|---|---|---|---|"]
    for (null, leading, dim), row in sorted(last.items()):
        home = dim if null else leading
        told = f"{row['exponent']:.4f} [{row['low']:.4f}, {row['high']:.4f}]"
        caps = f"{row['whole' if null else 'inside']:.4f}"
        name = f"null, d = {dim}" if null else f"{leading} of {dim}"
        lines.append(
            f"| {name} | {row['from']:g} to {row['to']:g} | {told} | {caps} | {(home - 1) / 2:g} | {row['runs']} |"
        )
    return "\n".join(lines) + "\n"


def write(rows: list[Row], path: Path) -> None:
    """As .csv, six digits."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(rows[0])
        out.writerows([f"{v:.6g}" if isinstance(v, float) else v for v in row.values()] for row in rows)


def read(path: Path) -> list[Row]:
    """The lines of a .jsonl."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Make both tables, and say what they show."""
    home = Path(sys.argv[1])
    table = counts(read(home / "filled-balls.jsonl"))
    slopes = exponents(table)
    write(table, home / "filled-balls-counts.csv")
    write(slopes, home / "filled-balls-exponents.csv")
    print(page(slopes))
    for what, gap in (("with a gap", True), ("nulls", False)):
        some = [row for row in slopes if bool(row["gap"]) == gap]
        near, held = (sum(row[word] for row in some) for word in ("nearer", "holds_caps"))
        print(f"{what}: {near} of {len(some)} nearer to what is foretold; {held} of {len(some)} intervals hold caps")


if __name__ == "__main__":
    main()
