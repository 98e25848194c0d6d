"""Stretches of smooth time: a scheme must not step across a jump of the weights, or the switch of `mix`."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import NamedTuple

from tokenflock.model import Model, kind_at
from tokenflock.varying import SLIGHTLY


class Span(NamedTuple):
    """Smooth time from where the last one ended. middle: a time inside, on the right side of jumps at its ends."""

    end: float
    kind: str  # of layer norm
    middle: float


def stretches(model: Model, t_end: float, layer: float | None = None) -> Iterator[Span]:
    """All of them, in order. layer: dt of layers: a change takes place before the first that begins at it or later."""
    begin = 0.0
    for end in [t_end] if not (model.varying or model.norm.kind == "mix") else _ends(model, t_end, layer):
        if end > begin:
            middle = 0.5 * (begin + end)
            mixed = model.space == "sphere" and model.norm.kind == "mix"
            kind = kind_at(model.norm, middle) if mixed else model.norm.kind
            yield Span(end, kind, middle if layer is None else begin + SLIGHTLY * layer)
            begin = end


def _ends(model: Model, t_end: float, layer: float | None) -> Iterator[float]:
    changes = [one.changes(t_end) for one in (model.varying or {}).values()]
    switch = model.norm.switch
    if model.space == "sphere" and model.norm.kind == "mix" and switch < t_end:
        changes.append(iter([switch]))
    for t in heapq.merge(*changes):
        yield t if layer is None else min(math.ceil(t / layer - SLIGHTLY) * layer, t_end)
    yield t_end
