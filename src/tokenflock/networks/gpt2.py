"""GPT-2: a causal decoder with the norm before each part. Its matrices are stored transposed, Q, K and V in one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tokenflock.networks.family import NO_EMBEDDINGS, Family, Linear


class Gpt2(Family):
    """GPT-2, and DistilGPT-2, which keeps its name."""

    name = "gpt2"
    types = ("gpt2",)
    anchor = "h.0.attn.c_attn.weight"
    order, causal = "pre", True
    at = "h.{}"
    attention = ("attn.c_attn", "attn.c_proj")
    norm_names = ("ln_1", "ln_2")
    mlp_names = ("mlp.c_fc", "mlp.c_proj")
    activation = ("activation_function", "gelu_new")
    epsilon = ("layer_norm_epsilon", 1e-5)
    last_norm = "ln_f"

    def projections(self, layer: int) -> dict[str, Linear]:
        """query, key and value out of one matrix, and output."""
        name = f"{self.place(layer)}.{self.attention[0]}"
        weight, bias = self.linear(name)
        if len(weight) != 3 * self.dim:
            raise self.wrong(f"{name} has {len(weight)} columns where {3 * self.dim} belong")
        return self.packed(layer, np.split(weight, 3), None if bias is None else np.split(bias, 3))

    def scale(self, layer: int) -> float:
        """The factor of the logits."""
        scale = super().scale(layer) if self.config.get("scale_attn_weights", True) else 1.0
        return scale / (layer + 1) if self.config.get("scale_attn_by_inverse_layer_idx") else scale

    def embeddings(self) -> dict[str, Any]:
        """Words and positions."""
        word, position = self.tensor("wte.weight", (None, self.dim)), self.tensor("wpe.weight", (None, self.dim))
        return {**NO_EMBEDDINGS, "word": word, "position": position}

    def linear(self, name: str) -> Linear:
        """A linear map whose weight is stored as (in, out)."""
        weight = self.tensor(f"{name}.weight", (None, None)).T
        return Linear(weight, self.tensor(f"{name}.bias", (len(weight),)) if self.has(f"{name}.bias") else None)
