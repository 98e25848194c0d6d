"""What is prepared for a model: found out once, never stale, never shared scratch, and gone with the model."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tokenflock as flock
from models import every_model_option, tokens_for
from tokenflock.engine.explicit.stepper import by_pairs, layout
from tokenflock.errors import SpecError
from tokenflock.preparation import MODELS, MOST_BYTES, SETTINGS, prepared
from tokenflock.request import Request, engine_of

START = flock.uniform(12, 2, seed=0)


@dataclass(frozen=True)
class Asked:
    """A model with settings."""

    model: flock.Model
    settings: tuple[Any, ...]


def counted():
    """A prepared function, and the settings for which it was asked."""
    seen = []

    @prepared
    def told(given, *settings):
        seen.append(settings)
        return (*settings, len(seen))

    return told, seen


def test_a_second_call_looks_the_answer_up():
    told, seen = counted()
    one, other = flock.Model(dim=2), flock.Model(dim=2)
    assert told(one, 1.0, "a") is told(one, 1.0, "a")
    assert told(other, 1.0, "a") is not told(one, 1.0, "a")
    assert told(one, 1.0, "b") == (1.0, "b", 3)
    assert len(seen) == 3


def test_numbers_of_other_types_are_other_settings():
    told, seen = counted()
    model = flock.Model(dim=2)
    for given in (1, True, 1.0, np.float64(1.0), np.int64(1)):
        told(model, given)
        told(Asked(model, (given,)))
    assert [type(given) for (given,) in seen] == [int, bool, float, np.float64, np.int64]


def test_a_request_is_looked_up_by_its_settings():
    told, seen = counted()
    model = flock.Model(dim=2)
    assert told(Asked(model, (1, "a")), 5) is told(Asked(model, (1, "a")), 5)
    assert told(Asked(model, (1, "b")), 5) is not told(Asked(model, (1, "a")), 5)
    assert len(seen) == 2


def test_what_may_change_under_its_name_is_found_out_anew():
    told, seen = counted()
    model, times = flock.Model(dim=2), np.array([0.0, 1.0])
    told(model, times)
    told(model, times)
    assert len(seen) == 2
    first = flock.simulate(model, START, 1.0, times=times)
    times[1] = 0.5
    second = flock.simulate(model, START, 1.0, times=times)
    assert (first.time.values[-1], second.time.values[-1]) == (1.0, 0.5)


def test_there_are_never_many_answers_and_they_go_with_their_model():
    told, seen = counted()
    held = [flock.Model(dim=2) for _ in range(2 * MODELS)]
    for model in held:
        told(model)
    assert told(held[-1])[-1] == 2 * MODELS  # the latest are there
    told(held[0])
    assert len(seen) == 2 * MODELS + 1  # the first one was not
    for k in range(2 * SETTINGS):
        told(held[0], k)
    told(held[0], 0)
    assert len(seen) == 2 * MODELS + 1 + 2 * SETTINGS + 1
    kept = told.__closure__[[*told.__code__.co_freevars].index("kept")].cell_contents
    assert len(kept) <= MODELS
    del model
    held.clear()
    gc.collect()
    assert len(kept) == 0


def test_large_answers_are_not_kept():
    made = []

    @prepared
    def arrays(model, size):
        made.append(size)
        return (np.zeros(size, dtype=np.uint8),)

    model = flock.Model(dim=2)
    for size in (MOST_BYTES, MOST_BYTES, MOST_BYTES + 1, MOST_BYTES + 1):
        arrays(model, size)
    assert made == [MOST_BYTES, MOST_BYTES + 1, MOST_BYTES + 1]


def test_a_model_that_was_run_goes_when_nobody_holds_it():
    for options in ({}, {"engine": "harmonic"}, {"scheme": "layers", "dt": 0.5}, {"times": np.array([1.0])}):
        model = flock.Model(dim=2, beta=4.0)
        flock.simulate(model, START, 1.0, **options)
        gone = weakref.ref(model)
        del model
        gc.collect()
        assert gone() is None, options


def test_what_is_refused_is_refused_again_and_after_its_like():
    model = flock.Model(dim=2)
    flock.simulate(model, START, 1.0, seed=1)
    for _ in range(2):
        with pytest.raises(SpecError, match="seed = True cannot be used"):
            flock.simulate(model, START, 1.0, seed=True)


@pytest.mark.parametrize("values", [np.full((12, 2), np.nan), np.ones((12, 2)), np.ones((12, 3)), "x"])
def test_every_start_is_checked(values):
    model = flock.Model(dim=2)
    flock.simulate(model, START, 1.0)
    with pytest.raises(SpecError, match="start"):
        flock.simulate(model, values, 1.0)


def test_models_do_not_change():
    for name, model in every_model_option(7):
        flock.velocity(model, tokens_for(model, 7))  # what is found out on the way stays with the model too
        for part in (model, model.feedforward, model.frozen):
            arrays = [] if part is None else [a for a in vars(part).values() if isinstance(a, np.ndarray)]
            assert not any(array.flags.writeable for array in arrays), name


def test_runs_share_what_they_read_and_nothing_that_they_write():
    model = flock.Model(dim=2, beta=4.0)
    one, other = (by_pairs(model, 12, "float64").field for _ in range(2))
    assert one.terms is other.terms is layout(model, 12, "float64", None).terms
    for mine, its in zip(_arrays(one.work), _arrays(other.work), strict=True):
        read = any(np.shares_memory(mine, term) for term in _arrays(one.terms))
        assert read or not np.shares_memory(mine, its)


def _arrays(record):
    for value in record:
        if isinstance(value, tuple):
            yield from _arrays(value)
        elif isinstance(value, np.ndarray | np.void):
            yield np.asarray(value)


def test_runs_at_a_time_have_the_bits_of_runs_one_by_one():
    model = flock.Model(dim=3, beta=4.0)
    starts = flock.uniform(10, 3, seed=1, runs=24)
    alone = [flock.simulate(flock.Model(dim=3, beta=4.0), x, 2.0)["x"].values for x in starts]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda x: flock.simulate(model, x, 2.0)["x"].values, starts))
    assert_array_equal(together, alone)


def test_a_run_does_not_change_the_next_one():
    model = flock.Model(dim=2, beta=4.0, value=np.diag([1.0, 2.0]))
    first = flock.simulate(model, START, 1.0)
    told, x = dict(first.attrs), first["x"].values.copy()
    first["x"].values[:] = 7.0
    first["model_value"].values[:] = 7.0
    first["start"].values[:] = 7.0
    first["x"].attrs["note"] = first.time.attrs["note"] = first.attrs["scheme"] = "changed"
    second = flock.simulate(model, START, 1.0)
    assert_array_equal(second["x"].values, x)
    assert_array_equal(second["model_value"].values, np.diag([1.0, 2.0]))
    assert {**second.attrs, "wall_s": 0} == {**told, "wall_s": 0}
    assert second["x"].attrs == second.time.attrs == {}
    with pytest.raises(ValueError, match="read-only"):
        first.time.values[0] = 1.0


def test_a_changed_environment_is_heard(monkeypatch):
    request = Request(flock.Model(dim=3, beta=9.0), 5.0)
    asked = []
    monkeypatch.setattr("tokenflock.request.choose", lambda *given: asked.append(given) or request_engine())
    for name, given in (("TOKENFLOCK_THREADS", "1"), ("TOKENFLOCK_THREADS", "3"), ("TOKENFLOCK_DEVICE", "cpu")):
        monkeypatch.setenv(name, given)
        request.engine_for(100)
        request.engine_for(100)
    assert len(asked) == 3  # once for each
    assert engine_of.__wrapped__(request, 100, 1, None) is request_engine()


def request_engine():
    """Any engine."""
    from tokenflock.engine.choose import engine_named

    return engine_named("cpu")
