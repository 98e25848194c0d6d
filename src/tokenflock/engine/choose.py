"""Which engine runs a model: the registry of engines, and the choice among them."""

from __future__ import annotations

import importlib
from functools import lru_cache

from tokenflock.engine.contract import Engine, Task
from tokenflock.errors import EngineError, unknown
from tokenflock.model import Model

HOMES = {
    "cpu": ("tokenflock.engine.cpu", "CpuEngine"),
    "reference": ("tokenflock.engine.reference", "ReferenceEngine"),
    "harmonic": ("tokenflock.engine.harmonic.engine", "HarmonicEngine"),
    "gpu": ("tokenflock.engine.gpu", "GpuEngine"),
}
NAMES = ("auto", *HOMES)


@lru_cache
def engine_named(name: str) -> Engine:
    """The engine with this name; its libraries are imported now."""
    if name not in HOMES:
        raise unknown("engine", name, NAMES)
    module, cls = HOMES[name]
    made = getattr(importlib.import_module(module), cls)()
    assert isinstance(made, Engine)
    return made


def choose(name: str, model: Model, dtype: str, n_tokens: int = 0, task: Task | None = None) -> Engine:
    """The engine asked for, or the best for `auto`; an engine that cannot run the model says why.

    auto knows no run without n_tokens and task, and takes pairs then. A model that compiled code does not know runs on
    the reference engine.
    """
    engine = engine_named(_best(model, dtype, n_tokens, task) if name == "auto" else name)
    if why := engine.supports(model, dtype):
        advice = "" if name == "auto" else " Try engine='auto'."
        raise EngineError(f"engine={name!r} cannot run this model. {why}{advice}")
    if task is not None and task.scheme_name not in engine.schemes:
        others = "explicit schemes only" if task.scheme_name not in Engine.schemes else ", ".join(engine.schemes)
        able = next(other for other in HOMES if task.scheme_name in engine_named(other).schemes)
        raise EngineError(f"engine={name!r} has {others}. Use engine={able!r} for scheme={task.scheme_name!r}.")
    return engine.for_call(model, n_tokens)


def _best(model: Model, dtype: str, n_tokens: int, task: Task | None) -> str:
    if engine_named("cpu").supports(model, dtype) is not None:
        return "reference"
    if task is None or not n_tokens or task.scheme_name not in Engine.schemes:
        return "cpu"
    from tokenflock.engine.harmonic.cost import FEW, LONG, few_waves_pay, waves_pay

    if n_tokens <= FEW:
        return "harmonic" if few_waves_pay(task, n_tokens) else "cpu"
    waves = task.t_end <= LONG and engine_named("harmonic").supports(model, dtype) is None
    return "harmonic" if waves and waves_pay(task, n_tokens) else "cpu"
