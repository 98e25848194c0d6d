"""Clusters without a radius: the barcode against single linkage itself, and the number that lasts longest."""

import numpy as np
import pytest

import tokenflock as flock
from tokenflock.analysis import clusters, persistence
from tokenflock.errors import SpecError


def planted(n_clusters, each, spread, dim=3, seed=0):
    rng = np.random.default_rng(seed)
    centers = np.linalg.qr(rng.normal(size=(max(dim, n_clusters), max(dim, n_clusters))))[0][:n_clusters]
    x = np.repeat(centers, each, axis=0)
    return flock.geometry.retract(x + spread * rng.normal(size=x.shape) / np.sqrt(x.shape[1]))


@pytest.mark.parametrize(("space", "dim"), [("sphere", 2), ("sphere", 3), ("sphere", 40), ("euclidean", 5)])
def test_the_count_at_every_radius_is_that_of_single_linkage(space, dim):
    x = np.stack([flock.uniform(40, dim, seed=s) for s in range(3)])
    x = x if space == "sphere" else x * np.linspace(0.1, 3, 40)[:, None]
    radii = np.geomspace(1e-3, 7, 25)
    found = persistence.counts(x, radii, space)
    assert (found == np.stack([clusters.count(x, r, space) for r in radii], axis=-1)).all()
    ends = persistence.barcode(x, space)
    assert ends.shape == (3, 39)
    assert (np.diff(ends) >= 0).all()


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 8])
def test_planted_clusters_last_longest_whatever_their_size(n_clusters):
    for spread in (1e-12, 1e-6, 1e-2):
        found = persistence.lasting(planted(n_clusters, 12, spread, dim=8))
        assert found.count == n_clusters
        if n_clusters > 1:
            assert found.clear
            assert clusters.count(planted(n_clusters, 12, spread, dim=8), found.radius) == n_clusters


def test_a_chance_pair_in_a_cloud_is_no_structure():
    x = flock.uniform(100, 2, seed=3)
    x[1] = flock.geometry.retract(x[0] + 1e-7)
    found = persistence.lasting(x)
    assert found.count < 10


def test_where_no_number_stands_out_the_answer_says_so():
    found = persistence.lasting(flock.uniform(60, 200, seed=1))  # all distances alike: no clusters at any radius
    assert not found.clear
    assert "no number of clusters stands out" in str(found)
    assert "stands out" not in str(persistence.lasting(planted(3, 5, 1e-3)))
    assert persistence.lasting(np.eye(2)[:1]).count == 1


def test_the_order_of_tokens_and_rotations_do_not_matter():
    x = planted(4, 9, 1e-2, dim=5)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    again = x[np.random.default_rng(2).permutation(len(x))] @ turn
    assert persistence.barcode(again) == pytest.approx(persistence.barcode(x), rel=1e-10, abs=1e-14)


def test_the_clusters_of_a_run_have_its_axes_and_the_radius_that_lasts():
    run = flock.simulate(flock.Model(dim=2, beta=64.0), flock.uniform(60, 2, seed=0), 100.0)
    found = run.flock.clusters()
    assert found["label"].dims == ("time", "token")
    assert found["count"].sel(time=100.0) == persistence.lasting(run.isel(time=-1)).count
    assert found.attrs["lasts"] > persistence.CLEAR
    assert (found["count"] == clusters.count(run, found.attrs["radius"])).all()
    assert run.flock.clusters(radius=0.05).attrs == {"space": "sphere", "radius": 0.05}
    counts = persistence.counts(run, [0.01, 0.1])
    assert counts.sel(time=0.0, radius=0.01) == clusters.count(run.isel(time=0), 0.01)
    ensemble = flock.simulate(
        flock.Model(dim=2, beta=9.0), np.stack([flock.uniform(8, 2, seed=s) for s in (1, 2)]), 3.0
    )
    assert ensemble.flock.clusters()["count"].dims == ("run", "time")


def test_what_cannot_be_used_is_refused():
    run = flock.simulate(flock.Model(dim=2), flock.uniform(4, 2), 1.0)
    for call, words in (
        (lambda: persistence.lasting(run), r"x.shape = \(101, 4, 2\).*one moment.*isel\(time=-1\)"),
        (lambda: persistence.survey(run["x"].values), "run = 'ndarray'.*clusters.track"),
        (lambda: persistence.survey(run, radius=-1.0), "radius = -1.0"),
        (lambda: persistence.barcode(np.eye(2), space="circle"), "unknown space 'circle'"),
        (lambda: persistence.counts(np.eye(2), [-1.0]), "radii"),
    ):
        with pytest.raises(SpecError, match=words):
            call()


@pytest.mark.parametrize("dim", [2, 5])
def test_both_ways_to_the_shortest_tree_agree(dim):
    x = flock.uniform(50, dim, seed=3)
    fast, plain = persistence._edges(x), persistence._one_by_one(x)
    np.testing.assert_allclose(np.sort(fast), np.sort(plain), rtol=1e-12)
    assert persistence._edges(x[:1]).shape == (0,)
