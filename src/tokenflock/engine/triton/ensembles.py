"""Whole ensembles of small runs on a GPU in one launch, each run with its own step size and clock: a contract.Ensemble.

Served are the papers' main cases: sphere, softmax, post norm, one head with any Q, K, V, every mask, d <= 4 and up to
1,024 tokens; `begin` returns None for the rest, which torch/steps.py does. A single run is served too: one launch beats
thousands of small ones.
"""

from __future__ import annotations

import numpy as np
import torch
import triton
from numpy.typing import NDArray

from tokenflock.engine.contract import Outcome, Task
from tokenflock.engine.status import COLLAPSED, FAILED, FULL
from tokenflock.engine.torch.terms import TorchTerms
from tokenflock.engine.triton.pairs import PairTile
from tokenflock.engine.triton.steps import CLOCK, GOAL, RING, RunShape, integrate
from tokenflock.engine.triton.steps import begin as first_steps
from tokenflock.engine.triton.sums import LOG2E, reach_of
from tokenflock.geometry import Array
from tokenflock.options import Window
from tokenflock.schemes import Scheme

MOST_TOKENS, MOST_DIM = 1024, 4
FRAMES = 2**31  # bytes of frames that are kept on the device at a time
# Rows and columns of a block and warps of a program, as measured on an H200: one warp a run if there are many runs, or
# else one multiprocessor.
TILE = {"BM": 16, "BN": 8, "num_warps": 1, "maxnreg": 128}
LARGE_TILE = {"BM": 64, "BN": 16, "num_warps": 8, "maxnreg": 128}
MANY = 528  # runs: four for each of 132 multiprocessors


def supports(terms: TorchTerms, task: Task, n: int) -> bool:
    """Whether one kernel can run this task."""
    model, scheme = task.model, task.scheme
    plain = model.space == "sphere" and model.norm.kind == "post" and model.normaliser == "softmax" and model.usual
    parts = (model.feedforward, model.frozen, model.bias, model.masses)
    extras = any(part is not None for part in parts) or model.noise or terms.hard or model.n_heads > 1
    steps = isinstance(scheme, Scheme) and scheme.adaptive and len(scheme.b) >= 3
    known = isinstance(model.mask, str | Window)
    return plain and known and not extras and steps and model.dim <= MOST_DIM and n <= MOST_TOKENS


def begin(
    terms: TorchTerms, task: Task, starts: Array, first_run: int = 0, stop: NDArray[np.uint8] | None = None, **tile: int
) -> EnsembleRuns | None:
    """All runs from starts (runs, n, d) on the device of terms; None for what the kernel does not do."""
    return EnsembleRuns(terms, task, starts, stop, **tile) if supports(terms, task, starts.shape[1]) else None


class EnsembleRuns:
    """Runs under way; see contract.Ensemble."""

    def __init__(
        self, terms: TorchTerms, task: Task, starts: Array, stop: NDArray[np.uint8] | None = None, **tile: int
    ) -> None:
        scheme, device, dtype = task.scheme, terms.device, terms.dtype
        assert isinstance(scheme, Scheme)
        assert scheme.error is not None
        runs, n, d = starts.shape
        columns, stages = max(16, triton.next_power_of_2(n)), len(scheme.b)
        self.task, self.n, self.d = task, n, d
        self.stop = np.zeros(1, dtype=np.uint8) if stop is None else stop
        self.outcomes: list[Outcome | None] = [None] * runs
        self._pages = torch.zeros((runs, 2 * RING + stages - 1, d, columns), dtype=dtype, device=device)
        self._pages[:, 0, :, :n] = torch.as_tensor(starts, dtype=dtype, device=device).mT
        self._clocks = torch.zeros((runs, len(CLOCK)), dtype=torch.float64, device=device)
        self._table = torch.as_tensor(np.concatenate([scheme.a, scheme.b[None], scheme.error[None]]), device=device)
        # Near kernels see tokens times `scale`, s_ij - s_ii = -|x_i - x_j|^2; others plain tokens and the form.
        scale = max(float(terms.forms[0, 0, 0]) * 0.5 * LOG2E, 1e-20) ** 0.5 if terms.near else 1.0
        goal = {"t_stop": task.t_end, "rtol": task.rtol, "atol": task.atol, "collapse": task.collapse, "scale": scale}
        goal |= {"order": scheme.order, "eps": torch.finfo(dtype).eps}
        self._goal = torch.tensor([float(goal[name]) for name in GOAL], dtype=torch.float64, device=device)
        self._form = (terms.forms[0] * LOG2E).contiguous()
        self._value = torch.cat([terms.values[0], terms.less[0]]).contiguous()
        reach = reach_of(task.model.mask, n)
        self._reach = min(reach.back, n), min(reach.ahead, n)
        options = {**(TILE if runs >= MANY else LARGE_TILE), **tile}
        block = PairTile(
            D=d, BM=options.pop("BM"), BN=options.pop("BN"), WIDE=1, UNROLL=1, SPAN=columns,
            NEAR=terms.near, BIASED=False, NATIVE=device.type == "cuda",
        )  # fmt: skip
        self._constants = {"SHAPE": RunShape(columns, stages, terms.scalar_value, block), **options}
        first_steps[(runs,)](
            self._pages, self._clocks, self._goal, self._form, self._value, n, *self._reach, **self._constants
        )
        self._read()

    def _read(self) -> None:
        """The books, as they are on the device."""
        self._book = dict(zip(CLOCK, self._clocks.cpu().numpy().T, strict=True))
        self.t = self._book["t"].copy()
        for name in ("steps", "rejected", "evaluations"):
            setattr(self, name, self._book[name].astype(np.int64))

    steps: NDArray[np.int64]
    rejected: NDArray[np.int64]
    evaluations: NDArray[np.int64]

    def give_up(self, run: int) -> None:
        """See contract.Ensemble."""
        self.outcomes[run] = Outcome.SMALL

    def advance(self, times: Array, frames: Array, filled: NDArray[np.int64], patience: int) -> None:
        """See contract.Ensemble."""
        open_runs = np.array([o is None for o in self.outcomes])
        if self.stop[0]:
            self._keep_present(times, frames, filled)
            self.outcomes = [o or Outcome.INTERRUPTED for o in self.outcomes]
            return
        last = int(filled[open_runs].min()) if open_runs.any() else len(times)
        per_time = frames[:, :1].size * self._pages.element_size()
        at_once = max(1, FRAMES // per_time)
        while last < len(times) and patience > 0 and not self.stop[0]:
            first, last = last, min(last + at_once, len(times))
            patience -= self._part(times, frames, filled, first, last, patience)
            last = min(last, *(int(f) for f, o in zip(filled, self.outcomes, strict=True) if o is None), len(times))
            if last == first:
                break

    def _keep_present(self, times: Array, frames: Array, filled: NDArray[np.int64]) -> None:
        """The tokens as they are, for runs that are asked for just this time: so a start is kept before any step."""
        for run, outcome in enumerate(self.outcomes):
            if outcome is None and filled[run] < len(times) and times[filled[run]] == self.t[run]:
                page = self._pages[run, int(self._book["head"][run]), :, : self.n]
                frames[run, filled[run]] = page.mT.cpu().numpy()
                filled[run] += 1

    def _part(
        self, times: Array, frames: Array, filled: NDArray[np.int64], first: int, last: int, patience: int
    ) -> int:
        """Frames first .. last - 1 of every run; how many evaluations the busiest run took."""
        runs, device = len(filled), self._pages.device
        out = torch.empty((runs, last - first, self.n, self.d), dtype=self._pages.dtype, device=device)
        wanted = torch.as_tensor(np.ascontiguousarray(times[first:last]), dtype=torch.float64, device=device)
        ended = np.array([o is not None for o in self.outcomes])
        start = np.clip(filled - first, 0, last - first)
        self._clocks[:, CLOCK.index("frame")] = torch.as_tensor(start, dtype=torch.float64, device=device)
        self._clocks[:, CLOCK.index("status")] = torch.as_tensor(
            ended * float(FULL), dtype=torch.float64, device=device
        )
        before = self.evaluations
        integrate[(runs,)](
            self._pages, self._clocks, self._goal, self._table, wanted, out, self._form, self._value,
            self.n, last - first, min(patience, 2**30), *self._reach, **self._constants,
        )  # fmt: skip
        self._read()
        reached = self._book["frame"].astype(np.int64)
        if (start == 0).all() and (reached == last - first).all():
            torch.from_numpy(frames)[:, first:last].copy_(out)
        else:
            host = out.cpu().numpy()
            for run in np.flatnonzero(reached > start):
                frames[run, first + start[run] : first + reached[run]] = host[run, start[run] : reached[run]]
        filled += np.where(ended, 0, reached - start)
        self._close(times, frames, filled, ended)
        return int((self.evaluations - before).max(initial=0))

    def _close(self, times: Array, frames: Array, filled: NDArray[np.int64], ended: NDArray[np.bool_]) -> None:
        """What the end of a launch means for each run."""
        for run in np.flatnonzero(~ended):
            status = int(self._book["status"][run])
            if status == COLLAPSED:
                frames[run, filled[run] :] = frames[run, filled[run] - 1]
                filled[run] = len(times)
                self.outcomes[run] = Outcome.COLLAPSED
            elif status in FAILED:
                self.outcomes[run] = FAILED[status]
            elif filled[run] == len(times) and times[-1] >= self.task.t_end:
                self.outcomes[run] = Outcome.DONE  # not before the last kept time: more of them may be asked for
