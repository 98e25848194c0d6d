"""flock.diagnose: a run for each symptom must show it, and its healthy twin must not."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import tokenflock as flock
from models import every_model_option, tokens_for
from tokenflock import cli, diagnosis, weights
from tokenflock.analysis import clusters
from tokenflock.diagnosis import Diagnosis, Symptom
from tokenflock.diagnosis.clustering import next_merge
from tokenflock.diagnosis.evidence import Evidence
from tokenflock.errors import SpecError

COUNT = {"dim": 2, "beta": 1.0, "normaliser": "count", "mask": "full"}
CAP = flock.cap(8, 2, angle=0.3, seed=1)
TURN = np.array([[1.0, 2.0, 0.0], [-2.0, 1.0, 0.0], [0.0, 0.0, 0.2]])


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine that still compiles must not change what is found."""
    monkeypatch.setattr(diagnosis, "BUDGET_S", np.inf)


def made(start=None, t_end=60.0, run=None, **model):
    """A run; by default the healthy one. run: keywords of simulate."""
    chosen = flock.Model(**({"dim": 3, "beta": 1.0} | model))
    tokens = flock.uniform(16, chosen.dim, seed=0) if start is None else start
    return flock.simulate(chosen, tokens, t_end, **({"throw": False} | (run or {})))


def damaged(run, **changes):
    """A run as someone's script or disk may have left it."""
    broken = run.copy(deep=True)
    for name, change in changes.items():
        if name == "outcome":
            broken.attrs["outcome"] = change
        else:
            broken[name] = change(broken[name])
    return broken


SMALL = "The step size fell below rounding. Raise rtol, or take a fixed step: scheme='rk4' with dt."
INTERRUPTED = "Interrupted: this is what was computed so far."
TWINS = {
    "off-sphere": (lambda: damaged(made(), x=lambda x: x * (1 + 1e-9)), made),
    "interrupted": (lambda: damaged(made(), outcome=INTERRUPTED), made),
    "step-too-small": (lambda: damaged(made(), outcome=SMALL), made),
    "not-finite": (
        lambda: made(dim=2, space="euclidean", value=np.diag([30.0, 1.0]), t_end=50.0),
        lambda: made(dim=2, space="euclidean", value=-np.eye(2), t_end=5.0),
    ),
    "diverging": (
        lambda: made(dim=2, space="euclidean", t_end=6.0),
        lambda: made(dim=2, space="rescaled", t_end=6.0),
    ),
    "step-too-large": (
        lambda: made(CAP, 18.0, {"scheme": "euler", "dt": 0.9, "times": 0.9 * np.arange(21)}, **COUNT),
        lambda: made(CAP, 18.0, {"scheme": "euler", "dt": 0.05}, **COUNT),
    ),
    "oscillating": (
        lambda: made(t_end=15.0, run={"scheme": "layers", "dt": 1.5}, dim=2, value=-np.eye(2)),
        lambda: made(t_end=15.0, run={"scheme": "layers", "dt": 0.5}, dim=2, value=-np.eye(2)),
    ),
    "inaccurate": (
        lambda: made(t_end=15.0, run={"scheme": "layers", "dt": 1.5}, dim=2, value=-np.eye(2)),
        lambda: made(t_end=2.0, run={"scheme": "rk4", "dt": 0.05}, dim=2, value=-np.eye(2)),
    ),
    "tolerance-too-loose": (
        lambda: made(t_end=40.0, run={"rtol": 0.1, "atol": 0.1}, value=TURN),
        lambda: made(t_end=40.0, run={"rtol": 1e-7}, value=TURN),
    ),
    "sensitive": (  # two opposite tokens: a thousandth of a radian decides on which way round they go
        lambda: made(flock.geometry.circle(np.array([0.0, np.pi - 1e-4])), 20.0, dim=2, beta=0.0),
        lambda: made(flock.geometry.circle(np.array([0.0, 1.0])), 20.0, dim=2, beta=0.0),
    ),
    "rotating": (lambda: made(value=TURN), lambda: made(value=(TURN + TURN.T) / 2)),
    "noise": (lambda: made(noise=0.3, t_end=3.0), made),
    "no-clustering": (lambda: made(value=-np.eye(3)), made),
    "not-covered": (lambda: made(mask="full"), made),
    "metastable": (lambda: made(dim=2, beta=9.0), lambda: made(dim=2, beta=0.5)),
    "rests-elsewhere": (  # a counterexample of conjecture 1: Q^T K = diag(-1, 1) holds tokens away from xi
        lambda: made(t_end=400.0, dim=2, beta=8.0, value=np.diag([1.0, 0.5]), query=np.diag([-1.0, 1.0])),
        lambda: made(t_end=400.0, dim=2, beta=8.0, value=np.diag([1.0, 0.5])),
    ),
    "unfinished": (lambda: made(t_end=1.0), made),
    "finished": (made, lambda: made(t_end=1.0)),
    "atlas": (made, lambda: made(noise=0.1, t_end=1.0)),
    "ensemble": (lambda: made(flock.uniform(8, 3, seed=0, runs=3)), made),
    "not-measured": (lambda: made(run={"times": [0.0]}), made),
}


@pytest.mark.parametrize("name", TWINS)
def test_the_sick_run_shows_it_and_its_twin_does_not(name):
    sick, healthy = (flock.diagnose(make()) for make in TWINS[name])
    assert name in sick.names, str(sick)
    assert name not in healthy.names, str(healthy)
    for found in sick.findings:
        assert found.text[-1] == "."
        assert found.number is None or isinstance(found.number, float)


def test_tokens_that_leave_a_saddle_are_not_at_rest():
    """They are as slow as the error of a rest that draws tokens in; followed finer, they become faster."""
    saddle = flock.geometry.circle(np.full(3, np.pi / 2 - 1e-9))
    run = made(saddle, 2.0, dim=2, value=np.diag([1.0, 0.9]))
    assert Evidence(run, None).speed < 1e-9
    assert "rests-elsewhere" not in flock.diagnose(run).names


SPIRAL = np.array([[1.0, 2.0], [-2.0, 1.0]])


def rescaled(n_tokens=16, t_end=10.0, space="rescaled", start=None, **model):
    """A run of paper B."""
    chosen = {"dim": 2, "space": space, "mask": "full"} | model
    tokens = flock.cube(n_tokens, chosen["dim"], 2.0, seed=0) if start is None else start
    return made(tokens, t_end, **chosen)


IN_SPACE = {
    "complex V": ("rotating", lambda: rescaled(value=SPIRAL), lambda: rescaled(value=(SPIRAL + SPIRAL.T) / 2)),
    "complex V in R^d": (
        "rotating",
        lambda: rescaled(value=SPIRAL, t_end=4.0, space="euclidean"),
        lambda: rescaled(t_end=4.0, space="euclidean"),
    ),
    "complex V, indefinite Q'K": (
        "no-clustering",
        lambda: rescaled(value=SPIRAL, key=np.diag([1.0, -0.5])),
        lambda: rescaled(value=(SPIRAL + SPIRAL.T) / 2, key=np.diag([1.0, -0.5])),
    ),
    "clusters that do not form": ("no-clustering", lambda: rescaled(12, dim=40), rescaled),
    "not yet": ("unfinished", lambda: rescaled(t_end=0.2), rescaled),
    "gathered": ("finished", rescaled, lambda: rescaled(12, dim=40)),
    "gathered in R^d": ("finished", lambda: rescaled(t_end=8.0, space="euclidean"), lambda: rescaled(t_end=0.2)),
    "identical": ("identical", lambda: rescaled(start=np.ones((10, 2))), rescaled),
    "identical on the sphere": ("identical", lambda: made(np.tile(np.eye(3)[:1], (4, 1)), 2.0), made),
    "not covered": ("not-covered", lambda: rescaled(value=np.diag([1.0, -1.5])), rescaled),
    "no growth": ("not-measured", lambda: rescaled(value=-np.eye(2), space="euclidean"), made),
}


@pytest.mark.parametrize("kind", IN_SPACE)
def test_symptoms_in_space_and_their_twins(kind):
    name, sick, healthy = IN_SPACE[kind]
    seen = flock.diagnose(sick(), again=False)
    assert name in seen.names, str(seen)
    assert name not in flock.diagnose(healthy(), again=False).names
    json.dumps(seen.plain(), allow_nan=False)


def test_the_numbers_of_runs_in_space():
    assert number(rescaled(value=SPIRAL, start=3 * np.ones((1, 2))), "rotating") == pytest.approx(2.0, abs=1e-6)
    alone = rescaled(value=SPIRAL, start=3 * np.ones((1, 2)), t_end=4.0, space="euclidean")
    assert number(alone, "rotating") == pytest.approx(2.0, abs=1e-6)
    assert number(rescaled(value=np.diag([1.0, -0.5])), "finished") == 2.0  # Theorem 4.2: two hyperplanes
    square = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1], [0.3, 0.1]]) * 3
    assert number(rescaled(start=square, t_end=14.0), "no-clustering") == 4.0  # Theorem 3.1: the corners
    assert number(rescaled(start=np.repeat(np.eye(2), 3, axis=0), t_end=1.0), "identical") == pytest.approx(1 / 3)
    same = "They see the same, so they stay together for ever"
    assert same in str(flock.diagnose(rescaled(start=np.ones((3, 2))), again=False))
    assert same not in str(flock.diagnose(rescaled(start=np.ones((3, 2)), mask="causal"), again=False))


def test_repeating_a_run_says_how_far_it_is():
    run, heard = made(), []
    flock.diagnose(run, progress=heard.append)
    assert heard
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    heard.clear()
    flock.diagnose(run, progress=heard.append, again=False)
    assert not heard
    with pytest.raises(SpecError, match="progress = 3 cannot be used"):
        flock.diagnose(run, progress=3)


def test_what_grows_is_seen_whatever_else_there_is():
    """In R^d and rescaled, an oblique V with a falling direction: the same places."""
    value = np.array([[1.0, 0.7], [0.0, -0.4]])
    found = [flock.diagnose(rescaled(value=value, space=space, t_end=9.0)) for space in ("rescaled", "euclidean")]
    places = [f.number for one in found for f in one.findings if f.name == "finished"]
    assert len(places) == 2
    assert places[0] == places[1]


def test_a_healthy_run_has_nothing_but_its_end():
    found = flock.diagnose(made())
    assert found.names == ["finished", "atlas"]
    assert found.findings[1].number < 1e-8
    assert str(found).startswith(
        "16 tokens in dimension 3, from t = 0 to 60:\n- finished: All tokens met before t = 60"
    )
    assert isinstance(found, Diagnosis)
    assert isinstance(found.findings[0], Symptom)


def test_a_step_is_no_longer_than_the_frames_are_apart():
    """euler with dt = 0.9, but a frame, and so the end of a step, every 0.18."""
    assert "step-too-large" not in flock.diagnose(made(CAP, 18.0, {"scheme": "euler", "dt": 0.9}, **COUNT)).names


def test_turning_is_not_oscillating():
    """Layers that turn every token by 1.3 radians: two steps overlap by 0.27, and nothing goes back and forth."""
    turn = weights.plane_rotation(np.pi / 2)
    run = made(t_end=36.0, run={"scheme": "layers", "dt": 3.6}, dim=2, value=turn)
    steps = np.diff(run["x"].values[-3:, 0], axis=0)
    assert steps[0] @ steps[1] / (steps[0] @ steps[0]) == pytest.approx(np.cos(np.arctan(3.6)), abs=1e-6)
    found = flock.diagnose(run)
    assert "rotating" in found.names
    assert "oscillating" not in found.names


def number(run, name):
    return next(found.number for found in flock.diagnose(run).findings if found.name == name)


def test_the_numbers_are_those_of_the_run():
    assert number(TWINS["off-sphere"][0](), "off-sphere") == pytest.approx(1e-9, rel=1e-3)
    assert number(made(value=TURN, t_end=60.0), "rotating") == pytest.approx(2.0, rel=1e-3)
    far = made(value=TURN, t_end=60.0, run={"times": [0.0, 60.0]})  # too few frames to count turns: by the velocity
    assert number(far, "rotating") == pytest.approx(2.0, rel=1e-3)
    assert number(made(dim=2, space="euclidean", value=0.7 * np.eye(2), t_end=9.0), "diverging") == pytest.approx(0.7)
    # A pair of tokens in one place relaxes at e^beta under the count normaliser: dt e^beta = 2.45.
    assert number(TWINS["step-too-large"][0](), "step-too-large") == pytest.approx(0.9 * np.e, rel=0.1)
    # Two opposite tokens, causal, beta = 0: the angle that is left grows like e^{t/2} until it is no longer small.
    assert 0.35 < number(TWINS["sensitive"][0](), "sensitive") < 0.51


@pytest.mark.parametrize(
    ("model", "n_tokens", "t_end", "within"),
    [
        ({"dim": 2, "beta": 9.0}, 40, 60.0, 0.1),
        ({"dim": 2, "beta": 64.0}, 200, 60.0, 0.1),
        ({"dim": 2, "beta": 9.0, "mask": "full"}, 40, 40.0, 0.1),
        ({"dim": 3, "beta": 9.0, "mask": "full", "value": 2 * np.eye(3)}, 32, 200.0, 0.1),
        ({"dim": 2, "beta": 9.0, "mask": "full", "normaliser": "scaled-count"}, 40, 400.0, 0.1),
        ({"dim": 2, "beta": 9.0, "normaliser": "scaled-count"}, 20, 400.0, 0.3),
        ({"dim": 2, "beta": 16.0, "query": np.array([[1, 0.3], [0, 1.0]])}, 40, 100.0, 9.0),  # a scale, no more
    ],
)
def test_the_predicted_merge_comes_when_predicted(model, n_tokens, t_end, within):
    chosen = flock.Model(**model)
    evidence = Evidence(flock.simulate(chosen, flock.uniform(n_tokens, chosen.dim, seed=2), t_end), None)
    assert evidence.n_clusters > 1
    log10, exact = next_merge(evidence)
    predicted = 10**log10
    assert exact == ("query" not in model)
    onward = flock.simulate(
        chosen, flock.geometry.retract(evidence.last), 10 * predicted, times=predicted * np.geomspace(0.02, 10, 800)
    )
    count = clusters.count(onward, evidence.radius_of_clusters).values
    seen = float(onward["time"][np.argmax(count < evidence.n_clusters)])
    assert abs(np.log(predicted / seen)) < np.log1p(within)


def test_a_merge_beyond_all_numbers_is_still_told():
    run = made(flock.geometry.circle(np.array([0.0, 0.0, 2.0, 2.0])), 5.0, dim=2, beta=2000.0)
    found = next(f for f in flock.diagnose(run).findings if f.name == "metastable")
    assert "1e12" in found.text  # 2000 (1 - cos 2) / log 10 = 1230 digits
    assert json.loads(json.dumps(flock.diagnose(run).plain(), allow_nan=False))


def test_the_reasons_are_named():
    cases = {
        "lambda_max = -1 < 0, so tokens repel": {"value": -np.eye(3)},
        "two clouds of tokens": {"value": np.diag([-1.0, -2.0, -3.0])},
        "lambda_max is not real": {"value": TURN},
        "lambda_max has a Jordan block of size 2": {"value": weights.jordan(1.0, 2), "dim": 2},
        "lambda_max is 0": {"value": np.diag([0.0, -1.0, -2.0])},
        "V is 0": {"value": np.zeros((3, 3))},
        "a window of width 1": {"mask": flock.Window(1)},
        "the window of width 4 hides the first token": {"mask": flock.Window(4)},
        "the mask is full": {"mask": "full"},
        "the layer norm is 'pre'": {"layer_norm": "pre"},
        "the normaliser is 'count'": {"normaliser": "count"},
        "hardmax": {"beta": np.inf},
        "the feed-forward moves": {"feedforward": flock.FeedForward(np.eye(3), activation="tanh")},
        "frozen tokens keep clusters": {"frozen": flock.Frozen(np.eye(3))},
        "not all eigenvalues are real and positive": {"value": np.diag([1.0, 0.5, -0.5])},
        "the 2 heads here attend differently": {"query": np.stack([np.eye(3), 2 * np.eye(3)])},
    }
    for said, model in cases.items():
        assert said in str(flock.diagnose(made(t_end=3.0, **model), again=False)), said


def test_heads_that_attend_alike_are_one_head():
    run = made(value=np.stack([np.eye(3), 2 * np.eye(3)]))
    assert flock.diagnose(run).names == ["finished", "atlas"]
    assert "(first-token)" in str(flock.diagnose(run))


def test_the_atlas_knows_the_limit_of_the_first_token():
    value = weights.spectrum([1.0, 1.0, 0.3], seed=3)  # oblique: P_L alone would be wrong
    run = made(value=value, t_end=80.0)
    assert number(run, "atlas") < 1e-6
    assert number(made(value=np.diag([1.0, 0.5, 0.2])), "atlas") < 1e-6
    assert number(made(value=np.diag([1.0, 0.5, 0.2]), t_end=0.5), "atlas") > 0.1


def test_ensembles_say_which_run():
    run = made(flock.uniform(8, 3, seed=0, runs=3), 2.0)
    assert flock.diagnose(run, 2).run == 2
    assert str(flock.diagnose(run, 2)).startswith("Run 2 of 3 (counted from 0): 8 tokens")
    lone = flock.diagnose(flock.simulate(flock.Model(dim=3), run["start"].values[2], 2.0), again=False)
    assert lone.findings == flock.diagnose(run, 2, again=False).findings[1:]
    run["outcome"].values[1] = 2  # interrupted
    assert flock.diagnose(run).run == 1
    assert "interrupted" in flock.diagnose(run).names
    with pytest.raises(flock.errors.SpecError, match="which = 3 cannot be used"):
        flock.diagnose(run, 3)


OPTIONS = dict(every_model_option())


@pytest.mark.parametrize("name", OPTIONS)
def test_no_model_is_too_odd(name):
    """Every option of a model, one token and several, one frame and several: sentences, never a traceback."""
    model = OPTIONS[name]
    for n_tokens, times in ((1, [0.0, 0.5]), (5, [0.5])):
        run = flock.simulate(model, tokens_for(model, n_tokens), 0.5, times=times, throw=False)
        found = flock.diagnose(run)
        assert found.findings
        json.dumps(found.plain(), allow_nan=False)


@pytest.mark.parametrize(
    "options",
    [
        {"position": flock.Rope()},
        {"groups": flock.Groups(list("aabbb"), value={"a": np.eye(2), "b": 2 * np.eye(2)})},
        {"drift": lambda x, t: -x},
        {"beta": flock.Schedule([0.0, 0.3], [1.0, 2.0])},
    ],
    ids=["position", "groups", "drift", "varying"],
)
def test_what_has_no_equations_in_z_is_diagnosed_without_them(options):
    model = flock.Model(dim=2, space="euclidean", mask="full", **options)
    assert flock.diagnose(flock.simulate(model, flock.cube(5, 2), 0.2, times=[0.0, 0.2])).findings


def test_what_is_missing_is_said():
    no_positions = made(run={"positions": False, "reduce": {"mean": lambda x: x.mean()}})
    assert "The run kept no positions" in str(flock.diagnose(no_positions))
    assert "There is no frame after the start" in str(flock.diagnose(made(run={"times": [0.0]})))
    assert "it is about the sphere, and this run has space='rescaled'" in str(
        flock.diagnose(made(space="rescaled", t_end=1.0))
    )
    nothing = made().isel(time=slice(0, 0))
    assert "There is no frame after the start" in str(flock.diagnose(nothing))
    with pytest.raises(flock.errors.SpecError, match=r"run = \[1.0\] cannot be used. Allowed: a trajectory"):
        flock.diagnose([1.0])
    with pytest.raises(flock.errors.SpecError, match="not a trajectory of tokenflock"):
        flock.diagnose(made().drop_attrs())


def test_what_there_is_no_time_for_is_named(monkeypatch):
    run = made(flock.uniform(8, 3, seed=0, runs=2), 2.0)
    monkeypatch.setattr(diagnosis, "BUDGET_S", 0.0)
    found = flock.diagnose(run)
    assert found.names == ["not-measured"]
    for words in ("the runs of the ensemble", *diagnosis.KINDS):
        assert words in found.findings[0].text
    assert "because a diagnosis takes at most about 0 s." in found.findings[0].text
    assert "accuracy" not in str(flock.diagnose(run, again=False)), "nobody asked for it"
    monkeypatch.setattr(diagnosis, "BUDGET_S", np.inf)
    assert "Left out" not in str(flock.diagnose(run))


def test_only_what_comes_too_late_is_left_out(monkeypatch):
    """The repetition is what can take all the time: it comes last, and all else is told."""

    def slow(evidence):
        monkeypatch.setattr(Evidence, "late", True)
        return []

    names = flock.diagnose(made(), again=False).names
    monkeypatch.setitem(diagnosis.KINDS, "the atlas", slow)
    found = flock.diagnose(made())
    assert found.names == [name for name in names if name != "atlas"] + ["not-measured"]
    assert found.findings[-1].text.startswith("Left out: accuracy and sensitivity, because")


LONG_RUN = flock.geometry.circle(np.array([0.0, 0.41, 1.3, 2.2, 3.6]))


def test_a_long_run_is_repeated_by_implicit_steps(monkeypatch):
    """Explicit steps to 1e30 would not come to an end."""
    run = made(LONG_RUN, 1e30, {"scheme": "rosenbrock"}, dim=2, beta=100.0, mask="full")
    evidence = Evidence(run, None)
    assert evidence.finer["scheme"] == "rosenbrock"
    assert evidence.finer["rtol"] < run.attrs["rtol"]
    assert evidence.again.gap < 1e-4
    short = Evidence(made(LONG_RUN, 30.0, dim=2, beta=100.0, mask="full"), None)
    assert "scheme" not in short.finer
    causal = Evidence(made(LONG_RUN, 1e30, dim=2, beta=100.0), None)
    assert causal.finer["scheme"] == "auto"


def test_a_repetition_that_takes_too_long_is_stopped():
    run = made(flock.uniform(40, 2, seed=0), 1e30, {"scheme": "rosenbrock"}, dim=2, beta=64.0, mask="full")
    assert Evidence(run, None, seconds=0.0).again == (
        "repeating the run was not done in the 0 s that a diagnosis may take"
    )


def test_the_command_says_the_same(tmp_path):
    run = made(flock.uniform(8, 3, seed=0, runs=3), 2.0)
    flock.save(run, tmp_path / "run.nc")

    def diagnose(*words):
        return CliRunner().invoke(cli.app, ["diagnose", *map(str, words)], catch_exceptions=False)

    told = diagnose(tmp_path / "run.nc")
    assert told.exit_code == 0
    assert told.stdout == f"{flock.diagnose(run)}\n"
    assert json.loads(diagnose(tmp_path / "run.nc", "--run", "1", "--json").stdout)["run"] == 1
    refused = diagnose(tmp_path / "run.nc", "--run", "x").stderr
    assert "--run = 'x' cannot be used. Allowed: a whole number >= 0" in refused
    missing = diagnose(tmp_path / "no.nc")
    assert missing.exit_code == 2
    assert "no.nc' does not exist." in missing.stderr
