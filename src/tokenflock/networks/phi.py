"""Phi-3 and Phi-4-mini: Llama whose queries, keys and values, and whose gate and up, stand in one matrix each."""

from __future__ import annotations

from tokenflock.networks.family import Linear
from tokenflock.networks.layer import Experts, Feedforward
from tokenflock.networks.llama import Llama


class Phi3(Llama):
    """Phi-3."""

    name = "phi3"
    types = ("phi3",)
    anchor = "layers.0.self_attn.qkv_proj.weight"

    def projections(self, layer: int) -> dict[str, Linear]:
        """query, key and value out of one matrix, and output."""
        at = f"{self.place(layer)}.self_attn"
        weight, bias = self.linear(f"{at}.qkv_proj")
        q, k = self.n_heads * self.head_dim, self.n_groups * self.head_dim
        if weight.shape != (q + 2 * k, self.dim):
            raise self.wrong(f"{at}.qkv_proj has shape {weight.shape} where {(q + 2 * k, self.dim)} belongs")
        cuts = {"query": slice(0, q), "key": slice(q, q + k), "value": slice(q + k, None)}
        found = {name: Linear(weight[cut], None if bias is None else bias[cut]) for name, cut in cuts.items()}
        return {**found, "output": self.linear(f"{at}.o_proj")}

    def feedforward(self, layer: int) -> Feedforward | Experts:
        """Gate and up out of one matrix."""
        both, down = (self.linear(f"{self.place(layer)}.mlp.{name}_proj") for name in ("gate_up", "down"))
        half = len(both.weight) // 2
        sigma = str(self.config.get("hidden_act", "silu"))
        return Feedforward("gated", both.weight[half:], down.weight, both.weight[:half], None, down.bias, None, sigma)
