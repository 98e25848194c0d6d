"""Why tokens cannot be steered to their targets by any Q(t), K(t), V(t): exact reasons, found before any optimisation.

together       tokens at one place that see the same crowd stay together for ever, whatever the weights
opposite       a crowd that is its own mirror image under x -> -x stays so (full attention)
order          on the circle with full attention all tokens follow one velocity field: their cyclic order stays
cross-ratios   full attention with uniform weights (beta Q'K = 0) moves tokens by Moebius maps only
first token    with V = c I the first causal token never moves (compare Theorem 4.1 of A)
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from tokenflock.geometry import Array, angle
from tokenflock.masks import sees
from tokenflock.model import Model, masses
from tokenflock.sphere import is_scalar

Labels = NDArray[np.intp]
SAME = 1e-9  # tokens closer than this are at one place; targets must differ by more than WRONG to be out of reach
WRONG = 1e-6


def together(model: Model, start: Array) -> Labels:
    """A label (n,) for each token: tokens of one label stay together whatever the weights are.

    Begins with the places and splits until tokens of one label see the same shares of every label: then their
    velocities agree for all weights, and by uniqueness so do the tokens.
    """
    near = np.linalg.norm(start[:, None] - start[None], axis=-1) < SAME
    label = near.argmax(axis=1)
    seen = sees(model.mask, len(start)) * masses(model, len(start))
    share = seen / (seen.sum(axis=1, keepdims=True) if model.normaliser == "softmax" else 1.0)
    while True:
        crowd = np.stack([share[:, label == k].sum(axis=1) for k in np.unique(label)], axis=1)
        signature = np.column_stack([label, crowd.round(12)])
        finer = np.unique(signature, axis=0, return_inverse=True)[1].ravel()
        if len(np.unique(finer)) == len(np.unique(label)):
            return finer
        label = finer


def cross_ratio(x: Array) -> Array:
    """|x_1 - x_3| |x_2 - x_4| / (|x_1 - x_4| |x_2 - x_3|) of four tokens (..., 4, d): no Moebius map changes it."""
    gap = np.linalg.norm(x[..., :, None, :] - x[..., None, :, :], axis=-1)
    return np.asarray(gap[..., 0, 2] * gap[..., 1, 3] / (gap[..., 0, 3] * gap[..., 1, 2]))


def obstruction(model: Model, start: Array, targets: Array, controls: tuple[str, ...]) -> str:
    """A sentence that says why the targets cannot be reached; empty if no reason is known."""
    n, extras = len(start), (model.frozen, model.feedforward, model.masses)
    full = model.mask == "full" and all(extra is None for extra in extras)
    reason = _stuck_together(model, start, targets)
    if reason:
        return reason
    alone = sees(model.mask, n)[0].sum() == 1 and model.frozen is None and model.feedforward is None
    if alone and "value" not in controls and is_scalar(model.values):
        off = float(np.linalg.norm(start[0] - targets[0]))
        if off > WRONG:
            return f"V = c I is given, so the first token never moves; its target is {off:.3g} away from its start."
    if full and _mirrored(start) and not _mirrored(targets, _partner(start)):
        return "The start is its own mirror image under x -> -x and stays so for all weights; the targets are not."
    if full and model.dim == 2 and not _same_turn(start, targets):
        return "On the circle with full attention the cyclic order of the tokens never changes; the targets change it."
    uniform = model.beta == 0 or ({"query", "key"}.isdisjoint(controls) and not model.form.any())
    if full and uniform and n >= 4:
        off = _worst_cross_ratio(start, targets)
        if off > WRONG:
            return (
                "Uniform attention moves tokens by Moebius maps, which keep every cross-ratio; one of them would have "
                f"to change by the factor {np.exp(off):.3g}."
            )
    return ""


def least_error(model: Model, start: Array, targets: Array) -> float:
    """A lower bound of 1/2 sum |x_i - y_i|^2: each group that stays together at the best single place."""
    label = together(model, start)
    groups = [targets[label == k] for k in np.unique(label)]
    return float(sum(len(y) - np.linalg.norm(y.sum(axis=0)) for y in groups))


def _stuck_together(model: Model, start: Array, targets: Array) -> str:
    label = together(model, start)
    for k in np.unique(label):
        group = np.flatnonzero(label == k)
        off = np.linalg.norm(targets[group] - targets[group[0]], axis=-1)
        if off.max() > WRONG:
            i, j = int(group[0]), int(group[off.argmax()])
            return (
                f"Tokens {i} and {j} start at one place and see the same crowd: they stay together for all weights; "
                f"their targets are {off.max():.3g} apart."
            )
    return ""


def _partner(x: Array) -> Labels:
    """For each token the one opposite to it."""
    return np.asarray(np.linalg.norm(x[:, None] + x[None], axis=-1).argmin(axis=1))


def _mirrored(x: Array, partner: Labels | None = None) -> bool:
    """Whether every token has its opposite, each with one of its own."""
    partner = _partner(x) if partner is None else partner
    whole = len(np.unique(partner)) == len(x)
    return whole and bool(np.linalg.norm(x + x[partner], axis=-1).max() < 1e-7)


def _same_turn(start: Array, targets: Array) -> bool:
    """Whether going round the start in order goes round the targets once, and never back."""
    order = np.argsort(angle(start), kind="stable")
    label = np.concatenate([[0], np.cumsum(np.diff(angle(start)[order]) > SAME)])
    firsts = [int(order[np.flatnonzero(label == k)[0]]) for k in range(label[-1] + 1)]
    turn = angle(targets)[firsts]
    gaps = (np.diff(np.append(turn, turn[0])) + WRONG) % (2 * np.pi) - WRONG
    return bool(abs(gaps.sum() - 2 * np.pi) < 0.1 or np.abs(gaps).max() < WRONG)


def _worst_cross_ratio(start: Array, targets: Array) -> float:
    """The largest change of the logarithm of a cross-ratio of four tokens at different places."""
    worst = 0.0
    for first in range(len(start) - 3):
        for four in permutations(range(first, first + 4)):
            before, after = (cross_ratio(x[list(four)]) for x in (start, targets))
            if np.isfinite([before, after]).all() and min(before, after) > SAME:
                worst = max(worst, abs(float(np.log(after / before))))
    return worst
