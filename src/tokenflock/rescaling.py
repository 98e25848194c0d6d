"""What turns z into x in rescaled space: exp(tV) of (E8), and R^k of layers (E13), without overflow at any time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokenflock.errors import bad
from tokenflock.geometry import Array

if TYPE_CHECKING:
    from tokenflock.model import Model


class Rescaling(NamedTuple):
    """What turns z into x in rescaled space, exp(tV) or R^k, as exp(log) matrix: no overflow at any time."""

    matrix: Array
    log: float


def flow_at(model: Model, t: float) -> Rescaling:
    """exp(tV) (E8), with the largest real part sigma of an eigenvalue taken out; the identity in other spaces."""
    if model.space != "rescaled":
        return Rescaling(np.eye(model.dim), 0.0)
    from scipy.linalg import expm

    total = model.values.sum(axis=0)
    sigma = float(np.linalg.eigvals(total).real.max())
    return Rescaling(expm(t * (total - sigma * np.eye(model.dim))), sigma * t)


def flow_at_layer(model: Model, k: int, dt: float) -> Rescaling:
    """R^k with R = I + dt V (E13), with the spectral radius taken out; the identity in other spaces."""
    if model.space != "rescaled":
        return Rescaling(np.eye(model.dim), 0.0)
    step = np.eye(model.dim) + dt * model.values.sum(axis=0)
    rho = float(np.abs(np.linalg.eigvals(step)).max())
    return Rescaling(np.linalg.matrix_power(step / rho, k), k * math.log(rho))


def check_invertible(model: Model, dt: float) -> None:
    """(E13) divides by R = I + dt V."""
    with np.errstate(over="ignore", invalid="ignore"):  # such a step is refused below
        step = np.eye(model.dim) + dt * model.values.sum(axis=0)
    if np.linalg.cond(step) > 1e12:
        raise bad("dt", dt, "a step for which I + dt V is invertible", "Change dt a little, or use space='euclidean'.")
