"""Which runs go by waves: how accurate they are, and what a velocity costs by pairs and by waves, as measured.

Costs are seconds on one core. `python benchmarks/harmonic.py --fit` prints the constants again, and `--grid` how often
they pick the faster engine. They are those of a Xeon with AVX-512; on another machine both sides change together, and
the choice hangs on their ratio. Plain numpy: nothing is compiled for a run that goes by pairs.
"""

from __future__ import annotations

import math

from tokenflock.engine.contract import Task
from tokenflock.engine.harmonic.series import (
    EPS,
    FLAT,
    SHARE,
    registers,
    sharpness,
    sphere_degree,
    tail_allowed,
    worst_error,
)
from tokenflock.engine.machine import threads
from tokenflock.engine.traits import traits
from tokenflock.masks import visible
from tokenflock.model import Model
from tokenflock.options import Window
from tokenflock.preparation import prepared

TOLERANCE = 1e-13  # of a velocity, when none is given
FEWEST = 48  # tokens below which pairs are always faster
FEW = 2_000  # tokens up to which auto takes pairs for all but short runs: their errors are relative
SHORT = 300.0  # t_end up to which few tokens may go by waves: no pull below their errors moves one till then
LONG = 1e4  # t_end from which a run lives on pulls that waves round away
MANY = 200_000  # tokens from which pairs are no way out any more
# Few tokens by few.py: how many at most, beyond which sums in blocks on two cores do better; how many registers of
# waves, since on the circle rounding grows like the square of this; and the largest sharpness.
MOST_TOKENS = 4_000
MOST_REGISTERS = {2: 64, 3: 400}
MOST_SHARPNESS = 1e4

# Seconds a pair, for (dimension, mask): near2, near3 and, where the mask is full, mutual.
PAIR_S = {
    (2, "causal"): 0.77e-9,
    (2, "full"): 0.66e-9,
    (2, "window"): 0.88e-9,
    (2, "both ways"): 0.89e-9,
    (3, "causal"): 0.95e-9,
    (3, "full"): 0.67e-9,
    (3, "window"): 1.03e-9,
    (3, "both ways"): 0.98e-9,
}
# Seconds a token and a register of waves: in windows tokens come into sight and leave it.
WAVE_S = {
    (2, "causal"): 4.6e-9,
    (2, "full"): 5.7e-9,
    (2, "window"): 9.5e-9,
    (2, "both ways"): 13e-9,
    (3, "causal"): 9.7e-9,
    (3, "full"): 11e-9,
    (3, "window"): 14e-9,
    (3, "both ways"): 18e-9,
}
TOKEN_S = 50e-9  # a token, whatever its waves
# The same for few tokens; on S^2 from whole runs of 500 and 1,000 tokens beside pairs.
FEW_WAVE_S = {(2, "causal"): 1.9e-9, (2, "full"): 2.7e-9, (3, "causal"): 4.0e-9, (3, "full"): 4.7e-9}
FEW_TOKEN_S = {2: 13e-9, 3: 40e-9}
SHARED = 0.72  # of a run by pairs that is divided among the cores: two cores took 88 ms where one took 137
BLOCK_S = 5e-6  # a register of waves, whatever the tokens: the blocks are added up


def _mask_of(model: Model) -> str:
    if isinstance(model.mask, Window):
        return "window" if model.mask.causal else "both ways"
    return str(model.mask)


def pairs_s(model: Model, n: int) -> float:
    """One velocity by pairs."""
    lo, hi = visible(model.mask, n)
    return PAIR_S[model.dim, _mask_of(model)] * float((hi - lo).sum()) * model.n_heads


def registers_for(model: Model, n: int, tolerance: float = TOLERANCE) -> int:
    """Registers of waves for every token: what a velocity costs, over n."""
    return registers(model.dim, sharpness(model), tail_allowed(model, n, tolerance))


@prepared
def waves_s(model: Model, n: int) -> float:
    """One velocity by waves."""
    waves = registers_for(model, n)
    one = TOKEN_S + WAVE_S[model.dim, _mask_of(model)] * waves
    return (n * one + BLOCK_S * waves) * model.n_heads


def waves_pay(task: Task, n: int) -> bool:
    """Whether many tokens of a model that has waves go by them: accurate enough from any start, faster as measured."""
    model = task.model
    if not traits(model).near or (n <= MANY and worst_error(n) > task.rtol + task.atol):
        return False
    return waves_s(model, n) < pairs_s(model, n)


def few_tail(n: int, allowed: float) -> float:
    """What a pair may miss so that a velocity misses SHARE of what is allowed, in a row of mass 1 against n tokens."""
    return 0.5 * max(SHARE * allowed, EPS) / n


def few_registers(model: Model, n: int, allowed: float) -> int:
    """Registers of waves for every one of few tokens: what a velocity costs, over n."""
    return registers(model.dim, sharpness(model), few_tail(n, allowed))


def few_error(model: Model, n: int, allowed: float) -> float:
    """A bound of the error of a velocity of few tokens: what the series leaves out, the rounding of waves and sums."""
    tail = few_tail(n, allowed)
    grown = few_registers(model, n, allowed) ** 2 if model.dim == 2 else sphere_degree(sharpness(model), tail)[0]
    rounding = EPS * (FLAT + grown + math.sqrt(n))
    return abs(float(model.values[0, 0, 0])) * n * (tail + rounding)


def are_few(task: Task, n: int) -> bool:
    """Whether few.py can run this: the papers' main case, with velocities as accurate as its tolerances ask."""
    return task.scheme is not None and task.dtype == "float64" and few_serve(task.model, n, task.rtol + task.atol)


def few_serve(model: Model, n: int, allowed: float) -> bool:
    """Whether few.py computes velocities of a model with errors up to `allowed`."""
    if n > MOST_TOKENS or model.dim not in MOST_REGISTERS:
        return False
    plain = model.mask in ("causal", "full") and model.normaliser == "softmax" and traits(model).simple
    if not plain or not model.values[0, 0, 0] or sharpness(model) > MOST_SHARPNESS:
        return False
    short = few_registers(model, n, allowed) <= MOST_REGISTERS[model.dim]
    return short and few_error(model, n, allowed) <= allowed


def few_waves_pay(task: Task, n: int) -> bool:
    """Whether few tokens go by waves. Fixed steps keep to pairs: whoever sets a step may look at its order.

    A run by pairs is shared among the cores. So are waves of full attention on S^2, but not those of a causal mask. On
    the circle waves win by more than the cores do.
    """
    model, adaptive = task.model, task.scheme is not None and task.scheme.adaptive
    if n < FEWEST or task.t_end > SHORT or not adaptive or not are_few(task, n):
        return False
    mask = str(model.mask)
    one = FEW_TOKEN_S[model.dim] + FEW_WAVE_S[model.dim, mask] * few_registers(model, n, task.rtol + task.atol)
    alone = (model.dim, mask) == (3, "causal")
    return n * one < pairs_s(model, n) * (1.0 - SHARED + SHARED / threads() if alone else 1.0)
