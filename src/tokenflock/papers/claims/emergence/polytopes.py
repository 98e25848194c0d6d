"""Paper B: rescaled tokens end on a polytope (Theorem 3.1, V = I), or on its product with G (Theorem 5.2, mixed V)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tokenflock import plot, weights
from tokenflock.analysis import polytope, triple
from tokenflock.errors import bad, unknown
from tokenflock.geometry import Array
from tokenflock.model import velocity
from tokenflock.papers import layout
from tokenflock.papers.claims.emergence.runs import coordinates, follow, in_coordinates, rescaled, shrinks
from tokenflock.papers.claims.ledger import Check, Trial, claim

RTOL = 1e-9  # of the runs: at 1e-6 their own error leaves hulls by up to 1.5e-6
ROUNDING = 1e-6  # how far tokens may leave an earlier hull; hulls are right to 1e-9
THERE = 1e-6  # a residual this small, over the largest |Az|^2, or a distance over the size
VALUES = {"identity": 1.0, "minus-identity": -1.0}
# The square, the middles of its sides and its center: all rest, and only the corners are vertices.
SQUARE = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1], [1, 0], [0, 1], [-1, 0], [0, -1], [0, 0]], dtype=float)


@claim(
    "emergence/theorem-3.1",
    kind="theorem",
    statement="V = I, Q'K > 0, any start: the hull of the z_i(t) shrinks to a polytope with vertices v_j, and each "
    "z_i(t) tends to a point of the finite set |Az|^2 = max_j <Az, A v_j>, A = (Q'K)^{1/2}: to 0 or to the boundary. "
    "For almost every start these limits are the vertices.",
    hypotheses=("V = I", "Q'K symmetric and positive definite", "full mask"),
    trial="d of 2, 3, 4; 6 to 20 uniform tokens in [-5, 5]^d; Q'K = I or with random eigenvalues from 0.1 to 1; to t "
    "= 25. Exceptional limits: a square with the middles of its sides and its center, which all rest exactly, and "
    "leave when pushed by 1e-6.",
    measured="how far a token leaves an earlier hull, the residual | |Az|^2 - max_j <Az, A v_j> | over max |Az|^2, "
    "and the distance to the nearest vertex over the size",
    rule="all below 1e-6",
    sizes={"trials": 40},
    quick={"trials": 6},
)
def theorem_3_1(check: Check, t_end: float = 25.0, value: str = "identity", mask: str = "full") -> None:
    """Hulls and limits. value="minus-identity", mask="causal": hypotheses to break."""
    if value not in VALUES:
        raise unknown("value", value, VALUES)
    shown: list[Array] = []

    def one(generator: np.random.Generator, d: int, what: str) -> Trial:
        n = int(generator.integers(6, 21))
        form = np.eye(d) if generator.random() < 0.3 else weights.positive_definite(d, int(generator.integers(2**31)))
        model = rescaled(d, key=form, value=VALUES[value] * np.eye(d), mask=mask)
        times = np.linspace(0, t_end, 51) if what == "hulls shrink" else [t_end]
        z = follow(model, generator.uniform(-5, 5, (n, d)), times, rtol=RTOL, atol=RTOL)
        if z is None:
            return Trial(None, np.inf)
        if what == "hulls shrink":
            if d == 2 and len(shown) < 3:
                shown.append(z)
            out = shrinks(z)
            return Trial(out < ROUNDING, out)
        hull = polytope.hull(z[-1], THERE)
        if what == "vertices":
            away = np.linalg.norm(z[-1][:, None] - hull.vertices, axis=-1).min(axis=1).max()
            off = float(away / np.abs(z[-1]).max())
        else:
            off = residual(z[-1], triple.root(form), hull.vertices)
        return Trial(off < THERE, off)

    for d in (2, 3, 4):
        for what, bound in (("hulls shrink", ROUNDING), ("limit set", THERE), ("vertices", THERE)):
            check.each(f"{what}, d = {d}", partial(one, d=d, what=what), bound)
    check.each("exceptional limits rest", partial(_exceptional, value=VALUES[value], mask=mask), THERE, trials=1)
    check.draw = lambda: _draw_polygons(shown)


def residual(z: Array, A: Array | None, corners: Array) -> float:
    """The largest | |Az|^2 - max_j <Az, A v_j> | over the largest |Az|^2."""
    size = float(np.linalg.norm(z if A is None else z @ A.T, axis=1).max()) ** 2
    return float(polytope.residual(z, A, corners).max()) / (size or 1.0)


def _exceptional(generator: np.random.Generator, value: float, mask: str) -> Trial:
    """The square: residual 0 and velocity 0 at a late time; pushed, its middles and its center go to corners."""
    model = rescaled(2, value=value * np.eye(2), mask=mask)
    there = residual(SQUARE, None, SQUARE[:4])
    speed = float(np.abs(velocity(model, SQUARE, t=4.0)).max())
    pushed = SQUARE + 1e-6 * generator.standard_normal(SQUARE.shape)
    # Late in time from the start: e^4 times as large, seen in units of that size.
    z = follow(model, np.exp(4.0) * pushed, [20.0])
    if z is None:
        return Trial(None, np.inf)
    end = z[-1] * np.exp(-4.0)
    away = float(np.abs(end[:, None] - end[:4]).max(axis=-1).min(axis=1).max())
    worst = max(there, speed, away)
    return Trial(worst < THERE, worst, f"velocity {speed:.1e}; pushed by 1e-6 all end at corners to {away:.1e}.")


def _draw_polygons(shown: list[Array]) -> plot.Figure:
    figure, axes = layout.row(max(len(shown), 1), 2.5)
    for ax, z in zip(axes, shown, strict=False):
        for k, grey in ((0, 0.8), (1, 0.65), (2, 0.5), (len(z) - 1, 0.0)):
            _outline(ax, z[k], str(grey))
        ax.plot(z[:, :, 0], z[:, :, 1], lw=0.4, color=plot.COLOURS["sky"])
        ax.plot(*z[0].T, ".", ms=2, color=plot.COLOURS["grey"])
        ax.plot(*z[-1].T, "o", ms=3.5, color=plot.COLOURS["red"])
        ax.set(aspect="equal", xlabel="$z_1$", ylabel="$z_2$", title=f"{z.shape[1]} tokens; hulls shrink")
    return figure


def _outline(ax: Any, z: Array, colour: str) -> None:
    corners = polytope.hull(z, 1e-6).vertices
    center = corners.mean(axis=0)
    turn = np.argsort(np.arctan2(*(corners - center).T[::-1]))
    ax.plot(*corners[[*turn, turn[0]]].T, lw=0.8, color=colour)


@claim(
    "emergence/theorem-5.2",
    kind="theorem",
    statement="Good triple with multiplicity: Q'K > 0, R^d = F + G, V = lambda on F, spectral radius of V on G below "
    "lambda. The F parts of the tokens, along G, tend to 0 or to the boundary of a bounded polytope; their hull "
    "shrinks.",
    hypotheses=("Q'K symmetric and positive definite", "V = lambda > 0 on F", "the spectral radius of V on G < lambda"),
    trial="V = diag(1, 1, -1/2) with Q = K = I; random paranormal V in an oblique basis, dim F of 1 to 3, dim G of 1 "
    "and 2, spectral radius 0.5 on G, with random Q'K > 0, which does not respect F + G; 6 to 20 uniform tokens in "
    "[-5, 5]^d; to lambda t = 30, in the basis of F and G.",
    measured="how far an F part leaves an earlier hull, and the residual of the F parts over max |Az|^2",
    rule="both below 1e-6",
    erratum="An estimate in the printed proof, |r_j| <= C e^{(lambda_1 + |lambda_2|) t}, is false where A does not "
    "respect F + G; the cases with random Q'K are there for that, and the statement stands in all of them. Its "
    "counterexample, V = diag(1, 0), A = [[1, 1/2], [1/2, 1]], z = (0, 1), (0, 2), has F parts 0 for ever.",
    sizes={"trials": 16},
    quick={"trials": 6},
)
def theorem_5_2(
    check: Check, t_end: float = 30.0, value: Any = None, query: Any = None, key: Any = None, mask: str = "full"
) -> None:
    """value, query, key: a triple of your own; what it lacks is named in the finding."""

    def one(generator: np.random.Generator, V: Any, Q: Any, K: Any, what: str) -> Trial:
        if V is None:
            m, g = int(generator.integers(1, 4)), int(generator.integers(1, 3))
            seed = int(generator.integers(2**31))
            V, Q = weights.paranormal(m + g, m, seed=seed), weights.positive_definite(m + g, seed=seed)
        judged = triple.good_with_multiplicity(Q, K, V)
        if judged.F is None:
            raise bad("value", "a matrix without a real lambda_1", "a good triple with multiplicity", judged.fails[0])
        start = generator.uniform(-5, 5, (int(generator.integers(6, 21)), len(V)))
        return mixed(judged, start, V, Q, K, t_end, mask, what)

    if value is None:
        cases: dict[str, tuple[Any, Any, Any]] = {
            "V = diag(1, 1, -1/2)": (weights.PAPER_B["mix"], None, None),
            "oblique F and G, any Q'K > 0": (None, None, None),
        }
        still = np.array([[0.0, 1.0], [0.0, 2.0]])
        V, A = np.diag([1.0, 0.0]), np.array([[1.0, 0.5], [0.5, 1.0]])
        judged = triple.good_with_multiplicity(A @ A, None, V)
        check.each("F parts 0", lambda _: mixed(judged, still, V, A @ A, None, t_end, mask), ROUNDING, trials=1)
    else:
        cases = {"given triple": (np.asarray(value, dtype=float), query, key)}
    for case, (V, Q, K) in cases.items():
        for what, bound in (("hulls shrink", ROUNDING), ("limit set", THERE)):
            check.each(f"{what}, {case}", partial(one, V=V, Q=Q, K=K, what=what), bound)


def mixed(
    judged: triple.Triple, start: Array, V: Any, Q: Any, K: Any, t_end: float, mask: str, what: str = "hulls shrink"
) -> Trial:
    """One run in the basis of F and G: how far the F parts leave earlier hulls, or their residual at the end."""
    m = judged.multiplicity
    S, inverse = coordinates(judged)
    model = in_coordinates(Q, K, V, judged, mask=mask)
    frames = 51 if what == "hulls shrink" else 2
    times = np.linspace(0, t_end / abs(judged.lambda_1), frames)
    z = follow(model, start @ inverse.T, times, rtol=RTOL, atol=RTOL)
    note = "" if judged.holds else f"Not a good triple: {' '.join(judged.fails)}"
    if z is None:
        return Trial(None, np.inf, note)
    inside = z[:, :, :m]
    if what == "hulls shrink":
        out = shrinks(inside)
        return Trial(out < ROUNDING, out, note)
    corners = polytope.hull(inside[-1], THERE).vertices
    off = residual(inside[-1] @ S[:, :m].T, judged.A, corners @ S[:, :m].T)
    return Trial(off < THERE, off, note)
