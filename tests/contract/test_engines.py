"""Every engine against the specification in model.py, over every option of a model; and what a Stepper promises."""

import hashlib
import importlib
import importlib.util
import math
import os
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import models
import tokenflock as flock
import tokenflock.engine
from tokenflock.engine import cpu as cpu_module
from tokenflock.engine import cpu_kernels
from tokenflock.engine.choose import engine_named
from tokenflock.engine.contract import Outcome, Task
from tokenflock.engine.cpu_terms import kernel_for
from tokenflock.errors import EngineError, SpecError
from tokenflock.model import velocity
from tokenflock.schemes import SCHEMES
from tolerances import close, within

MODELS = models.every_model_option()
QUIET = [c for c in MODELS if not c.model.noise]
NOISY = [c for c in MODELS if c.model.noise]
SMOOTH = [c for c in QUIET if not math.isinf(c.model.beta)]
N = 37  # more than one register of either dtype, and odd
T_END, TIMES = 1.5, np.linspace(0.0, 1.5, 7)
# test_gpu.py holds the engine "gpu" to the specification, option by option; what a Stepper promises is said here.
ENGINES = ["cpu", "reference", *(["gpu"] if importlib.util.find_spec("torch") else [])]


def task(model, scheme="tsit5", dtype="float64", dt=None, t_end=T_END, rtol=1e-6, atol=1e-9, seed=0):
    table = None if scheme == "layers" else SCHEMES[scheme]
    return Task(model, t_end, table, dt, rtol, atol, dtype, seed)


def frames_for(work, n, times):
    return np.full((len(times), n, work.model.dim + work.model.has_radius), np.nan, dtype=work.dtype)


def followed(engine, work, x, times=TIMES, patience=10**9, **options):
    """A whole run, in as many calls as its patience needs."""
    stepper, frames, filled = engine.begin(work, x, **options), frames_for(work, len(x), times), 0
    while filled < len(times) and stepper.outcome is None:
        filled += stepper.advance(times[filled:], frames[filled:], patience)
    return stepper, frames


# ---- the velocity


def test_the_list_of_models_reaches_every_kernel():
    kernels = {"near2", "near3", "mutual", "general2", "general3", "general", "rare", "products", "mutual_products"}
    kernels |= {"leader1", "leader2", "leader3", "leader", "leader_biased"}
    assert {kernel_for(c.model) for c in MODELS} == kernels


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", MODELS, ids=str)
def test_cpu_velocity_is_that_of_the_specification(case, dtype, cpu):
    model = case.model
    x = models.tokens_for(model, N, seed=1).astype(dtype).astype(float)
    radius = np.linspace(0.5, 2.0, N) if model.has_radius else None
    for t in (0.0, 1.25):
        expected = velocity(model, x, t, radius)
        assert np.abs(expected).max() > 0 or "zero" in case.name
        got = cpu.velocity(model, x, t, radius, dtype=dtype)
        assert_allclose(got, expected, **close(dtype, N, models.amplification(model, x, t)))


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 130, 257, 401])
@pytest.mark.parametrize(
    "case", [c for c in MODELS if c.name.startswith(("causal-", "full-", "window-", "general-d"))], ids=str
)
def test_cpu_velocity_is_right_at_the_edges_of_registers_and_tiles(case, n, cpu):
    x = models.tokens_for(case.model, n, seed=2)
    tolerance = close("float64", n, models.amplification(case.model, x))
    assert_allclose(cpu.velocity(case.model, x), velocity(case.model, x), **tolerance)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("mask", ["full", "causal"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("dim", [1, 2, 3, 5, 20])
def test_rescaled_weights_at_late_times_are_a_hardmax_and_finite(dim, sign, mask, dtype, cpu):
    # At t = 60 the logits reach e^120: beyond float32, and beyond -1e30. Growing apart they leave one winner a row.
    model = flock.Model(dim=dim, space="rescaled", mask=mask, query=sign * np.eye(dim))
    hard = model.with_options(beta=np.inf)
    x = flock.cube(N, dim, seed=3)
    expected = velocity(hard, x)
    assert np.isfinite(velocity(model, x, 60.0)).all()
    assert_allclose(velocity(model, x, 60.0), expected, **close("float64", N, dim))
    assert_allclose(cpu.velocity(model, x, 60.0, dtype=dtype), expected, **close(dtype, N, dim))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_hardmax_shares_ties_that_differ_by_rounding(dtype, cpu):
    # Two tokens symmetric about the third are its largest logits, equal but for rounding.
    model = flock.Model(dim=2, beta=np.inf, mask="full", query=-np.eye(2))
    for tilt in np.linspace(0.0, 6.0, 50):
        x = flock.geometry.circle(np.array([-0.3, 0.3, 0.0]) + tilt)
        assert_allclose(velocity(model, x)[2], 0.0, **close("float64", 3))
        assert_allclose(cpu.velocity(model, x, dtype=dtype)[2], 0.0, **close(dtype, 3))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("options", [{}, {"bias": flock.Alibi(0.1)}], ids=["plain", "alibi"])
@pytest.mark.parametrize("dim", [2, 3, 5, 20])
def test_tokens_out_of_sight_have_no_weight_however_large_their_logit(dim, options, dtype, cpu):
    # A hidden token's logit may stand above the visible ones by more than a power of two can hold: that must not leak.
    x = flock.uniform(60, dim, seed=1).astype(dtype).astype(float)
    for beta in np.geomspace(50.0, 5e4, 25):
        model = flock.Model(dim=dim, beta=beta, query=models.ginibre(dim, 1), **options)
        got = cpu.velocity(model, x, dtype=dtype)
        assert_allclose(got, velocity(model, x), **close(dtype, 60, models.amplification(model, x)))


@pytest.mark.parametrize("dim", [2, 3])
def test_padding_has_no_weight_at_any_beta(dim, cpu):
    # Full attention has no mask against the padded columns: they must be far from every token, however large beta.
    x = flock.geometry.retract(np.vstack([np.ones(dim) + 1e-4 * np.eye(dim)[0], -np.eye(dim)[0]]))
    where_they_stand = 2 * math.log(2) * dim * cpu_kernels.FAR**2
    for beta in (*np.geomspace(1e2, 1e12, 41), where_they_stand):
        model = flock.Model(dim=dim, beta=beta, mask="full")
        assert_allclose(cpu.velocity(model, x), 0.0, **close("float64", 2))


# ---- whole runs


def agree(cpu, reference, work, x):
    """Both engines take the same way, to rounding; but where ReLU has kinks, steps over one are only good to rtol."""
    fast, a = followed(cpu, work, x)
    plain, b = followed(reference, work, x)
    assert fast.outcome == plain.outcome
    assert not fast.outcome.failed
    assert np.isfinite(b).all()
    d = work.model.dim
    grown = max(models.amplification(work.model, y[:, :d], t) for y, t in zip(b, TIMES, strict=True))
    ff = work.model.feedforward
    kinks = plain.rejected and ff is not None and ff.activation == "relu"
    tolerance = within(work.rtol, work.atol, 1.0) if kinks else close("float64", len(x), grown * plain.steps)
    assert_allclose(a, b, **tolerance)
    return fast, plain


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_adaptive_runs_of_cpu_and_reference_agree(case, cpu, reference):
    work = task(case.model)
    fast, plain = agree(cpu, reference, work, models.tokens_for(case.model, 9, seed=3))
    assert (fast.steps, fast.rejected, fast.evaluations) == (plain.steps, plain.rejected, plain.evaluations)


@pytest.mark.parametrize("scheme", ["euler", "heun", "rk4", "layers"])
@pytest.mark.parametrize("case", QUIET, ids=str)
def test_runs_of_given_steps_of_cpu_and_reference_agree(case, scheme, cpu, reference):
    work = task(case.model, scheme, dt=0.25)
    fast, plain = agree(cpu, reference, work, models.tokens_for(case.model, 9, seed=4))
    # The switch of a mixed layer norm is met exactly, which cuts one more step; layers cannot be cut.
    assert fast.steps == plain.steps == (7 if case.model.norm.kind == "mix" and scheme != "layers" else 6)


@pytest.mark.parametrize("scheme", ["euler", "heun"])
@pytest.mark.parametrize("case", NOISY, ids=str)
def test_noisy_runs_of_cpu_and_reference_agree(case, scheme, cpu, reference):
    x = models.tokens_for(case.model, 9, seed=5)
    agree(cpu, reference, task(case.model, scheme, dt=0.125, seed=8), x)
    _, first = followed(cpu, task(case.model, scheme, dt=0.125, seed=8), x)
    _, other_seed = followed(cpu, task(case.model, scheme, dt=0.125, seed=9), x)
    _, other_run = followed(cpu, task(case.model, scheme, dt=0.125, seed=8), x, run=1)
    assert np.abs(first[-1] - other_seed[-1]).max() > 0.01
    assert np.abs(first[-1] - other_run[-1]).max() > 0.01


@pytest.mark.parametrize("name", ["causal-d2", "full-d3", "general-d5", "pre-d3", "rescaled-d2"])
def test_float32_runs_stay_within_rounding_of_float64(name, cpu):
    model = next(c.model for c in MODELS if c.name == name)
    x = models.tokens_for(model, N, seed=6).astype("float32").astype(float)
    _, narrow = followed(cpu, task(model, dtype="float32"), x)
    _, wide = followed(cpu, task(model), x)
    assert_allclose(narrow, wide, **close("float32", N, models.amplification(model, x, T_END)))


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


@pytest.fixture(params=STEPPED, ids="-".join)
def stepped(request):
    name, scheme = request.param
    model = next(c.model for c in MODELS if c.name == name)
    return task(model, scheme, dt=None if scheme == "tsit5" else 0.125), models.tokens_for(model, 12, seed=7)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_paused_at_every_step_has_the_same_bits(engine, stepped):
    engine = engine_named(engine)
    once, whole = followed(engine, *stepped)
    paused, parts = followed(engine, *stepped, patience=1)
    assert_array_equal(parts, whole)
    assert (paused.t, paused.steps, paused.outcome) == (once.t, once.steps, Outcome.DONE)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [1, 3])
def test_times_in_chunks_give_the_same_bits(engine, size, stepped):
    engine = engine_named(engine)
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


@pytest.mark.parametrize("engine", ENGINES)
def test_kept_times_do_not_change_the_way_of_an_adaptive_run(engine):
    engine = engine_named(engine)
    work, x = task(flock.Model(dim=2, beta=9.0)), flock.uniform(12, 2, seed=1)
    few, a = followed(engine, work, x, np.array([T_END]))
    many, b = followed(engine, work, x, np.linspace(0.0, T_END, 300))
    assert_array_equal(a[-1], b[-1])
    assert (few.steps, few.evaluations) == (many.steps, many.evaluations)


@pytest.mark.parametrize("engine", ENGINES)
class TestOutcomes:
    """How a run ended, in every engine."""

    @pytest.fixture
    def run(self, engine):
        return lambda *args, **options: followed(engine_named(engine), *args, **options)

    def test_done(self, run):
        stepper, frames = run(task(flock.Model(dim=2)), flock.uniform(5, 2))
        assert stepper.outcome is Outcome.DONE
        assert stepper.t == T_END
        assert np.isfinite(frames).all()

    def test_collapsed_when_all_tokens_meet_and_later_frames_repeat(self, run):
        times = np.linspace(0, 100, 11)
        stepper, frames = run(task(flock.Model(dim=2), t_end=100.0), flock.cap(5, 2, angle=0.5), times)
        assert stepper.outcome is Outcome.COLLAPSED
        assert 10 < stepper.t < 60
        assert np.ptp(frames[-1], axis=0).max() <= 2e-9
        assert_array_equal(frames[7:], np.broadcast_to(frames[-1], frames[7:].shape))

    @pytest.mark.parametrize(
        "options", [{"value": -np.eye(2)}, {"normaliser": "count"}, {"layer_norm": "pre"}, {"noise": 0.1}]
    )
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


# ---- compilation, threads


def _compiled():
    """How many pointers there are, and for how many signatures functions have been compiled."""
    names = [m.name for m in pkgutil.iter_modules(tokenflock.engine.__path__, "tokenflock.engine.")]
    places = [importlib.import_module(name) for name in names]
    found = (f for place in places for f in vars(place).values() if not isinstance(f, type))
    dispatchers = {id(f): f for f in found if hasattr(f, "nopython_signatures")}
    return len(cpu_module._POINTERS), sum(len(f.signatures) for f in dispatchers.values())


def test_nothing_compiles_twice(cpu):
    x = flock.uniform(12, 2, seed=0)
    followed(cpu, task(flock.Model(dim=2)), x)
    followed(cpu, task(flock.Model(dim=2, value=np.diag([1.0, 2.0]))), x)
    cpu.velocity(flock.Model(dim=2), x)
    before = _compiled()
    assert before[1] > 0
    frozen = flock.Frozen(x[:2])
    for model in (
        flock.Model(dim=2, beta=7, mask="full"),
        flock.Model(dim=2, beta=7, mask=flock.Window(3)),
        flock.Model(dim=2, value=np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])),
        flock.Model(dim=2, value=np.eye(4)[::2, ::2], query=np.eye(2), key=np.eye(2, dtype=np.float32)),
        flock.Model(dim=2, value=np.diag([1.0, 2.0]), beta=np.float64(3), layer_norm="sqrt"),
        flock.Model(dim=2, beta=2, frozen=frozen, feedforward=flock.FeedForward(np.eye(2))),
    ):
        narrow = before
        for start in (x, x[::2], np.asfortranarray(x), x.astype(np.float32), np.broadcast_to(x[:1], (3, 2))):
            flock.simulate(model, flock.geometry.retract(start.astype(float)), 0.5, times=[0.1, 0.5])
            cpu.velocity(model, start)
            if start is x:  # a kernel that no model has used yet compiles now, once
                narrow = _compiled()
                assert narrow[0] == before[0]
        assert _compiled() == narrow, "a second compilation means that a dtype or a layout leaked in"


@pytest.mark.parametrize(
    "name",
    "causal-d2 window-both-d3 full-d2 full-d3 general-d2 general-d5 alibi-d2 rescaled-d2 rescaled-d5 rescaled-alibi "
    "rescaled-d20".split(),
)
def test_wide_kernels_have_the_bits_of_narrow_ones(name, cpu):
    model = next(c.model for c in MODELS if c.name == name)
    x = models.tokens_for(model, 101, seed=9)
    work = task(model, "heun", dt=0.5)
    assert_array_equal(followed(cpu, work, x, wide=True)[1], followed(cpu, work, x, wide=False)[1])


@pytest.mark.parametrize("dim", [2, 3, 5, 20])
@pytest.mark.parametrize("mask", ["causal", "full"])
def test_helpers_of_layers_look_where_their_leader_does(dim, mask, cpu):
    """The short velocity has scaled tokens, a layer of the same model has not."""
    model, x = flock.Model(dim=dim, beta=4.0, mask=mask), flock.uniform(300, dim, seed=3)
    work, times = task(model, "layers", dt=0.1, t_end=5.0), np.array([5.0])
    assert_array_equal(followed(cpu, work, x, times, wide=True)[1], followed(cpu, work, x, times, wide=False)[1])


THREADED = """
import hashlib
import tokenflock as flock
bits = hashlib.sha256()
cases = [
    (flock.Model(dim=2, beta=64.0), flock.uniform(400, 2), {}),
    (flock.Model(dim=3, beta=9.0, mask="full"), flock.uniform(300, 3), {}),
    (flock.Model(dim=3, beta=9.0, mask=flock.Window(50)), flock.uniform(300, 3), {}),
    (flock.Model(dim=5, beta=4.0, mask="full"), flock.uniform(200, 5), {"scheme": "layers", "dt": 0.5}),
    (flock.Model(dim=2, beta=64.0), flock.uniform(50, 2, runs=5), {}),
    (flock.Model(dim=2, beta=4.0, noise=0.3), flock.uniform(20, 2, runs=3), {"dt": 0.1, "seed": 4}),
    (flock.Model(dim=20, beta=4.0), flock.uniform(140, 20), {}),
    (flock.Model(dim=20, beta=4.0), flock.uniform(140, 20, runs=2), {}),
]
for model, start, options in cases:
    run = flock.simulate(model, start, 2.0, times=[1.0, 2.0], **options)
    bits.update(run.x.values.tobytes())
print(bits.hexdigest())
"""


def in_another_process(program, threads):
    environment = os.environ | {"TOKENFLOCK_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_number_of_threads_does_not_change_a_bit():
    # One, as many as there are here, and more than there are anywhere.
    digests = {threads: in_another_process(THREADED, threads) for threads in (1, 2, 7)}
    assert len(set(digests.values())) == 1, digests
    assert len(digests[1]) == 2 * hashlib.sha256().digest_size


TOGETHER = """
from concurrent.futures import ThreadPoolExecutor
import tokenflock as flock
start = flock.uniform(300, 2, runs=6)
follow = lambda x: flock.simulate(flock.Model(dim=2, beta=64.0), x, 5.0, times=[5.0]).x.values.tobytes()
one_by_one = [follow(x) for x in start]
with ThreadPoolExecutor(6) as pool:
    assert list(pool.map(follow, start)) == one_by_one
print("same")
"""


def test_large_runs_may_go_on_side_by_side():
    assert in_another_process(TOGETHER, 2) == "same"


CACHED = """
import importlib, pkgutil
import tokenflock as flock, tokenflock.engine
flock.simulate(flock.Model(dim=2), flock.uniform(360, 2), 0.1, times=[0.1])
names = [m.name for m in pkgutil.iter_modules(tokenflock.engine.__path__, "tokenflock.engine.")]
found = (f for n in names for f in vars(importlib.import_module(n)).values() if not isinstance(f, type))
functions = {id(f): f for f in found if hasattr(f, "stats")}
print(sum(sum(f.stats.cache_misses.values()) for f in functions.values()))
"""


def test_a_second_process_compiles_nothing():
    # Otherwise every process waits for seconds, and leaves one more file in the cache.
    in_another_process(CACHED, 2)
    assert in_another_process(CACHED, 2) == "0"


# ---- what an engine may decline


def test_an_engine_that_cannot_run_a_model_says_why():
    with pytest.raises(
        EngineError, match=r"engine='reference' cannot run this model. The reference engine is float64 only"
    ):
        flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), 1.0, engine="reference", dtype="float32")


def test_an_unknown_engine_is_named_with_those_there_are():
    with pytest.raises(SpecError, match=r"unknown engine 'cpus'. Did you mean 'cpu'\? Known: auto, cpu, reference"):
        flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), 1.0, engine="cpus")
