"""The CPU engine: edges of its kernels, what it compiles, and threads. What every engine promises: test_contract.py."""

import hashlib
import importlib
import importlib.util
import math
import os
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import models
import tokenflock as flock
import tokenflock.engine
from runs import followed, task
from tokenflock.engine.compiled import pointers
from tokenflock.engine.explicit import velocity as cpu_kernels
from tokenflock.engine.explicit.terms import PRODUCTS_FROM_DIM, kernel_for
from tokenflock.model import velocity
from tolerances import close

MODELS = models.every_model_option()
N = 37  # more than one register of either dtype, and odd


# ---- the velocity


def test_the_list_of_models_reaches_every_kernel():
    found = {kernel_for(c.model) for c in MODELS}
    assert {"near2", "near3", "mutual", "general", "rare", "products", "mutual_products", "leader_biased"} <= found
    by_dimension = {name.rstrip("0123456789") for name in found}
    assert {"near", "general", "leader"} <= by_dimension


@pytest.mark.parametrize(
    "dim", [pytest.param(d, marks=[] if d in (4, 9) else pytest.mark.slow) for d in range(2, PRODUCTS_FROM_DIM + 1)]
)
def test_the_kernels_of_every_dimension_are_right(dim, cpu):
    """Coordinates are held in registers by a kernel for each dimension, up to where products take over."""
    draw = np.random.default_rng(dim)
    query, value = draw.standard_normal((2, dim, dim)) / np.sqrt(dim)
    for space in ("sphere", "rescaled"):
        for mask in ("full", "causal", flock.Window(5, causal=False)):
            for options in ({"beta": 3.0}, {"query": query, "value": value, "beta": 2.0}):
                model = flock.Model(dim=dim, mask=mask, space=space, **options)
                x = models.tokens_for(model, 41, seed=dim)
                tolerance = close("float64", 41, models.amplification(model, x))
                assert_allclose(cpu.velocity(model, x), velocity(model, x), **tolerance, err_msg=kernel_for(model))


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 130, 257, 401])
@pytest.mark.parametrize(
    "case", [c for c in MODELS if c.name.startswith(("causal-", "full-", "window-", "general-d"))], ids=str
)
def test_cpu_velocity_is_right_at_the_edges_of_registers_and_tiles(case, n, cpu):
    x = models.tokens_for(case.model, n, seed=2)
    tolerance = close("float64", n, models.amplification(case.model, x))
    assert_allclose(cpu.velocity(case.model, x), velocity(case.model, x), **tolerance)


@pytest.mark.parametrize("n", [1, 2, 31, 33, 130])
def test_masses_are_right_at_the_edges_of_registers(n, cpu):
    for case in models.every_model_option(n):
        if case.model.masses is not None and cpu.supports(case.model, "float64") is None:
            x = models.tokens_for(case.model, n, seed=2)
            tolerance = close("float64", n, models.amplification(case.model, x))
            assert_allclose(cpu.velocity(case.model, x), velocity(case.model, x), **tolerance, err_msg=case.name)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("mask", ["full", "causal"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("dim", [1, 2, 3, 5, 20])
def test_rescaled_weights_at_late_times_are_a_hardmax_and_finite(dim, sign, mask, dtype, cpu):
    # At t = 60 the logits reach e^120: beyond float32, and beyond -1e30. Growing apart they leave one winner a row.
    model = flock.Model(dim=dim, space="rescaled", mask=mask, query=sign * np.eye(dim))
    hard = model.with_options(beta=np.inf)
    x = flock.cube(N, dim, seed=3)
    expected = velocity(hard, x)
    assert np.isfinite(velocity(model, x, 60.0)).all()
    assert_allclose(velocity(model, x, 60.0), expected, **close("float64", N, dim))
    assert_allclose(cpu.velocity(model, x, 60.0, dtype=dtype), expected, **close(dtype, N, dim))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_hardmax_shares_ties_that_differ_by_rounding(dtype, cpu):
    # Two tokens symmetric about the third are its largest logits, equal but for rounding.
    model = flock.Model(dim=2, beta=np.inf, mask="full", query=-np.eye(2))
    for tilt in np.linspace(0.0, 6.0, 50):
        x = flock.geometry.circle(np.array([-0.3, 0.3, 0.0]) + tilt)
        assert_allclose(velocity(model, x)[2], 0.0, **close("float64", 3))
        assert_allclose(cpu.velocity(model, x, dtype=dtype)[2], 0.0, **close(dtype, 3))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("options", [{}, {"bias": flock.Alibi(0.1)}], ids=["plain", "alibi"])
@pytest.mark.parametrize("dim", [2, 3, 5, 20])
def test_tokens_out_of_sight_have_no_weight_however_large_their_logit(dim, options, dtype, cpu):
    # A hidden token's logit may stand above the visible ones by more than a power of two can hold: that must not leak.
    x = flock.uniform(60, dim, seed=1).astype(dtype).astype(float)
    for beta in np.geomspace(50.0, 5e4, 25):
        model = flock.Model(dim=dim, beta=beta, query=models.ginibre(dim, 1), **options)
        got = cpu.velocity(model, x, dtype=dtype)
        assert_allclose(got, velocity(model, x), **close(dtype, 60, models.amplification(model, x)))


@pytest.mark.parametrize("dim", [2, 3])
def test_padding_has_no_weight_at_any_beta(dim, cpu):
    # Full attention has no mask against the padded columns: they must be far from every token, however large beta.
    x = flock.geometry.retract(np.vstack([np.ones(dim) + 1e-4 * np.eye(dim)[0], -np.eye(dim)[0]]))
    where_they_stand = 2 * math.log(2) * dim * cpu_kernels.PADDING_AT**2
    for beta in (*np.geomspace(1e2, 1e12, 41), where_they_stand):
        model = flock.Model(dim=dim, beta=beta, mask="full")
        assert_allclose(cpu.velocity(model, x), 0.0, **close("float64", 2))


# ---- compilation, threads


def _compiled():
    """How many pointers there are, and for how many signatures functions have been compiled."""
    names = [m.name for m in pkgutil.walk_packages(tokenflock.engine.__path__, "tokenflock.engine.")]
    places = [importlib.import_module(name) for name in names]
    found = (f for place in places for f in vars(place).values() if not isinstance(f, type))
    dispatchers = {id(f): f for f in found if hasattr(f, "nopython_signatures")}
    return len(pointers.POINTERS), sum(len(f.signatures) for f in dispatchers.values())


def test_nothing_compiles_twice(cpu):
    x = flock.uniform(12, 2, seed=0)
    followed(cpu, task(flock.Model(dim=2)), x)
    followed(cpu, task(flock.Model(dim=2, value=np.diag([1.0, 2.0]))), x)
    for options in ({"mask": "full"}, {"frozen": flock.Frozen(x[:2])}):  # they have pair kernels of their own
        followed(cpu, task(flock.Model(dim=2, **options)), x)
    cpu.velocity(flock.Model(dim=2), x)
    before = _compiled()
    assert before[1] > 0
    frozen = flock.Frozen(x[:2])
    for model in (
        flock.Model(dim=2, beta=7, mask="full"),
        flock.Model(dim=2, beta=7, mask=flock.Window(3)),
        flock.Model(dim=2, value=np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])),
        flock.Model(dim=2, value=np.eye(4)[::2, ::2], query=np.eye(2), key=np.eye(2, dtype=np.float32)),
        flock.Model(dim=2, value=np.diag([1.0, 2.0]), beta=np.float64(3), layer_norm="sqrt"),
        flock.Model(dim=2, beta=2, frozen=frozen, feedforward=flock.FeedForward(np.eye(2))),
    ):
        narrow = before
        for start in (x, x[::2], np.asfortranarray(x), x.astype(np.float32), np.broadcast_to(x[:1], (3, 2))):
            flock.simulate(model, flock.geometry.retract(start.astype(float)), 0.5, times=[0.1, 0.5])
            cpu.velocity(model, start)
            if start is x:  # a kernel that no model has used yet compiles now, once
                narrow = _compiled()
                assert narrow[0] == before[0]
        assert _compiled() == narrow, "a second compilation means that a dtype or a layout leaked in"


@pytest.mark.parametrize(
    "name",
    "causal-d2 window-both-d3 full-d2 full-d3 general-d2 general-d5 alibi-d2 rescaled-d2 rescaled-d5 rescaled-alibi "
    "rescaled-d20".split(),
)
def test_wide_kernels_have_the_bits_of_narrow_ones(name, cpu):
    model = next(c.model for c in MODELS if c.name == name)
    x = models.tokens_for(model, 101, seed=9)
    work = task(model, "heun", dt=0.5)
    assert_array_equal(followed(cpu, work, x, wide=True)[1], followed(cpu, work, x, wide=False)[1])


@pytest.mark.parametrize("dim", [2, 3, 5, 20])
@pytest.mark.parametrize("mask", ["causal", "full"])
def test_helpers_of_layers_look_where_their_leader_does(dim, mask, cpu):
    """The short velocity has scaled tokens, a layer of the same model has not."""
    model, x = flock.Model(dim=dim, beta=4.0, mask=mask), flock.uniform(300, dim, seed=3)
    work, times = task(model, "layers", dt=0.1, t_end=5.0), np.array([5.0])
    assert_array_equal(followed(cpu, work, x, times, wide=True)[1], followed(cpu, work, x, times, wide=False)[1])


THREADED = """
import hashlib
import tokenflock as flock
bits = hashlib.sha256()
cases = [
    (flock.Model(dim=2, beta=64.0), flock.uniform(400, 2), {}),
    (flock.Model(dim=3, beta=9.0, mask="full"), flock.uniform(300, 3), {}),
    (flock.Model(dim=3, beta=9.0, mask=flock.Window(50)), flock.uniform(300, 3), {}),
    (flock.Model(dim=5, beta=4.0, mask="full"), flock.uniform(200, 5), {"scheme": "layers", "dt": 0.5}),
    (flock.Model(dim=2, beta=64.0), flock.uniform(50, 2, runs=5), {}),
    (flock.Model(dim=2, beta=4.0, noise=0.3), flock.uniform(20, 2, runs=3), {"dt": 0.1, "seed": 4}),
    (flock.Model(dim=20, beta=4.0), flock.uniform(140, 20), {}),
    (flock.Model(dim=20, beta=4.0), flock.uniform(140, 20, runs=2), {}),
]
for model, start, options in cases:
    run = flock.simulate(model, start, 2.0, times=[1.0, 2.0], **options)
    bits.update(run.x.values.tobytes())
print(bits.hexdigest())
"""


def in_another_process(program, threads):
    environment = os.environ | {"TOKENFLOCK_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_number_of_threads_does_not_change_a_bit():
    # One, as many as there are here, and more than there are anywhere.
    digests = {threads: in_another_process(THREADED, threads) for threads in (1, 2, 7)}
    assert len(set(digests.values())) == 1, digests
    assert len(digests[1]) == 2 * hashlib.sha256().digest_size


TOGETHER = """
from concurrent.futures import ThreadPoolExecutor
import tokenflock as flock
start = flock.uniform(300, 2, runs=6)
follow = lambda x: flock.simulate(flock.Model(dim=2, beta=64.0), x, 5.0, times=[5.0]).x.values.tobytes()
one_by_one = [follow(x) for x in start]
with ThreadPoolExecutor(6) as pool:
    assert list(pool.map(follow, start)) == one_by_one
print("same")
"""


def test_large_runs_may_go_on_side_by_side():
    assert in_another_process(TOGETHER, 2) == "same"


CACHED = """
import importlib, pkgutil
import tokenflock as flock, tokenflock.engine
flock.simulate(flock.Model(dim=2), flock.uniform(360, 2), 0.1, times=[0.1])
names = [m.name for m in pkgutil.walk_packages(tokenflock.engine.__path__, "tokenflock.engine.")]
found = (f for n in names for f in vars(importlib.import_module(n)).values() if not isinstance(f, type))
functions = {id(f): f for f in found if hasattr(f, "stats")}
print(sum(sum(f.stats.cache_misses.values()) for f in functions.values()))
"""


def test_a_second_process_compiles_nothing():
    # Otherwise every process waits for seconds, and leaves one more file in the cache.
    in_another_process(CACHED, 2)
    assert in_another_process(CACHED, 2) == "0"
