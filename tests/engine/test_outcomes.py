"""Outcomes are true: over extreme models a run that says "Reached t_end." has tokens, on the sphere, at t_end.

One that stops early says why, one that cannot be run is refused with a sentence, and one that takes long goes on
telling how far it is: nothing waits where Ctrl-C does not reach it. Every engine of the registry, every scheme.
"""

import contextlib
import math
import time

import numpy as np
import pytest

import tokenflock as flock
from runs import task
from tokenflock.engine.choose import HOMES
from tokenflock.engine.contract import Outcome
from tokenflock.errors import TokenflockError
from tokenflock.explorer.session import Session
from tokenflock.runner import ENOUGH_STEPS, OFF_SPHERE, endless, sound
from tokenflock.schemes import NAMES

INF = math.inf
BETAS = [0.0, 1e-308, 1.0, 9.0, 1e3, 1e6, 1e17, 1e150, 1e300, 1.7e308, INF, -1.0, -1e300]
WEIGHTS = [1.0, 1.0, 1.0, 1e-200, 1e-8, 1e8, 1e100, 1e200, 1e308]
ENDS = [1e-308, 1e-300, 1e-100, 1e-9, 1.0, 5.0, 100.0, 1e4, 2.0**63, 1e30, 1e300, INF]
MASKS = ["causal", "full", flock.Window(1), flock.Window(2), flock.Window(2, causal=False), flock.Window(2**40)]
NORMS = ["post", "post", "post", "pre", "mix", "peri", "ngpt", "sqrt"]
PLACES = ["usual", "usual", "one", "equal", "antipodal", "near"]
ENGINES = tuple(HOMES)
PATIENCE_S = 2.0  # of processor time that a run gets: it then has to be one that goes on
FULL = 4_000


class Enough(Exception):
    """A run that goes on is left alone."""


def place(kind, d):
    """Tokens that lie in a special way."""
    x = flock.uniform(5, d, seed=1)
    return {
        "usual": x,
        "one": x[:1],
        "equal": np.repeat(x[:1], 4, axis=0),
        "antipodal": np.stack([x[0], -x[0], x[0], -x[0]]),
        "near": flock.geometry.retract(x[:1] + 1e-9 * x),
    }[kind]


def drawn(seed, number):
    """A model's options, a start, and how to run it."""
    g = np.random.default_rng([seed, number])
    one = lambda values: values[g.integers(len(values))]  # noqa: E731
    often = lambda usual, values: usual if g.random() < 0.6 else one(values)  # noqa: E731  or most would be refused
    engine = ENGINES[number % len(ENGINES)]
    d = often(2, [2, 3, 5])
    space = "sphere" if engine == "harmonic" else one(["sphere", "sphere", "sphere", "euclidean", "rescaled"])
    x = place(one(PLACES), d)
    options = {"dim": d, "beta": often(4.0, BETAS), "mask": often("causal", MASKS), "space": space}
    options["normaliser"] = often("softmax", ["count", "scaled-count"])
    options["layer_norm"] = often("post", NORMS) if space == "sphere" else "post"
    values = [np.eye(d), -np.eye(d), flock.weights.ginibre(d, 1), np.zeros((d, d)), flock.weights.rotation(d, 2)]
    seen = np.eye(d) if space == "sphere" else 2 * np.eye(d)
    bent = lambda: {"activation": one(["relu", "tanh", "linear"])}  # noqa: E731
    rare = {
        "value": (0.8, lambda: one(WEIGHTS) * one(values)),
        "query": (0.3, lambda: one(WEIGHTS) * flock.weights.ginibre(d, 3)),
        "key": (0.15, lambda: one(WEIGHTS) * flock.weights.ginibre(d, 4)),
        "frozen": (0.1, lambda: flock.Frozen(seen, one(WEIGHTS) * np.ones(d))),
        "bias": (0.1, lambda: flock.Alibi(one([0.1, -1.0, 1e300, -1e300]))),
        "feedforward": (0.1, lambda: flock.FeedForward(one(WEIGHTS) * np.eye(d), **bent())),
        "noise": (0.1, lambda: one([0.1, 1e-200, 1e200])),
        "masses": (0.1, lambda: one(WEIGHTS) * (1.0 + np.arange(len(x)))),
    }
    rarely = 0.2 if engine == "harmonic" else 1.0
    options |= {name: make() for name, (chance, make) in rare.items() if g.random() < chance * rarely}
    if space != "sphere":
        x = x * one([1.0, 1.0, 1e-200, 1e100, 1e200, 1e308])
    how = {"t_end": one(ENDS), "scheme": often("auto", NAMES), "dtype": often("float64", ["float32"])}
    how["engine"] = engine
    if how["scheme"] in ("euler", "heun", "rk4", "layers"):
        how["dt"] = often(min(how["t_end"], 1e300) / 3, [how["t_end"] / 10, 0.1, 1e-300, 1e300])
    if g.random() < 0.5 and how["t_end"] < INF:
        how["times"] = [0.0, how["t_end"]]
    return options, x, how


def wrong(options, x, how):
    """What is wrong with one run, in words, or ""."""
    began = time.process_time()

    def told(fraction):
        if time.process_time() - began > PATIENCE_S:
            raise Enough

    try:
        model = flock.Model(**options)
        run = flock.simulate(model, x, throw=False, progress=told, **how)
    except Enough:
        return ""
    except TokenflockError as error:
        return "" if str(error).rstrip(") ").endswith(".") or "pip install" in str(error) else f"no sentence: {error}"
    return untrue(model, run, how)


def untrue(model, run, how):
    """What is untrue in the outcome of a run."""
    frames, outcome = run["x"].values, run.attrs["outcome"]
    good = outcome.startswith((Outcome.DONE.value, Outcome.COLLAPSED.value))
    if not good:
        there = np.isfinite(frames).all(axis=(1, 2))
        known = outcome.startswith(tuple(o.value for o in Outcome if o.failed))
        return "" if known and not (np.diff(there.astype(int)) > 0).any() else f"{outcome}: frames after the end"
    if not np.isfinite(frames).all() or not np.isfinite(run.get("radius", run["time"]).values).all():
        return f"{outcome}: not finite"
    if model.space == "sphere":
        off = np.abs(np.linalg.norm(frames.astype(np.float64), axis=-1) - 1).max()
        if off > OFF_SPHERE[how["dtype"]]:
            return f"{outcome}: {off:.1e} off the sphere"
    if how["t_end"] < INF and "times" in how and run["time"].values[-1] != how["t_end"]:
        return f"{outcome}: at t = {run['time'].values[-1]}"
    return ""


def untrue_of(seed, numbers):
    """{number: what is wrong} of many runs."""
    found = {}
    for number in numbers:
        options, x, how = drawn(seed, number)
        try:
            if words := wrong(options, x, how):
                found[number] = (words, options, how)
        except Exception as error:
            found[number] = (f"{type(error).__name__}: {error}", options, how)
    return found


@pytest.mark.filterwarnings("ignore")
def test_outcomes_of_extreme_models_are_true():
    # Compiles nothing: the engines share the rule that is tested, and the slow test takes all of them.
    assert not untrue_of(1, range(ENGINES.index("reference"), 160, len(ENGINES)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, FULL, 500))
def test_outcomes_of_extreme_models_are_true_on_every_engine(first):
    assert not untrue_of(2, range(first, first + 500))


def untrue_elsewhere(options, x, how):
    """What is untrue of the merge tree, of the run in the explorer, and of what is extended, or ""."""
    began, model = time.process_time(), flock.Model(**options)

    def told(fraction):
        if time.process_time() - began > PATIENCE_S:
            raise Enough

    def tree():
        found = flock.merge_tree(model, x, progress=told)
        there = [found[name].values for name in ("time", "merge_time", "energy")]
        return "" if all(np.isfinite(values).all() for values in there) else "merge_tree: not finite"

    def page():
        plain = {k: v for k, v in options.items() if k not in ("frozen", "bias", "feedforward", "mask", "masses")}
        section = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in plain.items()}
        section |= {"mask": options["mask"]} if isinstance(options["mask"], str) else {}
        run = {"t_end": how["t_end"], "times": 3, "scheme": how["scheme"]}
        session = Session()
        session.begin({"model": section, "start": {"array": x.tolist()}, "simulate": run})
        while going := session.work():
            if time.process_time() - began > 2 * PATIENCE_S:
                break
        good = session.ended.startswith((Outcome.DONE.value, Outcome.COLLAPSED.value))
        frames = session._frames[: session.measured, :, : options["dim"]]
        if good and not going and (session.measured < session.total or session.failed):
            return f"explorer: {session.ended} after {session.measured} of {session.total} frames"
        sphere = options["space"] == "sphere"
        off = np.abs(np.linalg.norm(frames, axis=-1) - 1).max(initial=0.0) if sphere else 0.0
        return "" if np.isfinite(frames).all() and off < 1e-9 else "explorer: frames that hold no tokens"

    def more():
        times = np.linspace(0.0, min(how["t_end"], 1e300), 40)
        run = flock.simulate(model, x, times[-1], times=times, engine=how["engine"], progress=told)
        found = flock.extend(run, flock.uniform(2, model.dim, seed=7))
        return untrue(model, found, {"dtype": "float64", "t_end": times[-1], "times": times})

    for look in (tree, page, more):
        with contextlib.suppress(Enough, TokenflockError):  # what is refused has a sentence
            if words := look():
                return words
    return ""


def elsewhere(seed, numbers):
    """{number: what is wrong} in many models."""
    found = {}
    for number in numbers:
        options, x, how = drawn(seed, number)
        try:
            if words := untrue_elsewhere(options, x, how):
                found[number] = (words, options, how)
        except TokenflockError:
            continue
        except Exception as error:
            found[number] = (f"{type(error).__name__}: {error}", options, how)
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 1_000, 250))
def test_merge_trees_the_explorer_and_extensions_of_extreme_models_are_true(first):
    assert not elsewhere(3, range(first, first + 250))


FOUR = flock.uniform(4, 2)
KNOWN = {
    "a time without a reciprocal": ({"dim": 2}, flock.uniform(60, 2), {"t_end": 1e-308}),
    "a step that has no end": ({"dim": 2}, FOUR, {"t_end": 1.0, "scheme": "rk4", "dt": 1e-300}),
    "steps that no whole number counts": ({"dim": 2}, FOUR, {"t_end": 1e30, "scheme": "heun", "dt": 1e-300}),
    "a value beyond any step": (
        {"dim": 2, "value": -1e308 * np.eye(2), "layer_norm": "sqrt"},
        FOUR,
        {"t_end": 5.0, "scheme": "euler", "dt": 5.0},
    ),
    "a beta whose square is beyond float64": (
        {"dim": 2, "beta": 1e308, "layer_norm": "pre", "frozen": flock.Frozen(np.eye(2))},
        FOUR,
        {"t_end": 5.0},
    ),
    "masses whose sum is beyond float64": ({"dim": 2, "masses": np.full(4, 1e308)}, FOUR, {"t_end": 1.0}),
    "a form beyond float64": ({"dim": 2, "query": 1e200 * np.eye(2), "key": 1e200 * np.eye(2)}, FOUR, {"t_end": 1.0}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("options", "x", "how"), KNOWN.values(), ids=KNOWN)
def test_what_was_untrue_is_refused_or_says_why(options, x, how):
    with contextlib.suppress(TokenflockError):  # what is refused has a sentence
        run = flock.simulate(flock.Model(**options), x, engine="reference", throw=False, **how)
        assert not run.attrs["outcome"].startswith("Reached")


ENDLESS = {
    "a rotation in R^d": ({"dim": 2, "space": "euclidean", "value": flock.weights.rotation(2, 1)}, "tsit5"),
    "full attention that rests": ({"dim": 2, "mask": "full", "beta": 100.0, "value": np.diag([1.0, 0.5])}, "tsit5"),
}


@pytest.mark.parametrize("engine", ["cpu", pytest.param("reference", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("options", "scheme"), ENDLESS.values(), ids=ENDLESS)
def test_steps_below_the_rounding_of_t_end_end_a_run(options, scheme, engine):
    """Or it would go on for ever, and tell for ever that it has just begun."""
    model = flock.Model(**options)
    x = FOUR if model.space == "sphere" else flock.cube(4, 2)
    run = flock.simulate(model, x, 2.0**63, scheme=scheme, engine=engine, throw=False)
    assert run.attrs["outcome"].startswith(Outcome.SMALL.value), run.attrs["outcome"]
    assert "lower t_end" in run.attrs["outcome"]
    assert np.isfinite(run["x"].values).all()
    assert run["time"].values[-1] < 2.0**63


def test_a_run_of_many_days_can_be_interrupted_at_any_time():
    """Its steps are far above the rounding of t_end, and exp(tV) takes most of each: the estimate of a call knows."""
    model = flock.Model(dim=2, space="rescaled", value=1e-8 * np.eye(2), beta=0.0, mask="full")
    x = flock.cube(4, 2)
    flock.simulate(model, x, 1e9, engine="cpu")  # compiles
    told, began = [], time.process_time()

    def tell(fraction):
        told.append(time.process_time() - began)
        if told[-1] > 1.0:
            raise Enough

    with pytest.raises(Enough):
        flock.simulate(model, x, 2.0**63, engine="cpu", progress=tell)
    assert np.diff([0.0, *told]).max() < 1.0, "a call of some 0.1 s took longer than 1 s of the processor"


def test_steps_that_reach_t_end_do_not():
    slow = task(flock.Model(dim=2), t_end=1e12)
    assert not endless(slow, 1e3, 10**6, math.nan)
    assert endless(slow, 1.0, 10**6, math.nan)
    assert not endless(slow, 1.0, ENOUGH_STEPS - 1, math.nan)  # a fast beginning says nothing yet
    assert not endless(slow, 1.0, 10**6, 0.5)  # implicit steps grow
    assert not endless(task(flock.Model(dim=2), "rosenbrock", t_end=1e300), 1.0, 10**6, math.nan)


def test_frames_that_hold_no_tokens_end_a_run():
    work = task(flock.Model(dim=2))
    frames = np.stack([flock.uniform(3, 2, seed=k) for k in range(4)])
    assert sound(work, frames) == 4
    for bad in (np.nan, np.inf, 0.0):
        broken = frames.copy()
        broken[2, 1] = bad
        assert sound(work, broken) == 2
    assert sound(task(flock.Model(dim=2, space="euclidean")), 0.5 * frames) == 4
    assert sound(work, 0.5 * frames) == 0


def test_a_run_whose_engine_goes_on_with_no_tokens_says_so(monkeypatch):
    """An engine that claims to have reached t_end with nan in its frames is not believed."""
    from tokenflock.engine.reference import ReferenceEngine

    class Careless:
        def __init__(self, stepper):
            self._stepper = stepper

        def __getattr__(self, name):
            return getattr(self._stepper, name)

        def advance(self, times, frames, patience):
            made = self._stepper.advance(times, frames, patience)
            frames[:made][times[:made] > 0.5] = np.nan
            return made

    begin = ReferenceEngine.begin
    monkeypatch.setattr(ReferenceEngine, "begin", lambda *args, **options: Careless(begin(*args, **options)))
    run = flock.simulate(
        flock.Model(dim=2), flock.uniform(4, 2), 1.0, times=[0.0, 0.5, 0.9, 1.0], engine="reference", throw=False
    )
    assert run.attrs["outcome"] == Outcome.NOT_FINITE.value
    assert run.sizes["time"] == 2
