"""Paper A, sections 3 and 4: where one token goes (Lemma 3.1), and where all go when V = I (Theorem 4.1)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tokenflock import plot, weights
from tokenflock.analysis import spectrum
from tokenflock.errors import unknown
from tokenflock.geometry import Array, distance, to_sphere
from tokenflock.model import Model, velocity
from tokenflock.papers import layout
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.simulation import simulate

HERE = 1e-6  # a token this close (radians) has arrived
SWAY = 1e-3  # a place at which a token moves or grows faster than this is none where it ends
FOREVER = (1e4, 1e10, 1e30, 1e100, 1e300)  # implicit steps go on for these times, until a run is decided
VALUES = {"identity": 1.0, "minus-identity": -1.0}
FAMILIES = ("gaussian", "orthogonal", "diagonal", "low rank", "indefinite")


def to_subspace(x: Array, basis: Array) -> Array:
    """Geodesic distance of unit vectors to the sphere of the subspace that orthonormal columns span."""
    inside = x @ basis
    return np.asarray(np.arctan2(np.linalg.norm(x - inside @ basis.T, axis=-1), np.linalg.norm(inside, axis=-1)))


def pull_back(model: Model, x: Array, k: int) -> float:
    """The largest real part of the eigenvalues of token k's own block: below 0 it returns when pushed.

    Causal attention has a block lower triangular Jacobian, so these are eigenvalues of the whole system.
    """
    basis = np.linalg.svd(x[k][None])[2][1:]
    step = 1e-6
    columns = []
    for side in basis:
        ahead, behind = x[: k + 1].copy(), x[: k + 1].copy()
        ahead[k] = x[k] * np.cos(step) + side * np.sin(step)
        behind[k] = x[k] * np.cos(step) - side * np.sin(step)
        columns.append((velocity(model, ahead)[k] - velocity(model, behind)[k]) @ basis.T / (2 * step))
    return float(np.linalg.eigvals(np.array(columns)).real.max())


def barred(model: Model, x: Array, k: int, places: Array) -> bool:
    """Whether token k comes to none of the places (m, d), for almost every start, with those before it at theirs.

    A place bars it if it does not rest there, or if an eigenvalue of its own block has a positive real part: what
    tends to such a place is a null set. So a run that moves for ever is decided too.
    """
    home = places[distance(x[:k, None], places).argmin(axis=1)]  # a V far from normal feels how near they are to it
    for place in places:
        y = np.concatenate([home, place[None]])
        if np.linalg.norm(velocity(model, y)[k]) < SWAY and pull_back(model, y, k) < SWAY:
            return False
    return True


def onward(model: Model, x: Array, t: float, t_end: float, **options: Any) -> tuple[float, Array]:
    """The next of the times 100, 1000, ... and t_end, and the tokens there, from x at t: a run that is looked at.

    From t = 1e4 on steps are implicit, and times the tenth powers of ten: waiting costs nothing.
    """
    late = t >= 1e4
    stage = min(max(100.0, 1e10 * t if late else 9 * t), t_end - t)
    scheme = "rosenbrock" if late else "tsit5"
    run = simulate(model, x, stage, times=[stage], **{"scheme": scheme, "progress": False, **options})
    return t + stage, run["x"].values[-1]


@claim(
    "causal/lemma-3.1",
    kind="theorem",
    statement="One token, x' = P_x(Vx). For almost every x(0): dist(x(t), L') <= C e^{-ct} for every c below the gap "
    "between lambda_max and the next real part, and dist(x(t), L) <= C/t; for one Jordan block of size m, t "
    "dist(x(t), L) tends to m - 1.",
    hypotheses=("x(0) has a component along the leading generalised eigenvectors",),
    trial="V of dimension 2 to 8 in a random basis: real, complex or Jordan top, the other real parts at least 0.3 "
    "below; x(0) uniform.",
    measured="the exponential rate over the gap, and |t dist / (m - 1) - 1| at the end",
    rule="rate >= 0.9 gap; t dist within 5 % of m - 1",
    sizes={"trials": 20},
    quick={"trials": 8, "t_end": 2e4},
)
def lemma_3_1(check: Check, t_end: float = 5e4, least_rate: float = 0.9, exceptional: bool = False) -> None:
    """Real and complex tops against the gap, Jordan tops against m - 1."""
    curves: dict[str, tuple[Array, Array]] = {}

    def keep(case: str, times: Array, dist: Array) -> None:
        """One trial a case is drawn: the one that starts farthest off, whichever thread ends last."""
        if case not in curves or dist[0] > curves[case][1][0]:
            curves[case] = (times, dist)

    def start(generator: np.random.Generator, V: Array) -> Array:
        x = to_sphere(generator, (1, len(V)))
        if exceptional:  # no component along the leading left eigenvectors: the null set of the lemma
            left = spectrum.classify(V.T).generalised
            x = x - (x @ left) @ left.T
            x /= np.linalg.norm(x)
        return x

    def exponential(case: str, turning: bool, block: int) -> None:
        def one(generator: np.random.Generator) -> Trial:
            V = _value(generator, turning, block)
            regime = spectrum.classify(V)
            times = np.linspace(0, 30 / regime.gap, 601)
            run = simulate(
                Model(dim=len(V), value=V), start(generator, V), times[-1], times=times, rtol=1e-11, atol=1e-14
            )
            dist = to_subspace(run["x"].values[:, 0], regime.generalised)
            keep(case, times[: len(dist)], dist)
            used = (dist < 1e-2) & (dist > 1e-7)  # after the first turns, above rounding
            used &= np.cumsum(dist <= 1e-7) == 0
            if used.sum() < 20:
                return Trial(False, 0.0, "the distance does not fall")
            rate = -np.polyfit(times[: len(dist)][used], np.log(dist[used]), 1)[0]
            return Trial(bool(rate >= least_rate * regime.gap), rate / regime.gap)

        check.each(f"exponential, {case}", one, least_rate, ">=", note="rate / gap;")

    def creeping(size: int) -> None:
        case = f"1/t, Jordan block of size {size}"

        def one(generator: np.random.Generator) -> Trial:
            V = _value(generator, False, size)
            regime = spectrum.classify(V)
            times = np.geomspace(1, t_end, 101)
            run = simulate(Model(dim=len(V), value=V), start(generator, V), t_end, times=times, rtol=1e-9, atol=1e-12)
            dist = to_subspace(run["x"].values[:, 0], regime.L)
            keep(case, times[: len(dist)], dist)
            off = abs(times[len(dist) - 1] * dist[-1] / (size - 1) - 1)
            return Trial(bool(off < 0.05), off)

        check.each(case, one, 0.05, note="|t dist / (m - 1) - 1| at the end;")

    exponential("real top", False, 1)
    exponential("complex top", True, 1)
    exponential("Jordan top", False, 2)
    creeping(2)
    creeping(3)
    check.draw = lambda: _draw_distances(curves)


def _value(generator: np.random.Generator, turning: bool, block: int) -> Array:
    """A random V with a top of the given kind: 1, 1 +- i w, or a Jordan block of 1."""
    top = 2 if turning else block
    d = int(generator.integers(top + 1, 9))
    rest = generator.uniform(-1.0, 0.7, d - top)
    seed = int(generator.integers(2**31))
    if turning:
        w = generator.uniform(0.3, 2.0)
        return weights.spectrum([1 + 1j * w, 1 - 1j * w, *rest], seed=seed)
    if block > 1:
        return weights.jordan(1.0, block, dim=d, rest=rest, seed=seed)
    return weights.spectrum([1.0, *rest], seed=seed)


def _draw_distances(curves: dict[str, tuple[Array, Array]]) -> plot.Figure:
    figure, (left, right) = layout.row(2, 2.8)
    for case, (t, dist) in sorted(curves.items()):
        ax = right if case.startswith("1/t") else left
        ax.plot(t, np.maximum(dist, 1e-16), label=case)
    t = np.geomspace(1, max(right.dataLim.x1, 10), 2)
    for size, dash in ((2, (4, 2)), (3, (1, 1))):
        right.plot(t, (size - 1) / t, color=plot.COLOURS["grey"], ls=(0, dash), label=f"{size - 1}/t")
    left.set(yscale="log", xlabel="time $t$", ylabel="distance to $L'$ (rad)", ylim=(1e-13, 4))
    right.set(xscale="log", yscale="log", xlabel="time $t$", ylabel="distance to $L$ (rad)")
    for ax in (left, right):
        ax.legend()
    return figure


@claim(
    "causal/theorem-4.1",
    kind="theorem",
    statement="V = I, any Q and K, any beta >= 0, d >= 2: for almost every start x_k(t) -> x_1(0) for every k.",
    hypotheses=("V = I", "d >= 2", "causal mask"),
    trial="Q and K of one family, d of 2, 3, 4, 8, 16, 64, beta of 0, 0.5, 1, 2, 4, 8, 16, 32, from 2 to 32 uniform "
    "tokens; followed until every token is at x_1(0), with implicit steps from t = 100 on.",
    measured="the largest distance of a token to x_1(0) at the end",
    rule="holds if it is below 1e-6. If not, let k be the first token that is elsewhere: all before it are at x_1(0), "
    "so it moves along the geodesic and its time of arrival is a quadrature. Violated if it is not there after ten "
    "times as long, undecided (with that time) if it lies beyond the run.",
    erratum="d = 1 must be left out: its sphere is two points.",
    sizes={"trials": 100},
    quick={"trials": 12},
)
def theorem_4_1(check: Check, t_end: float = 1e100, value: str = "identity", mask: str = "causal") -> None:
    """Every family of Q and K, each run until it is over."""
    if value not in VALUES:
        raise unknown("value", value, VALUES)

    def one(generator: np.random.Generator, family: str) -> Trial:
        d = int(generator.choice([2, 3, 4, 8, 16, 64]))
        beta = float(generator.choice([0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]))
        query, key = pair(generator, family, d)
        model = Model(dim=d, beta=beta, query=query, key=key, value=VALUES[value] * np.eye(d), mask=mask)
        x = to_sphere(generator, (int(generator.integers(2, 33)), d))
        deadlines: dict[int, float] = {}
        home, t, off = x[0].copy(), 0.0, np.inf
        while t < t_end:
            k, due = arrival(model, x, home)
            deadlines.setdefault(k, t + 10 * due + 10)
            stage = 100.0 if not t else t_end  # implicit steps from 100 on: metastable states cost nothing
            scheme = "rosenbrock" if t else "tsit5"
            run = simulate(model, x, stage, times=[stage], scheme=scheme, progress=False, throw=False)
            if not run.sizes["time"]:
                return Trial(None, off, f"d = {d}, beta = {beta:g}: {run.attrs['outcome']}")
            x, t = run["x"].values[-1], t + stage
            away = distance(x, home) > HERE
            off = float(distance(x, home).max())
            if not away.any():
                return Trial(True, off)
            late = [k for k, deadline in deadlines.items() if away[k] and t > deadline]
            if late:
                return Trial(False, off, f"d = {d}, beta = {beta:g}: token {late[0] + 1} did not come.")
        when = t + arrival(model, x, home)[1]
        return Trial(None, off, f"d = {d}, beta = {beta:g}: at {off:.2f} rad, arrival predicted at {when:.1e}.")

    for family in FAMILIES:
        check.each(family, partial(one, family=family), HERE)


def pair(generator: np.random.Generator, family: str, d: int) -> tuple[Array, Array]:
    """Q and K of a family, with <Qx, Ky> of order 1 for unit vectors."""
    seeds = [int(s) for s in generator.integers(2**31, size=2)]
    if family == "gaussian":
        return weights.ginibre(d, seeds[0]), weights.ginibre(d, seeds[1])
    if family == "orthogonal":
        return weights.rotation(d, seeds[0]), weights.rotation(d, seeds[1])
    if family == "diagonal":
        return np.diag(generator.uniform(-1.5, 1.5, d)), np.diag(generator.uniform(-1.5, 1.5, d))
    if family == "low rank":
        rank = max(1, d // 4)
        return generator.standard_normal((rank, d)) / np.sqrt(rank), generator.standard_normal((rank, d)) / np.sqrt(d)
    if family == "indefinite":  # one symmetric form with both signs
        return np.eye(d), weights.goe(d, seeds[0])
    raise unknown("family", family, FAMILIES)


def arrival(model: Model, x: Array, home: Array) -> tuple[int, float]:
    """The first token away from home, and the time it still needs, for V = I and all before it at home.

    On the geodesic at angle a from home its velocity is w(a) sin(a), w the share of attention that home receives.
    """
    away = distance(x, home)
    k = int(np.argmax(away > HERE))
    if k == 0:
        return 0, 0.0
    side = x[k] - home * (x[k] @ home)
    size = np.linalg.norm(side)
    if size < 1e-12:
        return k, np.inf  # opposite to rounding: it may stand there for as long as it likes
    # Even in log tan(a/2), the time of w = 1: fine near home and near the antipode.
    s = np.linspace(np.log(np.tan(HERE / 2)), np.log(np.tan(away[k] / 2)), 4001)
    a = 2 * np.arctan(np.exp(s))
    y = np.cos(a)[:, None] * home + np.sin(a)[:, None] * (side / size)
    Q = np.eye(model.dim) if model.query is None else model.query
    K = np.eye(model.dim) if model.key is None else model.key
    pull = model.beta * ((y @ Q.T) @ (K @ home) - np.sum((y @ Q.T) * (y @ K.T), axis=1))
    with np.errstate(over="ignore"):
        return k, float(np.trapezoid(1 + np.exp(-pull) / k, s))
