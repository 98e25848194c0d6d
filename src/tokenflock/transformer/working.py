"""At what beta a network runs, and for how long: every head and layer at work on real tokens.

Of hidden states h (n, d) with directions x_i = h_i / |h_i|, in every layer, head by head:

    beta_norms     the mean of scale |q_i| |k_j| over pairs that see each other: logits are beta_norms times a cosine
    beta           the temperature that best explains attention by overlaps: P_i. ~ softmax_j(beta <x_i, x_j>), by
                   likelihood; negative where tokens attend to what is unlike them
    explained      1 - KL(P | that) / KL(P | equal weights): how much of the attention these overlaps explain
    beta_rest, explained_rest     the same without the first token, which is a sink in many networks
    step           the mean of |o_i| / |h_i|, o what the head adds: its step as a part of a token's length

and of the layer:

    step_attention, step_feedforward     the same for all heads together, and for the feed-forward
    turned         the mean angle (radians) between h_i before and after the layer
    share_attention, share_feedforward   <update, part> / |update|^2: they add up to 1 but for norms after a part

A layer of the theory is x <- N(x + dt V m): its step is dt |V m|. So the sum of step_attention over the layers is the
time that a pass takes, in units in which V has norm 1 and all of the attention falls on one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.analysis.spectrum import one_thread
from tokenflock.analysis.statistics import Estimate, interval
from tokenflock.arguments import dataset, function, instance, named, numbers, scalar, some, whole
from tokenflock.errors import bad
from tokenflock.geometry import Array
from tokenflock.networks.layer import Layer
from tokenflock.networks.network import Network
from tokenflock.options import matrix
from tokenflock.transformer import block, stack
from tokenflock.transformer.block import ALL, Parts

if TYPE_CHECKING:
    import xarray as xr

MOST_BETA = 1e4  # attention that falls on one token alone has no finite beta: this stands for it
STEPS = 80  # of Newton's method within an interval that is halved where it goes wrong
HEADS = ("beta_norms", "beta", "explained", "beta_rest", "explained_rest", "step")
LAYERS = ("step_attention", "step_feedforward", "turned", "share_attention", "share_feedforward")
#: what the variables of `measure` are, in words
WORDS = {
    "beta_norms": "scale |q| |k|, mean over pairs",
    "beta": "temperature of overlaps that best explains attention",
    "explained": "share of the attention that it explains",
    "beta_rest": "the same without the first token",
    "explained_rest": "the same without the first token",
    "step": "length of what a head adds, of the token's",
    "step_attention": "length of what all heads add, of the token's",
    "step_feedforward": "length of what the feed-forward adds, of the token's",
    "turned": "angle by which a layer turns a token, radians",
    "share_attention": "share of attention in the update",
    "share_feedforward": "share of the feed-forward in the update",
}


def fit_beta(weights: Any, overlaps: Any, seen: Any = None) -> tuple[Array, Array]:
    """beta (H,) that makes sum_i KL(P_i | softmax(beta o_i)) least, and what it explains (H,); P (H, n, n), o (n, n).

    The sum is convex in beta; its slope is the mean of o under softmax(beta o) less that under P. Rows that see one
    token say nothing. seen (n, n): which j a row i sees; all, if left out.
    """
    P, o = numbers(weights), matrix("overlaps", overlaps, (None, None))
    n = len(o)
    if P.ndim != 3 or P.shape[1:] != (n, n) or not np.isfinite(P).all() or (P < 0).any():
        raise bad("weights.shape", P.shape, f"finite numbers >= 0 (heads, {n}, {n})", "One head is P[None].")
    sees = np.ones((n, n), dtype=bool) if seen is None else numbers(seen) != 0
    if sees.shape != (n, n) or (seen is not None and not np.isin(numbers(seen), (0, 1)).all()):
        raise bad("seen", seen, f"({n}, {n}) of True and False", "block.sees(n, causal, window) gives it.")
    rows = sees.sum(axis=1) > 1
    P, o, sees = P[:, rows], o[rows], sees[rows]
    mass = P.sum(axis=-1, keepdims=True)
    P = np.where(mass > 0, P / np.where(mass > 0, mass, 1.0), sees / np.maximum(sees.sum(axis=1, keepdims=True), 1))
    wanted = np.sum(P * np.where(sees, o, 0.0), axis=(1, 2))
    low, high = np.full(len(P), -MOST_BETA), np.full(len(P), MOST_BETA)
    beta = np.zeros(len(P))
    for _ in range(STEPS):
        p, _ = _softmax(beta, o, sees)
        mean = np.sum(p * np.where(sees, o, 0.0), axis=2)
        slope = mean.sum(axis=1) - wanted
        low, high = np.where(slope <= 0, beta, low), np.where(slope > 0, beta, high)
        bend = np.sum(p * np.where(sees, o, 0.0) ** 2, axis=(1, 2)) - np.sum(mean**2, axis=1)
        step = beta - slope / np.maximum(bend, 1e-300)
        moved = np.where((step > low) & (step < high), step, (low + high) / 2)
        if np.abs(moved - beta).max(initial=0.0) <= 1e-10 * (1 + np.abs(beta).max(initial=0.0)):
            break
        beta = moved
    return beta, _explained(P, beta, o, sees)


def _softmax(beta: Array, o: Array, sees: Any) -> tuple[Array, Array]:
    """softmax(beta o) of rows, (H, m, n), and the logarithms of its weights."""
    s = np.where(sees, beta[:, None, None] * o, -np.inf)
    top = s.max(axis=-1, keepdims=True)
    size = np.exp(s - top).sum(axis=-1, keepdims=True)
    logs = s - top - np.log(size)
    return np.exp(logs), logs


def _explained(P: Array, beta: Array, o: Array, sees: Any) -> Array:
    """1 - KL(P | softmax(beta o)) / KL(P | equal weights); nan of attention that is equal itself."""
    logs = np.where(sees, _softmax(beta, o, sees)[1], 0.0)
    entropy = -np.sum(P * np.log(np.where(P > 0, P, 1.0)), axis=(1, 2))
    equal = np.log(np.maximum(sees.sum(axis=1), 1)).sum()
    least = equal - entropy
    left = -np.sum(P * logs, axis=(1, 2)) - entropy
    return np.where(least > 1e-9 * max(equal, 1e-300), 1 - left / np.where(least > 0, least, 1.0), np.nan)


def layer_at_work(layer: Layer, hidden: Any, parts: Parts = ALL) -> tuple[dict[str, Array], Array, Array]:
    """What the heads of a layer do to hidden states (n, d): the measures by name, its output, the writes (H, n, d)."""
    instance("layer", layer, Layer, "a networks.Layer", "network.layer(0) gives one.")
    h = matrix("hidden", hidden, (None, layer.dim))
    if len(h) < 3:
        raise bad("hidden.shape", h.shape, f"(n, {layer.dim}) with n >= 3", "Of two tokens there is one overlap.")
    y = layer.attention_norm(h) if layer.order == "pre" else h
    heads = block.by_head(layer, y, parts)
    out, _ = block.block(layer, h, parts)
    size = np.linalg.norm(h, axis=-1)
    x = h / size[:, None]
    seen = block.sees(len(h), layer.causal, layer.window)
    o = np.clip(x @ x.T, -1, 1)
    norms = layer.scale * np.linalg.norm(heads.query, axis=-1)[:, :, None] * np.linalg.norm(heads.key, axis=-1)[:, None]
    beta, explained = fit_beta(heads.weights, o, seen)
    rest, explained_rest = fit_beta(heads.weights[:, 1:, 1:], o[1:, 1:], seen[1:, 1:])
    written = heads.written.sum(axis=0)
    written = written if layer.output_bias is None or not parts.bias else written + layer.output_bias
    own = heads.written
    if (after := layer.attention_after) is not None:  # of a token it is one factor for all heads
        factor = after.weight / np.sqrt(np.mean(written**2, axis=-1, keepdims=True) + after.eps)
        written, own = written * factor, own * factor
    forward = block.forwarded(layer, h, written, parts)
    update, long = out - h, np.linalg.norm(out, axis=-1)
    whole = float(np.sum(update**2))
    cosine = np.clip(np.sum(x * out, axis=-1) / long, -1, 1)
    return (
        {
            "beta_norms": norms[:, seen].mean(axis=-1),
            "beta": beta,
            "explained": explained,
            "beta_rest": rest,
            "explained_rest": explained_rest,
            "step": (np.linalg.norm(own, axis=-1) / size).mean(axis=-1),
            "step_attention": np.asarray((np.linalg.norm(written, axis=-1) / size).mean()),
            "step_feedforward": np.asarray((np.linalg.norm(forward, axis=-1) / size).mean()),
            "turned": np.asarray(np.arccos(cosine).mean()),
            "share_attention": np.asarray(np.sum(update * written) / whole),
            "share_feedforward": np.asarray(np.sum(update * forward) / whole),
        },
        out,
        own,
    )


def measure(
    network: Network, texts: Iterable[Any], *, progress: Callable[[int, int], None] | None = None
) -> xr.Dataset:
    """All measures of this file over (text, layer, head) and (text, layer), as the network reads texts of token ids.

    texts: token ids (n,), at least three each, or hidden states (n, dim). A layer is read once, for all texts.
    """
    import xarray as xr

    instance("network", network, Network, "a networks.Network", "networks.read(path) gives one.")
    states = starts(network, texts)
    if progress is not None:
        function("progress", progress, "a function of (done, of)", takes=2)
    found: dict[str, list[list[Array]]] = {name: [] for name in (*HEADS, *LAYERS)}
    with one_thread():
        for l in range(network.n_layers):
            layer = network.layer(l)
            rows: dict[str, list[Array]] = {name: [] for name in found}
            for k, h in enumerate(states):
                numbers_of, states[k], _ = layer_at_work(layer, h)
                for name, value in numbers_of.items():
                    rows[name].append(value)
            for name, values in rows.items():
                found[name].append(values)
            if progress is not None:
                progress(l + 1, network.n_layers)
    data = {}
    for name, rows_of in found.items():
        dims = ("text", "layer", "head") if name in HEADS else ("text", "layer")
        data[name] = (dims, np.swapaxes(np.array(rows_of), 0, 1), {"description": WORDS[name]})
    coords = {"layer": np.arange(network.n_layers), "head": np.arange(network.n_heads)}
    return xr.Dataset(data, coords=coords, attrs={"network": network.name, "family": network.family})


def starts(network: Network, texts: Iterable[Any]) -> list[Array]:
    """What the first layer reads, of every text of at least three tokens: hidden states (n, dim) each."""
    try:
        given = [np.asarray(text) for text in texts]
    except (TypeError, ValueError):
        given = []
    if not given:
        raise bad("texts", texts, "a list of token ids (n,), a text each", "transformer.wording.Encoder cuts texts.")
    for k, text in enumerate(given):
        if text.shape[:1] < (3,) and text.ndim < 3:
            raise bad(f"texts[{k}].shape", text.shape, "at least three tokens", "Leave this text out, or lengthen it.")
    return [text if text.ndim == 2 else stack.embed(network, text) for text in given]


def _check(found: Any, name: str) -> None:
    """Whether a variable of `measure` is in it."""
    dims = getattr(dataset("found", found, "what working.measure gives").get(name), "dims", ())
    if set(dims) != {"text", "layer", *(["head"] if name in HEADS else [])}:
        raise bad("found", f"a Dataset without {name} over texts and layers", "what working.measure gives")


def over_texts(found: Any, name: str, **where: Any) -> Estimate:
    """The mean over the texts of a variable of `measure`, with its 95 % interval.

    where: layer=, head=; what is left out is summed up first, by the median for a beta and by the mean for others.
    """
    _check(found, named("variable", name, [*HEADS, *LAYERS]))
    one = found[name]
    for axis, given in where.items():
        known = found[named("axis", axis, [str(dim) for dim in one.dims if dim != "text"])].values
        if whole(axis, given, 0) not in known:
            raise bad(axis, given, f"one of {known.min()} to {known.max()}", f"Of each {axis} there is one {name}.")
    one = one.sel(where)
    rest = [dim for dim in one.dims if dim != "text"]
    values = one.median(rest) if name.startswith("beta") else one.mean(rest)
    return interval(values.values)


def effective_time(found: Any, part: str = "step_attention") -> Estimate:
    """The sum of the steps of all layers, the mean over the texts with its 95 % interval: how long one pass is."""
    _check(found, named("part", part, ("step_attention", "step_feedforward", "turned")))
    return interval(found[part].sum("layer").values)


def metastable(beta: Sequence[float] | Array, n_tokens: int, overlap: float = 0.0, near: float = 0.5) -> Array:
    """Theory's time at which n tokens with equal overlaps have come from `overlap` to `near`, for every beta >= 0.

    Exact for Q = K = V = I (theory.equiangular, found by halving). Before it the tokens stand apart: metastable for
    large beta, where this time grows like e^(beta (1 - overlap)) / 2n.
    """
    from tokenflock import theory

    betas = np.atleast_1d(some("beta", beta, "finite numbers >= 0", lambda b: b >= 0))
    if betas.ndim != 1:
        raise bad("beta.shape", betas.shape, "one number, or a list of them")
    near = scalar("near", near, "a finite number")
    found = []
    for b in betas:
        low, high = -30.0, 30.0 + 1.5 * max(float(b), 0.0)  # logarithms of times
        for _ in range(60):
            middle = (low + high) / 2
            reached = float(theory.equiangular(np.exp(min(middle, 700.0)), n_tokens, float(b), overlap))
            low, high = (middle, high) if reached < near else (low, middle)
        found.append(np.exp(min(high, 700.0)))
    return np.array(found)
