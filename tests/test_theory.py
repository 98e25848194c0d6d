"""Closed forms against the numbers of the specification, and against plain integration of the equations themselves."""

import math
import subprocess
import sys

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from tokenflock import start, theory, weights
from tokenflock.analysis import renyi
from tokenflock.errors import SpecError
from waiting import LONG_S

TIGHT = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14}
INTEGRATED = 1e-9  # what solve_ivp at these tolerances leaves, with room for the length of the runs


def attention(x, beta, mask, normaliser):
    """The equation of two_token_overlap and equiangular, written once more and as plainly as possible."""
    visible = np.tril(np.ones((len(x), len(x)))) if mask == "causal" else np.ones((len(x), len(x)))
    weight = visible * np.exp(beta * x @ x.T)
    weight /= (weight if normaliser == "softmax" else visible).sum(axis=1, keepdims=True)
    pull = weight @ x
    return pull - np.sum(x * pull, axis=1, keepdims=True) * x


def integrated(x0, times, velocity):
    shape = x0.shape
    flow = solve_ivp(lambda t, x: velocity(x.reshape(shape)).ravel(), (0, times[-1]), x0.ravel(), t_eval=times, **TIGHT)
    return flow.y.T.reshape(-1, *shape)


# ---- L1: the interaction function (A.6)


@pytest.mark.parametrize(("beta", "tau"), [(1, 0.90456), (9, 0.33017), (10, 0.31354), (64, 0.12484)])
def test_tau_star_has_the_values_of_the_specification(beta, tau):
    assert theory.tau_star(beta) == pytest.approx(tau, abs=5e-6)


@pytest.mark.parametrize(("beta", "top"), [(10, 0.18942), (64, 0.07567)])
def test_h_at_tau_star_has_the_values_of_the_specification(beta, top):
    assert theory.h(theory.tau_star(beta), beta) == pytest.approx(top, abs=5e-6)


def test_tau_star_solves_its_equation_in_every_dimension_and_is_the_printed_arccos_on_the_circle():
    beta = np.geomspace(1e-3, 1e12, 60)
    for dim in (2, 3, 10, 128):
        tau = theory.tau_star(beta, dim)
        assert_allclose(beta * np.sin(tau) ** 2, (dim - 1) * np.cos(tau), rtol=1e-12, atol=1e-13)
    assert_allclose(
        theory.tau_star(beta[:30]), np.arccos((-1 + np.sqrt(4 * beta[:30] ** 2 + 1)) / (2 * beta[:30])), rtol=1e-8
    )
    assert theory.tau_star(0.0) == pytest.approx(np.pi / 2)


def test_tau_star_lies_between_the_bounds_of_lemma_a1_and_is_the_maximum_of_h():
    for beta in (1.0, 3.0, 10.0, 64.0, 1e4):
        tau = float(theory.tau_star(beta))
        assert (beta + 0.5) ** -0.5 < tau < beta**-0.5
        x = np.linspace(0, np.pi, 20_001)
        assert x[np.argmax(theory.h(x, beta))] == pytest.approx(tau, abs=np.pi / 20_000)
        assert theory.g(tau, beta) == pytest.approx(0, abs=1e-12)
    assert theory.h(theory.tau_star(1e8), 1e8) == pytest.approx((np.e * 1e8) ** -0.5, rel=1e-6)


def test_g_is_the_derivative_of_h_and_both_have_their_symmetries():
    x, step = np.linspace(-7, 7, 301), 1e-5
    for beta in (0.0, 1.0, 9.0, 64.0):
        slope = (theory.h(x + step, beta) - theory.h(x - step, beta)) / (2 * step)
        assert_allclose(theory.g(x, beta), slope, atol=1e-10 * (1 + beta**1.5))
        assert_allclose(theory.h(-x, beta), -theory.h(x, beta))
        assert_allclose(theory.g(x + 2 * np.pi, beta), theory.g(x, beta), atol=1e-12)


def test_lemma_a1_bounds_hold_in_the_corrected_ranges_and_fail_outside():
    for beta in (0.3, 1.0, 9.0, 64.0):
        x = np.linspace(0.01, np.pi, 800)
        lower, upper = np.exp(-beta * x**2 / 2) * (x - x**3 / 6), np.exp(-beta * x**2 / 2 + beta * x**4 / 24) * x
        h = theory.h(x, beta)
        shown = upper > 1e-290  # below, both sides underflow
        assert np.all(lower[shown] < h[shown])
        assert np.all(h[shown] < upper[shown])
        near = x[x < (beta + 0.5) ** -0.5]
        assert np.all(theory.g(near, beta) > np.exp(-beta * near**2 / 2) * (1 - near**2 / 2 - beta * near**2))
        if beta >= 1:
            assert np.all(theory.g(x, beta) > -np.exp(-beta * x**2 / 2 + beta * x**4 / 24) * beta * x**2)
    far = np.linspace(np.pi, 2 * np.pi, 50)[1:-1]  # the print says all x > 0
    assert np.any(theory.h(far, 0.3) < np.exp(-0.3 * far**2 / 2) * (far - far**3 / 6))
    x = np.linspace(0.01, np.pi, 800)  # the print says all beta > 0
    assert np.any(theory.g(x, 0.1) < -np.exp(-0.1 * x**2 / 2 + 0.1 * x**4 / 24) * 0.1 * x**2)


# ---- L2: one token (A.2)

GINIBRE = np.random.default_rng(5).standard_normal((4, 4))
ONE_TOKEN = {
    "real": np.diag([1.0, 0.5, -2.0]),
    "complex leading": weights.spectrum([0.5 + 2j, 0.5 - 2j, -1.0], seed=1),
    "jordan": weights.jordan(0.7, 3, dim=4, seed=2),
    "negative": weights.spectrum([-1.0, -2.0, -3.0], seed=3),
    "general": GINIBRE,
}


@pytest.mark.parametrize("name", ONE_TOKEN)
def test_single_token_solves_its_equation(name):
    V = ONE_TOKEN[name]
    x0 = start.uniform(1, len(V), seed=4)
    times = np.linspace(0, 6, 13)

    def velocity(x):  # divided by |x|^2, without which the sphere repels rounding errors where <x, Vx> < 0 (A.2)
        return x @ V.T - np.sum(x * (x @ V.T), axis=1, keepdims=True) / np.sum(x * x) * x

    assert_allclose(theory.single_token(V, x0[0], times), integrated(x0, times, velocity)[:, 0], atol=INTEGRATED)


def test_single_token_is_a_flow_forwards_and_backwards_and_survives_long_times():
    V, x0 = GINIBRE, start.uniform(1, 4, seed=0)[0]
    there = theory.single_token(V, x0, 1.5)
    assert_allclose(theory.single_token(V, there, 0.5), theory.single_token(V, x0, 2.0), atol=1e-12)
    assert_allclose(theory.single_token(V, there, -1.5), x0, atol=1e-12)
    assert theory.single_token(V, x0, np.ones((2, 3))).shape == (2, 3, 4)
    long = theory.single_token(np.diag([900.0, 1.0]), [0.6, 0.8], 1e6)
    assert_allclose(long, [1, 0], atol=1e-15)
    assert_allclose(theory.single_token([[0.0, -1.0], [1.0, 0.0]], [1.0, 0.0], np.pi / 2), [0, 1], atol=1e-15)


@pytest.mark.parametrize(("size", "superdiagonal"), [(2, 1.0), (3, 1.0), (4, 1.0), (2, 2.0), (3, 0.5)])
def test_a_jordan_block_is_approached_like_size_minus_one_over_t(size, superdiagonal):
    V, t = weights.jordan(-0.3, size, dim=size + 1, superdiagonal=superdiagonal), 1e5
    x = theory.single_token(V, start.uniform(1, size + 1, seed=6)[0], t)
    distance = np.arctan2(np.linalg.norm(x[1:]), abs(x[0]))  # L is the first axis
    assert t * distance == pytest.approx((size - 1) / superdiagonal, rel=1e-3)


def test_distance_to_the_leading_space_falls_with_the_gap_of_real_parts():
    V = weights.spectrum([1 + 3j, 1 - 3j, 0.4], seed=None)  # in its own basis the first axis has eigenvalue 0.4
    gap = np.abs(theory.single_token(V, np.ones(3), np.array([10.0, 20.0]))[:, 0])
    assert np.log(gap[0] / gap[1]) / 10 == pytest.approx(0.6, rel=1e-6)


def test_single_token_says_what_is_wrong():
    with pytest.raises(SpecError, match=r"value = \(2, 3\) cannot be used"):
        theory.single_token(np.ones((2, 3)), np.ones(3), 1.0)
    with pytest.raises(SpecError, match=r"non-zero array of shape \(2,\)"):
        theory.single_token(np.eye(2), np.zeros(2), 1.0)
    with pytest.raises(SpecError, match="x0 misses the leading eigenspace"):
        theory.single_token(np.diag([1.0, 0.0]), [0.0, 1.0], 1000.0)


# ---- L3: equal overlaps (E.4), two tokens


@pytest.mark.parametrize("normaliser", ["softmax", "count"])
@pytest.mark.parametrize(("n_tokens", "beta", "rho0"), [(5, 0.0, 0.0), (5, 1.0, 0.0), (4, 4.0, -0.25), (8, 2.5, 0.3)])
def test_equal_overlaps_follow_the_equiangular_equation(n_tokens, beta, rho0, normaliser):
    x0 = start.equiangular(n_tokens, n_tokens + 1, rho0, seed=7)
    times = np.linspace(0, 3, 7)
    path = integrated(x0, times, lambda x: attention(x, beta, "full", normaliser))
    overlaps = (path @ path.transpose(0, 2, 1))[:, ~np.eye(n_tokens, dtype=bool)]
    expected = theory.equiangular(times, n_tokens, beta, rho0, normaliser)
    assert_allclose(overlaps, np.broadcast_to(expected[:, None], overlaps.shape), atol=INTEGRATED)


@pytest.mark.parametrize("normaliser", ["softmax", "count"])
def test_the_rate_of_equal_overlaps_is_that_of_the_tokens(normaliser):
    for n_tokens, beta, rho in ((2, 1.0, -0.7), (5, 3.0, 0.4), (6, 0.0, 0.9)):
        x = start.equiangular(n_tokens, 6, rho, seed=7)
        v = attention(x, beta, "full", normaliser)
        rate = theory.equiangular_rate(rho, n_tokens, beta, normaliser)
        assert_allclose((v @ x.T + x @ v.T)[~np.eye(n_tokens, dtype=bool)], rate, rtol=1e-12)


@pytest.mark.parametrize("normaliser", ["softmax", "count"])
@pytest.mark.parametrize("mask", ["full", "causal"])
@pytest.mark.parametrize(("overlap0", "beta"), [(-0.8, 0.0), (-0.5, 2.0), (0.1, 5.0)])
def test_two_tokens_follow_the_stated_overlap(overlap0, beta, mask, normaliser):
    angle = np.arccos(overlap0)
    x0 = np.array([[1.0, 0.0, 0.0], [np.cos(angle), np.sin(angle), 0.0]])
    times = np.linspace(0, 5, 6)
    path = integrated(x0, times, lambda x: attention(x, beta, mask, normaliser))
    expected = theory.two_token_overlap(times, overlap0, beta, mask, normaliser)
    assert_allclose(np.sum(path[:, 0] * path[:, 1], axis=1), expected, atol=INTEGRATED)


def test_two_tokens_at_beta_zero_follow_the_hyperbolic_tangent():
    t = np.linspace(0, 30, 61)
    for r0 in (-0.999, -0.3, 0.0, 0.7):
        assert_allclose(theory.two_token_overlap(t, r0, 0.0), np.tanh(t + np.arctanh(r0)), atol=1e-13)
        assert_allclose(theory.two_token_overlap(t, r0, 1e-13), np.tanh(t + np.arctanh(r0)), atol=1e-11)
        assert_allclose(theory.two_token_overlap(t, r0, 0.0, "causal"), np.tanh(t / 2 + np.arctanh(r0)), atol=1e-13)


@pytest.mark.parametrize("normaliser", ["softmax", "count"])
@pytest.mark.parametrize(("n_tokens", "beta"), [(2, 0.5), (2, 9.0), (32, 3.0), (32, 12.0), (1000, 20.0), (32, 55.0)])
def test_the_time_to_an_overlap_is_the_integral_of_one_over_the_rate(n_tokens, beta, normaliser):
    n, b = mpmath.mpf(n_tokens), mpmath.mpf(beta)

    def slowness(r):
        weight = mpmath.exp(b * r) / (n if normaliser == "count" else mpmath.exp(b) + (n - 1) * mpmath.exp(b * r))
        return 1 / (2 * weight * (1 - r) * ((n - 1) * r + 1))

    for target in (0.05, 0.3, 0.9):
        with mpmath.workdps(30):
            t = float(mpmath.quad(slowness, mpmath.linspace(0, mpmath.mpf(target), 17)))
        # The best that a rounded t allows: metastable overlaps leave suddenly, so r' t can be large.
        rounding = 1e-15 * t * float(theory.equiangular_rate(target, n_tokens, beta, normaliser))
        assert theory.equiangular(t, n_tokens, beta, 0.0, normaliser) == pytest.approx(target, abs=1e-13 + 4 * rounding)


def test_equal_overlaps_close_at_the_stated_rates():
    for n, beta, normaliser, rate in ((5, 1.0, "softmax", 2.0), (5, 1.0, "count", 2 * np.e)):
        t = np.array([10.0, 12.0]) if normaliser == "softmax" else np.array([2.0, 3.0])
        gap = 1 - theory.equiangular(t, n, beta, 0.0, normaliser)
        assert -np.diff(np.log(gap)) / np.diff(t) == pytest.approx(rate, rel=1e-3)


def test_equal_overlaps_start_where_asked_rise_and_end_at_one_at_any_beta():
    t = np.concatenate([[0.0], np.geomspace(1e-3, 1e300, 200)])
    for normaliser in ("softmax", "count"):
        for beta in (0.0, 1e-8, 1.0, 64.0, 300.0, 1e5):
            for n, r0 in ((2, -0.9), (32, 0.0), (10**6, 0.5)):
                r = theory.equiangular(t, n, beta, r0, normaliser)
                assert r[0] == pytest.approx(r0, abs=1e-14)
                assert np.all(np.diff(r) >= -1e-14)
                assert np.all(r <= 1)
                if beta * (1 - r0) < 600:
                    assert r[-1] == 1


def test_the_simplex_and_the_single_point_never_move():
    t = np.array([0.0, 1.0, 1e6])
    for n in (2, 3, 50):  # 49 * (1/49) is not 1 in floating point
        assert_allclose(theory.equiangular(t, n, 2.0, -1 / (n - 1)), -1 / (n - 1))
        assert_allclose(theory.equiangular(t, n, 2.0, 1.0, "count"), 1.0)


def test_equal_overlaps_say_what_is_wrong():
    with pytest.raises(SpecError, match="Did you mean 'softmax'"):
        theory.equiangular(1.0, 3, 1.0, normaliser="sofmax")
    with pytest.raises(SpecError, match=r"rho0 = -0.9 cannot be used. Allowed: from -1/\(n_tokens - 1\) = -0.5 to 1"):
        theory.equiangular(1.0, 3, 1.0, -0.9)
    with pytest.raises(SpecError, match=r"t = -1.0 cannot be used. Allowed: times >= 0"):
        theory.two_token_overlap(-1.0, 0.0, 1.0)
    with pytest.raises(SpecError, match="Did you mean 'causal'"):
        theory.two_token_overlap(1.0, 0.0, 1.0, mask="casual")
    with pytest.raises(SpecError, match=r"n_tokens = 1 cannot be used. Allowed: an integer >= 2"):
        theory.equiangular_rate(0.0, 1, 1.0)
    with pytest.raises(SpecError, match=r"beta = -1.0 cannot be used. Allowed: numbers from 0 to 1e\+150"):
        theory.h(0.1, -1.0)
    with pytest.raises(SpecError, match="beta = 'hot' cannot be used"):
        theory.tau_star("hot")


# ---- L4, L5: counting (A.5.5, C.2)


def test_cap_measure_has_its_closed_forms_and_ends():
    delta = np.linspace(0, np.pi, 101)
    assert_allclose(theory.cap_measure(delta, 2), delta / np.pi, atol=1e-14)
    assert_allclose(theory.cap_measure(delta, 3), np.sin(delta / 2) ** 2, atol=1e-14)
    assert_allclose(theory.cap_measure(delta, 4), (delta - np.sin(delta) * np.cos(delta)) / np.pi, atol=1e-14)
    for dim in (2, 5, 64):
        assert theory.cap_measure(np.pi / 2, dim) == pytest.approx(0.5)
        assert_allclose(theory.cap_measure(delta, dim) + theory.cap_measure(np.pi - delta, dim), 1.0)


def strong_centers(x, delta):
    far = np.arccos(np.clip(x @ x.T, -1, 1)) > delta
    return sum(far[k, :k].all() for k in range(len(x)))


def renyi_centers(x, delta):
    centers = []
    for token in x:
        if all(token @ center < np.cos(delta) for center in centers):
            centers.append(token)
    return len(centers)


def test_center_counts_have_the_values_of_the_specification():
    assert theory.strong_center_count(0.5, 2) == pytest.approx(6.28, abs=5e-3)
    assert theory.renyi_center_count(0.5) == pytest.approx(9.39, abs=6e-3)
    assert theory.strong_center_count(0.8, 3) == pytest.approx(6.59, abs=6e-3)
    assert theory.strong_center_count(0.5, 2, 1) == pytest.approx(1.0)
    assert theory.strong_center_count(np.pi, 3, 10) == pytest.approx(1.0)
    assert theory.strong_center_count(1e-9, 2, 50) == pytest.approx(50.0)


@pytest.mark.parametrize(("delta", "dim", "n_tokens"), [(0.5, 2, 40), (0.8, 3, 60), (1.0, 4, 60)])
def test_strong_centers_are_counted_by_simulation(delta, dim, n_tokens):
    counts = [strong_centers(x, delta) for x in start.uniform(n_tokens, dim, seed=8, runs=1500)]
    error = np.std(counts) / np.sqrt(len(counts))
    assert np.mean(counts) == pytest.approx(float(theory.strong_center_count(delta, dim, n_tokens)), abs=4 * error)


def test_renyi_centers_are_counted_by_simulation():
    counts = [renyi_centers(x, 1.0) for x in start.uniform(1000, 2, seed=9, runs=150)]
    error = np.std(counts) / np.sqrt(len(counts))
    assert np.mean(counts) == pytest.approx(float(theory.renyi_center_count(1.0)), abs=4 * error + 0.02)


@pytest.mark.parametrize(
    ("n_tokens", "delta", "runs"), [(1, 0.5, 40), (2, 0.5, 5000), (10, 0.5, 10_000), (100, 0.1, 2000)]
)
def test_centers_among_few_tokens_are_counted_by_simulation(n_tokens, delta, runs):
    """At n = 10 the law of a Poisson number of tokens is 0.15 too low."""
    found = renyi.centers(start.uniform(n_tokens, 2, seed=10, runs=runs), delta)
    counts = np.array([len(centers) for centers in found])
    law, error = float(theory.renyi_center_count(delta, n_tokens)), counts.std() / np.sqrt(runs)
    assert counts.mean() == pytest.approx(law, abs=4 * error + 1e-12)
    if n_tokens == 10:
        street = 2 * np.pi / delta
        assert counts.mean() - street * float(theory.parking_density(n_tokens / street)) > 8 * error


def test_centers_of_one_and_two_tokens_are_strong_ones_and_never_fewer():
    delta = np.geomspace(1e-3, np.pi, 60)
    for n in (1, 2):
        assert theory.renyi_center_count(delta, n) == pytest.approx(theory.strong_center_count(delta, 2, n), rel=1e-12)
    for n in (3, 10, 79, 80, 81, 1000):
        assert (theory.renyi_center_count(delta, n) >= theory.strong_center_count(delta, 2, n) - 1e-12).all()
        assert (theory.renyi_center_count(delta, n) <= n).all()


def test_wendel_is_exact_in_small_cases_and_counted_on_the_circle():
    assert theory.hemisphere_probability(3, 2) == 0.75
    assert theory.hemisphere_probability(4, 3) == 0.875
    assert theory.hemisphere_probability(5, 8) == 1.0
    assert theory.hemisphere_probability(2000, 3) < 1e-300
    for n, d in ((7, 3), (60, 31), (900, 400)):
        ways = sum(math.comb(n - 1, k) for k in range(d))
        assert theory.hemisphere_probability(n, d) == pytest.approx(ways / 2 ** (n - 1), rel=1e-12)
    assert theory.hemisphere_probability(2**40, 2**39) == pytest.approx(0.5, abs=1e-6)  # at once
    angles = np.sort(np.random.default_rng(10).uniform(0, 2 * np.pi, (20_000, 6)), axis=1)
    gaps = np.diff(np.concatenate([angles, angles[:, :1] + 2 * np.pi], axis=1), axis=1)
    p = theory.hemisphere_probability(6, 2)
    assert np.mean(gaps.max(axis=1) > np.pi) == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 20_000))


def test_wendel_is_counted_on_the_sphere():
    # Tokens of S^2 share a hemisphere iff some plane through two of them leaves the others on one side.
    x = start.uniform(6, 3, seed=11, runs=4000)
    pairs = [(i, j) for i in range(6) for j in range(i)]
    shared = np.zeros(len(x), dtype=bool)
    for i, j in pairs:
        side = np.einsum("rk,rnk->rn", np.cross(x[:, i], x[:, j]), np.delete(x, [i, j], axis=1))
        shared |= np.all(side > 0, axis=1) | np.all(side < 0, axis=1)
    p = theory.hemisphere_probability(6, 3)
    assert shared.mean() == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / len(x)))


# ---- L6, L7: times (A.3, A.5.2, D.2, F.5, B.7)


def test_merge_time_scale_is_finite_in_logarithms_where_it_overflows():
    assert theory.merge_time_scale(np.pi, 9.0) == pytest.approx(
        6.6e7, rel=0.01
    )  # e^{2 beta}, as the specification says
    assert theory.merge_time_scale(np.pi, 1000.0) == np.inf
    assert theory.merge_time_scale(np.pi, 1000.0, log10=True) == pytest.approx(2000 / np.log(10))


def test_lemma_5_1_time_is_defined_by_its_inequality_and_exceeds_the_sufficient_one():
    beta, c, eps = 900.0, 4.0, 0.2
    x = c / np.sqrt(beta)
    T = theory.lemma_5_1_time(7, c, eps, beta)
    assert T * 7 * theory.h(x, beta) == pytest.approx(eps * x)
    assert T * 7 > eps * np.exp(c**2 / 2 - c**4 / (24 * beta))
    assert theory.lemma_5_1_time(1, 4 / 1.2, 0.1, 64.0) == pytest.approx(24, abs=1)  # Figure 2: "~24 only"
    with pytest.raises(SpecError, match=r"c = 0.5 cannot be used. Allowed: above 0.9996.* beyond tau\*"):
        theory.lemma_5_1_time(1, 0.5, 0.1, 256.0)
    with pytest.raises(SpecError, match=r"index = 0 cannot be used.*Tokens count from 1"):
        theory.lemma_5_1_time(0, 4.0, 0.1, 64.0)


def test_metastability_times_have_the_values_of_the_specification():
    alpha = theory.cap_overlap(2 * np.pi / 3, 0.01)
    assert alpha == pytest.approx(-0.1226, abs=5e-5)
    promise = theory.metastability_times(10, 200.0, 0.01, alpha, rate=1.0)
    assert promise.gamma == pytest.approx(0.993, abs=5e-4)
    assert promise.collapse == pytest.approx(1.8e8, rel=0.02)
    assert promise.escape == pytest.approx(3e94, rel=0.1)
    with pytest.raises(SpecError, match=r"rate = 1.1 cannot be used. Allowed: above 0, below 1.0157"):
        theory.metastability_times(10, 200.0, 0.01, alpha, rate=1.1)
    with pytest.raises(SpecError, match="The start is not separated: raise beta"):
        theory.metastability_times(10, 5.0, 0.01, alpha)


def test_a_separated_start_always_collapses_before_it_escapes():
    generator, checked = np.random.default_rng(12), 0
    for _ in range(300):
        n, beta, eps = int(generator.integers(2, 50)), generator.uniform(1.1, 300), 10 ** generator.uniform(-5, -1.3)
        try:
            promise = theory.metastability_times(n, beta, eps, generator.uniform(-1, 0.9))
        except SpecError:
            continue
        checked += 1
        assert 0 < promise.collapse < promise.escape
    assert checked > 50


@pytest.mark.parametrize("layer_norm", ["post", "pre", "peri", "sqrt", "ngpt"])
def test_equal_overlaps_close_with_the_slope_of_their_layer_norm(layer_norm):
    # F.1 for equal overlaps r: all radii equal, A = own x + other tokens, |A|^2 and <x, A> from the overlaps.
    n, beta, alpha, ends = 8, 1.0, 0.5, {"post": (6, 9), "sqrt": (9, 16), "ngpt": (12, 18)}.get(layer_norm, (2e3, 2e4))

    def rates(t, y):
        r, size = 1 - np.exp(y[0]), y[1]  # log(1 - r), so that the end is resolved
        other = 1 / (np.exp(beta * (1 - r)) + n - 1)
        own = 1 - (n - 1) * other
        radial = own + (n - 1) * other * r
        length = np.sqrt(own**2 + 2 * own * (n - 1) * other * r + (n - 1) * other**2 * (1 + (n - 2) * r))
        speed = {"post": 1.0, "pre": size, "peri": size * length, "sqrt": np.sqrt(t + 1), "ngpt": length / alpha}[
            layer_norm
        ]
        growth = {"pre": radial, "peri": radial / length}.get(layer_norm, 0.0)
        return [-theory.equiangular_rate(r, n, beta) / (speed * np.exp(y[0])), growth]

    flow = solve_ivp(rates, (0, ends[1]), [np.log(1 - 0.1), 1.0], t_eval=ends, method="DOP853", rtol=1e-9, atol=1e-9)
    slope, clock = theory.normalisation_slope(layer_norm)
    clocks = {"t": lambda t: t, "log t": np.log, "sqrt t": np.sqrt, "integral of alpha": lambda t: alpha * t}
    measured = np.diff(flow.y[0]) / np.diff(clocks[clock](np.array(ends, dtype=float)))
    assert measured == pytest.approx(slope, rel=0.05)


def test_an_unknown_layer_norm_is_named():
    with pytest.raises(SpecError, match=r"unknown layer_norm 'perri'. Did you mean 'peri'"):
        theory.normalisation_slope("perri")


def test_minus_identity_shrinks_like_one_over_root_two_t():
    x0, t = start.gaussian(12, 2, seed=13), np.array([0.0, 1000.0])

    def velocity(x):
        weight = np.exp(x @ x.T)
        return -(weight / weight.sum(axis=1, keepdims=True)) @ x

    flow = solve_ivp(
        lambda s, x: velocity(x.reshape(12, 2)).ravel(), t, x0.ravel(), t_eval=t, method="LSODA", rtol=1e-8
    )
    radius = np.sqrt(np.mean(np.sum(flow.y[:, -1].reshape(12, 2) ** 2, axis=1)))
    assert radius == pytest.approx(float(theory.negative_identity_radius(1000.0, 2)), rel=0.01)


def test_theory_weights_and_start_leave_scipy_alone_until_needed():
    code = "import tokenflock.theory, tokenflock.weights, tokenflock.start, sys; print('scipy' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONG_S
        ).stdout.strip()
        == "False"
    )
