"""Being here puts tests/ on the path, so that every test can import `models` and `tolerances`."""

import signal

import pytest

from tokenflock.engine.choose import engine_named
from waiting import Guard

GUARD = pytest.StashKey[Guard]()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell has put the tests into the background. Commands that tests start would ignore Ctrl-C as well.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    config.stash[GUARD] = Guard()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    item.config.stash[GUARD].begin("slow" in item.keywords)
    try:
        return (yield)
    finally:
        item.config.stash[GUARD].end()


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node):
    if isinstance(node, pytest.Item):  # pytest has just called the guard off; what a test leaves may hang as well
        node.config.stash[GUARD].begin("slow" in node.keywords)


def pytest_unconfigure(config):
    config.stash[GUARD].leave()


@pytest.fixture(scope="session")
def cpu():
    """The compiled engine."""
    return engine_named("cpu")


@pytest.fixture(scope="session")
def reference():
    """The specification: plain numpy."""
    return engine_named("reference")
