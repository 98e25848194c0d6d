"""Paper B, V = -I: all tokens tend to 0, and how fast: like t^(-1/2), not exponentially (B.7)."""

from __future__ import annotations

from functools import partial

import numpy as np

from tokenflock import plot
from tokenflock.analysis import attention
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.papers import layout
from tokenflock.papers.claims.emergence.runs import follow
from tokenflock.papers.claims.ledger import Check, Trial, claim

NEAR = 0.05  # the eigenvalues of 2t C are off by 1/(2t c), c those of the start: with n > 2d not small ones


def covariance(x: Array) -> Array:
    """Eigenvalues of the covariance of tokens x (..., n, d) on the span of their deviations, increasing: (..., m)."""
    n, d = x.shape[-2:]
    c = x - x.mean(axis=-2, keepdims=True)
    values = np.linalg.eigvalsh(np.swapaxes(c, -1, -2) @ c / n)
    return values[..., d - min(n - 1, d) :]


@claim(
    "emergence/negative-identity",
    kind="theorem",
    statement="V = -I, Q'K = I, not rescaled: every |x_i(t)| tends to 0, so that P tends to (1/n) 11'. The rate (not "
    "in the paper): the covariance obeys C' ~ -2 C^2, so 2t C tends to the identity on the span of the deviations, "
    "and |x_i| is of the order of t^(-1/2).",
    hypotheses=("V = -I", "Q'K = I"),
    trial="2d + 2 to 24 uniform tokens in [-1, 1]^d, d of 1 to 5, followed to t_end.",
    measured="the largest |x_i| over that of the start, |eigenvalue of 2t C - 1|, t |P - 1/n| / 20, and the mean over "
    "the deviations",
    rule="below 0.1; below 0.05; below 1; below 1e-3",
    sizes={"trials": 40},
    quick={"trials": 6, "t_end": 3e3},
)
def negative_identity(check: Check, t_end: float = 1e4, value: float = -1.0, form: float = 1.0) -> None:
    """value, form: factors of the identity in V and Q'K."""
    curves: list[tuple[Array, Array]] = []

    def one(generator: np.random.Generator, what: str) -> Trial:
        d = int(generator.integers(1, 6))
        n = int(generator.integers(2 * d + 2, 25))
        model = Model(dim=d, space="euclidean", mask="full", value=value * np.eye(d), key=form * np.eye(d))
        start = generator.uniform(-1, 1, (n, d))
        times = np.geomspace(1, t_end, 25)
        x = follow(model, start, times)
        if x is None:  # the only way not to get there: tokens that escape
            return Trial(False, np.inf, "tokens escape.")
        end, size = x[-1], float(np.linalg.norm(start, axis=1).max())
        if what == "2t C":
            eigenvalues = 2 * times[:, None] * covariance(x)
            curves.append((times, eigenvalues))
            off = float(np.abs(eigenvalues[-1] - 1).max())
            return Trial(off < NEAR, off)
        if what == "P":
            off = float(np.abs(n * attention.matrix(model, end) - 1).max()) * t_end / (20 * n)
            return Trial(off < 1, off)
        if what == "mean":
            off = float(np.linalg.norm(end.mean(axis=0)) / np.sqrt(covariance(end).sum()))
            return Trial(off < 1e-3, off)
        off = float(np.linalg.norm(end, axis=1).max()) / size
        return Trial(off < 0.1, off)

    bounds = {"|x|": 0.1, "2t C": NEAR, "P": 1.0, "mean": 1e-3}
    for what, words in (
        ("|x|", "|x_i| -> 0"),
        ("2t C", "2t C -> I"),
        ("P", "P -> 1/n"),
        ("mean", "mean << deviations"),
    ):
        check.each(words, partial(one, what=what), bounds[what])
    check.draw = lambda: _draw_covariances(curves)


def _draw_covariances(curves: list[tuple[Array, Array]]) -> plot.Figure:
    figure, (ax,) = layout.row(1, 2.6, plot.COLUMN * 1.3)
    for t, eigenvalues in sorted(curves, key=lambda curve: curve[1][0, 0]):  # trials end in any order
        ax.plot(t, np.abs(1 - eigenvalues), lw=0.6, alpha=0.7, color=plot.COLOURS["blue"])
    if curves:
        t = curves[0][0]
        ax.plot(t, 3 / t, "--", color=plot.COLOURS["black"], label="slope of $1/t$")
    ax.set(xscale="log", yscale="log", xlabel="time $t$", ylabel="|eigenvalue of $2t\\,C$ $-$ 1|")
    ax.legend()
    return figure
