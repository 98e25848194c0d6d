"""The command line as a user meets it: answers on stdout, words on stderr, exit codes, files whole or not at all."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.main import get_command

import tokenflock as flock
from commands import refused, tokenflock
from tokenflock import cli, interaction, options, rules, runner, schemes, start, store, weights
from tokenflock.cli.simulate import SIMULATE
from tokenflock.engine import choose
from tokenflock.papers import figures, report
from tokenflock.papers.citations import REFERENCES, bibtex, used
from waiting import LONG_S

SMALL = ["simulate", "--n", "6", "--d", "2", "--beta", "4", "--T", "1", "--times", "5"]
REFERENCE = [*SMALL, "--engine", "reference"]
HEAVY = ("numpy", "numba", "xarray", "matplotlib", "scipy", "torch", "pydantic")


# Help


@pytest.mark.parametrize("words", [["--help"], ["simulate", "--help"], ["check", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(words):
    code = (
        "import sys\nfrom tokenflock.cli import main\n"
        f"sys.argv = ['tokenflock', *{words!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONG_S)
    assert ended.stderr.strip() == "[]"


@pytest.mark.parametrize("verb", sorted(get_command(cli.app).commands))
def test_every_verb_teaches_by_example(verb):
    text = tokenflock(verb, "--help").stdout
    assert text.count(f"tokenflock {verb}") >= 2


def test_a_shell_completes_verbs():
    words = {"COMP_WORDS": "tokenflock si", "COMP_CWORD": "1", "_TOKENFLOCK_COMPLETE": "complete_bash"}
    code = "import sys; from tokenflock.cli import main; sys.argv = ['tokenflock']; main()"
    command, environment = [sys.executable, "-c", code], os.environ | words
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=LONG_S)
    assert done.stdout.split() == ["simulate"]


def test_help_names_everything_that_can_be_named():
    text = tokenflock("simulate", "--help").stdout
    names = [
        *start.STARTS,
        *weights.FAMILIES,
        *rules.MASKS,
        *interaction.NORMALISERS,
        *rules.SPACES,
        *options.LAYER_NORMS,
    ]
    names += [*schemes.NAMES, *choose.NAMES, "window:W", "log:FIRST:N", "--n", "--d", "--beta", "--T", "float32"]
    names.remove("diagonal")  # said as diag
    assert [name for name in names if name not in text] == []


def test_the_toml_in_the_help_is_a_run(tmp_path):
    example = SIMULATE[SIMULATE.index(r"\[model]") : SIMULATE.index("Ctrl-C")].replace("\\[", "[")
    small = example.replace("n_tokens = 200", "n_tokens = 4").replace("t_end = 150.0", "t_end = 1.0")
    assert set(tomllib.loads(small)) == {"model", "start", "simulate"}
    (tmp_path / "run.toml").write_text(small)
    result = tokenflock("simulate", tmp_path / "run.toml", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["model"]["mask"] == {"width": 16, "causal": True}


def test_version_is_that_of_the_package():
    assert tokenflock("--version").stdout == f"tokenflock {flock.__version__}\n"


# simulate


def test_flags_a_file_and_a_call_are_the_same_run(tmp_path):
    (tmp_path / "run.toml").write_text(
        "[model]\ndim = 3\nbeta = 4.0\nmask = 'full'\nvalue = 'diag:1,0.5,0.5'\n"
        "[start]\nn_tokens = 6\nseed = 5\nruns = 2\n"
        "[simulate]\nt_end = 1.0\ntimes = 'log:0.1:3'\nengine = 'reference'\nseed = 5\n"
    )
    flags = "--d 3 --beta 4 --mask full --value diag:1,0.5,0.5 --n 6 --seed 5 --runs 2 --T 1 --times log:0.1:3"
    assert tokenflock("simulate", tmp_path / "run.toml", "--out", tmp_path / "a.zarr").exit_code == 0
    assert tokenflock("simulate", *flags.split(), "--engine", "reference", "--out", tmp_path / "b.nc").exit_code == 0
    model = flock.Model(dim=3, beta=4.0, mask="full", value=np.diag([1.0, 0.5, 0.5]))
    times = np.concatenate([[0.0], np.geomspace(0.1, 1.0, 3)])
    direct = flock.simulate(model, flock.uniform(6, 3, seed=5, runs=2), 1.0, times=times, engine="reference", seed=5)
    for name in ("a.zarr", "b.nc"):
        assert flock.load(tmp_path / name)["x"].values.tobytes() == direct["x"].values.tobytes()


def test_a_start_can_come_from_a_file(tmp_path):
    np.save(tmp_path / "x.npy", flock.uniform(4, 2, seed=9))
    words = ["simulate", "--d", "2", "--T", "1", "--engine", "reference", "--start-file", tmp_path / "x.npy"]
    assert json.loads(tokenflock(*words, "--seed", "3", "--json").stdout)["n_tokens"] == 4
    assert "[start] file and n_tokens cannot be combined" in refused(*words, "--n", "5")
    np.save(tmp_path / "x.npy", np.full((4, 2), np.nan))
    assert "start = 'an array with nan or inf' cannot be used" in refused(*words)
    np.save(tmp_path / "x.npy", np.ones((4, 3)))
    assert "start.shape = (4, 3) cannot be used. Allowed: (n, 2) or (runs, n, 2)." in refused(*words)


def test_a_warning_is_a_line_on_stderr(tmp_path):
    np.save(tmp_path / "x.npy", flock.uniform(4, 2) * (1 + 1e-9))
    words = ["simulate", "--d", "2", "--T", "1", "--engine", "reference", "--start-file", tmp_path / "x.npy", "--json"]
    command = [sys.executable, "-c", "from tokenflock.cli import main; main()", *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONG_S)
    assert re.fullmatch(r"warning: start is up to 1\.0e-09 off the sphere: .*\n", ended.stderr)
    assert json.loads(ended.stdout)["n_tokens"] == 4


def test_the_summary_says_how_it_went_and_where_it_wrote(tmp_path):
    result = tokenflock(*REFERENCE, "--out", tmp_path / "run.zarr")
    assert result.exit_code == 0
    assert result.stderr == ""
    shown = dict(line.split(maxsplit=1) for line in result.stdout.splitlines() if line[:1].strip())
    assert shown["outcome"].strip() == "Reached t_end."
    assert shown.keys() >= {"steps", "evaluations", "wall_s", "scheme", "engine", "model"}
    assert str(tmp_path / "run.zarr") in "".join(result.stdout.split())


def test_json_is_all_of_stdout(tmp_path):
    for quiet in ([], ["--quiet"]):
        result = tokenflock(*REFERENCE, "--json", *quiet)
        summary = json.loads(result.stdout)
        assert result.stderr == ""
        assert summary["outcome"] == "Reached t_end."
        assert (summary["n_tokens"], summary["frames"], summary["wrote"]) == (6, 5, None)
    assert tokenflock(*REFERENCE, "--quiet").output == ""


@pytest.mark.parametrize("name", ["run.zarr", "run.nc"])
@pytest.mark.parametrize(
    "words",
    [
        "--engine reference",
        "--engine cpu --n 20",
        "--engine cpu --runs 3 --mask full",
        "--engine cpu --layer-norm peri",
        "--engine cpu --noise 0.3 --seed 4",
        "--engine cpu --dtype float32 --d 3 --value goe:1",
        "--engine cpu --space euclidean --start cube --mask window:3",
    ],
)
def test_again_repeats_a_saved_run_bit_for_bit(tmp_path, name, words):
    path = tmp_path / name
    assert tokenflock(*SMALL, *words.split(), "--out", path).exit_code == 0
    result = tokenflock("simulate", "--again", path, "--json")
    assert result.stderr == ""
    assert result.exit_code == 0
    summary = json.loads(result.stdout)
    assert summary["bit_for_bit"] is True
    assert summary["largest_difference"] == 0.0
    assert "bit_for_bit" in tokenflock("simulate", "--again", path).stdout


def test_again_says_when_the_bits_differ(tmp_path):
    run = flock.simulate(flock.Model(dim=2), flock.uniform(4, 2), 1.0, engine="reference", times=[0.0, 1.0])
    run["x"].values[1, 0, 0] += 1e-9
    run.attrs["versions"] = json.dumps({**json.loads(run.attrs["versions"]), "numpy": "1.0"})
    flock.save(run, tmp_path / "run.nc")
    result = tokenflock("simulate", "--again", tmp_path / "run.nc")
    assert result.exit_code == 1
    said = (
        f"error: the positions differ by up to 1.0e-09 from those of the file (numpy 1.0 then {np.__version__} now).\n"
    )
    assert result.stderr == said


def test_again_may_write_what_it_repeated(tmp_path):
    assert tokenflock(*REFERENCE, "--out", tmp_path / "a.zarr").exit_code == 0
    tokenflock("simulate", "--again", tmp_path / "a.zarr", "--out", tmp_path / "b.nc")
    assert flock.load(tmp_path / "b.nc").sizes == flock.load(tmp_path / "a.zarr").sizes


# Bad input


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "--d 2 --T 1",
            "--tokens is missing. For example: tokenflock simulate --tokens 200 --dim 2 --beta 64 --t-end 50",
        ),
        ("--n 5 --T 1", "--dim is missing."),
        ("--n 5 --d 2", "--t-end is missing."),
        ("--n 0 --d 2 --T 1", "--tokens = 0 cannot be used. Allowed: an integer >= 1."),
        ("--n five --d 2 --T 1", "--tokens = 'five' cannot be used. Allowed: an integer >= 1."),
        ("--n 5 --d 2 --T 1 --beta high", "--beta = 'high' cannot be used. Allowed: a number."),
        ("--n 5 --d 2 --T 1 --beta nan", "--beta = nan cannot be used. Allowed: a finite number, or inf for hardmax."),
        ("--n 5 --d 2 --T 1 --runs 0", "--runs = 0 cannot be used."),
        ("--n 5 --d 2 --T 1 --scheme huen", "unknown scheme 'huen'. Did you mean 'heun'?"),
        ("--n 5 --d 2 --T 1 --engine gpo", "unknown engine 'gpo'."),
        ("--n 5 --d 2 --T 1 --dtype half", "unknown dtype 'half'."),
        ("--n 5 --d 2 --T 1 --scheme rk4", "--dt = None cannot be used. Allowed: a step size > 0 for scheme='rk4'."),
        ("--n 5 --d 2 --T 1 --scheme tsit5 --dt 1", "scheme='tsit5' and dt cannot be combined."),
        ("--n 5 --d 2 --T 1 --value diag:1,2,3", "value.shape = (3, 3) cannot be used. Allowed: (2, 2)."),
        ("--n 5 --d 2 --T 1 --start cube", "off the sphere' cannot be used. Allowed: unit vectors"),
        ("--n 5 --d 2 --T 1 --space torus", "unknown space 'torus'."),
        ("--n 5 --d 2 --T 1 --layer-norm pre --noise 1", "noise and layer_norm='pre' cannot be combined."),
        ("--n 5 --d 2 --T 1 --overwrite", "--overwrite and no --out cannot be combined. Say what to replace"),
        (
            "--n 5 --d 2 --T 1 --out run.txt",
            "cannot tell the format of 'run.txt'. Allowed: names ending in .zarr or .nc.",
        ),
        (
            "--n 5 --d 2 --T 1 --out no/run.nc",
            "the folder 'no' does not exist. Make it first, or choose another place.",
        ),
        ("run.toml --beta 3", "RUN.TOML and --beta cannot be combined. Only --out, --overwrite, --json and --quiet go"),
        ("--again a.zarr --layer-norm pre", "--again and --layer-norm cannot be combined."),
        ("--again a.zarr run.toml", "--again and RUN.TOML cannot be combined."),
        ("--again a.zarr", "'a.zarr' does not exist."),
        ("run.toml", "'run.toml' cannot be read: No such file or directory."),
        ("run.zarr", "'run.zarr' is a saved run, not a run.toml. Repeat it with --again run.zarr"),
    ],
)
def test_bad_input_is_one_sentence(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in refused("simulate", *words.split())
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_flag_is_refused_with_the_nearest():
    result = tokenflock(*SMALL, "--betta", "3")
    assert result.exit_code == 2
    assert "--betta" in result.stderr
    assert "--beta" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("name", ["run.zarr", "run.nc"])
def test_what_exists_is_only_replaced_when_told(tmp_path, name):
    path = tmp_path / name
    assert tokenflock(*REFERENCE, "--out", path).exit_code == 0
    assert f"'{path}' exists. Choose another name, or allow it with --overwrite" in refused(*REFERENCE, "--out", path)
    assert tokenflock(*REFERENCE, "--seed", "7", "--out", path, "--overwrite").exit_code == 0
    assert flock.load(path).attrs["seed"] == 7
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(flock.trajectories, "save", None)
    monkeypatch.setattr("tokenflock.simulation.simulate", None)  # calling it would fail loudly
    (tmp_path / "file").write_text("not a folder")
    said = refused(*REFERENCE, "--out", tmp_path / "file" / "run.zarr")
    assert f"the folder '{tmp_path / 'file'}' does not exist" in said
    (tmp_path / "mine.zarr").mkdir()
    assert "is not a Zarr folder" in refused(*REFERENCE, "--out", tmp_path / "mine.zarr", "--overwrite")


# Files that are not whole


def damage(path, how):
    """Cut a file in the middle, or put something foreign there."""
    if how == "foreign":
        path.write_bytes(b"something else entirely")
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("how", ["truncated", "foreign"])
@pytest.mark.parametrize("part", ["zarr.json", "x/zarr.json", "x/c/0/0/0"])
def test_a_damaged_zarr_is_refused(tmp_path, part, how):
    path = tmp_path / "run.zarr"
    assert tokenflock(*REFERENCE, "--out", path).exit_code == 0
    damage(path / part, how)
    for verb in (["simulate", "--again"], ["cite"]):
        said = refused(*verb, path)
        assert f"'{path}' is damaged" in said or f"'{path}' is not a trajectory of tokenflock" in said


@pytest.mark.parametrize("how", ["truncated", "foreign"])
def test_a_damaged_netcdf_is_refused(tmp_path, how):
    path = tmp_path / "run.nc"
    assert tokenflock(*REFERENCE, "--out", path).exit_code == 0
    damage(path, how)
    assert "It is foreign or truncated." in refused("simulate", "--again", path)


def test_foreign_files_are_refused(tmp_path):
    (tmp_path / "folder.zarr").mkdir()
    assert "is not a trajectory of tokenflock, or its zarr.json is damaged" in refused("cite", tmp_path / "folder.zarr")
    xr.Dataset({"a": ("t", np.arange(3))}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    assert "this Dataset is not a trajectory of tokenflock: its attributes lack schema" in refused(
        "simulate", "--again", tmp_path / "other.nc"
    )


@pytest.mark.parametrize(
    ("failure", "code", "said"),
    [
        (
            OSError(28, "No space left on device"),
            1,
            "No space left on device. Nothing was written: check the memory, the disk",
        ),
        (KeyboardInterrupt(), 130, "Interrupted: nothing was written."),
    ],
    ids=["full disk", "Ctrl-C"],
)
@pytest.mark.parametrize(("name", "writer"), [("run.zarr", "to_zarr"), ("run.nc", "write_netcdf")])
def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch, name, writer, failure, code, said):
    def fails(self, path, **_):
        Path(path).with_name("half").write_text("written")
        raise failure

    monkeypatch.setattr(store if name == "run.nc" else xr.Dataset, writer, fails)
    result = tokenflock(*REFERENCE, "--out", tmp_path / name)
    assert result.exit_code == code
    assert said in result.stderr
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


# Runs that fail or are interrupted


def test_a_run_that_fails_exits_with_1_and_keeps_what_it_has(tmp_path):
    words = "simulate --n 5 --d 2 --space euclidean --value diag:30,1 --T 50 --times log:0.01:20"
    result = tokenflock(*words.split(), "--out", tmp_path / "run.zarr", "--json")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: The tokens are no longer finite.")
    assert f"What was computed is in {tmp_path / 'run.zarr'}." in result.stderr
    run = flock.load(tmp_path / "run.zarr")
    assert 1 < run.sizes["time"] < 21
    assert np.isfinite(run["x"].values).all()
    assert json.loads(result.stdout)["frames"] == run.sizes["time"]


@pytest.fixture
def impatient(monkeypatch):
    """Ctrl-C after a few steps: every step returns to Python, and the fifth is interrupted."""
    seen = []

    def show(self, r, t):
        seen.append(t)
        if len(seen) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(runner, "PATIENCE_S", 0.0)
    monkeypatch.setattr(runner, "is_told", lambda wanted: True)  # else nothing is shown, here or with --quiet
    monkeypatch.setattr(runner.Progress, "show", show)


INTERRUPTED = ["simulate", "--n", "6", "--d", "2", "--T", "1", "--times", "11", "--engine", "reference"]
INTERRUPTED += ["--scheme", "rk4", "--dt", "0.1"]


@pytest.mark.usefixtures("impatient")
def test_ctrl_c_keeps_what_was_computed(tmp_path):
    result = tokenflock(*INTERRUPTED, "--out", tmp_path / "run.nc", "--json")
    assert result.exit_code == 130
    run = flock.load(tmp_path / "run.nc")
    assert 0 < run.sizes["time"] < 11
    assert np.isfinite(run["x"].values).all()
    assert run.attrs["outcome"] == "Interrupted: this is what was computed so far."
    said = f"Interrupted: computed up to t = {run['time'].values[-1]:g}; wrote {tmp_path / 'run.nc'}.\n"
    assert result.stderr == said
    assert json.loads(result.stdout)["frames"] == run.sizes["time"]


@pytest.mark.usefixtures("impatient")
def test_ctrl_c_without_out_says_that_nothing_was_written():
    result = tokenflock(*INTERRUPTED)
    assert result.exit_code == 130
    assert re.fullmatch(r"Interrupted: computed up to t = 0\.\d; nothing was written\.\n", result.stderr)


def test_an_interrupted_run_can_be_repeated_to_its_end(tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(runner, "PATIENCE_S", 0.0)
        patched.setattr(runner, "is_told", lambda wanted: True)
        left = iter([0.0] * 5)
        patched.setattr(runner.Progress, "show", lambda self, r, t: next(left, None) is None and signal.raise_signal(2))
        assert tokenflock(*INTERRUPTED, "--out", tmp_path / "run.nc").exit_code == 130
    result = tokenflock("simulate", "--again", tmp_path / "run.nc", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["frames"] == 11


@pytest.mark.usefixtures("impatient")
def test_runs_that_were_not_begun_are_nan(tmp_path, monkeypatch):
    monkeypatch.setenv("TOKENFLOCK_THREADS", "1")
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.full(shape, 77, dtype))  # what memory may hold
    result = tokenflock(*INTERRUPTED, "--runs", "3", "--out", tmp_path / "run.nc", "--quiet")
    assert result.exit_code == 130
    assert result.stderr == f"Interrupted: 0 of 3 runs reached their end; wrote {tmp_path / 'run.nc'}.\n"
    x = flock.load(tmp_path / "run.nc")["x"].values
    assert np.isfinite(x[0, 0]).all()
    assert np.isnan(x[0, -1]).all()
    assert np.isnan(x[1:]).all()


def test_a_signal_from_outside_keeps_what_was_computed(tmp_path):
    """A real process on a terminal: the bar is on stderr alone, and SIGINT after it appeared saves the run."""
    words = "simulate --n 30 --d 2 --value diag:1,0.5 --scheme rk4 --dt 0.001 --T 5e7 --times log:0.001:60 --json --out"
    code = "import signal as s; s.signal(s.SIGINT, s.default_int_handler); from tokenflock.cli import main; main()"
    terminal, theirs = pty.openpty()
    command = [sys.executable, "-c", code, *words.split(), str(tmp_path / "run.zarr")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    ) as process:
        seen, sent, deadline = b"", False, time.monotonic() + 300  # a cold cache compiles first
        while process.poll() is None and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.2)[0]:  # read to the end: who writes a lot waits for a reader
                seen += os.read(terminal, 4096)
            if b"%" in seen and not sent:
                process.send_signal(signal.SIGINT)
                sent = True
        process.kill()
        stdout = process.communicate(timeout=LONG_S)[0]
    os.close(theirs)  # not before: a terminal that nobody has open gives an error, not its last words
    os.close(terminal)
    assert b"simulate" in seen
    assert process.returncode == 130, seen.decode()
    summary = json.loads(stdout)
    assert summary["wrote"] == str(tmp_path / "run.zarr")
    run = flock.load(tmp_path / "run.zarr")
    assert run.sizes["time"] == summary["frames"] > 10
    assert np.isfinite(run["x"].values).all()


# doctor and cite


def test_doctor_checks_every_engine():
    result = tokenflock("doctor", "--json")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert set(told["engines"]) == set(choose.HOMES)
    for engine in told["engines"].values():
        assert engine["state"] == "right"
        assert engine["causal"] < 1e-12
        assert 0 < engine["run"] < 1e-8  # a run that ended exactly right would not have moved
    assert told["threads"] >= 1
    assert told["versions"]["numpy"] == np.__version__
    assert re.search(r"\((not )?writable", told["cache"])
    table = tokenflock("doctor").stdout
    assert all(name in table for name in (*choose.HOMES, "versions", "threads", "cache"))


def test_doctor_finds_a_wrong_engine(monkeypatch):
    class Wrong(type(choose.engine_named("reference"))):
        def velocity(self, model, x, t=0.0, radius=None):
            return super().velocity(model, x, t, radius) * (1 + 1e-9)

    broken = Wrong()
    monkeypatch.setattr(choose, "engine_named", lambda name: broken)
    result = tokenflock("doctor", "--json")
    assert result.exit_code == 1
    assert "disagrees with the equations. Please report `tokenflock doctor --json`." in result.stderr


def test_doctor_says_why_an_engine_is_not_there(monkeypatch):
    monkeypatch.setitem(choose.HOMES, "tpu", ("tokenflock.engine.no_such_engine", "Engine"))
    result = tokenflock("doctor", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["engines"]["tpu"]["state"].startswith("not available: No module named")


@pytest.mark.parametrize(
    ("options", "scheme", "names"),
    [
        ({}, "tsit5", ["tokenflock", "A", "tsit5"]),
        ({"mask": "full"}, "rk4", ["tokenflock", "C"]),
        ({"mask": flock.Window(3)}, "euler", ["tokenflock", "A"]),
        ({"mask": flock.Window(3, causal=False)}, "euler", ["tokenflock", "C"]),
        ({"mask": "full", "space": "rescaled"}, "auto", ["tokenflock", "B", "tsit5"]),
        ({"space": "euclidean"}, "auto", ["tokenflock", "A", "B", "tsit5"]),
        ({"mask": "full", "normaliser": "scaled-count"}, "rk4", ["tokenflock", "C", "D"]),
        ({"noise": 0.1}, "auto", ["tokenflock", "A", "E"]),
        ({"layer_norm": "peri"}, "layers", ["tokenflock", "A", "F"]),
        ({"beta": np.inf}, "auto", ["tokenflock", "A"]),
    ],
    ids=str,
)
def test_a_run_cites_what_it_used(options, scheme, names):
    assert used(flock.Model(dim=2, **options), scheme) == names


def test_cite_prints_bibtex(tmp_path):
    assert tokenflock(*REFERENCE, "--mask", "full", "--out", tmp_path / "run.zarr").exit_code == 0
    result = tokenflock("cite", tmp_path / "run.zarr")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.stdout.strip() == bibtex(["tokenflock", "C", "tsit5"])
    (tmp_path / "run.toml").write_text("[model]\ndim = 2\n[start]\nn_tokens = 3\n[simulate]\nt_end = 1.0\n")
    assert tokenflock("cite", tmp_path / "run.toml").stdout.strip() == bibtex(["tokenflock", "A", "tsit5"])
    everything = tokenflock("cite").stdout
    for number in "2411.04990 2305.05465 2312.10794 2410.06833 2512.01868 2510.22026".split():
        assert f"{{{number}}}" in everything
    assert everything.count("{") == everything.count("}")
    assert (
        len(re.findall(r"^@\w+\{(\w+),$", everything, re.MULTILINE)) == len({r.key for r in REFERENCES.values()}) == 8
    )


# figure and reproduce


@pytest.fixture
def drawn(monkeypatch):
    """Two figures that take no time; the calls made for them."""
    from matplotlib.figure import Figure

    calls = []

    def figure(name, quick=False):
        calls.append((name, quick))
        made = Figure()
        made.add_subplot().plot([0, 1])
        made.caption = f"The caption of {name}."
        return made

    monkeypatch.setattr(figures, "NAMES", {name: figures.NAMES[name] for name in ("causal/1", "causal/2")})
    monkeypatch.setattr(figures, "figure", figure)
    return calls


def test_figure_writes_three_formats_and_the_caption(tmp_path, drawn):
    assert tokenflock("figure", "--list").stdout == "causal/1\ncausal/2\n"
    out = tmp_path / "new" / "figures"
    result = tokenflock("figure", "causal/2", "--quick", "--out", out)
    assert result.exit_code == 0
    assert drawn == [("causal/2", True)]
    assert f"wrote {out}/causal-2.pdf" in result.stdout
    assert "The caption of causal/2." in result.stdout
    assert sorted(path.name for path in out.iterdir()) == ["causal-2.pdf", "causal-2.png", "causal-2.svg"]
    before = {path: path.read_bytes() for path in out.iterdir()}
    said = refused("figure", "--all", "--out", out)
    assert f"'{out / 'causal-2.pdf'}' exists. Choose another --out, or allow it with --overwrite." in said
    assert len(drawn) == 1
    assert tokenflock("figure", "--all", "--out", out, "--overwrite").exit_code == 0
    assert {path: path.read_bytes() for path in before} == before  # the same figure has the same bytes
    assert len(list(out.iterdir())) == 6


@pytest.mark.usefixtures("drawn")
def test_figure_refuses_what_it_cannot_do(tmp_path):
    assert "unknown figure 'casual/2'. Did you mean 'causal/2'?" in refused("figure", "casual/2", "--out", tmp_path)
    assert "which figures? Give names or --all, not both." in refused("figure", "--out", tmp_path)
    assert "which figures?" in refused("figure", "causal/2", "--all", "--out", tmp_path)
    assert "--out is missing. Say where to write: --out figures" in refused("figure", "--all")
    (tmp_path / "file").write_text("")
    said = refused("figure", "--all", "--out", tmp_path / "file" / "deeper")
    assert f"'{tmp_path / 'file'}' is not a folder that can be written to." in said


def test_a_figure_that_fails_does_not_lose_the_others(tmp_path, monkeypatch, drawn):
    easy = figures.figure

    def figure(name, quick=False):
        if name == "causal/1":
            raise flock.errors.FileError("the weights are not there. Fetch them.")
        return easy(name, quick)

    monkeypatch.setattr(figures, "figure", figure)
    result = tokenflock("figure", "--all", "--out", tmp_path)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "error: causal/1: the weights are not there. Fetch them.",
        "1 of 2 figures were written; not written: causal/1.",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["causal-2.pdf", "causal-2.png", "causal-2.svg"]


@pytest.mark.usefixtures("drawn")
def test_a_figure_is_saved_in_all_formats_or_in_none(tmp_path, monkeypatch):
    whole = Path.write_bytes

    def fills(path, content):
        """A disk that is full in the middle of the second format."""
        if path.suffix == ".svg":
            whole(path, content[: len(content) // 2])
            raise OSError(28, "No space left on device")
        return whole(path, content)

    monkeypatch.setattr(Path, "write_bytes", fills)
    result = tokenflock("figure", "causal/1", "--out", tmp_path)
    assert result.exit_code == 1
    assert "causal/1: OSError: [Errno 28] No space left on device (test_cli.py, line" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("drawn")
def test_ctrl_c_says_which_figures_are_there(tmp_path, monkeypatch):
    def stops(name, quick=False):
        raise KeyboardInterrupt

    monkeypatch.setattr(figures, "figure", stops)
    result = tokenflock("figure", "--all", "--out", tmp_path)
    assert result.exit_code == 130
    assert result.stderr == "Interrupted at causal/1: 0 of 2 figures were written.\n"


@pytest.mark.usefixtures("drawn")
def test_figures_that_move(tmp_path, monkeypatch):
    calls = []

    def animate(name, path, quick=False):
        calls.append((name, quick))
        path.write_text("a film")

    monkeypatch.setattr(figures, "MOVIES", {"causal/2": ""})
    monkeypatch.setattr(figures, "animate", animate)
    result = tokenflock("figure", "--all", "--animate", "gif", "--quick", "--out", tmp_path)
    assert result.exit_code == 0
    assert calls == [("causal/2", True)]
    assert result.stdout == f"wrote {tmp_path / 'causal-2.gif'}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["causal-2.gif"]
    assert tokenflock("figure", "--list", "--animate", "gif").stdout == "causal/2\n"
    moving = ["figure", "--animate", "mp4", "--out", tmp_path]
    assert "unknown figure that moves 'causal/1'. Did you mean 'causal/2'? Known: causal/2." in refused(
        *moving, "causal/1"
    )
    assert "unknown animation 'avi'. Known: gif, mp4." in refused(
        "figure", "--all", "--animate", "avi", "--out", tmp_path
    )
    assert "exists. Choose another --out" in refused("figure", "causal/2", "--animate", "gif", "--out", tmp_path)


def test_reproduce_goes_on_in_its_own_folder_only(tmp_path, monkeypatch):
    calls = []

    def reproduce(out, quick=False, workers=0):
        calls.append((out, quick))
        (out / "report.html").write_text("<html>")
        return report.Report(out / "report.html", failed)

    failed = []
    monkeypatch.setattr(report, "reproduce", reproduce)
    out = tmp_path / "report"
    for _ in range(2):
        result = tokenflock("reproduce", "--quick", "--out", out)
        assert result.exit_code == 0
        assert result.stdout == f"wrote {out / 'report.html'}\n"
    (out / "thesis.tex").write_text("mine")
    assert f"'{out / 'thesis.tex'}' exists." in refused("reproduce", "--out", out)
    assert tokenflock("reproduce", "--out", out, "--overwrite").exit_code == 0
    assert calls == [(out, True), (out, True), (out, False)]
    failed.append("causal/theorem-4.1")
    result = tokenflock("reproduce", "--out", out, "--overwrite")
    assert result.exit_code == 1
    assert "error: failed: causal/theorem-4.1. The report says how." in result.stderr
    assert "--out is missing." in refused("reproduce")
