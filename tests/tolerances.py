"""Tolerances are computed from dtype and size, here and nowhere else."""

import math

import numpy as np


def close(dtype, n, amplification=1.0):
    """For assert_allclose: the rounding of an n-term sum grows like sqrt(n) eps; a test names what multiplies it."""
    eps = float(np.finfo(dtype).eps)
    return {"rtol": 8 * math.sqrt(n) * eps * amplification, "atol": 8 * eps * amplification}


def within(rtol, atol, factor):
    """For assert_allclose: a solution held to (rtol, atol), with an error of up to `factor` times the tolerance."""
    return {"rtol": factor * rtol, "atol": factor * atol}


def standard_errors(samples, count):
    """How far a mean of independent samples may be from its expectation: `count` standard errors."""
    samples = np.asarray(samples, dtype=float)
    return count * float(samples.std(ddof=1)) / math.sqrt(samples.size)
