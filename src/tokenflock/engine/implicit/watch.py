"""What a loop of implicit steps looks at after every step: whether bodies have met, or must be opened (bodies.py)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine.compiled.declare import inline, kernel
from tokenflock.engine.compiled.lanes import fma, larger, load, peak, splat, width
from tokenflock.geometry import Array

Labels = NDArray[np.int64]


class Watch(NamedTuple):
    """What a loop of steps looks at: when bodies may have met, or a follower may be left behind.

    A row is a follower of body `body`; it stands for those up to the next row, and counts body l from least[l] to
    most[l] times, and its body counts it leader[l] times. Those of its own body that it sees weigh `mates`.
    """

    gap: float  # bodies this close have met; 0: there are no bodies
    after: int  # the number of steps from which on meetings count
    look: int  # the number of steps at which the loop is to come back in any case
    limit: float  # the largest slack
    sharpness: float  # beta c'
    body: Labels  # (rows,)
    least: Array  # (rows, K)
    most: Array  # (rows, K)
    mates: Array  # (rows,)
    leader: Array  # (rows, K)
    hops: Array  # (K,): how slacks of followers add up


NEVER = 1 << 62  # a step that does not come


def nobody(gap: float = 0.0, count: int = 0) -> Watch:
    """What to look at where no body has followers that could be left behind."""
    least, most, leader = (np.zeros((0, count)) for _ in range(3))
    whose, mates = np.zeros(0, dtype=np.int64), np.zeros(0)
    return Watch(gap, 0, NEVER, 0.0, 0.0, whose, least, most, mates, leader, np.zeros(count))


@inline
def _square(x, k, j):
    """The squared distance of two bodies."""
    square = 0.0
    for a in range(x.shape[0]):
        step = x[a, k] - x[a, j]
        square += step * step
    return square


@kernel
def slack_of(x, watch, r):
    """How far the follower of row r may sit off the place of its body in bodies at x (d, K).

    Its row minus that of its body pulls it off, and its mates pull it back. They are off too: a follower is off by the
    mean of its mates and by its own, which adds up over its hops to the first token.
    """
    b = watch.body[r]
    pull, seen, most, moves, sees = 0.0, watch.least[r, b], watch.least[r, b], 0.0, watch.leader[r, b]
    for k in range(watch.hops.size):
        if k != b:
            square = _square(x, k, b)
            w = np.exp(-0.5 * watch.sharpness * square)
            distance = np.sqrt(square)
            pull += watch.most[r, k] * w * distance
            seen += watch.least[r, k] * w
            most += watch.most[r, k] * w
            moves += watch.leader[r, k] * w * distance
            sees += watch.leader[r, k] * w
    held = max(watch.mates[r], 1e-300) / most
    return (pull / seen + moves / sees) / held * watch.hops[b]


@kernel
def slacks_of(x, watch, off):
    """off[k] = the largest slack of a follower of body k, at least what stands there."""
    for r in range(watch.body.size):
        off[watch.body[r]] = max(off[watch.body[r]], slack_of(x, watch, r))


@kernel
def hops_back(labels, lo, own, sums, hops):
    """hops[i] = the mean number of hops from token i to the first of its body, to mates that it sees, by their masses.

    Nobody sees later tokens; lo[i] is the first that i sees. sums: zeros (2, K), the masses of mates and with hops.
    """
    gone = 0
    for i in range(labels.size):
        while gone < lo[i]:
            sums[0, labels[gone]] -= own[gone]
            sums[1, labels[gone]] -= own[gone] * hops[gone]
            gone += 1
        mates = sums[0, labels[i]]
        hops[i] = 1.0 + sums[1, labels[i]] / mates if mates > 0.0 else 0.0
        sums[0, labels[i]] += own[i]
        sums[1, labels[i]] += own[i] * hops[i]


@inline
def _has_met(x, k, square):
    """Whether a body before k is within a distance: all of them, register by register."""
    m, away = width(x), splat(-np.inf)
    whole = k // m * m
    for j in range(0, whole, m):
        step = load(x, 0, j) - splat(x[0, k])
        far = step * step
        for a in range(1, x.shape[0]):
            step = load(x, a, j) - splat(x[a, k])
            far = fma(step, step, far)
        away = larger(away, -far)
    found = -peak(away) <= square
    for j in range(whole, k):
        found = found or _square(x, k, j) <= square
    return found


@kernel
def watch_says(x, n, watch, steps):
    """Whether bodies at x (d, columns) have met, or one must be opened, or it is time to look."""
    if watch.gap == 0.0:
        return False
    if steps >= watch.look:
        return True
    if watch.limit < np.inf:
        for r in range(watch.body.size):
            if slack_of(x, watch, r) > watch.limit:
                return True
    if steps < watch.after:
        return False
    k, square = 0, watch.gap * watch.gap
    while k < n and not _has_met(x, k, square):
        k += 1
    return k < n


@kernel
def touching(x, n, bound, near):
    """near[k] = the first body that is within a distance of k, or k itself; returns how many are not themselves."""
    square, found = bound * bound, 0
    for k in range(n):
        near[k] = k
        if _has_met(x, k, square):
            found += 1
            j = 0
            while j < k - 1 and _square(x, k, j) > square:
                j += 1
            near[k] = near[j]
    return found
