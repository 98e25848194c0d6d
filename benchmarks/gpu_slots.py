"""How many cycles a GPU needs for one pair, counted in the machine code. No GPU is needed: Triton compiles.

    python benchmarks/gpu_slots.py

A quarter of a multiprocessor of compute capability 9.0 issues one instruction a cycle and has an exponential unit that
takes 8 cycles for a warp. Registers lie in two banks, even and odd, of which each is read once a cycle, so that an
instruction takes as many cycles as it reads registers of one bank. What it read just before (.reuse) and what is the
same for all lanes (uniform registers) costs nothing. This sum of cycles is within 10 % of what an H200 takes, where 16
or more warps fit: a block can be chosen before one sits at a GPU (benchmarks/gpu_tiles.py then measures).
"""

from __future__ import annotations

import re
import subprocess
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tokenflock.engine.triton import pairs as triton_pairs

EXPONENTIAL = 8  # cycles
REGISTERS = 65_536
TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
TARGET = GPUTarget("cuda", 90, 32)
SIZES = ("n", "stride", "back", "ahead", "width")


def build(kernel, pointers: dict[str, str], constants: dict, **options):
    """A kernel compiled for TARGET; pointers and sizes are multiples of 16."""
    kinds = {**pointers, **dict.fromkeys(SIZES, "i32"), **dict.fromkeys(constants, "constexpr")}
    names = kernel.arg_names  # Triton goes by their order
    signature = {name: kinds[name] for name in names}
    given = {(names.index(name),): value for name, value in constants.items()}
    aligned = {(at,): [["tt.divisibility", 16]] for at in range(len(pointers) + len(SIZES))}
    return triton.compile(ASTSource(kernel, signature, given, aligned), target=TARGET, options=options)


def told(tool: str, option: str, path: Path) -> str:
    """What a tool of Triton's package says about machine code."""
    return subprocess.run([TOOLS / tool, option, path], capture_output=True, text=True, check=True).stdout


def loops(code: str) -> list[list[str]]:
    """The instructions of every loop: what lies between a label and a branch back to it."""
    labels, found, out = {}, [], []
    for line in code.splitlines():
        if label := re.match(r"(\.L_x_\d+):", line):
            labels[label[1]] = len(found)
        elif instruction := re.match(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?(.*?);", line):
            found.append(instruction[1])
            back = re.search(r"\.L_x_\d+", instruction[1]) if instruction[1].startswith("BRA") else None
            if back and back[0] in labels:
                out.append(found[labels[back[0]] :])
    return out


def cycles(code: list[str]) -> int:
    """Of all instructions, by the registers that they read."""
    total, kept = 0, {}
    for instruction in code:
        sources = instruction.split(",")[1:]
        read = {slot: int(r[1]) for slot, s in enumerate(sources) if (r := re.search(r"(?<!U)R(\d+)", s))}
        fresh = {register for slot, register in read.items() if kept.get(slot) != register}
        kept = {slot: register for slot, register in read.items() if ".reuse" in sources[slot]}
        odd = sum(register % 2 for register in fresh)
        total += max(1, odd, len(fresh) - odd)
    return total


def count(d: int, near: bool, folder: Path) -> None:
    """Print a row for float32 tokens."""
    tile = triton_pairs.tile_for(d, double=False, near=near)
    options = {k: tile.pop(k) for k in ("num_warps", "maxnreg")}
    block = triton_pairs.PairTile(D=d, SPAN=triton_pairs.CHUNK, NEAR=near, BIASED=False, NATIVE=True, **tile)
    constants = {"TILE": block, "EDGES": False}
    pointers = dict.fromkeys(("x", "u", "tops", "slope", "out"), "*fp32")
    path = folder / "kernel.cubin"
    path.write_bytes(build(triton_pairs._sums, pointers, constants, **options).asm["cubin"])
    # The innermost loop has least instructions for a pair; loops around it hold it, and have more.
    mine = [(sum(i.startswith("MUFU") for i in code), code) for code in loops(told("nvdisasm", "-c", path))]
    pairs, code = min(((n, code) for n, code in mine if n), key=lambda row: len(row[1]) / row[0])
    registers = int(re.findall(r"REG:(\d+)", told("cuobjdump", "-res-usage", path))[-1])
    warps = REGISTERS // (-(-registers // 8) * 8 * 32)
    needed = cycles(code) / pairs
    spilled = sum(i.startswith(("LDL", "STL")) for i in code)
    print(
        f"{'near' if near else 'general'} d={d}  {len(code) / pairs:5.2f} instructions a pair  {needed:5.2f} cycles: "
        f"{min(1.0, EXPONENTIAL / needed):.2f} of the exponentials  {registers} registers, {warps} warps"
        f"{f', {spilled} SPILLS' if spilled else ''}",
        flush=True,
    )


def main() -> None:
    """The engine's kernels for small dim."""
    print(f"compute capability 9.0, triton {version('triton')}, float32")
    with TemporaryDirectory() as made:
        for near, dims in ((True, (2, 3, 4, 5, 8)), (False, (2, 3, 4))):
            for d in dims:
                count(d, near, Path(made))


if __name__ == "__main__":
    main()
