"""make bench: tokenflock beside its peers and the limit of one core, in one run on this machine.

Everything is warm (best of several, compile time apart), and a ratio is of two numbers that were measured in turns.
Whole jobs that no peer does (--only papers) are a ratio of a stated limit to the seconds they take: 1 or more keeps it.
Prints a table and writes benchmarks/results/<date>-cpu.json. Options: --quick (fewer repeats), --only NAME.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from work import FIGURE_RUNS, LIMITS

HERE = Path(__file__).parent
TURNS = 4  # more than the first; of many runs, each some seconds long, one more


def worker(patience: float = 300.0, **order: object) -> dict:
    """One measurement in a fresh process; {'failed': why} if the peer is not installed. patience: in seconds."""
    env = {**os.environ, **{k: str(v) for k, v in (order.pop("env", None) or {}).items()}}  # type: ignore[attr-defined]
    command = [sys.executable, str(HERE / "worker.py"), json.dumps(order)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=patience)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no message"}
    return json.loads(done.stdout.strip().splitlines()[-1])


def in_turns(rows: dict[str, dict], measure: Callable[..., dict], turns: int) -> None:
    """Measure all sides of a ratio again, one after the other, and keep the best: the machine is slow at times."""
    for peer in [*rows] * turns:
        rows[peer]["best_s"] = min(rows[peer]["best_s"], measure(peer=peer).get("best_s", math.inf))


class Bench:
    """The rows of one run."""

    def __init__(self, repeats: int) -> None:
        self.repeats = repeats
        self.rows: list[dict] = []
        self.folder = Path(tempfile.mkdtemp())

    def add(self, group: str, name: str, row: dict, note: str = "") -> dict:
        """Keep and print a row."""
        row = {"group": group, "name": name, "note": note, **row}
        self.rows.append(row)
        seconds = f"{row['best_s']:.4f} s" if "best_s" in row else row.get("failed", "")
        extra = f"  first {row['first_s']:.2f} s" if "first_s" in row else ""
        extra += f"  worst error {row['worst_error']:.1e}" if "worst_error" in row else ""
        extra += f"  {row['pairs_per_s']:.2e} pairs/s" if "pairs_per_s" in row else ""
        extra += f"  ratio {row['ratio']:.2f}" if "ratio" in row else ""
        print(f"  {name:42s} {seconds:>12s}{extra}  {note}", flush=True)
        return row

    def solves(self, work: str, cores: int, peers: list[str], runs: int = 1) -> None:
        """A whole run in every peer, then the ratio to the best of them."""
        print(f"{work}, {runs} run(s), {cores} core(s)", flush=True)
        reference = str(self.folder / f"{work}{runs}.npy")
        if not Path(reference).exists():
            worker(what="reference", work=work, cores=2, file=reference, runs=runs)
        group, rows = f"{work} {cores} core(s)", {}

        def measure(peer: str) -> dict:
            repeats = max(2, self.repeats // (8 if runs > 1 else 1)) if peer != "tokenflock" else self.repeats
            order = {"work": work, "peer": peer, "cores": cores, "repeats": repeats, "reference": reference}
            return worker(what="solve", runs=runs, **order)

        for peer in peers:
            row = self.add(group, peer, {"runs": runs, **measure(peer)})
            if "best_s" in row:
                rows[peer] = row
        others = [peer for peer in rows if peer != "tokenflock"]
        if others:
            name = min(others, key=lambda peer: rows[peer]["best_s"])
            turns = TURNS if runs == 1 else 1
            in_turns({peer: rows[peer] for peer in ("tokenflock", name)}, measure, turns)
            ours, theirs = rows["tokenflock"]["best_s"], rows[name]["best_s"]
            note = f"in {turns + 1} turns: {ours:.4f} s against {theirs:.4f} s"
            self.add(group, f"ratio to {name}", {"ratio": theirs / ours}, note)
        self._at_equal_error(group, work, cores, runs, reference, rows["tokenflock"]["best_s"])

    def _at_equal_error(self, group: str, work: str, cores: int, runs: int, reference: str, ours: float) -> None:
        """diffrax with the tolerance that it needs to be as right as we are: half the runs at least as close."""
        wanted = next(r["median_error"] for r in self.rows if r["group"] == group and r["name"] == "tokenflock")
        for rtol in (3e-7, 1e-7, 3e-8, 1e-8):
            order = {"work": work, "peer": "diffrax Tsit5", "cores": cores, "runs": runs, "reference": reference}
            row = worker(what="solve", rtol=rtol, repeats=2 if runs > 1 else 5, **order)
            if row.get("median_error", 0.0) <= wanted:
                if "best_s" in row:
                    row["ratio"] = row["best_s"] / ours
                self.add(group, f"diffrax Tsit5 at equal error, rtol {rtol:g}", row)
                return

    def pairs(self) -> None:
        """Exact pairs a second beside the C program, alternating."""
        print("exact pairs, one core", flush=True)
        compiler = shutil.which("gcc") or shutil.which("cc")
        limit = 0.0
        if compiler:
            program = self.folder / "pairs"
            source = HERE / "limits" / "pairs.c"
            subprocess.run([compiler, "-O3", "-march=native", "-o", program, source, "-lm"], check=True)
            for _ in range(3):
                text = subprocess.run(
                    ["taskset", "-c", "0", program], capture_output=True, text=True, check=True
                ).stdout
                limit = max(limit, float(text.split("core")[1].split()[0]))
            self.add("pairs", "limits/pairs.c", {"pairs_per_s": limit})
        for n, d, mask in ((4096, 2, "causal"), (4096, 2, "full"), (4096, 3, "causal"), (4096, 3, "full")):
            row = worker(what="pairs", n=n, d=d, mask=mask, cores=1, repeats=20 * self.repeats)
            if limit and "pairs_per_s" in row:
                row["ratio"] = row["pairs_per_s"] / limit
            self.add("pairs", f"tokenflock n={n} d={d} {mask}", row)

    def dimensions(self) -> None:
        """One evaluation for d = 64 and 512 beside jitted jax."""
        print("one velocity, n=1000", flush=True)
        for cores in (1, 2):
            for d in (64, 512):
                for mask in ("full", "causal"):
                    order = {
                        "what": "velocity",
                        "n": 1000,
                        "d": d,
                        "mask": mask,
                        "cores": cores,
                        "repeats": 4 * self.repeats,
                    }
                    measure = partial(worker, **order)
                    ours, jax = measure(peer="tokenflock"), measure(peer="jax")
                    if "best_s" in jax:
                        in_turns({"tokenflock": ours, "jax": jax}, measure, TURNS)
                        jax["ratio"] = jax["best_s"] / ours["best_s"]
                    group = f"d={d} {mask} {cores} core(s)"
                    self.add(group, f"tokenflock {group}", ours)
                    self.add(group, f"jax jit {group}", jax, "ratio: jax / tokenflock")

    def papers(self, quick: bool) -> None:
        """Figure 3 of paper A with its 5,000 runs, and everything about that paper, against the limits of work.py."""
        print("paper A, 2 cores (first: a small one, with the compilation)", flush=True)
        runs = FIGURE_RUNS // 10 if quick else FIGURE_RUNS
        self._within("figure", runs / FIGURE_RUNS, f"{runs} runs", what="figure", runs=runs)
        for kind in ("quick",) if quick else ("quick", "full"):
            self._within(kind, 1.0, "", what="reproduce", quick=kind == "quick")

    def _within(self, kind: str, share: float, note: str, **order: object) -> None:
        """One job, and how many times over it fits into its limit, of which only a share is due."""
        limit = LIMITS[kind]
        row = worker(patience=4 * limit.seconds + 600, cores=2, **order)
        if "best_s" in row:
            row["limit_s"] = share * limit.seconds
            row["ratio"] = row["limit_s"] / row["best_s"]
        missing = row.get("without") or []
        notes = [note, f"limit {share * limit.seconds:g} s: {limit.why}"]
        notes += [f"without {', '.join(missing)}"] if missing else []
        name = limit.name if share == 1 else f"{limit.name}: a share of {share:g}"
        self.add("papers", name, row, "; ".join(n for n in notes if n))

    def first(self) -> None:
        """The first call with an empty cache, and in a later process."""
        print("first call (import and compile included)", flush=True)
        models = {
            "causal d=2": {"dim": 2, "beta": 9.0},
            "full d=3": {"dim": 3, "mask": "full"},
            "general d=5": {"dim": 5},
            "rescaled d=3": {"dim": 3, "space": "rescaled"},
        }
        for name, model in models.items():
            cache = {"NUMBA_CACHE_DIR": tempfile.mkdtemp(dir=self.folder)}
            self.add("first", f"{name}, after install", worker(what="first", model=model, cores=2, env=cache))
            self.add("first", f"{name}, later", worker(what="first", model=model, cores=2, env=cache))


def machine() -> dict:
    """What this ran on."""
    cpu = next(
        (x.split(":")[1].strip() for x in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in x), ""
    )
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE, check=False
    )
    names = ("tokenflock", "numpy", "numba", "scipy", "jax", "diffrax", "torch", "torchdiffeq")
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "commit": commit.stdout.strip(),
        "versions": found,
    }


def main() -> None:
    """All groups, or those of --only."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, fewer runs, no full reproduce")
    parser.add_argument(
        "--only", choices=["pairs", "single", "ensemble", "full", "dimensions", "first", "papers"], action="append"
    )
    options = parser.parse_args()
    bench = Bench(repeats=5 if options.quick else 15)
    peers = ["tokenflock", "diffrax Tsit5", "scipy RK45", "scipy DOP853", "torchdiffeq dopri5"]
    # vmap and scipy take minutes each, and neither has ever been the best peer.
    many, runs = ["tokenflock", "diffrax Tsit5"], 16 if options.quick else 64
    many += [] if options.quick else ["diffrax Tsit5 vmap", "scipy RK45"]
    groups = {
        "pairs": bench.pairs,
        "single": lambda: [bench.solves("single", cores, peers) for cores in (1, 2)],
        "ensemble": lambda: [bench.solves("ensemble", cores, many, runs=runs) for cores in (1, 2)],
        "full": lambda: [bench.solves("full", cores, peers) for cores in (1, 2)],
        "dimensions": bench.dimensions,
        "first": bench.first,
        "papers": lambda: bench.papers(options.quick),
    }
    about = machine()
    print(json.dumps(about), flush=True)
    for name, group in groups.items():
        if not options.only or name in options.only:
            group()
    target = HERE / "results" / f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}-cpu.json"
    target.parent.mkdir(exist_ok=True)
    command = "python benchmarks/run.py" + "".join(f" {a}" for a in sys.argv[1:])
    # What was measured before on this day and not now is kept: --only must not lose the other groups.
    before = json.loads(target.read_text())["rows"] if target.exists() else []
    now = {row["group"] for row in bench.rows}
    rows = [row for row in before if row["group"] not in now] + bench.rows
    target.write_text(json.dumps({"command": command, "machine": about, "rows": rows}, indent=1) + "\n")
    print(f"wrote {target.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
