"""The table at the head of a GGUF file: facts about the model, and where each tensor lies.

Read here and not with the package gguf, which makes an array of every word of the vocabulary: that takes longer than
all spectra. Only the little-endian versions 2 and 3 exist in practice.
"""

from __future__ import annotations

import mmap
import struct
from typing import Any, NamedTuple

from tokenflock.errors import FileError

MAGIC, VERSIONS = b"GGUF", (2, 3)
STRING, ARRAY = 8, 9
#: numbers of value types -> how struct reads them
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
LONGEST = 64  # arrays beyond are passed over: words of a vocabulary, their scores and merges


class Stored(NamedTuple):
    """A tensor in the file: its shape in the order of C, the number of its type, and where it begins."""

    shape: tuple[int, ...]
    kind: int
    begin: int


class _Cursor:
    """Reads forward, and stops at the end of the file."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data, self.at = data, 0

    def skip(self, count: int) -> int:
        """Where a stretch begins that ends inside of the file."""
        begin, self.at = self.at, self.at + count
        if self.at > len(self.data):
            raise FileError("it is truncated: its table goes on beyond the end")
        return begin

    def number(self, form: str) -> Any:
        return struct.unpack_from(form, self.data, self.skip(struct.calcsize(form)))[0]

    def string(self) -> str:
        begin = self.skip(self.number("<Q"))
        return self.data[begin : self.at].decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.string()
        if kind in SCALARS:
            return self.number(SCALARS[kind])
        if kind != ARRAY:
            raise FileError(f"its table has a value of type {kind}, which does not exist")
        inner, count = self.number("<I"), self.number("<Q")
        if count <= LONGEST:
            return [self.value(inner) for _ in range(count)]
        if inner in SCALARS:
            self.skip(count * struct.calcsize(SCALARS[inner]))
        elif inner == STRING:
            for _ in range(count):
                self.skip(self.number("<Q"))
        else:
            raise FileError(f"its table has a long array of type {inner}, which does not exist")
        return None


def read(data: mmap.mmap) -> tuple[dict[str, Any], dict[str, Stored]]:
    """Facts by name, without long arrays; tensors by name."""
    cursor = _Cursor(data)
    if data[:4] != MAGIC:
        raise FileError("it does not begin as a GGUF file")
    cursor.skip(4)
    if (version := cursor.number("<I")) not in VERSIONS:
        raise FileError(f"it is of GGUF version {version}; known are {VERSIONS[0]} and {VERSIONS[1]}, little-endian")
    n_tensors, n_facts = cursor.number("<Q"), cursor.number("<Q")
    facts = {}
    for _ in range(n_facts):
        name = cursor.string()
        if (value := cursor.value(cursor.number("<I"))) is not None:
            facts[name] = value
    found = {}
    for _ in range(n_tensors):
        name, n_dims = cursor.string(), cursor.number("<I")
        shape = tuple(cursor.number("<Q") for _ in range(n_dims))[::-1]
        found[name] = Stored(shape, cursor.number("<I"), cursor.number("<Q"))
    align = facts.get("general.alignment", 32)
    if not isinstance(align, int) or align < 1:
        raise FileError(f"its alignment is {align!r}")
    body = -(-cursor.at // align) * align
    return facts, {name: tensor._replace(begin=body + tensor.begin) for name, tensor in found.items()}
