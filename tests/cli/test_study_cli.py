"""tokenflock study: what it prints and writes, how it goes on, how it fails."""

import json

import pytest
from typer.testing import CliRunner

from tokenflock.analysis.statistics import Estimate, wilson
from tokenflock.cli import app
from tokenflock.errors import FileError
from tokenflock.papers import studies
from tokenflock.papers.studies.ledger import study

made = []
ENDS = (".json", ".html", ".pdf", ".svg", ".png", "-rolls.csv", "-numbers.csv")


def draw(answer):
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot(answer.table("rolls")["k"])
    return figure


@study(
    "dice",
    source="paper Z, section 1",
    question="How often is a die a six?",
    method="roll",
    sizes={"rolls": 60},
    quick={"rolls": 30},
    draw=draw,
)
def dice(work, rolls):
    """A study that takes no time."""
    found = work.each({"rolls": (rolls,)}, lambda rng, n: made.append(n) or rng.integers(1, 7, n).tolist())["rolls"]
    work.table("rolls", ("k", "count"), [[k, found.count(k)] for k in range(1, 7)], "a <note>")
    work.number("share of sixes", wilson(found.count(6), rolls), rolls, 1 / 6)
    work.control("six sides", len(set(found)) <= 6, "as it must")
    work.surprise("a four came first")
    work.answer("About one in six.", "Loaded dice.")


@study("loaded", source="Z", question="Is it loaded?", method="look", sizes={}, quick={}, draw=draw)
def loaded(work):
    """A study whose control fails."""
    work.table("rolls", ("k",), [[1]])
    work.number("nothing", Estimate(0.0, 0.0, 0.0), 1)
    work.control("the null", False, "it moved")
    work.answer("Who knows.", "All.")


@study("absent", source="Z", question="Where is it?", method="look", sizes={}, quick={}, draw=draw)
def absent(work):
    """A study that needs a file."""
    raise FileError("no weights. Fetch them.")


@study("broken", source="Z", question="Why?", method="none", sizes={}, quick={}, draw=draw)
def broken(work):
    """A study that crashes."""
    raise ZeroDivisionError("by zero")


@study("stopped", source="Z", question="When?", method="none", sizes={}, quick={}, draw=draw)
def stopped(work):
    """A study that is interrupted."""
    raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def known(monkeypatch):
    made.clear()
    names = {name: f"{__name__}:{name}" for name in ("dice", "loaded", "absent", "broken", "stopped")}
    monkeypatch.setattr(studies, "NAMES", names)


def run(*arguments):
    return CliRunner().invoke(app, ["study", *map(str, arguments)])


def test_list_shows_questions():
    done = run("--list")
    assert done.exit_code == 0
    assert "dice\n    How often is a die a six?" in done.stdout


def test_an_answer_is_told_with_its_numbers_and_controls():
    done = run("dice", "--quick")
    assert done.exit_code == 0
    for words in ("share of sixes", "0.1667", "control ok: six sides", "Answer: About one in six.", "Unasked: a four"):
        assert words in done.stdout
    assert "What would change it: Loaded dice." in done.stdout
    assert made == [30]


def test_out_holds_page_figure_tables_and_is_read_again(tmp_path):
    out, target = tmp_path / "studies", tmp_path / "answers.json"
    done = run("dice", "--out", out, "--json", target)
    assert done.exit_code == 0, done.output
    names = {path.name for path in out.iterdir()}
    assert names == {
        "dice.json",
        "dice.html",
        "dice.pdf",
        "dice.svg",
        "dice.png",
        "dice-rolls.csv",
        "dice-numbers.csv",
        "index.html",
    }
    page = (out / "dice.html").read_text()
    for words in (
        "How often is a die a six?",
        "paper Z, section 1",
        "About one in six.",
        "a &lt;note&gt;",
        "data:image",
    ):
        assert words in page
    assert 'href="dice.html"' in (out / "index.html").read_text()
    assert (out / "dice-rolls.csv").read_text().startswith("k,count\n1,")
    told = json.loads(target.read_text())
    assert told["finished"]
    assert told["studies"][0]["numbers"][0]["name"] == "share of sixes"
    assert made == [60]
    assert run("dice", "--out", out).exit_code == 0
    assert made == [60], "a finished study is not made again"
    assert run("dice", "--out", out, "--overwrite").exit_code == 0
    assert made == [60, 60]


def test_json_on_stdout_is_json_alone():
    assert json.loads(run("dice", "--quick", "--json", "-").stdout)["studies"][0]["sound"]


def test_a_control_that_fails_is_an_error():
    done = run("loaded")
    assert done.exit_code == 1
    assert "control FAILS: the null (it moved)" in done.stdout
    assert "a control fails in loaded: do not trust the numbers" in done.stderr


def test_crashes_and_missing_files_keep_the_others():
    done = run("broken", "dice", "absent", "--quick")
    assert done.exit_code == 1
    assert "Answer: About one in six." in done.stdout
    assert "error: broken: ZeroDivisionError: by zero" in done.stderr
    assert "not made: absent: no weights. Fetch them." in done.stderr


def test_missing_weights_are_no_error_unless_asked_for(monkeypatch):
    monkeypatch.setattr(studies, "NAMES", {k: v for k, v in studies.NAMES.items() if k in ("dice", "absent")})
    assert run("--all", "--quick").exit_code == 0
    assert run("absent").exit_code == 1


def test_interrupted():
    done = run("dice", "stopped", "--quick")
    assert done.exit_code == 130
    assert "Interrupted: 1 of 2 studies are finished" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "which studies? Give names or --all"),
        (("dice", "--all"), "which studies? Give names or --all"),
        (("dise",), "unknown study 'dise'"),
        (("dice", "--seed", "x"), "--seed"),
    ],
)
def test_bad_input_is_one_sentence(arguments, words):
    done = run(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert "Traceback" not in done.output


def test_a_json_file_that_is_there_is_not_replaced(tmp_path):
    target = tmp_path / "answers.json"
    target.write_text("mine")
    done = run("dice", "--json", target)
    assert done.exit_code == 2
    assert "--overwrite" in done.stderr
    assert target.read_text() == "mine"
    assert not made, "said before any work"
