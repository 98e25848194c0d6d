"""plot, animate, explore RUN and figure --set; errors in one line; every file that diagnose reads."""

import http.client
import json
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from PIL import Image
from typer.main import get_command

import tokenflock as flock
from commands import refused, tokenflock
from tokenflock import cli, errors
from tokenflock.explorer import showing
from tokenflock.transformer.record import Origin, trajectory

VERBS = sorted(get_command(cli.app).commands)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "run.zarr"
    start = np.stack([flock.uniform(6, 2, seed=s) for s in range(2)])
    flock.save(
        flock.simulate(flock.Model(dim=2, beta=9.0), start, 1.0, times=[0.0, 0.5, 1.0], engine="reference"), path
    )
    return path


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_plot_writes_a_figure_and_tells_its_caption(run, here):
    told = tokenflock("plot", run, "--run", "1")
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("wrote run.png\nRun 1 of the ensemble. 6 tokens in dimension 2")
    with Image.open(here / "run.png") as image:
        assert image.width > 500
    assert "'run.png' exists. Choose another --out, or allow it with --overwrite." in refused("plot", run)
    assert tokenflock("plot", run, "--overwrite").exit_code == 0
    assert tokenflock("plot", run, "--out", "a.pdf").exit_code == 0
    assert (here / "a.pdf").read_bytes().startswith(b"%PDF")
    assert "Allowed: names ending in .pdf, .svg, .png." in refused("plot", run, "--out", "a.jpg")
    assert "--run = 'x' cannot be used" in refused("plot", run, "--run", "x", "--out", "b.png")
    assert "which = 2 cannot be used. Allowed: a whole number from 0 to 1." in refused(
        "plot", run, "--run", "2", "--out", "b.png"
    )
    assert sorted(path.name for path in here.iterdir()) == ["a.pdf", "run.png"]


def test_animate_writes_a_film(run, here, monkeypatch):
    monkeypatch.setattr("tokenflock.plot.films.HOLD", 2)
    assert tokenflock("animate", run).stdout.startswith("wrote run.gif (")
    with Image.open(here / "run.gif") as film:
        assert film.n_frames == 3
    assert "Allowed: names ending in .gif or .mp4" in refused("animate", run, "--out", "run.png")


def test_the_store_of_a_sweep_is_drawn_and_diagnosed(here):
    model = flock.Model(dim=2, mask="full")
    how = {"t_end": 1.0, "n_tokens": 4, "workers": 0, "progress": False, "engine": "reference", "store": "phase.zarr"}
    flock.sweep(model, {"beta": [1.0, 4.0, 16.0]}, replicates=2, **how)
    told = tokenflock("plot", "phase.zarr", "--of", "clusters", "--along", "beta")
    assert "clusters against beta: means of 2 replicates" in told.stdout
    told = tokenflock("diagnose", "phase.zarr").stdout
    assert told.startswith("A sweep of 6 runs over beta (3), replicate (2):\n- finished: All 6 runs came to their end.")
    table = flock.sweeps.open_store("phase.zarr").load().load()
    table["outcome"][0, 0], table["outcome"][1, 1] = -1, 3
    table["reason"] = table["outcome"].astype(str).astype(object)
    names = flock.diagnose(table).names
    assert names == ["unfinished", "failed"]
    with pytest.raises(errors.SpecError, match="which = 1 cannot be used"):
        flock.diagnose(table, 1)


def test_hidden_states_are_diagnosed_layer_by_layer(here):
    rng = np.random.default_rng(0)
    toward = rng.normal(size=8)
    hidden = np.stack([rng.normal(size=(10, 8)) + k * toward for k in range(6)])
    origin = Origin({"name": "tiny"}, True, "post", "numpy")
    flock.save(trajectory(hidden, origin), "states.zarr")
    told = tokenflock("diagnose", "states.zarr").stdout
    assert told.startswith("Hidden states of tiny: 10 tokens in dimension 8 through 5 layers:")
    assert "The layers have gathered the tokens" in told
    spread = flock.diagnose(trajectory(hidden[::-1], origin))
    assert "have spread the tokens" in str(spread)
    assert "neither" in str(flock.diagnose(trajectory(hidden[:1].repeat(3, axis=0), origin)))
    found = json.loads(tokenflock("diagnose", "states.zarr", "--json").stdout)
    assert [f["name"] for f in found["findings"]] == ["gathering", "rank", "clusters", "length", "not-measured"]
    assert tokenflock("plot", "states.zarr").exit_code == 0


def test_explore_serves_a_saved_run_to_this_machine_alone(run):
    with showing.server_of(flock.load(run), 1, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for path, host, code in (
            ("/", "127.0.0.1:1", 200),
            ("/", "[::1]:1", 200),
            ("/x", "localhost:1", 404),
            ("/", "evil.example:80", 421),
        ):
            asked = http.client.HTTPConnection(showing.HOST, server.server_port, timeout=60)
            asked.request("GET", path, headers={"Host": host})
            answer = asked.getresponse()
            assert (answer.status, b"tokenflock-run" in answer.read()) == (code, code == 200)
            asked.close()
        server.shutdown()


def test_ctrl_c_in_explore_says_what_is_true(run):
    code = "import signal as s; s.signal(s.SIGINT, s.default_int_handler); from tokenflock.cli import main; main()"
    command = [sys.executable, "-c", code, "explore", str(run), "--run", "0", "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("The run is at http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    with process:
        said = process.stderr.read()
    assert (process.returncode, said) == (
        0,
        "Stopped: the page is served no longer; the saved run is as it was.\n",
    )


def test_explore_refuses_what_does_not_go_together(run):
    assert "PAGE.HTML and no --export cannot be combined" in refused("explore", run, "page.html")
    assert "--overwrite and no --export cannot be combined" in refused("explore", "--overwrite")
    assert "--run and no saved run cannot be combined" in refused("explore", "--run", "1")
    assert "--host and a saved run cannot be combined" in refused("explore", run, "--host", "0.0.0.0")


def test_figure_changes_parameters(here):
    done = tokenflock("figure", "causal/4", "--quick", "--set", "beta=16", "--out", "f")
    assert done.exit_code == 0, done.output
    assert "16" in done.stdout
    for words, said in (
        (["--set", "betta=16"], "unknown parameter of figure causal/4 'betta'. Did you mean 'beta'?"),
        (
            ["--set", "beta=x"],
            "beta of figure causal/4 = 'x' cannot be used. Allowed: a number. It is 10.0 if left out.",
        ),
        (["--set", "points=1.5"], "--set points = 1.5 cannot be used"),
        (["--set", "beta"], "--set = 'beta' cannot be used. Allowed: NAME=VALUE. For example --set beta=16."),
        (["--set", "beta=1", "--set", "beta=2"], "--set beta is given twice"),
        (["causal/2", "--set", "beta=1"], "--set and 2 figures cannot be combined"),
    ):
        assert said in refused("figure", "causal/4", *words, "--out", "g")
    told = tokenflock("figure", "causal/2", "--set", "beta=-1", "--out", "g")
    assert "beta of figure causal/2 = -1 cannot be used. Allowed: a finite number > 0." in told.stderr
    assert not (here / "g").exists()


@pytest.mark.parametrize("verb", VERBS)
def test_help_shows_no_types_of_python(verb):
    told = tokenflock(verb, "--help").stdout
    assert not [word for word in ("<str>", "<bool>", "<path>", "<list", "<int>", "<float>") if word in told]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bogus"], "there is no command bogus. `tokenflock --help` shows what there is."),
        (["diagnose"], "FILE is missing. `tokenflock diagnose --help` shows what there is."),
        (
            ["animate", "run.zarr", "run.gif"],
            "run.gif is too much. What is to be written is said with --out. `tokenflock an",
        ),
        (["check", "--trails", "3"], "there is no option --trails. Did you mean --trials?"),
        (["figure", "causal/2", "--beta", "16"], "change with --set NAME=VALUE"),
        (["explore", "--port", "x"], "--port cannot be used"),
        (["simulate", "--dim"], "--dim"),
    ],
)
def test_what_the_parser_refuses_is_said_as_every_other_error(words, said):
    assert said in refused(*words)


def test_a_missing_extra_names_the_command_of_this_installation(monkeypatch):
    class Installed:
        def __init__(self, told):
            self.told = told

        def read_text(self, name):
            return json.dumps(self.told) if self.told is not None else None

    def of(told):
        monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed(told))
        return str(errors.missing("torch", "gpu", "engine='gpu'"))

    assert of(None).endswith("Install it with: pip install 'tokenflock[gpu]'")
    assert of({"url": "https://example.org/t.whl"}).endswith("pip install 'tokenflock[gpu]'")
    clone = {"url": "file:///home/me/my%20clone", "dir_info": {"editable": True}}
    assert of(clone).endswith("Install it with: pip install -e '/home/me/my clone[gpu]'")
