"""Implicit runs in the coordinates of V: the same run, and the same model in other coordinates."""

import numpy as np
import pytest

from tokenflock import Frozen, Model, simulate, velocity
from tokenflock.engine.implicit.turning import turned
from tokenflock.geometry import retract

RNG = np.random.default_rng(11)
G = RNG.standard_normal
S = G((4, 4)) + 2 * np.eye(4)
O = np.linalg.qr(G((3, 3)))[0]
MODELS = {
    "symmetric": Model(dim=4, beta=2.0, query=G((4, 4)), key=G((4, 4)), value=S + S.T),
    "unsorted": Model(dim=3, beta=2.0, key=G((3, 3)), value=np.diag([-1.0, 0.5, 2.0])),
    "circle": Model(dim=2, beta=4.0, value=np.diag([0.5, 1.0])),
    "heads": Model(dim=3, key=G((2, 3, 3)), value=np.stack([np.diag([0.0, 1.0, 2.0]), np.diag([1.0, 1.5, -1.0])])),
    "frozen, full": Model(
        dim=3, mask="full", value=O @ np.diag([1.0, 1.0, 0.2]) @ O.T, frozen=Frozen(retract(G((2, 3))), [2.0, 1.0])
    ),
    "by count": Model(dim=4, normaliser="count", value=S + S.T, masses=RNG.uniform(0.5, 2.0, 8)),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_velocity_is_the_same_in_other_coordinates(name):
    model = MODELS[name]
    other, axes = turned(model)
    x = retract(G((8, model.dim)))
    assert axes.T @ axes == pytest.approx(np.eye(model.dim), abs=1e-14)
    assert velocity(other, x @ axes) @ axes.T == pytest.approx(velocity(model, x), rel=1e-12, abs=1e-12)
    assert other.values[:, 0, 0].sum() == np.diagonal(other.values, axis1=1, axis2=2).sum(axis=0).max()
    assert turned(other) is None


@pytest.mark.parametrize("name", MODELS)
def test_implicit_runs_agree_with_explicit_ones(name):
    model, x, times = MODELS[name], retract(G((8, MODELS[name].dim))), [0.3, 1.0]
    truth = simulate(model, x, 1.0, times=times, scheme="tsit5", rtol=1e-11, atol=1e-13)["x"].values
    run = simulate(model, x, 1.0, times=times, scheme="rosenbrock", rtol=1e-9, atol=1e-9)["x"].values
    assert np.abs(run - truth).max() < 1e-6


def test_eigenvalues_that_differ_by_rounding_alone_are_one():
    value = O @ np.diag([1.0, 1.0, 0.2]) @ O.T
    eigenvalues = np.diagonal(turned(Model(dim=3, value=value)).model.values[0])
    assert eigenvalues[0] == eigenvalues[1]
    assert eigenvalues == pytest.approx([1.0, 1.0, 0.2], abs=1e-14)
    diagonal = turned(Model(dim=2, value=np.diag([1.0, 1.0 + 1e-15]))).model.values[0]
    assert diagonal[0, 0] > diagonal[1, 1]  # taken as it is


def test_models_without_such_coordinates_or_in_them_stay_as_they_are():
    for model in (
        Model(dim=3),
        Model(dim=3, value=np.diag([2.0, 0.5, 1.0])),
        Model(dim=3, value=G((3, 3))),
        Model(dim=3, key=G((2, 3, 3)), value=np.stack([S[:3, :3] + S[:3, :3].T] * 2)),
    ):
        assert turned(model) is None
