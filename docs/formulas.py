"""Formulas typed in plain letters, typeset in the pages that are full of them, as the report does: one source.

Pages are read in the repository too, so that their formulas stay as they are typed. On the site the words of a
paragraph go through `tokenflock.papers.report.mathematics`, and an indented line of a page is a formula of its own.
"""

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from tokenflock.papers.report.mathematics import displayed, typeset

PAGES = ("findings", "claims", "rows", "studies", "gallery/")
#: what stays as it is typed: code, headings (the table of contents repeats them), formulas that are typeset already
PLAIN = (nodes.literal, nodes.literal_block, nodes.title, nodes.raw, nodes.math, nodes.math_block)


def plain(node):
    """Whether a text stands in something that is no prose."""
    while node is not None:
        if isinstance(node, PLAIN):
            return True
        node = node.parent
    return False


class Formulas(SphinxPostTransform):
    """Texts with formulas become MathML, which browsers draw themselves."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs):
        """Called by Sphinx for each page."""
        if not self.env.docname.startswith(PAGES):
            return
        for text in [found for found in self.document.findall(nodes.Text) if not plain(found.parent)]:
            made = str(typeset(text.astext()))
            if "<math" in made:
                text.parent.replace(text, nodes.raw("", made, format="html"))
        for block in list(self.document.findall(nodes.literal_block)):
            if block.get("language", "none") in ("none", "default"):
                made = str(displayed(block.astext()))
                block.replace_self(nodes.raw("", f'<div class="formula">{made}</div>', format="html"))
