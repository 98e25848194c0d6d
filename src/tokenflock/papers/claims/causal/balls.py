"""Proof by ball arithmetic: is a function positive on a whole box, not only at sampled points?

    ball       an interval as a ball that surely contains it
    tail       what is left of sin or cos after its first Taylor terms, divided by its leading power
    centred    the mean value form of a function of one variable
    positive   adaptive bisection: cut the box until the function is surely positive on every piece
    h, g, tau  the interaction function of paper A, in balls
    decide     a claim from the inequalities it was reduced to; if they fail, look for a counterexample to the claim

A ball is a midpoint with a radius. A function of balls encloses its true range, rounding included, so "the ball lies
above 0" is a proof for every point of the piece. The reductions that lead to the inequalities are in `proofs`.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

from tokenflock.errors import bad, missing

#: A flint.arb; Any, because the package is optional.
Ball = Any
Function = Callable[..., Ball]
Side = tuple[float, float]
Box = Sequence[Side]

BITS = 96  # the radii come from the boxes; this only keeps rounding far below them
TERMS = 20  # of a Taylor tail: at |x| = 4 the rest is below 1e-23
BOXES = 20_000


def library() -> ModuleType:
    """python-flint, or the command that installs it."""
    try:
        import flint
    except ImportError as error:
        raise missing("python-flint", "proofs", "A rigorous proof") from error
    return flint


@dataclass(frozen=True)
class Proof:
    """What was claimed, where, and what came of it.

    - `boxes`: pieces on which an inequality was decided; 0 means algebra.
    - `counterexample`: a point, named by its variables, where balls show that the claim is false; None if proved, or if
      the argument broke and no such point was found.
    """

    statement: str
    domain: str
    boxes: int
    proved: bool
    counterexample: dict[str, float] | None = None


class Search(NamedTuple):
    """How a bisection ended: proved, at a point where the function is surely negative, or at a box left undecided."""

    proved: bool
    boxes: int
    negative: tuple[float, ...] | None = None
    undecided: tuple[tuple[float, float], ...] | None = None


class Doubt(NamedTuple):
    """Where to look for a counterexample: the claim's own margin, a bounded box, and what a point means.

    `witness` turns a point into named numbers and checks the claim once more at exactly those; None if it holds there.
    """

    margin: Function
    box: Box
    witness: Callable[..., dict[str, float] | None]


Fact = tuple[Function, Box]


def ball(low: float, high: float) -> Ball:
    """A ball that contains [low, high]. It may reach a little further, never less far."""
    flint = library()
    return flint.arb(low).union(flint.arb(high))


# A decimal such as 0.85 is no float: a range that is given so is taken to the next float outside, to cover both.


def up(x: float) -> float:
    """The next float above."""
    return math.nextafter(x, math.inf)


def down(x: float) -> float:
    """The next float below."""
    return math.nextafter(x, -math.inf)


def tail(x: Ball, n: int) -> Ball:
    r"""1/n! - x^2/(n+2)! + x^4/(n+4)! - ..., for balls that may contain 0.

    cos x = tail(x, 0),  sin x = x tail(x, 1),  1 - cos x = x^2 tail(x, 2),  x - sin x = x^3 tail(x, 3),
    cos x - 1 + x^2/2 = x^4 tail(x, 4),  sin x - x + x^3/6 = x^5 tail(x, 5),  and so on.

    x^m tail(x, m) is, up to sign, a Taylor remainder of sin or cos, so by Lagrange |m! tail(x, m)| <= 1 for real x. The
    recursion  m! tail(x, m) = 1 - x^2/((m+1)(m+2)) (m+2)! tail(x, m+2)  carries that ball down from m = n + 2 TERMS.
    """
    square, rest = x * x, ball(-1, 1)
    for m in range(n + 2 * TERMS - 2, n - 1, -2):
        rest = 1 - square * rest / ((m + 1) * (m + 2))
    return rest / math.factorial(n)


def square_gap(x: Ball) -> Ball:
    """(x^2 - sin^2 x)/x^4, for balls that may contain 0."""
    return 2 * tail(x, 3) - (x * tail(x, 3)) ** 2


def centred(function: Function) -> Function:
    """f(m) + f'(X)(X - m) with m in the middle of X: encloses f(X), with an error of the order of the width squared.

    `function` must accept a power series (flint.arb_series); its derivative is taken from there.
    """
    flint = library()

    def enclosure(x: Ball) -> Ball:
        middle = x.mid()
        slope = function(flint.arb_series([x, 1], 2))[1]
        return function(flint.arb_series([middle], 1))[0] + slope * (x - middle)

    return enclosure


def positive(function: Function, box: Box, max_boxes: int = BOXES) -> Search:
    """Decide whether function > 0 on the box, closed and with all its corners.

    Pieces on which the ball of values is not above 0 are cut in two across their relatively widest side, those with the
    smallest value in the middle first: where the claim is false, a negative value is soon met. It gives up after
    max_boxes pieces, or on a piece that floats cannot cut, and then says which box is left.
    """
    flint, sides = library(), _checked(box)
    if max_boxes < 1:
        raise bad("max_boxes", max_boxes, "whole numbers >= 1")
    widths = [high - low for low, high in sides]
    order = itertools.count()  # so that equal values never compare boxes
    waiting = [(0.0, next(order), sides)]
    boxes = 0
    with flint.ctx.workprec(BITS):
        while waiting:
            piece = heapq.heappop(waiting)[2]
            if boxes >= max_boxes:
                return Search(False, boxes, undecided=piece)
            boxes += 1
            if function(*(ball(low, high) for low, high in piece)) > 0:
                continue
            point = tuple(low + (high - low) / 2 for low, high in piece)
            value = function(*map(flint.arb, point))
            if value < 0:
                return Search(False, boxes, negative=point)
            halves = _halves(piece, point, widths)
            if not halves:
                return Search(False, boxes, undecided=piece)
            urgency = float(value.mid()) if value.is_finite() else math.inf
            for half in halves:
                heapq.heappush(waiting, (urgency, next(order), half))
    return Search(True, boxes)


def decide(statement: str, domain: str, facts: Sequence[Fact], doubt: Doubt | None = None) -> Proof:
    """The claim is proved when every fact (a function and a box where it must be positive) is.

    A fact that fails breaks the argument, not yet the claim: then `doubt` is searched for a point where the claim
    itself is false.
    """
    flint, boxes = library(), 0
    for function, box in facts:
        found = positive(function, box)
        boxes += found.boxes
        if not found.proved:
            break
    else:
        return Proof(statement, domain, boxes, True)
    if doubt is None:
        return Proof(statement, domain, boxes, False)
    found = positive(doubt.margin, doubt.box)
    with flint.ctx.workprec(BITS):
        point = doubt.witness(*found.negative) if found.negative else None
    return Proof(statement, domain, boxes + found.boxes, False, point)


def named(margin: Function, *names: str) -> Callable[..., dict[str, float] | None]:
    """The witness of a claim whose variables are the coordinates themselves."""
    arb = library().arb
    return lambda *point: dict(zip(names, point, strict=True)) if margin(*map(arb, point)) < 0 else None


def k(x: Ball, beta: Ball) -> Ball:
    """cos x - beta sin^2 x, whose sign g has."""
    return x.cos() - beta * x.sin() ** 2


def h(x: Ball, beta: Ball) -> Ball:
    """e^{beta (cos x - 1)} sin x (L1)."""
    return (beta * (x.cos() - 1)).exp() * x.sin()


def g(x: Ball, beta: Ball) -> Ball:
    """h' = e^{beta (cos x - 1)} (cos x - beta sin^2 x) (L1)."""
    return (beta * (x.cos() - 1)).exp() * k(x, beta)


def tau(beta: Ball) -> Ball:
    """tau*: cos tau = (r - 1)/(2 beta) with r^2 = 4 beta^2 + 1, so that beta sin^2 tau = cos tau."""
    return (((4 * beta**2 + 1).sqrt() - 1) / (2 * beta)).acos()


def _checked(box: Box) -> tuple[Side, ...]:
    sides = tuple((float(low), float(high)) for low, high in box)
    if not sides or not all(math.isfinite(low) and math.isfinite(high) and low <= high for low, high in sides):
        raise bad("box", sides, "finite (low, high) pairs with low <= high", "Bring an infinite range to a finite one.")
    return sides


def _halves(piece: tuple[Side, ...], point: tuple[float, ...], widths: list[float]) -> list[tuple[Side, ...]]:
    """The piece cut at its middle; the halves share the cut, so together they cover it. Empty if no side can be cut."""
    shares = [
        (high - low) / width if width > 0 and low < middle < high else 0.0
        for (low, high), middle, width in zip(piece, point, widths, strict=True)
    ]
    k = max(range(len(piece)), key=shares.__getitem__)
    if shares[k] == 0:
        return []
    (low, high), middle = piece[k], point[k]
    return [(*piece[:k], side, *piece[k + 1 :]) for side in ((low, middle), (middle, high))]
