"""The atlas: lambda_max, its eigenspaces and Jordan blocks, and the row that V falls in."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from tokenflock import weights
from tokenflock.analysis import spectrum
from tokenflock.errors import SpecError


def turned(D, seed=0, skew=True):
    """D in a random basis."""
    generator = np.random.default_rng(seed)
    S = np.linalg.qr(generator.standard_normal(D.shape))[0]
    S = S * np.linspace(1, 3, len(D)) if skew else S
    return S @ D @ np.linalg.inv(S), S


@pytest.mark.parametrize(
    ("V", "row", "lam", "multiplicity"),
    [
        (np.eye(4), "first-token", 1, 4),
        (2.5 * np.eye(3), "first-token", 2.5, 3),
        (np.diag([1.0, 1.0, -0.5]), "one-point", 1, 2),
        (np.diag([1.0, 0.5, 0.2]), "two-points", 1, 1),
        (np.diag([-1.0, -1.0, -2.0]), "cloud", -1, 2),
        (np.diag([-1.0, -2.0, -3.0]), "two-clouds", -1, 1),
        (-np.eye(3), "cloud", -1, 3),
        (weights.spectrum([1 + 0.5j, 1 - 0.5j, 0.2], seed=1), "rotating", 1 + 0.5j, 1),
        (weights.spectrum([-1 + 0.5j, -1 - 0.5j, -2], seed=1), "rotating", -1 + 0.5j, 1),
        (weights.spectrum([1 + 0.5j, 1 - 0.5j, 1, 0.2], seed=1), "rotating", 1 + 0.5j, 1),
        (weights.jordan(1.0, 2, dim=4, seed=3), "jordan", 1, 2),
        (np.zeros((3, 3)), "zero", 0, 3),
        (np.diag([0.0, -1.0]), "zero", 0, 1),
    ],
)
def test_the_row_of_the_atlas(V, row, lam, multiplicity):
    regime = spectrum.classify(V)
    assert regime.row == row
    assert regime.lambda_max == pytest.approx(lam)
    assert regime.multiplicity == multiplicity
    assert regime.prediction == spectrum.ROWS[row]
    assert regime.is_complex == (row == "rotating")


@pytest.mark.parametrize("sizes", [(1,), (2,), (3,), (2, 2), (2, 1), (3, 1, 1), (2, 2, 1)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_jordan_blocks_and_both_subspaces(sizes, seed):
    m = sum(sizes)
    D = np.diag([*[1.0] * m, 0.0, -0.5])
    first, at = [], 0
    for size in sizes:
        D[range(at, at + size - 1), range(at + 1, at + size)] = 1.0
        first.append(at)
        at += size
    V, S = turned(D, seed)
    regime = spectrum.classify(V)
    assert regime.jordan == sizes
    assert regime.gap == pytest.approx(1.0, abs=1e-4)
    lead = [k for k, size in zip(first, sizes, strict=True) if size == max(sizes)]
    assert same(regime.L, S[:, lead])
    assert same(regime.generalised, S[:, :m])


def same(A, B):
    """Whether two sets of columns span one space."""
    Q = np.linalg.qr(B)[0]
    return A.shape[1] == Q.shape[1] and np.abs(A - Q @ (Q.T @ A)).max() < 1e-6


def test_complex_blocks():
    R = weights.plane_rotation(0.7) + np.eye(2)
    D = np.zeros((5, 5))
    D[:2, :2] = D[2:4, 2:4] = R
    V, S = turned(D, 4)
    assert spectrum.classify(V).jordan == (1, 1)
    assert same(spectrum.classify(V).L, S[:, :4])
    D[:2, 2:4] = np.eye(2)
    V, S = turned(D, 4)
    assert spectrum.classify(V).jordan == (2,)
    assert same(spectrum.classify(V).L, S[:, :2])
    assert same(spectrum.classify(V).generalised, S[:, :4])


def test_the_eigenspace_is_mapped_into_itself():
    for seed in range(20):
        V = weights.ginibre(6, seed=seed)
        regime = spectrum.classify(V)
        for basis in (regime.L, regime.generalised):
            assert np.allclose(basis.T @ basis, np.eye(basis.shape[1]))
            assert np.abs(V @ basis - basis @ (basis.T @ V @ basis)).max() < 1e-10
        assert regime.lambda_max.real == pytest.approx(np.linalg.eigvals(V).real.max())


@pytest.mark.parametrize(
    ("V", "claim", "fails"),
    [
        (np.eye(1), "theorem-4.1", "the sphere of R^1 is two points"),
        (np.diag([1.0, 0.5, -0.2]), "conjecture-1", "not all eigenvalues are real and positive"),
        (np.diag([1.0, 0.5, 0.5]), "conjecture-1", "eigenvalues coincide"),
        (weights.paranormal(5, 2, seed=1), "conjecture-2", "V does not map the complement of L into itself"),
        (
            np.block([[np.eye(2), np.zeros((2, 2))], [np.zeros((2, 2)), np.array([[0.5, 9.0], [0.0, 0.4]])]]),
            "conjecture-2",
            "<Vz, z> < lambda |z|^2 fails on the complement of L",
        ),
        (weights.jordan(1.0, 3, dim=4), "", "lambda_max has a Jordan block of size 3"),
        (weights.plane_rotation(1.0), "", "lambda_max is not real"),
    ],
)
def test_the_hypothesis_that_fails_is_named(V, claim, fails):
    regime = spectrum.classify(V)
    assert regime.claim == claim
    assert fails in regime.fails


def test_the_tolerance_decides_what_is_equal():
    V = np.diag([1.0, 1.0 - 1e-4, 0.0])
    assert spectrum.classify(V).row == "two-points"
    assert spectrum.classify(V, tolerance=1e-3).row == "one-point"
    assert spectrum.classify(1e8 * V).row == "two-points"  # relative to |V|


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (np.ones((2, 3)), r"value.shape = \(2, 3\) cannot be used. Allowed: \(d, d\)"),
        (np.ones((2, 2, 2)), "several heads are classified apart"),
        ([[np.nan, 0], [0, 1]], "a finite"),
    ],
)
def test_what_is_no_matrix_is_refused(given, text):
    with pytest.raises(SpecError, match=text):
        spectrum.classify(given)
    with pytest.raises(SpecError, match="tolerance = 0 cannot be used"):
        spectrum.classify(np.eye(2), tolerance=0)


def test_a_large_matrix_takes_few_decompositions_on_one_thread(monkeypatch):
    # Of V = I every power of V - 1 is 0: ranks of 256 of them were looked at, and threads of BLAS fought over each.
    seen, threads = [], []
    svd, eigvals = np.linalg.svd, np.linalg.eigvals

    def counted(function, *arguments, **keywords):
        seen.append(function)
        threads.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return function(*arguments, **keywords)

    monkeypatch.setattr(np.linalg, "svd", lambda *a, **k: counted(svd, *a, **k))
    monkeypatch.setattr(np.linalg, "eigvals", lambda *a, **k: counted(eigvals, *a, **k))
    found = spectrum.classify(np.eye(64))
    assert (found.row, found.multiplicity, found.jordan) == ("first-token", 64, (1,) * 64)
    assert len(seen) <= 5
    assert set(threads) <= {1}


@pytest.mark.parametrize("seed", range(6))
def test_one_factorisation_gives_the_eigenvalues_and_the_leading_space(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 30))
    V = rng.normal(size=(d, d))
    found = spectrum.classify(V)
    lam = np.linalg.eigvals(V)
    assert found.lambda_max.real == pytest.approx(lam.real.max(), rel=1e-10, abs=1e-10)
    top = found.generalised
    assert top.T @ top == pytest.approx(np.eye(top.shape[1]), abs=1e-12)
    assert V @ top == pytest.approx(top @ (top.T @ V @ top), abs=1e-9)  # V maps it into itself
    assert np.linalg.eigvals(top.T @ V @ top).real == pytest.approx(lam.real.max(), abs=1e-9)
