"""Full attention in many dimensions, where half of the weights serve all pairs: strips, panels and ragged ends."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tokenflock as flock
from tokenflock.engine.choose import engine_named
from tokenflock.engine.explicit import mutual_products
from tokenflock.engine.explicit.mutual_products import PANEL, TALL
from tokenflock.engine.explicit.terms import kernel_for
from tokenflock.model import velocity
from tolerances import close

SIZES = [1, 2, TALL - 1, TALL, TALL + 1, 5 * TALL + 7, TALL + PANEL, TALL + PANEL + 9]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", SIZES)
def test_velocities_are_those_of_the_model(n, dtype):
    model = flock.Model(dim=17, beta=4.0, mask="full", value=-2.0 * np.eye(17))
    assert kernel_for(model) == "mutual_products"
    x = flock.uniform(n, 17, seed=n).astype(dtype).astype(float)
    found = engine_named("cpu").velocity(model, x, dtype=dtype)
    assert_allclose(found, velocity(model, x), **close(dtype, n, 8.0))


@pytest.mark.parametrize("normaliser", ["count", "scaled-count"])
def test_every_normaliser_has_them(normaliser):
    model = flock.Model(dim=20, beta=2.0, mask="full", normaliser=normaliser)
    x = flock.uniform(300, 20)
    assert kernel_for(model) == "mutual_products"
    assert_allclose(
        engine_named("cpu").velocity(model, x), velocity(model, x), **close("float64", 300, 8.0 * np.exp(2.0))
    )


def test_a_token_far_from_all_keeps_the_digits_of_its_pull():
    """Its own weight is 1, those of the others 1e-26: summed with it, they would be lost."""
    x = np.zeros((200, 20))
    x[:, 0], x[0] = -1.0, np.eye(20)[1]
    model = flock.Model(dim=20, beta=60.0, mask="full")
    found, expected = engine_named("cpu").velocity(model, x)[0], velocity(model, x)[0]
    assert 0 < np.abs(expected).max() < 1e-20
    assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize(
    "options",
    [
        {"mask": "causal"},
        {"mask": flock.Window(9, causal=False)},
        {"query": np.diag(np.arange(1.0, 21.0))},
        {"value": np.diag(np.arange(1.0, 21.0))},
        {"layer_norm": "pre"},
        {"space": "euclidean"},
    ],
    ids=lambda o: next(iter(o)),
)
def test_what_is_not_mutual_or_not_plain_goes_by_rows(options):
    assert kernel_for(flock.Model(**({"dim": 20, "mask": "full"} | options))) == "products"


def test_the_chunks_hold_every_strip_once():
    model, x = flock.Model(dim=20, beta=4.0, mask="full"), flock.uniform(6 * TALL, 20)
    whole = engine_named("cpu").velocity(model, x)
    assert_array_equal(engine_named("cpu").velocity(model, x), whole)
    assert [mutual_products.n_chunks(n) for n in (1, 1024, 2000, 4096, 10**6)] == [4, 4, 8, 16, 16]
    strips = [mutual_products.chunk_of(s, 4) for s in range(100)]
    assert strips[:8] == [0, 1, 2, 3, 3, 2, 1, 0]
    assert {strips.count(k) for k in range(4)} == {25}
