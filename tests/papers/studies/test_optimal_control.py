"""Steering by optimal control: known costs, Pontryagin's conditions by differences, and what cannot be done."""

import numpy as np
import pytest

import tokenflock as flock
from tokenflock.geometry import angle, circle
from tokenflock.model import Model
from tokenflock.options import Window

torch = pytest.importorskip("torch", reason="optimal control needs torch: pip install 'tokenflock[gpu]'")

from tokenflock.papers.studies import (  # noqa: E402
    obstructions,
    optimal_control_starts,
    steering,
)
from tokenflock.papers.studies.ledger import run  # noqa: E402
from tokenflock.papers.studies.obstructions import least_error, obstruction, together  # noqa: E402
from tokenflock.papers.studies.optimal_control import cases_of, optimal_control, problem_of  # noqa: E402
from tokenflock.papers.studies.pontryagin import differences, extremal, reachable  # noqa: E402
from tokenflock.papers.studies.problem import CONTROLS, Apart, Problem, Reach  # noqa: E402
from tokenflock.papers.studies.searches import ByFlow, ByKernel, objective  # noqa: E402
from tokenflock.papers.studies.steering import solve  # noqa: E402

FULL = Model(dim=2, mask="full")


def pair(**options):
    """Two tokens a quarter turn apart, to be brought nearer and turned: the smallest problem with attention in it."""
    start, targets = circle(np.array([0.0, 1.6])), circle(np.array([0.9, 1.7]))
    return Problem(FULL, start, Reach(targets), **{"t_end": 1.0, "intervals": 2, "weight": 50.0, **options})


def test_derivatives_are_those_of_the_cost_measured_without_torch():
    problem, rng = pair(), np.random.default_rng(0)
    z = 0.5 * rng.standard_normal((2, problem.size))
    value, slope, hessian = ByKernel(problem, 8).curved(z)
    measured = lambda v: problem.measured(problem.controls_of(v))  # noqa: E731
    d = rng.standard_normal(problem.size)
    ahead, here, behind = (measured(z[1] + e * d) for e in (1e-3, 0.0, -1e-3))
    assert value[1] == pytest.approx(here, rel=1e-8)
    assert slope[1] @ d == pytest.approx((ahead - behind) / 2e-3, rel=1e-5, abs=1e-4)
    assert d @ hessian[1] @ d == pytest.approx((ahead - 2 * here + behind) / 1e-6, rel=1e-3, abs=1e-2)


RECTANGULAR = {"query": np.ones((1, 2)), "key": np.array([[0.5, -1.0]])}


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (FULL, {}),
        (Model(dim=2, beta=1.7), {"bound": 0.9}),
        (Model(dim=2, mask=Window(2), value=-np.eye(2)), {"controls": ("query", "key"), "rest": "model"}),
        (Model(dim=2, mask="full", **RECTANGULAR), {"controls": ("value", "query"), "goal": Apart(-0.9)}),
    ],
    ids=["full", "causal-bounded", "window", "rectangular-apart"],
)
def test_compiled_derivatives_are_those_of_the_flow(model, options):
    start, targets = circle(np.array([0.0, 1.6, 2.5])), circle(np.array([0.4, 1.2, 2.9]))
    options = {"t_end": 1.0, "intervals": 2, "goal": Reach(targets), **options}
    problem = Problem(model, start, **options)
    z = 0.5 * np.random.default_rng(1).standard_normal((2, problem.size))
    fast, slow = ByKernel(problem, 2), ByFlow(problem, 2)
    np.testing.assert_allclose(fast.value(z), slow.value(z), rtol=1e-12)
    for mine, other in zip(fast.linear(z), slow.linear(z), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-10 * np.abs(other).max())
    for mine, other, digits in zip(fast.curved(z), slow.curved(z), (1e-12, 1e-10, 1e-7), strict=True):
        np.testing.assert_allclose(mine, other, rtol=digits, atol=digits * np.abs(other).max())


def test_models_with_more_parts_are_searched_by_the_flow():
    model = Model(dim=2, mask="full", value=np.stack([np.eye(2), -np.eye(2)]))
    problem = Problem(model, circle(np.array([0.0, 1.6])), Reach(circle(np.array([0.4, 1.2]))), intervals=1)
    search = objective(problem, 2)
    assert isinstance(search, ByFlow)
    assert isinstance(objective(pair(), 2), ByKernel)
    z = 0.3 * np.random.default_rng(0).standard_normal((1, problem.size))
    assert search.value(z)[0] == pytest.approx(problem.measured(problem.controls_of(z[0])), rel=1e-2)
    assert ByFlow(problem, 8).value(z)[0] == pytest.approx(problem.measured(problem.controls_of(z[0])), rel=1e-6)


def test_the_search_finds_a_minimum_and_says_how_good_it_is():
    problem = pair()
    best = solve(problem, starts=6)
    assert best.residual < 1e-7
    assert best.curvature > -1e-9
    assert best.measured == pytest.approx(best.value, rel=steering.BELIEVED)
    assert best.measured < problem.measured(problem.resting) / 3
    assert best.improvement > 3
    assert best.error == pytest.approx(problem.goal.error(problem.simulated(best.controls)))
    assert best.cost == pytest.approx(sum((u**2).sum() for u in best.controls.values()) * problem.length / 2)
    found = extremal(problem, best.controls, best.steps)
    assert np.ptp(found.hamiltonian, axis=1).max() < 1e-4 * np.abs(found.hamiltonian).max()  # constant where u is
    np.testing.assert_allclose((found.costate * found.path).sum(axis=-1), 0.0, atol=1e-12)  # tangent
    means = np.concatenate([g.ravel() for g in found.mean_slope().values()])
    size = problem.length * np.linalg.norm(best.z)
    assert np.linalg.norm(means) / size < 1e-3  # dH/du is zero on average over every interval ...
    assert found.pointwise > 0.05  # ... but not inside: that is what constant controls cost
    worse = extremal(problem, {k: 0.9 * u for k, u in best.controls.items()})
    assert np.linalg.norm(np.concatenate([g.ravel() for g in worse.mean_slope().values()])) / size > 0.1


def test_gradient_costate_and_principle_by_differences():
    problem = pair(bound=1.5)
    off = differences(problem, np.random.default_rng(0).standard_normal(problem.size))
    assert off.gradient < 1e-4
    assert off.costate < 1e-5
    assert off.principle < 1e-3


def test_one_token_costs_what_a_turn_costs():
    """theta^2 / (2 T) if V may follow the token; constant V on intervals costs more, and less so the finer they are."""
    theta, T, weight = 1.5, 2.0, 1e4
    start, target = circle(np.array([0.3])), circle(np.array([0.3 + theta]))
    values = []
    for k in (4, 8):
        problem = Problem(FULL, start, Reach(target), t_end=T, controls=("value",), intervals=k, weight=weight)
        values.append(solve(problem, starts=4).measured)
    over = np.array(values) / (theta**2 / (2 * T)) - 1
    assert 0 < over[1] < over[0]
    assert over[0] / over[1] == pytest.approx(4.0, rel=0.1)


def test_with_the_value_alone_time_can_be_stretched():
    """V(t) -> V(t/T) / T makes the same path in T times the time at 1/T of the cost."""
    base = pair(controls=("value",))
    z = np.random.default_rng(0).standard_normal(base.size)
    slow = pair(controls=("value",), t_end=3.0, weight=base.weight / 3)
    assert 3 * slow.measured(slow.controls_of(z / 3)) == pytest.approx(base.measured(base.controls_of(z)), rel=1e-8)
    both = pair(t_end=3.0, weight=base.weight / 3)  # with Q and K it does not hold
    u = np.random.default_rng(0).standard_normal(both.size)
    quick = pair()
    assert 3 * both.measured(both.controls_of(u / 3)) != pytest.approx(quick.measured(quick.controls_of(u)), rel=1e-3)


def test_bounds_hold():
    problem = pair(bound=0.3, intervals=1)
    best = solve(problem, starts=4)
    assert max(np.abs(u).max() for u in best.controls.values()) <= 0.3
    assert best.measured > 1.01 * solve(pair(intervals=1), starts=4).measured


def test_tokens_are_kept_apart():
    start = circle(np.array([-0.8, 0.1, 0.9]))
    overlap = float((np.sum(start.sum(axis=0) ** 2) - 3) / 6)
    problem = Problem(FULL, start, Apart(overlap), t_end=2.0, rest="model", intervals=1, weight=200.0)
    nothing = problem.simulated(problem.resting)
    assert problem.goal.error(nothing) > 0.2  # left alone they come together
    best = solve(problem, starts=4)
    assert best.error < 0.05
    assert best.measured < problem.measured(problem.resting)
    assert best.cost < 2.0  # switching V off: |V - I|^2 / 2 times T


def test_tokens_at_one_place_are_not_parted():
    start, targets = circle(np.array([0.0, 0.0, 2.0])), circle(np.array([-0.5, 0.5, 2.0]))
    problem = Problem(FULL, start, Reach(targets), t_end=1.0, intervals=2)
    assert together(FULL, start).tolist() == [0, 0, 1]
    assert "Tokens 0 and 1 start at one place" in obstruction(FULL, start, targets, problem.controls)
    z = np.random.default_rng(0).standard_normal(problem.size)
    x = problem.simulated(problem.controls_of(z))
    np.testing.assert_allclose(x[0], x[1], atol=1e-9)
    assert reachable(problem, z)[:2] == (2, 3)
    assert 0.5 * np.sum((x - targets) ** 2) >= least_error(FULL, start, targets) > 0.1
    best = solve(problem, starts=4)
    assert best.measured >= problem.weight * least_error(FULL, start, targets)
    # A causal crowd is another one for each token: the first two see one place, the third sees two.
    causal = Model(dim=2)
    label = together(causal, circle(np.array([0.0, 0.0, 2.0, 0.0])))
    assert label[0] == label[1]
    assert len({label[0], label[2], label[3]}) == 3
    assert not obstruction(causal, start, circle(np.array([0.5, 0.5, 1.0])), problem.controls)


def test_on_the_circle_full_attention_keeps_the_order():
    start = circle(np.array([-2.0, -0.5, 1.0, 2.2]))
    across = circle(np.array([-1.0, 1.0, -0.9, 1.1]))
    words = obstruction(FULL, start, across, CONTROLS)
    assert "cyclic order" in words
    assert not obstruction(FULL, start, circle(np.array([2.0, -2.5, -1.0, 0.5])), CONTROLS)  # turned round
    assert not obstruction(Model(dim=2), start, across, CONTROLS)  # causal: everyone has a field of his own
    problem = Problem(FULL, start, Reach(across), intervals=3)
    x = problem.simulated(problem.controls_of(2.0 * np.random.default_rng(3).standard_normal(problem.size)))
    turns = np.mod(np.diff(np.append(angle(x), angle(x)[0])), 2 * np.pi)
    assert turns.sum() == pytest.approx(2 * np.pi)


def test_uniform_attention_keeps_cross_ratios():
    uniform = Model(dim=2, mask="full", query=np.zeros((2, 2)), key=np.zeros((2, 2)))
    start, targets = circle(np.array([-2.0, -0.5, 1.0, 2.2])), circle(np.array([-1.7, -1.5, 1.1, 1.3]))
    problem = Problem(uniform, start, Reach(targets), controls=("value",), intervals=3)
    z = 2.0 * np.random.default_rng(0).standard_normal(problem.size)
    x = problem.simulated(problem.controls_of(z))
    assert np.abs(x - start).max() > 0.3
    assert obstructions.cross_ratio(x) == pytest.approx(obstructions.cross_ratio(start), rel=1e-8)
    assert "Moebius" in obstruction(uniform, start, targets, ("value",))
    assert reachable(problem, z)[:2] == (3, 4)
    assert not obstruction(FULL, start, targets, CONTROLS)
    assert reachable(Problem(FULL, start, Reach(targets), intervals=3), np.resize(z, 36))[:2] == (4, 4)


def test_other_obstructions():
    start = circle(np.array([0.0, 1.0]))
    words = obstruction(Model(dim=2), start, circle(np.array([0.5, 1.0])), ("query", "key"))
    assert "the first token never moves" in words
    mirrored = circle(np.array([0.0, 1.0, np.pi, 1.0 + np.pi]))
    assert "mirror image" in obstruction(FULL, mirrored, circle(np.array([0.0, 1.0, 2.0, 3.0])), CONTROLS)
    assert not obstruction(FULL, mirrored, circle(np.array([0.2, 1.0, 0.2 + np.pi, 1.0 + np.pi])), CONTROLS)
    problem = Problem(FULL, mirrored, Reach(mirrored), intervals=2)
    x = problem.simulated(problem.controls_of(np.random.default_rng(0).standard_normal(problem.size)))
    np.testing.assert_allclose(x[:2], -x[2:], atol=1e-9)


def test_problems_that_cannot_be():
    start = circle(np.array([0.0, 1.0]))
    for options, words in (
        ({"controls": ("values",)}, "unknown control 'values'.*Did you mean 'value'"),
        ({"rest": "identity"}, "unknown rest 'identity'.*zero, model"),
        ({"goal": Reach(start[:1])}, r"targets.shape = \(1, 2\) cannot be used.*One target for each token"),
        ({"start": start[None]}, "One run at a time"),
        ({"model": Model(dim=2, layer_norm="pre")}, "unit tokens that move by attention alone"),
    ):
        with pytest.raises(flock.errors.SpecError, match=words):
            Problem(**{"model": FULL, "start": start, "goal": Reach(start), **options})


def test_every_case_of_the_study_can_be_posed():
    for quick in (True, False):
        sizes = optimal_control.parameters(quick)
        for name, case in cases_of(sizes).items():
            problem = problem_of(case, sizes, 0)
            assert problem.size > 0, name
    start = problem_of({"same": True, "n_tokens": 4}, sizes, 0).start
    np.testing.assert_array_equal(start[1], start[2])


@pytest.mark.slow
def test_the_quick_study_is_sound():
    answer = run(optimal_control, quick=True)
    assert answer.sound, [control for control in answer.controls if not control.ok]
    assert "Existence is open" in answer.change
    table = answer.table("cases")
    assert (table["J"] < table["nothing"]).sum() >= len(table.rows) - 1
    assert len(answer.figure.axes) == 6


def test_controls_of_fewer_intervals_are_controls_of_more():
    s = {**optimal_control.sizes, "n_small": 2, "starts": 2, "rough": 3, "sharp": 2, "searches": 1, "finer": (1, 2, 4)}
    cases = optimal_control_starts.groups(s)["finer"]
    coarse, fine = (problem_of(cases[f"{k} intervals"], s, 0) for k in (1, 4))
    z = np.random.default_rng(0).standard_normal(coarse.size)
    u = coarse.controls_of(z)
    again = fine.controls_of(optimal_control_starts.refined(fine, u))
    assert coarse.measured(u) == pytest.approx(fine.measured(again), rel=1e-8)
    rows = optimal_control_starts._solved(np.random.default_rng(0), cases, True, problem_of, s, 0)
    costs = [row[1] for row in rows]
    assert costs[2] <= costs[1] * (1 + 1e-9) <= costs[0] * (1 + 2e-9)  # however poor the searches are


def test_searches_that_end_apart_are_told(monkeypatch):
    real, seeds = steering.solve, []

    def poor(problem, *, seed, **effort):  # every second search gives up at once
        seeds.append(seed)
        short = {**effort, "starts": 1, "rough": 0, "sharp": 0} if len(seeds) % 2 == 0 else effort
        return real(problem, seed=seed, **short)

    monkeypatch.setattr(steering, "solve", poor)
    s = {**optimal_control.sizes, "n_small": 2, "starts": 3, "rough": 30, "sharp": 10}
    cases = {"T = 1": optimal_control_starts.groups(s)["ends"]["T = 1"]}
    (row,) = optimal_control_starts._solved(np.random.default_rng(0), cases, False, problem_of, s, 0)
    assert len(set(seeds)) == 2
    assert row[2] > 1.5 * row[1]
