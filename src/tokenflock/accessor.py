"""`run.flock`: functions of the package that take a run, as methods of its Dataset.

This file knows their names only. They are looked up at the door of the package when they are called, so that nothing
here imports what stands above it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import tokenflock

if TYPE_CHECKING:
    import xarray as xr

METHODS = ("again", "diagnose", "export", "extend", "save", "unrescale", "view")


class RunMethods:
    """Everything under `run.flock`: run.flock.view(...) is flock.view(run, ...), and so with every name of METHODS."""

    def __init__(self, run: xr.Dataset) -> None:
        self._run = run

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in METHODS:
            raise AttributeError(f"run.flock has no {name!r}. It has {', '.join(METHODS)}.")
        return partial(getattr(tokenflock, name), self._run)

    def __dir__(self) -> list[str]:
        return list(METHODS)


@lru_cache
def register() -> None:
    """Make `.flock` known to xarray; once."""
    import xarray as xr

    xr.register_dataset_accessor("flock")(RunMethods)
