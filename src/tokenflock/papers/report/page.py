"""The report as one page of HTML: no script, no font, no picture from anywhere else.

What was checked and what stands comes first (opening.py), then the papers, each with a table of its verdicts, its
claims and its figures. Pictures are kept small and are drawn when one comes to them; the page prints.
"""

from __future__ import annotations

import base64
import json
import math
import platform
import time
from pathlib import Path
from typing import Any

from tokenflock.engine.machine import threads
from tokenflock.markup import Markup, joined, markup
from tokenflock.papers.report.images import embedded
from tokenflock.papers.report.mathematics import typeset
from tokenflock.papers.report.opening import TABLES_TITLE, anchor, grouped, opening, paper_of

Made = dict[str, Any]
IMAGE = '<img loading="lazy" decoding="async" alt="{}" width="{}" height="{}" src="data:{};base64,{}">'
TABLE = '<div class="wide"><table>{}<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
DETECTS = "the smallest violation that a case refutes with 95 %: a share of trials that fail, or a shift of the number."
STATES = {True: "holds", False: "fails", None: "open"}
_ROW_HEAD = ("case", "trials", "undecided", "measured", "against", "detects", "note")
_CLAIM_HEAD = ("claim", "verdict", "trials", "undecided", "measured, tightest case", "seconds")


def page(done: list[Made], out: Path, quick: bool, wall: float, ended: str = "") -> Markup:
    """All items, the verdicts first. ended: why the work stopped early, if it did."""
    parts = [opening(done)]
    for group in grouped(done):
        inside = [made for made in done if made["kind"] != "table" and paper_of(made) == group.key]
        claims = [made for made in inside if made["kind"] == "claim"]
        parts += [markup('<h2 class="paper" id="paper-{}">{}</h2>', group.key, group.title)]
        parts += [_verdicts(claims, group.title)] if claims else []
        parts += [_KINDS[made["kind"]](made, out) if "error" not in made else _error(made) for made in inside]
    tables = [made for made in done if made["kind"] == "table"]
    parts += [markup('<h2 class="paper" id="paper-tables">{}</h2>', TABLES_TITLE)] if tables else []
    parts += [_KINDS[made["kind"]](made, out) if "error" not in made else _error(made) for made in tables]
    smaller = "Quick version: fewer trials, smaller ensembles and coarser curves than the full report." if quick else ""
    return document(
        "reproduction report",
        markup(
            "<h1>Attention dynamics, recomputed</h1>"
            '<p class="what">What the papers state, checked by experiment, and their figures, redrawn by '
            "tokenflock. Every seed and parameter is given.</p>{}{}<footer><p>{}</p></footer>",
            notices(ended),
            joined(parts),
            f"{smaller} {_facts(done, wall)}".strip(),
        ),
    )


def document(title: str, body: Markup) -> Markup:
    """A whole page of HTML with a title and a body."""
    return markup(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>tokenflock: {}</title><style>{}</style></head><body><main>{}</main></body></html>\n",
        title,
        CSS,
        body,
    )


def notices(*notes: str) -> Markup:
    """What a reader has to know first; an empty note is none."""
    return joined(markup('<p class="quick">{}</p>', note) for note in notes if note)


def _facts(done: list[Made], wall: float) -> str:
    made_at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    spent = sum(made.get("wall_s", 0.0) for made in done)
    facts = f"Made {made_at} in {wall:.1f} s; all of it takes {spent:.1f} s on {threads()} threads, "
    keys = [made["key"] for made in done if "key" in made]
    used = ", ".join(f"{name} {number}" for name, number in keys[0]["versions"].items()) if keys else ""
    return f"{facts}{platform.machine()}. {used}. Source {keys[0]['source'] if keys else 'unknown'}."


def _seen(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:.2g}"


def grid(head: tuple[str, ...], rows: list[list[str]], text: tuple[int, ...] = (), title: str = "") -> Markup:
    """A table; cells that are no Markup are escaped. The first column heads the rows, those in text hold words."""

    def cell(column: int, said: str) -> Markup:
        return markup('<td class="text">{}</td>', typeset(said)) if column in text else markup("<td>{}</td>", said)

    def top(column: int, said: str) -> Markup:
        return markup('<th scope="col" class="text">{}</th>' if column in text else '<th scope="col">{}</th>', said)

    body = joined(
        markup('<tr><th scope="row">{}</th>{}</tr>', row[0], joined(cell(k, c) for k, c in enumerate(row[1:], start=1)))
        for row in rows
    )
    heads = joined(top(k, name) for k, name in enumerate(head))
    return markup(TABLE, markup("<caption>{}</caption>", title) if title else "", heads, body)


def _word(made: Made) -> Markup:
    known = " (known)" if made["holds"] is False and not made["alarming"] else ""
    return markup('<span class="{}">{}{}</span>', STATES[made["holds"]], typeset(made["verdict"]), known)


def _verdicts(claims: list[Made], title: str) -> Markup:
    rows = []
    for made in claims:
        link = markup('<a href="#{}">{}</a>', anchor(made), made["name"])
        if "error" in made:
            rows.append([link, markup('<span class="fails">crashed</span>'), "", "", "", ""])
            continue
        cell = f"{made['tightest']['shown']} {made['tightest']['against']}".strip()
        rows.append([link, _word(made), str(made["trials"]), str(made["undecided"]), cell, f"{made['wall_s']:.1f}"])
    return markup('<section class="verdicts">{}</section>', grid(_CLAIM_HEAD, rows, (1,), f"Verdicts: {title}"))


def _claim(made: Made, out: Path) -> Markup:
    words = made["claim"]
    told = {"Needs": "; ".join(words["hypotheses"]), "A trial": words["trial"], "Rule": words["rule"]}
    told |= {"Correction": words["erratum"], "Known to fail": words["known"], "Note": made["note"]}
    told |= {"Intervals": made["remark"], "Detects": DETECTS}
    lines = [markup('<p class="statement">{}</p>', typeset(words["statement"]))]
    lines += [markup("<p><b>{}.</b> {}</p>", title, typeset(text)) for title, text in told.items() if text]
    rows = []
    for f in made["findings"]:
        case = markup('<span class="{}">{}</span>', STATES[f["holds"]], typeset(f["case"]))
        counts = [str(f["trials"] or ""), str(f["undecided"] or "")]
        rows.append([case, *counts, f["shown"], f["against"], _seen(f["detects"]), f["note"]])
    again = joined(
        markup("<li><code>{} --trial &quot;{}&quot;</code></li>", made["command"], t) for t in made["failed"][:5]
    )
    repeat = markup("<p>Trials that fail, to be repeated:</p><ul>{}</ul>", again) if again else ""
    head = markup('<h3 id="{}">{}: {}</h3>', anchor(made), made["name"], _word(made))
    used = [k for k in range(len(_ROW_HEAD)) if any(row[k] for row in rows)]
    notes = tuple(used.index(k) for k in (4, 6) if k in used)
    table = grid(tuple(_ROW_HEAD[k] for k in used), [[row[k] for k in used] for row in rows], notes)
    return _section(head, *lines, table, repeat, picture(made, out / "claims"), _details(made))


def _section(*parts: str) -> Markup:
    return markup("<section>{}</section>", joined(parts))


def _table(made: Made, out: Path) -> Markup:
    table = grid(tuple(made["columns"]), made["rows"])
    return _section(markup("<h3>{}</h3>{}<p>{}</p>", made["title"], table, typeset(made["note"])), _details(made))


def _figure(made: Made, out: Path) -> Markup:
    head = markup('<h3 id="{}">Figure {}</h3>', anchor(made), made["name"])
    return _section(head, captioned(made["caption"], picture(made, out / "figures")), _details(made))


def captioned(caption: str, drawn: Markup) -> Markup:
    """A picture over its caption."""
    return markup("<figure>{}<figcaption>{}</figcaption></figure>", drawn, typeset(caption))


def picture(made: Made, folder: Path) -> Markup:
    """The figure of an item, inside of the page, and the names of its files."""
    by_kind = {name.rpartition(".")[2]: folder / name for name in made["files"]}
    seen = embedded(by_kind["svg"], by_kind.get("png"))
    data = base64.b64encode(seen.content).decode()
    files = joined((markup("<code>{}/{}</code>", folder.name, name) for name in made["files"]), ", ")
    image = markup(IMAGE, made["name"], seen.width, seen.height, seen.mime, data)
    return markup('<div class="wide picture">{}</div><p class="files">{}</p>', image, files)


def _error(made: Made) -> Markup:
    head = markup('<h3 id="{}">{} {}: {}</h3>', anchor(made), made["kind"], made["name"], made["state"])
    kind = "error" if made["failed"] else "quick"
    return _section(head, markup('<p class="{}">{}</p>', kind, made["error"]))


def _details(made: Made) -> Markup:
    return markup(
        "<details><summary>Parameters and seed ({:.1f} s)</summary><pre>{}</pre></details>",
        made["wall_s"],
        json.dumps(made["key"]["parameters"]),
    )


_KINDS = {"claim": _claim, "table": _table, "figure": _figure}

CSS = Markup(
    """
:root{color-scheme:light dark;--ink:#1a1c1f;--soft:#5b6169;--line:#d9dce0;--page:#fff;--card:#f5f6f8;--mark:#fff3d6;
--good:#006b4e;--bad:#b3261e;--open:#8a6100}
@media (prefers-color-scheme:dark){
:root{--ink:#e8eaed;--soft:#a3a9b1;--line:#3a3f46;--page:#16181b;--card:#202327;--mark:#4a3b12;
--good:#5fd3ae;--bad:#ff8a80;--open:#e6c15a}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;scroll-padding-top:1rem}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.9rem;line-height:1.15;margin:.5rem 0 .5rem} h2{font-size:1.35rem;line-height:1.3;margin:0 0 .75rem}
h3{font-size:1.1rem;line-height:1.3;margin:0 0 .75rem}
.paper{margin:3.5rem 0 0;padding-top:1rem;border-top:3px solid var(--ink)}
section{margin:2.25rem 0;padding-top:1.25rem;border-top:1px solid var(--line)} .verdicts{margin-top:.5rem;border:0}
.verdicts th{min-width:0;white-space:nowrap} .verdicts td,.verdicts th{padding:.4rem .5rem}
.opening h2{margin-top:1.75rem}
.opening{border:0;margin-top:0;padding:0}
.what{color:var(--soft);margin:0 0 1rem} .statement{font-size:1.05rem}
.total{font-size:1.35rem;line-height:1.35;margin:1rem 0}
.bar{display:flex;height:.6rem;border-radius:.3rem;overflow:hidden;gap:2px}
.bar i{display:block} .bar .g{background:var(--good)} .bar .b{background:var(--bad)} .bar .o{background:var(--open)}
.not{padding-left:1.2rem} .not li{margin:.5rem 0} .contents{columns:22rem;column-gap:2.5rem}
.contents div{break-inside:avoid;margin:0 0 1.1rem} .contents p{margin:.15rem 0;font-size:.92rem;line-height:1.7}
.contents p a{white-space:nowrap} a{color:inherit;text-decoration-color:var(--soft);text-underline-offset:2px}
caption{text-align:left;font-weight:600;padding:.25rem 0 .5rem} math{font-size:1.06em}
.shut{color:var(--bad)} .unsure{color:var(--open)} .skip{position:absolute;left:-99rem} .skip:focus{left:1rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem;width:100%}
th,td{text-align:right;padding:.4rem .7rem;border-bottom:1px solid var(--line);vertical-align:bottom}
td{white-space:nowrap} th:first-child{text-align:left} tbody th{min-width:9rem}
thead th{color:var(--soft);font-weight:600;min-width:6rem} tbody th{font-weight:500}
figure{margin:0} .wide+.picture{margin-top:1rem} figcaption{margin-top:.75rem;font-size:.95rem}
.picture{background:#fff;border:1px solid var(--line);border-radius:6px;padding:.5rem}
img{display:block;width:100%;min-width:36rem;height:auto}
.files,footer,details{color:var(--soft);font-size:.88rem}
pre{background:var(--card);padding:.75rem;border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere}
.quick{background:var(--mark);padding:.5rem .75rem;border-radius:6px}
footer{border-top:1px solid var(--line);margin-top:2.5rem}
.holds{color:var(--good)} .fails{color:var(--bad)} .open{color:var(--open)} .holds,.fails,.open{font-weight:600}
@media print{:root{color-scheme:light;--ink:#000;--soft:#444;--line:#bbb;--page:#fff;--card:#f5f6f8;--mark:#fff3d6;
--good:#006b4e;--bad:#b3261e;--open:#8a6100}
@page{size:A4;margin:16mm 14mm}body{font-size:10pt}main{max-width:none;padding:0}
.wide{overflow:visible}img{min-width:0}details,.files{display:none}figure,tr,.picture{break-inside:avoid}
h1,h2,h3,caption{break-after:avoid}td,th{padding:.2rem .35rem;white-space:normal}
tbody th,thead th,td.text,th.text{min-width:0}
.paper{break-before:page}}
td.text,th.text{white-space:normal;text-align:left;min-width:11rem}
.verdicts td.text{min-width:8rem} .formula{white-space:nowrap} section,p,li{overflow-wrap:break-word}
 .error{color:var(--bad)} nav a{color:inherit}
"""
)
