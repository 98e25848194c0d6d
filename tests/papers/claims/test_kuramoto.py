"""The Kuramoto model's own numbers, before runs of attention are held against them."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tokenflock.papers.claims import meanfield_kuramoto as own


def test_three_equations_solve_the_model():
    """Against its n equations, integrated as they stand."""
    phi, K, lag, times = np.random.default_rng(0).uniform(0, 2 * np.pi, 7), 1.3, 0.4, np.linspace(0, 6, 7)
    rate = lambda _, p: own.kuramoto_velocity(p, K, lag)  # noqa: E731
    plain = solve_ivp(rate, (0.0, 6.0), phi, "DOP853", t_eval=times, rtol=1e-12, atol=1e-12).y.T
    assert np.abs(own.solution(phi, times, K, lag) - np.exp(1j * plain)).max() < 1e-9


def test_the_order_parameter_in_closed_form():
    times = np.linspace(0, own.time_to(own.TOGETHER, 0.3, 0.8), 11)
    R = own.order_parameter(times, 0.3, 0.8)
    assert R[[0, -1]] == pytest.approx([0.3, own.TOGETHER], abs=1e-14)
    phi = own.spread(0.3)
    assert abs(np.exp(1j * phi).mean()) == pytest.approx(0.3, abs=1e-14)
    found = np.abs(own.solution(phi, times, 1.0, np.arccos(0.8)).mean(axis=1))
    assert np.abs(found - R).max() < 1e-10
    assert own.when(times, found) == pytest.approx(times[-1], rel=1e-9)
