"""Random sweeps, killed and resumed: one here, 24 minutes of the processors with `make test-all` (soak.py)."""

import os

import pytest
from soak import one_sweep, soak

pytest.importorskip("resource")
needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="workers are found in /proc")


@needs_proc
def test_a_random_sweep_that_is_killed_is_gone_on_with(tmp_path):
    counts = {}
    one_sweep(tmp_path, 1, counts, kills=1)
    assert counts["sweeps"] == 1


@needs_proc
@pytest.mark.slow
def test_a_soak_of_24_minutes(tmp_path):
    counts = soak(tmp_path, 24 * 60.0, first=1_000)
    print(counts)
    assert counts["processor_s"] >= 24 * 60
    assert counts["resumed"] >= 20
