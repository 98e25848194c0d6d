"""Numbers as files hold them: little-endian types and bfloat16, which numpy does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BFLOAT16 = np.dtype("<u2")  # read as 16 bits, and put before 16 zero bits of a float32


class Entry(NamedTuple):
    """A tensor in a file: its shape, and how to take its numbers out."""

    shape: tuple[int, ...]
    take: Callable[[], NDArray[Any]]


def as_numbers(raw: Any, kind: str) -> NDArray[Any]:
    """Bytes as numbers of a kind: a numpy type, or bf16. Nothing is copied unless it is bf16."""
    if kind != "bf16":
        return np.frombuffer(raw, dtype=kind)
    return (np.frombuffer(raw, dtype=BFLOAT16).astype("<u4") << 16).view("<f4")


def n_bytes(kind: str) -> int:
    """The size of one number."""
    return 2 if kind == "bf16" else np.dtype(kind).itemsize
