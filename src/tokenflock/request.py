"""One request for every verb: what is to be run, checked, with all defaults and with the engine that runs it.

    Request(model, t_end, ...)        everything but the start; all rules about what goes with what are here
    request.starting(x)               the start too, and the engine for so many tokens: a Job
    job.run(...)                      to its end, or job.begin(...): step by step

`simulate`, sweeps, the explorer, merge trees, `extend` and the command line make their runs in this way only.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenflock import ending
from tokenflock.arguments import is_number, is_whole, named, numbers, positive, warn
from tokenflock.engine.choose import NAMES as ENGINES
from tokenflock.engine.choose import choose, engine_named
from tokenflock.engine.contract import Engine, EnsembleEngine, Stepper, Task
from tokenflock.engine.machine import environment
from tokenflock.engine.traits import no_implicit, pace, traits
from tokenflock.errors import SpecError, bad, clash
from tokenflock.faults import check_weights
from tokenflock.geometry import Array
from tokenflock.groups import check_rows
from tokenflock.looking import check_counts
from tokenflock.masks import sees
from tokenflock.memory import machine_bytes
from tokenflock.model import Model, masses
from tokenflock.of_runs import each_run, of_first, starts_of
from tokenflock.preparation import prepared
from tokenflock.rescaling import check_invertible
from tokenflock.runner import LONG as DECADES_FROM  # bars and default times change to log time together
from tokenflock.runner import Finished, Reducer, Runner, Telling, patience
from tokenflock.schemes import NAMES, SCHEMES, Rosenbrock, Scheme
from tokenflock.sphere import retract

AUTO, DTYPE, SEED = "auto", "float64", 0
RTOL, ATOL = 1e-6, 1e-9
DTYPES = ("float64", "float32")
OFF_SPHERE = 1e-6  # tokens this far off are put back with a warning; farther is an error
MOST_LAYERS = 10**7  # that are all kept, if no times are given
MOST_STEPS = 1e11  # of a fixed size: a day for a machine that takes a million a second
SILENT = 1e-12  # below this it is rounding
FRAMES = 101  # kept times when none are given
LONG = 300.0  # from this t_end on, of softmax weights, scheme="auto" looks whether implicit steps are cheaper
FIXED_STEP = 0.01  # of noisy and hardmax runs when no dt is given
SHORTEST = 1e-300  # differences of times of a shorter run have no reciprocals
IMPLICIT, LEADERS = "rosenbrock", "skeleton"
NOISY = ("euler", "heun")  # schemes that noise can join
STRATONOVICH = "heun"  # the one that noise common to all tokens can join: its correction is not along x
MEMORY_SHARE = 0.8  # of the machine's memory that kept positions may take
FITS = 2**24  # bytes that every machine has


class Checked(NamedTuple):
    """What the arguments of a request come to."""

    of_task: tuple[Any, ...]  # the fields of its Task after the model
    kept: Array


@dataclass(frozen=True, eq=False)
class Request:
    """A run that is asked for: the arguments of `flock.simulate` but for the start, checked, with their defaults.

    task: what an engine is given. kept: the times that are kept; of a run without an end, as many as it will keep.
    settings: all arguments but the model: under these, what follows from them is kept with it (preparation.py).
    """

    model: Model
    t_end: float
    times: Any = None
    scheme: str = AUTO
    rtol: float = RTOL
    atol: float = ATOL
    dt: float | None = None
    engine: str = AUTO
    dtype: str = DTYPE
    seed: int = SEED

    task: Task = field(init=False)
    kept: Array = field(init=False)
    settings: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        check_model(self.model)
        settings = (
            self.t_end, self.times, self.scheme, self.rtol, self.atol, self.dt, self.engine, self.dtype, self.seed
        )  # fmt: skip
        object.__setattr__(self, "settings", settings)
        found = check(self)
        object.__setattr__(self, "task", Task(self.model, *found.of_task))
        object.__setattr__(self, "kept", found.kept.copy())

    @cached_property
    def endless(self) -> bool:
        """Whether the run goes on until all tokens have met, or nothing moves any more."""
        return is_number(self.t_end) and self.t_end == math.inf

    def checked(self) -> Checked:
        """What the arguments come to; the first that cannot be is refused."""
        for kind, given, known in (
            ("dtype", self.dtype, DTYPES),
            ("scheme", self.scheme, NAMES),
            ("engine", self.engine, ENGINES),
        ):
            named(kind, given, known)
        rtol, atol = tolerances(self.rtol, self.atol, self.dtype)
        if not is_whole(self.seed):
            raise bad("seed", self.seed, "an integer")
        if self.scheme == LEADERS:
            check_skeleton(self.model)
        t_end = self._checked_end()
        scheme, dt = self._checked_steps()
        if scheme is None and self.model.space == "rescaled":
            check_invertible(self.model, dt or 0.0)
        times = None if self.endless else self.times
        kept = kept_times(times, t_end, dt if scheme is None else None, isinstance(scheme, Rosenbrock))
        end = float(kept[-1]) or t_end
        if end < SHORTEST:
            raise bad("t_end" if times is None else "times", end, f"an end of time >= {SHORTEST:g}", "Raise it.")
        if dt is not None and end / dt > MOST_STEPS:
            advice = "Raise dt, lower t_end, or take an adaptive scheme."
            raise bad("dt", dt, f"at least {end / MOST_STEPS:.3g}, {MOST_STEPS:g} steps to the end", advice)
        for name, one in (self.model.varying or {}).items():
            one.check(name, end)
        switches = self._switches and end > LONG / pace(self.model)
        return Checked((end, scheme, dt, rtol, atol, self.dtype, int(self.seed), switches), kept)

    def _checked_end(self) -> float:
        """t_end, or the last time that there is where the run has to find its own end."""
        if not self.endless:
            if self.scheme in (IMPLICIT, LEADERS):
                what = f"scheme={self.scheme!r}"
                check_implicit(what, self.model, self.dtype, "Take scheme='auto' or an explicit one.")
            end = finite_end(self.t_end)
            if self.scheme == LEADERS and end <= LONG:
                raise bad("t_end", end, f"a time > {LONG:g} for scheme='skeleton'", "Clusters stand from then on.")
            return end
        if self.times is not None and not callable(self.times):
            advice = "Leave times out for 101 over the decades it needs, or give a function of t_end that makes them."
            raise clash("t_end=inf", "times", advice)
        endless = (AUTO, IMPLICIT, LEADERS)
        if self.scheme not in endless or self.dt is not None:
            other = f"scheme={self.scheme!r}" if self.scheme not in endless else "dt"
            raise clash("t_end=inf", other, "Only implicit steps come to the end: scheme='auto', or give t_end.")
        check_implicit("t_end=inf", self.model, self.dtype, "It needs implicit steps: give a finite t_end.")
        return ending.LAST

    @property
    def _switches(self) -> bool:
        """Whether scheme="auto" may go on by implicit steps: they are cheap, or the tokens become a few bodies."""
        special = traits(self.model)
        able = self.engine == AUTO or IMPLICIT in engine_named(self.engine).schemes
        possible = self.scheme == AUTO and able and no_implicit(self.model, self.dtype) is None
        return possible and (special.collapses or (special.causal and not self.endless))

    def _checked_steps(self) -> tuple[Scheme | Rosenbrock | None, float | None]:
        """The table of the scheme, None for layers, and the fixed step if it has one."""
        name, dt = self.scheme, self.dt
        if self.endless and name == AUTO and not self._switches:
            name = IMPLICIT
        if name == AUTO:
            name = "heun" if self.model.noisy else "euler" if math.isinf(self.model.beta) else "tsit5"
            dt = FIXED_STEP if dt is None and name != "tsit5" else dt
        scheme = SCHEMES.get(name)
        return scheme, fixed_step(self.model, name, dt, adaptive=scheme is not None and scheme.adaptive)

    def times_until(self, end: float) -> Array:
        """The kept times of a run that was found to have this end."""
        return kept_times(self.times(end) if self.times is not None else None, end, long=True)

    def engine_for(self, n_tokens: int) -> Engine:
        """The engine that runs so many tokens; one that cannot do it says why."""
        return engine_of(self, n_tokens, *environment()).for_call(self.model, n_tokens)

    def starting(self, start: Any) -> Job:
        """The run from tokens (n, dim), or an ensemble from (runs, n, dim)."""
        x = check_start(self.model, start)
        if self.model.n_runs:
            return Job(self, starts_of(self, x), of_first(self).engine_for(x.shape[-2]))
        named = isinstance(self.model.mask, str) and self.model.bias is None
        model = self.model if named else self.model.written(x.shape[-2])
        if not model.usual:
            check_weights(model, x)
        request = self if model is self.model else Request(model, *self.settings)
        return Job(request, x, request.engine_for(x.shape[-2]))


@prepared
def check(request: Request) -> Checked:
    """What the arguments of a request come to."""
    return request.checked()


@prepared
def engine_of(request: Request, n_tokens: int, threads: int, device: str | None) -> Engine:
    """The engine that runs so many tokens; threads, device: what the environment says, on which the choice may hang."""
    return choose(request.engine, request.model, request.dtype, n_tokens, request.task)


@dataclass(frozen=True, eq=False)
class Job:
    """A request with its start and its engine, ready to run."""

    request: Request
    start: Array  # (n, dim) or (runs, n, dim)
    engine: Engine

    def begin(self, wide: bool = False, stop: NDArray[np.uint8] | None = None) -> Stepper:
        """A single run at its start. wide: spread it over the cores. stop: a flag that ends it at its next step."""
        return self.engine.begin(self.request.task, self.start, wide=wide, stop=stop)

    def patience(self, seconds: float) -> int:
        """How many evaluations of a single run fit into about so many seconds."""
        return patience(self.engine, self.request.model, len(self.start), seconds)

    def at_once(self, runs: int, most_bytes: int) -> int:
        """How many of `runs` runs like this one go together, with frames of up to so many bytes; 1: run by run."""
        request, n = self.request, self.start.shape[-2]
        if request.endless or not isinstance(self.engine, EnsembleEngine):
            return 1
        together = min(runs, most_bytes // max(1, self._frames_bytes(1)))
        return together if together > 1 and self.engine.parts(request.task, together, n) else 1

    def run(
        self, reducers: Mapping[str, Reducer] | None = None, positions: bool = True, progress: Telling = False
    ) -> Finished:
        """All runs to their ends. reducers: {name: function of the tokens x (n, dim)}, kept at every time."""
        request, task, times = self.request, self.request.task, self.request.kept
        starts = self.start if self.start.ndim == 3 else self.start[None]
        if (positions or request.endless) and (needed := self._frames_bytes(len(starts))) > FITS:
            self._check_memory(len(starts), needed)
        if request.endless:
            found = ending.search(self.engine, task, starts, progress)
            end = ending.end_of(found)
            if end is None:
                return found
            times, progress = request.times_until(end), ending.second_half(progress)
            task = dataclasses.replace(task, t_end=float(times[-1]))  # nothing after the last time, as in `again`
        each = each_run(request, self.engine.name, starts.shape[1]) if request.model.n_runs else None
        done = Runner(self.engine, task, times, reducers or {}, positions, progress, each=each).run(starts)
        if request.endless:
            ending.note_what_is_left(done, found)
        return done

    def _frames_bytes(self, runs: int) -> int:
        """What the frames of so many runs come to."""
        request = self.request
        frames = len(ending.DECADES) if request.endless else len(request.kept)
        columns = request.model.dim + request.model.has_radius
        one: int = frames * self.start.shape[-2] * columns * np.dtype(request.dtype).itemsize
        return runs * one

    def _check_memory(self, runs: int, needed: int) -> None:
        """Refuse frames of so many bytes that this machine cannot hold, before any of them is made."""
        if needed > MEMORY_SHARE * machine_bytes():
            frames = len(ending.DECADES) if self.request.endless else len(self.request.kept)
            given = f"{frames} frames of {runs} runs: {needed / 2**30:.1f} GiB"
            allowed = f"what fits in the {machine_bytes() / 2**30:.1f} GiB of this machine"
            raise bad("times", given, allowed, "Keep fewer times, or use reduce={...} with positions=False.")


def check_model(model: Any) -> None:
    """Whether this is a model at all."""
    if not isinstance(model, Model):
        raise bad("model", model, "a flock.Model", "For example flock.Model(dim=2, beta=64.0).")


def check_start(model: Model, start: Any) -> Array:
    """Tokens (n, dim) or (runs, n, dim), finite, and on the sphere where the model lives there."""
    x = np.array(numbers(start))  # a copy: the caller may change what was given
    if not x.ndim:
        raise bad("start", type(start).__name__, "an array of numbers (n, dim) or (runs, n, dim)")
    if x.ndim not in (2, 3) or x.shape[-1] != model.dim:
        allowed = f"(n, {model.dim}) or (runs, n, {model.dim})"
        raise bad("start.shape", x.shape, allowed, "The last axis must be the model's dim.")
    if x.size == 0:
        what = "an empty ensemble" if x.ndim == 3 and len(x) == 0 else "no tokens"
        raise bad("start.shape", x.shape, "at least one run and one token", f"This is {what}.")
    if model.groups is not None or model.n_tokens not in (None, x.shape[-2]):
        check_tokens(model, x.shape[-2])
    if not np.isfinite(x).all():
        raise bad(
            "start", "an array with nan or inf", "finite numbers", "Look for a division by zero where it is made."
        )
    if model.space != "sphere":
        return x
    with np.errstate(over="ignore"):
        off = float(np.abs(np.linalg.norm(x, axis=-1) - 1).max())
    if off > OFF_SPHERE:
        advice = "Divide every token by its length (flock.geometry.retract), or use space='euclidean'."
        raise bad("start", f"tokens up to {off:.1e} off the sphere", f"unit vectors to {OFF_SPHERE:g}", advice)
    if off > SILENT:
        warn(f"start is up to {off:.1e} off the sphere: its tokens were divided by their length.")
    return retract(x) if off > SILENT else x  # dividing again would change the last bit: `again` must not


def check_tokens(model: Model, n: int) -> None:
    """Whether what a model says of every token is said of n tokens, and whether every row has somebody in it."""
    check_counts(model, n)
    if model.groups is not None:
        check_rows(model.groups, sees(model.mask, n) & (masses(model, n) > 0))


def check_implicit(what: str, model: Model, dtype: str, advice: str) -> None:
    """Whether a model has implicit steps, which `what` cannot do without."""
    if why := no_implicit(model, dtype):
        raise SpecError(f"{what} cannot be used with {why}. {advice}")


def check_skeleton(model: Model) -> None:
    """Whether the leaders of a model carry it alone: which hypothesis fails, and what to use."""
    why = traits(model).no_bodies
    if model.mask != "causal" and why is None:
        lacks = "it has no leaders" if model.mask == "full" else "tokens at one place see different ones"
        why = f"mask={model.mask!r}: {lacks}"
    if why:
        advice = "It needs a causal mask, V = c I with c > 0 and Q'K = c' I with c' >= 0. Take scheme='auto'."
        raise SpecError(f"scheme='skeleton' cannot be used with {why}. {advice}")


def finite_end(t_end: Any) -> float:
    """The end of a run that has one."""
    return positive("t_end", t_end, "Or inf: until all tokens have met.")


def tolerances(rtol: Any, atol: Any, dtype: str) -> tuple[float, float]:
    """rtol and atol, positive, and rtol above the rounding of the dtype."""
    relative, absolute = positive("rtol", rtol), positive("atol", atol)
    least = 8 * np.finfo(dtype).eps
    if relative < least:
        raise bad("rtol", relative, f">= {least:.1e} in {dtype}", "Rounding is as large: raise rtol.")
    return relative, absolute


def fixed_step(model: Model, scheme: str, dt: Any, adaptive: bool) -> float | None:
    """The step of a scheme that has a fixed one, None for one that is adaptive."""
    if adaptive and dt is not None:
        raise clash(f"scheme={scheme!r}", "dt", "An adaptive scheme chooses its steps: leave dt out, or take 'rk4'.")
    if not adaptive and dt is None:
        raise bad("dt", None, f"a step size > 0 for scheme={scheme!r}", "Give dt, for example dt=0.1.")
    if model.noise and scheme not in NOISY:
        raise clash("noise", f"scheme={scheme!r}", "Noise needs scheme='euler' or 'heun' with dt.")
    if model.common_noise is not None and scheme != STRATONOVICH:
        advice = "It is meant in the sense of Stratonovich, which Euler's steps are not: take scheme='heun' with dt."
        raise clash("common_noise", f"scheme={scheme!r}", advice)
    return None if dt is None else positive("dt", dt)


def increasing_times(times: Any) -> Array:
    """One axis of finite, strictly increasing times."""
    wanted = np.array(numbers(times))
    if wanted.ndim != 1 or wanted.size == 0 or not np.isfinite(wanted).all():
        raise bad("times", times, "one axis of finite times")
    if (np.diff(wanted) <= 0).any():
        k = int(np.argmax(np.diff(wanted) <= 0))
        given = f"{wanted[k]:g} then {wanted[k + 1]:g} at position {k}"
        raise bad("times", given, "strictly increasing times", "Sort them and drop repeats: numpy.unique(times).")
    return wanted


def default_times(t_end: float, count: int = FRAMES, long: bool = False) -> Array:
    """So many times where none are given: equal steps; 0 and equal ratios for a long run, implicit or from 1e4 on."""
    if t_end >= DECADES_FROM or (long and t_end > 1):  # what happens is spread over the decades
        return np.concatenate([[0.0], np.geomspace(min(1e-2, t_end / 10), t_end, count - 1)])
    return np.linspace(0.0, t_end, count)


def kept_times(times: Any, t_end: float, layer: float | None = None, long: bool = False) -> Array:
    """The times to keep. layer: the time between layers, where there is none between them. long: over many decades."""
    if times is None:
        if layer is None:
            return default_times(t_end, FRAMES, long)
        if t_end / layer > MOST_LAYERS:
            advice = "Raise dt, or give the times to keep: without them every layer is kept."
            raise bad("dt", layer, f"at least {t_end / MOST_LAYERS:.3g}, {MOST_LAYERS:g} layers to t_end", advice)
        return layer * np.arange(math.floor(t_end / layer * (1 + 1e-12)) + 1)
    wanted = increasing_times(times)
    if wanted[0] < 0 or wanted[-1] > t_end:
        raise bad("times", f"{wanted[0]:g} .. {wanted[-1]:g}", f"times in [0, {t_end:g}]", "Raise t_end, or drop them.")
    if layer is None:
        return wanted
    index = np.round(wanted / layer)
    if np.abs(wanted - index * layer).max() > 1e-9 * t_end:
        raise bad("times", times, f"multiples of dt = {layer:g} for scheme='layers'", "Layers have no time between.")
    return index * layer
