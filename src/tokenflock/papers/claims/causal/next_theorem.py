"""Conjectures 1 and 2 where they are proved: V symmetric, Q'K a multiple of I or commuting with V.

The proof stands in docs/findings.md, the energy that it rests on in `theory.token_energy`. Here runs are followed to
their end, which is what a mistake in a proof does not survive; and each hypothesis can be broken by a size.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tokenflock.geometry import Array, distance, to_sphere
from tokenflock.model import Model
from tokenflock.papers.claims.causal.next_weights import judged
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.simulation import simulate
from tokenflock.weights import orthonormal_rows

THERE = 1e-3  # what `judged` calls there; rests elsewhere are farther off by orders
EARLY = 100.0  # explicit steps up to here, implicit ones from here on
CASES = {
    "simple lambda_1, Q'K = s I": (64.0, 1),
    "multiple lambda_1, Q'K = s I": (64.0, 2),
    "s < 0, V >= 0": (4.0, 1),
    "commuting, b_1 >= max(b_i, 0)": (16.0, 1),
    "commuting, all b_i <= 0, V >= 0": (4.0, 1),
}


@claim(
    "causal/next-theorem",
    kind="theorem",
    statement="V symmetric, lambda_1 > 0, causal softmax attention. Q'K = s I with s >= 0: for almost every start all "
    "tokens tend to xi or -xi if lambda_1 is simple, and all to P_L x_1(0)/|.| if it is multiple. The first also holds "
    "for s < 0 and V >= 0 (all at one pole), and where Q'K is symmetric, commutes with V and either b_1 >= max(b_i, "
    "0), or all b_i <= 0 and V >= 0.",
    hypotheses=(
        "V = V^T",
        "lambda_1 > 0",
        "Q'K commutes with V",
        "b_1 >= max(b_i, 0), or b_i <= 0 and V >= 0",
        "causal",
    ),
    trial="V with lambda_1 = 1 and other eigenvalues from -2 to 0.95 (from 0 where V >= 0), some of them equal, nearly "
    "1 or 0; d of 2 to 16; beta s log-uniform from 0.1 to 64 (commuting: 16; negative: 4), or 0; 2 to 256 uniform "
    "tokens. Explicit steps to t = 100, then implicit ones until all have arrived.",
    measured="the largest distance of a token to the nearest place that is allowed",
    rule="holds if below 1e-3; violated by a token at rest elsewhere (1e-8) that returns when pushed, all before it "
    "being where they should be; else undecided",
    sizes={"trials": 200},
    quick={"trials": 6, "n_most": 32},
)
def next_theorem(
    check: Check,
    n_most: int = 256,
    t_end: float = 1e60,
    excess: float = 0.0,
    shear: float = 0.0,
    strongest: float = 64.0,
    turn: float = 0.0,
    mask: str = "causal",
    cases: tuple[str, ...] = tuple(CASES),
) -> None:
    """excess: b_2 is that far above the largest b. shear: an entry of V above its diagonal. strongest: of beta s.

    turn: the last two axes become a pair of eigenvalues a +- i turn, V stays normal; mask: "full" for full
    attention. Of these two nothing is proved.
    """

    def one(rng: np.random.Generator, case: str) -> Trial:
        multiple = CASES[case][1]
        model = drawn(rng, case, excess, shear, strongest).with_options(mask=mask)
        if turn and model.dim > multiple + 1:
            value = model.value.copy()
            value[-2:, -2:] = value[-1, -1] * np.eye(2) + turn * np.array([[0.0, 1.0], [-1.0, 0.0]])
            model = model.with_options(value=value)
        n = int(np.exp(rng.uniform(np.log(2), np.log(n_most + 0.99))))
        x = to_sphere(rng, (n, model.dim))
        allowed = limits(model, x[0], case)
        ok, off, t = None, np.inf, EARLY
        for scheme, stage in (("auto", EARLY), ("rosenbrock", 1e4), ("rosenbrock", t_end)):
            run = simulate(model, x, stage, times=[stage], scheme=scheme, rtol=1e-8, progress=False, throw=False)
            if not run.sizes["time"]:
                return Trial(None, off, f"{case}: {run.attrs['outcome']}")
            x, t = run["x"].values[-1], t + stage
            ok, off, _ = judged(model, x, allowed)
            if ok is not None:
                break
        return Trial(ok, off, "" if ok else f"d = {model.dim}, n = {n}, t = {t:.0e}.")

    for case in cases:
        check.each(case, partial(one, case=case), THERE)


def drawn(rng: np.random.Generator, case: str, excess: float, shear: float, strongest: float) -> Model:
    """V diagonal, which is no restriction: a rotation of all tokens brings it there, and Q'K with it."""
    multiple, most = CASES[case][1], max(min(CASES[case][0], strongest), 0.1)
    d = int(rng.choice([multiple + 1, 3, 4, 8, 16]))
    low = 0.0 if case.endswith("V >= 0") else -2.0
    rest = rng.uniform(low, 0.95, d - multiple)
    rest[rng.random(d - multiple) < 0.3] = rng.choice([0.0, 0.5, 0.95])
    value = np.diag([*[1.0] * multiple, *np.sort(rest)[::-1]])
    size = 0.0 if rng.random() < 0.1 else float(np.exp(rng.uniform(np.log(0.1), np.log(most))))
    if case.startswith("commuting"):
        b = -size * rng.random(d) if case.endswith("V >= 0") else rng.uniform(-size, size, d)
        if not case.endswith("V >= 0"):
            b[0] = max(b.max(), 0.0)
    else:
        b = np.full(d, -size if case.startswith("s < 0") else size)
    if excess:
        b[multiple] = max(b.max(), 0.0) + excess
    value[0, multiple] += shear
    return Model(dim=d, key=np.diag(b), value=value)


def limits(model: Model, first: Array, case: str) -> Array:
    """The places that the theorem allows for the start of the first token, (k, d)."""
    multiple = CASES[case][1]
    inside = np.where(np.arange(model.dim) < multiple, first, 0.0)
    pole = inside / np.linalg.norm(inside)
    one_place = multiple > 1 or case.endswith("V >= 0")
    return pole[None] if one_place else np.stack([pole, -pole])


def spurious_rest(rng: np.random.Generator, steps: int = 2000) -> float:
    """How far from +-xi an ascent of E ends: 0, or a maximum that the proof says does not exist. V, m, l, b random."""
    d = int(rng.integers(2, 9))
    lam = np.array([1.0, *rng.uniform(-3, 0.98, d - 1)])
    b = float(rng.choice([0.0, 0.1, 0.5, 1.0, 2.0, 8.0]))
    m, l = rng.integers(0, 9, 2)
    O = orthonormal_rows(rng, d, d)
    V, xi = O.T @ np.diag(lam) @ O, O[0]
    x = to_sphere(rng, (1, d))[0]
    pace = 1.0 / (np.abs(lam).max() + (m + l) * (1 + b))
    for _ in range(steps):
        u = float(x @ xi)
        slope = V @ x + xi * (m * np.exp(b * (u - 1)) - l * np.exp(-b * (u + 1)))
        x = x + pace * (slope - x * (x @ slope))
        x /= np.linalg.norm(x)
    return float(min(distance(x, xi), distance(x, -xi)))
