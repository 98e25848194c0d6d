"""Vision transformers: patches of an image as tokens, all seeing all, the norm before each part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from tokenflock.networks.family import Family, Linear
from tokenflock.networks.layer import Feedforward, Norm
from tokenflock.networks.tensors import Tensors


class Vit(Family):
    """ViT, and DeiT, which has one more token before the patches."""

    name = "vit"
    types = ("vit", "deit")
    anchor = "encoder.layer.0.attention.attention.query.weight"
    order = "pre"

    def __init__(self, config: Mapping[str, Any], tensors: Tensors, dtype: DTypeLike = np.float64) -> None:
        super().__init__(config, tensors, dtype)
        self.eps = self.small("layer_norm_eps", 1e-12)

    def projections(self, layer: int) -> dict[str, Linear]:
        at = f"encoder.layer.{layer}.attention"
        found = {name: self.linear(f"{at}.attention.{name}") for name in ("query", "key", "value")}
        return {**found, "output": self.linear(f"{at}.output.dense")}

    def norms(self, layer: int) -> tuple[Norm, Norm]:
        at = f"encoder.layer.{layer}"
        return self.norm(f"{at}.layernorm_before", self.eps), self.norm(f"{at}.layernorm_after", self.eps)

    def feedforward(self, layer: int) -> Feedforward:
        at = f"encoder.layer.{layer}"
        return self.mlp(f"{at}.intermediate.dense", f"{at}.output.dense", str(self.config.get("hidden_act", "gelu")))

    def embeddings(self) -> dict[str, Any]:
        names = ("embeddings.cls_token", "embeddings.distillation_token")
        first = [self.tensor(name, (1, 1, self.dim))[0] for name in names if self.has(name)]
        return {
            "patch": self.tensor("embeddings.patch_embeddings.projection.weight", (self.dim, None, None, None)),
            "patch_bias": self.tensor("embeddings.patch_embeddings.projection.bias", (self.dim,)),
            "first": np.concatenate(first),
            "position": self.tensor("embeddings.position_embeddings", (1, None, self.dim))[0],
            "norm": None,
            "offset": 0,
        }

    def final_norm(self) -> Norm | None:
        return self.norm("layernorm", self.eps)
