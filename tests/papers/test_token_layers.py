"""The feed-forward layer on tokens is its equation."""

import numpy as np
import pytest
from scipy.linalg import expm

from tokenflock.papers.token_layers import tokens_through


def test_the_feed_forward_on_tokens_is_its_equation():
    V, W = np.array([[0.5, 0.4], [0.3, 0.2]]), np.array([[0.7, -0.2], [0.1, 0.9]])
    start = x = np.random.default_rng(4).uniform(-1, 1, (4, 2))
    h = 1e-4
    for _ in range(10_000):
        s = np.exp(x @ x.T)
        x = x + h * np.tanh((s / s.sum(axis=1, keepdims=True)) @ x @ V.T) @ W.T
    z = tokens_through(V, W, "tanh", start, np.array([0.0, 1.0]))
    assert z[0] == pytest.approx(start)
    assert z[1] == pytest.approx(x @ expm(-V).T, abs=1e-3)
