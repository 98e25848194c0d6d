"""Clusters against their definition: whatever can be reached in steps of at most the radius."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tokenflock as flock
from tokenflock.analysis import clusters
from tokenflock.errors import SpecError
from tokenflock.geometry import circle, distance

DIMS = (2, 3, 8)


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


def slow_track(frames):
    """The rule of `track` with sets: the heir of a cluster holds its first token, and the earliest one names."""
    numbers, used = [], 0
    old = {}  # number -> set of tokens
    for labels in frames:
        new = {}
        for group in sorted({frozenset(np.flatnonzero(labels == name).tolist()) for name in set(labels)}, key=min):
            claims = [number for number, members in old.items() if min(members) in group]
            if claims:
                new[min(claims, key=lambda number: min(old[number]))] = group
            else:
                new[used] = group
                used += 1
        old = new
        numbers.append([next(n for n, members in new.items() if k in members) for k in range(len(labels))])
    return numbers


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("radius", [0.05, 0.2, 0.6])
def test_labels_are_connected_components(dim, radius):
    x = flock.planted(80, dim, n_clusters=6, spread=0.3, seed=dim)
    assert clusters.label(x, radius).tolist() == slow_labels(x, radius).tolist()
    assert clusters.count(x, radius) == slow_labels(x, radius).max() + 1


@settings(max_examples=100, deadline=None)
@example(steps=[0, -3, 1], radius=np.pi / 2, turn=1.0)  # the last two are at one place, and only one of them is near
@given(
    steps=st.lists(st.integers(-30, 30), min_size=1, max_size=20),
    radius=st.sampled_from([0.1, 0.5, np.pi / 4, np.pi / 2]),
    turn=st.floats(-4, 4),
)
def test_tokens_exactly_a_radius_apart_on_the_circle(steps, radius, turn):
    x = circle(turn + radius * np.array(steps))
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
    assert clusters.sizes(x, 1.0, space="euclidean").tolist() == [3, 1]


@pytest.mark.parametrize("dim", [2, 3])
def test_sizes_are_sums_over_the_labels(dim):
    x = flock.planted(70, dim, n_clusters=5, spread=0.1, seed=dim)
    weights = np.random.default_rng(0).integers(0, 9, 70)
    labels = clusters.label(x, 0.1)
    assert clusters.sizes(x, 0.1).tolist() == [np.sum(labels == k) for k in range(labels.max() + 1)]
    assert clusters.sizes(x, 0.1, weights).tolist() == [weights[labels == k].sum() for k in range(labels.max() + 1)]
    frames = clusters.sizes(np.stack([x, x[::-1]]), 0.1, weights)
    assert frames.shape == (2,)
    assert frames[1].tolist() == clusters.sizes(x[::-1], 0.1, weights).tolist()


def test_a_merged_cluster_keeps_the_number_of_the_earlier_first_token():
    far, near = 1.0, 0.01
    frames = [
        [0.0, far, 2 * far, near],  # 0 and 3 | 1 | 2
        [0.0, far, far + near, near],  # 2 goes to 1
        [0.0, far, far + near, 2.5],  # 3 leaves 0
        [0.0, near, 2.5, 2.5 + near],  # 1 goes to 0; 2 leaves it for 3
        [0.0, near, 2.5, -2.0],  # 3 leaves again: a number never used before
    ]
    expected = [[0, 1, 2, 0], [0, 1, 1, 0], [0, 1, 1, 3], [0, 0, 3, 3], [0, 0, 3, 4]]
    assert clusters.track(circle(np.array(frames)), 0.1).tolist() == expected


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 7).flatmap(lambda n: st.lists(st.lists(st.integers(0, 4), min_size=n, max_size=n), min_size=1)))
def test_track_is_its_rule(frames):
    labels = np.array(frames)
    tracked = clusters.follow(labels)
    assert tracked.tolist() == slow_track(labels)
    assert (clusters.follow(tracked) == tracked).all(), "tracked labels are labels"
    for before, after in zip(labels, tracked, strict=True):
        assert ((before[:, None] == before) == (after[:, None] == after)).all(), "the clusters are the same"


def test_numbers_are_never_used_again():
    labels = np.random.default_rng(0).integers(0, 5, (60, 9))
    seen, gone = set(), set()
    for numbers in clusters.follow(labels):
        now = set(numbers.tolist())
        assert not now & gone
        seen |= now
        gone = seen - now
    assert seen == set(range(len(seen)))


def test_track_reads_runs_and_ensembles():
    model, times = flock.Model(dim=2, beta=64.0), [0.0, 5.0, 10.0, 40.0]
    runs = flock.simulate(model, flock.uniform(30, 2, seed=0, runs=2), 40.0, times=times)
    tracked = clusters.track(runs, 0.05)
    assert tracked.shape == (2, 4, 30)
    for r in range(2):
        assert (tracked[r] == clusters.track(runs.isel(run=r), 0.05)).all()
        assert tracked[r].values.tolist() == slow_track(clusters.label(runs.isel(run=r), 0.05).values)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: clusters.count(x, -1.0), "radius = -1.0"),
        (lambda x: clusters.count(x, "wide"), "radius = 'wide'"),
        (lambda x: clusters.label(x, 0.1, space="spher"), "Did you mean 'sphere'"),
        (lambda x: clusters.sizes(x, 0.1, [1, 1]), r"weights.shape = \(2,\) cannot be used. Allowed: \(4,\)"),
        (lambda x: clusters.sizes(x, 0.1, [1, 1, 1, -1]), "finite numbers >= 0"),
        (lambda x: clusters.track(x, 0.1), r"\(..., time, n, d\). The clusters of one moment are clusters.label"),
        (
            lambda x: clusters.follow([0, 1]),
            r"labels.shape = \(2,\) cannot be used. Allowed: \(..., time, n\). Take them",
        ),
        (
            lambda x: clusters.follow([[0.5, 1.0]]),
            r"whole numbers of shape \(..., time, n\). Take them from clusters.label",
        ),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(SpecError, match=words):
        call(circle(np.array([0.0, 1.0, 2.0, 3.0])))
