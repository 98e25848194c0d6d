"""What is given to be drawn on and to be drawn, checked in one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.arguments import instance, real, whole_numbers
from tokenflock.errors import bad
from tokenflock.geometry import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes(given: Any) -> Axes:
    """The argument, if it is Axes of matplotlib."""
    from matplotlib.axes import Axes

    return instance("ax", given, Axes, "matplotlib Axes", "For example matplotlib.pyplot.subplots()[1].")


def indices(argument: str, given: Any, n_tokens: int) -> list[int]:
    """The tokens that are named by their numbers, from 0, in any collection."""
    allowed = f"a list of whole numbers from 0 to {n_tokens - 1}"
    try:
        listed = given if isinstance(given, np.ndarray) else list(given)
        if not len(listed):
            return []
    except TypeError:
        raise bad(argument, given, allowed) from None
    chosen = whole_numbers(argument, listed, allowed)
    if chosen.ndim != 1 or chosen.min() < 0 or chosen.max() >= n_tokens:
        raise bad(argument, given, allowed)
    found: list[int] = chosen.tolist()
    return found


def numbers(argument: str, given: Any, n_tokens: int) -> Array:
    """A number for every token; its index if None was given."""
    if given is None:
        return np.arange(n_tokens, dtype=float)
    wanted = f"({n_tokens},) finite numbers, one for each token"
    found = real(argument, given, wanted)
    if found.shape != (n_tokens,):
        raise bad(f"{argument}.shape", found.shape, wanted)
    return found


def eye(given: Any) -> Array:
    """The argument, if it is three directions in R^3."""
    found = real("eye", given, "(3, 3) finite numbers", advice="It is what plot.view(elevation, azimuth) gives.")
    if found.shape != (3, 3):
        raise bad("eye.shape", found.shape, "(3, 3)", "It is what plot.view(elevation, azimuth) gives.")
    return found
