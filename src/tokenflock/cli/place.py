"""Where the command line writes: said before any work whether it can, and written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tokenflock.errors import FileError, SpecError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("pdf", "svg", "png")  # those of plot.save; named here because plot imports numpy


def stem(name: str) -> str:
    """The name of a claim or a figure as that of a file: causal/2 is causal-2."""
    return name.replace("/", "-")


def lacking(flag: str, example: str) -> SpecError:
    """A folder that was not named."""
    return SpecError(f"{flag} is missing. Say where to write: {flag} {example}, a folder that is made if need be.")


def folder(out: Path | None, names: list[str], overwrite: bool) -> Path:
    """Say before any work whether these files can be written to a folder; make it."""
    if out is None:
        raise lacking("--out", "figures")
    _free([out / name for name in names], "--out", overwrite)
    near = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    if not near.is_dir() or not os.access(near, os.W_OK):
        raise FileError(f"{str(near)!r} is not a folder that can be written to. Choose another --out.")
    out.mkdir(parents=True, exist_ok=True)
    return out


def file(path: Path, flag: str, overwrite: bool) -> Path:
    """Say before any work whether one file can be written."""
    if path.is_dir():
        raise FileError(f"{str(path)!r} is a folder. Give {flag} the name of a file.")
    _free([path], flag, overwrite)
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise FileError(f"{str(path.parent)!r} is not a folder that can be written to. Choose another {flag}.")
    return path


def json_file(given: str | None, overwrite: bool) -> Path | None:
    """The file that --json names; None where it names stdout, or where it was not given."""
    return None if given in (None, "-") else file(Path(str(given)), "--json", overwrite)


def no_window() -> None:
    """Let matplotlib draw into files alone."""
    import matplotlib

    matplotlib.use("Agg")


def _free(paths: list[Path], flag: str, overwrite: bool) -> None:
    if (there := [path for path in paths if path.exists()]) and not overwrite:
        raise FileError(f"{str(there[0])!r} exists. Choose another {flag}, or allow it with --overwrite.")


def save_figure(drawn: Figure, out: Path, name: str) -> None:
    """A figure in all formats, or in none."""
    from tokenflock import plot

    plot.save(drawn, out, stem(name), FORMATS)
