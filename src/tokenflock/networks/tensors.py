"""Tensors in files: safetensors, and what torch.save writes (the format with one pickle after the other, and the zip).

A pickle is a program. The one that reads it here knows the few names a dictionary of tensors needs, hands out objects
that cannot be changed, and refuses every other name; torch is not needed. Damaged files are refused with the reason.
"""

from __future__ import annotations

import io
import json
import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenflock.errors import FileError

Tensors = dict[str, NDArray[Any]]

BFLOAT16 = np.dtype("<u2")  # numpy has none: read as 16 bits, and put before 16 zero bits of a float32
#: names of number types in safetensors -> numpy's, or bf16
SAFETENSORS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "bf16",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1", "U8": "<u1", "BOOL": "<?",
}  # fmt: skip
#: names of storages in torch's pickles
STORAGES = {
    "DoubleStorage": "<f8", "FloatStorage": "<f4", "HalfStorage": "<f2", "BFloat16Storage": "bf16",
    "LongStorage": "<i8", "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "<i1", "ByteStorage": "<u1",
    "BoolStorage": "<?",
}  # fmt: skip
LEGACY_MAGIC, LEGACY_PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
GET_ANOTHER = "Fetch it again, or ask for model.safetensors."


def read(data: bytes, name: str) -> Tensors:
    """All tensors of a file by their names; the format is told from its first bytes. name: for messages."""
    try:
        if data[8:9] == b"{":  # first: the length before it may begin with any byte
            found = _safetensors(data)
        elif data[:4] == b"PK\x03\x04":
            found = _torch_zip(data)
        elif data[:1] == b"\x80":
            found = _torch_legacy(data)
        else:
            raise FileError("it is truncated, or neither a safetensors file nor one of torch.save.")
    except FileError as error:
        raise FileError(f"{name!r} cannot be read: {error} {GET_ANOTHER}") from error
    except Exception as error:  # whatever a damaged pickle, zip or header makes Python raise
        why = f"{type(error).__name__}: {error}".rstrip(": ")
        raise FileError(f"{name!r} cannot be read: it is damaged or truncated ({why}). {GET_ANOTHER}") from error
    if not found:
        raise FileError(f"{name!r} holds no tensors. {GET_ANOTHER}")
    return found


def _numbers(raw: bytes | memoryview, kind: str) -> NDArray[Any]:
    if kind != "bf16":
        return np.frombuffer(raw, dtype=kind)
    return (np.frombuffer(raw, dtype=BFLOAT16).astype("<u4") << 16).view("<f4")


def _size(kind: str) -> int:
    return 2 if kind == "bf16" else np.dtype(kind).itemsize


def _safetensors(data: bytes) -> Tensors:
    """8 bytes of length, that many of JSON, then the numbers, little-endian and in the order of C."""
    length = int.from_bytes(data[:8], "little")
    if length > len(data) - 8:
        raise FileError("it is truncated: its header is longer than the file.")
    header, body = json.loads(data[8 : 8 + length]), memoryview(data)[8 + length :]
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        kind, shape, (begin, end) = SAFETENSORS.get(entry["dtype"]), entry["shape"], entry["data_offsets"]
        if kind is None:
            raise FileError(f"tensor {name!r} has type {entry['dtype']!r}. Known: {', '.join(SAFETENSORS)}.")
        if (
            not (0 <= begin <= end <= len(body))
            or end - begin != math.prod(shape) * _size(kind)
            or min(shape, default=0) < 0
        ):
            raise FileError(f"tensor {name!r} lies outside of the file, or has not the size of its shape {shape}.")
        found[name] = _numbers(body[begin:end], kind).reshape(shape)
    return found


class _Storage(NamedTuple):
    """A run of numbers that is yet to be read."""

    key: str
    kind: str
    numel: int


class _Tensor(NamedTuple):
    """A view of a storage. Only tuples are handed to the pickle: nothing it does afterwards can change them."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


class _Kind(NamedTuple):
    """A storage type, known by its name alone."""

    kind: str


class _Call:
    """A function the pickle may call; without attributes that it could set."""

    __slots__ = ()


class _RebuildTensor(_Call):
    __slots__ = ()

    def __call__(self, storage: Any, offset: Any, shape: Any, stride: Any, *_: Any) -> _Tensor:
        if not isinstance(storage, _Storage):
            raise FileError("a tensor is made of something that is not a storage.")
        numbers = (offset, *shape, *stride)
        if len(shape) != len(stride) or not all(type(k) is int and k >= 0 for k in numbers):
            raise FileError(f"a tensor has offset {offset!r}, shape {shape!r} and stride {stride!r}.")
        return _Tensor(storage, offset, tuple(shape), tuple(stride))


class _RebuildParameter(_Call):
    __slots__ = ()

    def __call__(self, tensor: Any, *_: Any) -> Any:
        return tensor


class _Reader(pickle._Unpickler):
    """Python's own unpickler, written in Python: it has no table whose size a file could choose."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch" and name in STORAGES:
            return _Kind(STORAGES[name])
        if module == "torch._utils" and name in ("_rebuild_tensor", "_rebuild_tensor_v2"):
            return _RebuildTensor()
        if module == "torch._utils" and name == "_rebuild_parameter":
            return _RebuildParameter()
        raise FileError(f"its pickle asks for {module}.{name}, which no dictionary of tensors needs. Do not trust it.")

    def persistent_load(self, saved: Any) -> _Storage:
        word, kind, key, _place, numel, *view = saved
        if (
            word != "storage"
            or not isinstance(kind, _Kind)
            or type(numel) is not int
            or any(v is not None for v in view)
        ):
            raise FileError(f"its pickle refers to {saved!r}, which is not a plain storage.")
        return _Storage(str(key), kind.kind, numel)


def _next(stream: io.BytesIO) -> Any:
    return _Reader(stream).load()


def _torch_legacy(data: bytes) -> Tensors:
    """Pickles of a magic number, a version, the machine, the tensors and the keys; then the storages of those keys."""
    stream = io.BytesIO(data)
    if _next(stream) != LEGACY_MAGIC or _next(stream) != LEGACY_PROTOCOL:
        raise FileError("it is a pickle, but not one of torch.save.")
    if not _next(stream)["little_endian"]:
        raise FileError("its numbers are big-endian.")
    tensors, keys = _next(stream), _next(stream)
    kinds = {t.storage.key: t.storage for t in _tensors(tensors).values()}
    raw = {}
    for key in keys:
        numel = int.from_bytes(stream.read(8), "little")
        known = kinds.get(key)
        if known is None or numel != known.numel:
            raise FileError(
                f"storage {key!r} is not the one its tensors ask for, so that what follows cannot be found."
            )
        raw[key] = stream.read(numel * _size(known.kind))
    return _arrays(tensors, raw.__getitem__)


def _torch_zip(data: bytes) -> Tensors:
    """A zip of FOLDER/data.pkl and FOLDER/data/KEY."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise FileError("it is a zip without the one data.pkl of torch.save.")
        folder = pickles[0].removesuffix("data.pkl")
        if f"{folder}byteorder" in archive.namelist() and archive.read(f"{folder}byteorder") != b"little":
            raise FileError("its numbers are big-endian.")
        return _arrays(_next(io.BytesIO(archive.read(pickles[0]))), lambda key: archive.read(f"{folder}data/{key}"))


def _tensors(loaded: Any) -> dict[str, _Tensor]:
    if not isinstance(loaded, dict):
        raise FileError("its pickle is not a dictionary of tensors.")
    return {str(name): value for name, value in loaded.items() if isinstance(value, _Tensor)}


def _arrays(loaded: Any, raw: Callable[[str], bytes]) -> Tensors:
    found, storages = {}, {}
    for name, (storage, offset, shape, stride) in _tensors(loaded).items():
        if storage.key not in storages:
            data = raw(storage.key)
            if len(data) != storage.numel * _size(storage.kind):
                raise FileError(f"the storage of {name!r} has {len(data)} bytes where {storage.numel} numbers belong.")
            storages[storage.key] = _numbers(data, storage.kind)
        numbers = storages[storage.key]
        last = offset + sum((k - 1) * s for k, s in zip(shape, stride, strict=True))
        # A dictionary of weights repeats no number: one that does could ask for any amount of memory.
        if math.prod(shape) > len(numbers) or (0 not in shape and last >= len(numbers)):
            raise FileError(f"tensor {name!r} of shape {shape} reaches beyond its storage of {len(numbers)} numbers.")
        steps = [s * numbers.itemsize for s in stride]
        view = np.ndarray(shape, numbers.dtype, numbers, 0 if 0 in shape else offset * numbers.itemsize, steps)
        found[name] = view
    return found
