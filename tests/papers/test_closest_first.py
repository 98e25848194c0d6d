"""Meetings in the order of distances, by their definition; and the mean-field values, by playing the gaps."""

import heapq
import math

import numpy as np
import pytest

import tokenflock as flock
from tokenflock.errors import SpecError
from tokenflock.papers.closest_first import left, mean_field, meetings, waiting_angle
from tokenflock.papers.merge_time import merge_law


def by_definition(x, mask):
    """The closest pair meets, again and again."""
    places, masses, order, met = list(x), [1.0] * len(x), list(range(len(x))), []
    while len(places) > 1:
        pairs = [
            (math.acos(min(1.0, float(places[i] @ places[j]))), i, j) for j in range(len(places)) for i in range(j)
        ]
        angle, i, j = min(pairs)
        met.append(max(angle, *met) if met else angle)
        if mask == "full":
            middle = masses[i] * places[i] + masses[j] * places[j]
            places[i], masses[i] = middle / np.linalg.norm(middle), masses[i] + masses[j]
        elif order[i] > order[j]:
            places[i], order[i] = places[j], order[j]
        del places[j], masses[j], order[j]
    return met


@pytest.mark.parametrize("dim", [2, 3, 5])
@pytest.mark.parametrize("mask", ["causal", "full"])
def test_the_closest_two_meet_first(mask, dim):
    for seed in range(4):
        x = flock.uniform(25, dim, seed=seed)
        angles = meetings(x, mask)
        assert angles == pytest.approx(by_definition(x, mask), abs=1e-7)
        assert left(angles, 0.0) == 25
        assert left(angles, math.pi) == 1


def test_other_masks_are_refused():
    with pytest.raises(SpecError, match="window"):
        meetings(flock.uniform(5, 2, seed=0), "window")


def test_the_angle_that_waits_until_now():
    assert waiting_angle(64.0, 64.0 * (1 - math.cos(0.7))) == pytest.approx(0.7)
    assert waiting_angle(64.0, 1000.0) == math.pi
    late = math.log(merge_law(0.7, 2000.0, 1))  # of two clusters, for large beta
    assert waiting_angle(2000.0, late) == pytest.approx(0.7, rel=0.01)


def mean_gap(halves, seed, n=40_000, stop=2_000):
    """Independent gaps: the shortest closes, and its length goes to one other at random, or in halves to two."""
    rng = np.random.default_rng(seed)
    heap = [(gap, k) for k, gap in enumerate(rng.exponential(size=n))]
    lengths, alive = np.array([gap for gap, _ in heap]), list(range(n))
    place = list(range(n))
    heapq.heapify(heap)
    shortest = 0.0
    while len(alive) > stop:
        gap, k = heapq.heappop(heap)
        if place[k] < 0 or gap != lengths[k]:
            continue
        shortest = max(shortest, gap)
        alive[place[k]], place[alive[-1]] = alive[-1], place[k]
        alive.pop()
        place[k] = -1
        for _ in range(2 if halves else 1):
            other = alive[rng.integers(len(alive))]
            lengths[other] += gap / 2 if halves else gap
            heapq.heappush(heap, (lengths[other], other))
    return lengths[alive].mean() / shortest


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_the_mean_field_value_is_that_of_independent_gaps(mask):
    played = [mean_gap(mask == "full", seed) for seed in range(5)]
    assert np.mean(played) == pytest.approx(1 / mean_field(mask, 2), rel=0.02)
    assert mean_field("causal", 2) == pytest.approx(math.exp(-np.euler_gamma))
    assert mean_field(mask, 3) == 4.0
