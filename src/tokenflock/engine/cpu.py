"""The CPU engine: compiled kernels, chosen and joined by pointers. Every option of a Model."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from tokenflock.engine import blas_kernels, cpu_kernels, leader_kernels, mutual_products, pair_kernels, sums_kernels
from tokenflock.engine.ahead import share
from tokenflock.engine.contract import Outcome, Task
from tokenflock.engine.cpu_terms import (
    KINDS,
    PRODUCTS,
    TOP,
    P,
    U,
    X,
    Z,
    columns_for,
    is_plain,
    kernel_for,
    lay_out,
    scratch,
)
from tokenflock.engine.fixed_kernels import fixed, layers
from tokenflock.engine.machine import threads
from tokenflock.engine.pointers import Pointer, part_signature, sums_signature
from tokenflock.engine.randomness import key_of
from tokenflock.engine.settled import Settled, settle
from tokenflock.engine.step_kernels import (
    CLOCK,
    COLLAPSED,
    ENDED,
    N_PAGES,
    NOT_FINITE,
    NOW,
    SHARP,
    SMALL,
    STOPPED,
    adaptive,
    emit,
    first_step,
)
from tokenflock.geometry import Array
from tokenflock.model import Model, kind_at, phases
from tokenflock.schemes import Rosenbrock

NEVER = 1 << 62  # a step that does not come


@lru_cache
def blas() -> Any:
    """The BLAS that the kernels call. It is held to one thread while they run: two thread pools would fight."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


class Goal(NamedTuple):
    """What a stepping kernel is asked for."""

    t_stop: float
    rtol: float
    atol: float
    dt: float
    collapse: float
    patience: int
    watch: int  # the step from which Boolean attention is reported
    key: Any
    stop: Any


@lru_cache
def part_pointer(name: str, dtype: str) -> Pointer:
    """A pair kernel."""
    homes = {"products": blas_kernels, "mutual_products": mutual_products}
    home = leader_kernels if name.startswith("leader") else homes.get(name, pair_kernels)
    return Pointer(getattr(home, name), part_signature(dtype))


@lru_cache
def sums_pointer(name: str, wide: bool, dtype: str) -> Pointer:
    """What runs the parts of a pair kernel: one thread, or the leader of a team."""
    family = name if name in ("mutual", "products", "mutual_products") else "rows"
    return Pointer(getattr(sums_kernels, f"{family}_{'led' if wide else 'alone'}"), sums_signature(dtype))


def pair_pointers(model: Model, wide: bool, dtype: str) -> tuple[Pointer, Pointer]:
    """What sums over pairs."""
    name = kernel_for(model)
    return sums_pointer(name, wide, dtype), part_pointer(name, dtype)


_POINTERS: dict[Any, Pointer] = {}


def pointer_to(function: Any, dtype: str, *arguments: Any) -> Pointer:
    """A pointer to a compiled function for the types of these arguments, which depend on nothing but the dtype."""
    key = (function, dtype)
    if key not in _POINTERS:
        signature = types.void(*[a if isinstance(a, types.Type) else typeof(a) for a in arguments])
        _POINTERS[key] = Pointer(function, signature)
    return _POINTERS[key]


def velocity_kernel(model: Model) -> Any:
    """The compiled velocity of a model: the short one where it can."""
    if model.space == "rescaled":
        return cpu_kernels.rescaled_velocity
    return cpu_kernels.plain_velocity if is_plain(model) else cpu_kernels.full_velocity


class CpuEngine:
    """numba on the cores of this machine."""

    name = "cpu"
    pair_s = 1.5e-9

    def supports(self, model: Model, dtype: str) -> str | None:
        """Everything."""
        return None

    def velocity(
        self, model: Model, x: Array, t: float = 0.0, radius: Array | None = None, dtype: str = "float64"
    ) -> Array:
        """(E6), (E7) or (E8) by the kernels that a run would use."""
        n, d = x.shape
        terms = lay_out(model, n, dtype)
        work = scratch(model, terms, dtype)
        y = state_of(model, x, dtype, radius)
        out = np.zeros_like(y)
        kind = KINDS[kind_at(model.norm, t)]
        pointers = pair_pointers(model, False, dtype)
        velocity_kernel(model)(*pointers, terms, work, y, t, kind, out)
        return out[:d, :n].T.astype(np.float64)

    def begin(
        self, task: Task, x: Array, run: int = 0, wide: bool = False, stop: NDArray[np.uint8] | None = None
    ) -> Any:
        """A run from x (n, d)."""
        if isinstance(task.scheme, Rosenbrock):
            from tokenflock.engine.implicit import ImplicitStepper

            return ImplicitStepper(task, x, wide, stop)
        if task.auto:
            from tokenflock.engine.switching import SwitchingStepper

            return SwitchingStepper(lambda task, x: self.begin(task, x, run, wide, stop), task, x)
        return CpuStepper(task, x, run, wide, stop)


def state_of(model: Model, x: Array, dtype: str, radius: Array | None = None) -> NDArray[Any]:
    """Tokens as padded columns, with a last row of magnitudes where they move."""
    n, d = x.shape
    y = np.zeros((d + model.has_radius, columns_for(n)), dtype=dtype)
    y[:d, :n] = x.T
    y[:d, n:] = y[:d, :1]
    if model.has_radius:
        y[d] = model.norm.radius
        if radius is not None:
            y[d, :n] = radius
    return y


class CpuStepper:
    """One run in compiled code; all its state is in arrays."""

    def __init__(self, task: Task, x: Array, run: int, wide: bool, stop: NDArray[np.uint8] | None) -> None:
        model, dtype = task.model, task.dtype
        n, self._d = x.shape
        self._task, self._wide = task, wide
        self._terms = lay_out(model, n, dtype, layer_step=task.dt or 0.0 if task.layers else 0.0)
        self._work = scratch(model, self._terms, dtype)
        state = state_of(model, x, dtype)
        self._pages = np.zeros((N_PAGES, *state.shape), dtype=dtype)
        self._pages[NOW] = state
        self._clock = np.zeros((), dtype=CLOCK)
        self._phases = phases(model, task.t_end)
        self._key = np.uint64(key_of(task.seed, run))
        self._stop = np.zeros(1, dtype=np.uint8) if stop is None else stop
        self._products = kernel_for(model) in PRODUCTS
        self._pairs, velocity = self._kernels(wide)
        self.outcome: Outcome | None = None
        self._settled: Settled | None = None
        self._watch, self._waited = (0 if model.space == "rescaled" else NEVER), 8
        page = self._pages[0]
        shared = (*self._pairs, self._terms, self._work, page)
        if task.scheme is None:
            layer = cpu_kernels.rescaled_layer if model.space == "rescaled" else cpu_kernels.layer
            self._step = pointer_to(layer, dtype, *shared, types.float64, types.float64, types.int64)
            self._table = np.zeros((0, 0))
            self._stages = np.zeros((0, *state.shape), dtype=dtype)
        else:
            self._step = pointer_to(velocity, dtype, *shared, types.float64, types.int64, page)
            scheme = task.scheme
            error = np.zeros_like(scheme.b) if scheme.error is None else scheme.error
            self._table = np.concatenate([scheme.a, scheme.b[None], error[None]])
            self._stages = np.zeros((len(scheme.b), *state.shape), dtype=dtype)

    def _kernels(self, wide: bool) -> tuple[tuple[Pointer, Pointer], Any]:
        """What sums over pairs, and the velocity that is made of it."""
        model, dtype = self._task.model, self._task.dtype
        return pair_pointers(model, wide, dtype), velocity_kernel(model)

    def __getattr__(self, name: str) -> Any:
        if name in ("t", "h", "steps", "rejected", "evaluations"):
            return self._clock[name].item()
        raise AttributeError(name)

    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """See contract.Stepper."""
        self._clock["frame"] = 0
        while self.outcome is None:
            t_stop, kind = self._phases[0]
            goal = Goal(
                t_stop,
                self._task.rtol,
                self._task.atol,
                self._task.dt or 0.0,
                self._task.collapse,
                patience,
                self._watch,
                self._key,
                self._stop,
            )
            status = self._call(goal, KINDS[kind], times, frames)
            if status == SHARP:
                self._settle()
                continue
            if status == ENDED and self._settled:
                self._finish(self._settled, times, frames)
                break
            if status == ENDED and len(self._phases) > 1 and self._clock["frame"] < len(times):
                self._phases.pop(0)
                self._clock["nodes"] = self._clock["left"] = 0
                continue
            self._note(status, times, frames)
            break
        return int(self._clock["frame"])

    def _settle(self) -> None:
        """See whether attention is Boolean for good; if not, look again after twice as many steps."""
        clock = self._clock
        x = self._pages[NOW].T[: self._terms.numbers["n"]].astype(np.float64)
        task = self._task
        self._settled = settle(task.model, x, float(clock["t"]), task.t_end, task.dt if task.layers else None)
        self._watch, self._waited = int(clock["steps"]) + self._waited, 2 * self._waited
        if self._settled:
            self._phases, self._watch = [(self._settled.since, self._phases[0][1])], NEVER

    def _finish(self, rest: Settled, times: Array, frames: Array) -> None:
        """The frames of a settled run."""
        for k in range(int(self._clock["frame"]), len(times)):
            y = rest.at(float(times[k]))
            if not np.isfinite(y).all():
                self.outcome = Outcome.NOT_FINITE
                return
            frames[k] = y
            self._clock["frame"], self._clock["t"] = k + 1, times[k]
        self.outcome = Outcome.DONE if times[-1] >= self._task.t_end else None

    def _note(self, status: int, times: Array, frames: Array) -> None:
        """What the end of a call means for the run."""
        done = self._clock["frame"]
        if status == COLLAPSED:
            frames[done:] = self._pages[NOW].T[: frames.shape[1]]
            self._clock["frame"] = len(times)
            self.outcome = Outcome.COLLAPSED
        elif status in (SMALL, NOT_FINITE, STOPPED):
            self.outcome = {SMALL: Outcome.SMALL, NOT_FINITE: Outcome.NOT_FINITE, STOPPED: Outcome.INTERRUPTED}[status]
        elif times[-1] >= self._task.t_end if done == len(times) else status == ENDED:
            self.outcome = Outcome.DONE  # not before the last kept time: more of them may be asked for

    def _call(self, goal: Goal, kind: int, times: Array, frames: Array) -> int:
        task = self._task
        on_sphere = task.model.space == "sphere"
        clock = self._clock[()]
        common = (self._step, *self._pairs, self._terms, self._work)
        memory = (self._pages, self._stages, clock, times, frames, kind, on_sphere, self._d, goal)
        arguments: tuple[Any, ...]
        if task.scheme is None:
            kernel, arguments = layers, (*common, self._pages, clock, times, frames, kind, self._d, goal)
        elif task.scheme.adaptive:
            around = self._around(times, frames)
            kernel, arguments = adaptive, (*common, self._table, task.scheme.order, *memory, *around)
        else:
            kernel, arguments = fixed, (*common, self._table, *memory)
        short = task.scheme is not None and is_plain(task.model)  # a layer has no short form
        share(kernel, arguments)
        with (
            team(short, self._terms, self._work, self._pairs[1]) if self._wide else nullcontext(),
            blas().limit(limits=1) if self._products else nullcontext(),
        ):
            return int(kernel(*arguments))

    def _around(self, times: Array, frames: Array) -> tuple[Pointer, Pointer]:
        """What adaptive steps begin with, and what keeps the wanted times."""
        dtype, number, whole = self._task.dtype, types.float64, types.int64
        state = (self._pages, self._clock[()])
        field = (self._step, *self._pairs, self._terms, self._work)
        opening = pointer_to(first_step, dtype, *field, *state, whole, number, whole, whole, whole, number, number)
        return opening, pointer_to(emit, dtype, *state, times, frames, types.boolean, whole, whole, types.boolean)


@contextmanager
def team(short: bool, terms: Any, work: Any, part: Pointer) -> Iterator[None]:
    """Helpers for the length of one call of a kernel whose sums are led, on the other cores.

    short: it takes the short velocity, whose tokens are scaled. Helpers must look where their leader does.
    """
    x = work.near if terms.numbers["near"] or short else work.tokens[X]
    u = x if x is work.near else work.tokens[U]
    hard = bool(terms.numbers["hard"])
    outputs = (work.tokens[P], work.line[Z], work.line[TOP], work.share, work.tile, work.desk)
    job: tuple[Any, ...] = (part, x, u, terms.rows, terms.frozen, hard, int(terms.numbers["n"]), *outputs)
    work.desk[sums_kernels.CLOSED] = 0
    helpers = [_pool().submit(sums_kernels.help_out, *job) for _ in range(threads() - 1)]
    try:
        yield
    finally:
        sums_kernels.close(work.desk)
        for helper in helpers:
            if not helper.cancel():
                helper.result()


@lru_cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_name_prefix="tokenflock")
