"""OPT: a causal decoder with learned positions; the norm before each part, or after it in the one of 350M."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from tokenflock.networks.family import Family, Linear
from tokenflock.networks.layer import Feedforward, Norm
from tokenflock.networks.tensors import Tensors

EPS = 1e-5  # of torch's layer norm: OPT's configuration does not have it
FIRST = 2  # rows of the table of positions before the first token's


class Opt(Family):
    """OPT."""

    name = "opt"
    types = ("opt",)
    anchor = "decoder.layers.0.self_attn.q_proj.weight"
    causal = True

    def __init__(self, config: Mapping[str, Any], tensors: Tensors, dtype: DTypeLike = np.float64) -> None:
        super().__init__(config, tensors, dtype)
        self.order = "pre" if config.get("do_layer_norm_before", True) else "post"

    def projections(self, layer: int) -> dict[str, Linear]:
        at = f"decoder.layers.{layer}.self_attn"
        names = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
        return {name: self.linear(f"{at}.{short}") for name, short in names.items()}

    def norms(self, layer: int) -> tuple[Norm, Norm]:
        at = f"decoder.layers.{layer}"
        return self._norm(f"{at}.self_attn_layer_norm"), self._norm(f"{at}.final_layer_norm")

    def feedforward(self, layer: int) -> Feedforward:
        at = f"decoder.layers.{layer}"
        return self.mlp(f"{at}.fc1", f"{at}.fc2", str(self.config.get("activation_function", "relu")))

    def embeddings(self) -> dict[str, Any]:
        mapping = "decoder.project_in.weight"
        return {
            "word": self.tensor("decoder.embed_tokens.weight", (None, None)),
            "position": self.tensor("decoder.embed_positions.weight", (None, self.dim)),
            "type": None,
            "norm": None,
            # Unlike in ALBERT, only words go through the map: positions have the hidden size.
            "map": self.tensor(mapping, (self.dim, None)) if self.has(mapping) else None,
            "map_bias": None,
            "offset": FIRST,
        }

    def final_norm(self) -> Norm | None:
        return self._norm("decoder.final_layer_norm") if self.has("decoder.final_layer_norm.weight") else None

    def _norm(self, name: str) -> Norm:
        if not self.has(f"{name}.weight") and self.config.get("layer_norm_elementwise_affine") is False:
            return Norm("layer", np.ones(self.dim, self.dtype), None, EPS)
        return self.norm(name, EPS)
