"""The counts with every ball filled, made on a GPU and kept: what they come to, and what would refute them."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HOME = ROOT / "benchmarks" / "results" / "studies"


@pytest.fixture(scope="module")
def found():
    """The module that reads them, the counts and the exponents."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        module = importlib.import_module("filled_counts")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    rows = module.counts(module.read(HOME / "filled-balls.jsonl"))
    return module, rows, module.exponents(rows)


def test_balls_are_filled_and_half_of_the_tokens_see_nearly_as_many_clusters(found):
    _, rows, _ = found
    assert min(row["tokens_a_ball"] for row in rows) >= 60
    assert max(row["half_misses"] for row in rows) < 0.04
    for leading in (3, 4):
        assert max(row["beta"] for row in rows if row["d_1"] == leading and row["gap"]) == 1e4


def test_exponents_are_those_of_the_leading_eigenspace_and_of_the_whole_sphere_without_a_gap(found):
    module, rows, slopes = found
    assert all(row["nearer"] for row in slopes)
    for row in slopes:  # nulls: told that there is a gap where there is none, and the other way round, the rule fails
        kind = [one for one in rows if all(one[k] == row[k] for k in ("d_1", "d", "gap", "time"))]
        turned = module.exponents([{**one, "gap": 0.0 if one["gap"] else 1.0} for one in kind])
        assert not any(other["nearer"] for other in turned)


def test_what_is_off_the_slope_of_caps_falls_with_beta_at_the_late_time(found):
    _, _, slopes = found
    for dims in ((3, 4, 1.0), (4, 5, 1.0), (4, 7, 1.0), (3, 4, 0.0), (4, 5, 0.0)):
        off = [row["off"] for row in slopes if (row["d_1"], row["d"], row["gap"]) == dims and row["time"] == 60]
        assert off == sorted(off, reverse=True)
        assert off[-1] > 0


def test_step_and_reach_do_not_matter(found):
    module, _, _ = found
    lines = module.read(HOME / "filled-balls.jsonl")
    checks = [line for line in lines if "check" in line]
    assert {line["check"] for line in checks} == {"half the step", "reach 8"}
    for line in checks:
        (usual,) = [one for one in lines if one["cell"] == line["cell"] and one["first"] == 0 and "check" not in one]
        for found_, same in zip(line["all"][0], usual["all"][0], strict=True):
            assert abs(found_ / same - 1) < 2e-3
    assert max(max(line["left_out"], default=0) for line in lines) < 2e-5


def test_the_page_shows_the_table(found):
    module, _, slopes = found
    assert module.page(slopes) in (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
