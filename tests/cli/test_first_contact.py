"""What a newcomer meets at the command line: help that fits, examples that are true, errors in the words typed."""

import os
import pty
import re
import shlex
import subprocess
import sys
from contextlib import suppress

import pytest
from typer.main import get_command

from commands import refused, tokenflock
from tokenflock import cli
from tokenflock.cli import speech
from tokenflock.engine.compiled import declare as compiling
from tokenflock.papers import claims
from waiting import LONG_S

COMMANDS = get_command(cli.app).commands
WIDE = 78  # a terminal of 80 columns, less the margins of the help


def examples(text):
    """Command lines in a help text, without their comments and what is said beside them."""
    for line in re.findall(r"^ *tokenflock (.+)$", text, re.MULTILINE):
        yield shlex.split(re.split(r"  +|>>? ", line.replace("\\[", "["))[0], comments=True)


@pytest.mark.parametrize("verb", sorted(COMMANDS))
def test_help_fits_a_narrow_terminal(verb):
    body = COMMANDS[verb].help.split("\n\n", 1)[-1]
    assert not [line for line in body.splitlines() if len(line.replace("\\[", "[")) > WIDE]


@pytest.mark.parametrize("verb", sorted(COMMANDS))
def test_flags_that_take_nothing_show_nothing_to_give(verb):
    shown = [line for line in tokenflock(verb, "--help").stdout.splitlines() if "--help" not in line]
    assert not [line for line in shown if "<bool>" in line]


@pytest.mark.parametrize("verb", sorted(COMMANDS))
def test_the_examples_of_the_help_have_options_that_exist(verb):
    found = list(examples(COMMANDS[verb].help))
    assert len(found) >= 2
    for words in found:
        COMMANDS[words[0]].make_context(words[0], words[1:], resilient_parsing=True)


def test_without_arguments_it_shows_where_to_begin():
    told = tokenflock()
    begin = told.output.split("Begin with:")[1].split("Every verb")[0]
    lines = [" ".join(line.split()) for line in begin.splitlines() if line.split()]
    assert len(lines) >= 4
    assert {line.split()[1] for line in lines} <= set(COMMANDS)


def test_the_trial_in_the_help_of_check_exists():
    name, case = re.search(r"check (\S+) --trial \"(.+)#\d+\"", COMMANDS["check"].help).groups()
    assert case in [found.case for found in claims.check(name, trials=1, quick=True, trial=f"{case}#0").findings]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--d two --n 5 --T 1", "error: --dim = 'two' cannot be used."),
        ("--d 2 --n x --T 1", "error: --tokens = 'x' cannot be used."),
        ("--d 2 --n 5 --T -3", "error: --t-end = -3 cannot be used."),
        ("--d 2 --n 5 --T 1 --rtol abc", "error: --rtol = 'abc' cannot be used."),
    ],
)
def test_errors_name_the_flag_that_was_typed(words, said):
    assert refused("simulate", *words.split()).startswith(said)


def test_a_file_is_told_of_its_own_keys(tmp_path):
    (tmp_path / "run.toml").write_text('[model]\ndim = "two"\n[start]\nn_tokens = 3\n[simulate]\nt_end = 1.0\n')
    assert "[model] dim = 'two' cannot be used." in refused("simulate", tmp_path / "run.toml")


def test_a_name_that_is_nearly_right_is_not_answered_with_a_wall_of_names():
    told = refused("check", "theorem-4.1")
    assert "Did you mean 'causal/theorem-4.1'?" in told
    assert len(told) < 120


@pytest.mark.parametrize("words", [["figure", "causal/2"], ["reproduce"], ["network", "gpt2"]])
def test_a_missing_folder_is_asked_for(words):
    assert refused(*words).startswith("error: --out is missing. Say where to write: --out ")


def test_a_reader_that_leaves_is_no_error():
    code = (
        "from tokenflock.cli import main; import sys; sys.argv = ['tokenflock', 'check', '--list', '--verbose']; main()"
    )
    done = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    done.stdout.close()  # before anything is written
    assert done.stderr.read() == ""
    done.stderr.close()
    assert done.wait(timeout=LONG_S) in (0, 141)


def test_a_first_run_says_why_nothing_moves(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(compiling, "folder", lambda: tmp_path)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    speech.note_compiling()
    assert "compiles its kernels" in capsys.readouterr().err
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "one.nbi").touch()
    speech.note_compiling()
    assert capsys.readouterr().err == ""


def test_colours_are_left_out_where_they_are_not_wanted(tmp_path):
    told = {}
    for name, more in {"plain": {"NO_COLOR": "1"}, "coloured": {}}.items():
        keeper, worker = pty.openpty()
        env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm-256color"} | more
        code = "from tokenflock.cli.speech import say; say('error: no.', 'red')"
        subprocess.run([sys.executable, "-c", code], stderr=worker, env=env, check=True, timeout=LONG_S)
        os.close(worker)
        told[name] = os.read(keeper, 1000).decode()
        os.close(keeper)
    assert "\x1b[" not in told["plain"]
    assert "\x1b[31m" in told["coloured"]


@pytest.mark.parametrize("whole", [True, False])
def test_a_claim_is_not_judged_by_half_a_run(whole, monkeypatch):
    import tokenflock as flock
    from tokenflock.errors import WHOLE_RUNS
    from tokenflock.runner import Runner

    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Runner, "_advance", pressed)
    keep = WHOLE_RUNS.set(whole)
    try:
        if whole:
            with pytest.raises(KeyboardInterrupt):
                flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), 1.0)
        else:
            assert "Interrupted" in flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), 1.0).attrs["outcome"]
    finally:
        WHOLE_RUNS.reset(keep)


@pytest.mark.parametrize(
    ("words", "whole"), [(["figure", "causal/1", "--quick", "--out", "figures"], True), (["simulate"], False)]
)
def test_only_simulate_keeps_half_a_run(words, whole, tmp_path, monkeypatch):
    from tokenflock.errors import WHOLE_RUNS
    from tokenflock.papers import figures

    seen = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(figures, "figure", lambda *_, **__: seen.append(WHOLE_RUNS.get()))
    monkeypatch.setattr("tokenflock.simulate", lambda *_, **__: seen.append(WHOLE_RUNS.get()), raising=False)
    more = ["--d", "2", "--n", "3", "--T", "1", "--quiet"] if words == ["simulate"] else []
    with suppress(AttributeError):  # what stands in for a run is none
        tokenflock(*words, *more)
    assert seen == [whole]
    assert WHOLE_RUNS.get() is False
