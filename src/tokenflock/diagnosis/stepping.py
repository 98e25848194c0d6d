"""Symptoms of the computation itself: how it ended, the sphere, the steps, the tolerance, the start."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tokenflock.diagnosis.evidence import Again, Evidence
from tokenflock.diagnosis.symptom import Symptom
from tokenflock.engine.contract import Outcome

VISIBLE = 1e-2  # radians, or a share of the largest |x|: a token this far off is seen to be elsewhere
SENSITIVE = 100.0  # a cluster of n tokens gains sqrt(n) by rotating together; more than this is instability
#: dt times the fastest rate up to which a scheme decays where the flow does.
STABLE = {"euler": 2.0, "heun": 2.0, "rk4": 2.78}


def ending(e: Evidence) -> Iterator[Symptom]:
    """Runs that did not come to their end."""
    reached = f"t = {e.t:g} of {float(e.attrs['t_end']):g}"
    if e.outcome is Outcome.INTERRUPTED:
        yield Symptom("interrupted", f"The run was interrupted at {reached}.", e.t, "Repeat it: flock.again(run).")
    elif e.outcome is Outcome.SMALL:
        text = f"The step size fell below rounding at {reached}, with rtol = {e.attrs['rtol']:g}."
        advice = "Raise rtol, or take scheme='rk4' with dt. A kink of a ReLU or a tie of a hardmax does this."
        yield Symptom("step-too-small", text, e.t, advice)
    elif e.outcome is Outcome.NOT_FINITE:
        largest = float(np.linalg.norm(e.last, axis=-1).max())
        text = f"The tokens were no longer finite after {reached}; the last finite |x| is {largest:.3g}."
        advice = "Lower dt or t_end; normaliser='scaled-count' for a large beta, space='rescaled' in R^d."
        yield Symptom("not-finite", text, e.t, advice)


def off_sphere(e: Evidence) -> Iterator[Symptom]:
    """| |x| - 1 | against what the dtype allows."""
    if not e.on_sphere:
        return
    off = float(np.abs(np.linalg.norm(e.x, axis=-1) - 1).max())
    allowed = max(1e-12, 50 * float(np.finfo(e.dtype).eps) * math.sqrt(e.dim))
    if off > allowed:
        text = f"Tokens are up to {off:.1e} off the sphere; {e.dtype} allows {allowed:.0e}."
        yield Symptom("off-sphere", text, off, "The positions were changed after the run, or saved in a smaller dtype.")


def fixed_steps(e: Evidence) -> Iterator[Symptom]:
    """dt against the fastest rate of the flow, and steps that go back and forth."""
    if e.dt is None or not e.moved:
        return
    if e.rate is None:
        yield Symptom("not-measured", f"The fastest rate was not measured: {e.n} tokens are too many for this.")
    elif e.dt * e.rate > 1:
        limit = STABLE.get(e.scheme, math.inf)
        state = "the steps overshoot" if e.scheme in STABLE else "a layer does not follow the flow"
        state = f"beyond {limit:g}, where {e.scheme} is unstable" if e.dt * e.rate > limit else state
        text = f"A step of {e.dt:g} is {e.dt * e.rate:.3g} times the shortest time scale, 1 / {e.rate:.3g}: {state}."
        yield Symptom("step-too-large", text, e.dt * e.rate, f"Take dt below {0.2 / e.rate:.1g}, or scheme='tsit5'.")
    elif e.dt * e.rate < 1e-3 and not e.model.noisy and math.isfinite(e.model.beta):
        text = f"A step of {e.dt:g} is {e.dt * e.rate:.1e} of the shortest time scale, 1 / {e.rate:.3g}: far more"
        yield Symptom("step-too-small", f"{text} work than the error asks for.", e.dt * e.rate, "Take scheme='tsit5'.")
    path = e.steps_from_here(3) if e.affordable(15) else None
    if path is None:
        return
    first, second = np.diff(np.concatenate([e.last[None], path]), axis=0)[:2]
    sizes = float(np.linalg.norm(first)), float(np.linalg.norm(second))
    turned = float((first * second).sum()) / max(sizes[0] * sizes[1], 1e-300)
    if turned < -0.5 and sizes[1] > 0.5 * sizes[0] and sizes[0] > 1e-9:
        turning = 0.0 if e.regime is None else e.dt * e.regime.lambda_max.imag
        why = "The step is larger than the dynamics allows" if turning < 1 else "V turns the tokens that much a step"
        text = f"Steps go back and forth: each has the overlap {turned:.2f} with the one before. {why}."
        yield Symptom("oscillating", text, turned, "Lower dt. As a transformer of such layers it oscillates for ever.")


def repeated(e: Evidence) -> Iterator[Symptom]:
    """What a finer repetition and disturbed starts say."""
    found = e.again
    if not isinstance(found, Again):
        if e.has_positions:
            yield Symptom("not-measured", f"Accuracy and sensitivity were not measured: {found.rstrip('.')}.")
        return
    if found.gap > VISIBLE:
        finer = ", ".join(f"{name} = {e.finer[name]:g}" for name in ("rtol", "dt") if name in e.finer)
        where = f"Tokens end up to {found.gap:.2g} from where a finer run ({finer}) ends"
        if e.dt is None:
            text, advice = f"{where}: rtol = {e.attrs['rtol']:g} is too loose.", "Lower rtol, 100 times at first."
            yield Symptom("tolerance-too-loose", text, found.gap, advice)
        else:
            advice = "Lower dt, or take scheme='tsit5'."
            if e.scheme == "layers":
                advice = "As layers this is exact; as the flow in continuous time it is not: lower dt."
            yield Symptom("inaccurate", f"{where}: {e.scheme} with steps of {e.dt:g} is too coarse.", found.gap, advice)
    if found.growth > SENSITIVE:
        rate = math.log(found.growth) / found.when
        grows = f"A disturbance of the start grows {found.growth:.3g} times by t = {found.when:g}"
        text = f"{grows}, at the rate {rate:.3g}"
        advice = "Compare statistics of many starts rather than single tokens, and compute them more finely."
        yield Symptom("sensitive", f"{text} (0 or less where the start does not matter).", rate, advice)
