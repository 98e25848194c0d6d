"""Waves instead of pairs: the series and their tails, velocities to their stated error, which engine is taken."""

import dataclasses
import math
import subprocess
import sys

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import models
import tokenflock as flock
from tokenflock.engine.choose import choose, engine_named
from tokenflock.engine.compiled.lanes import BYTES
from tokenflock.engine.contract import Task
from tokenflock.engine.harmonic import engine as harmonic
from tokenflock.engine.harmonic.cost import pairs_s, registers_for, waves_s
from tokenflock.engine.harmonic.engine import HarmonicEngine, HarmonicStepper, check_memory
from tokenflock.engine.harmonic.series import (
    BACK,
    DEGREE,
    GROSS,
    LOSS,
    MASS,
    NUMBERS,
    REACH,
    SEED,
    STEP,
    TURN,
    WIDTH,
    circle_modes,
    circle_series,
    sphere_degree,
    sphere_series,
    steps_of,
    tail_after,
)
from tokenflock.engine.harmonic.velocity import BLOCKS, FLAT
from tokenflock.errors import EngineError, SpecError
from tokenflock.geometry import circle, retract
from tokenflock.model import velocity
from tokenflock.schemes import RODAS, TSIT5
from tolerances import close, within
from waiting import LONG_S

EPS = float(np.finfo(float).eps)
BETAS = (0.0, 1e-3, 1.0, 16.0, 64.0, 900.0)
MODELS = [c for c in models.every_model_option() if HarmonicEngine().supports(c.model, "float64") is None]
MASKS = ("causal", "full", flock.Window(1), flock.Window(9), flock.Window(150), flock.Window(20, causal=False))


def task(model, t_end=1.0, scheme=TSIT5, rtol=1e-6, atol=1e-9, dtype="float64"):
    return Task(model, t_end, scheme, None, rtol, atol, dtype, 0)


# ---- the series


def test_a_register_of_the_series_is_a_register_of_the_machine():
    assert WIDTH == BYTES // 8


def test_the_series_and_who_goes_by_waves_are_plain_numpy():
    """torch takes its waves from the same series, on machines without numba."""
    code = (
        "import sys, tokenflock.engine.harmonic.series, tokenflock.engine.harmonic.cost;"
        "print([name for name in ('numba', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONG_S)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("b", BETAS)
@pytest.mark.parametrize("tolerance", [1e-6, 1e-12])
def test_the_circle_series_is_the_weight_to_its_tail(b, tolerance):
    series, a = circle_series(b, tolerance), np.linspace(-math.pi, math.pi, 201)
    m, w = np.arange(series.rows.shape[1])[:, None], np.exp(b * (np.cos(a) - 1))
    error = np.abs(series.rows[MASS] @ np.cos(m * a) - w).max()
    error += np.abs(series.rows[TURN] @ np.sin(m * a) - w * np.sin(a)).max()
    error += np.abs(series.rows[REACH] @ np.cos(m * a) - w * (np.cos(a) - 1)).max()
    assert series.tail <= tolerance
    assert error <= series.tail + 100 * EPS


@pytest.mark.parametrize("b", [1.0, 64.0, 900.0])
def test_half_the_modes_are_too_few(b):
    count, _ = circle_modes(b, 1e-12)
    rows, a = circle_series(b, 1e-12).rows, np.linspace(-math.pi, math.pi, 201)
    m = np.arange(count // 2)[:, None]
    assert np.abs(rows[MASS, : count // 2] @ np.cos(m * a) - np.exp(b * (np.cos(a) - 1))).max() > 1e-6


@pytest.mark.parametrize("b", [0.5, 16.0, 200.0])
def test_tails_are_bounded_and_not_by_much(b):
    count, bound = circle_modes(b, 1e-10)
    with mpmath.workdps(40):
        terms = [2 * mpmath.exp(-b) * mpmath.besseli(m, b) for m in range(count, count + 120)]
        true = float(sum(t * (3 + 2 * mpmath.mpf(m) / b) for m, t in enumerate(terms, count)))
    assert true <= bound <= 3 * true


def test_a_tail_needs_falling_ratios():
    # The bound is that of a geometric series with the first ratio: exact for one, infinite where terms still grow.
    assert_allclose(tail_after(0.5 ** np.arange(5.0))[0], 2.0, **close("float64", 5))
    assert tail_after(np.array([1.0, 2.0, 1.0]))[0] == np.inf


@pytest.mark.parametrize("b", [0.0, 1.0, 16.0, 100.0])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-12])
def test_the_sphere_series_is_the_weight_to_its_tail(b, tolerance):
    series, s = sphere_series(b, tolerance), np.linspace(-1, 1, 101)
    degree = int(series.rows[NUMBERS, DEGREE])
    p, w = np.polynomial.legendre.legvander(s, degree), np.exp(b * (s - 1))
    error = np.abs(p @ series.rows[MASS, : degree + 1] - w).max()
    error += np.abs(p @ series.rows[REACH, : degree + 1] - w * (s - 1)).max()
    assert series.tail <= tolerance
    assert error <= series.tail + 100 * EPS
    assert np.abs(p[:, : degree // 2] @ series.rows[MASS, : degree // 2] - w).max() > tolerance or b == 0


def test_the_recurrence_satisfies_the_addition_theorem():
    """P_l(<x, y>) as a sum over m, from the table written out slowly."""
    rows = sphere_series(30.0, 1e-12).rows
    degree = int(rows[NUMBERS, DEGREE])
    x, y = retract(np.random.default_rng(0).standard_normal((2, 3)))
    total, at = np.zeros(degree + 1), 0
    for first in range(0, degree + 1, WIDTH):
        p = {name: [np.zeros(WIDTH), np.zeros(WIDTH)] for name in "xy"}
        m = first + np.arange(WIDTH)
        turn = (((x[0] + 1j * x[1]) * (y[0] - 1j * y[1])) ** m).real
        for l in range(first, degree + 1):
            step, back, seed = (rows[k, at : at + WIDTH] for k in (STEP, BACK, SEED))
            for name, height in (("x", x[2]), ("y", y[2])):
                p[name] = [p[name][1], step * height * p[name][1] - back * p[name][0] + seed]
            total[l] += (p["x"][1] * p["y"][1] * turn).sum()
            at += WIDTH
    assert at == WIDTH * steps_of(degree)
    expected = np.polynomial.legendre.legvander(np.array([x @ y]), degree)[0]
    assert_allclose(total, expected, **close("float64", degree, degree))


def test_modes_grow_like_the_root_of_beta():
    b = np.geomspace(30.0, 30_000.0, 10)
    modes = [circle_modes(k, 1e-16)[0] for k in b]
    assert 0.45 < np.polyfit(np.log(b), np.log(modes), 1)[0] < 0.55
    degrees = [sphere_degree(k, 1e-12)[0] for k in b[:6]]
    assert 0.4 < np.polyfit(np.log(b[:6]), np.log(degrees), 1)[0] < 0.55


# ---- the velocity


@pytest.mark.parametrize("seed", range(40))
def test_velocities_are_those_of_pairs_to_the_stated_error(seed):
    """Random sizes, sharpness, masks and starts: spread, clustered, or nearly collapsed."""
    rng = np.random.default_rng(seed)
    dim, n = int(rng.integers(2, 4)), int(rng.integers(1, 700))
    beta = float(10 ** rng.uniform(-1, 3.0 if dim == 2 else 1.8))
    mask = MASKS[int(rng.integers(len(MASKS)))]
    spread = 10 ** rng.uniform(-6, 0.5)
    x = retract(flock.uniform(3, dim, seed=seed)[rng.integers(3, size=n)] + spread * rng.standard_normal((n, dim)))
    model, engine = flock.Model(dim=dim, beta=beta, mask=mask), HarmonicEngine()
    error = np.linalg.norm(engine.velocity(model, x) - velocity(model, x), axis=-1).max()
    assert error <= engine.velocity_error < 1e-9


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("dim", [2, 3])
def test_the_tolerance_is_kept_and_used(dim, tolerance):
    model, x = flock.Model(dim=dim, beta=50.0), flock.uniform(300, dim, seed=1)
    got = HarmonicEngine().velocity(model, x, tolerance=tolerance)
    error = np.abs(got - velocity(model, x)).max()
    assert error <= tolerance
    assert registers_for(model, 300, tolerance) < registers_for(model, 300, tolerance * 1e-4)


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_every_option_it_takes_is_that_of_the_specification(case):
    model, n = case.model, 131
    x = models.tokens_for(model, n, seed=1)
    radius = np.linspace(0.5, 2.0, n) if model.has_radius else None
    engine = HarmonicEngine()
    got, expected = engine.velocity(model, x, 1.25, radius), velocity(model, x, 1.25, radius)
    tolerance = close("float64", n, models.amplification(model, x, 1.25))
    assert_allclose(got, expected, rtol=tolerance["rtol"], atol=tolerance["atol"] + 4 * engine.velocity_error)


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 47, 48, 49, 97, 500])
@pytest.mark.parametrize("dim", [2, 3])
def test_the_edges_of_blocks(dim, n, mask):
    model, x = flock.Model(dim=dim, beta=9.0, mask=mask), flock.uniform(n, dim, seed=2)
    tolerance = close("float64", n, models.amplification(model, x) * 10)
    assert_allclose(HarmonicEngine().velocity(model, x), velocity(model, x), **tolerance)


@pytest.mark.parametrize("model", [flock.Model(dim=2, beta=64.0), flock.Model(dim=3, beta=16.0, mask="full")], ids=str)
def test_rotations_commute_with_it_even_through_the_poles(model):
    x = flock.uniform(100, model.dim, seed=3)
    x[:2] = np.eye(model.dim)[-1], -np.eye(model.dim)[-1]
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((model.dim, model.dim)))[0]
    one, other = HarmonicEngine().velocity(model, x), HarmonicEngine().velocity(model, x @ turn.T)
    assert_allclose(one @ turn.T, other, **close("float64", 100, 100))


def test_errors_are_absolute_and_so_a_tiny_pull_is_lost():
    """What pairs keep (tests/engine/test_accuracy.py), waves do not: this is why auto avoids them over long times."""
    x = circle(np.array([0.0, 1.2]))
    model = flock.Model(dim=2, beta=64.0)
    true = np.abs(velocity(model, x)[1]).max()
    engine = HarmonicEngine()
    assert 1e-20 < true < 1e-17
    assert np.abs(engine.velocity(model, x) - velocity(model, x)).max() <= engine.velocity_error
    assert engine.velocity_error > 100 * true


def test_a_lonely_token_that_sees_a_cluster_raises_the_estimate():
    crowd = circle(np.full(2000, 1.0))
    spread, lonely = HarmonicEngine(), HarmonicEngine()
    model = flock.Model(dim=2, beta=64.0)
    spread.velocity(model, flock.uniform(2001, 2, seed=0))
    got = lonely.velocity(model, np.concatenate([crowd, circle(np.array([3.5]))]))
    assert lonely.velocity_error > 10 * spread.velocity_error
    assert np.abs(got[-1]).max() <= lonely.velocity_error


def test_the_estimate_holds_what_the_series_leaves_out():
    # A crowd in one place adds up the error of one angle: the largest part of what a tail may do to a lonely token.
    model, ratios = flock.Model(dim=2, beta=64.0), []
    for angle in np.linspace(0.8, 1.6, 9):
        x = circle(np.append(np.zeros(1000), angle))
        engine = HarmonicEngine()
        error = np.abs(engine.velocity(model, x, tolerance=1e-4) - velocity(model, x)).max()
        assert error <= engine.velocity_error <= 1e-4
        ratios.append(error / engine.velocity_error)
    assert max(ratios) > 1e-2


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_the_estimate_knows_the_size_of_the_sums_that_were_rounded(mask):
    """The sums of waves that the last row went through, written out, over its mass."""
    model, n = flock.Model(dim=2, beta=20.0, mask=mask), 600
    angles = np.append(np.random.default_rng(0).normal(0.0, 0.3, n - 1), 2.0)
    stepper = HarmonicStepper(task(model), circle(angles), 0, False, None, 1e-13, lambda error: None)
    y = harmonic.state_of(model, circle(angles), "float64")
    stepper.velocity(y, 0.0, np.zeros_like(y))
    rows = stepper._series.rows
    sums = np.exp(1j * np.outer(np.arange(1, rows.shape[1]), angles)).sum(axis=1)
    mass = np.exp(20.0 * (np.cos(angles - 2.0) - 1)).sum()
    size = float((rows[MASS, 1:] + rows[TURN, 1:]) @ np.abs(sums)) / mass
    noted = float(stepper.tables[NUMBERS, GROSS])
    assert_allclose(noted, size * (FLAT + math.sqrt(n / BLOCKS)), **close("float64", n, 1e3))


# ---- general forms


def test_rows_that_look_where_no_token_stands_are_summed_by_pairs():
    # The query turns by a right angle: every token looks off the arc on which all tokens stand, more or less.
    angles = np.random.default_rng(0).uniform(0.0, 2.5, 400)
    model = flock.Model(dim=2, beta=25.0, query=[[0.0, -1.0], [1.0, 0.0]])
    stepper = HarmonicStepper(task(model), circle(angles), 0, False, None, 1e-12, lambda error: None)
    y = harmonic.state_of(model, circle(angles), "float64")
    out = np.zeros_like(y)
    stepper.velocity(y, 0.0, out)
    assert 0.0 < stepper.rescued < 0.5
    assert_allclose(out[:, :400].T, velocity(model, circle(angles)), rtol=0, atol=stepper.error)
    assert stepper.error < 1e-9


def test_it_refuses_where_the_normaliser_loses_its_digits():
    model = flock.Model(dim=2, beta=40.0, query=-np.eye(2))  # every token looks away from all of them
    x = flock.cap(200, 2, 0.5, seed=0)
    for call in (lambda: HarmonicEngine().velocity(model, x), lambda: HarmonicEngine().begin(task(model), x)):
        with pytest.raises(
            EngineError, match=r"100% of the pairs belong to rows whose normaliser .*error up to 1e\+00"
        ):
            call()
    mild = model.with_options(beta=1.0)
    assert_allclose(HarmonicEngine().velocity(mild, x), velocity(mild, x), **close("float64", 200, 1e4))


# ---- runs


@pytest.mark.parametrize(
    ("options", "how"),
    [
        ({"dim": 2, "beta": 25.0}, {}),
        ({"dim": 3, "beta": 9.0, "mask": "full"}, {}),
        ({"dim": 2, "beta": 9.0, "mask": flock.Window(30), "value": [[1.0, 0.3], [0.0, 0.5]]}, {}),
        ({"dim": 2, "beta": 3.0, "query": [[1.0, 0.5], [0.0, 1.0]]}, {"scheme": "rk4", "dt": 0.05}),
        ({"dim": 3, "beta": 4.0, "layer_norm": "pre"}, {"scheme": "layers", "dt": 0.1}),
        ({"dim": 2, "beta": 4.0, "noise": 0.2}, {"dt": 0.05}),
    ],
    ids=["circle", "sphere", "window", "general", "layers", "noise"],
)
def test_a_run_is_that_of_the_cpu_engine(options, how):
    model, x = flock.Model(**options), flock.uniform(200, options["dim"], seed=4)
    run, pairs = (
        flock.simulate(model, x, 2.0, times=[0.5, 2.0], rtol=1e-9, engine=engine, progress=False, **how)
        for engine in ("harmonic", "cpu")
    )
    assert run.attrs["engine"] == "harmonic"
    assert 0 < run.attrs["velocity_error"] < 1e-9
    assert "velocity_error" not in pairs.attrs
    assert_allclose(run["x"].values, pairs["x"].values, **within(1e-9, 1e-9, 50))


def test_a_run_says_the_worst_of_its_errors_and_repeats_its_bits():
    model, x = flock.Model(dim=2, beta=64.0), flock.uniform(500, 2, seed=5)
    run = flock.simulate(model, x, 20.0, times=[20.0], engine="harmonic", progress=False)
    first = HarmonicEngine()
    first.velocity(model, x)
    assert run.attrs["velocity_error"] > first.velocity_error  # clusters grow, lonely tokens remain
    assert_array_equal(flock.again(run)["x"].values, run["x"].values)


@pytest.mark.parametrize("model", [flock.Model(dim=2, beta=30.0), flock.Model(dim=3, beta=9.0, mask=flock.Window(50))])
def test_a_team_gives_the_bits_of_one_thread(model, monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_THREADS", "3")
    x, times = flock.uniform(900, model.dim, seed=1), np.array([0.5])
    frames = []
    for wide in (False, True):
        frame = np.full((1, *x.shape), np.nan)
        assert HarmonicEngine().begin(task(model, 0.5), x, wide=wide).advance(times, frame, 10**9) == 1
        frames.append(frame)
    assert_array_equal(*frames)


def test_a_run_whose_errors_outgrow_its_tolerance_says_so():
    model, x = flock.Model(dim=2, beta=9.0, mask=flock.Window(50)), flock.uniform(100, 2, seed=0)
    stepper = HarmonicEngine().begin(task(model), x)
    stepper.tables[NUMBERS, LOSS] = 1e12
    with pytest.warns(UserWarning, match=r"velocities of this run have errors of about .* use engine='cpu'"):
        stepper.advance(np.array([0.5]), np.zeros((1, 100, 2)), 10**9)


# ---- which engine is taken


def chosen(n=5000, t_end=20.0, scheme=TSIT5, dtype="float64", rtol=1e-6, atol=1e-9, **options):
    model = flock.Model(**({"dim": 2, "beta": 64.0} | options))
    return choose("auto", model, dtype, n, task(model, t_end, scheme, rtol, atol)).name


def test_auto_takes_waves_for_many_tokens_only():
    """But for short runs of the papers' main case: tests/engine/harmonic/test_few.py."""
    assert chosen(2000, t_end=400.0) == chosen(2000, scheme=None) == "cpu"
    assert chosen(2001, t_end=400.0) == chosen(2001, scheme=None) == "harmonic"
    assert choose("auto", flock.Model(dim=2, beta=64.0), "float64").name == "cpu"
    assert choose("auto", flock.Model(dim=2, beta=64.0), "float64", 10**6).name == "cpu"


@pytest.mark.parametrize(
    "options",
    [
        {"t_end": 1.1e4},
        {"scheme": RODAS},
        {"dtype": "float32"},
        {"rtol": 1e-14, "atol": 1e-14},
        {"query": np.array([[1.0, 0.5], [0.0, 1.0]])},
        {"beta": -3.0},
        {"mask": flock.Window(20)},
        {"dim": 3, "beta": 100.0},
        {"dim": 5},
        {"bias": flock.Alibi(0.1)},
        {"frozen": flock.Frozen([[1.0, 0.0]])},
    ],
    ids=lambda o: next(iter(o)),
)
def test_auto_keeps_to_pairs_where_waves_are_slower_or_not_to_be_trusted(options):
    assert chosen(**options) == "cpu"


def test_the_cost_model_weighs_what_it_should():
    def gain(n, **options):
        model = flock.Model(**({"dim": 2, "beta": 64.0} | options))
        return pairs_s(model, n) / waves_s(model, n)

    assert 8 < gain(10**6) / gain(10**5) < 12
    assert gain(10**5, beta=6400.0) < gain(10**5) / 4
    assert gain(10**5, mask="full") > 1.2 * gain(10**5)
    assert gain(10**5, mask=flock.Window(20)) < 1 < gain(10**5, mask=flock.Window(5000))
    assert gain(20_000, dim=3, beta=100.0) < gain(20_000, dim=3, beta=4.0)


def test_the_front_door_takes_it_by_itself():
    x = flock.uniform(2500, 2, seed=0)
    run = flock.simulate(flock.Model(dim=2, beta=64.0), x, 0.1, times=[0.1], progress=False)
    assert run.attrs["engine"] == "harmonic"


# ---- what cannot be used


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"dim": 5}, "It works on the circle and on S\\^2, not in dim=5"),
        ({"dim": 2, "space": "euclidean"}, "not in space='euclidean'"),
        ({"dim": 2, "beta": np.inf}, "beta=inf has no series of waves"),
        ({"dim": 2, "bias": flock.Alibi(0.1)}, "A bias is no function of the angle"),
        ({"dim": 2, "frozen": flock.Frozen([[1.0, 0.0]])}, "It has no frozen tokens"),
        ({"dim": 3, "query": np.diag([1.0, 2.0, 3.0])}, "On S\\^2 it needs Q'K = c I"),
        ({"dim": 3, "query": -np.eye(3)}, "with c >= 0"),
        ({"dim": 2, "beta": 1e7}, "beta \\|Q'K\\| = 1e\\+07 needs more than 20,000 waves. Use engine='cpu'"),
        ({"dim": 3, "beta": 900.0}, "needs waves of degree over 160"),
    ],
)
def test_a_model_that_it_cannot_do_is_refused_with_the_reason(options, why):
    model = flock.Model(**options)
    with pytest.raises(EngineError, match=f"engine='harmonic' cannot run this model. .*{why}"):
        flock.simulate(model, models.tokens_for(model, 5), 1.0, engine="harmonic")


def test_what_is_asked_must_be_possible():
    model, x = flock.Model(dim=2, beta=9.0), flock.uniform(50, 2, seed=0)
    with pytest.raises(EngineError, match="it needs dtype='float64', not 'float32'"):
        flock.simulate(model, x, 1.0, engine="harmonic", dtype="float32")
    with pytest.raises(EngineError, match=r"explicit schemes only. Use engine='cpu' for scheme='rosenbrock'"):
        flock.simulate(model, x, 1.0, engine="harmonic", scheme="rosenbrock")
    with pytest.raises(EngineError, match="explicit schemes only"):
        choose("harmonic", model, "float64", 50, task(model, scheme=RODAS))
    with pytest.raises(SpecError, match=r"tolerance = 1e-20 cannot be used. Allowed: >= 2.2e-16, the rounding"):
        HarmonicEngine().velocity(model, x, tolerance=1e-20)
    with pytest.raises(SpecError, match="tolerance = nan"):
        HarmonicEngine().velocity(model, x, tolerance=math.nan)


def test_a_tolerance_that_waves_cannot_keep_is_refused_before_any_work():
    x = np.concatenate([circle(np.full(3000, 1.0)), circle(np.array([3.5]))])
    model = flock.Model(dim=2, beta=64.0)
    tight = dataclasses.replace(task(model), rtol=1e-13, atol=1e-13)
    with pytest.raises(EngineError, match=r"errors of about .* more than rtol \+ atol = 2.0e-13.*Raise rtol"):
        HarmonicEngine().begin(tight, x)
    engine = HarmonicEngine()
    engine.begin(task(model), x)
    assert 0 < engine.velocity_error < 1e-9


def test_more_memory_than_there_is_is_refused():
    with pytest.raises(SpecError, match=r"start = '100,000,000,000 tokens, .* GiB' cannot be used"):
        check_memory(task(flock.Model(dim=2)), 10**11, 2)
    check_memory(task(flock.Model(dim=2)), 10**6, 2)


def test_it_is_named_among_the_engines():
    assert engine_named("harmonic").name == "harmonic"
    with pytest.raises(SpecError, match=r"unknown engine 'harmonics'. Did you mean 'harmonic'"):
        flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), 1.0, engine="harmonics")
