"""Sphinx settings: furo, markdown by MyST, docstrings as they stand in the source, and the claims of the ledger."""

import re
from importlib.metadata import version as installed

project = "tokenflock"
author = "The tokenflock developers"
project_copyright = author
version = release = installed("tokenflock")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 3
smartquotes = False  # Q' is a transpose

html_theme = "furo"
html_title = f"tokenflock {release}"
html_show_copyright = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True


def _plain(app, what, name, obj, options, lines):
    """Docstrings are plain text with formulas, not reStructuredText: a first sentence, then text kept as it is."""
    if not lines:
        return
    head = re.sub(r"([\\*`|_])", r"\\\1", lines[0])
    rest = lines[1:]
    while rest and not rest[0].strip():
        rest.pop(0)
    lines[:] = [head, ""]
    if rest:
        lines.extend(["::", "", *("   " + line for line in rest), ""])


#: the first part of a claim's name -> the key of its paper in `tokenflock.citations`
PAPERS = {
    "causal": "A",
    "emergence": "B",
    "perspective": "C",
    "metastability": "D",
    "meanfield": "E",
    "normalization": "F",
}
HERE = "<!-- claims -->"  # where claims.md wants them


def _text(words):
    """Words with formulas as markdown that shows exactly them."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", words)


def ledger():
    """Every claim as markdown: what it states, needs, tries, and by which rule it is judged. No experiment is run."""
    from tokenflock import citations, claims

    lines, last = [], ""
    for name in claims.NAMES:
        paper = name.partition("/")[0]
        if paper != last:
            found = citations.REFERENCES.get(PAPERS.get(paper, ""))
            title = found.fields["title"].translate({ord(c): None for c in "{}"}) if found else paper
            where = f", [arXiv:{found.fields['eprint']}]({found.fields['url']})" if found else ""
            lines += [f"## {_text(paper)}", "", f"{_text(title)}{where}.", ""]
            last = paper
        claim = claims.find(name)
        lines += [f"### {_text(name)}", "", f"*{_text(claim.kind)}.* {_text(claim.statement)}", ""]
        parts = {
            "Needs": "; ".join(claim.hypotheses),
            "A trial": claim.trial,
            "Measured": claim.measured,
            "Rule": claim.rule,
            "Correction of the print": claim.erratum,
            "Known to fail": claim.known,
        }
        lines += [f"- **{word}.** {_text(said)}" for word, said in parts.items() if said]
        sizes = ", ".join(f"`{size}={value!r}`" for size, value in claim.sizes.items())
        lines += [f"- **Sizes.** {sizes}", "", "```text", f"tokenflock check {name}", "```", ""]
    return "\n".join(lines)


def _claims(app, docname, source):
    """Put the ledger into the page that asks for it."""
    if HERE in source[0]:
        source[0] = source[0].replace(HERE, ledger())


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _plain)
    app.connect("source-read", _claims)
