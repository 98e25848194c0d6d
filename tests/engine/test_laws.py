"""What the equations promise whatever the numbers: closed forms, symmetries, monotone quantities, rates.

Every law is a statement of the papers (A to F of the specification) or follows from the equations in a line.
"""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm

import tokenflock as flock
from models import every_model_option, tokens_for
from tokenflock import start, theory, weights
from tokenflock.geometry import circle, distance, retract
from tokenflock.model import attention, velocity
from tolerances import close, standard_errors, within

TIGHT = {"rtol": 1e-10, "atol": 1e-12}
# Local errors add up over a run: up to this many tolerances lie between a run and the truth (see test_schemes).
ADDED = 5


def follow(model, x, times, **options):
    """Positions (time, token, axis) at exactly these times."""
    options = TIGHT | options if options.get("scheme", "tsit5") == "tsit5" else options
    return flock.simulate(model, x, float(times[-1]), times=times, **options).x.values


def overlaps(x):
    return x @ np.swapaxes(x, -1, -2)


def gap(x, i=0, j=1):
    """1 - <x_i, x_j> without its cancellation."""
    return 0.5 * ((x[..., i, :] - x[..., j, :]) ** 2).sum(-1)


# ---- the equations as they are printed, once more and in plain loops


Q2, K2, V2 = (np.stack([weights.ginibre(3, 10 * k + h) for h in range(2)]) for k in (1, 2, 3))


def printed(x, sees, beta=1.5, heads=2, slope=(0.0, 0.0), frozen=(), count=False):
    """sum_h (1/Z_ih) sum_{j seen by i} exp(beta <Q_h x_i, K_h x_j> - slope_h |i - j|) V_h x_j  (0.2 and A.5.3)."""
    drive = np.zeros_like(x)
    for i, token in enumerate(x):
        for h in range(heads):
            terms = [(1.0, x[j], slope[h] * abs(i - j)) for j in sees(i)] + [(a, y, 0.0) for y, a in frozen]
            terms = [(a * math.exp(beta * (Q2[h] @ token) @ (K2[h] @ y) - less), y, a) for a, y, less in terms]
            total = sum(a for _, _, a in terms) if count else sum(w for w, _, _ in terms)
            drive[i] += sum(w * (V2[h] @ y) for w, y, _ in terms) / total
    return drive


def onto_the_tangent(x, w):
    return np.array([y - (t @ y) * t for t, y in zip(x, w, strict=True)])


N = 7
SEES = {
    "causal": ("causal", lambda i: range(i + 1)),
    "full": ("full", lambda i: range(N)),
    "window": (flock.Window(3), lambda i: range(max(0, i - 2), i + 1)),
    "window-both": (flock.Window(3, causal=False), lambda i: range(max(0, i - 2), min(N, i + 3))),
}
CENTERS = [(y, a) for y, a in zip(start.uniform(2, 3, seed=9), (1.0, 2.5), strict=True)]


@pytest.mark.parametrize(("mask", "sees"), SEES.values(), ids=SEES.keys())
@pytest.mark.parametrize("normaliser", ["softmax", "count"])
@pytest.mark.parametrize("extra", ["nothing", "alibi", "frozen"])
def test_velocity_is_the_printed_equation(mask, sees, normaliser, extra, cpu):
    x = start.uniform(N, 3, seed=8)
    options = {"dim": 3, "beta": 1.5, "query": Q2, "key": K2, "value": V2, "mask": mask, "normaliser": normaliser}
    slope, frozen = (0.0, 0.0), ()
    if extra == "alibi":
        options["bias"], slope = flock.Alibi((0.3, 0.7)), (0.3, 0.7)
    if extra == "frozen":
        options["frozen"], frozen = flock.Frozen([y for y, _ in CENTERS], [a for _, a in CENTERS]), CENTERS
    drive = printed(x, sees, slope=slope, frozen=frozen, count=normaliser == "count")
    model, open_space = flock.Model(**options), flock.Model(space="euclidean", **options)
    for made in (velocity(model, x), cpu.velocity(model, x)):
        assert_allclose(made, onto_the_tangent(x, drive), **close("float64", N, 100))
    for made in (velocity(open_space, x), cpu.velocity(open_space, x)):
        assert_allclose(made, drive, **close("float64", N, 100))


def test_rescaled_velocity_is_the_printed_equation(cpu):
    # 0.4: z_i' = sum_j P_ij(e^{tV} z) V (z_j - z_i).
    z, t, value = start.cube(N, 3, seed=8), 0.7, V2[0]
    x = z @ expm(t * value).T
    expected = np.zeros_like(z)
    for i in range(N):
        w = np.array([math.exp((Q2[0] @ x[i]) @ (K2[0] @ x[j])) for j in range(N)])
        expected[i] = sum(a * (value @ (z[j] - z[i])) for j, a in enumerate(w / w.sum()))
    model = flock.Model(dim=3, space="rescaled", mask="full", query=Q2[0], key=K2[0], value=value)
    for made in (velocity(model, z, t), cpu.velocity(model, z, t)):
        assert_allclose(made, expected, **close("float64", N, 100))


def test_the_block_adds_its_feedforward_to_every_token(cpu):
    # C (2.8), inside the projection: w sigma(a x_i + b).
    draw = np.random.default_rng(3).standard_normal
    w, a, b = draw((3, 4)), draw((4, 3)), draw(4)
    x, sees = start.uniform(N, 3, seed=8), SEES["full"][1]
    for activation, sigma in (("relu", lambda u: max(u, 0.0)), ("tanh", math.tanh), ("linear", float)):
        block = flock.FeedForward(w, a, b, activation)
        model = flock.Model(dim=3, beta=1.5, query=Q2, key=K2, value=V2, mask="full", feedforward=block)
        added = np.array([w @ [sigma(u) for u in a @ token + b] for token in x])
        for made in (velocity(model, x), cpu.velocity(model, x)):
            assert_allclose(made, onto_the_tangent(x, printed(x, sees) + added), **close("float64", N, 100))


# ---- closed forms


VALUES = {
    "real": weights.spectrum([1.0, -0.5, 0.3], seed=1),
    "negative": weights.spectrum([-1.0, -2.0, -0.7], seed=2),
    "complex": weights.spectrum([0.2 + 2.0j, 0.2 - 2.0j, -1.0], seed=3),
    "jordan": weights.jordan(1.0, 3, seed=4),
    "jordan-negative": weights.jordan(-1.0, 2, 4, seed=5),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_a_single_token_follows_the_normalised_exponential(value):
    x, times = start.uniform(1, len(value), seed=6), np.linspace(0.0, 8.0, 30)
    got = follow(flock.Model(dim=len(value), value=value), x, times)[:, 0]
    assert_allclose(got, theory.single_token(value, x[0], times), **within(**TIGHT, factor=ADDED))


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_the_first_token_of_causal_attention_is_autonomous(value):
    x, times = start.uniform(9, len(value), seed=6), np.linspace(0.0, 8.0, 9)
    got = follow(flock.Model(dim=len(value), value=value, beta=3.0), x, times)[:, 0]
    assert_allclose(got, theory.single_token(value, x[0], times), **within(**TIGHT, factor=ADDED))


@pytest.mark.parametrize("normaliser", ["softmax", "count"])
@pytest.mark.parametrize("beta", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("overlap", [-0.1, 0.0, 0.4])
def test_equal_overlaps_stay_equal_and_follow_their_own_equation(normaliser, beta, overlap):
    n, times = 6, np.linspace(0.0, 3.0, 13)
    x = follow(
        flock.Model(dim=8, beta=beta, mask="full", normaliser=normaliser), start.equiangular(n, 8, overlap), times
    )
    expected = theory.equiangular(times, n, beta, overlap, normaliser)
    off = ~np.eye(n, dtype=bool)
    assert np.ptp(expected) > 0.04
    assert_allclose(overlaps(x)[:, off], np.repeat(expected[:, None], off.sum(), 1), **within(**TIGHT, factor=ADDED))


@pytest.mark.parametrize("mask", ["full", "causal"])
@pytest.mark.parametrize("normaliser", ["softmax", "count"])
@pytest.mark.parametrize("dim", [2, 3])
def test_two_tokens_meet_as_the_closed_form_says(mask, normaliser, dim):
    times, r0 = np.linspace(0.0, 4.0, 17), -0.6
    x = start.equiangular(2, dim, r0)
    got = follow(flock.Model(dim=dim, beta=2.0, mask=mask, normaliser=normaliser), x, times)
    assert_allclose(
        overlaps(got)[:, 0, 1],
        theory.two_token_overlap(times, r0, 2.0, mask, normaliser),
        **within(**TIGHT, factor=ADDED),
    )


def test_the_middle_of_three_symmetric_tokens_never_moves():
    # Paper B's example of rank 3: (-u, 0, u) in R, whose middle row of attention is (1/3, 1/3, 1/3) for all time.
    model = flock.Model(dim=1, space="euclidean", mask="full")
    times = np.linspace(0.0, 1.5, 7)
    x = follow(model, np.array([[-1.0], [0.0], [1.0]]), times)[..., 0]
    u = x[-1, 2]
    assert_allclose(x[:, 1], 0.0, **close("float64", 3, u * u))
    assert_allclose(x[:, 0], -x[:, 2], **close("float64", 3, u * u))
    rate = u * (math.exp(u * u) - math.exp(-u * u)) / (math.exp(u * u) + 1 + math.exp(-u * u))
    assert_allclose(velocity(model, x[-1][:, None])[2, 0], rate, **close("float64", 3, u * u))
    assert_allclose(attention(model, x[-1][:, None])[0, 1], 1 / 3, **close("float64", 3, u * u))


def test_hardmax_in_rescaled_space_relaxes_to_the_outermost_token_of_each_side():
    # z_i' = z_leader - z_i is linear as long as the leader stays: Euler's steps multiply the distance by 1 - dt.
    z0, dt, steps = np.array([[-2.0], [-0.3], [0.1], [0.9], [1.5]]), 0.125, 24
    model = flock.Model(dim=1, beta=np.inf, space="rescaled", mask="full")
    z = follow(model, z0, np.array([0.0, dt * steps]), scheme="euler", dt=dt)[-1]
    leader = np.where(z0 > 0, 1.5, -2.0)
    assert_allclose(z, leader + (z0 - leader) * (1 - dt) ** steps, **close("float64", steps))


def test_hardmax_shares_a_tie_equally():
    # C's example of non-unique solutions: the token at 0 is tied with everyone, the others see themselves.
    model = flock.Model(dim=2, beta=np.inf, space="rescaled", mask="full")
    v = velocity(model, np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 0.0]]))
    assert_allclose(v, [[0, 0], [0, 0], [0, 2 / 3]], **close("float64", 3))


def test_a_huge_alibi_slope_leaves_every_token_alone():
    x, value = start.uniform(12, 3, seed=1), weights.ginibre(3, 2)
    for mask in ("causal", "full"):
        assert_array_equal(velocity(flock.Model(dim=3, mask=mask, bias=flock.Alibi(1e5)), x), 0.0)
        model = flock.Model(dim=3, mask=mask, bias=flock.Alibi(1e5), value=value)
        times = np.array([0.0, 2.0])
        alone = [theory.single_token(value, token, 2.0) for token in x]
        assert_allclose(follow(model, x, times)[-1], alone, **within(**TIGHT, factor=ADDED))


def test_without_temperature_softmax_is_the_count():
    x, times = start.uniform(12, 3, seed=1), np.linspace(0, 2, 5)
    soft = follow(flock.Model(dim=3, beta=0.0), x, times, scheme="rk4", dt=0.1)
    count = follow(flock.Model(dim=3, beta=0.0, normaliser="count"), x, times, scheme="rk4", dt=0.1)
    assert_allclose(soft, count, **close("float64", 12, 20))
    assert np.abs(soft[-1] - soft[0]).max() > 0.5


def test_scaled_count_is_count_in_another_time():
    # Paper D's weights are e^-beta times paper C's.
    x, beta, times = start.uniform(12, 3, seed=1), 3.0, np.linspace(0.0, 0.4, 5)
    count = follow(flock.Model(dim=3, beta=beta, mask="full", normaliser="count"), x, times)
    late = follow(flock.Model(dim=3, beta=beta, mask="full", normaliser="scaled-count"), x, times * math.exp(beta))
    assert_allclose(late, count, **within(**TIGHT, factor=ADDED))


# ---- symmetries


@pytest.mark.parametrize("mask", ["causal", flock.Window(5)], ids=str)
@pytest.mark.parametrize("dim", [2, 3, 5])
def test_the_first_tokens_of_a_longer_run_are_a_shorter_run_bit_for_bit(mask, dim):
    x, times = start.uniform(70, dim, seed=2), np.linspace(0.0, 3.0, 4)
    for value in (np.eye(dim), weights.ginibre(dim, 1)):
        model = flock.Model(dim=dim, beta=9.0, mask=mask, value=value)
        whole = follow(model, x, times, scheme="rk4", dt=0.1)
        for k in (1, 2, 33):
            assert_array_equal(follow(model, x[:k], times, scheme="rk4", dt=0.1), whole[:, :k])


@pytest.mark.parametrize("dim", [2, 20])
def test_the_prefix_property_holds_to_tolerance_with_steps_of_their_own(dim):
    x, times = start.uniform(70, dim, seed=2), np.linspace(0.0, 3.0, 4)
    model = flock.Model(dim=dim, beta=9.0)
    assert_allclose(follow(model, x[:20], times), follow(model, x, times)[:, :20], **within(**TIGHT, factor=ADDED))


def test_full_attention_has_no_prefix_property():
    x, times = start.uniform(20, 2, seed=2), np.array([0.0, 1.0])
    model = flock.Model(dim=2, mask="full")
    assert np.abs(follow(model, x[:10], times) - follow(model, x, times)[:, :10]).max() > 0.05


@pytest.mark.parametrize("dim", [2, 3, 5, 20])
@pytest.mark.parametrize("mask", ["causal", "full"])
def test_rotations_commute_with_the_flow(dim, mask):
    turn, times = weights.rotation(dim, seed=3), np.array([0.0, 1.0])
    Q, K, V = (weights.ginibre(dim, s) for s in (1, 2, 3))
    x = start.uniform(15, dim, seed=4)
    for model, turned in (
        (flock.Model(dim=dim, beta=4.0, mask=mask), flock.Model(dim=dim, beta=4.0, mask=mask)),
        (
            flock.Model(dim=dim, mask=mask, query=Q, key=K, value=V),
            flock.Model(dim=dim, mask=mask, query=Q @ turn.T, key=K @ turn.T, value=turn @ V @ turn.T),
        ),
    ):
        moved = follow(model, x, times, scheme="rk4", dt=0.1)[-1]
        also = follow(turned, x @ turn.T, times, scheme="rk4", dt=0.1)[-1]
        assert np.abs(moved - x).max() > 0.05
        assert_allclose(also, moved @ turn.T, **close("float64", 15, 10 * dim))


@pytest.mark.parametrize("dim", [2, 3, 5, 20])
def test_permutations_commute_with_full_attention_and_not_with_causal(dim):
    x, order, times = start.uniform(40, dim, seed=5), np.random.default_rng(0).permutation(40), np.array([0.0, 1.0])
    full, causal = (flock.Model(dim=dim, beta=4.0, mask=mask) for mask in ("full", "causal"))
    options = {"scheme": "rk4", "dt": 0.1}
    moved = follow(full, x, times, **options)[-1]
    assert_allclose(follow(full, x[order], times, **options)[-1], moved[order], **close("float64", 40, 40))
    moved = follow(causal, x, times, **options)[-1]
    assert np.abs(follow(causal, x[order], times, **options)[-1] - moved[order]).max() > 0.05


# ---- energies


def energy(x, beta, form):
    """1/(2 beta) sum_ij exp(beta <B x_i, x_j>) (C.1)."""
    return np.exp(beta * (x @ form) @ np.swapaxes(x, -1, -2)).sum(axis=(-2, -1)) / (2 * beta)


SYMMETRIC = {
    "identity": (np.eye(3), 1.0),
    "definite": (weights.positive_definite(3, seed=1), 1.0),
    "indefinite": (weights.goe(3, seed=2), 1.0),
    "minus-identity": (np.eye(3), -1.0),
}


@pytest.mark.parametrize("normaliser", ["softmax", "count"])
@pytest.mark.parametrize(("form", "sign"), SYMMETRIC.values(), ids=SYMMETRIC.keys())
def test_energy_changes_at_the_stated_rate(form, sign, normaliser, cpu):
    # dE/dt = sum_i m_i |v_i|^2 for V = Q'K symmetric, m_i = Z_i (softmax) or n (count); for V = -Q'K the opposite.
    beta, h, x = 2.0, 1e-4, start.uniform(20, 3, seed=3)
    model = flock.Model(dim=3, beta=beta, mask="full", normaliser=normaliser, query=form, value=sign * form)
    v = cpu.velocity(model, x)
    slope = (energy(retract(x + h * v), beta, form) - energy(retract(x - h * v), beta, form)) / (2 * h)
    mobility = np.exp(beta * (x @ form) @ x.T).sum(1) if normaliser == "softmax" else np.full(20, 20.0)
    rate = sign * (mobility * (v * v).sum(1)).sum()
    assert abs(rate) > 0.1
    assert slope == pytest.approx(rate, rel=1e-6)  # h^2 = 1e-8, times third derivatives of size beta^2


@pytest.mark.parametrize("normaliser", ["softmax", "count"])
@pytest.mark.parametrize(("form", "sign"), SYMMETRIC.values(), ids=SYMMETRIC.keys())
def test_energy_never_turns_along_a_run(form, sign, normaliser):
    times = np.linspace(0.0, 4.0, 81)
    model = flock.Model(dim=3, beta=2.0, mask="full", normaliser=normaliser, query=form, value=sign * form)
    levels = energy(follow(model, start.uniform(20, 3, seed=4), times), 2.0, form)
    assert (sign * np.diff(levels) > -ADDED * TIGHT["rtol"] * np.abs(levels[1:])).all()
    assert sign * (levels[-1] - levels[0]) > 0.05 * levels[0]


def test_causal_attention_climbs_no_such_energy():
    # The second token leaves a crowd of later ones, whom it does not see, for the first.
    x = circle(np.array([0.0, 1.0] + [1.8] * 20))
    times = np.linspace(0.0, 1.0, 11)
    assert np.diff(energy(follow(flock.Model(dim=2, beta=2.0), x, times), 2.0, np.eye(2))).max() < 0
    assert np.diff(energy(follow(flock.Model(dim=2, beta=2.0, mask="full"), x, times), 2.0, np.eye(2))).min() > 0


# ---- what never falls, what stays inside


@pytest.mark.parametrize("mask", ["causal", "full", flock.Window(3)], ids=str)
@pytest.mark.parametrize("dim", [2, 3, 20])
def test_tokens_never_leave_a_cone_that_holds_them(mask, dim):
    # V = I, any Q and K: min_i <x_i, w> never falls, if all of them are positive at first (C, Lemma 6.4).
    w, times = np.eye(dim)[0], np.linspace(0.0, 20.0, 81)
    model = flock.Model(dim=dim, beta=3.0, mask=mask, query=weights.ginibre(dim, 1), key=weights.ginibre(dim, 2))
    x = follow(model, start.cap(20, dim, 1.5, seed=2), times)
    lowest = (x @ w).min(axis=-1)
    assert lowest[0] > 0
    assert np.diff(lowest).min() > -ADDED * TIGHT["rtol"]
    assert np.abs(x[-1] - x[0]).max() > 0.5


def test_causal_tokens_meet_where_the_first_one_started():
    # Theorem 4.1 of A, V = I and any Q, K.
    query, key = weights.ginibre(3, 1), weights.ginibre(3, 2)
    x = start.uniform(16, 3, seed=0)
    end = follow(flock.Model(dim=3, beta=2.0, query=query, key=key), x, np.array([0.0, 400.0]), rtol=1e-6, atol=1e-9)
    assert_allclose(end[1, 0], x[0], **close("float64", 3))
    assert distance(end[-1], x[0]).max() < 1e-8


@pytest.mark.parametrize("case", [c for c in every_model_option() if c.model.space == "sphere"], ids=str)
def test_tokens_stay_on_the_sphere(case):
    given = {} if not (case.model.noise or math.isinf(case.model.beta)) else {"dt": 0.05}
    run = flock.simulate(case.model, tokens_for(case.model, 9, seed=8), 20.0, times=np.linspace(0.0, 20.0, 51), **given)
    assert np.abs(np.linalg.norm(run.x.values, axis=-1) - 1).max() < 1e-12


def test_rescaled_hulls_only_shrink():
    # V = I (B, Theorem 3.1): in no direction does the outermost token move out.
    z = follow(flock.Model(dim=2, space="rescaled", mask="full"), start.cube(20, 2, 2.0, seed=1), np.linspace(0, 8, 60))
    reach = (z @ circle(np.linspace(0, 2 * np.pi, 48)).T).max(axis=1)
    assert np.diff(reach, axis=0).max() < ADDED * TIGHT["rtol"]
    assert (reach[-1] < reach[0] - 0.01).any()


def test_tokens_of_r_d_never_approach_each_other():
    # V = Q'K = I: the drift is the gradient of a convex function (B).
    x = follow(flock.Model(dim=2, space="euclidean", mask="full"), start.cube(12, 2, seed=1), np.linspace(0, 2, 40))
    apart = np.linalg.norm(x[:, :, None] - x[:, None], axis=-1)
    assert (np.diff(apart, axis=0) > -ADDED * TIGHT["rtol"] * (1 + apart[1:])).all()
    assert apart[-1].max() > 2 * apart[0].max()


@pytest.mark.parametrize("name", sorted(weights.PAPER_B))
def test_the_extreme_levels_of_the_leading_left_eigenvector_close_in(name):
    # Theorem 4.2 of B: the largest phi_1*(z) never rises, the smallest never falls.
    value = np.asarray(weights.PAPER_B[name])
    eigenvalues, left = np.linalg.eig(value.T)
    leader = np.argmax(eigenvalues.real)
    assert eigenvalues[leader].imag == 0
    model = flock.Model(dim=len(value), value=value, space="rescaled", mask="full")
    z = follow(model, start.cube(20, len(value), 5.0, seed=3), np.linspace(0.0, 5.0, 41), rtol=1e-9)
    level = z @ left[:, leader].real
    size = np.abs(z).max()
    assert np.diff(level.max(axis=1)).max() < ADDED * 1e-9 * size
    assert np.diff(level.min(axis=1)).min() > -ADDED * 1e-9 * size
    assert np.ptp(level[-1]) < np.ptp(level[0])
    assert np.abs(level[-1] - level[0]).max() > 1.0


# ---- rescaling


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_rescaled_layers_are_layers_seen_through_powers_of_r(mask):
    # 0.4: with R = I + dt V, z^k = R^-k x^k.
    value, dt, layers = weights.ginibre(3, 1), 0.125, 16
    x0 = start.cube(12, 3, seed=2)
    options = {"dim": 3, "beta": 0.7, "mask": mask, "query": weights.ginibre(3, 4), "value": value}
    times = dt * np.arange(layers + 1)
    x = follow(flock.Model(space="euclidean", **options), x0, times, scheme="layers", dt=dt)
    z = follow(flock.Model(space="rescaled", **options), x0, times, scheme="layers", dt=dt)
    powers = np.stack([np.linalg.matrix_power(np.eye(3) + dt * value, k) for k in range(layers + 1)])
    assert np.abs(x[-1] - z[-1]).max() > 0.5
    assert_allclose(np.einsum("kab,kib->kia", powers, z), x, **close("float64", 12, 10 * layers))


@pytest.mark.parametrize("value", [np.eye(3), weights.ginibre(3, 1), VALUES["jordan"], VALUES["complex"]])
def test_rescaled_runs_are_plain_runs_seen_through_the_exponential(value):
    x0, times = start.cube(12, 3, seed=2), np.linspace(0.0, 2.0, 9)
    options = {"dim": 3, "beta": 0.7, "mask": "full", "query": weights.ginibre(3, 4), "value": value}
    x = follow(flock.Model(space="euclidean", **options), x0, times)
    z = follow(flock.Model(space="rescaled", **options), x0, times)
    flow = expm(times[:, None, None] * value)
    size = np.abs(flow).sum(axis=(1, 2)).max()
    assert np.abs(x - z).max() > 0.5
    assert_allclose(np.einsum("tab,tib->tia", flow, z), x, **within(**TIGHT, factor=ADDED * size))


def test_heads_that_commute_may_be_rescaled():
    first = np.array([[0.5, 0.2], [-0.1, 0.3]])
    value = np.stack([first, first @ first])
    options = {"dim": 2, "mask": "full", "query": np.stack([np.eye(2), weights.ginibre(2, 1)]), "value": value}
    x0, times = start.cube(12, 2, seed=2), np.array([0.0, 2.0])
    x = follow(flock.Model(space="euclidean", **options), x0, times)[-1]
    z = follow(flock.Model(space="rescaled", **options), x0, times)[-1]
    assert_allclose(z @ expm(2.0 * value.sum(axis=0)).T, x, **within(**TIGHT, factor=ADDED * np.abs(x).max()))


def test_under_minus_identity_the_covariance_decays_as_half_over_t():
    # B.7: the mean dies exponentially, but 2 t Cov -> I.
    t = 1e4
    model = flock.Model(dim=2, space="euclidean", mask="full", value=-np.eye(2))
    x = follow(model, start.cube(20, 2, seed=1), np.array([0.0, t / 100, t]), rtol=1e-6, atol=1e-9)
    spread = [np.linalg.eigvalsh(2 * s * np.cov(y.T, bias=True)) for s, y in zip((t / 100, t), x[1:], strict=True)]
    assert np.abs(spread[1] - 1).max() < 2e-3
    assert np.abs(spread[1] - 1).max() < np.abs(spread[0] - 1).max()
    assert np.abs(x[-1].mean(axis=0)).max() < 1e-6


# ---- noise


@pytest.mark.parametrize(("dim", "scheme"), [(2, "heun"), (3, "heun"), (5, "heun"), (3, "euler")])
def test_free_tokens_forget_their_start_as_spherical_brownian_motion_does(dim, scheme):
    # d<x(t), x(0)> has drift -(d-1) noise^2 / 2 <x(t), x(0)>. A window of one and V = 0 leave only the noise.
    noise, t = 0.7, 1.0
    model = flock.Model(dim=dim, noise=noise, value=np.zeros((dim, dim)), mask=flock.Window(1))
    x0, dt = start.uniform(10_000, dim, seed=1, runs=4), 0.02
    x = flock.simulate(model, x0, t, times=[0.0, t], scheme=scheme, dt=dt, seed=2).x.values
    kept = (x[:, 1] * x[:, 0]).sum(axis=-1)
    # Four standard errors of the mean, and a weak error of first order: (rate dt)^2 / 2 in each of t / dt steps.
    rate = (dim - 1) * noise**2 / 2
    assert abs(kept.mean() - math.exp(-rate * t)) < standard_errors(kept, 4) + rate**2 * t * dt / 2


def test_free_tokens_of_the_plane_spread_as_brownian_motion_does():
    noise, t = 0.5, 2.0
    model = flock.Model(dim=2, space="euclidean", noise=noise, value=np.zeros((2, 2)), mask=flock.Window(1))
    x = flock.simulate(model, np.zeros((4, 10_000, 2)), t, times=[t], dt=0.1, seed=3).x.values
    squares = (x**2).sum(axis=-1)
    assert abs(squares.mean() - 2 * noise**2 * t) < standard_errors(squares, 4)
    assert abs(x.mean()) < standard_errors(x, 4)


# ---- layer norms of paper F


def slope_of(x, clock):
    """Slope of log(1 - r) over the last half of a clock."""
    half = len(clock) // 2
    return np.polyfit(clock[half:], np.log(gap(x))[half:], 1)[0]


TERMINAL = {
    "post": (np.linspace(0.0, 8.0, 41), lambda t: t),
    "sqrt": (np.linspace(0.0, 30.0, 41), lambda t: np.sqrt(1 + t)),
    "pre": (np.geomspace(1.0, 1e5, 41), np.log),
    "mix": (np.geomspace(1.0, 1e5, 41), np.log),
    "peri": (np.geomspace(1.0, 1e5, 41), np.log),
    "ngpt": (np.linspace(0.0, 16.0, 41), lambda t: 2 * 0.5 * (np.sqrt(1 + t) - 1)),
}


@pytest.mark.parametrize("kind", TERMINAL)
def test_tokens_meet_at_the_rate_of_their_layer_norm(kind):
    # F.5: log(1 - r) falls with slope -2 in t, -4 in sqrt t, -2 in log t, or -2 in the integral of alpha.
    times, clock = TERMINAL[kind]
    norm = flock.LayerNorm(kind, alpha=0.5, decay=0.5)
    model = flock.Model(dim=5, mask="full", layer_norm=norm)
    x = follow(model, start.equiangular(4, 5, 0.9), times)
    expected, _ = theory.normalisation_slope(kind)
    assert slope_of(x, clock(times)) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("kind", ["post", "pre", "peri", "ngpt", "sqrt"])
def test_orthogonal_tokens_set_out_at_the_speed_of_their_layer_norm(kind, cpu):
    # F.3.
    n, beta, radius, alpha = 5, 1.5, 1.7, 0.3
    model = flock.Model(dim=6, beta=beta, mask="full", layer_norm=flock.LayerNorm(kind, radius=radius, alpha=alpha))
    x = start.orthonormal(n, 6, seed=1)
    plain, root = 2 / (math.exp(beta) + n - 1), 2 / math.sqrt(math.exp(2 * beta) + n - 1)
    speed = {"post": plain, "pre": plain / radius, "peri": root / radius, "ngpt": alpha * root, "sqrt": plain}[kind]
    for v in (velocity(model, x), cpu.velocity(model, x)):
        rates = v @ x.T + x @ v.T
        assert_allclose(rates[~np.eye(n, dtype=bool)], speed, **close("float64", n, 10))


def test_mixed_layer_norm_is_post_up_to_its_switch_and_pre_from_there():
    x, switch, radius = start.uniform(12, 3, seed=1), 0.73, 1.4
    times = np.array([0.0, 0.3, switch, 1.0, 2.0])
    options = {"dim": 3, "beta": 2.0, "mask": "full"}
    mixed = flock.Model(**options, layer_norm=flock.LayerNorm("mix", switch=switch, radius=radius))
    run = flock.simulate(mixed, x, 2.0, times=times, **TIGHT)
    first = follow(flock.Model(**options), x, times[:3])
    pre = flock.Model(**options, layer_norm=flock.LayerNorm("pre", radius=radius))
    then = flock.simulate(pre, first[-1], 2.0 - switch, times=times[2:] - switch, **TIGHT)
    assert_allclose(run.x.values[:3], first, **within(**TIGHT, factor=ADDED))
    assert_allclose(run.x.values[2:], then.x.values, **within(**TIGHT, factor=ADDED))
    assert_array_equal(run.radius.values[:3], radius)
    assert_allclose(run.radius.values[2:], then.radius.values, **within(**TIGHT, factor=ADDED))
    assert run.radius.values[-1].min() > radius + 0.1


# ---- frozen tokens


@pytest.mark.parametrize("seed", range(4))
def test_frozen_tokens_capture_every_token(seed):
    # Theorem 5.2 of A at beta = 40: six centers, eps = 0.1, c = 6.5; all tokens stand within eps/sqrt(beta) of one.
    beta, eps = 40.0, 0.1
    centers = circle(2 * np.pi * np.arange(6) / 6)
    assert 2 * np.pi / 6 > 6.5 / math.sqrt(beta)
    x = start.uniform(40, 2, seed=seed)
    model = flock.Model(dim=2, beta=beta, frozen=flock.Frozen(centers))
    end = flock.simulate(model, x, 100.0, times=[0.0, 100.0]).x.values
    nearest = distance(end[:, :, None], centers).min(axis=-1)
    assert nearest[1].max() < eps / math.sqrt(beta)
    assert nearest[0].max() > 1 / math.sqrt(beta)


def test_a_heavy_frozen_token_is_as_many_light_ones():
    x, times = start.uniform(9, 3, seed=1), np.array([0.0, 1.0])
    centers = start.uniform(2, 3, seed=2)
    heavy = flock.Model(dim=3, beta=3.0, frozen=flock.Frozen(centers, [1.0, 3.0]))
    light = flock.Model(dim=3, beta=3.0, frozen=flock.Frozen(np.vstack([centers, centers[1:], centers[1:]])))
    options = {"scheme": "rk4", "dt": 0.1}
    assert_allclose(follow(heavy, x, times, **options), follow(light, x, times, **options), **close("float64", 9, 10))
