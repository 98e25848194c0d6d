"""Where Q and K overcome V: the rows of the atlas under structured Q and K, scaled up to 100 times.

The atlas lets V alone decide the limit. It does not: take d = 2, V = diag(1, r) with 0 < r < 1, Q'K = s J with J the
quarter turn [[0, 1], [-1, 0]], and the first token at its limit (1, 0). The second one, at angle phi, obeys

    phi' = -sin(phi) g(phi),   g = (1 - r)(1 - a) cos(phi) + a,   a = 1 / (1 + e^{s sin(phi)}),

and where s is large g is negative beyond pi/2 but r/2 > 0 at pi. So g rises through 0 at an angle phi* in between,
where the token rests for good: -xi, which Conjecture 1 allows, repels it on this side. For large s,
pi - phi* = log(1 / (1 - r)) / s. Under Conjecture 2 (an eigenspace L of dimension 2 or more) the second token cannot
rest so: off L it would be an eigenvector of some mu < lambda there, and it leaves along the directions of L across the
first token, which grow with (1 - a)(lambda - mu) > 0.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import spectrum
from tokenflock.errors import unknown
from tokenflock.geometry import Array, distance, to_sphere
from tokenflock.model import Model, velocity
from tokenflock.papers.claims.causal.limits import FOREVER, barred, pull_back
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.papers.layout import panels
from tokenflock.simulation import simulate
from tokenflock.weights import orthonormal_rows

VALUES = {
    "first-token": (1.0, 1.0, 1.0),
    "one-point": (1.0, 1.0, -0.5),
    "two-points": (1.0, 0.5, 0.2),
    "cloud": (-1.0, -1.0, -2.0),
    "two-clouds": (-1.0, -2.0, -3.0),
}
FAMILIES = ("identity", "orthogonal", "diagonal", "gaussian", "low-rank")
THERE = 1e-3  # radians: this near to a predicted place a token is there
STILL = 1e-8  # a slower token rests, or is metastable: the Jacobian tells which
STABLE = -1e-3  # eigenvalues below this pull back; those of a metastable token are e^{-scale}, either side of 0
SETTLING = 1e4  # implicit steps of this time settle what comes to rest; what goes round for ever they do not end
MERGED = 1e-9  # radians: tokens this close are at one place
RTOL = 1e-8  # resting places are held against closed forms
TURN = np.array([[0.0, 1.0], [-1.0, 0.0]])


def resting_angle(scale: float, ratio: float) -> float:
    """phi* above, nan where g has no rising zero: Q and K are then too weak."""
    from scipy.optimize import brentq

    def g(phi: Any) -> Any:
        a = 1 / (1 + np.exp(np.minimum(scale * np.sin(phi), 700.0)))  # exp(709) is the last finite one
        return (1 - ratio) * (1 - a) * np.cos(phi) + a

    grid = np.linspace(np.pi / 2, np.pi, 4001)
    values = g(grid)
    if values.min() >= 0:
        return math.nan
    return float(brentq(g, grid[int(values.argmin())], np.pi))


def drawn(rng: np.random.Generator, family: str, d: int, scale: float) -> tuple[Array, Array]:
    """Q and K of a family; scale multiplies Q, and with it the logits."""
    if family == "identity":
        return scale * np.eye(d), np.eye(d)
    if family == "orthogonal":
        return scale * orthonormal_rows(rng, d, d), orthonormal_rows(rng, d, d)
    if family == "diagonal":
        return scale * np.diag(rng.standard_normal(d)), np.diag(rng.standard_normal(d))
    if family == "gaussian":
        return scale * rng.standard_normal((d, d)) / math.sqrt(d), rng.standard_normal((d, d)) / math.sqrt(d)
    if family == "low-rank":
        return scale * rng.standard_normal((1, d)), rng.standard_normal((1, d))
    raise unknown("family", family, FAMILIES)


def places(regime: spectrum.Regime, first: Array) -> Array:
    """The points that a positive row of the atlas allows, (k, d), for the start of the first token."""
    if regime.row == "two-points":
        return np.stack([regime.L[:, 0], -regime.L[:, 0]])
    inside = regime.L @ (regime.L.T @ first)
    return (inside / np.linalg.norm(inside))[None]


def judged(model: Model, x: Array, allowed: Array) -> tuple[bool | None, float, str]:
    """(ok, distance of the token that is farthest from all allowed places, the word).

    Elsewhere is said only of a token that never comes: all before it are at their allowed places, and it rests and
    returns when pushed, or every allowed place repels it. A cluster that waits e^{scale} long for its merger is
    undecided.
    """
    off = np.min([distance(x, p) for p in allowed], axis=0)
    if off.max() < THERE:
        return True, float(off.max()), "predicted"
    k = int(np.argmax(off >= THERE))
    still = np.linalg.norm(velocity(model, x)[: k + 1], axis=1).max() < STILL
    if (still and pull_back(model, x, k) < STABLE) or barred(model, x, k, allowed):
        return False, float(off[k]), "elsewhere"
    return None, float(off.max()), "undecided"


def _end(model: Model, start: Array, t_end: float, scheme: str = "tsit5") -> Array | None:
    """Where the tokens are at t_end; None if the run broke off, which says nothing about its limit."""
    x = simulate(model, start, t_end, times=[t_end], scheme=scheme, rtol=RTOL, throw=False, progress=False)["x"].values
    return x[0] if len(x) and np.isfinite(x).all() else None


def followed(model: Model, start: Array, t_end: float, allowed: Array) -> tuple[bool | None, float, str]:
    """As `judged` at t_end; what is not decided there goes on by implicit steps, to which waiting costs nothing."""
    said: tuple[bool | None, float, str] = (None, math.nan, "undecided")
    x = _end(model, start, t_end)
    for more in (*FOREVER, 0.0):
        if x is None or (said := judged(model, x, allowed))[0] is not None or not more:
            break
        x = _end(model, x, more, "rosenbrock")
    return said


def _one(rng: np.random.Generator, row: str, families: tuple[str, ...], scale: float, n: int, t_end: float) -> Trial:
    """One run of one row, with Q and K of a random family."""
    family = families[int(rng.integers(len(families)))]
    value = np.diag(VALUES[row])
    query, key = drawn(rng, family, 3, scale)
    model = Model(dim=3, query=query, key=key, value=value)
    start = to_sphere(rng, (n, 3))
    regime = spectrum.classify(value)
    if regime.lambda_max.real > 0:
        ok, off, word = followed(model, start, t_end, places(regime, start[0]))
        return Trial(ok, off, data=(family, word))
    x, ok, off = _end(model, start, t_end), None, math.nan
    for more in (SETTLING, 0.0):  # explicit steps leave what rests a speed of their tolerance
        if x is None:
            break
        off = 1 - float(np.mean(np.sum((x @ regime.L) ** 2, axis=1)))
        ok = _cloud(model, x, off < 1 - regime.L.shape[1] / 3)
        if ok is not None or not more:
            break
        x = _end(model, x, more, "rosenbrock")
    return Trial(ok, off, data=(family, {True: "predicted", None: "undecided", False: "elsewhere"}[ok]))


def _cloud(model: Model, x: Array, around: bool) -> bool | None:
    """A cloud: tokens nearer to L than uniform ones are, no two at one place. What is at rest for good can refute it:
    two tokens that have merged, or all tokens where they are no nearer to L."""
    speeds = np.linalg.norm(velocity(model, x), axis=1)
    for k in range(1, len(x)):
        if distance(x[:k], x[k]).min() < MERGED:
            return False if speeds[: k + 1].max() < STILL and pull_back(model, x, k) < STABLE else None
    rests = speeds.max() < STILL and all(pull_back(model, x, k) < STABLE for k in range(len(x)))
    return True if around else False if rests else None


def _two_tokens(rng: np.random.Generator, scales: tuple[float, ...], t_end: float) -> Trial:
    """The example above, with a random scale and ratio, from a uniform start."""
    scale = math.exp(rng.uniform(math.log(min(scales)), math.log(max(scales))))
    ratio = rng.uniform(0.1, 0.9)
    model = Model(dim=2, query=scale * TURN.T, value=np.diag([1.0, ratio]))
    start = to_sphere(rng, (2, 2))
    ok, off, word = followed(model, start, t_end, np.array([[1.0, 0.0], [-1.0, 0.0]]))
    return Trial(ok, off, data=(scale, ratio, off, word))


@claim(
    "causal/next-weights",
    kind="conjecture",
    statement="V alone decides the limit: whatever Q and K, and however large, the tokens of a run end in the places "
    "that the row of V allows: x_1(0) for V = I, P_L x_1(0)/|.| for an eigenspace L, +-xi for a simple lambda_max > "
    "0, a cloud around L that does not merge for lambda_max < 0.",
    hypotheses=("V fixed, one for every row of the atlas", "Q, K orthogonal, diagonal, Gaussian, of rank 1, or I"),
    trial="d = 3: Q, K of a random family, Q times a scale, uniform tokens. Two tokens: d = 2, Q'K = s J, V = (1, r).",
    measured="distance of the farthest token from the places allowed; negative rows: mean share of |x|^2 off L",
    rule="A token refutes if all before it are where they should be and it never comes: it is still (1e-8) with its "
    "own eigenvalues below -1e-3, away from every place allowed, or, for a cloud, at the place of an earlier one "
    "(1e-9); or every place allowed repels it. A cloud is refuted too if all its tokens rest so, no nearer to L than "
    "uniform ones. What is not decided at t_end goes on by implicit steps, to t = 1e300 (clouds: t_end + 1e4). Tokens "
    "that still wait or move then are undecided.",
    known="Conjecture 1 is stated for arbitrary Q and K and fails for some: with Q'K = s J (J the quarter turn), V = "
    "diag(1, r) and s large the second token rests log(1/(1 - r))/s away from -xi, for starts of positive measure. "
    "Rows 4 and 5 of Table 1 (clouds) are no property of V alone: with many Q and K tokens merge. Row 5 needs more "
    "than Q'K = s I with s large: if lambda_2 < 2 lambda_1 < 0 the second token can merge for good with the first for "
    "every Q and K (V = diag(-1, -10), Q'K = 9 I); the V drawn here has lambda_2 = 2 lambda_1 exactly. For row 4 no "
    "merging was seen with Q'K a large multiple of I; nothing else positive was tried. Theorem 4.1 is not touched.",
    sizes={"trials": 30},
    quick={"trials": 16, "scales": (1.0, 10.0, 100.0), "n_tokens": 8, "t_end": 300.0},
)
def next_weights(
    check: Check,
    rows: tuple[str, ...] = tuple(VALUES),
    families: tuple[str, ...] = FAMILIES,
    scales: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0),
    n_tokens: int = 16,
    t_end: float = 1000.0,
    pairs: bool = True,
) -> None:
    """Every row at every scale, then the example that can be solved."""
    for word, kind, known in [(row, "row", VALUES) for row in rows] + [(f, "family", FAMILIES) for f in families]:
        if word not in known:
            raise unknown(kind, word, known)
    found: dict[tuple[str, float], list[Trial]] = {}
    for row in rows:
        for scale in scales:
            bound = THERE if VALUES[row][0] > 0 else None  # a cloud has no place to be far from
            one = partial(_one, row=row, families=families, scale=scale, n=n_tokens, t_end=t_end)
            found[row, scale] = check.each(f"{row}, scale {scale:g}", one, bound)
    two = (
        check.each("two tokens", lambda rng: _two_tokens(rng, scales, t_end), THERE, trials=5 * check.trials)
        if pairs
        else []
    )
    if check.only is not None:
        return
    every = [t for trials in found.values() for t in trials]
    for family in families:
        mine = [t for t in every if t.data[0] == family]
        if mine:
            note = f"elsewhere {sum(t.data[1] == 'elsewhere' for t in mine)}."
            check.share(f"share as predicted, {family}", {k: t.ok for k, t in enumerate(mine)}, None, note)
    check.draw = lambda: _draw(found, two, rows, scales)


def _draw(found: dict[tuple[str, float], list[Trial]], two: list[Trial], rows: Any, scales: Any) -> plot.Figure:
    """How every row ends against the scale, and where the second token of the example rests."""
    tints = {"predicted": plot.COLOURS["blue"], "undecided": "#d0d0d0", "elsewhere": plot.COLOURS["red"]}
    figure, axes = panels(len(rows) + 1, width_ratios=[1.0] * len(rows) + [1.7])
    for ax, row in zip(axes, rows, strict=False):
        below = np.zeros(len(scales))
        for word, tint in tints.items():
            share = np.array([np.mean([t.data[1] == word for t in found[row, s]]) for s in scales])
            ax.bar(np.arange(len(scales)), share, 0.8, bottom=below, color=tint, label=word)
            below = below + share
        ax.set_xticks(np.arange(len(scales)), [f"{s:g}" for s in scales], fontsize=6)
        ax.set(ylim=(0, 1), xlabel="scale of $Q$")
        ax.set_title(row, loc="right", fontsize=7.5)
        ax.tick_params(labelleft=ax is axes[0])
    axes[0].set_ylabel("share of runs")
    handles, words = axes[0].get_legend_handles_labels()
    words[-1] = "elsewhere (clouds: merged, or at rest off $L$)"
    figure.legend(handles, words, loc="outside lower left", ncols=3)
    last = axes[-1]
    rested = [t.data for t in two if t.data[3] == "elsewhere"]
    if rested:
        scale, ratios, off, _ = map(np.array, zip(*rested, strict=True))
        dots = last.scatter(scale, off, c=ratios, cmap="viridis", vmin=0, vmax=1, s=12, lw=0, zorder=3)
        figure.colorbar(dots, ax=last, label="$r$ in $V$ = diag(1, $r$)")
    grid = np.geomspace(min(scales), max(scales), 200)
    for ratio in (0.1, 0.5, 0.9):
        line = [np.pi - resting_angle(s, ratio) for s in grid]
        last.plot(grid, line, color=plot.COLOURS["grey"], lw=0.8, zorder=2)
        k = np.flatnonzero(np.isfinite(line))
        if k.size:
            last.annotate(
                f"{ratio:g}", (grid[k[-1]], line[k[-1]]), fontsize=6, xytext=(1, -2), textcoords="offset points"
            )
    last.set(xscale="log", yscale="log", xlabel="scale $s$, $Q^TK = sJ$", ylabel=r"angle from $-\xi$ (rad)")
    last.set_title("two tokens, $d$ = 2", loc="right", fontsize=7.5)
    return figure
