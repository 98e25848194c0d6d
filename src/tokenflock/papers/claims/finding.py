"""What one case of a check showed, what it is held against, and in which words the two stand side by side.

    rule       what refutes it
    always     one decided trial that fails
    mean       a mean that is farther from the predicted value than 4 standard errors and the slack
    share      a number of hits that is as improbable as that
    none       nothing: measured, and held against nothing
    proof      a proof that does not go through

The slack is what a prediction itself may be off, known beforehand. `detects` is the smallest violation that the case
refutes with a probability of 95 % (`power`): a share of failing trials under `always`, else a shift of the number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tokenflock.analysis.statistics import wilson
from tokenflock.papers.claims import power

SHOWN = 1.96  # standard errors of a 95 % interval
ALWAYS, MEAN, SHARE, NONE, PROOF = "always", "mean", "share", "none", "proof"
#: How what was measured must stand to its bound.
RELATIONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


@dataclass(frozen=True)
class Finding:
    """One case: the worst number that was measured, and what it was held against."""

    case: str
    trials: int
    measured: float
    relation: str = "<"  # of RELATIONS: against a bound; "=": a mean or a share against a predicted value
    bound: float | None = None
    low: float | None = None  # the 95 % interval of a mean or a share
    high: float | None = None
    failed: tuple[str, ...] = ()  # names of trials, for check(..., trial=name)
    undecided: int = 0
    proved: str = ""  # the range over which this is proved
    note: str = ""
    rule: str = ALWAYS
    slack: float = 0.0
    allowed: float | None = None  # how far measured may be from the predicted value, the slack included
    detects: float | None = None
    values: tuple[float, ...] = field(default=(), repr=False)  # of every trial, for the picture
    answers: tuple[bool | None, ...] = field(default=(), repr=False)

    @property
    def holds(self) -> bool | None:
        """False if a trial failed, None if none came to an end, else True."""
        if self.failed:
            return False
        return None if self.trials and self.undecided == self.trials else True

    @property
    def within(self) -> bool:
        """Whether measured stands to the bound as it should; True without a bound."""
        if self.bound is None:
            return True
        if self.relation == "=":
            return not self.failed
        return bool(RELATIONS[self.relation](self.measured, self.bound))

    @property
    def excluded(self) -> bool:
        """Whether it agrees although the 95 % interval leaves out what is predicted."""
        if self.rule not in (MEAN, SHARE) or self.bound is None or self.low is None or self.high is None:
            return False
        return not self.failed and not self.low <= self.bound <= self.high

    @property
    def margin(self) -> float:
        """How far measured is from the bound, 0 at the bound and negative beyond it."""
        if self.bound is None:
            return math.inf
        if self.relation == "=":
            if self.rule == ALWAYS:
                return -1.0 if self.failed else self.low or 0.0
            return 1 - abs(self.measured - self.bound) / max(self.allowed or 0.0, 1e-300)
        off = (self.bound - self.measured) * (1 if self.relation in ("<", "<=") else -1)
        return off / max(abs(self.bound), 1e-300)

    @property
    def shown(self) -> str:
        """What was measured with its interval, in enough digits to tell it from what it is held against."""
        if math.isnan(self.measured):
            return ""
        told = self._told(self.measured)
        return told if self.low is None or self.high is None else f"{told} [{self.low:.4g}, {self.high:.4g}]"

    @property
    def against(self) -> str:
        """What it is held against, with the slack; a row that fails says so, and no row says what is not so."""
        if self.rule == PROOF:
            return f"{'not ' if self.failed else ''}proved on {self.proved}"
        if self.bound is None:
            return "fails" if self.failed else ""
        if self.relation != "=":
            held = f"{self.relation} {self.bound:.4g}"
            if self.holds is None:
                return f"{held} not decided"
            return f"{held}, but fails" if self.failed and self.within else f"not {held}" if self.failed else held
        if self.rule == ALWAYS:
            return "not always" if self.failed else "always"
        words = f"predicted {self.bound:.4g} ± {self.allowed or 0.0:.2g}"
        words += f", of it slack {self.slack:.2g}" if self.slack else ""
        return f"{words}; not in the 95 % interval" if self.excluded else words

    def _told(self, value: float) -> str:
        said = f"{value:.4g}"
        if self.bound is None or value == self.bound:
            return said
        return next((s for d in range(4, 18) if (s := f"{value:.{d}g}") != f"{self.bound:.{d}g}"), said)

    def plain(self) -> dict[str, Any]:
        """Everything but the single trials, for JSON."""
        kept = {k: v for k, v in vars(self).items() if k not in ("values", "answers")}
        words = ("holds", "excluded", "shown", "against")
        return kept | {word: getattr(self, word) for word in words}


def of_mean(
    case: str, mean: float, error: float, predicted: float | None, trials: int, count: int | None, slack: float,
    inside: tuple[float, float] = (-math.inf, math.inf), **more: Any,
) -> Finding:  # fmt: skip
    """A mean against what is predicted. count: of how many values it is the mean; None: its error is known."""
    allowed = power.factor(count) * error + slack
    half = power.factor(count, SHOWN) * error
    off = predicted is not None and not abs(mean - predicted) <= allowed
    held: dict[str, Any] = {"rule": NONE}
    if predicted is not None:
        seen = slack + (power.errors_seen(count) * error if error else 0.0)
        held = {"rule": MEAN, "slack": slack, "allowed": allowed, "detects": seen}
    failed = (f"{case}#0",) if off else ()
    low, high = max(mean - half, inside[0]), min(mean + half, inside[1])
    return Finding(case, trials, mean, "=", predicted, low, high, failed, **held, **more)


def of_share(case: str, answers: Mapping[int, bool | None], predicted: float | None, note: str = "") -> Finding:
    """The share of decided trials with the answer True, its interval, and what is predicted for it: 1 is always.

    answers: by the number of the trial. None is left out, whatever it would have been, and counted as undecided.
    """
    told = {k: _answer(answer) for k, answer in answers.items()}
    decided = [answer for answer in told.values() if answer is not None]
    share, low, high = wilson(sum(decided), len(decided))
    held: dict[str, Any] = {"rule": NONE}
    failed: tuple[str, ...] = ()
    if predicted == 1:
        failed = tuple(f"{case}#{k}" for k, answer in told.items() if answer is False)
        held = {"rule": ALWAYS, "detects": power.failures_seen(len(decided))}
    elif predicted is not None and decided:
        least, most = power.share_limits(predicted, len(decided))
        failed = () if least <= sum(decided) <= most else (f"{case}#0",)
        allowed = max(predicted - least / len(decided), most / len(decided) - predicted)
        held = {"rule": SHARE, "allowed": allowed, "detects": power.share_seen(predicted, len(decided))}
    undecided, each = len(told) - len(decided), tuple(told.values())
    return Finding(
        case, len(answers), share, "=", predicted, low, high, failed, undecided, "", note, **held, answers=each
    )


def _answer(ok: bool | np.bool_ | None) -> bool | None:
    """A comparison of numpy numbers is no bool, and `is False` would not see that it failed."""
    return None if ok is None else bool(ok)


def of_trials(
    case: str, numbers: Sequence[int], answers: Sequence[bool | None], values: Sequence[float], relation: str,
    bound: float | None, note: str, points: int = 1,
) -> Finding:  # fmt: skip
    """All trials of a case, each right, wrong or undecided. measured: the worst value of those that are decided."""
    answers = [_answer(ok) for ok in answers]
    decided = [v for v, ok in zip(values, answers, strict=True) if ok is not None]
    worst = max if relation in ("<", "<=") else min
    return Finding(
        case=case,
        trials=len(answers),
        measured=float(worst(decided or values)),
        relation=relation,
        bound=bound,
        failed=tuple(f"{case}#{k}" for k, ok in zip(numbers, answers, strict=True) if ok is False),
        undecided=len(answers) - len(decided),
        note=note,
        detects=power.failures_seen(points * len(decided)),
        values=tuple(float(v) for v in values),
        answers=tuple(answers),
    )
