"""Tokens in registers: loops over coordinates written out, so that sums stay in registers.

Each function is there once for every d. `COORDINATES[d]` has them together: a kernel is written once and made for each
d. A token is a tuple of d registers (row i and those after it in the lanes), sums are (z, p_1, .., p_d) of pairs.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tokenflock.engine.compiled.declare import inline
from tokenflock.engine.compiled.lanes import fma, load, splat, store


class Coordinates(NamedTuple):
    """What a kernel needs to go through pairs of tokens with d coordinates."""

    take: Any  # (x, i) -> the columns of x from i on
    gaps: Any  # (x, j, at) -> x_j - at
    dot: Any  # (a, b) -> <a, b>
    none: Any  # (at,) -> sums that are 0
    pull: Any  # (sums, w, gaps) -> sums with the pull of one more token
    keep: Any  # (sums, pairs, i): sums go where the results are


@inline
def _take1(x, i):
    return (load(x, 0, i),)


@inline
def _take2(x, i):
    return load(x, 0, i), load(x, 1, i)


@inline
def _take3(x, i):
    return load(x, 0, i), load(x, 1, i), load(x, 2, i)


@inline
def _gaps1(x, j, at):
    return (splat(x[0, j]) - at[0],)


@inline
def _gaps2(x, j, at):
    return splat(x[0, j]) - at[0], splat(x[1, j]) - at[1]


@inline
def _gaps3(x, j, at):
    return splat(x[0, j]) - at[0], splat(x[1, j]) - at[1], splat(x[2, j]) - at[2]


@inline
def _dot1(a, b):
    return a[0] * b[0]


@inline
def _dot2(a, b):
    return fma(a[0], b[0], a[1] * b[1])


@inline
def _dot3(a, b):
    return fma(a[0], b[0], fma(a[1], b[1], a[2] * b[2]))


@inline
def _none1(at):
    z = at[0] - at[0]
    return z, z


@inline
def _none2(at):
    z = at[0] - at[0]
    return z, z, z


@inline
def _none3(at):
    z = at[0] - at[0]
    return z, z, z, z


@inline
def _pull1(sums, w, gaps):
    return sums[0] + w, fma(w, gaps[0], sums[1])


@inline
def _pull2(sums, w, gaps):
    return sums[0] + w, fma(w, gaps[0], sums[1]), fma(w, gaps[1], sums[2])


@inline
def _pull3(sums, w, gaps):
    return sums[0] + w, fma(w, gaps[0], sums[1]), fma(w, gaps[1], sums[2]), fma(w, gaps[2], sums[3])


@inline
def _keep1(sums, pairs, i):
    store(pairs.z, 0, i, sums[0])
    store(pairs.p, 0, i, sums[1])


@inline
def _keep2(sums, pairs, i):
    _keep1(sums, pairs, i)
    store(pairs.p, 1, i, sums[2])


@inline
def _keep3(sums, pairs, i):
    _keep2(sums, pairs, i)
    store(pairs.p, 2, i, sums[3])


def _one_more(lower: Coordinates, a: int) -> Coordinates:
    """The functions for the coordinates 0 .. a, from those for 0 .. a - 1."""
    take_lower, gaps_lower, dot_lower, none_lower, pull_lower, keep_lower = lower

    @inline
    def take(x, i):
        return (*take_lower(x, i), load(x, a, i))

    @inline
    def gaps(x, j, at):
        return (*gaps_lower(x, j, at), splat(x[a, j]) - at[a])

    @inline
    def dot(u, v):
        return fma(u[a], v[a], dot_lower(u, v))

    @inline
    def none(at):
        return (*none_lower(at), at[0] - at[0])

    @inline
    def pull(sums, w, gaps):
        return (*pull_lower(sums, w, gaps), fma(w, gaps[a], sums[a + 1]))

    @inline
    def keep(sums, pairs, i):
        keep_lower(sums, pairs, i)
        store(pairs.p, a, i, sums[a + 1])

    return Coordinates(take, gaps, dot, none, pull, keep)


COORDINATES = {
    1: Coordinates(_take1, _gaps1, _dot1, _none1, _pull1, _keep1),
    2: Coordinates(_take2, _gaps2, _dot2, _none2, _pull2, _keep2),
    3: Coordinates(_take3, _gaps3, _dot3, _none3, _pull3, _keep3),
}
for _d in range(4, 16):
    COORDINATES[_d] = _one_more(COORDINATES[_d - 1], _d - 1)
