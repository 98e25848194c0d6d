"""No run reads memory that nobody wrote: with other rubbish in fresh memory every bit is the same.

Scratch space is made by np.empty in Python and in kernels. What is read from it before it is written depends on what
the process did before, and may look right for years.
"""

import ctypes
import platform
from contextlib import contextmanager

import numpy as np
import pytest

import tokenflock as flock
from models import every_model_option, tokens_for
from runs import followed, task
from tokenflock.engine.choose import engine_named
from tokenflock.engine.compiled.declare import kernel
from tokenflock.engine.implicit import full
from tokenflock.engine.traits import no_implicit
from tokenflock.options import Window

PERTURB = -6  # M_PERTURB of mallopt: fresh memory is filled with the complement of a byte, freed memory with the byte
MODELS = [c for c in every_model_option(13) if engine_named("cpu").supports(c.model, "float64") is None]
BYTES = (255, 127, 128)  # freed memory holds nan, or 1e306; fresh memory 0, -1e-306 or 1e306
POISON = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc fills fresh memory on demand")


SMALL, KEPT = 1040, 7  # bytes: pieces of memory up to this, so many of each size, are kept as they were freed


@kernel(allocates=True)
def first_seen(n, at):
    """What stands in an array that nobody wrote."""
    return np.empty(n)[at]


@contextmanager
def rubbish(byte):
    """Whatever is allocated or freed meanwhile is filled, and so are the pieces that lie ready."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = (
        ctypes.c_void_p,
        [ctypes.c_size_t],
        [ctypes.c_void_p],
    )
    for size in range(16, SMALL, 16):
        pieces = [libc.malloc(size) for _ in range(KEPT)]
        for piece in pieces:
            ctypes.memset(piece, byte, size)
        for piece in pieces:
            libc.free(piece)
    assert libc.mallopt(PERTURB, byte) == 1
    try:
        yield
    finally:
        libc.mallopt(PERTURB, 0)


@POISON
@pytest.mark.parametrize("byte", BYTES)
def test_fresh_memory_is_filled_on_demand(byte):
    first_seen(40, 20)
    fill = np.full(8, byte, dtype=np.uint8).view(float)[0]
    with rubbish(byte):
        made = np.empty(1 << 16, dtype=np.uint8)
        seen = first_seen(40, 20)
    assert np.bincount(made).argmax() in (byte, 255 - byte)
    assert np.array_equal([seen], [fill], equal_nan=True)  # in a kernel, in a piece that lay ready


def assert_same_bits(run):
    """run() gives frames; the first call compiles, and is not looked at."""
    run()
    usual = run()
    for byte in BYTES:
        with rubbish(byte):
            other = run()
        assert np.array_equal(usual, other, equal_nan=True)


@POISON
@pytest.mark.slow
@pytest.mark.parametrize("named", MODELS, ids=str)
def test_explicit_steps_read_what_was_written(named):
    x, work = tokens_for(named.model, 13), task(named.model)
    assert_same_bits(lambda: followed(engine_named("cpu"), work, x)[1])


@POISON
@pytest.mark.slow
@pytest.mark.parametrize("named", [m for m in MODELS if no_implicit(m.model, "float64") is None], ids=str)
def test_implicit_steps_read_what_was_written(named):
    x, work = tokens_for(named.model, 13), task(named.model, "rosenbrock", t_end=50.0)
    assert_same_bits(lambda: followed(engine_named("cpu"), work, x, np.array([1.0, 50.0]))[1])


@POISON
@pytest.mark.parametrize("mask", ["causal", "full", Window(9), Window(9, causal=False)], ids=str)
@pytest.mark.parametrize("dim", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("libraries", [False, True])
def test_runs_with_bodies_read_what_was_written(mask, dim, libraries, monkeypatch):
    """libraries: J of tokens that see later ones is not one matrix in compiled code."""
    if libraries:
        monkeypatch.setattr("tokenflock.engine.implicit.dense.FEW", 0)
        monkeypatch.setattr(full, "DENSE", 30)
    model, x = flock.Model(dim=dim, beta=32.0, mask=mask), flock.uniform(30, dim, seed=1)
    work, times = task(model, "rosenbrock", t_end=1e12), np.geomspace(1.0, 1e12, 13)
    assert_same_bits(lambda: followed(engine_named("cpu"), work, x, times)[1])
