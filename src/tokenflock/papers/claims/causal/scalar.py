"""Paper A, the scalar lemma behind Theorem 4.1, in exact arithmetic: all vectors are rational.

<x, y><y, z> <= |<y, z>| <= <x, z>, so there is nothing to prove but the equality: with <x, z> > 0 it asks for |<x, y>|
= 1 and |<y, z>| = <x, z>, of one sign.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np

from tokenflock.papers.claims.ledger import Check, Trial, claim

MANY = 100  # triples of a trial
KINDS = ("any", "y = x or -x", "<x, z> = 0", "<y, z> = <x, z>")
Vector = list[Fraction]


@claim(
    "causal/scalar-lemma",
    kind="theorem",
    statement="|x| = |y| = 1 and |<y, z>| <= <x, z> imply <x, y><y, z> <= <x, z>, with equality if and only if <x, z> "
    "= 0, or |<y, z>| = <x, z> and <x, y> is the sign of <y, z>.",
    hypotheses=("|x| = |y| = 1", "|<y, z>| <= <x, z>"),
    trial=f"{MANY} triples of rational vectors in d of 2 to 6: any; y = x or -x; z orthogonal to x and y (d >= 3); z "
    "with <y, z> = <x, z>",
    measured="how many triples break the inequality or the condition of equality, in exact arithmetic",
    rule="holds if none does",
    sizes={"trials": 50},
    quick={"trials": 3},
)
def scalar_lemma(check: Check, bounded: bool = True, unit: bool = True) -> None:
    """bounded=False: without |<y, z>| <= <x, z>; unit=False: y of length 2."""

    def one(generator: np.random.Generator, kind: str) -> Trial:
        wrong = 0
        for _ in range(MANY):
            x, y, z = triple(generator, kind)
            if not unit:
                y = [2 * a for a in y]
            if bounded and dot(x, z) < 0:
                z = [-a for a in z]
            if bounded and abs(dot(y, z)) > dot(x, z):
                x, y = y, x
                z = z if dot(x, z) > 0 else [-a for a in z]
            wrong += not true(x, y, z)
        return Trial(wrong == 0, float(wrong))

    for kind in KINDS:
        check.each(kind, partial(one, kind=kind), 0.5)


def triple(generator: np.random.Generator, kind: str) -> tuple[Vector, Vector, Vector]:
    """Rational x and y of length 1, and z, in a random dimension."""
    d = int(generator.integers(3 if kind == KINDS[2] else 2, 7))
    x, y = on_sphere(generator, d), on_sphere(generator, d)
    z = [Fraction(int(a)) for a in generator.integers(-9, 10, d)]
    if kind == KINDS[1]:
        sign = int(generator.choice([-1, 1]))
        y = [sign * a for a in x]
    elif kind == KINDS[2]:
        z = without(z, x)
        z = without(z, without(y, x))
    elif kind == KINDS[3]:
        z = without(z, [a - b for a, b in zip(x, y, strict=True)])
    return x, y, z


def true(x: Vector, y: Vector, z: Vector) -> bool:
    """Whether the inequality and its condition of equality are so."""
    xy, yz, xz = dot(x, y), dot(y, z), dot(x, z)
    sign = (yz > 0) - (yz < 0)
    return xy * yz <= xz and (xy * yz == xz) == (xz == 0 or (abs(yz) == xz and xy == sign))


def on_sphere(generator: np.random.Generator, d: int) -> Vector:
    """A rational point of the sphere, by stereographic projection."""
    over, under = generator.integers(-9, 10, d - 1), generator.integers(1, 10, d - 1)
    p = [Fraction(int(a), int(b)) for a, b in zip(over, under, strict=True)]
    size = dot(p, p)
    return [*(2 * a / (size + 1) for a in p), (size - 1) / (size + 1)]


def dot(a: Vector, b: Vector) -> Fraction:
    """<a, b>."""
    return sum((u * v for u, v in zip(a, b, strict=True)), Fraction(0))


def without(a: Vector, b: Vector) -> Vector:
    """a less its part along b."""
    size = dot(b, b)
    return a if size == 0 else [u - dot(a, b) / size * v for u, v in zip(a, b, strict=True)]
