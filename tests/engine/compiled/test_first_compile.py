"""The first run after an install: a second process compiles half of it, and nothing hangs on that process."""

import subprocess
import sys

import pytest

from waiting import LONG_S

# Prints the last position, then the kernels that this process compiled itself.
RUN = """
import sys
if BROKEN: sys.executable = BROKEN
import tokenflock as flock
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, e): compiled.append(e.data["dispatcher"].py_func.__name__)
    def on_end(self, e): pass
event.register("numba:compile", Listener())
model = flock.Model(dim=2, beta=4.0)
run = flock.simulate(model, flock.uniform(6, 2, seed=1), 1.0, scheme="euler", dt=0.1, engine="cpu", progress=False)
print(run.x.values[-1].tobytes().hex())
print(*compiled)
"""


def first_run(cache, threads=2, broken=None):
    """(bits, names of what was compiled here) of a run in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", f"BROKEN = {broken!r}\n{RUN}"],
        env={"NUMBA_CACHE_DIR": str(cache), "TOKENFLOCK_THREADS": str(threads), "PATH": "", "HOME": str(cache)},
        capture_output=True,
        text=True,
        check=True,
        timeout=LONG_S,
    )
    bits, names = done.stdout.splitlines()
    assert not done.stderr
    return bits, set(names.split())


def test_another_process_compiles_what_is_called_by_pointers(tmp_path):
    shared = first_run(tmp_path / "shared")
    assert "fixed" in shared[1]
    assert not {"plain_velocity", "sum_rows", "near2"} & shared[1]
    assert first_run(tmp_path / "shared") == (shared[0], set())  # all of it is on disk
    alone = first_run(tmp_path / "alone", threads=1)
    assert {"fixed", "plain_velocity", "sum_rows", "near2"} <= alone[1]
    assert alone[0] == shared[0]


@pytest.mark.parametrize("broken", ["false", "/there/is/none"])
def test_without_the_other_process_this_one_does_it_all(tmp_path, broken):
    bits, names = first_run(tmp_path, broken="/bin/false" if broken == "false" else broken)
    assert bits
    assert {"fixed", "plain_velocity", "sum_rows", "near2"} <= names
