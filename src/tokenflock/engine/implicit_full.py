"""Implicit steps where tokens see later ones: J is a full matrix, factorised up to DENSE unknowns, and then GMRES.

The preconditioner of GMRES is the part of J at and below the diagonal, which is solved exactly token by token.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tokenflock.engine import implicit_kernels, stage_kernels, walk_kernels
from tokenflock.engine.step_kernels import COLLAPSED, FULL, ON, SMALL, STOPPED
from tokenflock.geometry import Array

kernels: Any = implicit_kernels  # numba's functions have no types
stage: Any = stage_kernels
loop: Any = walk_kernels
DENSE = 1200  # unknowns up to which J is factorised
RELATIVE = 1e-10  # of the residual of GMRES
ROUNDS = 20  # of GMRES, of 30 vectors each; a step that needs more is too long


def jacobian(run: Any) -> Array:
    """J as one matrix of n (d - 1) unknowns, from the attention and the frames of `linearise`."""
    n, d = run._n, run._d
    values, vx, u, _, _ = run._heads
    v, pulls, _, diagonal, _, _ = run._frame
    E = (np.eye(d) - v[:, :, None] * v[:, None, :])[:, :, 1:]
    J = np.zeros((n, d - 1, n, d - 1))
    for h, value in enumerate(values):
        a = run._attention[h * n : (h + 1) * n, :n]
        gap = np.einsum("iap,aij->ijp", E, vx[h][:, None, :n] - vx[h][:, :n, None], optimize=True)
        turn = np.einsum("ai,jaq->ijq", u[h][:, :n] / kernels.LOG2E, E, optimize=True)
        along = np.einsum("iap,ab,jbq->ijpq", E, value, E, optimize=True)
        part = along + (gap - pulls[h][:, None])[..., None] * turn[:, :, None, :]
        J += np.einsum("ij,ijpq->ipjq", a, part)
    index = np.arange(n)
    J[index, :, index, :] = diagonal
    return J.reshape(n * (d - 1), n * (d - 1))


def solver(run: Any, h: float) -> Callable[[Array], Array | None]:
    """b -> (1/(h gamma) - J)^-1 b; None if GMRES does not get there."""
    c, shape = 1.0 / (h * run._gamma), run._spare[0].shape
    if np.prod(shape) <= DENSE:
        from scipy.linalg import lu_factor, lu_solve

        if run._matrix is None:
            run._matrix = jacobian(run)
        factors = lu_factor(c * np.eye(len(run._matrix)) - run._matrix, check_finite=False)
        return lambda b: lu_solve(factors, b.ravel(), check_finite=False).reshape(shape)
    from scipy.sparse.linalg import LinearOperator, gmres

    lifted, lifted_v = run._pages[2], run._pages[3]
    kernels.factorise(run._frame, c, run._n)

    def product(w: Array) -> Array:
        out = np.empty(shape)
        kernels.apply(
            *run._sight[:4], run._n, *run._memory, c, np.ascontiguousarray(w.reshape(shape)), out, lifted, lifted_v
        )
        return out.ravel()

    def lower(b: Array) -> Array:
        out = np.empty(shape)
        right = np.ascontiguousarray(b.reshape(shape))
        kernels.solve(*run._sight, *run._memory, c, False, right, out, lifted, lifted_v)
        return out.ravel()

    size = int(np.prod(shape))
    if not np.isfinite(run._frame[4]).all():
        return lambda b: None
    whole, part = (LinearOperator((size, size), matvec=f, dtype=np.float64) for f in (product, lower))

    def solve(b: Array) -> Array | None:
        w, failed = gmres(whole, b.ravel(), rtol=RELATIVE, atol=0.0, restart=30, maxiter=ROUNDS, M=part)
        return None if failed else w.reshape(shape)

    return solve


def stages(run: Any, h: float) -> bool:
    """Solve all stages of a step."""
    shift, right = run._spare
    y, f = run._pages[:2]
    invert = solver(run, h)
    for k in range(len(run._stages)):
        stage.right_side(*run._field, run._x, run._frame, run._n, run._table, h, k, run._stages, shift, y, f, right)
        solved = invert(right)
        if solved is None:
            return False
        run._stages[k] = solved
    return True


def walk(run: Any, goal: tuple[Any, ...]) -> int:
    """As walk_kernels.walk, with its functions."""
    t_next, t_end, tolerance, collapse, patience, stop = goal
    clock = run._clock[()]
    budget = run.evaluations + patience
    while run.t < t_next:
        if stop[0]:
            return STOPPED
        if collapse > 0.0 and loop.spread(run._x, run._d, run._n) <= collapse * collapse:
            return COLLAPSED
        if run.evaluations >= budget:
            return ON
        if not run._clock["ready"]:
            loop.prepare(run._x, run._form, run._heads)
            kernels.linearise(*run._sight, *run._memory)
            run._matrix = None
            run._clock["ready"] = 1
            run._clock["evaluations"] += 1
            if run._clock["h"] == 0.0:
                run._clock["h"] = loop.first_step(run._frame[1], run._frame[2], t_end)
        left = t_end - run.t
        h = min(float(run._clock["h"]), left)
        solved = stages(run, h)
        run._clock["evaluations"] += len(run._stages)
        b, dense = run._weights
        moved = loop.reach(run._stages, b, run._spare[0]) if solved else np.inf
        error = stage.largest(run._stages[-1]) / tolerance if moved <= loop.FAR else np.inf
        if error <= 1.0:
            loop.take(clock, run._x, run._frame[0], run._n, h, run._stages, b, dense, run._last)
            loop.control(clock, h, error)
            if h == left:
                run._clock["t"] = t_end
        else:
            loop.refuse(clock, h, error)
            if run._clock["h"] < loop.TINY:
                return SMALL
    return FULL
