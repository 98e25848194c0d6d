"""engine="gpu" from the front door: ensembles, devices, memory, waves, what is said of the device, bad input.

On the device that is there. What every engine promises is in tests/engine/test_contract.py.
"""

import re
import sys
import types
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tokenflock as flock
from tokenflock.cli import machine
from tokenflock.engine import choose
from tokenflock.engine.contract import Task
from tokenflock.errors import EngineError, MissingExtra, SpecError, install_command
from tokenflock.schemes import TSIT5
from tolerances import within

torch = pytest.importorskip("torch", reason="the GPU engine needs torch")

from tokenflock.engine import gpu as gpu_module  # noqa: E402
from tokenflock.engine.torch import harmonic as torch_harmonic  # noqa: E402

CIRCLE = flock.Model(dim=2, beta=9.0)
START = flock.uniform(12, 2, seed=1)


def run(model=CIRCLE, start=START, t_end=2.0, **options):
    return flock.simulate(model, start, t_end, engine="gpu", progress=False, **options)


# ---- runs


def test_a_run_says_where_it_ran():
    data = run(t_end=0.1)
    assert data.attrs["engine"] == "gpu"
    assert data.attrs["torch"] == torch.__version__
    device = gpu_module.device_named()
    if device.type == "cuda":
        assert data.attrs["device"] == torch.cuda.get_device_name(device)
        assert "device_note" not in data.attrs
    else:
        assert data.attrs["device"] == "cpu"
        assert data.attrs["device_note"].startswith("engine='gpu' ran on the CPU: ")
    flock.trajectories.validate(data)
    assert "device" not in flock.simulate(CIRCLE, START, 0.1).attrs


def test_the_environment_chooses_the_device(monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_DEVICE", "cpu")
    data = run(t_end=0.1)
    assert data.attrs["device"] == "cpu"
    assert data.attrs["device_note"] == "engine='gpu' ran on the CPU: TOKENFLOCK_DEVICE=cpu."


def test_an_ensemble_is_begun_at_once_and_each_run_is_that_run_alone(monkeypatch):
    begun = []
    engine = choose.engine_named("gpu")
    whole = type(engine).begin_all
    monkeypatch.setattr(type(engine), "begin_all", lambda *a, **k: begun.append(a[2].shape) or whole(*a, **k))
    starts = flock.uniform(8, 2, seed=4, runs=6)
    data = run(start=starts)
    assert begun == [(6, 8, 2)]
    assert data["x"].shape == (6, 101, 8, 2)
    for r in (0, 5):
        alone = run(start=starts[r])
        assert int(data["steps"][r]) == alone.attrs["steps"]
        assert_allclose(data["x"][r], alone["x"], **within(1e-6, 1e-9, 1e-3))


def test_the_same_seed_gives_the_same_bits_and_again_repeats_them():
    noisy = flock.Model(dim=3, beta=4.0, noise=0.3)
    starts = flock.uniform(10, 3, seed=4, runs=3)
    first = run(noisy, starts, dt=0.1, seed=5)
    assert_array_equal(run(noisy, starts, dt=0.1, seed=5)["x"], first["x"])
    assert_array_equal(flock.simulation.again(first)["x"], first["x"])
    assert np.abs(run(noisy, starts, dt=0.1, seed=6)["x"] - first["x"]).max() > 0.1
    cpu = flock.simulate(noisy, starts, 2.0, dt=0.1, seed=5, engine="cpu")
    assert_allclose(first["x"], cpu["x"], **within(1e-12, 1e-12, 100.0))
    quiet = run(start=starts[..., :2] / np.linalg.norm(starts[..., :2], axis=-1, keepdims=True))
    assert_array_equal(flock.simulation.again(quiet)["x"], quiet["x"])


@pytest.mark.parametrize("chunk", [1, 1000])
def test_reduced_values_are_those_of_the_frames(chunk, monkeypatch):
    from tokenflock import runner

    monkeypatch.setattr(runner, "HELD_BYTES", chunk)
    # One run from a small cap collapses long before the others.
    starts = np.concatenate([flock.cap(5, 2, angle=0.1)[None], flock.uniform(5, 2, seed=3, runs=2)])
    mean, model = (lambda x: x.mean(axis=0)), flock.Model(dim=2)
    kept = run(model, starts, 60.0, times=np.linspace(0.0, 60.0, 11))
    only = run(model, starts, 60.0, times=np.linspace(0.0, 60.0, 11), reduce={"mean": mean}, positions=False)
    assert "x" not in only
    assert_array_equal(only["mean"].values, kept["x"].mean("token").values)
    assert_array_equal(only["outcome"], kept["outcome"])
    assert int(kept["outcome"][0]) == 1


def test_parts_that_fit_give_the_runs_of_the_whole(monkeypatch):
    engine = choose.engine_named("gpu")
    noisy, starts = flock.Model(dim=2, noise=0.2), flock.uniform(6, 2, seed=3, runs=5)
    whole = run(noisy, starts, dt=0.1)
    monkeypatch.setattr(type(engine), "parts", lambda self, task, runs, n, held=0: [(0, 2), (2, 4), (4, 5)])
    assert_allclose(run(noisy, starts, dt=0.1)["x"], whole["x"], **within(1e-12, 1e-12, 10.0))


def test_progress_rises_to_one():
    told = []
    flock.simulate(CIRCLE, flock.uniform(20, 2, runs=3), 5.0, engine="gpu", progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize("starts", [START, flock.uniform(12, 2, runs=3)], ids=["one", "ensemble"])
def test_a_run_that_is_interrupted_keeps_its_frames(starts, monkeypatch, by_steps):
    def hand(fraction):
        """Presses Ctrl-C after a third of the work."""
        if fraction > 0.3:
            raise KeyboardInterrupt

    whole = run(start=starts, t_end=20.0)
    monkeypatch.setattr("tokenflock.runner.PATIENCE_S", 0.02)
    monkeypatch.setattr("tokenflock.runner.TELL_S", 0.0)  # after every call: what is seen depends on no clock
    monkeypatch.setattr("tokenflock.runner.Progress.end", lambda self: None)
    data = flock.simulate(CIRCLE, starts, 20.0, engine="gpu", progress=hand)
    assert data.attrs["outcome"].startswith("Interrupted")
    x = data["x"].values.reshape(-1, *data["x"].shape[-3:])
    there = np.isfinite(x).all(axis=(2, 3))
    expected = whole["x"].values.reshape(-1, *whole["x"].shape[-3:])
    for r in range(len(x)):
        kept = int(there[r].sum())
        assert 5 < kept < 101
        assert there[r, :kept].all()
        assert_array_equal(x[r, :kept], expected[r, :kept])


def test_auto_takes_no_torch():
    program = (
        "import sys, tokenflock as flock\n"
        "flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), 1.0, times=[1.0])\n"
        "print('torch' in sys.modules)"
    )
    import subprocess

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout.strip() == "False"


# ---- waves


@pytest.mark.parametrize("mask", ["causal", "full", flock.Window(300, causal=False)], ids=str)
def test_a_run_of_many_tokens_goes_by_waves_like_that_of_the_harmonic_engine(mask):
    model = flock.Model(dim=2, beta=64.0, mask=mask)
    start = flock.uniform(20_000, 2, seed=3)
    options = {"scheme": "heun", "dt": 0.1, "times": [0.1]}
    ours, theirs = (flock.simulate(model, start, 0.1, engine=e, **options) for e in ("gpu", "harmonic"))
    assert ours.attrs["sums"].endswith(" waves")
    assert ours.attrs["velocity_error"] < 1e-9
    assert_allclose(ours["x"], theirs["x"], rtol=0, atol=ours.attrs["velocity_error"])
    assert float(np.abs(ours["x"].values[-1] - start).max()) > 1e-4


def test_waves_whose_errors_grow_beyond_the_tolerance_warn_once(monkeypatch, by_steps):
    monkeypatch.setattr(torch_harmonic.Waves, "velocity_error", 1.0)
    monkeypatch.setattr(gpu_module.GpuEngine, "_find_waves", _waves_without_a_first_look)
    with pytest.warns(UserWarning, match=r"engine='gpu' with waves: velocities of this run have errors of about 1"):
        run(t_end=0.2)


@pytest.fixture
def by_steps(monkeypatch):
    """On a GPU too the host sees every few steps: no whole run in one launch."""
    if find_spec("triton"):
        monkeypatch.setattr("tokenflock.engine.triton.ensembles.begin", lambda *_: None)


def _waves_without_a_first_look(self, terms, task, starts):
    return torch_harmonic.Waves(task.model, starts.shape[1], 1e-9, terms.device)


# ---- bad input


@pytest.fixture
def no_torch(monkeypatch):
    """A machine without torch."""
    real = gpu_module.find_spec
    monkeypatch.setattr(gpu_module, "find_spec", lambda name: None if name == "torch" else real(name))
    choose.engine_named.cache_clear()
    yield
    choose.engine_named.cache_clear()


def test_without_torch_the_command_that_installs_it_is_named(no_torch):
    with pytest.raises(
        MissingExtra, match=f"engine='gpu' needs torch. Install it with: {re.escape(install_command('gpu'))}"
    ):
        run()


@pytest.mark.parametrize("given", ["cuda", "cuda:0"])
def test_cuda_that_is_not_there_is_refused_with_what_helps(given, monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_DEVICE", given)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    told = rf"TOKENFLOCK_DEVICE={given} asks for CUDA, and torch .* sees none. Install a torch .* TOKENFLOCK_DEVICE=cpu"
    with pytest.raises(EngineError, match=told):
        run()


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("TOKENFLOCK_DEVICE", "cuda:2")
    with pytest.raises(SpecError, match=r"TOKENFLOCK_DEVICE = 'cuda:2' cannot be used. Allowed: cuda:0 to cuda:1"):
        run()
    monkeypatch.setenv("TOKENFLOCK_DEVICE", "tpu")
    with pytest.raises(SpecError, match=r"TOKENFLOCK_DEVICE = 'tpu' cannot be used. Allowed: cpu, cuda, or cuda:K"):
        run()


def test_too_little_memory_splits_an_ensemble_and_then_says_how_much_is_needed(monkeypatch):
    engine = choose.engine_named("gpu")
    task = Task(CIRCLE, 1.0, TSIT5, None, 1e-6, 1e-9, "float64", 0)
    one = engine.bytes_of_a_run(task, 12)
    monkeypatch.setattr(gpu_module, "free_bytes", lambda device: int(2.5 * one / gpu_module.MEMORY_SHARE))
    assert engine.parts(task, 5, 12) == [(0, 2), (2, 4), (4, 5)]
    starts = flock.uniform(12, 2, seed=2, runs=5)
    split = run(start=starts, t_end=0.5)
    monkeypatch.undo()
    assert_allclose(split["x"], run(start=starts, t_end=0.5)["x"], **within(1e-6, 1e-9, 1e-3))
    monkeypatch.setattr(gpu_module, "free_bytes", lambda device: 10**6)
    told = r"start = '100,000 tokens: about 0\.. GiB for one run' .* GiB there are on .*dtype='float32'"
    with pytest.raises(SpecError, match=told):
        run(start=np.tile([[1.0, 0.0]], (100_000, 1)), t_end=0.1, times=[0.1])


def test_the_estimate_of_memory_holds_what_a_run_holds():
    """No estimate below the tensors that are there between steps."""
    engine, n = choose.engine_named("gpu"), 500
    task = Task(flock.Model(dim=3), 1.0, TSIT5, None, 1e-6, 1e-9, "float64", 0)
    ensemble = engine.begin_all(task, flock.uniform(n, 3, seed=0)[None])
    held = [t for t in vars(ensemble.runs).values() if isinstance(t, torch.Tensor)]
    assert sum(t.numel() * t.element_size() for t in held) < engine.bytes_of_a_run(task, n)


def test_memory_that_runs_out_on_the_way_is_told_in_a_sentence(monkeypatch):
    from tokenflock.engine.torch import runs as torch_runs

    def full(*args, **options):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 7 GiB.\nmore")

    monkeypatch.setattr(torch_runs, "rates", full)
    monkeypatch.setenv("TOKENFLOCK_DEVICE", "cpu")
    with pytest.raises(
        EngineError, match=r"The device ran out of memory: CUDA out of memory.* Take fewer tokens or runs"
    ):
        run()


def test_a_dtype_that_the_device_cannot_do_is_refused(monkeypatch):
    def only_narrow(*args, dtype=None, **options):
        if dtype is torch.float64:
            raise TypeError("This device has no float64.")
        return torch.zeros(1)

    monkeypatch.setattr(
        choose.engine_named("gpu"), "_torch", types.SimpleNamespace(ones=only_narrow, float64=torch.float64)
    )
    told = r"engine='gpu' cannot run this model. The device .* cannot do float64: This device has .*dtype='float32'"
    with pytest.raises(EngineError, match=told):
        run()


def test_a_failed_run_says_so_and_keeps_what_there_is():
    model = flock.Model(dim=2, beta=1000.0, normaliser="count")
    with pytest.raises(EngineError, match=r"The tokens are no longer finite.*Reached t = 0 of 2"):
        run(model, START[:3])
    data = run(model, START[:3], throw=False)
    assert_array_equal(data["x"].values, START[None, :3])


def test_products_of_a_user_who_likes_tf32_are_exact_and_his_choice_is_kept():
    before, threads = torch.get_float32_matmul_precision(), torch.get_num_threads()
    torch.set_float32_matmul_precision("high")
    try:
        with gpu_module.exact(gpu_module.device_named()):
            assert torch.get_float32_matmul_precision() == "highest"
            assert not torch.is_grad_enabled()
        assert torch.get_float32_matmul_precision() == "high"
        assert torch.get_num_threads() == threads
    finally:
        torch.set_float32_matmul_precision(before)


# ---- doctor


def test_doctor_says_what_torch_finds(monkeypatch):
    told = machine._device()
    assert told["torch"] == torch.__version__
    assert told["device"].endswith(" GiB")
    assert told["triton"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "https://pytorch.org" in machine._device()["cuda"]
    monkeypatch.setenv("TOKENFLOCK_DEVICE", "cuda")
    assert "asks for CUDA" in machine._device()["device"]


def test_doctor_without_torch_names_the_command(monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert machine._device() == {"torch": f"missing. Install it with: {install_command('gpu')}"}
