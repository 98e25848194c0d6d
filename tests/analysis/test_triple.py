"""Good triples of paper B: what holds, what fails and by what number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenflock import weights
from tokenflock.analysis import triple
from tokenflock.errors import SpecError
from tolerances import close

seeds = st.integers(0, 10**6)
# Eigenvectors of the families here are right to eps times their condition number, 3 to 10.
NEAR = close(float, 100, amplification=100)


@pytest.mark.parametrize("name", ["hyperplanes-2d", "hyperplanes-3d-a", "hyperplanes-3d-b", "codimension"])
def test_the_printed_value_matrices_are_good(name):
    V = weights.PAPER_B[name]
    judged = triple.good(None, None, V)
    assert judged.holds
    assert judged.fails == ()
    moduli = np.sort(np.abs(np.linalg.eigvals(V)))
    assert judged.lambda_1 == pytest.approx(moduli[-1])
    assert judged.lambda_2 == pytest.approx(moduli[-2])
    np.testing.assert_allclose(V @ judged.phi_1, judged.lambda_1.real * judged.phi_1, **NEAR)
    np.testing.assert_allclose(V.T @ judged.phi_1_star, judged.lambda_1.real * judged.phi_1_star, **NEAR)
    assert judged.phi_1_star @ judged.phi_1 == pytest.approx(1)
    assert (judged.phi_1 > 0).all()  # Perron-Frobenius: the entries of V are positive
    assert judged.overlap == pytest.approx(1)  # |phi_1|^2
    assert judged.dims == (1, len(V) - 1)


def test_the_mix_matrix_is_good_only_with_multiplicity():
    V = weights.PAPER_B["mix"]
    assert triple.good(None, None, V).fails[0] == "Def 4.1: lambda_1 = 1 is not simple: its multiplicity is 2."
    judged = triple.good_with_multiplicity(None, None, V)
    assert judged.holds
    assert judged.dims == (2, 1)
    assert np.abs(judged.F[2]).max() == 0
    np.testing.assert_allclose(np.abs(judged.G[:, 0]), [0, 0, 1], **NEAR)


def test_the_identity_has_nothing_beside_f():
    judged = triple.good_with_multiplicity(None, None, np.eye(3))
    assert judged.holds
    assert judged.dims == (3, 0)
    assert triple.good(None, None, [[2.0]]).dims == (1, 0)


@given(seeds, st.integers(2, 6), st.data())
@settings(max_examples=40, deadline=None)
def test_f_and_g_are_invariant_and_split_the_space(seed, dim, data):
    m = data.draw(st.integers(1, dim - 1))
    V = weights.paranormal(dim, m, seed=seed)
    judged = triple.good_with_multiplicity(None, None, V)
    assert judged.dims == (m, dim - m)
    F, G = judged.F, judged.G
    for basis in (F, G):
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), **NEAR)
        np.testing.assert_allclose(V @ basis, basis @ (basis.T @ V @ basis), **close(float, 100, amplification=1e4))
    np.testing.assert_allclose(V @ F, judged.lambda_1.real * F, **close(float, 100, amplification=1e4))
    assert np.linalg.matrix_rank(np.hstack([F, G])) == dim
    assert np.abs(np.linalg.eigvals(G.T @ V @ G)).max() < judged.lambda_1.real
    if m == 1:  # phi_1* is 0 on G
        assert np.abs(judged.phi_1_star @ G).max() < 1e-10


@given(seeds, st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_good_is_what_the_definition_says(seed, dim):
    generator = np.random.default_rng(seed)
    Q, K, V = generator.uniform(-1, 1, (3, dim, dim))
    eigenvalues, vectors = np.linalg.eig(V)
    order = np.argsort(-np.abs(eigenvalues))
    first = eigenvalues[order[0]]
    dominates = dim == 1 or abs(first) - abs(eigenvalues[order[1]]) > 1e-5 * np.linalg.norm(V, 2)
    holds = dominates and first.imag == 0 and first.real > 0
    if holds:
        phi = vectors[:, order[0]].real
        holds = (Q @ phi) @ (K @ phi) > 0
    assert triple.good(Q, K, V).holds == holds


@pytest.mark.parametrize(
    ("V", "text"),
    [
        (weights.spectrum([1 + 0.5j, 1 - 0.5j, 0.2]), "lambda_1 = 1 + 0.5 i is not real."),
        (np.diag([-2.0, 1.0]), "lambda_1 = -2 is not positive."),
        (np.zeros((2, 2)), "lambda_1 = 0 is not positive."),
        (np.diag([1.0, -1.0]), "the eigenvalue -1 has modulus 1, not below lambda_1 = 1."),
        (weights.spectrum([1.0, 0.6 + 0.8j, 0.6 - 0.8j]), "the eigenvalue 0.6 + 0.8 i has modulus 1"),
    ],
)
def test_both_definitions_name_what_is_wrong_with_the_spectrum(V, text):
    for judged, name in (
        (triple.good(None, None, V), "Def 4.1: "),
        (triple.good_with_multiplicity(None, None, V), "Def 5.1 (ii): "),
    ):
        assert not judged.holds
        assert any(sentence.startswith(name + text) for sentence in judged.fails), judged.fails


def test_the_modulus_counts_not_the_real_part():
    # The atlas of paper A is content with diag(1, -2): its largest real part is 1.
    assert not triple.good(None, None, np.diag([1.0, -2.0])).holds
    assert triple.good(None, None, np.diag([2.0, -1.0])).holds


def test_a_jordan_block_is_not_lambda_times_the_identity():
    for size in (2, 3):
        judged = triple.good_with_multiplicity(None, None, weights.jordan(1.0, size, dim=5, seed=1))
        assert judged.multiplicity == size
        assert "V is not lambda_1 = 1 times the identity on F: it is off by 1 there" in judged.fails[0]
        assert not triple.good(None, None, weights.jordan(1.0, size, dim=5, seed=1)).holds


def test_the_form_must_be_symmetric_and_positive():
    H = np.array([[1.0, 2.0], [0.0, 1.0]])
    for Q, K, text in (
        (H, None, "Def 5.1 (i): Q'K is not symmetric: it differs from its transpose by 2."),
        (H, -H, "Def 5.1 (i): Q'K is not positive definite: its least eigenvalue is -5.82843."),
        (H[:1], H[:1], "Def 5.1 (i): Q'K is not positive definite: its least eigenvalue is"),
    ):
        judged = triple.good_with_multiplicity(Q, K, np.eye(2))
        assert len(judged.fails) == 1
        assert judged.fails[0].startswith(text)
    assert triple.good_with_multiplicity(H, H, np.eye(2)).holds
    V = np.diag([2.0, 1.0])
    assert triple.good(None, None, V).holds
    assert triple.good(None, -np.eye(2), V).fails == ("Def 4.1: <Q phi_1, K phi_1> = -1 is not positive.",)


@given(seeds, st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_the_root_squares_to_the_form(seed, dim):
    Q = np.random.default_rng(seed).uniform(-1, 1, (dim, dim))
    A = triple.good_with_multiplicity(Q, Q, None).A
    np.testing.assert_allclose(A @ A, Q.T @ Q, **close(float, dim, amplification=10))
    np.testing.assert_allclose(A, A.T, **close(float, dim))
    assert np.linalg.eigvalsh(A).min() > -1e-12
    assert triple.good(Q, -Q, None).A is None


def test_the_scale_does_not_matter():
    V = weights.PAPER_B["hyperplanes-2d"]
    for scale in (1e-8, 1e8):
        assert triple.good(scale * np.eye(2), None, scale * V).holds
        assert triple.good_with_multiplicity(scale * np.eye(2), None, scale * V).holds


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((None, None, None), "at least one matrix"),
        ((None, None, np.ones((2, 3))), r"value.shape = \(2, 3\)"),
        ((np.eye(3), None, np.eye(2)), r"query.shape = \(3, 3\)"),
        ((np.ones((1, 2)), None, np.eye(2)), "the same number of rows"),
        ((None, None, np.ones((2, 2, 2))), "Heads are judged one at a time"),
        ((None, None, [[np.nan]]), "nan or inf"),
        ((None, None, [[1j]]), "complex numbers"),
    ],
)
def test_what_is_no_triple_is_refused(given, text):
    for judge in (triple.good, triple.good_with_multiplicity):
        with pytest.raises(SpecError, match=text):
            judge(*given)
    with pytest.raises(SpecError, match="tolerance = 1 cannot be used"):
        triple.good(None, None, np.eye(2), tolerance=1)
