"""The claims of paper B: each gives its verdict, fails when its hypothesis is broken, and meets the oracles."""

import numpy as np
import pytest

from tokenflock import Model, simulate, weights
from tokenflock.analysis import attention, polytope, triple
from tokenflock.errors import SpecError
from tokenflock.model import velocity
from tokenflock.papers import claims
from tokenflock.papers.claims.emergence import boolean, heads, hyperplanes, runs, shrinking

EXPECTED = {
    "emergence/theorem-2.1": "holds",
    "emergence/theorem-3.1": "holds",
    "emergence/theorem-4.2": "holds",
    "emergence/codimension": "counterexample",  # V = I: see its `known`
    "emergence/theorem-5.2": "holds",
    "emergence/negative-identity": "holds",
    "emergence/discrete-time": "holds",
    "emergence/generic-qk": "consistent",
    "emergence/feedforward": "consistent",
    "emergence/multihead": "consistent",
    "emergence/heads-levels": "consistent",
    "emergence/robustness": "consistent",
    "emergence/diversity": "holds",
    "emergence/heads-polytope": "counterexample",  # heads with different leaders: see its `known`
    "emergence/boolean": "consistent",
}
# What is broken, and in which case it must be seen.
TWINS = [
    ("emergence/theorem-2.1", {"value": -1.0, "trials": 2}, "distance to PP, both signs"),
    ("emergence/theorem-2.1", {"distinct": False, "trials": 2}, "distance to PP, wide"),
    ("emergence/theorem-3.1", {"value": "minus-identity", "trials": 2}, "hulls shrink, d = 2"),
    ("emergence/theorem-3.1", {"mask": "causal", "trials": 2}, "limit set, d = 3"),
    ("emergence/theorem-4.2", {"value": np.eye(2), "trials": 3}, "levels, given triple"),
    ("emergence/codimension", {"cases": ("V = I, four corners",), "trials": 1}, "V = I, four corners"),
    ("emergence/theorem-5.2", {"value": [[1.0, 1.0], [0.0, 1.0]], "trials": 2}, "hulls shrink, given triple"),
    ("emergence/theorem-5.2", {"mask": "causal", "trials": 3}, "limit set, V = diag(1, 1, -1/2)"),
    ("emergence/negative-identity", {"form": -1.0, "trials": 1}, "2t C -> I"),
    ("emergence/negative-identity", {"value": 0.01, "trials": 1, "t_end": 300.0}, "|x_i| -> 0"),
    ("emergence/discrete-time", {"slow": (1.9,), "steps": (), "trials": 2}, "V = -I, dt = 1.9"),
    ("emergence/discrete-time", {"value": -1.0, "slow": (), "steps": (0.5,), "trials": 2}, "theorem 3.1, dt = 0.5"),
    ("emergence/generic-qk", {"value": -1.0, "trials": 3, "t_end": 6.0}, "V = I, d = 2, negative"),
    ("emergence/feedforward", {"form": "rescaled", "trials": 2}, "tanh, W = I"),
    ("emergence/multihead", {"value": -1.0, "heads": (2,), "trials": 3}, "z, d = 1, Q_h'K_h > 0, 2 heads"),
    ("emergence/robustness", {"multiplicity": 2, "trials": 8}, "weights, levels"),
    ("emergence/robustness", {"sign": -1.0, "trials": 2}, "noise, levels"),
    ("emergence/diversity", {"mask": "causal", "counts": (), "trials": 2}, "the order on the line"),
    ("emergence/diversity", {"mask": "causal", "counts": (), "trials": 2}, "equal tokens"),
    ("emergence/diversity", {"identity": True, "counts": (32,), "trials": 2}, "values of 32 tokens"),
    ("emergence/heads-levels", {"multiplicity": 2, "plain": True, "heads": (2,), "trials": 4}, "levels, 2 heads"),
    ("emergence/heads-levels", {"least": -0.3, "heads": (4,), "trials": 6}, "monotone, 4 heads"),
    ("emergence/heads-polytope", {"least": -0.5, "heads": (2,), "trials": 3}, "hulls shrink, 2 heads, own Q_h'K_h"),
    ("emergence/boolean", {"distinct": False, "trials": 3}, "V = I, d = 4"),
]


@pytest.mark.parametrize("name", EXPECTED)
def test_every_claim_gives_its_verdict(name):
    verdict = claims.check(name, quick=True, seed=1)
    assert verdict.word == EXPECTED[name], verdict.failed
    assert not verdict.alarming
    decided = verdict.trials - verdict.undecided
    slow = name in ("emergence/codimension", "emergence/heads-polytope")
    assert decided > (0.6 if slow else 0.9) * verdict.trials
    figure = verdict.figure
    figure.draw_without_rendering()
    assert all(ax.get_xlabel() for ax in figure.axes)


@pytest.mark.parametrize(("name", "broken", "case"), TWINS, ids=[f"{n} {next(iter(b))}" for n, b, _ in TWINS])
def test_a_broken_hypothesis_is_noticed(name, broken, case):
    verdict = claims.check(name, quick=True, **broken)
    assert verdict.holds is False
    assert next(f for f in verdict.findings if f.case == case).holds is False


def test_every_claim_has_a_twin_and_is_expected():
    ours = {name for name in claims.NAMES if name.startswith("emergence/")}
    assert ours == set(EXPECTED) == {name for name, _, _ in TWINS}


def test_the_conjecture_fails_for_the_known_reason_only():
    good = tuple(f"k = {k}, good" for k in (1, 2, 3, 4))
    assert claims.check("emergence/codimension", quick=True, trials=2, cases=good).word == "consistent"


def test_the_polytope_of_several_heads_is_lost_for_the_known_reason_only():
    one = claims.check("emergence/heads-polytope", quick=True, trials=3, heads=(2,), forms=("one",))
    assert one.word == "consistent"


def test_the_middle_of_a_segment_is_a_rest_of_two_heads():
    """Exactly where attention is hard: both ways of the middle token cancel, and its leaders have the larger logits."""
    p, q = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    z = (p + q) / 2
    for form, leader, other in ((np.diag([2.0, 1.0]), p, q), (np.diag([1.0, 2.0]), q, p)):
        assert z @ form @ leader > z @ form @ other
        assert p @ form @ p > p @ form @ q
        assert q @ form @ q > q @ form @ p
    assert np.array_equal((p - z) / 2 + (q - z) / 2, np.zeros(2))


def test_a_run_in_stages_is_the_run():
    V = np.stack([np.diag([0.6, 0.2]), np.diag([0.4, -0.5])])
    key = np.stack([np.diag([1.0, 0.3]), np.diag([0.5, 0.8])])
    model, start = runs.rescaled(2, key=key, value=V), np.random.default_rng(3).uniform(-1, 1, (5, 2))
    whole = runs.follow(model, start, np.arange(0, 3.01, 0.25), rtol=1e-9, atol=1e-10)
    assert np.abs(heads.follow_on(model, start, 3, 1e-9) - whole).max() < 1e-7


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("emergence/theorem-4.2", {"value": np.eye(2)}, "lambda_1 = 1 is not simple"),
        ("emergence/theorem-4.2", {"value": np.diag([1.0, 0.5]), "query": -np.eye(2)}, "phi_1> = -1 is not positive"),
        ("emergence/theorem-4.2", {"value": np.diag([1.0, -1.5])}, "lambda_1 = -1.5 is not positive"),
        ("emergence/theorem-5.2", {"value": np.diag([1.0, -1.0])}, "the eigenvalue -1 has modulus 1"),
        ("emergence/theorem-5.2", {"value": [[1.0, 1.0], [0.0, 1.0]]}, "a Jordan block"),
        ("emergence/theorem-5.2", {"value": np.eye(2), "key": np.diag([1.0, -1.0])}, "not positive definite"),
    ],
)
def test_a_triple_that_is_not_good_is_named(name, given, sentence):
    notes = " ".join(f.note for f in claims.check(name, quick=True, trials=1, **given).findings)
    assert "Not a good triple" in notes
    assert sentence in notes


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("emergence/theorem-3.1", {"value": "minus"}, "unknown value"),
        ("emergence/feedforward", {"form": "token"}, "unknown form"),
        ("emergence/codimension", {"cases": ("k = 9",)}, "cases = 'k = 9' cannot be used"),
        ("emergence/theorem-4.2", {"value": weights.plane_rotation(1.0)}, "is not real"),
        ("emergence/theorem-5.2", {"value": weights.plane_rotation(1.0)}, "is not real"),
    ],
)
def test_what_no_claim_knows_is_refused(name, change, words):
    with pytest.raises(SpecError, match=words):
        claims.check(name, quick=True, trials=1, **change)


def test_a_single_trial_can_be_repeated():
    whole = claims.check("emergence/theorem-3.1", quick=True, trials=2)
    for finding in (whole.findings[1], whole.findings[2]):
        alone = claims.check("emergence/theorem-3.1", quick=True, trial=f"{finding.case}#1")
        assert alone.findings[0].values == finding.values[1:]


# ---- the oracles of B.2 to B.7


def test_rows_become_boolean_at_the_pace_of_the_specification():
    x = np.random.default_rng(0).uniform(-1, 1, (12, 1))
    model = runs.rescaled(1)
    z = runs.follow(model, x, [3.0, 5.0, 7.0], rtol=1e-9, atol=1e-12)
    P = [attention.matrix(model, frame, t) for frame, t in zip(z, (3.0, 5.0, 7.0), strict=True)]
    # The distance is that of the largest entry.
    rows = [max(min(np.abs(row - e).max() for e in np.eye(12)) for row in p) for p in P]
    assert rows == pytest.approx([0.44, 1.2e-2, 6e-15], rel=0.1)
    assert set(attention.leaders(P[-1]).columns) == {int(x.argmin()), int(x.argmax())}


def test_off_rows_is_its_definition():
    P = np.random.default_rng(0).dirichlet(np.ones(5), 7)
    assert runs.off_rows(P) == pytest.approx(1 - P.max(axis=1), abs=1e-15)
    assert runs.off_rows(np.array([[1.0, 1e-200, 1e-210]])) == pytest.approx([1e-200])


def test_the_example_of_rank_three_by_small_steps():
    """Euler steps of the three tokens against the scalar equation."""
    u, x, h = boolean.three(0.7, np.linspace(0, 1, 11))[-1], np.array([[-0.7], [0.0], [0.7]]), 1e-4
    for _ in range(10_000):
        s = np.exp(x @ x.T)
        x = x + h * s @ x / s.sum(axis=1, keepdims=True)
    assert x[2, 0] == pytest.approx(u, rel=1e-4)
    assert abs(x[1, 0]) < 1e-15


def test_two_tokens_in_the_plane_never_meet_and_attend_to_themselves():
    from scipy.integrate import solve_ivp

    ok, c, _ = boolean.pathology(0.5)
    done = solve_ivp(lambda t, s: s * np.tanh(s**2), (0, 12), [0.5], rtol=1e-11, atol=1e-13)
    assert ok
    assert c == pytest.approx(done.y[0, -1] * np.exp(-12), rel=1e-6)
    # c / e^{-1/(2 eps^2)} tends to a constant: one cluster to the eye, and two for ever.
    ratios = [boolean.pathology(eps, 200.0)[1] / np.exp(-1 / (2 * eps**2)) for eps in (0.25, 0.2)]
    assert ratios[0] == pytest.approx(ratios[1], rel=0.02)


def test_the_limit_set_of_twenty_tokens():
    x = np.random.default_rng(0).uniform(-5, 5, (20, 2))
    z = runs.follow(runs.rescaled(2), x, [12.0])[-1]
    corners = polytope.hull(z, 1e-3).vertices
    assert polytope.residual(z, None, corners).max() < 5e-4
    assert len(corners) < 8
    assert polytope.residual(x, None, polytope.vertices(x)).max() > 1.0  # the start is not there


def test_shrinks_sees_a_token_that_leaves():
    square = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    assert runs.shrinks(np.stack([square, 0.9 * square])) < 1e-8
    assert runs.shrinks(np.stack([square, square + np.array([0.1, 0.0])])) == pytest.approx(0.1 / np.sqrt(2))


def test_matrix_a_gives_two_levels_with_both_signs():
    V = weights.PAPER_B["hyperplanes-3d-a"]
    x = np.random.default_rng(0).uniform(-5, 5, (20, 3))
    times = np.linspace(0, 9, 46)
    z = runs.follow(runs.rescaled(3, value=V), x, times)
    found = polytope.levels(z[-1], V)
    assert found.kind == "generic"
    assert found.count == 2
    assert found.at[0] < 0 < found.at[1]
    level = z @ triple.good(None, None, V).phi_1_star
    assert hyperplanes.backwards(level) < 1e-6
    assert hyperplanes.backwards(level[::-1]) > 1e-4


def test_both_signs_at_the_start_may_give_one_level():
    """The smallest example: near 0 all attend to all, and both tokens go where the mean is."""
    z = runs.follow(runs.rescaled(1), np.array([[-0.1], [0.2]]), [14.0])[-1]
    assert (z > 0).all()


def test_all_tokens_may_end_at_level_zero_from_an_open_set_of_starts():
    """A good triple whose Q'K is not positive definite: the level 0 is no exception."""
    form, V = np.array([[1.0, -2.0], [-2.0, 2.5]]), np.diag([1.0, 0.4])
    assert triple.good(None, form, V).holds
    generator = np.random.default_rng(0)
    for size in (0.0, 0.05, 0.05, 0.05):
        x = np.array([[-1.3, -3.9], [1.3, 4.3]]) + size * generator.standard_normal((2, 2))
        z = runs.follow(runs.rescaled(2, key=form, value=V), x, [8.0, 12.0])[:, :, 0]
        assert np.abs(z[1]).max() < 1e-4
        assert np.abs(z[0] / z[1]) == pytest.approx(np.exp(4.0), rel=0.1)  # x_1 is bounded


def test_other_coordinates_give_the_same_run():
    """S^-1 z for V, Q, K of the basis of F and G, against the run in the given basis."""
    generator = np.random.default_rng(3)
    V = weights.spectrum([1.0, 0.4, -0.3], seed=5)
    Q, K = generator.uniform(-1, 1, (2, 3, 3))
    judged = triple.good(Q, K, V)
    S, inverse = runs.coordinates(judged)
    x = generator.uniform(-2, 2, (6, 3))
    model, plain = runs.in_coordinates(Q, K, V, judged), runs.rescaled(3, query=Q, key=K, value=V)
    assert velocity(model, x @ inverse.T, 0.7) @ S.T == pytest.approx(velocity(plain, x, 0.7), abs=1e-11)
    assert (x @ inverse.T)[:, 0] == pytest.approx(x @ judged.phi_1_star)


def test_an_end_for_good_is_told_from_a_run_under_way():
    model = runs.rescaled(2)
    corners = 4 * np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    assert runs.ending(model, corners, 3.0) == (True, 4, 4)
    early = runs.ending(model, np.random.default_rng(0).uniform(-0.1, 0.1, (6, 2)), 0.0)
    assert not early.settled


def test_the_covariance_of_minus_identity():
    """2t C tends to I, on the span of the deviations where there are few tokens; |x| falls like t^(-1/2)."""
    for n, d in ((20, 2), (4, 6)):
        model = Model(dim=d, space="euclidean", mask="full", value=-np.eye(d))
        x = np.random.default_rng(1).uniform(-1, 1, (n, d))
        run = runs.follow(model, x, [1e3, 1e4])
        found = 2e4 * shrinking.covariance(run[-1])
        assert found.shape == (min(n - 1, d),)
        assert found == pytest.approx(np.ones(min(n - 1, d)), abs=2e-3)
        sizes = np.linalg.norm(run, axis=-1).max(axis=1)
        assert sizes[0] / sizes[1] == pytest.approx(np.sqrt(10), rel=0.02)


def test_rescaled_layers_are_layers():
    """R^k z of (E13) against x <- x + dt sum_j P_ij V x_j written out, at a large step."""
    dt, V = 3.0, np.diag([1.0, 1.0, -0.45])
    x = start = np.random.default_rng(2).uniform(-1, 1, (5, 3))
    z = simulate(runs.rescaled(3, value=V), start, 9.0, times=[9.0], scheme="layers", dt=dt, progress=False)
    for _ in range(3):
        s = np.exp(x @ x.T - (x @ x.T).max(axis=1, keepdims=True))
        x = x + dt * (s / s.sum(axis=1, keepdims=True)) @ x @ V.T
    R = np.linalg.matrix_power(np.eye(3) + dt * V, 3)
    assert z["x"].values[-1] @ R.T == pytest.approx(x, rel=1e-11)


def test_a_run_is_decided_where_it_rests_or_parts_and_nowhere_else():
    model = runs.rescaled(1)
    line = np.linspace(-0.1, 0.1, 6)[:, None]  # near 0 attention is soft: nothing is Boolean for good
    assert runs.gathered(model, line, line, 0.1) == 6
    assert runs.gathered(model, line, 2 * line, 0.1) == 6
    assert runs.gathered(model, 2 * line, line, 0.1) is None


def test_tokens_that_are_equal_from_the_start_have_no_boolean_limit():
    x = np.random.default_rng(0).uniform(-1, 1, (6, 2))
    x[3:] = x[:3]
    assert boolean.limit(runs.rescaled(2), x, 10.0)[0] is False
    x[3:] += 0.1 * np.random.default_rng(9).uniform(-1, 1, (3, 2))
    ok, leaders = boolean.limit(runs.rescaled(2), x, 10.0)
    assert (ok, leaders <= 6) == (True, True)
    assert boolean.limit(runs.rescaled(2), x, 0.1)[0] is None
