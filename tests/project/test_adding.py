"""The recipes of docs/adding.md, followed to the letter in a copy of the package: they are true, or this fails."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from waiting import LONG_S

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
PLACE = re.compile(r"# (?P<file>\S+?\.py)(?:, after: (?P<line>.+))?\n")


def blocks(title):
    """(file, line or None, text) of every block under a heading of the page."""
    page = (ROOT / "docs" / "adding.md").read_text()
    (section,) = re.findall(rf"^## {title}\n(.*?)(?=^## )", page, re.DOTALL | re.MULTILINE)
    for text in map(textwrap.dedent, re.findall(r"^ *```python\n.*?```", section, re.DOTALL | re.MULTILINE)):
        body = BLOCK.match(text)[1]
        place = PLACE.match(body)
        yield place["file"], place["line"], body[place.end() :]


def follow(title, copy):
    """Do what the blocks under a heading say."""
    for file, line, text in blocks(title):
        path = copy / file
        if line is None:
            path.write_text(text)
            continue
        lines = path.read_text().splitlines(keepends=True)
        where = [k for k, old in enumerate(lines) if old.strip().startswith(line.strip())]
        assert len(where) == 1, f"{file}: the line {line!r} is there {len(where)} times"
        lines.insert(where[0] + 1, text)
        path.write_text("".join(lines))


@pytest.fixture
def copy(tmp_path):
    """The package and its tests, to be changed."""
    for name in ("src", "tests"):
        ignored = shutil.ignore_patterns("__pycache__", "static")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run(copy, *command):
    """A command in the copy, with kernels of its own: what was compiled for the sources of this test is not touched."""
    env = os.environ | {"PYTHONPATH": str(copy / "src"), "NUMBA_CACHE_DIR": str(copy / "kernels")}
    done = subprocess.run(
        [sys.executable, *command], cwd=copy, env=env, capture_output=True, text=True, check=False, timeout=LONG_S
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


OPTION = """
import numpy as np, tokenflock as flock
model = flock.Model(dim=2, beta=0.0, value=np.zeros((2, 2)), tilt=0.5, space="euclidean")
x = np.array([[1.0, 2.0], [0.0, 0.0]])
run = flock.simulate(model, x, 3.0, times=[3.0])
assert run.attrs["engine"] == "reference"
assert np.abs(run["x"].values[0] - (x + [1.5, 0.0])).max() < 1e-9  # x' = tilt e_1
assert (flock.again(run)["x"].values == run["x"].values).all()
flock.save(run, "run.zarr")
assert flock.trajectories.model_of(flock.load("run.zarr")).tilt == 0.5
for engine in ("cpu", "harmonic"):
    try:
        flock.simulate(model, x, 1.0, engine=engine)
    except flock.errors.EngineError as error:
        assert "It does not know the option tilt" in str(error)
    else:
        raise AssertionError(engine)
try:
    flock.Model(dim=2, tilt=1.0, space="rescaled")
except flock.errors.SpecError as error:
    print(error)
"""
QUIET = ("-q", "-p", "no:cacheprovider")


def test_the_recipe_for_an_option(copy):
    follow("A model option", copy)
    assert "tilt and space='rescaled' cannot be combined" in run(copy, "-c", OPTION)
    told = run(
        copy, "-m", "pytest", *QUIET, "tests/engine/test_contract.py", "-k", "tilt and not an_option and not gpu"
    )
    assert re.search(r"\d+ passed", told)
    assert "failed" not in told


def test_the_recipe_for_an_engine(copy):
    follow("An engine", copy)
    chosen = "plain and (causal-d2 or full-d3 or pre-d3 or rescaled-d2 or noise-d2 or done or everything or paused)"
    told = run(copy, "-m", "pytest", *QUIET, "tests/engine/test_contract.py", "-k", chosen)
    assert int(re.search(r"(\d+) passed", told)[1]) > 40
    assert "failed" not in told


KERNEL = """
import numpy as np, tokenflock as flock
x = flock.uniform(5, 2, seed=1)
named = flock.Model(dim=2, kernel=flock.Kernel("laplace", scale=0.5), mask="full")
mine = named.with_options(kernel=lambda distance: np.exp(-2.0 * distance))
expected = flock.velocity(mine, x)
assert np.abs(flock.velocity(named, x) - expected).max() < 1e-15 < np.abs(expected).max()
run = flock.simulate(named, x, 1.0)
assert run.attrs["engine"] == "cpu"
assert (flock.again(run)["x"].values == run["x"].values).all()
print(flock.trajectories.model_of(run).kernel)
"""


def test_the_recipe_for_a_kernel(copy):
    """It touches three files: two of code, and the page that lists it."""
    places = [file for file, _, _ in blocks("A kernel")]
    assert places == ["src/tokenflock/interaction.py", "tests/models.py"]
    follow("A kernel", copy)
    assert "Kernel('laplace', scale=0.5)" in run(copy, "-c", KERNEL)
    told = run(copy, "-m", "pytest", *QUIET, "tests/engine/test_contract.py", "-k", "laplace and euler and not gpu")
    assert re.search(r"[1-9]\d* passed", told)
    assert "failed" not in told


def test_a_recipe_that_is_not_true_fails(copy):
    path = copy / "src" / "tokenflock" / "engine" / "choose.py"
    path.write_text(path.read_text().replace("HOMES = {", "PLACES = {"))
    with pytest.raises(AssertionError, match="is there 0 times"):
        follow("An engine", copy)
