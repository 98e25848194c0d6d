"""Sphinx settings: furo, markdown and notebooks by MyST, docstrings as they stand in the source, generated pages."""

import os
import re
import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import books
import entrance
import entries
import gallery
import host
import pieces
import topics
from folding import FoldingSearch
from formulas import Formulas
from generated import ASKED, fill

from tokenflock.door import MARK

ENTRIES = entries.Shown()

project = "tokenflock"
author = "The tokenflock developers"
project_copyright = author
version = release = installed("tokenflock")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["_build", "jupyter_execute"]  # the second is where a build leaves the notebooks it ran
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
highlight_language = "none"  # what follows a docstring's first sentence is no code
smartquotes = False  # Q' is a transpose
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parent / "_build" / ".cells")
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_code_prompt_show = "Show the solution"  # of a lecture: nothing else is folded
nb_code_prompt_hide = "Hide the solution"

html_theme = "furo"
html_title = f"tokenflock {release}"
html_show_copyright = False
html_show_sourcelink = False
html_static_path = ["style.css"]
html_logo = html_favicon = "logo.svg"
html_baseurl = host.SITE
templates_path = ["templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "repository.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_css_files = ["style.css"]
html_extra_path = ["made/site"]
html_math_renderer = "mathml"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False  # torch has its own pages


def _shown(words):
    """Plain words for reStructuredText: what stands in backquotes is code, everything else shows as it is."""
    parts = words.split("`")
    if len(parts) % 2 == 0:
        return re.sub(r"([\\*`|_])", r"\\\1", words)
    told = [f"``{part}``" if k % 2 else re.sub(r"([\\*|_])", r"\\\1", part) for k, part in enumerate(parts)]
    return "\\ ".join(told)  # an escaped blank: code may touch a letter, as in `x`s


def _block(lines):
    """A block of a docstring that is a heading in stars, a list, or words that name code; nothing for any other."""
    if heading := re.match(r"\*\*(.+?)\*\*", lines[0]):
        return [f"**{heading[1]}**{_shown(lines[0][heading.end() :])}", ""]
    if lines[0].startswith("- "):
        items = re.split(r"\n- ", "\n".join(lines).removeprefix("- "))
        return [*("- " + _shown(" ".join(item.split())) for item in items), ""]
    if "`" in "".join(lines) and not any(line.startswith(" ") for line in lines):
        return [_shown(" ".join(lines)), ""]
    return []


def _kept(lines):
    """Text as it is."""
    return ["::", "", *("   " + line for line in lines), ""] if lines else []


def _plain(app, what, name, obj, options, lines):
    """Docstrings are plain text with formulas, not reStructuredText: a first sentence, then its blocks."""
    if MARK in lines:  # the reference, which `help` shows in the same way, stands below the docstring
        del lines[lines.index(MARK) :]
    if not lines:
        return
    head, rest = _shown(lines[0]), "\n".join(lines[1:]).strip("\n")
    lines[:], kept = [head, ""], []
    for block in re.split(r"\n\s*\n", rest) if rest else []:
        if told := _block(block.splitlines()):
            lines.extend([*_kept(kept), *told])
            kept = []
        else:  # what follows each other stays in one box
            kept += ([""] if kept else []) + block.splitlines()
    lines.extend(_kept(kept))
    words, example = ENTRIES.of(obj)
    if words:
        lines.extend([_shown(" ".join(words)), ""])
        lines.extend([".. code-block:: pycon", "", *("   " + line for line in example), ""])


def _pages(app, docname, source):
    """Put in what a page asks for."""
    source[0] = fill(source[0])


def _made(app, env, added, changed, removed):
    """Pages that come from files which Sphinx does not watch: docs/reference, out/, benchmarks/results."""
    asking = [
        page.stem for page in Path(__file__).parent.glob("*.md") if ASKED.search(page.read_text(encoding="utf-8"))
    ]
    return {*asking, *(page for page in env.found_docs if page.startswith(("topics/", "gallery/")))}


def _formula(display):
    """Formulas become MathML, which browsers draw themselves: nothing is loaded from anywhere."""
    from docutils.nodes import SkipNode
    from latex2mathml.converter import convert

    def visit(translator, node):
        formula = convert(node.astext(), display=display)
        # A wide formula scrolls on a phone, the page does not.
        translator.body.append(f'<div class="formula">{formula}</div>' if display == "block" else formula)
        raise SkipNode

    return visit, None


def _notebooks(app, config):
    """The notebooks of examples/, to be run where the weights are."""
    os.environ.setdefault("TOKENFLOCK_WEIGHTS", str(pieces.ROOT / "weights"))
    books.put()


def _written(app, config):
    """A page for every topic and every figure."""
    written = {"topics": topics.pages(), "gallery": gallery.pages()}
    for folder, made in written.items():
        pieces.pages(pieces.DOCS / folder, made)
    entrance.made(gallery.SITE, written)


def _heads(app, pagename, templatename, context, doctree):
    """A title and a sentence for social media and search engines, and the repository for the side of every page."""
    context["repository"] = host.REPOSITORY
    if doctree is not None:
        title, about = context["title"], host.PROJECT["description"]
        path = pieces.DOCS / f"{pagename}.md"
        if path.is_file() and pagename != "index":
            _, about = entrance.told(path.read_text(encoding="utf-8"))
        context["metatags"] += host.tags(re.sub(r"<[^>]*>", "", title), about, pagename)


def setup(app):
    """Called by Sphinx."""
    app.connect("config-inited", _notebooks)
    app.connect("config-inited", _written)
    app.connect("html-page-context", _heads)
    app.add_search_language(FoldingSearch)
    app.add_post_transform(Formulas)
    app.connect("autodoc-process-docstring", _plain)
    app.connect("source-read", _pages)
    app.connect("env-get-outdated", _made)
    app.add_html_math_renderer("mathml", _formula("inline"), _formula("block"))
