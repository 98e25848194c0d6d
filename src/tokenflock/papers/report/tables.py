"""Tables of the report that are no claim of a paper: what a user should know before trusting a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tokenflock.analysis import clusters
from tokenflock.geometry import circle, distance
from tokenflock.model import Model
from tokenflock.simulation import simulate

MISPLACED = 0.05  # radians: far more than the width of a cluster at t = 150, far less than the gaps between them
#: What every table is made with, and what a quick look changes. The setting is that of paper A's Figures 2 and 3.
PARAMETERS: dict[str, dict[str, Any]] = {
    "right-step": {"beta": 64.0, "n_tokens": 200, "t_end": 150.0, "runs": 64, "fine": 0.01, "truth_rtol": 1e-10},
}
QUICK: dict[str, dict[str, Any]] = {"right-step": {"runs": 16, "fine": None}}


def right_step(
    beta: float, n_tokens: int, t_end: float, runs: int, fine: float | None, truth_rtol: float
) -> dict[str, Any]:
    """Does the usual step put every token into the right cluster?"""
    model = Model(dim=2, beta=beta)
    start = circle(np.stack([np.random.default_rng(s).uniform(0, 2 * np.pi, n_tokens) for s in range(runs)]))

    def end(**how: Any) -> tuple[Any, float]:
        run = simulate(model, start, t_end, times=[t_end], **how)
        return run["x"].values[:, 0], run.attrs["evaluations"] / runs

    truth, _ = end(rtol=truth_rtol, atol=truth_rtol * 1e-3)
    found = clusters.count(truth, MISPLACED)
    usual = [(f"step and normalise, dt = {dt:g}", {"scheme": "layers", "dt": dt}) for dt in (0.1, fine) if dt]
    rows = []
    for label, how in (*usual, ("Euler, dt = 0.1", {"scheme": "euler", "dt": 0.1}), ("tokenflock", {})):
        x, evaluations = end(**how)
        off, count = distance(x, truth) > MISPLACED, clusters.count(x, MISPLACED)
        wrong = [off.any(axis=1).sum(), off.sum(), (count != found).sum()]
        rows.append([label, *map(str, wrong), f"{count.mean():.3f}", f"{evaluations:.0f}"])
    of_what = [("runs with a misplaced token", runs), ("misplaced tokens", off.size), ("runs with a wrong count", runs)]
    return {
        "title": f"Does the usual step find the right clusters? {runs} runs of paper A's setting",
        "columns": ["", *(f"{what} (of {of})" for what, of in of_what), "clusters a run", "velocities a run"],
        "rows": rows,
        "note": f"Causal self-attention on the circle, n = {n_tokens}, beta = {beta:g}, to t = {t_end:g}; the angles "
        f"of run s are numpy.random.default_rng(s).uniform(0, 2 pi, {n_tokens}). The truth is tsit5 at "
        f"rtol = {truth_rtol:g}, with {found.mean():.3f} clusters a run. Misplaced: more than {MISPLACED:g} rad off "
        f"at the end; clusters: cut at gaps wider than {MISPLACED:g} rad. Step and normalise: x + dt times the "
        "attention output, divided by its length, which is what published codes do with dt = 0.1. Euler: the same "
        "with the output projected on the tangent plane first. tokenflock: its defaults, tsit5 with rtol = 1e-6.",
    }


TABLES: dict[str, Callable[..., dict[str, Any]]] = {"right-step": right_step}
