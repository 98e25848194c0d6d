"""The first screen of the report, and its pictures."""

import re

import numpy as np
from PIL import Image

from tokenflock.papers.report.images import ACROSS, embedded
from tokenflock.papers.report.opening import grouped, opening


def claim(name, holds, known="", findings=()):
    words = {"known": known}
    verdict = {True: "holds", False: "violated", None: "undecided"}[holds]
    return {"kind": "claim", "name": name, "holds": holds, "verdict": verdict, "claim": words, "findings": findings}


def text_of(markup):
    return " ".join(re.sub(r"<[^>]+>", " ", markup).split())


def test_the_first_sentence_counts():
    told = text_of(opening([claim("causal/a", True), claim("causal/b", True), claim("emergence/c", False)]))
    assert told.startswith("2 of 3 statements stand; one does not.")
    assert text_of(opening([claim("causal/a", True)])).startswith("One of one stands.")
    many = [claim("causal/a", True)] + [claim(f"causal/{k}", False) for k in range(3)] + [claim("causal/u", None)]
    assert text_of(opening(many)).startswith("1 of 5 statements stand; three do not; one is not decided.")


def test_what_does_not_stand_says_why_in_its_first_sentence_that_does():
    known = "False as printed, in two ways here. (1) V need not be symmetric: it fails. (2) More."
    told = text_of(opening([claim("causal/conjecture-1", False, known)]))
    assert "violated , known): False as printed, in two ways here. (1)" in told
    assert "More" not in told
    found = [{"case": "first", "holds": True}, {"case": "second", "holds": False}]
    assert "in 1 of 2 cases, first in: second" in text_of(opening([claim("causal/x", False, findings=found)]))
    crashed = {"kind": "claim", "name": "causal/y", "error": "TypeError: no", "state": "crashed", "failed": True}
    assert "causal/y : crashed. TypeError: no" in text_of(opening([crashed]))


def test_every_item_is_linked_under_its_paper():
    figure = {"kind": "figure", "name": "causal/2"}
    table = {"kind": "table", "name": "right-step"}
    done = [claim("causal/a", True), claim("toy/b", False), figure, table]
    page = opening(done)
    for link in ("#claim-causal-a", "#claim-toy-b", "#figure-causal-2", "#paper-causal", "#paper-toy", "#paper-tables"):
        assert f'href="{link}"' in page
    assert [group.key for group in grouped(done)] == ["causal", "toy"]
    assert grouped(done)[0].title == "Paper A: Clustering in Causal Attention Masking"
    assert 'class="shut">b</a>' in page


def test_a_picture_is_small_and_knows_its_size(tmp_path):
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 255, (900, 2000, 3), dtype=np.uint8)).save(tmp_path / "a.png")
    (tmp_path / "a.svg").write_text("<svg/>")
    drawn = embedded(tmp_path / "a.svg", tmp_path / "a.png")
    assert (drawn.mime, drawn.content, drawn.width, drawn.height) == ("image/svg+xml", b"<svg/>", ACROSS, 630)
    (tmp_path / "b.svg").write_text('<svg viewBox="0 0 200 100"></svg>')
    assert embedded(tmp_path / "b.svg", None)[2:] == (ACROSS, ACROSS // 2)
    (tmp_path / "a.svg").write_bytes(b"x" * 10_000_000)
    dots = embedded(tmp_path / "a.svg", tmp_path / "a.png")
    assert dots.mime in ("image/webp", "image/png")
    assert len(dots.content) < 2_000_000
