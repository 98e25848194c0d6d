"""What torch.save writes, without torch: one pickle after the other with the numbers behind, or a zip of both.

A pickle is a program. The one that reads it here knows the few names a dictionary of tensors needs, hands out objects
that cannot be changed, and refuses every other name. Numbers stay in the file until they are asked for.
"""

from __future__ import annotations

import math
import pickle
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenflock.errors import FileError
from tokenflock.networks.budget import AXES, ENTRIES, TABLE_BYTES, Budget, BudgetStream
from tokenflock.networks.numbers import Entry, as_numbers, n_bytes

#: names of storages in torch's pickles
STORAGES = {
    "DoubleStorage": "<f8", "FloatStorage": "<f4", "HalfStorage": "<f2", "BFloat16Storage": "bf16",
    "LongStorage": "<i8", "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "<i1", "ByteStorage": "<u1",
    "BoolStorage": "<?",
}  # fmt: skip
#: operations of a pickle that a dictionary of tensors needs; BYTEARRAY8, for one, would take any amount of memory
KNOWN = (
    "PROTO", "FRAME", "STOP", "MARK", "GLOBAL", "STACK_GLOBAL", "REDUCE", "BINPERSID", "MEMOIZE", "BINPUT",
    "LONG_BINPUT", "BINGET", "LONG_BINGET", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1",
    "LONG4", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINSTRING", "SHORT_BINSTRING", "EMPTY_TUPLE", "TUPLE",
    "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_LIST", "APPEND", "APPENDS", "EMPTY_DICT", "POP", "POP_MARK",
)  # fmt: skip
CODES = tuple(ord(getattr(pickle, name)) for name in KNOWN)
LEGACY_MAGIC, LEGACY_PROTOCOL = 0x1950A86A20F9469CFC6C, 1001


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
        if type(shape) is not tuple or type(stride) is not tuple or not len(shape) == len(stride) <= AXES:
            raise FileError(f"the shape and the stride of a tensor are not two tuples of at most {AXES} numbers.")
        numbers = (offset, *shape, *stride)
        if not all(type(k) is int and k >= 0 for k in numbers):
            words = ", ".join(str(k) if type(k) is int else type(k).__name__ for k in numbers)
            raise FileError(f"a tensor has offset {words} (then its shape and its stride).")
        return _Tensor(storage, offset, shape, stride)


class _RebuildParameter(_Call):
    __slots__ = ()

    def __call__(self, tensor: Any, *_: Any) -> Any:
        return tensor


class _OrderedDict(_Call):
    """collections.OrderedDict: empty, or of pairs as Python 2 writes it."""

    __slots__ = ()

    def __call__(self, pairs: Any = ()) -> dict[Any, Any]:
        return {_key(key): value for key, value in pairs}


def _key(given: Any) -> Any:
    """A key of a dictionary. A tuple of tuples, each there twice, takes for ever to hash, to compare and to print."""
    if type(given) not in (str, int):
        raise FileError(f"its pickle uses a {type(given).__name__} as a name, which no dictionary of tensors needs.")
    return given


class _Operations(dict[int, Any]):
    """What a pickle may do, by code."""

    def __missing__(self, code: int) -> Any:
        raise FileError(f"its pickle has the operation {code}, which no dictionary of tensors needs. Do not trust it.")


class _Reader(pickle._Unpickler):
    """Python's own unpickler, written in Python: it has no table whose size a file could choose.

    Of its operations it knows those that torch.save writes, and no key is hashed that `_key` does not let through.
    """

    dispatch: ClassVar[dict[int, Any]] = _Operations((code, pickle._Unpickler.dispatch[code]) for code in CODES)
    stack: list[Any]
    pop_mark: Callable[[], list[Any]]

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        _plain_dict(self.stack[-1])[_key(key)] = value

    def load_setitems(self) -> None:
        items = self.pop_mark()
        home = _plain_dict(self.stack[-1])
        home.update((_key(items[k]), items[k + 1]) for k in range(0, len(items), 2))

    def load_build(self) -> None:
        self.stack.pop()  # what torch says of versions: nothing is needed of it
        _plain_dict(self.stack[-1])

    dispatch.update(
        {ord(pickle.SETITEM): load_setitem, ord(pickle.SETITEMS): load_setitems, ord(pickle.BUILD): load_build}
    )

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return _OrderedDict()
        if module == "torch" and name in STORAGES:
            return _Kind(STORAGES[name])
        if module == "torch._utils" and name in ("_rebuild_tensor", "_rebuild_tensor_v2"):
            return _RebuildTensor()
        if module == "torch._utils" and name == "_rebuild_parameter":
            return _RebuildParameter()
        raise FileError(f"its pickle asks for {module}.{name}, which no dictionary of tensors needs. Do not trust it.")

    def persistent_load(self, saved: Any) -> _Storage:
        word, kind, key, _place, numel, *view = saved
        plain = type(word) is str and word == "storage" and isinstance(kind, _Kind) and type(numel) is int
        if not plain or any(v is not None for v in view):
            raise FileError("its pickle refers to something that is not a plain storage.")
        return _Storage(str(_key(key)), kind.kind, numel)


def _plain_dict(given: Any) -> dict[Any, Any]:
    if type(given) is not dict:
        raise pickle.UnpicklingError(f"a {type(given).__name__} is given items or a state")
    return given


def _stream(data: bytes) -> BudgetStream:
    """What pickles are read from."""
    return BudgetStream(data, Budget(0))


def _next(stream: Any) -> Any:
    try:
        return _Reader(stream).load()
    except EOFError:
        if stream.tell() >= TABLE_BYTES:
            raise FileError(f"its pickles have more than {TABLE_BYTES >> 20} MB, which no model needs.") from None
        raise


def legacy(data: Any) -> dict[str, Entry]:
    """Pickles of a magic number, a version, the machine, the tensors and the keys; then the storages of those keys.

    data: the file as a mmap.
    """
    stream = _stream(data[:TABLE_BYTES])
    if _next(stream) != LEGACY_MAGIC or _next(stream) != LEGACY_PROTOCOL:
        raise FileError("it is a pickle, but not one of torch.save.")
    if not _plain_dict(_next(stream))["little_endian"]:
        raise FileError("its numbers are big-endian.")
    tensors, keys = _next(stream), _next(stream)
    kinds = {t.storage.key: t.storage for t in _tensors(tensors).values()}
    where, at = {}, stream.tell()
    for key in map(_key, keys):
        numel = int.from_bytes(data[at : at + 8], "little")
        known = kinds.get(key)
        if known is None or numel != known.numel:
            raise FileError(
                f"storage {key!r} is not the one its tensors ask for, so that what follows cannot be found."
            )
        where[key] = (at + 8, min(at + 8 + numel * n_bytes(known.kind), len(data)))
        at = where[key][1]
    view = memoryview(data)
    return _entries(tensors, lambda key: where[key][1] - where[key][0], lambda key: view[slice(*where[key])])


def zipped(path: str) -> dict[str, Entry]:
    """A zip of FOLDER/data.pkl and FOLDER/data/KEY."""
    archive = zipfile.ZipFile(path)  # stays open as long as its tensors: its table is read once
    sizes = {info.filename: info.file_size for info in archive.infolist()}
    if len(sizes) > 10 * ENTRIES:
        raise FileError(f"it is a zip of {len(sizes)} files, which no model needs.")
    pickles = [name for name in sizes if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise FileError("it is a zip without the one data.pkl of torch.save.")
    if sum(info.file_size for info in archive.infolist()) > Path(path).stat().st_size:
        # torch.save does not compress: this could be any amount.
        raise FileError("it is a zip that unpacks to more than its own size, which torch.save does not write.")
    folder = pickles[0].removesuffix("data.pkl")
    if f"{folder}byteorder" in sizes and archive.read(f"{folder}byteorder") != b"little":
        raise FileError("its numbers are big-endian.")
    if sizes[pickles[0]] > TABLE_BYTES:
        raise FileError(f"its pickle has more than {TABLE_BYTES >> 20} MB, which no model needs.")
    tensors = _next(_stream(archive.read(pickles[0])))
    return _entries(tensors, lambda key: sizes[f"{folder}data/{key}"], lambda key: archive.read(f"{folder}data/{key}"))


def _tensors(loaded: Any) -> dict[str, _Tensor]:
    if not isinstance(loaded, dict):
        raise FileError("its pickle is not a dictionary of tensors.")
    return {str(name): value for name, value in loaded.items() if isinstance(value, _Tensor)}


def _entries(loaded: Any, size: Callable[[str], int], raw: Callable[[str], Any]) -> dict[str, Entry]:
    """What there is to read, checked before anything is read; size: bytes of a storage in the file."""
    found = {}
    for name, tensor in _tensors(loaded).items():
        storage, offset, shape, stride = tensor
        if size(storage.key) != storage.numel * n_bytes(storage.kind):
            raise FileError(
                f"the storage of {name!r} has {size(storage.key)} bytes where {storage.numel} numbers belong."
            )
        last = offset + sum((k - 1) * s for k, s in zip(shape, stride, strict=True))
        # A dictionary of weights repeats no number: one that does could ask for any amount of memory.
        if math.prod(shape) > storage.numel or (0 not in shape and last >= storage.numel):
            raise FileError(f"tensor {name!r} of shape {shape} reaches beyond its storage of {storage.numel} numbers.")
        found[name] = Entry(shape, partial(_view, tensor, raw))
    return found


def _view(tensor: _Tensor, raw: Callable[[str], Any]) -> NDArray[Any]:
    storage, offset, shape, stride = tensor
    if 0 in shape:
        return np.zeros(shape, as_numbers(b"", storage.kind).dtype)
    numbers = as_numbers(raw(storage.key), storage.kind)
    return np.ndarray(shape, numbers.dtype, numbers, offset * numbers.itemsize, [s * numbers.itemsize for s in stride])
