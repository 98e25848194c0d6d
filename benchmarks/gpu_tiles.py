"""Which blocks of engine/gpu_pairs.py are fastest on the GPU at hand: what tile_for was chosen from.

    python benchmarks/gpu_tiles.py                 every kind of work
    python benchmarks/gpu_tiles.py --only "near float32 d=2"

A line for every tile: pairs a second, the median of three. The last line of a kind is the fastest beside the engine's.
"""

from __future__ import annotations

import argparse
from itertools import product

import torch

from gpu import BETA, LOG2E, tokens
from gpu_limits import seconds
from tokenflock.engine.triton.pairs import VisibleRange, columns_of, sums_of_columns, tile_for

KINDS = {
    **{f"near float32 d={d}": (torch.float32, d, True) for d in (2, 3, 4, 5, 8)},
    **{f"general float32 d={d}": (torch.float32, d, False) for d in (2, 3, 4)},
    **{f"near float64 d={d}": (torch.float64, d, True) for d in (2, 3, 4, 5, 8)},
    "general float64 d=2": (torch.float64, 2, False),
}


def tiles(double: bool):
    """Rows, columns a lane and blocks at a time, registers."""
    rows, registers = ((4, 8), (128, 168, 255)) if double else ((8, 16), (96, 128, 168))
    loads = ((1, 2), (2, 1), (2, 2), *(() if double else ((4, 1), (4, 2))))
    for high, (wide, unroll), most in product(rows, loads, registers):
        yield {"BM": high, "BN": 32, "WIDE": wide, "UNROLL": unroll, "num_warps": 1, "maxnreg": most}


def main() -> None:
    """All kinds, or those of --only."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=KINDS, action="append")
    for kind in parser.parse_args().only or KINDS:
        dtype, d, near = KINDS[kind]
        double = dtype == torch.float64
        n = 2**16 if double else 2**17
        x = tokens(n, d, dtype)
        columns = columns_of(x, (BETA * LOG2E / 2) ** 0.5 if near else 1.0)
        u = None if near else columns_of(x, -BETA * LOG2E)
        rates = {}
        for tile in (tile_for(d, double, near), *tiles(double)):
            taken = seconds(
                lambda t=tile, c=columns, u=u, n=n: sums_of_columns(c, n, VisibleRange(n, 0), u, **t), repeats=3
            )
            rates[str(tile)] = n * (n + 1) / 2 / taken
            print(f"{kind}  {rates[str(tile)]:.3e}  {tile}", flush=True)
        (own, was), best = next(iter(rates.items())), max(rates, key=rates.__getitem__)
        print(f"{kind}: {rates[best]:.3e} pairs/s by {best}; the engine's {own} {was:.3e}", flush=True)


if __name__ == "__main__":
    main()
