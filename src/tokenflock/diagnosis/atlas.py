"""Symptoms of the model: what the spectrum of V lets one expect, and what is seen of it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tokenflock.analysis import spectrum
from tokenflock.diagnosis.clustering import TOGETHER
from tokenflock.diagnosis.evidence import Evidence
from tokenflock.diagnosis.symptom import Symptom
from tokenflock.engine.contract import Outcome
from tokenflock.geometry import Array, distance, retract
from tokenflock.options import Window

DIVERGED = 10.0  # times the largest |x| of the start


def diverging(e: Evidence) -> Iterator[Symptom]:
    """Tokens that escape in R^d, with the rate and the spectrum behind it."""
    if e.on_sphere or not e.moved:
        return
    largest = np.linalg.norm(e.x, axis=-1).max(axis=-1)
    grown = float(largest[-1] / max(float(largest[0]), 1e-300))
    if grown <= DIVERGED and e.outcome is not Outcome.NOT_FINITE:
        return
    half = int(np.searchsorted(e.times, e.t / 2, side="right")) - 1
    half = min(half, len(e.times) - 2)
    rate = math.log(largest[-1] / max(float(largest[half]), 1e-300)) / (e.t - float(e.times[half]))
    real = np.linalg.eigvals(e.model.values.sum(axis=0)).real
    text = f"The largest |x| grew {grown:.3g} times, lately like e^({rate:.3g} t)"
    if e.model.space == "rescaled":
        text += f"; V has the real parts {real.min():.3g} to {real.max():.3g}, and z = exp(-tV) x blows up the lowest."
        advice = "Directions of negative eigenvalues need no rescaling: take space='euclidean'."
    else:
        text += f"; the largest real part of an eigenvalue of V is {real.max():.3g}."
        advice = "Take space='rescaled' to see the shape (paper B), or space='sphere' for a layer norm."
    yield Symptom("diverging", text, rate, advice)


def rotating(e: Evidence) -> Iterator[Symptom]:
    """A complex leading eigenvalue, and the angular speed that is seen."""
    value, regime = e.value[0], e.regime
    if value is None or regime is None or not regime.is_complex or not e.on_sphere or not e.moved:
        return
    from scipy.linalg import eig

    lam, left, _ = eig(value, left=True, right=True)
    k = int(np.argmin(np.abs(lam - regime.lambda_max)))
    speed = regime.lambda_max.imag
    c = e.x @ left[:, k].conj()  # <w, x>: of e^{tV} x its phase advances at Im lambda, whatever V does else
    later = slice(-max(4, len(e.times) // 10), None)  # the last ones: the tokens have caught up with each other
    if len(e.times[later]) > 2 and float(np.diff(e.times[later]).max()) * speed < 1.5:
        phase, how = np.unwrap(np.angle(c[later]), axis=0), "by the last frames"
        seen = (phase[-1] - phase[0]) / (e.t - float(e.times[later][0]))
    else:  # frames too far apart to count turns
        moved = e.velocity(e.last) @ left[:, k].conj()
        seen, how = (moved / np.where(np.abs(c[-1]) > 1e-12, c[-1], np.inf)).imag, "by the velocity at the last frame"
    measured = float(np.median(seen))
    text = f"lambda_max = {regime.lambda_max.real:.3g} +- {speed:.3g} i: the tokens turn inside L for ever, at the"
    text += f" angular speed {measured:.4g} measured {how}, {speed:.4g} predicted."
    advice = "There is no limit point: compare tokens with each other, or remove the antisymmetric part of V."
    yield Symptom("rotating", text, measured, advice)


def no_clustering(e: Evidence) -> Iterator[Symptom]:
    """Models in which the tokens are not expected to come together, and the hypothesis that fails."""
    if not e.on_sphere:
        return
    value, why = e.value
    regime = e.regime
    reasons = list(_other_reasons(e))
    if value is not None and regime is None:
        reasons.insert(0, "V is 0, and nothing moves")
    elif regime is not None and regime.row not in TOGETHER:
        claim = "; ".join(regime.fails) or f"lambda_max = {regime.lambda_max.real:.3g} < 0, so tokens repel each other"
        reasons.insert(0, f"{claim}: {regime.prediction.split(': ')[-1]}")
    if reasons:
        number = None if regime is None else regime.lambda_max.real
        moving = f" The fastest token has speed {e.speed:.2g}." if e.moved and e.affordable(1) else ""
        advice = "Do not wait for it: a longer run will not have it either."
        text = f"No single cluster at rest is expected: {'; and '.join(reasons)}.{moving}"
        yield Symptom("no-clustering", text, number, advice)
    hypotheses = [why] if why else []
    hypotheses += list(_uncovered(e))
    if regime is not None and regime.row in TOGETHER and regime.fails:
        hypotheses.append(f"of {regime.claim} of paper A it lacks that {', and that '.join(regime.fails)}")
    if hypotheses:
        text = f"No theorem or conjecture of paper A covers this model: {'; '.join(hypotheses)}."
        advice = "What is seen may still be what the atlas says: it is then a finding."
        yield Symptom("not-covered", text, advice=advice)


def _other_reasons(e: Evidence) -> Iterator[str]:
    model = e.model
    if model.frozen is not None and len(model.frozen.tokens) > 1:
        yield f"{len(model.frozen.tokens)} frozen tokens keep clusters of their own (Theorem 5.2 of A)"
    if model.noise:
        yield f"the noise {model.noise:g} spreads every cluster"
    if model.groups is not None:
        yield f"its tokens are of {len(model.groups.names)} kinds, {', '.join(model.groups.names)}"
    if isinstance(model.mask, Window) and model.mask.width == 1:
        yield "a window of width 1 shows every token itself alone"


def _uncovered(e: Evidence) -> Iterator[str]:
    """Parts of the model that the causal theorems leave out. Any beta, Q and K are covered."""
    model = e.model
    if model.mask == "full":
        yield (
            "the mask is full, where the limit is not x_1(0) "
            "(papers C and E: one cluster for Q = K = V = I in dimension 3 and above)"
        )
    elif isinstance(model.mask, Window):
        yield f"the window of width {model.mask.width} hides the first token from the later ones"
    elif model.mask != "causal":
        yield "the mask hides tokens that the theorems let every later token see, or shows later ones"
    if model.feedforward is not None:
        yield "the feed-forward moves every token by itself"
    if model.normaliser != "softmax":
        yield f"the normaliser is {model.normaliser!r} (though the proof of Theorem 4.1 asks only for positive weights)"
    if model.masses is not None:
        proof = " (though the proof of Theorem 4.1 asks only for positive weights)" if (model.masses > 0).all() else ""
        yield f"the tokens have masses{proof}"
    if model.position is not None:
        yield "logits depend on the positions of tokens"
    if model.common_noise is not None:
        yield "noise moves all tokens alike"
    if model.varying:
        yield f"{' and '.join(model.varying)} change{'s' if len(model.varying) == 1 else ''} with time"
    if model.drift is not None:
        yield "all of the velocity is a function of yours" if model.drift.whole else "a drift of yours moves the tokens"
    if math.isinf(model.beta):
        yield "beta = inf: hardmax weights are not continuous"
    if model.norm.kind != "post":
        yield f"the layer norm is {model.norm.kind!r} (paper F)"
    if e.scheme == "layers":
        yield f"the layers are steps of dt = {e.dt:g}, not the flow"


def atlas(e: Evidence) -> Iterator[Symptom]:
    """The prediction of the atlas beside what the last frame shows."""
    regime, model = e.regime, e.model
    if regime is None or not e.on_sphere or model.noisy or model.groups or model.feedforward or model.frozen:
        return
    if model.drift is not None or "value" in (model.varying or {}):
        return
    text = f"The atlas of paper A for this V ({regime.row}) predicts: {regime.prediction}."
    if not e.moved:
        yield Symptom("atlas", text)
        return
    causal = model.mask == "causal"
    seen = f" Seen at t = {e.t:g}: {e.many}" if e.compact else f" Seen at t = {e.t:g}: no clusters yet"
    if regime.row in ("first-token", "one-point") and causal:
        far = float(distance(e.last, limit_point(regime, e)).max())
        seen += f", the farthest token {far:.2g} from that point."
    elif regime.row in ("first-token", "one-point"):
        far = float(distance(e.last, e.last[:1]).max())
        seen += f", the farthest token {far:.2g} from the first (for this mask the point itself is not predicted)."
    elif regime.row == "two-points":
        along = e.last @ regime.L[:, 0]
        far = float(np.minimum(distance(e.last, regime.L[:, 0]), distance(e.last, -regime.L[:, 0])).max())
        split = f"{int((along > 0).sum())} and {int((along <= 0).sum())} tokens"
        seen += f", {split} on the two sides, the farthest {far:.2g} from xi or -xi."
    else:
        inside = np.linalg.norm(e.last @ regime.L, axis=-1)
        far = float(inside.mean())
        seen += f", |P_L x| from {inside.min():.2g} to {inside.max():.2g}, {far:.2g} on average."
    yield Symptom("atlas", text + seen, far)


def limit_point(regime: spectrum.Regime, e: Evidence) -> Array:
    """Where the first token tends: its part in L along the other eigenspaces (P_L where they are orthogonal)."""
    if regime.row == "first-token":
        return np.asarray(e.start[0])
    value = e.value[0]
    assert value is not None
    left = spectrum.classify(value.T).L
    return retract(regime.L @ np.linalg.solve(left.T @ regime.L, left.T @ e.start[0]))
