"""Files of models that were made to take all memory or for ever: each is refused soon, in words."""

import time
import tracemalloc

import pytest
from model_bombs import bombs, many_models, measured

from tokenflock import networks
from tokenflock.errors import FileError
from tokenflock.networks import archive, budget

MOST_MB, MOST_S = 100, 20
NAMES = list(bombs(None))


@pytest.mark.parametrize("name", NAMES)
def test_a_bomb_is_refused_before_it_goes_off(name, tmp_path):
    path = bombs(tmp_path, mb=80, models=10_100)[name]()
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(
            FileError, match=r"cannot be read|is not JSON of a model|is not an index of shards"
        ) as found:
            networks.read(path)
    finally:
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
    assert peak < MOST_MB
    assert time.process_time() - began < MOST_S
    assert len(str(found.value)) < 1_000
    assert "Error" not in str(found.value).replace("ValueError", ""), "nothing raw"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_bomb_of_full_size_in_a_process_of_its_own(name, tmp_path):
    taken = measured(bombs(tmp_path, mb=1_000, models=30_000)[name](), 60.0)
    assert not taken["said"].startswith("RAW"), taken
    assert taken["mb"] < MOST_MB, taken
    assert taken["s"] < MOST_S, taken


def test_an_archive_of_many_models_is_read_in_a_time_like_its_size(tmp_path):
    """Within the bound each folder is looked at once: so many were quadratic."""
    path = many_models(tmp_path / "many.zip", budget.ENTRIES // 2)
    began = time.process_time()
    found = archive.models(path)
    assert len(found) == budget.ENTRIES // 2
    assert found[:3] == sorted(found)[:3]
    assert time.process_time() - began < MOST_S


def test_json_of_a_model_is_read_as_it_is():
    assert budget.read_json(b'{"a": [1, {"b": [[]]}]}', 100) == {"a": [1, {"b": [[]]}]}
    deep = b"[" * budget.DEPTH + b"]" * budget.DEPTH
    with pytest.raises(ValueError, match="deeper than 50"):
        budget.read_json(b"[" + deep + b"]", 1_000)
    budget.read_json(deep[1:-1], 1_000)
    with pytest.raises(ValueError, match="more than 4 MB"):
        budget.read_json(b" " * (budget.CONFIG_BYTES + 1), budget.CONFIG_BYTES)


def test_a_budget_counts_bytes_and_seconds():
    spent = budget.Budget(10)
    spent.spend(10)
    with pytest.raises(FileError, match="unpacks to far more"):
        spent.spend(1)
    with pytest.raises(FileError, match="takes longer"):
        budget.Budget(10, seconds=-1.0).spend(0)
    endless = budget.BudgetStream(b"x" * 10_000, budget.Budget(0, seconds=-1.0))
    with pytest.raises(FileError, match="takes longer"):
        [endless.read(1) for _ in range(5_000)]
