"""Bodies: tokens that sit together move as one, and a run of full attention comes to its end."""

import itertools
import math
import re

import numpy as np
import pytest
from scipy.integrate import quad

import tokenflock as flock
from tokenflock.engine.choose import engine_named
from tokenflock.engine.implicit.bodies import Grouping, growth
from tokenflock.engine.implicit.stepper import ImplicitStepper
from tokenflock.engine.traits import traits
from tokenflock.errors import SpecError
from tokenflock.model import attention
from tokenflock.options import Frozen, Window
from tokenflock.request import Request
from tokenflock.weights import ginibre


def on_circle(angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def full(beta, dim=2, **options):
    return flock.Model(dim=dim, beta=beta, mask="full", **options)


def to_the_end(model, x, **options):
    return flock.simulate(model, x, np.inf, **options)


def log_merge_time(angle, beta, masses, gap):
    """log of the time that two bodies need from an angle to a gap: theta' = -w sin(theta) (m_2/(m_1 + m_2 w) + ...)."""
    one, two = masses
    top = beta * (1 - math.cos(angle))

    def slowness(theta):
        fall = beta * (1 - math.cos(theta))
        w = math.exp(-fall)
        return math.exp(fall - top) / (math.sin(theta) * (two / (one + two * w) + one / (two + one * w)))

    near_start = [angle - 10.0**-k for k in range(7) if angle - 10.0**-k > gap]
    near_end = [10.0**-k for k in range(1, 12) if gap < 10.0**-k < angle]
    cuts = sorted({gap, *near_start, *near_end, angle})
    parts = [quad(slowness, a, b, epsabs=0, epsrel=1e-12, limit=200)[0] for a, b in itertools.pairwise(cuts)]
    return math.log(math.fsum(parts)) + top


# The two bodies of a model of full attention.


@pytest.mark.parametrize(
    ("angle", "beta", "masses"),
    [(2.0, 20.0, (1, 3)), (3.0, 64.0, (5, 2)), (1.5, 300.0, (1, 1)), (1.2, 1000.0, (7, 1)), (3.0, 340.0, (1, 2.5))],
)
def test_two_bodies_of_any_masses_meet_when_the_quadrature_says(angle, beta, masses):
    model = full(beta, masses=masses)
    run = flock.simulate(model, on_circle([0.0, angle]), 1e300, scheme="rosenbrock", rtol=1e-9, atol=1e-12)
    gap = 0.25 * 1.001e-9 / beta
    expected = log_merge_time(angle, beta, masses, gap)
    assert run.attrs["left"] == 1
    assert math.log(run["merger_t"].values[-1]) == pytest.approx(expected, abs=1e-6)  # of the logarithm: relative


def test_in_more_dimensions_two_bodies_meet_at_the_same_time():
    times = []
    for dim in (2, 3, 6):
        turn = np.linalg.qr(np.random.default_rng(dim).standard_normal((dim, dim)))[0]
        x = np.zeros((2, dim))
        x[:, :2] = on_circle([0.0, 2.0])
        run = flock.simulate(full(20.0, dim, masses=(1, 3)), x @ turn, 1e300, scheme="rosenbrock", rtol=1e-9)
        times.append(float(run["merger_t"][-1]))
    assert times == pytest.approx([times[0]] * 3, rel=1e-6)


# What a stranger found: full attention stood still for ever.


@pytest.mark.parametrize(("n", "beta", "seed", "due"), [(20, 40.0, 1, 33), (20, 64.0, 0, 45), (8, 64.0, 0, 55)])
def test_a_run_of_full_attention_comes_to_its_end(n, beta, seed, due):
    run = to_the_end(full(beta), flock.uniform(n, 2, seed=seed))
    assert run.attrs["outcome"].startswith("All tokens met")
    assert run.attrs["left"] == 1
    assert due <= math.log10(run["merger_t"].values[-1]) < due + 1
    assert float(np.ptp(run["x"].values[-1], axis=0).max()) == 0.0


def test_the_last_merger_is_that_of_two_bodies():
    checked = 0
    for beta, n, seed in itertools.product((16.0, 40.0), (8, 30), (0, 1)):
        model, x = full(beta), flock.uniform(n, 2, seed=seed)
        run = to_the_end(model, x)
        assert run.attrs["left"] == 1
        assert last_pair_is_right(model, x, run)
        checked += 1
    assert checked == 8


def last_pair_is_right(model, x, run):
    """Whether the last merger came when the two last bodies were due, from where they were when they were left."""
    before, last = run["merger_t"].values[-2:]
    one, two = (int(run[f"merger_size_{name}"][-1]) for name in ("into", "merged"))
    if last < 2 * before:
        return True  # three met at once
    then = min(2 * before, math.sqrt(before * last))
    there = flock.simulate(model, x, then, times=[then], scheme="rosenbrock")["x"].values[-1]
    apart = there[int(run["merger_into"][-1])], there[int(run["merger_merged"][-1])]
    angle = math.acos(float(apart[0] @ apart[1]))
    due = then + math.exp(log_merge_time(angle, model.beta, (one, two), 1e-8))
    return abs(due / last - 1) < 0.1


@pytest.mark.slow
def test_two_hundred_runs_of_full_attention_end_in_one_cluster_when_it_is_due():
    draw, failures = np.random.default_rng(0), []
    for seed in range(200):
        beta, n = float(np.exp(draw.uniform(np.log(16), np.log(64)))), int(draw.integers(8, 51))
        model, x = full(beta), flock.uniform(n, 2, seed=seed)
        run = to_the_end(model, x)
        if run.attrs["left"] != 1 or not last_pair_is_right(model, x, run):
            failures.append((beta, n, seed))
    assert not failures


def test_five_tokens_at_large_beta_say_what_is_left_and_when_it_is_due():
    five = on_circle(np.array([0.0, 0.41, 1.3, 2.2, 3.6]))
    meets, waits = to_the_end(full(100.0), five), to_the_end(full(2000.0), five)
    assert meets.attrs["outcome"].startswith("All tokens met")
    assert waits.attrs["outcome"] == (
        "Reached t_end. 4 clusters are left at t = 1e+300: the next two are due at about t = 10^329, "
        "after the last time that there is."
    )
    assert waits.attrs["left"] == 4
    assert math.log10(waits["merger_t"].values[0]) == pytest.approx(69, abs=1)


def test_tokens_in_balance_rest():
    opposite = to_the_end(full(4.0), on_circle([0.0, math.pi]))
    triangle = to_the_end(full(4.0), on_circle([0.0, 2 * math.pi / 3, 4 * math.pi / 3]))
    for run in (opposite, triangle):
        assert run.attrs["outcome"] == "Reached t_end. Nothing moves any more, but not all tokens have met."
    pushed = to_the_end(full(4.0), on_circle([0.0, math.pi - 1e-6]))
    assert pushed.attrs["outcome"].startswith("All tokens met")


# When tokens may be one body.


def fixed_measure(model, x, at):
    """F(at, mu): the velocity of a token of no mass at a place, mu the tokens x with their masses."""
    weights = np.ones(len(x)) if model.masses is None else model.masses
    seen, mass = x, weights
    if model.frozen is not None:
        seen, mass = np.concatenate([x, model.frozen.tokens]), np.concatenate([weights, model.frozen.weights])
    drive = np.zeros(len(at))
    for form, value in zip(model.form, model.values, strict=True):
        a = mass * np.exp(model.beta * (seen @ form.T @ at - (seen @ form.T @ at).max()))
        drive += value @ (a / a.sum() @ seen)
    return drive - at * (at @ drive)


@pytest.mark.parametrize(
    "options",
    [
        {"dim": 2, "beta": 5.0},
        {"dim": 3, "beta": 5.0, "masses": np.arange(1.0, 8.0)},
        {"dim": 4, "beta": 2.0, "value": ginibre(4, 1), "query": ginibre(4, 2)},
        {
            "dim": 3,
            "value": np.stack([ginibre(3, 1), ginibre(3, 2)]),
            "query": np.stack([ginibre(3, 3), ginibre(3, 4)]),
        },
        {"dim": 3, "beta": 3.0, "frozen": Frozen(flock.uniform(2, 3, seed=9), np.array([2.0, 0.5]))},
    ],
    ids=["circle", "masses", "general", "heads", "frozen"],
)
def test_growth_is_the_largest_rate_of_a_gap_in_a_fixed_field(options):
    model = flock.Model(mask="full", **options)
    x, step = flock.uniform(7, model.dim, seed=3), 1e-6
    rates = growth(model, x, np.arange(7))
    for k in range(7):
        basis = np.linalg.svd(x[k : k + 1])[2][1:]
        columns = [
            (fixed_measure(model, x, unit(x[k] + step * e)) - fixed_measure(model, x, unit(x[k] - step * e)))
            / (2 * step)
            for e in basis
        ]
        inside = basis @ np.array(columns).T
        assert rates[k] == pytest.approx(np.linalg.eigvalsh(inside + inside.T)[-1] / 2, abs=1e-7 * (1 + abs(rates[k])))


def unit(y):
    return y / np.linalg.norm(y)


def test_a_body_that_grows_again_is_opened():
    x = on_circle(np.array([-1.0, 1.0, -1e-8, 1e-8]))
    model, times = full(8.0, masses=(5.0, 5.0, 1.0, 1.0)), [5.0, 15.0, 20.0, 22.0, 24.0, 60.0]
    run = flock.simulate(model, x, 60.0, times=times, scheme="rosenbrock")
    true = flock.simulate(model, x, 60.0, times=times, scheme="tsit5", engine="cpu", rtol=1e-12, atol=1e-14)
    gap, truth = (np.linalg.norm(one["x"][:, 2] - one["x"][:, 3], axis=1) for one in (run, true))
    assert run["merger_t"].values[0] < 1.0  # the two light ones become a body
    assert gap[0] == 0.0
    assert truth[3] > 50 * truth[0]  # the heavy ones pull them apart
    assert run.attrs["opened"] == 1
    assert np.abs(np.log(gap[1:5] / truth[1:5])).max() < 1.0  # the gap was followed by its rate
    assert float(abs(run["x"] - true["x"]).max()) < 1e-6


def test_tokens_that_repel_each_other_are_no_body():
    x = on_circle(np.array([0.0, 1e-9, 2.0]))
    run = flock.simulate(full(2.0, value=-np.eye(2)), x, 5.0, scheme="rosenbrock")
    assert run.sizes["merger"] == 0
    assert run.attrs["left"] == 3


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"mask": Window(4), "value": np.diag([1.0, 0.5])}, "followers are not held"),
        ({"mask": Window(4, causal=False), "normaliser": "count"}, "that of softmax weights"),
        ({"mask": "causal", "value": np.diag([1.0, 0.5])}, "followers are not held"),
        ({"mask": "causal", "value": -np.eye(2)}, "followers are not held"),
        ({"mask": "full", "masses": np.ones((9, 9))}, "as seen from each row"),
    ],
)
def test_where_bodies_would_part_none_are_formed_and_the_run_says_so(options, why):
    model = flock.Model(dim=2, beta=9.0, **options)
    assert why in traits(model).no_bodies
    run = flock.simulate(model, flock.uniform(9, 2, seed=0), 500.0, scheme="rosenbrock")
    assert run.attrs["bodies"] == f"never formed: {traits(model).no_bodies}"


# Causal runs: followers on their leaders.


def test_the_rows_of_bodies_count_what_their_first_tokens_see():
    labels = np.array([0, 1, 0, 1, 2, 0, 1])
    counts = Grouping(flock.Model(dim=2), labels).model().masses
    assert counts.tolist() == [[1, 0, 0], [1, 1, 0], [2, 2, 1]]
    weighed = Grouping(flock.Model(dim=2, masses=np.arange(1.0, 8.0)), labels).model().masses
    assert weighed.tolist() == [[1, 0, 0], [1, 2, 0], [4, 6, 5]]
    assert Grouping(full(1.0), labels).model().masses.tolist() == [3, 3, 1]


def test_the_weights_of_a_body_are_those_of_its_tokens():
    model, places = flock.Model(dim=3, beta=2.0), flock.uniform(3, 3, seed=1)
    labels = np.array([0, 1, 0, 1, 2, 0, 1])
    whole = attention(model, places[labels])[0]
    few = attention(Grouping(model, labels).model(), places)[0]
    for k, token in enumerate((0, 1, 4)):
        assert few[k] == pytest.approx([whole[token, labels == c].sum() for c in range(3)], rel=1e-14)


@pytest.mark.parametrize(("n", "dim", "beta"), [(120, 2, 64.0), (60, 3, 24.0)])
def test_a_causal_run_with_bodies_is_the_run_of_all_tokens(n, dim, beta):
    model, x = flock.Model(dim=dim, beta=beta), flock.uniform(n, dim, seed=2)
    times = np.concatenate([[0.0], np.geomspace(1.0, 1e30, 121)])
    run = flock.simulate(model, x, 1e30, times=times, scheme="rosenbrock")
    request = Request(model, 1e30, times, scheme="rosenbrock")
    plain = ImplicitStepper(request.task, request.task.scheme, x)
    frames = np.empty((len(times), n, dim))
    assert plain.advance(times, frames, 1 << 40) == len(times)
    assert run.sizes["merger"] == n - run.attrs["left"]
    assert (run["merger_into"] < run["merger_merged"]).all()
    assert run.attrs["slack"] <= request.task.rtol + request.task.atol
    # Both follow a merger with errors that shift it in time: frames in the middle of one are no measure.
    off = np.abs(run["x"].values - frames).max(axis=(1, 2))
    assert np.median(off) < 1e-6
    assert (off > 1e-4).sum() <= 1


@pytest.mark.parametrize("mask", ["causal", Window(15), Window(15, causal=False)], ids=str)
def test_a_follower_is_not_left_behind_by_bodies_that_open_too_late(monkeypatch, mask):
    """The bound decides: with one that allows anything, frames of a merger are wrong."""
    from tokenflock.engine.implicit import coalescing

    model, x = flock.Model(dim=2, beta=64.0, mask=mask), flock.uniform(60, 2, seed=2)
    times = np.geomspace(1.0, 1e4, 400)
    right = flock.simulate(model, x, 1e4, times=times, scheme="tsit5", engine="cpu", rtol=1e-8)["x"].values

    def worst():
        return np.abs(flock.simulate(model, x, 1e4, times=times, scheme="rosenbrock")["x"].values - right).max()

    usual = worst()
    grouping = coalescing.Grouping

    class Careless(grouping):
        def watch(self, gap, limit):
            return super().watch(1e-2 if gap else gap, 1e30)

    monkeypatch.setattr(coalescing, "Grouping", Careless)
    monkeypatch.setattr(coalescing, "FORMED", 1e30)
    assert usual < 1e-3 < worst()


def test_a_run_with_bodies_pauses_and_goes_on():
    model, x = full(40.0), flock.uniform(20, 2, seed=1)
    task = Request(model, 1e34, scheme="rosenbrock").task
    times = np.geomspace(1.0, 1e34, 50)

    def run(patience):
        stepper, frames, done = engine_named("cpu").begin(task, x), np.empty((50, 20, 2)), 0
        while done < 50:
            done += stepper.advance(times[done:], frames[done:], patience)
        return frames

    assert np.array_equal(run(1 << 40), run(37))


# The skeleton: leaders alone, on request.


@pytest.mark.parametrize(("n", "dim", "beta"), [(120, 2, 64.0), (100, 3, 64.0)])
def test_the_skeleton_follows_a_causal_run_with_no_token_misplaced(n, dim, beta):
    model, x = flock.Model(dim=dim, beta=beta), flock.uniform(n, dim, seed=0)
    times = np.geomspace(1e3, 1e30, 28)
    whole = flock.simulate(model, x, 1e30, times=times)
    leaders = flock.simulate(model, x, 1e30, times=times, scheme="skeleton")
    off = np.abs(whole["x"] - leaders["x"]).max(("token", "axis")).values
    assert off[0] < 1e-2
    assert (off[8:] < 1e-3).sum() >= 19  # one frame may stand in a merger
    assert off[-1] < 1e-6
    assert leaders.attrs["left"] == whole.attrs["left"]
    assert 0 < leaders.attrs["slack"] < 1
    assert flock.again(leaders).equals(leaders)


def test_a_skeleton_that_begins_too_early_is_wrong(monkeypatch):
    from tokenflock.engine.implicit import switching

    model, x = flock.Model(dim=2, beta=64.0), flock.uniform(120, 2, seed=0)
    whole = flock.simulate(model, x, 1e3, times=[1e3])["x"].values
    monkeypatch.setattr(switching, "LOOK_AT", 0.5)
    early = flock.simulate(model, x, 1e3, times=[1e3], scheme="skeleton")["x"].values
    assert np.abs(early - whole).max() > 0.1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"mask": "full"}, "mask='full': it has no leaders"),
        ({"mask": Window(4)}, "tokens at one place see different ones"),
        ({"value": np.diag([1.0, 0.5])}, "followers are not held by their leaders"),
        ({"query": -np.eye(2)}, "followers are not held by their leaders"),
    ],
)
def test_a_skeleton_that_does_not_hold_says_which_hypothesis_fails(options, why):
    with pytest.raises(SpecError, match=re.escape(why) + r".*needs a causal mask, V = c I"):
        flock.simulate(flock.Model(dim=2, beta=9.0, **options), flock.uniform(9, 2, seed=0), 1e6, scheme="skeleton")
    with pytest.raises(SpecError, match=r"t_end = 10.0 .*Clusters stand"):
        flock.simulate(flock.Model(dim=2), flock.uniform(9, 2, seed=0), 10.0, scheme="skeleton")


# The other examples of the stranger: each is right now, and none is stuck.


FIVE = on_circle(np.array([0.0, 0.41, 1.3, 2.2, 3.6]))


@pytest.mark.parametrize("rtol", [1e-6, 1e-10])
def test_two_of_five_tokens_at_large_beta_do_not_stand_for_ever(rtol):
    run = flock.simulate(full(1000.0), FIVE, 1e100, times=[1.0, 1e35, 1e100], rtol=rtol)
    assert 1e33 < run["merger_t"].values[0] < 1e34
    assert np.array_equal(run["x"].values[1, 0], run["x"].values[1, 1])
    assert run.attrs["left"] == 4


def test_what_is_left_of_five_tokens_is_told_and_can_be_diagnosed():
    run = to_the_end(full(1500.0), FIVE)
    assert run.attrs["outcome"].startswith("Reached t_end. 3 clusters are left at t = 1e+300: the next two are due")
    assert "No theorem or conjecture" in str(flock.diagnose(run, again=False))
    tree = flock.merge_tree(full(2000.0), FIVE, energy=False)
    assert tree["left"].values.tolist() == [4]


@pytest.mark.parametrize(("n", "scheme", "left"), [(200, "auto", 2), (100, "rosenbrock", 3)])
def test_many_tokens_of_full_attention_come_to_1e30(n, scheme, left):
    run = flock.simulate(full(64.0), flock.uniform(n, 2, seed=0), 1e30, times=[1e30], scheme=scheme)
    assert run.attrs["left"] == left
    assert run.attrs["evaluations"] < 50_000
