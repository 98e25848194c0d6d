"""tokenflock sweep as a user meets it."""

import json
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from commands import refused, tokenflock
from small_sweeps import SPEC
from tokenflock.cli.sweep import SWEEP
from tokenflock.sweeps import open_store, sweep, toml


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(SPEC)
    return path


def test_help_teaches_and_its_file_is_a_sweep(tmp_path):
    text = tokenflock("sweep", "--help").stdout
    assert text.count("tokenflock sweep") >= 4
    example = SWEEP[SWEEP.index(r"\[model]") : SWEEP.index("Nothing that")].replace("\\[", "[")
    assert set(tomllib.loads(example)) == set(toml.SECTIONS)
    (tmp_path / "sweep.toml").write_text(example)
    assert toml.read(tmp_path / "sweep.toml")[0].n_runs == 26_000


def test_a_sweep_runs_and_goes_on_where_it_stopped(spec, tmp_path):
    store = tmp_path / "s.zarr"
    first = tokenflock("sweep", spec, "--store", store, "--workers", 0, "--json")
    assert first.exit_code == 0, first.output
    told = json.loads(first.stdout)
    assert told["axes"] == {"beta": 2, "replicate": 4}
    assert (told["runs"], told["runs_done"], told["shards"], told["failed"]) == (8, 8, 4, {})
    open_store(store).forget([1])
    assert json.loads(tokenflock("sweep", "--status", store, "--json").stdout)["runs_done"] == 6
    table = tmp_path / "t.csv"
    again = tokenflock("sweep", spec, "--store", store, "--export", table)
    assert again.exit_code == 0
    assert "runs_done" in again.stdout
    assert len(table.read_text().splitlines()) == 9
    assert open_store(store).load().identical(sweep(spec, workers=0))


def test_parts_for_job_arrays(spec, tmp_path):
    store = tmp_path / "s.zarr"
    for part, done in (("1/2", 4), ("0/2", 8)):
        told = tokenflock("sweep", spec, "--store", store, "--shard", part, "--workers", 0, "--json")
        assert json.loads(told.stdout)["runs_done"] == done


def test_a_dry_run_tells_and_writes_nothing(spec, tmp_path):
    told = json.loads(tokenflock("sweep", spec, "--dry-run", "--workers", 0, "--json").stdout)
    assert (told["runs"], told["shards"], told["runs_a_shard"]) == (8, 4, 2)
    assert told["core_s"] > 0
    assert told["disk_bytes"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.toml"]


@pytest.mark.filterwarnings("default")  # told, not raised
def test_damage_is_told_by_verify_and_mended_by_the_sweep(spec, tmp_path):
    store = tmp_path / "s.zarr"
    tokenflock("sweep", spec, "--store", store, "--workers", 0)
    assert tokenflock("sweep", "--verify", "--store", store).exit_code == 0
    path = Path(open_store(store).files(2)[0])
    path.write_bytes(path.read_bytes()[::-1])
    result = tokenflock("sweep", "--verify", "--store", store, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["damaged_shards"] == [2]
    assert "1 shards are damaged" in result.stderr
    mended = tokenflock("sweep", spec, "--store", store, "--workers", 0)
    assert "warning: 1 of 4 shards" in mended.stderr
    assert tokenflock("sweep", "--verify", store).exit_code == 0


def test_failed_runs_give_exit_code_1_and_their_reasons(spec, tmp_path):
    spec.write_text(SPEC.replace("beta = [1.0, 4.0]", 'beta = [1.0, inf]\nnormaliser = ["softmax", "count"]'))
    store = tmp_path / "s.zarr"
    result = tokenflock("sweep", spec, "--store", store, "--workers", 0)
    assert result.exit_code == 1
    assert "error: 4 runs failed (4 raised)" in result.stderr
    reasons = json.loads(tokenflock("sweep", "--status", "--store", store, "--json").stdout)["reasons"]
    assert [*reasons.values()] == [4]
    assert "Hardmax" in next(iter(reasons))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["SPEC"], "--store"),
        (["SPEC", "--store", "S", "--shard", "2/2"], "I/N with I from 0 to N - 1"),
        (["SPEC", "--store", "S", "--shard", "two"], "I/N with I from 0 to N - 1"),
        (["SPEC", "--store", "S", "--workers", "-1"], "workers = -1"),
        (["SPEC", "--store", "S", "--timeout", "0"], "timeout = 0.0"),
        (["SPEC", "--store", "no/such/S"], "does not exist. Make it first"),
        (["SPEC", "--store", "S", "--export", "t.xls"], "names ending in .parquet"),
        (["nothing.toml", "--store", "S"], "Give the name of a sweep.toml"),
        (["--store", "S"], "what to run?"),
        (["--dry-run"], "what to estimate?"),
        (["--status"], "which store?"),
        (["--status", "--store", "S"], "it has no zarr.json"),
        (["SPEC", "--status", "--store", "S"], "give --store DIR only"),
    ],
)
def test_bad_input_is_one_sentence(spec, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    assert told in refused("sweep", *(spec if word == "SPEC" else word for word in words))
    assert not (tmp_path / "S").exists()


def test_unknown_keys_and_huge_grids_are_told_before_anything_starts(spec, tmp_path):
    spec.write_text(SPEC.replace("beta =", "bta ="))
    assert "Did you mean 'beta'" in refused("sweep", spec, "--store", tmp_path / "S")
    spec.write_text(SPEC.replace("replicates = 4", "replicates = 1000000000000"))
    assert "at most 10,000,000 runs" in refused("sweep", spec, "--store", tmp_path / "S")
    spec.write_text(SPEC.replace("[1.0, 4.0]", "[]"))
    assert "An empty axis makes an empty sweep" in refused("sweep", spec, "--store", tmp_path / "S")
    assert not (tmp_path / "S").exists()


def test_ctrl_c_says_how_to_go_on(spec, tmp_path):
    store = tmp_path / "s.zarr"
    spec.write_text(
        SPEC.replace("replicates = 4", "replicates = 200000").replace("runs_a_shard = 2", "runs_a_shard = 20")
    )
    command = [sys.executable, "-m", "tokenflock.cli", "sweep", str(spec), "--store", str(store), "--workers", "1"]
    code = "from tokenflock.cli import main; main()"
    command[1:3] = ["-c", code]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    done = store / "checksum" / "c"
    while process.poll() is None and not (done.is_dir() and len(list(done.iterdir())) > 2):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130, err
    assert "of 400000 runs are done and safe. Give the same command again to go on." in err
    assert open_store(store).verify() == []


def test_the_examples_of_the_page_run():
    """The Python of docs/many_runs.md, at its own small sizes."""
    import re

    page = (Path(__file__).parents[2] / "docs" / "many_runs.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        exec(block, names)
    assert names["table"]["clusters"].dims == ("beta", "replicate")
