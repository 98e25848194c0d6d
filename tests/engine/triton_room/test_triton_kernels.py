"""The Triton kernels against the specification: on a CUDA device, or else in Triton's interpreter on the CPU.

The interpreter runs each kernel as numpy, slowly: sizes are small there, and just beyond the edges of a tile.
"""

import math
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import models
import tokenflock as flock
from interpreted import DEVICE, ON_DEVICE, torch
from tokenflock.engine.contract import Outcome, Task
from tokenflock.engine.torch.terms import lay_out
from tokenflock.engine.triton import ensembles, pairs
from tokenflock.engine.triton import sums as triton_sums
from tokenflock.engine.triton.pairs import VisibleRange, columns_of, sums_of_columns
from tokenflock.engine.triton.products import product_sums
from tokenflock.engine.triton.wide import wide_sums
from tokenflock.model import flow_at, pulls
from tokenflock.schemes import TSIT5
from tolerances import close
from waiting import LONG_S

N = 70 if not ON_DEVICE else 300
SERVED = [c for c in models.every_model_option() if c.model.space != "rescaled" and not math.isinf(c.model.beta)]
# One of a kind in the interpreter; a device does them all.
FEW = {
    *("causal-d2", "full-d3", "window-both-d5-heads", "count-general-d5", "scaled-count-window-d3", "negative-form"),
    *("beta-zero-causal-d2", "alibi-heads", "causal-d20", "count-d20", "beta-huge-d20", "euclidean-count-d3"),
}
CASES = [c for c in SERVED if ON_DEVICE or c.name in FEW]


@pytest.fixture(autouse=True)
def _few_programs(monkeypatch):
    """In the interpreter every program costs the same, so few large ones are taken."""
    if not ON_DEVICE:
        tile = {"BM": 64, "BN": 16, "WIDE": 4, "UNROLL": 1, "num_warps": 4}
        monkeypatch.setattr(pairs, "tile_for", lambda *_: tile)
        monkeypatch.setattr(ensembles, "LARGE_TILE", {"BM": 32, "BN": 16, "num_warps": 1})


def put(array, dtype):
    return torch.as_tensor(np.ascontiguousarray(array), dtype=getattr(torch, dtype), device=DEVICE)


def host(tensor):
    return tensor.double().cpu().numpy()


def test_the_cases_are_there():
    assert {c.name for c in SERVED} >= FEW


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_pull_and_mass_are_those_of_the_specification(case, dtype):
    model = case.model
    x = models.tokens_for(model, N, seed=1).astype(dtype).astype(float)
    terms = lay_out(model, dtype, DEVICE)
    if model.frozen is not None or (model.dim > triton_sums.FEW and dtype == "float64"):
        assert not triton_sums.supports(terms)  # plain torch does these
        return
    assert triton_sums.supports(terms)
    found = triton_sums.pair_sums(terms, put(x[None], dtype))
    pull, mass = pulls(model, x, flow_at(model, 0.0))
    tolerance = close(dtype, N, models.amplification(model, x))
    assert_allclose(host(found[0][0]), pull, **tolerance)
    assert_allclose(host(found[1][0]), mass, **tolerance)


@pytest.mark.parametrize("name", ["beta-infinite-full-d3", "rescaled-d2", "frozen-d2", "masses-causal-d2"])
def test_what_no_kernel_does_is_declined(name):
    model = next(c.model for c in models.every_model_option(4) if c.name == name)
    assert not triton_sums.supports(lay_out(model, "float64", DEVICE))


@pytest.mark.parametrize("n", [1, 31, 33, 129] + ([1000, 1025] if ON_DEVICE else []))
@pytest.mark.parametrize("mask", ["causal", "full", flock.Window(5), flock.Window(40, causal=False)], ids=str)
def test_edges_of_tiles_and_windows(mask, n):
    model = flock.Model(dim=2, beta=7.0, mask=mask)
    x = flock.uniform(n, 2, seed=n)
    found = triton_sums.pair_sums(lay_out(model, "float64", DEVICE), put(x[None], "float64"))
    pull, _ = pulls(model, x, flow_at(model, 0.0))
    assert_allclose(host(found[0][0]), pull, **close("float64", n, models.amplification(model, x)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("general", [False, True])
def test_tokens_that_have_met_do_not_pull_each_other(general, dtype):
    # Differences come first: the pull of a cluster on itself is exactly 0, so float32 runs do not drift.
    x = np.repeat(flock.uniform(2, 2, seed=4)[:1], 40, axis=0)
    query = np.eye(2) + 0.1 * np.eye(2)[::-1] if general else None
    model = flock.Model(dim=2, beta=30.0, query=query)
    pull = triton_sums.pair_sums(lay_out(model, dtype, DEVICE), put(x[None], dtype)).pull
    assert_array_equal(host(pull), 0.0)


@pytest.mark.parametrize("dim", [2, 20])
def test_a_tiny_pull_keeps_its_digits(dim):
    # Two tokens that hardly see each other: 1e-20 and less, which a sum without differences would lose.
    x = np.zeros((2, dim))
    x[0, 0], x[1, 0], x[1, 1] = 1.0, math.cos(1.5), math.sin(1.5)
    model = flock.Model(dim=dim, beta=50.0)
    found = triton_sums.pair_sums(lay_out(model, "float32", DEVICE), put(x[None], "float32")).pull
    pull, _ = pulls(model, x.astype(np.float32).astype(float), flow_at(model, 0.0))
    assert 0 < np.abs(pull).max() < 1e-19
    assert_allclose(host(found[0]), pull, rtol=50 * 8 * np.finfo(np.float32).eps, atol=1e-30)


def test_runs_and_splits_do_not_mix(monkeypatch):
    # Few rows: the columns are split among programs, and the parts added in a fixed order.
    monkeypatch.setattr(pairs, "LEAST", 40)
    x = flock.uniform(100, 3, seed=1, runs=2)
    model = flock.Model(dim=3, beta=5.0, query=np.diag([1.0, -0.5, 2.0]))
    terms = lay_out(model, "float64", DEVICE)
    both = triton_sums.pair_sums(terms, put(x, "float64"))[0]
    for run in range(2):
        expected, _ = pulls(model, x[run], flow_at(model, 0.0))
        assert_allclose(host(both[run]), expected, **close("float64", 100, models.amplification(model, x[run])))
    assert torch.equal(both, triton_sums.pair_sums(terms, put(x, "float64"))[0])


def slow_sums(x, u, reach, slope):
    """p, z and top of model-free queries u, in float64, as their definition."""
    i = torch.arange(x.shape[1], device=x.device)
    s = u @ x[:, None].mT - slope * (i[:, None] - i).abs()
    s = s.masked_fill((i < i[:, None] - reach.back) | (i > i[:, None] + reach.ahead), -math.inf)
    top = s.amax(dim=-1)
    w = torch.exp2(s - top[..., None])
    return w @ x[:, None] - w.sum(dim=-1)[..., None] * x[:, None], w.sum(dim=-1), top


@pytest.mark.parametrize("sums", [product_sums, wide_sums])
@pytest.mark.parametrize(("reach", "slope"), [(VisibleRange(999, 0), 0.0), (VisibleRange(9, 9), 0.05)])
def test_products_have_float32_accuracy_and_bfloat16_only_by_name(sums, reach, slope):
    # Beyond one block of rows; one program a row is slow in the interpreter.
    (n, runs), d = (150, 2) if ON_DEVICE or sums is product_sums else (30, 1), 20
    x = flock.uniform(n, d, seed=0, runs=runs)
    u = 5.0 * np.random.default_rng(1).standard_normal((runs, 2, n, d))
    x, u = put(x, "float32"), put(u, "float32")
    more = {"pairs": 20 * n} if sums is wide_sums else {}
    expected = slow_sums(x.double(), u.double(), reach, slope)
    got = sums(x, u, reach, slope, **more)
    logit = float((u.norm(dim=-1) * x.norm(dim=-1)[:, None]).max())  # its rounding is a relative error of the weights
    for mine, right in zip(got, expected, strict=True):
        assert_allclose(host(mine), host(right), **close("float32", n, logit))
    coarse = sums(x, u, reach, slope, "bfloat16", **more)[0]
    assert (coarse - expected[0]).norm() / expected[0].norm() > 1e-4
    assert (got[0] - expected[0]).norm() / expected[0].norm() < 1e-6


def test_numbers_beyond_float16_are_scaled():
    n, d = 40, 16
    source = np.random.default_rng(2)
    x = put(1e6 * source.standard_normal((1, n, d)), "float32")
    u = put(1e-6 * source.standard_normal((1, 1, n, d)), "float32")
    for mine, right in zip(
        product_sums(x, u, VisibleRange(n, n)), slow_sums(x.double(), u.double(), VisibleRange(n, n), 0.0), strict=True
    ):
        assert_allclose(host(mine), host(right), rtol=1e-4, atol=1e-5 * float(right.abs().max()))


def test_exponentials_of_float64_have_all_digits():
    # The weights of two tokens at growing distance, down to where they vanish. These distances have exact squares.
    for gap in np.concatenate([np.arange(0, 511, 1 if ON_DEVICE else 50) / 16, [32.0, 40.0, 1e3]]):
        x = columns_of(put([[[0.0], [gap]]], "float64"))
        _, p, _ = sums_of_columns(x, 2, VisibleRange(2, 2))
        w = 2.0 ** -(gap**2) if gap**2 < 1022 else 0.0
        assert_allclose(host(p)[0, 0], [w * gap, -w * gap], **close("float64", 1) | {"atol": 0.0})


# ---- whole runs


def run_on(model, starts, times, dtype="float64", patience=10**9, rtol=1e-6, atol=1e-9):
    task = Task(model, float(times[-1]), TSIT5, None, rtol, atol, dtype, 0)
    ensemble = ensembles.begin(lay_out(model, dtype, DEVICE), task, starts)
    frames = np.full((len(starts), len(times), *starts.shape[1:]), np.nan, dtype=dtype)
    filled = np.zeros(len(starts), dtype=np.int64)
    while any(o is None for o in ensemble.outcomes):
        before = ensemble.evaluations.sum()
        ensemble.advance(times, frames, filled, patience)
        assert ensemble.evaluations.sum() > before or None not in ensemble.outcomes
    assert (filled == len(times)).all()
    return task, ensemble, frames


ENSEMBLES = {
    "near": flock.Model(dim=2, beta=9.0),
    "general": flock.Model(
        dim=3, beta=2.0, mask="full", query=np.diag([1.0, -1.0, 2.0]), value=np.diag([1.0, 0.5, -1])
    ),
    "window": flock.Model(dim=2, beta=1.0, mask=flock.Window(3)),
    "negative": flock.Model(dim=2, beta=-3.0),
}


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize("many", [False, True] if ON_DEVICE else [False])
def test_an_ensemble_takes_the_steps_of_the_cpu_engine(name, many, cpu, monkeypatch):
    model, big = ENSEMBLES[name], ON_DEVICE
    if many:
        monkeypatch.setattr(ensembles, "MANY", 1)
    starts = flock.uniform(150 if big else 6, model.dim, seed=3, runs=5 if big else 1)
    times = np.linspace(0.0, 8.0 if big else 0.3, 9 if big else 3)
    task, ensemble, frames = run_on(model, starts, times, rtol=1e-6 if big else 1e-5)
    for run, start in enumerate(starts):
        stepper, expected = cpu.begin(task, start), np.empty_like(frames[run])
        stepper.advance(times, expected, 10**9)
        assert ensemble.outcomes[run] == stepper.outcome == Outcome.DONE
        assert (ensemble.steps[run], ensemble.rejected[run]) == (stepper.steps, stepper.rejected)
        grown = models.amplification(model, start) * stepper.steps
        assert_allclose(frames[run], expected, **close("float64", len(start), grown))


def test_a_paused_run_has_the_bits_of_a_whole_one():
    starts, times = flock.uniform(5, 2, seed=1, runs=1), np.array([0.0, 0.3])
    whole, parts = (run_on(ENSEMBLES["near"], starts, times, "float32", p, 1e-4, 1e-6) for p in (10**9, 7))
    assert_array_equal(whole[2], parts[2])
    assert whole[1].evaluations[0] == parts[1].evaluations[0]


def test_tokens_that_meet_end_a_run():
    start = flock.geometry.circle(np.array([0.1, 0.1 + 1e-10]))[None]
    _, ensemble, frames = run_on(flock.Model(dim=2, mask="full"), start, np.array([0.0, 1.0, 5.0]))
    assert ensemble.outcomes == [Outcome.COLLAPSED]
    assert_array_equal(frames[0, 1], frames[0, 2])


def test_a_stop_flag_ends_a_run_and_keeps_what_was_done():
    starts, times = flock.uniform(5, 2, seed=1, runs=2), np.array([0.0, 0.3])
    task = Task(ENSEMBLES["near"], 0.3, TSIT5, None, 1e-6, 1e-9, "float64", 0)
    stop = np.ones(1, dtype=np.uint8)
    ensemble = ensembles.begin(lay_out(task.model, "float64", DEVICE), task, starts, stop=stop)
    frames, filled = np.full((2, 2, 5, 2), np.nan), np.zeros(2, dtype=np.int64)
    ensemble.advance(times, frames, filled, 10**9)
    assert ensemble.outcomes == [Outcome.INTERRUPTED] * 2


@pytest.mark.parametrize(
    "options",
    [
        {"space": "euclidean"},
        {"layer_norm": "pre"},
        {"noise": 0.1},
        {"normaliser": "count"},
        {"bias": flock.Alibi(0.1)},
        {"masses": np.ones(4)},
    ],
    ids=str,
)
def test_ensembles_decline_what_they_do_not_do(options):
    model = flock.Model(dim=2, **options)
    task = Task(model, 1.0, TSIT5, None, 1e-6, 1e-9, "float64", 0)
    assert ensembles.begin(lay_out(model, "float64", DEVICE), task, np.zeros((1, 4, 2))) is None


def test_importing_the_package_loads_no_triton():
    code = (
        "import sys, tokenflock, tokenflock.engine.choose; print([m for m in ('torch', 'triton') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONG_S)
    assert done.stdout.strip() == "[]"
