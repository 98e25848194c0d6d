"""What a preset of the gallery is, and the short words in which the presets are written down."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Preset:
    """One run of the gallery."""

    name: str
    title: str
    sentence: str
    shows: tuple[str, ...]  # claims and figures, the one it is linked to first
    model: Table
    start: Table
    simulate: Table
    view: Table = field(default_factory=dict)  # how it is shown: see web/src/state.ts

    @property
    def spec(self) -> Table:
        """The run, as in a run.toml."""
        return {"model": dict(self.model), "start": dict(self.start), "simulate": dict(self.simulate)}

    def described(self) -> Table:
        """For the page."""
        from tokenflock.claims import NAMES

        claim = next((name for name in self.shows if name in NAMES), "")
        paper = PAPERS[self.shows[0].partition("/")[0]]
        shown = {"name": self.name, "title": self.title, "sentence": self.sentence, "shows": list(self.shows)}
        return {**shown, "claim": claim, "paper": paper, "spec": self.spec, "view": dict(self.view)}


def log(t_end: float, first: float = 0.02, frames: int = 300, **more: Any) -> Table:
    """Kept times in equal ratios."""
    return {"t_end": t_end, "times": f"log:{first:g}:{frames}", **more}


def even(t_end: float, frames: int = 240, **more: Any) -> Table:
    """Kept times in equal steps."""
    return {"t_end": t_end, "times": frames, **more}


def sphere(n: int, seed: int = 0, **more: Any) -> Table:
    """A start on the sphere."""
    return {"n_tokens": n, "seed": seed, **more}


def cube(n: int, width: float = 5.0, seed: int = 0) -> Table:
    """A start of paper B."""
    return {"kind": "cube", "half_width": width, "n_tokens": n, "seed": seed}


def diagonal(*values: float) -> Table:
    """A diagonal matrix."""
    return {"family": "diagonal", "values": list(values)}


def ring(m: int) -> list[list[float]]:
    """Tokens at equal angles of the circle."""
    return [[math.cos(2 * math.pi * k / m), math.sin(2 * math.pi * k / m)] for k in range(m)]


LOG: Table = {"clock": "log"}
OPEN: Table = {"mask": "full", "space": "rescaled"}
