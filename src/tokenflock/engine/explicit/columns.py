"""Work on tokens one by one, in blocks that the threads of a team share: what is done before and after the sums.

How the tokens are cut depends on d alone, so that the bits do not depend on the threads; and a block stays in the cache
while all passes of a velocity go over it.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline
from tokenflock.engine.compiled.lanes import noinline
from tokenflock.engine.compiled.views import address_of, table_at


@inline
def inverse_lengths(y, d, first, stop, line):
    """line[0, i] = 1 / |x_i| for the first d rows of y."""
    for i in range(first, stop):
        line[0, i] = y[0, i] * y[0, i]
    for a in range(1, d):
        for i in range(first, stop):
            line[0, i] += y[a, i] * y[a, i]
    for i in range(first, stop):
        line[0, i] = 1 / np.sqrt(line[0, i])


@inline
def retract_some(y, d, first, stop, line):
    """Tokens first .. stop - 1 of y back to the sphere."""
    inverse_lengths(y, d, first, stop, line)
    for a in range(d):
        for i in range(first, stop):
            y[a, i] *= line[0, i]


@inline
def retract(y, d, n, line):
    """Every token of y back to the sphere."""
    retract_some(y, d, 0, n, line)


@inline
def block_size(d):
    """Tokens that a thread takes at a time where each is treated for itself: enough to be worth handing over."""
    return 128 * max(1, 64 // d)


@inline
def n_blocks(x):
    """How many blocks the columns of x are cut into, whatever the threads."""
    return (x.shape[1] + block_size(x.shape[0]) - 1) // block_size(x.shape[0])


@inline
def block_of(x, k):
    """The first column of block k, and the one after its last: n and the padding after it belong to the last one."""
    size = block_size(x.shape[0])
    return k * size, min((k + 1) * size, x.shape[1])


@inline
def ask(call, y, out, t, kind):
    """Write down what a velocity is asked for, where the other threads can read it."""
    call.y, call.out, call.rows, call.t, call.kind = address_of(y), address_of(out), y.shape[0], t, kind


@inline(allocates=True)
def multiply(matrix, source, block, target, first, stop, more):
    """Columns of matrix source: they become those of target, or with `more` are added to them.

    BLAS wants its matrices whole: they are brought into a block that the cache holds.
    """
    noinline()
    (rows, d), wide, at = matrix.shape, stop - first, address_of(block)
    given = table_at(at, d, wide, block)
    found = table_at(at + d * wide * block.itemsize, rows, wide, block)
    for a in range(d):
        for i in range(wide):
            given[a, i] = source[a, first + i]
    np.dot(matrix, given, found)
    for a in range(rows):
        for i in range(wide):
            target[a, first + i] = found[a, i] + (target[a, first + i] if more else 0.0)


@inline(allocates=True)
def apply(scalar, matrix, source, block, target, first, stop):
    """target += matrix source, without a product where the matrix is c I."""
    if not scalar:
        multiply(matrix, source, block, target, first, stop, True)
    elif matrix[0, 0] != 0.0:
        c = matrix[0, 0]
        for a in range(source.shape[0]):
            for i in range(first, stop):
                target[a, i] += c * source[a, i]
