"""Prediction against what happens: every head beside its theory on the network's real tokens, and beside null models.

Of a head with V = W_O W_V and hidden states h of its layer, x = h / |h|, r the length that the norm gives to tokens:

    row       of the atlas, for V on its range; L is the space that it says tokens go to
    flow      x' = P_x(V sum_j P_ij x_j) with the head's own Q, K, V and beta = scale r^2, for the time r / |h| of one
              layer, so that an Euler step of it is the head's own: no biases, no turns of positions, no other heads
    write     N(h + o), o what the head really adds
    layer     what the whole layer really makes of h

and for each of the three `gain`, the change of the mean |P_L x|, and `cosine`: the mean cosine of the angle between the
displacements of a token by flow and by write. A null model is the same head with

    shuffled  the entries of each of its matrices in another order
    spectrum  Gaussian matrices in place of W_O W_V and of W_Q' W_K, with the singular values of the trained ones
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenflock.analysis.spectrum import Regime, one_thread
from tokenflock.analysis.statistics import Estimate, interval, wilson
from tokenflock.arguments import dataset, flag, function, instance, named, positive, scalar, whole
from tokenflock.arguments import generator as drawing
from tokenflock.errors import bad
from tokenflock.geometry import Array, retract, tangent
from tokenflock.model import Model
from tokenflock.networks.layer import Layer
from tokenflock.networks.network import Network
from tokenflock.networks.spectra import Head, compress, regime_of
from tokenflock.options import matrix
from tokenflock.simulation import simulate
from tokenflock.transformer import behaviour, block, working
from tokenflock.transformer.block import Parts

if TYPE_CHECKING:
    import xarray as xr

KINDS = ("trained", "shuffled", "spectrum")
SQUARED = "a number > 0 whose square exists"
GIVEN = "what against.heads gives"
FLOW_STEPS = 4  # of RK4: a layer is a short time
#: what is switched off in the rows of `layers`
SWITCHED = {
    "all of it": Parts(),
    "attention alone": Parts(feedforward=False),
    "feed-forward alone": Parts(attention=False),
}


class Judged(NamedTuple):
    """One head of one kind on one text."""

    row: str
    growth: float  #: Re lambda_max
    gain_flow: float
    gain_write: float
    gain_layer: float
    cosine: float


def _check(head: Head) -> None:
    instance("head", head, Head, "a spectra.Head", "Head.of(network.layer(0), 0) gives one.")


def shuffled(head: Head, generator: np.random.Generator) -> Head:
    """The same numbers in each matrix, in another order."""
    _check(head)
    drawing(generator)
    q, k, v, o = (generator.permutation(m.ravel()).reshape(m.shape) for m in head[:4])
    return Head(q, k, v, o, head.scale)


def same_spectrum(head: Head, generator: np.random.Generator) -> Head:
    """Gaussian directions with the singular values of W_O W_V and of W_Q' W_K."""
    _check(head)
    drawing(generator)
    k, d = head.query.shape

    def frame(levels: Array) -> Any:
        return np.linalg.qr(generator.standard_normal((d, k)))[0] * np.sqrt(levels)

    s_value, s_form = _singular(head.output, head.value), _singular(head.query.T, head.key)
    return Head(frame(s_form).T, frame(s_form).T, frame(s_value).T, frame(s_value), head.scale)


def _singular(left: Array, right: Array) -> Array:
    """The k singular values of left @ right, (d, k) and (k, d)."""
    a, b = np.linalg.qr(left)[1], np.linalg.qr(right.T)[1]
    return np.asarray(np.linalg.svd(a @ b.T, compute_uv=False))


def flow(head: Head, x: Array, r: float, time: float, causal: bool) -> Array:
    """The tokens x (n, d) of the sphere after the flow of a head alone.

    It never leaves the space of the tokens and of what the head writes to, so it is computed there.
    """
    _check(head)
    x, r, time = (
        matrix("x", x, (None, head.query.shape[1])),
        scalar("r", r, SQUARED, lambda v: (v > 0) & (v < 1e150)),
        positive("time", time),
    )
    flag("causal", causal)
    basis = np.linalg.qr(np.concatenate([x.T, head.output], axis=1))[0]
    model = Model(
        dim=basis.shape[1],
        beta=head.scale * r**2,
        query=head.query @ basis,
        key=head.key @ basis,
        value=(basis.T @ head.output) @ (head.value @ basis),
        mask="causal" if causal else "full",
    )
    options: dict[str, Any] = {"scheme": "rk4", "dt": time / FLOW_STEPS, "times": [time], "progress": False}
    run = simulate(model, retract(x @ basis), time, engine="reference", **options)
    return np.asarray(run["x"].values[-1] @ basis.T)


def one(layer: Layer, head: Head, regime: Regime, h: Array, out: Array, written: Array) -> Judged:
    """A head on the hidden states h of its layer, which makes `out` of them; written (n, d): what the head adds."""
    instance("layer", layer, Layer, "a networks.Layer", "network.layer(0) gives one.")
    _check(head)
    instance("regime", regime, Regime, "an analysis.spectrum.Regime", "networks.heads and spectra.regime_of give one.")
    h = matrix("h", h, (None, layer.dim))
    out, written = matrix("out", out, h.shape), matrix("written", written, h.shape)
    length = np.linalg.norm(h, axis=-1)
    x, after = h / length[:, None], retract(out)
    r = math.sqrt(layer.dim) if layer.order == "pre" else float(length.mean())
    moved = flow(head, x, r, r / float(length.mean()), layer.causal)
    by_write = retract(h + written)
    before = _inside(x, regime.L)
    gains = [_inside(state, regime.L) - before for state in (moved, by_write, after)]
    a, b = tangent(x, moved - x), tangent(x, written)
    size = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    cosine = float(np.mean(np.sum(a * b, axis=-1) / np.where(size > 0, size, 1.0)))
    return Judged(regime.row, float(regime.lambda_max.real), gains[0], gains[1], gains[2], cosine)


def _inside(x: Array, L: Array) -> float:
    return float(np.linalg.norm(x @ L, axis=-1).mean())


def heads(
    network: Network,
    texts: Iterable[Any],
    *,
    seed: int = 0,
    layers: Iterable[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Every head beside its theory, trained and as null models: variables over (kind, text, layer, head).

    texts: token ids (n,) each, at least three, or hidden states. layers: which; all, if left out.
    """
    import xarray as xr

    instance("network", network, Network, "a networks.Network", "networks.read(path) gives one.")
    states = working.starts(network, texts)
    chosen = list(range(network.n_layers)) if layers is None else sorted({whole("layers", l, 0) for l in layers})
    if not chosen or chosen[-1] >= network.n_layers:
        raise bad("layers", layers, f"some of 0 to {network.n_layers - 1}")
    if progress is not None:
        function("progress", progress, "a function of (done, of)", takes=2)
    seed = whole("seed", seed, 0)
    found: list[list[Judged]] = []
    with one_thread():
        for l in range(chosen[-1] + 1):
            layer = network.layer(l)
            made = [working.layer_at_work(layer, h) for h in states]
            if l in chosen:
                found += [
                    _kinds(layer, k, states, made, np.random.default_rng([seed, l, k])) for k in range(layer.n_heads)
                ]
            states = [out for _, out, _ in made]
            if progress is not None:
                progress(l + 1, chosen[-1] + 1)
    shape = (len(chosen), network.n_heads, len(KINDS), len(states))
    data = {}
    for name in Judged._fields:
        column = np.array(
            [[getattr(row, name) for row in rows] for rows in found], dtype=object if name == "row" else float
        )
        data[name] = (("kind", "text", "layer", "head"), column.reshape(shape).transpose(2, 3, 0, 1))
    coords = {"kind": list(KINDS), "layer": chosen, "head": np.arange(network.n_heads)}
    return xr.Dataset(data, coords=coords, attrs={"network": network.name, "seed": seed})


def _kinds(layer: Layer, k: int, states: list[Array], made: list[Any], generator: np.random.Generator) -> list[Judged]:
    """One head, trained and as both null models, on every text."""
    trained = Head.of(layer, k)
    rows = []
    for head in (trained, shuffled(trained, generator), same_spectrum(trained, generator)):
        regime = regime_of(*compress(head.output, head.value), len(head.value))
        # A null head writes with weights of its own: what it would add stands beside its flow.
        for h, (_, out, written) in zip(states, made, strict=True):
            write = written[k] if head is trained else _write(layer, head, h)
            rows.append(one(layer, head, regime, h, out, write))
    return rows


def _write(layer: Layer, head: Head, h: Array) -> Array:
    """What a head that is no head of this layer would add to its hidden states: by its matrices alone."""
    length = np.linalg.norm(h, axis=-1, keepdims=True)
    r = math.sqrt(layer.dim) if layer.order == "pre" else float(length.mean())
    y = r * h / length
    s = np.where(
        block.sees(len(h), layer.causal, layer.window), head.scale * (y @ head.query.T) @ (y @ head.key.T).T, -np.inf
    )
    weights = np.exp(s - s.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.asarray(weights @ (y @ head.value.T) @ head.output.T)


def _values(found: Any, name: str, kind: str) -> xr.DataArray:
    """A variable of what `heads` gives, for one kind, over (text, layer, head)."""
    named("kind", kind, KINDS)
    named("name", name, [key for key in Judged._fields if key != "row"])
    if set(getattr(dataset("found", found, GIVEN).get(name), "dims", ())) != {"kind", "text", "layer", "head"}:
        raise bad("found", f"a Dataset without {name} over (kind, text, layer, head)", GIVEN)
    return found[name].sel(kind=kind)  # type: ignore[no-any-return]


def share(found: Any, name: str, kind: str = "trained") -> Estimate:
    """The share of heads in which a gain, or the growth, is above 0 (mean over texts), with Wilson's 95 % interval."""
    values = _values(found, name, kind).mean("text").values.ravel()
    return wilson(int((values > 0).sum()), values.size)


def mean(found: Any, name: str, kind: str = "trained") -> Estimate:
    """The mean over heads of a variable, and its 95 % interval over texts."""
    return interval(_values(found, name, kind).mean(["layer", "head"]).values)


def layers(network: Network, texts: Iterable[Any]) -> xr.Dataset:
    """The mean overlap before every layer, and after it with parts switched off, over (text, layer), on real tokens."""
    import xarray as xr

    instance("network", network, Network, "a networks.Network", "networks.read(path) gives one.")
    states = working.starts(network, texts)
    names = ("before", *SWITCHED)
    found = np.empty((len(names), len(states), network.n_layers))
    with one_thread():
        for l in range(network.n_layers):
            layer = network.layer(l)
            for k, h in enumerate(states):
                found[0, k, l] = behaviour.overlaps(retract(h)).mean()
                for row, parts in enumerate(SWITCHED.values()):
                    out, _ = block.block(layer, h, parts)
                    found[row + 1, k, l] = behaviour.overlaps(retract(out)).mean()
                    states[k] = out if row == 0 else states[k]
    data = {"overlap": (("part", "text", "layer"), found)}
    return xr.Dataset(data, coords={"part": list(names), "layer": np.arange(network.n_layers)})
