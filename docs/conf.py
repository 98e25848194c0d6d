"""Sphinx settings: furo, markdown by MyST, and docstrings as they stand in the source."""

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


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _plain)
