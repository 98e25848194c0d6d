"""One picture a claim: its own, or every case with its trials against the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import plot
from tokenflock.papers import layout

if TYPE_CHECKING:
    from tokenflock.papers.claims.finding import Finding
    from tokenflock.papers.claims.ledger import Verdict

FLOOR = 1e-16  # zeros stand here on a logarithmic axis


def picture(verdict: Verdict) -> plot.Figure:
    """The claim's own drawing if it has one, else `strips`; with a caption either way."""
    with plot.style():
        return plot.captioned(strips(verdict) if verdict.draw is None else verdict.draw(), caption(verdict))


def caption(verdict: Verdict) -> str:
    """What was claimed, what was tried and what came out."""
    claim = verdict.claim
    parts = [f"{claim.name}: {claim.statement}", f"Trials: {claim.trial}", f"Measured: {claim.measured}."]
    parts.append(f"Verdict: {verdict.word} ({verdict.trials} trials, {verdict.undecided} undecided).")
    return " ".join(parts)


def strips(verdict: Verdict) -> plot.Figure:
    """A row a case. Dots are trials (open: undecided, red: failed), a bar is a 95 % interval, a tick the bound."""
    findings = [f for f in verdict.findings if np.isfinite(f.measured)] or list(verdict.findings)
    # Estimates of different sizes are seen against what is predicted for each.
    relative = all(f.relation == "=" and f.bound for f in findings)
    figure, (ax,) = layout.row(1, 0.9 + 0.27 * len(findings))
    shown = np.array([v for f in findings for v in (*f.values, f.measured, f.bound or np.nan)])
    shown = shown[np.isfinite(shown)]
    log = bool(not relative and shown.size and shown.min() >= 0 and shown.max() > 100 * max(shown.min(), FLOOR))
    for k, finding in enumerate(findings):
        if finding.relation == "=":
            _interval(ax, -k, finding, finding.bound if relative and finding.bound else 1.0)
        else:
            _dots(ax, -k, finding, log)
    ax.set_yticks(-np.arange(len(findings)), [f.case for f in findings])
    ax.set_ylim(-len(findings) + 0.4, 0.6)
    ax.tick_params(axis="y", length=0)
    label = verdict.claim.measured[0].upper() + verdict.claim.measured[1:]
    ax.set_xlabel(f"{label}, over the predicted value" if relative else label)
    if log:
        ax.set_xscale("log")
    return figure


def _interval(ax: plot.Axes, y: float, f: Finding, unit: float) -> None:
    colour = plot.COLOURS["red" if f.failed else "blue"]
    ax.plot(np.array([f.low, f.high]) / unit, [y, y], lw=3, color=colour, alpha=0.4, solid_capstyle="butt")
    ax.plot(f.measured / unit, y, "o", ms=3.5, color=colour)
    if f.bound is not None:
        ax.plot(f.bound / unit, y, "|", ms=11, mew=1.4, color=plot.COLOURS["black"])


def _dots(ax: plot.Axes, y: float, f: Finding, log: bool) -> None:
    values = np.maximum(f.values, FLOOR) if log else np.array(f.values)
    height = y + 0.12 * np.sin(2.4 * np.arange(len(values)))  # so that equal values are seen apart
    for answer, colour, fill in ((True, "blue", "full"), (None, "grey", "none"), (False, "red", "full")):
        chosen = np.array([a is answer for a in f.answers], dtype=bool)
        style: dict[str, Any] = {"color": plot.COLOURS[colour], "fillstyle": fill, "mew": 0.7}
        ax.plot(values[chosen], height[chosen], "o", ms=2.2 if fill == "full" else 3, alpha=0.7, **style)
    if f.bound is not None:
        ax.plot(f.bound, y, "|", ms=11, mew=1.4, color=plot.COLOURS["black"])
