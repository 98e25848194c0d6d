"""`run.flock.view()`: what a trajectory can do as an attribute of its Dataset."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr


class FlockAccessor:
    """Everything under `run.flock`."""

    def __init__(self, run: xr.Dataset) -> None:
        self._run = run

    def view(self, **options: Any) -> Any:
        """The explorer's view of this run, in a notebook; keywords as of `flock.view`."""
        from tokenflock.explorer.widget import view

        return view(self._run, **options)

    def export(self, path: str | Path, **options: Any) -> Path:
        """This run as one HTML file; keywords as of `explorer.export.export`."""
        from tokenflock.explorer.export import export

        return export(self._run, path, **options)


@lru_cache
def register() -> None:
    """Make `.flock` known to xarray; once."""
    import xarray as xr

    xr.register_dataset_accessor("flock")(FlockAccessor)
