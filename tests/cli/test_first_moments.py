"""The command before it has begun: Ctrl-C while libraries are imported, a full disk for its answer, odd terminals."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from waiting import LONG_S

SIMULATE = ("simulate", "--n", "5", "--d", "2", "--T", "1", "--engine", "reference")


def start(*words, **options):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | options.pop("env", {})
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    command = [sys.executable, "-m", "tokenflock", *words]
    return subprocess.Popen(command, env=environment, text=True, encoding="utf-8", **pipes)


# The first zero byte: the command has Ctrl-C in its hands; before, Python has. The second: the command has ended.
ZEROS = r"""
import atexit, os, signal
from tokenflock.__main__ import main
take = signal.signal
def told(*words):
    before = take(*words)
    os.write(1, b"\0")
    signal.signal = take
    return before
signal.signal = told
atexit.register(os.write, 1, b"\0")
main()
"""


def interrupted(waits, zeros=1):
    """Ctrl-C so many seconds after a zero byte."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for wait in waits:
        command = [sys.executable, "-c", ZEROS, *SIMULATE]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(zeros):
            while (told := process.stdout.read(1)) not in (b"\0", b""):
                pass
            assert told == b"\0", process.communicate(timeout=LONG_S)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=LONG_S)
        assert b"Traceback" not in said, said.decode()
        assert b"Exception ignored" not in said, said.decode()
        assert process.returncode in (0, 130), said.decode()


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to all processes of a terminal")
def test_ctrl_c_while_importing_ends_without_a_traceback():
    interrupted([0.6 * k / 8 for k in range(8)])


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to all processes of a terminal")
def test_ctrl_c_at_many_moments_ends_without_a_traceback():
    """On a busy machine a command takes longer, on a quiet one it has ended before the last of them."""
    interrupted([2.0 * k / 100 for k in range(100)])


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to all processes of a terminal")
def test_ctrl_c_when_a_command_has_ended_changes_nothing():
    """The second zero is the first thing that Python does on its way out, the last that it asks of anybody."""
    interrupted([0.0, 0.01], zeros=2)


def test_an_import_that_is_interrupted_is_told():
    """At one moment for certain: the first library that the command line imports."""
    code = (
        "import signal, sys\nfrom tokenflock import __main__\n"
        "class Press:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer':\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Press())\n__main__.main()\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=LONG_S
    )
    assert (done.returncode, done.stderr) == (130, "Interrupted: nothing was written.\n")


def test_an_import_in_c_that_makes_another_error_of_ctrl_c_is_told_too():
    code = (
        "import signal, sys\nfrom tokenflock import __main__\n"
        "class Press:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'xarray':\n"
        "            try:\n"
        "                signal.raise_signal(signal.SIGINT)\n"
        "            except KeyboardInterrupt:\n"
        "                raise ImportError('multiarray failed to import') from None\n"
        "sys.meta_path.insert(0, Press())\n__main__.main()\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code, *SIMULATE],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG_S,
    )
    assert (done.returncode, done.stderr) == (130, "Interrupted: nothing was written.\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
@pytest.mark.parametrize("words", [("--help",), ("simulate", "--help"), ("--version",), SIMULATE])
def test_an_answer_that_cannot_be_written_is_a_sentence(words):
    with open("/dev/full", "w") as full:
        process = start(*words, stdout=full)
    _, said = process.communicate(timeout=LONG_S)
    assert process.returncode == 1
    assert said.startswith("error: ")
    assert "No space left on device" in said
    assert said.count("\n") == 1


ODD = ["COLUMNS=²", "LINES=²", "TERMINAL_WIDTH=abc", "COLUMNS=99999999999999999999", "COLUMNS=-1", "TERM=²", "TERM="]


@pytest.mark.parametrize("odd", [*ODD, "FORCE_COLOR=²", "NO_COLOR=²", "COLORTERM=²", "JUPYTER_COLUMNS=²"])
def test_any_terminal_will_do(odd):
    name, _, value = odd.partition("=")
    processes = [start(*words, env={name: value}) for words in (("--help",), SIMULATE)]
    for process in processes:
        told, said = process.communicate(timeout=LONG_S)
        assert process.returncode == 0, said
        assert "Traceback" not in said
        assert told


def test_a_width_that_can_be_is_kept():
    wide, narrow = (start("--help", env={"COLUMNS": width}).communicate(timeout=LONG_S)[0] for width in ("120", "60"))
    assert max(map(len, wide.splitlines())) > 80 > max(map(len, narrow.splitlines()))
