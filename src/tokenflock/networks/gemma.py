"""Gemma: Llama with gains 1 + w, scaled embeddings, and from Gemma 2 on norms after each part and windows in turn."""

from __future__ import annotations

import math
from typing import Any

from tokenflock.networks import rotary
from tokenflock.networks.layer import Norm
from tokenflock.networks.llama import Llama
from tokenflock.networks.rotary import Rotary

SLIDING = "sliding_attention"


class Gemma(Llama):
    """Gemma 1 to 3, their text models."""

    name = "gemma"
    types = ("gemma", "gemma2", "gemma3_text")

    def prepare(self) -> None:
        """Gemma 2 caps its logits; a Gemma that sees both ways is none of a language model."""
        if self.config.get("use_bidirectional_attention"):
            raise self.wrong("it sees both ways (use_bidirectional_attention), and only causal ones are read")
        self.kind = str(self.config.get("model_type"))

    def norm(self, name: str, size: int | None = None) -> Norm:
        """A norm whose gain is 1 + weight."""
        found = super().norm(name, size)
        return Norm(found.kind, 1 + found.weight, found.bias, found.eps)

    def norms(self, layer: int) -> tuple[Norm, Norm]:
        """The norms before attention and before the feed-forward."""
        at = self.place(layer)
        before = "pre_feedforward_layernorm" if self.kind != "gemma" else "post_attention_layernorm"
        return self.norm(f"{at}.input_layernorm"), self.norm(f"{at}.{before}")

    def more(self, layer: int) -> dict[str, Any]:
        """The cap of Gemma 2, and the norms after each part."""
        if self.kind == "gemma":
            return {}
        at, cap = self.place(layer), self.config.get("attn_logit_softcapping")
        return {
            "cap": None if cap is None else float(cap),
            "attention_after": self.norm(f"{at}.post_attention_layernorm"),
            "feedforward_after": self.norm(f"{at}.post_feedforward_layernorm"),
        }

    def scale(self, layer: int) -> float:
        """1 / sqrt(query_pre_attn_scalar)."""
        return 1 / math.sqrt(float(self.config.get("query_pre_attn_scalar") or self.head_dim))

    def slides(self, layer: int) -> bool:
        """Whether a layer looks through a window: by its type, or every one but each n-th."""
        kinds = self.config.get("layer_types")
        if isinstance(kinds, list) and layer < len(kinds):
            return bool(kinds[layer] == SLIDING)
        usual = {"gemma2": 2, "gemma3_text": 6}.get(self.kind, 1)
        every = self.config.get("sliding_window_pattern") or self.config.get("_sliding_window_pattern") or usual
        return (layer + 1) % int(every) != 0

    def window(self, layer: int) -> int | None:
        """How many tokens a causal one sees."""
        width = self.config.get("sliding_window")
        return int(width) if width and self.slides(layer) and self.kind != "gemma" else None

    def rotary(self, layer: int) -> Rotary | None:
        """Layers with a window may turn by another base."""
        config, said = dict(self.config), self.config.get("rope_parameters") or {}
        kind = SLIDING if self.slides(layer) else "full_attention"
        if isinstance(said.get(kind), dict):
            config["rope_parameters"] = said[kind]
        elif self.config.get("rope_local_base_freq") and kind == SLIDING:
            config |= {"rope_theta": self.config["rope_local_base_freq"], "rope_scaling": None, "rope_parameters": None}
        return rotary.from_config(config, self.head_dim)

    def embeddings(self) -> dict[str, Any]:
        """Words, sqrt(d) times what the file holds."""
        found = super().embeddings()
        return {**found, "word": found["word"] * math.sqrt(self.dim)}
