"""Formulas of plain words as MathML: nothing is lost, what is no formula stays, and what is one is drawn."""

import re
from html import unescape

import pytest

from tokenflock.markup import Markup
from tokenflock.papers import claims
from tokenflock.papers.report.mathematics import displayed, typeset


def formulas(text):
    return re.findall(r"<math>(.*?)</math>", typeset(text))


def plain(text):
    return unescape(re.sub(r"<[^>]+>", "", typeset(text)))


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("x_1(0) is there", "<msub><mi>x</mi><mrow><mn>1</mn></mrow></msub>"),
        ("lambda_max > 0", "<msub><mi>λ</mi><mtext>max</mtext></msub>"),
        ("beta^(1/2) tau*", "<msup><mi>β</mi><mrow><mn>1</mn>"),
        ("e^{beta (cos x - 1)}", "<msup><mi>e</mi><mrow><mi>β</mi>"),
        ("from <x, w> on", "⟨</mo><mi>x</mi>"),
        ("below 2e-4", "<mn>2</mn><mo>·</mo><msup><mn>10</mn>"),
        ("x_k(t) -> x_1(0)", "→"),
        ("dimension >= 2", "≥"),
        ("Q'K = I", "<mi>Q</mi>"),
        ("sin^2 x = 1", "<msup><mi>sin</mi>"),
        ("x_i^2 is", "<msubsup>"),
        ("where u = -cos f_2 = v/2", "<mi>v</mi>"),
        ("w = (1 - w)(1 - r) cos a", "<mi>r</mi>"),
        ("call y := P_L x", ":="),
    ],
)
def test_a_formula_is_drawn(text, inside):
    assert any(inside in found for found in formulas(text)), typeset(text)


@pytest.mark.parametrize(
    "text",
    [
        "a run at rest",
        "A trial that fails",
        "it's the tokens' own",
        "(1) need not be",
        "see causal/next-weights",
        "statements of paper B, and Papers C",
        "and",
    ],
)
def test_words_stay_words(text):
    assert formulas(text) == []
    assert plain(text) == text


def test_formulas_on_lines_of_their_own():
    drawn = displayed("x' = V x,      y = 1\nz = 2\n")
    assert drawn.count('<math display="block">') == 2
    assert drawn.count("<mspace") == 1


def test_a_bracket_that_the_text_closes_is_the_texts():
    assert plain("eigenvalues x_1 - x_2 (0 along L)").endswith("(0 along L)")
    assert "(0" not in "".join(formulas("x_1 - x_2 (0 along L)"))
    assert len(formulas("its top lies before g = 1 (h < 0)")) == 2


def test_numbers_beside_letters_are_no_products():
    assert "K</mi></mrow></math> 20 times" in typeset("Q and K 20 times as large")


def test_what_looks_like_html_is_escaped_and_markup_stays():
    assert "<script" not in typeset("<script>alert(1)</script> & x < y")
    assert typeset(Markup("<b>x_1</b>")) == "<b>x_1</b>"
    for odd in ("", " ", "^", "_", "{", "x^", "x_{", "((", "))", "|", "<", ">", "e^{x", "...", "x_1_2", "^^", "\u00b2"):
        assert isinstance(typeset(odd), Markup)


@pytest.mark.parametrize("name", claims.NAMES)
def test_nothing_is_lost_of_a_claim_and_tags_are_closed(name):
    claim = claims.find(name)
    for text in (claim.statement, claim.trial, claim.rule, claim.known or "", claim.erratum or ""):
        shown = typeset(text)
        open_tags = []
        for slash, tag in re.findall(r"<(/?)([a-z]+)[^>]*>", shown):
            assert not slash or open_tags.pop() == tag
            open_tags += [] if slash else [tag]
        assert not open_tags
        words = [word for word in re.findall(r"[A-Za-z]{4,}", text) if word not in ("sqrt", "beta") and word.islower()]
        told = plain(text)
        for word in set(words) - set("alpha gamma delta epsilon theta kappa lambda sigma omega dphi zeta".split()):
            assert word in told, (name, word)
        for body in re.findall(r"<(?:msub|msup)>(.*?)</(?:msub|msup)>", shown):
            assert body


def test_indices_have_two_parts_and_doubles_three():
    import xml.etree.ElementTree as tree

    for name in claims.NAMES:
        shown = typeset(claims.find(name).statement)
        for found in re.findall(r"<math>.*?</math>", shown):
            for node in tree.fromstring(found).iter():
                wanted = {"msub": 2, "msup": 2, "msubsup": 3}.get(node.tag)
                assert wanted is None or len(node) == wanted, found
