"""GPT-NeoX and Pythia: causal, the norm before, attention and feed-forward side by side, rotary positions."""

from __future__ import annotations

from typing import Any

from tokenflock.networks import rotary
from tokenflock.networks.family import NO_EMBEDDINGS, Family, Linear
from tokenflock.networks.rotary import Rotary


class NeoX(Family):
    """GPT-NeoX. Q, K and V stand in one matrix, head by head."""

    name = "gpt_neox"
    types = ("gpt_neox",)
    anchor = "layers.0.attention.query_key_value.weight"
    order, causal, positions = "pre", True, "rotary"
    at = "layers.{}"
    attention = ("attention.query_key_value", "attention.dense")
    norm_names = ("input_layernorm", "post_attention_layernorm")
    mlp_names = ("mlp.dense_h_to_4h", "mlp.dense_4h_to_h")
    epsilon = ("layer_norm_eps", 1e-5)
    last_norm = "final_layer_norm"

    def prepare(self) -> None:
        """What config.json says besides sizes."""
        self.parallel = bool(self.config.get("use_parallel_residual", True))

    def projections(self, layer: int) -> dict[str, Linear]:
        """query, key and value out of one matrix, and output."""
        name = f"{self.place(layer)}.{self.attention[0]}"
        weight, bias = self.linear(name)
        if weight.shape != (3 * self.dim, self.dim):
            raise self.wrong(f"{name} has shape {weight.shape} where {(3 * self.dim, self.dim)} belongs")
        shape = (self.n_heads, 3, self.head_dim)
        weights = weight.reshape(*shape, self.dim).transpose(1, 0, 2, 3).reshape(3, self.dim, self.dim)
        biases = None if bias is None else bias.reshape(shape).transpose(1, 0, 2).reshape(3, self.dim)
        return self.packed(layer, weights, biases)

    def rotary(self, layer: int) -> Rotary | None:
        """A quarter of the numbers turns, unless config.json says otherwise."""
        return rotary.from_config(self.config, self.head_dim, share=0.25)

    def embeddings(self) -> dict[str, Any]:
        """The table of words; there is none of positions."""
        return {**NO_EMBEDDINGS, "word": self.tensor("embed_in.weight", (None, self.dim))}
