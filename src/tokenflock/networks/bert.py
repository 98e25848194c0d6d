"""BERT and its kin: encoders with the norm after each part (MiniLM is a BERT; ALBERT repeats one block)."""

from __future__ import annotations

from typing import Any

from tokenflock.networks.family import Family
from tokenflock.networks.layer import Norm


class Bert(Family):
    """BERT, and what keeps its names."""

    name = "bert"
    types: tuple[str, ...] = ("bert", "electra")
    anchor = "encoder.layer.0.attention.self.query.weight"
    at = "encoder.layer.{}"
    attention = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
    norm_names = ("attention.output.LayerNorm", "output.LayerNorm")
    mlp_names = ("intermediate.dense", "output.dense")
    mapping = "embeddings_project"  #: from the size of the embeddings to the hidden one

    def prepare(self) -> None:
        """What config.json says besides sizes."""
        self.causal = bool(self.config.get("is_decoder", False))
        kind = self.config.get("position_embedding_type") or "absolute"
        self.positions = "learned" if kind == "absolute" else str(kind)  # old BERTs had other kinds
        self.padding = 0  # rows of the table of positions before the first

    def embedding_norm(self) -> Norm:
        """The norm of the embeddings, before they are mapped to the hidden size."""
        size = self.tensors.shape(f"{self.prefix}embeddings.word_embeddings.weight")[-1]
        return self.norm("embeddings.LayerNorm", size)

    def embeddings(self) -> dict[str, Any]:
        """The tables of embeddings and the map from their size to the hidden one, if they differ."""
        word = self.tensor("embeddings.word_embeddings.weight", (None, None))
        size = word.shape[1]
        types = "embeddings.token_type_embeddings.weight"
        factor = self.linear(self.mapping) if self.has(f"{self.mapping}.weight") else None
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

    def prepare(self) -> None:
        """What config.json says besides sizes."""
        super().prepare()
        self.padding = 1 + self.whole("pad_token_id", default=1, least=0)


class Albert(Bert):
    """ALBERT: groups of layers that share one block; in practice one group, so that all layers are the same."""

    name = "albert"
    types = ("albert",)
    anchor = "encoder.albert_layer_groups.0.albert_layers.0.attention.query.weight"
    shared = True
    at = "encoder.albert_layer_groups.{}.albert_layers.{}"
    attention = ("attention.query", "attention.key", "attention.value", "attention.dense")
    norm_names = ("attention.LayerNorm", "full_layer_layer_norm")
    mlp_names = ("ffn", "ffn_output")
    activation = ("hidden_act", "gelu_new")
    mapping = "encoder.embedding_hidden_mapping_in"

    def prepare(self) -> None:
        """What config.json says besides sizes."""
        super().prepare()
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
        """One layer for each set of weights."""
        first: dict[tuple[int, int], int] = {}
        for l in range(self.n_layers):
            first.setdefault(self.block(l), l)
        return list(first.values())

    def place(self, layer: int) -> str:
        """Where the tensors of a layer stand."""
        return self.at.format(*self.block(layer))


class DistilBert(Bert):
    """DistilBERT: the same block under other names, and no types of tokens."""

    name = "distilbert"
    types = ("distilbert",)
    anchor = "transformer.layer.0.attention.q_lin.weight"
    at = "transformer.layer.{}"
    attention = ("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin")
    norm_names = ("sa_layer_norm", "output_layer_norm")
    mlp_names = ("ffn.lin1", "ffn.lin2")
    activation = ("activation", "gelu")
