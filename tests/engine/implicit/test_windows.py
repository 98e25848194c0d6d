"""Bodies of windowed attention: tokens at one place that see different ones are held together, or are no body."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

import tokenflock as flock
from tokenflock.engine.implicit.bodies import Grouping, slack
from tokenflock.engine.implicit.stepper import ImplicitStepper
from tokenflock.geometry import circle
from tokenflock.masks import visible
from tokenflock.model import attention
from tokenflock.options import Window
from tokenflock.request import Request

BACK, BOTH = Window(4), Window(4, causal=False)
LABELS = np.array([0, 1, 0, 1, 2, 0, 1, 2, 0, 1])


def windowed(mask, beta=64.0, dim=2, **options):
    return flock.Model(dim=dim, beta=beta, mask=mask, **options)


def without_bodies(model, x, times):
    request = Request(model, times[-1], times, scheme="rosenbrock")
    frames = np.empty((len(times), *x.shape))
    assert ImplicitStepper(request.task, request.task.scheme, x).advance(times, frames, 1 << 40) == len(times)
    return frames


# How a body sees the others, and how far its tokens are off.


def test_a_body_of_a_causal_window_sees_what_its_first_token_sees():
    model = Grouping(windowed(Window(3)), LABELS).model()
    assert model.mask == "causal"
    assert model.masses.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    weighed = Grouping(windowed(Window(3), masses=np.arange(1.0, 11.0)), LABELS).model()
    assert weighed.masses.tolist() == [[1, 0, 0], [1, 2, 0], [3, 4, 5]]


def test_a_body_of_a_window_to_both_sides_has_the_mean_of_the_rows_of_its_tokens():
    mass = np.arange(1.0, 11.0)
    model = Grouping(windowed(BOTH, masses=mass), LABELS).model()
    lo, hi = visible(BOTH, 10)
    truth = np.zeros((3, 3))
    for i, j in itertools.product(range(10), repeat=2):
        if lo[i] <= j < hi[i]:
            truth[LABELS[i], LABELS[j]] += mass[i] * mass[j] / mass[LABELS == LABELS[i]].sum()
    assert model.mask == "full"
    assert model.masses == pytest.approx(truth)


@pytest.mark.parametrize("mask", [BACK, BOTH, "causal"], ids=str)
@pytest.mark.parametrize(
    "masses", [None, np.array([1.0, 3.0, 40.0, 1.0, 2.0, 1.0, 5.0, 1.0, 9.0, 1.0])], ids=["1", "m"]
)
def test_the_slack_is_how_far_tokens_are_off_at_most(mask, masses):
    """Tokens that have come to rest among clusters that hardly move: each is where its own window holds it."""
    model, angle = windowed(mask, 30.0, masses=masses), np.array([0.0, 0.9, 2.2])
    x = circle(angle[LABELS])
    x = flock.simulate(model, x, 1e3, times=[1e3], scheme="tsit5", engine="cpu", rtol=1e-12, atol=1e-14)["x"].values[0]
    grouping = Grouping(model, LABELS)
    places, off = x[grouping.first], np.zeros(3)
    if mask == BOTH:  # the mean by m_i Z_i: the sum of a row with the masses, of whose weights its own is m_i / Z_i
        own = np.ones(10) if masses is None else masses
        weight = own**2 / np.diagonal(attention(model, x)[0])
        places = np.stack([(weight[LABELS == k] @ x[LABELS == k]) / weight[LABELS == k].sum() for k in range(3)])
    np.maximum.at(off, LABELS, np.linalg.norm(x - places[LABELS], axis=1))
    bound = slack(grouping.watch(0.0, 0.0), np.ascontiguousarray(places.T))
    assert off[:2].min() > 1e-9
    assert (off <= bound).all()
    assert (bound < 200 * off.max()).all()  # and not for nothing


def test_tokens_of_one_place_that_do_not_see_each_other_are_no_body():
    grouping = Grouping(windowed(Window(3)), np.arange(9))
    assert grouping.in_sight(np.array([0, 0, 2, 0, 4, 4, 6, 0, 4])).tolist() == [0, 0, 2, 0, 4, 4, 6, 7, 8]
    both = Grouping(windowed(Window(3, causal=False)), np.array([0, 1, 0, 3, 1, 5, 6]))
    assert both.in_sight(np.array([0, 0, 2, 3, 4])).tolist() == [0, 0, 2, 3, 4]
    assert both.in_sight(np.array([0, 1, 1, 0, 4])).tolist() == [0, 1, 1, 3, 4]


@pytest.mark.parametrize("causal", [True, False])
def test_a_run_joins_only_tokens_that_hold_each_other(causal):
    """Tokens 0 and 4 sit together, too far apart in number; 3 and 4 do and see each other."""
    x = circle(np.array([0.0, 2.0, 4.0, 0.0, 0.0]))
    model = windowed(Window(3, causal=causal))
    run = flock.simulate(model, x, 1e6, times=[1e6], scheme="rosenbrock")
    assert run.attrs["bodies"] == "formed"
    assert run.attrs["left"] == 4
    assert [(int(run["merger_into"][0]), int(run["merger_merged"][0]))] == [(3, 4)]


# Runs with bodies are the runs of all tokens.


@pytest.mark.parametrize(("n", "dim", "beta", "width"), [(120, 2, 64.0, 30), (60, 3, 24.0, 20)])
def test_a_causal_window_with_bodies_is_the_run_of_all_tokens(n, dim, beta, width):
    model, x = windowed(Window(width), beta, dim), flock.uniform(n, dim, seed=2)
    times = np.concatenate([[0.0], np.geomspace(1.0, 1e30, 121)])
    run = flock.simulate(model, x, 1e30, times=times, scheme="rosenbrock")
    assert run.attrs["left"] < 6
    assert run.sizes["merger"] >= n - run.attrs["left"]
    assert (run["merger_into"] < run["merger_merged"]).all()
    assert 0 < run.attrs["slack"] <= 1.1e-6
    # Both follow a merger with errors that shift it in time: frames in the middle of one are no measure.
    off = np.abs(run["x"].values - without_bodies(model, x, times)).max(axis=(1, 2))
    assert np.median(off) < 1e-6
    assert (off > 1e-4).sum() <= 1


@pytest.mark.parametrize(("n", "dim", "beta", "width"), [(40, 2, 24.0, 10), (30, 3, 32.0, 8)])
def test_a_window_to_both_sides_with_bodies_is_the_run_of_all_tokens(n, dim, beta, width):
    model, x = windowed(Window(width, causal=False), beta, dim), flock.uniform(n, dim, seed=2)
    times = np.geomspace(1.0, 3e4, 60)
    run = flock.simulate(model, x, 3e4, times=times, scheme="rosenbrock")
    true = flock.simulate(model, x, 3e4, times=times, scheme="tsit5", engine="cpu", rtol=1e-9, atol=1e-12)
    off = np.abs(run["x"].values - true["x"].values).max(axis=(1, 2))
    assert run.attrs["left"] < n / 2
    assert np.median(off) < 1e-5
    assert (off > 1e-3).sum() <= 2


# The last merger, and the end.


def log_merge_time(angle, beta, pairs, gap):
    """log of the time that two bodies need that see each other as often as pairs (2, 2) says."""
    top = beta * (1 - math.cos(angle))

    def slowness(theta):
        fall = beta * (1 - math.cos(theta))
        w = math.exp(-fall)
        rates = (pairs[k, 1 - k] / (pairs[k, k] + pairs[k, 1 - k] * w) for k in (0, 1))
        return math.exp(fall - top) / (math.sin(theta) * sum(rates))

    near_start = [angle - 10.0**-k for k in range(7) if angle - 10.0**-k > gap]
    near_end = [10.0**-k for k in range(1, 9) if gap < 10.0**-k < angle]
    cuts = sorted({gap, *near_start, *near_end, angle})
    parts = [quad(slowness, a, b, epsabs=0, epsrel=1e-12, limit=200)[0] for a, b in itertools.pairwise(cuts)]
    return math.log(math.fsum(parts)) + top


@pytest.mark.parametrize("width", [2, 3, 8])
def test_two_clusters_in_a_window_to_both_sides_meet_when_the_quadrature_says(width):
    labels = np.array([0, 0, 1, 0, 1, 0, 1, 1] if width > 2 else [0, 0, 0, 1, 1, 1, 1, 1])
    i = np.arange(8)
    seen = abs(i[:, None] - i) < width
    pairs = np.array([[seen[np.ix_(labels == k, labels == m)].sum() for m in (0, 1)] for k in (0, 1)], dtype=float)
    run = flock.simulate(windowed(Window(width, causal=False)), circle(2.5 * labels), 1e300, scheme="rosenbrock")
    met = run["merger_t"].values
    first = met[met > 1.0].min()  # both are bodies from the start, and opened when they meet
    assert run.attrs["left"] == 1
    assert math.log(first) == pytest.approx(log_merge_time(2.5, 64.0, pairs, 1e-3), abs=2e-3)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("n", "dim", "beta"), [(20, 2, 40.0), (30, 3, 24.0)])
def test_a_windowed_run_comes_to_its_end(causal, n, dim, beta):
    run = flock.simulate(windowed(Window(6, causal=causal), beta, dim), flock.uniform(n, dim, seed=1), np.inf)
    assert run.attrs["outcome"].startswith("All tokens met")
    assert run.attrs["left"] == 1
    assert math.log10(run["merger_t"].values[-1]) > 10
    assert float(np.ptp(run["x"].values[-1], axis=0).max()) == 0.0


@pytest.mark.parametrize("causal", [True, False])
def test_windows_that_do_not_meet_say_what_is_left(causal):
    five = circle(np.array([0.0, 0.41, 1.3, 2.2, 3.6]))
    waits = flock.simulate(windowed(Window(3, causal=causal), 2000.0), five, np.inf)
    assert waits.attrs["outcome"] == (
        "Reached t_end. 4 clusters are left at t = 1e+300: the next two are due at about t = 10^329, "
        "after the last time that there is."
    )
    alone = flock.simulate(windowed(Window(1, causal=causal)), five, np.inf)
    assert alone.attrs["outcome"] == "Reached t_end. Nothing moves any more, but not all tokens have met."
    assert np.array_equal(alone["x"].values[-1], five)


@pytest.mark.slow
@pytest.mark.parametrize(("causal", "n", "t_end"), [(True, 2000, 1e3), (False, 1050, 3e3)])
def test_windows_of_a_thousand_tokens_are_the_run_of_all_tokens(causal, n, t_end):
    model, x = windowed(Window(1000, causal=causal)), flock.uniform(n, 2, seed=0)
    times = np.geomspace(1.0, t_end, 20)
    run = flock.simulate(model, x, t_end, times=times, scheme="rosenbrock")
    true = flock.simulate(model, x, t_end, times=times, scheme="tsit5", engine="cpu", rtol=1e-8, atol=1e-10)
    off = np.abs(run["x"].values - true["x"].values).max(axis=(1, 2))
    assert run.attrs["bodies"] == "formed"
    assert run.attrs["left"] < n / 2
    assert np.median(off) < 1e-5
    assert (off > 1e-3).sum() <= 1
    if causal:
        late = flock.simulate(model, x, 1e30, times=[1e30])
        assert late.attrs["left"] <= 3
        assert 0 < late.attrs["slack"] <= 1.1e-6


def test_a_run_that_ends_where_implicit_steps_would_begin_has_its_last_frame():
    x = flock.uniform(5, 2, seed=0)
    model = windowed(Window(3))
    whole = flock.simulate(model, x, 1e8, times=[50.0, 100.0, 1e8])
    short = flock.simulate(model, x, 100.0, times=[50.0, 100.0])
    assert short.attrs["outcome"].startswith("Reached t_end")
    assert np.abs(short["x"].values - whole["x"].values[:2]).max() < 1e-6
