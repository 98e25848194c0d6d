"""The sceptic's checks of paper A: every verdict as expected, and a twin with a broken hypothesis that must fail.

A counterexample to Conjecture 1 is followed here with another integrator and from another formula.
"""

import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import tokenflock as flock
from tokenflock.analysis import statistics
from tokenflock.geometry import angle, circle, distance
from tokenflock.model import attention
from tokenflock.papers.claims.causal import next_weights as weights
from tokenflock.papers.claims.causal.next_discrete import next_discrete
from tokenflock.papers.claims.causal.next_sharpness import entropy_ratio, next_sharpness
from tokenflock.papers.claims.causal.next_start import next_start
from tokenflock.papers.claims.causal.next_time import next_time
from tokenflock.papers.claims.causal.next_weights import next_weights
from tokenflock.papers.claims.ledger import run
from tokenflock.papers.merge_time import arrival, merge_law, merge_time

CLAIMS = {c.name: c for c in (next_time, next_weights, next_discrete, next_start, next_sharpness)}
FEW = {
    "causal/next-time": {"trials": 12},
    "causal/next-weights": {"trials": 10},
    "causal/next-discrete": {"trials": 8},
    "causal/next-start": {"trials": 8},
    "causal/next-sharpness": {"trials": 4, "n_tokens": 60},
}


def checked(claim, trial=None, **changes):
    return run(claim, changes.pop("trials", None), 0, True, trial, None, **changes)


@pytest.fixture(scope="module")
def verdicts():
    return {name: checked(claim, **FEW[name]) for name, claim in CLAIMS.items()}


def finding(verdict, case):
    return next(f for f in verdict.findings if f.case == case)


# What the claims share.


@pytest.mark.parametrize(("theta", "near", "beta", "m"), [(2.5, 0.1, 3.0, 1), (1.0, 0.4, 9.0, 5), (3.1, 0.01, 0.5, 2)])
def test_the_merge_time_is_the_integral_over_the_angle(theta, near, beta, m):
    def slowness(a):
        w = math.exp(beta * (math.cos(a) - 1))
        return (1 + m * w) / (m * w * math.sin(a))

    assert merge_time(theta, near, beta, m) == pytest.approx(quad(slowness, near, theta)[0], rel=1e-7)


def test_the_merge_time_of_two_tokens_is_that_of_the_closed_form():
    t = merge_time(2.0, 0.3, 4.0, 1)
    overlap = flock.theory.two_token_overlap(t, math.cos(2.0), 4.0, mask="causal")
    assert float(overlap) == pytest.approx(math.cos(0.3), abs=1e-10)


def test_the_law_is_the_merge_time_at_large_beta():
    ratios = [merge_time(2.0, 0.1, beta, 3) / merge_law(2.0, beta, 3) for beta in (10, 40, 160)]
    # 1 + 2 cos(theta) / (beta sin^2 theta) + ...: the distance from 1 falls like 1/beta.
    assert abs(ratios[2] - 1) < abs(ratios[1] - 1) / 3 < abs(ratios[0] - 1) / 3
    assert ratios[2] - 1 == pytest.approx(2 * math.cos(2.0) / (160 * math.sin(2.0) ** 2), rel=0.1)


def test_a_slope_and_its_error_are_right_when_residuals_grow():
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 40)
    fits = np.array([statistics.slope(x, 2 + 3 * x + x * rng.standard_normal(40)) for _ in range(2000)])
    assert fits[:, 0].mean() == pytest.approx(3, abs=5 * fits[:, 0].std() / math.sqrt(2000))
    assert fits[:, 1].mean() == pytest.approx(fits[:, 0].std(), rel=0.1)
    np.testing.assert_allclose(fits[0, [0, 2]], np.polyfit(x, x * 0 + fits[0, 0] * x + fits[0, 2], 1), rtol=1e-9)


def test_an_arrival_is_for_good_and_nan_if_there_is_none():
    t = np.array([0.0, 1.0, 2.0, 3.0])
    assert arrival(t, np.array([1.0, 0.05, 1.0, 0.01]), 0.1) == pytest.approx(2.5)
    assert math.isnan(arrival(t, np.array([1.0, 1.0, 0.01, 0.2]), 0.1))
    assert arrival(t, np.full(4, 0.01), 0.1) == 0


# The verdicts.


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("causal/next-time", "agrees"),
        ("causal/next-weights", "counterexample"),
        ("causal/next-discrete", "agrees"),
        ("causal/next-start", "agrees"),
        ("causal/next-sharpness", "agrees"),
    ],
)
def test_the_verdict_is_as_expected(verdicts, name, word):
    assert verdicts[name].word == word, verdicts[name].failed


@pytest.mark.parametrize("name", CLAIMS)
def test_every_axis_of_the_figure_is_labelled(verdicts, name):
    figure = verdicts[name].figure
    panels = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert len(panels) >= 2
    assert all(ax.get_xlabel() or ax.get_xticklabels()[0].get_text() for ax in panels)
    assert all(ax.lines or ax.collections or ax.patches for ax in panels)
    figure.draw_without_rendering()


def test_time_the_leader_keeps_to_the_quadrature_and_the_last_merge_too(verdicts):
    verdict = verdicts["causal/next-time"]
    assert finding(verdict, "two clusters").measured < 1e-5
    assert abs(finding(verdict, "log of last merge over quadrature").measured) < 1e-3


def test_time_fails_where_tokens_see_those_after_them():
    broken = checked(next_time, trials=4, mask="full", n_tokens=(8, 16), dims=(2, 4), betas=(1.0, 2.0), t_end=1e3)
    assert broken.word == "disagrees"
    assert len(finding(broken, "two clusters").failed) == 8


def test_discrete_fails_for_a_scheme_of_order_two():
    broken = checked(next_discrete, trials=3, scheme="heun")
    assert broken.word == "disagrees"
    assert finding(broken, "order at equal times").measured == pytest.approx(2, abs=0.2)


def test_discrete_a_step_past_the_threshold_ends_elsewhere(verdicts):
    found = finding(verdicts["causal/next-discrete"], "threshold, mean")
    assert found.measured == pytest.approx(1, abs=0.01)
    # The definition, by hand: a lone token under I + dt V.
    value, x = np.array([1.0, 0.2, -2.0]), np.array([0.6, 0.64, 0.48])
    for dt, axis in ((1.9, 0), (2.1, 2)):
        end = x * np.abs((1 + dt * value) / np.abs(1 + dt * value).max()) ** 2000
        assert np.argmax(end) == axis


def test_start_fails_where_v_has_its_own_limit():
    broken = checked(next_start, trials=4, value="two-points", laws=("uniform", "antipodal"), t_end=1e3)
    assert broken.word == "disagrees"
    assert len(finding(broken, "limit, uniform").failed) == 4


def test_start_a_run_that_is_stopped_early_is_undecided_not_wrong():
    short = checked(next_start, trials=4, laws=("antipodal",), t_end=20.0)
    assert finding(short, "limit, antipodal").undecided == 4
    assert not finding(short, "limit, antipodal").failed


def test_sharpness_fails_without_logits_and_off_the_circle():
    ends = checked(next_sharpness, trials=3, form="zero", n_tokens=30)
    assert ends.word == "disagrees"
    assert finding(ends, "entropy at beta = inf, start").failed
    sphere = checked(next_sharpness, trials=3, dim=3, n_tokens=30)
    assert finding(sphere, "exponent of Renyi centers in beta").failed


def test_the_entropy_ratio_is_its_definition():
    model, x = flock.Model(dim=3, beta=2.0), flock.uniform(7, 3, seed=4)
    ratios = []
    for i in range(1, 7):
        w = [math.exp(2.0 * float(x[i] @ x[j])) for j in range(i + 1)]
        p = [v / sum(w) for v in w]
        ratios.append(-sum(v * math.log(v) for v in p) / math.log(i + 1))
    assert entropy_ratio(model, x) == pytest.approx(sum(ratios) / 6, rel=1e-12)


# Q and K against V.


def test_weights_theorem_4_1_is_not_touched(verdicts):
    for found in verdicts["causal/next-weights"].findings:
        if found.case.startswith("first-token"):
            assert not found.failed


def test_weights_the_conjecture_stands_where_q_and_k_are_the_identity():
    rows = ("first-token", "one-point", "two-points")
    verdict = checked(next_weights, trials=4, families=("identity",), rows=rows, pairs=False)
    assert verdict.word == "consistent"
    assert verdict.undecided < verdict.trials


def test_weights_a_counterexample_is_repeated_by_its_name(verdicts):
    broken = [t for t in verdicts["causal/next-weights"].failed if t.startswith("two tokens")]
    alone = checked(next_weights, trial=broken[0], trials=1)
    assert alone.word == "counterexample"
    assert alone.failed == [broken[0]]
    assert alone.trials == 1


@pytest.mark.parametrize(("scale", "ratio"), [(10.0, 0.5), (4.0, 0.7), (60.0, 0.2)])
def test_the_second_token_rests_at_the_predicted_angle_by_another_integrator(scale, ratio):
    value, form = np.diag([1.0, ratio]), scale * weights.TURN

    def rate(t, y):
        x1, x2 = y.reshape(2, 2)
        first, own = math.exp(x2 @ form @ x1), math.exp(x2 @ form @ x2)
        pull = value @ (first * x1 + own * x2) / (first + own)
        return np.concatenate([value @ x1 - (x1 @ value @ x1) * x1, pull - (x2 @ pull) * x2])

    rest = weights.resting_angle(scale, ratio)
    # Starts all around: the first token is free, the second is anywhere beyond a right angle on the side of J.
    for first, second in ((0.3, 2.0), (-0.4, 2.5), (0.1, 3.1)):
        start = circle(np.array([first, second])).ravel()
        flow = solve_ivp(rate, (0, 400), start, method="DOP853", rtol=1e-10, atol=1e-12)
        assert angle(flow.y[2:, -1]) == pytest.approx(rest, abs=1e-6)
    assert math.pi - rest > 1e-3


def test_the_resting_angle_is_near_the_pole_for_strong_weights_and_none_for_weak():
    for ratio in (0.2, 0.5, 0.8):
        assert 1e4 * (math.pi - weights.resting_angle(1e4, ratio)) == pytest.approx(-math.log(1 - ratio), rel=1e-3)
    assert math.isnan(weights.resting_angle(0.5, 0.5))


def test_a_token_far_from_both_poles_in_three_dimensions_is_there_at_ten_times_the_time():
    rng = np.random.default_rng(0)
    value, kept = np.diag([1.0, 0.5, 0.2]), 0
    for _ in range(60):
        query, key = weights.drawn(rng, "gaussian", 3, 30.0)
        model, start = (
            flock.Model(dim=3, query=query, key=key, value=value),
            flock.uniform(6, 3, int(rng.integers(999))),
        )
        early, late = flock.simulate(model, start, 1000.0, times=[100.0, 1000.0], rtol=1e-8)["x"].values
        ok, off, word = weights.judged(model, early, np.array([[1.0, 0, 0], [-1.0, 0, 0]]))
        if ok is False:
            k = int(np.argmax(np.arccos(np.abs(early[:, 0]).clip(max=1)) > 1e-3))
            assert word == "elsewhere"
            assert distance(early[k], late[k]) < 1e-6
            kept += off > 0.1
    assert kept >= 2


@pytest.mark.parametrize("row", ["cloud", "two-clouds"])
def test_tokens_of_a_cloud_merge_for_some_weights_by_another_integrator(row):
    rng, value = np.random.default_rng(3), np.diag(weights.VALUES[row])
    for seed in range(40):
        query, key = weights.drawn(rng, "gaussian", 3, 3.0)
        model, start = flock.Model(dim=3, query=query, key=key, value=value), flock.uniform(5, 3, seed)
        x = flock.simulate(model, start, 300.0, times=[300.0])["x"].values[0]
        if weights._cloud(model, x, True) is False:
            break
    else:
        pytest.fail("no run merged")

    def rate(t, flat):
        y = flat.reshape(5, 3) / np.linalg.norm(flat.reshape(5, 3), axis=1, keepdims=True)
        pull = attention(model, y)[0] @ y @ value
        return (pull - np.sum(pull * y, axis=1, keepdims=True) * y).ravel()

    y = solve_ivp(rate, (0, 300), start.ravel(), method="DOP853", rtol=1e-9, atol=1e-11).y[:, -1].reshape(5, 3)
    merged = [(i, j) for j in range(5) for i in range(j) if distance(x[i], x[j]) < weights.MERGED]
    assert merged
    assert max(np.linalg.norm(y[i] - y[j]) for i, j in merged) < 1e-8
    # Apart, or not at rest, it is no refutation.
    assert weights._cloud(model, start, True) is True


def test_a_metastable_cluster_is_undecided():
    x = circle(np.array([0.0, 0.0, 2.0, 2.0]))
    model = flock.Model(dim=2, beta=40.0)
    assert np.abs(flock.velocity(model, x)).max() < weights.STILL  # it looks at rest
    assert weights.judged(model, x, x[:1])[2] == "undecided"
    assert weights.judged(model, x[:2], x[:1])[2] == "predicted"


def test_the_pull_back_is_an_eigenvalue_of_the_whole_system():
    model, x = flock.Model(dim=3, beta=2.0, value=np.diag([1.0, 0.5, 0.2])), flock.uniform(4, 3, seed=1)

    def whole(flat):
        y = flat.reshape(4, 3)
        y = y / np.linalg.norm(y, axis=1, keepdims=True)
        a = attention(model, y)[0] @ y @ model.value.T
        return (a - np.sum(a * y, axis=1, keepdims=True) * y).ravel()

    step = 1e-6
    jacobian = np.stack([(whole(x.ravel() + step * e) - whole(x.ravel() - step * e)) / (2 * step) for e in np.eye(12)])
    eigenvalues = np.linalg.eigvals(jacobian.T)
    for k in range(4):
        # Off a resting place the tangent part of a block turns with the token, so compare real parts to 1e-5 there.
        assert np.abs(eigenvalues.real - weights.pull_back(model, x, k)).min() < 1e-5


@pytest.mark.parametrize(
    ("claim", "change", "words"),
    [
        (next_weights, {"families": ("gausian",)}, "gaussian"),
        (next_weights, {"rows": ("two-point",)}, "two-points"),
        (next_start, {"laws": ("unifrom",)}, "uniform"),
        (next_start, {"value": "idenity"}, "identity"),
        (next_sharpness, {"form": "zeros"}, "zero"),
        (next_time, {"betta": 3}, "beta"),
    ],
)
def test_a_word_that_is_not_known_names_the_nearest(claim, change, words):
    with pytest.raises(ValueError, match=words):
        checked(claim, trials=1, **change)
