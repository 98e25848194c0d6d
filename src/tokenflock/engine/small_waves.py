"""Runs of some hundred tokens by waves: the papers' main case on the circle and on S^2, much faster than by pairs.

Errors of velocities are absolute, and bounded before the run begins: a token's own mass is 1 and it sees at most n.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine import harmonic_tables
from tokenflock.engine.contract import Task, is_near
from tokenflock.engine.cpu import CpuStepper, sums_pointer
from tokenflock.engine.cpu_terms import columns_for, is_plain
from tokenflock.engine.harmonic_kernels import FLAT
from tokenflock.engine.harmonic_tables import (
    BACK,
    DEGREE,
    EPS,
    MASS,
    N_ROWS,
    NUMBERS,
    SEED,
    SHARE,
    SHARPNESS,
    SMALLEST,
    STEP,
    VALUE,
    WIDTH,
    circle_series,
    sharpness,
    sphere_degree,
    sphere_series,
)
from tokenflock.engine.pointers import Pointer, part_signature, sums_signature
from tokenflock.engine.small_circle_kernels import TABLES, no_part, no_sums, small_circle_velocity
from tokenflock.engine.small_sphere_kernels import HEIGHT, N_PAGES, small_sphere_velocity, sphere_part
from tokenflock.engine.sums_kernels import new_desk
from tokenflock.geometry import Array
from tokenflock.model import Model

MOST_TOKENS = 4_000  # beyond it two cores and sums in blocks do better
MOST_REGISTERS = {2: 64, 3: 400}  # on the circle rounding grows like the square of this
MOST_SHARPNESS = 1e4
WIDE_FROM = 10_000  # tokens times registers, some 20 microseconds, from which a velocity is shared among the cores
TILE_ROWS = 6


def _tail(n: int, allowed: float) -> float:
    """What a pair may miss so that a velocity misses SHARE of what is allowed, in a row of mass 1 against n tokens."""
    return 0.5 * max(SHARE * allowed, EPS) / n


def registers(model: Model, n: int, allowed: float) -> int:
    """Registers of waves for every token: what a velocity costs, over n."""
    return harmonic_tables.registers(model.dim, sharpness(model), _tail(n, allowed))


def error_bound(model: Model, n: int, allowed: float) -> float:
    """What a velocity may be wrong by: what the series leaves out, and the rounding of waves and sums."""
    b, tail = sharpness(model), _tail(n, allowed)
    grown = registers(model, n, allowed) ** 2 if model.dim == 2 else sphere_degree(b, tail)[0]
    rounding = EPS * (FLAT + grown + np.sqrt(n))
    return abs(float(model.values[0, 0, 0])) * n * (tail + rounding)


def is_small(task: Task, n: int) -> bool:
    """Whether a run can go this way, with velocities as accurate as its tolerances ask."""
    model, allowed = task.model, task.rtol + task.atol
    if task.scheme is None or task.dtype != "float64" or n > MOST_TOKENS or model.dim not in MOST_REGISTERS:
        return False
    plain = model.mask in ("causal", "full") and model.normaliser == "softmax" and is_near(model) and is_plain(model)
    if not plain or not model.values[0, 0, 0] or sharpness(model) > MOST_SHARPNESS:
        return False
    few = registers(model, n, allowed) <= MOST_REGISTERS[model.dim]
    return few and error_bound(model, n, allowed) <= allowed


@lru_cache(maxsize=64)
def _table(dim: int, b: float, tail: float) -> NDArray[Any]:
    """What the kernels read, (N_ROWS, length)."""
    rows = circle_series(b, tail).rows if dim == 2 else _sphere_table(b, tail)
    if dim == 2:
        rows[NUMBERS, DEGREE] = rows.shape[1]
    rows[NUMBERS, SHARPNESS] = max(b, SMALLEST)
    return rows


def _sphere_table(b: float, tail: float) -> NDArray[Any]:
    """The series of harmonic_tables for functions q = p / scale whose recurrence ends in - q_{l-2}.

    Row STEP has its factors a_l, row MASS the weights w_l scale^2, and the first lanes of SEED and BACK the values
    q_{-1} and q_{-2} from which, with a_l = 0 for l <= m, every lane comes to q_{m-1} = 0 and q_m = 1.
    """
    series = sphere_series(b, tail).rows
    degree, rows, at = int(series[NUMBERS, DEGREE]), np.zeros_like(series), 0
    for first in range(0, degree + 1, WIDTH):
        before, last = np.ones(WIDTH), np.ones(WIDTH)  # the scales two degrees and one degree ago
        for k in range(first, degree + 1):
            lanes, order = slice(at, at + WIDTH), first + np.arange(WIDTH)
            scale = np.where(order < k - 1, series[BACK, lanes] * before, last)
            scale = np.where(order == k, series[SEED, lanes], scale)
            rows[STEP, lanes] = np.where(order < k, series[STEP, lanes] * last / scale, 0.0)
            rows[MASS, lanes] = np.where(order <= k, series[MASS, k] * scale**2, 0.0)
            before, last, at = last, scale, at + WIDTH
    rows[SEED, :WIDTH] = (0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 1.0)
    rows[BACK, :WIDTH] = (-1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0)
    rows[NUMBERS] = series[NUMBERS]
    return rows


@lru_cache
def _pointers() -> tuple[Pointer, Pointer]:
    return Pointer(no_sums, sums_signature("float64")), Pointer(no_part, part_signature("float64"))


@lru_cache
def _sphere_part() -> Pointer:
    return Pointer(sphere_part, part_signature("float64"))


class SmallWavesStepper(CpuStepper):
    """A run of the CPU engine whose velocities come from waves."""

    def __init__(self, task: Task, x: Array, run: int, wide: bool, stop: NDArray[np.uint8] | None) -> None:
        model, n, allowed = task.model, len(x), task.rtol + task.atol
        self._shared = model.dim == 3 and model.mask == "full"  # among the cores, if there is enough of it
        enough = n * registers(model, n, allowed) >= WIDE_FROM
        super().__init__(task, x, run, wide and self._shared and enough, stop)
        table = _table(model.dim, sharpness(model), _tail(n, allowed))
        length = max(table.shape[1], WIDTH * WIDTH)
        pages, rows = N_PAGES if self._shared else 2, max(N_ROWS, HEIGHT + 1)
        share = np.zeros((pages, rows, max(length, columns_for(n))))
        share[TABLES, :N_ROWS, : table.shape[1]] = table
        share[TABLES, NUMBERS, VALUE] = model.values[0, 0, 0]
        tile = np.zeros((TILE_ROWS, length))
        self._work = self._work._replace(share=share, tile=tile, desk=new_desk())
        self.error = error_bound(model, n, allowed)

    def _kernels(self, wide: bool) -> tuple[tuple[Pointer, Pointer], Any]:
        pairs = (sums_pointer("near3", wide, "float64"), _sphere_part()) if self._shared else _pointers()
        return pairs, small_circle_velocity if self._task.model.dim == 2 else small_sphere_velocity
