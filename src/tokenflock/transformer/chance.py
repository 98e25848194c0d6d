"""How often Gaussian weights give a head whose eigenvalues all lie in the left half-plane: lambda_max < 0 by chance.

A head starts its training with independent Gaussian entries; V_h = W_O W_V then has the k eigenvalues of the k x k
matrix W_V W_O, and only their signs matter here, not the scale of the entries.

    counted   draw heads and count: an honest interval, but from k = 10 on nothing is ever seen
    split     subset simulation: the rare event as a chain of events of probability 1/4, and its interval from repeats
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock.analysis.spectrum import one_thread
from tokenflock.arguments import generator as a_generator
from tokenflock.arguments import room, some, whole
from tokenflock.errors import EngineError, bad
from tokenflock.geometry import Array

CONFIDENCE = 0.95
BATCH = 256
MOST = 1e150  # of an entry
MOST_DIM, MOST_SAMPLES = 10**4, 10**9  # beyond these an answer takes years
#: Subset simulation: the share that goes on at every level, and the most levels.
SHARE, LEVELS = 0.25, 400


@dataclass(frozen=True)
class Chance:
    """A probability as log10, with a 95 % interval. low is -inf where nothing was seen."""

    log10: float
    low: float
    high: float
    method: str  # in words, with its numbers
    seen: int  # of so many
    samples: int


def draw(generator: np.random.Generator, count: int, head_dim: int, dim: int) -> Array:
    """So many heads at the start of training: W_V and W_O' side by side, (count, 2, k, d)."""
    n, k, d = whole("count", count, 1), whole("head_dim", head_dim, 1), whole("dim", dim, 1)
    room("count * head_dim * dim", n * k * d, 16)
    return a_generator(generator).standard_normal((n, 2, k, d))


def largest(heads: Array) -> Array:
    """The largest real part of the eigenvalues of W_V W_O, for heads as `draw` gives them."""
    heads = some("heads", heads, f"numbers up to {MOST:g}, (count, 2, k, d)", lambda v: np.abs(v) <= MOST)
    if heads.ndim != 4 or heads.shape[1] != 2:
        raise bad("heads.shape", heads.shape, "(count, 2, k, d)", "chance.draw gives them.")
    lam = np.linalg.eigvals(heads[:, 0] @ np.swapaxes(heads[:, 1], -1, -2))
    return np.asarray(lam.real.max(axis=-1))


def counted(head_dim: int, dim: int, samples: int = 2_000, seed: int = 0) -> Chance:
    """Draw heads and count those with lambda_max < 0; the interval is Clopper and Pearson's."""
    from scipy.stats import beta

    k, d = whole("head_dim", head_dim, 1, most=MOST_DIM), whole("dim", dim, 1, most=MOST_DIM)
    number, seed = whole("samples", samples, 1, most=MOST_SAMPLES), whole("seed", seed, 0)
    generator = np.random.default_rng([seed, k, d])
    seen = 0
    with one_thread():
        for first in range(0, number, BATCH):
            seen += int((largest(draw(generator, min(BATCH, number - first), k, d)) < 0).sum())
    tail = (1 - CONFIDENCE) / 2 if 0 < seen < number else 1 - CONFIDENCE  # one-sided where all or none was seen
    low = beta.ppf(tail, seen, number - seen + 1) if seen else 0.0
    high = beta.ppf(1 - tail, seen + 1, number - seen) if seen < number else 1.0
    return Chance(_log(seen / number), _log(low), _log(high), f"{seen} of {number} Gaussian heads", seen, number)


def split(head_dim: int, dim: int, walkers: int = 60, repeats: int = 4, seed: int = 0) -> Chance:
    """Subset simulation: levels of -lambda_max, each reached by a quarter of the heads that reached the one before.

    From the heads beyond a level new ones are made by k moves g <- sqrt(1 - s^2) g + s g', which leave the Gaussian as
    it is and are taken back where they fall behind the level; s is tuned so that about a third stays. Fewer moves than
    k leave copies of the same few heads, and the levels come to a halt. The interval is Student's, of the logarithms of
    independent repeats. Seconds at k = 12, minutes at k = 16.
    """
    from scipy.stats import t

    k, d = whole("head_dim", head_dim, 1, most=MOST_DIM), whole("dim", dim, 1, most=MOST_DIM)
    n, m = whole("walkers", walkers, 20, most=MOST_SAMPLES), whole("repeats", repeats, 2, most=MOST_SAMPLES)
    seed = whole("seed", seed, 0)
    with one_thread():
        logs = np.array([_descend(np.random.default_rng([seed, r, k, d]), k, d, n) for r in range(m)])
    mean, half = float(logs.mean()), float(t.ppf(0.5 + CONFIDENCE / 2, m - 1) * logs.std(ddof=1) / math.sqrt(m))
    words = f"subset simulation, {m} repeats of {n} heads"
    return Chance(mean, mean - half, min(mean + half, 0.0), words, 0, m * n)


def _descend(generator: np.random.Generator, k: int, d: int, n: int) -> float:
    """log10 of the probability, from one chain of levels."""
    heads = draw(generator, n, k, d)
    tops, total, size = largest(heads), 0.0, 0.5
    kept = max(1, round(SHARE * n))
    for _ in range(LEVELS):
        order = np.argsort(tops)
        negative = int((tops < 0).sum())
        if negative >= kept:
            return total + math.log10(negative / n)
        level = 0.5 * (tops[order[kept - 1]] + tops[order[kept]])
        total += math.log10(kept / n)
        chosen = order[np.arange(n) % kept]
        heads, tops = heads[chosen], tops[chosen]
        for _ in range(max(k, 4)):
            tried = math.sqrt(1 - size**2) * heads + size * draw(generator, n, k, d)
            reached = largest(tried)
            stays = reached < level
            heads[stays], tops[stays] = tried[stays], reached[stays]
            size = float(np.clip(size * math.exp(stays.mean() - 1 / 3), 1e-3, 0.9))
    raise EngineError(
        f"{LEVELS} levels of subset simulation did not reach lambda_max < 0 at head_dim = {k}. Take more walkers, or a "
        "smaller head."
    )


def _log(p: Any) -> float:
    return math.log10(p) if p > 0 else -math.inf
