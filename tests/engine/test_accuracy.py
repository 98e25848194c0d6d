"""Numbers that must be right: tiny pulls keep their digits, nothing moves that should rest, huge beta is finite."""

import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tokenflock as flock
from tokenflock.engine.explicit.terms import PRODUCTS, kernel_for
from tokenflock.geometry import circle, retract
from tokenflock.model import velocity

DIGITS = 60
RELATIVE = 1e-10
ENGINES = ("cpu", "reference")


def exact_velocity(x, beta, visible):
    """(E1)-(E6) with V = B = I in 60 digits, of the tokens as they are in float64; visible(i) lists what i sees."""
    with mpmath.workdps(DIGITS):
        points = [[mpmath.mpf(float(c)) for c in token] for token in x]
        lengths = [mpmath.sqrt(mpmath.fdot(p, p)) for p in points]
        points = [[c / size for c in p] for p, size in zip(points, lengths, strict=True)]
        rows = []
        for i, p in enumerate(points):
            weights = [(mpmath.exp(beta * (mpmath.fdot(p, points[j]) - 1)), points[j]) for j in visible(i)]
            total = mpmath.fsum(w for w, _ in weights)
            pull = [mpmath.fsum(w * (y[a] - p[a]) for w, y in weights) / total for a in range(len(p))]
            along = mpmath.fdot(p, pull)
            rows.append([float(c - along * q) for c, q in zip(pull, p, strict=True)])
    return np.array(rows)


def at_angle(dim, angle, seed=3):
    """Two unit tokens at an angle, in general position."""
    a, b = np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, 2)))[0].T
    return retract(np.array([a, math.cos(angle) * a + math.sin(angle) * b]))


def causal(i):
    return range(i + 1)


def relative_error(got, expected):
    size = np.abs(expected).max()  # first, for squares of 1e-300 are 0
    return np.linalg.norm((got - expected) / size) / np.linalg.norm(expected / size)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dim", [2, 3, 5, 20])
@pytest.mark.parametrize(("beta", "size"), [(64.0, 1e-25), (36.0, 1e-30), (400.0, 1e-300)])
def test_a_tiny_causal_pull_keeps_its_digits(engine, dim, beta, size, request):
    # sin(a) exp(beta (cos a - 1)) = size to a factor: at beta = 36 the most distant tokens there are.
    angle = math.acos(max(1 + math.log(size) / beta, -0.99))
    x = at_angle(dim, angle)
    expected = exact_velocity(x, beta, causal)
    model = flock.Model(dim=dim, beta=beta)
    got = request.getfixturevalue(engine).velocity(model, x)
    assert 1e-2 * size < np.abs(expected[1]).max() < 1e2 * size
    assert_array_equal(got[0], 0.0)
    assert relative_error(got[1], expected[1]) < RELATIVE


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dim", [2, 3, 5])
def test_the_pull_of_a_token_that_is_almost_there_keeps_its_digits(engine, dim, request):
    # 1e-12 apart: <x, y> is 1 in floating point. In float64 the tokens themselves have 1e-4 of this distance.
    x = at_angle(dim, 1e-12)
    expected = exact_velocity(x, 64.0, causal)
    got = request.getfixturevalue(engine).velocity(flock.Model(dim=dim, beta=64.0), x)
    assert relative_error(got[1], expected[1]) < 1e-3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dim", [2, 3])
def test_the_pull_of_a_far_cluster_on_tokens_that_met_keeps_its_digits(engine, dim, request):
    # Four tokens in one place do not move each other; a fifth at a distance moves all of them by 1e-20.
    beta, far = 64.0, at_angle(dim, 0.75)
    x = np.vstack([np.repeat(far[:1], 4, axis=0), far[1:]])
    model = flock.Model(dim=dim, beta=beta, mask="full")
    expected = exact_velocity(x, beta, lambda i: range(5))
    got = request.getfixturevalue(engine).velocity(model, x)
    assert np.abs(expected[:4]).max() < 1e-7
    for i in range(5):
        assert relative_error(got[i], expected[i]) < RELATIVE


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dim", [2, 3, 20])
def test_a_crowd_is_exact_to_rounding(engine, dim, request):
    x = flock.uniform(40, dim, seed=1)
    model = flock.Model(dim=dim, beta=9.0)
    expected = exact_velocity(x, 9.0, causal)
    got = request.getfixturevalue(engine).velocity(model, x)
    assert max(relative_error(a, b) for a, b in zip(got[1:], expected[1:], strict=True)) < 1e-13


# ---- exact rest


RESTING = {
    "one-token": lambda dim: flock.uniform(1, dim, seed=5),
    "coincident": lambda dim: np.repeat(flock.uniform(1, dim, seed=5), 7, axis=0),
    "opposite": lambda dim: np.array([np.eye(dim)[0], -np.eye(dim)[0]]),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("dim", [2, 3, 5, 20])
@pytest.mark.parametrize("name", RESTING)
def test_tokens_that_should_rest_have_velocity_exactly_zero(name, dim, mask, engine, request):
    x = RESTING[name](dim)
    for options in ({}, {"normaliser": "count"}, {"value": 2.5 * np.eye(dim)}, {"value": -np.eye(dim)}):
        model = flock.Model(dim=dim, beta=3.0, mask=mask, **options)
        got = request.getfixturevalue(engine).velocity(model, x)
        if engine == "cpu" and kernel_for(model) in PRODUCTS and name != "one-token":
            assert np.abs(got).max() < 1e-15 * np.exp(3.0)  # matrix products sum before they subtract, see blas_kernels
        else:
            assert_array_equal(got, 0.0)


@pytest.mark.parametrize("dim", [2, 3, 5, 20])
def test_a_lone_token_never_moves_a_bit(dim):
    x = flock.uniform(1, dim, seed=6)
    for scheme in ({"scheme": "rk4", "dt": 0.5}, {"scheme": "tsit5"}, {"scheme": "layers", "dt": 0.5}):
        run = flock.simulate(flock.Model(dim=dim), x, 1000.0, times=[0.0, 1.0, 1000.0], **scheme)
        drift = 0.0 if scheme["scheme"] == "tsit5" else 1e-15 * 2000  # each step may round the length once
        assert np.abs(run.x.values - run.start.values).max() <= drift


# ---- huge beta


@pytest.mark.parametrize(("engine", "dtype"), [("cpu", "float64"), ("cpu", "float32"), ("reference", "float64")])
@pytest.mark.parametrize("dim", [2, 3, 5, 20])
@pytest.mark.parametrize("mask", ["causal", "full", flock.Window(3)], ids=str)
def test_beta_of_a_million_is_finite(mask, dim, dtype, engine, request):
    model = flock.Model(dim=dim, beta=1e6, mask=mask)
    x = np.vstack([flock.uniform(20, dim, seed=1), flock.cap(20, dim, 3e-3, seed=2)])
    options = {"dtype": dtype} if engine == "cpu" else {}
    got = request.getfixturevalue(engine).velocity(model, x, **options)
    assert np.isfinite(got).all()
    assert np.abs(got[20:]).max() > 1e-5 * math.sqrt(3e-3)


def test_a_run_at_beta_of_a_million_is_finite_and_moves():
    x = circle(np.linspace(0.0, 2e-3, 12))
    end = flock.simulate(flock.Model(dim=2, beta=1e6), x, 5.0, times=[5.0]).x.values[-1]
    assert np.isfinite(end).all()
    assert np.abs(end - x).max() > 1e-4


def test_beta_tends_to_hardmax():
    x = flock.uniform(12, 3, seed=1)
    query = np.random.default_rng(1).standard_normal((3, 3))
    hard = velocity(flock.Model(dim=3, beta=np.inf, query=query), x)
    gaps = [np.abs(velocity(flock.Model(dim=3, beta=b, query=query), x) - hard).max() for b in (1.0, 1e2, 1e4, 1e6)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-12 < gaps[0]
