"""The right-hand side and the layer of rescaled space (E8), (E13) in compiled form: see velocity.py."""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline, kernel
from tokenflock.engine.explicit.columns import apply, block_of, n_blocks
from tokenflock.engine.explicit.flow import exponential, queries, set_flow
from tokenflock.engine.explicit.velocity import feedforward, take, weigh_all
from tokenflock.engine.explicit.work import DRIVE, SPARE, VALUE, P, X


@inline
def _rescaled_heads(sums, part, field):
    """Page DRIVE: sum_h V_h p_h of (E8)."""
    terms, work, call = field.terms, field.work, field.work.pairs.call
    x, p, drive = work.tokens[X], work.tokens[P], work.tokens[DRIVE]
    for a in range(x.shape[0]):
        for i in range(x.shape[1]):
            drive[a, i] = 0.0
    for h in range(terms.heads.shape[1]):
        queries(work, h)
        call.slope, call.level = terms.slopes[h], 0.0
        sums(part, work.pairs)
        for i in range(terms.numbers.n):
            call.undecided = max(call.undecided, abs(work.pairs.z[0, i] - np.floor(work.pairs.z[0, i] + 0.5)))
        for k in range(n_blocks(x)):
            first, stop = block_of(x, k)
            weigh_all(field, h, 1.0, first, stop)
            apply(terms.numbers.scalar_value != 0, terms.heads[VALUE, h], p, work.block, drive, first, stop)


@inline
def _take_all(terms, work, y):
    for k in range(n_blocks(work.tokens[X])):
        first, stop = block_of(work.tokens[X], k)
        take(terms, work, y, first, stop)


@inline
def _feed_all(terms, work):
    """The update: page DRIVE, or the feed-forward part of it in page SPARE."""
    for k in range(n_blocks(work.tokens[X])):
        first, stop = block_of(work.tokens[X], k)
        feedforward(terms, work, work.tokens[DRIVE], work.tokens[SPARE], first, stop)


@kernel(allocates=True)
def rescaled_velocity(sums, part, field, y, t, kind, out):
    """(E8)."""
    terms, work = field.terms, field.work
    _take_all(terms, work, y)
    flow = np.empty(terms.flow.shape)
    exponential(t, terms.flow, flow)
    set_flow(terms, work, flow, terms.numbers.mu * t)
    _rescaled_heads(sums, part, field)
    if terms.numbers.activation:
        _feed_all(terms, work)
    update = work.tokens[SPARE if terms.numbers.activation else DRIVE]
    for a in range(update.shape[0]):
        for i in range(terms.numbers.n):
            out[a, i] = update[a, i]


@kernel(allocates=True)
def rescaled_layer(sums, part, field, y, t, dt, kind):
    """(E13): the same for z = R^-k x; the values of `terms` are R^-1 V."""
    terms, work, numbers = field.terms, field.work, field.terms.numbers
    d = work.tokens.shape[1]
    k = int(np.round(t / dt))
    # The spectral radius rho of R is taken out of R^k before it overflows.
    square = (np.eye(d) * (1.0 + dt * numbers.mu) + dt * terms.flow) / numbers.rho
    power = np.eye(d)
    rest = k
    while rest > 0:
        if rest % 2 == 1:
            power = np.dot(power, square)
        square = np.dot(square, square)
        rest //= 2
    _take_all(terms, work, y)
    set_flow(terms, work, power, k * np.log(numbers.rho))
    _rescaled_heads(sums, part, field)
    if numbers.activation:
        _feed_all(terms, work)
    update = work.tokens[SPARE if numbers.activation else DRIVE]
    for a in range(d):
        for i in range(numbers.n):
            y[a, i] += dt * update[a, i]
