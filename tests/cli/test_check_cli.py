"""tokenflock check as a user meets it, with small claims of known truth in place of the papers'."""

import json
import os
import pty
import select
import shlex
import subprocess
import sys
import time

import numpy as np
import pytest

import commands
from commands import tokenflock
from tokenflock.papers import claims
from tokenflock.papers.claims.ledger import Trial, claim

WORDS = {
    "hypotheses": ("none",),
    "trial": "a coin",
    "measured": "its face",
    "rule": "every face counts",
    "sizes": {"trials": 4, "bias": 0.0},
    "quick": {"trials": 2},
}


@claim("toy/sound", kind="theorem", statement="Coins show 0 or 1.", erratum="The paper prints 2.", **WORDS)
def sound(check, bias):
    check.each("plain [coin]", lambda rng: Trial(True, float(rng.integers(2))), bound=1.5)
    check.each("double", lambda rng: Trial(True, 2.0 * rng.integers(2)), bound=8.0, note="twice the face")


@claim("toy/false", kind="conjecture", statement="Coins never show 1.", **WORDS)
def false(check, bias):
    def one(rng):
        face = float(rng.random())
        return Trial(face > 1, face)

    check.each("it's a coin", one, bound=0.05)


@claim("toy/mean", kind="estimate", statement="Fair coins have mean 1/2.", **WORDS)
def mean(check, bias):
    check.estimate("mean", [0.4 + bias, 0.6 + bias, 0.5 + bias], 0.5)


@claim("toy/late", kind="theorem", statement="Nobody waits.", **WORDS | {"sizes": {"trials": 4, "bias": [np.inf, 1j]}})
def late(check, bias):
    check.each("waiting", lambda rng: Trial(None, float("inf")), bound=1.0)


@claim("toy/proof", kind="theorem", statement="0 < 1.", **WORDS)
def proof(check, bias):
    check.proof("order", "the unit interval", 7)


@claim("other/crash", kind="theorem", statement="It runs.", **WORDS)
def crash(check, bias):
    raise ZeroDivisionError("division by a toy")


@claim("other/stopped", kind="theorem", statement="Somebody presses Ctrl-C.", **WORDS)
def stopped(check, bias):
    raise KeyboardInterrupt


TOYS = {toy.name: toy for toy in (sound, false, mean, late, proof, crash, stopped)}
GOOD = ["toy/sound", "toy/mean", "toy/late", "toy/proof"]


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    """The toys instead of the claims of the papers."""
    homes = {name: f"test_check_cli:{name.split('/')[1]}" for name in TOYS}
    monkeypatch.setattr(claims, "NAMES", homes)
    monkeypatch.setattr(claims, "find", lambda name: TOYS[name])


def check(*words):
    return tokenflock("check", *words)


def refused(*words):
    return commands.refused("check", *words)


def rows(result):
    found = [line for line in result.stdout.splitlines() if "/" in line.split(" ")[0] and "(" not in line]
    return {line.split()[0]: line for line in found}


def test_a_table_with_a_row_a_claim():
    result = check(*GOOD)
    assert result.exit_code == 0
    assert result.stderr == ""
    table = rows(result)
    assert list(table) == GOOD
    assert table["toy/sound"].split()[1:6] == ["holds", "8", "0", "1", "<"]  # the tightest case: 1 of 1.5, not 2 of 8
    assert "[" in table["toy/mean"]
    assert "predicted 0.5" in table["toy/mean"]
    assert table["toy/late"].split()[1:4] == ["undecided", "4", "4"]
    assert table["toy/proof"].split()[1] == "proved"
    assert "proved on the" in table["toy/proof"]
    assert "Coins show" not in result.stdout


def test_a_single_claim_is_told_in_full_and_so_are_all_with_verbose():
    text = check("toy/sound").stdout
    for words in ("Coins show 0 or 1.", "Correction: The paper prints 2.", "plain [coin]", "twice the face", "< 8"):
        assert words in text
    both = check("toy/sound", "toy/mean", "--verbose").stdout
    assert "Coins show 0 or 1." in both
    assert "Fair coins have mean 1/2." in both
    assert "Correction" not in check("toy/mean").stdout


def test_a_failing_claim_exits_with_1_and_says_how_to_repeat_it():
    result = check("toy/false", "toy/sound", "--seed", "3", "--trials", "6")
    assert result.exit_code == 1
    assert result.stderr == "error: 1 of 2 claims fail: toy/false.\n"
    commands = [line.split("repeat: ")[1] for line in result.stdout.splitlines() if "repeat: " in line]
    assert len(commands) == 6
    words = shlex.split(commands[2])
    assert words == [*"tokenflock check toy/false --trial".split(), "it's a coin#2", *"--seed 3 --trials 6".split()]
    again = check(*words[2:], "--json", "-")
    assert again.exit_code == 1
    whole = json.loads(check("toy/false", "--seed", "3", "--json", "-").stdout)
    alone = json.loads(again.stdout)["claims"][0]
    assert alone["trials"] == 1
    assert alone["findings"][0]["measured"] <= whole["claims"][0]["findings"][0]["measured"]
    assert alone["failed"] == ["it's a coin#2"]


def test_only_some_of_many_failures_are_listed():
    result = check("toy/false", "--trials", "40", "--quick")
    assert result.stdout.count("repeat: ") == 10
    assert "--quick" in result.stdout
    assert "and 30 more" in result.stdout.split("repeat: ")[-1]
    assert "more: --json FILE lists all of them." in result.stdout


def test_an_estimate_that_disagrees_fails(monkeypatch):
    monkeypatch.setitem(
        TOYS,
        "toy/mean",
        claim("toy/mean", kind="estimate", statement="", **WORDS)(
            lambda check, bias: check.estimate("mean", [0.4, 0.6, 0.5], 9.0)
        ),
    )
    result = check("toy/mean")
    assert result.exit_code == 1
    assert "disagrees" in result.stdout


def test_quick_trials_and_seed_reach_the_check():
    told = json.loads(check("toy/sound", "--quick", "--seed", "5", "--json", "-").stdout)
    assert (told["claims"][0]["trials"], told["claims"][0]["seed"], told["claims"][0]["quick"]) == (4, 5, True)
    assert json.loads(check("toy/sound", "--trials", "9", "--json", "-").stdout)["claims"][0]["trials"] == 18


def test_groups_and_all():
    assert list(rows(check("toy/", "--quick"))) == [name for name in TOYS if name.startswith("toy/")]
    assert rows(check("toy")).keys() == rows(check("toy/", "toy/mean")).keys()
    assert check("--list").stdout.split() == list(TOYS)
    assert "theorem: Coins show 0 or 1." in check("--list", "--verbose").stdout


def test_json_is_strict_and_all_of_stdout():
    result = check("toy/late", "toy/proof", "--json", "-")  # inf and nan inside
    told = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert told["finished"] is True
    assert told["claims"][0]["parameters"]["bias"] == [None, "1j"]
    assert [c["verdict"] for c in told["claims"]] == ["undecided", "proved on the unit interval"]


def test_a_crash_keeps_the_others(tmp_path):
    file = tmp_path / "claims.json"
    result = check("toy/sound", "other/crash", "toy/mean", "--json", file)
    assert result.exit_code == 1
    assert list(rows(result)) == ["toy/sound", "toy/mean"]
    first, second = result.stderr.splitlines()
    assert first.startswith("error: other/crash: ZeroDivisionError: division by a toy (test_check_cli.py, line ")
    assert second == f"2 of 3 claims are finished; wrote {file}."
    told = json.loads(file.read_text())
    assert [c["name"] for c in told["claims"]] == ["toy/sound", "toy/mean"]
    assert list(told["crashed"]) == ["other/crash"]
    assert list(tmp_path.iterdir()) == [file]


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    file = tmp_path / "claims.json"
    result = check("toy/sound", "toy/proof", "other/stopped", "--json", file)
    assert result.exit_code == 130
    assert result.stderr == f"Interrupted: 2 of 3 claims are finished; wrote {file}.\n"
    assert list(rows(result)) == ["toy/sound", "toy/proof"]
    told = json.loads(file.read_text())
    assert told["finished"] is False
    assert told["not_run"] == ["other/stopped"]
    assert check("other/stopped").stderr == "Interrupted: 0 of 1 claims are finished; nothing was written.\n"


def test_figures_are_written_whole_and_a_broken_one_keeps_the_verdict(tmp_path, monkeypatch):
    result = check("toy/sound", "--out", tmp_path / "new")
    assert result.exit_code == 0
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == [
        f"toy-sound.{kind}" for kind in ("pdf", "png", "svg")
    ]
    assert "exists. Choose another --out, or allow it" in refused("toy/sound", "--out", tmp_path / "new")
    assert check("toy/sound", "--out", tmp_path / "new", "--overwrite").exit_code == 0
    monkeypatch.setattr("tokenflock.papers.claims.picture.picture", None)
    broken = check("toy/sound", "--out", tmp_path / "other")
    assert broken.exit_code == 1
    assert "error: the figure of toy/sound: TypeError" in broken.stderr
    assert rows(broken)["toy/sound"].split()[1] == "holds"
    assert list((tmp_path / "other").iterdir()) == []


def test_a_full_disk_still_tells_the_verdicts(tmp_path, monkeypatch):
    def full(path, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tokenflock.cli.checklist.write_text", full)
    result = check("toy/sound", "--json", tmp_path / "claims.json")
    assert result.exit_code == 1
    assert rows(result)["toy/sound"].split()[1] == "holds"
    assert "No space left on device" in result.stderr
    assert "nothing was written" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("toy/sond", "unknown claim 'toy/sond'. Did you mean 'toy/sound'? Known: toy/sound, toy/false"),
        ("tos/", "unknown claim 'tos/'."),
        ("", "which claims? Give names or --all, not both. `tokenflock check --list` shows the names."),
        ("toy/sound --all", "which claims?"),
        ("--all --trials 0", "--trials = '0' cannot be used. Allowed: a whole number >= 1."),
        ("--all --trials many", "--trials = 'many' cannot be used."),
        ("--all --seed -1", "--seed = '-1' cannot be used. Allowed: a whole number >= 0."),
        ("--all --trial a#1", "--trial and 7 claims cannot be combined. A trial belongs to one claim: give that one."),
        ("toy/sound --trial a", "--trial = 'a' cannot be used. Allowed: CASE#NUMBER."),
        (
            "toy/sound --trial a#1",
            "trial = 'a#1' cannot be used. Allowed: CASE#NUMBER. Cases of toy/sound: plain [coin]",
        ),
        ("--all --json no/file.json", "'no' is not a folder that can be written to. Choose another --json."),
        ("--all --json .", "'.' is a folder. Give --json the name of a file."),
        ("--all --json there", "'there' exists. Choose another --json, or allow it with --overwrite."),
        ("--all --out there", "is not a folder that can be written to. Choose another --out."),
    ],
)
def test_bad_input_is_one_sentence_before_any_work(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_text("mine")
    if "a#1" not in words or "--all" in words:
        monkeypatch.setattr(claims, "check", None)  # calling it would fail loudly
    assert said in refused(*words.split())
    assert (tmp_path / "there").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 1


def test_progress_is_on_a_terminal_alone(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time\nfrom tokenflock import claims, cli\nfrom tokenflock.papers.claims.ledger import Trial, claim\n"
        "words = dict(hypotheses=(), trial='', measured='', rule='', sizes={'trials': 6}, quick={}, statement='')\n"
        "def wait(rng):\n    time.sleep(0.2)\n    return Trial(True, 0.0)\n"
        "slow = claim('toy/slow', kind='theorem', **words)(lambda check: check.each('sleepy', wait, bound=1.0))\n"
        "claims.NAMES, claims.find = {'toy/slow': ''}, lambda name: slow\ncli.main()\n"
    )
    terminal, theirs = pty.openpty()
    command = [sys.executable, str(tmp_path / "slow.py"), "check", "--all"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment) as process:
        os.close(theirs)
        seen, deadline = b"", time.monotonic() + 300
        while process.poll() is None and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    seen += os.read(terminal, 4096)
                except OSError:
                    break
        stdout = process.communicate(timeout=300)[0]
    os.close(terminal)
    assert process.returncode == 0
    assert b"[1/1] 0 fine; toy/slow: sleepy" in seen
    assert b"sleepy" in stdout  # a case of the table
    assert b"\x1b[" not in stdout
    assert b"%" not in stdout
