"""One transformer block in numpy, and every part of it can be switched off.

    post   h <- N1(h + A(h)),       h <- N2(h + F(h))                           BERT, ALBERT
    pre    h <- h + A(N1(h)),       h <- h + F(N2(h))                           GPT-2, Llama, ViT
    parallel                        h <- h + A(N1(h)) + F(N2(h))                Pythia
    pre, with norms after           h <- h + N(A(N1(h))), ...                   Gemma 2 and 3

A is attention with all its heads (see `networks.layer`), F the feed-forward, N1 and N2 the norms. What is computed is
what transformers computes, to rounding: tests hold it to that for every family that `networks` reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tokenflock import masks
from tokenflock.arguments import flag, instance, is_whole, named, room, whole
from tokenflock.errors import EngineError, bad
from tokenflock.geometry import Array
from tokenflock.networks.layer import Experts, Feedforward, Layer, Norm
from tokenflock.options import Window, matrix
from tokenflock.sphere import retract

NORMS = ("model", "sphere", "none")


@dataclass(frozen=True)
class Parts:
    """What of a block is in force. The default is all of it: the model itself."""

    attention: bool = True
    feedforward: bool = True
    bias: bool = True  #: of queries, keys, values, outputs and feed-forward
    rotary: bool = True
    #: "model"; "sphere": every token back to one length, no mean, no bias, and after a block no gain; "none"
    norm: str = "model"
    heads: tuple[int, ...] | None = None  #: None: all

    def __post_init__(self) -> None:
        named("norm", self.norm, NORMS)
        for name in ("attention", "feedforward", "bias", "rotary"):
            flag(name, getattr(self, name))
        if self.heads is not None:
            given: Any = self.heads
            heads = given if isinstance(given, tuple | list | np.ndarray) and np.ndim(given) == 1 else ()
            if not len(heads) or not all(is_whole(h) and h >= 0 for h in heads):
                raise bad("heads", self.heads, "some numbers of heads, from 0")
            object.__setattr__(self, "heads", tuple(int(h) for h in heads))
        if not self.attention and not self.feedforward:
            raise bad("Parts", "no attention and no feed-forward", "at least one of them", "Nothing would move.")


ALL = Parts()


def block(layer: Layer, h: Array, parts: Parts = ALL) -> tuple[Array, Array | None]:
    """Hidden states (n, d) after one block, and the weights of its attention (H, n, n); None without attention."""
    h = _given(layer, h, parts, "h")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        moved, weights = _blocked(layer, h, parts)
    return _finite(moved, "h"), weights


def _blocked(layer: Layer, h: Array, parts: Parts) -> tuple[Array, Array | None]:
    weights = None
    if layer.order == "pre" and layer.parallel:
        update = np.zeros_like(h)
        if parts.attention:
            update, weights = _attended(layer, _before(layer.attention_norm, h, parts), parts)
        if parts.feedforward:
            update = update + _added(layer, _before(_second(layer), h, parts), parts)
        return h + update, weights
    if layer.order == "pre":
        if parts.attention:
            update, weights = _attended(layer, _before(layer.attention_norm, h, parts), parts)
            h = h + update
        if parts.feedforward:
            h = h + _added(layer, _before(_second(layer), h, parts), parts)
        return h, weights
    if parts.attention:
        update, weights = _attended(layer, h, parts)
        h = _after(layer.attention_norm, h + update, parts)
    if parts.feedforward:
        h = _after(_second(layer), h + _forwarded(_forward(layer), h, parts), parts)
    return h, weights


def forwarded(layer: Layer, h: Array, written: Array, parts: Parts = ALL) -> Array:
    """What the feed-forward of a block adds to hidden states h (n, d) to which attention has written."""
    h, written = _given(layer, h, parts, "h"), matrix("written", written, np.shape(h))
    if not parts.feedforward:
        return np.zeros_like(h)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if layer.order == "pre":
            after = h if layer.parallel else h + written
            found = _added(layer, _before(_second(layer), after, parts), parts)
        else:
            found = _forwarded(_forward(layer), _after(layer.attention_norm, h + written, parts), parts)
    return _finite(found, "h")


def _added(layer: Layer, y: Array, parts: Parts) -> Array:
    """What the feed-forward adds to tokens y that are normed already."""
    found = _forwarded(_forward(layer), y, parts)
    return found if layer.feedforward_after is None else _after(layer.feedforward_after, found, parts)


def attention(layer: Layer, y: Array, parts: Parts = ALL) -> tuple[Array, Array]:
    """What attention writes to tokens y (n, d), already normed if the order is pre, and its weights (H, n, n)."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        written, weights = _attended(layer, _given(layer, y, parts, "y"), parts)
    return _finite(written, "y"), weights


def _attended(layer: Layer, y: Array, parts: Parts) -> tuple[Array, Array]:
    heads = _by_head(layer, y, parts)
    written = heads.written.sum(axis=0)
    if parts.bias and layer.output_bias is not None:
        written = written + layer.output_bias
    if layer.attention_after is not None:
        written = _after(layer.attention_after, written, parts)
    return written, heads.weights


class HeadsAtWork(NamedTuple):
    """What the heads of a layer do to tokens (n, d)."""

    query: Array  #: (H, n, k), turned
    key: Array  #: (H, n, k)
    weights: Array  #: (H, n, n)
    written: Array  #: (H, n, d): their sum, with the output's bias, is what attention writes


def by_head(layer: Layer, y: Array, parts: Parts = ALL) -> HeadsAtWork:
    """What every head of attention does to tokens y (n, d), already normed if the order is pre."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = _by_head(layer, _given(layer, y, parts, "y"), parts)
    _finite(found.written, "y")
    return found


def _by_head(layer: Layer, y: Array, parts: Parts) -> HeadsAtWork:
    heads = _chosen(layer, parts)
    q = _project(y, layer.query[heads], layer.query_bias, heads, parts)
    k = _project(y, layer.key[heads], layer.key_bias, heads, parts)
    v = _project(y, layer.value[heads], layer.value_bias, heads, parts)
    if layer.query_norm is not None and layer.key_norm is not None:
        q, k = layer.query_norm(q), layer.key_norm(k)
    if layer.rotary is not None and parts.rotary:
        positions = np.arange(len(y))
        q, k = layer.rotary.turn(q, positions), layer.rotary.turn(k, positions)
    s = layer.scale * (q @ np.swapaxes(k, -1, -2))
    if layer.cap is not None:
        s = layer.cap * np.tanh(s / layer.cap)
    s = np.where(sees(len(y), layer.causal, layer.window), s, -np.inf)
    top = s.max(axis=-1, keepdims=True)
    sink = None if layer.sink is None else layer.sink[heads][:, None, None]
    top = top if sink is None else np.maximum(top, sink)
    weights = np.exp(s - top)
    weights /= weights.sum(axis=-1, keepdims=True) + (0.0 if sink is None else np.exp(sink - top))
    return HeadsAtWork(q, k, weights, (weights @ v) @ np.swapaxes(layer.output[heads], -1, -2))


def sees(n: int, causal: bool, window: int | None) -> np.ndarray:
    """Whether token i sees token j, (n, n)."""
    n = whole("n", n, 1)
    room("n", n, 8 * n)
    flag("causal", causal)
    seen: np.ndarray = masks.sees("full" if not causal else "causal" if window is None else Window(window), n)
    return seen


def feedforward(part: Feedforward | Experts, y: Array, parts: Parts = ALL) -> Array:
    """What the feed-forward adds to tokens y (n, d)."""
    if not isinstance(part, Feedforward | Experts):
        raise bad("part", part, "a networks.Feedforward or networks.Experts", "network.layer(0).feedforward is one.")
    instance("parts", parts, Parts, "block.Parts(...)")
    dim = (part.router if isinstance(part, Experts) else part.up).shape[-1]
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(_forwarded(part, matrix("y", y, (None, dim)), parts), "y")


def _mixed(part: Experts, y: Array, parts: Parts) -> Array:
    """What the experts of each token add, by the weights that the router gives them."""
    s = y @ part.router.T
    s = s if part.router_bias is None or not parts.bias else s + part.router_bias
    shares = np.exp(s - s.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    chosen = np.argsort(-s, axis=-1, kind="stable")[:, : part.top]
    taken = np.zeros_like(shares)
    np.put_along_axis(taken, chosen, np.take_along_axis(shares, chosen, axis=-1), axis=-1)
    taken = taken / taken.sum(axis=-1, keepdims=True) if part.normalised else taken
    found = np.zeros_like(y)
    for e in np.unique(chosen):
        rows = np.flatnonzero((chosen == e).any(axis=-1))
        found[rows] += taken[rows, e, None] * _forwarded(part.expert(int(e)), y[rows], parts)
    return found


def _forwarded(part: Feedforward | Experts, y: Array, parts: Parts) -> Array:
    if isinstance(part, Experts):
        return _mixed(part, y, parts)

    def linear(weight: Array, bias: Array | None, x: Array) -> Array:
        found = x @ weight.T
        return found if bias is None or not parts.bias else found + bias

    sigma = activation(part.activation)
    up = linear(part.up, part.up_bias, y)
    if part.kind == "gated" and part.gate is not None:
        gate = linear(part.gate, part.gate_bias, y)
        if part.limit is not None:
            gate, up = np.minimum(gate, part.limit), 1.0 + np.clip(up, -part.limit, part.limit)
        up = sigma(gate) * up
    else:
        up = sigma(up)
    return linear(part.down, part.down_bias, up)


def length(norm: Norm) -> float:
    """The length of a token after a norm: sqrt(|gain|^2 + |bias|^2) if its coordinates are uncorrelated."""
    instance("norm", norm, Norm, "a networks.Norm", "network.layer(0).attention_norm is one.")
    bias = 0.0 if norm.bias is None else float(norm.bias @ norm.bias)
    return math.sqrt(float(norm.weight @ norm.weight) + bias)


def _before(norm: Norm, h: Array, parts: Parts) -> Array:
    """The norm before a part. Its gain stays on the sphere: it can be read as a part of Q, K and V."""
    if parts.norm == "model":
        return norm(h)
    return h if parts.norm == "none" else math.sqrt(h.shape[-1]) * retract(h) * norm.weight


def _after(norm: Norm, h: Array, parts: Parts) -> Array:
    """The norm after a part. On the sphere its gain is gone, but not the length that it gives to tokens."""
    if parts.norm == "model":
        return norm(h)
    return h if parts.norm == "none" else length(norm) * retract(h)


def _second(layer: Layer) -> Norm:
    if layer.feedforward_norm is None:
        raise bad("layer", "a layer without its feed-forward", "a whole layer", "Read it with feedforward=True.")
    return layer.feedforward_norm


def _forward(layer: Layer) -> Feedforward | Experts:
    if layer.feedforward is None:
        raise bad("layer", "a layer without its feed-forward", "a whole layer", "Read it with feedforward=True.")
    return layer.feedforward


def _chosen(layer: Layer, parts: Parts) -> Any:
    if parts.heads is None:
        return slice(None)
    if not parts.heads or any(not 0 <= h < layer.n_heads for h in parts.heads):
        raise bad("heads", parts.heads, f"some of 0 to {layer.n_heads - 1}")
    return list(parts.heads)


def _project(y: Array, weight: Array, bias: Array | None, heads: Any, parts: Parts) -> Array:
    """(n, d) and (H, k, d) -> (H, n, k)."""
    found = y @ np.swapaxes(weight, -1, -2)
    return found if bias is None or not parts.bias else found + bias[heads][:, None, :]


def activation(name: str) -> Callable[[Array], Array]:
    """sigma by the name that Hugging Face gives it."""
    return ACTIVATIONS[named("activation", name, ACTIVATIONS)]


def _given(layer: Layer, y: Array, parts: Parts, name: str) -> Array:
    """Tokens of a layer, (n, d)."""
    instance("layer", layer, Layer, "a networks.Layer", "network.layer(0) gives one.")
    instance("parts", parts, Parts, "block.Parts(...)")
    return matrix(name, y, (None, layer.dim))


def _finite(found: Array, name: str) -> Array:
    """What a block gives, if its tokens are within the range of float64."""
    if not np.isfinite(found).all():
        raise EngineError(
            f"from these tokens {name} comes out as nan or inf. Give tokens of usual size: "
            "one of length 0 has no norm, and one beyond 1e150 no square."
        )
    return found


def _gelu(u: Array) -> Array:
    from scipy.special import erf

    return np.asarray(0.5 * u * (1 + erf(u / math.sqrt(2))))


def _gelu_tanh(u: Array) -> Array:
    return np.asarray(0.5 * u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3))))


def _sigmoid(u: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(u))


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "gelu": _gelu,
    "gelu_python": _gelu,
    "gelu_new": _gelu_tanh,
    "gelu_fast": _gelu_tanh,
    "gelu_pytorch_tanh": _gelu_tanh,
    "quick_gelu": lambda u: u * _sigmoid(1.702 * u),
    "silu": lambda u: u * _sigmoid(u),
    "swish": lambda u: u * _sigmoid(u),
    "relu": lambda u: np.maximum(u, 0),
    "tanh": np.tanh,
}
