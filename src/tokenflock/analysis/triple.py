"""The hypotheses of paper B on (Q, K, V): good triples (B.1), checked in numbers.

    good                     Def 4.1: lambda_1 > |lambda_2| >= ..., real, positive, simple, and <Q phi_1, K phi_1> > 0
    good_with_multiplicity   Def 5.1: (i) Q'K symmetric and positive definite;
                             (ii) R^d = F + G, both V-invariant, V = lambda_1 on F, spectral radius of V on G < lambda_1

Here eigenvalues are ordered by MODULUS, not by real part as in the atlas of paper A (`spectrum`). A hypothesis that
fails is named in a sentence, with the number that decides it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tokenflock.analysis.spectrum import TOLERANCE
from tokenflock.arguments import numbers, scalar
from tokenflock.errors import bad
from tokenflock.geometry import Array
from tokenflock.options import matrix

#: Q'K counts as symmetric if it differs from its transpose by less than this times |Q'K|, as positive above it.
SYMMETRIC = 1e-10
LARGEST = 1e75  # of an entry: squares of products of two still exist


@dataclass(frozen=True)
class Triple:
    """What Definition 4.1 or 5.1 says of (Q, K, V). phi_1, phi_1* and the bases are None where there are none.

    F is the generalised eigenspace of lambda_1 and G its V-invariant complement, as orthonormal columns; 0 columns:
    only the origin. If lambda_1 is simple, phi_1 spans F, |phi_1| = 1 with its largest entry positive, and phi_1* is
    0 on G.
    """

    definition: str
    fails: tuple[str, ...]  # a sentence for every hypothesis that fails
    lambda_1: complex  # of largest modulus; of several such, the positive one or else that of largest real part
    lambda_2: float  # the largest modulus of the other eigenvalues; 0 if there are none
    multiplicity: int  # of lambda_1
    phi_1: Array | None
    phi_1_star: Array | None  # left eigenvector, phi_1*(phi_1) = 1
    overlap: float  # <Q phi_1, K phi_1>; nan without phi_1
    F: Array | None
    G: Array | None
    A: Array | None  # (Q'K)^(1/2), where Q'K is symmetric without negative eigenvalues
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether every hypothesis holds."""
        return not self.fails

    @property
    def dims(self) -> tuple[int, int] | None:
        """The dimensions of F and G."""
        return None if self.F is None or self.G is None else (self.F.shape[1], self.G.shape[1])


def good(query: Any, key: Any, value: Any, tolerance: float = TOLERANCE) -> Triple:
    """Whether (Q, K, V) is a good triple (Def 4.1, the hypothesis of Theorem 4.2). None stands for the identity.

    Eigenvalues within tolerance |V| of each other count as one: the default also gathers split Jordan blocks.
    """
    form, V, rel = _checked(query, key, value, tolerance)
    top = _Top(V, rel)
    fails = [f"Def 4.1: {sentence}" for sentence in top.positive()]
    if not fails and top.multiplicity > 1:
        fails.append(f"Def 4.1: lambda_1 = {top.value.real:.6g} is not simple: its multiplicity is {top.multiplicity}.")
    fails += [f"Def 4.1: {sentence}" for sentence in top.tied()]
    phi, star = top.vectors()
    overlap = float("nan") if phi is None else float(phi @ form @ phi)
    if phi is None:
        fails.append("Def 4.1: <Q phi_1, K phi_1> has no value: there is no single real direction phi_1.")
    elif not overlap > SYMMETRIC * np.linalg.norm(form, 2):
        fails.append(f"Def 4.1: <Q phi_1, K phi_1> = {overlap:.6g} is not positive.")
    return _triple("4.1", fails, top, phi, star, overlap, form)


def good_with_multiplicity(query: Any, key: Any, value: Any, tolerance: float = TOLERANCE) -> Triple:
    """Whether (Q, K, V) is a good triple with multiplicity (Def 5.1, Theorem 5.2). None stands for the identity."""
    form, V, rel = _checked(query, key, value, tolerance)
    top = _Top(V, rel)
    fails = [f"Def 5.1 (i): {sentence}" for sentence in _not_positive_definite(form)]
    fails += [f"Def 5.1 (ii): {sentence}" for sentence in top.positive()]
    if top.real and top.defect() > top.tolerance:
        fails.append(
            f"Def 5.1 (ii): V is not lambda_1 = {top.value.real:.6g} times the identity on F: it is off by "
            f"{top.defect():.3g} there (a Jordan block)."
        )
    fails += [f"Def 5.1 (ii): {sentence}" for sentence in top.tied()]
    phi, star = top.vectors()
    overlap = float("nan") if phi is None else float(phi @ form @ phi)
    return _triple("5.1", fails, top, phi, star, overlap, form)


class _Top:
    """The eigenvalue lambda_1 of V and the two V-invariant subspaces that it splits R^d into."""

    def __init__(self, V: Array, rel: float) -> None:
        self.V = V
        self.tolerance = rel * float(np.linalg.norm(V, 2))
        eigenvalues = np.linalg.eigvals(V).astype(complex)
        largest = float(np.abs(eigenvalues).max())
        # On a tie of moduli the positive one is lambda_1: the sentence can then say what it is tied with.
        leading = eigenvalues[np.abs(eigenvalues) >= largest - self.tolerance]
        first = leading[np.argmax(leading.real)]
        near = np.abs(eigenvalues - first) <= self.tolerance
        # The mean of a split Jordan block is right to rounding where each of its eigenvalues is not.
        self.value = complex(eigenvalues[near].mean())
        self.real = abs(self.value.imag) <= self.tolerance
        if self.real:
            self.value = complex(self.value.real)
        self.multiplicity = int(near.sum())
        others = eigenvalues[~near]
        self.second = float(np.abs(others).max()) if others.size else 0.0
        self.rival = complex(others[np.argmax(np.abs(others))]) if others.size else 0j
        self.others = others

    def positive(self) -> list[str]:
        """What keeps lambda_1 from being real and positive."""
        if not self.real:
            lam = self.value
            return [f"lambda_1 = {lam.real:.6g} + {abs(lam.imag):.6g} i is not real."]
        return [] if self.value.real > self.tolerance else [f"lambda_1 = {self.value.real:.6g} is not positive."]

    def tied(self) -> list[str]:
        """What keeps the other eigenvalues from being smaller than a positive lambda_1."""
        lam, rival = self.value.real, self.rival
        if self.positive() or self.second < lam - self.tolerance:
            return []
        name = f"{rival.real:.6g}" + (f" + {abs(rival.imag):.6g} i" if rival.imag else "")
        return [f"the eigenvalue {name} has modulus {self.second:.6g}, not below lambda_1 = {lam:.6g}."]

    def _basis(self, matrix: Array) -> Array:
        """Orthonormal columns of the invariant subspace of lambda_1, if real, of this matrix (V or V')."""
        from scipy.linalg import schur

        # Half-way to the nearest other eigenvalue: the two groups of the Schur form cannot be mixed up.
        radius = np.abs(self.others - self.value).min() / 2 if self.others.size else np.inf
        lam = self.value.real
        vectors: Array = schur(matrix, output="real", sort=lambda re, im=0.0: np.hypot(re - lam, im) <= radius)[1]
        return vectors[:, : self.multiplicity]

    @cached_property
    def right(self) -> Array:
        """F."""
        return self._basis(self.V)

    @cached_property
    def left(self) -> Array:
        """The same of V': what annihilates G."""
        return self._basis(self.V.T)

    def spaces(self) -> tuple[Array, Array] | None:
        """F and G, if lambda_1 is real."""
        if not self.real:
            return None
        return self.right, np.linalg.svd(self.left, full_matrices=True)[0][:, self.multiplicity :]

    def defect(self) -> float:
        """|V - lambda_1| on F: 0 without Jordan blocks."""
        F = self.right
        return float(np.linalg.norm(F.T @ self.V @ F - self.value.real * np.eye(self.multiplicity), 2))

    def vectors(self) -> tuple[Array | None, Array | None]:
        """phi_1 and phi_1*, if lambda_1 is real and simple."""
        if not self.real or self.multiplicity > 1:
            return None, None
        phi, star = self.right[:, 0], self.left[:, 0]
        phi = phi * np.sign(phi[np.argmax(np.abs(phi))])
        return phi, star / (star @ phi)


def _triple(
    definition: str, fails: list[str], top: _Top, phi: Array | None, star: Array | None, overlap: float, form: Array
) -> Triple:
    F, G = top.spaces() or (None, None)
    return Triple(
        definition, tuple(fails), top.value, top.second, top.multiplicity, phi, star, overlap, F, G, root(form),
        top.tolerance,
    )  # fmt: skip


def _not_positive_definite(form: Array) -> list[str]:
    size = float(np.linalg.norm(form, 2))
    off = float(np.abs(form - form.T).max())
    if off > SYMMETRIC * size:
        return [f"Q'K is not symmetric: it differs from its transpose by {off:.6g}."]
    least = float(np.linalg.eigvalsh((form + form.T) / 2)[0])
    return [] if least > SYMMETRIC * size else [f"Q'K is not positive definite: its least eigenvalue is {least:.6g}."]


def root(form: Array) -> Array | None:
    """A = B^(1/2), symmetric, of a form B (d, d); None unless B is symmetric without negative eigenvalues."""
    form = _bounded("form", matrix("form", form, (None, None)))
    if form.shape[0] != form.shape[1]:
        raise bad("form.shape", form.shape, "(d, d)")
    size = float(np.linalg.norm(form, 2))
    if np.abs(form - form.T).max() > SYMMETRIC * size:
        return None
    values, vectors = np.linalg.eigh((form + form.T) / 2)
    if values[0] < -SYMMETRIC * size:
        return None
    A: Array = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return A


def _checked(query: Any, key: Any, value: Any, tolerance: float) -> tuple[Array, Array, float]:
    """Q'K, V and the tolerance; the identity for what is None."""
    given = {"query": query, "key": key, "value": value}
    known = {name: m for name, m in given.items() if m is not None}
    if not known:
        raise bad("query, key, value", None, "at least one matrix", "The identity of which dimension? Give value.")
    for name, m in known.items():
        shape = numbers(m).shape
        if len(shape) == 3:
            advice = "Heads are judged one at a time: give query[h], key[h], value[h]."
            raise bad(f"{name}.shape", shape, "(d, d), or (k, d) of query and key", advice)
    name, first = ("value", value) if value is not None else next(iter(known.items()))
    d = matrix(name, first, (None, None)).shape[1]
    V = np.eye(d) if value is None else matrix("value", value, (d, d))
    Q, K = (np.eye(d) if m is None else matrix(n, m, (None, d)) for n, m in (("query", query), ("key", key)))
    if len(Q) != len(K):
        rows = (len(Q), len(K))
        raise bad("query and key rows", rows, "the same number of rows", "Q and K map into one space of size k.")
    rel = scalar("tolerance", tolerance, "above 0, below 0.1", lambda t: (t > 0) & (t < 0.1))
    return _bounded("query, key", Q).T @ _bounded("key", K), _bounded("value", np.asarray(V)), rel


def _bounded(name: str, given: Array) -> Array:
    """The matrix, if squares of its entries and of their products exist."""
    if (largest := float(np.abs(given).max())) > LARGEST:
        raise bad(name, f"numbers up to {largest:.1e}", f"numbers up to {LARGEST:g}", "Divide it by a number.")
    return given
