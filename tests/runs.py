"""Runs by an engine itself, without a front door: what tests of engines share."""

import numpy as np

from tokenflock.engine.contract import Task
from tokenflock.schemes import SCHEMES

T_END, TIMES = 1.5, np.linspace(0.0, 1.5, 7)


def task(model, scheme="tsit5", dtype="float64", dt=None, t_end=T_END, rtol=1e-6, atol=1e-9, seed=0):
    """How to run a model, with the defaults of a user."""
    table = None if scheme == "layers" else SCHEMES[scheme]
    return Task(model, t_end, table, dt, rtol, atol, dtype, seed)


def frames_for(work, n, times):
    """Room for the frames of one run; what is not filled stays nan."""
    return np.full((len(times), n, work.model.dim + work.model.has_radius), np.nan, dtype=work.dtype)


def followed(engine, work, x, times=TIMES, patience=10**9, **options):
    """A whole run, in as many calls as its patience needs."""
    stepper, frames, filled = engine.begin(work, x, **options), frames_for(work, len(x), times), 0
    while filled < len(times) and stepper.outcome is None:
        filled += stepper.advance(times[filled:], frames[filled:], patience)
    return stepper, frames
