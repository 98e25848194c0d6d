"""Renyi's parking: both forms of the law, and what they come to for few and for many cars."""

import numpy as np
import pytest

from tokenflock import parking


def test_both_forms_of_the_count_of_centers_agree_where_both_hold():
    """The sum over the first tries, and its expansion: they differ by the next order, 1/L^2."""
    for street, n in ((30.0, 60), (60.0, 60), (100.0, 100)):
        summed, worst = parking.summed(np.array(street), n)
        assert worst < 1e6
        assert float(summed) == pytest.approx(float(parking.expanded(np.array(street), n)), abs=1.0 / street**2)


def test_one_car_always_parks_and_many_fill_the_share_of_renyi():
    assert parking.car_count(np.array(100.0), 1) == 1.0
    assert float(parking.car_count(np.array(1e4), 10**8)) == pytest.approx(1e4 * parking.PARKING, rel=1e-3)
