"""Damaged stores: whatever changed, a sentence; never a traceback, a hang, or a run that is missing without a word."""

import json
import random
import shutil
from pathlib import Path

import pytest

from commands import tokenflock
from small_sweeps import SPEC
from tokenflock.errors import TokenflockError
from tokenflock.store import CHECKSUM
from tokenflock.sweeps import open_store
from tokenflock.sweeps.sweep_store import SweepStore


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    (folder / "sweep.toml").write_text(SPEC)
    assert tokenflock("sweep", folder / "sweep.toml", "--store", folder / "s.zarr", "--workers", 0).exit_code == 0
    return folder


@pytest.fixture
def store(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "copy") / "s.zarr"


def edit(store, old, change):
    """Edit the root's metadata. old: as an earlier version wrote them, without a checksum and with the grid's shape."""
    root = json.loads((store / "zarr.json").read_text())
    if old:
        del root["attributes"][CHECKSUM]
        root["attributes"] |= {"shape": [2, 4], "box": [1, 2]}
    root["attributes"].update(change) if isinstance(change, dict) else change(root)
    (store / "zarr.json").write_text(json.dumps(root))


def told(result):
    """One sentence, and no traceback."""
    assert result.exit_code in (1, 2), result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


EDITS = {
    "schema text": {"schema": "one"},
    "schema list": {"schema": [1]},
    "plan number": {"plan": 3},
    "plan list": {"plan": "[1]"},
    "plan cut": {"plan": "{"},
    "versions number": {"versions": 3},
    "versions text": {"versions": '"a"'},
    "files number": {"files": 5},
    "files of numbers": {"files": [1, 2]},
    "no files": {"files": []},
    "variables": {"variables": ["outcome"]},
    "other variables": {"variables": {"outcome": [], "mine": []}},
    "layout": {"layout": None},
    "attributes list": lambda root: root.update(attributes=[1]),
    "no attributes": lambda root: root.pop("attributes"),
    "no layout": lambda root: root["attributes"].pop("layout"),
}


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("name", EDITS)
def test_edited_metadata_of_the_root_are_refused(store, name, old):
    edit(store, old, EDITS[name])
    spec = store.parent / "sweep.toml"
    for words in (["--verify", store], ["--status", store], [spec, "--store", store, "--workers", 0]):
        assert str(store) in told(tokenflock("sweep", *words))


SHAPES = [
    {"shape": [1, 4]},
    {"shape": [2, 10**9]},
    {"box": [0, 2]},
    {"box": [1, 1]},
    {"shape": [2.5, 4]},
    {"shape": "a", "box": None},
]


@pytest.mark.parametrize("change", SHAPES)
def test_the_grid_is_that_of_the_arrays_whatever_the_root_says(store, change):
    """A row was missing, and the shape said that there was none: the sweep called itself done."""
    SweepStore(store).forget([3])
    edit(store, True, change)
    assert open_store(store).grid == SweepStore(store).grid
    assert open_store(store).pending() == [3]
    summary = json.loads(tokenflock("sweep", "--verify", store, "--json").stdout)
    assert (summary["runs"], summary["runs_done"]) == (8, 6)
    spec = store.parent / "sweep.toml"
    made = tokenflock("sweep", spec, "--store", store, "--workers", 0, "--json")
    assert json.loads(made.stdout)["runs_done"] == 8


def test_stores_of_an_earlier_version_go_on(store):
    edit(store, True, {})
    assert tokenflock("sweep", "--verify", store).exit_code == 0


@pytest.mark.filterwarnings("default")  # told, not raised
@pytest.mark.parametrize("name", ["outcome", "reason"])
def test_a_cut_chunk_is_told_by_every_look_and_mended(store, name):
    kept = open_store(store)
    path = Path(kept.files(1)[kept.names.index(name)])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"cut")
    assert "1 shards are damaged" in told(tokenflock("sweep", "--verify", store))
    assert "sweep --verify` says which shards" in told(tokenflock("sweep", "--status", store))
    exported = tokenflock("sweep", "--store", store, "--export", store.parent / "a.csv")
    assert "sweep --verify` says which shards" in told(exported)
    made = tokenflock("sweep", store.parent / "sweep.toml", "--store", store, "--workers", 0)
    assert made.exit_code == 0
    assert tokenflock("sweep", "--verify", store).exit_code == 0


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("content", [b"x" * 9, b"x" * 3, b"\0" * 30, b"x" * 1000])
def test_a_checksum_of_a_wrong_length_is_a_damaged_shard(store, content):
    (store / "checksum" / "c" / "2").write_bytes(content)
    (store / "checksum" / "c" / "²").write_bytes(content)
    assert open_store(store).verify() == [2]
    assert tokenflock("sweep", store.parent / "sweep.toml", "--store", store, "--workers", 0).exit_code == 0
    assert open_store(store).verify() == []


def harm(rng, path):
    content = bytearray(path.read_bytes())
    kind = rng.randrange(4)
    if kind == 0 and content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        content = content[: rng.randrange(len(content) + 1)]
    elif kind == 2:
        content += rng.randbytes(rng.randrange(1, 20))
    else:
        return path.unlink()
    return path.write_bytes(content)


def random_damage(finished, folder, tries, seed):
    """Damage, look, go on: a refusal in a sentence, or in the end the runs as they were."""
    rng, whole, healed = random.Random(seed), SweepStore(finished / "s.zarr").load().load(), 0
    for k in range(tries):
        spec = shutil.copytree(finished, folder / str(k)) / "sweep.toml"
        store = spec.parent / "s.zarr"
        harm(rng, rng.choice(sorted(p for p in store.rglob("*") if p.is_file())))
        seen = tokenflock("sweep", "--verify", store)
        assert seen.exit_code in (0, 1, 2)
        made = tokenflock("sweep", spec, "--store", store, "--workers", 0)
        if made.exit_code == 0:
            assert SweepStore(store).load().load().identical(whole)
            healed += 1
        else:
            told(made)
            with pytest.raises(TokenflockError):
                open_store(store)
        shutil.rmtree(spec.parent)
    return healed


@pytest.mark.filterwarnings("default")
def test_random_damage_is_healed_or_refused(finished, tmp_path):
    assert random_damage(finished, tmp_path, 15, 1)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_much_random_damage_is_healed_or_refused(finished, tmp_path):
    assert random_damage(finished, tmp_path, 300, 2)
