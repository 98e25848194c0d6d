"""The experiment of benchmarks/gpu_tensor.py against the definition: on a CUDA device, or in Triton's interpreter."""

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tokenflock as flock
from interpreted import DEVICE, torch
from tokenflock.engine.gpu_pairs import Reach
from tolerances import close

EPS = float(np.finfo(np.float32).eps)


def load():
    """The script as a module: benchmarks/ is no package."""
    path = Path(__file__).parents[1] / "benchmarks" / "gpu_tensor.py"
    spec = importlib.util.spec_from_file_location("gpu_tensor", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # it takes what it measures with from its neighbour
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


gpu_tensor = load()


def sums(x, b, reach, **tile):
    z, p = gpu_tensor.tensor_sums(torch.as_tensor(x, dtype=torch.float32, device=DEVICE), b, reach, **tile)
    return z.double().cpu().numpy(), p.double().cpu().numpy()


def slow_sums(x, b, reach):
    """z and p of float32 tokens (runs, n, d) in float64, as their definition."""
    x = np.asarray(x, dtype=np.float32).astype(float)
    i = np.arange(x.shape[1])
    gaps = x[:, None] - x[:, :, None]
    w = np.exp(b * np.einsum("rijd,rid->rij", gaps, x))
    w = w * ((i >= i[:, None] - reach.back) & (i <= i[:, None] + reach.ahead))
    return w.sum(axis=2), np.einsum("rij,rijd->rdi", w, gaps)


def assert_sums(x, b, reach):
    """Masses, and pulls over their masses. Exponents b <x_i, x_j> are rounded, which is what multiplies eps."""
    (z, p), (mass, pull) = sums(x, b, reach), slow_sums(x, b, reach)
    tolerance = close("float32", x.shape[1], 1 + b * gpu_tensor.LOG2E)
    assert_allclose(z, mass, **tolerance)
    assert_allclose(p / z[:, None], pull / mass[:, None], **tolerance)


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("b", [0.0, 9.0, 64.0])
def test_sums_are_those_of_the_definition(d, b):
    assert_sums(flock.uniform(130, d, seed=3)[None], b, Reach(130, 0))


@pytest.mark.parametrize("n", [1, 63, 65, 129])
@pytest.mark.parametrize("reach", [Reach(999, 0), Reach(999, 999), Reach(4, 0), Reach(39, 39)], ids=str)
def test_edges_of_tiles_and_windows(n, reach):
    assert_sums(flock.uniform(n, 3, seed=n)[None], 7.0, reach)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_tokens_that_have_met_do_not_pull_each_other(d):
    x = np.repeat(flock.uniform(2, d, seed=4)[None, :1], 40, axis=1)
    assert_array_equal(sums(x, 30.0, Reach(40, 0))[1], 0.0)


def test_a_tiny_pull_keeps_its_digits():
    x = np.array([[[1.0, 0.0], [math.cos(1.5), math.sin(1.5)]]])
    _, p = sums(x, 50.0, Reach(2, 2))
    right = slow_sums(x, 50.0, Reach(2, 2))[1]
    assert 0 < np.abs(right).max() < 1e-19
    assert_allclose(p, right, rtol=50 * 8 * EPS, atol=1e-30)


def test_runs_splits_and_polynomials_change_nothing(monkeypatch):
    x = flock.uniform(260, 2, seed=1, runs=2)
    plain = sums(x, 9.0, Reach(260, 0))
    monkeypatch.setattr("tokenflock.engine.gpu_pairs.LEAST", 64)
    split = sums(x, 9.0, Reach(260, 0))
    alone = sums(x[1:], 9.0, Reach(260, 0))
    by_polynomial = sums(x, 9.0, Reach(260, 0), POLY=1)
    for part in range(2):
        tolerance = close("float32", 260, plain[part].max())
        assert_allclose(split[part], plain[part], **tolerance)
        assert_allclose(by_polynomial[part], plain[part], **tolerance)
        assert_array_equal(alone[part][0], split[part][1])
    assert not np.array_equal(by_polynomial[0], split[0])


def cut_products(row, columns, extra):
    """<row, column> as a tensor core may add it: products are cut `extra` bits below the last of the largest."""
    terms = row * columns
    largest = (np.frexp(row)[1] + np.frexp(columns)[1] - 2).max(axis=1, where=terms != 0, initial=-200)
    grain = np.exp2(largest - 23.0 - extra)
    total = np.trunc(terms / grain[:, None]).sum(axis=1) * grain
    last = np.exp2(np.frexp(total)[1] - 24.0)
    return np.trunc(total / last) * last


@pytest.mark.parametrize("extra", [1, 2])
@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("spread", [1e-4, 10.0])
def test_products_that_cut_their_terms_leave_a_float32_pull(d, extra, spread):
    # Tokens all over the sphere, and in six clusters, where differences are small.
    n, b, source = 2000, 64.0, np.random.default_rng(d)
    x = source.standard_normal((6, d))[source.integers(0, 6, n)] + spread * source.standard_normal((n, d))
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    cols, rows = (t[0].double().numpy() for t in gpu_tensor.laid_out(torch.as_tensor(x)[None], b))
    mass, pull = slow_sums(x[None], b, Reach(n, n))
    for i in (0, n // 2, n - 1):
        s, *gaps = (cut_products(row, cols[:n], extra) for row in rows[i])
        w = np.exp2(s)
        found = np.array([(w * gap).sum() for gap in gaps]) / gpu_tensor.SCALE / w.sum()
        assert_allclose(found, pull[0, :, i] / mass[0, i], **close("float32", n))


@pytest.mark.parametrize("d", [2, 3, 4])
def test_parts_are_the_token(d):
    x = torch.as_tensor(flock.uniform(50, d, seed=2), dtype=torch.float32)
    parts = gpu_tensor.parts_of(x.double() * gpu_tensor.SCALE, 3)
    whole = sum(p.double() for p in parts) / gpu_tensor.SCALE
    assert_allclose(whole, x.double(), rtol=0, atol=2.0**-29)
    column, rows = gpu_tensor.table_of(d)
    assert (len(column), len(rows)) == (16, 16 * (d + 1))


def test_a_beta_beyond_float16_is_refused():
    with pytest.raises(ValueError, match=r"b = 50000 is too large for float16. Allowed: up to 27726"):
        sums(flock.uniform(3, 2)[None], 5e4, Reach(3, 0))
