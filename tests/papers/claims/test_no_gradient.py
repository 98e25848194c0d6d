"""What is refuted of causal attention as a gradient flow, and what is not."""

from fractions import Fraction

import numpy as np
import pytest

from tokenflock import Model, theory, velocity
from tokenflock.geometry import circle, to_sphere
from tokenflock.papers import claims
from tokenflock.papers.claims.causal import gradient


def test_every_case_is_seen_to_fail_in_full_attention():
    verdict = claims.check("causal/no-gradient", quick=True, trials=3, mask="full")
    assert [found.holds for found in verdict.findings] == [False] * 4


@pytest.mark.parametrize("m", range(2, 8))
@pytest.mark.parametrize("opposite", range(1, 9))
def test_the_jordan_block_is_exact(m, opposite):
    """Also where a third token has the eigenvalue -1/2: m = 3 and 6 opposite ones, for example."""
    w = Fraction(m - 1, 3 * opposite)
    J = gradient.at_rest([1] * m + [-1] * opposite + [1], w, "causal")
    assert (J[np.triu_indices(len(J), 1)] == 0).all()
    diagonal = list(np.diag(J))
    assert diagonal[1] == diagonal[-1] == Fraction(-1, 2)
    A = J + Fraction(1, 2) * np.eye(len(J), dtype=int)
    n, eigenvalues = len(J), diagonal.count(Fraction(-1, 2))
    assert n - gradient.rank(A) == eigenvalues - 1  # eigenvectors


def test_later_tokens_leave_the_block():
    J = gradient.at_rest([1, 1, -1, 1, -1, 1], Fraction(1, 3), "causal")
    A = J + Fraction(1, 2) * np.eye(6, dtype=int)
    assert gradient.rank(A) > gradient.rank(A @ A)


def test_the_jacobian_of_full_attention_is_symmetric_in_its_metric():
    side, w = [1, 1, -1, 1], Fraction(1, 3)
    J = gradient.at_rest(side, w, "full")
    Z = [sum(Fraction(1) if a == b else w for b in side) for a in side]
    G = np.array([[z * c for c in row] for z, row in zip(Z, J, strict=True)], dtype=object)
    assert (G == G.T).all()


def test_two_tokens_have_a_metric_but_one_that_mixes_them():
    """So "no metric at all" would be wrong for n = 2: Z [[2, -1], [-1, 1]] F = dE, E = e^{beta (cos a - 1)} / beta."""
    beta, generator = 2.0, np.random.default_rng(0)
    for phi in generator.uniform(0, 2 * np.pi, (20, 2)):
        x = circle(phi)
        F = (velocity(Model(dim=2, beta=beta), x) * circle(phi + np.pi / 2)).sum(axis=1)
        Z = 1 + np.exp(beta * (np.cos(phi[0] - phi[1]) - 1))
        metric = Z * np.array([[2.0, -1.0], [-1.0, 1.0]])
        assert np.linalg.eigvalsh(metric)[0] > 0
        h = float(theory.h(phi[0] - phi[1], beta))
        assert metric @ F == pytest.approx([-h, h], abs=1e-14)  # dE/dphi_1, dE/dphi_2


def test_the_rank_of_fractions():
    generator = np.random.default_rng(1)
    whole = generator.integers(-3, 4, (6, 3)) @ generator.integers(-3, 4, (3, 6))
    exact = np.array([[Fraction(int(a)) for a in row] for row in whole], dtype=object)
    assert gradient.rank(exact) == np.linalg.matrix_rank(whole.astype(float)) == 3
    assert gradient.rank(exact * 0) == 0


def test_a_gradient_has_no_curl_and_a_rotation_has():
    x, turn = to_sphere(np.random.default_rng(2), (3, 3)), np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 0]])
    stretch = np.diag([1.0, 2.0, 3.0])
    along = lambda y, M: y @ M - ((y @ M) * y).sum(axis=1, keepdims=True) * y  # noqa: E731
    assert gradient.asymmetry(lambda y: along(y, stretch), x) < 1e-9
    assert gradient.asymmetry(lambda y: along(y, turn), x) > 1
