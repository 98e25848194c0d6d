"""Gradients through kernels, normalisers and Sinkhorn in torch, against differences of the reference."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tokenflock as flock
from tokenflock.model import velocity

torch = pytest.importorskip("torch")

from tokenflock.engine.torch.terms import lay_out  # noqa: E402
from tokenflock.engine.torch.velocity import velocity as by_torch  # noqa: E402

N, D = 6, 3
X = flock.uniform(N, D, seed=3)
CASES = {
    "sigmoid": {"kernel": flock.Kernel("sigmoid", bias=-1.0), "normaliser": "count"},
    "own": {"kernel": lambda overlap, distance: np.exp(overlap - distance)},
    "l2": {"kernel": "softplus", "normaliser": "l2"},
    "sink": {"normaliser": flock.Normaliser("sink", logit=0.5)},
    "others": {"normaliser": flock.Normaliser(own=False)},
    "sinkhorn": {"normaliser": "sinkhorn"},
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_the_equations(name):
    model = flock.Model(dim=D, beta=1.5, mask="full", space="euclidean", **CASES[name])
    x = torch.tensor(X[None], dtype=torch.float64, requires_grad=True)
    c = np.random.default_rng(1).standard_normal(X.shape)
    value = (by_torch(lay_out(model), x) * torch.tensor(c)).sum()
    (found,) = torch.autograd.grad(value, x)
    h, expected = 1e-5, np.empty_like(X)
    for at in np.ndindex(*X.shape):
        step = np.zeros_like(X)
        step[at] = h
        expected[at] = ((velocity(model, X + step) - velocity(model, X - step)) * c).sum() / (2 * h)
    assert_allclose(found[0].numpy(), expected, rtol=1e-6, atol=1e-7)
