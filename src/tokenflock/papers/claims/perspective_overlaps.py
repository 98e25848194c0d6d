"""Paper C (arXiv:2312.10794), overlaps from orthogonal and nearly orthogonal starts: Theorems 6.8 and 6.9, and the
curve that separates the phases in the plane of time and beta."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tokenflock import start, theory
from tokenflock.errors import unknown
from tokenflock.geometry import Array, retract, to_sphere
from tokenflock.model import Model
from tokenflock.papers.claims.ledger import Check, Trial, claim
from tokenflock.simulation import simulate

STARTS = {"uniform": 0.0, "leaning": 0.3}  # what is added to every token along one axis, times sqrt(d)
NEAR = 1e-3  # overlaps above 1 - NEAR count as together (delta of C.3)


def to_span(x: Array) -> Array:
    r"""Tokens (..., n, d) with d > n as tokens (..., n, n) that have the same overlaps, at all times; exact.

    Let Q = K = V = I and let the columns of U (d, n) be an orthonormal basis of a space that contains x_1 .. x_n, so
    that x_i = U y_i with y_i = U' x_i. If y solves the equations in n dimensions, then U y solves them in d: overlaps
    agree, <U y_i, U y_j> = <y_i, y_j>, hence so do the weights A_ij, and
        U P_{y_i} sum_j A_ij y_j = sum_j A_ij U y_j - <y_i, sum_j A_ij y_j> U y_i = P_{x_i} sum_j A_ij x_j.
    Solutions are unique, so x(t) = U y(t): tokens never leave the span of their start, and n dimensions hold it.
    The same holds for every mask and normaliser. With other weights it fails: Q, K or V may lead out of the span.

    x' = U R (QR decomposition, transposes) gives the y_i as the columns of R.
    """
    if x.shape[-1] <= x.shape[-2]:
        return x
    return retract(np.swapaxes(np.linalg.qr(np.swapaxes(x, -1, -2), mode="r"), -1, -2))


def overlaps(x: Array) -> Array:
    """<x_i, x_j> of all pairs i < j, (..., n, d) -> (..., n (n-1) / 2)."""
    i, j = np.triu_indices(x.shape[-2], 1)
    return (x @ np.swapaxes(x, -1, -2))[..., i, j]


def together(n_tokens: int, beta: float, near: float = NEAR, normaliser: str = "softmax") -> float:
    """The time at which n orthogonal tokens have overlaps 1 - near: a point of the curve Gamma_inf of C.3.

    In w = log(((n-1) r + 1) / (1 - r)), q = 1 - r = n / (e^w + n - 1) the law of `theory.equiangular` is
    dt = (e^{beta q} + n - 1) / (2n) dw (softmax) or e^{-beta (1 - q)} / 2 dw (count), which is smooth in w.
    """
    if normaliser not in theory.NORMALISERS:
        raise unknown("normaliser", normaliser, theory.NORMALISERS)
    n, end = n_tokens, np.log(((n_tokens - 1) * (1 - near) + 1) / near)
    nodes, weights = _gauss()
    q = n / (np.exp(end * (nodes + 1) / 2) + n - 1)
    pace = (np.exp(beta * q) + n - 1) / (2 * n) if normaliser == "softmax" else np.exp(-beta * (1 - q)) / 2
    return float(np.sum(weights * pace) * end / 2)


@lru_cache
def _gauss() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(200)


@claim(
    "perspective/theorem-6.8",
    kind="theorem",
    statement="Q = K = V = I, full attention, orthogonal start: all overlaps stay equal to one gamma(t), gamma(0) = "
    "0, gamma' = 2 a (1 - gamma)((n-1) gamma + 1), a = e^{beta gamma} / (e^beta + (n-1) e^{beta gamma}) (softmax) or "
    "e^{beta gamma} / n.",
    hypotheses=("<x_i(0), x_j(0)> = 0", "full attention"),
    trial="2 to 24 orthogonal tokens, d from n to 2n, beta from 0 to 4, followed until the overlaps are 1 - 1e-4",
    measured="the largest |<x_i, x_j> - gamma(t)|, gamma in closed form (exponential integrals)",
    rule="holds if below 1e-6",
    sizes={"trials": 40},
    quick={"trials": 6},
)
def theorem_6_8(check: Check, overlap: float = 0.0, mask: str = "full") -> None:
    """overlap: of the start, which gamma(0) = 0 does not know; mask="causal": tokens that see only earlier ones."""

    def one(generator: np.random.Generator, normaliser: str) -> Trial:
        n, beta = int(generator.integers(2, 25)), float(generator.uniform(0, 4))
        d = int(generator.integers(n, 2 * n + 1))
        x = start.equiangular(n, d, overlap, seed=int(generator.integers(2**31)))
        times = together(n, beta, 1e-4, normaliser) * np.linspace(0, 1, 201)
        model = Model(dim=d, beta=beta, mask=mask, normaliser=normaliser)
        run = simulate(model, x, times[-1], times=times, rtol=1e-10, atol=1e-13, progress=False)["x"].values
        law = theory.equiangular(times, n, beta, normaliser=normaliser)
        off = float(np.abs(overlaps(run) - law[:, None]).max())
        return Trial(bool(off < 1e-6), off)

    check.each("softmax", lambda generator: one(generator, "softmax"), 1e-6)
    check.each("1/n", lambda generator: one(generator, "count"), 1e-6)


@claim(
    "perspective/theorem-6.9",
    kind="estimate",
    statement="Q = K = V = I, full attention, n and beta fixed: from uniform starts all overlaps follow the gamma(t) "
    "of orthogonal tokens, within a constant times sqrt(log d / d), with a probability that tends to 1 as d grows.",
    hypotheses=("uniform start", "d much larger than n"),
    trial="n = 8 uniform tokens in d = 64 to 16384, followed to t = 10",
    measured="the exponent p of the largest |<x_i, x_j>(t) - gamma(t)| ~ d^p, one fit a start",
    rule="agrees if -1/2 is within 4 standard errors and 0.03 (what the largest of many overlaps adds at small d)",
    erratum="The theorem's constants say nothing at these sizes: its probability 1 - 2 n^2 d^(-1/64) is negative "
    "below d = (2 n^2)^64. The exponent is what can be seen.",
    sizes={"trials": 60},
    quick={"trials": 12},
)
def theorem_6_9(
    check: Check, n_tokens: int = 8, dims: tuple[int, ...] = (64, 256, 1024, 4096, 16384), start: str = "uniform"
) -> None:
    """start="leaning": tokens with a common mean, whose overlaps do not vanish however large d is."""
    if start not in STARTS:
        raise unknown("start", start, STARTS)
    times = np.linspace(0, 10, 101)
    for beta in (0.5, 1.0, 2.0):
        case = f"beta = {beta:g}"
        if not check.wants(case):
            continue
        law = theory.equiangular(times, n_tokens, beta)
        off = np.empty((check.trials, len(dims)))
        for column, d in enumerate(dims):
            x = _starts(check, n_tokens, d, STARTS[start])
            model = Model(dim=x.shape[-1], beta=beta, mask="full")
            run = simulate(model, x, times[-1], times=times, rtol=1e-7, atol=1e-10, progress=False)["x"].values
            off[:, column] = np.abs(overlaps(run) - law[:, None]).max(axis=(1, 2))
            check.tell(case, (column + 1) / len(dims))
        slopes = [np.polyfit(np.log(dims), np.log(one), 1)[0] for one in off]
        note = f"largest difference {off[:, 0].mean():.2g} at d = {dims[0]}, {off[:, -1].mean():.2g} at {dims[-1]}."
        check.estimate(case, slopes, -0.5, note, slack=0.03)


def _starts(check: Check, n_tokens: int, dim: int, lean: float) -> Array:
    """One start a trial, already in their span: at d = 16384 all of them together would be large."""
    out = []
    for k in range(check.trials):
        x = to_sphere(np.random.default_rng([check.seed, dim, k]), (n_tokens, dim))
        x[:, 0] += lean
        out.append(to_span(retract(x)))
    return np.stack(out)


@claim(
    "perspective/phase-transition",
    kind="estimate",
    statement="n uniform tokens in large d: in the plane of t and beta, P(<x_1, x_2> >= 1 - delta) jumps from 0 to 1 "
    "across the curve gamma_beta(t) = 1 - delta of n orthogonal tokens.",
    hypotheses=("d much larger than n", "uniform start"),
    trial="32 uniform tokens, delta = 1e-3: the time at which half of all pairs have an overlap of 1 - delta or more",
    measured="the mean of that time over the time of the curve",
    rule="agrees if 1 is within 4 standard errors and 1 %, what is left of the limit at d = 1024",
    sizes={"trials": 64},
    quick={"trials": 12, "betas": (1.0, 4.0)},
)
def phase_transition(
    check: Check, n_tokens: int = 32, dim: int = 1024, betas: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 5.0)
) -> None:
    """dim: a small one has no such curve."""
    x = to_span(start.uniform(n_tokens, dim, seed=check.seed, runs=check.trials))
    for beta in betas:
        case = f"beta = {beta:g}"
        if not check.wants(case):
            continue
        due = together(n_tokens, beta)
        times = due * np.linspace(0, 2, 201)
        model = Model(dim=x.shape[-1], beta=beta, mask="full")
        run = simulate(model, x, times[-1], times=times, rtol=1e-6, atol=1e-9, progress=False)["x"].values
        share = np.stack([(overlaps(one) >= 1 - NEAR).mean(axis=-1) for one in run])
        # A run that is not there at twice the time counts as there then: it can only bring the mean nearer to 1.
        when = [np.interp(0.5, np.maximum.accumulate(one), times, right=times[-1]) for one in share]
        check.estimate(case, np.array(when) / due, 1.0, f"curve at t = {due:.3f}.", slack=0.01)
