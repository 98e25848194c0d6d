"""BERT and its kin: encoders with the norm after each part (MiniLM is a BERT; ALBERT repeats one block)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from tokenflock.networks.family import Family, Linear
from tokenflock.networks.layer import Feedforward, Norm
from tokenflock.networks.tensors import Tensors


class Bert(Family):
    """BERT, and what keeps its names."""

    name = "bert"
    types: tuple[str, ...] = ("bert", "electra")
    anchor = "encoder.layer.0.attention.self.query.weight"

    def __init__(self, config: Mapping[str, Any], tensors: Tensors, dtype: DTypeLike = np.float64) -> None:
        super().__init__(config, tensors, dtype)
        self.eps = self.small("layer_norm_eps", 1e-12)
        self.causal = bool(config.get("is_decoder", False))
        kind = config.get("position_embedding_type") or "absolute"
        self.positions = "learned" if kind == "absolute" else str(kind)  # old BERTs had other kinds
        self.padding = 0  # rows of the table of positions before the first

    def projections(self, layer: int) -> dict[str, Linear]:
        at = f"encoder.layer.{layer}.attention"
        found = {name: self.linear(f"{at}.self.{name}") for name in ("query", "key", "value")}
        return {**found, "output": self.linear(f"{at}.output.dense")}

    def norms(self, layer: int) -> tuple[Norm, Norm]:
        at = f"encoder.layer.{layer}"
        return self.norm(f"{at}.attention.output.LayerNorm", self.eps), self.norm(f"{at}.output.LayerNorm", self.eps)

    def feedforward(self, layer: int) -> Feedforward:
        at = f"encoder.layer.{layer}"
        return self.mlp(f"{at}.intermediate.dense", f"{at}.output.dense", str(self.config.get("hidden_act", "gelu")))

    def embeddings(self) -> dict[str, Any]:
        return self.tables("embeddings_project")

    def embedding_norm(self) -> Norm:
        size = self.tensors.shape(f"{self.prefix}embeddings.word_embeddings.weight")[-1]
        return self.norm("embeddings.LayerNorm", self.eps, size=size)

    def tables(self, mapping: str) -> dict[str, Any]:
        """The tables of embeddings and the map from their size to the hidden one, if they differ."""
        word = self.tensor("embeddings.word_embeddings.weight", (None, None))
        size = word.shape[1]
        types = "embeddings.token_type_embeddings.weight"
        factor = self.linear(mapping) if self.has(f"{mapping}.weight") else None
        return {
            "word": word,
            "position": self.tensor("embeddings.position_embeddings.weight", (None, size)),
            "type": self.tensor(types, (None, size)) if self.has(types) else None,
            "norm": self.embedding_norm(),
            "map": factor and factor.weight,
            "map_bias": factor and factor.bias,
            "offset": self.padding,
        }


class Roberta(Bert):
    """RoBERTa: BERT whose positions are counted from behind the padding token's."""

    name = "roberta"
    types = ("roberta", "xlm-roberta", "camembert")

    def __init__(self, config: Mapping[str, Any], tensors: Tensors, dtype: DTypeLike = np.float64) -> None:
        super().__init__(config, tensors, dtype)
        self.padding = 1 + self.whole("pad_token_id", default=1, least=0)


class Albert(Bert):
    """ALBERT: groups of layers that share one block; in practice one group, so that all layers are the same."""

    name = "albert"
    types = ("albert",)
    anchor = "encoder.albert_layer_groups.0.albert_layers.0.attention.query.weight"
    shared = True

    def __init__(self, config: Mapping[str, Any], tensors: Tensors, dtype: DTypeLike = np.float64) -> None:
        super().__init__(config, tensors, dtype)
        self.outer = self.n_layers
        self.inner = self.whole("inner_group_num", default=1)
        self.groups = self.whole("num_hidden_groups", default=1)
        self.n_layers = self.outer * self.inner
        self.shared = self.groups * self.inner < self.n_layers

    def block(self, layer: int) -> tuple[int, int]:
        """Group and place in it of a layer."""
        outer, inner = divmod(layer, self.inner)
        return outer * self.groups // self.outer, inner

    def blocks(self) -> list[int]:
        first: dict[tuple[int, int], int] = {}
        for l in range(self.n_layers):
            first.setdefault(self.block(l), l)
        return list(first.values())

    def _at(self, layer: int) -> str:
        group, inner = self.block(layer)
        return f"encoder.albert_layer_groups.{group}.albert_layers.{inner}"

    def projections(self, layer: int) -> dict[str, Linear]:
        at = f"{self._at(layer)}.attention"
        found = {name: self.linear(f"{at}.{name}") for name in ("query", "key", "value")}
        return {**found, "output": self.linear(f"{at}.dense")}

    def norms(self, layer: int) -> tuple[Norm, Norm]:
        at = self._at(layer)
        return self.norm(f"{at}.attention.LayerNorm", self.eps), self.norm(f"{at}.full_layer_layer_norm", self.eps)

    def feedforward(self, layer: int) -> Feedforward:
        at = self._at(layer)
        return self.mlp(f"{at}.ffn", f"{at}.ffn_output", str(self.config.get("hidden_act", "gelu_new")))

    def embeddings(self) -> dict[str, Any]:
        return self.tables("encoder.embedding_hidden_mapping_in")


class DistilBert(Bert):
    """DistilBERT: the same block under other names, and no types of tokens."""

    name = "distilbert"
    types = ("distilbert",)
    anchor = "transformer.layer.0.attention.q_lin.weight"

    def projections(self, layer: int) -> dict[str, Linear]:
        at = f"transformer.layer.{layer}.attention"
        names = {"query": "q_lin", "key": "k_lin", "value": "v_lin", "output": "out_lin"}
        return {name: self.linear(f"{at}.{short}") for name, short in names.items()}

    def norms(self, layer: int) -> tuple[Norm, Norm]:
        at = f"transformer.layer.{layer}"
        return self.norm(f"{at}.sa_layer_norm", self.eps), self.norm(f"{at}.output_layer_norm", self.eps)

    def feedforward(self, layer: int) -> Feedforward:
        at = f"transformer.layer.{layer}.ffn"
        return self.mlp(f"{at}.lin1", f"{at}.lin2", str(self.config.get("activation", "gelu")))
