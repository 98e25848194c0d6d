"""The colours of every picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from tokenflock.geometry import Array

#: Okabe and Ito's colours, told apart by colour-blind readers and in print.
COLOURS = {
    "black": "#000000",
    "orange": "#e69f00",
    "sky": "#56b4e9",
    "green": "#009e73",
    "yellow": "#f0e442",
    "blue": "#0072b2",
    "red": "#d55e00",
    "purple": "#cc79a7",
    "grey": "#8c8c8c",
}
STRONG, ORDINARY = COLOURS["red"], COLOURS["black"]
INDEX_COLOURS = "viridis"  # even steps of lightness, safe for colour-blind readers


def shades(of: int | Array) -> Array:
    """Colours (n, 4) of n tokens by index, or of numbers by size."""
    from matplotlib import colormaps

    values = np.arange(of) if isinstance(of, int) else of
    span = np.ptp(values) or 1
    return np.asarray(colormaps[INDEX_COLOURS]((values - values.min()) / span))


def pale(colour: Any) -> Any:
    """The same colour far away: two thirds of the way to the paper."""
    from matplotlib.colors import to_rgb

    return tuple(0.35 * v + 0.65 * 0.96 for v in to_rgb(colour))
