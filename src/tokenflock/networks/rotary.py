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
        try:
            return self._frequencies(frequencies(self.width, self.base))
        except KeyError as lacking:
            raise self._lacks(lacking) from None

    def _lacks(self, lacking: KeyError) -> FileError:
        return FileError(
            f"rotary positions of kind {self.kind!r} cannot be computed: their settings do not say {lacking.args[0]}. "
            "Fetch its config.json again. The heads can still be read: they use offset 0."
        )

    def _frequencies(self, plain: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.kind in ("default", "dynamic"):  # dynamic: only beyond the trained length
            return plain
        if self.kind == "linear":
            return plain / float(self.settings["factor"])
        if self.kind == "llama3":
            return self._llama3(plain)
        if self.kind == "factors":
            return np.asarray(plain / np.asarray(self.settings["factors"], dtype=float))
        if self.kind == "yarn":
            return self._yarn(plain)
        if self.kind == "longrope":  # texts within the trained length
            return np.asarray(plain / np.asarray(self.settings["short_factor"], dtype=float))
        raise FileError(
            f"rotary positions of kind {self.kind!r} cannot be computed. Known: default, linear, dynamic, llama3, "
            "yarn, longrope. The heads can still be read: they use offset 0."
        )

    def _llama3(self, plain: NDArray[np.float64]) -> NDArray[np.float64]:
        """Slow turns are slowed down by a factor, fast ones kept, those between interpolated."""
        s = {name: float(value) for name, value in self.settings.items() if isinstance(value, int | float)}
        turns = s["original_max_position_embeddings"] * plain / (2 * math.pi)
        low, high = s["low_freq_factor"], s["high_freq_factor"]
        share = np.clip((turns - low) / (high - low), 0.0, 1.0)
        return plain * ((1 - share) / s["factor"] + share)

    def _yarn(self, plain: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers that turn often within the trained length keep their pace, slow ones are slowed by a factor."""
        s = self.settings

        def number(turns: float) -> float:  # of the pair that turns so often within the trained length
            size = float(s["original_max_position_embeddings"]) / (turns * 2 * math.pi)
            return self.width * math.log(size) / (2 * math.log(self.base))

        low, high = number(float(s.get("beta_fast") or 32)), number(float(s.get("beta_slow") or 1))
        if s.get("truncate", True):
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, self.width - 1)
        share = np.clip((np.arange(len(plain)) - low) / (max(high - low, 1e-3)), 0.0, 1.0)
        return np.asarray(plain * (1 - share) + plain / float(s["factor"]) * share)

    @property
    def amplitude(self) -> float:
        """By what queries and keys grow when they turn: 1 but for yarn and longrope."""
        if self.kind not in ("yarn", "longrope"):
            return 1.0
        try:
            return self._amplitude(self.settings)
        except KeyError as lacking:
            raise self._lacks(lacking) from None

    def _amplitude(self, s: Mapping[str, Any]) -> float:
        if s.get("attention_factor"):
            return float(s["attention_factor"])
        original = float(s["original_max_position_embeddings"])
        factor = float(s.get("factor") or float(s["max_position_embeddings"]) / original)
        if factor <= 1:
            return 1.0
        if self.kind == "longrope":
            return math.sqrt(1 + math.log(factor) / math.log(original))
        one, all_dim = s.get("mscale"), s.get("mscale_all_dim")
        grown = 0.1 * math.log(factor)
        return (one * grown + 1) / (all_dim * grown + 1) if one and all_dim else grown + 1

    def turn(self, x: NDArray[Any], positions: NDArray[Any]) -> NDArray[Any]:
        """Queries or keys (..., n, k) turned, each by its position (n,)."""
        found = turned(x, positions, self.frequencies, self.width)
        if (size := self.amplitude) != 1.0:
            found[..., : self.width] *= size
        return found


def from_config(config: Config, head_dim: int, base: float = 10_000.0, share: float = 1.0) -> Rotary:
    """As config.json says: rope_parameters (new), or rope_theta, rope_scaling and the share that turns (old)."""
    lengths = ("max_position_embeddings", "original_max_position_embeddings")
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
    said = {name: config[name] for name in lengths if config.get(name)} | said
    return Rotary(width, base, str(said.get("rope_type") or said.get("type") or "default"), said)
