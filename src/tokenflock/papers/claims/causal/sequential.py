"""Paper A, Lemma 5.3 beyond frozen tokens: other families of sequential gradient flows on the circle.

slopes         weights e^{beta (cos - 1) - slope (k - j)}, frozen tokens: E_k has the same weights
masses         token j counts a_j times, frozen tokens
V = Q'K        V = Q'K = diag(1, r), nothing frozen: beta E_k = -sum_{j<k} e^{beta x_k' V x_j} - e^{beta x_k' V x_k} / 2
trigonometric  no attention: E_k = -cos(phi_k - u) - c cos(2 phi_k - v), u and v functions of the earlier angles
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tokenflock.geometry import Array, circle
from tokenflock.model import Model, flow_at, logits, velocity
from tokenflock.options import Alibi, Frozen
from tokenflock.papers.claims.causal.centers import jacobian, rest
from tokenflock.papers.claims.ledger import Check, Trial, claim

FAMILIES = ("slopes", "masses", "V = Q'K")
STEP = 1e-5
SAME = 1e-7  # of the gradient by differences, over the largest Z_k


@claim(
    "causal/lemma-5.3-families",
    kind="theorem",
    statement="Lemma 5.3 for other flows phi_k' = -(1/Z_k) dE_k/dphi_k than that of Theorem 5.2: slopes of ALiBi, "
    "masses, V = Q'K symmetric, and energies that are no attention. Almost every trajectory converges to a critical "
    "point that is strongly stable for every truncation.",
    hypotheses=(
        "token k is driven by tokens 1..k only",
        "phi_k' is a gradient in its own variable",
        "start not in a null set",
    ),
    trial="one to four frozen tokens, slopes of 0.1 to 1, masses of 0.5 to 3, r of 0.2 to 0.8, beta of 0.5 to 3, 2 to "
    "8 uniform tokens; trigonometric energies of 2 to 8 angles; until they rest",
    measured="the largest eigenvalue of the Jacobian at rest; |Z_k phi_k' + dE_k/dphi_k| at the start",
    rule="eigenvalues negative, the gradient within 1e-7; undecided if the tokens still move at t_end",
    sizes={"trials": 100},
    quick={"trials": 5, "t_end": 1e4},
)
def lemma_5_3_families(check: Check, t_end: float = 1e5, exceptional: bool = False, wrong: float = 1.0) -> None:
    """exceptional=True: starts at an unstable critical point; wrong: a factor of the own token's part of E_k."""

    def stable(generator: np.random.Generator, family: str) -> Trial:
        model, x = drawn(generator, family, exceptional)
        end = rest(model, x, t_end)
        if end is None:
            return Trial(None, np.nan, "still moving at the end.")
        top = float(np.linalg.eigvals(jacobian(model, end)).real.max())
        return Trial(top < 0, top)

    def gradient(generator: np.random.Generator, family: str) -> Trial:
        model, x = drawn(generator, family, False)
        off = off_gradient(model, x, wrong)
        return Trial(off < SAME, off)

    def trigonometric(generator: np.random.Generator) -> Trial:
        top = angles_at_rest(generator, exceptional)
        return Trial(None if top is None else top < 0, np.nan if top is None else top)

    for family in FAMILIES:
        check.each(f"{family}: eigenvalues at rest", partial(stable, family=family), 0.0)
        check.each(f"{family}: gradient", partial(gradient, family=family), SAME)
    check.each("trigonometric: eigenvalues at rest", trigonometric, 0.0)


def drawn(generator: np.random.Generator, family: str, exceptional: bool) -> tuple[Model, Array]:
    """A model of the family and its start; exceptional: all tokens at a maximum of their energies."""
    n, beta = int(generator.integers(2, 9)), float(generator.uniform(0.5, 3.0))
    x = circle(generator.uniform(0, 2 * np.pi, n))
    if family == "V = Q'K":
        V = np.diag([1.0, float(generator.uniform(0.2, 0.8))])
        return Model(dim=2, beta=beta, key=V, value=V), np.tile([0.0, 1.0], (n, 1)) if exceptional else x
    m = int(generator.integers(1, 5))
    theta, a = generator.uniform(0, 2 * np.pi, m), generator.uniform(1, 3, m)
    if exceptional:
        theta, a, x = np.zeros(1), np.ones(1), np.tile([-1.0, 0.0], (n, 1))
    own: dict[str, Any] = {"bias": Alibi(float(generator.uniform(0.1, 1.0)))}
    if family == "masses":
        own = {"masses": generator.uniform(0.5, 3.0, n)}
    return Model(dim=2, beta=beta, frozen=Frozen(circle(theta), a), **own), x


def weights(model: Model, x: Array) -> Array:
    """What each row gives to tokens and frozen tokens, (n, n + m), without its normaliser."""
    found = np.exp(logits(model, x, flow_at(model, 0.0))[0])
    found[:, : len(x)] *= 1.0 if model.masses is None else model.masses
    if model.frozen is not None:
        found[:, len(x) :] *= model.frozen.weights
    return np.asarray(found)


def energies(model: Model, x: Array, wrong: float) -> Array:
    """E_k for all k: -(1/beta) times the weights of row k, half of its own."""
    given = weights(model, x)
    return np.asarray(-(given.sum(axis=1) - (1 - wrong / 2) * np.diag(given)) / model.beta)


def off_gradient(model: Model, x: Array, wrong: float) -> float:
    """The largest |Z_k phi_k' + dE_k/dphi_k| over Z_k, by central differences."""
    phi = np.arctan2(x[:, 1], x[:, 0])
    Z = weights(model, x).sum(axis=1)
    speed = (velocity(model, x) * circle(phi + np.pi / 2)).sum(axis=1)
    off = []
    for k in range(len(x)):
        move = STEP * (np.arange(len(x)) == k)
        up, down = (energies(model, circle(phi + by), wrong)[k] for by in (move, -move))
        off.append(abs(Z[k] * speed[k] + (up - down) / (2 * STEP)) / Z[k])
    return float(max(off))


def angles_at_rest(generator: np.random.Generator, exceptional: bool) -> float | None:
    """The largest eigenvalue at rest of a flow of trigonometric energies; the diagonal, since it is triangular."""
    from scipy.integrate import solve_ivp

    n = int(generator.integers(2, 9))
    shift, second = generator.uniform(0, 2 * np.pi, (2, n)), generator.uniform(-0.2, 0.2, n)
    pull = generator.uniform(0.5, 2.0, n)

    def earlier(phi: Array) -> tuple[Array, Array]:
        seen = np.concatenate([[0.0], np.cumsum(np.sin(phi))[:-1]])
        return shift[0] + pull * seen, 1 + 0.5 * np.cos(seen) ** 2  # u, Z

    def rate(_: float, phi: Array) -> Array:
        u, Z = earlier(phi)
        return np.asarray(-(np.sin(phi - u) + 2 * second * np.sin(2 * phi - 2 * u - shift[1])) / Z)

    if exceptional:  # the maximum of the first energy, found by its own flow backwards
        top = solve_ivp(
            lambda t, p: -rate(t, np.append(p, np.zeros(n - 1)))[:1], (0, 200), [1.0], rtol=1e-12, atol=1e-14
        )
        phi = np.append(top.y[:, -1], generator.uniform(0, 2 * np.pi, n - 1))
        speeds, first = rate(0.0, phi), slice(0, 1)
    else:
        done = solve_ivp(rate, (0, 400), generator.uniform(0, 2 * np.pi, n), "LSODA", rtol=1e-11, atol=1e-13)
        phi = done.y[:, -1]
        speeds, first = rate(0.0, phi), slice(0, n)
    if np.abs(speeds[first]).max() > 1e-9:
        return None
    u, Z = earlier(phi)
    slopes = -(np.cos(phi - u) + 4 * second * np.cos(2 * phi - 2 * u - shift[1])) / Z
    return float(slopes[first].max())
