"""Paper E (arXiv:2512.01868) and paper C (7.1): on the circle full attention tends to the Kuramoto model as beta -> 0.

Kuramoto's model of n oscillators of one frequency, with the lag of Sakaguchi, in phases:

    theta_i' = (K/n) sum_j sin(theta_j - theta_i + lag)

which is attention with equal weights and V = K times the rotation by the lag. Nothing here but the runs themselves is
computed by `tokenflock.model`: the solution is that of Watanabe and Strogatz, three equations for any n,

    e^{i theta_j(t)} = M(e^{i theta_j(0)}),   M(z) = (e^{i psi} z + a) / (1 + conj(a) e^{i psi} z),
    a' = (h - conj(h) a^2) / 2,   psi' = -Im(conj(h) a),   h = K e^{i lag} mean_j e^{i theta_j},

and its order parameter R = |mean_j e^{i theta_j}| has a closed form (Ott, Antonsen) for phases that are the image
under M of n evenly spaced ones, up to R^n: R' = K cos(lag) R (1 - R^2) / 2, so 1/R^2 - 1 falls like e^{-K cos(lag) t}.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from tokenflock import plot
from tokenflock.geometry import Array, angle, circle
from tokenflock.model import Model, velocity
from tokenflock.papers import layout
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.papers.claims.perspective import NORMALISERS
from tokenflock.simulation import simulate

SMALL = (4e-4, 2e-4)  # the two betas whose errors give an order
OFF = 0.05  # of an order: what the next term leaves at these betas
SAME = 1e-7  # of a run and the exact solution: the tolerance of the run
MANY = 512  # evenly spaced phases: R^n is rounding up to R = 0.95
TOGETHER = 0.95  # the order parameter at which oscillators count as synchronised


@claim(
    "meanfield/kuramoto",
    kind="theorem",
    statement="d = 2, full attention, softmax or 1/n, V = K times the rotation by an angle: as beta tends to 0 "
    "velocities and runs tend, at first order in beta, to those of the Kuramoto model with coupling K and that lag, "
    "all oscillators of one frequency. At beta = 0 they are the same: the order parameter R and the time of "
    "synchronisation are those of that model.",
    hypotheses=("full attention", "d = 2, Q = K = I", "V = K times a rotation"),
    trial="3 to 40 uniform tokens, K of 0.5 to 2, lag of -1 to 1; runs to t = 8 / K. R in closed form: 512 tokens with "
    "R = 0.1 to 0.5 at the start, to R = 0.95.",
    measured="the order in beta of the error of the velocity, of what is left of it after its first term, and of R "
    "along runs (1, 2 and 1 predicted), as the distance from it; the distance of a run at beta = 0 from the exact "
    "solution; R and the time to R = 0.95 against their closed forms",
    rule="orders within 0.05, all else within 1e-7",
    sizes={"trials": 60},
    quick={"trials": 4},
)
def kuramoto(check: Check, mask: str = "full", coupling: float = 1.0) -> None:
    """mask="causal": not Kuramoto's model; coupling: what its K is multiplied by, which attention does not know."""

    def drawn(generator: np.random.Generator, normaliser: str) -> tuple[Model, float, float, Array]:
        K, lag = float(generator.uniform(0.5, 2.0)), float(generator.uniform(-1.0, 1.0))
        model = Model(dim=2, beta=0.0, mask=mask, normaliser=normaliser, value=K * turn(lag))
        return model, K * coupling, lag, generator.uniform(0, 2 * np.pi, int(generator.integers(3, 41)))

    def orders(generator: np.random.Generator, normaliser: str, term: int) -> Trial:
        model, K, lag, phi = drawn(generator, normaliser)
        known = [kuramoto_velocity(phi, K, lag), first_term(phi, K, lag, normaliser)]
        errors = []
        for beta in SMALL:
            x = circle(phi)
            v = (velocity(model.with_options(beta=beta), x) * circle(phi + np.pi / 2)).sum(axis=1)
            errors.append(float(np.linalg.norm(v - sum(beta**k * known[k] for k in range(term)))))
        off = abs(order(errors) - term)
        return Trial(off < OFF, off)

    def exact(generator: np.random.Generator, normaliser: str) -> Trial:
        model, K, lag, phi = drawn(generator, normaliser)
        times = np.linspace(0, 8 / K, 17)
        off = float(np.abs(run(model, phi, times) - solution(phi, times, K, lag)).max())
        return Trial(off < SAME, off)

    def along(generator: np.random.Generator, normaliser: str) -> Trial:
        model, K, lag, phi = drawn(generator, normaliser)
        times = np.linspace(0, 8 / K, 33)
        R = np.abs(solution(phi, times, K, lag).mean(axis=1))
        found = [np.abs(run(model.with_options(beta=b), phi, times).mean(axis=1)) for b in SMALL]
        off = abs(order([float(np.abs(f - R).max()) for f in found]) - 1)
        return Trial(off < OFF, off)

    def closed(generator: np.random.Generator) -> Trial:
        model, K, lag, _ = drawn(generator, "softmax")
        R = float(generator.uniform(0.1, 0.5))
        pull = K * math.cos(lag)
        due = time_to(TOGETHER, R, pull)
        times = due * np.linspace(0, 1, 21)
        found = np.abs(run(model, spread(R), times).mean(axis=1))
        off = float(np.abs(found - order_parameter(times, R, pull)).max())
        late = abs(when(times, found) / due - 1)
        return Trial(max(off, late) < SAME, max(off, late), f"The time to R = {TOGETHER}: {late:.1e} off.")

    for normaliser, word in NORMALISERS.items():
        check.each(f"velocity, order 1, {word}", partial(orders, normaliser=normaliser, term=1), OFF)
        check.each(f"velocity, order 2, {word}", partial(orders, normaliser=normaliser, term=2), OFF)
        check.each(f"beta = 0, exact solution, {word}", partial(exact, normaliser=normaliser), SAME)
        check.each(f"R along runs, order 1, {word}", partial(along, normaliser=normaliser), OFF)
    check.each("R and its time, closed form", closed, SAME)
    check.draw = _draw


def turn(by: float) -> Array:
    """The rotation of the plane by that angle."""
    return np.array([[math.cos(by), -math.sin(by)], [math.sin(by), math.cos(by)]])


def kuramoto_velocity(phi: Array, coupling: float, lag: float = 0.0) -> Array:
    """theta_i' = (K/n) sum_j sin(theta_j - theta_i + lag)."""
    return np.asarray(coupling * np.sin(phi - phi[:, None] + lag).mean(axis=1))


def first_term(phi: Array, coupling: float, lag: float, normaliser: str) -> Array:
    """The factor of beta in the velocity: (1 + beta cos(theta_j - theta_i)) / n, softmax: less the mean."""
    apart = phi - phi[:, None]
    tilt = np.cos(apart)
    if normaliser == "softmax":
        tilt = tilt - tilt.mean(axis=1, keepdims=True)
    return np.asarray(coupling * (tilt * np.sin(apart + lag)).mean(axis=1))


def solution(phi: Array, times: Array, coupling: float, lag: float = 0.0) -> Array:
    """e^{i theta_j(t)}, (times, n), by the three equations of Watanabe and Strogatz."""
    from scipy.integrate import solve_ivp

    z, pull = np.exp(1j * phi), coupling * np.exp(1j * lag)

    def image(a: complex, psi: float) -> Array:
        w = np.exp(1j * psi) * z
        return np.asarray((w + a) / (1 + np.conj(a) * w))

    def rate(_: float, state: Array) -> list[float]:
        a = complex(state[0], state[1])
        h = pull * image(a, state[2]).mean()
        moved = (h - np.conj(h) * a * a) / 2
        return [moved.real, moved.imag, -(np.conj(h) * a).imag]

    done = solve_ivp(rate, (0.0, float(times[-1])), np.zeros(3), "DOP853", t_eval=times, rtol=1e-12, atol=1e-13)
    return np.array([image(complex(a, b), psi) for a, b, psi in done.y.T])


def run(model: Model, phi: Array, times: Array) -> Array:
    """e^{i theta_j} of a run of attention, (times, n)."""
    x = simulate(model, circle(phi), float(times[-1]), times=times, rtol=1e-10, atol=1e-12, progress=False)["x"].values
    return np.asarray(np.exp(1j * angle(x)))


def order(errors: list[float]) -> float:
    """The power of beta that the errors at the two betas have."""
    return math.log(errors[0] / errors[1]) / math.log(SMALL[0] / SMALL[1])


def order_parameter(t: Array, R: float, pull: float) -> Array:
    """R(t) of R' = pull R (1 - R^2) / 2."""
    return np.asarray((1 + (1 / R**2 - 1) * np.exp(-pull * t)) ** -0.5)


def time_to(level: float, R: float, pull: float) -> float:
    """When R(t) is at that level."""
    return math.log((1 / R**2 - 1) / (1 / level**2 - 1)) / pull


def spread(R: float) -> Array:
    """Phases with the order parameter R: the image of evenly spaced ones."""
    z = np.exp(2j * np.pi * (np.arange(MANY) + 0.5) / MANY)
    return np.asarray(np.angle((z + R) / (1 + R * z)))


def when(times: Array, R: Array) -> float:
    """When R of a run is at TOGETHER: log(1/R^2 - 1) is a straight line in t, which the last two kept times give."""
    height = np.log(1 / R[-2:] ** 2 - 1) - math.log(1 / TOGETHER**2 - 1)
    return float(times[-1] - height[1] * (times[-1] - times[-2]) / (height[1] - height[0]))


def _draw() -> plot.Figure:
    """R of 512 tokens for several beta, beside Kuramoto's, and the error at one time."""
    figure, (left, right) = layout.row(2, 2.6)
    R, times = 0.2, np.linspace(0, 12, 61)
    left.plot(times, order_parameter(times, R, 1.0), color="black", lw=2.4, alpha=0.35, label="Kuramoto, closed form")
    model = Model(dim=2, beta=0.0, mask="full")
    betas = (0.0, 0.5, 1.0, 2.0)
    for beta, colour in zip(betas, ("blue", "sky", "orange", "red"), strict=True):
        found = np.abs(run(model.with_options(beta=beta), spread(R), times).mean(axis=1))
        left.plot(times, found, "--" if beta == 0 else "-", color=plot.COLOURS[colour], label=rf"$\beta$ = {beta:g}")
    left.set(xlabel="time $t$", ylabel=r"order parameter $R$", ylim=(0, 1.02))
    left.legend()
    small, phi = np.geomspace(1e-4, 1, 13), np.random.default_rng(0).uniform(0, 2 * np.pi, 40)
    x, across = circle(phi), circle(phi + np.pi / 2)
    for (normaliser, word), colour in zip(NORMALISERS.items(), ("blue", "red"), strict=True):
        for term, mark in ((1, "o-"), (2, "s--")):
            known = [kuramoto_velocity(phi, 1.0), first_term(phi, 1.0, 0.0, normaliser)]
            off = []
            for beta in small:
                v = (velocity(Model(dim=2, beta=beta, mask="full", normaliser=normaliser), x) * across).sum(axis=1)
                off.append(np.abs(v - sum(beta**k * known[k] for k in range(term))).max())
            words = f"{word}, {'Kuramoto' if term == 1 else 'and its first term'}"
            right.plot(small, off, mark, ms=2.5, color=plot.COLOURS[colour], label=words)
    right.set(xscale="log", yscale="log", xlabel=r"$\beta$", ylabel="largest error of a velocity")
    right.legend()
    return figure
