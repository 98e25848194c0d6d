"""What the spectrum of V says about the limit: the atlas of paper A (Lemma 3.1, Theorem 4.1, Table 1).

lambda_max   the largest real part of an eigenvalue of V, with its imaginary part
L'           span of the generalised eigenvectors whose eigenvalue has that real part
L            the part of L' that the eigenvectors of the largest Jordan blocks span
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from tokenflock.arguments import real, scalar
from tokenflock.errors import bad
from tokenflock.geometry import Array

#: Eigenvalues closer than this times |V| count as one. Rounding splits a Jordan block of size m by eps^(1/m) |V|:
#: 1.5e-8 for m = 2 and 6e-6 for m = 3. Larger blocks need a larger tolerance.
TOLERANCE = 1e-5
#: The rows of the atlas: what all tokens tend to.
ROWS = {
    "first-token": "every token tends to the first token's place x_1(0)",
    "one-point": "every token tends to one point of L, P_L x_1(0) / |P_L x_1(0)|",
    "two-points": "every token tends to xi or to -xi, the unit eigenvectors of lambda_max",
    "cloud": "a cloud of tokens around L, which does not merge",
    "two-clouds": "two clouds of tokens around xi and -xi, which do not merge",
    "rotating": "lambda_max is complex: the picture of its sign, turning inside L for ever",
    "jordan": "lambda_max has a Jordan block: the first token creeps to L like 1/t, and the atlas has no row",
    "zero": "lambda_max is 0: the atlas has no row",
}


@dataclass(frozen=True)
class Regime:
    """The row of the atlas that V falls in."""

    row: str
    lambda_max: complex
    multiplicity: int
    jordan: tuple[int, ...]  # sizes of the blocks of lambda_max, largest first
    gap: float  # from lambda_max to the next real part; inf if there is none
    L: Array  # orthonormal columns
    generalised: Array  # L', likewise
    claim: str  # the statement of paper A for this row, "" if there is none
    fails: tuple[str, ...]  # its hypotheses that V does not satisfy
    tolerance: float

    @property
    def prediction(self) -> str:
        """The row in words."""
        return ROWS[self.row]

    @property
    def is_complex(self) -> bool:
        """Whether lambda_max has an imaginary part."""
        return self.lambda_max.imag != 0


def classify(value: Any, tolerance: float = TOLERANCE) -> Regime:
    """The row of the atlas that V (d, d) falls in. Eigenvalues within tolerance |V| of each other count as one."""
    V = real("value", value, "a finite (d, d) array")
    if V.ndim != 2 or V.shape[0] != V.shape[1] or not V.size:
        raise bad("value.shape", V.shape, "(d, d)", "Give one square value matrix; several heads are classified apart.")
    rel = scalar("tolerance", tolerance, "above 0, below 0.1", lambda t: (t > 0) & (t < 0.1))
    # In units in which powers of V exist; a power of two, so that no digit changes.
    largest = float(np.abs(V).max())
    unit = 1.0 if largest == 0 or 1e-9 < largest < 1e9 else 2.0 ** math.floor(math.log2(largest))
    with one_thread():
        found = _classified(V / unit, rel)
    lam = complex(found.lambda_max.real * unit, found.lambda_max.imag * unit)
    return replace(found, lambda_max=lam, gap=found.gap * unit, tolerance=found.tolerance * unit)


def one_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread: with matrices this small several are slower, on a busy machine a hundred times."""
    limits: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limits


@lru_cache
def _controller() -> Any:
    """The libraries that threads belong to, looked for once, with those of scipy: it takes milliseconds."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _classified(V: Array, rel: float) -> Regime:
    from scipy.linalg import schur
    from scipy.linalg.lapack import dtrsen

    tol = rel * float(np.linalg.norm(V, 2))
    # One factorisation says both the eigenvalues and, put in another order, the space of the leading ones. LAPACK looks
    # for a permutation that makes V triangular first: eigenvalues that stand on a diagonal come out as they are.
    form, basis = schur(V, output="real")
    eigenvalues = _diagonal(form)
    order = np.argsort(-eigenvalues.real)
    reals = eigenvalues.real[order]
    # A group ends at the first step that is wider than the tolerance: chains within it are one.
    wide = np.flatnonzero(-np.diff(reals) > tol)
    count = int(wide[0]) + 1 if wide.size else len(V)
    gap = float(reals[count - 1] - reals[count]) if count < len(V) else np.inf
    edge = (reals[count - 1] + reals[count]) / 2 if count < len(V) else -np.inf
    if not (eigenvalues.real[:count] > edge).all():  # those of a pair stand or go together: their real parts are equal
        basis = dtrsen((eigenvalues.real > edge).astype(np.int32), form, basis, job="N")[1]
    generalised = basis[:, :count]
    T = generalised.T @ V @ generalised
    top = eigenvalues[order[:count]]
    turning = float(np.abs(top.imag).max()) > tol
    L, blocks, mu = _leading(T, top, tol, rel)
    L = np.linalg.qr(generalised @ L)[0]
    lam = complex(float(top.real.mean()), abs(mu.imag) if turning else 0.0)
    multiplicity = sum(blocks)
    row, claim, fails = _row(V, lam, multiplicity, blocks, L, eigenvalues, tol)
    return Regime(row, lam, multiplicity, blocks, gap, L, generalised, claim, fails, tol)


def _diagonal(form: Array) -> Any:
    """The eigenvalues of a real Schur form, in its order: a pair is a block [[a, b], [c, a]] with b c < 0."""
    found = np.diag(form).astype(complex)
    for k in np.flatnonzero(np.diag(form, -1)):
        middle = (form[k, k] + form[k + 1, k + 1]) / 2
        turn = np.sqrt(complex(form[k, k + 1] * form[k + 1, k] + ((form[k, k] - form[k + 1, k + 1]) / 2) ** 2))
        found[[k, k + 1]] = middle + turn, middle - turn
    return found


def _leading(T: Array, top: Any, tol: float, rel: float) -> tuple[Array, tuple[int, ...], complex]:
    """L inside L' (columns), the blocks of the eigenvalue that leads, and that eigenvalue.

    T is V on L'. Of several eigenvalues with one real part those with the longest block lead (e^{tV} ~ t^{m-1}).
    """
    count = len(T)
    found = []
    left = list(top)
    while left:  # eigenvalues of L' apart by their imaginary parts
        near = [mu for mu in left if abs(mu - left[0]) <= tol * count]
        mu = complex(np.mean(near))
        left = [other for other in left if abs(other - left[0]) > tol * count]
        if abs(mu.imag) <= tol:
            mu = complex(mu.real)
        elif mu.imag < 0:
            continue  # its conjugate stands for both
        found.append((mu, _blocks(T, mu, len(near), tol, rel)))
    longest = max(blocks[0] for _, blocks in found)
    parts = []
    for mu, blocks in found:
        if blocks[0] < longest:
            continue
        if longest == 1 and len(blocks) == count:  # all of L' is its eigenspace
            parts.append(np.eye(count))
            continue
        N = T - mu * np.eye(count)
        # The generalised eigenspace of mu is the kernel of N^m, m its longest block; its image under N^(m-1) is spanned
        # by the eigenvectors of the blocks of size m.
        kernel = _kernel(np.linalg.matrix_power(N, longest), sum(blocks))
        image = np.linalg.matrix_power(N, longest - 1) @ kernel
        u, _, _ = np.linalg.svd(image, full_matrices=False)
        basis = u[:, : blocks.count(longest)]
        parts.append(basis.real if mu.imag == 0 else np.concatenate([basis.real, basis.imag], axis=1))
    # Where a real and a complex eigenvalue lead together, the token turns.
    mu, blocks = max((pair for pair in found if pair[1][0] == longest), key=lambda pair: pair[0].imag)
    return np.concatenate(parts, axis=1), blocks, mu


def _blocks(T: Array, mu: complex, multiplicity: int, tol: float, rel: float) -> tuple[int, ...]:
    """Sizes of the Jordan blocks of mu, from the ranks of (T - mu)^j."""
    N = (T - mu * np.eye(len(T))) * (rel / tol if tol else 1.0)  # in units of |V|
    nullity, power = [0], np.eye(len(T), dtype=N.dtype)
    for _ in range(multiplicity):
        power = power @ N
        rank = int((np.linalg.svd(power, compute_uv=False) > rel).sum())
        grown = nullity[-1] + 1  # the kernels grow until they hold all of it, whatever rounding says
        nullity.append(min(multiplicity, max(len(T) - rank, grown)))
        if nullity[-1] == multiplicity:  # there are no longer blocks
            break
    nullity += [multiplicity] * (multiplicity + 1 - len(nullity))
    at_least = np.append(np.diff(nullity), 0)  # number of blocks of size j or more
    sizes = [j + 1 for j in range(multiplicity) for _ in range(at_least[j] - at_least[j + 1])]
    return tuple(sorted(sizes, reverse=True))


def _kernel(A: Array, dimension: int) -> Array:
    _, _, vh = np.linalg.svd(A)
    return vh[len(A) - dimension :].conj().T


def _row(
    V: Array, lam: complex, multiplicity: int, blocks: tuple[int, ...], L: Array, eigenvalues: Any, tol: float
) -> tuple[str, str, tuple[str, ...]]:
    """The row, the statement of the paper that covers it, and the hypotheses of that statement that fail."""
    d = len(V)
    if lam.imag:
        return "rotating", "", ("lambda_max is not real",)
    if abs(lam.real) <= tol:
        return "zero", "", ("lambda_max is 0",)
    if blocks[0] > 1:
        return "jordan", "", (f"lambda_max has a Jordan block of size {blocks[0]}",)
    if lam.real < 0:
        return ("cloud" if multiplicity > 1 else "two-clouds"), "table-1", ()
    if multiplicity == d:
        # V = lambda I is V = I with time lambda t.
        return "first-token", "theorem-4.1", () if d > 1 else ("the sphere of R^1 is two points",)
    if multiplicity == 1:
        fails = []
        if np.abs(eigenvalues.imag).max() > tol or eigenvalues.real.min() <= 0:
            fails.append("not all eigenvalues are real and positive")
        if np.abs(eigenvalues[:, None] - eigenvalues + 2 * tol * np.eye(d)).min() <= tol:
            fails.append("eigenvalues coincide")
        return "two-points", "conjecture-1", tuple(fails)
    fails = []
    rest = np.linalg.svd(L, full_matrices=True)[0][:, multiplicity:]
    if np.abs(L.T @ V @ rest).max() > tol:
        fails.append("V does not map the complement of L into itself")
    W = rest.T @ V @ rest
    if np.linalg.eigvalsh((W + W.T) / 2).max() >= lam.real:
        fails.append("<Vz, z> < lambda |z|^2 fails on the complement of L")
    return "one-point", "conjecture-2", tuple(fails)
