"""Noise common to all tokens (E21): what it keeps, closed forms, and the orders of its steps, strong and weak."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tokenflock as flock
from tokenflock.common_noise import drawn, features, weights_of
from tokenflock.engine.randomness import COMMON, key_of, normals
from tokenflock.errors import SpecError
from tolerances import standard_errors

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def run(common, x, t_end=1.0, dt=0.01, **options):
    model = flock.Model(**({"dim": x.shape[-1], "mask": "full", "common_noise": common} | options))
    return flock.simulate(model, x, t_end, times=[t_end], scheme="heun", dt=dt, seed=5)


def ends(noise, x, **settings):
    return run(noise, x, **settings)["x"].values[..., 0, :, :]


def test_a_common_rotation_keeps_the_overlaps_of_the_run_without_noise():
    """To the order of the steps, whatever attention does meanwhile; a matrix that is no rotation does not."""
    x = flock.uniform(8, 3, seed=1)
    kept = {}
    for kind, noise in (
        ("none", None),
        ("rotation", flock.CommonNoise(0.8, "rotation")),
        ("matrix", flock.CommonNoise(0.8, "matrix")),
    ):
        for dt in (0.04, 0.01, 0.0025):
            y = ends(noise, x, dt=dt, beta=2.0)
            kept[kind, dt] = y @ y.T, y
    off = {key: np.abs(overlaps - kept["none", key[1]][0]).max() for key, (overlaps, _) in kept.items()}
    assert off["rotation", 0.0025] < 5e-3
    assert off["rotation", 0.04] > 4 * off["rotation", 0.0025], "the error is not that of the steps"
    assert np.abs(kept["rotation", 0.01][1] - kept["none", 0.01][1]).max() > 0.1, "nothing turned"
    assert min(off["matrix", dt] for dt in (0.04, 0.01, 0.0025)) > 0.05


@pytest.mark.parametrize("kind", ["shift", "rotation", "matrix", "field"])
def test_tokens_at_one_place_stay_together(kind):
    x = np.tile(flock.uniform(1, 3, seed=2), (4, 1))
    y = ends(flock.CommonNoise(1.0, kind), x)
    assert_allclose(y, np.tile(y[:1], (4, 1)), rtol=0, atol=1e-15)
    own = flock.simulate(flock.Model(dim=3, noise=1.0), x, 1.0, dt=0.01)["x"].values[-1]
    assert np.ptp(own, axis=0).max() > 0.1


@pytest.mark.parametrize("kind", ["shift", "rotation", "field"])
def test_a_single_token_does_spherical_brownian_motion(kind):
    """E <x(0), x(t)> = exp(-(d - 1) strength^2 t / 2), as under noise of its own."""
    runs, d, strength, t = 400, 3, 0.9, 0.5
    x = flock.uniform(1, d, seed=3, runs=runs)
    model = flock.Model(dim=d, common_noise=flock.CommonNoise(strength, kind, waves=512))
    y = flock.simulate(model, x, t, times=[t], dt=0.05)["x"].values[:, 0]
    overlaps = np.sum(x * y, axis=(1, 2))
    expected = math.exp(-(d - 1) * strength**2 * t / 2)
    assert abs(overlaps.mean() - expected) < standard_errors(overlaps, 4) + 0.02


def test_the_correlation_of_a_field_falls_with_the_distance():
    noise, x = flock.CommonNoise(2.0, "field", length=0.7, waves=4096), flock.uniform(6, 3, seed=4)
    phi = features(noise, x) * math.sqrt(2 / 4096)
    gaps = ((x[:, None] - x) ** 2).sum(axis=-1)
    assert_allclose(phi @ phi.T, np.exp(-gaps / (2 * 0.7**2)), atol=5 / math.sqrt(4096))


def brownian(noise, dim, steps, h, seed, r):
    """B(t_end) of the Brownian motions of kind='own' of one run, from the numbers that its steps draw."""
    key = key_of(seed, r) ^ COMMON
    return math.sqrt(h) * sum(normals(key, k, *drawn(noise, dim))[:, 0] for k in range(steps))


def test_strong_order_one_against_the_exact_solution_of_one_brownian_motion():
    """dx = sigma M x o dB has x(t) = exp(sigma M B(t)) x(0): Stratonovich's calculus, and with Ito's it would not."""
    matrix, sigma, runs = np.array([[0.3, -1.0], [0.6, -0.2]]), 0.7, 60
    noise, x = flock.CommonNoise(sigma, matrices=matrix[None]), flock.cube(1, 2, seed=1)
    model = flock.Model(dim=2, space="euclidean", value=np.zeros((2, 2)), common_noise=noise)
    from scipy.linalg import expm

    errors, steps = [], (8, 16, 32, 64)
    for count in steps:
        starts = np.tile(x, (runs, 1, 1))
        y = flock.simulate(model, starts, 1.0, times=[1.0], dt=1.0 / count, seed=5)["x"].values[:, 0, 0]
        exact = [expm(sigma * matrix * brownian(noise, 2, count, 1.0 / count, 5, r)[0]) @ x[0] for r in range(runs)]
        errors.append(math.sqrt(np.mean(np.sum((y - exact) ** 2, axis=1))))
    order = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert 0.85 < order < 1.2
    assert errors[-1] < 0.02


def test_weak_order_one_on_the_sphere():
    """The error of E <x(0), x(t)> on S^2: halved with dt, once dt is small (1.85 here, 2 in the limit)."""
    x = flock.uniform(100_000, 3, seed=1)
    model = flock.Model(dim=3, noise=1.0, mask=flock.Window(1), value=np.zeros((3, 3)))
    errors = []
    for dt in (0.0625, 0.03125):
        y = flock.simulate(model, x, 1.0, times=[1.0], scheme="heun", dt=dt)["x"].values[0]
        errors.append(np.mean(np.sum(x * y, axis=1)) - math.exp(-1.0))
    assert 0.01 < abs(errors[0])
    assert 1.6 < errors[0] / errors[1] < 2.2


def test_the_noise_belongs_to_the_seed_and_the_run_and_is_repeated(tmp_path):
    x = flock.uniform(5, 3, seed=1, runs=2)
    made = run(flock.CommonNoise(0.5, "field", length=0.3, waves=32, seed=4), x, noise=0.2)
    assert np.abs(made["x"].values[0] - made["x"].values[1]).max() > 0.1
    back = flock.load(flock.save(made, tmp_path / "run.zarr"))
    assert_array_equal(flock.again(back)["x"].values, made["x"].values)
    assert np.abs(flock.again(back, seed=6)["x"].values - made["x"].values).max() > 0.01


def test_weights_of_a_rotation_are_antisymmetric_with_unit_variance():
    noise = flock.CommonNoise(1.0, "rotation")
    all_of = np.array([weights_of(noise, normals(key_of(0, 0), k, *drawn(noise, 3))) for k in range(4000)])
    assert_array_equal(all_of, -np.swapaxes(all_of, 1, 2))
    assert_allclose(all_of[:, 0, 1].var(), 1.0, atol=0.1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: flock.CommonNoise(0.0), r"CommonNoise.strength = 0.0"),
        (lambda: flock.CommonNoise(1.0, "spin"), "unknown kind of CommonNoise 'spin'.*Known: shift, rotation"),
        (lambda: flock.CommonNoise(1.0, "own"), "Each has a Brownian motion"),
        (lambda: flock.CommonNoise(1.0, "field", matrices=TURN[None]), "have kind='own'"),
        (lambda: flock.Model(dim=3, common_noise=flock.CommonNoise(matrices=TURN[None])), r"\(m, 3, 3\)"),
        (lambda: flock.Model(dim=3, common_noise=0.1), r"None or flock.CommonNoise"),
        (lambda: flock.Model(dim=2, space="rescaled", common_noise=flock.CommonNoise()), "Use space='euclidean'"),
        (lambda: flock.Model(dim=2, layer_norm="pre", common_noise=flock.CommonNoise()), "unit tokens"),
    ],
)
def test_what_cannot_be_is_said(make, words):
    with pytest.raises(SpecError, match=words):
        make()


@pytest.mark.parametrize("scheme", ["euler", "rk4", "layers", "tsit5"])
def test_only_a_scheme_of_stratonovich_is_taken(scheme):
    model = flock.Model(dim=2, common_noise=flock.CommonNoise())
    with pytest.raises(SpecError, match=r"in the sense of Stratonovich.*take scheme='heun'"):
        flock.simulate(model, flock.uniform(3, 2), 1.0, scheme=scheme, dt=None if scheme == "tsit5" else 0.1)
