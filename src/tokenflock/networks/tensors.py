"""Tensors in files: safetensors, and what torch.save writes; one file, or shards with their index.

A file is mapped, not loaded: names and shapes are known at once, and a tensor's numbers are read when it is asked for.
Nothing a file says is run. Damaged files are refused with the reason.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tokenflock.errors import FileError
from tokenflock.networks import pickles
from tokenflock.networks.budget import TABLE_BYTES, read_json, read_start
from tokenflock.networks.numbers import Entry, as_numbers, n_bytes

#: names of number types in safetensors -> numpy's, or bf16
SAFETENSORS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "bf16",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1", "U8": "<u1", "BOOL": "<?",
}  # fmt: skip
Config = Mapping[str, Any]  # what config.json says of a model
GET_ANOTHER = "Fetch it again, or ask for model.safetensors."


class Tensors(Mapping[str, NDArray[Any]]):
    """Tensors by name; asking for one reads that one."""

    def __init__(self, entries: Mapping[str, Entry], where: str, maps: tuple[mmap.mmap, ...] = ()) -> None:
        self._entries, self.where, self._maps = dict(entries), where, maps

    def __getitem__(self, name: str) -> NDArray[Any]:
        entry = self._entries[name]
        try:
            return entry.take()
        except FileError:
            raise
        except Exception as error:  # whatever damaged bytes make a decoder raise
            why = f"{type(error).__name__}: {error}".rstrip(": ")
            raise FileError(f"tensor {name!r} of {self.where!r} cannot be read ({why}). {GET_ANOTHER}") from error

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensors:  # a file does not change, and its map cannot be copied
        return self

    def __contains__(self, name: object) -> bool:  # that of Mapping would read the tensor
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def release(self) -> None:
        """Give back the pages of mapped files that were read: they are read again when they are asked for again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for data in self._maps:
                data.madvise(mmap.MADV_DONTNEED)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, without reading it."""
        return self._entries[name].shape


def read(path: str | Path) -> Tensors:
    """All tensors of a file by their names; the format is told from its first bytes."""
    name = str(path)
    try:
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if data[8:9] == b"{":  # first: the length before it may begin with any byte
            found = _safetensors(data)
        elif data[:4] == b"PK\x03\x04":
            found = pickles.zipped(name)
        elif data[:1] == b"\x80":
            found = pickles.legacy(data)
        else:
            raise FileError("it is truncated, or neither a safetensors file nor one of torch.save.")
    except FileError as error:
        raise FileError(f"{name!r} cannot be read: {error} {GET_ANOTHER}") from error
    except OSError as error:
        raise FileError(f"{name!r} cannot be read: {error.strerror}. Change its rights, or copy it.") from error
    except Exception as error:  # whatever a damaged pickle, zip or header makes Python raise
        why = f"{type(error).__name__}: {error}".rstrip(": ")
        raise FileError(f"{name!r} cannot be read: it is damaged or truncated ({why}). {GET_ANOTHER}") from error
    if not found:
        raise FileError(f"{name!r} holds no tensors. {GET_ANOTHER}")
    return Tensors(found, name, (data,))


def read_shards(index: str | Path) -> tuple[Tensors, list[Path]]:
    """The tensors of a model cut into several files, and these files; index: the .index.json that says which is where.

    Every header is checked at once; numbers are read when they are asked for.
    """
    index = Path(index)
    try:
        places = read_json(read_start(index, TABLE_BYTES), TABLE_BYTES)["weight_map"]
        names = sorted(set(places.values()))
        whole = all(isinstance(n, str) and Path(n).name == n for n in names)
    except OSError as error:
        raise FileError(f"{str(index)!r} cannot be read: {error.strerror}. Change its rights, or copy it.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{str(index)!r} is not an index of shards ({error}). {GET_ANOTHER}") from error
    if not names or not whole:  # a name with a folder in it would reach out of the model's own
        raise FileError(f"{str(index)!r} should name files beside it and names {names[:3]}. {GET_ANOTHER}")
    files = [index.parent / name for name in names]
    if absent := [file.name for file in files if not file.is_file()]:
        raise FileError(f"{str(index)!r} names shards that are not there: {', '.join(absent)}. Fetch them too.")
    opened = {file.name: read(file) for file in files}
    entries = {}
    for tensor, file in places.items():
        if tensor not in opened[file]:
            raise FileError(f"{str(index)!r} says that {tensor!r} is in {file}, which does not hold it. {GET_ANOTHER}")
        entries[tensor] = opened[file]._entries[tensor]
    return Tensors(entries, str(index), tuple(data for one in opened.values() for data in one._maps)), files


def _safetensors(data: mmap.mmap) -> dict[str, Entry]:
    """8 bytes of length, that many of JSON, then the numbers, little-endian and in the order of C."""
    length = int.from_bytes(data[:8], "little")
    if length > len(data) - 8:
        raise FileError("it is truncated: its header is longer than the file.")
    header = read_json(data[8 : 8 + min(length, TABLE_BYTES + 1)], TABLE_BYTES)
    body = memoryview(data)[8 + length :]
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        kind, shape, (begin, end) = SAFETENSORS.get(entry["dtype"]), tuple(entry["shape"]), entry["data_offsets"]
        if kind is None:
            raise FileError(f"tensor {name!r} has type {entry['dtype']!r}. Known: {', '.join(SAFETENSORS)}.")
        if (
            not (0 <= begin <= end <= len(body))
            or end - begin != math.prod(shape) * n_bytes(kind)
            or min(shape, default=0) < 0
        ):
            raise FileError(f"tensor {name!r} lies outside of the file, or has not the size of its shape {shape}.")

        def take(begin: int = begin, end: int = end, kind: str = kind, shape: tuple[int, ...] = shape) -> NDArray[Any]:
            return as_numbers(body[begin:end], kind).reshape(shape)

        found[name] = Entry(shape, take)
    return found
