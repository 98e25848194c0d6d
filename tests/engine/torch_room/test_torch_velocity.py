"""What is special to torch: gradients, ensembles, blocks of rows and pieces, float32, waves in place of pairs.

On the device that is there: CUDA, or torch on the CPU. Nothing here needs numba: it runs on a bare machine with a GPU.
Every option against the specification is in tests/engine/test_contract.py.
"""

import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import models
import tokenflock as flock
from runs import T_END, TIMES, followed, task
from tokenflock.engine.choose import engine_named
from tokenflock.engine.contract import Outcome
from tokenflock.engine.randomness import key_of
from tokenflock.engine.randomness import normals as plain_normals
from tokenflock.model import velocity
from tolerances import close, within

torch = pytest.importorskip("torch", reason="the GPU engine needs torch")

from tokenflock.engine.gpu import device_named  # noqa: E402
from tokenflock.engine.torch import harmonic as torch_harmonic  # noqa: E402
from tokenflock.engine.torch import steps as torch_steps  # noqa: E402
from tokenflock.engine.torch import terms as torch_terms  # noqa: E402
from tokenflock.engine.torch.noise import keys_of, normals  # noqa: E402
from tokenflock.engine.torch.velocity import layer, pair_sums, rates  # noqa: E402
from waiting import LONG_S  # noqa: E402

MODELS = models.every_model_option()
NAMED = {c.name: c.model for c in MODELS}
SMOOTH = [c for c in MODELS if not c.model.noise and not math.isinf(c.model.beta)]
N = 37
# Step sizes follow error estimates that near a first, tiny step are rounding: engines then take slightly other steps,
# and differ by a small part of what the tolerance allows.
PART = 1e-3


@pytest.fixture(scope="module")
def gpu():
    """The engine, on whatever device there is."""
    return engine_named("gpu")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """torch's threads spin while they wait: on a machine that is shared they make small work a hundred times slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def followed_all(engine, work, starts, times=TIMES, patience=10**9, **options):
    """A whole ensemble."""
    ensemble = engine.begin_all(work, starts, **options)
    shape = (len(starts), len(times), starts.shape[1], work.model.dim + work.model.has_radius)
    frames, filled = np.full(shape, np.nan, dtype=work.dtype), np.zeros(len(starts), dtype=np.int64)
    while any(o is None and f < len(times) for o, f in zip(ensemble.outcomes, filled, strict=True)):
        ensemble.advance(times, frames, filled, patience)
    return ensemble, frames


# ---- the velocity


@pytest.mark.parametrize(
    "name", "causal-d2 full-d3 window-both-d5-heads frozen-alibi-d3 causal-d20 rescaled-alibi mix-d3".split()
)
def test_every_run_of_an_ensemble_has_its_own_tokens_time_and_magnitudes(name, gpu):
    model = NAMED[name]
    x = models.tokens_for(model, 11, seed=2, runs=3)
    radius, t = np.linspace(0.5, 2.0, 33).reshape(3, 11), np.array([0.1, 0.6, 1.2])
    terms = torch_terms.lay_out(model, "float64", device_named())
    put = lambda array: torch.as_tensor(array, device=terms.device)  # noqa: E731
    with torch.no_grad():
        got = rates(terms, put(x), put(t), put(radius)).x.cpu().numpy()
    for r in range(3):
        expected = velocity(model, x[r], t[r], radius[r] if model.has_radius else None)
        assert_allclose(got[r], expected, **close("float64", 11, models.amplification(model, x[r], t[r])))


@pytest.mark.parametrize("pairs", [1, 50, 700])
@pytest.mark.parametrize(
    "name",
    "causal-d2 full-d20 window-both-d3 window-d20 heads-d5 frozen-alibi-d3 rescaled-alibi beta-infinite-frozen "
    "masses-causal-d2 masses-full-d20 masses-rows-d20 masses-rows-frozen-d2 masses-rows-rescaled-d3".split(),
)
def test_blocks_of_rows_and_runs_change_nothing_but_rounding(name, pairs, monkeypatch):
    model = next(c.model for c in models.every_model_option(13) if c.name == name)
    monkeypatch.setattr(torch_terms, "PAIRS_CPU", pairs)
    monkeypatch.setattr(torch_terms, "PAIRS_DEVICE", pairs)
    terms = torch_terms.lay_out(model, "float64", device_named())
    assert terms.pairs <= pairs
    x = models.tokens_for(model, 13, seed=2, runs=3)
    with torch.no_grad():
        got = rates(terms, torch.as_tensor(x, device=terms.device), 0.5).x.cpu().numpy()
    for r in range(3):
        tolerance = close("float64", 13, models.amplification(model, x[r], 0.5))
        assert_allclose(got[r], velocity(model, x[r], 0.5), **tolerance)


def test_the_pull_of_a_token_on_itself_is_nothing_and_a_tiny_one_keeps_its_digits(gpu):
    # Token 2 feels only token 1, at a right angle: its velocity is e^-100 to the last digits; token 1 rests exactly.
    model = flock.Model(dim=2, beta=100.0)
    v = gpu.velocity(model, np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert_array_equal(v[0], 0.0)
    rounding = 3 * 100 * np.finfo(float).eps  # an exponent of 100, rounded three times: scaled, squared, summed
    assert_allclose(v[1], [0.0, math.exp(-100.0)], rtol=rounding)
    # In a cluster of size 1e-9 differences are all there is.
    x = flock.geometry.circle(0.7 + 1e-9 * np.arange(5.0))
    assert_allclose(gpu.velocity(model, x), velocity(model, x), rtol=1e-12, atol=1e-24)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_hardmax_shares_ties_that_differ_by_rounding(dtype, gpu):
    model = flock.Model(dim=2, beta=np.inf, mask="full", query=-np.eye(2))
    for tilt in np.linspace(0.0, 6.0, 20):
        x = flock.geometry.circle(np.array([-0.3, 0.3, 0.0]) + tilt)
        assert_allclose(gpu.velocity(model, x, dtype=dtype)[2], 0.0, **close(dtype, 3))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dim", [1, 2, 20])
def test_rescaled_weights_at_late_times_are_a_hardmax_and_finite(dim, dtype, gpu):
    model = flock.Model(dim=dim, space="rescaled", mask="full")
    x = flock.cube(N, dim, seed=3)
    expected = velocity(model.with_options(beta=np.inf), x)
    assert_allclose(gpu.velocity(model, x, 60.0, dtype=dtype), expected, **close(dtype, N, dim))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dim", [2, 20])
def test_tokens_out_of_sight_have_no_weight_however_large_their_logit(dim, dtype, gpu):
    x = flock.uniform(60, dim, seed=1).astype(dtype).astype(float)
    for beta in np.geomspace(50.0, 5e4, 7):
        model = flock.Model(dim=dim, beta=beta, query=models.ginibre(dim, 1))
        got = gpu.velocity(model, x, dtype=dtype)
        assert_allclose(got, velocity(model, x), **close(dtype, 60, models.amplification(model, x)))


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_gradients_are_finite_and_those_of_the_numbers_given(case):
    """Autograd passes through every option: a directional derivative in the start against a central difference."""
    model = case.model
    terms = torch_terms.lay_out(model, "float64", "cpu")
    x = torch.tensor(models.tokens_for(model, 6, seed=1)[None], requires_grad=True)
    along = torch.tensor(np.random.default_rng(0).standard_normal(x.shape))
    (slope,) = torch.autograd.grad((rates(terms, x, 0.3).x * along).sum(), x)
    step = 1e-6 / (1.0 + min(model.beta, 1e4))
    with torch.no_grad():
        ahead, back = (rates(terms, x + s * step * along, 0.3).x for s in (1.0, -1.0))
        expected = float(((ahead - back) * along).sum()) / (2 * step)
    assert float((slope * along).sum()) == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_weights_given_as_tensors_stand_in_place_of_the_models(gpu):
    other = flock.Model(dim=3, beta=2.0, **models._matrices(3), feedforward=models._wide_feedforward(3, "tanh"))
    ff, put = other.feedforward, lambda array: torch.tensor(array, requires_grad=True)
    given = {name: put(getattr(other, name)) for name in ("query", "key", "value", "beta")}
    given |= {name: put(getattr(ff, name)) for name in "wab"}
    plain = flock.Model(dim=3, feedforward=flock.FeedForward(np.zeros((3, 7)), np.zeros((7, 3)), activation="tanh"))
    x = flock.uniform(9, 3, seed=1)
    v = rates(torch_terms.lay_out(plain, given=given), torch.tensor(x[None])).x
    assert_allclose(v.detach().numpy()[0], velocity(other, x), **close("float64", 9, models.amplification(other, x)))
    v.square().sum().backward()
    assert all(tensor.grad is not None and tensor.grad.abs().max() > 0 for tensor in given.values())


# ---- whole runs


def test_random_numbers_are_those_of_the_other_engines():
    keys = [key_of(seed, run) for seed in (0, -7) for run in (0, 3)]
    got = normals(keys_of(keys, device_named()), 5, 4, 3).cpu().numpy()
    for k, key in enumerate(keys):
        assert_allclose(got[k], plain_normals(key, 5, 4, 3), **close("float64", 1, 8.0))


@pytest.mark.parametrize("mask", ["full", "causal"])
def test_a_settled_run_goes_on_in_closed_form(mask, gpu, reference):
    # Long after attention is Boolean, steps would follow rounding: both engines must see the end and solve it.
    model = flock.Model(dim=2, space="rescaled", mask=mask, value=np.diag([1.0, 0.5]))
    work, times = task(model, t_end=200.0), np.array([1.0, 5.0, 20.0, 200.0])
    x = flock.cube(7, 2, seed=1)
    fast, a = followed(gpu, work, x, times)
    plain, b = followed(reference, work, x, times)
    assert fast.outcome is plain.outcome is Outcome.DONE
    assert fast.steps < 1000
    assert_allclose(a, b, **within(1e-6, 1e-9, 10.0))
    layered = task(model, "layers", dt=0.25, t_end=200.0)
    _, c = followed(gpu, layered, x, times)
    assert_allclose(c, followed(reference, layered, x, times)[1], **within(1e-6, 1e-9, 1.0))


def test_float32_does_not_drift(gpu):
    # Two clusters that hardly feel each other: over t = 200 float32 must leave them where they stand.
    model = flock.Model(dim=2, beta=60.0)
    x = flock.geometry.circle(np.concatenate([0.3 + 1e-4 * np.arange(5), 2.0 + 1e-4 * np.arange(5)]))
    _, frames = followed(gpu, task(model, dtype="float32", t_end=200.0, rtol=1e-5), x, np.array([0.0, 100.0, 200.0]))
    angles = flock.geometry.angle(frames[-1].astype(float))
    assert_allclose(angles, np.repeat(angles[[0, 5]], 5), atol=1e-6)
    assert_allclose(angles[[0, 5]], [0.3, 2.0], atol=1e-6)
    assert_allclose(np.linalg.norm(frames[-1].astype(float), axis=-1), 1.0, atol=4 * np.finfo("float32").eps)


# ---- ensembles


ENSEMBLE = "causal-d2 full-d3 mix-d3 rescaled-d2 euclidean-general-d5 causal-d20".split()


@pytest.mark.parametrize("scheme", ["tsit5", "rk4", "layers"])
@pytest.mark.parametrize("name", ENSEMBLE)
def test_a_run_of_an_ensemble_is_that_run_alone(name, scheme, gpu):
    model = NAMED[name]
    starts = models.tokens_for(model, 8, seed=3, runs=5)
    work = task(model, scheme, dt=None if scheme == "tsit5" else 0.25)
    ensemble, frames = followed_all(gpu, work, starts)
    assert ensemble.outcomes == [Outcome.DONE] * 5
    if scheme == "tsit5":
        assert len(set(ensemble.evaluations.tolist())) > 1 or name == "rescaled-d2"  # every run has its own steps
    for r in range(5):
        alone, expected = followed(gpu, work, starts[r], run=r)
        assert (ensemble.steps[r], ensemble.rejected[r], ensemble.t[r]) == (alone.steps, alone.rejected, alone.t)
        grown = max(models.amplification(model, y[:, : model.dim], t) for y, t in zip(expected, TIMES, strict=True))
        tolerance = close("float64", 8, grown * alone.steps)
        if scheme == "tsit5":
            tolerance = {k: max(v, within(1e-6, 1e-9, PART)[k]) for k, v in tolerance.items()}
        assert_allclose(frames[r], expected, **tolerance)


def test_noise_of_an_ensemble_is_numbered_by_run(gpu):
    model = NAMED["noise-d2"]
    starts, work = models.tokens_for(model, 8, seed=3, runs=4), task(NAMED["noise-d2"], "heun", dt=0.125, seed=2)
    _, frames = followed_all(gpu, work, starts)
    _, later = followed_all(gpu, work, starts[2:], first_run=2)
    assert_allclose(later, frames[2:], **close("float64", 8, 100.0))
    assert np.abs(followed_all(gpu, work, starts[2:])[1] - later).max() > 0.01


@pytest.mark.parametrize("name", ["causal-d2", "mix-d3", "causal-d20"])
def test_the_same_call_has_the_same_bits(name, gpu):
    starts = models.tokens_for(NAMED[name], 30, seed=3, runs=6)
    work = task(NAMED[name])
    assert_array_equal(followed_all(gpu, work, starts)[1], followed_all(gpu, work, starts)[1])


@pytest.mark.parametrize("patience", [1, 20, 200])
def test_an_ensemble_in_pieces_of_time_has_the_same_bits(patience, gpu):
    model = flock.Model(dim=2, beta=9.0, layer_norm=flock.options.LayerNorm("mix", switch=0.7))
    starts, work = models.tokens_for(model, 8, seed=3, runs=5), task(model)
    times = np.array([0.0, 0.01, 0.02, 0.5, 0.51, 0.52, 0.7, 0.71, 1.4, 1.49, 1.5])
    whole, frames = followed_all(gpu, work, starts, times)
    pieces, parts = followed_all(gpu, work, starts, times, patience=patience)
    assert_array_equal(parts, frames)
    assert_array_equal(pieces.steps, whole.steps)


def test_runs_that_end_are_dropped_and_the_others_go_on(gpu):
    # Runs from a cap meet long before those from the whole circle, where one token may stand opposite to the rest.
    model = flock.Model(dim=2, beta=1.0)
    caps = [flock.cap(6, 2, angle=0.2 + 0.01 * r, seed=r) for r in range(6)]
    starts = np.stack([*caps, *flock.uniform(6, 2, seed=1, runs=2)])
    work, times = task(model, t_end=60.0, rtol=1e-4), np.linspace(0.0, 60.0, 9)
    ensemble, frames = followed_all(gpu, work, starts, times)
    assert ensemble.outcomes[:6] == [Outcome.COLLAPSED] * 6
    for r in (0, 7):
        alone, expected = followed(gpu, work, starts[r], times)
        assert ensemble.outcomes[r] == alone.outcome
        assert ensemble.t[r] == pytest.approx(alone.t, rel=1e-6)
        assert_allclose(frames[r], expected, **within(1e-4, 1e-9, 1.0))
    euclidean = flock.Model(dim=1, space="euclidean", beta=0.0, value=[[1000.0]])
    work = task(euclidean, "rk4", dt=1e-3, t_end=0.8)
    ensemble, frames = followed_all(gpu, work, np.array([[[1.0]], [[0.0]], [[1.0]]]), np.array([0.0, 0.1, 0.8]))
    assert ensemble.outcomes == [Outcome.NOT_FINITE, Outcome.DONE, Outcome.NOT_FINITE]
    assert 0.3 < ensemble.t[0] < 0.8 == ensemble.t[1]
    assert np.isfinite(frames[0, :2]).all()
    assert np.isnan(frames[0, 2]).all()
    assert_array_equal(frames[1], 0.0)


def test_times_between_steps_meet_the_tolerance(gpu, reference):
    # 400 kept times against steps of about 0.1: every one must be as good as the steps themselves.
    model = flock.Model(dim=2, beta=9.0)
    x, times = flock.uniform(10, 2, seed=2), np.linspace(0.0, T_END, 400)
    _, frames = followed(gpu, task(model), x, times)
    _, truth = followed(reference, task(model, rtol=1e-11, atol=1e-13), x, times)
    assert_allclose(frames, truth, **within(1e-6, 1e-9, 10.0))


def test_the_ring_of_states_may_be_short(gpu, monkeypatch):
    # A large state keeps few of them, and the host looks at every step: the bits are the same.
    work, starts = task(NAMED["full-d3"]), models.tokens_for(NAMED["full-d3"], 8, seed=3, runs=3)
    times = np.linspace(0.0, T_END, 50)
    _, whole = followed_all(gpu, work, starts, times)
    monkeypatch.setattr(torch_steps, "LARGE", 1)
    short = gpu.begin_all(work, starts)
    if isinstance(short.runs, torch_steps.AdaptiveRuns):
        assert short.runs.slots == torch_steps.NODES + 2
    assert_array_equal(followed_all(gpu, work, starts, times)[1], whole)


# ---- waves in place of pairs


def test_waves_need_no_numba():
    code = "import sys, tokenflock.engine.torch.harmonic; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONG_S)
    assert done.stdout.strip() == "False"


WINDOWS = [flock.Window(1), flock.Window(5), flock.Window(1000), flock.Window(4, causal=False)]
NORMALISERS = [{"beta": 64.0}, {"beta": 0.0}, {"beta": 3.0, "normaliser": "count"}]
NORMALISERS += [{"beta": 30.0, "normaliser": "scaled-count"}]


@pytest.mark.parametrize("small", [False, True], ids=["whole", "pieces"])
@pytest.mark.parametrize("options", NORMALISERS, ids=str)
@pytest.mark.parametrize("mask", ["causal", "full", *WINDOWS], ids=str)
def test_waves_give_the_sums_of_pairs_within_the_error_they_tell(mask, options, small, monkeypatch):
    device = device_named()
    if small:
        for name, size in (("PIECE", 32), ("ROOM", 40)):
            monkeypatch.setattr(torch_harmonic, f"{name}_CPU", size)
            monkeypatch.setattr(torch_harmonic, f"{name}_DEVICE", size)
    model = flock.Model(dim=2, mask=mask, **options)
    terms = torch_terms.lay_out(model, "float64", device)
    for n in (1, 7, 151):
        x = torch.as_tensor(flock.uniform(n, 2, seed=1, runs=2), device=device)
        waves = torch_harmonic.Waves(model, n, 1e-13, device)
        with torch.no_grad():
            pairs, got = pair_sums(terms, x), waves(terms, x)
        scale = math.exp(3.0) if options.get("normaliser") == "count" else 1.0
        for a, b in ((got.pull, pairs.pull), (got.mass, pairs.mass)):
            assert float((a - b).abs().max()) <= waves.velocity_error + 4 * np.finfo(float).eps * scale
        assert waves.velocity_error < 1e-10 * scale


def test_a_series_that_is_too_short_tells_its_error():
    model, n = flock.Model(dim=2, beta=64.0), 50
    x = torch.as_tensor(flock.uniform(n, 2, seed=1)[None])
    waves = torch_harmonic.Waves(model, n, 1e-3, torch.device("cpu"))
    off = float((waves(torch_terms.lay_out(model), x).pull - pair_sums(torch_terms.lay_out(model), x).pull).abs().max())
    assert 1e-10 < off < waves.velocity_error < 1.0


@pytest.fixture
def few_are_many(monkeypatch):
    """Waves from 20 tokens on."""
    monkeypatch.setattr(torch_harmonic, "FROM", 20)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("mask", ["causal", "full", flock.Window(7)], ids=str)
def test_a_run_by_waves_is_the_run_by_pairs(mask, dtype, gpu, few_are_many):
    model = flock.Model(dim=2, beta=9.0, mask=mask, value=models.ginibre(2, 3))
    starts = flock.uniform(1100, 2, seed=1, runs=1).astype(dtype).astype(float)  # too many for the kernel of ensembles
    work = task(model, "heun", dtype=dtype, dt=0.25, t_end=0.5, rtol=1e-5)
    times = np.array([0.0, 0.25, 0.5])
    engine = gpu.for_call(model, 1100)
    _, by_waves = followed_all(engine, work, starts, times)
    assert engine.told()["sums"].endswith(" waves")
    assert 0 < engine.told()["velocity_error"] < 1e-7
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch_harmonic, "FROM", 10**9)
        engine = gpu.for_call(model, 1100)
        _, by_pairs = followed_all(engine, work, starts, times)
    assert engine.told()["sums"] == "pairs"
    assert "velocity_error" not in engine.told()
    tolerance = within(1e-7, 1e-7, 1.0) if dtype == "float64" else close("float32", 1100, 20.0)
    assert_allclose(by_waves, by_pairs, **tolerance)


@pytest.mark.parametrize(
    "model",
    [
        flock.Model(dim=3),
        flock.Model(dim=2, space="euclidean"),
        flock.Model(dim=2, beta=-1.0),
        flock.Model(dim=2, bias=flock.Alibi(0.1)),
        flock.Model(dim=2, query=[[1.0, 0.5], [0.0, 1.0]]),
        flock.Model(dim=2, beta=1e9),
        flock.Model(dim=2, masses=np.ones(1000)),
    ],
    ids=["sphere", "plane", "negative", "bias", "form", "huge", "masses"],
)
def test_models_without_waves_go_by_pairs(model, few_are_many):
    assert torch_harmonic.why_not(model)
    assert not torch_harmonic.pays(task(model), 1000)


def test_tolerances_and_times_that_absolute_errors_cannot_meet_go_by_pairs(few_are_many):
    model = flock.Model(dim=2)
    assert torch_harmonic.pays(task(model), 1000)
    assert not torch_harmonic.pays(task(model, t_end=1e5), 1000)
    assert not torch_harmonic.pays(task(model, rtol=1e-13, atol=1e-15), 1000)
    assert not torch_harmonic.pays(task(model), 10)


def test_no_warning_of_torch_reaches_the_user(gpu):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        followed(gpu, task(NAMED["full-d3"]), models.tokens_for(NAMED["full-d3"], 5))


def test_layers_and_sums_are_open_to_others():
    """What flow.py builds on: (E12) as a function of tensors, and (E4) with its mass."""
    model = NAMED["pre-d3"]
    terms = torch_terms.lay_out(model, "float64", "cpu")
    x = torch.tensor(models.tokens_for(model, 5, seed=1, runs=2))
    y, radius, spread = layer(terms, x, torch.full((2, 5), 1.3, dtype=torch.float64), 0, 0.25)
    assert y.shape == x.shape
    assert radius.shape == (2, 5)
    assert spread is None
    sums = pair_sums(terms, x)
    assert sums.pull.shape == (2, 1, 5, 3)
    assert_allclose(sums.mass.numpy(), 1.0, **close("float64", 5))


def test_numbers_beyond_float32_are_laid_out_and_no_eigenvalues_are_asked_of_what_is_not_finite():
    """Some LAPACKs end the process on a matrix that is not finite, and torch on CUDA refuses such a scalar."""
    turning = flock.Model(dim=2, space="rescaled", value=1e200 * np.array([[1.0, 2.0], [-2.0, 1.0]]))
    laid = torch_terms.lay_out(turning, "float32")
    assert laid.sigma == pytest.approx(1e200)
    assert laid.total.isfinite().all()
    assert torch_terms.lay_out(flock.Model(dim=2, bias=flock.Alibi(1e300)), "float32").slopes == (2.0**127 - 2.0**103,)
    assert torch_terms.eigenvalues(torch.full((2, 2), math.inf)).isnan().all()
    assert_array_equal(torch_terms.eigenvalues(torch.eye(2)), [1.0, 1.0])
