"""Counterexamples to Conjecture 1 with a proved basin, and where V = diag(1, r), Q'K = diag(p, w) has such rests."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np

from tokenflock import theory
from tokenflock.errors import MissingExtra
from tokenflock.geometry import circle, distance
from tokenflock.model import Model
from tokenflock.papers.claims.causal import rests
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.simulation import simulate

SETTLED = 200.0  # the slowest example returns at the rate 0.15: e^-30 is left
SAME = 1e-6
GRID = 20_001


@claim(
    "causal/next-rests",
    kind="theorem",
    statement="Four pairs of weights, three with V symmetric, one with V and Q'K positive definite and commuting, have "
    "a stable rest off +-xi whose basin holds a box of starts: counterexamples to Conjecture 1. And the window lemma "
    "holds for eps < 0.6 with c >= 2 + 2 eps.",
    hypotheses=("two tokens, d = 2, causal, beta absorbed in Q'K",),
    trial="Starts drawn from each basin, run to t = 200.",
    measured="distance between the end and the place predicted",
    rule="holds if below 1e-6; a box that balls cannot decide is a failure",
    sizes={"trials": 100},
    quick={"trials": 10},
)
def next_rests(check: Check, strength: float = 1.0, widen: float = 1.0, prove: bool = True) -> None:
    """strength: multiplies Q'K. widen: multiplies the radii of the basins."""
    scale = Fraction(strength)
    for example in rests.EXAMPLES:
        (a, b), (c, d) = example.form
        form: rests.Matrix = ((scale * a, scale * b), (scale * c, scale * d))
        changed = example._replace(form=form, first=widen * example.first, radius=widen * example.radius)
        if prove:
            _proof(check, changed)
        check.each(f"starts: {example.name}", partial(_from_basin, example=changed), SAME)
    if prove:
        _window(check)


@claim(
    "causal/next-diagram",
    kind="theorem",
    statement="For V = diag(1, r), Q'K = diag(p, w) and two tokens there is a stable rest off +-xi iff w > p, w > (1 + "
    "3p)/2, 2p < log(1/(1 - r)), and log((1 - r) v) + w + (p v - 1)/2 > 0 at 4 (w - p) v = p + sqrt(p^2 + 8 (w - p)).",
    hypotheses=("two tokens, d = 2, causal, beta absorbed in Q'K", "0 < r < 1"),
    trial="p from -1.5 to 3, w from -1.5 to 12, r from 0.05 to 0.95: the condition against a scan of the velocity on "
    "the arc, 20,000 places.",
    measured="1 where condition and scan differ",
    rule="holds if they differ nowhere",
    sizes={"trials": 2000},
    quick={"trials": 200},
)
def next_diagram(check: Check, tokens: int = 1) -> None:
    """tokens: at xi, for the condition; the scan has one there, so that 2 must fail."""
    check.each("random weights", partial(_scan, tokens=tokens), 0.5)


def _proof(check: Check, example: rests.Example) -> None:
    try:
        found = rests.stable_rest(example)
    except MissingExtra as error:
        check.note = f"Sampled only. {error}"
        return
    check.proof(f"proof: {found.statement}", found.domain, found.boxes, failed=not found.proved)


def _window(check: Check) -> None:
    from tokenflock.papers.claims.causal import proofs

    try:
        found = proofs.window(0.6, 2.0)
    except MissingExtra:
        return
    for proof in found:
        check.proof(f"proof: {proof.statement}", proof.domain, proof.boxes, failed=not proof.proved)


def _from_basin(rng: np.random.Generator, example: rests.Example) -> Trial:
    """A start drawn from the box: where it ends, and where the equation says the rest is."""
    V, B = (np.array([[float(v) for v in row] for row in m]) for m in (example.value, example.form))
    first, second = rng.uniform(-1, 1, 2) * (example.first, example.radius)
    start = circle(np.array([first, example.angle + second]))
    run = simulate(
        Model(dim=2, key=B, value=V), start, SETTLED, times=[SETTLED], rtol=1e-10, atol=1e-13, progress=False
    )
    angle = rest_angle(V, B, example.angle, example.radius)
    if math.isnan(angle):
        return Trial(False, math.nan, "no rest in the range")
    place = circle(np.array([0.0, angle]))
    off = float(distance(run["x"].values[-1], place).max())
    return Trial(off < SAME, off)


def rest_angle(V: np.ndarray, B: np.ndarray, near: float, radius: float) -> float:
    """The zero of the second token's velocity in the range, the first one at xi; nan if there is none."""
    from scipy.optimize import brentq

    def speed(f: float) -> float:
        x1, x2, n = np.array([1.0, 0.0]), np.array([math.cos(f), math.sin(f)]), np.array([-math.sin(f), math.cos(f)])
        a = 1 / (1 + math.exp(x2 @ B @ (x2 - x1)))
        return float(n @ V @ (a * x1 + (1 - a) * x2))

    low, high = near - radius, near + radius
    return float(brentq(speed, low, high, xtol=1e-14)) if speed(low) * speed(high) < 0 else math.nan


def _scan(rng: np.random.Generator, tokens: int) -> Trial:
    """One random point of the diagram: does a fine scan of (L9) find a falling zero where the condition says so?"""
    p, w, r = rng.uniform(-1.5, 3), rng.uniform(-1.5, 12), rng.uniform(0.05, 0.95)
    found = falling_zero(p, w, r)
    differ = found != rests.tells(p, w, r, tokens)
    return Trial(not differ, float(differ), f"p = {p:g}, w = {w:g}, r = {r:g}" if differ else "")


def falling_zero(p: float, w: float, ratio: float, ahead: int = 1, behind: int = 0) -> bool:
    """Whether u' falls through 0 somewhere inside (-1, 1), on a grid that is fine at both ends."""
    u = -np.cos(np.linspace(0, np.pi, GRID))[1:-1]
    speed = theory.arc_speed(u, (1.0, ratio), (p, w), ahead, behind)
    return bool(np.any((speed[:-1] > 0) & (speed[1:] < 0)))
