"""Llama and its kin (Mistral, Qwen, SmolLM): causal, root-mean-square norms before, rotary positions, gated
feed-forward, and several heads that share keys and values."""

from __future__ import annotations

from typing import Any

from tokenflock.networks import rotary
from tokenflock.networks.family import NO_EMBEDDINGS, Family
from tokenflock.networks.layer import Experts, Feedforward, Norm
from tokenflock.networks.rotary import Rotary


class Llama(Family):
    """Llama; SmolLM and SmolLM2 are Llamas by name."""

    name = "llama"
    types: tuple[str, ...] = ("llama", "mistral", "qwen2", "qwen3", "smollm3")
    anchor = "layers.0.self_attn.q_proj.weight"
    order, causal, positions = "pre", True, "rotary"

    at = "layers.{}"
    attention = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj")
    norm_names = ("input_layernorm", "post_attention_layernorm")
    epsilon = ("rms_norm_eps", 1e-6)
    norm_kind = "rms"
    last_norm = "norm"

    def head_norms(self, layer: int) -> tuple[Norm | None, Norm | None]:
        """The norms of queries and keys, as Qwen 3 has them."""
        at = f"{self.place(layer)}.self_attn"
        if not self.has(f"{at}.q_norm.weight"):
            return None, None
        return self.norm(f"{at}.q_norm", self.head_dim), self.norm(f"{at}.k_norm", self.head_dim)

    def feedforward(self, layer: int) -> Feedforward | Experts:
        """The feed-forward of a layer, with a gate."""
        at = f"{self.place(layer)}.mlp"
        return self.gated(*(f"{at}.{name}_proj" for name in ("gate", "up", "down")))

    def gated(self, *names: str) -> Feedforward:
        """A feed-forward by the names of its gate, up and down."""
        gate, up, down = (self.linear(name) for name in names)
        sigma = str(self.config.get("hidden_act") or self.config.get("hidden_activation") or "silu")
        return Feedforward("gated", up.weight, down.weight, gate.weight, up.bias, down.bias, gate.bias, sigma)

    def rotary(self, layer: int) -> Rotary | None:
        """How queries and keys turn with their position."""
        turns = self.config.get("no_rope_layers")  # SmolLM 3: 0 where a layer has no positions
        if isinstance(turns, list) and layer < len(turns) and not turns[layer]:
            return None
        return rotary.from_config(self.config, self.head_dim)

    def window(self, layer: int) -> int | None:
        """How many tokens a causal one sees."""
        width = self.config.get("sliding_window")
        kinds = self.config.get("layer_types")
        if isinstance(kinds, list) and layer < len(kinds):
            return width if kinds[layer] == "sliding_attention" else None
        if self.config.get("model_type") in ("mistral", "mixtral", "phi3", "gpt_oss"):
            return width
        # Of Qwen 2 only later layers look through a window, and only if it says so.
        later = layer >= self.config.get("max_window_layers", 0)
        return width if self.config.get("use_sliding_window") and later else None

    def embeddings(self) -> dict[str, Any]:
        """The table of words; there is none of positions."""
        return {**NO_EMBEDDINGS, "word": self.tensor("embed_tokens.weight", (None, self.dim))}
