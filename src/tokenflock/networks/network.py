"""A trained network: what it is, and its layers one at a time, never all of it in memory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from tokenflock.arguments import flag, instance, named, whole
from tokenflock.errors import FileError, bad
from tokenflock.networks.bert import Albert, Bert, DistilBert, Roberta
from tokenflock.networks.experts import GptOss, Mixtral
from tokenflock.networks.family import Family, prefix
from tokenflock.networks.gemma import Gemma
from tokenflock.networks.gpt2 import Gpt2
from tokenflock.networks.layer import Array, Layer, Norm
from tokenflock.networks.llama import Llama
from tokenflock.networks.neox import NeoX
from tokenflock.networks.opt import Opt
from tokenflock.networks.phi import Phi3
from tokenflock.networks.place import open_place
from tokenflock.networks.source import Source
from tokenflock.networks.vit import Vit

FAMILIES: tuple[type[Family], ...] = (
    *(Albert, Bert, Roberta, DistilBert, Gpt2, NeoX, Opt),
    *(Llama, Gemma, Mixtral, GptOss, Phi3, Vit),
)
#: what cannot be read, and why
REFUSED = {
    **dict.fromkeys(
        ("deepseek_v2", "deepseek_v3", "kimi_k2"),
        "keys and values come through a norm inside of the layer (latent attention), which is another factor for every "
        "token: no head has a matrix V or Q'K, of which the theory speaks. Its hidden states can be looked at: "
        "flock.trajectory",
    ),
    "gemma3": "it reads images too. Save its language model alone (model.language_model.save_pretrained)",
}


class Network:
    """A network on disk. Layers are read when asked for; arrays have the dtype given to `read`."""

    def __init__(self, source: Source, family: Family) -> None:
        self._source, self._family = source, family
        self.name, self.config, self.folder = source.name, dict(source.config), source.folder
        own = source.files[0] if source.files and source.files[0].suffix == ".gguf" else source.folder
        self.words = own  #: where its tokenizer is: the folder, or the .gguf file that carries its vocabulary
        self.family, self.dtype = family.name, family.dtype
        self.n_layers, self.n_heads, self.n_groups = family.n_layers, family.n_heads, family.n_groups
        self.dim, self.head_dim = family.dim, family.head_dim
        self.causal, self.positions = family.causal, family.positions
        self.norm = family.order  #: "post" or "pre"
        self.shared = family.shared

    def __repr__(self) -> str:
        which = "causal" if self.causal else "full"
        return (
            f"<Network {self.name}: {self.family}, {self.n_layers} layers of {self.n_heads} heads, dim {self.dim}, "
            f"{which} attention>"
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the weights."""
        return self._source.digest()

    @property
    def blocks(self) -> list[int]:
        """One layer for each set of weights: all of them, or the first of those that share theirs."""
        return self._family.blocks()

    def layer(self, layer: int, feedforward: bool = True) -> Layer:
        """One block; feedforward=False leaves that part unread."""
        return self._family.layer(self._index(layer), flag("feedforward", feedforward))

    def gain(self, layer: int) -> Array:
        """The weight (d,) of the norm that the tokens came through which attention of this layer reads.

        Its own if the norm stands before; else that of the part before, for the first layer that of the embeddings.
        """
        l = self._index(layer)
        if self.norm == "pre":
            return self._family.norms(l)[0].weight
        if l > 0 or self.shared:
            return self._family.norms(max(l - 1, 0))[1].weight
        norm = self._family.embedding_norm()
        return np.ones(self.dim, self.dtype) if norm is None or len(norm.weight) != self.dim else norm.weight

    def release(self) -> None:
        """Let go of what was read of the file: the memory of this process holds as much as it used to before."""
        self._source.tensors.release()

    def embeddings(self) -> dict[str, Any]:
        """What makes tokens: word (V, e), position (P, e), type (T, e), norm, map (d, e) with map_bias, offset.

        None for what a family has not. offset: the row of `position` that the first token takes. Networks of images
        have patch (d, channels, p, p), patch_bias and first (n, d), tokens before the patches, instead of word.
        """
        return self._family.embeddings()

    def final_norm(self) -> Norm | None:
        """The norm after the last layer, if there is one."""
        return self._family.final_norm()

    def _index(self, layer: int) -> int:
        return whole("layer", layer, 0, f"{self.name} has {self.n_layers} layers.", most=self.n_layers - 1)


def read(place: str | Path, *, family: str | None = None, dtype: DTypeLike = np.float64) -> Network:
    """The network at a place: a folder, a file, an archive, or a name on the hub.

    family: refuse others. dtype: of every array it hands out.
    """
    if family is not None:
        instance("family", family, str, "the model_type of a network")
    if isinstance(dtype, str):
        named("dtype", dtype, ("float32", "float64"))
    elif not isinstance(dtype, type | np.dtype) or dtype not in (np.float32, np.float64, float):
        raise bad("dtype", dtype, "float32 or float64")
    source = open_place(place)
    kind = _kind(source)
    if family is not None and kind.name != family:
        raise FileError(f"{source.tensors.where!r} holds a model of type {kind.name!r}. Wanted: {family!r}.")
    return Network(source, kind(source.config, source.tensors, dtype))


def _kind(source: Source) -> type[Family]:
    """The family by model_type; without one, as in old files, by the names of the tensors."""
    said = source.config.get("model_type")
    if said in REFUSED:
        raise FileError(f"{source.tensors.where!r} holds a model of type {said!r}, which is not read: {REFUSED[said]}.")
    fits = [f for f in FAMILIES if (said is None or said in f.types) and prefix(source.tensors, f.anchor) is not None]
    if fits:  # of several, as BERT and RoBERTa, the one that the names begin with
        return next((f for f in fits if (prefix(source.tensors, f.anchor) or "").startswith(f.types)), fits[0])
    known = ", ".join(t for f in FAMILIES for t in f.types)
    found = ", ".join(sorted(source.tensors)[:3])
    if any(said in f.types for f in FAMILIES):
        why = f"has model_type {said!r} in its config.json, but none of that type's tensors"
    else:
        why = f"holds a model of type {said!r}, which is not supported"
    raise FileError(f"{source.tensors.where!r} {why}; it has {found}, ... Supported: {known}.")


def supported() -> Mapping[str, str]:
    """model_type -> family, of all that can be read."""
    return {kind: family.name for family in FAMILIES for kind in family.types}
