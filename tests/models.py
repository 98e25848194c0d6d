"""Every option of a Model, and the pairings that share code. Tests that must hold for all models run over this list."""

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from tokenflock import start
from tokenflock.common_noise import CommonNoise
from tokenflock.groups import Groups
from tokenflock.interaction import Kernel, Normaliser
from tokenflock.masks import Blocks, Dilated, Prefix, RandomGraph, Sink
from tokenflock.model import Model, flow_at, logits, pulls
from tokenflock.options import Alibi, FeedForward, Frozen, LayerNorm, Window
from tokenflock.positions import Absolute, Rope, sinusoids
from tokenflock.varying import Schedule, redrawn
from tokenflock.weights import ginibre, jordan, paranormal, plane_rotation


class Named(NamedTuple):
    """A model and the words for it."""

    name: str
    model: Model

    def __str__(self):
        return self.name


def _matrices(d, seed=0):
    return {"query": ginibre(d, seed), "key": ginibre(d, seed + 1), "value": ginibre(d, seed + 2)}


def _heads(d, heads, seed=0):
    return {
        name: np.stack([ginibre(d, seed + 10 * k + h) for h in range(heads)])
        for k, name in enumerate(("query", "key", "value"))
    }


def _wide_feedforward(d, activation, hidden=7):
    draw = np.random.default_rng(5).standard_normal
    return FeedForward(draw((d, hidden)) / hidden, draw((hidden, d)), draw(hidden), activation)


def _frozen(d, m=3):
    return Frozen(start.uniform(m, d, seed=40), np.array([1.0, 2.5, 4.0])[:m])


def _sphere():
    """Masks, normalisers, forms, values and beta on the sphere, in the dimensions that have kernels of their own."""
    rectangular = {
        "query": np.random.default_rng(1).standard_normal((2, 5)),
        "key": np.random.default_rng(2).standard_normal((2, 5)),
    }
    yield "causal-d2", {"dim": 2, "beta": 9.0}
    yield "causal-d3", {"dim": 3, "beta": 9.0}
    yield "causal-d5", {"dim": 5, "beta": 4.0}
    yield "causal-d20", {"dim": 20, "beta": 4.0}
    yield "full-d2", {"dim": 2, "beta": 9.0, "mask": "full"}
    yield "full-d3", {"dim": 3, "beta": 9.0, "mask": "full"}
    yield "full-d5", {"dim": 5, "beta": 4.0, "mask": "full"}
    yield "full-d20", {"dim": 20, "beta": 4.0, "mask": "full"}
    yield "window-d2", {"dim": 2, "beta": 9.0, "mask": Window(4)}
    yield "window-both-d3", {"dim": 3, "beta": 9.0, "mask": Window(4, causal=False)}
    yield "window-both-d5-heads", {"dim": 5, "mask": Window(3, causal=False), **_heads(5, 2)}
    yield "window-d20", {"dim": 20, "beta": 4.0, "mask": Window(4)}
    yield "window-of-one", {"dim": 2, "mask": Window(1), "value": ginibre(2, 1)}
    yield "count-causal-d2", {"dim": 2, "normaliser": "count"}
    yield "count-full-d3", {"dim": 3, "normaliser": "count", "mask": "full"}
    yield "count-general-d5", {"dim": 5, "normaliser": "count", **_matrices(5)}
    yield "count-d20", {"dim": 20, "normaliser": "count"}
    yield "scaled-count-full-d2", {"dim": 2, "beta": 16.0, "normaliser": "scaled-count", "mask": "full"}
    yield (
        "scaled-count-window-d3",
        {"dim": 3, "beta": 16.0, "normaliser": "scaled-count", "mask": Window(4, causal=False)},
    )
    yield "scaled-count-general-d3", {"dim": 3, "normaliser": "scaled-count", **_matrices(3)}
    yield "general-d2", {"dim": 2, "beta": 2.0, **_matrices(2)}
    yield "general-d3-full", {"dim": 3, "beta": 2.0, "mask": "full", **_matrices(3)}
    yield "general-d5", {"dim": 5, "beta": 2.0, **_matrices(5)}
    yield "general-d20", {"dim": 20, "beta": 2.0, **_matrices(20)}
    yield "general-value-d2", {"dim": 2, "beta": 9.0, "value": ginibre(2, 3)}
    yield "general-value-d3-full", {"dim": 3, "beta": 9.0, "mask": "full", "value": ginibre(3, 3)}
    yield "scaled-form", {"dim": 3, "beta": 3.0, "query": 1.5 * np.eye(3), "mask": "full"}
    yield "negative-form", {"dim": 2, "beta": 3.0, "query": -np.eye(2)}
    yield "rectangular", {"dim": 5, "beta": 2.0, **rectangular}
    yield "minus-identity-causal-d2", {"dim": 2, "beta": 9.0, "value": -np.eye(2)}
    yield "minus-identity-full-d3", {"dim": 3, "beta": 9.0, "mask": "full", "value": -np.eye(3)}
    yield "rotating-value", {"dim": 2, "value": plane_rotation(1.0)}
    yield "jordan-value", {"dim": 3, "value": jordan(1.0, 3)}
    yield "zero-value", {"dim": 3, "value": np.zeros((3, 3))}
    yield "beta-zero-causal-d2", {"dim": 2, "beta": 0.0}
    yield "beta-zero-full-d3", {"dim": 3, "beta": 0.0, "mask": "full"}
    yield "beta-zero-count-d3", {"dim": 3, "beta": 0.0, "normaliser": "count"}
    yield "beta-zero-d20", {"dim": 20, "beta": 0.0, "mask": "full"}
    yield "beta-huge-causal-d2", {"dim": 2, "beta": 1e6}
    yield "beta-huge-full-d3", {"dim": 3, "beta": 1e6, "mask": "full"}
    yield "beta-huge-d20", {"dim": 20, "beta": 1e6}
    yield "beta-negative-d2", {"dim": 2, "beta": -3.0}
    yield "beta-negative-full-d3", {"dim": 3, "beta": -3.0, "mask": "full"}
    yield "beta-infinite-causal-d2", {"dim": 2, "beta": np.inf, "query": ginibre(2, 8)}
    yield "beta-infinite-full-d3", {"dim": 3, "beta": np.inf, "mask": "full", **_matrices(3)}
    yield "beta-infinite-frozen", {"dim": 3, "beta": np.inf, "frozen": _frozen(3), "query": ginibre(3, 8)}
    yield "heads-d2", {"dim": 2, "mask": "full", **_heads(2, 3)}
    yield "heads-d5", {"dim": 5, **_heads(5, 3)}
    yield "heads-share-a-form", {"dim": 3, "beta": 4.0, "value": np.stack([np.eye(3), 0.5 * ginibre(3, 2)])}
    yield "alibi-d2", {"dim": 2, "beta": 9.0, "bias": Alibi(0.3)}
    yield "alibi-full-d5", {"dim": 5, "mask": "full", "bias": Alibi(0.3)}
    yield "alibi-heads", {"dim": 3, "bias": Alibi((0.1, 0.5)), **_heads(3, 2)}
    yield "alibi-count-window", {"dim": 2, "bias": Alibi(0.2), "normaliser": "count", "mask": Window(5)}
    yield "frozen-d2", {"dim": 2, "beta": 9.0, "frozen": _frozen(2)}
    yield "frozen-count-d3", {"dim": 3, "normaliser": "count", "frozen": _frozen(3), "mask": "full"}
    yield "frozen-alibi-d3", {"dim": 3, "bias": Alibi(0.2), "frozen": _frozen(3)}
    yield "frozen-heads-d5", {"dim": 5, "frozen": _frozen(5), **_heads(5, 2)}
    yield "frozen-d20", {"dim": 20, "beta": 4.0, "frozen": _frozen(20)}
    for activation in ("relu", "tanh", "linear"):
        yield f"feedforward-{activation}", {"dim": 3, "beta": 2.0, "feedforward": _wide_feedforward(3, activation)}
    yield "feedforward-square-d2", {"dim": 2, "feedforward": FeedForward(0.5 * ginibre(2, 4)), "mask": "full"}
    yield "feedforward-d20", {"dim": 20, "feedforward": _wide_feedforward(20, "tanh")}


def _layer_norms():
    """The six of paper F, and their numbers."""
    for kind in ("post", "pre", "mix", "peri", "ngpt", "sqrt"):
        yield (
            f"{kind}-d3",
            {"dim": 3, "beta": 2.0, "mask": "full", "layer_norm": LayerNorm(kind, switch=0.7, radius=1.3)},
        )
    yield "pre-general-d2", {"dim": 2, "layer_norm": "pre", **_matrices(2), "value": np.eye(2) + 0.2 * ginibre(2, 2)}
    yield "peri-feedforward-d5", {"dim": 5, "layer_norm": "peri", "feedforward": _wide_feedforward(5, "tanh")}
    yield "ngpt-decay-d2", {"dim": 2, "beta": 4.0, "layer_norm": LayerNorm("ngpt", alpha=0.5, decay=0.5)}
    yield "mix-heads-d3", {"dim": 3, "layer_norm": LayerNorm("mix", switch=0.4), **_heads(3, 2)}
    yield "sqrt-d20", {"dim": 20, "layer_norm": "sqrt"}


def _open_spaces():
    """R^d, as it is and rescaled."""
    commuting = np.stack([0.5 * np.eye(2) + 0.25 * ginibre(2, 6), np.eye(2)])
    commuting[1] = commuting[0] @ commuting[0]
    for d in (1, 2, 3):
        yield f"euclidean-d{d}", {"dim": d, "space": "euclidean", "mask": "full"}
        yield f"rescaled-d{d}", {"dim": d, "space": "rescaled", "mask": "full"}
    yield "euclidean-general-d5", {"dim": 5, "space": "euclidean", "beta": 0.5, **_matrices(5)}
    yield "euclidean-count-d3", {"dim": 3, "space": "euclidean", "normaliser": "count", "value": -np.eye(3)}
    yield "euclidean-minus-identity", {"dim": 2, "space": "euclidean", "mask": "full", "value": -np.eye(2)}
    yield "euclidean-frozen", {"dim": 2, "space": "euclidean", "frozen": Frozen([[1.0, 2.0], [0.5, -1.0]], [1.0, 3.0])}
    yield "euclidean-feedforward", {"dim": 3, "space": "euclidean", "feedforward": _wide_feedforward(3, "tanh")}
    yield (
        "euclidean-heads-alibi",
        {"dim": 2, "space": "euclidean", "beta": 0.5, "bias": Alibi((0.1, 0.2)), **_heads(2, 2)},
    )
    yield "euclidean-d20", {"dim": 20, "space": "euclidean", "beta": 0.2}
    yield "euclidean-infinite", {"dim": 2, "space": "euclidean", "beta": np.inf, "mask": "full"}
    yield (
        "rescaled-causal-general",
        {"dim": 3, "space": "rescaled", "beta": 0.5, "query": ginibre(3, 1), "value": paranormal(3, 2)},
    )
    yield (
        "rescaled-window-count",
        {"dim": 2, "space": "rescaled", "beta": 0.1, "normaliser": "count", "mask": Window(4)},
    )
    yield "rescaled-heads", {"dim": 2, "space": "rescaled", "mask": "full", "beta": 0.5, "value": commuting}
    yield "rescaled-rotating", {"dim": 2, "space": "rescaled", "mask": "full", "value": plane_rotation(0.7)}
    yield "rescaled-alibi", {"dim": 2, "space": "rescaled", "bias": Alibi(0.3)}
    yield "rescaled-infinite", {"dim": 2, "space": "rescaled", "beta": np.inf, "mask": "full"}
    yield "rescaled-d5", {"dim": 5, "space": "rescaled", "mask": Window(9), "query": 0.3 * ginibre(5, 1)}
    yield "rescaled-mixed", {"dim": 3, "space": "rescaled", "mask": "full", "value": np.diag([1.0, 0.5, -0.2])}
    yield "rescaled-count", {"dim": 2, "space": "rescaled", "normaliser": "count", "beta": 0.2}
    yield "rescaled-d20", {"dim": 20, "space": "rescaled", "beta": 0.1, "value": 0.5 * np.eye(20)}
    for activation in ("relu", "tanh"):
        yield (
            f"rescaled-{activation}",
            {
                "dim": 2,
                "space": "rescaled",
                "mask": "full",
                "feedforward": FeedForward(np.eye(2), activation=activation),
            },
        )


def _noisy():
    """(E11)."""
    yield "noise-d2", {"dim": 2, "beta": 4.0, "noise": 0.3}
    yield "noise-full-d3-count", {"dim": 3, "noise": 0.3, "mask": "full", "normaliser": "count"}
    yield "noise-sqrt-d5", {"dim": 5, "noise": 0.2, "layer_norm": "sqrt"}
    yield "noise-euclidean", {"dim": 2, "space": "euclidean", "noise": 0.3, "value": -np.eye(2)}


def _varying():
    """(E18): at knots, drawn anew, all the time; with what else has weights."""
    steps = Schedule([0.0, 0.3, 0.7], np.stack([ginibre(3, k) for k in range(3)]))
    anew = redrawn(ginibre, every=0.4, seed=3)
    yield "varying-value-d3", {"dim": 3, "mask": "full", "value": steps}
    yield "varying-beta-count-d2", {"dim": 2, "normaliser": "scaled-count", "beta": Schedule([0.0, 0.5], [2.0, 5.0])}
    yield "varying-beta-infinite", {"dim": 3, "beta": np.inf, "query": anew, "mask": "full"}
    yield "varying-redrawn-d5", {"dim": 5, "query": anew, "key": anew, "value": anew}
    yield "varying-redrawn-heads-d2", {"dim": 2, "value": redrawn(ginibre, every=0.25, heads=3), "bias": Alibi(0.2)}
    yield "varying-redrawn-d20", {"dim": 20, "query": anew, "mask": Window(4)}
    yield "varying-feedforward", {"dim": 3, "feedforward": FeedForward(steps, activation="tanh"), "layer_norm": "mix"}
    yield "varying-euclidean", {"dim": 3, "space": "euclidean", "value": steps, "frozen": _frozen(3)}
    yield "varying-linear-d2", {"dim": 2, "beta": Schedule([0.0, 0.5, 9.0, 20.0], [1.0, 4.0, 2.0, 3.0], "linear")}
    yield "varying-noise-d3", {"dim": 3, "value": steps, "noise": 0.2}


def _placed(n):
    """Positions (E14) of n tokens."""
    wide = {name: np.random.default_rng(k).standard_normal((3, 4, 2)) for k, name in enumerate(("query", "key"))}
    uneven = Rope(base=20.0, positions=np.linspace(0.0, 3.0, n) ** 2)
    e = sinusoids(n, 5, base=10.0, scale=0.7)
    yield "rope-d2", {"dim": 2, "beta": 4.0, "position": Rope()}
    yield "rope-full-d3", {"dim": 3, "beta": 4.0, "mask": "full", "position": Rope(frequencies=[0.3])}
    yield "rope-heads-wide", {"dim": 2, "value": ginibre(2, 3), **wide, "position": Rope(base=9.0, fraction=0.5)}
    yield "rope-d5-window-alibi", {"dim": 5, "mask": Window(4), "bias": Alibi(0.2), **_matrices(5), "position": uneven}
    yield "rope-count-d3", {"dim": 3, "normaliser": "count", "position": uneven}
    yield "rope-d20-masses", {"dim": 20, "beta": 4.0, "position": uneven, "masses": 0.5 + 7 * np.arange(n) % 5}
    yield "rope-infinite-d5", {"dim": 5, "beta": np.inf, "mask": "full", **_matrices(5), "position": uneven}
    yield "rope-euclidean", {"dim": 3, "space": "euclidean", "beta": 0.5, "position": uneven}
    yield "rope-pre-feedforward", {
        "dim": 3, "layer_norm": "pre", "feedforward": _wide_feedforward(3, "tanh"), "position": uneven
    }  # fmt: skip
    yield "absolute-d5", {"dim": 5, "beta": 2.0, "position": Absolute(e)}
    yield "absolute-full-d5", {"dim": 5, "mask": "full", **_matrices(5), "position": Absolute(e)}
    yield "absolute-euclidean-heads", {"dim": 5, "space": "euclidean", **_heads(5, 2), "position": Absolute(e)}


def _grouped(n):
    """Groups (E20) of n tokens; the first token sees somebody whatever the mask."""
    if n < 2:
        return  # one token is one group
    kept = max(1, n // 3)
    labels, two = ["ab"[i * i % 3 > 0] for i in range(n)], ["text"] * (n - kept) + ["memory"] * kept
    own = lambda d, seed: {"a": ginibre(d, seed), "b": ginibre(d, seed + 1)}  # noqa: E731
    all_own = {"query": own(5, 1), "key": own(5, 3), "value": own(5, 5), "beta": {"a": 0.7, "b": 2.0}}
    heads = {"value": {name: np.stack([ginibre(3, k), ginibre(3, k + 2)]) for k, name in enumerate("ab")}}
    see, cross = {"a": ["b", "a"], "b": ["b"]}, {"text": ["memory"], "memory": ["text", "memory"]}
    yield "groups-own-d5", {"dim": 5, "mask": "full", "groups": Groups(labels, sees=see, **all_own)}
    yield "groups-causal-heads", {"dim": 3, "groups": Groups(labels, **heads), "bias": Alibi(0.1)}
    yield "groups-cross-d3", {"dim": 3, "beta": 4.0, "mask": "full", "groups": Groups(two, sees=cross)}
    yield "groups-rest-d2", {"dim": 2, "mask": "full", "groups": Groups(two, sees=cross | {"memory": []})}
    yield "groups-window-count", {"dim": 3, "mask": Window(4), "normaliser": "count", "groups": Groups(labels)}
    yield "groups-masses-rope", {
        "dim": 5, "mask": "full", "masses": 0.5 + 7 * np.arange(n) % 5, "groups": Groups(labels, **all_own),
        "position": Rope(base=9.0),
    }  # fmt: skip
    yield "groups-pre-d3", {"dim": 3, "mask": "full", "layer_norm": "pre", "groups": Groups(labels, beta=[1.0, 3.0])}
    yield "groups-euclidean", {"dim": 5, "mask": "full", "space": "euclidean", "groups": Groups(labels, **all_own)}
    yield "groups-infinite-d3", {"dim": 3, "beta": np.inf, "query": ginibre(3, 8), "groups": Groups(labels, **heads)}


def _shaken():
    """Noise common to all tokens (E21)."""
    own = CommonNoise(0.5, matrices=[ginibre(3, 1), ginibre(3, 2)])
    yield "common-shift-d2", {"dim": 2, "beta": 4.0, "common_noise": CommonNoise(0.4)}
    yield "common-rotation-d3-noise", {"dim": 3, "noise": 0.2, "common_noise": CommonNoise(0.4, "rotation")}
    yield "common-matrix-d5", {"dim": 5, "mask": "full", "common_noise": CommonNoise(0.3, "matrix")}
    yield "common-field-d3", {"dim": 3, "common_noise": CommonNoise(0.4, "field", length=0.3, waves=20, seed=3)}
    yield "common-own-d3", {"dim": 3, "normaliser": "count", "common_noise": own}
    yield "common-euclidean", {"dim": 3, "space": "euclidean", "value": -np.eye(3), "common_noise": own}


def _weighted(n):
    """Masses (E2), (E3) of n tokens, (n,), or (n, n) where some rows do not count some tokens."""
    i, j = np.arange(n)[:, None], np.arange(n)
    one = {"masses": 0.5 + 7 * j % 5}
    rows = {"masses": (3 * i + 5 * j) % 4 + 0.75 * (i == j)}
    yield "masses-causal-d2", {"dim": 2, "beta": 9.0, **one}
    yield "masses-full-d3", {"dim": 3, "beta": 9.0, "mask": "full", **one}
    yield "masses-window-d5", {"dim": 5, "beta": 4.0, "mask": Window(4, causal=False), **one}
    yield "masses-full-d20", {"dim": 20, "beta": 4.0, "mask": "full", **one}
    yield "masses-heads-d3", {"dim": 3, **_heads(3, 2), **one}
    yield "masses-count-d2", {"dim": 2, "normaliser": "count", **one}
    yield "masses-scaled-count-d3", {"dim": 3, "beta": 16.0, "normaliser": "scaled-count", "mask": Window(4), **one}
    yield "masses-infinite-full-d3", {"dim": 3, "beta": np.inf, "mask": "full", "query": ginibre(3, 8), **one}
    yield "masses-alibi-d5", {"dim": 5, "bias": Alibi(0.3), **one}
    yield "masses-frozen-d3", {"dim": 3, "frozen": _frozen(3), "mask": "full", **one}
    yield "masses-pre-d3", {"dim": 3, "layer_norm": "pre", **one}
    yield "masses-euclidean-d2", {"dim": 2, "space": "euclidean", "mask": "full", "beta": 0.5, **one}
    yield "masses-rescaled-d2", {"dim": 2, "space": "rescaled", "mask": "full", **one}
    yield "masses-rescaled-d5", {"dim": 5, "space": "rescaled", "query": 0.3 * ginibre(5, 1), "bias": Alibi(0.1), **one}
    yield "masses-rescaled-count", {"dim": 2, "space": "rescaled", "normaliser": "count", "beta": 0.2, **one}
    yield "masses-noise-d2", {"dim": 2, "beta": 4.0, "noise": 0.3, **one}
    yield "masses-rows-d2", {"dim": 2, "beta": 9.0, "mask": "full", **rows}
    yield "masses-rows-causal-d3", {"dim": 3, "beta": 9.0, **rows}
    yield "masses-rows-d20", {"dim": 20, "beta": 4.0, "mask": Window(5, causal=False), **rows}
    yield "masses-rows-frozen-d2", {"dim": 2, "normaliser": "count", "frozen": _frozen(2), **rows}
    yield "masses-rows-infinite-d3", {"dim": 3, "beta": np.inf, "query": ginibre(3, 8), "frozen": _frozen(3), **rows}
    yield "masses-relu-l2-d3", {"dim": 3, "kernel": "relu", "normaliser": "l2", "mask": "full", **one}
    yield "masses-rows-others-d2", {"dim": 2, "kernel": "sigmoid", "normaliser": Normaliser("count", own=False), **rows}
    yield "masses-sinkhorn-d2", {"dim": 2, "mask": "full", "normaliser": "sinkhorn", **one}
    yield "masses-rows-rescaled-d3", {"dim": 3, "space": "rescaled", "mask": "full", "beta": 0.5, **rows}


def _own_masks(n):
    """(E19): masks and biases of n tokens, by name, as arrays, sparse, as functions, and for each head."""
    draw = np.random.default_rng(7)
    graph = (draw.random((n, n)) < 0.3) | np.eye(n, dtype=bool)
    blind = draw.random((n, n)) < 0.4  # not every token sees itself
    blind[np.arange(n), (np.arange(n) + 1) % n] = True
    two, bias = np.stack([graph, np.tril(graph)]), draw.standard_normal((n, n))
    mass = {"masses": 0.5 + 7 * np.arange(n) % 5}
    yield "graph-d2", {"dim": 2, "beta": 9.0, "mask": graph}
    yield "graph-blind-d3", {"dim": 3, "beta": 9.0, "mask": blind}
    yield "graph-causal-d3", {"dim": 3, "beta": 9.0, "mask": np.tril(graph)}
    yield "graph-heads-d5", {"dim": 5, "mask": two, **_heads(5, 2)}
    yield "graph-heads-alone", {"dim": 2, "beta": 2.0, "mask": ("causal", Window(3, causal=False))}
    yield "graph-d20", {"dim": 20, "beta": 4.0, "mask": graph}
    yield "graph-count-d2", {"dim": 2, "mask": blind, "normaliser": "count"}
    yield "graph-scaled-count-d3", {"dim": 3, "beta": 16.0, "mask": graph, "normaliser": "scaled-count"}
    yield "graph-infinite-d3", {"dim": 3, "beta": np.inf, "mask": graph, "query": ginibre(3, 8), "frozen": _frozen(3)}
    yield "graph-frozen-empty-rows", {"dim": 2, "mask": np.triu(graph, 1), "frozen": _frozen(2)}
    yield "graph-alibi-d5", {"dim": 5, "mask": graph, "bias": Alibi(0.3)}
    yield "graph-masses-d3", {"dim": 3, "mask": graph, **mass}
    yield "graph-masses-count", {"dim": 2, "mask": blind, "normaliser": "count", "bias": bias, **mass}
    yield "graph-masses-infinite", {"dim": 2, "beta": np.inf, "mask": graph, "query": ginibre(2, 8), **mass}
    yield "graph-pre-d3", {"dim": 3, "mask": graph, "layer_norm": "pre"}
    yield "graph-noise-d2", {"dim": 2, "mask": graph, "noise": 0.3}
    yield "graph-feedforward", {"dim": 3, "mask": graph, "feedforward": _wide_feedforward(3, "tanh")}
    yield "graph-euclidean", {"dim": 2, "space": "euclidean", "mask": graph, "beta": 0.5}
    yield "graph-rescaled-d2", {"dim": 2, "space": "rescaled", "mask": graph}
    yield "graph-rescaled-bias-d5", {"dim": 5, "space": "rescaled", "mask": blind, "bias": bias, "beta": 0.3}
    yield "graph-rescaled-infinite", {"dim": 2, "space": "rescaled", "beta": np.inf, "mask": graph}
    yield "dilated-d3", {"dim": 3, "beta": 9.0, "mask": Dilated(3, gap=2)}
    yield "dilated-both-d2", {"dim": 2, "beta": 9.0, "mask": Dilated(3, gap=3, causal=False)}
    yield "blocks-d3", {"dim": 3, "beta": 9.0, "mask": Blocks(4, width=2)}
    yield "blocks-both-d2", {"dim": 2, "beta": 9.0, "mask": Blocks(4, causal=False)}
    yield "prefix-d5", {"dim": 5, "beta": 4.0, "mask": Prefix(6)}
    yield "prefix-d20", {"dim": 20, "beta": 4.0, "mask": Prefix(6)}
    yield "sink-d2", {"dim": 2, "beta": 9.0, "mask": Sink(3, sinks=2)}
    yield "random-graph-d3", {"dim": 3, "beta": 9.0, "mask": RandomGraph(0.3, seed=1)}
    yield "bias-d3", {"dim": 3, "beta": 9.0, "bias": bias}
    yield "bias-full-d20", {"dim": 20, "mask": "full", "bias": bias}
    yield "bias-heads", {"dim": 3, "bias": np.stack([bias, bias.T]), **_heads(3, 2)}
    yield "bias-blocks-rescaled", {"dim": 2, "space": "rescaled", "mask": Blocks(4), "bias": bias}
    yield "bias-sparse", {"dim": 2, "mask": graph, "bias": sparse.csr_array(bias * (bias > 1))}


def _interactions():
    """Kernels (E15) and normalisers (E16), (E17). Compiled code is made for each kernel, so they are few."""
    window = Window(4, causal=False)
    yield "relu-d2", {"dim": 2, "beta": 3.0, "kernel": "relu"}
    yield "relu-pre-d2", {"dim": 2, "kernel": "relu", "layer_norm": "pre", "value": ginibre(2, 3)}
    yield "relu-noise-d2", {"dim": 2, "kernel": "relu", "beta": 2.0, "noise": 0.3}
    yield "sigmoid-full-d3-heads", {"dim": 3, "mask": "full", "kernel": Kernel("sigmoid", bias=-1.0), **_heads(3, 2)}
    yield "power-count-d5", {"dim": 5, "kernel": Kernel("power", power=3.0), "normaliser": "count", "mask": window}
    yield "linear-none-d2", {"dim": 2, "beta": 0.5, "kernel": "linear", "normaliser": "none", "mask": "full"}
    yield "cosine-l2-d3", {"dim": 3, "kernel": "cosine", "normaliser": "l2", "mask": "full"}
    yield "gaussian-sink-d2", {"dim": 2, "kernel": Kernel("gaussian", width=0.7), "normaliser": Normaliser("sink")}
    yield "bounded-full-d3", {"dim": 3, "kernel": Kernel("bounded", radius=1.1), "mask": "full"}
    yield "own-d2", {"dim": 2, "beta": 2.0, "kernel": lambda s: np.exp(s) / (1 + s * s)}
    yield "own-d20", {"dim": 20, "beta": 2.0, "kernel": lambda overlap, distance: np.exp(overlap - distance**3)}
    yield (
        "own-frozen-alibi-d3",
        {"dim": 3, "kernel": own_choice, "frozen": _frozen(3), "bias": Alibi(0.2), "normaliser": Normaliser(own=False)},
    )
    libm = "1.5 + tanh(logit) + sin(logit) / 3 + log1p(distance)"
    yield "own-euclidean-d3", {"dim": 3, "space": "euclidean", "beta": 0.5, "kernel": libm, **_matrices(3)}
    yield "own-euclidean-d1", {"dim": 1, "space": "euclidean", "kernel": "exp(-distance)", "value": [[-1.0]]}
    yield "exp-none-d2", {"dim": 2, "beta": 0.5, "normaliser": "none"}
    yield "exp-others-count-d2", {"dim": 2, "normaliser": Normaliser("count", own=False), "mask": "full"}
    yield "exp-l2-full-d3", {"dim": 3, "beta": 9.0, "normaliser": "l2", "mask": "full"}
    yield "exp-sink-heads-d20", {"dim": 20, "normaliser": Normaliser("sink", own=False, logit=1.0), **_heads(20, 2)}
    yield (
        "exp-positions-d3",
        {"dim": 3, "bias": Alibi((0.1, 0.4)), "normaliser": Normaliser("positions", own=False), **_heads(3, 2)},
    )
    yield "sinkhorn-d2", {"dim": 2, "beta": 3.0, "mask": "full", "normaliser": "sinkhorn"}
    yield "sinkhorn-window-d3", {"dim": 3, "mask": window, "normaliser": "sinkhorn", "bias": Alibi(0.1), **_heads(3, 2)}
    yield "sinkhorn-own-d5", {"dim": 5, "mask": "full", "normaliser": "sinkhorn", "kernel": "exp(-distance)"}


def is_kinked(model):
    """Whether weights have kinks or jumps, over which steps are good to the tolerance only."""
    kernel = model.own_kernel
    return kernel is not None and any(word in kernel.function.source for word in ("max", " if ", "where"))


def own_choice(overlap, logit):
    """A function of statements, with a kink."""
    near = 1 + max(overlap, 0.0)
    return (near if overlap > 0 else np.exp(overlap)) * np.exp(logit / 4)


def every_model_option(n_tokens=None):
    """All of them, as a list of Named; those with masses, masks or positions too, if the number of tokens is given."""
    families = [_sphere(), _layer_norms(), _open_spaces(), _noisy(), _varying(), _interactions()]
    families += (
        [_weighted(n_tokens), _placed(n_tokens), _grouped(n_tokens), _shaken(), _own_masks(n_tokens)]
        if n_tokens
        else []
    )
    return [Named(name, Model(**options)) for family in families for name, options in family]


def size_of(model, usual):
    """For how many tokens a model is, where it has arrays that say so."""
    for part in (model.masses, model.bias):
        if isinstance(part, np.ndarray):
            return part.shape[-1]
    return getattr(model.mask, "n_tokens", usual)


def tokens_for(model, n, seed=0, runs=None):
    """A start that suits a model's space; at a huge beta so close together that tokens feel each other."""
    if 1e5 < model.beta < np.inf:
        return start.cap(n, model.dim, 3 * math.sqrt(model.dim / model.beta), seed=seed, runs=runs)
    if model.space == "sphere":
        return start.uniform(n, model.dim, seed=seed, runs=runs)
    return start.cube(n, model.dim, seed=seed, runs=runs)


def amplification(model, x, t=0.0):
    """What multiplies rounding in the velocity of a model at x: logits are rounded before they are exponents, the sums
    have the size of mass times value, and some layer norms divide by |D|."""
    flow = flow_at(model, t)
    s = logits(model, x, flow)
    p, mass = pulls(model, x, flow)
    reach = np.linalg.norm(x, axis=-1).max()
    heads = np.linalg.norm(model.values, axis=(-2, -1)).sum() + 1
    smallest = 1.0
    if model.norm.kind in ("peri", "ngpt"):
        smallest = np.linalg.norm(((p + mass * x) @ np.swapaxes(model.values, -1, -2)).sum(axis=0), axis=-1).min()
    exponent = 0.0 if np.isinf(model.beta) else np.abs(s[np.isfinite(s)]).max()
    return float((1 + exponent) * heads * max(1.0, mass.max()) * max(1.0, reach) / min(1.0, smallest))
