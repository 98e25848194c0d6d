"""What turns z into x in rescaled space (E8), (E13), in compiled form: exp(tV) or R^k, and the queries u = B' x."""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiled.declare import inline
from tokenflock.engine.explicit.work import FORM, SPARE, U, X
from tokenflock.model import LARGEST_EXPONENT

LARGEST_EXPONENT_32 = 80.0  # the same for float32, which ends at e^88


@inline(allocates=True)
def exponential(t, matrix, out):
    """out = exp(t matrix): Taylor to degree 16 of t matrix / 2^s, |.| <= 1/2, then s squarings."""
    d, norm = matrix.shape[0], 0.0
    for a in range(d):
        size = 0.0
        for b in range(d):
            size += abs(t * matrix[a, b])
        norm = max(norm, size)
    squarings = max(0, int(np.ceil(np.log2(max(norm, 1e-300)))) + 1)
    pages = np.empty((4, d, d))
    small, power, result, product = pages[0], pages[1], pages[2], pages[3]
    for a in range(d):
        for b in range(d):
            small[a, b] = t * matrix[a, b] * 0.5**squarings
            power[a, b] = result[a, b] = 1.0 if a == b else 0.0
    for k in range(1, 17):
        np.dot(power, small, product)
        for a in range(d):
            for b in range(d):
                power[a, b] = product[a, b] / k
                result[a, b] += power[a, b]
    for _ in range(squarings):
        np.dot(result, result, product)
        result, product = product, result
    for a in range(d):
        for b in range(d):
            out[a, b] = result[a, b]


@inline(allocates=True)
def set_flow(terms, work, flow, log):
    """exp(tV) or R^k of this evaluation, as exp(log) flow: see model.Rescaling."""
    d = flow.shape[0]
    for a in range(d):
        for b in range(d):
            work.flow[a, b] = flow[a, b]
    for h in range(work.form.shape[0]):
        turned = np.dot(terms.heads[FORM, h].astype(np.float64), flow)
        for a in range(d):
            for b in range(d):
                work.form[h, a, b] = turned[a, b]
    call = work.pairs.call
    call.log, call.undecided = 2.0 * log, 0.0


@inline
def _reach(u, x):
    """A bound of |<u_i, x_j>|, at least 1."""
    bound = 0.0
    for a in range(x.shape[0]):
        most, far = 0.0, 0.0
        for i in range(x.shape[1]):
            most, far = max(most, abs(np.float64(u[a, i]))), max(far, abs(np.float64(x[a, i])))
        bound += most * far
    return max(bound, 1.0)


@inline(allocates=True)
def queries(work, h):
    """Page U: model.queries of head h in rescaled space."""
    x, u, ahead = work.tokens[X], work.tokens[U], work.tokens[SPARE]
    d, size, log = x.shape[0], work.pairs.z, work.pairs.call.log
    np.dot(work.flow, x, ahead)
    for i in range(x.shape[1]):
        size[0, i] = 0.0
        for a in range(d):
            size[0, i] = max(size[0, i], abs(ahead[a, i]))
        if size[0, i] == 0.0:
            size[0, i] = 1.0
        for a in range(d):
            ahead[a, i] /= size[0, i]
    np.dot(work.form[h].T, ahead, u)
    most = LARGEST_EXPONENT if x.itemsize == 8 else LARGEST_EXPONENT_32
    most -= np.log(_reach(u, x))
    for i in range(x.shape[1]):
        scale = np.exp(min(log + np.log(np.float64(size[0, i])), most))
        for a in range(d):
            u[a, i] *= x.dtype.type(scale)
