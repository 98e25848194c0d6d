"""Weights of each run of an ensemble: one call, and every run is the single run with its weights, to the last bit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tokenflock as flock
from tokenflock.errors import SpecError
from tokenflock.weights import ginibre

RUNS, N, D = 5, 9, 3
VALUE = np.stack([ginibre(D, r) for r in range(RUNS)])[:, None]  # (runs, 1, d, d): one head
BETA = np.linspace(0.5, 8.0, RUNS)
X = flock.uniform(N, D, seed=1)
STARTS = flock.uniform(N, D, seed=2, runs=RUNS)


@pytest.mark.parametrize("steps", [{}, {"scheme": "rk4", "dt": 0.1}, {"scheme": "layers", "dt": 0.25}], ids=str)
@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_each_run_is_the_single_run_with_its_weights(engine, steps):
    model = flock.Model(dim=D, beta=BETA, value=VALUE, mask="full")
    assert model.n_runs == RUNS
    run = flock.simulate(model, STARTS, 1.0, engine=engine, **steps)
    for r in range(RUNS):
        alone = flock.Model(dim=D, beta=BETA[r], value=VALUE[r], mask="full")
        single = flock.simulate(alone, STARTS[r], 1.0, engine=engine, **steps)
        assert_array_equal(run["x"].values[r], single["x"].values)
        assert_array_equal(
            run["x"].values[r], flock.simulate(model.of_run(r), STARTS[r], 1.0, engine=engine, **steps)["x"]
        )


def test_a_scan_of_beta_to_a_long_time_has_the_implicit_steps_of_single_runs():
    model = flock.Model(dim=2, beta=[4.0, 9.0, 16.0])
    start = flock.uniform(8, 2, seed=1)
    run = flock.simulate(model, start, 1e6)
    assert run["x"].dims == ("run", "time", "token", "axis")
    for r, beta in enumerate((4.0, 9.0, 16.0)):
        single = flock.simulate(flock.Model(dim=2, beta=beta), start, 1e6, engine=run.attrs["engine"])
        assert_array_equal(run["x"].values[r], single["x"].values)


def test_noise_differs_from_run_to_run_and_heads_have_axes_of_their_own():
    heads = np.stack([np.stack([ginibre(D, 10 * r + h) for h in range(2)]) for r in range(RUNS)])
    run = flock.simulate(flock.Model(dim=D, query=heads, noise=0.2), X, 1.0, dt=0.1)
    assert np.ptp(run["x"].values[:, -1], axis=0).max() > 0.01
    same = flock.simulate(flock.Model(dim=D, query=heads[[0, 0]], noise=0.2), X, 1.0, dt=0.1)
    assert np.abs(same["x"].values[0, -1] - same["x"].values[1, -1]).max() > 0.01


def test_files_and_again_keep_them_and_reducers_see_each_run(tmp_path):
    model = flock.Model(dim=D, beta=BETA, value=VALUE)
    run = flock.simulate(model, X, 1.0, reduce={"first": lambda x: x[0, 0]})
    back = flock.load(flock.save(run, tmp_path / "run.zarr"))
    again = flock.again(back, reduce={"first": lambda x: x[0, 0]})
    assert_array_equal(again["x"].values, run["x"].values)
    assert run["first"].dims == ("run", "time")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: flock.Model(dim=D, beta=BETA[:3], value=VALUE), r"runs = \{.*the same number of runs everywhere"),
        (lambda: flock.Model(dim=D, beta=[1.0, np.inf]), "beta = inf is for all runs or for none"),
        (
            lambda: flock.simulate(flock.Model(dim=D, beta=BETA), STARTS[:2], 1.0),
            r"\(5, n, dim\) for weights of 5 runs",
        ),
        (lambda: flock.simulate(flock.Model(dim=D, beta=BETA), X, np.inf), "give a finite t_end"),
        (lambda: flock.velocity(flock.Model(dim=D, beta=BETA), X), r"Take model.of_run\(0\)"),
    ],
)
def test_what_cannot_be_is_said(make, words):
    with pytest.raises(SpecError, match=words):
        make()
