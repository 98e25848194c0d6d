"""The first screen of the report: what was checked, how many stand, which do not and why, and where everything is."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tokenflock.markup import Markup, joined, markup
from tokenflock.papers.citations import REFERENCES
from tokenflock.papers.report.mathematics import typeset

Made = dict[str, Any]
#: the first part of the name of a claim or a figure -> its paper among the references
PAPERS = {
    "causal": "A",
    "emergence": "B",
    "perspective": "C",
    "metastability": "D",
    "meanfield": "E",
    "normalization": "F",
}
TABLES_TITLE = "Before you trust a run"
NUMBERS = dict(enumerate("no one two three four five six seven eight nine ten eleven twelve".split()))
ENDS = re.compile(r"(?<=[.:])\s+(?=[A-Z(])")  # of a sentence


class Group(NamedTuple):
    """One paper of the report."""

    key: str
    title: str


def paper_of(made: Made) -> str:
    """The first part of a name."""
    return str(made["name"]).partition("/")[0].strip()


def anchor(made: Made) -> str:
    """Where an item stands in the page."""
    return f"{made['kind']}-{made['name']}".replace("/", "-")


def grouped(done: list[Made]) -> list[Group]:
    """The papers of what is there, in the order in which it was made."""
    keys = dict.fromkeys(paper_of(made) for made in done if made["kind"] != "table")
    return [Group(key, _title(key)) for key in keys]


def _title(key: str) -> str:
    if key not in PAPERS:
        return key
    letter = PAPERS[key]
    fields = REFERENCES[letter].fields
    return f"Paper {letter}: {re.sub(r'[{}]', '', fields['title'])}"


def opening(done: list[Made]) -> Markup:
    """Everything that a reader has to know before the first claim."""
    claims = [made for made in done if made["kind"] == "claim"]
    figures = [made for made in done if made["kind"] == "figure"]
    stand = [made for made in claims if made.get("holds") is True]
    fall = [made for made in claims if made.get("holds") is False]
    rest = [made for made in claims if made.get("holds") is None]
    parts = [_total(len(claims), len(stand), len(fall), len(rest))] if claims else []
    if fall:
        head = "Those that do not stand" if len(fall) > 1 else "The one that does not stand"
        parts.append(markup('<h2>{}</h2><ul class="not">{}</ul>', head, joined(_why(made) for made in fall)))
    if rest:
        head = markup("<h2>Not decided</h2>")
        parts.append(markup('{}<ul class="not">{}</ul>', head, joined(_why(made) for made in rest)))
    parts.append(_contents(done))
    words = f"{len(figures)} figures" if len(figures) != 1 else "1 figure"
    note = markup("<p>{} redrawn; pictures of the claims stand with them.</p>", words) if figures else ""
    return markup('<section class="opening">{}{}</section>', joined(parts), note)


def _total(claims: int, stand: int, fall: int, rest: int) -> Markup:
    """One sentence with the count, and the same as a bar."""
    words = f"{stand} of {claims} statements stand" if claims != 1 else f"{NUMBERS[stand].capitalize()} of one stands"
    if fall:
        words += f"; {_number(fall)} {'do' if fall > 1 else 'does'} not"
    if rest:
        words += f"; {_number(rest)} {'are' if rest > 1 else 'is'} not decided"
    shares = [(kind, count) for kind, count in (("g", stand), ("b", fall), ("o", rest)) if count]
    bar = joined(markup('<i class="{}" style="flex:{}"></i>', kind, count) for kind, count in shares)
    return markup('<p class="total">{}.</p><div class="bar" aria-hidden="true">{}</div>', words, bar)


def _number(count: int) -> str:
    return NUMBERS.get(count, str(count))


def _why(made: Made) -> Markup:
    """An item that does not stand, and why in one sentence."""
    link = markup('<a href="#{}">{}</a>', anchor(made), made["name"])
    if "error" in made:
        return markup("<li>{}: {}. {}</li>", link, made["state"], str(made["error"]))
    known = str(made["claim"]["known"] or "")
    if known:
        sentences = ENDS.split(known)
        reason = sentences[0] if not sentences[0].endswith(":") else " ".join(sentences[:2])
        if reason.count(" ") < 5 or re.search(r"ways? here", reason):  # it announces its reasons: the first of them too
            reason = " ".join(sentences[:2])
        return markup('<li>{} (<span class="shut">{}</span>, known): {}</li>', link, made["verdict"], typeset(reason))
    failed = [f["case"] for f in made.get("findings", []) if f["holds"] is made["holds"]]
    where = f"in {len(failed)} of {len(made.get('findings', []))} cases, first in: {failed[0]}" if failed else ""
    shade = "shut" if made["holds"] is False else "unsure"
    return markup('<li>{} (<span class="{}">{}</span>) {}</li>', link, shade, made["verdict"], typeset(where))


def _contents(done: list[Made]) -> Markup:
    """Links to everything, a block a paper."""
    blocks = []
    for group in grouped(done):
        inside = [made for made in done if made["kind"] != "table" and paper_of(made) == group.key]
        lines = []
        for kind, word in (("claim", "Statements"), ("figure", "Figures")):
            links = joined((_link(made) for made in inside if made["kind"] == kind), " · ")
            if links:
                lines.append(markup("<p>{}: {}</p>", word, links))
        head = markup('<b><a href="#paper-{}">{}</a></b>', group.key, group.title)
        blocks.append(markup("<div>{}{}</div>", head, joined(lines)))
    if any(made["kind"] == "table" for made in done):
        blocks.append(markup('<div><b><a href="#paper-tables">{}</a></b></div>', TABLES_TITLE))
    return markup('<h2>Contents</h2><nav class="contents" aria-label="Contents">{}</nav>', joined(blocks))


def _link(made: Made) -> Markup:
    """The link to an item; the colour of one that does not stand is that of its verdict."""
    short = str(made["name"]).partition("/")[2] or made["name"]
    state = made.get("holds", True) if made["kind"] == "claim" else "error" not in made
    shade = {True: "", False: "shut", None: "unsure"}[state]
    return markup('<a href="#{}" class="{}">{}</a>', anchor(made), shade, short)
