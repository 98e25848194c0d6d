"""The GPU engine: torch on a CUDA device, or on the CPU where there is none. Every option of a Model.

TOKENFLOCK_DEVICE = cpu, cuda or cuda:1 chooses the device; without it the first CUDA device is taken, or the CPU. An
ensemble runs as one batch (`begin_all`); where it does not fit into the memory of the device, as a few (`parts`).
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine.contract import Batch, Outcome, Task
from tokenflock.errors import EngineError, bad, missing
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.schemes import Rosenbrock, Scheme

VARIABLE = "TOKENFLOCK_DEVICE"
HELP = "Install a torch that has it: https://pytorch.org/get-started"
SHARE = 0.7  # of the free memory of a device that a batch may take, beside its blocks of pairs


def torch_module() -> Any:
    """torch, or one sentence on how to get it."""
    if find_spec("torch") is None:
        raise missing("torch", "gpu", "engine='gpu'")
    return import_module("torch")


def device_named(given: str | None = None) -> Any:
    """The device to run on: as given or as the environment says; else the first with CUDA, else the CPU."""
    torch = torch_module()
    given = os.environ.get(VARIABLE) if given is None else given
    if not given:
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    if given == "cpu":
        return torch.device("cpu")
    if not re.fullmatch(r"cuda(:\d+)?", given):
        raise bad(VARIABLE, given, "cpu, cuda, or cuda:K", "Unset it to take the first CUDA device there is.")
    if not torch.cuda.is_available():
        told = f"{VARIABLE}={given} asks for CUDA, and torch {torch.__version__} sees none."
        raise EngineError(f"{told} {HELP}, or use {VARIABLE}=cpu.")
    index, count = int(given.partition(":")[2] or 0), torch.cuda.device_count()
    if index >= count:
        raise bad(VARIABLE, given, f"cuda:0 to cuda:{count - 1}", "This machine has no more devices.")
    return torch.device("cuda", index)


def free_bytes(device: Any) -> int:
    """Memory that a batch may take: on a device what is free, or held by torch and not used; all of a machine's."""
    if device.type == "cuda":
        cuda = torch_module().cuda
        return int(cuda.mem_get_info(device)[0] + cuda.memory_reserved(device) - cuda.memory_allocated(device))
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def name_of(device: Any) -> str:
    """The device in words."""
    return torch_module().cuda.get_device_name(device) if device.type == "cuda" else "cpu"


@contextmanager
def exact(device: Any) -> Iterator[None]:
    """No gradients; products of float32 in float32, though a user may have asked torch for TF32, with its 3 digits.

    On a CPU one thread: its bits do not depend on the cores, and torch's threads spin where others want to work.
    """
    torch = torch_module()
    before, threads = torch.get_float32_matmul_precision(), torch.get_num_threads()
    torch.set_float32_matmul_precision("highest")
    if device.type == "cpu":
        torch.set_num_threads(1)
    try:
        with torch.no_grad():
            yield
    except torch.OutOfMemoryError as error:
        raise EngineError(
            f"The device ran out of memory: {str(error).splitlines()[0]} Take fewer tokens or runs, dtype='float32', "
            "or free what other programs hold."
        ) from error
    finally:
        torch.set_float32_matmul_precision(before)
        if device.type == "cpu":
            torch.set_num_threads(threads)


class GpuEngine:
    """torch on one device."""

    name = "gpu"

    def __init__(self) -> None:
        self._torch = torch_module()
        self._waves: list[Any] = []  # of the runs that went by waves

    def for_run(self) -> GpuEngine:
        """A fresh one: it remembers how its runs were made."""
        return GpuEngine()

    @property
    def device(self) -> Any:
        """The device of the next run."""
        return device_named()

    @property
    def pair_s(self) -> float:
        """About what one pair costs, in seconds."""
        return 5e-12 if self.device.type == "cuda" else 1e-8

    @property
    def details(self) -> dict[str, Any]:
        """What a trajectory says about its engine; for waves also how large the errors of their sums may be."""
        device = self.device
        told: dict[str, Any] = {"device": name_of(device), "torch": str(self._torch.__version__), "sums": "pairs"}
        if self._waves:
            told["sums"] = f"{max(waves.modes for waves in self._waves)} waves"
            told["velocity_error"] = max(waves.velocity_error for waves in self._waves)
        if device.type == "cpu":
            told["device_note"] = "engine='gpu' ran on the CPU" + (
                f": {VARIABLE}=cpu." if os.environ.get(VARIABLE) else ": torch sees no CUDA device."
            )
        return told

    def supports(self, model: Model, dtype: str) -> str | None:
        """Everything, in the dtypes of the device."""
        device = self.device
        try:
            self._torch.ones(1, dtype=getattr(self._torch, dtype), device=device).sum().item()
        except (RuntimeError, TypeError) as error:
            other = "float32" if dtype == "float64" else "float64"
            told = f"The device {name_of(device)} cannot do {dtype}: {str(error).splitlines()[0]}"
            return f"{told} Use dtype={other!r}, or {VARIABLE}=cpu."
        return None

    def velocity(
        self, model: Model, x: Array, t: float = 0.0, radius: Array | None = None, dtype: str = "float64"
    ) -> Array:
        """(E6), (E7) or (E8)."""
        from tokenflock.engine.torch_terms import lay_out
        from tokenflock.engine.torch_velocity import velocity

        device = self.device
        with exact(device):
            terms = lay_out(model, dtype, device)
            put = lambda array: self._torch.as_tensor(array, dtype=terms.dtype, device=terms.device)[None]  # noqa: E731
            found = velocity(terms, put(x), t, None if radius is None else put(radius))
            return found[0].to(self._torch.float64).cpu().numpy()

    def begin(
        self, task: Task, x: Array, run: int = 0, wide: bool = False, stop: NDArray[np.uint8] | None = None
    ) -> GpuStepper:
        """A run from x (n, d)."""
        return GpuStepper(self.begin_all(task, np.asarray(x)[None], run, stop))

    def parts(self, task: Task, runs: int, n: int) -> list[tuple[int, int]]:
        """Which runs go together (first, last + 1), so that each batch fits into the memory of the device."""
        device = self.device
        one, free = self.bytes_of_a_run(task, n), SHARE * free_bytes(device)
        together = int(free // one)
        if together < 1:
            needed = f"{n:,} tokens: about {one / 2**30:.1f} GiB for one run"
            advice = "Take fewer tokens, dtype='float32', or scheme='rk4' with dt, which keeps fewer states."
            raise bad(
                "start", needed, f"what fits in the {free / 2**30:.1f} GiB there are on {name_of(device)}", advice
            )
        return [(first, min(first + together, runs)) for first in range(0, runs, together)]

    def bytes_of_a_run(self, task: Task, n: int) -> float:
        """An estimate of the memory that one run needs beside the blocks of pairs, which adapt to what is there."""
        from tokenflock.engine.torch_steps import states_held

        state = n * (task.model.dim + task.model.has_radius) * np.dtype(task.dtype).itemsize
        held = states_held(task.scheme, state) if isinstance(task.scheme, Scheme) and task.scheme.adaptive else 12
        return float(state * (held + 4 * task.model.n_heads))

    def begin_all(self, task: Task, starts: Array, first_run: int = 0, stop: NDArray[np.uint8] | None = None) -> Batch:
        """All runs from starts (runs, n, d) as one batch; first_run: the number of the first in its ensemble.

        THE SEAM for whole integrations on the device: `gpu_ensembles.begin(terms, task, starts, first_run, stop)` is
        asked first on a cuda device. It returns a contract.Batch, or None for what it does not do.
        """
        from tokenflock.engine.torch_fixed import FixedRuns
        from tokenflock.engine.torch_steps import AdaptiveRuns
        from tokenflock.engine.torch_terms import lay_out

        if isinstance(task.scheme, Rosenbrock):
            raise EngineError("engine='gpu' has explicit schemes only. Use engine='cpu' for scheme='rosenbrock'.")
        device = self.device
        with exact(device):
            terms = lay_out(task.model, task.dtype, device)
            if device.type == "cuda" and find_spec("triton"):
                fast = import_module("tokenflock.engine.gpu_ensembles").begin(terms, task, starts, first_run, stop)
                if fast is not None:
                    return Exact(fast, device)
            waves = self._find_waves(terms, task, starts)
            if waves is not None:
                self._waves.append(waves)
                terms = replace(terms, sums=waves)
            if task.scheme is not None and task.scheme.adaptive:
                return Exact(AdaptiveRuns(terms, task, starts, stop), device, waves, task.rtol + task.atol)
            return Exact(FixedRuns(terms, task, starts, stop, first_run), device, waves, task.rtol + task.atol)

    def _find_waves(self, terms: Any, task: Task, starts: Array) -> Any:
        """Waves in place of pairs, where there are many tokens and the first velocity is as good as the tolerances."""
        from tokenflock.engine.torch_harmonic import SHARE, Waves, pays

        allowed, n = task.rtol + task.atol, starts.shape[1]
        if not pays(task, n):
            return None
        waves = Waves(task.model, n, SHARE * allowed, terms.device)
        waves(terms, self._torch.as_tensor(starts, dtype=terms.dtype, device=terms.device))
        return waves if waves.velocity_error <= allowed else None


class Exact:
    """A batch whose products are exact, and whose lack of memory or of digits is told in a sentence."""

    def __init__(self, batch: Any, device: Any, waves: Any = None, allowed: float = math.inf) -> None:
        self._batch, self._device, self._waves, self._allowed = batch, device, waves, allowed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def advance(self, times: Array, frames: Array, filled: NDArray[np.int64], patience: int) -> None:
        """See contract.Batch."""
        with exact(self._device):
            self._batch.advance(times, frames, filled, patience)
        if self._waves is not None and self._waves.velocity_error > self._allowed:
            told = f"velocities of this run have errors of about {self._waves.velocity_error:.1e}"
            warnings.warn(f"engine='gpu' with waves: {told}. For more digits use engine='cpu'.", stacklevel=2)
            self._waves = None  # once is enough


class GpuStepper:
    """One run: a batch of one."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    t = property(lambda self: float(self._batch.t[0]))
    steps = property(lambda self: int(self._batch.steps[0]))
    rejected = property(lambda self: int(self._batch.rejected[0]))
    evaluations = property(lambda self: int(self._batch.evaluations[0]))

    @property
    def outcome(self) -> Outcome | None:
        """How it ended."""
        return self._batch.outcomes[0]

    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """See contract.Stepper."""
        filled = np.zeros(1, dtype=np.int64)
        self._batch.advance(times, frames[None], filled, patience)
        return int(filled[0])
