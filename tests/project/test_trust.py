"""The page on trust names the tests that hold each promise: they exist, and its bombs keep their bounds."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import LONG_S

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")


def named(page):
    """(file, test) of everything that the tables name; a file alone stands for its own text."""
    for cell in re.findall(r"\| ([^|]*`tests/[^|]*) \|$", page, re.MULTILINE):
        for part in cell.split(";"):
            file, *tests = re.findall(r"`([^`]+)`", part)
            yield from ((file, test) for test in tests or [None])


def missing(page):
    """What the page names and the repository does not have."""
    found = []
    for file, test in named(page):
        path = ROOT / file
        if not path.is_file() or (test and not re.search(rf"def {test}\(", path.read_text(encoding="utf-8"))):
            found.append((file, test))
    return found


def test_every_test_that_the_page_on_trust_names_exists():
    assert len(list(named(PAGE))) > 30
    assert missing(PAGE) == []


def test_a_test_that_does_not_exist_is_noticed():
    assert missing("| a | `tests/test_store.py`: `test_of_nothing` |") == [("tests/test_store.py", "test_of_nothing")]


def test_no_bomb_of_the_tables_takes_more_than_is_promised():
    tables = PAGE.split("## What a bomb takes")[1].split("Files that are read")
    for table, seconds in zip(tables, (1.0, 20.0), strict=True):
        rows = re.findall(r"^\| [^|]+ \| ([\d.]+) \| ([\d.]+) \| (?:refused|computed) \|$", table, re.MULTILINE)
        assert len(rows) > 10
        assert all(float(mb) < 100 and float(s) < seconds for mb, s in rows)
        assert "RAW" not in table


@pytest.mark.parametrize("program", ["tests/sweeps/soak.py", "tests/explorer/crowds.py"])
def test_a_program_of_the_page_begins(program):
    """It finds what it imports when it is no part of a test; one of them is a process of its own within a slow test."""
    assert f"`{program}`" in PAGE
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", f"import runpy; runpy.run_path({str(ROOT / program)!r}, run_name='begun')"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONG_S, check=False)
    assert found.returncode == 0, found.stderr
