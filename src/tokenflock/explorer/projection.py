"""From d dimensions to the two or three of the view: as they are, or along named directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock.geometry import Array
from tokenflock.model import Model

SHOWN = 3


@dataclass(frozen=True, eq=False)
class Projection:
    """x -> (x - center) @ axes, and the words for it."""

    how: str  # "as they are", "eigenvectors", "principal", "line"
    words: str
    axes: Array  # (d, k)
    center: Array  # (d,)

    def __call__(self, x: Array) -> Array:
        """Tokens (..., n, d) as the view has them, (..., n, 2 or 3)."""
        if self.how == "as they are":
            return x
        shown = (x - self.center) @ self.axes
        if self.how != "line":
            return shown
        n = x.shape[-2]
        # One coordinate across; upwards the index, so that tokens that meet can be told apart.
        up = np.broadcast_to((np.arange(n) + 0.5)[:, None] / n - 0.5, shown.shape)
        return np.concatenate([shown, up], axis=-1)

    def described(self) -> dict[str, Any]:
        """For the page."""
        return {"how": self.how, "words": self.words}


def choose(model: Model, how: str = "eigenvectors", x: Array | None = None) -> Projection:
    """The projection of a model's tokens; how: of more than three dimensions. x: tokens for "principal"."""
    d = model.dim
    if d == 1:
        return Projection("line", "across: the token; upwards: its index", np.eye(1), np.zeros(1))
    if d <= SHOWN:
        return Projection("as they are", f"all {d} coordinates", np.eye(d), np.zeros(d))
    if how == "principal" and x is not None:
        return _principal(x, d)
    return _eigenvectors(model, d)


def _eigenvectors(model: Model, d: int) -> Projection:
    """An orthonormal basis of the eigenvectors of V (summed over heads) with the largest real parts."""
    lam, vectors = np.linalg.eig(model.values.sum(axis=0))
    columns: list[Array] = []
    for k in np.argsort(-lam.real, kind="stable"):
        if lam[k].imag >= 0:  # its conjugate spans the same plane
            columns += [vectors[:, k].real, vectors[:, k].imag] if lam[k].imag else [vectors[:, k].real]
    Q, R = np.linalg.qr(np.stack(columns[:SHOWN], axis=1))
    signs = np.where(np.diag(R) < 0, -1.0, 1.0)
    words = f"3 of {d} dimensions: the top eigenvectors of V"
    return Projection("eigenvectors", words, Q[:, :SHOWN] * signs, np.zeros(d))


def _principal(x: Array, d: int) -> Projection:
    """Where the tokens of one frame differ most, seen from their mean."""
    center = x.mean(axis=0)
    _, size, rows = np.linalg.svd(x - center, full_matrices=True)
    total = float((size**2).sum())
    share = float((size[:SHOWN] ** 2).sum()) / total if total > 0 else 1.0
    words = f"3 of {d} dimensions: principal components of one frame ({100 * share:.0f} % of its variance)"
    return Projection("principal", words, rows[:SHOWN].T, center)
