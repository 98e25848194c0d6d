"""What a claim is, how its trials are run, and how they become a verdict.

    Claim      one numbered statement of a paper: words, sizes, and the experiment
    Check      one experiment under way: draws trials, each from its own seed, and collects findings
    Finding    what the trials of one case showed, against its bound or its predicted value (`finding`)
    Verdict    all of it, with the word:

    kind          all is well     otherwise
    theorem       holds           violated          proved on ... where ball arithmetic covered the whole range
    conjecture    consistent      counterexample    kept as the name of a trial that can be repeated
    estimate      agrees          disagrees         a mean or a share against the predicted value

Theorems and conjectures say "always": one decided trial that fails refutes them. A trial that did not come to an end is
undecided and never counts as a violation.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tokenflock.arguments import changed, count, digits, flag, function, instance, whole
from tokenflock.cores import in_order
from tokenflock.errors import bad
from tokenflock.papers.claims import finding, power
from tokenflock.papers.claims.finding import Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = {
    "theorem": ("holds", "violated"),
    "conjecture": ("consistent", "counterexample"),
    "estimate": ("agrees", "disagrees"),
}
UNDECIDED = "undecided"

Experiment = Callable[..., None]
Tell = Callable[[str, float], None]


class Trial(NamedTuple):
    """What one trial found. ok None: it did not come to an end."""

    ok: bool | None
    measured: float
    note: str = ""
    data: Any = None


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
    points: int = 1  # independent samples of a trial, of which one that fails is enough

    def parameters(self, quick: bool = False, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The sizes of a check: `trials` among them, and whatever else a user may change to see it fail."""
        return changed(self.name, {**self.sizes, **(self.quick if flag("quick", quick) else {})}, changes or {})

    def detects(self, quick: bool = True) -> float:
        """The smallest violation that a case with the declared number of trials refutes with 95 %.

        A share of trials that fail; of an estimate the standard errors that a mean of so many values is off.
        """
        trials = int(self.parameters(quick)["trials"])
        return power.errors_seen(trials) if self.kind == "estimate" else power.failures_seen(trials * self.points)


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
    def remark(self) -> str:
        """What "agrees" does not say: which 95 % intervals leave out what is predicted."""
        held = [f for f in self.findings if f.rule in (finding.MEAN, finding.SHARE)]
        out = [f.case for f in held if f.excluded]
        if not out:
            return ""
        covered = sum((f.low or 0) - f.slack <= (f.bound or 0) <= (f.high or 0) + f.slack for f in held if f.excluded)
        return (
            f"The 95 % interval of {len(out)} of {len(held)} cases leaves out what is predicted (by chance "
            f"{0.05 * len(held):.2g}; with the slack {len(out) - covered}): {', '.join(out)}."
        )

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
            "findings": [{k: _json(v) for k, v in f.plain().items()} for f in self.findings],
            "remark": self.remark,
            "detects": self.claim.detects(self.quick),
            "trials": self.trials,
            "undecided": self.undecided,
            "failed": self.failed,
            "parameters": {k: _json(v) for k, v in self.parameters.items()},
            "seed": self.seed,
            "quick": self.quick,
            "note": self.note,
            "wall_s": self.wall_s,
        }


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
        notes = " ".join([note, *[r.note for r in results if r.note][:3]]).strip()
        answers, values = [r.ok for r in results], [r.measured for r in results]
        self.findings.append(
            finding.of_trials(case, numbers, answers, values, relation, bound, notes, self.claim.points)
        )
        return results

    def share(self, case: str, answers: Mapping[int, bool | None], predicted: float | None, note: str = "") -> None:
        """How often the answer is True, by the numbers that `which` gave; 1: always, and one False refutes it.

        None, undecided, is left out whatever it might have been. Intervals are Wilson's.
        """
        if self._numbers(case, 1):
            self.findings.append(finding.of_share(case, answers, predicted, note))
            self.tell(case, 1.0)

    def estimate(
        self, case: str, values: ArrayLike, predicted: float | None, note: str = "", slack: float = 0,
        inside: tuple[float, float] = (-math.inf, math.inf),
    ) -> None:  # fmt: skip
        """The mean of independent values, its 95 % interval, and whether the predicted value is within 4 errors.

        slack: what the prediction itself may be off, known beforehand. predicted None: measured, held against nothing.
        inside: what a mean can be; the interval is cut off there.
        """
        if self._numbers(case, 1):
            v = np.asarray(values, dtype=float)
            error = float(v.std(ddof=1) / math.sqrt(v.size)) if v.size > 1 else math.inf
            kept = {"note": note, "values": tuple(v.ravel()[:5000].tolist())}
            found = finding.of_mean(case, float(v.mean()), error, predicted, v.size, v.size, slack, inside, **kept)
            self.findings.append(found)
            self.tell(case, 1.0)

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
        if self._numbers(case, 1):
            found = finding.of_mean(case, mean, error, predicted, trials, None, slack, note=note)
            self.findings.append(found)
            self.tell(case, 1.0)

    def proof(self, case: str, proved: str, boxes: int, note: str = "", failed: bool = False) -> None:
        """A statement that was proved, or could not be, over a whole range."""
        if self._numbers(case, 1):
            wrong = (f"{case}#0",) if failed else ()
            words = f"{boxes} boxes. {note}".strip()
            rule = finding.PROOF
            self.findings.append(Finding(case, 0, math.nan, failed=wrong, proved=proved, note=words, rule=rule))
            self.tell(case, 1.0)

    def wants(self, case: str) -> bool:
        """Whether this case is to be run: False if only one trial of another case was asked for."""
        return self.only is None or self.only.rpartition("#")[0] == case

    def which(self, cases: Iterable[str]) -> Sequence[int]:
        """The numbers of the trials that these cases share: all, the one that was asked for, or none."""
        if self.only is None:
            return range(self.trials)
        number = digits(self.only.rpartition("#")[2])
        return [number] if number is not None and any(self.wants(case) for case in cases) else []

    def tell(self, case: str, fraction: float) -> None:
        """Progress."""
        if self._tell is not None:
            self._tell(f"{self.claim.name}: {case}", fraction)

    def _numbers(self, case: str, trials: int) -> Sequence[int]:
        self._cases.append(case)
        if self.only is None:
            return range(trials)
        wanted, _, said = self.only.rpartition("#")
        number = digits(said)
        return [number] if wanted == case and number is not None else []

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
    count("trials", parameters["trials"])
    whole("seed", seed, 0)
    if trial is not None:
        instance("trial", trial, str, "CASE#NUMBER")
    if tell is not None:
        function("progress", tell, "a function of (what, fraction)", takes=2)
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
