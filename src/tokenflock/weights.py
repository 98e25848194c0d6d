"""Families of d x d matrices to use as query, key or value.

Each function returns a float64 (d, d) array, and the same one for the same seed. The regime of a run is decided
by the spectrum of V (A.4), so most families are made to a given spectrum:

    identity diagonal spectrum jordan positive_definite paranormal      V of the theorems
    rotation plane_rotation                                             complex leading eigenvalues
    ginibre goe uniform_entries low_rank                                random weights of the figures

FAMILIES lists them by name; PAPER_B holds the value matrices printed in the code of paper B (B.9).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokenflock.arguments import Reals, flag, real, room, scalar, whole
from tokenflock.arguments import generator as a_generator
from tokenflock.errors import bad

# The condition number of oblique bases: not orthogonal, and yet a spectrum keeps 15 digits.
SKEW = 3.0
MOST_SCALE = 1e150  # of entries and eigenvalues: their squares still exist


def identity(dim: int) -> Reals:
    """I, the value matrix of Theorem 4.1 of A and Theorem 3.1 of B."""
    return np.eye(_dim(dim))


def diagonal(values: ArrayLike) -> Reals:
    """diag(values)."""
    entries = real("values", values, "a list of finite numbers")
    if entries.ndim != 1 or not entries.size:
        raise bad("values.shape", entries.shape, "(d,)", "For a full matrix pass the array itself.")
    return np.diag(entries[: room("the length of values", len(entries), 8 * len(entries))])


def spectrum(eigenvalues: ArrayLike, seed: int | None = 0, normal: bool = False) -> Reals:
    """A real matrix with these eigenvalues, S D S^{-1}: a + bi and a - bi make the block [[a, b], [-b, a]] of D.

    S is random and oblique, random and orthogonal if normal, and I if seed is None.
    """
    lam = _complex(eigenvalues)
    if lam.ndim != 1 or not lam.size or not np.all(np.abs(lam) <= MOST_SCALE):
        raise bad("eigenvalues", eigenvalues, f"a list of d numbers up to {MOST_SCALE:g}")
    upper, lower = np.sort_complex(lam[lam.imag > 0]), np.sort_complex(lam[lam.imag < 0].conj())
    if upper.shape != lower.shape or not np.allclose(upper, lower, rtol=1e-12, atol=0.0):
        advice = "A real matrix has complex eigenvalues in pairs: give a - bi with every a + bi."
        raise bad("eigenvalues", eigenvalues, "lists closed under conjugation", advice)
    reals = lam[lam.imag == 0].real
    D = np.diag(np.concatenate([reals, np.repeat(upper.real, 2)]))
    for row, b in zip(range(len(reals), len(lam), 2), upper.imag, strict=True):
        D[row, row + 1], D[row + 1, row] = b, -b
    return _in_basis(D, None if seed is None else _generator(seed), flag("normal", normal))


def jordan(
    eigenvalue: float,
    size: int,
    dim: int | None = None,
    superdiagonal: float = 1.0,
    rest: ArrayLike | None = None,
    seed: int | None = None,
) -> Reals:
    """One Jordan block, and on the other d - size axes the eigenvalues rest (one less than eigenvalue if not given).

    With a seed in a random orthogonal basis, so that t dist(x(t), L) -> (size - 1)/superdiagonal still holds (A.2).
    """
    allowed = f"a real number up to {MOST_SCALE:g}"
    lam = scalar("eigenvalue", eigenvalue, allowed, _bounded, "Complex ones: see spectrum.")
    off = scalar("superdiagonal", superdiagonal, allowed, _bounded)
    m = whole("size", size, 1)
    d = m if dim is None else whole("dim", dim, m, "The block must fit: dim >= size.")
    _dim(d)
    others = real("rest", lam - 1.0 if rest is None else rest, "one number or dim - size numbers", _bounded)
    if others.shape not in ((), (d - m,)):
        raise bad("rest", rest, f"one number or dim - size = {d - m} numbers")
    J = np.diag(np.concatenate([np.full(m, lam), np.broadcast_to(others, d - m)]))
    J[np.arange(m - 1), np.arange(1, m)] = off
    return _in_basis(J, None if seed is None else _generator(seed), normal=True)


def rotation(dim: int, seed: int = 0) -> Reals:
    """A rotation with the uniform (Haar) law of SO(d)."""
    O = orthonormal_rows(_generator(seed), *(_dim(dim),) * 2)
    O[0] *= np.sign(np.linalg.det(O))  # turns the law of O(d) into that of SO(d)
    return O


def plane_rotation(angle: float) -> Reals:
    """The rotation of the plane by angle: eigenvalues e^{+-i angle}."""
    a = scalar("angle", angle, "a finite number of radians")
    return np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])


def ginibre(dim: int, seed: int = 0, scale: float | None = None) -> Reals:
    """Independent N(0, scale^2) entries; 1/sqrt(d) fills the unit disc with eigenvalues (C.4 uses scale 1)."""
    d = _dim(dim)
    return _scale(scale, d) * _generator(seed).standard_normal((d, d))


def goe(dim: int, seed: int = 0, scale: float | None = None) -> Reals:
    """scale (G + G^T)/sqrt 2; 1/sqrt(d) fills [-2, 2] with eigenvalues (C.4 uses scale 1)."""
    d = _dim(dim)
    G = _generator(seed).standard_normal((d, d))
    return _scale(scale, d) * (G + G.T) / math.sqrt(2.0)


def positive_definite(dim: int, seed: int = 0, condition: float = 10.0) -> Reals:
    """Symmetric, eigenvalues in equal ratios from 1/condition to 1, in a random orthogonal basis."""
    d = _dim(dim)
    ratio = scalar(
        "condition", condition, f"a number >= 1, up to {MOST_SCALE:g}", lambda c: (c >= 1) & (c <= MOST_SCALE)
    )
    A = _in_basis(np.diag(np.geomspace(1.0, 1.0 / ratio, d)), _generator(seed), normal=True)
    return (A + A.T) / 2


def paranormal(dim: int, multiplicity: int, seed: int = 0, leading: float = 1.0, radius: float = 0.5) -> Reals:
    """R^d = F + G, oblique: V = leading on F, dim F = multiplicity; V has spectral radius radius on G (B.1)."""
    d, m = _dim(dim), whole("multiplicity", multiplicity, 1)
    if m > d:
        raise bad("multiplicity", multiplicity, f"1 to dim = {d}", "The leading eigenspace lies inside R^d.")
    rho = scalar("radius", radius, "a number >= 0", lambda r: r >= 0)
    allowed = f"above radius = {rho:g}, up to {MOST_SCALE:g}"
    advice = "The eigenvalue of F must lead."
    lam = scalar("leading", leading, allowed, lambda l: (l > rho) & (l <= MOST_SCALE), advice)
    generator = _generator(seed)
    V = lam * np.eye(d)
    if m < d:
        G = generator.standard_normal((d - m, d - m))
        V[m:, m:] = rho * G / np.max(np.abs(np.linalg.eigvals(G)))
    return _in_basis(V, generator, normal=False)


def low_rank(dim: int, rank: int, seed: int = 0) -> Reals:
    """A B with A (d, r), B (r, d) Gaussian, like an attention head; scaled to a spectral radius near 1."""
    d, r = _dim(dim), whole("rank", rank, 1)
    if r > d:
        raise bad("rank", rank, f"1 to dim = {d}", "A d x d matrix has rank at most d.")
    generator = _generator(seed)
    product: Reals = generator.standard_normal((d, r)) @ generator.standard_normal((r, d))
    return product / math.sqrt(d * r)


def uniform_entries(dim: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Reals:
    """Independent entries, uniform on [low, high]: the random weights of paper B (B.9)."""
    d, least = _dim(dim), scalar("low", low, f"a number >= {-MOST_SCALE:g}", lambda v: v >= -MOST_SCALE)
    allowed = f"a finite number above low = {least:g}, up to {MOST_SCALE:g}"
    most = scalar("high", high, allowed, lambda v: (v > least) & (v <= MOST_SCALE))
    return _generator(seed).uniform(least, most, (d, d))


def orthonormal_rows(generator: np.random.Generator, n_rows: int, dim: int) -> Reals:
    """n <= d orthonormal rows with the uniform (Haar) law; row k does not depend on n, up to rounding."""
    d = _dim(dim)
    n = whole("n_rows", n_rows, 1, "So many orthogonal rows fit: at most dim.", most=d)
    Q, R = np.linalg.qr(a_generator(generator).standard_normal((n, d)).T)
    return (Q * np.sign(np.diag(R))).T  # without the signs the law is LAPACK's, not Haar's


def _dim(dim: int) -> int:
    """d, if the memory of this machine holds a (d, d) matrix."""
    d = whole("dim", dim, 1)
    room("dim", d, 8 * d)
    return d


def _bounded(v: Reals) -> NDArray[np.bool_]:
    return np.asarray(np.abs(v) <= MOST_SCALE)


def _complex(given: ArrayLike) -> NDArray[np.complex128]:
    """Numbers that may be complex, or texts of such, as a file has them; none where it is something else."""
    try:
        found = np.asarray(given)
        return np.asarray(found, dtype=np.complex128) if found.dtype.kind in "biufcU" else np.empty(0, np.complex128)
    except (TypeError, ValueError, OverflowError):
        return np.empty(0, np.complex128)


def _in_basis(D: Reals, generator: np.random.Generator | None, normal: bool) -> Reals:
    """S D S^{-1}: S random, orthogonal if normal, else of condition number SKEW; I without a generator."""
    if generator is None:
        return D
    d = len(D)
    S = orthonormal_rows(generator, d, d)
    if normal:
        return S @ D @ S.T
    S = (S * np.linspace(1.0, SKEW, d)) @ orthonormal_rows(generator, d, d)
    return np.linalg.solve(S.T, (S @ D).T).T.astype(np.float64)


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(
        whole("seed", seed, 0, "Every random family needs a seed, so that runs can be repeated.")
    )


def _scale(scale: float | None, d: int) -> float:
    allowed = f"a number > 0, up to {MOST_SCALE:g}"
    return 1.0 / np.sqrt(d) if scale is None else scalar("scale", scale, allowed, lambda s: (s > 0) & (s <= MOST_SCALE))


wigner = goe  # paper C's figures say Wigner, its code draws GOE

_NAMED = (
    *(identity, diagonal, spectrum, jordan, rotation, plane_rotation, ginibre, goe),
    *(positive_definite, paranormal, low_rank, uniform_entries),
)
FAMILIES: dict[str, Callable[..., Reals]] = {**{family.__name__: family for family in _NAMED}, "wigner": wigner}


def _constant(rows: Sequence[Sequence[float]]) -> Reals:
    matrix = np.array(rows, dtype=np.float64)
    matrix.flags.writeable = False
    return matrix


#: The value matrices of paper B's published code (B.9): Theorem 4.2 in d = 2 and 3, the conjecture, Theorem 5.2.
PAPER_B = MappingProxyType(
    {
        "hyperplanes-2d": _constant([[0.64709742, 0.81911926], [0.61210449, 0.63263484]]),
        "hyperplanes-3d-a": _constant(
            [
                [0.2362413, 0.0599536, 0.40506019],
                [0.81321448, 0.49948705, 0.33754772],
                [0.2160645, 0.38505272, 0.14588075],
            ]
        ),
        "hyperplanes-3d-b": _constant(
            [
                [0.18608476, 0.34391026, 0.13905949],
                [0.35244288, 0.6694859, 0.39992145],
                [0.46685606, 0.17094454, 0.42092308],
            ]
        ),
        "codimension": _constant(
            [
                [0.92761287, 0.94333073, 0.3827744],
                [0.94333073, 0.59991396, 0.47825472],
                [0.3827744, 0.47825472, 0.46668605],
            ]
        ),
        "mix": _constant([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -0.5]]),
    }
)
