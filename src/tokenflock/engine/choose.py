"""Which engine runs a model."""

from __future__ import annotations

import importlib
from functools import lru_cache

from tokenflock.engine.contract import Engine
from tokenflock.engine.machine import find_cache
from tokenflock.errors import EngineError, unknown
from tokenflock.model import Model

HOMES = {
    "cpu": ("tokenflock.engine.cpu", "CpuEngine"),
    "reference": ("tokenflock.engine.reference", "ReferenceEngine"),
}
NAMES = ("auto", *HOMES)


@lru_cache
def engine_named(name: str) -> Engine:
    """The engine with this name; its libraries are imported now."""
    if name not in HOMES:
        raise unknown("engine", name, NAMES)
    find_cache()
    module, cls = HOMES[name]
    return getattr(importlib.import_module(module), cls)()


def choose(name: str, model: Model, dtype: str) -> Engine:
    """The engine asked for, or the best for `auto`; an engine that cannot run the model says why."""
    engine = engine_named("cpu" if name == "auto" else name)
    if why := engine.supports(model, dtype):
        raise EngineError(f"engine={name!r} cannot run this model. {why}")
    return engine
