"""Sums over the entries of a graph (E19), in the time of its entries: own masks, and biases of one's own.

Row r = i + h n of the present head h (of one graph for all heads r = i) has starts[r] .. starts[r + 1] - 1 of
`entries`, the tokens that it sees; frozen tokens stand after the others, and every row ends with them. What a bias and
masses add to the logits, in units of log 2, is a line of `masses` (hardmax: the masses as they are), one or one a
head.

Tokens are laid out as rows first, of whole registers from d = 4 on: a neighbour is then one place in memory. The logits
of a row stand in the tile of the thread, so that their exponentials are taken a register at a time. Results are those
of pairs.py; parts have about equally many entries, always the same ones, whatever the threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tokenflock.engine.compiled.declare import inline, pointed
from tokenflock.engine.compiled.lanes import exp2, fma, load, noinline, splat, store, total, width
from tokenflock.engine.explicit.pairs import HARD_TIE, HARD_TIE_32
from tokenflock.engine.explicit.rescaled_pairs import SHARPEN, SHARPEN_32
from tokenflock.engine.explicit.work import RESCALED

LAY_OUT, SUM = 0, 1  # the stages
MOST_PARTS, ENTRIES = 24, 2048  # parts at most, and entries that are worth one
NEVER = np.float32(-1e30)  # a logit whose weight is exactly 0
ROUNDS = 2  # of looking for the leader in rescaled space: the second from the right one, if rounding chose the first


@inline
def n_graph_parts(pairs):
    """How many parts a sum has."""
    return min(MOST_PARTS, 1 + pairs.entries.shape[0] // ENTRIES)


@inline
def _first_row(pairs, base, k):
    """The first row of part k: the rows before it have k / parts of the entries of this head."""
    starts, n = pairs.starts, pairs.numbers.n
    low, high = 0, n
    first, last = starts[base], starts[base + n]
    wanted = first + (last - first) * k // n_graph_parts(pairs)
    while low < high:
        middle = (low + high) // 2
        if starts[base + middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return n if k == n_graph_parts(pairs) else low


@inline
def _lay_out(pairs, k):
    """Part k of the tokens as rows."""
    rows, x, n, parts = pairs.by_rows[0], pairs.x, pairs.numbers.n, n_graph_parts(pairs)
    first, last = n * k // parts, n * (k + 1) // parts
    for i in range(first, last):
        for a in range(x.shape[0]):
            rows[i, a] = x[a, i]
    if pairs.by_rows.shape[0] > 1:
        queries = pairs.by_rows[1]
        for i in range(first, last):
            for a in range(x.shape[0]):
                queries[i, a] = pairs.u[a, i]


# A token in registers, for d = 1, 2, 3; `None` stands for any d, where it is read where it lies.
@inline
def _take1(pairs, i):
    return (pairs.u[0, i],)


@inline
def _take2(pairs, i):
    return pairs.u[0, i], pairs.u[1, i]


@inline
def _take3(pairs, i):
    return pairs.u[0, i], pairs.u[1, i], pairs.u[2, i]


@inline
def _take_any(pairs, i):
    return i


@inline
def _dot1(pairs, j, u):
    return u[0] * pairs.by_rows[0, j, 0]


@inline
def _dot2(pairs, j, u):
    rows = pairs.by_rows
    return u[0] * rows[0, j, 0] + u[1] * rows[0, j, 1]


@inline
def _dot3(pairs, j, u):
    rows = pairs.by_rows
    return u[0] * rows[0, j, 0] + u[1] * rows[0, j, 1] + u[2] * rows[0, j, 2]


@inline
def _dot_any(pairs, j, i):
    tokens, queries = pairs.by_rows[0], pairs.by_rows[1]
    s = load(queries, i, 0) * load(tokens, j, 0)
    for a in range(width(tokens), tokens.shape[1], width(tokens)):
        s = fma(load(queries, i, a), load(tokens, j, a), s)
    return total(s)


@inline
def _pull1(pairs, i, first, last, line):
    rows, entries, x = pairs.by_rows[0], pairs.entries, pairs.x[0, i]
    p = x - x
    for e in range(first, last):
        p += line[0, e - first] * (rows[entries[e], 0] - x)
    pairs.p[0, i] = p


@inline
def _pull2(pairs, i, first, last, line):
    rows, entries, x, y = pairs.by_rows[0], pairs.entries, pairs.x[0, i], pairs.x[1, i]
    p = q = x - x
    for e in range(first, last):
        j, w = entries[e], line[0, e - first]
        p += w * (rows[j, 0] - x)
        q += w * (rows[j, 1] - y)
    pairs.p[0, i], pairs.p[1, i] = p, q


@inline
def _pull3(pairs, i, first, last, line):
    rows, entries, x, y, z = pairs.by_rows[0], pairs.entries, pairs.x[0, i], pairs.x[1, i], pairs.x[2, i]
    p = q = r = x - x
    for e in range(first, last):
        j, w = entries[e], line[0, e - first]
        p += w * (rows[j, 0] - x)
        q += w * (rows[j, 1] - y)
        r += w * (rows[j, 2] - z)
    pairs.p[0, i], pairs.p[1, i], pairs.p[2, i] = p, q, r


@inline
def _pull_any(pairs, i, first, last, line):
    tokens, entries, d, m = pairs.by_rows[0], pairs.entries, pairs.x.shape[0], width(pairs.x)
    room = line.shape[1] - tokens.shape[1]  # the sums stand at the end of the tile
    none = splat(line.dtype.type(0.0))
    for a in range(0, tokens.shape[1], m):
        store(line, 0, room + a, none)
    for e in range(first, last):
        j, w = entries[e], splat(line[0, e - first])
        for a in range(0, tokens.shape[1], m):
            gap = load(tokens, j, a) - load(tokens, i, a)
            store(line, 0, room + a, fma(w, gap, load(line, 0, room + a)))
    for a in range(d):
        pairs.p[a, i] = line[0, room + a]


@inline
def _size(pairs, i, j):
    """A bound of the logit of token j in row i."""
    size = 0.0
    for a in range(pairs.x.shape[0]):
        size += abs(np.float64(pairs.u[a, i]) * pairs.by_rows[0, j, a])
    return size


@inline
def _by_leader(pairs, i, first, last, extra, lead, line):
    """Logits of row i as differences to entry `lead`, of tokens first (E8); returns the largest and its entry."""
    rows, entries, x, u = pairs.by_rows[0], pairs.entries, pairs.x, pairs.u
    m, masses, best, where = entries[lead], pairs.masses, line.dtype.type(-np.inf), first
    for e in range(first, last):
        j, s = entries[e], line.dtype.type(0.0)
        for a in range(x.shape[0]):
            s += u[a, i] * (rows[j, a] - rows[m, a])
        if masses.shape[0] > 0:
            s += masses[extra, e] - masses[extra, lead]
        line[0, e - first] = s
        if s > best:
            best, where = s, e
    return best, where


@inline
def _exponentials(line, size, level):
    """Logits become 2^(s - level), none above 1; returns their sum."""
    m, none = width(line), splat(line.dtype.type(0.0))
    top, sums = splat(level), none
    for e in range(size, (size + m - 1) // m * m):
        line[0, e] = NEVER
    for e in range(0, size, m):
        w = exp2(load(line, 0, e) - top)
        store(line, 0, e, w)
        sums = sums + w
    return total(sums)


@inline
def _hard(pairs, first, size, extra, best, line):
    """Equal shares of the largest logits (E2); returns their sum."""
    tie = line.dtype.type(HARD_TIE if line.itemsize == 8 else HARD_TIE_32)
    level, whole = best - tie * (line.dtype.type(1.0) + abs(best)), line.dtype.type(0.0)
    for e in range(size):
        w = line.dtype.type(1.0 if line[0, e] >= level else 0.0)
        if pairs.masses.shape[0] > 0:
            w *= pairs.masses[extra, first + e]
        line[0, e] = w
        whole += w
    return whole


def _graph(take: Any, dot: Any, pull: Any) -> Any:
    """A kernel of the parts."""

    @inline
    def rows_of(pairs, k):
        if pairs.call.stage == LAY_OUT:
            _lay_out(pairs, k)
            return
        entries, starts, masses = pairs.entries, pairs.starts, pairs.masses
        n, head, line = pairs.numbers.n, pairs.call.head, pairs.tile
        hard, rescaled = pairs.numbers.hard != 0, pairs.numbers.space == RESCALED
        base = head * n if starts.shape[0] > n + 1 else 0
        extra = head if masses.shape[0] > 1 else 0
        sharp = SHARPEN if line.itemsize == 8 else SHARPEN_32
        for i in range(_first_row(pairs, base, k), _first_row(pairs, base, k + 1)):
            first, last = starts[base + i], starts[base + i + 1]
            u, best, lead = take(pairs, i), line.dtype.type(-np.inf), first
            for e in range(first, last):
                s = dot(pairs, entries[e], u)
                if masses.shape[0] > 0 and not hard:
                    s += masses[extra, e]
                line[0, e - first] = s
                if s > best:
                    best, lead = s, e
            pairs.top[0, i] = best
            if hard:
                pairs.z[0, i] = _hard(pairs, first, last - first, extra, best, line)
            else:
                if rescaled:
                    rounds = ROUNDS if _size(pairs, i, entries[lead]) > sharp else 1
                    for _ in range(rounds):
                        best, where = _by_leader(pairs, i, first, last, extra, lead, line)
                        lead = where if best > 0.0 else lead
                    best = max(best, line.dtype.type(0.0))
                pairs.z[0, i] = _exponentials(line, last - first, best)
            pull(pairs, i, first, last, line)

    return rows_of


_graph1, _graph2, _graph3 = (
    _graph(_take1, _dot1, _pull1),
    _graph(_take2, _dot2, _pull2),
    _graph(_take3, _dot3, _pull3),
)
_graph_any = _graph(_take_any, _dot_any, _pull_any)


@pointed
def graph1(pairs, k):
    """d = 1."""
    noinline()
    _graph1(pairs, k)


@pointed
def graph2(pairs, k):
    """d = 2."""
    noinline()
    _graph2(pairs, k)


@pointed
def graph3(pairs, k):
    """d = 3."""
    noinline()
    _graph3(pairs, k)


@pointed
def graph(pairs, k):
    """Any d."""
    noinline()
    _graph_any(pairs, k)
