"""Renyi centers against A.5.1 word for word, near the threshold above all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenflock as flock
from tokenflock import theory
from tokenflock.analysis import renyi, renyi_kernels
from tokenflock.errors import SpecError
from tokenflock.geometry import angle, circle, distance, retract
from tolerances import standard_errors

DIMS = (2, 3, 4, 8)


def slow_centers(x, delta, strong):
    """A.5.1 word for word."""
    found = []
    for k in range(len(x)):
        before = range(k) if strong else found
        if all(distance(x[k], x[i]) > delta for i in before):
            found.append(k)
    return found


def slow_consumed(x, centers, radius):
    return np.array([any(distance(token, x[k]) <= radius for k in centers) for token in x])


def agree(x, delta):
    for strong, function in ((False, renyi.centers), (True, renyi.strong_centers)):
        assert function(x, delta).tolist() == slow_centers(x, delta, strong)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("delta", [1e-300, 0.02, 0.3, 0.9, 2.0, np.pi, 4.0])
def test_centers_are_those_of_the_definition(dim, delta):
    agree(flock.uniform(60, dim, seed=dim), delta)


def test_the_sphere_of_the_line_is_two_points():
    x = np.array([[1.0], [1.0], [-1.0], [1.0]])
    for delta in (0.1, 3.0, np.pi, 4.0):
        agree(x, delta)


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_centers_of_clusters_and_copies_are_those_of_the_definition(dim):
    x = flock.planted(90, dim, n_clusters=5, spread=0.05, seed=dim)
    x[::7] = x[3]
    for delta in (1e-12, 0.01, 0.04, 0.1, 1.0):
        agree(x, delta)


# Angles that are whole multiples of delta apart, across +-pi too, so that every comparison is decided by rounding.
@settings(max_examples=150, deadline=None)
@given(
    steps=st.lists(st.integers(-40, 40), min_size=1, max_size=40),
    delta=st.sampled_from([0.1, 0.5, np.pi / 4, np.pi / 3, np.pi / 2, np.pi, 1e-7]),
    turn=st.floats(-4, 4),
    dim=st.sampled_from([2, 3, 9]),
)
def test_tokens_exactly_delta_apart_are_decided_by_the_definition(steps, delta, turn, dim):
    flat = circle(turn + delta * np.array(steps))
    basis = np.linalg.qr(np.random.default_rng(dim).standard_normal((dim, dim)))[0][:2]
    x = retract(flat @ basis)
    agree(x, delta)
    agree(x, float(distance(x[0], x[-1])) or delta)
    chosen = renyi.centers(x, delta)
    assert renyi.consumed(x, chosen, delta).tolist() == slow_consumed(x, chosen, delta).tolist()


def test_the_threshold_itself_is_not_far():
    """A token exactly at delta is no center; one more digit of delta, downwards, and it is."""
    x = circle(np.array([0.0, 1.0]))
    delta = float(distance(x[0], x[1]))
    assert renyi.centers(x, delta).tolist() == [0]
    assert renyi.centers(x, np.nextafter(delta, 0)).tolist() == [0, 1]
    assert renyi.consumed(x, [0], delta).tolist() == [True, True]
    assert renyi.consumed(x, [0], np.nextafter(delta, 0)).tolist() == [True, False]


def test_what_rounding_could_decide_is_decided_by_distance_itself(monkeypatch):
    """The grid must not call it: with another `distance` the answer is another one."""
    x = np.eye(6)  # every pair is exactly pi/2 apart
    assert renyi.centers(x, np.pi / 2).tolist() == [0]
    monkeypatch.setattr(renyi, "distance", lambda a, b: np.full(np.broadcast_shapes(a.shape, b.shape)[:-1], 9.0))
    assert renyi.centers(x, np.pi / 2).tolist() == renyi.strong_centers(x, np.pi / 2).tolist() == list(range(6))


@pytest.mark.parametrize("dim", [2, 3, 8])
def test_centers_obey_their_laws(dim):
    x, delta = flock.uniform(2000, dim, seed=3), 0.3
    ordinary, strong = renyi.centers(x, delta), renyi.strong_centers(x, delta)
    assert ordinary[0] == strong[0] == 0
    assert set(strong) <= set(ordinary)
    apart = [distance(x[ordinary[:k]], x[ordinary[k]]).min() for k in range(1, len(ordinary))]
    assert min(apart) > delta
    assert renyi.consumed(x, ordinary, delta).all(), "every token is within delta of a Renyi center"
    for centers in (renyi.centers, renyi.strong_centers):
        assert centers(x[:500], delta).tolist() == [k for k in centers(x, delta) if k < 500]


@pytest.mark.parametrize("delta", [0.5, 0.01, 1e-4, 1e-6])
def test_many_tokens_on_the_circle_obey_the_definition(delta):
    """The definition by sorting: what lies between two neighbouring centers, and before each strong one."""
    x = flock.uniform(100_000, 2, seed=1)
    x[50_000:50_100] = x[:100]
    ordinary, strong = renyi.centers(x, delta), renyi.strong_centers(x, delta)
    place = angle(x)
    around = ordinary[np.argsort(place[ordinary])]
    gaps = distance(x[around], x[np.roll(around, -1)])
    assert (gaps > delta).all() or len(around) == 1
    side = np.searchsorted(place[around], place) % len(around)
    near = [distance(x, x[around[(side + shift) % len(around)]]) <= delta for shift in (-1, 0)]
    first = [np.where(n, around[(side + shift) % len(around)], len(x)) for n, shift in zip(near, (-1, 0), strict=True)]
    ball = np.minimum(*first)
    assert (ball <= np.arange(len(x))).all(), "every token is within delta of a center no later than itself"
    order = np.argsort(place)
    for k in strong[:: max(1, len(strong) // 50)]:
        lo, hi = np.searchsorted(place[order], [place[k] - 0.999 * delta, place[k] + 0.999 * delta])
        assert order[lo:hi].min() == k
    spoilt = np.setdiff1d(ordinary, strong)
    for k in spoilt[:: max(1, len(spoilt) // 50)]:
        assert (distance(x[:k], x[k]) <= delta).any()


def test_center_counts_agree_with_theory():
    # A.5.5: strong 6.28 at delta = 0.5; Renyi 9.15 with 200 tokens, below its limit 9.39
    starts = flock.uniform(200, 2, seed=1, runs=400)
    strong = [len(found) for found in renyi.strong_centers(starts, 0.5)]
    ordinary = [len(found) for found in renyi.centers(starts, 0.5)]
    assert abs(np.mean(strong) - theory.strong_center_count(0.5, 2, 200)) < standard_errors(strong, 4)
    assert abs(np.mean(ordinary) - 9.15) < standard_errors(ordinary, 4)
    assert np.mean(ordinary) < theory.renyi_center_count(0.5)


def test_a_million_tokens_park_like_cars():
    """The mean count of Renyi centers is c_R 2 pi/delta; its variance is less than a Poisson count's."""
    x = flock.uniform(1_000_000, 2, seed=0)
    expected = theory.renyi_center_count(0.01)
    found = len(renyi.centers(x, 0.01))
    assert expected - 4 * np.sqrt(expected) < found < expected + 4 * np.sqrt(expected)


def test_ensembles_give_one_index_array_a_run():
    starts = flock.uniform(40, 3, seed=0, runs=6).reshape(2, 3, 40, 3)
    for function in (renyi.centers, renyi.strong_centers):
        found = function(starts, 0.8)
        assert found.shape == (2, 3)
        assert found.dtype == object
        for place in np.ndindex(2, 3):
            assert found[place].tolist() == function(starts[place], 0.8).tolist()


def test_any_array_will_do():
    x = flock.uniform(50, 3, seed=4)
    frozen = x.copy()
    frozen.flags.writeable = False
    for same in (np.asfortranarray(x), frozen, x[::-1][::-1], x.tolist()):
        assert renyi.centers(same, 0.5).tolist() == renyi.centers(x, 0.5).tolist()
        assert (renyi.consumed(same, [0, 7], 0.5) == renyi.consumed(x, [0, 7], 0.5)).all()


@pytest.mark.parametrize("size", [1 - 0.9e-5, 1 + 0.9e-5])
@pytest.mark.parametrize("more", [-3e-6, 3e-6])
def test_tokens_a_little_off_the_sphere_are_compared_by_their_angles(size, more):
    """Their chords are off by more than what is left to delta."""
    for delta in (0.01, 0.4, 2.5):
        x = size * circle(np.array([0.0, delta * (1 + more)]))
        assert renyi.centers(x, delta).tolist() == ([0] if more < 0 else [0, 1])
        assert renyi.consumed(x, [0], delta).tolist() == [True, more < 0]


@pytest.mark.parametrize("dim", [2, 3, 5])
@pytest.mark.parametrize("few", [0, 24])
@pytest.mark.parametrize("radius", [1e-9, 0.05, 0.4, 3.2])
def test_consumed_is_the_definition(dim, few, radius, monkeypatch):
    monkeypatch.setattr(renyi_kernels, "FEW", few)
    x = flock.planted(90, dim, n_clusters=5, spread=0.2, seed=dim)
    for centers in ([3], [0, 0, 5, 89], list(range(0, 90, 9))):
        assert renyi.consumed(x, centers, radius).tolist() == slow_consumed(x, centers, radius).tolist()


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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: renyi.centers(x, 0.0), "delta = 0.0 cannot be used"),
        (lambda x: renyi.strong_centers(x, "far"), "delta = 'far' cannot be used. Allowed: a finite number > 0"),
        (lambda x: renyi.consumed(x, [0], -1.0), "radius = -1.0"),
        (lambda x: renyi.consumed(x, [9], 0.5), "indices from 0 to 3"),
        (lambda x: renyi.consumed(x, [-1], 0.5), "indices from 0 to 3"),
        (lambda x: renyi.consumed(x, [0.5], 0.5), "a list of token indices"),
        (lambda x: renyi.consumed(x[None], renyi.centers(x[None, None], 0.5), 0.5), "the first axes of x"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(SpecError, match=words):
        call(circle(np.array([0.0, 1.0, 2.0, 3.0])))


def test_kernels_compile_where_nothing_can_be_kept(monkeypatch):
    calls = []

    def njit(**options):
        calls.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(renyi_kernels, "njit", njit)
    assert renyi_kernels.kernel(len) is len
    assert [options.get("cache", False) for options in calls] == [True, False]
