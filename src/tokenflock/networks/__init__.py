"""Trained networks, read from files with nothing but numpy: no framework is needed, and nothing a file says is run.

albert: the value matrices of ALBERT's heads.  tensors: the files that hold them.
"""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = ("albert", "tensors")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"tokenflock.networks.{name}")
    raise AttributeError(f"module 'tokenflock.networks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_MODULES)
