"""Measures of hidden states against their definitions written out slowly, their closed forms and invariances."""

import math

import numpy as np
import pytest

import tokenflock as flock
from tokenflock.analysis import attention, energy, states
from tokenflock.errors import SpecError
from tolerances import close

RNG = np.random.default_rng(3)
H = RNG.standard_normal((3, 9, 6)) * RNG.uniform(0.5, 5.0, (3, 9, 1))
TURN = np.linalg.qr(RNG.standard_normal((6, 6)))[0]


def slow_entropy(h):
    s = np.linalg.svd(h, compute_uv=False) ** 2
    return -sum(p * math.log(p) for p in s / s.sum() if p > 0)


def slow_cosine(h):
    n = len(h)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    return sum(h[i] @ h[j] / (np.linalg.norm(h[i]) * np.linalg.norm(h[j])) for i, j in pairs) / len(pairs)


def slow_overlap(x, y, k):
    def near(z, i):
        return set(sorted((j for j in range(len(z)) if j != i), key=lambda j: float(np.linalg.norm(z[i] - z[j])))[:k])

    return sum(len(near(x, i) & near(y, i)) for i in range(len(x))) / (k * len(x))


DEFINITIONS = {
    "matrix_entropy": (states.matrix_entropy, slow_entropy),
    "stable_rank": (states.stable_rank, lambda h: np.sum(h**2) / np.linalg.norm(h, 2) ** 2),
    "anisotropy": (states.anisotropy, slow_cosine),
    "anisotropy, centred": (lambda h: states.anisotropy(h, centred=True), lambda h: slow_cosine(h - h.mean(axis=0))),
    "first_length": (
        states.first_length,
        lambda h: (
            np.linalg.norm(h[0]) / sorted(np.linalg.norm(row) for row in h[1:])[3:5][0] * 1.0
            if len(h) % 2 == 0
            else np.linalg.norm(h[0]) / np.mean(sorted(np.linalg.norm(row) for row in h[1:])[3:5])
        ),
    ),
}


@pytest.mark.parametrize(("fast", "slow"), DEFINITIONS.values(), ids=DEFINITIONS.keys())
def test_a_measure_is_its_definition_layer_by_layer(fast, slow):
    np.testing.assert_allclose(fast(H), [slow(h) for h in H], **close("float64", 9, 100.0))
    run = flock.trajectory(H, space="euclidean")
    assert fast(run).dims == ("time",)
    assert isinstance(fast(H[0]), float)


@pytest.mark.parametrize(("fast", "slow"), DEFINITIONS.values(), ids=DEFINITIONS.keys())
def test_turns_and_scales_change_nothing(fast, slow):
    np.testing.assert_allclose(fast(1e3 * H @ TURN), fast(H), **close("float64", 9, 1000.0))


def test_closed_forms():
    assert states.matrix_entropy(np.eye(5)) == pytest.approx(math.log(5), abs=1e-14)
    assert states.stable_rank(np.eye(5)) == pytest.approx(5)
    assert states.stable_rank(np.diag([3.0, 1.0, 1.0])) == pytest.approx(11 / 9)
    assert states.anisotropy(np.ones((4, 3))) == pytest.approx(1)
    assert states.anisotropy(np.eye(4)) == 0
    simplex = np.eye(4) + 100.0
    assert states.anisotropy(simplex) > 0.99
    assert states.anisotropy(simplex, centred=True) == pytest.approx(-1 / 3)
    assert states.anisotropy(np.ones((4, 3)), centred=True) == 0  # no directions are left
    long = np.ones((6, 3))
    long[0] *= 500
    assert states.first_length(long) == 500
    assert states.outliers(long).tolist() == [True, *[False] * 5]
    # One long token carries the stable rank of raw states; without it the others have theirs.
    mixed = np.eye(6) * np.array([1e4, 1, 1, 1, 1, 1])[:, None]
    assert states.stable_rank(mixed) == pytest.approx(1, abs=1e-6)
    assert states.each(mixed[None], states.stable_rank, without=states.outliers(mixed)[None]) == pytest.approx(5)


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_two_nn_finds_the_dimension_of_a_ball_inside_of_space(dimension):
    rng = np.random.default_rng(dimension)
    y = rng.uniform(-1, 1, (1500, dimension)) @ np.linalg.qr(rng.standard_normal((20, dimension)))[0].T
    found = states.intrinsic_dimension(y)
    assert abs(found.value / dimension - 1) < 0.12  # the edges of the cube cost some
    assert found.low < found.value < found.high
    twice = states.intrinsic_dimension(np.concatenate([y[:400], y[:50]]))  # equal tokens count once
    assert twice.value == states.intrinsic_dimension(y[:400]).value


def test_two_nn_is_its_likelihood_written_out():
    y = RNG.standard_normal((12, 3))
    ratios = []
    for i in range(12):
        far = sorted(float(np.linalg.norm(y[i] - y[j])) for j in range(12) if j != i)
        ratios.append(math.log(far[1] / far[0]))
    ratios.sort()
    assert states.intrinsic_dimension(y, 0.0).value == pytest.approx(12 / sum(ratios))
    assert states.intrinsic_dimension(y, 0.25).value == pytest.approx(9 / (sum(ratios[:9]) + 3 * ratios[8]))
    assert states.intrinsic_dimension(7 * y @ np.linalg.qr(RNG.standard_normal((3, 3)))[0]).value == pytest.approx(
        states.intrinsic_dimension(y).value
    )


def test_neighbours():
    for k in (1, 3, 7):
        assert states.neighbourhood_overlap(H[0], H[1], k) == pytest.approx(slow_overlap(H[0], H[1], k))
    assert states.neighbourhood_overlap(H[0], 3 * H[0] @ TURN) == 1
    many = RNG.standard_normal((2, 200, 5))
    assert abs(states.neighbourhood_overlap(*many) - 10 / 199) < 0.03  # by chance


def test_sinks():
    n, rng = 6, np.random.default_rng(0)
    P = np.tril(rng.uniform(size=(2, 3, n, n)))
    P /= P.sum(axis=-1, keepdims=True)
    slow = [[sum(P[l, h, i, 0] for i in range(1, n)) / (n - 1) for h in range(3)] for l in range(2)]
    np.testing.assert_allclose(attention.received(P), slow, rtol=1e-14)
    published = [[sum(P[l, h, i, 2] for i in range(2, n)) / (n - 2) for h in range(3)] for l in range(2)]
    np.testing.assert_allclose(attention.received(P, 2, own=True), published, rtol=1e-14)
    full = rng.uniform(size=(n, n))
    full /= full.sum(axis=-1, keepdims=True)
    assert attention.received(full, 3) == pytest.approx((full[:, 3].sum() - full[3, 3]) / (n - 1))
    sink = np.zeros((3, n, n))
    sink[0, :, 0], sink[1], sink[2] = 1.0, np.eye(n), np.full((n, n), 1 / n)
    assert attention.sink_rate(sink) == pytest.approx(1 / 3)
    assert attention.sink_rate(sink, least=0.1) == pytest.approx(2 / 3)


def test_violations_of_a_monotone_energy():
    falls = energy.violations([1.0, 3.0, 2.0, 2.0, 5.0])
    assert (falls.share, falls.where) == (0.25, (1,))
    assert falls.largest == pytest.approx(1 / 4)
    assert energy.violations([1.0, 1.0, 2.0]).share == 0
    model, start = flock.Model(dim=3, beta=4.0, mask="full"), flock.uniform(8, 3, seed=1)
    run = flock.simulate(model, start, 5.0, times=np.linspace(0, 5, 30), engine="reference")
    assert energy.violations(energy.scaled_energy(run, 4.0)).share == 0
    backwards = flock.simulate(model.with_options(value=-np.eye(3)), start, 2.0, engine="reference")
    assert energy.violations(energy.scaled_energy(backwards, 4.0)).share > 0.5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: states.matrix_entropy(np.zeros((3, 2))), "all 0"),
        (lambda: states.anisotropy(np.ones((1, 3))), "at least two tokens"),
        (lambda: states.anisotropy(np.array([[1.0, 0], [0, 0]])), "length 0"),
        (lambda: states.first_length(np.array([[1.0, 0], [0, 0]])), "length 0"),
        (lambda: states.outliers(H, 0.5), "a number >= 1"),
        (lambda: states.intrinsic_dimension(H), "the tokens of one layer"),
        (lambda: states.intrinsic_dimension(np.ones((9, 2))), "different tokens"),
        (lambda: states.neighbourhood_overlap(H[0], H[1, :4]), "The same tokens twice"),
        (lambda: states.each(H, states.stable_rank, without=[True]), "True and False of shape"),
        (lambda: states.stable_rank(np.full((3, 2), np.nan)), "finite numbers"),
        (lambda: attention.received(np.ones((2, 2))), "rows that sum to 1"),
        (lambda: attention.received(np.eye(3), 2), "The last token"),
        (lambda: attention.sink_rate(np.eye(3)), "heads"),
        (lambda: energy.violations([1.0]), "at least two"),
    ],
)
def test_what_has_no_measure(call, words):
    with pytest.raises(SpecError, match=words):
        call()
