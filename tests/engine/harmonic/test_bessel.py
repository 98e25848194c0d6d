"""Modified Bessel functions against mpmath's fifty digits, and against the sums that they must have."""

import mpmath
import numpy as np
import pytest

from tokenflock.engine.harmonic.bessel import circular, spherical

SHARPNESS = [1e-30, 1e-3, 0.5, 9.0, 64.0, 1e3, 1e6]
EPS = np.finfo(float).eps


@pytest.mark.parametrize("b", SHARPNESS)
def test_every_order_against_mpmath(b):
    orders = sorted({0, 1, 5, int(np.sqrt(b)), int(5 * np.sqrt(b)) + 2})
    count = orders[-1] + 1
    with mpmath.workdps(50):
        exact = mpmath.exp(-mpmath.mpf(b))
        half = mpmath.sqrt(mpmath.pi / (2 * mpmath.mpf(b)))
        for m in orders:
            for ours, true in (
                (circular(count, b)[m], exact * mpmath.besseli(m, b)),
                (spherical(count, b)[m], exact * half * mpmath.besseli(m + mpmath.mpf(1) / 2, b)),
            ):
                if true > 1e-300:  # below it nothing is kept
                    assert abs(float(ours / true - 1)) < 4 * EPS * np.sqrt(
                        m + np.sqrt(b) + 4
                    )  # a rounding for each order


@pytest.mark.parametrize("b", SHARPNESS[1:])
def test_the_waves_of_equal_tokens_add_up_to_one(b):
    count = int(12 * np.sqrt(b)) + 40
    e, i = circular(count, b), spherical(count, b)
    assert 2 * e.sum() - e[0] == pytest.approx(1, abs=1e-12)
    assert ((2 * np.arange(count) + 1) * i).sum() == pytest.approx(1, abs=1e-12)


def test_more_orders_do_not_change_the_first():
    np.testing.assert_allclose(circular(10, 64.0), circular(200, 64.0)[:10], rtol=2 * EPS)
    np.testing.assert_allclose(spherical(10, 64.0), spherical(200, 64.0)[:10], rtol=2 * EPS)
