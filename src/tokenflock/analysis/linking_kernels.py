"""Which of some thousands of tokens are together, in compiled code: what `clusters.label` takes above the circle.

Tokens in the order of one coordinate are compared with those at most `reach` further along it, and only where they are
not known to be together yet: in dense clusters, where a list of all close pairs would be long, that is soon the case.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _root(parent: Any, i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(nogil=True, cache=True)
def link(x: Any, order: Any, axis: int, reach: float) -> Any:
    """Tokens x (n, d) within reach of each other, chained: the group of each, numbered by first tokens.

    order: the tokens sorted along the axis.
    """
    n, d = x.shape
    parent = np.arange(n)
    for a in range(n):
        i = order[a]
        for b in range(a + 1, n):
            j = order[b]
            if x[j, axis] - x[i, axis] > reach:
                break
            ri, rj = _root(parent, i), _root(parent, j)
            if ri == rj:
                continue
            square = 0.0
            for k in range(d):
                square += (x[i, k] - x[j, k]) ** 2
            if square <= reach * reach:
                parent[max(ri, rj)] = min(ri, rj)
    number = np.full(n, -1)
    groups = np.empty(n, dtype=np.int64)
    found = 0
    for i in range(n):
        r = _root(parent, i)
        if number[r] < 0:
            number[r] = found
            found += 1
        groups[i] = number[r]
    return groups
