"""The claims of paper A: each gives its verdict, and each check fails when its hypothesis is broken."""

from fractions import Fraction

import numpy as np
import pytest

from tokenflock import Model, simulate, theory, velocity
from tokenflock.analysis import spectrum
from tokenflock.geometry import circle, distance
from tokenflock.papers import claims
from tokenflock.papers.claims.causal import atlas, centers, limits
from tokenflock.papers.claims.causal import counts as center_counts

EXPECTED = {
    "causal/lemma-3.1": "holds",
    "causal/theorem-4.1": "holds",
    "causal/conjecture-1": "counterexample",
    "causal/conjecture-2": "consistent",
    "causal/table-1": "consistent",
    "causal/lemma-5.1": "holds",
    "causal/theorem-5.2": "holds",
    "causal/lemma-5.3": "holds",
    "causal/lemma-a.1": "proved on the whole range of every part",
    "causal/window": "proved on 0 < eps < 0.1, c >= 5.5 + 2 eps",
    "causal/lemma-c.1": "agrees",
    "causal/renyi-count": "agrees",
    "causal/lemma-5.3-families": "holds",
    "causal/no-gradient": "holds",
    "causal/scalar-lemma": "holds",
}
# What is broken, and the first word of the verdict that must come out.
TWINS = [
    ("causal/lemma-3.1", {"exceptional": True}, "violated"),
    ("causal/lemma-3.1", {"least_rate": 1.5}, "violated"),
    ("causal/theorem-4.1", {"value": "minus-identity"}, "violated"),
    ("causal/theorem-4.1", {"mask": "full"}, "violated"),
    ("causal/conjecture-1", {"double": True, "cases": ("symmetric V, Q = K = I",)}, "counterexample"),
    ("causal/conjecture-2", {"printed": True}, "counterexample"),
    ("causal/conjecture-2", {"ratio": 1.5}, "counterexample"),
    ("causal/table-1", {"shift": -3.0}, "counterexample"),
    ("causal/table-1", {"shift": -1.5}, "counterexample"),  # V = -I/2: tokens move for ever
    ("causal/table-1", {"shift": 4.0}, "counterexample"),
    ("causal/lemma-5.1", {"separation": 0.1, "trials": 20}, "violated"),
    ("causal/theorem-5.2", {"crowd": 0.2, "trials": 6}, "violated"),
    ("causal/lemma-5.3", {"mask": "full"}, "violated"),
    ("causal/lemma-5.3", {"exceptional": True}, "violated"),
    ("causal/lemma-a.1", {"x_most": 7.0, "prove": False}, "violated"),
    ("causal/lemma-a.1", {"beta_least": 0.1, "prove": False}, "violated"),
    ("causal/window", {"stretch": 50.0, "prove": False}, "violated"),
    ("causal/lemma-c.1", {"formula": "printed", "trials": 300}, "disagrees"),
    ("causal/renyi-count", {"constant": 0.76}, "disagrees"),
    ("causal/lemma-5.3-families", {"exceptional": True, "trials": 1}, "violated"),
    ("causal/lemma-5.3-families", {"wrong": 2.0, "trials": 1}, "violated"),
    ("causal/scalar-lemma", {"bounded": False}, "violated"),
    ("causal/scalar-lemma", {"unit": False}, "violated"),
    ("causal/no-gradient", {"mask": "full"}, "violated"),
]
SMALL = {"causal/lemma-3.1": 3, "causal/conjecture-1": 10, "causal/lemma-c.1": 300, "causal/renyi-count": 6}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_claim_gives_its_verdict(name):
    verdict = claims.check(name, quick=True, trials=SMALL.get(name, 5), seed=1)
    assert verdict.word.startswith(EXPECTED[name])
    assert not verdict.alarming
    assert verdict.statement
    assert verdict.claim.rule
    assert verdict.claim.trial


@pytest.mark.parametrize(("name", "broken", "word"), TWINS, ids=[f"{n[7:]} {next(iter(b))}" for n, b, _ in TWINS])
def test_a_broken_hypothesis_is_noticed(name, broken, word):
    verdict = claims.check(name, quick=True, **{"trials": SMALL.get(name, 3), **broken})
    assert verdict.word == word
    assert verdict.failed


def test_every_claim_has_a_twin_and_is_expected():
    of_paper = {name for name in claims.NAMES if name.startswith("causal/") and "/next-" not in name}
    assert of_paper == set(EXPECTED) == {name for name, _, _ in TWINS}


# ---- Conjecture 1 fails as printed: by exact arithmetic, and by simulation


def test_the_counterexample_to_conjecture_1_is_exact():
    V = [[Fraction(1), Fraction(1)], [Fraction(0), Fraction(1, 2)]]  # triangular: eigenvalues 1 and 1/2
    x1, x2 = [Fraction(1), Fraction(0)], [Fraction(-4, 5), Fraction(-3, 5)]

    def times(v):
        return [sum(a * b for a, b in zip(row, v, strict=True)) for row in V]

    assert times(x1) == x1  # the leading eigenvector
    assert sum(c * c for c in x2) == 1
    pull = [(a + b) / 2 for a, b in zip(times(x1), times(x2), strict=True)]  # beta = 0: equal attention
    assert pull == [c / 4 for c in x2]  # parallel to x_2: at rest, and x_2 is neither xi nor -xi
    side1, side2 = [Fraction(0), Fraction(1)], [Fraction(3, 5), Fraction(-4, 5)]  # tangent vectors
    slope1 = sum(a * b for a, b in zip(side1, times(side1), strict=True)) - 1
    slope2 = sum(a * b for a, b in zip(side2, times(side2), strict=True)) / 2 - Fraction(1, 4)
    assert (slope1, slope2) == (Fraction(-1, 2), Fraction(-3, 20))  # both negative: stable


def test_the_counterexample_attracts_a_neighbourhood():
    V, rest = np.array([[1.0, 1.0], [0.0, 0.5]]), np.array([[1.0, 0.0], [-0.8, -0.6]])
    model = Model(dim=2, beta=0.0, value=V)
    assert np.abs(velocity(model, rest)).max() < 1e-15
    for push in ((0.1, 0.1), (-0.1, 0.1), (0.1, -0.1), (-0.2, -0.2)):
        start = circle(np.array([0.0, np.pi + np.arctan2(0.6, 0.8)]) + push)
        end = simulate(model, start, 300.0, times=[300.0])["x"].values[-1]
        assert distance(end, rest).max() < 1e-6


def test_the_second_counterexample_has_a_symmetric_value_matrix():
    model = Model(dim=2, beta=8.0, key=np.diag([-1.0, 1.0]), value=np.diag([1.0, 0.5]))
    start = circle(np.array([0.1, 2.0]))
    end = simulate(model, start, 300.0, times=[300.0])["x"].values[-1]
    assert distance(end[0], np.array([1.0, 0.0])) < 1e-6
    assert distance(end[1], np.array([1.0, 0.0])) == pytest.approx(2.02, abs=0.01)
    assert np.abs(velocity(model, end)).max() < 1e-9


# ---- what the experiments stand on


def test_the_time_of_arrival_is_that_of_a_run():
    model = Model(dim=3, beta=3.0)
    home, x = np.array([1.0, 0.0, 0.0]), np.array([[1.0, 0, 0], [1.0, 0, 0], [np.cos(2.5), np.sin(2.5), 0]])
    k, due = limits.arrival(model, x, home)
    assert k == 2
    times = due * np.array([0.999, 1.001])
    away = distance(simulate(model, x, times[-1], times=times, rtol=1e-10, atol=1e-14)["x"].values[:, 2], home)
    assert away[0] > limits.HERE > away[1]


def test_a_token_opposite_to_the_first_may_stand_for_ever():
    x = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert limits.arrival(Model(dim=2), x, x[0]) == (1, np.inf)


def test_distances_to_a_subspace():
    x = np.array([[1.0, 0, 0], [0, 1.0, 0], [np.cos(0.3), 0, np.sin(0.3)]])
    assert np.allclose(limits.to_subspace(x, np.eye(3)[:, :2]), [0, 0, 0.3])


def test_settle_tells_rest_from_metastable():
    start = circle(np.array([0.0, 3.0]))
    ok, worst, _ = atlas.settle(Model(dim=2, beta=1.0), start, start[:1], 1e4)
    assert ok
    assert worst < atlas.THERE
    ok, worst, _ = atlas.settle(Model(dim=2, beta=64.0), start, start[:1], 1e4)  # e^128 away from merging
    assert ok is None
    bent = Model(dim=2, beta=0.0, value=np.array([[1.0, 1.0], [0.0, 0.5]]))  # rests at (-4/5, -3/5), see above
    ok, worst, _ = atlas.settle(bent, circle(np.array([0.0, 3.8])), start[:1], 1e4)
    assert ok is False
    assert worst == pytest.approx(np.pi - np.arctan2(0.6, 0.8))


def test_the_jacobian_is_that_of_the_law():
    """Two tokens on the circle: phi_2' = h(phi_1 - phi_2) / Z."""
    beta, gap = 2.0, 0.7
    J = centers.jacobian(Model(dim=2, beta=beta), circle(np.array([0.0, gap])))
    weight = np.exp(beta * (np.cos(gap) - 1))
    step = 1e-6
    speed = [-np.sin(a) * (w := np.exp(beta * (np.cos(a) - 1))) / (1 + w) for a in (gap + step, gap - step)]
    slope = (speed[0] - speed[1]) / (2 * step)
    assert np.allclose(J, [[0, 0], [-slope, slope]], atol=1e-8)
    assert 0 < weight < 1


def test_conditions_of_theorem_5_2_at_the_papers_example():
    """A.6: at eps = 0.1, c = 6.5, beta = 14 condition (1) holds up to N = 3762."""
    assert centers.conditions(3762, 6.5, 0.1, 14.0)
    assert not centers.conditions(3764, 6.5, 0.1, 14.0)


def test_parked_cars_are_apart_and_leave_no_gap():
    counts = [center_counts.park(np.random.default_rng(k), 10.0) for k in range(200)]
    assert min(counts) >= 5
    assert max(counts) <= 10
    slow = [_park_slowly(np.random.default_rng(k), 10.0) for k in range(200)]
    error = np.hypot(np.std(counts), np.std(slow)) / np.sqrt(200)
    assert abs(np.mean(counts) - np.mean(slow)) < 4 * error


def _park_slowly(generator, length):
    """Try places until no gap of 1 is left."""
    left = [0.0]
    while True:
        edges = np.sort(left)
        gaps = np.diff(np.append(edges, length + edges[0])) - 1
        if gaps.max() < 1:
            return len(left)
        place = generator.uniform(0, length)
        apart = np.abs(edges - place)
        if np.minimum(apart, length - apart).min() >= 1:
            left.append(place)


def test_the_concentrated_law_becomes_the_uniform_one():
    for dim in (2, 3, 4):
        law = center_counts.concentrated(1e-9, dim, 0.5, 200)
        assert law == pytest.approx(float(theory.strong_center_count(0.5, dim, 200)), rel=1e-6)


def test_the_search_of_conjecture_1_keeps_its_hypotheses():
    for skew in (1.0, 1000.0):
        V = atlas._sheared(np.random.default_rng(0), np.diag([1.0, 0.6, 0.2]), skew)
        assert np.sort(np.linalg.eigvals(V).real) == pytest.approx([0.2, 0.6, 1.0], abs=1e-8 * skew)
        assert spectrum.classify(V).fails == ()


def test_a_run_that_moves_for_ever_refutes():
    """V = I - 1.5 I = -I/2: the place that the first token allows repels all others, wherever they are on their way."""
    verdict = claims.check("causal/table-1", quick=True, trials=3, shift=-1.5)
    first = next(f for f in verdict.findings if f.case == "lambda_max > 0, multiplicity d")
    assert len(first.failed) == first.trials == 3


def test_places_bar_a_token_if_all_of_them_repel_it():
    places = np.array([[1.0, 0.0], [-1.0, 0.0]])
    x = np.array([[1.0, 0.0], [0.6, 0.8]])
    assert not limits.barred(Model(dim=2, value=np.diag([1.0, 0.5])), x, 1, places)
    assert limits.barred(Model(dim=2, value=np.diag([0.5, 1.0])), x, 0, places), "saddles of V"
    assert limits.barred(Model(dim=2, value=np.array([[0.0, -1.0], [1.0, 0.0]])), x, 0, places), "no rest"


@pytest.mark.slow
def test_nothing_of_conjecture_2_is_undecided():
    verdict = claims.check("causal/conjecture-2", quick=True)
    assert (verdict.trials, verdict.undecided) == (40, 0)
