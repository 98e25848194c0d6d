"""The figures of the papers, one file a paper or a few: flock.figure("causal/2") draws one.

A figure module holds a function for each figure, and the record that it is called with: PARAMETERS[name], and in
QUICK[name] what a quick look changes. The Figure that comes back carries `.caption` and `.parameters`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

from tokenflock import plot
from tokenflock.arguments import changed, flag, home, is_number
from tokenflock.errors import bad

__all__ = ["animate", "figure", "inputs", "parameters"]

#: name -> the function that draws it, as module:function
NAMES: dict[str, str] = {
    "causal/1": "tokenflock.papers.figures.causal_spheres:figure_1",
    "causal/2": "tokenflock.papers.figures.causal:figure_2",
    "causal/3": "tokenflock.papers.figures.causal_centers:figure_3",
    "causal/4": "tokenflock.papers.figures.causal:figure_4",
    "causal/5": "tokenflock.papers.figures.causal_spectra:figure_5",
    "causal/6": "tokenflock.papers.figures.causal_spectra:figure_6",
    "causal/diagram": "tokenflock.papers.figures.causal_diagram:figure_diagram",
    "emergence/polytope-2d": "tokenflock.papers.figures.emergence:figure_2d",
    "emergence/polytope-3d": "tokenflock.papers.figures.emergence:figure_3d",
    "emergence/hyperplanes-2d": "tokenflock.papers.figures.emergence_planes:figure_2d",
    "emergence/hyperplanes-3d": "tokenflock.papers.figures.emergence_planes:figure_3d",
    "emergence/codimension": "tokenflock.papers.figures.emergence_mix:figure_codimension",
    "emergence/mix": "tokenflock.papers.figures.emergence_mix:figure_mix",
    "emergence/boolean": "tokenflock.papers.figures.emergence_attention:figure_boolean",
    "emergence/leaders": "tokenflock.papers.figures.emergence_attention:figure_leaders",
    "emergence/high-dimension": "tokenflock.papers.figures.emergence_large:figure_high_dimension",
    "emergence/spectra": "tokenflock.papers.figures.emergence_spectra:figure_spectra",
    "emergence/generic-qk": "tokenflock.papers.figures.emergence_variants:figure_generic_qk",
    "emergence/feedforward": "tokenflock.papers.figures.emergence_variants:figure_feedforward",
    "perspective/3": "tokenflock.papers.figures.perspective:figure_3",
    "metastability/staircase": "tokenflock.papers.figures.metastability:figure_staircase",
}
#: name -> the function that sets it in motion
MOVIES: dict[str, str] = {
    "causal/1": "tokenflock.papers.figures.causal_spheres:movie_1",
    "causal/2": "tokenflock.papers.figures.causal:movie_2",
    "emergence/polytope-2d": "tokenflock.papers.figures.emergence:movie_2d",
    "emergence/polytope-3d": "tokenflock.papers.figures.emergence:movie_3d",
    "emergence/hyperplanes-2d": "tokenflock.papers.figures.emergence_planes:movie_2d",
}


def parameters(name: str, quick: bool = False, **changes: Any) -> dict[str, Any]:
    """All numbers that decide how a figure looks, the seed among them; changes are what the caller wants instead."""
    module, _ = home("figure", name, NAMES)
    given = {**vars(module.PARAMETERS[name]), **(module.QUICK[name] if flag("quick", quick) else {})}
    for key, value in changes.items():  # a size, a time or a temperature, none of which is drawn below 0
        if is_number(given.get(key)) and given[key] > 0 and is_number(value) and not 0 < value < math.inf:
            raise bad(f"{key} of figure {name}", value, "a finite number > 0", f"It is {given[key]} if left out.")
    return changed(f"figure {name}", given, changes)


def figure(name: str, quick: bool = False, **changes: Any) -> plot.Figure:
    """Run what the figure needs and draw it. quick=True: smaller, in seconds, and its caption says so.

    Keywords change single parameters, for example figure("causal/6", weights="folder").
    """
    module, function = home("figure", name, NAMES)
    given = parameters(name, quick, **changes)
    with plot.style():
        drawn = getattr(module, function)(type(module.PARAMETERS[name])(**given))
    smaller = {k: given[k] for k in module.QUICK[name] if k not in changes} if quick else {}
    if smaller:
        drawn.caption += " This is the quick version: " + "; ".join(f"{k} = {v}" for k, v in smaller.items()) + "."
    drawn.parameters = given
    return cast("plot.Figure", drawn)


def inputs(name: str, **changes: Any) -> dict[str, str]:
    """The files that a figure reads, by name, with a digest of each: when one changes, the figure is stale."""
    module, _ = home("figure", name, NAMES)
    read = getattr(module, "INPUTS", {}).get(name)
    return read(type(module.PARAMETERS[name])(**parameters(name, **changes))) if read else {}


def animate(name: str, out: str | Path, quick: bool = False, **changes: Any) -> Path:
    """Write a figure in motion as .gif or .mp4, whole or not at all; quick=True: fewer frames and a shorter time."""
    from tokenflock.plot import films

    path = films.check_target(out)  # before any work
    module, function = home("animation", name, MOVIES)
    most = films.MOST_QUICK if quick else films.MOST_FRAMES
    with plot.style():
        movie = getattr(module, function)(type(module.PARAMETERS[name])(**parameters(name, quick, **changes)))
    return films.write(path, movie, most)
