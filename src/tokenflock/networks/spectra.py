"""What the theory says of every head: the eigenvalues of V_h, its row of the atlas, whether it is a good triple.

For tokens on the sphere head h is a model of ours, with V_h = W_O,h W_V,h G and the form B_h = scale G W_Q' W_K G. G is
the diagonal matrix of the norm's gain where the norm stands before attention, and the identity where it stands after.
V_h is d x d of rank k: d - k of its eigenvalues are 0, the others are those of the k x k matrix W_V G W_O. Only these
are looked at, as in A.8: they act where the head writes and reads. No d x d matrix is formed: with the columns of W_O
and of (W_V G)' in one orthonormal basis P (d, 2k), V_h = P C P' for a small C, whose first k x k block is V_h on its
range, lengths and angles kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenflock.analysis import spectrum
from tokenflock.analysis import triple as triples
from tokenflock.analysis.spectrum import TOLERANCE, Regime, one_thread
from tokenflock.arguments import Reals, function, instance, room, scalar, whole
from tokenflock.errors import bad
from tokenflock.networks.kept import KeptHeads
from tokenflock.networks.layer import Layer
from tokenflock.networks.network import Network, read
from tokenflock.options import matrix

if TYPE_CHECKING:
    import xarray


MOST = 1e150  # of an entry of a head
MOST_THREADS = 8  # a head of d = 4,096 takes 30 MB while it is looked at


class Values(NamedTuple):
    """The value matrices of a layer: head h is V_h = outputs[h] @ values[h]."""

    outputs: Reals  #: W_O,h (H, d, k)
    values: Reals  #: W_V,h, with the gain of a norm before it, (H, k, d)


class Head(NamedTuple):
    """One head as (Q, K, V) of the theory, V by its factors."""

    query: Reals  #: (k, d)
    key: Reals  #: (k, d)
    value: Reals  #: (k, d)
    output: Reals  #: (d, k): V = output @ value
    scale: float  #: of the logits

    @classmethod
    def of(cls, layer: Layer, head: int) -> Head:
        """A head of a layer, in float64, with the gain of a norm that stands before attention folded in."""
        instance("layer", layer, Layer, "a networks.Layer", "network.layer(0) gives one.")
        whole("head", head, 0, "Heads are counted from 0.", most=layer.n_heads - 1)
        gain = layer.attention_norm.weight.astype(np.float64) if layer.order == "pre" else 1.0
        q, k, v = (m[head].astype(np.float64) * gain for m in (layer.query, layer.key, layer.value))
        if layer.rotary is not None and (size := layer.rotary.amplitude) != 1.0:  # yarn makes what turns longer
            turned = np.where(np.arange(len(q)) < layer.rotary.width, size, 1.0)[:, None]
            q, k = q * turned, k * turned
        return cls(q, k, v, layer.output[head].astype(np.float64), layer.scale)


def compress(left: Reals, right: Reals) -> tuple[Reals, Reals]:
    """P and C with left @ right = P C P', P (d, <= 2k) orthonormal; left is (d, k) and right (k, d)."""
    k = left.shape[1]
    P, R = np.linalg.qr(np.concatenate([left, right.T], axis=1))
    return P, R[:, :k] @ R[:, k:].T


def eigenvalues(output: Reals, value: Reals) -> Any:
    """The k eigenvalues of V = output @ value that its rank leaves, largest real part first."""
    W, V = matrix("output", output, (None, None)), matrix("value", value, (None, None))
    if W.shape != V.shape[::-1]:
        raise bad("output.shape, value.shape", (W.shape, V.shape), "(d, k) and (k, d)")
    found = np.linalg.eigvals(_bounded(V) @ _bounded(W)).astype(complex)
    # Of a complex pair the one above the axis first, so that the order does not hang on LAPACK.
    return found[np.lexsort((-found.imag, -found.real))]


def _bounded(given: Any) -> Any:
    if np.abs(given).max() > MOST:
        raise bad("output, value", f"numbers up to {np.abs(given).max():.1e}", f"numbers up to {MOST:g}")
    return given


def regime(layer: Layer, head: int, tolerance: float = TOLERANCE) -> Regime:
    """The row of the atlas that a head falls in; L and L' are given in R^d.

    `fails` holds what V does not satisfy on its range; where nothing fails there, what its eigenvalues 0 do not.
    """
    given = Head.of(layer, head)
    return regime_of(*compress(given.output, given.value), given.value.shape[0], tolerance)


def regime_of(P: Reals, C: Reals, k: int, tolerance: float = TOLERANCE) -> Regime:
    """The row of V = P C P', of rank k, as `compress` gives it."""
    found = _classified(C, k, len(P), tolerance)
    P = P[:, : len(found.L)]
    return replace(found, L=P @ found.L, generalised=P @ found.generalised)


def _classified(C: Reals, k: int, dim: int, tolerance: float) -> Regime:
    """The row of V, with L in the basis of C, or in the first k of it."""
    found = spectrum.classify(C[:k, :k], tolerance)
    if found.lambda_max.real > 0 and not found.fails and k < dim:
        # Below a positive lambda_max the eigenvalues 0 of V change nothing but what a statement asks of all of V.
        return spectrum.classify(C, tolerance)
    return found


def triple(layer: Layer, head: int, tolerance: float = TOLERANCE) -> triples.Triple:
    """Whether a head is a good triple (Definition 4.1 of B): (Q, K) on the range of V, and V there.

    phi_1 and F are given in R^d; G and A, which fill it, are not. The zeros left out decide nothing unless V_h is 0.
    """
    given = Head.of(layer, head)
    return _triple(given, *compress(given.output, given.value), tolerance)


def _triple(head: Head, P: Reals, C: Reals, tolerance: float) -> triples.Triple:
    k = len(head.value)
    basis = P[:, :k]
    found = triples.good(head.query @ basis, head.key @ basis, C[:k, :k], tolerance)
    phi, star = found.phi_1, found.phi_1_star
    if phi is not None and star is not None:
        phi = basis @ phi
        sign = np.sign(phi[np.argmax(np.abs(phi))])
        star = P @ (C[:k].T @ star)  # y' V = lambda y' on all of R^d
        phi, star = sign * phi, sign * star / found.lambda_1.real if found.lambda_1 else None
    F = None if found.F is None else basis @ found.F
    return replace(found, phi_1=phi, phi_1_star=star, F=F, G=None, A=None)


def gaussian(dim: int, n_heads: int, scale: float = 0.02, seed: int = 0) -> Values:
    """Heads as training starts: independent N(0, scale^2) entries (initializer_range in config.json)."""
    dim = whole("dim", dim, 1)
    room("dim", dim, 16 * dim)
    if dim % whole("n_heads", n_heads, 1):
        raise bad("n_heads", n_heads, f"a divisor of dim = {dim}", "Every head gets an equal part of the hidden size.")
    scale = scalar("scale", scale, "above 0, up to 1e150", lambda s: (s > 0) & (s <= 1e150))
    seed = whole("seed", seed, 0)
    value, output = scale * np.random.default_rng(seed).standard_normal((2, dim, dim))
    return Values(output.reshape(dim, n_heads, -1).transpose(1, 0, 2), value.reshape(n_heads, -1, dim))


def form_figures(head: Head, gain: Reals | float = 1.0) -> dict[str, float]:
    """Figures of the form that acts on unit tokens, d scale G W_Q' W_K G: a layer norm gives tokens the length sqrt(d).

    gain: what is not folded in already. beta_effective is that of beta I with the same symmetric part, in the
    Frobenius norm.
    """
    k, d = head.query.shape
    R: Any = np.linalg.qr(np.concatenate([(head.query * gain).T, (head.key * gain).T], axis=1), mode="r")
    C = d * head.scale * (R[:, :k] @ R[:, k:].T)
    symmetric, skew = (C + C.T) / 2, (C - C.T) / 2
    norm = float(np.linalg.norm(C))
    levels = np.linalg.eigvalsh(symmetric)
    return {
        "beta_effective": float(np.linalg.norm(symmetric)) / np.sqrt(d),
        "form_norm": norm,
        "form_largest": float(levels[-1]),
        "form_least": float(levels[0]),
        "form_asymmetry": float(np.linalg.norm(skew)) / norm if norm else 0.0,
    }


#: what a variable of `heads` is, with its unit or range
WORDS = {
    "eigenvalues": "of V_h, the k that its rank leaves, largest real part first",
    "lambda_max": "the eigenvalue of largest real part, with the imaginary part of the pair that leads",
    "multiplicity": "of lambda_max",
    "regime": "row of the atlas of paper A that V_h falls in",
    "prediction": "the row in words: what all tokens tend to",
    "claim": "the statement of paper A for this row, if there is one",
    "claim_fails": "its hypotheses that V_h does not satisfy",
    "good": "whether (Q, K, V) is a good triple, Definition 4.1 of paper B",
    "good_fails": "its hypotheses that fail",
    "lambda_1": "the eigenvalue of largest modulus",
    "overlap": "scale <Q phi_1, K phi_1>, |phi_1| = 1; nan without a single real phi_1",
    "beta_effective": "|sym B|_F / sqrt(d) of the form on unit tokens: beta of the identity of that size",
    "form_norm": "|B|_F of the form on unit tokens",
    "form_largest": "largest eigenvalue of its symmetric part",
    "form_least": "least eigenvalue of its symmetric part",
    "form_asymmetry": "|B - B'|_F / 2|B|_F, from 0 (symmetric) to 1 (antisymmetric)",
    "value_norm": "|V_h|, the largest singular value",
    "value_asymmetry": "|V - V'|_F / 2|V|_F",
}


def heads(
    network: Network | str | Path,
    *,
    layers: Iterable[int] | None = None,
    tolerance: float = TOLERANCE,
    progress: Callable[[int, int], None] | None = None,
    keep: str | Path | None = None,
) -> xarray.Dataset:
    """Every head of a network under the theory, over (layer, head); `WORDS` says what each variable is.

    layers: which; by default one for each set of weights. progress(done, of) is called after every layer. keep: a file
    that every layer is added to when it is done: the same call goes on where one was stopped. What the theory has no
    place for is named in the attribute `left_out`.
    """
    import xarray

    net = network if isinstance(network, Network) else read(network)
    try:
        which = net.blocks if layers is None else [whole("layers", l, 0, most=net.n_layers - 1) for l in layers]
    except TypeError:  # nothing to go through
        which = []
    if not which:
        raise bad("layers", layers, f"some of 0 to {net.n_layers - 1}")
    if progress is not None:
        function("progress", progress, "a function of (done, of)", takes=2)
    rows: list[dict[str, Any]] = []
    left_out: dict[str, None] = {}
    kept = None if keep is None else KeptHeads(keep, {**_facts(net, digest=False), "tolerance": tolerance})
    with one_thread(), ThreadPoolExecutor(min(os.cpu_count() or 1, net.n_heads, MOST_THREADS)) as pool:
        for count, l in enumerate(which):
            done = None if kept is None else kept.rows(l)
            if done is None:
                done = _layer_rows(net, l, tolerance, pool)
                if kept is not None:
                    kept.add(l, *done)
            rows += done[0]
            left_out |= dict.fromkeys(done[1])
            if progress:
                progress(count + 1, len(which))
    shape = (len(which), net.n_heads)
    variables = {}
    for name, words in WORDS.items():
        column = np.array([row[name] for row in rows])
        dims = ("layer", "head", "rank") if column.ndim == 2 else ("layer", "head")
        variables[name] = (dims, column.reshape(*shape, *column.shape[1:]), {"description": words})
    return xarray.Dataset(
        variables,
        coords={
            "layer": which,
            "head": np.arange(net.n_heads),
            "group": ("head", np.arange(net.n_heads) // (net.n_heads // net.n_groups)),
        },
        attrs={**_facts(net), "tolerance": tolerance, "left_out": "; ".join(left_out)},
    )


def _layer_rows(net: Network, l: int, tolerance: float, pool: Executor) -> tuple[list[dict[str, Any]], list[str]]:
    """The heads of a layer, side by side, and what is left out of them; of the layer nothing stays in memory."""
    layer = net.layer(l, feedforward=False)
    gain = 1.0 if net.norm == "pre" else np.asarray(net.gain(l), dtype=np.float64)
    rows = list(pool.map(lambda h: _row(Head.of(layer, h), gain, tolerance), range(net.n_heads)))
    net.release()
    return rows, list(_left_out(layer))


def _facts(net: Network, digest: bool = True) -> Mapping[str, Any]:
    named = (
        "family",
        *(["digest"] if digest else []),
        "n_layers",
        "dim",
        "head_dim",
        "causal",
        "norm",
        "shared",
        "positions",
    )
    found = {name: getattr(net, name) for name in named}
    return {"network": net.name, **{k: int(v) if isinstance(v, bool) else v for k, v in found.items()}}


def _row(head: Head, gain: Reals | float, tolerance: float) -> dict[str, Any]:
    # As `compress`, but nothing here needs more of its basis than the k columns that W_O spans.
    k, d = head.value.shape
    R: Any = np.linalg.qr(np.concatenate([head.output, head.value.T], axis=1), mode="r")
    C = R[:, :k] @ R[:, k:].T
    basis = np.linalg.qr(head.output)[0]
    row = _classified(C, k, d, tolerance)
    judged = triples.good(head.query @ basis, head.key @ basis, C[:k, :k], tolerance)
    norm = float(np.linalg.norm(C))
    return {
        "eigenvalues": eigenvalues(head.output, head.value),
        "lambda_max": row.lambda_max,
        "multiplicity": row.multiplicity,
        "regime": row.row,
        "prediction": row.prediction,
        "claim": row.claim,
        "claim_fails": "; ".join(row.fails),
        "good": judged.holds,
        "good_fails": " ".join(judged.fails),
        "lambda_1": judged.lambda_1,
        "overlap": head.scale * judged.overlap,
        **form_figures(head, gain),
        "value_norm": float(np.linalg.norm(C, 2)),
        "value_asymmetry": float(np.linalg.norm(C - C.T)) / (2 * norm) if norm else 0.0,
    }


def _left_out(layer: Layer) -> Iterable[str]:
    """What a head of ours has no place for."""
    if layer.head_dim < layer.dim:
        yield f"the {layer.dim - layer.head_dim} eigenvalues 0 of every V_h"
    named = {"query": layer.query_bias, "key": layer.key_bias, "value": layer.value_bias, "output": layer.output_bias}
    if given := [name for name, bias in named.items() if bias is not None and np.any(bias)]:
        yield f"the biases of {', '.join(given)}"
    if layer.attention_norm.kind == "layer":
        yield "the centring of the layer norm and its bias"
    if layer.order == "post":
        yield "the norm's gain in V_h and in the good triple (it stands after; beta_effective has it)"
    if layer.rotary is not None:
        yield "rotary positions (queries and keys at offset 0 are used)"
    if layer.query_norm is not None:
        yield "the norms of queries and keys"
    if layer.cap is not None:
        yield f"the cap of the logits at {layer.cap:g}"
    if layer.sink is not None:
        yield "the logit of the sink in every row"
    if layer.attention_after is not None:
        yield "the norm of what attention writes"
    if layer.window is not None:
        yield f"the window of {layer.window} tokens"
