"""Every input that cannot be used is refused before any work, in words that say what, what was given and what to do."""

import re

import numpy as np
import pytest

import tokenflock as flock
from tokenflock.engine.machine import threads
from tokenflock.errors import EngineError, SpecError, TokenflockError

NAN, INF = float("nan"), float("inf")
MODEL, START = flock.Model(dim=2), flock.uniform(4, 2)


def refused(make, *words, error=SpecError):
    """What is raised is ours, and says all of these words."""
    with pytest.raises(error) as caught:
        make()
    for word in words:
        assert re.search(word, str(caught.value)), f"{word!r} is not in {str(caught.value)!r}"
    assert isinstance(caught.value, TokenflockError)


# ---- Model


MODELS = {
    "dim-zero": ({"dim": 0}, "dim = 0", "an integer >= 1"),
    "dim-float": ({"dim": 2.0}, r"dim = 2\.0", "an integer >= 1"),
    "dim-bool": ({"dim": True}, "dim = True", "an integer >= 1"),
    "sphere-of-dim-one": ({"dim": 1}, "dim = 1", ">= 2 on the sphere", "space='euclidean'"),
    "beta-nan": ({"beta": NAN}, "beta = nan", "a finite number, or inf for hardmax"),
    "beta-minus-infinite": ({"beta": -INF}, "beta = -inf", "a finite number, or inf"),
    "beta-word": ({"beta": "hot"}, "beta = 'hot'", "a number"),
    "beta-table": ({"beta": [[1.0, 2.0], [3.0, 4.0]]}, "beta", "a number, or one for each run"),
    "beta-negative-in-r-d": ({"beta": -1.0, "space": "euclidean"}, r"beta = -1\.0", "query=-Q"),
    "beta-negative-rescaled": ({"beta": -1.0, "space": "rescaled"}, r"beta = -1\.0", "query=-Q"),
    "noise-negative": ({"noise": -0.1}, r"noise = -0\.1", ">= 0", r"sqrt\(2/kappa\)"),
    "noise-infinite": ({"noise": INF}, "noise = inf", "finite"),
    "noise-word": ({"noise": "loud"}, "noise = 'loud'", "a number"),
    "mask-typo": ({"mask": "casual"}, "unknown mask 'casual'", "Did you mean 'causal'", "full", "Window"),
    "normaliser-typo": ({"normaliser": "counts"}, "unknown normaliser 'counts'", "Did you mean 'count'"),
    "space-typo": ({"space": "spere"}, "unknown space 'spere'", "Did you mean 'sphere'"),
    "layer-norm-typo": ({"layer_norm": "perri"}, "unknown layer_norm 'perri'", "Did you mean 'peri'"),
    "value-shape": ({"value": np.eye(3)}, r"value.shape = \(3, 3\)", r"\(2, 2\)"),
    "value-rectangular": ({"value": np.ones((3, 2))}, r"value.shape = \(3, 2\)", r"\(2, 2\)"),
    "value-flat": ({"value": [1.0, 2.0]}, r"value.shape = \(2,\)", r"\(2, 2\)"),
    "value-empty": ({"value": np.zeros((0, 2, 2))}, r"value.shape = \(0, 2, 2\)"),
    "query-shape": ({"query": np.eye(3)}, r"query.shape = \(3, 3\)", r"\(any, 2\)"),
    "key-words": ({"key": [["a", "b"], ["c", "d"]]}, "key", "numbers of shape"),
    "value-ragged": ({"value": [[1.0, 2.0], [3.0]]}, "value", "numbers of shape"),
    "value-nan": ({"value": [[1.0, NAN], [0.0, 1.0]]}, "value", "nan or inf", "finite numbers"),
    "query-inf": ({"query": [[1.0, INF], [0.0, 1.0]]}, "query", "nan or inf", "finite numbers"),
    "value-complex": ({"value": np.array([[1.0, 1j], [0.0, 1.0]])}, "value", "numbers of shape"),
    "query-key-rows": ({"query": np.ones((3, 2))}, r"\(3, 2\)", "the same number of rows"),
    "query-key-rows-both": ({"query": np.ones((3, 2)), "key": np.ones((1, 2))}, r"\(3, 1\)", "the same number of rows"),
    "heads-differ": (
        {"query": np.ones((2, 2, 2)), "value": np.ones((3, 2, 2))},
        "'query': 2, 'value': 3",
        "the same number of heads",
    ),
    "bias-number": ({"bias": 0.5}, r"bias = 0\.5", r"flock\.Alibi"),
    "bias-heads": ({"bias": flock.Alibi((0.1, 0.2))}, "bias", "one slope, or 1"),
    "feedforward-array": ({"feedforward": np.eye(2)}, "feedforward", r"flock\.FeedForward"),
    "feedforward-shape": (
        {"feedforward": flock.FeedForward(np.eye(3))},
        r"feedforward.w.shape = \(3, 3\)",
        r"\(2, k\)",
    ),
    "frozen-array": ({"frozen": np.eye(2)}, "frozen", r"flock\.Frozen"),
    "frozen-shape": ({"frozen": flock.Frozen(np.eye(3))}, r"frozen.tokens.shape = \(3, 3\)", r"\(m, 2\)"),
    "frozen-off-the-sphere": ({"frozen": flock.Frozen([[1.0, 1.0]])}, "frozen.tokens", "off the sphere", "Divide by"),
    "hard-count": (
        {"beta": INF, "normaliser": "count"},
        "beta = inf and normaliser='count' cannot be combined",
        "Hardmax",
    ),
    "hard-bias": (
        {"beta": INF, "bias": flock.Alibi(0.1)},
        "beta = inf and bias cannot be combined",
        "large finite beta",
    ),
    "layer-norm-in-r-d": (
        {"layer_norm": "pre", "space": "euclidean"},
        "layer_norm='pre' and space='euclidean' cannot be combined",
        "on the sphere",
    ),
    "rescaled-frozen": (
        {"space": "rescaled", "frozen": flock.Frozen(np.eye(2))},
        "frozen and space='rescaled' cannot be combined",
        "space='euclidean'",
    ),
    "rescaled-noise": ({"space": "rescaled", "noise": 0.1}, "noise and space='rescaled' cannot be combined"),
    "noise-radius": ({"noise": 0.1, "layer_norm": "peri"}, "noise and layer_norm='peri' cannot be combined", "'post'"),
    "rescaled-heads": (
        {"space": "rescaled", "value": np.array([[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]])},
        "do not commute",
        "space='rescaled' cannot be combined",
    ),
}


@pytest.mark.parametrize(("options", "words"), [(o, w) for o, *w in MODELS.values()], ids=MODELS.keys())
def test_a_model_that_cannot_be_is_refused(options, words):
    refused(lambda: flock.Model(**({"dim": 2} | options)), *words)


def test_an_option_that_a_model_does_not_have_is_refused():
    with pytest.raises(TypeError, match="temperature"):
        flock.Model(dim=2, temperature=1.0)
    with pytest.raises(TypeError, match="stand without a name"):
        flock.Model(2, 64.0)


def test_changing_an_option_checks_again_and_a_model_cannot_be_changed_in_place():
    refused(lambda: MODEL.with_options(beta=NAN), "beta = nan")
    with pytest.raises(AttributeError, match="beta"):
        MODEL.beta = 2.0
    with pytest.raises(ValueError, match="read-only"):
        flock.Model(dim=2, value=np.eye(2)).value[0, 0] = 2.0


# ---- its parts


PARTS = {
    "window-zero": (lambda: flock.Window(0), r"Window.width = 0", "an integer >= 1"),
    "window-float": (lambda: flock.Window(2.5), r"Window.width = 2\.5", "an integer >= 1"),
    "window-bool": (lambda: flock.Window(True), "Window.width = True", "an integer >= 1"),
    "alibi-nan": (lambda: flock.Alibi(NAN), "Alibi.slope = nan", "a finite number"),
    "alibi-table": (lambda: flock.Alibi([[0.1], [0.2]]), "Alibi.slope", "a finite number"),
    "activation": (lambda: flock.FeedForward(np.eye(2), activation="rely"), "unknown activation 'rely'", "mean 'relu'"),
    "ff-shape": (lambda: flock.FeedForward(np.ones((2, 3)), np.ones((2, 2))), r"FeedForward.a.shape", r"\(3, 2\)"),
    "ff-bias": (lambda: flock.FeedForward(np.eye(2), b=np.ones(3)), r"FeedForward.b.shape = \(3,\)", r"\(2\)"),
    "ff-square": (lambda: flock.FeedForward(np.ones((2, 3))), "FeedForward.a = None", "Only a square w"),
    "ff-nan": (lambda: flock.FeedForward([[NAN]]), "FeedForward.w", "nan or inf"),
    "frozen-flat": (lambda: flock.Frozen([1.0, 0.0]), r"Frozen.tokens.shape = \(2,\)"),
    "frozen-none": (lambda: flock.Frozen(np.zeros((0, 2))), r"Frozen.tokens.shape = \(0, 2\)"),
    "frozen-weights": (lambda: flock.Frozen(np.eye(2), [1.0]), r"Frozen.weights.shape = \(1,\)", r"\(2\)"),
    "frozen-weight-zero": (lambda: flock.Frozen(np.eye(2), [1.0, 0.0]), "Frozen.weights", "positive numbers"),
    "norm-kind": (lambda: flock.LayerNorm("pres"), "unknown layer_norm 'pres'", "Did you mean 'pre'"),
    "norm-switch": (lambda: flock.LayerNorm("mix", switch=0.0), r"LayerNorm.switch = 0\.0", "> 0"),
    "norm-alpha": (lambda: flock.LayerNorm("ngpt", alpha=-1.0), r"LayerNorm.alpha = -1\.0", "> 0"),
    "norm-decay": (lambda: flock.LayerNorm("ngpt", decay=INF), "LayerNorm.decay = inf", "finite"),
    "norm-radius": (lambda: flock.LayerNorm("pre", radius=NAN), "LayerNorm.radius = nan", "> 0"),
    "norm-word": (lambda: flock.LayerNorm("mix", switch="soon"), "LayerNorm.switch = 'soon'", "finite number"),
    "alibi-word": (lambda: flock.Alibi("steep"), "Alibi.slope = 'steep'", "a finite number"),
}


@pytest.mark.parametrize(("make", "words"), [(m, w) for m, *w in PARTS.values()], ids=PARTS.keys())
def test_a_part_that_cannot_be_is_refused(make, words):
    refused(make, *words)


# ---- simulate


def run(start=START, t_end=1.0, model=MODEL, **options):
    return lambda: flock.simulate(model, start, t_end, **options)


RUNS = {
    "start-flat": (run([1.0, 0.0]), r"start.shape = \(2,\)", r"\(n, 2\) or \(runs, n, 2\)"),
    "start-dim": (run(flock.uniform(4, 3)), r"start.shape = \(4, 3\)", r"\(n, 2\)"),
    "start-four-axes": (run(np.ones((1, 1, 1, 2))), r"start.shape = \(1, 1, 1, 2\)"),
    "start-empty": (run(np.zeros((0, 2))), "at least one run and one token", "no tokens"),
    "start-empty-ensemble": (run(np.zeros((0, 4, 2))), "at least one run and one token", "an empty ensemble"),
    "start-empty-runs": (run(np.zeros((3, 0, 2))), "at least one run and one token", "no tokens"),
    "start-words": (run("uniform"), "start = 'str'", "an array of numbers"),
    "start-ragged": (run([[1.0, 0.0], [1.0]]), "start", "an array of numbers"),
    "start-nan": (run([[1.0, NAN]]), "start", "nan or inf", "finite numbers"),
    "start-inf": (run([[1.0, INF]]), "start", "nan or inf"),
    "start-complex": (run(START + 0j), "start", "an array of numbers"),
    "start-off": (run(START * (1 + 2e-6)), "start", r"2\.0e-06 off the sphere", "unit vectors to 1e-06", "retract"),
    "t-end-zero": (run(t_end=0.0), r"t_end = 0\.0", "a finite number > 0"),
    "t-end-negative": (run(t_end=-1.0), r"t_end = -1\.0", "> 0"),
    "t-end-infinite": (run(t_end=INF, scheme="rk4", dt=0.1), "inf"),
    "t-end-word": (run(t_end="long"), "t_end = 'long'", "a finite number > 0"),
    "times-falling": (run(times=[0.0, 0.5, 0.4]), r"0\.5 then 0\.4 at position 1", "strictly increasing"),
    "times-repeated": (run(times=[0.0, 0.5, 0.5]), r"0\.5 then 0\.5", "strictly increasing", r"numpy\.unique"),
    "times-late": (run(times=[0.0, 1.5]), r"0 \.\. 1\.5", r"times in \[0, 1\]", "Raise t_end"),
    "times-early": (run(times=[-0.5, 0.5]), r"-0\.5 \.\. 0\.5", r"times in \[0, 1\]"),
    "times-nan": (run(times=[0.0, NAN]), "times", "one axis of finite times"),
    "times-empty": (run(times=[]), "times", "one axis of finite times"),
    "times-table": (run(times=[[0.0, 1.0]]), "times", "one axis of finite times"),
    "times-number": (run(times=0.5), "times", "one axis of finite times"),
    "times-words": (run(times=["now", "then"]), "times", "finite times"),
    "times-between-layers": (run(times=[0.0, 0.25], scheme="layers", dt=0.1), "multiples of dt = 0.1", "Layers"),
    "scheme-typo": (
        run(scheme="huen", dt=0.1),
        "unknown scheme 'huen'",
        "Did you mean 'heun'",
        "rk4, tsit5, rosenbrock, skeleton, layers",
    ),
    "engine-typo": (run(engine="refrence"), "unknown engine 'refrence'", "Did you mean 'reference'"),
    "dtype-typo": (run(dtype="float16"), "unknown dtype 'float16'", "float64, float32"),
    "adaptive-dt": (run(dt=0.1), "scheme='tsit5' and dt cannot be combined", "leave dt out"),
    "fixed-without-dt": (run(scheme="rk4"), "dt = None", "scheme='rk4'", "Give dt"),
    "layers-without-dt": (run(scheme="layers"), "dt = None", "scheme='layers'", "Give dt"),
    "dt-negative": (run(scheme="rk4", dt=-0.1), r"dt = -0\.1", "> 0"),
    "dt-nan": (run(scheme="rk4", dt=NAN), "dt = nan", "> 0"),
    "rtol-zero": (run(rtol=0.0), r"rtol = 0\.0", "> 0"),
    "rtol-below-rounding": (run(rtol=1e-16), "rtol = 1e-16", r">= 1\.8e-15 in float64", "raise rtol"),
    "rtol-float32": (run(rtol=1e-8, dtype="float32"), "rtol = 1e-08", r"9\.5e-07 in float32"),
    "atol-negative": (run(atol=-1.0), r"atol = -1\.0", "> 0"),
    "seed-float": (run(seed=1.5), r"seed = 1\.5", "an integer"),
    "seed-bool": (run(seed=True), "seed = True", "an integer"),
    "noise-adaptive": (
        run(model=MODEL.with_options(noise=0.1), scheme="tsit5"),
        "noise and scheme='tsit5'",
        "'heun' with dt",
    ),
    "noise-rk4": (run(model=MODEL.with_options(noise=0.1), scheme="rk4", dt=0.1), "noise and scheme='rk4' cannot"),
    "noise-layers": (run(model=MODEL.with_options(noise=0.1), scheme="layers", dt=0.1), "noise and scheme='layers'"),
    "reduce-name": (run(reduce={"x": np.mean}), "reduce = 'x'", "identifiers and not those of a trajectory"),
    "reduce-two-words": (run(reduce={"my mean": np.mean}), "reduce = 'my mean'", "identifiers"),
    "reduce-number": (run(reduce={"mean": 3}), r"reduce\['mean'\] = 3", "a function of the tokens"),
    "nothing-kept": (run(positions=False), "positions=False and no reduce cannot be combined", "Nothing would be kept"),
    "positions-word": (run(positions="no"), "positions = 'no'", "True or False"),
    "layers-not-invertible": (
        run(np.ones((2, 2)), model=flock.Model(dim=2, space="rescaled", value=-np.eye(2)), scheme="layers", dt=1.0),
        r"dt = 1\.0",
        "I \\+ dt V is invertible",
    ),
    "too-much": (
        run(times=np.linspace(0, 1, 2_000_001), start=flock.uniform(100_000, 2)),
        "times",
        "GiB",
        "positions=False",
    ),
}


@pytest.mark.parametrize(("call", "words"), [(c, w) for c, *w in RUNS.values()], ids=RUNS.keys())
def test_a_run_that_cannot_be_is_refused(call, words):
    refused(call, *words)


def test_an_argument_that_simulate_does_not_have_is_refused():
    with pytest.raises(TypeError, match="tolerance"):
        flock.simulate(MODEL, START, 1.0, tolerance=1e-6)


def test_what_is_not_a_model_is_refused():
    refused(lambda: flock.simulate({"dim": 2}, START, 1.0), "model", "Model")


def test_tokens_a_little_off_the_sphere_are_put_back_with_a_warning():
    off = START * (1 + 5e-7)
    with pytest.warns(UserWarning, match=r"start is up to 5\.0e-07 off the sphere: its tokens were divided") as caught:
        made = flock.simulate(MODEL, off, 1.0, times=[0.0])
    assert caught[0].filename == __file__
    assert np.abs(np.linalg.norm(made.x.values, axis=-1) - 1).max() < 1e-15


def test_tokens_off_by_rounding_are_taken_in_silence_and_those_on_the_sphere_as_they_are():
    flock.simulate(MODEL, START * (1 + 4e-16), 1.0, times=[0.0])
    many = flock.uniform(2000, 3, seed=1)
    made = flock.simulate(flock.Model(dim=3), many, 1.0, times=[0.0])
    np.testing.assert_array_equal(made.start.values, many)


def test_other_spaces_take_tokens_of_any_length():
    made = flock.simulate(flock.Model(dim=2, space="euclidean"), 3.0 * START, 1.0, times=[0.0])
    np.testing.assert_array_equal(made.x.values[0], 3.0 * START)


def test_negative_beta_has_a_meaning_on_the_sphere():
    assert flock.Model(dim=2, beta=-2.0).beta == -2.0


@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5", ""])
def test_a_number_of_threads_that_cannot_be_is_refused(given, monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_THREADS", given)
    refused(threads, f"TOKENFLOCK_THREADS = '{given}'", "an integer >= 1", "Unset it")


def test_float32_is_not_for_the_reference():
    refused(run(engine="reference", dtype="float32"), "engine='reference'", "float64 only", error=EngineError)


def test_a_failed_run_says_how_far_it_came_and_how_to_see_it():
    escaping = flock.Model(dim=1, space="euclidean", beta=0.0, value=[[1000.0]])
    with np.errstate(all="ignore"):
        refused(run([[1.0]], 2.0, escaping), "Reached t = 0", "of 2", "throw=False", error=EngineError)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (0, 2)])
def test_velocity_wants_tokens_of_its_dimension(shape):
    refused(lambda: flock.velocity(MODEL, np.ones(shape)), "x.shape", r"\(any, 2\)")
