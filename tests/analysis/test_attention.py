"""The attention matrix and its distance to the Boolean ones, against their definitions written out slowly."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import tokenflock as flock
from tokenflock.analysis import attention
from tokenflock.errors import SpecError
from tolerances import close

seeds = st.integers(0, 10**6)


def slow(x, beta, form, sees):
    """P_ij, entry by entry."""
    n = len(x)
    P = np.zeros((n, n))
    for i in range(n):
        terms = {j: math.exp(beta * float(x[i] @ form @ x[j])) for j in range(n) if sees(i, j)}
        for j, term in terms.items():
            P[i, j] = term / sum(terms.values())
    return P


@pytest.mark.parametrize(
    ("mask", "sees"),
    [
        ("full", lambda i, j: True),
        ("causal", lambda i, j: j <= i),
        (flock.Window(3), lambda i, j: i - 3 < j <= i),
        (flock.Window(2, causal=False), lambda i, j: abs(i - j) < 2),
    ],
)
def test_the_matrix_is_the_softmax(mask, sees):
    generator = np.random.default_rng(0)
    x, (Q, K) = generator.standard_normal((7, 3)), generator.standard_normal((2, 3, 3))
    model = flock.Model(dim=3, beta=0.7, query=Q, key=K, mask=mask, space="euclidean")
    P = attention.matrix(model, x)
    np.testing.assert_allclose(P, slow(x, 0.7, Q.T @ K, sees), **close(float, 7, amplification=20))
    np.testing.assert_allclose(P.sum(axis=1), 1, **close(float, 7))


def test_every_head_has_its_matrix():
    generator = np.random.default_rng(1)
    x, Q = flock.uniform(6, 3, seed=0), generator.standard_normal((2, 3, 3))
    P = attention.matrix(flock.Model(dim=3, beta=2.0, query=Q), x)
    assert P.shape == (2, 6, 6)
    for h in range(2):
        expected = slow(x, 2.0, Q[h].T, lambda i, j: j <= i)
        np.testing.assert_allclose(P[h], expected, **close(float, 6, amplification=20))


def test_frozen_tokens_are_further_columns():
    model = flock.Model(dim=2, frozen=flock.Frozen([[1.0, 0.0]], [2.0]))
    P = attention.matrix(model, flock.uniform(5, 2, seed=0))
    assert P.shape == (5, 6)
    np.testing.assert_allclose(attention.entropy(P)[0], _entropy(P[0]), **close(float, 6))
    assert attention.leaders(P).columns == (0, 1, 2, 3, 4, 5)


def test_a_rescaled_model_looks_at_the_tokens_themselves():
    generator = np.random.default_rng(2)
    V, z = 0.5 * generator.standard_normal((3, 3)), generator.standard_normal((5, 3))
    model = flock.Model(dim=3, value=V, mask="full", space="rescaled")
    times = np.array([0.0, 0.4, 1.1])
    P = attention.matrix(model, np.stack([z] * 3), times)
    for k, t in enumerate(times):
        expected = slow(z @ expm(t * V).T, 1.0, np.eye(3), lambda i, j: True)
        np.testing.assert_allclose(P[k], expected, **close(float, 5, amplification=1e3))
        np.testing.assert_allclose(attention.matrix(model, z, t), P[k], **close(float, 5))


def test_at_late_times_every_token_attends_to_its_largest_overlap():
    z = np.random.default_rng(3).standard_normal((9, 2))
    P = attention.matrix(flock.Model(dim=2, mask="full", space="rescaled"), z, 1e3)
    assert (P == np.eye(9)[(z @ z.T).argmax(axis=1)]).all()
    assert (attention.entropy(P) == 0).all()


@pytest.mark.parametrize("runs", [None, 2])
def test_a_run_gives_its_matrices_in_time(runs):
    model = flock.Model(dim=2, value=np.diag([1.0, 0.3]), mask="full", space="rescaled")
    start = np.random.default_rng(0).uniform(-1, 1, (6, 2) if runs is None else (runs, 6, 2))
    run = flock.simulate(model, start, 2.0, times=[0.0, 1.0, 2.0])
    P = attention.matrix(None, run)
    assert P.shape == ((3, 6, 6) if runs is None else (2, 3, 6, 6))
    x = run.x.values.reshape(-1, 3, 6, 2)
    for frames, matrices in zip(x, P.values.reshape(-1, 3, 6, 6), strict=True):
        for k in range(3):
            assert (matrices[k] == attention.matrix(model, frames[k], float(run.time[k]))).all()
    entropy = attention.along(None, run, attention.entropy)
    assert (entropy == attention.entropy(P)).all()
    assert attention.along(model, run, lambda p: attention.rank(p).rank).shape == P.shape[:-2]


def test_layers_of_a_rescaled_run_look_through_their_own_powers():
    V, dt = np.array([[0.9, 0.2], [0.0, 0.4]]), 0.25
    model = flock.Model(dim=2, value=V, mask="full", space="rescaled")
    start = np.random.default_rng(0).uniform(-1, 1, (5, 2))
    run = flock.simulate(model, start, 2.0, scheme="layers", dt=dt, times=[0.0, 1.0, 2.0])
    P = attention.matrix(None, run)
    for k, t in enumerate(run.time.values):
        R = np.linalg.matrix_power(np.eye(2) + dt * V, round(t / dt))
        expected = slow(run.x.values[k] @ R.T, 1.0, np.eye(2), lambda i, j: True)
        np.testing.assert_allclose(P[k], expected, **close(float, 5, amplification=1e3))
    # exp(tV) is not (I + dt V)^k: with the wrong one the test would fail.
    assert np.abs(attention.matrix(model, run.x.values[2], 2.0) - P[2]).max() > 1e-3


def test_too_many_matrices_are_refused_before_they_are_made(monkeypatch):
    run = flock.simulate(flock.Model(dim=2), flock.uniform(10, 2, seed=0), 1.0, times=[0.0, 1.0])
    monkeypatch.setattr(attention, "LARGEST", 8 * 10 * 10)
    with pytest.raises(SpecError, match=r"x.shape = \(2, 10, 2\) .* attention.along\(model, run, measure\)"):
        attention.matrix(None, run)
    assert attention.along(None, run, np.trace).shape == (2,)
    assert attention.matrix(flock.Model(dim=2), run.x[0]).shape == (10, 10)


# Theorem 2.1


def theorem_2_1(start, times):
    model = flock.Model(dim=1, mask="full", space="rescaled")
    run = flock.simulate(model, np.reshape(start, (-1, 1)), times[-1], times=times, rtol=1e-9, atol=1e-12)
    return attention.matrix(None, run).values


def test_the_generic_limit_has_rank_two_and_the_extreme_tokens_lead():
    start = np.random.default_rng(0).uniform(-1, 1, 12)
    P = theorem_2_1(start, [0.0, 3.0, 5.0, 7.0])
    # The largest distance of an entry to that of a basis row (B.2); 1 - P_ia as the sum of the others.
    off = [max(math.fsum(np.delete(row, row.argmax())) for row in p) for p in P]
    assert off[1] == pytest.approx(0.44, abs=0.01)
    assert off[2] == pytest.approx(1.2e-2, rel=0.05)
    assert off[3] == pytest.approx(6e-15, rel=0.1, abs=0)
    least, most = int(start.argmin()), int(start.argmax())
    end = attention.boolean_distance(P[3])
    assert {end.a, end.b} == {least, most}
    assert end.distance < 2e-14
    assert end.rank_if_boolean == attention.rank(P[3]).rank == 2
    assert attention.rank(P[3]).gap > 1e12
    found = attention.leaders(P[3])
    assert set(found.columns) == {least, most}
    assert all((start[i] > 0) == (found.leader[i] == most) for i in range(12) if abs(start[i]) > 0.2)
    distances = [attention.boolean_distance(p).distance for p in P]
    assert distances == sorted(distances, reverse=True)


def test_the_exceptional_limit_has_rank_three():
    # By its own equation (B.2): a run would lose it, as the middle token flees 0 like exp(c e^2t) from a rounding.
    def speed(_, u):
        return u * (1 - np.exp(-2 * u**2)) / (1 + np.exp(-(u**2)) + np.exp(-2 * u**2))

    u = solve_ivp(speed, (0.0, 8.0), [0.8], t_eval=[0.0, 4.0, 8.0], rtol=1e-9).y[0]
    x = u[:, None, None] * np.array([[-1.0], [0.0], [1.0]])
    P = attention.matrix(flock.Model(dim=1, mask="full", space="euclidean"), x)
    np.testing.assert_allclose(P[:, 1], 1 / 3, **close(float, 3))
    end = attention.boolean_distance(P[-1])
    assert (end.a, end.b, end.free_row, end.rank_if_boolean) == (0, 2, 1, 3)
    assert end.distance < 1e-15
    assert end.free_distance == pytest.approx(math.sqrt(4 / 9 + 2 / 9))
    assert attention.rank(P[-1]).rank == 3
    # Broken: the middle token a little off goes with its side.
    P = theorem_2_1([-0.8, 1e-3, 0.8], [0.0, 8.0, 16.0])
    end = attention.boolean_distance(P[-1])
    assert end.rank_if_boolean == 2
    assert end.free_distance < 1e-12


def test_one_cluster_may_have_the_identity_as_attention():
    z = np.array([[1.0, 0.01], [1.0, -0.01]])
    P = attention.matrix(flock.Model(dim=2, mask="full", space="rescaled"), z, 8.0)
    assert (P == np.eye(2)).all()
    assert attention.leaders(P).followers == {0: (0,), 1: (1,)}


# The distance


def brute(P):
    """Every Boolean matrix with every free row."""
    n = len(P)
    best = math.inf
    for a, b, free in itertools.product(range(n), repeat=3):
        for choice in itertools.product((a, b), repeat=n):
            B = np.eye(n)[list(choice)]
            B[free] = P[free]
            best = min(best, float(np.linalg.norm(P - B)))
    return best


@given(seeds, st.integers(1, 4), st.sampled_from([0.05, 0.3, 1.0]))
@settings(max_examples=40, deadline=None)
def test_the_distance_is_the_least_of_all_boolean_matrices(seed, n, concentration):
    P = np.random.default_rng(seed).dirichlet(np.full(n, concentration), n)
    found = attention.boolean_distance(P)
    assert found.distance == pytest.approx(brute(P), abs=1e-7)
    # The columns and the row that are named give it.
    rest = np.delete(P, found.free_row, axis=0)
    nearest = np.minimum(*(np.linalg.norm(rest - np.eye(n)[k], axis=1) for k in (found.a, found.b)))
    assert found.distance == pytest.approx(np.linalg.norm(nearest), abs=1e-7)


@given(seeds, st.integers(2, 8))
@settings(max_examples=60, deadline=None)
def test_boolean_matrices_are_found_out(seed, n):
    generator = np.random.default_rng(seed)
    a, b, free = generator.integers(n, size=3)
    P = np.eye(n)[generator.choice([a, b], n)]
    P[free] = generator.dirichlet(np.ones(n))
    found = attention.boolean_distance(P)
    assert found.distance == 0
    assert found.rank_if_boolean == np.linalg.matrix_rank(P)
    assert found.free_distance == pytest.approx(
        min(np.linalg.norm(P[found.free_row] - np.eye(n)[[found.a, found.b]], axis=1))
    )
    # Relabelled tokens are as far.
    order = generator.permutation(n)
    Q = generator.dirichlet(np.ones(n), n)
    again = attention.boolean_distance(Q[order][:, order]).distance
    assert again == pytest.approx(attention.boolean_distance(Q).distance)


def test_a_third_leader_is_not_boolean():
    P = np.eye(4)[[0, 1, 2, 3]]
    found = attention.boolean_distance(P)
    assert found.distance == pytest.approx(math.sqrt(2))  # one of the four rows must change, one is free
    P = np.eye(6)[[0, 0, 1, 1, 2, 2]]
    assert attention.boolean_distance(P).distance == pytest.approx(math.sqrt(2))


def test_a_small_distance_keeps_its_digits():
    P = np.eye(5)[[0, 0, 4, 4, 4]]
    P[:, 2] += 1e-20
    found = attention.boolean_distance(P)
    # Four rows, each off by sqrt(2) 1e-20.
    assert found.distance == pytest.approx(1e-20 * math.sqrt(8), rel=1e-12, abs=0)
    assert (found.a, found.b, found.rank_if_boolean) == (0, 4, 2)


def test_a_column_that_no_row_needs_is_not_named():
    P = np.eye(4)[[3, 3, 3, 3]]
    assert attention.boolean_distance(P) == attention.Boolean(0.0, 3, 3, 0, 0.0, 1)
    P[1] = 0.25
    found = attention.boolean_distance(P)
    assert (found.a, found.b, found.free_row, found.rank_if_boolean) == (3, 3, 1, 2)
    assert attention.boolean_distance([[1.0]]).rank_if_boolean == 1


# Rank, leaders, entropy


def test_the_rank_says_by_what_gap():
    P = np.full((4, 4), 0.25)
    found = attention.rank(P)
    assert (found.rank, found.above) == (1, pytest.approx(1))
    assert found.gap > 1e14
    full = attention.rank(0.5 * np.eye(4) + 0.5 * P)
    assert full.rank == 4
    assert full.above == pytest.approx(0.5)
    assert full.below == full.tolerance
    assert attention.rank(0.5 * np.eye(4) + 0.5 * P, tolerance=0.6).rank == 1
    cut = attention.rank(0.5 * np.eye(4) + 0.5 * P, tolerance=0.6)
    assert cut.gap == pytest.approx(2)
    assert attention.rank(np.eye(2), tolerance=0.0).gap == math.inf
    with pytest.raises(SpecError, match="below the largest singular value, 1"):
        attention.rank(P, tolerance=2.0)


def test_leaders_and_followers():
    P = np.array([[0.5, 0.5, 0.0], [0.0, 1 - 1e-5, 1e-5], [0.0, 1.0, 0.0]])
    found = attention.leaders(P)
    assert found.columns == (0, 1)
    assert found.followers == {0: (0,), 1: (0, 1, 2)}
    np.testing.assert_allclose(found.share, P[:, :2].mean(axis=0), **close(float, 3))
    assert found.leader.tolist() == [0, 1, 1]
    assert attention.leaders(P, threshold=1e-6).columns == (0, 1, 2)


def _entropy(row):
    return -sum(p * math.log(p) for p in row if p > 0)


@given(seeds, st.integers(1, 9))
@settings(max_examples=30, deadline=None)
def test_entropy_is_between_nothing_and_log_n(seed, n):
    P = np.random.default_rng(seed).dirichlet(np.full(n, 0.3), (2, n))
    found = attention.entropy(P)
    assert found.shape == (2, n)
    np.testing.assert_allclose(found, [[_entropy(row) for row in p] for p in P], **close(float, n, amplification=8))
    assert (found >= -1e-15).all()
    assert (found <= math.log(n) + 1e-12).all()
    assert (attention.entropy(np.eye(n)) == 0).all()


# What cannot be used


@pytest.mark.parametrize("measure", [attention.rank, attention.boolean_distance, attention.leaders, attention.entropy])
@pytest.mark.parametrize(
    ("P", "text"),
    [
        (np.full((2, 2), 0.4), "a row whose sum is off 1 by 0.2.* Divide each row by its sum"),
        (np.array([[1.5, -0.5], [0.0, 1.0]]), "an entry -0.5.* Give weights, not logits"),
        (np.array([[np.nan, 1.0], [0.0, 1.0]]), "not all finite"),
        (np.array([[1j, 1.0], [0.0, 1.0]]), "not all finite"),
        ("P", "not all finite"),
        (np.ones(3) / 3, r"P.shape = \(3,\)"),
        (np.empty((0, 0)), r"P.shape = \(0, 0\)"),
    ],
)
def test_what_is_not_stochastic_is_refused(measure, P, text):
    with pytest.raises(SpecError, match=text):
        measure(P)


@pytest.mark.parametrize("measure", [attention.rank, attention.boolean_distance, attention.leaders])
def test_heads_are_taken_one_at_a_time(measure):
    with pytest.raises(SpecError, match=r"P\[h\], or attention.along"):
        measure(np.stack([np.eye(2)] * 3))


def test_arguments_that_cannot_be_used():
    model, x = flock.Model(dim=2), flock.uniform(4, 2, seed=0)
    run = flock.simulate(model, x, 1.0, times=[0.0, 1.0])
    for call, text in (
        (lambda: attention.matrix(None, x), "None is allowed with a run only"),
        (lambda: attention.matrix(flock.Model(dim=3), x), "as the model has dim=3"),
        (lambda: attention.matrix(model, x, [0.0, 1.0]), "one for each set of tokens"),
        (lambda: attention.matrix(model, x, np.nan), "t = nan"),
        (lambda: attention.matrix(model, x * np.inf), "nan or inf"),
        (lambda: attention.along(model, x, np.trace), "Of an array take attention.matrix"),
        (lambda: attention.along(model, run, 3), "a function of P"),
        (lambda: attention.along(model, run, attention.rank), "lambda P: attention.rank"),
        (lambda: attention.boolean_distance(np.eye(2)[[0, 1, 0]]), "The set PP is of square matrices"),
        (lambda: attention.boolean_distance(np.eye(2), tolerance=-1), "tolerance = -1"),
        (lambda: attention.leaders(np.eye(2), threshold=0), "threshold = 0"),
    ):
        with pytest.raises(SpecError, match=text):
            call()


def test_counted_weights_are_not_stochastic_and_say_so():
    P = attention.matrix(flock.Model(dim=2, beta=3.0, normaliser="count"), flock.uniform(4, 2, seed=0))
    with pytest.raises(SpecError, match="normaliser='count'"):
        attention.entropy(P)
