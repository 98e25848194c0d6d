"""What every family of networks has in common: sizes from config.json, tensors by name, heads cut out of matrices.

A family is a class in its own file that says where its tensors are; `Family.layer` puts them into one form.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from tokenflock.errors import FileError
from tokenflock.networks.layer import Array, Experts, Feedforward, Layer, Norm
from tokenflock.networks.rotary import Rotary
from tokenflock.networks.tensors import Config, Tensors

LARGEST = 10**7  # of any size in a config.json: a damaged one could ask for all of the memory


class Linear(NamedTuple):
    """A linear map: weight (out, in), bias (out,) or None."""

    weight: Array
    bias: Array | None


#: what makes tokens of words, where a family has none of it: see `Network.embeddings`
NO_EMBEDDINGS: dict[str, Any] = {**dict.fromkeys(("word", "position", "type", "norm", "map", "map_bias")), "offset": 0}


class Family:
    """One network: how many layers and heads, and its layers one at a time.

    A family says by names where its tensors are, and has methods of its own for what is not a matter of names.
    """

    name = ""
    types: tuple[str, ...] = ()  #: values of model_type in config.json
    anchor = ""  #: how the name of one tensor of layer 0 ends; what stands before it is the prefix of all names
    order, causal, parallel, positions = "post", False, False, "learned"
    shared = False  #: whether layers use the same weights
    at = ""  #: where the tensors of layer {} stand
    attention: tuple[str, ...] = ()  #: query, key, value and output, after that
    norm_names: tuple[str, str] = ("", "")  #: of attention and of the feed-forward
    mlp_names: tuple[str, str] = ("", "")  #: of the feed-forward: up and down
    activation: tuple[str, str] = ("hidden_act", "gelu")  #: its name in config.json, and what it is if not there
    epsilon: tuple[str, float] = ("layer_norm_eps", 1e-12)  #: likewise
    norm_kind = "layer"
    last_norm = ""  #: after the last layer; "": none

    def __init__(self, config: Config, tensors: Tensors, dtype: DTypeLike = np.float64) -> None:
        self.config, self.tensors, self.dtype = config, tensors, np.dtype(dtype)
        self.prefix = prefix(tensors, self.anchor) or ""
        self.n_layers = self.whole("num_hidden_layers", "n_layer", "n_layers")
        self.n_heads = self.whole("num_attention_heads", "n_head", "n_heads")
        self.dim = self.whole("hidden_size", "n_embd", "dim")
        self.n_groups = self.whole("num_key_value_heads", default=self.n_heads)
        self.head_dim = self.whole("head_dim", default=self.dim // self.n_heads)
        if (self.dim % self.n_heads and not config.get("head_dim")) or self.n_heads % self.n_groups:
            raise self.wrong(
                f"{self.n_heads} heads and {self.n_groups} groups of keys do not divide hidden size {self.dim} evenly"
            )
        last = self.prefix + self.anchor.replace("0", str(self.n_layers - 1), 1)
        if not self.shared and last not in self.tensors:
            raise self.wrong(f"its config.json says {self.n_layers} layers, and there is no tensor {last!r}")
        self.eps = self.small(*self.epsilon)
        self.prepare()

    def prepare(self) -> None:
        """What a family does once the sizes are known."""

    def place(self, layer: int) -> str:
        """Where the tensors of a layer stand."""
        return self.at.format(layer)

    def projections(self, layer: int) -> dict[str, Linear]:
        """query (H k, d), key and value (G k, d), output (d, H k)."""
        named = zip(("query", "key", "value", "output"), self.attention, strict=True)
        return {name: self.linear(f"{self.place(layer)}.{part}") for name, part in named}

    def packed(self, layer: int, weights: Iterable[Array], biases: Iterable[Array] | None) -> dict[str, Linear]:
        """The projections of a family whose queries, keys and values stand in one matrix; here they come one by one."""
        found = zip(("query", "key", "value"), weights, [None] * 3 if biases is None else biases, strict=True)
        output = self.linear(f"{self.place(layer)}.{self.attention[-1]}")
        return {**{name: Linear(w, b) for name, w, b in found}, "output": output}

    def norms(self, layer: int) -> tuple[Norm, Norm]:
        """The norms of attention and of the feed-forward."""
        first, second = (self.norm(f"{self.place(layer)}.{name}") for name in self.norm_names)
        return first, second

    def feedforward(self, layer: int) -> Feedforward | Experts:
        """The feed-forward of a layer: two linear maps."""
        up, down = (self.linear(f"{self.place(layer)}.{name}") for name in self.mlp_names)
        key, usual = self.activation
        sigma = str(self.config.get(key, usual))
        return Feedforward("mlp", up.weight, down.weight, None, up.bias, down.bias, None, sigma)

    def embeddings(self) -> dict[str, Any]:
        """What makes tokens of words: see `Network.embeddings`."""
        raise NotImplementedError

    def embedding_norm(self) -> Norm | None:
        """The norm of the embeddings, before they are mapped to the hidden size."""
        return None

    def final_norm(self) -> Norm | None:
        """The norm after the last layer."""
        return self.norm(self.last_norm) if self.last_norm else None

    def scale(self, layer: int) -> float:
        """The factor of the logits."""
        return float(self.head_dim**-0.5)

    def rotary(self, layer: int) -> Rotary | None:
        """How queries and keys turn with their position."""
        return None

    def window(self, layer: int) -> int | None:
        """How many tokens a causal one sees."""
        return None

    def head_norms(self, layer: int) -> tuple[Norm | None, Norm | None]:
        """The norms of queries and keys."""
        return None, None

    def more(self, layer: int) -> dict[str, Any]:
        """What rare families have besides: cap, sink, attention_after, feedforward_after of `Layer`."""
        return {}

    def blocks(self) -> list[int]:
        """One layer for each set of weights."""
        return list(range(self.n_layers))

    def layer(self, layer: int, feedforward: bool = True) -> Layer:
        """One block; without its feed-forward, which is most of the numbers, if that is not asked for."""
        parts = self.projections(layer)
        H, G, k, d = self.n_heads, self.n_groups, self.head_dim, self.dim
        rows = {"query": H, "key": G, "value": G}
        split: dict[str, Any] = {}
        for name, count in rows.items():
            weight, bias = parts[name]
            if weight.shape != (count * k, d):
                raise self.wrong(f"the {name} of layer {layer} has shape {weight.shape} where {(count * k, d)} belongs")
            heads = weight.reshape(count, k, d)
            split[name] = heads if count == H else np.repeat(heads, H // G, axis=0)
            biases = None if bias is None else bias.reshape(count, k)
            split[f"{name}_bias"] = biases if biases is None or count == H else np.repeat(biases, H // G, axis=0)
        output, bias = parts["output"]
        if output.shape != (d, H * k):
            raise self.wrong(f"the output of layer {layer} has shape {output.shape} where {(d, H * k)} belongs")
        first, second = self.norms(layer)
        query_norm, key_norm = self.head_norms(layer)
        return Layer(
            **split,
            output=output.reshape(d, H, k).transpose(1, 0, 2),
            output_bias=bias,
            n_groups=G,
            scale=self.scale(layer),
            causal=self.causal,
            window=self.window(layer),
            order=self.order,
            parallel=self.parallel,
            attention_norm=first,
            feedforward_norm=second,
            feedforward=self.feedforward(layer) if feedforward else None,
            rotary=self.rotary(layer),
            query_norm=query_norm,
            key_norm=key_norm,
            **self.more(layer),
        )

    def wrong(self, what: str) -> FileError:
        """An error about this file."""
        return FileError(f"{self.tensors.where!r}: {what}. Fetch it again, or ask whoever made it.")

    def whole(self, *names: str, default: int | None = None, least: int = 1) -> int:
        """An integer of config.json, under the first of these names that is there."""
        found = next((self.config[name] for name in names if self.config.get(name) is not None), default)
        if type(found) is not int or not least <= found <= LARGEST:
            raise self.wrong(
                f"{names[0]} = {found!r} in its config.json. Allowed: an integer >= {least}, at most {LARGEST:,}"
            )
        return found

    def small(self, name: str, default: float) -> float:
        """A number of config.json that keeps a norm from dividing by 0."""
        found = self.config.get(name)
        found = default if found is None else found
        if type(found) not in (int, float) or not 0 <= found < 1:
            raise self.wrong(f"{name} = {found!r} in its config.json. Allowed: a number >= 0, below 1")
        return float(found)

    def has(self, name: str) -> bool:
        """Whether there is such a tensor."""
        return self.prefix + name in self.tensors

    def tensor(self, name: str, shape: tuple[int | None, ...] | None = None) -> Array:
        """A tensor as real numbers, finite and of the shape that is wanted; None in a shape: any."""
        full = self.prefix + name
        if full not in self.tensors:
            near = ", ".join(sorted(self.tensors)[:3])
            raise self.wrong(
                f"there is no tensor {full!r}, as in every {self.name!r} network; there are {near} and more"
            )
        found = self.tensors.shape(full)
        if shape is not None and (
            len(found) != len(shape) or any(w is not None and w != f for f, w in zip(found, shape, strict=True))
        ):
            raise self.wrong(f"tensor {full!r} has shape {found} where {shape} belongs by config.json")
        array = np.asarray(self.tensors[full], dtype=self.dtype)
        if not np.isfinite(array).all():
            raise self.wrong(f"tensor {full!r} holds nan or inf")
        return array

    def linear(self, name: str) -> Linear:
        """name.weight and, if there is one, name.bias."""
        weight = self.tensor(f"{name}.weight", (None, None))
        bias = self.tensor(f"{name}.bias", (len(weight),)) if self.has(f"{name}.bias") else None
        return Linear(weight, bias)

    def norm(self, name: str, size: int | None = None) -> Norm:
        """name.weight and name.bias; old files call them gamma and beta."""
        new = self.has(f"{name}.weight") or not self.has(f"{name}.gamma")
        gain, shift = (f"{name}.weight", f"{name}.bias") if new else (f"{name}.gamma", f"{name}.beta")
        weight = self.tensor(gain, (size or self.dim,))
        bias = self.tensor(shift, weight.shape) if self.has(shift) else None
        return Norm(self.norm_kind, weight, bias, self.eps)


def prefix(tensors: Tensors, anchor: str) -> str | None:
    """What stands before the anchor in names, the shortest; None without it."""
    found = [name.removesuffix(anchor) for name in tensors if name.endswith(anchor)]
    return min((p for p in found if not p or p.endswith(".")), key=len, default=None)
