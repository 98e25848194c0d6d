"""Symptoms of the clusters: finished, still on the way, metastable, kept moving by noise."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tokenflock.diagnosis.evidence import Evidence
from tokenflock.diagnosis.symptom import Symptom
from tokenflock.engine.contract import Outcome
from tokenflock.geometry import Array, distance
from tokenflock.options import Window

#: Rows of the atlas in which the tokens come together.
TOGETHER = ("first-token", "one-point", "two-points")
ROUNDING = 1e-12  # of the speed that the model can reach
CLUSTERS, PAIRS = 1000, 50  # looked at for the next merge


def noise(e: Evidence) -> Iterator[Symptom]:
    """Brownian motion against attraction."""
    sigma = e.model.noise
    if not sigma:
        return
    # Ornstein-Uhlenbeck in the tangent plane: followers relax at rate 1 and spread by sigma^2 / 2 along each axis.
    spread = sigma * math.sqrt((e.dim - 1) / 2)
    text = (
        f"The noise {sigma:g} keeps the tokens moving: clusters stay about {spread:.2g} wide and wander, and none rest."
    )
    advice = "Look at averages over time and over runs, or set noise = 0 to see what the attraction alone does."
    yield Symptom("noise", text, spread, advice)


def clusters(e: Evidence) -> Iterator[Symptom]:
    """Where the run stands: finished, metastable or on its way."""
    failed = e.outcome is not None and e.outcome.failed
    if not e.on_sphere or not e.moved or e.model.noisy or failed:
        return
    if e.regime is not None and e.regime.row not in TOGETHER:
        return  # no end is expected: atlas.py says so
    if e.outcome is Outcome.COLLAPSED:
        text = f"All tokens met before t = {float(e.attrs['t_end']):g}: nothing changes any more."
        yield Symptom("finished", text, e.width, "A shorter t_end keeps the part that moves.")
        return
    if not e.affordable(1):
        yield Symptom("not-measured", f"Speeds were not measured: {e.n} tokens are too many for this.")
        return
    if e.speed == 0 and (not e.compact or next_merge(e)[0] is None):
        yield Symptom("finished", f"Nothing moves: the tokens form {e.many}, and every velocity is exactly 0.", 0.0)
    elif e.compact and _arrived(e):
        final = "" if e.n_clusters == 1 else ", the final ones"
        text = f"The tokens form {e.many}{final}, at most {e.width:.1e} wide, and move at no more than {e.speed:.1e}."
        yield Symptom("finished", text, e.width)
    elif e.compact and not _scalar(e) and e.rest_speed < ROUNDING * e.scale:
        seen = f"speed {e.rest_speed:.1e}" + (", followed finer" if e.rest_speed < e.speed else "")
        text = f"{e.many} at rest, as far as rounding lets one see ({seen}), but not where V alone leads."
        advice = "Push the tokens a little and go on: if they come back, this is a limit that the atlas does not have."
        yield Symptom("rests-elsewhere", text, e.rest_speed, advice)
    elif e.compact and e.slow:
        yield _metastable(e)
    else:
        still = "are not yet in clusters" if not e.compact else f"form {e.many} and still move"
        text = f"At t = {e.t:g} the tokens {still}: the fastest has speed {e.speed:.2g}."
        yield Symptom("unfinished", text, e.speed, f"Raise t_end, for example to {10 * e.t:g}.")


def _scalar(e: Evidence) -> bool:
    """Whether V = c I: then velocities of any size are exact (they are summed from differences)."""
    value = e.value[0]
    return value is not None and np.array_equal(value, value[0, 0] * np.eye(e.dim))


def _arrived(e: Evidence) -> bool:
    """Whether these clusters are the last ones."""
    if e.regime is not None and e.regime.row == "two-points" and e.model.frozen is None:
        ends = np.stack([distance(e.last, sign * e.regime.L[:, 0]) for sign in (1, -1)])
        return bool(ends.min(axis=0).max() <= 2 * e.radius_of_clusters)
    return e.slow and (e.n_clusters == 1 or e.model.frozen is not None)


def _metastable(e: Evidence) -> Symptom:
    speed = f"{e.speed:.1e}, which is not 0" if e.speed else "below 1e-300: only rounding makes it 0"
    text = f"{e.many} nearly at rest: the speed of the fastest token is {speed}."
    advice = "Raise t_end with times in equal ratios (numpy.geomspace), lower beta, or call it the metastable state."
    log10, exact = next_merge(e)
    if log10 is None:
        return Symptom("metastable", text, e.speed, advice)
    when = f"{10**log10:.3g}" if log10 < 6 else f"1e{log10:.1f}"
    how = "by the equation of two clusters" if exact else "by the scale e^{beta (1 - cos)}, to a factor of ten or so"
    number = 10**log10 if log10 < 300 else math.inf
    return Symptom("metastable", f"{text} The next two merge in about {when} more time units ({how}).", number, advice)


def next_merge(e: Evidence) -> tuple[float | None, bool]:
    """log10 of the time until the next two clusters are one, and whether by quadrature or by scale alone.

    Q = K = I and V = c I: two clusters close the angle between them on their great circle, as if alone, and the first
    token of the later one leads it. Otherwise the scale e^{s_ii - s_ij} / (m |V|) of the logits and the m tokens that
    pull, which is (L6) for Q = K = I and m = 1.
    """
    model, value = e.model, e.value[0]
    blind = isinstance(model.mask, Window) and model.mask.width == 1
    other = math.isinf(model.beta) or model.frozen or model.feedforward or model.masses is not None
    if value is None or not np.any(value) or other or blind:
        return None, False
    c = float(value[0, 0])
    plain = model.bias is None and model.norm.kind == "post" and model.mask in ("causal", "full")
    exact = plain and c > 0 and _scalar(e) and np.allclose(model.form[0], np.eye(e.dim))
    lead = e.last[e.leaders]
    best = math.inf
    for a, b in _closest(lead):
        if exact:
            log10 = _two_clusters(e, a, b, float(distance(lead[a], lead[b]))) - math.log10(c)
        else:
            logits = model.beta * lead[[b, a]] @ model.form[0] @ lead[[b, a]].T  # b is pulled by the tokens of a
            gain = logits[0, 0] - logits[0, 1] - math.log((e.labels == a).sum())
            if model.mask != "causal":
                gain = min(gain, logits[1, 1] - logits[1, 0] - math.log((e.labels == b).sum()))
            log10 = gain / math.log(10) - math.log10(float(np.linalg.norm(value, 2)))
        best = min(best, float(log10))
    return (best if math.isfinite(best) else None), exact


def _closest(lead: Array) -> list[tuple[int, int]]:
    """Pairs a < b of clusters, the closest first; the weights decide by their exponents, so far pairs never win."""
    some = lead[:CLUSTERS]
    apart = distance(some[:, None], some[None])
    a, b = np.triu_indices(len(some), 1)
    order = np.argsort(apart[a, b])[:PAIRS]
    return list(zip(a[order].tolist(), b[order].tolist(), strict=True))


def _two_clusters(e: Evidence, a: int, b: int, apart: float) -> float:
    """log10 of the time that clusters a and b need, apart -> the radius of a cluster, by quadrature.

    With u = log tan(angle / 2), du = d angle / sin angle, and the weight w = e^{beta (cos angle - 1)}:
    causal softmax u' = -m w / (1 + m w), m tokens of a before the first of b; full: both clusters move.
    """
    low = min(e.radius_of_clusters, apart / 2)
    u = np.linspace(math.log(math.tan(low / 2)), math.log(math.tan(min(apart, math.pi - 1e-9) / 2)), 4001)
    angle = 2 * np.arctan(np.exp(u))
    beta, first = e.model.beta, int(e.leaders[b])
    before = int((e.labels[:first] == a).sum())
    sizes = [float((e.labels == k).sum()) for k in (a, b)]
    least = beta * (math.cos(float(angle[-1])) - 1) if beta >= 0 else 0.0
    # Times e^least: the smallest weight is 1 and nothing underflows; beyond e^600 the time a weight costs is nothing.
    w = np.exp(np.minimum(beta * (np.cos(angle) - 1) - least, 600.0))
    unit = math.exp(-least) if -least < 700 else math.inf
    if e.model.normaliser == "softmax":
        if e.model.mask == "causal":
            slowness = 1.0 / (before * w) + 1.0 / unit
        else:
            slowness = 1.0 / sum(m * w / (own + m * w / unit) for m, own in (sizes, sizes[::-1]))
    else:
        seen = first + 1 if e.model.mask == "causal" else e.n
        share = (before if e.model.mask == "causal" else sum(sizes)) / seen
        slowness = 1.0 / (share * w)
        least += beta if e.model.normaliser == "count" else 0.0
    total = float(np.trapezoid(slowness, u))
    return math.log10(total) - least / math.log(10)
