"""Waves for some hundred tokens: velocities within their bound, whole runs, what they leave at rest, who takes them."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tokenflock as flock
from tokenflock.engine.choose import choose
from tokenflock.engine.contract import Task
from tokenflock.engine.explicit.stepper import state_of
from tokenflock.engine.harmonic import cost
from tokenflock.engine.harmonic.cost import are_few, few_error
from tokenflock.engine.harmonic.engine import HarmonicEngine, HarmonicStepper
from tokenflock.engine.harmonic.few import by_few_waves
from tokenflock.engine.harmonic.series import MASS, STEP, TURN
from tokenflock.model import velocity
from tokenflock.schemes import RODAS, TSIT5, scheme_named
from tolerances import within

MASKS = ("causal", "full")
BETAS = {2: (0.0, 1e-3, 1.0, 64.0, 900.0), 3: (0.0, 1e-3, 1.0, 9.0, 40.0)}
CASES = [(d, mask, beta) for d in (2, 3) for mask in MASKS for beta in BETAS[d]]


def task(model, t_end=1.0, scheme=TSIT5, rtol=1e-6, atol=1e-9, dtype="float64"):
    return Task(model, t_end, scheme, None, rtol, atol, dtype, 0)


def by_waves(model, x, rtol=1e-6, spoil=None):
    """The velocity of a run's kernels, as (n, d), and its bound."""
    work = task(model, rtol=rtol)
    assert are_few(work, len(x))
    right_side = by_few_waves(work, len(x), wide=False)
    if spoil:
        spoil(right_side.field.work.pairs.tables)
    y = state_of(model, x, "float64")
    out = np.zeros_like(y)
    right_side.velocity(y, 0.0, "post", out)
    assert_array_equal(out[:, len(x) :], 0.0)  # the padding rests
    return out[:, : len(x)].T, few_error(model, len(x), rtol + 1e-9)


# ---- velocities


@pytest.mark.parametrize(("d", "mask", "beta"), CASES)
@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 200])
def test_velocities_are_those_of_the_model_within_the_bound(d, mask, beta, n):
    model, x = flock.Model(dim=d, beta=beta, mask=mask, value=-1.5 * np.eye(d)), flock.uniform(n, d, seed=n)
    for rtol in (1e-6, 1e-9):
        found, bound = by_waves(model, x, rtol)
        assert np.abs(found - velocity(model, x)).max() <= bound <= rtol + 1e-9


@pytest.mark.parametrize(("d", "mask"), [(2, "causal"), (2, "full"), (3, "causal"), (3, "full")])
def test_clusters_poles_and_lengths_are_no_matter(d, mask):
    model = flock.Model(dim=d, beta=30.0, mask=mask)
    x = flock.planted(120, d, n_clusters=5, spread=1e-7, seed=3)
    x[7], x[8] = np.eye(d)[-1], -np.eye(d)[-1]
    found, bound = by_waves(model, x)
    assert np.abs(found - velocity(model, x)).max() <= bound
    scaled, _ = by_waves(model, x * np.linspace(0.9, 1.1, 120)[:, None])  # between steps tokens are off the sphere
    assert np.abs(scaled - found).max() <= bound


@pytest.mark.parametrize(("d", "row", "place"), [(2, MASS, 3), (2, TURN, 3), (3, MASS, 25), (3, STEP, 25)])
def test_a_wrong_table_is_found(d, row, place):
    def spoil(tables):
        tables[row, place] *= 1.0 + 1e-6

    model, x = flock.Model(dim=d, beta=9.0), flock.uniform(200, d)
    found, bound = by_waves(model, x, spoil=spoil)
    assert np.abs(found - velocity(model, x)).max() > bound


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("mask", MASKS)
def test_opposite_tokens_rest_to_the_last_bit(d, mask):
    x = np.zeros((100, d))
    x[:, 0] = np.where(np.arange(100) % 3, 1.0, -1.0)
    found, _ = by_waves(flock.Model(dim=d, beta=2.0, mask=mask), x)
    assert_array_equal(found, 0.0)


# ---- whole runs


@pytest.mark.parametrize(
    ("d", "mask", "beta"), [(2, "causal", 64.0), (2, "full", 16.0), (3, "causal", 9.0), (3, "full", 9.0)]
)
def test_a_run_is_the_run_by_pairs(d, mask, beta):
    model, start = flock.Model(dim=d, beta=beta, mask=mask), flock.uniform(150, d, seed=2)
    times = np.linspace(0.0, 20.0, 21)
    pairs = flock.simulate(model, start, 20.0, times=times, engine="cpu")
    waves = flock.simulate(model, start, 20.0, times=times, engine="harmonic")
    assert waves.attrs["engine"] == "harmonic"
    assert waves.attrs["velocity_error"] == few_error(model, 150, 1e-6 + 1e-9)
    assert waves.attrs["evaluations"] == pairs.attrs["evaluations"]
    assert_allclose(waves.x, pairs.x, **within(1e-6, 1e-9, 0.1))
    assert_array_equal(flock.again(waves).x, waves.x)


def test_an_ensemble_is_its_runs_for_any_number_of_threads(monkeypatch):
    model, starts = flock.Model(dim=2, beta=64.0), flock.uniform(100, 2, runs=4)
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("TOKENFLOCK_THREADS", threads)
        found.append(flock.simulate(model, starts, 30.0).x)
    assert found[0].shape[0] == 4
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0][2], flock.simulate(model, starts[2], 30.0).x)


@pytest.mark.parametrize("n", [400, 1001])
def test_a_large_run_has_the_bits_of_one_core(n, monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_THREADS", "3")
    model, x = flock.Model(dim=3, beta=9.0, mask="full"), flock.uniform(n, 3)
    frames = []
    for wide in (False, True):
        stepper = HarmonicEngine().begin(task(model), x, wide=wide)
        assert (stepper._right_side.wide, isinstance(stepper, HarmonicStepper)) == (wide, False)
        frames.append(np.full((2, n, 3), np.nan))
        assert stepper.advance(np.array([0.5, 1.0]), frames[-1], 10**9) == 2
    assert_array_equal(*frames)


def test_a_run_stops_when_all_tokens_have_met():
    run = flock.simulate(flock.Model(dim=2, beta=0.5), flock.uniform(300, 2), 200.0)
    assert (run.attrs["engine"], run.attrs["outcome"]) == (
        "harmonic",
        "All tokens met before t_end; later frames repeat the last one.",
    )
    assert_allclose(run.x[-1], np.broadcast_to(run.x[0, 0], (300, 2)), atol=1e-8)


# ---- who takes them


def taken(model=None, n=200, t_end=100.0, scheme=TSIT5, rtol=1e-6, atol=1e-9, dtype="float64"):
    """The engine of an automatic run of the papers' main case, or of another."""
    model = model or flock.Model(dim=2, beta=64.0)
    return choose("auto", model, dtype, n, task(model, t_end, scheme, rtol, atol, dtype)).name


def test_auto_takes_waves_for_few_tokens_where_they_are_faster():
    assert taken() == "harmonic"
    assert taken(t_end=300.0) == "harmonic"
    assert taken(flock.Model(dim=2, beta=64.0, mask="full")) == "harmonic"
    assert taken(flock.Model(dim=3, beta=9.0, mask="full"), n=1000) == "harmonic"
    assert taken(n=40) == "cpu"
    assert taken(flock.Model(dim=3, beta=100.0), n=300) == "cpu"


@pytest.mark.parametrize(
    ("threads", "dim", "mask", "n", "engine"),
    [
        (1, 2, "causal", 200, "harmonic"),
        (2, 2, "causal", 200, "harmonic"),
        (2, 2, "causal", 1000, "harmonic"),
        (1, 3, "full", 200, "cpu"),
        (2, 3, "full", 200, "cpu"),
        (2, 3, "full", 1000, "harmonic"),
        (1, 3, "causal", 300, "cpu"),
        (1, 3, "causal", 500, "cpu"),
        (2, 3, "causal", 500, "cpu"),
        (1, 3, "causal", 1000, "harmonic"),
        (2, 3, "causal", 1000, "cpu"),
    ],
)
def test_auto_takes_what_was_faster_when_whole_runs_were_measured(threads, dim, mask, n, engine, monkeypatch):
    """Pairs are shared among the cores; waves of a causal mask on S^2 are not."""
    monkeypatch.setenv("TOKENFLOCK_THREADS", str(threads))
    assert taken(flock.Model(dim=dim, beta=64.0 if dim == 2 else 9.0, mask=mask), n=n, t_end=150.0) == engine


@pytest.mark.parametrize(
    "options",
    [
        {"t_end": 301.0},
        {"scheme": RODAS},
        {"scheme": scheme_named("rk4")},
        {"scheme": None},
        {"rtol": 1e-13, "atol": 1e-13},
        {"dtype": "float32"},
        {"model": flock.Model(dim=4, beta=9.0)},
        {"model": flock.Model(dim=2, beta=64.0, mask=flock.Window(50))},
        {"model": flock.Model(dim=2, beta=64.0, normaliser="count")},
        {"model": flock.Model(dim=2, beta=64.0, value=np.diag([1.0, 0.5]))},
        {"model": flock.Model(dim=2, beta=64.0, query=-np.eye(2))},
        {"model": flock.Model(dim=2, beta=1e6)},
        {"model": flock.Model(dim=2, beta=64.0, value=np.zeros((2, 2)))},
        {"model": flock.Model(dim=2, beta=64.0, space="euclidean")},
    ],
    ids=str,
)
def test_auto_keeps_to_pairs_for_the_rest(options):
    assert taken(**options) == "cpu"


@pytest.mark.parametrize(
    "model", [flock.Model(dim=2, beta=64.0), flock.Model(dim=3, beta=9.0)], ids=["circle", "sphere"]
)
def test_what_is_too_much_for_them_goes_to_the_blocks(model, monkeypatch):
    def by_blocks(n, of=model):
        return isinstance(HarmonicEngine().begin(task(of), flock.uniform(n, of.dim)), HarmonicStepper)

    assert not by_blocks(100)
    assert by_blocks(cost.MOST_TOKENS + 1)
    assert by_blocks(100, of=dataclasses.replace(model, mask=flock.Window(20)))
    monkeypatch.setitem(cost.MOST_REGISTERS, model.dim, 3)
    assert by_blocks(100, of=dataclasses.replace(model))  # what was prepared for a model stays with it
