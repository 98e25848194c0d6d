"""Runs of some hundred tokens by waves: the papers' main case on the circle and on S^2, much faster than by pairs.

Errors of velocities are absolute, and bounded before the run begins: a token's own mass is 1 and it sees at most n.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tokenflock.engine.compiled.pointers import Pointer, pointer_to
from tokenflock.engine.contract import Task
from tokenflock.engine.explicit.stepper import RightSide, by_pairs
from tokenflock.engine.explicit.work import part_signature, sums_signature
from tokenflock.engine.harmonic.cost import few_error, few_registers, few_serve, few_tail
from tokenflock.engine.harmonic.few_circle import few_circle_velocity, no_part, no_sums
from tokenflock.engine.harmonic.few_sphere import HEIGHT, N_PAGES, few_sphere_velocity, sphere_part, sum_moments
from tokenflock.engine.harmonic.series import (
    BACK,
    DEGREE,
    MASS,
    N_ROWS,
    NUMBERS,
    SEED,
    SHARPNESS,
    SMALLEST,
    STEP,
    VALUE,
    WIDTH,
    circle_series,
    sharpness,
    sphere_series,
)
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.preparation import prepared

WIDE_FROM = 10_000  # tokens times registers, some 20 microseconds, from which a velocity is shared among the cores
TILE_ROWS = 6


@lru_cache(maxsize=64)
def _table(dim: int, b: float, tail: float) -> Array:
    """What the kernels read, (N_ROWS, length)."""
    rows = circle_series(b, tail).rows if dim == 2 else _sphere_table(b, tail)
    if dim == 2:
        rows[NUMBERS, DEGREE] = rows.shape[1]
    rows[NUMBERS, SHARPNESS] = max(b, SMALLEST)
    return rows


def _sphere_table(b: float, tail: float) -> Array:
    """The series of series.py for functions q = p / scale whose recurrence ends in - q_{l-2}.

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
def _pointers(shared: bool) -> tuple[Pointer, Pointer]:
    sums, part = (sum_moments, sphere_part) if shared else (no_sums, no_part)
    return pointer_to(sums, sums_signature("float64")), pointer_to(part, part_signature("float64"))


class FewWaves(NamedTuple):
    """What all runs of a model with so many tokens have alike."""

    tables: Array
    shared: bool  # whether the cores share a velocity, if there is enough of it
    worth_sharing: bool
    error: float  # a bound of that of a velocity


@prepared
def few_waves(model: Model, n: int, allowed: float) -> FewWaves | None:
    """The waves for velocities with errors up to `allowed`; None where they cannot serve."""
    if not few_serve(model, n, allowed):
        return None
    shared = model.dim == 3 and model.mask == "full"
    table = _table(model.dim, sharpness(model), few_tail(n, allowed))
    tables = np.zeros((N_ROWS, max(table.shape[1], WIDTH * WIDTH)))
    tables[:, : table.shape[1]] = table
    tables[NUMBERS, VALUE] = model.values[0, 0, 0]
    worth_sharing = shared and n * few_registers(model, n, allowed) >= WIDE_FROM
    return FewWaves(tables, shared, worth_sharing, few_error(model, n, allowed))


def by_few_waves(task: Task, n: int, wide: bool) -> RightSide:
    """The velocity of one run of a task by waves, in few passes."""
    model = task.model
    waves = few_waves(model, n, task.rtol + task.atol)
    assert waves is not None
    shared, length = waves.shared, waves.tables.shape[1]
    given = by_pairs(model, n, task.dtype)
    work = given.field.work
    pairs = work.pairs._replace(
        tables=waves.tables,
        per_token=np.zeros((HEIGHT + 1, work.pairs.z.shape[1])),
        tile=np.zeros((TILE_ROWS, length)),
        partial=np.zeros((N_PAGES if shared else 0, 2, length)),
    )
    return RightSide(
        few_circle_velocity if model.dim == 2 else few_sphere_velocity,
        *_pointers(shared),
        given.field._replace(work=work._replace(pairs=pairs)),
        wide and waves.worth_sharing,
    )
