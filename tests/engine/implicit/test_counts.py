"""Implicit steps with weights by count (E3): merge times, the end of runs, and bodies whose gaps grow at their rate."""

import numpy as np
import pytest
from scipy.integrate import simpson

import tokenflock as flock
from tokenflock import Frozen, Model, Window, simulate, velocity
from tokenflock.engine.contract import Outcome
from tokenflock.engine.implicit.bodies import growth
from tokenflock.engine.traits import traits
from tokenflock.geometry import circle, distance, retract
from tokenflock.papers.claims.metastability import ANGLES

RNG = np.random.default_rng(11)
G = RNG.standard_normal
EPS = np.finfo(float).eps
COUNTS = ("count", "scaled-count")


def probe(model, x, y):
    """F(y, mu): the velocity of one more token at y that nobody counts, itself neither but for EPS^2."""
    seen = np.ones(len(x)) if model.masses is None else model.masses
    own = EPS**2 * seen.min()
    return velocity(model.with_options(masses=np.append(seen, own)), np.concatenate([x, y[None]]))[-1]


GROWN = {
    "circle": Model(dim=2, beta=5.0, mask="full"),
    "sphere": Model(dim=3, beta=3.0, mask="full", query=G((3, 3)), key=G((3, 3)), value=G((3, 3))),
    "masses": Model(dim=3, beta=2.0, mask="full", masses=RNG.uniform(1.0, 4.0, 6)),
    "heads": Model(dim=5, mask="full", query=G((2, 2, 5)), key=G((2, 2, 5)), value=G((2, 5, 5))),
    "frozen": Model(dim=3, mask="full", value=G((3, 3)), frozen=Frozen(retract(G((2, 3))), np.array([2.0, 1.0]))),
}


@pytest.mark.parametrize("normaliser", ["softmax", *COUNTS])
@pytest.mark.parametrize("name", GROWN)
def test_gaps_grow_at_the_rate_of_the_equations(name, normaliser):
    """The symmetric part of D_x F with the measure held fixed, by central differences."""
    model = GROWN[name].with_options(normaliser=normaliser)
    x = retract(np.random.default_rng(5).standard_normal((6, model.dim)))
    which, step = np.array([0, 2, 5]), EPS ** (1 / 3)
    for rate, i in zip(growth(model, x, which), which, strict=True):
        plane = np.linalg.svd(x[i][None])[2][1:].T
        ends = [[probe(model, x, retract(x[i] + s * step * e)) for s in (1, -1)] for e in plane.T]
        D = np.array([plane.T @ (ahead - behind) / (2 * step) for ahead, behind in ends]).T
        size = np.abs(D).max() + np.abs(velocity(model, x)).max()
        # Differences are off by step^2 times the third derivative, which has the cube of the sharpness in it.
        sharp = 1.0 + model.beta * np.linalg.norm(model.form, ord=2, axis=(1, 2)).max()
        assert abs(rate - np.linalg.eigvalsh((D + D.T) / 2)[-1]) < 10 * step**2 * sharp**2 * size


def merge_time(model, angle, end):
    """How long two tokens this far apart need to come within `end`: a' = -speed (e^{s(a) - shift} / 2) sin a."""
    shift = model.beta if model.normaliser == "scaled-count" else 0.0
    speed = 2.0 if model.mask == "full" else 1.0
    s = np.linspace(np.log(np.tan(end / 2)), np.log(np.tan(angle / 2)), 400_001)
    return simpson(2.0 / speed * np.exp(shift - model.beta * np.cos(2 * np.arctan(np.exp(s)))), x=s)


# The time is off by beta sin(angle) times the error of the angle; the loop of full attention is not compiled.
@pytest.mark.parametrize(("mask", "tolerance", "within"), [("causal", 1e-12, 1e-6), ("full", 1e-8, 1e-3)])
@pytest.mark.parametrize(
    ("normaliser", "beta", "angle"),
    [("count", 4.0, 2.0), ("count", 40.0, 2.5), ("scaled-count", 64.0, 2.5), ("scaled-count", 1000.0, 1.1)],
)
@pytest.mark.parametrize("dim", [2, 3])
def test_merge_times_are_those_of_the_quadrature(normaliser, beta, angle, mask, tolerance, within, dim):
    """A weight of e^-546 among them: the Jacobian of a token that feels no more than that has all its digits."""
    model = Model(dim=dim, beta=beta, normaliser=normaliser, mask=mask)
    time = merge_time(model, angle, 0.01)
    x = np.zeros((2, dim))
    x[0, 0], x[1, 0], x[1, 1] = 1.0, np.cos(angle), np.sin(angle)
    times = time * np.array([1 - within, 1 + within])
    run = simulate(model, x, times[-1], times=times, scheme="rosenbrock", rtol=tolerance, atol=tolerance / 100)
    gap = distance(run["x"].values[:, 1], run["x"].values[:, 0])
    assert gap[0] > 0.01 > gap[1]


def test_the_five_tokens_of_paper_d_come_to_one_cluster():
    """Weights by count pull both ways alike in full attention, so on the circle the mean of the angles stays."""
    model = Model(dim=2, beta=1000.0, mask="full", normaliser="scaled-count")
    run = simulate(model, circle(ANGLES), 1e300, times=np.geomspace(0.1, 1e300, 1000), scheme="rosenbrock")
    assert run.attrs["outcome"] == Outcome.COLLAPSED.value
    last = run["x"].values[-1]
    assert distance(last, last[0]).max() < run.attrs["rtol"] + run.attrs["atol"]
    assert run.attrs["steps"] < 1000
    # Every step may be off by the tolerance.
    most = run.attrs["steps"] * (run.attrs["rtol"] + run.attrs["atol"])
    assert abs(np.arctan2(last[0, 1], last[0, 0]) - np.mean(ANGLES)) < most
    clusters = [len(np.unique(np.round(frame, 3), axis=0)) for frame in run["x"].values]
    assert set(clusters) >= {5, 4, 3, 2, 1}, "one merge after the other"


@pytest.mark.parametrize("mask", ["causal", "full", Window(4)])
@pytest.mark.parametrize("normaliser", COUNTS)
def test_a_run_without_end_ends_when_all_tokens_have_met(normaliser, mask):
    x = flock.uniform(12, 2, seed=1)
    run = simulate(Model(dim=2, beta=9.0, normaliser=normaliser, mask=mask), x, np.inf)
    assert run.attrs["outcome"] == Outcome.COLLAPSED.value
    last = run["x"].values[-1]
    assert distance(last, last[0]).max() < run.attrs["rtol"] + run.attrs["atol"]
    if mask != "full":
        assert distance(last, x[0]).max() < 1e-6


def test_counts_differ_by_their_pace_alone():
    """exp(s) and exp(s - beta) are one flow at two paces: the same steps at times that are e^beta apart."""
    x, beta = flock.uniform(30, 2, seed=4), 20.0
    times = np.geomspace(1e-3, 1e12, 12)
    runs = [
        simulate(Model(dim=2, beta=beta, normaliser=kind), x, t[-1], times=t, scheme="rosenbrock", rtol=1e-9, atol=1e-9)
        for kind, t in (("scaled-count", times), ("count", times * np.exp(-beta)))
    ]
    assert np.abs(runs[0]["x"].values - runs[1]["x"].values).max() < 1e-6
    assert distance(runs[0]["x"].values[-1], x).max() > 1.0, "or nothing has moved"


@pytest.mark.parametrize("normaliser", COUNTS)
@pytest.mark.parametrize("dim", [2, 3, 5])
def test_what_rests_stays_to_the_last_bit(dim, normaliser):
    pair = np.zeros((2, dim))
    pair[:, 0] = 1.0, -1.0
    for x in (flock.uniform(1, dim, seed=4), pair):
        run = simulate(
            Model(dim=dim, beta=10.0, normaliser=normaliser), x, 1e300, times=[1.0, 1e300], scheme="rosenbrock"
        )
        assert (run["x"].values == x).all()


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_weights_beyond_all_numbers_are_named(mask):
    model = Model(dim=2, beta=1000.0, normaliser="count", mask=mask)
    run = simulate(model, flock.uniform(6, 2, seed=1), 1.0, scheme="rosenbrock", throw=False)
    assert run.attrs["outcome"] == Outcome.NOT_FINITE.value
    assert "use normaliser='scaled-count'" in run.attrs["outcome"]


def test_causal_bodies_need_a_softmax():
    for normaliser in COUNTS:
        assert "slack" in traits(Model(dim=2, normaliser=normaliser)).no_bodies
        assert traits(Model(dim=2, normaliser=normaliser, mask="full")).no_bodies is None


def test_auto_changes_to_implicit_steps_in_the_time_of_the_weights():
    """Weights of e^20: explicit steps to t = 100, or to t_end = 1, would be a billion."""
    x, beta = flock.uniform(20, 2, seed=1), 20.0
    run = simulate(Model(dim=2, beta=beta, normaliser="count"), x, 1.0, times=[1.0])
    assert run.attrs["switched"] == pytest.approx(100.0 * np.exp(-beta))
    assert run.attrs["steps"] < 5_000
    slow = simulate(Model(dim=2, beta=beta, normaliser="scaled-count"), x, np.exp(beta), times=[np.exp(beta)])
    assert slow.attrs["switched"] == 100.0
    assert np.abs(run["x"].values - slow["x"].values).max() < 1e-3
