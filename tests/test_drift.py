"""Terms and velocities of the user's own (E22), and runs that end at an event."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tokenflock as flock
from tokenflock.errors import EngineError, SpecError
from tokenflock.geometry import retract, tangent

AXIS = np.array([0.0, 0.0, 1.0])
X = flock.uniform(6, 3, seed=0)
FIRST = float(-np.arctan2(X[0, 1], X[0, 0]) % np.pi)  # when token 0, turning about AXIS, crosses the plane y = 0


def spin(x, t):
    return np.cross(AXIS, x)


def turned(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def test_a_velocity_of_ones_own_is_followed_to_the_tolerance():
    for rtol in (1e-4, 1e-6, 1e-9):
        run = flock.simulate(spin, X, 2.0, rtol=rtol, atol=rtol)
        assert np.abs(run["x"].values[-1] - X @ turned(2.0).T).max() < 10 * rtol
        assert flock.again(run)["x"].equals(run["x"])


def test_in_the_open_space_it_is_that_of_scipy():
    def swing(x, t):
        return np.stack([x[:, 1], -np.sin(x[:, 0]) + 0.1 * np.cos(t)], axis=1)

    start = np.array([[1.0, 0.0], [0.1, 0.5]])
    run = flock.simulate(swing, start, 10.0, space="euclidean", rtol=1e-9)
    whole = solve_ivp(lambda t, y: swing(y.reshape(2, 2), t).ravel(), (0, 10), start.ravel(), rtol=1e-11, atol=1e-12)
    assert np.abs(run["x"].values[-1] - whole.y[:, -1].reshape(2, 2)).max() < 1e-6


def test_a_velocity_that_is_the_models_gives_its_run():
    model = flock.Model(dim=3, beta=2.0, mask="full")

    def attention(x, t):
        w = np.exp(2.0 * x @ x.T)
        d = (w @ x) / w.sum(axis=1)[:, None]
        return d - (d * x).sum(axis=1)[:, None] * x

    ours, theirs = (
        flock.simulate(model, X, 3.0, rtol=1e-9, engine="reference"),
        flock.simulate(attention, X, 3.0, rtol=1e-9),
    )
    assert np.abs(ours["x"].values - theirs["x"].values).max() < 1e-7


def test_a_drift_that_turns_all_tokens_alike_turns_the_run():
    model = flock.Model(dim=3, beta=2.0)
    plain = flock.simulate(model, X, 2.0, rtol=1e-9, engine="reference")["x"].values[-1]
    turning = flock.simulate(model.with_options(drift=spin), X, 2.0, rtol=1e-9)
    assert np.abs(turning["x"].values[-1] - plain @ turned(2.0).T).max() < 1e-7
    assert flock.again(turning)["x"].equals(turning["x"])
    fed = flock.FeedForward(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), activation="linear")
    same = flock.simulate(model.with_options(feedforward=fed), X, 2.0, rtol=1e-9, engine="reference")["x"].values[-1]
    assert np.abs(turning["x"].values[-1] - same).max() < 1e-7


def test_layers_and_noise_have_a_drift_too():
    model = flock.Model(dim=3, value=np.zeros((3, 3)), drift=spin)
    x = X
    for _ in range(5):
        x = retract(x + 0.1 * np.cross(AXIS, x))
    layers = flock.simulate(model, X, 0.5, scheme="layers", dt=0.1)
    assert np.abs(layers["x"].values[-1] - x).max() < 1e-14
    noisy = flock.simulate(model.with_options(noise=0.3), X, 0.5, scheme="heun", dt=0.1)
    assert flock.again(noisy)["x"].equals(noisy["x"])


def test_files_keep_it(tmp_path):
    run = flock.simulate(spin, X, 1.0)
    flock.save(run, tmp_path / "run.zarr")
    loaded = flock.load(tmp_path / "run.zarr")
    assert flock.again(loaded)["x"].equals(run["x"])
    assert "cross" in loaded.attrs["model"]


# ---- events


def test_a_run_ends_where_a_function_changes_its_sign():
    run = flock.simulate(spin, X, 5.0, rtol=1e-10, atol=1e-12, until=lambda x, t: x[0, 1])
    assert float(run["event"]) == pytest.approx(FIRST, abs=1e-8)
    assert run["time"].values[-1] == run["event"]
    assert abs(run["x"].values[-1, 0, 1]) < 1e-12
    assert flock.again(run)["x"].equals(run["x"])
    at = flock.simulate(spin, X, 5.0, until=lambda x, t: t - 1.2345678)
    assert float(at["event"]) == pytest.approx(1.2345678, abs=1e-12)
    never = flock.simulate(spin, X, 5.0, until=lambda x, t: 1.0 + x[0, 2] ** 2)
    assert np.isnan(float(never["event"]))
    assert never["time"].values[-1] == 5.0


def test_events_of_models_and_of_ensembles():
    starts = np.stack([X, flock.uniform(6, 3, seed=1)])
    model = flock.Model(dim=3, mask="full")
    near = lambda x, t: np.min(x @ x.T) - 0.9  # noqa: E731
    both = flock.simulate(model, starts, 10.0, until=near, rtol=1e-9)
    for r, start in enumerate(starts):
        one = flock.simulate(model, start, 10.0, until=near, rtol=1e-9)
        assert float(one["event"]) == pytest.approx(float(both["event"][r]), rel=1e-8)
        assert np.min(one["x"].values[-1] @ one["x"].values[-1].T) == pytest.approx(0.9, abs=1e-8)
    assert both["time"].values[-1] == both["event"].max()


def test_events_of_fixed_steps_are_at_kept_times():
    run = flock.simulate(spin, X, 2.0, scheme="rk4", dt=0.1, until=lambda x, t: x[0, 1])
    assert float(run["event"]) == run["time"].values[-1]
    assert FIRST <= float(run["event"]) <= FIRST + 0.02 + 1e-9


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: flock.simulate(lambda x, t: x + 0.0, X, 1.0), r"the velocity at t = 0 = '1 along token 0.*tangent"),
        (
            lambda: flock.simulate(lambda x, t: x[:3], X, 1.0),
            r"the shape of the velocity at t = 0 = \(3, 3\).*\(6, 3\)",
        ),
        (
            lambda: flock.simulate(lambda x, t: np.where(x > 2.0, x, np.nan), X, 1.0),
            r"the velocity at t = 0 = .*nan.* for token 0 at",
        ),
        (lambda: flock.simulate(lambda x: x, X, 1.0), r"velocity = 'a function of \(x\)'.*\(x, t\)"),
        (lambda: flock.simulate(flock.Model(dim=3), X, 1.0, space="sphere"), "space is for a velocity of your own"),
        (lambda: flock.simulate(spin, X, 1.0, space="ring"), "unknown space 'ring'"),
        (lambda: flock.simulate(spin, X[0], 1.0), r"start.shape = \(3,\)"),
        (lambda: flock.simulate(spin, X, 1.0, until=lambda x, t: x[0]), r"until at t = 0 = 'an array of shape \(3,\)'"),
        (lambda: flock.simulate(flock.Model(dim=3), X, np.inf, until=lambda x, t: 1.0), "Give a finite t_end"),
        (lambda: flock.Model(dim=3, drift=3.0), "drift = 3.0"),
        (lambda: flock.Model(dim=3, drift=spin, space="rescaled"), "drift and space='rescaled'"),
    ],
)
def test_what_cannot_be_says_why(call, words):
    with pytest.raises(SpecError, match=words):
        call()


def test_a_velocity_that_leaves_the_tangent_space_later_names_the_time_and_the_token():
    def late(x, t):
        return tangent(x, np.cross(AXIS, x)) + (x if t > 0.5 else 0.0)

    with pytest.raises(SpecError, match=r"the velocity at t = 0\.\d+ = '1 along token 0"):
        flock.simulate(late, X, 1.0)


def test_engines_that_do_not_know_a_drift_say_so():
    with pytest.raises(EngineError, match="does not know the option drift"):
        flock.simulate(spin, X, 1.0, engine="cpu")


def test_the_diagnosis_says_what_no_theorem_covers():
    model = flock.Model(dim=3, drift=spin, value=flock.Schedule([0.0, 0.5], np.stack([np.eye(3), -np.eye(3)])))
    told = str(flock.diagnose(flock.simulate(model, X, 1.0)))
    assert "value changes with time" in told
    assert "a drift of yours moves the tokens" in told
    assert "The atlas of paper A for this V" not in told
    assert "all of the velocity is a function of yours" in str(flock.diagnose(flock.simulate(spin, X, 1.0)))


def test_a_recording_of_weights_drawn_anew_is_a_page(tmp_path):
    model = flock.Model(dim=3, value=flock.redrawn(flock.weights.ginibre, every=0.5))
    run = flock.simulate(model, X, 1.0)
    assert flock.export(run, tmp_path / "page.html", frames=3).exists()
