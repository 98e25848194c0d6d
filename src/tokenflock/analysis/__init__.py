"""What a trajectory means: stateless functions of tokens (..., n, d), or of a Dataset that holds them as `x`.

renyi: the centers of paper A.  clusters: which tokens are together.  metastability: how long they wait to merge.
convergence: how fast a distance goes to 0.  spectrum: what a value matrix says.  energy: those of papers C and D.
attention: P and its Boolean limits.  polytope: hulls, limit points, hyperplanes.  triple: the hypotheses of paper B.
statistics: numbers with their intervals.
Nothing here imports an engine: the tokens may come from a run, from a file or from a trained network.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from tokenflock.errors import bad
from tokenflock.geometry import Array

_MODULES = (
    "attention",
    "clusters",
    "convergence",
    "energy",
    "metastability",
    "polytope",
    "renyi",
    "spectrum",
    "statistics",
    "triple",
)
# Farther off the sphere than this a token has no geodesic distance; float32 runs stay within 1e-6.
OFF_SPHERE = 1e-5


def tokens(x: Any, sphere: bool = True) -> Array:
    """The positions as float64 (..., n, d): finite, at least one token, and unit vectors if `sphere`."""
    if hasattr(x, "data_vars"):
        if "x" not in x:
            raise bad("x", "a Dataset without positions", "a trajectory with x", "Simulate with positions=True.")
        x = x["x"].values
    try:
        array = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise bad("x", type(x).__name__, "numbers of shape (..., n, d), or a Dataset with x") from error
    if array.ndim < 2 or not array.size:
        raise bad(
            "x.shape", array.shape, "(..., n, d) with at least one token", "One token is an array of shape (1, d)."
        )
    if not np.isfinite(array).all():
        raise bad(
            "x", "an array with nan or inf", "finite numbers", "A run that failed has no later frames: drop them."
        )
    if sphere:
        off = float(np.abs(np.linalg.norm(array, axis=-1) - 1).max())
        if off > OFF_SPHERE:
            advice = "Divide every token by its length: flock.geometry.retract(x)."
            raise bad("x", f"tokens up to {off:.1e} off the sphere", f"unit vectors to {OFF_SPHERE:g}", advice)
    return array


def positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise bad(name, value, "a number > 0") from error
    if not (np.isfinite(number) and number > 0):
        raise bad(name, value, "a finite number > 0")
    return number


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"tokenflock.analysis.{name}")
    raise AttributeError(f"module 'tokenflock.analysis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_MODULES, "positive", "tokens"])
