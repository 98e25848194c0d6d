"""Every engine of the registry against the specification in model.py: every option, every scheme, or its refusal."""

import importlib.util
import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import models
import tokenflock as flock
import tokenflock.model
from runs import T_END, TIMES, followed, frames_for, task
from tokenflock.engine import choose
from tokenflock.engine.choose import engine_named
from tokenflock.engine.contract import Outcome
from tokenflock.engine.traits import OPTIONS, no_implicit, traits
from tokenflock.errors import EngineError, SpecError
from tokenflock.model import Model, velocity
from tokenflock.schemes import NAMES as SCHEMES
from tolerances import close, within

N = 37  # more than one register of either dtype, and odd
FEW = 9
MODELS, MODELS_OF_FEW = models.every_model_option(N), models.every_model_option(FEW)
DT = 0.25
PART = 1e-3  # of the tolerance: what two engines may differ by that sum in another order and so take other steps
needs_torch = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="engine='gpu' needs torch")
ENGINES = [pytest.param(name, marks=needs_torch if name == "gpu" else ()) for name in choose.HOMES]
each_engine = pytest.mark.parametrize("name", ENGINES)
each_model = pytest.mark.parametrize("case", MODELS, ids=str)


def absolute_error(engine):
    """What an engine with absolute errors says that they are; nothing for the others."""
    return engine.told().get("velocity_error", 0.0)


def declined(name, model, dtype="float64"):
    """Whether an engine declines a model; then the front door says the same sentence."""
    why = engine_named(name).supports(model, dtype)
    if why is None:
        return False
    assert why.endswith((".", ")."))
    x = models.tokens_for(model, model.n_tokens or 3)
    with pytest.raises(EngineError) as refused:
        flock.simulate(
            model, x, 1.0, engine=name, dtype=dtype, scheme="heun" if model.common_noise else "euler", dt=0.5
        )
    assert why in str(refused.value)
    return True


# ---- the velocity


@each_engine
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@each_model
def test_the_velocity_is_that_of_the_specification(case, dtype, name):
    model, engine = case.model, choose.engine_named(name).for_call(case.model, N)
    if declined(name, model, dtype):
        return
    x = models.tokens_for(model, N, seed=1).astype(dtype).astype(float)
    radius = np.linspace(0.5, 2.0, N) if model.has_radius else None
    for t in (0.0, 1.25):
        expected = velocity(model, x, t, radius)
        assert np.abs(expected).max() > 0 or "zero" in case.name
        got = engine.velocity(model, x, t, radius, dtype=dtype)
        tolerance = close(dtype, N, models.amplification(model, x, t))
        assert_allclose(got, expected, tolerance["rtol"], tolerance["atol"] + 4 * absolute_error(engine))


@each_engine
def test_an_engine_declines_something_or_nothing_but_not_everything(name):
    """A test that runs over what an engine takes says nothing if it takes nothing."""
    taken = [case.name for case in MODELS if engine_named(name).supports(case.model, "float64") is None]
    assert len(taken) >= 20


# ---- whole runs

# No specification of long times, and followers on their leaders: tests/engine/implicit/test_bodies.py.
LEADERS_ONLY = ("skeleton",)


def refused(model, scheme):
    """Whether the rules of schemes exclude a model, whatever the engine."""
    noisy = (model.noise and scheme not in ("euler", "heun")) or (model.common_noise is not None and scheme != "heun")
    return bool(noisy) or (scheme == "rosenbrock" and no_implicit(model, "float64") is not None)


def compared(engine, work, x):
    """A run of an engine beside that of the specification, frames within what rounding or its steps may differ."""
    model, reference = work.model, engine_named("reference")
    fast, a = followed(engine, work, x)
    implicit = work.scheme_name not in reference.schemes
    plain, b = followed(reference, task(model, rtol=1e-9, atol=1e-12) if implicit else work, x)
    assert fast.outcome == plain.outcome
    assert not fast.outcome.failed
    assert np.isfinite(b).all()
    grown = max(models.amplification(model, y[:, : model.dim], t) for y, t in zip(b, TIMES, strict=True))
    tolerance = close("float64", len(x), grown * plain.steps)
    ff = model.feedforward
    # Steps over a kink of ReLU are only good to the tolerance, and so are implicit steps and absolute errors.
    kinks = plain.rejected and ff is not None and ff.activation == "relu"
    kinks = kinks or (work.scheme_name == "tsit5" and models.is_kinked(model))
    loose = (
        10.0 if implicit else 1.0 if kinks or absolute_error(engine) else PART if work.scheme_name == "tsit5" else 0.0
    )
    # The tolerance is that of a token, whatever the size of one of its coordinates.
    allowed = (10.0 if implicit else loose) * (work.atol + work.rtol * np.linalg.norm(b, axis=-1).max())
    assert_allclose(a, b, tolerance["rtol"], max(tolerance["atol"], allowed))
    return fast, plain


def start_is_refused(engine, work, x):
    """Whether an engine with absolute errors cannot begin from these tokens to the tolerance; others always can."""
    if "velocity_error" not in engine.told():
        return False
    try:
        engine.begin(work, x)
    except EngineError:
        return True
    return False


@each_engine
@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES if scheme not in ("auto", *LEADERS_ONLY)])
@pytest.mark.parametrize("case", MODELS_OF_FEW, ids=str)
def test_a_run_is_that_of_the_specification(case, scheme, name):
    model, x = case.model, models.tokens_for(case.model, FEW, seed=3)
    adaptive = scheme in ("tsit5", "rosenbrock")
    if declined(name, model):
        return
    step = {} if adaptive else {"dt": DT}
    if refused(model, scheme):
        with pytest.raises(SpecError):
            flock.simulate(model, x, T_END, scheme=scheme, engine=name, **step)
        return
    if scheme not in engine_named(name).schemes:
        with pytest.raises(EngineError, match=rf"engine='{name}' has .* Use engine='\w+' for scheme='{scheme}'"):
            flock.simulate(model, x, T_END, scheme=scheme, engine=name, **step)
        return
    if scheme == "tsit5" and math.isinf(model.beta):
        return  # a velocity that jumps has no order: steps of two engines part at a jump
    engine, work = engine_named(name).for_call(model, FEW), task(model, scheme, **step)
    if start_is_refused(engine, work, x):
        return
    fast, plain = compared(engine, work, x)
    if adaptive:
        same = scheme == "tsit5" and not absolute_error(engine)
        assert not same or (fast.steps, fast.rejected, fast.evaluations) == (
            plain.steps,
            plain.rejected,
            plain.evaluations,
        )
    else:
        # The switch of a mixed layer norm is met exactly, which cuts one more step, and so is a jump of the weights;
        # layers cannot be cut.
        wanted = 7 if model.norm.kind == "mix" and scheme != "layers" else 6
        assert fast.steps == plain.steps
        assert plain.steps >= wanted if model.varying and scheme != "layers" else plain.steps == wanted


NOISY = [case for case in MODELS_OF_FEW if case.model.noisy]


@each_engine
@pytest.mark.parametrize("scheme", ["euler", "heun"])
@pytest.mark.parametrize("case", NOISY, ids=str)
def test_noise_belongs_to_the_seed_and_to_the_run(case, scheme, name):
    if declined(name, case.model) or refused(case.model, scheme):
        return
    engine, x = engine_named(name).for_call(case.model, FEW), models.tokens_for(case.model, FEW, seed=5)
    follow = lambda seed, run: followed(engine, task(case.model, scheme, dt=0.125, seed=seed), x, run=run)[1]  # noqa: E731
    first, other_seed, other_run = follow(8, 0), follow(9, 0), follow(8, 1)
    assert np.abs(first[-1] - other_seed[-1]).max() > 0.01
    assert np.abs(first[-1] - other_run[-1]).max() > 0.01
    _, expected = followed(engine_named("reference"), task(case.model, scheme, dt=0.125, seed=8), x, run=1)
    assert_allclose(other_run, expected, **within(1e-6, 1e-9, 1.0 if absolute_error(engine) else PART))


@each_engine
@pytest.mark.parametrize("case_name", ["causal-d2", "full-d3", "general-d5", "pre-d3", "rescaled-d2", "causal-d20"])
def test_float32_runs_stay_within_rounding_of_float64(case_name, name):
    model = next(c.model for c in MODELS if c.name == case_name)
    if declined(name, model, "float32"):
        return
    x = models.tokens_for(model, N, seed=6).astype("float32").astype(float)
    _, narrow = followed(engine_named(name), task(model, dtype="float32"), x)
    _, wide = followed(engine_named(name), task(model), x)
    assert_allclose(narrow, wide, **close("float32", N, models.amplification(model, x, T_END)))


# ---- an option that nobody knows


@dataclass(frozen=True, eq=False, kw_only=True)
class TiltedModel(Model):
    """A model with one more option, of which no engine knows: a constant drift along the first axis."""

    tilt: float = 0.0


@pytest.fixture
def tilted(monkeypatch):
    """The equation of the new option, where equations live; it is that of a feed-forward part."""
    plain = tokenflock.model.feedforward

    def with_tilt(model, x):
        return plain(model, x) + getattr(model, "tilt", 0.0) * np.eye(model.dim)[0]

    monkeypatch.setattr(tokenflock.model, "feedforward", with_tilt)
    return TiltedModel(dim=2, beta=4.0, tilt=0.3)


@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES if scheme not in ("rosenbrock", *LEADERS_ONLY)])
@pytest.mark.parametrize("name", [*ENGINES, "auto"])
def test_an_option_that_an_engine_does_not_know_is_refused_or_right(name, scheme, tilted):
    x, step = flock.uniform(FEW, 2, seed=1), {} if scheme in ("auto", "tsit5") else {"dt": DT}
    expected = followed(engine_named("reference"), task(tilted, "tsit5" if scheme == "auto" else scheme, **step), x)[1]
    plain = followed(engine_named("reference"), task(flock.Model(dim=2, beta=4.0), "euler", dt=DT), x)[1]
    assert np.abs(expected - plain).max() > 0.01, "the option does nothing"
    follow = lambda: flock.simulate(tilted, x, T_END, times=TIMES, scheme=scheme, engine=name, **step)  # noqa: E731
    if name in ("auto", "reference"):
        assert_array_equal(follow()["x"].values, expected)
    else:
        with pytest.raises(
            EngineError, match=r"It does not know the option tilt. engine='reference' knows every option"
        ):
            follow()


def test_an_option_that_nobody_knows_makes_nothing_special(tilted):
    special = traits(tilted)
    assert special.no_implicit == special.no_bodies == "the option tilt"
    assert not any(value for key, value in vars(special).items() if not key.startswith("no_"))
    with pytest.raises(SpecError, match="scheme='rosenbrock' cannot be used with the option tilt"):
        flock.simulate(tilted, flock.uniform(3, 2), 1.0, scheme="rosenbrock")


@each_engine
def test_an_unknown_option_at_its_default_changes_nothing(name, tilted):
    x, usual = flock.uniform(FEW, 2, seed=1), flock.Model(dim=2, beta=4.0)
    same = tilted.with_options(tilt=0.0)
    assert traits(same) == traits(usual)
    bits = [flock.simulate(model, x, 1.0, engine=name)["x"].values for model in (same, usual)]
    assert_array_equal(*bits)


def test_the_traits_know_options_that_there_are():
    assert Model.__dataclass_fields__.keys() >= OPTIONS


# ---- what a Stepper promises


STEPPED = [
    ("causal-d2", "tsit5"),
    ("full-d3", "tsit5"),
    ("mix-d3", "tsit5"),
    ("rescaled-d2", "tsit5"),
    ("mix-d3", "rk4"),
]
STEPPED += [
    ("noise-d2", "heun"),
    ("general-d5", "layers"),
    ("beta-infinite-full-d3", "euler"),
    ("mix-heads-d3", "layers"),
]


def able(name, work):
    """The engine, or the end of the test if it declines the model."""
    if declined(name, work.model):
        pytest.skip(f"engine={name!r}: {engine_named(name).supports(work.model, 'float64')}")
    return engine_named(name).for_call(work.model, 12)


@pytest.fixture(params=STEPPED, ids="-".join)
def stepped(request):
    name, scheme = request.param
    model = next(c.model for c in MODELS if c.name == name)
    return task(model, scheme, dt=None if scheme == "tsit5" else 0.125), models.tokens_for(model, 12, seed=7)


@each_engine
def test_a_run_paused_at_every_step_has_the_same_bits(name, stepped):
    engine = able(name, stepped[0])
    once, whole = followed(engine, *stepped)
    paused, parts = followed(engine, *stepped, patience=1)
    assert_array_equal(parts, whole)
    assert (paused.t, paused.steps, paused.outcome) == (once.t, once.steps, Outcome.DONE)


@each_engine
@pytest.mark.parametrize("size", [1, 3])
def test_times_in_chunks_give_the_same_bits(name, size, stepped):
    engine = able(name, stepped[0])
    work, x = stepped
    times = TIMES if work.layers else np.array([0.0, 0.01, 0.02, 0.5, 0.51, 0.52, 0.7, 0.71, 1.4, 1.49, 1.5])
    _, whole = followed(engine, work, x, times)
    stepper, frames = engine.begin(work, x), frames_for(work, len(x), times)
    for first in range(0, len(times), size):
        assert stepper.advance(times[first : first + size], frames[first : first + size], 10**9) == len(
            times[first : first + size]
        )
    assert_array_equal(frames, whole)
    assert stepper.outcome is Outcome.DONE


@each_engine
def test_kept_times_do_not_change_the_way_of_an_adaptive_run(name):
    engine, work, x = engine_named(name), task(flock.Model(dim=2, beta=9.0)), flock.uniform(12, 2, seed=1)
    few, a = followed(engine, work, x, np.array([T_END]))
    many, b = followed(engine, work, x, np.linspace(0.0, T_END, 300))
    assert_array_equal(a[-1], b[-1])
    assert (few.steps, few.evaluations) == (many.steps, many.evaluations)


@each_engine
class TestOutcomes:
    """How a run ended, in every engine."""

    @pytest.fixture
    def run(self, name):
        def follow(work, x, *args, **options):
            engine = able(name, work)
            if start_is_refused(engine, work, x):
                pytest.skip(f"engine={name!r} refuses this start before the first step")
            return followed(engine, work, x, *args, **options)

        return follow

    def test_done(self, run):
        stepper, frames = run(task(flock.Model(dim=2)), flock.uniform(5, 2))
        assert stepper.outcome is Outcome.DONE
        assert stepper.t == T_END
        assert np.isfinite(frames).all()

    @pytest.mark.parametrize("normaliser", ["softmax", "scaled-count"])
    def test_collapsed_when_all_tokens_meet_and_later_frames_repeat(self, run, normaliser):
        times, model = np.linspace(0, 100, 11), flock.Model(dim=2, normaliser=normaliser)
        stepper, frames = run(task(model, t_end=100.0), flock.cap(5, 2, angle=0.5), times)
        assert stepper.outcome is Outcome.COLLAPSED
        assert 10 < stepper.t < 60
        assert np.ptp(frames[-1], axis=0).max() <= 2e-9
        assert_array_equal(frames[7:], np.broadcast_to(frames[-1], frames[7:].shape))

    @pytest.mark.parametrize("options", [{"value": -np.eye(2)}, {"layer_norm": "pre"}, {"noise": 0.1}])
    def test_no_collapse_where_tokens_that_met_can_move_or_part(self, run, options):
        work = task(flock.Model(dim=2, **options), **({"scheme": "heun", "dt": 0.1} if "noise" in options else {}))
        assert run(work, np.tile([[0.6, 0.8]], (3, 1)))[0].outcome is Outcome.DONE

    def test_interrupted_by_the_shared_flag(self, run):
        stepper, frames = run(task(flock.Model(dim=2)), flock.uniform(5, 2), stop=np.ones(1, dtype=np.uint8))
        assert stepper.outcome is Outcome.INTERRUPTED
        assert stepper.steps == 0
        assert np.isfinite(frames[0]).all()

    @pytest.mark.parametrize("scheme", ["tsit5", "rk4", "layers"])
    def test_not_finite(self, run, scheme):
        # exp(1000) is too large for float64.
        model = flock.Model(dim=2, beta=1000.0, normaliser="count")
        with np.errstate(all="ignore"):
            stepper, frames = run(task(model, scheme, dt=None if scheme == "tsit5" else 0.1), flock.uniform(3, 2))
        assert stepper.outcome is Outcome.NOT_FINITE
        assert np.isfinite(frames[0]).all()

    @pytest.mark.parametrize("scheme", ["tsit5", "rk4"])
    def test_escape_to_infinity_is_a_failure(self, run, scheme):
        # x' = 1000 x from 1e100 leaves the range of float64 at t = 0.48; squares leave it at 0.12.
        model = flock.Model(dim=1, space="euclidean", beta=0.0, value=[[1000.0]])
        with np.errstate(all="ignore"):
            work = task(model, scheme, dt=None if scheme == "tsit5" else 2e-3, rtol=0.1)
            stepper, _ = run(work, np.full((1, 1), 1e100))
        assert stepper.outcome.failed
        assert 0.1 < stepper.t < 0.6

    def test_small(self, run):
        # x' = -100 sign(x): at 0 the token slides, and no step is small enough for its error to be 1e-16.
        frozen = flock.Frozen([[100.0], [-100.0]])
        model = flock.Model(dim=1, space="euclidean", beta=np.inf, query=[[-1.0]], frozen=frozen)
        stepper, frames = run(task(model, rtol=1e-12, atol=1e-16), np.array([[50.0]]))
        assert stepper.outcome is Outcome.SMALL
        assert stepper.t == pytest.approx(0.5)
        assert np.isfinite(frames[:2]).all()
        assert np.isnan(frames[-1]).all()


# ---- what an engine may decline


def test_an_engine_that_cannot_run_a_model_says_why():
    with pytest.raises(
        EngineError, match=r"engine='reference' cannot run this model. The reference engine is float64 only"
    ):
        flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), 1.0, engine="reference", dtype="float32")


def test_an_unknown_engine_is_named_with_those_there_are():
    with pytest.raises(SpecError, match=r"unknown engine 'cpus'. Did you mean 'cpu'\? Known: auto, cpu, reference"):
        flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), 1.0, engine="cpus")
