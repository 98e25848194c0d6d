"""The statements of the papers, one a row: what checks it, and what is still missing. docs/rows.md shows them.

A row that nothing checks says so, and so does one that is checked in part. tests/project/test_rows.py holds the table
to the registries: every name exists, every claim is on the page, no row without a check is called checked.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """One statement: where it stands, what checks it (claims, `study NAME`, `figure NAME`), what is missing."""

    where: str
    what: str
    by: str = ""  # names, separated by commas
    missing: str = ""

    @property
    def names(self) -> list[str]:
        """What checks it."""
        return [name.strip() for name in self.by.split(",") if name.strip()]

    @property
    def state(self) -> str:
        """checked, in part, or none: never more than what stands in the row."""
        if not self.names:
            return "none"
        return "in part" if self.missing else "checked"


PAPERS = {
    "A": (
        Row(
            "abstract",
            "no mean-field system and no gradient flow",
            "causal/no-gradient",
            "every metric: a dense set of beta only, d = 2 in the check",
        ),
        Row("Lemma 3.1", "one token", "causal/lemma-3.1"),
        Row(
            "Theorem 4.1",
            "V = I, any Q and K",
            "causal/theorem-4.1, causal/next-start, causal/next-time",
            "Q and K that change with time",
        ),
        Row("appendix", "the scalar lemma", "causal/scalar-lemma"),
        Row("Conjecture 1", "lambda_max > 0 simple", "causal/conjecture-1, causal/next-weights, study structured-qk"),
        Row("Conjecture 1", "where Q'K = diag(p, w) overcomes V", "causal/next-diagram, figure causal/diagram"),
        Row("Conjecture 2", "lambda_max > 0 multiple", "causal/conjecture-2"),
        Row("Table 1", "the atlas", "causal/table-1, causal/next-weights, study complex-top", "lambda_max = 0"),
        Row("Lemma 5.1", "strong centers stand still", "causal/lemma-5.1"),
        Row(
            "Theorem 5.2",
            "frozen tokens collect the others",
            "causal/theorem-5.2",
            "no time is given, and none is measured",
        ),
        Row("Lemma 5.3", "sequential gradient flows", "causal/lemma-5.3, causal/lemma-5.3-families"),
        Row("Lemma A.1", "the interaction function", "causal/lemma-a.1"),
        Row("window lemma", "the conditions of Theorem 5.2", "causal/window"),
        Row("Lemma C.1", "how many strong centers", "causal/lemma-c.1"),
        Row(
            "section 5",
            "how many Renyi centers",
            "causal/renyi-count, causal/next-sharpness",
            "d > 2: the exponent only, no constant is known",
        ),
        Row("section 5", "beta^((d_1-1)/2) clusters for any V", "study effective-dimension", "exponents only"),
        Row(
            "section 5",
            "centers hold the tokens, and how soon",
            "figure causal/3, study coarsening",
            "three n at one beta",
        ),
        Row("section 5", "the time to the end", "study convergence-rate, study coarsening"),
        Row("limitations", "feed-forward layers", "study feedforward-impact", "layers that change with depth"),
        Row("layers", "discrete time", "causal/next-discrete, study discretisation"),
        Row(
            "Figures 1 to 5",
            "",
            "figure causal/1, figure causal/2, figure causal/3, figure causal/4, figure causal/5",
            "Figure 1: the four V are ours",
        ),
        Row(
            "Figure 6",
            "spectra of albert-xlarge-v2",
            "figure causal/6",
            "another ALBERT, unless the paper's weights are given",
        ),
        Row("remark", "a mean-field form with the index as a coordinate (Castin, Ablin, Peyre)"),
    ),
    "B": (
        Row("Theorem 2.1", "d = 1: attention becomes Boolean", "emergence/theorem-2.1, figure emergence/boolean"),
        Row("after 2.1", "the same for d >= 2", "emergence/boolean, study boolean-higher-d, figure emergence/leaders"),
        Row(
            "Theorem 3.1",
            "V = I: polytopes",
            "emergence/theorem-3.1, figure emergence/polytope-2d, figure emergence/polytope-3d",
        ),
        Row(
            "Theorem 4.2",
            "hyperplanes",
            "emergence/theorem-4.2, figure emergence/hyperplanes-2d, figure emergence/hyperplanes-3d",
        ),
        Row("conjecture", "codimension k", "emergence/codimension, figure emergence/codimension"),
        Row("Theorem 5.2", "polytopes times G", "emergence/theorem-5.2, figure emergence/mix"),
        Row("section 8", "V = -I", "emergence/negative-identity"),
        Row("remark", "discrete time", "emergence/discrete-time"),
        Row("outlook", "several heads, Theorem 2.1", "emergence/multihead", "V_h = I / H only"),
        Row(
            "outlook",
            "several heads in R^d, Theorems 4.2 and 5.2",
            "emergence/heads-levels, emergence/heads-polytope",
            "V_h that do not commute",
        ),
        Row("outlook", "several heads on the sphere", "study multihead"),
        Row("outlook", "Q'K of any sign", "emergence/generic-qk, figure emergence/generic-qk"),
        Row(
            "outlook",
            "a feed-forward layer",
            "emergence/feedforward, figure emergence/feedforward",
            "an analogue of Theorem 4.2",
        ),
        Row(
            "outlook",
            "complex leading eigenvalue: no clusters",
            "study complex-top",
            "on the sphere only; in R^d `flock.diagnose` names it",
        ),
        Row("outlook", "optimal control", "study optimal-control", "local minima: no bound from below"),
        Row("numerics", "high dimension", "figure emergence/high-dimension"),
        Row(
            "numerics",
            "spectra of albert-xlarge-v2",
            "figure emergence/spectra",
            "another ALBERT, unless the paper's weights are given",
        ),
        Row(
            "numerics",
            "trained models on real text",
            "",
            "one small ALBERT with random tokens, on the page about networks",
        ),
        Row(
            "numerics",
            "robustness",
            "emergence/robustness, study initialisation",
            "weights and noise for Theorem 4.2 only, starts on the sphere only",
        ),
        Row("numerics", "token diversity", "emergence/diversity"),
        Row("section 6", "well-posedness; the mean-field limit and the Vlasov equation, stability in W_2"),
    ),
    "C": (
        Row("section 3", "energies", "perspective/energy", "extremal measures (Proposition 3.4)"),
        Row("Theorems 4.1, 4.3, 6.1", "one cluster", "perspective/theorem-6.1", "4.3 for beta <= C/n in d > 2"),
        Row("Theorem 4.2", "P(one cluster) -> 1 as beta -> 0"),
        Row("Theorem 5.1", "one cluster for beta >= C n^2"),
        Row("Lemma 6.4, Theorem 6.3", "cones and hemispheres", "perspective/lemma-6.4"),
        Row("Theorem 6.7", "Wendel", "perspective/theorem-6.7"),
        Row("Theorem 6.8", "orthogonal starts", "perspective/theorem-6.8"),
        Row(
            "Theorem 6.9",
            "large d",
            "perspective/theorem-6.9",
            "the exponent of d; the probability that is promised is negative at any usable d",
        ),
        Row("section 6", "phase transition", "perspective/phase-transition, figure perspective/3"),
        Row("(7.1)", "the circle, Kuramoto", "meanfield/kuramoto"),
        Row("section 3", "the continuity equation, Dobrushin's estimate"),
        Row("section 7", "BBGKY; point sets that minimise the energy (Cohn, Kumar)"),
        Row("other figures", "histograms of ALBERT, regime map, random Q, K, V"),
    ),
    "D": (
        Row("main theorem", "metastable caps", "metastability/main-theorem"),
        Row("lemmas", "times of collapse and of a merger", "metastability/collapse-time, metastability/hitting-time"),
        Row("section 6", "the staircase", "metastability/staircase, figure metastability/staircase"),
        Row("section 4", "laws of starts that are separated"),
        Row("section 3", "slow manifolds (Otto, Reznikoff)"),
        Row("section 5", "mean field"),
        Row("open", "the order of merges", "study coarsening"),
    ),
    "E": (
        Row("section 2", "Kuramoto: d = 2, beta = 0 and beta -> 0", "meanfield/kuramoto"),
        Row(
            "section 3",
            "one cluster",
            "perspective/theorem-6.1",
            "d = 2 and beta > 1 or < 0; the rate of the mean field",
        ),
        Row("section 4", "equal overlaps", "perspective/theorem-6.8"),
        Row("section 5", "pairs merge", "study coarsening", "the theorem of Bruno and others, as a claim"),
        Row("section 6", "long context", "meanfield/long-context"),
        Row("section 7", "noise: the pitchfork", "meanfield/pitchfork", "beta = 0 on the circle"),
        Row("limits", "McKean, Vlasov; reverse heat and porous medium equations"),
    ),
    "F": (
        Row("section 3", "clustering under every norm", "normalization/clustering"),
        Row("section 4", "speed at an orthogonal start", "normalization/initial-rate"),
        Row("section 4", "speed at a uniform start", "normalization/initial-drive"),
        Row("section 5", "terminal rates", "normalization/terminal-rate"),
        Row("experiments", "trained models"),
    ),
}
