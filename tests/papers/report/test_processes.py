"""Items made by several processes: all of them, each once; one that is killed, and Ctrl-C, end them with a sentence."""

import math
import operator
import os
import signal
import subprocess
import sys

import pytest

from tokenflock.errors import EngineError
from tokenflock.papers.report.processes import finished
from waiting import LONG_S

CHILD = """
import time
from tokenflock.papers.report.processes import finished
if __name__ == "__main__":
    print("began", flush=True)
    for number, found in finished(time.sleep, [(0.0,), (6000.0,), (6000.0,)], 2):
        print("there", flush=True)
"""


def test_every_item_is_made_once_and_an_error_is_raised():
    assert dict(finished(math.sqrt, [(k * k,) for k in range(5)], 2)) == dict(enumerate(range(5)))
    with pytest.raises(ZeroDivisionError):
        dict(finished(operator.truediv, [(1, 0)], 1))


def test_a_process_that_is_killed_is_told():
    with pytest.raises(EngineError, match=r"was killed.*--workers 0"):
        dict(finished(os._exit, [(9,)], 1))


def test_ctrl_c_ends_all_processes(tmp_path):
    (tmp_path / "made.py").write_text(CHILD)
    process = subprocess.Popen([sys.executable, tmp_path / "made.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        assert process.stdout.readline() == b"began\n"
        assert process.stdout.readline() == b"there\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=LONG_S)  # the items that are left sleep for longer
    assert b"KeyboardInterrupt" in said
