"""Layers against time: how far the discrete-time transformer is from the flow as its step grows from 0.01 to 10.

    x <- N(x + dt sum_j A_ij V x_j)     one layer (E12);     x' = P_x sum_j A_ij V x_j     the flow (E6)

For V = I a layer puts x between itself and tokens before it: no step, however long, changes the limit x_1(0). For
V with a negative eigenvalue it can: the first token is multiplied by I + dt V, whose largest factor in size is
1 + dt lambda_max only while dt < 2 / (|lambda_min| - lambda_max); beyond, the limit turns to lambda_min.
"""

from __future__ import annotations

import math

import numpy as np

from tokenflock import plot
from tokenflock.analysis.statistics import mean_and_error, slope
from tokenflock.geometry import Array, distance, to_sphere
from tokenflock.model import Model
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.papers.layout import panels, points
from tokenflock.simulation import simulate

THERE = 1e-3  # radians: this near to x_1(0) a token has arrived
SMALL = 0.1  # steps up to here are fitted: beyond, the error is no longer of one order
LAYERS = 3000  # enough for a factor that is 1 % larger to win: 1.01^3000 = 1e13


def _steps(
    rng: np.random.Generator, steps: tuple[float, ...], scheme: str, n: int, beta: float, early: float, late: float
) -> Trial:
    """One start at every step: root mean square distance from the flow at `early`, share astray at `late`."""
    model, start = Model(dim=2, beta=beta), to_sphere(rng, (n, 2))
    times = [early, late]
    flow = simulate(model, start, late, times=times, rtol=1e-10, atol=1e-12, progress=False)["x"].values
    error, astray = np.empty(len(steps)), np.empty(len(steps))
    for k, dt in enumerate(steps):
        run = simulate(model, start, late, times=times, scheme=scheme, dt=dt, progress=False)["x"].values
        off = distance(run, flow)
        error[k] = math.sqrt(np.mean(off[0] ** 2))
        # Clusters are farther apart than the range of the attraction, beta^(-1/2).
        astray[k] = np.mean(off[1] > beta**-0.5)
    small = np.array(steps) <= SMALL
    tilt = slope(np.log(np.array(steps)[small]), np.log(error[small]))[0]
    return Trial(True, tilt, data=(error, astray))


def _limit(rng: np.random.Generator, steps: tuple[float, ...], scheme: str, n: int) -> Trial:
    """V = I: where all tokens are in the end, at a random step."""
    dt = float(rng.choice(steps))
    start = to_sphere(rng, (n, 3))
    end = dt * max(math.ceil(400 / dt), LAYERS)
    x = simulate(Model(dim=3, beta=1.0), start, end, times=[end], scheme=scheme, dt=dt, throw=False, progress=False)
    off = float(distance(x["x"].values[0], start[0]).max())
    return Trial(off < THERE, off)


def _first_limit(start: Array, value: Array, dt: float, scheme: str) -> Array:
    """|<x, e>| of all tokens with every axis after LAYERS steps: V is diagonal."""
    end = dt * LAYERS
    model = Model(dim=len(value), beta=1.0, value=value)
    run = simulate(model, start, end, times=[end], scheme=scheme, dt=dt, throw=False, progress=False)
    return np.asarray(np.abs(run["x"].values[0]))


def _threshold(rng: np.random.Generator, scheme: str, n: int) -> Trial:
    """The step at which the first token's limit leaves xi, by halving, over the predicted one."""
    least = -rng.uniform(1.5, 4.0)
    value = np.diag([1.0, 0.2, least])
    predicted = 2 / (-least - 1)
    start = to_sphere(rng, (n, 3))
    low, high = math.log(predicted / 5), math.log(predicted * 5)
    for _ in range(11):  # to 0.2 % of the step
        middle = (low + high) / 2
        held = _first_limit(start, value, math.exp(middle), scheme)[0, 0] > 0.9
        low, high = (middle, high) if held else (low, middle)
    ratio = math.exp((low + high) / 2) / predicted
    sides = [_first_limit(start, value, f * predicted, scheme) for f in (0.8, 1.25)]
    kept, turned = float(np.mean(sides[0][:, 0] > 0.9)), float(np.mean(sides[1][:, 2] > 0.9))
    return Trial(True, ratio, data=(predicted, ratio, kept, turned))


@claim(
    "causal/next-discrete",
    kind="estimate",
    statement="Layers of step dt are at distance O(dt) from the flow at equal times. With V = I no step up to 10 "
    "changes the limit x_1(0); with lambda_min < -lambda_max < 0 the limit leaves xi at dt = 2/(|lambda_min| - "
    "lambda_max).",
    hypotheses=("scheme = layers", "Q = K = I", "V = I, or V = diag(1, 0.2, lambda_min)"),
    trial="Uniform tokens on the circle at all steps; V = I at a random step in d = 3; V with a random lambda_min.",
    measured="slope of log distance in log dt up to 0.1; share of tokens more than beta^(-1/2) from the flow's place; "
    "largest distance from x_1(0) in the end; the step at which the first token's limit changes",
    rule="slope within 4 errors of 1 (slack 0.05: next order at dt = 0.1); every token within 1e-3 of x_1(0); "
    "threshold over its prediction within 4 errors of 1 (slack 0.01: 3000 layers)",
    sizes={"trials": 60},
    quick={"trials": 12, "steps": (0.01, 0.02, 0.05, 0.1, 0.5, 2.0, 10.0), "n_tokens": 32},
)
def next_discrete(
    check: Check,
    steps: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
    scheme: str = "layers",
    n_tokens: int = 64,
    beta: float = 16.0,
    early: float = 10.0,
    late: float = 50.0,
) -> None:
    """Distance at equal times, tokens astray, and the limit."""
    runs = check.each("order of each start", lambda rng: _steps(rng, steps, scheme, n_tokens, beta, early, late))
    check.each("limit x_1(0), V = I", lambda rng: _limit(rng, steps, scheme, 8), THERE)
    turns = check.each("threshold over 2/(|lambda_min| - 1)", lambda rng: _threshold(rng, scheme, 6), None, "<")
    if check.only is not None:
        return
    check.estimate("order at equal times", [t.measured for t in runs], 1.0, slack=0.05)
    check.estimate("threshold, mean", [t.data[1] for t in turns], 1.0, slack=0.01)
    check.estimate("tokens at xi, dt = 0.8 threshold", [t.data[2] for t in turns], None, inside=(0.0, 1.0))
    check.estimate("tokens off xi, dt = 1.25 threshold", [t.data[3] for t in turns], None, inside=(0.0, 1.0))
    errors, astray = (np.array([t.data[k] for t in runs]) for k in (0, 1))
    for k, dt in enumerate(steps):
        check.estimate(f"share astray, dt = {dt:g}", astray[:, k], None, inside=(0.0, 1.0))
    check.draw = lambda: _draw(steps, errors, astray, turns, early, late)


def _draw(
    steps: tuple[float, ...], errors: Array, astray: Array, turns: list[Trial], early: float, late: float
) -> plot.Figure:
    """(a) distance against the step, (b) share astray, (c) the step at which the limit changes."""
    blue, red = plot.COLOURS["blue"], plot.COLOURS["red"]
    figure, axes = panels(3)
    dt = np.array(steps)
    logs = [np.log(column) for column in errors.T]
    points(axes[0], dt, logs, log=True, color=blue, label="layers against flow")
    small = dt <= SMALL
    at = float(np.mean([mean_and_error(v)[0] for v, s in zip(logs, small, strict=True) if s]))
    line = np.array([dt.min(), 1.0])
    axes[0].plot(line, np.exp(at) * line / np.exp(np.log(dt[small]).mean()), color=red, label="slope 1")
    axes[0].set(xscale="log", yscale="log", xlabel="step $dt$", ylabel=f"distance at $t$ = {early:g} (rad)")
    axes[0].legend(loc="lower right")
    points(axes[1], dt, list(astray.T), color=blue)
    axes[1].set(xscale="log", xlabel="step $dt$", ylabel=f"share of tokens astray at $t$ = {late:g}")
    axes[1].set_ylim(bottom=0)
    predicted, ratio, _, _ = np.array([t.data for t in turns]).T
    span = np.array([predicted.min(), predicted.max()])
    axes[2].plot(predicted, predicted * ratio, "o", ms=3, color=blue, label="measured by halving")
    axes[2].plot(span, span, color=red, label="$2/(|\\lambda_{\\min}| - \\lambda_{\\max})$")
    axes[2].set(xlabel="predicted step", ylabel="step at which the limit changes")
    axes[2].legend(loc="upper left")
    return figure
