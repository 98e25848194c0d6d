"""Ensembles in one compiled call: the bits of single runs, whoever takes them; nothing is lost and little is held."""

import dataclasses
import signal
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import models
import tokenflock as flock
from runs import TIMES, followed, frames_for, task
from tokenflock.engine.choose import engine_named
from tokenflock.engine.contract import Outcome
from tokenflock.engine.explicit.ensemble import CpuEnsemble, parts_of
from tokenflock.engine.explicit.stepper import by_pairs, state_of
from tokenflock.errors import EngineError
from tokenflock.model import kind_at
from tokenflock.schemes import SCHEMES

N, RUNS = 9, 5
EVERY = [c for c in models.every_model_option(N) if engine_named("cpu").supports(c.model, "float64") is None]
CASES, VARYING = ([c for c in EVERY if bool(c.model.varying) is changes] for changes in (False, True))


def together(engine, work, starts, times=TIMES, patience=10**9):
    """A whole ensemble, in as many calls as its patience needs."""
    ensemble = engine.begin_all(work, starts)
    frames = np.stack([frames_for(work, starts.shape[1], times) for _ in starts])
    filled = np.zeros(len(starts), dtype=np.int64)
    while any(o is None for o in ensemble.outcomes):
        ensemble.advance(times, frames, filled, patience)
    return ensemble, frames, filled


def assert_the_bits_of_single_runs(engine, work, starts, times=TIMES, **how):
    ensemble, frames, filled = together(engine, work, starts, times, **how)
    for r, start in enumerate(starts):
        alone, whole = followed(engine, work, start, times, run=r)
        assert_array_equal(frames[r], whole)
        assert filled[r] == np.isfinite(whole).all(axis=(1, 2)).sum()
        assert ensemble.outcomes[r] is alone.outcome
        told = (ensemble.t[r], ensemble.steps[r], ensemble.rejected[r], ensemble.evaluations[r])
        assert told == (alone.t, alone.steps, alone.rejected, alone.evaluations)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_ensemble_has_the_bits_of_single_runs(case, monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_THREADS", "3")
    noisy = case.model.noisy
    works = [task(case.model, "heun", dt=0.25)] if noisy else [task(case.model)]
    for work in works:
        assert_the_bits_of_single_runs(engine_named("cpu"), work, models.tokens_for(case.model, N, seed=2, runs=RUNS))


@pytest.mark.parametrize("case", VARYING, ids=str)
def test_runs_whose_weights_change_go_one_by_one_to_the_bits_of_single_runs(case):
    noisy, engine = case.model.noisy, engine_named("cpu")
    work = task(case.model, "heun", dt=0.25) if noisy else task(case.model)
    starts = models.tokens_for(case.model, N, seed=2, runs=RUNS)
    assert parts_of(work, 100, N, 0) == []
    with pytest.raises(AssertionError, match="one by one"):
        engine.begin_all(work, starts)
    how = {"scheme": "heun", "dt": 0.25} if noisy else {"scheme": "tsit5"}
    run = flock.simulate(case.model, starts, TIMES[-1], times=TIMES, engine="cpu", seed=0, **how)
    for r, start in enumerate(starts):
        assert_array_equal(run["x"].values[r], followed(engine, work, start, run=r)[1][..., : case.model.dim])


@pytest.mark.parametrize("threads", [1, 2, 16])
@pytest.mark.parametrize("scheme", ["tsit5", "rk4", "euler", "layers"])
@pytest.mark.parametrize("name", ["causal-d2", "mix-heads-d3", "general-d5"])
def test_the_bits_depend_neither_on_threads_nor_on_pauses(name, scheme, threads, monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_THREADS", str(threads))
    model = next(c.model for c in CASES if c.name == name)
    work = task(model, scheme, dt=None if scheme == "tsit5" else 0.125)
    starts = models.tokens_for(model, N, seed=4, runs=RUNS)
    for patience in (1, 10**9):
        assert_the_bits_of_single_runs(engine_named("cpu"), work, starts, patience=patience)


@pytest.mark.parametrize("scheme", ["tsit5", "layers"])
def test_runs_whose_attention_becomes_boolean_are_finished_by_hand(scheme, monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_THREADS", "2")
    made, usual = [], CpuEnsemble._finish
    monkeypatch.setattr(CpuEnsemble, "_finish", lambda self, *a: made.append(1) or usual(self, *a))
    model = flock.Model(dim=2, space="rescaled", mask="full", beta=2.0)
    work = task(model, scheme, dt=0.25 if scheme == "layers" else None, t_end=TIMES[-1] * 20)
    starts, times = flock.cube(N, 2, seed=1, runs=RUNS), TIMES * 20
    for patience in (1, 10**9):
        made.clear()
        assert_the_bits_of_single_runs(engine_named("cpu"), work, starts, times=times, patience=patience)
        assert len(made) == RUNS


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("dim", "mask"), [(2, "causal"), (3, "full")])
def test_waves_go_together_too(dim, mask, dtype):
    model = flock.Model(dim=dim, beta=9.0, mask=mask)
    engine, work = engine_named("harmonic"), task(model)
    starts = flock.uniform(100, dim, seed=1, runs=RUNS)
    assert engine.parts(work, RUNS, 100)
    assert_the_bits_of_single_runs(engine, work, starts)
    assert 0.0 < engine.told()["velocity_error"] < work.rtol


def test_a_run_that_fails_stands_beside_those_that_do_not():
    model = flock.Model(dim=2, space="euclidean", value=np.diag([30.0, 30.0]))
    starts = flock.cube(N, 2, seed=3, runs=6)
    starts[2] *= 1e307
    with pytest.warns(UserWarning, match=r"1 of 6 runs failed, run 2 at t = 0: .* The tokens are no longer finite"):
        run = flock.simulate(model, starts, 1.0, engine="cpu")
    assert [Outcome.NOT_FINITE if r == 2 else Outcome.DONE for r in range(6)] == outcomes_of(run)
    assert np.isfinite(run["x"].values[[0, 1, 3, 4, 5]]).all()
    assert_array_equal(run["x"].values[4], flock.simulate(model, starts[4], 1.0, engine="cpu")["x"])
    with pytest.raises(EngineError, match="The tokens are no longer finite"):
        flock.simulate(model, starts[[2, 2]], 1.0, engine="cpu")


def outcomes_of(run):
    """The outcomes of an ensemble."""
    names = run["outcome"].attrs["flag_meanings"].split()
    return [Outcome[names[k].upper()] for k in run["outcome"].values]


def test_a_velocity_remembers_nothing_of_the_one_before():
    """A step that was rejected may have been at infinity, and so may the run that a thread followed before."""
    for case in EVERY:
        right, fresh = (by_pairs(case.model, N, "float64") for _ in range(2))
        y = state_of(case.model, models.tokens_for(case.model, N, seed=5), "float64")
        clean = np.zeros_like(y)
        fresh.velocity(y, 0.0, kind_at(case.model.norm, 0.0), clean)
        with np.errstate(invalid="ignore"):
            right.velocity(np.full_like(y, np.nan), 0.0, kind_at(case.model.norm, 0.0), np.zeros_like(y))
        out = np.zeros_like(y)
        right.velocity(y, 0.0, kind_at(case.model.norm, 0.0), out)
        assert_array_equal(out, clean, err_msg=str(case))


def test_an_interrupted_ensemble_keeps_whole_runs_and_whole_frames():
    model, runs = flock.Model(dim=3, beta=4.0, mask="full"), 400
    starts = flock.uniform(60, 3, seed=1, runs=runs)
    timer = threading.Timer(0.15, signal.raise_signal, (signal.SIGINT,))
    times = np.linspace(0.0, 200.0, 21)
    whole = flock.simulate(model, starts[:8], 200.0, times=times, engine="cpu")
    timer.start()
    cut = flock.simulate(model, starts, 200.0, times=times, engine="cpu")
    timer.join(20)
    assert Outcome.INTERRUPTED in outcomes_of(cut)
    is_kept = np.isfinite(cut["x"].values).all(axis=(2, 3))  # (runs, times)
    assert (np.diff(is_kept.astype(int), axis=1) <= 0).all(), "frames are kept from the start on, without holes"
    for r in range(8):
        kept = is_kept[r]
        assert_array_equal(cut["x"].values[r, kept], whole["x"].values[r, kept])


def test_what_is_held_of_an_ensemble_is_bounded(monkeypatch):
    """Reducers see each frame; of the frames only those of one part are there at a time."""
    monkeypatch.setattr("tokenflock.engine.explicit.ensemble.HELD_BYTES", 40 * 3 * N * 2 * 8)
    made, usual = [], CpuEnsemble.__init__
    monkeypatch.setattr(CpuEnsemble, "__init__", lambda self, *a: made.append(a[1].shape) or usual(self, *a))
    starts, times = flock.uniform(N, 2, seed=1, runs=100), [0.0, 0.5, 1.0]
    options = {"times": times, "reduce": {"first": lambda x: x[0]}, "positions": False, "engine": "cpu"}
    monkeypatch.setenv("TOKENFLOCK_THREADS", "2")
    run = flock.simulate(flock.Model(dim=2), starts, 1.0, **options)
    assert [shape[0] for shape in made] == [40, 40, 20]
    whole = flock.simulate(flock.Model(dim=2), starts, 1.0, times=times, engine="cpu")
    assert_array_equal(run["first"], whole["x"].values[:, :, 0])


def test_progress_reaches_the_end_and_never_falls():
    told = []
    flock.simulate(flock.Model(dim=2), flock.uniform(N, 2, runs=50), 5.0, engine="cpu", progress=told.append)
    assert told[-1] == 1.0
    assert told == sorted(told)


@pytest.mark.parametrize(
    "change",
    [{"scheme": SCHEMES["rosenbrock"]}, {"auto": True}],
    ids=["implicit", "may become implicit"],
)
def test_runs_that_change_on_their_way_go_one_by_one(change, monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_THREADS", "2")
    work = task(flock.Model(dim=2))
    assert parts_of(work, 40, N, 0) == [(0, 40)]
    assert parts_of(dataclasses.replace(work, **change), 40, N, 0) == []


def test_few_large_runs_share_the_cores_one_after_the_other(monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_THREADS", "16")
    work = task(flock.Model(dim=2))
    assert parts_of(work, 8, 1000, 0) == []
    assert parts_of(work, 8, 20, 0) == [(0, 8)]
    assert parts_of(work, 16, 1000, 0) == [(0, 16)]
    assert parts_of(work, 1, 20, 0) == []
    assert parts_of(work, 10**5, 20, 2**30) == [], "one run is held at a time"


def test_runs_of_an_ensemble_whose_steps_never_reach_t_end_are_given_up(monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_THREADS", "2")
    monkeypatch.setattr("tokenflock.runner.ENOUGH_STEPS", 200)
    model = flock.Model(dim=2, value=np.array([[0.0, 1.0], [-1.0, 0.0]]), mask="full")  # tokens turn for ever
    run = flock.simulate(model, flock.uniform(3, 2, runs=6), 1e300, scheme="tsit5", engine="cpu", throw=False)
    assert outcomes_of(run) == [Outcome.SMALL] * 6
