"""GPT-2: a causal decoder with the norm before each part. Its matrices are stored transposed, Q, K and V in one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tokenflock.networks.family import Family, Linear
from tokenflock.networks.layer import Feedforward, Norm


class Gpt2(Family):
    """GPT-2, and DistilGPT-2, which keeps its name."""

    name = "gpt2"
    types = ("gpt2",)
    anchor = "h.0.attn.c_attn.weight"
    order, causal = "pre", True

    def projections(self, layer: int) -> dict[str, Linear]:
        at = f"h.{layer}.attn"
        weight, bias = self._across(f"{at}.c_attn")
        if len(weight) != 3 * self.dim:
            raise self.wrong(f"{at}.c_attn has {len(weight)} columns where {3 * self.dim} belong")
        biases = [None] * 3 if bias is None else np.split(bias, 3)
        found = zip(("query", "key", "value"), np.split(weight, 3), biases, strict=True)
        return {**{name: Linear(w, b) for name, w, b in found}, "output": self._across(f"{at}.c_proj")}

    def norms(self, layer: int) -> tuple[Norm, Norm]:
        eps = self.small("layer_norm_epsilon", 1e-5)
        return self.norm(f"h.{layer}.ln_1", eps), self.norm(f"h.{layer}.ln_2", eps)

    def feedforward(self, layer: int) -> Feedforward:
        up, down = self._across(f"h.{layer}.mlp.c_fc"), self._across(f"h.{layer}.mlp.c_proj")
        activation = str(self.config.get("activation_function", "gelu_new"))
        return Feedforward("mlp", up.weight, down.weight, None, up.bias, down.bias, None, activation)

    def scale(self, layer: int) -> float:
        scale = self.head_dim**-0.5 if self.config.get("scale_attn_weights", True) else 1.0
        return scale / (layer + 1) if self.config.get("scale_attn_by_inverse_layer_idx") else scale

    def embeddings(self) -> dict[str, Any]:
        word, position = self.tensor("wte.weight", (None, self.dim)), self.tensor("wpe.weight", (None, self.dim))
        return {
            "word": word, "position": position, "type": None, "norm": None, "map": None, "map_bias": None, "offset": 0,
        }  # fmt: skip

    def final_norm(self) -> Norm | None:
        return self.norm("ln_f", self.small("layer_norm_epsilon", 1e-5))

    def _across(self, name: str) -> Linear:
        """A linear map whose weight is stored as (in, out)."""
        weight = self.tensor(f"{name}.weight", (None, None)).T
        return Linear(weight, self.tensor(f"{name}.bias", (len(weight),)) if self.has(f"{name}.bias") else None)
