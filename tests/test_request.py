"""One request for every verb: a bad combination gives the same sentence wherever it is asked for."""

import inspect
import re
from importlib.util import find_spec

import numpy as np
import pytest
from typer.testing import CliRunner

import tokenflock as flock
from tokenflock import request
from tokenflock.cli import app
from tokenflock.cli.simulate import FLAGS, _by_flag
from tokenflock.errors import SpecError, TokenflockError
from tokenflock.explorer import messages as explorer
from tokenflock.explorer.messages import Limits, check_run
from tokenflock.explorer.session import Session
from tokenflock.request import Request
from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.shards import compute, cut

START = flock.uniform(5, 2, seed=1)
LATE = {"t_end": 1.0}
IMPLICIT = {"scheme": "rosenbrock"}

# name -> model, [simulate], start, how the sentence begins, and the verbs that take such arguments
EVERY = ("simulate", "sweep", "explorer", "cli")
PYTHON = ("simulate", "sweep")
CASES = {
    "reference-implicit": ({}, IMPLICIT | {"engine": "reference"}, START, "engine='reference' has explicit", EVERY),
    "harmonic-implicit": ({}, IMPLICIT | {"engine": "harmonic"}, START, "engine='harmonic' has explicit", EVERY),
    "gpu-implicit": ({}, IMPLICIT | {"engine": "gpu"}, START, "engine='gpu' has explicit schemes", EVERY),
    "harmonic-dim": ({"dim": 5}, {"engine": "harmonic"}, flock.uniform(4, 5), "engine='harmonic' cannot run", EVERY),
    "implicit-noise": ({"noise": 0.1}, IMPLICIT, START, "scheme='rosenbrock' cannot be used with noise", EVERY),
    "implicit-norm": ({"layer_norm": "pre"}, IMPLICIT, START, "scheme='rosenbrock' cannot be used with layer", EVERY),
    "adaptive-dt": ({}, {"scheme": "tsit5", "dt": 0.1}, START, "scheme='tsit5' and dt cannot be combined", EVERY),
    "auto-dt": ({}, {"dt": 0.1}, START, "scheme='tsit5' and dt cannot be combined", EVERY),
    "no-dt": ({}, {"scheme": "rk4"}, START, "dt = None cannot be used", (*EVERY, "flow")),
    "noise-rk4": ({"noise": 0.1}, {"scheme": "rk4", "dt": 0.1}, START, "noise and scheme='rk4'", (*EVERY, "flow")),
    "noise-tsit5": ({"noise": 0.1}, {"scheme": "tsit5"}, START, "noise and scheme='tsit5'", (*EVERY, "flow")),
    "dt-negative": ({}, {"scheme": "rk4", "dt": -0.1}, START, "dt = -0.1 cannot be used", (*EVERY, "flow")),
    "rtol-rounding": ({}, {"rtol": 1e-16}, START, "rtol = 1e-16 cannot be used", (*EVERY, "flow", "merge_tree")),
    "rtol-zero": ({}, {"rtol": 0.0}, START, "rtol = 0.0 cannot be used", (*EVERY, "flow", "merge_tree")),
    "atol-negative": ({}, {"atol": -1.0}, START, "atol = -1.0 cannot be used", (*EVERY, "flow", "merge_tree")),
    "scheme": ({}, {"scheme": "huen"}, START, "unknown scheme 'huen'. Did you mean 'heun'?", EVERY),
    "engine": ({}, {"engine": "refrence"}, START, "unknown engine 'refrence'. Did you mean", EVERY),
    "dtype": ({}, {"dtype": "float16"}, START, "unknown dtype 'float16'", EVERY),
    "dtype-reference": ({}, {"dtype": "float32", "engine": "reference"}, START, "engine='reference' cannot", PYTHON),
    "t-end-zero": ({}, {"t_end": 0.0}, START, "t_end = 0.0 cannot be used. Allowed: a finite number > 0", EVERY),
    "t-end-negative": ({}, {"t_end": -2.0}, START, "t_end = -2.0 cannot be used", EVERY),
    "t-end-tiny": (
        {},
        {"t_end": 1e-308},
        START,
        "t_end = 1e-308 cannot be used. Allowed: an end of time",
        ["simulate"],
    ),
    "times": ({}, {"times": [0.0, 0.5, 0.4]}, START, "times = '0.5 then 0.4", ("simulate", "sweep", "explorer")),
    "times-late": ({}, {"times": [0.0, 1.5]}, START, "times = '0 .. 1.5' cannot", ("simulate", "sweep", "explorer")),
    "inf-dt": ({}, {"t_end": np.inf, "dt": 0.1}, START, "t_end=inf and dt cannot be combined", (*PYTHON, "cli")),
    "inf-scheme": ({}, {"t_end": np.inf, "scheme": "rk4"}, START, "t_end=inf and scheme='rk4'", (*PYTHON, "cli")),
    "inf-noise": ({"noise": 0.1}, {"t_end": np.inf}, START, "t_end=inf cannot be used with noise", (*PYTHON, "cli")),
    "inf-reference": ({}, {"t_end": np.inf, "engine": "reference"}, START, "engine='reference' has", (*PYTHON, "cli")),
    "off-sphere": ({}, {}, 2 * START, "start = 'tokens up to 1.0e+00 off", (*EVERY, "merge_tree")),
    "start-shape": ({"dim": 3}, {}, START, "start.shape = (5, 2) cannot be used", (*EVERY, "merge_tree")),
}


def by_simulate(model, start, options, folder):
    flock.simulate(flock.Model(**model), start, **options)


def by_sweep(model, start, options, folder):
    plan = Plan(flock.Model(**model), {}, start=start, simulate=options, replicates=2)
    raise SpecError(compute(plan, cut(plan.shape, 2), 0)["reason"].flat[0])


def by_explorer(model, start, options, folder):
    Session().begin({"model": model, "start": {"array": start.tolist()}, "simulate": options})


def by_cli(model, start, options, folder):
    np.save(folder / "start.npy", start)
    given = {**model, **options, "start_file": folder / "start.npy"}
    assert given.keys() <= FLAGS.keys()
    words = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    done = CliRunner().invoke(app, ["simulate", *words, "--quiet"])
    assert done.exit_code == 2
    raise SpecError(done.output.strip().removeprefix("error: "))


def by_flow(model, start, options, folder):
    pytest.importorskip("torch")
    flock.Flow(flock.Model(**model), **{name: value for name, value in options.items() if name != "t_end"})


def by_merge_tree(model, start, options, folder):
    flock.merge_tree(flock.Model(**model), start, **{name: v for name, v in options.items() if name != "t_end"})


VERBS = {
    "simulate": by_simulate,
    "sweep": by_sweep,
    "explorer": by_explorer,
    "cli": by_cli,
    "flow": by_flow,
    "merge_tree": by_merge_tree,
}


@pytest.mark.parametrize(("case", "verb"), [(case, verb) for case, row in CASES.items() for verb in row[4]])
def test_every_verb_says_the_same_sentence(case, verb, tmp_path):
    model, options, start, words, _ = CASES[case]
    if options.get("engine") == "gpu" and find_spec("torch") is None:
        pytest.skip("the engine on a device needs torch")
    model, options = {"dim": 2} | model, LATE | options
    with pytest.raises(TokenflockError) as expected:
        by_simulate(model, start, options, tmp_path)
    sentence = str(expected.value)
    assert sentence.startswith(words)
    with pytest.raises(TokenflockError) as caught:
        VERBS[verb](model, start, options, tmp_path)
    assert str(caught.value) == (_by_flag(sentence) if verb == "cli" else sentence)


def test_the_defaults_have_one_home():
    asked = {name: p.default for name, p in inspect.signature(Request).parameters.items() if p.default is not p.empty}
    assert asked["rtol"] is request.RTOL
    assert asked["atol"] is request.ATOL
    for verb in (flock.simulate, flock.merge_tree):
        taken = inspect.signature(verb).parameters
        assert all(taken[name].default == asked[name] for name in taken.keys() & asked.keys())


@pytest.mark.parametrize(
    ("t_end", "how", "equal"),
    [
        (9999.0, {}, "steps"),
        (1e4, {}, "ratios"),
        (1e30, {}, "ratios"),
        (1e4, {"scheme": "tsit5"}, "ratios"),
        (1e4, {"scheme": "rk4", "dt": 0.5}, "ratios"),
        (2.0, IMPLICIT, "ratios"),
        (0.5, IMPLICIT, "steps"),
        (1e4, {"scheme": "layers", "dt": 100.0}, "steps"),
    ],
)
def test_default_times_have_equal_ratios_from_1e4_on(t_end, how, equal):
    model = flock.Model(dim=2)
    kept = Request(model, t_end, **how).kept
    assert (len(kept), kept[0], kept[-1]) == (request.FRAMES, 0.0, pytest.approx(t_end))
    found = np.diff(kept) if equal == "steps" else np.diff(np.log(kept[1:]))
    assert np.allclose(found, found[0])
    assert equal == "steps" or kept[1] == pytest.approx(min(1e-2, t_end / 10))
    if how.get("scheme") == "layers":
        return
    shown = check_run({"model": {"dim": 2}, "start": {"n_tokens": 5}, "simulate": {"t_end": t_end, **how}}, Limits())
    assert shown.options["times"].tolist() == request.default_times(t_end, explorer.FRAMES, how == IMPLICIT).tolist()
    plan = Plan(model, {}, start=START, simulate={"t_end": t_end, **how}, record=["counts"], replicates=2)
    assert plan.times.tolist() == kept.tolist()


def test_flow_has_the_defaults_of_a_request():
    pytest.importorskip("torch")
    taken = inspect.signature(flock.Flow.__init__).parameters
    assert (taken["rtol"].default, taken["atol"].default) == (request.RTOL, request.ATOL)
    assert taken["seed"].default == request.SEED


def test_no_other_file_repeats_the_tolerances():
    from pathlib import Path

    for path in Path(request.__file__).parent.rglob("*.py"):
        assert not {"rtol: float = 1e-6", "atol: float = 1e-9"} & set(
            re.findall(r"[ra]tol: float = [^,]+", path.read_text())
        ), path


def test_a_request_serves_many_starts():
    asked = Request(flock.Model(dim=2, beta=4.0), 2.0, times=[1.0, 2.0])
    assert asked.task.t_end == 2.0
    for seed in range(3):
        x = flock.uniform(6, 2, seed=seed)
        found = asked.starting(x).run()
        again = flock.simulate(flock.Model(dim=2, beta=4.0), x, 2.0, times=[1.0, 2.0])
        assert found.frames.tobytes() == again["x"].values.tobytes()
        assert found.times.tolist() == [1.0, 2.0]


def test_a_run_step_by_step_is_the_run_at_once():
    job = Request(flock.Model(dim=2, beta=4.0), 2.0, times=[1.0, 2.0], engine="cpu").starting(START)
    stepper, frames, filled = job.begin(), np.empty((2, *START.shape)), 0
    while filled < 2:
        filled += stepper.advance(job.request.kept[filled:], frames[filled:], 1)
    assert frames.tobytes() == job.run().frames.tobytes()
    assert job.patience(1e-30) == 1 < job.patience(1.0)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_the_order_of_memory_of_the_start_changes_no_bit(engine):
    model, x = flock.Model(dim=3, beta=2.0), flock.uniform(9, 3, seed=2)
    runs = [flock.simulate(model, start, 1.0, engine=engine) for start in (x, np.asfortranarray(x))]
    assert runs[0]["x"].values.tobytes() == runs[1]["x"].values.tobytes()
    assert flock.again(runs[1])["x"].values.tobytes() == runs[1]["x"].values.tobytes()


def test_a_reducer_that_writes_to_its_frame_changes_nothing():
    def spoil(x):
        x[:] = 0.0
        return 0.0

    plain = flock.simulate(flock.Model(dim=2), START, 1.0)
    kept = flock.simulate(flock.Model(dim=2), START, 1.0, reduce={"a": spoil, "b": np.sum})
    assert kept["x"].values.tobytes() == plain["x"].values.tobytes()
    assert kept["b"].values == pytest.approx(plain["x"].sum(("token", "axis")).values)


def test_the_memory_of_the_machine_is_known():
    from tokenflock.memory import machine_bytes

    assert machine_bytes() > 2**28
