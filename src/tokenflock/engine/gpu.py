"""The GPU engine: torch on a CUDA device, or on the CPU where there is none. Every option of a Model.

TOKENFLOCK_DEVICE = cpu, cuda or cuda:1 chooses the device; without it the first CUDA device is taken, or the CPU. An
ensemble runs at once (`begin_all`); where it does not fit into the memory of the device, in a few parts (`parts`).

Plain torch does everything (room torch/). Three things may stand in its place, and are chosen here: waves for many
tokens on the circle (torch/harmonic.py), and on a CUDA device with Triton the kernels of room triton/, for sums over
pairs and for whole runs of small ensembles in one launch.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.arguments import warn
from tokenflock.engine.contract import Ensemble, EnsembleEngine, Outcome, Task, n_pairs
from tokenflock.engine.machine import DEVICE as VARIABLE
from tokenflock.engine.traits import INTERACTIONS, OPTIONS
from tokenflock.errors import EngineError, bad, missing
from tokenflock.geometry import Array
from tokenflock.masks import has_table
from tokenflock.memory import machine_bytes
from tokenflock.model import Model
from tokenflock.options import Window
from tokenflock.schemes import Scheme

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from tokenflock.engine.torch.harmonic import Waves
    from tokenflock.engine.torch.terms import TorchTerms

HELP = "Install a torch that has it: https://pytorch.org/get-started"
LAUNCH_S = 1e-3  # about what an evaluation takes, however small: a device is given many small commands
MEMORY_SHARE = 0.7  # of the free memory of a device that an ensemble may take, beside its blocks of pairs


def torch_module() -> Any:
    """torch, or one sentence on how to get it."""
    if find_spec("torch") is None:
        raise missing("torch", "gpu", "engine='gpu'")
    return import_module("torch")


def device_named(given: str | None = None) -> torch.device:
    """The device to run on: as given or as the environment says; else the first with CUDA, else the CPU."""
    torch_module()
    import torch

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


def free_bytes(device: torch.device) -> int:
    """Memory that an ensemble may take: on a device what is free, or held by torch and not used; all of a machine's."""
    if device.type == "cuda":
        cuda = torch_module().cuda
        return int(cuda.mem_get_info(device)[0] + cuda.memory_reserved(device) - cuda.memory_allocated(device))
    return machine_bytes()


def name_of(device: torch.device) -> str:
    """The device in words."""
    return torch_module().cuda.get_device_name(device) if device.type == "cuda" else "cpu"


@contextmanager
def exact(device: torch.device) -> Iterator[None]:
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


def lay_out_on(model: Model, dtype: str, device: torch.device) -> TorchTerms:
    """The terms of a model for velocities without gradients: by Triton kernels where the device has them."""
    from tokenflock.engine.torch.terms import lay_out

    terms = lay_out(model, dtype, device)
    if _has_triton(device):
        from tokenflock.engine.triton import sums

        return replace(terms, sums=sums.pair_sums) if sums.supports(terms) else terms
    return terms


def _has_triton(device: torch.device) -> bool:
    return device.type == "cuda" and find_spec("triton") is not None


class GpuEngine(EnsembleEngine):
    """torch on one device."""

    name = "gpu"
    options = OPTIONS | INTERACTIONS

    def __init__(self) -> None:
        self._torch = torch_module()
        self._waves: list[Waves] = []  # of the runs that went by waves

    def for_call(self, model: Model, n_tokens: int) -> GpuEngine:
        """A fresh one: it remembers how its runs were made."""
        return GpuEngine()

    @property
    def device(self) -> torch.device:
        """The device of the next run."""
        return device_named()

    def evaluation_s(self, model: Model, n_tokens: int, runs: int = 1) -> float:
        """A launch, and the pairs."""
        pair_s = 5e-12 if self.device.type == "cuda" else 1e-8
        return LAUNCH_S + pair_s * runs * n_pairs(model, n_tokens) * (1 + model.dim / 8)

    def told(self) -> dict[str, Any]:
        """Where its runs were computed; for waves also how large the errors of their sums may be."""
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

    def objection(self, model: Model, dtype: str) -> str | None:
        """Dtypes that the device cannot do, and what is not known together."""
        if not model.usual and (not isinstance(model.mask, str | Window) or has_table(model.bias)):
            return "It knows kernels and normalisers with causal, full and windows, and ALiBi. Use engine='reference'."
        device = self.device
        try:
            self._torch.ones(1, dtype=getattr(self._torch, dtype), device=device).sum().item()
        except (RuntimeError, TypeError) as error:
            other = "float32" if dtype == "float64" else "float64"
            told = f"The device {name_of(device)} cannot do {dtype}: {str(error).splitlines()[0]}"
            return f"{told} Use dtype={other!r}, or {VARIABLE}=cpu."
        if model.own_kernel is not None and (why := model.own_kernel.function.not_for_torch):
            return f"{model.kernel} cannot run in torch: {why}. Use engine='cpu' or engine='reference'."
        return None

    def velocity(
        self, model: Model, x: Array, t: float = 0.0, radius: Array | None = None, *, dtype: str = "float64"
    ) -> Array:
        """(E6), (E7) or (E8)."""
        import torch

        from tokenflock.engine.torch.velocity import velocity

        device = self.device

        def put(array: Array) -> Tensor:
            return torch.as_tensor(array, dtype=terms.dtype, device=device)[None]

        with exact(device):
            terms = lay_out_on(model, dtype, device)
            found = velocity(terms, put(x), t, None if radius is None else put(radius))
            return np.asarray(found[0].to(torch.float64).cpu().numpy())

    def begin(
        self, task: Task, x: Array, run: int = 0, wide: bool = False, stop: NDArray[np.uint8] | None = None
    ) -> GpuStepper:
        """A run from x (n, d)."""
        self.parts(task, 1, len(x))  # refuses what does not fit
        return GpuStepper(self.begin_all(task, np.asarray(x)[None], run, stop))

    def parts(self, task: Task, runs: int, n_tokens: int, held: int = 0) -> list[tuple[int, int]]:
        """Which runs go together, so that each part fits into the memory of the device. Frames are held elsewhere."""
        device = self.device
        one, free = self.bytes_of_a_run(task, n_tokens), MEMORY_SHARE * free_bytes(device)
        together = int(free // one)
        if together < 1:
            needed = f"{n_tokens:,} tokens: about {one / 2**30:.1f} GiB for one run"
            advice = "Take fewer tokens, dtype='float32', or scheme='rk4' with dt, which keeps fewer states."
            raise bad(
                "start", needed, f"what fits in the {free / 2**30:.1f} GiB there are on {name_of(device)}", advice
            )
        return [(first, min(first + together, runs)) for first in range(0, runs, together)]

    def bytes_of_a_run(self, task: Task, n: int) -> float:
        """An estimate of the memory that one run needs beside the blocks of pairs, which adapt to what is there."""
        from tokenflock.engine.torch.steps import states_held

        state = n * (task.model.dim + task.model.has_radius) * np.dtype(task.dtype).itemsize
        held = states_held(task.scheme, state) if isinstance(task.scheme, Scheme) and task.scheme.adaptive else 12
        return float(state * (held + 4 * task.model.n_heads))

    def begin_all(
        self, task: Task, starts: Array, first_run: int = 0, stop: NDArray[np.uint8] | None = None
    ) -> Ensemble:
        """All runs from starts (runs, n, d) at once; first_run: the number of the first in its ensemble."""
        from tokenflock.engine.torch.fixed import FixedRuns
        from tokenflock.engine.torch.steps import AdaptiveRuns

        device = self.device
        with exact(device):
            terms = lay_out_on(task.model, task.dtype, device)
            if _has_triton(device):
                from tokenflock.engine.triton import ensembles

                fast = ensembles.begin(terms, task, starts, first_run, stop)
                if fast is not None:
                    return GpuEnsemble(fast, device)
            waves = self._find_waves(terms, task, starts)
            if waves is not None:
                self._waves.append(waves)
                terms = replace(terms, sums=waves)
            adaptive = task.scheme is not None and task.scheme.adaptive
            runs = (
                AdaptiveRuns(terms, task, starts, stop) if adaptive else FixedRuns(terms, task, starts, stop, first_run)
            )
            return GpuEnsemble(runs, device, waves, task.rtol + task.atol)

    def _find_waves(self, terms: TorchTerms, task: Task, starts: Array) -> Waves | None:
        """Waves in place of pairs, where there are many tokens and the first velocity is as good as the tolerances."""
        from tokenflock.engine.harmonic.series import SHARE
        from tokenflock.engine.torch.harmonic import Waves, pays

        allowed, n = task.rtol + task.atol, starts.shape[1]
        if not pays(task, n):
            return None
        waves = Waves(task.model, n, SHARE * allowed, terms.device)
        waves(terms, self._torch.as_tensor(starts, dtype=terms.dtype, device=terms.device))
        return waves if waves.velocity_error <= allowed else None


class GpuEnsemble:
    """An ensemble whose products are exact, and whose lack of memory or of digits is told in a sentence."""

    def __init__(
        self, runs: Ensemble, device: torch.device, waves: Waves | None = None, allowed: float = math.inf
    ) -> None:
        self.runs, self._device, self._waves, self._allowed = runs, device, waves, allowed

    t = property(lambda self: self.runs.t)
    steps = property(lambda self: self.runs.steps)
    rejected = property(lambda self: self.runs.rejected)
    evaluations = property(lambda self: self.runs.evaluations)
    outcomes = property(lambda self: self.runs.outcomes)

    def give_up(self, run: int) -> None:
        """See contract.Ensemble."""
        self.runs.give_up(run)

    def advance(self, times: Array, frames: Array, filled: NDArray[np.int64], patience: int) -> None:
        """See contract.Ensemble."""
        with exact(self._device):
            self.runs.advance(times, frames, filled, patience)
        if self._waves is not None and self._waves.velocity_error > self._allowed:
            told = f"velocities of this run have errors of about {self._waves.velocity_error:.1e}"
            warn(f"engine='gpu' with waves: {told}. For more digits use engine='cpu'.")
            self._waves = None  # once is enough


class GpuStepper:
    """One run: an ensemble of one."""

    switched = math.nan
    bodies = None

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble

    t = property(lambda self: float(self._ensemble.t[0]))
    steps = property(lambda self: int(self._ensemble.steps[0]))
    rejected = property(lambda self: int(self._ensemble.rejected[0]))
    evaluations = property(lambda self: int(self._ensemble.evaluations[0]))

    @property
    def outcome(self) -> Outcome | None:
        """How it ended."""
        return self._ensemble.outcomes[0]

    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """See contract.Stepper."""
        filled = np.zeros(1, dtype=np.int64)
        self._ensemble.advance(times, frames[None], filled, patience)
        return int(filled[0])
