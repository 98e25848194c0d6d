"""`run.flock`: functions of the package that take a run or the table of a sweep, as methods of its Dataset.

This file knows their names only. They are looked up at the door of the package when they are called, so that nothing
here imports what stands above it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import tokenflock

if TYPE_CHECKING:
    import xarray as xr

#: name of the method -> where its function is, from the door of the package
METHODS = {
    **{name: name for name in ("again", "diagnose", "export", "extend", "save", "unrescale", "view")},
    "animate": "plot.animate",
    "clusters": "analysis.persistence.survey",
    "plot": "plot.draw",
}


class RunMethods:
    """Everything under `run.flock`: run.flock.view(...) is flock.view(run, ...), and so with every name of METHODS.

    again, diagnose, export, extend, save, unrescale, view: the functions of these names.
    plot(), animate("x.gif"): a figure and a film of the run; of the table of a sweep plot(along="beta"): its law.
    clusters(): which tokens are together at every time, with or without a radius.
    """

    def __init__(self, run: xr.Dataset) -> None:
        self._run = run

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in METHODS:
            raise AttributeError(f"run.flock has no {name!r}. It has {', '.join(sorted(METHODS))}.")
        function: Any = tokenflock
        for part in METHODS[name].split("."):
            function = getattr(function, part)
        return _bound(function, self._run)

    def __dir__(self) -> list[str]:
        return sorted(METHODS)


def _bound(function: Callable[..., Any], run: xr.Dataset) -> Callable[..., Any]:
    """The function with its first argument given; `help` shows the others."""

    @wraps(function)
    def method(*arguments: Any, **keywords: Any) -> Any:
        return function(run, *arguments, **keywords)

    import inspect  # takes milliseconds, which `import tokenflock` does not have

    signature = inspect.signature(function)
    method.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore[attr-defined]
    return method


def register() -> None:
    """Make `.flock` known to xarray; once."""
    import xarray as xr  # the first time this calls `register` itself, as door.py has arranged

    if "flock" not in vars(xr.Dataset):
        xr.register_dataset_accessor("flock")(RunMethods)
