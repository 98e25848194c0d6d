"""Rotary positions of trained networks: those of `tokenflock.Rope`, with the frequencies that a file asks for.

Files that pair neighbours instead of numbers m and m + r/2 are brought to this order when they are read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.arguments import instance, positive, whole
from tokenflock.errors import FileError, bad
from tokenflock.networks.tensors import Config
from tokenflock.positions import frequencies, turned


@dataclass(frozen=True)
class Rotary:
    """Which numbers turn, and how fast."""

    width: int  #: r
    base: float
    kind: str = "default"  #: how the frequencies were changed for longer texts
    settings: Mapping[str, Any] = field(default_factory=dict)  #: what that change needs

    def __post_init__(self) -> None:
        if whole("width", self.width, 0, most=2**31) % 2:
            raise bad("width", self.width, "an even number", "Numbers turn in pairs.")
        positive("base", self.base)
        instance("kind", self.kind, str, "a text")
        instance("settings", self.settings, Mapping, "a table {name: number}")  # type: ignore[type-abstract]

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """(r/2,) angles a position."""
        plain = frequencies(self.width, self.base)
        if self.kind in ("default", "dynamic"):  # dynamic: only beyond the trained length
            return plain
        if self.kind == "linear":
            return plain / float(self.settings["factor"])
        if self.kind == "llama3":
            return self._llama3(plain)
        if self.kind == "factors":
            return np.asarray(plain / np.asarray(self.settings["factors"], dtype=float))
        raise FileError(
            f"rotary positions of kind {self.kind!r} cannot be computed. Known: default, linear, dynamic, llama3. "
            "The heads can still be read: they use offset 0."
        )

    def _llama3(self, plain: NDArray[np.float64]) -> NDArray[np.float64]:
        """Slow turns are slowed down by a factor, fast ones kept, those between interpolated."""
        s = {name: float(value) for name, value in self.settings.items() if isinstance(value, int | float)}
        turns = s["original_max_position_embeddings"] * plain / (2 * math.pi)
        low, high = s["low_freq_factor"], s["high_freq_factor"]
        share = np.clip((turns - low) / (high - low), 0.0, 1.0)
        return plain * ((1 - share) / s["factor"] + share)

    def turn(self, x: NDArray[Any], positions: NDArray[Any]) -> NDArray[Any]:
        """Queries or keys (..., n, k) turned, each by its position (n,)."""
        return turned(x, positions, self.frequencies, self.width)


def from_config(config: Config, head_dim: int, base: float = 10_000.0, share: float = 1.0) -> Rotary:
    """As config.json says: rope_parameters (new), or rope_theta, rope_scaling and the share that turns (old)."""
    try:
        said = {**(config.get("rope_scaling") or {}), **(config.get("rope_parameters") or {})}
        base = float(said.get("rope_theta") or config.get("rope_theta") or config.get("rotary_emb_base") or base)
        for name in ("partial_rotary_factor", "rotary_pct"):
            share = float(said.get(name) or config.get(name) or share)
        width = int(head_dim * share)
    except (TypeError, ValueError) as error:
        raise FileError(f"its config.json does not say how rotary positions turn ({error}). Fetch it again.") from error
    if not (0 < width <= head_dim and width % 2 == 0 and base > 0):
        raise FileError(
            f"its config.json says that {width} of {head_dim} numbers turn, with base {base:g}. Allowed: an even "
            "number of them, and a positive base. Fetch it again."
        )
    return Rotary(width, base, str(said.get("rope_type") or said.get("type") or "default"), said)
