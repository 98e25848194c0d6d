"""OPT: a causal decoder with learned positions; the norm before each part, or after it in the one of 350M."""

from __future__ import annotations

from typing import Any

import numpy as np

from tokenflock.networks.family import NO_EMBEDDINGS, Family
from tokenflock.networks.layer import Norm

FIRST = 2  # rows of the table of positions before the first token's


class Opt(Family):
    """OPT."""

    name = "opt"
    types = ("opt",)
    anchor = "decoder.layers.0.self_attn.q_proj.weight"
    causal = True
    at = "decoder.layers.{}"
    attention = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj")
    norm_names = ("self_attn_layer_norm", "final_layer_norm")
    mlp_names = ("fc1", "fc2")
    activation = ("activation_function", "relu")
    epsilon = ("layer_norm_eps", 1e-5)  # that of torch's layer norm: OPT's configuration does not have it
    last_norm = "decoder.final_layer_norm"

    def prepare(self) -> None:
        """What config.json says besides sizes."""
        self.order = "pre" if self.config.get("do_layer_norm_before", True) else "post"

    def embeddings(self) -> dict[str, Any]:
        """Words and positions. Unlike in ALBERT, only words go through the map: positions have the hidden size."""
        mapping = "decoder.project_in.weight"
        word = self.tensor("decoder.embed_tokens.weight", (None, None))
        position = self.tensor("decoder.embed_positions.weight", (None, self.dim))
        factor = self.tensor(mapping, (self.dim, None)) if self.has(mapping) else None
        return {**NO_EMBEDDINGS, "word": word, "position": position, "map": factor, "offset": FIRST}

    def final_norm(self) -> Norm | None:
        """The norm after the last layer, if there is one."""
        return super().final_norm() if self.has(f"{self.last_norm}.weight") else None

    def norm(self, name: str, size: int | None = None) -> Norm:
        """A layer norm; in some files without a gain and a bias."""
        if not self.has(f"{name}.weight") and self.config.get("layer_norm_elementwise_affine") is False:
            return Norm("layer", np.ones(self.dim, self.dtype), None, self.eps)
        return super().norm(name, size)
