"""Families of matrices have the spectra, symmetries and laws they promise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tokenflock import weights
from tokenflock.errors import SpecError

ARGUMENTS = {
    "identity": (4,),
    "diagonal": ([1.0, 2.0],),
    "spectrum": ([1.0, 2j, -2j],),
    "jordan": (0.5, 3),
    "rotation": (4,),
    "plane_rotation": (0.3,),
    "ginibre": (4,),
    "goe": (4,),
    "wigner": (4,),
    "positive_definite": (4,),
    "paranormal": (4, 2),
    "low_rank": (4, 2),
    "uniform_entries": (4,),
}
SEEDED = {
    "rotation",
    "ginibre",
    "goe",
    "wigner",
    "positive_definite",
    "paranormal",
    "low_rank",
    "uniform_entries",
    "spectrum",
}


def eigenvalues(V):
    return np.sort_complex(np.linalg.eigvals(V))


def is_normal(V):
    return np.allclose(V @ V.T, V.T @ V, atol=1e-12)


@pytest.mark.parametrize("name", weights.FAMILIES)
def test_every_family_gives_a_square_float64_matrix_and_the_same_again(name):
    V = weights.FAMILIES[name](*ARGUMENTS[name])
    assert V.ndim == 2
    assert V.shape[0] == V.shape[1]
    assert V.dtype == np.float64
    assert_array_equal(V, weights.FAMILIES[name](*ARGUMENTS[name]))


@pytest.mark.parametrize("name", sorted(SEEDED))
def test_another_seed_gives_another_matrix(name):
    family = weights.FAMILIES[name]
    assert not np.allclose(family(*ARGUMENTS[name], seed=1), family(*ARGUMENTS[name], seed=2))


@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("seed", [None, 0, 7])
@pytest.mark.parametrize(
    "wanted",
    [
        [3.0],
        [1.0, 0.5, -2.0],
        [0.5 + 2j, 0.5 - 2j],
        [0.5 + 2j, -1.0, 0.5 - 2j, 3.0, -1j, 1j],
        [2j, -2j, 1 + 2j, 1 - 2j, -4.0],
    ],
)
def test_a_matrix_made_to_a_spectrum_has_it(wanted, seed, normal):
    V = weights.spectrum(wanted, seed=seed, normal=normal)
    assert_allclose(eigenvalues(V), np.sort_complex(np.array(wanted, dtype=complex)), atol=1e-12)
    if normal or seed is None:
        assert is_normal(V)
    elif len(wanted) > 2:
        assert not is_normal(V)


def test_the_spectrum_of_any_real_matrix_is_accepted():
    wanted = np.linalg.eigvals(np.random.default_rng(0).standard_normal((30, 30)))
    assert_allclose(eigenvalues(weights.spectrum(wanted)), np.sort_complex(wanted), atol=1e-11)


def test_a_spectrum_that_is_not_closed_under_conjugation_is_refused():
    for wanted in ([1j], [1j, 1j, -1j], [1 + 1j, 1 - 2j]):
        with pytest.raises(SpecError, match=r"closed under conjugation.*give a - bi with every"):
            weights.spectrum(wanted)
    with pytest.raises(SpecError, match=r"eigenvalues = \[\] cannot be used"):
        weights.spectrum([])
    with pytest.raises(SpecError, match="eigenvalues = 'red' cannot be used"):
        weights.spectrum("red")


@pytest.mark.parametrize("seed", [None, 3])
def test_a_jordan_block_is_nilpotent_after_its_eigenvalue_and_not_before(seed):
    V = weights.jordan(0.5, 3, dim=5, superdiagonal=2.0, rest=[-1.0, -2.0], seed=seed)
    N = V - 0.5 * np.eye(5)
    ranks = [np.linalg.matrix_rank(np.linalg.matrix_power(N, k), tol=1e-9) for k in (1, 2, 3, 4)]
    assert ranks == [4, 3, 2, 2]
    assert np.trace(V) == pytest.approx(3 * 0.5 - 3.0)
    # The singular values of the block itself show the size of the superdiagonal.
    assert np.linalg.norm(N) == pytest.approx(np.sqrt(2 * 2.0**2 + 1.5**2 + 2.5**2))


def test_jordan_fills_the_rest_one_below():
    assert_allclose(np.diag(weights.jordan(2.0, 2, dim=4)), [2, 2, 1, 1])
    assert_allclose(np.diag(weights.jordan(2.0, 2, dim=4, rest=-3.0)), [2, 2, -3, -3])
    with pytest.raises(SpecError, match=r"rest = .* dim - size = 2 numbers"):
        weights.jordan(2.0, 2, dim=4, rest=[1.0])
    with pytest.raises(SpecError, match=r"dim = 2 cannot be used.*The block must fit"):
        weights.jordan(2.0, 3, dim=2)
    with pytest.raises(SpecError, match=r"eigenvalue = 1j cannot be used.*see spectrum"):
        weights.jordan(1j, 2)


def test_rotations_are_special_orthogonal():
    for dim in (1, 2, 3, 10):
        O = weights.rotation(dim, seed=dim)
        assert_allclose(O @ O.T, np.eye(dim), atol=1e-14)
        assert np.linalg.det(O) == pytest.approx(1.0)
    assert_allclose(weights.plane_rotation(np.pi / 2) @ [1, 0], [0, 1], atol=1e-15)
    assert_allclose(eigenvalues(weights.plane_rotation(0.4)), np.exp([-0.4j, 0.4j]))


def test_rotations_have_the_haar_moments():
    # SO(4): E O_ij = 0, E O_ij^2 = 1/d, E O_ij^4 = 3/(d(d+2)), E (tr O)^2 = 1. LAPACK's own signs fail the first.
    sample = np.array([weights.rotation(4, seed=s) for s in range(4000)])
    assert np.abs(sample.mean(axis=0)).max() < 4.5 * 0.5 / np.sqrt(4000)
    assert_allclose((sample**2).mean(axis=0), 1 / 4, atol=0.02)
    assert_allclose((sample**4).mean(axis=0), 3 / 24, atol=0.02)
    assert np.mean(np.trace(sample, axis1=1, axis2=2) ** 2) == pytest.approx(1.0, abs=0.12)


def test_circle_rotations_have_uniform_angles():
    angle = [np.arctan2(O[1, 0], O[0, 0]) for O in (weights.rotation(2, seed=s) for s in range(2000))]
    counts = np.histogram(angle, bins=8, range=(-np.pi, np.pi))[0]
    assert np.sum((counts - 250) ** 2 / 250) < 24.3  # chi-square with 7 degrees of freedom, p = 0.001


def test_ginibre_fills_the_disc_and_goe_the_semicircle():
    disc = np.abs(np.linalg.eigvals(weights.ginibre(400, seed=1)))
    assert disc.max() == pytest.approx(1.0, abs=0.1)
    assert np.mean(disc < np.sqrt(0.5)) == pytest.approx(0.5, abs=0.05)
    A = weights.goe(400, seed=1)
    assert_array_equal(A, A.T)
    assert np.abs(np.linalg.eigvalsh(A)).max() == pytest.approx(2.0, abs=0.1)
    assert np.mean(np.linalg.eigvalsh(A) ** 2) == pytest.approx(1.0, abs=0.05)
    assert np.var(np.diag(weights.goe(2000, seed=2, scale=1.0))) == pytest.approx(2.0, rel=0.15)
    assert np.std(weights.ginibre(200, scale=3.0)) == pytest.approx(3.0, rel=0.02)


def test_positive_definite_has_its_condition_number():
    A = weights.positive_definite(6, seed=3, condition=50.0)
    assert_array_equal(A, A.T)
    values = np.linalg.eigvalsh(A)
    assert values[0] == pytest.approx(1 / 50)
    assert values[-1] == pytest.approx(1.0)
    assert_allclose(weights.positive_definite(1), [[1.0]])
    with pytest.raises(SpecError, match=r"condition = 0.5 cannot be used. Allowed: a number >= 1"):
        weights.positive_definite(3, condition=0.5)


@pytest.mark.parametrize(("dim", "multiplicity"), [(3, 1), (5, 2), (6, 5), (4, 4)])
def test_paranormal_acts_as_a_multiple_of_one_on_its_leading_space(dim, multiplicity):
    V = weights.paranormal(dim, multiplicity, seed=4, leading=2.0, radius=0.7)
    assert np.linalg.matrix_rank(V - 2.0 * np.eye(dim), tol=1e-9) == dim - multiplicity
    values = np.linalg.eigvals(V)
    rest = np.sort(np.abs(values))[: dim - multiplicity]
    assert np.sum(np.abs(values - 2.0) < 1e-9) == multiplicity
    if len(rest):
        assert rest[-1] == pytest.approx(0.7)
        assert not is_normal(V)


def test_paranormal_refuses_what_would_not_lead():
    with pytest.raises(SpecError, match=r"leading = 1.0 cannot be used. Allowed: above radius = 1"):
        weights.paranormal(3, 1, radius=1.0)
    with pytest.raises(SpecError, match=r"multiplicity = 4 cannot be used. Allowed: 1 to dim = 3"):
        weights.paranormal(3, 4)


def test_low_rank_has_its_rank_and_a_spectral_radius_near_one():
    V = weights.low_rank(300, 100, seed=5)
    assert np.linalg.matrix_rank(V) == 100
    assert np.abs(np.linalg.eigvals(V)).max() == pytest.approx(1.0, abs=0.2)
    with pytest.raises(SpecError, match=r"rank = 5 cannot be used. Allowed: 1 to dim = 4"):
        weights.low_rank(4, 5)


def test_uniform_entries_stay_in_their_interval():
    V = weights.uniform_entries(60, seed=6, low=-0.5, high=2.0)
    assert V.min() >= -0.5
    assert V.max() <= 2.0
    assert V.mean() == pytest.approx(0.75, abs=0.05)
    with pytest.raises(SpecError, match=r"high = -1 cannot be used. Allowed: a finite number above low = -1"):
        weights.uniform_entries(3, high=-1)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("hyperplanes-2d", [-0.06826, 1.34799]),
        ("hyperplanes-3d-a", [-0.0547 - 0.2540j, -0.0547 + 0.2540j, 0.99101]),
        ("hyperplanes-3d-b", [0.0991 - 0.0819j, 0.0991 + 0.0819j, 1.07833]),
        ("codimension", [-0.22210, 0.25287, 1.96345]),
        ("mix", [-0.5, 1.0, 1.0]),
    ],
)
def test_the_matrices_of_paper_b_have_the_eigenvalues_of_the_specification(name, wanted):
    assert_allclose(eigenvalues(weights.PAPER_B[name]), wanted, atol=6e-5)
    with pytest.raises(ValueError, match="read-only"):
        weights.PAPER_B[name][0, 0] = 1.0


def test_sizes_and_seeds_that_cannot_be_are_refused():
    with pytest.raises(SpecError, match=r"dim = 0 cannot be used. Allowed: an integer >= 1"):
        weights.identity(0)
    with pytest.raises(SpecError, match=r"dim = 2.5 cannot be used"):
        weights.rotation(2.5)
    with pytest.raises(SpecError, match=r"seed = None cannot be used.*needs a seed"):
        weights.ginibre(3, seed=None)
    with pytest.raises(SpecError, match="scale = 0 cannot be used"):
        weights.goe(3, scale=0)
    with pytest.raises(SpecError, match=r"values.shape = .*For a full matrix pass the array itself"):
        weights.diagonal(np.eye(2))
