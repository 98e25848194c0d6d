"""What a claim is, how its trials are run, and how they become a verdict.

    Claim      one numbered statement of a paper: words, sizes, and the experiment
    Check      one experiment under way: draws trials, each from its own seed, and collects findings
    Finding    what the trials of one case showed, against its bound or its predicted value
    Verdict    all of it, with the word:

    kind          all is well     otherwise
    theorem       holds           violated          proved on ... where ball arithmetic covered the whole range
    conjecture    consistent      counterexample    kept as the name of a trial that can be repeated
    estimate      agrees          disagrees         a confidence interval against the predicted value

A trial that did not come to an end is undecided and never counts as a violation.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tokenflock.arguments import changed
from tokenflock.errors import bad
from tokenflock.runner import in_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = {
    "theorem": ("holds", "violated"),
    "conjecture": ("consistent", "counterexample"),
    "estimate": ("agrees", "disagrees"),
}
UNDECIDED = "undecided"
#: An estimate disagrees when it is this many standard errors off: by chance once in 16,000 cases. Intervals are 95 %.
SURE, SHOWN = 4.0, 1.96

Experiment = Callable[..., None]
Tell = Callable[[str, float], None]


class Trial(NamedTuple):
    """What one trial found. ok None: it did not come to an end."""

    ok: bool | None
    measured: float
    note: str = ""
    data: Any = None


@dataclass(frozen=True)
class Finding:
    """One case: the worst number that was measured, and what it was held against."""

    case: str
    trials: int
    measured: float
    relation: str = "<"  # "<" and ">": against a bound; "=": an estimate against a predicted value
    bound: float | None = None
    low: float | None = None
    high: float | None = None
    failed: tuple[str, ...] = ()  # names of trials, for check(..., trial=name)
    undecided: int = 0
    proved: str = ""  # the range over which this is proved
    note: str = ""
    values: tuple[float, ...] = field(default=(), repr=False)  # of every trial, for the picture
    answers: tuple[bool | None, ...] = field(default=(), repr=False)

    @property
    def holds(self) -> bool | None:
        """False if a trial failed, None if none came to an end, else True."""
        if self.failed:
            return False
        return None if self.trials and self.undecided == self.trials else True

    @property
    def margin(self) -> float:
        """How far measured is from the bound, 0 at the bound and negative beyond it."""
        if self.bound is None:
            return math.inf
        if self.relation == "=":
            half = max((self.high or 0) - (self.low or 0), 1e-300) / 2
            return 1 - abs(self.measured - self.bound) / half * SHOWN / SURE
        off = (self.bound - self.measured) * (1 if self.relation == "<" else -1)
        return off / max(abs(self.bound), 1e-300)


@dataclass(frozen=True)
class Claim:
    """One statement of a paper as a declaration; `experiment(check, **sizes)` is what is run."""

    name: str
    kind: str
    statement: str
    hypotheses: tuple[str, ...]
    trial: str
    measured: str
    rule: str
    sizes: Mapping[str, Any]
    quick: Mapping[str, Any]
    experiment: Experiment
    erratum: str = ""
    known: str = ""  # why this is known to fail: then a failure is a finding, not an alarm

    def parameters(self, quick: bool = False, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The sizes of a check: `trials` among them, and whatever else a user may change to see it fail."""
        return changed(self.name, {**self.sizes, **(self.quick if quick else {})}, changes or {})


def claim(name: str, sizes: Mapping[str, Any], **words: Any) -> Callable[[Experiment], Claim]:
    """Make the function below a Claim. Its sizes are `trials`, and the function's own arguments with their defaults."""

    def declared(experiment: Experiment) -> Claim:
        own = {k: p.default for k, p in signature(experiment).parameters.items() if p.default is not p.empty}
        return Claim(name=name, experiment=experiment, sizes={**sizes, **own, **sizes}, **words)

    return declared


@dataclass(frozen=True)
class Verdict:
    """What a check came to. `figure` draws it."""

    claim: Claim
    word: str
    findings: tuple[Finding, ...]
    parameters: dict[str, Any]
    seed: int
    quick: bool
    wall_s: float
    note: str = ""
    draw: Callable[[], Any] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The name of the claim."""
        return self.claim.name

    @property
    def statement(self) -> str:
        """The claim in words."""
        return self.claim.statement

    @property
    def holds(self) -> bool | None:
        """True, False, or None where no trial came to an end."""
        return None if self.word == UNDECIDED else self.word not in {bad for _, bad in WORDS.values()}

    @property
    def alarming(self) -> bool:
        """Whether it fails and nobody knew: what exit codes tell."""
        return self.holds is False and not self.claim.known

    @property
    def trials(self) -> int:
        """All trials of all cases."""
        return sum(f.trials for f in self.findings)

    @property
    def undecided(self) -> int:
        """Trials that did not come to an end."""
        return sum(f.undecided for f in self.findings)

    @property
    def tightest(self) -> Finding:
        """The finding that comes nearest to its bound."""
        return min(self.findings, key=lambda f: (not f.failed, f.margin))

    @property
    def measured(self) -> float:
        """What was measured in the tightest case."""
        return self.tightest.measured

    @property
    def bound(self) -> float | None:
        """The bound, or the predicted value, of the tightest case."""
        return self.tightest.bound

    @property
    def failed(self) -> list[str]:
        """Trials that broke the claim: each is repeated by check(name, seed=seed, trial=that)."""
        return [trial for f in self.findings for trial in f.failed]

    @property
    def figure(self) -> Figure:
        """One picture of what was measured."""
        from tokenflock.papers.claims.picture import picture

        return picture(self)

    def plain(self) -> dict[str, Any]:
        """Everything but the picture, for JSON."""
        words = ("kind", "statement", "hypotheses", "trial", "measured", "rule", "erratum", "known")
        return {
            "name": self.name,
            "verdict": self.word,
            "holds": self.holds,
            "alarming": self.alarming,
            "claim": {word: getattr(self.claim, word) for word in words},
            "findings": [
                {k: _json(v) for k, v in vars(f).items() if k not in ("values", "answers")} | {"holds": f.holds}
                for f in self.findings
            ],
            "trials": self.trials,
            "undecided": self.undecided,
            "failed": self.failed,
            "parameters": {k: _json(v) for k, v in self.parameters.items()},
            "seed": self.seed,
            "quick": self.quick,
            "note": self.note,
            "wall_s": self.wall_s,
        }


class Interval(NamedTuple):
    """A mean, and how far from it the true value can be: surely not farther, and with 95 %."""

    mean: float
    sure: float
    shown: float


class Check:
    """One experiment under way: what a claim's function is given."""

    def __init__(self, claim: Claim, trials: int, seed: int, only: str | None, tell: Tell | None) -> None:
        self.claim, self.trials, self.seed, self.only = claim, trials, seed, only
        self.findings: list[Finding] = []
        self.note = ""
        self.draw: Callable[[], Any] | None = None
        self._tell = tell
        self._cases: list[str] = []

    def each(
        self,
        case: str,
        one: Callable[[np.random.Generator], Trial],
        bound: float | None = None,
        relation: str = "<",
        trials: int | None = None,
        note: str = "",
    ) -> list[Trial]:
        """Run `one` for every trial of this case, over the cores, and add a finding. Trial k has a seed of its own."""
        numbers = self._numbers(case, self.trials if trials is None else trials)
        if not numbers:
            return []
        key = zlib.crc32(case.encode())
        results = in_order(
            lambda k: one(np.random.default_rng([self.seed, key, k])),
            numbers,
            lambda done: self.tell(case, done / len(numbers)),
        )
        decided = [r.measured for r in results if r.ok is not None] or [r.measured for r in results]
        notes = [r.note for r in results if r.note]
        self.findings.append(
            Finding(
                case=case,
                trials=len(results),
                measured=float(max(decided) if relation == "<" else min(decided)),
                relation=relation,
                bound=bound,
                failed=tuple(f"{case}#{k}" for k, r in zip(numbers, results, strict=True) if r.ok is False),
                undecided=sum(r.ok is None for r in results),
                note=" ".join([note, *notes[:3]]).strip(),
                values=tuple(float(r.measured) for r in results),
                answers=tuple(r.ok for r in results),
            )
        )
        return results

    def estimate(self, case: str, values: ArrayLike, predicted: float | None, note: str = "", slack: float = 0) -> None:
        """The mean of independent values, its 95 % interval, and whether the predicted value is within 4 errors.

        slack: what the prediction itself may be off, known beforehand. predicted None: measured, held against nothing.
        """
        from scipy.stats import norm, t

        v = np.asarray(values, dtype=float)
        error = float(v.std(ddof=1) / math.sqrt(v.size)) if v.size > 1 else math.inf
        # Few values know their own spread badly: Student's factors for the same probabilities.
        factors = [float(t.isf(norm.sf(z), max(v.size - 1, 1))) for z in (SURE, SHOWN)]
        found = Interval(float(v.mean()), factors[0] * error, factors[1] * error)
        self._hold(case, found, predicted, slack, v.size, note, tuple(v.ravel()[:5000].tolist()))

    def interval(
        self,
        case: str,
        mean: float,
        error: float,
        predicted: float | None,
        trials: int,
        note: str = "",
        slack: float = 0,
    ) -> None:
        """As `estimate`, for a number whose standard error is known."""
        self._hold(case, Interval(mean, SURE * error, SHOWN * error), predicted, slack, trials, note)

    def _hold(
        self, case: str, found: Interval, predicted: float | None, slack: float, trials: int, note: str,
        values: tuple[float, ...] = (),
    ) -> None:  # fmt: skip
        """Add the finding that holds an interval against what is predicted."""
        if self._numbers(case, 1):
            mean, sure, shown = found
            off = predicted is not None and not abs(mean - predicted) <= sure + slack
            ends, wrong = (mean - shown, mean + shown), (f"{case}#0",) if off else ()
            self.findings.append(Finding(case, trials, mean, "=", predicted, *ends, wrong, note=note, values=values))
            self.tell(case, 1.0)

    def proof(self, case: str, proved: str, boxes: int, note: str = "", failed: bool = False) -> None:
        """A statement that was proved, or could not be, over a whole range."""
        if self._numbers(case, 1):
            wrong = (f"{case}#0",) if failed else ()
            words = f"{boxes} boxes. {note}".strip()
            self.findings.append(Finding(case, 0, math.nan, failed=wrong, proved=proved, note=words))
            self.tell(case, 1.0)

    def wants(self, case: str) -> bool:
        """Whether this case is to be run: False if only one trial of another case was asked for."""
        return self.only is None or self.only.rpartition("#")[0] == case

    def tell(self, case: str, fraction: float) -> None:
        """Progress."""
        if self._tell is not None:
            self._tell(f"{self.claim.name}: {case}", fraction)

    def _numbers(self, case: str, trials: int) -> Sequence[int]:
        self._cases.append(case)
        if self.only is None:
            return range(trials)
        wanted, _, number = self.only.rpartition("#")
        return [int(number)] if wanted == case and number.isdigit() else []

    def verdict(self, parameters: dict[str, Any], quick: bool, wall: float) -> Verdict:
        """The word for all findings together."""
        if not self.findings:
            raise bad("trial", self.only, "CASE#NUMBER", f"Cases of {self.claim.name}: {', '.join(self._cases)}.")
        good, wrong = WORDS[self.claim.kind]
        answers = [f.holds for f in self.findings]
        word = wrong if False in answers else good if True in answers else UNDECIDED
        ranges = dict.fromkeys(f.proved for f in self.findings if f.proved)
        if word == good and ranges:
            word = "proved on " + (next(iter(ranges)) if len(ranges) == 1 else "the whole range of every part")
        found = tuple(self.findings)
        return Verdict(self.claim, word, found, parameters, self.seed, quick, wall, self.note, self.draw)


def run(
    claim: Claim, trials: int | None, seed: int, quick: bool, trial: str | None, tell: Tell | None, **changes: Any
) -> Verdict:
    """Check one claim."""
    parameters = claim.parameters(quick, {**changes, **({} if trials is None else {"trials": trials})})
    for name, value, least in (("trials", parameters["trials"], 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise bad(name, value, f"a whole number >= {least}")
    sizes = dict(parameters)
    check = Check(claim, int(sizes.pop("trials")), int(seed), trial, tell)
    began = time.perf_counter()
    claim.experiment(check, **sizes)
    return check.verdict(parameters, quick, time.perf_counter() - began)


def _json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value
