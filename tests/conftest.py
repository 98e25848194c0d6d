"""Being here puts tests/ on the path, so that every test can import `models` and `tolerances`."""

import signal

import pytest

from tokenflock.engine.choose import engine_named

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell has put the tests into the background. Commands that tests start would ignore Ctrl-C as well.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def cpu():
    """The compiled engine."""
    return engine_named("cpu")


@pytest.fixture(scope="session")
def reference():
    """The specification: plain numpy."""
    return engine_named("reference")
