"""Implicit steps where tokens see later ones: J is a full matrix, factorised up to DENSE unknowns, and then GMRES.

The preconditioner of GMRES is the part of J at and below the diagonal, which is solved exactly token by token.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tokenflock.engine.implicit import jacobian
from tokenflock.engine.implicit.attention import LOG2E
from tokenflock.engine.implicit.system import System
from tokenflock.geometry import Array

DENSE = 2400  # unknowns up to which J is factorised: in bodies that meet GMRES takes ten rounds or more a stage
RELATIVE = 1e-10  # of the residual of GMRES
ROUNDS = 20  # of GMRES, of 30 vectors each; a step that needs more is too long

Solve = Callable[[Array], Array | None]  # b -> (c - J)^-1 b, None if that fails


def matrix_of(system: System) -> Array:
    """J as one matrix of n (d - 1) unknowns, of a system that is linearised and whose attention is kept."""
    heads, tangent = system.heads, system.tangent
    n, d = tangent.reflections.shape
    v = tangent.reflections
    E = (np.eye(d) - v[:, :, None] * v[:, None, :])[:, :, 1:]
    J = np.zeros((n, d - 1, n, d - 1))
    for h, value in enumerate(heads.value):
        a = system.attention.matrix[h * n : (h + 1) * n, :n]
        vx = heads.values[h]
        gap = np.einsum("iap,aij->ijp", E, vx[:, None, :n] - vx[:, :n, None], optimize=True)
        turn = np.einsum("ai,jaq->ijq", heads.queries[h][:, :n] / LOG2E, E, optimize=True)
        along = np.einsum("iap,ab,jbq->ijpq", E, value, E, optimize=True)
        part = along + (gap + tangent.centers[h][:, None])[..., None] * turn[:, :, None, :]
        J += np.einsum("ij,ijpq->ipjq", a, part)
    index = np.arange(n)
    J[index, :, index, :] = tangent.diagonal
    return J.reshape(n * (d - 1), n * (d - 1))


def _by_factors(matrix: Array, c: float) -> Solve:
    from scipy.linalg import lu_factor, lu_solve

    factors = lu_factor(c * np.eye(len(matrix)) - matrix, check_finite=False)
    return lambda b: np.asarray(lu_solve(factors, b.ravel(), check_finite=False))


def _by_gmres(system: System, c: float) -> Solve:
    from scipy.sparse.linalg import LinearOperator, gmres

    n, k = system.tangent.diagonal.shape[:2]
    jacobian.factorise(system.tangent, c)
    if not np.isfinite(system.tangent.inverses).all():
        return lambda b: None

    def product(w: Array) -> Array:
        out = np.empty((n, k))
        jacobian.apply(system, c, np.ascontiguousarray(w.reshape(n, k)), out)
        return out.ravel()

    def lower(b: Array) -> Array:
        out = np.empty((n, k))
        jacobian.solve(system, c, False, np.ascontiguousarray(b.reshape(n, k)), out)
        return out.ravel()

    whole, part = (LinearOperator((n * k, n * k), matvec=f, dtype=np.float64) for f in (product, lower))

    def solve(b: Array) -> Array | None:
        w, failed = gmres(whole, b.ravel(), rtol=RELATIVE, atol=0.0, restart=30, maxiter=ROUNDS, M=part)
        return None if failed else np.asarray(w)

    return solve


class FullAlgebra:
    """The algebra of steps.integrate in Python, with all of J."""

    def __init__(self) -> None:
        self._matrix: Array | None = None
        self._solve: Solve

    def linearise(self, system: System) -> None:
        """Fill a system from its tokens."""
        jacobian.linearise(system)
        dense = system.tangent.drives[0].size <= DENSE and system.attention.kept
        self._matrix = matrix_of(system) if dense else None

    def solve(self, system: System, c: float, fresh: bool, b: Array, w: Array) -> None:
        """w = (c - J)^-1 b; not finite where GMRES does not get there, and for the stages after such a one."""
        if fresh:
            self._solve = _by_gmres(system, c) if self._matrix is None else _by_factors(self._matrix, c)
        solved = self._solve(b) if np.isfinite(b).all() else None
        w[:] = np.nan if solved is None else solved.reshape(w.shape)
