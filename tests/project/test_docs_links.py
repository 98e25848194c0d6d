"""Links lead somewhere: between pages, to headings, in the built site; those to the world have the right form."""

import html.parser
import json
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from tokenflock.papers.citations import REFERENCES

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "_build"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = {p.relative_to(ROOT).as_posix(): p for p in (*sorted(ROOT.glob("*.md")), *DOCS)}
BOOKS = {p.relative_to(ROOT).as_posix(): p for p in sorted((ROOT / "examples").rglob("*.ipynb"))}
sys.path.insert(0, str(ROOT / "docs"))
try:
    import books
    import gallery
    import topics
finally:
    sys.path.remove(str(ROOT / "docs"))
#: written by the build, from examples/ and from the package
WRITTEN = {"gallery": gallery.pages(), "topics": topics.pages()}
MADE = {f"{books.HOMES[p.parent.relative_to(ROOT).as_posix()]}/{p.stem}" for p in BOOKS.values()}
MADE |= {f"{folder}/{stem}" for folder, pages in WRITTEN.items() for stem in pages}
HOSTS = {"arxiv.org", "doi.org"}


def prose(path):
    """The text of a page or of the words in a notebook, without its code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n\n".join("".join(c["source"]) for c in json.loads(text)["cells"] if c["cell_type"] == "markdown")
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(path):
    """Headings as GitHub and MyST name them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads} | set(
        re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
    )


def targets(path):
    return re.findall(r"\]\(<?([^)>\s]+)>?\)", prose(path))


@pytest.mark.parametrize("page", [*PAGES, *BOOKS])
def test_links_between_pages_lead_to_a_file_and_a_heading(page):
    path = ROOT / page
    for target in targets(path):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        assert there.exists(), f"{page}: {target}"
        assert there.is_relative_to(ROOT), f"{page}: {target} leaves the repository"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{page}: {target}"


@pytest.mark.parametrize("page", PAGES)
def test_names_of_pages_and_labels_exist(page):
    text = PAGES[page].read_text(encoding="utf-8")
    known = {p.stem for p in DOCS} | MADE
    texts = [p.read_text(encoding="utf-8") for p in DOCS]
    texts += ["\n".join(lines) for pages in WRITTEN.values() for lines in pages.values()]
    labels = {label for words in texts for label in re.findall(r"^\(([\w-]+)\)=$", words, re.MULTILINE)}
    for kind, said in re.findall(r"\{(doc|ref)\}`(?:[^`<]*<)?([^`<>]+)>?`", text):
        assert said in (known if kind == "doc" else labels), f"{page}: {{{kind}}}`{said}`"


@pytest.mark.parametrize("page", [*PAGES, *BOOKS])
def test_links_to_the_world_have_the_right_form(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    numbers = {entry.fields["eprint"] for entry in REFERENCES.values() if "eprint" in entry.fields}
    assert set(re.findall(r"arxiv(?:\.org/abs/|:)(\d{4}\.\d{4,5})", text, re.IGNORECASE)) <= numbers
    for target in targets(ROOT / page):
        if "://" in target:
            assert urlparse(target).scheme == "https", target
            assert urlparse(target).hostname in HOSTS, f"{target}: a new host? Look at it, then name it in HOSTS."


@pytest.mark.parametrize("page", [*PAGES, *BOOKS, "CITATION.cff", "Makefile", "pyproject.toml"])
def test_no_page_names_a_place_of_one_machine(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert not re.search(r"(?:^|[\s`'\"(=])/(?:root|home|Users|work|tmp|opt)/\w", text)
    assert not re.search(r"(?:index-url|registry|127\.0\.0\.1:|localhost:)\s*\S*://", text)


def test_the_citation_names_papers_that_the_references_have():
    numbers = {entry.fields["eprint"] for entry in REFERENCES.values() if "eprint" in entry.fields}
    assert set(re.findall(r"\b(\d{4}\.\d{5})\b", (ROOT / "CITATION.cff").read_text())) <= numbers


# The built site


class Page(html.parser.HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self):
        super().__init__()
        self.links, self.names = [], set()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.names |= {given[key] for key in ("id", "name") if given.get(key)}
        self.links += [given[key] for key in ("href", "src") if given.get(key)]


def broken(site):
    """Links of a built site that lead nowhere."""
    pages = {}
    for path in site.rglob("*.html"):
        pages[path.resolve()] = Page()
        pages[path.resolve()].feed(path.read_text(encoding="utf-8"))
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlparse(link)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            named = pages[there].names if there in pages else set()
            fragment = unquote(parts.fragment)
            if not there.exists() or (fragment and there in pages and fragment not in named):
                wrong.append(f"{path.relative_to(site.resolve())}: {link}")
    return wrong


def test_the_check_of_a_site_finds_what_is_broken(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="top"></h1><a href="b.html#there">b</a><a href="https://doi.org/1">x</a>')
    (tmp_path / "b.html").write_text('<p id="there"><a href="a.html#top">a</a><a href="#there">me</a></p>')
    assert broken(tmp_path) == []
    (tmp_path / "b.html").write_text('<p id="here"><a href="c.html">c</a><img src="no.png"></p>')
    assert sorted(broken(tmp_path)) == ["a.html: b.html#there", "b.html: c.html", "b.html: no.png"]


@pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="no docs/_build: make docs builds the site")
def test_no_link_of_the_built_site_is_broken():
    assert broken(SITE) == []
