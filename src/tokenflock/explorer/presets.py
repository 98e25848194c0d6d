"""The presets of the gallery, every figure and claim of the papers as a run to look at; presets.toml holds them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAPERS = {
    "causal": "A. Clustering in causal attention masking",
    "emergence": "B. The emergence of clusters",
    "perspective": "C. A mathematical perspective",
    "metastability": "D. Dynamic metastability",
    "meanfield": "E. Mean-field dynamics",
    "normalization": "F. Normalization",
}
Table = dict[str, Any]


OWN = "Models of your own"


@dataclass(frozen=True)
class Preset:
    """One run of the gallery."""

    name: str
    title: str
    sentence: str
    shows: list[str]  # claims and figures, the one it is linked to first
    model: Table
    start: Table
    simulate: Table
    view: Table = field(default_factory=dict)  # how the page shows the run: see web/src/state.ts

    @property
    def spec(self) -> Table:
        """The run, as in a run.toml."""
        return {"model": self.model, "start": self.start, "simulate": self.simulate}

    def described(self) -> Table:
        """For the page."""
        from tokenflock.papers.claims import NAMES

        claim = next((name for name in self.shows if name in NAMES), "")
        paper = PAPERS[self.shows[0].partition("/")[0]] if self.shows else OWN
        shown = {"name": self.name, "title": self.title, "sentence": self.sentence, "shows": self.shows}
        return {**shown, "claim": claim, "paper": paper, "spec": self.spec, "view": self.view}


def _read() -> tuple[Preset, ...]:
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["preset"]
    return tuple(Preset(**table) for table in tables)


PRESETS = _read()
