"""What a trajectory means: stateless functions of tokens (..., n, d), or of a Dataset that holds them as `x`.

Numbers in, numbers out: an array of numpy gives arrays of numpy. A run, or its `run["x"]`, gives what has axes as a
DataArray with the run's own axes, so that .sel(time=...) works; tokens whose axes stand in another order are refused.

renyi: the centers of paper A.  clusters: which tokens are together.  persistence: the same without a radius.
metastability: how long they wait to merge.
convergence: how fast a distance goes to 0.  spectrum: what a value matrix says.  energy: those of papers C and D.
attention: P and its Boolean limits.  polytope: hulls, limit points, hyperplanes.  triple: the hypotheses of paper B.
states: what interpretability measures of hidden states: ranks, entropy, lengths, dimension, neighbours.
statistics: numbers with their intervals.
Nothing here imports an engine: the tokens may come from a run, from a file or from a trained network.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from tokenflock import arguments
from tokenflock.arguments import numbers
from tokenflock.errors import bad
from tokenflock.geometry import LARGEST, Array

P = ParamSpec("P")
R = TypeVar("R")

_MODULES = (
    "attention",
    "clusters",
    "convergence",
    "energy",
    "metastability",
    "persistence",
    "polytope",
    "renyi",
    "spectrum",
    "states",
    "statistics",
    "triple",
)
# Farther off the sphere than this a token has no geodesic distance; float32 runs stay within 1e-6.
OFF_SPHERE = 1e-5


def tokens(x: Any, sphere: bool = True) -> Array:
    """The positions as float64 (..., n, d): finite, at least one token, and unit vectors if `sphere`."""
    arguments.flag("sphere", sphere)
    axes = axes_of(x)
    array = numbers(x if axes is None else axes.values)
    if not array.ndim:
        raise bad("x", x, "numbers of shape (..., n, d), or a Dataset with x")
    if array.ndim < 2 or not array.size:
        raise bad(
            "x.shape", array.shape, "(..., n, d) with at least one token", "One token is an array of shape (1, d)."
        )
    if not np.isfinite(array).all():
        raise bad(
            "x", "an array with nan or inf", "finite numbers", "A run that failed has no later frames: drop them."
        )
    if (largest := float(np.abs(array).max())) > LARGEST:
        raise bad("x", f"numbers up to {largest:.1e}", f"numbers up to {LARGEST:g}, whose squares exist")
    if sphere:
        off = float(np.abs(np.linalg.norm(array, axis=-1) - 1).max())
        if off > OFF_SPHERE:
            advice = "Divide every token by its length: flock.geometry.retract(x)."
            raise bad("x", f"tokens up to {off:.1e} off the sphere", f"unit vectors to {OFF_SPHERE:g}", advice)
    return array


def axes_of(x: Any) -> Any:
    """The tokens as a DataArray whose last axes are token and axis, if x is a run or one of its arrays; else None."""
    if hasattr(x, "data_vars"):
        if "x" not in x:
            raise bad("x", "a Dataset without positions", "a trajectory with x", "Simulate with positions=True.")
        x = x["x"]
    dims = tuple(getattr(x, "dims", ()))
    if not {"token", "axis"} & set(dims):
        return None  # numbers, or a DataArray with names of its own: its axes are where they are
    lead = [dim for dim in ("run", "time") if dim in dims]
    if dims[-2:] != ("token", "axis") or [dim for dim in dims if dim in lead] != lead:
        others = [dim for dim in dims if dim not in ("run", "time", "token", "axis")]
        wanted = (*others, *lead, "token", "axis")
        advice = f"Give it with x.transpose({', '.join(map(repr, wanted))})."
        if not {"token", "axis"} <= set(dims):
            advice = "One token, or one coordinate, has lost its axis: keep it with isel(token=[0])."
        raise bad("x.dims", dims, f"{wanted}", advice)
    return x


def axes_kept(*more: str, place: int = 0) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """For functions of tokens: the answer of a run is a DataArray with its axes, `more` after the leading ones.

    place: of the tokens among the arguments. A single number, and what has another shape, as a list of centers, stay as
    they are.
    """

    def of(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def told(*arguments: P.args, **keywords: P.kwargs) -> R:
            x = arguments[place] if len(arguments) > place else keywords.get("x")
            axes = axes_of(x) if hasattr(x, "dims") else None
            found = function(*arguments, **keywords)
            return found if axes is None else cast("R", with_axes(found, axes, more, function.__name__))

        return told

    return of


def with_axes(found: Any, axes: Any, more: tuple[str, ...], name: str) -> Any:
    """What was found for tokens with these axes, as a DataArray: the leading axes, then as many of `more` as it has."""
    lead, shape = axes.dims[:-2], np.shape(found)
    own = len(shape) - len(lead)
    if not shape or not 0 <= own <= len(more) or shape[: len(lead)] != axes.shape[:-2]:
        return found
    dims = (*lead, *more[len(more) - own :])
    coords = {key: value for key, value in axes.coords.items() if set(value.dims) <= set(dims)}
    return type(axes)(found, dims=dims, coords=coords, name=name)


def positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    return arguments.positive(arguments.instance("name", name, str, "the name of an argument")[:60], value)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"tokenflock.analysis.{name}")
    raise AttributeError(f"module 'tokenflock.analysis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_MODULES, "positive", "tokens"])
