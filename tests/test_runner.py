"""How far the runs are, on a terminal and to a function."""

import io
import re

import numpy as np
import pytest

import tokenflock as flock
from tokenflock import runner
from tokenflock.runner import Progress


class Terminal(io.StringIO):
    """A place to draw a bar."""

    def isatty(self):
        return True


class Clock:
    """A clock that goes on by a second whenever it is asked."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        self.now += 1.0
        return self.now


@pytest.fixture
def drawn(monkeypatch):
    """All that a bar of runs to t_end has shown when they are at the times `reached`."""

    def bar(t_end, reached):
        terminal = Terminal()
        monkeypatch.setattr("sys.stderr", terminal)  # here: pytest puts its own there between a fixture and a test
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setattr(runner, "BAR_AFTER_S", 0.0)
        monkeypatch.setattr(runner, "time", Clock())
        progress = Progress(None, t_end)
        progress.begin(len(reached))
        for r, t in enumerate(reached):
            progress.show(r, t)
        progress.end()
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())

    return bar


def test_the_bar_of_a_long_run_shows_the_time_and_decades_a_second(drawn):
    text = drawn(1e30, [1e15])
    assert "50%" in text
    assert "t = 1.0e+15, 15 decades/s" in text, "15 decades after one second"


def test_several_long_runs_show_the_middle_time(drawn):
    text = drawn(1e30, [1e10, 1e20])
    assert "50%" in text
    assert "t = 1.0e+15, 7.5 decades/s" in text


def test_the_bar_of_a_short_run_shows_its_share_alone(drawn):
    text = drawn(9999.0, [2500.0])
    assert "25%" in text
    assert "decades" not in text
    assert "t =" not in text


def test_a_run_beyond_its_expected_end_shows_where_it_is(drawn):
    text = drawn(1e20, [1e25])
    assert "100%" in text
    assert "t = 1.0e+25" in text


def test_a_function_is_told_the_share_in_log_time():
    told = []
    flock.simulate(flock.Model(dim=2, beta=9.0), flock.uniform(6, 2), 1e20, scheme="rosenbrock", progress=told.append)
    assert told[-1] == 1.0
    progress = Progress(told.append, 1e4)
    progress.begin(1)
    progress.show(0, 99.0)
    assert told[-1] == pytest.approx(np.log(100.0) / np.log1p(1e4))
