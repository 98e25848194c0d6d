"""A team of threads shares out the rows of one run: whoever computes them, the bits are those of one thread."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tokenflock as flock
from tokenflock.engine.choose import engine_named
from tokenflock.engine.contract import Task
from tokenflock.engine.explicit.stepper import by_pairs
from tokenflock.engine.explicit.team import CLOSED, NEXT
from tokenflock.schemes import TSIT5

MODELS = {
    "near2": flock.Model(dim=2, beta=9.0),
    "near3": flock.Model(dim=3, beta=9.0),
    "mutual": flock.Model(dim=3, beta=9.0, mask="full"),
    "general2": flock.Model(dim=2, query=[[1.0, 0.5], [0.0, 1.0]]),
    "general": flock.Model(dim=5),
    "rare": flock.Model(dim=3, bias=flock.Alibi(0.1), mask="full"),
    "products": flock.Model(dim=20),
    "mutual_products": flock.Model(dim=20, mask="full"),
}


def run(model: flock.Model, x: np.ndarray, wide: bool, t_end: float = 0.3) -> np.ndarray:
    times = np.linspace(0.0, t_end, 4)
    frames = np.full((4, *x.shape), np.nan)
    stepper = engine_named("cpu").begin(Task(model, t_end, TSIT5, None, 1e-6, 1e-9, "float64", 0), x, wide=wide)
    assert stepper.advance(times, frames, 10**9) == 4
    return frames


@pytest.mark.parametrize("n_tokens", [7, 130, 401])
@pytest.mark.parametrize("name", MODELS)
def test_a_team_gives_the_bits_of_one_thread(name, n_tokens, monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_THREADS", "3")
    model = MODELS[name]
    x = flock.uniform(n_tokens=n_tokens, dim=model.dim, seed=1)
    assert_array_equal(run(model, x, wide=True), run(model, x, wide=False))


@pytest.mark.parametrize(("name", "n_tokens", "runs"), [("near2", 200, 1_500), ("mutual_products", 900, 300)])
def test_no_part_is_handed_out_twice_or_never(monkeypatch, name, n_tokens, runs):
    """A helper that looked at the queue before the first call used to take a part too early, in 1 of 1,500 runs.

    mutual_products has 8, 4 and 8 parts in turn: nobody may take one while their number changes.
    """
    monkeypatch.setenv("TOKENFLOCK_THREADS", "2")
    model = MODELS[name]
    x = flock.uniform(n_tokens=n_tokens, dim=model.dim, seed=0)
    expected = run(model, x, wide=False, t_end=0.05)
    for _ in range(runs):
        assert_array_equal(run(model, x, wide=True, t_end=0.05), expected)


def test_an_empty_queue_has_nothing_to_take():
    queue = by_pairs(flock.Model(dim=2), 5, "float64").field.work.pairs.queue
    assert queue[NEXT] > 1_000_000
    assert queue[CLOSED] == 0
