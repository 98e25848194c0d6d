"""What a release is: the wheel and the archive of the sources, as a user installs them, and the names that stay."""

import difflib
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import public_names
import tokenflock
from waiting import LONG_S

ROOT = Path(__file__).parents[2]
pytest.importorskip("hatchling", reason="a release is built by hatchling: pip install -e . --group test")


def run(*command, **options):
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=False, timeout=LONG_S, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built(kind, sources, folder):
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder, cwd=sources)
    (made,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """The archive of the sources, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("release")
    sdist = built("sdist", ROOT, folder / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "sources", filter="data")
    (sources,) = (folder / "sources").iterdir()
    return sdist, built("wheel", sources, folder / "wheel")


def test_the_wheel_holds_the_package_and_nothing_else(release):
    with zipfile.ZipFile(release[1]) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    # Before the list is made, git forgets what it ignores: caches, weights, node_modules.
    files = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "src/tokenflock", cwd=ROOT).split()
    reference = {
        f"tokenflock/reference/{path.name}" for path in (ROOT / "docs" / "reference").glob("*.txt")
    }  # for help()
    assert held == {f.removeprefix("src/") for f in files if (ROOT / f).exists()} | reference
    assert "tokenflock/py.typed" in held


def test_the_archives_are_small_and_hold_no_weights(release):
    for made in release:
        assert made.stat().st_size < 5e6
    with tarfile.open(release[0]) as archive:
        names = archive.getnames()
    assert not [n for n in names if n.endswith((".safetensors", ".bin", ".gguf", ".whl", ".npz"))]
    assert not [n for n in names if "node_modules" in n or ".venv" in n]
    assert [n for n in names if n.endswith("/LICENSE")]


def test_the_wheel_works_where_the_sources_are_not(release, tmp_path):
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path / "site", release[1])
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); import tokenflock as flock; "
        "print(flock.__file__); print(flock.velocity(flock.Model(dim=2), flock.uniform(5, 2)).shape);"
        "print('>>> flock.Model(' in flock.Model.__doc__)"
    )
    told = run(sys.executable, "-P", "-c", code, cwd=tmp_path).split("\n")
    assert told[:3] == [str(tmp_path / "site" / "tokenflock" / "__init__.py"), "(5, 2)", "True"]


@pytest.mark.slow
def test_the_wheel_installs_with_its_dependencies(release, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "new")
    new = tmp_path / "new" / "bin"
    run(new / "python", "-m", "pip", "install", "--quiet", release[1])
    assert run(new / "tokenflock", "--version", cwd=tmp_path).strip().endswith(tokenflock.__version__)
    out = tmp_path / "run.zarr"
    run(new / "tokenflock", "simulate", "--dim", "2", "--beta", "9", "--tokens", "8", "--t-end", "1", "--out", out)
    assert out.exists()


def test_public_names_stay():
    frozen = (ROOT / "tests" / "public_names.txt").read_text().splitlines()
    changed = list(difflib.unified_diff(frozen, public_names.names(), "released", "now", lineterm="", n=0))
    assert not changed, "\n".join([*changed, "If this is meant: see public_names.py, and docs/releasing.md."])


def test_the_changelog_begins_with_this_version():
    heads = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert tokenflock.__version__ in heads[0] or "Unreleased" in heads[0]
