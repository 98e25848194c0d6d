"""Llama and its kin (Mistral, Qwen, SmolLM): causal, root-mean-square norms before, rotary positions, gated
feed-forward, and several heads that share keys and values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from tokenflock.networks import rotary
from tokenflock.networks.family import Family, Linear
from tokenflock.networks.layer import Feedforward, Norm
from tokenflock.networks.rotary import Rotary
from tokenflock.networks.tensors import Tensors


class Llama(Family):
    """Llama; SmolLM and SmolLM2 are Llamas by name."""

    name = "llama"
    types = ("llama", "mistral", "qwen2", "qwen3", "smollm3")
    anchor = "layers.0.self_attn.q_proj.weight"
    order, causal, positions = "pre", True, "rotary"

    def __init__(self, config: Mapping[str, Any], tensors: Tensors, dtype: DTypeLike = np.float64) -> None:
        super().__init__(config, tensors, dtype)
        self.eps = self.small("rms_norm_eps", 1e-6)

    def projections(self, layer: int) -> dict[str, Linear]:
        at = f"layers.{layer}.self_attn"
        names = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "o_proj"}
        return {name: self.linear(f"{at}.{short}") for name, short in names.items()}

    def norms(self, layer: int) -> tuple[Norm, Norm]:
        at = f"layers.{layer}"
        return self._rms(f"{at}.input_layernorm"), self._rms(f"{at}.post_attention_layernorm")

    def head_norms(self, layer: int) -> tuple[Norm | None, Norm | None]:
        at = f"layers.{layer}.self_attn"
        if not self.has(f"{at}.q_norm.weight"):
            return None, None
        return self._rms(f"{at}.q_norm", self.head_dim), self._rms(f"{at}.k_norm", self.head_dim)

    def feedforward(self, layer: int) -> Feedforward:
        at = f"layers.{layer}.mlp"
        gate, up, down = (self.linear(f"{at}.{name}_proj") for name in ("gate", "up", "down"))
        activation = str(self.config.get("hidden_act", "silu"))
        return Feedforward("gated", up.weight, down.weight, gate.weight, up.bias, down.bias, gate.bias, activation)

    def rotary(self, layer: int) -> Rotary | None:
        turns = self.config.get("no_rope_layers")  # SmolLM 3: 0 where a layer has no positions
        if isinstance(turns, list) and layer < len(turns) and not turns[layer]:
            return None
        return rotary.from_config(self.config, self.head_dim)

    def window(self, layer: int) -> int | None:
        width = self.config.get("sliding_window")
        kinds = self.config.get("layer_types")
        if isinstance(kinds, list) and layer < len(kinds):
            return width if kinds[layer] == "sliding_attention" else None
        if self.config.get("model_type") == "mistral":
            return width
        # Of Qwen 2 only later layers look through a window, and only if it says so.
        later = layer >= self.config.get("max_window_layers", 0)
        return width if self.config.get("use_sliding_window") and later else None

    def embeddings(self) -> dict[str, Any]:
        word = self.tensor("embed_tokens.weight", (None, self.dim))
        return {
            "word": word, "position": None, "type": None, "norm": None, "map": None, "map_bias": None, "offset": 0,
        }  # fmt: skip

    def final_norm(self) -> Norm | None:
        return self._rms("norm")

    def _rms(self, name: str, size: int | None = None) -> Norm:
        return self.norm(name, self.eps, "rms", size)
