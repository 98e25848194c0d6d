"""Symptoms of runs in R^d (paper B): clusters that do not form, a complex V; and of a start with equal tokens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tokenflock.analysis import triple
from tokenflock.diagnosis.evidence import Evidence
from tokenflock.diagnosis.symptom import Symptom

STILL = 1e-3  # of the largest |z|: tokens that moved less than this in the second half of a run


def identical(e: Evidence) -> Iterator[Symptom]:
    """Tokens that start at the place of an earlier one: nothing in a run tells them apart, or only their number."""
    distinct = len(np.unique(e.start, axis=0))
    if distinct == e.n:
        return
    if e.model.mask != "full" or e.model.bias is not None:
        what = "They see different tokens, and may part by that alone"
    elif e.model.noisy:
        what = "Only the noise parts them"
    else:
        what = "They see the same, so they stay together for ever, as one token that counts more"
    text = (
        f"{e.n - distinct} of {e.n} tokens start at the place of an earlier one: there are {distinct} different ones."
    )
    advice = "Draw the start anew, or give the tokens masses if this is what you mean."
    yield Symptom("identical", f"{text} {what}.", distinct / e.n, advice)


def turning(e: Evidence) -> Iterator[Symptom]:
    """In R^d: a complex leading eigenvalue, and the angular speed that is seen."""
    found = e.shape
    if e.on_sphere or isinstance(found, str) or found.turning is None:
        return
    lam = found.leading
    text = (
        f"lambda_1 = {lam.real:.3g} +- {lam.imag:.3g} i: x turns as it grows, at the angular speed {found.turning:.4g}"
    )
    text += (
        f" measured in the second half of the run, {lam.imag:.4g} predicted. What leads a token can change for ever:"
    )
    text += " paper B expects no clusters for such V."
    yield Symptom("rotating", text, found.turning, "Remove the antisymmetric part of V to see what it does.")


def gathering(e: Evidence) -> Iterator[Symptom]:
    """In R^d: whether the rescaled tokens have gathered at a few places, do so, or will not."""
    if e.on_sphere or not e.moved or (e.outcome is not None and e.outcome.failed):
        return
    found = e.shape
    if isinstance(found, str):
        text = f"Clusters were not looked at: {found}."
        yield Symptom("not-measured", text, advice="Paper B's clusters are those of z = exp(-tV) x, where V grows.")
        return
    distinct = len(np.unique(e.start, axis=0))
    where = f"{found.places} place{'s' * (found.places > 1)}"
    along = f"in the {found.n_growing} direction{'s' * (found.n_growing > 1)} that V makes grow"
    few = found.places == 1 or found.places < distinct / 2
    if found.settled and few:
        text = f"The {e.n} rescaled tokens end at {where} {along}: attention is Boolean for good."
        yield Symptom("finished", text, float(found.places))
    elif found.settled or (not few and found.moved < STILL):
        rests = "each keeps its leader for good" if found.settled else "they hardly move any more"
        text = f"Clusters do not form: the {distinct} different tokens end at {where} {along}, and {rests}."
        advice = "Many tokens that lead themselves, as in high dimension, stay apart: a longer run changes nothing."
        yield Symptom("no-clustering", text, float(found.places), advice)
    elif found.turning is not None and not few and e.t * found.leading.imag > 2 * np.pi:
        text = f"Clusters have not formed: after {e.t * found.leading.imag / (2 * np.pi):.2g} turns the {distinct}"
        text += f" different tokens are at {where} {along}."
        yield Symptom("no-clustering", text, float(found.places), "Leaders change as x turns: V is complex.")
    else:
        text = f"At t = {e.t:g} the {e.n} rescaled tokens are at {where} {along}, and moved by {found.moved:.2g}"
        text += " times the largest |z| in the second half of the run."
        yield Symptom("unfinished", text, found.moved, f"Raise t_end, for example to {2 * e.t:g}.")


def uncovered(e: Evidence) -> Iterator[Symptom]:
    """In R^d: hypotheses of Theorems 4.2 and 5.2 of paper B that (Q, K, V) lacks, if it has neither."""
    model = e.model
    eye = np.eye(e.dim)
    if e.on_sphere or (np.array_equal(model.values, -eye[None]) and np.array_equal(model.form, eye[None])):
        return  # of V = -I it says that all tokens tend to 0
    lacks = [] if model.mask == "full" else ["the mask is not full"]
    if model.n_heads > 1:
        lacks.append(f"there are {model.n_heads} heads")
    else:
        judged = [test(model.form[0].T, None, model.values[0]) for test in (triple.good, triple.good_with_multiplicity)]
        if not any(one.holds for one in judged):
            lacks += [one.fails[0].rstrip(".") for one in judged]
    if lacks:
        text = f"No theorem of paper B covers this model: {'; '.join(lacks)}."
        yield Symptom("not-covered", text, advice="What is seen may still be what they say: it is then a finding.")
