"""One explicit run in compiled code: a right-hand side, joined by pointers to the loop that steps it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from tokenflock.engine.boolean import Settled, settle
from tokenflock.engine.compiled.first_compile import compile_by_two
from tokenflock.engine.compiled.own import reason
from tokenflock.engine.compiled.pointers import Pointer, pointer_to
from tokenflock.engine.contract import Outcome, Task
from tokenflock.engine.explicit import (
    general_pairs,
    graph_pairs,
    mutual_products,
    near_pairs,
    own_kernels,
    pairs,
    placed,
    placed_pairs,
    products,
    rescaled_pairs,
    shaken,
    velocity,
)
from tokenflock.engine.explicit import team as teams
from tokenflock.engine.explicit.fixed import fixed, layers
from tokenflock.engine.explicit.placed_terms import shaking
from tokenflock.engine.explicit.steps import (
    CLOCK,
    N_PAGES,
    NOW,
    Goal,
    Output,
    RunState,
    adaptive,
    around_steps,
    record_types,
)
from tokenflock.engine.explicit.team import team
from tokenflock.engine.explicit.terms import (
    GENERAL_KERNELS,
    GRAPHS,
    KINDS,
    NEAR_KERNELS,
    PRODUCTS,
    columns_for,
    is_plain,
    kernel_for,
    lay_out,
    scratch,
    weigh,
)
from tokenflock.engine.explicit.work import (
    Field,
    Numbers,
    Terms,
    layer_signature,
    part_signature,
    sums_signature,
    velocity_signature,
)
from tokenflock.engine.randomness import key_of
from tokenflock.engine.status import BOOLEAN, COLLAPSED, ENDED, FAILED
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.preparation import prepared
from tokenflock.schemes import Rosenbrock
from tokenflock.stretches import Span, stretches

NEVER = 1 << 62  # a step that does not come
#: by whether a scheme is adaptive, None for layers, and whether all tokens have common noise
LOOPS: dict[tuple[bool | None, bool], Any]
LOOPS = {(None, False): layers, (False, False): fixed, (True, False): adaptive, (False, True): shaken.shaken}
FIRST_WAIT = 8  # steps between the first two looks at whether attention is Boolean for good
#: where pair kernels are; others are in pairs.py, or in rescaled_pairs.py
HOMES = {**dict.fromkeys(NEAR_KERNELS, near_pairs), **dict.fromkeys(GENERAL_KERNELS, general_pairs), "mutual": pairs}
HOMES |= {"products": products, "mutual_products": mutual_products}
HOMES |= dict.fromkeys(GRAPHS, graph_pairs)
NO_TABLE = np.zeros((0, 0))  # of a scheme: layers have none


@lru_cache
def blas() -> Any:
    """The BLAS that the kernels call. It is held to one thread while they run: two thread pools would fight."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@lru_cache
def pair_pointers(name: str, dtype: str) -> tuple[Pointer, Pointer]:
    """What sums over pairs by the kernel of a name: the function that runs the parts, and the kernel of a part."""
    home = rescaled_pairs if name.startswith("leader") else HOMES.get(name, pairs)
    home = placed_pairs if name == "placed" else home
    family = "graph" if name in GRAPHS else name if name in ("mutual", *PRODUCTS) else "rows"
    sums = pointer_to(getattr(teams, f"sum_{family}"), sums_signature(dtype))
    if name.startswith(own_kernels.NAME):
        return sums, pointer_to(own_kernels.part_of(name), part_signature(dtype))
    return sums, pointer_to(getattr(home, name), part_signature(dtype))


@prepared
def why_not_compiled(model: Model, dtype: str) -> str:
    """Why there is no compiled code for a model's own kernel, in a sentence, or nothing. It is compiled now."""
    try:
        pair_pointers(own_kernels.name_of(model), dtype)[1].address  # noqa: B018  (compiles it)
    except (TypeError, NumbaError, NotImplementedError) as error:
        told = reason(error) if isinstance(error, NumbaError) else str(error)
        return f"{model.kernel} cannot be compiled: {told}. Use engine='reference', which takes longer."
    return ""


@lru_cache
def step_pointer(kernel: Any, dtype: str, layers: bool = False) -> Pointer:
    """A velocity, or a layer, as an argument of a stepping loop."""
    return pointer_to(kernel, layer_signature(dtype) if layers else velocity_signature(dtype))


class Loop(NamedTuple):
    """A compiled loop of steps: its way in from Python, past numba's look at the types of its arguments."""

    enter: Callable[..., int]
    around: tuple[Pointer, ...]  # its last arguments
    pointer: Pointer


@lru_cache
def loop_of(kernel: Any, step: Pointer, sums: Pointer, part: Pointer, dtype: str, kept: np.dtype[Any]) -> Loop:
    """A loop with all that it calls, compiled now. kept: the dtype of its frames."""
    around = around_steps(dtype, kept) if kernel is adaptive else ()
    field = step.signature.args[2]
    arguments = (step.type, sums.type, part.type, field, *record_types(dtype, kept), *(p.type for p in around))
    loop = pointer_to(kernel, types.int64(*arguments))
    compile_by_two(loop, (step, sums, part, *around))
    return Loop(loop.compiled.entry_point, around, loop)


def goal_of(task: Task, stretch: Span, patience: int, watch: int, key: np.uint64, stop: NDArray[np.uint8]) -> Goal:
    """What a loop is asked for in a stretch of smooth time."""
    scheme = task.scheme
    assert not isinstance(scheme, Rosenbrock)
    return Goal(
        t_stop=stretch.end,
        kind=KINDS[stretch.kind],
        order=scheme.order if scheme else 0,
        table=scheme.table if scheme else NO_TABLE,
        rtol=task.rtol,
        atol=task.atol,
        dt=task.dt or 0.0,
        collapse=task.collapse,
        patience=patience,
        watch=watch,
        key=key,
        stop=stop,
    )


def velocity_kernel(model: Model) -> Any:
    """The compiled velocity of a model: the short one where it can."""
    if model.space == "rescaled":
        return velocity.rescaled_velocity
    if model.placed:
        return placed.placed_velocity
    return velocity.plain_velocity if is_plain(model) else velocity.full_velocity


def layer_kernel(model: Model) -> Any:
    """The compiled layer of a model."""
    if model.placed:
        return placed.placed_layer
    return velocity.rescaled_layer if model.space == "rescaled" else velocity.layer


class Layout(NamedTuple):
    """What all runs of a model with so many tokens have alike: compiled functions, and the terms that they read."""

    kernel: Any  # velocity(sums, part, field, y, t, kind, out), or layer(sums, part, field, y, t, dt, kind)
    sums: Pointer
    part: Pointer
    pairs: str  # the name of the pair kernel
    terms: Terms


@dataclass(frozen=True)
class RightSide:
    """What a stepper is given: the compiled functions of a right-hand side, and the arrays that they work on."""

    kernel: Any
    sums: Pointer
    part: Pointer
    field: Field
    wide: bool = False  # whether a team of threads shares the parts of every evaluation
    products: bool = False  # whether it multiplies matrices, by BLAS

    def ready(self) -> AbstractContextManager[None]:
        """Threads as the kernels need them, for the length of one call."""
        return self._with_threads() if self.wide or self.products else nullcontext()

    @contextmanager
    def _with_threads(self) -> Iterator[None]:
        with (
            team(self.part, self.field.work.pairs) if self.wide else nullcontext(),
            blas().limit(limits=1) if self.products else nullcontext(),
        ):
            yield

    def velocity(self, y: Numbers, t: float, kind: str, out: Numbers) -> None:
        """One velocity of a state, as columns."""
        with self.ready():
            self.kernel(self.sums, self.part, self.field, y, t, KINDS[kind], out)


@prepared
def layout(model: Model, n: int, dtype: str, layer_step: float | None) -> Layout:
    """The layout of a model for n tokens. layer_step: dt of layers, None for a velocity."""
    shake, strength, table = shaking(model)
    if shake:  # it is no part of the velocity, which is that of the model without
        model = model.with_options(common_noise=None)
    pairs = kernel_for(model)
    kernel = velocity_kernel(model) if layer_step is None else layer_kernel(model)
    terms = lay_out(model, pairs, n, dtype, layer_step or 0.0)._replace(shaking=table)
    terms.numbers["shake"], terms.numbers["strength"] = shake, strength
    return Layout(kernel, *pair_pointers(pairs, dtype), pairs, terms)


def by_pairs(model: Model, n: int, dtype: str, wide: bool = False, layer_step: float | None = None) -> RightSide:
    """The right-hand side of one run of a model by pairs of tokens. layer_step: dt of layers, None for a velocity."""
    kernel, sums, part, pairs, terms = layout(model, n, dtype, layer_step)
    if model.varying:  # every run puts its own weights there
        own = {name: getattr(terms, name).copy() for name in ("numbers", "heads", "inner", "outer")}
        terms = terms._replace(**own)
    work = scratch(pairs, terms, short=kernel is velocity.plain_velocity)
    return RightSide(kernel, sums, part, Field(terms, work), wide, pairs in PRODUCTS)


def state_of(model: Model, x: Array, dtype: str, radius: Array | None = None) -> Numbers:
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

    switched = math.nan
    bodies = None

    def __init__(
        self, task: Task, x: Array, right_side: RightSide, run: int = 0, stop: NDArray[np.uint8] | None = None
    ) -> None:
        model, dtype, scheme = task.model, task.dtype, task.scheme
        assert not isinstance(scheme, Rosenbrock)
        self._task, self._right_side, self._run = task, right_side, run
        state = state_of(model, x, dtype)
        pages = np.zeros((N_PAGES, *state.shape), dtype=dtype)
        pages[NOW] = state
        self._loop = LOOPS[None if scheme is None else scheme.adaptive, model.common_noise is not None]
        stages = np.zeros((0 if scheme is None else len(scheme.b), *state.shape), dtype=dtype)
        self._clock = np.zeros((), dtype=CLOCK)
        self._state = RunState(pages, stages, self._clock[()])
        self._stretches = stretches(model, task.t_end, task.dt if task.layers else None)
        self._step = step_pointer(right_side.kernel, dtype, scheme is None)
        self._stretch = next(self._stretches)
        if model.varying:
            self._weigh()
        self._key = np.uint64(key_of(task.seed, run) if model.noisy else 0)
        self._stop = np.zeros(1, dtype=np.uint8) if stop is None else stop
        self.outcome: Outcome | None = None
        self._settled: Settled | None = None
        self._watch, self._waited = (0 if model.space == "rescaled" else NEVER), FIRST_WAIT

    @property
    def t(self) -> float:
        """The time it has reached."""
        return float(self._clock["t"])

    @property
    def h(self) -> float:
        """The step that it would try next."""
        return float(self._clock["h"])

    @property
    def steps(self) -> int:
        """Steps taken."""
        return int(self._clock["steps"])

    @property
    def rejected(self) -> int:
        """Steps tried and not taken."""
        return int(self._clock["rejected"])

    @property
    def evaluations(self) -> int:
        """Evaluations of the velocity."""
        return int(self._clock["evaluations"])

    def _weigh(self) -> None:
        """Put the weights of the present stretch of time in their places."""
        weigh(*self._right_side.field, self._task.model.at(self.t, self._stretch.middle, self._run))

    def advance(self, times: Array, frames: Array, patience: int) -> int:
        """See contract.Stepper."""
        times = np.ascontiguousarray(times, dtype=np.float64)
        if not frames.flags.c_contiguous:
            raise ValueError("frames must lie in memory row by row: compiled code fills them")
        self._clock["frame"] = 0
        while self.outcome is None:
            goal = goal_of(self._task, self._stretch, patience, self._watch, self._key, self._stop)
            status = self._call(goal, Output(times, frames))
            if status == BOOLEAN:
                self._settle()
                continue
            if status == ENDED and self._settled:
                self._finish(self._settled, times, frames)
                break
            if status == ENDED and self.t < self._task.t_end and self._clock["frame"] < len(times):
                self._stretch = next(self._stretches)
                self._clock["nodes"] = self._clock["left"] = 0
                if self._task.model.varying:
                    self._weigh()
                continue
            self._note(status, times, frames)
            break
        return int(self._clock["frame"])

    def _settle(self) -> None:
        """See whether attention is Boolean for good; if not, look again after twice as many steps."""
        clock = self._clock
        x = self._state.pages[NOW].T[: self._right_side.field.terms.numbers["n"]].astype(np.float64)
        task = self._task
        self._settled = settle(task.model, x, float(clock["t"]), task.t_end, task.dt if task.layers else None)
        self._watch, self._waited = int(clock["steps"]) + self._waited, 2 * self._waited
        if self._settled:
            self._stretch, self._watch = self._stretch._replace(end=self._settled.since), NEVER

    def _finish(self, rest: Settled, times: Array, frames: Array) -> None:
        """The frames of a settled run."""
        clock = self._clock
        done = rest.fill(times, frames, int(clock["frame"]))
        if done > clock["frame"]:
            clock["frame"], clock["t"] = done, times[done - 1]
        if done < len(times):
            self.outcome = Outcome.NOT_FINITE
        else:
            self.outcome = Outcome.DONE if times[-1] >= self._task.t_end else None

    def _note(self, status: int, times: Array, frames: Array) -> None:
        """What the end of a call means for the run."""
        done = self._clock["frame"]
        if status == COLLAPSED:
            frames[done:] = self._state.pages[NOW].T[: frames.shape[1]]
            self._clock["frame"] = len(times)
            self.outcome = Outcome.COLLAPSED
        elif status in FAILED:
            self.outcome = FAILED[status]
        elif times[-1] >= self._task.t_end if done == len(times) else status == ENDED:
            self.outcome = Outcome.DONE  # not before the last kept time: more of them may be asked for

    def _call(self, goal: Goal, output: Output) -> int:
        """One call of the loop that steps this run; returns a code of status.py."""
        right = self._right_side
        pointers = (self._step, right.sums, right.part)
        loop = loop_of(self._loop, *pointers, self._task.dtype, output.frames.dtype)
        with right.ready():
            return loop.enter(*pointers, right.field, self._state, goal, output, *loop.around)
