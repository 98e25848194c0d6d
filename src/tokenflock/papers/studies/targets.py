"""Where the tokens of the study of optimal control start, and where they are wanted."""

from __future__ import annotations

import numpy as np

from tokenflock.geometry import Array, circle, retract

CENTERS = (-1.6, 1.2)  # of the two wanted clusters, in radians
MIDDLE = sum(CENTERS) / 2
WIDE = 0.1  # half their width: tokens with full attention can come together, but never meet, in finite time


def spread_out(n_tokens: int, seed: int) -> Array:
    """Angles (n,) in order, no two closer than half of an equal spacing."""
    gaps = 0.5 + 0.5 * n_tokens * np.random.default_rng(seed).dirichlet(np.ones(n_tokens))
    return np.cumsum(2 * np.pi * gaps / n_tokens) - np.pi


def wanted_angles(n_tokens: int, order: str = "halves") -> Array:
    """Target angles (n,): the first half to one cluster and the rest to the other, or "turns" taken one by one."""
    which = np.arange(n_tokens) % 2 if order == "turns" else (np.arange(n_tokens) >= n_tokens // 2).astype(int)
    place = np.zeros(n_tokens)
    for k in (0, 1):
        mine = np.flatnonzero(which == k)
        place[mine] = CENTERS[k] + WIDE * np.linspace(-1, 1, len(mine))
    return place


def lifted(angles: Array, seed: int) -> Array:
    """Points of the circle in three dimensions, a little off it by random numbers."""
    height = 0.3 * np.random.default_rng(seed).standard_normal((len(angles), 1))
    return retract(np.hstack([circle(angles), height]))
