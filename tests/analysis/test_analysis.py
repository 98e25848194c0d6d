"""What all analysis functions share, and the energies against their definitions, written out slowly."""

import subprocess
import sys

import numpy as np
import pytest

import tokenflock as flock
from tokenflock.analysis import clusters, energy, renyi
from tokenflock.errors import SpecError
from tokenflock.geometry import circle
from tolerances import close
from waiting import LONG_S


def test_energy_is_the_sum_of_c1():
    x, beta = flock.uniform(30, 4, seed=0), 3.0
    direct = np.exp(beta * x @ x.T).sum() / (2 * beta * 30**2)
    np.testing.assert_allclose(energy.energy(x, beta), direct, **close(float, 900, amplification=beta))
    np.testing.assert_allclose(
        energy.energy(x, beta, log=True), np.log(direct), **close(float, 900, amplification=beta)
    )


def test_energy_does_not_depend_on_the_blocks(monkeypatch):
    x = flock.uniform(40, 3, seed=0, runs=2)
    whole = energy.scaled_energy(x, 9.0)
    monkeypatch.setattr(energy, "BLOCK", 100)
    np.testing.assert_allclose(energy.scaled_energy(x, 9.0), whole, **close(float, 1600))


def test_energy_of_far_clusters_is_the_sum_of_squared_shares():
    x = circle(np.repeat([0.0, 2.0, 4.0], [5, 3, 2]))
    shares = 0.25 + 0.09 + 0.04
    assert energy.scaled_energy(x, 4000.0) == pytest.approx(shares, rel=1e-15)
    assert energy.scaled_energy(x, 0.0) == 1.0


def test_energy_overflows_only_where_its_value_does():
    x = flock.uniform(10, 3, seed=0)
    assert energy.energy(x, 700.0) < np.inf
    assert energy.energy(x, 1e4) == np.inf
    assert energy.energy(x, 1e4, log=True) == pytest.approx(1e4 - np.log(2e4) - np.log(10), rel=1e-12)


@pytest.mark.parametrize("normaliser", ["softmax", "scaled-count"])
def test_full_attention_climbs_the_energy(normaliser):
    model = flock.Model(dim=3, beta=4.0, mask="full", normaliser=normaliser)
    run = flock.simulate(model, flock.uniform(32, 3, seed=0), 10.0)
    assert (np.diff(energy.scaled_energy(run, 4.0)) > -1e-12).all()


def test_analysis_reads_a_trajectory():
    run = flock.simulate(flock.Model(dim=2, beta=64.0), flock.uniform(50, 2), 10.0, times=[0.0, 10.0])
    assert clusters.count(run, 0.05).shape == (2,)
    assert (clusters.label(run["x"], 0.05) == clusters.label(run["x"].values, 0.05)).all()
    kept = flock.simulate(
        flock.Model(dim=2, beta=64.0), flock.uniform(50, 2), 10.0, times=[0.0, 10.0],
        reduce={"clusters": lambda x: clusters.count(x, 0.05)}, positions=False,
    )  # fmt: skip
    assert (kept["clusters"].values == clusters.count(run, 0.05)).all()
    with pytest.raises(SpecError, match="positions=True"):
        clusters.count(kept, 0.05)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: renyi.centers(x, 0.0), "delta = 0.0 cannot be used"),
        (lambda x: renyi.centers(2 * x, 0.5), "off the sphere"),
        (lambda x: renyi.centers(x[0], 0.5), r"at least one token"),
        (lambda x: renyi.centers(np.full((3, 2), np.nan), 0.5), "nan or inf"),
        (lambda x: renyi.centers("tokens", 0.5), "numbers of shape"),
        (lambda x: energy.energy(x, 0.0), "beta = 0.0"),
        (lambda x: energy.scaled_energy(x, -1.0), "a finite number >= 0"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(SpecError, match=words):
        call(circle(np.array([0.0, 1.0, 2.0, 3.0])))


def test_analysis_imports_no_engine():
    code = (
        "import sys; from tokenflock.analysis import clusters, convergence, energy, metastability, renyi; "
        "print([m for m in sys.modules if m.startswith(('tokenflock.engine', 'tokenflock.simulation', 'numba'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONG_S)
    assert done.stdout.strip() == "[]"
