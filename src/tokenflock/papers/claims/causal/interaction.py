"""Paper A, appendix A: the interaction function (Lemma A.1) and the window of parameters of Theorem 5.2.

Each inequality is sampled, where a user can break it, and beside that proved over its whole range by ball arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from tokenflock import plot, theory
from tokenflock.errors import MissingExtra
from tokenflock.papers import layout
from tokenflock.papers.claims.causal.centers import conditions
from tokenflock.papers.claims.ledger import Check, Trial, claim

Sides = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]

SLACK = 1e-13  # rounding of both sides, relative to the larger
MANY = 2000  # samples a trial


@claim(
    "causal/lemma-a.1",
    kind="theorem",
    statement="h(x) = e^{beta (cos x - 1)} sin x is odd, >= 0 on [0, pi], rises to tau* and falls to pi; (beta + "
    "1/2)^(-1/2) < tau* < beta^(-1/2) for beta >= 1; e^{-beta x^2/2} (x - x^3/6) < h(x) for 0 < x <= pi; h(x) < "
    "e^{-beta x^2/2 + beta x^4/24} x for x > 0; g = h' > e^{-beta x^2/2} (1 - x^2/2 - beta x^2) for 0 < x < (beta + "
    "1/2)^(-1/2); g > -e^{-beta x^2/2 + beta x^4/24} beta x^2 for x > 0, beta >= 1.",
    hypotheses=("beta > 0, or beta >= 1 where said",),
    trial=f"{MANY} pairs (x, beta), beta from 1e-3 to 1e6 (or from 1), x in units of beta^(-1/2) and up to the end",
    measured="the largest relative excess of the smaller side over the larger one",
    rule="holds if no excess is above rounding; proved where ball arithmetic covers the whole range",
    erratum="The lower bound on h holds up to pi, not for all x > 0. The last bound on g needs beta above 0.137455, "
    "not all beta > 0.",
    points=MANY,
    sizes={"trials": 50},
    quick={"trials": 5},
)
def lemma_a_1(check: Check, x_most: float = np.pi, beta_least: float = 1.0, prove: bool = True) -> None:
    """x_most: how far the lower bound on h is tried. beta_least: from where the last bound on g is."""
    sides: dict[str, Sides] = {
        "h >= 0": _h_positive,
        "h rises to tau*, then falls": _one_peak,
        "tau* > (beta + 1/2)^(-1/2)": lambda r: ((b := _beta(r, 1.0)) ** 0, theory.tau_star(b) * np.sqrt(b + 0.5)),
        "tau* < beta^(-1/2)": lambda r: (theory.tau_star(b := _beta(r, 1.0)) * np.sqrt(b), b**0),
        "h above": lambda r: _h_above(r, x_most),
        "h below": _h_below,
        "g near 0": _g_near,
        "g everywhere": lambda r: _g_everywhere(r, beta_least),
    }
    for case, both in sides.items():
        check.each(case, partial(_excess, both=both), SLACK, "<=")
    if prove:
        _prove(check, "lemma_a_1")
    check.draw = _draw_bounds


def _excess(r: np.random.Generator, both: Sides) -> Trial:
    small, large = both(r)
    worst = float(np.max((small - large) / np.maximum(np.maximum(np.abs(small), np.abs(large)), 1e-300)))
    return Trial(worst <= SLACK, max(worst, 0.0))


def _beta(r: np.random.Generator, least: float = 1e-3) -> np.ndarray:
    return np.exp(r.uniform(np.log(least), np.log(1e6), MANY))


def _place(r: np.random.Generator, beta: np.ndarray, most: float) -> np.ndarray:
    """Half of the places in units of beta^(-1/2), half over the whole range."""
    near = r.uniform(0, 6, MANY) / np.sqrt(beta)
    return np.where((r.random(MANY) < 0.5) & (near < most), near, r.uniform(0, most, MANY))


def _h_positive(r: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    beta = _beta(r)
    return np.zeros(MANY), theory.h(_place(r, beta, np.pi), beta)


def _one_peak(r: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The slope divided by its exponential is positive before tau* and negative behind it."""
    beta = _beta(r)
    x = _place(r, beta, np.pi)
    slope = np.cos(x) - beta * np.sin(x) ** 2
    return np.zeros(MANY), np.where(x < theory.tau_star(beta), slope, -slope)


# Both sides are divided by e^{-beta x^2/2}, which would underflow. c = cos x - 1 + x^2/2 >= 0.
def _c(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0.1, x**4 / 24 - x**6 / 720 + x**8 / 40320, x * x / 2 - 2 * np.sin(x / 2) ** 2)


def _h_above(r: np.random.Generator, most: float) -> tuple[np.ndarray, np.ndarray]:
    beta = _beta(r)
    x = _place(r, beta, most)
    with np.errstate(over="ignore", invalid="ignore"):
        return x - x**3 / 6, np.exp(np.minimum(beta * _c(x), 700)) * np.sin(x)


def _h_below(r: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    beta = _beta(r)
    x = _place(r, beta, 4 * np.pi)
    shrink = np.exp(np.maximum(beta * (_c(x) - x**4 / 24), -700))
    return shrink * np.sin(x), x


def _g_near(r: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    beta = _beta(r)
    x = r.uniform(0, 1, MANY) / np.sqrt(beta + 0.5)
    return 1 - x * x / 2 - beta * x * x, np.exp(beta * _c(x)) * (np.cos(x) - beta * np.sin(x) ** 2)


def _g_everywhere(r: np.random.Generator, least: float) -> tuple[np.ndarray, np.ndarray]:
    beta = _beta(r, least) if least >= 1 else np.full(MANY, least)
    x = _place(r, beta, 4 * np.pi)
    shrink = np.exp(np.maximum(beta * (_c(x) - x**4 / 24), -700))
    return -shrink * (np.cos(x) - beta * np.sin(x) ** 2), beta * x * x


@claim(
    "causal/window",
    kind="theorem",
    statement="If 0 < eps < 0.1, c >= 5.5 + 2 eps, beta >= (c-1-2eps)^2/2 and N < (eps/(c-1)) e^{3 (c-1-2eps)^2/8}, "
    "then (1) and (2) of Theorem 5.2 hold. So beta of order log N is enough.",
    hypotheses=("eps < 0.1", "c >= 5.5 + 2 eps", "beta >= (c-1-2eps)^2 / 2", "N < (eps/(c-1)) e^{3(c-1-2eps)^2/8}"),
    trial=f"{MANY} points (eps, c, beta) of the window, half of them on its edge in beta, with the largest N",
    measured="the share of points at which (1) or (2) fails",
    rule="holds if none does; proved where ball arithmetic covers the whole window",
    erratum="eps < 0.1 stands only in the remark. Some bound is needed: (2) fails at eps = 0.984, c = 7.64, beta = "
    "11.26, N = 531.6; 0.85 is enough (`proofs.window`). (2) is printed without its minus sign. The example eps = "
    "0.1, c = 6.5 is rounded: the formula gives beta >= 14.045 and N <= 682.9.",
    points=MANY,
    sizes={"trials": 10},
    quick={"trials": 1},
)
def window(check: Check, c_least: float = 5.5, stretch: float = 1.0, prove: bool = True) -> None:
    """stretch: N is that many times the largest allowed. c_least: in place of 5.5."""

    def one(r: np.random.Generator) -> Trial:
        wrong = 0
        for _ in range(MANY):
            eps = 0.1 * float(r.random()) or 0.05
            c = c_least + 2 * eps + float(r.exponential(2.0))
            a = c - 1 - 2 * eps
            beta = a * a / 2 * (1.0 if r.random() < 0.5 else float(np.exp(r.exponential(2.0))))
            N = stretch * eps / (c - 1) * np.exp(3 * a * a / 8)
            wrong += not conditions(N * (1 - 1e-12), c, eps, beta)
        return Trial(wrong == 0, wrong / MANY)

    check.each("points of the window", one, 0.5 / MANY)
    if prove:
        _prove(check, "window")
    check.draw = _draw_window


def _draw_bounds() -> plot.Figure:
    """h and g with their bounds, at the beta of the paper's Figure 4."""
    beta, x = 10.0, np.linspace(0, 1.5, 400)
    bell, wide = np.exp(-beta * x**2 / 2), np.exp(-beta * x**2 / 2 + beta * x**4 / 24)
    curves = (
        ("h", theory.h(x, beta), wide * x, bell * (x - x**3 / 6)),
        ("g", theory.g(x, beta), None, -wide * beta * x**2),
    )
    figure, axes = layout.row(2, 2.5)
    for ax, (name, middle, above, below) in zip(axes, curves, strict=True):
        ax.plot(x, middle, label=f"${name}$")
        if above is not None:
            ax.plot(x, above, "--", color=plot.COLOURS["red"], label="upper bound")
        ax.plot(x, below, ":", color=plot.COLOURS["green"], label="lower bound")
        if name == "g":
            near = x < (beta + 0.5) ** -0.5
            label = r"lower bound, $x < (\beta + 1/2)^{-1/2}$"
            ax.plot(x[near], (bell * (1 - x**2 / 2 - beta * x**2))[near], "-.", label=label)
        ax.axvline(float(theory.tau_star(beta)), color=plot.COLOURS["grey"], lw=0.8)
        ax.set(xlabel="angle $x$ (rad)", ylabel=f"${name}(x)$", title=rf"$\beta$ = {beta:g}; grey line: $\tau^*$")
        ax.legend()
    return figure


def _draw_window() -> plot.Figure:
    """The largest N that the lemma allows, beside the largest for which the conditions hold."""
    eps, c = 0.1, np.linspace(5.7, 9, 60)
    a = c - 1 - 2 * eps
    figure, (ax,) = layout.row(1, 2.6, plot.COLUMN * 1.3)
    ax.plot(c, eps / (c - 1) * np.exp(3 * a**2 / 8), label="allowed by the lemma")
    for factor, style in ((1.0, "--"), (4.0, ":")):
        beta = factor * a**2 / 2
        r = beta**-0.5
        first = theory.h(eps * r, beta) / theory.h(a * r, beta)
        second = theory.g(eps * r, beta) / -theory.g((c - 2 * eps) * r, beta)
        words = rf"$\beta = {'' if factor == 1 else '4'}(c-1-2\epsilon)^2/2$"
        ax.plot(c, first, style, color=plot.COLOURS["red"], label=f"(1), {words}")
        ax.plot(c, second, style, color=plot.COLOURS["green"], label=f"(2), {words}")
    ax.set(yscale="log", xlabel="separation $c$", ylabel="largest $N$", title=rf"$\epsilon$ = {eps:g}")
    ax.legend()
    return figure


def _prove(check: Check, name: str) -> None:
    """Every proof of that name; without python-flint the samples stand alone, and the note says so."""
    from tokenflock.papers.claims.causal import proofs
    from tokenflock.papers.claims.causal.balls import Proof

    try:
        found: Iterable[Proof] = getattr(proofs, name)()
    except MissingExtra as error:
        check.note = f"Sampled only. {error}"
        return
    for proof in found:
        note = "" if proof.counterexample is None else f"fails at {proof.counterexample}."
        check.proof(f"proof: {proof.statement}", proof.domain, proof.boxes, note, failed=not proof.proved)
