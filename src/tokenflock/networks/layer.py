"""One transformer block as arrays, in the same form whatever the family of the network it comes from.

With y what attention reads, the token x or, if the order is "pre", attention_norm(x), head h is

    logits   s_ij = scale <R_i (query[h] y_i + query_bias[h]), R_j (key[h] y_j + key_bias[h])>
    writes   sum_j A_ij output[h] (value[h] y_j + value_bias[h]),   and output_bias once for all heads

where R is the rotary turn, if there is one. Matrices act on column vectors: query[h] is (k, d), output[h] is (d, k).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.arguments import named, real, scalar
from tokenflock.errors import bad
from tokenflock.networks.rotary import Rotary

Array = NDArray[Any]


@dataclass(frozen=True)
class Norm:
    """A layer norm, weight (x - mean) / sqrt(var + eps) + bias, or without the mean: kind "rms"."""

    kind: str  #: "layer" or "rms"
    weight: Array  #: (d,)
    bias: Array | None
    eps: float

    def __post_init__(self) -> None:
        named("kind of norm", self.kind, ("layer", "rms"))
        scalar("eps", self.eps, "a number >= 0", lambda v: v >= 0)
        for name, given in (("weight", self.weight), ("bias", self.bias)):
            if given is not None and real(name, given, "finite numbers (d,)").ndim != 1:
                raise bad(name, given, "finite numbers (d,)")

    def __call__(self, x: Array) -> Array:
        """The norm of vectors on the last axis."""
        if getattr(x, "dtype", None) not in (np.float32, np.float64) or x.shape[-1:] != self.weight.shape:
            x = real("x", x, f"finite numbers (..., {len(self.weight)})")
            if x.shape[-1:] != self.weight.shape:
                raise bad("x.shape", x.shape, f"(..., {len(self.weight)})")
        if self.kind == "layer":
            x = x - x.mean(axis=-1, keepdims=True)
        y = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.eps) * self.weight
        return np.asarray(y if self.bias is None else y + self.bias)


@dataclass(frozen=True)
class Feedforward:
    """down sigma(up x) with biases; gated: down (sigma(gate x) * (up x))."""

    kind: str  #: "mlp" or "gated"
    up: Array  #: (m, d)
    down: Array  #: (d, m)
    gate: Array | None
    up_bias: Array | None
    down_bias: Array | None
    gate_bias: Array | None
    activation: str  #: Hugging Face's name of sigma: gelu, gelu_new, relu, silu, ...
    limit: float | None = None  #: gated: sigma(min(gate x, limit)) * (1 + up x cut to +-limit), as gpt-oss has it


@dataclass(frozen=True)
class Experts:
    """A mixture: of every token the `top` experts of largest router x + bias, weighed by softmax of these logits.

    normalised: the weights of those chosen add up to 1; else they are what the softmax over all experts gives them.
    """

    router: Array  #: (E, d)
    router_bias: Array | None
    top: int
    normalised: bool
    expert: Callable[[int], Feedforward]  #: reads one

    @property
    def n_experts(self) -> int:
        """E, the number of experts."""
        return len(self.router)


@dataclass(frozen=True)
class Layer:
    """Everything of one block. Heads that share keys and values (n_groups < n_heads) have them repeated."""

    query: Array  #: (H, k, d)
    key: Array  #: (H, k, d)
    value: Array  #: (H, k, d)
    output: Array  #: (H, d, k)
    query_bias: Array | None  #: (H, k)
    key_bias: Array | None
    value_bias: Array | None
    output_bias: Array | None  #: (d,)
    n_groups: int  #: how many different keys and values
    scale: float  #: of the logits: 1 / sqrt(k) but for rare models
    causal: bool
    window: int | None  #: tokens that a causal token sees, itself included; None: all before it
    order: str  #: "post": x <- norm(x + attention(x)), "pre": x <- x + attention(norm(x))
    parallel: bool  #: pre only: feed-forward reads the same x as attention, and both are added
    attention_norm: Norm
    feedforward_norm: Norm | None  #: None if the feed-forward was not asked for
    feedforward: Feedforward | Experts | None
    rotary: Rotary | None
    query_norm: Norm | None = None  #: of every head's k numbers, before the rotary turn
    key_norm: Norm | None = None
    cap: float | None = None  #: logits s become cap tanh(s / cap)
    sink: Array | None = None  #: (H,) a logit more in every row, whose weight goes nowhere
    attention_after: Norm | None = None  #: of what attention writes, before it is added
    feedforward_after: Norm | None = None

    @property
    def n_heads(self) -> int:
        """H, the number of heads."""
        return int(self.query.shape[0])

    @property
    def head_dim(self) -> int:
        """k, the dimension of a head."""
        return int(self.query.shape[1])

    @property
    def dim(self) -> int:
        """d, the hidden size."""
        return int(self.query.shape[2])
