"""Sums over pairs for B = c I on the sphere, up to 15 coordinates in registers: see pairs.py.

A kernel for each d, written once: what a loop over the coordinates keeps in memory costs three times as much at d = 8.
"""

from __future__ import annotations

from typing import Any

from tokenflock.engine.compiled.declare import inline, pointed
from tokenflock.engine.compiled.lanes import exp2, load, noinline, splat, width, within
from tokenflock.engine.explicit.pairs import cut, interval, mass
from tokenflock.engine.explicit.registers import COORDINATES
from tokenflock.engine.explicit.work import HI, LO


def _near(d: int, weighed: bool = False) -> Any:
    """The rows of a part for B = c I on the sphere, d coordinates in registers. weighed: tokens have masses."""
    take, gaps_to, dot, none, pull, keep = COORDINATES[d]

    @inline
    def weight(pairs, j, i, gaps):
        w = exp2(-dot(gaps, gaps))
        return w * mass(pairs, j, i) if weighed else w

    @inline
    def rows_of(pairs, k):
        x, rows, n = pairs.x, pairs.rows, pairs.numbers.n
        m = width(x)
        for i in range(cut(x, n, k + 1), cut(x, n, k), m):
            at, lo, hi = take(x, i), load(rows, LO, i), load(rows, HI, i)
            sums = none(at)
            start, all_from, all_to, stop = interval(rows, i, m)
            for j in range(start, all_from):
                gaps = gaps_to(x, j, at)
                w = weight(pairs, j, i, gaps)
                sums = pull(sums, within(w, w - w, splat(x.dtype.type(j)), lo, hi), gaps)
            for j in range(all_from, all_to):
                gaps = gaps_to(x, j, at)
                sums = pull(sums, weight(pairs, j, i, gaps), gaps)
            for j in range(all_to, stop):
                gaps = gaps_to(x, j, at)
                w = weight(pairs, j, i, gaps)
                sums = pull(sums, within(w, w - w, splat(x.dtype.type(j)), lo, hi), gaps)
            keep(sums, pairs, i)

    return rows_of


_near2, _near3, _weighed2, _weighed3 = _near(2), _near(3), _near(2, weighed=True), _near(3, weighed=True)
_near4, _near5, _near6, _near7, _near8, _near9 = (_near(d) for d in range(4, 10))
_near10, _near11, _near12, _near13, _near14, _near15 = (_near(d) for d in range(10, 16))


@pointed
def near2(pairs, k):
    """d = 2, B = c I on the circle. x is scaled so that s_ij - s_ii = -|x_i - x_j|^2: top_i = s_ii, no search."""
    noinline()
    _near2(pairs, k)


@pointed
def near3(pairs, k):
    """near2 for d = 3."""
    noinline()
    _near3(pairs, k)


@pointed
def weighed2(pairs, k):
    """near2 with masses."""
    noinline()
    _weighed2(pairs, k)


@pointed
def weighed3(pairs, k):
    """near3 with masses."""
    noinline()
    _weighed3(pairs, k)


@pointed
def near4(pairs, k):
    """near2 for d = 4."""
    noinline()
    _near4(pairs, k)


@pointed
def near5(pairs, k):
    """near2 for d = 5."""
    noinline()
    _near5(pairs, k)


@pointed
def near6(pairs, k):
    """near2 for d = 6."""
    noinline()
    _near6(pairs, k)


@pointed
def near7(pairs, k):
    """near2 for d = 7."""
    noinline()
    _near7(pairs, k)


@pointed
def near8(pairs, k):
    """near2 for d = 8."""
    noinline()
    _near8(pairs, k)


@pointed
def near9(pairs, k):
    """near2 for d = 9."""
    noinline()
    _near9(pairs, k)


@pointed
def near10(pairs, k):
    """near2 for d = 10."""
    noinline()
    _near10(pairs, k)


@pointed
def near11(pairs, k):
    """near2 for d = 11."""
    noinline()
    _near11(pairs, k)


@pointed
def near12(pairs, k):
    """near2 for d = 12."""
    noinline()
    _near12(pairs, k)


@pointed
def near13(pairs, k):
    """near2 for d = 13."""
    noinline()
    _near13(pairs, k)


@pointed
def near14(pairs, k):
    """near2 for d = 14."""
    noinline()
    _near14(pairs, k)


@pointed
def near15(pairs, k):
    """near2 for d = 15."""
    noinline()
    _near15(pairs, k)
