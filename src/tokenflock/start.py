"""Starting tokens: random ones are (n_tokens, dim, ..., seed=0, runs=None) -> (n, d), or (R, n, d) with runs=R.

gather and quadrature make weighted starts, (tokens, masses) for `Model(masses=...)`.

Run r draws from its own generator, seeded by [seed, r]: it does not depend on how many runs are asked for, and a plain
call is run 0. uniform, cap, cube, gaussian and von_mises_fisher draw token after token, so that the first k tokens
of a longer start are a shorter one's (the prefix property of causal attention can then be tested from the start on).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from tokenflock.arguments import count, real, room, scalar, whole
from tokenflock.errors import bad
from tokenflock.geometry import Array, retract, to_sphere
from tokenflock.theory import cap_measure
from tokenflock.weights import orthonormal_rows

EMPTY = "An empty ensemble has nothing to simulate; leave runs out for a single start."
Draw = Callable[[np.random.Generator], Array]
# Candidates that the rejection sampler draws at a time: fixed, so that token k is the k-th accepted one whatever n is.
BLOCK = 256
MOST_WIDE = 1e300  # beyond it tokens leave the range of float64


def uniform(n_tokens: int, dim: int, seed: int = 0, runs: int | None = None) -> Array:
    """Independent tokens, uniform on S^{d-1}."""
    n, d = _sizes(n_tokens, dim, runs, sphere=True)
    return _ensemble(lambda generator: to_sphere(generator, (n, d)), seed, runs)


def cap(
    n_tokens: int, dim: int, angle: float, center: ArrayLike | None = None, seed: int = 0, runs: int | None = None
) -> Array:
    """Independent tokens, uniform within geodesic distance angle of center (the first axis if not given)."""
    n, d = _sizes(n_tokens, dim, runs, sphere=True)
    radius, w = _radius("angle", angle, d), _center(center, d)

    def draw(generator: np.random.Generator) -> Array:
        heights, directions = generator.spawn(2)
        return _around(w, _cap_gap(heights.random(n), radius, d), to_sphere(directions, (n, d - 1)))

    return _ensemble(draw, seed, runs)


def cube(n_tokens: int, dim: int, half_width: float = 1.0, seed: int = 0, runs: int | None = None) -> Array:
    """Independent tokens, uniform on [-half_width, half_width]^d: the starts of paper B (not on the sphere)."""
    n, d = _sizes(n_tokens, dim, runs)
    w = scalar("half_width", half_width, f"a number > 0, up to {MOST_WIDE:g}", lambda v: (v > 0) & (v <= MOST_WIDE))
    return _ensemble(lambda generator: generator.uniform(-w, w, (n, d)), seed, runs)


def gaussian(n_tokens: int, dim: int, scale: float = 1.0, seed: int = 0, runs: int | None = None) -> Array:
    """Independent N(0, scale^2 I) tokens of R^d (not on the sphere)."""
    n, d = _sizes(n_tokens, dim, runs)
    s = scalar("scale", scale, f"a number > 0, up to {MOST_WIDE:g}", lambda v: (v > 0) & (v <= MOST_WIDE))
    return _ensemble(lambda generator: s * generator.standard_normal((n, d)), seed, runs)


def orthonormal(n_tokens: int, dim: int, seed: int = 0, runs: int | None = None) -> Array:
    """n <= d orthogonal unit tokens, uniform among all such: the start of Theorem 6.8 of C."""
    return equiangular(n_tokens, dim, 0.0, seed, runs)


def equiangular(n_tokens: int, dim: int, overlap: float, seed: int = 0, runs: int | None = None) -> Array:
    """n <= d unit tokens with <x_i, x_j> = overlap for all i != j, uniform among all such (E.4)."""
    n, d = _sizes(n_tokens, dim, runs, sphere=True)
    if n > d:
        raise bad("n_tokens", n_tokens, f"1 to dim = {d}", "So many equal overlaps do not fit: raise dim.")
    low = -1.0 / max(n - 1, 1)
    r = scalar(
        "overlap", overlap, f"from {low:.4g} to 1", lambda v: (v >= low) & (v <= 1), "The least is -1/(n_tokens-1)."
    )

    def draw(generator: np.random.Generator) -> Array:
        E = orthonormal_rows(generator, n, d)
        mean = E.mean(axis=0)
        # The square root of the Gram matrix (1 - r) I + r 11^T, applied to orthonormal tokens.
        return retract(np.sqrt(1 - r) * (E - mean) + np.sqrt(max(1 + (n - 1) * r, 0.0)) * mean) if r else E

    return _ensemble(draw, seed, runs)


def planted(n_tokens: int, dim: int, n_clusters: int, spread: float, seed: int = 0, runs: int | None = None) -> Array:
    """Planted clusters of equal size (to one token), uniform in caps of radius spread, uniform centers, shuffled."""
    n, d = _sizes(n_tokens, dim, runs, sphere=True)
    k = whole("n_clusters", n_clusters, 1)
    if k > n:
        raise bad("n_clusters", n_clusters, f"1 to n_tokens = {n}", "A cluster has at least one token.")
    radius = _radius("spread", spread, d)

    def draw(generator: np.random.Generator) -> Array:
        centers = to_sphere(generator, (k, d))[generator.permutation(np.arange(n) % k)]
        return _around(centers, _cap_gap(generator.random(n), radius, d), to_sphere(generator, (n, d - 1)))

    return _ensemble(draw, seed, runs)


def von_mises_fisher(
    n_tokens: int, dim: int, kappa: float, center: ArrayLike | None = None, seed: int = 0, runs: int | None = None
) -> Array:
    """Independent tokens of density ~ e^{kappa <x, center>} on S^{d-1}, exact for every d (Wood 1994)."""
    n, d = _sizes(n_tokens, dim, runs, sphere=True)
    k, w = scalar("kappa", kappa, "from 0 to 1e300", lambda v: (v >= 0) & (v <= 1e300)), _center(center, d)

    def draw(generator: np.random.Generator) -> Array:
        heights, directions = generator.spawn(2)
        gap = np.empty(0)
        while len(gap) < n:
            gap = np.concatenate([gap, _vmf_gap(heights, k, d)])
        return _around(w, gap[:n], to_sphere(directions, (n, d - 1)))

    return _ensemble(draw, seed, runs)


def gather(x: ArrayLike) -> tuple[Array, Array]:
    """(tokens, masses): the distinct rows of x (n, d) in order of first appearance, and a_j, how often each is there.

    With full attention `Model(masses=masses)` moves these tokens as it moves all of x without masses.
    """
    y = real("x", x, "finite numbers (n, d)")
    if y.ndim != 2 or not y.size:
        raise bad("x.shape", y.shape, "(n, d)", "Gather the runs of an ensemble one by one: gather(x[r]).")
    _, first, count = np.unique(y, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    return y[first[order]], count[order].astype(np.float64)


def quadrature(n_tokens: int, dim: int) -> tuple[Array, Array]:
    """(tokens, masses) that stand for the uniform distribution: sum_j a_j f(x_j) / n = mean of f, and sum_j a_j = n.

    On the circle equal angles and masses 1, exact for waves below the n-th. On S^2 n = 2 m^2: m heights of
    Gauss-Legendre, on each 2m equal angles; exact for polynomials below degree 2m.
    """
    n, d = _sizes(n_tokens, dim, None, sphere=True)
    if d > 3:
        raise bad("dim", dim, "2 or 3", "Grids grow too fast with the dimension: take uniform(n_tokens, dim).")
    if d == 2:
        return _circle(n), np.ones(n)
    m = round(np.sqrt(n / 2))
    if 2 * m * m != n:
        raise bad("n_tokens", n_tokens, "2 m^2 on S^2: 2, 8, 18, 32, ...", f"The nearest is {2 * max(m, 1) ** 2}.")
    height, weight = np.polynomial.legendre.leggauss(m)
    rings = np.sqrt(1 - height**2)[:, None, None] * _circle(2 * m)
    tokens = np.concatenate([rings, np.broadcast_to(height[:, None, None], (m, 2 * m, 1))], axis=2)
    return retract(tokens.reshape(n, 3)), np.repeat(0.5 * m * weight, 2 * m)


def _circle(n: int) -> Array:
    """n equal angles."""
    angle = 2 * np.pi / n * np.arange(n)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


STARTS: dict[str, Callable[..., Array]] = {
    start.__name__: start
    for start in (uniform, cap, cube, gaussian, orthonormal, equiangular, planted, von_mises_fisher)
}


def _cap_gap(share: Array, radius: float, d: int) -> Array:
    """1 - cos of the angle within which lies this share of a cap."""
    from scipy.special import betaincinv

    a = (d - 1) / 2
    gap: Array = 2.0 * betaincinv(a, a, share * cap_measure(radius, d))  # (1 - cos)/2 of a uniform token is Beta(a, a)
    return gap


def _vmf_gap(generator: np.random.Generator, kappa: float, d: int) -> Array:
    """1 - <x, center> of the accepted among BLOCK candidates: overlaps would lose the digits at large kappa."""
    m = d - 1
    b = m / (2 * kappa + np.hypot(2 * kappa, m))
    z, u = generator.beta(m / 2, m / 2, BLOCK), generator.random(BLOCK)
    gap = 2 * b * z / (1 - (1 - b) * z)
    excess = kappa * (2 * b / (1 + b) - gap) + m * np.log((2 * b + (1 - b) * gap) * (1 + b) / (4 * b))
    accepted: Array = gap[excess >= np.log1p(-u)]  # 1 - u, because u may be 0
    return accepted


def _around(center: Array, gap: Array, direction: Array) -> Array:
    """Tokens with <x, center> = 1 - gap, in the given directions (n, d-1) of the tangent plane.

    Made around the first axis and reflected to center: u = center + s e_1 swaps -s e_1 and center, and the sign s
    of the first coordinate keeps u away from 0.
    """
    s = np.where(center[..., :1] >= 0, 1.0, -1.0)
    x: Array = np.concatenate([-s * (1 - gap)[:, None], np.sqrt(gap * (2 - gap))[:, None] * direction], axis=1)
    u = center + s * np.eye(1, center.shape[-1])
    x -= 2 * np.sum(u * x, axis=1, keepdims=True) / np.sum(u * u, axis=-1, keepdims=True) * u
    return x


def _ensemble(draw: Draw, seed: int, runs: int | None) -> Array:
    s = whole("seed", seed, 0, "Every start needs a seed, so that runs can be repeated.")
    if runs is None:
        return draw(np.random.default_rng([s, 0]))
    return np.stack([draw(np.random.default_rng([s, r])) for r in range(whole("runs", runs, 1, EMPTY))])


def _sizes(n_tokens: int, dim: int, runs: int | None, sphere: bool = False) -> tuple[int, int]:
    """n and d, if the memory of this machine holds so many runs of them."""
    advice = "The sphere of R^1 is two points, between which nothing can move." if sphere else ""
    n, d = count("n_tokens", n_tokens, 1, "A start has at least one token."), count("dim", dim, 1 + sphere, advice)
    room("n_tokens * dim", n * d)
    if runs is not None:
        count("runs", runs, 1, EMPTY, each=8 * n * d)
    return n, d


def _radius(argument: str, angle: float, d: int) -> float:
    radius = scalar(argument, angle, "radians above 0, up to pi", lambda a: (a > 0) & (a <= np.pi))
    if cap_measure(radius, d) < 1e-290:
        advice = "The share of the sphere inside underflows: use von_mises_fisher with a large kappa."
        raise bad(argument, angle, f"caps that hold more than 1e-290 of the sphere of dim {d}", advice)
    return radius


def _center(center: ArrayLike | None, d: int) -> Array:
    if center is None:
        first: Array = np.eye(1, d)[0]
        return first
    w = real("center", center, f"a non-zero array of shape ({d},)")
    if w.shape != (d,) or not w.any():
        raise bad("center", center, f"a non-zero array of shape ({d},)", "Give one direction of R^dim.")
    return retract(w / np.max(np.abs(w)))
