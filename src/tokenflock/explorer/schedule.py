"""A run and the changes on its way, as stages: each goes on from a frame of the one before, with its own model.

What a run.toml and the list `then` say is all there is to know: the same dictionary gives the same frames again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock.errors import SpecError, bad
from tokenflock.explorer.limits import Limits
from tokenflock.explorer.messages import CheckedRun, check_run
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.request import Request, check_start
from tokenflock.spec import known

CHANGE = ("at", "model", "simulate")


@dataclass(frozen=True, eq=False)
class Stage:
    """A stretch of a run with one model. Frame numbers and times are those of the whole run."""

    plan: CheckedRun
    request: Request
    first: int  # the frame it goes on from; -1 for the first stage, which starts from the tokens themselves
    begin: float  # the time of that frame
    times: Array  # of its own frames first + 1, first + 2, ..., from its beginning on

    @property
    def last(self) -> int:
        """The number of its last frame."""
        return self.first + len(self.times)

    def until(self, frame: int) -> Stage:
        """The stage, ended at a frame; its steps are those of the whole stage, so that nothing moves by a bit."""
        return Stage(self.plan, self.request, self.first, self.begin, self.times[: frame - self.first])


def stage(planned: CheckedRun, first: int, begin: float) -> Stage:
    """One stage of a plan: its kept times, without 0 where another stage ended there."""
    request = Request(planned.model, **planned.options)
    request.engine_for(len(planned.start))  # an engine that cannot run it says so before anything is computed
    wanted = request.kept
    if first < 0:
        wanted = wanted if wanted[0] == 0 else np.concatenate([[0.0], wanted])
    else:
        wanted = wanted[wanted > 0]
        wanted = wanted[np.diff(begin + wanted, prepend=begin) > 0]  # at t = 1e20 a step of 1 is none
        if not len(wanted):
            raise bad("t_end", request.t_end, f"more than rounding of t = {begin:g}", "Raise t_end, or restart.")
    return Stage(planned, request, first, begin, wanted)


def cannot_continue(before: Model, after: Model) -> str | None:
    """Why a run with one model cannot go on with another from the middle, or None."""
    reasons = (
        (before.dim != after.dim, "the dimension changed"),
        (before.space != after.space, "the space changed"),
        (not (before.autonomous and after.autonomous), "the right-hand side depends on time"),
        (before.has_radius or after.has_radius, "the magnitudes of this layer norm start anew"),
        (after.norm.kind == "mix", "the layer norm has a switch time"),
    )
    return next((why for applies, why in reasons if applies), None)


def stages(spec: Mapping[str, Any], limits: Limits) -> list[Stage]:
    """All stages of a run; the first error names what is wrong."""
    changes = spec.get("then") or []
    if not isinstance(changes, list):
        raise bad("then", type(changes).__name__, "a list of changes, each a table of at, model and simulate")
    if len(changes) > limits.changes:
        raise bad("then", f"{len(changes)} changes", f"a list of at most {limits.changes}", "Restart from here.")
    planned = check_run(spec, limits)
    check_start(planned.model, planned.start)
    found = [stage(planned, -1, 0.0)]
    for change in changes:
        found = extended(found, change, limits)
    return found


def extended(before: list[Stage], change: Any, limits: Limits) -> list[Stage]:
    """The stages up to the frame `at` of a change, and a new one from there on."""
    if not isinstance(change, Mapping):
        raise bad("then", type(change).__name__, "tables of at, model and simulate")
    known("key of then", change, CHANGE)
    at = change.get("at")
    if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at <= before[-1].last:
        raise bad("then.at", at, f"a frame of the run, 0 to {before[-1].last}")
    kept = [s.until(min(at, s.last)) for s in before if s.first < at or s.first < 0]
    asked = {"model": change.get("model"), "simulate": change.get("simulate"), "start": before[0].plan.spec["start"]}
    planned = check_run(asked, limits, before[0].plan.start)
    if why := cannot_continue(kept[-1].plan.model, planned.model):
        raise SpecError(f"the run cannot go on from here: {why}. Restart it.")
    last = kept[-1]
    begin = last.begin + float(last.times[at - last.first - 1])
    added = stage(planned, at, begin)
    most = 2 * min(limits.frames, limits.held_bytes // (8 * len(planned.start) * (planned.model.dim + 1)))
    if added.last + 1 > most:
        raise bad("then", f"{added.last + 1} frames", f"at most {most} of so many tokens", "Restart from here.")
    return [*kept, added]


def all_times(found: list[Stage]) -> Array:
    """The times of all frames."""
    return np.concatenate([s.begin + s.times for s in found])
