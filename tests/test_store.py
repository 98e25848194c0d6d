"""Saved runs: a changed bit is told by the name of the file, a full disk is a sentence, nothing foreign is deleted."""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import tokenflock as flock
from small_sweeps import small_plan, small_store
from tokenflock import store
from tokenflock.errors import FileError
from waiting import LONG_S

SUFFIXES = (".zarr", ".nc")


@pytest.fixture(scope="module")
def run():
    model = flock.Model(dim=2, beta=3.0, value=np.diag([1.0, 0.5]))
    return flock.simulate(model, flock.uniform(6, 2, runs=2), 1.0, engine="reference", scheme="rk4", dt=0.25)


def files_of(path):
    return [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())


def flips(run, tmp_path, suffix, tries, seed):
    """Change a bit, load, and change it back: how often it was refused, and how often it did not matter."""
    path, rng, refused = flock.save(run, tmp_path / f"run{suffix}"), random.Random(seed), 0
    whole = flock.load(path).load()
    for _ in range(tries):
        file = rng.choice(files_of(path))
        before = file.read_bytes()
        changed = bytearray(before)
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        file.write_bytes(changed)
        try:
            assert flock.load(path).load().identical(whole)
        except FileError as error:
            assert str(path) in str(error)  # noqa: PT017
            refused += 1
        file.write_bytes(before)
    assert flock.load(path).load().identical(whole)
    return refused


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_changed_bit_of_a_saved_run_is_told(run, tmp_path, suffix):
    assert flips(run, tmp_path, suffix, 40, 1) > 30  # one in the line of a checksum itself harms nothing


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_many_changed_bits_of_a_saved_run_are_told(run, tmp_path, suffix):
    assert flips(run, tmp_path, suffix, 1000, 2) > 900


def test_every_file_of_a_zarr_folder_is_covered(run, tmp_path):
    path = flock.save(run, tmp_path / "run.zarr")
    for file in files_of(path):
        before = file.read_bytes()
        file.write_bytes(before.replace(b"zarr", b"zorr") if file.name == "zarr.json" else before[:-1] + b"?")
        with pytest.raises(FileError, match=r"run\.zarr.* is damaged|run\.zarr.*is not a trajectory"):
            flock.load(path)
        file.write_bytes(before)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_runs_saved_before_there_were_checksums_still_load(run, tmp_path, suffix):
    path = flock.save(run, tmp_path / f"run{suffix}")
    whole = flock.load(path).load()
    if suffix == ".nc":
        content = path.read_bytes()
        path.write_bytes(content[: content.rindex(store.TRAILER)])
    else:
        root = json.loads((path / "zarr.json").read_text())
        for name in (store.CHECKSUM, store.CHECKSUMS):
            del root["attributes"][name]
        (path / "zarr.json").write_text(json.dumps(root))
    assert flock.load(path).load().identical(whole)


def test_a_file_without_a_checksum_that_cannot_be_read_is_refused_in_a_sentence(run, tmp_path):
    path = flock.save(run, tmp_path / "run.zarr")
    root = json.loads((path / "zarr.json").read_text())
    attributes = {k: v for k, v in root["attributes"].items() if k not in (store.CHECKSUM, store.CHECKSUMS)}
    attributes[store.FILES] = "{}"
    (path / "zarr.json").write_text(json.dumps(root | {"attributes": attributes}))
    (path / "x" / "zarr.json").write_text("{")
    with pytest.raises(FileError, match=r"cannot be read as Zarr.*foreign or truncated"):
        flock.load(path)


def test_other_programs_read_what_is_saved(run, tmp_path):
    for suffix in SUFFIXES:
        path = flock.save(run, tmp_path / f"run{suffix}")
        with (
            xr.open_dataset(path, engine="h5netcdf") if suffix == ".nc" else xr.open_zarr(path, consolidated=False) as d
        ):
            assert np.array_equal(d["x"].values, run["x"].values)
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "r") as file:
        assert file["x"].shape == run["x"].shape


# What is never deleted


def test_a_folder_is_never_overwritten_by_a_netcdf_file(run, tmp_path):
    (tmp_path / "x.nc").mkdir()
    (tmp_path / "x.nc" / "mine.txt").write_text("mine")
    with pytest.raises(FileError, match="is a folder: it is never overwritten"):
        flock.save(run, tmp_path / "x.nc", overwrite=True)
    assert (tmp_path / "x.nc" / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("foreign", ["sweep", "group", "damaged"])
def test_a_zarr_folder_that_is_no_run_is_never_overwritten(run, tmp_path, foreign):
    path = tmp_path / "s.zarr"
    if foreign == "sweep":
        small_store(path, small_plan())
    elif foreign == "group":
        xr.Dataset({"mine": ("k", [1.0])}).to_zarr(path, consolidated=False)
    else:
        path.mkdir()
        (path / "zarr.json").write_text("[" * 100_000)
    before = sorted(files_of(path))
    with pytest.raises(FileError, match="is not the Zarr folder of a run: it is never overwritten"):
        flock.save(run, path, overwrite=True)
    assert sorted(files_of(path)) == before


# A full disk


def test_too_little_room_is_told_before_netcdf_is_written(run, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=100))
    with pytest.raises(
        FileError, match=r"run\.nc.*No space left.* MiB are free\. Nothing was written: check the memory"
    ):
        flock.save(run, tmp_path / "run.nc")
    assert list(tmp_path.iterdir()) == []


FULL = """
import resource, sys, xarray, h5netcdf, zarr, numpy as np
import tokenflock as flock
x = flock.uniform(40, 2)
run = flock.simulate(flock.Model(dim=2), x, 1.0, engine="reference", scheme="rk4", dt=0.25)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    flock.save(run, sys.argv[1])
except flock.errors.FileError as error:
    print(error)
"""


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("limit", [100, 5_000, 30_000])
def test_a_disk_that_takes_no_more_is_a_sentence_and_leaves_nothing(tmp_path, suffix, limit):
    """The limit of a file's size stands for that of the disk: HDF5 crashed when it closed a file that it could not
    write."""
    pytest.importorskip("resource")
    command = [sys.executable, "-c", FULL, str(tmp_path / f"run{suffix}"), str(limit)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONG_S)
    assert found.returncode == 0, found.stderr
    assert "cannot be written: File too large. Nothing was written" in found.stdout
    assert found.stderr == ""
    assert list(Path(tmp_path).iterdir()) == []
