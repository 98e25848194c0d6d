"""The verdicts of the full sizes that docs/findings.md quotes are those that were kept."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tokenflock.papers.claims.meanfield import mean_square, of_steps

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "benchmarks" / "results" / "claims" / "full-sizes.jsonl"


@pytest.fixture(scope="module")
def kept():
    """Findings (claim, seed, heads, finding), and the page without line breaks."""
    lines = [json.loads(line) for line in KEPT.read_text(encoding="utf-8").splitlines()]
    found = [(line["claim"], line["seed"], line["sizes"].get("heads"), f) for line in lines for f in line["findings"]]
    return found, re.sub(r"\s+", " ", (ROOT / "docs" / "findings.md").read_text(encoding="utf-8"))


def of(found, claim, case):
    return [f for name, _, _, f in found if name == claim and f["case"].startswith(case)]


def test_heads(kept):
    found, page = kept
    levels = of(found, "emergence/heads-levels", "levels")
    lost = sum(f["undecided"] for f in levels)
    assert [f["trials"] for f in levels] == [500] * 3
    assert not any(f["failed"] for f in levels + of(found, "emergence/heads-levels", "monotone"))
    assert f"{1500 - lost:,} ended on levels 0, a, b and {lost} were given up" in page
    inside = {f["case"].partition(", ")[2]: f for f in of(found, "emergence/heads-polytope", "boundary")}
    assert [f["trials"] for f in inside.values()] == [500] * 4
    two, four = (inside[f"{k} heads, own Q_h'K_h"] for k in (2, 4))
    assert f"two such heads {two['failed']} rest inside the hull and {two['undecided']} are undecided" in page
    assert f"of 500 with four {four['failed']} and {four['undecided']}" in page
    one = [inside[f"{k} heads, one Q'K"] for k in (2, 4)]
    assert not any(f["failed"] for f in one)
    assert f"none of 1,000 does, and {sum(f['undecided'] for f in one)} are undecided" in page
    hulls = of(found, "emergence/heads-polytope", "hulls")
    assert [(f["trials"], f["failed"], f["undecided"]) for f in hulls] == [(500, 0, 0)] * 4


def test_seeds_that_were_new(kept):
    found, page = kept
    assert sorted({seed for name, seed, _, _ in found if name == "emergence/robustness"}) == list(range(10, 22))
    for case, stayed in (("weights", 359), ("noise", 360)):
        some = of(found, "emergence/robustness", case)
        assert sum(f["failed"] for f in some) == 0
        assert sum(f["trials"] - f["undecided"] for f in some) == stayed
    share = of(found, "emergence/robustness", "share")
    little = sum(round(f["measured"] * (f["trials"] - f["undecided"])) for f in share)
    assert f"in {little} of the 359 (0.981 [0.960, 0.991])" in page


def test_the_law_of_steps_and_not_that_of_kappa(kept):
    found, page = kept
    off = {"law": [], "steps": []}
    for kappa in (0.5, 1.0, 1.5, 3.0, 4.0, 8.0):
        some = of(found, "meanfield/pitchfork", f"kappa = {kappa:g}, {'R^2' if kappa > 2 else 'n R^2'}")
        assert len(some) == 8
        mean = np.mean([f["measured"] for f in some])
        error = np.hypot.reduce([(f["high"] - f["low"]) / 2 / 1.96 for f in some]) / len(some)
        scale = 1 if kappa > 2 else 200
        off["law"].append(abs(mean - scale * mean_square(kappa, 200)) / error)
        off["steps"].append(abs(mean - scale * mean_square(of_steps(kappa, 0.025), 200)) / error)
    assert f"{min(off['law']):.1f} to {max(off['law']):.1f} standard errors off the law of kappa" in page
    assert f"at most {max(off['steps']):.1f} off that of their steps" in page
