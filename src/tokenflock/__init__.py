"""tokenflock: the laboratory for attention dynamics.

    import tokenflock as flock

    model = flock.Model(dim=2, beta=64.0)
    start = flock.uniform(n_tokens=200, dim=2, seed=0)
    run = flock.simulate(model, start, t_end=150.0)

Everything is imported when first used, so that `import tokenflock` stays light.
"""

from __future__ import annotations

import importlib
from typing import Any

from tokenflock.door import open_door, stand_in

_HOME = {
    **dict.fromkeys(("Model", "velocity"), "tokenflock.model"),
    **dict.fromkeys(("Kernel", "Normaliser"), "tokenflock.interaction"),
    **dict.fromkeys(("Alibi", "FeedForward", "Frozen", "LayerNorm", "Window"), "tokenflock.options"),
    **dict.fromkeys(("Absolute", "Rope", "sinusoids"), "tokenflock.positions"),
    "CommonNoise": "tokenflock.common_noise",
    "Groups": "tokenflock.groups",
    **dict.fromkeys(("Blocks", "Dilated", "Prefix", "RandomGraph", "Sink"), "tokenflock.masks"),
    **dict.fromkeys(
        ("uniform", "cap", "cube", "orthonormal", "planted", "von_mises_fisher", "gaussian", "equiangular"),
        "tokenflock.start",
    ),
    **dict.fromkeys(("again", "simulate"), "tokenflock.simulation"),
    **dict.fromkeys(("save", "load", "unrescale", "validate"), "tokenflock.trajectories"),
    **dict.fromkeys(("trajectory",), "tokenflock.given"),
    **dict.fromkeys(("merge_tree",), "tokenflock.merging"),
    **dict.fromkeys(("extend",), "tokenflock.extension"),
    **dict.fromkeys(("figure",), "tokenflock.papers.figures"),
    **dict.fromkeys(("check",), "tokenflock.papers.claims"),
    **dict.fromkeys(("diagnose",), "tokenflock.diagnosis"),
    **dict.fromkeys(("sweep",), "tokenflock.sweeps"),
    **dict.fromkeys(("study",), "tokenflock.papers.studies"),
    **dict.fromkeys(("Flow", "gradient"), "tokenflock.flow"),
    **dict.fromkeys(("Schedule", "redrawn"), "tokenflock.varying"),
    **dict.fromkeys(("view",), "tokenflock.explorer.widget"),
    **dict.fromkeys(("export",), "tokenflock.explorer.export"),
}
_MODULES = {
    **{name: f"tokenflock.papers.{name}" for name in ("claims", "figures", "studies")},
    **{
        name: f"tokenflock.{name}"
        for name in (
            *("analysis", "dendrogram", "errors", "geometry", "networks", "schemes"),
            *("plot", "start", "sweeps", "theory", "trajectories", "transformer", "weights"),
        )
    },
}
open_door(_HOME, _MODULES)

__all__ = sorted([*_HOME, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("tokenflock")
    if name in _HOME:
        try:
            return getattr(importlib.import_module(_HOME[name]), name)
        except ImportError as error:  # an extra is not installed: help() shows the name all the same, its use says why
            if "MissingExtra" not in type(error).__name__:
                raise
            return stand_in(_HOME[name], name, error)
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    raise AttributeError(f"module 'tokenflock' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
