"""Proofs by ball arithmetic: that they succeed where the claim is true, fail where it is false, and that they can fail.

Every claim is written out once more in 50-digit arithmetic, in its original form and with no reduction: the oracle for
random points of its range and for every counterexample.
"""

import math
import random
import re
import sys

import mpmath
import pytest
from mpmath import mpf

from tokenflock.errors import MissingExtra, SpecError, install_command

flint = pytest.importorskip("flint")

from tokenflock.papers.claims.causal import (  # noqa: E402
    balls,
    proofs,
)

SAMPLES = 400


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(50):
        yield


def h(x, beta):
    return mpmath.exp(beta * (mpmath.cos(x) - 1)) * mpmath.sin(x)


def g(x, beta):
    return mpmath.exp(beta * (mpmath.cos(x) - 1)) * (mpmath.cos(x) - beta * mpmath.sin(x) ** 2)


def tau(beta):
    return mpmath.acos((-1 + mpmath.sqrt(4 * beta**2 + 1)) / (2 * beta))


def gauss(x, beta, fourth=0):
    return mpmath.exp(-beta * x**2 / 2 + fourth * beta * x**4 / 24)


# The bounds of Lemma A.1: each must be positive.
CLAIMS = {
    "h_below": lambda x, beta: h(x, beta) - gauss(x, beta) * (x - x**3 / 6),
    "h_above": lambda x, beta: gauss(x, beta, 1) * x - h(x, beta),
    "g_near": lambda x, beta: g(x, beta) - gauss(x, beta) * (1 - x**2 / 2 - beta * x**2),
    "g_below": lambda x, beta: g(x, beta) + gauss(x, beta, 1) * beta * x**2,
}
RANGES = {
    "h_below": lambda beta: mpmath.pi,
    "h_above": lambda beta: mpf(30),
    "g_near": tau,
    "g_below": lambda beta: mpf(30),
}


def allowed(eps, c, beta, N, eps_below=math.inf, c_from=-math.inf):
    """The hypotheses of the window lemma."""
    a = c - 1 - 2 * eps
    return (
        0 < eps < eps_below
        and c >= c_from + 2 * eps
        and beta >= a**2 / 2
        and 1 <= N < eps / (c - 1) * mpmath.exp(3 * a**2 / 8)
    )


def conditions(eps, c, beta, N):
    """(1), (2) of Theorem 5.2 and the signs behind the minus: each must be positive."""
    t = 1 / mpmath.sqrt(beta)
    near, far = g(eps * t, beta), g((c - 2 * eps) * t, beta)
    return h(eps * t, beta) - N * h((c - 1 - 2 * eps) * t, beta), near + N * far, min(near, -far)


def exactly(point):
    return {name: mpf(value) for name, value in point.items()}


# ---- the prover


def test_a_positive_function_is_proved_on_the_whole_box():
    found = balls.positive(lambda x, y: x**2 - x * y + y**2 + 0.01, [(-1, 1), (-1, 2)])
    assert found.proved
    assert found.boxes > 1
    assert found.negative is found.undecided is None


def test_a_function_with_a_negative_value_is_refuted_at_a_point():
    found = balls.positive(lambda x: x**2 - 0.5, [(-2, 2)])
    assert not found.proved
    assert found.negative[0] ** 2 < 0.5


def test_a_dip_that_any_sampling_would_miss_is_not_missed():
    found = balls.positive(lambda x: (x - flint.fmpq(1, 3)) ** 2 - 1e-14, [(0, 1)])
    assert not found.proved
    assert abs((found.negative or found.undecided[0])[0] - 1 / 3) < 1e-6


def test_a_zero_is_left_undecided_and_shown():
    found = balls.positive(lambda x, y: x**2 + (y - flint.fmpq(1, 3)) ** 2, [(0, 1), (0, 1)], max_boxes=300)
    assert (found.proved, found.boxes, found.negative) == (False, 300, None)
    for corner in zip(*found.undecided, strict=True):
        assert corner == pytest.approx((0, 1 / 3), abs=1e-3)


def test_a_point_is_a_box_that_cannot_be_cut():
    assert balls.positive(lambda x: x.sin(), [(1.0, 1.0)]).proved
    assert balls.positive(lambda x: x.sin(), [(0.0, 0.0)]) == balls.Search(False, 1, undecided=((0.0, 0.0),))
    # Two neighbours with a zero between them: nothing is left to cut.
    low, high = 1.0, math.nextafter(1.0, 2)
    assert balls.positive(lambda x: (x - low) * (x - high) ** 2, [(low, high)]).undecided == ((low, high),)


def test_what_is_not_a_number_is_never_positive():
    assert not balls.positive(lambda x: 1 / x, [(-1, 1)], max_boxes=100).proved
    assert not balls.positive(lambda x: x.log() + 100, [(0, 1)], max_boxes=100).proved


def test_the_pieces_cover_the_box():
    kept = []

    def watched(x, y):
        value = x**2 + y**2 - x * y + 0.001
        if value > 0 and x.rad() > 0:
            kept.append((x, y))
        return value

    assert balls.positive(watched, [(-1, 2), (-1, 1)]).proved
    rng = random.Random(0)
    for _ in range(SAMPLES):
        x, y = rng.uniform(-1, 2), rng.uniform(-1, 1)
        assert any(x in a and y in b for a, b in kept)
    for corner in [(-1, -1), (-1, 1), (2, -1), (2, 1)]:
        assert any(corner[0] in a and corner[1] in b for a, b in kept)


@pytest.mark.parametrize("box", [[], [(1.0, 0.0)], [(0.0, math.inf)], [(math.nan, 1.0)]])
def test_a_box_must_be_finite(box):
    with pytest.raises(SpecError, match=r"box = .* cannot be used\. Allowed: finite .* Bring an infinite range"):
        balls.positive(lambda x: x, box)


def test_at_least_one_box():
    with pytest.raises(SpecError, match="max_boxes = 0 cannot be used"):
        balls.positive(lambda x: x, [(0, 1)], max_boxes=0)


def test_a_broken_argument_is_not_a_counterexample():
    true_claim = balls.Doubt(lambda x: x + 1, [(0, 1)], balls.named(lambda x: x + 1, "x"))
    broken = [(lambda x: x - 0.5, [(0, 1)])]
    assert balls.decide("x + 1 > 0", "0 <= x <= 1", [], true_claim).proved
    for doubt in (None, true_claim):
        proof = balls.decide("x + 1 > 0", "0 <= x <= 1", broken, doubt)
        assert (proof.proved, proof.counterexample) == (False, None)
    # The last fact counts as much as the first.
    assert not balls.decide("", "", [(lambda x: x + 1, [(0, 1)]), *broken]).proved


def test_without_the_library_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    how = re.escape(install_command("proofs"))
    for prove in (proofs.lemma_a_1, proofs.window):
        with pytest.raises(MissingExtra, match=f"A rigorous proof needs python-flint. Install it with: {how}"):
            prove()


# ---- enclosures


def slow_tail(x, n):
    return mpmath.nsum(lambda k: (-1) ** int(k) * mpf(x) ** (2 * int(k)) / mpmath.factorial(n + 2 * int(k)), [0, 60])


def holds(ball, value):
    """Does the ball contain this number, given to 50 digits?"""
    with flint.ctx.workprec(200):
        return ball.overlaps(flint.arb(mpmath.nstr(value, 45), 1e-40))


@pytest.mark.parametrize("n", range(7))
@pytest.mark.parametrize("x", [0.0, 1e-12, 0.3, 1.0, math.pi, 4.0])
def test_a_tail_is_its_series(n, x):
    with flint.ctx.workprec(balls.BITS):
        value = balls.tail(flint.arb(x), n)
    assert holds(value, slow_tail(x, n))
    assert value.rad() < 1e-20


@pytest.mark.parametrize("terms", [1, 3, 20])
def test_a_short_series_is_wider_but_not_wrong(monkeypatch, terms):
    monkeypatch.setattr(balls, "TERMS", terms)
    for x in (0.5, 2.0, 4.0):
        for n in range(7):
            assert holds(balls.tail(flint.arb(x), n), slow_tail(x, n))


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.5), (0.7, 1.0), (3.0, 3.3)])
def test_a_ball_of_values_holds_every_value(low, high):
    x = balls.ball(low, high)
    assert low in x
    assert high in x
    curve = balls.centred(lambda x: (x.sin() * 3).exp() - x * x)
    rng = random.Random(1)
    for point in [low, high, *(rng.uniform(low, high) for _ in range(50))]:
        p = mpf(point)
        assert holds(balls.tail(x, 3), slow_tail(point, 3))
        assert holds(curve(x), mpmath.exp(3 * mpmath.sin(p)) - p * p)
        if point:
            assert holds(balls.square_gap(x), (p**2 - mpmath.sin(p) ** 2) / p**4)


def test_the_mean_value_form_is_of_second_order():
    function = lambda x: (x.sin() * 3).exp() - x * x  # noqa: E731
    wide, narrow = balls.ball(0.9, 1.1), balls.ball(0.99, 1.01)
    extra = [
        # what the enclosure adds to the true range, which is monotone here
        float(2 * balls.centred(function)(x).rad() - abs(function(x.lower()) - function(x.upper())).mid())
        for x in (wide, narrow)
    ]
    assert 0 < extra[1] < extra[0] / 50


@pytest.mark.parametrize(("x", "beta"), [(0.4, 3.0), (2.0, 0.1), (1e-3, 900.0)])
def test_the_interaction_function_in_balls(x, beta):
    with flint.ctx.workprec(balls.BITS):
        X, B = flint.arb(x), flint.arb(beta)
        assert holds(balls.h(X, B), h(mpf(x), mpf(beta)))
        assert holds(balls.g(X, B), g(mpf(x), mpf(beta)))
        assert holds(balls.tau(B), tau(mpf(beta)))
    assert abs(g(tau(mpf(beta)), mpf(beta))) < 1e-45


# ---- Lemma A.1


@pytest.mark.parametrize("number", range(9))
def test_every_item_of_lemma_a_1_is_proved(number):
    proof = proofs.lemma_a_1()[number]
    assert proof.proved, proof
    assert proof.counterexample is None
    assert (proof.boxes == 0) == (number == 0)  # only parity is algebra


@pytest.mark.parametrize("name", CLAIMS)
def test_the_bounds_hold_at_random_points_of_their_range(name):
    rng = random.Random(name)
    for _ in range(SAMPLES):
        beta = mpf(10 ** rng.uniform(0 if name == "g_below" else -2, 3))
        x = RANGES[name](beta) * mpf(rng.random() or 1)
        assert CLAIMS[name](x, beta) > 0, (x, beta)


def test_the_peak_lies_where_it_is_said_to():
    rng = random.Random(3)
    for _ in range(SAMPLES):
        beta = mpf(10 ** rng.uniform(-3, 4))
        top = tau(beta)
        assert (beta + 0.5) ** -0.5 < top < beta**-0.5
        assert g(top * mpf(rng.random()), beta) > 0 > g(top + (mpmath.pi - top) * mpf(rng.random()), beta)


@pytest.mark.parametrize(
    ("name", "box"),
    [("h_below", [(1, 2), (1, 3)]), ("h_above", [(1, 2), (1, 4)]), ("g_below", [(1, 2), (0.5, 4)])],
)
def test_the_bounds_hold_on_a_part_of_their_range_without_any_reduction(name, box):
    """The same claims from their definitions, in two variables: no step of the arguments is used."""
    margins = {
        "h_below": lambda b, x: balls.h(x, b) - (-b * x**2 / 2).exp() * (x - x**3 / 6),
        "h_above": lambda b, x: (-b * x**2 / 2 + b * x**4 / 24).exp() * x - balls.h(x, b),
        "g_below": lambda b, x: balls.g(x, b) + (-b * x**2 / 2 + b * x**4 / 24).exp() * b * x**2,
    }
    # Their sizes differ by many powers of ten over the box; the sign is what matters.
    scaled = lambda b, x: margins[name](b, x) * (b * x**2 / 2).exp()  # noqa: E731
    assert balls.positive(scaled, box, max_boxes=50_000).proved


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("h_below", {"half_turns": 2.0}),  # as printed: all x > 0
        ("h_below", {"half_turns": 1.01}),
        ("g_below", {"beta_from": 0.1}),  # as printed: all beta > 0
        ("g_below", {"beta_from": 0.137}),
        ("g_near", {"reach": 4.0}),
    ],
)
def test_a_range_that_is_too_long_is_refuted(name, changes):
    proof = getattr(proofs, name)(**changes)
    assert not proof.proved
    point = exactly(proof.counterexample)
    assert CLAIMS[name](**point) < 0
    x, beta = point["x"], point["beta"]
    assert 0 < x <= changes.get("half_turns", mpf(100)) * mpmath.pi
    assert beta >= changes.get("beta_from", 0)
    assert x <= changes.get("reach", mpf(100)) * tau(beta)


def test_the_bound_fails_at_beta_one_tenth_itself():
    found = balls.positive(lambda x: proofs._g_margin(flint.arb("0.1"), x), [(0, 4)])
    assert CLAIMS["g_below"](mpf(found.negative[0]), mpf("0.1")) < 0


def test_between_the_argument_and_the_threshold_it_is_unproved_but_not_refuted():
    proof = proofs.g_below(beta_from=0.139)
    assert (proof.proved, proof.counterexample) == (False, None)
    assert proofs.g_below(beta_from=0.141).proved


@pytest.mark.parametrize("width", [1e-3, 2.0**-30, 2.0**-40])
def test_the_threshold_of_beta_is_enclosed(width):
    proof = proofs.g_threshold(width)
    low, high = map(float, re.search(r", (\S+) < beta_0 < (\S+)$", proof.statement).groups())
    assert proof.proved
    assert 0 < high - low <= width

    def margin(beta, x):
        D = 1 - x**2 / 2 + x**4 / 24 - mpmath.cos(x)
        return beta * x**2 + mpmath.exp(-beta * D) * (mpmath.cos(x) - beta * mpmath.sin(x) ** 2)

    # At the threshold the smallest value over x is 0: a double root.
    double = mpmath.findroot(lambda b, x: (margin(b, x), mpmath.diff(lambda y: margin(b, y), x)), (0.1375, 2.2))
    assert low < double[0] < high


# ---- the window lemma

TRUE_WINDOWS = [(0.1, 5.5), (0.1, 4.0), (0.1, 2.0), (0.85, 5.5)]


def windows(rng, eps_below, c_from, trials):
    """Random parameters that meet the hypotheses, N often close to its bound."""
    while trials:
        eps = mpf(eps_below) * mpf(1 - rng.random() ** 2)
        a = mpf(c_from) - 1 + mpf(rng.expovariate(1.0))
        beta = a**2 / 2 * mpf(10 ** rng.choice([0, rng.uniform(0, 3)]))
        top = eps / (a + 2 * eps) * mpmath.exp(3 * a**2 / 8)
        N = top * mpf(rng.choice([1 - 1e-9, rng.random()]))
        if allowed(eps, a + 1 + 2 * eps, beta, N):
            trials -= 1
            yield eps, a + 1 + 2 * eps, beta, N


@pytest.mark.parametrize(("eps_below", "c_from"), TRUE_WINDOWS)
def test_the_window_is_proved(eps_below, c_from):
    for proof in proofs.window(eps_below, c_from):
        assert proof.proved, proof
        assert proof.boxes > 0
        assert f"eps < {eps_below:g}" in proof.domain
        assert f"c >= {c_from:g} + 2 eps" in proof.domain


@pytest.mark.parametrize(("eps_below", "c_from"), TRUE_WINDOWS)
def test_the_window_holds_at_random_points(eps_below, c_from):
    for point in windows(random.Random(5), eps_below, c_from, SAMPLES // 2):
        assert min(conditions(*point)) > 0, point


def test_the_window_is_the_corrected_lemma_by_default():
    assert proofs.window() == proofs.window(0.1, 5.5)


@pytest.mark.parametrize("condition", range(2))
def test_the_window_on_a_part_of_its_range_without_any_reduction(condition):
    def margin(eps, a, v):
        beta, N = a**2 / v, eps / (a + 2 * eps) * (3 * a**2 / 8).exp()
        t = beta.rsqrt()
        if condition == 0:
            return balls.h(eps * t, beta) - N * balls.h(a * t, beta)
        return balls.g(eps * t, beta) + N * balls.g((a + 1) * t, beta)

    assert balls.positive(margin, [(0.02, 0.1), (4.5, 5.5), (1.0, 2.0)], max_boxes=100_000).proved


@pytest.mark.parametrize(
    ("eps_below", "c_from", "false"),
    [
        (1.0, 5.5, {1, 2}),  # as printed: no bound on eps
        (3.0, 5.5, {0, 1, 2}),
        (0.95, 2.0, {1}),  # c matters once eps is large
    ],
)
def test_a_window_that_is_too_wide_is_refuted(eps_below, c_from, false):
    for number, proof in enumerate(proofs.window(eps_below, c_from)):
        if number not in false:
            continue
        assert not proof.proved
        point = exactly(proof.counterexample)
        assert allowed(**point, eps_below=mpf(eps_below), c_from=mpf(c_from))
        assert conditions(**point)[number] < 0


def test_where_only_moderate_c_breaks_the_argument_it_is_unproved():
    """For a >= 10 the inequality holds at these values; the boxes below must be looked at too."""
    proof = proofs.slope_condition(0.85, 3.0)
    assert (proof.proved, proof.counterexample) == (False, None)
    assert proofs.slope_condition(0.85, 10.0).proved


def test_the_printed_second_condition_is_vacuous():
    """Without its minus sign it holds for N that break the true one, however large."""
    assert proofs.minus_sign(0.1, 5.5).proved
    eps, c, beta = mpf("0.1"), mpf("6.5"), mpf(15)
    t = 1 / mpmath.sqrt(beta)
    near, far = g(eps * t, beta), g((c - 2 * eps) * t, beta)
    N = mpf(10) ** 12
    assert N * far < near
    assert not -N * far < near


def test_with_small_eps_the_hypothesis_on_n_keeps_c_away_from_four():
    """Why c >= 5.5 + 2 eps can be left out when eps < 0.1: below a = 3 no N >= 1 is allowed."""
    bound = lambda eps, a: 1 - proofs._largest(eps, a)  # noqa: E731
    assert balls.positive(bound, [(0.0, 0.1), (1.0, 3.0)]).proved
    assert not balls.positive(bound, [(0.0, 0.1), (1.0, 3.2)]).proved


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: proofs.window(eps_below=0.0), "eps_below = 0.0 cannot be used"),
        (lambda: proofs.window(c_from=1.0), r"c_from = 1.0 .* Theorem 5.2 itself asks for c > 2 \+ 2 eps"),
        (lambda: proofs.h_below(half_turns=0.0), "half_turns = 0.0 cannot be used"),
        (lambda: proofs.g_near(reach=0.5), "reach = 0.5 .* numbers from 1 to 8"),
        (lambda: proofs.g_below(beta_from=0.0), "beta_from = 0.0 .* finite numbers > 0"),
        (lambda: proofs.g_threshold(width=0.0), "width = 0.0 cannot be used"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(call, message):
    with pytest.raises(SpecError, match=message):
        call()
