"""A trained transformer as a run: layers are time, hidden states are tokens.

block: one block in numpy, every part of which can be switched off.  stack: runs of a head, a layer or the whole model.
states: the model itself, run by torch and transformers.  wording: texts as token ids.
behaviour: what the tokens do, layer by layer.  prediction: a head as a flock.Model, and what the atlas says of it.
working: at what beta every head runs, and how long a pass is.  against: every head beside its theory and null models.
chance: how often Gaussian weights do the same.
"""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = ("against", "behaviour", "block", "chance", "prediction", "record", "stack", "states", "wording", "working")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"tokenflock.transformer.{name}")
    raise AttributeError(f"module 'tokenflock.transformer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_MODULES)
