"""Figures 5 and 6 of paper A (arXiv:2411.04990): the eigenvalues of ALBERT's heads, before and after training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import plot
from tokenflock.geometry import Array
from tokenflock.networks.network import Network, read
from tokenflock.networks.place import find
from tokenflock.networks.spectra import eigenvalues, gaussian

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARAMETERS: dict[str, dict[str, Any]] = {
    "causal/5": {
        "dim": 2048,  # albert-xlarge-v2: hidden_size, num_attention_heads, initializer_range
        "n_heads": 16,
        "scale": 0.02,
        "sizes": (1, 2, 3, 4, 5, 6, 7),
        "samples": 50_000,
        "seed": 0,
    },
    "causal/6": {"weights": None},
}
QUICK: dict[str, dict[str, Any]] = {
    "causal/5": {"dim": 256, "n_heads": 8, "sizes": (1, 2, 3, 4, 5), "samples": 4_000},
    "causal/6": {},
}
BATCH = 5_000  # small matrices at a time
#: what the eigenvalue with the largest real part is -> its colour and its words
REGIMES = {
    "positive": (plot.COLOURS["blue"], "real and positive"),
    "complex": (plot.COLOURS["orange"], "complex, with positive real part"),
    "negative": (plot.COLOURS["red"], "negative real part"),
}


def figure_5(dim: int, n_heads: int, scale: float, sizes: tuple[int, ...], samples: int, seed: int) -> Figure:
    """Eigenvalues of W_V and of the heads at a Gaussian start, and how rare it is that none is on the right."""
    from matplotlib.figure import Figure

    model = gaussian(dim, n_heads, scale, seed)
    rank = dim // n_heads
    whole = np.linalg.eigvals(model.values.reshape(dim, dim))
    heads = np.array([eigenvalues(*pair) for pair in zip(model.outputs, model.values, strict=True)])
    top = heads.real.max(axis=1)
    radius = scale * np.sqrt(dim), scale**2 * np.sqrt(dim * rank)
    rare = all_negative(sizes, samples, seed)
    with plot.style():
        figure: Any = Figure(figsize=(plot.PAGE, 2.4), dpi=plot.DPI)
        discs = (
            (whole, radius[0], plot.COLOURS["purple"], f"$W_V$, {dim} \N{MULTIPLICATION SIGN} {dim}"),
            (heads, radius[1], plot.COLOURS["blue"], f"{n_heads} heads, rank {rank}"),
        )
        for k, (lam, r, colour, title) in enumerate(discs):
            ax = figure.add_axes((0.062 + 0.268 * k, 0.18, 0.205, 0.205 * plot.PAGE / 2.4))
            plot.eigenvalue_plane(ax, lam, colour=colour, size=2.0, top=False, disc=r)
            ax.set(xlim=(-1.18 * r, 1.18 * r), ylim=(-1.18 * r, 1.18 * r), title=f"{title}\nbroken: radius {r:.3g}")
            ax.set(xlabel=r"Re $\lambda$", xticks=_ticks(r), yticks=_ticks(r))
            ax.set_ylabel(r"Im $\lambda$", labelpad=-3)
        _tops(figure.add_axes((0.595, 0.18, 0.165, 0.615)), top, radius[1])
        _rarity(figure.add_axes((0.842, 0.18, 0.145, 0.615)), sizes, rare, samples)
        plot.letters(figure, {"a": (0.008, 0.925), "b": (0.282, 0.925), "c": (0.548, 0.925), "d": (0.785, 0.925)})
    figure.caption = _caption_5(dim, n_heads, scale, seed, whole, heads, radius, sizes, rare, samples)
    return figure


def all_negative(sizes: tuple[int, ...], samples: int, seed: int) -> Array:
    """Of so many Gaussian matrices of each size, the fraction whose eigenvalues all have a negative real part."""
    generator = np.random.default_rng([seed, 1])
    counts = np.zeros(len(sizes))
    for k, size in enumerate(sizes):
        for first in range(0, samples, BATCH):
            matrices = generator.standard_normal((min(BATCH, samples - first), size, size))
            counts[k] += (np.linalg.eigvals(matrices).real.max(axis=-1) < 0).sum()
    return counts / samples


def regime(lam: Array) -> str:
    """A name of REGIMES, from eigenvalues in the order of `spectra.eigenvalues`."""
    return "negative" if lam[0].real < 0 else "complex" if abs(lam[0].imag) > 1e-9 * abs(lam[0]) else "positive"


def figure_6(weights: str | Path | None) -> Figure:
    """The eigenvalues of every head of a trained ALBERT, one panel a head, coloured by what leads."""
    from matplotlib.figure import Figure

    model = trained(weights)
    layer = model.layer(0, feedforward=False)
    spectra = [eigenvalues(*pair) for pair in zip(layer.output, layer.value, strict=True)]
    columns = 4
    rows = -(-len(spectra) // columns)
    height = 0.42 + 1.9 * rows
    with plot.style():
        figure: Any = Figure(figsize=(plot.PAGE, height), dpi=plot.DPI)
        for h, lam in enumerate(spectra):
            row, column = divmod(h, columns)
            bottom = (1.9 * (rows - 1 - row) + 0.4) / height
            ax = figure.add_axes((0.062 + 0.243 * column, bottom, 0.19, 0.19 * plot.PAGE / height))
            r = 1.15 * np.abs(lam).max()
            ax.axvspan(-r, 0, color="#f3f4f6", lw=0, zorder=-1)
            plot.eigenvalue_plane(ax, lam, colour=REGIMES[regime(lam)][0], size=6.0)
            ax.set(xlim=(-r, r), ylim=(-r, r), xticks=_ticks(r / 1.15), yticks=_ticks(r / 1.15))
            ax.set_title(rf"head {h}:  $\lambda_{{\max}}$ = {_number(lam[0])}", pad=3)
            ax.set_xlabel(r"Re $\lambda$" if row == rows - 1 else "")
            if column == 0:
                ax.set_ylabel(r"Im $\lambda$", labelpad=-3)
        _regimes(figure, height)
    figure.caption = _caption_6(model, spectra)
    return figure


def trained(weights: str | Path | None) -> Network:
    """The ALBERT at a place, or where `find` looks."""
    return read(find(weights, "albert"), family="albert")


def digest(weights: str | Path | None) -> dict[str, str]:
    """What a figure of a network was drawn from."""
    model = trained(weights)
    return {model.name: model.digest}


INPUTS = {"causal/6": digest}


def _ticks(r: float) -> list[float]:
    """-t, 0 and t, with one digit."""
    unit = 10.0 ** np.floor(np.log10(r))
    t = max(m * unit for m in (1, 2, 5) if m * unit <= r * 1.05)
    return [-t, 0.0, t]


def _number(z: complex) -> str:
    sign = "\N{MINUS SIGN}" if z.real < 0 else ""
    beside = f" ± {abs(z.imag):.2f}i" if abs(z.imag) > 1e-9 * abs(z) else ""
    return f"{sign}{abs(z.real):.2f}{beside}"


def _tops(ax: Any, top: Array, radius: float) -> None:
    ax.axhline(0, color="black", lw=0.7)
    ax.axhline(radius, color="black", lw=0.8, ls=(0, (4, 2)))
    ax.vlines(np.arange(len(top)), 0, top, color=plot.COLOURS["blue"], lw=0.8)
    ax.plot(np.arange(len(top)), top, "o", color=plot.COLOURS["blue"], ms=3)
    ax.set(xlabel="head", ylim=(-0.25 * radius, 1.3 * radius), xlim=(-0.7, len(top) - 0.3))
    ax.set_xticks([0, len(top) - 1])
    ax.set_yticks([0, _ticks(radius)[2]])
    ax.set_title(r"largest Re $\lambda$" + f"\nleast: {top.min():.3g}")


def _rarity(ax: Any, sizes: tuple[int, ...], rare: Array, samples: int) -> None:
    seen = rare > 0
    error = np.sqrt(rare * (1 - rare) / samples)
    ax.errorbar(np.array(sizes)[seen], rare[seen], error[seen], fmt="o", color=plot.COLOURS["red"], ms=3, lw=0.8)
    ax.set(yscale="log", xlabel="size $N$", xlim=(0.4, max(sizes) + 0.6), xticks=[k for k in sizes if k % 2])
    ax.set_title("P(all Re $\\lambda$ < 0)\n$N \\times N$ Gaussian")
    low = int(np.floor(np.log10(rare[seen].min())))
    ax.set_ylim(10.0**low, 1.0)
    ax.set_yticks(10.0 ** np.arange(low, 1))
    ax.minorticks_off()


def _regimes(figure: Any, height: float) -> None:
    from matplotlib.lines import Line2D

    look: Any = {"marker": "o", "ls": "", "markeredgecolor": "black", "markeredgewidth": 0.8, "markersize": 5}
    handles = [Line2D([], [], markerfacecolor=colour, label=words, **look) for colour, words in REGIMES.values()]
    title = r"ringed: $\lambda_{\max}$, of largest real part:"
    handles.insert(0, Line2D([], [], ls="", label=title))
    where = (0.5, 1 - 0.13 / height)
    figure.legend(handles=handles, loc="center", bbox_to_anchor=where, ncols=4, handletextpad=0.1, columnspacing=1.2)


def _caption_5(
    dim: int,
    n_heads: int,
    scale: float,
    seed: int,
    whole: Any,
    heads: Any,
    radius: tuple[float, float],
    sizes: tuple[int, ...],
    rare: Array,
    samples: int,
) -> str:
    top, rank = heads.real.max(axis=1), dim // n_heads
    seen = np.flatnonzero(rare > 0)
    last = int(seen[-1])
    # Neighbours differ by a factor that grows with N: kept as it is at the end, it gives too large a number.
    digits = np.log10(rare[last]) + (rank - sizes[last]) * np.log10(rare[last] / rare[last - 1])
    listed = ", ".join(f"{p:.2g}" for p in rare[seen])
    return (
        "Figure 5 of arXiv:2411.04990. Eigenvalues of ALBERT's value matrices at the start of training: independent "
        f"N(0, {scale:g}^2) weights, hidden size {dim}, {n_heads} heads of {rank}. (a) W_V, all heads together. Its "
        f"eigenvalues fill the disc of radius {scale:g} sqrt({dim}) = {radius[0]:.3f} (broken); the largest modulus is "
        f"{np.abs(whole).max():.3f}. (b) V_h = W_O,h W_V,h of every head: the {rank} eigenvalues that its rank leaves, "
        f"from the {rank} x {rank} matrix W_V,h W_O,h; the other {dim - rank} are 0. Predicted radius "
        f"{scale:g}^2 sqrt({dim} x {rank}) = {radius[1]:.3f}, largest modulus {np.abs(heads).max():.3f}. "
        f"(c) The largest real part of each head, from {top.min():.3f} to {top.max():.3f}: none is negative. "
        f"(d) The fraction of N x N Gaussian matrices with no eigenvalue to the right of the imaginary axis, of "
        f"{samples} each: {listed} for N = {sizes[0]} to {sizes[last]}. It falls by factors from "
        f"{rare[0] / rare[1]:.2g} to {rare[last - 1] / rare[last]:.2g}; with the last one for all further steps it "
        f"would be 1e{digits:.0f} at N = {rank}. So a head whose largest real part is negative does not come from the "
        "start: it is learned. Ours, not the paper's: the split "
        f"into heads, panels (c) and (d), and seed {seed}."
    )


def _caption_6(model: Network, spectra: list[Array]) -> str:
    rank = model.head_dim
    by = {name: [h for h, lam in enumerate(spectra) if regime(lam) == name] for name in REGIMES}
    listed = {k: f"head{'s' * (len(h) != 1)} {' and '.join(map(str, h))}" if h else "no head" for k, h in by.items()}
    words = "; ".join(f"head {h} {_number(spectra[h][0])}" for name in ("negative", "complex") for h in by[name])
    its_own = "albert-xlarge-v2" in model.name
    which = "" if its_own else ", which is not the paper's albert-xlarge-v2"
    return (
        f"Figure 6 of arXiv:2411.04990, drawn for the trained ALBERT model in {model.name} (hidden size {model.dim}, "
        f"{model.n_heads} heads of {rank}; SHA-256 of its weights {model.digest[:16]}){which}. ALBERT uses one block "
        "in all layers, so that every head has one value matrix V_h = W_O,h W_V,h. Shown are the "
        f"{rank} eigenvalues that its rank leaves (the other {model.dim - rank} are 0), each panel to its own scale; "
        "the left half-plane is grey. "
        f"The eigenvalue with the largest real part (ringed) has a negative real part in {listed['negative']}, "
        f"is complex with a positive real part in {listed['complex']}, and is real and "
        f"positive in the others{f' ({words})' if words else ''}. The paper reports for albert-xlarge-v2 that it is "
        "real in most heads, and negative in heads 1 and 6; a Gaussian start practically never has that (Figure 5). "
        f"Ours, not the paper's: {'' if its_own else 'the model, '}numbering heads from 0, leaving out the eigenvalues "
        "0, and the colours."
    )
