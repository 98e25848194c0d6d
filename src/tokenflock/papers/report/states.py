"""The report of hidden states from anywhere: what their tokens do, layer by layer. No network is needed.

OUT/report.html, OUT/figures/, OUT/states.json (every number), OUT/states.zarr (the trajectory)
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenflock import plot
from tokenflock.analysis.spectrum import one_thread
from tokenflock.diagnosis import diagnose
from tokenflock.errors import SpecError, bad
from tokenflock.markup import Markup, joined, markup
from tokenflock.papers.report.network_figures import radii
from tokenflock.papers.report.network_working import field, with_interval
from tokenflock.papers.report.page import captioned, document, grid, picture
from tokenflock.store import write_text
from tokenflock.trajectories import RUN, TIME, model_of, save, validate
from tokenflock.transformer import behaviour

if TYPE_CHECKING:
    import xarray as xr

FILES = ("report.html", "states.json", "figures", "states.zarr")
SHOWN = {
    "overlap": "mean overlap", "overlap_centred": "mean taken off", "rank_raw": "effective rank, raw",
    "rank_normed": "normed", "stable_raw": "stable rank, raw", "stable_normed": "normed", "dimension": "dimension",
    "first_length": "first token's length", "sink_rate": "sink rate", "neighbours": "neighbours kept",
    "clusters": "clusters",
}  # fmt: skip


class StatesReport(NamedTuple):
    """Where the page is, and what it says."""

    path: Path
    facts: dict[str, Any]


def states(
    run: xr.Dataset, out: str | Path, name: str = "", say: Callable[[str], None] = lambda text: None
) -> StatesReport:
    """Write the report of hidden states, such as flock.trajectory makes, to a folder. Nothing is written before."""
    validate(run)
    if model_of(run).space != "sphere":
        raise bad(
            "run", "positions in R^d", "hidden states: directions and lengths", "Give flock.trajectory(x) no space."
        )
    several = RUN in run["x"].dims
    texts = [run.isel({RUN: k}) for k in range(run.sizes[RUN])] if several else [run]
    if run.sizes["token"] < 3 or run.sizes[TIME] < 2:
        have = f"{run.sizes['token']} tokens and {run.sizes[TIME]} layers"
        raise SpecError(f"these states have {have}. Wanted: at least 3 tokens and 2 layers. Give more of them.")
    say("measures")
    with one_thread():
        fields = [behaviour.survey(text) for text in texts]
    told = [str(one) for one in diagnose(texts[0]).findings]
    mean = {key: with_interval(np.array([one[key].values for one in fields])) for key in map(str, fields[0].data_vars)}
    say("figures")
    folder = Path(out)
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    drawn = {"field": lambda: field(fields), "tokens": lambda: plot.draw(texts[0]), "radii": lambda: radii(texts[0])}
    pictures = {key: _drawn(draw, folder, key) for key, draw in drawn.items()}
    facts = {"name": name, "texts": len(texts), "tokens": run.sizes["token"], "layers": run.sizes[TIME] - 1,
             "diagnosis": told, "measures": {key: _plain(value[0]) for key, value in mean.items()}}  # fmt: skip
    save(run, folder / "states.zarr", overwrite=True)
    write_text(folder / "states.json", json.dumps(facts, indent=1))
    write_text(folder / "report.html", _page(name, facts, mean, pictures, run))
    return StatesReport(folder / "report.html", facts)


def _drawn(draw: Callable[[], plot.Figure], folder: Path, name: str) -> Markup:
    with plot.style():
        figure = draw()
    files = [file.name for file in plot.save(figure, folder / "figures", name)]
    return captioned(getattr(figure, "caption", ""), picture({"files": files, "name": name}, folder / "figures"))


def _plain(values: Any) -> list[float | None]:
    return [float(v) if math.isfinite(v) else None for v in values]


def _page(
    name: str, facts: dict[str, Any], mean: dict[str, Any], pictures: dict[str, Markup], run: xr.Dataset
) -> Markup:
    title = name or "Hidden states"
    size = f"{facts['texts']} text(s) of {facts['tokens']} tokens through {facts['layers']} layers"
    shown = [key for key in SHOWN if key in mean]
    called = run["layer_name"].values if "layer_name" in run.coords else [f"{t:g}" for t in run[TIME].values]
    rows = [[str(called[k]), *[_cell(mean[key][0][k]) for key in shown]] for k in range(len(called))]
    sections = [
        (
            "What the states show",
            markup("<ul>{}</ul>", joined(markup("<li>{}</li>", line) for line in facts["diagnosis"])),
        ),
        ("What interpretability measures", pictures["field"]),
        ("The tokens of the first text", pictures["tokens"]),
        ("Clusters at every radius", pictures["radii"]),
        ("Layer by layer", grid(("layer", *(SHOWN[key] for key in shown)), rows, ())),
    ]
    body = joined(markup("<section><h2>{}</h2>{}</section>", head, told) for head, told in sections)
    return document(title, markup("<h1>{}</h1><p>{}. Means over texts.</p>{}", title, size, body))


def _cell(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else ""
