"""A sweep as one file for other tools: a table with a row a run (.parquet, .csv), or netCDF (.nc)."""

from __future__ import annotations

import importlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.errors import FileError, bad, missing
from tokenflock.store import write_netcdf

if TYPE_CHECKING:
    import xarray as xr

KINDS = (".parquet", ".csv", ".nc")
MOST_COLUMNS = 10_000


def check_target(path: Path, overwrite: bool) -> None:
    """Say before any work whether a file can be written here."""
    if path.suffix not in KINDS:
        raise FileError(f"cannot tell the format of {str(path)!r}. Allowed: names ending in {', '.join(KINDS)}.")
    if path.exists() and not overwrite:
        raise FileError(f"{str(path)!r} exists. Choose another name, or allow it with --overwrite (overwrite=True).")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise FileError(f"{str(path.parent)!r} is not a folder that can be written to. Choose another place.")
    needed = {".parquet": ("pyarrow", "sweep"), ".nc": ("h5netcdf", "netcdf")}.get(path.suffix)
    if needed is not None:
        try:
            __import__(needed[0])
        except ImportError as error:
            raise missing(*needed, f"Writing {path.suffix}") from error


def frame(data: xr.Dataset) -> Any:
    """A row a run: the axes, the replicate, and every variable; arrays take a column for each of their elements."""
    pandas = importlib.import_module("pandas")
    dims = data["seed"].dims
    grid = np.meshgrid(*(data[dim].values for dim in dims), indexing="ij")
    columns: dict[str, Any] = {str(dim): values.ravel() for dim, values in zip(dims, grid, strict=True)}
    wide = sum(max(1, data[name].size // data["seed"].size) for name in data.data_vars)
    if wide > MOST_COLUMNS:
        raise bad("export", f"a table of {wide} columns", f"at most {MOST_COLUMNS}", "Arrays belong into netCDF: .nc.")
    for name, variable in data.data_vars.items():
        values = variable.transpose(*dims, ...).values.reshape(data["seed"].size, -1)
        if name == "reason":
            values = values.astype(object)
        if variable.ndim == len(dims):
            columns[str(name)] = values[:, 0]
        else:
            columns |= {f"{name}_{k}": values[:, k] for k in range(values.shape[1])}
    return pandas.DataFrame(columns)


def export(data: xr.Dataset, path: str | Path, overwrite: bool = False) -> Path:
    """Write a sweep to one file, whole or not at all; the ending of its name says in which format."""
    path = Path(path)
    check_target(path, overwrite)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as scratch:
        part = Path(scratch, path.name)
        if path.suffix == ".nc":
            plain = data.assign(reason=data["reason"].astype(object))
            write_netcdf(plain, part)
        elif path.suffix == ".csv":
            frame(data).to_csv(part, index=False)
        else:
            frame(data).to_parquet(part, engine="pyarrow", index=False)
        part.replace(path)
    return path
