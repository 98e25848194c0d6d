"""Positions (E14): what they mean written out, and the laws: only differences count, no turn is no position."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tokenflock as flock
from tokenflock.errors import SpecError
from tokenflock.model import attention, logits
from tokenflock.networks import Rotary
from tokenflock.positions import angles, frequencies, turn
from tokenflock.rescaling import flow_at
from tokenflock.weights import ginibre
from tolerances import close

N, D = 11, 6
X = flock.uniform(N, D, seed=2)
WEIGHTS = {"query": ginibre(D, 1), "key": ginibre(D, 2), "value": ginibre(D, 3)}
SAME = close("float64", N, 100.0)


def model(position=None, **options):
    return flock.Model(**({"dim": D, "beta": 1.5, **WEIGHTS, "position": position} | options))


def rotation(width, angles):
    """R of one token, written out: pair m is (m, m + r/2)."""
    matrix, half = np.eye(width), len(angles)
    for m, angle in enumerate(angles):
        rows = np.ix_([m, m + half], [m, m + half])
        matrix[rows] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return matrix


def test_logits_are_those_of_turned_queries_and_keys():
    places = np.linspace(0.0, 4.0, N) ** 2
    named = model(flock.Rope(base=50.0, fraction=0.7, positions=places), mask="full")
    turns = [rotation(D, p * frequencies(4, 50.0)) for p in places]  # 0.7 of 6 numbers holds two pairs
    expected = [
        [1.5 * (turns[i] @ WEIGHTS["query"] @ X[i]) @ (turns[j] @ WEIGHTS["key"] @ X[j]) for j in range(N)]
        for i in range(N)
    ]
    assert_allclose(logits(named, X, flow_at(named, 0.0))[0], expected, **SAME)


def test_added_vectors_are_seen_by_queries_and_keys_and_do_not_move():
    e = np.random.default_rng(4).standard_normal((N, D))
    named = model(flock.Absolute(e), mask="full", space="euclidean")
    s = 1.5 * (X + e) @ WEIGHTS["query"].T @ WEIGHTS["key"] @ (X + e).T
    a = np.exp(s - s.max(axis=1, keepdims=True))
    a /= a.sum(axis=1, keepdims=True)
    assert_allclose(flock.velocity(named, X), a @ X @ WEIGHTS["value"].T, **SAME)


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_only_differences_of_rotary_positions_count(mask):
    places = np.random.default_rng(1).uniform(0, 30, N)
    runs = [
        flock.simulate(model(flock.Rope(base=80.0, positions=places + shift), mask=mask), X, 2.0, scheme="rk4", dt=0.1)
        for shift in (0.0, 17.25)
    ]
    moved, still = (run["x"].values[-1] for run in runs)
    assert_allclose(moved, still, **close("float64", N, 1e4))  # angles of up to 50 are rounded
    fixed = flock.simulate(model(flock.Rope(base=80.0, positions=2 * places), mask=mask), X, 2.0, scheme="rk4", dt=0.1)
    assert np.abs(fixed["x"].values[-1] - still).max() > 0.01, "positions do nothing: the test cannot fail"


def test_no_turn_is_no_position():
    plain = flock.velocity(model(), X)
    for position in (
        flock.Rope(frequencies=[0.0, 0.0, 0.0]),
        flock.Rope(positions=np.full(N, 3.0)),
        flock.Absolute(np.zeros((N, D))),
    ):
        assert_allclose(flock.velocity(model(position), X), plain, **SAME)


def test_with_the_base_all_frequencies_but_the_first_vanish():
    """The convention of trained networks: pair 0 turns by one radian a position whatever the base."""
    at_infinity = flock.velocity(model(flock.Rope(frequencies=[1.0])), X)
    # Pair 0 is (0, 3) among six turning numbers and (0, 1) where only two turn: the same up to an order of numbers.
    order = [0, 3, 1, 2, 4, 5]
    turned = model(flock.Rope(frequencies=[1.0, 0.0, 0.0]))
    swapped = model(flock.Rope(frequencies=[1.0]), query=WEIGHTS["query"][order], key=WEIGHTS["key"][order])
    assert_allclose(flock.velocity(turned, X), flock.velocity(swapped, X), **SAME)
    gaps = [
        np.abs(flock.velocity(model(flock.Rope(base=base)), X) - flock.velocity(turned, X)).max()
        for base in (1e2, 1e6, 1e12, 1e30)
    ]
    assert (np.diff(gaps) < 0).all()
    assert gaps[0] > 1e-3
    assert gaps[-1] < 1e-8
    assert np.abs(at_infinity - flock.velocity(turned, X)).max() > 1e-3


def test_a_twisted_state_rests_and_no_single_point_has_more_energy():
    """On the circle, positions that go around once: R_i x_i = c makes every logit beta, the most there is."""
    n, beta = 24, 4.0
    twist = flock.Model(dim=2, beta=beta, mask="full", position=flock.Rope(frequencies=[2 * np.pi / n]))
    at = -2 * np.pi * np.arange(n) / n
    twisted, met = np.stack([np.cos(at), np.sin(at)], axis=1), np.tile([[1.0, 0.0]], (n, 1))
    assert_allclose(flock.velocity(twist, twisted), 0.0, atol=1e-14)
    energy = [np.exp(logits(twist, x, flow_at(twist, 0.0))).sum() for x in (twisted, met)]
    assert_allclose(energy[0], n**2 * np.exp(beta), rtol=1e-12)
    assert energy[1] < 0.5 * energy[0]


def test_networks_turn_by_the_same_functions():
    q, places = np.random.default_rng(3).standard_normal((2, N, 8)), np.arange(N) * 1.0
    assert_array_equal(Rotary(4, 500.0).turn(q, places), turn(q, angles(flock.Rope(base=500.0, fraction=0.5), 8, N)))


def test_sinusoids_are_those_of_the_formula():
    e = flock.sinusoids(5, 7, base=100.0, scale=0.5)
    assert e.shape == (5, 7)
    assert_allclose(e[3, :2], [0.5 * np.sin(3.0), 0.5 * np.cos(3.0)])
    assert_allclose(e[3, 4], 0.5 * np.sin(3.0 * 100.0 ** (-4 / 8)))


def test_rows_still_sum_to_one_and_hardmax_has_positions_too():
    for beta in (1.5, np.inf):
        a = attention(model(flock.Rope(base=9.0), beta=beta, mask="full"), X)
        assert_allclose(a.sum(axis=-1), 1.0)


def test_a_run_is_repeated_and_saved_with_its_positions(tmp_path):
    for name, position in (
        ("rope", flock.Rope(base=9.0, positions=np.arange(N) * 0.5)),
        ("sum", flock.Absolute(0.3 * X)),
    ):
        run = flock.simulate(model(position), X, 1.0)
        back = flock.load(flock.save(run, tmp_path / f"{name}.zarr"))
        assert_array_equal(flock.again(back)["x"].values, run["x"].values)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"position": 3}, r"position = 3 cannot be used. Allowed: None, flock.Rope\(...\) or flock.Absolute"),
        ({"position": flock.Absolute(np.zeros((N, 2)))}, "One vector a token, as long as it"),
        ({"position": flock.Rope(), "space": "rescaled"}, "position and space='rescaled' cannot be combined"),
        ({"position": flock.Rope(), "frozen": flock.Frozen(X[:2])}, "stands nowhere in the text"),
        ({"position": flock.Rope(frequencies=np.ones(4))}, "at most 3 for queries of 6 numbers"),
        ({"position": flock.Rope(fraction=0.1)}, "a share of 6 numbers that holds a pair"),
    ],
)
def test_what_cannot_be_is_said(options, words):
    with pytest.raises(SpecError, match=words):
        model(**options)


def test_positions_of_another_number_of_tokens_are_refused_with_both_numbers():
    with pytest.raises(SpecError, match=r"positions of 4 tokens.*those of the 11 tokens there are"):
        flock.simulate(model(flock.Rope(positions=np.arange(4.0))), X, 1.0)
    with pytest.raises(SpecError, match="positions of 4 tokens"):
        flock.velocity(model(flock.Absolute(np.zeros((4, D)))), X)
    with pytest.raises(SpecError, match=r"Rope.frequencies and base or fraction cannot be combined"):
        flock.Rope(base=3.0, frequencies=[1.0])
