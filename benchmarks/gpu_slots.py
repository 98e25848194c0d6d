"""How many instructions a GPU issues for one pair, counted in the machine code. No GPU is needed: Triton compiles.

    python benchmarks/gpu_slots.py

A multiprocessor of compute capability 9.0 issues 128 lanes a clock and has 16 exponentials: 8 instructions for each.
A loop with fewer is bound by exponentials at best, one with more by issue. This is a bound and no time: stalls are not
in it, and only a device measures. Counts are of the innermost loop over unmasked pairs.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

ISSUED, EXPONENTIALS = 128, 16  # lanes a clock of one multiprocessor
REGISTERS = 65_536
TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
TARGET = GPUTarget("cuda", 90, 32)


def build(kernel, pointers: dict[str, str], sizes: tuple[str, ...], constants: dict, **options):
    """A kernel compiled for TARGET; pointers and sizes are multiples of 16."""
    kinds = {**pointers, **dict.fromkeys(sizes, "i32"), **dict.fromkeys(constants, "constexpr")}
    names = kernel.arg_names  # Triton goes by their order
    signature = {name: kinds[name] for name in names}
    given = {(names.index(name),): value for name, value in constants.items()}
    aligned = {(at,): [["tt.divisibility", 16]] for at in range(len(pointers) + len(sizes))}
    return triton.compile(ASTSource(kernel, signature, given, aligned), target=TARGET, options=options)


def told(tool: str, option: str, path: Path) -> str:
    """What a tool of Triton's package says about machine code."""
    return subprocess.run([TOOLS / tool, option, path], capture_output=True, text=True, check=True).stdout


def loops(code: str) -> list[Counter]:
    """The instructions of every loop: what lies between a label and a branch back to it."""
    labels, found, out = {}, [], []
    for line in code.splitlines():
        if label := re.match(r"(\.L_x_\d+):", line):
            labels[label[1]] = len(found)
        elif instruction := re.match(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?(\w+)(.*?);", line):
            found.append(instruction[1])
            back = re.search(r"\.L_x_\d+", instruction[2]) if instruction[1] == "BRA" else None
            if back and back[0] in labels:
                out.append(Counter(found[labels[back[0]] :]))
    return out


def count(name: str, kernel, pairs: int, by_polynomial: int = 0, folder: Path = Path(), **how) -> None:
    """Print a row. pairs: of a lane in one tile; of 8 of them so many have no exponential."""
    warps = how["num_warps"]
    built = build(kernel, **how)
    path = folder / "kernel.cubin"
    path.write_bytes(built.asm["cubin"])
    # The loop without masks has least instructions for a pair; loops around it hold it, and have more.
    mine = [c for c in loops(told("nvdisasm", "-c", path)) if c["MUFU"]]
    exponentials = 1.0 - by_polynomial / 8
    slots = min(sum(c.values()) * exponentials / c["MUFU"] for c in mine)
    best = next(c for c in mine if sum(c.values()) * exponentials / c["MUFU"] == slots)
    registers = int(re.findall(r"REG:(\d+)", told("cuobjdump", "-res-usage", path))[-1])
    programs = REGISTERS // (-(-registers // 8) * 8 * 32 * warps)
    times = best["MUFU"] / exponentials / pairs  # tiles that the compiler unrolled
    bound = min(ISSUED / slots, EXPONENTIALS / exponentials) / EXPONENTIALS
    units = " ".join(f"{best[u] / times / pairs:.2f} {u}" for u in ("MUFU", "FADD", "FMUL", "FFMA") if best[u])
    products = f"{best['HGMMA'] / times:.0f} products a tile" if best["HGMMA"] else ""
    spilled = best["LDL"] + best["STL"]
    print(
        f"{name:52s} {slots:6.2f} issued a pair  at most {bound:.2f} of the exponentials  {registers:3d} registers, "
        f"{programs * warps} warps  {units}  {products}{f'  {spilled} SPILLS' if spilled else ''}",
        flush=True,
    )


def main() -> None:
    """The engine's kernel and the experiment of gpu_tensor.py, d = 2 to 4."""
    from tempfile import TemporaryDirectory

    import gpu_tensor
    from tokenflock.engine import gpu_pairs

    print(f"compute capability 9.0, triton {version('triton')}")
    sizes = ("n", "stride", "back", "ahead", "width")
    with TemporaryDirectory() as made:
        for d in (2, 3, 4):
            tile = gpu_pairs.tile_for(d, double=False, near=True)
            options = {k: tile.pop(k) for k in ("num_warps", "maxnreg") if k in tile}
            constants = {"D": d, "SPAN": gpu_pairs.CHUNK, "NEAR": True, "BIASED": False, "NATIVE": True, **tile}
            pointers = dict.fromkeys(("x", "u", "tops", "slope", "out"), "*fp32")
            count(f"engine, near, d={d}", gpu_pairs._sums, tile["BM"] * tile["BN"] // 32, folder=Path(made),
                  pointers=pointers, sizes=sizes, constants=constants, **options)  # fmt: skip
        pointers = {"cols": "*fp16", "tokens": "*fp16", "out": "*fp32"}
        for d, changes in gpu_tensor.VARIANTS.items():
            for change in changes:
                tile = gpu_tensor.TILE | change
                options = {k: tile.pop(k) for k in ("num_warps", "maxnreg") if k in tile}
                constants = {"D": d, "SPAN": gpu_tensor.SPAN, "NATIVE": True, **tile}
                name = " ".join([f"tensor cores, d={d}", *(f"{k}={v}" for k, v in change.items())])
                pairs = tile["BM"] * tile["BN"] // (32 * options["num_warps"])
                count(name, gpu_tensor._sums, pairs, tile["POLY"], Path(made),
                      pointers=pointers, sizes=sizes, constants=constants, **options)  # fmt: skip


if __name__ == "__main__":
    main()
