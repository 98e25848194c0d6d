"""The table of statements says no more than the registries: docs/statements.py, shown by docs/rows.md."""

import re
import sys
from pathlib import Path

import pytest

from tokenflock.papers import citations, claims, figures, studies

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import gallery  # noqa: E402
import generated  # noqa: E402
import pieces  # noqa: E402
import statements  # noqa: E402

ROWS = [(paper, row) for paper, table in statements.PAPERS.items() for row in table]
EXISTING = {*claims.NAMES, *(f"study {name}" for name in studies.NAMES), *(f"figure {name}" for name in figures.NAMES)}


def shown(monkeypatch, tmp_path):
    """The page without a build."""
    monkeypatch.setattr(pieces, "OUT", tmp_path)
    page = generated.fill((ROOT / "docs" / "rows.md").read_text(encoding="utf-8"))
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", page)


@pytest.mark.parametrize(("paper", "row"), ROWS, ids=[f"{p} {r.where} {r.what}"[:60] for p, r in ROWS])
def test_a_row_names_what_exists(paper, row):
    assert paper in citations.REFERENCES
    assert set(row.names) <= EXISTING
    assert row.state in ("checked", "in part", "none")
    assert (row.state == "none") == (not row.names)
    assert row.missing or row.state != "in part"


def test_every_claim_is_on_the_page_and_every_gap(monkeypatch, tmp_path):
    page = shown(monkeypatch, tmp_path)
    missing = [name for name in claims.NAMES if f"[{name}](claims.md#" not in page]
    assert not missing
    assert page.count("| **none** |") == sum(row.state == "none" for _, row in ROWS) > 5
    for gap in ("Vlasov", "another ALBERT", "trained models on real text", "token diversity"):
        assert gap in page


def test_every_study_and_figure_is_in_a_row():
    named = {name for _, row in ROWS for name in row.names}
    assert not {name for name in EXISTING if name.startswith("figure ")} - named
    ours = {"study trained-weights"}  # questions that no paper asks
    assert not {name for name in EXISTING if name.startswith("study ")} - named - ours


def test_the_first_page_claims_no_more():
    first = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert "{doc}`rows`" in first
    assert not re.search(r"every (numbered )?statement", first)


def test_ways_lead_to_headings(monkeypatch, tmp_path):
    page = shown(monkeypatch, tmp_path)
    made = generated.fill("<!-- claims -->")
    made += (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    heads = re.findall(r"^#+ (.+)$", re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", made), re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
    assert set(re.findall(r"\.md#([\w-]+)\)", page)) <= anchors
    assert set(re.findall(r"\(gallery/([\w-]+)\.md\)", page)) <= set(gallery.pages())
