"""The layout of what is sent, versioned: packets of one frame, pictures of attention, and whole recordings.

A packet (little-endian): this header, the measures as float64, positions float32 (n, axes), clusters uint16 (n,).

    offset  0  4 bytes  "TFLK"
            4  uint16   VERSION
            6  uint16   kind: 1 a frame, 2 an attention matrix
            8  uint32   number of the run
           12  uint32   number of the frame
           16  float64  time
           24  uint32   n: tokens, or rows of the matrix
           28  uint16   axes of the positions; of a matrix, which is square: its head, MEAN for the mean of all
           30  uint16   number of measures

A matrix is float32 (n, n) after the header. A recording is for files: positions in 16 bits of the size of their frame,
as differences from the frame before, low and high bytes apart, deflated: some 4 bytes a token and frame, less at rest.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tokenflock.geometry import Array

MAGIC, VERSION = b"TFLK", 1
FRAME, MATRIX = 1, 2
HEADER = struct.Struct("<4sHHIIdIHH")
STEPS = 32767  # of a coordinate on either side of 0
MOST_LABELS = 65_535
MEAN = 65_535


def packet(run: int, frame: int, time: float, x: Array, labels: NDArray[Any], measures: Array) -> bytes:
    """One frame: positions x (n, axes), the cluster of each token, and what was measured."""
    header = HEADER.pack(MAGIC, VERSION, FRAME, run, frame, time, len(x), x.shape[1], len(measures))
    with np.errstate(over="ignore"):  # beyond float32 a token is out of sight anyway
        positions = np.ascontiguousarray(x, dtype="<f4").tobytes()
    return b"".join((header, measures.astype("<f8").tobytes(), positions, labels.astype("<u2").tobytes()))


def matrix(run: int, frame: int, time: float, weights: Array, head: int | Literal["mean"]) -> bytes:
    """A square picture of attention."""
    which = MEAN if head == "mean" else head
    header = HEADER.pack(MAGIC, VERSION, MATRIX, run, frame, time, len(weights), which, 0)
    return header + np.ascontiguousarray(weights, dtype="<f4").tobytes()


def scales(x: Array) -> Array:
    """The size of each frame x (frames, n, axes): a power of 2, so that it seldom changes from frame to frame."""
    largest = np.abs(x).max(axis=(1, 2), initial=0.0)
    return np.exp2(np.ceil(np.log2(np.where(largest > 0, largest, 1.0))))


def _differences(values: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Differences in time, small ones of either sign as small numbers; all high bytes, then all low ones."""
    before = np.zeros_like(values)
    before[1:] = values[:-1]
    step = (values - before).astype(np.int16)  # uint16 wraps around: no step is lost
    folded = ((step.astype(np.int32) << 1) ^ (step.astype(np.int32) >> 15)).astype(np.uint16)
    return np.concatenate([(folded >> 8).astype(np.uint8).ravel(), (folded & 255).astype(np.uint8).ravel()])


def record(x: Array, labels: NDArray[Any], measures: Array) -> tuple[bytes, list[float]]:
    """A recording of positions (frames, n, axes), clusters (frames, n) and measures (frames, m), and its scales."""
    sizes = scales(x)
    steps = np.round(x / sizes[:, None, None] * STEPS).astype(np.int16).view(np.uint16)
    planes = [_differences(np.ascontiguousarray(steps[..., axis])) for axis in range(x.shape[-1])]
    planes.append(_differences(np.minimum(labels, MOST_LABELS).astype(np.uint16)))
    body = measures.astype("<f8").tobytes() + b"".join(plane.tobytes() for plane in planes)
    return zlib.compress(body, 9), sizes.tolist()
