"""What is predicted: the row of paper A's atlas on the sphere, the theorems of paper B in R^d; how far off it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock.analysis import spectrum, triple
from tokenflock.geometry import Array
from tokenflock.model import Model

MOST = 16  # dimensions up to which V is edited in the page
#: row -> the words for the largest distance of a token from where the row says it ends
GAPS = {
    "first-token": "from x\u2081(0)",
    "one-point": "from the predicted point of L",
    "two-points": "from \u03be or \u2212\u03be",
    "cloud": "from L",
    "two-clouds": "from \u03be or \u2212\u03be",
    "rotating": "from L",
    "jordan": "from L",
    "zero": "from L",
}


#: statement of paper B -> its words
OPEN = {
    "theorem-3.1": "the rescaled tokens tend to 0 or to the boundary of a convex polytope, most to its vertices",
    "theorem-4.2": "every token tends to one of at most three parallel hyperplanes",
    "theorem-5.2": "tokens tend to the boundary of a polytope in the leading eigenspace, times the rest of the space",
    "negative-identity": "every token tends to 0, like t^(-1/2)",
}


@dataclass(frozen=True, eq=False)
class Prediction:
    """What the spectrum of V says, and what keeps it from being a statement of the paper."""

    regime: spectrum.Regime | None
    values: Array  # the eigenvalues of V, complex, the largest real part first
    basis: dict[
        str, Any
    ]  # "basis" S and "inverse" of V = S D S^-1, D as weights.spectrum has it; empty if there is none
    notes: tuple[str, ...]
    statement: str = ""  # of paper B, in R^d

    def gap(self, x: Array, first: Array) -> float:
        """The largest distance, over the sphere, of a token x (n, d) from its predicted limit; nan if there is none.

        first: the first token at time 0.
        """
        if self.regime is None:
            return math.nan
        row, L = self.regime.row, self.regime.L
        if row == "first-token":
            return _farthest(x @ first)
        inside = x @ L
        if row == "one-point":
            goal = L @ (first @ L)
            size = float(np.linalg.norm(goal))
            return _farthest(x @ goal / size) if size > 1e-12 else math.nan
        return _farthest(np.linalg.norm(inside, axis=1))

    def distance(self, x: Array) -> float:
        """The mean distance of the tokens from L on the sphere: pi/2 at most."""
        if self.regime is None:
            return math.nan
        inside = np.linalg.norm(x @ self.regime.L, axis=1)
        outside = np.linalg.norm(x - (x @ self.regime.L) @ self.regime.L.T, axis=1)
        return float(np.arctan2(outside, inside).mean())

    def described(self) -> dict[str, Any]:
        """For the page."""
        told: dict[str, Any] = {
            "eigenvalues": [[float(v.real), float(v.imag)] for v in self.values],
            "notes": list(self.notes),
            **self.basis,
        }
        if self.regime is None:
            words = OPEN.get(self.statement, "the papers have no statement for this model")
            claim = f"emergence/{self.statement}" if self.statement else ""
            return told | {"row": "", "words": words, "claim": claim, "gap": ""}
        regime = self.regime
        lam = regime.lambda_max
        return told | {
            "row": regime.row,
            "words": regime.prediction,
            "claim": f"causal/{regime.claim}" if regime.claim else "",
            "lambda_max": [lam.real, lam.imag],
            "multiplicity": regime.multiplicity,
            "gap": GAPS[regime.row],
        }


def _farthest(overlaps: Array) -> float:
    return float(np.arccos(np.clip(overlaps.min(), -1.0, 1.0)))


def _basis(value: Array) -> tuple[Array, dict[str, Any]]:
    """Eigenvalues in order, a + bi before a - bi, and real columns: one for a real one, two for a pair."""
    found, vectors = np.linalg.eig(value)
    order = np.lexsort((-found.imag, -np.abs(found.imag), -np.round(found.real, 12)))
    found, vectors = found[order], vectors[:, order]
    # Of a + bi with eigenvector u + iv: V [u v] = [u v] [[a, b], [-b, a]].
    S = np.where(found.imag < 0, -vectors.imag, vectors.real)
    if len(value) > MOST or np.linalg.cond(S) > 1e8:
        return found, {}
    return found, {"basis": S.tolist(), "inverse": np.linalg.inv(S).tolist()}


def _in_the_open(model: Model, value: Array) -> tuple[tuple[str, ...], str]:
    """Notes, and the statement of paper B whose hypotheses on (Q, K, V) a model satisfies, "" if none."""
    plain = model.mask == "full" and model.normaliser == "softmax" and model.feedforward is None
    if model.n_heads > 1:
        return ("several heads are an open question",), ""
    if model.varying or not model.usual:
        return ("paper B is about softmax attention whose weights do not change",), ""
    if not plain or model.frozen is not None or model.masses is not None or model.noisy or model.placed:
        return ("paper B is about full softmax attention and nothing else",), ""
    if model.space == "euclidean":
        minus = np.array_equal(value, -np.eye(model.dim)) and np.array_equal(model.form[0], np.eye(model.dim))
        return ((), "negative-identity") if minus else (("see it rescaled: z = exp(-tV) x",), "")
    many = triple.good_with_multiplicity(model.form[0], None, value)  # <Q x, K y> = <B x, y> up to a transpose
    if many.holds and many.multiplicity == model.dim:
        return (), "theorem-3.1"
    one = triple.good(model.form[0], None, value)
    if one.holds:
        return (), "theorem-4.2"
    return ((), "theorem-5.2") if many.holds else ((one.fails[0].rstrip("."),), "")


def predict(model: Model) -> Prediction:
    """The prediction for a model: of paper A, for one head on the sphere; V alone decides the row."""
    value = model.values.sum(axis=0)
    eigenvalues, basis = _basis(value)
    if model.space != "sphere" or model.n_heads > 1:
        return Prediction(None, eigenvalues, basis, *_in_the_open(model, value))
    regime = spectrum.classify(value)
    notes = list(regime.fails)
    parts = (
        (model.mask != "causal", "the statement is for causal attention"),
        (model.normaliser != "softmax", "the statement is for softmax weights"),
        (model.feedforward is not None, "a feed-forward part is outside the atlas"),
        (model.frozen is not None, "frozen tokens are outside the atlas"),
        (model.noisy, "noise is outside the atlas"),
        (model.position is not None, "positions are outside the atlas"),
        (model.groups is not None, "groups are outside the atlas"),
        (model.masses is not None, "masses are outside the atlas"),
        (bool(model.varying), "weights that change are outside the atlas"),
        (not model.usual, "a kernel or normaliser of one's own is outside the atlas"),
    )
    notes += [words for applies, words in parts if applies]
    return Prediction(regime, eigenvalues, basis, tuple(notes))
