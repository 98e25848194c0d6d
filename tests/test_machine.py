"""Threads and the place for compiled kernels."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tokenflock
from tokenflock.engine import machine
from tokenflock.errors import SpecError


@pytest.mark.parametrize("given", ["0", "-1", "two", ""])
def test_a_number_of_threads_that_cannot_be_is_refused(given, monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_THREADS", given)
    with pytest.raises(SpecError, match=r"TOKENFLOCK_THREADS = .* an integer >= 1. Unset it to use all cores"):
        machine.threads()


def test_threads_are_the_cores_that_this_process_may_use(monkeypatch):
    monkeypatch.delenv("TOKENFLOCK_THREADS", raising=False)
    assert 1 <= machine.threads() <= (os.cpu_count() or 1)


def test_where_nothing_can_be_written_kernels_go_to_the_temporary_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(machine, "_writable", lambda folder: False)
    monkeypatch.setattr(machine.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    place = machine.find_cache()
    assert place.parent == tmp_path
    assert os.environ["NUMBA_CACHE_DIR"] == str(place)
    monkeypatch.delenv("NUMBA_CACHE_DIR")


def test_kernels_are_cached_elsewhere_when_the_install_folder_cannot_be_written(tmp_path):
    """Root may write anywhere, so a file stands where the folder of the cache would be."""
    package = tmp_path / "site" / "tokenflock"
    shutil.copytree(Path(tokenflock.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "engine" / "__pycache__").write_text("not a folder")
    code = (
        "import numpy as np, tokenflock as flock; "
        "run = flock.simulate(flock.Model(dim=2), flock.uniform(5, 2), 1.0); "
        "print(flock.__file__, np.isfinite(run.x).all().item())"
    )
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    env |= {"PYTHONPATH": str(package.parent), "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(package / "__init__.py"), "True"]
    assert list((tmp_path / "cache").rglob("*.nbi")), "no kernel was cached"
