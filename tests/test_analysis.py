"""The analysis functions against their definitions, written out slowly."""

import subprocess
import sys

import numpy as np
import pytest

import tokenflock as flock
from tokenflock import theory
from tokenflock.analysis import clusters, energy, renyi
from tokenflock.errors import SpecError
from tokenflock.geometry import circle, distance
from tolerances import close, standard_errors

DIMS = (2, 3, 8)


def slow_centers(x, delta, strong):
    """A.5.1 word for word."""
    found = []
    for k in range(len(x)):
        before = range(k) if strong else found
        if all(distance(x[k], x[i]) > delta for i in before):
            found.append(k)
    return found


def slow_labels(x, radius):
    """Spread each new number over everything that can be reached."""
    label = np.full(len(x), -1)
    for k in range(len(x)):
        if label[k] < 0:
            label[k], todo = label.max() + 1, [k]
            while todo:
                i = todo.pop()
                near = np.flatnonzero((distance(x, x[i]) <= radius) & (label < 0))
                label[near] = label[k]
                todo.extend(near)
    return label


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("delta", [0.3, 0.9, 2.0])
def test_centers_are_those_of_the_definition(dim, delta):
    x = flock.uniform(60, dim, seed=dim)
    assert renyi.centers(x, delta).tolist() == slow_centers(x, delta, strong=False)
    assert renyi.strong_centers(x, delta).tolist() == slow_centers(x, delta, strong=True)


@pytest.mark.parametrize("dim", DIMS)
def test_centers_obey_their_laws(dim):
    x, delta = flock.uniform(200, dim, seed=3), 0.7
    ordinary, strong = renyi.centers(x, delta), renyi.strong_centers(x, delta)
    assert ordinary[0] == strong[0] == 0
    assert set(strong) <= set(ordinary)
    apart = distance(x[ordinary][:, None], x[ordinary][None])[~np.eye(len(ordinary), dtype=bool)]
    assert apart.min() > delta
    assert renyi.consumed(x, ordinary, delta).all(), "every token is within delta of a Renyi center"
    assert renyi.centers(x[:50], delta).tolist() == [k for k in ordinary if k < 50]


def test_center_counts_agree_with_theory():
    # A.5.5: strong 6.28 at delta = 0.5; Renyi 9.15 with 200 tokens, below its limit 9.39
    starts = flock.uniform(200, 2, seed=1, runs=400)
    strong = [len(found) for found in renyi.strong_centers(starts, 0.5)]
    ordinary = [len(found) for found in renyi.centers(starts, 0.5)]
    assert abs(np.mean(strong) - theory.strong_center_count(0.5, 2, 200)) < standard_errors(strong, 4)
    assert abs(np.mean(ordinary) - 9.15) < standard_errors(ordinary, 4)
    assert np.mean(ordinary) < theory.renyi_center_count(0.5)


def test_ensembles_give_one_index_array_a_run():
    starts = flock.uniform(40, 3, seed=0, runs=5)
    found = renyi.centers(starts, 0.8)
    assert found.shape == (5,)
    for r in range(5):
        assert found[r].tolist() == renyi.centers(starts[r], 0.8).tolist()


def test_consumed_follows_moving_centers():
    x = circle(np.array([[0.0, 1.0, 2.0], [0.0, 0.1, 2.0]]))  # two times of three tokens
    assert renyi.consumed(x, [0], 0.2).tolist() == [[True, False, False], [True, True, False]]
    assert renyi.consumed(x, [0, 2], 0.2).tolist() == [[True, False, True], [True, True, True]]
    assert not renyi.consumed(x, [], 0.2).any()


def test_consumed_takes_one_set_of_centers_a_run():
    starts = flock.uniform(30, 2, seed=2, runs=3)
    sets = renyi.centers(starts, 0.5)
    frames = np.stack([starts, starts], axis=1)  # (run, time, token, axis)
    together = renyi.consumed(frames, sets, 0.1)
    for r in range(3):
        assert (together[r] == renyi.consumed(frames[r], sets[r], 0.1)).all()


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("radius", [0.05, 0.2, 0.6])
def test_labels_are_connected_components(dim, radius):
    x = flock.planted(80, dim, n_clusters=6, spread=0.3, seed=dim)
    assert clusters.label(x, radius).tolist() == slow_labels(x, radius).tolist()
    assert clusters.count(x, radius) == slow_labels(x, radius).max() + 1


def test_a_cluster_across_the_cut_of_the_circle_is_one():
    x = circle(np.array([3.1, 0.0, -3.1, 0.05]))
    assert clusters.label(x, 0.1).tolist() == [0, 1, 0, 1]
    assert clusters.count(x, 0.1) == 2
    assert clusters.count(x, 4.0) == 1


def test_labels_of_many_frames_are_those_of_each():
    x = flock.uniform(50, 2, seed=5, runs=6).reshape(2, 3, 50, 2)
    together, number = clusters.label(x, 0.1), clusters.count(x, 0.1)
    for place in np.ndindex(2, 3):
        assert together[place].tolist() == clusters.label(x[place], 0.1).tolist()
        assert number[place] == together[place].max() + 1


@pytest.mark.parametrize("dim", [3, 5])
def test_dense_clusters_are_found_cell_by_cell(dim, monkeypatch):
    x = flock.planted(300, dim, n_clusters=7, spread=0.25, seed=dim)
    for radius in (0.03, 0.1, 0.3):
        plain = clusters.label(x, radius)
        with monkeypatch.context() as patch:
            patch.setattr(clusters, "MANY_LINKS", 0)
            patch.setattr(clusters, "LINKS_A_TOKEN", 0)
            assert (clusters.label(x, radius) == plain).all()


def test_euclidean_labels_use_straight_distances():
    x = np.array([[0.0], [0.9], [5.0], [1.8]])
    assert clusters.label(x, 1.0, space="euclidean").tolist() == [0, 0, 1, 0]


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
        (lambda x: renyi.consumed(x, [9], 0.5), "indices from 0 to 3"),
        (lambda x: renyi.consumed(x, [0.5], 0.5), "a list of token indices"),
        (lambda x: clusters.count(x, -1.0), "radius = -1.0"),
        (lambda x: clusters.count(x, "wide"), "radius = 'wide'"),
        (lambda x: clusters.label(x, 0.1, space="spher"), "Did you mean 'sphere'"),
        (lambda x: energy.energy(x, 0.0), "beta = 0.0"),
        (lambda x: energy.scaled_energy(x, -1.0), "a finite number >= 0"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(SpecError, match=words):
        call(circle(np.array([0.0, 1.0, 2.0, 3.0])))


def test_analysis_imports_no_engine():
    code = (
        "import sys; from tokenflock.analysis import clusters, energy, renyi; "
        "print([m for m in sys.modules if m.startswith(('tokenflock.engine', 'tokenflock.simulation', 'numba'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
