"""Rates of curves whose rate is known, and intervals that hold it as often as they say."""

import numpy as np
import pytest

import tokenflock as flock
from tokenflock.analysis import convergence
from tokenflock.errors import SpecError
from tokenflock.geometry import distance
from tolerances import close

LINEAR, LOG = np.linspace(0, 40, 400), np.geomspace(0.01, 1e4, 300)


def usual_interval(t, values):
    """The interval of least squares with independent residuals: what this module does not use."""
    v, u = np.log(values), t - t.mean()
    slope = u @ v / (u @ u)
    error = np.sqrt(np.sum((v - v.mean() - slope * u) ** 2) / (len(t) - 2) / (u @ u))
    return -slope - 1.96 * error, -slope + 1.96 * error


def with_noise(rng, size, correlation):
    """exp(-0.3 t) times noise that remembers: e_k = correlation e_{k-1} + fresh."""
    noise = rng.standard_normal(len(LINEAR))
    for k in range(1, len(noise)):
        noise[k] = correlation * noise[k - 1] + np.sqrt(1 - correlation**2) * noise[k]
    return np.exp(-0.3 * LINEAR + size * noise)


def test_an_exponential_is_found_exactly():
    found = convergence.rate(LINEAR, 2 * np.exp(-0.3 * LINEAR))
    assert found.kind == "exponential"
    np.testing.assert_allclose([found.rate, found.constant], [0.3, 2.0], **close(float, 400, amplification=40))
    assert found.low <= 0.3 <= found.high
    assert found.high - found.low < 1e-12


def test_a_power_is_found_exactly():
    found = convergence.rate(LOG, 3 / LOG)
    assert found.kind == "power"
    np.testing.assert_allclose([found.rate, found.constant], [1.0, 3.0], **close(float, 300, amplification=40))
    assert found.used == (0, 300)


@pytest.mark.parametrize(
    ("kind", "rate", "t", "curve"),
    [
        ("exponential", 0.3, LINEAR, lambda t: np.exp(-0.3 * t) * (1 + 5 * np.exp(-t))),
        ("exponential", 0.3, LINEAR, lambda t: np.exp(-0.3 * t) * (1 + 5 * np.exp(-0.1 * t))),
        ("exponential", 0.3, LOG[LOG < 100], lambda t: np.exp(-0.3 * t) * (1 + 5 * np.exp(-t))),
        ("exponential", 3.0, LINEAR, lambda t: np.exp(-3 * t) + 3e-17),
        ("power", 1.0, LINEAR, lambda t: 1 / (1 + t)),
        ("power", 1.0, LOG, lambda t: 1 / (1 + t)),
        ("power", 1.0, LOG, lambda t: np.arctan2(1, t)),
        ("power", 2.0, LOG, lambda t: (t + 5) ** -2.0),
    ],
)
def test_the_interval_holds_the_rate_of_a_curve_that_is_not_quite_straight(kind, rate, t, curve):
    found = convergence.rate(t, curve(t))
    assert found.kind == kind == convergence.rate(t, curve(t), kind).kind
    assert found.low <= rate <= found.high
    assert found.high - found.low < 0.12 * rate
    assert found.low <= found.rate <= found.high


def test_the_usual_interval_would_not_hold_it():
    low, high = usual_interval(LINEAR, np.exp(-0.3 * LINEAR) * (1 + 5 * np.exp(-LINEAR)))
    assert not low <= 0.3 <= high


@pytest.mark.parametrize(("correlation", "least"), [(0.0, 0.88), (0.8, 0.8)])
def test_the_interval_holds_the_rate_as_often_as_it_says(correlation, least):
    rng = np.random.default_rng(0)
    held = usual = 0
    for _ in range(100):
        values = with_noise(rng, 0.05, correlation)
        found = convergence.rate(LINEAR, values, "exponential")
        held += found.low <= 0.3 <= found.high
        low, high = usual_interval(LINEAR, values)
        usual += low <= 0.3 <= high
    assert held / 100 >= least
    if correlation:
        assert usual / 100 < 0.7, "the usual formula is too sure: the test can fail"


def test_noise_does_not_hide_the_kind():
    rng = np.random.default_rng(1)
    assert convergence.rate(LINEAR, with_noise(rng, 0.1, 0.5)).kind == "exponential"
    assert convergence.rate(LOG, np.exp(0.1 * rng.standard_normal(300)) / LOG).kind == "power"


def test_the_transient_and_the_floor_are_left_out():
    curve = np.exp(-LINEAR) * (1 + 1e3 * np.exp(-3 * LINEAR))
    found = convergence.rate(LINEAR, np.maximum(curve, 1e-15))
    begin, end = found.used
    assert begin > 0
    assert curve[end - 1] > convergence.FLOOR >= curve[end]
    assert found.rate == pytest.approx(1.0, rel=0.01)
    late = convergence.rate(LINEAR, np.maximum(curve, 1e-7), floor=2e-7)
    assert curve[late.used[1] - 1] > 2e-7
    assert late.rate == pytest.approx(1.0, rel=0.02)
    wrong = convergence.rate(LINEAR, np.maximum(curve, 1e-7), floor=0.0, kind="exponential")
    assert wrong.rate < 0.9, "a floor that is not named is part of the curve"


def test_zero_is_below_every_floor():
    values = np.where(LINEAR < 20, np.exp(-LINEAR / 2), 0.0)
    assert convergence.rate(LINEAR, values, floor=0.0).used[1] == np.sum(LINEAR < 20)


def test_a_distance_that_grows_has_a_negative_rate():
    assert convergence.rate(LINEAR, np.exp(0.2 * LINEAR)).rate == pytest.approx(-0.2)
    assert convergence.rate(LINEAR, np.ones(400), "exponential").rate == 0.0


def test_rates_of_a_token_are_those_of_lemma_3_1():
    """A.2: eigenvalues 1 and 0.4 give e^(-0.6 t); a Jordan block of size 2 gives t * dist -> 1."""
    start = flock.uniform(1, 2, seed=3)
    for value, times, kind, rate in (
        (np.diag([1.0, 0.4]), np.linspace(0, 30, 200), "exponential", 0.6),
        (np.array([[1.0, 1.0], [0.0, 1.0]]), np.geomspace(1, 1e4, 200), "power", 1.0),
    ):
        model = flock.Model(dim=2, value=value)
        times = np.concatenate([[0.0], times[times > 0]])
        run = flock.simulate(model, start, times[-1], times=times, rtol=1e-10, atol=1e-14)
        x = run["x"].values[:, 0]
        found = convergence.rate(times, np.minimum(distance(x, [1.0, 0.0]), distance(x, [-1.0, 0.0])), floor=1e-9)
        assert found.kind == kind
        assert found.rate == pytest.approx(rate, rel=0.01)
    assert found.constant == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t, v: convergence.rate(t, v, "powr"), "unknown kind 'powr'. Did you mean 'power'"),
        (lambda t, v: convergence.rate(t[:9], v[:9]), "distance = '8 of 9 points above 1e-13, at times > 0'"),
        (lambda t, v: convergence.rate(t, v, floor=0.1), "at least 16. Keep more times before it gets there"),
        (lambda t, v: convergence.rate(t, -v), "finite numbers >= 0. Take norms"),
        (lambda t, v: convergence.rate(t, v * np.nan), "finite numbers >= 0"),
        (lambda t, v: convergence.rate(t[::-1], v), "strictly increasing times"),
        (lambda t, v: convergence.rate(t, v[:5]), r"shapes \(40,\) and \(5,\)"),
        (lambda t, v: convergence.rate(t, np.stack([v, v])), "Fit an ensemble run by run"),
        (lambda t, v: convergence.rate(t, v, floor=-1.0), "floor = -1.0"),
    ],
)
def test_bad_input_is_named(call, words):
    t = np.linspace(0, 10, 40)
    with pytest.raises(SpecError, match=words):
        call(t, np.exp(-t))
