"""The setting of paper A's figures 2 and 3: causal, on the circle, beta = 64, 200 tokens, up to t = 150, 64 starts.

Measured (2 cores, against rtol 1e-10, itself within 6e-10 of rtol 1e-12):

    default tolerances      0 of 64 runs with a token more than 0.05 rad astray, largest distance 3.9e-5
    Euler's step of 0.1     10 of 64 runs, 23 tokens, up to 1.06 rad; 33 runs with a token more than 1e-3 astray
    Euler's step of 0.01    3 of 64 runs, 3 tokens
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tokenflock as flock
from tokenflock.geometry import angle, circle, distance

RUNS, TOKENS, BETA, END = 64, 200, 64.0, 150.0
GAP = 0.05


def cluster_counts(x):
    """Gaps of more than 0.05 rad around the circle: single linkage."""
    around = np.sort(angle(x), axis=-1)
    gaps = np.diff(np.concatenate([around, around[..., :1] + 2 * np.pi], axis=-1), axis=-1)
    return (gaps > GAP).sum(axis=-1)


@pytest.fixture(scope="module")
def ends():
    model, start = flock.Model(dim=2, beta=BETA), flock.uniform(TOKENS, 2, seed=0, runs=RUNS)
    options = {"default": {}, "tight": {"rtol": 1e-10, "atol": 1e-12}, "euler": {"scheme": "euler", "dt": 0.1}}
    return {k: flock.simulate(model, start, END, times=[END], **o).x.values[:, -1] for k, o in options.items()}


def test_every_run_has_the_right_clusters(ends):
    right = cluster_counts(ends["tight"])
    assert right.min() >= 4  # about pi sqrt(beta)/4 = 6.3 strong centers, and a few more
    assert right.max() <= 10
    np.testing.assert_array_equal(cluster_counts(ends["default"]), right)


def test_no_token_is_misplaced(ends):
    assert distance(ends["default"], ends["tight"]).max() < 1e-3


def test_the_usual_step_of_a_tenth_misplaces_tokens(ends):
    astray = distance(ends["euler"], ends["tight"]) > GAP
    assert astray.any(axis=1).sum() >= 5
    assert astray.sum() >= 10


def test_the_tight_runs_are_right_by_another_formula_and_another_integrator(ends):
    # 0.3: phi_k' = sum_{j<=k} e^{beta (cos(phi_j - phi_k) - 1)} sin(phi_j - phi_k) / Z_k, by scipy's DOP853.
    def rate(t, phi):
        apart = phi[None, :] - phi[:, None]
        weight = np.tril(np.exp(-2 * BETA * np.sin(apart / 2) ** 2))
        return (weight * np.sin(apart)).sum(1) / weight.sum(1)

    start = angle(flock.uniform(TOKENS, 2, seed=0))
    flow = solve_ivp(rate, (0.0, END), start, method="DOP853", rtol=1e-9, atol=1e-11, t_eval=[END])
    assert distance(circle(flow.y[:, -1]), ends["tight"][0]).max() < 1e-6
