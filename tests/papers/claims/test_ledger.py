"""The ledger: how trials are seeded, counted and judged."""

import json
import math
import threading

import numpy as np
import pytest

from tokenflock.errors import SpecError
from tokenflock.papers import claims
from tokenflock.papers.claims import ledger
from tokenflock.papers.claims.ledger import Check, Trial, claim
from waiting import LONG_S

WORDS = {
    "statement": "numbers are below the limit",
    "hypotheses": ("they are uniform",),
    "trial": "a uniform number",
    "measured": "the number",
    "rule": "below the limit",
}


def made(kind="theorem", known=""):
    """A claim about uniform numbers, which its sizes can break."""

    @claim(
        "toy/below",
        kind=kind,
        sizes={"trials": 20},
        quick={"trials": 4},
        known=known,
        **WORDS,
    )
    def below(check: Check, limit: float = 1.0, undecided: float = 0.0) -> None:
        def one(generator):
            value = generator.random()
            return Trial(None if value < undecided else bool(value < limit), value)

        check.each("one", one, limit)
        check.each("two", one, limit)

    return below


def run(toy, trials=None, seed=0, quick=False, trial=None, tell=None, **changes):
    return ledger.run(toy, trials, seed, quick, trial, tell, **changes)


@pytest.mark.parametrize("kind", ledger.WORDS)
def test_the_word_follows_the_trials(kind):
    good, bad = ledger.WORDS[kind]
    assert run(made(kind)).word == good
    assert run(made(kind)).holds is True
    broken = run(made(kind), limit=0.5)
    assert broken.word == bad
    assert broken.holds is False
    assert broken.alarming
    assert not run(made(kind, known="it is false"), limit=0.5).alarming


def test_undecided_trials_never_violate():
    verdict = run(made(), undecided=2.0)
    assert verdict.word == "undecided"
    assert verdict.holds is None
    assert verdict.undecided == verdict.trials == 40
    some = run(made(), undecided=0.3)
    assert some.word == "holds"
    assert 0 < some.undecided < 40


def test_sizes():
    assert run(made()).trials == 40
    assert run(made(), quick=True).trials == 8
    assert run(made(), quick=True, trials=3).trials == 6
    assert run(made(), limit=3.0).parameters == {"trials": 20, "limit": 3.0, "undecided": 0.0}


def test_trials_are_the_same_whatever_their_number_and_case():
    few, many, other = run(made(), trials=3), run(made(), trials=30), run(made(), trials=3, seed=1)
    assert many.findings[0].values[:3] == few.findings[0].values
    assert few.findings[0].values != other.findings[0].values
    assert few.findings[0].values != few.findings[1].values  # cases draw their own numbers


def test_a_failed_trial_is_repeated_by_its_name():
    broken = run(made(), limit=0.5)
    name = broken.failed[-1]
    case, _, number = name.rpartition("#")
    again = run(made(), limit=0.5, trial=name)
    assert [f.case for f in again.findings] == [case]
    assert again.trials == 1
    assert again.failed == [name]
    index = [f.case for f in broken.findings].index(case)
    assert again.findings[0].values[0] == broken.findings[index].values[int(number)]
    with pytest.raises(
        SpecError, match=r"trial = 'three#1' cannot be used. Allowed: CASE#NUMBER. Cases of toy/below: one, two"
    ):
        run(made(), trial="three#1")


def test_trials_run_over_the_threads_and_in_order(monkeypatch):
    monkeypatch.setattr("tokenflock.cores.threads", lambda: 4)
    gate = threading.Barrier(4, timeout=300)

    @claim("toy/wait", kind="theorem", sizes={"trials": 4}, quick={}, **WORDS)
    def wait(check):
        def one(generator):
            gate.wait(timeout=LONG_S)  # passes only if all four are under way at once
            return Trial(True, generator.random())

        check.each("one", one, 1.0)

    together = run(wait).findings[0].values
    monkeypatch.setattr("tokenflock.cores.threads", lambda: 1)
    gate = threading.Barrier(1)
    assert run(wait).findings[0].values == together


def test_a_crash_in_a_trial_is_raised():
    @claim("toy/crash", kind="theorem", sizes={"trials": 4}, quick={}, **WORDS)
    def crash(check):
        check.each("one", lambda generator: 1 / 0, 1.0)

    with pytest.raises(ZeroDivisionError):
        run(crash)


def test_progress_is_told():
    said = []
    run(made(), trials=2, tell=lambda what, fraction: said.append((what, fraction)))
    assert said[0] == ("toy/below: one", 0.5)
    assert said[-1] == ("toy/below: two", 1.0)


def estimate(values, predicted, **more):
    @claim("toy/mean", kind="estimate", sizes={"trials": 1}, quick={}, **WORDS)
    def mean(check):
        check.estimate("mean", values, predicted, **more)

    return run(mean)


def test_estimates_have_intervals_and_disagree_when_far_off():
    values = np.random.default_rng(0).normal(3.0, 1.0, 400)
    verdict = estimate(values, 3.0)
    assert verdict.word == "agrees"
    finding = verdict.findings[0]
    assert finding.measured == pytest.approx(values.mean())
    assert finding.high - finding.low == pytest.approx(2 * 1.96 * values.std(ddof=1) / 20, rel=0.01)
    assert estimate(values, 3.3).word == "disagrees"
    assert estimate(values, 3.3, slack=0.2).word == "agrees"
    assert estimate(values, None).word == "agrees"  # measured, held against nothing


def test_few_values_are_trusted_less():
    """By Student's factors: three values never exclude what 4 of their standard errors would."""
    wrong = sum(estimate(np.random.default_rng(k).normal(size=3), 0.0).holds is False for k in range(400))
    assert wrong == 0


def test_intervals_cover_what_they_should():
    covered = 0
    for k in range(400):
        finding = estimate(np.random.default_rng(k).normal(size=5), 0.0).findings[0]
        covered += finding.low <= 0 <= finding.high
    assert covered / 400 == pytest.approx(0.95, abs=0.04)


def test_proofs_name_their_range():
    @claim("toy/proof", kind="theorem", sizes={"trials": 1, "right": True}, quick={}, **WORDS)
    def proof(check, right):
        check.each("sampled", lambda generator: Trial(True, 0.0), 1.0)
        check.proof("all", "x > 0", 12, failed=not right)

    verdict = run(proof)
    assert verdict.word == "proved on x > 0"
    assert verdict.holds is True
    assert verdict.trials == 1
    assert run(proof, right=False).word == "violated"


def test_the_tightest_case_speaks_for_the_claim():
    verdict = run(made())
    worst = max(verdict.findings, key=lambda f: f.measured)
    assert (verdict.measured, verdict.bound) == (worst.measured, 1.0)


def test_a_verdict_is_plain_json():
    plain = json.loads(json.dumps(run(made(), limit=0.5).plain(), allow_nan=False))
    assert plain["verdict"] == "violated"
    assert plain["claim"]["statement"] == WORDS["statement"]
    assert plain["failed"]
    assert math.isfinite(plain["wall_s"])


def test_every_verdict_has_a_figure_with_labels():
    figure = run(made(), limit=0.9, undecided=0.1).figure
    ax = figure.axes[0]
    assert ax.get_xlabel() == "The number"
    assert [text.get_text() for text in ax.get_yticklabels()] == ["one", "two"]
    assert "numbers are below the limit" in figure.caption
    assert "Verdict: violated" in figure.caption
    relative = estimate(np.arange(10.0), 4.0).figure
    assert relative.axes[0].get_xlabel().endswith("over the predicted value")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"trials": 0}, "trials = 0 cannot be used. Allowed: an integer >= 1"),
        ({"trials": 2.5}, "trials = 2.5 cannot be used"),
        ({"seed": -1}, "seed = -1 cannot be used. Allowed: an integer >= 0"),
        ({"limt": 1.0}, "unknown parameter of toy/below 'limt'. Did you mean 'limit'?"),
    ],
)
def test_bad_input(given, text):
    with pytest.raises(SpecError, match=text):
        run(made(), **given)


def test_an_unknown_claim_suggests_the_nearest():
    with pytest.raises(SpecError, match=r"unknown claim 'causal/theorem-41'. Did you mean 'causal/theorem-4.1'?"):
        claims.check("causal/theorem-41")


@pytest.mark.parametrize("name", claims.NAMES)
def test_every_declaration_is_complete(name):
    found = claims.find(name)
    assert found.name == name
    assert found.kind in ledger.WORDS
    for words in (found.statement, found.trial, found.measured, found.rule, *found.hypotheses):
        assert len(words) >= 5
    assert "trials" in found.sizes
    assert set(found.quick) <= set(found.sizes)
    assert found.parameters(quick=True)["trials"] <= found.parameters()["trials"]
