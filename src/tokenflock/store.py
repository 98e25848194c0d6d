"""Files, written whole or not at all: Zarr folders and netCDF of trajectories, checked when read, and plain text."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tokenflock.errors import FileError, missing

if TYPE_CHECKING:
    import xarray as xr

ADVICE = "Load files that flock.save or `tokenflock simulate --out` wrote."
FILES = "files"  # attribute with name and size of every file of a Zarr folder: a missing chunk would read as zeros


def write_text(path: Path, text: str) -> None:
    """A text file, beside its name first and then renamed."""
    with tempfile.TemporaryDirectory(prefix=".", dir=path.parent) as part:
        Path(part, path.name).write_text(text, encoding="utf-8")
        Path(part, path.name).replace(path)


def check_target(path: Path, overwrite: bool) -> Path:
    """Say before any work whether a file can be written here."""
    path = Path(path)
    if path.suffix not in (".zarr", ".nc"):
        raise FileError(f"cannot tell the format of {str(path)!r}. Allowed: names ending in .zarr or .nc.")
    if path.exists() and not overwrite:
        raise FileError(f"{str(path)!r} exists. Choose another name, or allow it with --overwrite (overwrite=True).")
    if path.exists() and path.suffix == ".zarr" and not (path / "zarr.json").is_file():
        raise FileError(f"{str(path)!r} exists and is not a Zarr folder: it is never overwritten. Choose another name.")
    folder = path.parent
    if not folder.is_dir():
        raise FileError(f"the folder {str(folder)!r} does not exist. Make it first, or choose another place.")
    if not os.access(folder, os.W_OK):
        raise FileError(f"the folder {str(folder)!r} cannot be written to. Choose another place, or change its rights.")
    if path.suffix == ".nc":
        _netcdf()
    return path


def _netcdf() -> Literal["h5netcdf"]:
    try:
        import h5netcdf  # noqa: F401
        import h5py  # noqa: F401
    except ImportError as error:
        raise missing("h5netcdf and h5py", "netcdf", "netCDF") from error
    return "h5netcdf"


def write(run: xr.Dataset, path: Path, overwrite: bool) -> Path:
    """Write beside the final name, then rename: no partial file is ever left under it."""
    path = check_target(path, overwrite)
    scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        part = scratch / path.name
        if path.suffix == ".nc":
            run.to_netcdf(part, engine=_netcdf())
        else:
            run.to_zarr(part, mode="w", consolidated=False, zarr_format=3)
            _list_files(part)
        _exchange(part, path, scratch / "replaced")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return path


def _list_files(folder: Path) -> None:
    """Put the list of files into the attributes of the group."""
    root = folder / "zarr.json"
    files = {
        str(f.relative_to(folder)): f.stat().st_size for f in sorted(folder.rglob("*")) if f.is_file() and f != root
    }
    group = json.loads(root.read_text())
    group["attributes"][FILES] = json.dumps(files)
    root.write_text(json.dumps(group))


def _exchange(part: Path, path: Path, replaced: Path) -> None:
    """The new file under the final name; if that fails, the old one again."""
    if path.exists():
        path.rename(replaced)
    try:
        part.rename(path)
    except BaseException:
        if replaced.exists():
            replaced.rename(path)
        raise


def _check_files(path: Path) -> None:
    """Every file of a Zarr folder is there, and as long as it was."""
    try:
        files = json.loads(json.loads((path / "zarr.json").read_text())["attributes"][FILES])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(
            f"{str(path)!r} is not a trajectory of tokenflock, or its zarr.json is damaged. {ADVICE}"
        ) from error
    broken = [n for n, size in files.items() if not (path / n).is_file() or (path / n).stat().st_size != size]
    if broken:
        count = f"{len(broken)} of {len(files)} files are missing or cut, first {broken[0]!r}"
        raise FileError(f"{str(path)!r} is damaged: {count}. Copy it again, or repeat the run.")


def read(path: Path) -> xr.Dataset:
    """Read a file that `write` made; a truncated or foreign one is refused with the reason."""
    import xarray as xr

    if not path.exists():
        raise FileError(f"{str(path)!r} does not exist. Give a .zarr or .nc that flock.save or simulate --out wrote.")
    if path.is_dir():
        _check_files(path)
        run: xr.Dataset = xr.open_zarr(path, consolidated=False, chunks=None)
        del run.attrs[FILES]
        return run
    try:
        with xr.open_dataset(path, engine=_netcdf()) as file:
            return file.load()
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        why = f"{error}. It is foreign or truncated"
        raise FileError(f"{str(path)!r} cannot be read as netCDF: {why}. {ADVICE}") from error
