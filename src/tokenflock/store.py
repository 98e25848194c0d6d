"""Files, written whole or not at all: Zarr folders and netCDF of trajectories, checked when read, and plain text."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from tokenflock.errors import FileError, TokenflockError, UnwritableFile, missing

if TYPE_CHECKING:
    import xarray as xr

ADVICE = "Load files that flock.save or `tokenflock simulate --out` wrote."
REPEAT = "Copy it again, or repeat the run."
FILES = "files"  # attribute with name and size of every file of a Zarr folder: a missing chunk would read as zeros
CHECKSUMS = "checksums"  # attribute with those of the files
CHECKSUM = "checksum"  # attribute with that of the zarr.json of the folder, without this attribute
TRIES, QUIET = 100, 10  # looks at a folder that threads may still write to, and those in a row that miss it in the end
TRAILER = b"\ntokenflock blake2b "  # with a checksum it ends a netCDF file: HDF5 does not look beyond its own end


def checksum(file: IO[bytes], size: int | None = None) -> str:
    """Of the first bytes of an open file, or of all that are left."""
    hashed = hashlib.blake2b(digest_size=16)
    left = size
    while part := file.read(1 << 20 if left is None else min(left, 1 << 20)):
        hashed.update(part)
        left = None if left is None else left - len(part)
    return hashed.hexdigest()


def _of_root(root: dict[str, Any]) -> str:
    """The checksum of the metadata of a Zarr group, however their JSON is set."""
    attributes = {name: value for name, value in root["attributes"].items() if name != CHECKSUM}
    text = json.dumps(root | {"attributes": attributes}, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def seal(folder: Path, **attributes: Any) -> None:
    """Add attributes to a Zarr group, and the checksum of its metadata: a changed bit of them is found."""
    root = json.loads((folder / "zarr.json").read_text(encoding="utf-8"))
    root["attributes"] |= attributes
    root["attributes"][CHECKSUM] = _of_root(root)
    (folder / "zarr.json").write_text(json.dumps(root), encoding="utf-8")


def is_sealed(root: dict[str, Any]) -> bool:
    """Whether the metadata of a Zarr group are those that were sealed. Groups of earlier versions have no checksum."""
    return root["attributes"].get(CHECKSUM) in (None, _of_root(root))


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Files of a folder: all of them are there, beside their names, before the first takes its name."""
    with tempfile.TemporaryDirectory(prefix=".", dir=folder) as part:
        for name, content in contents.items():
            Path(part, name).write_bytes(content)
        for name in contents:
            Path(part, name).replace(folder / name)


def write_text(path: Path, text: str) -> None:
    """A text file, beside its name first and then renamed."""
    write_files(path.parent, {path.name: text.encode()})


def check_target(path: Path, overwrite: bool) -> Path:
    """Say before any work whether a file can be written here."""
    path = Path(path)
    if path.suffix not in (".zarr", ".nc"):
        raise FileError(f"cannot tell the format of {str(path)!r}. Allowed: names ending in .zarr or .nc.")
    if path.exists() and not overwrite:
        raise FileError(f"{str(path)!r} exists. Choose another name, or allow it with --overwrite (overwrite=True).")
    if path.exists() and (foreign := _not_ours(path)):
        raise FileError(f"{str(path)!r} exists and is {foreign}: it is never overwritten. Choose another name.")
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


def _not_ours(path: Path) -> str:
    """What stands here, if it is nothing that `write` made and may replace."""
    if path.suffix == ".nc":
        return "" if path.is_file() else "a folder"
    try:
        attributes = json.loads((path / "zarr.json").read_text(encoding="utf-8"))["attributes"]
        ours = isinstance(attributes[FILES], str) and "model" in attributes  # the store of a sweep has a list
    except OSError:
        return "not a Zarr folder"
    except (ValueError, LookupError, TypeError, RecursionError):
        ours = False
    return "" if ours else "not the Zarr folder of a run"


def write(run: xr.Dataset, path: Path, overwrite: bool) -> Path:
    """Write beside the final name, then rename: no partial file is ever left under it."""
    path = check_target(path, overwrite)
    try:
        with _scratch(path) as scratch:
            part = scratch / path.name
            if path.suffix == ".nc":
                write_netcdf(run, part)
            else:
                run.to_zarr(part, mode="w", consolidated=False, zarr_format=3)
                files = [f for f in sorted(part.rglob("*")) if f.is_file() and f != part / "zarr.json"]
                named = {f.relative_to(part).as_posix(): f for f in files}
                sizes = {name: f.stat().st_size for name, f in named.items()}
                sums = {name: _checksum_of(f) for name, f in named.items()}
                seal(part, **{FILES: json.dumps(sizes), CHECKSUMS: json.dumps(sums)})
            _exchange(part, path, scratch / "replaced")
    except TokenflockError:
        raise
    except OSError as error:
        why = f"{error.strerror or error}. Nothing was written: check the memory, the disk and the rights"
        raise UnwritableFile(f"{str(path)!r} cannot be written: {why}.") from error
    return path


@contextmanager
def _scratch(path: Path) -> Iterator[Path]:
    """A folder beside the final name, removed in the end.

    After an error threads of zarr write on for a while, and make the folder anew: it must stay away.
    """
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield folder
    except BaseException:
        away = 0
        for _ in range(TRIES):
            away = 0 if folder.exists() else away + 1
            if away == QUIET:
                break
            shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.02)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _checksum_of(path: Path) -> str:
    with path.open("rb") as file:
        return checksum(file)


class _Disk:
    """A file for HDF5 to write to, which is never told that the disk is full: closing such a file it crashes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, part: Any) -> int:
        """Write all of it, or keep the reason why not."""
        left = memoryview(part).cast("B")
        try:
            while left and self.error is None:
                left = left[self._file.write(left) :]
        except OSError as error:
            self.error = error
        return len(part)

    def truncate(self, size: int) -> int:
        """As `write`: a file can also grow by it."""
        try:
            return size if self.error else self._file.truncate(size)
        except OSError as error:
            self.error = error
            return size


def write_netcdf(data: xr.Dataset, path: Path) -> None:
    """A Dataset as netCDF with a checksum at its end; an OSError if the disk does not take it."""
    _netcdf()
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    if (free := shutil.disk_usage(path.parent).free) < data.nbytes:
        wanted = f"It takes {data.nbytes / 2**20:.1f} MiB, and {free / 2**20:.1f} MiB are free"
        raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}. {wanted}")
    with open(path, "wb+", buffering=0) as file:
        disk = _Disk(file)
        try:
            with h5netcdf.File(disk, "w") as written:
                data.dump_to_store(H5NetCDFStore(written))
        except Exception:
            if disk.error is None:
                raise
        if disk.error is not None:
            raise disk.error
        file.seek(0)
        line = TRAILER + checksum(file).encode() + b"\n"
        if file.write(line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


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
    """Every file of a Zarr folder is there, and as it was."""
    try:
        root = json.loads((path / "zarr.json").read_text(encoding="utf-8"))
        attributes = root["attributes"]
        sizes, sums = dict(json.loads(attributes[FILES])), dict(json.loads(attributes.get(CHECKSUMS, "{}")))
        same = is_sealed(root) and (CHECKSUM in attributes) == (CHECKSUMS in attributes)  # all of them, or none
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(
            f"{str(path)!r} is not a trajectory of tokenflock, or its zarr.json is damaged. {ADVICE}"
        ) from error
    if not same:
        raise FileError(f"{str(path / 'zarr.json')!r} is damaged: it is not what was saved. {REPEAT}")
    damage, broken = "missing or cut", [n for n, size in sizes.items() if not _has_size(path / n, size)]
    if not broken:
        damage, broken = "not what was saved", [n for n, told in sums.items() if _checksum_of(path / n) != told]
    if broken:
        count = f"{len(broken)} of {len(sizes)} files are {damage}, first {broken[0]!r}"
        raise FileError(f"{str(path)!r} is damaged: {count}. {REPEAT}")


def _has_size(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def _check_netcdf(path: Path) -> None:
    """A file with a checksum at its end is as it was; earlier versions wrote none, nor do other programs."""
    length = len(TRAILER) + 33
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END) - length
        file.seek(max(size, 0))
        trailer = file.read()
        file.seek(0)
        if trailer.startswith(TRAILER) and trailer[len(TRAILER) : -1].decode("ascii", "replace") != checksum(
            file, size
        ):
            raise FileError(f"{str(path)!r} is damaged: it is not what was saved. {REPEAT}")


def read(path: Path) -> xr.Dataset:
    """Read a file that `write` made; a truncated, changed or foreign one is refused with the reason."""
    import xarray as xr

    if not path.exists():
        raise FileError(f"{str(path)!r} does not exist. Give a .zarr or .nc that flock.save or simulate --out wrote.")
    kind = "Zarr" if path.is_dir() else "netCDF"
    try:
        if path.is_dir():
            _check_files(path)
            run: xr.Dataset = xr.open_zarr(path, consolidated=False, chunks=None)
            for name in (FILES, CHECKSUMS, CHECKSUM):
                run.attrs.pop(name, None)
            return run
        _check_netcdf(path)
        with xr.open_dataset(path, engine=_netcdf()) as file:
            return file.load()
    except TokenflockError:
        raise
    except Exception as error:  # damage of a file without a checksum, or whatever a foreign one makes the readers say
        why = f"{error}. It is foreign or truncated"
        raise FileError(f"{str(path)!r} cannot be read as {kind}: {why}. {ADVICE}") from error
