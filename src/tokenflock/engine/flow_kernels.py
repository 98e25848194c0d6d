"""What turns z into x in rescaled space (E8), (E13), in compiled form: exp(tV) or R^k, and the queries u = B' x."""

from __future__ import annotations

import numpy as np

from tokenflock.engine.compiling import kernel
from tokenflock.engine.cpu_terms import FORM, LOG, SPARE, SPREAD, U, X, Z
from tokenflock.model import LARGEST_EXPONENT

LARGEST_EXPONENT_32 = 80.0  # the same for float32, which ends at e^88


@kernel
def exponential(matrix):
    """exp of a square matrix: Taylor to degree 16 of matrix / 2^s, |.| <= 1/2, then s squarings."""
    d = matrix.shape[0]
    norm = 0.0
    for a in range(d):
        norm = max(norm, np.abs(matrix[a]).sum())
    squarings = max(0, int(np.ceil(np.log2(max(norm, 1e-300)))) + 1)
    small = matrix * 0.5**squarings
    result, power = np.eye(d), np.eye(d)
    for k in range(1, 17):
        power = np.dot(power, small) / k
        result = result + power
    for _ in range(squarings):
        result = np.dot(result, result)
    return result


@kernel
def set_flow(terms, work, flow, log):
    """exp(tV) or R^k of this evaluation, as exp(log) flow: see model.Flow."""
    d = flow.shape[0]
    for a in range(d):
        for b in range(d):
            work.flow[a, b] = flow[a, b]
    for h in range(work.form.shape[0]):
        turned = np.dot(terms.heads[FORM, h].astype(np.float64), flow)
        for a in range(d):
            for b in range(d):
                work.form[h, a, b] = turned[a, b]
    work.late[LOG], work.late[SPREAD] = 2.0 * log, 0.0


@kernel
def _reach(u, x):
    """A bound of |<u_i, x_j>|, at least 1."""
    bound = 0.0
    for a in range(x.shape[0]):
        most, far = 0.0, 0.0
        for i in range(x.shape[1]):
            most, far = max(most, abs(np.float64(u[a, i]))), max(far, abs(np.float64(x[a, i])))
        bound += most * far
    return max(bound, 1.0)


@kernel
def queries(work, h):
    """Page U: model.queries of head h in rescaled space."""
    x, u, ahead = work.tokens[X], work.tokens[U], work.tokens[SPARE]
    d, size = x.shape[0], work.line[Z]
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
        scale = np.exp(min(work.late[LOG] + np.log(np.float64(size[0, i])), most))
        for a in range(d):
            u[a, i] *= x.dtype.type(scale)
