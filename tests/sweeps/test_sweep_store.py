"""The store of a sweep: read by anyone, written whole, and damage is found."""

import errno
import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import tokenflock as flock
from small_sweeps import FAST, moody, raises, small_plan, small_store
from tokenflock.errors import FileError, MissingExtra, SpecError
from tokenflock.store import seal
from tokenflock.sweeps import execution, export, open_store, shards, sweep, sweep_store
from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.sweep_store import SweepStore


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished sweep, its plan and its Dataset in memory; copy it before you change it."""
    path, plan = tmp_path_factory.mktemp("store") / "sweep.zarr", small_plan(bad=raises)
    small_store(path, plan, runs=3)
    made = sweep(plan, store=path, workers=0)
    return path, plan, made.load()


@pytest.fixture
def copy(whole, tmp_path):
    import shutil

    return SweepStore(shutil.copytree(whole[0], tmp_path / "sweep.zarr"))


# Reading


def test_plain_xarray_reads_a_store(whole):
    data = xr.open_zarr(whole[0], consolidated=False)
    assert data["overlap"].dims == ("beta", "n_tokens", "replicate")
    assert data["beta"].values.tolist() == [1.0, 4.0, 9.0]
    assert data["n_tokens"].values.tolist() == [3, 5]
    assert json.loads(data.attrs["plan"])["sweep"] == {"replicates": 4, "seed": 0, "paired": False}
    assert json.loads(data.attrs["versions"])["tokenflock"] == flock.__version__
    assert data.attrs["schema"] == 1
    meanings = dict(
        zip(data["outcome"].attrs["flag_meanings"].split(), data["outcome"].attrs["flag_values"], strict=True)
    )
    assert meanings["done"] == 0
    assert meanings["not_yet"] == -1
    assert meanings["raised"] == shards.OUTCOMES.index("raised")
    assert np.array_equal(data["overlap"].values, whole[2]["overlap"].values, equal_nan=True)


def test_load_reads_nothing_before_it_is_used(copy):
    data = copy.load()
    for path in copy.path.rglob("overlap/c/**/*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Exception, match=r"."):  # what zarr says of a cut chunk is its own affair
        data["overlap"].values  # noqa: B018


def test_text_labels_and_every_dtype_come_back(tmp_path):
    axes = {"value": {"plain": "identity", "weaker": "diag:1,0.5"}, "mask": ["causal", "full"]}
    record = ["clusters", "positions", "counts", "steps"]
    kept = sweep(flock.Model(dim=2), axes, n_tokens=3, record=record, store=tmp_path / "s.zarr", **FAST)
    assert kept["value"].values.tolist() == ["plain", "weaker"]
    assert kept.sel(value="weaker", mask="full")["counts"].dims == ("replicate", "time")
    assert kept["counts"].dtype == np.int32
    assert kept["steps"].dtype == np.int64
    assert kept["positions"].dims[-2:] == ("token", "axis")
    assert len(kept["time"]) == kept.sizes["time"]
    assert set(kept["reason"].values.ravel().tolist()) == {""}


def test_a_sweep_in_memory_is_that_of_the_store(whole):
    assert sweep(whole[1], workers=0).identical(whole[2])


def test_failed_runs_are_missing_and_say_why(whole):
    _, plan, data = whole
    failed = data.sel(beta=4.0, n_tokens=5)
    assert (failed["outcome"] == shards.OUTCOMES.index("raised")).all()
    assert set(failed["reason"].values.tolist()) == {"ZeroDivisionError: of all things"}
    assert failed["overlap"].isnull().all()
    assert (failed["clusters"] == -1).all()
    others = data["outcome"].where((data.beta != 4.0) | (data.n_tokens != 5), drop=True)
    assert others.isin([0]).sum() == plan.n_runs - 4
    assert (data["seed"].values.ravel() == [plan.seed_of(run) for run in range(plan.n_runs)]).all()


# Resuming


def test_a_second_call_computes_nothing(whole, monkeypatch):
    monkeypatch.setattr(execution, "in_this_process", None)
    monkeypatch.setattr(execution, "in_workers", None)
    monkeypatch.setattr(execution, "estimate_cost", None)
    assert sweep(whole[1], store=whole[0]).identical(whole[2])


def test_a_finished_store_that_is_read_only_is_read(whole, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert sweep(whole[1], store=whole[0]).identical(whole[2])


def test_what_is_not_done_is_missing_and_is_done_next_time(copy, whole):
    copy.forget([0, 5])
    part = copy.load()
    assert (part.attrs["runs"], part.attrs["runs_done"]) == (24, 24 - copy.grid.size(0) - copy.grid.size(5))
    told = []
    assert sweep(whole[1], store=copy.path, workers=0, progress=told.append).identical(whole[2])
    assert told == [0.5, 1.0]


def test_parts_of_a_sweep_meet_in_one_store(whole, tmp_path):
    path, plan = tmp_path / "parts.zarr", whole[1]
    small_store(path, plan, runs=3)
    for k in (2, 0, 1):
        done = execution.run_pending(plan, path, execution.ExecutionOptions(workers=0, part=(k, 3)))
    assert done.load().identical(whole[2])
    with pytest.raises(SpecError, match="The parts meet in one store"):
        execution.run_sweep(plan, None, execution.ExecutionOptions(part=(0, 2)))


def test_failed_runs_are_tried_again_when_asked(tmp_path, monkeypatch):
    plan = small_plan(moody=moody)
    monkeypatch.setenv("TOKENFLOCK_TEST_MOOD", "bad")
    first = sweep(plan, store=tmp_path / "s.zarr", workers=0, runs_a_shard=3)
    assert (first["outcome"] > 0).sum() == 4
    assert sorted(run for runs in open_store(tmp_path / "s.zarr").failed().values() for run in runs) == [12, 13, 14, 15]
    monkeypatch.setenv("TOKENFLOCK_TEST_MOOD", "good")
    assert sweep(plan, store=tmp_path / "s.zarr", workers=0).identical(first)
    again = sweep(plan, store=tmp_path / "s.zarr", workers=0, retry=True)
    assert again.identical(sweep(plan, workers=0))
    assert (again["outcome"] == 0).all()


def test_hours_end_a_sweep_cleanly(whole, tmp_path):
    path = tmp_path / "sweep.zarr"
    small_store(path, whole[1], runs=3)
    part = sweep(whole[1], store=path, workers=0, hours=1e-9)
    assert part.attrs["runs_done"] == 2  # a shard: it is looked at the clock after each
    assert sweep(whole[1], store=path, workers=0).identical(whole[2])


# Another plan


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"replicates": 5}, "sweep.replicates is 4 in the store and 5 now"),
        ({"seed": 1}, "sweep.seed is 0 in the store and 1 now"),
        ({"axes": {"beta": [1.0, 2.0], "n_tokens": [3, 5]}}, "axes.beta.values is [1.0, 4.0] in the store"),
        ({"axes": {"beta": [1.0, 4.0]}}, "axes.n_tokens is in the store only"),
        ({"record": ["clusters", "energy"]}, "record.energy is new"),
        ({"record": ["clusters:0.5"]}, "record.clusters.radius is new"),
        ({"simulate": FAST | {"t_end": 2.0}}, "simulate.t_end is 1.0 in the store and 2.0 now"),
        ({"model": flock.Model(dim=2, mask="full")}, 'model.mask is "causal" in the store and "full" now'),
    ],
)
def test_another_plan_is_refused_with_the_difference(tmp_path, changes, words):
    base = {
        "model": flock.Model(dim=2),
        "axes": {"beta": [1.0, 4.0], "n_tokens": [3, 5]},
        "start": {"n_tokens": 3},
        "simulate": FAST,
        "record": ["clusters"],
        "replicates": 4,
    }
    first = Plan(base["model"], **{key: value for key, value in base.items() if key != "model"})
    small_store(tmp_path / "s.zarr", first)
    changed = base | changes
    with pytest.raises(SpecError) as refused:
        sweep(Plan(changed.pop("model"), **changed), store=tmp_path / "s.zarr")
    assert words in str(refused.value)
    assert "holds another sweep" in str(refused.value)


def test_a_function_with_another_source_is_another_plan(tmp_path):
    def plan(own):
        return Plan(flock.Model(dim=2), {}, start={"n_tokens": 3}, simulate=FAST, record={"own": own}, replicates=2)

    small_store(tmp_path / "s.zarr", plan(lambda run: 1.0))
    with pytest.raises(SpecError, match=r"record\.own\.reducer has another content now"):
        sweep(plan(lambda run: 2.0), store=tmp_path / "s.zarr")


def rewrite(path, **attributes):
    """As another version would have written them, with a checksum of its own."""
    seal(path, **attributes)


def test_a_store_from_a_newer_version_is_refused(copy, whole):
    rewrite(copy.path, schema=2, versions=json.dumps({"tokenflock": "9.0"}))
    with pytest.raises(SpecError, match=r"from a newer tokenflock \(9\.0\): upgrade"):
        sweep(whole[1], store=copy.path)


def test_other_versions_are_told(copy, whole):
    rewrite(copy.path, versions=json.dumps(json.loads(copy.attrs["versions"]) | {"numpy": "1.0"}))
    with pytest.warns(UserWarning, match=r"begun with numpy 1\.0 then"):
        sweep(whole[1], store=copy.path)


def test_foreign_and_broken_folders_are_refused(whole, copy, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="is a file"):
        sweep(whole[1], store=tmp_path / "file")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match="holds other things"):
        sweep(whole[1], store=tmp_path / "other")
    with pytest.raises(FileError, match=r"does not exist\. Make it first"):
        sweep(whole[1], store=tmp_path / "no" / "s.zarr")
    flock.save(flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), **FAST), tmp_path / "run.zarr")
    with pytest.raises(FileError, match="not the store of a sweep"):
        sweep(whole[1], store=tmp_path / "run.zarr")
    with pytest.raises(FileError, match=r"it has no zarr\.json"):
        open_store(tmp_path)
    (copy.path / "beta" / "c" / "0").write_bytes(b"")
    with pytest.raises(FileError, match="its metadata or coordinates changed"):
        open_store(copy.path)
    (copy.path / "zarr.json").write_text("{")
    with pytest.raises(FileError, match="is damaged or foreign"):
        sweep(whole[1], store=copy.path)


def test_a_place_that_cannot_be_written_to_is_refused_before_any_work(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(execution, "estimate_cost", None)
    with pytest.raises(FileError, match="cannot be written to"):
        sweep(whole[1], store=tmp_path / "s.zarr")


# Damage


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("harm", [flip, Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-3])])
@pytest.mark.parametrize("name", ["overlap", "outcome", "reason", "clusters"])
def test_a_damaged_shard_is_found_told_and_computed_again(copy, whole, harm, name):
    shard = min(copy.failed()) if name == "reason" else 0  # where all values are missing there is no file
    harm(Path(copy.files(shard)[copy.names.index(name)]))
    assert copy.verify() == [shard]
    with pytest.warns(UserWarning, match=rf"1 of {len(copy.grid)} shards of .* are damaged \({shard}\): they are comp"):
        assert sweep(whole[1], store=copy.path, workers=0).identical(whole[2])
    assert copy.verify() == []


def test_shards_at_the_edge_are_mended_to_the_same_bytes(tmp_path):
    plan, path = small_plan(replicates=5), tmp_path / "s.zarr"
    small_store(path, plan, runs=3)  # boxes of 3 and 2
    first = sweep(plan, store=path, workers=0).load()
    kept = open_store(path)
    before = kept.checksums()
    for file in map(Path, kept.files(1)):
        if file.exists():
            file.write_bytes(b"cut")
    with pytest.warns(UserWarning, match="1 of 12 shards"):
        assert sweep(plan, store=path, workers=0).identical(first)
    assert (kept.checksums() == before).all()


def test_every_byte_of_a_shard_counts(copy):
    for path in map(Path, copy.files(0)):
        if path.exists():
            before = path.read_bytes()
            flip(path)
            assert copy.verify() == [0]
            path.write_bytes(before)
    assert copy.verify() == []


def test_what_dead_processes_left_is_swept_and_what_live_ones_write_is_not(copy, whole):
    old, new = copy.path / "overlap" / "c" / "a.partial", copy.path / "overlap" / "c" / "b.partial"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 3600,) * 2)
    os.utime(new, (time.time() + 3600,) * 2)  # however long this test takes
    copy.forget([0])
    assert sweep(whole[1], store=copy.path, workers=0).identical(whole[2])
    assert not old.exists()
    assert new.exists()


def test_a_shard_is_done_only_when_all_of_it_is_written(copy, monkeypatch):
    copy.forget([0])
    arrays = {name: copy.load()[name].values[copy.grid.slices(0)] for name in copy.names}

    class Half(dict):
        def __getitem__(self, name):
            if name == copy.names[-1]:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().__getitem__(name)

    with pytest.raises(FileError, match=r"No space left on device.*give the same command again"):
        copy.write(0, Half(arrays))
    assert not copy.is_done(0)
    copy.write(0, arrays)
    assert copy.is_done(0)
    assert copy.verify() == []


@pytest.mark.parametrize("durable", [True, False])
def test_data_are_on_the_disk_before_the_checksum_and_it_before_the_end(copy, monkeypatch, durable):
    """A power failure: what was not forced to the disk by then may be lost."""
    copy.forget([0])
    copy.durable, forced, sync = durable, [], os.fsync

    def noted(handle):
        forced.append((str(Path(f"/proc/self/fd/{handle}").readlink()), copy.is_done(0)))
        sync(handle)

    arrays = {name: copy.load()[name].values[copy.grid.slices(0)] for name in copy.names}
    arrays["outcome"][...] = 0
    monkeypatch.setattr(os, "fsync", noted)
    copy.write(0, arrays)
    before = {path for path, done in forced if not done}
    after = {path for path, done in forced if done}
    data = {path for path in copy.files(0) if Path(path).exists()}
    if not durable:
        assert not forced
    else:
        assert data
        assert data <= before
        assert {folder for path in data for folder in map(str, Path(path).parents[:4])} <= before, "names too"
        assert {f"{copy.path}/checksum/c/0", f"{copy.path}/checksum/c"} <= after


def test_a_sweep_that_is_thrown_away_does_not_wait_for_the_disk(monkeypatch, whole):
    forced = []
    monkeypatch.setattr(sweep_store, "fsync_files", lambda files, root: forced.extend(map(str, files)))
    sweep(whole[1], workers=0)
    assert forced
    assert not any("/c/" in path and "checksum" in path for path in forced), "only its making"


def test_who_comes_second_takes_the_store_that_is_there(tmp_path):
    plan = small_plan()
    first = sweep_store.create(tmp_path / "s.zarr", plan, shards.cut(plan.shape, 3))
    second = sweep_store.create(tmp_path / "s.zarr", plan, shards.cut(plan.shape, 8))
    assert second.grid == first.grid
    assert [path.name for path in tmp_path.iterdir()] == ["s.zarr"]
    with pytest.raises(SpecError, match="holds another sweep"):
        sweep_store.create(tmp_path / "s.zarr", small_plan(replicates=2), shards.cut((3, 2, 2), 3))


# Other formats


def test_tables_have_a_row_a_run(whole, tmp_path):
    import pandas

    _, plan, data = whole
    for name in ("t.parquet", "t.csv"):
        path = export.export(data, tmp_path / name)
        table = pandas.read_parquet(path) if name.endswith("parquet") else pandas.read_csv(path)
        assert len(table) == plan.n_runs
        row = table[(table.beta == 9.0) & (table.n_tokens == 5) & (table.replicate == 2)].iloc[0]
        one = data.sel(beta=9.0, n_tokens=5, replicate=2)
        assert row.overlap == float(one["overlap"])
        assert row.seed == int(one["seed"])
        assert table.reason[12] == "ZeroDivisionError: of all things"


def test_arrays_take_a_column_for_each_element(tmp_path):
    data = sweep(flock.Model(dim=2), {"beta": [1.0, 2.0]}, n_tokens=3, record=["positions"], **FAST)
    table = export.frame(data)
    assert [name for name in table if name.startswith("positions")] == [f"positions_{k}" for k in range(6)]
    assert table.positions_3[1] == data["positions"].values[1, 0, 1, 1]
    many = data.isel(token=np.zeros(10_000, dtype=int))
    with pytest.raises(SpecError, match="Arrays belong into netCDF"):
        export.frame(many)


def test_netcdf_holds_the_dataset(whole, tmp_path):
    path = export.export(whole[2], tmp_path / "t.nc")
    with xr.open_dataset(path, engine="h5netcdf") as read:
        np.testing.assert_array_equal(read["overlap"].values, whole[2]["overlap"].values)
        assert read.attrs["plan"] == whole[2].attrs["plan"]
        assert read["reason"].values[1, 1, 0] == "ZeroDivisionError: of all things"


def test_exports_are_refused_before_any_work(whole, tmp_path, monkeypatch):
    with pytest.raises(FileError, match=r"names ending in \.parquet, \.csv, \.nc"):
        export.export(whole[2], tmp_path / "t.xls")
    (tmp_path / "t.csv").write_text("mine")
    with pytest.raises(FileError, match="--overwrite"):
        export.export(whole[2], tmp_path / "t.csv")
    export.export(whole[2], tmp_path / "t.csv", overwrite=True)
    with pytest.raises(FileError, match="not a folder that can be written to"):
        export.export(whole[2], tmp_path / "no" / "t.csv")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[sweep\]"):
        export.export(whole[2], tmp_path / "t.parquet")
