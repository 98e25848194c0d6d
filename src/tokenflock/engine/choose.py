"""Which engine runs a model."""

from __future__ import annotations

import importlib
from functools import lru_cache

from tokenflock.engine.contract import Engine, Task, is_near
from tokenflock.errors import EngineError, unknown
from tokenflock.model import Model
from tokenflock.schemes import Rosenbrock

HOMES = {
    "cpu": ("tokenflock.engine.cpu", "CpuEngine"),
    "reference": ("tokenflock.engine.reference", "ReferenceEngine"),
    "harmonic": ("tokenflock.engine.harmonic", "HarmonicEngine"),
    "gpu": ("tokenflock.engine.gpu", "GpuEngine"),
}
NAMES = ("auto", *HOMES)
FEWEST = 48  # tokens below which pairs are always faster
FEW = 2_000  # tokens up to which auto takes pairs for all but short runs: their errors are relative
SHORT = 300.0  # t_end up to which few tokens may go by waves: no pull below their errors moves one till then
LONG = 1e4  # t_end from which a run lives on pulls that waves round away
MANY = 200_000  # tokens from which pairs are no way out any more


@lru_cache
def engine_named(name: str) -> Engine:
    """The engine with this name; its libraries are imported now."""
    if name not in HOMES:
        raise unknown("engine", name, NAMES)
    module, cls = HOMES[name]
    return getattr(importlib.import_module(module), cls)()


def choose(name: str, model: Model, dtype: str, n_tokens: int = 0, task: Task | None = None) -> Engine:
    """The engine asked for, or the best for `auto`; an engine that cannot run the model says why.

    auto knows no run without n_tokens and task, and takes the CPU engine then.
    """
    if name == "auto":
        waves = task is not None and _waves_pay(model, dtype, n_tokens, task)
        engine = engine_named("harmonic" if waves else "cpu")
    else:
        engine = engine_named(name)
    if why := engine.supports(model, dtype):
        raise EngineError(f"engine={name!r} cannot run this model. {why}")
    if engine.name == "gpu":
        return engine.for_run()  # type: ignore[attr-defined]
    if engine.name != "harmonic" or not n_tokens:
        return engine
    from tokenflock.engine.harmonic import HarmonicEngine
    from tokenflock.engine.harmonic_cost import waves_s

    # One of its own for every call: it remembers the errors of its runs.
    pairs = model.n_heads * n_tokens**2 * (0.5 if model.mask == "causal" else 1.0)
    assert isinstance(engine, HarmonicEngine)
    return engine.for_tokens(pairs, waves_s(model, n_tokens))


def _waves_pay(model: Model, dtype: str, n: int, task: Task) -> bool:
    """Whether auto takes the harmonic engine: allowed, accurate enough from any start, and faster as measured."""
    if task.t_end > LONG or isinstance(task.scheme, Rosenbrock):
        return False
    if n <= FEW:
        return task.t_end <= SHORT and _small_waves_pay(n, task)
    from tokenflock.engine.harmonic import worst_error

    waves = engine_named("harmonic")
    if waves.supports(model, dtype) is not None or not is_near(model):
        return False
    if n <= MANY and worst_error(n) > task.rtol + task.atol:
        return False
    from tokenflock.engine.harmonic_cost import pairs_s, waves_s

    return waves_s(model, n) < pairs_s(model, n)


def _small_waves_pay(n: int, task: Task) -> bool:
    """The same for few tokens. Fixed steps keep to pairs: whoever sets a step may look at its order."""
    if n < FEWEST or task.model.dim not in (2, 3) or task.scheme is None or not task.scheme.adaptive:
        return False
    from tokenflock.engine.harmonic_cost import pairs_s, small_waves_s
    from tokenflock.engine.small_waves import is_small

    return is_small(task, n) and small_waves_s(task, n) < pairs_s(task.model, n)
