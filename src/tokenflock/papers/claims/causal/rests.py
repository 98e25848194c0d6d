"""Two tokens on the circle that rest away from +-xi: proved by ball arithmetic, with the basin that the balls reach.

Causal attention sees the first token alone, so with x_k at the angle f_k and n_k the tangent there

    f_1' = <n_1, V x_1>,      f_2' = <n_2, a V x_1 + (1 - a) V x_2>,      a = 1 / (1 + exp(x_2' B (x_2 - x_1))),

B = beta Q'K, and f_1 = 0 is xi. Every start with |f_1| <= e and |f_2 - f*| <= rho ends at (0, f) with one f in that
range if (i) the slope of f_1' is negative on [-e, e], so that f_1 falls to 0; (ii) f_2' points inwards at both ends
f* +- rho for every |f_1| <= e, so that nothing leaves; (iii) the slope of f_2' in f_2 is negative on the range at
f_1 = 0: there one place is at rest, and what f_2' = F(f_1(t), f_2) with f_1(t) -> 0 leads to is that place. The range
keeps off 0 and pi, so the limit is neither xi nor -xi.

With V = diag(1, r) and B = diag(p, w) all of this is one function: (L9) with m tokens at xi and none behind it has its
zeros at u = -v with

    g(v) = log(1 - r) + log v + p v + p v^2 + w (1 - v^2) - log m = 0,

and the token rests for good where g falls through 0. For w > p the function is strictly concave: it falls through 0
inside (0, 1) iff its largest value is positive, taken before 1, and g(1) = log((1 - r)/m) + 2 p < 0. For w <=
max(p, 0) no such place exists (docs/findings.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from tokenflock.papers.claims.causal import balls
from tokenflock.papers.claims.causal.balls import Ball, Proof, ball, decide, library

Matrix = tuple[tuple[Fraction | int, Fraction | int], tuple[Fraction | int, Fraction | int]]
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


class Example(NamedTuple):
    """A value matrix, a form beta Q'K, the angle f* (near it), and the radii e and rho of the basin that is claimed."""

    name: str
    value: Matrix
    form: Matrix
    angle: float
    first: float
    radius: float


EXAMPLES = (
    Example("V = diag(1, 1/2), Q'K = diag(1/10, 10)", ((1, 0), (0, HALF)), ((TENTH, 0), (0, 10)), 2.9097, 0.05, 0.1),
    Example("V = [[1, 1], [0, 1/2]], beta = 0", ((1, 1), (0, HALF)), ((0, 0), (0, 0)), 3.7851, 0.15, 0.35),
    Example("V = diag(1, 1/2), Q'K = 8 diag(-1, 1)", ((1, 0), (0, HALF)), ((-8, 0), (0, 8)), 2.019, 0.2, 0.12),
    Example("V = diag(1, 1/2), Q'K = 10 J", ((1, 0), (0, HALF)), ((0, 10), (-10, 0)), 3.072, 0.03, 0.03),
)


def stable_rest(example: Example) -> Proof:
    """(i), (ii) and (iii) above, for one example."""
    V, B = _arbs(example.value), _arbs(example.form)
    low, high, rho = example.angle - example.radius, example.angle + example.radius, example.radius
    near = (-example.first, example.first)

    def first(angle: Ball) -> Ball:
        return -_slope(lambda f: _first(V, f), angle)

    def second(angle: Ball) -> Ball:
        return -_slope(lambda f: _second(V, B, library().arb(0), f), angle)

    facts: list[balls.Fact] = [
        (first, [near]),
        (lambda f: -_second(V, B, f, library().arb(high)), [near]),
        (lambda f: _second(V, B, f, library().arb(low)), [near]),
        (second, [(low, high)]),
        (lambda f: 1 - f.cos() ** 2, [(low, high)]),  # neither xi nor -xi
    ]
    words = f"{example.name}: the second token rests for good near {example.angle:g} rad from xi"
    if example.value[1][0] or V[0][0] != 1:
        return Proof(words, "", 0, False)  # xi must be (1, 0)
    return decide(words, f"x_1 within {example.first:g} rad of xi, x_2 within {rho:g} rad of there", facts)


def _arbs(matrix: Matrix) -> list[list[Ball]]:
    flint = library()
    return [[flint.arb(flint.fmpq(Fraction(v).numerator, Fraction(v).denominator)) for v in row] for row in matrix]


def _form(x: tuple[Ball, Ball], A: list[list[Ball]], y: tuple[Ball, Ball]) -> Ball:
    """x' A y."""
    return x[0] * (A[0][0] * y[0] + A[0][1] * y[1]) + x[1] * (A[1][0] * y[0] + A[1][1] * y[1])


def _first(V: list[list[Ball]], f: Ball) -> Ball:
    s, c = f.sin(), f.cos()
    return _form((-s, c), V, (c, s))


def _second(V: list[list[Ball]], B: list[list[Ball]], f1: Ball, f2: Ball) -> Ball:
    x1, x2 = (f1.cos(), f1.sin()), (f2.cos(), f2.sin())
    n2, gap = (-x2[1], x2[0]), (x2[0] - x1[0], x2[1] - x1[1])
    share = 1 / (1 + _form(x2, B, gap).exp())
    return share * _form(n2, V, x1) + (1 - share) * _form(n2, V, x2)


def _slope(function: balls.Function, at: Ball) -> Ball:
    """The derivative on a ball, from a power series."""
    return function(library().arb_series([at, 1], 2))[1]


# ---- the diagram of V = diag(1, r), Q'K = diag(p, w)


def resting(p: Ball, w: Ball, r: Ball, tokens: int = 1) -> bool | None:
    """Whether a stable place off +-xi exists behind so many tokens at xi, surely; None if the balls cannot tell."""
    beyond = 1 + 3 * p - 2 * w  # g'(1)
    if w <= 0 or (p >= 0 and beyond >= 0):
        return False
    if not w > p:
        return None
    share = (1 - r).log() - library().arb(tokens).log()
    pole = share + 2 * p  # g(1)
    top = (p + (p * p + 8 * (w - p)).sqrt()) / (4 * (w - p))  # the root of v g'(v)
    # v g' = 1 + p v + 2 (p - w) v^2 = 0 there, so p v + (p - w) v^2 = (p v - 1) / 2.
    most = share + top.log() + w + (p * top - 1) / 2
    if beyond < 0 and pole < 0 and most > 0:
        return True
    if beyond >= 0 or pole >= 0 or most <= 0:
        return False
    return None


def boundary(
    ratio: float, forms: tuple[float, float], own: tuple[float, float], depth: int = 12, tokens: int = 1
) -> Iterator[tuple[float, float, float, float, bool | None]]:
    """Boxes (p from, p to, w from, w to, answer) that cover the diagram, cut in four until balls decide or at depth."""
    r = library().arb(ratio)
    waiting = [(*forms, *own, 0)]
    while waiting:
        left, right, low, high, cuts = waiting.pop()
        answer = resting(ball(left, right), ball(low, high), r, tokens)
        if answer is not None or cuts == depth:
            yield left, right, low, high, answer
            continue
        p, w = (left + right) / 2, (low + high) / 2
        for a, b in ((left, p), (p, right)):
            waiting += [(a, b, low, w, cuts + 1), (a, b, w, high, cuts + 1)]


def tells(p: float, w: float, ratio: float, tokens: int = 1) -> bool:
    """`resting` at one point, in floating point: for contours."""
    if w <= max(p, 0.0):
        return False
    share = math.log1p(-ratio) - math.log(tokens)
    top = (p + math.sqrt(p * p + 8 * (w - p))) / (4 * (w - p))
    most = share + math.log(top) + w + (p * top - 1) / 2
    return 1 + 3 * p - 2 * w < 0 and share + 2 * p < 0 and most > 0
