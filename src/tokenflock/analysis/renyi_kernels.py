"""Renyi centers with a grid: a token is compared with the centers of its own cell and of the cells around it only.

The cells are boxes over at most three axes, wider than the chord of delta, so two tokens within delta of each other are
in the same cell or in neighbouring ones. A cell has a number, of 64 bits, and its centers are found by hashing it:
head[bucket], then link[center] along the chain, passing over the centers whose cells[center] is another one.

Numpy and compiled code round the last digit of a distance differently, so nothing closer to delta than `slack` is
decided here: such tokens are handed back, and geometry.distance itself decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Indices = NDArray[np.intp]
NONE = -1
FAR, NEAR, UNSURE = 0, 1, 2
# Odd numbers without pattern: the cells of a row, a column and a diagonal fall into different buckets.
MIX = (np.int64(0x1F35_1B7D_4A7C_15F3), np.int64(0x2545_F491_4F6C_DD1D), np.int64(0x5851_F42D_4C95_7F2D))
# Comparing with this many centers costs less than visiting the cells around a token.
FEW = 24


class Bounds(NamedTuple):
    """delta, how near to it rounding may decide, and the squared chords that are surely below and above it."""

    delta: float
    slack: float
    surely_near: float
    surely_far: float


class CellGrid(NamedTuple):
    """The cells: their axes, the way to their neighbours, their side; the chains of centers; and who is in doubt."""

    axes: Indices
    steps: NDArray[np.int64]
    side: float
    bounds: Bounds
    head: NDArray[np.int32]
    link: NDArray[np.int32]
    cells: NDArray[np.int64]
    unsure: Indices  # the centers that the caller has to compare with a token


def moves(n_axes: int) -> NDArray[np.int64]:
    """What the number of a cell changes by on the way to itself and to its neighbours: itself is in the middle."""
    steps, one = np.zeros(1, dtype=np.int64), np.array([-1, 0, 1], dtype=np.int64)
    for a in range(n_axes):
        steps = np.add.outer(steps, one * MIX[a]).reshape(-1)  # wraps around, as it does when compiled
    return steps


def kernel(function: Callable[..., Any]) -> Any:
    """Compile, and keep the result on disk where there is a place for it: a read-only container may have none."""
    try:
        return njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:
        return njit(nogil=True, error_model="numpy")(function)


@kernel
def _cell(x: Reals, i: int, grid: CellGrid) -> np.int64:
    """The number of a token's cell."""
    number = np.int64(0)
    for a in range(grid.axes.size):
        number += np.int64(np.floor(x[i, grid.axes[a]] / grid.side)) * MIX[a]
    return number


@kernel
def _bucket(number: np.int64, grid: CellGrid) -> np.int64:
    return (number ^ (number >> 29)) & (grid.head.size - 1)


@kernel
def _compare(x: Reals, i: int, j: int, bounds: Bounds) -> int:
    """Whether tokens i and j are within delta: NEAR, FAR, or UNSURE if rounding could change the answer."""
    near = far = 0.0
    for a in range(x.shape[1]):
        near += (x[i, a] - x[j, a]) ** 2
    if near > bounds.surely_far:
        return FAR
    if near < bounds.surely_near:
        return NEAR
    for a in range(x.shape[1]):
        far += (x[i, a] + x[j, a]) ** 2
    over = 2.0 * math.atan2(math.sqrt(near), math.sqrt(far)) - bounds.delta
    if abs(over) <= bounds.slack:
        return UNSURE
    return FAR if over > 0 else NEAR


@kernel
def _insert(x: Reals, i: int, grid: CellGrid) -> None:
    grid.cells[i] = _cell(x, i, grid)
    bucket = _bucket(grid.cells[i], grid)
    grid.link[i] = grid.head[bucket]
    grid.head[bucket] = i


@kernel
def _any_near(x: Reals, i: int, grid: CellGrid) -> tuple[bool, int]:
    """Whether a center in the grid is within delta of token i, and how many could be; those are listed in unsure."""
    doubts, cell = 0, _cell(x, i, grid)
    for step in grid.steps:
        j = grid.head[_bucket(cell + step, grid)]
        while j != NONE:
            verdict = _compare(x, i, j, grid.bounds) if grid.cells[j] == cell + step else FAR
            if verdict == NEAR:
                return True, 0
            if verdict == UNSURE:
                grid.unsure[doubts] = j
                doubts += 1
            j = grid.link[j]
    return False, doubts


@kernel
def pick(x: Reals, start: int, verdict: int, grid: CellGrid, center: NDArray[np.bool_]) -> tuple[int, int]:
    """Mark the Renyi centers from token `start` on; `verdict` says what the caller found about that one, or UNSURE.

    Returns (n, 0) at the end, or (token, doubts) for the first token that the caller has to decide.
    """
    for i in range(start, len(x)):
        near = verdict == NEAR
        if i != start or verdict == UNSURE:
            near, doubts = _any_near(x, i, grid)
            if doubts:
                return i, doubts
        if not near:
            center[i] = True
            _insert(x, i, grid)
    return len(x), 0


@kernel
def spoil(x: Reals, start: int, grid: CellGrid, strong: NDArray[np.bool_]) -> tuple[int, int]:
    """Unmark every center that has an earlier token within delta; returns as `pick`, with the centers in doubt."""
    for i in range(start, len(x)):
        doubts, cell = 0, _cell(x, i, grid)
        for step in grid.steps:
            j = grid.head[_bucket(cell + step, grid)]
            while j != NONE:
                if j > i and strong[j] and grid.cells[j] == cell + step:
                    verdict = _compare(x, i, j, grid.bounds)
                    strong[j] = verdict != NEAR
                    if verdict == UNSURE:
                        grid.unsure[doubts] = j
                        doubts += 1
                j = grid.link[j]
        if doubts:
            return i, doubts
    return len(x), 0


@kernel
def cover(frames: Reals, centers: Indices, grid: CellGrid, verdicts: NDArray[np.int8]) -> None:
    """FAR, NEAR or UNSURE for every token of every frame: is one of the centers within delta of it, in that frame?"""
    for f in range(len(frames)):
        x = frames[f]
        grid.head[:] = NONE
        for k in centers:
            _insert(x, k, grid)
        for i in range(len(x)):
            near, doubts = _any_near(x, i, grid)
            verdicts[f, i] = NEAR if near else (UNSURE if doubts else FAR)


@kernel
def _nearest(x: Reals, centers: Indices, square: Reals, best: Reals) -> None:
    """The square of the straight distance from every token to the nearest center; tokens run inside, in registers."""
    best[:] = np.inf
    for k in centers:
        square[:] = 0.0
        for a in range(x.shape[1]):
            there = x[k, a]
            for i in range(len(x)):
                square[i] += (x[i, a] - there) ** 2
        for i in range(len(x)):
            best[i] = min(best[i], square[i])


@kernel
def cover_few(frames: Reals, centers: Indices, bounds: Bounds, verdicts: NDArray[np.int8]) -> None:
    """As `cover`, one center after the other."""
    square, best = np.empty(frames.shape[1]), np.empty(frames.shape[1])
    for f in range(len(frames)):
        x = frames[f]
        _nearest(x, centers, square, best)
        for i in range(len(x)):
            verdict = NEAR if best[i] < bounds.surely_near else FAR
            if bounds.surely_near <= best[i] <= bounds.surely_far:
                for k in centers:
                    now = _compare(x, i, k, bounds)
                    if now == NEAR or (now == UNSURE and verdict == FAR):
                        verdict = now
            verdicts[f, i] = verdict
