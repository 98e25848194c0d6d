"""The velocity of a model for implicit steps: the compiled function of explicit runs, and what it is called with."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from tokenflock.engine.compiled import pointers
from tokenflock.engine.compiled.pointers import Pointer
from tokenflock.engine.explicit.stepper import by_pairs, state_of
from tokenflock.engine.explicit.team import team
from tokenflock.engine.explicit.terms import log2_masses
from tokenflock.engine.explicit.work import Field, velocity_signature
from tokenflock.engine.implicit.system import Tokens
from tokenflock.geometry import Array
from tokenflock.model import Model

DTYPE = "float64"  # long times need all digits


class VelocityCall(NamedTuple):
    """The compiled velocity of a model and its first arguments; `integrate` in steps.py calls it."""

    function: Pointer
    sums: Pointer
    part: Pointer
    field: Field


def velocity_of(model: Model, x: Array, wide: bool) -> tuple[VelocityCall, Tokens]:
    """The velocity of a model, and the tokens x (n, d) in its layout. wide: the velocity is shared among threads."""
    right = by_pairs(model, len(x), DTYPE, wide)
    terms = right.field.terms
    state = state_of(model, x, DTYPE)
    weights = log2_masses(model, len(x))
    weights = np.concatenate([weights, np.zeros((len(weights), state.shape[1] - len(x)))], axis=1)
    numbers = terms.numbers
    by_count, shift = bool(numbers["by_count"]), float(numbers["shift"])
    tokens = Tokens(state, terms.rows, terms.frozen, weights, len(x), by_count, shift)
    function = pointers.pointer_to(right.kernel, velocity_signature(DTYPE))
    return VelocityCall(function, right.sums, right.part, right.field), tokens


def team_of(velocity: VelocityCall, wide: bool) -> AbstractContextManager[None]:
    """The threads that share the velocity for the length of a call, if it is wide."""
    return team(velocity.part, velocity.field.work.pairs) if wide else nullcontext()


def pointer_to(function: Any, *arguments: Any) -> Pointer:
    """A pointer to a compiled function of the algebra, for the types of these arguments."""
    given = [argument if isinstance(argument, types.Type) else typeof(argument) for argument in arguments]
    return pointers.pointer_to(function, types.void(*given))
