"""Spectra of trained value matrices, paper B (arXiv:2305.05465): which heads of an ALBERT are good triples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tokenflock import plot
from tokenflock.analysis import triple
from tokenflock.geometry import Array
from tokenflock.networks import spectra
from tokenflock.networks.network import Network
from tokenflock.papers.figures import emergence_draw as draw
from tokenflock.papers.figures.causal_spectra import Trained, head_panels, ringed

PARAMETERS = {"emergence/spectra": Trained()}
QUICK: dict[str, dict[str, str]] = {"emergence/spectra": {}}
INPUTS = {"emergence/spectra": Trained.digest}
#: what the test of Definition 4.1 comes to -> its colour and its words
VERDICTS = {
    "good": (plot.COLOURS["blue"], "good triple"),
    "complex": (plot.COLOURS["orange"], r"$\lambda_1$ not real"),
    "negative": (plot.COLOURS["red"], r"$\lambda_1 \leq 0$"),
    "tied": (plot.COLOURS["green"], r"$\lambda_1$ not alone"),
    "overlap": (plot.COLOURS["purple"], r"$\langle Q\varphi_1, K\varphi_1 \rangle \leq 0$"),
}


@dataclass(frozen=True)
class JudgedHead:
    """One head: the eigenvalues that its rank leaves, and what Definition 4.1 says of it."""

    eigenvalues: Array
    judged: triple.Triple
    overlap: float  # <Q phi_1, K phi_1> / sqrt(k), nan without phi_1

    @property
    def verdict(self) -> str:
        """A name of VERDICTS: the first hypothesis that fails."""
        first = self.judged.fails[0] if self.judged.fails else ""
        for word, name in (("not real", "complex"), ("is not positive", "negative")):
            if word in first and "lambda_1 =" in first:
                return name
        return "good" if not first else "overlap" if "phi_1, K" in first else "tied"


def judge(p: Trained) -> tuple[Network, list[JudgedHead]]:
    """The model, and each of its heads under Definition 4.1."""
    model = p.network()
    layer = model.layer(0, feedforward=False)
    heads = []
    for h in range(model.n_heads):
        judged = spectra.triple(layer, h)
        lam = spectra.eigenvalues(layer.output[h], layer.value[h])
        heads.append(JudgedHead(lam, judged, layer.scale * judged.overlap))
    return model, heads


def figure_spectra(p: Trained) -> plot.Figure:
    """A panel a head: its eigenvalues, the circle of the largest modulus, and what the test says."""
    model, heads = judge(p)
    figure, panels = head_panels(len(heads), 0.33, 1.95, 0.68, (0.06, 0.2435, 0.185))
    for h, (ax, head) in enumerate(zip(panels, heads, strict=True)):
        _panel(ax, head)
        ax.set_title(f"head {h}: {_words(head)}", pad=3, fontsize=7.5)
        ax.set_xlabel(r"Re $\lambda$", labelpad=1)
    seen = {head.verdict for head in heads}
    title = r"ringed: $\lambda_1$, of largest modulus (circle):"
    kinds = [both for verdict, both in VERDICTS.items() if verdict in seen]
    ringed(figure, 0.13 / figure.get_figheight(), title, kinds, 5)
    return plot.captioned(figure, _caption(model, heads))


def _panel(ax: plot.Axes, head: JudgedHead) -> None:
    lam = head.eigenvalues
    r = 1.15 * float(np.abs(lam).max())
    colour = VERDICTS[head.verdict][0]
    plot.eigenvalue_plane(ax, lam, colour=colour, size=6.0, top=False, disc=r / 1.15)
    first = lam[np.abs(lam) >= np.abs(lam).max() * (1 - 1e-9)]
    ax.scatter(first.real, first.imag, s=30, facecolors=colour, edgecolors="black", linewidths=0.8, zorder=5)
    unit = 10.0 ** np.floor(np.log10(r))
    tick = max(m * unit for m in (1, 2, 5) if m * unit <= r)
    ax.set(xlim=(-r, r), ylim=(-r, r), xticks=[-tick, 0, tick], yticks=[-tick, 0, tick])


def _words(head: JudgedHead) -> str:
    """The verdict with the number that decides it."""
    lam = head.judged.lambda_1
    number = f"{lam.real:.3f}" if abs(lam.imag) < 1e-9 * abs(lam) else f"{lam.real:.3f} ± {abs(lam.imag):.3f}i"
    sign = {"good": "good, ", "overlap": "not good, "}.get(head.verdict)
    if sign is not None:
        return f"{sign}{head.overlap:.3f}".replace("-", draw.MINUS)
    return rf"$\lambda_1$ = {number}".replace("-", draw.MINUS)


def _caption(model: Network, heads: list[JudgedHead]) -> str:
    rank = model.head_dim
    good = [h for h, head in enumerate(heads) if head.judged.holds]
    words = [f"JudgedHead {h}: {_failure(head)}" for h, head in enumerate(heads) if head.judged.fails]
    passed = "; ".join(f"head {h} ({heads[h].overlap:.4f})" for h in good) or "none"
    its_own = "albert-xlarge-v2" in model.name
    which = "" if its_own else ", which is not the paper's albert-xlarge-v2"
    return (
        f"Spectra of value matrices, {draw.PAPER}, for the trained ALBERT model in {model.name} (hidden size "
        f"{model.dim}, {model.n_heads} heads of {rank}; SHA-256 of its weights {model.digest[:16]}){which}. V_h = "
        f"W_O,h W_V,h has the {rank} eigenvalues shown, each panel to its own scale, and {model.dim - rank} that are "
        "0. Definition 4.1 asks that the eigenvalue lambda_1 of largest modulus (on the broken circle) is real, "
        f"positive and simple, and that <Q phi_1, K phi_1> > 0; here it is divided by sqrt({rank}), as in the model, "
        f"and stands above a panel where it decides. {len(good)} of {len(heads)} heads are good triples: {passed}. "
        f"{' '.join(words)} The paper reports for albert-xlarge-v2 that some heads are good, among them 5 and 14 with "
        f"1.3060 and 0.6719. Ours, not the paper's: {'' if its_own else 'the model, '}numbering heads from 0, leaving "
        "out the eigenvalues 0, the test of every head, and colours. Biases and layer norms are left out of the test."
    )


def _failure(head: JudgedHead) -> str:
    """The first hypothesis that fails, as the test says it; an overlap in the units of the caption."""
    if head.verdict == "overlap":
        return f"<Q phi_1, K phi_1> = {head.overlap:.6g} is not positive."
    return head.judged.fails[0].removeprefix("Def 4.1: ")
