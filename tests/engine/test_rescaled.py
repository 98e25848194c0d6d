"""Rescaled space at late times (0.4, B.2-B.4): weights from differences of tokens, leaders, and what follows them."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

import models
import tokenflock as flock
from tokenflock import start, weights
from tokenflock.engine import reference as reference_module
from tokenflock.engine.boolean import settle
from tokenflock.engine.contract import Outcome
from tokenflock.errors import EngineError, SpecError
from tokenflock.model import attention, drops, flow_at, velocity
from tokenflock.trajectories import is_boolean
from tolerances import close, within

TWELVE = np.random.default_rng(0).uniform(-1, 1, 12)[:, None]
MIXED = np.diag([1.0, 0.5, -0.2])
TURN = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
ASIDE = np.array([1.5, 0.0, 0.0])  # all tokens on one side of the hyperplane: one leader
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def rescaled(dim, **options):
    return flock.Model(dim=dim, space="rescaled", mask="full", **options)


# ---- the weights


def weights_by_definition(z, t, diagonal):
    """(E8) row by row in 60 digits: softmax of <e^{tV} z_i, e^{tV} z_j> for a diagonal V and B = I."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 60, -(10**9), 10**9
        tokens = [[Decimal(float(v)) for v in row] for row in z]
        grow = [(2 * Decimal(t) * Decimal(v)).exp() for v in diagonal]
        result = []
        for a in tokens:
            logit = [sum(g * u * v for g, u, v in zip(grow, a, b, strict=True)) for b in tokens]
            low = [s - max(logit) for s in logit]
            w = [s.exp() if s > -5000 else Decimal(0) for s in low]
            result.append([float(v / sum(w)) for v in w])
    return np.array(result)


@pytest.mark.parametrize("t", [0.0, 1.0, 5.0, 17.0, 40.0, 300.0, 1000.0])
@pytest.mark.parametrize("diagonal", [[1.0], [1.0, 1.0], [1.0, 0.5, 0.25]])
def test_weights_are_those_of_exact_arithmetic_at_any_time(diagonal, t, cpu):
    d = len(diagonal)
    z = start.cube(9, d, seed=1)
    z[3], z[4] = z[0], z[1] + 1e-9  # two that coincide, two almost
    expected = weights_by_definition(z, t, diagonal)
    model = rescaled(d, value=np.diag(diagonal))
    # A relative rounding of the logarithms (a dozen operations) moves a weight w by w |log w|, at most 1/e.
    tolerance = close("float64", 9, max(1.0, 2 * t))
    assert_allclose(attention(model, z, t)[0], expected, **tolerance)
    pull = np.array([expected[i] @ (z - z[i]) for i in range(9)]) @ np.diag(diagonal)
    for made in (velocity(model, z, t), cpu.velocity(model, z, t)):
        assert_allclose(made, pull, **close("float64", 9, max(1.0, 2 * t)))
    if t >= 40:
        assert (np.isclose(expected, 0) | np.isclose(expected, 1) | np.isclose(expected, 0.5)).all()


@pytest.mark.parametrize("dim", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("t", [20.0, 50.0, 400.0])
def test_both_engines_see_the_same_leaders_among_tokens_that_almost_meet(dim, t, cpu):
    # Logits of e^800, whose own rounding is far larger than what tells the tokens apart.
    rng = np.random.default_rng(4)
    z = np.repeat(start.cube(5, dim, seed=2), 4, axis=0) * (1 + 1e-6 * rng.uniform(size=(20, 1)))
    model = rescaled(dim)
    assert_allclose(cpu.velocity(model, z, t), velocity(model, z, t), **close("float64", 20, 10 * dim))


def test_coinciding_tokens_share_alike_however_late():
    z = np.array([[1.0], [0.3], [1.0], [-2.0]])
    assert_array_equal(attention(rescaled(1), z, 500.0)[0, 1], [0.5, 0.0, 0.5, 0.0])


def test_a_second_eigenvalue_decides_where_the_first_is_level(cpu):
    # z_1 is the same for all: then e^{t} z_2 decides, and at t = 600 it is 1e-260 of the whole.
    z = np.array([[1.0, 0.5], [1.0, 0.7], [1.0, -0.7], [1.0, 0.6]])
    model = rescaled(2, value=np.diag([1.0, 0.5]))
    for t in (40.0, 600.0):
        assert_array_equal(attention(model, z, t)[0], np.eye(4)[[1, 1, 2, 1]])
        assert_allclose(cpu.velocity(model, z, t), velocity(model, z, t), **close("float64", 4))
    wide, far = rescaled(20, value=np.diag([1.0, 0.5] + [0.0] * 18)), np.zeros((4, 20))
    far[:, :2] = z
    assert_allclose(cpu.velocity(wide, far, 40.0)[:, :2], velocity(model, z, 40.0), **close("float64", 4))


def test_drops_are_never_above_the_leader():
    z = np.repeat(start.cube(6, 3, seed=5), 3, axis=0) * (1 + 1e-16 * np.arange(18)[:, None])
    less, _ = drops(rescaled(3), z, flow_at(rescaled(3), 30.0))
    assert less.max() == 0.0


# ---- paper B, Theorem 2.1


def from_a_basis_row(p):
    return np.abs(p - np.eye(p.shape[-1])[p.argmax(axis=-1)]).max()


def test_attention_on_the_line_becomes_boolean_at_the_known_pace():
    # The numbers of B.2.
    model = rescaled(1)
    run = flock.simulate(model, TWELVE, 7.0, times=[3.0, 5.0, 7.0], **TIGHT)
    found = [from_a_basis_row(attention(model, run.x.sel(time=t).values, t)[0]) for t in (3.0, 5.0, 7.0)]
    assert_allclose(found, [0.44, 1.2e-2, 6e-15], rtol=0.1)
    p = attention(model, run.x.values[-1], 7.0)[0]
    assert set(p.argmax(axis=1)) == {TWELVE.argmin(), TWELVE.argmax()}


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_runs_reach_a_thousand_with_the_leaders_they_had(dim, engine):
    model, x0 = rescaled(dim), TWELVE if dim == 1 else start.cube(20, dim, seed=1)
    run = flock.simulate(model, x0, 1000.0, times=[0.0, 10.0, 1000.0], engine=engine)
    assert run.attrs["outcome"] == Outcome.DONE.value
    assert run.attrs["steps"] < 400
    z10, z = run.x.values[1:]
    leader = attention(model, z10, 10.0)[0].argmax(axis=1)
    assert_allclose(z, z10[leader], atol=1e-9 + math.exp(-10.0), rtol=0)
    assert_array_equal(z, z[leader])
    if dim == 1:
        assert set(leader) == {TWELVE.argmin(), TWELVE.argmax()}
    # Theorem 3.1: every limit z has |z|^2 = max_j <z, z_j>.
    assert_allclose(np.sum(z * z, axis=1), (z @ z.T).max(axis=1), **close("float64", 20))


def test_float32_reaches_a_thousand_too():
    wide = flock.simulate(rescaled(2), start.cube(20, 2, seed=1), 1000.0, times=[1000.0]).x.values
    narrow = flock.simulate(rescaled(2), start.cube(20, 2, seed=1), 1000.0, times=[1000.0], dtype="float32").x.values
    assert narrow.dtype == np.float32
    assert_allclose(narrow, wide, **close("float32", 20, 20))


# ---- eigenvalues 1, 1/2, -1/5


def by_differences(x0, diagonal, times):
    """Tokens that stay together: x_1 and the differences x_i - x_1, which keep their digits where z loses them."""
    n, d = x0.shape
    value = np.asarray(diagonal)

    def rates(_, y):
        first, apart = y[:d], y[d:].reshape(n, d)
        s = (first + apart) @ apart.T
        p = np.exp(s - s.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return np.concatenate([value * (first + p[0] @ apart), (((p - p[0]) @ apart) * value).ravel()])

    begin = np.concatenate([x0[0], (x0 - x0[0]).ravel()])
    y = solve_ivp(rates, (0.0, times[-1]), begin, "DOP853", times, rtol=1e-12, atol=1e-13).y.T
    x = y[:, None, :d] + y[:, d:].reshape(-1, n, d)
    return x * np.exp(-np.asarray(times)[:, None, None] * value)


@pytest.mark.parametrize("turned", [False, True])
def test_tokens_with_growing_and_fading_directions_follow_one_leader(turned):
    # Steps lose the leader at t = 36, where z_1 of all tokens is one number, and with it z_3, which grows like e^{t/5}.
    x0 = start.cube(7, 3, seed=1) + ASIDE
    times = [5.0, 20.0, 60.0]
    expected = by_differences(x0, np.diag(MIXED), times)
    assert np.ptp(expected[-1][:, 2]) > 1e4
    q = TURN if turned else np.eye(3)
    run = flock.simulate(rescaled(3, value=q @ MIXED @ q.T), x0 @ q.T, 60.0, times=times, **TIGHT)
    size = np.abs(expected).max(axis=(1, 2), keepdims=True)
    assert_allclose(run.x.values @ q / size, expected / size, rtol=0, atol=1e-7)
    assert run.attrs["steps"] < 1000


@pytest.mark.parametrize("turned", [False, True])
def test_mixed_signs_reach_a_thousand(turned):
    q = TURN if turned else np.eye(3)
    x0 = start.cube(20, 3, seed=1)
    run = flock.simulate(rescaled(3, value=q @ MIXED @ q.T), x0 @ q.T, 1000.0, times=[30.0, 1000.0])
    early, late = run.x.values @ q
    assert run.attrs["steps"] < 100
    # In x tokens keep their distance to their leader, so z_3 - z_3' grows like e^{t/5} exactly.
    level = np.round(early[:, 0], 6)
    assert len(set(level)) == 2
    for side in set(level):
        group = level == side
        grown = math.exp(0.2 * 970.0) * (early[group, 2] - early[group, 2].mean())
        assert_allclose(late[group, 2] - late[group, 2].mean(), grown, rtol=1e-6, atol=1e-6 * np.abs(grown).max())
    if not turned:
        assert np.ptp(late[level == max(level), 0]) == 0.0


def test_without_the_exact_end_steps_agree_while_they_can(monkeypatch):
    model, x0 = rescaled(3, value=MIXED), start.cube(12, 3, seed=3)
    options = {"times": [12.0, 20.0], "engine": "reference"} | TIGHT
    exact = flock.simulate(model, x0, 20.0, **options)
    monkeypatch.setattr(reference_module, "settle", lambda *_: None)
    stepped = flock.simulate(model, x0, 20.0, **options)
    assert stepped.attrs["steps"] > exact.attrs["steps"]
    assert_allclose(exact.x.values, stepped.x.values, rtol=1e-8, atol=1e-8)


def settled(model, x0, t=12.0, t_end=1000.0):
    z = flock.simulate(model, x0, t, times=[t]).x.values[-1]
    return settle(model, z, t, t_end)


def test_only_what_stays_boolean_is_solved_in_one_step():
    x0 = start.cube(12, 2, seed=1)
    assert settled(rescaled(2), x0) is not None
    assert settled(rescaled(2), x0, t=1.0) is None
    for options in (
        {"value": weights.plane_rotation(0.7) * 1.2},  # leaders take turns
        {"value": weights.jordan(1.0, 2)},  # no basis
        {"normaliser": "count", "beta": 0.0},
        {"feedforward": flock.FeedForward(np.eye(2))},
    ):
        assert settled(rescaled(2, **options), x0, t=6.0) is None
    # With Q'K = -I on the line everyone looks across: the two outermost tokens lead each other, and do not rest.
    z = np.array([[-1.0], [0.2], [0.7]])
    assert is_boolean(rescaled(1, query=-np.eye(1)), z, 8.0)
    assert settle(rescaled(1, query=-np.eye(1)), z, 8.0, 100.0) is None
    assert settle(rescaled(1), z, 8.0, 100.0) is not None


def test_a_leader_that_will_be_overtaken_is_not_taken_for_good():
    # s_11 - s_12 = e^{0.9 t} - e^t / 100 at late times: Boolean from t = 5 on, but the leader changes at t = 46.
    value, t = np.array([1.0, 0.9]), 5.0
    z = np.array([[1.0, 1.0], np.array([1.0, 1.0]) + np.exp(-t * value) * [0.01, -1.0]])
    model = rescaled(2, value=np.diag(value))
    assert_allclose(attention(model, z, t)[0], [[1.0, 0.0], [1.0, 0.0]], rtol=0, atol=1e-30)
    assert settle(model, z, t, 40.0) is not None
    assert settle(model, z, t, 1000.0) is None


def test_a_double_of_a_leader_that_moves_on_is_no_leader():
    # Causal: token 0 leads itself, and token 2 stands in the same place but sees token 1, and follows it.
    z = np.array([[1.0], [2.0], [1.0], [0.5]])
    model = rescaled(1).with_options(mask=flock.Window(2))
    assert is_boolean(model, z, 8.0)
    assert settle(model, z, 8.0, 100.0) is None
    assert settle(model, z[[0, 1, 1, 3]], 8.0, 100.0) is not None


# ---- layers and feed-forward


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_layers_reach_a_thousand(engine):
    # R^k with R = 1.1 and k = 10 000 is 1e413.
    run = flock.simulate(rescaled(1), TWELVE, 1000.0, scheme="layers", dt=0.1, times=[0.0, 20.0, 1000.0], engine=engine)
    z = run.x.values[-1, :, 0]
    assert set(z) == {z[TWELVE.argmin()], z[TWELVE.argmax()]}
    assert run.attrs["boolean_from"] == 20.0


def test_layers_with_mixed_signs_go_on_as_their_definition():
    model, x0, dt = rescaled(3, value=MIXED), start.cube(9, 3, seed=2) + ASIDE, 0.25
    times = dt * np.arange(0, 161, 20)
    run = flock.simulate(model, x0, 40.0, scheme="layers", dt=dt, times=times)
    # The definition in x: x_1 and differences to it, as above.
    first, apart, seen = x0[0].copy(), x0 - x0[0], [x0]
    for k in range(160):
        s = (first + apart) @ apart.T
        p = np.exp(s - s.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        step = dt * np.diag(MIXED)
        first, apart = first + step * (first + p[0] @ apart), apart + step * ((p - p[0]) @ apart)
        if (k + 1) % 20 == 0:
            seen.append((first + apart) / (1 + step) ** (k + 1))
    size = np.abs(seen).max(axis=(1, 2), keepdims=True)
    assert_allclose(run.x.values / size, np.array(seen) / size, rtol=0, atol=1e-9)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_feedforward_blocks_reach_a_thousand(activation):
    model = rescaled(2, feedforward=flock.FeedForward(np.eye(2), activation=activation))
    run = flock.simulate(model, start.cube(12, 2, seed=2), 1000.0, times=[500.0, 1000.0])
    assert run.attrs["steps"] < 2000
    # Tokens that have met pass each other by the error of a step, so they may drift by rtol a step.
    assert_allclose(run.x.values[0], run.x.values[1], rtol=0, atol=1e-6 * run.attrs["steps"])


def test_heads_reach_a_thousand():
    value, query = np.stack([0.5 * np.eye(2)] * 2), np.stack([np.eye(2), [[1.0, 0.5], [0.0, 1.0]]])
    run = flock.simulate(rescaled(2, value=value, query=query), start.cube(12, 2, seed=2), 1000.0, times=[1000.0])
    assert np.isfinite(run.x.values).all()
    assert np.abs(velocity(rescaled(2, value=value, query=query), run.x.values[-1], 1000.0)).max() < 1e-6


# ---- boolean_from


def test_boolean_from_is_the_first_kept_time_with_one_weight_in_every_row():
    model, times = rescaled(1), np.linspace(0.0, 10.0, 101)
    run = flock.simulate(model, TWELVE, 10.0, times=times, **TIGHT)
    far = [from_a_basis_row(attention(model, z, t)[0]) for z, t in zip(run.x.values, times, strict=True)]
    boolean = np.array(far) < 2 * np.finfo(float).eps
    assert (np.diff(boolean.astype(int)) >= 0).all()
    assert run.attrs["boolean_from"] == times[boolean.argmax()]
    assert 6.9 < run.attrs["boolean_from"] < 7.6


def test_boolean_from_holds_through_times_at_which_tokens_have_met():
    run = flock.simulate(rescaled(3, value=MIXED), start.cube(20, 3, seed=1), 1000.0, times=np.linspace(0, 1000, 201))
    assert 5.0 <= run.attrs["boolean_from"] <= 20.0


def test_boolean_from_is_nan_where_a_row_stays_undecided():
    # (-u, 0, u): the row of the middle token is (1/3, 1/3, 1/3) at all times.
    # (A run leaves this state by t = 3, pushed by rounding.)
    assert not is_boolean(rescaled(1), np.array([[-1.0], [0.0], [1.0]]), 900.0)
    assert is_boolean(rescaled(1), np.array([[-1.0], [0.1], [1.0]]), 900.0)
    # Level but apart: two leaders, no matter how late.
    z = np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 0.5]])
    assert not is_boolean(rescaled(2), z, 900.0)
    assert not is_boolean(rescaled(2, beta=np.inf), z, 0.0)


def test_ensembles_have_boolean_from_for_every_run_and_other_spaces_none():
    x0 = np.stack([TWELVE, 0.01 * TWELVE])
    run = flock.simulate(rescaled(1), x0, 9.0, times=np.arange(0.0, 9.5, 0.5))
    assert run.boolean_from.dims == ("run",)
    assert run.boolean_from.values[0] == 7.5
    assert math.isnan(run.boolean_from.values[1])
    none = flock.simulate(rescaled(1), TWELVE, 9.0, reduce={"top": np.max}, positions=False)
    assert math.isnan(none.attrs["boolean_from"])
    assert "boolean_from" not in flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), 1.0).attrs


# ---- back to x


@pytest.mark.parametrize("value", [np.eye(3), MIXED, weights.ginibre(3, 1), weights.jordan(1.0, 3)])
def test_unrescaled_runs_are_the_runs_in_r_d(value):
    x0, times = start.cube(9, 3, seed=2), np.linspace(0.0, 3.0, 7)
    model = rescaled(3, value=value)
    x = flock.unrescale(flock.simulate(model, x0, 3.0, times=times, rtol=1e-11, atol=1e-13))
    open_space = model.with_options(space="euclidean")
    expected = flock.simulate(open_space, x0, 3.0, times=times, rtol=1e-11, atol=1e-13)
    assert np.abs(expected.x.values).max() > 2
    assert_allclose(x.x.values, expected.x.values, **within(1e-8, 1e-8, 1.0))
    assert flock.trajectories.model_of(x).space == "euclidean"
    flock.validate(x)


def test_unrescaled_layers_and_ensembles():
    x0 = start.cube(6, 2, seed=2, runs=3)
    options = {"scheme": "layers", "dt": 0.25}
    model = rescaled(2, value=models.ginibre(2, 1))
    x = flock.unrescale(flock.simulate(model, x0, 3.0, **options))
    expected = flock.simulate(model.with_options(space="euclidean"), x0, 3.0, **options)
    assert x.x.dims == expected.x.dims
    assert_allclose(x.x.values, expected.x.values, **close("float64", 6, 1000))


def test_unrescale_keeps_what_float64_can_hold():
    # exp(-1.2 t) is 0 at t = 700, but x_3 = e^{-t/5} z_3 is of order 1.
    z = flock.simulate(rescaled(3, value=MIXED), start.cube(9, 3, seed=2) + ASIDE, 1000.0, times=[30.0, 700.0])
    x = flock.unrescale(z).x.values
    apart = x[:, :, 2] - x[:, :1, 2]
    assert_allclose(apart[1], apart[0], rtol=1e-9, atol=1e-9)


def test_unrescale_says_when_it_cannot():
    run = flock.simulate(rescaled(2), start.cube(5, 2), 1000.0, times=[100.0, 700.0, 800.0, 1000.0])
    with pytest.raises(SpecError, match=r"beyond the range of float64 from t = 800 on.*run\.time < 800"):
        flock.unrescale(run)
    assert np.isfinite(flock.unrescale(run.sel(time=run.time < 800)).x.values).all()
    with pytest.raises(SpecError, match=r"a run in space='sphere'.*a run in space='rescaled'"):
        flock.unrescale(flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), 1.0))
    blocks = flock.simulate(rescaled(2, feedforward=flock.FeedForward(np.eye(2))), start.cube(5, 2), 1.0)
    with pytest.raises(SpecError, match=r"no model in R\^d has these trajectories"):
        flock.unrescale(blocks)
    bare = flock.simulate(rescaled(2), start.cube(5, 2), 1.0, reduce={"top": np.max}, positions=False)
    with pytest.raises(SpecError, match="without positions"):
        flock.unrescale(bare)


# ---- what overflows all the same


def test_what_cannot_be_held_says_so():
    # z_2 = e^{2t} x_2 leaves float64 at t = 355.
    model = rescaled(2, value=np.diag([1.0, -2.0]))
    with pytest.raises(EngineError, match=r"no longer finite.*eigenvectors of V with a negative.*Reached t = 3"):
        flock.simulate(model, start.cube(12, 2, seed=2), 1000.0)
    with pytest.raises(EngineError, match=r"weights of normaliser='count': lower t_end, or use 'softmax'"):
        flock.simulate(rescaled(2, normaliser="count"), start.cube(12, 2, seed=2), 1000.0, scheme="rk4", dt=0.1)


@pytest.mark.parametrize("size", [0.0, 1e-12, 1e3, 1e6])
def test_values_of_any_size(size):
    run = flock.simulate(rescaled(2, value=size * np.eye(2)), start.cube(12, 2, seed=2), 1.0)
    assert run.attrs["outcome"] == Outcome.DONE.value
    assert math.isnan(run.attrs["boolean_from"]) == (size < 1)


def test_a_singular_value_leaves_its_kernel_at_rest():
    x0 = start.cube(12, 2, seed=2)
    run = flock.simulate(rescaled(2, value=np.diag([1.0, 0.0])), x0, 1000.0, times=[1000.0])
    assert_allclose(run.x.values[-1][:, 1], x0[:, 1], **close("float64", 12))
