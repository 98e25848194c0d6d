"""The report: every item in one file, made again only when something changed, and nothing lost when one fails."""

import json
import re
from html import unescape

import pytest

from tokenflock.errors import FileError
from tokenflock.papers import claims, figures, report
from tokenflock.papers.claims.ledger import Trial, claim

WORDS = {
    "statement": "0 < 1 & that is all",
    "hypotheses": ("arithmetic",),
    "trial": "nothing",
    "measured": "a number",
    "rule": "below 1",
    "quick": {"trials": 2},
}


def below(check, value):
    check.each("one", lambda generator: Trial(value < 1, value), 1.0)


class Toys:
    """Claims that the report finds under tests.test_report-like names."""

    right = claim("toy/right", kind="theorem", sizes={"trials": 3, "value": 0.5}, **WORDS)(below)
    wrong = claim("toy/wrong", kind="theorem", sizes={"trials": 3, "value": 2.0}, **WORDS)(below)
    false = claim("toy/false", kind="conjecture", known="so it is", sizes={"trials": 3, "value": 2.0}, **WORDS)(below)
    broken = claim("toy/broken", kind="theorem", sizes={"trials": 3, "value": None}, **WORDS)(below)


@pytest.fixture
def toys(monkeypatch):
    """The report of one quick table and of the claims that a test puts in."""
    chosen = {"toy/right": "toys:right"}
    monkeypatch.setattr(claims, "NAMES", chosen)
    monkeypatch.setattr(claims, "find", lambda name: getattr(Toys, chosen[name].partition(":")[2]))
    monkeypatch.setattr(figures, "NAMES", {})
    table = {"title": "A table", "columns": ["", "n"], "rows": [["a < b", "1"]], "note": "said"}
    monkeypatch.setattr(report, "TABLES", {"right-step": lambda **_: dict(table)})
    return chosen


def text_of(path):
    return unescape(re.sub(r"<[^>]+>", " ", path.read_text(encoding="utf-8").replace("</style>", "")))


def test_a_claim_with_its_words_numbers_and_picture(tmp_path, toys):
    made = report.reproduce(tmp_path, quick=True)
    assert made == (tmp_path / "report.html", [])
    text = text_of(made.path)
    for words in ("0 < 1 & that is all", "arithmetic", "below 1", "holds", "toy/right", "Quick version"):
        assert words in text
    page = made.path.read_text(encoding="utf-8")
    assert len(re.findall(r'<img loading="lazy"[^>]* src="data:image/(?:webp|png|svg\+xml);base64,', page)) == 1
    assert 'href="#claim-toy-right"' in page
    assert 'id="claim-toy-right"' in page
    assert "http" not in re.sub(r"data:[^\"]+", "", page)
    assert {p.suffix for p in (tmp_path / "claims").iterdir()} == {".json", ".pdf", ".svg", ".png"}
    assert json.loads((tmp_path / "claims" / "toy-right.json").read_text())["verdict"] == "holds"


def test_a_failed_claim_is_red_and_told(tmp_path, toys):
    toys |= {"toy/wrong": "toys:wrong", "toy/false": "toys:false"}
    made = report.reproduce(tmp_path)
    assert made.failed == ["toy/wrong"]  # what is known to fail is no alarm
    page = made.path.read_text(encoding="utf-8")
    assert '<span class="fails">violated</span>' in page
    assert '<span class="fails">counterexample (known)</span>' in page
    text = text_of(made.path)
    assert 'tokenflock check toy/wrong --seed 0 --trial "one#0"' in text
    assert "Known to fail.  so it is" in text


def test_what_crashes_does_not_lose_the_others(tmp_path, toys, capsys):
    toys |= {"toy/broken": "toys:broken", "toy/right ": "toys:right"}
    made = report.reproduce(tmp_path)
    assert made.failed == ["toy/broken"]
    said = capsys.readouterr().err
    assert "crashed: TypeError" in said
    assert "[3/4] claim toy/right  ... holds" in said
    assert "A table" in text_of(made.path)


def test_what_has_to_be_fetched_is_said_and_is_no_failure(tmp_path, toys, monkeypatch):
    def figure(name, quick):
        raise FileError("no weights here. Fetch them.")

    monkeypatch.setattr(figures, "NAMES", {"causal/6": ""})
    monkeypatch.setattr(figures, "figure", figure)
    monkeypatch.setattr(figures, "parameters", lambda name, quick: {})
    monkeypatch.setattr(figures, "inputs", lambda name: {})
    made = report.reproduce(tmp_path)
    assert made.failed == []
    assert "no weights here. Fetch them." in text_of(made.path)


def test_only_what_is_missing_or_stale_is_made_again(tmp_path, toys, capsys):
    report.reproduce(tmp_path, quick=True)
    capsys.readouterr()
    report.reproduce(tmp_path, quick=True)
    assert capsys.readouterr().err.count("up to date") == 2
    (tmp_path / "claims" / "toy-right.svg").unlink()
    report.reproduce(tmp_path, quick=True)
    assert capsys.readouterr().err.count("up to date") == 1
    report.reproduce(tmp_path, quick=False)  # other parameters
    assert "claim toy/right ... holds" in capsys.readouterr().err


def test_ctrl_c_leaves_a_report_of_what_is_finished(tmp_path, toys, monkeypatch):
    def stop(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "TABLES", {"right-step": stop})
    with pytest.raises(KeyboardInterrupt):
        report.reproduce(tmp_path)
    text = text_of(tmp_path / "report.html")
    assert "Interrupted: what follows was finished." in text
    assert "toy/right" in text


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"cannot be made: .* Choose another place"):
        report.reproduce(tmp_path / "file" / "out")
