"""Optimal control from several starts of the tokens, several searches each: what one start and one search hide.

A search finds a local minimum. Two searches that end at different J say so, and how far they differ is a number of the
study. Where intervals are made finer, the best controls so far are among the starts of the next search, so that J
cannot rise; where the time is longer they are not, and that J falls is a finding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.analysis.statistics import Estimate, bootstrap, interval, wilson
from tokenflock.geometry import Array
from tokenflock.papers.studies.ledger import Inquiry, Sizes

if TYPE_CHECKING:
    from tokenflock.papers.studies.problem import Problem
    from tokenflock.papers.studies.steering import Solution

SAME = 0.01  # two searches that differ by less have found the same J
MET = 0.3  # as in the study
Case = dict[str, Any]
ProblemOf = Callable[[Case, Sizes, int], "Problem"]
COLUMNS = ("start", "case", "J", "worst_J", "cost", "error", "nothing", "idle", "rank_one", "steps")


def groups(s: Sizes) -> dict[str, dict[str, Case]]:
    """The cases that are solved from several starts; those of a group one after the other."""
    small = {"n_tokens": s["n_small"], "intervals": s["n_intervals"]}
    return {
        "finer": {f"{k} intervals": {**small, "intervals": k} for k in s["finer"]},
        "ends": {f"T = {T:g}": {**small, "T": T} for T in s["ends"]},
        "two clusters": {"two clusters": {}},
        "kept apart": {"kept apart": {**small, "apart": True, "T": s["T_apart"]}},
    }


def refined(problem: Problem, u: dict[str, Array]) -> Array:
    """Controls of fewer intervals as a start z for a problem with more."""
    parts = []
    for name, rest in problem.resting.items():
        times = problem.intervals // len(u[name])
        parts.append((np.repeat(u[name], times, axis=0) - rest).ravel())
    return np.concatenate(parts)


def _solved(
    generator: np.random.Generator, cases: dict[str, Case], finer: bool, problem_of: ProblemOf, s: Sizes, seed: int
) -> list[list[Any]]:
    """Rows of `COLUMNS` without the first, of a start: the best of the searches, and the worst of their J."""
    from tokenflock.papers.studies.steering import solve

    rows: list[list[Any]] = []
    before: Solution | None = None
    for name, case in cases.items():
        problem = problem_of(case, s, seed)
        warm: Array | None = None
        if finer and before is not None and problem.intervals % before.problem.intervals == 0:
            warm = refined(problem, before.controls)
        effort = {"starts": s["starts"], "rough": s["rough"], "sharp": s["sharp"], "first": warm}
        tried = [solve(problem, seed=int(generator.integers(2**31)), **effort) for _ in range(s["searches"])]
        best: Solution = min(tried, key=lambda one: one.measured)
        forms = np.einsum("khab,khac->khbc", best.controls["query"], best.controls["key"])[:, 0]
        sizes = np.linalg.svd(forms, compute_uv=False)
        ranks = (sizes > 0.01 * sizes.max()).sum(axis=1)
        row = [name, best.measured, max(one.measured for one in tried), best.cost, best.error]
        rows.append([*row, problem.measured(problem.resting), np.mean(ranks == 0), np.mean(ranks == 1), best.steps])
        before = best
    return rows


def several(work: Inquiry, s: Sizes, problem_of: ProblemOf) -> str:
    """Solve them, add the table `starts` and its numbers, and say what came out."""
    cells = {
        f"start {k}: {group}": (cases, group == "finer", problem_of, s, work.seed + k)
        for k in range(s["problems"])
        for group, cases in groups(s).items()
    }
    found = work.each(cells, _solved)
    rows = [[k, *row] for k in range(s["problems"]) for group in groups(s) for row in found[f"start {k}: {group}"]]
    table = work.table("starts", COLUMNS, rows, "J: the best search, by flock.simulate; idle: share of Q'K = 0")

    def of(case: str, column: str = "J") -> Array:
        return np.asarray(table.where(case=case)[column], dtype=float)

    def ratio(name: str, above: Array, below: Array) -> Estimate:
        mean = Estimate(*np.exp(interval(np.log(above / below))))
        work.number(name, mean, len(above), note="geometric mean over starts of the tokens")
        return mean

    ends, finer = [f"T = {T:g}" for T in s["ends"]], [f"{k} intervals" for k in s["finer"]]
    middle = bootstrap(of("two clusters"), np.median, seed=work.seed)
    work.number("median J of two clusters over starts", middle, s["problems"])
    longer = ratio(f"J({ends[-1]}) over J({ends[0]})", of(ends[-1]), of(ends[0]))
    shorter = wilson(int((of(ends[-1]) < of(ends[0])).sum()), s["problems"])
    work.number("share of starts in which more time is cheaper", shorter, s["problems"])
    thinner = ratio(f"J of {finer[-1]} over that of {finer[-2]}", of(finer[-1]), of(finer[-2]))
    apart = ratio("cost of keeping apart over switching V off", of("kept apart", "cost"), np.array(float(s["T_apart"])))
    thin = of("two clusters", "idle") + of("two clusters", "rank_one")
    idle = wilson(int((thin > 1 - 1e-9).sum()), s["problems"])
    work.number("share of starts with Q'K zero or of rank one on every interval", idle, s["problems"])
    met = wilson(int((table["error"] < MET).sum()), len(rows))
    work.number("share of starts and cases that were steered", met, len(rows))
    same = wilson(int((table["worst_J"] / table["J"] < 1 + SAME).sum()), len(rows))
    work.number("share of starts and cases in which all searches agree", same, len(rows))
    worst = float((table["worst_J"] / table["J"]).max() - 1)
    return (
        f"From {s['problems']} starts of the tokens, {s['searches']} searches each: tokens are steered in {met} of "
        f"{len(rows)} cases, two clusters have the median J {middle}, {ends[-1]} costs {longer} of {ends[0]} and less "
        f"in {shorter} of starts, {finer[-1]} cost {thinner} of {finer[-2]}, keeping apart costs {apart} of switching "
        f"V off, and in {idle} of starts Q'K is zero or of rank one on every interval. Two searches agree to "
        f"{SAME:.0%} in {same} of the cases and differ by {worst:.0%} at most: smaller differences of J say nothing."
    )
