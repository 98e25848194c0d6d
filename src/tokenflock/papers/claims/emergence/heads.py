"""Paper B with several heads in R^d whose V_h commute: do Theorems 4.2 (levels) and 5.2 (polytopes) stay true?

x_i' = sum_h sum_j P^h_ij V_h x_j, V = sum_h V_h, z = e^{-tV} x: z_i' = sum_h V_h sum_j P^h_ij (z_j - z_i), since
e^{-tV} commutes with every V_h. All is drawn in a basis in which every V_h is diagonal, which is no loss: a basis S
turns Q_h'K_h into S' Q_h'K_h S, positive when Q_h'K_h is. Starts are uniform in a cube in another, oblique basis.

Where V_h = s_h on F, s_h > 0, hulls of F parts shrink: z_i' is a sum of ways to other tokens. But the limit of Theorem
5.2 is lost once heads differ. With V_1 = V_2 = I/2, Q_1'K_1 = diag(2, 1), Q_2'K_2 = diag(1, 2) and tokens at p =
(c, 0), q = (0, c) and z = (c, c)/2, both heads lead p to p and q to q, but z to p and to q: it rests in the middle of
the segment, and what started near it came to rest inside the segment too.

A token between two leaders of one head, held there by another head, slides along the place where the leaders change.
Attention sharpens like e^{2t}, and so do the steps that this takes: such runs are given up, `follow_on`.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tokenflock import plot, weights
from tokenflock.analysis import polytope
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.papers import layout
from tokenflock.papers.claims.emergence.hyperplanes import BACK, LEVEL, backwards, from_levels
from tokenflock.papers.claims.emergence.polytopes import ROUNDING, RTOL
from tokenflock.papers.claims.emergence.runs import rescaled, shrinks
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.simulation import simulate

HEADS = (2, 4, 8)
ON, OFF = 1e-3, 1e-2  # over the size: a token nearer to the boundary is on it; one farther inside, and at rest, is not
T_END = 20
MANY = 10_000  # evaluations of one unit of time: the next one may take e^2 times as many
FRAMES = 4  # a unit of time
REST = 1e-6  # over the size: how far tokens at rest go in the last fifth of a run


def drawn(generator: np.random.Generator, count: int, m: int, least: float) -> Array:
    """Diagonal V_h (H, d, d): s_h on the first m coordinates, with sum 1; smaller sums on the rest. least < 0: s_1."""
    share = generator.dirichlet(np.full(count, 2.0))
    if least < 0:
        share = np.array([least, *(share[1:] * (1 - least) / share[1:].sum())])
    rest = int(generator.integers(1 if m == 1 else 0, 4 if m == 1 else 3))
    lower = generator.uniform(-0.7, 0.7, (count, rest)) * np.abs(share)[:, None]
    while rest and np.abs(lower.sum(axis=0)).max() > 0.9:
        lower *= 0.9
    return np.stack([np.diag([s] * m + list(g)) for s, g in zip(share, lower, strict=True)])


def follow_on(model: Model, start: Array, t_end: int, tolerance: float = 1e-6) -> Array | None:
    """Frames of a rescaled run with diagonal V, FRAMES a unit of time, to t_end or to where it takes too many steps."""
    growth = np.diag(model.values.sum(axis=0))
    frames = [start]
    for t in range(t_end):  # from e^{tV} z at time 0, which is z at time t
        ahead, times = np.exp(t * growth), np.arange(1, FRAMES + 1) / FRAMES
        run = simulate(
            model, frames[-1] * ahead, 1.0, times=times, rtol=tolerance, atol=tolerance, progress=False, throw=False
        )
        x = run["x"].values
        if len(x) < FRAMES or not np.isfinite(x).all():
            return None
        frames.extend(x / ahead)
        if int(run.attrs["evaluations"]) > MANY:
            break
    return np.array(frames)


def start_of(generator: np.random.Generator, d: int) -> Array:
    """6 to 20 tokens, uniform in [-5, 5]^d in an oblique basis."""
    basis = np.eye(d) + 0.5 * generator.uniform(-1, 1, (d, d))
    return np.asarray(generator.uniform(-5, 5, (int(generator.integers(6, 21)), d)) @ np.linalg.inv(basis).T)


@claim(
    "emergence/heads-levels",
    kind="conjecture",
    statement="Theorem 4.2 with several heads: the V_h commute and share phi_1, lambda_1 of each is positive, their "
    "sum has a simple lambda_1 > |lambda_2|, every <Q_h phi_1, K_h phi_1> > 0. Each phi_1*(z_i(t)) tends to 0, a or "
    "b, the limits of its least and largest value; the least never falls and the largest never rises.",
    hypotheses=("the V_h commute", "lambda_1 of every V_h is positive", "<Q_h phi_1, K_h phi_1> > 0 for every head"),
    trial="2, 4 and 8 heads, d of 2 to 4, shares of lambda_1 from a Dirichlet law, other eigenvalues of either sign; "
    "Q_h and K_h with uniform entries; 6 to 20 tokens uniform in an oblique cube; to lambda_1 t = 14, or to where the "
    "steps become too many.",
    measured="the distance of phi_1*(z_i) from {0, a, b} over the largest of the start; how far the least falls or the "
    "largest rises",
    rule="below 1e-3 and 1e-6; above 1e-3 it is undecided while it still falls by half in the last quarter of the run, "
    "or if the run was given up",
    sizes={"trials": 500},
    quick={"trials": 8},
)
def heads_levels(
    check: Check,
    heads: tuple[int, ...] = HEADS,
    multiplicity: int = 1,
    least: float = 0.0,
    plain: bool = False,
    t_end: int = 14,
) -> None:
    """multiplicity 2: lambda_1 is not simple; least < 0: that is lambda_1 of the first head. plain: Q_h = K_h = I."""

    def one(generator: np.random.Generator, count: int, what: str) -> Trial:
        V = drawn(generator, count, multiplicity, least)
        d = V.shape[1]
        Q, K = generator.uniform(-1, 1, (2, count, d, d))
        lean = np.einsum("hka,hkb->hab", Q, K)[:, 0, 0]
        K = K * (np.sign(lean) / np.clip(np.abs(lean), 0.1, 1.0))[:, None, None]
        if plain:
            Q = K = np.broadcast_to(np.eye(d), (count, d, d))
        tolerance = RTOL if what == "monotone" else 1e-6  # at 1e-6 the error of a run itself goes back by 1e-5
        z = follow_on(rescaled(d, query=Q, key=K, value=V), start_of(generator, d), t_end, tolerance)
        if z is None:
            return Trial(None, np.inf)
        level = z[:, :, 0]
        if what == "monotone":
            worst = backwards(level)
            return Trial(worst < BACK, worst)
        size = float(np.abs(level[0]).max())
        off, before = (from_levels(level[k], size) for k in (-1, 3 * len(level) // 4))
        given_up = len(level) <= FRAMES * t_end
        return Trial(True if off < LEVEL else None if given_up or off < before / 2 else False, off)

    for count in heads:
        check.each(f"levels, {count} heads", partial(one, count=count, what="levels"), LEVEL)
        check.each(f"monotone, {count} heads", partial(one, count=count, what="monotone"), BACK)


@claim(
    "emergence/heads-polytope",
    kind="conjecture",
    statement="Theorem 5.2 with several heads: V_h = s_h > 0 on F, the V_h commute, their sum is smaller on G, every "
    "Q_h'K_h > 0. The F parts tend to 0 or to the relative boundary of a polytope; their hull shrinks.",
    hypotheses=(
        "the V_h commute, V_h = s_h > 0 on F",
        "the spectral radius of their sum on G is below 1",
        "Q_h'K_h > 0",
    ),
    trial="2 and 4 heads, dim F of 2 and 3, dim G of 0 to 2, sum of the s_h 1, all heads with one random Q'K > 0 or "
    "each with its own; 6 to 20 tokens uniform in an oblique cube; to t = 20, or to where steps become too many.",
    measured="how far an F part leaves an earlier hull; how far inside the hull of the last F parts one of them is, "
    "over the size, 0 at the origin",
    rule="hulls: below 1e-6. Inside: consistent below 1e-3; a counterexample is farther inside than 1e-2 and at rest "
    "to 1e-6 in the last fifth of the run; undecided otherwise",
    known="False where the heads have different Q_h'K_h: a token whose heads have different leaders rests at their "
    "weighted mean. V_1 = V_2 = I/2, Q_1'K_1 = diag(2, 1), Q_2'K_2 = diag(1, 2), tokens (c, 0), (0, c), (c, c)/2, and "
    "all starts tried near it. Hulls still shrink, and with one Q'K for all heads the theorem stays: that is one head.",
    sizes={"trials": 500},
    quick={"trials": 4},
)
def heads_polytope(
    check: Check, heads: tuple[int, ...] = (2, 4), least: float = 0.0, forms: tuple[str, ...] = ("one", "own")
) -> None:
    """least < 0: s_h of the first head. forms: one Q'K for all heads, or an own one for each."""
    shown: list[Array] = []

    def one(generator: np.random.Generator, count: int, form: str, what: str) -> Trial:
        m = int(generator.integers(2, 4))
        V = drawn(generator, count, m, least)
        d = V.shape[1]
        seeds = generator.integers(2**31, size=count)
        K = np.stack([weights.positive_definite(d, int(seeds[k if form == "own" else 0])) for k in range(count)])
        model, start = rescaled(d, key=K, value=V), start_of(generator, d)
        if what == "hulls shrink":
            z = follow_on(model, start, T_END, RTOL)
            out = np.inf if z is None else shrinks(z[:, :, :m])
            return Trial(None if z is None else out < ROUNDING, out)
        return inside(model, start, m)

    for form, words in (("one", "one Q'K"), ("own", "own Q_h'K_h")):
        for count in heads if form in forms else ():
            for what, bound in (("hulls shrink", ROUNDING), ("boundary or 0", ON)):
                check.each(f"{what}, {count} heads, {words}", partial(one, count=count, form=form, what=what), bound)
    if "own" in forms:
        check.each("two heads, the middle of a segment", lambda r: middle(r, shown), ON, trials=min(check.trials, 20))
    check.draw = lambda: _draw_middle(shown)


def inside(model: Model, start: Array, m: int) -> Trial:
    """How far inside the hull of the F parts at the end one of them is."""
    z = follow_on(model, start, T_END, RTOL)
    if z is None:
        return Trial(None, np.inf)
    f = z[-1][:, :m]
    size = float(np.linalg.norm(f, axis=1).max()) or 1.0
    hull = polytope.hull(f, ROUNDING)
    if not hull.dim or hull.facets is None:
        return Trial(True, 0.0)
    depth = -((f - hull.mean) @ hull.axes @ hull.facets[:, :-1].T + hull.facets[:, -1]).max(axis=1) / size
    off = float(np.minimum(depth, np.linalg.norm(f, axis=1) / size).max())
    moved = float(np.abs(z[-1] - z[4 * len(z) // 5])[:, :m].max()) / size
    words = f"{len(hull.vertices)} vertices in dimension {hull.dim}." if off > OFF else ""
    ok = None if moved > REST else True if off < ON else False if off > OFF else None
    return Trial(ok, max(off, 0.0), words)


def middle(generator: np.random.Generator, shown: list[Array]) -> Trial:
    """The counterexample, its tokens moved by up to a tenth."""
    K = np.stack([np.diag([2.0, 1.0]), np.diag([1.0, 2.0])])
    model = rescaled(2, key=K, value=np.stack([np.eye(2) / 2] * 2))
    start = 4 * np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]) + 0.1 * generator.uniform(-1, 1, (3, 2))
    if len(shown) < 5:
        z = follow_on(model, start, 12)
        shown.extend([] if z is None else [z])
    return inside(model, start, 2)


def _draw_middle(shown: list[Array]) -> plot.Figure:
    figure, (ax,) = layout.row(1, 2.8, plot.COLUMN)
    for k, z in enumerate(shown):
        for i, colour in enumerate(("blue", "red", "green")):
            ax.plot(z[:, i, 0], z[:, i, 1], lw=0.8, color=plot.COLOURS[colour])
            ax.plot(*z[-1, i], "o", ms=3.5, color=plot.COLOURS[colour], label=f"token {i + 1}" if k == 0 else None)
        ax.plot(*z[-1, :2].T, ":", lw=0.6, color=plot.COLOURS["grey"])
    ax.set(xlabel="$z_1$", ylabel="$z_2$", title="two heads, two leaders: token 3 rests between", aspect="equal")
    if shown:
        ax.legend()
    return figure
