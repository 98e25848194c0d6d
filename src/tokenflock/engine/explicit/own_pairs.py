"""Sums over pairs for kernels (E15) and normalisers (E16): a loop is made for each function, which is inlined in it.

Results are those of pairs.py but for `top`, which nobody reads; per_token[0, i] is 1 / Z_i, by which row i is
multiplied. Tokens, logits, masses and weights of frozen tokens are in their own units here, not in those of log 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tokenflock.engine.compiled.declare import inline
from tokenflock.engine.compiled.lane_functions import chosen, least, np_exp
from tokenflock.engine.compiled.lanes import absolute, fma, indices, larger, load, root, splat, store, width, within
from tokenflock.engine.explicit.pairs import add, clear, cut, interval, logit, mass
from tokenflock.engine.explicit.registers import COORDINATES
from tokenflock.engine.explicit.work import COUNTS, HI, LO

SUM, COUNT, ROOT, SINK = range(4)  # what rows are divided by
DIVISORS = {"softmax": SUM, "l2": ROOT, "sink": SINK}  # all others are counts, which terms.py finds once


class LoopShape(NamedTuple):
    """What a loop is made for, beside the function; all of it is known when it is compiled."""

    d: int  # coordinates in registers, 0 for any number of them
    shifted: bool  # the kernel is exp: the largest logit of a row is taken out
    tilted: bool  # there is a bias
    weighed: bool  # there are masses
    divisor: int
    others: bool  # the token itself is left out of what its row is divided by
    checked: bool  # a negative weight makes a row nan
    takes: tuple[str, ...] = ("logit",)  # of logit, overlap and distance


class RowLoop(NamedTuple):
    """How a loop goes through its rows: with coordinates in registers, or in memory."""

    begin: Any  # (pairs, i) -> what it holds of the rows i ..: their tokens, their queries
    measure: Any  # (pairs, y, j, i, held) -> logit without bias, overlap, square of the distance
    none: Any  # (pairs, i, held) -> sums that are 0
    pull: Any  # (sums, pairs, y, j, i, held, w) -> sums with the pull of one more token
    keep: Any  # (sums, pairs, i): sums go where the results are


def _in_registers(d: int) -> RowLoop:
    take, gaps_to, dot, nothing, pull_of, keep = COORDINATES[d]

    @inline
    def begin(pairs, i):
        at = take(pairs.x, i)
        return at, take(pairs.u, i), nothing(at)[1:]

    @inline
    def measure(pairs, y, j, i, held):
        token, gaps = gaps_to(y, j, held[2]), gaps_to(y, j, held[0])
        return dot(held[1], token), dot(held[0], token), dot(gaps, gaps)

    @inline
    def none(pairs, i, held):
        return nothing(held[0])

    @inline
    def pull(sums, pairs, y, j, i, held, w):
        return pull_of(sums, w, gaps_to(y, j, held[0]))

    return RowLoop(begin, measure, none, pull, keep)


def _in_memory(takes: tuple[str, ...]) -> RowLoop:
    wants_logit, wants_overlap, wants_distance = (name in takes for name in ("logit", "overlap", "distance"))

    @inline
    def begin(pairs, i):
        return splat(pairs.x.dtype.type(0.0))

    @inline
    def measure(pairs, y, j, i, held):
        x, d = pairs.x, pairs.x.shape[0]
        s = overlap = square = held
        if wants_logit:
            s = logit(y, j, pairs.u, i, d)
        if wants_overlap:
            overlap = logit(y, j, x, i, d)
        if wants_distance:
            for a in range(d):
                gap = splat(y[a, j]) - load(x, a, i)
                square = fma(gap, gap, square)
        return s, overlap, square

    @inline
    def none(pairs, i, held):
        clear(i, pairs.x.shape[0], pairs.p, pairs.z)
        return held

    @inline
    def pull(sums, pairs, y, j, i, held, w):
        add(pairs.x, y, j, i, pairs.x.shape[0], w, pairs.p, pairs.z)
        return sums

    @inline
    def keep(sums, pairs, i):
        return None

    return RowLoop(begin, measure, none, pull, keep)


def _divided(divisor: int, checked: bool) -> Any:
    """(row's sums, count, top, least weight) -> 1 / Z: 0 where there is nothing to divide by."""

    @inline
    def factor(pairs, total, count, top, lowest):
        zero, one = total - total, splat(pairs.x.dtype.type(1.0))
        if divisor == COUNT:
            z = count * np_exp(-top)
        elif divisor == ROOT:
            z = root(total)
        elif divisor == SINK:
            z = total + np_exp(splat(pairs.x.dtype.type(pairs.numbers.sink)) - top)
        else:
            z = total
        made = chosen(z == 0.0, zero, one / z)
        return chosen(lowest < 0.0, np.nan, made) if checked else made

    return factor


def _tops(shape: LoopShape, measure: Any) -> Any:
    """Logits with their bias, and the largest one of each row: (tilt, largest)."""
    tilted, weighed = shape.tilted, shape.weighed

    @inline
    def tilt(pairs, s, j, i):
        if tilted:
            far = absolute(indices(pairs.x.dtype.type(i)) - splat(pairs.x.dtype.type(j)))
            s = s - splat(pairs.x.dtype.type(pairs.call.slope)) * far
        return s

    @inline
    def largest(pairs, i, held, lo, hi):
        x, frozen, n = pairs.x, pairs.frozen, width(pairs.x)
        low = splat(x.dtype.type(-np.inf))
        best, stop = low, int(pairs.rows[HI, i + n - 1])
        for j in range(int(pairs.rows[LO, i]), stop):
            s = tilt(pairs, measure(pairs, x, j, i, held)[0], j, i)
            if weighed:
                s = chosen(mass(pairs, j, i) > 0.0, s, low)
            best = larger(within(s, low, splat(x.dtype.type(j)), lo, hi), best)
        for j in range(frozen.shape[1]):
            best = larger(measure(pairs, frozen, j, i, held)[0], best)
        return best

    return tilt, largest


def _meetings(weight: Any, shape: LoopShape, go: RowLoop, tilt: Any) -> Any:
    """What a row does with a token, and with a frozen one: (meet, count_in)."""
    weighed, others, checked, rooted = shape.weighed, shape.others, shape.checked, shape.divisor == ROOT
    measure, pull = go.measure, go.pull

    @inline
    def count_in(w, a, total, lowest):
        """The sums that a row is divided by, with one more weight w of mass a."""
        lowest = least(lowest, w) if checked else lowest
        return (fma(a * w, w, total) if rooted else fma(a, w, total)), lowest

    @inline
    def token(pairs, j, i, held, top, lo, hi, masked):
        """The weight and the mass of token j for the rows i, 0 where it is not seen."""
        x = pairs.x
        s, overlap, square = measure(pairs, x, j, i, held)
        w, a = weight(tilt(pairs, s, j, i) - top, overlap, square), splat(x.dtype.type(1.0))
        if weighed:
            a = mass(pairs, j, i)
            w = chosen(a > 0.0, w, 0.0)
        if masked:
            w = within(w, top - top, splat(x.dtype.type(j)), lo, hi)
        return w, a

    @inline
    def meet(pairs, j, i, held, top, lo, hi, sums, total, lowest, masked):
        x = pairs.x
        w, a = token(pairs, j, i, held, top, lo, hi, masked)
        sums = pull(sums, pairs, x, j, i, held, a * w if weighed else w)
        counted = chosen(indices(x.dtype.type(i)) == x.dtype.type(j), 0.0, w) if others else w
        total, lowest = count_in(counted, a, total, lowest)
        return sums, total, lowest

    return meet, count_in


def rows_of(weight: Any, shape: LoopShape) -> Any:
    """The rows of a part: a function (pairs, k). weight(logit, overlap, square of the distance) is the kernel."""
    go = _in_registers(shape.d) if shape.d else _in_memory(shape.takes)
    begin, measure, none, pull, keep = go
    shifted, factor = shape.shifted, _divided(shape.divisor, shape.checked)
    tilt, largest = _tops(shape, measure)
    meet, count_in = _meetings(weight, shape, go, tilt)

    @inline
    def rows(pairs, k):
        x, lines, frozen, n = pairs.x, pairs.rows, pairs.frozen, pairs.numbers.n
        m, zero = width(x), splat(x.dtype.type(0.0))
        for i in range(cut(x, n, k + 1), cut(x, n, k), m):
            held, lo, hi = begin(pairs, i), load(lines, LO, i), load(lines, HI, i)
            start, all_from, all_to, stop = interval(lines, i, m)
            top = largest(pairs, i, held, lo, hi) if shifted else zero
            sums, total, lowest = none(pairs, i, held), zero, zero
            for first, last in ((start, all_from), (all_to, stop)):
                for j in range(first, last):
                    sums, total, lowest = meet(pairs, j, i, held, top, lo, hi, sums, total, lowest, True)
            for j in range(all_from, all_to):
                sums, total, lowest = meet(pairs, j, i, held, top, lo, hi, sums, total, lowest, False)
            for j in range(frozen.shape[1]):
                s, overlap, square = measure(pairs, frozen, j, i, held)
                w, a = weight(s - top, overlap, square), splat(frozen[x.shape[0], j])
                sums = pull(sums, pairs, frozen, j, i, held, a * w)
                total, lowest = count_in(w, a, total, lowest)
            keep(sums, pairs, i)
            line = COUNTS + pairs.call.head if lines.shape[0] > COUNTS + 1 else COUNTS
            count = load(lines, line, i)
            store(pairs.per_token, 0, i, factor(pairs, total, count, top, lowest))

    return rows
