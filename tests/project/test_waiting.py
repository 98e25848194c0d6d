"""No test waits for ever: waits have bounds, and the guard of tests/waiting.py ends a test that found another way."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import LONG_S, MARK, marked

TESTS = Path(__file__).parents[1]
STARTED = {"run", "call", "check_call", "check_output"}
#: methods that wait: how many arguments before the timeout
WAITS = {"communicate": 1, "wait": 0, "join": 0, "result": 0}


def endless(source):
    """Calls that wait for a process, a thread or a future, and have no timeout."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if "timeout" in {word.arg for word in node.keywords}:
            continue
        name, owner = node.func.attr, ast.unparse(node.func.value)
        if (name in STARTED and owner == "subprocess") or (name in WAITS and len(node.args) <= WAITS[name]):
            yield f"{node.lineno}: {ast.unparse(node)}"


def test_waits_have_a_timeout():
    assert list(endless("a.wait()\nsubprocess.run([])\nt.join()\np.communicate(b'')\n','.join(x)\na.wait(3)"))[3:] == [
        "4: p.communicate(b'')"
    ]
    found = {str(path): list(endless(path.read_text())) for path in TESTS.rglob("*.py")}
    assert not {path: calls for path, calls in found.items() if calls}, "say timeout=LONG_S, of tests/waiting.py"


HANGS = """
import subprocess, sys
import waiting
waiting.FAST_S = 3
def test_hangs():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    child.wait(timeout=1000)
def test_is_made_nevertheless():
    pass
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="what is left is found in /proc")
def test_a_test_that_hangs_fails_by_its_name_and_leaves_nothing(tmp_path):
    (tmp_path / "test_toy.py").write_text(HANGS)
    mark = "toy" + str(os.getpid())
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", MARK))}
    env["PYTHONPATH"] = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-n", "1", str(tmp_path)]
    told = env | {"TOKENFLOCK_TOY": mark}
    done = subprocess.run(command, cwd=tmp_path, env=told, capture_output=True, text=True, check=False, timeout=LONG_S)
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "crashed while running 'test_toy.py::test_hangs'" in said
    assert "in test_hangs" in said, "faulthandler says where"
    assert "1 failed, 1 passed" in said
    assert marked(mark, "TOKENFLOCK_TOY") == []
