"""Spectra of trained value matrices, paper B (arXiv:2305.05465): which heads of an ALBERT are good triples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import triple
from tokenflock.figures import emergence_draw as draw
from tokenflock.geometry import Array
from tokenflock.networks import albert, tensors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARAMETERS: dict[str, dict[str, Any]] = {"emergence/spectra": {"weights": None}}
QUICK: dict[str, dict[str, Any]] = {"emergence/spectra": {}}
#: what the test of Definition 4.1 comes to -> its colour and its words
VERDICTS = {
    "good": (plot.COLOURS["blue"], "good triple"),
    "spectral": (plot.COLOURS["sky"], "spectral part holds"),
    "complex": (plot.COLOURS["orange"], r"$\lambda_1$ not real"),
    "negative": (plot.COLOURS["red"], r"$\lambda_1 \leq 0$"),
    "tied": (plot.COLOURS["green"], r"$\lambda_1$ not alone"),
    "overlap": (plot.COLOURS["purple"], r"$\langle Q\varphi_1, K\varphi_1 \rangle \leq 0$"),
}


@dataclass(frozen=True)
class Head:
    """One head: the eigenvalues that its rank leaves, and what Definition 4.1 says of it."""

    eigenvalues: Array
    judged: triple.Triple
    overlap: float  # <Q phi_1, K phi_1> / sqrt(k), nan without phi_1
    whole: bool = True  # False: the file has no Q and K, and only the spectral part is judged

    @property
    def verdict(self) -> str:
        """A name of VERDICTS: the first hypothesis that fails."""
        first = self.judged.fails[0] if self.judged.fails else ""
        for word, name in (("not real", "complex"), ("is not positive", "negative")):
            if word in first and "lambda_1 =" in first:
                return name
        if not first and not self.whole:
            return "spectral"
        return "good" if not first else "overlap" if "phi_1, K" in first else "tied"


def queries_and_keys(weights: str | Path) -> tuple[Array, Array] | None:
    """W_Q,h and W_K,h of every head, each (heads, k, d), of the block that `albert.read` takes; None without them."""
    _, config, data, file = albert._open(albert.find(weights))
    found = tensors.read(data, file)
    end = ".attention.query.weight"
    blocks = sorted(name.removesuffix(end) for name in found if name.endswith(end))
    if not blocks or f"{blocks[0]}.attention.key.weight" not in found:
        return None
    heads = config["num_attention_heads"]
    both = (np.array(found[f"{blocks[0]}.attention.{kind}.weight"], dtype=np.float64) for kind in ("query", "key"))
    query, key = (w.reshape(heads, -1, w.shape[1]) for w in both)
    return query, key


def judge(weights: str | Path | None) -> tuple[albert.Albert, list[Head]]:
    """The model, and each of its heads under Definition 4.1.

    V_h = W_O W_V is judged where it acts: phi = W_O u for an eigenvector u of the k x k matrix W_V W_O, and
    <Q phi, K phi> = <Q W_O u, K W_O u>. The zeros that are left out decide nothing unless all of V_h is 0.
    """
    place = albert.find(weights)
    model = albert.read(place)
    both = queries_and_keys(place)
    heads = []
    for h, (output, value) in enumerate(zip(model.outputs, model.values, strict=True)):
        # Without Q and K the identity stands for them: its overlap is positive, and the spectral part is left.
        Q, K = (None, None) if both is None else (both[0][h] @ output, both[1][h] @ output)
        judged = triple.good(Q, K, value @ output)
        length = np.nan if judged.phi_1 is None or both is None else np.linalg.norm(output @ judged.phi_1)
        overlap = judged.overlap / length**2 / np.sqrt(len(value))
        heads.append(Head(albert.eigenvalues(output, value), judged, float(overlap), both is not None))
    return model, heads


def figure_spectra(weights: str | Path | None) -> Figure:
    """A panel a head: its eigenvalues, the circle of the largest modulus, and what the test says."""
    from matplotlib.figure import Figure

    model, heads = judge(weights)
    columns = 4
    rows = -(-len(heads) // columns)
    height = 0.33 + 1.95 * rows
    with plot.style():
        figure: Any = Figure(figsize=(plot.PAGE, height), dpi=plot.DPI)
        for h, head in enumerate(heads):
            row, column = divmod(h, columns)
            bottom = (1.95 * (rows - 1 - row) + 0.68) / height
            ax = figure.add_axes((0.06 + 0.2435 * column, bottom, 0.185, 0.185 * plot.PAGE / height))
            _panel(ax, head)
            ax.set_title(f"head {h}: {_words(head)}", pad=3, fontsize=7.5)
            ax.set_xlabel(r"Re $\lambda$", labelpad=1)
            if column == 0:
                ax.set_ylabel(r"Im $\lambda$", labelpad=-3)
        _legend(figure, height, heads)
    figure.caption = _caption(model, heads)
    return figure


def _panel(ax: Any, head: Head) -> None:
    lam = head.eigenvalues
    r = 1.15 * float(np.abs(lam).max())
    colour = VERDICTS[head.verdict][0]
    plot.eigenvalue_plane(ax, lam, colour=colour, size=6.0, top=False, disc=r / 1.15)
    first = lam[np.abs(lam) >= np.abs(lam).max() * (1 - 1e-9)]
    ax.scatter(first.real, first.imag, s=30, facecolors=colour, edgecolors="black", linewidths=0.8, zorder=5)
    unit = 10.0 ** np.floor(np.log10(r))
    tick = max(m * unit for m in (1, 2, 5) if m * unit <= r)
    ax.set(xlim=(-r, r), ylim=(-r, r), xticks=[-tick, 0, tick], yticks=[-tick, 0, tick])


def _words(head: Head) -> str:
    """The verdict with the number that decides it."""
    lam = head.judged.lambda_1
    number = f"{lam.real:.3f}" if abs(lam.imag) < 1e-9 * abs(lam) else f"{lam.real:.3f} ± {abs(lam.imag):.3f}i"
    sign = {"good": "good, ", "overlap": "not good, "}.get(head.verdict)
    if sign is not None:
        return f"{sign}{head.overlap:.3f}".replace("-", draw.MINUS)
    return rf"$\lambda_1$ = {number}".replace("-", draw.MINUS)


def _legend(figure: Any, height: float, heads: list[Head]) -> None:
    from matplotlib.lines import Line2D

    look: Any = {"marker": "o", "ls": "", "markeredgecolor": "black", "markeredgewidth": 0.8, "markersize": 5}
    seen = {head.verdict for head in heads}
    handles = [Line2D([], [], markerfacecolor=c, label=w, **look) for v, (c, w) in VERDICTS.items() if v in seen]
    handles.insert(0, Line2D([], [], ls="", label=r"ringed: $\lambda_1$, of largest modulus (circle):"))
    where = (0.5, 0.13 / height)
    figure.legend(handles=handles, loc="center", bbox_to_anchor=where, ncols=5, handletextpad=0.1, columnspacing=1.2)


def _caption(model: albert.Albert, heads: list[Head]) -> str:
    rank = model.values.shape[1]
    good = [h for h, head in enumerate(heads) if head.judged.holds and head.whole]
    words = [f"Head {h}: {_failure(head)}" for h, head in enumerate(heads) if head.judged.fails]
    passed = "; ".join(f"head {h} ({heads[h].overlap:.4f})" for h in good) or "none"
    its_own = "albert-xlarge-v2" in model.name
    half = [h for h, head in enumerate(heads) if head.verdict == "spectral"]
    lacking = f" The file holds no Q and K: only the spectral part is judged, and it holds in {len(half)} heads."
    lacking = "" if heads[0].whole else lacking
    which = "" if its_own else ", which is not the paper's albert-xlarge-v2"
    return (
        f"Spectra of value matrices, {draw.PAPER}, for the trained ALBERT model in {model.name} (hidden size "
        f"{model.dim}, {model.n_heads} heads of {rank}; SHA-256 of its weights {model.digest[:16]}){which}. V_h = "
        f"W_O,h W_V,h has the {rank} eigenvalues shown, each panel to its own scale, and {model.dim - rank} that are "
        f"0. Definition 4.1 asks that the eigenvalue lambda_1 of largest modulus (on the broken circle) is real, "
        f"positive and simple, and that <Q phi_1, K phi_1> > 0; here it is divided by sqrt({rank}), as in the model, "
        f"and stands above a panel where it decides. {len(good)} of {len(heads)} heads are good triples: "
        f"{passed}.{lacking} {' '.join(words)} The paper reports for albert-xlarge-v2 that some heads are good, among "
        f"them 5 and 14 with 1.3060 and 0.6719. Ours, not the paper's: {'' if its_own else 'the model, '}numbering "
        f"heads from 0, leaving out the eigenvalues 0, the test of every head, and colours. Biases and layer norms are "
        f"left out of the test."
    )


def _failure(head: Head) -> str:
    """The first hypothesis that fails, as the test says it; an overlap in the units of the caption."""
    if head.verdict == "overlap":
        return f"<Q phi_1, K phi_1> = {head.overlap:.6g} is not positive."
    return head.judged.fails[0].removeprefix("Def 4.1: ")


def _weights(weights: str | Path | None) -> dict[str, str]:
    model = albert.read(albert.find(weights))
    return {model.name: model.digest}


INPUTS = {"emergence/spectra": _weights}
