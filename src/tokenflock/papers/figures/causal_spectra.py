"""Figures 5 and 6 of paper A (arXiv:2411.04990): the eigenvalues of ALBERT's heads, before and after training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock import plot
from tokenflock.geometry import Array
from tokenflock.networks.network import Network, read
from tokenflock.networks.place import find
from tokenflock.networks.spectra import eigenvalues, gaussian


@dataclass(frozen=True)
class Untrained:
    """What decides how Figure 5 looks."""

    dim: int = 2048  # albert-xlarge-v2: hidden_size, num_attention_heads, initializer_range
    n_heads: int = 16
    scale: float = 0.02
    sizes: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    samples: int = 50_000
    seed: int = 0


@dataclass(frozen=True)
class Trained:
    """Where the weights of a trained ALBERT are; None: where `networks.place` looks."""

    weights: str | Path | None = None

    def network(self) -> Network:
        """The ALBERT at that place."""
        return read(find(self.weights, "albert"), family="albert")

    def digest(self) -> dict[str, str]:
        """What a figure of the network was drawn from."""
        model = self.network()
        return {model.name: model.digest}


PARAMETERS = {"causal/5": Untrained(), "causal/6": Trained()}
QUICK: dict[str, dict[str, Any]] = {
    "causal/5": {"dim": 256, "n_heads": 8, "sizes": (1, 2, 3, 4, 5), "samples": 4_000},
    "causal/6": {},
}
INPUTS = {"causal/6": Trained.digest}
Spectrum = NDArray[np.complex128]
BATCH = 5_000  # small matrices at a time
#: what the eigenvalue with the largest real part is -> its colour and its words
REGIMES = {
    "positive": (plot.COLOURS["blue"], "real and positive"),
    "complex": (plot.COLOURS["orange"], "complex, with positive real part"),
    "negative": (plot.COLOURS["red"], "negative real part"),
}


def figure_5(p: Untrained) -> plot.Figure:
    """Eigenvalues of W_V and of the heads at a Gaussian start, and how rare it is that none is on the right."""
    model = gaussian(p.dim, p.n_heads, p.scale, p.seed)
    rank = p.dim // p.n_heads
    whole = np.linalg.eigvals(model.values.reshape(p.dim, p.dim)).astype(complex)
    heads = np.array([eigenvalues(*pair) for pair in zip(model.outputs, model.values, strict=True)])
    top = heads.real.max(axis=1)
    radius = p.scale * np.sqrt(p.dim), p.scale**2 * np.sqrt(p.dim * rank)
    rare = all_negative(p.sizes, p.samples, p.seed)
    figure = plot.page(2.4)
    discs = (
        (whole, radius[0], plot.COLOURS["purple"], f"$W_V$, {p.dim} \N{MULTIPLICATION SIGN} {p.dim}"),
        (heads, radius[1], plot.COLOURS["blue"], f"{p.n_heads} heads, rank {rank}"),
    )
    for k, (lam, r, colour, title) in enumerate(discs):
        ax = plot.square(figure, 0.062 + 0.268 * k, 0.18, 0.205)
        plot.eigenvalue_plane(ax, lam, colour=colour, size=2.0, top=False, disc=r)
        ax.set(xlim=(-1.18 * r, 1.18 * r), ylim=(-1.18 * r, 1.18 * r), title=f"{title}\nbroken: radius {r:.3g}")
        ax.set(xlabel=r"Re $\lambda$", xticks=_ticks(r), yticks=_ticks(r))
        ax.set_ylabel(r"Im $\lambda$", labelpad=-3)
    _tops(figure.add_axes((0.595, 0.18, 0.165, 0.615)), top, radius[1])
    _rarity(figure.add_axes((0.842, 0.18, 0.145, 0.615)), p.sizes, rare, p.samples)
    plot.letters(figure, {"a": (0.008, 0.925), "b": (0.282, 0.925), "c": (0.548, 0.925), "d": (0.785, 0.925)})
    return plot.captioned(figure, _caption_5(p, whole, heads, radius, rare))


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


def figure_6(p: Trained) -> plot.Figure:
    """The eigenvalues of every head of a trained ALBERT, one panel a head, coloured by what leads."""
    model = p.network()
    layer = model.layer(0, feedforward=False)
    spectra = [eigenvalues(*pair) for pair in zip(layer.output, layer.value, strict=True)]
    figure, panels = head_panels(len(spectra), 0.42, 1.9, 0.4, (0.062, 0.243, 0.19))
    for h, (ax, lam) in enumerate(zip(panels, spectra, strict=True)):
        r = 1.15 * np.abs(lam).max()
        ax.axvspan(-r, 0, color="#f3f4f6", lw=0, zorder=-1)
        plot.eigenvalue_plane(ax, lam, colour=REGIMES[regime(lam)][0], size=6.0)
        ax.set(xlim=(-r, r), ylim=(-r, r), xticks=_ticks(r / 1.15), yticks=_ticks(r / 1.15))
        ax.set_title(rf"head {h}:  $\lambda_{{\max}}$ = {_number(lam[0])}", pad=3)
        ax.set_xlabel(r"Re $\lambda$" if h // 4 == (len(spectra) - 1) // 4 else "")
    title = r"ringed: $\lambda_{\max}$, of largest real part:"
    ringed(figure, 1 - 0.13 / figure.get_figheight(), title, REGIMES.values(), 4)
    return plot.captioned(figure, _caption_6(model, spectra))


def _ticks(r: float) -> list[float]:
    """-t, 0 and t, with one digit."""
    unit = 10.0 ** np.floor(np.log10(r))
    t = max(m * unit for m in (1, 2, 5) if m * unit <= r * 1.05)
    return [-t, 0.0, t]


def _number(z: complex) -> str:
    sign = "\N{MINUS SIGN}" if z.real < 0 else ""
    beside = f" ± {abs(z.imag):.2f}i" if abs(z.imag) > 1e-9 * abs(z) else ""
    return f"{sign}{abs(z.real):.2f}{beside}"


def _tops(ax: plot.Axes, top: Array, radius: float) -> None:
    ax.axhline(0, color="black", lw=0.7)
    ax.axhline(radius, color="black", lw=0.8, ls=(0, (4, 2)))
    ax.vlines(np.arange(len(top)), 0, top, color=plot.COLOURS["blue"], lw=0.8)
    ax.plot(np.arange(len(top)), top, "o", color=plot.COLOURS["blue"], ms=3)
    ax.set(xlabel="head", ylim=(-0.25 * radius, 1.3 * radius), xlim=(-0.7, len(top) - 0.3))
    ax.set_xticks([0, len(top) - 1])
    ax.set_yticks([0, _ticks(radius)[2]])
    ax.set_title(r"largest Re $\lambda$" + f"\nleast: {top.min():.3g}")


def _rarity(ax: plot.Axes, sizes: tuple[int, ...], rare: Array, samples: int) -> None:
    seen = rare > 0
    error = np.sqrt(rare * (1 - rare) / samples)
    ax.errorbar(np.array(sizes)[seen], rare[seen], error[seen], fmt="o", color=plot.COLOURS["red"], ms=3, lw=0.8)
    ax.set(yscale="log", xlabel="size $N$", xlim=(0.4, max(sizes) + 0.6), xticks=[k for k in sizes if k % 2])
    ax.set_title("P(all Re $\\lambda$ < 0)\n$N \\times N$ Gaussian")
    low = int(np.floor(np.log10(rare[seen].min())))
    ax.set_ylim(10.0**low, 1.0)
    ax.set_yticks(10.0 ** np.arange(low, 1))
    ax.minorticks_off()


def head_panels(
    count: int, extra: float, high: float, low: float, across: tuple[float, float, float]
) -> tuple[plot.Figure, list[plot.Axes]]:
    """A square panel a head, four side by side, with names of the y-axis at the left.

    In inches: rows are `high`, panels stand at `low` in them, `extra` is beyond all rows. across: left end of the first
    panel, the step to the next, and the width, as parts of the page.
    """
    rows = -(-count // 4)
    height = extra + high * rows
    figure, (left, step, width) = plot.page(height), across
    panels = []
    for row, column in (divmod(h, 4) for h in range(count)):
        ax = plot.square(figure, left + step * column, (high * (rows - 1 - row) + low) / height, width)
        if column == 0:
            ax.set_ylabel(r"Im $\lambda$", labelpad=-3)
        panels.append(ax)
    return figure, panels


def ringed(figure: plot.Figure, up: float, title: str, kinds: Iterable[tuple[str, str]], columns: int) -> None:
    """The legend of ringed eigenvalues: what is ringed, and the words of every colour."""
    look = {"marker": "o", "ls": "", "mec": "black", "mew": 0.8, "ms": 5}
    entries: list[plot.Entry] = [{"ls": "", "label": title}]
    entries += [{"mfc": colour, "label": words, **look} for colour, words in kinds]
    plot.key(figure, (0.5, up), entries, ncols=columns, handletextpad=0.1, columnspacing=1.2)


def _caption_5(p: Untrained, whole: Spectrum, heads: Spectrum, radius: tuple[float, float], rare: Array) -> str:
    top, rank = heads.real.max(axis=1), p.dim // p.n_heads
    seen = np.flatnonzero(rare > 0)
    last = int(seen[-1])
    # Neighbours differ by a factor that grows with N: kept as it is at the end, it gives too large a number.
    digits = np.log10(rare[last]) + (rank - p.sizes[last]) * np.log10(rare[last] / rare[last - 1])
    listed = ", ".join(f"{p:.2g}" for p in rare[seen])
    return (
        "Figure 5 of arXiv:2411.04990. Eigenvalues of ALBERT's value matrices at the start of training: independent "
        f"N(0, {p.scale:g}^2) weights, hidden size {p.dim}, {p.n_heads} heads of {rank}. (a) W_V, all heads together. "
        f"Its eigenvalues fill the disc of radius {p.scale:g} sqrt({p.dim}) = {radius[0]:.3f} (broken); the largest "
        f"modulus is {np.abs(whole).max():.3f}. (b) V_h = W_O,h W_V,h of every head: the {rank} eigenvalues that its "
        f"rank leaves, from the {rank} x {rank} matrix W_V,h W_O,h; the other {p.dim - rank} are 0. Predicted radius "
        f"{p.scale:g}^2 sqrt({p.dim} x {rank}) = {radius[1]:.3f}, largest modulus {np.abs(heads).max():.3f}. (c) The "
        f"largest real part of each head, from {top.min():.3f} to {top.max():.3f}: none is negative. (d) The fraction "
        f"of N x N Gaussian matrices with no eigenvalue to the right of the imaginary axis, of {p.samples} each: "
        f"{listed} for N = {p.sizes[0]} to {p.sizes[last]}. It falls by factors from {rare[0] / rare[1]:.2g} to "
        f"{rare[last - 1] / rare[last]:.2g}; with the last one for all further steps it would be 1e{digits:.0f} at N = "
        f"{rank}. So a head whose largest real part is negative does not come from the start: it is learned. Ours, not "
        f"the paper's: the split into heads, panels (c) and (d), and seed {p.seed}."
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
        f"in all layers, so that every head has one value matrix V_h = W_O,h W_V,h. Shown are the {rank} eigenvalues "
        f"that its rank leaves (the other {model.dim - rank} are 0), each panel to its own scale; the left half-plane "
        "is grey. The eigenvalue with the largest real part (ringed) has a negative real part in "
        f"{listed['negative']}, is complex with a positive real part in {listed['complex']}, and is real and positive "
        f"in the others{f' ({words})' if words else ''}. The paper reports for albert-xlarge-v2 that it is real in "
        "most heads, and negative in heads 1 and 6; a Gaussian start practically never has that (Figure 5). Ours, not "
        f"the paper's: {'' if its_own else 'the model, '}numbering heads from 0, leaving out the eigenvalues 0, and "
        "the colours."
    )
