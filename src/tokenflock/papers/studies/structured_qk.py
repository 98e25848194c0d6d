"""Where do Q and K overcome V? A phase diagram.

The atlas of paper A lets V alone decide. With V = diag(1, r) and Q'K = s R(psi), R the rotation by psi, the second
token at the angle phi from the first one, which is at its limit (1, 0), obeys

    phi' = -sin(phi) g(phi),   g = (1 - r)(1 - a) cos(phi) + a,   a = 1 / (1 + e^{s (cos(psi) - cos(phi - psi))}),

a its attention to the first token. Zeros of g at which phi' falls are places where it rests for good, away from +-xi:
Q and K overcome V. The boundary in (s, psi) follows from this scalar equation alone; the diagram is measured with more
tokens, to see whether two of them tell the whole story. r = 1 is Theorem 4.1: there nothing may rest elsewhere.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis.statistics import Estimate, wilson
from tokenflock.geometry import Array, to_sphere
from tokenflock.model import Model
from tokenflock.papers.claims.causal.next_weights import judged
from tokenflock.papers.layout import panels
from tokenflock.papers.studies.ledger import Answer, Inquiry, Sizes, Table, spread, study
from tokenflock.simulation import simulate
from tokenflock.weights import plane_rotation

KINDS = ("gaussian", "symmetric", "positive", "quarter turn")


def rests_elsewhere(scale: float, psi: float, ratio: float, points: int = 2001) -> bool:
    """Whether the second token has a stable place off +-xi, on either side of the first one (angles in degrees)."""
    phi = np.linspace(0, np.pi, points)[1:-1]
    for turn in (math.radians(psi), -math.radians(psi)):
        logit = scale * (math.cos(turn) - np.cos(phi - turn))
        a = 1 / (1 + np.exp(np.clip(logit, -700, 700)))  # exp(709) is the last finite one
        g = (1 - ratio) * (1 - a) * np.cos(phi) + a
        # phi' = -sin(phi) g: stable where g rises through 0.
        if np.any((g[:-1] < 0) & (g[1:] >= 0)):
            return True
    return False


def _one(rng: np.random.Generator, d: int, form: Array, value: Array, n: int, t_end: float) -> int:
    """1: a token rests for good elsewhere; 0: all are at +-xi, or at x_1(0) for V = I; -1: neither, by t_end."""
    model, start = Model(dim=d, key=form, value=value), to_sphere(rng, (n, d))
    run = simulate(model, start, t_end, times=[t_end], rtol=1e-8, throw=False, progress=False)
    x = run["x"].values
    if not len(x) or not np.isfinite(x).all():
        return -1
    xi = np.eye(d)[:1]
    allowed = start[:1] if (value == np.eye(d)).all() else np.concatenate([xi, -xi])
    ok = judged(model, x[0], allowed)[0]
    return -1 if ok is None else int(not ok)


def _plane(generator: np.random.Generator, scale: float, psi: float, ratio: float, s: Sizes) -> list[int]:
    """Uniform starts at one point of the diagram."""
    form, value = scale * plane_rotation(math.radians(psi)), np.diag([1.0, ratio])
    return spread(lambda rng: _one(rng, 2, form, value, s["n_tokens"], s["t_end"]), generator, s["starts"])


def _random(generator: np.random.Generator, scale: float, kind: str, s: Sizes) -> list[int]:
    """Q'K in more dimensions, V = diag(1, r, r^2, ...): Gaussian ones, and the quarter turn of the first plane."""
    d = s["dim"]

    def one(rng: np.random.Generator) -> int:
        G = rng.standard_normal((d, d)) / math.sqrt(d)
        turn = np.zeros((d, d))
        turn[:2, :2] = plane_rotation(math.pi / 2)
        form = {"gaussian": G, "symmetric": (G + G.T) / math.sqrt(2), "positive": G @ G.T, "quarter turn": turn}[kind]
        # Distinct eigenvalues, as Conjecture 1 asks: equal ones leave whole curves of places to rest.
        value = np.diag(s["ratio_random"] ** np.arange(d))
        return _one(rng, d, scale * form, value, s["n_tokens"], s["t_end"])

    return spread(one, generator, s["random_starts"])


def _shares(answers: list[int]) -> tuple[Estimate, float]:
    """The share that rests elsewhere of the decided ones, and the share that is undecided."""
    decided = [a for a in answers if a >= 0]
    return wilson(sum(decided), len(decided)), 1 - len(decided) / len(answers)


def _draw(answer: Answer) -> plot.Figure:
    table, random = answer.table("diagram"), answer.table("random")
    ratios = [r for r in sorted(set(table["r"])) if r < 1]
    figure, axes = panels(len(ratios) + 1, 2.7)
    for ax, ratio in zip(axes, ratios, strict=False):
        rows = table.where(r=ratio)
        scales, angles = np.unique(rows["scale"]), np.unique(rows["psi"])
        grid = rows["elsewhere"].reshape(len(scales), len(angles)).T
        mesh = ax.pcolormesh(np.arange(len(scales)), angles, grid, cmap="Reds", vmin=0, vmax=1, shading="nearest")
        fine = np.geomspace(scales[0], scales[-1], 80)
        turns = np.linspace(0, 180, 181)
        inside = np.array([[rests_elsewhere(v, a, ratio, 801) for v in fine] for a in turns])
        at = np.interp(np.log(fine), np.log(scales), np.arange(len(scales)))
        ax.contour(at, turns, inside, levels=[0.5], colors=[plot.COLOURS["blue"]], linewidths=1.2)
        ax.set_xticks(np.arange(len(scales)), [f"{v:g}" for v in scales])
        ax.set(xlabel="scale $s$", yticks=[0, 45, 90, 135, 180])
        ax.set_title(f"$V$ = diag(1, {ratio:g})", loc="right")
    axes[0].set_ylabel(r"angle $\psi$ of $Q^TK = s R(\psi)$ (degrees)")
    figure.colorbar(mesh, ax=axes[len(ratios) - 1], label="share at rest off $\\pm\\xi$")
    for kind, colour in zip(KINDS, ("red", "purple", "blue", "green"), strict=True):
        rows = random.where(kind=kind)
        rows.points(axes[-1], "scale", "elsewhere", color=plot.COLOURS[colour], label=kind)
    side = f"share at rest elsewhere, $d$ = {answer.parameters['dim']}"
    axes[-1].set(xscale="log", xlabel="scale $s$", ylabel=side, ylim=(-0.03, 1.03))
    axes[-1].legend()
    return figure


@study(
    "structured-qk",
    source="A, Conjecture 1 and Table 1 (V alone decides, whatever Q and K)",
    question="Where do Q and K overcome V?",
    method="Causal attention, V = diag(1, r): the atlas says that all tokens end at +-xi = (+-1, 0). Q'K = s R(psi), "
    "a rotation by psi times a scale. A run counts against the atlas only if a token rests for good elsewhere: all "
    "before it are at their places, it does not move, and its own eigenvalues pull it back. Share of decided runs "
    "(Wilson) over s, psi and r, beside the boundary that the scalar equation of two tokens gives. Null: r = 1 "
    "(Theorem 4.1). Then Gaussian Q'K, plain, symmetric or positive, and the quarter turn, in more dimensions.",
    sizes={
        "scales": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
        "angles": (0.0, 30.0, 60.0, 75.0, 90.0, 105.0, 120.0, 150.0, 180.0),
        "ratios": (0.2, 0.6, 1.0),
        "n_tokens": 8,
        "starts": 24,
        "t_end": 250.0,
        "dim": 4,
        "ratio_random": 0.6,
        "random_starts": 60,
    },
    quick={
        "scales": (1.0, 16.0),
        "angles": (0.0, 90.0),
        "ratios": (0.6, 1.0),
        "n_tokens": 4,
        "starts": 16,
        "t_end": 200.0,
        "random_starts": 16,
    },
    draw=_draw,
)
def structured_qk(work: Inquiry, **s: Any) -> None:
    """The diagram with its boundary and its null, then random forms."""
    points = [(v, a, r) for r in s["ratios"] for v in s["scales"] for a in s["angles"]]
    found = work.each({f"s = {v:g}, psi = {a:g}, r = {r:g}": (v, a, r, s) for v, a, r in points}, _plane)
    rows = []
    for v, a, r in points:
        share, open_ = _shares(found[f"s = {v:g}, psi = {a:g}, r = {r:g}"])
        rows.append([r, v, a, share.value, share.low, share.high, open_, int(rests_elsewhere(v, a, r))])
    columns = ("r", "scale", "psi", "elsewhere", "low", "high", "undecided", "two_tokens")
    table = work.table("diagram", columns, rows, "two_tokens: whether the scalar equation has a stable place off +-xi")
    kinds = [(v, kind) for kind in KINDS for v in s["scales"]]
    drawn = work.each({f"{kind}, s = {v:g}": (v, kind, s) for v, kind in kinds}, _random)
    rows = []
    for v, kind in kinds:
        share, open_ = _shares(drawn[f"{kind}, s = {v:g}"])
        rows.append([kind, v, *share, open_])
    random = work.table("random", ("kind", "scale", "elsewhere", "low", "high", "undecided"), rows)
    _say(work, table, random, s)


def _say(work: Inquiry, table: Table, random: Table, s: Sizes) -> None:
    null = table.where(r=1.0)
    work.control("V = I: nothing rests elsewhere", np.nanmax(null["elsewhere"]) == 0, f"{np.nanmax(null['elsewhere'])}")
    plain = [row for row in table.rows if row[2] == 0 and row[0] < 1 and not math.isnan(row[3])]
    hits = max(row[3] for row in plain)
    work.control("Q'K = s I: nothing rests elsewhere", hits == 0, f"largest share {hits:.2f}")
    told = [row for row in table.rows if row[0] < 1 and not math.isnan(row[3])]
    inside, outside = ([row for row in told if row[7] == k] for k in (1, 0))
    seen = wilson(sum(row[3] > 0 for row in inside), len(inside))
    false = wilson(sum(row[3] > 0 for row in outside), len(outside))
    work.number("points inside the two-token boundary with such runs", seen, len(inside), 1.0)
    work.number("points outside it with such runs", false, len(outside), 0.0)
    for kind in KINDS:
        row = random.where(kind=kind, scale=max(s["scales"])).rows[0]
        work.number(f"elsewhere, {kind} Q'K, s = {row[1]:g}, d = {s['dim']}", Estimate(*row[2:5]), s["random_starts"])
    # The weakest Q and K, for each r, at which a run was seen to rest elsewhere.
    weakest = {r: min((row[1] for row in told if row[0] == r and row[3] > 0), default=math.inf) for r in s["ratios"]}
    onset = ", ".join(f"s = {v:g} for r = {r:g}" for r, v in weakest.items() if r < 1)
    turns = sorted({row[2] for row in told if row[3] > 0})
    spread_ = f"{turns[0]:g} to {turns[-1]:g} degrees" if turns else "no angle"
    work.surprise(
        f"Two tokens tell the story: {seen} of the points inside the boundary of the scalar equation have runs that "
        f"rest elsewhere, and {false} of those outside."
    )
    most = [random.where(kind=kind, scale=max(s["scales"])).rows[0] for kind in KINDS]
    each = "; ".join(f"{row[0]} {Estimate(*row[2:5])} ({row[5]:.0%} undecided)" for row in most)
    tame = random.where(kind="positive")
    hits = round(float(np.nansum(tame["elsewhere"] * (1 - tame["undecided"]))) * s["random_starts"])
    if hits:
        work.surprise(
            f"Positive definite Q'K is not safe: {hits} of {len(tame.rows) * s['random_starts']} runs with Q'K = s G "
            f"G' in d = {s['dim']} rest elsewhere too. What is safe is proved in docs/findings.md."
        )
    open_ = max([row[6] for row in table.rows if row[0] < 1] + list(random["undecided"]))
    work.answer(
        "As soon as Q'K is large and far enough from a positive multiple of I: for Q'K = s R(psi) in the plane from "
        f"{onset} on (weakest seen), at angles of {spread_}; the boundary is that of two tokens, a scalar equation. "
        f"V = I and Q'K = s I never do. In d = {s['dim']} at s = {max(s['scales']):g}, share of decided runs that "
        f"rest elsewhere: {each}.",
        f"Undecided runs (metastable ones, up to {open_:.0%} of a point with r < 1) are left out. V that is not "
        "symmetric, or other laws of Q'K, can move the boundary either way.",
    )
