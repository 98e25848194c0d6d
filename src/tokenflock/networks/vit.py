"""Vision transformers: patches of an image as tokens, all seeing all, the norm before each part."""

from __future__ import annotations

from typing import Any

import numpy as np

from tokenflock.networks.family import Family


class Vit(Family):
    """ViT, and DeiT, which has one more token before the patches."""

    name = "vit"
    types = ("vit", "deit")
    anchor = "encoder.layer.0.attention.attention.query.weight"
    order = "pre"
    at = "encoder.layer.{}"
    attention = (
        *(f"attention.attention.{name}" for name in ("query", "key", "value")),
        "attention.output.dense",
    )
    norm_names = ("layernorm_before", "layernorm_after")
    mlp_names = ("intermediate.dense", "output.dense")
    last_norm = "layernorm"

    def embeddings(self) -> dict[str, Any]:
        """Patches, the tokens before them, and positions."""
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
