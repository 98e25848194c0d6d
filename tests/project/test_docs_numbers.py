"""README and the pages quote what was measured: tables come from benchmarks/results, sentences are held to it."""

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


@pytest.fixture(scope="module")
def docs():
    """The modules of docs/, which need no Sphinx."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        yield {name: importlib.import_module(name) for name in ("measured", "readme", "generated", "chart")}
    finally:
        sys.path.remove(str(ROOT / "docs"))


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def stored(pattern, kind):
    """What the newest file of a kind says."""
    text = sorted(RESULTS.glob(f"????-??-??-{kind}.*"))
    found = [m[1] for path in reversed(text) if path.suffix != ".png" for m in re.finditer(pattern, path.read_text())]
    assert found, f"no file of {kind} has {pattern}"
    return found[0]


@pytest.mark.parametrize("page", ["README.md", "docs/api.md", "docs/claims.md", "docs/figures.md"])
def test_what_nobody_types_is_not_stale(docs, page):
    assert page in docs["readme"].PAGES
    text = read(page)
    assert docs["readme"].filled(page, text) == text, f"{page} is stale: run python docs/readme.py (make readme)"


def test_a_table_that_was_edited_by_hand_is_noticed(docs):
    text = read("README.md")
    edited = re.sub(r"(<!-- speed -->.*?\| )(\d)", r"\g<1>9\2", text, count=1, flags=re.DOTALL)
    assert edited != text
    assert docs["readme"].filled("README.md", edited) == text


#: (page, its sentence with the number, kind of result, where the number stands there)
QUOTES = [
    (
        "README.md",
        r"takes\n([\d.]+) s on two cores",
        "harmonic",
        r"d=2 n=1e\+06 beta=64 causal +2 core\(s\) ([\d.]+) s",
    ),
    ("README.md", r"pair by pair \(([\d.]+) s\)", "gpu", r"whole velocity causal float32 +d=2 +([\d.]+) s"),
    ("README.md", r"32 tokens take\n(\d+) s on two", "sweeps", r"store included +(\d+) s wall"),
    ("docs/many_runs.md", r"to t = 50 take (\d+) s, store", "sweeps", r"store included +(\d+) s wall"),
    (
        "docs/many_runs.md",
        r"a run costs ([\d.]+) ms of processor",
        "sweeps",
        r"2 workers +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+)",
    ),
]


@pytest.mark.parametrize(("page", "sentence", "kind", "pattern"), QUOTES, ids=[q[0] + ": " + q[3][:20] for q in QUOTES])
def test_a_number_in_a_sentence_is_the_measured_one(page, sentence, kind, pattern):
    told = re.search(sentence, read(page))
    assert told, f"{page} has no longer: {sentence}"
    digits = len(told[1].partition(".")[2])
    measured = float(stored(pattern, kind))
    assert abs(float(told[1]) - measured) <= 0.5000001 * 10.0**-digits, (
        f"{page} says {told[1]}, measured was {measured}"
    )


def test_the_chart_has_a_row_for_every_peer_and_limit(docs):
    measured = docs["measured"]
    rows = list(measured.ratios())
    labels = [row.label for row in rows]
    assert len(set(labels)) == len(labels)
    assert all(row.ratio > 0 for row in rows)
    assert sum("core" in label for label in labels) >= 6
    assert {row.panel for row in rows} == {measured.PEER, measured.SHARE}
    aims = {row.target for row in rows if row.label.startswith(("one causal run", "full attention"))}
    assert aims == {measured.TARGETS["single"], measured.TARGETS["full"]}


def test_the_chart_is_drawn(docs, tmp_path):
    docs["chart"].draw(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_of_benchmarks_shows_cost_against_n_beta_and_d(docs):
    text = "\n".join(docs["measured"].cost())
    assert {"| n |", "| beta |", "| d |"} <= {
        line[: line.index("|", 2) + 1] for line in text.splitlines() if "|" in line
    }
    assert text.count("tokenflock, harmonic") == 3


def test_pages_ask_only_for_what_is_made(docs):
    asked = {
        name
        for page in (ROOT / "docs").glob("*.md")
        for name in re.findall(r"^<!-- (\w+)(?: [\w/.-]+)* -->$", page.read_text(), re.MULTILINE)
    }
    assert asked - {"slow"} <= set(docs["generated"].PAGES)
    filled = docs["generated"].fill(read("docs/numbers.md"))
    assert "step and normalise, dt = 0.1" in filled


def test_rows_of_a_few_groups_hide_no_others(docs, tmp_path, monkeypatch):
    measured = docs["measured"]
    monkeypatch.setattr(measured, "RESULTS", tmp_path)
    (tmp_path / "2026-01-01-cpu.json").write_text('{"rows": [{"group": "a", "v": 1}, {"group": "b", "v": 1}]}')
    (tmp_path / "2026-01-02-cpu.json").write_text('{"rows": [{"group": "b", "v": 2}]}')
    (tmp_path / "2026-01-03-other-cpu.json").write_text('{"rows": [{"group": "b", "v": 3}]}')
    groups, stem = measured.newest("cpu")
    assert (groups["a"][0]["v"], groups["b"][0]["v"], stem) == (1, 2, "2026-01-02-cpu")
