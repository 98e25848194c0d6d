"""Figure 1 of paper A (arXiv:2411.04990): where tokens end on the sphere, by the spectrum of the value matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import clusters
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.simulation import simulate
from tokenflock.start import uniform

Diagonal = tuple[float, ...]  # of V


@dataclass(frozen=True)
class Spheres:
    """What decides how Figure 1 looks."""

    values: tuple[Diagonal, ...] = ((1.0, 1.0, -0.5), (1.0, 0.5, 0.2), (-1.0, -1.0, -2.0), (-1.0, -2.0, -3.0))
    n_tokens: int = 32
    beta: float = 9.0
    t_end: float = 5000.0
    frames: int = 3000
    starts: int = 16  # from which the first V is run, to see how often one point is reached by t_end
    eye: tuple[float, float] = (20.0, 35.0)  # degrees: elevation and azimuth
    rtol: float = 1e-8
    seed: int = 0


PARAMETERS = {"causal/1": Spheres()}
QUICK: dict[str, dict[str, Any]] = {"causal/1": {"t_end": 400.0, "frames": 150, "starts": 4, "rtol": 1e-6}}
SAME_PLACE = 0.05  # radians
TAIL = 8  # of a movie: the part of its length, 1/8, that a path is followed back
FIRST_FRAME = 0.02  # the first kept time after 0; then in equal ratios


def figure_1(p: Spheres) -> plot.Figure:
    """Paths and final positions on the sphere for four value matrices, and below how near the tokens are to L."""
    times = moments(p.t_end, p.frames)
    ends = []
    figure = plot.page(4.05)
    for k, value in enumerate(p.values):
        x = _run(p, value, times)
        ends.append(x[-1])
        left = 0.0675 + 0.2355 * k
        ball = figure.add_axes((left - 0.0165, 0.482, 0.233, 0.4142))
        plot.sphere(ball, plot.view(*p.eye), leading(value))
        plot.sphere_paths(ball, x, plot.view(*p.eye))
        _words(ball, value, x[-1])
        lower = figure.add_axes((left, 0.099, 0.2, 0.222))
        _nearness(lower, times, x, value)
        lower.set(xlabel="time $t$", yticks=[0, 0.5, 1])
        lower.set_yticklabels(["0", "0.5", "1"] if k == 0 else [])
        if k == 0:
            lower.set_ylabel(r"$|P_L x_i|$")
    plot.letters(figure, {"a": (0.008, 0.972), "b": (0.008, 0.35)})
    disc = {"marker": "o", "ls": "", "ms": 4, "mec": "white", "mew": 0.4}
    entries = [
        {"color": plot.shades(3)[1], "lw": 0.9, "label": "path of a token"},
        {"mfc": plot.STRONG, "label": "final position", **disc},
        {"mfc": plot.pale(plot.STRONG), "label": "the same, at the back", **disc},
        {"color": plot.COLOURS["green"], "lw": 1.6, "label": "eigenspace $L$"},
    ]
    plot.key(figure, (0.5, 0.402), entries, ncols=4, handletextpad=0.4)
    return plot.captioned(figure, _caption(p, ends))


def moments(t_end: float, frames: int) -> Array:
    """The times that are kept: 0, and then in equal ratios, because everything slows down."""
    return np.concatenate([[0.0], np.geomspace(FIRST_FRAME, t_end, frames)])


def leading(value: Diagonal) -> Array:
    """A basis (3, k) of L: the axes on which a diagonal V is largest."""
    return np.eye(len(value))[:, np.asarray(value) == max(value)]


def predicted(value: Diagonal) -> str:
    """The row of Table 1 that a diagonal V belongs to (A.4)."""
    many = value.count(max(value)) > 1
    if max(value) > 0:
        return "one point in $L$" if many else r"two points $\xi$, $-\xi$"
    return "a cloud around $L$" if many else r"two clouds around $\pm\xi$"


def found(value: Diagonal, x: Array) -> tuple[int, float]:
    """At how many places the tokens x (n, 3) stand, and the least |P_L x|."""
    return int(clusters.count(x, SAME_PLACE)), float(np.linalg.norm(x @ leading(value), axis=1).min())


def _run(p: Spheres, value: Diagonal, times: Array) -> Array:
    model, start = Model(dim=3, beta=p.beta, value=np.diag(value)), uniform(p.n_tokens, 3, seed=p.seed)
    return np.asarray(simulate(model, start, times[-1], times=times, rtol=p.rtol, atol=p.rtol * 1e-3)["x"])


def _merged(p: Spheres) -> int:
    """Of the starts, how many have all tokens at one place at t_end, with the first V."""
    model = Model(dim=3, beta=p.beta, value=np.diag(p.values[0]))
    run = simulate(model, uniform(p.n_tokens, 3, runs=p.starts), p.t_end, times=[p.t_end])
    return int((clusters.count(run["x"].values[:, 0], SAME_PLACE) == 1).sum())


def _name(value: Diagonal) -> str:
    return "diag(" + ", ".join(f"{v:g}" for v in value).replace("-", "\N{MINUS SIGN}") + ")"


def _words(ax: plot.Axes, value: Diagonal, x: Array) -> None:
    places, least = found(value, x)
    ax.text(0, 1.36, f"$V$ = {_name(value)}", ha="center", va="center", fontsize=8)
    ax.text(0, 1.17, f"Table 1: {predicted(value)}", ha="center", va="center", fontsize=7)
    word = "place" if places == 1 else "places"
    ax.text(0, -1.17, f"found: {places} {word}, $|P_L x_i|$ ≥ {least:.2f}", ha="center", va="center", fontsize=7)


def _nearness(ax: plot.Axes, times: Array, x: Array, value: Diagonal) -> None:
    near = np.linalg.norm(x @ leading(value), axis=2)
    shade = plot.shades(near.shape[1])
    for k in range(near.shape[1]):
        ax.plot(times[1:], near[1:, k], color=shade[k], lw=0.6)
    ax.set(xscale="log", xlim=(times[1], times[-1]), ylim=(0, 1.04))
    ax.set_xticks([t for t in 10.0 ** np.arange(-1, 4, 2) if times[1] < t <= times[-1]])
    ax.minorticks_off()


def _caption(p: Spheres, ends: list[Array]) -> str:
    seen = []
    for value, x in zip(p.values, ends, strict=True):
        places, least = found(value, x)
        seen.append(f"{_name(value)}: {places} {'place' if places == 1 else 'places'}, |P_L x| >= {least:.3f}")
    slowest = f"{np.exp(2 * p.beta):.0e}"
    return (
        f"Figure 1 of arXiv:2411.04990. Causal self-attention on the sphere, Q = K = I, n = {p.n_tokens}, beta = "
        f"{p.beta:g}, to t = {p.t_end:g}, for one V of each of the four conjectural rows of Table 1. (a) Paths of the "
        "tokens, coloured by index, and their final positions (red); what is at the back is pale. Green: the "
        "eigenspace L of the largest eigenvalue, a plane (its great circle) or a line (its axis, with ends xi and "
        f"-xi). At the end, counting tokens linked by gaps of at most {SAME_PLACE:g} rad as one place: "
        f"{'; '.join(seen)}. (b) The length of the projection of every token on L. Positive top eigenvalues gather the "
        "tokens at points of L; negative ones keep them apart, in clouds around it, which still move slowly. One point "
        "in L is where the first V should lead in the end, but two clusters at an angle theta need a time of order "
        f"exp(beta (1 - cos theta)) to meet, up to {slowest}: at t = {p.t_end:g} all tokens are at one place in "
        f"{_merged(p)} of {p.starts} starts. Ours, not the paper's: the four matrices, which the paper does not print, "
        f"the start (uniform, seed {p.seed}, the same for all four), the counts, panel (b) and the colours."
    )


def movie_1(p: Spheres) -> plot.Movie:
    """The four spheres in motion: a Figure, what draws frame k on it, and the number of frames."""
    times = moments(p.t_end, p.frames)
    runs = [_run(p, value, times) for value in p.values]
    figure = plot.page(2.4, dpi=plot.MOVIE_DPI)
    look, tail = plot.view(*p.eye), max(1, p.frames // TAIL)
    balls = [figure.add_axes((0.005 + 0.2475 * k, 0.08, 0.2475, 0.74)) for k in range(len(p.values))]
    clock = figure.text(0.5, 0.05, "", ha="center", va="center", fontsize=8)
    for ax, value in zip(balls, p.values, strict=True):
        plot.sphere(ax, look, leading(value))
        ax.set_title(f"$V$ = {_name(value)}\n{predicted(value)}", fontsize=7.5, pad=3)
    moving: list[Any] = []

    def draw(k: int) -> None:
        while moving:
            moving.pop().remove()
        for ax, x in zip(balls, runs, strict=True):
            moving.extend(plot.sphere_paths(ax, x[max(0, k - tail) : k + 1], look, dots=12))
        clock.set_text(f"$t$ = {times[k]:.2f}" if times[k] < 10 else f"$t$ = {times[k]:.0f}")

    return figure, draw, len(times)
