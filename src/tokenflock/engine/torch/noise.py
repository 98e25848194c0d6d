"""The Gaussian numbers of randomness.py on a device: number (seed, run, step, token, axis) is that of every engine."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tokenflock.engine.randomness import FACTOR_1, FACTOR_2, INCREMENT, PARTNER


def _signed(z: int) -> int:
    """64 bits as the int64 that torch holds them in; sums and products wrap as they should."""
    return z - 2**64 if z >= 2**63 else z


def _right(z: Tensor, bits: int) -> Tensor:
    """A shift that brings in zeros: torch's own copies the sign."""
    shifted: Tensor = (z >> bits) & (2 ** (64 - bits) - 1)
    return shifted


def _mix(z: Tensor) -> Tensor:
    """randomness.mix."""
    z = z + _signed(INCREMENT)
    z = (z ^ _right(z, 30)) * _signed(FACTOR_1)
    z = (z ^ _right(z, 27)) * _signed(FACTOR_2)
    return z ^ _right(z, 31)


def keys_of(keys: list[int], device: torch.device) -> Tensor:
    """The keys (randomness.key_of) of many runs."""
    return torch.tensor([_signed(key) for key in keys], dtype=torch.int64, device=device)


def normals(keys: Tensor, step: int, n: int, d: int) -> Tensor:
    """Standard normal numbers (runs, n, d) in float64, for one step of many runs."""
    index = torch.arange(n * d, dtype=torch.int64, device=keys.device)
    first = _mix(_mix(keys ^ step)[:, None] + index)
    second = _mix(first ^ _signed(PARTNER))
    u = (_right(first, 11).to(torch.float64) + 0.5) * 2.0**-53
    v = _right(second, 11).to(torch.float64) * 2.0**-53
    return ((-2.0 * u.log()).sqrt() * (2.0 * math.pi * v).cos()).reshape(-1, n, d)
