"""Every study at its quick size: sound, in range, drawn; and controls that fail when the effect is taken away."""

import json
import math

import numpy as np
import pytest

from tokenflock.errors import FileError
from tokenflock.geometry import to_sphere
from tokenflock.model import Model
from tokenflock.networks.spectra import Head
from tokenflock.options import FeedForward
from tokenflock.papers import studies
from tokenflock.papers.claims.causal.next_weights import resting_angle
from tokenflock.papers.merge_time import merge_time
from tokenflock.papers.studies import (
    boolean_higher_d,
    coarsening,
    complex_top,
    convergence_rate,
    discretisation,
    effective_dimension,
    feedforward_impact,
    initialisation,
    multihead,
    structured_qk,
    trained_weights,
)


@pytest.fixture(scope="module")
def answers():
    """Quick answers, each made once."""
    made = {}

    def get(name):
        if name not in made:
            try:
                made[name] = studies.study(name, quick=True)
            except FileError as error:
                pytest.skip(f"no weights: {error}")
        return made[name]

    return get


@pytest.mark.parametrize("name", [name for name in studies.NAMES if name != "optimal-control"])  # has its own tests
def test_every_quick_study_is_sound_and_says_something(name, answers):
    answer = answers(name)
    assert answer.sound, [c for c in answer.controls if not c.ok]
    assert answer.controls
    assert answer.sentence.endswith(".")
    assert answer.change.endswith(".")
    assert "nan" not in answer.sentence
    for number in answer.numbers:
        assert number.low <= number.value <= number.high, number
    json.dumps(answer.plain())
    figure = answer.figure
    assert len(figure.axes) >= 2
    figure.canvas.draw()


def failing(answer):
    return {control.name for control in answer.controls if not control.ok}


# complex-top


def test_complex_numbers_are_in_range(answers):
    answer = answers("complex-top")
    plateau = answer.table("plateau")
    plain = plateau.where(stretch=0.0, d=2)
    assert plain["clusters"].min() > 4
    bent = plateau.where(stretch=0.3, beta=256.0)
    assert plateau.where(twist=0.5)["more_high"].min() >= 0, "Q'K that commutes loses none"
    life = answer.table("lifetimes")
    assert life["clock"] == pytest.approx(life["ratio"] / np.cos(np.radians(life["angle"])))
    assert bent["clusters"][0] > 1.5 * bent["clusters"][-1], "Q'K that does not commute loses clusters"


def test_the_quadrature_at_angle_zero_is_that_of_next_time():
    for p in (0.5, 2.0, 3.0):
        assert complex_top.waiting_time(p, 0.0, 4.0, 3) == pytest.approx(merge_time(p, 0.1, 4.0, 3), rel=1e-6)
    assert complex_top.waiting_time(2.2, 60.0, 4.0, 1) > 3 * complex_top.waiting_time(2.2, 0.0, 4.0, 1), "the long way"


def test_a_wrong_quadrature_is_seen(monkeypatch):
    exact = complex_top.waiting_time
    monkeypatch.setattr(complex_top, "waiting_time", lambda p, a, b, m: exact(p, 0.0, b, m))
    sizes = {"angles": (0.0, 45.0), "angles_bent": (0.0,), "runs": 2, "n_tokens": 12, "runs_life": 4, "gaps": (2.0,)}
    assert "waiting times follow the quadrature" in failing(studies.study("complex-top", quick=True, **sizes))


# effective-dimension


@pytest.mark.parametrize("law", ["right", "null"])
def test_exponents_are_recovered_and_the_null_can_fail(monkeypatch, law):
    def counts(generator, leading, dim, gap, beta, n, s):
        power = effective_dimension.slope_of_caps(s["betas"][str(leading)], leading if gap or law == "null" else dim)
        return {"all": [[beta**power] * 2] * s["runs"], "half": [[beta**power] * 2] * s["runs"]}

    monkeypatch.setattr(effective_dimension, "_counts", counts)
    answer = studies.study("effective-dimension")
    inside, whole = (effective_dimension.slope_of_caps((12.0, 17.0, 24.0, 34.0), d) for d in (4, 5))
    assert answer["exponent, d_1 = 4 of 7, gap 1"].value == pytest.approx(inside)
    assert answer["exponent, d = 5, gap 0"].value == pytest.approx(whole if law == "right" else inside)
    assert answer.sound == (law == "right")
    assert answer.sentence.startswith("Yes as far as seen")
    assert "from 0.45 on every exponent" in answer.sentence


def test_the_slope_of_caps_tends_to_the_power_and_is_smaller_before():
    for d in (2, 3, 4):
        assert effective_dimension.slope_of_caps((1e6, 1e8), d) == pytest.approx((d - 1) / 2, rel=1e-4)
    assert effective_dimension.slope_of_caps((12.0, 17.0, 24.0, 34.0), 4) == pytest.approx(1.33, abs=0.02)
    assert effective_dimension.slope_of_caps((12.0, 17.0, 24.0, 34.0), 5) == pytest.approx(1.72, abs=0.02)


# feedforward-impact


def test_lyapunov_exponents_that_are_known():
    rng = np.random.default_rng(0)
    turn = FeedForward(w=np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), activation="linear")
    assert feedforward_impact.lyapunov(turn, 3, rng, 20.0) == pytest.approx(0.0, abs=1e-4)
    pull = FeedForward(w=np.diag([1.0, 0.4, 0.0]), activation="linear")
    assert feedforward_impact.lyapunov(pull, 3, rng, 60.0) == pytest.approx(-0.6, abs=0.02)


def test_layers_have_unit_speed_and_the_fitted_one_remembers():
    for kind in feedforward_impact.KINDS:
        layer = feedforward_impact.drawn(kind, 3, np.random.default_rng(1))
        x = to_sphere(np.random.default_rng(2), (4000, 3))
        speed = np.sum(feedforward_impact.field(layer, x) ** 2, axis=1).mean()
        assert speed == pytest.approx(1.0, rel=0.1), kind


def test_a_rotation_that_is_none_is_seen(monkeypatch):
    exact = feedforward_impact.drawn
    monkeypatch.setattr(feedforward_impact, "drawn", lambda kind, d, rng: exact("fitted", d, rng))
    sizes = {"kinds": ("rotation",), "strengths": (0.0, 8.0), "t_lyapunov": 2.0}
    answer = studies.study("feedforward-impact", quick=True, **sizes)
    assert failing(answer) == {"a rotation changes nothing"}


# multihead


def test_heads_have_the_right_sum():
    rng = np.random.default_rng(0)
    model = multihead.heads("shared", 5, 3, 1.0, rng)
    assert np.allclose(model.values.sum(axis=0), np.eye(3))
    copies = multihead.heads("copies", 5, 3, 1.0, rng)
    assert (copies.form == copies.form[0]).all()
    drawn = [(h, np.random.default_rng(k)) for h in (1, 8) for k in range(200)]
    sums = [multihead.heads("ginibre", h, 4, 1.0, generator).values.sum(axis=0) for h, generator in drawn]
    sizes = np.linalg.norm(sums, axis=(1, 2)).reshape(2, 200).mean(axis=1)
    assert sizes[0] == pytest.approx(sizes[1], rel=0.05), "the law of the sum does not depend on H"


def test_copies_that_differ_are_seen(monkeypatch):
    exact = multihead.heads
    swap = {"copies": "shared"}
    monkeypatch.setattr(multihead, "heads", lambda family, *rest: exact(swap.get(family, family), *rest))
    answer = studies.study("multihead", quick=True, trials=10)
    assert failing(answer) == {"copies of one head change nothing"}


# boolean-higher-d


def test_distinct_tokens_in_place_of_the_null_are_seen(monkeypatch):
    exact = boolean_higher_d._one
    monkeypatch.setattr(boolean_higher_d, "_one", lambda rng, f, d, n, distinct, t: exact(rng, f, d, n, True, t))
    answer = studies.study("boolean-higher-d", quick=True, dims=(1, 2), starts=3)
    assert failing(answer) == {"tokens that are there twice have no Boolean limit"}


def test_boolean_shares(answers):
    table = answers("boolean-higher-d").table("limits")
    assert (table.where(family="identity")["boolean"] == 1).all()
    few, many = (table.where(family="identity", d=d)["leaders"][0] for d in (2, 8))
    assert few < 0.5 < many


# structured-qk


@pytest.mark.parametrize(("scale", "ratio"), [(1.0, 0.5), (3.0, 0.2), (10.0, 0.5), (30.0, 0.9), (2.0, 0.9)])
def test_the_boundary_is_that_of_the_quarter_turn(scale, ratio):
    assert structured_qk.rests_elsewhere(scale, 90.0, ratio) == math.isfinite(resting_angle(scale, ratio))


def test_no_boundary_where_the_theorem_or_the_identity_stands():
    assert not structured_qk.rests_elsewhere(50.0, 90.0, 1.0)
    assert not structured_qk.rests_elsewhere(50.0, 0.0, 0.5)


def test_a_broken_null_is_seen(monkeypatch):
    exact = structured_qk._plane
    monkeypatch.setattr(structured_qk, "_plane", lambda rng, v, a, r, s: exact(rng, 16.0, 90.0, 0.6, s))
    answer = studies.study("structured-qk", quick=True, scales=(16.0,), random_starts=2, starts=12)
    assert failing(answer) == {"V = I: nothing rests elsewhere", "Q'K = s I: nothing rests elsewhere"}


# convergence-rate


def slow_barrier(start):
    """The definition, written out: list the tokens, drop the nearest, note the gap."""
    alive, highest = list(range(len(start))), 0.0
    while len(alive) > 1:
        gaps = [(min(1 - start[k] @ start[j] for j in alive if j < k), k) for k in alive[1:]]
        gap, k = min(gaps)
        highest = max(highest, gap)
        alive.remove(k)
    return highest


def test_barriers():
    for seed in range(10):
        x = to_sphere(np.random.default_rng(seed), (9, 3))
        assert convergence_rate.barrier(x) == pytest.approx(slow_barrier(x), abs=1e-12)
        assert convergence_rate.barrier(x) >= 1 - x[0] @ x[1] - 1e-12, "token 2 sees nobody else"


def test_the_power_of_a_law_is_found():
    beta = np.repeat([2.0, 4.0, 8.0, 16.0], 3)
    assert convergence_rate.power_of(beta, 1 + 2 * np.sqrt(beta)) == pytest.approx(0.5)
    assert convergence_rate.power_of(beta, 1 + 2 * beta) == pytest.approx(1.0)


def test_barriers_of_other_starts_are_seen(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(convergence_rate, "barrier", lambda x: float(rng.uniform(0.2, 2.0)))
    sizes = {"betas": (6.0, 8.0), "dims": (), "n_tokens": 4, "prefixes": (2, 4), "law_starts": 2, "betas_full": ()}
    answer = studies.study("convergence-rate", quick=True, **sizes)
    assert "the barrier of a start is its own" in failing(answer)


def test_the_slope_is_one(answers):
    answer = answers("convergence-rate")
    number = answer["slope of log(beta T) in beta b"]
    assert 0.6 < number.value < 1.4
    assert number.low < 1 < number.high


# discretisation


def test_the_largest_step():
    steps = (0.1, 1.0, 10.0)
    assert discretisation.largest(steps, [[0.0, 0.0, 0.01]]) == 10.0
    assert discretisation.largest(steps, [[0.2, 0.3, 0.4]]) == 0.1
    assert discretisation.largest(steps, [[0.0, 0.1, 0.2]]) == pytest.approx(math.sqrt(0.1))


def test_a_flow_that_goes_astray_is_seen(monkeypatch):
    exact = discretisation.simulate

    def rough(model, start, t_end, **how):
        if "rtol" not in how and "scheme" not in how:
            how = {**how, "scheme": "layers", "dt": 5.0}
        return exact(model, start, t_end, **how)

    monkeypatch.setattr(discretisation, "simulate", rough)
    answer = studies.study("discretisation", quick=True, least=(-3.0,))
    assert failing(answer) == {"the flow itself does not go astray"}


# initialisation


@pytest.mark.parametrize("law", initialisation.LAWS)
def test_laws_are_starts(law):
    x = initialisation.drawn(law, 20, 4, seed=3)
    assert x.shape == (20, 4)
    assert np.abs(np.linalg.norm(x, axis=1) - 1).max() < 1e-12
    assert (x == initialisation.drawn(law, 20, 4, seed=3)).all()
    assert not (x == initialisation.drawn(law, 20, 4, seed=4)).all()


def test_a_shuffled_walk_is_the_same_walk():
    a, b = (initialisation.drawn(law, 20, 3, seed=1) for law in ("walk", "shuffled walk"))
    assert not (a == b).all()
    assert sorted(map(tuple, a)) == sorted(map(tuple, b))


def test_an_attracting_null_is_seen(monkeypatch):
    exact = initialisation._grid
    monkeypatch.setattr(initialisation, "_grid", lambda g, value, *rest: exact(g, np.abs(value), *rest))
    laws = ("uniform", "antipodal", "walk", "shuffled walk")
    answer = studies.study("initialisation", quick=True, laws=laws, n_tokens=8, runs=4)
    assert failing(answer) == {"V = -I: nothing gathers"}


# trained-weights


def test_trained_heads_keep_their_v_and_gaussian_ones_their_norms(monkeypatch):
    try:
        net = trained_weights.network()
    except FileError as error:
        pytest.skip(f"no weights: {error}")

    def heads():
        return {k: trained_weights.as_models(net, k, np.random.default_rng(0), "full") for k in trained_weights.KINDS}

    on_range = heads()
    monkeypatch.setattr(trained_weights, "on_range", lambda parts: parts)
    made = heads()
    real, mixed, chance = (made[k][0] for k in trained_weights.KINDS)
    assert (real.values == mixed.values).all()
    assert not (real.form == mixed.form).all()
    assert np.allclose(mixed.form, made["trained"][1].form), "those of the next head"
    size = np.abs(np.linalg.eigvals(real.values[0])).max()
    assert size == pytest.approx(1.0, abs=1e-6)
    assert np.linalg.norm(chance.query) == pytest.approx(np.linalg.norm(real.query))
    for name in ("query", "key"):  # the null has their norms where tokens live
        seen, drawn = (getattr(on_range[kind][0], name) for kind in ("trained", "gaussian"))
        assert np.linalg.norm(drawn) == pytest.approx(np.linalg.norm(seen))
    # On the range of V they are what they were, up to a turn of that range.
    basis = np.linalg.qr(Head.of(net.layer(0, feedforward=False), 0).output)[0]
    for whole, part in ((real, on_range["trained"][0]), (mixed, on_range["mixed"][0])):
        for W, seen in ((whole.form[0], part.form[0]), (whole.values[0], part.values[0])):
            expected = np.linalg.svd(basis.T @ W @ basis, compute_uv=False)
            assert np.linalg.svd(seen, compute_uv=False) == pytest.approx(expected, rel=1e-6, abs=1e-9 * expected[0])


# coarsening


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_bodies_keep_what_is_seen(mask):
    x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1e-9], [0.0, 1.0], [1e-9, 1.0], [-1.0, 0.0]])
    places, masses, body = coarsening.bodies(x, None, 1e-3, mask)
    assert body.tolist() == [0, 1, 0, 1, 1, 2]
    assert places == pytest.approx(x[[0, 1, 5]], abs=1e-8)
    if mask == "full":
        assert masses.tolist() == [2.0, 3.0, 1.0]
    else:
        assert masses.tolist() == [[1, 0, 0], [1, 1, 0], [2, 3, 1]]
    again = coarsening.bodies(places, masses, 2.0, mask)  # all of them together
    assert again[1].sum() == (6.0 if mask == "full" else 1.0)


def test_a_wrong_way_to_gather_counts_other_clusters(monkeypatch):
    sizes = {"direct_tokens": 30, "direct_runs": 2}
    right = coarsening._same(np.random.default_rng(0), "causal", 2, 64.0, sizes)
    assert np.mean(right) > 0.9
    gather = coarsening.bodies
    monkeypatch.setattr(coarsening, "bodies", lambda x, m, radius, mask: gather(x, m, 60 * radius, mask))
    assert np.mean(coarsening._same(np.random.default_rng(0), "causal", 2, 64.0, sizes)) < 0.9


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_bodies_that_do_not_feel_each_other_are_followed_apart(mask, monkeypatch):
    x, model = to_sphere(np.random.default_rng(0), (60, 3)), Model(dim=3, beta=1024.0, mask=mask)
    masses = np.tri(60) if mask == "causal" else np.ones(60)
    calls, simulate = [], coarsening.simulate
    monkeypatch.setattr(coarsening, "simulate", lambda *a, **k: calls.append(len(a[1])) or simulate(*a, **k))
    parts = coarsening.in_parts(x, masses, model, np.exp(12.0), 12.0)
    assert max(calls) < 30
    monkeypatch.setattr(coarsening, "UNFELT", 1e4)
    whole = coarsening.in_parts(x, masses, model, np.exp(12.0), 12.0)
    assert calls[-1] == 60
    assert np.abs(whole - x).max() > 0.01  # some have met
    assert np.abs(parts - whole).max() < 1e-5
    for margin in ("UNFELT", "TOO_CLOSE"):  # too small: some that meet are kept apart
        monkeypatch.setattr(coarsening, margin, -9.0)
    assert np.abs(coarsening.in_parts(x, masses, model, np.exp(12.0), 12.0) - whole).max() > 0.01


def test_the_constant_of_a_law_that_holds_is_its_constant():
    for d in (2, 3):
        tau = coarsening.late(256.0) / 256.0
        unit = 2 * math.pi / np.arccos(np.maximum(1 - tau, -1)) if d == 2 else 1 / tau
        assert coarsening._constant(0.6 * unit[None], 256.0, d) == pytest.approx(0.6)


def test_when_centers_hold_a_share():
    shares = np.linspace(0, 1, len(coarsening.EARLY) + len(coarsening.stops(64.0)))
    times = [coarsening._times([shares, 0 * shares], 64.0, share) for share in coarsening.HELD]
    assert np.all(np.diff([t[0] for t in times]) > 0)
    assert all(t[1] == 300 for t in times)
