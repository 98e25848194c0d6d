"""Threads and the place for compiled kernels."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
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
    assert machine.find_cache().parent == tmp_path


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


def test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed(tmp_path):
    """numba looks at the file of the kernel only. What others compile does not go to our folder."""
    package = tmp_path / "tokenflock"
    shutil.copytree(Path(tokenflock.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "static"))
    head = "from tokenflock.engine.compiled.declare import kernel\n"
    inner, outer = package / "engine" / "inner.py", package / "engine" / "outer.py"
    outer.write_text(head + "from tokenflock.engine.inner import told\n@kernel\ndef twice():\n    return 2 * told()\n")
    code = (
        "from tokenflock.engine.outer import twice; import numba\n"
        "print(twice(), sum(twice.stats.cache_hits.values()), repr(numba.config.CACHE_DIR))"
    )
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | {"PYTHONPATH": str(tmp_path)}
    said = []
    for number in (1, 1, 5, 1):
        inner.write_text(head + f"@kernel\ndef told():\n    return {number}\n")
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        said.append(done.stdout.split())
    assert [words[0] for words in said] == ["2", "2", "10", "2"]
    assert [words[1] for words in said[:3]] == ["0", "1", "0"]
    assert {words[2] for words in said} == {"''"}


def test_a_constant_of_another_folder_changes_compiled_runs(tmp_path):
    """Kernels have constants of schemes.py in them: with old kernels in the cache, steps once stayed as they were."""
    package = tmp_path / "tokenflock"
    shutil.copytree(Path(tokenflock.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "static"))
    code = (
        "import tokenflock as flock\n"
        "for engine in ('reference', 'cpu'):\n"
        "    run = flock.simulate(flock.Model(dim=2), flock.uniform(5, 2), 3.0, engine=engine, progress=False)\n"
        "    print(run.attrs['steps'])"
    )
    env = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    schemes, said = package / "schemes.py", []
    text = schemes.read_text()
    for safety in (0.9, 0.5):
        schemes.write_text(text + f"\nSAFETY = {safety}\n")
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        said.append(done.stdout.split())
    assert said[0][0] == said[0][1] != said[1][0] == said[1][1]


def test_two_processes_that_compile_at_a_time_give_every_kernel_its_own_file(tmp_path):
    """Without the lock one of them could write its code under the name of the other's."""
    code = (
        "import numba, sys\nfrom tokenflock.engine.explicit import pairs\n"
        "file = pairs.general._cache._cache_file\n"
        "for k in range(60): file.save((sys.argv[1], k), [sys.argv[1], k])\n"
    )
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    both = [subprocess.Popen([sys.executable, "-c", code, name], env=env) for name in "ab"]
    assert [process.wait() for process in both] == [0, 0]
    code = (
        "from tokenflock.engine.explicit import pairs\nfile = pairs.general._cache._cache_file\n"
        "print(all(file.load((name, k)) == [name, k] for name in 'ab' for k in range(60)))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_a_function_for_kernels_says_so_to_python():
    """numba would crash."""
    from tokenflock.engine.explicit import pairs as pair_kernels

    with pytest.raises(TypeError, match="gather is for kernels to call"):
        pair_kernels.gather(1, 2, 3)
    with pytest.raises(TypeError, match="general is for kernels to call"):
        pair_kernels.general()


def test_no_kernel_returns_an_array():
    """A caller that counts references would free it, one that does not would keep it for ever."""
    from tokenflock.engine.compiled.declare import inline, kernel

    @inline
    def handed_on(x):
        return x, 1.0

    @kernel
    def outer(x):
        return handed_on(x)[1]

    with pytest.raises(Exception, match="handed_on returns an array: give it the array to fill as an argument"):
        outer(np.zeros(3))
