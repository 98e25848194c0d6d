"""Attention on the sphere under given weights, and its derivative written out: compiled, for the search of `steering`.

    s_ij = x_i' B x_j,  A = softmax(s),  m_i = sum_j A_ij x_j,  f_i = P_{x_i} V m_i         (E1), (E2), (E5), (E6)

One head, softmax, masks that are intervals. `flock.Flow` has the same gradient for every model, but at a few tokens it
spends its time in calls. Reverse goes through the steps: states before each step are kept, and stages made again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from tokenflock.geometry import Array

Index = NDArray[np.intp]
P = ParamSpec("P")
R = TypeVar("R")


class Motion(NamedTuple):
    """How tokens move: weights that are constant on intervals, who sees whom, and the steps of a Runge-Kutta table."""

    B: Array  # (intervals, d, d)
    V: Array  # (intervals, d, d)
    lo: Index  # (n,): token i sees the tokens lo[i] to hi[i] - 1
    hi: Index
    h: float
    steps: int  # of an interval
    a: Array  # (stages, stages)
    b: Array  # (stages,)


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function and keep its machine code beside this file."""
    return cast("Callable[P, R]", numba.njit(nogil=True, cache=True, error_model="numpy")(function))


@compiled
def attend(x: Array, i: int, B: Array, lo: int, hi: int, A: Array, m: Array) -> None:
    """The weights A_ij of row i, and m_i (d,)."""
    d = x.shape[1]
    top = -np.inf
    for j in range(lo, hi):
        s = 0.0
        for a in range(d):
            for c in range(d):
                s += x[i, a] * B[a, c] * x[j, c]
        A[j] = s
        top = max(top, s)
    total = 0.0
    for j in range(lo, hi):
        A[j] = np.exp(A[j] - top)
        total += A[j]
    m[:] = 0.0
    for j in range(lo, hi):
        A[j] /= total
        for a in range(d):
            m[a] += A[j] * x[j, a]


@compiled
def normalised(y: Array, x: Array) -> None:
    """x = y / |y|, row by row."""
    n, d = y.shape
    for i in range(n):
        square = 0.0
        for a in range(d):
            square += y[i, a] * y[i, a]
        for a in range(d):
            x[i, a] = y[i, a] / np.sqrt(square)


@compiled
def velocity(y: Array, B: Array, V: Array, lo: Index, hi: Index, f: Array) -> None:
    """f (n, d) at y (n, d), with tokens y / |y|."""
    n, d = y.shape
    x, A, m = np.empty_like(y), np.empty(n), np.empty(d)
    normalised(y, x)
    for i in range(n):
        attend(x, i, B, lo[i], hi[i], A, m)
        along = 0.0
        for a in range(d):
            f[i, a] = 0.0
            for c in range(d):
                f[i, a] += V[a, c] * m[c]
            along += x[i, a] * f[i, a]
        for a in range(d):
            f[i, a] -= along * x[i, a]


@compiled
def pulled_back(y: Array, B: Array, V: Array, lo: Index, hi: Index, p: Array, gy: Array, gB: Array, gV: Array) -> None:
    """gy, gB, gV += the derivatives of <p, f> at y (n, d)."""
    n, d = y.shape
    x, gx, A, g = np.empty_like(y), np.zeros_like(y), np.empty(n), np.empty(n)
    m, D, gm = np.empty(d), np.empty(d), np.empty(d)
    normalised(y, x)
    for i in range(n):
        attend(x, i, B, lo[i], hi[i], A, m)
        along, across = 0.0, 0.0  # <x, p> and <x, D>
        for a in range(d):
            D[a] = 0.0
            for c in range(d):
                D[a] += V[a, c] * m[c]
            along += x[i, a] * p[i, a]
            across += x[i, a] * D[a]
        gm[:] = 0.0
        for a in range(d):
            gx[i, a] -= across * p[i, a] + along * D[a]
            for c in range(d):
                gV[a, c] += (p[i, a] - along * x[i, a]) * m[c]
                gm[c] += (p[i, a] - along * x[i, a]) * V[a, c]
        mean = 0.0
        for j in range(lo[i], hi[i]):
            g[j] = 0.0
            for a in range(d):
                g[j] += gm[a] * x[j, a]
                gx[j, a] += A[j] * gm[a]
            mean += A[j] * g[j]
        for j in range(lo[i], hi[i]):
            gs = A[j] * (g[j] - mean)
            for a in range(d):
                for c in range(d):
                    gB[a, c] += gs * x[i, a] * x[j, c]
                    gx[i, a] += gs * B[a, c] * x[j, c]
                    gx[j, c] += gs * B[a, c] * x[i, a]
    for i in range(n):
        along, square = 0.0, 0.0
        for a in range(d):
            along += gx[i, a] * x[i, a]
            square += y[i, a] * y[i, a]
        for a in range(d):
            gy[i, a] += (gx[i, a] - along * x[i, a]) / np.sqrt(square)


@compiled
def one_step(motion: Motion, part: int, y: Array, z: Array, k: Array, new: Array) -> None:
    """A step from y in interval `part`: its stages z and velocities k (stages, n, d), and `new` off the sphere."""
    B, V, lo, hi, h, _, a, b = motion
    new[:] = y
    for i in range(len(b)):
        z[i] = y
        for j in range(i):
            if a[i, j] != 0.0:
                z[i] += h * a[i, j] * k[j]
        velocity(z[i], B[part], V[part], lo, hi, k[i])
        new += h * b[i] * k[i]


@compiled
def forward(motion: Motion, start: Array, states: Array) -> None:
    """states (intervals * steps + 1, n, d) from the start on, one after every step."""
    shape = (len(motion.b), start.shape[0], start.shape[1])
    z, k, new = np.zeros(shape), np.zeros(shape), np.zeros_like(start)
    states[0] = start
    for step in range(len(states) - 1):
        one_step(motion, step // motion.steps, states[step], z, k, new)
        normalised(new, states[step + 1])


@compiled
def backward(motion: Motion, states: Array, p: Array, gB: Array, gV: Array) -> None:
    """From p = dJ/dx(T) (n, d) to dJ/dx(0), in place; gB, gV (intervals, d, d) += dJ/dB, dJ/dV."""
    B, V, lo, hi, h, steps, a, b = motion
    n, d = p.shape
    shape = (len(b), n, d)
    z, k, gz, new, gk = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros_like(p), np.zeros_like(p)
    for step in range(len(states) - 2, -1, -1):
        part = step // steps
        one_step(motion, part, states[step], z, k, new)
        for i in range(n):
            along, square = 0.0, 0.0
            for c in range(d):
                along += p[i, c] * states[step + 1, i, c]
                square += new[i, c] * new[i, c]
            for c in range(d):
                p[i, c] = (p[i, c] - along * states[step + 1, i, c]) / np.sqrt(square)
        gz[:] = 0.0
        for i in range(len(b) - 1, -1, -1):
            gk[:] = h * b[i] * p
            for j in range(i + 1, len(b)):
                if a[j, i] != 0.0:
                    gk += h * a[j, i] * gz[j]
            pulled_back(z[i], B[part], V[part], lo, hi, gk, gz[i], gB[part], gV[part])
        for i in range(len(b)):
            p += gz[i]
