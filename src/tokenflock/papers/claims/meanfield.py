"""Paper E (arXiv:2512.01868): one layer over a long context, and the pitchfork of noisy tokens on the circle."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from tokenflock import plot, start
from tokenflock.geometry import Array, retract
from tokenflock.model import Model, attention
from tokenflock.papers import layout
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.simulation import simulate

REGIMES = {"below": 0.5, "at": 1.0, "above": 1.6}  # gamma (1 - rho)


@claim(
    "meanfield/long-context",
    kind="theorem",
    statement="n tokens with overlaps rho in (0, 1), beta = g log n, Q = K = V = I, one attention layer: as n grows "
    "the overlaps of its output directions tend to 1, 4 rho / (1 + 3 rho), rho for g below, at, above 1 / (1 - rho); "
    "every weight A_ij tends to 1/n below, n^(-g (1 - rho)) above.",
    hypotheses=("beta = g log n", "all overlaps equal rho"),
    trial="rho of 0.1 to 0.9, g (1 - rho) of 0.5, 1, 1.6; n up to 512 by the layer itself, to 1e12 in closed form",
    measured=(
        "the layer against its closed form at every n; the distance to the limit at n = 1e12, over n^(-|g (1-rho) - 1|)"
    ),
    rule="holds if the layer is within 1e-10 of the closed form and the distance is at most 8 times that power",
    sizes={"trials": 12},
    quick={"trials": 4, "n_tokens": (32, 128)},
)
def long_context(check: Check, n_tokens: tuple[int, ...] = (64, 256, 512), power: float = 1.0) -> None:
    """power: beta = g (log n)^power."""

    def layer(generator: np.random.Generator, regime: str) -> Trial:
        rho, off = float(generator.uniform(0.1, 0.9)), 0.0
        for n in n_tokens:
            x = start.equiangular(n, n, rho, seed=int(generator.integers(2**31)))
            model = Model(dim=n, beta=sharpness(regime, rho, math.log(n), power), mask="full")
            a = attention(model, x)[0]
            y = retract(a @ x)
            own = own_weight(model.beta, rho, math.log(n))
            found = (y @ y.T)[np.triu_indices(n, 1)]
            off = max(off, float(np.abs(found - mixed(rho, own, n)).max()), float(np.abs(np.diag(a) - own).max()))
        return Trial(bool(off < 1e-10), off)

    def limit(generator: np.random.Generator, regime: str) -> Trial:
        rho, log_n = float(generator.uniform(0.1, 0.9)), 12 * math.log(10)
        own = own_weight(sharpness(regime, rho, log_n, power), rho, log_n)
        ideal = {"below": 1.0, "at": 4 * rho / (1 + 3 * rho), "above": rho}[regime]
        scale = math.exp(-abs(REGIMES[regime] - 1) * log_n) if regime != "at" else math.exp(-log_n)
        off = abs(mixed(rho, own, 1e12) - ideal) / scale
        return Trial(bool(off <= 8), off, "" if off <= 8 else f"rho = {rho:.3g}: {mixed(rho, own, 1e12):.4g}.")

    for regime in REGIMES:
        check.each(f"{regime} 1/(1 - rho), layer", partial(layer, regime=regime), 1e-10, trials=min(check.trials, 3))
        check.each(f"{regime} 1/(1 - rho), limit", partial(limit, regime=regime), 8.0, "<=")
    check.draw = _draw_long


def sharpness(regime: str, rho: float, log_n: float, power: float = 1.0) -> float:
    """beta = g (log n)^power with g (1 - rho) of a regime."""
    return float(REGIMES[regime] / (1 - rho) * log_n**power)


def own_weight(beta: float, rho: float, log_n: float) -> float:
    """A_ii = 1 / (1 + (n - 1) e^{-beta (1 - rho)})."""
    return 1 / (1 + -math.expm1(-log_n) * math.exp(log_n - beta * (1 - rho)))


def mixed(rho: float, own: float, n_tokens: float) -> float:
    """The overlap of two outputs, each with weight `own` on itself and the rest spread evenly over the others.

    y_i = p x_i + q (n - 1) m with p = own - q, m the mean of all n tokens times n / (n - 1), q = (1 - own) / (n - 1):
    y_i = p x_i + q S, S = sum_j x_j, <x_i, S> = 1 + (n-1) rho =: s, |S|^2 = n s.
    """
    q = (1 - own) / (n_tokens - 1)
    p, s = own - q, 1 + (n_tokens - 1) * rho
    shared = 2 * p * q * s + q * q * n_tokens * s
    return (p * p * rho + shared) / (p * p + shared)


@claim(
    "meanfield/pitchfork",
    kind="estimate",
    statement="Noisy tokens on the circle at beta = 0, dx_i = P(mean) dt + sqrt(2/kappa) dW_i: as n grows the uniform "
    "law is the only stationary one for kappa <= 2. For kappa > 2 there is another, unique up to rotation, with "
    "density ~ e^{kappa R cos(theta)}, R = I_1(kappa R) / I_0(kappa R) > 0.",
    hypotheses=("independent spherical Brownian motions", "noise^2 = 2 / kappa"),
    trial="n tokens from a uniform start (kappa < 2) or one point (kappa > 2), Heun; R = |mean|, averaged over time. "
    "The drift is the gradient of n R^2 / 2: n tokens have the law ~ e^{kappa n R^2 / 2}, whose mean of R^2 is an "
    "integral.",
    measured="the mean of n R^2 (kappa < 2) or of R^2; how far n R^2 or R^2 of that exact law is from its limit, times "
    "n",
    rule="agrees if the exact law of n tokens is within 4 standard errors, at the kappa of steps of dt (derived: "
    "kappa + 2 dt to first order); the limits are n R^2 = 1 / (1 - kappa/2), and the square of the root R of R = I_1 / "
    "I_0: at n = 1e3 to 1e5 n times the distance to them changes by less than a tenth",
    erratum="The Fokker-Planck equation is printed with a sign that makes the noise concentrate; the SDE's is used.",
    sizes={"trials": 32},
    quick={"trials": 16, "n_tokens": 100, "t_end": 40.0, "dt": 0.05},
)
def pitchfork(
    check: Check, n_tokens: int = 200, t_end: float = 100.0, dt: float = 0.025, temperature: float = 1.0
) -> None:
    """temperature: multiplies the variance of the noise, which the law does not know."""
    points: dict[float, Array] = {}
    for kappa in (0.5, 1.0, 1.5, 3.0, 4.0, 8.0):
        ordered = kappa > 2
        case = f"kappa = {kappa:g}, {'R^2' if ordered else 'n R^2'}"
        if not check.wants(case):
            continue
        x = start.uniform(n_tokens, 2, seed=check.seed, runs=check.trials)
        x = np.broadcast_to(np.array([1.0, 0.0]), x.shape) if ordered else x
        model = Model(dim=2, beta=0.0, mask="full", noise=math.sqrt(2 * temperature / kappa))
        times = t_end * np.linspace(0.2, 1, 161)
        keep = {"mean": lambda x: x.mean(axis=0)}
        run = simulate(
            model, x, t_end, times=times, dt=dt, reduce=keep, positions=False, seed=check.seed, progress=False
        )
        size = np.linalg.norm(run["mean"].values, axis=-1)
        points[kappa] = size.mean(axis=1)
        scale = 1 if ordered else n_tokens
        values = scale * (size**2).mean(axis=1)
        check.estimate(case, values, scale * mean_square(of_steps(kappa, dt), n_tokens))
        check.each(f"kappa = {kappa:g}, the limit of the law", partial(_to_limit, kappa), 0.1, trials=1)
    check.draw = partial(_draw_pitchfork, points, n_tokens)


def _to_limit(kappa: float, _: np.random.Generator) -> Trial:
    """How much n times the distance of the law of n tokens from its limit changes between n = 1e3, 1e4 and 1e5."""
    limit = order_parameter(kappa) ** 2 if kappa > 2 else 1 / (1 - kappa / 2)
    sizes = [10**k for k in range(3, 6)]
    off = np.array([n * (mean_square(kappa, n) * (1 if kappa > 2 else n) - limit) for n in sizes])
    change = float(np.abs(off / off[-1] - 1).max())
    return Trial(change < 0.1, change, f"{off[-1]:.3g} / n from the limit.")


def of_steps(kappa: float, dt: float) -> float:
    """The kappa whose law tokens have that take Heun's steps of dt, up to O(dt^2).

    In the angle Heun's method with additive noise is of weak order 2; what is of order 1 comes from steps along
    tangents and back to the circle. With a push s sqrt(dt) (r, l), s^2 = 2/kappa, r along the token and l across, and
    a drift a, a step turns the token to the angle of (1 - k sin(f)/2, (a + l)/2 + k cos(f)/2), where tan f = a + l and
    k = a - r sin(f) + l cos(f). With e = s^2 dt its variance is e (1 - 7/4 e + ...), and the drift that is left
    a (1 - 3/4 e + ...): less noise and less drift, so that kappa becomes kappa (1 + e + ...) = kappa + 2 dt + .... Both
    factors are taken whole, as integrals over r and l, since e is not small: 1/5 at kappa = 1/2 and dt = 1/20.
    """
    at, weights = np.polynomial.hermite_e.hermegauss(60)
    across, along = math.sqrt(2 * dt / kappa) * np.stack(np.meshgrid(at, at, indexing="ij"))
    weight = np.outer(weights, weights) / weights.sum() ** 2

    def turned(a: float) -> Array:
        first = a + across
        cos = 1 / np.hypot(1, first)
        sin = first * cos
        second = a - along * sin + across * cos
        return np.asarray(np.arctan2((first + second * cos) / 2, 1 - second * sin / 2))

    small = 1e-4
    noise = float((weight * turned(0.0) ** 2).sum()) * kappa / (2 * dt)
    drift = float((weight * (turned(small) - turned(-small))).sum()) / (2 * small)
    return kappa * drift / noise


def mean_square(kappa: float, n_tokens: int) -> float:
    """E[R^2] of n tokens with the law ~ e^{kappa n R^2 / 2}: (n <y^2> / kappa^2 - 2 / kappa) / n.

    e^{kappa n R^2 / 2} ~ int e^{-n |y|^2 / 2 kappa + n <y, mean>} dy, and so <.> is the mean over the density
    y e^{-n y^2 / 2 kappa} I_0(y)^n.
    """
    from scipy.special import ive

    middle, width = kappa * order_parameter(kappa), 12 * math.sqrt((1 + kappa) / n_tokens / abs(1 - kappa / 2))
    at, parts = np.polynomial.legendre.leggauss(400)
    low, high = max(middle - width, 0.0), middle + width
    y = (low + high) / 2 + at * (high - low) / 2
    log = np.log(y) + n_tokens * (np.log(ive(0, y)) + y - y * y / (2 * kappa))
    weight = parts * np.exp(log - log.max())
    # y^2 - middle^2 keeps the digits that 1/n needs.
    above = float((weight * (y - middle) * (y + middle)).sum() / weight.sum())
    return above / kappa**2 - 2 / kappa / n_tokens + (middle / kappa) ** 2


def order_parameter(kappa: float) -> float:
    """The positive root R of R = I_1(kappa R) / I_0(kappa R), 0 up to kappa = 2."""
    from scipy.optimize import brentq
    from scipy.special import ive

    if kappa <= 2:
        return 0.0
    return float(brentq(lambda r: r - ive(1, kappa * r) / ive(0, kappa * r), 1e-9 + 0.5 * math.sqrt(1 - 2 / kappa), 1))


def _draw_long() -> plot.Figure:
    figure, (ax,) = layout.row(1, 2.8, plot.COLUMN)
    rho, g = 0.5, np.linspace(0, 4, 401)
    for log10_n, colour in ((2, "sky"), (4, "blue"), (12, "purple"), (100, "black")):
        log_n = log10_n * math.log(10)
        y = [mixed(rho, own_weight(b * log_n, rho, log_n), 10.0**log10_n) for b in g]
        ax.plot(g, y, color=plot.COLOURS[colour], label=f"$n = 10^{{{log10_n}}}$")
    ax.plot(2, 4 * rho / (1 + 3 * rho), "o", color=plot.COLOURS["red"], ms=4, label=r"$4\rho/(1+3\rho)$")
    ax.set(
        xlabel=r"$\beta / \log n$", ylabel="overlap of two outputs", title=rf"overlap of the inputs $\rho$ = {rho:g}"
    )
    ax.legend()
    return figure


def _draw_pitchfork(points: dict[float, Array], n_tokens: int) -> plot.Figure:
    figure, (ax,) = layout.row(1, 2.8, plot.COLUMN)
    kappa = np.linspace(2, 9, 400)
    ax.plot(kappa, [order_parameter(k) for k in kappa], color="black", label=r"$R = I_1(\kappa R)/I_0(\kappa R)$")
    ax.plot([0, 2], [0, 0], color="black")
    ax.plot([2, 9], [0, 0], color="black", ls=(0, (3, 2)), label="uniform, unstable")
    few = np.linspace(0, 1.9, 200)
    law = np.sqrt(np.pi / 4 / n_tokens / (1 - few / 2))
    ax.plot(few, law, color=plot.COLOURS["orange"], label=f"noise of $n$ = {n_tokens} tokens")
    for k, (where, size) in enumerate(points.items()):
        ax.errorbar(
            where, size.mean(), 2 * size.std() / math.sqrt(len(size)), fmt="o", ms=3.5,
            color=plot.COLOURS["blue"], label="runs, two errors" if k == 0 else None,
        )  # fmt: skip
    ax.set(xlabel=r"$\kappa$", ylabel="$R$ = |mean of the tokens|", xlim=(0, 9), ylim=(-0.03, 1))
    ax.legend()
    return figure
