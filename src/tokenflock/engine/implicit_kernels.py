"""The linear algebra of an implicit step on the sphere: the Jacobian of (E6), applied, and solved where it is causal.

Tangent vectors w_i have d - 1 coordinates in the frame of token i: the Householder reflection H_i that takes x_i to
+- the first axis, without its first column. With u_i = beta B' x_i, r_j = beta B x_j, a_ij the attention of one head
and f_i = sum_j a_ij E_i' V x_j its tangent pull, the Jacobian is

    J_ij = a_ij (E_i' V E_j + (E_i' V x_j - f_i) (E_j' u_i)')                                           j != i
    J_ii = the same with j = i, plus sum_j a_ij (E_i' V x_j - f_i) (E_i' r_j)' - <x_i, sum_j a_ij V x_j>

summed over heads. E_i' V x_j is taken from V x_j - V x_i, and for V = v I the two terms v a_ii of J_ii that cancel are
left out: so a token that feels only pulls of 1e-300 has a Jacobian of that size, with all its digits.

If nobody sees later tokens, J is block lower triangular and (c - J) w = b is solved token by token (`solve`), for
about the price of one velocity. The attention is kept, n^2 numbers a head, or made again row by row (`kept` False).
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiling import kernel, piece
from tokenflock.engine.simd import absolute, exp2, fma, indices, larger, load, peak, splat, store, total, width, within

LOG2E = 1.4426950408889634


@piece
def reflections(x, n, v):
    """v[i]: H = I - v v' takes x_i to an axis; |v|^2 = 2."""
    d = x.shape[0]
    for i in range(n):
        sign = 1.0 if x[0, i] >= 0.0 else -1.0
        length = np.sqrt(1.0 + sign * x[0, i])  # |x + sign e_1|^2 = 2 (1 + sign x_1)
        for a in range(d):
            v[i, a] = (x[a, i] + (sign if a == 0 else 0.0)) / length


@kernel
def down(v, i, y, out):
    """out = E_i' y, (d) -> (d - 1)."""
    d = v.shape[1]
    along = 0.0
    for a in range(d):
        along += v[i, a] * y[a]
    for a in range(1, d):
        out[a - 1] = y[a] - along * v[i, a]


@kernel
def up(v, i, w, out):
    """out = E_i w, (d - 1) -> (d)."""
    d = v.shape[1]
    along = 0.0
    for a in range(1, d):
        along += v[i, a] * w[a - 1]
    out[0] = -along * v[i, 0]
    for a in range(1, d):
        out[a] = w[a - 1] - along * v[i, a]


@kernel
def attend(x, u, h, i, first, last, frozen, row, fixed):
    """Attention of head h of token i over tokens first .. last - 1 and the frozen ones, into row and fixed. u is in
    units of log 2; frozen holds log2 of its weights in its last line."""
    m, d = width(x), x.shape[0]
    start = first // m * m
    lo, hi = splat(float(first)), splat(float(last))
    low = splat(-np.inf)
    best = low
    for j in range(start, last, m):
        s = splat(u[h, 0, i]) * load(x, 0, j)
        for a in range(1, d):
            s = fma(splat(u[h, a, i]), load(x, a, j), s)
        store(row, 0, j, s)
        best = larger(best, within(s, low, indices(float(j)), lo, hi))
    top = peak(best)
    for k in range(frozen.shape[1]):
        s = frozen[d, k]
        for a in range(d):
            s += u[h, a, i] * frozen[a, k]
        fixed[k] = s
        top = max(top, s)
    mass = splat(0.0)
    for j in range(start, last, m):
        w = exp2(load(row, 0, j) - splat(top))
        w = within(w, splat(0.0), indices(float(j)), lo, hi)
        store(row, 0, j, w)
        mass = mass + w
    z = total(mass)
    for k in range(frozen.shape[1]):
        fixed[k] = 2.0 ** (fixed[k] - top)
        z += fixed[k]
    scale = splat(1.0 / z)
    for j in range(start, last, m):
        store(row, 0, j, load(row, 0, j) * scale)
    for k in range(frozen.shape[1]):
        fixed[k] /= z


@piece
def _pull(x, vx, row, fixed, frozen_v, v, i, first, last, scratch, out):
    """out = E_i' sum_j a_ij (V x_j - V x_i); returns sum_{j != i} a_ij <x_i, V x_j> and sum_j a_ij |V x_j - V x_i|_1.

    Frozen tokens are among the j.
    """
    m, d = width(x), x.shape[0]
    along, size = 0.0, 0.0
    for a in range(d):
        gaps, sides, sizes, own = splat(0.0), splat(0.0), splat(0.0), splat(vx[a, i])
        for j in range(first // m * m, last, m):
            w, there = load(row, 0, j), load(vx, a, j)
            gaps = fma(w, there - own, gaps)
            sizes = fma(w, absolute(there - own), sizes)
            # Lane i is left out here rather than taken off: 1 - 1 would not leave what is far below rounding.
            away = within(splat(0.0), w, splat(float(i)), indices(float(j)), indices(float(j + 1)))
            sides = fma(away, there, sides)
        gap, side = total(gaps), total(sides)
        size += total(sizes)
        for k in range(fixed.size):
            gap += fixed[k] * (frozen_v[a, k] - vx[a, i])
            size += fixed[k] * abs(frozen_v[a, k] - vx[a, i])
            side += fixed[k] * frozen_v[a, k]
        scratch[0, a] = gap
        along += x[a, i] * side
    down(v, i, scratch[0], out)
    return along, size


@piece
def _outer(i, weight, v, extra, diagonal, scratch):
    """diagonal[i] += weight (E_i' scratch[4] + extra) (E_i' scratch[3])'."""
    k = diagonal.shape[1]
    down(v, i, scratch[3], scratch[1])
    down(v, i, scratch[4], scratch[2])
    for a in range(k):
        left = weight * (scratch[2, a] + extra[a])
        for b in range(k):
            diagonal[i, a, b] += left * scratch[1, b]


@piece
def _own_value(value, vx, x, i, own, v, diagonal, scratch):
    """diagonal[i] += own (E_i' V E_i - <x_i, V x_i>), which is 0 for V = v I."""
    d, inner = x.shape[0], 0.0
    for a in range(d):
        inner += x[a, i] * vx[a, i]
    for b in range(d - 1):
        for a in range(d - 1):
            scratch[1, a] = 1.0 if a == b else 0.0
        up(v, i, scratch[1], scratch[0])
        for a in range(d):
            scratch[3, a] = 0.0
            for c in range(d):
                scratch[3, a] += value[a, c] * scratch[0, c]
        down(v, i, scratch[3], scratch[2])
        for a in range(d - 1):
            diagonal[i, a, b] += own * scratch[2, a]
        diagonal[i, b, b] -= own * inner


@piece
def _block(x, head, i, first, last, scalar, v, row, fixed, pull, home, diagonal, scratch):
    """Add a head to J_ii, and note its f_i and E_i' V x_i. head is (value, vx, u, r, frozen_v)."""
    value, vx, u, r, frozen_v = head
    d, own = x.shape[0], row[0, i]
    along, size = _pull(x, vx, row, fixed, frozen_v, v, i, first, last, scratch, pull)
    for a in range(d):
        scratch[0, a] = 0.0 if scalar else vx[a, i]
        size += abs(scratch[0, a])
    down(v, i, scratch[0], home)
    extra = scratch[5]
    for a in range(d - 1):
        extra[a] = -pull[a]  # home - f: pull is f without home, since the rows of attention sum to 1
    for j in range(first, last):
        for a in range(d):
            scratch[3, a], scratch[4, a] = r[a, j], vx[a, j] - vx[a, i]
        _outer(i, row[0, j], v, extra, diagonal, scratch)
    for k in range(fixed.size):
        for a in range(d):
            scratch[3, a], scratch[4, a] = frozen_v[d + a, k], frozen_v[a, k] - vx[a, i]
        _outer(i, fixed[k], v, extra, diagonal, scratch)
    for a in range(d):
        scratch[3, a], scratch[4, a] = u[a, i] / LOG2E, 0.0
    _outer(i, own, v, extra, diagonal, scratch)
    for a in range(d - 1):
        diagonal[i, a, a] -= along
    if not scalar:
        _own_value(value, vx, x, i, own, v, diagonal, scratch)
    return size


@kernel
def linearise(x, heads, rows, frozen, scalar, n, frame, attention, kept, line):
    """Frames, attention, pulls and the blocks J_ii at the tokens x.

    heads: (values (H, d, d), vx, u, r (H, d, columns), frozen_v (H, 2d, m)): V x, beta B' x in units of log 2,
    beta B x; frozen_v holds V x and beta B x of the frozen tokens. frame: (v, pulls, homes, diagonal, factors,
    sizes), filled here.
    """
    values, vx, u, r, frozen_v = heads
    v, pulls, homes, diagonal, _, sizes = frame
    row, fixed, scratch = line
    reflections(x, n, v)
    for i in range(n):
        first, last = int(rows[0, i]), int(rows[1, i])
        sizes[i] = 0.0
        for a in range(diagonal.shape[1]):
            for b in range(diagonal.shape[1]):
                diagonal[i, a, b] = 0.0
        for h in range(u.shape[0]):
            attend(x, u, h, i, first, last, frozen, row, fixed)
            if kept:
                for j in range(first, last):
                    attention[h * n + i, j] = row[0, j]
            head = (values[h], vx[h], u[h], r[h], frozen_v[h])
            sizes[i] += _block(
                x, head, i, first, last, scalar, v, row, fixed, pulls[h, i], homes[h, i], diagonal, scratch
            )


@kernel
def factorise(frame, c, n):
    """factors[i] = (c - J_ii)^-1, by Gauss and Jordan with row pivots; not finite if it is singular."""
    diagonal, factors = frame[3], frame[4]
    k = diagonal.shape[1]
    work = np.empty((k, 2 * k))
    for i in range(n):
        for a in range(k):
            for b in range(k):
                work[a, b] = (c if a == b else 0.0) - diagonal[i, a, b]
                work[a, k + b] = 1.0 if a == b else 0.0
        for p in range(k):
            best = p
            for a in range(p + 1, k):
                if abs(work[a, p]) > abs(work[best, p]):
                    best = a
            for b in range(2 * k):
                work[p, b], work[best, b] = work[best, b], work[p, b]
            pivot = 1.0 / work[p, p]
            for b in range(2 * k):
                work[p, b] *= pivot
            for a in range(k):
                if a != p and work[a, p] != 0.0:
                    factor = work[a, p]
                    for b in range(2 * k):
                        work[a, b] -= factor * work[p, b]
        for a in range(k):
            for b in range(k):
                factors[i, a, b] = work[a, k + b]


@piece
def _gather(x, vx, u, h, i, first, last, skip, row, y, vy, pull, v, scratch, out):
    """out += E_i' sum_j a_ij (V y_j + (V x_j - g_i) <u_i, y_j>) over first <= j < last, j != skip."""
    m, d = width(x), x.shape[0]
    start = first // m * m
    lo, hi, none = splat(float(first)), splat(float(last)), splat(0.0)
    share = none
    for a in range(d):
        store(scratch, 6, a * m, none)
    for j in range(start, last, m):
        w = within(load(row, 0, j), none, indices(float(j)), lo, hi)
        w = within(none, w, splat(float(skip)), indices(float(j)), indices(float(j + 1)))
        turn = splat(u[h, 0, i]) * load(y, 0, j)
        for a in range(1, d):
            turn = fma(splat(u[h, a, i]), load(y, a, j), turn)
        turn = turn * w * splat(1.0 / LOG2E)
        share = share + turn
        for a in range(d):
            acc = fma(w, load(vy, a, j), load(scratch, 6, a * m))
            store(scratch, 6, a * m, fma(turn, load(vx, a, j) - splat(vx[a, i]), acc))
    for a in range(d):
        scratch[0, a] = total(load(scratch, 6, a * m))
    down(v, i, scratch[0], scratch[1])
    whole = total(share)
    for a in range(d - 1):
        out[a] += scratch[1, a] - pull[a] * whole


@piece
def _lift(values, v, i, w, y, vy, scratch):
    """Column i of y = E_i w and of vy[h] = V_h y."""
    d = v.shape[1]
    up(v, i, w, scratch[0])
    for a in range(d):
        y[a, i] = scratch[0, a]
    for h in range(values.shape[0]):
        for a in range(d):
            s = 0.0
            for b in range(d):
                s += values[h, a, b] * scratch[0, b]
            vy[h, a, i] = s


@kernel
def solve(x, heads, rows, frozen, scalar, n, frame, attention, kept, line, c, fresh, b, w, y, vy):
    """w = (c - J)^-1 b for the part of J at and below the diagonal; b and w are (n, d - 1), y and vy scratch.

    fresh: c or J is another than in the last call.
    """
    if fresh:
        factorise(frame, c, n)
    values, vx, u, _, _ = heads
    v, pulls, _, _, factors, _ = frame
    row, fixed, scratch = line
    k = w.shape[1]
    for i in range(n):
        first, rest = int(rows[0, i]), scratch[5]
        for a in range(k):
            rest[a] = b[i, a]
        for h in range(u.shape[0]):
            if kept:
                for j in range(first // 8 * 8, i):
                    row[0, j] = attention[h * n + i, j]
            else:
                attend(x, u, h, i, first, int(rows[1, i]), frozen, row, fixed)
            _gather(x, vx[h], u, h, i, first, i, -1, row, y, vy[h], pulls[h, i], v, scratch, rest)
        for a in range(k):
            s = 0.0
            for p in range(k):
                s += factors[i, a, p] * rest[p]
            w[i, a] = s
        _lift(values, v, i, w[i], y, vy, scratch)


@kernel
def apply(x, heads, rows, frozen, n, frame, attention, kept, line, c, w, out, y, vy):
    """out = (c - J) w with all of J."""
    values, vx, u, _, _ = heads
    v, pulls, _, diagonal, _, _ = frame
    row, fixed, scratch = line
    k = w.shape[1]
    for i in range(n):
        _lift(values, v, i, w[i], y, vy, scratch)
    for i in range(n):
        first, last, rest = int(rows[0, i]), int(rows[1, i]), scratch[5]
        for a in range(k):
            rest[a] = 0.0
        for h in range(u.shape[0]):
            if kept:
                for j in range(first // 8 * 8, last):
                    row[0, j] = attention[h * n + i, j]
            else:
                attend(x, u, h, i, first, last, frozen, row, fixed)
            _gather(x, vx[h], u, h, i, first, last, i, row, y, vy[h], pulls[h, i], v, scratch, rest)
        for a in range(k):
            s = c * w[i, a] - rest[a]
            for p in range(k):
                s -= diagonal[i, a, p] * w[i, p]
            out[i, a] = s
