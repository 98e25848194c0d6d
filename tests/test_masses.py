"""Masses: a token that counts a times is a tokens at one place, in every engine and wherever a model is asked."""

import importlib.util
import tomllib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import models
import tokenflock as flock
from runs import T_END, TIMES, followed, task
from tokenflock import spec
from tokenflock.analysis import attention, energy
from tokenflock.engine.choose import HOMES, engine_named
from tokenflock.errors import EngineError, SpecError
from tokenflock.explorer.recording import record
from tokenflock.explorer.weights import row
from tokenflock.trajectories import is_boolean, model_of
from tokenflock.weights import ginibre
from tolerances import close, within

MASSES = np.array([2.0, 1.0, 3.0])
PLACES = np.repeat([0, 1, 2], [2, 1, 3])
FULL = {
    "softmax-d2": {"dim": 2, "beta": 4.0},
    "general-d3": {"dim": 3, "query": ginibre(3, 1), "value": ginibre(3, 2)},
    "count-d3": {"dim": 3, "normaliser": "count"},
    "scaled-count-d2": {"dim": 2, "beta": 9.0, "normaliser": "scaled-count"},
    "hardmax-d3": {"dim": 3, "beta": np.inf, "query": ginibre(3, 8)},
    "frozen-d5": {"dim": 5, "frozen": flock.Frozen(flock.uniform(2, 5, seed=4), [1.0, 2.5])},
    "d20": {"dim": 20, "beta": 4.0},
    "euclidean-d2": {"dim": 2, "space": "euclidean", "beta": 0.5},
    "rescaled-d2": {"dim": 2, "space": "rescaled"},
}
has_torch = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not has_torch, reason="gradients and engine='gpu' need torch")
ENGINES = [pytest.param(name, marks=needs_torch if name == "gpu" else ()) for name in HOMES if name != "harmonic"]
each_engine = pytest.mark.parametrize("name", ENGINES)
each_option = pytest.mark.parametrize("options", FULL.values(), ids=FULL.keys())


def pair_of_runs(name, options, scheme, masses=MASSES, **step):
    """Frames of three tokens with masses, and of six tokens at their places, of which one stands for each."""
    plain = flock.Model(mask="full", **options)
    x = models.tokens_for(plain, 3, seed=1)
    engine = engine_named(name)
    stepper, few = followed(engine, task(plain.with_options(masses=masses), scheme, **step), x)
    _, many = followed(engine, task(plain, scheme, **step), x[PLACES])
    grown = max(models.amplification(plain, frame[PLACES], t) for frame, t in zip(few, TIMES, strict=True))
    return few[:, PLACES], many, close("float64", 6, grown * max(stepper.steps, 1))


# ---- the law


@each_engine
@pytest.mark.parametrize("scheme", ["euler", "heun", "rk4", "tsit5", "layers", "rosenbrock"])
@each_option
def test_a_run_with_masses_is_that_of_repeated_tokens(options, scheme, name):
    implicit = scheme == "rosenbrock"
    hard = np.isinf(options.get("beta", 1.0))
    if implicit and (name != "cpu" or hard or {"normaliser", "space"} & options.keys()):
        return  # nobody else has implicit steps, and these models have none
    if hard and scheme == "tsit5":
        return  # a velocity that jumps has no order
    step = {} if scheme in ("tsit5", "rosenbrock") else {"dt": 0.25}
    few, many, rounding = pair_of_runs(name, options, scheme, **step)
    loose = within(1e-6, 1e-9, 10.0 if implicit else 1e-3) if scheme in ("tsit5", "rosenbrock") else rounding
    assert_allclose(few, many, loose["rtol"], max(loose["atol"], rounding["atol"]))


@each_engine
def test_other_masses_are_another_run(name):
    few, many, rounding = pair_of_runs(name, FULL["softmax-d2"], "rk4", masses=[2.0, 1.0, 2.0], dt=0.25)
    assert np.abs(few - many).max() > 1e6 * rounding["atol"]
    assert np.abs(few[-1] - many[-1]).max() > 1e-3


@each_engine
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@each_option
def test_causal_tokens_count_as_often_as_their_row_has_seen_them(options, dtype, name):
    """Token i of six sees each place as often as it came up to then: a row of (n, n) masses, with zeros in it."""
    engine, causal = engine_named(name), flock.Model(**options)
    if engine.supports(causal, dtype) is not None:
        return
    x = models.tokens_for(causal, 3, seed=1).astype(dtype).astype(float)
    expected = engine.velocity(causal, x[PLACES], dtype=dtype)
    for i, place in enumerate(PLACES):
        seen = np.ones((3, 3))
        seen[place] = np.bincount(PLACES[: i + 1], minlength=3)
        full = causal.with_options(mask="full", masses=seen)
        got = engine.velocity(full, x, dtype=dtype)[place]
        assert_allclose(got, expected[i], **close(dtype, 6, models.amplification(causal, x[PLACES])))


@each_engine
@each_option
def test_masses_of_one_are_none(options, name):
    plain = flock.Model(**options)
    x = models.tokens_for(plain, 7, seed=2)
    tolerance = close("float64", 7, models.amplification(plain, x))
    for ones in (np.ones(7), np.ones((7, 7))):
        got = engine_named(name).velocity(plain.with_options(masses=ones), x)
        assert_allclose(got, engine_named(name).velocity(plain, x), **tolerance)


@each_engine
@pytest.mark.parametrize("case", ["softmax-d2", "general-d3", "count-d3", "rescaled-d2", "hardmax-d3"])
def test_the_scale_of_masses_does_not_matter(case, name):
    model = flock.Model(masses=MASSES, **FULL[case])
    x = models.tokens_for(model, 3, seed=2)
    got = engine_named(name).velocity(model.with_options(masses=7 * MASSES), x)
    assert_allclose(got, engine_named(name).velocity(model, x), **close("float64", 3, models.amplification(model, x)))


@each_engine
def test_a_boolean_end_counts_masses(name):
    """A rescaled run beyond the time from which it is computed in closed form."""
    times = np.array([0.0, 5.0, 60.0])
    plain, x = flock.Model(mask="full", **FULL["rescaled-d2"]), flock.cube(3, 2, seed=3)
    _, few = followed(engine_named(name), task(plain.with_options(masses=MASSES), t_end=60.0), x, times)
    _, many = followed(engine_named(name), task(plain, t_end=60.0), x[PLACES], times)
    assert_allclose(few[:, PLACES], many, **within(1e-6, 1e-9, 10.0))


def test_attention_is_not_boolean_where_a_mass_makes_up_for_a_logit():
    # The drops of the two rows are 120 and 48: no weight, unless the second token counts e^40 times.
    x, plain = np.array([[10.0], [4.0]]), flock.Model(dim=1, space="rescaled", mask="full", query=[[2.0]])
    assert is_boolean(plain, x, 0.0)
    assert not is_boolean(plain.with_options(masses=[1.0, np.exp(40.0)]), x, 0.0)
    flat = plain.with_options(query=[[0.01]])
    assert not is_boolean(flat, x, 0.0)
    assert is_boolean(flat.with_options(masses=np.eye(2)), x, 0.0)


# ---- what masses cannot be


@pytest.mark.parametrize(
    ("masses", "words"),
    [
        ([1.0, 0.0, 2.0], "masses = 0.* positive numbers.* Leave a token out"),
        ([1.0, -1.0, 2.0], "masses = -1.* positive numbers"),
        ([1.0, np.nan, 2.0], "masses = 'an array with nan.* finite numbers"),
        (2.0, r"masses.shape = \(\)"),
        ([], r"masses.shape = \(0,\)"),
        (np.ones((3, 2)), r"masses.shape = \(3, 2\).*\(n, n\) as seen from each row"),
        (np.ones((3, 3, 3)), r"masses.shape = \(3, 3, 3\)"),
        ([[1.0], [1.0, 2.0]], "masses = .*numbers of shape"),
        (2 * np.eye(3) - 1.0, "masses = -1"),
        (1.0 - np.eye(3), "masses = 'a row without its own token.* a positive diagonal"),
        ("many", "masses = 'many'"),
    ],
    ids=str,
)
def test_what_masses_cannot_be_is_said(masses, words):
    with pytest.raises(SpecError, match=words):
        flock.Model(dim=2, masses=masses)


@pytest.mark.parametrize("masses", [MASSES, np.ones((3, 3))], ids=["one-each", "rows"])
def test_masses_of_another_number_of_tokens_are_refused_at_every_door(masses):
    model, x = flock.Model(dim=2, masses=masses), flock.uniform(4, 2)
    doors = [
        lambda: flock.simulate(model, x, 1.0),
        lambda: flock.velocity(model, x),
        lambda: flock.merge_tree(model, x, energy=False),
        lambda: attention.matrix(model, x),
        lambda: flock.sweep(model, {"beta": [1.0, 2.0]}, n_tokens=4, t_end=1.0),
    ]
    if has_torch:
        doors.append(lambda: flock.gradient(model, x, 1.0, lambda y: y.sum()))
    for door in doors:
        with pytest.raises(SpecError, match=r"masses.shape = .* for 4 tokens.* one mass for every token of the start"):
            door()


def test_the_harmonic_engine_says_that_it_has_no_masses():
    with pytest.raises(EngineError, match="It counts every token once: it has no masses"):
        flock.simulate(flock.Model(dim=2, masses=MASSES), flock.uniform(3, 2), 1.0, engine="harmonic")


def test_more_tokens_cannot_join_a_run_with_masses():
    run = flock.simulate(flock.Model(dim=2, masses=MASSES), flock.uniform(3, 2), 1.0)
    with pytest.raises(SpecError, match=r"flock.extend cannot be used with masses"):
        flock.extend(run, flock.uniform(1, 2, seed=1))


# ---- all that is told of a run


@pytest.mark.parametrize("masses", [MASSES, np.array([[1.0, 0, 5], [9, 1, 0], [9, 0, 1]])], ids=["one-each", "rows"])
def test_files_and_repetitions_carry_masses(masses, tmp_path):
    run = flock.simulate(flock.Model(dim=2, beta=4.0, masses=masses), flock.uniform(3, 2), 5.0, times=[1.0, 5.0])
    plain = flock.simulate(flock.Model(dim=2, beta=4.0), flock.uniform(3, 2), 5.0, times=[1.0, 5.0])
    assert np.abs(run.x.values - plain.x.values).max() > 1e-4
    for loaded in (run, *(flock.load(flock.save(run, tmp_path / f"run{end}")) for end in (".zarr", ".nc"))):
        assert_array_equal(model_of(loaded).masses, masses)
        assert_array_equal(flock.again(loaded).x, run.x)


def test_masses_in_a_run_toml(tmp_path):
    np.save(tmp_path / "m.npy", MASSES)
    for given in ("[2, 1, 3]", "{file = 'm.npy'}", "'m.npy'"):
        table = tomllib.loads(f"[model]\ndim = 2\nmasses = {given}")["model"]
        assert_array_equal(spec.model_of(table, tmp_path).masses, MASSES)
    with pytest.raises(SpecError, match="key of masses"):
        spec.model_of({"dim": 2, "masses": {"family": "ginibre"}})


def test_the_page_shows_the_weights_of_a_model_with_masses():
    model, x = flock.Model(dim=2, beta=4.0, masses=MASSES), flock.uniform(3, 2, seed=1)
    found = dict(row(model, x, 0.0, 2, 0)["strongest"])
    assert_allclose([found[j] for j in range(3)], attention.matrix(model, x)[2], **close("float64", 3))
    told = record(flock.simulate(model, x, 1.0))["began"]
    assert told["forms"] is None  # the page would compute weights without masses
    again = spec.build(tomllib.loads(told["recipe"]["toml"]))[0]
    assert_array_equal(again.masses, MASSES)


def test_the_energy_counts_masses_and_full_attention_climbs_it():
    x = flock.uniform(3, 3, seed=2)
    for of in (energy.energy, energy.scaled_energy):
        assert of(x, 4.0, masses=MASSES) == pytest.approx(of(x[PLACES], 4.0), rel=1e-14)
    model = flock.Model(dim=3, beta=4.0, mask="full", normaliser="count", masses=[20.0, 1.0, 3.0])
    path = flock.simulate(model, x, 1.0)["x"].values
    assert (np.diff(energy.scaled_energy(path, 4.0, masses=model.masses)) > 0).all()
    with pytest.raises(SpecError, match=r"masses .* climb no energy"):
        energy.scaled_energy(x, 4.0, masses=np.ones((3, 3)))


def test_a_merge_tree_is_that_of_repeated_tokens():
    x = flock.uniform(3, 2, seed=4)
    model = flock.Model(dim=2, beta=2.0, mask="full")
    few, many = flock.merge_tree(model.with_options(masses=MASSES), x), flock.merge_tree(model, x[PLACES])
    assert_allclose(few["energy"][0], many["energy"][0], rtol=1e-12)
    assert few["count"].values[0] == many["count"].values[0] == 3
    last = few["merge_time"].values, many["merge_time"].values
    assert_allclose(last[0], last[1][-len(last[0]) :], rtol=1e-2)
    with pytest.raises(SpecError, match=r"energy = True .* False with \(n, n\) masses"):
        flock.merge_tree(model.with_options(masses=np.ones((3, 3))), x)


def test_a_diagnosis_does_not_predict_a_merge_by_counting_tokens_once():
    model, x = flock.Model(dim=2, beta=40.0, masses=MASSES), np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    for options, predicted in (({}, False), ({"masses": None}, True)):
        found = flock.diagnose(flock.simulate(model.with_options(**options), x, 1.0))
        text = next(str(symptom) for symptom in found.findings if symptom.name == "metastable")
        assert ("The next two merge" in text) == predicted
        assert ("the tokens have masses" in str(found)) != predicted


# ---- gradients


@needs_torch
@pytest.mark.parametrize("rows", [False, True])
def test_gradients_with_masses_are_those_of_differences(rows):
    model = flock.Model(dim=3, beta=2.0, mask="full", masses=MASSES + rows * np.eye(3), value=ginibre(3, 2))
    x, c = flock.uniform(3, 3, seed=5), np.random.default_rng(0).standard_normal((3, 3))
    tight = {"rtol": 1e-11, "atol": 1e-13}

    def loss(beta):
        end = flock.simulate(model.with_options(beta=beta), x, T_END, times=[T_END], engine="reference", **tight)
        return float((c * end["x"].values[-1]).sum())

    expected = (loss(2.0 + 1e-4) - loss(2.0 - 1e-4)) / 2e-4
    import torch

    for way in ("checkpoint", "adjoint"):
        found = flock.gradient(model, x, T_END, lambda y: (y * torch.as_tensor(c)).sum(), gradient=way, **tight)
        assert found[0] == pytest.approx(loss(2.0), rel=1e-9)
        assert found[1]["beta"] == pytest.approx(expected, rel=1e-6)
