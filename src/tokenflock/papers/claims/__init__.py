"""The claims of the papers, one file a group: flock.check("causal/theorem-4.1") runs one.

A claim is a declaration (`ledger.Claim`): the statement in our words, its hypotheses, how a trial is drawn, what is
measured, the rule of the verdict, the correction where the print is wrong, and the sizes. Every size can be changed
in a call, which is how a check is made to fail: check("causal/theorem-4.1", value="minus-identity").
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from tokenflock.arguments import home

if TYPE_CHECKING:
    from tokenflock.papers.claims.ledger import Claim, Tell, Verdict

#: Where claims are declared, in the order of the papers: a module, which begins with the paper, and names of claims.
HOMES = (
    ("causal.limits", "lemma-3.1 theorem-4.1"),
    ("causal.scalar", "scalar-lemma"),
    ("causal.atlas", "conjecture-1 conjecture-2 table-1"),
    ("causal.centers", "lemma-5.1 theorem-5.2 lemma-5.3"),
    ("causal.sequential", "lemma-5.3-families"),
    ("causal.interaction", "lemma-a.1 window"),
    ("causal.counts", "lemma-c.1 renyi-count"),
    ("causal.gradient", "no-gradient"),
    ("causal.next_time", "next-time"),
    ("causal.next_weights", "next-weights"),
    ("causal.next_discrete", "next-discrete"),
    ("causal.next_start", "next-start"),
    ("causal.next_sharpness", "next-sharpness"),
    ("causal.next_theorem", "next-theorem"),
    ("causal.next_rests", "next-rests next-diagram"),
    ("emergence.boolean", "theorem-2.1"),
    ("emergence.polytopes", "theorem-3.1"),
    ("emergence.hyperplanes", "theorem-4.2 codimension"),
    ("emergence.polytopes", "theorem-5.2"),
    ("emergence.shrinking", "negative-identity"),
    ("emergence.layers", "discrete-time"),
    ("emergence.beyond", "generic-qk feedforward multihead"),
    ("emergence.heads", "heads-levels heads-polytope"),
    ("emergence.robust", "robustness diversity"),
    ("emergence.boolean", "boolean"),
    ("perspective", "energy theorem-6.1 lemma-6.4 theorem-6.7"),
    ("perspective_overlaps", "theorem-6.8 theorem-6.9 phase-transition"),
    ("metastability", "main-theorem collapse-time hitting-time staircase"),
    ("meanfield", "long-context pitchfork"),
    ("meanfield_kuramoto", "kuramoto"),
    ("normalization", "initial-rate initial-drive terminal-rate clustering"),
)
#: name -> the Claim, as module:attribute; the attribute is the name without its paper, in underscores
NAMES: dict[str, str] = {
    f"{re.split('[._]', module)[0]}/{name}": f"tokenflock.papers.claims.{module}:{re.sub('[-.]', '_', name)}"
    for module, names in HOMES
    for name in names.split()
}


def find(name: str) -> Claim:
    """The declaration of a claim."""
    return cast("Claim", getattr(*home("claim", name, NAMES)))


def check(
    name: str,
    trials: int | None = None,
    seed: int = 0,
    quick: bool = False,
    *,
    trial: str | None = None,
    progress: Tell | None = None,
    **changes: Any,
) -> Verdict:
    """Run the experiment behind a claim and say what it shows: a `Verdict`.

    **Main arguments**

    - `name`: for example "causal/theorem-4.1"; `claims.NAMES` lists them.
    - `trials`: of every case; the claim's own number if left out.
    - `seed`: of all trials. Trial k of a case is the same whatever the number of trials.
    - `quick`: smaller sizes, seconds instead of minutes.

    **Other arguments**

    - `trial`: "CASE#NUMBER", one trial alone: how a counterexample is repeated.
    - `progress`: a function of (what, fraction).
    - further keywords change a size of the claim (`claims.find(name).sizes` lists them).
    """
    from tokenflock.papers.claims.ledger import run

    return run(find(name), trials, seed, quick, trial, progress, **changes)
