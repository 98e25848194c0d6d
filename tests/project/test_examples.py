"""Every example runs: the notebooks cell by cell, the scripts as a user calls them."""

import json
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest

from trained import trained
from waiting import LONG_S

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = {p.stem: p for p in sorted(EXAMPLES.rglob("*.ipynb"))}
LECTURES = {name: path for name, path in NOTEBOOKS.items() if path.parent.name == "lectures"}
SCRIPTS = {p.stem: p for p in sorted(EXAMPLES.glob("*.py"))}
NEEDS_WEIGHTS = {"real_network"}


def cells(path, kind):
    return ["".join(c["source"]) for c in json.loads(path.read_text())["cells"] if c["cell_type"] == kind]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_from_top_to_bottom(name, monkeypatch, tmp_path):
    if name in NEEDS_WEIGHTS and trained("rxnmapper") is None:
        pytest.skip("no weights/rxnmapper-*.whl: make weights fetches it")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKENFLOCK_WEIGHTS", str(EXAMPLES.parent / "weights"))
    names = {"__name__": "__main__"}
    for code in cells(NOTEBOOKS[name], "code"):
        exec(compile(code, name, "exec"), names)
    assert len(matplotlib.pyplot.get_fignums()) == sum("figure;" in code for code in cells(NOTEBOOKS[name], "code"))
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_holds_no_output_and_tells_its_story(name):
    made = json.loads(NOTEBOOKS[name].read_text())
    assert not [c for c in made["cells"] if c.get("outputs") or c.get("execution_count")]
    assert cells(NOTEBOOKS[name], "markdown")[0].startswith("# ")


@pytest.mark.parametrize("name", LECTURES)
def test_a_lecture_asks_and_answers(name):
    made = json.loads(LECTURES[name].read_text())["cells"]
    words = "\n".join(cells(LECTURES[name], "markdown"))
    places = [words.index(part) for part in ("## Exercise", "## Solution", "**What to remember.**")]
    assert places == sorted(places)
    solutions = ["".join(c["source"]) for c in made if "hide-cell" in c["metadata"].get("tags", [])]
    assert solutions
    assert all("assert " in solution for solution in solutions), "a solution that nothing holds may be wrong"
    assert "# your lines" in cells(LECTURES[name], "code")


def test_there_are_six_lectures_and_their_page_names_them():
    page = (EXAMPLES.parent / "docs" / "lectures.md").read_text(encoding="utf-8")
    assert len(LECTURES) == 6
    assert all(page.count(f"lectures/{name}") == 2 for name in LECTURES)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs(name, tmp_path):
    command = [sys.executable, str(SCRIPTS[name])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=LONG_S)
    assert done.returncode == 0, done.stderr
