"""The message `began`: what the page must know of a run before its first frame, whether it is live or recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokenflock.explorer.measures import Ruler
from tokenflock.explorer.prediction import MOST
from tokenflock.explorer.projection import Projection
from tokenflock.geometry import Array
from tokenflock.model import Model


def began(
    model: Model, spec: Mapping[str, Any], n_tokens: int, times: Array, seen: Projection, ruler: Ruler
) -> dict[str, Any]:
    """The message of a first run; a session says its number, and how many frames of the run before are kept."""
    return {
        "type": "began",
        "run": 1,
        "kept": 0,
        "note": "",
        "spec": spec,
        "n_tokens": n_tokens,
        "dim": model.dim,
        "n_heads": model.n_heads,
        "space": model.space,
        "times": times.tolist(),
        "frozen": [] if model.frozen is None else seen(model.frozen.tokens).tolist(),
        "value": model.values.sum(axis=0).tolist() if model.dim <= MOST else None,
        "projection": seen.described(),
        "atlas": ruler.prediction.described(),
        **ruler.described(),
    }
