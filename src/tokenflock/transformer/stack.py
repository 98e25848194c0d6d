"""Runs of a trained network in discrete time: a head, a layer, or the whole stack, to any depth, with parts left out.

net = networks.read("folder")
stack.run(net, ids)                                      the model itself: its hidden states, to rounding
stack.run(net, ids, depth=120)                           ALBERT, ten times as deep
stack.run(net, ids, layers=[3], depth=100)               one layer again and again: the theory's V, constant in time
stack.run(net, ids, parts=Parts(feedforward=False))      without feed-forward
stack.run(net, ids, layers=[3], parts=Parts(heads=(5,), feedforward=False, norm="sphere"))      one head
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from tokenflock.arguments import flag, function, instance, real, room, whole
from tokenflock.errors import EngineError, bad
from tokenflock.geometry import Array
from tokenflock.networks.layer import Layer
from tokenflock.networks.network import Network
from tokenflock.transformer import wording
from tokenflock.transformer.block import ALL, Parts, block
from tokenflock.transformer.record import Origin, trajectory

if TYPE_CHECKING:
    import xarray as xr

LARGE = 1024  # from this hidden size on several threads pay
KEPT = 3  # layers held at a time, where not all are the same


#: `vocabulary` and `longest` of networks in use: of a large one they take a second to find.
_KNOWN: WeakKeyDictionary[Network, tuple[int, int | None]] = WeakKeyDictionary()


def _limits(network: Network) -> tuple[int, int | None]:
    _check(network)
    if network not in _KNOWN:
        _KNOWN[network] = _limits_of(network, network.embeddings())
    return _KNOWN[network]


def _limits_of(network: Network, table: dict[str, Any]) -> tuple[int, int | None]:
    words, place = table.get("word"), table.get("position")
    said = network.config.get("max_position_embeddings")
    most = said if isinstance(said, int) else None
    return (0 if words is None else len(words)), (most if place is None else len(place) - int(table.get("offset") or 0))


def _check(network: Network) -> Network:
    return instance("network", network, Network, "a networks.Network", "networks.read(path) gives one.")


def _array(given: Any) -> NDArray[Any]:
    """Ids, an image or hidden states, as an array."""
    try:
        return np.asarray(given)
    except (TypeError, ValueError):  # ragged lists, Datasets
        return np.empty(0, dtype=object)


def vocabulary(network: Network) -> int:
    """The number of token ids that a network knows; 0 for one that reads images."""
    return _limits(network)[0]


def longest(network: Network) -> int | None:
    """The number of tokens that a network takes; None: any."""
    return _limits(network)[1]


def embed(network: Network, ids: Any) -> Array:
    """What the first layer reads, (n, d), from token ids (n,) or from an image (channels, height, width)."""
    table, given = _check(network).embeddings(), _array(ids)
    if table.get("word") is None:
        return _embed_image(network, table, given)
    index = wording.check(given, *_limits_of(network, table))
    h = table["word"][index]
    place, mapping = table.get("position"), table.get("map")
    late = place is not None and place.shape[1] != h.shape[1]  # OPT: positions of the hidden size, not of the words'
    if late and mapping is not None:
        h, mapping = _linear(h, mapping, table.get("map_bias")), None
    if place is not None:
        h = h + place[_positions(network, index, int(table.get("offset") or 0))]
    if table.get("type") is not None:
        h = h + table["type"][0]
    if table.get("norm") is not None:
        h = table["norm"](h)
    return h if mapping is None else _linear(h, mapping, table.get("map_bias"))


def _linear(h: Array, weight: Array, bias: Array | None) -> Array:
    return h @ weight.T if bias is None else h @ weight.T + bias


def _positions(network: Network, ids: wording.Ids, offset: int) -> wording.Ids:
    """The rows of the table of positions; RoBERTa leaves padding out of its count."""
    if network.family != "roberta":
        return offset + np.arange(len(ids))
    there = ids != offset - 1
    return np.asarray(np.cumsum(there) * there + offset - 1)


def _embed_image(network: Network, table: dict[str, Any], pixels: Array) -> Array:
    patch = table["patch"]
    d, channels, p, q = patch.shape
    if pixels.dtype.kind not in "biuf" or not np.isfinite(pixels).all():
        raise bad("image", f"{pixels.dtype} of shape {pixels.shape}", "finite numbers (channels, height, width)")
    if pixels.ndim != 3 or len(pixels) != channels or pixels.shape[1] % p or pixels.shape[2] % q:
        raise bad("image.shape", pixels.shape, f"({channels}, height, width) in multiples of ({p}, {q})")
    rows, columns = pixels.shape[1] // p, pixels.shape[2] // q
    cut = pixels.reshape(channels, rows, p, columns, q).transpose(1, 3, 0, 2, 4).reshape(rows * columns, -1)
    h = _linear(cut.astype(np.float64), patch.reshape(d, -1), table.get("patch_bias"))
    h = np.concatenate([table["first"], h]) if table.get("first") is not None else h
    place = table.get("position")
    if place is None:
        return h
    if len(place) != len(h):
        size = f"{len(place)} tokens"
        raise bad("image.shape", pixels.shape, f"an image of {size}, what this model takes", "Rescale the image.")
    return np.asarray(h + place)


def image_size(network: Network) -> tuple[int, int, int]:
    """(channels, height, width) of the images that a network reads."""
    size = _check(network).config.get("image_size", 224)
    height, width = (size, size) if isinstance(size, int) else size
    return int(network.config.get("num_channels", 3)), int(height), int(width)


def _has_items(given: Any) -> bool:
    """Whether it is no array of one number, which cannot be walked through."""
    return getattr(given, "ndim", 1) > 0


def layers_of(network: Network, layers: Sequence[int] | None, depth: int | None) -> list[int]:
    """Which layer every step takes: the given ones in their order, from the first again when they are used up."""
    _check(network)
    if layers is not None and (not isinstance(layers, list | tuple | range | np.ndarray) or not _has_items(layers)):
        raise bad("layers", layers, f"a list of some of 0 to {network.n_layers - 1}")
    chosen = list(range(network.n_layers)) if layers is None else [whole("layers", l, 0) for l in layers]
    if not chosen or max(chosen) >= network.n_layers:
        raise bad("layers", layers, f"some of 0 to {network.n_layers - 1}", f"{network.name} has so many layers.")
    steps = len(chosen) if depth is None else room("depth", whole("depth", depth, 1), 8 * network.dim)
    return [chosen[k % len(chosen)] for k in range(steps)]


def run(
    network: Network,
    given: Any,
    *,
    layers: Sequence[int] | None = None,
    depth: int | None = None,
    parts: Parts = ALL,
    attention: bool = True,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Hidden states layer by layer, as a trajectory whose time is the number of layers passed.

    - `given`: token ids (n,), an image, or hidden states (n, dim) to begin with.
    - `layers`: which, in their order; all of them if left out. `depth`: how many steps to take, from the first of the
      layers again when they are used up.
    - `parts`: what of a block is in force, `block.Parts`. `attention`: keep its weights, (layer, head, n, n).
    """
    from threadpoolctl import threadpool_limits

    instance("parts", parts, Parts, "block.Parts(...)")
    flag("attention", attention)
    if progress is not None:
        function("progress", progress, "a function of the fraction done")
    steps, began = layers_of(network, layers, depth), time.perf_counter()
    array = _array(given)
    states = array.ndim == 2
    h = real("given", array, "finite numbers (n, dim)") if states else embed(network, array)
    if h.shape[-1] != network.dim:
        raise bad("given.shape", h.shape, f"(n, {network.dim}), as the network has it")
    block_of = _reader(network, parts.feedforward)
    hidden, weights = [h], []
    # One thread: for blocks of small models two are slower, on a busy machine a hundred times.
    with threadpool_limits(limits=1 if network.dim < LARGE else None, user_api="blas"):
        for k, l in enumerate(steps):
            try:
                h, found = block(block_of(l), h, parts)
            except EngineError as error:
                raise EngineError(
                    f"the hidden states of layer {k + 1} hold a token that is nan or inf. "
                    "Run fewer layers, or keep the layer norm (norm='model' or 'sphere')."
                ) from error
            hidden.append(h)
            if attention and found is not None:
                weights.append(found.astype(np.float32))
            if progress is not None:
                progress((k + 1) / len(steps))
    return trajectory(
        np.stack(hidden),
        Origin.of(network, "numpy", "float64", {}, layers=steps, parts=dataclasses.asdict(parts)),
        attention=np.stack(weights) if weights else None,
        ids=array if array.ndim == 1 else None,
        wall_s=time.perf_counter() - began,
    )


def _reader(network: Network, feedforward: bool) -> Callable[[int], Layer]:
    """Layers by number, the last few kept: a stack that shares its weights is read once."""
    one = len(network.blocks) == 1
    kept = lru_cache(maxsize=KEPT)(lambda l: network.layer(l, feedforward))
    return lambda l: kept(0 if one else l)
