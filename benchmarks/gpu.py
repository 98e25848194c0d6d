"""The GPU kernels beside the limits of the device and beside what others do on the same work.

    python benchmarks/gpu.py --out benchmarks/results/2026-11-15-gpu     writes .json, .txt and .png
    python benchmarks/gpu.py --only pairs --only products                some of limits pairs products ensembles waves
    python benchmarks/gpu.py --plot benchmarks/results/2026-11-15-gpu    the picture again, from the .json

Times are medians by the clock of the device, warm, compilation apart. Errors are of the pull sum_j A_ij (x_j - x_i),
the largest over a few rows against float64 written out, over the largest pull among them. Work is causal attention with
Q = K = V = I on the sphere; a pair is one (i, j) with j <= i.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import subprocess
import sys
import time
import traceback
from importlib.metadata import version
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
GROUPS = ("limits", "pairs", "products", "ensembles", "waves")
BETA, LOG2E = 64.0, 1.0 / math.log(2.0)


def tokens(n: int, d: int, dtype, seed: int = 0):
    """Uniform on the sphere, (1, n, d)."""
    import torch

    source = torch.Generator(device="cuda").manual_seed(seed)
    x = torch.randn((1, n, d), generator=source, device="cuda", dtype=torch.float64)
    return (x / x.norm(dim=-1, keepdim=True)).to(dtype)


def definition(x, beta: float, rows, causal: bool = True):
    """The pull of a few rows in float64, written out."""
    import torch

    x, out = x[0].double(), []
    for i in rows:
        gaps = x[: i + 1 if causal else len(x)] - x[i]
        w = (beta * (gaps @ x[i])).exp()
        out.append((w[:, None] * gaps).sum(dim=0) / w.sum())
    return torch.stack(out)


class Bench:
    """The rows of one run."""

    def __init__(self) -> None:
        self.rows: list[dict] = []
        self.limits: dict[str, float] = {}

    def add(self, group: str, name: str, **row) -> None:
        """Keep and print a row."""
        self.rows.append({"group": group, "name": name, **row})
        print(line_of(self.rows[-1]), flush=True)

    def time(self, group: str, name: str, call, pairs: float, d: int, error=None, **more) -> float:
        """Time a call that does so many pairs."""
        import torch

        from gpu_limits import seconds

        try:
            taken = seconds(call, repeats=3)
            wrong = None if error is None else float(error())
        except (RuntimeError, ImportError, torch.OutOfMemoryError) as reason:
            self.add(group, name, dim=d, failed=str(reason).splitlines()[0][:100])
            torch.cuda.empty_cache()
            return 0.0
        self.add(group, name, dim=d, best_s=taken, pairs_per_s=pairs / taken, error=wrong, **more)
        torch.cuda.empty_cache()
        return pairs / taken

    def bounds(self) -> None:
        """The limits of the device."""
        from gpu_limits import limits

        self.limits = limits()
        for name, rate in self.limits.items():
            self.add("limits", name, per_s=rate)

    def pairs(self) -> None:
        """Small dim: our kernels, the engine's whole velocity, the experiment without differences, and the others."""
        import torch

        for dtype, n, d, mask, general in (
            (torch.float32, 2**19, 2, "causal", False),
            (torch.float32, 2**18, 2, "full", False),
            *((torch.float32, 2**18, d, "causal", False) for d in (3, 4, 5, 8)),
            (torch.float32, 2**18, 2, "causal", True),
            (torch.float32, 2**18, 3, "causal", True),
            *((torch.float64, 2**17, d, "causal", False) for d in (2, 3, 4, 8)),
            (torch.float64, 2**17, 2, "causal", True),
        ):
            self._ours(dtype, n, d, mask, general)
        self._million()
        self._without_differences()
        x = tokens(2**17, 2, torch.float32)
        self._others(x, ("float32", "bfloat16"), BETA)
        self._others(x[:, : 2**15].contiguous(), ("flex",), BETA)  # its mask is made from an n x n one
        self._others(x[:, : 2**14].contiguous(), ("compiled", "eager"), BETA)

    def _ours(self, dtype, n: int, d: int, mask: str, general: bool) -> None:
        import torch

        from tokenflock.engine.torch.terms import lay_out
        from tokenflock.engine.triton.sums import pair_sums
        from tokenflock.model import Model

        kind, causal = str(dtype).removeprefix("torch."), mask == "causal"
        # A form that is no multiple of I takes the kernel that looks for each row's largest logit first.
        query = np.eye(d) + (1e-3 * np.eye(d)[::-1] if general else 0.0)
        terms = lay_out(Model(dim=d, beta=BETA, mask=mask, query=query), kind, "cuda")
        x, rows = tokens(n, d, dtype), [1, n // 3, n - 1]

        def error():
            expected = definition(x, BETA, rows, causal) if not general else None
            if expected is None:
                return math.nan
            return (pair_sums(terms, x)[0][0, 0, rows] - expected).abs().max() / expected.abs().max()

        again = torch.equal(pair_sums(terms, x)[0], pair_sums(terms, x)[0])
        name = f"tokenflock {'general' if general else 'near'} {mask} {kind}"
        count = n * (n + 1) / 2 if causal else float(n) ** 2
        self.time("pairs", name, lambda: pair_sums(terms, x), count, d, error, n_tokens=n, same_bits=again)

    def _million(self) -> None:
        """A whole velocity of the engine at a million tokens."""
        import torch

        from tokenflock.engine.gpu import lay_out_on
        from tokenflock.engine.torch.velocity import velocity
        from tokenflock.model import Model

        n, terms = 10**6, lay_out_on(Model(dim=2, beta=BETA), "float32", torch.device("cuda"))
        x = tokens(n, 2, torch.float32)
        name = "tokenflock whole velocity causal float32"
        with torch.no_grad():
            self.time("pairs", name, lambda: velocity(terms, x), n * (n + 1) / 2, 2, n_tokens=n)

    def _without_differences(self) -> None:
        import torch

        from gpu_limits import overlap_sums

        n, shape = 2**18, {"BM": 32, "BN": 32, "UNROLL": 8, "num_warps": 4}
        for d, part in ((2, 0), (2, 1), (3, 0), (4, 0)):
            x = tokens(n, d, torch.float32)[0].T.contiguous()
            out, scale = torch.empty((d + 1, n), device="cuda"), torch.tensor(BETA * LOG2E, device="cuda")
            name = "experiment: overlaps, no differences" + (f", {part} of 8 by polynomial" if part else "")
            call = lambda x=x, o=out, s=scale, d=d, p=part: overlap_sums[(n // 32,)](  # noqa: E731
                x, o, s, n, n, D=d, BY_POLYNOMIAL=p, **shape
            )
            self.time("pairs", name, call, n * (n + 1) / 2, d, n_tokens=n)

    def _others(self, x, kinds: tuple[str, ...], beta: float, group: str = "pairs") -> None:
        import torch

        from gpu_peers import by_flex, by_sdpa, by_torch

        n, d = x.shape[1:]
        rows = [1, n // 3, n - 1]
        expected = definition(x, beta, rows)
        made = {
            "float32": ("SDPA float32", lambda: by_sdpa(x, beta, torch.float32)),
            "bfloat16": ("SDPA bfloat16", lambda: by_sdpa(x, beta, torch.bfloat16)),
            "flex": ("FlexAttention float32", lambda: by_flex(x, beta, torch.float32)),
            "compiled": ("torch.compile float32", lambda: by_torch(x, beta, True)),
            "eager": ("torch eager float32", lambda: by_torch(x, beta, False)),
        }
        for kind in kinds:
            name, make = made[kind]
            try:
                call = make()
                call()
            except Exception as reason:  # a peer that does not run here is a row that says so
                self.add(group, name, dim=d, failed=str(reason).splitlines()[0][:100])
                torch.cuda.empty_cache()
                continue
            error = lambda c=call: (  # noqa: E731
                ((c()[0, rows].double() - x[0, rows].double()) - expected).abs().max() / expected.abs().max()
            )
            self.time(group, name, call, n * (n + 1) / 2, d, error, n_tokens=n)

    def products(self) -> None:
        """Large dim: tensor-core products beside the others. beta = 8 keeps several tokens in the weights."""
        import torch

        from tokenflock.engine.torch.terms import lay_out
        from tokenflock.engine.triton.sums import pair_sums
        from tokenflock.model import Model

        for d in (16, 32, 64, 128, 256, 512, 2048):
            n = 2**16 if d <= 128 else 2**14
            x, rows = tokens(n, d, torch.float32), [1, n // 3, n - 1]
            terms = lay_out(Model(dim=d, beta=8.0), "float32", "cuda")
            expected = definition(x, 8.0, rows)
            for precision in ("float32", "bfloat16"):
                call = lambda p=precision, t=terms, x=x: pair_sums(t, x, p)  # noqa: E731
                error = lambda c=call, e=expected, r=rows: (  # noqa: E731
                    (c()[0][0, 0, r] - e).abs().max() / e.abs().max()
                )
                name = f"tokenflock products {precision}"
                self.time("products", name, call, n * (n + 1) / 2, d, error, n_tokens=n)
            self._others(x, ("float32", "bfloat16"), 8.0, "products")
            if d == 64:
                self._others(x[:, : 2**15].contiguous(), ("flex",), 8.0, "products")
                self._others(x[:, : 2**14].contiguous(), ("compiled", "eager"), 8.0, "products")

    def ensembles(self) -> None:
        """Figure 3 of paper A: 5,000 runs of 200 tokens to t = 300, with the frames of the figure; and a single run."""
        import torch

        from tokenflock.engine.contract import Task
        from tokenflock.engine.torch.terms import lay_out
        from tokenflock.engine.triton import ensembles
        from tokenflock.model import Model
        from tokenflock.schemes import TSIT5
        from tokenflock.start import uniform

        model, times = Model(dim=2, beta=64.0), 300.0 * np.linspace(0, 1, 61) ** 2
        for dtype, rtol, runs in (("float64", 1e-6, 5000), ("float32", 3e-5, 5000), ("float64", 1e-6, 1)):
            task = Task(model, 300.0, TSIT5, None, rtol, 1e-3 * rtol, dtype, 0)
            terms, starts = lay_out(model, dtype, "cuda"), uniform(200, 2, seed=0, runs=runs)
            taken = []
            for _ in range(3):
                began = time.perf_counter()
                batch = ensembles.begin(terms, task, starts)
                frames, filled = np.empty((runs, 61, 200, 2), dtype=dtype), np.zeros(runs, dtype=np.int64)
                batch.advance(times, frames, filled, 10**9)
                torch.cuda.synchronize()
                taken.append(time.perf_counter() - began)
            pairs = float(batch.evaluations.sum()) * 200 * 201 / 2
            name = f"tokenflock {runs} run(s), n=200, t=300, rtol {rtol:g}, {dtype}"
            note = f"{batch.evaluations.mean():.0f} evaluations a run; frames copied to the host"
            self.add("ensembles", name, dim=2, best_s=min(taken), pairs_per_s=pairs / min(taken), note=note)

    def waves(self) -> None:
        """The harmonic method on the device, linear in n."""
        import torch

        from gpu_limits import seconds
        from tokenflock.engine.torch.harmonic import Waves
        from tokenflock.engine.torch.terms import lay_out
        from tokenflock.model import Model

        model = Model(dim=2, beta=BETA)
        for n in (10**6, 10**7, 10**8):
            terms, x = lay_out(model, "float64", "cuda"), tokens(n, 2, torch.float64)
            rows, waves = [1, n // 3, n - 1], Waves(model, n, 1e-9, torch.device("cuda"))
            expected = definition(x, BETA, rows)
            error = (waves(terms, x).pull[0, 0, rows] - expected).abs().max() / expected.abs().max()
            taken = seconds(lambda w=waves, t=terms, x=x: w(t, x), repeats=3)
            name = f"tokenflock harmonic causal float64, {waves.modes} waves"
            self.add("waves", name, dim=2, best_s=taken, n_tokens=n, error=float(error))
            del x
            torch.cuda.empty_cache()


def line_of(row: dict) -> str:
    """A row as text."""
    text = f"{row['group']:10s} {row['name']:62s}"
    text += f" d={row['dim']:<5d}" if "dim" in row else " " * 8
    if "per_s" in row:
        return text + f"{row['per_s']:.3e} /s"
    if "failed" in row:
        return text + row["failed"]
    text += f"{row['best_s']:.5f} s"
    text += f"  {row['pairs_per_s']:.3e} pairs/s" if "pairs_per_s" in row else ""
    text += f"  n={row['n_tokens']}" if "n_tokens" in row else ""
    text += "" if row.get("same_bits", True) else "  NOT the same bits twice"
    if row.get("error") is not None and not math.isnan(row["error"]):
        text += f"  error {row['error']:.1e}"
    return text + (f"  {row['note']}" if "note" in row else "")


def machine(commit: str | None) -> dict:
    """What this ran on."""
    import torch

    command = ["git", "rev-parse", "--short", "HEAD"]
    found = commit or subprocess.run(command, capture_output=True, text=True, cwd=HERE, check=False).stdout.strip()
    about = torch.cuda.get_device_properties(0)
    return {
        "gpu": about.name,
        "multiprocessors": about.multi_processor_count,
        "memory_GiB": round(about.total_memory / 2**30, 1),
        "python": platform.python_version(),
        "commit": found,
        "versions": {"torch": torch.__version__, "triton": version("triton"), "numpy": np.__version__},
    }


def main() -> None:
    """All groups, or those of --only."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=str(HERE / "results" / "gpu"), help="where .json, .txt and .png go")
    parser.add_argument("--only", choices=GROUPS, action="append")
    parser.add_argument("--commit", help="where there is no git")
    parser.add_argument("--plot", metavar="FILE", help="draw FILE.json and stop")
    options = parser.parse_args()
    if options.plot:
        from gpu_roofline import draw

        draw(Path(options.plot))
        return
    import torch

    if not torch.cuda.is_available():
        sys.exit("benchmarks/gpu.py needs a CUDA device, and torch sees none. --plot FILE draws what was measured.")
    bench = Bench()
    about = machine(options.commit)
    print(json.dumps(about), flush=True)
    groups = dict(zip(GROUPS, (bench.bounds, bench.pairs, bench.products, bench.ensembles, bench.waves), strict=True))
    target = Path(options.out)
    target.parent.mkdir(parents=True, exist_ok=True)
    command = "python benchmarks/gpu.py " + " ".join(sys.argv[1:])
    failed = []
    for name, group in groups.items():
        try:
            if not options.only or name in options.only:
                group()
        except Exception:  # the other groups are still worth their time
            traceback.print_exc()
            failed.append(name)
        report = {"command": command, "machine": about, "rows": bench.rows}
        target.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")
        lines = [f"$ {command}", json.dumps(about), *(line_of(row) for row in bench.rows)]
        target.with_suffix(".txt").write_text("\n".join(lines) + "\n")
    from gpu_roofline import draw

    draw(target)
    if failed:
        sys.exit(f"These groups broke off: {', '.join(failed)}. What they had measured is in {target}.json.")


if __name__ == "__main__":
    main()
