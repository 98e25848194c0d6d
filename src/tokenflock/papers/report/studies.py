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
from html import escape
from pathlib import Path
from typing import Any

from tokenflock import plot
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


def page(told: dict[str, Any], files: list[str], folder: Path) -> str:
    """The page of one study."""
    name = told["name"]
    parts = [
        f'<p class="lead"><b>Answer.</b> {escape(told["answer"])}</p>',
        f"<p><b>What would change it.</b> {escape(told['change'])}</p>",
        *(f"<p><b>Unasked.</b> {escape(text)}</p>" for text in told["surprises"]),
        f"<figure>{picture({'name': name, 'files': files}, folder)}</figure>",
        f"<section><h2>Method</h2><p>{escape(told['method'])}</p>{_controls(told['controls'])}</section>",
        f"<section><h2>Numbers</h2>{_numbers(told['numbers'])}</section>",
        *(_table(table) for table in told["tables"]),
    ]
    size = "quick sizes" if told["quick"] else "full sizes"
    foot = f"{size}, seed {told['seed']}, {told['wall_s']:.0f} s. "
    sizes = json.dumps(told["parameters"])
    foot += f'<a href="index.html">all studies</a><details><summary>Sizes</summary><pre>{escape(sizes)}</pre></details>'
    quick = notices("Quick version: wide intervals." if told["quick"] else "")
    head = f"<h1>{escape(name)}</h1><p><b>{escape(told['question'])}</b> <i>({escape(told['source'])})</i></p>{quick}"
    return document(name, f"{head}{''.join(parts)}<footer>{foot}</footer>")


def index(folder: Path) -> str:
    """What was asked and answered, one row a study, in the order of the ledger."""
    rows = []
    for name in studies.NAMES:
        try:
            told = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
            asked = f'<a href="{name}.html">{escape(name)}</a>'
            state = "" if told["sound"] else ' <span class="fails">a control fails</span>'
            words = f"<b>{escape(told['question'])}</b><br>{escape(told['answer'])}{state}"
            rows.append([asked, words, "quick" if told["quick"] else "full"])
        except (OSError, ValueError, KeyError):
            continue  # not answered yet
    body = f"<h1>tokenflock: the open questions</h1>{grid(('study', 'question and answer', 'sizes'), rows, (1,))}"
    return document("the open questions", body)


def _controls(controls: list[dict[str, Any]]) -> str:
    words = {True: '<span class="holds">as it must</span>', False: '<span class="fails">fails</span>'}
    rows = [[escape(c["name"]), words[c["ok"]], escape(c["found"])] for c in controls]
    return grid(("control", "", "found"), rows, (1, 2)) if rows else ""


def _numbers(numbers: list[dict[str, Any]]) -> str:
    rows = []
    for n in numbers:
        interval = f"[{_cell(n['low'])}, {_cell(n['high'])}]"
        guess = "" if n["predicted"] is None else _cell(n["predicted"])
        rows.append([escape(n["name"]), _cell(n["value"]), interval, guess, str(n["trials"]), escape(n["note"])])
    return grid(("number", "value", "95 % interval", "predicted", "trials", ""), rows, (5,))


def _table(table: dict[str, Any]) -> str:
    shown = table["rows"][:ROWS_SHOWN]
    rows = [[_cell(value) for value in row] for row in shown]
    more = f" The first {ROWS_SHOWN} of {len(table['rows'])} rows." if len(shown) < len(table["rows"]) else ""
    note = escape(table["note"]) + more
    laid = grid(tuple(escape(c.replace("_", " ")) for c in table["columns"]), rows)
    inside = f"<details><summary>{len(table['rows'])} rows</summary>{laid}</details>" if len(rows) > 30 else laid
    return f"<section><h2>Table: {escape(table['name'])}</h2><p>{note}</p>{inside}</section>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else ""
    return escape(str(value))
