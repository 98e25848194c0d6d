"""Laws of kernels, normalisers and Sinkhorn (E15)-(E17), and the sentences for what they may not be."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.special import iv

import tokenflock as flock
from tokenflock.errors import EngineError, SpecError
from tokenflock.interaction import NAMED, SEEN, Kernel, Normaliser
from tokenflock.model import attention, flow_at, logits, velocity

N, D = 9, 3
X = flock.uniform(N, D, seed=4)
MASKS = ("causal", "full", flock.Window(4, causal=False))
Q, V = flock.weights.ginibre(D, 1), flock.weights.ginibre(D, 2)


def general(**options):
    return flock.Model(dim=D, **{"beta": 1.5, "query": Q, "value": V, "mask": "full"} | options)


BY_HAND = {
    "sigmoid": lambda s, r, d: 1 / (1 + math.exp(-s)),
    "relu": lambda s, r, d: max(s, 0.0),
    "power": lambda s, r, d: max(s, 0.0) ** 2,
    "softplus": lambda s, r, d: math.log(1 + math.exp(s)),
    "gaussian": lambda s, r, d: math.exp(-d * d / 2),
    "bounded": lambda s, r, d: float(d <= 0.5),
    "linear": lambda s, r, d: s,
    "cosine": lambda s, r, d: r,
    "exp": lambda s, r, d: math.exp(s),
}


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("name", NAMED)
def test_a_named_kernel_is_its_formula_token_by_token(name, mask):
    model = general(kernel=name, normaliser="none", mask=mask)
    a = attention(model, X)[0]
    s = logits(model, X, flow_at(model, 0.0))[0]
    for i in range(N):
        for j in range(N):
            weight = BY_HAND[name](s[i, j], X[i] @ X[j], np.linalg.norm(X[i] - X[j])) if np.isfinite(s[i, j]) else 0.0
            assert a[i, j] == pytest.approx(weight, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("normaliser", ["softmax", "count", "none", "l2", Normaliser("sink", logit=0.3)], ids=str)
@pytest.mark.parametrize("name", [name for name in NAMED if not NAMED[name].signed])
def test_an_own_kernel_is_the_named_one(name, normaliser):
    text = NAMED[name].expression
    for key, value in NAMED[name].numbers.items():
        text = text.replace(key, str(value))
    mine, named = (general(kernel=k, normaliser=normaliser) for k in (text, name))
    assert_allclose(attention(mine, X), attention(named, X), rtol=1e-13, atol=1e-16)


def test_normalisers_are_their_sums():
    w = attention(general(normaliser="none"), X)[0]
    shares = {n: attention(general(normaliser=n), X)[0] for n in ("softmax", "count", "l2")}
    assert_allclose(shares["softmax"], w / w.sum(axis=1, keepdims=True), rtol=1e-13)
    assert_allclose(shares["count"], w / N, rtol=1e-13)
    assert_allclose(shares["l2"], w / np.sqrt((w**2).sum(axis=1, keepdims=True)), rtol=1e-13)
    assert_allclose((shares["l2"] ** 2).sum(axis=1), 1.0)
    others = w.sum(axis=1) - np.diagonal(w)
    assert_allclose(attention(general(normaliser=Normaliser(own=False)), X)[0], w / others[:, None], rtol=1e-12)
    sunk = attention(general(normaliser=Normaliser("sink", logit=0.7)), X)[0]
    assert_allclose(sunk.sum(axis=1), w.sum(axis=1) / (w.sum(axis=1) + math.exp(0.7)), rtol=1e-13)


def test_normalisers_have_their_limits():
    softmax, lost = attention(general(), X), attention(general(normaliser=Normaliser("sink", logit=-60.0)), X)
    assert_allclose(lost, softmax, rtol=1e-13)
    count, even = general(normaliser="count"), general(normaliser="positions")
    assert_allclose(attention(even, X), attention(count, X), rtol=1e-13)
    tilted = even.with_options(bias=flock.Alibi(0.3))
    assert np.abs(attention(tilted, X) - attention(count.with_options(bias=flock.Alibi(0.3)), X)).max() > 0.01


def test_a_row_with_nobody_else_rests():
    model = flock.Model(dim=D, normaliser=Normaliser("count", own=False))
    assert_array_equal(attention(model, X)[0, 0], 0.0)
    assert_array_equal(velocity(model, X)[0], 0.0)


def test_sigmoid_with_a_large_negative_bias_is_the_unnormalised_exp():
    exact = velocity(general(normaliser="none"), X)
    gaps = []
    for bias in (-4.0, -8.0, -12.0):
        model = general(kernel=Kernel("sigmoid", bias=bias), normaliser="none")
        gaps.append(np.abs(velocity(model, X) * math.exp(-bias) - exact).max())
    assert gaps[0] / gaps[1] == pytest.approx(math.exp(4.0), rel=0.2)
    assert gaps[1] / gaps[2] == pytest.approx(math.exp(4.0), rel=0.05)


@pytest.mark.parametrize(("name", "power"), [("relu", 1.0), (Kernel("power", power=3.0), 3.0), ("linear", 1.0)])
def test_homogeneous_kernels_scale_with_beta(name, power):
    one, two = (velocity(general(kernel=name, normaliser="none", beta=beta), X) for beta in (1.0, 2.0))
    assert_allclose(two, 2**power * one, rtol=1e-12, atol=1e-14)
    if name != "linear":  # divided by their own sum, beta does not matter at all
        one, two = (velocity(general(kernel=name, beta=beta), X) for beta in (1.0, 2.0))
        assert_allclose(two, one, rtol=1e-12, atol=1e-14)


def test_fixed_points_of_relu():
    """Tokens that are orthogonal or point away from each other do not feel each other."""
    x = np.concatenate([np.eye(D), -np.eye(D)])
    assert_array_equal(velocity(flock.Model(dim=D, kernel="relu", mask="full"), x), 0.0)
    assert np.abs(velocity(flock.Model(dim=D, mask="full"), x[:4])).max() > 0.1
    start = flock.uniform(12, D, seed=2)
    run = flock.simulate(flock.Model(dim=D, kernel="relu", mask="full", normaliser="count", beta=5.0), start, 300.0)
    end = run["x"].values[-1]
    r = end @ end.T
    assert ((r < 1e-3) | (r > 1 - 1e-6)).all(), "groups that do not see each other, each in one place"


def test_bounded_confidence_is_a_mask():
    """Two groups farther apart than the radius move as if the others were not there."""
    left, right = flock.cap(5, D, 0.2, seed=1), -flock.cap(4, D, 0.2, seed=2)
    model = flock.Model(dim=D, kernel=Kernel("bounded", radius=1.0), mask="full")
    both = velocity(model, np.concatenate([left, right]))
    apart = [velocity(flock.Model(dim=D, beta=0.0, mask="full"), part) for part in (left, right)]
    assert_allclose(both, np.concatenate(apart), rtol=1e-12, atol=1e-15)
    whole = velocity(model.with_options(kernel=Kernel("bounded", radius=2.0)), X)
    assert_allclose(whole, velocity(flock.Model(dim=D, beta=0.0, mask="full"), X), rtol=1e-12, atol=1e-15)


def test_gaussian_on_the_sphere_is_exp():
    gaussian = flock.Model(dim=D, kernel=Kernel("gaussian", width=0.5), mask="full")
    assert_allclose(
        velocity(gaussian, X), velocity(flock.Model(dim=D, beta=4.0, mask="full"), X), rtol=1e-12, atol=1e-15
    )


def test_two_tokens_under_the_linear_kernel_follow_a_logistic_curve():
    """u = <x, y>^2 has u' = 4 beta u (1 - u)."""
    beta, r0 = 0.7, 0.2
    x = np.array([[1.0, 0.0], [r0, math.sqrt(1 - r0 * r0)]])
    model = flock.Model(dim=2, beta=beta, kernel="linear", normaliser="none", mask="full")
    run = flock.simulate(model, x, 3.0, rtol=1e-10, atol=1e-12)
    r = np.einsum("ta,ta->t", *(run["x"].values[:, k] for k in (0, 1)))
    c = r0 * r0 / (1 - r0 * r0) * np.exp(4 * beta * run["time"].values)
    assert_allclose(r**2, c / (1 + c), atol=1e-8)


# ---- Sinkhorn


@pytest.mark.parametrize("mask", MASKS[1:], ids=str)
def test_rows_and_columns_of_sinkhorn(mask):
    a = attention(general(normaliser="sinkhorn", mask=mask), X)[0]
    assert_allclose(a.sum(axis=0), 1.0, rtol=1e-12)
    assert_allclose(a.sum(axis=1), 1.0, rtol=1e-12)
    assert np.abs(a - a.T).max() > 0.01, "a form that is not symmetric"
    a = attention(flock.Model(dim=D, beta=2.0, normaliser="sinkhorn", mask=mask), X)[0]
    assert_allclose(a, a.T, rtol=1e-10)


def test_sinkhorn_with_masses_stands_for_that_many_tokens():
    masses = np.array([1.0, 2.0, 1.0, 3.0])
    heavy = flock.Model(dim=D, beta=2.0, mask="full", normaliser="sinkhorn", masses=masses)
    light = heavy.with_options(masses=None)
    many = np.repeat(np.arange(4), masses.astype(int))
    assert_allclose(velocity(heavy, X[:4])[many], velocity(light, X[:4][many]), rtol=1e-10, atol=1e-13)


def potential(x, beta):
    """min over f, g of sum_ij e^(s_ij + f_i + g_j) - sum (f + g): what symmetric Sinkhorn attention climbs."""
    s = beta * x @ x.T
    f = np.zeros(len(x))
    for _ in range(500):
        f = 0.5 * (f - np.log(np.exp(s + f).sum(axis=1)))
    return len(x) - 2 * f.sum()


def work_around(model, x):
    """How far the Jacobian of the velocity in R^d is from symmetric: 0 for a gradient."""
    h, size = 1e-5, x.size
    jacobian = np.empty((size, size))
    for k in range(size):
        ahead, back = x.ravel().copy(), x.ravel().copy()
        ahead[k] += h
        back[k] -= h
        jacobian[:, k] = (velocity(model, ahead.reshape(x.shape)) - velocity(model, back.reshape(x.shape))).ravel() / (
            2 * h
        )
    return np.abs(jacobian - jacobian.T).max() / np.abs(jacobian).max()


def test_symmetric_sinkhorn_is_a_gradient_flow_and_softmax_is_not():
    beta, x = 1.5, X[:5]
    flat = {"dim": D, "beta": beta, "mask": "full", "space": "euclidean"}
    model = flock.Model(normaliser="sinkhorn", **flat)
    generator = np.random.default_rng(0)
    assert work_around(model, x) < 1e-8
    assert work_around(flock.Model(**flat), x) > 1e-2
    direction, h = generator.standard_normal(x.shape), 1e-5
    slope = (potential(x + h * direction, beta) - potential(x - h * direction, beta)) / (2 * h)
    assert slope == pytest.approx(2 * beta * (velocity(model, x) * direction).sum(), rel=1e-6)
    run = flock.simulate(flock.Model(dim=D, beta=beta, mask="full", normaliser="sinkhorn"), x, 4.0)
    climbed = [potential(y, beta) for y in run["x"].values[::10]]
    assert (np.diff(climbed) > -1e-9).all()
    assert climbed[-1] > climbed[0] + 0.1


# ---- lost in the middle: each token averages those before it by e^(-slope distance), divided by the positions' own sum


def influence(y, t, slope):
    """Density of the weight that position y in (0, 1) has in the last token at time t, for n -> infinity and beta = 0.

    With kernel slope e^(-slope (x - y)) / (1 - e^(-slope x)) of two factors the powers of the operator are those of
    L(y) = log((e^slope - 1) / (e^(slope y) - 1)): sum_n t^n L^(n-1) / ((n-1)! n!) is a Bessel function.
    """
    length = np.log(np.expm1(slope) / np.expm1(slope * y))
    return slope / np.expm1(slope) * np.exp(slope * y) * np.sqrt(t / length) * iv(1, 2 * np.sqrt(t * length))


def least(t, slope):
    """Where the U has its minimum: the slope of log influence is 0."""

    def tilt(y):
        length = math.log(math.expm1(slope) / math.expm1(slope * y))
        z = 2 * math.sqrt(t * length)
        return 1 - math.exp(slope * y) / math.expm1(slope * y) * math.sqrt(t / length) * iv(2, z) / iv(1, z)

    return brentq(tilt, 1e-6, 1 - 1e-9)


@pytest.mark.parametrize(("t", "slope"), [(1.0, 2.0), (1.5, 4.0), (0.7, 6.0)])
def test_lost_in_the_middle_against_its_closed_form(t, slope):
    gaps = []
    for n in (60, 120):
        model = flock.Model(
            dim=n,
            beta=0.0,
            space="euclidean",
            bias=flock.Alibi(slope / n),
            normaliser=Normaliser("positions", own=False),
        )
        row = flock.simulate(model, np.eye(n), t, times=[t], scheme="rk4", dt=0.1)["x"].values[0, -1]
        y = (np.arange(n - 1) + 0.5) / n
        expected = influence(y, t, slope)
        middle = slice(n // 10, -n // 20)
        gaps.append(np.abs(n * row[:-1] / expected - 1)[middle].max())
        found = y[n // 20 :][np.argmin(row[n // 20 : -1])]
        assert abs(found - least(t, slope)) < 3 / n, "the minimum of the U"
    assert gaps[1] < 0.65 * gaps[0] < 0.2, "first order in 1 / n"
    usual = model.with_options(normaliser="count")
    other = flock.simulate(usual, np.eye(n), t, times=[t], scheme="rk4", dt=0.1)["x"].values[0, -1]
    assert np.abs(n * other[:-1] / expected - 1)[middle].max() > 0.2, "divided by the number seen it is another curve"


# ---- files, and what may not be


def test_files_and_again_repeat_an_own_interaction(tmp_path):
    width = 0.4
    for kernel in ("sigmoid", Kernel("power", power=3.0), lambda distance: np.exp(-((distance / width) ** 2))):
        model = flock.Model(dim=D, kernel=kernel, normaliser=Normaliser("sink", logit=1.0), mask="full")
        run = flock.simulate(model, X, 1.0)
        flock.save(run, tmp_path / f"{len(list(tmp_path.iterdir()))}.zarr")
        back = flock.load(max(tmp_path.iterdir()))
        assert_array_equal(flock.again(back)["x"].values, run["x"].values)
        described = json.loads(back.attrs["model"])
        assert set(described["kernel"]["function"] if isinstance(kernel, type(influence)) else {"source", "names"}) == {
            "source",
            "names",
        }


def test_a_model_of_the_usual_kind_is_what_it_was():
    for kernel, normaliser in (("exp", "softmax"), (Kernel("exp"), Normaliser("count")), ("exp", Normaliser())):
        model = flock.Model(dim=2, kernel=kernel, normaliser=normaliser)
        assert model.usual
        assert (model.kernel, model.normaliser) == ("exp", getattr(normaliser, "kind", normaliser))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": "relus"}, "unknown kernel 'relus'. Did you mean 'relu'"),
        ({"kernel": 3.0}, "kernel = 3.0 cannot be used"),
        ({"kernel": lambda a, b: a}, r"a function of \(a, b\).*any of the arguments logit, overlap, distance"),
        ({"kernel": "import os"}, "kernel = 'import os' cannot be used"),
        ({"normaliser": "sum"}, "unknown normaliser 'sum'"),
        ({"kernel": "linear"}, "'linear'.*'softmax' cannot be combined. Its weights may be negative"),
        ({"kernel": "relu", "normaliser": "scaled-count"}, "It is for kernel='exp'"),
        ({"kernel": "relu", "beta": np.inf}, "Hardmax is a limit of exp and softmax only"),
        ({"kernel": "relu", "space": "rescaled"}, "cannot be combined.*use space='euclidean'"),
        ({"kernel": "cosine", "space": "euclidean", "normaliser": "none"}, "take 'linear'"),
        ({"normaliser": "sinkhorn"}, "Columns cannot add up to 1 where nobody sees later tokens"),
        ({"normaliser": "sinkhorn", "mask": "full", "masses": np.ones((3, 3))}, "one mass for each token"),
        ({"normaliser": "sinkhorn", "mask": "full", "frozen": flock.Frozen([[1.0, 0.0]])}, "no row that adds up to 1"),
    ],
)
def test_what_does_not_go_together(options, words):
    with pytest.raises(SpecError, match=words):
        flock.Model(dim=2, **options)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Kernel("sigmoid", width=1.0), "unknown number of the kernel 'sigmoid' 'width'. Known: bias"),
        (lambda: Kernel("gaussian", width=0.0), "Kernel.width = 0.0 cannot be used. Allowed: a finite number > 0"),
        (lambda: Kernel(lambda s: s, bias=1.0), "numbers of a named kernel"),
        (lambda: Normaliser("softmax", logit=1.0), "a number for 'sink' only"),
        (lambda: Normaliser("none", own=False), "It has no sum that could leave the token out"),
        (lambda: Normaliser(own=2), "Normaliser.own = 2 cannot be used"),
    ],
)
def test_parts_check_themselves(make, words):
    with pytest.raises(SpecError, match=words):
        make()


def test_weights_that_cannot_be_used_are_named_before_a_run():
    start = flock.uniform(5, 2, seed=1)
    with pytest.raises(SpecError, match=r"weight nan that token \d gives token \d at t = 0 is not a finite number"):
        flock.simulate(flock.Model(dim=2, kernel="log(logit)"), start, 1.0)
    with pytest.raises(SpecError, match=r"token 1 gives token 0 at t = 0 is negative.*'relu' or 'exp'"):
        flock.simulate(flock.Model(dim=2, kernel="overlap"), start, 1.0)
    frozen = flock.Model(dim=2, kernel="sqrt(overlap + 0.99)", frozen=flock.Frozen(-start[:1]))
    with pytest.raises(SpecError, match=r"gives frozen token 0 at t = 0 is not"):
        flock.simulate(frozen, start[:1], 1.0)


LATE = {
    "negative": ("where(overlap > 0.9999999, 1.0, where(overlap <= 0.9, 1.0, -1.0))", "is negative"),
    "nan": ("where(overlap > 0.9999999, 1.0, 0.5 + sqrt(0.9 - overlap))", "is not a finite number"),
}


@pytest.mark.parametrize("name", LATE)
def test_weights_that_go_wrong_on_the_way_are_named_and_what_was_computed_is_kept(name):
    kernel, words = LATE[name]
    model = flock.Model(dim=2, kernel=kernel, mask="full")
    angle = np.array([0.0, 1.0])
    start = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    with pytest.raises(EngineError, match=rf"that token 0 gives token 1 at t = 0\.\d+ {words}"):
        flock.simulate(model, start, 9.0)
    kept = flock.simulate(model, start, 9.0, times=np.linspace(0, 9, 181), throw=False)
    assert "gives token 1" in kept.attrs["outcome"]
    assert 5 < np.isfinite(kept["x"].values[:, 0, 0]).sum() < 100


def test_the_variables_of_a_kernel_are_documented():
    assert SEEN == ("logit", "overlap", "distance")
