"""The right-hand side (E4)-(E10) and the layer (E12), (E13) in compiled form. Tokens are columns, (d, columns).

A velocity is `velocity(sums, part, field, y, t, kind, out)`, a layer `layer(sums, part, field, y, t, dt, kind)`: see
work.py. `sums` and `part` are pointers, so that kernels compile separately, and only those that are used. Loops are
written out: slices and array expressions cost seconds of compilation each.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline, kernel
from tokenflock.engine.explicit.flow import exponential, queries, set_flow
from tokenflock.engine.explicit.work import (
    ALONG,
    COUNTS,
    DRIVE,
    EUCLIDEAN,
    FORM,
    LESS,
    LESSER,
    MX,
    SPARE,
    SPHERE,
    VALUE,
    P,
    U,
    X,
)

POST, PRE, PERI, NGPT, SQRT = 0, 1, 2, 3, 4
RELU, TANH = 1, 2
PADDING_AT = 1e4  # how far off the scaled sphere padding stands for `mutual`: its weights 2^-(1e8) are exactly 0


@inline
def _inverse_lengths(y, d, n, line):
    """line[0, i] = 1 / |x_i| for the first d rows of y."""
    for i in range(n):
        line[0, i] = y[0, i] * y[0, i]
    for a in range(1, d):
        for i in range(n):
            line[0, i] += y[a, i] * y[a, i]
    for i in range(n):
        line[0, i] = 1 / np.sqrt(line[0, i])


@inline
def retract(y, d, n, line):
    """Every token of y back to the sphere."""
    _inverse_lengths(y, d, n, line)
    for a in range(d):
        for i in range(n):
            y[a, i] *= line[0, i]


@inline
def _weigh(numbers, counts, top, i, z):
    """What the sums of row i are multiplied by: 1/Z (E2), or 2^(top - shift) / count (E3)."""
    return 2.0 ** (top - numbers.shift) / counts[i] if numbers.by_count else 1.0 / z


@inline
def _scale(numbers, x, scaled):
    """Tokens times numbers.scale, for parts that take them so; padding stands far away."""
    scale, away = x.dtype.type(numbers.scale), x.dtype.type(PADDING_AT + 2.0 * numbers.scale)
    for a in range(x.shape[0]):
        for i in range(x.shape[1]):
            scaled[a, i] = scale * x[a, i] if i < numbers.n else away


@kernel
def plain_velocity(sums, part, field, y, t, kind, out):
    """(E6) for V = c I, B = c' I on the circle or the sphere, post norm: the papers' main case, in few passes."""
    terms, pairs, numbers = field.terms, field.work.pairs, field.terms.numbers
    x, p, z, top, scaled, call = field.work.tokens[X], pairs.p, pairs.z, pairs.top, pairs.x, pairs.call
    n, d = numbers.n, x.shape[0]
    _inverse_lengths(y, d, n, top)
    scale, away = scaled.dtype.type(numbers.scale), scaled.dtype.type(PADDING_AT + 2.0 * numbers.scale)
    for a in range(d):
        for i in range(n):
            x[a, i] = y[a, i] * top[0, i]
            scaled[a, i] = x[a, i] * scale
        for i in range(n, scaled.shape[1]):
            scaled[a, i] = away
    value, peak = terms.heads[VALUE, 0, 0, 0], np.float64(terms.heads[FORM, 0, 0, 0])
    call.level = peak
    sums(part, pairs)
    for i in range(n):
        z[0, i] = value * _weigh(numbers, terms.rows[COUNTS], peak, i, z[0, i]) / numbers.scale
        top[0, i] = 0.0
    for a in range(d):
        for i in range(n):
            top[0, i] += p[a, i] * x[a, i]
    for a in range(d):
        for i in range(n):
            out[a, i] = z[0, i] * (p[a, i] - top[0, i] * x[a, i])


@inline
def _weigh_all(field, h, inverse):
    """p becomes the pull and z the mass of head h, from the sums that stand there."""
    terms, pairs, numbers = field.terms, field.work.pairs, field.terms.numbers
    p, z, top, call = pairs.p, pairs.z, pairs.top, pairs.call
    counts = terms.rows[COUNTS + h if terms.rows.shape[0] > COUNTS + 1 else COUNTS]
    for i in range(numbers.n):
        peak = np.float64(terms.heads[FORM, h, 0, 0]) if numbers.scaled else np.float64(top[0, i])
        call.undecided = max(call.undecided, abs(z[0, i] - np.floor(z[0, i] + 0.5)))
        if numbers.own:
            weight = pairs.per_token[0, i]
        else:
            weight = p.dtype.type(_weigh(numbers, counts, peak, i, z[0, i]))
        z[0, i] *= weight
        weight *= p.dtype.type(inverse)
        for a in range(p.shape[0]):
            p[a, i] *= weight


@inline(allocates=True)
def _attend(sums, part, field, h):
    """(E4) of head h: p the pull, z the mass."""
    terms, work, numbers = field.terms, field.work, field.terms.numbers
    x, u, pairs, call = work.tokens[X], work.tokens[U], work.pairs, work.pairs.call
    inverse, call.head, call.slope, call.level = 1.0, h, terms.slopes[h], 0.0
    if numbers.scaled:
        inverse, call.level = 1.0 / numbers.scale, np.float64(terms.heads[FORM, h, 0, 0])
        _scale(numbers, x, pairs.x)
    elif numbers.scalar_form:
        c = work.form[h, 0, 0]
        for a in range(x.shape[0]):
            for i in range(x.shape[1]):
                u[a, i] = c * x[a, i]
    else:
        np.dot(work.form[h].T, x, u)
    sums(part, pairs)
    _weigh_all(field, h, inverse)


@inline(allocates=True)
def apply(scalar, matrix, source, spare, target):
    """target += matrix source, without a product where the matrix is c I."""
    if not scalar:
        np.dot(matrix, source, spare)
        for a in range(source.shape[0]):
            for i in range(source.shape[1]):
                target[a, i] += spare[a, i]
    elif matrix[0, 0] != 0.0:
        c = matrix[0, 0]
        for a in range(source.shape[0]):
            for i in range(source.shape[1]):
                target[a, i] += c * source[a, i]


@inline
def _heads(sums, part, field):
    """Page ALONG: sum_h V_h p_h + (V_h - c_h I) m_h x, with the same tangent part as page DRIVE, (E5) without F."""
    terms, work = field.terms, field.work
    x, p, spare, mx, z = work.tokens[X], work.tokens[P], work.tokens[SPARE], work.tokens[MX], work.pairs.z
    along, lesser, drive = work.tokens[ALONG], work.tokens[LESSER], work.tokens[DRIVE]
    scalar = terms.numbers.scalar_value != 0
    for a in range(x.shape[0]):
        for i in range(x.shape[1]):
            along[a, i] = lesser[a, i] = drive[a, i] = 0.0
    for h in range(terms.heads.shape[1]):
        _attend(sums, part, field, h)
        apply(scalar, terms.heads[VALUE, h], p, spare, along)
        for a in range(x.shape[0]):
            for i in range(x.shape[1]):
                mx[a, i] = z[0, i] * x[a, i]
        apply(scalar, terms.heads[VALUE, h], mx, spare, drive)
        apply(scalar, terms.heads[LESS, h], mx, spare, lesser)
    for a in range(x.shape[0]):
        for i in range(x.shape[1]):
            drive[a, i] += along[a, i]
            along[a, i] += lesser[a, i]


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
        call.head, call.slope, call.level = h, terms.slopes[h], 0.0
        sums(part, work.pairs)
        _weigh_all(field, h, 1.0)
        apply(terms.numbers.scalar_value != 0, terms.heads[VALUE, h], p, work.tokens[SPARE], drive)


@inline(allocates=True)
def feedforward(terms, work, source, target):
    """(E9) target = w sigma(a source + b)."""
    hidden, inner, d = work.hidden, terms.inner, source.shape[0]
    for k in range(hidden.shape[0]):
        for i in range(hidden.shape[1]):
            hidden[k, i] = inner[k, d]
        for a in range(d):
            for i in range(hidden.shape[1]):
                hidden[k, i] += inner[k, a] * source[a, i]
        for i in range(hidden.shape[1]):
            if terms.numbers.activation == RELU:
                hidden[k, i] = max(hidden[k, i], hidden.dtype.type(0.0))
            elif terms.numbers.activation == TANH:
                hidden[k, i] = np.tanh(hidden[k, i])
    np.dot(terms.outer, hidden, target)


@inline
def take(terms, work, y):
    """Page X: the tokens of a state, on the sphere where they belong there, padded with the first one.

    The field is thereby extended to x off the sphere as f(x/|x|), so that every stage of a scheme is evaluated on it.
    """
    x, top, n = work.tokens[X], work.pairs.top, terms.numbers.n
    d = x.shape[0]
    for a in range(d):
        for i in range(n):
            x[a, i] = y[a, i]
    if terms.numbers.space == SPHERE:
        retract(x, d, n, top)
    for a in range(d):
        for i in range(n, x.shape[1]):
            x[a, i] = x[a, 0]


@kernel
def full_velocity(sums, part, field, y, t, kind, out):
    """(E6), (E7), (E10) at the state y (d or d + 1 rows: the tokens, and r where it moves), every option."""
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


@kernel(allocates=True)
def rescaled_velocity(sums, part, field, y, t, kind, out):
    """(E8)."""
    terms, work = field.terms, field.work
    drive, spare = work.tokens[DRIVE], work.tokens[SPARE]
    take(terms, work, y)
    flow = np.empty(terms.flow.shape)
    exponential(t, terms.flow, flow)
    set_flow(terms, work, flow, terms.numbers.mu * t)
    _rescaled_heads(sums, part, field)
    if terms.numbers.activation:
        feedforward(terms, work, drive, spare)
    copy_tokens(spare if terms.numbers.activation else drive, terms.numbers.n, out)


@inline
def copy_tokens(source, n, target):
    for a in range(source.shape[0]):
        for i in range(n):
            target[a, i] = source[a, i]


@inline
def _overlaps(a, b, target):
    """target[0, i] = <a_i, b_i>."""
    for i in range(a.shape[1]):
        target[0, i] = 0.0
    for k in range(a.shape[0]):
        for i in range(a.shape[1]):
            target[0, i] += a[k, i] * b[k, i]


@inline
def _length(square):
    """model.size_of: the root, with 1 for 0."""
    return np.sqrt(np.float64(square)) if square > 0 else 1.0


@inline
def finish_sphere(terms, work, y, t, kind, out):
    """(E6) x' = P_x D / s, with s and r' of (E10)."""
    x, along, drive = work.tokens[X], work.tokens[ALONG], work.tokens[DRIVE]
    z, top = work.pairs.z, work.pairs.top
    n, d = terms.numbers.n, x.shape[0]
    _overlaps(x, along, top)
    for a in range(d):
        for i in range(n):
            out[a, i] = along[a, i] - top[0, i] * x[a, i]
    for a in range(d, y.shape[0]):
        for i in range(n):
            out[a, i] = 0.0
    if kind == POST:
        return
    _overlaps(drive, drive, z)
    _overlaps(x, drive, top)
    for i in range(n):
        size, growth, s = _length(z[0, i]), np.float64(top[0, i]), np.sqrt(t + 1.0)
        if kind == PRE:
            s = np.float64(y[d, i])
            out[d, i] = growth
        elif kind == PERI:
            s = y[d, i] * size
            out[d, i] = growth / size
        elif kind == NGPT:
            s = size / (terms.numbers.alpha * (1.0 + t) ** -terms.numbers.decay)
        for a in range(d):
            out[a, i] /= s


@kernel
def layer(sums, part, field, y, t, dt, kind):
    """(E12): y becomes the state after one layer."""
    terms, work = field.terms, field.work
    take(terms, work, y)
    _heads(sums, part, field)
    sublayer(terms, work, y, t, dt, kind)
    if terms.numbers.activation:
        take(terms, work, y)
        feedforward(terms, work, work.tokens[X], work.tokens[DRIVE])
        sublayer(terms, work, y, t, dt, kind)


@kernel(allocates=True)
def rescaled_layer(sums, part, field, y, t, dt, kind):
    """(E13): the same for z = R^-k x; the values of `terms` are R^-1 V."""
    terms, work, numbers = field.terms, field.work, field.terms.numbers
    drive, spare = work.tokens[DRIVE], work.tokens[SPARE]
    d = drive.shape[0]
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
    take(terms, work, y)
    set_flow(terms, work, power, k * np.log(numbers.rho))
    _rescaled_heads(sums, part, field)
    update = drive
    if numbers.activation:
        feedforward(terms, work, drive, spare)
        update = spare
    for a in range(d):
        for i in range(numbers.n):
            y[a, i] += dt * update[a, i]


@inline
def sublayer(terms, work, y, t, dt, kind):
    """layers.sublayer with the update in page DRIVE."""
    x, drive, z = work.tokens[X], work.tokens[DRIVE], work.pairs.z
    d = x.shape[0]
    _overlaps(drive, drive, z)
    carries = kind == PRE or kind == PERI
    for i in range(terms.numbers.n):
        r = np.float64(y[d, i]) if carries else 1.0
        step = dt
        if kind == PERI or kind == NGPT:
            step /= _length(z[0, i])
        if kind == NGPT:
            step *= terms.numbers.alpha * (1.0 + t) ** -terms.numbers.decay
        elif kind == SQRT:
            step /= np.sqrt(t + 1.0)
        length = 0.0
        for a in range(d):
            y[a, i] = r * x[a, i] + step * drive[a, i]
            length += y[a, i] * y[a, i]
        length = np.sqrt(length) if terms.numbers.space != EUCLIDEAN else 1.0
        for a in range(d):
            y[a, i] /= length
        if carries:
            y[d, i] = length
