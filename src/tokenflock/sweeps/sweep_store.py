"""The store of a sweep: one Zarr v3 group that plain `xarray.open_zarr` reads, with the axes as dimensions.

Every variable has one chunk a shard, written whole (beside its name, then renamed) by the process that computed it:
data first, `checksum` last. A checksum that is not 0 says that the shard is done, and what its bytes were. Data are on
the disk before the checksum, and the checksum before the shard is reported as done: what was reported survives a power
failure. Chunks are plain arrays, not compressed, so that the bytes of a shard follow from the plan alone: two processes
that write the same shard agree.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.arguments import digits, warn
from tokenflock.errors import FileError, SpecError, TokenflockError, bad
from tokenflock.simulation import versions
from tokenflock.store import is_sealed, seal
from tokenflock.sweeps.durable import fsync_files
from tokenflock.sweeps.plan import Plan, differences
from tokenflock.sweeps.shards import FAILED, NOT_YET, OUTCOMES, Arrays, Grid, variables

if TYPE_CHECKING:
    import xarray as xr

SCHEMA = 1
KIND = "tokenflock sweep"
OLD_S = 60.0  # a partial file or a job that nobody wrote to for so long is left over from a process that died
ADVICE = "Use a new --store DIR, or the specification that this one was made with."
UNREADABLE = 1  # what a checksum of a wrong length is taken to be: the shard is damaged
WRONG = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)  # what damage raises


class UnwritableStore(FileError):
    """A store that the disk does not let us write to. Workers send it on as what it is."""


class SweepStore:
    """The store of a sweep on disk, known to be whole."""

    def __init__(self, path: Path) -> None:
        """Open a store; a foreign, damaged or newer one is refused."""
        self.path = Path(path)
        self.attrs = _attributes(self.path)
        self.grid = _grid(self.path)
        self.durable = True  # False: for a store that is thrown away

    @cached_property
    def _arrays(self) -> dict[str, Any]:
        """Opened once: zarr would read the metadata again for every shard."""
        import zarr

        group = zarr.open_group(str(self.path), mode="r+")
        return {name: group[name] for name in (*self.names, "checksum")}

    @cached_property
    def names(self) -> list[str]:
        """The variables that every shard has a chunk of."""
        return list(self.attrs["variables"])

    # What is done

    def checksums(self) -> NDArray[np.uint64]:
        """One for every shard, 0 where it is not done. Files are read directly: zarr takes a second for thousands."""
        found = np.zeros(len(self.grid), dtype=np.uint64)
        folder = f"{self.path}/checksum/c"
        try:
            names = os.listdir(folder)  # noqa: PTH208 - thousands of Path objects take a second
        except (FileNotFoundError, NotADirectoryError):
            return found
        for name in names:
            shard = digits(name)
            if shard is not None and shard < len(found):
                content = _content(f"{folder}/{name}")
                found[shard] = int.from_bytes(content, "little") if len(content) in (0, 8) else UNREADABLE
        return found

    def is_done(self, shard: int) -> bool:
        """Whether some process has finished a shard."""
        return any(_content(f"{self.path}/checksum/c/{shard}"))

    def pending(self) -> list[int]:
        """The shards that are not done."""
        return [int(shard) for shard in np.flatnonzero(self.checksums() == 0)]

    def files(self, shard: int) -> list[str]:
        """The chunks of a shard, a path for each variable. As text: thousands of Path objects take a second."""
        corner = "/".join(map(str, self.grid.corner(shard)))
        return [f"{root}/{corner}{ending}" for root, ending in self._roots]

    @cached_property
    def _roots(self) -> list[tuple[str, str]]:
        """The folder of a variable, and what its chunks have after their place in the grid."""
        return [(str(self.path / name / "c"), "/0" * len(dims)) for name, dims in self.attrs["variables"].items()]

    def digest(self, shard: int) -> int:
        """The checksum of what is on disk: never 0. A chunk that holds nothing but missing values has no file."""
        hashed = hashlib.blake2b(digest_size=8)
        for name, path in zip(self.names, self.files(shard), strict=True):
            content = _content(path)
            hashed.update(f"{name}:{len(content)}:".encode())
            hashed.update(content)
        return int.from_bytes(hashed.digest(), "little") or 1

    # Writing

    def write(self, shard: int, arrays: Arrays) -> None:
        """Write all variables of a shard, the outcomes after the values, then its checksum.

        An error leaves a shard that is not done.
        """
        slices = self.grid.slices(shard)
        try:
            for name in reversed(self.names):
                self._arrays[name][slices] = arrays[name]
            if self.durable:
                fsync_files(self.files(shard), self.path)
            self._arrays["checksum"][shard] = self.digest(shard)
            if self.durable:
                fsync_files([f"{self.path}/checksum/c/{shard}"], self.path)
        except OSError as error:
            raise unwritable(self.path, error) from error

    def forget(self, shards: list[int]) -> None:
        """Mark shards as not done, and remove what is there: zarr would read a damaged chunk before it writes it."""
        for shard in shards:
            for file in (f"{self.path}/checksum/c/{shard}", *self.files(shard)):
                Path(file).unlink(missing_ok=True)

    # Damage and failures

    def verify(self) -> list[int]:
        """The finished shards whose bytes are not those of their checksum."""
        return [shard for shard, told in enumerate(self.checksums()) if told and int(told) != self.digest(shard)]

    def remove_partial_files(self) -> int:
        """Remove partial files that processes left behind when they were killed; how many."""
        left = [path for path in self.path.rglob("*.partial") if age(path) > OLD_S]
        for path in left:
            path.unlink(missing_ok=True)
        return len(left)

    def failed(self) -> dict[int, list[int]]:
        """The finished shards in which runs failed: {shard: runs}."""
        found: dict[int, list[int]] = {}
        with reading(self.path):
            outcome = np.isin(self._arrays["outcome"][...], FAILED)
        for shard in range(len(self.grid)):
            if (bad_ones := outcome[self.grid.slices(shard)]).any():
                runs = self.grid.runs(shard)
                found[shard] = [runs[k] for k in np.flatnonzero(bad_ones.ravel())]
        return found

    # Reading

    def load(self) -> xr.Dataset:
        """The sweep with its axes as dimensions; nothing is read before it is used.

        Runs that are not done yet have outcome -1 and missing values (nan, or -1).
        """
        import xarray as xr

        data = xr.open_zarr(self.path, consolidated=False, chunks=None)[self.names]
        kept = {name: data.attrs[name] for name in ("kind", "schema", "plan", "versions")}
        done = sum(self.grid.size(int(shard)) for shard in np.flatnonzero(self.checksums()))
        told: xr.Dataset = data.drop_attrs(deep=False).assign_attrs(kept)
        return told.assign_attrs(runs=math.prod(self.grid.shape), runs_done=done)


def unwritable(path: Path, error: OSError) -> UnwritableStore:
    """What to say when the disk does not take a shard."""
    why = error.strerror or str(error)
    return UnwritableStore(
        f"{str(path)!r} cannot be written to: {why}. Everything that was reported done is safe: make room or change "
        "the rights, and give the same command again."
    )


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What a damaged chunk raises, deep inside of zarr, as a sentence."""
    try:
        yield
    except TokenflockError:
        raise
    except WRONG as error:
        advice = "`tokenflock sweep --verify` says which shards; the command that made the store computes them again."
        raise FileError(f"{str(path)!r} is damaged: {error}. {advice}") from error


def _layout(path: Path, files: list[str]) -> str:
    """A checksum of what is written once, when a store is made: the metadata of its arrays and its coordinates."""
    hashed = hashlib.blake2b(digest_size=8)
    for name in files:
        try:
            hashed.update(name.encode() + (path / name).read_bytes())
        except OSError:
            return ""
    return hashed.hexdigest()


def _content(path: str) -> bytes:
    """The bytes of a file, none if it is not there."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return b""


def age(path: Path) -> float:
    """Seconds since a file was written; none if it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _attributes(path: Path) -> dict[str, Any]:
    """What a store says of itself, if nothing of it has changed since it was made."""
    try:
        root = json.loads((path / "zarr.json").read_text(encoding="utf-8"))
        attrs = dict(root["attributes"])
        ours, schema = attrs.get("kind") == KIND, int(attrs.get("schema", 0))
        told = {name: dict(json.loads(attrs[name])) for name in ("plan", "versions")} if ours else {}
    except FileNotFoundError as error:
        raise FileError(f"{str(path)!r} is not the store of a sweep: it has no zarr.json. Check the name.") from error
    except WRONG as error:
        raise FileError(f"{str(path / 'zarr.json')!r} is damaged or foreign: {error}. {ADVICE}") from error
    if not ours:
        raise FileError(f"{str(path)!r} is a Zarr group, but not the store of a sweep. {ADVICE}")
    if schema > SCHEMA:
        made = told["versions"].get("tokenflock", "?")
        raise bad("schema", schema, f"<= {SCHEMA}", f"The store is from a newer tokenflock ({made}): upgrade.")
    try:
        metadata = [f"{name}/zarr.json" for name in (*dict(attrs["variables"]), "checksum")]
        same = (
            is_sealed(root)
            and set(metadata) <= set(attrs["files"])
            and attrs["layout"] == _layout(path, attrs["files"])
        )
    except WRONG:
        same = False
    if not same:
        raise damaged(path)
    return attrs | {"plan": told["plan"]}


def damaged(path: Path) -> FileError:
    """What was written once, when the store was made, is not what it was."""
    return FileError(f"{str(path)!r} is damaged: its metadata or coordinates changed. Copy it again.")


def _grid(path: Path) -> Grid:
    """The grid as the array of outcomes has it, whose metadata the checksum of the layout covers."""
    outcome = json.loads((path / "outcome" / "zarr.json").read_text(encoding="utf-8"))
    return Grid(tuple(outcome["shape"]), tuple(outcome["chunk_grid"]["configuration"]["chunk_shape"]))


def open_for(path: Path, plan: Plan) -> SweepStore | None:
    """The store at path, if it is there and of this plan; a store of another plan is refused with the difference."""
    if not (path / "zarr.json").is_file():
        return None
    store = SweepStore(path)
    if different := list(differences(store.attrs["plan"], plan.describe())):
        told = "; ".join(different[:5]) + (f"; and {len(different) - 5} more" if len(different) > 5 else "")
        raise SpecError(f"{str(path)!r} holds another sweep: {told}. {ADVICE}")
    if (store.grid.shape, store.names) != (plan.shape, list(variables(plan))):
        raise damaged(path)
    then, now = json.loads(store.attrs["versions"]), versions()
    if other := [f"{name} {then.get(name)} then, {now[name]} now" for name in now if then.get(name) != now[name]]:
        warn(f"{path} was begun with {', '.join(other)}: the last bits may differ.")
    return store


def create(path: Path, plan: Plan, grid: Grid) -> SweepStore:
    """A new store, made beside its name and renamed; the store of another process if that was faster."""
    check_place(path)
    scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        part = scratch / path.name
        _lay_out(part, plan, grid)
        fsync_files((file for file in part.rglob("*") if file.is_file()), part)
        try:
            part.rename(path)
            fsync_files([path], path.parent)
        except OSError:
            if not (path / "zarr.json").is_file():
                raise
            made = open_for(path, plan)
            assert made is not None
            return made
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return SweepStore(path)


def check_place(path: Path) -> None:
    """Say before any work whether a store can be made here."""
    if path.exists() and not path.is_dir():
        raise FileError(f"{str(path)!r} is a file. A store is a folder: choose another --store.")
    if path.is_dir() and any(path.iterdir()) and not (path / "zarr.json").is_file():
        raise FileError(f"{str(path)!r} holds other things. A store is a folder of its own: choose another --store.")
    if not path.parent.is_dir():
        raise FileError(f"the folder {str(path.parent)!r} does not exist. Make it first, or choose another --store.")
    if not os.access(path if path.is_dir() else path.parent, os.W_OK):
        raise FileError(f"{str(path)!r} cannot be written to. Choose another --store, or change its rights.")


def _lay_out(path: Path, plan: Plan, grid: Grid) -> None:
    """The group with its coordinates, and every variable without data."""
    import zarr

    group = zarr.open_group(str(path), mode="w", zarr_format=3)
    made = variables(plan)
    for name, v in made.items():
        group.create_array(
            name,
            shape=(*plan.shape, *v.shape),
            chunks=(*grid.box, *(max(1, size) for size in v.shape)),
            dtype=str if v.dtype == "str" else v.dtype,
            fill_value=v.missing,
            compressors=None,
            dimension_names=(*plan.dims, *v.dims),
            attributes=_words(name),
        )
    coordinates: dict[str, Any] = {axis.name: axis.labels for axis in plan.axes}
    coordinates["replicate"] = list(range(plan.replicates))
    if plan.times is not None and any("time" in v.dims for v in made.values()):
        coordinates["time"] = plan.times
    for name, labels in coordinates.items():
        values = np.asarray(labels)
        text = values.dtype.kind == "U"
        dtype = str if text else values.dtype
        array = group.create_array(name, shape=values.shape, dtype=dtype, compressors=None, dimension_names=(name,))
        array[...] = values.astype(object) if text else values
    group.create_array(
        "checksum",
        shape=(len(grid),),
        chunks=(1,),
        dtype="uint64",
        fill_value=0,
        compressors=None,
        dimension_names=("shard",),
        attributes={"long_name": "of the bytes of every shard; 0: not done"},
    )
    files = sorted(str(f.relative_to(path)) for f in path.rglob("*") if f.is_file() and f != path / "zarr.json")
    group.attrs.update(
        {
            "kind": KIND,
            "schema": SCHEMA,
            "plan": json.dumps(plan.describe()),
            "versions": json.dumps(versions()),
            "variables": {name: list(v.dims) for name, v in made.items()},
            "files": files,
            "layout": _layout(path, files),
        }
    )
    seal(path)


def _words(name: str) -> dict[str, Any]:
    if name == "outcome":
        codes = range(NOT_YET, len(OUTCOMES))
        return {"flag_values": list(codes), "flag_meanings": " ".join(("not_yet", *OUTCOMES))}
    words = {"seed": "of the start and of the noise", "reason": "why a run failed"}
    return {"long_name": words[name]} if name in words else {}
