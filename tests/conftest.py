"""Being here puts tests/ on the path, so that every test can import `models` and `tolerances`."""

import pytest

from tokenflock.engine.choose import engine_named


@pytest.fixture(scope="session")
def cpu():
    """The compiled engine."""
    return engine_named("cpu")


@pytest.fixture(scope="session")
def reference():
    """The specification: plain numpy."""
    return engine_named("reference")
