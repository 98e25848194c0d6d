"""Figure 3 of paper A (arXiv:2411.04990): how many tokens the Renyi centers consume, over thousands of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock import plot
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.simulation import simulate
from tokenflock.start import uniform


@dataclass(frozen=True)
class Consumption:
    """What decides how Figure 3 looks."""

    runs: int = 5000
    n_tokens: int = 200
    beta: float = 64.0
    c: float = 4.0  # delta = c beta^(-1/2)
    radii: tuple[float, ...] = (1.0, 0.25)  # within this times beta^(-1/2) of a center a token is consumed
    t_end: float = 300.0
    frames: int = 61
    rtol: float = 1e-6
    seed: int = 0


PARAMETERS = {"causal/3": Consumption()}
QUICK: dict[str, dict[str, Any]] = {"causal/3": {"runs": 200}}
CHUNK, BLOCK = 256, 8  # runs at a time: 50 MB of positions; and what stays in the cache while it is measured
QUANTILES = (0.1, 0.9)
RING: dict[str, Any] = {"mfc": "white", "mew": 0.8}
KINDS = {"Renyi": plot.ORDINARY, "strong": plot.STRONG}
#: Fractions of 20 runs of the same setting (A.7), made apart from this program: radius -> kind -> at REFERENCE_TIMES.
REFERENCE_TIMES = (0.0, 5.0, 20.0, 75.0, 150.0, 300.0)
REFERENCE: dict[float, dict[str, tuple[float, ...]]] = {
    1.0: {"strong": (0.28, 0.59, 0.77, 0.88, 0.90, 0.94), "Renyi": (0.39, 0.81, 0.96, 0.99, 1.0, 1.0)},
    0.25: {"strong": (0.09, 0.30, 0.73, 0.88, 0.89, 0.94), "Renyi": (0.13, 0.43, 0.93, 0.99, 0.99, 1.0)},
}
Flags = NDArray[np.bool_]


def figure_3(p: Consumption) -> plot.Figure:
    """Fraction of tokens near a center against time: mean and quantiles over the runs, one panel a radius."""
    from matplotlib.patches import Patch

    unit = p.beta**-0.5
    # Even on the axis, which is the square root of time: most happens early.
    times = np.union1d(p.t_end * np.linspace(0, 1, p.frames) ** 2, [t for t in REFERENCE_TIMES if t <= p.t_end])
    share, counts = consumption(p, times)
    figure = plot.page(2.85)
    for k, radius in enumerate(p.radii):
        ax = figure.add_axes((0.075 + 0.485 * k, 0.155, 0.425, 0.66))
        _panel(ax, times, share[k], REFERENCE.get(radius))
        ax.set_title(rf"consumed: within $r$ = {radius:g} $\beta^{{-1/2}}$ = {radius * unit:.3g} rad", pad=4)
        ax.set_ylabel("fraction of tokens consumed" if k == 0 else "")
    grey = plot.COLOURS["grey"]
    entries: list[plot.Entry] = [
        {"color": plot.ORDINARY, "lw": 1.6, "label": "Rényi centers"},
        {"color": plot.STRONG, "lw": 1.6, "label": "strong Rényi centers"},
        Patch(color=grey, alpha=0.35, lw=0, label="quantiles 0.1 to 0.9"),
        {"label": "20 runs of another program", "marker": "o", "ls": "", "mec": grey, "ms": 3.6, **RING},
    ]
    plot.key(figure, (0.53, 0.957), entries, ncols=4, handletextpad=0.5)
    plot.letters(figure, {"ab"[k]: (0.012 + 0.485 * k, 0.865) for k in range(len(p.radii))})
    return plot.captioned(
        figure,
        "Figure 3 of arXiv:2411.04990. The fraction of the tokens that are near a center, where the center is then, "
        f"over {p.runs} runs of causal self-attention on the circle, Q = K = V = I, n = {p.n_tokens}, beta = "
        f"{p.beta:g}, delta = {p.c:g} beta^(-1/2) = {p.c * unit:g}, from uniform starts: mean (lines) and quantiles "
        f"0.1 and 0.9 (bands). Black: Renyi centers, {counts[0]:.2f} a run; red: the strong ones, {counts[1]:.2f} a "
        f"run. {_compared(times, share, p.radii)} From t = 75 on the radius hardly matters: tokens stand at centers "
        "or at clusters without one. Strong centers stand still but miss whole clusters; Renyi centers together reach "
        "nearly every token. Ours, not the paper's: the radii, of which the paper does not say its own (delta it "
        "cannot be, since every token is within delta of a Renyi center from the start), the axis of time, and seed "
        f"{p.seed}. Rings: 20 runs made by another program, not the paper's data.",
    )


def consumption(p: Consumption, times: Array) -> tuple[Array, tuple[float, float]]:
    """Fractions consumed (radius, kind, run, time), Renyi centers first; and the mean number of centers."""
    model, starts = Model(dim=2, beta=p.beta), uniform(p.n_tokens, 2, seed=p.seed, runs=p.runs)
    unit = p.beta**-0.5
    ordinary, strong = centers(starts, p.c * unit)
    share = np.empty((len(p.radii), 2, p.runs, len(times)))
    for first in range(0, p.runs, CHUNK):
        chunk = starts[first : first + CHUNK]
        x = simulate(model, chunk, times[-1], times=times, rtol=p.rtol, atol=p.rtol * 1e-3)["x"].values
        for r in range(0, len(chunk), BLOCK):
            part = slice(first + r, first + min(r + BLOCK, len(chunk)))
            for kind, overlap in enumerate(nearest(x[r : r + BLOCK], ordinary[part], strong[part])):
                for k, radius in enumerate(p.radii):
                    share[k, kind, part] = (overlap >= np.cos(radius * unit)).mean(axis=-1)
    return share, (float(ordinary.sum() / p.runs), float(strong.sum() / p.runs))


def centers(x: Array, delta: float) -> tuple[Flags, Flags]:
    """Whether each token of x (runs, n, 2) is a Renyi center, and a strong one: as `renyi`, for many runs at once."""
    across, along = np.ascontiguousarray(x[..., 0].T), np.ascontiguousarray(x[..., 1].T)
    taken, passed = np.zeros((2, *across.shape), dtype=bool)  # near an earlier center; near an earlier token
    for k in range(len(across)):
        near = across[k + 1 :] * across[k] + along[k + 1 :] * along[k] >= np.cos(delta)
        passed[k + 1 :] |= near
        taken[k + 1 :] |= near & ~taken[k]
    return ~taken.T, ~passed.T


def nearest(x: Array, ordinary: Flags, strong: Flags) -> tuple[Array, Array]:
    """The largest overlap of every token of x (runs, times, n, 2) with a Renyi center, and with a strong one.

    Centers are numbered run by run, strong ones first, and taken one number at a time for all runs: a run that has
    fewer repeats its first, which is token 0 and strong.
    """
    across, along = np.ascontiguousarray(x[..., 0]), np.ascontiguousarray(x[..., 1])
    best = np.full(across.shape, -1.0)
    product, other = np.empty_like(best), np.empty_like(best)
    rows = np.arange(len(x))
    for flags in (strong, ordinary & ~strong):
        order = np.argsort(~flags, axis=1, kind="stable")
        for k in range(int(flags.sum(axis=1).max())):
            token = np.where(flags.sum(axis=1) > k, order[:, k], 0)
            np.multiply(across, across[rows, :, token][..., None], out=product)
            np.multiply(along, along[rows, :, token][..., None], out=other)
            product += other
            np.maximum(best, product, out=best)
        if flags is strong:
            best_strong = best.copy()
    return best, best_strong


def _panel(ax: plot.Axes, times: Array, share: Array, reference: dict[str, tuple[float, ...]] | None) -> None:
    for (kind, colour), values in zip(KINDS.items(), share, strict=True):
        low, high = np.quantile(values, QUANTILES, axis=0)
        ax.fill_between(times, low, high, color=colour, alpha=0.16, lw=0)
        for edge in (low, high):
            ax.plot(times, edge, color=colour, lw=0.5, alpha=0.7)
        ax.plot(times, values.mean(axis=0), color=colour, lw=1.6)
        if reference is not None:
            ax.plot(REFERENCE_TIMES, reference[kind], "o", mec=colour, ms=3.2, clip_on=False, zorder=5, **RING)
    plot.root_time(ax, [t for t in (0, 5, 20, 40, 75, 150, 225, 300) if t <= times[-1]])
    ax.set(xlim=(0, times[-1]), ylim=(0, 1.0))
    ax.grid(axis="y", color="#e4e6ea", lw=0.5)
    ax.set_axisbelow(True)


def _compared(times: Array, share: Array, radii: tuple[float, ...]) -> str:
    """The means beside the reference, in words."""
    moments = [t for t in REFERENCE_TIMES if t in times]
    at = np.searchsorted(times, moments)
    parts = []
    for k, radius in enumerate(radii):
        for kind, values in zip(KINDS, share[k].mean(axis=1), strict=True):
            means = "/".join(f"{v:.3f}" for v in values[at])
            known = REFERENCE.get(radius, {}).get(kind)
            beside = f" (reference {'/'.join(f'{v:.2f}' for v in known[: len(at)])})" if known else ""
            parts.append(f"{kind}, r = {radius:g} beta^(-1/2): {means}{beside}")
    return f"Means at t = {'/'.join(f'{t:g}' for t in moments)}: {'; '.join(parts)}."
