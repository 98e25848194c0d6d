"""The right-hand side (E4)-(E10) and the layer (E12), (E13) in compiled form. Tokens are columns, (d, columns).

`sums` and `part` are pointers, to a function of sums_kernels and to a pair kernel: kernels compile apart, and only
those that are used. Loops are written out: slices and array expressions cost seconds of compilation each.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiling import kernel, piece
from tokenflock.engine.cpu_terms import (
    ALONG,
    DRIVE,
    EUCLIDEAN,
    FORM,
    LESS,
    LESSER,
    MX,
    SPARE,
    SPHERE,
    SPREAD,
    TOP,
    VALUE,
    P,
    U,
    X,
    Z,
)
from tokenflock.engine.flow_kernels import exponential, queries, set_flow
from tokenflock.engine.pair_kernels import COUNTS

POST, PRE, PERI, NGPT, SQRT = 0, 1, 2, 3, 4
RELU, TANH = 1, 2
FAR = 1e4  # how far off the scaled sphere padding stands for `mutual`: its weights 2^-(1e8) are exactly 0


@piece
def _inverse_lengths(y, d, n, line):
    """line[0, i] = 1 / |x_i| for the first d rows of y."""
    for i in range(n):
        line[0, i] = y[0, i] * y[0, i]
    for a in range(1, d):
        for i in range(n):
            line[0, i] += y[a, i] * y[a, i]
    for i in range(n):
        line[0, i] = 1 / np.sqrt(line[0, i])


@piece
def retract(y, d, n, line):
    """Every token of y back to the sphere."""
    _inverse_lengths(y, d, n, line)
    for a in range(d):
        for i in range(n):
            y[a, i] *= line[0, i]


@piece
def _weigh(numbers, counts, top, i, z):
    """What the sums of row i are multiplied by: 1/Z (E2), or 2^(top - shift) / count (E3)."""
    return 2.0 ** (top - numbers.shift) / counts[i] if numbers.by_count else 1.0 / z


@kernel
def plain_velocity(sums, part, terms, work, y, t, kind, out):
    """(E6) for V = c I, B = c' I on the circle or the sphere, post norm: the papers' main case, in few passes."""
    numbers, near, z, top = terms.numbers, work.near, work.line[Z], work.line[TOP]
    x, p = work.tokens[X], work.tokens[P]
    n, d = numbers.n, work.tokens.shape[1]
    _inverse_lengths(y, d, n, top)
    scale, far = near.dtype.type(numbers.scale), near.dtype.type(FAR + 2.0 * numbers.scale)
    for a in range(d):
        for i in range(n):
            x[a, i] = y[a, i] * top[0, i]
            near[a, i] = x[a, i] * scale
        for i in range(n, near.shape[1]):
            near[a, i] = far
    value, peak = terms.heads[VALUE, 0, 0, 0], np.float64(terms.heads[FORM, 0, 0, 0])
    sums(part, near, near, terms.rows, terms.frozen, peak, False, n, p, z, top, work.share, work.tile, work.desk)
    for i in range(n):
        z[0, i] = value * _weigh(numbers, terms.rows[COUNTS], peak, i, z[0, i]) / numbers.scale
        top[0, i] = 0.0
    for a in range(d):
        for i in range(n):
            top[0, i] += p[a, i] * x[a, i]
    for a in range(d):
        for i in range(n):
            out[a, i] = z[0, i] * (p[a, i] - top[0, i] * x[a, i])


@piece
def _weigh_all(terms, work, h, inverse):
    """Page P the pull and line Z the mass of head h, from the sums that stand there."""
    numbers, p, z, top = terms.numbers, work.tokens[P], work.line[Z], work.line[TOP]
    for i in range(numbers.n):
        peak = np.float64(terms.heads[FORM, h, 0, 0]) if numbers.near else np.float64(top[0, i])
        work.late[SPREAD] = max(work.late[SPREAD], abs(z[0, i] - np.floor(z[0, i] + 0.5)))
        weight = p.dtype.type(_weigh(numbers, terms.rows[COUNTS], peak, i, z[0, i]))
        z[0, i] *= weight
        weight *= p.dtype.type(inverse)
        for a in range(p.shape[0]):
            p[a, i] *= weight


@piece
def _attend(sums, part, terms, work, h):
    """(E4) of head h: page P the pull, line Z the mass."""
    numbers, x, u, p = terms.numbers, work.tokens[X], work.tokens[U], work.tokens[P]
    z, top, near = work.line[Z], work.line[TOP], work.near
    n, d, columns = numbers.n, x.shape[0], x.shape[1]
    inverse = 1.0
    if numbers.near:
        inverse = 1.0 / numbers.scale
        scale, far = x.dtype.type(numbers.scale), x.dtype.type(FAR + 2.0 * numbers.scale)
        for a in range(d):
            for i in range(columns):
                near[a, i] = scale * x[a, i] if i < n else far
        level = np.float64(terms.heads[FORM, h, 0, 0])
        sums(part, near, near, terms.rows, terms.frozen, level, False, n, p, z, top, work.share, work.tile, work.desk)
    else:
        if numbers.scalar_form:
            c = work.form[h, 0, 0]
            for a in range(d):
                for i in range(columns):
                    u[a, i] = c * x[a, i]
        else:
            np.dot(work.form[h].T, x, u)
        hard = numbers.hard != 0
        # No bias in the products: there -1 asks for differences to the leader where logits are too large to subtract.
        slope = -1.0 if numbers.apart else terms.slopes[h]
        sums(part, x, u, terms.rows, terms.frozen, slope, hard, n, p, z, top, work.share, work.tile, work.desk)
    _weigh_all(terms, work, h, inverse)


@piece
def _apply(scalar, matrix, source, spare, target):
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


@piece
def _heads(sums, part, terms, work):
    """Page ALONG: sum_h V_h p_h + (V_h - c_h I) m_h x, with the same tangent part as page DRIVE, (E5) without F."""
    x, p, spare, mx, z = work.tokens[X], work.tokens[P], work.tokens[SPARE], work.tokens[MX], work.line[Z]
    along, lesser, drive = work.tokens[ALONG], work.tokens[LESSER], work.tokens[DRIVE]
    scalar = terms.numbers.scalar_value != 0
    for a in range(x.shape[0]):
        for i in range(x.shape[1]):
            along[a, i] = lesser[a, i] = drive[a, i] = 0.0
    for h in range(terms.heads.shape[1]):
        _attend(sums, part, terms, work, h)
        _apply(scalar, terms.heads[VALUE, h], p, spare, along)
        for a in range(x.shape[0]):
            for i in range(x.shape[1]):
                mx[a, i] = z[0, i] * x[a, i]
        _apply(scalar, terms.heads[VALUE, h], mx, spare, drive)
        _apply(scalar, terms.heads[LESS, h], mx, spare, lesser)
    for a in range(x.shape[0]):
        for i in range(x.shape[1]):
            drive[a, i] += along[a, i]
            along[a, i] += lesser[a, i]


@piece
def _rescaled_heads(sums, part, terms, work):
    """Page DRIVE: sum_h V_h p_h of (E8)."""
    x, u, p, drive = work.tokens[X], work.tokens[U], work.tokens[P], work.tokens[DRIVE]
    numbers, z, top = terms.numbers, work.line[Z], work.line[TOP]
    for a in range(x.shape[0]):
        for i in range(x.shape[1]):
            drive[a, i] = 0.0
    for h in range(terms.heads.shape[1]):
        queries(work, h)
        hard, slope = numbers.hard != 0, -1.0 if numbers.apart else terms.slopes[h]
        sums(part, x, u, terms.rows, terms.frozen, slope, hard, numbers.n, p, z, top, work.share, work.tile, work.desk)
        _weigh_all(terms, work, h, 1.0)
        _apply(numbers.scalar_value != 0, terms.heads[VALUE, h], p, work.tokens[SPARE], drive)


@piece
def _feedforward(terms, work, source, target):
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


@piece
def _take(terms, work, y):
    """Page X: the tokens of a state, on the sphere where they belong there, padded with the first one.

    The field is thereby extended to x off the sphere as f(x/|x|), so that every stage of a scheme is evaluated on it.
    """
    x, top, n = work.tokens[X], work.line[TOP], terms.numbers.n
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
def full_velocity(sums, part, terms, work, y, t, kind, out):
    """(E6), (E7), (E10) at the state y (d or d + 1 rows: the tokens, and r where it moves), every option."""
    numbers, spare, along, drive = terms.numbers, work.tokens[SPARE], work.tokens[ALONG], work.tokens[DRIVE]
    _take(terms, work, y)
    _heads(sums, part, terms, work)
    if numbers.activation:
        _feedforward(terms, work, work.tokens[X], spare)
        for a in range(drive.shape[0]):
            for i in range(numbers.n):
                drive[a, i] += spare[a, i]
                along[a, i] += spare[a, i]
    if numbers.space == SPHERE:
        _sphere(terms, work, y, t, kind, out)
    else:
        _copy(drive, numbers.n, out)


@kernel
def rescaled_velocity(sums, part, terms, work, y, t, kind, out):
    """(E8)."""
    drive, spare = work.tokens[DRIVE], work.tokens[SPARE]
    _take(terms, work, y)
    set_flow(terms, work, exponential(t, terms.flow), terms.numbers.mu * t)
    _rescaled_heads(sums, part, terms, work)
    if terms.numbers.activation:
        _feedforward(terms, work, drive, spare)
    _copy(spare if terms.numbers.activation else drive, terms.numbers.n, out)


@piece
def _copy(source, n, target):
    for a in range(source.shape[0]):
        for i in range(n):
            target[a, i] = source[a, i]


@piece
def _overlaps(a, b, target):
    """target[0, i] = <a_i, b_i>."""
    for i in range(a.shape[1]):
        target[0, i] = 0.0
    for k in range(a.shape[0]):
        for i in range(a.shape[1]):
            target[0, i] += a[k, i] * b[k, i]


@piece
def _length(square):
    """model._length: the root, with 1 for 0."""
    return np.sqrt(np.float64(square)) if square > 0 else 1.0


@piece
def _sphere(terms, work, y, t, kind, out):
    """(E6) x' = P_x D / s, with s and r' of (E10)."""
    x, along, drive, z, top = work.tokens[X], work.tokens[ALONG], work.tokens[DRIVE], work.line[Z], work.line[TOP]
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
def layer(sums, part, terms, work, y, t, dt, kind):
    """(E12): y becomes the state after one layer."""
    _take(terms, work, y)
    _heads(sums, part, terms, work)
    _sublayer(terms, work, y, t, dt, kind)
    if terms.numbers.activation:
        _take(terms, work, y)
        _feedforward(terms, work, work.tokens[X], work.tokens[DRIVE])
        _sublayer(terms, work, y, t, dt, kind)


@kernel
def rescaled_layer(sums, part, terms, work, y, t, dt, kind):
    """(E13): the same for z = R^-k x; the values of `terms` are R^-1 V."""
    numbers, drive, spare = terms.numbers, work.tokens[DRIVE], work.tokens[SPARE]
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
    _take(terms, work, y)
    set_flow(terms, work, power, k * np.log(numbers.rho))
    _rescaled_heads(sums, part, terms, work)
    update = drive
    if numbers.activation:
        _feedforward(terms, work, drive, spare)
        update = spare
    for a in range(d):
        for i in range(numbers.n):
            y[a, i] += dt * update[a, i]


@piece
def _sublayer(terms, work, y, t, dt, kind):
    """model.sublayer with the update in page DRIVE."""
    x, drive, z = work.tokens[X], work.tokens[DRIVE], work.line[Z]
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
