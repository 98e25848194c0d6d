"""The smallest violation that a check is said to see is seen in 95 % of synthetic findings, and no violation rarely is.

No dynamics: the numbers are drawn from the law that a rule supposes, and go through the rules of the claims.
"""

import json
import math

import numpy as np
import pytest
from scipy.stats import binom

from tokenflock.papers import claims
from tokenflock.papers.claims import finding, power

DRAWS = 1000
# As many as are refuted of so many that are refuted with 95 %, but for once in a million.
ENOUGH = int(binom.ppf(1e-6, DRAWS, 0.95))
RARELY = int(binom.isf(1e-6, DRAWS, 1e-4))

QUICK = {
    name: (claims.find(name).kind == "estimate", int(claims.find(name).parameters(True)["trials"]))
    for name in claims.NAMES
}
ALWAYS = sorted({n for estimate, n in QUICK.values() if not estimate})
MEANS = sorted({n for estimate, n in QUICK.values() if estimate and n < 5000} | {2, 5})


def trials(answers):
    return finding.of_trials("toy", range(len(answers)), list(answers), [0.0] * len(answers), "<", 1.0, "")


@pytest.mark.parametrize("n", ALWAYS)
def test_the_smallest_share_of_failures_is_seen(n):
    """One decided failure refutes: 1 - 0.05^(1/n) is seen with 95 %, half of it is not, and none never is."""
    generator = np.random.default_rng(n)
    least = trials([True] * n).detects
    assert least == pytest.approx(1 - 0.05 ** (1 / n))
    seen = sum(trials(generator.random(n) >= least).holds is False for _ in range(DRAWS))
    assert ENOUGH <= seen <= DRAWS - (DRAWS - int(binom.isf(1e-6, DRAWS, 0.95)))
    assert sum(trials(generator.random(n) >= least / 2).holds is False for _ in range(DRAWS)) < ENOUGH
    assert trials([True] * n).holds is True


def test_undecided_trials_see_nothing():
    assert trials([True] * 4 + [None] * 96).detects == pytest.approx(trials([True] * 4).detects)
    assert trials([None] * 5).detects == 1.0
    assert trials([None] * 5).holds is None


def mean(values, predicted, slack=0.0):
    error = values.std(ddof=1) / math.sqrt(len(values))
    return finding.of_mean("toy", float(values.mean()), error, predicted, len(values), len(values), slack)


@pytest.mark.parametrize("n", MEANS)
@pytest.mark.parametrize("slack", [0.0, 0.3])
def test_the_smallest_shift_of_a_mean_is_seen(n, slack):
    """Values with a known law around the shifted mean; the rule knows only the values."""
    generator = np.random.default_rng(n)
    shift = slack + power.errors_seen(n) / math.sqrt(n)
    draws = generator.standard_normal((DRAWS, n))
    seen = sum(mean(shift + v, 0.0, slack).holds is False for v in draws)
    assert ENOUGH <= seen <= int(binom.isf(1e-6, DRAWS, 0.95))
    assert sum(mean(v, 0.0, slack).holds is False for v in draws) <= RARELY


def test_the_smallest_shift_of_a_mean_with_a_known_error_is_seen():
    generator = np.random.default_rng(0)
    found = finding.of_mean("toy", 0.0, 0.1, 0.0, 50, None, 0.05)
    assert found.detects == pytest.approx(0.05 + (4 + 1.6449) * 0.1, rel=1e-4)
    drawn = found.detects + 0.1 * generator.standard_normal(DRAWS)
    seen = sum(finding.of_mean("toy", float(m), 0.1, 0.0, 50, None, 0.05).holds is False for m in drawn)
    assert ENOUGH <= seen


@pytest.mark.parametrize(("predicted", "n"), [(0.5, 1000), (0.0625, 1000), (0.9, 300), (0.5, 40)])
def test_the_smallest_shift_of_a_share_is_seen(predicted, n):
    generator = np.random.default_rng(n)

    def share(p):
        answers = generator.random(n) < p
        return finding.of_share("toy", dict(enumerate(map(bool, answers))), predicted)

    least = share(predicted).detects
    for shifted in (predicted + least, predicted - least):
        if 0 <= shifted <= 1:
            assert sum(share(shifted).holds is False for _ in range(DRAWS // 4)) >= int(
                binom.ppf(1e-6, DRAWS // 4, 0.95)
            )
    assert sum(share(predicted).holds is False for _ in range(DRAWS // 4)) <= RARELY


def test_too_few_trials_of_a_share_see_nothing():
    assert math.isnan(power.share_seen(0.5, 4))


def test_shares_stay_in_the_unit_interval_and_leave_out_what_is_undecided():
    found = finding.of_share("toy", {0: True, 1: None, 2: True, 3: None}, 1.0)
    assert (found.measured, found.high, found.undecided, found.trials) == (1.0, 1.0, 2, 4)
    assert found.low == pytest.approx(2 / (2 + 1.959964**2))  # Wilson's with all hits: n / (n + z^2)
    assert found.holds is True
    refuted = finding.of_share("toy", {3: True, 5: False}, 1.0)
    assert refuted.failed == ("toy#5",)
    assert refuted.against == "not always"
    assert finding.of_share("toy", {0: None}, 1.0).holds is None


def test_one_failure_of_any_number_refutes_always():
    """What 4 standard errors let pass: 1 of 4, 2 of 5, 5 of 10, 15 of 24."""
    for hits, n in ((1, 4), (2, 5), (5, 10), (15, 24), (999, 1000)):
        assert finding.of_share("toy", {k: k < hits for k in range(n)}, 1.0).holds is False


def test_no_row_says_what_is_not_so():
    """Enough digits, the right relation, and the word "not" where it fails."""
    at = finding.of_trials("toy", [0], [True], [1.0], ">=", 1.0, "")
    assert f"{at.shown} {at.against}" == "1 >= 1"
    near = finding.of_trials("toy", [0], [True], [1 + 1e-9], ">", 1.0, "")
    assert f"{near.shown} {near.against}" == "1.000000001 > 1"
    beyond = finding.of_trials("toy", [0], [False], [4.0], "<=", 3.0, "")
    assert f"{beyond.shown} {beyond.against}" == "4 not <= 3"
    other = finding.of_trials("toy", [0], [False], [2.0], "<=", 3.0, "")
    assert f"{other.shown} {other.against}" == "2 <= 3, but fails"


def test_the_slack_stands_beside_what_is_predicted_and_an_interval_that_misses_it_says_so():
    found = finding.of_mean("toy", 1.05, 0.02, 1.0, 50, None, 0.0)
    assert found.holds is True
    assert found.excluded
    assert found.against == "predicted 1 ± 0.08; not in the 95 % interval"
    wide = finding.of_mean("toy", 1.01, 0.02, 1.0, 50, None, 0.3)
    assert not wide.excluded
    assert wide.against == "predicted 1 ± 0.38, of it slack 0.3"
    assert wide.margin == pytest.approx(1 - 0.01 / 0.38)
    plain = json.loads(json.dumps(found.plain()))
    assert plain["excluded"] is True
    assert plain["allowed"] == pytest.approx(0.08)


@pytest.mark.parametrize("name", claims.NAMES)
def test_every_claim_says_what_its_quick_size_sees(name):
    """Of a share of failures: less than two thirds with the fewest trials; of an estimate at most 40 errors."""
    least = claims.find(name).detects(quick=True)
    assert 0 < least < (40 if QUICK[name][0] else 0.67)
