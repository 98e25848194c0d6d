"""Files as commands read them: runs and stores of sweeps that this package wrote, hidden states of any network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import tokenflock as flock
from tokenflock.errors import SpecError, bad, clash

if TYPE_CHECKING:
    import xarray as xr


FILE = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A .zarr or .nc of simulate, network, sweep; hidden states in .npy, .npz, ..."),
]
PART = Annotated[
    str, typer.Option("--part", metavar="NAME", help="Of a cache: its layers by name, {} for their number.")
]


def opened(path: Path, part: str = "") -> xr.Dataset:
    """The Dataset of a file: a run, the table of a sweep's store, or hidden states; part: which of a cache."""
    from tokenflock.caches import SUFFIXES

    if path.suffix in SUFFIXES:
        states: xr.Dataset = flock.trajectory(path, part=part, name=path.stem)
        return states
    if part:
        raise clash("--part", str(path), f"It chooses among the entries of a cache: {', '.join(SUFFIXES)}.")
    if path.is_dir() and (path / "zarr.json").is_file():
        from tokenflock.plot.tables import KIND

        if KIND in (path / "zarr.json").read_text(encoding="utf-8", errors="replace"):
            table: xr.Dataset = flock.sweeps.open_store(path).load()
            return table
    run: xr.Dataset = flock.load(path)
    return run


def number(run: str | None) -> int | None:
    """--run as a whole number."""
    from tokenflock.arguments import digits

    found = None if run is None else digits(run)
    if run is not None and found is None:
        raise bad("--run", run, "a whole number >= 0", "Runs count from 0.")
    return found


def settings(given: list[str] | None) -> dict[str, object]:
    """--set NAME=VALUE, as often as it is given: {name: value}, lists in commas."""
    from tokenflock.spec import plain

    found: dict[str, object] = {}
    for words in given or []:
        name, equals, value = words.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier() or not value.strip():
            raise bad("--set", words, "NAME=VALUE", "For example --set beta=16.")
        if name in found:
            raise SpecError(f"--set {name} is given twice. Give it once.")
        parts = [plain(part.strip()) for part in value.split(",") if part.strip()]
        found[name] = tuple(parts) if "," in value else parts[0]
    return found
