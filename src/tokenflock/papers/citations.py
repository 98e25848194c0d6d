"""What to cite for a run: BibTeX for this package, for the papers of its model and for its scheme."""

from __future__ import annotations

import math
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tokenflock.model import Model

_GLPR = "Geshkovski, Borjan and Letrouit, Cyril and Polyanskiy, Yury and Rigollet, Philippe"


class Reference(NamedTuple):
    """One BibTeX entry and when it applies."""

    key: str
    why: str
    kind: str
    fields: dict[str, str]

    def bibtex(self) -> str:
        """The entry under a comment that says why it is here."""
        width = max(len(name) for name in self.fields)
        lines = [f"  {name:<{width}} = {{{text}}}," for name, text in self.fields.items()]
        return "\n".join([f"% {self.why}", f"@{self.kind}{{{self.key},", *lines, "}"])


def _arxiv(key: str, why: str, eprint: str, /, *, kind: str = "misc", **fields: str) -> Reference:
    """A paper on arXiv, and where it was published, if it was."""
    found = {"eprint": eprint, "archiveprefix": "arXiv", "url": f"https://arxiv.org/abs/{eprint}"}
    return Reference(key, why, kind, fields | found)


_NEURIPS = {"kind": "inproceedings", "booktitle": "Advances in Neural Information Processing Systems"}
REFERENCES = {
    "tokenflock": Reference(
        "tokenflock",
        "the software",
        "software",
        {
            "title": "{tokenflock}: the laboratory for attention dynamics",
            "author": "{The tokenflock developers}",
            "version": version("tokenflock"),
        },
    ),
    "A": _arxiv(
        "karagodin2024clustering",
        "causal masks and frozen tokens",
        "2411.04990",
        title="Clustering in Causal Attention Masking",
        author="Karagodin, Nikita and Polyanskiy, Yury and Rigollet, Philippe",
        **_NEURIPS,
        volume="37",
        year="2024",
    ),
    "B": _arxiv(
        "geshkovski2023emergence",
        "attention in R^d and its rescaling z = exp(-tV) x",
        "2305.05465",
        title="The emergence of clusters in self-attention dynamics",
        author=_GLPR,
        **_NEURIPS,
        volume="36",
        year="2023",
    ),
    "C": _arxiv(
        "geshkovski2025mathematical",
        "full attention on the sphere, with softmax or with the count normaliser",
        "2312.10794",
        kind="article",
        title="A mathematical perspective on {Transformers}",
        author=_GLPR,
        journal="Bulletin of the American Mathematical Society",
        volume="62",
        number="3",
        pages="427--479",
        year="2025",
    ),
    "D": _arxiv(
        "geshkovski2024dynamic",
        "the normaliser scaled-count",
        "2410.06833",
        title="Dynamic metastability in the self-attention model",
        author="Geshkovski, Borjan and Koubbi, Hugo and Polyanskiy, Yury and Rigollet, Philippe",
        year="2024",
    ),
    "E": _arxiv(
        "rigollet2025meanfield",
        "noise",
        "2512.01868",
        title="The Mean-Field Dynamics of {Transformers}",
        author="Rigollet, Philippe",
        year="2025",
    ),
    "F": _arxiv(
        "karagodin2025normalization",
        "layer norms other than post",
        "2510.22026",
        title="Normalization in Attention Dynamics",
        author="Karagodin, Nikita and Ge, Shu and Polyanskiy, Yury and Rigollet, Philippe",
        **_NEURIPS,
        year="2025",
    ),
    "tsit5": Reference(
        "tsitouras2011runge",
        "the scheme tsit5",
        "article",
        {
            "title": "Runge--Kutta pairs of order 5(4) satisfying only the first column simplifying assumption",
            "author": "Tsitouras, Ch.",
            "journal": "Computers \\& Mathematics with Applications",
            "volume": "62",
            "number": "2",
            "pages": "770--775",
            "year": "2011",
            "doi": "10.1016/j.camwa.2011.06.002",
        },
    ),
}


def used(model: Model, scheme: str) -> list[str]:
    """The names in REFERENCES of what a run of this model with this scheme rests on."""
    looks_ahead = model.mask == "full" or not getattr(model.mask, "causal", True)
    sphere = model.space == "sphere"
    adaptive = scheme == "tsit5" or (scheme == "auto" and not model.noisy and math.isfinite(model.beta))
    applies = {
        "tokenflock": True,
        "A": not looks_ahead or model.frozen is not None,
        "B": not sphere,
        "C": sphere and (looks_ahead or model.normaliser == "count"),
        "D": model.normaliser == "scaled-count",
        "E": model.noise > 0,
        "F": sphere and model.norm.kind != "post",
        "tsit5": adaptive,
    }
    return [name for name, holds in applies.items() if holds]


def used_by(path: Path) -> list[str]:
    """The same for a saved run, or for a run.toml."""
    if path.suffix == ".toml":
        from tokenflock.spec import read

        model, _, options = read(path)
        return used(model, options.get("scheme", "auto"))
    from tokenflock.trajectories import load, model_of

    run = load(path)
    return used(model_of(run), run.attrs["scheme"])


def bibtex(names: list[str] | None = None) -> str:
    """BibTeX of these references, of all if none are named."""
    return "\n\n".join(REFERENCES[name].bibtex() for name in (REFERENCES if names is None else names))
