"""Attention beside a feed-forward layer of growing strength: when does clustering survive?

The feed-forward acts on every token alone: tokens that have met stay together whatever it does. Whether they meet is a
contest of two rates. Attention with V = I draws a token that sees m others of its cluster towards them at the rate
m/(m+1) -> 1; the field s P_x F(x) alone separates neighbours at the rate s Lambda, its largest Lyapunov exponent.
So a cluster of many tokens should hold while s Lambda < 1, and a field without expansion (Lambda <= 0) should never
undo it: there the danger is another one, attractors of F that hold tokens back on their way.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import clusters
from tokenflock.analysis.statistics import Estimate, interval, wilson
from tokenflock.geometry import Array, distance, retract, tangent, to_sphere
from tokenflock.model import Model
from tokenflock.options import FeedForward
from tokenflock.papers.layout import panels
from tokenflock.papers.studies.ledger import Answer, Inquiry, Sizes, Table, spread, study
from tokenflock.simulation import simulate

KINDS = ("random tanh", "random relu", "steep tanh", "fitted", "rotation")
SHADES = ("blue", "green", "purple", "red", "grey")
TOGETHER = 0.05  # radians: tokens in chains of such steps are one cluster
STEEP = 6.0  # factor of the inner weights: in many dimensions such a field is chaotic
WIDTH = 4  # hidden units for each dimension, as in transformers
MEMORIES, SHARP = 4, 8.0  # what the fitted field remembers, and how sharply


def field(layer: FeedForward, x: Array) -> Array:
    """P_x F(x), (..., d)."""
    hidden = x @ layer.a.T + layer.b
    if layer.activation != "linear":
        hidden = np.tanh(hidden) if layer.activation == "tanh" else np.maximum(hidden, 0.0)
    return tangent(x, hidden @ layer.w.T)


def drawn(kind: str, d: int, rng: np.random.Generator) -> FeedForward:
    """A layer of this kind, scaled so that its tangent field has root mean square 1 on the sphere.

    steep: without a bias, and with inner weights that saturate the tanh.
    fitted: output weights by ridge regression on a field that draws every token to the nearest of a few memories.
    rotation: a skew matrix, which moves all tokens alike.
    """
    sample = to_sphere(rng, (4000, d))
    w: Any
    if kind == "rotation":
        A = rng.standard_normal((d, d))
        w, a, b, sigma = A - A.T, np.eye(d), np.zeros(d), "linear"
    else:
        a, b = rng.standard_normal((WIDTH * d, d)), 0.5 * rng.standard_normal(WIDTH * d)
        if kind == "steep tanh":
            a, b = STEEP * a, 0.0 * b
        sigma = "relu" if kind == "random relu" else "tanh"
        w = rng.standard_normal((d, WIDTH * d))
    if kind == "fitted":
        places = to_sphere(rng, (MEMORIES, d))
        pull = np.exp(SHARP * (sample @ places.T - 1))
        target = tangent(sample, pull / pull.sum(axis=1, keepdims=True) @ places)
        hidden = np.tanh(sample @ a.T + b)
        w = np.linalg.solve(hidden.T @ hidden + np.eye(len(b)), hidden.T @ target).T
    layer = FeedForward(w=w, a=a, b=b, activation=sigma)
    size = math.sqrt(np.mean(np.sum(field(layer, sample) ** 2, axis=1)))
    return FeedForward(w=w / size, a=a, b=b, activation=sigma)


def lyapunov(layer: FeedForward, d: int, rng: np.random.Generator, t_end: float = 120.0, dt: float = 0.05) -> float:
    """The largest Lyapunov exponent of x' = P_x F(x): the mean over 16 trajectories of how a small step grows (RK4)."""
    x = to_sphere(rng, (16, d))
    eps = 1e-7
    y = retract(x + eps * tangent(x, rng.standard_normal(x.shape)))
    steps, skip, grown = round(t_end / dt), round(0.3 * t_end / dt), 0.0
    for k in range(steps):
        both = np.stack([x, y])
        k1 = field(layer, both)
        k2 = field(layer, retract(both + dt / 2 * k1))
        k3 = field(layer, retract(both + dt / 2 * k2))
        k4 = field(layer, retract(both + dt * k3))
        x, y = retract(both + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
        off = np.maximum(np.linalg.norm(y - x, axis=1, keepdims=True), 1e-14)
        grown += float(np.log(off / eps).mean()) if k >= skip else 0.0
        y = retract(x + eps * (y - x) / off)
    return grown / ((steps - skip) * dt)


def _cell(generator: np.random.Generator, kind: str, d: int, s: Sizes) -> list[list[float]]:
    """For every layer and strength: strength, Lyapunov exponent, clusters, share of tokens with the first."""

    def one(rng: np.random.Generator) -> list[list[float]]:
        layer = drawn(kind, d, rng)
        growth = lyapunov(layer, d, rng, s["t_lyapunov"])
        start, rows = to_sphere(rng, (s["n_tokens"], d)), []
        for strength in s["strengths"]:
            weak = FeedForward(w=strength * layer.w, a=layer.a, b=layer.b, activation=layer.activation)
            model = Model(dim=d, beta=s["beta"], feedforward=weak if strength else None)
            x = simulate(model, start, s["t_end"], times=[s["t_end"]], progress=False)["x"].values[0]
            near = float(np.mean(distance(x, x[0]) < TOGETHER))
            rows.append([strength, growth, int(clusters.count(x, TOGETHER)), near])
        return rows

    return [row for rows in spread(one, generator, s["layers"]) for row in rows]


def _draw(answer: Answer) -> plot.Figure:
    share, layers = answer.table("survival"), answer.table("layers")
    figure, axes = panels(3)
    dims = sorted(set(share["d"]))
    for ax, d in zip(axes[:2], (dims[0], dims[-1]), strict=True):
        for k, (kind, colour) in enumerate(zip(KINDS, SHADES, strict=True)):
            rows = share.where(d=d, kind=kind)
            at = np.maximum(rows["strength"], 0.05) * 1.06 ** (k - 2)  # side by side
            rows.points(ax, at, "one_cluster", label=kind, lw=0.8, color=plot.COLOURS[colour])
        ax.set(xscale="log", ylim=(-0.04, 1.06), xlabel="strength $s$ (0 drawn at 0.05)")
        ax.set_title(f"$d$ = {d}", loc="right")
    axes[0].set_ylabel("share of layers with one cluster")
    axes[0].legend(fontsize=6.5)
    for kind, colour in zip(KINDS[:-1], SHADES, strict=False):
        rows = layers.where(kind=kind)
        at = rows["strength"] * rows["growth"]
        axes[2].plot(at, rows["share"], "o", ms=2, alpha=0.35, color=plot.COLOURS[colour], label=kind)
    axes[2].axvline(1, color=plot.COLOURS["black"], lw=0.8)
    axes[2].set(xscale="symlog", xlabel=r"$s\,\Lambda$", ylabel="share of tokens with the first", ylim=(0, 1.04))
    return figure


@study(
    "feedforward-impact",
    source="A, limitations (MLP layers); B, outlook; C, the full block (2.8)",
    question="Attention plus a feed-forward layer of growing strength, random or fitted: when does clustering survive?",
    method="Causal attention on the sphere, Q = K = V = I, with s w sigma(a x + b) inside the projection. Layers are "
    "scaled to a tangent field of root mean square 1, so that s is its speed against the pull of attention, which is "
    "at most 1. Kinds: random tanh, random ReLU, random tanh with steep inner weights, tanh fitted by ridge "
    "regression to a field with 4 memories, and a rotation, which must change nothing. Measured: the share of layers "
    "for which all tokens are one cluster at the end (Wilson), and Lambda, the largest Lyapunov exponent of the "
    "layer's own flow, to be held against s Lambda = 1.",
    sizes={
        "dims": (3, 48),
        "strengths": (0.0, 0.1, 0.3, 1.0, 3.0, 10.0),
        "layers": 40,
        "n_tokens": 10,
        "beta": 1.0,
        "t_end": 40.0,  # a token 0.02 from the antipode of the first leaves it at the rate 1/(1 + e^2): by t = 35
        "t_lyapunov": 60.0,
        "kinds": KINDS,
    },
    quick={
        "dims": (3,),
        "strengths": (0.0, 0.1, 8.0),
        "layers": 8,
        "n_tokens": 6,
        "t_end": 30.0,
        "t_lyapunov": 10.0,
    },
    draw=_draw,
)
def feedforward_impact(work: Inquiry, **s: Any) -> None:
    """Survival over the strength, and its collapse on s Lambda."""
    cases = {f"{kind}, d = {d}": (kind, d, s) for d in s["dims"] for kind in s["kinds"]}
    found = work.each(cases, _cell)
    rows, layers = [], []
    for name, (kind, d, _) in cases.items():
        cell = np.array(found[name])
        layers += [[kind, d, *row] for row in cell.tolist()]
        for strength in s["strengths"]:
            mine = cell[cell[:, 0] == strength]
            one = wilson(int((mine[:, 2] == 1).sum()), len(mine))
            rows.append([kind, d, strength, *one, float(mine[:, 2].mean()), float(mine[:, 3].mean()), len(mine)])
    columns = ("kind", "d", "strength", "one_cluster", "low", "high", "clusters", "share", "layers")
    survival = work.table("survival", columns, rows)
    points = work.table("layers", ("kind", "d", "strength", "growth", "clusters", "share"), layers)
    _say(work, survival, points, s)


def _lasts(survival: Table, kind: str, d: int) -> float:
    """The largest strength up to which at least 90 % of the layers leave one cluster."""
    rows = survival.where(kind=kind, d=d)
    order = np.argsort(rows["strength"])
    held = rows["one_cluster"][order] >= 0.9
    return float(rows["strength"][order][: len(held) if held.all() else int(np.argmin(held))].max(initial=0.0))


def _say(work: Inquiry, survival: Table, points: Table, s: Sizes) -> None:
    none = survival.where(strength=0.0)
    work.control("without a layer all gather", none["one_cluster"].min() == 1.0, f"{none['one_cluster'].min():.0%}")
    still = survival.where(kind="rotation")
    work.control("a rotation changes nothing", still["one_cluster"].min() == 1.0, f"{still['one_cluster'].min():.0%}")
    high, parts = max(s["dims"]), []
    for kind in [kind for kind in s["kinds"] if kind != "rotation"]:
        for d in s["dims"]:
            growth = points.where(kind=kind, d=d, strength=s["strengths"][-1])["growth"]
            work.number(f"Lambda, {kind}, d = {d}", interval(growth), len(growth))
            last = survival.where(kind=kind, d=d, strength=s["strengths"][-1]).rows[0]
            name = f"one cluster at s = {s['strengths'][-1]:g}, {kind}, d = {d}"
            work.number(name, Estimate(*last[3:6]), last[8])
        parts.append(f"{kind} {_lasts(survival, kind, min(s['dims'])):g} and {_lasts(survival, kind, high):g}")
    used = [row for row in points.rows if row[0] != "rotation" and row[2] > 0]
    quiet, loud = ([r for r in used if (r[2] * r[3] < 1) == calm] for calm in (True, False))
    calm, wild = (wilson(sum(r[4] == 1 for r in part), len(part)) for part in (quiet, loud))
    work.number("one cluster where s Lambda < 1", calm, len(quiet))
    fast = f"No layer of these expands (s Lambda >= 1); one cluster is left in {calm} of the cases"
    if loud:
        work.number("one cluster where s Lambda >= 1", wild, len(loud), 0.0, "predicted: none")
        fast = "Where the layer expands faster than attention contracts (s Lambda >= 1) one cluster is left in "
        fast += f"{wild} of the cases, below in {calm}"
    if len(loud) >= 10:
        work.control("expansion faster than attention scatters", wild.high < calm.low, f"{wild} against {calm}")
    slow = [r for r in quiet if r[4] > 1]
    stuck = sum(r[3] <= 0 for r in slow) / max(len(slow), 1)
    if stuck > 0.5:
        work.surprise(
            f"Most failures are not chaos: of the {len(slow)} cases with several clusters at s Lambda < 1, {stuck:.0%} "
            "have Lambda <= 0. Their tokens sit on different attractors of the layer, which are clusters too, of "
            "another kind."
        )
    strong = survival.where(kind="random relu", strength=s["strengths"][-1])
    if strong.rows and strong["one_cluster"].min() > 0.5:
        work.surprise(
            f"A random ReLU layer {s['strengths'][-1]:g} times as strong as attention still leaves one cluster in "
            f"{strong['one_cluster'].min():.0%} of layers or more: its own flow has few attractors."
        )
    work.answer(
        "It survives a weak layer; with a strong one it depends on the layer: all tokens are one "
        f"cluster, in 90 % of layers, up to the strength (d = {min(s['dims'])} and d = {high}) {'; '.join(parts)}, of "
        f"{s['strengths'][-1]:g} tried, in units of the pull of attention. {fast}; a layer that moves all tokens alike "
        "(a rotation) changes nothing at any strength.",
        "Layers that change with depth, trained together with the attention, or a larger beta, where metastable "
        f"clusters are held apart before the layer acts; random and fitted layers at beta = {s['beta']:g} were tried.",
    )
