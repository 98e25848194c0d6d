"""Pages that a build writes: every public name has exactly one topic, every figure a page with code that works."""

import ast
import html
import re
import shlex
import sys
from pathlib import Path

import pytest

from tokenflock.papers import figures

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
try:
    import entries
    import gallery
    import generated
    import pieces
    import topics
finally:
    sys.path.remove(str(DOCS))

PUBLIC = entries.callables()


def test_every_public_name_has_exactly_one_topic():
    taken = {name: [t.stem for t in topics.TOPICS if t.takes(name)] for name in PUBLIC}
    wrong = {name: found for name, found in taken.items() if len(found) != 1}
    assert not wrong, "name each in one topic of docs/topics.py"


def test_every_topic_has_names_and_a_guide_that_exists():
    assert len({t.stem for t in topics.TOPICS}) == len(topics.TOPICS)
    for topic, public in topics.grouped().items():
        assert public, topic.stem
        assert not topic.guide or (DOCS / f"{topic.guide}.md").is_file(), topic.guide
        assert not [name for name in topic.names.split() if not any(p.startswith(f"flock.{name}") for p in PUBLIC)]
        assert topics.besides(topic).keys() == set(topic.besides.split())


def test_a_topic_shows_every_name_once_and_has_its_example():
    shown = "\n".join("\n".join(lines) for lines in topics.pages().values())
    listed = re.findall(r"^\.\. auto(?:class|function):: (.+)$", shown, re.MULTILINE)
    assert not [name for name, thing in PUBLIC.items() if listed.count(topics.anchor(thing)) != 1]
    reference = entries.Shown()
    assert not [name for name, thing in PUBLIC.items() if not reference.of(thing)[1]]


@pytest.mark.parametrize("name", figures.NAMES)
def test_a_figure_has_a_page_with_code_that_works(name, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "OUT", tmp_path)
    page = "\n".join(gallery.page(name))
    assert "*Not drawn: run `make reproduce` first.*" in page
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    for call in (n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Call)):
        words = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
        if ast.unparse(call.func) == "flock.figure":
            assert ast.literal_eval(call.args[0]) == name
            figures.parameters(name, **words)  # every keyword is one of the figure
    for line in re.search(r"```bash\n(.*?)```", page, re.DOTALL)[1].splitlines():
        words = shlex.split(line, comments=True)
        assert words[:3] == ["tokenflock", "figure", name]
        for change in (words[k + 1] for k, word in enumerate(words) if word == "--set"):
            assert change.partition("=")[0] in figures.parameters(name)
    assert ("animate" in code) == (name in figures.MOVIES)


def test_cards_show_small_pictures(tmp_path, monkeypatch):
    from PIL import Image

    monkeypatch.setattr(pieces, "OUT", tmp_path)
    monkeypatch.setattr(gallery, "SITE", tmp_path / "site")
    (tmp_path / "figures").mkdir()
    Image.new("RGBA", (2000, 1000), (255, 0, 0, 128)).save(tmp_path / "figures" / "causal-2.png")
    cards = "\n".join(gallery.cards())
    assert cards.count('class="card"') == cards.count("\ngallery/") == len(figures.NAMES)
    assert cards.count("not drawn") == len(figures.NAMES) - 1
    with Image.open(tmp_path / "site" / "thumbnails" / "causal-2.png") as small:
        assert small.size == (gallery.THUMBNAIL, gallery.THUMBNAIL // 2)


def test_pages_are_written_when_they_change_and_old_ones_go(tmp_path):
    pieces.pages(tmp_path, {"a": ["# a"], "b": ["# b"]})
    before = (tmp_path / "a.md").stat().st_mtime_ns
    pieces.pages(tmp_path, {"a": ["# a"]})
    assert [p.name for p in tmp_path.iterdir()] == ["a.md"]
    assert (tmp_path / "a.md").stat().st_mtime_ns == before


def test_lists_for_the_repository_give_way_to_those_of_the_site():
    filled = generated.fill("<!-- topics -->\n- of the repository\n<!-- /topics -->\nafter")
    assert "of the repository" not in filled
    assert 'href="topics/model.html"' in filled
    assert filled.endswith("after")


@pytest.mark.parametrize(
    "words",
    [
        "|x| < 1, a_i -> b*",
        "`x` and $y$",
        "P_{x_i} <b>",
        "[a](b)",
        "V x_j _j_ ~z~",
        "<x, y> < 1",
        "P_x w = w*",
        "[[1, 1], [0, 1/2]]",
        "a `b` | $c$ ~ \\d",
        "# no heading",
        "- no list",
        "1. no list",
    ],
)
def test_words_show_as_they_are(words):
    pytest.importorskip("myst_parser", reason="the docs group brings it")
    from markdown_it.renderer import RendererHTML
    from myst_parser.config.main import MdParserConfig
    from myst_parser.parsers.mdit import create_md_parser

    parser = create_md_parser(MdParserConfig(enable_extensions={"dollarmath"}), RendererHTML)
    shown = parser.render(pieces.text(words)).strip()
    assert html.unescape(re.fullmatch(r"<p>(.*)</p>", shown, re.DOTALL)[1]) == words
