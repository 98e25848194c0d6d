"""The figures of the papers, one file a paper: flock.figure("causal/2") draws one.

A figure module holds a function for each figure, and the parameters it is called with: PARAMETERS[name], and in
QUICK[name] what a quick look changes. The Figure that comes back carries `.caption` and `.parameters`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tokenflock.errors import unknown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: name -> the function that draws it, as module:function
NAMES: dict[str, str] = {
    "causal/2": "tokenflock.figures.causal:figure_2",
}


def parameters(name: str, quick: bool = False) -> dict[str, Any]:
    """All numbers that decide how a figure looks, the seed among them."""
    module, _ = _home(name)
    return {**module.PARAMETERS[name], **(module.QUICK[name] if quick else {})}


def figure(name: str, quick: bool = False) -> Figure:
    """Run what the figure needs and draw it. quick=True: smaller, in seconds, and its caption says so."""
    module, function = _home(name)
    given = parameters(name, quick)
    drawn: Any = getattr(module, function)(**given)
    if quick:
        drawn.caption += (
            " This is the quick version: " + "; ".join(f"{k} = {given[k]}" for k in module.QUICK[name]) + "."
        )
    drawn.parameters = given
    return drawn


def _home(name: str) -> tuple[Any, str]:
    if name not in NAMES:
        raise unknown("figure", name, NAMES)
    module, function = NAMES[name].split(":")
    return importlib.import_module(module), function
