"""HTML that escapes by construction, and that no page of the package is written in another way."""

import ast
import json
from pathlib import Path

import pytest

import tokenflock
from tokenflock.markup import Markup, as_markup, data, joined, markup

SOURCES = sorted(Path(tokenflock.__file__).parent.rglob("*.py"))


def test_text_is_escaped_and_markup_is_not():
    assert markup("<p>{}</p>", "<b> & 'a' \"b\"") == "<p>&lt;b&gt; &amp; &#x27;a&#x27; &quot;b&quot;</p>"
    assert markup("<p>{}</p>", markup("<b>{}</b>", "<")) == "<p><b>&lt;</b></p>"
    assert markup("{:.2f} {name:>4}", 1 / 3, name="<") == "0.33    &lt;"
    assert joined(["<", markup("<br>")], ", ") == "&lt;, <br>"
    assert isinstance(joined([]), Markup)
    assert type(as_markup("a") + "<b>") is str, "what is added to Markup is text again, and will be escaped"
    assert markup("{}", markup("<b>") + "<i>") == "&lt;b&gt;&lt;i&gt;"


@pytest.mark.parametrize("text", ["<!--<script>", "</script>", "</SCRIPT >", "\u2028\u2029", "]]>", "<![CDATA["])
def test_data_inside_of_a_script_cannot_end_it(text):
    written = data({text: [text]})
    assert json.loads(written) == {text: [text]}
    assert "<" not in written
    assert written.isascii()


def calls(tree, name):
    return [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == name]


def is_written(node):
    """Whether a template stands in the source: words, a choice of such, or the name of a constant."""
    if isinstance(node, ast.IfExp):
        return is_written(node.body) and is_written(node.orelse)
    if isinstance(node, ast.Name):
        return node.id.isupper()
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_there_is_one_way_to_write_html():
    used = 0
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        if path.name != "markup.py":
            assert "from html import" not in text, f"{path} escapes by itself"
            assert "import html" not in text, f"{path} escapes by itself"
            for call in calls(tree, "Markup"):
                assert is_written(call.args[0]), f"{path}:{call.lineno} calls Markup what it did not write"
        for call in calls(tree, "markup"):
            used += 1
            assert is_written(call.args[0]), f"{path}:{call.lineno} has a template that is not written in the source"
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                words = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
                assert "</" not in words, f"{path}:{node.lineno} writes HTML around a value that nobody escapes"
    assert used > 40
