"""Beyond the theorems of paper B (arXiv:2305.05465): any Q'K, and a feed-forward layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tokenflock import plot
from tokenflock.analysis import polytope, triple
from tokenflock.errors import TokenflockError, unknown
from tokenflock.geometry import Array
from tokenflock.options import FeedForward
from tokenflock.papers.figures import emergence_draw as draw
from tokenflock.papers.token_layers import tokens_through
from tokenflock.start import cube
from tokenflock.weights import PAPER_B, uniform_entries


@dataclass(frozen=True)
class GenericQK(draw.Cube):
    """What decides how the figure of any Q'K looks."""

    t_limit: float = 40.0
    forms: tuple[int, ...] = (0, 1, 2, 3)  # seeds of Q'K


@dataclass(frozen=True)
class Layers(draw.Cube):
    """What decides how the figure of feed-forward layers looks."""

    snapshots: tuple[float, ...] = (1.0, 4.0, 20.0)
    weights_seed: int = 1
    form: str = "tokens"  # or "printed"


class Ending(NamedTuple):
    """One panel of the figure of any Q'K: its row, the number of Q'K and Q'K itself, and where the tokens end."""

    row: int
    number: int
    form: Array
    limit: Array
    label: draw.Labels


PARAMETERS = {
    "emergence/generic-qk": GenericQK(n_tokens=40, t_end=10.0),
    "emergence/feedforward": Layers(t_end=20.0, frames=201),
}
QUICK: dict[str, dict[str, Any]] = {
    "emergence/generic-qk": {"n_tokens": 20, "frames": 61},
    "emergence/feedforward": {"frames": 81},
}
# Positive entries, and both eigenvalues positive: what a layer makes grow more slowly shrinks in z in every direction.
POSITIVE = np.array([[0.8, 0.3], [0.2, 0.6]])
ROWS = (
    (np.eye(2), "$V = I$, $d = 2$"),
    (np.asarray(PAPER_B["mix"]), "$V$ = diag(1, 1, \N{MINUS SIGN}1/2), seen in $F$"),
)


def figure_generic_qk(p: GenericQK) -> plot.Figure:
    """Two rows, V = I and V paranormal, for several Q'K with random entries."""
    times = draw.moments(p.t_end, p.frames)
    found: list[Ending] = []
    figure = plot.page(4.7)
    for row, (value, name) in enumerate(ROWS):
        dim = len(value)
        start = cube(p.n_tokens, dim, p.half_width, seed=p.seed)
        for k, one in enumerate(p.forms):
            form = uniform_entries(dim, seed=one)
            z = draw.rescaled(value, start, np.append(times, p.t_limit), query=form.T)  # <Qx, Ky> = x' form y
            limit = z[-1, :, :2]
            label = draw.places(limit)
            found.append(Ending(row, one, form, limit, label))
            ax = plot.square(figure, 0.065 + 0.2375 * k, 0.55 - 0.49 * row, 0.2)
            draw.numbered(ax, 1.1 * p.half_width, p.half_width)
            draw.outline(ax, limit, plot.COLOURS["grey"], fill="#e9ecf2")
            draw.tracks(ax, z[:-1, :, :2], draw.colours(label))
            draw.discs(ax, z[-2, :, :2], draw.colours(label), 11)
            ax.set_title(f"$Q'K$ number {one}\n{_sign(form)}", pad=3, fontsize=7)
            if k:
                ax.set(ylabel="", yticklabels=[])
        figure.text(0.065, 0.975 - 0.49 * row, name, va="center")
    plot.letters(figure, {"a": (0.008, 0.975), "b": (0.008, 0.485)})
    return plot.captioned(figure, _caption_generic(found, p))


def _sign(form: Array) -> str:
    """What keeps a form from being positive definite, in a line."""
    least, most = np.linalg.eigvalsh((form + form.T) / 2)[[0, -1]]
    return f"symmetric part: {least:.2f} to {most:.2f}".replace("-", draw.MINUS)


def _caption_generic(found: list[Ending], p: GenericQK) -> str:
    words: list[list[str]] = [[], []]
    for row, one, _, limit, label in found:
        corners = polytope.hull(limit, draw.SAME_PLACE).vertices
        apart = np.linalg.norm(limit[:, None] - corners, axis=2).min(axis=1)
        at = int((apart <= draw.SAME_PLACE * np.abs(limit).max()).sum())
        points = f"{label.max() + 1} point{'s' * int(label.max() > 0)}"
        words[row].append(f"number {one}: {points}, {at} of {p.n_tokens} tokens at a vertex")
    least = min(float(np.linalg.eigvalsh((e.form + e.form.T) / 2)[0]) for e in found)
    fails = sum(not triple.good_with_multiplicity(e.form.T, None, ROWS[e.row][0]).holds for e in found)
    return (
        f"Q'K that is not positive definite, {draw.PAPER}: independent entries, uniform on [-1, 1], so that Theorems "
        f"3.1 and 5.2 say nothing ({fails} of the {len(found)} triples fail their hypotheses; the least eigenvalue of "
        f"a symmetric part is {least:.2f}). Paths of the rescaled tokens to t = {p.t_end:g}, and the hull of their "
        f"places at t = {p.t_limit:g}; tokens with one limit have one colour. (a) V = I in the plane. At t = "
        f"{p.t_limit:g} {'; '.join(words[0])}. (b) V = diag(1, 1, -1/2), shown in the plane F of z_1, z_2 where V = 1. "
        f"At t = {p.t_limit:g} {'; '.join(words[1])}. {_ends(found)} The paper reports the same patterns as "
        f"for positive definite Q'K. The authors': the law of Q'K, the kind of V, the cube [-{p.half_width:g}, "
        f"{p.half_width:g}]^d. Ours, not the paper's: n = {p.n_tokens}, the paranormal matrix (that of Theorem 5.2), "
        f"the numbers of Q'K, which are its seeds, the start (seed {p.seed}), adaptive steps, and colours."
    )


def _ends(found: list[Ending]) -> str:
    """At how many points the panels end, in a sentence: patterns of positive definite forms are polygons."""
    most, polygons = max(int(e.label.max()) + 1 for e in found), sum(int(e.label.max()) > 1 for e in found)
    if not polygons:
        return f"All {len(found)} panels end at {'one or two points' if most > 1 else 'one point'}, none at a polygon."
    return f"{polygons} of the {len(found)} panels end at three points or more, the others at one or two."


def layers(seed: int) -> tuple[tuple[str, str, FeedForward], ...]:
    """The three rows of the figure: a name, the same in plain words, and the layer."""
    random = uniform_entries(2, seed=seed)
    return (
        (r"$\sigma$ = ReLU, $W = I$", "ReLU, W = I", FeedForward(np.eye(2), activation="relu")),
        (r"$\sigma$ = tanh, $W = I$", "tanh, W = I", FeedForward(np.eye(2), activation="tanh")),
        (r"$\sigma$ = ReLU, $W$ random", "ReLU, W random", FeedForward(random, activation="relu")),
    )


def figure_feedforward(p: Layers) -> plot.Figure:
    """Three rows, one a layer: tokens at three times, and their level phi_1* against time."""
    value = POSITIVE
    star: Any = triple.good(None, None, value).phi_1_star
    start, times = cube(p.n_tokens, 2, p.half_width, seed=p.seed), draw.moments(p.t_end, p.frames, *p.snapshots)
    said = []
    height, width = 6.3, 0.195
    figure = plot.page(height)
    for row, (name, words, layer) in enumerate(layers(p.weights_seed)):
        z = layered(value, layer, start, times, p.form)
        phi = z @ star
        shade = [plot.COLOURS["red"] if v > 0 else plot.COLOURS["blue"] for v in phi[0]]
        said.append(f"{words}: {_moved(z, phi)}")
        bottom = 0.717 - 0.333 * row
        half = 1.08 * float(np.abs(z).max())
        for t, ax in draw.snapshots(figure, p.snapshots, (0.06, bottom, width), 0.236, pad=2):
            frame = draw.at(times, t)
            draw.numbered(ax, half, float(np.floor(half / 5) * 5))
            draw.tracks(ax, z[: frame + 1], shade)
            draw.discs(ax, z[frame], shade, 10)
        right = figure.add_axes((0.81, bottom, 0.175, width * plot.PAGE / height))
        for i in range(p.n_tokens):
            right.plot(times, phi[:, i], color=shade[i], lw=0.7, alpha=0.8)
        right.axhline(0, color=plot.COLOURS["green"], lw=0.9, ls=(0, (3, 2)))
        top = 1.1 * float(np.abs(phi).max())
        right.set(xlim=(0, p.t_end), xlabel="time $t$", xticks=[0, p.t_end / 2, p.t_end], ylim=(-top, top))
        right.set_yticks([-5, 0, 5])
        right.set_ylabel(r"$\varphi_1^*(z_i)$", labelpad=0)
        right.xaxis.labelpad = 1
        figure.text(0.06, bottom + 0.27, name, va="center")
    plot.letters(figure, {"a": (0.008, 0.987), "b": (0.008, 0.654), "c": (0.008, 0.321)})
    return plot.captioned(figure, _caption_feedforward(said, p))


def layered(value: Any, layer: FeedForward, start: Array, times: Array, form: str) -> Array:
    """The tokens z (time, n, 2): the layer acts on tokens, or on rescaled ones as printed."""
    if form == "printed":
        return draw.rescaled(value, start, times, feedforward=layer, rtol=1e-6)
    if form != "tokens":
        raise unknown("form", form, ("tokens", "printed"))
    z = tokens_through(np.asarray(value), layer.w, layer.activation, start, times, rtol=1e-7)
    if z is None:
        raise TokenflockError("The run with a feed-forward layer on tokens did not get to its end. Lower t_end.")
    return z


def _moved(z: Array, phi: Array) -> str:
    """What became of a run: tokens that stayed where they were, levels, and sizes."""
    scale = np.abs(z[0]).max()
    still = int((np.linalg.norm(z[-1] - z[0], axis=1) < 1e-3 * scale).sum())
    order = np.sort(phi[-1])
    levels = 1 + int((np.diff(order) > 0.02 * np.abs(phi[0]).max()).sum())
    return (
        f"{still} of {len(phi[-1])} tokens have not moved, phi_1* takes {levels} value{'s' * (levels > 1)} to 2 % of "
        f"the start, from {phi[-1].min():.2f} to {phi[-1].max():.2f}, and |z| is at most "
        f"{np.linalg.norm(z[-1], axis=1).max():.3g} (at the start {np.linalg.norm(z[0], axis=1).max():.3g})"
    )


def _caption_feedforward(said: list[str], p: Layers) -> str:
    rows = ", ".join("(" + draw.listed(row) + ")" for row in layers(p.weights_seed)[2][2].w)
    on_tokens = "x_i' = W sigma(V sum_j P_ij x_j), the layer acting on the tokens, seen as z = e^(-tV) x"
    printed = "z_i' = W sigma(V sum_j P_ij (z_j - z_i)) with P at e^(tV) z"
    if p.form == "tokens":
        form = f"{on_tokens}, for three pairs of sigma and W. (The printed equation, {printed}, shows something else: "
        form += "form = 'printed' draws it.)"
        why = "With ReLU and W = I a token whose pull has no positive entry stands still, and so tends to 0 in z; a "
        why += "random W shrinks z only where W sigma(V x) grows more slowly than e^(tV)"
    else:
        form = f"{printed}, as printed, for three pairs of sigma and W. (With {on_tokens}, one sees what is reported.)"
        why = "With ReLU and W = I coordinates can only grow, so that a token whose pull points down stays"
    return (
        f"A feed-forward layer, {draw.PAPER}: {form} V = [({draw.listed(POSITIVE[0])}), ({draw.listed(POSITIVE[1])})], "
        f"Q = K = I, n = {p.n_tokens} tokens uniform on [-{p.half_width:g}, {p.half_width:g}]^2; tokens are red that "
        f"start with phi_1* above 0. Left: tokens and their paths; right: phi_1*. At t = {p.t_end:g} - "
        f"{'; '.join(said)}. {why}. The paper reports three hyperplanes with ReLU and W = I, and a collapse to 0 with "
        "tanh and with a random W. The authors': the equation, and the three pairs. Ours, not the paper's: what the "
        f"layer acts on, V, the random W = [{rows}] (one of those that shrink z), n and the cube, the start (seed "
        f"{p.seed}), adaptive steps, and the right column."
    )
