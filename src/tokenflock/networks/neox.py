"""GPT-NeoX and Pythia: causal, the norm before, attention and feed-forward side by side, rotary positions."""

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


class NeoX(Family):
    """GPT-NeoX. Q, K and V stand in one matrix, head by head."""

    name = "gpt_neox"
    types = ("gpt_neox",)
    anchor = "layers.0.attention.query_key_value.weight"
    order, causal, positions = "pre", True, "rotary"

    def __init__(self, config: Mapping[str, Any], tensors: Tensors, dtype: DTypeLike = np.float64) -> None:
        super().__init__(config, tensors, dtype)
        self.eps = self.small("layer_norm_eps", 1e-5)
        self.parallel = bool(config.get("use_parallel_residual", True))

    def projections(self, layer: int) -> dict[str, Linear]:
        at = f"layers.{layer}.attention"
        weight, bias = self.linear(f"{at}.query_key_value")
        if weight.shape != (3 * self.dim, self.dim):
            raise self.wrong(f"{at}.query_key_value has shape {weight.shape} where {(3 * self.dim, self.dim)} belongs")
        shape = (self.n_heads, 3, self.head_dim)
        weights = weight.reshape(*shape, self.dim).transpose(1, 0, 2, 3).reshape(3, self.dim, self.dim)
        biases = [None] * 3 if bias is None else bias.reshape(shape).transpose(1, 0, 2).reshape(3, self.dim)
        found = zip(("query", "key", "value"), weights, biases, strict=True)
        return {**{name: Linear(w, b) for name, w, b in found}, "output": self.linear(f"{at}.dense")}

    def norms(self, layer: int) -> tuple[Norm, Norm]:
        at = f"layers.{layer}"
        return self.norm(f"{at}.input_layernorm", self.eps), self.norm(f"{at}.post_attention_layernorm", self.eps)

    def feedforward(self, layer: int) -> Feedforward:
        at = f"layers.{layer}.mlp"
        return self.mlp(f"{at}.dense_h_to_4h", f"{at}.dense_4h_to_h", str(self.config.get("hidden_act", "gelu")))

    def rotary(self, layer: int) -> Rotary | None:
        return rotary.from_config(self.config, self.head_dim, share=0.25)

    def embeddings(self) -> dict[str, Any]:
        word = self.tensor("embed_in.weight", (None, self.dim))
        return {
            "word": word, "position": None, "type": None, "norm": None, "map": None, "map_bias": None, "offset": 0,
        }  # fmt: skip

    def final_norm(self) -> Norm | None:
        return self.norm("final_layer_norm", self.eps)
