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
from typing import Any

import numpy as np
from numba import njit

NONE = -1
FAR, NEAR, UNSURE = 0, 1, 2
# Odd numbers without pattern: the cells of a row, a column and a diagonal fall into different buckets.
MIX = (np.int64(0x1F35_1B7D_4A7C_15F3), np.int64(0x2545_F491_4F6C_DD1D), np.int64(0x5851_F42D_4C95_7F2D))
# Comparing with this many centers costs less than visiting the cells around a token.
FEW = 24


def moves(n_axes: int) -> np.ndarray:
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
def _cell(x, i, axes, side):
    """The number of a token's cell."""
    number = np.int64(0)
    for a in range(axes.size):
        number += np.int64(np.floor(x[i, axes[a]] / side)) * MIX[a]
    return number


@kernel
def _bucket(number, head):
    return (number ^ (number >> 29)) & (head.size - 1)


@kernel
def _compare(x, i, j, bounds):
    """Whether tokens i and j are within delta: NEAR, FAR, or UNSURE if rounding could change the answer."""
    delta, slack, surely_near, surely_far = bounds
    near = far = 0.0
    for a in range(x.shape[1]):
        near += (x[i, a] - x[j, a]) ** 2
    if near > surely_far:
        return FAR
    if near < surely_near:
        return NEAR
    for a in range(x.shape[1]):
        far += (x[i, a] + x[j, a]) ** 2
    over = 2.0 * math.atan2(math.sqrt(near), math.sqrt(far)) - delta
    if abs(over) <= slack:
        return UNSURE
    return FAR if over > 0 else NEAR


@kernel
def _insert(x, i, axes, side, head, link, cells):
    cells[i] = _cell(x, i, axes, side)
    bucket = _bucket(cells[i], head)
    link[i] = head[bucket]
    head[bucket] = i


@kernel
def _any_near(x, i, axes, steps, side, bounds, head, link, cells, unsure):
    """Whether a center in the grid is within delta of token i, and how many could be; those are listed in unsure."""
    doubts, cell = 0, _cell(x, i, axes, side)
    for step in steps:
        j = head[_bucket(cell + step, head)]
        while j != NONE:
            verdict = _compare(x, i, j, bounds) if cells[j] == cell + step else FAR
            if verdict == NEAR:
                return True, 0
            if verdict == UNSURE:
                unsure[doubts] = j
                doubts += 1
            j = link[j]
    return False, doubts


@kernel
def pick(x, start, verdict, axes, steps, side, bounds, head, link, cells, unsure, center):
    """Mark the Renyi centers from token `start` on; `verdict` says what the caller found about that one, or UNSURE.

    Returns (n, 0) at the end, or (token, doubts) for the first token that the caller has to decide.
    """
    for i in range(start, len(x)):
        near = verdict == NEAR
        if i != start or verdict == UNSURE:
            near, doubts = _any_near(x, i, axes, steps, side, bounds, head, link, cells, unsure)
            if doubts:
                return i, doubts
        if not near:
            center[i] = True
            _insert(x, i, axes, side, head, link, cells)
    return len(x), 0


@kernel
def spoil(x, start, axes, steps, side, bounds, head, link, cells, unsure, strong):
    """Unmark every center that has an earlier token within delta; returns as `pick`, with the centers in doubt."""
    for i in range(start, len(x)):
        doubts, cell = 0, _cell(x, i, axes, side)
        for step in steps:
            j = head[_bucket(cell + step, head)]
            while j != NONE:
                if j > i and strong[j] and cells[j] == cell + step:
                    verdict = _compare(x, i, j, bounds)
                    strong[j] = verdict != NEAR
                    if verdict == UNSURE:
                        unsure[doubts] = j
                        doubts += 1
                j = link[j]
        if doubts:
            return i, doubts
    return len(x), 0


@kernel
def cover(frames, centers, axes, steps, side, bounds, head, link, cells, unsure, verdicts):
    """FAR, NEAR or UNSURE for every token of every frame: is one of the centers within delta of it, in that frame?"""
    for f in range(len(frames)):
        x = frames[f]
        head[:] = NONE
        for k in centers:
            _insert(x, k, axes, side, head, link, cells)
        for i in range(len(x)):
            near, doubts = _any_near(x, i, axes, steps, side, bounds, head, link, cells, unsure)
            verdicts[f, i] = NEAR if near else (UNSURE if doubts else FAR)


@kernel
def _nearest(x, centers, square, best):
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
def cover_few(frames, centers, bounds, verdicts):
    """As `cover`, one center after the other."""
    square, best = np.empty(frames.shape[1]), np.empty(frames.shape[1])
    for f in range(len(frames)):
        x = frames[f]
        _nearest(x, centers, square, best)
        for i in range(len(x)):
            verdict = NEAR if best[i] < bounds[2] else FAR
            if bounds[2] <= best[i] <= bounds[3]:
                for k in centers:
                    now = _compare(x, i, k, bounds)
                    if now == NEAR or (now == UNSURE and verdict == FAR):
                        verdict = now
            verdicts[f, i] = verdict
