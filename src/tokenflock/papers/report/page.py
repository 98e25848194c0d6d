"""The report as one page of HTML: no script, no font, no picture from anywhere else."""

from __future__ import annotations

import base64
import json
import math
import platform
import time
from html import escape
from pathlib import Path
from typing import Any

from tokenflock.engine.machine import threads

Made = dict[str, Any]
HEAVY = 1_500_000  # bytes of an SVG from which its PNG is shown instead
STATES = {True: "holds", False: "fails", None: "open"}
_ROW_HEAD = ("case", "trials", "undecided", "measured", "", "note")
_CLAIM_HEAD = ("claim", "verdict", "trials", "undecided", "measured, tightest case", "seconds")


def page(done: list[Made], out: Path, quick: bool, wall: float, ended: str = "") -> str:
    """All items, the verdicts first. ended: why the work stopped early, if it did."""
    claims = [made for made in done if made["kind"] == "claim"]
    parts = [_verdicts(claims)] if claims else []
    parts += [_KINDS[made["kind"]](made, out) if "error" not in made else _error(made) for made in done]
    smaller = "Quick version: fewer trials, smaller ensembles and coarser curves than the full report." if quick else ""
    return document(
        "reproduction report",
        "<h1>tokenflock: reproduction report</h1>"
        "<p>Attention dynamics, recomputed: what the papers state, checked by experiment, and their figures, redrawn. "
        f"Every seed and parameter is given.</p>{notices(smaller, ended)}{''.join(parts)}"
        f"<footer><p>{escape(_facts(done, wall))}</p></footer>",
    )


def document(title: str, body: str) -> str:
    """A whole page of HTML with a title and a body."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>tokenflock: {escape(title)}</title><style>{CSS}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def notices(*notes: str) -> str:
    """What a reader has to know first; an empty note is none."""
    return "".join(f'<p class="quick">{escape(note)}</p>' for note in notes if note)


def _facts(done: list[Made], wall: float) -> str:
    made_at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    spent = sum(made.get("wall_s", 0.0) for made in done)
    facts = f"Made {made_at} in {wall:.1f} s; all of it takes {spent:.1f} s on {threads()} threads, "
    keys = [made["key"] for made in done if "key" in made]
    used = ", ".join(f"{name} {number}" for name, number in keys[0]["versions"].items()) if keys else ""
    return f"{facts}{platform.machine()}. {used}. Source {keys[0]['source'] if keys else 'unknown'}."


def _number(value: Any) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:.4g}"


def _anchor(made: Made) -> str:
    return f"{made['kind']}-{made['name']}".replace("/", "-")


def grid(head: tuple[str, ...], rows: list[list[str]], text: tuple[int, ...] = ()) -> str:
    """A table whose cells are HTML already; the first column heads the rows, those in text hold words."""

    def cell(column: int, html: str) -> str:
        return f'<td class="text">{html}</td>' if column in text else f"<td>{html}</td>"

    kind = dict.fromkeys(text, ' class="text"')
    top = "".join(f'<th scope="col"{kind.get(k, "")}>{name}</th>' for k, name in enumerate(head))
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>' + "".join(cell(k, c) for k, c in enumerate(row[1:], start=1)) + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _word(made: Made) -> str:
    known = " (known)" if made["holds"] is False and not made["alarming"] else ""
    return f'<span class="{STATES[made["holds"]]}">{escape(made["verdict"])}{known}</span>'


def _verdicts(claims: list[Made]) -> str:
    rows = []
    for made in claims:
        link = f'<a href="#{_anchor(made)}">{escape(made["name"])}</a>'
        if "error" in made:
            rows.append([link, '<span class="fails">crashed</span>', "", "", "", ""])
            continue
        cell = f"{_number(made['tightest']['measured'])} {_against(made['tightest'])}"
        rows.append([link, _word(made), str(made["trials"]), str(made["undecided"]), cell, f"{made['wall_s']:.1f}"])
    return f"<section><h2>Verdicts</h2><nav>{grid(_CLAIM_HEAD, rows, (1,))}</nav></section>"


def _against(finding: Made) -> str:
    if finding["relation"] == "=":
        interval = f"[{_number(finding['low'])}, {_number(finding['high'])}]"
        predicted = "" if finding["bound"] is None else f", predicted {_number(finding['bound'])}"
        return f"{interval}{predicted}"
    return "" if finding["bound"] is None else f"{escape(finding['relation'])} {_number(finding['bound'])}"


def _claim(made: Made, out: Path) -> str:
    words = made["claim"]
    told = {"Needs": "; ".join(words["hypotheses"]), "A trial": words["trial"], "Rule": words["rule"]}
    told |= {"Correction": words["erratum"], "Known to fail": words["known"], "Note": made["note"]}
    lines = [f"<p>{escape(words['statement'])}</p>"]
    lines += [f"<p><b>{title}.</b> {escape(text)}</p>" for title, text in told.items() if text]
    rows = []
    for f in made["findings"]:
        case = f'<span class="{STATES[f["holds"]]}">{escape(f["case"])}</span>'
        note = f"proved on {f['proved']}: {f['note']}" if f["proved"] else f["note"]
        counts = [str(f["trials"] or ""), str(f["undecided"] or "")]
        rows.append([case, *counts, _number(f["measured"]), "" if f["proved"] else _against(f), escape(note)])
    again = "".join(
        f"<li><code>{escape(made['command'])} --trial &quot;{escape(t)}&quot;</code></li>" for t in made["failed"][:5]
    )
    repeat = f"<p>Trials that fail, to be repeated:</p><ul>{again}</ul>" if again else ""
    head = f'<h2 id="{_anchor(made)}">{escape(made["name"])}: {_word(made)}</h2>'
    used = [k for k in range(len(_ROW_HEAD)) if any(row[k] for row in rows)]
    notes = (used.index(5),) if 5 in used else ()
    table = grid(tuple(_ROW_HEAD[k] for k in used), [[row[k] for k in used] for row in rows], notes)
    return f"<section>{head}{''.join(lines)}{table}{repeat}{picture(made, out / 'claims')}{_details(made)}</section>"


def _table(made: Made, out: Path) -> str:
    rows = [[escape(cell) for cell in row] for row in made["rows"]]
    table = grid(tuple(escape(name) for name in made["columns"]), rows)
    return f"<section><h2>{escape(made['title'])}</h2>{table}<p>{escape(made['note'])}</p>{_details(made)}</section>"


def _figure(made: Made, out: Path) -> str:
    head = f'<h2 id="{_anchor(made)}">Figure {escape(made["name"])}</h2>'
    text = f"<figcaption>{escape(made['caption'])}</figcaption>"
    return f"<section>{head}<figure>{picture(made, out / 'figures')}{text}</figure>{_details(made)}</section>"


def picture(made: Made, folder: Path) -> str:
    """The figure of an item, inside of the page, and the names of its files."""
    by_kind = {name.rpartition(".")[2]: folder / name for name in made["files"]}
    kind = "svg" if by_kind["svg"].stat().st_size < HEAVY else "png"
    data = base64.b64encode(by_kind[kind].read_bytes()).decode()
    mime = {"svg": "image/svg+xml", "png": "image/png"}[kind]
    files = ", ".join(f"<code>{folder.name}/{escape(name)}</code>" for name in made["files"])
    image = f'<img alt="{escape(made["name"])}" src="data:{mime};base64,{data}">'
    return f'<div class="wide picture">{image}</div><p class="files">{files}</p>'


def _error(made: Made) -> str:
    head = f'<h2 id="{_anchor(made)}">{escape(made["kind"])} {escape(made["name"])}: {made["state"]}</h2>'
    kind = "error" if made["failed"] else "quick"
    return f'<section>{head}<p class="{kind}">{escape(made["error"])}</p></section>'


def _details(made: Made) -> str:
    text = escape(json.dumps(made["key"]["parameters"]))
    return f"<details><summary>Parameters and seed ({made['wall_s']:.1f} s)</summary><pre>{text}</pre></details>"


_KINDS = {"claim": _claim, "table": _table, "figure": _figure}

CSS = """
:root{color-scheme:light dark;--ink:#1a1c1f;--soft:#5b6169;--line:#d9dce0;--page:#fff;--card:#f5f6f8;--mark:#fff3d6;
--good:#006b4e;--bad:#b3261e;--open:#8a6100}
@media (prefers-color-scheme:dark){
:root{--ink:#e8eaed;--soft:#a3a9b1;--line:#3a3f46;--page:#16181b;--card:#202327;--mark:#4a3b12;
--good:#5fd3ae;--bad:#ff8a80;--open:#e6c15a}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0 1rem} h2{font-size:1.15rem;line-height:1.3;margin:0 0 .75rem}
section{margin:2.25rem 0;padding-top:1.25rem;border-top:1px solid var(--line)}
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
td.text,th.text{white-space:normal;text-align:left;min-width:11rem} .error{color:var(--bad)} nav a{color:inherit}
"""
