"""The right-hand side of models with positions (E14) or groups (E20), compiled: queries and keys of tokens first."""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline, kernel
from tokenflock.engine.explicit.velocity import apply, copy_tokens, feedforward, finish_sphere, sublayer, take
from tokenflock.engine.explicit.work import (
    ALONG,
    COUNTS,
    DRIVE,
    LESS,
    LESSER,
    MX,
    OF_GROUP,
    SPARE,
    SPHERE,
    VALUE,
    P,
    X,
)


@inline
def _looked(terms, side, h, y, target):
    """target = R_i M y_i of head h, M the Q (side 0) or K (side 1) of the group of each token."""
    groups = terms.sides.shape[0] // 2
    for a in range(target.shape[0]):
        for i in range(target.shape[1]):
            target[a, i] = 0.0
        for s in range(groups):
            for b in range(y.shape[0]):
                c = terms.sides[side * groups + s, h, a, b]
                if c != 0.0:
                    for i in range(target.shape[1]):
                        if groups == 1 or int(terms.rows[OF_GROUP, i]) == s:
                            target[a, i] += c * y[b, i]
    half = terms.turns.shape[0] // 2
    for q in range(half):
        for i in range(target.shape[1]):
            c, s, a, b = terms.turns[q, i], terms.turns[half + q, i], target[q, i], target[half + q, i]
            target[q, i] = a * c - b * s
            target[half + q, i] = b * c + a * s


@inline
def _look(terms, work, h):
    """Queries and keys of head h."""
    x, y = work.tokens[X], work.tokens[SPARE]
    for a in range(x.shape[0]):
        for i in range(x.shape[1]):
            y[a, i] = x[a, i] + terms.offsets[a, i] if terms.offsets.shape[0] > 0 else x[a, i]
    _looked(terms, 0, h, y, work.pairs.u)
    _looked(terms, 1, h, y, work.pairs.per_token)


@inline
def _add(terms, work, page):
    """Add the pull and the mass that stand in P and z, through the V of a page of heads, to the drive."""
    x, p, spare, mx, z = work.tokens[X], work.tokens[P], work.tokens[SPARE], work.tokens[MX], work.pairs.z
    scalar = terms.numbers.scalar_value != 0
    apply(scalar, terms.heads[VALUE, page], p, spare, work.tokens[ALONG])
    for a in range(x.shape[0]):
        for i in range(x.shape[1]):
            mx[a, i] = z[0, i] * x[a, i]
    apply(scalar, terms.heads[VALUE, page], mx, spare, work.tokens[DRIVE])
    apply(scalar, terms.heads[LESS, page], mx, spare, work.tokens[LESSER])


@inline
def _weighed(terms, pairs, i, top, whole):
    """What sums that were taken less `top` are multiplied by in row i, whose softmax is divided by 2^top `whole`."""
    if whole == 0.0:
        return 0.0
    numbers = terms.numbers
    return 2.0 ** (top - numbers.shift) / terms.rows[COUNTS, i] if numbers.by_count else 1.0 / whole


@inline
def _one_value(sums, part, terms, work, h):
    """A head whose V is one for all."""
    pairs = work.pairs
    pairs.call.group = -1
    sums(part, pairs)
    for i in range(terms.numbers.n):
        weight = _weighed(terms, pairs, i, np.float64(pairs.top[0, i]), np.float64(pairs.z[0, i]))
        pairs.z[0, i] *= weight
        for a in range(pairs.p.shape[0]):
            pairs.p[a, i] *= weight
    _add(terms, work, h)


@inline
def _own_values(sums, part, terms, work, h):
    """A head in which every group has its V: group by group, each less its own largest logit, then brought together."""
    pairs, d, n = work.pairs, work.tokens.shape[1], terms.numbers.n
    groups = terms.sides.shape[0] // 2
    held = pairs.partial  # (groups, d + 2, columns): p, z and top
    for g in range(groups):
        pairs.call.group = g
        sums(part, pairs)
        for i in range(n):
            for a in range(d):
                held[g, a, i] = pairs.p[a, i]
            held[g, d, i], held[g, d + 1, i] = pairs.z[0, i], pairs.top[0, i]
    for g in range(groups):
        for i in range(n):
            top, whole = -np.inf, 0.0
            for b in range(groups):
                if held[b, d, i] > 0.0:
                    top = max(top, np.float64(held[b, d + 1, i]))
            for b in range(groups):
                if held[b, d, i] > 0.0:
                    whole += held[b, d, i] * 2.0 ** (np.float64(held[b, d + 1, i]) - top)
            weight = 0.0
            if held[g, d, i] > 0.0:
                weight = _weighed(terms, pairs, i, top, whole) * 2.0 ** (np.float64(held[g, d + 1, i]) - top)
            pairs.z[0, i] = weight * held[g, d, i]
            for a in range(d):
                pairs.p[a, i] = weight * held[g, a, i]
        _add(terms, work, h * groups + g)


@inline
def _heads(sums, part, field):
    """velocity._heads: pages ALONG and DRIVE, (E5) without F."""
    terms, work = field.terms, field.work
    along, lesser, drive = work.tokens[ALONG], work.tokens[LESSER], work.tokens[DRIVE]
    for a in range(along.shape[0]):
        for i in range(along.shape[1]):
            along[a, i] = lesser[a, i] = drive[a, i] = 0.0
    for h in range(terms.sides.shape[1]):
        _look(terms, work, h)
        work.pairs.call.slope, work.pairs.call.level = terms.slopes[h], 0.0
        if work.pairs.partial.shape[0] > 0:
            _own_values(sums, part, terms, work, h)
        else:
            _one_value(sums, part, terms, work, h)
    for a in range(along.shape[0]):
        for i in range(along.shape[1]):
            drive[a, i] += along[a, i]
            along[a, i] += lesser[a, i]


@kernel
def placed_velocity(sums, part, field, y, t, kind, out):
    """velocity.full_velocity with positions and groups."""
    terms, work, numbers = field.terms, field.work, field.terms.numbers
    spare, along, drive = work.tokens[SPARE], work.tokens[ALONG], work.tokens[DRIVE]
    take(terms, work, y)
    _heads(sums, part, field)
    if numbers.activation:
        feedforward(terms, work, work.tokens[X], spare)
        for a in range(drive.shape[0]):
            for i in range(numbers.n):
                drive[a, i] += spare[a, i]
                along[a, i] += spare[a, i]
    if numbers.space == SPHERE:
        finish_sphere(terms, work, y, t, kind, out)
    else:
        copy_tokens(drive, numbers.n, out)


@kernel
def placed_layer(sums, part, field, y, t, dt, kind):
    """velocity.layer with positions and groups."""
    terms, work = field.terms, field.work
    take(terms, work, y)
    _heads(sums, part, field)
    sublayer(terms, work, y, t, dt, kind)
    if terms.numbers.activation:
        take(terms, work, y)
        feedforward(terms, work, work.tokens[X], work.tokens[DRIVE])
        sublayer(terms, work, y, t, dt, kind)
