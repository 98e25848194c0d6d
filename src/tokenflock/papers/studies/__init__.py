"""The open questions of the papers, one file a study: flock.study("complex-top") answers one as far as numbers can.

A study is a declaration (`ledger.Study`): the question and who asks it, the method in words, the sizes, the experiment
and the drawing. It reads like a method section, has controls that can fail, and ends with a sentence and with what
would change it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenflock.arguments import home

if TYPE_CHECKING:
    from tokenflock.papers.studies.ledger import Answer, Study, Tell

#: name -> the Study, as module:attribute
NAMES: dict[str, str] = {
    "complex-top": "tokenflock.papers.studies.complex_top:complex_top",
    "effective-dimension": "tokenflock.papers.studies.effective_dimension:effective_dimension",
    "feedforward-impact": "tokenflock.papers.studies.feedforward_impact:feedforward_impact",
    "multihead": "tokenflock.papers.studies.multihead:multihead",
    "boolean-higher-d": "tokenflock.papers.studies.boolean_higher_d:boolean_higher_d",
    "structured-qk": "tokenflock.papers.studies.structured_qk:structured_qk",
    "convergence-rate": "tokenflock.papers.studies.convergence_rate:convergence_rate",
    "coarsening": "tokenflock.papers.studies.coarsening:coarsening",
    "discretisation": "tokenflock.papers.studies.discretisation:discretisation",
    "initialisation": "tokenflock.papers.studies.initialisation:initialisation",
    "trained-weights": "tokenflock.papers.studies.trained_weights:trained_weights",
    "optimal-control": "tokenflock.papers.studies.optimal_control:optimal_control",
}


def find(name: str) -> Study:
    """The declaration of a study."""
    found: Study = getattr(*home("study", name, NAMES))
    return found


def study(
    name: str,
    seed: int = 0,
    quick: bool = False,
    *,
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: Tell | None = None,
    **changes: Any,
) -> Answer:
    """Run the experiments behind an open question and say what they show: an `Answer`.

    **Main arguments**

    - `name`: for example "complex-top"; `studies.NAMES` lists them.
    - `seed`: of all its cells. A cell is the same whatever the others are.
    - `quick`: smaller sizes, seconds instead of minutes.

    **Other arguments**

    - `out`: a folder that keeps finished cells and the answer: a second call goes on, or reads it.
    - `overwrite`: make it again.
    - `progress`: a function of (what, fraction).
    - further keywords change a size of the study (`studies.find(name).sizes` lists them).
    """
    from tokenflock.papers.studies.ledger import run

    return run(find(name), seed, quick, out, overwrite, progress, **changes)
