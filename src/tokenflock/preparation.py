"""What a run needs before its tokens are there is prepared once, and kept with its model.

A model never changes, and neither does what follows from it and from plain settings: its traits, what a request comes
to, the engine that runs it, the terms that kernels read. Functions that find such things out are declared `prepared`:
a second call with the same settings looks the answer up. So nobody writes to what they return, and what a run writes
to, its scratch, is made for each run anew: any number of runs may use one preparation at a time.

Answers go with their model. There are never many: those of the latest models, for each the latest settings, and no
large ones, since a run that takes long gains nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, Protocol, TypeVar, TypeVarTuple
from weakref import WeakKeyDictionary

import numpy as np

from tokenflock.model import Model

MODELS, SETTINGS = 64, 8  # for which each function keeps its answers
MOST_BYTES = 2**18  # of the arrays of an answer
# Types of settings that are what they are for ever. An array may change: what follows from one is found out anew.
PLAIN = frozenset({type(None), bool, int, float, str, np.float64, np.float32, np.int64})
NOT_YET: Any = object()


class Asked(Protocol):
    """A model with settings, such as a request: all that follows from it follows from these."""

    @property
    def model(self) -> Model:
        """The model."""

    @property
    def settings(self) -> tuple[Any, ...]:
        """The settings."""


Given = TypeVar("Given", bound=Model | Asked)
Settings = TypeVarTuple("Settings")
Answer = TypeVar("Answer")


def prepared(function: Callable[[Given, *Settings], Answer]) -> Callable[[Given, *Settings], Answer]:
    """function(model, *settings) or function(asked, *settings), found out once for a model and settings.

    It depends on nothing else, and its answer does not hold the model, which would then live as long as the answer.
    """
    kept: WeakKeyDictionary[Model, dict[Any, Answer]] = WeakKeyDictionary()
    lock = Lock()

    @wraps(function)
    def found(given: Given, *settings: *Settings) -> Answer:
        model, all_settings = (
            (given, settings) if isinstance(given, Model) else (given.model, given.settings + settings)
        )
        types = tuple(map(type, all_settings))  # True == 1 == 1.0, and one may be refused where another is not
        if not PLAIN.issuperset(types):
            return function(given, *settings)
        key = (types, all_settings)
        answer: Answer = kept.get(model, {}).get(key, NOT_YET)
        if answer is NOT_YET:
            answer = function(given, *settings)
            if _bytes(answer) <= MOST_BYTES:
                with lock:
                    _make_room(kept, MODELS if model not in kept else len(kept) + 1)
                    answers = kept.setdefault(model, {})
                    _make_room(answers, SETTINGS)
                    answers[key] = answer
        return answer

    return found


def _make_room(table: Any, most: int) -> None:
    """Take the oldest out of a table that is to hold one more."""
    for old in list(table)[: max(0, len(table) - most + 1)]:
        table.pop(old, None)


def _bytes(answer: Any) -> int:
    """How large the arrays of an answer are."""
    if isinstance(answer, np.ndarray):
        return answer.nbytes
    return sum(map(_bytes, answer)) if isinstance(answer, tuple) else 0
