"""The figures of a network's report: spectra, chance, overlaps layer by layer, and which part gathers the tokens."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import persistence
from tokenflock.geometry import Array
from tokenflock.papers.report.network_study import ABLATIONS, NetworkStudy, inside
from tokenflock.plot.barcodes import curve
from tokenflock.transformer import behaviour

if TYPE_CHECKING:
    import xarray as xr

C = plot.COLOURS
#: row of the atlas -> its colour
ROWS = {
    "two-points": C["blue"],
    "one-point": C["sky"],
    "first-token": C["green"],
    "rotating": C["orange"],
    "two-clouds": C["red"],
    "cloud": C["purple"],
    "jordan": C["yellow"],
    "zero": C["grey"],
}
BROKEN = (0, (4, 2))
PLAIN = ("black", "sky", "green", "orange", "red", "purple")
LOOKS: tuple[tuple[str, Any], ...] = (*((C[name], "-") for name in PLAIN), (C["blue"], BROKEN))
COLUMNS, MOST_PANELS = 4, 16
ALONE = list(ABLATIONS)[-1]


def spectra(made: NetworkStudy) -> plot.Figure:
    """Figure 6 of A: the eigenvalues of each head, ringed the one of largest real part."""
    shown, of = _places(made)

    def draw(ax: plot.Axes, one: xr.Dataset) -> str:
        lam = one["eigenvalues"].values
        r = 1.15 * float(np.abs(lam).max())
        ax.axvspan(-r, 0, color="#f3f4f6", lw=0, zorder=-1)
        plot.eigenvalue_plane(ax, lam, colour=ROWS[str(one["regime"].values)], size=6.0)
        _limits(ax, r)
        return rf"$\lambda_{{\max}}$ = {number(complex(one['lambda_max'].values))}"

    seen = set(made.heads.sel(layer=made.shown)["regime"].values.ravel().tolist())
    figure = _panels(made, shown, draw, [(row, colour) for row, colour in ROWS.items() if row in seen])
    return plot.captioned(
        figure,
        f"As Figure 6 of arXiv:2411.04990. The {made.network.head_dim} eigenvalues of V_h = W_O,h W_V,h that its rank "
        f"leaves, for {of}, each panel to its own scale; the left half-plane is grey. Ringed: that of largest real "
        "part. The colour is the row of the atlas.",
    )


def triples(made: NetworkStudy) -> plot.Figure:
    """The figure of B: the same eigenvalues, ringed the one of largest modulus, and the test of Definition 4.1."""
    shown, of = _places(made)

    def draw(ax: plot.Axes, one: xr.Dataset) -> str:
        lam, good = one["eigenvalues"].values, bool(one["good"].values)
        r = float(np.abs(lam).max())
        colour = C["blue"] if good else C["grey"]
        plot.eigenvalue_plane(ax, lam, colour=colour, size=6.0, top=False, disc=r)
        first = lam[np.abs(lam) >= r * (1 - 1e-9)]
        ax.scatter(first.real, first.imag, s=30, facecolors=colour, edgecolors="black", linewidths=0.8, zorder=5)
        _limits(ax, 1.15 * r)
        return "good" if good else _why(str(one["good_fails"].values), float(one["overlap"].values))

    legend = [("good triple", C["blue"]), ("a hypothesis fails", C["grey"])]
    figure = _panels(made, shown, draw, legend)
    return plot.captioned(
        figure,
        f"As the figure of spectra of arXiv:2305.05465: {of}. Definition 4.1 asks that the eigenvalue of largest "
        "modulus (ringed, on the broken circle) is real, positive and simple, and that <Q phi_1, K phi_1> > 0 for its "
        "eigenvector. Above a panel: whether it holds, or what fails first.",
    )


def tops(made: NetworkStudy) -> plot.Figure:
    """The largest real part of every head of the network, layer by layer."""
    found = made.heads
    figure = plot.page(2.4)
    ax = figure.add_axes((0.08, 0.19, 0.9, 0.63))
    ax.axhline(0, color="black", lw=0.7)
    for row, colour in ROWS.items():
        l, h = np.nonzero(found["regime"].values == row)
        if len(l):
            spread = (h / max(made.network.n_heads - 1, 1) - 0.5) * 0.5
            y = found["lambda_max"].values.real[l, h]
            ax.scatter(found["layer"].values[l] + spread, y, s=9, color=colour, lw=0, label=row)
    ax.set(xlabel="layer", ylabel=r"largest Re $\lambda$")
    figure.legend(loc="upper center", ncols=len(ROWS), bbox_to_anchor=(0.53, 1.0), handletextpad=0.1)
    return plot.captioned(
        figure,
        "The largest real part of an eigenvalue of V_h, every head of every layer (heads side by side within a layer), "
        "coloured by the row of the atlas.",
    )


def by_chance(made: NetworkStudy) -> plot.Figure:
    """Figure 5 of A for the sizes of this network: Gaussian heads beside the trained ones, and how rare < 0 is."""
    net, trained = made.network, made.heads["lambda_max"].values.real.ravel()
    scale = np.array([np.abs(e).max() for e in made.heads["eigenvalues"].values.reshape(-1, net.head_dim)])
    figure = plot.page(2.5)
    ax = figure.add_axes((0.08, 0.2, 0.4, 0.66))
    bins = np.linspace(-1.0, 1.3, 47).tolist()
    both = ((made.tops, C["grey"], "Gaussian"), (trained / scale, C["blue"], "trained"))
    for values, colour, name in both:
        look: Any = {"color": colour, "alpha": 0.75, "label": f"{name}, {len(values)} heads", "lw": 0}
        ax.hist(values, bins, weights=np.full(len(values), 1 / len(values)), **look)
    ax.axvline(0, color="black", lw=0.7)
    ax.set(xlabel=r"largest Re $\lambda$, in units of the size of the spectrum", ylabel="share of heads")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    _rarity(figure.add_axes((0.6, 0.2, 0.38, 0.66)), made)
    plot.letters(figure, {"a": (0.015, 0.94), "b": (0.53, 0.94)})
    negative = int((trained < 0).sum())
    own = made.chances[net.head_dim]
    return plot.captioned(
        figure,
        f"As Figure 5 of arXiv:2411.04990. (a) The largest real part of the eigenvalues of V_h: {len(trained)} trained "
        f"heads, each in units of its largest modulus, and {len(made.tops)} heads of independent Gaussian entries of "
        f"the same sizes, in units of sqrt(d k). {negative} trained heads are negative. (b) The probability that a "
        f"Gaussian head of size N has only eigenvalues with negative real part, with 95 % intervals; at N = "
        f"{net.head_dim}, the size of these heads, {own.method}, which leaves less than {10**own.high:.2g}.",
    )


def _rarity(ax: plot.Axes, made: NetworkStudy) -> None:
    k = made.network.head_dim
    for size, found in sorted(made.chances.items()):
        if found.log10 == -math.inf:
            ax.plot([size], [found.high], marker="v", color=C["red"], ms=5, clip_on=False)
            look: Any = {"xytext": (-4, 7), "textcoords": "offset points", "ha": "right", "fontsize": 7}
            ax.annotate("less than", (size, found.high), **look)
            continue
        bars, shape = [[found.log10 - found.low], [found.high - found.log10]], "o" if found.seen else "s"
        ax.errorbar([size], [found.log10], bars, fmt=shape, color=C["red"], ms=3, lw=0.8)
    sizes, logs, guess = extrapolated(made)
    line = np.linspace(1, max(k, sizes[-1]), 100)
    ax.plot(line, np.polyval(np.polyfit(sizes, logs, 2), line), color=C["grey"], lw=0.8, ls=BROKEN, zorder=0)
    ax.set(xlabel="size $N$ of a head", ylabel=r"$\log_{10}$ P(all Re $\lambda$ < 0)", ylim=(min(guess, -3) * 1.08, 1))
    ax.set_xlim(0, k * 1.05 + 0.5)
    ax.set_title("circles: counted; squares: subset simulation; broken: parabola", fontsize=7)


def extrapolated(made: NetworkStudy) -> tuple[Array, Array, float]:
    """Sizes and logarithms that were estimated, and what a parabola through them gives for these heads."""
    known = [(size, found.log10) for size, found in sorted(made.chances.items()) if found.log10 > -math.inf]
    sizes, logs = (np.array(column, dtype=float) for column in zip(*known, strict=True))
    return sizes, logs, float(np.polyval(np.polyfit(sizes, logs, 2), made.network.head_dim))


def by_radius(made: NetworkStudy) -> plot.Figure:
    """The clusters of the first text at every radius."""
    return radii(made.runs[0])


def radii(run: xr.Dataset) -> plot.Figure:
    """How many clusters the tokens make at every radius, at some layers: no threshold is chosen."""
    L = run.sizes["time"] - 1
    steps = np.unique(np.round(np.linspace(0, L, 4)).astype(int))
    figure = plot.page(2.0)
    axes = figure.subplots(1, len(steps), squeeze=False, sharey=True)[0]
    told = []
    for ax, step in zip(axes, steps, strict=True):
        x = run["x"].values[step]
        found = persistence.lasting(x)
        curve(ax, np.maximum(persistence.barcode(x), persistence.FLOOR), found)
        ax.set_title(f"layer {step}", pad=2)
        ax.set_xlabel("radius (radians)")
        told.append(f"layer {step}: {found}")
    for ax in axes[1:]:
        ax.set_ylabel("")
    figure.subplots_adjust(left=0.07, right=0.985, top=0.88, bottom=0.24)
    words = "Clusters of the first text's tokens against the radius within which they are linked; shaded: the radii in "
    return plot.captioned(figure, f"{words}which their number stays longest. {'; '.join(told)}.")


def histograms(made: NetworkStudy) -> plot.Figure:
    """Figure 1 of C: the overlaps of all pairs, at some layers; further down where the weights are shared."""
    L = made.network.n_layers
    rows = [(made.runs[0], np.unique(np.round(np.linspace(0, L, 6)).astype(int)))]
    last = made.deep.sizes["time"] - 1
    if last > L:
        steps = np.unique(np.round(np.geomspace(L, last, 7)).astype(int))[1:]
        rows.append((made.deep, steps))
    figure = plot.page(0.35 + 1.35 * len(rows))
    axes = figure.subplots(len(rows), 6, squeeze=False, sharey=False)
    for line, (run, steps) in zip(axes, rows, strict=True):
        density, edges = behaviour.histogram(run["x"].values[steps])
        for ax in line[len(steps) :]:
            ax.set_visible(False)
        for ax, step, bars in zip(line, steps, density, strict=False):
            ax.stairs(bars, edges, fill=True, color=C["blue"], lw=0)
            ax.set(xlim=(-1, 1), yticks=[], xticks=[-1, 0, 1])
            ax.set_title(f"layer {step}", pad=2)
            ax.spines["left"].set_visible(False)
    figure.subplots_adjust(left=0.02, right=0.98, top=1 - 0.22 / figure.get_figheight(), bottom=0.14, hspace=0.6)
    deeper = f" Second row: the same weights used on, to layer {last}." if last > L else ""
    return plot.captioned(
        figure,
        f"As Figure 1 of arXiv:2312.10794: overlaps <x_i, x_j> of all pairs i < j of the first text "
        f"({made.runs[0].sizes['token']} tokens) at some of the {L} layers, hidden states divided by their "
        f"length.{deeper} A bar at 1 is tokens that are the same direction. (The paper counts the pairs i = j too.)",
    )


def layers(made: NetworkStudy) -> plot.Figure:
    """What the tokens of the model itself do: overlaps, clusters, rank, their part in L, and attention."""
    from matplotlib.ticker import MaxNLocator

    m = made.measures
    figure = plot.page(4.2)
    axes = figure.subplots(2, 3).ravel()
    times = m[0]["time"].values
    low, high = (mean_of(m, f"overlap_{end}") for end in ("low", "high"))
    axes[0].fill_between(times, low, high, color=C["sky"], alpha=0.3, lw=0)
    for k, one in enumerate(m):
        look: Any = {"lw": 0.7, "alpha": 0.8}
        axes[0].plot(times, one["overlap"], color=C["blue"], **look)
        axes[1].plot(times, one["clusters"] / made.runs[k].sizes["token"], color=C["blue"], **look)
        axes[2].plot(times, one["effective_rank"], color=C["blue"], **look)
    axes[0].set_title("mean overlap; band: 90 % of pairs")
    axes[1].set_title(f"clusters / tokens, overlap > {behaviour.TOGETHER:g}")
    axes[2].set_title("effective rank")
    axes[1].set_ylim(0, 1.05)
    axes[2].set_ylim(bottom=0)
    _inside(axes[3], made)
    every = np.arange(m[0].sizes["layer"])
    named = (("attention_rank", "rank of attention"), ("leaders", "leaders"))
    for ax, (name, title) in zip(axes[4:], named, strict=True):
        found = np.mean([one[name].values / run.sizes["token"] for one, run in zip(m, made.runs, strict=True)], 0)
        ax.plot(every, found, color=C["grey"], lw=0.5)
        ax.plot(every, found.mean(axis=1), color=C["black"], lw=1.4)
        ax.set(ylim=(0, 1.05))
        ax.set_title(f"{title} / tokens")
    for ax in axes:
        ax.set_xlabel("layer", labelpad=1)
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    figure.subplots_adjust(left=0.06, right=0.985, top=0.94, bottom=0.1, wspace=0.28, hspace=0.45)
    return plot.captioned(
        figure,
        f"The hidden states of the model, by {made.engine}, {made.read}. One thin line a text in the first three "
        "panels and one a head in the last two (mean over texts), where the thick line is the mean over heads. "
        "|P_L x|: the part of the tokens in the subspace L that the atlas predicts from the sum of the value matrices "
        "of a layer; broken: what a random direction has. Rank: singular values above "
        f"{behaviour.SMALL:g} of the largest. Leaders: tokens to which some token attends most.",
    )


def mean_of(measures: list[xr.Dataset], name: str) -> Array:
    """A measure over time, mean over texts."""
    return np.asarray(np.mean([one[name].values for one in measures], axis=0))


def _inside(ax: plot.Axes, made: NetworkStudy) -> None:
    ax.set_title(r"part in $L$: mean $|P_L x|$")
    ax.set_ylim(0, 1.05)
    for k, (l, L) in enumerate(made.subspaces.items()):
        found = inside(made.runs, L)
        colour = LOOKS[4 + k % 3][0] if len(made.subspaces) > 1 else C["blue"]
        name = "the model" if len(made.network.blocks) == 1 else f"$L$ of layer {l}"
        ax.plot(made.runs[0]["time"].values, found, color=colour, lw=1.0, label=name)
        ax.axhline(behaviour.inside_by_chance(*L.shape), color=colour, lw=0.7, ls=BROKEN)
    alone = made.ablations.get(ALONE)
    if isinstance(alone, dict) and alone["inside"] is not None:
        own = slice(made.network.n_layers + 1)
        ax.plot(alone["time"][own], alone["inside"][own], color=C["red"], lw=1.0, label="attention alone")
    if made.subspaces:
        ax.legend(loc="center right")
    else:
        ax.text(0.5, 0.5, "not computed at this size", transform=ax.transAxes, ha="center")


def ablations(made: NetworkStudy) -> plot.Figure:
    """Mean overlap and number of clusters, layer by layer, with parts of the block left out."""
    drawn = {name: found for name, found in made.ablations.items() if not isinstance(found, str)}
    figure = plot.page(3.3)
    axes = figure.subplots(1, 2)
    for name, (colour, line) in zip(made.ablations, LOOKS, strict=True):
        if name not in drawn:
            continue
        found = drawn[name]
        wide = 1.8 if name == "all of it" else 1.0
        at = found["time"] + 1  # the start is at 1 on a logarithmic axis
        axes[0].plot(at, found["overlap"], color=colour, ls=line, lw=wide, label=name)
        axes[1].plot(at, found["clusters"], color=colour, ls=line, lw=wide)
    last = max(found["time"][-1] for found in drawn.values())
    marks = sorted({0, 1, 3, made.network.n_layers, int(last)} | ({40} if last > 60 else set()))
    for ax, title in zip(axes, ("mean overlap", f"clusters at overlap {behaviour.TOGETHER:g}"), strict=True):
        ax.set_xscale("log")
        ax.set_xticks([v + 1 for v in marks], [str(v) for v in marks])
        ax.minorticks_off()
        ax.axvline(made.network.n_layers + 1, color=C["grey"], lw=0.6, ls=(0, (1, 2)))
        ax.set(xlabel="layer")
        ax.set_title(title)
    axes[1].set_yscale("log")
    most = max(found["n_tokens"] for found in drawn.values())
    ticks = [v for v in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) if v <= most]
    axes[1].set_yticks(ticks, [str(v) for v in ticks])
    axes[1].minorticks_off()
    figure.legend(loc="lower center", ncols=4, bbox_to_anchor=(0.5, 0.0))
    figure.subplots_adjust(left=0.06, right=0.985, top=0.92, bottom=0.29, wspace=0.16)
    own = made.network.n_layers
    beyond = f"; the model ends at layer {own} (dotted), the same weights go on beyond" if last > own else ""
    return plot.captioned(
        figure,
        f"What gathers the tokens: runs in discrete time from the model's own embeddings with parts of every block "
        f"left out, mean over {max(1, made.sizes.n_texts // 2)} texts{beyond}. Norms that only set the length "
        "drop the centring, the bias and, after a part, the gain (before a part it counts to Q, K and V). Attention "
        "alone on the sphere is the theory's model.",
    )


# What several figures share.


def _places(made: NetworkStudy) -> tuple[list[tuple[int, int]], str]:
    """The heads to draw, and which they are in words."""
    all_of = [(l, h) for l in made.shown for h in range(made.network.n_heads)]
    one = len(made.network.blocks) == 1
    which = "all layers, which share them" if one else f"layers {', '.join(map(str, made.shown))}"
    if len(all_of) <= MOST_PANELS:
        return all_of, f"the heads of {which}"
    each = max(1, MOST_PANELS // len(made.shown))
    return [(l, h) for l, h in all_of if h < each], f"the first {each} heads of {which}"


def _panels(
    made: NetworkStudy,
    shown: list[tuple[int, int]],
    draw: Callable[[plot.Axes, xr.Dataset], str],
    legend: list[tuple[str, str]],
) -> plot.Figure:
    rows = -(-len(shown) // COLUMNS)
    height = 0.42 + 1.9 * rows
    figure = plot.page(height)
    for k, (l, h) in enumerate(shown):
        row, column = divmod(k, COLUMNS)
        bottom = (1.9 * (rows - 1 - row) + 0.4) / height
        ax = figure.add_axes((0.062 + 0.243 * column, bottom, 0.19, 0.19 * plot.PAGE / height))
        words = draw(ax, made.heads.sel(layer=l, head=h))
        name = f"head {h}" if len(made.network.blocks) == 1 else f"{l}.{h}"
        ax.set_title(f"{name}: {words}", pad=3, fontsize=7.5)
        ax.set_xlabel(r"Re $\lambda$" if row == rows - 1 else "")
        if column == 0:
            ax.set_ylabel(r"Im $\lambda$", labelpad=-3)
    look = {"marker": "o", "ls": "", "mec": "black", "mew": 0.8, "ms": 5}
    entries = [{"mfc": colour, "label": name, **look} for name, colour in legend]
    plot.key(figure, (0.5, 1 - 0.13 / height), entries, ncols=8, handletextpad=0.1)
    return figure


def _limits(ax: plot.Axes, r: float) -> None:
    unit = 10.0 ** math.floor(math.log10(r))
    t = max(m * unit for m in (1, 2, 5) if m * unit <= r)
    ax.set(xlim=(-r, r), ylim=(-r, r), xticks=[-t, 0, t], yticks=[-t, 0, t])


def number(z: complex) -> str:
    """A complex number in a few characters; ± for a pair."""
    sign = "\N{MINUS SIGN}" if z.real < 0 else ""
    return f"{sign}{abs(z.real):.2g}" + (f" ± {abs(z.imag):.2g}i" if abs(z.imag) > 1e-9 * abs(z) else "")


def _why(fails: str, overlap: float) -> str:
    """The first hypothesis that fails, in a few words."""
    first = fails.partition(". ")[0]
    if "is not real" in first:
        return r"$\lambda_1$ not real"
    if "phi_1, K" in first:
        return rf"$\langle Q\varphi_1,K\varphi_1\rangle$ = {overlap:.2g}".replace("-", "\N{MINUS SIGN}")
    return r"$\lambda_1 \leq 0$" if "lambda_1" in first and "is not positive" in first else r"$\lambda_1$ not alone"
