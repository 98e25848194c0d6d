"""What a velocity costs by pairs and by waves, in seconds on one core, from constants that were measured.

`python benchmarks/harmonic.py --fit` prints them again, and `--grid` how often they pick the faster engine. They are
those of a Xeon with AVX-512; on another machine both sides change together, and the choice hangs on their ratio.
"""

from __future__ import annotations

from tokenflock.engine.contract import Task
from tokenflock.engine.small_waves import registers
from tokenflock.model import Model, visible
from tokenflock.options import Window

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
SMALL_WAVE_S = {(2, "causal"): 1.9e-9, (2, "full"): 2.7e-9, (3, "causal"): 2.9e-9, (3, "full"): 3.1e-9}  # few tokens
SMALL_TOKEN_S = {2: 13e-9, 3: 40e-9}
BLOCK_S = 5e-6  # a register of waves, whatever the tokens: the blocks are added up


def _mask_of(model: Model) -> str:
    if isinstance(model.mask, Window):
        return "window" if model.mask.causal else "both ways"
    return model.mask


def pairs_s(model: Model, n: int) -> float:
    """One velocity by pairs."""
    lo, hi = visible(model.mask, n)
    return PAIR_S[model.dim, _mask_of(model)] * float((hi - lo).sum()) * model.n_heads


def waves_s(model: Model, n: int) -> float:
    """One velocity by waves."""
    from tokenflock.engine.harmonic import registers_for  # few tokens need none of its kernels

    registers = registers_for(model, n)
    one = TOKEN_S + WAVE_S[model.dim, _mask_of(model)] * registers
    return (n * one + BLOCK_S * registers) * model.n_heads


def small_waves_s(task: Task, n: int) -> float:
    """One velocity of few tokens by waves, for the mask causal or full."""
    model = task.model
    waves = SMALL_WAVE_S[model.dim, str(model.mask)] * registers(model, n, task.rtol + task.atol)
    return n * (SMALL_TOKEN_S[model.dim] + waves)
