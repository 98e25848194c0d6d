"""Weights that change with time (E18): laws, closed forms, files, and what cannot be."""

import math

import numpy as np
import pytest

import tokenflock as flock
from tokenflock.errors import EngineError, SpecError
from tokenflock.geometry import retract
from tokenflock.model import attention
from tokenflock.options import FeedForward
from tokenflock.request import Request
from tokenflock.stretches import stretches
from tokenflock.varying import mixed
from tokenflock.weights import ginibre, identity

rng = np.random.default_rng(0)
VALUES, KNOTS = rng.standard_normal((3, 3, 3)), [0.0, 0.4, 1.1]
STEPS = flock.Schedule(KNOTS, VALUES)
X = flock.uniform(8, 3, seed=0)
ENDS = {"times": [0.0, 2.0]}


def near_identity(dim, seed):
    return np.eye(dim) + SPREAD * np.sin(seed + np.arange(float(dim)))


SPREAD = 0.0


def last(model, x=X, t_end=2.0, **options):
    return flock.simulate(model, x, t_end, **options)["x"].values[..., -1, :, :]


def test_a_schedule_says_its_value_at_a_time():
    lines = flock.Schedule([0.0, 1.0, 3.0], [1.0, 2.0, 6.0], "linear")
    assert [float(lines(t)) for t in (0.0, 0.5, 2.0, 3.0)] == [1.0, 1.5, 4.0, 6.0]
    steps = flock.Schedule([0.0, 1.0, 3.0], [1.0, 2.0, 6.0])
    assert [float(steps(t)) for t in (0.0, 0.99, 1.0, 9.0)] == [1.0, 1.0, 2.0, 6.0]
    closed = flock.Schedule([0.0, 1.0, 3.0], [1.0, 2.0])
    assert (float(closed(3.0)), closed.end, steps.end, lines.end) == (2.0, 3.0, math.inf, 3.0)


def test_a_constant_schedule_is_one_run_after_another():
    wanted, model = X, flock.Model(dim=3, beta=2.0)
    for value, length in zip(VALUES, (0.4, 0.7, 0.9), strict=True):
        wanted = last(model.with_options(value=value), wanted, length, rtol=1e-12, atol=1e-14)
    assert np.abs(last(model.with_options(value=STEPS), rtol=1e-10, atol=1e-12) - wanted).max() < 1e-8


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_no_step_crosses_a_change(engine):
    model = flock.Model(dim=3, value=STEPS, beta=flock.Schedule([0.0, 0.7], [1.0, 3.0]))
    job = Request(model, 2.0, engine=engine).starting(X)
    stepper, frames, seen = job.begin(), np.zeros((len(job.request.kept), *X.shape)), [0.0]
    while stepper.outcome is None:
        stepper.advance(job.request.kept, frames, 1)
        seen.append(stepper.t)
    assert {0.4, 0.7, 1.1} <= set(seen)
    assert [round(stretch.middle, 3) for stretch in stretches(model, 2.0)] == [0.2, 0.55, 0.9, 1.55]


def test_steps_of_a_scheme_keep_their_order_across_jumps():
    model = flock.Model(dim=3, value=STEPS)
    exact = last(model, rtol=1e-12, atol=1e-14)
    coarse, fine = (np.abs(last(model, scheme="rk4", dt=dt, **ENDS) - exact).max() for dt in (0.1, 0.05))
    assert coarse / fine > 10.0  # 2^4, where a step over a jump would leave 2


def test_a_function_of_time_is_what_linear_pieces_come_to():
    turn = flock.Model(dim=2, beta=lambda t: 2.0 + np.sin(t))
    knots = np.linspace(0.0, 2.0, 201)
    pieces = flock.Model(dim=2, beta=flock.Schedule(knots, 2.0 + np.sin(knots), "linear"))
    start = flock.uniform(5, 2, seed=0)
    assert np.abs(last(turn, start, rtol=1e-8) - last(pieces, start, rtol=1e-8)).max() < 1e-4
    assert np.abs(last(turn, start) - last(flock.Model(dim=2, beta=2.0), start)).max() > 1e-3


def test_without_variance_what_is_drawn_anew_is_constant(monkeypatch):
    fixed = last(flock.Model(dim=3), rtol=1e-10)
    for family in (identity, near_identity):
        anew = last(flock.Model(dim=3, value=flock.redrawn(family, every=0.3)), rtol=1e-10)
        assert np.abs(anew - fixed).max() < 1e-8
    far = last(flock.Model(dim=3, value=flock.redrawn(ginibre, every=0.3)), rtol=1e-10)
    assert np.abs(far - fixed).max() > 0.1


def test_layers_have_one_draw_each_and_heads_their_own():
    anew = flock.redrawn(ginibre, every=0.1, heads=2, seed=5)
    model = flock.Model(dim=3, beta=2.0, value=anew)
    x = X
    for k in range(7):
        drawn = np.stack([ginibre(3, mixed(5, 2, k, 0, head)) for head in range(2)])
        held = model.with_options(value=drawn)
        a = attention(held, x)
        x = retract(x + 0.1 * sum(a[h] @ x @ drawn[h].T for h in range(2)))
    for engine in ("cpu", "reference"):
        found = last(model, t_end=0.7, scheme="layers", dt=0.1, engine=engine)
        assert np.abs(found - x).max() < 1e-12


def test_draws_are_their_own_and_repeat():
    anew = flock.redrawn(ginibre, seed=1)
    model = flock.Model(dim=3, query=anew, key=anew, value=anew)
    first, later = model.at(0.5), model.at(1.5)
    draws = [first.query, first.key, first.value, later.query, flock.Model(dim=3, query=flock.redrawn(ginibre)).query]
    assert len({draw.tobytes() for draw in draws}) == 5
    assert (model.at(0.99).query == first.query).all()
    assert (flock.Model(dim=3, query=flock.redrawn(ginibre, seed=1)).at(1.5).query == later.query).all()


def test_runs_of_an_ensemble_have_draws_of_their_own_if_they_are_asked_for():
    both = np.stack([X, X])
    same = last(flock.Model(dim=3, value=flock.redrawn(ginibre)), both)
    own = last(flock.Model(dim=3, value=flock.redrawn(ginibre, each_run=True)), both)
    assert (same[0] == same[1]).all()
    assert np.abs(own[0] - own[1]).max() > 0.1


@pytest.mark.parametrize(
    "options",
    [
        {"value": STEPS, "beta": flock.Schedule([0.0, 2.0], [1.0, 3.0], "linear")},
        {"query": flock.redrawn(ginibre, every=0.5, seed=3, heads=2, scale=0.5)},
        {"value": flock.redrawn(near_identity)},
        {"beta": lambda t: 1.0 + t},
        {"feedforward": FeedForward(STEPS, activation="tanh")},
    ],
    ids=["schedules", "redrawn", "own family", "function", "feedforward"],
)
def test_files_and_again_have_weights_that_change(options, tmp_path):
    run = flock.simulate(flock.Model(dim=3, **options), X, 1.5)
    assert flock.again(run)["x"].equals(run["x"])
    flock.save(run, tmp_path / "run.zarr")
    assert flock.again(flock.load(tmp_path / "run.zarr"))["x"].equals(run["x"])


def test_what_cannot_be_repeated_says_so():
    table = {"beta": 1.0}
    run = flock.simulate(flock.Model(dim=3, beta=lambda t: table["beta"]), X, 1.0)
    with pytest.raises(SpecError, match=r"beta was a function that the file could not keep: it uses table"):
        flock.again(run)


def test_a_weight_given_anew_takes_the_place_of_one_that_changes():
    model = flock.Model(dim=3, beta=flock.Schedule([0.0, 1.0], [1.0, 2.0]), value=STEPS)
    assert set(model.varying) == {"value", "beta"}
    assert set(model.with_options(beta=1.0).varying) == {"value"}
    assert set(model.with_options(mask="full").varying) == {"value", "beta"}
    assert model.with_options(beta=1.0, value=None).varying is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: flock.Schedule([0.0, 0.0], [1.0, 2.0]), "strictly increasing times"),
        (lambda: flock.Schedule([0.0, 1.0], [1.0, 2.0, 3.0]), r"values.shape = \(3,\).*\(2, ...\)"),
        (lambda: flock.Schedule([0.0, 1.0], [1.0, 2.0], "cubic"), "unknown kind of schedule 'cubic'"),
        (lambda: flock.redrawn("ginibre"), r"family = 'ginibre'.*flock.weights.ginibre"),
        (lambda: flock.redrawn(ginibre, every=0.0), "every = 0.0"),
        (lambda: flock.redrawn(ginibre, skale=1.0), "skale of redrawn = 1.0.*scale"),
        (lambda: flock.Model(dim=2, varying={"valu": STEPS}), "unknown varying weight 'valu'.*'value'"),
        (lambda: flock.Model(dim=2, varying={"value": 3.0}), "a flock.Schedule, flock.redrawn"),
        (lambda: flock.Model(dim=2, value=STEPS), r"value.shape = \(3, 3\)"),
        (lambda: flock.Model(dim=3, space="rescaled", value=STEPS), "exp\\(-tV\\) needs one V"),
        (lambda: flock.Model(dim=3, feedforward=FeedForward(flock.redrawn(ginibre))), "Give its size"),
    ],
)
def test_what_cannot_change_says_why(make, words):
    with pytest.raises(SpecError, match=words):
        flock.simulate(make(), X, 1.0)


def test_a_schedule_that_ends_too_early_or_begins_too_late_says_when():
    short = flock.Schedule([0.0, 1.0], [1.0, 2.0], "linear")
    with pytest.raises(SpecError, match=r"beta = 'a schedule from t = 0 to 1' .* t_end = 2.*Give a knot"):
        flock.simulate(flock.Model(dim=3, beta=short), X, 2.0)
    assert flock.simulate(flock.Model(dim=3, beta=short), X, 2.0, times=[0.0, 1.0]).outcome == "Reached t_end."
    with pytest.raises(SpecError, match=r"a schedule from t = 0.5 to inf"):
        flock.simulate(flock.Model(dim=3, beta=flock.Schedule([0.5], [1.0])), X, 2.0)


def test_a_function_that_is_not_finite_or_changes_its_shape_names_the_time():
    with pytest.raises(SpecError, match=r"beta = 'nan at t = 0.5.*Does it end too early"):
        flock.simulate(flock.Model(dim=3, beta=lambda t: 1.0 if t < 0.5 else math.nan), X, 0.5)
    grows = flock.Model(dim=3, value=lambda t: np.eye(3) if t < 0.5 else np.eye(2))
    with pytest.raises(SpecError, match=r"value.shape at t = 0\.\d+ = \(2, 2\).*\(3, 3\), as at t = 0"):
        flock.simulate(grows, X, 1.0)


def test_engines_that_do_not_know_them_say_so():
    with pytest.raises(EngineError, match=r"harmonic.* does not know the option varying"):
        flock.simulate(flock.Model(dim=3, value=STEPS), X, 1.0, engine="harmonic")
    with pytest.raises(EngineError, match=r"beta changes all the time.*engine='reference'"):
        flock.simulate(flock.Model(dim=3, beta=lambda t: 1.0 + t), X, 1.0, engine="cpu")
    assert flock.simulate(flock.Model(dim=3, beta=lambda t: 1.0 + t), X, 0.1).engine == "reference"
    with pytest.raises(SpecError, match="cannot be used with the option varying"):
        flock.simulate(flock.Model(dim=3, value=STEPS), X, 1.0, scheme="rosenbrock")
    run = flock.simulate(flock.Model(dim=3, value=STEPS), X, 1.0)
    with pytest.raises(SpecError, match="weights that change with time"):
        flock.extend(run, flock.uniform(2, 3, seed=9))


# ---- random weights in every layer: two tokens, V anew, x <- N(x + eta V (A x)_i)
#
# With c = <x, y>, weights p, q = 1 - p and u = p x + q y, w = p y + q x the two pushes eta V u, eta V w are Gaussian,
# with covariances <u, w> I. In the limit of small eta c is a diffusion; near c = -1 the log of 1 + c has the drift
# (d - 3) - tanh(beta)^2 (d - 1) in units of eta^2: antipodal tokens stay so from cosh(2 beta) = d - 2 on. Near c = 1
# that of 1 - c is 1 - d.


def exponent(beta, dim, sign, eta=0.1, runs=60, layers=100):
    """The growth of log(1 - sign c) in units of eta^2, and its standard error, of two tokens that begin close to it."""
    first = np.eye(dim)[:1]
    start = np.broadcast_to(np.concatenate([first, sign * retract(first + 1e-4 * np.eye(dim)[1:2])]), (runs, 2, dim))
    model = flock.Model(
        dim=dim, beta=beta, mask="full", value=flock.redrawn(ginibre, every=eta, scale=1.0, each_run=True)
    )
    t_end = eta * layers
    run = flock.simulate(model, start, t_end, scheme="layers", dt=eta, times=[0.0, t_end])
    gap = np.linalg.norm(run["x"][:, :, 0] - sign * run["x"][:, :, 1], axis=-1)
    growth = 2.0 * np.log(gap[:, 1] / gap[:, 0]) / (layers * eta**2)
    return growth.mean(), growth.std() / math.sqrt(runs)


@pytest.mark.parametrize(("beta", "dim", "sign"), [(0.2, 4, -1), (1.5, 4, -1), (0.5, 3, 1)])
def test_two_tokens_under_random_layers_have_the_exponents_of_their_closed_form(beta, dim, sign):
    wanted = dim - 3 - math.tanh(beta) ** 2 * (dim - 1) if sign < 0 else 1.0 - dim
    found, error = exponent(beta, dim, sign)
    assert abs(found - wanted) < 4.0 * error + 0.1 * abs(wanted)
    if sign < 0:  # the side of the threshold cosh(2 beta) = d - 2
        assert (found > 0) == (math.cosh(2 * beta) < dim - 2)


def test_a_run_toml_says_them():
    from tokenflock.spec import model_of

    said = {
        "beta": {"knots": [0.0, 2.0], "values": [1.0, 5.0], "kind": "linear"},
        "value": {"redrawn": "ginibre:scale=0.5", "every": 0.5, "seed": 3, "heads": 2},
        "query": {"of_t": "1 + t"},
    }
    model = model_of({"dim": 3, "beta": said["beta"], "value": said["value"]})
    assert model.at(1.0).beta == 3.0
    own = flock.redrawn(ginibre, every=0.5, seed=3, heads=2, scale=0.5)
    assert (model.at(0.7).value == flock.Model(dim=3, value=own).at(0.7).value).all()
    assert model_of({"dim": 3, "beta": said["query"]}).at(2.0).beta == 3.0
    for table, words in (
        ({"knots": [0.0]}, "a table of knots and values"),
        ({"redrawn": "ginibr", "every": 1.0}, "unknown value family 'ginibr'"),
        ({"redrawn": "ginibre", "evry": 1.0}, "value.evry = 1.0"),
        ({"of_t": "__import__('os')"}, "value|text"),
    ):
        with pytest.raises(SpecError, match=words):
            model_of({"dim": 3, "value": table})
