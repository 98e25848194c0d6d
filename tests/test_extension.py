"""Tokens added to a finished causal run: the same as if they had been there, at the price of their own rows."""

import numpy as np
import pytest

import tokenflock as flock
from models import every_model_option
from tokenflock import Alibi, FeedForward, Frozen, Model, Window, extension, simulate
from tokenflock.engine.traits import traits
from tokenflock.errors import SpecError
from tokenflock.geometry import circle, retract
from tokenflock.interaction import Kernel, Normaliser
from tokenflock.positions import Rope
from tokenflock.schemes import hermite

G = np.random.default_rng(11).standard_normal
OLD, NEW = 14, 3
CAUSAL = {
    "circle": Model(dim=2, beta=16.0),
    "sphere": Model(dim=3, beta=4.0),
    "any weights": Model(dim=3, beta=2.0, query=G((3, 3)), key=G((3, 3)), value=G((3, 3))),
    "heads": Model(dim=5, query=G((2, 2, 5)), key=G((2, 2, 5)), value=G((2, 5, 5))),
    "window": Model(dim=2, beta=4.0, mask=Window(4)),
    "window wider than the new": Model(dim=3, beta=4.0, mask=Window(2)),
    "frozen": Model(dim=2, beta=4.0, frozen=Frozen(circle(np.array([0.3, 2.0])), np.array([1.0, 3.0]))),
    "bias": Model(dim=2, beta=4.0, bias=Alibi(0.3)),
    "count": Model(dim=3, normaliser="count"),
    "feed-forward": Model(dim=3, feedforward=FeedForward(G((3, 4)) / 4, G((4, 3)), G(4), "tanh")),
    "kernel": Model(dim=2, kernel=Kernel("sigmoid", bias=-1.0), normaliser=Normaliser("sink", own=False)),
    "straight": Model(dim=2, space="euclidean", value=-np.eye(2)),
}


def tokens(model, n, seed=0):
    x = np.random.default_rng(seed).standard_normal((n, model.dim))
    return retract(x) if model.space == "sphere" else x


ROWS = [
    named
    for named in every_model_option()
    if traits(named.model).causal
    and named.model.space in ("sphere", "euclidean")
    and named.model.norm.kind == "post"
    and np.isfinite(named.model.beta)
]


@pytest.mark.parametrize("named", ROWS, ids=str)
def test_the_last_rows_of_the_equations_are_those_of_all(named):
    x = tokens(named.model, 11)
    truth = flock.velocity(named.model, x)[8:]
    rows = extension.Rows(named.model, 8, 3).velocity(x[:8], x[8:])
    assert np.abs(rows - truth).max() <= 1e-13 * (1 + np.abs(truth).max())


def test_the_polynomial_is_exact_to_its_degree():
    nodes = np.array([0.0, 1.0, 2.5, 3.0])
    for t in (-0.2, 0.3, 1.7, 2.5, 2.9):
        for k in range(8):
            exact = hermite(t, nodes, nodes**k, k * nodes ** max(k - 1, 0))
            assert exact == pytest.approx(t**k, abs=1e-11 * 3**k)
        assert hermite(t, nodes, nodes**8, 8 * nodes**7) != pytest.approx(t**8, abs=1e-9) or t in nodes


@pytest.mark.parametrize("name", CAUSAL)
def test_an_extended_run_is_the_run_of_all_tokens(name):
    model, times = CAUSAL[name], np.linspace(0, 6, 121)
    x = tokens(model, OLD + NEW, seed=2)
    run = simulate(model, x[:OLD], 6.0, times=times)
    longer = extension.extend(run, x[OLD:])
    assert longer["x"].values[:, :OLD].tobytes() == run["x"].values.tobytes(), "the old ones keep their bits"
    truth = simulate(model, x, 6.0, times=times, rtol=1e-11, atol=1e-13)["x"].values
    plain = simulate(model, x, 6.0, times=times)["x"].values
    allowed = max(10 * 1e-6 * (1 + np.abs(truth).max()), 3 * np.abs(plain - truth).max())
    assert np.abs(longer["x"].values - truth).max() < allowed
    if model.space == "sphere":
        assert np.abs(np.linalg.norm(longer["x"].values, axis=-1) - 1).max() < 1e-14
    assert np.abs(longer["x"].values[:, OLD:] - longer["start"].values[OLD:]).max() > 0.01, "they move"


def test_the_error_follows_the_tolerance():
    model, times = CAUSAL["circle"], np.linspace(0, 6, 401)
    x = tokens(model, OLD + NEW, seed=2)
    truth = simulate(model, x, 6.0, times=times, rtol=1e-12, atol=1e-14)["x"].values
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8):
        run = simulate(model, x[:OLD], 6.0, times=times, rtol=rtol, atol=rtol)
        errors.append(np.abs(flock.extend(run, x[OLD:])["x"].values - truth).max())
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert errors[2] < 1e-6


def test_a_new_token_costs_one_row(monkeypatch):
    seen, rows = [], extension.Rows.velocity
    monkeypatch.setattr(extension.Rows, "velocity", lambda self, *x: seen.append(x[1].shape[0]) or rows(self, *x))
    counts = []
    for n in (20, 80):
        x = flock.uniform(n + 2, 2, seed=3)
        run = simulate(Model(dim=2, beta=4.0), x[:n], 5.0)
        counts.append(flock.extend(run, x[n:]).attrs["evaluations"])
    assert set(seen) == {2}, "never the rows of old tokens"
    assert counts[1] < 1.5 * counts[0], "and not more often where there are more of them"


def test_the_next_extension_finds_the_velocities_of_the_old(monkeypatch):
    from tokenflock.engine.cpu import CpuEngine

    x, frames = flock.uniform(10, 2, seed=3), []
    once = flock.extend(simulate(Model(dim=2, beta=4.0), x[:8], 5.0), x[8:9])
    slow = CpuEngine.velocity
    monkeypatch.setattr(CpuEngine, "velocity", lambda *a, **k: frames.append(1) or slow(*a, **k))
    flock.extend(once, x[9:])
    assert not frames


def test_frames_too_far_apart_are_refused_with_how_many_it_takes():
    model, x = Model(dim=2, beta=64.0), flock.uniform(42, 2, seed=5)
    run = simulate(model, x[:40], 20.0, times=np.linspace(0, 20, 21))
    with pytest.raises(SpecError, match=r"too far apart to extend it.*flock\.again\(run, times=numpy") as refused:
        flock.extend(run, x[40:])
    needed = int(str(refused.value).split(", ")[-2].split(")")[0])
    assert 21 < needed < 2000
    longer = flock.extend(flock.again(run, times=np.linspace(0, 20, needed)), x[40:])
    truth = simulate(model, x, 20.0, times=longer["time"].values, rtol=1e-11, atol=1e-13)["x"].values
    assert np.abs(longer["x"].values - truth).max() < 2e-5


def test_without_the_check_sparse_frames_would_be_wrong(monkeypatch):
    model, x = Model(dim=2, beta=64.0), flock.uniform(42, 2, seed=5)
    run = simulate(model, x[:40], 20.0, times=np.linspace(0, 20, 9))
    monkeypatch.setattr(extension.Path, "_check", lambda *_: None)
    wrong = flock.extend(run, x[40:])["x"].values
    truth = simulate(model, x, 20.0, times=np.linspace(0, 20, 9), rtol=1e-11, atol=1e-13)["x"].values
    assert np.abs(wrong - truth).max() > 1e-4


def test_an_ensemble_is_extended_run_by_run(tmp_path):
    model, x = Model(dim=2, beta=9.0), flock.uniform(12, 2, seed=6, runs=3)
    runs = simulate(model, x[:, :10], 4.0, reduce={"first": lambda x: x[0, 0]})
    longer = flock.extend(runs, x[:, 10:])
    flock.validate(longer)
    assert longer["x"].dims == ("run", "time", "token", "axis")
    assert longer["steps"].sizes == {"run": 3}
    assert "first" not in longer, "what was kept of the old tokens is not true of all"
    for r in range(3):
        one = flock.extend(simulate(model, x[r, :10], 4.0), x[r, 10:])
        assert np.abs(longer["x"].values[r] - one["x"].values).max() < 1e-12
    same = flock.extend(runs, x[0, 10:])
    assert (same["start"].values[:, 10:] == x[0, 10:]).all()
    flock.save(longer, tmp_path / "longer.zarr")
    assert (flock.load(tmp_path / "longer.zarr")["x"].values == longer["x"].values).all()


def test_a_run_may_be_extended_twice_and_may_lack_its_start():
    model, x = Model(dim=3, beta=2.0), flock.uniform(12, 3, seed=8)
    times = np.linspace(0.05, 5, 100)
    run = simulate(model, x[:8], 5.0, times=times)
    once = flock.extend(run, x[8:10])
    for k in (0, 50, 99):
        there = flock.velocity(model, once["x"].values[k])
        assert np.abs(once["velocity"].values[k] - there).max() < 1e-5
    twice = flock.extend(once, x[10:])
    assert twice.sizes == {"time": 100, "token": 12, "axis": 3}
    assert np.abs(twice["x"].values - simulate(model, x, 5.0, times=times, rtol=1e-11)["x"].values).max() < 1e-5


def test_such_a_run_says_what_it_is_and_is_not_repeated():
    x = flock.uniform(6, 2)
    longer = flock.extend(simulate(Model(dim=2), x[:4], 3.0), x[4:])
    assert longer.attrs["extended"] == 4
    assert flock.trajectories.model_of(longer).beta == 1.0
    with pytest.raises(SpecError, match=r"extended from 4 tokens.*Run them all at once: flock\.simulate"):
        flock.again(longer)


def made(model=None, t_end=2.0, **options):
    model = Model(dim=2) if model is None else model
    return simulate(model, flock.uniform(4, 2), t_end, **options)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (lambda: made(Model(dim=2, mask="full")), "mask = 'full' cannot be used. Allowed: a causal mask. In full att"),
        (lambda: made(scheme="rk4", dt=0.1), "scheme='rk4': its steps are part of its result. Run all tokens"),
        (lambda: made(Model(dim=2, layer_norm="pre")), "a layer norm other than 'post'"),
        (lambda: made(dtype="float32"), "dtype='float32'"),
        (lambda: made(Model(dim=2, position=Rope())), "position or groups: they are those of the old tokens only"),
        (lambda: made(Model(dim=2, drift=lambda x, t: -x)), "a drift of one's own: it may look at all tokens"),
        (lambda: made(Model(dim=2, mask=np.eye(4), normaliser="sinkhorn")), "normaliser='sinkhorn': each of its rows"),
        (lambda: made(reduce={"a": len}, positions=False), "a run without all its positions"),
        (lambda: made(times=[1.0, 2.0]), "a run with 3 frames, time 0 among them.*at least 5"),
    ],
)
def test_what_cannot_be_extended_says_why(run, words):
    with pytest.raises(SpecError, match=words):
        flock.extend(run(), flock.uniform(1, 2))


def test_a_bad_weight_of_a_new_token_is_named():
    x = circle(np.array([0.0, 0.1, 0.2, 0.3, 0.4, 3.0]))  # of the last alone an overlap is negative
    run = simulate(Model(dim=2, kernel=lambda overlap: overlap + 0.2), x[:4], 1.0, times=np.linspace(0, 1, 41))
    with pytest.raises(SpecError, match=r"the weight -0\.\d+ that token 5 gives token 0 at t = 0 is negative"):
        flock.extend(run, x[4:])


def test_the_new_tokens_must_fit():
    with pytest.raises(SpecError, match=r"more_tokens.shape = \(2, 1, 2\)"):
        flock.extend(made(), flock.uniform(1, 2, runs=2))
    with pytest.raises(SpecError, match="The last axis must be the model's dim"):
        flock.extend(made(), flock.uniform(1, 3))


@pytest.mark.parametrize("t_end", [1e-60, 1e60])
def test_times_of_any_size_are_read_in_a_unit_of_their_own(t_end):
    """The interpolant multiplies eight times: its products would be 0, or beyond float64."""

    def longer(t_end):
        model, times = Model(dim=2, value=np.eye(2) / t_end), np.linspace(0.0, t_end, 200)
        run = simulate(model, flock.uniform(5, 2, seed=1), t_end, times=times, rtol=1e-9, atol=1e-11)
        return flock.extend(run, flock.uniform(2, 2, seed=7))["x"].values

    assert np.abs(longer(t_end) - longer(1.0)).max() < 1e-7


def test_more_frames_than_any_memory_holds_are_not_asked_for():
    run = simulate(
        Model(dim=2), flock.uniform(5, 2, seed=1), 1e300, times=np.linspace(0.0, 1e300, 40), scheme="rosenbrock"
    )
    with pytest.raises(SpecError, match="more than 100,000,000 equal steps"):
        flock.extend(run, flock.uniform(2, 2, seed=7))
