"""The site around its pages: the first screen, search, what machines read of it, notebooks on machines of others."""

import importlib.util
import re
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from waiting import LONG_S

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
sys.path.insert(0, str(DOCS))
try:
    import books
    import entrance
    import generated
    import host
    import topics
finally:
    sys.path.remove(str(DOCS))


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_first_screen_has_a_sentence_the_install_line_the_live_page_and_the_next_step():
    screen = read("docs/index.md").split("```python")[0]
    places = [screen.index(words) for words in ("laboratory", "pip install", "<!-- live -->", "**Next:")]
    assert places == sorted(places)
    (frame,) = re.findall(r"<iframe .*?>", generated.fill(screen))
    assert 'src="live.html"' in frame
    assert 'loading="lazy"' in frame
    assert "title=" in frame


def test_the_live_page_is_whole_and_the_card_has_its_size(tmp_path):
    from PIL import Image

    entrance.live(tmp_path / "live.html")
    page = (tmp_path / "live.html").read_text(encoding="utf-8")
    assert len(page) < 1_500_000
    assert not re.search(r'(?:src|href)="https?:', page), "it asks no network"
    entrance.card(tmp_path / "card.png")
    with Image.open(tmp_path / "card.png") as card:
        assert card.size == (1200, 630)
    assert (tmp_path / "card.png").stat().st_size < 150_000


def test_the_logo_is_one_small_drawing():
    root = ElementTree.fromstring(read("docs/logo.svg"))
    assert root.tag.endswith("svg")
    assert root.find("{http://www.w3.org/2000/svg}title").text
    assert len(read("docs/logo.svg")) < 3000


# Search


def test_words_lose_their_accents_and_formulas_keep_their_letters():
    pytest.importorskip("sphinx", reason="the docs group brings it")
    folding = load("folding")
    assert folding.folded("Rényi, Poincaré, λ, x²") == "Renyi, Poincare, λ, x²"
    assert folding.FoldingSearch({}).split("Rényi's parking") == ["Renyi", "s", "parking"]


def load(name):
    """A module of docs/ that needs Sphinx."""
    found = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_search_finds_renyi_by_renyi(tmp_path):
    """A site of two pages, searched in a browser."""
    pytest.importorskip("sphinx", reason="the docs group brings it")
    pytest.importorskip("playwright")
    import subprocess

    from playwright.sync_api import sync_playwright

    look = load("look")
    try:
        browser = look.chromium()
    except SystemExit:
        pytest.skip("no chromium on this machine")
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(DOCS)!r})\nfrom folding import FoldingSearch\n"
        "def setup(app):\n    app.add_search_language(FoldingSearch)\n"
    )
    (tmp_path / "index.rst").write_text("First\n=====\n\nWho leads? Rényi's centers.\n\n.. toctree::\n\n   other\n")
    (tmp_path / "other.rst").write_text("Parking\n=======\n\nNothing of him, but of Poincare.\n")
    subprocess.run([sys.executable, "-m", "sphinx", "-qW", tmp_path, tmp_path / "html"], check=True, timeout=LONG_S)
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=browser)
        tab = chromium.new_page()

        def found(words):
            tab.goto(f"{(tmp_path / 'html' / 'search.html').as_uri()}?q={words}")
            tab.wait_for_function("/finished|match/.test(document.querySelector('.search-summary')?.textContent ?? '')")
            return tab.eval_on_selector_all("#search-results li a", "links => links.map(a => a.textContent)")

        assert found("renyi") == found("Rényi") == found("RENYI") == ["First"]
        assert found("Poincaré") == ["Parking"]
        assert found("nobody") == []
        chromium.close()


# What machines read


def test_llms_txt_names_every_page():
    told = entrance.llms({"topics": topics.pages()})
    assert told.startswith(f"# {PROJECT['name']}\n\n> {PROJECT['description']}\n")
    links = set(re.findall(r"\]\(([\w/.-]+)\.html\)", told))
    assert {p.stem for p in DOCS.glob("*.md")} - {"index"} <= links
    assert {f"topics/{topic.stem}" for topic in topics.TOPICS} <= links
    assert not re.search(r"\{doc\}|<!--|: *$", told, re.MULTILINE)


def test_a_page_says_what_it_is_in_a_sentence():
    page = "(label)=\n# A title\n\n<!-- made -->\n\nSee {doc}`that page <other>`, or [this](x.md). More.\n"
    assert entrance.told(page) == ("A title", "See that page, or this.")


def test_tags_escape_what_they_say_and_name_a_picture_only_where_there_is_a_host(monkeypatch):
    assert 'content="&lt;x, y&gt; &quot;"' in host.tags("t", '<x, y> "', "index")
    assert "og:image" not in host.tags("t", "a", "index")
    monkeypatch.setattr(host, "SITE", "https://site.example/")
    told = host.tags("t", "a", "topics/model")
    assert 'property="og:image" content="https://site.example/card.png"' in told
    assert 'property="og:url" content="https://site.example/topics/model.html"' in told


def test_every_extra_and_change_is_on_the_page_of_versions():
    told = generated.fill(read("docs/versions.md"))
    assert "\n### Unreleased\n" in told
    assert not [extra for extra in PROJECT["optional-dependencies"] if f"| `{extra}` |" not in told]


# Machines of others


def test_notebooks_have_links_to_machines_only_where_there_is_a_host(monkeypatch):
    text = read("examples/first_steps.ipynb")
    assert "mybinder" not in books.shown(text, "examples/first_steps.ipynb")
    monkeypatch.setattr(host, "SITE", "https://site.example/")
    told = books.shown(text, "examples/first_steps.ipynb")
    name = PROJECT["urls"]["Repository"].removeprefix("https://github.com/")
    assert f"https://mybinder.org/v2/gh/{name}/main?labpath=examples%2Ffirst_steps.ipynb" in told
    assert f"https://colab.research.google.com/github/{name}/blob/main/examples/first_steps.ipynb" in told


def test_binder_asks_for_what_there_is():
    asked = [line for line in read(".binder/requirements.txt").splitlines() if not line.startswith("#")]
    extras = re.fullmatch(r"\.\[([\w,]+)\]", asked[0])[1].split(",")
    assert set(extras) <= set(PROJECT["optional-dependencies"])
    version = read(".binder/runtime.txt").strip().removeprefix("python-")
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
    assert (ROOT / ".binder" / "postBuild").stat().st_mode & 0o111
