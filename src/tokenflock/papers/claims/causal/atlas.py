"""Paper A, section 4: the conjectures and the atlas of final configurations (Conjectures 1 and 2, Table 1)."""

from __future__ import annotations

from functools import partial

import numpy as np

from tokenflock import plot, weights
from tokenflock.analysis import clusters, spectrum
from tokenflock.geometry import Array, distance, retract, tangent, to_sphere
from tokenflock.model import Model, velocity
from tokenflock.papers import layout
from tokenflock.papers.claims.causal.limits import FAMILIES, barred, onward, pair, to_subspace
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.simulation import simulate

THERE = 1e-4  # a token this close (radians) to its limit has arrived
ASTRAY = 1e-2  # at rest this far from it, it has gone elsewhere
REST = 1e-9  # the largest speed of tokens at rest; those of metastable clusters are larger at these beta
SAME = 1e-3  # tokens closer than this have merged
SEARCH = (
    "symmetric V, Q = K = I",
    "symmetric V, random Q and K",
    "nearly equal eigenvalues",
    "beta = 64",
    "strong Q and K",
    "oblique V",
    "V far from normal",
    "V = [[1, 1], [0, 1/2]], beta = 0",
    "V = diag(1, 1/2), Q^T K = 8 diag(-1, 1)",
)
# Row of the atlas -> the sign of lambda_max and the multiplicity as the table prints it.
TABLE = {
    "first-token": "lambda_max > 0, multiplicity d",
    "one-point": "lambda_max > 0, multiplicity >= 2",
    "two-points": "lambda_max > 0, multiplicity 1",
    "cloud": "lambda_max < 0, multiplicity >= 2",
    "two-clouds": "lambda_max < 0, multiplicity 1",
}


def settle(model: Model, x: Array, places: Array, t_end: float) -> tuple[bool | None, float, Array]:
    """Follow tokens until all are at one of the places (m, d), until one never comes, or to t_end: (ok, off, x).

    At rest elsewhere counts only if nothing can change any more: all tokens at one place, or pushed by 1e-5 they come
    back to 1e-7. Metastable clusters do neither: their speed is below rounding, and so is what brings them back. A
    token that moves on never comes either if every place repels it, those before it being where they should be.
    """
    t = 0.0
    while True:
        t, x = onward(model, x, t, t_end)
        off = distance(x[:, None], places).min(axis=1)
        worst, late = float(off.max()), int(np.argmax(off >= THERE))
        if worst < THERE:
            return True, worst, x
        if off[late] > ASTRAY and barred(model, x, late, places):
            return False, worst, x
        if worst > ASTRAY and np.linalg.norm(velocity(model, x), axis=1).max() < REST:
            push = tangent(x, np.random.default_rng(0).standard_normal(x.shape))
            y = retract(x + 1e-5 * push)
            y = simulate(model, y, 1000.0, times=[1000.0], progress=False)["x"].values[-1]
            if distance(x, x[0]).max() < SAME or distance(x, y).max() < 1e-7:
                return False, worst, x
            x = y
        if t >= t_end:
            return None, worst, x


@claim(
    "causal/conjecture-1",
    kind="conjecture",
    statement="V diagonalisable with d distinct positive real eigenvalues, xi the unit eigenvector of the largest; "
    "any Q, K and beta: for almost every start every token tends to xi or to -xi.",
    hypotheses=("the eigenvalues of V are real, positive and distinct", "causal mask"),
    trial="d of 2 to 8, 4 to 24 uniform tokens, beta of 0.5 to 8: symmetric V with Q = K = I and with random Q and K. "
    "Then the search: nearly equal top eigenvalues, beta = 64, Q and K 20 times as large, V in an oblique basis and "
    "far from normal (condition 1000), and the example in two dimensions that the search led to.",
    measured="the largest distance of a token to the nearer of xi and -xi at the end",
    rule="consistent if below 1e-4; a counterexample is a run at rest more than 0.01 away, with all tokens at one "
    "place or coming back after a push of 1e-5, or a token more than 0.01 away which xi and -xi repel while all before "
    "it are there; everything else goes on, by implicit steps from t = 1e4, and is undecided at t_end",
    known="False as printed, in two ways here and a third in causal/next-weights. (1) V need not be symmetric: d = 2, "
    "n = 2, beta = 0, V = [[1, 1], [0, 1/2]]. With x_1 = xi = (1, 0) the second token rests at x_2 = (-4/5, -3/5), "
    "since (V x_1 + V x_2)/2 = x_2/4; its linearisation is -3/20, that of the first token -1/2: a stable rest with a "
    "basin of positive measure. (2) V symmetric, but Q^T K = s diag(-1, 1): at s = 8, V = diag(1, 1/2) the second "
    "token rests 2.02 rad from xi, because it attends to itself before that angle and to the first token behind it; "
    "random Q and K of usual size do it too, in a few of a hundred runs. With V symmetric and Q = K = I the search "
    "found nothing.",
    sizes={"trials": 100},
    quick={"trials": 10},
)
def conjecture_1(
    check: Check, t_end: float = 1e100, cases: tuple[str, ...] | None = None, double: bool = False
) -> None:
    """Random V, then the cases that might break it. cases: some of them only. double: lambda_max twice."""

    def one(generator: np.random.Generator, case: str) -> Trial:
        d = int(generator.integers(2, 9))
        rest = np.sort(generator.uniform(0.05, 0.9, d - 1))
        if case == "nearly equal eigenvalues":
            rest[-1] = 1 - 10 ** generator.uniform(-2, -1)
        if double:
            rest[-1] = 1.0
        lams = [1.0, *rest]
        V: Array = weights.spectrum(lams, seed=int(generator.integers(2**31)), normal=case != "oblique V")
        if case == "V far from normal":
            V = _sheared(generator, np.diag(lams), 1000.0)
        query, key = pair(generator, str(generator.choice(FAMILIES)), d)
        beta = 64.0 if case == "beta = 64" else float(generator.choice([0.5, 1.0, 2.0, 4.0, 8.0]))
        if case == "symmetric V, Q = K = I":
            query, key = np.eye(d), np.eye(d)
        if case == "strong Q and K":
            query, key = 20 * query, key if generator.random() < 0.5 else -query
        n = int(generator.integers(4, 25))
        if case == "V = [[1, 1], [0, 1/2]], beta = 0":
            d, n, beta, V, query, key = 2, 2, 0.0, np.array([[1.0, 1.0], [0.0, 0.5]]), np.eye(2), np.eye(2)
        if case == "V = diag(1, 1/2), Q^T K = 8 diag(-1, 1)":
            d, n, beta, V, query, key = 2, 2, 8.0, np.diag([1.0, 0.5]), np.eye(2), np.diag([-1.0, 1.0])
        model = Model(dim=d, beta=beta, query=query, key=key, value=V)
        xi = spectrum.classify(V).L[:, 0]
        ok, worst, _ = settle(model, to_sphere(generator, (n, d)), np.stack([xi, -xi]), t_end)
        return Trial(ok, worst)

    for case in SEARCH if cases is None else cases:
        check.each(case, partial(one, case=case), THERE)


def _sheared(generator: np.random.Generator, D: Array, condition: float) -> Array:
    """S D S^-1 with a random S of the given condition number."""
    d = len(D)
    left, right = (weights.orthonormal_rows(generator, d, d) for _ in range(2))
    S = (left * np.geomspace(1.0, condition, d)) @ right
    return S @ D @ np.linalg.inv(S)


@claim(
    "causal/conjecture-2",
    kind="conjecture",
    statement="lambda > 0 with eigenspace L of dimension >= 2, V maps the complement of L into itself, and <Vz, z> < "
    "lambda |z|^2 there: for almost every start every token tends to P_L x_1(0) / |P_L x_1(0)|.",
    hypotheses=("dim L >= 2", "V(L^perp) inside L^perp", "<Vz, z> < lambda |z|^2 on L^perp", "causal mask"),
    trial="V = lambda on a random L of dimension 2 to d - 1, a random W on its complement with the largest eigenvalue "
    "of (W + W^T)/2 below lambda; d of 3 to 8, 4 to 24 uniform tokens, beta of 0 to 4, Q and K of a random family. "
    "Searched: W with complex eigenvalues and far from normal, <Wz, z> close to lambda, Q and K 5 times as large.",
    measured="the largest distance of a token to P_L x_1(0) / |P_L x_1(0)| at the end",
    rule="as for conjecture-1",
    erratum="The printed display projects onto the complement of L; the words and the dynamics require L.",
    sizes={"trials": 100},
    quick={"trials": 10},
)
def conjecture_2(check: Check, t_end: float = 1e100, printed: bool = False, ratio: float = 0.5) -> None:
    """Random complements, then the cases that might break it. printed=True: the projection as printed."""

    def one(generator: np.random.Generator, case: str) -> Trial:
        d = int(generator.integers(3, 9))
        m = int(generator.integers(2, d))
        W = generator.standard_normal((d - m, d - m))
        if case == "W far from normal":
            W = np.triu(W, 1) * 5 + np.diag(generator.uniform(-1, 1, d - m))
        highest = np.linalg.eigvalsh((W + W.T) / 2).max()
        W = W - (highest - (0.98 if case == "W close to lambda" else ratio)) * np.eye(d - m)
        O = weights.orthonormal_rows(generator, d, d)
        V = O.T @ np.block([[np.eye(m), np.zeros((m, d - m))], [np.zeros((d - m, m)), W]]) @ O
        query, key = pair(generator, str(generator.choice(FAMILIES)), d)
        beta = float(generator.choice([0.0, 0.5, 1.0, 2.0, 4.0]))
        model = Model(dim=d, beta=beta, query=query * (5 if case == "strong Q and K" else 1), key=key, value=V)
        x = to_sphere(generator, (int(generator.integers(4, 25)), d))
        P = O[m:].T @ O[m:] if printed else O[:m].T @ O[:m]
        limit = retract(P @ x[0])
        ok, worst, _ = settle(model, x, limit[None], t_end)
        return Trial(ok, worst)

    for case in ("random W", "W close to lambda", "W far from normal", "strong Q and K"):
        check.each(case, partial(one, case=case), THERE)


@claim(
    "causal/table-1",
    kind="conjecture",
    statement="The atlas. lambda_max > 0: all tokens tend to x_1(0) (multiplicity d), to one point of L (>= 2), to xi "
    "and -xi (1). lambda_max < 0: a cloud around L (>= 2), two clouds around xi and -xi (1).",
    hypotheses=(
        "lambda_max is real and not 0, without a Jordan block",
        "V symmetric and Q = K = I here: see conjecture-1 and next-weights",
        "causal mask",
    ),
    trial="V symmetric in a random basis, with a random spectrum of that row, d of 3 to 6. Positive rows: 4 to 24 "
    "tokens, beta of 0.5 to 4, until all have arrived. Negative rows: 32 tokens, beta = 9, to t = 400, where they "
    "still drift.",
    measured="positive rows: the largest distance to the predicted place; negative rows: the mean distance to L over "
    "that of the start, and the number of places that are told apart",
    rule="positive rows as for conjecture-1; negative rows: the ratio is below 0.75 and at least three quarters of "
    "the tokens stand alone",
    sizes={"trials": 60},
    quick={"trials": 8},
)
def table_1(check: Check, t_end: float = 1e100, t_cloud: float = 400.0, shift: float = 0.0) -> None:
    """Every row with random V of its class. shift: added to V (times I) behind the prediction's back."""

    def one(generator: np.random.Generator, row: str) -> Trial:
        d = int(generator.integers(3, 7))
        m = {"first-token": d, "two-points": 1, "two-clouds": 1}.get(row) or int(generator.integers(2, d))
        cloud = row.endswith(("cloud", "clouds"))
        top, rest = (-1.0, generator.uniform(-3, -1.5, d - m)) if cloud else (1.0, generator.uniform(-1, 0.8, d - m))
        O = weights.orthonormal_rows(generator, d, d)
        V = O.T @ np.diag([*[top] * m, *rest]) @ O
        L = O[:m].T
        beta = 9.0 if cloud else float(generator.choice([0.5, 1.0, 2.0, 4.0]))
        model = Model(dim=d, beta=beta, value=V + shift * np.eye(d))
        x = to_sphere(generator, (32 if cloud else int(generator.integers(4, 25)), d))
        if cloud:
            end = simulate(model, x, t_cloud, times=[t_cloud], progress=False)["x"].values[-1]
            ratio = float(to_subspace(end, L).mean() / to_subspace(x, L).mean())
            alone = clusters.count(end, SAME) / len(x)
            note = "" if alone >= 0.75 else f"only {alone:.0%} stand alone."
            return Trial(ratio < 0.75 and alone >= 0.75, ratio, note, (row, end @ O.T, m))
        limit = retract(L @ (L.T @ x[0]))
        ends = np.stack([limit, -limit] if m == 1 else [limit])
        ok, worst, end = settle(model, x, ends, t_end)
        return Trial(ok, worst, data=(row, end @ O.T, m))

    found = {}
    for row, words in TABLE.items():
        bound = 0.75 if row.endswith(("cloud", "clouds")) else THERE
        found[row] = check.each(words, partial(one, row=row), bound)
    check.draw = lambda: _draw_atlas(found)


def _draw_atlas(found: dict[str, list[Trial]]) -> plot.Figure:
    """Final places of all trials, seen in the eigenvectors of V: distance to L against the angle inside."""
    figure, axes = layout.row(len(found), 2.1, sharey=True)
    for ax, (row, trials) in zip(axes, found.items(), strict=True):
        for trial in trials:
            _, x, m = trial.data
            off = np.arctan2(np.linalg.norm(x[:, m:], axis=1), np.linalg.norm(x[:, :m], axis=1))
            first = x[0, :m] / np.linalg.norm(x[0, :m])
            along = x[:, :m] @ first / np.maximum(np.linalg.norm(x[:, :m], axis=1), 1e-300)
            ax.plot(along, off, ".", ms=2.5, alpha=0.5, color=plot.COLOURS["blue" if trial.ok else "red"])
        ax.set(title=TABLE[row].replace("lambda_max", r"$\lambda_{max}$").replace(", ", "\n"), xlim=(-1.1, 1.1))
        ax.set_xlabel("overlap with $P_L x_1$")
    axes[0].set(ylabel="distance to $L$ (rad)", ylim=(-0.05, 1.65))
    return figure
