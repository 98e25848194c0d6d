"""Answers of studies as pages of HTML: one a study, and an index with the question and the answer of each.

OUT/index.html              every study that has an answer in OUT
OUT/NAME.html               question, method, figure, numbers, controls, tables; the picture inside
OUT/NAME.pdf .svg .png      the figure
OUT/NAME-TABLE.csv          every table
OUT/NAME.json               the answer itself (`studies.ledger`)
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from tokenflock import plot
from tokenflock.markup import Markup, joined, markup
from tokenflock.papers import studies
from tokenflock.papers.report.page import document, grid, notices, picture
from tokenflock.papers.studies.ledger import Answer, Table
from tokenflock.store import write_text

ROWS_SHOWN = 200  # of a table; the CSV file has them all


def publish(answer: Answer, out: str | Path) -> Path:
    """Write figure, tables and page of one answer, and the index of all that are in the folder; the page's path."""
    folder = Path(out)
    files = [file.name for file in plot.save(answer.figure, folder, answer.name)]
    columns = ("name", "value", "low", "high", "trials", "predicted")
    rows = tuple(tuple("" if v is None else v for v in (getattr(n, c) for c in columns)) for n in answer.numbers)
    for table in (*answer.tables, Table("numbers", columns, rows)):
        write_text(folder / f"{answer.name}-{table.name.replace(' ', '-')}.csv", table.csv())
    path = folder / f"{answer.name}.html"
    write_text(path, page(answer.plain(), files, folder))
    write_text(folder / "index.html", index(folder))
    return path


def page(told: dict[str, Any], files: list[str], folder: Path) -> Markup:
    """The page of one study."""
    name = told["name"]
    parts = [
        markup('<p class="lead"><b>Answer.</b> {}</p>', told["answer"]),
        markup("<p><b>What would change it.</b> {}</p>", told["change"]),
        *(markup("<p><b>Unasked.</b> {}</p>", text) for text in told["surprises"]),
        markup("<figure>{}</figure>", picture({"name": name, "files": files}, folder)),
        markup("<section><h2>Method</h2><p>{}</p>{}</section>", told["method"], _controls(told["controls"])),
        markup("<section><h2>Numbers</h2>{}</section>", _numbers(told["numbers"])),
        *(_table(table) for table in told["tables"]),
    ]
    foot = markup(
        '{}, seed {}, {:.0f} s. <a href="index.html">all studies</a>'
        "<details><summary>Sizes</summary><pre>{}</pre></details>",
        "quick sizes" if told["quick"] else "full sizes",
        told["seed"],
        told["wall_s"],
        json.dumps(told["parameters"]),
    )
    quick = notices("Quick version: wide intervals." if told["quick"] else "")
    head = markup("<h1>{}</h1><p><b>{}</b> <i>({})</i></p>{}", name, told["question"], told["source"], quick)
    return document(name, markup("{}{}<footer>{}</footer>", head, joined(parts), foot))


def index(folder: Path) -> Markup:
    """What was asked and answered, one row a study, in the order of the ledger."""
    rows = []
    for name in studies.NAMES:
        try:
            told = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
            asked = markup('<a href="{}.html">{}</a>', name, name)
            state = "" if told["sound"] else markup(' <span class="fails">a control fails</span>')
            words = markup("<b>{}</b><br>{}{}", told["question"], told["answer"], state)
            rows.append([asked, words, "quick" if told["quick"] else "full"])
        except (OSError, ValueError, KeyError):
            continue  # not answered yet
    table = grid(("study", "question and answer", "sizes"), rows, (1,))
    return document("the open questions", markup("<h1>tokenflock: the open questions</h1>{}", table))


def _controls(controls: list[dict[str, Any]]) -> str:
    words = {True: markup('<span class="holds">as it must</span>'), False: markup('<span class="fails">fails</span>')}
    rows = [[c["name"], words[c["ok"]], c["found"]] for c in controls]
    return grid(("control", "", "found"), rows, (1, 2)) if rows else ""


def _numbers(numbers: list[dict[str, Any]]) -> Markup:
    rows = []
    for n in numbers:
        interval = f"[{_cell(n['low'])}, {_cell(n['high'])}]"
        guess = "" if n["predicted"] is None else _cell(n["predicted"])
        rows.append([n["name"], _cell(n["value"]), interval, guess, str(n["trials"]), n["note"]])
    return grid(("number", "value", "95 % interval", "predicted", "trials", ""), rows, (5,))


def _table(table: dict[str, Any]) -> Markup:
    shown = table["rows"][:ROWS_SHOWN]
    rows = [[_cell(value) for value in row] for row in shown]
    more = f" The first {ROWS_SHOWN} of {len(table['rows'])} rows." if len(shown) < len(table["rows"]) else ""
    laid = grid(tuple(c.replace("_", " ") for c in table["columns"]), rows)
    if len(rows) > 30:
        laid = markup("<details><summary>{} rows</summary>{}</details>", len(table["rows"]), laid)
    head = markup("<h2>Table: {}</h2><p>{}{}</p>", table["name"], table["note"], more)
    return markup("<section>{}{}</section>", head, laid)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else ""
    return str(value)
