"""A run gives answers with its axes, an array gives arrays, and axes in another order are refused by name."""

import numpy as np
import pytest
import xarray as xr

import tokenflock as flock
from tokenflock.analysis import attention, clusters, energy, metastability, persistence, renyi, tokens
from tokenflock.errors import SpecError
from tokenflock.transformer import behaviour

START = np.stack([flock.uniform(6, 2, seed=s) for s in range(3)])
MODEL = flock.Model(dim=2, beta=9.0)
RUN = flock.simulate(MODEL, START, 2.0, times=[0.0, 1.0, 2.0], engine="reference")
LEAD = ("run", "time")
MEASURES = {
    "label": (lambda x: clusters.label(x, 0.1), (*LEAD, "token")),
    "count": (lambda x: clusters.count(x, 0.1), LEAD),
    "sizes": (lambda x: clusters.sizes(x, 0.1), LEAD),
    "track": (lambda x: clusters.track(x, 0.1), (*LEAD, "token")),
    "energy": (lambda x: energy.energy(x, 9.0), LEAD),
    "scaled_energy": (lambda x: energy.scaled_energy(x, 9.0), LEAD),
    "centers": (lambda x: renyi.centers(x, 0.3), LEAD),
    "consumed": (lambda x: renyi.consumed(x, [0], 0.3), (*LEAD, "token")),
    "barcode": (persistence.barcode, (*LEAD, "bar")),
    "counts": (lambda x: persistence.counts(x, [0.1, 0.2]), (*LEAD, "radius")),
    "matrix": (lambda x: attention.matrix(MODEL, x), (*LEAD, "token", "seen")),
    "overlaps": (behaviour.overlaps, (*LEAD, "pair")),
    "effective_rank": (behaviour.effective_rank, LEAD),
    "inside": (lambda x: behaviour.inside(x, np.eye(2)[:, :1]), (*LEAD, "token")),
    "together": (lambda x: behaviour.together(x, 0.9), LEAD),
}
each = pytest.mark.parametrize(("measure", "dims"), MEASURES.values(), ids=MEASURES.keys())


@each
def test_a_run_gives_its_axes_and_an_array_numbers(measure, dims):
    found, plain = measure(RUN), measure(RUN["x"].values)
    assert isinstance(found, xr.DataArray)
    assert found.dims == dims
    assert isinstance(plain, np.ndarray)
    assert all(np.array_equal(a, b) for a, b in zip(np.ravel(found.values), np.ravel(plain), strict=True))
    assert found.sel(time=1.0).dims == tuple(dim for dim in dims if dim != "time")
    assert isinstance(measure(RUN["x"]), xr.DataArray)


@each
def test_axes_in_another_order_are_refused_by_name(measure, dims):
    turned = RUN.transpose("run", "token", "time", "axis")
    with pytest.raises(SpecError, match=r"x.dims = \('run', 'token', 'time', 'axis'\).*transpose\('run', 'time', 'tok"):
        measure(turned)


def test_one_moment_of_one_run_is_a_number_or_an_array():
    still = RUN.isel(run=0, time=-1)
    assert isinstance(clusters.count(still, 0.1), int)
    assert isinstance(energy.scaled_energy(still, 9.0), float)
    assert isinstance(renyi.centers(still, 0.3), np.ndarray)
    assert clusters.label(still, 0.1).dims == ("token",)


def test_what_takes_the_answers_of_a_run_takes_them_with_their_axes():
    one, plain = RUN.isel(run=0), RUN.isel(run=0)["x"].values
    times, number, group = one["time"], clusters.count(one, 0.1), clusters.label(one, 0.1)
    assert metastability.plateaus(times, number) == metastability.plateaus(times.values, number.values)
    assert np.array_equal(metastability.merge_times(times, group), metastability.merge_times(one, radius=0.1))
    assert np.array_equal(clusters.follow(group), clusters.track(plain, 0.1))
    P = attention.matrix(None, one)
    assert np.array_equal(attention.entropy(P), attention.entropy(P.values))
    assert attention.rank(P[0]) == attention.rank(P.values[0])
    found = renyi.consumed(RUN, renyi.centers(RUN, 0.3), 0.3)
    assert np.array_equal(found, renyi.consumed(RUN["x"].values, renyi.centers(RUN["x"].values, 0.3), 0.3))
    for x in (one, one["x"]):
        assert np.array_equal(behaviour.histogram(x)[0], behaviour.histogram(plain)[0])


def test_attention_along_a_run_has_its_axes():
    one = RUN.isel(run=0)
    assert attention.along(None, one, attention.entropy).dims == ("time", "measure_0")
    assert attention.along(None, one, lambda P: P.max()).dims == ("time",)
    heads = flock.Model(dim=2, value=np.stack([np.eye(2)] * 2))
    assert attention.matrix(None, flock.simulate(heads, START[0], 1.0, engine="reference")).dims == (
        "time",
        "head",
        "token",
        "seen",
    )


def test_a_coordinate_that_is_gone_is_said():
    with pytest.raises(SpecError, match="has lost its axis"):
        tokens(RUN.isel(token=0))
    with pytest.raises(SpecError, match=r"x.dims = \('time', 'run', 'token', 'axis'\)"):
        tokens(RUN.transpose("time", "run", "token", "axis"))
    one = RUN.isel(run=0)
    with pytest.raises(SpecError, match=r"x.dims"):
        metastability.plateaus(one.transpose("token", "time", "axis"), radius=0.1)


def test_an_array_with_names_of_its_own_is_an_array():
    foreign = xr.DataArray(START, dims=("case", "particle", "place"))
    assert isinstance(clusters.count(foreign, 0.1), np.ndarray)


def test_geometry_takes_the_tokens_of_a_run_and_says_what_it_does_not_take():
    x = RUN["x"]
    assert np.array_equal(flock.geometry.distance(x[0, 1], x[0, 2]), flock.geometry.distance(*x.values[0, 1:]))
    assert np.array_equal(flock.geometry.retract(x), flock.geometry.retract(x.values))
    for other in (abs, RUN):
        with pytest.raises(SpecError, match=r"^x = .* cannot be used. Allowed: real numbers"):
            flock.geometry.retract(other)
