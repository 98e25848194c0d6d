"""Other kinds of processor: kernels for a CPU that has registers of 128 bits and no fused products, as SSE2 and NEON.

Bits belong to a kind of CPU; between kinds runs agree to tolerance. The kind is set for a process of its own, and so is
the folder for kernels, whose names tell the kind anyway.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tokenflock as flock
from models import amplification
from tolerances import close
from waiting import LONG_S, SLOW_S

TESTS = Path(__file__).parents[1]
x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="these kinds of CPU are of x86")

TOLD = """
import json, re, sys
import numpy as np
import tokenflock as flock
from tokenflock.engine.compiled import lanes
from tokenflock.engine.compiled.declare import kernel
from tokenflock.model import velocity

@kernel
def summed(x):
    total = lanes.splat(0.0)
    for k in range(0, x.shape[1], lanes.width(x)):
        total = lanes.fma(lanes.load(x, 0, k), lanes.load(x, 0, k), total)
    return lanes.total(lanes.exp2(lanes.root(total)))

x = np.arange(32.0).reshape(1, 32) / 10
found = {"sum": summed(x)}
(code,) = summed.inspect_asm().values()
found["registers"] = sorted(set(re.findall(r"[xyz]mm(?=\\d)", code)))
found["fused"] = "fmadd" in code
model = flock.Model(dim=2, beta=4.0)
if sys.argv[1] == "run":
    found["run"] = flock.simulate(model, flock.uniform(37, 2, seed=3), 1.0, scheme="rk4", dt=0.25).x.values[-1].tolist()
print(json.dumps(found))
"""


def environment(kind, folder):
    """A name alone would leave the instructions of this machine."""
    path = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    given = {"NUMBA_CPU_NAME": kind, "NUMBA_CPU_FEATURES": "+avx2,+fma" if kind == "haswell" else ""}
    return os.environ | given | {"NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": path}


def compared(kind, tmp_path, what="run"):
    """A kernel of lanes, and a run if it is asked for, as such a CPU computes them, beside this one."""
    (tmp_path / "told.py").write_text(TOLD)
    command = [sys.executable, str(tmp_path / "told.py"), what]
    done = subprocess.run(
        command, env=environment(kind, tmp_path), capture_output=True, text=True, check=False, timeout=LONG_S
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    x = np.arange(32.0).reshape(4, 8) / 10
    assert found["sum"] == pytest.approx(np.exp2(np.sqrt((x**2).sum(axis=0))).sum(), rel=1e-14)
    if what != "run":
        return found
    model, start = flock.Model(dim=2, beta=4.0), flock.uniform(37, 2, seed=3)
    here = flock.simulate(model, start, 1.0, scheme="rk4", dt=0.25).x.values[-1]
    assert_allclose(found["run"], here, **close("float64", 37, 16 * amplification(model, start, 1.0)))
    return found


@x86
@pytest.mark.parametrize("what", ["kernel", pytest.param("run", marks=pytest.mark.slow)])
def test_registers_of_128_bits_give_the_same_to_rounding(tmp_path, what):
    found = compared("x86-64", tmp_path, what)
    assert found["registers"] == ["xmm"]
    assert not found["fused"]


@x86
@pytest.mark.slow
def test_registers_of_256_bits_give_the_same_to_rounding(tmp_path):
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if " avx2 " not in flags or " fma " not in flags:
        pytest.skip("this CPU has no such registers")
    found = compared("haswell", tmp_path)
    assert "ymm" in found["registers"]
    assert "zmm" not in found["registers"]
    assert found["fused"]


@x86
@pytest.mark.slow
def test_the_contract_and_the_laws_hold_with_registers_of_128_bits(tmp_path):
    """Some 2,400 tests: 12 minutes the first time on two busy cores."""
    files = [str(TESTS / "engine" / name) for name in ("test_contract.py", "test_laws.py")]
    words = ["-q", "-p", "no:cacheprovider", "-n", "0", "-m", "not slow", "-k", "cpu or harmonic or test_laws"]
    command = [sys.executable, "-m", "pytest", *words, *files]
    done = subprocess.run(
        command,
        env=environment("x86-64", tmp_path),
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=SLOW_S,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
