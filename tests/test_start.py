"""Starting tokens have the laws they promise, and run r of an ensemble is always the same run."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

from tokenflock import start, theory
from tokenflock.errors import SpecError
from tokenflock.geometry import distance

ARGUMENTS = {
    "uniform": (6, 7),
    "cap": (6, 7, 0.4),
    "cube": (6, 7),
    "gaussian": (6, 7),
    "orthonormal": (6, 7),
    "equiangular": (6, 7, 0.3),
    "planted": (6, 7, 2, 0.1),
    "von_mises_fisher": (6, 7, 5.0),
}
ON_SPHERE = sorted(set(ARGUMENTS) - {"cube", "gaussian"})
TOKEN_BY_TOKEN = ["uniform", "cap", "cube", "gaussian", "von_mises_fisher"]
P_VALUE = 1e-3  # of the Kolmogorov-Smirnov tests; the seeds are fixed


@pytest.mark.parametrize("name", start.STARTS)
def test_a_run_does_not_depend_on_how_many_runs_are_asked_for(name):
    make, arguments = start.STARTS[name], ARGUMENTS[name]
    many = make(*arguments, seed=3, runs=5)
    assert many.shape == (5, 6, 7)
    assert many.dtype == np.float64
    assert_array_equal(make(*arguments, seed=3, runs=2), many[:2])
    assert_array_equal(make(*arguments, seed=3), many[0])
    assert not np.allclose(many[0], many[1])
    assert not np.allclose(make(*arguments, seed=4), many[0])
    assert not np.allclose(make(*arguments, seed=4), many[1])


@pytest.mark.parametrize("name", TOKEN_BY_TOKEN)
def test_the_first_tokens_of_a_longer_start_are_a_shorter_one(name):
    _, dim, *rest = ARGUMENTS[name]
    long = start.STARTS[name](1000, dim, *rest, seed=5)
    assert_array_equal(start.STARTS[name](13, dim, *rest, seed=5), long[:13])


@pytest.mark.parametrize("name", ON_SPHERE)
def test_tokens_lie_on_the_sphere(name):
    x = start.STARTS[name](*ARGUMENTS[name], seed=1, runs=200)
    assert_allclose(np.linalg.norm(x, axis=-1), 1.0, atol=1e-14)


@pytest.mark.parametrize("dim", [2, 3, 10])
def test_uniform_tokens_fill_caps_by_their_measure(dim):
    x = start.uniform(4000, dim, seed=6)
    pole = np.ones(dim) / np.sqrt(dim)
    law = stats.kstest(distance(x, pole), lambda s: theory.cap_measure(s, dim))
    assert law.pvalue > P_VALUE


@pytest.mark.parametrize(("dim", "angle"), [(2, 0.5), (3, 1.0), (3, np.pi), (8, 2.5), (100, 0.05)])
@pytest.mark.parametrize("tilted", [False, True])
def test_cap_tokens_are_uniform_inside_and_never_outside(dim, angle, tilted):
    center = -np.arange(1.0, dim + 1) if tilted else None
    w = np.eye(dim)[0] if center is None else center / np.linalg.norm(center)
    x = start.cap(3000, dim, angle, center, seed=7)
    away = distance(x, w)
    assert away.max() <= angle * (1 + 1e-12)
    law = stats.kstest(away, lambda s: theory.cap_measure(np.minimum(s, angle), dim) / theory.cap_measure(angle, dim))
    assert law.pvalue > P_VALUE
    # Around the center every direction is alike: the tangential mean vanishes.
    tangential = x - (x @ w)[:, None] * w
    spread = np.sqrt(np.mean(np.sum(tangential**2, axis=1)))
    assert np.linalg.norm(tangential.mean(axis=0)) < 3.5 * spread / np.sqrt(3000)


def test_tokens_around_any_center_are_one_start_turned():
    for center in ([1e-9, 1.0, 0.0], [-1.0, 1e-9, 0.0], [1.0, 1e-9, 0.0], [-1e-200, 0.0, 0.0]):
        x, w = start.cap(500, 3, 0.3, center, seed=8), np.array(center) / np.max(np.abs(center))
        overlap = x @ (w / np.linalg.norm(w))
        assert_allclose(overlap, start.cap(500, 3, 0.3, seed=8)[:, 0], atol=1e-14)


def test_cube_and_gaussian_tokens_have_their_laws():
    x = start.cube(2000, 3, half_width=5.0, seed=9)
    assert stats.kstest(x.ravel(), stats.uniform(-5, 10).cdf).pvalue > P_VALUE
    y = start.gaussian(2000, 3, scale=2.0, seed=9)
    assert stats.kstest(y.ravel(), stats.norm(scale=2.0).cdf).pvalue > P_VALUE
    assert start.cube(3, 1).shape == (3, 1)


def test_orthonormal_tokens_are_orthonormal_and_each_is_uniform():
    x = start.orthonormal(4, 5, seed=10, runs=1500)
    assert_allclose(x @ x.transpose(0, 2, 1), np.broadcast_to(np.eye(4), (1500, 4, 4)), atol=1e-14)
    for token in range(4):
        law = stats.kstest(distance(x[:, token], np.eye(5)[0]), lambda s: theory.cap_measure(s, 5))
        assert law.pvalue > P_VALUE


@pytest.mark.parametrize(
    ("n_tokens", "overlap"), [(1, 0.4), (2, -1.0), (3, -0.5), (5, 0.0), (5, 0.9), (5, -0.2), (4, 1.0)]
)
def test_equiangular_tokens_have_one_overlap(n_tokens, overlap):
    x = start.equiangular(n_tokens, 6, overlap, seed=11)
    gram = np.full((n_tokens, n_tokens), overlap)
    np.fill_diagonal(gram, 1.0)
    assert_allclose(x @ x.T, gram, atol=1e-14)


def test_planted_clusters_are_there_balanced_and_shuffled():
    x = start.planted(50, 6, n_clusters=4, spread=0.01, seed=12)
    near = distance(x[:, None], x[None]) < 0.021
    sizes = near.sum(axis=1)
    assert sorted(set(sizes)) == [12, 13]
    assert len(np.unique(near, axis=0)) == 4
    runs_of_one_cluster = 1 + np.sum(~near[np.arange(49), np.arange(1, 50)])
    assert runs_of_one_cluster > 25  # sorted tokens would give 4


@pytest.mark.parametrize("dim", [2, 3, 8, 50])
@pytest.mark.parametrize("kappa", [0.0, 0.5, 5.0, 200.0])
def test_von_mises_fisher_has_the_bessel_mean(dim, kappa):
    x = start.von_mises_fisher(6000, dim, kappa, center=np.ones(dim), seed=13)
    overlap = x @ np.ones(dim) / np.sqrt(dim)
    expected = special.ive(dim / 2, kappa) / special.ive(dim / 2 - 1, kappa) if kappa else 0.0
    assert overlap.mean() == pytest.approx(expected, abs=4 * overlap.std() / np.sqrt(6000))
    if kappa:  # the variance, 1 - R^2 - (d-1) R / kappa, sees errors that the mean does not
        variance = 1 - expected**2 - (dim - 1) * expected / kappa
        assert overlap.var() == pytest.approx(variance, rel=0.12)


def test_von_mises_fisher_is_exact_on_the_circle_and_on_the_sphere():
    x = start.von_mises_fisher(5000, 2, 3.0, seed=14)
    assert stats.kstest(np.arctan2(x[:, 1], x[:, 0]), stats.vonmises(3.0).cdf).pvalue > P_VALUE
    overlap = start.von_mises_fisher(5000, 3, 3.0, seed=14)[:, 0]
    law = stats.kstest(overlap, lambda u: (np.exp(3 * u) - np.exp(-3)) / (np.exp(3) - np.exp(-3)))
    assert law.pvalue > P_VALUE


def test_von_mises_fisher_keeps_its_shape_when_it_is_nearly_a_point():
    # kappa (1 - <x, center>) tends to a Gamma((d-1)/2) law; at kappa = 1e12 overlaps alone would carry four digits.
    for kappa in (1e12, 1e100):
        x = start.von_mises_fisher(4000, 4, kappa, seed=15)
        scaled = kappa * np.sum(x[:, 1:] ** 2, axis=1) / 2
        assert stats.kstest(scaled, stats.gamma(1.5).cdf).pvalue > P_VALUE


def test_gathered_tokens_are_those_of_the_start_each_once():
    x = start.uniform(5, 3, seed=1)[[3, 0, 3, 4, 0, 3]]
    tokens, masses = start.gather(x)
    assert_array_equal(tokens, x[[0, 1, 3]])
    assert_array_equal(masses, [3.0, 2.0, 1.0])
    assert_array_equal(start.gather(start.uniform(9, 2))[1], np.ones(9))


def test_a_quadrature_has_the_means_of_the_uniform_distribution():
    x, a = start.quadrature(9, 2)
    angle = np.arctan2(x[:, 1], x[:, 0])
    assert_allclose([a @ np.cos(k * angle) for k in range(1, 9)], np.zeros(8), atol=1e-13)
    for m in (1, 2, 5):
        x, a = start.quadrature(2 * m * m, 3)
        assert a.sum() == pytest.approx(2 * m * m)
        assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=1e-15)
        for k in range(2 * m):  # the mean of <x, w>^k is 1 / (k + 1) for even k, whatever w is
            w = start.uniform(1, 3, seed=k)[0]
            assert a @ (x @ w) ** k / a.sum() == pytest.approx((k % 2 == 0) / (k + 1), abs=1e-14)
    x, a = start.quadrature(8, 3)
    assert a @ x[:, 2] ** 4 / 8 != pytest.approx(1 / 5, abs=1e-3)  # degree 4 is beyond m = 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: start.uniform(0, 2),
            r"n_tokens = 0 cannot be used. Allowed: an integer >= 1. A start has at least one",
        ),
        (lambda: start.uniform(3.0, 2), r"n_tokens = 3.0 cannot be used. Allowed: an integer >= 1"),
        (lambda: start.uniform(True, 2), r"n_tokens = True cannot be used"),
        (
            lambda: start.uniform(3, 1),
            r"dim = 1 cannot be used. Allowed: an integer >= 2. The sphere of R\^1 is two points",
        ),
        (lambda: start.cube(3, 0), r"dim = 0 cannot be used. Allowed: an integer >= 1"),
        (lambda: start.uniform(3, 2, runs=0), r"runs = 0 cannot be used. Allowed: an integer >= 1. An empty ensemble"),
        (
            lambda: start.uniform(3, 2, seed=-1),
            r"seed = -1 cannot be used. Allowed: an integer >= 0. Every start needs a seed",
        ),
        (lambda: start.uniform(3, 2, seed=None), r"seed = None cannot be used"),
        (lambda: start.cap(3, 2, 0.0), r"angle = 0.0 cannot be used. Allowed: radians above 0, up to pi"),
        (lambda: start.cap(3, 2, 4.0), r"angle = 4.0 cannot be used"),
        (lambda: start.cap(3, 2, "wide"), r"angle = 'wide' cannot be used"),
        (lambda: start.cap(3, 1000, 0.01), r"angle = 0.01 cannot be used.*use von_mises_fisher"),
        (
            lambda: start.cap(3, 2, 1.0, center=[0.0, 0.0]),
            r"center = \[0.0, 0.0\] cannot be used. Allowed: a non-zero array",
        ),
        (lambda: start.cap(3, 2, 1.0, center=[1.0, 0.0, 0.0]), r"Allowed: a non-zero array of shape \(2,\)"),
        (lambda: start.cube(3, 2, half_width=-1.0), r"half_width = -1.0 cannot be used. Allowed: a number > 0"),
        (lambda: start.gaussian(3, 2, scale=np.nan), r"scale = nan cannot be used"),
        (lambda: start.orthonormal(3, 2), r"n_tokens = 3 cannot be used. Allowed: 1 to dim = 2.*raise dim"),
        (lambda: start.equiangular(3, 4, -0.6), r"overlap = -0.6 cannot be used. Allowed: from -0.5 to 1"),
        (lambda: start.planted(3, 2, 4, 0.1), r"n_clusters = 4 cannot be used. Allowed: 1 to n_tokens = 3"),
        (lambda: start.planted(3, 2, 2, 0.0), r"spread = 0.0 cannot be used"),
        (lambda: start.von_mises_fisher(3, 2, -1.0), r"kappa = -1.0 cannot be used. Allowed: from 0 to 1e300"),
        (lambda: start.gather(np.zeros((2, 3, 2))), r"x.shape = \(2, 3, 2\) cannot be used.*one by one"),
        (lambda: start.gather([[np.nan, 1.0]]), r"x = .* cannot be used. Allowed: finite numbers \(n, d\)"),
        (lambda: start.quadrature(10, 3), r"n_tokens = 10 cannot be used. Allowed: 2 m\^2 .* The nearest is 8"),
        (lambda: start.quadrature(8, 4), r"dim = 4 cannot be used. Allowed: 2 or 3.*uniform"),
        (lambda: start.von_mises_fisher(3, 2, [1.0, 2.0]), r"kappa = \[1.0, 2.0\] cannot be used. Allowed: one number"),
    ],
)
def test_a_start_that_cannot_be_is_refused_in_words(call, words):
    with pytest.raises(SpecError, match=words):
        call()
