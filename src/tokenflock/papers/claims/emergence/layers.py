"""Paper B in discrete time: every theorem for x <- x + dt sum_j P_ij V x_j (E13), and where the step is too large."""

from __future__ import annotations

from functools import partial

import numpy as np

from tokenflock import model as equations
from tokenflock import plot, weights
from tokenflock.analysis import attention, polytope, triple
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.papers import layout
from tokenflock.papers.claims.emergence.hyperplanes import backwards, from_levels
from tokenflock.papers.claims.emergence.polytopes import residual
from tokenflock.papers.claims.emergence.runs import coordinates, follow, in_coordinates, off_rows, rescaled, shrinks
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.rescaling import flow_at_layer

THERE = 1e-3
LAYERS = 3000  # of V = -I: |1 - dt|^3000 is 1e-13 at dt = 1.99


@claim(
    "emergence/discrete-time",
    kind="theorem",
    statement="With R = I + dt V and z = R^-k x the theorems hold in discrete time. For V > 0 on the leading space no "
    "step is too large: z_i moves to a mean of the z_j by the fraction dt lambda / (1 + dt lambda) < 1. For V = -I "
    "the mean is multiplied by 1 - dt: tokens near 0 tend to 0 up to dt = 2 and leave beyond; any tokens do up to dt "
    "= 1, and between 1 and 2 large ones may escape.",
    hypotheses=("those of the theorems", "I + dt V is invertible", "V = -I: dt <= 1, or tokens near 0 and dt < 2"),
    trial="2.1: 8 tokens in d = 1; 3.1: 12 tokens in d = 2, Q'K > 0; 4.2: the paper's matrix (a); 5.2: diag(1, 1, "
    "-1/2); dt of 0.1, 0.5, 1, 3 and 10, uniform tokens in [-5, 5]^d, 40 / log(1 + dt lambda) layers. V = -I: 8 "
    "tokens in d = 2, in [-5, 5]^2 at dt <= 1; the threshold by halving from [-0.1, 0.1]^2, 3000 layers.",
    measured="how far each conclusion is from true, as in its own claim, and the threshold of dt over 2",
    rule="below 1e-3; the threshold within 1 % of 2",
    sizes={"trials": 20},
    quick={"trials": 4},
)
def discrete_time(
    check: Check,
    steps: tuple[float, ...] = (0.1, 0.5, 1.0, 3.0, 10.0),
    slow: tuple[float, ...] = (0.1, 0.5, 1.0),
    value: float = 1.0,
) -> None:
    """steps: of the theorems; slow: of V = -I; value: a factor of V in the theorems."""
    theorems = {"2.1": _boolean, "3.1": _polytope, "4.2": _levels, "5.2": _mixed}

    def one(generator: np.random.Generator, name: str, dt: float) -> Trial:
        off = theorems[name](generator, dt, value)
        return Trial(None, np.inf) if off is None else Trial(off < THERE, off)

    for name in theorems:
        for dt in steps:
            check.each(f"theorem {name}, dt = {dt:g}", partial(one, name=name, dt=dt), THERE)
    for dt in slow:
        check.each(f"V = -I, dt = {dt:g}", partial(_to_zero, dt=dt), 0.1)
    limits = check.each("V = -I near 0, threshold", _threshold, 0.01, trials=min(check.trials, 4))
    check.draw = lambda: _draw_steps(limits)


def _ahead(model: Model, x: Array, dt: float, lam: float) -> tuple[Array, Array] | None:
    """Layers to the end, and the times of 21 of them: enough for R to grow by e^40."""
    count = int(np.ceil(40 / np.log1p(dt * abs(lam)) / 20)) * 20
    times = dt * np.linspace(0, count, 21).round()
    z = follow(model, x, times, scheme="layers", dt=dt)
    return None if z is None else (z, times)


def _boolean(generator: np.random.Generator, dt: float, value: float) -> float | None:
    model = rescaled(1, value=[[value]])
    x = generator.uniform(-5, 5, (8, 1))
    count = int(np.ceil(12 / np.log1p(dt)))  # sooner than z and its leader are one number
    z = follow(model, x, [dt * count], scheme="layers", dt=dt)
    if z is None:
        return None
    P = equations.attention(model, z[-1], flow=flow_at_layer(model, count, dt))[0]
    return max(attention.boolean_distance(P).distance, float(off_rows(P).max()))


def _polytope(generator: np.random.Generator, dt: float, value: float) -> float | None:
    form = weights.positive_definite(2, int(generator.integers(2**31)))
    done = _ahead(rescaled(2, key=form, value=value * np.eye(2)), generator.uniform(-5, 5, (12, 2)), dt, value)
    if done is None:
        return None
    z = done[0]
    return max(shrinks(z), residual(z[-1], triple.root(form), polytope.hull(z[-1], 1e-6).vertices))


def _levels(generator: np.random.Generator, dt: float, value: float) -> float | None:
    V = value * np.asarray(weights.PAPER_B["hyperplanes-3d-a"])
    judged = triple.good(None, None, V)
    x = generator.uniform(-5, 5, (12, 3)) @ coordinates(judged)[1].T
    done = _ahead(in_coordinates(None, None, V, judged), x, dt, abs(judged.lambda_1))
    if done is None:
        return None
    level = done[0][:, :, 0]
    return max(backwards(level), from_levels(level[-1], float(np.abs(level[0]).max())))


def _mixed(generator: np.random.Generator, dt: float, value: float) -> float | None:
    model = rescaled(3, value=value * np.diag([1.0, 1.0, -0.45]))  # I - dt/2 would be singular at dt = 2
    done = _ahead(model, generator.uniform(-5, 5, (12, 3)), dt, value)
    if done is None:
        return None
    inside = done[0][:, :, :2]
    return max(shrinks(inside), residual(inside[-1], None, polytope.hull(inside[-1], 1e-6).vertices))


def _down(start: Array, dt: float, layers: int = LAYERS) -> float:
    """The largest |x_i| after so many layers of V = -I over that of the start; inf if they escape."""
    model = Model(dim=2, space="euclidean", mask="full", value=-np.eye(2))
    x = follow(model, start, [dt * layers], scheme="layers", dt=dt)
    size = float(np.linalg.norm(start, axis=1).max())
    return np.inf if x is None else float(np.linalg.norm(x[-1], axis=1).max()) / size


def _to_zero(generator: np.random.Generator, dt: float) -> Trial:
    off = _down(generator.uniform(-5, 5, (8, 2)), dt)
    return Trial(off < 0.1, min(off, 1e300))


def _threshold(generator: np.random.Generator) -> Trial:
    """The largest step at which small tokens do not grow, by halving: |threshold / 2 - 1|."""
    start = generator.uniform(-0.1, 0.1, (8, 2))
    low, high = 1.0, 4.0
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (middle, high) if _down(start, middle) <= 1 else (low, middle)
    off = abs((low + high) / 4 - 1)
    curve = [(dt, _down(scale * start, dt, 300)) for scale in (1.0, 50.0) for dt in np.linspace(0.2, 2.4, 12)]
    return Trial(off < 0.01, off, data=np.array(curve).reshape(2, -1, 2))


def _draw_steps(trials: list[Trial]) -> plot.Figure:
    figure, (ax,) = layout.row(1, 2.6, plot.COLUMN * 1.3)
    for k, trial in enumerate(trials):
        for curve, colour, words in zip(trial.data, ("blue", "red"), ("tokens near 0", "in $[-5, 5]^2$"), strict=True):
            label = words if k == 0 else None
            ax.plot(curve[:, 0], np.clip(curve[:, 1], 1e-3, 1e6), "o-", ms=2.5, color=plot.COLOURS[colour], label=label)
    ax.axvline(2.0, ls="--", color=plot.COLOURS["grey"], lw=0.8)
    ax.axvline(1.0, ls=":", color=plot.COLOURS["grey"], lw=0.8)
    ax.set(yscale="log", xlabel="step dt of layers with $V = -I$", ylabel="largest $|x_i|$, over the start's")
    ax.legend()
    return figure
