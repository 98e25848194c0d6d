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
from tokenflock.runner import OFF_SPHERE, sound
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
    d = one([2, 3, 5])
    space = one(["sphere", "sphere", "sphere", "euclidean", "rescaled"])
    x = place(one(PLACES), d)
    options = {"dim": d, "beta": one(BETAS), "mask": one(MASKS), "space": space}
    options["normaliser"] = one(["softmax", "softmax", "count", "scaled-count"])
    options["layer_norm"] = one(NORMS) if space == "sphere" else "post"
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
    options |= {name: make() for name, (chance, make) in rare.items() if g.random() < chance}
    if space != "sphere":
        x = x * one([1.0, 1.0, 1e-200, 1e100, 1e200, 1e308])
    how = {"t_end": one(ENDS), "scheme": one(["auto", *NAMES]), "dtype": one(["float64", "float64", "float32"])}
    how["engine"] = ENGINES[number % len(ENGINES)]
    if how["scheme"] in ("euler", "heun", "rk4", "layers"):
        how["dt"] = one([min(how["t_end"], 1e300) / 3, how["t_end"] / 10, 0.1, 1e-300, 1e300])
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
