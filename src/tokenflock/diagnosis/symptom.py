"""What a diagnosis is made of."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Symptom:
    """One thing that a run shows: a sentence, the number behind it, and what to try."""

    name: str
    text: str
    number: float | None = None
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.text} {self.advice}".rstrip()


@dataclass(frozen=True)
class Diagnosis:
    """What was found in one run; print it, or look through `findings`."""

    findings: list[Symptom]
    about: str  # the run in words
    run: int | None = None  # which one of an ensemble, from 0
    runs: int = 1

    @property
    def names(self) -> list[str]:
        """The names of the findings, in their order."""
        return [found.name for found in self.findings]

    def __str__(self) -> str:
        return "\n".join([f"{self.about}:", *(f"- {found}" for found in self.findings)])

    def plain(self) -> dict[str, Any]:
        """The diagnosis, for JSON."""
        findings = [asdict(found) for found in self.findings]
        for told in findings:  # JSON has no nan and no inf
            number = told["number"]
            told["number"] = None if number is None or not math.isfinite(number) else float(number)
        return {"about": self.about, "run": self.run, "runs": self.runs, "findings": findings}
