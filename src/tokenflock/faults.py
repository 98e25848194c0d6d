"""What is wrong with a kernel of the user's, in a sentence that names the token and the time."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tokenflock.engine.contract import Task
from tokenflock.engine.reference import ReferenceStepper
from tokenflock.errors import SpecError
from tokenflock.geometry import Array
from tokenflock.interaction import weight_fault
from tokenflock.model import Model, flow_at, logits, velocity
from tokenflock.schemes import TSIT5
from tokenflock.sphere import retract

MOST_PAIRS = 4_000_000  # that are looked at before a run: those of the first tokens and runs
MOST_TOKENS, PATIENCE = 2000, 3000  # of a run that is followed once more, and the evaluations that it may take
STEPS = tuple(2.0**-k for k in range(40, -1, -1))  # how far ahead of the last good tokens the bad weight is looked for


def fault_at(model: Model, x: Array, t: float) -> SpecError | None:
    """What is wrong with the weights of tokens x, or None."""
    if model.usual:
        return None
    return weight_fault(model, logits(model, x, flow_at(model, t)), x, t)


def check_weights(model: Model, start: Array) -> None:
    """Refuse starts whose weights cannot be used: nothing has been computed yet. See Model.usual."""
    seen = 0
    for x in start if start.ndim == 3 else start[None]:
        part = x if model.masses is not None else x[: max(1, math.isqrt(MOST_PAIRS))]
        seen += model.n_heads * len(part) ** 2
        if seen > MOST_PAIRS and seen > model.n_heads * len(part) ** 2:
            return
        if told := fault_at(model, part, 0.0):
            raise told


def fault_after(task: Task, x: Array, t: float) -> str:
    """Why a run from good tokens x at time t came to tokens that are none, if its weights are to blame; or nothing."""
    model = task.model
    if model.usual or len(x) > MOST_TOKENS or model.has_radius or model.noise:
        return ""
    again = dataclasses.replace(task, scheme=TSIT5, dt=None, dtype="float64", auto=False)
    stepper = ReferenceStepper(again, x, 0, None)
    frames = np.empty((1, *x.shape))
    stepper.advance(np.array([max(task.t_end - t, STEPS[0])]), frames, PATIENCE)
    y, at = stepper.y, t + stepper.t
    if told := fault_at(model, y, at):
        return str(told)
    v = velocity(model, y)
    for h in STEPS:
        ahead = y + h * v
        if told := fault_at(model, retract(ahead) if model.space == "sphere" else ahead, at + h):
            return str(told)
    return ""
