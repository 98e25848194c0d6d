"""The claims of the papers, one file a group: flock.check("causal/theorem-4.1") runs one.

A claim is a declaration (`ledger.Claim`): the statement in our words, its hypotheses, how a trial is drawn, what is
measured, the rule of the verdict, the correction where the print is wrong, and the sizes. Every size can be changed
in a call, which is how a check is made to fail: check("causal/theorem-4.1", value="minus-identity").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenflock.arguments import home

if TYPE_CHECKING:
    from tokenflock.claims.ledger import Claim, Tell, Verdict

#: name -> the Claim, as module:attribute
NAMES: dict[str, str] = {
    "causal/lemma-3.1": "tokenflock.claims.causal.limits:lemma_3_1",
    "causal/theorem-4.1": "tokenflock.claims.causal.limits:theorem_4_1",
    "causal/conjecture-1": "tokenflock.claims.causal.atlas:conjecture_1",
    "causal/conjecture-2": "tokenflock.claims.causal.atlas:conjecture_2",
    "causal/table-1": "tokenflock.claims.causal.atlas:table_1",
    "causal/lemma-5.1": "tokenflock.claims.causal.centers:lemma_5_1",
    "causal/theorem-5.2": "tokenflock.claims.causal.centers:theorem_5_2",
    "causal/lemma-5.3": "tokenflock.claims.causal.centers:lemma_5_3",
    "causal/lemma-a.1": "tokenflock.claims.causal.interaction:lemma_a_1",
    "causal/window": "tokenflock.claims.causal.interaction:window",
    "causal/lemma-c.1": "tokenflock.claims.causal.counts:lemma_c_1",
    "causal/renyi-count": "tokenflock.claims.causal.counts:renyi_count",
    "causal/next-time": "tokenflock.claims.causal.next_time:next_time",
    "causal/next-weights": "tokenflock.claims.causal.next_weights:next_weights",
    "causal/next-discrete": "tokenflock.claims.causal.next_discrete:next_discrete",
    "causal/next-start": "tokenflock.claims.causal.next_start:next_start",
    "causal/next-sharpness": "tokenflock.claims.causal.next_sharpness:next_sharpness",
    "emergence/theorem-2.1": "tokenflock.claims.emergence.boolean:theorem_2_1",
    "emergence/theorem-3.1": "tokenflock.claims.emergence.polytopes:theorem_3_1",
    "emergence/theorem-4.2": "tokenflock.claims.emergence.hyperplanes:theorem_4_2",
    "emergence/codimension": "tokenflock.claims.emergence.hyperplanes:codimension",
    "emergence/theorem-5.2": "tokenflock.claims.emergence.polytopes:theorem_5_2",
    "emergence/negative-identity": "tokenflock.claims.emergence.shrinking:negative_identity",
    "emergence/discrete-time": "tokenflock.claims.emergence.layers:discrete_time",
    "emergence/generic-qk": "tokenflock.claims.emergence.beyond:generic_qk",
    "emergence/feedforward": "tokenflock.claims.emergence.beyond:feedforward",
    "emergence/multihead": "tokenflock.claims.emergence.beyond:multihead",
    "emergence/boolean": "tokenflock.claims.emergence.boolean:boolean",
    "perspective/energy": "tokenflock.claims.perspective:energy_climbed",
    "perspective/theorem-6.1": "tokenflock.claims.perspective:theorem_6_1",
    "perspective/lemma-6.4": "tokenflock.claims.perspective:lemma_6_4",
    "perspective/theorem-6.7": "tokenflock.claims.perspective:theorem_6_7",
    "perspective/theorem-6.8": "tokenflock.claims.perspective_overlaps:theorem_6_8",
    "perspective/theorem-6.9": "tokenflock.claims.perspective_overlaps:theorem_6_9",
    "perspective/phase-transition": "tokenflock.claims.perspective_overlaps:phase_transition",
    "metastability/main-theorem": "tokenflock.claims.metastability:main_theorem",
    "metastability/collapse-time": "tokenflock.claims.metastability:collapse_time",
    "metastability/hitting-time": "tokenflock.claims.metastability:hitting_time",
    "metastability/staircase": "tokenflock.claims.metastability:staircase_claim",
    "meanfield/long-context": "tokenflock.claims.meanfield:long_context",
    "meanfield/pitchfork": "tokenflock.claims.meanfield:pitchfork",
    "normalization/initial-rate": "tokenflock.claims.normalization:initial_rate",
    "normalization/initial-drive": "tokenflock.claims.normalization:initial_drive",
    "normalization/terminal-rate": "tokenflock.claims.normalization:terminal_rate",
    "normalization/clustering": "tokenflock.claims.normalization:clustering",
}


def find(name: str) -> Claim:
    """The declaration of a claim."""
    return getattr(*home("claim", name, NAMES))


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
    from tokenflock.claims.ledger import run

    return run(find(name), trials, seed, quick, trial, progress, **changes)
