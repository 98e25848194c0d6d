"""The trajectory: what a run keeps, how it says how to repeat itself, and what is left when something goes wrong."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_array_equal

import tokenflock as flock
from models import every_model_option, tokens_for
from tokenflock import runner
from tokenflock.engine.contract import Outcome
from tokenflock.errors import EngineError, FileError, SpecError
from tokenflock.graphs import Graph
from tokenflock.trajectories import ATTRIBUTES, SCHEMA, model_of, validate

MODEL = flock.Model(dim=2, beta=4.0)
START = flock.uniform(6, 2, seed=1)
ENSEMBLE = flock.uniform(6, 2, seed=1, runs=3)
SUFFIXES = (".zarr", ".nc")
CASES = every_model_option(5)


def short(model, start, **options):
    """A run of a few steps, whatever the model."""
    given = {"dt": 0.05} if model.noise or np.isinf(model.beta) else {}
    return flock.simulate(model, start, 0.2, times=[0.0, 0.1, 0.2], **(given | options))


def middle(x):
    return x.mean(axis=0)


def spread(x):
    return float(np.ptp(x))


# ---- schema


def test_a_single_run_has_the_axes_of_the_schema():
    run = flock.simulate(MODEL, START, 2.0)
    assert run.x.dims == ("time", "token", "axis")
    assert run.x.shape == (101, 6, 2)
    assert_array_equal(run.time, np.linspace(0, 2, 101))
    assert run.start.dims == ("token", "axis")
    assert_array_equal(run.x[0], run.start)
    assert set(run.data_vars) == {"x", "start"}
    assert validate(run) is run


def test_an_ensemble_has_a_run_axis_and_says_how_each_run_went():
    run = flock.simulate(MODEL, ENSEMBLE, 2.0, times=[0.0, 1.0, 2.0], rtol=1e-9)
    assert run.x.dims == ("run", "time", "token", "axis")
    assert run.x.shape == (3, 3, 6, 2)
    assert {run[name].dims for name in ("steps", "rejected", "evaluations", "outcome")} == {("run",)}
    assert run.attrs["steps"] == run.steps.sum()
    assert run.outcome.attrs["flag_meanings"].split()[int(run.outcome[0])] == "done"
    assert len(set(run.steps.values)) > 1  # every run has its own steps


def test_each_run_of_an_ensemble_is_the_run_alone_bit_for_bit():
    run = flock.simulate(MODEL, ENSEMBLE, 2.0, times=[0.0, 1.0, 2.0])
    for r in range(3):
        assert_array_equal(run.x[r], flock.simulate(MODEL, ENSEMBLE[r], 2.0, times=[0.0, 1.0, 2.0]).x)


def test_an_ensemble_of_one_keeps_its_run_axis():
    assert flock.simulate(MODEL, ENSEMBLE[:1], 1.0).x.dims == ("run", "time", "token", "axis")


@pytest.mark.parametrize("kind", ["pre", "mix", "peri"])
def test_magnitudes_are_kept_where_they_move(kind):
    run = short(flock.Model(dim=3, layer_norm=flock.LayerNorm(kind, radius=1.5, switch=0.05)), flock.uniform(5, 3))
    assert run.radius.dims == ("time", "token")
    assert_array_equal(run.radius[0], 1.5)
    assert run.x.shape == (3, 5, 3)
    assert (run.radius[-1] != 1.5).all()


def test_float32_runs_are_kept_in_float32():
    assert short(MODEL, START, dtype="float32").x.dtype == np.float32


def test_nothing_after_the_last_kept_time_is_computed():
    full = flock.simulate(MODEL, START, 50.0, times=[0.0, 50.0])
    early = flock.simulate(MODEL, START, 50.0, times=[0.0, 0.5])
    assert early.attrs["evaluations"] < full.attrs["evaluations"]
    assert early.attrs["t_end"] == 0.5


def test_layers_are_kept_one_by_one_if_no_times_are_given():
    run = flock.simulate(MODEL, START, 1.0, scheme="layers", dt=0.25)
    assert_array_equal(run.time, [0.0, 0.25, 0.5, 0.75, 1.0])


def test_a_run_carries_what_is_needed_to_repeat_it():
    run = short(MODEL, START, rtol=1e-7, atol=1e-10, seed=9)
    assert set(ATTRIBUTES) <= set(run.attrs)
    assert run.attrs["schema"] == SCHEMA
    assert (run.attrs["scheme"], run.attrs["engine"], run.attrs["dtype"]) == ("tsit5", "cpu", "float64")
    assert (run.attrs["rtol"], run.attrs["atol"], run.attrs["seed"]) == (1e-7, 1e-10, 9)
    assert run.attrs["outcome"] == Outcome.DONE.value
    assert run.attrs["evaluations"] >= 6 * run.attrs["steps"] > 0
    assert run.attrs["wall_s"] > 0
    assert {"python", "tokenflock", "numpy", "numba", "scipy", "xarray"} <= set(json.loads(run.attrs["versions"]))
    assert json.loads(run.attrs["model"])["beta"] == 4.0


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_dataset_without_an_attribute_is_no_trajectory(name):
    run = short(MODEL, START)
    del run.attrs[name]
    with pytest.raises(SpecError, match=f"its attributes lack {name}"):
        validate(run)


def test_a_dataset_that_breaks_the_schema_is_no_trajectory():
    run = short(MODEL, START)
    with pytest.raises(SpecError, match="lacks its start or its times"):
        validate(run.drop_vars("start"))
    with pytest.raises(SpecError, match="lacks its start or its times"):
        validate(run.drop_vars("time"))
    with pytest.raises(SpecError, match=r"start.dims = .*cannot be used.*transpose"):
        validate(run.transpose("axis", ...))
    with pytest.raises(SpecError, match="a coordinate that does not increase"):
        validate(run.isel(time=slice(None, None, -1)))
    with pytest.raises(SpecError, match=r"schema = 2 .*newer tokenflock: upgrade"):
        validate(run.assign_attrs(schema=SCHEMA + 1))
    with pytest.raises(SpecError, match="is not a trajectory of tokenflock"):
        validate(xr.Dataset())


# ---- the model and the run, again


def same(a, b):
    """Two models with the same options, bit for bit."""
    for name in ("dim", "beta", "kernel", "normaliser", "space", "norm", "noise", "n_heads"):
        assert getattr(a, name) == getattr(b, name), name
    for name in ("mask", "bias"):
        one, other = getattr(a, name), getattr(b.written(5), name)
        assert type(one) is type(other), name
        for field in ("starts", "columns", "values") if isinstance(one, Graph) else ():
            assert_array_equal(getattr(one, field), getattr(other, field), err_msg=field)
        assert isinstance(one, Graph | np.ndarray) or one == other, name
        assert not isinstance(one, np.ndarray) or (one == other).all(), name
    for name in ("query", "key", "value", "form", "values", "slopes"):
        assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for part, fields in (("feedforward", ("w", "a", "b")), ("frozen", ("tokens", "weights"))):
        assert (getattr(a, part) is None) == (getattr(b, part) is None), part
        for field in fields if getattr(a, part) is not None else ():
            assert_array_equal(getattr(getattr(a, part), field), getattr(getattr(b, part), field), err_msg=field)
    assert a.feedforward is None or a.feedforward.activation == b.feedforward.activation


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_run_gives_its_model_and_itself_back(case):
    run = short(case.model, tokens_for(case.model, 5, seed=2))
    same(model_of(run), case.model)
    repeated = flock.again(run)
    assert_array_equal(repeated.x, run.x)
    assert_array_equal(repeated.time, run.time)
    for name in ("scheme", "dt", "seed", "rtol", "atol", "t_end", "steps", "evaluations", "model"):
        assert_array_equal(repeated.attrs[name], run.attrs[name], err_msg=name)


@pytest.mark.parametrize("dim", [2, 3, 5, 20])
def test_a_large_run_is_repeated_bit_for_bit(dim):
    # Among many tokens some are not divided by their length without a trace.
    run = flock.simulate(flock.Model(dim=dim), flock.uniform(300, dim, seed=3), 0.1, times=[0.0, 0.1])
    assert_array_equal(flock.again(run).x, run.x)


def test_frozen_tokens_are_repeated_bit_for_bit():
    model = flock.Model(dim=3, frozen=flock.Frozen(flock.uniform(60, 3, seed=4)))
    same(model_of(short(model, flock.uniform(4, 3))), model)


@pytest.mark.parametrize(
    "options",
    [
        {"scheme": "rk4", "dt": 0.05},
        {"scheme": "layers", "dt": 0.1},
        {"dtype": "float32"},
        {"engine": "reference"},
        {"rtol": 1e-8},
    ],
    ids=str,
)
def test_the_way_a_run_was_made_is_repeated(options):
    run = short(MODEL, ENSEMBLE, **options)
    assert_array_equal(flock.again(run).x, run.x)


def test_again_may_change_what_is_asked():
    run = short(MODEL, START)
    assert_array_equal(flock.again(run, times=[0.2]).x[0], run.x[-1])
    noisy = short(MODEL.with_options(noise=0.5), START, seed=1)
    assert np.abs(flock.again(noisy, seed=2).x.values - noisy.x.values).max() > 0.01
    assert_array_equal(flock.again(noisy).x, noisy.x)


def test_again_asks_for_the_functions_that_it_cannot_know():
    run = short(MODEL, START, reduce={"spread": spread})
    with pytest.raises(SpecError, match=r"this run kept spread: functions are not stored. Pass reduce"):
        flock.again(run)
    assert_array_equal(flock.again(run, reduce={"spread": spread}).spread, run.spread)


# ---- files


@pytest.mark.parametrize("case", [c for c in CASES if "d20" not in c.name], ids=str)
def test_a_file_gives_every_model_and_every_bit_back(case, tmp_path):
    run = short(case.model, tokens_for(case.model, 5, seed=5))
    for suffix in SUFFIXES:
        loaded = flock.load(flock.save(run, tmp_path / f"run{suffix}"))
        xr.testing.assert_identical(loaded.drop_attrs(), run.drop_attrs())
        for name, value in run.attrs.items():
            assert_array_equal(loaded.attrs[name], value, err_msg=name)
        same(model_of(loaded), case.model)
        assert_array_equal(flock.again(loaded).x, run.x)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_keeps_ensembles_reductions_outcomes_and_zeros(suffix, tmp_path):
    start = ENSEMBLE.copy()
    start[0, 0], start[0, 1] = (1.0, 0.0), (-0.0, -1.0)
    run = flock.simulate(MODEL, start, 1.0, times=[0.0, 1.0], dtype="float32", reduce={"middle": middle})
    loaded = flock.load(flock.save(run, tmp_path / f"run{suffix}"))
    xr.testing.assert_identical(loaded.drop_attrs(), run.drop_attrs())
    assert loaded.x.dtype == np.float32
    assert loaded.outcome.dtype == run.outcome.dtype
    assert loaded.x.values.tobytes() == run.x.values.tobytes()
    assert loaded.outcome.attrs["flag_meanings"] == run.outcome.attrs["flag_meanings"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("seed", [-1, 2**63, 2**70])
def test_a_file_keeps_any_seed(seed, suffix, tmp_path):
    run = short(MODEL.with_options(noise=0.1), START, seed=seed)
    loaded = flock.load(flock.save(run, tmp_path / f"run{suffix}"))
    assert_array_equal(flock.again(loaded).x, run.x)


def test_a_file_is_never_overwritten_unasked(tmp_path):
    run = short(MODEL, START)
    for suffix in SUFFIXES:
        path = flock.save(run, tmp_path / f"run{suffix}")
        with pytest.raises(FileError, match=r"exists. Choose another name, or allow it"):
            flock.save(run, path)
        other = short(MODEL, START, rtol=1e-8)
        assert flock.load(flock.save(other, path, overwrite=True)).attrs["rtol"] == 1e-8
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.nc", "run.zarr"]


def test_a_folder_that_is_no_trajectory_is_never_overwritten(tmp_path):
    (tmp_path / "photos.zarr").mkdir()
    (tmp_path / "photos.zarr" / "cat.jpg").write_text("meow")
    with pytest.raises(FileError, match="is not a Zarr folder: it is never overwritten"):
        flock.save(short(MODEL, START), tmp_path / "photos.zarr", overwrite=True)
    assert (tmp_path / "photos.zarr" / "cat.jpg").read_text() == "meow"


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    run = short(MODEL, START)
    with pytest.raises(FileError, match=r"cannot tell the format of .*run.csv.*ending in .zarr or .nc"):
        flock.save(run, tmp_path / "run.csv")
    with pytest.raises(FileError, match=r"the folder .*nowhere.* does not exist"):
        flock.save(run, tmp_path / "nowhere" / "run.nc")
    with pytest.raises(SpecError, match="is not a trajectory"):
        flock.save(xr.Dataset(), tmp_path / "run.nc")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("old", [False, True])
def test_a_failed_write_leaves_no_partial_file_and_keeps_the_old_one(suffix, old, tmp_path, monkeypatch):
    run = short(MODEL, START)
    path = tmp_path / f"run{suffix}"
    if old:
        flock.save(run, path)

    def fail(self, target, *args, **kwargs):
        write[suffix](self, target, *args, **kwargs)
        raise OSError("no space left on device")

    write = {".nc": xr.Dataset.dump_to_store, ".zarr": xr.Dataset.to_zarr}
    monkeypatch.setattr(xr.Dataset, "dump_to_store" if suffix == ".nc" else "to_zarr", fail)
    with pytest.raises(OSError, match="no space left"):
        flock.save(short(MODEL, START, rtol=1e-8), path, overwrite=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ([path.name] if old else [])
    if old:
        assert flock.load(path).attrs["rtol"] == 1e-6


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_old_file_survives_if_the_new_one_cannot_take_its_place(suffix, tmp_path, monkeypatch):
    path = flock.save(short(MODEL, START), tmp_path / f"run{suffix}")
    rename, replace = Path.rename, Path.replace

    def stubborn(move):
        def moved(self, target):
            if Path(target) == path and "replaced" not in self.name:
                raise OSError("the disk is gone")
            return move(self, target)

        return moved

    monkeypatch.setattr(Path, "rename", stubborn(rename))
    monkeypatch.setattr(Path, "replace", stubborn(replace))
    with pytest.raises(OSError, match="the disk is gone"):
        flock.save(short(MODEL, START, rtol=1e-8), path, overwrite=True)
    monkeypatch.undo()
    assert flock.load(path).attrs["rtol"] == 1e-6


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileError, match=r"run.zarr' does not exist"):
        flock.load(tmp_path / "run.zarr")


def test_a_cut_netcdf_file_is_refused(tmp_path):
    path = flock.save(short(MODEL, START), tmp_path / "run.nc")
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(FileError, match=r"cannot be read as netCDF.*foreign or truncated"):
        flock.load(path)


def test_a_foreign_file_is_refused(tmp_path):
    (tmp_path / "notes.nc").write_text("these are no numbers")
    with pytest.raises(FileError, match=r"cannot be read as netCDF.*foreign or truncated"):
        flock.load(tmp_path / "notes.nc")
    xr.Dataset({"a": ("t", np.zeros(3))}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(SpecError, match="is not a trajectory of tokenflock"):
        flock.load(tmp_path / "other.nc")
    xr.Dataset({"a": ("t", np.zeros(3))}).to_zarr(tmp_path / "other.zarr", consolidated=False)
    with pytest.raises(FileError, match="is not a trajectory of tokenflock"):
        flock.load(tmp_path / "other.zarr")


def test_a_zarr_folder_with_a_missing_or_cut_chunk_is_refused(tmp_path):
    # zarr itself would read a missing chunk as zeros.
    for damage in ("missing", "cut"):
        path = flock.save(short(MODEL, START), tmp_path / f"{damage}.zarr")
        chunk = max(p for p in (path / "x").rglob("*") if p.is_file() and p.name != "zarr.json")
        if damage == "missing":
            chunk.unlink()
        else:
            chunk.write_bytes(chunk.read_bytes()[:-3])
        with pytest.raises(FileError, match=r"is damaged: 1 of \d+ files are missing or cut, first 'x/c"):
            flock.load(path)


def test_a_zarr_folder_with_a_broken_list_of_files_is_refused(tmp_path):
    path = flock.save(short(MODEL, START), tmp_path / "run.zarr")
    root = path / "zarr.json"
    root.write_text(root.read_text().replace('"files"', '"filet"'))
    with pytest.raises(FileError, match=r"run.zarr.*damaged"):
        flock.load(path)


# ---- reductions


def test_reduced_values_stand_beside_the_positions_or_instead_of_them():
    reducers = {"middle": middle, "spread": spread}
    both = flock.simulate(MODEL, START, 1.0, reduce=reducers)
    assert both.middle.dims == ("time", "middle_0")
    assert both.spread.dims == ("time",)
    assert_array_equal(both.middle, both.x.values.mean(axis=1))
    only = flock.simulate(MODEL, START, 1.0, reduce=reducers, positions=False)
    assert "x" not in only
    assert_array_equal(only.middle, both.middle)
    assert_array_equal(only.spread, both.spread)
    assert only.attrs["reduce"] == '["middle", "spread"]'
    validate(only)


def test_a_reducer_sees_tokens_without_their_magnitudes():
    seen = []
    short(
        flock.Model(dim=3, layer_norm="pre"), flock.uniform(5, 3), reduce={"seen": lambda x: seen.append(x.shape) or 0}
    )
    assert set(seen) == {(5, 3)}


@pytest.mark.parametrize("frames", [1, 2, 3, 7])
@pytest.mark.parametrize("name", ["causal-d2", "mix-d3", "rescaled-d2", "beta-infinite-full-d3", "noise-d2"])
def test_reductions_in_small_chunks_are_those_of_one_piece(name, frames, monkeypatch):
    model = next(c.model for c in CASES if c.name == name)
    start = tokens_for(model, 8, seed=6)
    times = np.concatenate([np.linspace(0.0, 1.9, 20), [1.95, 1.96, 1.97, 1.98, 1.99, 2.0]])
    options = {"times": times, "reduce": {"middle": middle}, "positions": False}
    given = {"dt": 0.05} if model.noise or np.isinf(model.beta) else {}
    whole = flock.simulate(model, start, 2.0, **options, **given)
    assert np.isfinite(whole.middle).all()
    columns = model.dim + model.has_radius
    monkeypatch.setattr(runner, "HELD_BYTES", frames * 8 * 8 * columns)
    parts = flock.simulate(model, start, 2.0, **options, **given)
    assert_array_equal(parts.middle, whole.middle)
    assert parts.attrs["outcome"] == Outcome.DONE.value


def test_collapse_in_small_chunks_fills_every_frame(monkeypatch):
    times, start = np.linspace(0, 200, 41), flock.cap(5, 2, 0.5, seed=1)
    options = {"times": times, "reduce": {"middle": middle}, "positions": False}
    whole = flock.simulate(MODEL, start, 200.0, **options)
    monkeypatch.setattr(runner, "HELD_BYTES", 3 * 5 * 2 * 8)
    parts = flock.simulate(MODEL, start, 200.0, **options)
    assert parts.attrs["outcome"] == whole.attrs["outcome"] == Outcome.COLLAPSED.value
    assert_array_equal(parts.middle, whole.middle)
    assert np.isfinite(parts.middle).all()


# ---- how runs end


def test_frames_after_a_collapse_repeat_the_last_one():
    run = flock.simulate(MODEL, flock.cap(5, 2, 0.5, seed=1), 1e6, times=[0.0, 1.0, 1e3, 1e5, 1e6])
    assert run.attrs["outcome"] == Outcome.COLLAPSED.value
    assert_array_equal(run.x[2], run.x[4])
    assert_array_equal(run.x[3], run.x[4])
    assert run.attrs["steps"] < 500


ESCAPING = flock.Model(dim=1, space="euclidean", beta=0.0, value=[[1000.0]])


def test_a_failed_run_raises_or_returns_what_there_is():
    times = np.linspace(0.0, 2.0, 21)
    with pytest.raises(EngineError, match=r"Reached t = 0\.\d+ of 2; throw=False returns what there is"):
        flock.simulate(ESCAPING, [[1.0]], 2.0, times=times)
    run = flock.simulate(ESCAPING, [[1.0]], 2.0, times=times, throw=False, reduce={"spread": spread})
    assert run.attrs["outcome"] in (Outcome.NOT_FINITE.value, Outcome.SMALL.value)
    assert 3 <= run.sizes["time"] <= 8
    assert np.isfinite(run.x).all()
    assert run.spread.shape == run.time.shape
    validate(run)


def test_in_an_ensemble_the_runs_that_failed_are_known_and_the_others_whole():
    # One run starts at 0, where it rests.
    start = np.array([[[1.0]], [[0.0]], [[1.0]]])
    run = flock.simulate(ESCAPING, start, 2.0, times=[0.0, 0.2, 1.0, 2.0], throw=False, reduce={"middle": middle})
    assert np.isfinite(run.x[1]).all()
    assert np.isfinite(run.x[0, :2]).all()
    assert np.isnan(run.x[0, 2:]).all()
    assert np.isnan(run.middle[0, 2:]).all()
    assert "1 of 3 runs: Reached t_end." in run.attrs["outcome"]
    assert "2 of 3 runs: " in run.attrs["outcome"]
    meanings = run.outcome.attrs["flag_meanings"].split()
    assert meanings[int(run.outcome[1])] == "done"
    assert meanings[int(run.outcome[0])] in ("not_finite", "small")


def test_a_run_that_fails_before_its_first_kept_time_does_not_spoil_the_reductions_of_others():
    start = np.array([[[1.0]], [[0.0]]])
    run = flock.simulate(ESCAPING, start, 2.0, times=[1.0, 2.0], throw=False, reduce={"middle": middle})
    assert run.middle.shape == (2, 2, 1)
    assert np.isnan(run.middle[0]).all()
    assert_array_equal(run.middle[1], 0.0)


# ---- interruption


class Interrupting:
    """A reducer that is Ctrl-C at its k-th frame."""

    def __init__(self, k):
        self.left, self.lock = k, threading.Lock()

    def __call__(self, x):
        with self.lock:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return x.mean(axis=0)


def test_an_interruption_keeps_what_a_single_run_has_computed(monkeypatch):
    monkeypatch.setattr(runner, "PATIENCE_S", 0.0)
    times = np.linspace(0.0, 2.0, 41)
    whole = flock.simulate(MODEL, START, 2.0, times=times)
    run = flock.simulate(MODEL, START, 2.0, times=times, reduce={"middle": Interrupting(20)})
    assert run.attrs["outcome"] == Outcome.INTERRUPTED.value
    assert 1 <= run.sizes["time"] < 41
    assert_array_equal(run.x, whole.x[: run.sizes["time"]])
    assert np.isfinite(run.middle).all()
    validate(run)
    assert_array_equal(flock.again(run, reduce={"middle": middle}).x, whole.x)


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("positions", [True, False])
def test_an_interruption_keeps_what_an_ensemble_has_computed_and_nothing_else(threads, positions, monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_THREADS", threads)
    times, start = np.linspace(0.0, 2.0, 11), flock.uniform(6, 2, seed=1, runs=8)
    whole = flock.simulate(MODEL, start, 2.0, times=times, reduce={"middle": middle})
    run = flock.simulate(MODEL, start, 2.0, times=times, reduce={"middle": Interrupting(30)}, positions=positions)
    assert run.middle.shape == whole.middle.shape
    outcomes = [run.outcome.attrs["flag_meanings"].split()[k] for k in run.outcome.values]
    assert outcomes.count("done") >= 1
    assert outcomes.count("interrupted") >= 3
    for r, outcome in enumerate(outcomes):
        kept = np.isfinite(run.middle[r].values).all(axis=-1)
        assert kept.all() == (outcome == "done")
        assert_array_equal(run.middle[r].values[kept], whole.middle[r].values[kept])
        if positions:
            known = np.isfinite(run.x[r].values)
            assert_array_equal(run.x[r].values[known], whole.x[r].values[known])
    assert not np.isfinite(run.middle[-1]).any()


def test_an_interruption_from_a_progress_function_keeps_the_work(monkeypatch):
    monkeypatch.setattr(runner, "PATIENCE_S", 0.0)
    monkeypatch.setattr(runner, "TELL_S", 0.0)
    calls = []

    def impatient(fraction):
        calls.append(fraction)
        if len(calls) == 3:
            raise KeyboardInterrupt

    run = flock.simulate(MODEL, START, 50.0, times=np.linspace(0, 50, 101), progress=impatient)
    assert run.attrs["outcome"] == Outcome.INTERRUPTED.value
    assert np.isfinite(run.x).all()
    assert calls[-1] < 1.0


# ---- progress


@pytest.mark.parametrize("start", [START, ENSEMBLE], ids=["single", "ensemble"])
def test_progress_rises_to_one(start, monkeypatch):
    monkeypatch.setattr(runner, "PATIENCE_S", 0.0)
    monkeypatch.setattr(runner, "TELL_S", 0.0)
    told = []
    flock.simulate(MODEL, start, 4.0, times=np.linspace(0, 4, 201), progress=told.append, rtol=1e-9)
    assert len(told) >= 2
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert 0.0 <= told[0] < 1.0


def test_progress_may_be_switched_on_and_off(capsys):
    for progress in (True, False, None):
        short(MODEL, START, progress=progress)
    assert capsys.readouterr() == ("", "")
