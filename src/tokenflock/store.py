"""Files of trajectories: Zarr folders and netCDF, written whole or not at all, and checked when read."""

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

MANIFEST = "tokenflock.json"  # name and size of every file of a Zarr folder: a missing chunk would read as zeros


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
            files = {str(f.relative_to(part)): f.stat().st_size for f in sorted(part.rglob("*")) if f.is_file()}
            (part / MANIFEST).write_text(json.dumps(files))
        if path.exists():
            path.rename(scratch / "replaced")
        part.rename(path)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return path


def read(path: Path) -> xr.Dataset:
    """Read a file that `write` made; a truncated or foreign one is refused with the reason."""
    import xarray as xr

    if not path.exists():
        raise FileError(f"{str(path)!r} does not exist.")
    advice = "Load files that flock.save or `tokenflock simulate --out` wrote."
    if path.is_dir():
        if not (path / MANIFEST).is_file():
            raise FileError(f"{str(path)!r} is not a trajectory of tokenflock: it has no {MANIFEST}. {advice}")
        files = json.loads((path / MANIFEST).read_text())
        broken = [n for n, size in files.items() if not (path / n).is_file() or (path / n).stat().st_size != size]
        if broken:
            count = f"{len(broken)} of {len(files)} files are missing or cut, first {broken[0]!r}"
            raise FileError(f"{str(path)!r} is damaged: {count}. Copy it again, or repeat the run.")
        return xr.open_zarr(path, consolidated=False, chunks=None)
    try:
        with xr.open_dataset(path, engine=_netcdf()) as file:
            return file.load()
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        why = f"{error}. It is foreign or truncated"
        raise FileError(f"{str(path)!r} cannot be read as netCDF: {why}. {advice}") from error
