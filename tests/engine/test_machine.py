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
from waiting import LONG_S


@pytest.mark.parametrize("given", ["0", "-1", "two", "", "²", "9" * 5000])
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
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False, timeout=LONG_S
    )
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
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=LONG_S
        )
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
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=LONG_S
        )
        said.append(done.stdout.split())
    assert said[0][0] == said[0][1] != said[1][0] == said[1][1]


def test_sources_that_change_while_a_process_runs_leave_no_kernel_behind(tmp_path):
    """What it imports later is no longer what the folder of its kernels is named after."""
    package = tmp_path / "tokenflock"
    shutil.copytree(Path(tokenflock.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "static"))
    head = "from tokenflock.engine.compiled.declare import inline, kernel\n"
    inner, outer = package / "engine" / "inner.py", package / "engine" / "outer.py"
    inner.write_text(head + "@inline\ndef told():\n    return 1\n")
    outer.write_text(head + "from tokenflock.engine.inner import told\n@kernel\ndef twice():\n    return 2 * told()\n")
    changed = (
        "from pathlib import Path\nimport tokenflock.engine.compiled.declare as declare; declare.folder()\n"
        f"inner = Path({str(inner)!r}); text = inner.read_text(); inner.write_text(text.replace('1', '50'))\n"
        "from tokenflock.engine.outer import twice; print(twice()); inner.write_text(text)"
    )
    code = "from tokenflock.engine.outer import twice; print(twice(), sum(twice.stats.cache_hits.values()))"
    env = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = []
    for script in (changed, code, code):
        done = subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True, timeout=LONG_S
        )
        said.append(done.stdout.split())
    assert said == [["100"], ["2", "0"], ["2", "1"]]


def test_kernels_that_other_processes_kept_call_their_own_functions(tmp_path):
    """Code of one name is loaded once, and numba numbers functions in each process from 1 on: with its numbers, two
    functions that differ in their closures had one name, and a run in d = 3 took the sums of d = 2."""
    (tmp_path / "made.py").write_text(
        "from tokenflock.engine.compiled.declare import inline, kernel\n"
        "from tokenflock.engine.compiled.lanes import noinline\n"
        "def telling(number):\n    @inline\n    def told(x):\n        noinline()\n        return x + number\n"
        "    return told\n"
        "told_one, told_two = telling(1.0), telling(2.0)\n"
        "@kernel\ndef one(x):\n    return told_one(x)\n"
        "@kernel\ndef two(x):\n    return told_two(x)\n"
    )
    env = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = []
    both = "one(0.0), two(0.0), sum(sum(kernel.stats.cache_hits.values()) for kernel in (one, two))"
    for calls in ("one(0.0)", "two(0.0)", both):
        code = f"from made import one, two; print({calls})"
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=LONG_S
        )
        said.append(done.stdout.split())
    assert said == [["1.0"], ["2.0"], ["1.0", "2.0", "2"]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_numbers_its_functions_anew():
    code = (
        "import os\nfrom numba.core.bytecode import FunctionIdentity\nimport tokenflock.engine.compiled.declare\n"
        "child = os.fork()\nif child:\n    assert os.waitpid(child, 0)[1] == 0\n"  # one speaks after the other
        "print(next(FunctionIdentity._unique_ids), flush=True)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONG_S)
    one, other = (int(word) for word in done.stdout.split())
    assert abs(one - other) > 10**6


def test_two_processes_that_compile_at_a_time_give_every_kernel_its_own_file(tmp_path):
    """Without the lock one of them could write its code under the name of the other's."""
    code = (
        "import numba, sys\nfrom tokenflock.engine.explicit import pairs\n"
        "file = pairs.general._cache._cache_file\n"
        "for k in range(60): file.save((sys.argv[1], k), [sys.argv[1], k])\n"
    )
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    both = [subprocess.Popen([sys.executable, "-c", code, name], env=env) for name in "ab"]
    assert [process.wait(timeout=LONG_S) for process in both] == [0, 0]
    code = (
        "from tokenflock.engine.explicit import pairs\nfile = pairs.general._cache._cache_file\n"
        "print(all(file.load((name, k)) == [name, k] for name in 'ab' for k in range(60)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=LONG_S
    )
    assert done.stdout.strip() == "True"


def test_a_function_for_kernels_says_so_to_python():
    """numba would crash."""
    from tokenflock.engine.explicit import pairs as pair_kernels

    with pytest.raises(TypeError, match="rare is for kernels to call"):
        pair_kernels.rare(1, 2)
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


# Whose kernels are executed


@pytest.fixture
def temporary(monkeypatch, tmp_path):
    """The folder for kernels in a temporary directory, where nothing else can be written."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")  # as if it were not set
    monkeypatch.setattr(machine, "_writable", lambda folder: False)
    monkeypatch.setattr(machine.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(machine.tempfile, "tempdir", str(tmp_path))
    machine._for_this_process.cache_clear()
    yield tmp_path / f"tokenflock-{os.getuid()}"
    machine._for_this_process.cache_clear()


def test_a_folder_for_kernels_in_the_temporary_one_is_closed_to_others(temporary):
    assert machine.find_cache() == temporary
    assert temporary.stat().st_mode & 0o777 == 0o700
    assert machine.find_cache() == temporary  # again


@pytest.mark.parametrize("planted", ["open", "group", "link", "file", "dangling", "foreign"])
def test_a_folder_that_somebody_else_made_or_can_write_to_is_not_used(temporary, planted):
    """A planted kernel would be executed: the indexes of numba are pickles."""
    if planted in ("open", "group", "foreign"):
        temporary.mkdir()
        temporary.chmod({"open": 0o777, "group": 0o770, "foreign": 0o700}[planted])
    if planted == "foreign":
        if os.getuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(temporary, 12345, 12345)
    elif planted == "file":
        temporary.write_text("")
    elif planted in ("link", "dangling"):
        target = temporary.parent / "elsewhere"
        if planted == "link":
            target.mkdir(mode=0o700)
        temporary.symlink_to(target)
    found = machine.find_cache()
    assert found not in (temporary, temporary.resolve())
    assert found.stat().st_mode & 0o777 == 0o700
    assert machine.find_cache() == found


def test_a_cache_of_the_user_in_a_folder_that_all_may_write_to_is_not_used(temporary, monkeypatch):
    shared = temporary.parent / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared))
    monkeypatch.setattr(machine, "_writable", lambda folder: "shared" in str(folder))
    assert machine.find_cache() == temporary
    shared.chmod(0o755)
    assert machine.find_cache() == shared / "numba"


def cut(content):
    return content[: len(content) // 2]


def flip(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_damaged_file_of_a_kernel_is_compiled_again(tmp_path, suffix):
    (tmp_path / "twice.py").write_text(
        "from tokenflock.engine.compiled.declare import kernel\n@kernel\ndef twice(x):\n    return 2 * x\n"
    )
    code = "from twice import twice\nprint(twice(3.0), sum(twice.stats.cache_hits.values()))"
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    env = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def call():
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False, timeout=LONG_S
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert call() == ["6.0", "0"]
    for harm in (cut, flip, lambda _: b"", lambda content: content + b"more", lambda _: b"garbage" * 100):
        assert call() == ["6.0", "1"]
        (file,) = (tmp_path / "cache").rglob(f"*.{suffix}")
        file.write_bytes(harm(file.read_bytes()))
        assert call() == ["6.0", "0"]
    assert call() == ["6.0", "1"]


def test_numba_that_may_not_compile_is_a_sentence():
    code = (
        "import tokenflock as flock\nx = flock.uniform(5, 2)\n"
        "print(flock.simulate(flock.Model(dim=2), x, 1.0, engine='reference').attrs['outcome'])\n"
        "try:\n    flock.simulate(flock.Model(dim=2), x, 1.0)\n"
        "except flock.errors.EngineError as error:\n    print(error)\n"
    )
    env = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=LONG_S
    )
    first, second = done.stdout.splitlines()
    assert first == "Reached t_end."
    assert second.startswith("NUMBA_DISABLE_JIT is set: no kernel can be compiled. Unset it, or use engine='reference'")
