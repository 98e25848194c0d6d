"""The controller of step sizes, and the loop of adaptive steps in Python that arrays and tensors share."""

import math

import numpy as np
import pytest

import tokenflock as flock
from tokenflock.errors import EngineError
from tokenflock.model import velocity
from tokenflock.request import Request
from tokenflock.schemes import GROW, SAFETY, SHRINK, TSIT5, first_step, growth, shrinkage
from tokenflock.stepping import Pace

TABLE = [  # error, error before, factor of the next step, with all constants written out
    (1.0, 1.0, 0.9),
    (0.5, 1.0, 0.9 * 2 ** (0.7 / 5)),
    (0.5, 0.5, 0.9 * 2 ** (0.3 / 5)),
    (1e-3, 1e-3, 0.9 * 1000 ** (0.3 / 5)),
    (1e-9, 1.0, 5.0),
    (0.0, 1e-10, 0.9 * 1e10 ** (0.3 / 5)),
    (1.0, 0.0, 0.2),
]


@pytest.mark.parametrize(("error", "before", "factor"), TABLE)
def test_a_step_grows_as_the_table_says(error, before, factor):
    assert growth(error, before, 5) == pytest.approx(factor, rel=1e-14)


@pytest.mark.parametrize(
    ("error", "factor"), [(2.0, 0.9 * 2**-0.2), (32.0, 0.45), (1e9, 0.2), (math.inf, 0.2), (math.nan, 0.2)]
)
def test_a_rejected_step_shrinks_as_the_table_says(error, factor):
    assert shrinkage(error, 5) == pytest.approx(factor, rel=1e-14)
    assert (SAFETY, SHRINK, GROW) == (0.9, 0.2, 5.0)


def test_the_first_step_is_bounded_by_all_that_is_known():
    assert first_step(1e-3, 1.0, 1.0, 5, 10.0) == pytest.approx(0.1)
    assert first_step(1.0, 100.0, 1.0, 5, 10.0) == pytest.approx(1e-4**0.2)
    assert first_step(1.0, 1e-9, 1e-9, 5, 0.25) == 0.25


def combined(y, stages, weights):
    return y + sum(float(w) * k for w, k in zip(weights, stages, strict=False))


def steps_of(kind, model, x, t_end, rtol=1e-6, atol=1e-9):
    """The accepted steps of numpy arrays, or of torch tensors."""
    to, back = (np.asarray, np.asarray) if kind == "numpy" else (pytest.importorskip("torch").as_tensor, np.asarray)

    def settle(y):
        return to(flock.geometry.retract(back(y)))

    def size(e, y):
        return float((np.linalg.norm(back(e), axis=-1) / (atol + rtol * np.linalg.norm(back(y), axis=-1))).max())

    pace = Pace(size, settle, combined)
    return list(pace.march(lambda y, t: to(velocity(model, back(settle(y)))), to(x), 0.0, t_end))


def test_arrays_and_tensors_take_the_same_steps():
    model, x = flock.Model(dim=2, beta=4.0), flock.uniform(8, 2, seed=1)
    ours, theirs = (steps_of(kind, model, x, 3.0) for kind in ("numpy", "torch"))
    assert [(s.t, s.h) for s in ours] == [(s.t, s.h) for s in theirs]
    np.testing.assert_array_equal(ours[-1].y, np.asarray(theirs[-1].y))


def test_the_steps_are_those_of_the_reference_engine():
    model, x = flock.Model(dim=2, beta=4.0), flock.uniform(8, 2, seed=1)
    found = steps_of("numpy", model, x, 3.0)
    job = Request(model, 3.0, scheme="tsit5", engine="reference").starting(x)
    assert abs(job.run().records[0].steps - len(found)) <= 2, "they differ in how they come to the end only"
    stepper, sizes, frames = job.begin(), [], np.empty((1, *x.shape))
    for _ in range(3):
        before = stepper.t
        stepper.advance(np.array([3.0]), frames, 1)
        sizes.append(stepper.t - before)
    np.testing.assert_allclose(
        [s.h for s in found[:2]], sizes[1:], rtol=1e-6
    )  # the first call only finds the first step


@pytest.mark.parametrize("engine", ["cpu", "gpu"])
def test_every_loop_has_the_controller_of_the_reference(engine):
    """Counts are equal on a run with rejected steps; tests/engine/test_contract.py does it for every model."""
    if engine == "gpu":
        pytest.importorskip("torch")
    model, x = flock.Model(dim=2, beta=100.0, mask="full"), flock.uniform(12, 2, seed=5)
    counts = []
    for name in ("reference", engine):
        record = Request(model, 50.0, scheme="tsit5", rtol=1e-3, engine=name).starting(x).run().records[0]
        counts.append((record.steps, record.rejected, record.evaluations))
    assert counts[0] == counts[1]
    assert counts[0][1] > 0


def test_steps_that_cannot_be_taken_say_so():
    def escape(y, t):
        return y * y

    pace = Pace(lambda e, y: float(np.abs(e).max() / 1e-9), lambda y: y, combined)
    with pytest.raises(EngineError, match="Reached t = "):
        list(pace.march(escape, np.array([1.0]), 0.0, 2.0))


def test_an_end_that_no_number_of_steps_reaches_is_told_early():
    model = flock.Model(dim=2, space="euclidean", value=flock.weights.rotation(2, 1))
    with pytest.raises(EngineError, match=r"300 explicit steps reached t = \d+\.\d+ only. Take a shorter run"):
        steps_of("numpy", model, flock.cube(2, 2), 1e300)


def test_the_error_of_the_steps_has_the_order_of_the_scheme():
    ends = []
    for tolerance in (1e-5, 1e-8):
        pace = Pace(lambda e, y, tol=tolerance: float(np.abs(e).max() / tol), lambda y: y, combined)
        *_, last = pace.march(lambda y, t: -y, np.array([1.0]), 0.0, 1.0)
        ends.append(abs(float(last.y[0]) - math.exp(-1.0)))
    assert ends[1] < 1e-2 * ends[0]
    assert TSIT5.order == 5
