"""t_end = inf: runs that find their own end, from Python and from the command line."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import tokenflock as flock
from tokenflock import Model, ending, simulate
from tokenflock.cli import app
from tokenflock.engine.contract import Outcome
from tokenflock.errors import EngineError, SpecError
from tokenflock.geometry import distance

START = flock.uniform(20, 2, seed=1)


def cli(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_run_ends_when_all_tokens_have_met():
    run = simulate(Model(dim=2, beta=16.0), START, np.inf)
    assert run.attrs["outcome"] == Outcome.COLLAPSED.value
    assert distance(run["x"].values[-1], START[0]).max() < 1e-6
    times, end = run["time"].values, run.attrs["t_end"]
    assert len(times) == 101
    assert times[-1] == end
    before = run["x"].sel(time=times[times < end / 100]).values[-1]
    assert distance(before, START[0]).max() > 0.1, "no decades are wasted after the end"
    assert flock.again(run)["x"].values.tobytes() == run["x"].values.tobytes()


def test_the_end_is_long_for_large_beta_and_short_for_small():
    ends = [simulate(Model(dim=2, beta=b), START, np.inf).attrs["t_end"] for b in (1.0, 9.0, 25.0)]
    assert ends[0] <= 1e4
    assert ends[0] < ends[1] < ends[2]
    assert ends[2] > 1e9


def test_an_ensemble_ends_with_its_slowest_run():
    starts = flock.uniform(12, 2, seed=3, runs=3)
    model = Model(dim=2, beta=9.0)
    ends = [simulate(model, x, np.inf).attrs["t_end"] for x in starts]
    run = simulate(model, starts, np.inf, reduce={"spread": lambda x: distance(x, x[:1]).max()}, positions=False)
    assert run.attrs["t_end"] == max(ends)
    assert run["spread"].values[:, -1].max() < 1e-6
    assert (run["outcome"].values == list(Outcome).index(Outcome.COLLAPSED)).all()


def test_where_tokens_never_meet_the_end_is_where_nothing_moves():
    model = Model(dim=3, beta=4.0, value=np.diag([1.0, 0.5, 0.2]))
    run = simulate(model, flock.uniform(16, 3, seed=2), np.inf)
    assert run.attrs["outcome"] == f"{Outcome.DONE.value} Nothing moves any more, but not all tokens have met."
    last = run["x"].values[-1]
    assert np.abs(np.abs(last[:, 0]) - 1).max() < 1e-6
    assert len(set(np.sign(last[:, 0]))) == 2, "or this would be a collapse"
    assert np.abs(flock.velocity(model, last)).max() < 1e-6
    later = simulate(model, last, 1e6, scheme="rosenbrock", times=[1e6])["x"].values[0]
    assert np.abs(later - last).max() < 1e-4


def test_the_kept_times_may_be_a_function_of_the_end():
    run = simulate(Model(dim=2, beta=9.0), START, np.inf, times=lambda end: [0.0, end / 100, end / 10])
    assert run.sizes["time"] == 3
    assert run.attrs["t_end"] == run["time"].values[-1]
    assert flock.again(run)["x"].values.tobytes() == run["x"].values.tobytes()
    with pytest.raises(SpecError, match="times in"):
        simulate(Model(dim=2, beta=9.0), START, np.inf, times=lambda end: [0.0, end * 10])


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (Model(dim=2, noise=0.1), {}, r"t_end=inf cannot be used with noise\. It needs implicit steps: give a finite"),
        (Model(dim=2, space="euclidean"), {}, "space='euclidean'"),
        (Model(dim=2, beta=np.inf), {}, "beta=inf"),
        (Model(dim=2), {"scheme": "tsit5"}, "t_end=inf and scheme='tsit5' cannot be combined. Only implicit steps"),
        (Model(dim=2), {"dt": 0.1}, "t_end=inf and dt cannot be combined"),
        (Model(dim=2), {"times": [1.0]}, "t_end=inf and times cannot be combined. Leave times out"),
        (Model(dim=2), {"dtype": "float32"}, "dtype='float32'"),
    ],
)
def test_what_has_no_end_says_why(model, options, words):
    with pytest.raises(SpecError, match=words):
        simulate(model, START, np.inf, **options)


def test_a_run_that_never_rests_is_given_up(monkeypatch):
    monkeypatch.setattr(ending, "STEPS", 500)
    monkeypatch.setattr(ending, "STEPS_A_TOKEN", 0)
    turning = Model(dim=2, beta=4.0, value=np.array([[1.0, 1.0], [-1.0, 1.0]]))
    with pytest.raises(
        EngineError, match=r"a run still moved at t = .*, after \d+ implicit steps.*give a finite t_end"
    ):
        simulate(turning, flock.uniform(8, 2), np.inf)


def test_progress_goes_from_nothing_to_all_once():
    told = []
    simulate(Model(dim=2, beta=16.0), START, np.inf, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert any(0 < f < 1 for f in told)


def test_an_interruption_leaves_the_frames_of_the_search():
    raised = []

    def stop(fraction):
        if not raised:
            raised.append(fraction)
            raise KeyboardInterrupt

    run = simulate(Model(dim=2, beta=64.0), flock.uniform(200, 2), np.inf, progress=stop, throw=False)
    assert run.attrs["outcome"] == Outcome.INTERRUPTED.value
    assert run.attrs["t_end"] == ending.LAST
    assert run.sizes["time"] < len(ending.DECADES)


def test_the_command_line_runs_to_the_collapse_and_repeats_it(tmp_path):
    words = ("simulate", "--n", 12, "--d", 2, "--beta", 9, "--seed", 4, "--to-collapse")
    made = cli(*words, "--out", tmp_path / "a.zarr", "--json")
    assert made.exit_code == 0, made.output
    told = json.loads(made.stdout)
    assert told["outcome"] == Outcome.COLLAPSED.value
    assert told["t_end"] > 100
    assert cli("simulate", "--again", tmp_path / "a.zarr", "--quiet").exit_code == 0
    few = cli(*words, "--times", 7, "--out", tmp_path / "b.nc", "--quiet")
    assert few.exit_code == 0, few.output
    times = flock.load(tmp_path / "b.nc")["time"].values
    assert len(times) == 7
    assert np.allclose(np.diff(np.log(times[1:])), np.log(times[2] / times[1])), "equal ratios"


def test_a_run_toml_may_have_no_end(tmp_path):
    text = '[model]\ndim = 2\nbeta = 9.0\n[start]\nn_tokens = 6\n[simulate]\nt_end = inf\ntimes = "log:1.0:5"\n'
    (tmp_path / "run.toml").write_text(text)
    made = cli("simulate", tmp_path / "run.toml", "--json")
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["frames"] == 6
    (tmp_path / "list.toml").write_text(text.replace('"log:1.0:5"', "[1.0, 2.0]"))
    refused = cli("simulate", tmp_path / "list.toml")
    assert refused.exit_code == 2
    assert "t_end=inf and times cannot be combined" in " ".join(refused.output.split())


def test_the_flag_does_not_go_with_an_end():
    refused = cli("simulate", "--n", 4, "--d", 2, "--to-collapse", "--T", 3)
    assert refused.exit_code == 2
    assert "--to-collapse and --t-end cannot be combined" in " ".join(refused.output.split())
