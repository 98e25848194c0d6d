"""Sums over pairs for any form, up to 15 coordinates in registers: see pairs.py. A kernel for each d, written once."""

from __future__ import annotations

from typing import Any

from tokenflock.engine.compiled.declare import inline, pointed
from tokenflock.engine.compiled.lanes import exp2, load, noinline, splat, store, width, within
from tokenflock.engine.explicit.pairs import cut, interval, largest, logit
from tokenflock.engine.explicit.registers import COORDINATES
from tokenflock.engine.explicit.work import HI, LO


def _general(d: int) -> Any:
    """The rows of a part, d coordinates in registers."""
    take, gaps_to, _, none, pull, keep = COORDINATES[d]

    @inline
    def rows_of(pairs, k):
        x, u, rows, frozen, n = pairs.x, pairs.u, pairs.rows, pairs.frozen, pairs.numbers.n
        m, nothing = width(x), splat(x.dtype.type(0.0))
        for i in range(cut(x, n, k + 1), cut(x, n, k), m):
            best = largest(x, u, rows, frozen, i, m, d)
            at, lo, hi = take(x, i), load(rows, LO, i), load(rows, HI, i)
            sums = none(at)
            start, all_from, all_to, stop = interval(rows, i, m)
            for first, end in ((start, all_from), (all_to, stop)):
                for j in range(first, end):
                    w = within(exp2(logit(x, j, u, i, d) - best), nothing, splat(x.dtype.type(j)), lo, hi)
                    sums = pull(sums, w, gaps_to(x, j, at))
            for j in range(all_from, all_to):
                sums = pull(sums, exp2(logit(x, j, u, i, d) - best), gaps_to(x, j, at))
            for j in range(frozen.shape[1]):
                w = exp2(logit(frozen, j, u, i, d) + splat(frozen[d, j]) - best)
                sums = pull(sums, w, gaps_to(frozen, j, at))
            store(pairs.top, 0, i, best)
            keep(sums, pairs, i)

    return rows_of


_general2, _general3, _general4, _general5, _general6 = (_general(d) for d in range(2, 7))
_general7, _general8, _general9, _general10, _general11 = (_general(d) for d in range(7, 12))
_general12, _general13, _general14, _general15 = (_general(d) for d in range(12, 16))


@pointed
def general2(pairs, k):
    """d = 2."""
    noinline()
    _general2(pairs, k)


@pointed
def general3(pairs, k):
    """d = 3."""
    noinline()
    _general3(pairs, k)


@pointed
def general4(pairs, k):
    """d = 4."""
    noinline()
    _general4(pairs, k)


@pointed
def general5(pairs, k):
    """d = 5."""
    noinline()
    _general5(pairs, k)


@pointed
def general6(pairs, k):
    """d = 6."""
    noinline()
    _general6(pairs, k)


@pointed
def general7(pairs, k):
    """d = 7."""
    noinline()
    _general7(pairs, k)


@pointed
def general8(pairs, k):
    """d = 8."""
    noinline()
    _general8(pairs, k)


@pointed
def general9(pairs, k):
    """d = 9."""
    noinline()
    _general9(pairs, k)


@pointed
def general10(pairs, k):
    """d = 10."""
    noinline()
    _general10(pairs, k)


@pointed
def general11(pairs, k):
    """d = 11."""
    noinline()
    _general11(pairs, k)


@pointed
def general12(pairs, k):
    """d = 12."""
    noinline()
    _general12(pairs, k)


@pointed
def general13(pairs, k):
    """d = 13."""
    noinline()
    _general13(pairs, k)


@pointed
def general14(pairs, k):
    """d = 14."""
    noinline()
    _general14(pairs, k)


@pointed
def general15(pairs, k):
    """d = 15."""
    noinline()
    _general15(pairs, k)
